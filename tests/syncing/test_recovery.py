from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import cuts
import pytest
from builders import FIFO, Installation, lay, take_away, walked
from cuts import Busy, BusyCopies, BusyLinks, Cut, Killed, recovered
from projects import SKILLS, Project, content

from skillsync import filesystem
from skillsync.errors import Code, SkillsyncError
from skillsync.hashing import Link
from skillsync.syncing import journal, plan, registry
from skillsync.syncing.journal import STAGING, Step
from skillsync.syncing.plan import Drift, DriftRow
from skillsync.syncing.registry import ForeignRow, Registry, Row
from skillsync.syncing.state import read_settled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import IO

    from builders import Piece, Pieces

NOWHERE = f"blake3:{'0' * 64}"


@pytest.fixture
def setup(tmp_path: Path) -> Installation:
    """Return a target directory with one installed skill, and one that a person wrote."""
    found = Installation(tmp_path)
    found.ship("testing", {"run": "#!/bin/sh\n"})
    found.sync()
    lay(found.installed, {"mine/SKILL.md": "m"})
    return found


pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


# What a planted journal can do


def plant(setup: Installation, steps: Iterable[Step], rows: dict[str, Row] | None = None, **pieces: Piece) -> None:
    """Leave a journal, and other entries of the staging directory, as a run that was not done could have."""
    lay(setup.installed, {f"{STAGING}/new-{registry.FILE_NAME}": "---\n"})
    text = journal.dump(steps, registry.dump(Registry(rows=rows or {}))).decode()
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
    (setup.installed / STAGING).mkdir()
    (setup.installed / "testing").rename(setup.installed / STAGING / "old-testing")
    lay(setup.installed, {f"{STAGING}/old-planted/SKILL.md": "p"})
    planted = walked(setup.installed / STAGING / "old-planted").hash
    steps = [
        Step(skill="testing", old=NOWHERE, new=None, inode=0),
        Step(skill="planted", old=planted, new=None, inode=0),
    ]
    plant(setup, steps)
    recovered(setup)
    assert (setup.installed / "testing/run").exists()
    assert sorted(os.listdir(setup.installed)) == [registry.FILE_NAME, "mine", "testing"]


def moved_aside(setup: Installation, skill: str, pieces: Pieces) -> None:
    """Leave an interrupted run that had moved aside what it meant to replace."""
    lay(setup.installed, {f"{STAGING}/old-{skill}/{path}": piece for path, piece in pieces.items()})
    old = walked(setup.installed / STAGING / f"old-{skill}").hash
    plant(setup, [Step(skill=skill, old=old, new=NOWHERE, inode=1)])


def missed(setup: Installation, *skills: str) -> None:
    """A run is refused, nothing changes, and what was moved aside is named."""
    start = f"{SKILLS}/{STAGING}/old-"
    text = "is not what an interrupted sync meant to replace: somebody may miss it"
    hint = f"look at it, and move it away or back to {SKILLS}/"
    refused(setup, *((Code.MODIFIED, f"{start}{skill} {text}", f"{hint}{skill}") for skill in skills))


@pytest.mark.parametrize("name", ["note", "testing"])
def test_what_was_made_inside_goes_only_into_a_directory(setup: Installation, name: str) -> None:
    if name == "testing":
        take_away(setup.installed / name)
    lay(setup.installed, {name: "a file"})
    moved_aside(setup, name, {"f": "1"})
    recovered(setup)
    assert (setup.installed / name).read_text() == "a file"


@pytest.mark.parametrize(
    ("pieces", "path", "taken"),
    [
        ({"testing/.venv/lib": "mine"}, ".venv", "testing/.venv"),
        ({"testing/a/.git": "gitdir: .."}, "a/.git", "testing/a/.git"),
        ({"testing/a": "a file"}, "a/b/.git", "testing/a"),
        ({"testing/a": Link("../../../outside")}, "a/b/.git", "testing/a"),
        ({"testing": "a file"}, ".venv", "testing"),
        ({"testing": Link("mine")}, ".venv", "testing"),
    ],
)
def test_what_was_made_inside_is_kept_where_its_place_is_taken(
    setup: Installation, pieces: Pieces, path: str, taken: str
) -> None:
    lay(setup.project, {"outside/f": "f"})
    if "testing" in pieces:
        take_away(setup.installed / "testing")
    lay(setup.installed, pieces)
    moved_aside(setup, "testing", {f"{path}/f": "made", "b/node_modules/f": "made too"})
    aside = f"{SKILLS}/{STAGING}/old-testing/{path}"
    message = f"{aside} was {SKILLS}/testing/{path} until a sync was interrupted"
    hint = f"look at it and at {SKILLS}/{taken}, and move one of them away"
    with pytest.raises(SkillsyncError) as caught:
        recovered(setup)
    found = caught.value.problems[0]
    assert (found.code, found.message, found.hint) == (Code.MODIFIED, message, hint)
    assert (setup.installed / STAGING / f"old-testing/{path}/f").read_text() == "made"
    # What was in the way goes away: all comes back.
    (setup.installed / taken).rename(setup.project / "away")
    if taken != "testing":
        recovered(setup)
        assert (setup.installed / "testing" / path / "f").read_text() == "made"
        assert (setup.installed / "testing/b/node_modules/f").read_text() == "made too"
    assert not (setup.installed / "testing/f").exists()
    assert os.listdir(setup.project / "outside") == ["f"]


def test_everything_that_keeps_a_run_from_going_on_is_told_at_once(setup: Installation) -> None:
    lay(setup.installed, {"testing/.venv/lib": "mine", "testing/.git/HEAD": "mine", ".gitignore": "mine\n"})
    moved_aside(setup, "testing", {".venv/lib": "made", ".git/HEAD": "made"})
    lay(setup.installed, {f"{STAGING}/old-.gitignore": "/mine/tmp\n", f"{STAGING}/new-.gitignore": "n\n"})
    with pytest.raises(SkillsyncError) as caught:
        recovered(setup)
    start = f"{SKILLS}/{STAGING}"
    assert [problem.path for problem in caught.value.problems] == [
        f"{start}/old-testing/.git",
        f"{start}/old-testing/.venv",
        f"{start}/old-.gitignore",
    ]


@pytest.mark.parametrize("name", [".venv/lib", "node_modules/m/f"])
def test_what_was_made_inside_goes_into_no_directory_of_a_person_s(setup: Installation, name: str) -> None:
    moved_aside(setup, "mine", {name: "made"})
    missed(setup, "mine")


@pytest.mark.parametrize("piece", [{"SKILL.md": "edited"}, {"SKILL.md": FIFO}, {".venv/lib": "l"}])
@pytest.mark.parametrize("name", ["mine", "testing"])
def test_what_was_edited_before_it_was_moved_aside_is_never_removed(
    setup: Installation, name: str, piece: Pieces
) -> None:
    pieces = {f"old-{name}/{path}": one for path, one in piece.items()}
    plant(setup, [Step(skill=name, old=NOWHERE, new=None, inode=0)], None, **pieces)
    missed(setup, name)
    # Out of the way, it stops nothing.
    (setup.installed / STAGING / f"old-{name}").rename(setup.project / "kept")
    recovered(setup)
    assert not (setup.installed / STAGING).exists()


def test_what_was_made_inside_a_skill_goes_with_it_where_that_was_asked_for(setup: Installation) -> None:
    lay(setup.installed, {"testing/.venv/lib": "l"})
    setup.drop("testing")
    assert isinstance(Cut(f"rename new-{registry.FILE_NAME}", Killed, after=True).run(setup, force=True), Killed)
    recovered(setup)
    assert sorted(os.listdir(setup.installed)) == [registry.FILE_NAME, ".gitignore", "mine"]


def test_what_was_made_inside_is_kept_where_the_registry_of_another_branch_knows_nothing_of_the_skill(
    setup: Installation,
) -> None:
    lay(setup.installed, {"testing/.venv/lib": "l"})
    setup.ship("testing", {"f": "2"})
    assert isinstance(Cut("rename testing", Killed, after=True).run(setup), Killed)
    lay(setup.installed, {registry.FILE_NAME: "version: 1\nskills: {}\n"})
    missed(setup, "testing")
    assert (setup.installed / STAGING / "old-testing/.venv/lib").read_text() == "l"


def test_a_skill_that_somebody_removes_after_its_run_was_done_is_added_again(setup: Installation) -> None:
    setup.ship("testing", {"f": "2"})
    assert isinstance(Cut(f"rename new-{registry.FILE_NAME}", Killed, after=True).run(setup), Killed)
    take_away(setup.installed / "testing")
    setup.sync()
    assert (setup.installed / "testing/f").read_text() == "2"
    assert not (setup.installed / STAGING).exists()


@pytest.mark.parametrize("old", [NOWHERE, None])
def test_without_a_registry_a_planted_journal_installs_nothing(setup: Installation, old: str | None) -> None:
    (setup.installed / registry.FILE_NAME).unlink()
    lay(setup.installed, {f"{STAGING}/old-evil/SKILL.md": "evil"})
    digest = walked(setup.installed / STAGING / "old-evil").hash if old is None else old
    plant(setup, [Step(skill="evil", old=digest, new=None, inode=0, old_inode=1)])
    missed(setup, "evil")


def test_what_was_staged_by_nobody_knows_whom_goes(setup: Installation) -> None:
    plant(setup, [Step(skill="testing", old=None, new=NOWHERE, inode=1)], None, **{"new-testing/f": "planted"})
    recovered(setup)
    assert not (setup.installed / STAGING).exists()
    assert (setup.installed / "testing/run").exists()


def test_what_a_file_manager_leaves_stands_in_nobody_s_way(setup: Installation) -> None:
    setup.ship("testing", {"f": "2"})
    assert isinstance(Cut("rename testing", Killed, after=True).run(setup), Killed)
    lay(setup.installed, {f"{STAGING}/.DS_Store": "d"})
    setup.sync()
    assert not (setup.installed / STAGING).exists()


def test_a_file_that_came_into_a_skill_s_place_and_was_moved_aside_is_never_removed(setup: Installation) -> None:
    plant(setup, [Step(skill="testing", old=NOWHERE, new=None, inode=0)], None, **{"old-testing": "a file"})
    missed(setup, "testing")


@pytest.mark.parametrize("piece", ["a file", Link("../mine")], ids=["file", "link"])
def test_what_came_into_a_link_s_place_and_was_moved_aside_is_never_removed(setup: Installation, piece: Piece) -> None:
    # The run meant to replace something without a hash, and another thing was there by then.
    plant(setup, [Step(skill="testing", old=None, new=None, inode=0, old_inode=1)], None, **{"old-testing": piece})
    missed(setup, "testing")


@pytest.mark.parametrize("text", ["../../.first/skills/fresh", "../mine"])
def test_a_link_gives_no_right_but_by_its_own_number_and_text(setup: Installation, text: str) -> None:
    lay(setup.installed, {"fresh": Link(text)})
    number = os.lstat(setup.installed / "fresh").st_ino
    wanted = "../../.first/skills/fresh"
    row = Row(ecosystem="gem", package="sus", version="1.0.0", hash=NOWHERE)
    for inode, link in ((number + 1, wanted), (number, None), (number, "../other"), (0, wanted)):
        plant(setup, [Step(skill="fresh", old=None, new=NOWHERE, inode=inode, link=link)], {"fresh": row})
        recovered(setup)
        assert "fresh" not in registry.parse((setup.installed / registry.FILE_NAME).read_bytes()).rows
        assert os.readlink(setup.installed / "fresh") == text
    plant(setup, [Step(skill="fresh", old=None, new=NOWHERE, inode=number, link=wanted)], {"fresh": row})
    recovered(setup)
    is_adopted = "fresh" in registry.parse((setup.installed / registry.FILE_NAME).read_bytes()).rows
    assert is_adopted is (text == wanted)


def test_what_was_made_inside_goes_into_an_owned_directory(setup: Installation) -> None:
    moved_aside(setup, "testing", {".venv/lib": "l", "a/.git/HEAD": "h"})
    recovered(setup)
    assert (setup.installed / "testing/.venv/lib").read_text() == "l"
    assert (setup.installed / "testing/a/.git/HEAD").read_text() == "h"


def test_another_program_s_row_stays(setup: Installation) -> None:
    setup.ship("foreign", {})
    lay(setup.installed, {"foreign/SKILL.md": "# foreign\n"})
    path = setup.installed / registry.FILE_NAME
    path.write_text(path.read_text() + "  foreign:\n    by: hand\n")
    digest = setup.lock().skills["foreign"][1].hash
    inode = os.stat(setup.installed / "foreign").st_ino
    row = Row(ecosystem="gem", package="sus", version="1.0.0", hash=digest)
    plant(setup, [Step(skill="foreign", old=None, new=digest, inode=inode)], {"foreign": row})
    before = path.read_bytes()
    recovered(setup)
    assert path.read_bytes() == before
    assert isinstance(setup.state().registry.rows["foreign"], ForeignRow)


@pytest.mark.parametrize("skill", ["..", "../mine", "/etc", "a/b", "mine\0", "con", "", ".git", ".agent-skills.yaml"])
def test_a_journal_that_names_a_foreign_path_is_none(setup: Installation, skill: str) -> None:
    before = content(setup.project, times=True)
    plant(setup, [Step(skill=skill, old=NOWHERE, new=None, inode=0)], None, **{"new-x/SKILL.md": "x"})
    recovered(setup)
    assert content(setup.project, times=True) == before


@pytest.mark.parametrize(
    "pieces",
    [
        {"old-x": Link("../../..")},
        {"old-x": Link("/")},
        {"old-x/l": Link("/"), "old-x/d/l": Link("../../..")},
        {"new-x": Link("/etc/passwd")},
        {"old-x": FIFO, "new-y/fifo": FIFO},
        {"new-x/l": Link("/")},
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_nothing_that_a_link_leads_to_is_touched(setup: Installation, pieces: Pieces, *, named: bool) -> None:
    outside = lay(setup.root / "outside", {"f": "o"})
    before = content(outside, times=True), content(setup.project, times=True)
    plant(setup, [Step(skill="x", old=NOWHERE, new=NOWHERE, inode=1)] if named else [], None, **pieces)
    if any(name.startswith("old-") for name in pieces):
        missed(setup, "x")
        take_away(setup.installed / STAGING)
    else:
        recovered(setup)
    assert (content(outside, times=True), content(setup.project, times=True)) == before


# What is there besides, or instead, of a journal


@pytest.mark.parametrize("text", [None, "", "{", "x" * 100, json.dumps({"version": 1, "steps": [], "registry": "-"})])
def test_without_a_valid_journal_what_was_staged_goes(setup: Installation, text: str | None) -> None:
    before = content(setup.installed, times=True)
    journals: Pieces = {} if text is None else {f"{STAGING}/{journal.FILE_NAME}": text}
    lay(setup.installed, {f"{STAGING}/new-x/SKILL.md": "x", f"{STAGING}/old-y": None, **journals})
    recovered(setup)
    assert content(setup.installed, times=True) == before


@pytest.mark.parametrize("registered", [True, False])
@pytest.mark.parametrize("piece", ["evil", Link("../../../.."), FIFO])
def test_without_a_journal_nothing_that_is_not_owned_comes_back_or_goes(
    setup: Installation, piece: Piece, *, registered: bool
) -> None:
    if not registered:
        (setup.installed / registry.FILE_NAME).unlink()
    lay(
        setup.installed,
        {f"{STAGING}/old-y": piece} if isinstance(piece, Link) else {f"{STAGING}/old-y/SKILL.md": piece},
    )
    missed(setup, "y")


@pytest.mark.parametrize("text", [None, "{"], ids=["none", "broken"])
def test_without_a_valid_journal_what_is_owned_comes_back_all_the_same(setup: Installation, text: str | None) -> None:
    before = content(setup.installed, times=True)
    (setup.installed / STAGING).mkdir()
    (setup.installed / "testing").rename(setup.installed / STAGING / "old-testing")
    if text is not None:
        lay(setup.installed, {f"{STAGING}/{journal.FILE_NAME}": text})
    recovered(setup)
    assert content(setup.installed, times=True) == before


def test_lines_of_gitignore_come_back_where_nothing_else_was_to_change(setup: Installation) -> None:
    lay(setup.installed, {".gitignore": "/mine/tmp\n"})
    assert isinstance(Cut("rename .gitignore", Killed, after=True).run(setup), Killed)
    assert not (setup.installed / ".gitignore").exists()
    recovered(setup)
    assert (setup.installed / ".gitignore").read_text() == "/mine/tmp\n"
    assert not (setup.installed / STAGING).exists()


def test_lines_of_gitignore_are_not_lost_where_somebody_has_begun_another_one(setup: Installation) -> None:
    lay(setup.installed, {".gitignore": "/mine/tmp\n"})
    assert isinstance(Cut("rename .gitignore", Killed, after=True).run(setup), Killed)
    lay(setup.installed, {".gitignore": "/other\n"})
    path = f"{SKILLS}/{STAGING}/old-.gitignore"
    message = f"{path} was {SKILLS}/.gitignore until a sync was interrupted, and there is another one now"
    hint = f"bring the lines that you need from it into {SKILLS}/.gitignore, and remove it"
    refused(setup, (Code.MODIFIED, message, hint))
    (setup.installed / STAGING / "old-.gitignore").unlink()
    recovered(setup)
    assert (setup.installed / ".gitignore").read_text() == "/other\n"
    assert not (setup.installed / STAGING).exists()


def test_a_gitignore_that_was_swapped_in_is_the_user_s_to_edit_at_once(setup: Installation) -> None:
    lay(setup.installed, {".gitignore": "/mine/tmp\n"})
    assert isinstance(Cut("rename new-.gitignore", Killed, after=True).run(setup), Killed)
    lay(setup.installed, {".gitignore": "/other\n"})
    recovered(setup)
    assert (setup.installed / ".gitignore").read_text() == "/other\n"
    assert not (setup.installed / STAGING).exists()


def refused(setup: Installation, *problems: tuple[Code, str, str]) -> None:
    """A run is refused with these codes, messages and hints, and nothing changes."""
    before = content(setup.project, times=True)
    with pytest.raises(SkillsyncError) as caught:
        recovered(setup)
    assert tuple((found.code, found.message, found.hint) for found in caught.value.problems) == problems
    assert content(setup.project, times=True) == before


@pytest.mark.parametrize(
    "text", [json.dumps({"version": 2}), json.dumps({"version": 1, "registry": "version: 2\nskills: {}\n"})]
)
def test_a_journal_of_a_newer_skillsync_stops_everything(setup: Installation, text: str) -> None:
    lay(setup.installed, {f"{STAGING}/{journal.FILE_NAME}": text, f"{STAGING}/old-x/SKILL.md": "x"})
    message = f"{SKILLS}/{STAGING}/journal can't be read: version is 2, and this skillsync reads up to 1"
    refused(setup, (Code.REGISTRY_UNREADABLE, message, "upgrade skillsync"))


@pytest.mark.parametrize(
    ("piece", "reason"),
    [
        (Link("../mine/SKILL.md"), "it is a symbolic link"),
        (FIFO, "it is not a regular file"),
        (None, "it is a directory"),
    ],
)
def test_a_journal_that_can_not_be_read_is_not_taken_for_none(setup: Installation, piece: Piece, reason: str) -> None:
    lay(setup.installed, {f"{STAGING}/{journal.FILE_NAME}": piece, f"{STAGING}/old-x/SKILL.md": "x"})
    message = f"{SKILLS}/{STAGING}/journal can't be read: {reason}"
    hint = f"make it readable, or look at {SKILLS}/{STAGING} and move it away"
    refused(setup, (Code.UNMANAGED, message, hint))


# A recovery that is itself cut off


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Busy:
    return Busy(tmp_path_factory.mktemp("busy"))


RICHEST = "rename old-used/.git"  # things to bring back, to carry over and to record
# Of the states that a killed run can leave, one for each kind of thing that recovery does.
TURNS = (
    "rename new-journal",
    "rename gone",
    "rename used",
    RICHEST,
    "rename .gitignore",
    "rename new-.agent-skills.yaml",
    "rename old-used",
)


def on_disk(setup: Installation) -> dict[str, tuple[object, ...]]:
    """What is there, but for the text of the journal: the numbers of directories in it are others each time."""
    path = f"{STAGING}/{journal.FILE_NAME}"
    return {name: entry[:1] if name == path else entry for name, entry in content(setup.installed).items()}


def test_a_recovery_that_the_system_stops_says_how_far_it_is(busy: Busy) -> None:
    setup = busy.interrupted(RICHEST)
    ended = Cut(f"rename new-{registry.FILE_NAME}").recover(setup)
    assert isinstance(ended, SkillsyncError)
    (problem,) = ended.problems
    assert (problem.code, problem.message) == (Code.IO, f"{SKILLS}/{STAGING}: Input/output error")
    assert "settled in part" in (problem.hint or "")
    busy.check_done(setup)


@pytest.mark.parametrize(
    ("turn", "error", "calls", "after"),
    [
        *((turn, Killed, Cut.CHANGES, False) for turn in TURNS),
        *((turn, OSError, Cut.CHANGES, False) for turn in TURNS),
        (RICHEST, OSError, frozenset({"open", "scandir"}), False),
        (RICHEST, OSError, Cut.CHANGES, True),
        (RICHEST, KeyboardInterrupt, Cut.CHANGES, False),
        (RICHEST, KeyboardInterrupt, Cut.CHANGES, True),
        (RICHEST, Killed, Cut.CHANGES, True),
    ],
)
def test_a_recovery_that_is_cut_off_is_done_by_the_next_run(
    busy: Busy, turn: str, error: type[BaseException], calls: frozenset[str], *, after: bool
) -> None:
    whole = Cut()
    setup = busy.interrupted(turn)
    begun = on_disk(setup)
    assert whole.recover(setup) is None
    assert not (setup.installed / STAGING).exists()
    setup = busy.interrupted(turn)
    descriptors = len(os.listdir("/dev/fd"))
    seen = [begun]
    for at, call in enumerate(whole.made):
        if call.split()[0] not in calls:
            continue
        ended = Cut(at, error, after=after).recover(setup)
        assert isinstance(ended, error | SkillsyncError), f"{at}: {call}"
        assert len(os.listdir("/dev/fd")) == descriptors
        if (left := on_disk(setup)) != begun:
            # It is taken for "nothing was changed".
            assert not isinstance(ended, OSError), f"{at}: {call}"
            # What follows depends on the disk alone.
            if left not in seen:
                busy.check_whole(setup)
                busy.check_done(setup)
            seen.append(left)
            setup = busy.interrupted(turn)
    busy.check_done(setup)


@pytest.mark.parametrize("kind", [BusyLinks, BusyCopies])
def test_a_recovery_of_links_that_is_killed_is_done_by_the_next_run(kind: type[Busy], tmp_path: Path) -> None:
    busy = kind(tmp_path)
    for turn in busy.turns[:: len(busy.turns) // 4]:
        whole = Cut()
        assert whole.recover(busy.interrupted(turn)) is None
        for at in whole.changes:
            setup = busy.interrupted(turn)
            assert isinstance(Cut(at, Killed).recover(setup), Killed)
            busy.check_whole(setup)
            busy.check_done(setup)


def test_processes_that_are_killed_at_each_change_leave_nothing_to_mend(tmp_path: Path) -> None:
    done = subprocess.run(
        (sys.executable, cuts.__file__, str(tmp_path), "10"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("recoveries were killed\n")


# What others see of it


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project in sync, with the journal of a run in its target directory."""
    found = Project(tmp_path).gem("sus", "1.0.0", "testing")
    found.done("lock")
    found.done("sync")
    return found.write({f"{SKILLS}/{STAGING}/journal": journal.dump([], registry.dump(Registry()))})


def test_an_interrupted_run_is_reported_and_not_repaired(project: Project) -> None:
    before = project.tree
    for scope in ("installed", "all"):
        result = project.run("verify", "--format", "json", "--scope", scope)
        assert (result.code, result.drift) == (1, [("interrupted",)])
    for options in ((), ("--verify",)):
        result = project.run("list", "--format", "json", *options)
        assert (result.code, result.codes) == (0, ["busy"])
        assert result.json["problems"][0]["severity"] == "warning"
    line = f"interrupted: {SKILLS}; `skillsync sync` completes or undoes it first\n"
    for option, code in (("--check", 1), ("--dry-run", 0)):
        result = project.run("sync", option)
        assert (result.code, result.out, result.err) == (code, line, "")
    assert project.tree == before
    project.done("sync")
    assert project.done("verify").out.startswith("not skillsync's") is False
    assert not project.installed(STAGING).exists()


def test_a_file_by_the_name_of_the_staging_directory_is_no_interrupted_run(project: Project) -> None:
    (project.installed(STAGING) / "journal").unlink()
    project.installed(STAGING).rmdir()
    project.write({f"{SKILLS}/{STAGING}": "a file"})
    assert project.run("verify").code == 0
    assert project.run("sync").code == 3


OTHER_RUN = """
import fcntl, os, shutil, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(fd, fcntl.LOCK_EX)
print("at work", flush=True)
sys.stdin.readline()
shutil.rmtree(sys.argv[1] + "/.skillsync")
"""


@contextmanager
def at_work(project: Project) -> Iterator[subprocess.Popen[str]]:
    """Let another process hold the target directory; a line to it ends its run."""
    command = (sys.executable, "-c", OTHER_RUN, str(project.installed()))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert _pipe(other.stdout).readline() == "at work\n"
        yield other
        other.kill()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


@pytest.mark.parametrize("arguments", [("verify",), ("verify", "--scope", "installed"), ("list", "--verify")])
def test_who_reads_waits_for_a_run_that_is_at_work(
    project: Project, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    waits = []

    with at_work(project) as other:

        def end(seconds: float) -> None:
            waits.append(seconds)
            _pipe(other.stdin).write("\n")
            _pipe(other.stdin).flush()
            other.wait()

        monkeypatch.setattr("skillsync.syncing.state.time.sleep", end)
        result = project.run(*arguments)
    assert (result.code, result.err, len(waits)) == (0, "", 1)


def test_who_reads_does_not_wait_for_ever(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("skillsync.syncing.state.time.sleep", waits.append)
    before = project.tree
    with at_work(project):
        result = project.run("verify", "--format", "json")
        assert (result.code, result.codes) == (4, ["busy"])
        assert sum(waits) == pytest.approx(5)
        result = project.run("sync", "--no-wait", "--format", "json")
        assert (result.code, result.codes) == (4, ["busy"])
        # What only glances doesn't wait.
        assert project.run("list").code == 0
    assert project.tree == before


def test_an_interrupted_run_is_drift_and_one_at_work_is_waited_for(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(setup, [])
    found = read_settled(setup.place, setup.lock())
    made = plan.make(".agents/skills", setup.lock(), found, force=False)
    assert (found.interrupted, made.drift) == (True, (DriftRow(kind=Drift.INTERRUPTED),))

    waited = []

    def end(seconds: float) -> None:
        """Let the other run come to its end while this one waits."""
        waited.append(seconds)
        recovered(setup)
        os.close(other)

    other = os.open(setup.installed, os.O_RDONLY)
    assert filesystem.take_lock(other, wait=False)
    monkeypatch.setattr("skillsync.syncing.state.time.sleep", end)
    assert not read_settled(setup.place, setup.lock()).interrupted
    assert len(waited) == 1


def test_a_run_that_ends_while_it_is_asked_for_its_lock_was_not_interrupted(
    setup: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.ship("x", {})
    setup.sync()
    setup.ship("x", {"more": "1"})
    plant(setup, [])
    is_locked = filesystem.is_locked

    def end(fd: int) -> bool:
        monkeypatch.undo()
        recovered(setup)
        os.close(other)
        setup.sync()
        return is_locked(fd)

    other = os.open(setup.installed, os.O_RDONLY)
    assert filesystem.take_lock(other, wait=False)
    monkeypatch.setattr(filesystem, "is_locked", end)
    found = read_settled(setup.place, setup.lock())
    assert (found.interrupted, found.disk) == (False, setup.state(setup.lock()).disk)


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
    missed(setup, "e", "f")
    assert list(victim.iterdir()) == []
    assert sorted(os.listdir(setup.installed / "f")) == ["SKILL.md", "x"]
