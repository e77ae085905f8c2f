"""`skillsync init`: a manifest of what is installed now, to be read and cut down by a person.

Invariants: writes the manifest and nothing else, and never over one that is there; what can't be seen is not "none".
"""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING

from skillsync import filesystem
from skillsync.commands.survey import survey
from skillsync.errors import Code, Problem, Severity, SkillsyncError, UnreadableError
from skillsync.locking.manifest import DEFAULT_TARGET, FILE_NAME, Manifest
from skillsync.rendering import report
from skillsync.rendering.report import Report
from skillsync.syncing.target import locate
from skillsync.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillsync.commands.project import Project
    from skillsync.locking.choice import Candidate

HEADER = """\
# Which installed packages may put agent skills into this project.
# `skillsync lock` pins the skills of those that are listed, and of no others.
# Narrow an entry down: name = { skills = ["one-*"], exclude = ["one-old"] }
# In place of "*", or as `version` in a table, a requirement is in the ecosystem's own language.
version = 1
"""

# Directories of agents that read skills there, and don't read .agents/skills: there, each skill would be found twice.
AGENTS = (
    ".augment",
    ".claude",
    ".continue",
    ".crush",
    ".goose",
    ".junie",
    ".kiro",
    ".openhands",
    ".pi",
    ".qwen",
    ".roo",
    ".trae",
    ".windsurf",
)


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
    further = list(_further(project.root))
    text = "".join([HEADER, *_targets(further), *(f"\n{line}" for line in _tables(providers)), "\n"])
    filesystem.replace_file(f"{project.root}/{FILE_NAME}", text.encode())
    return Report(
        lines=[
            *report.environment_lines(found.environments),
            *([] if providers else ["no installed package ships skills"]),
            *(
                f"{FILE_NAME} offers {one} as a further target: uncomment `targets` to install there too"
                for one in further
            ),
            f"wrote {FILE_NAME}: {report.counted(len(providers), 'provider')}; read it, then run `skillsync lock`",
        ],
        data={
            "environments": report.environments_json(found.environments),
            "providers": [candidate.key for candidate in providers],
        },
        # What is wrong with the packages stands in the way of `lock`; the manifest is where it is settled.
        problems=tuple(replace(problem, severity=Severity.WARNING) for problem in found.problems),
    )


def _further(root: str) -> Iterator[str]:
    """Yield the target directories whose parent is there; none that leads out of the project, or to the first one."""
    for name in AGENTS:
        with suppress(SkillsyncError, UnreadableError):
            place = f"{name}/skills"
            if filesystem.is_directory(f"{root}/{name}") and locate(root, (DEFAULT_TARGET, place), outside=False)[1:]:
                yield place


def _targets(further: Sequence[str]) -> Iterator[str]:
    """Yield the lines that offer further target directories, as comments: what installs there says a person."""
    if further:
        yield "\n# Agents that have a directory here, and read no other. To install there too, uncomment:\n"
        yield f"# targets = {json.dumps([DEFAULT_TARGET, *further])}\n"
        yield f"# link = true   # there, links to the skills in {DEFAULT_TARGET}, in place of copies\n"


def _tables(providers: Sequence[Candidate]) -> Iterator[str]:
    """Yield the lines of `[providers]`, a comment with its skills above each entry."""
    if not providers:
        # True for ever: entries that are added later stand below it.
        yield "# As long as nothing is listed here, nothing is admitted that is installed later."
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
