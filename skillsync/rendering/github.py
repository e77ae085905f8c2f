"""A report as GitHub's workflow commands, which become annotations of a pull request's files.

Invariants: pure; each line but the last is a command, and nothing of a package's is outside of one: what it says is
data, escaped, and can be no command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.errors import Severity
from skillsync.rendering.findings import Finding, findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillsync.rendering.report import Report

# https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_MESSAGE = str.maketrans(_DATA)
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_PROPERTY = str.maketrans({**_DATA, ":": "%3A", ",": "%2C"})


def render(report: Report, prefix: str) -> str:
    """Return the lines of a report."""
    return "\n".join(_lines(report, prefix))


def _lines(report: Report, prefix: str) -> Iterator[str]:
    for finding in findings(report, prefix):
        yield _command(finding)
    if looked_at := report.verification or report.examination:
        yield looked_at.summary


def _command(finding: Finding) -> str:
    # A column without a line is none, and a directory is no file.
    is_file = finding.path != "." and not finding.path.endswith("/")
    column = finding.column if finding.line else None
    places = {"file": finding.path if is_file else None, "line": finding.line, "col": column}
    words = {**places, "title": f"skillsync: {finding.kind}"}
    properties = ",".join(f"{key}={str(value).translate(_PROPERTY)}" for key, value in words.items() if value)
    return f"::{_LEVELS[finding.severity]} {properties}::{finding.text.translate(_MESSAGE)}"
