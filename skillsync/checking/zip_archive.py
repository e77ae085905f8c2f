"""Reads zip archives, as wheels are: nothing is unpacked to disk.

Invariants: the directory at the end is bounded before it is read; each entry's bytes are its own, and its header says
what its row in the directory says; no bytes are nobody's: readers that go by the directory and those that go from the
start see the same.
"""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from typing import IO, TYPE_CHECKING

from skillsync.checking.contents import ArchiveError, BombError, leads_out
from skillsync.filesystem import CHUNK, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillsync.checking.contents import Gathered

_END = b"PK\5\6"
_END_SIZE = 22
_LOCATOR = b"PK\6\7"  # zip64's, right before the end
_LOCATOR_SIZE = 20
_END_LONGEST = _LOCATOR_SIZE + _END_SIZE + 65_535  # with a comment
_ROW = b"PK\1\2"
_LOCAL = b"PK\3\4"
_LOCAL_SIZE = 30
_DESCRIPTOR = b"PK\7\x08"  # what follows an entry's bytes whose sizes weren't known before
_DESCRIPTOR_SIZE = 16
_MOST_DIRECTORY = 64 << 20
_WHOLE = 0xFFFFFFFF  # what stands there in zip64, which only archives of more than 4 GiB need
_ZIP64, _SECOND_NAME = 0x0001, 0x7075  # extra fields
_ENCRYPTED, _SIZES_FOLLOW, _IS_UTF8 = 1, 8, 0x800  # flags
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OverflowError, NotImplementedError, struct.error)


def gather(source: IO[bytes], gathered: Gathered) -> None:
    """Take all entries of a zip archive. Raises ArchiveError."""
    try:
        count, directory = _check_end(source, gathered)
        with zipfile.ZipFile(source) as archive:
            found = sorted(archive.infolist(), key=lambda one: one.header_offset)
        if len(found) != count:
            raise ArchiveError("its directory has another number of entries than its end says")
        at = 0
        for one in found:
            if one.header_offset < at:
                gathered.fault(one.filename, "has bytes that are another entry's as well")
            elif one.header_offset > at:
                gathered.fault(one.filename, "stands behind bytes that are no entry's")
            at = _take(source, one, gathered)
        if at != directory:
            gathered.fault("", "has bytes that are no entry's")
    except _BROKEN as error:
        raise ArchiveError(f"it is broken, or cut off: {error}") from None


def _check_end(source: IO[bytes], gathered: Gathered) -> tuple[int, int]:
    """Return how many entries the directory has, as its end says, and where it begins.

    Raises ArchiveError for one that is too large, or not where it has to be.
    """
    size = source.seek(0, 2)
    source.seek(max(0, size - _END_LONGEST))
    tail = source.read(_END_LONGEST)
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        raise ArchiveError("it is no zip archive, or cut off")
    disk, first, here, count, length, start, comment = struct.unpack("<4H2LH", tail[at + 4 : at + _END_SIZE])
    if _WHOLE in {length, start} or length > _MOST_DIRECTORY:
        raise BombError("its directory is larger than that of any package")
    if start + length != size - len(tail) + at or at + _END_SIZE + comment != len(tail):
        raise ArchiveError("bytes stand before or behind it, or in it, that only some readers look at")
    if (disk, first, here) != (0, 0, count) or tail[max(0, at - _LOCATOR_SIZE) : at].startswith(_LOCATOR):
        raise ArchiveError("its end is one of several, or one that only some readers look at")
    # zipfile makes an object of each row, however many there are.
    source.seek(start)
    gathered.count(source.read(length).count(_ROW))
    return count, start


def _take(source: IO[bytes], one: zipfile.ZipInfo, gathered: Gathered) -> int:
    """Take an entry; return where the next has to begin."""
    # zipfile ends a name at a NUL; others don't.
    parts = gathered.place(one.orig_filename)
    path = "/".join(parts or ())
    if difference := _difference(source, one):
        gathered.fault(one.orig_filename, difference)
    start = source.tell()
    end = start + one.compress_size
    if one.flag_bits & _SIZES_FOLLOW:
        source.seek(end)
        told = _DESCRIPTOR + struct.pack("<3L", *_sizes(one))
        # Of bytes that aren't compressed, who reads from the start can't tell the end.
        if source.read(_DESCRIPTOR_SIZE) != told or one.compress_type == zipfile.ZIP_STORED:
            gathered.fault(one.orig_filename, "has its sizes behind it as only some readers find them")
        end += _DESCRIPTOR_SIZE
    if parts is None:
        return end
    if one.orig_filename.endswith("/"):
        if one.compress_size or one.file_size:
            gathered.fault(path, "is a directory, and has content")
        gathered.add(parts, {})
    elif one.flag_bits & _ENCRYPTED or one.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        gathered.fault(path, "is encrypted, or compressed in a way that installers don't know")
    else:
        source.seek(start)
        _take_file(_content(source, one), one, parts, gathered)
    return end


def _sizes(one: zipfile.ZipInfo) -> tuple[int, int, int]:
    return one.CRC, one.compress_size, one.file_size


def _difference(source: IO[bytes], one: zipfile.ZipInfo) -> str | None:
    """Read an entry's header, up to its bytes; return why readers disagree with those that read its row alone."""
    source.seek(one.header_offset)
    header = source.read(_LOCAL_SIZE)
    if len(header) < _LOCAL_SIZE or not header.startswith(_LOCAL):
        raise ArchiveError("its directory names entries that are not there")
    flags, method, crc, packed, size, name_length, extra_length = struct.unpack("<6x2H4x3L2H", header)
    name = source.read(name_length).decode("utf-8" if flags & _IS_UTF8 else "cp437")
    extra, row = _extra(source.read(extra_length)), _extra(one.extra)
    if _ZIP64 in extra and (packed, size) == (_WHOLE, _WHOLE):
        size, packed = struct.unpack("<2Q", extra[_ZIP64])
    sizes, wide = (crc, packed, size), struct.pack("<2Q", size, packed)
    are_told = sizes == _sizes(one) or (flags & _SIZES_FOLLOW and sizes == (0, 0, 0))
    is_same = (flags, method, name) == (one.flag_bits, one.compress_type, one.orig_filename) and are_told
    faults = (
        (not is_same, "has another header before its bytes than in the directory, and each reader goes by one"),
        (_SECOND_NAME in {*extra, *row}, "has a second name, which only some readers read"),
        (_ZIP64 in row or extra.get(_ZIP64, wide) != wide, "has sizes that readers read differently"),
        (not (name.isascii() or flags & _IS_UTF8), "has a name that is not UTF-8, or doesn't say that it is"),
    )
    return next((reason for is_so, reason in faults if is_so), None)


def _extra(content: bytes) -> dict[int, bytes]:
    """Return extra fields by number."""
    found: dict[int, bytes] = {}
    while content:
        number, length = struct.unpack("<2H", content[:4])
        value, content = content[4 : 4 + length], content[4 + length :]
        if number in found or len(value) < length:
            raise ArchiveError("it has an extra field that is there twice, or cut off")
        found[number] = value
    return found


def _content(source: IO[bytes], one: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the bytes of an entry. Raises ArchiveError for others than it is said to have."""
    chunks = _packed(source, one.compress_size)
    crc, left = 0, one.file_size
    for chunk in _inflated(chunks) if one.compress_type == zipfile.ZIP_DEFLATED else chunks:
        crc = zlib.crc32(chunk, crc)
        left -= len(chunk)
        if left < 0:
            break
        yield chunk
    if left or crc != one.CRC:
        raise ArchiveError(f"`{shown(one.orig_filename)}` has other bytes than its size and its checksum say")


def _packed(source: IO[bytes], size: int) -> Iterator[bytes]:
    while size and (chunk := source.read(min(CHUNK, size))):
        size -= len(chunk)
        yield chunk


def _inflated(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what compressed bytes stand for; they have to end where their stream does."""
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    for chunk in chunks:
        data = chunk
        while data and not stream.eof:
            yield stream.decompress(data, CHUNK)
            data = stream.unconsumed_tail
        if data or stream.unused_data:
            raise ValueError("more follows an entry's compressed bytes, which only some readers read")
    yield stream.flush()
    if not stream.eof:
        raise EOFError("the compressed bytes of an entry have no end")


def _take_file(content: Iterator[bytes], one: zipfile.ZipInfo, parts: tuple[str, ...], gathered: Gathered) -> None:
    mode, path = one.external_attr >> 16, "/".join(parts)
    node = gathered.file(path, content, size=one.file_size, executable=bool(mode & 0o100))
    if stat.S_ISLNK(mode):
        target = (node.text or b"").decode(errors="replace")
        out = " that leads out of the archive" if leads_out(path, target) else ""
        gathered.fault(path, f"is a link{out}: installers write a file with its path as text")
    elif stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
        gathered.fault(path, "is neither a file nor a directory")
    gathered.add(parts, node)
