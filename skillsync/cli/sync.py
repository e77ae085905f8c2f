"""`skillsync sync`: bring the target directories to the lock.

Invariants: every target is planned before the first is changed; one refusal, and nothing is; a dry run makes the same
plan and asks the same of the providers.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from enum import Enum
from typing import TYPE_CHECKING

from skillsync.cli.former import former
from skillsync.cli.project import Project, load_manifest, require_lock, targets
from skillsync.errors import Code, Problem, SkillsyncError
from skillsync.locking.changes import Action, Change
from skillsync.rendering import report
from skillsync.rendering.report import Report
from skillsync.syncing import gitignore, plan, target
from skillsync.syncing.apply import Source, Work, apply, check_source, needed
from skillsync.syncing.journal import Settlement
from skillsync.syncing.recovery import recover
from skillsync.syncing.state import read_gitignore, read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from skillsync.locking.lockfile import Lockfile
    from skillsync.locking.manifest import Manifest
    from skillsync.syncing.target import Target


class Mode(Enum):
    """How far the command goes."""

    APPLY = "apply"
    DRY_RUN = "dry-run"
    CHECK = "check"


def run(project: Project, *, mode: Mode, force: bool, busy: Callable[[str], None]) -> Report:
    """Plan and, unless the mode says otherwise, apply.

    `busy` is told the target directory that another run holds; it may raise, else that run is waited for.
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
                return _interrupted(place.name, mode)
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
        refused = any(problem.is_error for problem in problems)
        if mode is Mode.APPLY and not refused:
            apply(works, lock, sources, project.track)
    return _report(works, settled, mode, lock, tuple(problems), refused=refused)


Settled = dict[str, dict[str, Settlement]]  # by target directory: what became of an interrupted run's skills


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


def _interrupted(name: str, mode: Mode) -> Report:
    """Say that what is there is no state to plan from: the next run settles it first, whatever it then has to do."""
    line = f"interrupted: {name}; `skillsync sync` completes or undoes it first"
    return Report(lines=[report.printable(line)], data={"changes": []}, drift=mode is Mode.CHECK)


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
    from skillsync.cli.sources import find

    return find(project, manifest, lock, names)


def _report(  # noqa: PLR0913  # all that happened
    works: Sequence[Work], settled: Settled, mode: Mode, lock: Lockfile, problems: tuple[Problem, ...], *, refused: bool
) -> Report:
    changes = [(work.plan.target, change) for work in works for change in work.plan.changes]
    shown = [] if refused and mode is Mode.APPLY else changes
    before = [
        report.printable(f"settled what an interrupted sync left in {name}{_became(one)}")
        for name, one in settled.items()
    ]
    lines = [*before, *(line for name, change in shown for line in report.change_lines(change, target=name))]
    if not refused and mode is Mode.APPLY:
        lines += [
            report.printable(f"~ {work.plan.target}/{gitignore.FILE_NAME}")
            for work in works
            if work.gitignore is not None
        ]
    nothing = "nothing else was changed" if settled else "nothing was changed"
    return Report(
        lines=[*lines, nothing if refused else _summary(works, mode, lock)],
        palette=report.CHANGES,
        data={"changes": [report.change_json(change, name) for name, change in shown]},
        problems=problems,
        drift=mode is Mode.CHECK and bool(changes),
    )


def _became(settled: Mapping[str, Settlement]) -> str:
    """Say which skills were brought back, and which had only to be recorded."""
    words = (
        f"{word} {', '.join(sorted(name for name, one in settled.items() if one is settlement))}"
        for settlement, word in _BECAME.items()
        if settlement in settled.values()
    )
    return "".join(f"; {one}" for one in words)


_BECAME = {Settlement.RESTORE: "brought back", Settlement.ADOPT: "completed"}


def _summary(works: Sequence[Work], mode: Mode, lock: Lockfile) -> str:
    """Count what is done, target by target; those with the same counts are named together."""
    places: dict[str, list[str]] = {}
    for work in works:
        places.setdefault(_counts(work.plan.changes, mode), []).append(work.plan.target)
    unchanged = places.pop("", [])
    if not places:
        skills = report.counted(len(lock.skills), "skill")
        return f"in sync: {skills} {_in(unchanged)}" if lock.skills else "in sync: the lock has no skills"
    said = [f"{words} {_in(names)}" for words, names in places.items()]
    said += [report.printable(f"in sync: {', '.join(unchanged)}")] if unchanged else []
    return "; ".join(said if mode is Mode.APPLY else [*said, "nothing was changed"])


def _counts(changes: Sequence[Change], mode: Mode) -> str:
    """Count some changes, by what is done; "" where there are none."""
    counts = [(action.value, sum(change.action is action for change in changes)) for action in Action]
    return ", ".join(
        f"{count} {_DONE[word] if mode is Mode.APPLY else f'to {word}'}" for word, count in counts if count
    )


def _in(targets: Sequence[str]) -> str:
    """Say where something is so: of several places, in each of them."""
    return report.printable(f"in {'each of ' if len(targets) > 1 else ''}{', '.join(targets)}")


_DONE = {
    "add": "added",
    "update": "updated",
    "remove": "removed",
    "repair": "repaired",
    "record": "recorded",
    "forget": "forgotten",
}
