"""The project that a command is about: where its root is, and its manifest and lock, read and checked.

Invariants: reads only the two documents; absent, empty, unreadable and of another version stay different cases.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from skillsync.discovery import ECOSYSTEMS, marked
from skillsync.errors import Code, Problem, SkillsyncError, UnreadableError
from skillsync.filesystem import read_file, upward_from
from skillsync.locking import lockfile, manifest
from skillsync.schema import InvalidError, MalformedError, NewerError
from skillsync.syncing.target import locate
from skillsync.track import untracked
from skillsync.values import Value

if TYPE_CHECKING:
    from skillsync.locking.lockfile import Lockfile
    from skillsync.locking.manifest import Manifest
    from skillsync.schema import Place
    from skillsync.syncing.target import Target
    from skillsync.track import Track


class Project(Value):
    """The project that a command is about, and what the person said of it.

    `root` is its absolute directory; `python` the Python environment that was named; `outside` tells whether a target
    directory may lie outside, through a link; `track` is told how far the command is.
    """

    root: str
    python: str | None = None
    outside: bool = False
    track: Track = untracked


def targets(project: Project, manifest: Manifest) -> list[Target]:
    """Return the target directories. Raises SkillsyncError for one that leaves the project."""
    return locate(project.root, manifest.targets, outside=project.outside, link=manifest.link)


def find_project(directory: str | None = None, *, python: str | None = None, outside: bool = False) -> Project:
    """Return the project that a command is about; the directory as `find` takes it, the rest as in `Project`."""
    return Project(root=find(directory), python=python, outside=outside)


def find(directory: str | None) -> str:
    """Return the project's directory, absolute: the one given, or the nearest upward that is one.

    Nearest with a manifest or a lock, else nearest with an ecosystem's marker, else the current one; never above the
    repository's root. Raises SkillsyncError if the one given is no directory.
    """
    if directory is not None:
        if not os.path.isdir(directory):
            message = f"the project `{directory}` is not a directory"
            raise SkillsyncError(Problem(code=Code.USAGE, message=message, hint="name the project's root directory"))
        return os.path.abspath(directory)
    try:
        here = os.getcwd()
    except FileNotFoundError:
        message = "the current directory was removed"
        hint = "cd into the project, or name it with --project"
        raise SkillsyncError(Problem(code=Code.IO, message=message, hint=hint)) from None
    upward = list(upward_from(here))
    for path in upward:
        if any(os.path.lexists(f"{path}/{name}") for name in (manifest.FILE_NAME, lockfile.FILE_NAME)):
            return path
    for path in upward:
        if marked(path):
            return path
    return upward[0]


def in_repository(root: str) -> str:
    """Return the project's directory as the repository has it, with a slash; "" where it is the repository's root."""
    top = next((path for path in upward_from(root) if os.path.lexists(f"{path}/.git")), root)
    return root[len(top) :].strip("/") + "/" if top != root else ""


def load_manifest(project: Project) -> Manifest:
    """Read the manifest; an absent one admits everything. Raises SkillsyncError."""
    return read_manifest(project)[1]


def read_manifest(project: Project) -> tuple[bytes | None, Manifest]:
    """Return the manifest's bytes, None if there is none, and what they say. Raises SkillsyncError."""
    path, hint = manifest.FILE_NAME, f"correct {manifest.FILE_NAME}"
    try:
        content = read_file(f"{project.root}/{path}", manifest.LIMIT)
        return content, manifest.Manifest() if content is None else manifest.parse(content, ECOSYSTEMS)
    except NewerError as error:
        raise _error(Code.MANIFEST_INVALID, path, f"{error.key} {error.reason}", "upgrade skillsync") from None
    except InvalidError as error:
        wrong = (
            _error(Code.MANIFEST_INVALID, path, f"{one.key}: {one.reason}", one.hint or hint)
            for one in (error, *error.others)
        )
        raise SkillsyncError(*(problem for one in wrong for problem in one.problems)) from None
    except MalformedError as error:
        raise _error(Code.MANIFEST_INVALID, path, error.reason, error.hint or hint, error.place) from None
    except UnreadableError as error:
        raise _error(Code.MANIFEST_INVALID, path, str(error), hint) from None


class BrokenLockError(SkillsyncError):
    """The lock is there and makes no sense; `lock` may write a new one over it, nothing else may go on."""


def load_lock(project: Project) -> Lockfile | None:
    """Read the lock, None if there is none.

    Raises BrokenLockError for text that is no lock, and SkillsyncError for a newer format or what is no file.
    """
    path = lockfile.FILE_NAME
    again = "run `skillsync lock` to write it anew"
    try:
        content = read_file(f"{project.root}/{path}", lockfile.LIMIT)
        return None if content is None else lockfile.parse(content)
    except NewerError as error:
        raise _error(Code.LOCK_UNREADABLE, path, f"{error.key} {error.reason}", "upgrade skillsync") from None
    except InvalidError as error:
        raise _broken(_error(Code.LOCK_UNREADABLE, path, f"{error.key}: {error.reason}", again)) from None
    except MalformedError as error:
        found = _error(Code.LOCK_UNREADABLE, path, error.reason, again, error.place)
        raise _broken(found) from None
    except UnreadableError as error:
        raise _error(Code.LOCK_UNREADABLE, path, str(error), f"move {path} away, then run `skillsync lock`") from None


def require_lock(project: Project) -> Lockfile:
    """Read the lock. Raises SkillsyncError if there is none."""
    found = load_lock(project)
    if found is None:
        from skillsync.commands.nested import meant

        below, naming = meant(project.root)
        message = f"there is no {lockfile.FILE_NAME} in {project.root}{below}"
        hint = f"{naming}; or run `skillsync lock` for one here" if naming else "run `skillsync lock`"
        raise SkillsyncError(Problem(code=Code.LOCK_MISSING, message=message, hint=hint, path=lockfile.FILE_NAME))
    return found


def _broken(error: SkillsyncError) -> BrokenLockError:
    return BrokenLockError(*error.problems)


def _error(code: Code, path: str, reason: str, hint: str, place: Place = (None, None)) -> SkillsyncError:
    message = f"{path} can't be used: {reason}"
    line, column = place
    return SkillsyncError(Problem(code=code, message=message, hint=hint, path=path, line=line, column=column))
