"""Which files of a tree its build should take in: all of its skills, or the few that are missing.

Invariants: pure; few files are named, so that nothing comes with them that nobody wants in a package.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from skillsync.checking.offer import Offer, Shipped

_FEW = 5
# What stands for itself in every list of files, in whatever language.
_PLAIN = re.compile(r"[\w.@+/ -]+")


class Wanted(Value):
    """Paths below a tree's root: `files`, where some are named, else all that is in `places`.

    `places` are the directories of the tree's skills, each with the files that most patterns pass over: those with a
    name, or below a directory, that begins with a dot.
    """

    places: Mapping[str, tuple[str, ...]]
    files: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that are named, or the directories."""
        return self.files or tuple(self.places)

    @property
    def globs(self) -> tuple[str, ...]:
        """The same as patterns for files, of tools that don't pass over dots."""
        return self.files or tuple(f"{place}/**/*" for place in self.places)

    def within(self, place: str) -> list[str]:
        """Return patterns relative to one of the places, for tools whose `*` and `**` pass over dots."""
        start = f"{place}/"
        if self.files:
            return [path.removeprefix(start) for path in self.files if path.startswith(start)]
        dotted = [path.removeprefix(start) for path in self.places[place]]
        return ["**/*", *(dotted if are_few(dotted) else sorted({_shape(path) for path in dotted}))]


def wanted(tree: Offer, skill: Shipped, missing: Collection[str]) -> Wanted:
    """Return what is wanted of a tree where one of its skills is missing, or files of it, as paths in its directory."""
    files = tuple(f"{skill.found.path}/{path}" for path in missing)
    places: dict[str, list[str]] = {}
    for one in tree.skills:
        entries = one.snapshot.tree if one.snapshot else ()
        place = posixpath.dirname(one.found.path)
        dotted = (f"{one.found.path}/{path}" for path in entries if "/." in f"/{path}")
        places.setdefault(place, []).extend(dotted)
    found = {place: tuple(dotted) for place, dotted in places.items()}
    return Wanted(places=found, files=files if are_few(files) else ())


def are_few(paths: Collection[str]) -> bool:
    """Whether paths can be named one by one."""
    return len(paths) <= _FEW and all(_PLAIN.fullmatch(path) for path in paths)


def _shape(path: str) -> str:
    """Return the pattern for all that has as many names with a dot: each has to be asked for."""
    names = path.split("/")
    dots = ["**/.*"] * sum(name.startswith(".") for name in names)
    return "/".join(dots if names[-1].startswith(".") else [*dots, "**/*"])
