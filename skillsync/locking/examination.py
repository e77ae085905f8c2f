"""What is wrong with the packages that were found, as far as frontmatter, names and the manifest tell.

Invariants: pure; two admitted providers of one name are an error, never a choice; what nobody relies on is a warning,
and what the manifest leaves out not even that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillsync.errors import LOOK, Code, Problem, Severity, typed
from skillsync.locking.choice import Candidate, manifest_problem, version_not_admitted
from skillsync.locking.manifest import FILE_NAME, Manifest, is_pattern, matches, skill_fault
from skillsync.locking.pins import Pinned, raised
from skillsync.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skillsync.discovery.provider import FoundSkill


def examine(candidates: Sequence[Candidate], manifest: Manifest, pinned: Pinned) -> list[Problem]:
    """Return what is wrong with the packages that were found, as far as frontmatter and names tell."""
    problems: list[Problem] = []
    for candidate in candidates:
        problems += _about_package(candidate)
        for provider in candidate.providers:
            for skill in provider.skills:
                if candidate.choice.admits(skill.name):
                    problems += raised(_told(skill, candidate), skill, candidate, pinned)
        problems += _about_rule(candidate)
        problems += _about_version(candidate, pinned)
        problems += _hollow(candidate, pinned)
    problems += _unmatched(candidates, manifest)
    problems += _duplicates(candidates, pinned)
    return list(dict.fromkeys(problems))


def left_out(candidates: Iterable[Candidate]) -> list[Problem]:
    """Return what is wrong with the skills that are not admitted.

    Nobody is warned of it: the manifest has settled what would be to do about it. Who asks is told.
    """
    problems = (
        problem.as_warning()
        for candidate in candidates
        for provider in candidate.providers
        for skill in provider.skills
        if not candidate.choice.admits(skill.name)
        for problem in map(_for_authors, skill.problems)
    )
    return list(dict.fromkeys(problems))


def _told(skill: FoundSkill, candidate: Candidate) -> Iterator[Problem]:
    """Yield what is wrong with an admitted skill, with the two ways to get on."""
    for problem in map(_for_authors, skill.problems):
        yield replace(problem, hint=f"{leaving_out(candidate.key, skill.name)}; {problem.hint}")


def _for_authors(problem: Problem) -> Problem:
    """Say who can mend what is wrong with a shipped file, and how: hardly ever who reads it here."""
    mend = f": {problem.hint}" if problem.hint else ""
    return replace(problem, hint=f"report it to the package's authors{mend}")


def _about_package(candidate: Candidate) -> Iterator[Problem]:
    rule = candidate.choice.rule
    for provider in candidate.providers:
        for problem in provider.problems:
            yield problem.as_error() if rule else problem
        if rule and rule.path and rule.path not in provider.places and not provider.problems:
            message = f"`{rule.key}.path`: {candidate.key} {provider.package.version} has no directory {rule.path}"
            problem = manifest_problem(message, "correct the path, or take it out for the usual places")
            yield replace(problem, provider=candidate.key)


def _hollow(candidate: Candidate, pinned: Pinned) -> Iterator[Problem]:
    """Yield the pinned skills whose directory is there without a SKILL.md: broken, not gone."""
    rule, version = candidate.choice.rule, candidate.choice.package.version
    for provider in candidate.providers:
        for ignored in provider.ignored:
            name = ignored.path.rpartition("/")[2]
            # What is there and another package's has left this one: an ordinary removal.
            if not provider.package.owns(ignored.path):
                continue
            if rule and rule.admits(name) and name in pinned.get(candidate.key, ()):
                yield Problem(
                    code=Code.INVALID_SKILL,
                    message=f"{candidate.key} {version}: {ignored.path} {ignored.reason}, but is locked",
                    hint=f"reinstall the package, or {exclusion(candidate.key, name)}",
                    skill=name,
                    provider=candidate.key,
                    path=ignored.path,
                    root=provider.package.root,
                )


def without_skills(candidate: Candidate, passed: str = "") -> str:
    """Say that a package has no skills, and where they were looked for; `passed` is what was passed over there."""
    choice = candidate.choice
    places = ", ".join(choice.places)
    return f"{candidate.key} {choice.package.version} is installed and ships no skills (looked in {places}{passed})"


def _about_rule(candidate: Candidate) -> Iterator[Problem]:
    """Yield what a provider's entry asks for and doesn't get."""
    rule = candidate.choice.rule
    if rule is None or not rule.is_exact:
        return
    shipped = {skill.name for skill in candidate.provider.skills}
    if not shipped:
        yield _skill_not_found(without_skills(candidate), candidate, None, Severity.WARNING)
    for texts, name in ((rule.skills or (), "skills"), (rule.exclude, "exclude")):
        for text in texts:
            if not any(matches(text, skill) for skill in shipped):
                yield _no_such_skill(text, f"{rule.key}.{name}", candidate, strict=name == "skills")


def _about_version(candidate: Candidate, pinned: Pinned) -> Iterator[Problem]:
    """Yield what a pattern is for and whose version it doesn't admit; an exact name has its own problem already.

    An update of the package must not take away in silence what was approved: then it is an error.
    """
    choice = candidate.choice
    if choice.refusing and not choice.refusing.is_exact and candidate.provider.skills:
        problem = version_not_admitted(candidate.key, choice.package.version, choice.refusing)
        yield problem if candidate.key in pinned else replace(problem, severity=Severity.WARNING)


def _no_such_skill(text: str, key: str, candidate: Candidate, *, strict: bool) -> Problem:
    message = f"`{key}`: {candidate.key} {candidate.choice.package.version} ships no skill `{text}`"
    if is_pattern(text):
        return replace(_skill_not_found(message, candidate, None, Severity.WARNING), code=Code.PATTERN_UNMATCHED)
    return _skill_not_found(message, candidate, text, Severity.ERROR if strict else Severity.WARNING)


def _skill_not_found(message: str, candidate: Candidate, skill: str | None, severity: Severity) -> Problem:
    shipped = ", ".join(skill.name for skill in candidate.provider.skills)
    look = f"{typed('show', candidate.key)} says what is in it"
    hint = f"it ships {shipped}" if shipped else f"take it out of {FILE_NAME}, or set its `path`: {look}"
    if skill and severity is Severity.ERROR:
        hint += f"; to take the name out, {exclusion(candidate.key, skill)}"
    return Problem(
        code=Code.SKILL_NOT_FOUND,
        message=message,
        hint=hint,
        severity=severity,
        skill=skill,
        provider=candidate.key,
        path=FILE_NAME,
    )


def _unmatched(candidates: Sequence[Candidate], manifest: Manifest) -> Iterator[Problem]:
    """Yield the patterns that are for no provider."""
    shipping = [candidate.choice.package for candidate in candidates if candidate.provider.skills]
    for ecosystem, rules in (manifest.rules or {}).items():
        names = [package.name for package in shipping if package.ecosystem == ecosystem]
        for rule in rules:
            # One that another entry governs is a match: else what is kept out would make a pattern look wrong.
            if not rule.is_exact and not any(matches(rule.pattern, name) for name in names):
                yield Problem(
                    code=Code.PATTERN_UNMATCHED,
                    message=f"`{rule.key}` in {FILE_NAME} matches no installed package that ships skills",
                    hint=LOOK,
                    severity=Severity.WARNING,
                    path=FILE_NAME,
                )


def _duplicates(candidates: Sequence[Candidate], pinned: Pinned) -> Iterator[Problem]:
    """Yield the names that are shipped twice. Packaging spec, section 8: never select one implicitly.

    The hint leaves out one that is new, not the one that was approved.
    """
    owners: dict[str, dict[str, Candidate]] = {}
    for candidate in sorted(candidates, key=lambda candidate: candidate.key):
        places: dict[str, list[str]] = {}
        for skill in candidate.admitted:
            owners.setdefault(skill.name, {})[candidate.key] = candidate
            places.setdefault(skill.name, []).append(skill.path)
        yield from (_doubled(candidate, name, paths) for name, paths in places.items() if len(paths) > 1)
    for name, sharing in sorted(owners.items()):
        if len(sharing) > 1:
            found = tuple(sharing.values())
            new = [one for one in found if name not in pinned.get(one.key, ())]
            yield Problem(
                code=Code.DUPLICATE_SKILL,
                message=f"the skill {name} is shipped by "
                + " and by ".join(f"{one.key} {one.choice.package.version}" for one in found),
                hint=f"let all but one exclude it: {exclusion((new or found)[-1].key, name)}",
                skill=name,
                provider=found[0].key,
            )


def _doubled(candidate: Candidate, name: str, paths: Sequence[str]) -> Problem:
    """Say that one package has a name in several of its places."""
    package = candidate.choice.package
    place = paths[0].rpartition("/")[0]
    return Problem(
        code=Code.DUPLICATE_SKILL,
        message=f"{candidate.key} {package.version} ships the skill {name} in several places: {', '.join(paths)}",
        hint=f"in {FILE_NAME}, under [providers.{package.ecosystem}], name the place that counts, "
        f'`"{package.name}" = {{ path = "{place}" }}`, or {exclusion(candidate.key, name)}',
        skill=name,
        provider=candidate.key,
        path=paths[0],
        root=package.root,
    )


def exclusion(key: str, skill: str) -> str:
    """Say how one provider's skill is left out, and the others' stay in."""
    return f"run {typed('deny', key, '--skill', _nameable(skill))}"


def leaving_out(key: str, skill: str) -> str:
    """Say how a skill with which something is wrong is a warning no more."""
    return f"to leave it out and hear no more of it, {exclusion(key, skill)}"


def _nameable(skill: str) -> str:
    """Return what the manifest can name a skill by: a directory's name that can be no skill's is met by a pattern."""
    if skill_fault(skill) is None:
        return skill
    pattern = re.sub("[^a-z0-9-]", "?", skill)
    return pattern if is_pattern(pattern) else f"?{pattern[1:]}"
