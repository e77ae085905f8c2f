"""Characters that a reader doesn't see, or sees elsewhere, in what an agent reads: where they are in a file.

Invariants: pure; a text without a code point of `_HIDDEN` has none; what a script or an emoji needs is none either, by
rules that look at the neighbours alone and don't change with Python's tables (docs/hidden-characters.md has them).
"""

from __future__ import annotations

import re
import unicodedata
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE, getincrementaldecoder
from functools import cache
from typing import TYPE_CHECKING

from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 8 * 1024 * 1024  # bytes of a file that are kept while it is read

# Unicode's Default_Ignorable_Code_Point, reserved ones included; the ends of lines that editors don't show and
# JavaScript obeys; interlinear annotations; and the controls by which a text moves about in a terminal. Of the others
# (tab, line feed, form feed, carriage return) honest texts are full, or nothing obeys them.
_HIDDEN = (
    "[\x08\x1b\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_BACKSPACE, _ESCAPE, _DELETE = 0x08, 0x1B, 0x7F
_PLAIN = bytes(set(range(0x80)) - {_BACKSPACE, _ESCAPE, _DELETE})

# What emoji are made of: Unicode's blocks of pictographs, and the symbols outside them that have an emoji's form.
_SYMBOL = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_IDEOGRAPH = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
# Operators, full-width punctuation, and the letters of Myanmar and Phags-pa.
_VARIED = (
    "\u2200-\u22ff\u2a00-\u2aff\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f\u1000-\u104f\uaa60-\uaa7f\ua840-\ua871"
)
_MONGOLIAN = "\u1820-\u18aa"
# The blocks of the scripts whose letters join or form conjuncts: Arabic to Mandaic, the Indic ones and their kin.
_JOINING = (
    "\u0600-\u061b\u061d-\u077f\u07c0-\u07ff\u0840-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u17ff\u1807\u180a\u1820-\u18aa"
    "\u1a20-\u1aad\u1b00-\u1bff\u1cd0-\u1cff\ua800-\ua8ff\ua980-\ua9ff\uaa60-\uaaff\uabc0-\uabff\ufb50-\ufdff"
    "\ufe70-\ufefc\U00010a00-\U00011fff\U0001e900-\U0001e95f"
)
_CONTROLS = {_BACKSPACE: "BACKSPACE", _ESCAPE: "ESCAPE", _DELETE: "DELETE"}

# What agents read as text, whatever bytes are in it; so a stray byte hides nothing.
_TEXT = (
    *(".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt", ".csv", ".html", ".json", ".toml", ".xml", ".yaml", ".yml"),
    *(".bash", ".bat", ".cjs", ".js", ".jsx", ".mjs", ".pl", ".ps1", ".py", ".rb", ".rs", ".sh", ".ts", ".tsx", ".zsh"),
)
_ENCODINGS = {  # the longer marks first: one begins with another
    BOM_UTF32_LE: "utf-32",
    BOM_UTF32_BE: "utf-32",
    BOM_UTF16_LE: "utf-16",
    BOM_UTF16_BE: "utf-16",
}
_UTF8 = "utf-8-sig"
_FIRST_PRINTED = 0xA0


class Hidden(Value, kw_only=False):
    """One hidden character; line and column count from 1, in characters, a byte order mark at the start left out."""

    character: str
    line: int
    column: int

    def __str__(self) -> str:
        """Return the code point and its name."""
        number = ord(self.character)
        name = unicodedata.name(self.character, "") or _CONTROLS.get(number)
        return f"U+{number:04X} {name or ('CONTROL' if number < _FIRST_PRINTED else 'RESERVED')}"


class Finding(Value, kw_only=False):
    """What was found in one file: the first, and how many more. `first` is None where the file is too large to tell."""

    first: Hidden | None
    more: int = 0

    def __str__(self) -> str:
        """Say it after "has"."""
        if self.first is None:
            return f"more than {LIMIT // 1024 // 1024} MiB, and what may be hidden characters"
        return f"{self.first} and {self.more} more" if self.more else str(self.first)


def find(text: str) -> Iterator[Hidden]:
    """Yield the hidden characters of a text."""
    line, start, seen = 1, 0, 0
    for at in _offsets(text):
        if breaks := text.count("\n", seen, at):
            line += breaks
            start = text.rindex("\n", seen, at) + 1
        seen = at
        yield Hidden(text[at], line, at - start + 1)


@cache
def _honest() -> re.Pattern[str]:
    """Return the pattern of a hidden character that a script or an emoji is written with.

    Only three flags are drawn from tags; of any other sequence a reader sees a black flag and no tag. It takes
    milliseconds to compile, and most runs meet no such character.
    """
    return re.compile(
        "(?<=\U0001f3f4)\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
        "|\U000e0077\U000e006c\U000e0073)\U000e007f"
        f"|(?<=[{_SYMBOL}])[\ufe0e\ufe0f]|(?<=[#*0-9])\ufe0f(?=\u20e3)"
        f"|(?:(?<=[{_SYMBOL}])|(?<=[{_SYMBOL}]\ufe0f))\u200d(?=[{_SYMBOL}])"
        f"|(?<=[{_IDEOGRAPH}])[\ufe00-\ufe02\U000e0100-\U000e01ef]|(?<=[{_VARIED}])[\ufe00-\ufe02]"
        f"|(?<=[{_MONGOLIAN}])(?:[\u180b-\u180d\u180f]|\u180e(?=[{_MONGOLIAN}]))"
        f"|(?<![\u200c\u200d])(?:(?<=[{_JOINING}])[\u200c\u200d](?![\u200c\u200d])|[\u200c\u200d](?=[{_JOINING}]))"
    )


def _offsets(text: str) -> Iterator[int]:
    at = 0
    while found := re.compile(_HIDDEN).search(text, at):
        at = found.start()
        if honest := _honest().match(text, at):
            at = honest.end()
        else:
            yield at
            at += 1


def summary(text: str) -> Finding | None:
    """Return the first hidden character of a text and how many more there are; None if it has none."""
    found = find(text)
    first = next(found, None)
    return Finding(first, sum(1 for _ in found)) if first else None


def in_name(path: str) -> Hidden | None:
    """Return the first hidden character of a file's path."""
    return None if path.isascii() and path.isprintable() else next(find(path), None)


def look(name: str, chunks: list[bytes] | Large) -> Finding | None:
    """Return what a whole file holds of hidden characters. One of plain text costs next to nothing."""
    if isinstance(chunks, Large):
        return chunks.finding()
    content = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    if is_plain(content):
        return None
    text = _decoded(name, content)
    return None if text is None else summary(text)


def is_plain(content: bytes) -> bool:
    """Whether bytes hold no hidden character, whatever comes before and after them: quick, and sure of a yes."""
    if content.isascii():
        return not (_ESCAPE in content or _BACKSPACE in content or _DELETE in content)
    try:
        return re.search(_HIDDEN, content.translate(None, _PLAIN).decode()) is None
    except UnicodeDecodeError:
        return False


def _decoded(name: str, content: bytes) -> str | None:
    """Return the text that a file holds, None if it is binary.

    UTF-16 and UTF-32 are text where their mark says so, anything else where it is UTF-8 without NUL. Under a name of
    text it always is.
    """
    named = _is_named(name, content)
    encoding = _encoding(content)
    if not named and encoding == _UTF8 and b"\0" in content:
        return None
    try:
        return content.decode(encoding, "replace" if named else "strict")
    except UnicodeDecodeError:
        return None


def _is_named(name: str, start: bytes) -> bool:
    return name.lower().endswith(_TEXT) or start.startswith(b"#!")


def _encoding(start: bytes) -> str:
    return next((encoding for mark, encoding in _ENCODINGS.items() if start.startswith(mark)), _UTF8)


class Large:
    """A file that is too large to be kept in memory: whether it may hold any is told chunk by chunk, and not where."""

    def __init__(self, name: str, start: bytes) -> None:
        """Take the file's name and how it begins."""
        named = _is_named(name, start)
        self._encoding = _encoding(start)
        self._is_named = named
        self._decoder = getincrementaldecoder(self._encoding)("replace" if named else "strict")
        self._is_text = True
        self._is_suspect = False

    def append(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._take(chunk, is_last=False)

    def finding(self) -> Finding | None:
        """Return what there is to say once all of the file was taken."""
        self._take(b"", is_last=True)
        return Finding(None) if self._is_text and self._is_suspect else None

    def _take(self, chunk: bytes, *, is_last: bool) -> None:
        if not self._is_named and self._encoding == _UTF8 and b"\0" in chunk:
            self._is_text = False
        if not self._is_text:
            return
        # What is taken out lies between characters, so that one across a border stays whole.
        rest = chunk.translate(None, _PLAIN) if self._encoding == _UTF8 else chunk
        try:
            text = self._decoder.decode(rest, is_last)
        except UnicodeDecodeError:
            self._is_text = False
        else:
            self._is_suspect = self._is_suspect or re.search(_HIDDEN, text) is not None
