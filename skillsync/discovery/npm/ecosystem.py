"""The `npm` ecosystem: the packages of the project's `node_modules`, whichever package manager installed them.

Invariants: files are read, never JavaScript or a script run; what is absent, what can't be read and what is there
without packages are three results; of each name one version counts, or the doubt is said; a package's source is always
one of the environment's.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from skillsync.discovery import disk
from skillsync.discovery.environment import Environment, NoEnvironment, Package, unreadable
from skillsync.discovery.nearest import nearest
from skillsync.discovery.npm import locks, package_json, tree, workspace
from skillsync.discovery.npm.provenance import Provenance
from skillsync.discovery.npm.semver import requirement, version_key
from skillsync.discovery.npm.tree import NODE_MODULES, Place
from skillsync.errors import Code, Problem, Severity, UnreadableError
from skillsync.filesystem import exists, read_file, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from skillsync.discovery.nearest import Installed
    from skillsync.discovery.npm.provenance import Doubt
    from skillsync.discovery.npm.workspace import Project

__all__ = ["NAME", "canonical", "read", "requirement", "version_key"]

NAME: Final = "npm"

_PLACES = ("skills", ".agents/skills")
_PLUG_N_PLAY = (".pnp.cjs", ".pnp.loader.mjs", ".pnp.js")


def canonical(name: str) -> str:
    """Return the name: npm knows each package by one spelling."""
    return name


def read(project: str, environ: Mapping[str, str]) -> Environment | NoEnvironment:  # noqa: ARG001  # no variable counts
    """Read what is installed for the project, and for its workspace if it is one or is in one.

    Raises SkillsyncError for a package.json of the project's own, a pnpm-workspace.yaml or a directory that is there
    and can't be read.
    """
    project = os.path.realpath(project)  # as Node does, which is how links between the project's directories fit
    try:
        return _read(workspace.locate(project))
    except disk.BlockedError as error:
        name, inside = _display(project, project, error.path), _inside(project, error.path)
        raise unreadable(name, str(error), "correct it, or make it readable", inside, error.place) from None


def _read(project: Project) -> Environment | NoEnvironment:
    directories = _with_node_modules(project)
    above = [directory for directory in directories if directory not in project.described]
    described = [*project.described.values(), *(workspace.described(directory) or {} for directory in above)]
    named, problems = _named(project, described, [*project.described, *above])
    places = [_place(project, directory) for directory in directories]
    found = tree.walk(places, [os.path.realpath(directory) for directory in project.own])
    if plug := _plug_n_play(directories or project.upward):
        if not found.installed and not found.unreadable:
            return _only_plug_n_play(project, plug, named)
        problems.append(_two_kinds(project, plug))
    if not places:
        return _not_installed(project, named)
    aliases = {alias for data in described for alias in package_json.aliases(data)}
    provenance = Provenance(found, aliases, directories)
    doubts = {one: doubt for one in found.installed if (doubt := provenance.doubt(one))}
    credible = (one for one in found.installed if one not in doubts)
    choice = nearest(credible, _ships, ecosystem=NAME, depend_in=package_json.FILE_NAME)
    # Where the name counts anyway, or there are no skills, nobody misses what is left out.
    counted = {one.name for one in choice.counted}
    missed = {one: doubt for one, doubt in doubts.items() if one.name not in counted and _ships(one)}
    problems += [_left_out(one) for one in found.unreadable]
    problems += [_doubted(one, doubt) for one, doubt in missed.items()]
    notes = [f"{doubt.reason}: it is left out" for one, doubt in doubts.items() if one not in missed]
    return Environment(
        ecosystem=NAME,
        sources=tuple(place.shown for place in places),
        packages=choice.packages(NAME, _PLACES),
        named=named,
        install=workspace.install(project),
        problems=tuple(problems),
        notes=(*found.notes, *notes, *choice.notes),
        own=tuple(_own(project, found)),
    )


def _own(project: Project, found: tree.Walk) -> Iterator[Package]:
    """Yield the project's own packages that are installed for its code."""
    for directory, data in project.described.items():
        if (root := os.path.realpath(directory)) in found.own:
            with suppress(ValueError):
                known = package_json.identity(data)
                yield Package(
                    ecosystem=NAME,
                    name=known.name,
                    version=known.version,
                    root=root,
                    places=_PLACES,
                    source=found.own[root],
                )


def _with_node_modules(project: Project) -> list[str]:
    """Return the project's own directories that have a `node_modules`; if none has, the nearest above that does."""
    own = [directory for directory in project.own if disk.exists(f"{directory}/{NODE_MODULES}")]
    above = (directory for directory in project.upward if disk.exists(f"{directory}/{NODE_MODULES}"))
    return own or list(islice(above, 1))


def _place(project: Project, directory: str) -> Place:
    """Return a `node_modules`, and how far it is: the package's own is nearer than its workspace's, then the others."""
    path = f"{directory}/{NODE_MODULES}"
    rank = next((rank for rank, own in enumerate((project.package, project.root)) if own == directory), 2)
    return Place(path=os.path.realpath(path), shown=_display(project.path, project.upward[-1], path), rank=rank)


def _named(
    project: Project, described: Iterable[Mapping[str, Any]], directories: Sequence[str]
) -> tuple[frozenset[str], list[Problem]]:
    """Return what the project's dependency files name, and a warning for each lock that can't be read."""
    names = {name for data in described for name in package_json.dependencies(data)}
    problems = []
    for path in (f"{directory}/{name}" for directory in directories for name in locks.FILE_NAMES):
        try:
            names |= locks.names(os.path.basename(path), read_file(path, locks.LIMIT, follow=True) or b"")
        except UnreadableError as error:
            message = f"{_display(project.path, project.upward[-1], path)} can't be read: {error}"
            hint = "make it readable: it tells a package that is missing from one that is gone"
            problems.append(_warning(Code.ENVIRONMENT_UNREADABLE, message, hint, _inside(project.path, path)))
    return frozenset(names), problems


def _plug_n_play(directories: Sequence[str]) -> str | None:
    """Return the path of a file by which yarn's Plug'n'Play is known, None if there is none."""
    paths = (f"{directory}/{name}" for directory in directories for name in _PLUG_N_PLAY)
    return next((path for path in paths if exists(path)), None)


def _only_plug_n_play(project: Project, plug: str, named: frozenset[str]) -> NoEnvironment:
    file = _display(project.path, project.upward[-1], plug)
    message = f"{file} is there and no {NODE_MODULES}: packages in Plug'n'Play's archives can't be read"
    return _none(message, "set `nodeLinker: node-modules` in .yarnrc.yml and run `yarn install`", named)


def _two_kinds(project: Project, plug: str) -> Problem:
    """Say that what stands in a Plug'n'Play file doesn't count."""
    message = f"{_display(project.path, project.upward[-1], plug)} is passed over: {NODE_MODULES} counts"
    hint = "remove it, if the project no longer uses Plug'n'Play"
    return _warning(Code.ENVIRONMENT_UNREADABLE, message, hint, _inside(project.path, plug))


def _not_installed(project: Project, named: frozenset[str]) -> NoEnvironment:
    top = project.upward[-1]
    where = "the project" if top == project.path else f"the project or above it, up to {shown(top)}"
    return _none(f"there is no {NODE_MODULES} in {where}", f"run `{workspace.install(project)}`", named)


def _none(message: str, hint: str, named: frozenset[str]) -> NoEnvironment:
    problem = Problem(code=Code.ENVIRONMENT_NOT_FOUND, message=message, hint=hint)
    return NoEnvironment(ecosystem=NAME, problem=problem, named=named)


def _left_out(found: tree.Unreadable) -> Problem:
    path = None if found.path.startswith(("/", "../")) else found.path
    message = f"{found.path}: {found.reason}; what is there is left out"
    return _warning(Code.PACKAGE_UNREADABLE, message, "reinstall the package, or report it to its authors", path)


def _ships(package: Installed) -> bool:
    """Whether a package has a directory of skills."""
    return disk.ships(package.root, _PLACES)


def _doubted(found: Installed, doubt: Doubt) -> Problem:
    return Problem(
        code=Code.AMBIGUOUS_PROVIDER,
        message=f"{doubt.reason}: it is left out",
        hint=doubt.hint,
        severity=Severity.WARNING,
        provider=f"{NAME}:{found.name}",
    )


def _warning(code: Code, message: str, hint: str, path: str | None) -> Problem:
    return Problem(code=code, message=message, hint=hint, severity=Severity.WARNING, path=path)


def _inside(project: str, path: str) -> str | None:
    """Return a path relative to the project, None if it is outside."""
    return shown(path.removeprefix(project + "/")) if path.startswith(project + "/") else None


def _display(project: str, top: str, path: str) -> str:
    """Return a path as it is shown to people: relative to the project, as long as it is below the top directory."""
    return shown(os.path.relpath(path, project) if f"{path}/".startswith(f"{top.rstrip('/')}/") else path)
