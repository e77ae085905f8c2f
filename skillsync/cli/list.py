"""`skillsync list`: providers, skills and their state.

Invariants: writes nothing; without `--verify` no skill is read, and none is called modified or unsafe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.commands.overview import overview
from skillsync.commands.project import load_lock, load_manifest
from skillsync.errors import typed
from skillsync.locking.examination import left_out
from skillsync.locking.lockfile import Lockfile
from skillsync.locking.manifest import FILE_NAME
from skillsync.rendering import report
from skillsync.rendering.columns import columns, cut
from skillsync.rendering.report import Report
from skillsync.syncing.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillsync.commands.overview import Row, Shelf
    from skillsync.commands.project import Project
    from skillsync.rendering.report import Json


def run(project: Project, *, verify: bool, width: int | None = None) -> Report:
    """List providers, their skills and states; with `verify`, every skill is read and hashed.

    `width` is the terminal's; without one the table is the same everywhere.
    """
    seen = overview(
        project,
        load_manifest(project),
        load_lock(project) or Lockfile(),
        is_wanted=(lambda _choice, _skill: True) if verify else None,
    )
    found, shelves = seen.found, seen.shelves
    rows = [
        (row.name, row.status.value, _provider(shelf, row), report.one_line(row.description))
        for shelf in shelves
        for row in shelf.rows
    ]
    cells = [(*map(report.printable, row[:-1]), row[-1]) for row in rows]
    count = sum(len(shelf.rows) for shelf in shelves)
    size = [f"{report.counted(count, 'skill')} of {report.counted(len(shelves), 'provider')}"]
    # Without an environment nobody knows what is installed.
    none = ["no installed package ships skills"] if found.environments else []
    return Report(
        lines=[
            *report.environment_lines(found.environments),
            *(_table([_HEADER, *cells], width) if cells else ()),
            *([*size, *_none_in(shelves)] if cells else none),
            *report.own_lines(found.own),
        ],
        details=[
            *report.note_lines(found.environments),
            *report.ignored_lines(found.candidates),
            *report.left_out_lines(left_out(found.candidates)),
        ],
        data={
            "environments": report.environments_json(found.environments),
            "providers": [_shelf_json(shelf) for shelf in shelves],
        },
        problems=seen.problems,
    )


def _provider(shelf: Shelf, row: Row) -> str:
    """Name the version that the state is about, and the one that is installed if that is another."""
    version = row.locked_version or shelf.version
    if not shelf.is_installed:
        return f"{shelf.key} {version} (package not found)"
    return f"{shelf.key} {version}" + (f" ({shelf.version} is installed)" if version != shelf.version else "")


def _none_in(shelves: Sequence[Shelf]) -> Iterator[str]:
    """Say which of the ways it is, where none of the skills will ever be installed as things are."""
    states = {row.status for shelf in shelves for row in shelf.rows}
    if states <= {Status.EXCLUDED, Status.INVALID, Status.UNSAFE}:
        if any(shelf.admitted for shelf in shelves):
            yield "the admitted packages ship no valid skill that agent-skills.toml lets in"
        else:
            yield f"{FILE_NAME} admits none of them: run {typed('allow', shelves[0].key)}, for example"


_HEADER = ("SKILL", "STATE", "PROVIDER", "DESCRIPTION")
_WIDTH = 60  # of a description where there is no terminal; `show` has all of it
_LEAST = 20  # less than this of a description says nothing: it is left out
_GAP = 2


def _table(rows: Sequence[tuple[str, ...]], width: int | None) -> list[str]:
    """Return the table, as wide as the terminal; where that is too narrow, without descriptions."""
    before = sum(max(columns(row[column]) + _GAP for row in rows) for column in range(len(_HEADER) - 1))
    room = _WIDTH if width is None else width - before
    if room < _LEAST:
        return report.table([row[:-1] for row in rows])
    return report.table([(*row[:-1], _shortened(row[-1], room)) for row in rows])


def _shortened(text: str, room: int) -> str:
    """Return as much of a text as has room."""
    return text if columns(text) <= room else f"{cut(text, room - 1).rstrip()}…"


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
