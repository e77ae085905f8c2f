"""`python -m skillsync`, and the command itself: where there is nothing to roll back, a signal just ends it."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress

from skillsync import NAME_AND_VERSION

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Else Ctrl-C while the modules are loaded would end in a traceback; the command takes it back.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> int:
    """Run one command and return its exit code."""
    if sys.argv[1:] == ["--version"]:
        # Prompts and scripts ask often: nothing is loaded for it, unless it can't be printed and that has to be told.
        with suppress(OSError):
            os.write(sys.__stdout__.fileno() if sys.__stdout__ else 2, f"{NAME_AND_VERSION}\n".encode())
            return 0
    # A command makes many values and no circles of them, and ends: looking for circles took a tenth of the time.
    gc.disable()
    from skillsync.cli import main as command

    try:
        return command.main()
    finally:
        # Nor is one that comes while Python ends anybody's to see.
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    raise SystemExit(main())
