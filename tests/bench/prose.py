"""Text that looks like documentation, the same on every machine.

Invariants: pure; what is drawn depends on nothing but the seed.
"""

from __future__ import annotations

import random
from functools import cache

_VOCABULARY = (
    "the a client request response model schema field value option cache retry timeout connection pool session worker "
    "queue event handler route query cursor index table column migration version release config module package import "
    "export async await stream buffer token header body status error warning message log trace metric span context "
    "factory adapter plugin hook filter parser lexer node edge graph path file line character byte use prefer avoid "
    "never always when before after instead because check verify ensure return raise call pass define declare override "
    "inherit compose wrap"
)
WORDS = _VOCABULARY.split()
_CORPUS = 1 << 20
_WIDTH = 88


def chance(*seed: object) -> random.Random:
    """Return a source of chance that gives the same for the same seed, on every machine."""
    return random.Random("/".join(str(part) for part in seed))  # noqa: S311  nothing here is secret


@cache
def _corpus() -> bytes:
    """Return a MiB of lines with headings between them, made once: drawing every file by words would take minutes."""
    rng = chance("corpus")
    lines: list[str] = []
    size = 0
    while size < _CORPUS:
        text = " ".join(rng.choices(WORDS, k=_WIDTH // 7))
        lines.append(text if len(lines) % 9 else f"\n## {text.split()[0].title()}\n\n{text}")
        size += len(lines[-1]) + 1
    return "\n".join(lines).encode()


def prose(rng: random.Random, size: int) -> bytes:
    """Return so many bytes of text, at least a line; no two are alike."""
    mark = b"%010x " % rng.getrandbits(40)
    length = max(1, size - len(mark) - 1)
    start = rng.randrange(_CORPUS - length)
    return mark + _corpus()[start : start + length] + b"\n"


def sentence(rng: random.Random, words: int) -> str:
    """Return so many words in a line."""
    return " ".join(rng.choices(WORDS, k=words))
