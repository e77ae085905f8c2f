"""Puts right what an interrupted run left in a target directory, as the journal and the disk tell.

Invariants: runs under the lock, before anything else is read; what a person made is never taken for that run's work;
a staging directory that holds anything but skillsync's own names is not touched.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from skillsync import filesystem
from skillsync.errors import Code, Problem, SkillsyncError, UnreadableError
from skillsync.filesystem import Kind, listing, open_directory, read_file
from skillsync.hashing import parents
from skillsync.schema import InvalidError, MalformedError, name_fault
from skillsync.snapshot import snapshot
from skillsync.syncing import gitignore, journal, registry
from skillsync.syncing.journal import NEW, OLD, STAGING, Found, Journal, Settlement, Step, settle
from skillsync.syncing.registry import Registry, Row
from skillsync.syncing.state import read_registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillsync.syncing.registry import ForeignRow
    from skillsync.syncing.target import Target

_LIMIT = 16 * 1024 * 1024
_FILES = frozenset({gitignore.FILE_NAME, registry.FILE_NAME, journal.FILE_NAME})


def recover(fd: int, target: Target) -> None:
    """Settle an interrupted run in an open target directory.

    Raises SkillsyncError if the staging directory isn't ours, or the registry can't be read.
    """
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
        if (interrupted := _read(staging)) is not None:
            _settle_all(interrupted, read_registry(fd, target), entries, fd, staging)
        clear(staging)
    filesystem.remove_directory(STAGING, fd)


def _is_staged(name: str) -> bool:
    """Whether a name in the staging directory is one that skillsync gives."""
    rest = name.removeprefix(NEW if name.startswith(NEW) else OLD)
    return name == journal.FILE_NAME or (rest != name and (name_fault(rest) is None or rest in _FILES))


def _read(staging: int) -> Journal | None:
    """Read the journal; without a valid one nothing had been changed yet."""
    try:
        content = read_file(journal.FILE_NAME, _LIMIT, dir_fd=staging)
        return None if content is None else journal.parse(content)
    except (UnreadableError, InvalidError, MalformedError):
        return None


def _settle_all(interrupted: Journal, current: Registry, entries: Mapping[str, Kind], fd: int, staging: int) -> None:
    """Settle every step, then record what was done."""
    rows: dict[str, Row | ForeignRow] = dict(current.rows)
    for step in interrupted.steps:
        settlement = settle(step, _look(step, rows, entries, fd))
        if settlement is Settlement.RESTORE:
            filesystem.rename(OLD + step.skill, step.skill, from_fd=staging, to_fd=fd)
        elif settlement is Settlement.ADOPT:
            row = interrupted.registry.rows.get(step.skill)
            if isinstance(row, Row) and row.hash == step.new:
                rows[step.skill] = row
        if settlement is not Settlement.RESTORE and entries.get(OLD + step.skill) is Kind.DIRECTORY:
            _carry(step.skill, fd, staging, ours=settlement is Settlement.ADOPT)
    if OLD + gitignore.FILE_NAME in entries and filesystem.kind(gitignore.FILE_NAME, fd) is None:
        filesystem.rename(OLD + gitignore.FILE_NAME, gitignore.FILE_NAME, from_fd=staging, to_fd=fd)
    if rows != current.rows:
        _record(replace(current, rows=rows), fd, staging)


def _look(step: Step, rows: Mapping[str, object], entries: Mapping[str, Kind], fd: int) -> Found:
    """Read what there is of one step."""
    found = filesystem.kind(step.skill, fd)
    here, inode = None, 0
    if found is Kind.DIRECTORY:
        with open_directory(step.skill, dir_fd=fd) as inner:
            here, inode = snapshot(inner, step.skill).hash, filesystem.inode(inner)
    return Found(
        here=here,
        is_there=found is not None,
        inode=inode,
        aside=OLD + step.skill in entries,
        # A registry that was lost meanwhile tells nothing, and a skill must not be lost with it.
        owned=isinstance(rows.get(step.skill), Row) or filesystem.kind(registry.FILE_NAME, fd) is None,
    )


def _carry(skill: str, fd: int, staging: int, *, ours: bool) -> None:
    """Move what people and agents made inside the old directory into the one that is in its place.

    Where that one is not `ours`, nothing is made for it, and through a link in it nothing goes: it may have come with
    the repository, as the old one may.
    """
    if filesystem.kind(skill, fd) is not Kind.DIRECTORY:
        return
    with open_directory(OLD + skill, dir_fd=staging) as old:
        runtime = snapshot(old, skill).runtime
    for path in runtime:
        parent, _, name = path.rpartition("/")
        if ours:
            make_parents(skill, path, fd)
        with (
            suppress(FileNotFoundError, NotADirectoryError, UnreadableError),
            open_directory(skill, parent, dir_fd=fd) as into,
        ):
            if filesystem.kind(name, into) is None:
                filesystem.rename(f"{OLD}{skill}/{path}", name, from_fd=staging, to_fd=into)


def make_parents(name: str, path: str, fd: int) -> None:
    """Make the directories above a path inside a skill, as far as they are missing."""
    for parent in parents(path):
        if filesystem.kind(f"{name}/{parent}", fd) is None:
            filesystem.make_directory(f"{name}/{parent}", fd)


def _record(to_come: Registry, fd: int, staging: int) -> None:
    name = NEW + registry.FILE_NAME
    with suppress(FileNotFoundError):
        filesystem.remove_file(name, staging)
    filesystem.write_file(name, registry.dump(to_come), staging)
    filesystem.rename(name, registry.FILE_NAME, from_fd=staging, to_fd=fd)
    filesystem.flush(fd)


def clear(staging: int) -> None:
    """Empty the staging directory, the journal last: until then the next run could still tell what was done."""
    entries = listing(staging)
    for name, kind in sorted(entries.items(), key=lambda item: item[0] == journal.FILE_NAME):
        if kind is Kind.DIRECTORY:
            filesystem.remove_tree(name, staging)
        else:
            filesystem.remove_file(name, staging)


def _not_ours(target: Target, what: str) -> SkillsyncError:
    path = f"{target.name}/{STAGING}"
    message = f"{path} {what}, which skillsync did not put there"
    return SkillsyncError(
        Problem(code=Code.UNMANAGED, message=message, hint=f"look at it, then move {path} away", path=path)
    )
