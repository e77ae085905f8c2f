"""`skillsync init`: a manifest of what is installed now, to be read and cut down by a person.

Invariants: writes the manifest and nothing else, and never over one that is there; what can't be seen is not "none".
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from skillsync import filesystem
from skillsync.cli import report
from skillsync.cli.report import Report
from skillsync.cli.survey import survey
from skillsync.errors import Code, Problem, Severity, SkillsyncError
from skillsync.locking.manifest import FILE_NAME, Manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillsync.cli.project import Project
    from skillsync.locking.choice import Candidate

HEADER = """\
# Which installed packages may put agent skills into this project.
# `skillsync lock` pins the skills of those that are listed, and of no others.
# Narrow an entry down: name = { skills = ["one-*"], exclude = ["one-old"] }
# In place of "*", or as `version` in a table, a requirement is in the ecosystem's own language.
version = 1
"""


def run(project: Project) -> Report:
    """Write a manifest that admits every provider that is installed."""
    if filesystem.exists(f"{project.root}/{FILE_NAME}"):
        message = f"{FILE_NAME} is there already"
        hint = "change it with `skillsync allow` and `skillsync deny`, or move it away first"
        raise SkillsyncError(Problem(code=Code.MANIFEST_EXISTS, message=message, hint=hint, path=FILE_NAME))
    found = survey(project, Manifest(), {})
    if not found.environments:
        raise SkillsyncError(*found.problems)
    providers = [candidate for candidate in found.candidates if candidate.provider.skills]
    text = "".join([HEADER, *(f"\n{line}" for line in _tables(providers)), "\n"])
    filesystem.replace_file(f"{project.root}/{FILE_NAME}", text.encode())
    return Report(
        lines=[
            *report.environment_lines(found.environments),
            f"wrote {FILE_NAME}: {report.counted(len(providers), 'provider')}; read it, then run `skillsync lock`",
        ],
        data={
            "environments": report.environments_json(found.environments),
            "providers": [candidate.key for candidate in providers],
        },
        # What is wrong with the packages stands in the way of `lock`; the manifest is where it is settled.
        problems=tuple(replace(problem, severity=Severity.WARNING) for problem in found.problems),
    )


def _tables(providers: Sequence[Candidate]) -> Iterator[str]:
    """Yield the lines of `[providers]`, a comment with its skills above each entry."""
    if not providers:
        yield "# No installed package ships skills. This empty table admits none that comes later."
        yield "[providers]"
    # They come ecosystem by ecosystem, as the environments were read.
    for ecosystem, candidates in groupby(providers, key=lambda candidate: candidate.choice.package.ecosystem):
        yield f"[providers.{ecosystem}]"
        for candidate in candidates:
            skills = ", ".join(_described(candidate))
            yield report.printable(f"# {candidate.key} {candidate.choice.package.version}: {skills}")
            yield f'{json.dumps(candidate.choice.package.name)} = "*"'


def _described(candidate: Candidate) -> Iterator[str]:
    for skill in candidate.provider.skills:
        yield skill.name if skill.is_valid else f"{skill.name} (invalid)"
