"""Differences as text: a unified diff as git writes it, or how much of each file differs.

Invariants: pure; each line of a file has a sign before it, so that none passes for skillsync's own; all is escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.rendering.report import change_line, counted, printable, table
from skillsync.reviewing import lines
from skillsync.reviewing.marks import marks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillsync.errors import Code
    from skillsync.reviewing.difference import FileDifference, SkillDifference, Version

_SIGNS = {"delete": ("-",), "insert": ("+",), "replace": ("-", "+"), "equal": (" ",)}


def unified(skill: SkillDifference) -> Iterator[str]:
    """Yield what a change is made of, line by line."""
    yield change_line(skill.change, target=skill.target or "")
    if skill.refusal:
        yield f"! {refused(skill.refusal)}"
    for mark in marks(skill):
        yield printable(f"! {mark.place} [{mark.words}]")
    for file in skill.files:
        yield from _headed(skill.name, file)


def refused(code: Code) -> str:
    """Say that `sync` alone would not do it."""
    return f"refused as {code.value}: only `skillsync sync --force` does it, and discards what differs"


def _headed(name: str, file: FileDifference) -> Iterator[str]:
    # No line of a file begins like this one: such a line could pass for the next two.
    yield printable(f"diff {name}/{file.path}")
    yield printable(f"--- {f'a/{name}/{file.path}' if file.old else '/dev/null'}")
    yield printable(f"+++ {f'b/{name}/{file.path}' if file.new else '/dev/null'}")
    yield from body(file)


def body(file: FileDifference) -> Iterator[str]:
    """Yield the lines of one file that differ; of what is no text, or not at hand, what it is."""
    old, new = _text(file.old), _text(file.new)
    if old is None and file.old:
        yield printable(f"\\ {why(file.old)}: {file.old.words}")
    if new is None and file.new:
        yield printable(f"\\ {why(file.new)}: {file.new.words}")
    before, after = lines.split(old or ""), lines.split(new or "")
    for hunk in lines.hunks(before, after):
        yield f"@@ -{_range(hunk[0].start, hunk[-1].end)} +{_range(hunk[0].new_start, hunk[-1].new_end)} @@"
        for run in hunk:
            for sign in _SIGNS[run.tag]:
                part = after[run.new_start : run.new_end] if sign == "+" else before[run.start : run.end]
                for line in part:
                    yield sign + shown(line.removesuffix("\n"))
                    if not line.endswith("\n"):
                        yield "\\ No newline at end of file"


def _text(version: Version | None) -> str | None:
    return version.text if version else None


def why(version: Version) -> str:
    """Say why the text of a side is not there."""
    if not version.is_at_hand:
        return "its text is not here"
    return "not compared line by line" if version.size is not None else "no file"


def shown(line: str) -> str:
    """Return a line of a file as a terminal may have it; tabs are left as they are."""
    return "\t".join(map(printable, line.split("\t")))


def _range(start: int, end: int) -> str:
    """Return a range of lines as unified diffs write it: the first line, counted from 1, and how many."""
    count = end - start
    return f"{start + 1 if count else start},{count}" if count != 1 else f"{start + 1}"


def stat(skill: SkillDifference) -> Iterator[str]:
    """Yield how much of each file differs."""
    yield change_line(skill.change, target=skill.target or "")
    if skill.refusal:
        yield f"! {refused(skill.refusal)}"
    found = marks(skill)
    rows = [
        (
            f"    {printable(file.path)}",
            size(file),
            "".join(f"[{printable(mark.words)}] " for mark in found if mark.path == file.path),
        )
        for file in skill.files
    ]
    yield from table(rows)


def size(file: FileDifference) -> str:
    """Return how many lines are new and how many are gone; of what is no text, how many bytes there were and are."""
    if file.is_text:
        added, removed = lines.counted(*(lines.split(_text(side) or "") for side in (file.old, file.new)))
        return f"+{added} -{removed}"
    if file.new is None and file.old and not file.old.is_at_hand:
        return "removed; its text is not here"
    return " -> ".join(_size(side) for side in (file.old, file.new))


def _size(version: Version | None) -> str:
    if version is None:
        return "nothing"
    if not version.is_at_hand:
        return "not here"
    return "a link" if version.size is None else counted(version.size, "byte")
