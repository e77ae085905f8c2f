"""RECORD: which files an installer says are a distribution's, and which of them belong to skills.

Invariants: pure; rows are hostile: a path counts only if, as text, it stays below the directory that the metadata
directory stands in.
"""

from __future__ import annotations

import binascii
import csv
import re
from io import StringIO
from typing import TYPE_CHECKING

from skillsync.schema import path_fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

_SKILLS = "skills"
_AGENTS = ".agents"
# SKILL.md in whatever case: one in the wrong case is a skill too, an invalid one.
_SKILL_FILE = "skill.md"
_HINTS = (b"skills/", b"skill.md")
# With the lines after it that begin in the same way, since they are many.
_TOP = rb'\n"?([A-Za-z_]\w*)/(?:[^\n]*\n"?\1/)*+'
_DEPTH = 100
_SHA256 = "sha256="
_SHA256_SIZE = 32


def concerns_skills(content: bytes) -> bool:
    """Whether a RECORD can list anything of a skill: in most there is nothing, and they are not parsed."""
    lowered = content.lower()
    return any(hint in lowered for hint in _HINTS)


def top_level(content: bytes) -> tuple[str, ...]:
    """Return the directories with an importable name that a RECORD begins its paths with, without parsing it."""
    return tuple(sorted({name.decode() for name in re.findall(_TOP, b"\n" + content)} - {"__pycache__"}))


def parse(text: str) -> dict[str, str]:
    """Return the files below RECORD's own root, each with what its row says of its hash.

    Rows that lead anywhere else (data files, scripts) are passed over, and those that lead deeper than any skill can.
    Raises ValueError for what is no RECORD.
    """
    files: dict[str, str] = {}
    try:
        for row in csv.reader(StringIO(text, newline=""), strict=True):
            if row and row[0].count("/") < _DEPTH and not path_fault(row[0]):
                files[row[0]] = row[1] if len(row) > 1 else ""
    except csv.Error as error:
        raise ValueError(f"it is not made of comma-separated rows: {error}") from None
    return files


def sha256(text: str) -> str:
    """Return the SHA-256 that a row tells, in hexadecimal; "" where it tells none, or a hash of another kind."""
    digest = text.removeprefix(_SHA256)
    if digest == text:
        return ""
    try:
        found = binascii.a2b_base64(digest.replace("-", "+").replace("_", "/") + "=" * (-len(digest) % 4))
    except (binascii.Error, ValueError):
        return ""
    return found.hex() if len(found) == _SHA256_SIZE else ""


def skill_directories(files: Iterable[str]) -> frozenset[str]:
    """Return the directories that hold a SKILL.md, wherever they are."""
    split = (path.rpartition("/") for path in files)
    return frozenset(directory for directory, _, name in split if directory and name.lower() == _SKILL_FILE)


def places(files: Iterable[str]) -> tuple[str, ...]:
    """Return the skills directories of the import packages among a distribution's files.

    An import package is a directory at the top, or one below it that is reached through namespaces alone: directories
    without `__init__`. Nothing in a directory called `skills` is one.
    """
    split = [path.rpartition("/") for path in files]
    regular = {directory for directory, _, name in split if name.startswith("__init__.")}
    directories = {directory for directory, _, _ in split}
    return tuple(sorted({place for one in directories if (place := _place(one.split("/"), regular))}))


def _place(parts: Sequence[str], regular: AbstractSet[str]) -> str | None:
    """Return the skills directory that a directory is, or is in."""
    directory = parts[0] if parts[0].isidentifier() else ""
    for index, part in enumerate(parts[1:], 1):
        if not directory:
            break
        if part == _SKILLS:
            return f"{directory}/{_SKILLS}"
        if part == _AGENTS:
            return f"{directory}/{_AGENTS}/{_SKILLS}" if parts[index + 1 : index + 2] == [_SKILLS] else None
        is_package = part.isidentifier() and directory not in regular and directory != _SKILLS
        directory = f"{directory}/{part}" if is_package else ""
    return None


def usual_places(packages: Iterable[str]) -> tuple[str, ...]:
    """Return the skills directories that import packages may have."""
    return tuple(place for package in packages for place in (f"{package}/{_AGENTS}/{_SKILLS}", f"{package}/{_SKILLS}"))
