"""What a terminal gets besides the text: colour, and a pager where the text is longer than the screen.

Invariants: decides nothing and changes no word; what is no terminal gets plain lines, unless FORCE_COLOR asks for more.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_RESET = "\x1b[0m"


def has_colour(stream: Any, environ: Mapping[str, str]) -> bool:  # noqa: ANN401  # a text stream, None where it was closed
    """Whether a stream gets colour: NO_COLOR forbids it, FORCE_COLOR asks for it, else a terminal gets it."""
    if stream is None or environ.get("NO_COLOR"):
        return False
    return bool(environ.get("FORCE_COLOR")) or (stream.isatty() and environ.get("TERM") != "dumb")


def width(stream: Any) -> int | None:  # noqa: ANN401  # as above
    """Return how many columns a terminal has, or COLUMNS says it has; None for what is no terminal."""
    if stream is None or not stream.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def painted(line: str, palette: Mapping[str, str]) -> str:
    """Return a line in the colour of the longest of the palette's beginnings that it has."""
    found = max((start for start in palette if line.startswith(start)), key=len, default=None)
    return f"\x1b[{palette[found]}m{line}{_RESET}" if found and palette[found] else line


def paged(lines: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Show lines by the user's pager, where they are more than the screen has; tell whether that was done."""
    import shlex
    import shutil
    import subprocess

    try:
        command = shlex.split(environ.get("PAGER", "less"))
    except ValueError:
        command = []
    is_terminal = sys.stdout is not None and sys.stdout.isatty()  # None where the caller has closed it
    if not is_terminal or len(lines) < shutil.get_terminal_size().lines or not command:
        return False
    # As git does it: quit if one screen is enough, pass colours through, leave the text on the screen.
    settings = {"LESS": "FRX", "LV": "-c", **environ}
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, env=settings)  # noqa: S603  # the user's own
    except OSError:
        return False
    with suppress(BrokenPipeError, KeyboardInterrupt):
        process.communicate("".join(f"{line}\n" for line in lines))
    process.wait()
    return True
