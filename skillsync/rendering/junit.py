"""A report as JUnit XML: what was compared is a test, so that any CI shows which skill failed, and where.

Invariants: pure; what was found and has no test gets one, so that a report that fails has a test that does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from skillsync.errors import Severity
from skillsync.locking.lockfile import FILE_NAME
from skillsync.rendering.findings import Finding, of_drift, of_problem, of_problems
from skillsync.rendering.report import printable

if TYPE_CHECKING:
    from skillsync.rendering.report import Examination, Report, Verification

_Key = tuple[str, str]  # where it was compared, and the skill


def render(report: Report, prefix: str) -> str:
    """Return a report as the text of a JUnit XML file."""
    suite = Element("testsuite", name=f"skillsync {report.command}")
    looked_at = report.verification or report.examination
    cases = _cases(report, prefix)
    for (place, skill), failures in sorted(cases.items()):
        _add(suite, place, skill, "failure", failures)
    problems = list(of_problems(report, prefix))
    said = report.examination is not None  # as failures of what was checked
    if errors := [problem for problem in problems if problem.severity is Severity.ERROR and not said]:
        _add(suite, "skillsync", report.command, "error", errors)
    elif looked_at is None or (report.exit_code and not any(cases.values())):
        message = looked_at.summary if looked_at else "it was interrupted"
        failed = Finding(kind="failed", message=message, hint=None, path=prefix or ".")
        _add(suite, "skillsync", report.command, "error", [failed])
    if warnings := [problem for problem in problems if problem.severity is not Severity.ERROR]:
        texts = (f"{one.severity.value}[{one.kind}]: {one.said}" for one in warnings)
        SubElement(suite, "system-err").text = _visible("\n".join(texts))
    for name, count in (("tests", "testcase"), ("failures", "testcase/failure"), ("errors", "testcase/error")):
        suite.set(name, str(len(suite.findall(count))))
    root = Element("testsuites")
    root.append(suite)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode")


def _cases(report: Report, prefix: str) -> dict[_Key, list[Finding]]:
    """Return what was compared or checked, each with what is wrong with it."""
    if report.verification:
        return _compared(report.verification, prefix)
    return _checked(report, report.examination, prefix) if report.examination else {}


def _checked(report: Report, found: Examination, prefix: str) -> dict[_Key, list[Finding]]:
    """Return the skills that were checked, each with its errors; those of no skill are the whole package's."""
    cases: dict[_Key, list[Finding]] = {key: [] for key in found.skills}
    for problem in (*report.problems, *found.repeated):
        if problem.is_error:
            key = (problem.source or ".", problem.skill or "package")
            cases.setdefault(key, []).append(of_problem(problem, report, prefix))
    return cases


def _compared(found: Verification, prefix: str) -> dict[_Key, list[Finding]]:
    """Return what was compared, and how it differs."""
    cases: dict[_Key, list[Finding]] = {(target or FILE_NAME, skill): [] for target, skill in found.compared}
    for target, row in found.drift:
        # What is skillsync's and not locked has no test yet; an interrupted run is no skill's.
        key = (target or FILE_NAME, row.skill or "sync")
        cases.setdefault(key, []).append(of_drift(target, row, found.notes, prefix))
    return cases


def _add(suite: Element, place: str, name: str, outcome: str, found: list[Finding]) -> None:
    case = SubElement(suite, "testcase", classname=printable(place), name=printable(name))
    if found:
        # Readers of this form take one outcome for each test.
        message = found[0].message if len(found) == 1 else f"{len(found)} differences"
        kinds = ", ".join(sorted({one.kind for one in found}))
        texts = (one.said for one in found)
        SubElement(case, outcome, type=kinds, message=message).text = _visible("\n".join(texts))


def _visible(text: str) -> str:
    """Return a text of several lines with what XML doesn't allow, or nobody sees, escaped."""
    return "\n".join(map(printable, text.split("\n")))
