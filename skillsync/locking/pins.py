"""What is pinned doesn't vanish by accident: a skill that was approved goes only when it is gone on purpose.

Invariants: pure; an environment that can't be looked at is never "all removed".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.discovery.environment import Environment, NoEnvironment
from skillsync.errors import Code, Problem
from skillsync.locking.choice import missing_provider
from skillsync.locking.manifest import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skillsync.discovery.provider import FoundSkill
    from skillsync.locking.choice import Candidate
    from skillsync.locking.lockfile import Lockfile
    from skillsync.locking.manifest import Manifest

Pinned = dict[str, frozenset[str]]  # by provider (`gem:sus`): the names of its skills


def pinned_by(lock: Lockfile) -> Pinned:
    """Return what a lock pins."""
    return {provider.key: frozenset(skill.name for skill in provider.skills) for provider in lock.providers}


def shipped_by(candidates: Iterable[Candidate]) -> Pinned:
    """Return what is installed, and the skills that each ships in any of its variants."""
    return {
        candidate.key: frozenset(skill.name for provider in candidate.providers for skill in provider.skills)
        for candidate in candidates
    }


def together(one: Pinned, other: Pinned) -> Pinned:
    """Return the providers of both, each with its skills of both."""
    return {key: one.get(key, frozenset()) | other.get(key, frozenset()) for key in (*one, *other)}


def raised(problems: Iterable[Problem], skill: FoundSkill, candidate: Candidate, pinned: Pinned) -> Iterator[Problem]:
    """Make errors of what is wrong with an admitted skill that somebody relies on."""
    wanted = candidate.choice.selects(skill.name) or skill.name in pinned.get(candidate.key, ())
    for problem in problems:
        yield problem.as_error() if wanted and not skill.is_valid else problem.as_warning()


def vanished(
    pinned: Pinned, manifest: Manifest, environments: Iterable[Environment | NoEnvironment]
) -> Iterator[Problem]:
    """Yield what is pinned, still wanted, and can't be looked at now: never "all removed".

    `environments` are the answers of all ecosystems that the manifest admits and something pinned is of.
    """
    read = {environment.ecosystem: environment for environment in environments}
    for ecosystem in sorted({key.partition(":")[0] for key in pinned}):
        wanted = [key for key in sorted(pinned) if key.startswith(f"{ecosystem}:") and _is_wanted(key, manifest)]
        environment = read.get(ecosystem)
        if not wanted:
            continue
        if environment is None:
            yield Problem(
                code=Code.ENVIRONMENT_NOT_FOUND,
                message=f"this skillsync does not know the ecosystem {ecosystem}, and {', '.join(wanted)} is pinned",
                hint=f"upgrade skillsync, or leave {ecosystem} out with `ecosystems` in {FILE_NAME}",
            )
        elif isinstance(environment, NoEnvironment):
            yield environment.problem.as_error()
        elif not environment.packages:
            yield Problem(
                code=Code.ENVIRONMENT_NOT_FOUND,
                message=f"no {ecosystem} package is installed, and {', '.join(wanted)} is pinned",
                hint=f"run `{environment.install}`; "
                "if they are gone for good, remove agent-skills.lock and run `skillsync lock`",
            )
        else:
            yield from _missing(wanted, environment, manifest)


def _is_wanted(key: str, manifest: Manifest) -> bool:
    """Whether the manifest would still admit a provider of this name."""
    ecosystem, _, name = key.partition(":")
    if manifest.ecosystems is not None and ecosystem not in manifest.ecosystems:
        return False
    return manifest.rules is None or not all(rule.admits_none for rule in manifest.governing(ecosystem, name))


def _missing(wanted: Sequence[str], environment: Environment, manifest: Manifest) -> Iterator[Problem]:
    found = {package.key for package in environment.packages}
    for key in wanted:
        name = key.partition(":")[2]
        exact = manifest.rules is not None and any(
            rule.is_exact for rule in manifest.governing(environment.ecosystem, name)
        )
        # An exact name in the manifest has its own problem already.
        if key in found or exact:
            continue
        yield from (problem.as_error() for problem in environment.problems if problem.provider == key)
        if name in environment.named:
            yield missing_provider(key, "a dependency file of the project", environment.install)
