"""Typed, path-aware reading of what people and other programs wrote, and the one validator of skill names.

Invariants: pure; every value is checked where it enters; a failure names the key as its author would find it:
`provider[2].skill[0].hash`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

# Agent Skills format, "name": lower-case letters, digits and single hyphens. That alone keeps out separators, drives,
# dots, blanks, control characters and the empty name.
_NAME = r"[a-z0-9]+(?:-[a-z0-9]+)*"
# A directory is staged under its name and a mark, and no file system that matters takes more than 255 bytes.
_LONGEST_NAME = 200
# Windows opens these as devices in every directory.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{digit}" for port in ("com", "lpt") for digit in range(10))}
# Of what a person mistypes; comparing takes time.
_LONGEST_WORD = 100
_HASH = re.compile(r"blake3:[0-9a-f]{64}")  # of a lock's every file
_NO_PARTS = frozenset({"", ".", ".."})
_CONTROL = r"[\0-\x1f\x7f]"
# Letters, marks and symbols to Unicode, and nothing to the eye: fillers, joiners, blanks, selectors of a variant.
_UNSEEN = "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"


class InvalidError(Exception):
    """A value that can't be used: `key` says where, its text says why; `others` are in the same document."""

    def __init__(self, key: str, reason: str, hint: str | None = None, others: Iterable[InvalidError] = ()) -> None:
        """Take the dotted key, the reason, the mend if one is known, and what else is wrong."""
        super().__init__(reason)
        self.key = key
        self.reason = reason
        self.hint = hint
        self.others = tuple(others)


def name_fault(name: str) -> str | None:
    """Return why a text can't be a skill's name, or None: for frontmatter, manifest, lock and registry alike."""
    if not name:
        return "is empty"
    if re.fullmatch(_NAME, name) is None:
        return "is not lower-case letters and digits joined by single hyphens"
    if len(name) > _LONGEST_NAME:
        return f"has more than {_LONGEST_NAME} characters"
    if name in _DEVICES:
        return "is a device's name on Windows"
    return None


def folded(name: str) -> str:
    """Return a file's name as the least discerning file system compares it."""
    if name.isascii():
        return name.lower()
    return normalize("NFC", normalize("NFC", name).casefold())


def path_fault(path: str) -> str | None:
    """Return why a text can't be a path below a root (joined with `/`), or None."""
    if not path or path.startswith("/"):
        return "is not a relative path"
    if "\0" in path or not _NO_PARTS.isdisjoint(path.split("/")):
        return "has an empty part, `.`, `..` or a NUL"
    return None


def line_fault(text: str) -> str | None:
    """Return why a text can't be shown and stored as one line, or None: for versions and packages' names."""
    if not text.strip():
        return "is empty"
    return "has a control character" if re.search(_CONTROL, text) else None


def is_visible(text: str) -> bool:
    """Whether a reader sees every character of a text for what it is.

    Not so with controls (those of the direction of text are some), blanks of other kinds, and what has no shape at all.
    """
    return text.isprintable() and (text.isascii() or re.search(_UNSEEN, text) is None)


def suggestion(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that was probably meant."""
    from difflib import get_close_matches

    if len(word) > _LONGEST_WORD:
        return None
    return next(iter(get_close_matches(word, list(known), n=1)), None)


def quoted(text: str) -> str:
    """Return a text as TOML writes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Table:
    """A mapping with the key under which it stands; every getter raises InvalidError with the full key."""

    __slots__ = ("data", "path")

    def __init__(self, data: Mapping[str, Any], path: str = "") -> None:
        """Take the parsed mapping and its own dotted key ("" for the whole document)."""
        self.data = data
        self.path = path

    def key(self, name: str) -> str:
        """Return the dotted key of a member, quoted as TOML would where it isn't a bare word."""
        bare = re.fullmatch(r"[A-Za-z0-9_-]+", name)
        shown = name if bare else quoted(name)
        return f"{self.path}.{shown}" if self.path else shown

    def only(self, known: Iterable[str]) -> None:
        """Raise for a key that nothing reads: a typing error must not pass in silence."""
        names = set(known)
        for name in self.data:
            self.one_of(names, name)

    def one_of(self, names: Collection[str], name: str) -> None:
        """Raise for one key if it is none of those that are read."""
        if name not in names:
            meant = suggestion(name, names)
            hint = f"did you mean `{meant}`?" if meant else f"known here: {', '.join(sorted(names))}"
            raise InvalidError(self.key(name), "is not a known key", hint)

    def text(self, name: str) -> str:
        """Return a required text."""
        return str(self._typed(name, str, "a text"))

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a truth value."""
        return bool(self._typed(name, bool, "true or false")) if name in self.data else default

    def version(self, current: int, *, default: int | None = None) -> None:
        """Check the document's format version. Raises InvalidError; a newer one says to upgrade."""
        found = self.data.get("version", default)
        if isinstance(found, bool) or not isinstance(found, int):
            raise InvalidError(self.key("version"), f"must be the number {current}")
        if found > current:
            raise NewerError(self.key("version"), f"is {found}, and this skillsync reads up to {current}")
        if found != current:
            raise InvalidError(self.key("version"), f"is {found}, and no version of that number exists")

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return a list of texts, or None if the key is missing."""
        if name not in self.data:
            return None
        alone = self.data[name]
        if isinstance(alone, str):
            hint = f"{name} = [{quoted(alone)}]" if len(alone) <= _LONGEST_WORD else None
            raise InvalidError(self.key(name), "must be a list of texts", hint)
        found = self._typed(name, list, "a list of texts")
        for index, item in enumerate(found):
            if not isinstance(item, str):
                raise InvalidError(f"{self.key(name)}[{index}]", "must be a text")
        return tuple(found)

    def table(self, name: str) -> Table:
        """Return a required sub-table."""
        return Table(self._typed(name, dict, "a table"), self.key(name))

    def tables(self, name: str) -> Iterator[Table]:
        """Go through a list of tables; a missing key is an empty list."""
        found = self._typed(name, list, "a list of tables") if name in self.data else []
        for index, item in enumerate(found):
            key = f"{self.key(name)}[{index}]"
            if not isinstance(item, dict):
                raise InvalidError(key, "must be a table")
            yield Table(item, key)

    def _typed(self, name: str, kind: type, words: str) -> Any:  # noqa: ANN401  # the callers' own types say what comes out
        if name not in self.data:
            raise InvalidError(self.key(name), "is missing")
        found = self.data[name]
        if not isinstance(found, kind):
            raise InvalidError(self.key(name), f"must be {words}")
        return found


class NewerError(InvalidError):
    """The document has a format of the future: nothing may be concluded from it."""


def hash_fault(text: str) -> str | None:
    """Return why a text is no hash of ours, or None. Another scheme is an error, never "changed"."""
    return None if _HASH.fullmatch(text) else "is not `blake3:` and 64 hexadecimal digits"


Place = tuple[int | None, int | None]  # line and column in a text, from 1, where they are known


class MalformedError(Exception):
    """A document whose text can't be read, the place in it, and the mend if one is known."""

    def __init__(
        self, reason: str, line: int | None = None, column: int | None = None, *, hint: str | None = None
    ) -> None:
        """Take the reason, the place and the mend."""
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
        self.place: Place = (line, column)


_CONFLICT = r"(?m)^(?:<{7}|={7}|>{7}|\|{7})(?: |$)"
# Each can begin something that the TOML parser keeps, in up to 250 bytes. A lock of 1,000 skills with
# 20 files each has 85,000.
_MARKS = "\n,=[{."
_MOST_MARKS = 400_000
_QUOTE = 'quote a name that holds anything but letters, digits, `-` and `_`: "@scope/*" = "*"'
_POSITION = r" at line (\d+) column (\d+)$"


def decode(content: bytes) -> str:
    """Return a document's text: UTF-8, a BOM and CRLF tolerated. Raises MalformedError, for conflict markers too."""
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        reason = "it is not UTF-8"
        raise MalformedError(reason, content.count(b"\n", 0, error.start) + 1) from None
    if not text.strip():
        reason = "it is empty"
        raise MalformedError(reason)
    if found := re.search(_CONFLICT, text):
        reason = "it has merge conflict markers"
        raise MalformedError(reason, text.count("\n", 0, found.start()) + 1)
    return text


def toml_fault(text: str) -> str | None:
    """Return why a TOML document is too much to be read, None if it isn't."""
    return f"made of more than {_MOST_MARKS} lines and values" if sum(map(text.count, _MARKS)) > _MOST_MARKS else None


def size_fault(content: bytes, limit: int) -> str | None:
    """Return why a document is too large to be read, None if it isn't; the words are those of `read_file`."""
    return f"larger than {limit // 1024} KiB" if len(content) > limit else None


def toml(content: bytes) -> Table:
    """Return a TOML document. Raises MalformedError."""
    import rtoml

    text = decode(content)
    if fault := toml_fault(text):
        raise MalformedError(f"it is {fault}")
    try:
        return Table(rtoml.loads(text))
    except rtoml.TomlParsingError as error:
        reason = str(error)
        found = re.search(_POSITION, reason)
        place = (int(found[1]), int(found[2])) if found else (None, None)
        hint = _QUOTE if "unquoted key" in reason else None
        raise MalformedError(f"it is not TOML: {re.sub(_POSITION, '', reason)}", *place, hint=hint) from None
