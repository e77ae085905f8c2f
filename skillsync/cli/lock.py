"""`skillsync lock`: pin what is installed and admitted.

Invariants: writes the lock and nothing else, and only when its content changes; with one error it writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync import filesystem
from skillsync.cli.differences import before_lock
from skillsync.cli.naming import meant, unknown
from skillsync.cli.project import BrokenLockError, Project, load_lock, load_manifest, targets
from skillsync.cli.survey import Survey, judged_alone, read_environments, read_skills, seen, survey
from skillsync.discovery import ECOSYSTEMS, PYPI
from skillsync.errors import Code, Problem, Severity, SkillsyncError
from skillsync.locking.lockfile import FILE_NAME, Lockfile, dump, fault
from skillsync.locking.pins import Pinned, pinned_by, shipped_by, together
from skillsync.locking.resolver import Resolution, carried, resolve
from skillsync.rendering import report
from skillsync.rendering.report import Report
from skillsync.reviewing.marks import marks
from skillsync.syncing import target
from skillsync.syncing.registry import Row
from skillsync.syncing.state import read_registry
from skillsync.values import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillsync.discovery.environment import Environment, NoEnvironment
    from skillsync.locking.changes import Change
    from skillsync.locking.manifest import Manifest
    from skillsync.reviewing.marks import Mark


def run(project: Project, *, check: bool, strict: bool, only: Sequence[str] = ()) -> Report:
    """Resolve, and write the lock; with `check`, only tell whether it would change; `strict` stops at warnings too.

    `only` are the providers whose state is taken; all others stay as they are locked.
    """
    manifest = load_manifest(project)
    old, pinned, said = _current(project, manifest, is_needed=check or bool(only))
    if only:
        found, resolution = _resolved_alone(project, manifest, old or Lockfile(), only)
    else:
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
    if only:
        lines.append(report.printable(f"only {', '.join(only)}: all other providers stay as they are locked"))
    marked = [(one.change, marks(one)) for one in changes]
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


def resolved(project: Project, manifest: Manifest, pinned: Pinned) -> tuple[Survey, Resolution]:
    """Return what is installed, and the lock that it would make."""
    found = survey(project, manifest, pinned)
    return found, resolve(found.candidates, read_skills(found.candidates, project.track), pinned)


def _resolved_alone(
    project: Project, manifest: Manifest, old: Lockfile, only: Sequence[str]
) -> tuple[Survey, Resolution]:
    """Return what is installed of the providers that are named, and the lock in which they alone are new."""
    command, pinned = "lock --only", pinned_by(old)
    sight = seen(_answers(project, manifest, pinned, only), manifest)
    shipped = shipped_by(sight.candidates)
    right = together(pinned, {key: skills for key, skills in shipped.items() if skills})
    known = {*pinned, *shipped}
    named = meant(only, command, right)
    wrong = [unknown(one, command, right) for one in named if not any(map(one.covers, known))]
    if wrong:
        raise SkillsyncError(*wrong)
    keys = {key for key in known if any(one.covers(key) for one in named)}
    found = judged_alone(sight, manifest, pinned, keys)
    pinned = {key: skills for key, skills in pinned.items() if key in keys}
    fresh = resolve(found.candidates, read_skills(found.candidates, project.track), pinned)
    return found, carried(fresh, old, keys)


def _answers(
    project: Project, manifest: Manifest, pinned: Pinned, only: Sequence[str]
) -> Sequence[Environment | NoEnvironment]:
    """Read the environments of the providers that are named; a plain name may be in any of them."""
    ecosystems = {text.partition(":")[0] for text in only}
    if not ecosystems <= ECOSYSTEMS.keys():
        return read_environments(project, manifest, pinned)
    listed = tuple(one for one in ecosystems if manifest.ecosystems is None or one in manifest.ecosystems)
    wanted = {key: skills for key, skills in pinned.items() if key.partition(":")[0] in listed}
    # What the manifest leaves out is not read: what is locked of it goes.
    python = project.python if PYPI in listed else None
    narrow = replace(manifest.of(listed), ecosystems=listed)
    return read_environments(replace(project, python=python), narrow, wanted) if listed else ()


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


def _data(found: Survey, resolution: Resolution, marked: Sequence[tuple[Change, Sequence[Mark]]]) -> report.Json:
    return {
        "environments": report.environments_json(found.environments),
        "changes": [
            {**report.change_json(change), "marks": [report.mark_json(mark) for mark in found_marks]}
            for change, found_marks in marked
        ],
        "not_admitted": report.not_admitted_json(resolution.not_admitted),
    }
