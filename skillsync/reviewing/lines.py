"""Which lines of a text are new, and which are gone.

Invariants: pure; time and memory are bounded, whatever the texts are: beyond the bound a text is replaced as a whole.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from rapidfuzz.distance import Indel

from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONTEXT = 3  # equal lines around a difference
# Pairs of lines: 10,000 by 10,000 take a tenth of a second. difflib, which doesn't look for the fewest differences,
# took eight times as long for 10,000 lines of 100 kinds.
_MOST = 10_000 * 10_000

Opcode = tuple[str, int, int, int, int]  # difflib's: a tag, the lines of the old text, and those of the new


class Run(Value, kw_only=False):
    """Lines of the old text from `start` to `end`, and those of the new that are in their place."""

    tag: str  # "equal", "replace", "delete" or "insert"
    start: int
    end: int
    new_start: int
    new_end: int


class _Lines(SequenceMatcher[str]):
    """The standard library's grouping of runs, over runs that were found elsewhere."""

    def __init__(self, runs: list[Opcode]) -> None:
        super().__init__()
        self._runs = runs

    def get_opcodes(self) -> list[Opcode]:  # type: ignore[override]  # a wider tag
        return self._runs


def split(text: str) -> list[str]:
    """Return the lines of a text, each with its end; git knows no other end of a line than LF."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def runs(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """Return how the one becomes the other, with as many equal lines as there can be."""
    return [Run(*run) for run in _runs(old, new)]


def hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[list[Run]]:
    """Yield the differences with the lines around them."""
    for group in _Lines(_runs(old, new)).get_grouped_opcodes(CONTEXT):
        yield [Run(*run) for run in group]


def _runs(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    found: list[Opcode] = []
    for tag, start, end, new_start, new_end in _opcodes(old, new):
        if found and "equal" not in {tag, found[-1][0]}:
            _, first, _, new_first, _ = found.pop()
            found.append(("replace", first, end, new_first, new_end))
        else:
            found.append((tag, start, end, new_start, new_end))
    return found


def _opcodes(old: Sequence[str], new: Sequence[str]) -> Iterator[Opcode]:
    if len(old) * len(new) > _MOST:
        yield "replace", 0, len(old), 0, len(new)
        return
    for one in Indel.opcodes(old, new):
        yield one.tag, one.src_start, one.src_end, one.dest_start, one.dest_end


def counted(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many lines are added and how many are removed."""
    different = [run for run in runs(old, new) if run.tag != "equal"]
    return sum(run.new_end - run.new_start for run in different), sum(run.end - run.start for run in different)
