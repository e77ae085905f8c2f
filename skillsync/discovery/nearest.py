"""Which of the installed versions of one package counts: the one nearest to the project.

Invariants: pure; nothing depends on the order in which packages were found; of several versions that are equally near,
none is preferred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.discovery.environment import Package
from skillsync.errors import Code, Problem, Severity, typed
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class Installed(Value):
    """A package that was found.

    `root` is its directory, `path` where it was found, as people know it, `source` what led there.
    `distance` is how many packages lie between it and the project, and then, the nearest first, which of the project's
    directories it was found from.
    """

    name: str
    version: str
    root: str
    path: str
    source: str
    distance: tuple[int, int]


class Choice(Value):
    """The packages that count, and what was passed over for them; by name, what could not be settled: a warning."""

    counted: tuple[Installed, ...]
    notes: tuple[str, ...]
    problems: Mapping[str, Problem]

    def packages(self, ecosystem: str, places: tuple[str, ...]) -> tuple[Package, ...]:
        """Return the packages that count as the ecosystem's, with what could not be settled; `places` are of each."""
        return tuple(
            Package(
                ecosystem=ecosystem,
                name=one.name,
                version=one.version,
                root=one.root,
                places=places,
                source=one.source,
                problems=(self.problems[one.name],) if one.name in self.problems else (),
            )
            for one in self.counted
        )


def nearest(
    installed: Iterable[Installed], ships: Callable[[Installed], bool], *, ecosystem: str, depend_in: str
) -> Choice:
    """Keep of each package the version that counts, in every directory that has it equally near.

    `ships` tells whether a package seems to ship skills: where none of them does, it doesn't matter which counts.
    `depend_in` is the file in which a project says what it depends on.
    """
    by_name: dict[str, list[Installed]] = {}
    for package in installed:
        by_name.setdefault(package.name, []).append(package)
    counted: list[Installed] = []
    notes: list[str] = []
    problems: dict[str, Problem] = {}
    for name, packages in sorted(by_name.items()):
        key = f"{ecosystem}:{name}"
        least = min(package.distance for package in packages)
        near = sorted((one for one in packages if one.distance == least), key=lambda one: (one.version, one.path))
        versions = {package.version for package in near}
        counted += near
        if len(versions) > 1 and any(map(ships, near)):
            problems[name] = _ambiguous(name, key, near, depend_in)
        elif len(versions) > 1:
            notes.append(f"{key} is installed in several versions, equally near: {_listed(near)}; none ships skills")
        else:
            notes += _passed_over(key, near[0], packages)
    return Choice(counted=tuple(counted), notes=tuple(notes), problems=problems)


def _passed_over(key: str, chosen: Installed, packages: Sequence[Installed]) -> list[str]:
    """Say which version counts and over which others."""
    others = sorted((one for one in packages if one.version != chosen.version), key=lambda one: (one.version, one.path))
    if not others:
        return []
    return [f"{key} {chosen.version} in {chosen.path} counts, as the nearest; not {_listed(others)}"]


def _ambiguous(name: str, key: str, near: Sequence[Installed], depend_in: str) -> Problem:
    return Problem(
        code=Code.AMBIGUOUS_PROVIDER,
        message=f"{key} is installed in several versions, equally near: {_listed(near)}",
        hint=f"make {name} a dependency of the project's own {depend_in}, "
        f"or name its version: {typed('allow', key, '--version', 'VERSION')}",
        severity=Severity.WARNING,
        provider=key,
    )


def _listed(packages: Sequence[Installed]) -> str:
    return ", ".join(f"{package.version} in {package.path}" for package in packages)
