"""What belongs to a tree and was not named, so that nobody has looked at it: what is published, or what was built.

Invariants: pure; what was named is not told of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.checking.offer import few, joined, problem
from skillsync.errors import Code, Severity, typed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from skillsync.checking.offer import Offer
    from skillsync.checking.pairing import Pair
    from skillsync.errors import Problem


def problems(offers: Sequence[Offer], pairs: Iterable[Pair], built: Iterable[Pair]) -> Iterator[Problem]:
    """Yield what wasn't looked at of trees; `pairs` are those with artifacts that were named, too.

    What was built for this run is another one than lies there, and made by npm, which packs the tree itself.
    """
    named = {one.package.root for one in offers}
    compared = {id(tree) for tree, _ in pairs}
    alone = [one for one in offers if not one.is_artifact and id(one) not in compared]
    for tree in alone:
        yield from _published(tree, named)
    compared = {id(tree) for tree, _ in built}
    for tree in alone:
        if id(tree) not in compared:
            yield from _artifacts(tree, named)


def _published(offer: Offer, named: Collection[str]) -> Iterator[Problem]:
    """Yield the directory that is published in a tree's place."""
    package, directory = offer.package, offer.identity.directory
    place = joined(package.root, directory)
    if directory and place not in named:
        yield problem(
            package,
            Code.NOT_COMPARED,
            offer.about,
            f"has pnpm publish `{directory}` in this directory's place, which is not looked at",
            severity=Severity.WARNING,
            hint=f"check that as well, once it is built: {typed('check', joined(package.source, directory))}",
        )


def _artifacts(offer: Offer, named: Collection[str]) -> Iterator[Problem]:
    """Yield the artifacts that lie in a tree beside what makes it one."""
    if left := [one for one in offer.artifacts if joined(offer.package.root, one) not in named]:
        yield problem(
            offer.package,
            Code.NOT_COMPARED,
            ".",
            f"is a source tree, and what was built of it is not looked at: {few(left)}",
            severity=Severity.NOTE,
            hint="to have it compared, name it, too; if it is an older release, this is well",
        )
