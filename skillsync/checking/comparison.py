"""Trees beside what was built of them: the commonest fault is that a skill of the tree is in no artifact.

Invariants: pure; what is missing is said of the tree, where it is mended.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from typing import TYPE_CHECKING

from skillsync.checking.offer import few, problem
from skillsync.checking.packaging import mend
from skillsync.errors import Code, Problem, Severity
from skillsync.hashing import MAX_LINKS, SKILL_FILE, File, Link, parents

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillsync.checking.offer import Offer, Shipped
    from skillsync.checking.pairing import Pair
    from skillsync.discovery.provider import FoundSkill
    from skillsync.hashing import Entry, Tree
    from skillsync.snapshot import Snapshot

_BUILD_AGAIN = "build it again"
# setuptools packs all that a former build has put there.
_BUILD_CLEAN = "run `rm -r build`, from which setuptools packs what is no more, and build it again"


def differences(pairs: Iterable[Pair]) -> Iterator[Problem]:
    """Yield what differs between the skills of trees and those of artifacts of them."""
    matches = [(tree, artifact, _matched(tree, artifact)) for tree, artifact in pairs]
    # A tree makes several packages, and each of its skills need be in one of them.
    shipping: defaultdict[tuple[str, str], dict[str, Offer]] = defaultdict(dict)
    for tree, artifact, built in matches:
        for path in built:
            shipping[tree.package.root, path][tree.package.key] = artifact
    for tree, artifact, built in matches:
        lost = {_kind(one): one for one in tree.skills if one.found.path not in built}
        hints = {kind: mend(tree, one) for kind, one in lost.items()}  # which take long of many skills
        for shipped in tree.skills:
            path = shipped.found.path
            if other := built.get(path):
                yield from _of_skill(tree, artifact, shipped, other)
            else:
                others = (one for key, one in shipping[tree.package.root, path].items() if key != tree.package.key)
                yield _missing(tree, artifact, shipped, next(others, None), hints[_kind(shipped)])
        yield from _of_another_state(tree, artifact, built.values())


def replaced_links(pairs: Iterable[Pair]) -> set[tuple[str | None, str | None]]:
    """Return the links of trees in whose places consumers get files, each after its tree's root."""
    return {
        (tree.package.root, path)
        for tree, artifact in pairs
        if artifact.is_installed and tree.is_python_source
        for path in _replaced_links(tree, artifact)
    }


def _replaced_links(tree: Offer, artifact: Offer) -> Iterator[str]:
    built = _matched(tree, artifact)
    for shipped in tree.skills:
        skill, other = shipped.found, built.get(shipped.found.path)
        if other and skill.is_link:
            yield from (skill.path, f"{skill.path}/{SKILL_FILE}")
        if other and shipped.snapshot and other.snapshot:
            inner = _replaced(shipped.snapshot.tree, other.snapshot.tree)
            yield from (f"{skill.path}/{path}" for path in inner)
    yield from (place for place in _linked_places(tree) if any(_is_below(tree, place, one) for one in artifact.skills))


def _replaced(mine: Tree, its: Tree) -> set[str]:
    """Return the links of a skill in whose places a build has put files."""
    filled = {path for path, entry in its.items() if isinstance(entry, File)}
    filled |= {above for path in its for above in parents(path)}
    return {path for path, entry in mine.items() if isinstance(entry, Link) and path in filled}


def _linked_places(tree: Offer) -> list[str]:
    """Return the directories of skills that are links, so that nothing in them was looked at."""
    return [one.path for one in tree.provider.problems if one.code is Code.UNSAFE_SKILL and one.path]


def _is_below(tree: Offer, place: str, other: Shipped) -> bool:
    return any(other.found.path.startswith(f"{one}/") for one in tree.identity.installed(place))


def _of_another_state(tree: Offer, artifact: Offer, built: Iterable[Shipped]) -> Iterator[Problem]:
    """Yield the skills of an artifact that its tree does not have."""
    taken = {one.found.path for one in built}
    moved = {one.rpartition("/")[2] for one in tree.elsewhere}
    text, severity, hint = "the artifact is of another state", Severity.WARNING, _without_more(tree, artifact)
    if artifact.is_fresh:
        text, severity, hint = "the build makes it", Severity.NOTE, "see that it makes the same of every clone"
    linked = _linked_places(tree)
    for other in artifact.skills:
        is_linked = any(_is_below(tree, place, other) for place in linked)
        if not (other.found.path in taken or other.found.name in moved or is_linked):
            yield problem(
                artifact.package,
                Code.ARTIFACT_DIFFERS,
                other.found.path,
                f"is not in {tree.package.source}: {text}",
                severity=severity,
                hint=hint,
                skill=other.found.name,
            )


def _without_more(tree: Offer, artifact: Offer) -> str:
    """Say how an artifact is built that has no more than its tree."""
    return _BUILD_CLEAN if artifact.is_installed and tree.identity.backend.startswith("setuptools") else _BUILD_AGAIN


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


def _kind(skill: Shipped) -> tuple[bool, bool]:
    """Return by what skills of a tree differ in how a build takes them in."""
    return skill.is_ignored, skill.found.is_link


def _missing(tree: Offer, artifact: Offer, shipped: Shipped, shipping: Offer | None, hint: str) -> Problem:
    """Say that a skill is not in an artifact; `shipping` is that of another package of the tree that has it."""
    skill, severity = shipped.found, Severity.ERROR
    text = f"is not in {artifact.package.source}"
    at = [one for one in artifact.elsewhere if one.rpartition("/")[2] == skill.name]
    if at:
        text = f"is in {artifact.package.source} as {at[0]}, where no consumer looks"
    elif shipping:
        text += f"; it is in {shipping.package.source}"
        hint, severity = f"if {tree.package.key} is to ship it, too: {hint}", Severity.NOTE
    return problem(
        tree.package, Code.SKILL_NOT_PACKAGED, skill.path, text, severity=severity, hint=hint, skill=skill.name
    )


def _of_skill(tree: Offer, artifact: Offer, shipped: Shipped, other: Shipped) -> Iterator[Problem]:
    if shipped.snapshot is None or other.snapshot is None:
        return
    skill, where = shipped.found, artifact.package.source
    mine, its = shipped.snapshot.tree, other.snapshot.tree
    replaced = _replaced(mine, its) if tree.is_python_source else set()
    missing = [path for path in mine if path not in its and path not in shipped.unshared | replaced]
    # Of what a link out of the skill leads to, only the build knows.
    unknown = {path for path in replaced if isinstance(_content(mine, path, mine[path]), Link)}
    changed = [
        path
        for path, entry in mine.items()
        if path in its and path not in unknown and its[path] not in {entry, _content(mine, path, entry)}
    ]
    if missing:
        hint = mend(tree, shipped, missing)
        text = f"is in {where} without {few(missing)}"
        yield problem(tree.package, Code.SKILL_NOT_PACKAGED, skill.path, text, hint=hint, skill=skill.name)
    if changed:
        text = f"has other content in {where}: {few(changed)}"
        severity, hint = Severity.ERROR, _BUILD_AGAIN
        if artifact.is_fresh:
            severity, hint = Severity.WARNING, "the build changes them: see that this is meant"
        yield problem(
            tree.package, Code.ARTIFACT_DIFFERS, skill.path, text, severity=severity, hint=hint, skill=skill.name
        )
    yield from _ignored(tree, where, shipped, its)
    yield from _bits(tree, where, skill, shipped.snapshot, other.snapshot)
    if more := [path for path in its if path not in mine and replaced.isdisjoint(parents(path))]:
        text = f"has more in {where}: {few(more)}"
        severity, hint = Severity.WARNING, f"{_without_more(tree, artifact)}; if the build makes them, this is well"
        if artifact.is_fresh:
            severity, hint = Severity.NOTE, "the build makes them: see that it makes the same of every clone"
        yield problem(
            tree.package, Code.ARTIFACT_DIFFERS, skill.path, text, severity=severity, hint=hint, skill=skill.name
        )


def _ignored(tree: Offer, where: str, shipped: Shipped, its: Tree) -> Iterator[Problem]:
    """Yield what git ignores of a skill, and whether the artifact has it all the same."""
    skill = shipped.found
    if packed := [path for path in shipped.unshared if path in its]:
        text = f"has in {where} what git ignores: {few(packed)}"
        hint = "if it is not meant for everybody, take it out and build again; if it is, `git add --force` it"
        severity = Severity.WARNING
        yield problem(
            tree.package, Code.ARTIFACT_DIFFERS, skill.path, text, severity=severity, hint=hint, skill=skill.name
        )
    if left := shipped.unshared.difference(its):
        text = f"is in {where} without what git ignores: {few(left)}"
        hint = "if it belongs to the skill, `git add --force` it"
        severity = Severity.NOTE
        yield problem(
            tree.package, Code.SKILL_NOT_PACKAGED, skill.path, text, severity=severity, hint=hint, skill=skill.name
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
            hint="the build drops it, and skillsync sets it again; "
            "for other tools, say in SKILL.md which program runs these",
            skill=skill.name,
        )


def _content(tree: Tree, path: str, entry: Entry) -> Entry:
    """Return the file of the tree that an entry stands for: many builds put one in a link's place."""
    for _ in range(MAX_LINKS):
        if isinstance(entry, File):
            break
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), entry.target))
        if path not in tree:
            break
        entry = tree[path]
    return entry
