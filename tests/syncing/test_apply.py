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
from builders import FIFO, Executable, Installation, Meddled, lay, take_away, walked
from cuts import Busy, BusyCopies, BusyLinks, Cut, Killed, recovered

from skillsync import filesystem
from skillsync.errors import Code, Problem, SkillsyncError, UnreadableError
from skillsync.hashing import Link
from skillsync.locking.lockfile import Lockfile
from skillsync.syncing import journal, registry
from skillsync.syncing.apply import Source, Work, apply, check_source, needed
from skillsync.syncing.journal import STAGING
from skillsync.syncing.recovery import in_lower_layer
from skillsync.syncing.registry import Row
from skillsync.syncing.state import read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from builders import Piece, Pieces

    from skillsync.syncing.plan import Plan

SKILLS = ".agents/skills"
DEMO = Path(__file__).parents[2] / "fixtures/bundle"


pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


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
    assert problem.message == f"gem:sus 1.0.0: x is not what was locked: {words}"
    assert (problem.code, problem.skill, problem.provider) == (Code.CONTENT_CHANGED, "x", "gem:sus")
    assert problem.hint == "`skillsync diff` shows it: run `skillsync lock` if it is right, or reinstall 1.0.0"
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
    assert check_source(provider, skill, Source(root=root, path="packages/x", version="1.0.0")) is None
    lay(setup.root, {"link": Link("packages")})
    with pytest.raises(UnreadableError):
        check_source(provider, skill, Source(root=root, path="link/x", version="1.0.0"))


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


def in_both(setup: Installation, lock: Lockfile, *, link: bool = False) -> tuple[list[Work], list[int]]:
    from skillsync.syncing import plan, target

    places = target.locate(str(setup.project), (SKILLS, ".claude/skills"), outside=False, link=link)
    works, fds = [], []
    for place in places:
        lay(Path(place.real), {})
        fds.append(os.open(place.real, os.O_RDONLY))
        made = plan.make(place.name, lock, read_state(fds[-1], place, lock), force=False)
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


def test_an_edit_in_the_second_target_stops_it_and_the_first_is_done(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.ship("x", {"f": "1"})
    works, fds = in_both(setup, setup.lock())
    apply(works, setup.lock(), setup.sources)
    setup.ship("x", {"f": "2"})
    works, more = in_both(setup, setup.lock())
    edited = setup.project / ".claude/skills/x/f"

    def edit() -> None:
        monkeypatch.undo()
        edited.write_text("mine")

    monkeypatch.setattr(filesystem, "os", Meddled(sync=edit))
    with pytest.raises(SkillsyncError) as caught:
        apply(works, setup.lock(), setup.sources)
    assert caught.value.problems == (
        Problem(
            code=Code.MODIFIED,
            message=".claude/skills/x was changed while it was to be replaced",
            hint=f"run `skillsync sync` again; {SKILLS} is done",
            skill="x",
            path=".claude/skills/x",
        ),
    )
    assert (edited.read_text(), (setup.installed / "x/f").read_text()) == ("mine", "2")
    for fd in (*fds, *more):
        os.close(fd)


@pytest.mark.parametrize("written", ["  tool:\n    by: hand\n", "- no registry", None])
def test_a_row_that_is_written_meanwhile_is_not_lost(
    setup: Installation, monkeypatch: pytest.MonkeyPatch, written: str | None
) -> None:
    setup.ship("x", {"f": "1"})
    setup.sync()
    setup.ship("x", {"f": "2"})
    path = setup.installed / registry.FILE_NAME
    before = path.read_text()

    def write() -> None:
        monkeypatch.undo()
        if written is None:
            path.unlink()
        else:
            path.write_text(before + written)

    monkeypatch.setattr(filesystem, "os", Meddled(sync=write))
    with pytest.raises(SkillsyncError) as caught:
        setup.sync()
    (problem,) = caught.value.problems
    assert (problem.code, problem.path) == (Code.MODIFIED, f"{SKILLS}/{registry.FILE_NAME}")
    assert (path.read_text() if path.exists() else None) == (None if written is None else before + written)
    assert (setup.installed / "x/f").read_text() == "1"


def test_what_is_staged_is_nobody_else_s_to_read(setup: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    setup.ship("x", {"f": "1"})
    modes: list[int] = []
    monkeypatch.setattr(
        filesystem, "os", Meddled(sync=lambda: modes.append((setup.installed / STAGING).stat().st_mode))
    )
    setup.sync()
    assert [stat.S_IMODE(mode) for mode in modes] == [0o700]


def test_a_target_that_fails_is_as_it_was_and_the_one_before_is_done(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.ship("x", {"f": "1"})
    lock = setup.lock()
    works, fds = in_both(setup, lock)
    renames: list[str] = []

    def fail(old: str, new: str, **options: Any) -> None:  # noqa: ANN401  # as `os.rename` takes them
        renames.append(new)
        if new == "x" and renames.count("x") == 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        os.rename(old, new, **options)

    monkeypatch.setattr(filesystem, "os", Meddled(rename=fail))
    with pytest.raises(SkillsyncError) as caught:
        apply(works, lock, setup.sources)
    assert caught.value.problems == (
        Problem(
            code=Code.IO,
            message=".claude/skills/x: Input/output error",
            hint=f"mend that, then run `skillsync sync` again; {SKILLS} is done",
            path=".claude/skills/x",
        ),
    )
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


@pytest.mark.parametrize("form", [registry, journal])
def test_what_could_not_be_read_again_is_not_written(
    setup: Installation, monkeypatch: pytest.MonkeyPatch, form: ModuleType
) -> None:
    setup.ship("a", {})
    setup.sync()
    setup.ship("b", {})
    monkeypatch.setattr(form, "LIMIT", (setup.installed / registry.FILE_NAME).stat().st_size)
    (problem,) = refused(setup)
    path = f"{SKILLS}/{f'{STAGING}/' if form is journal else ''}{form.FILE_NAME}"
    assert (problem.code, problem.path) == (Code.USAGE, path)
    assert problem.message == f"{path} would be larger than 0 KiB, which is not read"
    assert problem.hint == "lock fewer skills"


# What somebody does while a run is at work


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], at: str = f"new-{journal.FILE_NAME}") -> None:
    """Let something happen while a run is at work: when all is staged, or when another name is about to be moved."""

    def rename(name: str, *arguments: Any, **options: Any) -> None:  # noqa: ANN401  # as `os.rename` takes them
        if name == at:
            monkeypatch.undo()
            act()
        os.rename(name, *arguments, **options)

    monkeypatch.setattr(filesystem, "os", Meddled(rename=rename))


EDITS: dict[str, Pieces] = {
    "edit": {"x/f": "mine"},
    "file": {"x/notes/n": "mine"},
    "link": {"x/l": Link("/")},
    "runtime": {"x/.venv/lib": "mine"},
    "same size": {"x/f": "3"},
}


@pytest.mark.parametrize("force", [False, True], ids=["", "force"])
@pytest.mark.parametrize("locked", [True, False], ids=["update", "remove"])
@pytest.mark.parametrize("pieces", EDITS.values(), ids=EDITS)
def test_an_edit_that_comes_after_the_plan_is_not_lost(
    setup: Installation, monkeypatch: pytest.MonkeyPatch, pieces: Pieces, *, locked: bool, force: bool
) -> None:
    for name in ("a", "x", "y"):
        setup.ship(name, {"f": "1"})
    setup.sync()
    for name in ("a", "x", "y"):
        setup.ship(name, {"f": "2"})
    if not locked:
        setup.drop("x")
    if force:
        lay(setup.installed / "x", {"f": "discarded", "fifo": FIFO})
    before = projects.content(setup.installed, times=True)
    meanwhile(monkeypatch, lambda: lay(setup.installed, pieces))
    with pytest.raises(SkillsyncError) as caught:
        setup.sync(force=force)
    assert caught.value.problems == (
        Problem(
            code=Code.MODIFIED,
            message=f"{SKILLS}/x was changed while it was to be replaced",
            hint="run `skillsync sync` again",
            skill="x",
            path=f"{SKILLS}/x",
        ),
    )
    after = projects.content(setup.installed, times=True)
    edited = {path for path in after if before.get(path) != after[path]} - {"x"}
    assert edited == {path for piece in pieces for path in (piece, piece.rpartition("/")[0])} - {"x"}
    for path, piece in pieces.items():
        assert isinstance(piece, Link) or (setup.installed / path).read_text() == piece


@pytest.mark.parametrize("replacement", [{}, {"x": "a file"}, {"x": Link("mine")}], ids=["nothing", "file", "link"])
def test_what_stands_in_a_skill_s_place_meanwhile_is_not_lost(
    setup: Installation, monkeypatch: pytest.MonkeyPatch, replacement: Pieces
) -> None:
    setup.ship("x", {"f": "1"})
    setup.sync()
    setup.ship("x", {"f": "2"})

    def replace() -> None:
        take_away(setup.installed / "x")
        lay(setup.installed, replacement)

    meanwhile(monkeypatch, replace)
    with pytest.raises((SkillsyncError, FileNotFoundError)):
        setup.sync()
    found = {name for name in os.listdir(setup.installed) if name == "x"}
    assert found == set(replacement)
    assert not (setup.installed / STAGING).exists()


def test_what_somebody_puts_where_a_skill_is_to_be_added_stays(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.ship("x", {"f": "1"})
    meanwhile(monkeypatch, lambda: lay(setup.installed, {"x/f": "mine"}))
    with pytest.raises(SkillsyncError) as caught:
        setup.sync()
    (problem,) = caught.value.problems
    assert (problem.code, problem.path) == (Code.MODIFIED, f"{SKILLS}/x")
    assert projects.content(setup.installed) == {
        "x": ("drwxr-xr-x", None),
        "x/f": ("-rw-r--r--", b"mine"),
    }


def test_what_somebody_puts_where_a_skill_is_just_being_replaced_stays_and_so_does_what_was_inside(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.ship("x", {"f": "1"})
    setup.sync()
    lay(setup.installed, {"x/.venv/lib": "l"})
    setup.ship("x", {"f": "2"})
    meanwhile(monkeypatch, lambda: lay(setup.installed, {"x/f": "mine"}), at="new-x")
    with pytest.raises(SkillsyncError) as caught:
        setup.sync()
    (problem,) = caught.value.problems
    assert (problem.code, problem.message) == (Code.IO, f"{SKILLS}: Directory not empty")
    assert "could not be undone" in (problem.hint or "")
    with pytest.raises(SkillsyncError) as caught:
        setup.sync()
    assert [problem.code for problem in caught.value.problems] == [Code.MODIFIED]
    assert sorted(os.listdir(setup.installed)) == [registry.FILE_NAME, "x"]
    assert (setup.installed / "x/f").read_text() == "mine"
    assert (setup.installed / "x/.venv/lib").read_text() == "l"


@pytest.mark.parametrize("piece", ["/mine/\n/more/\n", Link("mine")], ids=["edit", "link"])
@pytest.mark.parametrize("ignored", [True, False], ids=["block", "no-block"])
def test_lines_that_somebody_writes_meanwhile_are_not_lost(
    setup: Installation, monkeypatch: pytest.MonkeyPatch, piece: Piece, *, ignored: bool
) -> None:
    setup.ship("x", {})
    lay(setup.installed, {".gitignore": "/mine/\n"})
    setup.sync(ignored=not ignored)
    setup.ship("y", {})
    path = setup.installed / ".gitignore"

    def edit() -> None:
        path.unlink()
        lay(setup.installed, {".gitignore": piece})

    meanwhile(monkeypatch, edit)
    with pytest.raises(SkillsyncError) as caught:
        setup.sync(ignored=ignored)
    (problem,) = caught.value.problems
    assert (problem.code, problem.path) == (Code.MODIFIED, f"{SKILLS}/.gitignore")
    assert sorted(os.listdir(setup.installed)) == [registry.FILE_NAME, ".gitignore", "x"]
    assert path.is_symlink() or path.read_text() == piece
    if not path.is_symlink():
        setup.sync(ignored=ignored)
        assert path.read_text().startswith("/mine/\n/more/\n")


def test_a_gitignore_that_somebody_begins_meanwhile_is_not_lost(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.ship("x", {})
    meanwhile(monkeypatch, lambda: lay(setup.installed, {".gitignore": "/mine/\n"}))
    with pytest.raises(SkillsyncError):
        setup.sync(ignored=True)
    assert projects.content(setup.installed) == {".gitignore": ("-rw-r--r--", b"/mine/\n")}


@pytest.mark.parametrize(
    ("path", "at"),
    [(".venv/lib", "old-x/.venv"), ("notes/n", "old-x/.venv"), ("f", f"new-{registry.FILE_NAME}")],
)
def test_what_somebody_writes_into_a_new_skill_before_its_run_fails_is_not_lost(
    setup: Installation, monkeypatch: pytest.MonkeyPatch, path: str, at: str
) -> None:
    setup.ship("x", {"f": "1"})
    setup.sync()
    lay(setup.installed, {"x/.venv/lib": "l"})
    setup.ship("x", {"f": "2"})

    def write_and_fail() -> None:
        lay(setup.installed, {f"x/{path}": "mine"})
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    meanwhile(monkeypatch, write_and_fail, at=at)
    new = f"{SKILLS}/{STAGING}/new-x"
    problem = Problem(
        code=Code.MODIFIED,
        message=f"{new} is what somebody wrote into {SKILLS}/x during a sync that failed",
        hint="look at it, and move it away",
        skill="x",
        path=new,
    )
    for _ in range(2):
        with pytest.raises(SkillsyncError) as caught:
            setup.sync()
        assert caught.value.problems == (problem,)
        assert (setup.project / new / path).read_text() == "mine"
        assert (setup.installed / "x/.venv/lib").read_text() == "l"
        assert (setup.installed / "x/f").read_text() == "1"
    (setup.project / new).rename(setup.project / "kept")
    setup.sync()
    assert (setup.installed / "x/f").read_text() == "2"
    assert (setup.installed / "x/.venv/lib").read_text() == "l"


@pytest.mark.parametrize("piece", [{"x/SKILL.md": "mine"}, {}], ids=["another", "nothing"])
def test_what_somebody_puts_in_the_place_of_a_new_skill_before_its_run_fails_stays(
    setup: Installation, monkeypatch: pytest.MonkeyPatch, piece: Pieces
) -> None:
    setup.ship("x", {"f": "1"})

    def replace_and_fail() -> None:
        # Not removed: the next directory could have its number.
        (setup.installed / "x").rename(setup.project / "away")
        lay(setup.installed, piece)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    meanwhile(monkeypatch, replace_and_fail, at=f"new-{registry.FILE_NAME}")
    with pytest.raises(OSError, match="Input/output"):
        setup.sync()
    assert {path: path.read_text() for path in setup.installed.rglob("*") if path.is_file()} == {
        setup.installed / path: text for path, text in piece.items()
    }


@pytest.mark.parametrize("name", ["x", "old-x"])
def test_what_an_overlay_file_system_can_not_move_has_a_way_on(
    setup: Installation, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    setup.ship("x", {"f": "1"})
    setup.sync()
    setup.ship("x", {"f": "2"})
    if name == "old-x":
        assert isinstance(Cut("rename x", Killed, after=True).run(setup), Killed)
    monkeypatch.setattr(filesystem, "os", refusing("rename", name, errno.EXDEV))
    with pytest.raises(SkillsyncError) as caught:
        setup.sync()
    (problem,) = caught.value.problems
    assert problem.code is Code.IO
    assert problem.message.endswith(f"{name}: Invalid cross-device link")
    here, copy = f"'{SKILLS}'", f"'{SKILLS}.copy'"
    assert f"cp -a {here} {copy} && rm -r {here} && mv {copy} {here}" in (problem.hint or "")


def test_the_way_on_is_the_same_whatever_a_target_is_called(tmp_path: Path) -> None:
    target = "-my 'skills'; touch mine"
    lay(tmp_path, {f"{target}/x/f": "1", "skills/f": "2"})
    command = in_lower_layer(target).split("`")[1]
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    assert sorted(os.listdir(tmp_path)) == [target, "skills"]


# Links in place of copies


FIRST = ".first/skills"


@pytest.fixture
def linking(tmp_path: Path) -> Installation:
    """Return a target directory that links to another one, with one link in it."""
    setup = Installation(tmp_path, others=(FIRST,), link=True)
    setup.ship("x", {"f": "1"})
    setup.sync()
    assert os.readlink(setup.installed / "x") == f"../../{FIRST}/x"
    return setup


@pytest.mark.parametrize("piece", ["mine", Link("mine"), FIFO, None], ids=["file", "link", "fifo", "directory"])
def test_what_comes_into_the_place_of_a_link_while_a_run_is_at_work_stays(
    linking: Installation, monkeypatch: pytest.MonkeyPatch, piece: Piece
) -> None:
    for name in ("a", "y"):
        linking.ship(name, {})
    meanwhile(monkeypatch, lambda: lay(linking.installed, {"y": piece}))
    with pytest.raises(SkillsyncError) as caught:
        linking.sync()
    assert [(one.code, one.path) for one in caught.value.problems] == [(Code.MODIFIED, f"{SKILLS}/y")]
    assert not (linking.installed / "y").is_symlink() or os.readlink(linking.installed / "y") == "mine"
    assert sorted(os.listdir(linking.installed)) == [registry.FILE_NAME, "x", "y"]
    assert [problem.code for problem in refused(linking)] == [Code.UNMANAGED]


@pytest.mark.parametrize("locked", [True, False], ids=["update", "remove"])
def test_a_link_that_was_changed_since_the_plan_was_made_is_put_back(
    linking: Installation, monkeypatch: pytest.MonkeyPatch, *, locked: bool
) -> None:
    linking.link = False
    if not locked:
        linking.drop("x")

    def change() -> None:
        take_away(linking.installed / "x")
        lay(linking.installed, {"x": Link("../mine")})

    meanwhile(monkeypatch, change)
    with pytest.raises(SkillsyncError) as caught:
        linking.sync()
    assert [(one.code, one.path) for one in caught.value.problems] == [(Code.MODIFIED, f"{SKILLS}/x")]
    assert os.readlink(linking.installed / "x") == "../mine"
    assert not (linking.installed / STAGING).exists()


def test_what_somebody_puts_where_a_link_was_is_not_replaced_when_the_link_comes_back(
    linking: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    linking.link = False
    meanwhile(monkeypatch, lambda: lay(linking.installed, {"x": "mine"}), at="new-x")
    with pytest.raises(SkillsyncError) as caught:
        linking.sync()
    assert [one.code for one in caught.value.problems] == [Code.IO]
    with pytest.raises(SkillsyncError) as caught:
        linking.sync()
    assert [(one.code, one.path) for one in caught.value.problems] == [(Code.MODIFIED, f"{SKILLS}/x")]
    assert (linking.installed / "x").read_text() == "mine"
    assert not (linking.installed / STAGING).exists()


def test_where_nothing_can_have_two_names_links_are_made_all_the_same(
    linking: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    linking.ship("y", {})
    monkeypatch.setattr(filesystem, "os", refusing("link", "new-y", errno.EPERM))
    linking.sync()
    assert os.readlink(linking.installed / "y") == f"../../{FIRST}/y"
    assert actions(linking.plan()) == []


def test_links_are_made_only_when_what_they_lead_to_is_there(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.ship("x", {"f": "1"})
    lock = setup.lock()
    works, fds = in_both(setup, lock, link=True)
    assert [work.plan.links for work in works] == [False, True]
    monkeypatch.setattr(filesystem, "os", refusing("rename", "new-x"))
    with pytest.raises(PermissionError):
        apply(works, lock, setup.sources)
    monkeypatch.undo()
    assert projects.content(setup.project).keys() == {".agents", SKILLS, ".claude", ".claude/skills"}
    seen: list[bool] = []

    def link(*arguments: Any, **options: Any) -> None:  # noqa: ANN401  # as `os.link` takes them
        seen.append((setup.installed / "x/f").exists())
        os.link(*arguments, **options)

    monkeypatch.setattr(filesystem, "os", Meddled(link=link))
    apply(works, lock, setup.sources)
    assert seen == [True]
    assert (setup.project / ".claude/skills/x/f").read_text() == "1"
    for fd in fds:
        os.close(fd)


# What the system refuses


def refusing(call: str, name: str, code: int = errno.EACCES) -> Meddled:
    """Return an `os` that refuses one call for a name; not what moves it out of the way when all is cleared up."""

    def refuse(first: Any, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401  # any call of `os`
        if first == name and arguments[:1] not in {("new-0",), ("new-1",)}:
            raise OSError(code, os.strerror(code), first)
        return getattr(os, call)(first, *arguments, **options)

    return Meddled(**{call: refuse})


@pytest.mark.parametrize(
    ("call", "name", "path"),
    [
        ("mkdir", ".skillsync", ".skillsync"),
        ("mkdir", "new-x", ".skillsync/new-x"),
        ("mkdir", "sub", ".skillsync/new-x/sub/f"),
        ("open", "f", ".skillsync/new-x/sub/f"),
        ("symlink", "SKILL.md", ".skillsync/new-x/l"),
        ("open", "new-.agent-skills.yaml", ".skillsync/new-.agent-skills.yaml"),
        ("open", "new-journal", ".skillsync/new-journal"),
        ("rename", "new-journal", ".skillsync/new-journal"),
        ("rename", "x", "x"),
        ("rename", "new-x", "x"),
        ("mkdir", "inner", "x/inner"),
        ("rename", "old-x/inner/.venv", "x/inner/.venv"),
        ("rename", "new-.agent-skills.yaml", ".skillsync/new-.agent-skills.yaml"),
    ],
)
def test_what_can_not_be_written_is_named_by_its_place(
    setup: Installation, monkeypatch: pytest.MonkeyPatch, call: str, name: str, path: str
) -> None:
    setup.ship("x", {"f": "1"})
    setup.sync()
    lay(setup.installed, {"x/inner/.venv/lib": "l"})
    setup.ship("x", {"sub/f": "2", "l": Link("SKILL.md")})
    before = projects.content(setup.installed, times=True)
    meddled = refusing(call, name)
    if (call, name) == ("open", "f"):
        # Only the copy: what is read of the provider has its own path.
        meddled = Meddled(open=_refuse_to_create("f"))
    monkeypatch.setattr(filesystem, "os", meddled)
    with pytest.raises(PermissionError) as caught:
        setup.sync()
    assert caught.value.filename == f"{SKILLS}/{path}"
    assert projects.content(setup.installed, times=True) == before


def _refuse_to_create(refused: str) -> Callable[..., int]:
    def create(name: str, flags: int, *arguments: Any, **options: Any) -> int:  # noqa: ANN401  # as `os.open`
        if name == refused and flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        return os.open(name, flags, *arguments, **options)

    return create


def test_a_provider_s_file_that_can_not_be_read_is_named_by_its_own_path(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.ship("x", {"sub/f": "1"})
    lock = setup.lock()
    monkeypatch.setattr("skillsync.snapshot.os", refusing("open", "f"))
    with pytest.raises(PermissionError) as caught:
        setup.sync(lock)
    assert caught.value.filename == str(setup.copy_of("x") / "sub/f")
    assert not setup.installed.parent.exists()


def test_a_provider_that_is_gone_is_named_by_its_own_path(setup: Installation) -> None:
    setup.ship("x", {})
    lock = setup.lock()
    take_away(setup.copy_of("x"))
    with pytest.raises(FileNotFoundError) as caught:
        setup.sync(lock)
    assert caught.value.filename == str(setup.copy_of("x"))


def test_what_can_not_be_undone_is_left_to_the_next_run(setup: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    setup.ship("x", {"f": "1"})
    setup.sync()
    setup.ship("x", {"f": "2"})

    def fail(name: str, *arguments: Any, **options: Any) -> None:  # noqa: ANN401  # as `os.rename` takes them
        if name in {"new-x", "old-x"}:
            raise OSError(errno.EIO, os.strerror(errno.EIO), name)
        os.rename(name, *arguments, **options)

    monkeypatch.setattr(filesystem, "os", Meddled(rename=fail))
    with pytest.raises(SkillsyncError) as caught:
        setup.sync()
    (problem,) = caught.value.problems
    assert (problem.code, problem.message) == (Code.IO, f"{SKILLS}: Input/output error")
    assert problem.hint == (
        "what was begun could not be undone: mend that, and the next `skillsync sync` completes or undoes it"
    )
    assert not (setup.installed / "x").exists()
    monkeypatch.undo()
    setup.sync()
    assert walked(setup.installed / "x") == walked(setup.copy_of("x"))


def test_a_flush_that_fails_when_all_is_in_place_is_told_as_that(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.ship("x", {})

    def flush(_fd: int) -> None:
        if (setup.installed / registry.FILE_NAME).exists():
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(filesystem, "flush", flush)
    with pytest.raises(SkillsyncError) as caught:
        setup.sync()
    (problem,) = caught.value.problems
    assert (problem.code, problem.message) == (Code.IO, f"{SKILLS}: Input/output error")
    assert "its skills are in their places" in (problem.hint or "")
    assert sorted(os.listdir(setup.installed)) == [registry.FILE_NAME, "x"]


@pytest.mark.parametrize("locked", [True, False], ids=["update", "remove"])
def test_what_was_replaced_and_can_not_be_removed_is_told_as_that_and_goes_with_the_next_run(
    setup: Installation, monkeypatch: pytest.MonkeyPatch, *, locked: bool
) -> None:
    setup.ship("x", {"sub/f": "1"})
    setup.sync()
    setup.ship("x", {"g": "2"})
    if not locked:
        setup.drop("x")
    monkeypatch.setattr(filesystem, "os", refusing("unlink", "f", errno.EPERM))
    for number in (1, 0):
        with pytest.raises(SkillsyncError) as caught:
            setup.sync()
        (problem,) = caught.value.problems
        assert (problem.code, problem.path) == (Code.IO, f"{SKILLS}/{STAGING}")
        place = f"{SKILLS}/{STAGING}/new-{number}/f"
        assert problem.message == f"what was replaced can't be removed: {place}: Operation not permitted"
        assert "every skill is in its place" in (problem.hint or "")
        assert (setup.installed / "x").exists() is locked
    monkeypatch.undo()
    assert actions(setup.sync()) == []
    assert not (setup.installed / STAGING).exists()


def no_removal(*_: object) -> None:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "new-0")


def test_what_fails_first_is_told_even_if_clearing_up_fails_too(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.ship("x", {"f": "1"})
    monkeypatch.setattr(filesystem, "os", refusing("rename", "new-journal"))
    monkeypatch.setattr(filesystem, "remove_tree", no_removal)
    with pytest.raises(PermissionError) as caught:
        setup.sync()
    assert caught.value.filename == f"{SKILLS}/{STAGING}/new-journal"
    monkeypatch.undo()
    assert actions(setup.sync()) == [("add", "x")]


# What an interrupted run left behind


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


@pytest.fixture
def busy(tmp_path: Path) -> Busy:
    return Busy(tmp_path)


KINDS = pytest.mark.parametrize("kind", [Busy, BusyLinks, BusyCopies])


@KINDS
@pytest.mark.parametrize(
    ("error", "after", "calls"),
    [
        (OSError, False, Cut.CALLS),
        (OSError, True, Cut.CHANGES),
        (KeyboardInterrupt, False, frozenset({"rename", "link", "unlink", "fchmod"})),
        (KeyboardInterrupt, True, Cut.CHANGES | {"open"}),
    ],
    ids=["failure", "failure-after", "interruption-before", "interruption-after"],
)
def test_whatever_ends_a_run_leaves_all_as_it_was_or_done(
    kind: type[Busy], error: type[BaseException], calls: frozenset[str], tmp_path: Path, *, after: bool
) -> None:
    busy = kind(tmp_path)
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


@KINDS
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_run_that_is_killed_at_any_change_is_brought_to_its_end_by_the_next(
    kind: type[Busy], tmp_path: Path, *, after: bool
) -> None:
    busy = kind(tmp_path)
    for number, call in enumerate(busy.work.made):
        if call.split()[0] in Cut.CHANGES:
            setup = busy.again()
            assert isinstance(Cut(number, Killed, after=after).run(setup), Killed)
            busy.check_whole(setup)
            busy.check_done(setup)


def test_what_somebody_made_since_a_run_was_killed_costs_nothing_of_what_was_there_before(busy: Busy) -> None:
    setup = busy.interrupted("rename new-used")
    assert not (setup.installed / "used/.git").exists()
    lay(setup.installed / "used", {".git/HEAD": "mine"})
    (problem,) = refused(setup)
    aside = f"{SKILLS}/{STAGING}/old-used/.git"
    assert (problem.code, problem.path) == (Code.MODIFIED, aside)
    assert (setup.installed / "used/.git/HEAD").read_text() == "mine"
    (setup.project / aside).rename(setup.project / "before")
    setup.sync()
    assert (setup.installed / "used/.git/HEAD").read_text() == "mine"
    assert (setup.installed / "used/sub/.venv/lib").read_text() == "l"
    assert (setup.project / "before/HEAD").read_text() == "h"


def test_a_registry_that_was_lost_since_a_run_was_killed_costs_no_skill(busy: Busy) -> None:
    setup = busy.interrupted("rename gone")
    assert not (setup.installed / "gone").exists()
    (setup.installed / registry.FILE_NAME).unlink()
    with pytest.raises(SkillsyncError):
        setup.sync()
    assert walked(setup.installed / "gone") == walked(busy.start.installed / "gone")


def test_a_registry_that_can_not_be_read_leaves_what_a_killed_run_left(busy: Busy) -> None:
    setup = busy.interrupted("rename gone")
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
