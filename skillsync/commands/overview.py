"""What there is and the state of it: what `skillsync list` and `skillsync show` tell of.

Invariants: writes nothing; a state comes from lock, registry and existence; only who asks to verify has skills read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.commands.project import Project, targets
from skillsync.commands.survey import Survey, none_whole, survey
from skillsync.errors import Code, Problem, Severity
from skillsync.locking.pins import pinned_by
from skillsync.schema import folded
from skillsync.snapshot import shipped_faults
from skillsync.syncing import plan, status, target
from skillsync.syncing.state import glance, read_settled
from skillsync.syncing.status import Status
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skillsync.commands.survey import Wanted
    from skillsync.discovery.provider import Provider
    from skillsync.locking.choice import Candidate, Choice
    from skillsync.locking.lockfile import LockedProvider, LockedSkill, Lockfile
    from skillsync.locking.manifest import Manifest
    from skillsync.syncing.plan import State
    from skillsync.syncing.target import Target


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


class Here(Value):
    """A target directory: what is in it, and whether the skills were read or only their names.

    `others` are the entries that neither lock nor registry speak of, as the least discerning file system compares them.
    """

    target: Target
    state: State
    is_read: bool
    others: frozenset[str]

    def of_locked(self, provider: LockedProvider, skill: LockedSkill) -> Status:
        """Return the state of a locked skill."""
        row, disk = self.state.registry.rows.get(skill.name), self._disk(skill.name)
        if not self.is_read:
            return status.of_locked(provider, skill, row, is_there=not isinstance(disk, plan.Absent))
        verdict = plan.decide(skill.hash, provider.key, row, disk, self.state.links(skill.name))
        return status.of_verified(verdict.drift, row, disk)

    def of_available(self, owner: str, name: str) -> Status:
        """Return the state of a provider's skill that is admitted and not locked."""
        is_there = name in self.others or not isinstance(self._disk(name), plan.Absent)
        return status.of_available(owner, self.state.registry.rows.get(name), is_there=is_there)

    def _disk(self, name: str) -> plan.Disk:
        return self.state.disk.get(name, plan.Absent())


class Overview(Value):
    """What is installed and locked, the shelves sorted by provider, and the target directories."""

    found: Survey
    shelves: tuple[Shelf, ...]
    here: tuple[Here, ...]
    problems: tuple[Problem, ...]


def overview(project: Project, manifest: Manifest, lock: Lockfile, *, is_wanted: Wanted | None) -> Overview:
    """Return what is installed and locked.

    With `is_wanted`, what is in the target directories is read, and the packages' copies of the skills that it tells.
    """
    found = survey(project, manifest, pinned_by(lock), is_wanted or none_whole)
    here = tuple(_here(project, place, lock, is_read=is_wanted is not None) for place in targets(project, manifest))
    twice = {one.skill for one in found.problems if one.code is Code.DUPLICATE_SKILL}
    shelves = {}
    for candidate in found.candidates:
        rows = tuple(_candidate_rows(candidate, lock, here, twice))
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
        shelves[provider.key] = _with_locked(shelves.get(provider.key), choice, provider, here, manifest)
    interrupted = (_interrupted(one.target.name) for one in here if one.state.interrupted)
    return Overview(
        found=found,
        shelves=tuple(shelves[key] for key in sorted(shelves)),
        here=here,
        problems=(*found.problems, *interrupted),
    )


def _here(project: Project, place: Target, lock: Lockfile, *, is_read: bool) -> Here:
    if is_read:
        state = read_settled(place, lock, project.track)
    else:
        with target.opened(place) as fd:
            state = glance(fd, place, lock)
    return Here(target=place, state=state, is_read=is_read, others=frozenset(map(folded, state.unowned)))


def _pressing(states: Iterable[Status]) -> Status:
    """Return the most pressing of some states: those of one skill in all target directories."""
    return max(states, key=list(Status).index)


def _interrupted(name: str) -> Problem:
    message = f"a sync of {name} was interrupted, or is at work"
    hint = "`skillsync sync` completes or undoes it"
    return Problem(code=Code.BUSY, message=message, hint=hint, severity=Severity.WARNING, path=name)


def _candidate_rows(
    candidate: Candidate, lock: Lockfile, here: Sequence[Here], twice: Iterable[str | None]
) -> Iterator[Row]:
    admitted = {skill.name for skill in candidate.admitted}
    for skill in candidate.provider.skills:
        provider, locked = lock.skills.get(skill.name, (None, None))
        is_pinned = provider is not None and provider.key == candidate.key
        if not skill.is_valid:
            state = Status.INVALID
        elif skill.snapshot and shipped_faults(skill.snapshot):
            state = Status.UNSAFE
        elif skill.name in twice and skill.name in admitted:
            state = Status.CONFLICT
        elif provider and locked and is_pinned:
            state = _pressing(one.of_locked(provider, locked) for one in here)
        elif skill.name in admitted:
            state = _pressing(one.of_available(candidate.key, skill.name) for one in here)
        else:
            state = Status.EXCLUDED
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
    here: Sequence[Here],
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
            status=_pressing(one.of_locked(provider, skill) for one in here),
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
