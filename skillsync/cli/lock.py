"""`skillsync lock`: pin what is installed and admitted.

Invariants: writes the lock and nothing else, and only when its content changes; with one error it writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync import filesystem
from skillsync.cli.project import BrokenLockError, Project, load_lock, load_manifest, targets
from skillsync.cli.resolving import nothing, resolved, resolved_alone
from skillsync.errors import Code, Problem, Severity
from skillsync.locking.lockfile import FILE_NAME, Lockfile, dump, fault
from skillsync.locking.pins import Pinned, pinned_by
from skillsync.rendering import report
from skillsync.rendering.report import Report
from skillsync.syncing import target
from skillsync.syncing.registry import Row
from skillsync.syncing.state import read_registry
from skillsync.values import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillsync.cli.survey import Survey
    from skillsync.locking.changes import Change
    from skillsync.locking.manifest import Manifest
    from skillsync.locking.resolver import Resolution
    from skillsync.reviewing.marks import Mark


def run(project: Project, *, check: bool, strict: bool, only: Sequence[str] = ()) -> Report:
    """Resolve, and write the lock; with `check`, only tell whether it would change; `strict` stops at warnings too.

    `only` are the providers whose state is taken; all others stay as they are locked.
    """
    manifest = load_manifest(project)
    old, pinned, said = _current(project, manifest, is_needed=check or bool(only))
    if only:
        found, resolution = resolved_alone(project, manifest, old or Lockfile(), only)
    else:
        found, resolution = resolved(project, manifest, pinned)
    problems = (*said, *found.problems, *resolution.problems)
    if strict:
        problems = tuple(problem.as_error() for problem in problems)
    # What is equal is written alike; what isn't may be: a lock can be edited by hand.
    content = b"" if old == resolution.lock else dump(resolution.lock)
    if content and (reason := fault(content)):
        problems = (*problems, _too_large(reason))
    stopped = any(problem.is_error for problem in problems)
    stale = old is None or (bool(content) and dump(old) != content)
    marked = _marked(project, manifest, old or Lockfile(), resolution) if stale and not stopped else []
    if stale and not stopped and not check:
        filesystem.replace_file(f"{project.root}/{FILE_NAME}", content)
    lines = report.environment_lines(found.environments)
    if only:
        lines.append(report.printable(f"only {', '.join(only)}: all other providers stay as they are locked"))
    for change, found_marks in marked:
        lines += report.change_lines(change, found_marks)
    lines += report.not_admitted_lines(resolution.not_admitted)
    if stopped:
        lines.append(
            f"whether {FILE_NAME} is up to date is not known before the errors are mended"
            if check
            else f"{FILE_NAME} was not written"
        )
    else:
        lines += _summary(found, resolution, stale=stale, check=check, is_there=old is not None)
    return Report(
        lines=lines,
        palette=report.CHANGES,
        details=[*report.note_lines(found.environments), *report.ignored_lines(found.candidates)],
        data=_data(found, resolution, marked),
        problems=problems,
        drift=check and stale,
    )


def _marked(
    project: Project, manifest: Manifest, old: Lockfile, resolution: Resolution
) -> list[tuple[Change, list[Mark]]]:
    """Return what changes, with what deserves a look in it."""
    from skillsync.cli.differences import before_lock
    from skillsync.reviewing.marks import marks

    return [(one.change, marks(one)) for one in before_lock(project, manifest, old, resolution)]


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


def _summary(found: Survey, resolution: Resolution, *, stale: bool, check: bool, is_there: bool) -> list[str]:
    skills = report.counted(len(resolution.lock.skills), "skill")
    size = f"{skills} of {report.counted(len(resolution.lock.providers), 'provider')}"
    lines = [] if resolution.lock.skills else [nothing(found, resolution)]
    if not stale:
        return [*lines, f"{FILE_NAME} is up to date: {size}"]
    if not check:
        # Where nothing was locked and nothing is, there is nothing to do.
        step = "; run `skillsync sync`" if resolution.lock.skills or is_there else ""
        return [*lines, f"wrote {FILE_NAME}: {size}{step}"]
    return [*lines, f"{FILE_NAME} is {'out of date' if is_there else 'missing'}: run `skillsync lock`"]


def _data(found: Survey, resolution: Resolution, marked: Sequence[tuple[Change, Sequence[Mark]]]) -> report.Json:
    return {
        "environments": report.environments_json(found.environments),
        "changes": [
            {**report.change_json(change), "marks": [report.mark_json(mark) for mark in found_marks]}
            for change, found_marks in marked
        ],
        "not_admitted": report.not_admitted_json(resolution.not_admitted),
    }
