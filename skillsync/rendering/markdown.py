"""Differences as Markdown, for a comment on a pull request or the summary of a CI job.

Invariants: pure; whatever a package says stands in code, where no Markdown and no HTML of its own counts; cut off at
what the places that it is for take, and then it says so.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from skillsync.rendering.report import change_line, counted, printable
from skillsync.rendering.unified import body, refused, size
from skillsync.reviewing.marks import marks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillsync.errors import Problem
    from skillsync.reviewing.difference import FileDifference, SkillDifference

# GitHub takes 65,536 characters in a comment.
_MOST = 60_000
_LINES = 400  # of one file
_HEADS = 100  # changes that are named, whatever room they take
_TICKS = re.compile("`+")


def markdown(
    skills: Sequence[SkillDifference], *, title: str, nothing: str, command: str, problems: Sequence[Problem] = ()
) -> Iterator[str]:
    """Yield the document's lines: `title`, what is wrong, then each change; `nothing` where there is none.

    What a change is and its marks come before any text: where not all has room, texts are left out, the longest files
    as soon as the others. `command` is what shows all of it, named where something is left out.
    """
    yield f"## {title}"
    yield ""
    for problem in problems:
        yield f"- ❌ {_code(f'{problem.code.value}: {problem.message}')}"
    if problems:
        yield ""
    if not skills:
        yield nothing
    heads = [list(_head(skill)) for skill in skills]
    left = _MOST - sum(map(_length, heads)) - sum(_length([_line(file)]) for skill in skills for file in skill.files)
    for number, (skill, head) in enumerate(zip(skills, heads, strict=True)):
        if left < 0 and number >= _HEADS:
            yield f"… and {counted(len(skills) - number, 'more change')}: `{command}` shows all."
            return
        yield from head
        for file in skill.files:
            lines = list(_file(file, command)) if left > 0 else []
            needed = _length(lines) - _length([_line(file)])
            if lines and needed <= left:
                left -= needed
                yield from lines
            else:
                yield _line(file)
        yield ""


def _length(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _head(skill: SkillDifference) -> Iterator[str]:
    yield f"### {_code(change_line(skill.change, target=skill.target or ''))}"
    yield ""
    notes = [f"⚠️ {refused(skill.refusal)}"] if skill.refusal else []
    notes += [f"⚠️ {_code(mark.place)} {_code(mark.words)}" for mark in marks(skill)]
    if notes:
        yield from (f"- {note}" for note in notes)
        yield ""


def _sign(file: FileDifference) -> str:
    return "+" if file.old is None else "-" if file.new is None else "~"


def _line(file: FileDifference) -> str:
    """Return one line for a file whose text has no room."""
    return f"- {_sign(file)} {_code(file.path)} ({_escaped(size(file))})"


def _file(file: FileDifference, command: str) -> Iterator[str]:
    yield f"<details><summary>{_sign(file)} <code>{_escaped(file.path)}</code> ({_escaped(size(file))})</summary>"
    yield ""
    lines = list(body(file))
    if len(lines) > _LINES:
        lines = [*lines[:_LINES], f"… {len(lines) - _LINES} more lines: `{command}` shows all"]
    fence = "`" * max(3, 1 + max((len(found) for line in lines for found in _TICKS.findall(line)), default=0))
    yield f"{fence}diff"
    yield from lines
    yield fence
    yield ""
    yield "</details>"
    yield ""


def _code(text: str) -> str:
    """Return a code span that holds a text, whatever is in it."""
    shown = printable(text)
    ticks = "`" * (1 + max((len(found) for found in _TICKS.findall(shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def _escaped(text: str) -> str:
    return html.escape(printable(text))
