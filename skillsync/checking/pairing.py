"""Which artifact is of which tree, of those that a person has named.

Invariants: pure; an artifact that is compared with no tree, beside trees, is told with the reason.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from skillsync.checking.offer import joined, problem
from skillsync.errors import Code, Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skillsync.checking.offer import Offer

_ZEROS = r"0+(?:\.0+)*(?!\.?\d)"
# A tree, and an artifact of it; or, of pnpm's, the directory that is published in the tree's place.
Pair: TypeAlias = "tuple[Offer, Offer]"


def paired(offers: Sequence[Offer]) -> tuple[list[Pair], list[Problem]]:
    """Return each artifact with the tree of its name, or with one whose name only a build knows; and the others."""
    found = list(published(offers))
    sources = {id(tree) for tree, _ in found}
    trees = [one for one in offers if not one.is_artifact and id(one) not in sources]
    alone: list[Problem] = []
    for artifact in offers:
        if artifact.is_artifact and artifact.is_read and trees:
            of_it = _trees_of(artifact, trees)
            if len(of_it) == 1 and not _is_another_version(of_it[0], artifact):
                found.append((of_it[0], artifact))
            else:
                alone.append(_not_compared(artifact, of_it))
    return found, alone


def published(offers: Sequence[Offer]) -> Iterator[Pair]:
    """Yield the trees with the directories that pnpm publishes in their places."""
    there = {(one.package.root, one.package.ecosystem): one for one in offers if not one.is_artifact}
    for tree in there.values():
        place = joined(tree.package.root, tree.identity.directory)
        if tree.identity.directory and place != tree.package.root and (place, tree.package.ecosystem) in there:
            yield tree, there[place, tree.package.ecosystem]


def _trees_of(artifact: Offer, trees: Iterable[Offer]) -> list[Offer]:
    alike = [one for one in trees if one.package.ecosystem == artifact.package.ecosystem]
    named = [one for one in alike if one.package.name == artifact.package.name]
    return named or [one for one in alike if not one.identity.is_stated]


def _is_another_version(tree: Offer, artifact: Offer) -> bool:
    """Whether an artifact is of another version than its tree; one of zeros is there for a build to replace."""
    mine = tree.package.version
    return mine != artifact.package.version and bool(mine) and not re.match(_ZEROS, mine)


def _not_compared(artifact: Offer, trees: Sequence[Offer]) -> Problem:
    key, severity = artifact.package.key, Severity.NOTE
    if not trees:
        text = f"is compared with no tree: none that is named makes {key}"
        hint = "name its tree, too"
    elif len(trees) > 1:
        text = f"is compared with no tree: {' and '.join(one.package.source for one in trees)} make {key}"
        hint = "name one of them"
    else:
        mine = trees[0].package
        text = f"is compared with no tree: it is {artifact.package.version}, and the tree {mine.source} {mine.version}"
        hint, severity = "build it again; or leave it out, if it is an older release", Severity.WARNING
    return problem(artifact.package, Code.NOT_COMPARED, ".", text, severity=severity, hint=hint)
