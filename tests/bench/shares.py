"""`python -m bench.shares`: by which modules the time of a command is taken, as a profiler sees it.

Invariants: a share is one of the whole process, imports included; what is built in counts for the module that calls.
"""

from __future__ import annotations

import os
import pstats
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import surroundings
from bench.prepared import Workshop
from bench.workload import LARGE, SMALL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.prepared import Project

_MOST = 7  # modules of a command
_LEAST = 0.02
_COMMANDS = ("verify --scope installed", "sync", "lock", "list")
_PROFILED = """
import cProfile, sys
profile = cProfile.Profile()
profile.enable()
try:
    from skillsync.cli.main import main
    main(sys.argv[2:])
finally:
    profile.disable()
    profile.dump_stats(sys.argv[1])
"""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="skillsync-bench-") as work:
        os.mkdir(f"{work}/home")
        environ = surroundings.environ(f"{work}/home")
        workshop = Workshop(f"{work}/projects", str(Path(sys.executable).with_name("skillsync")), environ)
        projects = [("verify", workshop.project("small", "pypi", SMALL))]
        projects += [(command, workshop.project("large", "pypi", LARGE)) for command in _COMMANDS[:1]]
        projects += [(command, projects[-1][1]) for command in _COMMANDS[1:]]
        sys.stdout.write("| command | project | modules |\n|---|---|---|\n")
        for command, project in projects:
            if command == "sync":
                project.clear()
            shares = ", ".join(f"{module} {share:.0%}" for module, share in _shares(project, command, work, environ))
            sys.stdout.write(f"| `{command}` | {project.name} | {shares} |\n")
            sys.stdout.flush()


def _shares(project: Project, command: str, work: str, environ: dict[str, str]) -> Iterator[tuple[str, float]]:
    """Yield the modules that take most, and their shares."""
    target = f"{work}/profile"
    words = (sys.executable, "-c", _PROFILED, target, *command.split())
    subprocess.run(words, cwd=project.root, env=environ, stdout=subprocess.DEVNULL, check=True)
    found: Counter[str] = Counter()
    profiled: Any = pstats.Stats(target)
    for (file, _, _), (_, _, own, _, callers) in profiled.stats.items():
        if file != "~" or not callers:
            found[_module(file)] += own
        else:
            for (caller, _, _), (_, _, part, _) in callers.items():
                found[_module(caller)] += part
    whole = sum(found.values())
    yield from ((module, taken / whole) for module, taken in found.most_common(_MOST) if taken > _LEAST * whole)


def _module(file: str) -> str:
    """Return how a module is shown: skillsync's by its name, others by their library."""
    if "importlib" in file:
        return "loading"
    parts = Path(file).with_suffix("").parts
    if "skillsync" in parts:
        return f"`{'.'.join(parts[parts.index('skillsync') + 1 :])}`"
    return parts[parts.index("site-packages") + 1] if "site-packages" in parts else "Python's library"


if __name__ == "__main__":
    main()
