"""What a project's own files say: its uv workspace, where its `.venv` may be, its name, dependencies and installer.

Invariants: reads only; a file that is there and can't be read stops the command, since nothing can be concluded
from it; nothing above the repository's root is looked at.
"""

from __future__ import annotations

import os
import posixpath
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from skillsync.discovery import environment
from skillsync.discovery.pypi import dependencies
from skillsync.errors import UnreadableError
from skillsync.filesystem import exists, list_directory, read_file, shown, upward_from
from skillsync.schema import MalformedError, toml
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from skillsync.errors import SkillsyncError

    T = TypeVar("T")

PYPROJECT = "pyproject.toml"
_LIMIT = 8 * 1024 * 1024
_INCLUDED = 100  # requirements files that are read, at most
_LOCKS = {"uv.lock": "uv sync", "poetry.lock": "poetry install", "pdm.lock": "pdm install"}


class Workspace(Value):
    """A uv workspace: its root, and the patterns of its members' directories."""

    root: str
    members: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def has(self, path: str) -> bool:
        """Whether a directory is the root or a member's."""
        if path == self.root:
            return True
        relative = path.removeprefix(self.root.rstrip("/") + "/")
        return relative != path and self._matches(relative, self.members) and not self._matches(relative, self.excluded)

    @staticmethod
    def _matches(relative: str, patterns: Sequence[str]) -> bool:
        parts = relative.split("/")
        return any(is_match(parts, posixpath.normpath(pattern).split("/")) for pattern in patterns)


class Project(Value):
    """The consuming project. `searched` are the directories that may hold its `.venv`, the nearest first.

    `install` is the command that installs what it names.
    """

    path: str
    workspace: Workspace
    searched: tuple[str, ...]
    name: str | None
    named: frozenset[str]
    install: str

    def is_own(self, name: str, directory: str | None) -> bool:
        """Whether a distribution is the project itself or a member of its workspace, which are no providers.

        `directory` is what it was installed from, if that was one.
        """
        if name == self.name:
            return True
        return directory is not None and any(
            self.workspace.has(path) or path == self.path for path in (directory, os.path.realpath(directory))
        )


def is_match(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path meet those of a glob, of which `**` stands for any number of directories."""
    positions = _with_skipped({0}, pattern)
    for part in parts:
        stay = {at for at in positions if at < len(pattern) and pattern[at] == "**"}
        step = {at + 1 for at in positions if at < len(pattern) and fnmatchcase(part, pattern[at])}
        positions = _with_skipped(stay | step, pattern)
    return len(pattern) in positions


def _with_skipped(positions: set[int], pattern: Sequence[str]) -> set[int]:
    """Add the positions behind each `**`, which may stand for nothing."""
    found = set(positions)
    for at in sorted(positions):
        behind = at
        while behind < len(pattern) and pattern[behind] == "**":
            behind += 1
            found.add(behind)
    return found


def read(path: str) -> Project:
    """Read what the files of a project say. Raises SkillsyncError."""
    upward = list(upward_from(path))
    workspace = _workspace(path, upward)
    last = upward[-1] if exists(f"{upward[-1]}/.git") else workspace.root
    table = _pyproject(path, path)
    return Project(
        path=path,
        workspace=workspace,
        searched=tuple(upward[: upward.index(last) + 1]),
        name=dependencies.project_name(table),
        named=dependencies.of_pyproject(table) | _locked(path, workspace.root) | _required(path),
        install=_install(path, workspace.root, table),
    )


def _install(path: str, root: str, table: Mapping[str, Any]) -> str:
    """Return the command that fits the project's files. It is for a person to run: a wrong guess costs little."""
    names = {*_listing(path), *(_listing(root) if root != path else ())}
    if found := next((command for lock, command in _LOCKS.items() if lock in names), None):
        return found
    if _is_nested(table):
        return _LOCKS["uv.lock"]
    requirements = sorted(filter(is_requirements, _listing(path)), key=lambda name: (len(name), name))
    if requirements:
        return f"pip install -r {shown(requirements[0])}"
    return "pip install ." if names & {PYPROJECT, "setup.py"} else "pip install"


def _workspace(path: str, upward: Sequence[str]) -> Workspace:
    """Return the workspace that a project is in, as uv finds it; else one of the project alone.

    The nearest pyproject.toml that declares a workspace or another project decides.
    """
    for directory in upward:
        table = _pyproject(path, directory)
        declared = table.get("tool", {}).get("uv", {}).get("workspace") if _is_nested(table) else None
        if isinstance(declared, dict):
            found = Workspace(
                root=directory, members=_texts(declared.get("members")), excluded=_texts(declared.get("exclude"))
            )
            return found if found.has(path) else Workspace(root=path)
        if directory != path and "project" in table:
            break
    return Workspace(root=path)


def _is_nested(table: Mapping[str, Any]) -> bool:
    tool = table.get("tool")
    return isinstance(tool, dict) and isinstance(tool.get("uv"), dict)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _pyproject(project: str, directory: str) -> Mapping[str, Any]:
    """Read the pyproject.toml of a directory; an absent or an empty one says nothing."""
    return _read(project, f"{directory}/{PYPROJECT}", _toml) or {}


def _locked(path: str, root: str) -> frozenset[str]:
    """Return the names in the locks: uv's is at the workspace's root."""
    locks = [f"{root}/uv.lock", *(f"{path}/{name}" for name in _listing(path) if is_lock(name))]
    tables = (_read(path, lock, _toml) for lock in locks)
    return frozenset(name for table in tables if table for name in dependencies.of_lock(table))


def is_lock(name: str) -> bool:
    """Whether a file is called as PEP 751 has it: `pylock.toml` or `pylock.NAME.toml`."""
    return name == "pylock.toml" or fnmatchcase(name, "pylock.*.toml")


def is_requirements(name: str) -> bool:
    """Whether a file is called as requirements files are."""
    return fnmatchcase(name, "requirements*.txt")


def _required(path: str) -> frozenset[str]:
    """Return the names in the requirements files and those that they include."""
    left = [f"{path}/{name}" for name in _listing(path) if is_requirements(name)]
    seen: set[str] = set()
    names: frozenset[str] = frozenset()
    while left:
        file = left.pop()
        if file in seen:
            continue
        if len(seen) == _INCLUDED:
            raise unreadable(path, file, f"requirements files include more than {_INCLUDED} of each other")
        seen.add(file)
        found, included = _read(path, file, _requirements) or (frozenset(), ())
        names |= found
        left += [posixpath.normpath(posixpath.join(posixpath.dirname(file), other)) for other in included]
    return names


def _listing(path: str) -> Iterator[str]:
    try:
        yield from list_directory(path) or ()
    except UnreadableError as error:
        raise unreadable(path, path, str(error)) from None


def _toml(content: bytes) -> Mapping[str, Any]:
    return toml(content).data if content.strip() else {}


def _requirements(content: bytes) -> tuple[frozenset[str], tuple[str, ...]]:
    return dependencies.of_requirements(dependencies.requirements_text(content))


def _read(project: str, path: str, parse: Callable[[bytes], T]) -> T | None:
    """Read one file, None if there is none. Raises SkillsyncError."""
    try:
        content = read_file(path, _LIMIT, follow=True)
        return None if content is None else parse(content)
    except UnreadableError as error:
        raise unreadable(project, path, str(error)) from None
    except MalformedError as error:
        raise unreadable(project, path, error.reason, *error.place) from None


def unreadable(
    project: str, path: str, reason: str, line: int | None = None, column: int | None = None
) -> SkillsyncError:
    """Stop at something that is there and can't be read."""
    name = display(project, path)
    return environment.unreadable(name, reason, "correct or restore it", inside(project, path), (line, column))


def inside(project: str, path: str) -> str | None:
    """Return a path relative to the project, None if it is outside."""
    return shown(path.removeprefix(project + "/")) if path.startswith(project + "/") else None


def display(project: str, path: str) -> str:
    """Return a path as it is shown to people."""
    return inside(project, path) or shown(path)
