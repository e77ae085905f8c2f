"""A line that tells a person at a terminal that a long command is at work.

Invariants: nothing before half a second, and nothing for who asked for quiet, for CI or for a program; the line is gone
before anything else is printed; a terminal that goes away ends no command.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from threading import Event

ERASE = "\r\x1b[K"  # back to the line's beginning, and away with it
_PATIENCE, _PACE = 0.5, 0.2  # seconds


def is_wanted(stream: Any, environ: Mapping[str, str]) -> bool:  # noqa: ANN401  # a text stream, None where it was closed
    """Whether somebody looks at a terminal that can take a line back."""
    return stream is not None and stream.isatty() and environ.get("TERM") != "dumb" and not environ.get("CI")


@contextmanager
def shown(words: str, stream: Any) -> Iterator[None]:  # noqa: ANN401  # as above
    """Show the words and how long it takes, while what is inside is done."""
    # A bar would need to know how much there is to read, which is known when most of it is done.
    from threading import Event, Thread

    done = Event()
    ticking = Thread(target=_tick, args=(words, stream, done), daemon=True)
    ticking.start()
    try:
        yield
    finally:
        done.set()
        ticking.join()


def _tick(words: str, stream: Any, done: Event) -> None:  # noqa: ANN401  # as above
    started = monotonic()
    if done.wait(_PATIENCE):
        return
    with suppress(OSError, ValueError):
        while not done.wait(_PACE):
            stream.write(f"\r{words}, {monotonic() - started:.0f} s\x1b[K")
            stream.flush()
        stream.write(ERASE)
        stream.flush()
