"""Further target directories that link to the first one's skills, and what `init` offers."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

import gems
import machine
import pytest
from builders import Meddled
from projects import SKILLS, Project, in_sync, skill
from tools import need

from skillsync.cli import main as command_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CLAUDE = ".claude/skills"
TARGETS = f'targets = ["{SKILLS}", "{CLAUDE}"]\n'
LINKING = f"{TARGETS}link = true\n"
LINKS = {"tasks": f"../../{SKILLS}/tasks", "testing": f"../../{SKILLS}/testing"}


@pytest.fixture
def fresh(tmp_path: Path) -> Project:
    """Return a project whose two skills are locked and not installed, and whose second target links to the first."""
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing").gem("bake", "1.0.0", "tasks")
    project.manifest(LINKING).done("lock")
    return project


@pytest.fixture
def project(fresh: Project) -> Project:
    fresh.done("sync")
    return fresh


def links(project: Project, target: str = CLAUDE) -> dict[str, str]:
    """Return the links in a target directory, and no other entry but skillsync's own."""
    found = {name: project.root / target / name for name in os.listdir(project.root / target)}
    return {name: os.readlink(path) for name, path in found.items() if not name.startswith(".") or path.is_symlink()}


def refused(project: Project, code: str, *options: str) -> str:
    """Run a sync that has to refuse for one reason and change nothing; return what it says."""
    before = project.tree
    result = project.run("sync", *options, "--format", "json")
    assert (result.code, result.codes) == (3, [code])
    assert project.tree == before
    return str(result.json["problems"][0]["message"])


# What is made


def test_every_further_target_links_to_the_first(fresh: Project) -> None:
    fresh.manifest(f'targets = ["{SKILLS}", "{CLAUDE}", "tools/agent/skills"]\nlink = true\n')
    dry = fresh.done("sync", "--dry-run", "--format", "json").json["changes"]
    done = fresh.done("sync", "--format", "json").json["changes"]
    assert dry == done
    assert [(one["target"], one["skill"], one.get("link")) for one in done] == [
        (SKILLS, "tasks", None),
        (SKILLS, "testing", None),
        *((CLAUDE, name, text) for name, text in LINKS.items()),
        *(("tools/agent/skills", name, f"../../../{SKILLS}/{name}") for name in LINKS),
    ]
    assert links(fresh) == LINKS
    assert (fresh.root / CLAUDE / "testing/SKILL.md").read_text() == skill("testing")
    assert (fresh.root / "tools/agent/skills/tasks/SKILL.md").read_text() == skill("tasks")
    # Each has a registry of its own, with the skill's own hash.
    assert fresh.read(f"{CLAUDE}/.agent-skills.yaml") == fresh.read(f"{SKILLS}/.agent-skills.yaml")
    in_sync(fresh, "bake 1.0.0 tasks", "sus 1.0.0 testing")
    assert fresh.done("verify").out.splitlines()[-1] == "ok: checked 6 skills, 2 files, 2 providers (scope all)"


def test_the_link_is_what_a_person_reads_of(fresh: Project) -> None:
    out = fresh.done("sync").out.splitlines()
    assert out[2:] == [
        "+ add .agents/skills/testing (gem:sus 1.0.0)",
        "    + SKILL.md",
        f"+ add {CLAUDE}/tasks (gem:bake 1.0.0, a link to {LINKS['tasks']})",
        f"+ add {CLAUDE}/testing (gem:sus 1.0.0, a link to {LINKS['testing']})",
        f"~ {SKILLS}/.gitignore",
        f"~ {CLAUDE}/.gitignore",
        f"2 added in each of {SKILLS}, {CLAUDE}",
    ]
    lines = fresh.done("show", "testing").out.splitlines()
    assert f"  {CLAUDE}  as it is locked, a link to {LINKS['testing']}" in lines
    (shown,) = fresh.done("show", "testing", "--format", "json").json["skills"]
    assert shown["targets"] == [
        {"target": SKILLS, "action": None, "refused": None},
        {"target": CLAUDE, "action": None, "refused": None, "link": LINKS["testing"]},
    ]


def test_without_the_key_the_targets_have_copies(fresh: Project) -> None:
    fresh.manifest(TARGETS).done("sync")
    assert not (fresh.root / CLAUDE / "testing").is_symlink()
    assert "/testing/\n" in fresh.read(f"{CLAUDE}/.gitignore")


def test_a_new_version_is_seen_through_the_links(project: Project) -> None:
    project.gem("sus", "2.0.0", files={"skills/testing/SKILL.md": skill("testing", "Second.\n")}).done("lock")
    assert project.run("verify", "--scope", "installed", "--format", "json").drift == [
        ("outdated", "testing"),
        ("stale-row", "testing"),
    ]
    assert project.done("sync", "--format", "json").changes == [("update", "testing"), ("record", "testing")]
    assert "Second." in (project.root / CLAUDE / "testing/SKILL.md").read_text()
    in_sync(project, "bake 1.0.0 tasks", "sus 2.0.0 testing")


def test_a_removal_takes_the_link_and_what_it_leads_to_goes_by_itself(project: Project) -> None:
    mine = project.root / CLAUDE / "mine"
    mine.symlink_to(f"../../{SKILLS}/tasks")
    project.drop("bake").done("lock")
    assert project.done("sync", "--format", "json").changes == [("remove", "tasks"), ("remove", "tasks")]
    assert links(project) == {"testing": LINKS["testing"], "mine": f"../../{SKILLS}/tasks"}
    assert os.listdir(project.root / CLAUDE / "testing") == ["SKILL.md"]


def test_only_what_has_to_be_copied_needs_its_package(project: Project) -> None:
    (project.root / CLAUDE / "testing").unlink()
    project.uninstall("sus")
    assert project.done("sync", "--format", "json").changes == [("add", "testing")]
    assert links(project) == LINKS


def test_the_first_target_may_be_reached_through_a_link(fresh: Project) -> None:
    # What a link says is of the real directories: `.claude` lies one level deeper than it looks.
    (fresh.root / "config/claude").mkdir(parents=True)
    (fresh.root / ".claude").symlink_to("config/claude")
    fresh.done("sync")
    assert links(fresh)["testing"] == f"../../../{SKILLS}/testing"
    assert (fresh.root / CLAUDE / "testing/SKILL.md").is_file()
    in_sync(fresh, "bake 1.0.0 tasks", "sus 1.0.0 testing")


@pytest.mark.parametrize("level", [CLAUDE, ".claude"])
def test_a_target_that_is_a_link_to_another_is_one(fresh: Project, level: str) -> None:
    fresh.installed().mkdir(parents=True)
    if level == ".claude":
        (fresh.root / ".claude").symlink_to(".agents")
    else:
        (fresh.root / ".claude").mkdir()
        (fresh.root / CLAUDE).symlink_to(f"../{SKILLS}")
    assert fresh.done("sync", "--format", "json").changes == [("add", "tasks"), ("add", "testing")]
    assert not fresh.installed("testing").is_symlink()
    assert fresh.done("sync").out == f"in sync: 2 skills in {SKILLS}\n"
    assert fresh.done("verify").out.splitlines()[-1] == "ok: checked 2 skills, 2 files, 2 providers (scope all)"
    assert [line.split()[:2] for line in fresh.done("list").out.splitlines()[2:4]] == [
        ["tasks", "installed"],
        ["testing", "installed"],
    ]


# What was a target once


def warned(project: Project, *command: str) -> list[tuple[str, str]]:
    """Return message and hint of each warning of a command that succeeds."""
    problems = project.done(*command, "--format", "json").json["problems"]
    assert {(one["code"], one["severity"], one["path"]) for one in problems} <= {("former-target", "warning", CLAUDE)}
    return [(one["message"], one["hint"]) for one in problems]


@pytest.mark.parametrize("manifest", [TARGETS, LINKING])
def test_what_is_left_in_a_former_target_is_said_with_how_to_remove_it(fresh: Project, manifest: str) -> None:
    fresh.manifest(manifest).done("sync")
    assert warned(fresh, "verify") == []
    fresh.manifest("version = 1\n")
    before = fresh.tree
    message = f"{CLAUDE} is no target any more, and has skills that skillsync installed: tasks, testing"
    hint = "all is as it was written: run `rm -r {}`; or add it to `targets`"
    for command in (("sync",), ("sync", "--check"), ("verify",), ("verify", "--scope", "installed")):
        assert warned(fresh, *command) == [(message, hint.format(CLAUDE))]
    assert warned(fresh, "verify", "--scope", "providers") == []
    assert fresh.tree == before
    fresh.write({f"{CLAUDE}/mine/SKILL.md": "mine\n"})
    paths = [f"{CLAUDE}/{name}" for name in (".agent-skills.yaml", "tasks", "testing", ".gitignore")]
    assert warned(fresh, "verify") == [(message, hint.format(" ".join(paths)))]
    subprocess.run(["rm", "-r", *paths], cwd=fresh.root, check=True)
    assert warned(fresh, "verify") == []
    assert fresh.installed("testing/SKILL.md").read_text() == skill("testing")


def test_lines_of_a_former_target_s_gitignore_that_are_somebody_s_stay(fresh: Project) -> None:
    fresh.manifest(TARGETS).done("sync")
    with (fresh.root / CLAUDE / ".gitignore").open("a") as file:
        file.write("mine\n")
    ((_, hint),) = warned(fresh.manifest("version = 1\n"), "verify")
    paths = " ".join(f"{CLAUDE}/{name}" for name in (".agent-skills.yaml", "tasks", "testing"))
    assert f"run `rm -r {paths}` and take its block out of `{CLAUDE}/.gitignore`; or add" in hint


@pytest.mark.parametrize("manifest", [TARGETS, LINKING])
def test_what_was_changed_in_a_former_target_is_named_and_in_no_command(fresh: Project, manifest: str) -> None:
    fresh.manifest(manifest).done("sync")
    testing = fresh.root / CLAUDE / "testing"
    if testing.is_symlink():
        testing.unlink()
    fresh.write({f"{CLAUDE}/testing/SKILL.md": "mine\n"}).manifest("version = 1\n")
    ((_, hint),) = warned(fresh, "verify")
    said, command = hint.split("; for the rest, run ")
    assert said == (
        f"changed since it was written: testing; with {CLAUDE} in `targets` again, "
        "`skillsync diff --installed` shows how"
    )
    assert "mine" in fresh.manifest(manifest).done("diff", "--installed").out
    fresh.manifest("version = 1\n")
    subprocess.run(shlex.split(command.strip("`")), cwd=fresh.root, check=True)
    assert os.listdir(fresh.root / CLAUDE) == ["testing"]
    assert fresh.read(f"{CLAUDE}/testing/SKILL.md") == "mine\n"
    assert warned(fresh, "verify") == []


@pytest.mark.parametrize("made", [".venv/pyvenv.cfg", "node_modules/x/package.json", "locked/x"])
def test_what_somebody_made_in_a_former_target_s_skill_is_a_change(fresh: Project, made: str) -> None:
    fresh.manifest(TARGETS).done("sync")
    fresh.write({f"{CLAUDE}/testing/{made}": ""}).manifest("version = 1\n")
    ((_, hint),) = warned(fresh, "verify")
    assert hint.startswith("changed since it was written: testing; ")
    assert f"{CLAUDE}/testing" not in hint


def test_what_is_removed_is_named_from_where_the_person_is(fresh: Project) -> None:
    fresh.manifest(TARGETS).done("sync")
    fresh.manifest("version = 1\n").write({"packages/member/.claude/skills/mine/SKILL.md": "mine\n"})
    with contextlib.chdir(fresh.root / "packages/member"):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = command_line.main(["verify", "--project", "../.."])
    assert code == 0
    assert f"`rm -r ../../{CLAUDE}`" in out.getvalue()


def removing(root: str) -> list[str]:
    """Verify a project from where the test is, and return the words for the shell that its warning has."""
    out = io.StringIO()
    with contextlib.redirect_stdout(None), contextlib.redirect_stderr(out):
        assert command_line.main(["verify", "--project", root]) == 0
    assert "is no target any more" in out.getvalue()
    return shlex.split(out.getvalue().partition("run `")[2].partition("`; or")[0])


@pytest.mark.parametrize("inside", ["", "/testing", "/testing/scripts"])
def test_what_is_removed_can_be_where_the_person_is(fresh: Project, inside: str) -> None:
    fresh.change("sus", {"skills/testing/scripts/run": "x"}).done("lock")
    fresh.manifest(TARGETS).done("sync")
    fresh.manifest("version = 1\n")
    with contextlib.chdir(f"{fresh.root}/{CLAUDE}{inside}"):
        subprocess.run(removing(str(fresh.root)), check=True)
    assert not (fresh.root / CLAUDE).exists()
    assert warned(fresh, "verify") == []


def test_what_is_removed_is_no_option_of_rm_s(fresh: Project) -> None:
    fresh.manifest(TARGETS).done("sync")
    fresh.manifest("version = 1\n")
    project = fresh.root.rename(fresh.root.with_name("-app"))
    with contextlib.chdir(project.parent):
        subprocess.run(removing("./-app"), check=True)
    assert not (project / CLAUDE).exists()


def test_what_is_removed_is_named_by_its_whole_path_where_the_person_s_directory_is_gone(
    fresh: Project, tmp_path: Path
) -> None:
    fresh.manifest(TARGETS).done("sync")
    fresh.manifest("version = 1\n")
    gone = tmp_path / "gone"
    gone.mkdir()
    with contextlib.chdir(gone):
        gone.rmdir()
        assert removing(str(fresh.root)) == ["rm", "-r", f"{fresh.root}/{CLAUDE}"]


def test_a_name_that_is_not_shown_as_it_is_is_in_no_command(fresh: Project) -> None:
    fresh.manifest('targets = [".claude\\u202E/skills"]\n').done("sync")
    fresh.manifest("version = 1\n").done("sync")
    (problem,) = fresh.done("verify", "--format", "json").json["problems"]
    assert problem["hint"] == "all is as it was written: remove them; or add it to `targets`"


def test_many_skills_of_a_former_target_are_counted(fresh: Project) -> None:
    fresh.gem("many", "1.0.0", *(f"many-{number}" for number in range(5))).done("lock")
    fresh.manifest(TARGETS).done("sync")
    ((message, _),) = warned(fresh.manifest("version = 1\n"), "verify")
    assert message.endswith("installed: many-0, many-1, many-2, many-3, many-4 and 2 more")


@pytest.mark.parametrize(
    "files",
    [
        {f"{CLAUDE}/mine/SKILL.md": "mine\n"},
        {f"{CLAUDE}/.agent-skills.yaml": "version: 1\nskills:\n  mine:\n    gem: sus\n", f"{CLAUDE}/mine/SKILL.md": ""},
        {f"{CLAUDE}/.agent-skills.yaml": "version: 1\nskills: {}\n"},
    ],
)
def test_a_directory_without_skills_of_skillsync_s_was_no_target(fresh: Project, files: dict[str, str]) -> None:
    fresh.manifest("version = 1\n").write(files).done("sync")
    assert warned(fresh, "verify") == []


def test_a_directory_that_is_one_with_a_target_or_lies_outside_is_none_of_its_own(
    fresh: Project, tmp_path: Path
) -> None:
    (fresh.root / ".claude").symlink_to(".agents")
    (tmp_path / "outside/skills").mkdir(parents=True)
    (tmp_path / "outside/skills/.agent-skills.yaml").write_text("[")
    (fresh.root / ".codex").symlink_to(tmp_path / "outside")
    fresh.manifest("version = 1\n").done("sync")
    assert warned(fresh, "verify") == []


@pytest.mark.parametrize("text", ["[", "version: 2\n"])
def test_a_registry_that_can_t_be_read_elsewhere_is_said_and_stops_nothing(fresh: Project, text: str) -> None:
    fresh.manifest("version = 1\n").write({f"{CLAUDE}/.agent-skills.yaml": text})
    ((message, hint),) = warned(fresh, "sync")
    assert message.startswith(f"{CLAUDE} is no target, and its registry or a skill in it can't be read")
    assert hint.endswith(f"or add {CLAUDE} to `targets`")


# To links and back


def test_copies_become_links_and_links_copies(fresh: Project) -> None:
    fresh.manifest(TARGETS).done("sync")
    copies = {path: entry[2] for path, entry in fresh.tree.items() if path.startswith(CLAUDE)}
    fresh.manifest(LINKING)
    assert fresh.run("verify", "--format", "json").drift == [("outdated", "tasks"), ("outdated", "testing")]
    said = f"outdated: {CLAUDE}/testing (a copy, where a link to {LINKS['testing']} has to be)"
    assert said in fresh.run("verify").out.splitlines()
    assert f"::{said}: it is as it was written, and the lock or the" in fresh.run("verify", "--format", "github").out
    assert "outdated" in fresh.done("list", "--verify").out
    diff = fresh.done("diff", "--installed").out
    assert list(filter(None, diff.splitlines())) == [
        f"~ update {CLAUDE}/{name} (gem:{owner} 1.0.0, a link to {LINKS[name]})"
        for name, owner in (("tasks", "bake"), ("testing", "sus"))
    ]
    assert fresh.done("sync", "--format", "json").changes == [("update", "tasks"), ("update", "testing")]
    assert links(fresh) == LINKS
    in_sync(fresh, "bake 1.0.0 tasks", "sus 1.0.0 testing")
    fresh.manifest(TARGETS)
    assert fresh.run("verify", "--format", "json").drift == [("outdated", "tasks"), ("outdated", "testing")]
    said = f"outdated: {CLAUDE}/testing (a link, where a copy has to be)"
    assert said in fresh.run("verify").out.splitlines()
    fresh.done("sync")
    assert {path: entry[2] for path, entry in fresh.tree.items() if path.startswith(CLAUDE)} == copies
    in_sync(fresh, "bake 1.0.0 tasks", "sus 1.0.0 testing")


def test_the_targets_may_change_their_order(project: Project) -> None:
    project.manifest(f'targets = ["{CLAUDE}", "{SKILLS}"]\nlink = true\n')
    said = f"outdated: {CLAUDE}/testing (a link, where a copy has to be)"
    assert said in project.run("verify").out.splitlines()
    project.done("sync")
    assert links(project, SKILLS) == {name: f"../../{CLAUDE}/{name}" for name in LINKS}
    assert not (project.root / CLAUDE / "testing").is_symlink()
    assert project.installed("testing/SKILL.md").read_text() == skill("testing")
    assert project.run("verify").code == 0


@pytest.mark.parametrize("is_there", [True, False])
def test_links_to_a_target_that_is_left_out_of_the_list_become_copies(project: Project, *, is_there: bool) -> None:
    project.manifest(f'targets = ["{CLAUDE}"]\n')
    if not is_there:
        shutil.rmtree(project.root / SKILLS)
    assert f"outdated: {CLAUDE}/testing (a link, where a copy has to be)" in project.run("verify").out.splitlines()
    result = project.run("sync", "--format", "json")
    assert (result.code, result.codes) == (0, ["former-target"] if is_there else [])
    assert not (project.root / CLAUDE / "testing").is_symlink()
    assert (project.root / CLAUDE / "testing/SKILL.md").read_text() == skill("testing")
    assert project.installed("testing/SKILL.md").is_file() == is_there


@pytest.mark.parametrize(
    "text",
    ["../../.dev/skills/tasks", "../../dev/skills/testing", "../../../.dev/skills/testing", "../../.dev/testing"],
)
def test_a_link_that_skillsync_never_makes_is_a_change(project: Project, text: str) -> None:
    project.manifest(f'targets = ["{CLAUDE}"]\n').done("sync")
    shutil.rmtree(project.root / CLAUDE / "testing")
    (project.root / CLAUDE / "testing").symlink_to(text)
    before = project.tree
    result = project.run("sync", "--format", "json")
    assert (result.code, result.codes) == (3, ["modified", "former-target"])
    assert project.tree == before


def test_what_an_agent_made_inside_a_copy_is_not_replaced_by_a_link(fresh: Project) -> None:
    fresh.manifest(TARGETS).done("sync")
    (fresh.root / CLAUDE / "testing/.venv").mkdir()
    fresh.manifest(LINKING)
    for options in ((), ("--force",)):
        message = refused(fresh, "modified", *options)
        assert message == f"{CLAUDE}/testing holds .venv, which has no place behind a link"
    (fresh.root / CLAUDE / "testing/.venv").rmdir()
    fresh.done("sync")
    assert links(fresh) == LINKS


def test_an_edited_copy_is_no_link_until_the_edit_is_discarded_on_purpose(fresh: Project) -> None:
    fresh.manifest(TARGETS).done("sync")
    (fresh.root / CLAUDE / "testing/SKILL.md").write_text("mine\n")
    fresh.manifest(LINKING)
    assert refused(fresh, "modified") == f"{CLAUDE}/testing was changed since skillsync wrote it: SKILL.md"
    assert "\n-mine\n" in fresh.done("diff", "--installed").out
    fresh.done("sync", "--force")
    assert links(fresh) == LINKS
    assert fresh.installed("testing/SKILL.md").read_text() == skill("testing")


# What is in the place of a link


def elsewhere(place: Path) -> None:
    place.unlink()
    place.symlink_to("../../elsewhere")


def another_skill(place: Path) -> None:
    place.unlink()
    place.symlink_to(f"../../{SKILLS}/tasks")


def absolute(place: Path) -> None:
    place.unlink()
    place.symlink_to(place.parents[2] / SKILLS / "testing")


def with_a_slash(place: Path) -> None:
    place.unlink()
    place.symlink_to(f"{LINKS['testing']}/")


def file(place: Path) -> None:
    place.unlink()
    place.write_text("mine")


def other_copy(place: Path) -> None:
    place.unlink()
    place.mkdir()
    (place / "SKILL.md").write_text("mine")


@pytest.mark.parametrize("change", [elsewhere, another_skill, absolute, with_a_slash, file, other_copy])
def test_nothing_but_the_link_will_do(project: Project, change: Callable[[Path], None]) -> None:
    project.write({"elsewhere/SKILL.md": "e"})
    change(project.root / CLAUDE / "testing")
    drift = {row[:2] for row in project.run("verify", "--format", "json").drift}
    assert drift == {("modified", "testing")}
    assert "modified" in project.done("list", "--verify").out
    refused(project, "modified")
    project.done("sync", "--force")
    assert links(project) == LINKS
    assert project.read("elsewhere/SKILL.md") == "e"
    assert sorted(os.listdir(project.installed())) == [".agent-skills.yaml", ".gitignore", "tasks", "testing"]
    assert project.installed("testing/SKILL.md").read_text() == skill("testing")


def test_a_link_that_is_gone_is_missing_and_made_again(project: Project) -> None:
    (project.root / CLAUDE / "testing").unlink()
    result = project.run("verify", "--format", "json")
    assert result.json["drift"] == [{"kind": "missing", "skill": "testing", "target": CLAUDE}]
    assert "missing" in project.done("list").out
    project.done("sync")
    assert links(project) == LINKS


def test_an_edit_of_the_first_target_is_told_there_alone(project: Project) -> None:
    (project.root / CLAUDE / "testing/SKILL.md").write_text("mine\n")
    result = project.run("verify", "--format", "json")
    assert [(row["target"], row["path"]) for row in result.json["drift"]] == [(SKILLS, "SKILL.md")]
    assert refused(project, "modified") == f"{SKILLS}/testing was changed since skillsync wrote it: SKILL.md"


def test_a_copy_as_it_was_written_becomes_the_link_again(project: Project) -> None:
    place = project.root / CLAUDE / "testing"
    place.unlink()
    shutil.copytree(project.installed("testing"), place)
    assert project.run("verify", "--format", "json").drift == [("outdated", "testing")]
    project.done("sync")
    assert links(project) == LINKS


@pytest.mark.parametrize("text", [LINKS["testing"], "../../elsewhere"])
def test_a_link_that_skillsync_has_no_row_of_is_somebody_s(fresh: Project, text: str) -> None:
    (fresh.root / CLAUDE).mkdir(parents=True)
    (fresh.root / CLAUDE / "testing").symlink_to(text)
    before = fresh.tree
    for options in ((), ("--force",)):
        result = fresh.run("sync", *options, "--format", "json")
        assert (result.code, result.codes) == (3, ["unmanaged"])
        assert {path: entry[2] for path, entry in fresh.tree.items()} == {
            path: entry[2] for path, entry in before.items()
        }


# Where the system has no links


def no_links(*_: object, **__: object) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def test_where_the_system_has_no_links_nothing_is_copied_in_their_place(
    fresh: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillsync.filesystem.os", Meddled(symlink=no_links))
    result = fresh.run("sync", "--format", "json")
    assert (result.code, result.codes) == (4, ["io"])
    (problem,) = result.json["problems"]
    reason = os.strerror(errno.EPERM)
    assert problem["message"] == f"{CLAUDE}/tasks can't be a link, as `link = true` asks for: {reason}"
    assert "take `link` out of agent-skills.toml" in problem["hint"]
    assert not (fresh.root / ".agents").exists()
    assert not (fresh.root / ".claude").exists()
    fresh.manifest(TARGETS).done("sync")
    assert fresh.run("verify").code == 0


def test_another_failure_of_the_system_is_told_as_it_is(fresh: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("skillsync.filesystem.os", Meddled(symlink=fail))
    result = fresh.run("sync")
    assert result.code == 4
    assert os.strerror(errno.ENOSPC) in result.err
    assert "`link" not in result.err


def test_a_file_system_without_links_is_named_and_stays_as_it_was(fresh: Project, tmp_path: Path) -> None:
    (fresh.root / ".claude").mkdir()
    with machine.without_links(fresh.root / ".claude", tmp_path / "image"):
        result = fresh.run("sync", "--format", "json")
        assert (result.code, result.codes) == (4, ["io"])
        assert "can't be a link, as `link = true` asks for" in result.json["problems"][0]["message"]
        assert os.listdir(fresh.root / ".claude") == []
        assert not (fresh.root / ".agents").exists()
        fresh.manifest(TARGETS).done("sync")
        assert (fresh.root / CLAUDE / "testing/SKILL.md").read_text() == skill("testing")
        assert fresh.run("verify").code == 0


# .gitignore


def test_git_ignores_the_links_and_keeps_what_is_project_authored_trackable(project: Project) -> None:
    need("git")
    project.write({f"{CLAUDE}/mine/SKILL.md": "m"})
    (project.root / CLAUDE / "theirs").symlink_to("../../elsewhere")
    assert "\n/tasks\n/testing\n# skillsync end\n" in project.read(f"{CLAUDE}/.gitignore")
    environ = gems.ruby_environ(project.root.parent / "home")

    def untracked() -> list[str]:
        listed = ("git", "ls-files", "--others", "--exclude-standard", "--", ".claude")
        return gems.run(listed, project.root, environ).split()

    subprocess.run(("git", "init", "--quiet"), cwd=project.root, env=environ, check=True)
    assert untracked() == [f"{CLAUDE}/mine/SKILL.md", f"{CLAUDE}/theirs"]
    project.manifest(TARGETS).done("sync")
    assert untracked() == [f"{CLAUDE}/mine/SKILL.md", f"{CLAUDE}/theirs"]


# The manifest


def test_allow_and_deny_keep_the_key(project: Project) -> None:
    project.manifest(f"{LINKING}# why\n")
    project.done("allow", "gem:sus")
    assert project.read("agent-skills.toml").startswith(f"{LINKING}# why\n")
    project.done("deny", "gem:bake")
    assert project.read("agent-skills.toml").startswith(f"{LINKING}# why\n")


def test_links_without_a_second_target_are_refused(fresh: Project) -> None:
    fresh.manifest("link = true\n")
    result = fresh.run("sync")
    assert result.code == 2
    assert (
        "agent-skills.toml can't be used: link: nothing reads it: there is no target but `.agents/skills`" in result.err
    )
