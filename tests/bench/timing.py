"""Runs programs in turn, and says how long each took and how much memory it had.

Invariants: a run is one process, waited for by itself; every round runs each program once, so that what disturbs the
machine disturbs all of them; the first round warms up and doesn't count; what a run needs to be made ready isn't timed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_LAUNCH = os.path.join(os.path.dirname(__file__), "launch.py")
_KIB = 1024 if sys.platform == "linux" else 1024 * 1024  # of what the system counts, in a MiB


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


@dataclass(frozen=True, slots=True)
class Sample:
    """What one run took: seconds, and the MiB that were resident at its peak."""

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

    def fastest(self, run: Run) -> float:
        """Return the seconds of the run that was disturbed least: what differences are taken of."""
        return min(sample.seconds for sample in self._samples[run])

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
    """Run a program. Raises RuntimeError if it doesn't succeed."""
    run.prepare()
    ours, theirs = os.pipe()
    try:
        done = subprocess.run(
            (sys.executable, "-I", "-S", _LAUNCH, str(theirs), *run.command),
            cwd=run.cwd,
            env={**environ, **run.environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(theirs,),
            check=False,
        )
        os.close(theirs)
        code, seconds, kibibytes = os.read(ours, 1000).split() or (b"-1", b"0", b"0")
    finally:
        os.close(ours)
    if int(code):
        text = done.stdout.decode(errors="replace")
        message = f"{run.name}: {' '.join(run.command)} in {run.cwd} ended with {int(code)}:\n{text}"
        raise RuntimeError(message)
    return Sample(float(seconds), int(kibibytes) / _KIB)


def distinct(runs: Iterable[Run]) -> list[Run]:
    """Return each run once, in order."""
    return list(dict.fromkeys(runs))
