from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from skillsync.schema import InvalidError, MalformedError, NewerError
from skillsync.syncing import journal, registry
from skillsync.syncing.journal import Found, Ownership, Settlement, Step, settle
from skillsync.values import replace

if TYPE_CHECKING:
    from skillsync.syncing.registry import Registry

OLD, NEW, OTHER = (f"blake3:{digit * 64}" for digit in "123")
STEP = Step(skill="testing", old=OLD, new=NEW, inode=7)


ABSENT = ("absent", False, None, 0)
STAGED = ("staged", True, NEW, 7)
EDITED = ("edited", True, OTHER, 7)
UNSAFE = ("unsafe", True, None, 7)
AS_IT_WAS = ("as-it-was", True, OLD, 8)
COPIED = ("copied", True, NEW, 8)
FILE = ("file", True, None, 0)
REMOVAL = Step(skill="testing", old=OLD, new=None, inode=0)
ADDITION = Step(skill="testing", old=None, new=NEW, inode=7)
ADOPT, KEEP, LEAVE, RESTORE = Settlement.ADOPT, Settlement.KEEP, Settlement.LEAVE, Settlement.RESTORE

# What is there, and what becomes of it where the registry owns it, doesn't, or is not there itself.
WRITTEN = (
    (STAGED, (ADOPT, ADOPT, ADOPT)),
    (EDITED, (KEEP, KEEP, KEEP)),
    (UNSAFE, (KEEP, KEEP, KEEP)),
    (AS_IT_WAS, (KEEP, LEAVE, LEAVE)),
    (COPIED, (KEEP, LEAVE, LEAVE)),
    (FILE, (KEEP, LEAVE, LEAVE)),
)
REMOVED = tuple((there, (KEEP, LEAVE, LEAVE)) for there, _ in WRITTEN)
TABLE = [
    (step, there, aside, ownership, settlement)
    for step, rows in ((STEP, WRITTEN), (ADDITION, WRITTEN), (REMOVAL, REMOVED))
    for aside in (True, False)
    for there, settlements in (*rows, (ABSENT, (RESTORE, LEAVE, RESTORE) if aside else (LEAVE, LEAVE, LEAVE)))
    for ownership, settlement in zip(Ownership, settlements, strict=True)
]


@pytest.mark.parametrize(("step", "there", "aside", "ownership", "settlement"), TABLE)
def test_each_step_is_done_or_undone_or_none_of_that_runs(
    step: Step,
    there: tuple[str, bool, str | None, int],
    ownership: Ownership,
    settlement: Settlement,
    *,
    aside: bool,
) -> None:
    _, is_there, here, inode = there
    assert (
        settle(step, Found(here=here, is_there=is_there, inode=inode, aside=aside, ownership=ownership)) is settlement
    )


def test_what_a_done_run_replaced_is_of_no_use_and_what_nothing_proves_is_not_brought_back() -> None:
    gone = Found(here=None, is_there=False, inode=0, aside=True, ownership=Ownership.OWNED)
    assert settle(STEP, gone) is RESTORE
    assert settle(STEP, replace(gone, is_recorded=True)) is LEAVE
    assert settle(STEP, replace(gone, is_proven=False)) is RESTORE
    lost = replace(gone, ownership=Ownership.UNKNOWN)
    assert settle(STEP, lost) is RESTORE
    assert settle(STEP, replace(lost, is_proven=False)) is LEAVE


steps = st.builds(
    Step,
    skill=strategies.names,
    old=st.none() | strategies.hashes,
    new=st.none() | strategies.hashes,
    inode=st.integers(0, 2**64),
    old_inode=st.integers(0, 2**64),
    link=st.none() | st.text(st.characters(exclude_categories=["Cs"])),
)


@given(st.lists(steps, unique_by=lambda step: step.skill, max_size=4).map(tuple), strategies.registries)
def test_a_journal_is_read_as_it_was_written(found: tuple[Step, ...], to_come: Registry) -> None:
    assert journal.parse(journal.dump(found, registry.dump(to_come))) == journal.Journal(steps=found, registry=to_come)


def document(**changes: object) -> bytes:
    """Return a journal of one step, with some of it changed; None takes a key away."""
    step = {"skill": "testing", "old": OLD, "new": NEW, "inode": 7, "old_inode": 8, "link": None}
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
        (document(version=0), "version"),
        (document(version=True), "version"),
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
        (document(inode=7.0), r"steps\[0\].inode"),
        (document(old_inode=None), r"steps\[0\].old_inode"),
        (document(skill="\ud800"), r"steps\[0\].skill"),
        (document(link=1), r"steps\[0\].link"),
        (document(link=["../x"]), r"steps\[0\].link"),
        (
            document(steps=[{"skill": "x", "old": None, "new": OLD, "inode": 7, "old_inode": old} for old in (7, 8)]),
            r"steps\[1\].skill",
        ),
        (document(steps=[{"skill": "x", "inode": 7, "path": "/etc"}]), r"steps\[0\].path"),
    ],
)
def test_a_value_that_can_not_be_is_named(content: bytes, key: str) -> None:
    with pytest.raises(InvalidError) as caught:
        journal.parse(content)
    assert caught.value.key == key.replace("\\", "")


def test_a_journal_of_the_future_is_none_that_can_be_judged() -> None:
    for content in (document(version=2), document(registry="version: 2\nskills: {}\n")):
        with pytest.raises(NewerError):
            journal.parse(content)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_whatever_stands_there_is_read_or_refused(content: bytes) -> None:
    with suppress(InvalidError, MalformedError):
        journal.parse(content)
