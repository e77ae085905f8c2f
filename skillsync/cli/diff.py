"""`skillsync diff`: what would change, as text, before it is locked or synced.

Invariants: writes nothing but a page that was asked for, and that never over what skillsync answers for; shows what
`lock` would pin, or what `sync --force` would do, by the same resolution and the same plan.
"""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING

from skillsync.commands.differences import before_lock, before_sync
from skillsync.commands.project import load_lock, load_manifest, require_lock, targets
from skillsync.commands.resolving import resolved
from skillsync.errors import LOOK, Code, Problem, SkillsyncError, did_you_mean
from skillsync.filesystem import replace_file
from skillsync.locking import lockfile, manifest
from skillsync.locking.changes import Action
from skillsync.locking.lockfile import Lockfile
from skillsync.locking.pins import pinned_by
from skillsync.rendering import report
from skillsync.rendering.markdown import markdown
from skillsync.rendering.report import Report, counted, printable
from skillsync.rendering.unified import body, stat, unified
from skillsync.reviewing.marks import marks
from skillsync.schema import suggestion
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from skillsync.commands.project import Project
    from skillsync.rendering.report import Json
    from skillsync.reviewing.difference import FileDifference, SkillDifference


class Form(Enum):
    """How the differences are shown."""

    UNIFIED = "unified"
    STAT = "stat"
    MARKDOWN = "markdown"


class Page(Value, kw_only=False):
    """A page for a browser, in a file; `-` is standard output."""

    file: str


def run(project: Project, skills: Sequence[str], *, installed: bool, form: Form | Page) -> Report:
    """Show what `lock` would change, or with `installed` what `sync` would; of some skills, if they are named."""
    place = _place(project, form.file) if isinstance(form, Page) and form.file != "-" else None
    changes, known, problems = (_installed if installed else _packages)(project)
    for name in skills:
        if name not in known:
            raise SkillsyncError(_unknown(name, known))
    found = [change for change in changes if not skills or change.change.skill in skills]
    problems = tuple(one for one in problems if not skills or one.skill in {None, *skills})
    undecided = [] if installed else _undecided(found, problems)
    left_out = {change.change.skill for change in undecided}
    found = [change for change in found if change.change.skill not in left_out]
    lines = [
        *(_undecided_line(change) for change in undecided if isinstance(form, Form) and form is not Form.MARKDOWN),
        *_lines(found, form, problems, undecided, installed=installed),
    ]
    if isinstance(form, Page) and place is not None:
        replace_file(place, "\n".join((*lines, "")).encode())
        lines = [printable(f"wrote {form.file}: {counted(len(found), 'change')}")]
    is_for_a_terminal = isinstance(form, Form) and form is not Form.MARKDOWN
    return Report(
        lines=lines,
        palette=report.DIFF if is_for_a_terminal else {},
        is_long=is_for_a_terminal,
        data={"changes": [_json(change) for change in found]},
        problems=problems,
    )


def _undecided(found: Sequence[SkillDifference], problems: Sequence[Problem]) -> list[SkillDifference]:
    """Return the changes that `lock` would not make: it stops at an error, and removes or chooses nothing by one."""
    twice = {one.skill for one in problems if one.code is Code.DUPLICATE_SKILL}
    stopped = any(one.is_error for one in problems)
    return [one for one in found if one.change.skill in twice or (stopped and one.change.action is Action.REMOVE)]


def _undecided_line(skill: SkillDifference) -> str:
    """Say that nothing can be said of a skill before the errors are mended."""
    return printable(f"? {skill.change.skill} ({skill.change.provider}): not decided before the errors are mended")


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
    meant = suggestion(name, sorted(known))
    hint = did_you_mean(("diff", meant)) if meant else LOOK
    return Problem(code=Code.SKILL_NOT_FOUND, message=f"there is no skill `{name}`", hint=hint, skill=name)


def _place(project: Project, file: str) -> str:
    """Return where a page is to be written, without links. Raises SkillsyncError where none may be."""
    directory, name = os.path.split(os.path.abspath(file))
    directory = os.path.realpath(directory)
    place = f"{directory.rstrip('/')}/{name}"
    if os.path.lexists(place) and (os.path.islink(place) or not os.path.isfile(place)):
        raise _refused(file, "is no file: a page may only take a file's place")
    for document in (lockfile.FILE_NAME, manifest.FILE_NAME):
        if _is_one(place, os.path.realpath(f"{project.root}/{document}")):
            raise _refused(file, f"is the project's {document}")
    above = directory.split("/")
    for target in targets(project, load_manifest(project)):
        if any(_is_one("/".join(above[:count]) or "/", target.real) for count in range(1, len(above) + 1)):
            raise _refused(file, f"lies in {target.name}, where the skills are")
    return place


def _is_one(path: str, other: str) -> bool:
    """Whether two paths are one place, also where the file system takes different names for one."""
    return path == other or (os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other))


def _refused(file: str, reason: str) -> SkillsyncError:
    hint = "name another file, `skillsync diff --html skills.html`"
    return SkillsyncError(Problem(code=Code.USAGE, message=f"--html {file}: {reason}", hint=hint))


def _lines(
    found: Sequence[SkillDifference],
    form: Form | Page,
    problems: Sequence[Problem],
    undecided: Sequence[SkillDifference],
    *,
    installed: bool,
) -> list[str]:
    command = "skillsync diff --installed" if installed else "skillsync diff"
    nothing = "what is installed is what the lock has" if installed else "the packages ship what the lock has"
    title = "Skills: what `skillsync sync` will change" if installed else "Skills: what `skillsync lock` will pin"
    text = "Nothing is decided before the errors are mended." if undecided else f"No differences: {nothing}."
    if isinstance(form, Page):
        from skillsync.rendering.page import page

        return page(
            found,
            title=title.replace("`", ""),
            nothing=text,
            command=command,
            problems=problems,
            undecided=undecided,
        ).split("\n")
    if form is Form.MARKDOWN:
        errors = [one for one in problems if one.is_error]
        return list(markdown(found, title=title, nothing=text, command=command, problems=errors))
    if not found:
        return [] if undecided else [f"no differences: {nothing}"]
    if form is Form.STAT:
        return [line for skill in found for line in stat(skill)]
    return [line for skill in found for line in ("", *unified(skill))][1:]


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
