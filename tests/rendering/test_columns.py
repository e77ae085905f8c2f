from __future__ import annotations

import unicodedata

import pytest

from skillsync.rendering.columns import columns, cut


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("", 0),
        (".agents/skills", 14),
        ("日本", 4),
        ("한국", 4),
        ("\uff57\uff49\uff44\uff45", 8),
        ("café", 4),
        (unicodedata.normalize("NFD", "café"), 4),
        ("試験 x", 6),
    ],
)
def test_a_text_takes_as_many_columns_as_a_terminal_gives_it(text: str, taken: int) -> None:
    assert columns(text) == taken


@pytest.mark.parametrize("text", ["plain text", "日本 is wide", unicodedata.normalize("NFD", "é日à本"), ""])
def test_what_is_cut_fits_and_no_more_would(text: str) -> None:
    for most in range(-1, 20):
        kept = cut(text, most)
        assert text.startswith(kept)
        assert columns(kept) <= max(most, 0)
        assert kept == text or columns(text[: len(kept) + 1]) > most
