"""`sync`: bring the target directories to the lock.

Invariants: every target is planned before the first is changed; one refusal, and nothing is; a dry run makes the same
plan and asks the same of the providers.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from enum import Enum
from typing import TYPE_CHECKING

from skillsync.commands.former import former
from skillsync.commands.project import load_manifest, require_lock, targets
from skillsync.commands.result import Result
from skillsync.errors import Code, Problem, SkillsyncError
from skillsync.syncing import gitignore, plan, target
from skillsync.syncing.apply import Source, Work, apply, check_source, needed
from skillsync.syncing.recovery import recover
from skillsync.syncing.state import read_gitignore, read_state
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from skillsync.commands.project import Project
    from skillsync.locking.changes import Change
    from skillsync.locking.lockfile import Lockfile
    from skillsync.locking.manifest import Manifest
    from skillsync.syncing.journal import Settlement
    from skillsync.syncing.target import Target

    Settled = dict[str, dict[str, Settlement]]  # by target directory: what became of an interrupted run's skills


class Mode(Enum):
    """How far the command goes."""

    APPLY = "apply"
    DRY_RUN = "dry-run"
    CHECK = "check"


class TargetChanges(Value):
    """What is to be done in one target directory; `gitignore` tells whether its `.gitignore` has to be written."""

    target: str
    changes: tuple[Change, ...]
    gitignore: bool


class Synced(Result):
    """What `sync` came to, target directory by target directory: done, if the mode says so and there is no error.

    `settled` is what became of the skills of an interrupted run, by target directory. Where one is interrupted and the
    mode writes nothing, `interrupted` is its name and nothing else is known.
    """

    mode: Mode
    lock: Lockfile
    targets: tuple[TargetChanges, ...] = ()
    settled: Mapping[str, Mapping[str, Settlement]]
    interrupted: str | None = None

    @property
    def is_applied(self) -> bool:
        """Whether the changes were made."""
        return self.mode is Mode.APPLY and not self.is_stopped


def _wait(_target: str) -> None:
    """Wait for another run without a word."""


def sync(
    project: Project, *, mode: Mode = Mode.APPLY, force: bool = False, busy: Callable[[str], None] = _wait
) -> Synced:
    """Plan and, unless the mode says otherwise, apply.

    `busy` is told the target directory that another run holds; it may raise, else that run is waited for. Raises
    SkillsyncError for what can't be read, and OSError; then nothing was changed.
    """
    lock = require_lock(project)
    manifest = load_manifest(project)
    works: list[Work] = []
    problems: list[Problem] = []
    with _settling() as settled, ExitStack() as stack:
        for place in targets(project, manifest):
            fd, found = _open(stack, place, lock, mode, busy)
            if found is not None:
                settled[place.name] = found
            state = read_state(fd, place, lock, project.track)
            if state.interrupted:
                # What is there is no state to plan from: the next run settles it first, whatever it then has to do.
                drift = mode is Mode.CHECK
                return Synced(mode=mode, lock=lock, settled={}, interrupted=place.name, problems=(), drift=drift)
            made = plan.make(place.name, lock, state, force=force)
            works.append(Work(fd=fd, plan=made, gitignore=_gitignore(fd, place, made, manifest)))
            problems += made.problems
        problems += former(project, manifest)
        sources, missing = _sources(project, manifest, lock, works)
        problems += missing
        if mode is not Mode.APPLY:
            # Applying, each is hashed while it is copied.
            parts = project.track(sources.items(), "reading packages' skills")
            checked = (check_source(*lock.skills[name], source) for name, source in parts)
            problems += [problem for problem in checked if problem]
        done = Synced(
            mode=mode,
            lock=lock,
            targets=tuple(
                TargetChanges(
                    target=work.plan.target, changes=tuple(work.plan.changes), gitignore=work.gitignore is not None
                )
                for work in works
            ),
            settled=settled,
            problems=tuple(problems),
            drift=mode is Mode.CHECK and any(work.plan.changes for work in works),
        )
        if done.is_applied:
            apply(works, lock, sources, project.track)
    return done


@contextmanager
def _settling() -> Iterator[Settled]:
    """Collect what was settled; a failure of the system after it doesn't say that nothing was changed."""
    settled: Settled = {}
    try:
        yield settled
    except OSError as error:
        if not settled:
            raise
        path = str(error.filename or next(iter(settled)))
        hint = "mend that, then run `skillsync sync` again: an interrupted sync was settled, nothing else was changed"
        problem = Problem(code=Code.IO, message=f"{path}: {error.strerror}", hint=hint)
        raise SkillsyncError(problem) from error


def _open(
    stack: ExitStack, place: Target, lock: Lockfile, mode: Mode, busy: Callable[[str], None]
) -> tuple[int | None, dict[str, Settlement] | None]:
    """Open a target directory as the mode needs it, and return what became of an interrupted run in it.

    What writes nothing takes no lock and makes no directory.
    """
    if mode is Mode.APPLY and (lock.skills or place.exists):
        fd = stack.enter_context(target.held(place, busy))
        return fd, recover(fd, place)
    return stack.enter_context(target.opened(place)), None


def _gitignore(fd: int | None, place: Target, made: plan.Plan, manifest: Manifest) -> str | None:
    """Return what `.gitignore` has to become, None if it may stay as it is."""
    before = None if fd is None else read_gitignore(fd, place)
    if before is None and not (made.owned and manifest.gitignore):
        return None
    after = gitignore.updated(before or "", made.owned, enabled=manifest.gitignore, links=made.links)
    return None if after == before else after


def _sources(
    project: Project, manifest: Manifest, lock: Lockfile, works: Iterable[Work]
) -> tuple[dict[str, Source], list[Problem]]:
    """Find where the content is that has to be written."""
    names = needed(work.plan for work in works)
    if not names:
        return {}, []
    from skillsync.commands.sources import find

    return find(project, manifest, lock, names)
