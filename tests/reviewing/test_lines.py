from __future__ import annotations

import pytest
from builders import quickly
from hypothesis import given
from hypothesis import strategies as st

from skillsync.reviewing import lines

_LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=30)


def applied(old: list[str], new: list[str]) -> list[str]:
    """What becomes of the old lines if every run is followed."""
    made: list[str] = []
    at = new_at = 0
    for run in lines.runs(old, new):
        assert (run.start, run.new_start) == (at, new_at)
        at, new_at = run.end, run.new_end
        assert run.tag != "equal" or old[run.start : run.end] == new[run.new_start : run.new_end]
        made += old[run.start : run.end] if run.tag == "equal" else new[run.new_start : run.new_end]
    assert at == len(old)
    return made


@given(_LINES, _LINES)
def test_the_runs_lead_from_one_text_to_the_other(old: list[str], new: list[str]) -> None:
    assert applied(old, new) == new


@given(_LINES, _LINES)
def test_no_other_way_keeps_more_lines(old: list[str], new: list[str]) -> None:
    lengths = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, one in enumerate(old):
        for j, other in enumerate(new):
            lengths[i + 1][j + 1] = lengths[i][j] + 1 if one == other else max(lengths[i][j + 1], lengths[i + 1][j])
    kept = sum(run.end - run.start for run in lines.runs(old, new) if run.tag == "equal")
    assert kept == lengths[-1][-1]
    added, removed = lines.counted(old, new)
    assert (added, removed) == (len(new) - kept, len(old) - kept)


@given(st.text(st.sampled_from("ab\r\n\x0b\u2028"), max_size=20))
def test_only_a_line_feed_ends_a_line(text: str) -> None:
    found = lines.split(text)
    assert "".join(found) == text
    assert all(line.endswith("\n") for line in found[:-1])
    assert all("\n" not in line.removesuffix("\n") for line in found)
    assert "" not in found


def test_differences_far_apart_are_shown_apart() -> None:
    old = [f"{number}\n" for number in range(100)]
    new = ["first\n", *old[1:50], "middle\n", *old[50:]]
    spans = [(hunk[0].start, hunk[-1].end, hunk[0].new_start, hunk[-1].new_end) for hunk in lines.hunks(old, new)]
    assert spans == [(0, 4, 0, 4), (47, 53, 47, 54)]
    assert list(lines.hunks(old, old)) == []


@pytest.mark.parametrize("kinds", [1, 2, 100, 10_000])
def test_the_worst_texts_are_compared_quickly(kinds: int) -> None:
    old = [f"{number * 7919 % kinds}\n" for number in range(10_000)]
    with quickly():
        assert applied(old, list(reversed(old))) == old[::-1]


def test_what_is_too_long_is_replaced_as_a_whole() -> None:
    old, new = ["a\n"] * 20_001, ["a\n"] * 20_000
    assert [run.tag for run in lines.runs(old, new)] == ["replace"]
