from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from projects import HOME, LOCK, REGISTRY, SKILLS, Project, skill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from projects import Result

Rows = Any  # of JSON

TOP = {
    "init": {"environments", "providers"},
    "list": {"environments", "providers"},
    "list --verify": {"environments", "providers"},
    "show testing": {"environments", "skills"},
    "allow gem:sus": {"manifest", "changes"},
    "deny gem:bake": {"manifest", "changes"},
    "lock": {"environments", "changes", "not_admitted"},
    "lock --check": {"environments", "changes", "not_admitted"},
    "diff": {"changes"},
    "diff --installed": {"changes"},
    "diff --stat testing": {"changes"},
    "sync": {"changes"},
    "sync --check": {"changes"},
    "sync --dry-run --force": {"changes"},
    "verify": {"environments", "ok", "checked", "not_compared", "drift"},
    "verify --scope installed": {"ok", "checked", "not_compared", "drift"},
    "verify --scope providers": {"environments", "ok", "checked", "not_compared", "drift"},
}
ROWS: dict[str, tuple[set[str], set[str]]] = {  # what a row always has, and what it may have
    "environments": ({"ecosystem", "path", "packages"}, set()),
    "changes": ({"action", "skill", "provider", "version", "files"}, {"target", "marks", "differences", "refused"}),
    "not_admitted": ({"provider", "skills"}, set()),
    "drift": ({"kind"}, {"skill", "path", "target"}),
    "problems": ({"code", "severity", "message"}, {"hint", "skill", "provider", "path", "line", "column"}),
}
EDITED: tuple[set[str], set[str]] = ({"provider", "before", "after"}, set())
PROVIDER = {"ecosystem", "name", "version", "admitted", "skills"}
LISTED = {"name", "description", "hash", "locked_version", "state"}
SHOWN = {
    *("name", "provider", "version", "locked_version", "state", "description", "source", "path", "hash", "why"),
    *("targets", "files", "text"),
}
STATES = {
    "available",
    "locked",
    "installed",
    "outdated",
    "modified",
    "missing",
    "conflict",
    "excluded",
    "invalid",
    "unsafe",
}
KINDS = {
    "missing",
    "modified",
    "outdated",
    "not-executable",
    "orphaned",
    "unregistered",
    "unmanaged",
    "foreign-owner",
    "stale-row",
    "interrupted",
    "stale-lock",
}
WRITERS = {"init", "allow", "deny", "lock", "sync"}
ACTIONS = {"lock": {"add", "update", "remove"}}
ACTIONS["sync"] = ACTIONS["diff"] = ACTIONS["lock"] | {"repair", "record", "forget"}
USAGE = {"usage", "manifest-invalid", "lock-unreadable", "lock-missing", "registry-unreadable"}
SYSTEM = {"io", "busy"}


def implied(command: str, report: Rows, *, has_lock: bool) -> int:
    """Return the exit code that a JSON report stands for."""
    errors = {problem["code"] for problem in report["problems"] if problem["severity"] == "error"}
    if errors & SYSTEM:
        return 4
    if errors & USAGE:
        return 2
    if errors:
        return 3
    if "ok" in report:
        return int(not report["ok"])
    return int("--check" in command and (bool(report["changes"]) or not has_lock))


def check_rows(command: str, report: Rows) -> None:
    """Hold a report against what is promised of each of its rows."""
    edits = command.startswith(("allow", "deny"))
    for key, (always, sometimes) in {**ROWS, **({"changes": EDITED} if edits else {})}.items():
        for row in report.get(key, ()):
            assert always <= row.keys() <= always | sometimes
    for change in () if edits else report.get("changes", ()):
        assert change["action"] in ACTIONS[command.split(maxsplit=1)[0]]
        assert change["files"].keys() == {"added", "changed", "removed"}
        assert ("target" in change) == (command.startswith("sync") or "--installed" in command)
        assert ("marks" in change) == command.startswith(("lock", "diff"))
        assert ("differences" in change) == command.startswith("diff")
    for row in report.get("drift", ()):
        assert row["kind"] in KINDS
        assert ("skill" in row) == (row["kind"] != "interrupted")
        assert not row.get("path", "").startswith("/")
    for problem in report["problems"]:
        assert problem["severity"] in {"error", "warning"}
        assert not problem.get("path", "").startswith(("/", "../"))
    if "checked" in report:
        assert report["checked"].keys() == {"skills", "files", "providers"}
    if command.startswith("list"):
        for provider in report["providers"]:
            assert provider.keys() == PROVIDER
            assert all(row.keys() == LISTED and row["state"] in STATES for row in provider["skills"])
    for shown in report.get("skills", ()):
        assert shown.keys() == SHOWN
        assert shown["state"] in STATES
        assert all(file.keys() in ({"path", "size", "hash"}, {"path", "link"}) for file in shown["files"])


def nothing(_project: Project) -> None:
    """Leave it as it is: installed, and not locked."""


def locked(project: Project) -> None:
    project.done("lock")


def synced(project: Project) -> None:
    locked(project)
    project.done("sync")


def edited(project: Project) -> None:
    synced(project)
    project.write({f"{SKILLS}/testing/SKILL.md": "mine", f"{SKILLS}/testing/more.md": "mine"})


def updated(project: Project) -> None:
    synced(project)
    project.gem("sus", "2.0.0", "testing", files={"skills/testing/scripts/run": "#!/bin/sh\n"})


def updated_and_locked(project: Project) -> None:
    updated(project)
    project.done("lock")


def removed(project: Project) -> None:
    synced(project)
    project.drop("bake").done("lock")
    project.installed("testing/run").chmod(0o600)


def rows_astray(project: Project) -> None:
    synced(project)
    shutil.rmtree(project.installed("tasks"))
    project.drop("bake").done("lock")
    project.write({REGISTRY: project.read(REGISTRY).replace("1.0.0", "0.9.0")})


def unmanaged(project: Project) -> None:
    locked(project)
    project.write({f"{SKILLS}/testing/SKILL.md": "mine", f"{SKILLS}/tasks": "a file"})


def contested(project: Project) -> None:
    project.gem("other", "1.0.0", "testing")


def broken(project: Project) -> None:
    synced(project)
    project.change("sus", {"skills/testing/SKILL.md": "---\nname: testing\ndescription: a: b\n---\n"})


def unsafe(project: Project) -> None:
    (project.gem_root("sus") / "skills/testing/out").symlink_to("/etc/passwd")
    project.change("sus", {"skills/other/SKILL.md": skill("other")})


def unsafe_and_locked(project: Project) -> None:
    synced(project)
    unsafe(project)
    shutil.rmtree(project.installed("testing"))


def nothing_installed(project: Project) -> None:
    synced(project)
    shutil.rmtree(project.root / HOME)


def no_bundle(project: Project) -> None:
    project.write({"Gemfile": None, "Gemfile.lock": None})


def bundle_unreadable(project: Project) -> None:
    project.write({"Gemfile.lock": "<<<<<<< ours\n"})


def gemspec_unreadable(project: Project) -> None:
    project.write({f"{HOME}/specifications/sus-1.0.0.gemspec": "", "Gemfile.lock": None})


def narrow(project: Project) -> None:
    project.manifest('[providers.gem]\nsus = "~> 2.0"\nnix = "*"\n"rails*" = "*"\nplain = { skills = ["x"] }\n')


def manifest_broken(project: Project) -> None:
    project.manifest("[")


def lock_broken(project: Project) -> None:
    project.write({LOCK: "["})


def registry_broken(project: Project) -> None:
    synced(project)
    project.write({REGISTRY: "["})


def target_astray(project: Project) -> None:
    locked(project)
    (project.root / ".agents").symlink_to("/")


def behind_a_file(project: Project) -> None:
    locked(project)
    project.write({f"{SKILLS}/.skillsync": "mine"})


SCENES = [
    nothing,
    locked,
    synced,
    edited,
    updated,
    updated_and_locked,
    removed,
    rows_astray,
    unmanaged,
    contested,
    broken,
    unsafe,
    unsafe_and_locked,
    nothing_installed,
    no_bundle,
    bundle_unreadable,
    gemspec_unreadable,
    narrow,
    manifest_broken,
    lock_broken,
    registry_broken,
    target_astray,
    behind_a_file,
]


def runs(project: Project) -> Iterator[tuple[str, Result, Result]]:
    """Run every command, those that write last; yield its JSON and its text."""
    for command in sorted(TOP, key=lambda command: command.split()[0] in WRITERS and "--" not in command):
        before = project.tree
        result = project.run(*command.split(), "--format", "json")
        writes = result.code == 0 and command.split()[0] in WRITERS and "--" not in command
        if not writes:
            yield command, result, project.run(*command.split())
            kept = {path: entry[2] for path, entry in before.items()}
            assert {path: entry[2] for path, entry in project.tree.items()} == kept
        else:
            yield command, result, result


@pytest.mark.parametrize("scene", SCENES)
def test_every_report_is_as_promised_and_says_what_the_exit_code_says(
    tmp_path: Path, scene: Callable[[Project], None]
) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing", files={"skills/testing/run": "#!/bin/sh\n"})
    project.gem("bake", "1.0.0", "tasks").gem("plain", "1.0.0")
    scene(project)
    for command, result, text in runs(project):
        report = result.json
        assert result.err == ""
        assert report["version"] == 1
        wanted = TOP[command] | {"version", "problems"}
        # What was not read is not named.
        assert wanted - {"environments"} <= report.keys() <= wanted
        check_rows(command, report)
        assert result.code == text.code == implied(command, report, has_lock=(project.root / LOCK).exists())
        said = [line for line in text.err.splitlines() if not line.startswith("  hint: ")]
        assert text is result or len(said) == len(report["problems"])


def test_rows_are_sorted_and_the_same_in_every_run(tmp_path: Path) -> None:
    project = Project(tmp_path / "app")
    for name in ("c", "a", "b"):
        project.gem(name, "1.0.0", f"{name}-2", f"{name}-1", f"{name}-10")
    report = project.done("list", "--format", "json").json
    names = [row["name"] for one in report["providers"] for row in one["skills"]]
    assert names == sorted(names)
    changes = project.done("lock", "--format", "json").changes
    assert changes == sorted(changes)
    assert project.done("list", "--format", "json").out == project.done("list", "--format", "json").out
