"""`skillsync list` and `skillsync show`: what there is, and the state of it.

Invariants: writes nothing; a state comes from lock, registry and existence; only `list --verify` reads the skills.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillsync.cli import report
from skillsync.cli.project import load_lock, load_manifest
from skillsync.cli.report import Json, Report
from skillsync.cli.survey import Survey, survey
from skillsync.errors import Code, Problem, SkillsyncError
from skillsync.filesystem import open_directory, read_start
from skillsync.locking.lockfile import Lockfile
from skillsync.locking.pins import pinned_by
from skillsync.schema import suggestion
from skillsync.snapshot import SKILL_FILE, Snapshot, shipped_faults, snapshot
from skillsync.syncing import plan, status, target
from skillsync.syncing.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from skillsync.discovery.provider import FoundSkill, Provider
    from skillsync.locking.choice import Candidate
    from skillsync.locking.lockfile import LockedProvider
    from skillsync.locking.manifest import Manifest

_TEXT_LIMIT = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One skill of one provider. `provider` is None where only the lock still knows it."""

    name: str
    description: str
    hash: str | None
    status: Status
    provider: Provider | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shelf:
    """A provider and its skills."""

    ecosystem: str
    name: str
    version: str
    admitted: bool
    rows: tuple[_Row, ...]

    @property
    def key(self) -> str:
        return f"{self.ecosystem}:{self.name}"


def run_list(project: str, *, verify: bool) -> Report:
    """List providers, their skills and states; with `verify`, every skill is read and hashed."""
    found, shelves, problems = _overview(project, verify=verify)
    rows = [
        (row.name, row.status.value, f"{shelf.key} {shelf.version}", _shortened(report.one_line(row.description)))
        for shelf in shelves
        for row in shelf.rows
    ]
    cells = [tuple(report.printable(cell) for cell in row) for row in rows]
    header = [("SKILL", "STATE", "PROVIDER", "DESCRIPTION")] if cells else []
    count = sum(len(shelf.rows) for shelf in shelves)
    size = f"{report.counted(count, 'skill')} of {report.counted(len(shelves), 'provider')}"
    return Report(
        lines=[
            *report.environment_lines(found.environments),
            *report.table([*header, *cells]),
            size if cells else "no installed package ships skills",
        ],
        details=list(report.ignored_lines(found.candidates)),
        data={
            "environments": report.environments_json(found.environments),
            "providers": [_shelf_json(shelf) for shelf in shelves],
        },
        problems=problems,
    )


_WIDTH = 60  # of a description in the table; `show` has all of it


def _shortened(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1].rstrip()}…"


def _overview(project: str, *, verify: bool) -> tuple[Survey, list[_Shelf], tuple[Problem, ...]]:
    """Return what is installed and locked, sorted by provider and skill."""
    manifest = load_manifest(project)
    lock = load_lock(project) or Lockfile()
    found = survey(project, manifest, pinned_by(lock))
    statuses, problems = _locked(project, manifest, lock, verify=verify)
    twice = {one.skill for one in found.problems if one.code is Code.DUPLICATE_SKILL}
    shelves = {}
    for candidate in found.candidates:
        rows = tuple(_candidate_rows(candidate, lock, statuses, twice, verify=verify))
        if rows:
            package = candidate.choice.package
            shelves[candidate.key] = _Shelf(
                ecosystem=package.ecosystem,
                name=package.name,
                version=package.version,
                admitted=candidate.choice.rule is not None,
                rows=rows,
            )
    for provider in lock.providers:
        shelves[provider.key] = _with_locked(shelves.get(provider.key), provider, statuses, manifest)
    ordered = [shelves[key] for key in sorted(shelves)]
    return found, ordered, (*found.problems, *problems)


def _locked(
    project: str, manifest: Manifest, lock: Lockfile, *, verify: bool
) -> tuple[dict[str, Status], list[Problem]]:
    """Return the state of each locked skill: the most pressing of all target directories."""
    found: dict[str, Status] = {}
    problems: list[Problem] = []
    order = list(Status)
    for place in target.locate(project, manifest.targets, outside=True):
        if verify:
            state, said = target.read_settled(place, lock)
            problems += said
        else:
            with target.opened(place) as fd:
                state = target.glance(fd, place, lock)
        for name, (provider, skill) in lock.skills.items():
            row, disk = state.registry.rows.get(name), state.disk.get(name, plan.Absent())
            if verify:
                verdict = plan.decide(skill.hash, provider.key, row, disk)
                here = status.of_verified(verdict.drift, row, disk)
            else:
                here = status.of_locked(provider, skill, row, is_there=not isinstance(disk, plan.Absent))
            found[name] = max(found.get(name, here), here, key=order.index)
    return found, problems


def _candidate_rows(
    candidate: Candidate, lock: Lockfile, statuses: Mapping[str, Status], twice: Iterable[str | None], *, verify: bool
) -> Iterator[_Row]:
    admitted = {skill.name for skill in candidate.admitted}
    for skill in candidate.provider.skills:
        provider, locked = lock.skills.get(skill.name, (None, None))
        is_pinned = provider is not None and provider.key == candidate.key
        if not skill.is_valid:
            state = Status.INVALID
        elif verify and shipped_faults(_read(candidate.provider, skill)):
            state = Status.UNSAFE
        elif skill.name in twice and skill.name in admitted:
            state = Status.CONFLICT
        elif is_pinned:
            state = statuses[skill.name]
        else:
            state = Status.AVAILABLE if skill.name in admitted else Status.EXCLUDED
        yield _Row(
            name=skill.name,
            description=skill.description,
            hash=locked.hash if locked and is_pinned else None,
            status=state,
            provider=candidate.provider,
        )


def _with_locked(
    shelf: _Shelf | None, provider: LockedProvider, statuses: Mapping[str, Status], manifest: Manifest
) -> _Shelf:
    """Add the skills that only the lock still has."""
    known = {row.name for row in shelf.rows} if shelf else set()
    rows = tuple(
        _Row(name=skill.name, description="", hash=skill.hash, status=statuses[skill.name])
        for skill in provider.skills
        if skill.name not in known
    )
    rules = manifest.governing(provider.ecosystem, provider.name)
    return _Shelf(
        ecosystem=provider.ecosystem,
        name=provider.name,
        version=shelf.version if shelf else provider.version,
        admitted=shelf.admitted if shelf else manifest.rules is None or len(rules) == 1,
        rows=tuple(sorted((*(shelf.rows if shelf else ()), *rows), key=lambda row: row.name)),
    )


def _shelf_json(shelf: _Shelf) -> Json:
    return {
        "ecosystem": shelf.ecosystem,
        "name": shelf.name,
        "version": shelf.version,
        "admitted": shelf.admitted,
        "skills": [
            {"name": row.name, "description": row.description, "hash": row.hash, "state": row.status.value}
            for row in shelf.rows
        ],
    }


def _read(provider: Provider, skill: FoundSkill) -> Snapshot:
    """Read a provider's copy of a skill."""
    root = provider.package.root
    with open_directory(root, skill.path) as fd:
        return snapshot(fd, f"{root}/{skill.path}")


def run_show(project: str, name: str) -> Report:
    """Show a skill of every provider that ships it: provider, files, text. Raises SkillsyncError if none does."""
    found, shelves, problems = _overview(project, verify=False)
    rows = [(shelf, row) for shelf in shelves for row in shelf.rows if row.name == name]
    if not rows:
        raise SkillsyncError(_unknown(name, shelves), *(one for one in problems if one.is_error))
    lines: list[str] = []
    data: list[Json] = []
    for shelf, row in rows:
        skill = next((one for one in row.provider.skills if one.name == name), None) if row.provider else None
        read = _read(row.provider, skill) if row.provider and skill else None
        text = _text(row.provider, skill) if row.provider and skill else ""
        lines += _show_lines(shelf, row, skill, read, text)
        data.append(_show_json(shelf, row, skill, read, text))
    own = tuple(one for one in problems if one.skill in {name, None})
    data_ = {"environments": report.environments_json(found.environments), "skills": data}
    return Report(lines=lines, data=data_, problems=own)


def _unknown(name: str, shelves: Sequence[_Shelf]) -> Problem:
    names = sorted({row.name for shelf in shelves for row in shelf.rows})
    meant = suggestion(name, names)
    hint = f"did you mean `skillsync show {meant}`?" if meant else "`skillsync list` shows what there is"
    return Problem(code=Code.SKILL_NOT_FOUND, message=f"no provider ships a skill `{name}`", hint=hint, skill=name)


def _text(provider: Provider, skill: FoundSkill) -> str:
    """Return the text of SKILL.md, as much as a person would read."""
    with open_directory(provider.package.root, skill.path) as fd:
        content = read_start(SKILL_FILE, _TEXT_LIMIT, dir_fd=fd) or b""
    return content.decode("utf-8-sig", "backslashreplace")


def _show_lines(shelf: _Shelf, row: _Row, skill: FoundSkill | None, read: Snapshot | None, text: str) -> Iterator[str]:
    yield report.printable(f"{row.name} ({row.status.value})")
    yield report.printable(f"  provider     {shelf.key} {shelf.version}")
    yield report.printable(f"  path         {skill.path if skill else 'not installed'}")
    yield report.printable(f"  description  {report.one_line(row.description)}")
    yield f"  locked       {row.hash or 'no'}"
    if read is not None:
        yield f"  installed    {read.hash or 'unsafe'}"
        yield "  files"
        for path, facts in sorted(read.facts.items()):
            mark = "  [script]" if facts.script or facts.executable or path.startswith("scripts/") else ""
            yield report.printable(f"    {path}  {report.counted(facts.size, 'byte')}{mark}")
        for fault in shipped_faults(read):
            yield report.printable(f"    {fault.path}  UNSAFE: {fault.reason}")
    yield ""
    for line in text.splitlines():
        yield report.printable(line.replace("\t", "    "))


def _show_json(shelf: _Shelf, row: _Row, skill: FoundSkill | None, read: Snapshot | None, text: str) -> Json:
    return {
        "name": row.name,
        "provider": shelf.key,
        "version": shelf.version,
        "state": row.status.value,
        "description": row.description,
        "path": skill.path if skill else None,
        "hash": row.hash,
        "files": [
            {"path": path, "size": facts.size, "hash": getattr(read.tree[path], "hash", None)}
            for path, facts in sorted(read.facts.items())
        ]
        if read
        else [],
        "text": text,
    }
