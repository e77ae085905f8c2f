"""Built artifacts for tests, made by hand so that anything can be wrong with them: gems, wheels, tarballs."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wheels import metadata_text, record_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    Files = Mapping[str, str | bytes]


def entry(name: str, kind: bytes = tarfile.REGTYPE, **more: Any) -> tarfile.TarInfo:  # noqa: ANN401  # of its attributes
    """Return the header of an entry."""
    found = tarfile.TarInfo(name)
    found.type, found.mode = kind, 0o644
    for key, value in more.items():
        setattr(found, key, value)
    return found


def packed(files: Files, *more: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """Return a tar archive of the files, then of whatever else is given."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            mode = 0o755 if data.startswith(b"#!") else 0o644
            archive.addfile(entry(name, size=len(data), mode=mode), io.BytesIO(data))
        for header, data in more:
            archive.addfile(header, io.BytesIO(data))
    return out.getvalue()


def packed_tree(root: Path, top: str = "") -> bytes:
    """Return a tar archive of all that is below a directory, by the standard library's own reading of it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in sorted(os.listdir(root)):
            archive.add(root / name, top + name)
    return out.getvalue()


def zipped_tree(root: Path) -> bytes:
    """Return a zip archive of all files below a directory."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for directory, names, found in os.walk(root):
            names.sort()
            for name in sorted(found):
                path = os.path.join(directory, name)
                info = zipfile.ZipInfo(os.path.relpath(path, root))
                info.external_attr = os.stat(path).st_mode << 16
                with open(path, "rb") as opened:
                    archive.writestr(info, opened.read())
    return out.getvalue()


def gem(
    data: bytes,
    *more: tuple[tarfile.TarInfo, bytes],
    name: str = "kelp",
    version: str = "1.2.0",
    change: Callable[[dict[str, bytes]], object] = dict,
) -> bytes:
    """Return a gem of a data archive; `more` members follow, `change` may spoil its own."""
    metadata = (
        "--- !ruby/object:Gem::Specification\n"
        f"name: {name}\nversion: !ruby/object:Gem::Version\n  version: {version}\nplatform: ruby\n"
    )
    members = {"metadata.gz": gzip.compress(metadata.encode()), "data.tar.gz": gzip.compress(data)}
    sums = "---\n"
    for algorithm in ("SHA256", "SHA512"):
        sums += f"{algorithm}:\n"
        sums += "".join(f"  {one}: {hashlib.new(algorithm, content).hexdigest()}\n" for one, content in members.items())
    members["checksums.yaml.gz"] = gzip.compress(sums.encode())
    change(members)
    return packed(members, *more)


# The name of the wheel that `wheel_files` makes: installers refuse any other.
WHEEL = "kelp-1.2.0-py3-none-any.whl"


def wheel_files(files: Files, *, name: str = "kelp", version: str = "1.2.0") -> dict[str, str | bytes]:
    """Return the files of a wheel, with its metadata directory."""
    about = f"{name}-{version}.dist-info"
    tag = "Wheel-Version: 1.0\nGenerator: kelp\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    every: dict[str, str | bytes] = {
        **files,
        f"{about}/METADATA": metadata_text(name, version),
        f"{about}/WHEEL": tag,
    }
    every[f"{about}/RECORD"] = record_text(every, [(f"{about}/RECORD", "", "")])
    return every


def zipped(files: Files, *more: tuple[zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive of the files, then of whatever else is given."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            runs = (content if isinstance(content, bytes) else content.encode()).startswith(b"#!")
            info.external_attr = (stat.S_IFREG | (0o755 if runs else 0o644)) << 16
            archive.writestr(info, content)
        for info, data in more:
            archive.writestr(info, data)
    return out.getvalue()


@dataclass
class Part:
    """An entry of a zip archive; `header` and `row` say otherwise than it is what they name."""

    name: bytes
    content: bytes
    method: int = zipfile.ZIP_DEFLATED
    flags: int = 0
    extra: bytes = b""
    row_extra: bytes = b""
    comment: bytes = b""
    more: bytes = b""  # behind its compressed bytes, and counted as such
    behind: bytes = b""
    header: dict[str, int] = field(default_factory=dict)
    row: dict[str, int] = field(default_factory=dict)

    @property
    def packed(self) -> bytes:
        stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        is_deflated = self.method == zipfile.ZIP_DEFLATED
        return (stream.compress(self.content) + stream.flush() if is_deflated else self.content) + self.more

    @property
    def fields(self) -> dict[str, int]:
        """What header and row have in common, in their order."""
        sizes = {"crc": zlib.crc32(self.content), "packed": len(self.packed), "size": len(self.content)}
        return {"flags": self.flags, "method": self.method, "time": 0, "date": 0x21, **sizes}

    @property
    def descriptor(self) -> bytes:
        return b"PK\7\x08" + struct.pack("<3L", *list(self.fields.values())[-3:])


def parted(
    files: Files, change: Callable[[Part], object], *, last: Iterable[Part] = (), end: Mapping[str, int] | None = None
) -> bytes:
    """Return a zip archive of the files, of which `change` may spoil the first, and `end` the end of the directory."""
    given = ((name, content.encode() if isinstance(content, str) else content) for name, content in files.items())
    parts = [*(Part(name.encode(), content) for name, content in given), *last]
    change(parts[0])
    out, rows = b"", b""
    for one in parts:
        header, row = (struct.pack("<4H3L", *(one.fields | other).values()) for other in (one.header, one.row))
        lengths = struct.pack("<4H2L", len(one.row_extra), len(one.comment), 0, 0, 0o100644 << 16, len(out))
        rows += b"PK\1\2\x14\3\x14\0" + row + struct.pack("<H", len(one.name)) + lengths
        rows += one.name + one.row_extra + one.comment
        out += b"PK\3\4\x14\0" + header + struct.pack("<2H", len(one.name), len(one.extra)) + one.name + one.extra
        out += one.packed + one.behind
    told = {"disk": 0, "first": 0, "here": len(parts), "all": len(parts), "length": len(rows), "start": len(out)}
    return out + rows + b"PK\5\6" + struct.pack("<4H2LH", *(told | dict(end or {})).values(), 0)


def tarball(files: Files, *more: tuple[tarfile.TarInfo, bytes], top: str = "package/") -> bytes:
    """Return what npm packs: all files in one directory."""
    return gzip.compress(packed({f"{top}{path}": content for path, content in files.items()}, *more), mtime=0)


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def corrupted(content: bytes, places: Iterable[int]) -> bytes:
    """Return bytes with some of them changed."""
    found = bytearray(content)
    for place in places:
        found[place % len(found)] ^= 0xFF
    return bytes(found)
