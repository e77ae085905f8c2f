"""A target directory: where it really is, what is in it, and the lock that one run at a time holds on it.

Invariants: resolved once, and opened without following a link after that; never outside the project unless the person
who runs the command says so: the manifest, which comes with the repository, can't.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blake3 import blake3

from skillsync import filesystem
from skillsync.errors import Code, Problem, Severity, SkillsyncError, UnreadableError
from skillsync.filesystem import Kind, listing, open_directory, read_file
from skillsync.hashing import SCHEME, File
from skillsync.schema import InvalidError, MalformedError, NewerError, folded
from skillsync.snapshot import snapshot
from skillsync.syncing import gitignore, registry
from skillsync.syncing.plan import Absent, Directory, Disk, Drift, Other, Plan, State, Twin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skillsync.locking.lockfile import Lockfile
    from skillsync.schema import Place
    from skillsync.syncing.registry import Registry

_LIMIT = 16 * 1024 * 1024
_TRIES = 10
_ROUNDS = 1000  # each of them ends another run, or its wait
# Another tool's registry; what it owns is no more ours than a person's.
_FOREIGN_REGISTRY = ".agent-context-skills.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """`name` is as in the manifest; `base` and `path` are where it really is: an existing directory, and below it."""

    name: str
    base: str
    path: str

    @property
    def real(self) -> str:
        """The absolute path, without links."""
        return f"{self.base}/{self.path}" if self.path else self.base

    @property
    def exists(self) -> bool:
        """Whether a directory is there."""
        return os.path.isdir(self.real)


def locate(project: str, names: tuple[str, ...], *, outside: bool) -> list[Target]:
    """Resolve the target directories of a project; those that are one and the same count once.

    `outside` allows them to leave the project through a link. Raises SkillsyncError with every unsafe one.
    """
    root = os.path.realpath(project)
    found: list[Target] = []
    problems: list[Problem] = []
    for name in names:
        real = os.path.realpath(f"{root}/{name}")
        inside = real.startswith(f"{root}/")
        target = Target(name=name, base=root if inside else real, path=real[len(root) + 1 :] if inside else "")
        if problem := _unsafe(target, found, root, outside=outside):
            problems.append(problem)
        elif real not in {other.real for other in found}:
            found.append(target)
    if problems:
        raise SkillsyncError(*problems)
    return found


def _unsafe(target: Target, others: list[Target], root: str, *, outside: bool) -> Problem | None:
    """Return why a target can't be one."""
    real = target.real
    if real in {root, "/"} or root.startswith(f"{real}/"):
        return _problem(target, "leads to the project's own directory, or above it", "remove the link")
    if not target.path and not (outside and os.path.isdir(real)):
        return _problem(
            target,
            "leads out of the project through a link",
            "remove the link, or pass --allow-outside if you know where it leads",
        )
    if os.path.lexists(real) and not os.path.isdir(real):
        return _problem(target, "is not a directory", "move it away")
    if any(f"{real}/".startswith(f"{one.real}/") != f"{one.real}/".startswith(f"{real}/") for one in others):
        return _problem(target, "lies in another target directory, or the other way round", "leave one of them out")
    return None


def _problem(target: Target, message: str, hint: str) -> Problem:
    return Problem(code=Code.UNSAFE_TARGET, message=f"{target.name} {message}", hint=hint, path=target.name)


@contextmanager
def opened(target: Target) -> Iterator[int | None]:
    """Open a target directory for reading; None if it isn't there."""
    with ExitStack() as stack:
        try:
            fd = stack.enter_context(open_directory(target.base, target.path))
        except FileNotFoundError:
            fd = None
        yield fd


@contextmanager
def held(target: Target, say: Callable[[str], None]) -> Iterator[int]:
    """Open a target directory, making it if need be, and hold its lock; a directory left empty is removed again.

    Raises SkillsyncError if other runs make and remove it all the time.
    """
    made: list[str] = []
    for _ in range(_ROUNDS):
        made += _make(target)
        with opened(target) as fd:
            if fd is None:
                continue
            if not filesystem.take_lock(fd, wait=False):
                say(f"waiting for another skillsync in {target.name}")
                filesystem.take_lock(fd, wait=True)
            if filesystem.is_gone(fd):
                continue
            try:
                yield fd
            finally:
                # While the lock is held: a run that waits for it sees then that the directory is gone.
                for path in reversed(made):
                    # Not empty: it is in use, by us or by somebody else.
                    with suppress(OSError):
                        filesystem.remove_directory(f"{target.base}/{path}")
            return
    raise _busy(target)


def _make(target: Target) -> list[str]:
    """Make the directories that are missing, and return those; another run may remove them meanwhile."""
    made = []
    parts = target.path.split("/") if target.path else []
    for count in range(1, len(parts) + 1):
        path = "/".join(parts[:count])
        with suppress(FileExistsError, FileNotFoundError):
            filesystem.make_directory(f"{target.base}/{path}")
            made.append(path)
    return made


def _busy(target: Target) -> SkillsyncError:
    message = f"{target.name} is being changed all the time"
    return SkillsyncError(Problem(code=Code.BUSY, message=message, hint="run it again later", path=target.name))


def read_state(fd: int | None, target: Target, lock: Lockfile) -> tuple[State, list[Problem]]:
    """Read what the plan has to know of a target directory, and what is to be warned of.

    Raises SkillsyncError if the registry can't be read.
    """
    if fd is None:
        return State(registry=registry.Registry(), disk={}), []
    rows = read_registry(fd, target)
    foreign, problems = _read_foreign(fd, target)
    entries = listing(fd)
    twins = {folded(name): name for name in entries if name not in lock.skills}
    disk: dict[str, Disk] = {}
    for name in {*lock.skills, *rows.rows}:
        if name in lock.skills and name in twins:
            disk[name] = Twin(filesystem.shown(twins[name]))
        elif name in entries:
            disk[name] = _read_entry(fd, name, entries[name], target)
        else:
            disk[name] = Absent()
    idle = [one for one in disk.values() if isinstance(one, Directory) and _has_idle_script(one)]
    modes = not idle or filesystem.keeps_modes(fd)
    unowned = tuple(filesystem.shown(name) for name in entries if name not in disk and not name.startswith("."))
    return State(registry=rows, disk=disk, unowned=unowned, foreign=foreign, modes=modes), problems


def read_settled(target: Target, lock: Lockfile) -> tuple[State, list[Problem]]:
    """Read a target directory without its lock, again until no other run has changed the registry meanwhile.

    Raises SkillsyncError if it never settles.
    """
    for _ in range(_TRIES):
        with opened(target) as fd:
            found = read_state(fd, target, lock)
        with opened(target) as fd:
            rows = registry.Registry() if fd is None else read_registry(fd, target)
        if rows == found[0].registry:
            return found
    raise _busy(target)


def glance(fd: int | None, target: Target, lock: Lockfile) -> State:
    """Read a target directory's registry and which locked skills are there, and none of their files."""
    if fd is None:
        return State(registry=registry.Registry(), disk={})
    entries = listing(fd)
    disk: dict[str, Disk] = {name: Other(entries[name].value) for name in lock.skills if name in entries}
    return State(registry=read_registry(fd, target), disk=disk)


def _has_idle_script(found: Directory) -> bool:
    return any(facts.script and not facts.executable for facts in found.snapshot.facts.values())


def _read_entry(fd: int, name: str, kind: Kind, target: Target) -> Disk:
    if kind is not Kind.DIRECTORY:
        return Other(kind.value)
    try:
        with open_directory(name, dir_fd=fd) as inner:
            return Directory(snapshot(inner, f"{target.name}/{name}"))
    except FileNotFoundError:
        # Of a run that is swapping it; who reads without the lock reads again.
        return Absent()


def read_registry(fd: int, target: Target) -> Registry:
    """Read the registry of an open target directory; an absent one is empty. Raises SkillsyncError."""
    return read_rows(fd, target.name)


def read_rows(fd: int, target: str) -> Registry:
    """Do the same, by the name of the target directory alone."""
    path = f"{target}/{registry.FILE_NAME}"
    hint = "restore it from a backup; or remove it, and then the installed skills that the next sync names"
    try:
        content = read_file(registry.FILE_NAME, _LIMIT, dir_fd=fd)
        return registry.Registry() if content is None else registry.parse(content)
    except NewerError as error:
        raise _unreadable(path, f"{error.key} {error.reason}", "upgrade skillsync") from None
    except InvalidError as error:
        raise _unreadable(path, f"{error.key} {error.reason}", hint) from None
    except MalformedError as error:
        raise _unreadable(path, error.reason, hint, error.place) from None
    except UnreadableError as error:
        raise _unreadable(path, str(error), hint) from None


def _unreadable(path: str, reason: str, hint: str, place: Place = (None, None)) -> SkillsyncError:
    line, column = place
    message = f"{path} can't be read: {reason}"
    return SkillsyncError(
        Problem(code=Code.REGISTRY_UNREADABLE, message=message, hint=hint, path=path, line=line, column=column)
    )


def _read_foreign(fd: int, target: Target) -> tuple[frozenset[str], list[Problem]]:
    """Return the names that another tool's registry claims."""
    with suppress(UnreadableError, ValueError, KeyError, TypeError, RecursionError):
        content = read_file(_FOREIGN_REGISTRY, _LIMIT, dir_fd=fd)
        if content is None:
            return frozenset(), []
        skills = json.loads(content)["skills"]
        if isinstance(skills, dict | list):
            return frozenset(skills), []
    path = f"{target.name}/{_FOREIGN_REGISTRY}"
    message = f"{path} can't be read, so skillsync can't tell what the tool that wrote it owns"
    return frozenset(), [Problem(code=Code.REGISTRY_UNREADABLE, message=message, severity=Severity.WARNING, path=path)]


def read_gitignore(fd: int, target: Target) -> str | None:
    """Return the text of `.gitignore`, None if there is none. Raises SkillsyncError for a link or anything odd."""
    path = f"{target.name}/{gitignore.FILE_NAME}"
    try:
        content = read_file(gitignore.FILE_NAME, _LIMIT, dir_fd=fd)
        return None if content is None else content.decode("utf-8", "surrogateescape")
    except UnreadableError as error:
        message = f"{path} can't be read: {error}"
        hint = "make it a regular file, or set `gitignore = false` in agent-skills.toml"
        raise SkillsyncError(Problem(code=Code.UNSAFE_TARGET, message=message, hint=hint, path=path)) from None


def notes(target: Target, plan: Plan, lock: Lockfile) -> dict[str, str]:
    """Say of a modified file, by its path in the project, when its line endings are all that differs.

    A version control system that converts them is the usual cause, and no edit.
    """
    found: dict[str, str] = {}
    for row in plan.drift:
        locked = lock.skills[row.skill][1].tree.get(row.path or "") if row.skill in lock.skills else None
        if row.kind is Drift.MODIFIED and row.path and isinstance(locked, File):
            content = _read_modified(target, row.skill, row.path)
            if SCHEME + blake3(content.replace(b"\r\n", b"\n")).hexdigest() == locked.hash:
                note = "only the line endings differ: tell git not to convert them, `* -text` in .gitattributes"
                found[f"{target.name}/{row.skill}/{row.path}"] = note
    return found


def _read_modified(target: Target, skill: str, path: str) -> bytes:
    directory, _, name = f"{skill}/{path}".rpartition("/")
    try:
        with open_directory(target.base, f"{target.path}/{directory}".lstrip("/")) as fd:
            return read_file(name, _LIMIT, dir_fd=fd) or b""
    except (OSError, UnreadableError):
        return b""
