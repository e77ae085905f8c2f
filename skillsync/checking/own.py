"""What of the skills in a source tree is the package's own: the others are there for those who work on it.

Invariants: what is passed over is noted with a reason; a package whose only skills are such ones keeps them, since what
it fails to pack has to be told.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from skillsync.checking.offer import AGENTS, SKILLS
from skillsync.discovery.provider import Ignored
from skillsync.errors import UnreadableError
from skillsync.filesystem import list_directory, read_file
from skillsync.hashing import SKILL_FILE
from skillsync.schema import InvalidError, MalformedError
from skillsync.syncing import registry
from skillsync.values import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillsync.checking.identity import Identity
    from skillsync.discovery.provider import Provider


def own(provider: Provider, identity: Identity) -> Provider:
    """Return what is in a tree without the skills that no build of it is to take in."""
    left = _without_installed(provider)
    if provider.package.ecosystem == "npm":
        left = _without_links(_without_contributors(left, identity))
    return _without_links(left) if identity.follows_links else left


def _without_installed(provider: Provider) -> Provider:
    """Leave out what skillsync has installed in the tree itself, as in any project."""
    known = installed(provider.package.root) if SKILLS in provider.places else frozenset()
    found = [skill.path for skill in provider.skills if skill.path in known]
    return _without(provider, dict.fromkeys(found, "is installed by skillsync"))


def installed(root: str) -> frozenset[str]:
    """Return the directories that skillsync has installed in a project, of those where a package may have skills."""
    content = None
    with suppress(UnreadableError):
        content = read_file(f"{root}/{SKILLS}/{registry.FILE_NAME}", registry.LIMIT)
    rows: Mapping[str, object] = {}
    with suppress(MalformedError, InvalidError):
        rows = registry.parse(content).rows if content else {}
    return frozenset(f"{SKILLS}/{name}" for name in rows)


def for_contributors(root: str) -> list[str]:
    """Return the skills in the repository's own directory for them, but those that skillsync has installed there."""
    if any(map(os.path.islink, (f"{root}/{AGENTS}", f"{root}/{SKILLS}"))):
        return []
    names = list_directory(f"{root}/{SKILLS}") or []
    there = {f"{SKILLS}/{name}" for name in names if os.path.isfile(f"{root}/{SKILLS}/{name}/{SKILL_FILE}")}
    return sorted(there - installed(root))


def _without_contributors(provider: Provider, identity: Identity) -> Provider:
    """Leave out .agents/skills/ where `files` does not name it: it is the repository's own, beside those it ships."""
    if identity.may_pack([AGENTS]) or not any(_is_shipped(skill.path) for skill in provider.skills):
        return provider
    reason = "is not named by `files` in package.json: taken for the repository's own"
    paths = {skill.path for skill in provider.skills} | {one.path for one in provider.problems if one.path}
    return _without(provider, {path: reason for path in sorted(paths) if not _is_shipped(path)})


def _is_shipped(path: str) -> bool:
    return not path.startswith(f"{AGENTS}/")


def _without_links(provider: Provider) -> Provider:
    """Leave out the links to skills that are there, or to directories of these: they are judged in their own place."""
    root = provider.package.root
    read = {skill.path for skill in provider.skills if skill.snapshot} | set(provider.places)
    real = {_directory(f"{root}/{path}") for path in read} - {None}
    others = {skill.path for skill in provider.skills} | {one.path for one in provider.problems if one.path}
    linked = [path for path in sorted(others - read) if _directory(f"{root}/{path}") in real]
    return _without(provider, dict.fromkeys(linked, "is a link to what is checked in its own place"))


def _directory(path: str) -> tuple[int, int] | None:
    """Return which directory a path leads to; None where that is nothing, or behind more links than are followed."""
    with suppress(OSError, ValueError):
        status = os.stat(path)
        return status.st_dev, status.st_ino
    return None


def _without(provider: Provider, reasons: Mapping[str, str]) -> Provider:
    return replace(
        provider,
        skills=tuple(skill for skill in provider.skills if skill.path not in reasons),
        problems=tuple(one for one in provider.problems if one.path not in reasons),
        ignored=(*provider.ignored, *(Ignored(path=path, reason=reason) for path, reason in reasons.items())),
    )
