from __future__ import annotations

import itertools
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsync.schema import InvalidError, MalformedError
from skillsync.syncing import journal
from skillsync.syncing.journal import Found, Settlement, Step, settle
from skillsync.syncing.registry import Registry, Row

OLD, NEW, OTHER = (f"blake3:{digit * 64}" for digit in "123")
ROW = Row(ecosystem="gem", package="sus", version="1.0.0", hash=NEW)
STEP = Step(skill="testing", old=OLD, new=NEW, inode=7)


def found(*, here: str | None, inode: int = 0, aside: bool = False, owned: bool = True) -> Found:
    return Found(here=here, is_there=here is not None, inode=inode, aside=aside, owned=owned)


@pytest.mark.parametrize(
    ("step", "seen", "settlement"),
    [
        (STEP, found(here=NEW, inode=7, aside=True), Settlement.ADOPT),
        (STEP, found(here=NEW, inode=7, owned=False), Settlement.ADOPT),
        (STEP, found(here=NEW, inode=8, aside=True), Settlement.LEAVE),
        (STEP, found(here=OTHER, inode=7, aside=True), Settlement.LEAVE),
        (STEP, found(here=OLD, inode=7), Settlement.LEAVE),
        (STEP, found(here=None, aside=True), Settlement.RESTORE),
        (STEP, found(here=None, aside=True, owned=False), Settlement.LEAVE),
        (STEP, found(here=None), Settlement.LEAVE),
        (Step(skill="x", old=OLD, new=None, inode=0), found(here=None, aside=True), Settlement.RESTORE),
        (Step(skill="x", old=OLD, new=None, inode=0), found(here=OLD, inode=0), Settlement.LEAVE),
    ],
)
def test_each_step_is_done_or_undone_or_none_of_that_runs(step: Step, seen: Found, settlement: Settlement) -> None:
    assert settle(step, seen) is settlement


def test_nothing_is_adopted_that_is_not_the_staged_directory_and_nothing_restored_that_is_not_owned() -> None:
    flags = (False, True)
    for here, inode, aside, owned in itertools.product((None, OLD, NEW, OTHER), (0, 7, 8), flags, flags):
        settlement = settle(STEP, found(here=here, inode=inode, aside=aside, owned=owned))
        assert settlement is not Settlement.ADOPT or (here, inode) == (NEW, 7)
        assert settlement is not Settlement.RESTORE or (here, aside, owned) == (None, True, True)


def test_a_journal_is_read_as_it_was_written() -> None:
    steps = (STEP, Step(skill="gone", old=OLD, new=None, inode=0), Step(skill="fresh", old=None, new=OTHER, inode=1))
    to_come = Registry(rows={"testing": ROW})
    assert journal.parse(journal.dump(steps, to_come)) == journal.Journal(steps=steps, registry=to_come)


def document(**changes: object) -> bytes:
    """Return a journal of one step, with some of it changed; None takes a key away."""
    step = {"skill": "testing", "old": OLD, "new": NEW, "inode": 7}
    step |= {key: value for key, value in changes.items() if key in step}
    whole = {"version": 1, "steps": [step], "registry": "version: 1\nskills: {}\n"}
    whole |= {key: value for key, value in changes.items() if key in whole}
    return json.dumps(whole).encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"{", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"\xff", "it is not UTF-8"),
        (b"[]", "it is not an object"),
        (document(registry="- a"), "it is not a mapping"),
    ],
)
def test_text_that_is_no_journal_is_malformed(content: bytes, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        journal.parse(content)


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (document(version=2), "version"),
        (document(steps={}), "steps"),
        (document(steps=["x"]), r"steps\[0\]"),
        (document(registry=1), "registry"),
        (document(skill="../x"), r"steps\[0\].skill"),
        (document(skill="/etc"), r"steps\[0\].skill"),
        (document(skill=1), r"steps\[0\].skill"),
        (document(old="sha256:1"), r"steps\[0\].old"),
        (document(new=1), r"steps\[0\].new"),
        (document(inode="7"), r"steps\[0\].inode"),
        (document(inode=True), r"steps\[0\].inode"),
    ],
)
def test_a_value_that_can_not_be_is_named(content: bytes, key: str) -> None:
    with pytest.raises(InvalidError) as caught:
        journal.parse(content)
    assert caught.value.key == key.replace("\\", "")


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_whatever_stands_there_is_read_or_refused(content: bytes) -> None:
    with suppress(InvalidError, MalformedError):
        journal.parse(content)
