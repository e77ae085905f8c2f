"""The lock that the installed packages would make: what `lock` writes, `diff` shows and `verify` compares.

Invariants: reads only; what stops a lock is among the problems, and nothing is left out for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.commands.survey import Survey, judged_alone, read_environments, seen, survey
from skillsync.discovery import ECOSYSTEMS, PYPI
from skillsync.errors import SkillsyncError
from skillsync.locking.choice import Choice
from skillsync.locking.pins import Pinned, pinned_by, shipped_by, together
from skillsync.locking.resolver import Resolution, carried, resolve
from skillsync.values import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillsync.commands.project import Project
    from skillsync.discovery.environment import Environment, NoEnvironment
    from skillsync.locking.lockfile import Lockfile
    from skillsync.locking.manifest import Manifest


def resolved(project: Project, manifest: Manifest, pinned: Pinned) -> tuple[Survey, Resolution]:
    """Return what is installed, and the lock that it would make."""
    found = survey(project, manifest, pinned, Choice.admits)
    return found, resolve(found.candidates, pinned)


def resolved_alone(
    project: Project, manifest: Manifest, old: Lockfile, only: Sequence[str]
) -> tuple[Survey, Resolution]:
    """Return what is installed of the providers that are named, and the lock in which they alone are new."""
    from skillsync.commands.naming import meant, unknown

    command, pinned = "lock --only", pinned_by(old)
    sight = seen(_answers(project, manifest, pinned, only), manifest, Choice.admits, project.track)
    shipped = shipped_by(sight.candidates)
    # What is wrong with an entry is told, though nothing is found by it.
    listed = dict.fromkeys(manifest.wanted, frozenset[str]())
    right = together(together(pinned, {key: skills for key, skills in shipped.items() if skills}), listed)
    known = {*pinned, *shipped, *listed}
    named = meant(only, command, right)
    wrong = [unknown(one, command, right) for one in named if not any(map(one.covers, known))]
    if wrong:
        raise SkillsyncError(*wrong)
    keys = {key for key in known if any(one.covers(key) for one in named)}
    found = judged_alone(sight, manifest, pinned, keys)
    pinned = {key: skills for key, skills in pinned.items() if key in keys}
    fresh = resolve(found.candidates, pinned)
    return found, carried(fresh, old, keys)


def _answers(
    project: Project, manifest: Manifest, pinned: Pinned, only: Sequence[str]
) -> Sequence[Environment | NoEnvironment]:
    """Read the environments of the providers that are named; a plain name may be in any of them."""
    ecosystems = {text.partition(":")[0] for text in only}
    if not ecosystems <= ECOSYSTEMS.keys():
        return read_environments(project, manifest, pinned)
    listed = tuple(one for one in ecosystems if manifest.ecosystems is None or one in manifest.ecosystems)
    wanted = {key: skills for key, skills in pinned.items() if key.partition(":")[0] in listed}
    # What the manifest leaves out is not read: what is locked of it goes.
    python = project.python if PYPI in listed else None
    narrow = replace(manifest.of(listed), ecosystems=listed)
    return read_environments(replace(project, python=python), narrow, wanted) if listed else ()


def nothing(found: Survey, resolution: Resolution) -> str:
    """Say which of the ways to nothing it was."""
    shipping = [candidate for candidate in found.candidates if candidate.provider.skills]
    if not shipping:
        return "no installed package ships skills"
    if len(shipping) == len(resolution.not_admitted):
        return "packages that ship skills are installed, and agent-skills.toml admits none of them"
    return "the admitted packages ship no valid skill that agent-skills.toml lets in"
