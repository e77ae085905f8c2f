"""Where the text of both sides of a change is, and what it is: the part of `diff` and `lock` that reads.

Invariants: reads only; what is read counts only if it has the hash that the tree walker found; what is nowhere is no
error: its hash is known.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from blake3 import blake3

from skillsync.commands.project import targets
from skillsync.errors import SkillsyncError, UnreadableError
from skillsync.filesystem import Kind, listing, open_directory, read_file
from skillsync.hashing import SCHEME, Entry, File, Tree
from skillsync.locking.changes import Change, between
from skillsync.reviewing.difference import LARGE, FileDifference, SkillDifference, Version
from skillsync.snapshot import Copy, snapshot
from skillsync.syncing import plan
from skillsync.syncing.apply import needed
from skillsync.syncing.plan import Directory
from skillsync.syncing.state import read_settled
from skillsync.syncing.target import opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from skillsync.commands.project import Project
    from skillsync.errors import Code, Problem
    from skillsync.locking.lockfile import Lockfile
    from skillsync.locking.manifest import Manifest
    from skillsync.locking.resolver import Resolution


Copies = dict[str, list[Copy]]  # by skill: wherever its content may be read from


def before_lock(project: Project, manifest: Manifest, old: Lockfile, resolution: Resolution) -> list[SkillDifference]:
    """Return what `lock` changes: what is installed, compared with what was approved."""
    changes = list(between(old, resolution.lock))
    copies = installed(project, manifest, (change.skill for change in changes))
    for name, copy in resolution.copies.items():
        copies.setdefault(name, []).append(copy)
    return [
        difference(change, _tree(old, change.skill), _tree(resolution.lock, change.skill), copies.get(change.skill, ()))
        for change in project.track(changes, "comparing with the lock")
    ]


def before_sync(project: Project, manifest: Manifest, lock: Lockfile) -> tuple[list[SkillDifference], list[Problem]]:
    """Return what `sync --force` changes, and what even that refuses."""
    found: list[SkillDifference] = []
    problems: list[Problem] = []
    states = [(place, read_settled(place, lock, project.track)) for place in targets(project, manifest)]
    plans = [(place, state, plan.make(place.name, lock, state, force=True)) for place, state in states]
    copies = _of_packages(project, manifest, lock, needed(made for _, _, made in plans))
    for place, state, made in plans:
        problems += made.problems
        refusals = {one.skill: one.code for one in plan.make(place.name, lock, state, force=False).problems}
        for change in made.changes:
            name, here = change.skill, state.disk.get(change.skill)
            own = [Copy(root=place.real, path=name, snapshot=here.snapshot)] if isinstance(here, Directory) else []
            found.append(
                difference(
                    change,
                    own[0].snapshot.tree if own else {},
                    _tree(lock, name),
                    [*own, *copies.get(name, ())],
                    target=place.name,
                    refusal=refusals.get(name),
                )
            )
    return found, problems


def _of_packages(project: Project, manifest: Manifest, lock: Lockfile, names: Sequence[str]) -> Copies:
    """Read the packages' copies of locked skills; where a package isn't installed, there is none."""
    if not names:
        return {}
    from skillsync.commands.sources import find

    found: Copies = {}
    with suppress(SkillsyncError):
        for name, source in find(project, manifest, lock, names)[0].items():
            with suppress(OSError, UnreadableError), open_directory(source.root, source.path) as fd:
                read = snapshot(fd, f"{source.root}/{source.path}", recorded=source.recorded)
                found[name] = [Copy(root=source.root, path=source.path, snapshot=read)]
    return found


def _tree(lock: Lockfile, skill: str) -> Tree:
    return lock.skills[skill][1].tree if skill in lock.skills else {}


def installed(project: Project, manifest: Manifest, names: Iterable[str]) -> Copies:
    """Read the skills of some names in the target directories: what can't be read there is not at hand."""
    found: Copies = {}
    wanted = set(names)
    with suppress(SkillsyncError):
        for place in targets(project, manifest):
            with suppress(OSError, UnreadableError), opened(place) as fd:
                for name, kind in listing(fd).items() if fd is not None else ():
                    if name in wanted and kind is Kind.DIRECTORY:
                        with open_directory(name, dir_fd=fd) as inner:
                            read = snapshot(inner, name)
                        found.setdefault(name, []).append(Copy(root=place.real, path=name, snapshot=read))
    return found


def difference(  # noqa: PLR0913  # a change, its two sides, and where
    change: Change,
    old: Tree,
    new: Tree,
    copies: Sequence[Copy],
    *,
    target: str | None = None,
    refusal: Code | None = None,
) -> SkillDifference:
    """Return what a change is made of; the content of either side comes from the first copy that has it."""
    paths = sorted((*change.files.added, *change.files.changed, *change.files.removed))
    files = (
        FileDifference(path=path, old=_version(path, old.get(path), copies), new=_version(path, new.get(path), copies))
        for path in paths
    )
    return SkillDifference(change=change, files=tuple(files), target=target, refusal=refusal)


def _version(path: str, entry: Entry | None, copies: Iterable[Copy]) -> Version | None:
    if entry is None:
        return None
    for copy in copies:
        if isinstance(entry, File) and copy.snapshot.tree.get(path) == entry:
            facts = copy.snapshot.facts[path]
            content = _content(copy, path, entry) if facts.size <= LARGE else None
            if content is not None or facts.size > LARGE:
                return Version(entry=entry, size=facts.size, content=content, is_script=path in copy.snapshot.scripts)
    return Version(entry=entry)


def _content(copy: Copy, path: str, entry: File) -> bytes | None:
    """Read a file that the walker let pass; None if it is another by now."""
    directory, _, name = path.rpartition("/")
    try:
        with open_directory(copy.root, f"{copy.path}/{directory}".strip("/")) as fd:
            # Some installers put a link in a file's place: the hash tells that it leads to what was installed.
            content = read_file(name, LARGE, dir_fd=fd, follow=True)
    except (OSError, UnreadableError):
        return None
    return content if content is not None and SCHEME + blake3(content).hexdigest() == entry.hash else None
