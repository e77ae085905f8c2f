"""A report as JUnit XML: what was compared is a test, so that any CI shows which skill failed, and where.

Invariants: pure; what was found and has no test gets one, so that a report that fails has a test that does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from skillsync.locking.lockfile import FILE_NAME
from skillsync.rendering.findings import Finding, of_drift, of_problems
from skillsync.rendering.report import printable

if TYPE_CHECKING:
    from skillsync.rendering.report import Report, Verification

_Key = tuple[str, str]  # where it was compared, and the skill


def render(report: Report, prefix: str) -> str:
    """Return a report as the text of a JUnit XML file."""
    suite = Element("testsuite", name="skillsync verify")
    found = report.verification
    for (place, skill), failures in sorted(_compared(found, prefix).items() if found else ()):
        _add(suite, place, skill, "failure", failures)
    problems = list(of_problems(report, prefix))
    if errors := [problem for problem in problems if problem.is_error]:
        _add(suite, "skillsync", "verify", "error", errors)
    elif found is None or (report.exit_code and not found.drift):
        message = found.summary if found else "it was interrupted"
        _add(
            suite,
            "skillsync",
            "verify",
            "error",
            [Finding(kind="failed", message=message, hint=None, path=prefix or ".")],
        )
    if warnings := [problem for problem in problems if not problem.is_error]:
        texts = (f"warning[{one.kind}]: {one.place}: {one.text}" for one in warnings)
        SubElement(suite, "system-err").text = _visible("\n".join(texts))
    for name, count in (("tests", "testcase"), ("failures", "testcase/failure"), ("errors", "testcase/error")):
        suite.set(name, str(len(suite.findall(count))))
    root = Element("testsuites")
    root.append(suite)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode")


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
        texts = (f"{one.place}: {one.text}" for one in found)
        SubElement(case, outcome, type=kinds, message=message).text = _visible("\n".join(texts))


def _visible(text: str) -> str:
    """Return a text of several lines with what XML doesn't allow, or nobody sees, escaped."""
    return "\n".join(map(printable, text.split("\n")))
