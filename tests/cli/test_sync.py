from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import gems
import projects
import pytest
from projects import LOCK, MANIFEST, REGISTRY, SKILLS, Project, Result, skill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SCRIPT = "#!/bin/sh\necho ran\n"
OWN = [".agent-skills.yaml", ".gitignore"]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project whose two skills are locked and installed."""
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing", files={"skills/testing/ref/more.md": "more\n"})
    project.gem("bake", "1.0.0", "tasks").done("lock")
    project.done("sync")
    return project


@pytest.fixture
def fresh(tmp_path: Path) -> Project:
    """Return a project whose two skills are locked and not installed."""
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing").gem("bake", "1.0.0", "tasks")
    project.done("lock")
    return project


def update(project: Project) -> None:
    """Bring the next version of a gem, and lock it."""
    files = {"skills/testing/SKILL.md": skill("testing", "Second.\n"), "skills/testing/new.md": "new\n"}
    project.gem("sus", "2.0.0", files=files).done("lock")


def changed(before: projects.Tree, after: projects.Tree) -> set[str]:
    return {path for path in before | after if before.get(path) != after.get(path)}


def without_visits(tree: projects.Tree) -> projects.Tree:
    """Leave out the times of directories, in which something was made and removed again."""
    return {
        path: (mode, None if mode.startswith("d") else time, content) for path, (mode, time, content) in tree.items()
    }


def refuses(project: Project, code: str, *options: str) -> Result:
    """Run `sync`, which has to refuse for one reason and change nothing; return its JSON."""
    before = project.tree
    result = project.run("sync", *options, "--format", "json")
    assert (result.code, set(result.codes)) == (3, {code})
    assert project.tree == before
    text = project.run("sync", *options)
    assert text.out == "nothing was changed\n"
    assert f"error[{code}]: {SKILLS}/" in text.err
    assert "  hint: " in text.err
    assert project.tree == before
    return result


# From a clone to the end


def test_a_fresh_clone_is_filled_from_lock_and_packages_alone(fresh: Project) -> None:
    fresh.write({"lib/deep/x.rb": ""})
    result = fresh.run("sync", at="lib/deep")
    assert result.code == 0
    assert result.out.endswith(f"2 added in {SKILLS}\n")
    assert sorted(os.listdir(fresh.installed())) == [*OWN, "tasks", "testing"]
    assert fresh.installed("testing/SKILL.md").read_text() == skill("testing")
    before = fresh.tree
    assert fresh.done("sync").out == f"in sync: 2 skills in {SKILLS}\n"
    assert fresh.tree == before


def test_a_lock_without_skills_makes_no_directory(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("plain", "1.0.0")
    project.done("lock")
    assert project.done("sync").out == "in sync: the lock has no skills\n"
    assert not (project.root / ".agents").exists()


def test_without_a_lock_it_says_how_to_make_one(tmp_path: Path) -> None:
    result = Project(tmp_path / "app").gem("sus", "1.0.0", "testing").run("sync")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error[lock-missing]: there is no {LOCK} in ")
    assert result.err.endswith("\n  hint: run `skillsync lock`\n")


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_dry_run_shows_what_a_run_does_and_does_nothing(project: Project, force: tuple[str, ...]) -> None:
    update(project)
    shutil.rmtree(project.installed("tasks"))
    before = project.tree
    planned = project.done("sync", "--dry-run", *force, "--format", "json")
    checked = project.run("sync", "--check", *force, "--format", "json")
    assert project.done("sync", "--dry-run", *force).out.endswith(
        f"1 to add, 1 to update in {SKILLS}; nothing was changed\n"
    )
    assert project.tree == before
    done = project.done("sync", *force, "--format", "json")
    assert (planned.out, checked.out, checked.code) == (done.out, done.out, 1)
    assert project.run("sync", "--check").code == 0


def test_each_change_is_shown_file_by_file(project: Project) -> None:
    update(project)
    assert project.done("sync").out.splitlines()[:4] == [
        f"~ update {SKILLS}/testing (gem:sus 2.0.0)",
        "    + new.md",
        "    ~ SKILL.md",
        "    - ref/more.md",
    ]
    assert sorted(os.listdir(project.installed("testing"))) == ["SKILL.md", "new.md"]


# What is somebody else's


def directory(place: Path) -> None:
    gems.write_files(place, {"SKILL.md": "mine", "extra.md": "mine"})


def equal_directory(place: Path) -> None:
    gems.write_files(place, {"SKILL.md": skill("testing")})


def claims_a_provider(place: Path) -> None:
    gems.write_files(place, {"SKILL.md": "---\nname: testing\ndescription: x\ngem: sus\nversion: 1.0.0\n---\n"})


def empty_directory(place: Path) -> None:
    place.mkdir()


def file(place: Path) -> None:
    place.write_text("mine")


def dangling_link(place: Path) -> None:
    place.symlink_to("nowhere")


def link_to_a_directory(place: Path) -> None:
    target = place.parent.parent / "elsewhere"
    equal_directory(target)
    place.symlink_to(target)


def fifo(place: Path) -> None:
    os.mkfifo(place)


def other_case(place: Path) -> None:
    directory(place.parent / "Testing")


@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize(
    "make",
    [
        directory,
        equal_directory,
        claims_a_provider,
        empty_directory,
        file,
        dangling_link,
        link_to_a_directory,
        fifo,
        other_case,
    ],
)
def test_what_skillsync_did_not_write_is_never_touched(
    fresh: Project, make: Callable[[Path], None], force: tuple[str, ...]
) -> None:
    fresh.installed().mkdir(parents=True)
    make(fresh.installed("testing"))
    result = refuses(fresh, "unmanaged", *force)
    assert [problem["skill"] for problem in result.json["problems"]] == ["testing"]
    # One refusal, and nothing at all is changed; out of the way, all is done.
    place = fresh.installed("Testing" if make is other_case else "testing")
    place.rename(fresh.root / "moved")
    fresh.done("sync", *force)
    assert sorted(os.listdir(fresh.installed())) == [*OWN, "tasks", "testing"]


def test_an_entry_that_differs_only_in_case_is_not_its_own(project: Project) -> None:
    project.installed("testing").rename(project.installed("Testing"))
    result = refuses(project, "unmanaged", "--force")
    assert "`Testing` is there, a name equal but for case" in result.json["problems"][0]["message"]


@pytest.mark.parametrize("target", ["-my 'skills'", "a'; touch mine; '", "$(touch mine)"])
def test_the_hint_removes_what_it_names_whatever_the_target_is_called(project: Project, target: str) -> None:
    project.manifest(f'targets = ["{target}"]\n').done("sync")
    (project.root / target / ".agent-skills.yaml").unlink()
    hints = [problem["hint"] for problem in project.run("sync", "--format", "json").json["problems"]]
    commands = [hint.partition("run in the project's root: ")[2] for hint in hints]
    for command in filter(None, commands):
        subprocess.run(["sh", "-c", command], cwd=project.root, check=True)
    assert os.listdir(project.root / target) == [".gitignore"]
    assert not (project.root / "mine").exists()
    project.done("sync")


def test_a_lost_registry_leaves_all_unmanaged_and_the_hint_names_the_directories(project: Project) -> None:
    (project.root / REGISTRY).unlink()
    result = refuses(project, "unmanaged", "--force")
    hints = [problem["hint"] for problem in result.json["problems"]]
    assert [f"rm -r '{SKILLS}/{name}'" in hint for name, hint in zip(("tasks", "testing"), hints, strict=True)] == [
        True,
        True,
    ]
    for name in ("tasks", "testing"):
        shutil.rmtree(project.installed(name))
    project.done("sync")
    assert project.run("verify").code == 0


def test_a_removal_takes_what_is_owned_and_nothing_else(project: Project) -> None:
    project.write(
        {
            f"{SKILLS}/mine/SKILL.md": "mine",
            f"{SKILLS}/README.md": "mine",
            f"{SKILLS}/.cache/x": "mine",
            "elsewhere/x": "mine",
        }
    )
    project.installed("link").symlink_to("../../elsewhere")
    before = project.tree
    project.drop("sus").done("lock")
    between = project.tree
    planned = project.done("sync", "--dry-run", "--format", "json")
    assert project.tree == between
    result = project.done("sync", "--format", "json")
    assert planned.changes == result.changes == [("remove", "testing")]
    gone = {path for path in before if path not in project.tree and path.startswith(SKILLS)}
    assert gone == {f"{SKILLS}/testing{rest}" for rest in ("", "/SKILL.md", "/ref", "/ref/more.md")}
    touched = changed(between, project.tree) - gone
    assert touched == {SKILLS, *(f"{SKILLS}/{name}" for name in OWN)}


def test_the_last_removal_leaves_what_is_not_owned(project: Project) -> None:
    project.write({f"{SKILLS}/mine/SKILL.md": "mine"}).gem("plain", "1.0.0").drop("sus").drop("bake").done("lock")
    assert project.done("sync", "--format", "json").changes == [("remove", "tasks"), ("remove", "testing")]
    assert sorted(os.listdir(project.installed())) == [*OWN, "mine"]
    assert project.read(REGISTRY) == "---\nversion: 1\nskills: {}\n"
    assert project.done("sync").out == "in sync: the lock has no skills\n"


def test_with_no_providers_ever_nothing_is_removed(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("plain", "1.0.0").write({f"{SKILLS}/mine/SKILL.md": "mine"})
    project.done("lock")
    before = project.tree
    project.done("sync", "--force")
    assert changed(before, project.tree) <= {SKILLS, f"{SKILLS}/.gitignore"}


def test_another_tool_s_skills_are_never_touched(fresh: Project) -> None:
    fresh.write({f"{SKILLS}/.agent-context-skills.json": '{"skills": {"testing": {}}}'})
    directory(fresh.installed("testing"))
    refuses(fresh, "unmanaged", "--force")
    fresh.write({f"{SKILLS}/.agent-context-skills.json": "{"})
    shutil.rmtree(fresh.installed("testing"))
    result = fresh.run("sync")
    assert result.code == 2
    assert f"error[registry-unreadable]: {SKILLS}/.agent-context-skills.json can't be read" in result.err


def test_another_program_s_row_is_kept_and_its_skill_left_alone(fresh: Project) -> None:
    row = "  testing:\n    tool: other\n    since: [2024, x]\n"
    fresh.write({REGISTRY: f"version: 1\nskills:\n{row}  old:\n    tool: other\nnote: kept\n"})
    refuses(fresh, "foreign-owner", "--force")
    fresh.manifest('[providers.gem]\nbake = "*"\n').done("lock")
    fresh.done("sync")
    text = fresh.read(REGISTRY)
    assert "  testing:\n    tool: other\n" in text
    assert "  old:\n    tool: other\n" in text
    assert text.endswith("note: kept\n")
    assert "  tasks:\n    gem: bake\n" in text


# Local edits


def edited(place: Path) -> None:
    with (place / "SKILL.md").open("a") as text:
        text.write("Mine.\n")


def added(place: Path) -> None:
    (place / "notes.md").write_text("mine")


def deleted(place: Path) -> None:
    (place / "ref/more.md").unlink()


def compiled_without_its_source(place: Path) -> None:
    (place / "helper.pyc").write_bytes(b"\0")


def file_named_as_a_cache(place: Path) -> None:
    (place / "__pycache__").write_text("a file")


def linked(place: Path) -> None:
    (place / "SKILL.md").unlink()
    (place / "SKILL.md").symlink_to("ref/more.md")


def replaced_by_a_file(place: Path) -> None:
    shutil.rmtree(place)
    place.write_text("mine")


def replaced_by_a_link(place: Path) -> None:
    place.rename(place.parent.parent / "moved")
    place.symlink_to("../moved")


def with_a_fifo(place: Path) -> None:
    os.mkfifo(place / "pipe")


EDITS = [
    edited,
    added,
    deleted,
    compiled_without_its_source,
    file_named_as_a_cache,
    linked,
    replaced_by_a_file,
    replaced_by_a_link,
    with_a_fifo,
]


@pytest.mark.parametrize("next_version", [False, True])
@pytest.mark.parametrize("edit", EDITS)
def test_a_local_edit_is_kept_until_it_is_discarded_on_purpose(
    project: Project, edit: Callable[[Path], None], *, next_version: bool
) -> None:
    edit(project.installed("testing"))
    if next_version:
        update(project)
    refuses(project, "modified")
    refuses(project, "modified", "--check")
    before = project.tree
    assert project.done("sync", "--force", "--dry-run", "--format", "json").changes == [("update", "testing")]
    assert project.tree == before
    project.done("sync", "--force")
    assert project.run("verify").code == 0
    if edit is replaced_by_a_link:  # the link went, never what it led to
        assert (project.root / ".agents/moved/SKILL.md").read_text() == skill("testing")


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_skill_is_not_removed_until_it_is_discarded_on_purpose(
    project: Project, edit: Callable[[Path], None]
) -> None:
    edit(project.installed("testing"))
    project.drop("sus").done("lock")
    refuses(project, "modified")
    assert project.done("sync", "--force", "--format", "json").changes == [("remove", "testing")]
    assert not os.path.lexists(project.installed("testing"))
    assert project.run("verify").code == 0


def test_an_edit_that_is_what_the_next_version_has_needs_no_decision(project: Project) -> None:
    gems.write_files(project.installed("testing"), {"SKILL.md": skill("testing", "Second.\n"), "new.md": "new\n"})
    deleted(project.installed("testing"))
    update(project)
    before = project.tree
    assert project.done("sync", "--format", "json").changes == [("record", "testing")]
    assert changed(before, project.tree) == {SKILLS, REGISTRY}
    assert project.run("verify").code == 0


@pytest.mark.parametrize("mode", [0o600, 0o755])
def test_modes_are_no_edit(project: Project, mode: int) -> None:
    project.installed("testing/SKILL.md").chmod(mode)
    assert project.done("sync").out.startswith("in sync")
    update(project)
    project.done("sync")


def test_a_refusal_names_every_skill_that_stands_against_it(project: Project) -> None:
    edited(project.installed("testing"))
    shutil.rmtree(project.installed("tasks"))
    directory(project.installed("tasks"))
    project.write({REGISTRY: project.read(REGISTRY).replace("bake", "other")})
    result = project.run("sync", "--format", "json")
    found = [(problem["code"], problem["skill"], problem["path"]) for problem in result.json["problems"]]
    assert found == [
        ("foreign-owner", "tasks", f"{SKILLS}/tasks"),
        ("modified", "testing", f"{SKILLS}/testing"),
    ]


# The eight combinations of lock, registry and disk


@pytest.mark.parametrize("on_disk", ["absent", "as locked", "as written", "edited"])
@pytest.mark.parametrize("in_registry", [False, True])
@pytest.mark.parametrize("in_lock", [False, True])
def test_lock_registry_and_disk_decide_together(
    project: Project, *, in_lock: bool, in_registry: bool, on_disk: str
) -> None:
    update(project)
    if not in_lock:
        project.drop("sus").done("lock")
    if not in_registry:
        rows = project.read(REGISTRY).split("  testing:")
        project.write({REGISTRY: rows[0]})
    place = project.installed("testing")
    if on_disk == "edited":
        edited(place)
    elif on_disk != "as written":
        shutil.rmtree(place)
    if on_disk == "as locked":
        gems.write_files(place, {"SKILL.md": skill("testing", "Second.\n"), "new.md": "new\n"})
    wanted: dict[tuple[bool, bool], dict[str, str]] = {
        (True, True): {"absent": "add", "as locked": "record", "as written": "update", "edited": "modified"},
        (True, False): dict.fromkeys(("as locked", "as written", "edited"), "unmanaged") | {"absent": "add"},
        (False, True): {"absent": "forget", "as locked": "modified", "as written": "remove", "edited": "modified"},
        (False, False): dict.fromkeys(("absent", "as locked", "as written", "edited"), ""),
    }
    outcome = wanted[in_lock, in_registry][on_disk]
    if outcome in {"modified", "unmanaged"}:
        refuses(project, outcome)
        return
    before = projects.tree(place) if place.exists() else {}
    result = project.done("sync", "--format", "json")
    assert result.changes == ([(outcome, "testing")] if outcome else [])
    assert project.done("sync", "--format", "json").changes == []
    if outcome in {"", "record"}:
        assert (projects.tree(place) if place.exists() else {}) == before
    assert project.run("verify").code == 0


# Rows that change hands, rows of the Ruby tool


@pytest.mark.parametrize("on_disk", ["absent", "as locked", "edited"])
def test_a_skill_that_moves_to_another_gem_changes_hands_where_nothing_is_lost(project: Project, on_disk: str) -> None:
    content = {"skills/testing/ref/more.md": "more\n"}
    project.drop("sus").gem("susi", "1.0.0", "testing", files=content).done("lock")
    if on_disk == "absent":
        shutil.rmtree(project.installed("testing"))
    elif on_disk == "edited":
        edited(project.installed("testing"))
        problem = refuses(project, "foreign-owner").json["problems"][0]
        assert "belongs to gem:sus, and is locked for gem:susi" in problem["message"]
    result = project.done("sync", "--force") if on_disk == "edited" else project.done("sync")
    verb = {"absent": "+ add", "as locked": "~ record", "edited": "~ update"}[on_disk]
    assert f"{verb} {SKILLS}/testing (gem:susi 1.0.0, so far gem:sus's)\n" in result.out
    assert "  testing:\n    gem: susi\n" in project.read(REGISTRY)
    assert project.run("verify").code == 0


def rubys(*rows: tuple[str, str, str]) -> str:
    """Return a registry as the Ruby tool writes it: without hashes."""
    text = "".join(f"  {name}:\n    gem: {gem}\n    version: {version}\n" for name, gem, version in rows)
    return f"---\nversion: 1\nskills:\n{text}"


def test_a_row_without_a_hash_lets_its_provider_replace_its_own_skill(project: Project) -> None:
    project.write({REGISTRY: rubys(("testing", "sus", "0.9.0"), ("tasks", "bake", "1.0.0"))})
    edited(project.installed("testing"))
    result = project.done("sync", "--format", "json")
    assert result.changes == [("record", "tasks"), ("update", "testing")]
    assert project.run("verify").code == 0
    assert project.read(REGISTRY).count("hash: blake3:") == 2


def test_a_row_without_a_hash_proves_nothing_of_what_would_be_removed(project: Project) -> None:
    project.write({REGISTRY: rubys(("testing", "sus", "1.0.0"), ("tasks", "bake", "1.0.0"))})
    project.drop("sus").done("lock")
    problem = refuses(project, "modified").json["problems"][0]
    assert "has no hash" in problem["message"]
    assert ("remove", "testing") in project.done("sync", "--force", "--format", "json").changes


def test_the_registry_keeps_what_it_does_not_know_and_quotes_what_ruby_would_not_read_as_text(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0", "testing", "007", "yes")
    project.done("lock")
    project.write({REGISTRY: "version: 1\nextra: {a: 1}\nskills:\n  testing:\n    gem: sus\n    note: mine\n"})
    project.done("sync")
    assert project.read(REGISTRY).splitlines() == [
        "---",
        "version: 1",
        "skills:",
        "  '007':",
        "    gem: sus",
        "    version: '1.0'",
        f"    hash: {projects.recomputed(project.installed('007'))}",
        "  testing:",
        "    gem: sus",
        "    version: '1.0'",
        f"    hash: {projects.recomputed(project.installed('testing'))}",
        "    note: mine",
        "  'yes':",
        "    gem: sus",
        "    version: '1.0'",
        f"    hash: {projects.recomputed(project.installed('yes'))}",
        "extra: {a: 1}",
    ]


# What is found now is no reason to remove anything


def packages_gone(project: Project) -> None:
    shutil.rmtree(project.root / "vendor")


def skills_gone(project: Project) -> None:
    shutil.rmtree(project.gem_root("sus") / "skills")


def skill_broken(project: Project) -> None:
    project.change("sus", {"skills/testing/SKILL.md": "broken"})


def another_bundle(project: Project) -> None:
    project.write({"Gemfile": "", "Gemfile.lock": "GEM\n  remote: https://rubygems.org/\n  specs:\n"})


def bundle_unreadable(project: Project) -> None:
    project.write({"Gemfile.lock": b"\xff"})


@pytest.mark.parametrize("lose", [packages_gone, skills_gone, skill_broken, another_bundle, bundle_unreadable])
def test_what_is_installed_stays_whatever_became_of_its_packages(
    project: Project, lose: Callable[[Project], None]
) -> None:
    lose(project)
    before = project.tree
    for options in ((), ("--force",), ("--check",)):
        assert project.done("sync", *options).out == f"in sync: 2 skills in {SKILLS}\n"
    assert project.run("verify").code in {1, 3}
    assert project.run("verify", "--scope", "installed").code == 0
    # What has to be written cannot be; what is there stays even so.
    shutil.rmtree(project.installed("testing"))
    damaged = without_visits(project.tree)
    assert project.run("sync", "--force").code == 3
    assert without_visits(project.tree) == damaged
    assert {path for path in before if path.startswith(f"{SKILLS}/tasks")} <= damaged.keys()


def test_content_that_changed_at_the_same_version_is_refused_until_it_is_locked(project: Project) -> None:
    project.change("sus", {"skills/testing/SKILL.md": skill("testing", "New.\n"), "skills/testing/scripts/x.sh": "x"})
    assert project.done("sync").out.startswith("in sync")  # the old copy is what is locked
    assert project.run("verify", "--format", "json").drift == [("stale-lock", "testing")]
    shutil.rmtree(project.installed("testing"))
    for options in ((), ("--check",), ("--dry-run",)):
        result = project.run("sync", *options)
        assert result.code == 3
        assert (
            "error[content-changed]: gem:sus 1.0.0: skills/testing is not what was locked: "
            "added scripts/x.sh; changed SKILL.md\n"
            "  hint: `skillsync diff` shows it: run `skillsync lock` if it is right, or reinstall 1.0.0\n"
        ) in result.err
        assert not project.installed("testing").exists()
    assert "    + scripts/x.sh  [script]\n    ~ SKILL.md\n" in project.done("lock").out
    project.done("sync")
    assert project.installed("testing/scripts/x.sh").exists()


def test_content_that_became_unsafe_is_refused(project: Project) -> None:
    shutil.rmtree(project.installed("testing"))
    (project.gem_root("sus") / "skills/testing/node_modules").mkdir()
    result = project.run("sync", "--format", "json")
    assert (result.code, result.codes) == (3, ["content-changed"])
    assert "node_modules" in result.json["problems"][0]["message"]


# Modes


def test_what_can_be_run_is_installed_so_that_it_runs(fresh: Project) -> None:
    fresh.change("sus", {f"skills/testing/scripts/{name}": SCRIPT for name in ("run", "run2")})
    fresh.change("sus", {"skills/testing/scripts/lib.sh": "echo\n", "skills/testing/bin/tool": b"\x7fELF\0"})
    skills = fresh.gem_root("sus") / "skills/testing"
    for name, mode in (("scripts/run", 0o700), ("scripts/run2", 0o400), ("bin/tool", 0o100755), ("SKILL.md", 0o666)):
        (skills / name).chmod(mode)
    fresh.done("lock")
    fresh.done("sync")
    place = fresh.installed("testing")
    modes = {str(path.relative_to(place)): path.stat().st_mode & 0o777 for path in place.rglob("*")}
    assert modes == {
        "SKILL.md": 0o644,
        "bin": 0o755,
        "bin/tool": 0o755,
        "scripts": 0o755,
        "scripts/lib.sh": 0o644,
        "scripts/run": 0o755,
        "scripts/run2": 0o755,
    }
    assert subprocess.run((place / "scripts/run2",), capture_output=True, check=True).stdout == b"ran\n"


@contextlib.contextmanager
def umask(mask: int) -> Iterator[None]:
    usual = os.umask(mask)
    try:
        yield
    finally:
        os.umask(usual)


def test_installed_modes_are_less_the_umask(fresh: Project) -> None:
    fresh.change("sus", {"skills/testing/run": SCRIPT}).done("lock")
    with umask(0o027):
        fresh.done("sync")
    place = fresh.installed("testing")
    modes = [path.stat().st_mode & 0o777 for path in (place, place / "SKILL.md", place / "run")]
    assert modes == [0o750, 0o640, 0o750]


def test_a_script_that_cannot_be_run_is_repaired_and_other_modes_are_not(project: Project) -> None:
    project.change("sus", {"skills/testing/run": SCRIPT, "skills/testing/plain": "x"}).done("lock")
    project.done("sync")
    for name in ("run", "plain"):
        project.installed(f"testing/{name}").chmod(0o640)
    before = project.tree
    assert project.run("verify", "--format", "json").drift == [("not-executable", "testing", "run")]
    assert project.run("sync", "--check", "--format", "json").changes == [("repair", "testing")]
    assert project.tree == before
    assert f"~ repair {SKILLS}/testing (gem:sus 1.0.0)\n    ~ run\n" in project.done("sync").out
    assert project.installed("testing/run").stat().st_mode & 0o777 == 0o750
    assert project.installed("testing/plain").stat().st_mode & 0o777 == 0o640
    assert project.run("verify").code == 0


def test_read_only_packages_are_no_trouble(fresh: Project) -> None:
    for path in sorted(fresh.gem_root("sus").rglob("*"), reverse=True):
        path.chmod(0o555 if path.is_dir() else 0o444)
    fresh.done("sync")
    place = fresh.installed("testing")
    assert [path.stat().st_mode & 0o777 for path in (place, place / "SKILL.md")] == [0o755, 0o644]
    fresh.gem("sus", "1.1.0", "testing", files={"skills/testing/x": "x"}).done("lock")
    fresh.done("sync")


# What tools, people and agents leave inside


def test_caches_are_nobody_s_content_on_either_side(project: Project) -> None:
    caches = {f"{name}/file": "x" for name in ("__pycache__", ".pytest_cache", ".mypy_cache", "lib/.ruff_cache")}
    files = {**caches, ".DS_Store": "x", "lib/Thumbs.db": "x"}
    gems.write_files(project.installed("testing"), files)
    (project.installed("testing") / "empty").mkdir()
    gems.write_files(project.gem_root("sus") / "skills/testing", files)
    assert project.done("lock").out.endswith("is up to date: 2 skills of 2 providers\n")
    assert project.done("sync").out.startswith("in sync")
    project.done("verify")
    update(project)
    project.done("sync")
    assert sorted(os.listdir(project.installed("testing"))) == ["SKILL.md", "new.md"]
    gems.write_files(project.installed("testing"), files)
    project.drop("sus").done("lock")
    project.done("sync")
    assert not project.installed("testing").exists()


def test_runtime_directories_are_carried_over_and_never_removed(project: Project) -> None:
    place = project.installed("testing")
    many = {f".venv/lib/{number}.py": "" for number in range(300)}
    gems.write_files(place, {**many, "ref/node_modules/x/i.js": "x", ".git/HEAD": "x"})
    (place / ".venv/bin").symlink_to("/usr/bin")
    kept = projects.tree(place / ".venv") | projects.tree(place / "ref/node_modules")
    project.done("verify")
    assert project.done("sync").out.startswith("in sync")
    update(project)
    result = project.done("sync")
    assert "    .git stays as it is\n    .venv stays as it is\n    ref/node_modules stays as it is\n" in result.out
    assert projects.tree(place / ".venv") | projects.tree(place / "ref/node_modules") == kept
    assert (place / "new.md").exists()
    assert not (place / "ref/more.md").exists()
    project.done("verify")
    project.drop("sus").done("lock")
    problem = refuses(project, "modified").json["problems"][0]
    assert "holds .git, .venv, ref/node_modules, which skillsync did not write" in problem["message"]


def test_a_runtime_directory_that_is_a_link_is_an_edit(project: Project) -> None:
    project.installed("testing/.venv").symlink_to("/usr")
    refuses(project, "modified")


# Several target directories


TARGETS = 'targets = [".agents/skills", ".claude/skills"]\n'


def test_every_target_directory_is_brought_to_the_lock(fresh: Project) -> None:
    fresh.manifest(TARGETS)
    result = fresh.done("sync", "--format", "json")
    assert [(change["target"], change["skill"]) for change in result.json["changes"]] == [
        (SKILLS, "tasks"),
        (SKILLS, "testing"),
        (".claude/skills", "tasks"),
        (".claude/skills", "testing"),
    ]
    assert sorted(os.listdir(fresh.root / ".claude/skills")) == [*OWN, "tasks", "testing"]
    before = fresh.tree
    assert fresh.done("sync").out == f"in sync: 2 skills in each of {SKILLS}, .claude/skills\n"
    assert fresh.tree == before
    shutil.rmtree(fresh.root / ".claude/skills/tasks")
    assert fresh.run("verify", "--format", "json").drift == [("missing", "tasks")]
    assert fresh.done("sync", "--format", "json").changes == [("add", "tasks")]


def test_what_is_done_is_counted_by_target_directory(fresh: Project) -> None:
    def says(*options: str) -> str:
        return fresh.done("sync", *options).out.splitlines()[-1]

    fresh.manifest(TARGETS)
    assert says() == f"2 added in each of {SKILLS}, .claude/skills"
    shutil.rmtree(fresh.root / ".claude/skills/tasks")
    assert says("--dry-run") == f"1 to add in .claude/skills; in sync: {SKILLS}; nothing was changed"
    for name in ("tasks", "testing"):
        shutil.rmtree(fresh.installed(name))
    assert says("--dry-run") == f"2 to add in {SKILLS}; 1 to add in .claude/skills; nothing was changed"
    assert says() == f"2 added in {SKILLS}; 1 added in .claude/skills"


def test_a_refusal_in_one_target_directory_leaves_all_as_they_are(fresh: Project) -> None:
    fresh.manifest(TARGETS)
    directory(fresh.root / ".claude/skills/testing")
    before = without_visits(fresh.tree)
    for options in ((), ("--force",)):
        result = fresh.run("sync", *options)
        assert result.code == 3
        assert "error[unmanaged]: .claude/skills/testing is a directory" in result.err
        assert without_visits(fresh.tree) == before


@pytest.mark.parametrize("level", [".claude/skills", ".claude"])
def test_a_target_directory_that_is_another_one_counts_once(fresh: Project, level: str) -> None:
    fresh.manifest(TARGETS)
    fresh.installed().mkdir(parents=True)
    if level == ".claude":
        (fresh.root / ".claude").symlink_to(".agents")
    else:
        (fresh.root / ".claude").mkdir()
        (fresh.root / ".claude/skills").symlink_to("../.agents/skills")
    assert fresh.done("sync", "--format", "json").changes == [("add", "tasks"), ("add", "testing")]
    assert fresh.done("sync").out == f"in sync: 2 skills in {SKILLS}\n"
    assert fresh.run("verify").code == 0


def test_links_per_skill_that_somebody_made_are_not_written_through(fresh: Project) -> None:
    fresh.done("sync")
    fresh.manifest(TARGETS)
    (fresh.root / ".claude/skills").mkdir(parents=True)
    for name in ("testing", "gone"):
        (fresh.root / f".claude/skills/{name}").symlink_to(f"../../{SKILLS}/{name}")
    before = fresh.tree
    result = fresh.run("sync", "--force")
    assert result.code == 3
    assert "error[unmanaged]: .claude/skills/testing is a symbolic link" in result.err
    assert fresh.tree == before


def test_a_target_directory_outside_the_project_needs_the_word_of_who_runs_it(fresh: Project, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (fresh.root / ".agents").mkdir()
    fresh.installed().symlink_to(tmp_path / "out")
    before = fresh.tree
    for command in (["sync"], ["verify"], ["list"], ["list", "--verify"], ["show", "tasks"]):
        result = fresh.run(*command, "--format", "json")
        assert (result.code, result.codes) == (3, ["unsafe-target"])
    assert fresh.tree == before
    assert os.listdir(tmp_path / "out") == []
    fresh.done("sync", "--allow-outside")
    assert sorted(os.listdir(tmp_path / "out")) == [*OWN, "tasks", "testing"]
    fresh.done("verify", "--allow-outside")
    assert "installed" in fresh.done("list", "--allow-outside").out


@pytest.mark.parametrize(
    ("targets", "code"),
    [
        ('["../out"]', 2),
        ('["/tmp"]', 2),
        ('["."]', 2),
        ('[""]', 2),
        ("[]", 2),
        ('"skills"', 2),
        ("[1]", 2),
        ('["a", "a/b"]', 2),
        ('["a", "a"]', 2),
        ('["up"]', 3),
        ('["here"]', 3),
        ('["file"]', 3),
    ],
)
def test_what_can_be_no_target_directory_is_refused(fresh: Project, targets: str, code: int) -> None:
    fresh.write({"file": ""}).manifest(f"targets = {targets}\n")
    (fresh.root / "up").symlink_to("..")
    (fresh.root / "here").symlink_to(".")
    before = fresh.tree
    for arguments in (("sync",), ("sync", "--force"), ("sync", "--allow-outside"), ("verify",), ("list",)):
        assert fresh.run(*arguments).code == code
    assert fresh.tree == before


# .gitignore


def block(*names: str) -> str:
    own = "/.agent-skills.yaml\n/.gitignore\n/.skillsync/\n"
    return f"# skillsync\n{own}{''.join(f'/{name}/{chr(10)}' for name in names)}# skillsync end\n"


def test_installed_skills_are_ignored_and_project_authored_ones_are_not(fresh: Project) -> None:
    fresh.write({f"{SKILLS}/.gitignore": "*.tmp\r\n/testing/\r\n"})
    fresh.done("sync")
    place = fresh.installed(".gitignore")
    assert place.read_bytes() == b"*.tmp\r\n/testing/\r\n" + block("tasks", "testing").encode()
    fresh.drop("sus").done("lock")
    fresh.done("sync")
    assert place.read_bytes() == b"*.tmp\r\n/testing/\r\n" + block("tasks").encode()
    fresh.manifest("gitignore = false\n").done("sync")
    assert place.read_bytes() == b"*.tmp\r\n/testing/\r\n"


def test_without_anything_of_the_user_s_the_file_goes_with_the_block(project: Project) -> None:
    assert project.read(f"{SKILLS}/.gitignore") == block("tasks", "testing")
    project.manifest("gitignore = false\n").done("sync")
    assert not project.installed(".gitignore").exists()
    project.manifest("gitignore = true\n").done("sync")
    assert project.read(f"{SKILLS}/.gitignore") == block("tasks", "testing")


def test_a_block_that_differs_is_put_right_and_is_neither_drift_nor_work(project: Project) -> None:
    project.write({f"{SKILLS}/.gitignore": "# skillsync\n# skillsync end\n"})
    assert project.run("sync", "--check").code == 0
    assert project.run("verify").code == 0
    assert f"~ {SKILLS}/.gitignore\n" in project.done("sync").out
    assert project.read(f"{SKILLS}/.gitignore") == block("tasks", "testing")


def test_a_gitignore_that_is_a_link_is_refused(project: Project) -> None:
    project.installed(".gitignore").rename(project.root / "theirs")
    project.installed(".gitignore").symlink_to("../../theirs")
    update(project)
    before = project.tree
    result = project.run("sync", "--format", "json")
    assert (result.code, result.codes) == (3, ["unsafe-target"])
    assert project.tree == before


# Several runs


def test_runs_at_once_end_as_one(fresh: Project, tmp_path: Path) -> None:
    for number in range(20):
        fresh.change("sus", {f"skills/extra-{number}/SKILL.md": skill(f"extra-{number}")})
    fresh.done("lock")
    single = Project(tmp_path / "single")
    shutil.copytree(fresh.root, single.root, symlinks=True, dirs_exist_ok=True)
    single.done("sync")
    runs = [
        subprocess.Popen(
            (*projects.command(), "sync"), cwd=fresh.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(6)
    ]
    runs[0].kill()
    ends = [(run.communicate(timeout=60), run.returncode) for run in runs]
    assert [code for _, code in ends[1:]] == [0] * 5
    assert all(not err or err.startswith("waiting for another skillsync") for (_, err), _ in ends[1:])
    assert sum("added in" in out for (out, _), _ in ends) <= 1
    fresh.done("sync")
    assert fresh.read(REGISTRY) == single.read(REGISTRY)
    assert sorted(os.listdir(fresh.installed())) == sorted(os.listdir(single.installed()))
    fresh.done("verify")


STOPPED = """
import os, sys
from skillsync import filesystem
from skillsync.cli.main import main
usual, left = filesystem.rename, int(sys.argv[1])
def rename(*names, **places):
    global left
    left -= 1
    if left < 0:
        os._exit(9)
    usual(*names, **places)
filesystem.rename = rename
sys.exit(main(["sync"]))
"""


@pytest.mark.parametrize("renames", [0, 1, 2, 4])
def test_a_run_that_was_cut_off_is_named_by_verify_and_settled_by_the_next(
    project: Project, tmp_path: Path, renames: int
) -> None:
    update(project)
    project.gem("new", "1.0.0", "added").drop("bake").done("lock")
    project.write({f"{SKILLS}/mine/SKILL.md": "mine"})
    undisturbed = Project(tmp_path / "undisturbed")
    shutil.copytree(project.root, undisturbed.root, symlinks=True, dirs_exist_ok=True)
    undisturbed.done("sync")
    cut = subprocess.run((sys.executable, "-c", STOPPED, str(renames)), cwd=project.root, check=False)
    assert cut.returncode == 9
    before = project.tree
    result = project.run("verify", "--scope", "installed", "--format", "json")
    assert result.code == 1
    assert (("interrupted",) in result.drift) == (renames > 0)  # the first one brings the journal
    for options in ((), ("--verify",)):
        listed = project.run("list", *options)
        assert (listed.code, f"warning[busy]: a sync of {SKILLS} was interrupted" in listed.err) == (0, renames > 0)
    assert project.tree == before
    settled = project.done("sync")
    assert settled.out.startswith(f"settled what an interrupted sync left in {SKILLS}")
    assert project.read(REGISTRY) == undisturbed.read(REGISTRY)
    assert project.installed().joinpath("mine/SKILL.md").read_text() == "mine"
    found, wanted = (
        {path: entry[2] for path, entry in projects.tree(one.installed()).items()} for one in (project, undisturbed)
    )
    assert found == wanted
    project.done("verify")


def test_a_failure_after_a_stopped_run_was_settled_says_so(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    update(project)
    project.done("lock")
    subprocess.run((sys.executable, "-c", STOPPED, "2"), cwd=project.root, check=False)

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("skillsync.commands.sync.apply", fail)
    result = project.run("sync")
    assert (result.code, result.err.splitlines()) == (
        4,
        [
            f"error[io]: {SKILLS}: Input/output error",
            (
                "  hint: mend that, then run `skillsync sync` again: "
                "an interrupted sync was settled, nothing else was changed"
            ),
        ],
    )


def test_what_is_there_of_a_stopped_run_that_is_not_skillsync_s_is_left_alone(fresh: Project) -> None:
    fresh.write({f"{SKILLS}/.skillsync/mine.txt": "mine"})
    before = fresh.tree
    for options in ((), ("--force",)):
        result = fresh.run("sync", *options)
        assert result.code == 3
        assert f"error[unmanaged]: {SKILLS}/.skillsync holds `mine.txt`" in result.err
        assert fresh.tree == before


def test_a_refused_run_leaves_no_directory_behind(fresh: Project) -> None:
    fresh.uninstall("sus")
    assert fresh.run("sync").code == 3
    assert not (fresh.root / ".agents").exists()


def test_a_removal_by_force_names_what_it_takes_along(project: Project) -> None:
    project.write({f"{SKILLS}/testing/.venv/bin/python": "", MANIFEST: "[providers]\n"})
    project.done("lock")
    assert "holds .venv, which skillsync did not write" in project.run("sync").err
    for options in (("--force", "--dry-run"), ("--force",)):
        assert "    - .venv, which skillsync did not write\n" in project.done("sync", *options).out
    assert not (project.root / SKILLS / "testing").exists()
