"""Whether a package is the one that it calls itself, as far as the installer tells: its package.json is its own word.

Invariants: what can't be told is left out, with the reason; nothing of what is left out stands in another's way.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Final

from skillsync.discovery.npm import package_json, tree
from skillsync.errors import UnreadableError
from skillsync.filesystem import read_file
from skillsync.schema import MalformedError
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from skillsync.discovery.nearest import Installed

# npm's list of what it installed, and where.
_LIST: Final = f"{tree.NODE_MODULES}/.package-lock.json"
_LIST_LIMIT: Final = 32 * 1024 * 1024


class Doubt(Value, kw_only=False):
    """Why a package is not taken for the one that it calls itself, and what a person can do who wants it."""

    reason: str
    hint: str


class Provenance:
    """Answers for what was found in a project's `node_modules`."""

    def __init__(self, found: tree.Walk, aliases: AbstractSet[tuple[str, str]], directories: Sequence[str]) -> None:
        """Take the project's own aliases, and the directories with a `node_modules`; read nothing yet."""
        self._found = found
        self._aliases = aliases
        self._directories = directories

    def doubt(self, package: Installed) -> Doubt | None:
        """Return what speaks against a package."""
        if package.root in self._found.inside and not self._was_installed_inside(package.root):
            return Doubt(
                f"{package.path} lies in another package, which may have brought it under any name",
                f"if you want it, make {package.name} a dependency of the project's own {package_json.FILE_NAME}",
            )
        names = tree.installed_as(package.root, self._found.names[package.root])
        if not names or package.name in names or self._is_aliased(package, names):
            return None
        alias = f'"{min(names)}": "npm:{package.name}@{package.version}"'
        return Doubt(
            f"{package.path} calls itself npm:{package.name}, and the project itself depends on no such alias",
            f"find out where it comes from; if you want it, depend on it as {alias}",
        )

    def _was_installed_inside(self, root: str) -> bool:
        """Whether the package manager put a package there, and not the archive of the one around it.

        npm writes down where it installed what. The others don't, and the package around it has to be believed.
        """
        return root in self._listed if self._listed else self._found.inside[root]

    def _is_aliased(self, package: Installed, names: Iterable[str]) -> bool:
        """Whether the project itself asks for the package by another name.

        A dependency lock proves nothing here: npm writes into it what the package says, and other packages' aliases.
        """
        return package.distance[0] == 0 and any((name, package.name) in self._aliases for name in names)

    @cached_property
    def _listed(self) -> frozenset[str]:
        """The directories that npm says it installed a package into."""
        return frozenset(path for directory in self._directories for path in _listed(directory))


def _listed(directory: str) -> list[str]:
    try:
        packages = package_json.load(read_file(f"{directory}/{_LIST}", _LIST_LIMIT) or b"{}").get("packages")
    except (UnreadableError, MalformedError):
        return []
    rows = packages if isinstance(packages, dict) else {}
    paths = [path.partition("/") for path, row in rows.items() if isinstance(row, dict) and not row.get("inBundle")]
    # Packages are known by their real paths, and `node_modules` may be a link.
    tops = {top: os.path.realpath(f"{directory}/{top}") for top in {top for top, _, _ in paths}}
    return [f"{tops[top]}/{rest}" for top, _, rest in paths]
