from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from strategies import trees

from skillsync.hashing import File, Link, tree_hash

if TYPE_CHECKING:
    import random

    from skillsync.hashing import Entry, Tree

# Letters and bytes that look like the frames between which they stand.
_SCHEME = "blake3:"
_PATHS = ("f", "l", "ff", "fl", "lf", "f\x01")
_ENTRIES: tuple[Entry, ...] = (
    *(Link(target) for target in ("f", "l", "ff", "lf", "f\x01", "\x01", "")),
    *(File(_SCHEME + digest.hex()) for digest in (b"f" * 32, b"l" * 32, b"\x01" + b"\0" * 31, b"f\x01" + b"\0" * 30)),
)


def _small_trees() -> list[Tree]:
    found: list[Tree] = []
    for count in range(4):
        for paths in itertools.combinations(_PATHS, count):
            found += [dict(zip(paths, entries, strict=True)) for entries in itertools.product(_ENTRIES, repeat=count)]
    return found


def test_no_two_of_all_small_trees_have_one_hash() -> None:
    small = _small_trees()
    assert len(small) > 20_000
    assert len({tree_hash(tree) for tree in small}) == len(small)


@given(trees, trees)
def test_two_trees_have_one_hash_exactly_if_they_are_one_tree(one: Tree, other: Tree) -> None:
    assert (tree_hash(one) == tree_hash(other)) is (one == other)


@given(trees, st.data())
def test_any_change_of_a_tree_changes_its_hash(tree: Tree, data: st.DataObject) -> None:
    before = tree_hash(tree)
    for path, entry in tree.items():
        rest = {name: other for name, other in tree.items() if name != path}
        changed = [rest, {**rest, f"{path}x": entry}, {**rest, path: Link("elsewhere" * 3)}]
        if isinstance(entry, Link) and entry.target:
            # A character moves over the border between path and target.
            changed.append({**rest, path + entry.target[0]: Link(entry.target[1:])})
        if isinstance(entry, File):
            digest = bytearray.fromhex(entry.hash.removeprefix(_SCHEME))
            digest[data.draw(st.integers(0, 31))] ^= 1
            changed.append({**rest, path: File(_SCHEME + digest.hex())})
        assert before not in {tree_hash(other) for other in changed if other != tree}


@given(trees, st.randoms(use_true_random=False))
def test_the_order_in_which_entries_were_found_does_not_count(tree: Tree, order: random.Random) -> None:
    shuffled = dict(order.sample(list(tree.items()), len(tree)))
    assert tree_hash(shuffled) == tree_hash(tree)
