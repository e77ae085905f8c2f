"""`skillsync lock`: pin what is installed and admitted.

Invariants: writes the lock and nothing else, and only when its content changes; with one error it writes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillsync import filesystem
from skillsync.cli import report
from skillsync.cli.differences import before_lock
from skillsync.cli.project import BrokenLockError, Project, load_lock, load_manifest, targets
from skillsync.cli.report import Report
from skillsync.cli.survey import Survey, read_skills, survey
from skillsync.errors import Code, Problem, Severity
from skillsync.locking.lockfile import FILE_NAME, Lockfile, dump, fault
from skillsync.locking.pins import Pinned, pinned_by
from skillsync.locking.resolver import Resolution, resolve
from skillsync.reviewing.marks import marks
from skillsync.syncing import target
from skillsync.syncing.registry import Row
from skillsync.syncing.state import read_registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillsync.locking.manifest import Manifest
    from skillsync.reviewing.difference import SkillDifference


def run(project: Project, *, check: bool, strict: bool) -> Report:
    """Resolve, and write the lock; with `check`, only tell whether it would change; `strict` stops at warnings too."""
    manifest = load_manifest(project)
    old, pinned, said = _current(project, manifest, check=check)
    found, resolution = resolved(project, manifest, pinned)
    problems = (*said, *found.problems, *resolution.problems)
    if strict:
        problems = tuple(problem.as_error() for problem in problems)
    content = dump(resolution.lock)
    if reason := fault(content):
        problems = (*problems, _too_large(reason))
    stopped = any(problem.is_error for problem in problems)
    stale = old is None or dump(old) != content
    changes = [] if stopped else before_lock(project, manifest, old or Lockfile(), resolution)
    if stale and not stopped and not check:
        filesystem.replace_file(f"{project.root}/{FILE_NAME}", content)
    lines = report.environment_lines(found.environments)
    for change in changes:
        lines += report.change_lines(change.change, marks(change))
    lines += report.not_admitted_lines(resolution.not_admitted)
    if stopped:
        lines.append(f"{FILE_NAME} was not written")
    else:
        lines += _summary(found, resolution, stale=stale, check=check, is_there=old is not None)
    return Report(
        lines=lines,
        palette=report.CHANGES,
        details=[*report.note_lines(found.environments), *report.ignored_lines(found.candidates)],
        data=_data(found, resolution, changes),
        problems=problems,
        drift=check and stale,
    )


def resolved(project: Project, manifest: Manifest, pinned: Pinned) -> tuple[Survey, Resolution]:
    """Return what is installed, and the lock that it would make."""
    found = survey(project, manifest, pinned)
    return found, resolve(found.candidates, read_skills(found.candidates), pinned)


def _too_large(reason: str) -> Problem:
    message = f"{FILE_NAME} would be {reason}, which is not read"
    hint = "admit fewer skills in agent-skills.toml"
    return Problem(code=Code.LOCK_UNREADABLE, message=message, hint=hint, path=FILE_NAME)


def _current(
    project: Project, manifest: Manifest, *, check: bool
) -> tuple[Lockfile | None, Pinned, tuple[Problem, ...]]:
    """Return the lock, what is pinned, and the warning that a lock which can't be read is written anew."""
    try:
        old = load_lock(project)
        return old, pinned_by(old or Lockfile()), ()
    except BrokenLockError as error:
        if check:
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
        return [*lines, f"wrote {FILE_NAME}: {size}"]
    return [*lines, f"{FILE_NAME} is {'out of date' if is_there else 'missing'}: run `skillsync lock`"]


def nothing(found: Survey, resolution: Resolution) -> str:
    """Say which of the ways to nothing it was."""
    shipping = [candidate for candidate in found.candidates if candidate.provider.skills]
    if not shipping:
        return "no installed package ships skills"
    if len(shipping) == len(resolution.not_admitted):
        return "packages that ship skills are installed, and agent-skills.toml admits none of them"
    return "no skill of the admitted packages is both valid and admitted"


def _change_json(found: SkillDifference) -> report.Json:
    return {**report.change_json(found.change), "marks": [report.mark_json(mark) for mark in marks(found)]}


def _data(found: Survey, resolution: Resolution, changes: Sequence[SkillDifference]) -> report.Json:
    return {
        "environments": report.environments_json(found.environments),
        "changes": [_change_json(change) for change in changes],
        "not_admitted": report.not_admitted_json(resolution.not_admitted),
    }
