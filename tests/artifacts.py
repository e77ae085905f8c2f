"""Built artifacts for tests, made by hand so that anything can be wrong with them: gems, wheels, tarballs."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
import zipfile
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
