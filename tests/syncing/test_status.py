from __future__ import annotations

import itertools

import pytest
from builders import directory, locked

from skillsync.syncing.plan import Absent, Disk, Drift, Other, Twin, decide
from skillsync.syncing.registry import ForeignRow, Row
from skillsync.syncing.status import Status, of_available, of_locked, of_verified
from skillsync.yaml_nodes import Mapping

OWNER = locked("gem:sus", "testing")
(SKILL,) = OWNER.skills
OURS = Row(ecosystem="gem", package="sus", version="1.0.0", hash=SKILL.hash)
OLD = Row(ecosystem="gem", package="sus", version="0.9.0", hash="blake3:" + "00" * 32)
RUBYS = Row(ecosystem="gem", package="sus", version="1.0.0", hash=None)
OTHERS = Row(ecosystem="npm", package="sus", version="1.0.0", hash=SKILL.hash)
FOREIGN = ForeignRow(node=Mapping(pairs=[]))


@pytest.mark.parametrize(
    ("row", "there", "absent"),
    [
        (None, Status.CONFLICT, Status.LOCKED),
        (OURS, Status.INSTALLED, Status.MISSING),
        (OLD, Status.OUTDATED, Status.MISSING),
        (RUBYS, Status.OUTDATED, Status.MISSING),
        (OTHERS, Status.CONFLICT, Status.MISSING),
        (FOREIGN, Status.CONFLICT, Status.CONFLICT),
    ],
)
def test_the_state_of_a_locked_skill_without_reading_it(
    row: Row | ForeignRow | None, there: Status, absent: Status
) -> None:
    assert of_locked(OWNER, SKILL, row, is_there=True) is there
    assert of_locked(OWNER, SKILL, row, is_there=False) is absent


@pytest.mark.parametrize(
    ("row", "there", "absent"),
    [
        (None, Status.CONFLICT, Status.AVAILABLE),
        (OLD, Status.AVAILABLE, Status.AVAILABLE),
        (OTHERS, Status.CONFLICT, Status.AVAILABLE),
        (FOREIGN, Status.CONFLICT, Status.CONFLICT),
    ],
)
def test_the_state_of_a_skill_that_is_not_locked_yet(
    row: Row | ForeignRow | None, there: Status, absent: Status
) -> None:
    assert of_available("gem:sus", row, is_there=True) is there
    assert of_available("gem:sus", row, is_there=False) is absent


SAME, CHANGED = directory(), directory({"notes.md": "x"})
OURS_HERE = Row(ecosystem="gem", package="sus", version="1.0.0", hash=SAME.snapshot.hash)


def verified(row: Row | ForeignRow | None, disk: Disk) -> Status:
    """The state by the plan's own verdict; what is locked is the content of SAME."""
    return of_verified(decide(SAME.snapshot.hash, "gem:sus", row, disk).drift, row, disk)


@pytest.mark.parametrize(
    ("row", "disk", "expected"),
    [
        (None, Absent(), Status.LOCKED),
        (None, SAME, Status.CONFLICT),
        (None, CHANGED, Status.CONFLICT),
        (None, Other("a file"), Status.CONFLICT),
        (None, Twin("Testing"), Status.CONFLICT),
        (OURS_HERE, Absent(), Status.MISSING),
        (OURS_HERE, SAME, Status.INSTALLED),
        (OURS_HERE, CHANGED, Status.MODIFIED),
        (OURS_HERE, Other("a file"), Status.MODIFIED),
        (OURS_HERE, Twin("Testing"), Status.CONFLICT),
        (OLD, SAME, Status.INSTALLED),
        (OLD, CHANGED, Status.MODIFIED),
        (Row(ecosystem="gem", package="sus", version="1", hash=CHANGED.snapshot.hash), CHANGED, Status.OUTDATED),
        (RUBYS, SAME, Status.INSTALLED),
        (RUBYS, CHANGED, Status.MODIFIED),
        (OTHERS, Absent(), Status.MISSING),
        (OTHERS, SAME, Status.INSTALLED),
        (OTHERS, CHANGED, Status.CONFLICT),
        (FOREIGN, Absent(), Status.CONFLICT),
        (FOREIGN, SAME, Status.CONFLICT),
    ],
)
def test_the_state_of_a_locked_skill_that_was_read(row: Row | ForeignRow | None, disk: Disk, expected: Status) -> None:
    assert verified(row, disk) is expected


def test_every_difference_of_a_locked_skill_has_a_state() -> None:
    rows = (None, OURS_HERE, OLD, RUBYS, OTHERS, FOREIGN)
    disks: tuple[Disk, ...] = (Absent(), SAME, CHANGED, Other("a link"), Twin("Testing"))
    for row, disk in itertools.product(rows, disks):
        drift = decide(SAME.snapshot.hash, "gem:sus", row, disk).drift
        assert (verified(row, disk) is Status.INSTALLED) is (drift is None)


@pytest.mark.parametrize("drift", [Drift.STALE_ROW, Drift.NOT_EXECUTABLE])
def test_what_changes_nothing_of_the_content_is_installed(drift: Drift) -> None:
    assert of_verified(drift, OURS_HERE, SAME) is Status.INSTALLED


def test_the_words_for_states_are_those_that_scripts_rely_on() -> None:
    assert {status.value for status in Status} == {
        *("available", "locked", "installed", "outdated", "modified", "missing"),
        *("conflict", "excluded", "invalid", "unsafe"),
    }
