from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import projects
import pytest
import tools
from projects import LOCK, SKILLS, Project, Result

from skillsync.cli import main as command_line
from skillsync.commands.project import find
from skillsync.errors import SkillsyncError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

COMMANDS = ("init", "allow", "deny", "list", "show", "lock", "sync", "verify")
WRONG = [
    (),
    ("nix",),
    ("--quiet", "list"),
    ("show",),
    ("show", "one", "two"),
    ("list", "extra"),
    ("list", "--format=xml"),
    ("list", "--forma", "text"),
    ("lock", "--quiet", "--verbose"),
    ("sync", "--check", "--dry-run"),
    ("sync", "--forc"),
    ("verify", "--scope", "nix"),
    ("verify", "--force"),
    ("help", "nix"),
    ("help", "list", "show"),
    ("list", "--project"),
    ("list", "--project", "nowhere"),
    ("list", "--project", "Gemfile"),
    ("list", "--project", ""),
]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "app").gem("sus", "1.0.0", "testing")


# Wrong usage


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_wrong_usage_says_what_is_wrong_and_where_help_is(project: Project, arguments: tuple[str, ...]) -> None:
    before = project.tree
    result = project.run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error[usage]: ")
    assert "\n  hint: " in result.err
    assert project.tree == before


@pytest.mark.parametrize("form", [("--format", "json"), ("--format=json",)], ids=" ".join)
@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_wrong_usage_is_reported_as_json_where_json_was_asked_for(
    project: Project, arguments: tuple[str, ...], form: tuple[str, ...]
) -> None:
    # First, so that nothing before it can take it for its own value: an option that misses one does.
    result = project.run(*arguments[:1], *form, *arguments[1:])
    assert (result.code, result.codes, result.err) == (2, ["usage"], "")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(project: Project, command: str) -> None:
    result = project.run(command, "--help")
    assert (result.code, result.err) == (0, "")
    for option in ("--project DIR", "--format {text,json", "--quiet", "--verbose"):
        assert option in result.out


def test_help_names_the_commands_and_the_exit_codes(project: Project) -> None:
    text = project.run("--help").out
    assert [name for name in COMMANDS if f"\n    {name} " in text] == list(COMMANDS)
    assert "exit codes: 0 done" in text


def test_the_module_is_the_program(project: Project) -> None:
    result = project.process("--version")
    assert (result.code, result.out, result.err) == (0, project.run("--version").out, "")
    assert result.out.startswith("skillsync ")


# Exit codes and JSON


def done(project: Project) -> list[str]:
    project.done("lock")
    return ["list"]


def different(_project: Project) -> list[str]:
    return ["lock", "--check"]


def misused(_project: Project) -> list[str]:
    return ["sync"]


def refused(project: Project) -> list[str]:
    project.done("lock")
    project.write({f"{SKILLS}/testing/SKILL.md": "mine"})
    return ["sync"]


CODES = [(done, 0), (different, 1), (misused, 2), (refused, 3)]


@pytest.mark.parametrize(("prepare", "code"), CODES)
def test_every_exit_code_has_its_json(project: Project, prepare: Callable[[Project], list[str]], code: int) -> None:
    result = project.process(*prepare(project), "--format", "json")
    assert (result.code, result.err) == (code, "")
    assert result.json["version"] == 1
    assert bool(result.json["problems"]) == (code > 1)
    assert all({"code", "severity", "message"} <= problem.keys() for problem in result.json["problems"])


@pytest.mark.parametrize(("prepare", "code"), CODES)
def test_text_and_json_have_the_same_exit_code(
    project: Project, prepare: Callable[[Project], list[str]], code: int
) -> None:
    arguments = prepare(project)
    for options in ((), ("--format", "json"), ("--quiet",), ("--verbose",)):
        assert project.run(*arguments, *options).code == code


@pytest.mark.parametrize(
    ("name", "message", "path"),
    [
        ("{root}/vendor", "vendor: Input/output error", "vendor"),
        ("/elsewhere/gems", "/elsewhere/gems: Input/output error", None),
        (b"/\xff", "/\\udcff: Input/output error", None),
        (None, "Input/output error", None),
    ],
)
def test_a_failure_of_the_system_is_named_with_its_place(
    project: Project, name: str | bytes | None, message: str, path: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = name.format(root=project.root) if isinstance(name, str) else name

    def failing(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), place)

    monkeypatch.setattr("skillsync.commands.survey.read_environments", failing)
    (problem,) = project.run("list", "--format", "json").json["problems"]
    assert (problem["code"], problem["message"], problem.get("path")) == ("io", message, path)


def test_problems_go_to_standard_error_and_results_to_standard_output(project: Project) -> None:
    project.change("sus", {"skills/broken/SKILL.md": "no frontmatter"})
    result = project.done("lock")
    assert f"wrote {LOCK}" in result.out
    assert "broken" not in result.out
    assert result.err.startswith("warning[invalid-skill]: ")


def test_quiet_leaves_the_problems_alone(project: Project) -> None:
    project.change("sus", {"skills/broken/SKILL.md": "no frontmatter"})
    result = project.done("lock", "--quiet")
    assert result.out == ""
    assert "warning[invalid-skill]: " in result.err
    assert project.run("lock", "--quiet", "--format", "json").json["problems"]
    project.write({"Gemfile.lock": None, "Gemfile": None, LOCK: None})
    assert project.run("list", "--quiet").err.startswith("error[environment-not-found]: ")


def test_verbose_adds_what_was_passed_over(project: Project) -> None:
    project.change("sus", {"skills/CREDITS.md": "thanks"})
    for command in ("list", "lock"):
        usual, verbose = project.done(command), project.done(command, "--verbose")
        assert "CREDITS" not in usual.out
        assert "ignored: gem:sus skills/CREDITS.md: is a file, not a skill's directory\n" in verbose.out


def test_a_failure_of_the_system_has_its_exit_code_and_json(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: str, _content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    monkeypatch.setattr("skillsync.filesystem.replace_file", full)
    result = project.run("lock", "--format", "json")
    assert (result.code, result.err) == (4, "")
    assert result.json == {
        "version": 1,
        "environments": [],
        "changes": [],
        "not_admitted": [],
        "problems": [
            {
                "code": "io",
                "severity": "error",
                "message": f"{LOCK}: No space left on device",
                "hint": "mend that, then run the command again: nothing was changed",
                "path": LOCK,
            }
        ],
    }
    text = project.run("lock", "--quiet")
    assert (text.code, text.out) == (4, "")
    assert text.err.startswith(f"error[io]: {LOCK}: No space left on device\n")


@pytest.mark.parametrize(
    ("typed", "hint"), [("synk", "did you mean `skillsync sync`?"), ("x" * 300, "see `skillsync --help`")]
)
def test_a_command_that_there_is_not_is_answered_with_the_nearest(project: Project, typed: str, hint: str) -> None:
    result = project.run(typed)
    assert result.code == 2
    assert result.err == f"error[usage]: there is no command `{typed}`\n  hint: {hint}\n"


# Streams that are not there, and people who stop it

PRINTING = pytest.mark.parametrize(
    "arguments", [("list",), ("list", "--format", "json"), ("--help",), ("--version",), ("help", "ci")]
)


@pytest.mark.parametrize(
    "arguments", [("list",), ("list", "--format", "json"), ("--help",), ("--version",), ("help", "ci")]
)
def test_a_reader_that_has_gone_is_no_reason_for_a_traceback(project: Project, arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = project.process(*arguments, capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)
    assert (result.code, result.err) == (4, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="left out: no /dev/full, which is always full")
@pytest.mark.parametrize(
    "arguments", [("list",), ("list", "--format", "json"), ("--help",), ("--version",), ("help", "ci")]
)
def test_a_full_disk_behind_standard_output_is_an_error_of_the_system(
    project: Project, arguments: tuple[str, ...]
) -> None:
    with open("/dev/full", "wb") as full:
        result = project.process(*arguments, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (result.code, result.err.count("\n")) == (4, 1)
    assert result.err.startswith("error[io]: standard output")


@pytest.mark.parametrize("redirection", ["<&- 2>&-", ">&-"])
def test_closed_streams_do_no_harm(project: Project, redirection: str) -> None:
    script = f'"$@" {redirection}'
    result = subprocess.run(
        ("sh", "-c", script, "sh", *projects.command(), "list"), cwd=project.root, capture_output=True, check=False
    )
    assert result.returncode == 0
    assert result.stderr == b""


@pytest.mark.parametrize("asked", ["--help", "--version"])
def test_help_that_nobody_can_see_is_no_error(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    with pytest.raises(SystemExit) as ended:
        command_line.main([asked])
    assert ended.value.code == 0


def test_what_the_terminal_cannot_show_is_shown_by_number(project: Project) -> None:
    project.change("sus", {"skills/testing/SKILL.md": projects.skill("testing").replace("About", "Über €")})
    result = project.process("list", environ={"PYTHONIOENCODING": "ascii"})
    assert (result.code, result.err) == (0, "")
    assert "\\xdcber \\u20ac testing." in result.out


def test_what_is_no_text_on_the_command_line_is_shown_by_number(project: Project) -> None:
    result = project.process("show", os.fsdecode(b"\xff\x1b[31m"))
    assert (result.code, result.out) == (3, "")
    assert "no provider ships a skill `\\udcff\\x1b[31m`" in result.err


def test_a_directory_that_is_gone_is_told_and_needed_by_nobody_who_names_another(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SkillsyncError) as caught:
        find(None)
    assert caught.value.problems[0].message == "the current directory was removed"
    assert find(str(project.root)) == str(project.root)


def test_the_current_directory_may_be_gone(project: Project) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    result = subprocess.run(
        ("sh", "-c", script, "sh", *projects.command(), "list"),
        cwd=project.root,
        capture_output=True,
        check=False,
    )
    assert result.returncode == 4
    assert result.stderr == (
        b"error[io]: the current directory was removed\n  hint: cd into the project, or name it with --project\n"
    )


@pytest.mark.parametrize(("number", "said"), [(errno.EPIPE, 0), (errno.ENOSPC, 1)])
def test_a_program_that_calls_it_gets_the_exit_code_too(
    project: Project, tmp_path: Path, number: int, said: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, left = print, 1

    def once(*words: object, **options: Any) -> None:  # noqa: ANN401  # as `print` has them
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(number, os.strerror(number))
        usual(*words, **options)

    monkeypatch.setattr("builtins.print", once)
    err = io.StringIO()
    with (tmp_path / "out").open("w", encoding="utf-8") as out:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(project.root):
            assert command_line.main(["list"]) == 4
        out.write("Python writes what is left when it ends")
    assert (tmp_path / "out").read_text() == ""
    assert err.getvalue().count("error[io]: standard output can't be written: No space left on device\n") == said
    assert len(err.getvalue().splitlines()) == said


def test_a_reader_that_goes_while_a_command_runs_ends_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr("skillsync.commands.survey.read_environments", gone)
    assert project.run("list") == Result(4, "", "")


def test_without_standard_output_it_does_its_work(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    with contextlib.chdir(project.root):
        assert command_line.main(["lock"]) == 0
    assert (project.root / LOCK).exists()


@contextlib.contextmanager
def another_run(project: Project) -> Iterator[Callable[[], None]]:
    """Hold the target directory as a run does that is at work; yield what ends it."""
    project.done("lock")
    project.installed().mkdir(parents=True)
    directory = os.open(project.installed(), os.O_RDONLY)
    fcntl.flock(directory, fcntl.LOCK_EX)
    try:
        yield lambda: fcntl.flock(directory, fcntl.LOCK_UN)
    finally:
        os.close(directory)


def test_a_run_that_has_to_wait_says_so_at_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    said = []

    def say(text: str) -> None:
        said.append(text)
        end()

    with another_run(project) as end:
        monkeypatch.setattr("skillsync.cli.main._say", say)
        assert project.run("sync").code == 0
    assert said == [f"waiting for another skillsync in {SKILLS}"]


def test_a_run_that_may_not_wait_is_busy_and_changes_nothing(project: Project) -> None:
    with another_run(project):
        before = project.tree
        result = project.run("sync", "--no-wait", "--format", "json")
        assert (result.code, result.codes, result.json["problems"][0]["path"]) == (4, ["busy"], SKILLS)
        # What writes nothing waits for nobody.
        assert project.run("sync", "--check").code == 1
        assert project.run("verify", "--scope", "installed").code == 1
        assert project.tree == before
    project.done("sync", "--no-wait")


@contextlib.contextmanager
def waiting(project: Project, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Callable[[], None]]]:
    """Start a `sync` that has to wait for another run; yield it, and what ends that run."""
    with (
        another_run(project) as end,
        subprocess.Popen(
            (*projects.command(), "sync", *arguments),
            cwd=project.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stderr is not None
        try:
            assert process.stderr.readline() == f"waiting for another skillsync in {SKILLS}\n"
            yield process, end
        finally:
            process.kill()


def test_a_second_run_waits_and_goes_on(project: Project) -> None:
    with waiting(project) as (process, end):
        assert process.poll() is None
        end()
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert f"1 added in {SKILLS}" in out


def test_an_interrupt_ends_without_a_traceback(project: Project) -> None:
    with waiting(project) as (process, _):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err == "interrupted; nothing is half written: run it again\n"
    assert not list(project.installed().iterdir())


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_a_job_is_an_interrupt(project: Project, sent: signal.Signals) -> None:
    with waiting(project) as (process, _):
        process.send_signal(sent)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err == "interrupted; nothing is half written: run it again\n"


def test_a_signal_that_the_caller_ignores_stays_ignored(project: Project) -> None:
    program = "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); from skillsync.cli.main import main; "
    program += "code = main(['list']); sys.exit(code + (signal.getsignal(signal.SIGHUP) != signal.SIG_IGN))"
    done = subprocess.run((sys.executable, "-c", program), cwd=project.root, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


# What is there may be used, and so many bytes more.
_SHORT = """
import resource, sys
from skillsync.cli import lock
from skillsync.commands import overview
from skillsync.cli.main import main
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="left out: only Linux tells how much memory is taken")
def test_too_little_memory_ends_without_a_traceback(project: Project) -> None:
    with (project.root / LOCK).open("wb") as lock:
        lock.truncate(12 << 20)
    for command, data in (("list", "providers"), ("sync", "changes")):
        done = subprocess.run(
            (sys.executable, "-c", _SHORT, str(8 << 20), command, "--format", "json"),
            cwd=project.root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (4, "")
        report = json.loads(done.stdout)
        assert report[data] == []
        assert [problem["message"] for problem in report["problems"]] == ["there is not enough memory for this"]


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_neither_memory_nor_depth_ends_in_a_traceback(
    project: Project, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("skillsync.commands.project.find", fail)
    result = project.run("list")
    assert (result.code, result.out) == (4, "")
    assert result.err.startswith("error[io]: there is not enough memory for this\n  hint: ")


def test_another_encoding_of_names_is_refused_before_anything_is_read(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "iso8859-1")
    result = project.run("list", "--format", "json")
    assert (result.code, result.codes) == (2, ["usage"])


def test_names_are_never_read_by_another_encoding(project: Project) -> None:
    environ = {**os.environ, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    done = subprocess.run(
        (sys.executable, "-m", "skillsync", "lock"),
        cwd=project.root,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "error[usage]: this system's file names are taken for ascii here" in done.stderr
    assert "PYTHONUTF8=1" in done.stderr


def test_an_interrupt_while_it_starts_ends_without_a_traceback(project: Project) -> None:
    """The signal comes while the command line's own module is loaded."""
    (project.root / "argparse.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        (sys.executable, "-m", "skillsync", "list"), cwd=project.root, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_what_a_repository_calls_its_directory_is_escaped_while_waiting(project: Project) -> None:
    named = ".agents/\u202eskills"
    project.done("lock")
    project.manifest(f'targets = ["{named}"]\n')
    (project.root / named).mkdir(parents=True)
    fd = os.open(project.root / named, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    with subprocess.Popen(
        (*projects.command(), "sync"), cwd=project.root, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        os.close(fd)
        process.communicate(timeout=30)
    assert said == "waiting for another skillsync in .agents/\\u202eskills\n"


def test_an_interrupt_has_its_json(project: Project) -> None:
    with waiting(project, "--format", "json") as (process, _):
        process.send_signal(signal.SIGINT)
        out, _err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert json.loads(out) == {"version": 1, "changes": [], "problems": []}


@pytest.mark.parametrize("arguments", [("list",), ("verify", "--format=json"), ("lock",)])
def test_an_interrupt_at_any_time_is_130(
    project: Project, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    project.done("lock")

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    before = project.tree
    monkeypatch.setattr("skillsync.commands.survey.read_environments", stop)
    assert project.run(*arguments).code == 130
    monkeypatch.undo()
    monkeypatch.setattr("builtins.print", stop)
    assert project.run(*arguments).code == 130
    assert project.tree == before


# What the system refuses


def powerless() -> tuple[str, ...]:
    """Return what makes a program obey permissions, even if root runs it."""
    if os.geteuid() != 0:
        return ()
    tools.need("setpriv")
    return ("setpriv", "--bounding-set=-all", "--inh-caps=-all")


@pytest.mark.parametrize(
    ("path", "mode", "arguments", "code", "said"),
    [
        (".", 0o500, ("lock",), 4, "error[io]: "),
        (".agents/skills", 0o500, ("sync",), 4, "error[io]: "),
        (".agents", 0o000, ("verify",), 4, "error[io]: "),
        (".agents/skills/one/SKILL.md", 0o000, ("verify",), 4, "error[io]: "),
        (LOCK, 0o000, ("lock",), 2, f"error[lock-unreadable]: {LOCK} can't be used: permission denied"),
        (projects.REGISTRY, 0o000, ("sync",), 2, "error[registry-unreadable]: "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_refusal_of_the_system_is_said_in_its_words(  # noqa: PLR0913, PLR0917  # one row of a table
    tmp_path: Path, path: str, mode: int, arguments: tuple[str, ...], code: int, said: str
) -> None:
    project = Project(tmp_path / "app").gem("a", "1.0.0", "one").manifest("version = 1\n")
    project.done("lock")
    project.done("sync")
    project.gem("b", "1.0.0", "two")
    if arguments == ("sync",):
        project.done("lock")
    before = project.tree
    place = project.root / path
    usual = place.stat().st_mode
    place.chmod(mode)
    try:
        result = subprocess.run(
            (*powerless(), *projects.command(), *arguments, "--project", str(project.root)),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        place.chmod(usual)
    assert (result.returncode, result.stdout) == (code, "")
    assert result.stderr.startswith(said)
    assert "hint: " in result.stderr
    assert {name: entry[2] for name, entry in project.tree.items()} == {
        name: entry[2] for name, entry in before.items()
    }


def test_a_package_that_may_not_be_read_is_said_and_hides_no_other(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("a", "1.0.0", "one").gem("b", "1.0.0", "two")
    place = project.gem_root("a") / "skills"
    place.chmod(0)
    try:
        result = subprocess.run(
            (*powerless(), *projects.command(), "list", "--format", "json", "--project", str(project.root)),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        place.chmod(0o755)
    report = json.loads(result.stdout)
    assert result.returncode == 4
    assert [provider["name"] for provider in report["providers"]] == ["b"]
    assert [problem["provider"] for problem in report["problems"]] == ["gem:a"]


def test_the_streams_of_a_program_that_calls_it_stay_as_they_are(project: Project) -> None:
    # Not a text file as Python opens one: nothing of it may be relied on but `write`.
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.chdir(project.root):
        assert command_line.main(["list", "--quiet"]) == 0
        assert sys.stdout is out
