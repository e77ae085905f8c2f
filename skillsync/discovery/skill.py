"""SKILL.md's frontmatter: bytes in, a description and everything that is wrong with it out.

Invariants: pure; YAML is read by a real parser that constructs nothing; the first problem never hides the others
where they can be told apart; unknown keys are nobody's business.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillsync.errors import Code, Problem, Severity
from skillsync.schema import name_fault
from skillsync.values import Value, replace
from skillsync.yaml_nodes import Alias, Mapping, Node, Scalar, Sequence, YamlError, compose, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BLOCK_LIMIT = 64 * 1024
# What has to be read of a file to see the whole of the longest block, its fences included.
READ_SIZE = BLOCK_LIMIT + 1024

# Agent Skills format; the packaging spec sets no limit, so longer ones are only warned of.
_NAME_LENGTH = 64
_DESCRIPTION_LENGTH = 1024

_BOM = b"\xef\xbb\xbf"
_FENCE = rb"(?m)^---[ \t]*\r?$"
_FIRST_LINE = 2  # of the block, in the file
# YAML 1.1 ends a line here and YAML 1.2 doesn't (a lone CR aside, which text tools don't take for one): after it, each
# agent would read another skill.
_DISPUTED_BREAK = "\r(?!\n)|[\x85\u2028\u2029]"
_QUOTES = "put the value in quotes"
_YAML_TAG = "tag:yaml.org,2002:"
_TAGS = {"", "!", "str", "int", "float", "bool", "null", "seq", "map", "set", "omap", "pairs", "binary", "timestamp"}
# How a value begins; and what its quotes ask for.
_STARTED = r"[ \t]*[A-Za-z][\w-]*:(?:[ \t]+(\S)|[ \t]*$)"
_IN_QUOTES = {'"': '`\\"` for each `"`, and `\\\\` for each `\\`', "'": "`''` for each `'`"}
_COMMENT = r"(?<=\S)[ \t]+#"  # with something before it on its line
_BARE_VALUE = r"([A-Za-z][\w-]*):[ \t]+([^\"'|>\[{&*!#%@`\s].*)"


class Frontmatter(Value, kw_only=False):
    """What SKILL.md says of its skill; `description` is empty if it could not be read."""

    description: str
    problems: tuple[Problem, ...]


class Refused(Value, kw_only=False):
    """What some readers refuse, as it is said; how it is mended; and where it stands in the file."""

    what: str
    hint: str
    line: int
    column: int


class _FaultError(Exception):
    """Ends the reading: nothing after this point can be understood."""

    def __init__(self, message: str, line: int, column: int | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.hint = hint


def parse(content: bytes, about: Problem) -> Frontmatter:
    """Read the frontmatter of a SKILL.md.

    `content` is the file's start (READ_SIZE bytes or all); `about` is a problem that names provider, skill (which is
    the directory's name too) and path, from which all others are made. Rules: packaging spec, section 3.
    """
    try:
        values = _values(_block(content))
    except _FaultError as fault:
        found = replace(about, message=str(fault), line=fault.line, column=fault.column, hint=fault.hint)
        return Frontmatter("", (found,))
    problems = (*_check_name(values.get("name"), about), *_check_description(values.get("description"), about))
    invalid = any(problem.is_error for problem in problems)
    description = values.get("description")
    return Frontmatter(description.text if isinstance(description, Scalar) and not invalid else "", problems)


def value(content: bytes, key: str) -> str:
    """Return a value of the frontmatter as one text, a list's items joined by commas; "" for what can't be read.

    For display: nothing is decided by it.
    """
    try:
        node = _values(_block(content)).get(key)
    except _FaultError:
        return ""
    items = node.items if isinstance(node, Sequence) else [node]
    return ", ".join(item.text for item in items if isinstance(item, Scalar) and not item.is_null)


def refused_elsewhere(content: bytes) -> Refused | None:
    """Return the first thing in the frontmatter that decides nothing here, and by which others refuse the whole."""
    try:
        root = compose(_block(content))
    except (_FaultError, YamlError):
        return None
    for node in walk(root) if root else ():
        if isinstance(node, Alias):
            if not node.is_bound:
                return Refused(f"the alias `*{node.anchor}`, which stands for nothing,", _QUOTES, *_place(node))
        elif node.tag.removeprefix(_YAML_TAG) not in _TAGS:
            hint = "put the value in quotes, if that is its text, or take the tag out"
            return Refused(f"the tag `{node.tag}`", hint, *_place(node))
        elif isinstance(node, Mapping) and (key := _doubled(node)):
            return Refused(f"the key `{key.text}` twice", "keep one of them", *_place(key))
    return None


def _doubled(mapping: Mapping) -> Scalar | None:
    """Return the first key of a mapping that is there already."""
    known: set[str] = set()
    for key in (key for key, _ in mapping.pairs if isinstance(key, Scalar)):
        if key.text in known:
            return key
        known.add(key.text)
    return None


def cut_off(content: bytes, keys: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Yield which of some keys have a value without quotes that a ` #` ends on its line, with the place of the `#`.

    What follows is a comment to every reader, and often was meant as text.
    """
    try:
        block = _block(content)
        values = _values(block)
    except _FaultError:
        return
    lines = block.splitlines(keepends=True)
    for key in keys:
        node = values.get(key)
        if isinstance(node, Scalar) and node.text and not node.style:
            start = sum(map(len, lines[: node.line - 1])) + node.column - 1
            found = re.compile(_COMMENT).search(block, start)
            # The nearest one may be further down, behind another value.
            if found and block[start : found.start()].split() == node.text.split():
                before = block[: found.end() - 1]
                yield key, before.count("\n") + _FIRST_LINE, len(before) - before.rfind("\n")


def _block(content: bytes) -> str:
    """Return the text between the fences. Raises _FaultError."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff", b"-\0-\0-\0", b"\0-\0-\0-")):
        reason = "is UTF-16"
        raise _FaultError(reason, 1, 1, "save it as UTF-8")
    content = content.removeprefix(_BOM)
    opening = re.match(_FENCE, content)
    if opening is None:
        raise _no_opening(content)
    closing = re.compile(_FENCE).search(content, opening.end() + 1)
    block = content[opening.end() + 1 : closing.start() if closing else None]
    if len(block) > BLOCK_LIMIT:
        reason = f"has more than {BLOCK_LIMIT // 1024} KiB of frontmatter"
        raise _FaultError(reason, 1, 1, "end the block with a line `---`")
    if closing is None:
        reason = "has frontmatter that never ends"
        raise _FaultError(reason, 1, 1, "end the block with a line `---`")
    try:
        return block.decode()
    except UnicodeDecodeError as error:
        before = block[: error.start]
        line = before.count(b"\n") + _FIRST_LINE
        column = len(before[before.rfind(b"\n") + 1 :].decode()) + 1
        reason = "is not UTF-8"
        raise _FaultError(reason, line, column, "save it as UTF-8") from None


def _no_opening(content: bytes) -> _FaultError:
    later = re.search(_FENCE, content)
    if later and not content[: later.start()].strip():
        return _FaultError("has frontmatter that does not begin on line 1", 1, 1, "remove the blank lines above `---`")
    if later and content.lstrip().startswith((b"<!--", b"#", b"//")):
        return _FaultError(
            "has frontmatter that does not begin on line 1", 1, 1, "move what stands above `---` below the block"
        )
    return _FaultError("has no frontmatter", 1, 1, "begin it with `---`, `name: …`, `description: …`, `---`")


def _values(block: str) -> dict[str, Node]:
    """Return the top-level keys and values. Raises _FaultError."""
    if found := re.search(_DISPUTED_BREAK, block):
        before = block[: found.start()]
        reason = f"has U+{ord(found[0]):04X} in its frontmatter, a new line to some readers only"
        place = before.count("\n") + _FIRST_LINE, len(before) - before.rfind("\n")
        raise _FaultError(reason, *place, "end the line with a line feed, or take the character out")
    try:
        root = compose(block)
    except YamlError as error:
        raise _explained(error, block) from None
    if root is None:
        return {}
    if not isinstance(root, Mapping):
        reason = "has frontmatter that is not made of `key: value` lines"
        raise _FaultError(reason, *_place(root))
    for key, _ in root.pairs:
        if _can_be_another(key):
            reason = "has a key in its frontmatter that not every reader takes for the same"
            raise _FaultError(reason, *_place(key), "write it as `key: value`, without `*`, `!` or `<<`")
    if twice := _doubled(root):
        raise _FaultError(f"has the key `{twice.text}` twice", *_place(twice), "keep one of them")
    return {key.text: value for key, value in root.pairs if isinstance(key, Scalar)}


def _can_be_another(key: Node) -> bool:
    """Whether a key may be a second `name` to a reader that follows aliases, tags (`!!binary`) or merges."""
    if isinstance(key, Scalar):
        return bool(key.tag) or (key.text == "<<" and not key.style)
    return isinstance(key, Alias)


def _explained(error: YamlError, block: str) -> _FaultError:
    """Say what the YAML error means here; an unquoted `: ` is the commonest fault of all."""
    lines = block.splitlines()
    line = lines[error.line - 1] if error.line <= len(lines) else ""
    reason, hint = error.reason, _quotes(lines, error.line)
    if line[error.column - 1 :].startswith("\t"):
        reason, hint = "a tab stands where YAML allows blanks alone", "put blanks in the tab's place"
    elif error.reason.startswith("could not find expected ':'"):
        reason = "the line is neither `key: value` nor an indented continuation"
        hint = "indent the lines that continue a text by two spaces"
    elif error.reason.startswith("found unexpected end of stream"):
        hint = "end the text with the quote that it begins with"
    elif error.reason.startswith("mapping values are not allowed"):
        reason = "an unquoted value holds `: `"
        if hint == _QUOTES and (bare := re.fullmatch(_BARE_VALUE, line.rstrip())):
            quoted = bare[2].replace("\\", "\\\\").replace('"', '\\"')
            hint = f'{_QUOTES}: {bare[1]}: "{quoted}"'
    return _FaultError(f"has frontmatter that is not YAML: {reason}", error.line + _FIRST_LINE - 1, error.column, hint)


def _quotes(lines: list[str], number: int) -> str:
    """Return how a value that YAML can't read is written as a text; it is noticed on a line, counted from 1."""
    before = [number for number, line in enumerate(lines[:number]) if line[:1].strip()]
    at = before[-1] if before else 0
    started = [found for line in lines[at:number] if (found := re.match(_STARTED, line))]
    start = started[-1][1] if started else ""
    below = next((line for line in lines[at + 1 :] if line.strip()), "")
    if start in _IN_QUOTES:
        return f"let the quotes end where the text ends: inside, write {_IN_QUOTES[start]}"
    if start in {"|", ">"}:
        return "begin the text on the next line, indented"
    if started and started[0][1] and below.startswith((" ", "\t")):
        return "put the whole text in quotes, or write `>-` alone behind the key and all of the text below"
    return _QUOTES


def _check_name(node: Node | None, about: Problem) -> Iterator[Problem]:
    """Yield what is wrong with `name`."""
    if isinstance(node, Scalar) and _is_text(node):
        line, column = _place(node)
        wrong = replace(about, line=line, column=column)
        if fault := name_fault(node.text):
            message = f"has the name `{node.text}`, which {fault}"
            yield replace(wrong, message=message, hint="rename it and its directory")
        elif node.text != about.skill:
            message = f"has the name `{node.text}`, but its directory is `{about.skill}`"
            yield replace(wrong, message=message, hint="give both the same name")
        elif len(node.text) > _NAME_LENGTH:
            message = f"has a name of {len(node.text)} characters; the format allows {_NAME_LENGTH}"
            yield replace(wrong, message=message, severity=Severity.WARNING)
    else:
        yield _no_text("name", node, about)


def _check_description(node: Node | None, about: Problem) -> Iterator[Problem]:
    """Yield what is wrong with `description`."""
    if not isinstance(node, Scalar) or not _is_text(node):
        yield _no_text("description", node, about)
    elif len(node.text) > _DESCRIPTION_LENGTH:
        line, column = _place(node)
        message = f"has a description of {len(node.text)} characters; the format allows {_DESCRIPTION_LENGTH}"
        yield replace(about, message=message, line=line, column=column, severity=Severity.WARNING)


def _is_text(node: Scalar) -> bool:
    return not node.is_null and bool(node.text.strip())


def _no_text(key: str, node: Node | None, about: Problem) -> Problem:
    """Say why a key's value is no text."""
    if node is None:
        return replace(about, message=f"has no `{key}`", line=1, hint=f"add `{key}: …` between the `---` lines")
    line, column = _place(node)
    wrong = replace(about, line=line, column=column)
    if isinstance(node, Scalar):
        return replace(wrong, message=f"has an empty `{key}`", hint=f"write a text after `{key}:`")
    kind = {Sequence: "a list", Mapping: "a mapping", Alias: "an alias"}[type(node)]
    return replace(wrong, message=f"has a `{key}` that is {kind}", hint="write one text, in quotes")


def _place(node: Node) -> tuple[int, int]:
    """Return line and column of a node, in the file."""
    return node.line + _FIRST_LINE - 1, node.column


def about(provider: str, skill: str, path: str) -> Problem:
    """Return the problem from which all others of one skill are made."""
    return Problem(code=Code.INVALID_SKILL, message="", provider=provider, skill=skill, path=path)
