from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from builders import candidate, found_skill, package, provider, rules, taken

from skillsync.errors import Code, Severity
from skillsync.hashing import Link
from skillsync.locking.choice import EVERYTHING, Candidate, Choice
from skillsync.locking.lockfile import LockedSkill, Lockfile, dump
from skillsync.locking.resolver import Resolution, resolve
from skillsync.snapshot import Fault, Snapshot
from skillsync.values import replace

if TYPE_CHECKING:
    from skillsync.discovery.provider import Provider
    from skillsync.locking.pins import Pinned

SAFE = taken()
UNSAFE = taken(faults=(Fault(path="secret", reason="is a link that leads out of the skill"),))


def read(found: Provider, /, **other: Snapshot) -> Provider:
    """Return a provider with all its skills read: the same for all but the skills of the given names."""
    return replace(found, skills=tuple(replace(skill, snapshot=other.get(skill.name, SAFE)) for skill in found.skills))


def resolved(*candidates: Candidate, pinned: Pinned | None = None, **other: Snapshot) -> Resolution:
    found = [replace(each, providers=tuple(read(one, **other) for one in each.providers)) for each in candidates]
    return resolve(found, pinned or {})


def skills(found: Resolution) -> list[tuple[str, str]]:
    return [(owner.key, skill.name) for owner, skill in found.lock.skills.values()]


def test_the_admitted_skills_are_locked_with_their_trees() -> None:
    two = taken({"SKILL.md": "# Two\n", "a.md": Link("SKILL.md")})
    found = resolved(candidate("gem:sus", "one", "two", version="0.33.0"), two=two)
    (owner,) = found.lock.providers
    assert (owner.ecosystem, owner.name, owner.version) == ("gem", "sus", "0.33.0")
    assert owner.skills == (
        LockedSkill(name="one", hash=SAFE.hash or "", tree=SAFE.tree),
        LockedSkill(name="two", hash=two.hash or "", tree=two.tree),
    )
    assert (found.not_admitted, found.problems) == ((), ())


def test_what_is_excluded_invalid_or_not_admitted_is_not_locked() -> None:
    (rule,) = rules('[providers.gem]\nsus = { exclude = ["no"] }').governing("gem", "sus")
    one = candidate("gem:sus", "yes", "no", found_skill("gem:sus", "broken", "is broken"), rule=rule)
    assert skills(resolved(one, candidate("gem:bake", "other", rule=None))) == [("gem:sus", "yes")]


def test_providers_that_ship_skills_and_are_not_admitted_are_told() -> None:
    left_out, empty = candidate("gem:bake", "other", rule=None), candidate("gem:none", rule=None)
    assert resolve((left_out, empty), {}).not_admitted == (left_out,)


def test_a_provider_without_an_admitted_skill_has_no_row() -> None:
    (rule,) = rules('[providers.gem]\nsus = { skills = ["x"] }').governing("gem", "sus")
    for one in (
        candidate("gem:sus"),
        candidate("gem:sus", "a", rule=rule),
        candidate("gem:sus", "a", rule=None),
        candidate("gem:sus", found_skill("gem:sus", "a", "is broken")),
    ):
        assert resolved(one).lock == Lockfile()


def test_the_lock_depends_on_what_is_there_now_alone() -> None:
    a, b = candidate("gem:a", "x"), candidate("gem:b", "y")
    renamed = candidate("gem:a", "z")
    assert [skills(resolved(*found)) for found in ((a, b), (a,), (), (a,), (renamed,))] == [
        [("gem:a", "x"), ("gem:b", "y")],
        [("gem:a", "x")],
        [],
        [("gem:a", "x")],
        [("gem:a", "z")],
    ]


def test_the_order_in_which_packages_were_found_does_not_count() -> None:
    found = (candidate("gem:b", "p", "q"), candidate("gem:a", "z"), candidate("npm:a", "a"))
    locks = {dump(resolved(*order).lock) for order in itertools.permutations(found)}
    assert len(locks) == 1
    assert resolved(*found).lock == resolved(*reversed(found)).lock


def test_an_unsafe_skill_is_left_out_with_its_path_and_its_siblings_go_on() -> None:
    found = resolved(candidate("gem:sus", "bad", "good"), bad=UNSAFE)
    assert skills(found) == [("gem:sus", "good")]
    (problem,) = found.problems
    assert (problem.code, problem.severity) == (Code.UNSAFE_SKILL, Severity.WARNING)
    assert problem.message == "gem:sus 1.0.0: skills/bad/secret is a link that leads out of the skill"
    assert (problem.skill, problem.provider, problem.path) == ("bad", "gem:sus", "skills/bad/secret")


@pytest.mark.parametrize(
    "found",
    [taken(runtime=("node_modules",)), taken({"SKILL.md": "x", "a/.git": "gitdir: /elsewhere"})],
    ids=["a directory", "a file"],
)
def test_a_skill_with_a_runtime_directory_in_it_is_unsafe(found: Snapshot) -> None:
    resolution = resolved(candidate("gem:sus", "bad"), bad=found)
    assert resolution.lock == Lockfile()
    assert [problem.code for problem in resolution.problems] == [Code.UNSAFE_SKILL]


def test_each_fault_of_a_skill_is_said() -> None:
    bad = taken(faults=(Fault(path="a", reason="is one"), Fault(path="b", reason="is another")), runtime=(".venv",))
    paths = [problem.path for problem in resolved(candidate("gem:sus", "bad"), bad=bad).problems]
    assert paths == ["skills/bad/a", "skills/bad/b", "skills/bad/.venv"]


@pytest.mark.parametrize(
    ("text", "pinned", "expected"),
    [
        ('sus = "*"', {}, Severity.WARNING),
        ('sus = { skills = ["b*"] }', {}, Severity.WARNING),
        ('sus = { skills = ["bad"] }', {}, Severity.ERROR),
        ('sus = "*"', {"gem:sus": frozenset({"bad"})}, Severity.ERROR),
        ('sus = "*"', {"gem:bake": frozenset({"bad"})}, Severity.WARNING),
    ],
)
def test_an_unsafe_skill_that_somebody_relies_on_is_an_error(text: str, pinned: Pinned, expected: Severity) -> None:
    (rule,) = rules(f"[providers.gem]\n{text}").governing("gem", "sus")
    (problem,) = resolved(candidate("gem:sus", "bad", rule=rule), pinned=pinned, bad=UNSAFE).problems
    assert problem.severity is expected


def test_what_deserves_a_look_is_a_script() -> None:
    files = {
        "SKILL.md": "# Text\n",
        "bin/tool": "#!/bin/sh\n",
        "bin/other": "echo\n",
        "scripts/lib.sh": "echo\n",
        "references/scripts/x": "x",
        "scripts.md": "x",
    }
    found = resolved(candidate("gem:sus", "one"), one=taken(files, executable=("bin/other",)))
    assert found.copies["one"].snapshot.scripts == {"bin/tool", "bin/other", "scripts/lib.sh"}


def variants(*shipped: tuple[str, ...]) -> Candidate:
    """A package that is installed in several variants, each with its own skills."""
    packages = [package("gem:sus", root=f"/packages/sus-{number}") for number in range(len(shipped))]
    found = tuple(provider(one, *names) for one, names in zip(packages, shipped, strict=True))
    return Candidate(choice=Choice(variants=tuple(packages), rule=EVERYTHING), providers=found)


def test_variants_with_the_same_skills_are_one_provider() -> None:
    found = resolved(variants(("a", "b"), ("a", "b")))
    assert found.problems == ()
    assert skills(found) == [("gem:sus", "a"), ("gem:sus", "b")]


def test_variants_whose_skills_differ_are_an_error() -> None:
    same = variants(("a",), ("a",))
    first, second = read(same.providers[0]), read(same.providers[1], a=taken({"SKILL.md": "# Other\n"}))
    for one in (
        replace(same, providers=(first, second)),
        replace(same, providers=(second, first)),
        *(
            replace(each, providers=tuple(map(read, each.providers)))
            for each in (variants(("a",), ("a", "b")), variants((), ("a",)))
        ),
    ):
        (problem,) = resolve((one,), {}).problems
        assert (problem.code, problem.severity) == (Code.AMBIGUOUS_PROVIDER, Severity.ERROR)
        assert problem.message == "gem:sus 1.0.0 is installed in several variants, and their skills differ"


def test_variants_that_differ_where_nothing_is_admitted_do_not_matter() -> None:
    one = variants(("a",), ("b",))
    assert resolved(replace(one, choice=replace(one.choice, rule=None))).problems == ()
    (rule,) = rules('[providers.gem]\nsus = { skills = ["a"] }').governing("gem", "sus")
    one = variants(("a",), ("a", "b"))
    one = replace(one, choice=replace(one.choice, rule=rule))
    assert resolved(one).problems == ()
