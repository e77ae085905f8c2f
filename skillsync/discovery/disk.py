"""What an ecosystem reads: directories and dependency files, where unreadable is never the same as absent.

Invariants: reads only; all paths are absolute; what is there and can't be read ends the reading.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from skillsync.errors import UnreadableError
from skillsync.filesystem import Kind, is_directory, listing, open_directory, read_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillsync.schema import Place


class BlockedError(Exception):
    """Something is there and can't be read: `path` says what, `place` where in it, its text why."""

    def __init__(self, path: str, reason: str, place: Place = (None, None)) -> None:
        """Take the absolute path, the reason, and the place in the file where it is known."""
        super().__init__(reason)
        self.path = path
        self.place = place


def entries(directory: str, relative: str = "") -> dict[str, Kind] | None:
    """Return what is in a directory, or None if there is none; UnreadableError for a link below `directory`."""
    try:
        with open_directory(directory, relative) as fd:
            return listing(fd)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BlockedError(os.path.join(directory, relative), os.strerror(error.errno or 0).lower()) from None


def exists(path: str) -> bool:
    """Whether a directory is there, or a link to one."""
    try:
        return is_directory(path)
    except UnreadableError as error:
        raise BlockedError(path, str(error)) from None


def ships(root: str, places: Iterable[str]) -> bool:
    """Whether a package has one of the directories in which skills are looked for."""
    return any(exists(f"{root}/{place}") for place in places)


def content(path: str, limit: int) -> bytes | None:
    """Return the bytes of a file of the project's own, or None if there is none."""
    try:
        return read_file(path, limit, follow=True)
    except UnreadableError as error:
        raise BlockedError(path, str(error)) from None
