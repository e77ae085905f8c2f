"""The arguments of each command, which its --help, the man page and the completion are made from.

Invariants: nothing is done here; what is wrong with the arguments goes the way of all other problems.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from skillsync import NAME_AND_VERSION
from skillsync.cli.examples import TOPICS, epilog
from skillsync.errors import Code, Problem, SkillsyncError, did_you_mean
from skillsync.schema import suggestion
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from _typeshed import SupportsWrite

# What programs read: each is the whole of what is printed.
FORMS = ("json", "github", "sarif", "junit")

_EPILOG = f"""\
exit codes: 0 done, in sync; 1 drift or differences; 2 wrong usage, or a manifest, lock or registry that can't be read;
3 refused, nothing was changed; 4 the system failed; 130 interrupted

`skillsync help TOPIC` says more: {", ".join(TOPICS)}
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors go the way of all others."""

    def __init__(self, prog: str, description: str, epilog: str, **more: Any) -> None:  # noqa: ANN401  # argparse's own
        # How wide the terminal is, it asks for when it shows help: each argument would ask for it, by an import.
        plain = partial(argparse.RawDescriptionHelpFormatter, width=80)
        super().__init__(
            prog=prog, description=description, epilog=epilog, formatter_class=plain, allow_abbrev=False, **more
        )

    def format_help(self) -> str:
        self.formatter_class = argparse.RawDescriptionHelpFormatter
        return super().format_help()

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        # argparse says nothing where help or the version can't be written.
        if stream := file or sys.stderr:
            stream.write(message)

    def error(self, message: str) -> NoReturn:
        raise SkillsyncError(Problem(code=Code.USAGE, message=message, hint=f"see `{self.prog} --help`"))


def parse(given: Sequence[str]) -> argparse.Namespace:
    """Return what the arguments say: `command`, and its options. Raises SkillsyncError; exits where help was asked for.

    Of the commands only the one that was asked for gets its arguments: making all takes as long as a small `verify`.
    """
    if given and given[0] in COMMANDS:
        return command(given[0]).parse_args(given[1:])
    if given and not given[0].startswith("-"):
        near = suggestion(given[0], COMMANDS)
        hint = (near and did_you_mean([near])) or "see `skillsync --help`"
        raise SkillsyncError(Problem(code=Code.USAGE, message=f"there is no command `{given[0]}`", hint=hint))
    return program().parse_args(given)


def program() -> argparse.ArgumentParser:
    """Return the parser of `skillsync` itself, which knows the commands by name alone."""
    parser = _Parser("skillsync", "A lockfile for agent skills that come inside packages.", _EPILOG)
    parser.add_argument("--version", action="version", version=NAME_AND_VERSION)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, one in COMMANDS.items():
        commands.add_parser(name, help=one.text, description="", epilog="")
    return parser


def command(name: str) -> argparse.ArgumentParser:
    """Return the parser of one command."""
    text, add = COMMANDS[name].text, COMMANDS[name].add
    parser = _Parser(f"skillsync {name}", f"{text[0].upper()}{text[1:]}.", epilog(name))
    parser.set_defaults(command=name)
    add(parser)
    return parser


class _Command(Value, kw_only=False):
    """A command: what it does, and what adds its arguments."""

    text: str
    add: Callable[[argparse.ArgumentParser], None]


def _init(parser: argparse.ArgumentParser) -> None:
    _common(parser)


def _list(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    text = "read and hash every skill, to find the modified and unsafe ones"
    parser.add_argument("--verify", action="store_true", help=text)
    _outside(parser)


def _show(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    parser.add_argument("name", metavar="SKILL|PROVIDER")
    _outside(parser)


def _allow(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    parser.add_argument("--version", metavar="SPEC", dest="requirement", help="admit these versions of it alone")
    _providers(parser)


def _deny(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    _providers(parser)


def _lock(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the lock is out of date")
    text = "leave all others as they are locked"
    parser.add_argument("--only", nargs="+", action="extend", default=[], metavar="PROVIDER", help=text)
    parser.add_argument("--strict", action="store_true", help="let every warning stop it, as an error does")
    _outside(parser)


def _diff(parser: argparse.ArgumentParser) -> None:
    _common(parser, formats=("text", "json", "markdown"))
    parser.add_argument("skills", metavar="SKILL", nargs="*", help="show these alone (default: all that differ)")
    parser.add_argument("--installed", action="store_true", help="compare the lock with the target directories")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--stat", action="store_true", help="show how much of each file differs, and not what")
    shape.add_argument("--html", metavar="FILE", help="write a page for a browser; - is standard output")
    _outside(parser)


def _sync(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--dry-run", action="store_true", help="show what would be done, and do nothing")
    mode.add_argument("--check", action="store_true", help="do nothing; exit 1 if there is something to do")
    parser.add_argument("--force", action="store_true", help="discard local changes to skills that skillsync installed")
    parser.add_argument("--no-wait", action="store_true", help="stop if another run holds a target directory (exit 4)")
    _outside(parser)


def _verify(parser: argparse.ArgumentParser) -> None:
    _common(parser, formats=("text", *FORMS))
    parser.add_argument(
        "--scope",
        choices=("all", "installed", "providers"),
        default="all",
        help="compare the lock with the target directories (installed; needs no packages), "
        "with manifest and packages (providers), or both (all, the default)",
    )
    _outside(parser)


def _check(parser: argparse.ArgumentParser) -> None:
    # It is about no project: what it reads is named.
    parser.set_defaults(project=".", python=None, allow_outside=False)
    _reporting(parser, formats=("text", *FORMS))
    text = "a source tree, or a built .gem, .whl, sdist (.tar.gz) or npm .tgz"
    parser.add_argument("paths", metavar="PATH", nargs="+", help=text)
    text = "mend what is mechanical in the trees: quotes, line ends, executable bits; shows the diff"
    parser.add_argument("--fix", action="store_true", help=text)
    text = "build the trees first: runs their own builds, by gem, uv or python -m build, and npm"
    parser.add_argument("--build", action="store_true", help=text)


def _help(parser: argparse.ArgumentParser) -> None:
    about = parser.add_mutually_exclusive_group()
    text = f"a command, or {', '.join(TOPICS)} (default: all commands)"
    about.add_argument("topic", metavar="TOPIC", nargs="?", help=text)
    about.add_argument("--man", action="store_true", help="print all of it as a man page")
    text = "print the JSON Schema of agent-skills.toml or agent-skills.lock, for an editor"
    about.add_argument("--schema", choices=("manifest", "lock"), help=text)


def _completion(parser: argparse.ArgumentParser) -> None:
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("shell", nargs="?", choices=("bash", "zsh", "fish"), help="the shell that it is for")
    # What the scripts ask for: a kind of names, and the words that were typed.
    wanted.add_argument("--names", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def _common(parser: argparse.ArgumentParser, formats: tuple[str, ...] = ("text", "json")) -> None:
    """Add what every command has that is about a project."""
    parser.set_defaults(allow_outside=False)
    parser.add_argument("--project", metavar="DIR", help="the project's root (default: found from here upward)")
    parser.add_argument("--python", metavar="PATH", help="the Python environment to read, or an interpreter in one")
    _reporting(parser, formats)


def _reporting(parser: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    """Add what every command has that reports."""
    parser.add_argument("--format", choices=formats, default="text", help="how to report (default: text)")
    volume = parser.add_mutually_exclusive_group()
    volume.add_argument("--quiet", action="store_true", help="print findings and problems alone")
    volume.add_argument("--verbose", action="store_true", help="print also what was passed over, and why")


def _providers(parser: argparse.ArgumentParser) -> None:
    named = "gem:NAME, pypi:NAME, npm:NAME, a pattern, or a plain name"
    parser.add_argument("providers", nargs="+", metavar="PROVIDER", help=named)
    alone = "this skill of it alone (may be given again)"
    parser.add_argument("--skill", action="append", default=[], metavar="SKILL", help=alone)


def _outside(parser: argparse.ArgumentParser) -> None:
    text = "allow a target directory outside the project, through a link"
    parser.add_argument("--allow-outside", action="store_true", help=text)


COMMANDS = {
    "init": _Command("write a manifest from what is installed", _init),
    "list": _Command("show providers, skills and their state", _list),
    "show": _Command("show one skill, or all of one provider: state, files, text, and why", _show),
    "allow": _Command("let a provider's skills in: change agent-skills.toml", _allow),
    "deny": _Command("keep a provider's skills out: change agent-skills.toml", _deny),
    "lock": _Command("pin what is installed and admitted in agent-skills.lock", _lock),
    "diff": _Command("show what lock would change, or sync, as text", _diff),
    "sync": _Command("bring the target directories to the lock", _sync),
    "verify": _Command("find every difference between lock, disk and packages; write nothing", _verify),
    "check": _Command("find what keeps consumers from the skills of a package that you make", _check),
    "help": _Command("show a command's --help, or a topic's text", _help),
    "completion": _Command("print a script by which a shell completes skillsync", _completion),
}
