"""`skillsync show`: one skill, its provider, its files and its text, and why it is in or out; or one provider.

Invariants: writes nothing; every provider that ships the name is shown; what is printed is escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.commands.naming import no_provider
from skillsync.commands.overview import overview
from skillsync.commands.project import load_lock, load_manifest
from skillsync.discovery.provider import groups
from skillsync.errors import LOOK, Code, Problem, SkillsyncError, did_you_mean
from skillsync.filesystem import open_directory, read_start
from skillsync.hashing import SKILL_FILE, File
from skillsync.locking.examination import left_out, without_skills
from skillsync.locking.lockfile import Lockfile
from skillsync.locking.manifest import FILE_NAME
from skillsync.locking.reasons import reason
from skillsync.rendering import report
from skillsync.rendering.report import Report
from skillsync.schema import quoted, suggestion
from skillsync.snapshot import shipped_faults
from skillsync.syncing import plan
from skillsync.syncing.status import Status
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from skillsync.commands.overview import Here, Overview, Row, Shelf
    from skillsync.commands.project import Project
    from skillsync.discovery.provider import FoundSkill, Provider
    from skillsync.locking.changes import Change
    from skillsync.locking.choice import Candidate, Choice
    from skillsync.rendering.report import Json
    from skillsync.snapshot import Snapshot

_TEXT_LIMIT = 1024 * 1024
_NAMED = 3  # things that are no skills, in a message
_GROUPS = 8  # directories with skills one level too deep


class _Copy(Value):
    """A provider's copy of a skill, as it was read; `path` is relative to the package's root."""

    path: str
    snapshot: Snapshot
    text: str


def run(project: Project, name: str) -> Report:
    """Show a skill of every provider that ships it, or a provider. Raises SkillsyncError for a name of neither."""
    manifest, lock = load_manifest(project), load_lock(project) or Lockfile()
    seen = overview(project, manifest, lock, is_wanted=lambda choice, skill: name in _names(choice, skill))
    # Who asks for what the manifest leaves out is told what is wrong with it, too.
    shelves, problems = seen.shelves, (*seen.problems, *left_out(seen.found.candidates))
    rows = [(shelf, row) for shelf in shelves for row in shelf.rows if row.name == name]
    named = [] if rows else [shelf for shelf in shelves if name in {shelf.key, shelf.name}]
    if not rows and not named:
        raise SkillsyncError(_unknown(name, seen), *(one for one in problems if one.is_error))
    shown = [(shelf, row, _copy(row)) for shelf, row in rows or ((shelf, row) for shelf in named for row in shelf.rows)]
    skills = {row.name for _, row, _ in shown}
    places = list(_in_targets(seen.here, lock, skills))
    lines = (
        [line for shelf in named for line in _provider_lines(shelf, seen)]
        if named
        else [line for shelf, row, copy in shown for line in _lines(shelf, row, copy, places, seen.here)]
    )
    providers = {shelf.key for shelf, _, _ in shown}
    return Report(
        lines=lines,
        is_long=True,
        data={
            "environments": report.environments_json(seen.found.environments),
            "skills": [_json(shelf, row, copy, places) for shelf, row, copy in shown],
        },
        problems=tuple(
            one for one in problems if one.skill in skills or (one.skill is None and one.provider in {None, *providers})
        ),
    )


class _Place(Value):
    """What `sync` would do with a locked skill in one target directory, or why it would not."""

    target: str
    skill: str
    change: Change | None
    refusal: Problem | None
    link: str | None  # the text of the link that has to be there, None where a copy has to

    @property
    def words(self) -> str:
        """It, for people."""
        if self.refusal:
            return f"refused as {self.refusal.code.value}: {self.refusal.message}"
        words = f"`skillsync sync` would {self.change.action.value} it" if self.change else "as it is locked"
        return words if self.link is None else f"{words}, a link to {self.link}"


def _names(choice: Choice, skill: str) -> tuple[str, ...]:
    """Return the names by which a person asks for a skill, its own first, or for its provider."""
    return skill, choice.package.key, choice.package.name


def _in_targets(here: Iterable[Here], lock: Lockfile, skills: AbstractSet[str]) -> Iterator[_Place]:
    """Yield the state of the locked ones of some skills in each target directory."""
    for one in here:
        made = plan.make(one.target.name, lock, one.state, force=False)
        changes = {change.skill: change for change in made.changes}
        refusals = {problem.skill: problem for problem in made.problems}
        for name in sorted(skills & lock.skills.keys()):
            yield _Place(
                target=one.target.name,
                skill=name,
                change=changes.get(name),
                refusal=refusals.get(name),
                link=one.state.links(name).wanted,
            )


def _unknown(name: str, seen: Overview) -> Problem:
    for provider in seen.found.own:
        if name in {provider.package.key, provider.package.name, *(skill.name for skill in provider.skills)}:
            return no_provider(provider.package)
    for candidate in seen.found.candidates:
        if name in {candidate.key, candidate.choice.package.name}:
            return _without_skills(candidate)
    for candidate in seen.found.candidates:
        for path, skills in groups(candidate.provider):
            if name in skills:
                return _too_deep(name, candidate, path)
    names = {row.name for shelf in seen.shelves for row in shelf.rows}
    meant = suggestion(name, sorted({*names, *(shelf.key for shelf in seen.shelves)}))
    hint = did_you_mean(("show", meant)) if meant else LOOK
    if ":" in name:
        message = f"no provider `{name}` is installed that ships skills, or locked"
        return Problem(code=Code.MISSING_PROVIDER, message=message, hint=hint, provider=name)
    return Problem(code=Code.SKILL_NOT_FOUND, message=f"no provider ships a skill `{name}`", hint=hint, skill=name)


def _too_deep(name: str, candidate: Candidate, path: str) -> Problem:
    """Say that a package has a skill one level below where skills are looked for."""
    return Problem(
        code=Code.SKILL_NOT_FOUND,
        message=f"no provider ships a skill `{name}` where skills are looked for; "
        f"{candidate.key} {candidate.choice.package.version} has it in {path}",
        hint=_naming(candidate, "that directory", path),
        skill=name,
        provider=candidate.key,
    )


def _naming(candidate: Candidate, which: str, path: str) -> str:
    """Say how the manifest names a directory of skills."""
    package = candidate.choice.package
    entry = f"{quoted(package.name)} = {{ path = {quoted(path)} }}"
    return (
        f"in {FILE_NAME}, under [providers.{package.ecosystem}], name {which}, `{entry}`: `path` takes one directory, "
        "in place of the usual ones"
    )


def _listed(found: Sequence[tuple[str, tuple[str, ...]]]) -> str:
    """Return the directories with skills one level too deep."""
    named = [f"{path} ({report.counted(len(skills), 'skill')})" for path, skills in found[:_GROUPS]]
    more = f" and {len(found) - _GROUPS} more" if len(found) > _GROUPS else ""
    return f"{', '.join(named)}{more}"


def _without_skills(candidate: Candidate) -> Problem:
    """Say where skills were looked for in a package that has none, and what was passed over there."""
    if found := tuple(groups(candidate.provider)):
        return Problem(
            code=Code.SKILL_NOT_FOUND,
            message=without_skills(candidate, f"; one level below it has {_listed(found)}"),
            hint=_naming(candidate, "one of these", found[0][0]),
            provider=candidate.key,
        )
    ignored = candidate.provider.ignored
    passed = "".join(f"; {one.path} {one.reason}" for one in ignored[:_NAMED])
    more = f"; and {len(ignored) - _NAMED} more" if len(ignored) > _NAMED else ""
    return Problem(
        code=Code.SKILL_NOT_FOUND,
        message=without_skills(candidate, f"{passed}{more}"),
        hint=f"if they are in another directory, set its `path` in {FILE_NAME}",
        provider=candidate.key,
    )


def _provider_lines(shelf: Shelf, seen: Overview) -> Iterator[str]:
    yield report.printable(f"{shelf.key} {shelf.version} ({'admitted' if shelf.admitted else 'not admitted'})")
    yield report.printable(
        f"  read from    {shelf.choice.package.source if shelf.choice else 'nowhere: not installed'}"
    )
    for row in shelf.rows:
        yield ""
        yield report.printable(f"  {row.name} ({row.status.value})")
        yield report.printable(f"    {report.one_line(row.description)}".rstrip())
        yield report.printable(f"    {_why(shelf, row)}")
    for candidate in seen.found.candidates:
        if candidate.key == shelf.key and (found := tuple(groups(candidate.provider))):
            yield ""
            yield report.printable(f"  one level below where skills are looked for it has {_listed(found)}")
            yield report.printable(f"    {_naming(candidate, 'one of these', found[0][0])}")


def _source(shelf: Shelf) -> str | None:
    """Return where the provider was found."""
    return shelf.choice.package.source if shelf.choice else None


def _why(shelf: Shelf, row: Row) -> str:
    if shelf.choice is None:
        return "the lock has it, and its package is not installed"
    if row.provider is None:
        return f"the lock has it, and {shelf.version} does not ship it"
    return reason(shelf.choice, row.name)


def _copy(row: Row) -> _Copy | None:
    """Return the provider's copy; None where there is none, or none that is a skill."""
    skill = next((one for one in row.provider.skills if one.name == row.name), None) if row.provider else None
    if row.provider is None or skill is None or not skill.is_valid or skill.snapshot is None:
        return None
    found = skill.snapshot
    return _Copy(path=skill.path, snapshot=found, text=_text(row.provider, skill, found))


def _text(provider: Provider, skill: FoundSkill, found: Snapshot) -> str:
    """Return the text of SKILL.md, as much as a person would read; of a link, only what the tree walker let pass."""
    is_file = isinstance(found.tree.get(SKILL_FILE), File)
    with open_directory(provider.package.root, skill.path) as fd:
        content = (read_start(SKILL_FILE, _TEXT_LIMIT, dir_fd=fd, follow=True) if is_file else None) or b""
    return content.decode("utf-8-sig", "backslashreplace")


def _lines(shelf: Shelf, row: Row, copy: _Copy | None, places: Sequence[_Place], here: Iterable[Here]) -> Iterator[str]:
    yield report.printable(f"{row.name} ({row.status.value})")
    yield report.printable(f"  provider     {shelf.key} {shelf.version}")
    yield report.printable(f"  read from    {_source(shelf) or 'nowhere: not installed'}")
    yield report.printable(f"  path         {copy.path if copy else 'no copy that can be shown is installed'}")
    yield report.printable(f"  description  {report.one_line(row.description)}")
    yield report.printable(f"  why          {_why(shelf, row)}")
    yield report.printable(f"  locked       {f'{row.hash}, version {row.locked_version}' if row.hash else 'no'}")
    for place in places:
        if row.hash and place.skill == row.name:
            yield report.printable(f"  {place.target}  {place.words}")
    for one in here if row.status is Status.CONFLICT and not row.hash else ():
        if one.of_available(shelf.key, row.name) is Status.CONFLICT:
            words = "something else bears the name: once it is locked, `skillsync sync` refuses it"
            yield report.printable(f"  {one.target.name}  {words}")
    if copy is not None:
        yield from _content(shelf, row, copy)


def _content(shelf: Shelf, row: Row, copy: _Copy) -> Iterator[str]:
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


def _json(shelf: Shelf, row: Row, copy: _Copy | None, places: Sequence[_Place]) -> Json:
    return {
        "name": row.name,
        "provider": shelf.key,
        "version": shelf.version,
        "locked_version": row.locked_version,
        "state": row.status.value,
        "description": row.description,
        "source": _source(shelf),
        "why": _why(shelf, row),
        "targets": [
            {
                "target": place.target,
                "action": place.change.action.value if place.change else None,
                "refused": place.refusal.code.value if place.refusal else None,
                **({} if place.link is None else {"link": place.link}),
            }
            for place in places
            if row.hash and place.skill == row.name
        ],
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
