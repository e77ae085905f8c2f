"""A target directory: where it really is, and the lock that one run at a time holds on it.

Invariants: resolved once, and opened without following a link after that; never outside the project unless the person
who runs the command says so: the manifest, which comes with the repository, can't.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from skillsync import filesystem
from skillsync.errors import Code, Problem, SkillsyncError, UnreadableError
from skillsync.filesystem import below, open_directory
from skillsync.schema import folded
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROUNDS = 1000  # each of them ends another run, or its wait


class Target(Value):
    """`name` is as in the manifest; `base` and `path` are where it really is: an existing directory, and below it.

    `others` are the project's other target directories, relative to this one; `links_to` is the one of them whose
    skills it links to, None where it has copies.
    """

    name: str
    base: str
    path: str
    others: tuple[str, ...] = ()
    links_to: str | None = None

    @property
    def real(self) -> str:
        """The absolute path, without links."""
        return f"{self.base}/{self.path}" if self.path else self.base

    @property
    def to_root(self) -> str | None:
        """The way up to the project's root, None where the directory isn't below it."""
        return "/".join([".."] * (self.path.count("/") + 1)) if self.path else None

    @property
    def exists(self) -> bool:
        """Whether a directory is there."""
        return os.path.isdir(self.real)


def locate(project: str, names: tuple[str, ...], *, outside: bool, link: bool = False) -> list[Target]:
    """Resolve the target directories of a project; those that are one and the same count once.

    `outside` allows them to leave the project through a link; `link` lets all but the first link to that one's skills.
    Raises SkillsyncError with every unsafe one.
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
    return [_among(found, target, link=link) for target in found]


def _among(targets: list[Target], target: Target, *, link: bool) -> Target:
    """Return a target with what it has to know of the others."""
    others = {other.real: os.path.relpath(other.real, target.real) for other in targets if other != target}
    first = others.get(targets[0].real)
    return replace(target, others=tuple(others.values()), links_to=first if link else None)


def _unsafe(target: Target, others: list[Target], root: str, *, outside: bool) -> Problem | None:
    """Return why a target can't be one."""
    real = target.real
    if ".git" in map(folded, real.split("/")):
        return _problem(target, "leads into git's own directory", "remove the link")
    if real in {root, "/"} or root.startswith(f"{real}/"):
        return _problem(target, "leads to the project's own directory, or above it", "remove the link")
    if not target.path and not (outside and os.path.isdir(real)):
        return _problem(
            target,
            "leads out of the project through a link",
            "remove the link, or pass --allow-outside if you know where it leads",
        )
    if (above := _nearest(real)) and not os.path.isdir(above):
        where = "" if above == real else f"can't be there: {os.path.relpath(above, root)} "
        return _problem(target, f"{where}is not a directory", "move that away")
    if any(f"{real}/".startswith(f"{one.real}/") != f"{one.real}/".startswith(f"{real}/") for one in others):
        return _problem(target, "lies in another target directory, or the other way round", "leave one of them out")
    return None


def _nearest(path: str) -> str:
    """Return what is there of a path: itself, or the nearest above it."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return path


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
def held(target: Target, busy: Callable[[str], None]) -> Iterator[int]:
    """Open a target directory, making it if need be, and hold its lock; a directory left empty is removed again.

    `busy` is told, before the wait, that another run holds it, and may raise. Raises SkillsyncError if others make and
    remove it all the time.
    """
    made: list[str] = []
    for _ in range(_ROUNDS):
        made += _make(target)
        with opened(target) as fd:
            if fd is None:
                continue
            _take_lock(fd, target, busy)
            with opened(target) as now:
                # Another may be there since we began to wait.
                if now is None or not filesystem.is_same(fd, now):
                    continue
            try:
                yield fd
            finally:
                # While the lock is held: a run that waits for it sees then that the directory is gone.
                for path in reversed(made):
                    # Not empty: it is in use, by us or by somebody else.
                    with suppress(OSError, UnreadableError), _above(target, path) as (above, name):
                        filesystem.remove_directory(name, above)
            return
    raise busy_for_good(target)


def _take_lock(fd: int, target: Target, busy: Callable[[str], None]) -> None:
    with below(target.name):
        if filesystem.take_lock(fd, wait=False):
            return
    busy(target.name)
    with below(target.name):
        filesystem.take_lock(fd, wait=True)


def _make(target: Target) -> list[str]:
    """Make the directories that are missing, and return those; another run may remove them meanwhile."""
    made = []
    parts = target.path.split("/") if target.path else []
    for count in range(1, len(parts) + 1):
        path = "/".join(parts[:count])
        with suppress(FileExistsError, FileNotFoundError), _above(target, path) as (above, name):
            filesystem.make_directory(name, above)
            made.append(path)
    return made


@contextmanager
def _above(target: Target, path: str) -> Iterator[tuple[int, str]]:
    """Open the directory that holds a path below the target's base, through no link; with the path's own name."""
    directory, _, name = path.rpartition("/")
    with open_directory(target.base, directory) as fd, below(f"{target.base}/{directory}".rstrip("/")):
        yield fd, name


def busy_for_good(target: Target) -> SkillsyncError:
    """Say that a target directory never comes to rest."""
    message = f"{target.name} is being changed all the time"
    return SkillsyncError(Problem(code=Code.BUSY, message=message, hint="run it again later", path=target.name))
