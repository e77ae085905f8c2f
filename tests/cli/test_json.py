from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from projects import HOME, LOCK, REGISTRY, SKILLS, Project, skill
from schemas import COMMANDS, DEFINITIONS, SCHEMAS, faults

from skillsync.errors import Code, Severity
from skillsync.locking.changes import Action
from skillsync.reviewing.marks import Kind
from skillsync.syncing.plan import Drift
from skillsync.syncing.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from enum import Enum
    from pathlib import Path

    from projects import Result

Rows = Any  # of JSON

RUNS = (
    "init",
    "list",
    "list --verify",
    "show testing",
    "allow gem:sus",
    "deny gem:bake",
    "lock",
    "lock --check",
    "diff",
    "diff --installed",
    "diff --stat testing",
    "sync",
    "sync --check",
    "sync --dry-run --force",
    "verify",
    "verify --scope installed",
    "verify --scope providers",
)
WRITERS = {"init", "allow", "deny", "lock", "sync"}
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


def check_options(command: str, report: Rows) -> None:
    """Hold a report against what its options promise: the schema is that of the command with any of them."""
    changes = report.get("changes", ()) if command.startswith("diff") else ()
    assert all(("target" in change) == ("--installed" in command) for change in changes)
    assert not (command == "verify --scope installed" and "environments" in report)


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
    for command in sorted(RUNS, key=lambda command: command.split()[0] in WRITERS and "--" not in command):
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
        assert not faults(command.split()[0], report)
        check_options(command, report)
        assert result.code == text.code == implied(command, report, has_lock=(project.root / LOCK).exists())
        said = [line for line in text.err.splitlines() if not line.startswith("  hint: ")]
        assert text is result or len(said) == len(report["problems"])


@pytest.mark.parametrize(
    "arguments",
    [
        *((command, "--no-such-option") for command in COMMANDS),
        *((command, "--project", "nowhere") for command in COMMANDS if command not in {"show", "allow", "deny"}),
        *((command, "testing", "--project", "nowhere") for command in ("show", "allow", "deny")),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_said_as_the_schema_has_it(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = Project(tmp_path / "app").run(*arguments, "--format", "json")
    assert (result.code, result.codes) == (2, ["usage"])
    assert not faults(arguments[0], result.json)


@pytest.mark.parametrize("command", SCHEMAS)
def test_the_schemas_are_schemas(command: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[command])


def objects(schema: Rows) -> Iterator[Rows]:
    """Yield every schema of an object that stands in a schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        yield from (found for inner in schema.values() for found in objects(inner))
    elif isinstance(schema, list):
        yield from (found for inner in schema for found in objects(inner))


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schemas_let_nothing_pass_that_they_do_not_name(name: str) -> None:
    found = list(objects(SCHEMAS[name]))
    assert found
    for one in found:
        assert one["additionalProperties"] is False
        assert set(one["required"]) <= one["properties"].keys()


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        (DEFINITIONS["code"], Code),
        (DEFINITIONS["problem"]["properties"]["severity"], Severity),
        (DEFINITIONS["state"], Status),
        (DEFINITIONS["sync-action"], Action),
        (DEFINITIONS["mark"]["properties"]["kind"], Kind),
        (DEFINITIONS["drift"]["properties"]["kind"], Drift),
    ],
    ids=["code", "severity", "state", "action", "mark", "drift"],
)
def test_the_schemas_know_every_word(listed: Rows, words: type[Enum]) -> None:
    assert sorted(listed["enum"]) == sorted(word.value for word in words)


@pytest.mark.parametrize(
    ("command", "spoil"),
    [
        ("list", lambda report: report.pop("providers")),
        ("list", lambda report: report["providers"][0]["skills"][0].update(state="fine")),
        ("list", lambda report: report["providers"][0]["skills"][0].update(hash="sha256:0")),
        ("lock", lambda report: report["changes"][0].update(action="repair")),
        ("lock", lambda report: report["changes"][0].pop("marks")),
        ("lock", lambda report: report["changes"][0]["files"]["added"].append("/etc/passwd")),
        ("verify", lambda report: report.update(version=2)),
        ("verify", lambda report: report["drift"].append({"kind": "missing", "target": SKILLS})),
        ("verify", lambda report: report["drift"].append({"kind": "stale-lock", "skill": "a", "target": SKILLS})),
        ("verify", lambda report: report["problems"].append({"code": "io", "severity": "error", "message": ""})),
        ("verify", lambda report: report.update(more=1)),
    ],
)
def test_the_schemas_find_what_is_wrong(tmp_path: Path, command: str, spoil: Callable[[Rows], object]) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    if command == "verify":
        project.done("lock")
        project.done("sync")
    report = project.done(command, "--format", "json").json
    assert not faults(command, report)
    spoil(report)
    assert faults(command, report)


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
