from __future__ import annotations

import pytest
from builders import NO_NAMES, quickly

from skillsync.discovery.skill import BLOCK_LIMIT, READ_SIZE, Frontmatter, about, parse
from skillsync.errors import Code, Severity

NAME = "ruby-testing"


def read(content: str | bytes, name: str = NAME) -> Frontmatter:
    path = f"skills/{name}/SKILL.md"
    with quickly():
        return parse(content.encode() if isinstance(content, str) else content, about("gem:sus", name, path))


def skill(*lines: str, name: str = NAME) -> str:
    """The text of a SKILL.md whose frontmatter ends with the given lines."""
    return "\n".join(["---", f"name: {name}", *lines, "---", "", "# Text", ""])


def fault(content: str | bytes, name: str = NAME) -> tuple[str, int | None, int | None, str | None]:
    """Message, line, column and hint of the one problem, which is an error."""
    found = read(content, name)
    (problem,) = found.problems
    assert problem.is_error
    assert found.description == ""
    return problem.message, problem.line, problem.column, problem.hint


VALID = skill("description: Tests Ruby code.")


def test_a_valid_skill_has_a_description_and_no_problem() -> None:
    assert read(VALID) == Frontmatter("Tests Ruby code.", ())


def test_a_problem_says_whose_skill_and_which_file_it_is() -> None:
    (problem,) = read("# no frontmatter\n").problems
    assert (problem.code, problem.severity) == (Code.INVALID_SKILL, Severity.ERROR)
    assert (problem.provider, problem.skill) == ("gem:sus", NAME)
    assert problem.path == f"skills/{NAME}/SKILL.md"


# The fences


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + VALID.encode(),
        VALID.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + VALID.replace("\n", "\r\n").encode(),
        VALID.replace("---\n", "--- \t \n").encode(),
        VALID.partition("\n\n")[0].encode(),
        VALID.encode() + b"\n---\n\nA rule above.\n\n---\n",
        VALID.encode() + b"\xff\xfe\0 bytes that are no text, after the block",
    ],
    ids=["BOM", "CRLF", "BOM and CRLF", "blanks after the fence", "ends with the fence", "rules in the text", "bytes"],
)
def test_frontmatter_is_found_however_the_file_was_saved(content: bytes) -> None:
    assert read(content) == Frontmatter("Tests Ruby code.", ())


def test_only_a_line_of_three_dashes_alone_is_a_fence() -> None:
    text = skill("description: >-", "  Not ---x", "  --- nor this", "x: y ---", "z:", " ---")
    assert read(text).description == "Not ---x --- nor this"
    assert fault("----\nname: x\n----\n")[0] == "has no frontmatter"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_named(encoding: str) -> None:
    assert fault(VALID.encode(encoding)) == ("is UTF-16", 1, 1, "save it as UTF-8")


@pytest.mark.parametrize(
    ("above", "hint"),
    [
        ("\n", "remove the blank lines above `---`"),
        (" \r\n\t\n", "remove the blank lines above `---`"),
        ("<!-- from elsewhere -->\n", "move what stands above `---` below the block"),
        ("# A comment\n\n", "move what stands above `---` below the block"),
        ("\n// a comment\n", "move what stands above `---` below the block"),
    ],
)
def test_what_stands_above_the_frontmatter_is_said(above: str, hint: str) -> None:
    assert fault(above + VALID) == ("has frontmatter that does not begin on line 1", 1, 1, hint)


@pytest.mark.parametrize(
    "content", ["", "\n", "# Title\n\nText.\n", "name: x\n---\n", " ---\nname: x\n ---\n", "--- # x\n---\n"]
)
def test_a_file_without_frontmatter_is_said_to_have_none(content: str) -> None:
    message, line, column, hint = fault(content)
    assert (message, line, column) == ("has no frontmatter", 1, 1)
    assert hint is not None
    assert hint.startswith("begin it with `---`")


@pytest.mark.parametrize("content", ["---", "---\n", "---\nname: x\ndescription: y\n", "---\nname: x\n--- y\n----\n"])
def test_frontmatter_without_an_end_is_said_to_have_none(content: str) -> None:
    assert fault(content)[0] == "has frontmatter that never ends"


def test_the_block_is_bounded() -> None:
    assert BLOCK_LIMIT == 65_536
    filler = "x" * (BLOCK_LIMIT - len(f"name: {NAME}\ndescription: y\nx: \n"))
    fits = skill("description: y", f"x: {filler}")
    assert read(fits[:READ_SIZE]) == Frontmatter("y", ())
    too_long = ("has more than 64 KiB of frontmatter", 1, 1, "end the block with a line `---`")
    assert fault(skill("description: y", f"x: {filler}x")) == too_long
    assert fault(skill("description: y", f"x: {filler * 16}")[:READ_SIZE]) == too_long
    assert fault("---\n" + "x" * (1 << 20)) == too_long


def test_a_character_cut_in_two_by_the_bounded_read_is_no_fault() -> None:
    text = VALID.encode()
    content = text + b"x" * (READ_SIZE - len(text) - 1) + "é".encode()[:1]
    assert read(content).problems == ()


def test_what_is_not_utf8_is_said_with_its_place() -> None:
    content = VALID.encode().replace(b"Tests Ruby", "é\n  Té".encode() + b"\xe9")
    assert fault(content) == ("is not UTF-8", 4, 5, "save it as UTF-8")


# YAML


def test_an_unquoted_colon_in_a_value_is_explained_with_the_quoted_value() -> None:
    assert fault(skill("description: Sets up work: goals first.")) == (
        "has frontmatter that is not YAML: an unquoted value holds `: `",
        3,
        26,
        'put the value in quotes: description: "Sets up work: goals first."',
    )
    assert fault(skill("description: Sets up: x \t\r"))[3] == 'put the value in quotes: description: "Sets up: x"'
    assert fault(skill("description: Sets up:"))[3] == 'put the value in quotes: description: "Sets up:"'
    assert fault(skill('description: It\'s a "key": \\d'))[3] == (
        'put the value in quotes: description: "It\'s a \\"key\\": \\\\d"'
    )


@pytest.mark.parametrize("value", ["Sets up work: goals first.", "Sets up:", 'It\'s a "key": \\d', "a: b: c # d"])
def test_the_mend_that_is_hinted_at_mends_it(value: str) -> None:
    hint = fault(skill(f"description: {value}"))[3]
    assert hint is not None
    assert read(skill(hint.removeprefix("put the value in quotes: "))) == Frontmatter(value, ())


def test_one_skill_that_is_wrong_says_nothing_of_others() -> None:
    texts = [skill("description: Fine."), skill("description: Sets up work: goals first."), skill("description: Ends:")]
    assert [bool(read(text).problems) for text in texts] == [False, True, True]


WHOLE = "put the whole text in quotes, or write `>-` alone behind the key and all of the text below"
DOUBLE = 'let the quotes end where the text ends: inside, write `\\"` for each `"`, and `\\\\` for each `\\`'


@pytest.mark.parametrize(
    ("lines", "line", "hint", "mended"),
    [
        (["Sets up", "  work: goals"], 4, WHOLE, ['"Sets up', '  work: goals"']),
        (["Sets: up", "  work"], 3, WHOLE, [">-", "  Sets: up", "  work"]),
        (["Sets: up", "", "  work"], 3, WHOLE, ['"Sets: up', "", '  work"']),
        (["@up", "  work"], 3, WHOLE, [">-", "  @up", "  work"]),
        (
            ["'it's here'"],
            3,
            "let the quotes end where the text ends: inside, write `''` for each `'`",
            ["'it''s here'"],
        ),
        (['"say "hi" there"'], 3, DOUBLE, ['"say \\"hi\\" there"']),
        (['"Use": it'], 3, DOUBLE, ['"\\"Use\\": it"']),
        (['"say', '  "hi" there"'], 4, DOUBLE, ['"say', '  \\"hi\\" there"']),
        (['"a \\d b"'], 3, DOUBLE, ['"a \\\\d b"']),
        (['"open'], 4, "end the text with the quote that it begins with", ['"open"']),
        ([">- text: here"], 3, "begin the text on the next line, indented", [">-", "  text: here"]),
        (["[a] b"], 3, "put the value in quotes", ['"[a] b"']),
        (["[a, b]"], 3, "write one text, in quotes", ['"[a, b]"']),
        (["", "  - a", "  - b"], 4, "write one text, in quotes", ['"a, b"']),
        (["a", "metadata:", "  x: @a"], 5, "put the value in quotes", ["a", "metadata:", '  x: "@a"']),
    ],
)
def test_a_hint_is_one_for_the_value_as_it_is_written(
    lines: list[str], line: int, hint: str, mended: list[str]
) -> None:
    found = fault(skill(f"description: {lines[0]}", *lines[1:]))
    assert (found[1], found[3]) == (line, hint)
    assert read(skill(f"description: {mended[0]}", *mended[1:])).problems == ()


@pytest.mark.parametrize(
    "lines",
    [
        ["description: Tests Ruby code, and more."],
        ["description: Tests Ruby code,", "  and more."],
        ["description: >-", "  Tests Ruby code,", "  and more."],
        ["description: >", "  Tests Ruby code,", "  and more."],
        ["description: |", "  Tests Ruby code,", "  and more."],
        ["description: 'Tests Ruby code,", "  and more.'"],
        ['description: "Tests Ruby code,', '  and more."'],
    ],
)
def test_every_style_of_description_is_read_as_one_text(lines: list[str]) -> None:
    found = read(skill(*lines))
    assert found.problems == ()
    assert " ".join(found.description.split()) == "Tests Ruby code, and more."


def test_a_text_that_goes_on_at_the_lines_beginning_is_explained() -> None:
    assert fault(skill("description: Tests Ruby code,", "and more.")) == (
        "has frontmatter that is not YAML: the line is neither `key: value` nor an indented continuation",
        4,
        1,
        "indent the lines that continue a text by two spaces",
    )


def test_keywords_after_a_blank_line_are_explained() -> None:
    message, line, *_ = fault(skill("description: Tests Ruby code.", "", "  Keywords: a, b"))
    assert (message, line) == ("has frontmatter that is not YAML: an unquoted value holds `: `", 5)


def test_any_other_fault_of_the_yaml_has_a_place_and_a_hint() -> None:
    message, line, column, hint = fault(skill("description: @mention"))
    assert message.startswith("has frontmatter that is not YAML: found character")
    assert (line, column, hint) == (3, 14, "put the value in quotes")
    assert fault(skill("description: 'open"))[1] in {4, 5}
    assert fault(skill("description: x\ty", "\tz: w"))[1] == 4


@pytest.mark.parametrize("content", ["- name\n- description", "just text", "[a, b]"])
def test_frontmatter_that_is_no_mapping_is_refused(content: str) -> None:
    message, line, column, _ = fault(f"---\n{content}\n---\n")
    assert (message, line, column) == ("has frontmatter that is not made of `key: value` lines", 2, 1)


def test_a_key_that_stands_twice_is_an_error() -> None:
    expected = ("has the key `description` twice", 4, 1, "keep one of them")
    assert fault(skill("description: one", "description: two")) == expected
    assert fault(skill("description: one", '"description": one')) == expected
    assert fault(skill("description: x", "license: MIT", "license: MIT"))[0] == "has the key `license` twice"


def test_unknown_keys_and_whatever_they_hold_are_nobodys_business() -> None:
    lines = (
        "license: [MIT, {x: 1, x: 2}]",
        "metadata:",
        "  name: 1",
        "? [a, b]",
        ": c",
        "1: 2",
        "&x e: *x",
        "~: !own z",
    )
    assert read(skill("description: Fine.", *lines)) == Frontmatter("Fine.", ())


@pytest.mark.parametrize("key", ["*x ", "!!binary bmFtZQ==", "!!str license", "<<"])
def test_a_key_that_other_readers_take_for_another_is_an_error(key: str) -> None:
    found = fault(skill("description: Fine.", "x: &x name", f"{key}: other"))
    message = "has a key in its frontmatter that not every reader takes for the same"
    assert found == (message, 5, 1, "write it as `key: value`, without `*`, `!` or `<<`")


@pytest.mark.parametrize("character", ["\r", "\x85", "\u2028", "\u2029"])
def test_a_line_break_that_only_some_readers_know_is_an_error(character: str) -> None:
    message, line, column, _ = fault(skill(f"description: Fine.{character}name: other"))
    number = f"U+{ord(character):04X}"
    assert (message, line, column) == (f"has {number} in its frontmatter, a new line to some readers only", 3, 19)
    # Below the block it is nobody's business.
    assert read(skill("description: Fine.") + character).problems == ()


# What is in it


@pytest.mark.parametrize("name", ["0755", "1e3", "null-1", "no", "true", "7", "2001-01-01"])
def test_a_name_is_the_text_that_stands_there(name: str) -> None:
    assert read(skill("description: x", name=name), name).problems == ()


def test_a_description_is_the_text_that_stands_there() -> None:
    for text in ("1.0", "yes", "2001-01-01", "0x1f", "!!int 7"):
        assert read(skill(f"description: {text}")).description == text.removeprefix("!!int ")


@pytest.mark.parametrize(
    "written",
    [
        *("'..'", "../evil", "/etc/x", "a/b", "a\\b", "C:x", "con", "x.", ".agent-skills.yaml", "Ruby-Testing", "a b"),
        *('"a\\0b"', '"a\\nb"', "a--b", "-a", "a_b", "é", '"ruby-testing\\n"'),
    ],
)
def test_a_name_that_is_no_name_is_refused_even_as_the_directorys(written: str) -> None:
    text = skill("description: x", name=written)
    name = written.strip("'\"").encode().decode("unicode_escape")
    message, line, column, hint = fault(text, name)
    assert message.startswith("has the name `")
    assert (line, column, hint) == (2, 7, "rename it and its directory")


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_is_no_name_anywhere_is_none_here(name: str) -> None:
    escaped = "".join(f"\\U{ord(character):08X}" for character in name)
    message, line, *_ = fault(skill("description: x", name=f'"{escaped}"'), name)
    assert line == 2
    assert message.startswith(("has the name `", "has an empty `name`"))


def test_a_name_that_is_not_its_directorys_is_refused() -> None:
    assert fault(skill("description: x", name="other")) == (
        f"has the name `other`, but its directory is `{NAME}`",
        2,
        7,
        "give both the same name",
    )
    assert fault(skill("description: x"), "Ruby-Testing")[0].startswith("has the name")


@pytest.mark.parametrize("written", ["", "~", "null", "''", '"  "', "!!null x", "# none"])
@pytest.mark.parametrize("key", ["name", "description"])
def test_nothing_is_neither_name_nor_description(key: str, written: str) -> None:
    lines = {"name": NAME, "description": "x", key: written}
    message, line, _, hint = fault("---\n" + "".join(f"{k}: {v}\n" for k, v in lines.items()) + "---\n")
    assert (message, line) == (f"has an empty `{key}`", 2 if key == "name" else 3)
    assert hint == f"write a text after `{key}:`"


@pytest.mark.parametrize(("written", "kind"), [("[a]", "a list"), ("{a: b}", "a mapping"), ("*x", "an alias")])
@pytest.mark.parametrize("key", ["name", "description"])
def test_a_collection_is_neither_name_nor_description(key: str, written: str, kind: str) -> None:
    lines = {"x": "&x y", "name": NAME, "description": "x", key: written}
    message, line, *_ = fault("---\n" + "".join(f"{k}: {v}\n" for k, v in lines.items()) + "---\n")
    assert (message, line) == (f"has a `{key}` that is {kind}", 3 if key == "name" else 4)


def test_all_that_is_missing_is_said_at_once() -> None:
    for content in ("---\n---\n", "---\n# nothing\n---\n", "---\nlicense: MIT\n---\n"):
        found = read(content)
        assert [problem.message for problem in found.problems] == ["has no `name`", "has no `description`"]
        assert [problem.line for problem in found.problems] == [1, 1]
    found = read("---\nname: Bad Name\ndescription: []\n---\n")
    assert len(found.problems) == 2
    assert found.description == ""


def test_limits_of_the_format_are_warnings() -> None:
    assert read(skill("description: " + "x" * 1024, name="a" * 64), "a" * 64).problems == ()
    found = read(skill("description: " + "é" * 1025, name="a" * 65), "a" * 65)
    assert [(problem.severity, problem.message, problem.line, problem.column) for problem in found.problems] == [
        (Severity.WARNING, "has a name of 65 characters; the format allows 64", 2, 7),
        (Severity.WARNING, "has a description of 1025 characters; the format allows 1024", 3, 14),
    ]
    assert found.description == "é" * 1025


# Hostile


@pytest.mark.parametrize(
    "line",
    [
        "x" + " " * 60_000 + ": y",
        "description: " + " " * 60_000 + "a: b",
        "x: " + "[" * 10_000 + "]" * 10_000,
        "x: " + "{a: " * 10_000,
        "- " * 10_000,
        "\n".join(["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 100)]),
        "---x" * 10_000,
        "\n".join(["--- x"] * 10_000),
        "x: " + "-" * 60_000,
        "a: \0",
        "a: b\rc: d: e",
        "a: b\u2028c: d: e",
        "a: \ufeffb: c",
        '"\\ud800": x: y',
    ],
    ids=lambda line: ascii(line[:12]),
)
def test_hostile_frontmatter_is_read_or_refused_in_no_time(line: str) -> None:
    found = read(skill("description: x", line))
    assert all(problem.line and problem.line > 1 for problem in found.problems)


def test_line_ends_of_other_systems_alone_are_no_frontmatter() -> None:
    assert fault(VALID.replace("\n", "\r"))[0] == "has no frontmatter"
