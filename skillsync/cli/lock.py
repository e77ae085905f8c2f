"""`skillsync lock`: what changes in the lock, for people and programs.

Invariants: says what `skillsync.commands.lock` came to, and decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.commands import lock
from skillsync.commands.resolving import nothing
from skillsync.locking.examination import left_out
from skillsync.locking.lockfile import FILE_NAME
from skillsync.rendering import report
from skillsync.rendering.report import Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillsync.commands.lock import Locked
    from skillsync.commands.project import Project


def run(project: Project, *, check: bool, strict: bool, only: Sequence[str] = ()) -> Report:
    """Lock, and say what came of it."""
    done = lock.lock(project, check=check, strict=strict, only=only)
    found = done.survey
    lines = report.environment_lines(found.environments)
    if only:
        lines.append(report.printable(f"only {', '.join(only)}: all other providers stay as they are locked"))
    for one in done.changes:
        lines += report.change_lines(one.change, one.marks)
    lines += report.not_admitted_lines(done.resolution.not_admitted)
    return Report(
        lines=[*lines, *_summary(done)],
        palette=report.CHANGES,
        details=[
            *report.note_lines(found.environments),
            *report.ignored_lines(found.candidates),
            *report.left_out_lines(left_out(found.candidates)),
        ],
        data={
            "environments": report.environments_json(found.environments),
            "changes": [
                {**report.change_json(one.change), "marks": [report.mark_json(mark) for mark in one.marks]}
                for one in done.changes
            ],
            "not_admitted": report.not_admitted_json(done.resolution.not_admitted),
        },
        problems=done.problems,
        drift=done.drift,
    )


def _summary(done: Locked) -> list[str]:
    if done.is_stopped:
        unknown = f"whether {FILE_NAME} is up to date is not known before the errors are mended"
        return [unknown if done.check else f"{FILE_NAME} was not written"]
    skills = report.counted(len(done.lock.skills), "skill")
    size = f"{skills} of {report.counted(len(done.lock.providers), 'provider')}"
    lines = [] if done.lock.skills else [nothing(done.survey, done.resolution)]
    if not done.is_stale:
        return [*lines, f"{FILE_NAME} is up to date: {size}"]
    if done.is_written:
        # Where nothing was locked and nothing is, there is nothing to do.
        step = "; run `skillsync sync`" if done.lock.skills or done.before is not None else ""
        return [*lines, f"wrote {FILE_NAME}: {size}{step}"]
    return [*lines, f"{FILE_NAME} is {'missing' if done.before is None else 'out of date'}: run `skillsync lock`"]
