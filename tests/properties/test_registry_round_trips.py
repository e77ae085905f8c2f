from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from strategies import lines, names, registries

from skillsync.syncing.registry import ForeignRow, Registry, Row, dump, parse
from skillsync.values import replace
from skillsync.yaml_nodes import Alias, Mapping, Node, Scalar, Sequence

if TYPE_CHECKING:
    import random


@given(registries)
def test_what_is_written_is_what_is_read(registry: Registry) -> None:
    assert parse(dump(registry)) == registry


@given(registries)
def test_what_is_read_is_written_as_it_was(registry: Registry) -> None:
    content = dump(registry)
    assert dump(parse(content)) == content


@given(registries, st.randoms(use_true_random=False))
def test_one_registry_has_one_form_in_whatever_order_it_was_made(registry: Registry, order: random.Random) -> None:
    rows = order.sample(list(registry.rows.items()), len(registry.rows))
    assert dump(Registry(rows=dict(rows))) == dump(registry)


@given(registries)
def test_a_checkout_with_other_line_ends_and_a_bom_is_the_same_registry(registry: Registry) -> None:
    assert parse(b"\xef\xbb\xbf" + dump(registry).replace(b"\n", b"\r\n")) == registry


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | lines
scalars = st.builds(
    Scalar,
    text=texts,
    tag=st.sampled_from(["", "!own", "tag:yaml.org,2002:str"]),
    style=st.sampled_from(["'", '"', "|", ">"]),
) | st.builds(Scalar, text=st.sampled_from(["", "~", "null", "1", "1.0", "no", "text", "2001-01-01", "0x1f"]))
nodes: st.SearchStrategy[Node] = st.recursive(
    scalars,
    lambda inner: (
        st.builds(Sequence, items=st.lists(inner, max_size=3), flow=st.booleans())
        | st.builds(Mapping, pairs=st.lists(st.tuples(inner, inner), max_size=3), flow=st.booleans())
    ),
    max_leaves=6,
)
foreign_rows = st.dictionaries(names, nodes, max_size=3).map(
    lambda keys: ForeignRow(node=Mapping(pairs=[(Scalar(text=f"x-{key}"), node) for key, node in keys.items()]))
)


def meaning(node: Node) -> object:
    """What a node says, without where it stands and how it is quoted."""
    match node:
        case Scalar():
            return None if node.is_null else (node.text, node.tag.removeprefix("tag:yaml.org,2002:str"))
        case Sequence():
            return [meaning(item) for item in node.items]
        case Mapping():
            return [(meaning(key), meaning(value)) for key, value in node.pairs]
        case Alias():
            raise AssertionError(node)


@given(registries, st.dictionaries(names, foreign_rows, max_size=2), st.dictionaries(names, nodes, max_size=2))
def test_what_is_not_ours_is_never_changed_or_dropped(
    registry: Registry, foreign: dict[str, ForeignRow], keys: dict[str, Node]
) -> None:
    extra: tuple[tuple[Node, Node], ...] = tuple((Scalar(text=f"x-{key}"), node) for key, node in keys.items())
    ours = {name: replace(row, extra=extra) for name, row in registry.rows.items() if isinstance(row, Row)}
    written = Registry(rows={**ours, **foreign}, extra=extra)
    found = parse(dump(written))
    assert found == written
    assert dump(parse(dump(found))) == dump(found)
    assert [meaning(value) for _, value in found.extra] == [meaning(value) for _, value in extra]
    for name, row in found.rows.items():
        if isinstance(row, ForeignRow):
            assert meaning(row.node) == meaning(foreign[name].node)
        else:
            assert [meaning(value) for _, value in row.extra] == [meaning(value) for _, value in extra]
