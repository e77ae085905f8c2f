from __future__ import annotations

import errno
import os
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import builders
import pytest
from builders import FIFO, Executable, Installation, Meddled, lay

from skillsync import filesystem
from skillsync.errors import Code, Problem, Severity, SkillsyncError
from skillsync.hashing import Link
from skillsync.locking.lockfile import Lockfile
from skillsync.syncing import plan, state, target
from skillsync.syncing.plan import Absent, Directory, Linked, Other, State, Twin
from skillsync.syncing.registry import FILE_NAME, Registry
from skillsync.syncing.state import glance, notes, read_gitignore, read_settled, read_state
from skillsync.syncing.target import Target, locate

if TYPE_CHECKING:
    from pathlib import Path

    from builders import Piece

    from skillsync.track import Track

SKILLS = ".agents/skills"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return lay(tmp_path / "project", {})


@pytest.fixture
def setup(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


def refused(project: Path, *names: str, outside: bool = False) -> list[tuple[str, str]]:
    """Return what `locate` refuses: the target and the message."""
    with pytest.raises(SkillsyncError) as caught:
        locate(str(project), names, outside=outside)
    assert all(problem.code is Code.UNSAFE_TARGET and problem.hint for problem in caught.value.problems)
    return [(problem.path or "", problem.message) for problem in caught.value.problems]


def failure(setup: Installation) -> Problem:
    """Return why a target directory can't be read."""
    with pytest.raises(SkillsyncError) as caught:
        setup.state(Lockfile())
    (problem,) = caught.value.problems
    return problem


# Where a target directory is


def test_a_target_is_below_the_project_and_need_not_exist(project: Path) -> None:
    (found,) = locate(str(project), (SKILLS,), outside=False)
    assert found == Target(name=SKILLS, base=str(project), path=SKILLS)
    assert (found.real, found.exists) == (f"{project}/{SKILLS}", False)
    lay(project, {SKILLS: None})
    assert found.exists


def test_a_project_may_be_reached_through_a_link(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    (found,) = locate(str(tmp_path / "link"), (SKILLS,), outside=False)
    assert found.base == str(project)


@pytest.mark.parametrize(
    ("pieces", "path"),
    [
        ({".agents": Link("shared"), "shared": None}, "shared/skills"),
        ({".agents/skills": Link("../shared"), "shared": None}, "shared"),
        ({".agents": Link("not/yet")}, "not/yet/skills"),
        ({".agents/skills": Link("../../project/shared"), "shared": None}, "shared"),
    ],
)
def test_a_target_that_is_a_link_inside_the_project_is_where_it_leads(
    project: Path, pieces: dict[str, Piece], path: str
) -> None:
    lay(project, pieces)
    (found,) = locate(str(project), (SKILLS,), outside=False)
    assert found == Target(name=SKILLS, base=str(project), path=path)
    with target.held(found, busy=pytest.fail):
        assert (project / path).is_dir()


@pytest.mark.parametrize("link", [".agents", ".agents/skills"])
@pytest.mark.parametrize("absolute", [False, True])
def test_a_target_that_leaves_the_project_is_refused_unless_the_person_allows_it(
    project: Path, tmp_path: Path, link: str, *, absolute: bool
) -> None:
    lay(tmp_path / "elsewhere", {"skills": None})
    up = "../" * (link.count("/") + 1)
    lay(project, {link: Link(f"{tmp_path}/elsewhere" if absolute else f"{up}elsewhere")})
    assert refused(project, SKILLS) == [(SKILLS, f"{SKILLS} leads out of the project through a link")]
    (found,) = locate(str(project), (SKILLS,), outside=True)
    real = tmp_path / ("elsewhere/skills" if link == ".agents" else "elsewhere")
    assert found == Target(name=SKILLS, base=str(real), path="")
    with target.held(found, busy=pytest.fail) as fd:
        assert list(filesystem.listing(fd)) == os.listdir(real)
    assert (tmp_path / "elsewhere/skills").is_dir()


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("leads", ["../../elsewhere", "/nowhere/at/all"])
def test_a_link_out_that_leads_to_no_directory_is_refused_in_any_case(
    project: Path, tmp_path: Path, leads: str, *, outside: bool
) -> None:
    lay(project, {SKILLS: Link(leads)})
    assert refused(project, SKILLS, outside=outside) == [(SKILLS, f"{SKILLS} leads out of the project through a link")]
    lay(tmp_path, {"elsewhere": "a file"})
    assert refused(project, SKILLS, outside=outside) == [(SKILLS, f"{SKILLS} leads out of the project through a link")]


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("leads", ["..", "../..", "../../..", "/"])
def test_the_project_itself_and_what_is_above_is_no_target(project: Path, leads: str, *, outside: bool) -> None:
    lay(project, {SKILLS: Link(leads)})
    message = f"{SKILLS} leads to the project's own directory, or above it"
    assert refused(project, SKILLS, outside=outside) == [(SKILLS, message)]


def test_a_directory_whose_name_begins_like_the_project_s_is_outside(project: Path, tmp_path: Path) -> None:
    lay(tmp_path / "project-two", {})
    lay(project, {SKILLS: Link("../../project-two")})
    assert refused(project, SKILLS) == [(SKILLS, f"{SKILLS} leads out of the project through a link")]


@pytest.mark.parametrize("piece", ["a file", FIFO, Link("skills")], ids=["file", "fifo", "circle"])
def test_what_is_no_directory_is_no_target(project: Path, piece: Piece) -> None:
    lay(project, {SKILLS: piece})
    assert refused(project, SKILLS) == [(SKILLS, f"{SKILLS} is not a directory")]
    inside = f"{SKILLS}/in/side"
    if not isinstance(piece, Link):
        assert refused(project, inside) == [(inside, f"{inside} can't be there: {SKILLS} is not a directory")]


@pytest.mark.parametrize("first", [SKILLS, ".claude/skills"])
def test_two_targets_that_are_one_directory_count_once(project: Path, first: str) -> None:
    lay(project, {SKILLS: None, ".claude/skills": Link("../.agents/skills")})
    second = ({SKILLS, ".claude/skills"} - {first}).pop()
    assert [found.name for found in locate(str(project), (first, second, first), outside=False)] == [first]


@pytest.mark.parametrize("inner", [f"{SKILLS}/one", f"{SKILLS}/one/deep", SKILLS + "/not-yet"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_target_inside_another_or_inside_a_skill_of_it_is_refused(project: Path, inner: str, *, turned: bool) -> None:
    lay(project, {f"{SKILLS}/one/deep": None, ".claude/skills": Link(f"../{inner}")})
    names = (".claude/skills", SKILLS) if turned else (SKILLS, ".claude/skills")
    message = f"{names[1]} lies in another target directory, or the other way round"
    assert refused(project, *names) == [(names[1], message)]


def test_targets_side_by_side_are_several(project: Path) -> None:
    names = (SKILLS, ".claude/skills", f"{SKILLS}-too")
    assert [found.name for found in locate(str(project), names, outside=False)] == list(names)


def test_every_unsafe_target_is_named(project: Path) -> None:
    lay(project, {"a": "file", "b": Link(".."), "c": None, "d": Link("c")})
    assert [path for path, _ in refused(project, "a", "b", "c", "d", "d/e")] == ["a", "b", "d/e"]


# Opening and holding one


def test_a_target_that_is_not_there_is_none_for_who_reads(setup: Installation) -> None:
    with target.opened(setup.place) as fd:
        assert fd is None
    assert not setup.installed.parent.exists()
    assert setup.state(Lockfile()) == State(registry=Registry(), disk={}, to_root="../..")


def test_a_directory_made_to_be_held_is_removed_if_nothing_came_into_it(setup: Installation) -> None:
    with target.held(setup.place, busy=pytest.fail):
        assert setup.installed.is_dir()
    assert list(setup.project.iterdir()) == []


def test_a_directory_that_was_there_or_is_in_use_stays(setup: Installation) -> None:
    lay(setup.project, {".agents": None})
    with target.held(setup.place, busy=pytest.fail):
        pass
    assert [path.name for path in setup.project.iterdir()] == [".agents"]
    with target.held(setup.place, busy=pytest.fail):
        lay(setup.installed, {"one": None})
    assert setup.installed.is_dir()


def test_a_directory_is_removed_though_the_run_is_refused(setup: Installation) -> None:
    with pytest.raises(SkillsyncError), target.held(setup.place, busy=pytest.fail):
        raise SkillsyncError(Problem(code=Code.UNMANAGED, message="no"))
    assert list(setup.project.iterdir()) == []


def hold(setup: Installation, waiting: threading.Event, seen: list[bool]) -> threading.Thread:
    """Hold a target directory in another thread: tell when it waits, and then whether the directory is there."""

    def busy(name: str) -> None:
        assert name == SKILLS
        waiting.set()

    def run() -> None:
        with target.held(setup.place, busy) as fd:
            seen.append(setup.installed.is_dir() and os.path.samestat(os.fstat(fd), setup.installed.stat()))

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize("used", [True, False], ids=["", "removed-meanwhile"])
def test_a_second_run_says_that_it_waits_and_goes_on_when_the_first_is_done(setup: Installation, *, used: bool) -> None:
    waiting, seen = threading.Event(), list[bool]()
    with target.held(setup.place, busy=pytest.fail):
        if used:
            lay(setup.installed, {"one": None})
        second = hold(setup, waiting, seen)
        assert waiting.wait(10)
        assert seen == []
    second.join(10)
    assert seen == [True]
    assert setup.installed.exists() is used


def test_a_run_that_waited_works_in_the_directory_that_is_there_now(setup: Installation) -> None:
    waiting, seen = threading.Event(), list[bool]()
    with target.held(setup.place, busy=pytest.fail):
        second = hold(setup, waiting, seen)
        assert waiting.wait(10)
        setup.installed.rename(setup.project / "moved")
        lay(setup.installed, {"one": None})
    second.join(10)
    assert seen == [True]
    assert os.listdir(setup.project / "moved") == []


def test_what_another_run_removes_while_it_is_opened_is_made_again(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    removals = ["skills", "skills", ".agents"]

    def make(path: str, *arguments: Any, **options: Any) -> None:  # noqa: ANN401  # as `os.mkdir` takes them
        os.mkdir(path, *arguments, **options)
        if removals and path == removals[-1]:
            removals.pop()
            os.rmdir(path, **options)

    monkeypatch.setattr(filesystem, "os", Meddled(mkdir=make))
    with target.held(setup.place, busy=pytest.fail):
        assert setup.installed.is_dir()
    assert removals == []
    assert list(setup.project.iterdir()) == []


def test_a_directory_that_never_stays_is_busy(setup: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(path: str, *_arguments: object, **_options: object) -> None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    monkeypatch.setattr(filesystem, "os", Meddled(mkdir=make))
    with pytest.raises(SkillsyncError) as caught, target.held(setup.place, busy=pytest.fail):
        pytest.fail("it was held")
    (problem,) = caught.value.problems
    assert (problem.code, problem.path, problem.message) == (
        Code.BUSY,
        SKILLS,
        f"{SKILLS} is being changed all the time",
    )


# What is in it


def test_every_entry_that_the_lock_or_the_registry_speaks_of_is_read(setup: Installation) -> None:
    for name in ("absent", "case", "file", "held", "link", "same"):
        setup.ship(name, {})
    lock = setup.lock()
    lay(setup.installed, {"same/SKILL.md": "# same\n", "Case/x": "", "file": "f", "link": Link("same"), "held": FIFO})
    lay(setup.installed, {"gone/f": "", "mine/f": "", "README.md": "", ".cache/x": "", "linked": Link("mine")})
    lay(setup.installed, {".agent-skills.yaml": "version: 1\nskills:\n  gone:\n    gem: sus\n  lost:\n    gem: sus\n"})
    found = setup.state(lock)
    assert found.disk == {
        "absent": Absent(),
        "case": Twin("Case"),
        "file": Other("a file"),
        "gone": Directory(builders.walked(setup.installed / "gone")),
        "held": Other("neither a file nor a directory"),
        "link": Linked("same"),
        "lost": Absent(),
        "same": Directory(builders.walked(setup.installed / "same")),
    }
    assert list(found.registry.rows) == ["gone", "lost"]
    assert found.unowned == (".cache", "Case", "README.md", "linked", "mine")
    assert (found.foreign, found.modes) == (frozenset(), True)


def test_a_name_that_is_not_utf8_is_somebody_s(setup: Installation) -> None:
    lay(setup.installed, {})
    os.mkdir(os.fsencode(setup.installed) + b"/caf\xe9")
    assert setup.state(Lockfile()).unowned == (r"caf\xe9",)


@pytest.mark.parametrize("twin", ["X-RAY", "X-ray"])
def test_an_entry_equal_but_for_case_counts_though_the_skill_is_there_too(setup: Installation, twin: str) -> None:
    setup.ship("x-ray", {})
    setup.sync()
    lay(setup.installed, {f"{twin}/f": ""})
    if len(os.listdir(setup.installed)) == 2:
        pytest.skip("left out: the file system holds them for one name")
    assert setup.state().disk == {"x-ray": Twin(twin)}
    assert [problem.code for problem in setup.plan(force=True).problems] == [Code.UNMANAGED]


def test_a_row_that_is_not_locked_goes_by_its_very_name(setup: Installation) -> None:
    setup.ship("x-ray", {})
    setup.sync()
    (setup.installed / "x-ray").rename(setup.installed / "X-Ray")
    setup.drop("x-ray")
    if "x-ray" not in os.listdir(setup.installed):
        assert setup.state(Lockfile()).disk == {"x-ray": Absent()}


def test_the_modes_are_asked_for_only_where_a_script_has_none(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.ship("x", {"run": Executable("#!/bin/sh\n"), "text": "t"})
    setup.sync()
    monkeypatch.setattr(filesystem, "keeps_modes", pytest.fail)
    assert setup.state().modes
    (setup.installed / "x/run").chmod(0o644)
    monkeypatch.setattr(filesystem, "keeps_modes", lambda _fd: False)
    assert not setup.state().modes


def test_what_goes_between_the_listing_and_the_opening_is_absent(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vanish(name: Any, *arguments: Any, **options: Any) -> int:  # noqa: ANN401  # as `os.open` takes them
        if name == "x":
            builders.take_away(setup.installed / "x")
        return os.open(name, *arguments, **options)

    setup.ship("x", {})
    setup.sync()
    monkeypatch.setattr(filesystem, "os", Meddled(open=vanish))
    assert setup.state().disk == {"x": Absent()}


def test_a_glance_reads_no_skill(setup: Installation) -> None:
    for name in ("x", "y", "z"):
        setup.ship(name, {})
    lock = setup.lock()
    with target.opened(setup.place) as fd:
        assert glance(fd, setup.place, lock) == State(registry=Registry(), disk={})
    row = "---\nversion: 1\nskills:\n  old:\n    gem: sus\n"
    lay(setup.installed, {"x": FIFO, "y": None, "mine": None, "old": None, ".agent-skills.yaml": row})
    with target.opened(setup.place) as fd:
        found = glance(fd, setup.place, lock)
    a_directory = Other("a directory")
    assert found.disk == {"x": Other("neither a file nor a directory"), "y": a_directory, "old": a_directory}
    assert found.unowned == ("mine",)


# The registry


def test_an_absent_registry_is_an_empty_one(setup: Installation) -> None:
    lay(setup.installed, {})
    assert setup.state(Lockfile()).registry == Registry()


@pytest.mark.parametrize(
    ("piece", "reason", "line"),
    [
        ("", "it is empty", None),
        ("version: 1\nskills:\n<<<<<<< ours\n", "it has merge conflict markers", 3),
        ("a: b: c", "it is not YAML", 1),
        ("- a\n", "it is not a mapping", 1),
        ("version: 2\nskills: {}\n", "version is 2, and this skillsync reads up to 1", None),
        ("version: 1\nskills: []\n", "skills must be a mapping", None),
        ("version: 1\nskills:\n  ../x:\n    gem: sus\n", "skills.../x the name", None),
        ("version: 1\nskills:\n  x:\n    gem: []\n", "skills.x.gem must be a text", None),
        (b"version: 1\nskills: {}\n\xff", "it is not UTF-8", 3),
        (Link("other"), "it is a symbolic link", None),
        (Link("nothing"), "it is a symbolic link", None),
        (None, "it is a directory", None),
        (FIFO, "it is not a regular file", None),
    ],
)
def test_a_registry_that_can_not_be_read_is_never_taken_for_an_empty_one(
    setup: Installation, piece: Piece, reason: str, line: int | None
) -> None:
    lay(setup.installed, {"other": "version: 1\nskills: {}\n", ".agent-skills.yaml": piece})
    problem = failure(setup)
    assert problem.message.startswith(f"{SKILLS}/.agent-skills.yaml can't be read: {reason}")
    assert (problem.code, problem.path) == (Code.REGISTRY_UNREADABLE, f"{SKILLS}/.agent-skills.yaml")
    assert problem.line == line
    assert problem.hint == (
        "upgrade skillsync"
        if "reads up to" in reason
        else "restore it from a backup; or remove it, and then the installed skills that the next sync names"
    )


@pytest.mark.parametrize("content", ['{"skills": {"x": {"gem": "a"}}}', '{"skills": ["x"]}'])
def test_what_another_tool_s_registry_names_is_foreign(setup: Installation, content: str) -> None:
    setup.ship("x", {})
    lay(setup.installed, {".agent-context-skills.json": content})
    assert setup.state().foreign == {"x"}
    assert [problem.code for problem in setup.plan(force=True).problems] == [Code.UNMANAGED]


@pytest.mark.parametrize(
    "piece",
    [
        "",
        "[]",
        "{}",
        '{"skills": 1}',
        '{"skills": "x"}',
        '{"skills": [[]]}',
        "[" * 100_000,
        b"\xff",
        Link("x"),
        FIFO,
        None,
    ],
)
def test_another_tool_s_registry_that_makes_no_sense_stops_everything(setup: Installation, piece: Piece) -> None:
    setup.ship("x", {})
    lay(setup.installed, {".agent-context-skills.json": piece})
    with target.opened(setup.place) as fd, pytest.raises(SkillsyncError) as caught:
        read_state(fd, setup.place, setup.lock())
    (problem,) = caught.value.problems
    assert (problem.code, problem.severity) == (Code.REGISTRY_UNREADABLE, Severity.ERROR)
    assert problem.path == f"{SKILLS}/.agent-context-skills.json"


# `.gitignore`


@pytest.mark.parametrize(("piece", "text"), [("", ""), ("/x\n", "/x\n"), (b"\xff\r\n", "\udcff\r\n")])
def test_the_user_s_lines_are_read_as_they_are(setup: Installation, piece: Piece, text: str) -> None:
    lay(setup.installed, {".gitignore": piece})
    with filesystem.open_directory(str(setup.installed)) as fd:
        assert read_gitignore(fd, setup.place) == text


def test_an_absent_gitignore_is_not_an_empty_one(setup: Installation) -> None:
    lay(setup.installed, {})
    with filesystem.open_directory(str(setup.installed)) as fd:
        assert read_gitignore(fd, setup.place) is None


@pytest.mark.parametrize("piece", [Link("../../.gitignore"), None, FIFO], ids=["link", "directory", "fifo"])
def test_a_gitignore_that_is_no_file_is_refused(setup: Installation, piece: Piece) -> None:
    lay(setup.installed, {".gitignore": piece})
    with filesystem.open_directory(str(setup.installed)) as fd, pytest.raises(SkillsyncError) as caught:
        read_gitignore(fd, setup.place)
    (problem,) = caught.value.problems
    assert (problem.code, problem.path) == (Code.UNSAFE_TARGET, f"{SKILLS}/.gitignore")
    assert "gitignore = false" in (problem.hint or "")


# Reading while others write


def test_a_directory_that_another_run_changes_is_read_again(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.ship("x", {})
    lock = setup.lock()
    before = read_state

    def write(fd: int | None, place: Target, wanted: Lockfile, track: Track) -> State:
        found = before(fd, place, wanted, track)
        monkeypatch.undo()
        setup.sync()
        return found

    monkeypatch.setattr(state, "read_state", write)
    found = read_settled(setup.place, lock)
    assert found == setup.state(lock)
    assert plan.make(SKILLS, lock, found, force=False).drift == ()


def test_a_directory_that_never_settles_is_busy(setup: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    setup.ship("x", {})
    setup.sync()

    def replaced(*_: object) -> State:
        (setup.installed / "new").write_text("")
        (setup.installed / "new").rename(setup.installed / FILE_NAME)
        return State(registry=Registry(), disk={})

    monkeypatch.setattr(state, "read_state", replaced)
    with pytest.raises(SkillsyncError) as caught:
        read_settled(setup.place, setup.lock())
    assert [problem.code for problem in caught.value.problems] == [Code.BUSY]


def test_a_target_that_is_not_there_is_settled(setup: Installation) -> None:
    assert read_settled(setup.place, Lockfile()) == State(registry=Registry(), disk={}, to_root="../..")


# Why a file differs


def noted(setup: Installation) -> dict[str, str]:
    return notes(setup.place, setup.plan(), setup.lock())


def test_a_file_that_differs_in_its_line_endings_alone_is_said_to(setup: Installation) -> None:
    setup.ship("x", {"a/f": "1\n2\n", "g": "1\n", "mixed": "1\n2\n", "l": Link("g")})
    setup.sync()
    assert noted(setup) == {}
    lay(setup.installed / "x", {"a/f": "1\r\n2\r\n", "g": "2\r\n", "mixed": "1\r\n2\n", "extra": "1\r\n"})
    (setup.installed / "x/l").unlink()
    found = noted(setup)
    assert list(found) == [f"{SKILLS}/x/a/f", f"{SKILLS}/x/mixed"]
    assert all("only the line endings differ" in note for note in found.values())


def test_carriage_returns_that_are_content_are_a_difference(setup: Installation) -> None:
    setup.ship("x", {"f": "1\r\n"})
    setup.sync()
    lay(setup.installed / "x", {"f": "1\n"})
    assert noted(setup) == {}


def test_what_can_not_be_read_again_has_no_note(setup: Installation) -> None:
    setup.ship("x", {"f": "1\n", "d/g": "1\n", "big": "1\n"})
    setup.sync()
    lay(setup.installed / "x", {"f": "1\r\n", "d/g": "1\r\n"})
    made, lock = setup.plan(), setup.lock()
    builders.take_away(setup.installed / "x/f")
    builders.take_away(setup.installed / "x/d")
    lay(setup.installed / "x", {"f": FIFO, "d": Link("/")})
    assert notes(setup.place, made, lock) == {}


def test_a_note_is_found_in_a_target_outside_too(setup: Installation, tmp_path: Path) -> None:
    setup.ship("x", {"f": "1\n"})
    setup.sync()
    made, lock = setup.plan(), setup.lock()
    lay(setup.installed / "x", {"f": "1\r\n"})
    made = setup.plan()
    setup.installed.rename(tmp_path / "elsewhere")
    setup.installed.symlink_to(tmp_path / "elsewhere")
    (place,) = locate(str(setup.project), (SKILLS,), outside=True)
    assert place.path == ""
    assert list(notes(place, made, lock)) == [f"{SKILLS}/x/f"]


def test_no_descriptor_stays_open(setup: Installation) -> None:
    setup.ship("x", {"a/b/f": ""})
    setup.sync()
    before = len(os.listdir("/dev/fd"))
    setup.state()
    with ExitStack() as stack:
        stack.enter_context(target.held(setup.place, busy=pytest.fail))
    noted(setup)
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize("name", [".git", ".GIT", ".git/hooks"])
def test_a_target_that_leads_into_gits_own_directory_is_unsafe(setup: Installation, name: str) -> None:
    (setup.project / name).mkdir(parents=True)
    lay(setup.project, {".agents/skills": Link(f"../{name}")})
    with pytest.raises(SkillsyncError) as caught:
        locate(str(setup.project), (".agents/skills",), outside=True)
    assert [problem.code for problem in caught.value.problems] == [Code.UNSAFE_TARGET]
