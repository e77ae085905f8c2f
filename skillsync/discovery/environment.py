"""What an ecosystem has installed for a project, as values.

Invariants: nothing here reads the disk; a package's root is an absolute path, what it offers inside is relative to it.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from skillsync.errors import Code, Problem, SkillsyncError
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillsync.schema import Place

# What a package is that is none of the providers (`Environment.own`).
OWN = "the project itself, or a member of its workspace"


class Record(Value, cached=True):
    """What the installer wrote down of a package's files where packages share directories, as far as skills go.

    `files` holds each file's SHA-256 (hexadecimal, "" where none was written down), `directories` are those above the
    files at any depth; both by path relative to the package's root. Without a file of it there, a directory is listed
    only if it is known to be the package's in another way.
    """

    files: Mapping[str, str]
    directories: frozenset[str]

    @cached_property
    def _ordered(self) -> list[str]:
        return sorted(self.files)

    def below(self, directory: str) -> dict[str, str]:
        """Return the files below a directory with their hashes, by path relative to it."""
        # Sorted, they stand together, and `0` is what comes right after `/`: a package with many skills is asked for
        # each of them.
        start, end = (bisect_left(self._ordered, directory + after) for after in "/0")
        return {path[len(directory) + 1 :]: self.files[path] for path in self._ordered[start:end]}


class Package(Value):
    """One installed package, whether it ships skills or not.

    `version` is without the platform. `places` are the directories, relative to `root`, whose children are skills.
    `source` is the path of the `Source` that it was found in. `record` says what in the places is this package's, None
    where all of it is. `problems` are warnings about the whole package, and errors where it is admitted.
    """

    ecosystem: str
    name: str
    version: str
    root: str
    places: tuple[str, ...]
    source: str
    record: Record | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def key(self) -> str:
        """The provider's name as it is written everywhere: `gem:sus`."""
        return f"{self.ecosystem}:{self.name}"

    def owns(self, path: str) -> bool:
        """Whether what is at a path, relative to the root, is this package's and not another's in the same place."""
        return self.record is None or path in self.record.files or path in self.record.directories

    def recorded(self, skill: str) -> dict[str, str]:
        """Return the SHA-256 of a skill's files as the installer wrote them down, by path relative to the skill."""
        return self.record.below(skill) if self.record else {}


class Environment(Value):
    """Everything that one ecosystem has installed for the project.

    `packages` may hold several versions of one name, and several packages of one name and version: variants of it
    (platform gems), whose skills have to be the same. `sources` are the directories (or the dependency lock) that were
    read, as they are shown to people. `named` are the packages that the project's own dependency files name, installed
    or not. `install` is the command that installs what they name. `problems` are warnings: what could not be read on
    the way. `notes` are lines for --verbose: what was decided on the way, such as which of several installed versions
    counts. `own` are the packages that were found and are no providers: the project itself, and members of its
    workspace.
    """

    ecosystem: str
    sources: tuple[str, ...]
    packages: tuple[Package, ...]
    named: frozenset[str]
    install: str
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    own: tuple[Package, ...] = ()


class NoEnvironment(Value):
    """The ecosystem has nothing installed that could be read: never the same as an environment without packages."""

    ecosystem: str
    problem: Problem
    named: frozenset[str]


def unreadable(name: str, reason: str, hint: str, inside: str | None, place: Place = (None, None)) -> SkillsyncError:
    """Stop at what is there and can't be read; `name` is how people see it, `inside` its path in the project.

    What isn't inside has no path to which a report could add the line.
    """
    line, column = place
    at = f":{line}" if line and inside is None else ""
    return SkillsyncError(
        Problem(
            code=Code.ENVIRONMENT_UNREADABLE,
            message=f"{name}{at} can't be read: {reason}",
            hint=hint,
            path=inside,
            line=line,
            column=column,
        )
    )


class Ecosystem(Protocol):
    """What a module of `skillsync.discovery` offers to be an ecosystem (docs/ecosystems.md)."""

    @property
    def NAME(self) -> str:  # noqa: N802  # a module's constant
        """The ecosystem's name, as in `gem:sus`."""

    def read(self, project: str, environ: Mapping[str, str]) -> Environment | NoEnvironment:
        """Read what is installed for the project. Raises SkillsyncError for a dependency lock that can't be read."""

    def canonical(self, name: str) -> str:
        """Return the one spelling of a package's name, or of a pattern of names, in which `*` and `?` stay."""

    def requirement(self, text: str) -> Callable[[str], bool]:
        """Return the test whether a version meets a requirement, in the ecosystem's language. Raises ValueError."""

    def version_key(self, version: str) -> object:
        """Return a key by which versions sort as the ecosystem sorts them."""
