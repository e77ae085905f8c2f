"""`skillsync show`: one skill, its provider, its files and its text.

Invariants: writes nothing; every provider that ships the name is shown; what is printed is escaped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillsync.cli import report
from skillsync.cli.overview import overview
from skillsync.cli.report import Report
from skillsync.discovery.provider import read
from skillsync.errors import Code, Problem, SkillsyncError
from skillsync.filesystem import open_directory, read_start
from skillsync.hashing import SKILL_FILE, File
from skillsync.schema import suggestion
from skillsync.snapshot import shipped_faults

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillsync.cli.overview import Row, Shelf
    from skillsync.cli.project import Project
    from skillsync.cli.report import Json
    from skillsync.discovery.provider import FoundSkill, Provider
    from skillsync.snapshot import Snapshot

_TEXT_LIMIT = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copy:
    """A provider's copy of a skill, as it was read; `path` is relative to the package's root."""

    path: str
    snapshot: Snapshot
    text: str


def run(project: Project, name: str) -> Report:
    """Show a skill of every provider that ships it. Raises SkillsyncError if none does."""
    found, shelves, problems = overview(project, verify=False)
    rows = [(shelf, row) for shelf in shelves for row in shelf.rows if row.name == name]
    if not rows:
        raise SkillsyncError(_unknown(name, shelves), *(one for one in problems if one.is_error))
    shown = [(shelf, row, _copy(row)) for shelf, row in rows]
    return Report(
        lines=[line for one in shown for line in _lines(*one)],
        data={
            "environments": report.environments_json(found.environments),
            "skills": [_json(*one) for one in shown],
        },
        problems=tuple(one for one in problems if one.skill in {name, None}),
    )


def _unknown(name: str, shelves: Sequence[Shelf]) -> Problem:
    names = sorted({row.name for shelf in shelves for row in shelf.rows})
    meant = suggestion(name, names)
    hint = f"did you mean `skillsync show {meant}`?" if meant else "`skillsync list` shows what there is"
    return Problem(code=Code.SKILL_NOT_FOUND, message=f"no provider ships a skill `{name}`", hint=hint, skill=name)


def _copy(row: Row) -> _Copy | None:
    """Read the provider's copy; None where there is none, or none that is a skill."""
    skill = next((one for one in row.provider.skills if one.name == row.name), None) if row.provider else None
    if row.provider is None or skill is None or not skill.is_valid:
        return None
    found = read(row.provider.package, skill.path)
    return _Copy(path=skill.path, snapshot=found, text=_text(row.provider, skill, found))


def _text(provider: Provider, skill: FoundSkill, found: Snapshot) -> str:
    """Return the text of SKILL.md, as much as a person would read; of a link, only what the tree walker let pass."""
    is_file = isinstance(found.tree.get(SKILL_FILE), File)
    with open_directory(provider.package.root, skill.path) as fd:
        content = (read_start(SKILL_FILE, _TEXT_LIMIT, dir_fd=fd, follow=True) if is_file else None) or b""
    return content.decode("utf-8-sig", "backslashreplace")


def _lines(shelf: Shelf, row: Row, copy: _Copy | None) -> Iterator[str]:
    yield report.printable(f"{row.name} ({row.status.value})")
    yield report.printable(f"  provider     {shelf.key} {shelf.version}")
    yield report.printable(f"  path         {copy.path if copy else 'no copy that can be shown is installed'}")
    yield report.printable(f"  description  {report.one_line(row.description)}")
    yield report.printable(f"  locked       {f'{row.hash}, version {row.locked_version}' if row.hash else 'no'}")
    if copy is None:
        return
    yield f"  provider has {copy.snapshot.hash or 'an unsafe skill'}"
    if row.hash and row.hash != copy.snapshot.hash:
        yield report.printable(
            f"  NOT LOCKED: all that follows is of {shelf.version}, as `skillsync lock` would take it"
        )
    yield "  files"
    for path, entry in sorted(copy.snapshot.tree.items()):
        if isinstance(entry, File):
            mark = "  [script]" if path in copy.snapshot.scripts else ""
            yield report.printable(f"    {path}  {report.counted(copy.snapshot.facts[path].size, 'byte')}{mark}")
        else:
            yield report.printable(f"    {path} -> {entry.target}")
    for fault in shipped_faults(copy.snapshot):
        yield report.printable(f"    {fault.path}  UNSAFE: {fault.reason}")
    yield ""
    # Git's lines: what some readers take for more ends of lines is shown as what it is.
    for line in copy.text.replace("\r\n", "\n").removesuffix("\n").split("\n"):
        yield report.printable(line.expandtabs(4))
    size = copy.snapshot.facts[SKILL_FILE].size if SKILL_FILE in copy.snapshot.facts else 0
    if size > _TEXT_LIMIT:
        yield f"[{report.counted(size - _TEXT_LIMIT, 'byte')} more, which are not shown]"


def _json(shelf: Shelf, row: Row, copy: _Copy | None) -> Json:
    return {
        "name": row.name,
        "provider": shelf.key,
        "version": shelf.version,
        "locked_version": row.locked_version,
        "state": row.status.value,
        "description": row.description,
        "path": copy.path if copy else None,
        "hash": row.hash,
        "files": list(_files_json(copy.snapshot)) if copy else [],
        "text": copy.text if copy else None,
    }


def _files_json(found: Snapshot) -> Iterator[Json]:
    for path, entry in sorted(found.tree.items()):
        if isinstance(entry, File):
            yield {"path": path, "size": found.facts[path].size, "hash": entry.hash}
        else:
            yield {"path": path, "link": entry.target}
