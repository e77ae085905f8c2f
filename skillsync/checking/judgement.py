"""What is wrong with each tree and artifact, said once: an artifact has what its tree has.

Invariants: pure; what is missing is said of the tree, where it is mended; what is wrong in both is said of the tree.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING

from skillsync.checking import rules, unnamed
from skillsync.checking.comparison import differences, replaced_links
from skillsync.checking.offer import joined, problem
from skillsync.checking.packaging import left_out
from skillsync.checking.pairing import paired
from skillsync.errors import Code, Problem, Severity
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from skillsync.checking.offer import Offer, Shipped
    from skillsync.checking.pairing import Pair


class Judged(Value):
    """One offer, what is said of it, and what is wrong in it as in its tree, of which it is said."""

    offer: Offer
    problems: tuple[Problem, ...]
    repeated: tuple[Problem, ...] = ()


def judge(offers: Sequence[Offer], built: Sequence[Pair] = ()) -> list[Judged]:
    """Return the offers, and the artifacts that trees among them were built to, each with what is wrong."""
    named, alone = paired(offers)
    everything = [*offers, *(artifact for _, artifact in built)]
    more: defaultdict[tuple[str | None, str | None], list[Problem]] = defaultdict(list)
    for one in (*alone, *_of_several(everything, named, built)):
        more[one.root, one.provider].append(one)
    return [
        replace(one, problems=(*one.problems, *more[one.offer.package.root, one.offer.package.key]))
        for one in _of_each(everything, [*named, *built])
    ]


def _of_several(offers: Sequence[Offer], named: Sequence[Pair], built: Sequence[Pair]) -> Iterator[Problem]:
    """Yield what is told by offers beside each other, and by those that there are none of."""
    pairs = [*named, *built]
    compared = {id(tree) for tree, _ in pairs}
    for offer in offers:
        if id(offer) not in compared:
            yield from left_out(offer)
    yield from differences(pairs)
    yield from _shared(offers, pairs)
    yield from unnamed.problems(offers, named, built)


def _of_each(offers: Sequence[Offer], pairs: Sequence[Pair]) -> Iterator[Judged]:
    """Yield each offer with what is wrong in it by the rules; of an artifact, what is so in its tree is said there."""
    trees = {id(artifact): tree for tree, artifact in pairs}
    # Some builds put skills where they are; what isn't in the tree's own places is in the artifact's.
    filled = {id(tree) for tree, artifact in pairs if artifact.skills}
    replaced = replaced_links(pairs)
    found = {id(offer): rules.problems(_as_its_tree(offer, trees.get(id(offer)))) for offer in offers}
    for offer in offers:
        problems, repeated = found[id(offer)], list[Problem]()
        if tree := trees.get(id(offer)):
            # What one wheel has, another one may be without.
            has_skills = bool(tree.skills) or (id(tree) in filled and not offer.is_installed)
            problems, repeated = _told_apart(offer, problems, found[id(tree)], has_skills=has_skills)
        elif id(offer) in filled:
            problems = [one for one in problems if one.code is not Code.NO_SKILLS]
        void = {_bare(one) for one in found[id(tree or offer)] if _is_void(one, replaced)}
        yield Judged(
            offer=offer,
            problems=tuple(one for one in problems if _bare(one) not in void),
            repeated=tuple(one for one in repeated if _bare(one) not in void),
        )


def _as_its_tree(offer: Offer, tree: Offer | None) -> Offer:
    """Return an artifact that may be without skills where its tree may."""
    return replace(offer, is_beside=tree.is_beside) if tree and not tree.skills else offer


def said(judged: Iterable[Judged]) -> list[Problem]:
    """Return all that is wrong, each once: packages of one tree share files."""
    found = [problem for one in judged for problem in one.problems]
    return list({(one.message, one.line, one.column): one for one in reversed(found)}.values())[::-1]


class _Shipping(Value):
    """A skill as a package ships it; `made_by` is the tree of an artifact, the package itself where none is known."""

    offer: Offer
    made_by: Offer
    shipped: Shipped


def _shared(offers: Iterable[Offer], pairs: Iterable[Pair]) -> Iterator[Problem]:
    """Yield the names of skills that several packages ship.

    Of a tree that was built, its artifact tells; and what two packages of one tree both have, one of them may ship.
    """
    trees = {id(artifact): tree for tree, artifact in pairs}
    built = set(map(id, trees.values()))
    shipping: defaultdict[str, list[_Shipping]] = defaultdict(list)
    for offer in offers:
        if offer.is_read and (offer.is_installed or not (offer.is_artifact or id(offer) in built)):
            for shipped in (one for one in offer.skills if one.found.is_valid):
                mine = _Shipping(offer=offer, made_by=trees.get(id(offer), offer), shipped=shipped)
                known = shipping[shipped.found.name]
                taken = (other for other in known if _is_another(mine, other))
                yield from (_name_taken(mine, other) for other in islice(taken, 1))
                known.append(mine)


def _is_another(mine: _Shipping, other: _Shipping) -> bool:
    """Whether a skill is another package's; in several ecosystems, one library has one name, and so has its skill."""
    package, its = mine.offer.package, other.offer.package
    is_known = mine.offer.is_artifact and other.offer.is_artifact
    is_alike = package.ecosystem == its.ecosystem
    return is_alike and package.name != its.name and (is_known or not _are_one(mine, other))


def _are_one(mine: _Shipping, other: _Shipping) -> bool:
    """Whether two packages of one tree have a skill from one directory."""
    is_one_tree = mine.made_by.package.root == other.made_by.package.root
    return is_one_tree and mine.shipped.found.path == other.shipped.found.path


def _name_taken(mine: _Shipping, other: _Shipping) -> Problem:
    skill, its = mine.shipped.found, joined(other.offer.package.source, other.shipped.found.path)
    does = "rename one"
    if _are_one(mine, other):
        does = f"keep it out of `files` in {mine.made_by.about}, or in {other.made_by.about}"
    return problem(
        mine.offer.package,
        Code.DUPLICATE_SKILL,
        skill.path,
        f"has the name of a skill of {other.offer.package.key}: {its}",
        severity=Severity.WARNING,
        hint=f"{does}: a project with both packages can install neither skill",
        skill=skill.name,
    )


def _told_apart(
    artifact: Offer, problems: Iterable[Problem], tree: Iterable[Problem], *, has_skills: bool
) -> tuple[list[Problem], list[Problem]]:
    """Return what is wrong in an artifact alone, and what is so because it is in the tree.

    That there is no skill is said of each that is missing, where there is any; a lost executable bit is a difference;
    and what a source distribution has elsewhere may be another package's of the same tree, which knows.
    """
    known = {_bare(one) for one in tree}
    left_out = {Code.NOT_EXECUTABLE, *((Code.NO_SKILLS,) if has_skills else ())}
    left_out |= set() if artifact.is_installed else {Code.SKILL_ELSEWHERE}
    kept = [one for one in problems if one.code not in left_out]
    return [one for one in kept if _bare(one) not in known], [one for one in kept if _bare(one) in known]


def _is_void(one: Problem, replaced: Container[tuple[str | None, str | None]]) -> bool:
    """Whether a problem is of a link, and nobody gets that."""
    return one.code in {Code.UNSAFE_SKILL, Code.INVALID_SKILL} and (one.root, one.path) in replaced


def _bare(problem: Problem) -> tuple[object, ...]:
    """Return a problem without where it is."""
    path = problem.path or ""
    text = problem.message.removeprefix(posixpath.normpath(posixpath.join(problem.source or "", path)))
    inside = path.partition(f"/{problem.skill}")[2] if problem.skill else path
    return problem.code, problem.severity, problem.skill, inside, text, problem.line, problem.column
