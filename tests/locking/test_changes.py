from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from builders import lay, locked, locked_skill, tree, walked

from skillsync.hashing import Link
from skillsync.locking.changes import Action, Change, FileChanges, between, compare, since_install
from skillsync.locking.lockfile import LockedProvider, Lockfile

if TYPE_CHECKING:
    from pathlib import Path

ONE = FileChanges(added=("SKILL.md",))
GONE = FileChanges(removed=("SKILL.md",))


def changes(old: tuple[LockedProvider, ...], new: tuple[LockedProvider, ...]) -> list[Change]:
    return list(between(Lockfile(providers=old), Lockfile(providers=new)))


def test_trees_are_compared_file_by_file_and_sorted() -> None:
    old = tree({"a": "1", "b": "2", "c/d": "3", "link": Link("a"), "z": "x"})
    new = tree({"a": "1", "b": "changed", "link": Link("b"), "z": Link("a"), "new": "", "also/new": ""})
    assert compare(old, new) == FileChanges(added=("also/new", "new"), changed=("b", "link", "z"), removed=("c/d",))
    assert compare(new, old) == FileChanges(added=("c/d",), changed=("b", "link", "z"), removed=("also/new", "new"))
    assert compare(old, old) == FileChanges()
    assert compare({}, tree({"a": ""})) == FileChanges(added=("a",))


RECORDED = {"SKILL.md": "1", "a/b": "2", "c.pyc": "", ".DS_Store": "3", "m/__pycache__/x.pyc": "4", ".venv/x": "5"}


def test_what_was_removed_and_added_since_it_was_installed(tmp_path: Path) -> None:
    found = walked(lay(tmp_path / "x", {"SKILL.md": "", "new/b": "", "new/a": "", "m/__pycache__/y.pyc": ""}))
    assert since_install(RECORDED, found) == FileChanges(added=("new/a", "new/b"), removed=("a/b",))
    assert since_install({}, found) == FileChanges()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (FileChanges(), ""),
        (FileChanges(changed=("a", "b")), "changed a, b"),
        (FileChanges(added=("x",), changed=("y",), removed=("z",)), "added x; changed y; removed z"),
    ],
)
def test_what_differs_is_said_in_words(changes: FileChanges, text: str) -> None:
    assert changes.text == text


def test_the_same_lock_changes_nothing_in_whatever_order() -> None:
    a, b = locked("gem:a", "x", "y"), locked("gem:b", "z")
    assert changes((a, b), (b, a)) == []
    assert changes((), ()) == []


def test_a_new_skill_is_added_and_one_that_is_gone_is_removed() -> None:
    old, new = locked("gem:a", "x", "y"), locked("gem:a", "y", "z")
    assert changes((old,), (new,)) == [
        Change(action=Action.REMOVE, skill="x", provider="gem:a", version="1.0.0", files=GONE),
        Change(action=Action.ADD, skill="z", provider="gem:a", version="1.0.0", files=ONE),
    ]


def test_changes_come_sorted_by_skill() -> None:
    found = changes((), (locked("gem:b", "a", "c"), locked("gem:a", "b")))
    assert [change.skill for change in found] == ["a", "b", "c"]


def test_the_last_provider_can_go() -> None:
    (change,) = changes((locked("gem:a", "x"),), ())
    assert (change.action, change.provider, change.previous, change.previous_version) == (
        Action.REMOVE,
        "gem:a",
        None,
        None,
    )


def test_other_content_is_an_update_by_its_files() -> None:
    old = locked("gem:a", locked_skill("x", {"a.md": "1", "b.md": "2"}))
    new = locked("gem:a", locked_skill("x", {"a.md": "one", "scripts/x.sh": ""}))
    (change,) = changes((old,), (new,))
    assert change == Change(
        action=Action.UPDATE,
        skill="x",
        provider="gem:a",
        version="1.0.0",
        files=FileChanges(added=("scripts/x.sh",), changed=("a.md",), removed=("b.md",)),
    )


def test_a_version_without_new_content_is_an_update_without_files() -> None:
    (change,) = changes((locked("gem:a", "x", version="1"),), (locked("gem:a", "x", version="2"),))
    assert change == Change(
        action=Action.UPDATE, skill="x", provider="gem:a", version="2", files=FileChanges(), previous_version="1"
    )


def test_a_skill_that_changes_hands_says_whose_it_was() -> None:
    (change,) = changes((locked("gem:a", "x"),), (locked("npm:a", "x"),))
    assert (change.action, change.provider, change.previous, change.files) == (
        Action.UPDATE,
        "npm:a",
        "gem:a",
        FileChanges(),
    )


def test_the_words_for_what_is_done_are_those_that_scripts_rely_on() -> None:
    assert [action.value for action in Action] == ["add", "update", "remove", "repair", "record", "forget"]
