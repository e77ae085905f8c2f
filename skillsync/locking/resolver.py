"""The admitted skills, read and hashed, become the lock, or the reasons why not.

Invariants: pure; a skill is in the lock only if all of it is safe; never merged with an older lock.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillsync.errors import Code, Problem, Severity
from skillsync.locking.changes import since_install
from skillsync.locking.lockfile import LockedProvider, LockedSkill, Lockfile
from skillsync.locking.pins import Pinned, raised
from skillsync.snapshot import Copy, Fault, Snapshot, shipped_faults

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from skillsync.discovery.provider import FoundSkill, Provider
    from skillsync.locking.choice import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What `lock` would write, what it would leave out, and what stands against it. `copies` are the sources."""

    lock: Lockfile
    not_admitted: tuple[Candidate, ...]
    copies: Mapping[str, Copy]
    problems: tuple[Problem, ...]


Snapshots = dict[tuple[str, str], Snapshot]  # by a package's root and a skill's path in it


def resolve(candidates: Sequence[Candidate], snapshots: Snapshots, pinned: Pinned) -> Resolution:
    """Make the lock of the admitted skills. `snapshots` holds every admitted skill of every variant."""
    providers: list[LockedProvider] = []
    problems: list[Problem] = []
    copies: dict[str, Copy] = {}
    for candidate in candidates:
        skills: dict[str, LockedSkill] = {}
        for skill in candidate.admitted:
            root = candidate.choice.package.root
            found = snapshots[root, skill.path]
            faults = shipped_faults(found)
            problems += _altered(candidate, skill, found)
            if not faults and found.hash:
                skills[skill.name] = LockedSkill(name=skill.name, hash=found.hash, tree=found.tree)
                copies[skill.name] = Copy(root=root, path=skill.path, snapshot=found)
            unsafe_problems = [_unsafe(candidate, skill, fault) for fault in faults]
            problems += raised(unsafe_problems, replace(skill, is_valid=not faults), candidate, pinned)
        problems += _ambiguous(candidate, snapshots)
        if skills:
            package = candidate.choice.package
            providers.append(
                LockedProvider(
                    ecosystem=package.ecosystem,
                    name=package.name,
                    version=package.version,
                    skills=tuple(skills.values()),
                )
            )
    return Resolution(
        lock=Lockfile(providers=tuple(sorted(providers, key=lambda provider: (provider.ecosystem, provider.name)))),
        not_admitted=tuple(one for one in candidates if one.choice.rule is None and one.provider.skills),
        copies=copies,
        problems=tuple(problems),
    )


def _unsafe(candidate: Candidate, skill: FoundSkill, fault: Fault) -> Problem:
    path = f"{skill.path}/{fault.path}"
    return Problem(
        code=Code.UNSAFE_SKILL,
        message=f"{candidate.key} {candidate.choice.package.version}: {path} {fault.reason}",
        hint="it is left out; report it to the package's authors",
        severity=Severity.WARNING,
        skill=skill.name,
        provider=candidate.key,
        path=path,
    )


def _altered(candidate: Candidate, skill: FoundSkill, found: Snapshot) -> Iterator[Problem]:
    """Yield a warning if a skill is not as it was installed, as far as the installer wrote that down."""
    package = candidate.choice.package
    if files := since_install(package.recorded(skill.path), found).text:
        yield Problem(
            code=Code.MODIFIED_AFTER_INSTALL,
            message=f"{candidate.key} {package.version}: {skill.path} is not as it was installed: {files}",
            hint="reinstall the package, unless you made the change and want it",
            severity=Severity.WARNING,
            skill=skill.name,
            provider=candidate.key,
            path=skill.path,
        )


def _ambiguous(candidate: Candidate, snapshots: Snapshots) -> Iterator[Problem]:
    """Yield a problem if the variants of one version don't ship the same skills."""
    contents = {
        tuple(
            (skill.name, snapshots[provider.package.root, skill.path].hash) for skill in _admitted(candidate, provider)
        )
        for provider in candidate.providers
    }
    if len(contents) > 1:
        yield Problem(
            code=Code.AMBIGUOUS_PROVIDER,
            message=f"{candidate.key} {candidate.choice.package.version} is installed in several variants, "
            "and their skills differ",
            hint="uninstall all but one of them",
            provider=candidate.key,
        )


def _admitted(candidate: Candidate, provider: Provider) -> tuple[FoundSkill, ...]:
    return replace(candidate, providers=(provider,)).admitted
