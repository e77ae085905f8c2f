from __future__ import annotations

import pytest
import yaml
from builders import quickly

from skillsync import yaml_nodes
from skillsync.yaml_nodes import (
    Alias,
    Mapping,
    Node,
    Scalar,
    Sequence,
    YamlError,
    compose,
    dump,
    plain,
    quoted_if_needed,
    walk,
)


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """PyYAML has two parsers and two writers, and is installed with or without those of libyaml."""
    if request.param == "python":
        monkeypatch.setattr(yaml_nodes, "_LOADER", yaml.BaseLoader)
        monkeypatch.setattr(yaml_nodes, "_DUMPER", yaml.SafeDumper)
    return str(request.param)


def value(text: str) -> Node:
    """The value of a document's one key."""
    root = compose(text)
    assert isinstance(root, Mapping)
    ((_, found),) = root.pairs
    return found


def text_of(text: str) -> str:
    found = value(text)
    assert isinstance(found, Scalar)
    return found.text


def fault(text: str) -> YamlError:
    with quickly(), pytest.raises(YamlError) as caught:
        compose(text)
    return caught.value


def place(text: str) -> tuple[int, int]:
    error = fault(text)
    return error.line, error.column


def test_values_are_the_text_that_stands_there() -> None:
    for text in ("0755", "1.0", "1e3", "no", "2001-01-01", "0x1f", "1_000", ".inf", "1:30", "<<", "é"):
        assert text_of(f"a: {text}") == text


def test_every_style_of_text_is_read() -> None:
    same = "One line, and another."
    for text in (
        "a: One line, and another.",
        "a: One line,\n  and another.",
        "a: 'One line, and another.'",
        'a: "One line,\\\n  \\ and another."',
        "a: >-\n  One line,\n  and another.",
        "a: |-\n  One line, and another.",
    ):
        assert text_of(text) == same
    assert text_of("a: |\n  One\n  two\n") == "One\ntwo\n"
    assert text_of("a: 'It''s'") == "It's"


def test_nodes_know_where_they_stand() -> None:
    root = compose("a:\n  - x\n  - {y: z}\n")
    assert isinstance(root, Mapping)
    assert [(type(node).__name__, node.line, node.column) for node in walk(root)] == [
        ("Mapping", 1, 1),
        ("Scalar", 1, 1),
        ("Sequence", 2, 3),
        ("Scalar", 2, 5),
        ("Mapping", 3, 5),
        ("Scalar", 3, 6),
        ("Scalar", 3, 9),
    ]


def test_flow_and_block_collections_are_told_apart() -> None:
    for text, flow in (("a: [x]", True), ("a:\n- x", False)):
        found = value(text)
        assert isinstance(found, Sequence)
        assert found.flow is flow
    for text, flow in (("a: {x: y}", True), ("a:\n  x: y", False)):
        found = value(text)
        assert isinstance(found, Mapping)
        assert found.flow is flow


@pytest.mark.parametrize("text", ["a:", "a: ~", "a: null", "a: Null", "a: NULL", "a: !!null x", "a: # none"])
def test_null_is_null_by_yamls_words_for_it_or_by_its_tag(text: str) -> None:
    found = value(text)
    assert isinstance(found, Scalar)
    assert found.is_null


@pytest.mark.parametrize(
    "text", ["a: ''", 'a: "null"', "a: '~'", "a: nULL", "a: !!str", "a: !!str null", "a: |-\n  null"]
)
def test_a_quoted_or_tagged_null_is_a_text(text: str) -> None:
    found = value(text)
    assert isinstance(found, Scalar)
    assert not found.is_null


def test_an_empty_document_is_none() -> None:
    assert compose("") is None
    assert compose("# nothing\n") is None


def test_no_tag_constructs_anything() -> None:
    found = value("a: !!python/object/apply:os.system ['false']")
    assert isinstance(found, Sequence)
    assert found.tag == "tag:yaml.org,2002:python/object/apply:os.system"


def test_an_alias_is_not_followed() -> None:
    bomb = "a0: &a0 [x]\n" + "\n".join(
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 40)
    )
    with quickly():
        root = compose(bomb)
    assert isinstance(root, Mapping)
    last = root.pairs[-1][1]
    assert isinstance(last, Sequence)
    assert [one.anchor for one in last.items if isinstance(one, Alias)] == ["a38"] * 10
    assert sum(1 for _ in walk(root)) < 1000


def test_an_alias_of_nothing_is_an_alias() -> None:
    assert value("a: *b") == Alias(anchor="b", line=1, column=4)


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "? - "])
def test_nesting_is_bounded(opening: str) -> None:
    assert "nest" in fault(f"a: {opening * 10_000}" if opening in "[{a: " else opening * 10_000).reason


def test_the_number_of_keys_and_values_is_bounded() -> None:
    root = compose("- a\n" * 159_999)
    assert isinstance(root, Sequence)
    assert len(root.items) == 159_999
    with pytest.raises(YamlError) as caught:
        compose("- a\n" * 160_000)
    assert (caught.value.reason, caught.value.line) == ("more than 160000 keys and values", 160_000)


def test_nesting_up_to_the_bound_is_read() -> None:
    root = compose("a: " + "[" * 63 + "]" * 63)
    assert root is not None
    assert sum(1 for _ in walk(root)) == 65
    assert fault("a: " + "[" * 64 + "]" * 64).reason == "nested deeper than 64 levels"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: b: c", (1, 5)),
        ("a: b\nc: d: e", (2, 5)),
        ("a: b\nword\n", (2, 1)),
        ("a: b\nword\nc: d", (2, 1)),
        ("\ta: b", (1, 1)),
        ("a: 'x", (1, 6)),
        ("a: [x\n", (2, 1)),
        ("a: \0", (1, 4)),
        ("é: b\nx: \x07", (2, 4)),
        ("a: \ud800", (1, 4)),
        ("a: \ufffe", (1, 4)),
        ("a: b\n---\nc: d", (3, 1)),
        ("a: b\n...\nc: d", (3, 1)),
        ("a: !x!y z", (1, 4)),
        ("a: @b", (1, 4)),
        ("%YAML 9.0\n---\na: b", (1, 1)),
    ],
)
def test_text_that_is_no_yaml_is_named_with_its_place(text: str, expected: tuple[int, int]) -> None:
    assert place(text) == expected


@pytest.mark.parametrize(
    "text", ['a: "\\ud800"', 'a: "\\uDFFF"', 'a: "\\U00110000"', 'a: "\\UFFFFFFFF"', 'a: "x\\uD83D\\uDE00"']
)
def test_an_escape_that_stands_for_no_character_is_an_error(text: str) -> None:
    assert fault(text).line == 1
    assert fault(f"x: y\n{text}").line == 2
    assert fault(f"{text}: {text}").line == 1


def test_a_character_that_yaml_forbids_is_named() -> None:
    assert fault("a: \0").reason == "the character U+0000 is not allowed"
    assert fault("a: \x1b[31m").reason == "the character U+001B is not allowed"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x85", "\u2028", "\u2029"])
def test_every_line_end_of_yaml_ends_a_line(end: str) -> None:
    root = compose(f"a: b{end}c: d{end}")
    assert isinstance(root, Mapping)
    assert [(key.line, key.column) for key, _ in root.pairs] == [(1, 1), (2, 1)]


@pytest.mark.parametrize(
    "text",
    [
        "a" + " " * 100_000 + "b: c: d",
        "a: " + " " * 100_000 + "b: c",
        "a" * 100_000 + ": c: d",
        "a: '" + "''" * 100_000,
        "&" * 100_000,
        "a: !" + "x" * 100_000 + "!b",
        "a:\n" + " " * 100_000 + "\tb: c: d",
    ],
    ids=lambda text: text[:4],
)
def test_long_runs_of_one_character_take_no_time(text: str) -> None:
    fault(text)


def test_rubys_style_is_written() -> None:
    rows: list[tuple[Node, Node]] = [(plain("b"), Sequence(items=[plain("1"), quoted_if_needed("1")]))]
    nested = Mapping(pairs=[(plain("a"), Mapping(pairs=rows)), (plain("c"), Mapping(pairs=[]))])
    assert dump(nested) == "---\na:\n  b:\n  - 1\n  - '1'\nc: {}\n"


def test_a_long_text_stays_on_its_line() -> None:
    text = "word " * 100 + "end"
    assert dump(Mapping(pairs=[(plain("a"), quoted_if_needed(text))])) == f"---\na: {text}\n"


@pytest.mark.parametrize(
    "text",
    [
        "---\nversion: 1\n",
        "---\na: '1'\nb: \"x\"\nc: |\n  x\n  y\nd: >-\n  x\n",
        "---\na: [x, 'y', {z: 1}]\nb: {}\nc: []\n",
        "---\na: !own x\nb: !own\n  c: d\ne: !own [f]\n",
        "---\na: 2001-01-01\nb: 0755\nc: ~\nd: null\ne:\nf: yes\n",
        "---\na:\n-\n- x\n",
        "---\na: \U0001f600\n",
        "---\na: '@x'\n'b': '*c'\n",
    ],
)
def test_what_was_read_is_written_as_it_was(text: str, library: str) -> None:
    assert _same(_read_again(text), compose(text))
    if library == "libyaml" and text.isascii():
        assert dump(_root(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "? \n: x",
        "a: {b: , c: }",
        "a: [!!null '', ~]",
        "a: !!null ''",
        "a: !!null |2",
        "{a}",
        "a: {? : }",
        "!!null : x",
        "'': ''",
    ],
)
def test_nothing_stays_nothing_wherever_it_stands(text: str) -> None:
    again = [node.is_null for node in walk(_read_again(text)) if isinstance(node, Scalar)]
    assert again == [node.is_null for node in walk(_root(text)) if isinstance(node, Scalar)]
    assert dump(_read_again(text)) == dump(_root(text))


NO_TEXTS = (
    *("123", "-1", "+1", "0755", "0x1f", "0b1", "1_000", "1,000", "1:30", "1:30.5"),
    *("1.0", "1.", ".5", "-.5", "1.0e+3", ".inf", "-.INF", ".nan", ".NaN"),
    *("y", "N", "yes", "NO", "True", "off", "oN", "nULL", "null", "~"),
    *("2001-01-01", "2001-1-1", "2001-12-1", "2001-01-01 10:00:00", "2001-1-1T1:00:00Z"),
    *(":symbol", "=", "<<", "09-nine", "0999"),
)
TEXTS = (
    "a",
    "1.2.3",
    "0.33.0",
    "1e3",
    "1e+3",
    "0o17",
    "ruby-testing",
    "nope",
    "yess",
    "null-1",
    "1-2",
    "2001-13-1",
    "x1",
    "é",
)


@pytest.mark.parametrize("text", NO_TEXTS)
def test_what_yaml_or_ruby_would_not_read_as_a_text_is_quoted(text: str) -> None:
    found = value(dump(Mapping(pairs=[(plain("a"), quoted_if_needed(text))])))
    assert isinstance(found, Scalar)
    assert (found.text, found.style in {"'", '"'}) == (text, True)
    key = dump(Mapping(pairs=[(quoted_if_needed(text), plain("b"))]))
    assert key.startswith(("---\n'", '---\n"'))


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_is_one_anyway_is_not_quoted(text: str) -> None:
    assert dump(Mapping(pairs=[(quoted_if_needed(text), quoted_if_needed(text))])) == f"---\n{text}: {text}\n"


def _root(text: str) -> Node:
    root = compose(text)
    assert root is not None
    return root


def _read_again(text: str) -> Node:
    return _root(dump(_root(text)))


def _same(one: Node | None, other: Node | None) -> bool:
    """Whether two nodes are one but for their places and quotes."""
    match one, other:
        case Scalar(), Scalar():
            return (one.text, one.tag, one.is_null) == (other.text, other.tag, other.is_null)
        case Sequence(), Sequence():
            same = (one.tag, one.flow, len(one.items)) == (other.tag, other.flow, len(other.items))
            return same and all(map(_same, one.items, other.items))
        case Mapping(), Mapping():
            same = (one.tag, one.flow, len(one.pairs)) == (other.tag, other.flow, len(other.pairs))
            ours, theirs = ([node for pair in each.pairs for node in pair] for each in (one, other))
            return same and all(map(_same, ours, theirs))
        case _:
            return False
