"""`skillsync diff`: what would change, as text, before it is locked or synced.

Invariants: writes nothing in the project; shows what `lock` would pin, or what `sync --force` would do, by the same
resolution and the same plan.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from skillsync.cli import report
from skillsync.cli.differences import before_lock, before_sync
from skillsync.cli.lock import resolved
from skillsync.cli.markdown import markdown
from skillsync.cli.project import load_lock, load_manifest, require_lock
from skillsync.cli.report import Report
from skillsync.cli.unified import body, stat, unified
from skillsync.errors import Code, Problem, SkillsyncError
from skillsync.locking.lockfile import Lockfile
from skillsync.locking.pins import pinned_by
from skillsync.reviewing.marks import marks
from skillsync.schema import suggestion

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from skillsync.cli.project import Project
    from skillsync.cli.report import Json
    from skillsync.reviewing.difference import FileDifference, SkillDifference


class Form(Enum):
    """How the differences are shown."""

    UNIFIED = "unified"
    STAT = "stat"
    MARKDOWN = "markdown"


def run(project: Project, skills: Sequence[str], *, installed: bool, form: Form) -> Report:
    """Show what `lock` would change, or with `installed` what `sync` would; of some skills, if they are named."""
    changes, known, problems = (_installed if installed else _packages)(project)
    for name in skills:
        if name not in known:
            raise SkillsyncError(_unknown(name, known))
    found = [change for change in changes if not skills or change.change.skill in skills]
    return Report(
        lines=_lines(found, form, installed=installed),
        palette={} if form is Form.MARKDOWN else report.DIFF,
        is_long=form is not Form.MARKDOWN,
        data={"changes": [_json(change) for change in found]},
        problems=tuple(one for one in problems if not skills or one.skill in {None, *skills}),
    )


def _packages(project: Project) -> tuple[list[SkillDifference], Collection[str], tuple[Problem, ...]]:
    """Return the differences between packages and lock, the skills that there are, and what is wrong."""
    manifest = load_manifest(project)
    old = load_lock(project) or Lockfile()
    found, resolution = resolved(project, manifest, pinned_by(old))
    shipped = {skill.name for candidate in found.candidates for skill in candidate.provider.skills}
    changes = before_lock(project, manifest, old, resolution)
    return changes, {*shipped, *old.skills}, (*found.problems, *resolution.problems)


def _installed(project: Project) -> tuple[list[SkillDifference], Collection[str], tuple[Problem, ...]]:
    """Return the differences between lock and target directories."""
    manifest, lock = load_manifest(project), require_lock(project)
    changes, problems = before_sync(project, manifest, lock)
    return changes, {*lock.skills, *(change.change.skill for change in changes)}, tuple(problems)


def _unknown(name: str, known: Collection[str]) -> Problem:
    meant = suggestion(name, known)
    hint = f"did you mean `skillsync diff {meant}`?" if meant else "`skillsync list` shows what there is"
    return Problem(code=Code.SKILL_NOT_FOUND, message=f"there is no skill `{name}`", hint=hint, skill=name)


def _lines(found: Sequence[SkillDifference], form: Form, *, installed: bool) -> list[str]:
    command = "skillsync diff --installed" if installed else "skillsync diff"
    nothing = "what is installed is what the lock has" if installed else "the packages ship what the lock has"
    if form is Form.MARKDOWN:
        title = "Skills: what `skillsync sync` will change" if installed else "Skills: what `skillsync lock` will pin"
        return list(markdown(found, title=title, nothing=f"No differences: {nothing}.", command=command))
    if not found:
        return [f"no differences: {nothing}"]
    show = stat if form is Form.STAT else unified
    return [line for skill in found for line in show(skill)]


def _json(skill: SkillDifference) -> Json:
    return {
        **report.change_json(skill.change, skill.target),
        **({"refused": skill.refusal.value} if skill.refusal else {}),
        "marks": [report.mark_json(mark) for mark in marks(skill)],
        "differences": [_file_json(file) for file in skill.files],
    }


def _file_json(file: FileDifference) -> Json:
    return {
        "path": file.path,
        "old": file.old and file.old.facts,
        "new": file.new and file.new.facts,
        "diff": "\n".join(body(file)) if file.is_text else None,
    }
