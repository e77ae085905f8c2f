"""For every lock, registry row and disk there is one answer, and doing what it says leaves nothing to do."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from builders import directory, locked, locked_skill
from hypothesis import given
from hypothesis import strategies as st

from skillsync.errors import Code
from skillsync.locking.changes import Action
from skillsync.locking.lockfile import LockedSkill, Lockfile
from skillsync.syncing import plan
from skillsync.syncing.plan import Absent, Directory, Disk, Drift, Linked, Other, Plan, State, Twin
from skillsync.syncing.registry import ForeignRow, Registry, Row
from skillsync.values import replace
from skillsync.yaml_nodes import Mapping

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTENTS = ({"run": "#!1"}, {"run": "#!2", "more": "a file"}, {"run": "#!3", "more/f": ""})
OWNERS = ("gem:sus", "pypi:sus")
OLD = "../../.old/skills/x"  # a link to what was a target once
VERSIONS = ("1.0.0", "2.0.0")

Fact = tuple[tuple[str, str, LockedSkill] | None, Row | ForeignRow | None, Disk]  # one skill's L, R and D


def rows() -> Iterator[Row | ForeignRow | None]:
    yield None
    yield ForeignRow(node=Mapping(pairs=[]))
    for owner, version, content in product(OWNERS, (*VERSIONS, None), (*CONTENTS[:2], None)):
        ecosystem, _, package = owner.partition(":")
        digest = None if content is None else locked_skill("x", content).hash
        yield Row(ecosystem=ecosystem, package=package, version=version, hash=digest)


def disks() -> Iterator[Disk]:
    yield from (Absent(), Twin("X"), Other("a file"), Other("neither"))
    yield from map(Linked, ("../a/x", "../b/x", "x", OLD, "../../old/skills/x"))
    for content, faults, runtime, idle in product(CONTENTS, ((), ("a",)), ((), (".venv", "more/.git")), ((), ("run",))):
        yield directory(content, faults=faults, runtime=runtime, idle=idle)


LOCKED = (None, *product(OWNERS, VERSIONS, (locked_skill("x", content) for content in CONTENTS[:2])))
FACTS: list[Fact] = list(product(LOCKED, rows(), disks()))


def lockfile(skills: dict[str, tuple[str, str, LockedSkill] | None]) -> Lockfile:
    found: dict[tuple[str, str], list[LockedSkill]] = {}
    for name, fact in skills.items():
        if fact is not None:
            owner, version, skill = fact
            found.setdefault((owner, version), []).append(LockedSkill(name=name, hash=skill.hash, tree=skill.tree))
    return Lockfile(providers=tuple(locked(owner, *many, version=version) for (owner, version), many in found.items()))


# A target directory by itself, one of copies beside others, and one that links to the first of those.
BARE = State(registry=Registry(), disk={})
COPYING = replace(BARE, others=("../a", "../b"), to_root="../..")
LINKING = replace(COPYING, links_to="../a")


def made(
    facts: dict[str, Fact], *, force: bool, foreign: frozenset[str] = frozenset(), beside: State = BARE
) -> tuple[Lockfile, State, Plan]:
    wanted = lockfile({name: fact[0] for name, fact in facts.items()})
    registry = Registry(rows={name: fact[1] for name, fact in facts.items() if fact[1] is not None})
    state = replace(beside, registry=registry, disk={name: fact[2] for name, fact in facts.items()}, foreign=foreign)
    return wanted, state, plan.make("target", wanted, state, force=force)


def done(found: Plan, wanted: Lockfile, before: State) -> State:
    """Return what is there when a plan's changes have been made, as their words say it."""
    disk = dict(before.disk)
    for change in found.changes:
        if change.action is Action.REMOVE:
            disk[change.skill] = Absent()
        elif change.action in {Action.ADD, Action.UPDATE}:
            copy = as_locked(wanted.skills[change.skill][1], change.carried)
            disk[change.skill] = copy if change.link is None else Linked(change.link)
        elif change.action is Action.REPAIR:
            old = disk[change.skill]
            assert isinstance(old, Directory)
            wanted_skill = wanted.skills[change.skill][1]
            assert old.snapshot.hash == wanted_skill.hash
            disk[change.skill] = as_locked(wanted_skill, old.snapshot.runtime)
    return replace(before, registry=found.registry, disk=disk)


def as_locked(skill: LockedSkill, runtime: tuple[str, ...]) -> Directory:
    content = next(one for one in CONTENTS if locked_skill("x", one).hash == skill.hash)
    return directory(content, runtime=runtime)


def seen(force: bool) -> Iterator[tuple[Fact, Lockfile, State, Plan]]:  # noqa: FBT001  # the one thing that varies
    for beside, fact in product((BARE, COPYING, LINKING), FACTS):
        yield (fact, *made({"x": fact}, force=force, beside=beside))


@pytest.mark.parametrize("force", [False, True], ids=["", "force"])
def test_every_combination_has_one_answer_that_leaves_nothing_to_do(*, force: bool) -> None:
    for fact, wanted, before, found in seen(force):
        assert len(found.problems) <= 1, fact
        assert not (found.problems and found.changes), fact
        if found.problems:
            assert found.registry == before.registry, fact
            assert found.drift, fact
        else:
            again = plan.make("target", wanted, done(found, wanted, before), force=False)
            assert (again.changes, again.problems, again.drift) == ((), (), ()), fact
            assert bool(found.changes) == bool(found.drift), fact


def test_all_that_a_plan_can_say_is_said_for_some_combination() -> None:
    plans = [found for force in (False, True) for _, _, _, found in seen(force)]
    assert {change.action for found in plans for change in found.changes} == set(Action)
    assert {problem.code for found in plans for problem in found.problems} == {
        Code.UNMANAGED,
        Code.MODIFIED,
        Code.FOREIGN_OWNER,
    }
    # An interrupted run is found in the directory, and an outdated lock in the environment: neither is of the plan.
    assert {row.kind for found in plans for row in found.drift} == set(Drift) - {Drift.INTERRUPTED, Drift.STALE_LOCK}


def test_without_force_the_disk_changes_only_where_nothing_is_lost() -> None:
    for (locked_fact, row, disk), _, before, found in seen(force=False):
        if {change.action for change in found.changes} & {Action.UPDATE, Action.REMOVE}:
            assert isinstance(row, Row)
            if isinstance(disk, Linked):
                assert disk.text in {*(f"{other}/x" for other in before.others), *([OLD] if before.to_root else [])}
                continue
            assert isinstance(disk, Directory)
            if any(change.link for change in found.changes):
                assert not disk.snapshot.runtime
            if locked_fact is None:
                assert disk.snapshot.hash == row.hash is not None
                assert not disk.snapshot.runtime
            else:
                assert row.hash is None or disk.snapshot.hash == row.hash
                assert f"{row.ecosystem}:{row.package}" == locked_fact[0]


def test_with_force_nothing_is_touched_that_is_not_in_the_registry() -> None:
    for (_, row, disk), _, _, found in seen(force=True):
        if {change.action for change in found.changes} - {Action.RECORD, Action.FORGET} and not isinstance(
            disk, Absent
        ):
            assert isinstance(row, Row)
            assert not isinstance(disk, Twin)


def test_force_changes_nothing_where_nothing_is_refused() -> None:
    for (_, _, _, plain), (fact, _, _, forced) in zip(seen(force=False), seen(force=True), strict=True):
        if not plain.problems:
            assert plain == forced, fact
        assert plain.drift == forced.drift, fact


@given(
    facts=st.dictionaries(st.sampled_from(("a", "b-1", "new-x", "x")), st.sampled_from(FACTS)),
    force=st.booleans(),
    foreign=st.frozensets(st.sampled_from(("a", "x"))),
)
def test_skills_are_planned_without_regard_to_each_other(
    facts: dict[str, Fact], foreign: frozenset[str], *, force: bool
) -> None:
    _, _, together = made(facts, force=force, foreign=foreign)
    alone = [made({name: fact}, force=force, foreign=foreign)[2] for name, fact in sorted(facts.items())]
    assert together.changes == tuple(change for one in alone for change in one.changes)
    assert together.problems == tuple(problem for one in alone for problem in one.problems)
    assert together.drift == tuple(row for one in alone for row in one.drift)
    assert dict(together.registry.rows) == {name: row for one in alone for name, row in one.registry.rows.items()}
