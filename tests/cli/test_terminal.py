from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import subprocess
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from projects import SKILLS, Project, command

from skillsync.cli import main as command_line
from skillsync.rendering import progress
from skillsync.rendering.columns import columns as taken

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

    from skillsync.track import T

LONG = "Write and review tests. " * 10
AT_WORK = "sync: reading packages, "


@pytest.fixture
def project(tmp_path: Path) -> Project:
    text = f"---\nname: testing\ndescription: {LONG}\n---\n"
    return Project(tmp_path / "app").gem("sus", "1.0.0", "testing", files={"skills/testing/SKILL.md": text})


@contextlib.contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Yield both ends of a terminal: the person's, and the program's."""
    ends = pty.openpty()
    try:
        yield ends
    finally:
        for end in ends:
            with contextlib.suppress(OSError):
                os.close(end)


def until(person: int, ends: Callable[[str], bool]) -> str:
    """Read what a terminal shows until it is as expected, or nobody writes any more."""
    text = ""
    while not ends(text):
        try:
            text += os.read(person, 4096).decode()
        except OSError:  # Linux's end of a terminal
            break
    return text


def listed(project: Project, columns: int) -> list[str]:
    """Return what `list` shows on a terminal of so many columns."""
    with terminal() as (person, program), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("NO_COLOR", "1")
        with os.fdopen(program, "w") as stream, contextlib.redirect_stdout(stream), contextlib.chdir(project.root):
            assert command_line.main(["list"]) == 0
        text = until(person, lambda _: False)
    return text.splitlines()[1:-1]


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_table_is_as_wide_as_the_terminal(project: Project, columns: int) -> None:
    header, row = listed(project, columns)
    assert header.endswith("DESCRIPTION")
    assert columns - len("tests. ") <= len(row) <= columns
    assert row.endswith("…")


def test_a_terminal_that_is_too_narrow_gets_no_descriptions(project: Project) -> None:
    header, row = listed(project, 50)
    assert (header, row) == ("SKILL    STATE      PROVIDER", "testing  available  gem:sus 1.0.0")


def test_what_is_no_terminal_gets_the_same_everywhere(project: Project) -> None:
    wide = project.process("list", environ={"COLUMNS": "200"})
    assert wide.out == project.process("list", environ={"COLUMNS": "50"}).out
    assert len(wide.out.splitlines()[2].split("  ")[-1]) <= 60


def test_characters_that_take_two_columns_count_for_two(project: Project) -> None:
    text = "---\nname: testing\ndescription: " + "試験を書く" * 20 + "\n---\n"
    project.change("sus", {"skills/testing/SKILL.md": text})
    _, row = listed(project, 80)
    shown = row.split("  ")[-1]
    assert len(row) + len(shown) - 1 in {79, 80}


@contextlib.contextmanager
def held_up(project: Project) -> Iterator[Callable[[], None]]:
    """Let a sync take as long as the test wants; yield what lets it go on."""
    project.done("lock")
    project.installed().mkdir(parents=True)
    directory = os.open(project.installed(), os.O_RDONLY)
    fcntl.flock(directory, fcntl.LOCK_EX)
    try:
        yield lambda: fcntl.flock(directory, fcntl.LOCK_UN)
    finally:
        os.close(directory)


def test_what_takes_long_says_so_at_a_terminal_and_takes_it_back(project: Project) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "CI"} | {"TERM": "xterm"}
    with held_up(project) as go_on, terminal() as (person, program):
        process = subprocess.Popen(
            (*command(), "sync"), stdout=subprocess.PIPE, stderr=program, text=True, cwd=project.root, env=environ
        )
        os.close(program)
        said = until(person, lambda text: AT_WORK in text)
        go_on()
        said += until(person, lambda _: False)
        out, _ = process.communicate()
    assert process.returncode == 0
    assert f"waiting for another skillsync in {SKILLS}\r\n" in said
    assert said.endswith(progress.ERASE)
    assert AT_WORK not in out
    assert out.endswith(f"1 added in {SKILLS}\n")


def test_the_line_is_there_while_it_works_and_gone_after_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    said = ""

    def watch(person: int, go_on: Callable[[], None]) -> None:
        nonlocal said
        said = until(person, lambda text: AT_WORK in text)
        go_on()
        said += until(person, lambda text: text.endswith(progress.ERASE))

    with held_up(project) as go_on, terminal() as (person, program), os.fdopen(os.dup(program), "w") as stream:
        monkeypatch.setattr("sys.stderr", stream)
        watching = threading.Thread(target=watch, args=(person, go_on))
        watching.start()
        with contextlib.chdir(project.root), contextlib.redirect_stdout(None):
            assert command_line.main(["sync"]) == 0
        watching.join()
    assert AT_WORK in said


def test_a_terminal_that_goes_away_ends_no_command(project: Project) -> None:
    class Gone:
        written = threading.Event()

        def fileno(self) -> int:
            return program

        def write(self, _text: str) -> None:
            self.written.set()
            raise OSError

    with terminal() as (_, program), progress.shown("lock", stream := Gone()):
        assert stream.written.wait(60)
        project.done("lock")


def test_a_system_that_gives_no_thread_ends_no_command(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")  # Python's word for it

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with terminal() as (_, program), os.fdopen(os.dup(program), "w") as stream:
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.delenv("CI", raising=False)
        monkeypatch.setenv("TERM", "xterm")
        with contextlib.chdir(project.root), contextlib.redirect_stdout(None):
            assert command_line.main(["lock"]) == 0


@pytest.mark.parametrize(
    ("options", "environ"),
    [
        (("--quiet",), {}),
        (("--format", "json"), {}),
        (("--format", "github"), {}),
        ((), {"CI": "true"}),
        ((), {"TERM": "dumb"}),
    ],
)
def test_who_does_not_look_gets_no_line(
    project: Project, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], environ: dict[str, str]
) -> None:
    def shown(*_: object) -> Any:  # noqa: ANN401  # it never returns
        pytest.fail("a line is shown")

    project.done("lock")
    project.done("sync")
    for name, value in {"CI": "", "TERM": "xterm", **environ}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(progress, "shown", shown)
    with terminal() as (_, program), os.fdopen(os.dup(program), "w") as stream:
        monkeypatch.setattr("sys.stderr", stream)
        with contextlib.chdir(project.root), contextlib.redirect_stdout(None):
            assert command_line.main(["verify", *options]) == 0


@dataclass
class At:
    words: str = "reading .agents/skills"
    done: int = 0
    total: int = 0


def test_the_bar_says_how_much_is_done() -> None:
    at = At(done=250, total=1000)
    assert progress.line("verify", at, 1.6, 90) == (
        "verify: reading .agents/skills [#######                       ] 250 of 1000, 2 s"
    )
    assert progress.line("verify", at, 1.6, 60) == "verify: reading .agents/skills [##       ] 250 of 1000, 2 s"
    assert progress.line("verify", at, 1.6, 50) == "verify: reading .agents/skills 250 of 1000, 2 s"
    assert progress.line("verify", At(done=7, total=7), 3, 90).count("#") == 30
    assert progress.line("verify", At(), 3, 90) == "verify: reading .agents/skills, 3 s"
    for room in range(1, 120):
        assert len(progress.line("verify", at, 100, room)) < room
        assert len(progress.line("verify", At(), 100, room)) < room


def test_the_bar_takes_wide_characters_for_two_columns() -> None:
    at = At(words="reading 日本/スキル", done=250, total=1000)
    assert progress.line("verify", at, 1.6, 60) == "verify: reading 日本/スキル [###         ] 250 of 1000, 2 s"
    for room in range(1, 120):
        for one in (at, At(words=at.words)):
            assert taken(progress.line("verify", one, 100, room)) < room


def test_the_bar_shows_a_target_directory_as_the_report_does() -> None:
    said = ""
    with (
        terminal() as (person, program),
        os.fdopen(os.dup(program), "w") as stream,
        progress.shown("verify", stream) as track,
    ):
        for _ in track((1,), "reading \x9b31m\u202e"):
            said = until(person, lambda text: " 0 of 1" in text)
    assert said.startswith("\rverify: reading \\x9b31m\\u202e [")


def test_work_that_ends_while_its_line_is_made_ends_no_line() -> None:
    class Ending:
        words = "reading .agents/skills"
        done = 7
        left = iter((7,))

        @property
        def total(self) -> int:
            return next(self.left, 0)

    assert progress.line("verify", Ending(), 3, 60).endswith("] 7 of 7, 3 s")


def test_each_command_counts_what_it_does(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part of a long command is handed out by what counts it: none is counted that isn't done, or the reverse."""
    seen: list[tuple[str, int, int]] = []

    def track(parts: Collection[T], words: str) -> Iterable[T]:
        handed = 0
        for part in parts:
            yield part
            handed += 1
        seen.append((words, handed, len(parts)))

    def counted(*arguments: str) -> list[tuple[str, int, int]]:
        seen.clear()
        with terminal() as (_, program), os.fdopen(os.dup(program), "w") as stream:
            monkeypatch.setattr("sys.stderr", stream)
            with contextlib.chdir(project.root), contextlib.redirect_stdout(None):
                assert command_line.main(list(arguments)) == 0
        return list(seen)

    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "shown", lambda *_: contextlib.nullcontext(track))
    project.gem("bake", "1.0.0", "tasks")
    packages, target = ("looking into packages", 2, 2), (f"reading {SKILLS}", 2, 2)
    assert counted("lock") == [packages, ("comparing with the lock", 2, 2)]
    assert counted("sync", "--dry-run") == [("reading packages' skills", 2, 2)]
    assert counted("sync") == [target, (f"writing {SKILLS}", 2, 2)]
    assert counted("sync") == [target]
    assert counted("verify") == [packages, target]
    assert counted("list") == [packages]
    assert counted("list", "--verify") == [packages, target]
    assert counted("show", "testing") == [packages, target]
    assert counted("diff") == [packages, ("comparing with the lock", 0, 0)]
    assert counted("diff", "--installed") == [target]


def test_what_is_done_at_once_shows_no_line() -> None:
    with terminal() as (person, program):
        with os.fdopen(program, "w") as stream, progress.shown("lock", stream):
            pass
        assert until(person, lambda _: False) == ""
