"""A lockfile for agent skills that come inside packages.

manifest ─┐
          ├─ resolve ──> lock ─┐                              skillsync lock
discovery ┘                    │
                    registry ──┼─ plan ──> report             skillsync verify   (stops here: it can't write)
                    snapshot ──┘     └───> apply              skillsync sync
"""

__version__ = "0.1.0"
NAME_AND_VERSION = f"skillsync {__version__}"
