from __future__ import annotations

import re
import subprocess
import sys
from codecs import BOM_UTF8

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from skillsync.hidden import LIMIT, Finding, Hidden, Large, find, in_name, is_plain, look

ZWNJ, ZWJ, TEXT_FORM, EMOJI_FORM = "\u200c", "\u200d", "\ufe0e", "\ufe0f"
SCOTLAND = "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbsct") + "\U000e007f"


def tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(letter)) for letter in text)


def points(text: str) -> list[int]:
    return [ord(one.character) for one in find(text)]


# Written from Unicode's own lists: DerivedCoreProperties.txt (Default_Ignorable_Code_Point), and PropList.txt
# (Bidi_Control), which the first contains.
IGNORABLE = {
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
    *range(0x180B, 0x1810),
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10),
    *range(0xFFF0, 0xFFF9),
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    *range(0xE0000, 0xE1000),
}
CONTROLS = {0x08, 0x1B, *range(0x7F, 0xA0)}
OTHERS = {0x2028, 0x2029, 0xFFF9, 0xFFFA, 0xFFFB}
ALL = IGNORABLE | CONTROLS | OTHERS


def test_in_latin_letters_these_are_hidden_and_no_others() -> None:
    every = [number for number in range(sys.maxunicode + 1) if not 0xD800 <= number <= 0xDFFF]
    text = "".join(f"{chr(number)}a" for number in every)
    assert set(points(f"a{text}")) == ALL
    assert len(points(f"a{text}")) == len(ALL)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain\ttext\r\nwith\x0cpages\n",
        "naïve — “quoted” it\u2019s… a\xa0b § ±",
        "\U0001f600 \U0001f44d\U0001f3fd \u2764\ufe0f \u2139\ufe0e",
        # A family, a professional with a skin tone, a heart on fire, a nod, the rainbow flag, an astronaut
        "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
        "\U0001f469\U0001f3fd\u200d\u2695\ufe0f",
        "\u2764\ufe0f\u200d\U0001f525",
        "\U0001f642\u200d\u2194\ufe0f",
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "\U0001f9d1\U0001f3fb\u200d\U0001f680",
        "\U0001f3c3\U0001f3fd\u200d\u2640\ufe0f\u200d\u27a1\ufe0f",
        "\U0001f1e9\U0001f1ea \U0001f1eb\U0001f1f7",
        SCOTLAND,
        "\U0001f3f4" + tags("gbeng") + "\U000e007f\U0001f3f4" + tags("gbwls") + "\U000e007f",
        "1\ufe0f\u20e3 #\ufe0f\u20e3 *\ufe0f\u20e3",
        "\u26a0\ufe0f \u2705 \u2b50\ufe0f \u25b6\ufe0f \u2192\ufe0e",
        "\xa9\ufe0f \u24c2\ufe0f \u3297\ufe0f \U0001f004\ufe0f",
        # Persian: a verb's prefix, a plural after a Latin word, a digit before a word, an abbreviation
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "API\u200c\u0647\u0627",
        "\u06f2\u06f0\u200c\u0633\u0627\u0644\u0647",
        "\u0647\u200d. \u0634.",
        "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u05e2\u05d1\u05e8\u05d9\u05ea",
        # Hindi, Malayalam, Bengali, Sinhala, Kannada
        "\u0915\u094d\u200d\u0937 \u0915\u094d\u200c\u0937",
        "\u0d28\u0d4d\u200d",
        "\u09b0\u200d\u09cd\u09af\u09be\u09ae",
        "\u0dc1\u0dca\u200d\u0dbb\u0dd3",
        "\u0cb0\u200d\u0ccd\u0c95",
        # Chinese, Japanese with variants of ideographs and of punctuation, Korean, Mongolian
        "\u4e2d\u6587\uff0c\u3002\u3000\u8fbb\U000e0100\u908a\U000e010e\u3402\ufe00\uff0c\ufe00",
        "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8",
        "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab",
        "\u1820\u180b\u182d\u180e\u1820",
        "\u2229\ufe00 \u1000\ufe00",
        "\u0e44\u0e17\u0e22 \u1781\u17d2\u1798\u17c2\u179a",
    ],
)
def test_honest_text_has_none(text: str) -> None:
    assert points(text) == []
    assert look("a.md", [text.encode()]) is None
    assert in_name(text) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a\u202eb\u202c", "\u202e\u202c"),
        ("\u05e2\u200f \u0639\u061c", "\u200f\u061c"),
        ("a\u200bb", "\u200b"),
        ("co\xadop", "\xad"),
        ("a\ufeffb", "\ufeff"),
        (f"go{tags('ignore')}", tags("ignore")),
        # A flag that is drawn as a black one, with more in it, with no end, with no flag
        ("\U0001f3f4" + tags("usrm-rf") + "\U000e007f", tags("usrm-rf") + "\U000e007f"),
        ("\U0001f3f4" + tags("gbsctx") + "\U000e007f", tags("gbsctx") + "\U000e007f"),
        ("\U0001f3f4" + tags("gbsct"), tags("gbsct")),
        (tags("gbsct") + "\U000e007f", tags("gbsct") + "\U000e007f"),
        (SCOTLAND + tags("a"), tags("a")),
        # Selectors that spell bytes: after a letter, after an emoji, two after an ideograph
        ("a\ufe01\U000e0150", "\ufe01\U000e0150"),
        ("\U0001f600\U000e0150\U000e0151", "\U000e0150\U000e0151"),
        ("\u4e2d\U000e0100\U000e0101", "\U000e0101"),
        ("\U0001f600\ufe0f\ufe0f", "\ufe0f"),
        ("\U0001f600\ufe00", "\ufe00"),
        ("1\ufe0f 2\ufe0e\u20e3", "\ufe0f\ufe0e"),
        ("\u2229\ufe03", "\ufe03"),
        # Joiners that join nothing
        ("a\u200db", ZWJ),
        ("Auf\u200clage", ZWNJ),
        ("\U0001f468\u200d", ZWJ),
        ("\u200d\U0001f468", ZWJ),
        ("\U0001f468\u200d\u200d\U0001f469", ZWJ + ZWJ),
        ("\U0001f468\u200c\U0001f469", ZWNJ),
        ("a\ufe0f\u200d\U0001f469", EMOJI_FORM + ZWJ),
        ("\u0645\u200c\u200d\u200c\u062e", ZWNJ + ZWJ + ZWNJ),
        ("\u05d0\u200d\u05d1", ZWJ),
        ("\u1820\u180b\u180b", "\u180b"),
        ("a\u180eb \u1820\u180e", "\u180e\u180e"),
        ("\u1160\u3164\uffa0\u115f", "\u1160\u3164\uffa0\u115f"),
        ("\ufff9a\ufffab\ufffb", "\ufff9\ufffa\ufffb"),
        ("// a\u2028evil()", "\u2028"),
        ("\x1b[8mevil\x1b[0m\x08\x7f\x9b", "\x1b\x1b\x08\x7f\x9b"),
    ],
)
def test_what_nobody_sees_is_found(text: str, found: str) -> None:
    assert "".join(one.character for one in find(text)) == found
    assert look("a", [text.encode()]) == Finding(next(find(text)), len(found) - 1)


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        ("\u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("\U000e0041", "U+E0041 TAG LATIN CAPITAL LETTER A"),
        ("\x1b", "U+001B ESCAPE"),
        ("\x08", "U+0008 BACKSPACE"),
        ("\x7f", "U+007F DELETE"),
        ("\x9b", "U+009B CONTROL"),
        ("\U000e0fff", "U+E0FFF RESERVED"),
    ],
)
def test_a_character_is_called_by_code_point_and_name(character: str, shown: str) -> None:
    assert str(Hidden(character, 1, 1)) == shown


def test_a_place_is_line_and_column_in_characters() -> None:
    text = "\u200bé\u200b\n\n漢\U0001f600\u200b x\r\n\u200b\u200b"
    assert [(one.line, one.column) for one in find(text)] == [(1, 1), (1, 3), (3, 3), (4, 1), (4, 2)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n \u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("\u202e\u200b\n\xad", "U+202E RIGHT-TO-LEFT OVERRIDE and 2 more"),
    ],
)
def test_the_first_is_told_and_how_many_more(text: str, shown: str) -> None:
    assert str(look("a.md", [text.encode()])) == shown


def test_a_name_is_a_text_too() -> None:
    assert in_name("scripts/a\u202egpj.sh") == Hidden("\u202e", 1, 10)
    assert in_name("a\x1b[8m") == Hidden("\x1b", 1, 2)
    assert in_name("docs/❤\ufe0f.md") is None


def test_a_mark_at_the_start_is_none_and_has_no_column() -> None:
    assert look("a.md", [BOM_UTF8 + b"text"]) is None
    assert look("a.md", [BOM_UTF8 + "a\u200b".encode()]) == Finding(Hidden("\u200b", 1, 2))
    assert look("a.md", [BOM_UTF8 + BOM_UTF8]) == Finding(Hidden("\ufeff", 1, 1))


# What is a text

_BAD = "a\u202eb".encode()


@pytest.mark.parametrize(
    ("name", "content", "is_found"),
    [
        ("data", _BAD, True),
        ("data", _BAD + b"\0", False),
        ("data", _BAD + b"\xff", False),
        ("data", _BAD + b"\xe2\x80", False),
        ("SKILL.md", _BAD + b"\0", True),
        ("SKILL.md", b"\xff" + _BAD, True),
        ("SKILL.md", b"\xe2" + _BAD, True),
        ("A.TXT", b"\x80" + _BAD, True),
        ("run", b"#!/bin/sh\n\xff" + _BAD, True),
        ("notes.md", "caf\xe9 \x93\x94".encode("latin-1"), False),
        ("data", "a\u202eb".encode("utf-16"), True),
        ("data", "a\u202eb".encode("utf-32"), True),
        ("data", b"\xfe\xff" + "a\u202eb".encode("utf-16-be"), True),
        ("data", b"\0\0\xfe\xff" + "a\u202eb".encode("utf-32-be"), True),
        ("notes.txt", "plain".encode("utf-16"), False),
        ("data", b"\xff\xfe\x00\xd8", False),
        ("notes.txt", "\u202e".encode("utf-16") + b"x", True),
        ("plain", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x1b\x08\x7f", False),
        ("ascii.tar", b"name\0\0\0\x1b0000", False),
        ("empty", b"", False),
    ],
)
def test_a_text_is_what_says_so_by_its_bytes_or_its_name(name: str, content: bytes, is_found: bool) -> None:  # noqa: FBT001  # a column of the table
    assert (look(name, [content]) is not None) is is_found
    large = Large(name, content)
    for at in range(len(content)):
        large.append(content[at : at + 1])
    assert (large.finding() is not None) is is_found


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_place_is_the_same_in_every_encoding(encoding: str) -> None:
    assert look("data", ["\U0001f600\nb\u202e".encode(encoding)]) == Finding(Hidden("\u202e", 2, 2))


def test_a_large_text_is_told_without_a_place() -> None:
    large = Large("data", b"a")
    for chunk in (b"a" * LIMIT, b"\xe2", b"\x80", b"\xae", b"b"):
        large.append(chunk)
    assert str(large.finding()) == "more than 8 MiB, and what may be hidden characters"
    large.append(b"\0")
    assert large.finding() is None


# Laws

plain = st.text(st.characters(exclude_categories=["Cs"]).filter(lambda character: ord(character) not in ALL))
ascii_texts = st.text(st.characters(codec="ascii", exclude_characters="\x08\x1b\x7f"))
hostile = st.sampled_from(sorted(ALL)).map(chr)


@given(plain)
def test_a_text_without_such_a_character_has_none(text: str) -> None:
    assert points(text) == []
    assert is_plain(text.encode())


@given(ascii_texts, hostile, ascii_texts)
@example("", "\ufe0f", "")
@example("1", "\ufe0e", "\u20e3")
def test_one_in_plain_text_is_found_where_it_is(before: str, character: str, after: str) -> None:
    text = before + character + after
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    assert list(find(text)) == [Hidden(character, line, column)]
    assume(not text.startswith("\ufeff"))
    assert look("x.md", [text.encode()]) == Finding(Hidden(character, line, column))


@given(st.text(st.characters(exclude_categories=["Cs"]) | hostile), st.sampled_from(["x", "x.md"]), st.data())
def test_it_makes_no_difference_where_the_chunks_end(text: str, name: str, data: st.DataObject) -> None:
    content = text.encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(content)), max_size=4)))
    chunks = [content[start:end] for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    whole = look(name, [content])
    assert look(name, chunks) == whole
    large = Large(name, content)
    for chunk in chunks:
        large.append(chunk)
    # Of a large one it is not told what is in an emoji; nothing is missed.
    assert whole is None or large.finding() is not None


@given(st.binary(max_size=40), hostile, st.binary(max_size=40))
def test_no_byte_in_a_named_text_hides_any(before: bytes, character: str, after: bytes) -> None:
    assume(not before.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")) and (before or character != "\ufeff"))
    # A letter on both sides, so that it is no part of anything.
    assert look("x.md", [before + b"a" + character.encode() + b"a" + after]) is not None


def test_a_hostile_file_takes_no_more_than_its_length() -> None:
    text = "\u200b" * 200_000
    assert look("a", [text.encode()]) == Finding(Hidden("\u200b", 1, 1), 199_999)


def test_the_rules_for_scripts_are_made_only_when_they_are_needed() -> None:
    program = "import skillsync.hidden as h; h.look('a', [b'plain']); print(h._honest.cache_info().currsize)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "0\n"


def test_the_documented_ranges_are_those_that_are_looked_for() -> None:
    from pathlib import Path

    section = Path(__file__).parent.parent.joinpath("docs/hidden-characters.md").read_text().split("## What is not")[0]
    rows = "".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| U+"))
    found: set[int] = set()
    for first, last in re.findall(r"U\+([0-9A-F]+)(?:\u2013U\+([0-9A-F]+))?", rows):
        found |= set(range(int(first, 16), int(last or first, 16) + 1))
    assert found == ALL
