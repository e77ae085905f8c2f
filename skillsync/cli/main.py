"""The command line: arguments to a command, its report to text or JSON, and the exit code.

Invariants: the one place that prints and the one that catches; a command's modules are imported when it runs; nothing
that a user, a package or a disk can do ends in a traceback.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import nullcontext, suppress
from io import TextIOWrapper
from itertools import pairwise
from typing import TYPE_CHECKING

from skillsync.cli import arguments
from skillsync.cli.arguments import FORMS
from skillsync.errors import Code, ExitCode, Problem, SkillsyncError, UnreadableError, exit_code

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from skillsync.commands.project import Project
    from skillsync.rendering.report import Report
    from skillsync.track import Track


def _help(options: Namespace) -> str:
    from skillsync.cli.help import schema, text

    if options.schema is not None:
        return schema(options.schema)
    commands = {name: arguments.command(name) for name in arguments.COMMANDS}
    if options.man:
        from skillsync.cli.manual import page

        return page(arguments.program(), commands)
    return arguments.program().format_help() if options.topic is None else text(options.topic, commands)


def _completion(options: Namespace) -> str:
    from skillsync.cli.completion import names, script

    if options.names is not None:
        return names(*options.names)
    return script(options.shell, {name: arguments.command(name) for name in arguments.COMMANDS})


def _init(_options: Namespace, project: Project) -> Report:
    from skillsync.cli.init import run

    return run(project)


def _allow(options: Namespace, project: Project) -> Report:
    from skillsync.cli.allow import Wish, run

    providers, skills = tuple(options.providers), tuple(options.skill)
    return run(project, Wish(allow=True, providers=providers, skills=skills, requirement=options.requirement))


def _deny(options: Namespace, project: Project) -> Report:
    from skillsync.cli.allow import Wish, run

    return run(project, Wish(allow=False, providers=tuple(options.providers), skills=tuple(options.skill)))


def _list(options: Namespace, project: Project) -> Report:
    from skillsync.cli.list import run
    from skillsync.rendering.terminal import width

    return run(project, verify=options.verify, width=width(sys.stdout))


def _show(options: Namespace, project: Project) -> Report:
    from skillsync.cli.show import run

    return run(project, options.name)


def _lock(options: Namespace, project: Project) -> Report:
    from skillsync.cli.lock import run

    return run(project, check=options.check, strict=options.strict, only=tuple(options.only))


def _diff(options: Namespace, project: Project) -> Report:
    from skillsync.cli.diff import Form, Page, run

    if options.html is not None:
        if options.format == "markdown" or (options.format == "json" and options.html == "-"):
            message = f"--html {options.html} and --format {options.format} are two reports, and a run makes one"
            raise SkillsyncError(Problem(code=Code.USAGE, message=message, hint="leave out one of them"))
        return run(project, options.skills, installed=options.installed, form=Page(options.html))
    form = Form.MARKDOWN if options.format == "markdown" else Form.STAT if options.stat else Form.UNIFIED
    return run(project, options.skills, installed=options.installed, form=form)


def _sync(options: Namespace, project: Project) -> Report:
    from skillsync.cli.sync import run
    from skillsync.commands.sync import Mode

    mode = Mode.DRY_RUN if options.dry_run else Mode.CHECK if options.check else Mode.APPLY
    busy = _refuse_to_wait if options.no_wait else _wait
    return run(project, mode=mode, force=options.force, busy=busy)


def _verify(options: Namespace, project: Project) -> Report:
    from skillsync.cli.verify import run
    from skillsync.commands.verify import Scope

    return run(project, scope=Scope(options.scope))


def _check(options: Namespace, project: Project) -> Report:
    from skillsync.cli.check import run

    return run(project, tuple(dict.fromkeys(options.paths)), build=options.build, fix=options.fix)


# What tells of the program itself has no project and no report.
_TELLS: dict[str, Callable[[Namespace], str]] = {"help": _help, "completion": _completion}
_RUNS: dict[str, Callable[[Namespace, Project], Report]] = {
    "init": _init,
    "list": _list,
    "show": _show,
    "allow": _allow,
    "deny": _deny,
    "lock": _lock,
    "diff": _diff,
    "sync": _sync,
    "verify": _verify,
    "check": _check,
}


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
    form = next((one for one in FORMS if f"--format={one}" in given or ("--format", one) in pairwise(given)), "text")
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
        options = arguments.parse(given)
        if options.command in _TELLS:
            print(_TELLS[options.command](options), end="")
            return ExitCode.DONE
    except SkillsyncError as error:
        return _print_problems(error.problems, None, form)
    finally:
        _flush()  # of help, which the parser prints: Python would complain at the end
    command, root = options.command, None
    try:
        _check_encoding()
        _load(form)
        from skillsync.commands.project import find_project
        from skillsync.values import replace

        project = find_project(options.project, python=options.python, outside=options.allow_outside)
        root = project.root
        with _progress(options) as track:
            found = _RUNS[options.command](options, replace(project, track=track))
    except SkillsyncError as error:
        return _print_problems(error.problems, command, form, root)
    except KeyboardInterrupt:
        if form in FORMS:
            _print_problems((), command, form, root)
        _say("interrupted; nothing is half written: run it again")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        raise
    except (MemoryError, RecursionError, OSError, UnreadableError) as error:
        return _print_problems((_system_problem(error, root),), command, form, root)
    _print(found, form, root, quiet=options.quiet, verbose=options.verbose)
    return found.exit_code


def _progress(options: Namespace) -> AbstractContextManager[Track]:
    """Tell who waits at a terminal how far the command is."""
    from skillsync.rendering import progress
    from skillsync.track import untracked

    if options.format in FORMS or options.quiet or not progress.is_wanted(sys.stderr, os.environ):
        return nullcontext(untracked)
    return progress.shown(options.command, sys.stderr)


def _check_encoding() -> None:
    """Refuse to read file names by another encoding: what is hashed must not depend on who runs the command."""
    encoding = sys.getfilesystemencoding()
    if encoding != "utf-8":
        message = f"this system's file names are taken for {encoding} here, and skillsync reads UTF-8"
        raise SkillsyncError(Problem(code=Code.USAGE, message=message, hint="set PYTHONUTF8=1, or a UTF-8 locale"))


def _load(form: str) -> None:
    """Load what a report is printed by while there is memory: it is to say so where there is none left."""
    from importlib import import_module

    import_module("skillsync.rendering.terminal")
    import_module("json" if form == "json" else f"skillsync.rendering.{'report' if form == 'text' else form}")


def _rendered(found: Report, form: str, root: str | None) -> str:
    """Return a report in one of the forms that programs read; of those for CI, paths are the repository's."""
    if form == "json":
        from skillsync.rendering.report import to_json

        return to_json(found)
    from importlib import import_module

    from skillsync.commands.project import in_repository

    render: Callable[[Report, str], str] = import_module(f"skillsync.rendering.{form}").render
    return render(found, in_repository(root) if root else "")


def _print(found: Report, form: str, root: str | None, *, quiet: bool, verbose: bool) -> None:
    from skillsync.rendering import report, terminal

    if form in FORMS:
        if text := _rendered(found, form, root):
            print(text)
        _flush()
        return
    lines = [*(() if quiet else found.lines), *found.findings, *(found.details if verbose else ())]
    if found.palette and terminal.has_colour(sys.stdout, os.environ):
        lines = [terminal.painted(line, found.palette) for line in lines]
    if lines and not (found.is_long and terminal.paged(lines, os.environ)):
        print("\n".join(lines))  # at once: a first sync of many skills has thousands
    _flush()
    in_colour = bool(found.problems) and terminal.has_colour(sys.stderr, os.environ)
    for problem in found.problems:
        for line in report.problem_lines(problem):
            _say(terminal.painted(line, report.PROBLEMS) if in_colour else line)


def _print_problems(problems: tuple[Problem, ...], command: str | None, form: str, root: str | None = None) -> int:
    from skillsync.rendering.report import NOTHING, Report

    data = NOTHING[command] if command else {}
    found = Report(data=data, problems=problems, command=command or "verify")
    _print(found, form, root, quiet=False, verbose=False)
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
