"""`python -m skillsync`, and the command itself: where there is nothing to roll back, a signal just ends it."""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Else Ctrl-C while the modules are loaded would end in a traceback; the command takes it back.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from skillsync.cli import main as command


def main() -> int:
    """Run one command and return its exit code."""
    try:
        return command.main()
    finally:
        # Nor is one that comes while Python ends anybody's to see.
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    raise SystemExit(main())
