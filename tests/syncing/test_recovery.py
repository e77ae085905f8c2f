from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from builders import Installation, lay
from projects import content

from skillsync import filesystem
from skillsync.hashing import Link
from skillsync.syncing import journal, plan, registry
from skillsync.syncing.journal import STAGING, Step
from skillsync.syncing.plan import Drift, DriftRow
from skillsync.syncing.recovery import recover
from skillsync.syncing.registry import Registry, Row
from skillsync.syncing.state import read_settled

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from builders import Piece

NOWHERE = f"blake3:{'0' * 64}"


@pytest.fixture
def setup(tmp_path: Path) -> Installation:
    """Return a target directory with one installed skill, and one that a person wrote."""
    found = Installation(tmp_path)
    found.ship("testing", {"run": "#!/bin/sh\n"})
    found.sync()
    lay(found.installed, {"mine/SKILL.md": "m"})
    return found


def recovered(setup: Installation) -> None:
    with filesystem.open_directory(str(setup.installed)) as fd:
        recover(fd, setup.place)


def plant(setup: Installation, steps: Iterable[Step], rows: dict[str, Row] | None = None, **pieces: Piece) -> None:
    """Leave a journal, and other entries of the staging directory, as an interrupted run could have."""
    text = journal.dump(steps, Registry(rows=rows or {})).decode()
    lay(setup.installed, {f"{STAGING}/{journal.FILE_NAME}": text})
    lay(setup.installed, {f"{STAGING}/{name}": piece for name, piece in pieces.items()})


def test_a_journal_gives_no_right_to_what_a_person_wrote(setup: Installation) -> None:
    setup.ship("mine", {})
    lay(setup.installed, {"mine/SKILL.md": "# mine\n"})
    digest = setup.lock().skills["mine"][1].hash
    row = Row(ecosystem="gem", package="sus", version="1.0.0", hash=digest)
    before = content(setup.installed, times=True)
    for inode in (0, 1, os.stat(setup.installed).st_ino):
        plant(setup, [Step(skill="mine", old=None, new=digest, inode=inode)], {"mine": row})
        recovered(setup)
        assert content(setup.installed / "mine", times=True) == {
            path.removeprefix("mine/"): entry for path, entry in before.items() if path.startswith("mine/")
        }
        assert "mine" not in setup.state().registry.rows


def test_the_staged_directory_itself_is_adopted_with_the_row_that_was_to_come(setup: Installation) -> None:
    setup.ship("fresh", {})
    lay(setup.installed, {"fresh/SKILL.md": "# fresh\n"})
    digest = setup.lock().skills["fresh"][1].hash
    inode = os.stat(setup.installed / "fresh").st_ino
    row = Row(ecosystem="gem", package="sus", version="1.0.0", hash=digest)
    lay(setup.installed, {f"{STAGING}/new-{registry.FILE_NAME}": "left"})
    plant(setup, [Step(skill="fresh", old=None, new=digest, inode=inode)], {"fresh": row})
    recovered(setup)
    assert setup.state().registry.rows["fresh"] == row
    assert not (setup.installed / STAGING).exists()
    assert setup.plan().changes == ()


def test_without_the_row_that_was_to_come_nothing_is_adopted(setup: Installation) -> None:
    setup.ship("fresh", {})
    lay(setup.installed, {"fresh/SKILL.md": "# fresh\n"})
    digest = setup.lock().skills["fresh"][1].hash
    inode = os.stat(setup.installed / "fresh").st_ino
    for rows in ({}, {"fresh": Row(ecosystem="gem", package="sus", version="1", hash=NOWHERE)}):
        plant(setup, [Step(skill="fresh", old=None, new=digest, inode=inode)], rows)
        recovered(setup)
        assert "fresh" not in setup.state().registry.rows


def test_what_was_moved_aside_comes_back_only_if_it_is_owned(setup: Installation) -> None:
    steps = [Step(skill=name, old=NOWHERE, new=None, inode=0) for name in ("testing", "planted")]
    (setup.installed / STAGING).mkdir()
    (setup.installed / "testing").rename(setup.installed / STAGING / "old-testing")
    plant(setup, steps, None, **{"old-planted/SKILL.md": "p"})
    recovered(setup)
    assert (setup.installed / "testing/run").exists()
    assert sorted(os.listdir(setup.installed)) == [registry.FILE_NAME, "mine", "testing"]


def test_what_was_made_inside_goes_only_into_a_directory(setup: Installation) -> None:
    plant(setup, [Step(skill="note", old=NOWHERE, new=None, inode=0)], None, **{"old-note/.venv/lib": "l"})
    lay(setup.installed, {"note": "a file"})
    recovered(setup)
    assert (setup.installed / "note").read_text() == "a file"


@pytest.mark.parametrize("text", ["", "{", json.dumps({"version": 2}), "x" * 100])
def test_without_a_journal_that_can_be_read_nothing_had_been_changed(setup: Installation, text: str) -> None:
    before = content(setup.installed, times=True)
    lay(setup.installed, {f"{STAGING}/{journal.FILE_NAME}": text, f"{STAGING}/new-x/SKILL.md": "x"})
    recovered(setup)
    assert content(setup.installed, times=True) == before


def test_an_interrupted_run_is_drift_and_one_at_work_is_waited_for(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(setup, [])
    found, problems = read_settled(setup.place, setup.lock())
    made = plan.make(".agents/skills", setup.lock(), found, force=False)
    assert (found.interrupted, problems, made.drift) == (True, [], (DriftRow(kind=Drift.INTERRUPTED),))

    waited = []

    def end(seconds: float) -> None:
        """Let the other run come to its end while this one waits."""
        waited.append(seconds)
        recovered(setup)
        os.close(other)

    other = os.open(setup.installed, os.O_RDONLY)
    assert filesystem.take_lock(other, wait=False)
    monkeypatch.setattr("skillsync.syncing.state.time.sleep", end)
    assert not read_settled(setup.place, setup.lock())[0].interrupted
    assert len(waited) == 1


@pytest.mark.parametrize("journaled", [True, False])
def test_a_planted_staging_directory_writes_nothing_through_a_link(
    setup: Installation, tmp_path: Path, *, journaled: bool
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    lay(setup.installed, {"e": Link(str(victim)), "f/x": Link(str(victim)), "f/SKILL.md": "f"})
    for old in ("old-e/node_modules/m", "old-e/x/.venv/m", "old-f/x/.venv/m", "old-f/y/.venv/m"):
        lay(setup.installed, {f"{STAGING}/{old}": "planted"})
    if journaled:
        plant(setup, [Step(skill=name, old=NOWHERE, new=None, inode=0) for name in ("e", "f")])
    recovered(setup)
    assert list(victim.iterdir()) == []
    assert sorted(os.listdir(setup.installed / "f")) == ["SKILL.md", "x"]
    assert not (setup.installed / STAGING).exists()
