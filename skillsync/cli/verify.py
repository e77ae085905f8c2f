"""`skillsync verify`: every difference between lock, target directories and providers; changes nothing.

Invariants: the same plan as `sync`; says how much it looked at; a lock with skills of which none was looked at fails.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from skillsync.cli.former import former
from skillsync.cli.project import Project, load_manifest, require_lock, targets
from skillsync.locking.changes import between
from skillsync.locking.pins import pinned_by
from skillsync.rendering import report
from skillsync.rendering.report import Report, Verification
from skillsync.syncing import plan
from skillsync.syncing.plan import Directory, Drift, DriftRow, Linked
from skillsync.syncing.state import notes, read_settled

if TYPE_CHECKING:
    from skillsync.errors import Problem
    from skillsync.locking.lockfile import Lockfile
    from skillsync.locking.manifest import Manifest
    from skillsync.syncing.plan import State
    from skillsync.syncing.target import Target


class Scope(Enum):
    """What is compared with the lock."""

    ALL = "all"
    INSTALLED = "installed"
    PROVIDERS = "providers"


class _Findings:
    """What was looked at and found so far."""

    def __init__(self) -> None:
        self.compared: list[tuple[str | None, str]] = []
        self.skills = self.files = self.providers = 0
        self.drift: list[tuple[str | None, DriftRow]] = []
        self.problems: list[Problem] = []
        self.lines: list[str] = []
        self.notes: dict[str, str] = {}
        self.left_out: list[str] = []
        self.data: report.Json = {}


def run(project: Project, *, scope: Scope) -> Report:
    """Compare what the scope asks for with the lock."""
    lock = require_lock(project)
    manifest = load_manifest(project)
    found = _Findings()
    if scope is not Scope.INSTALLED:
        _compare_providers(project, manifest, lock, found)
    if scope is Scope.ALL:
        # Both sides of each skill are read; it counts once, as installed.
        found.skills = found.files = 0
    if scope is not Scope.PROVIDERS:
        for place in targets(project, manifest):
            _compare_target(place, read_settled(place, lock, project.track), lock, found)
        found.problems += former(project, manifest)
    blind = bool(lock.skills) and not found.skills
    failed = any(problem.is_error for problem in found.problems)
    ok = not found.drift and not failed and not blind
    checked = {"skills": found.skills, "files": found.files, "providers": found.providers}
    summary = _summary(found, lock, scope, ok=ok)
    return Report(
        lines=[*found.lines, summary] if ok else found.lines,
        findings=[
            *(report.drift_line(row, name, found.notes) for name, row in found.drift),
            *(() if ok else [summary]),
        ],
        data={
            **found.data,
            "ok": ok,
            "checked": checked,
            "not_compared": found.left_out,
            "drift": [report.drift_json(row, name) for name, row in found.drift],
        },
        verification=Verification(
            project=project.root,
            compared=tuple(found.compared),
            drift=tuple(found.drift),
            notes=found.notes,
            summary=summary,
        ),
        problems=tuple(found.problems),
        drift=not ok,
    )


def _compare_target(place: Target, state: State, lock: Lockfile, found: _Findings) -> None:
    """Compare what is in one target directory with the lock."""
    made = plan.make(place.name, lock, state, force=False)
    locked = [one for name, one in state.disk.items() if name in lock.skills]
    read = [one.snapshot for one in locked if isinstance(one, Directory)]
    found.compared += [(place.name, skill) for skill in lock.skills]
    # Of a link there is its text to look at: what it leads to is another target's.
    found.skills += len(read) + sum(isinstance(one, Linked) for one in locked)
    found.files += sum(len(one.tree) for one in read)
    found.drift += [(place.name, row) for row in made.drift]
    found.notes |= notes(place, made, lock)
    left_out = sorted(
        f"{name}/{path}"
        for name, one in state.disk.items()
        if name in lock.skills and isinstance(one, Directory)
        for path in (*one.snapshot.runtime, *one.snapshot.ignored)
    )
    found.left_out += [f"{place.name}/{path}" for path in left_out]
    if left_out:
        found.lines.append(report.printable(f"not compared in {place.name}: {', '.join(left_out)}"))
    if state.unowned:
        found.lines.append(report.printable(f"not skillsync's in {place.name}: {', '.join(state.unowned)}"))


def _compare_providers(project: Project, manifest: Manifest, lock: Lockfile, found: _Findings) -> None:
    """Compare the lock with manifest and environment, as `lock --check` does."""
    from skillsync.cli.resolving import nothing, resolved

    survey, resolution = resolved(project, manifest, pinned_by(lock))
    problems = (*survey.problems, *resolution.problems)
    found.problems += problems
    found.lines += report.environment_lines(survey.environments)
    found.data["environments"] = report.environments_json(survey.environments)
    found.providers += len(resolution.lock.providers)
    found.skills += len(resolution.lock.skills)
    found.files += sum(len(skill.tree) for _, skill in resolution.lock.skills.values())
    # Of an environment that can't be read whole, only its problems are known.
    if not any(problem.is_error for problem in problems):
        changes = between(lock, resolution.lock)
        found.compared += [(None, skill) for skill in lock.skills]
        for change in changes:
            note = report.SAME_VERSION if change.is_silent else ""
            found.drift.append((None, DriftRow(kind=Drift.STALE_LOCK, skill=change.skill, note=note)))
        if not resolution.lock.skills:
            found.lines.append(nothing(survey, resolution))


def _summary(found: _Findings, lock: Lockfile, scope: Scope, *, ok: bool) -> str:
    checked = ", ".join(
        report.counted(number, word)
        for number, word in ((found.skills, "skill"), (found.files, "file"), (found.providers, "provider"))
    )
    checked = f"checked {checked} (scope {scope.value})"
    if ok:
        return f"ok: {checked}" if lock.skills else f"ok: the lock has no skills; {checked}"
    if not found.drift:
        return f"failed: {checked}"
    said = f"drift: {report.counted(len(found.drift), 'difference')}; {checked}"
    # Where something is wrong besides, its own command comes first.
    failed = any(problem.is_error for problem in found.problems)
    return said if failed else f"{said}; {report.cure([row for _, row in found.drift])}"
