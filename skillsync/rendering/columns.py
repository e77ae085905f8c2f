"""How many columns a terminal takes for a text: some characters take two, and accents none of their own.

Invariants: pure; where a terminal may show a character narrow or wide (Unicode's "ambiguous"), it is taken for narrow.
"""

from __future__ import annotations

from itertools import accumulate
from unicodedata import combining, east_asian_width


def columns(text: str) -> int:
    """Return how many columns a text takes."""
    return len(text) if text.isascii() else sum(map(_width, text))


def cut(text: str, most: int) -> str:
    """Return as much of a text, from its beginning, as takes at most so many columns."""
    if text.isascii():
        return text[: max(most, 0)]
    return "".join(one for one, used in zip(text, accumulate(map(_width, text)), strict=True) if used <= most)


def _width(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in {"W", "F"} else 1
