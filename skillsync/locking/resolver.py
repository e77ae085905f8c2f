"""The admitted skills, read and hashed, become the lock, or the reasons why not.

Invariants: pure; a skill is in the lock only if all of it is safe; rows of an older lock are carried over by `carried`
alone, whole and unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync import hidden
from skillsync.errors import Code, Problem, Severity, typed
from skillsync.locking.changes import since_install
from skillsync.locking.examination import exclusion, leaving_out
from skillsync.locking.lockfile import LockedProvider, LockedSkill, Lockfile
from skillsync.locking.manifest import FILE_NAME
from skillsync.locking.pins import Pinned, raised
from skillsync.schema import quoted
from skillsync.snapshot import Copy, Fault, Snapshot, shipped_faults
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from skillsync.discovery.provider import FoundSkill, Provider
    from skillsync.locking.choice import Candidate
    from skillsync.locking.manifest import Rule


class Resolution(Value):
    """What `lock` would write, what it would leave out, and what stands against it. `copies` are the sources."""

    lock: Lockfile
    not_admitted: tuple[Candidate, ...]
    copies: Mapping[str, Copy]
    problems: tuple[Problem, ...]


def resolve(candidates: Sequence[Candidate], pinned: Pinned) -> Resolution:
    """Make the lock of the admitted skills, of which all files were read."""
    providers: list[LockedProvider] = []
    problems: list[Problem] = []
    copies: dict[str, Copy] = {}
    for candidate in candidates:
        skills: dict[str, LockedSkill] = {}
        for skill in candidate.admitted:
            found = _read(skill)
            faults = shipped_faults(found)
            problems += _altered(candidate, skill, found)
            if not faults and found.hash:
                skills[skill.name] = LockedSkill(name=skill.name, hash=found.hash, tree=found.tree)
                copies[skill.name] = Copy(root=candidate.choice.package.root, path=skill.path, snapshot=found)
                problems += _hidden(candidate, skill, found)
            unsafe_problems = [_unsafe(candidate, skill, fault) for fault in faults]
            problems += raised(unsafe_problems, replace(skill, is_valid=not faults), candidate, pinned)
        problems += _ambiguous(candidate)
        if skills:
            package = candidate.choice.package
            providers.append(
                LockedProvider(
                    ecosystem=package.ecosystem,
                    name=package.name,
                    version=package.version,
                    skills=tuple(skills.values()),
                )
            )
    return Resolution(
        lock=Lockfile(providers=tuple(sorted(providers, key=lambda provider: (provider.ecosystem, provider.name)))),
        not_admitted=tuple(one for one in candidates if one.choice.rule is None and one.provider.skills),
        copies=copies,
        problems=tuple(problems),
    )


def carried(resolution: Resolution, old: Lockfile, keys: Collection[str]) -> Resolution:
    """Return the resolution of some providers with all others as they were locked.

    A skill that one of the others has under its name already is an error.
    """
    others = [provider for provider in old.providers if provider.key not in keys]
    locked = {skill.name: provider for provider in others for skill in provider.skills}
    taken = resolution.lock.providers
    problems = [
        _locked_already(skill.name, provider, locked[skill.name])
        for provider in taken
        for skill in provider.skills
        if skill.name in locked
    ]
    providers = sorted((*others, *taken), key=lambda provider: (provider.ecosystem, provider.name))
    return replace(resolution, lock=Lockfile(providers=tuple(providers)), problems=(*resolution.problems, *problems))


def _locked_already(skill: str, new: LockedProvider, old: LockedProvider) -> Problem:
    return Problem(
        code=Code.DUPLICATE_SKILL,
        message=f"the skill {skill} is shipped by {new.key} {new.version} and locked as {old.key}'s",
        hint=f"run {typed('lock', '--only', old.key, new.key)} if it has moved, else {exclusion(new.key, skill)}",
        skill=skill,
        provider=new.key,
    )


def _read(skill: FoundSkill) -> Snapshot:
    assert skill.snapshot  # noqa: S101  # the admitted ones are read whole
    return skill.snapshot


def _unsafe(candidate: Candidate, skill: FoundSkill, fault: Fault) -> Problem:
    path = f"{skill.path}/{fault.path}"
    return Problem(
        code=Code.UNSAFE_SKILL,
        message=f"{candidate.key} {candidate.choice.package.version}: {path} {fault.reason}",
        hint=f"{leaving_out(candidate.key, skill.name)}; report it to the package's authors",
        severity=Severity.WARNING,
        skill=skill.name,
        provider=candidate.key,
        path=path,
        root=candidate.choice.package.root,
    )


def _altered(candidate: Candidate, skill: FoundSkill, found: Snapshot) -> Iterator[Problem]:
    """Yield a warning if a skill is not as it was installed, as far as the installer wrote that down."""
    package = candidate.choice.package
    if files := since_install(package.recorded(skill.path), found).text:
        yield Problem(
            code=Code.MODIFIED_AFTER_INSTALL,
            message=f"{candidate.key} {package.version}: {skill.path} is not as it was installed: {files}",
            hint="reinstall the package, unless you made the change and want it",
            severity=Severity.WARNING,
            skill=skill.name,
            provider=candidate.key,
            path=skill.path,
            root=package.root,
        )


def _hidden(candidate: Candidate, skill: FoundSkill, found: Snapshot) -> Iterator[Problem]:
    """Yield a problem for each file that has hidden characters, in its name or its text, unless they are accepted."""
    rule = candidate.choice.rule
    if rule is None or rule.allows_hidden:
        return
    in_names = {path: character for path in found.tree if (character := hidden.in_name(path))}
    for path in sorted({*in_names, *found.hidden}):
        what = f"{in_names[path]} in its name" if path in in_names else f"{found.hidden[path]}"
        first = found.hidden[path].first if path not in in_names else None
        yield Problem(
            code=Code.HIDDEN_CHARACTERS,
            message=f"{candidate.key} {candidate.choice.package.version}: {skill.path}/{path} has {what}",
            hint=f"review it; to accept it, {_acceptance(candidate.key, rule)}",
            skill=skill.name,
            provider=candidate.key,
            path=f"{skill.path}/{path}",
            line=first.line if first else None,
            column=first.column if first else None,
            root=candidate.choice.package.root,
        )


def _acceptance(key: str, rule: Rule) -> str:
    """Say how the manifest accepts a provider's hidden characters, and admits what it admits now."""
    setting = 'hidden-characters = "allow"'
    if not rule.key:
        return f"write the entry of {key} in {FILE_NAME} as `{{ {setting} }}` (`skillsync init` makes the file)"
    if rule.skills is not None or rule.exclude or rule.path:
        return f"add `{setting}` inside the braces of `{rule.key}` in {FILE_NAME}"
    version = "" if rule.requirement == "*" else f"version = {quoted(rule.requirement)}, "
    return f"change `{rule.key}` in {FILE_NAME} to `{{ {version}{setting} }}`"


def _ambiguous(candidate: Candidate) -> Iterator[Problem]:
    """Yield a problem if the variants of one version don't ship the same skills."""
    contents = {
        tuple((skill.name, _read(skill).hash) for skill in _admitted(candidate, provider))
        for provider in candidate.providers
    }
    if len(contents) > 1:
        yield Problem(
            code=Code.AMBIGUOUS_PROVIDER,
            message=f"{candidate.key} {candidate.choice.package.version} is installed in several variants, "
            "and their skills differ",
            hint="uninstall all but one of them",
            provider=candidate.key,
        )


def _admitted(candidate: Candidate, provider: Provider) -> tuple[FoundSkill, ...]:
    return replace(candidate, providers=(provider,)).admitted
