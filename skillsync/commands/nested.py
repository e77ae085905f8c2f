"""The projects below a directory that is none: at the top of a repository with several, one of them is meant.

Invariants: reads names of directories alone, and not without end; follows no link; looks into nothing that is installed
or hidden; what can't be listed is passed over, since it is a hint that is looked for.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from skillsync.filesystem import shown
from skillsync.locking import lockfile, manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = frozenset({manifest.FILE_NAME, lockfile.FILE_NAME})
_DEPTH = 4  # slashes in a path: `apps/group/name` has two
_MOST = 2000  # directories, which takes a tenth of a second
_NAMED = 5  # projects in a message
_ENVIRONMENT = "pyvenv.cfg"


def projects(root: str) -> Iterator[str]:
    """Yield the directories below one that have a manifest or a lock, relative to it, the nearest first.

    Those below such a directory are its own matter.
    """
    queue = [""]
    for path in islice(queue, _MOST):  # it grows meanwhile
        names, inner = _listed(f"{root}/{path}")
        if path and names & _NAMES:
            yield path
        elif _ENVIRONMENT not in names and path.count("/") < _DEPTH:
            queue += (f"{path}/{name}".lstrip("/") for name in inner)


def _listed(directory: str) -> tuple[frozenset[str], list[str]]:
    """Return the names in a directory, and those of the directories in it that may be somebody's work."""
    names: set[str] = set()
    inner: list[str] = []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            names.add(entry.name)
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".") and entry.name != "node_modules":
                inner.append(entry.name)
    return frozenset(names), sorted(inner)


def meant(root: str) -> tuple[str, str]:
    """Return what a message and a hint say of the projects below a directory that is none itself, "" for nothing."""
    is_one = any(os.path.lexists(f"{root}/{name}") for name in _NAMES)
    found = [] if is_one else list(projects(root))
    if not found:
        return "", ""
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return (
        f"; there are projects below it: {', '.join(map(shown, found[:_NAMED]))}{more}",
        f"name the one that is meant, as by `{_option(f'{root}/{found[0]}')}`",
    )


def _option(path: str) -> str:
    """Return the option that names a project, from where the person is."""
    with suppress(FileNotFoundError):  # where they are is gone
        path = os.path.relpath(path)
    return shlex.join(("--project", shown(f"./{path}" if path.startswith("-") else path)))
