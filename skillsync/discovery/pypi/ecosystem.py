"""The `pypi` ecosystem: the distributions of the project's Python environment, and the files that are theirs.

Invariants: files are read, nothing that is installed is run or imported; a skill belongs to the distribution whose
RECORD lists it, never to one that merely lies around it; what is absent, what can't be read and what is there without
distributions are three results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from skillsync.discovery.environment import Environment, NoEnvironment
from skillsync.discovery.pypi import environments, packages
from skillsync.discovery.pypi import project as projects
from skillsync.discovery.pypi.versions import canonical, requirement, version_key
from skillsync.errors import Code, Problem, SkillsyncError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillsync.discovery.environment import Package

__all__ = ["NAME", "canonical", "read", "requirement", "version_key"]

NAME: Final = packages.ECOSYSTEM


def read(project: str, environ: Mapping[str, str], *, python: str | None = None) -> Environment | NoEnvironment:
    """Read the distributions of the project's Python environment.

    `python` is the path of an interpreter or an environment that the person named: it counts before all others.
    Raises SkillsyncError if there are none in it, and for what is there of the project's and can't be read.
    """
    about = projects.read(project)
    try:
        sites = environments.find(about, environ, python)
    except environments.NotFoundError as error:
        problem = Problem(code=Code.ENVIRONMENT_NOT_FOUND, message=str(error), hint=error.hint)
        if python is not None:
            raise SkillsyncError(problem) from None
        return NoEnvironment(ecosystem=NAME, problem=problem, named=about.named)
    found: dict[str, list[Package]] = {}
    problems: list[Problem] = []
    notes: list[str] = []
    own: list[Package] = []
    for site in sites:
        earlier = {name: versions[0] for name, versions in found.items()}
        installed = packages.read(about, site)
        problems += installed.problems
        notes += installed.notes
        own += installed.own
        for package in installed.packages:
            if first := earlier.get(package.name):
                # Python imports what it finds first on its path.
                notes.append(
                    f"{package.key} {package.version} in {package.source} is left out: {first.source} has it too"
                )
            else:
                found.setdefault(package.name, []).append(package)
    return Environment(
        ecosystem=NAME,
        sources=tuple(projects.display(project, site) for site in sites),
        packages=tuple(package for name in sorted(found) for package in found[name]),
        named=about.named,
        install=about.install,
        problems=tuple(problems),
        notes=tuple(notes),
        own=tuple(own),
    )
