"""A bar that tells a person at a terminal how far a long command is.

Invariants: nothing before half a second, and nothing for who asked for quiet, for CI or for a program; the line is gone
before anything else is printed, and never longer than the terminal; neither a terminal that goes away nor a system
without a thread to spare ends a command.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from skillsync.rendering.columns import columns, cut
from skillsync.rendering.report import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from threading import Event

    from skillsync.track import T, Track

ERASE = "\r\x1b[K"  # back to the line's beginning, and away with it
_PATIENCE, _PACE = 0.5, 0.2  # seconds
_BAR = 30  # characters, where there is room for them


def is_wanted(stream: Any, environ: Mapping[str, str]) -> bool:  # noqa: ANN401  # a text stream, None where it was closed
    """Whether somebody looks at a terminal that can take a line back."""
    return stream is not None and stream.isatty() and environ.get("TERM") != "dumb" and not environ.get("CI")


@contextmanager
def shown(command: str, stream: Any) -> Iterator[Track]:  # noqa: ANN401  # as above
    """Show how far a command is while what is inside is done, which tells it by the `Track` that it gets."""
    from threading import Event, Thread

    at, done = _At(), Event()
    ticking = Thread(target=_tick, args=(command, at, stream, done), daemon=True)
    # Where the system gives no thread, nothing is shown, and the work is done all the same.
    with suppress(RuntimeError):
        ticking.start()
    try:
        yield at.track
    finally:
        done.set()
        if ticking.is_alive():
            ticking.join()


class _At:
    """Where the work is; what is counted only grows, so that the other thread reads it as it is."""

    def __init__(self) -> None:
        # How many packages there are to read is known when they have been read: that part has no bar.
        self.words = "reading packages"
        self.done = self.total = 0

    def track(self, parts: Collection[T], words: str) -> Iterable[T]:
        self.done, self.total, self.words = 0, len(parts), printable(words)
        for part in parts:
            yield part
            self.done += 1


def line(command: str, at: Any, seconds: float, room: int) -> str:  # noqa: ANN401  # has words, done and total
    """Return what is shown: command, work, and how much of it is done, in less than all the columns there are."""
    # Once each: the work goes on meanwhile, and the next part of it may be none.
    done, total = at.done, at.total
    left = f"{command}: {at.words}"
    if not total:
        return cut(f"{left}, {seconds:.0f} s", room - 1)
    right = f"{done} of {total}, {seconds:.0f} s"
    size = min(_BAR, room - columns(left) - columns(right) - 5)
    full = size * min(done, total) // total
    bar = f" [{'#' * full}{' ' * (size - full)}] " if size > 0 else " "
    return cut(f"{left}{bar}{right}", room - 1)


def _tick(command: str, at: _At, stream: Any, done: Event) -> None:  # noqa: ANN401  # as above
    started = monotonic()
    if done.wait(_PATIENCE):
        return
    with suppress(OSError, ValueError):
        while not done.wait(_PACE):
            stream.write(f"\r{line(command, at, monotonic() - started, _columns(stream))}\x1b[K")
            stream.flush()
        stream.write(ERASE)
        stream.flush()


def _columns(stream: Any) -> int:  # noqa: ANN401  # as above
    """Return how wide the terminal is: the stream's own, which needn't be the one that standard output goes to."""
    return os.get_terminal_size(stream.fileno()).columns or 80  # a terminal needn't know
