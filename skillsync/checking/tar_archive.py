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

from skillsync.checking.contents import ArchiveError, Linked, Special, leads_out
from skillsync.filesystem import CHUNK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillsync.checking.contents import Gathered

_GZIP = b"\x1f\x8b"
_LONGEST_HEADER = 1 << 20  # of one entry, its long names included
_MOST_HEADERS = 64 << 20
# What the standard library raises for bytes that are no archive, the system's own errors aside.
_BROKEN = (tarfile.TarError, zlib.error, EOFError, ValueError, OverflowError, RecursionError)
# Numbers that all readers read alike: others take signs, `0o` and `_` or leave off there.
_PLAIN_NUMBER = re.compile(rb" *[0-7]*[ \0]*")
# Within the value of an extended header's record, what readers that go by lines take for a record.
_RECORD = re.compile(r"\n\d+ [^=\n]+=")
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
        self.last = b""  # what was read as a header, at the end

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
            self.last = found
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


def _ambiguity(member: tarfile.TarInfo, header: bytes, *, is_gem: bool) -> str | None:
    """Return why readers disagree about an entry: RubyGems reads plain ones alone, npm and uv differ."""
    told, size = member.pax_headers, header[124:136]
    texts = (header[:100], header[157:257])
    is_plain = bool(_PLAIN_NUMBER.fullmatch(size))
    real = int(size.strip(b" \0") or b"0", 8) if is_plain else -1
    faults = (
        (member.issparse() or any(key.startswith("GNU.sparse.") for key in told), "is a sparse file"),
        (any(_RECORD.search(f"{key}={value}") for key, value in told.items()), "has a record within a record"),
        (any(text.partition(b"\0")[2].strip(b"\0") for text in texts), "has more behind the end of its name"),
        (not is_plain or ("size" in told and member.size != real), "has a size that readers read differently"),
        (not member.isreg() and real > 0, "has content, and is no file"),
        (member.isreg() and member.name.endswith("/"), "is a file with a directory's name"),
        (
            header[257:263] != b"ustar\0" and header[345:346] != b"\0",
            "has a name that readers put together differently",
        ),
        (is_gem and member.offset_data - member.offset > tarfile.BLOCKSIZE, "has a header that RubyGems doesn't read"),
        (is_gem and member.isreg() and member.type != tarfile.REGTYPE, "is of a kind that RubyGems leaves out"),
        (is_gem and member.name.endswith(" "), "has a name with a blank at its end, which RubyGems takes off"),
    )
    return next((reason for is_so, reason in faults if is_so), None)


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
        if reason := _ambiguity(member, stream.last, is_gem=is_gem):
            gathered.fault(member.name, reason)
        stream.in_content = True
        if member.isreg() and not member.issparse():
            yield member, cast("IO[bytes]", archive.extractfile(member))
        else:
            yield member, None
        stream.in_content = False
    # tarfile takes any broken header but the first for the end.
    if stream.last.strip(b"\0"):
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
            gathered.add(parts, {})
        elif member.issym():
            if leads_out(path, member.linkname):
                gathered.fault(path, "is a link that leads out of the archive")
            gathered.add(parts, Linked(target=member.linkname))
        else:
            if not member.issparse():
                gathered.fault(path, _KINDS.get(member.type, "is of an unknown kind"))
            gathered.add(parts, Special())
