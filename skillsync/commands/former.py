"""Directories that are no targets any more, and still hold what skillsync installed: agents go on loading it.

Invariants: reads only, and warns only; nobody notes what was a target once, so that only `.NAME/skills` at the root of
the project is looked at, where agents look; what another tool keeps in such a registry is not called skillsync's.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING

from skillsync.errors import Code, Problem, Severity, SkillsyncError, UnreadableError
from skillsync.filesystem import exists, list_directory, listing
from skillsync.schema import is_visible
from skillsync.syncing import gitignore, registry
from skillsync.syncing.plan import Links, decide
from skillsync.syncing.registry import Row
from skillsync.syncing.state import gitignore_text, read_entry, read_registry
from skillsync.syncing.target import locate, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from skillsync.commands.project import Project
    from skillsync.filesystem import Kind
    from skillsync.locking.manifest import Manifest
    from skillsync.syncing.target import Target

_NAMED = 5  # skills in a message


def former(project: Project, manifest: Manifest) -> Iterator[Problem]:
    """Yield a warning for each directory that is no target and has skills that skillsync installed."""
    for place in _candidates(project, manifest):
        try:
            yield from _about(place)
        except (SkillsyncError, UnreadableError, OSError):
            words = "is no target, and its registry or a skill in it can't be read: nobody can tell what is skillsync's"
            yield _warning(
                place, words, f"look into it, and remove what is not wanted; or add {place.name} to `targets`"
            )


def _candidates(project: Project, manifest: Manifest) -> Iterator[Target]:
    """Yield the directories with a registry that are no targets; none that leads out of the project."""
    names: list[str] = []
    with suppress(UnreadableError):
        names += list_directory(project.root) or ()
    for name in (f"{name}/skills" for name in names if name.startswith(".")):
        if exists(f"{project.root}/{name}/{registry.FILE_NAME}"):
            with suppress(SkillsyncError):
                # What is one with a target, through a link, is that target.
                known = len(locate(project.root, manifest.targets, outside=project.outside))
                yield from locate(project.root, (*manifest.targets, name), outside=project.outside)[known:]


def _about(place: Target) -> Iterator[Problem]:
    with opened(place) as fd:
        entries = listing(fd) if fd is not None else {}
        rows = read_registry(fd, place).rows if fd is not None else {}
        ignored = gitignore_text(fd, gitignore.FILE_NAME) if fd is not None else None
        # A row without a hash is another tool's that keeps the same registry.
        owned = {name: row for name, row in rows.items() if isinstance(row, Row) and row.hash and name in entries}
        kept = {name for name, row in owned.items() if fd is not None and _is_as_written(fd, place, row, entries, name)}
    if not owned:
        return
    ours = [registry.FILE_NAME, *sorted(kept)]
    changed = sorted(owned.keys() - kept)
    rest = gitignore.updated(ignored or "", (), enabled=False)
    if ignored is not None and not rest:
        ours.append(gitignore.FILE_NAME)
    paths = [f"{place.real}/{name}" for name in ours] if entries.keys() - set(ours) else [place.real]
    command = shlex.join(("rm", "-r", *map(_from_here, paths)))
    if rest and rest != ignored:
        command += f"` and take its block out of `{_from_here(f'{place.real}/{gitignore.FILE_NAME}')}"
    words = f"is no target any more, and has skills that skillsync installed: {_listed(sorted(owned))}"
    # What is escaped when it is shown would name another file in a shell.
    step = f"run `{command}`" if is_visible(command) else "remove them"
    if changed:
        seen = f"with {place.name} in `targets` again, `skillsync diff --installed` shows how"
        hint = f"changed since it was written: {_listed(changed)}; {seen}; for the rest, {step}"
    else:
        hint = f"all is as it was written: {step}; or add it to `targets`"
    yield _warning(place, words, hint)


def _is_as_written(fd: int, place: Target, row: Row, entries: Mapping[str, Kind], name: str) -> bool:
    """Whether nothing of anybody's is lost with a skill."""
    disk = read_entry(fd, name, entries[name], place.name)
    return decide(None, None, row, disk, Links(name, None, place.others, place.to_root)).refusal is None


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _from_here(path: str) -> str:
    """Return a path from where the person is, who may be anywhere; whole where `rm` would refuse that."""
    try:
        found = os.path.relpath(path)
    except FileNotFoundError:  # where they are is gone
        return path
    if found.rpartition("/")[2] in {".", ".."}:
        return path
    return f"./{found}" if found.startswith("-") else found


def _warning(place: Target, words: str, hint: str) -> Problem:
    return Problem(
        code=Code.FORMER_TARGET,
        message=f"{place.name} {words}",
        hint=hint,
        severity=Severity.WARNING,
        path=place.name,
    )
