"""What the packaging spec and the Agent Skills format ask of a provider, as findings with a place and a mend.

Invariants: pure; what keeps a consumer from installing a skill is an error, what makes it worse a warning, and what
may well be meant a note; the rules for one skill are discovery's and the tree walker's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync import hidden
from skillsync.checking import links, scripts, texts
from skillsync.checking.mending import QUOTES, mended
from skillsync.checking.offer import (
    SKILLS,
    WHEEL,
    few,
    fixed,
    problem,
)
from skillsync.discovery import PYPI
from skillsync.errors import Code, Problem, Severity
from skillsync.hashing import SKILL_FILE
from skillsync.schema import is_visible, quoted
from skillsync.snapshot import is_ignored, link_faults, shipped_faults
from skillsync.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillsync.checking.offer import Offer, Shipped
    from skillsync.discovery.provider import FoundSkill
    from skillsync.snapshot import Snapshot

# Parts of a skill's path that name no package.
_PLACES = {".agents", "skills", "src", "lib", "python"}
_NO_SKILLS = {
    "gem": "put each skill in a directory of its own: skills/NAME/SKILL.md",
    "pypi": "put each skill in the import package: PACKAGE/.agents/skills/NAME/SKILL.md",
    "npm": "put each skill in a directory of its own: skills/NAME/SKILL.md",
}

_PUBLISH = "take `private` out of package.json, if it is to be published"


def problems(offer: Offer) -> list[Problem]:
    """Return all that is wrong with one offer, what is wrong with the whole of it first."""
    if not offer.is_read:
        return list(offer.problems)
    found = [*offer.problems, *(offer.retold(one).as_error() for one in offer.provider.problems)]
    if not offer.skills and not offer.is_beside:
        found.append(_no_skills(offer))
    for shipped in offer.skills:
        found += _of_skill(offer, shipped)
    found += links.problems(offer)
    found += _doubled(offer)
    found += _hollow(offer)
    found += _elsewhere(offer) if offer.identity.is_published else _unpublished(offer)
    return found


def _no_skills(offer: Offer) -> Problem:
    is_it = "is" if offer.is_artifact else "makes"
    text = f"{is_it} {offer.package.key}, which ships no skill: looked in {', '.join(offer.searched)}"
    hint = _NO_SKILLS[offer.package.ecosystem]
    if offer.is_artifact:
        hint += "; if it is meant to ship none, don't name it here"
    if not offer.identity.is_published:
        text, hint = "is private: npm never publishes it", f"{_PUBLISH}; or name the packages that are published"
    if offer.below:
        hint = f"check the projects below it that have skills: {few(offer.below)}"
    return problem(
        offer.package,
        Code.NO_SKILLS,
        "." if offer.is_artifact else offer.about,
        text,
        hint=hint,
    )


def _of_skill(offer: Offer, shipped: Shipped) -> Iterator[Problem]:
    skill = shipped.found
    yield from (_with_mend(offer, shipped, offer.retold(one)) for one in skill.problems)
    is_known = offer.identity.is_stated or offer.package.ecosystem == "gem"  # a gemspec is called like its gem
    # An import package's name is as good.
    named = {offer.package.name, *({*skill.path.split("/")[:-1]} - _PLACES)}
    if skill.is_valid and is_known and not any(is_distinct(skill.name, one) for one in named):
        yield problem(
            offer.package,
            Code.NAME_COLLISION,
            f"{skill.path}/{SKILL_FILE}",
            f"has the name `{skill.name}`, which a skill of another package may have as well",
            severity=Severity.NOTE,
            hint=f"put the package's name into it, as in `{stem(offer.package.name)}-{skill.name}`: "
            "consumers can't install two skills of one name",
            skill=skill.name,
        )
    if shipped.is_ignored:
        yield problem(
            offer.package,
            Code.SKILL_NOT_PACKAGED,
            skill.path,
            "is ignored by git: what is built of a clone is without it",
            severity=Severity.WARNING,
            hint="`git add --force` it, or take it out of .gitignore; if the build makes it, this is well",
            skill=skill.name,
        )
    if shipped.snapshot is not None:
        yield from _of_tree(offer, shipped, shipped.snapshot)
    yield from texts.problems(offer, shipped)


def _with_mend(offer: Offer, shipped: Shipped, found: Problem) -> Problem:
    """Return a problem of a skill's frontmatter with what mends it, where discovery leaves that to the provider."""
    if not found.is_error:
        return replace(found, hint="shorten it")
    new = mended(shipped.found.name, SKILL_FILE, shipped.texts.get(SKILL_FILE, b""))
    does_it = new is not None and QUOTES in new.what
    return replace(found, hint=f"{found.hint}; {fixed(offer, 'does it')}") if does_it else found


def is_distinct(skill: str, package: str) -> bool:
    """Whether a skill's name has the package's in it, or what is before a hyphen or the scope of that."""
    scope, _, base = package.lower().replace("_", "-").replace(".", "-").rpartition("/")
    stems = {base, base.partition("-")[0], scope.removeprefix("@")} - {""}
    return any(f"-{one}-" in f"-{skill}-" for one in stems)


def stem(package: str) -> str:
    """Return a package's name as a skill's may begin."""
    base = package.rpartition("/")[2].lower()
    return "-".join(
        part for part in "".join(c if c.isascii() and c.isalnum() else "-" for c in base).split("-") if part
    )


def _of_tree(offer: Offer, shipped: Shipped, snapshot: Snapshot) -> Iterator[Problem]:
    """Yield what makes a skill unsafe, and what is wrong with its files as files."""
    skill, stray = shipped.found, set(link_faults(snapshot.tree))
    for fault in shipped_faults(snapshot):
        path = f"{skill.path}/{fault.path}"
        severity, reason = Severity.ERROR, fault.reason
        hint = "take it out of the skill: no consumer installs one that holds it"
        if offer.is_python_source and fault in stray:
            severity = Severity.WARNING
            hint = "put the file itself in its place, or see by --build that what is built has one there"
        if fault.path in shipped.unshared:
            severity, reason = Severity.NOTE, f"{reason}; git ignores it, so nobody else has it"
            hint = "see that what is built here has it not: no consumer installs a skill that holds it"
        yield problem(offer.package, Code.UNSAFE_SKILL, path, reason, severity=severity, hint=hint, skill=skill.name)
    yield from _nested(offer, skill, snapshot)
    yield from _hidden(offer, skill, snapshot)
    yield from scripts.problems(offer, shipped, snapshot)


def _nested(offer: Offer, skill: FoundSkill, snapshot: Snapshot) -> Iterator[Problem]:
    """Yield the skills that a skill holds."""
    if inner := [path.rpartition("/")[0] for path in snapshot.tree if path.endswith(f"/{SKILL_FILE}")]:
        text = f"holds what no consumer finds as a skill of its own: {few(inner)}"
        hint = f"if that is not meant, move each beside `{skill.name}`"
        severity = Severity.NOTE
        yield problem(
            offer.package, Code.SKILL_ELSEWHERE, skill.path, text, severity=severity, hint=hint, skill=skill.name
        )


def _hidden(offer: Offer, skill: FoundSkill, snapshot: Snapshot) -> Iterator[Problem]:
    """Yield the names and files that hold what nobody sees."""
    for path in sorted({*snapshot.tree, *snapshot.hidden}):
        named = hidden.in_name(path)
        finding = snapshot.hidden.get(path)
        if named is None and finding is None:
            continue
        what = f"{named} in its name" if named else f"{finding}"
        first = None if named or finding is None else finding.first
        yield problem(
            offer.package,
            Code.HIDDEN_CHARACTERS,
            f"{skill.path}/{path}",
            f"has {what}",
            hint="take it out: consumers refuse what nobody sees and an agent reads",
            skill=skill.name,
            line=first.line if first else None,
            column=first.column if first else None,
        )


def _doubled(offer: Offer) -> Iterator[Problem]:
    """Yield the names that are there twice: consumers can install neither."""
    places: dict[str, list[str]] = {}
    for shipped in offer.skills:
        if shipped.found.is_valid:
            places.setdefault(shipped.found.name, []).append(shipped.found.path)
    for name, paths in places.items():
        if len(paths) > 1:
            text = f"is not the only skill `{name}`: there is {' and '.join(paths[1:])}"
            hint = "ship it once"
            yield problem(offer.package, Code.DUPLICATE_SKILL, paths[0], text, hint=hint, skill=name)


def _hollow(offer: Offer) -> Iterator[Problem]:
    """Yield the directories beside skills that are none; where there are skills further down, it is said of those."""
    for ignored in offer.provider.ignored:
        is_hollow = ignored.reason == f"has no {SKILL_FILE}" and not is_ignored(f"{ignored.path}/")
        if is_hollow and not any(_is_below(one, ignored.path) for one in offer.elsewhere):
            hint = f"add {SKILL_FILE}, or move it elsewhere"
            text = f"{ignored.reason}, so it is no skill"
            yield problem(offer.package, Code.NO_SKILL_FILE, ignored.path, text, severity=Severity.NOTE, hint=hint)


def _unpublished(offer: Offer) -> Iterator[Problem]:
    """Yield the skills of a package that is private, where that isn't what is wrong with all that is checked."""
    if offer.is_beside and offer.elsewhere:
        text = f"is private: npm never publishes it, nor its skills: {few(offer.elsewhere)}"
        yield problem(offer.package, Code.SKILL_NOT_PACKAGED, offer.about, text, severity=Severity.NOTE, hint=_PUBLISH)


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")


def _elsewhere(offer: Offer) -> Iterator[Problem]:
    """Yield the skills where no consumer looks. Nobody knows yet whether those of a source are shipped."""
    severity = Severity.WARNING if offer.is_installed else Severity.NOTE
    where = "PACKAGE/.agents/skills/NAME/" if offer.package.ecosystem == PYPI else "skills/NAME/"
    above: dict[str, list[str]] = {}
    for directory in offer.misplaced:
        place, _, name = directory.rpartition("/")
        # At the top there is no directory that a manifest could name; and `skills` holds skills, and is none.
        if not place or name == "skills":
            path, text = f"{directory}/{SKILL_FILE}".lstrip("/"), "is where no consumer looks"
            hint = f"move it to {directory if name == 'skills' else where.removesuffix('/NAME/')}/NAME/{SKILL_FILE}"
            yield problem(offer.package, Code.SKILL_ELSEWHERE, path, text, severity=severity, hint=hint)
        else:
            above.setdefault(place, []).append(name)
    # Where a Python source tree's files are once they are installed, its build alone decides.
    is_installed_alike = offer.package.ecosystem != PYPI or offer.package.source.endswith(WHEEL)
    for place, names in sorted(above.items()):
        text = f"holds what no consumer finds as a skill: {few(names)}"
        hint = f"move {'what is for consumers' if place == SKILLS else 'each'} to {where}"
        # Installers put a wheel's data elsewhere.
        if is_installed_alike and is_visible(place) and not place.partition("/")[0].endswith(".data"):
            hint += f", or tell consumers to write `path = {quoted(place)}` in their manifest"
        yield problem(offer.package, Code.SKILL_ELSEWHERE, place, text, severity=severity, hint=hint)
