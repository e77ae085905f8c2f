"""`verify`: every difference between lock, target directories and providers; changes nothing.

Invariants: the same plan as `sync`; says how much it looked at; a lock with skills of which none was looked at fails.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from skillsync.commands.former import former
from skillsync.commands.project import load_manifest, require_lock, targets
from skillsync.commands.result import Result
from skillsync.locking.changes import SAME_VERSION, between
from skillsync.locking.pins import pinned_by
from skillsync.syncing import plan
from skillsync.syncing.plan import Directory, Drift, DriftRow, Linked
from skillsync.syncing.state import notes, read_settled
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillsync.commands.project import Project
    from skillsync.commands.survey import Survey
    from skillsync.locking.changes import Change
    from skillsync.locking.lockfile import Lockfile
    from skillsync.locking.manifest import Manifest
    from skillsync.locking.resolver import Resolution
    from skillsync.syncing.plan import State
    from skillsync.syncing.target import Target


class Scope(Enum):
    """What is compared with the lock."""

    ALL = "all"
    INSTALLED = "installed"
    PROVIDERS = "providers"


class Checked(Value):
    """How much was looked at. What is on both sides counts once, as installed."""

    skills: int
    files: int
    providers: int


class Installed(Value):
    """What was found in one target directory.

    `left_out` are paths in locked skills that are not compared, `unowned` the entries that are not skillsync's. `notes`
    say more of a path of the drift.
    """

    target: str
    drift: tuple[DriftRow, ...]
    skills: int
    files: int
    left_out: tuple[str, ...]
    unowned: tuple[str, ...]
    notes: Mapping[str, str]


class Provided(Value):
    """What the installed packages would be locked as, and how the lock differs; `changes` is None with an error."""

    survey: Survey
    resolution: Resolution
    changes: tuple[Change, ...] | None


class Verified(Result):
    """What `verify` found; `provided` is None where the scope leaves the packages out."""

    scope: Scope
    lock: Lockfile
    provided: Provided | None
    installed: tuple[Installed, ...]

    @property
    def is_ok(self) -> bool:
        """Whether all is as it was locked."""
        return not self.drift

    @property
    def checked(self) -> Checked:
        """How much was looked at."""
        resolved = self.provided.resolution.lock if self.provided else None
        if self.scope is Scope.PROVIDERS and resolved:
            trees = [skill.tree for _, skill in resolved.skills.values()]
            skills, files = len(trees), sum(map(len, trees))
        else:
            skills, files = sum(one.skills for one in self.installed), sum(one.files for one in self.installed)
        return Checked(skills=skills, files=files, providers=len(resolved.providers) if resolved else 0)

    @property
    def differences(self) -> tuple[tuple[str | None, DriftRow], ...]:
        """Every difference, with its target directory; None is the lock itself."""
        changes = (self.provided.changes if self.provided else None) or ()
        stale = (
            DriftRow(kind=Drift.STALE_LOCK, skill=one.skill, note=SAME_VERSION if one.is_silent else "")
            for one in changes
        )
        return (
            *((None, row) for row in stale),
            *((one.target, row) for one in self.installed for row in one.drift),
        )


def verify(project: Project, *, scope: Scope = Scope.ALL) -> Verified:
    """Compare what the scope asks for with the lock. Raises SkillsyncError for what can't be read, and OSError."""
    lock = require_lock(project)
    manifest = load_manifest(project)
    provided = None if scope is Scope.INSTALLED else _provided(project, manifest, lock)
    problems = [*provided.survey.problems, *provided.resolution.problems] if provided else []
    installed: tuple[Installed, ...] = ()
    if scope is not Scope.PROVIDERS:
        installed = tuple(
            _installed(place, read_settled(place, lock, project.track), lock) for place in targets(project, manifest)
        )
        problems += former(project, manifest)
    found = Verified(
        scope=scope, lock=lock, provided=provided, installed=installed, problems=tuple(problems), drift=False
    )
    blind = bool(lock.skills) and not found.checked.skills
    return replace(found, drift=bool(found.differences) or found.is_stopped or blind)


def _installed(place: Target, state: State, lock: Lockfile) -> Installed:
    """Compare what is in one target directory with the lock."""
    made = plan.make(place.name, lock, state, force=False)
    locked = {name: one for name, one in state.disk.items() if name in lock.skills}
    read = {name: one.snapshot for name, one in locked.items() if isinstance(one, Directory)}
    return Installed(
        target=place.name,
        drift=tuple(made.drift),
        # Of a link there is its text to look at: what it leads to is another target's.
        skills=len(read) + sum(isinstance(one, Linked) for one in locked.values()),
        files=sum(len(one.tree) for one in read.values()),
        left_out=tuple(sorted(f"{name}/{path}" for name, one in read.items() for path in (*one.runtime, *one.ignored))),
        unowned=tuple(state.unowned),
        notes=notes(place, made, lock),
    )


def _provided(project: Project, manifest: Manifest, lock: Lockfile) -> Provided:
    """Compare the lock with manifest and environment, as `lock --check` does."""
    from skillsync.commands.resolving import resolved

    survey, resolution = resolved(project, manifest, pinned_by(lock))
    # Of an environment that can't be read whole, only its problems are known.
    is_known = not any(problem.is_error for problem in (*survey.problems, *resolution.problems))
    changes = tuple(between(lock, resolution.lock)) if is_known else None
    return Provided(survey=survey, resolution=resolution, changes=changes)
