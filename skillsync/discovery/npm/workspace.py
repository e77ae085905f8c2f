"""The directories that are the project's own: its package, the root of its workspace, and the members of that.

Invariants: reads only package.json, pnpm-workspace.yaml and what the patterns in them name; never above the
repository's root; no link is followed to a member.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from skillsync.discovery import disk
from skillsync.discovery.npm import package_json
from skillsync.filesystem import Kind, exists, upward_from
from skillsync.schema import MalformedError
from skillsync.values import Value
from skillsync.yaml_nodes import Mapping as YamlMapping
from skillsync.yaml_nodes import Scalar, Sequence, YamlError, compose

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PNPM_FILE: Final = "pnpm-workspace.yaml"
_MANAGERS = {
    "pnpm-lock.yaml": "pnpm",
    PNPM_FILE: "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
}
_PNPM_LIMIT = 1024 * 1024
_DEPTH = 32
_ALTERNATIVES = 64
_PASSED_OVER = frozenset({"node_modules", "bower_components"})


class Project(Value):
    """Where the project is. `package` has the nearest package.json; without a workspace, `root` is the same.

    `upward` are the directories from the project's to the repository's root. `described` has the package.json of each
    directory whose dependencies are the project's.
    """

    path: str
    package: str
    root: str
    members: tuple[str, ...]
    upward: tuple[str, ...]
    described: Mapping[str, Mapping[str, Any]]

    @property
    def own(self) -> tuple[str, ...]:
        """The directories that are dependents, not dependencies: the nearest to the project first."""
        return tuple(dict.fromkeys((self.package, self.root, *self.members)))


def locate(path: str) -> Project:
    """Find the workspace that a project directory is the root of, or in, or else the project alone.

    Raises BlockedError for a package.json or a pnpm-workspace.yaml that can't be read.
    """
    upward = tuple(upward_from(path))
    read = {directory: data for directory in upward if (data := described(directory)) is not None}
    package = next((directory for directory in upward if directory in read), path)
    for root in upward[upward.index(package) :]:
        patterns = [*package_json.workspaces(read.get(root, {})), *_pnpm_patterns(root)]
        if not patterns:
            continue
        members = {member: data for member in _members(root, patterns) if (data := described(member)) is not None}
        if package == root or package in members:
            return Project(
                path=path,
                package=package,
                root=root,
                members=tuple(sorted(members)),
                upward=upward,
                described={package: read.get(package, {}), root: read.get(root, {}), **members},
            )
    alone = {package: read.get(package, {})}
    return Project(path=path, package=package, root=package, members=(), upward=upward, described=alone)


def install(project: Project) -> str:
    """Return the command that installs for a project."""
    return f"{_manager(project)} install"


def _manager(project: Project) -> str:
    """Return the package manager: the one that a package.json of the project's names, else by the lock."""
    for directory in dict.fromkeys((project.package, project.root)):
        named = str(project.described[directory].get("packageManager")).partition("@")[0]
        if named in _MANAGERS.values():
            return named
        if found := next((name for file, name in _MANAGERS.items() if exists(f"{directory}/{file}")), None):
            return found
    return "npm"


def described(directory: str) -> Mapping[str, Any] | None:
    """Return what the package.json in a directory of the project's own says, or None if there is none."""
    path = f"{directory}/{package_json.FILE_NAME}"
    found = disk.content(path, package_json.LIMIT)
    try:
        return None if found is None else package_json.load(found)
    except MalformedError as error:
        raise disk.BlockedError(path, error.reason, error.place) from None


def _pnpm_patterns(directory: str) -> list[str]:
    """Return the patterns in pnpm-workspace.yaml, none if there is no such file or it has only settings."""
    path = f"{directory}/{PNPM_FILE}"
    found = disk.content(path, _PNPM_LIMIT)
    try:
        root = compose((found or b"").decode("utf-8-sig"))
    except YamlError as error:
        raise disk.BlockedError(path, f"it is not YAML: {error.reason}", (error.line, error.column)) from None
    except UnicodeDecodeError:
        raise disk.BlockedError(path, "it is not UTF-8") from None
    pairs = root.pairs if isinstance(root, YamlMapping) else []
    packages = next((value for key, value in pairs if isinstance(key, Scalar) and key.text == "packages"), None)
    items = packages.items if isinstance(packages, Sequence) else []
    return [item.text for item in items if isinstance(item, Scalar)]


def _members(root: str, patterns: list[str]) -> set[str]:
    """Return the directories that the patterns match, less those that a pattern with `!` before it does."""
    search = _Search(root)
    found: set[str] = set()
    for pattern in patterns:
        for segments in _alternatives(pattern.removeprefix("!")):
            matched = {root + at for at in search.matches("", segments, set())}
            found = found - matched if pattern.startswith("!") else found | matched
    return found - {root}


def _alternatives(pattern: str) -> list[tuple[str, ...]]:
    """Split a pattern into the segments of its paths, for each of the texts that `{a,b}` stands for."""
    texts = [pattern]
    for text in texts:
        before, brace, rest = text.partition("{")
        choices, end, after = rest.partition("}")
        if brace and end and len(texts) < _ALTERNATIVES:
            texts += [before + choice + after for choice in choices.split(",", _ALTERNATIVES)]
    paths = [text.strip().strip("/").split("/") for text in texts if "{" not in text]
    return [tuple(part for part in path if part not in {"", "."}) for path in paths]


class _Search:
    """Matches the patterns of one workspace; each directory is listed once."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._listed: dict[str, list[str]] = {}

    def matches(self, at: str, segments: tuple[str, ...], gone: set[tuple[str, int]]) -> Iterator[str]:
        """Yield the directories below one, relative to the root, that the segments of a pattern match.

        `gone` are the ways that were gone already: a directory, and how many segments were left.
        """
        if (at, len(segments)) in gone or at.count("/") > _DEPTH:
            return
        gone.add((at, len(segments)))
        if not segments:
            yield at
            return
        head, rest = segments[0], segments[1:]
        if head == "**":
            yield from self.matches(at, rest, gone)
        for name in self._directories(at):
            if name.startswith(".") and not head.startswith("."):
                continue
            if head == "**":
                yield from self.matches(f"{at}/{name}", segments, gone)
            elif fnmatchcase(name, head):
                yield from self.matches(f"{at}/{name}", rest, gone)

    def _directories(self, at: str) -> list[str]:
        if at not in self._listed:
            found = disk.entries(self._root + at) or {}
            self._listed[at] = [
                name for name, kind in found.items() if kind is Kind.DIRECTORY and name not in _PASSED_OVER
            ]
        return self._listed[at]
