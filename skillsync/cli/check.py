"""`skillsync check`: what the packaging spec and the Agent Skills format ask of who ships skills.

Invariants: every PATH is looked at, and nothing of it is run; says how much it looked at; nothing checked is never ok.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from skillsync.checking import rules
from skillsync.checking.artifact import SUFFIXES, read_artifact, suffix
from skillsync.checking.offer import joined
from skillsync.checking.tree import NoPackageError, read_tree
from skillsync.errors import Code, ExitCode, Problem, Severity, SkillsyncError
from skillsync.rendering import report
from skillsync.rendering.report import Examination, Report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skillsync.checking.offer import Offer, Shipped
    from skillsync.commands.project import Project


def run(project: Project, paths: Sequence[str]) -> Report:
    """Check what is at each path. Raises SkillsyncError for one that is nothing that could be checked."""
    found = [offer for path in paths for offer in _read(path)]
    # Packages that are made of one tree share files: what is wrong with one is said once.
    told = {(one.message, one.line, one.column): one for offer in found[::-1] for one in rules.problems(offer)[::-1]}
    problems = list(told.values())[::-1]
    offers = [offer for offer in found if offer.is_read]
    checked = _Checked(offers)
    is_ok = bool(checked.skills) and not any(one.is_error for one in problems)
    summary = _summary(checked, problems, is_ok=is_ok)
    lines = [line for offer in offers for line in _lines(offer, problems)]
    return Report(
        lines=[*lines, summary] if is_ok else lines,
        findings=[] if is_ok else [summary],
        details=list(_details(offers)),
        data={"ok": is_ok, "checked": checked.json, "packages": [_json(offer, problems) for offer in offers]},
        examination=Examination(
            directory=project.root,
            skills=tuple((one.package.source, skill.found.name) for one in offers for skill in one.skills),
            artifacts=frozenset(one.package.root for one in found if one.is_artifact),
            summary=summary,
        ),
        problems=tuple(problems),
        drift=not is_ok,
        packages=ExitCode.DRIFT,
        command="check",
    )


def _read(path: str) -> list[Offer]:
    hint = (
        f"name an artifact ({', '.join(f'*{one}' for one in SUFFIXES)}), or a source tree with a *.gemspec, "
        "pyproject.toml, setup.cfg, setup.py or package.json"
    )
    if os.path.isfile(path) and suffix(path):
        return [read_artifact(path)]
    if not os.path.isdir(path):
        reason = "is no artifact" if os.path.lexists(path) else "is not there"
        raise SkillsyncError(Problem(code=Code.USAGE, message=f"{path} {reason}", hint=hint))
    try:
        return read_tree(path)
    except NoPackageError:
        message = f"{path} is the source tree of no package"
        raise SkillsyncError(Problem(code=Code.USAGE, message=message, hint=hint)) from None


class _Checked:
    """How much was looked at."""

    def __init__(self, offers: Sequence[Offer]) -> None:
        self.trees = len({one.package.source for one in offers if not one.is_artifact})
        self.artifacts = len({one.package.source for one in offers if one.is_artifact})
        self.skills = sum(len(one.skills) for one in offers)
        self.files = sum(_files(skill) for one in offers for skill in one.skills)

    @property
    def json(self) -> report.Json:
        return {"trees": self.trees, "artifacts": self.artifacts, "skills": self.skills, "files": self.files}

    @property
    def text(self) -> str:
        found = ((self.skills, "skill"), (self.files, "file"), (self.trees, "tree"), (self.artifacts, "artifact"))
        return ", ".join(report.counted(number, word) for number, word in found)


def _files(skill: Shipped) -> int:
    return len(skill.snapshot.tree) if skill.snapshot else 0


def _summary(checked: _Checked, problems: Iterable[Problem], *, is_ok: bool) -> str:
    counts = Counter(one.severity for one in problems)
    said = ", ".join(report.counted(counts[one], one.value) for one in Severity if counts[one])
    return f"{'ok' if is_ok else 'failed'}: checked {checked.text}{'; ' if said else ''}{said}"


def _of(problems: Iterable[Problem], offer: Offer, skill: Shipped) -> list[Problem]:
    """Return what is wrong with one skill of one offer."""
    prefix = skill.found.path
    return [
        one
        for one in problems
        if one.root == offer.package.root and one.path and (one.path == prefix or one.path.startswith(f"{prefix}/"))
    ]


def _lines(offer: Offer, problems: Sequence[Problem]) -> Iterator[str]:
    """Yield what was looked at: the package, and a line for each of its skills."""
    package = offer.package
    said = f"{package.key} {package.version}".rstrip()
    yield report.printable(f"read {said}: {package.source} ({report.counted(len(offer.skills), 'skill')})")
    for skill in offer.skills:
        counts = Counter(one.severity for one in _of(problems, offer, skill))
        known = [report.counted(_files(skill), "file")]
        known += [report.counted(counts[one], one.value) for one in Severity if counts[one]]
        word = "failed" if counts[Severity.ERROR] else "ok"
        yield report.printable(f"{word}: {joined(package.source, skill.found.path)} ({', '.join(known)})")


def _details(offers: Iterable[Offer]) -> Iterator[str]:
    for offer in offers:
        for ignored in offer.provider.ignored:
            yield report.printable(f"ignored: {joined(offer.package.source, ignored.path)}: {ignored.reason}")


def _json(offer: Offer, problems: Sequence[Problem]) -> report.Json:
    package = offer.package
    return {
        "source": package.source,
        "kind": "artifact" if offer.is_artifact else "tree",
        "ecosystem": package.ecosystem,
        "name": package.name,
        "version": package.version or None,
        "skills": [
            {
                "name": skill.found.name,
                "path": skill.found.path,
                "hash": skill.snapshot.hash if skill.snapshot else None,
                "files": _files(skill),
                "ok": not any(one.is_error for one in _of(problems, offer, skill)),
            }
            for skill in offer.skills
        ],
    }
