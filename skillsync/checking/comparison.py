"""Trees beside what was built of them: the commonest fault is that a skill of the tree is in no artifact.

Invariants: pure; what is missing is said of the tree, where it is mended; what is wrong in both is said once.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from skillsync.checking import rules
from skillsync.checking.offer import few, problem
from skillsync.checking.packaging import mend
from skillsync.errors import Code, Problem, Severity
from skillsync.hashing import MAX_LINKS, File

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from skillsync.checking.offer import Offer, Shipped
    from skillsync.discovery.provider import FoundSkill
    from skillsync.hashing import Entry, Tree
    from skillsync.snapshot import Snapshot

_BUILD_AGAIN = "build it again"


def problems(offers: Sequence[Offer]) -> list[Problem]:
    """Return all that is wrong, each once: packages of one tree share files, and an artifact has what its tree has."""
    known = pairs(offers)
    trees = {id(artifact): tree for tree, artifact in known}
    # Some builds put skills where they are; what isn't in the tree's own places is in the artifact's.
    filled = {id(tree) for tree, artifact in known if artifact.skills}
    own = {id(offer): rules.problems(offer) for offer in offers}
    found: list[Problem] = []
    for offer in offers:
        if tree := trees.get(id(offer)):
            found += _unrepeated(
                offer, own[id(offer)], own[id(tree)], has_skills=bool(tree.skills) or id(tree) in filled
            )
            found += _compared(tree, offer)
        else:
            found += [one for one in own[id(offer)] if one.code is not Code.NO_SKILLS or id(offer) not in filled]
    return list({(one.message, one.line, one.column): one for one in reversed(found)}.values())[::-1]


def pairs(offers: Iterable[Offer]) -> list[tuple[Offer, Offer]]:
    """Return each artifact with the tree that it is of: the one of its name, or one whose name only a build knows."""
    known = list(offers)
    trees = [one for one in known if not one.is_artifact]
    found = []
    for artifact in known:
        if artifact.is_artifact and artifact.is_read:
            alike = [one for one in trees if one.package.ecosystem == artifact.package.ecosystem]
            named = [one for one in alike if one.package.name == artifact.package.name]
            named = named or [one for one in alike if not one.identity.is_stated]
            if len(named) == 1:
                found.append((named[0], artifact))
    return found


def _compared(tree: Offer, artifact: Offer) -> Iterator[Problem]:
    """Yield what differs between the skills of a tree and those of an artifact of it."""
    built = _matched(tree, artifact)
    for shipped in tree.skills:
        if other := built.get(shipped.found.path):
            yield from _of_skill(tree, artifact, shipped, other)
        else:
            yield _missing(tree, artifact, shipped)
    taken = {one.found.path for one in built.values()}
    moved = {one.rpartition("/")[2] for one in tree.elsewhere}
    for other in artifact.skills:
        if other.found.path not in taken and other.found.name not in moved:
            yield problem(
                artifact.package,
                Code.ARTIFACT_DIFFERS,
                other.found.path,
                f"is not in {tree.package.source}: the artifact is of another state",
                severity=Severity.WARNING,
                hint=_BUILD_AGAIN,
                skill=other.found.name,
            )


def _matched(tree: Offer, artifact: Offer) -> Mapping[str, Shipped]:
    """Return by a tree's paths the artifact's skills: each the one in its place, else the one of its name."""
    left = {one.found.path: one for one in artifact.skills}
    found: dict[str, Shipped] = {}
    for shipped in tree.skills:
        path = shipped.found.path
        if place := next((one for one in tree.identity.installed(path) if one in left), None):
            found[path] = left.pop(place)
    named = {one.found.name: one for one in left.values()}
    for shipped in tree.skills:
        if shipped.found.path not in found and (other := named.pop(shipped.found.name, None)):
            found[shipped.found.path] = other
    return found


def _missing(tree: Offer, artifact: Offer, shipped: Shipped) -> Problem:
    skill = shipped.found
    text = f"is not in {artifact.package.source}"
    at = [one for one in artifact.elsewhere if one.rpartition("/")[2] == skill.name]
    if at:
        text = f"is in {artifact.package.source} as {at[0]}, where no consumer looks"
    hint = mend(tree, shipped)
    return problem(tree.package, Code.SKILL_NOT_PACKAGED, skill.path, text, hint=hint, skill=skill.name)


def _of_skill(tree: Offer, artifact: Offer, shipped: Shipped, other: Shipped) -> Iterator[Problem]:
    if shipped.snapshot is None or other.snapshot is None:
        return
    skill, where = shipped.found, artifact.package.source
    mine, its = shipped.snapshot.tree, other.snapshot.tree
    missing = [path for path in mine if path not in its]
    changed = [
        path for path, entry in mine.items() if path in its and its[path] not in {entry, _content(mine, path, entry)}
    ]
    if missing:
        hint = mend(tree, shipped, missing)
        text = f"is in {where} without {few(missing)}"
        yield problem(tree.package, Code.SKILL_NOT_PACKAGED, skill.path, text, hint=hint, skill=skill.name)
    if changed:
        text = f"has other content in {where}: {few(changed)}"
        yield problem(tree.package, Code.ARTIFACT_DIFFERS, skill.path, text, hint=_BUILD_AGAIN, skill=skill.name)
    yield from _bits(tree, where, skill, shipped.snapshot, other.snapshot)
    if more := [path for path in its if path not in mine]:
        text = f"has more in {where}: {few(more)}"
        yield problem(
            tree.package,
            Code.ARTIFACT_DIFFERS,
            skill.path,
            text,
            severity=Severity.WARNING,
            hint=f"{_BUILD_AGAIN}; if the build makes them, this is well",
            skill=skill.name,
        )


def _bits(tree: Offer, where: str, skill: FoundSkill, mine: Snapshot, its: Snapshot) -> Iterator[Problem]:
    """Yield the scripts that some build has left without their executable bit."""
    lost = [
        path
        for path, facts in mine.facts.items()
        if facts.script and facts.executable and path in its.facts and not its.facts[path].executable
    ]
    if lost:
        yield problem(
            tree.package,
            Code.NOT_EXECUTABLE,
            skill.path,
            f"has in {where} no executable bit on {few(lost)}",
            severity=Severity.NOTE,
            hint="the build drops it, and skillsync sets it again; for other tools, say in SKILL.md how these are run, "
            "as in `sh scripts/NAME`",
            skill=skill.name,
        )


def _content(tree: Tree, path: str, entry: Entry) -> Entry:
    """Return the file that an entry stands for: many builds put one in a link's place."""
    for _ in range(MAX_LINKS):
        if isinstance(entry, File):
            break
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), entry.target))
        if path not in tree:
            break
        entry = tree[path]
    return entry


def _unrepeated(
    artifact: Offer, problems: Iterable[Problem], tree: Iterable[Problem], *, has_skills: bool
) -> list[Problem]:
    """Leave out what is wrong in an artifact because it is in the tree, which is said of the tree.

    That there is no skill is said of each that is missing, where there is any; a lost executable bit is a difference;
    and what a source distribution has elsewhere may be another package's of the same tree, which knows.
    """
    known = {_bare(one) for one in tree}
    left_out = {Code.NOT_EXECUTABLE, *((Code.NO_SKILLS,) if has_skills else ())}
    left_out |= set() if artifact.is_installed else {Code.SKILL_ELSEWHERE}
    return [one for one in problems if one.code not in left_out and _bare(one) not in known]


def _bare(problem: Problem) -> tuple[object, ...]:
    """Return a problem without where it is."""
    path = problem.path or ""
    text = problem.message.removeprefix(posixpath.normpath(posixpath.join(problem.source or "", path)))
    inside = path.partition(f"/{problem.skill}")[2] if problem.skill else path
    return problem.code, problem.severity, problem.skill, inside, text, problem.line, problem.column
