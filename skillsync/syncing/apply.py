"""Carries out plans, one transaction per target directory: stage, verify, swap by renames, record last.

Invariants: decides nothing; nothing is changed before everything is staged and has the lock's hash; a failure renames
back what was swapped; only a direct child of the target directory is ever moved or removed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillsync import filesystem
from skillsync.errors import Code, Problem, SkillsyncError
from skillsync.filesystem import Kind, listing, open_directory
from skillsync.hashing import parents
from skillsync.locking.changes import Action, Change, FileChanges, compare
from skillsync.schema import name_fault
from skillsync.snapshot import Snapshot, shipped_faults, snapshot
from skillsync.syncing import gitignore, registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillsync.locking.lockfile import LockedProvider, LockedSkill, Lockfile
    from skillsync.syncing.plan import Plan

STAGING = ".skillsync"
_NEW = "new-"
_OLD = "old-"
_WRITES = frozenset({Action.ADD, Action.UPDATE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a locked skill's content comes from: a directory below a package's root."""

    root: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
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
    def written(self) -> Iterator[Change]:
        """The changes that bring content."""
        return (change for change in self.plan.changes if change.action in _WRITES)


def needed(plans: Iterable[Plan]) -> list[str]:
    """Return the skills whose content has to come from their providers."""
    return sorted({change.skill for plan in plans for change in plan.changes if change.action in _WRITES})


def check_source(provider: LockedProvider, skill: LockedSkill, source: Source) -> Problem | None:
    """Read a provider's copy, and return a problem if it isn't what was locked."""
    with open_directory(source.root, source.path) as fd:
        return _content_changed(provider, skill, source, snapshot(fd, f"{source.root}/{source.path}"))


def _content_changed(provider: LockedProvider, skill: LockedSkill, source: Source, found: Snapshot) -> Problem | None:
    if found.hash == skill.hash and not shipped_faults(found):
        return None
    files = compare(skill.tree, found.tree)
    details = "; ".join(f"{word} {', '.join(paths)}" for word, paths in _words(files) if paths)
    return Problem(
        code=Code.CONTENT_CHANGED,
        message=f"{provider.key}: {source.path} is not what was locked"
        + (f": {details}" if details else f": {', '.join(fault.path for fault in shipped_faults(found))} is unsafe"),
        hint="review it, then run `skillsync lock`",
        skill=skill.name,
        provider=provider.key,
        path=source.path,
    )


def _words(files: FileChanges) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ("added", files.added), ("changed", files.changed), ("removed", files.removed)


def apply(works: list[Work], lock: Lockfile, sources: Mapping[str, Source]) -> None:
    """Carry out the plans. Raises SkillsyncError, with nothing changed, if content isn't what was locked.

    Any other failure leaves each target directory as it was, or done: never in between.
    """
    transactions = [_Transaction(work, work.fd) for work in works if work.fd is not None and not work.is_empty]
    try:
        for transaction in transactions:
            transaction.begin()
        problems = [problem for one in transactions for problem in one.stage(lock, sources)]
        if problems:
            raise SkillsyncError(*problems)
        filesystem.flush_all()
        for transaction in transactions:
            transaction.commit()
    finally:
        for transaction in transactions:
            transaction.end()


class _Transaction:
    """One target directory on its way from one state to the next."""

    def __init__(self, work: Work, fd: int) -> None:
        self._work = work
        self._fd = fd
        self._undo: list[tuple[str, str, int, int]] = []
        self._staging = -1

    def begin(self) -> None:
        """Make the staging directory; `recover` has cleared what a crash may have left."""
        filesystem.make_directory(STAGING, self._fd)
        self._staging = os.open(STAGING, filesystem.DIRECTORY, dir_fd=self._fd)

    def stage(self, lock: Lockfile, sources: Mapping[str, Source]) -> Iterator[Problem]:
        """Copy what is to be written, and yield what isn't the lock's content."""
        for change in self._work.written:
            provider, skill = lock.skills[change.skill]
            source = sources[change.skill]
            name = _NEW + change.skill
            filesystem.make_directory(name, self._staging)
            with (
                open_directory(name, dir_fd=self._staging) as into,
                open_directory(source.root, source.path) as fd,
            ):
                found = snapshot(fd, f"{source.root}/{source.path}", copy_to=into)
            if problem := _content_changed(provider, skill, source, found):
                yield problem

    def commit(self) -> None:
        """Swap everything in; the registry last, since it says what is ours."""
        try:
            for change in self._work.plan.changes:
                self._swap(change)
            self._write_gitignore()
            self._write_registry()
        except BaseException:
            self._roll_back()
            raise
        self._undo.clear()

    def _swap(self, change: Change) -> None:
        name = change.skill
        if change.action is Action.REPAIR:
            self._repair(name, change.files.changed)
        if change.action in {Action.UPDATE, Action.REMOVE}:
            self._move(name, _OLD + name, self._fd, self._staging)
        if change.action in _WRITES:
            self._move(_NEW + name, name, self._staging, self._fd)
        for path in change.carried:
            self._carry(name, path)

    def _carry(self, name: str, path: str) -> None:
        """Move what people and agents made inside a skill from its old directory into the new one."""
        _make_parents(name, path, self._fd)
        self._move(f"{_OLD}{name}/{path}", f"{name}/{path}", self._staging, self._fd)

    def _repair(self, name: str, paths: tuple[str, ...]) -> None:
        for path in paths:
            directory, _, file = path.rpartition("/")
            with open_directory(name, directory, dir_fd=self._fd) as fd:
                filesystem.make_executable(file, fd)

    def _move(self, name: str, new: str, from_fd: int, to_fd: int) -> None:
        filesystem.rename(name, new, from_fd=from_fd, to_fd=to_fd)
        self._undo.append((new, name, to_fd, from_fd))

    def _write_gitignore(self) -> None:
        text = self._work.gitignore
        if text is None:
            return
        if filesystem.kind(gitignore.FILE_NAME, self._fd):
            self._move(gitignore.FILE_NAME, _OLD + gitignore.FILE_NAME, self._fd, self._staging)
        if text:
            name = _NEW + gitignore.FILE_NAME
            filesystem.write_file(name, text.encode("utf-8", "surrogateescape"), self._staging)
            self._move(name, gitignore.FILE_NAME, self._staging, self._fd)

    def _write_registry(self) -> None:
        if all(change.action is Action.REPAIR for change in self._work.plan.changes):
            return
        name = _NEW + registry.FILE_NAME
        filesystem.write_file(name, registry.dump(self._work.plan.registry), self._staging)
        filesystem.rename(name, registry.FILE_NAME, from_fd=self._staging, to_fd=self._fd)
        filesystem.flush(self._fd)

    def _roll_back(self) -> None:
        while self._undo:
            name, new, from_fd, to_fd = self._undo[-1]
            filesystem.rename(name, new, from_fd=from_fd, to_fd=to_fd)
            self._undo.pop()

    def end(self) -> None:
        """Remove the staging directory; what could not be renamed back stays in it for the next run."""
        if self._staging < 0:
            return
        try:
            if not self._undo:
                _clear(self._staging)
                filesystem.remove_directory(STAGING, self._fd)
        finally:
            os.close(self._staging)
            self._staging = -1


def recover(fd: int, target: str) -> None:
    """Put right what an interrupted run left in the staging directory. Raises SkillsyncError if it isn't ours."""
    found = filesystem.kind(STAGING, fd)
    if found is None:
        return
    if found is not Kind.DIRECTORY:
        raise _not_ours(target, f"is {found.value}")
    with open_directory(STAGING, dir_fd=fd) as staging:
        entries = listing(staging)
        for name in entries:
            if not _is_staged(name):
                raise _not_ours(target, f"holds `{filesystem.shown(name)}`")
        for name, kind in entries.items():
            if name.startswith(_OLD):
                _restore(name, kind, staging, fd)
        _clear(staging)
    filesystem.remove_directory(STAGING, fd)


def _is_staged(name: str) -> bool:
    """Whether a name in the staging directory is one that skillsync gives."""
    rest = name.removeprefix(_NEW).removeprefix(_OLD)
    return rest != name and (name_fault(rest) is None or rest in {gitignore.FILE_NAME, registry.FILE_NAME})


def _restore(name: str, kind: Kind, staging: int, fd: int) -> None:
    """Bring back what was moved aside; where its place is taken, only what people and agents made inside it."""
    original = name.removeprefix(_OLD)
    if filesystem.kind(original, fd) is None:
        filesystem.rename(name, original, from_fd=staging, to_fd=fd)
    elif kind is Kind.DIRECTORY:
        with open_directory(name, dir_fd=staging) as old:
            runtime = snapshot(old, name).runtime
        for path in runtime:
            if filesystem.kind(f"{original}/{path}", fd) is None:
                _make_parents(original, path, fd)
                filesystem.rename(f"{name}/{path}", f"{original}/{path}", from_fd=staging, to_fd=fd)


def _make_parents(name: str, path: str, fd: int) -> None:
    """Make the directories above a path inside a skill, as far as they are missing."""
    for parent in parents(path):
        if filesystem.kind(f"{name}/{parent}", fd) is None:
            filesystem.make_directory(f"{name}/{parent}", fd)


def _not_ours(target: str, what: str) -> SkillsyncError:
    path = f"{target}/{STAGING}"
    message = f"{path} {what}, which skillsync did not put there"
    return SkillsyncError(
        Problem(code=Code.UNMANAGED, message=message, hint=f"look at it, then move {path} away", path=path)
    )


def _clear(fd: int) -> None:
    for name, kind in listing(fd).items():
        if kind is Kind.DIRECTORY:
            filesystem.remove_tree(name, fd)
        else:
            filesystem.remove_file(name, fd)
