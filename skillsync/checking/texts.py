"""What is wrong in the texts of a skill: encoding, line ends, and what the Agent Skills format limits.

Invariants: pure; a hint names `--fix` only where that mends it.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from typing import TYPE_CHECKING

from skillsync.checking.mending import LINE_ENDS, NEWLINE, mended
from skillsync.checking.offer import MARKDOWN, TEXT_LIMIT, fixed, is_looked_into, names_program, problem
from skillsync.discovery.skill import cut_off, refused_elsewhere, value
from skillsync.errors import Code, Problem, Severity
from skillsync.hashing import SKILL_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillsync.checking.offer import Offer, Shipped

# The Agent Skills format's; those of name and description are discovery's.
_COMPATIBILITY = 500
_LINES = 500
# Of the frontmatter, what agents read as text: a name has no `#`.
_TEXTS = ("description", "compatibility")


def problems(offer: Offer, shipped: Shipped) -> Iterator[Problem]:
    """Yield what is wrong in each text of a skill that an agent reads or runs."""
    for path, content in shipped.texts.items():
        if is_looked_into(path, content):
            yield from _of_text(offer, shipped, path, content)


def _of_text(offer: Offer, shipped: Shipped, path: str, content: bytes) -> Iterator[Problem]:
    """Yield what is wrong in a text."""
    skill, place = shipped.found, f"{shipped.found.path}/{path}"
    if path == SKILL_FILE:
        yield from _beyond_the_format(offer, shipped, place, content)
    if (path != SKILL_FILE or skill.is_valid) and path.lower().endswith(MARKDOWN) and (at := _not_utf8(content)):
        line, column = at
        yield problem(
            offer.package,
            Code.INVALID_SKILL,
            place,
            "is not UTF-8",
            severity=Severity.WARNING,
            hint="save it as UTF-8: an agent reads other letters there, or none",
            skill=skill.name,
            line=line,
            column=column,
        )
    if b"\0" in content:
        return  # no text, or none in the one encoding of which the rest can be told
    has_crlf, is_unended = b"\r\n" in content, bool(content) and not content.endswith(b"\n")
    new = mended(skill.name, path, content) if has_crlf or is_unended else None
    does = new.what if new else ()
    if has_crlf:
        runs = names_program(content)
        text = "has CRLF line ends" + (": the system looks for a program with a CR in its name" if runs else "")
        severity = Severity.WARNING if runs else Severity.NOTE
        hint = fixed(offer, "makes them LF") if LINE_ENDS in does else "save it with LF alone"
        yield problem(
            offer.package, Code.LINE_ENDS, place, text, severity=severity, hint=hint, skill=skill.name, line=1
        )
    if is_unended and len(content) < TEXT_LIMIT:
        line = content.count(b"\n") + 1
        hint = fixed(offer, "adds it") if NEWLINE in does else "add it"
        yield problem(
            offer.package,
            Code.FINAL_NEWLINE,
            place,
            "has no newline at its end",
            severity=Severity.NOTE,
            hint=hint,
            skill=skill.name,
            line=line,
        )


def _not_utf8(content: bytes) -> tuple[int, int] | None:
    """Return line and column of the first byte that no UTF-8 has there; a text may be cut off at its end."""
    try:
        getincrementaldecoder("utf-8")().decode(content, final=len(content) < TEXT_LIMIT)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode()
        return before.count("\n") + 1, len(before) - before.rfind("\n")
    return None


def _beyond_the_format(offer: Offer, shipped: Shipped, place: str, content: bytes) -> Iterator[Problem]:
    """Yield what the Agent Skills format limits and discovery doesn't look at, and what other readers refuse."""
    if found := refused_elsewhere(content):
        yield problem(
            offer.package,
            Code.INVALID_SKILL,
            place,
            f"has {found.what} in its frontmatter, which other readers refuse",
            severity=Severity.WARNING,
            hint=found.hint,
            skill=shipped.found.name,
            line=found.line,
            column=found.column,
        )
    for key, line, column in cut_off(content, _TEXTS):
        yield problem(
            offer.package,
            Code.INVALID_SKILL,
            place,
            f"has a `{key}` that ends before ` #`: what follows is a comment, which nobody reads",
            severity=Severity.WARNING,
            hint="put the whole value in quotes, if that is its text, or move the comment to a line of its own",
            skill=shipped.found.name,
            line=line,
            column=column,
        )
    length = len(value(content, "compatibility"))
    if length > _COMPATIBILITY:
        text = f"has a `compatibility` of {length} characters; the format allows {_COMPATIBILITY}"
        severity, skill = Severity.WARNING, shipped.found.name
        yield problem(offer.package, Code.FORMAT_LIMIT, place, text, severity=severity, hint="shorten it", skill=skill)
    lines = content.count(b"\n")
    if lines > _LINES:
        text = f"has {lines} lines; the format advises {_LINES} at most"
        hint = "move details to files that it links to: agents read SKILL.md as a whole"
        yield problem(
            offer.package, Code.FORMAT_LIMIT, place, text, severity=Severity.NOTE, hint=hint, skill=shipped.found.name
        )
