"""The distributions that are installed in one directory, by their metadata directories.

Invariants: reads only, with limits; what can't be read is told with its reason, and hides no other distribution; a
RECORD in which there is nothing of a skill isn't parsed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from skillsync.discovery.pypi import metadata, record
from skillsync.errors import UnreadableError
from skillsync.filesystem import Kind, is_absent, listing, open_directory, read_file, read_start
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillsync.discovery.pypi.metadata import Direct, Identity

_RECORD_LIMIT = 5 * 1024 * 1024  # 50,000 files of a hundred bytes each
_RECORD_LINES = 150_000
_SMALL = 1024 * 1024
_DIST_INFO = ".dist-info"
_EGG_INFO = ".egg-info"
# What the installers of long ago left, which no RECORD and no direct_url.json goes with.
_LEGACY = {".egg-link": "a legacy editable install", ".egg": "an egg"}

_Recorded: TypeAlias = "tuple[Mapping[str, str] | None, str | None, tuple[str, ...]]"
_NO_RECORD: _Recorded = (None, "has no RECORD", ())


class Distribution(Value):
    """One installed distribution. `entry` is its metadata's name in the directory.

    `files` are those of RECORD with what it says of their hashes, empty where none is of a skill; None without a RECORD
    that can be read, and then `fault` says why. `packages` are the directories that may be its import packages.
    """

    about: Identity
    entry: str
    files: Mapping[str, str] | None
    fault: str | None
    direct: Direct | None
    packages: tuple[str, ...]
    hints: tuple[str, ...]


class Broken(Value):
    """Metadata that can't be used. `name` is whose it seems to be."""

    entry: str
    name: str | None
    reason: str


def read(site: str) -> tuple[list[Distribution], list[Broken]]:
    """Read the metadata of all distributions in a directory. Raises OSError if it can't be listed."""
    found: list[Distribution] = []
    broken: list[Broken] = []
    with open_directory(site) as fd:
        entries = listing(fd)
    for entry, kind in entries.items():
        legacy = next((text for ending, text in _LEGACY.items() if entry.endswith(ending)), None)
        if legacy:
            broken.append(_broken(entry, f"is {legacy}, which is not read"))
        elif entry.endswith((_DIST_INFO, _EGG_INFO)):
            try:
                found.append(_distribution(site, entry, is_file=kind is Kind.FILE))
            except (UnreadableError, ValueError) as error:
                broken.append(_broken(entry, f"can't be used: {error}"))
    return found, broken


def _broken(entry: str, reason: str) -> Broken:
    return Broken(entry=entry, name=metadata.guessed_name(entry), reason=reason)


def _distribution(site: str, entry: str, *, is_file: bool) -> Distribution:
    """Read one distribution. Raises UnreadableError or ValueError."""
    directory = f"{site}/{entry}"
    if entry.startswith("~"):
        raise ValueError("it is left from an uninstall that was interrupted")
    is_egg = entry.endswith(_EGG_INFO)
    path = directory if is_file and is_egg else f"{directory}/{'PKG-INFO' if is_egg else 'METADATA'}"
    start = read_start(path, metadata.READ_SIZE, follow=True)
    if start is None:
        raise ValueError(f"it has no {'PKG-INFO' if is_egg else 'METADATA'}")
    about = metadata.identity(start)
    if not metadata.is_of(entry, about):
        raise ValueError(f"what is in it calls itself {about.name} {about.version}, and its own name doesn't say that")
    direct: Direct | None = None
    files, fault, packages = _NO_RECORD
    if not is_egg:
        direct = _direct(directory)
        files, fault, packages = _record(directory, parse=direct is not None and direct.is_editable)
    hints: tuple[str, ...] = ()
    if files is None or (direct is not None and direct.is_editable):
        hints = metadata.import_names(_text(f"{directory}/top_level.txt"))
    if files is None:
        packages = hints or metadata.source_names(_text(f"{directory}/SOURCES.txt")) or metadata.likely_names(about)
    return Distribution(
        about=about, entry=entry, files=files, fault=fault, direct=direct, packages=packages, hints=hints
    )


def _direct(directory: str) -> Direct | None:
    try:
        content = read_file(f"{directory}/direct_url.json", _SMALL, follow=True)
        return None if content is None else metadata.direct(content)
    except (UnreadableError, ValueError) as error:
        raise ValueError(f"its direct_url.json can't be read: {error}") from None


def _record(directory: str, *, parse: bool) -> _Recorded:
    """Return the files of a RECORD, or why there are none, and the directories that its paths begin with."""
    try:
        content = read_file(f"{directory}/RECORD", _RECORD_LIMIT, follow=True)
        if not content:  # a RECORD lists itself at least
            return _NO_RECORD if content is None else (None, "has an empty RECORD", ())
        if content.count(b"\n") + content.count(b"\r") > _RECORD_LINES:
            return None, f"has a RECORD that can't be read (it has more than {_RECORD_LINES} lines)", ()
        files = record.parse(content.decode()) if parse or record.concerns_skills(content) else {}
        return files, None, record.top_level(content)
    except UnicodeDecodeError:
        return None, "has a RECORD that is not UTF-8", ()
    except (UnreadableError, ValueError) as error:
        return None, f"has a RECORD that can't be read ({error})", ()


def _text(path: str) -> str:
    """Return a hint's text; where it can't be read there is none."""
    try:
        return (read_file(path, _SMALL, follow=True) or b"").decode(errors="replace")
    except UnreadableError:
        return ""


def children(site: str, places: tuple[str, ...]) -> frozenset[str]:
    """Return what is in the skills directories that exist, by path relative to the site."""
    found: set[str] = set()
    for place in places:
        if is_absent(f"{site}/{place}"):
            continue
        try:
            with open_directory(site, place) as fd:
                found.update(f"{place}/{name}" for name in listing(fd))
        except (OSError, UnreadableError):
            continue
    return frozenset(found)
