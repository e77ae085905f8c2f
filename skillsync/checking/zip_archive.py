"""Reads zip archives, as wheels are: nothing is unpacked to disk.

Invariants: the directory at the end is bounded before it is read; each entry's bytes are its own, and no bytes are
nobody's: readers that go by the directory and those that go from the start see the same.
"""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from typing import IO, TYPE_CHECKING

from skillsync.checking.contents import ArchiveError, BombError, leads_out
from skillsync.filesystem import CHUNK

if TYPE_CHECKING:
    from skillsync.checking.contents import Gathered

_END = b"PK\5\6"
_END_SIZE = 22
_END_LONGEST = _END_SIZE + 65_535  # with a comment
_LOCAL = b"PK\3\4"
_LOCAL_SIZE = 30
_DESCRIPTOR = 24  # what may follow an entry's bytes
_MOST_DIRECTORY = 64 << 20
_WHOLE = 0xFFFFFFFF  # what stands there in zip64, which only archives of more than 4 GiB need
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OverflowError, NotImplementedError, struct.error)
_STORED_OR_DEFLATED = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


def gather(source: IO[bytes], gathered: Gathered) -> None:
    """Take all entries of a zip archive. Raises ArchiveError."""
    try:
        start = _check_end(source)
        with zipfile.ZipFile(source) as archive:
            found = archive.infolist()
            _check_places(source, found, start, gathered)
            for one in found:
                gathered.count()
                _take(archive, one, gathered)
    except _BROKEN as error:
        raise ArchiveError(f"it is broken, or cut off: {error}") from None


def _check_end(source: IO[bytes]) -> int:
    """Return where the directory begins. Raises ArchiveError for one that is too large, or not where it has to be."""
    size = source.seek(0, 2)
    source.seek(max(0, size - _END_LONGEST))
    tail = source.read(_END_LONGEST)
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        raise ArchiveError("it is no zip archive, or cut off")
    length, start, comment = struct.unpack("<LLH", tail[at + 12 : at + _END_SIZE])
    if _WHOLE in {length, start} or length > _MOST_DIRECTORY:
        raise BombError("its directory is larger than that of any package")
    if start + length != size - len(tail) + at or at + _END_SIZE + comment != len(tail):
        raise ArchiveError("bytes stand before or behind it, or in it, that only some readers look at")
    return int(start)


def _check_places(source: IO[bytes], found: list[zipfile.ZipInfo], end: int, gathered: Gathered) -> None:
    """Note bytes that are two entries', or nobody's."""
    at = 0
    for one in sorted(found, key=lambda one: one.header_offset):
        source.seek(one.header_offset)
        header = source.read(_LOCAL_SIZE)
        if len(header) < _LOCAL_SIZE or not header.startswith(_LOCAL):
            raise ArchiveError("its directory names entries that are not there")
        if one.header_offset < at:
            gathered.fault(one.filename, "has bytes that are another entry's as well")
        elif one.header_offset > at + (_DESCRIPTOR if at else 0):
            gathered.fault(one.filename, "stands behind bytes that are no entry's")
        name, extra = struct.unpack("<HH", header[26:])
        at = one.header_offset + _LOCAL_SIZE + name + extra + one.compress_size
    if at > end or end > at + _DESCRIPTOR:
        gathered.fault("", "has bytes that are no entry's")


def _take(archive: zipfile.ZipFile, one: zipfile.ZipInfo, gathered: Gathered) -> None:
    # zipfile ends a name at a NUL; others don't.
    parts = gathered.place(one.orig_filename)
    if parts is None:
        return
    path = "/".join(parts)
    if one.is_dir():
        gathered.add(parts, {})
        return
    if one.flag_bits & 1 or one.compress_type not in _STORED_OR_DEFLATED:
        gathered.fault(path, "is encrypted, or compressed in a way that installers don't know")
        return
    mode = one.external_attr >> 16
    with archive.open(one) as content:
        chunks = iter(lambda: content.read(CHUNK), b"")
        node = gathered.file(path, chunks, size=one.file_size, executable=bool(mode & 0o100))
    if stat.S_ISLNK(mode):
        target = (node.text or b"").decode(errors="replace")
        out = " that leads out of the archive" if leads_out(path, target) else ""
        gathered.fault(path, f"is a link{out}: installers write a file with its path as text")
    elif stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
        gathered.fault(path, "is neither a file nor a directory")
    gathered.add(parts, node)
