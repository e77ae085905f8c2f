"""Where it is measured: the machine, and the programs' environment.

Invariants: reads only; nothing of the person who measures is in a program's environment.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR")


def environ(home: str) -> dict[str, str]:
    """Return the environment of the programs that are measured, with a home of their own."""
    return {**{name: os.environ[name] for name in _KEPT if name in os.environ}, "HOME": home}


def machine(work: str) -> str:
    """Return a line about the machine and the file system of a directory."""
    parts = (
        f"{os.cpu_count()} processors ({_processor()})",
        f"{platform.system()} {platform.release()}",
        f"{platform.python_implementation()} {platform.python_version()}",
        f"projects on {_file_system(work)}",
    )
    return "; ".join(parts)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _file_system(directory: str) -> str:
    """Return the type of the file system that a directory is on, as the longest mount point above it tells."""
    real = os.path.realpath(directory)
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return "an unknown file system"
    above = [(len(point), kind) for _, point, kind, *_ in mounts if f"{real}/".startswith(f"{point.rstrip('/')}/")]
    return max(above)[1] if above else "an unknown file system"
