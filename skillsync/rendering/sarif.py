"""A report as SARIF 2.1.0, the form in which code scanning takes what a program found.

Invariants: pure; every result has a place; paths are relative to the repository, as URIs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from skillsync import __version__
from skillsync.rendering.findings import MEANINGS, Finding, findings
from skillsync.rendering.report import dumped

if TYPE_CHECKING:
    from skillsync.rendering.report import Json, Report

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(report: Report, prefix: str) -> str:
    """Return a report as the text of a SARIF file."""
    found = list(findings(report, prefix))
    # A kind of drift and one of a package's problems may have one name.
    meanings = {kind.value: meaning for kind, meaning in MEANINGS.items()} if report.verification else {}
    kinds = sorted({finding.kind for finding in found})
    rules = [
        {"id": kind, "shortDescription": {"text": meanings.get(kind, kind.replace("-", " ").capitalize())}}
        for kind in kinds
    ]
    run = {
        "tool": {"driver": {"name": "skillsync", "semanticVersion": __version__, "rules": rules}},
        # Where the run could not begin, nobody knows that there is nothing else.
        "invocations": [{"executionSuccessful": bool(report.verification or report.examination)}],
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, kinds) for finding in found],
    }
    return dumped({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(finding: Finding, kinds: list[str]) -> Json:
    region = {"startLine": finding.line, "startColumn": finding.column if finding.line else None}
    known = {key: value for key, value in region.items() if value is not None}
    uri = quote(finding.path.encode("utf-8", "surrogateescape"))
    artifact = {"uri": uri, "uriBaseId": "%SRCROOT%"}
    return {
        "ruleId": finding.kind,
        "ruleIndex": kinds.index(finding.kind),
        "level": finding.severity.value,
        "message": {"text": finding.text},
        "locations": [{"physicalLocation": {"artifactLocation": artifact, **({"region": known} if known else {})}}],
    }
