"""`skillsync verify`: what differs from the lock, for people and programs.

Invariants: says what `skillsync.commands.verify` came to, and decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.commands import verify
from skillsync.rendering import report
from skillsync.rendering.report import Report, Verification
from skillsync.values import fields_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillsync.commands.project import Project
    from skillsync.commands.verify import Scope, Verified


def run(project: Project, *, scope: Scope) -> Report:
    """Verify, and say what came of it."""
    found = verify.verify(project, scope=scope)
    lines, summary = list(_lines(found)), _summary(found)
    notes = {path: note for one in found.installed for path, note in one.notes.items()}
    left_out = [f"{one.target}/{path}" for one in found.installed for path in one.left_out]
    environments = (
        {"environments": report.environments_json(found.provided.survey.environments)} if found.provided else {}
    )
    drift = found.differences
    return Report(
        lines=[*lines, summary] if found.is_ok else lines,
        palette=report.VERDICTS,
        findings=[
            *(report.drift_line(row, name, notes) for name, row in drift),
            *(() if found.is_ok else [summary]),
        ],
        data={
            **environments,
            "ok": found.is_ok,
            "checked": fields_of(found.checked),
            "not_compared": left_out,
            "drift": [report.drift_json(row, name) for name, row in drift],
        },
        verification=Verification(
            project=project.root,
            compared=tuple(_compared(found)),
            drift=drift,
            notes=notes,
            summary=summary,
        ),
        problems=found.problems,
        drift=found.drift,
    )


def _lines(found: Verified) -> Iterator[str]:
    """Yield what was read, and what of it was not compared."""
    if found.provided:
        from skillsync.commands.resolving import nothing

        yield from report.environment_lines(found.provided.survey.environments)
        if found.provided.changes is not None and not found.provided.resolution.lock.skills:
            yield nothing(found.provided.survey, found.provided.resolution)
    for one in found.installed:
        if one.left_out:
            yield report.printable(f"not compared in {one.target}: {', '.join(one.left_out)}")
        if one.unowned:
            yield report.printable(f"not skillsync's in {one.target}: {', '.join(one.unowned)}")


def _compared(found: Verified) -> Iterator[tuple[str | None, str]]:
    """Yield what was compared with the lock: a skill's directory, or what its package ships."""
    if found.provided and found.provided.changes is not None:
        yield from ((None, skill) for skill in found.lock.skills)
    yield from ((one.target, skill) for one in found.installed for skill in found.lock.skills)


def _summary(found: Verified) -> str:
    counts = ", ".join(report.counted(number, word[:-1]) for word, number in fields_of(found.checked).items())
    checked = f"checked {counts} (scope {found.scope.value})"
    if found.is_ok:
        return f"ok: {checked}" if found.lock.skills else f"ok: the lock has no skills; {checked}"
    if not found.differences:
        return f"failed: {checked}"
    said = f"drift: {report.counted(len(found.differences), 'difference')}; {checked}"
    # Where something is wrong besides, its own command comes first.
    return said if found.is_stopped else f"{said}; {report.cure([row for _, row in found.differences])}"
