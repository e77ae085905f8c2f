"""The command line: arguments to a command, its report to text or JSON, and the exit code.

Invariants: the one place that prints and the one that catches; a command's modules are imported when it runs; nothing
that a user, a package or a disk can do ends in a traceback.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import nullcontext, suppress
from io import TextIOWrapper
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

from skillsync import __version__
from skillsync.cli.examples import TOPICS, epilog
from skillsync.errors import Code, ExitCode, Problem, SkillsyncError, UnreadableError, exit_code

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from skillsync.cli.project import Project
    from skillsync.rendering.report import Report
    from skillsync.track import Track

# What programs read: each is the whole of what is printed.
_FORMS = ("json", "github", "sarif", "junit")

_EPILOG = f"""\
exit codes: 0 done, in sync; 1 drift or differences; 2 wrong usage, or a manifest, lock or registry that can't be read;
3 refused, nothing was changed; 4 the system failed; 130 interrupted

`skillsync help TOPIC` says more: {", ".join(TOPICS)}
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors go the way of all others."""

    def error(self, message: str) -> NoReturn:
        raise SkillsyncError(Problem(code=Code.USAGE, message=message, hint=f"see `{self.prog} --help`"))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="skillsync",
        description="A lockfile for agent skills that come inside packages.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"skillsync {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add(commands, "init", _init, "write a manifest from what is installed")
    listing = _add(commands, "list", _list, "show providers, skills and their state")
    listing.add_argument(
        "--verify", action="store_true", help="read and hash every skill, to find the modified and unsafe ones"
    )
    show = _add(commands, "show", _show, "show one skill, or all of one provider: state, files, text, and why")
    show.add_argument("name", metavar="SKILL|PROVIDER")
    allow = _add(commands, "allow", _allow, "let a provider's skills in: change agent-skills.toml")
    allow.add_argument("--version", metavar="SPEC", dest="requirement", help="admit these versions of it alone")
    deny = _add(commands, "deny", _deny, "keep a provider's skills out: change agent-skills.toml")
    for command in (allow, deny):
        command.add_argument(
            "providers", nargs="+", metavar="PROVIDER", help="gem:NAME, pypi:NAME, npm:NAME, a pattern, or a plain name"
        )
        command.add_argument(
            "--skill", action="append", default=[], metavar="SKILL", help="this skill of it alone (may be given again)"
        )
    lock = _add(commands, "lock", _lock, "pin what is installed and admitted in agent-skills.lock")
    lock.add_argument("--check", action="store_true", help="write nothing; exit 1 if the lock is out of date")
    lock.add_argument(
        "--only", nargs="+", action="extend", default=[], metavar="PROVIDER", help="leave all others as they are locked"
    )
    lock.add_argument("--strict", action="store_true", help="let every warning stop it, as an error does")
    diff = _add(
        commands, "diff", _diff, "show what lock would change, or sync, as text", formats=("text", "json", "markdown")
    )
    diff.add_argument("skills", metavar="SKILL", nargs="*", help="show these alone (default: all that differ)")
    diff.add_argument("--installed", action="store_true", help="compare the lock with the target directories")
    shape = diff.add_mutually_exclusive_group()
    shape.add_argument("--stat", action="store_true", help="show how much of each file differs, and not what")
    shape.add_argument("--html", metavar="FILE", help="write a page for a browser; - is standard output")
    sync = _add(commands, "sync", _sync, "bring the target directories to the lock")
    mode = sync.add_mutually_exclusive_group()
    mode.add_argument("--dry-run", action="store_true", help="show what would be done, and do nothing")
    mode.add_argument("--check", action="store_true", help="do nothing; exit 1 if there is something to do")
    sync.add_argument("--force", action="store_true", help="discard local changes to skills that skillsync installed")
    sync.add_argument("--no-wait", action="store_true", help="stop if another run holds a target directory (exit 4)")
    verify = _add(
        commands,
        "verify",
        _verify,
        "find every difference between lock, disk and packages; write nothing",
        formats=("text", *_FORMS),
    )
    verify.add_argument(
        "--scope",
        choices=("all", "installed", "providers"),
        default="all",
        help="compare the lock with the target directories (installed; needs no packages), "
        "with manifest and packages (providers), or both (all, the default)",
    )
    for command in (listing, show, lock, diff, sync, verify):
        command.add_argument(
            "--allow-outside", action="store_true", help="allow a target directory outside the project, through a link"
        )
    help_ = _add_telling(commands, "help", _help, "show a command's --help, or a topic's text")
    about = help_.add_mutually_exclusive_group()
    about.add_argument(
        "topic", metavar="TOPIC", nargs="?", help=f"a command, or {', '.join(TOPICS)} (default: all commands)"
    )
    about.add_argument("--man", action="store_true", help="print all of it as a man page")
    completion = _add_telling(
        commands, "completion", _completion, "print a script by which a shell completes skillsync"
    )
    wanted = completion.add_mutually_exclusive_group(required=True)
    wanted.add_argument("shell", nargs="?", choices=("bash", "zsh", "fish"), help="the shell that it is for")
    # What the scripts ask for: a kind of names, and the words that were typed.
    wanted.add_argument("--names", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return each command's parser by its name."""
    return next(dict(one.choices) for one in parser._actions if isinstance(one, argparse._SubParsersAction))  # noqa: SLF001


def _add(
    commands: argparse._SubParsersAction[_Parser],
    name: str,
    run: Callable[[argparse.Namespace, Project], Report],
    text: str,
    *,
    formats: tuple[str, ...] = ("text", "json"),
) -> _Parser:
    command = _new(commands, name, text)
    command.set_defaults(run=run, command=name, allow_outside=False)
    command.add_argument("--project", metavar="DIR", help="the project's root (default: found from here upward)")
    command.add_argument("--python", metavar="PATH", help="the Python environment to read, or an interpreter in one")
    command.add_argument("--format", choices=formats, default="text", help="how to report (default: text)")
    volume = command.add_mutually_exclusive_group()
    volume.add_argument("--quiet", action="store_true", help="print findings and problems alone")
    volume.add_argument("--verbose", action="store_true", help="print also what was passed over, and why")
    return command


def _add_telling(
    commands: argparse._SubParsersAction[_Parser], name: str, tell: Callable[[argparse.Namespace], str], text: str
) -> _Parser:
    """Add a command that tells of the program itself: it has no project and no report."""
    command = _new(commands, name, text)
    command.set_defaults(tell=tell)
    return command


def _new(commands: argparse._SubParsersAction[_Parser], name: str, text: str) -> _Parser:
    return commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=epilog(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _help(options: argparse.Namespace) -> str:
    from skillsync.cli.help import text

    parser = _parser()
    if options.man:
        from skillsync.cli.manual import page

        return page(parser, _subparsers(parser))
    return parser.format_help() if options.topic is None else text(options.topic, _subparsers(parser))


def _completion(options: argparse.Namespace) -> str:
    from skillsync.cli.completion import names, script

    if options.names is not None:
        return names(*options.names)
    parser = _parser()
    return script(options.shell, _subparsers(parser))


def _init(_options: argparse.Namespace, project: Project) -> Report:
    from skillsync.cli.init import run

    return run(project)


def _allow(options: argparse.Namespace, project: Project) -> Report:
    from skillsync.cli.allow import Wish, run

    providers, skills = tuple(options.providers), tuple(options.skill)
    return run(project, Wish(allow=True, providers=providers, skills=skills, requirement=options.requirement))


def _deny(options: argparse.Namespace, project: Project) -> Report:
    from skillsync.cli.allow import Wish, run

    return run(project, Wish(allow=False, providers=tuple(options.providers), skills=tuple(options.skill)))


def _list(options: argparse.Namespace, project: Project) -> Report:
    from skillsync.cli.list import run
    from skillsync.rendering.terminal import width

    return run(project, verify=options.verify, width=width(sys.stdout))


def _show(options: argparse.Namespace, project: Project) -> Report:
    from skillsync.cli.show import run

    return run(project, options.name)


def _lock(options: argparse.Namespace, project: Project) -> Report:
    from skillsync.cli.lock import run

    return run(project, check=options.check, strict=options.strict, only=tuple(options.only))


def _diff(options: argparse.Namespace, project: Project) -> Report:
    from skillsync.cli.diff import Form, Page, run

    if options.html is not None:
        if options.format == "markdown" or (options.format == "json" and options.html == "-"):
            message = f"--html {options.html} and --format {options.format} are two documents in one place"
            raise SkillsyncError(Problem(code=Code.USAGE, message=message, hint="leave out one of them"))
        return run(project, options.skills, installed=options.installed, form=Page(options.html))
    form = Form.MARKDOWN if options.format == "markdown" else Form.STAT if options.stat else Form.UNIFIED
    return run(project, options.skills, installed=options.installed, form=form)


def _sync(options: argparse.Namespace, project: Project) -> Report:
    from skillsync.cli.sync import Mode, run

    mode = Mode.DRY_RUN if options.dry_run else Mode.CHECK if options.check else Mode.APPLY
    busy = _refuse_to_wait if options.no_wait else _wait
    return run(project, mode=mode, force=options.force, busy=busy)


def _verify(options: argparse.Namespace, project: Project) -> Report:
    from skillsync.cli.verify import Scope, run

    return run(project, scope=Scope(options.scope))


def _wait(target: str) -> None:
    from skillsync.rendering import progress
    from skillsync.rendering.report import printable

    erased = progress.ERASE if progress.is_wanted(sys.stderr, os.environ) else ""
    _say(erased + printable(f"waiting for another skillsync in {target}"))


def _refuse_to_wait(target: str) -> None:
    message = f"another skillsync is at work in {target}"
    raise SkillsyncError(Problem(code=Code.BUSY, message=message, hint="run it again without --no-wait", path=target))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a character gets its number, never a traceback.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        # What a CI system or a closed terminal sends is rolled back as Ctrl-C is; nohup's wish is left alone.
        if signal.getsignal(signal.Signals[name]) is signal.SIG_DFL:
            signal.signal(signal.Signals[name], signal.default_int_handler)
    given = sys.argv[1:] if arguments is None else list(arguments)
    # Asked for before the arguments are parsed: a usage error is reported in that form too.
    form = next((one for one in _FORMS if f"--format={one}" in given or ("--format", one) in pairwise(given)), "text")
    try:
        return _run(given, form)
    except KeyboardInterrupt:
        # While it was printed: the command itself was done.
        return ExitCode.INTERRUPTED
    except OSError as error:
        # Only what prints is left to raise it. A reader that has gone doesn't want to know.
        if not isinstance(error, BrokenPipeError):
            with suppress(OSError):
                _say(f"error[{Code.IO.value}]: standard output can't be written: {error.strerror}")
        _silence()
        return ExitCode.SYSTEM


def _silence() -> None:
    """Let what is still to be written go nowhere: Python would complain once more at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            os.dup2(nowhere, stream.fileno())


def _flush() -> None:
    if sys.stdout is not None:  # None where the caller has closed it
        sys.stdout.flush()


def _run(given: Sequence[str], form: str) -> int:
    try:
        options = _parser().parse_args(given)
        if "tell" in options:
            print(options.tell(options), end="")
            return ExitCode.DONE
    except SkillsyncError as error:
        return _print_problems(error.problems, None, form)
    finally:
        _flush()  # of help, which the parser prints: Python would complain at the end
    command, root = options.command, None
    try:
        _check_encoding()
        from skillsync.cli.project import Project, find

        root = find(options.project)
        with _progress(options) as track:
            project = Project(root=root, python=options.python, outside=options.allow_outside, track=track)
            found: Report = options.run(options, project)
    except SkillsyncError as error:
        return _print_problems(error.problems, command, form, root)
    except KeyboardInterrupt:
        if form in _FORMS:
            _print_problems((), command, form, root)
        _say("interrupted; nothing is half written: run it again")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        raise
    except (MemoryError, RecursionError, OSError, UnreadableError) as error:
        return _print_problems((_system_problem(error, root),), command, form, root)
    _print(found, form, root, quiet=options.quiet, verbose=options.verbose)
    return found.exit_code


def _progress(options: argparse.Namespace) -> AbstractContextManager[Track]:
    """Tell who waits at a terminal how far the command is."""
    from skillsync.rendering import progress
    from skillsync.track import untracked

    if options.format in _FORMS or options.quiet or not progress.is_wanted(sys.stderr, os.environ):
        return nullcontext(untracked)
    return progress.shown(options.command, sys.stderr)


def _check_encoding() -> None:
    """Refuse to read file names by another encoding: what is hashed must not depend on who runs the command."""
    encoding = sys.getfilesystemencoding()
    if encoding != "utf-8":
        message = f"this system's file names are taken for {encoding} here, and skillsync reads UTF-8"
        raise SkillsyncError(Problem(code=Code.USAGE, message=message, hint="set PYTHONUTF8=1, or a UTF-8 locale"))


def _rendered(found: Report, form: str, root: str | None) -> str:
    """Return a report in one of the forms that programs read; of those for CI, paths are the repository's."""
    if form == "json":
        from skillsync.rendering.report import to_json

        return to_json(found)
    from importlib import import_module

    from skillsync.cli.project import in_repository

    render: Callable[[Report, str], str] = import_module(f"skillsync.rendering.{form}").render
    return render(found, in_repository(root) if root else "")


def _print(found: Report, form: str, root: str | None, *, quiet: bool, verbose: bool) -> None:
    from skillsync.rendering import report, terminal

    if form in _FORMS:
        if text := _rendered(found, form, root):
            print(text)
        _flush()
        return
    lines = [*(() if quiet else found.lines), *found.findings, *(found.details if verbose else ())]
    if found.palette and terminal.has_colour(sys.stdout, os.environ):
        lines = [terminal.painted(line, found.palette) for line in lines]
    if not (found.is_long and terminal.paged(lines, os.environ)):
        for line in lines:
            print(line)
    _flush()
    in_colour = bool(found.problems) and terminal.has_colour(sys.stderr, os.environ)
    for problem in found.problems:
        for line in report.problem_lines(problem):
            _say(terminal.painted(line, report.PROBLEMS) if in_colour else line)


def _print_problems(problems: tuple[Problem, ...], command: str | None, form: str, root: str | None = None) -> int:
    from skillsync.rendering.report import NOTHING, Report

    data = NOTHING[command] if command else {}
    _print(Report(data=data, problems=problems), form, root, quiet=False, verbose=False)
    return exit_code(problems)


def _system_problem(error: MemoryError | RecursionError | OSError | UnreadableError, root: str | None) -> Problem:
    """Say what the system refused, and where."""
    if isinstance(error, MemoryError | RecursionError):
        message = "there is not enough memory for this"
        hint = "give it more; if that can't be the cause, report what it was run on"
        return Problem(code=Code.IO, message=message, hint=hint)
    filename = getattr(error, "filename", None)
    name = os.fsdecode(filename) if isinstance(filename, str | bytes) else None
    if name and root and name.startswith(f"{root}/"):
        name = name[len(root) + 1 :]
    reason = getattr(error, "strerror", None) or str(error)
    return Problem(
        code=Code.IO,
        message=f"{name}: {reason}" if name else reason,
        hint="mend that, then run the command again: nothing was changed",
        path=name if name and not name.startswith("/") else None,
    )
