"""Mends a source tree's skills on disk: texts, and executable bits.

Invariants: changes only what `mending` has changed, in files that the tree walker found; a file is replaced at once and
keeps its mode; one that has changed meanwhile is left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.checking.mending import mended
from skillsync.checking.offer import TEXT_LIMIT, is_looked_into, joined, lacks_bit, problem
from skillsync.errors import Code, UnreadableError
from skillsync.filesystem import make_executable_below, replace_below
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillsync.checking.offer import Offer, Shipped
    from skillsync.errors import Problem


class Repaired(Value):
    """A file that was mended: what it was and is, and what was done to it; None where only its mode is another."""

    source: str
    path: str
    what: tuple[str, ...]
    old: bytes | None
    new: bytes | None

    @property
    def place(self) -> str:
        """Where it is, for a person."""
        return joined(self.source, self.path)


def repair(offers: Iterable[Offer]) -> tuple[list[Repaired], list[Problem]]:
    """Mend the trees; return what was done, and what the system refused."""
    done: list[Repaired] = []
    problems: list[Problem] = []
    seen: set[tuple[str, str]] = set()
    for offer in offers:
        for shipped in offer.skills:
            for path in _files(shipped):
                place = f"{shipped.found.path}/{path}"
                if (offer.package.root, place) in seen:
                    continue  # packages of one tree share their files
                seen.add((offer.package.root, place))
                try:
                    done += _repaired(offer, shipped, path)
                except (OSError, UnreadableError) as error:
                    text = f"can't be mended: {getattr(error, 'strerror', None) or error}"
                    problems.append(
                        problem(offer.package, Code.IO, place, text, hint="correct that, or mend it by hand")
                    )
    return done, problems


def _files(shipped: Shipped) -> Iterator[str]:
    facts = shipped.snapshot.facts if shipped.snapshot else {}
    yield from (
        path for path, content in sorted(shipped.texts.items()) if is_looked_into(path, content) and path in facts
    )


def _repaired(offer: Offer, shipped: Shipped, path: str) -> Iterator[Repaired]:
    """Mend one file, if there is anything to mend."""
    package, place, content = offer.package, f"{shipped.found.path}/{path}", shipped.texts[path]
    found = mended(shipped.found.name, path, content)
    if found and not replace_below(package.root, place, content, found.content, TEXT_LIMIT):
        found = None
    assert shipped.snapshot is not None  # noqa: S101  # it has files
    facts = shipped.snapshot.facts[path]
    is_now_executable = lacks_bit(path, facts, content)
    if is_now_executable:
        make_executable_below(package.root, place)
    what = (*(found.what if found else ()), *(("executable bit",) if is_now_executable else ()))
    if what:
        old, new = (content, found.content) if found else (None, None)
        yield Repaired(source=package.source, path=place, what=what, old=old, new=new)
