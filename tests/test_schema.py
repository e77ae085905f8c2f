from __future__ import annotations

import unicodedata
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from builders import NO_NAMES, quickly
from hypothesis import given
from hypothesis import strategies as st

from skillsync.schema import (
    InvalidError,
    MalformedError,
    NewerError,
    Table,
    decode,
    folded,
    hash_fault,
    is_visible,
    line_fault,
    name_fault,
    path_fault,
    suggestion,
    toml,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    "name", ["a", "7", "ruby-testing", "a-1-b", "0755", "null", "console", "com", "com10", "a" * 200]
)
def test_names_of_skills_are_lower_case_letters_and_digits_joined_by_hyphens(name: str) -> None:
    assert name_fault(name) is None


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_could_leave_a_directory_or_is_special_on_a_system_is_no_name(name: str) -> None:
    assert name_fault(name)


def test_each_fault_of_a_name_is_said_by_itself() -> None:
    assert name_fault("") == "is empty"
    assert name_fault("A") == "is not lower-case letters and digits joined by single hyphens"
    assert name_fault("con") == "is a device's name on Windows"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Testing", "testing"),
        ("README.md", "Readme.md"),
        ("\u00e9", "e\u0301"),
        ("\u00c9", "e\u0301"),
        ("STRASSE", "stra\u00dfe"),
        ("\u212a", "k"),
        ("\ufb01", "FI"),
    ],
)
def test_names_that_some_file_system_takes_for_one_are_folded_to_one(one: str, other: str) -> None:
    assert folded(one) == folded(other)


@pytest.mark.parametrize(("one", "other"), [("a", "b"), ("e", "\u00e9"), ("a", "a."), ("i", "\u0131")])
def test_names_that_every_file_system_tells_apart_stay_apart(one: str, other: str) -> None:
    assert folded(one) != folded(other)


@given(st.text(max_size=8))
def test_folding_does_not_depend_on_case_or_on_the_form_of_accents(name: str) -> None:
    assert folded(folded(name)) == folded(name)
    assert folded(unicodedata.normalize("NFD", name)) == folded(name)


@pytest.mark.parametrize("path", ["a", "a/b", ".hidden", "a b", "a\\b", "a\nb", "...", "é", "a:b"])
def test_relative_paths_are_paths(path: str) -> None:
    assert path_fault(path) is None


@pytest.mark.parametrize("path", ["", "/", "/a", "a//b", "a/", "./a", "a/.", "..", "../a", "a/../b", "a/..", "a\0b"])
def test_what_is_absolute_climbs_or_has_empty_parts_is_no_path(path: str) -> None:
    absolute = not path or path.startswith("/")
    assert path_fault(path) == ("is not a relative path" if absolute else "has an empty part, `.`, `..` or a NUL")


@pytest.mark.parametrize("text", ["1.0", " x ", "@scope/name", "é"])
def test_what_shows_on_one_line_is_a_line(text: str) -> None:
    assert line_fault(text) is None


@pytest.mark.parametrize("text", ["", " ", "a\nb", "a\tb", "\x1b[31m", "a\x7f", "\0"])
def test_blank_texts_and_controls_are_no_line(text: str) -> None:
    assert line_fault(text)


@pytest.mark.parametrize("text", ["", "a b", "~!\\\"'", "é", "e\u0301", "漢字", "\U0001f600", "ﬁ"])
def test_what_is_seen_as_it_is_is_visible(text: str) -> None:
    assert is_visible(text)


@pytest.mark.parametrize(
    "character",
    [
        "\n",
        "\t",
        "\x1b",
        "\x7f",
        "\x9b",
        "\xa0",
        "\xad",
        "\u034f",
        "\u061c",
        "\u115f",
        "\u180e",
        "\u200b",
        "\u200d",
        "\u200f",
        "\u2028",
        "\u202e",
        "\u2066",
        "\u2800",
        "\u3000",
        "\u3164",
        "\ud800",
        "\ufe0f",
        "\ufeff",
        "\uffa0",
        "\U000e0041",
        "\U000e0100",
    ],
)
def test_controls_odd_blanks_and_what_has_no_shape_are_not_visible(character: str) -> None:
    assert not is_visible(f"a{character}b")


def test_the_word_that_was_probably_meant_is_suggested() -> None:
    assert suggestion("providrs", ["version", "providers"]) == "providers"
    assert suggestion("colour", ["version", "providers"]) is None


def test_hashes_of_another_scheme_or_length_are_none() -> None:
    assert hash_fault("blake3:" + "0a" * 32) is None
    for text in ("", "sha256:" + "0a" * 32, "blake3:" + "0a" * 31, "blake3:" + "0A" * 32, "blake3:" + "0a" * 32 + "\n"):
        assert hash_fault(text)


def _fault(read: Callable[[], object]) -> tuple[str, str]:
    """The key and the reason of what a getter refuses."""
    with pytest.raises(InvalidError) as caught:
        read()
    return caught.value.key, caught.value.reason


def test_getters_return_what_is_there() -> None:
    table = Table({"text": "x", "flag": True, "list": ["a", "b"], "table": {"k": 1}, "tables": [{"k": 1}, {}]})
    assert table.text("text") == "x"
    assert table.flag("flag", default=False) is True
    assert table.texts("list") == ("a", "b")
    assert table.table("table").data == {"k": 1}
    assert [one.data for one in table.tables("tables")] == [{"k": 1}, {}]


def test_absent_is_not_empty() -> None:
    table = Table({"none": []})
    assert table.flag("flag", default=True) is True
    assert table.texts("list") is None
    assert table.texts("none") == ()
    assert list(table.tables("tables")) == []


def test_a_value_of_a_wrong_type_is_named_by_its_key_as_its_author_would_find_it() -> None:
    def skill(data: dict[str, Any]) -> Table:
        return Table(data, "provider[2].skill[0]")

    assert _fault(lambda: Table({}).text("name")) == ("name", "is missing")
    assert _fault(lambda: skill({"name": 1}).text("name")) == ("provider[2].skill[0].name", "must be a text")
    assert _fault(lambda: Table({"x": 1}).flag("x", default=True)) == ("x", "must be true or false")
    assert _fault(lambda: Table({"x": "a"}).texts("x")) == ("x", "must be a list of texts")
    assert _fault(lambda: Table({"x": ["a", 1]}).texts("x")) == ("x[1]", "must be a text")
    assert _fault(lambda: Table({}).table("files")) == ("files", "is missing")
    assert _fault(lambda: Table({"files": []}).table("files")) == ("files", "must be a table")
    assert _fault(lambda: list(Table({"x": {}}).tables("x"))) == ("x", "must be a list of tables")
    assert _fault(lambda: list(skill({"x": [{}, 1]}).tables("x"))) == ("provider[2].skill[0].x[1]", "must be a table")


def test_sub_tables_know_where_they_stand() -> None:
    table = Table({"a": {"b": {}}, "c": [{}, {"d": {}}]})
    assert table.table("a").table("b").path == "a.b"
    assert [one.path for one in table.tables("c")] == ["c[0]", "c[1]"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a-b_1", "a-b_1"), ("@s/x", '"@s/x"'), ("a.b", '"a.b"'), ("", '""'), ('a"b', '"a\\"b"'), ("a\\b", '"a\\\\b"')],
)
def test_a_key_is_quoted_as_toml_would(name: str, shown: str) -> None:
    assert Table({}).key(name) == shown
    assert Table({}, "files").key(name) == f"files.{shown}"
    assert list(toml(f"{shown} = 1".encode()).data) == [name]


def test_a_key_that_nothing_reads_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(InvalidError) as caught:
        Table({"version": 1, "providrs": {}}).only(("version", "providers"))
    assert (caught.value.key, caught.value.hint) == ("providrs", "did you mean `providers`?")
    with pytest.raises(InvalidError) as caught:
        Table({"colour": 1}, "p").only(("version", "providers"))
    assert (caught.value.key, caught.value.hint) == ("p.colour", "known here: providers, version")
    Table({"version": 1}).only(("version", "providers"))


def test_a_key_too_long_to_be_a_typing_error_costs_no_time() -> None:
    with quickly(), pytest.raises(InvalidError):
        Table({"ab" * 2_000_000: 1}).only(("version",))


def test_older_newer_and_no_versions_are_different_cases() -> None:
    Table({"version": 1}).version(1)
    Table({}).version(1, default=1)
    for data in ({}, {"version": True}, {"version": "1"}, {"version": 1.0}):
        assert _fault(partial(Table(data).version, 1)) == ("version", "must be the number 1")
    for number in (0, -1):
        reason = f"is {number}, and no version of that number exists"
        assert _fault(partial(Table({"version": number}).version, 1)) == ("version", reason)
    for number in (2, 999, 10**30):
        with pytest.raises(NewerError) as caught:
            Table({"version": number}).version(1)
        assert caught.value.reason == f"is {number}, and this skillsync reads up to 1"


def _malformed(content: bytes) -> tuple[str, int | None, int | None]:
    with pytest.raises(MalformedError) as caught:
        toml(content)
    return (caught.value.reason, *caught.value.place)


def test_a_bom_and_crlf_are_tolerated() -> None:
    assert decode(b"\xef\xbb\xbfversion = 1\r\nx = 2\r\n") == "version = 1\nx = 2\n"
    assert toml(b"\xef\xbb\xbfversion = 1\r\nx = '''a\r\nb'''\r\n").data == {"version": 1, "x": "a\nb"}


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
def test_an_empty_document_is_said_to_be_empty(content: bytes) -> None:
    assert _malformed(content) == ("it is empty", None, None)


def test_what_is_not_utf8_is_said_with_its_line() -> None:
    assert _malformed(b"a = 1\nb = '\xff'\n") == ("it is not UTF-8", 2, None)
    assert _malformed("version = 1\n".encode("utf-16"))[0] == "it is not UTF-8"


@pytest.mark.parametrize("mark", ["<<<<<<< HEAD", "=======", ">>>>>>> branch", "||||||| base", "<<<<<<<"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_merge_conflict_markers_are_named_with_their_line(mark: str, end: str) -> None:
    content = f"version = 1{end}# x{end}{mark}{end}y = 1{end}".encode()
    assert _malformed(content) == ("it has merge conflict markers", 3, None)


def test_what_only_looks_like_a_conflict_marker_is_none() -> None:
    text = "a = '''\n========\n <<<<<<< x\n<<<<<<<x\n'''\n"
    assert decode(text.encode()) == text


def test_text_that_is_no_toml_is_named_with_its_place() -> None:
    reason, line, column = _malformed(b"version = 1\nx = [1,\n")
    assert reason.startswith("it is not TOML: ")
    assert " at line " not in reason
    assert (line, column is not None) == (2, True)


@pytest.mark.parametrize(
    "content",
    [
        b"a = 1\na = 2",
        b"[a]\n[a]",
        b"a = " + b"[" * 10_000 + b"]" * 10_000,
        b"a = " + b"{a = " * 10_000 + b"1" + b"}" * 10_000,
        b".".join([b"a"] * 10_000) + b" = 1",
        b"[" + b".".join([b"a"] * 10_000) + b"]",
        b"a = " + b"9" * 100_000,
        b"a = 1e99999",
        b"a = 2001-02-31",
        b'a = "\0"',
        b"a = 1\rb = 2",
        "a = 1\u2028b = 2".encode(),
        b'a = "\\ud800"',
        b"a = null",
        b"\xff" * 1_000_000,
        b"[" * 5_000_000,
    ],
    ids=lambda content: repr(content[:16]),
)
def test_hostile_toml_is_malformed_and_takes_no_time(content: bytes) -> None:
    with quickly(), pytest.raises(MalformedError):
        toml(content)


@pytest.mark.parametrize("content", [b"# x\n" * 399_999, b'a = "' + b"x" * 5_000_000 + b'"', b"[[a]]\n" * 100_000])
def test_a_large_document_takes_no_time(content: bytes) -> None:
    with quickly():
        toml(content)


@pytest.mark.parametrize("mark", [",", "=", "[", "{", ".", "\n"])
def test_a_document_of_too_many_lines_and_values_is_not_parsed(mark: str) -> None:
    with quickly(), pytest.raises(MalformedError) as caught:
        toml(f"# {mark * 400_001}".encode())
    assert caught.value.reason == "it is made of more than 400000 lines and values"
    assert toml(f"# {mark * 400_000}".encode()).data == {}
