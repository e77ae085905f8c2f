"""The journal: what a run is about to change, so that the next one can tell that run's work from anybody else's.

Invariants: pure; written before the first swap, removed after all is done; it is text from a directory that comes with
a repository, so it gives no right to what the registry or the directory's own number doesn't prove.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from skillsync.schema import InvalidError, MalformedError, Table, decode, hash_fault, name_fault, size_fault
from skillsync.syncing import registry
from skillsync.values import Value, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillsync.syncing.registry import Registry

FILE_NAME = "journal"
LIMIT = 6 * 1024 * 1024  # bytes that are read; of 1,000 skills there are 380 KiB: the registry is in it, escaped
_MOST_MARKS = 400_000  # a step has seven
# The staging directory, and what its entries are named after: what comes, and what was moved aside.
STAGING = ".skillsync"
NEW = "new-"
OLD = "old-"
VERSION = 1


class Step(Value):
    """One skill that changes: the hash that was there and the one that comes, None for nothing.

    `inode` is the number of the staged directory, `old_inode` that of what goes, 0 for nothing: it stays with the
    directory when it is renamed, and nobody can know it in advance. `link` is the text of the link that comes in a
    directory's place, None where a directory comes.
    """

    skill: str
    old: str | None
    new: str | None
    inode: int
    old_inode: int = 0
    link: str | None = None


class Journal(Value):
    """The steps of one run, and the registry as it is when all are done."""

    steps: tuple[Step, ...]
    registry: Registry


class Ownership(Enum):
    """What the registry that is there now says of a skill."""

    OWNED = "owned"
    NOT_OWNED = "not owned"
    UNKNOWN = "unknown"  # there is no registry


class Found(Value):
    """What the next run sees of one step.

    `here` is the hash of the skill's directory, None where there is none or it has none; `inode` its number, 0 for what
    is no directory. The link that the step speaks of has its own number, and the hash that comes. `aside` tells whether
    the old one lies in the staging directory, `is_proven` whether it is the very one that the journal speaks of.
    `is_recorded` tells whether the run had replaced the registry: then it was done.
    """

    here: str | None
    is_there: bool
    inode: int
    aside: bool
    ownership: Ownership
    is_proven: bool = True
    is_recorded: bool = False


class Settlement(Enum):
    """What becomes of one step of an interrupted run."""

    RESTORE = "restore"  # bring the old one back
    ADOPT = "adopt"  # the new directory is in its place: record it
    KEEP = "keep"  # a directory of skillsync's is there, recorded or changed since
    LEAVE = "leave"  # nothing is there, or nothing that can be told from a person's work


def settle(step: Step, found: Found) -> Settlement:
    """Return what becomes of a step: done if its new directory is in place, else undone.

    What the registry doesn't own is never brought back; but a registry that was lost meanwhile tells nothing, and a
    skill must not be lost with it. Where a run was done, what it replaced is of no use to anybody.
    """
    if not found.is_there:
        lost = found.ownership is Ownership.UNKNOWN and found.is_proven
        may_be_ours = found.ownership is Ownership.OWNED or lost
        return Settlement.RESTORE if found.aside and may_be_ours and not found.is_recorded else Settlement.LEAVE
    if step.new is not None and found.inode == step.inode:
        return Settlement.ADOPT if found.here == step.new else Settlement.KEEP
    return Settlement.KEEP if found.ownership is Ownership.OWNED else Settlement.LEAVE


def parse(content: bytes) -> Journal:
    """Read a journal's bytes. Raises MalformedError, InvalidError, or NewerError for a format of the future."""
    import json

    if reason := fault(content):
        raise MalformedError(f"it is {reason}")
    try:
        data = json.loads(decode(content))
    except (ValueError, RecursionError):
        raise MalformedError("it is not JSON") from None
    if not isinstance(data, dict):
        raise MalformedError("it is not an object")
    table = Table(data)
    table.version(VERSION)
    table.only(("version", "steps", "registry"))
    steps: dict[str, Step] = {}
    for entry in table.tables("steps"):
        step = _step(entry)
        if step.skill in steps:
            # Each further one would be a further guess at a directory's number.
            raise InvalidError(entry.key("skill"), "is there twice")
        steps[step.skill] = step
    return Journal(
        steps=tuple(steps.values()),
        registry=registry.parse(table.text("registry").encode("utf-8", "replace")),
    )


def _step(entry: Table) -> Step:
    entry.only(("skill", "old", "new", "inode", "old_inode", "link"))
    skill = entry.text("skill")
    if fault := name_fault(skill):
        raise InvalidError(entry.key("skill"), fault)
    return Step(
        skill=skill,
        old=_hash(entry, "old"),
        new=_hash(entry, "new"),
        inode=_number(entry, "inode"),
        old_inode=_number(entry, "old_inode"),
        link=None if entry.data.get("link") is None else entry.text("link"),
    )


def _number(entry: Table, name: str) -> int:
    number = entry.data.get(name)
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidError(entry.key(name), "must be a number")
    return number


def _hash(entry: Table, name: str) -> str | None:
    if entry.data.get(name) is None:
        return None
    text = entry.text(name)
    if fault := hash_fault(text):
        raise InvalidError(entry.key(name), fault)
    return text


def fault(content: bytes) -> str | None:
    """Return why a journal could not be read again, None if it can."""
    crowded = sum(map(content.count, (b",", b"[", b"{"))) > _MOST_MARKS
    return f"made of more than {_MOST_MARKS} values" if crowded else size_fault(content, LIMIT)


def dump(steps: Iterable[Step], to_come: bytes) -> bytes:
    """Return a journal's bytes; `to_come` are those of the registry."""
    import json

    rows = [fields_of(step) for step in steps]
    return json.dumps({"version": VERSION, "steps": rows, "registry": to_come.decode()}).encode()
