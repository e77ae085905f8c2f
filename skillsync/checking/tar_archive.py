"""Reads tar archives, in gzip or not, as a stream: nothing is unpacked to disk, and nothing is read twice.

Invariants: the stream goes forward alone; headers and contents have their limits before they are in memory; what some
reader would take for the end is the end only if it is one.
"""

from __future__ import annotations

import re
import tarfile
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, cast

from skillsync.checking.contents import ArchiveError, Linked, Special, directory_in, leads_out
from skillsync.filesystem import CHUNK

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from skillsync.checking.contents import Gathered

_GZIP = b"\x1f\x8b"
_LONGEST_HEADER = 1 << 20  # of one entry, its long names included
_MOST_HEADERS = 64 << 20
# What the standard library raises for bytes that are no archive, the system's own errors aside.
_BROKEN = (tarfile.TarError, zlib.error, EOFError, ValueError, OverflowError, RecursionError)
# Numbers that all readers read alike: others take signs, `0o` and `_` or leave off there.
_PLAIN_NUMBER = re.compile(rb" *[0-7]*[ \0]*")
# What stands before an entry's own header: records, long names of it and of what it links to.
_LONG = frozenset({tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK})
_EXTENSIONS = _LONG | {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE}
_BEFORE = re.compile(rb"g?(x|L?K?|KL)")
_LENGTH = re.compile(rb"([1-9][0-9]{0,8})[^0-9]")  # of a record
_TOLD = frozenset({b"atime", b"comment", b"ctime", b"gid", b"gname", b"mtime", b"uid", b"uname"})
_RECORDS = {tarfile.XHDTYPE: _TOLD | {b"path", b"linkpath", b"size"}, tarfile.XGLTYPE: _TOLD}
_KINDS = {
    tarfile.LNKTYPE: "is a hard link",
    tarfile.CHRTYPE: "is a device",
    tarfile.BLKTYPE: "is a device",
    tarfile.FIFOTYPE: "is a FIFO",
}


class _Stream:
    """Bytes that tarfile reads as a file, counted."""

    def __init__(self, source: IO[bytes], gathered: Gathered) -> None:
        self._source = source
        self._gathered = gathered
        self._at = 0
        self._headers = 0
        self.in_content = False
        self.blocks: list[bytes] = []  # headers, and what they hold, since the last content

    def tell(self) -> int:
        return self._at

    def read(self, size: int) -> bytes:
        if not self.in_content:
            self._headers += size
            if size > _LONGEST_HEADER or self._headers > _MOST_HEADERS:
                raise ArchiveError("its headers are larger than any that are meant")
        found = b""
        while len(found) < size and (chunk := self._source.read(min(CHUNK, size - len(found)))):
            found += chunk
        self._at += len(found)
        if not self.in_content:
            self._gathered.spend(len(found))
            # By one byte, tarfile sees whether the last content is all there.
            if size != 1:
                self.blocks.append(found)
        return found

    def seek(self, place: int) -> int:
        if place < self._at:
            raise ArchiveError("the sizes in it lead backwards")
        while self._at < place and (chunk := self._source.read(min(CHUNK, place - self._at))):
            self._gathered.spend(len(chunk))
            self._at += len(chunk)
        return self._at

    def rest(self) -> bool:
        """Read to the end; return whether there is anything but zeros."""
        found = False
        while chunk := self._source.read(CHUNK):
            self._gathered.spend(len(chunk))
            found = found or bool(chunk.strip(b"\0"))
        return found


@contextmanager
def readable() -> Iterator[None]:
    """Say of bytes that are no archive that they are none. Raises ArchiveError."""
    try:
        yield
    except _BROKEN as error:
        reason = str(error) or type(error).__name__
        raise ArchiveError(f"it is broken, or cut off: {reason[:1].lower()}{reason[1:]}") from None


class _Unzipped:
    """What is in one gzip stream, as far as it is asked for.

    The standard library goes on with a stream that follows, and RubyGems doesn't: so what follows is an error.
    """

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._zlib = zlib.decompressobj(wbits=31)
        self._is_begun = self._is_whole = False

    def read(self, size: int) -> bytes:
        found = b""
        while len(found) < size and not self._zlib.eof:
            data = self._zlib.unconsumed_tail or self._source.read(CHUNK)
            if not data:
                raise EOFError("its gzip stream has no end")
            if not (self._is_begun or data.startswith(_GZIP)):
                raise ValueError("it is no gzip stream")
            self._is_begun = True
            found += self._zlib.decompress(data, size - len(found))
        if self._zlib.eof and not self._is_whole:
            self._is_whole = True
            rest = self._zlib.unused_data or self._source.read(CHUNK)
            while rest:
                if rest.strip(b"\0"):
                    raise ValueError("more follows its gzip stream, which only some readers read")
                rest = self._source.read(CHUNK)
        return found


def unzipped(source: IO[bytes]) -> IO[bytes]:
    """Return what is in a gzip stream; its checksum is compared at its end."""
    return cast("IO[bytes]", _Unzipped(source))


def _number(field: bytes) -> int | None:
    """Return a header's number, None for one that readers read differently."""
    return int(field.strip(b" \0") or b"0", 8) if _PLAIN_NUMBER.fullmatch(field) else None


def _headers(blocks: list[bytes]) -> list[tuple[bytes, bytes]]:
    """Return the headers before an entry, each with what it holds, and at last the entry's own."""
    found, at = [], 0
    while blocks[at][156:157] in _EXTENSIONS:
        found.append((blocks[at], blocks[at + 1]))
        at += 2
    return [*found, (blocks[at], b"")]


def _header_fault(header: bytes, data: bytes) -> str | None:
    """Return why readers disagree about a header, or what it holds."""
    size, kind = _number(header[124:136]), header[156:157]
    # Some have times behind a short prefix.
    texts = [header[:100], header[157:257], header[345 : 500 if header[475] else 475]]
    content = data[:size]
    if kind in _LONG:
        texts.append(content)
    checksum = sum(header[:148]) + sum(b" " * 8) + sum(header[156:])
    faults = (
        (_number(header[148:156]) != checksum, "has a checksum that only some readers take for one"),
        (size is None, "has a size that readers read differently"),
        (any(text.partition(b"\0")[2].strip(b"\0") for text in texts), "has more behind the end of its name"),
        (
            header[257:265] != b"ustar\x0000" and header[345:346] != b"\0",
            "has a name that readers put together differently",
        ),
        (
            (kind in _RECORDS and not _are_plain(content, _RECORDS[kind])) or data[len(content) :].strip(b"\0"),
            "has records before it that readers read differently",
        ),
    )
    return next((reason for is_so, reason in faults if is_so), None)


def _are_plain(content: bytes, known: Container[bytes]) -> bool:
    """Whether all readers find the same records: some go by lengths, and some by lines; some take the first of two."""
    by_length, at = [], 0
    while at < len(content):
        found = _LENGTH.match(content, at)
        if found is None or content[found.end() - 1 : found.end()] != b" ":
            return False
        end = at + int(found[1])
        if end <= found.end() or content[end - 1 : end] != b"\n":
            return False
        by_length.append(content[found.end() : end - 1])
        at = end
    lines = [(line, _LENGTH.match(line)) for line in content.split(b"\n")]
    by_line = [line[found.end() :] for line, found in lines if found and int(found[1]) == len(line) + 1]
    # What has a dot in its name is some program's own, of which no installer knows any but GNU's sparse files.
    kept, others = ([one for one in each if b"." not in one.partition(b"=")[0]] for each in (by_length, by_line))
    keys = [one.partition(b"=")[0] for one in kept]
    return kept == others and len({*keys}) == len(keys) and all(key in known for key in keys) and _is_utf8(kept)


def _is_utf8(texts: Iterable[bytes]) -> bool:
    try:
        b"".join(texts).decode()
    except UnicodeDecodeError:
        return False
    return True


def _ambiguity(member: tarfile.TarInfo, headers: list[tuple[bytes, bytes]], *, is_gem: bool) -> str | None:
    """Return why readers disagree about an entry: RubyGems reads plain ones alone, npm, pnpm and uv differ."""
    told, (header, _) = member.pax_headers, headers[-1]
    real, kind = _number(header[124:136]), header[156:157]
    before = b"".join(one[156:157] for one, _ in headers[:-1])
    names = (member.name, told.get("path", ""))
    known = {tarfile.REGTYPE} if is_gem else {tarfile.REGTYPE, tarfile.AREGTYPE}
    faults = (
        (member.issparse() or any(key.startswith("GNU.sparse.") for key in told), "is a sparse file"),
        *((reason, reason) for reason in (_header_fault(*one) for one in headers)),
        ("size" in told and member.size != real, "has a size that readers read differently"),
        (not member.isreg() and real, "has content, and is no file"),
        (
            (member.isreg() and any(name.endswith("/") for name in names)) or (before and kind != member.type),
            "is a file with a directory's name",
        ),
        (is_gem and before, "has a header that RubyGems doesn't read"),
        (not _BEFORE.fullmatch(before), "has several headers before its own, and readers go by different ones"),
        (member.isreg() and kind not in known, "is of a kind that some installers leave out"),
        (is_gem and member.name.endswith(" "), "has a name with a blank at its end, which RubyGems takes off"),
        (not is_gem and member.name.startswith("./"), "begins with `.`, which installers take off as the directory"),
    )
    return next((reason for is_so, reason in faults if is_so and reason), None)


def members(
    source: IO[bytes], gathered: Gathered, *, is_gem: bool = False
) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Go through the entries of a tar archive, each file with its bytes, to be read before the next is asked for.

    To be gone through within `readable`. In a gem, what RubyGems reads otherwise is a fault.
    """
    stream = _Stream(source, gathered)
    archive = tarfile.TarFile(fileobj=cast("Any", stream), mode="r", errors="surrogateescape", encoding="utf-8")
    while (member := archive.next()) is not None:
        archive.members = []  # type: ignore[attr-defined]  # it would keep all of them
        gathered.count()
        if reason := _ambiguity(member, _headers(stream.blocks), is_gem=is_gem):
            gathered.fault(member.name, reason)
        stream.blocks.clear()
        stream.in_content = True
        if member.isreg() and not member.issparse():
            yield member, cast("IO[bytes]", archive.extractfile(member))
        else:
            yield member, None
        stream.in_content = False
    # tarfile takes any broken header but the first for the end.
    if any(block.strip(b"\0") for block in stream.blocks):
        raise ArchiveError("it is broken, or cut off: what follows its last entry is no header")
    if stream.rest():
        gathered.fault("", "goes on behind its end, where only some readers look")


def gather(source: IO[bytes], gathered: Gathered, *, is_gem: bool = False) -> None:
    """Take all entries of a tar archive. Raises ArchiveError."""
    with readable():
        _gather(source, gathered, is_gem=is_gem)


def _gather(source: IO[bytes], gathered: Gathered, *, is_gem: bool) -> None:
    for member, content in members(source, gathered, is_gem=is_gem):
        parts = gathered.place(member.name)
        if parts is None:
            continue
        path = "/".join(parts)
        if content is not None:
            chunks = iter(lambda content=content: content.read(CHUNK), b"")  # type: ignore[misc]
            executable = bool(member.mode & 0o100)
            gathered.add(parts, gathered.file(path, chunks, size=member.size, executable=executable))
        elif member.isdir():
            if is_gem and directory_in(gathered.root, parts):
                gathered.fault(path, "is a directory that follows what is in it, which RubyGems takes away")
            gathered.add(parts, {})
        elif member.issym():
            if leads_out(path, member.linkname):
                gathered.fault(path, "is a link that leads out of the archive")
            gathered.add(parts, Linked(target=member.linkname))
        else:
            if not member.issparse():
                gathered.fault(path, _KINDS.get(member.type, "is of an unknown kind"))
            gathered.add(parts, Special())
