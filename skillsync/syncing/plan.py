"""What has to happen in a target directory, from three facts: the lock (L), the registry (R) and the disk (D).

Invariants: pure and total; `sync` applies a plan, `sync --dry-run` prints it and `verify` reports it, so they can't
disagree; what is in no registry row is never changed; after one apply the next plan is empty.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from skillsync.errors import Code, Problem, typed, word
from skillsync.hashing import parents
from skillsync.locking.changes import Action, Change, FileChanges, compare
from skillsync.syncing.registry import ForeignRow, Registry, Row
from skillsync.values import Value, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillsync.hashing import Tree
    from skillsync.locking.lockfile import LockedProvider, LockedSkill, Lockfile
    from skillsync.snapshot import Snapshot


class Absent(Value, kw_only=False):
    """Nothing is there."""


class Twin(Value, kw_only=False):
    """Something is there whose name is equal but for case."""

    name: str


class Other(Value, kw_only=False):
    """Something is there that is not a directory; it never equals a hash."""

    what: str


class Linked(Value, kw_only=False):
    """A symbolic link, by its text."""

    text: str


class Directory(Value, kw_only=False):
    """A directory, as it was read."""

    snapshot: Snapshot


Disk = Absent | Twin | Other | Linked | Directory


class Links(Value, kw_only=False):
    """The links that may stand for one skill in a target directory, by their texts.

    `wanted` is the one that has to, None where a copy has to. `others` and `to_root` are the state's.
    """

    skill: str = ""
    wanted: str | None = None
    others: tuple[str, ...] = ()
    to_root: str | None = None

    def has(self, text: str) -> bool:
        """Whether skillsync makes such a link, and so may replace it.

        That is so in any order of the target directories, and with or without `link` in the manifest. Nobody notes what
        was a target once: a link to where agents look, `.NAME/skills` at the root of the project, is one of those.
        """
        directory, _, name = text.rpartition("/")
        former = None if self.to_root is None else rf"{re.escape(self.to_root)}/\.[^/.][^/]*/skills"
        return name == self.skill and (directory in self.others or bool(former and re.fullmatch(former, directory)))


NO_LINKS = Links()

_NAMED = 5  # files in a message
_CLAIMED = "a skill of another tool, by that tool's own registry,"


class Drift(Enum):
    """How a target directory differs from the lock."""

    MISSING = "missing"
    MODIFIED = "modified"
    OUTDATED = "outdated"
    NOT_EXECUTABLE = "not-executable"
    ORPHANED = "orphaned"
    UNREGISTERED = "unregistered"
    UNMANAGED = "unmanaged"
    FOREIGN_OWNER = "foreign-owner"
    STALE_ROW = "stale-row"
    INTERRUPTED = "interrupted"
    STALE_LOCK = "stale-lock"


class Verdict(Value):
    """One row of the table: what is done (None: nothing), what refuses it, and the drift that it is until then.

    `forcible` says whether `--force` would overcome the refusal.
    """

    action: Action | None = None
    refusal: Code | None = None
    drift: Drift | None = None
    forcible: bool = False


def decide(  # noqa: PLR0911  # one return for each row of the table
    locked: str | None, owner: str | None, row: Row | ForeignRow | None, disk: Disk, links: Links = NO_LINKS
) -> Verdict:
    """Return the table's verdict for one skill.

    `locked` is the hash in the lock and `owner` its provider, None where the skill isn't locked. Where a link is
    wanted, it and nothing else equals the locked hash. DESIGN: "The plan".
    """
    if locked is None:
        return _unlocked(row, disk, links)
    if isinstance(disk, Twin):
        return Verdict(refusal=Code.UNMANAGED, drift=Drift.UNMANAGED)
    if isinstance(row, ForeignRow):
        return Verdict(refusal=Code.FOREIGN_OWNER, drift=Drift.FOREIGN_OWNER)
    if isinstance(disk, Absent):
        return Verdict(action=Action.ADD, drift=Drift.MISSING)
    is_locked = disk == Linked(links.wanted) if links.wanted else _found(disk) == locked
    if row is None:
        return Verdict(refusal=Code.UNMANAGED, drift=Drift.UNREGISTERED if is_locked else Drift.UNMANAGED)
    if is_locked:
        return Verdict()
    if row.owner != owner:
        return Verdict(action=Action.UPDATE, refusal=Code.FOREIGN_OWNER, drift=Drift.FOREIGN_OWNER, forcible=True)
    if isinstance(disk, Directory) and row.hash is None:
        return Verdict(action=Action.UPDATE, drift=Drift.MODIFIED)
    if _is_written(row, disk, links):
        return Verdict(action=Action.UPDATE, drift=Drift.OUTDATED)
    return Verdict(action=Action.UPDATE, refusal=Code.MODIFIED, drift=Drift.MODIFIED, forcible=True)


def _found(disk: Disk) -> str | None:
    """Return the hash of what is on disk, None for what has none."""
    return disk.snapshot.hash if isinstance(disk, Directory) else None


def _is_written(row: Row, disk: Disk, links: Links) -> bool:
    """Whether what is on disk is what the row says was written: a copy, or a link in its place."""
    if row.hash is None:
        return False
    return links.has(disk.text) if isinstance(disk, Linked) else _found(disk) == row.hash


def _unlocked(row: Row | ForeignRow | None, disk: Disk, links: Links) -> Verdict:
    """Return the verdict for a skill that the lock doesn't have."""
    if not isinstance(row, Row):
        return Verdict()
    if isinstance(disk, Absent | Twin):
        return Verdict(action=Action.FORGET, drift=Drift.STALE_ROW)
    # What people and agents made inside (`.venv`, `node_modules`) would be lost with the skill.
    is_used = isinstance(disk, Directory) and disk.snapshot.runtime
    if _is_written(row, disk, links) and not is_used:
        return Verdict(action=Action.REMOVE, drift=Drift.ORPHANED)
    return Verdict(action=Action.REMOVE, refusal=Code.MODIFIED, drift=Drift.ORPHANED, forcible=True)


class DriftRow(Value):
    """One difference; `path` is relative to the skill's directory, None for the whole skill.

    `skill` is None where the whole target directory is meant. `note` is for people, "" where the kind says all.
    """

    kind: Drift
    skill: str | None = None
    path: str | None = None
    note: str = ""


class State(Value):
    """A target directory as it was read: the registry, and every entry that the lock or the registry speaks of.

    `unowned` are the other entries: project-authored, and never touched. `others` are the other target directories,
    relative to this one; `links_to` is the one of them whose skills it has to link to, None where it has copies.
    `to_root` is the way up to the project's root, None where the directory isn't below it.
    """

    registry: Registry
    disk: Mapping[str, Disk]
    unowned: tuple[str, ...] = ()
    foreign: frozenset[str] = frozenset()  # owned by another tool, as its own file says
    modes: bool = True  # whether the file system keeps executable bits
    interrupted: bool = False  # whether a run has left its journal
    others: tuple[str, ...] = ()
    links_to: str | None = None
    to_root: str | None = None

    def links(self, skill: str) -> Links:
        """Return the links that may stand for a skill."""
        wanted = None if self.links_to is None else f"{self.links_to}/{skill}"
        return Links(skill, wanted, self.others, self.to_root)


class Plan(Value):
    """What takes one target directory to the lock. With a problem in it, nothing of it may be done.

    `replaced` is what goes: each entry that is updated or removed, as it was when the plan was made; `recorded` is the
    registry as it was then. `links` says that the skills are links.
    """

    target: str
    changes: tuple[Change, ...]
    problems: tuple[Problem, ...]
    drift: tuple[DriftRow, ...]
    registry: Registry  # as it is when all is done
    replaced: Mapping[str, Disk] = field(default_factory=dict)
    recorded: Registry = field(default_factory=Registry)
    links: bool = False

    @property
    def owned(self) -> tuple[str, ...]:
        """The skills that are skillsync's when all is done."""
        return tuple(sorted(name for name, row in self.registry.rows.items() if isinstance(row, Row)))


def make(target: str, lock: Lockfile, state: State, *, force: bool) -> Plan:
    """Plan one target directory. `force` discards what was changed in owned skills, and touches nothing else."""
    changes: list[Change] = []
    problems: list[Problem] = []
    drift = [DriftRow(kind=Drift.INTERRUPTED)] if state.interrupted else []
    rows = dict(state.registry.rows)
    replaced: dict[str, Disk] = {}
    locked = lock.skills
    for name in sorted({*locked, *rows}):
        provider, skill = locked.get(name, (None, None))
        owner, digest = (provider.key, skill.hash) if provider and skill else (None, None)
        disk = state.disk.get(name, Absent())
        row = rows.get(name)
        if name in state.foreign:
            # Even where nothing is there: what is written today would be the other tool's in the next plan.
            row, disk = None, Other(_CLAIMED) if isinstance(disk, Absent) else disk
        links = state.links(name)
        verdict = decide(digest, owner, row, disk, links)
        facts = _Facts(
            name=name, provider=provider, skill=skill, row=row, disk=disk, modes=state.modes, link=links.wanted
        )
        if verdict.action is Action.UPDATE and facts.homeless:
            verdict = replace(verdict, refusal=Code.MODIFIED, forcible=False)
        drift += facts.drift(verdict)
        if verdict.refusal and not (force and verdict.forcible):
            problems.append(facts.refusal(verdict.refusal, f"{target}/{name}"))
            continue
        changes += facts.changes(verdict)
        if verdict.action in {Action.UPDATE, Action.REMOVE}:
            replaced[name] = disk
        if verdict.action in {Action.REMOVE, Action.FORGET}:
            del rows[name]
        elif skill:
            rows[name] = facts.wanted_row
    return Plan(
        target=target,
        changes=tuple(changes),
        problems=tuple(problems),
        drift=tuple(drift),
        registry=replace(state.registry, rows=rows),
        replaced=replaced,
        recorded=state.registry,
        links=state.links_to is not None,
    )


class _Facts(Value):
    """One skill's three facts, and what can be said of them."""

    name: str
    provider: LockedProvider | None
    skill: LockedSkill | None
    row: Row | ForeignRow | None
    disk: Disk
    modes: bool
    link: str | None  # the text of the link that has to be there, None where a copy has to

    @property
    def wanted_row(self) -> Row:
        """The row as it should be for the locked skill; keys that aren't ours stay."""
        assert self.provider is not None  # noqa: S101  # asked for locked skills alone
        assert self.skill is not None  # noqa: S101
        return Row(
            ecosystem=self.provider.ecosystem,
            package=self.provider.name,
            version=self.provider.version,
            hash=self.skill.hash,
            extra=self.row.extra if isinstance(self.row, Row) else (),
        )

    @property
    def _on_disk(self) -> Tree:
        return self.disk.snapshot.tree if isinstance(self.disk, Directory) else {}

    @property
    def _runtime(self) -> tuple[str, ...]:
        return self.disk.snapshot.runtime if isinstance(self.disk, Directory) else ()

    @property
    def homeless(self) -> tuple[str, ...]:
        """The directories of people and agents that have no room: a file is where they lie, or all is a link."""
        if self.link:
            return self._runtime
        tree = self.skill.tree if self.skill else {}
        return tuple(path for path in self._runtime if any(parent in tree for parent in parents(path)))

    @property
    def _not_executable(self) -> tuple[str, ...]:
        """The scripts of a kept skill that can't be run."""
        if not self.modes or not isinstance(self.disk, Directory):
            return ()
        facts = self.disk.snapshot.facts
        return tuple(sorted(path for path, file in facts.items() if file.script and not file.executable))

    def changes(self, verdict: Verdict) -> Iterator[Change]:
        """Yield what is done for the skill."""
        if verdict.action:
            yield self._change(verdict.action, self._differences)
        elif self.skill:
            if self.row != self.wanted_row:
                yield self._change(Action.RECORD, FileChanges())
            if self._not_executable:
                yield self._change(Action.REPAIR, FileChanges(changed=self._not_executable))

    @property
    def _differences(self) -> FileChanges:
        """What an agent finds there afterwards that it doesn't find now; a link that is new has no files of its own."""
        if self.link and not isinstance(self.disk, Directory):
            return FileChanges()
        return compare(self._on_disk, self.skill.tree if self.skill else {})

    def _change(self, action: Action, files: FileChanges) -> Change:
        before = self.row.owner if isinstance(self.row, Row) else None
        version = self.row.version if isinstance(self.row, Row) else None
        owner = self.provider.key if self.provider else before or ""
        return Change(
            action=action,
            skill=self.name,
            provider=owner,
            version=self.provider.version if self.provider else version,
            files=files,
            before=_found(self.disk),
            previous=before if before != owner else None,
            carried=self._runtime if action is Action.UPDATE else (),
            lost=self._runtime if action is Action.REMOVE else (),
            link=self.link if action in {Action.ADD, Action.UPDATE} else None,
        )

    def drift(self, verdict: Verdict) -> Iterator[DriftRow]:
        """Yield how the skill differs from the lock: one row per file where files differ."""
        if verdict.drift is Drift.MODIFIED:
            yield from self._modified() or [DriftRow(kind=Drift.MODIFIED, skill=self.name)]
        elif verdict.drift:
            note = self._other_kind if verdict.drift is Drift.OUTDATED else ""
            yield DriftRow(kind=verdict.drift, skill=self.name, note=note)
        elif self.skill:
            if self.row != self.wanted_row:
                yield DriftRow(kind=Drift.STALE_ROW, skill=self.name)
            for path in self._not_executable:
                yield DriftRow(kind=Drift.NOT_EXECUTABLE, skill=self.name, path=path)

    @property
    def _other_kind(self) -> str:
        """Say what is there in a link's place, or what is a link and has to be a copy; "" for what is of its kind."""
        if isinstance(self.disk, Linked):
            return f"a link, where {f'one to {self.link}' if self.link else 'a copy'} has to be"
        return f"a copy, where a link to {self.link} has to be" if self.link else ""

    def _modified(self) -> list[DriftRow]:
        if not isinstance(self.disk, Directory):
            return []
        files = compare(self.skill.tree if self.skill else {}, self._on_disk)
        faults = {fault.path for fault in self.disk.snapshot.faults}
        here = sorted({*files.added, *files.changed, *faults})
        rows = [DriftRow(kind=Drift.MODIFIED, skill=self.name, path=path) for path in here]
        gone = [path for path in files.removed if path not in faults]
        return rows + [DriftRow(kind=Drift.MISSING, skill=self.name, path=path) for path in gone]

    def refusal(self, code: Code, path: str) -> Problem:
        """Say why the skill is left alone, and what a person can do."""
        message, hint = {
            Code.UNMANAGED: self._unmanaged,
            Code.FOREIGN_OWNER: self._foreign_owner,
            Code.MODIFIED: self._changed,
        }[code](path)
        owner = self.provider.key if self.provider else None
        return Problem(code=code, message=message, hint=hint, skill=self.name, provider=owner, path=path)

    def _unmanaged(self, path: str) -> tuple[str, str]:
        if isinstance(self.disk, Twin):
            message = f"{path} can't be written: `{self.disk.name}` is there, a name equal but for case"
            return message, f"rename `{self.disk.name}`, or {self._exclusion}"
        message = f"{path} is {self._what} that skillsync did not write"
        return message, (
            f"move it away, or {self._exclusion}; if skillsync wrote it and its registry was lost, "
            f"run in the project's root: rm -r {word(path)}"
        )

    def _foreign_owner(self, path: str) -> tuple[str, str]:
        if isinstance(self.row, Row):
            message = (
                f"{path} belongs to {self.row.owner}, and is locked for {self.provider.key if self.provider else ''}"
            )
            return (
                message,
                "`skillsync sync --force` replaces it; `skillsync sync --force --dry-run` shows what is lost",
            )
        return f"{path} has a registry row of another program", self._exclusion

    @property
    def _what(self) -> str:
        """Name what is there."""
        if isinstance(self.disk, Other):
            return self.disk.what
        return "a symbolic link" if isinstance(self.disk, Linked) else "a directory"

    @property
    def _exclusion(self) -> str:
        """How a locked skill is left out."""
        key = self.provider.key if self.provider else ""
        return f"run {typed('deny', key, '--skill', self.name)} and `skillsync lock`"

    def _changed(self, path: str) -> tuple[str, str]:
        what = self._what_changed()
        message = f"{path} {what}" if self.skill else f"{path} is no longer locked, and {what}"
        if self.homeless:
            return message, "move it away, or remove it"
        return (
            message,
            "`skillsync diff --installed` shows your changes: move them away; or `skillsync sync --force` discards all",
        )

    def _what_changed(self) -> str:
        if isinstance(self.disk, Linked) and self.link:
            return f"is a symbolic link to {self.disk.text}, where skillsync wrote another"
        if isinstance(self.disk, Other | Linked):
            return f"is {self._what}, where skillsync wrote {'a link' if self.link else 'a directory'}"
        if isinstance(self.disk, Directory) and self.disk.snapshot.runtime and not self.skill:
            return f"holds {', '.join(self.disk.snapshot.runtime)}, which skillsync did not write"
        if self.homeless:
            room = "behind a link" if self.link else "in the locked skill"
            return f"holds {', '.join(self.homeless)}, which has no place {room}"
        if isinstance(self.row, Row) and self.row.hash is None:
            return "its registry row has no hash, so nothing tells whether it was changed"
        return f"was changed since skillsync wrote it{self._where()}"

    def _where(self) -> str:
        """Name the files that differ, where the lock or the walk tells which."""
        rows = self._modified() if self.skill else []
        names = [row.path for row in rows if row.path]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return f": {', '.join(names[:_NAMED])}{more}" if names else ""
