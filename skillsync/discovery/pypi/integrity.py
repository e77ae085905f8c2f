"""What was changed in an installed skill since its package was installed, by the hashes that the installer wrote down.

Invariants: reads only; which files a skill has is the tree walker's answer, never found out a second time here; a file
without a hash in RECORD tells nothing, and nor does a package without a RECORD.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillsync.errors import UnreadableError
from skillsync.filesystem import READ, exists, open_directory
from skillsync.hashing import File

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillsync.discovery.environment import Package
    from skillsync.hashing import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Alterations:
    """The files of a skill, by path relative to it, that are not as they were installed."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether everything is as it was installed, as far as that is known."""
        return not (self.added or self.changed or self.removed)


def alterations(package: Package, skill: str, tree: Mapping[str, Entry]) -> Alterations:
    """Compare a skill, as the tree walker found it, with what the installer wrote down.

    `skill` is the skill's path relative to the package's root. Raises OSError.
    """
    recorded = package.recorded(skill)
    if not recorded:
        return Alterations()
    directory = f"{package.root}/{skill}"
    hashed = (path for path, entry in tree.items() if isinstance(entry, File) and recorded.get(path))
    found = {path: _sha256(directory, path) for path in hashed}
    missing = (path for path in recorded if path not in tree and not exists(f"{directory}/{path}"))
    return compare(recorded, tree, found, missing)


def compare(
    recorded: Mapping[str, str], tree: Iterable[str], found: Mapping[str, str], missing: Iterable[str]
) -> Alterations:
    """Return what differs: pure. `found` are the hashes of the files in the tree that have one in RECORD.

    What was compiled when the package was installed is listed without a hash, and isn't missed.
    """
    return Alterations(
        added=tuple(sorted(path for path in tree if path not in recorded)),
        changed=tuple(sorted(path for path, digest in found.items() if digest != recorded[path])),
        removed=tuple(sorted(path for path in missing if recorded[path])),
    )


def _sha256(directory: str, path: str) -> str:
    """Hash a file of a skill; the last component may be a link, which the tree walker has let pass as a file."""
    above, name = posixpath.split(path)
    try:
        with (
            open_directory(directory, above) as fd,
            os.fdopen(os.open(name, READ & ~os.O_NOFOLLOW, dir_fd=fd), "rb") as file,
        ):
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (UnreadableError, FileNotFoundError, NotADirectoryError):
        return ""  # it went away after the walk: changed
