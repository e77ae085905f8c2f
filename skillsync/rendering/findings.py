"""What `verify` found, as the programs want it that mark lines of files: one finding, one place.

Invariants: pure; every finding of a report is there, drift before problems; a path is relative to the repository.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from skillsync.errors import Severity
from skillsync.locking import lockfile
from skillsync.rendering.report import cure, drift_line, located, placed, printable
from skillsync.syncing.plan import Drift
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillsync.errors import Problem
    from skillsync.rendering.report import Report
    from skillsync.syncing.plan import DriftRow

# What a kind of drift is.
MEANINGS = {
    Drift.MISSING: "a locked skill, or a file of one, is not there",
    Drift.MODIFIED: "a file differs from the lock, or is not in it",
    Drift.OUTDATED: "it is as it was written, and the lock or the manifest has moved on",
    Drift.NOT_EXECUTABLE: "a script has lost its executable bit",
    Drift.ORPHANED: "it is skillsync's, and not in the lock",
    Drift.UNREGISTERED: "the locked content, and no row in the registry",
    Drift.UNMANAGED: "other content than the lock's, and no row in the registry",
    Drift.FOREIGN_OWNER: "the registry's row belongs to another provider",
    Drift.STALE_ROW: "the content is right, and a row of the registry is to be recorded or forgotten",
    Drift.INTERRUPTED: "a sync was interrupted",
    Drift.STALE_LOCK: "manifest and packages would make another lock",
}


class Finding(Value):
    """One difference or problem: its kind, what is said of it, and where it is; `path` is the repository's.

    `says_where` tells whether the message has the place itself, and `path` is only the nearest to it that can be shown.
    """

    kind: str
    message: str
    hint: str | None
    path: str
    line: int | None = None
    column: int | None = None
    severity: Severity = Severity.ERROR
    says_where: bool = False

    @property
    def text(self) -> str:
        """What and, on a line of its own, what to do."""
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message

    @property
    def place(self) -> str:
        """Where it is, with the line if there is one."""
        return printable(placed(self.path, self.line, self.column))

    @property
    def said(self) -> str:
        """Place and text, the place once: what `check` says begins with it."""
        path = printable(self.path)
        if self.says_where:
            return self.text
        if self.text.startswith(f"{path} "):
            return self.place + self.text.removeprefix(path)
        return f"{self.place}: {self.text}"


def findings(report: Report, prefix: str) -> Iterator[Finding]:
    """Yield what a report has found; `prefix` is the project's directory in the repository, with a slash, or ""."""
    if report.verification is not None:
        for target, row in report.verification.drift:
            yield of_drift(target, row, report.verification.notes, prefix)
    yield from of_problems(report, prefix)


def of_drift(target: str | None, row: DriftRow, notes: Mapping[str, str], prefix: str) -> Finding:
    """Return one difference: it is where the file is, or should be; what is wrong with the lock is in the lock."""
    place = "/".join(part for part in (target, row.skill, row.path) if part) if target else lockfile.FILE_NAME
    return Finding(
        kind=row.kind.value,
        message=f"{drift_line(row, target, notes)}: {MEANINGS[row.kind]}",
        hint=cure([row]),
        path=prefix + place,
    )


def of_problems(report: Report, prefix: str) -> Iterator[Finding]:
    """Yield the problems of a report."""
    for problem in report.problems:
        yield of_problem(problem, report, prefix)


def of_problem(problem: Problem, report: Report, prefix: str) -> Finding:
    """Return one problem. One that is in an archive is said of the archive.

    One in no file of the repository is said of the lock, or of the directory in which `check` was run.
    """
    examination = report.examination
    start = report.verification.project if report.verification else examination.directory if examination else None
    is_inside = examination is not None and problem.root in examination.artifacts
    path = _in_repository(replace(problem, path=".") if is_inside else problem, start, prefix)
    is_there = path is not None and not is_inside
    return Finding(
        kind=problem.code.value,
        message=printable(problem.message if is_there else located(problem)),
        hint=problem.hint and printable(problem.hint),
        path=path or (prefix or "." if report.command == "check" else prefix + lockfile.FILE_NAME),
        line=problem.line if is_there else None,
        column=problem.column if is_there else None,
        severity=problem.severity,
        says_where=report.command == "check" and not is_there,
    )


def _in_repository(problem: Problem, project: str | None, prefix: str) -> str | None:
    """Return where in the repository's directory a problem's file is, None for elsewhere; links are not resolved."""
    if problem.path is None or (problem.root and project is None):
        return None
    below = posixpath.relpath(problem.root, project) if problem.root else ""
    path = posixpath.normpath(posixpath.join(prefix, below, problem.path))
    return None if path.startswith("../") else path
