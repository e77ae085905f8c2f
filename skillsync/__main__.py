"""`python -m skillsync`, and the command itself: until there is something to roll back, a signal just ends it."""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Else Ctrl-C while the modules are loaded would end in a traceback; `main` takes it back.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from skillsync.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
