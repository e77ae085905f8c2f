from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import projects
import pytest
from builders import FIFO, Cut, Executable, Installation, Killed, Meddled, lay, take_away, walked

from skillsync import filesystem
from skillsync.errors import Code, Problem, SkillsyncError, UnreadableError
from skillsync.hashing import Link
from skillsync.locking.changes import Action
from skillsync.locking.lockfile import Lockfile
from skillsync.syncing import registry
from skillsync.syncing.apply import Source, Work, apply, check_source, needed
from skillsync.syncing.journal import STAGING
from skillsync.syncing.recovery import recover
from skillsync.syncing.registry import Row
from skillsync.syncing.state import read_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from builders import Piece

    from skillsync.syncing.plan import Plan

SKILLS = ".agents/skills"
DEMO = Path(__file__).parents[2] / "fixtures/demo"


@pytest.fixture(autouse=True, scope="module")
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Leave out the flushes themselves: what they are good for shows only when the power goes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sync", lambda: None)
        patch.setattr(os, "fsync", lambda _fd: None)
        yield


@pytest.fixture
def setup(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


def actions(made: Plan) -> list[tuple[str, str]]:
    return [(change.action.value, change.skill) for change in made.changes]


def rows(setup: Installation) -> Mapping[str, object]:
    return registry.parse((setup.installed / registry.FILE_NAME).read_bytes()).rows


def refused(setup: Installation, lock: Lockfile | None = None, *, force: bool = False) -> list[Problem]:
    """Return why a run is refused, which may not have changed anything."""
    before = projects.content(setup.project, times=True)
    with pytest.raises(SkillsyncError) as caught:
        setup.sync(lock, force=force)
    assert projects.content(setup.project, times=True) == before
    return list(caught.value.problems)


# Each action


def test_a_skill_is_added_with_its_row(setup: Installation) -> None:
    setup.ship(
        "x", {"a/f": "1", "run": Executable("#!/bin/sh\n"), "l": Link("a/f"), "empty": None, "a/__pycache__/f": ""}
    )
    assert actions(setup.sync()) == [("add", "x")]
    assert projects.content(setup.installed / "x") == {
        "SKILL.md": ("-rw-r--r--", b"# x\n"),
        "a": ("drwxr-xr-x", None),
        "a/f": ("-rw-r--r--", b"1"),
        "l": ("lrwxrwxrwx", "a/f"),
        "run": ("-rwxr-xr-x", b"#!/bin/sh\n"),
    }
    digest = walked(setup.copy_of("x")).hash
    assert rows(setup) == {"x": Row(ecosystem="gem", package="sus", version="1.0.0", hash=digest)}
    assert sorted(os.listdir(setup.installed)) == [registry.FILE_NAME, "x"]


def test_a_second_run_changes_nothing_at_all(setup: Installation) -> None:
    setup.ship("x", {"f": "1"})
    setup.sync(ignored=True)
    before = projects.tree(setup.project)
    assert actions(setup.sync(ignored=True)) == []
    assert projects.tree(setup.project) == before


def test_a_skill_is_replaced_as_a_whole(setup: Installation) -> None:
    setup.ship("x", {"f": "1", "old/g": "1", "turned": "a file"})
    setup.sync()
    lay(setup.installed, {"x/__pycache__/f.pyc": "", "x/empty": None})
    setup.ship("x", {"f": "2", "new/g": "2", "turned/h": "a directory"}, version="2.0.0")
    assert actions(setup.sync()) == [("update", "x")]
    assert walked(setup.installed / "x") == walked(setup.copy_of("x"))
    assert sorted(os.listdir(setup.installed / "x")) == ["SKILL.md", "f", "new", "turned"]
    assert sorted(os.listdir(setup.installed)) == [registry.FILE_NAME, "x"]


def test_a_skill_that_is_no_longer_locked_is_removed_and_nothing_else(setup: Installation) -> None:
    setup.ship("x", {"a/f": "1"})
    setup.sync()
    mine: dict[str, Piece] = {
        "mine/SKILL.md": "m",
        "README.md": "r",
        ".cache/x": "c",
        "link": Link("mine"),
        "d": Link("/"),
    }
    lay(setup.installed, mine)
    setup.drop("x")
    assert actions(setup.sync()) == [("remove", "x")]
    assert sorted(os.listdir(setup.installed)) == [".agent-skills.yaml", ".cache", "README.md", "d", "link", "mine"]
    assert rows(setup) == {}


def test_a_missing_bit_is_repaired_in_place(setup: Installation) -> None:
    setup.ship("x", {"scripts/run": "#!/bin/sh\n", "run": "#!/bin/sh\n", "text": "t"})
    setup.sync()
    for path in ("scripts/run", "run"):
        (setup.installed / "x" / path).chmod(0o640)
    before = projects.tree(setup.installed)
    assert actions(setup.sync()) == [("repair", "x")]
    after = projects.tree(setup.installed)
    assert {path for path in after if after[path] != before[path]} - {"."} == {"x/scripts/run", "x/run"}
    assert stat.S_IMODE((setup.installed / "x/scripts/run").stat().st_mode) == 0o750
    assert actions(setup.sync()) == []


def test_a_row_alone_is_recorded_or_forgotten(setup: Installation) -> None:
    setup.ship("x", {}, version="1.0.0")
    setup.ship("y", {})
    setup.sync()
    setup.ship("x", {}, owner="pypi:sus", version="2.0.0")
    setup.drop("y")
    take_away(setup.installed / "y")
    before = projects.content(setup.installed / "x", times=True)
    made = setup.sync()
    assert actions(made) == [("record", "x"), ("forget", "y")]
    assert made.changes[0].previous == "gem:sus"
    assert projects.content(setup.installed / "x", times=True) == before
    assert rows(setup) == {
        "x": Row(ecosystem="pypi", package="sus", version="2.0.0", hash=walked(setup.copy_of("x")).hash)
    }


def test_all_at_once(setup: Installation) -> None:
    for name in ("gone", "kept", "lost", "moved", "script"):
        setup.ship(name, {"run": "#!/bin/sh\n"})
    setup.sync()
    setup.drop("gone")
    setup.drop("lost")
    take_away(setup.installed / "lost")
    setup.ship("moved", {"f": "2"})
    setup.ship("fresh", {})
    (setup.installed / "script/run").chmod(0o644)
    assert actions(setup.sync()) == [
        ("add", "fresh"),
        ("remove", "gone"),
        ("forget", "lost"),
        ("update", "moved"),
        ("repair", "script"),
    ]
    assert actions(setup.sync()) == []


def test_what_is_needed_from_providers_is_what_is_written(setup: Installation) -> None:
    setup.ship("x", {})
    setup.ship("y", {})
    made = setup.plan()
    assert needed([made, made]) == ["x", "y"]
    setup.sync()
    setup.drop("x")
    assert needed([setup.plan()]) == []


# Content


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ({"f": "changed"}, "changed f"),
        ({"g": "new"}, "added g"),
        ({"f": None}, "removed f"),
        ({"l": Link("d/f")}, "changed l"),
        ({"f": None, "g": "new", "l": Link("d/f")}, "added g; changed l; removed f"),
        ({"d/.venv/x": ""}, "d/.venv is unsafe"),
        ({"node_modules": None}, "node_modules is unsafe"),
        ({"fifo": FIFO}, "fifo is unsafe"),
        ({"d/out": Link("../../secret")}, "added d/out"),
    ],
)
def test_content_that_is_not_what_was_locked_stops_everything(
    setup: Installation, pieces: dict[str, Piece], words: str
) -> None:
    files: dict[str, Piece] = {"f": "1", "d/f": "2", "l": Link("f")}
    setup.ship("x", files)
    setup.ship("other", {})
    lock = setup.lock()
    lay(setup.root, {"secret": "s"})
    for path in pieces:
        take_away(setup.copy_of("x") / path)
    lay(setup.copy_of("x"), {path: piece for path, piece in pieces.items() if path != "f" or piece is not None})
    (problem,) = refused(setup, lock)
    assert not setup.installed.parent.exists()
    assert problem.message == f"gem:sus: x is not what was locked: {words}"
    assert (problem.code, problem.skill, problem.provider) == (Code.CONTENT_CHANGED, "x", "gem:sus")
    assert problem.hint == "review it, then run `skillsync lock`"
    provider, skill = lock.skills["x"]
    assert check_source(provider, skill, setup.sources["x"]) == problem
    provider, skill = lock.skills["other"]
    assert check_source(provider, skill, setup.sources["other"]) is None


def test_all_that_changed_is_told_and_what_is_installed_stays(setup: Installation) -> None:
    for name in ("x", "y", "z"):
        setup.ship(name, {"f": "1"})
    setup.sync()
    for name in ("x", "y"):
        setup.ship(name, {"f": "2"})
    lock = setup.lock()
    for name in ("x", "y"):
        setup.ship(name, {"f": "3"})
    assert [problem.skill for problem in refused(setup, lock)] == ["x", "y"]


def test_what_nothing_has_to_be_written_of_is_not_read_from_its_provider(setup: Installation) -> None:
    setup.ship("x", {})
    setup.sync()
    lock = setup.lock()
    take_away(setup.copy_of("x"))
    assert actions(setup.sync(lock)) == []


def test_content_may_lie_deep_in_a_package_and_never_behind_a_link(setup: Installation) -> None:
    setup.ship("x", {"f": "1"})
    provider, skill = setup.lock().skills["x"]
    root = str(setup.root)
    assert check_source(provider, skill, Source(root=root, path="packages/x")) is None
    lay(setup.root, {"link": Link("packages")})
    with pytest.raises(UnreadableError):
        check_source(provider, skill, Source(root=root, path="link/x"))


# What was changed in an installed skill


@pytest.mark.parametrize(
    "change",
    [{"f": "mine"}, {"notes.md": "mine"}, {"sub/f": "mine"}, {"out": Link("../../..")}, {"fifo": FIFO}],
)
@pytest.mark.parametrize("locked", [True, False], ids=["update", "remove"])
def test_a_modified_skill_stays_until_force_discards_the_changes(
    setup: Installation, change: dict[str, Piece], *, locked: bool
) -> None:
    setup.ship("x", {"f": "1"})
    setup.ship("y", {})
    setup.sync()
    lay(setup.installed / "x", change)
    lay(setup.installed, {"mine/f": "m"})
    setup.drop("y")
    if locked:
        setup.ship("x", {"f": "2"})
    else:
        setup.drop("x")
    assert [(problem.code, problem.skill) for problem in refused(setup)] == [(Code.MODIFIED, "x")]
    setup.sync(force=True)
    expected = [".agent-skills.yaml", "mine"] + (["x"] if locked else [])
    assert sorted(os.listdir(setup.installed)) == expected
    assert (setup.installed / "mine/f").read_text() == "m"
    assert actions(setup.plan()) == []


def test_a_deleted_file_is_a_change_too(setup: Installation) -> None:
    setup.ship("x", {"f": "1"})
    setup.sync()
    (setup.installed / "x/f").unlink()
    assert [problem.code for problem in refused(setup)] == [Code.MODIFIED]


def test_an_edit_that_made_it_what_is_locked_now_is_only_recorded(setup: Installation) -> None:
    setup.ship("x", {"f": "1"})
    setup.sync()
    setup.ship("x", {"f": "2"})
    lay(setup.installed / "x", {"f": "2"})
    assert actions(setup.sync()) == [("record", "x")]


@pytest.mark.parametrize("locked", [True, False], ids=["update", "remove"])
@pytest.mark.parametrize(
    "piece", ["a file", Link("../../../outside"), Link("mine"), FIFO], ids=["file", "out", "link", "fifo"]
)
def test_force_unlinks_what_stands_for_a_directory_and_never_what_it_leads_to(
    setup: Installation, piece: Piece, *, locked: bool
) -> None:
    lay(setup.root, {"outside/SKILL.md": "o"})
    setup.ship("x", {"f": "1"})
    setup.sync()
    take_away(setup.installed / "x")
    lay(setup.installed, {"mine/SKILL.md": "m", "x": piece})
    if not locked:
        setup.drop("x")
    assert [problem.code for problem in refused(setup)] == [Code.MODIFIED]
    setup.sync(force=True)
    assert (setup.installed / "x").is_dir() is locked
    assert not (setup.installed / "x").is_symlink()
    assert (setup.root / "outside/SKILL.md").read_text() == "o"
    assert (setup.installed / "mine/SKILL.md").read_text() == "m"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(
    "pieces",
    [
        {"x/f": "1"},
        {"x": "file"},
        {"x": Link("nowhere")},
        {"x": None},
        {"x/SKILL.md": "# x\n"},
        {"X/f": ""},
        {"x": FIFO},
    ],
    ids=["directory", "file", "dangling", "empty", "identical", "case", "fifo"],
)
def test_what_is_project_authored_is_in_the_way_and_stays(
    setup: Installation, pieces: dict[str, Piece], *, force: bool
) -> None:
    setup.ship("other", {})
    setup.sync()
    lay(setup.installed, pieces)
    setup.ship("x", {})
    setup.ship("other", {"f": "2"})
    assert [(problem.code, problem.skill) for problem in refused(setup, force=force)] == [(Code.UNMANAGED, "x")]


def test_a_lost_registry_makes_all_that_is_installed_unmanaged(setup: Installation) -> None:
    setup.ship("x", {})
    setup.sync()
    (setup.installed / registry.FILE_NAME).unlink()
    (problem,) = refused(setup, force=True)
    assert (problem.code, problem.path) == (Code.UNMANAGED, f"{SKILLS}/x")
    assert f"rm -r '{SKILLS}/x'" in (problem.hint or "")


# What people and agents made inside an installed skill


def test_runtime_directories_move_into_the_new_skill_and_stay_out_of_the_way(setup: Installation) -> None:
    setup.ship("x", {"f": "1", "old/g": "1"})
    setup.sync()
    work: dict[str, Piece] = {
        ".venv/bin/python": Link("/usr/bin/python3"),
        ".venv/lib/a": "a",
        "old/deep/node_modules/b/c": "b",
        ".git/HEAD": "h",
        ".git/fifo": FIFO,
    }
    lay(setup.installed / "x", work)
    kept = ("x/.venv", "x/old/deep/node_modules", "x/.git")
    before = {path: projects.tree(setup.installed / path) for path in kept}
    assert actions(setup.sync()) == []
    setup.ship("x", {"f": "2"})
    made = setup.sync()
    assert made.changes[0].carried == (".git", ".venv", "old/deep/node_modules")
    assert {path: projects.tree(setup.installed / path) for path in kept} == before
    assert walked(setup.installed / "x").hash == walked(setup.copy_of("x")).hash
    assert sorted(os.listdir(setup.installed / "x/old")) == ["deep"]
    assert actions(setup.sync()) == []


def test_runtime_directories_refuse_a_removal(setup: Installation) -> None:
    setup.ship("x", {})
    setup.sync()
    lay(setup.installed / "x", {"sub/.venv/lib": "l"})
    setup.drop("x")
    (problem,) = refused(setup)
    assert (problem.code, "holds sub/.venv" in problem.message) == (Code.MODIFIED, True)
    setup.sync(force=True)
    assert not (setup.installed / "x").exists()


def test_force_keeps_runtime_directories_of_a_modified_skill(setup: Installation) -> None:
    setup.ship("x", {"f": "1"})
    setup.sync()
    lay(setup.installed / "x", {".venv/lib": "l", "f": "mine"})
    setup.sync(force=True)
    assert (setup.installed / "x/.venv/lib").read_text() == "l"
    assert (setup.installed / "x/f").read_text() == "1"


def test_a_runtime_directory_without_a_place_in_the_new_skill_refuses_the_update(setup: Installation) -> None:
    setup.ship("x", {"sub/f": "1"})
    setup.sync()
    lay(setup.installed / "x", {"sub/.venv/lib": "l"})
    setup.ship("x", {"sub": "a file now"})
    for force in (False, True):
        assert [problem.code for problem in refused(setup, force=force)] == [Code.MODIFIED]


# `.gitignore`

BLOCK = "# skillsync\n/.agent-skills.yaml\n/.gitignore\n/.skillsync/\n/x/\n# skillsync end\n"


@pytest.mark.parametrize("before", [None, "", "/mine/\n", "/mine/", "# a\r\n"])
def test_the_block_comes_and_goes_and_the_user_s_lines_stay(setup: Installation, before: str | None) -> None:
    setup.ship("x", {})
    if before is not None:
        lay(setup.installed, {".gitignore": before.encode()})
    path = setup.installed / ".gitignore"
    setup.sync(ignored=True)
    assert path.read_bytes().decode().endswith(BLOCK)
    assert path.read_bytes().decode().startswith(before or "")
    status = path.stat()
    assert actions(setup.sync(ignored=True)) == []
    assert path.stat() == status
    setup.sync(ignored=False)
    if before:
        assert path.read_bytes().decode().rstrip("\n") == before.rstrip("\n")
    else:
        assert not path.exists()
    assert not (setup.installed / STAGING).exists()


def test_bytes_that_are_no_text_stay_too(setup: Installation) -> None:
    setup.ship("x", {})
    lay(setup.installed, {".gitignore": b"/caf\xe9\n"})
    setup.sync(ignored=True)
    assert (setup.installed / ".gitignore").read_bytes() == b"/caf\xe9\n" + BLOCK.encode()


# Several target directories


def in_both(setup: Installation, lock: Lockfile) -> tuple[list[Work], list[int]]:
    from skillsync.syncing import plan, target

    places = target.locate(str(setup.project), (SKILLS, ".claude/skills"), outside=False)
    works, fds = [], []
    for place in places:
        lay(Path(place.real), {})
        fds.append(os.open(place.real, os.O_RDONLY))
        made = plan.make(place.name, lock, read_state(fds[-1], place, lock)[0], force=False)
        works.append(Work(fd=fds[-1], plan=made))
    return works, fds


def test_all_targets_are_staged_before_the_first_is_changed(setup: Installation) -> None:
    setup.ship("x", {"f": "1"})
    lock = setup.lock()
    works, fds = in_both(setup, lock)
    setup.ship("x", {"f": "2"})
    with pytest.raises(SkillsyncError) as caught:
        apply(works, lock, setup.sources)
    assert [problem.code for problem in caught.value.problems] == [Code.CONTENT_CHANGED] * 2
    assert projects.content(setup.project).keys() == {".agents", SKILLS, ".claude", ".claude/skills"}
    setup.ship("x", {"f": "1"})
    apply(works, lock, setup.sources)
    assert walked(setup.project / ".claude/skills/x") == walked(setup.installed / "x")
    for fd in fds:
        os.close(fd)


def test_a_target_that_fails_is_as_it_was_and_the_one_before_is_done(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.ship("x", {"f": "1"})
    lock = setup.lock()
    works, fds = in_both(setup, lock)
    renames: list[str] = []

    def fail(old: str, new: str, **options: Any) -> None:  # noqa: ANN401  # as `os.rename` takes them
        renames.append(new)
        if renames.count("x") == 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        os.rename(old, new, **options)

    monkeypatch.setattr(filesystem, "os", Meddled(rename=fail))
    with pytest.raises(OSError, match="Input/output error"):
        apply(works, lock, setup.sources)
    assert sorted(os.listdir(setup.installed)) == [registry.FILE_NAME, "x"]
    assert os.listdir(setup.project / ".claude/skills") == []
    for fd in fds:
        os.close(fd)


def test_what_has_nothing_to_do_is_not_touched(setup: Installation) -> None:
    setup.ship("x", {})
    setup.sync()
    before = projects.tree(setup.installed)
    with filesystem.open_directory(str(setup.installed)) as fd:
        work = Work(fd=fd, plan=setup.plan())
        assert work.is_empty
        apply([work, Work(fd=None, plan=setup.plan())], setup.lock(), {})
    assert projects.tree(setup.installed) == before


# What an interrupted run left behind


def recovered(setup: Installation) -> None:
    with filesystem.open_directory(str(setup.installed)) as fd:
        recover(fd, setup.place)


@pytest.mark.parametrize(
    ("pieces", "what"),
    [
        ({STAGING: "a file"}, "is a file"),
        ({STAGING: Link("mine")}, "is a symbolic link"),
        ({STAGING: FIFO}, "is neither a file nor a directory"),
        ({f"{STAGING}/notes.md": ""}, "holds `notes.md`"),
        ({f"{STAGING}/new-x/f": "", f"{STAGING}/old-x/f": "", f"{STAGING}/x": ""}, "holds `x`"),
        ({f"{STAGING}/new-../x": ""}, "holds `new-..`"),
        ({f"{STAGING}/new-": ""}, "holds `new-`"),
        ({f"{STAGING}/old-X": ""}, "holds `old-X`"),
        ({f"{STAGING}/new-con": ""}, "holds `new-con`"),
        ({f"{STAGING}/old-.env": ""}, "holds `old-.env`"),
        ({f"{STAGING}/.gitignore": ""}, "holds `.gitignore`"),
    ],
)
def test_a_staging_directory_that_is_not_ours_is_refused_and_stays(
    setup: Installation, pieces: dict[str, Piece], what: str
) -> None:
    setup.ship("x", {})
    lay(setup.installed, {"mine/f": "", **pieces})
    (problem,) = refused(setup, force=True)
    assert problem.message == f"{SKILLS}/{STAGING} {what}, which skillsync did not put there"
    assert (problem.code, problem.path) == (Code.UNMANAGED, f"{SKILLS}/{STAGING}")


def test_a_name_that_is_not_utf8_is_not_ours(setup: Installation) -> None:
    lay(setup.installed, {STAGING: None})
    os.mkdir(os.fsencode(setup.installed / STAGING) + b"/new-\xff")
    (problem,) = refused(setup, Lockfile())
    assert r"holds `new-\xff`" in problem.message


@pytest.mark.parametrize("name", ["new-x", "old-x", "new-new-x", "new-old-x", "old-old-con", "new-.gitignore"])
def test_names_that_skillsync_gives_are_its_own(setup: Installation, name: str) -> None:
    lay(setup.installed, {registry.FILE_NAME: "version: 1\nskills: {}\n", f"{STAGING}/{name}": None})
    recovered(setup)
    assert os.listdir(setup.installed) == [registry.FILE_NAME]


def test_an_absent_or_empty_staging_directory_is_no_matter(setup: Installation) -> None:
    lay(setup.installed, {"mine/f": "", f"{STAGING}": None})
    recovered(setup)
    recovered(setup)
    assert sorted(os.listdir(setup.installed)) == ["mine"]


# Failures at every call of the system


class Busy:
    """A target directory in which everything that can be done has to be done, again and again from the start."""

    def __init__(self, root: Path) -> None:
        self.start = Installation(root / "start")
        for name in ("gone", "lost", "row", "script", "used"):
            self.start.ship(name, {"run": "#!/bin/sh\n", "sub/f": f"1 {name}"})
        lay(
            self.start.installed,
            {"mine/SKILL.md": "m", "mine/sub": Link("../row"), "README.md": "r", "link": Link("mine")},
        )
        lay(self.start.installed, {".gitignore": "/mine/tmp\n"})
        self.start.sync()
        for name in ("gone", "lost"):
            self.start.drop(name)
        take_away(self.start.installed / "lost")
        self.start.ship("used", {"f": "2", "new/l": Link("../f"), "run": "#!/bin/sh\n"}, version="2.0.0")
        lay(self.start.installed / "used", {"sub/.venv/lib": "l", ".git/HEAD": "h"})
        self.start.ship("row", {"run": "#!/bin/sh\n", "sub/f": "1 row"}, version="2.0.0")
        self.start.ship("fresh", {"a/b": "1", "run": "#!/bin/sh\n"})
        (self.start.installed / "script/run").chmod(0o644)
        self._root = root
        self.before = projects.content(self.start.installed, times=True)
        done = self.again()
        self.work = Cut(-1)
        assert self.work.run(done) is None
        assert {change.action for change in self.start.plan().changes} == set(Action)
        self.after = projects.content(done.installed)
        self.written = {name: walked(self.start.copy_of(name)).hash for name in self.start.providers}

    def again(self) -> Installation:
        """Return a copy of the start, in place of the last one; the providers' copies are the same."""
        shutil.rmtree(self._root / "copy", ignore_errors=True)
        shutil.copytree(self.start.project, self._root / "copy/project", symlinks=True)
        lay(self._root / "copy", {"packages": Link("../start/packages")})
        return Installation(self._root / "copy", self.start.providers)

    def check_mine(self, setup: Installation) -> None:
        """What is project-authored is as it ever was."""
        found = projects.content(setup.installed, times=True)
        mine = ("mine", "README.md", "link")
        assert {path: found[path] for path in found if path.split("/")[0] in mine} == {
            path: self.before[path] for path in self.before if path.split("/")[0] in mine
        }

    def check_whole(self, setup: Installation) -> None:
        """No skill is half there: each is as it was, or as it is to be, or absent."""
        for name in {*self.written, "gone"}:
            if (setup.installed / name).exists():
                was = self.start.installed / name
                either = {self.written.get(name), walked(was).hash if was.exists() else None}
                assert walked(setup.installed / name).hash in either, name

    def check_done(self, setup: Installation) -> None:
        """The next run brings everything to the end, and the one after that has nothing to do."""
        setup.sync(ignored=True)
        assert projects.content(setup.installed) == self.after
        assert setup.plan().changes == ()
        self.check_mine(setup)


@pytest.fixture
def busy(tmp_path: Path) -> Busy:
    return Busy(tmp_path)


@pytest.mark.parametrize(
    ("error", "after", "calls"),
    [
        (OSError, False, Cut.CALLS),
        (KeyboardInterrupt, False, frozenset({"rename", "fchmod"})),
        (KeyboardInterrupt, True, Cut.CHANGES | {"open"}),
    ],
    ids=["failure", "interruption-before", "interruption-after"],
)
def test_whatever_ends_a_run_leaves_all_as_it_was_or_done(
    busy: Busy, error: type[BaseException], calls: frozenset[str], *, after: bool
) -> None:
    setup = busy.again()
    descriptors = len(os.listdir("/dev/fd"))
    for number, call in enumerate(busy.work.made):
        if call.split()[0] not in calls:
            continue
        ended = Cut(number, error, after=after).run(setup)
        where = f"{number}: {call}"
        left = projects.content(setup.installed, times=True)
        busy.check_mine(setup)
        if left != busy.before:
            left = {path: (entry[0], entry[-1]) for path, entry in left.items() if path.split("/")[0] != STAGING}
            assert left == busy.after, where
            busy.check_done(setup)
            setup = busy.again()
        assert ended is not None or left == busy.after, where
        assert len(os.listdir("/dev/fd")) == descriptors, where


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_run_that_is_killed_at_any_change_is_brought_to_its_end_by_the_next(busy: Busy, *, after: bool) -> None:
    for number, call in enumerate(busy.work.made):
        if call.split()[0] in Cut.CHANGES:
            setup = busy.again()
            assert isinstance(Cut(number, Killed, after=after, for_good=True).run(setup), Killed)
            busy.check_whole(setup)
            busy.check_done(setup)


def test_what_somebody_made_since_a_run_was_killed_is_not_replaced_by_what_was_there_before(busy: Busy) -> None:
    setup = busy.again()
    Cut(busy.work.made.index("rename new-used"), Killed, after=True, for_good=True).run(setup)
    assert not (setup.installed / "used/.git").exists()
    lay(setup.installed / "used", {".git/HEAD": "mine"})
    setup.sync()
    assert (setup.installed / "used/.git/HEAD").read_text() == "mine"
    assert (setup.installed / "used/sub/.venv/lib").read_text() == "l"
    assert os.listdir(setup.installed / "used/.git") == ["HEAD"]


def test_a_registry_that_was_lost_since_a_run_was_killed_costs_no_skill(busy: Busy) -> None:
    setup = busy.again()
    Cut(busy.work.made.index("rename gone"), Killed, after=True, for_good=True).run(setup)
    assert not (setup.installed / "gone").exists()
    (setup.installed / registry.FILE_NAME).unlink()
    with pytest.raises(SkillsyncError):
        setup.sync()
    assert walked(setup.installed / "gone") == walked(busy.start.installed / "gone")


def test_a_registry_that_can_not_be_read_leaves_what_a_killed_run_left(busy: Busy) -> None:
    setup = busy.again()
    Cut(busy.work.made.index("rename gone"), Killed, after=True, for_good=True).run(setup)
    lay(setup.installed, {registry.FILE_NAME: "<<<<<<< ours\n"})
    assert [problem.code for problem in refused(setup)] == [Code.REGISTRY_UNREADABLE]


def test_processes_that_run_at_once_end_as_one_would(tmp_path: Path) -> None:
    alone = shutil.copytree(DEMO, tmp_path / "alone", symlinks=True)
    together = shutil.copytree(DEMO, tmp_path / "together", symlinks=True)
    for project in (alone, together):
        subprocess.run([*projects.command(), "lock"], cwd=project, check=True, capture_output=True)
    subprocess.run([*projects.command(), "sync"], cwd=alone, check=True, capture_output=True)
    running = [
        subprocess.Popen(
            [*projects.command(), "sync"], cwd=together, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(8)
    ]
    ended = [(process.communicate(timeout=60), process.returncode) for process in running]
    assert [code for _, code in ended] == [0] * 8, ended
    assert sum(out.startswith("+ add") for (out, _), _ in ended) == 1
    assert projects.content(together) == projects.content(alone)
    assert (together / SKILLS / registry.FILE_NAME).exists()
