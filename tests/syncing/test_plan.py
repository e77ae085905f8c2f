from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from builders import directory, locked, locked_skill

from skillsync.errors import Code, Severity
from skillsync.locking.changes import Action, FileChanges
from skillsync.locking.lockfile import Lockfile
from skillsync.syncing import plan
from skillsync.syncing.plan import Absent, Directory, Disk, Drift, Linked, Other, Plan, State, Twin
from skillsync.syncing.registry import ForeignRow, Registry, Row
from skillsync.values import replace
from skillsync.yaml_nodes import Mapping, Node, plain

if TYPE_CHECKING:
    from collections.abc import Mapping as Dict

TARGET = ".agents/skills"
# Three contents that a skill can have: the locked one, the one that was written before, the one that somebody made.
NEW, OLD, OWN = {"a": "new"}, {"a": "old"}, {"a": "own"}
SUS, OTHER = "gem:sus", "pypi:other"
NODE: Node = Mapping(pairs=[(plain("by"), plain("hand"))])


def lock(files: Dict[str, str] = NEW, version: str = "2.0.0") -> Lockfile:
    """Return a lock with the skill `x`."""
    return Lockfile(providers=(locked(SUS, locked_skill("x", files), version=version),))


def row(files: Dict[str, str] | None, owner: str = SUS, version: str = "2.0.0") -> Row:
    """Return the row of a skill that was written with the given content; None is of a tool that notes no hash."""
    ecosystem, _, package = owner.partition(":")
    digest = None if files is None else locked_skill("x", files).hash
    return Row(ecosystem=ecosystem, package=package, version=version, hash=digest)


LOCKED, UNLOCKED = lock(), Lockfile()
NO_ROW = None
FOREIGN = ForeignRow(node=NODE)
ABSENT, FILE, LINK, TWIN = Absent(), Other("a file"), Linked("../elsewhere/x"), Twin("X")
UNSAFE = directory(NEW, faults=("link",))
USED = directory(OLD, runtime=(".venv",))

# The lock, the registry's row, the disk: what is done, what is done with --force, and the drift that it is till then.
TABLE = [
    # Not in the registry, not in the lock: project-authored.
    (UNLOCKED, NO_ROW, ABSENT, "", "", ""),
    (UNLOCKED, NO_ROW, directory(OWN), "", "", ""),
    (UNLOCKED, NO_ROW, UNSAFE, "", "", ""),
    (UNLOCKED, NO_ROW, FILE, "", "", ""),
    (UNLOCKED, NO_ROW, LINK, "", "", ""),
    (UNLOCKED, FOREIGN, ABSENT, "", "", ""),
    (UNLOCKED, FOREIGN, directory(OWN), "", "", ""),
    (UNLOCKED, FOREIGN, FILE, "", "", ""),
    # Locked, without a row.
    (LOCKED, NO_ROW, ABSENT, "add", "add", "missing"),
    (LOCKED, NO_ROW, directory(OWN), "unmanaged!", "unmanaged!", "unmanaged"),
    (LOCKED, NO_ROW, directory(NEW), "unmanaged!", "unmanaged!", "unregistered"),
    (LOCKED, NO_ROW, UNSAFE, "unmanaged!", "unmanaged!", "unmanaged"),
    (LOCKED, NO_ROW, USED, "unmanaged!", "unmanaged!", "unmanaged"),
    (LOCKED, NO_ROW, FILE, "unmanaged!", "unmanaged!", "unmanaged"),
    (LOCKED, NO_ROW, LINK, "unmanaged!", "unmanaged!", "unmanaged"),
    (LOCKED, NO_ROW, TWIN, "unmanaged!", "unmanaged!", "unmanaged"),
    # Locked, with another program's row.
    (LOCKED, FOREIGN, ABSENT, "foreign-owner!", "foreign-owner!", "foreign-owner"),
    (LOCKED, FOREIGN, directory(NEW), "foreign-owner!", "foreign-owner!", "foreign-owner"),
    (LOCKED, FOREIGN, directory(OWN), "foreign-owner!", "foreign-owner!", "foreign-owner"),
    (LOCKED, FOREIGN, FILE, "foreign-owner!", "foreign-owner!", "foreign-owner"),
    (LOCKED, FOREIGN, TWIN, "unmanaged!", "unmanaged!", "unmanaged"),
    # Locked, and written for the same provider.
    (LOCKED, row(NEW), ABSENT, "add", "add", "missing"),
    (LOCKED, row(OLD), ABSENT, "add", "add", "missing"),
    (LOCKED, row(None), ABSENT, "add", "add", "missing"),
    (LOCKED, row(NEW), directory(NEW), "", "", ""),
    (LOCKED, row(OLD), directory(NEW), "record", "record", "stale-row"),
    (LOCKED, row(None), directory(NEW), "record", "record", "stale-row"),
    (LOCKED, row(NEW, version="1.0.0"), directory(NEW), "record", "record", "stale-row"),
    (LOCKED, row(NEW), directory(NEW, runtime=(".venv",)), "", "", ""),
    (LOCKED, row(OLD), directory(OLD), "update", "update", "outdated"),
    (LOCKED, row(OLD), USED, "update", "update", "outdated"),
    (LOCKED, row(None), directory(OLD), "update", "update", "modified"),
    (LOCKED, row(None), UNSAFE, "update", "update", "modified"),
    (LOCKED, row(NEW), directory(OLD), "modified!", "update", "modified"),
    (LOCKED, row(NEW), directory(OWN), "modified!", "update", "modified"),
    (LOCKED, row(OLD), directory(OWN), "modified!", "update", "modified"),
    (LOCKED, row(NEW), UNSAFE, "modified!", "update", "modified"),
    (LOCKED, row(NEW), FILE, "modified!", "update", "modified"),
    (LOCKED, row(NEW), LINK, "modified!", "update", "modified"),
    (LOCKED, row(None), FILE, "modified!", "update", "modified"),
    (LOCKED, row(None), LINK, "modified!", "update", "modified"),
    (LOCKED, row(NEW), TWIN, "unmanaged!", "unmanaged!", "unmanaged"),
    # Locked, and written for another provider.
    (LOCKED, row(NEW, OTHER), ABSENT, "add", "add", "missing"),
    (LOCKED, row(None, OTHER), ABSENT, "add", "add", "missing"),
    (LOCKED, row(NEW, OTHER), directory(NEW), "record", "record", "stale-row"),
    (LOCKED, row(OLD, OTHER), directory(NEW), "record", "record", "stale-row"),
    (LOCKED, row(None, OTHER), directory(NEW), "record", "record", "stale-row"),
    (LOCKED, row(OLD, OTHER), directory(OLD), "foreign-owner!", "update", "foreign-owner"),
    (LOCKED, row(OLD, OTHER), directory(OWN), "foreign-owner!", "update", "foreign-owner"),
    (LOCKED, row(None, OTHER), directory(OLD), "foreign-owner!", "update", "foreign-owner"),
    (LOCKED, row(NEW, OTHER), UNSAFE, "foreign-owner!", "update", "foreign-owner"),
    (LOCKED, row(NEW, OTHER), FILE, "foreign-owner!", "update", "foreign-owner"),
    (LOCKED, row(NEW, OTHER), LINK, "foreign-owner!", "update", "foreign-owner"),
    (LOCKED, row(NEW, OTHER), TWIN, "unmanaged!", "unmanaged!", "unmanaged"),
    # Written, and no longer locked.
    (UNLOCKED, row(OLD), ABSENT, "forget", "forget", "stale-row"),
    (UNLOCKED, row(None), ABSENT, "forget", "forget", "stale-row"),
    (UNLOCKED, row(OLD), TWIN, "forget", "forget", "stale-row"),
    (UNLOCKED, row(OLD), directory(OLD), "remove", "remove", "orphaned"),
    (UNLOCKED, row(OLD), directory(OWN), "modified!", "remove", "orphaned"),
    (UNLOCKED, row(None), directory(OLD), "modified!", "remove", "orphaned"),
    (UNLOCKED, row(OLD), USED, "modified!", "remove", "orphaned"),
    (UNLOCKED, row(NEW), UNSAFE, "modified!", "remove", "orphaned"),
    (UNLOCKED, row(None), UNSAFE, "modified!", "remove", "orphaned"),
    (UNLOCKED, row(OLD), FILE, "modified!", "remove", "orphaned"),
    (UNLOCKED, row(OLD), LINK, "modified!", "remove", "orphaned"),
    (UNLOCKED, row(None), LINK, "modified!", "remove", "orphaned"),
]

FIRST, THIRD = "../../.agents/skills", "../../third/skills"
RIGHT, OTHER_WAY = Linked(f"{FIRST}/x"), Linked(f"{THIRD}/x")
ALMOST = (
    Linked(f"{FIRST}/y"),
    Linked(f"{FIRST}/x/"),
    Linked(FIRST),
    Linked("/abs/.agents/skills/x"),
    Linked("x"),
    Linked("../../.agents/./skills/x"),
)

# The same, where a link has to be: the one that is wanted, and what else can be in its place.
LINKING = [
    (LOCKED, NO_ROW, ABSENT, "add", "add", "missing"),
    (LOCKED, NO_ROW, RIGHT, "unmanaged!", "unmanaged!", "unregistered"),
    (LOCKED, NO_ROW, OTHER_WAY, "unmanaged!", "unmanaged!", "unmanaged"),
    (LOCKED, NO_ROW, directory(NEW), "unmanaged!", "unmanaged!", "unmanaged"),
    (LOCKED, FOREIGN, RIGHT, "foreign-owner!", "foreign-owner!", "foreign-owner"),
    (LOCKED, row(NEW), ABSENT, "add", "add", "missing"),
    (LOCKED, row(NEW), RIGHT, "", "", ""),
    (LOCKED, row(OLD), RIGHT, "record", "record", "stale-row"),
    (LOCKED, row(None), RIGHT, "record", "record", "stale-row"),
    (LOCKED, row(NEW), OTHER_WAY, "update", "update", "outdated"),
    (LOCKED, row(None), OTHER_WAY, "modified!", "update", "modified"),
    (LOCKED, row(NEW), FILE, "modified!", "update", "modified"),
    (LOCKED, row(NEW), directory(NEW), "update", "update", "outdated"),
    (LOCKED, row(OLD), directory(OLD), "update", "update", "outdated"),
    (LOCKED, row(OLD), directory(NEW), "modified!", "update", "modified"),
    (LOCKED, row(NEW), directory(OWN), "modified!", "update", "modified"),
    (LOCKED, row(NEW), UNSAFE, "modified!", "update", "modified"),
    (LOCKED, row(None), directory(OLD), "update", "update", "modified"),
    (LOCKED, row(OLD), USED, "modified!", "modified!", "outdated"),
    (LOCKED, row(None), USED, "modified!", "modified!", "modified"),
    (LOCKED, row(NEW), TWIN, "unmanaged!", "unmanaged!", "unmanaged"),
    (LOCKED, row(NEW, OTHER), RIGHT, "record", "record", "stale-row"),
    (LOCKED, row(NEW, OTHER), directory(NEW), "foreign-owner!", "update", "foreign-owner"),
    (LOCKED, row(NEW, OTHER), OTHER_WAY, "foreign-owner!", "update", "foreign-owner"),
    (UNLOCKED, NO_ROW, RIGHT, "", "", ""),
    (UNLOCKED, row(OLD), ABSENT, "forget", "forget", "stale-row"),
    (UNLOCKED, row(OLD), RIGHT, "remove", "remove", "orphaned"),
    (UNLOCKED, row(OLD), OTHER_WAY, "remove", "remove", "orphaned"),
    (UNLOCKED, row(None), RIGHT, "modified!", "remove", "orphaned"),
    (UNLOCKED, row(OLD), directory(OLD), "remove", "remove", "orphaned"),
    (UNLOCKED, row(OLD), USED, "modified!", "remove", "orphaned"),
    *((LOCKED, NO_ROW, link, "unmanaged!", "unmanaged!", "unmanaged") for link in ALMOST),
    *((LOCKED, row(NEW), link, "modified!", "update", "modified") for link in ALMOST),
    *((UNLOCKED, row(NEW), link, "modified!", "remove", "orphaned") for link in ALMOST),
]

# A directory that has copies, beside one that once was the first or once was the other way round.
COPYING = [
    (LOCKED, NO_ROW, RIGHT, "unmanaged!", "unmanaged!", "unmanaged"),
    (LOCKED, row(NEW), RIGHT, "update", "update", "outdated"),
    (LOCKED, row(OLD), OTHER_WAY, "update", "update", "outdated"),
    (LOCKED, row(None), RIGHT, "modified!", "update", "modified"),
    (LOCKED, row(NEW, OTHER), RIGHT, "foreign-owner!", "update", "foreign-owner"),
    (UNLOCKED, row(OLD), RIGHT, "remove", "remove", "orphaned"),
    (UNLOCKED, NO_ROW, RIGHT, "", "", ""),
    *((LOCKED, row(NEW), link, "modified!", "update", "modified") for link in ALMOST),
]


def state(kept: Row | ForeignRow | None, disk: Disk) -> State:
    return State(registry=Registry(rows={} if kept is None else {"x": kept}), disk={"x": disk})


def made(wanted: Lockfile, found: State, *, force: bool = False) -> Plan:
    return plan.make(TARGET, wanted, found, force=force)


def does(found: Plan) -> str:
    """What a plan for one skill does: `add`, or refuses: `unmanaged!`, or nothing at all."""
    refused = [f"{problem.code.value}!" for problem in found.problems]
    assert not (found.changes and refused)
    return " ".join([change.action.value for change in found.changes] + refused)


def drift(found: Plan) -> list[tuple[str, str | None]]:
    return [(one.kind.value, one.path) for one in found.drift]


@pytest.mark.parametrize("force", [False, True], ids=["", "force"])
@pytest.mark.parametrize(("wanted", "kept", "disk", "result", "forced", "kind"), TABLE)
def test_the_whole_table(  # noqa: PLR0913, PLR0917  # its columns
    wanted: Lockfile,
    kept: Row | ForeignRow | None,
    disk: Disk,
    result: str,
    forced: str,
    kind: str,
    *,
    force: bool,
) -> None:
    found = made(wanted, state(kept, disk), force=force)
    expected = forced if force else result
    assert does(found) == expected
    assert sorted({one.kind.value for one in found.drift}) == ([kind] if kind else [])
    refused = expected.endswith("!")
    if expected in {"remove", "forget"}:
        assert found.registry.rows == {}
    elif refused or not wanted.skills:
        assert found.registry.rows == ({} if kept is None else {"x": kept})
    else:
        assert found.registry.rows == {"x": row(NEW)}


@pytest.mark.parametrize("force", [False, True], ids=["", "force"])
@pytest.mark.parametrize(
    ("links_to", "wanted", "kept", "disk", "result", "forced", "kind"),
    [(FIRST, *line) for line in LINKING] + [(None, *line) for line in COPYING],
)
def test_the_table_beside_other_target_directories(  # noqa: PLR0913, PLR0917  # its columns
    links_to: str | None,
    wanted: Lockfile,
    kept: Row | ForeignRow | None,
    disk: Disk,
    result: str,
    forced: str,
    kind: str,
    *,
    force: bool,
) -> None:
    beside = replace(state(kept, disk), others=(FIRST, THIRD), links_to=links_to)
    found = made(wanted, beside, force=force)
    assert does(found) == (forced if force else result)
    assert kind in {one.kind.value for one in found.drift} if kind else not found.drift
    for change in found.changes:
        writes = change.action in {Action.ADD, Action.UPDATE}
        assert change.link == (f"{links_to}/x" if links_to and writes else None)
    if not found.problems and wanted.skills:
        # What is there then is what is wanted, and nothing more has to be done.
        then = Linked(f"{links_to}/x") if links_to else directory(NEW)
        again = made(wanted, replace(beside, registry=found.registry, disk={"x": then}))
        assert (again.changes, again.problems, again.drift) == ((), (), ())


@pytest.mark.parametrize(
    ("links_to", "disk", "note"),
    [
        (FIRST, directory(NEW), f"a copy, where a link to {FIRST}/x has to be"),
        (FIRST, OTHER_WAY, f"a link, where one to {FIRST}/x has to be"),
        (None, OTHER_WAY, "a link, where a copy has to be"),
        (None, directory(OLD), ""),
    ],
)
def test_what_is_of_another_kind_says_so(links_to: str | None, disk: Disk, note: str) -> None:
    kept = row(NEW) if note else row(OLD)
    beside = replace(state(kept, disk), others=(FIRST, THIRD), links_to=links_to)
    (found,) = made(LOCKED, beside).drift
    assert (found.kind, found.note) == (Drift.OUTDATED, note)


@pytest.mark.parametrize(
    ("kept", "disk", "message"),
    [
        (NO_ROW, RIGHT, "is a symbolic link that skillsync did not write"),
        (row(NEW), ALMOST[0], f"is a symbolic link to {FIRST}/y, where skillsync wrote another"),
        (row(NEW), FILE, "is a file, where skillsync wrote a link"),
        (row(NEW), directory(OWN), "was changed since skillsync wrote it: a"),
        (row(OLD), USED, "holds .venv, which has no place behind a link"),
    ],
)
def test_a_refusal_where_a_link_has_to_be_says_what_is_there(kept: Row | None, disk: Disk, message: str) -> None:
    (problem,) = made(LOCKED, replace(state(kept, disk), others=(FIRST,), links_to=FIRST)).problems
    assert problem.message == f"{TARGET}/x {message}"


@pytest.mark.parametrize(
    ("disk", "files"),
    [
        (ABSENT, FileChanges()),
        (directory(NEW), FileChanges()),
        (directory(OLD), FileChanges(changed=("a",))),
        (directory({"b": "mine"}), FileChanges(added=("a",), removed=("b",))),
        (Linked("x"), FileChanges()),
    ],
)
def test_a_link_changes_what_an_agent_finds_there(disk: Disk, files: FileChanges) -> None:
    beside = replace(state(row(NEW), disk), others=(FIRST,), links_to=FIRST)
    (change,) = made(LOCKED, beside, force=True).changes
    assert change.files == files
    assert change.before == (disk.snapshot.hash if isinstance(disk, Directory) else None)


@pytest.mark.parametrize(("wanted", "kept", "disk", "result"), [line[:4] for line in TABLE])
def test_a_refusal_says_what_and_where_and_what_to_do(
    wanted: Lockfile, kept: Row | ForeignRow | None, disk: Disk, result: str
) -> None:
    for problem in made(wanted, state(kept, disk)).problems:
        assert result == f"{problem.code.value}!"
        assert problem.severity is Severity.ERROR
        assert problem.message.startswith(f"{TARGET}/x ")
        assert problem.hint
        assert (problem.skill, problem.path) == ("x", f"{TARGET}/x")
        assert problem.provider == (SUS if wanted.skills else None)


@pytest.mark.parametrize(
    ("wanted", "kept", "disk", "message", "hint"),
    [
        (LOCKED, NO_ROW, directory(OWN), "is a directory that skillsync did not write", f"rm -r '{TARGET}/x'"),
        (LOCKED, NO_ROW, FILE, "is a file that skillsync did not write", "run `skillsync deny gem:sus --skill x`"),
        (LOCKED, NO_ROW, TWIN, "can't be written: `X` is there, a name equal but for case", "rename `X`"),
        (LOCKED, FOREIGN, ABSENT, "has a registry row of another program", "run `skillsync deny gem:sus --skill x`"),
        (LOCKED, row(OLD, OTHER), directory(OLD), "belongs to pypi:other, and is locked for gem:sus", "--force"),
        (LOCKED, row(NEW), directory(OWN), "was changed since skillsync wrote it: a", "--force"),
        (LOCKED, row(NEW), UNSAFE, "was changed since skillsync wrote it: link", "--force"),
        (LOCKED, row(NEW), LINK, "is a symbolic link, where skillsync wrote a directory", "--force"),
        (
            UNLOCKED,
            row(OLD),
            directory(OWN),
            "is no longer locked, and was changed since skillsync wrote it",
            "--force",
        ),
        (UNLOCKED, row(OLD), USED, "is no longer locked, and holds .venv, which skillsync did not write", "--force"),
        (UNLOCKED, row(OLD), FILE, "is no longer locked, and is a file, where skillsync wrote a directory", "--force"),
        (
            UNLOCKED,
            row(None),
            directory(OLD),
            "is no longer locked, and its registry row has no hash, so nothing tells whether it was changed",
            "--force",
        ),
    ],
)
def test_the_words_of_each_refusal(
    wanted: Lockfile, kept: Row | ForeignRow | None, disk: Disk, message: str, hint: str
) -> None:
    (problem,) = made(wanted, state(kept, disk)).problems
    assert problem.message == f"{TARGET}/x {message}"
    assert hint in (problem.hint or "")


def test_only_so_many_files_are_named() -> None:
    many = {f"f{number}": "1" for number in range(7)}
    (problem,) = made(lock({}), state(row({}), directory(many))).problems
    assert problem.message.endswith("wrote it: f0, f1, f2, f3, f4 and 2 more")


# What a change says


def test_a_change_names_provider_version_and_files() -> None:
    (change,) = made(
        lock({"a": "new", "b": "new"}), state(row({"a": "old", "c": "old"}), directory({"a": "old", "c": "old"}))
    ).changes
    assert (change.action, change.skill, change.provider, change.version) == (Action.UPDATE, "x", SUS, "2.0.0")
    assert change.files == FileChanges(added=("b",), changed=("a",), removed=("c",))
    assert (change.previous, change.carried) == (None, ())


def test_an_addition_adds_all_files_and_a_removal_removes_those_on_disk() -> None:
    (added,) = made(LOCKED, state(NO_ROW, ABSENT)).changes
    assert added.files == FileChanges(added=("SKILL.md", "a"))
    (removed,) = made(UNLOCKED, state(row(OLD, version="1.0.0"), directory(OLD))).changes
    assert removed.files == FileChanges(removed=("SKILL.md", "a"))
    assert (removed.provider, removed.version, removed.previous) == (SUS, "1.0.0", None)


def test_what_force_discards_is_shown() -> None:
    (change,) = made(LOCKED, state(row(NEW), directory({"a": "own", "notes.md": "n"})), force=True).changes
    assert change.files == FileChanges(changed=("a",), removed=("notes.md",))
    (change,) = made(LOCKED, state(row(NEW), FILE), force=True).changes
    assert change.files == FileChanges(added=("SKILL.md", "a"))


@pytest.mark.parametrize(
    ("disk", "force", "action"),
    [(ABSENT, False, Action.ADD), (directory(NEW), False, Action.RECORD), (directory(OLD), True, Action.UPDATE)],
)
def test_a_row_that_changes_hands_is_told(disk: Disk, action: Action, *, force: bool) -> None:
    (change,) = made(LOCKED, state(row(OLD, OTHER), disk), force=force).changes
    assert (change.action, change.provider, change.previous) == (action, SUS, OTHER)


def test_a_skill_that_is_kept_may_need_both_its_row_and_a_bit() -> None:
    disk = directory({"scripts/run": "#!", "scripts/b": "#!"}, idle=("scripts/run",))
    wanted = lock({"scripts/run": "#!", "scripts/b": "#!"})
    found = made(wanted, state(row({}), disk))
    assert does(found) == "record repair"
    assert [change.files for change in found.changes] == [FileChanges(), FileChanges(changed=("scripts/run",))]
    assert drift(found) == [("stale-row", None), ("not-executable", "scripts/run")]


def test_a_missing_bit_alone_is_repaired_where_the_file_system_has_bits() -> None:
    files = {"run": "#!", "lib": "text"}
    found = State(registry=Registry(rows={"x": row(files)}), disk={"x": directory(files, idle=("run",))}, modes=True)
    repaired = made(lock(files), found)
    assert (does(repaired), drift(repaired)) == ("repair", [("not-executable", "run")])
    assert repaired.registry == found.registry
    without = State(registry=found.registry, disk=found.disk, modes=False)
    assert (does(made(lock(files), without)), drift(made(lock(files), without))) == ("", [])


def test_a_missing_bit_is_no_matter_where_the_skill_is_written_or_refused() -> None:
    idle = directory({"run": "#!"}, idle=("run",))
    assert does(made(LOCKED, state(row({"run": "#!"}), idle))) == "update"
    assert does(made(LOCKED, state(row(NEW), idle))) == "modified!"
    assert does(made(UNLOCKED, state(row({"run": "#!"}), idle))) == "remove"


# What people and agents made inside a skill


def test_runtime_directories_are_carried_over_on_update_alone() -> None:
    disk = directory(OLD, runtime=(".venv", "sub/node_modules"))
    (change,) = made(LOCKED, state(row(OLD), disk)).changes
    assert (change.action, change.carried) == (Action.UPDATE, (".venv", "sub/node_modules"))
    (change,) = made(UNLOCKED, state(row(OLD), disk), force=True).changes
    assert (change.action, change.carried) == (Action.REMOVE, ())


@pytest.mark.parametrize("force", [False, True])
def test_what_has_no_place_in_the_new_skill_is_never_lost(*, force: bool) -> None:
    disk = directory({"sub/f": "1"}, runtime=("sub/.venv", "lib/.venv"))
    found = made(lock({"sub": "a file now", "lib/f": ""}), state(row({"sub/f": "1"}), disk), force=force)
    (problem,) = found.problems
    assert problem.code is Code.MODIFIED
    assert problem.message == f"{TARGET}/x holds sub/.venv, which has no place in the locked skill"
    assert problem.hint == "move it away, or remove it"
    assert drift(found) == [("outdated", None)]


# Drift, file by file


def test_a_modified_skill_is_told_file_by_file() -> None:
    written = {"a": "1", "b": "2", "d": "3"}
    disk = directory({"a": "changed", "d": "3", "extra": "e"}, faults=("fifo", "a"))
    assert drift(made(lock(written), state(row(written), disk))) == [
        ("modified", "a"),
        ("modified", "extra"),
        ("modified", "fifo"),
        ("missing", "b"),
    ]


def test_a_file_in_whose_place_is_something_unsafe_is_modified_and_not_missing() -> None:
    found = made(lock({"a": "1"}), state(row({"a": "1"}), directory({}, faults=("a",))))
    assert drift(found) == [("modified", "a")]


@pytest.mark.parametrize("disk", [FILE, LINK])
def test_what_is_no_directory_is_modified_as_a_whole(disk: Disk) -> None:
    assert drift(made(LOCKED, state(row(NEW), disk))) == [("modified", None)]


# What isn't ours


def claimed(disk: Disk, kept: Row | None = None) -> State:
    return State(
        registry=Registry(rows={} if kept is None else {"x": kept}), disk={"x": disk}, foreign=frozenset({"x"})
    )


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kept", [None, row(NEW), row(OLD)])
@pytest.mark.parametrize("disk", [ABSENT, directory(NEW), directory(OLD), FILE])
def test_what_another_tool_claims_is_left_alone_whatever_our_row_says(
    disk: Disk, kept: Row | None, *, force: bool
) -> None:
    before = claimed(disk, kept)
    refused = made(LOCKED, before, force=force)
    assert (does(refused), refused.registry) == ("unmanaged!", before.registry)
    unlocked = made(UNLOCKED, before, force=force)
    assert (does(unlocked), drift(unlocked), unlocked.registry) == ("", [], before.registry)


def test_that_another_tool_claims_a_skill_is_said_where_nothing_is_there() -> None:
    (problem,) = made(LOCKED, claimed(ABSENT)).problems
    assert problem.message == (
        f"{TARGET}/x is a skill of another tool, by that tool's own registry, that skillsync did not write"
    )


def test_keys_and_rows_that_are_not_ours_stay() -> None:
    extra = ((plain("note"), plain("mine")),)
    kept = Row(ecosystem="gem", package="sus", version="1.0.0", hash=row(OLD).hash, extra=extra)
    before = Registry(rows={"x": kept, "foreign": FOREIGN}, extra=extra)
    found = made(LOCKED, State(registry=before, disk={"x": directory(OLD), "foreign": directory(OWN)}))
    assert does(found) == "update"
    assert found.registry.extra == extra
    assert found.registry.rows["foreign"] is FOREIGN
    written = found.registry.rows["x"]
    assert isinstance(written, Row)
    assert (written, written.extra) == (row(NEW), extra)
    assert found.owned == ("x",)


# Several skills


def as_locked(name: str) -> Directory:
    """Return a skill's directory with the content that its lock has without further files."""
    return Directory(replace(directory().snapshot, hash=locked_skill(name).hash))


def test_all_is_planned_in_order_and_every_refusal_is_told() -> None:
    wanted = Lockfile(
        providers=(
            locked(SUS, "b", "d", "same", version="2.0.0"),
            locked(OTHER, "a", "c", version="1.0.0"),
        )
    )
    found = made(
        wanted,
        State(
            registry=Registry(
                rows={
                    "gone": row(OLD),
                    "same": Row(ecosystem="gem", package="sus", version="2.0.0", hash=locked_skill("same").hash),
                    "c": Row(ecosystem="pypi", package="other", version="1.0.0", hash=locked_skill("c").hash),
                }
            ),
            disk={
                "b": FILE,
                "c": directory(OWN),
                "gone": directory(OLD),
                "same": as_locked("same"),
            },
            unowned=("mine",),
        ),
    )
    assert [(change.skill, change.action) for change in found.changes] == [
        ("a", Action.ADD),
        ("d", Action.ADD),
        ("gone", Action.REMOVE),
    ]
    assert [(problem.skill, problem.code) for problem in found.problems] == [
        ("b", Code.UNMANAGED),
        ("c", Code.MODIFIED),
    ]
    assert found.target == TARGET
    assert "mine" not in {change.skill for change in found.changes}
    assert found.owned == ("a", "c", "d", "same")


def test_a_skill_that_nothing_was_read_of_is_absent() -> None:
    assert does(made(LOCKED, State(registry=Registry(), disk={}))) == "add"
    assert does(made(UNLOCKED, State(registry=Registry(rows={"x": row(OLD)}), disk={}))) == "forget"
