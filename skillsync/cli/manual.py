"""The man page: the parser, the examples and the topics as one page for `man`.

Invariants: the same program gives the same page: no date, no width of a terminal; every text is escaped for roff.
"""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from skillsync import __version__
from skillsync.cli.examples import EXAMPLES, TOPICS
from skillsync.cli.help import topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # which the parser of newer Pythons gives a terminal


def page(parser: argparse.ArgumentParser, commands: Mapping[str, argparse.ArgumentParser]) -> str:
    """Return the page skillsync.1."""
    return "".join(f"{line}\n" for line in _page(parser, commands))


def _page(parser: argparse.ArgumentParser, commands: Mapping[str, argparse.ArgumentParser]) -> Iterator[str]:
    shared = _shared(commands)
    yield f'.TH SKILLSYNC 1 "" "skillsync {_escaped(__version__)}" "User Commands"'
    yield from (".SH NAME", r"skillsync \- a lockfile for agent skills that come inside packages")
    yield from (".SH SYNOPSIS", f".B {_escaped(_usage(parser))}")
    yield from (".SH DESCRIPTION", _escaped("It finds the skills of the installed packages, pins the approved ones in"))
    yield _escaped("agent-skills.lock, brings the target directories to that lock, and finds every difference.")
    yield _escaped("It reads files, and runs no package's code.")
    yield ".SH OPTIONS"
    yield _escaped("All commands that are about a project take these.")
    yield from (line for action in shared.values() for line in _option(action))
    yield ".SH COMMANDS"
    for name, command in commands.items():
        yield from (f".SS {_escaped(name)}", f".B {_escaped(_usage(command))}", ".PP")
        yield _escaped(str(command.description))
        own = [action for action in _shown(command) if _key(action) not in shared]
        yield from (line for action in own for line in _option(action))
        yield from (".PP", "Examples:", *_verbatim(f"{example}\n    # {text}" for example, text in EXAMPLES[name]))
    for name, about in TOPICS.items():
        title = "EXIT STATUS" if name == "exit-codes" else name.upper()
        yield from (f".SH {title}", f"{_escaped(about[0].upper() + about[1:])}.", ".PP")
        # Not indented as the rest is: a line of 80 characters has to fit.
        yield from (".in 0", *_verbatim([topic(name).rstrip("\n")]), ".in")


def _shown(command: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return what --help shows, without itself."""
    return [one for one in command._actions if one.help != argparse.SUPPRESS and "--help" not in one.option_strings]  # noqa: SLF001


def _key(action: argparse.Action) -> tuple[str, ...]:
    return (*action.option_strings, str(action.help))


def _shared(commands: Mapping[str, argparse.ArgumentParser]) -> dict[tuple[str, ...], argparse.Action]:
    """Return the options of all commands that are about a project."""
    found = [{_key(action): action for action in _shown(command)} for command in commands.values()]
    projects = [actions for actions in found if any("--project" in key for key in actions)]
    return {key: action for key, action in projects[0].items() if all(key in actions for actions in projects)}


def _usage(command: argparse.ArgumentParser) -> str:
    return " ".join(_COLOUR.sub("", command.format_usage()).split()).removeprefix("usage: ")


def _option(action: argparse.Action) -> Iterator[str]:
    """Yield an option or an argument, and what it means."""
    value = action.metavar or ("" if action.choices is None else "|".join(action.choices))
    words = [", ".join(action.option_strings), str(value)]
    yield from (".TP", f".B {_escaped(' '.join(word for word in words if word))}", _escaped(action.help or "its name"))


def _verbatim(texts: Iterator[str] | list[str]) -> Iterator[str]:
    yield ".nf"
    yield from (_escaped(line) for text in texts for line in text.split("\n"))
    yield ".fi"


def _escaped(text: str) -> str:
    """Return a line as roff shows it: every hyphen as it is typed, and no line a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped
