"""Carries out plans, one transaction per target directory: stage, verify, swap by renames, record last.

Invariants: decides nothing; nothing is changed before everything is staged and has the lock's hash; what is replaced is
still what the plan was made from; a failure undoes what was done, until the registry has been replaced: then it is
done; only a direct child of the target directory is ever moved or removed.
"""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack, suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING

from skillsync import filesystem
from skillsync.errors import Code, Problem, SkillsyncError, UnreadableError
from skillsync.filesystem import below, open_directory
from skillsync.locking.changes import Action, Change, compare
from skillsync.schema import InvalidError, MalformedError
from skillsync.snapshot import Snapshot, shipped_faults, snapshot
from skillsync.syncing import gitignore, journal, registry
from skillsync.syncing.journal import NEW, OLD, STAGING, Step
from skillsync.syncing.plan import Absent
from skillsync.syncing.recovery import (
    clear,
    in_lower_layer,
    is_written_into,
    make_parents,
    not_cleared,
    written_into,
)
from skillsync.syncing.state import gitignore_text, read_entry, registry_of
from skillsync.track import untracked
from skillsync.values import Value, field, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from skillsync.locking.lockfile import LockedProvider, LockedSkill, Lockfile
    from skillsync.syncing.plan import Plan
    from skillsync.track import Track

# What a rename says of a place in which something is.
_TAKEN = frozenset({errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR})
_WRITES = frozenset({Action.ADD, Action.UPDATE})
_MOVES = _WRITES | {Action.REMOVE}  # of one skill there is one of these at most


class Source(Value):
    """Where a locked skill's content comes from: a directory below the root of a package, which is at a version.

    `recorded` are the hashes of its files that the package's installer wrote down, by path relative to the skill.
    """

    root: str
    path: str
    version: str
    recorded: Mapping[str, str] = field(default_factory=dict)


class Work(Value):
    """A plan and what it is carried out with: the open target directory, None where there is none and nothing to do.

    `gitignore` is the file's text to come, None to leave it as it is.
    """

    fd: int | None
    plan: Plan
    gitignore: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.plan.changes and self.gitignore is None

    @property
    def written(self) -> list[Change]:
        """The changes that bring content."""
        return [change for change in self.plan.changes if change.action in _WRITES]


def needed(plans: Iterable[Plan]) -> list[str]:
    """Return the skills whose content has to come from their providers."""
    changes = (change for plan in plans for change in plan.changes)
    return sorted({change.skill for change in changes if change.action in _WRITES and change.link is None})


def check_source(provider: LockedProvider, skill: LockedSkill, source: Source) -> Problem | None:
    """Read a provider's copy, and return a problem if it isn't what was locked."""
    with open_directory(source.root, source.path) as fd:
        found = snapshot(fd, f"{source.root}/{source.path}", recorded=source.recorded)
        return _content_changed(provider, skill, source, found)


def _content_changed(provider: LockedProvider, skill: LockedSkill, source: Source, found: Snapshot) -> Problem | None:
    if found.hash == skill.hash and not shipped_faults(found):
        return None
    details = compare(skill.tree, found.tree).text
    install = "reinstall" if source.version == provider.version else "install"
    return Problem(
        code=Code.CONTENT_CHANGED,
        message=f"{provider.key} {source.version}: {source.path} is not what was locked"
        + (f": {details}" if details else f": {', '.join(fault.path for fault in shipped_faults(found))} is unsafe"),
        hint=f"`skillsync diff` shows it: run `skillsync lock` if it is right, or {install} {provider.version}",
        skill=skill.name,
        provider=provider.key,
        path=source.path,
        root=source.root,
    )


def apply(works: list[Work], lock: Lockfile, sources: Mapping[str, Source], track: Track = untracked) -> None:
    """Carry out the plans, in their order: what others link to comes first; `track` is told how much was copied.

    Raises SkillsyncError, with nothing changed, if content isn't what was locked, or the system has no links. Any other
    failure leaves each target directory as it was, or done: never in between. An OSError says that nothing was changed.
    """
    transactions = [_Transaction(work, work.fd) for work in works if work.fd is not None and not work.is_empty]
    with ExitStack() as stack:
        for transaction in transactions:
            stack.push(transaction.end)
            transaction.begin()
        problems = [problem for one in transactions for problem in one.stage(lock, sources, track)]
        if problems:
            raise SkillsyncError(*problems)
        for transaction in transactions:
            transaction.stage_records()
        # Whatever the journal speaks of is on the disk before the journal is.
        filesystem.flush_all()
        for transaction in transactions:
            transaction.write_journal()
        done: list[str] = []
        for transaction in transactions:
            try:
                transaction.commit()
            except (OSError, SkillsyncError) as error:
                if not done:
                    raise
                raise _half_done(error, done) from error
            done.append(transaction.place)


def _half_done(error: OSError | SkillsyncError, done: list[str]) -> SkillsyncError:
    """Say of a failure that some target directories are done."""
    if isinstance(error, OSError):
        error = _failure(str(error.filename), error, "mend that, then run `skillsync sync` again")
    note = f"{', '.join(done)} is done"
    return SkillsyncError(*(replace(one, hint=f"{one.hint}; {note}") for one in error.problems))


def _failure(path: str, error: OSError | UnreadableError, hint: str) -> SkillsyncError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return SkillsyncError(Problem(code=Code.IO, message=f"{path}: {reason}", hint=hint, path=path))


class _Transaction:
    """One target directory on its way from one state to the next."""

    def __init__(self, work: Work, fd: int) -> None:
        self.place = work.plan.target
        self._work = work
        self._fd = fd
        self._undo: list[Callable[[], None]] = []
        self._inodes: dict[str, int] = {}
        self._staging = -1
        self._inside = f"{self.place}/{STAGING}"

    def begin(self) -> None:
        """Make the staging directory; `recover` has cleared what a crash may have left."""
        with below(self.place):
            # What is staged isn't verified yet: until then it may hold what is nobody else's to read.
            filesystem.make_directory(STAGING, self._fd, 0o700)
            self._staging = os.open(STAGING, filesystem.DIRECTORY, dir_fd=self._fd)

    def stage(self, lock: Lockfile, sources: Mapping[str, Source], track: Track) -> Iterator[Problem]:
        """Copy what is to be written, and yield what isn't the lock's content."""
        for change in track(self._work.written, f"writing {self.place}"):
            if change.link is not None:
                self._link(change.skill, change.link)
                continue
            provider, skill = lock.skills[change.skill]
            source = sources[change.skill]
            if problem := _content_changed(provider, skill, source, self._copy(change.skill, source)):
                yield problem

    def _copy(self, skill: str, source: Source) -> Snapshot:
        name = NEW + skill
        with below(self._inside):
            filesystem.make_directory(name, self._staging)
            with (
                open_directory(name, dir_fd=self._staging) as into,
                open_directory(source.root, source.path) as fd,
                below(name),
            ):
                self._inodes[skill] = filesystem.inode(into)
                return snapshot(fd, f"{source.root}/{source.path}", copy_to=into, recorded=source.recorded)

    def _link(self, skill: str, text: str) -> None:
        name = NEW + skill
        try:
            with below(self._inside):
                filesystem.make_link(text, name, self._staging)
        except OSError as error:
            if error.errno not in filesystem.WITHOUT_LINKS:
                raise
            # A copy in its place would be silent, and the next run would take it for somebody's edit.
            path = f"{self.place}/{skill}"
            message = f"{path} can't be a link, as `link = true` asks for: {error.strerror}"
            hint = "nothing was changed; take `link` out of agent-skills.toml, and the skills are copied"
            raise SkillsyncError(Problem(code=Code.IO, message=message, hint=hint, skill=skill, path=path)) from error
        self._inodes[skill] = filesystem.inode_of(name, self._staging)

    def stage_records(self) -> None:
        """Write what goes in after the skills: `.gitignore` and the registry."""
        with below(self._inside):
            if self._work.gitignore:
                content = self._work.gitignore.encode("utf-8", "surrogateescape")
                filesystem.write_file(NEW + gitignore.FILE_NAME, content, self._staging)
            if self._records:
                content = self._registry
                _check_readable(f"{self.place}/{registry.FILE_NAME}", registry.fault(content))
                filesystem.write_file(NEW + registry.FILE_NAME, content, self._staging)

    def write_journal(self) -> None:
        """Say what is about to change: from here on the next run can tell what was done."""
        steps = [
            Step(
                skill=change.skill,
                old=change.before,
                new=self._hash(change),
                inode=self._inodes.get(change.skill, 0),
                old_inode=filesystem.inode_of(change.skill, self._fd),
                link=change.link,
            )
            for change in self._work.plan.changes
            if change.action in _MOVES
        ]
        content = journal.dump(steps, self._registry)
        _check_readable(f"{self._inside}/{journal.FILE_NAME}", journal.fault(content))
        with below(self._inside):
            filesystem.write_file(NEW + journal.FILE_NAME, content, self._staging)
            filesystem.rename(NEW + journal.FILE_NAME, journal.FILE_NAME, from_fd=self._staging, to_fd=self._staging)
            filesystem.flush(self._staging)
            filesystem.flush(self._fd)

    @cached_property
    def _registry(self) -> bytes:
        return registry.dump(self._work.plan.registry)

    @property
    def _records(self) -> bool:
        """Whether the registry changes."""
        return any(change.action is not Action.REPAIR for change in self._work.plan.changes)

    def commit(self) -> None:
        """Swap everything in; the registry last, since it says what is ours."""
        self._undo.append(self._check_unwritten)
        try:
            for change in self._work.plan.changes:
                self._swap(change)
            self._swap_gitignore()
            if self._records:
                name = registry.FILE_NAME
                self._check_registry_unedited()
                with below(self._inside):
                    filesystem.rename(NEW + name, name, from_fd=self._staging, to_fd=self._fd)
        except BaseException:
            if not self._is_recorded():
                self._roll_back()
            self._undo.clear()
            raise
        self._undo.clear()
        try:
            filesystem.flush(self._fd)
        except OSError as error:
            hint = "its skills are in their places; whether the disk has it nobody knows: run `skillsync verify`"
            raise _failure(self.place, error, hint) from error

    def _check_registry_unedited(self) -> None:
        """Refuse to replace rows that somebody has written since the plan was made: other tools keep theirs there."""
        try:
            now = registry_of(self._fd)
        except (InvalidError, MalformedError, UnreadableError):
            now = None
        if now != self._work.plan.recorded:
            raise _edited(f"{self.place}/{registry.FILE_NAME}")

    def _is_recorded(self) -> bool:
        """Whether the registry has been replaced: undone after that, skills would no longer be what it says."""
        return self._records and filesystem.kind(NEW + registry.FILE_NAME, self._staging) is None

    def _swap(self, change: Change) -> None:
        name = change.skill
        if change.action is Action.REPAIR:
            self._repair(name, change.files.changed)
        if change.action in {Action.UPDATE, Action.REMOVE}:
            self._move(name, OLD + name, self._fd, self._staging)
            self._check_unedited(name)
        if change.action in _WRITES:
            self._move(NEW + name, name, self._staging, self._fd, partial(self._swap_back, name))
        for path in change.carried:
            self._carry(name, path)

    def _check_unedited(self, name: str) -> None:
        """Refuse to replace what somebody has changed since the plan was made.

        Asked of what has been moved aside, where nobody finds it any more: before that, the answer could be too old.
        """
        found = filesystem.kind(OLD + name, self._staging)
        now = read_entry(self._staging, OLD + name, found, self._inside) if found else Absent()
        if now != self._work.plan.replaced[name]:
            raise _edited(f"{self.place}/{name}", name)

    def _check_unwritten(self) -> None:
        """Refuse to remove what was swapped in and back, if somebody has written into it: the last that is undone.

        It stays in the staging directory, where the next run finds it.
        """
        with below(self._inside):
            problems = [
                written_into(self.place, change.skill)
                for change in self._work.written
                if is_written_into(change.skill, self._inodes[change.skill], self._hash(change), self._staging)
            ]
        if problems:
            raise SkillsyncError(*problems)

    def _hash(self, change: Change) -> str | None:
        """Return the hash of what a change brings, None if it brings nothing."""
        row = self._work.plan.registry.rows.get(change.skill)
        return row.hash if isinstance(row, registry.Row) and change.action in _WRITES else None

    def _carry(self, name: str, path: str) -> None:
        """Move what people and agents made inside a skill from its old directory into the new one."""
        with below(self.place):
            make_parents(name, path, self._fd)
        self._move(f"{OLD}{name}/{path}", f"{name}/{path}", self._staging, self._fd)

    def _repair(self, name: str, paths: tuple[str, ...]) -> None:
        for path in paths:
            directory, _, file = path.rpartition("/")
            with below(f"{self.place}/{name}"), open_directory(name, directory, dir_fd=self._fd) as fd:
                self._undo.append(partial(self._set_permissions, name, path, filesystem.permissions(file, fd)))
                filesystem.make_executable(file, fd, NEW + name, self._staging)

    def _set_permissions(self, name: str, path: str, mode: int) -> None:
        directory, _, file = path.rpartition("/")
        with open_directory(name, directory, dir_fd=self._fd) as fd:
            filesystem.set_permissions(file, mode, fd)

    def _move(self, name: str, new: str, from_fd: int, to_fd: int, undo: Callable[[], None] | None = None) -> None:
        # Noted before it is done: an interruption can come right after it.
        self._undo.append(undo or partial(self._move_back, name, new, from_fd, to_fd))
        try:
            self._bring(name, new, from_fd, to_fd)
        except OSError as error:
            path = f"{self.place}/{name if from_fd == self._fd else new}"
            if error.errno in _TAKEN and to_fd == self._fd:
                raise _edited(path) from error
            if error.errno == errno.EXDEV:
                raise _failure(path, error, in_lower_layer(self.place)) from error
            raise OSError(error.errno, error.strerror, path) from error

    def _bring(self, name: str, new: str, from_fd: int, to_fd: int) -> None:
        """Move an entry; in the target directory, unlike in the staging directory, somebody may have put another."""
        bring = filesystem.place if to_fd == self._fd else filesystem.rename
        bring(name, new, from_fd=from_fd, to_fd=to_fd)

    def _move_back(self, name: str, new: str, from_fd: int, to_fd: int) -> None:
        """Undo a move, if it was done: that shows at its end in the staging directory, where nobody else writes."""
        aside = to_fd == self._staging
        if bool(filesystem.kind(new if aside else name, self._staging)) is aside:
            self._bring(new, name, to_fd, from_fd)

    def _swap_back(self, skill: str) -> None:
        """Undo a swap; what somebody has put in the place of what was swapped in stays there."""
        if filesystem.inode_of(skill, self._fd) != self._inodes[skill]:
            return
        if filesystem.kind(NEW + skill, self._staging) is None:
            filesystem.rename(skill, NEW + skill, from_fd=self._fd, to_fd=self._staging)
        else:
            # A link that has both names: a rename would leave it so.
            filesystem.remove_file(skill, self._fd)

    def _swap_gitignore(self) -> None:
        name = gitignore.FILE_NAME
        if self._work.gitignore is None:
            return
        if filesystem.kind(name, self._fd):
            self._move(name, OLD + name, self._fd, self._staging)
            self._check_gitignore_unedited()
        if self._work.gitignore:
            self._move(NEW + name, name, self._staging, self._fd)

    def _check_gitignore_unedited(self) -> None:
        """Refuse to replace lines that somebody has written since the plan was made: as `_check_unedited`."""
        path = f"{self.place}/{gitignore.FILE_NAME}"
        plan = self._work.plan
        try:
            text = gitignore_text(self._staging, OLD + gitignore.FILE_NAME) or ""
        except UnreadableError:
            raise _edited(path) from None
        might_be = {gitignore.updated(text, plan.owned, enabled=enabled, links=plan.links) for enabled in (True, False)}
        if self._work.gitignore not in might_be:
            raise _edited(path)

    def _roll_back(self) -> None:
        try:
            while self._undo:
                self._undo[-1]()
                self._undo.pop()
        except (OSError, UnreadableError) as error:
            hint = "what was begun could not be undone: mend that, and the next `skillsync sync` completes or undoes it"
            raise _failure(self.place, error, hint) from error

    def end(self, kind: type[BaseException] | None, *_: object) -> None:
        """Remove the staging directory; what could not be undone stays in it for the next run."""
        if self._staging < 0:
            # Made perhaps, and never opened.
            with suppress(OSError):
                filesystem.remove_directory(STAGING, self._fd)
            return
        try:
            if not self._undo:
                clear(self._fd, self._staging)
        except OSError as error:
            # What failed before says more; the next run clears up.
            if kind is None:
                raise not_cleared(self.place, error) from error
        finally:
            os.close(self._staging)
            self._staging = -1


def _check_readable(path: str, fault: str | None) -> None:
    """Refuse to write what no later run could read."""
    if fault:
        message = f"{path} would be {fault}, which is not read"
        raise SkillsyncError(Problem(code=Code.USAGE, message=message, hint="lock fewer skills", path=path))


def _edited(path: str, skill: str | None = None) -> SkillsyncError:
    message = f"{path} was changed while it was to be replaced"
    return SkillsyncError(
        Problem(code=Code.MODIFIED, message=message, hint="run `skillsync sync` again", skill=skill, path=path)
    )
