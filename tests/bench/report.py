"""The tables of what was measured, as Markdown.

Invariants: pure; a budget is held against what was measured, not against the rounded figure that is shown.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bench.cases import Group, Growth, Lead, Peak, Row
    from bench.timing import Times

Measured: TypeAlias = "Sequence[tuple[Group, Times]]"

BEGIN = "<!-- `make bench` writes what follows -->"
END = "<!-- `make bench` wrote what precedes -->"


def tables(measured: Measured) -> str:
    """Return the tables that there is something in."""
    rows = (_row(row, times) for group, times in measured for row in group.rows)
    growths = (line for group, times in measured for growth in group.growths for line in _growth(growth, times))
    peaks = (_peak(peak, times) for group, times in measured for peak in group.peaks)
    leads = (_lead(lead, times) for group, times in measured for lead in group.leads)
    missing = dict.fromkeys(name for group, _ in measured for name in group.missing)
    absent = ((name, "", "can't be installed here", "", "", "", "") for name in missing)
    found = (
        _table("Time", ("work", "project", "takes", "against", "that takes", "ratio", "budget", "met"), rows),
        _table("Growth", ("work", "skills", "takes", "each further skill", "grows by", "budget", "met"), growths),
        _table("Memory", ("work", "project", "at most", "budget", "met"), peaks),
        _table(
            "Other tools",
            ("tool", "project", "takes", "`verify` takes", "times as long", "at least", "met"),
            (*leads, *absent),
        ),
    )
    return "\n".join(filter(None, found))


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |\n" for row in rows]
    rule = "|" + "---|" * len(head)
    return f"### {title}\n\n| {' | '.join(head)} |\n{rule}\n{''.join(lines)}" if lines else ""


def _row(row: Row, times: Times) -> Sequence[str]:
    ratio = times.ratio(row.run, row.to)
    judged = ("", "") if row.budget is None else (f"{row.budget:g}", _met(ratio <= row.budget))
    shown = (_seconds(times.seconds(row.run)), row.to.name, _seconds(times.seconds(row.to)), f"{ratio:.2f}")
    return (row.run.name, row.run.project, *shown, *judged)


def _growth(growth: Growth, times: Times) -> Iterator[Sequence[str]]:
    """Yield a line for each number of skills: what each skill more than in the line above takes."""
    taken = {skills: times.fastest(run) for skills, run in growth.runs.items()}
    name = f"`{growth.command}`"
    first = min(taken)
    yield (name, f"{first:,}", _seconds(taken[first]), "", "", "", "")
    before = None
    for fewer, more in pairwise(sorted(taken)):
        each = (taken[more] - taken[fewer]) / (more - fewer)
        judged: tuple[str, ...] = ("", "", "")
        if before is not None:
            grown = each / before - 1
            judged = (f"{grown:+.0%}", f"{growth.budget:.0%}", _met(grown <= growth.budget))
        yield (name, f"{more:,}", _seconds(taken[more]), f"{each * 1000:.2f} ms", *judged)
        before = each


def _peak(peak: Peak, times: Times) -> Sequence[str]:
    found = times.peak(peak.run)
    return (peak.run.name, peak.run.project, f"{found:.0f} MiB", f"{peak.budget} MiB", _met(found <= peak.budget))


def _lead(lead: Lead, times: Times) -> Sequence[str]:
    ratio = times.ratio(lead.theirs, lead.ours)
    judged = ("", "") if lead.budget is None else (f"{lead.budget:g}", _met(ratio >= lead.budget))
    shown = (_seconds(times.seconds(lead.theirs)), _seconds(times.seconds(lead.ours)), f"{ratio:.2f}")
    return (lead.theirs.name, lead.theirs.project, *shown, *judged)


def _met(met: bool) -> str:  # noqa: FBT001  a word for a truth
    return "yes" if met else "**no**"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def replaced(page: str, text: str) -> str:
    """Return a page with a text in place of what is between the markers. Raises ValueError if there are none."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        message = f"there is no {BEGIN} with {END} after it"
        raise ValueError(message)
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}"
