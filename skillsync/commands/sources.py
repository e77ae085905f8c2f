"""Where the content of locked skills is now: for the skills that `sync` has to write, and no others.

Invariants: reads only; the locked version comes first, but content decides: what is copied is hashed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.commands.survey import read_environments
from skillsync.discovery import ECOSYSTEMS
from skillsync.discovery.environment import Environment, NoEnvironment
from skillsync.errors import Code, Problem, UnreadableError
from skillsync.filesystem import open_directory
from skillsync.locking.manifest import FILE_NAME
from skillsync.syncing.apply import Source, check_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skillsync.commands.project import Project
    from skillsync.discovery.environment import Package
    from skillsync.locking.lockfile import LockedProvider, Lockfile
    from skillsync.locking.manifest import Manifest


def find(
    project: Project, manifest: Manifest, lock: Lockfile, names: Sequence[str]
) -> tuple[dict[str, Source], list[Problem]]:
    """Return, for each of the locked skills, the directory to copy; a problem for each that is nowhere."""
    wanted = {lock.skills[name][0].key for name in names}
    known = {key for key in wanted if key.partition(":")[0] in ECOSYSTEMS}
    read = read_environments(project, manifest, known) if known else []
    answers = {one.ecosystem: one for one in read}
    packages: dict[str, list[Package]] = {}
    for package in (package for one in read if isinstance(one, Environment) for package in one.packages):
        packages.setdefault(package.key, []).append(package)
    sources: dict[str, Source] = {}
    problems: list[Problem] = []
    for name in names:
        provider, skill = lock.skills[name]
        found = list(_places(provider, name, packages.get(provider.key, ()), manifest))
        # Several only where several versions or variants are installed: the one that was locked, if it is among them.
        equal = [one for one in found if check_source(provider, skill, one) is None] if len(found) > 1 else found
        if found:
            sources[name] = (equal or found)[0]
        else:
            problems.append(_missing(provider, name, answers.get(provider.ecosystem)))
    return sources, list(dict.fromkeys(problems))


def _places(provider: LockedProvider, skill: str, own: Iterable[Package], manifest: Manifest) -> Iterator[Source]:
    """Yield the directories that may hold the skill, those of the locked version first."""
    rules = manifest.governing(provider.ecosystem, provider.name)
    path = rules[0].path if len(rules) == 1 else None
    for package in sorted(own, key=lambda package: package.version != provider.version):
        for place in (path,) if path else package.places:
            directory = f"{place}/{skill}"
            if not package.owns(directory):
                continue
            try:
                with open_directory(package.root, directory):
                    yield Source(
                        root=package.root,
                        path=directory,
                        version=package.version,
                        recorded=package.recorded(directory),
                    )
            except (FileNotFoundError, NotADirectoryError, UnreadableError):
                continue


def _missing(provider: LockedProvider, skill: str, answer: Environment | NoEnvironment | None) -> Problem:
    """Say why a skill can't be found; `answer` is what its ecosystem has installed, if that was read."""
    if isinstance(answer, NoEnvironment):
        return answer.problem
    code = Code.MISSING_PROVIDER
    locked = f"{skill} can't be written: {provider.key} {provider.version} is locked"
    versions = [package.version for package in answer.packages if package.key == provider.key] if answer else []
    if versions:
        message = f"{provider.key} {', '.join(versions)} is installed, and does not ship the locked skill {skill}"
        install = "reinstall" if provider.version in versions else "install"
        hint = f"{install} {provider.version}, or run `skillsync lock`"
        code = Code.CONTENT_CHANGED
    elif answer:
        message = f"{locked} and not installed"
        hint = f"run `{answer.install}`"
    elif provider.ecosystem in ECOSYSTEMS:
        message = f"{locked}, and `ecosystems` in {FILE_NAME} leaves {provider.ecosystem} out"
        hint = "add it there, or run `skillsync lock`"
    else:
        message = f"{locked} and not installed"
        hint = "upgrade skillsync: it does not know this ecosystem"
    return Problem(code=code, message=message, hint=hint, skill=skill, provider=provider.key)
