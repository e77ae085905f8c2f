"""What an ecosystem has installed for a project, as values.

Invariants: nothing here reads the disk; a package's root is an absolute path, what it offers inside is relative to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillsync.errors import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One installed package, whether it ships skills or not.

    `version` is without the platform. `places` are the directories, relative to `root`, whose children are skills.
    `source` is the path of the `Source` that it was found in.
    """

    ecosystem: str
    name: str
    version: str
    root: str
    places: tuple[str, ...]
    source: str

    @property
    def key(self) -> str:
        """The provider's name as it is written everywhere: `gem:sus`."""
        return f"{self.ecosystem}:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Everything that one ecosystem has installed for the project.

    `packages` may hold several versions of one name, and several packages of one name and version: variants of it
    (platform gems), whose skills have to be the same. `sources` are the directories (or the dependency lock) that were
    read, as they are shown to people. `named` are the packages that the project's own dependency files name, installed
    or not. `problems` are warnings: what could not be read on the way.
    """

    ecosystem: str
    sources: tuple[str, ...]
    packages: tuple[Package, ...]
    named: frozenset[str]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoEnvironment:
    """The ecosystem has nothing installed that could be read: never the same as an environment without packages."""

    ecosystem: str
    problem: Problem
    named: frozenset[str]


class Ecosystem(Protocol):
    """What a module of `skillsync.discovery` offers to be an ecosystem (docs/ecosystems.md)."""

    @property
    def NAME(self) -> str:  # noqa: N802  # a module's constant
        """The ecosystem's name, as in `gem:sus`."""

    @property
    def INSTALL(self) -> str:  # noqa: N802
        """What a person runs to install what is missing: `bundle install`."""

    @property
    def MARKERS(self) -> tuple[str, ...]:  # noqa: N802
        """The files that show that a project uses it, as people know them."""

    def is_marked(self, project: str) -> bool:
        """Whether the project directory (an absolute path) shows that it uses the ecosystem."""

    def read(self, project: str, environ: Mapping[str, str]) -> Environment | NoEnvironment:
        """Read what is installed for the project. Raises SkillsyncError for a dependency lock that can't be read."""

    def canonical(self, name: str) -> str:
        """Return the one spelling of a package's name."""

    def requirement(self, text: str) -> Callable[[str], bool]:
        """Return the test whether a version meets a requirement, in the ecosystem's language. Raises ValueError."""

    def version_key(self, version: str) -> object:
        """Return a key by which versions sort as the ecosystem sorts them."""
