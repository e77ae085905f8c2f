"""What there is and the state of it: what `skillsync list` and `skillsync show` tell of.

Invariants: writes nothing; a state comes from lock, registry and existence; only `list --verify` reads the skills.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.cli.project import Project, targets
from skillsync.cli.survey import Survey, survey
from skillsync.discovery.provider import read
from skillsync.errors import Code, Problem, Severity
from skillsync.locking.pins import pinned_by
from skillsync.snapshot import shipped_faults
from skillsync.syncing import plan, status, target
from skillsync.syncing.state import glance, read_settled
from skillsync.syncing.status import Status
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillsync.discovery.provider import Provider
    from skillsync.locking.choice import Candidate, Choice
    from skillsync.locking.lockfile import LockedProvider, Lockfile
    from skillsync.locking.manifest import Manifest


class Row(Value):
    """One skill of one provider. `provider` is None where only the lock still knows it.

    `hash` and `locked_version` are the lock's: the provider's copy may be of another version by now.
    """

    name: str
    description: str
    hash: str | None
    locked_version: str | None
    status: Status
    provider: Provider | None = None


class Shelf(Value):
    """A provider and its skills; one that is not installed has the locked version, and no `choice`."""

    ecosystem: str
    name: str
    version: str
    admitted: bool
    rows: tuple[Row, ...]
    choice: Choice | None = None

    @property
    def is_installed(self) -> bool:
        """Whether the package is there."""
        return self.choice is not None

    @property
    def key(self) -> str:
        """The provider as it is written everywhere."""
        return f"{self.ecosystem}:{self.name}"


def overview(
    project: Project, manifest: Manifest, lock: Lockfile, *, verify: bool
) -> tuple[Survey, list[Shelf], tuple[Problem, ...]]:
    """Return what is installed and locked, sorted by provider and skill."""
    found = survey(project, manifest, pinned_by(lock))
    statuses, problems = _locked(project, manifest, lock, verify=verify)
    twice = {one.skill for one in found.problems if one.code is Code.DUPLICATE_SKILL}
    shelves = {}
    for candidate in found.candidates:
        rows = tuple(_candidate_rows(candidate, lock, statuses, twice, verify=verify))
        if rows:
            package = candidate.choice.package
            shelves[candidate.key] = Shelf(
                ecosystem=package.ecosystem,
                name=package.name,
                version=package.version,
                admitted=candidate.choice.rule is not None,
                rows=rows,
                choice=candidate.choice,
            )
    choices = {candidate.key: candidate.choice for candidate in found.candidates}
    for provider in lock.providers:
        choice = choices.get(provider.key)
        shelves[provider.key] = _with_locked(shelves.get(provider.key), choice, provider, statuses, manifest)
    ordered = [shelves[key] for key in sorted(shelves)]
    return found, ordered, (*found.problems, *problems)


def _locked(
    project: Project, manifest: Manifest, lock: Lockfile, *, verify: bool
) -> tuple[dict[str, Status], list[Problem]]:
    """Return the state of each locked skill: the most pressing of all target directories."""
    found: dict[str, Status] = {}
    problems: list[Problem] = []
    order = list(Status)
    for place in targets(project, manifest):
        if verify:
            state = read_settled(place, lock, project.track)
        else:
            with target.opened(place) as fd:
                state = glance(fd, place, lock)
        if state.interrupted:
            problems.append(_interrupted(place.name))
        for name, (provider, skill) in lock.skills.items():
            row, disk = state.registry.rows.get(name), state.disk.get(name, plan.Absent())
            if verify:
                verdict = plan.decide(skill.hash, provider.key, row, disk, state.links(name))
                here = status.of_verified(verdict.drift, row, disk)
            else:
                here = status.of_locked(provider, skill, row, is_there=not isinstance(disk, plan.Absent))
            found[name] = max(found.get(name, here), here, key=order.index)
    return found, problems


def _interrupted(name: str) -> Problem:
    message = f"a sync of {name} was interrupted, or is at work"
    hint = "`skillsync sync` completes or undoes it"
    return Problem(code=Code.BUSY, message=message, hint=hint, severity=Severity.WARNING, path=name)


def _candidate_rows(
    candidate: Candidate, lock: Lockfile, statuses: Mapping[str, Status], twice: Iterable[str | None], *, verify: bool
) -> Iterator[Row]:
    admitted = {skill.name for skill in candidate.admitted}
    for skill in candidate.provider.skills:
        provider, locked = lock.skills.get(skill.name, (None, None))
        is_pinned = provider is not None and provider.key == candidate.key
        if not skill.is_valid:
            state = Status.INVALID
        elif verify and shipped_faults(read(candidate.provider.package, skill.path)):
            state = Status.UNSAFE
        elif skill.name in twice and skill.name in admitted:
            state = Status.CONFLICT
        elif is_pinned:
            state = statuses[skill.name]
        else:
            state = Status.AVAILABLE if skill.name in admitted else Status.EXCLUDED
        yield Row(
            name=skill.name,
            description=skill.description,
            hash=locked.hash if locked and is_pinned else None,
            locked_version=provider.version if provider and is_pinned else None,
            status=state,
            provider=candidate.provider,
        )


def _with_locked(
    shelf: Shelf | None,
    choice: Choice | None,
    provider: LockedProvider,
    statuses: Mapping[str, Status],
    manifest: Manifest,
) -> Shelf:
    """Add the skills that only the lock still has."""
    known = {row.name for row in shelf.rows} if shelf else set()
    rows = tuple(
        Row(
            name=skill.name,
            description="",
            hash=skill.hash,
            locked_version=provider.version,
            status=statuses[skill.name],
        )
        for skill in provider.skills
        if skill.name not in known
    )
    rules = manifest.governing(provider.ecosystem, provider.name)
    return Shelf(
        ecosystem=provider.ecosystem,
        name=provider.name,
        version=choice.package.version if choice else provider.version,
        admitted=shelf.admitted if shelf else manifest.rules is None or len(rules) == 1,
        rows=tuple(sorted((*(shelf.rows if shelf else ()), *rows), key=lambda row: row.name)),
        choice=choice,
    )
