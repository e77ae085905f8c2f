"""`lock`: pin what is installed and admitted.

Invariants: writes the lock and nothing else, and only when its content changes; with one error it writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync import filesystem
from skillsync.commands.project import BrokenLockError, load_lock, load_manifest, targets
from skillsync.commands.resolving import resolved, resolved_alone
from skillsync.commands.result import Result
from skillsync.errors import Code, Problem, Severity
from skillsync.locking.lockfile import FILE_NAME, Lockfile, dump, fault
from skillsync.locking.pins import Pinned, pinned_by
from skillsync.syncing import target
from skillsync.syncing.registry import Row
from skillsync.syncing.state import read_registry
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillsync.commands.project import Project
    from skillsync.commands.survey import Survey
    from skillsync.locking.changes import Change
    from skillsync.locking.manifest import Manifest
    from skillsync.locking.resolver import Resolution
    from skillsync.reviewing.marks import Mark


class Reviewed(Value):
    """A change of the lock, and what in it deserves a look."""

    change: Change
    marks: tuple[Mark, ...]


class Locked(Result):
    """What `lock` found.

    `before` is the lock that was there, None if there was none that can be read; `is_stale` tells whether what the
    installed packages make differs: it is written, unless `check` was asked for. With an error among the problems
    nothing is known of changes, and nothing was written. `survey` is what is installed.
    """

    before: Lockfile | None
    changes: tuple[Reviewed, ...]
    is_stale: bool
    check: bool
    survey: Survey
    resolution: Resolution

    @property
    def lock(self) -> Lockfile:
        """What the installed packages make."""
        return self.resolution.lock

    @property
    def is_written(self) -> bool:
        """Whether there is a new lock now."""
        return self.is_stale and not self.check and not self.is_stopped


def lock(project: Project, *, check: bool = False, strict: bool = False, only: Sequence[str] = ()) -> Locked:
    """Resolve, and write the lock; with `check`, only tell whether it would change; `strict` stops at warnings too.

    `only` are the providers (`gem:sus`) whose state is taken; all others stay as they are locked. Raises SkillsyncError
    for what can't be read, and OSError.
    """
    manifest = load_manifest(project)
    old, pinned, said = _current(project, manifest, is_needed=check or bool(only))
    if only:
        found, resolution = resolved_alone(project, manifest, old or Lockfile(), only)
    else:
        found, resolution = resolved(project, manifest, pinned)
    problems = (*said, *found.problems, *resolution.problems)
    if strict:
        # What a package does that the manifest doesn't admit, nobody here can mend, and none of it is taken.
        unadmitted = {one.key for one in found.candidates if one.choice.rule is None and one.choice.refusing is None}
        problems = tuple(one if one.provider in unadmitted else one.as_error() for one in problems)
    # What is equal is written alike; what isn't may be: a lock can be edited by hand.
    content = b"" if old == resolution.lock else dump(resolution.lock)
    if content and (reason := fault(content)):
        problems = (*problems, _too_large(reason))
    stale = old is None or (bool(content) and dump(old) != content)
    done = Locked(
        before=old,
        changes=(),
        is_stale=stale,
        check=check,
        survey=found,
        resolution=resolution,
        problems=problems,
        drift=check and stale,
    )
    if stale and not done.is_stopped:
        done = replace(done, changes=_reviewed(project, manifest, old or Lockfile(), resolution))
    if done.is_written:
        filesystem.replace_file(f"{project.root}/{FILE_NAME}", content)
    return done


def _reviewed(project: Project, manifest: Manifest, old: Lockfile, resolution: Resolution) -> tuple[Reviewed, ...]:
    """Return what changes, with what deserves a look in it."""
    from skillsync.commands.differences import before_lock
    from skillsync.reviewing.marks import marks

    found = before_lock(project, manifest, old, resolution)
    return tuple(Reviewed(change=one.change, marks=tuple(marks(one))) for one in found)


def _too_large(reason: str) -> Problem:
    message = f"{FILE_NAME} would be {reason}, which is not read"
    hint = "admit fewer skills: run `skillsync deny PROVIDER` for what isn't needed"
    return Problem(code=Code.LOCK_UNREADABLE, message=message, hint=hint, path=FILE_NAME)


def _current(
    project: Project, manifest: Manifest, *, is_needed: bool
) -> tuple[Lockfile | None, Pinned, tuple[Problem, ...]]:
    """Return the lock, what is pinned, and the warning that a lock which can't be read is written anew."""
    try:
        old = load_lock(project)
        return old, pinned_by(old or Lockfile()), ()
    except BrokenLockError as error:
        if is_needed:
            raise
        said = tuple(replace(problem, severity=Severity.WARNING, hint=None) for problem in error.problems)
        return None, _installed(project, manifest), said


def _installed(project: Project, manifest: Manifest) -> Pinned:
    """Return what the registries own: what was installed by a lock that can't be read must not vanish with it."""
    found: dict[str, set[str]] = {}
    for place in targets(project, manifest):
        with target.opened(place) as fd:
            rows = read_registry(fd, place).rows if fd is not None else {}
        for name, row in rows.items():
            if isinstance(row, Row):
                found.setdefault(row.owner, set()).add(name)
    return {owner: frozenset(names) for owner, names in found.items()}
