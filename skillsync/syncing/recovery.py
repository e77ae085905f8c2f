"""Puts right what an interrupted run left in a target directory, as the journal and the disk tell.

Invariants: runs under the lock, before anything else is read; what a person made is never taken for that run's work;
a staging directory that holds anything but skillsync's own names is not touched; what was moved aside is removed only
if it is what that run meant to replace, and what people made inside it only once it is where it belongs; what is being
removed bears a name that is never brought back.
"""

from __future__ import annotations

import errno
from contextlib import ExitStack, suppress
from itertools import count
from typing import TYPE_CHECKING

from skillsync import filesystem
from skillsync.errors import Code, Problem, SkillsyncError, UnreadableError, word
from skillsync.filesystem import Kind, below, listing, open_directory, read_file
from skillsync.hashing import parents
from skillsync.schema import InvalidError, MalformedError, NewerError, name_fault
from skillsync.snapshot import snapshot
from skillsync.syncing import gitignore, journal, registry
from skillsync.syncing.journal import NEW, OLD, STAGING, Found, Journal, Ownership, Settlement, Step, settle
from skillsync.syncing.registry import ForeignRow, Registry, Row
from skillsync.syncing.state import read_registry
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillsync.snapshot import Snapshot
    from skillsync.syncing.target import Target

_UNKNOWN = ""  # in place of a hash
# The settlements in which the directory that is there gets what was made inside the old one.
_CARRYING = frozenset({Settlement.ADOPT, Settlement.KEEP})
_FILES = frozenset({gitignore.FILE_NAME, registry.FILE_NAME, journal.FILE_NAME})


class _Left(Value):
    """What an interrupted run left: the target directory and its staging directory, both open, and what is in that."""

    target: Target
    fd: int
    staging: int
    entries: Mapping[str, Kind]


def recover(fd: int, target: Target) -> dict[str, Settlement] | None:
    """Settle an interrupted run in an open target directory; return what became of its skills, None if there was none.

    Raises SkillsyncError if the staging directory isn't ours or holds what a person may miss, or if the registry can't
    be read.
    """
    found = filesystem.kind(STAGING, fd)
    if found is None:
        return None
    if found is not Kind.DIRECTORY:
        raise _not_ours(target, f"is {found.value}")
    with below(target.name), open_directory(STAGING, dir_fd=fd) as staging:
        left = _Left(target=target, fd=fd, staging=staging, entries=listing(staging))
        for name in left.entries:
            if not _is_staged(name):
                raise _not_ours(target, f"holds `{filesystem.shown(name)}`")
        interrupted = _read(left)
        steps = (*interrupted.steps, *_leftovers(interrupted, left.entries))
        # A run that had nothing but .gitignore to change has no steps, and the registry is no matter then.
        current = read_registry(fd, target) if steps else Registry()
        # The registry is replaced last of all.
        done = () if NEW + registry.FILE_NAME in left.entries else interrupted.steps
        seen = {step: _look(step, current.rows, left, is_recorded=step in done) for step in steps}
        settled = {step: settle(step, seen[step]) for step in steps}
        aside = [step for step in steps if seen[step].aside]
        problems = [problem for step in aside for problem in _missed(step, seen[step], settled[step], left)]
        problems += _missed_edits(steps, left)
        problems += _missed_lines(left)
        if problems:
            raise SkillsyncError(*problems)
        try:
            rows = _settle_all(settled, interrupted.registry, current, left)
            if rows != current.rows:
                _record(replace(current, rows=rows), left)
            _restore_gitignore(left)
        except OSError as error:
            raise _not_settled(target.name, error) from error
        try:
            clear(fd, staging)
        except OSError as error:
            raise not_cleared(target.name, error) from error
    return {step.skill: settlement for step, settlement in settled.items()}


def _is_staged(name: str) -> bool:
    """Whether a name in the staging directory is one that skillsync gives."""
    rest = name.removeprefix(NEW if name.startswith(NEW) else OLD)
    # A file manager leaves the second wherever somebody looks.
    return name in {journal.FILE_NAME, ".DS_Store"} or (rest != name and (name_fault(rest) is None or rest in _FILES))


def _read(left: _Left) -> Journal:
    """Read the journal; without a valid one there is nothing of that run's to record."""
    target = left.target
    try:
        content = read_file(journal.FILE_NAME, journal.LIMIT, dir_fd=left.staging)
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


def _missed(step: Step, found: Found, settlement: Settlement, left: _Left) -> Iterator[Problem]:
    """Yield what somebody may miss of what was moved aside, if all goes on."""
    path = f"{left.target.name}/{STAGING}/{OLD}{step.skill}"
    if _is_unknown(step, found, settlement, left):
        message = f"{path} is not what an interrupted sync meant to replace: somebody may miss it"
        hint = f"look at it, and move it away or back to {left.target.name}/{step.skill}"
        yield Problem(code=Code.MODIFIED, message=message, hint=hint, skill=step.skill, path=path)
    elif settlement in _CARRYING:
        for inner in _runtime(step.skill, left):
            if taken := _taken(step.skill, inner, left.fd):
                message = f"{path}/{inner} was {left.target.name}/{step.skill}/{inner} until a sync was interrupted"
                hint = f"look at it and at {left.target.name}/{taken}, and move one of them away"
                yield Problem(code=Code.MODIFIED, message=message, hint=hint, skill=step.skill, path=f"{path}/{inner}")


def _is_unknown(step: Step, found: Found, settlement: Settlement, left: _Left) -> bool:
    """Whether what was moved aside would go, or come back, though it isn't what that run meant to replace.

    It was edited then, before it was moved; or nobody knows what it is.
    """
    if settlement is Settlement.RESTORE:
        return step.old == _UNKNOWN and found.ownership is not Ownership.OWNED
    if left.entries[OLD + step.skill] is not Kind.DIRECTORY:
        return step.old is not None or not found.is_proven
    aside = _aside(step.skill, left)
    if aside.hash == step.old:
        if settlement is not Settlement.LEAVE:
            return False
        # Removed with what was made inside, it goes as it was meant to; not where a person's own is in its place.
        is_ours = found.ownership is not Ownership.UNKNOWN or found.is_proven
        return not is_ours or (bool(aside.runtime) and (found.is_there or step.new is not None))
    return bool(aside.tree or aside.faults or aside.runtime)


def _aside(skill: str, left: _Left) -> Snapshot:
    name = OLD + skill
    with below(STAGING), open_directory(name, dir_fd=left.staging) as fd:
        return snapshot(fd, name)


def _runtime(skill: str, left: _Left) -> tuple[str, ...]:
    """Return the directories of people and agents in what was moved aside."""
    return _aside(skill, left).runtime if left.entries.get(OLD + skill) is Kind.DIRECTORY else ()


def _taken(skill: str, path: str, fd: int) -> str | None:
    """Return what is in the way of a path inside a skill, below the target directory; None if its place is free.

    Through a link nothing goes: it may have come with the repository.
    """
    place = ""
    with ExitStack() as stack:
        for name in (skill, *path.split("/")):
            place = f"{place}/{name}".lstrip("/")
            found = filesystem.kind(name, fd)
            if found is None:
                return None
            if found is not Kind.DIRECTORY:
                break
            fd = stack.enter_context(open_directory(name, dir_fd=fd))
    return place


def _missed_edits(steps: Iterable[Step], left: _Left) -> Iterator[Problem]:
    """Yield what was swapped in and back again by a run that failed, if somebody has written into it meanwhile."""
    for step in steps:
        with below(STAGING):
            if is_written_into(step.skill, step.inode, step.new, left.staging):
                yield written_into(left.target.name, step.skill)


def is_written_into(skill: str, inode: int, staged: str | None, staging: int) -> bool:
    """Whether the staged directory of a skill is there, and isn't what was staged any more."""
    name = NEW + skill
    if filesystem.kind(name, staging) is not Kind.DIRECTORY:
        return False
    with open_directory(name, dir_fd=staging) as fd:
        if filesystem.inode(fd) != inode:
            return False
        found = snapshot(fd, name)
    return found.hash != staged or bool(found.runtime)


def written_into(target: str, skill: str) -> Problem:
    """Name a staged directory that somebody has written into while it was in its place."""
    path = f"{target}/{STAGING}/{NEW}{skill}"
    message = f"{path} is what somebody wrote into {target}/{skill} during a sync that failed"
    hint = "look at it, and move it away"
    return Problem(code=Code.MODIFIED, message=message, hint=hint, skill=skill, path=path)


def _missed_lines(left: _Left) -> Iterator[Problem]:
    """Yield the user's `.gitignore` if it was moved aside, and another one is where it has to come back to.

    If that one came out of the staging directory, it has the old one's lines.
    """
    name = gitignore.FILE_NAME
    if {OLD + name, NEW + name} <= left.entries.keys() and filesystem.kind(name, left.fd):
        place = f"{left.target.name}/{name}"
        path = f"{left.target.name}/{STAGING}/{OLD}{name}"
        message = f"{path} was {place} until a sync was interrupted, and there is another one now"
        hint = f"bring the lines that you need from it into {place}, and remove it"
        yield Problem(code=Code.MODIFIED, message=message, hint=hint, path=path)


def _settle_all(
    settled: Mapping[Step, Settlement], to_come: Registry, current: Registry, left: _Left
) -> dict[str, Row | ForeignRow]:
    """Do what was settled, and return the rows of the registry as they are then."""
    rows: dict[str, Row | ForeignRow] = dict(current.rows)
    for step, settlement in settled.items():
        if settlement is Settlement.RESTORE:
            with below(STAGING):
                filesystem.place(OLD + step.skill, step.skill, from_fd=left.staging, to_fd=left.fd)
        elif settlement is Settlement.ADOPT:
            row = to_come.rows.get(step.skill)
            if isinstance(row, Row) and row.hash == step.new and not isinstance(rows.get(step.skill), ForeignRow):
                rows[step.skill] = row
        if settlement in _CARRYING:
            _carry(step.skill, left)
    return rows


def _restore_gitignore(left: _Left) -> None:
    name = gitignore.FILE_NAME
    if OLD + name in left.entries and filesystem.kind(name, left.fd) is None:
        filesystem.rename(OLD + name, name, from_fd=left.staging, to_fd=left.fd)


def _look(step: Step, rows: Mapping[str, object], left: _Left, *, is_recorded: bool) -> Found:
    """Read what there is of one step."""
    found = filesystem.kind(step.skill, left.fd)
    here, inode = None, 0
    if found is Kind.DIRECTORY:
        with open_directory(step.skill, dir_fd=left.fd) as inner:
            here, inode = snapshot(inner, step.skill).hash, filesystem.inode(inner)
    elif found is Kind.LINK and filesystem.read_link(step.skill, left.fd) == step.link:
        here, inode = step.new, filesystem.inode_of(step.skill, left.fd)
    if isinstance(rows.get(step.skill), Row):
        ownership = Ownership.OWNED
    else:
        no_registry = filesystem.kind(registry.FILE_NAME, left.fd) is None
        ownership = Ownership.UNKNOWN if no_registry else Ownership.NOT_OWNED
    aside = OLD + step.skill in left.entries
    old_inode = filesystem.inode_of(OLD + step.skill, left.staging)
    return Found(
        here=here,
        is_there=found is not None,
        inode=inode,
        aside=aside,
        ownership=ownership,
        is_proven=old_inode == step.old_inode,
        is_recorded=is_recorded,
    )


def _carry(skill: str, left: _Left) -> None:
    """Move what people and agents made inside the old directory into the one that is in its place."""
    for path in _runtime(skill, left):
        make_parents(skill, path, left.fd)
        parent, _, name = path.rpartition("/")
        with open_directory(skill, parent, dir_fd=left.fd) as into, below(STAGING):
            filesystem.rename(f"{OLD}{skill}/{path}", name, from_fd=left.staging, to_fd=into)


def make_parents(skill: str, path: str, fd: int) -> None:
    """Make the directories above a path inside a skill, as far as they are missing; none through a link."""
    for directory in parents(path):
        parent, _, name = directory.rpartition("/")
        with below(f"{skill}/{parent}".rstrip("/")), open_directory(skill, parent, dir_fd=fd) as into:
            if filesystem.kind(name, into) is None:
                filesystem.make_directory(name, into)


def _record(to_come: Registry, left: _Left) -> None:
    name = NEW + registry.FILE_NAME
    with below(STAGING):
        with suppress(FileNotFoundError):
            filesystem.remove_file(name, left.staging)
        filesystem.write_file(name, registry.dump(to_come), left.staging)
        filesystem.rename(name, registry.FILE_NAME, from_fd=left.staging, to_fd=left.fd)
    filesystem.flush(left.fd)


def clear(fd: int, staging: int) -> None:
    """Remove the staging directory, the journal last: until then `verify` can tell that something is left to do."""
    with below(STAGING):
        entries = listing(staging)
        spare = (name for name in (f"{NEW}{number}" for number in count()) if name not in entries)
        for name, kind in sorted(entries.items(), key=lambda item: item[0] == journal.FILE_NAME):
            if kind is not Kind.DIRECTORY:
                filesystem.remove_file(name, staging)
                continue
            # Half a directory must not look like one that was moved aside, or like one that somebody wrote into.
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


def _not_settled(target: str, error: OSError) -> SkillsyncError:
    """Say that some of it may be settled, so that nobody takes it for the state from before."""
    path = f"{target}/{error.filename}" if error.filename else target
    hint = "what an interrupted sync left is settled in part, if at all: mend that, and the next sync goes on"
    if error.errno == errno.EXDEV:
        hint = in_lower_layer(target)
    return SkillsyncError(Problem(code=Code.IO, message=f"{path}: {error.strerror}", hint=hint, path=path))


def in_lower_layer(target: str) -> str:
    """Say how one gets on where an overlay file system refuses to move a directory of its lower layers (overlayfs)."""
    here, copy = word(target), word(f"{target}.copy")
    return (
        "an overlay file system can't move what comes from a lower layer, as in a container's image: put a copy in its "
        f"place (`cp -a {here} {copy} && rm -r {here} && mv {copy} {here}`), and run it again"
    )


def _not_ours(target: Target, what: str) -> SkillsyncError:
    path = f"{target.name}/{STAGING}"
    message = f"{path} {what}, which skillsync did not put there"
    return SkillsyncError(
        Problem(code=Code.UNMANAGED, message=message, hint=f"look at it, then move {path} away", path=path)
    )
