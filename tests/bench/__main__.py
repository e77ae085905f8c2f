"""`python -m bench`: measures skillsync against floors and peers; prints the tables, or writes them into the page."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from bench import report, surroundings
from bench.cases import GROUPS
from bench.prepared import Workshop
from bench.timing import Times, measure

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/performance.md"
_MEMORY = "/dev/shm"  # noqa: S108  the directory below it has a name that nobody knows


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="skillsync-bench-", dir=options.work) as work:
        os.mkdir(f"{work}/home")
        environ = surroundings.environ(f"{work}/home")
        workshop = Workshop(f"{work}/projects", str(Path(sys.executable).with_name("skillsync")), environ)
        measured = []
        for name in options.only or GROUPS:
            _tell(f"{name}: makes the projects")
            for made in GROUPS[name](workshop):
                group = replace(made, rounds=options.rounds or made.rounds)
                times: Times = measure(group.runs, group.rounds, environ, _tell)
                measured.append((group, times))
            workshop.clear()
        text = f"{surroundings.machine(work)}\n\n{report.tables(measured)}"
    _tell("")
    sys.stdout.write(text)
    if options.write:
        PAGE.write_text(report.replaced(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--rounds", type=int, help="so many of each, in place of what each part has")
    parser.add_argument("--only", nargs="+", choices=GROUPS, metavar="PART", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.relative_to(ROOT)}")
    parser.add_argument(
        "--work", default=_MEMORY if os.access(_MEMORY, os.W_OK) else None, help="where the projects are made"
    )
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("the page has the tables of all parts: --write and --only don't go together")
    return options


def _tell(text: str) -> None:
    """Say on a terminal what is being done."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\033[K{text[:width]}")
        sys.stderr.flush()


if __name__ == "__main__":
    main()
