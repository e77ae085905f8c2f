"""What is in a target directory: its registry, its skills, and the files that others keep beside them.

Invariants: reads only; absent, empty, unreadable and foreign are four results; a run that is at work is waited for.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from blake3 import blake3

from skillsync import filesystem
from skillsync.errors import Code, Problem, SkillsyncError, UnreadableError
from skillsync.filesystem import Kind, below, listing, open_directory, read_file
from skillsync.hashing import SCHEME, File
from skillsync.schema import InvalidError, MalformedError, NewerError, folded
from skillsync.snapshot import snapshot
from skillsync.syncing import gitignore, journal, registry
from skillsync.syncing.journal import STAGING
from skillsync.syncing.plan import Absent, Directory, Disk, Drift, Linked, Other, Plan, State, Twin
from skillsync.syncing.target import busy_for_good, opened
from skillsync.track import untracked
from skillsync.values import replace

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from skillsync.locking.lockfile import Lockfile
    from skillsync.schema import Place
    from skillsync.syncing.registry import Registry
    from skillsync.syncing.target import Target
    from skillsync.track import Track

# Skillsync's own, and what a file manager leaves. No other dot hides anything: agents may load what is below it.
_OWN = frozenset({registry.FILE_NAME, gitignore.FILE_NAME, STAGING, ".DS_Store"})
_TRIES = 100
_PAUSE = 0.05  # seconds, for a run that is at work
# Another tool's registry; what it owns is no more ours than a person's.
_FOREIGN_REGISTRY = ".agent-context-skills.json"


def read_state(fd: int | None, target: Target, lock: Lockfile, track: Track = untracked) -> State:
    """Read what the plan has to know of a target directory; `track` is told how many skills were read.

    Raises SkillsyncError if the registry, or another tool's, can't be read.
    """
    empty = State(
        registry=registry.Registry(), disk={}, others=target.others, links_to=target.links_to, to_root=target.to_root
    )
    if fd is None:
        return empty
    rows = read_registry(fd, target)
    foreign = _read_foreign(fd, target)
    entries = listing(fd)
    twins = {folded(name): name for name in entries if name not in lock.skills}
    disk: dict[str, Disk] = {}
    for name in track({*lock.skills, *rows.rows}, f"reading {target.name}"):
        if name in lock.skills and name in twins:
            disk[name] = Twin(filesystem.shown(twins[name]))
        elif name in entries:
            disk[name] = read_entry(fd, name, entries[name], target.name)
        else:
            disk[name] = Absent()
    idle = [one for one in disk.values() if isinstance(one, Directory) and _has_idle_script(one)]
    modes = not idle or filesystem.keeps_modes(fd)
    return replace(
        empty,
        registry=rows,
        disk=disk,
        unowned=_unowned(entries, disk),
        foreign=foreign,
        modes=modes,
        interrupted=_has_journal(fd, target),
    )


def _has_journal(fd: int, target: Target) -> bool:
    with below(target.name):
        return (
            filesystem.kind(STAGING, fd) is Kind.DIRECTORY
            and filesystem.kind(f"{STAGING}/{journal.FILE_NAME}", fd) is not None
        )


def read_settled(target: Target, lock: Lockfile, track: Track = untracked) -> State:
    """Read a target directory without its lock, again until no other run is at work in it.

    A run that is at work has a journal and the lock; an interrupted one has the journal alone. Raises SkillsyncError
    if it never settles.
    """
    for _ in range(_TRIES):
        with opened(target) as fd:
            before = _stamp(fd)
            found = read_state(fd, target, lock, track)
        with opened(target) as fd:
            active = fd is not None and _has_journal(fd, target) and filesystem.is_locked(fd)
            # Asked last: a run that had a journal may have ended before it was asked for its lock.
            interrupted = fd is not None and _has_journal(fd, target)
            after = _stamp(fd)
        if active:
            time.sleep(_PAUSE)
        elif (before, found.interrupted) == (after, interrupted):
            return found
    raise busy_for_good(target)


def _stamp(fd: int | None) -> filesystem.Stamp | None:
    """Return which registry a directory has: a run that is done has put another in its place."""
    return None if fd is None else filesystem.stamp(registry.FILE_NAME, fd)


def glance(fd: int | None, target: Target, lock: Lockfile) -> State:
    """Read a target directory's registry and what is there by name, and none of the skills' files."""
    if fd is None:
        return State(registry=registry.Registry(), disk={})
    entries = listing(fd)
    rows = read_registry(fd, target)
    disk: dict[str, Disk] = {name: Other(entries[name].value) for name in {*lock.skills, *rows.rows} if name in entries}
    return State(
        registry=rows,
        disk=disk,
        unowned=_unowned(entries, {*lock.skills, *rows.rows}),
        interrupted=_has_journal(fd, target),
    )


def _unowned(entries: Iterable[str], known: Container[str]) -> tuple[str, ...]:
    """Return the entries that neither lock nor registry speak of."""
    return tuple(filesystem.shown(name) for name in entries if name not in known and name not in _OWN)


def _has_idle_script(found: Directory) -> bool:
    return any(facts.script and not facts.executable for facts in found.snapshot.facts.values())


def read_entry(fd: int, name: str, kind: Kind, above: str) -> Disk:
    """Read an entry of an open directory as the plan sees it; `above` is that directory's path, for errors."""
    try:
        if kind is Kind.LINK:
            return Linked(filesystem.read_link(name, fd))
        if kind is not Kind.DIRECTORY:
            return Other(kind.value)
        with below(above), open_directory(name, dir_fd=fd) as inner:
            return Directory(snapshot(inner, name))
    except FileNotFoundError:
        # Of a run that is swapping it; who reads without the lock reads again.
        return Absent()


def read_registry(fd: int, target: Target) -> Registry:
    """Read the registry of an open target directory; an absent one is empty. Raises SkillsyncError."""
    path = f"{target.name}/{registry.FILE_NAME}"
    hint = "restore it from a backup; or remove it, and then the installed skills that the next sync names"
    try:
        return registry_of(fd)
    except NewerError as error:
        raise _unreadable(path, f"{error.key} {error.reason}", "upgrade skillsync") from None
    except InvalidError as error:
        raise _unreadable(path, f"{error.key} {error.reason}", hint) from None
    except MalformedError as error:
        raise _unreadable(path, error.reason, hint, error.place) from None
    except UnreadableError as error:
        raise _unreadable(path, str(error), hint) from None


def registry_of(fd: int) -> Registry:
    """Return the registry of an open directory. Raises InvalidError, MalformedError or UnreadableError."""
    content = read_file(registry.FILE_NAME, registry.LIMIT, dir_fd=fd)
    return registry.Registry() if content is None else registry.parse(content)


def _unreadable(path: str, reason: str, hint: str, place: Place = (None, None)) -> SkillsyncError:
    line, column = place
    message = f"{path} can't be read: {reason}"
    return SkillsyncError(
        Problem(code=Code.REGISTRY_UNREADABLE, message=message, hint=hint, path=path, line=line, column=column)
    )


def _read_foreign(fd: int, target: Target) -> frozenset[str]:
    """Return the names that another tool's registry claims. Raises SkillsyncError: unreadable is not empty."""
    with suppress(UnreadableError, ValueError, KeyError, TypeError, RecursionError):
        content = read_file(_FOREIGN_REGISTRY, registry.LIMIT, dir_fd=fd)
        if content is None:
            return frozenset()
        import json

        skills = json.loads(content)["skills"]
        if isinstance(skills, dict | list):
            return frozenset(skills)
    path = f"{target.name}/{_FOREIGN_REGISTRY}"
    raise _unreadable(path, "nobody can tell what the tool that wrote it owns", "mend it, or remove it with that tool")


def read_gitignore(fd: int, target: Target) -> str | None:
    """Return the text of `.gitignore`, None if there is none. Raises SkillsyncError for a link or anything odd."""
    path = f"{target.name}/{gitignore.FILE_NAME}"
    try:
        return gitignore_text(fd, gitignore.FILE_NAME)
    except UnreadableError as error:
        message = f"{path} can't be read: {error}"
        hint = "make it a regular file, or set `gitignore = false` in agent-skills.toml"
        raise SkillsyncError(Problem(code=Code.UNSAFE_TARGET, message=message, hint=hint, path=path)) from None


def gitignore_text(fd: int, name: str) -> str | None:
    """Return the text of a `.gitignore` under any name, None if there is none. Raises UnreadableError."""
    content = read_file(name, registry.LIMIT, dir_fd=fd)
    return None if content is None else content.decode("utf-8", "surrogateescape")


def notes(target: Target, plan: Plan, lock: Lockfile) -> dict[str, str]:
    """Say of a modified file, by its path in the project, when its line endings are all that differs.

    A version control system that converts them is the usual cause, and no edit.
    """
    found: dict[str, str] = {}
    for row in plan.drift:
        if row.kind is not Drift.MODIFIED or row.skill not in lock.skills or row.path is None:
            continue
        locked = lock.skills[row.skill][1].tree.get(row.path)
        if isinstance(locked, File):
            content = _read_modified(target, row.skill, row.path)
            if SCHEME + blake3(content.replace(b"\r\n", b"\n")).hexdigest() == locked.hash:
                note = (
                    f"only the line endings differ: tell git not to convert them, `{target.name}/** -text` in "
                    ".gitattributes"
                )
                found[f"{target.name}/{row.skill}/{row.path}"] = note
    return found


def _read_modified(target: Target, skill: str, path: str) -> bytes:
    directory, _, name = f"{skill}/{path}".rpartition("/")
    try:
        with open_directory(target.base, f"{target.path}/{directory}".lstrip("/")) as fd:
            return read_file(name, registry.LIMIT, dir_fd=fd) or b""
    except (OSError, UnreadableError):
        return b""
