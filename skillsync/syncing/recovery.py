"""Puts right what an interrupted run left in a target directory, as the journal and the disk tell.

Invariants: runs under the lock, before anything else is read; what a person made is never taken for that run's work;
a staging directory that holds anything but skillsync's own names is not touched; what was moved aside is removed only
if it is what that run meant to replace; what is being removed bears a name that is never brought back.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from skillsync import filesystem
from skillsync.errors import Code, Problem, SkillsyncError, UnreadableError
from skillsync.filesystem import Kind, below, listing, open_directory, read_file
from skillsync.hashing import parents
from skillsync.schema import InvalidError, MalformedError, NewerError, name_fault
from skillsync.snapshot import snapshot
from skillsync.syncing import gitignore, journal, registry
from skillsync.syncing.journal import NEW, OLD, STAGING, Found, Journal, Ownership, Settlement, Step, settle
from skillsync.syncing.registry import ForeignRow, Registry, Row
from skillsync.syncing.state import read_registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillsync.syncing.target import Target

_UNKNOWN = ""  # in place of a hash
_LIMIT = 3 * 1024 * 1024  # of 1,000 skills it has 380 KiB: the registry's text is in it, escaped
_FILES = frozenset({gitignore.FILE_NAME, registry.FILE_NAME, journal.FILE_NAME})


def recover(fd: int, target: Target) -> bool:
    """Settle an interrupted run in an open target directory; return whether there was one.

    Raises SkillsyncError if the staging directory isn't ours or holds what a person may miss, or if the registry can't
    be read.
    """
    found = filesystem.kind(STAGING, fd)
    if found is None:
        return False
    if found is not Kind.DIRECTORY:
        raise _not_ours(target, f"is {found.value}")
    with below(target.name), open_directory(STAGING, dir_fd=fd) as staging:
        entries = listing(staging)
        for name in entries:
            if not _is_staged(name):
                raise _not_ours(target, f"holds `{filesystem.shown(name)}`")
        interrupted = _read(staging, target)
        steps = (*interrupted.steps, *_leftovers(interrupted, entries))
        if steps:
            current = read_registry(fd, target)
            seen = {step: _look(step, current.rows, entries, fd) for step in steps}
            settled = {step: settle(step, seen[step]) for step in steps}
            for step, settlement in settled.items():
                if seen[step].aside and _may_be_missed(
                    step, seen[step], settlement, entries[OLD + step.skill], staging
                ):
                    raise _missed(target, step.skill)
            rows = _settle_all(settled, interrupted.registry, current, fd, staging)
            if rows != current.rows:
                _record(replace(current, rows=rows), fd, staging)
        # A run that had nothing else to change has no steps.
        _restore_gitignore(entries, fd, staging)
        try:
            clear(fd, staging)
        except OSError as error:
            raise not_cleared(target.name, error) from error
    return True


def _is_staged(name: str) -> bool:
    """Whether a name in the staging directory is one that skillsync gives."""
    rest = name.removeprefix(NEW if name.startswith(NEW) else OLD)
    return name == journal.FILE_NAME or (rest != name and (name_fault(rest) is None or rest in _FILES))


def _read(staging: int, target: Target) -> Journal:
    """Read the journal; without a valid one there is nothing of that run's to record."""
    try:
        content = read_file(journal.FILE_NAME, _LIMIT, dir_fd=staging)
        if content is not None:
            return journal.parse(content)
    except NewerError as error:
        path = f"{target.name}/{STAGING}/{journal.FILE_NAME}"
        message = f"{path} can't be read: {error.key} {error.reason}"
        raise SkillsyncError(
            Problem(code=Code.REGISTRY_UNREADABLE, message=message, hint="upgrade skillsync", path=path)
        ) from None
    except UnreadableError as error:
        path = f"{target.name}/{STAGING}"
        message = f"{path}/{journal.FILE_NAME} can't be read: {error}"
        hint = f"make it readable, or look at {path} and move it away"
        raise SkillsyncError(Problem(code=Code.UNMANAGED, message=message, hint=hint, path=path)) from None
    except (InvalidError, MalformedError):
        pass
    return Journal(steps=(), registry=Registry())


def _leftovers(interrupted: Journal, entries: Mapping[str, Kind]) -> Iterator[Step]:
    """Yield a step for everything that was moved aside and isn't in the journal, which may be lost or broken."""
    known = {step.skill for step in interrupted.steps}
    aside = (name.removeprefix(OLD) for name in entries if name.startswith(OLD))
    return (Step(skill=name, old=_UNKNOWN, new=None, inode=0) for name in aside if name not in known | _FILES)


def _may_be_missed(step: Step, found: Found, settlement: Settlement, kind: Kind, staging: int) -> bool:
    """Whether what was moved aside would go though it isn't what that run meant to replace.

    It was edited then, before it was moved; or nobody knows what it is.
    """
    if settlement is Settlement.RESTORE:
        return step.old == _UNKNOWN and found.ownership is not Ownership.OWNED
    if kind is not Kind.DIRECTORY:
        return step.old is not None
    name = OLD + step.skill
    with below(STAGING), open_directory(name, dir_fd=staging) as fd:
        aside = snapshot(fd, name)
    if aside.hash == step.old:
        # Removed with what was made inside, it goes as it was meant to; not where a person's own is in its place.
        return settlement is Settlement.LEAVE and found.is_there and bool(aside.runtime)
    return bool(aside.tree or aside.faults or aside.runtime)


def _settle_all(
    settled: Mapping[Step, Settlement], to_come: Registry, current: Registry, fd: int, staging: int
) -> dict[str, Row | ForeignRow]:
    """Do what was settled, and return the rows of the registry as they are then."""
    rows: dict[str, Row | ForeignRow] = dict(current.rows)
    for step, settlement in settled.items():
        if settlement is Settlement.RESTORE:
            filesystem.rename(OLD + step.skill, step.skill, from_fd=staging, to_fd=fd)
        elif settlement is Settlement.ADOPT:
            row = to_come.rows.get(step.skill)
            if isinstance(row, Row) and row.hash == step.new and not isinstance(rows.get(step.skill), ForeignRow):
                rows[step.skill] = row
        if settlement in {Settlement.ADOPT, Settlement.KEEP}:
            _carry(step.skill, fd, staging)
    return rows


def _restore_gitignore(entries: Mapping[str, Kind], fd: int, staging: int) -> None:
    if OLD + gitignore.FILE_NAME in entries and filesystem.kind(gitignore.FILE_NAME, fd) is None:
        filesystem.rename(OLD + gitignore.FILE_NAME, gitignore.FILE_NAME, from_fd=staging, to_fd=fd)


def _look(step: Step, rows: Mapping[str, object], entries: Mapping[str, Kind], fd: int) -> Found:
    """Read what there is of one step."""
    found = filesystem.kind(step.skill, fd)
    here, inode = None, 0
    if found is Kind.DIRECTORY:
        with open_directory(step.skill, dir_fd=fd) as inner:
            here, inode = snapshot(inner, step.skill).hash, filesystem.inode(inner)
    if isinstance(rows.get(step.skill), Row):
        ownership = Ownership.OWNED
    else:
        no_registry = filesystem.kind(registry.FILE_NAME, fd) is None
        ownership = Ownership.UNKNOWN if no_registry else Ownership.NOT_OWNED
    return Found(
        here=here, is_there=found is not None, inode=inode, aside=OLD + step.skill in entries, ownership=ownership
    )


def _carry(skill: str, fd: int, staging: int) -> None:
    """Move what people and agents made inside the old directory into the one that is in its place.

    Through a link in that one nothing goes: it may have come with the repository, as the old one may.
    """
    if {filesystem.kind(skill, fd), filesystem.kind(OLD + skill, staging)} != {Kind.DIRECTORY}:
        return
    with below(STAGING), open_directory(OLD + skill, dir_fd=staging) as old:
        runtime = snapshot(old, OLD + skill).runtime
    for path in runtime:
        with suppress(NotADirectoryError, UnreadableError):
            make_parents(skill, path, fd)
            parent, _, name = path.rpartition("/")
            with open_directory(skill, parent, dir_fd=fd) as into:
                if filesystem.kind(name, into) is None:
                    filesystem.rename(f"{OLD}{skill}/{path}", name, from_fd=staging, to_fd=into)


def make_parents(skill: str, path: str, fd: int) -> None:
    """Make the directories above a path inside a skill, as far as they are missing; none through a link."""
    for directory in parents(path):
        parent, _, name = directory.rpartition("/")
        with below(f"{skill}/{parent}".rstrip("/")), open_directory(skill, parent, dir_fd=fd) as into:
            if filesystem.kind(name, into) is None:
                filesystem.make_directory(name, into)


def _record(to_come: Registry, fd: int, staging: int) -> None:
    name = NEW + registry.FILE_NAME
    with below(STAGING):
        with suppress(FileNotFoundError):
            filesystem.remove_file(name, staging)
        filesystem.write_file(name, registry.dump(to_come), staging)
        filesystem.rename(name, registry.FILE_NAME, from_fd=staging, to_fd=fd)
    filesystem.flush(fd)


def clear(fd: int, staging: int) -> None:
    """Remove the staging directory, the journal last: until then `verify` can tell that something is left to do."""
    with below(STAGING):
        entries = listing(staging)
        spare = (name for name in (f"{NEW}{number}" for number in count()) if name not in entries)
        for name, kind in sorted(entries.items(), key=lambda item: item[0] == journal.FILE_NAME):
            if kind is not Kind.DIRECTORY:
                filesystem.remove_file(name, staging)
                continue
            doomed = name
            if name.startswith(OLD):
                # Half a directory must not look like one that was moved aside.
                doomed = next(spare)
                filesystem.rename(name, doomed, from_fd=staging, to_fd=staging)
            filesystem.remove_tree(doomed, staging, spare)
    filesystem.remove_directory(STAGING, fd)


def not_cleared(target: str, error: OSError) -> SkillsyncError:
    """Say that all is in place, and that what it replaced is still there."""
    path = f"{target}/{STAGING}"
    message = f"what was replaced can't be removed: {target}/{error.filename}: {error.strerror}"
    hint = f"every skill is in its place; remove {path} yourself, or mend that and run `skillsync sync` again"
    return SkillsyncError(Problem(code=Code.IO, message=message, hint=hint, path=path))


def _missed(target: Target, skill: str) -> SkillsyncError:
    path = f"{target.name}/{STAGING}/{OLD}{skill}"
    message = f"{path} is not what an interrupted sync meant to replace: somebody may miss it"
    hint = f"look at it, and move it away or back to {target.name}/{skill}"
    return SkillsyncError(Problem(code=Code.MODIFIED, message=message, hint=hint, skill=skill, path=path))


def _not_ours(target: Target, what: str) -> SkillsyncError:
    path = f"{target.name}/{STAGING}"
    message = f"{path} {what}, which skillsync did not put there"
    return SkillsyncError(
        Problem(code=Code.UNMANAGED, message=message, hint=f"look at it, then move {path} away", path=path)
    )
