"""Disks that are full or can't be written, and users who may not: exit 4, the system's reason, and nothing changed."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

import machine
import pytest
from builders import Installation, lay, walked
from cuts import Cut, Killed, recovered
from projects import LOCK, SKILLS, Project, content, skill

from skillsync.errors import Code, SkillsyncError
from skillsync.hashing import Link
from skillsync.syncing.journal import STAGING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from machine import Disk
    from projects import Result, Tree


pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with machine.disk(tmp_path / "project") as found:
        yield found


@pytest.fixture
def setup(tmp_path: Path, disk: Disk) -> Installation:
    """Return a target directory on a small disk: one skill to add, one to update, one to remove."""
    assert disk.path == tmp_path / "project"
    found = Installation(tmp_path)
    for name in ("gone", "used"):
        found.ship(name, {"f": "1"})
    found.sync(ignored=True)
    found.drop("gone")
    found.ship("used", {"f": "2" * 9000, "d/g": "2"})
    found.ship("fresh", {"a/f": "1", "l": Link("a/f")})
    lay(found.installed, {"mine/SKILL.md": "m", "used/.venv/lib": "l"})
    return found


def synced(setup: Installation) -> OSError | None:
    """Sync, and return what the system refused."""
    try:
        setup.sync(ignored=True)
    except OSError as error:
        return error
    return None


def check_done(setup: Installation) -> None:
    assert sorted(os.listdir(setup.installed)) == [".agent-skills.yaml", ".gitignore", "fresh", "mine", "used"]
    assert setup.plan().changes == ()
    for name in ("fresh", "used"):
        assert walked(setup.installed / name).hash == walked(setup.copy_of(name)).hash


@pytest.mark.parametrize("what", ["space", "files"])
def test_a_disk_that_is_full_at_any_point_changes_nothing(setup: Installation, disk: Disk, what: str) -> None:
    before = content(setup.installed, times=True)
    refusals = set()
    for free in range(20):
        (disk.fill if what == "space" else disk.take_files)(free)
        error = synced(setup)
        if error is None:
            break
        assert error.errno == errno.ENOSPC
        assert error.filename.startswith(f"{SKILLS}/{STAGING}")
        refusals.add(error.filename)
        assert content(setup.installed, times=True) == before
    assert len(refusals) > 5
    check_done(setup)


@pytest.mark.parametrize("turn", ["new-journal", "gone", "used", "new-used", "old-used/.venv", "new-.gitignore"])
def test_a_disk_that_fills_after_a_kill_is_no_obstacle(setup: Installation, disk: Disk, turn: str) -> None:
    before = content(setup.installed / "mine", times=True)
    assert isinstance(Cut(f"rename {turn}", Killed, after=True).run(setup), Killed)
    disk.fill()
    # What the killed run had taken is enough to settle what it did.
    recovered(setup)
    assert not (setup.installed / STAGING).exists()
    assert (setup.installed / "used/.venv/lib").read_text() == "l"
    assert content(setup.installed / "mine", times=True) == before
    disk.empty()
    assert synced(setup) is None
    check_done(setup)


# The command itself


def behind(project: Project) -> Project:
    """Return a project with one skill to add, one to update and one to remove."""
    project.gem("a", "1.0.0", "gone", "used").done("lock")
    project.done("sync")
    project.gem("a", "2.0.0", "fresh", "used", files={"skills/used/f": "2" * 9000}).done("lock")
    return project.write({f"{SKILLS}/mine/SKILL.md": "mine"})


def refused(result: Result, reason: str) -> None:
    """Check that a run ended as the system's refusals do, for this reason, without a traceback."""
    error, hint = result.err.splitlines()
    assert (result.code, error) == (4, f"error[io]: {reason}")
    assert hint == "  hint: mend that, then run the command again: nothing was changed"


def test_a_full_disk_is_named_with_the_path_that_found_no_room(tmp_path: Path, disk: Disk) -> None:
    project = behind(Project(disk.path))
    before = content(project.installed(), times=True)
    disk.fill()
    refused(project.run("sync"), f"{SKILLS}/{STAGING}/new-fresh/SKILL.md: No space left on device")
    assert content(project.installed(), times=True) == before
    disk.empty()
    project.done("sync")
    project.done("verify")
    assert tmp_path in disk.path.parents


def test_a_file_that_may_not_be_that_large_is_named(tmp_path: Path) -> None:
    project = behind(Project(tmp_path))
    before = project.tree
    refused(machine.limited(project, 4096, "sync"), f"{SKILLS}/{STAGING}/new-used/f: File too large")
    after = project.tree
    for tree in (before, after):
        del tree[SKILLS]  # its time alone: the staging directory came and went
    assert after == before
    project.done("sync")


def test_a_lock_that_can_not_be_written_whole_is_the_old_one(tmp_path: Path) -> None:
    project = Project(tmp_path).gem("a", "1.0.0", "one")
    project.done("lock")
    before = project.read(LOCK)
    project.gem("a", "2.0.0", *(f"skill-{number}" for number in range(20)))
    result = machine.limited(project, 1024, "lock")
    assert (result.code, "File too large" in result.err) == (4, True)
    assert project.read(LOCK) == before
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []


def test_a_file_system_that_is_read_only_is_named_and_can_be_verified(disk: Disk) -> None:
    project = behind(Project(disk.path))
    before = project.tree
    disk.remount("ro")
    try:
        refused(project.run("sync"), f"{SKILLS}/{STAGING}: Read-only file system")
        assert project.run("verify").code == 1
        assert project.run("sync", "--check").code == 1
        assert project.run("lock", "--check").code == 0
        assert project.tree == before
    finally:
        disk.remount("rw")
    project.done("sync")
    disk.remount("ro")
    try:
        project.done("sync")
        project.done("verify")
    finally:
        disk.remount("rw")


def test_a_run_that_was_cut_off_is_settled_when_the_disk_can_be_written_again(setup: Installation, disk: Disk) -> None:
    assert isinstance(Cut("rename used", Killed, after=True).run(setup), Killed)
    disk.remount("ro")
    try:
        with pytest.raises(SkillsyncError) as caught:
            synced(setup)
        (problem,) = caught.value.problems
        assert problem.code is Code.IO
        assert problem.message == f"{SKILLS}/{STAGING}/old-gone: Read-only file system"
    finally:
        disk.remount("rw")
    assert synced(setup) is None
    check_done(setup)


def test_a_target_directory_that_can_not_be_made_is_named(disk: Disk) -> None:
    project = Project(disk.path).gem("a", "1.0.0", "one")
    project.done("lock")
    disk.remount("ro")
    try:
        refused(project.run("sync"), ".agents: Read-only file system")
    finally:
        disk.remount("rw")
    assert not (project.root / ".agents").exists()


# A user who isn't root


@pytest.fixture
def project() -> Iterator[Project]:
    """Return a project that is behind its lock, in a directory of the user as whom the program then runs."""
    with machine.public_directory() as path:
        found = behind(Project(path / "app"))
        machine.hand_over(path)
        yield found


def kinds(tree: Tree) -> dict[str, object]:
    """What is there, without times: those of directories change."""
    return {path: (entry[0], entry[2]) for path, entry in tree.items()}


@pytest.mark.parametrize(
    ("place", "mode", "named"),
    [
        (SKILLS, 0o555, f"{SKILLS}/{STAGING}"),
        (f"{SKILLS}/used", 0o555, f"{SKILLS}/used"),
        (f"{SKILLS}/used/SKILL.md", 0o000, f"{SKILLS}/used/SKILL.md"),
        (f"{SKILLS}/gone", 0o000, f"{SKILLS}/gone"),
    ],
)
def test_permission_denied_is_named_and_nothing_is_changed(project: Project, place: str, mode: int, named: str) -> None:
    path = project.root / place
    usual = stat.S_IMODE(path.stat().st_mode)
    before = kinds(project.tree)
    path.chmod(mode)
    try:
        refused(machine.as_user(project, "sync"), f"{named}: Permission denied")
    finally:
        path.chmod(usual)
    assert kinds(project.tree) == before
    assert machine.as_user(project, "sync").code == 0
    assert machine.as_user(project, "verify").code == 0


def test_read_only_directories_inside_what_is_replaced_leave_nothing_behind(project: Project) -> None:
    # Left out when it is compared, and so no edit.
    for skill_of, name in (("used", "__pycache__"), ("gone", "__pycache__")):
        inner = project.installed(f"{skill_of}/{name}/deeper")
        inner.mkdir(parents=True)
        (inner / "f.pyc").touch()
        machine.hand_over(inner.parent)
        inner.chmod(0o555)
        inner.parent.chmod(0o555)
    result = machine.as_user(project, "sync")
    assert (result.code, result.err) == (0, "")
    assert not project.installed(STAGING).exists()
    assert machine.as_user(project, "verify").code == 0


def test_what_belongs_to_somebody_else_inside_what_was_removed_is_named_until_it_is_mended(project: Project) -> None:
    if os.geteuid() != 0:
        pytest.skip("left out: only root can make what belongs to another user")
    theirs = project.installed("gone/__pycache__")
    theirs.mkdir()
    (theirs / "f.pyc").touch()
    for _ in range(2):
        result = machine.as_user(project, "sync")
        error, hint = result.err.splitlines()
        assert result.code == 4
        assert error.startswith(f"error[io]: what was replaced can't be removed: {SKILLS}/{STAGING}/new-")
        assert error.endswith(": Permission denied")
        assert hint.startswith(f"  hint: every skill is in its place; remove {SKILLS}/{STAGING} yourself, or mend that")
        assert not project.installed("gone").exists()
        assert project.installed("used/f").exists()
    machine.hand_over(project.installed(STAGING))
    assert machine.as_user(project, "sync").code == 0
    assert machine.as_user(project, "verify").code == 0
    assert not project.installed(STAGING).exists()


def shut(root: Path) -> None:
    """Take from everybody the right to write below a directory, as some installers do."""
    for path in (root, *root.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


def test_read_only_packages_are_no_trouble_for_a_user_who_is_not_root(project: Project) -> None:
    home = project.root / "vendor"

    def step(command: str) -> None:
        machine.hand_over(project.root)
        shut(home)
        try:
            result = machine.as_user(project, command)
        finally:
            for path in (home, *home.rglob("*")):
                path.chmod(0o755 if path.is_dir() else 0o644)
        assert (result.code, result.err) == (0, ""), result

    step("sync")
    script = {"skills/used/run": "#!/bin/sh\n", "skills/fresh/d/SKILL.md": skill("fresh")}
    project.gem("a", "3.0.0", "fresh", "used", files=script)
    for command in ("lock", "sync", "verify"):
        step(command)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in project.installed("used").iterdir()}
    assert modes == {"SKILL.md": 0o644, "run": 0o755}
    assert stat.S_IMODE(project.installed("fresh/d").stat().st_mode) == 0o755
    project.gem("a", "4.0.0", "fresh")
    for command in ("lock", "sync", "verify"):
        step(command)
    assert sorted(os.listdir(project.installed())) == [".agent-skills.yaml", ".gitignore", "fresh", "mine"]
