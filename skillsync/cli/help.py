"""`skillsync help`: a command's --help, a topic's text, or the schema of a file that people and tools read.

Invariants: reads nothing but the program's own texts, and needs no project.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from skillsync.cli.examples import TOPICS
from skillsync.errors import Code, Problem, SkillsyncError, did_you_mean
from skillsync.schema import suggestion

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


def topic(name: str) -> str:
    """Return a topic's text."""
    return files("skillsync.cli").joinpath("topics", f"{name}.txt").read_text(encoding="utf-8")


def schema(name: str) -> str:
    """Return the JSON Schema of the manifest or the lock."""
    return files("skillsync").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")


def text(name: str, commands: Mapping[str, argparse.ArgumentParser]) -> str:
    """Return the help on a command or a topic, on both where both have the name. Raises SkillsyncError for neither."""
    if name not in commands and name not in TOPICS:
        known = sorted({*commands, *TOPICS})
        nearest = suggestion(name.lower(), known)
        hint = did_you_mean(("help", nearest)) if nearest else f"it knows: {', '.join(known)}"
        raise SkillsyncError(Problem(code=Code.USAGE, message=f"there is no help on `{name}`", hint=hint))
    found = [commands[name].format_help()] if name in commands else []
    return "\n".join([*found, topic(name)] if name in TOPICS else found)
