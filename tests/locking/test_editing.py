from __future__ import annotations

import pytest
from tomlkit.exceptions import TOMLKitError

from skillsync.discovery import ECOSYSTEMS
from skillsync.locking.editing import NONE, Edit, Terms, UneditableError, admitting, edited

MORE = Terms(requirement="2", skills=("a", "q"), exclude=("x",))


def changed(text: str, terms: Terms | None, name: str = "sus", ecosystem: str = "gem") -> str:
    return edited(text.encode(), Edit(ecosystem=ecosystem, name=name, terms=terms), ECOSYSTEMS).decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '[providers.gem]\na = "1"\n\n# next\n[providers.npm]\n',
            '[providers.gem]\na = "1"\nnew = "*"\n\n# next\n[providers.npm]\n',
        ),
        ('[providers.gem]\na = "1" # c', '[providers.gem]\na = "1" # c\nnew = "*"\n'),
        ("[providers.gem]\n", '[providers.gem]\nnew = "*"\n'),
        ("[providers.gem]\n[providers.gem.a]\n", '[providers.gem]\nnew = "*"\n[providers.gem.a]\n'),
        ("[providers.gem.a]\n", '[providers.gem.a]\n\n[providers.gem]\nnew = "*"\n'),
        ("[providers]\n", '[providers]\n\n[providers.gem]\nnew = "*"\n'),
        ('[providers]\ngem.a = "1"\nnpm.a = "1"\n', '[providers]\ngem.a = "1"\ngem.new = "*"\nnpm.a = "1"\n'),
        ('providers.gem.a = "1"\nversion = 1\n', 'providers.gem.a = "1"\nproviders.gem.new = "*"\nversion = 1\n'),
        (
            'providers.gem.a.path = "b"\nversion = 1\n',
            'providers.gem.a.path = "b"\nproviders.gem.new = "*"\nversion = 1\n',
        ),
        ('providers.npm.a = "1"\nversion = 1\n', 'providers.npm.a = "1"\nversion = 1\n\n[providers.gem]\nnew = "*"\n'),
        ('[providers]\ngem = {a="1"} # c\n', '[providers]\ngem = { a = "1", new = "*" } # c\n'),
        ("providers = {}\n", 'providers = { gem = { new = "*" } }\n'),
        ("providers = { gem.a.path = 'b' }\n", "providers = { gem = { a = { path = 'b' }, new = \"*\" } }\n"),
        (
            "[providers.gem.a]\n[providers.npm.a]\n[providers.gem.b]\n",
            '[providers.gem.a]\n[providers.npm.a]\n[providers.gem.b]\n\n[providers.gem]\nnew = "*"\n',
        ),
    ],
)  # fmt: skip
def test_an_entry_is_added_in_the_way_of_its_neighbours(before: str, after: str) -> None:
    assert changed(before, Terms(), "new") == after
    assert changed(after, Terms(), "new") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('[providers.gem]\n# a\nsus = "*" # b\nx = "1"\n', '[providers.gem]\n# a\n# b\nx = "1"\n'),
        ('[providers.gem]\n# gem:sus 1.0: a, b\nsus = "*"\nx = "1"\n', '[providers.gem]\nx = "1"\n'),
        ('[providers.gem]\n# gem:sus 1.0: a-1, B_c (invalid)\nsus = "*"\nx = "1"\n', '[providers.gem]\nx = "1"\n'),
        *(
            (f'[providers.gem]\n{comment}\nsus = "*"\nx = "1"\n', f'[providers.gem]\n{comment}\nx = "1"\n')
            for comment in (
                "# gem:sus is what Anna asked for",
                "# gem:sus 1.0: a, b; ask Anna first",
                "# gem:sus 1.0: a, b (Anna)",
                "# gem:sus 1.0 a",
                "# gem:sus",
            )
        ),
        ('[providers.gem]\n# gem:suss 1.0: a, b\nsus = "*"\n', "[providers.gem]\n# gem:suss 1.0: a, b\n"),
        ('[providers.gem]\nsus.skills = [ # a\n"x", # b\n]\n', "[providers.gem]\n# a\n# b\n"),
        ('[providers.gem]\nsus.path = "a" # b\nx = "1"\nsus.skills = []\n', '[providers.gem]\n# b\nx = "1"\n'),
        ('providers.gem.sus = "*"\n', "[providers]\n"),
        ('providers.gem.sus = "*"\nversion = 1\n', "version = 1\n\n[providers]\n"),
        ('providers = { gem = { sus = "*" } }\n', "providers = { gem = {} }\n"),
        ("[providers.gem.sus]\n", "[providers]\n"),
        (
            "[providers.gem]\n[providers.gem.sus]\npath = 'a'\n\n# x\n[providers.npm]\n",
            "[providers.gem]\n\n# x\n[providers.npm]\n",
        ),
        (
            "[providers.gem.sus] # a\npath = 'a' # b\n# c\n[providers.npm]\n",
            "# a\n# b\n# c\n[providers.npm]\n",
        ),
        (
            "[providers.gem.sus] # a\npath = 'a'\n[providers.gem]\nx = '1'\n[providers.gem.y]\n",
            "# a\n[providers.gem]\nx = '1'\n[providers.gem.y]\n",
        ),
        ("[providers.gem.sus] # a\n", "# a\n\n[providers]\n"),
    ],
)  # fmt: skip
def test_an_entry_is_taken_out_and_every_comment_stays(before: str, after: str) -> None:
    assert changed(before, None) == after
    assert changed(after, None) == after


@pytest.mark.parametrize(
    ("before", "terms", "after"),
    [
        ("sus = '*' # c", MORE, 'sus = { version = "2", skills = ["a", "q"], exclude = ["x"] } # c'),
        ("sus = '1'", Terms(requirement="1", skills=()), "sus = { version = '1', skills = [] }"),
        ('sus = ["1"]', Terms(requirement="1", path="b"), 'sus = { version = ["1"], path = "b" }'),
        ("sus = {version='1', path='b/'} # c", Terms(requirement="1"), "sus = '1' # c"),
        ("sus = {path='b/'}", Terms(path="b", skills=("a",)), "sus = { path = 'b/', skills = [\"a\"] }"),
        ("sus = {skills=['a', \"b\"]}", MORE, "sus = { skills = ['a', \"q\"], version = \"2\", exclude = [\"x\"] }"),
        ("sus = {skills=['b', 'a']}", Terms(skills=("a", "b")), 'sus = { skills = ["a", "b"] }'),
        ("sus = { skills = [ # a\n  'b', # c\n] } # d", Terms(), 'sus = "*" # d\n# a\n# c'),
        ('sus = {\n  # a\n  version = "2", # b\n}', NONE, "sus = { skills = [] }\n# a\n# b"),
        ("sus.path = 'b' # c\nx = '1'", NONE, "sus.skills = []\n# c\nx = '1'"),
        ("sus.skills = ['b'] # c", Terms(), 'sus.version = "*"\n# c'),
        (
            "sus.skills = [ # a\n  'a', # b\n  'c', 'd' # e\n  # f\n]",
            Terms(skills=("a", "d", "q")),
            "sus.skills = [\n  # a\n  'a',  # b\n  'd',  # e\n  # f\n  \"q\",\n]",
        ),
        ("sus.skills = [\n]", Terms(skills=("q",)), 'sus.skills = [\n    "q",\n]'),
        ("sus.skills = ['a',\n'b']", Terms(skills=("b",)), "sus.skills = [\n'b',\n]"),
    ],
)  # fmt: skip
def test_an_entry_keeps_its_shape_its_words_and_its_comments(before: str, terms: Terms, after: str) -> None:
    assert changed(f"[providers.gem]\n{before}\n", terms) == f"[providers.gem]\n{after}\n"


def test_an_entry_with_a_table_of_its_own_keeps_it() -> None:
    text = '[providers.gem.sus] # a\nskills=["b"] # c\npath="p"\n\n# d\n[providers.npm]\n'
    assert changed(text, Terms(requirement="1", skills=("b", "e"), path="p")) == (
        '[providers.gem.sus] # a\nskills=["b", "e"] # c\npath="p"\nversion = "1"\n\n# d\n[providers.npm]\n'
    )


@pytest.mark.parametrize(
    ("shape", "after"), [("sus = '1'", "{ version = '1', skills = [] }"), ("sus.path = 'b'", "{ skills = [] }")]
)
def test_an_entry_in_an_inline_table_is_changed_among_its_neighbours(shape: str, after: str) -> None:
    text = "providers = { gem = { a = '1', %s, \"b\" = {} }, npm = {} } # c\n"
    wanted = Terms(requirement="1", skills=()) if "1" in shape else NONE
    assert changed(text % shape, wanted) == text % f"sus = {after}"


def test_a_mark_and_line_ends_stay() -> None:
    content = b'\xef\xbb\xbf[providers.gem]\r\na = "1"\r\n'
    edit = Edit(ecosystem="gem", name="b", terms=Terms())
    assert edited(content, edit, ECOSYSTEMS) == content + b'b = "*"\r\n'
    mixed = content + b"# c\n"
    assert edited(mixed, edit, ECOSYSTEMS) == content + b'b = "*"\n# c\n'


def test_where_the_library_reads_less_than_we_do_an_entry_can_still_be_added(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(_text: str) -> None:
        raise TOMLKitError

    monkeypatch.setattr("tomlkit.parse", parse)
    assert changed("[providers.npm]\n", Terms()) == '[providers.npm]\n\n[providers.gem]\nsus = "*"\n'
    with pytest.raises(UneditableError):
        changed('[providers.gem]\nsus = "*"\n', None)


def test_what_would_not_be_read_again_is_an_error() -> None:
    content = b"# " + b"." * 399_980 + b"\n"
    many = Edit(ecosystem="gem", name="sus", terms=Terms(skills=tuple("abcdefghij")))
    with pytest.raises(UneditableError, match="the entry of gem:sus is written in a way that can't be changed"):
        edited(content + b"[providers]\n", many, ECOSYSTEMS)
    assert admitting(content, {}, ECOSYSTEMS).endswith(b"\n[providers]\n")
    with pytest.raises(UneditableError, match="a table of what is admitted"):
        admitting(content, {"gem": {name: Terms() for name in "abcdefghij"}}, ECOSYSTEMS)
