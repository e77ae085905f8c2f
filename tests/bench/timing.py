"""Runs programs in turn, and says how long each took and how much memory it had.

Invariants: a run is one process, waited for by itself; every round runs each program once, so that what disturbs the
machine disturbs all of them; the first round warms up and doesn't count; what a run needs to be made ready isn't timed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_MIB = 1024  # of what Linux counts in KiB


def nothing() -> None:
    """Make nothing ready."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """One program to be timed, again and again, in a project. `prepare` makes everything ready for it, each time."""

    name: str
    project: str
    command: tuple[str, ...]
    cwd: str
    environ: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], None] = nothing
    code: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """What one run took: seconds, and the MiB that were resident at its peak.

    Linux counts what the parent had when it made the process, too, so the peak is never less than that.
    """

    seconds: float
    mebibytes: float


class Times:
    """The samples of each run, one of each round."""

    def __init__(self) -> None:
        self._samples: dict[Run, list[Sample]] = {}

    def add(self, run: Run, sample: Sample) -> None:
        self._samples.setdefault(run, []).append(sample)

    def seconds(self, run: Run) -> float:
        """Return the median."""
        return statistics.median(sample.seconds for sample in self._samples[run])

    def ratio(self, run: Run, to: Run) -> float:
        """Return the median of how much longer one run took than another of the same round."""
        pairs = zip(self._samples[run], self._samples[to], strict=True)
        return statistics.median(one.seconds / other.seconds for one, other in pairs)

    def peak(self, run: Run) -> float:
        """Return the largest of the peaks, in MiB."""
        return max(sample.mebibytes for sample in self._samples[run])


def measure(runs: Sequence[Run], rounds: int, environ: Mapping[str, str], tell: Callable[[str], None]) -> Times:
    """Time all runs in turn, in so many rounds after the first."""
    times = Times()
    for at in range(rounds + 1):
        for run in runs:
            tell(f"round {at} of {rounds}: {run.name}")
            sample = once(run, environ)
            if at:
                times.add(run, sample)
    return times


def once(run: Run, environ: Mapping[str, str]) -> Sample:
    """Run a program. Raises RuntimeError if it ends otherwise than it has to."""
    run.prepare()
    with tempfile.TemporaryFile() as said:
        start = time.perf_counter()
        child = subprocess.Popen(
            run.command,
            cwd=run.cwd,
            env={**environ, **run.environ},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != run.code:
            said.seek(0)
            text = said.read().decode(errors="replace")
            message = f"{run.name}: {' '.join(run.command)} in {run.cwd} ended with {child.returncode}:\n{text}"
            raise RuntimeError(message)
    return Sample(seconds, usage.ru_maxrss / _MIB)


def distinct(runs: Iterable[Run]) -> list[Run]:
    """Return each run once, in order."""
    return list(dict.fromkeys(runs))
