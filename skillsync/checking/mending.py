"""What can be mended in a skill's text without a thought: quotes, line ends, the newline at the end.

Invariants: pure; what the frontmatter says is the same before and after; where nothing could be read before, it is then
what stands there, letter for letter; a text of which either can't be shown stays as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillsync.checking.offer import TEXT_LIMIT
from skillsync.discovery.skill import about, parse, value
from skillsync.hashing import SKILL_FILE
from skillsync.values import Value

if TYPE_CHECKING:
    from skillsync.discovery.skill import Frontmatter

QUOTES, LINE_ENDS, NEWLINE = "quotes", "line ends", "newline at the end"  # what is done
# On one line, and nothing in it that YAML or a person could take for anything but the text.
_DESCRIPTION = re.compile(r"(description:[ \t]+)([^\"'|>\[{&*!#\s](?:.*\S)?)[ \t]*")
_CONTINUED = re.compile(r"[ \t]")


class Mended(Value):
    """A text as it would be; `what` says what is done to it."""

    content: bytes
    what: tuple[str, ...]


def mended(skill: str, path: str, content: bytes) -> Mended | None:
    """Return a text of a skill without what is mechanically wrong with it, None where there is nothing to do.

    `path` is relative to the skill's directory, and `content` all of the file.
    """
    if len(content) >= TEXT_LIMIT or not _is_text(content):
        return None
    new, what = content, []
    if b"\r\n" in new and b"\r" not in new.replace(b"\r\n", b""):
        new = new.replace(b"\r\n", b"\n")
        what.append(LINE_ENDS)
    if new and not new.endswith((b"\n", b"\r")):
        new += b"\n"
        what.append(NEWLINE)
    if path == SKILL_FILE:
        if not _says_the_same(skill, content, new):
            return None
        if quoted := _quoted(skill, new):
            new = quoted
            what.append(QUOTES)
    return Mended(content=new, what=tuple(what)) if what else None


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def _parsed(skill: str, content: bytes) -> Frontmatter:
    return parse(content, about("", skill, SKILL_FILE))


def _says_the_same(skill: str, old: bytes, new: bytes) -> bool:
    """Whether two texts have one meaning: name, description, and what is wrong with them."""
    before, after = _parsed(skill, old), _parsed(skill, new)
    return before == after and all(value(old, key) == value(new, key) for key in ("name", "description"))


def _quoted(skill: str, content: bytes) -> bytes | None:
    """Return a SKILL.md with its description in quotes, None where that isn't all that it lacks.

    A ` #` begins a comment, and nobody knows whether that was meant.
    """
    before = _parsed(skill, content)
    broken = [problem for problem in before.problems if problem.is_error]
    if len(broken) != 1 or broken[0].line is None or value(content, "name"):
        return None
    lines = content.decode().split("\n")
    at = broken[0].line - 1
    found = _DESCRIPTION.fullmatch(lines[at])
    if found is None or " #" in found[2] or "\t#" in found[2] or _CONTINUED.match(lines[at + 1]):
        return None
    text = found[2].replace("\\", "\\\\").replace('"', '\\"')
    lines[at] = f'{found[1]}"{text}"'
    new = "\n".join(lines).encode()
    after = _parsed(skill, new)
    is_right = after.description == found[2] and not any(problem.is_error for problem in after.problems)
    return new if is_right else None
