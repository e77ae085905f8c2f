"""How far a long piece of work is, for who waits for it.

Invariants: pure; the same is done, in the same order, whether anybody is told or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

T = TypeVar("T")


class Track(Protocol):
    """Hands out the parts of a piece of work, one after the other, and tells how many are done."""

    def __call__(self, parts: Collection[T], words: str) -> Iterable[T]:
        """Return the parts as they are; `words` say what is done with them."""


def untracked(parts: Collection[T], words: str) -> Iterable[T]:  # noqa: ARG001  # nobody is told
    """Hand out the parts where nobody waits."""
    return parts
