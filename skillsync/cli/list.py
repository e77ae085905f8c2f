"""`skillsync list`: providers, skills and their state.

Invariants: writes nothing; without `--verify` no skill is read, and none is called modified or unsafe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.cli import report
from skillsync.cli.overview import overview
from skillsync.cli.report import Report

if TYPE_CHECKING:
    from skillsync.cli.overview import Row, Shelf
    from skillsync.cli.project import Project
    from skillsync.cli.report import Json


def run(project: Project, *, verify: bool) -> Report:
    """List providers, their skills and states; with `verify`, every skill is read and hashed."""
    found, shelves, problems = overview(project, verify=verify)
    rows = [
        (row.name, row.status.value, _provider(shelf, row), _shortened(report.one_line(row.description)))
        for shelf in shelves
        for row in shelf.rows
    ]
    cells = [tuple(report.printable(cell) for cell in row) for row in rows]
    header = [("SKILL", "STATE", "PROVIDER", "DESCRIPTION")] if cells else []
    count = sum(len(shelf.rows) for shelf in shelves)
    size = [f"{report.counted(count, 'skill')} of {report.counted(len(shelves), 'provider')}"]
    # Without an environment nobody knows what is installed.
    none = ["no installed package ships skills"] if found.environments else []
    return Report(
        lines=[
            *report.environment_lines(found.environments),
            *report.table([*header, *cells]),
            *(size if cells else none),
        ],
        details=[*report.note_lines(found.environments), *report.ignored_lines(found.candidates)],
        data={
            "environments": report.environments_json(found.environments),
            "providers": [_shelf_json(shelf) for shelf in shelves],
        },
        problems=problems,
    )


def _provider(shelf: Shelf, row: Row) -> str:
    """Name the version that the state is about, and the one that is installed if that is another."""
    version = row.locked_version or shelf.version
    if not shelf.is_installed:
        return f"{shelf.key} {version} (package not found)"
    return f"{shelf.key} {version}" + (f" ({shelf.version} is installed)" if version != shelf.version else "")


_WIDTH = 60  # of a description in the table; `show` has all of it


def _shortened(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1].rstrip()}…"


def _shelf_json(shelf: Shelf) -> Json:
    return {
        "ecosystem": shelf.ecosystem,
        "name": shelf.name,
        "version": shelf.version,
        "admitted": shelf.admitted,
        "skills": [
            {
                "name": row.name,
                "description": row.description,
                "hash": row.hash,
                "locked_version": row.locked_version,
                "state": row.status.value,
            }
            for row in shelf.rows
        ],
    }
