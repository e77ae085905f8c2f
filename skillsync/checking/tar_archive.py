"""Reads tar archives, in gzip or not, as a stream: nothing is unpacked to disk, and nothing is read twice.

Invariants: the stream goes forward alone; headers and contents have their limits before they are in memory; what some
reader would take for the end is the end only if it is one.
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, cast

from skillsync.checking.contents import ArchiveError, Linked, Special, leads_out
from skillsync.filesystem import CHUNK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillsync.checking.contents import Gathered

_LONGEST_HEADER = 1 << 20  # of one entry, its long names included
_MOST_HEADERS = 64 << 20
# What the standard library raises for bytes that are no archive, the system's own errors aside.
_BROKEN = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError, OverflowError, RecursionError)
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


def unzipped(source: IO[bytes]) -> IO[bytes]:
    """Return what is in a gzip stream; its checksum is compared at its end."""
    return cast("IO[bytes]", gzip.GzipFile(fileobj=source, mode="rb"))


def members(source: IO[bytes], gathered: Gathered) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    """Go through the entries of a tar archive, each file with its bytes, to be read before the next is asked for.

    To be gone through within `readable`.
    """
    stream = _Stream(source, gathered)
    archive = tarfile.TarFile(fileobj=cast("Any", stream), mode="r", errors="surrogateescape", encoding="utf-8")
    while (member := archive.next()) is not None:
        archive.members = []  # type: ignore[attr-defined]  # it would keep all of them
        gathered.count()
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


def gather(source: IO[bytes], gathered: Gathered) -> None:
    """Take all entries of a tar archive. Raises ArchiveError."""
    with readable():
        _gather(source, gathered)


def _gather(source: IO[bytes], gathered: Gathered) -> None:
    for member, content in members(source, gathered):
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
            reason = _KINDS.get(member.type, "is of an unknown kind")
            gathered.fault(path, "is a sparse file" if member.issparse() else reason)
            gathered.add(parts, Special())
