from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import builders
import pytest
from builders import candidate, found_skill, rules

from skillsync.discovery.provider import Ignored
from skillsync.errors import Code, Severity
from skillsync.locking.examination import examine, left_out
from skillsync.locking.manifest import Manifest
from skillsync.values import replace

if TYPE_CHECKING:
    from skillsync.discovery.provider import FoundSkill
    from skillsync.errors import Problem
    from skillsync.locking.choice import Candidate
    from skillsync.locking.manifest import Rule
    from skillsync.locking.pins import Pinned

PINNED: Pinned = {"gem:sus": frozenset({"broken"})}
BROKEN = found_skill("gem:sus", "broken", "has no `name`")
AUTHORS = "report it to the package's authors"
OUT = "to leave it out and hear no more of it, run `skillsync deny gem:sus --skill"
TOLD = [replace(problem, hint=f"{OUT} broken`; {AUTHORS}") for problem in BROKEN.problems]


def look(text: str | None, *candidates: Candidate, pinned: Pinned | None = None) -> list[Problem]:
    return examine(candidates, Manifest() if text is None else rules(text), pinned or {})


def governed(text: str, key: str, *skills: str | FoundSkill) -> Candidate:
    """A provider with the rule that the manifest has for it."""
    ecosystem, _, name = key.partition(":")
    return candidate(key, *skills, rule=next(iter(rules(text).governing(ecosystem, name)), None))


def refused(key: str, *skills: str, rule: Rule) -> Candidate:
    """A provider whose version the rule for it doesn't admit."""
    found = candidate(key, *skills, rule=None)
    return replace(found, choice=replace(found.choice, refusing=rule))


def severities(text: str, *skills: str | FoundSkill, pinned: Pinned | None = None) -> list[tuple[Code, Severity]]:
    problems = look(text, governed(text, "gem:sus", *skills), pinned=pinned)
    return [(problem.code, problem.severity) for problem in problems]


WARNING = [(Code.INVALID_SKILL, Severity.WARNING)]
ERROR = [(Code.INVALID_SKILL, Severity.ERROR)]


# Invalid skills


def test_an_invalid_skill_that_nobody_relies_on_is_a_warning() -> None:
    assert look(None, candidate("gem:sus", BROKEN, "fine")) == TOLD
    assert severities('[providers.gem]\nsus = "*"', BROKEN) == WARNING
    assert severities('[providers.gem]\nsus = { skills = ["b*"] }', BROKEN) == WARNING


def test_an_invalid_skill_that_the_manifest_leaves_out_is_settled_and_told_to_who_asks() -> None:
    for text in (
        '[providers.gem]\nsus = { exclude = ["broken"] }',
        '[providers.gem]\nsus = { skills = ["fine"] }',
        "[providers.gem]\nsus = { skills = [] }",
        '[providers.gem]\n"s*" = { exclude = ["b*"] }',
        "[providers]",
    ):
        one = governed(text, "gem:sus", BROKEN, "fine")
        assert look(text, one) == []
        assert left_out([one, one]) == [replace(problem, hint=AUTHORS) for problem in BROKEN.problems]
    assert left_out([candidate("gem:sus", BROKEN)]) == []


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("snake_case", "'snake?case'"), ("Kelp", "'?elp'"), ("con", "'?on'"), ("a--b", "'?--b'"), ("\udcff\n", "'??'")],
)
def test_a_directory_whose_name_can_be_no_skills_is_left_out_by_a_pattern(name: str, pattern: str) -> None:
    (problem,) = look(None, candidate("gem:sus", found_skill("gem:sus", name, "has a name that is none")))
    assert problem.hint == f"{OUT} {pattern}`; {AUTHORS}"
    text = f"[providers.gem]\nsus = {{ exclude = [{pattern}] }}"
    assert look(text, governed(text, "gem:sus", found_skill("gem:sus", name, "has a name that is none"))) == []


def test_an_invalid_skill_that_the_manifest_names_is_an_error() -> None:
    assert severities('[providers.gem]\nsus = { skills = ["broken"] }', BROKEN) == ERROR
    assert severities('[providers.gem]\nsus = { skills = ["broken"], exclude = ["b*"] }', BROKEN) == []


def test_an_invalid_skill_that_is_pinned_is_an_error_while_it_is_admitted() -> None:
    assert severities('[providers.gem]\nsus = "*"', BROKEN, pinned=PINNED) == ERROR
    assert severities('[providers.gem]\nsus = { exclude = ["broken"] }', BROKEN, pinned=PINNED) == []
    assert severities("[providers]", BROKEN, pinned=PINNED) == []
    assert severities('[providers.gem]\nsus = "*"', BROKEN, pinned={"gem:bake": frozenset({"broken"})}) == WARNING


def test_what_is_merely_unusual_in_a_valid_skill_stays_a_warning() -> None:
    long = found_skill("gem:sus", "broken", warnings=("has a long description",))
    for text in ('[providers.gem]\nsus = { skills = ["broken"] }', '[providers.gem]\nsus = "*"'):
        assert severities(text, long, pinned=PINNED) == WARNING


def test_what_is_unusual_in_a_skill_that_is_left_out_is_not_said() -> None:
    long = found_skill("gem:sus", "broken", warnings=("has a long description",))
    assert severities('[providers.gem]\nsus = { exclude = ["broken"] }', long) == []
    assert severities("[providers.gem]", long) == []


def test_one_broken_skill_hides_no_other() -> None:
    other = found_skill("gem:sus", "other", "has no `description`")
    problems = look(None, candidate("gem:sus", BROKEN, "fine", other))
    assert [problem.skill for problem in problems] == ["broken", "other"]


def test_what_all_variants_of_a_package_have_is_said_once() -> None:
    one = candidate("gem:sus", BROKEN)
    twice = replace(one, providers=one.providers * 2)
    assert look(None, twice) == TOLD


def test_a_problem_of_the_package_is_an_error_where_it_is_admitted() -> None:
    problem = builders.problem(Code.UNSAFE_SKILL, severity=Severity.WARNING)
    one = candidate("gem:sus")
    found = replace(one, providers=(replace(one.provider, problems=(problem,)),))
    assert look(None, found) == [problem.as_error()]
    assert look(None, replace(found, choice=replace(found.choice, rule=None))) == [problem]


# A pinned skill's directory without SKILL.md


def hollow(text: str, path: str = "skills/broken") -> Candidate:
    one = governed(text, "gem:sus", "fine")
    return replace(one, providers=(replace(one.provider, ignored=(Ignored(path=path, reason="has no SKILL.md"),)),))


def test_a_pinned_skill_whose_directory_lost_its_file_is_broken_and_not_gone() -> None:
    text = '[providers.gem]\nsus = "*"'
    (problem,) = look(text, hollow(text), pinned=PINNED)
    assert (problem.code, problem.severity, problem.skill) == (Code.INVALID_SKILL, Severity.ERROR, "broken")
    assert problem.message == "gem:sus 1.0.0: skills/broken has no SKILL.md, but is locked"


def test_a_directory_without_the_file_is_nothing_where_nobody_relies_on_it() -> None:
    text = '[providers.gem]\nsus = "*"'
    assert look(text, hollow(text)) == []
    assert look(text, hollow(text, "skills/other"), pinned=PINNED) == []
    excluding = '[providers.gem]\nsus = { exclude = ["bro*"] }'
    assert [problem.code for problem in look(excluding, hollow(excluding), pinned=PINNED)] == [Code.PATTERN_UNMATCHED]
    assert look("[providers]", hollow("[providers]"), pinned=PINNED) == []


# What the manifest asks for


def test_a_path_that_does_not_exist_is_an_error() -> None:
    text = '[providers.gem]\nsus = { path = "lib/skills" }'
    (problem, *rest) = look(text, governed(text, "gem:sus"))
    assert (problem.code, problem.severity) == (Code.MANIFEST_INVALID, Severity.ERROR)
    assert problem.message == "`providers.gem.sus.path`: gem:sus 1.0.0 has no directory lib/skills"
    assert [one.code for one in rest] == [Code.SKILL_NOT_FOUND]


def test_a_path_that_exists_or_has_a_problem_of_its_own_is_not_said_to_be_missing() -> None:
    text = '[providers.gem]\nsus = { path = "lib/skills" }'
    one = governed(text, "gem:sus", "a")
    assert look(text, replace(one, providers=(replace(one.provider, places=("lib/skills",)),))) == []
    problem = builders.problem(Code.UNSAFE_SKILL, severity=Severity.WARNING)
    assert look(text, replace(one, providers=(replace(one.provider, problems=(problem,)),))) == [problem.as_error()]


def test_a_listed_provider_without_skills_is_said_to_ship_none_with_the_places() -> None:
    text = '[providers.gem]\nsus = "*"'
    (problem,) = look(text, governed(text, "gem:sus"))
    assert (problem.code, problem.severity) == (Code.SKILL_NOT_FOUND, Severity.WARNING)
    assert problem.message == "gem:sus 1.0.0 is installed and ships no skills (looked in skills)"
    assert problem.hint == (
        "take it out of agent-skills.toml, or set its `path`: `skillsync show gem:sus` says what is in it"
    )


def test_a_provider_without_skills_that_is_not_listed_is_nothing() -> None:
    assert look(None, candidate("gem:sus")) == []
    assert look("[providers]", candidate("gem:sus", rule=None)) == []


def test_a_skill_that_the_manifest_names_and_the_provider_lacks_is_an_error() -> None:
    text = '[providers.gem]\nsus = { skills = ["fine", "typo"] }'
    (problem,) = look(text, governed(text, "gem:sus", "fine", BROKEN))
    assert (problem.code, problem.severity, problem.skill) == (Code.SKILL_NOT_FOUND, Severity.ERROR, "typo")
    assert problem.message == "`providers.gem.sus.skills`: gem:sus 1.0.0 ships no skill `typo`"
    assert problem.hint == ("it ships fine, broken; to take the name out, run `skillsync deny gem:sus --skill typo`")
    assert problem.path == "agent-skills.toml"


def test_an_exclusion_or_a_pattern_that_matches_no_skill_is_a_warning() -> None:
    assert severities('[providers.gem]\nsus = { exclude = ["typo"] }', "fine") == [
        (Code.SKILL_NOT_FOUND, Severity.WARNING)
    ]
    for key in ("skills", "exclude"):
        assert severities(f'[providers.gem]\nsus = {{ {key} = ["z*"] }}', "fine") == [
            (Code.PATTERN_UNMATCHED, Severity.WARNING)
        ]


def test_what_a_pattern_for_many_providers_asks_for_is_not_asked_of_each() -> None:
    text = '[providers.gem]\n"s*" = { skills = ["typo"], exclude = ["z*"] }'
    assert look(text, governed(text, "gem:sus", "fine")) == []


def test_a_pattern_that_matches_no_provider_with_skills_is_a_warning() -> None:
    text = '[providers.gem]\n"s*" = "*"\n"z*" = "*"\n"b*" = "*"\n'
    problems = look(text, governed(text, "gem:sus", "fine"), governed(text, "gem:bake"))
    assert [problem.message.partition(" in ")[0] for problem in problems] == [
        '`providers.gem."z*"`',
        '`providers.gem."b*"`',
    ]
    assert {(problem.code, problem.severity) for problem in problems} == {(Code.PATTERN_UNMATCHED, Severity.WARNING)}


@pytest.mark.parametrize(
    ("pinned", "severity"), [(PINNED, Severity.ERROR), ({"gem:bake": frozenset({"x"})}, Severity.WARNING)]
)
def test_a_pattern_whose_version_does_not_fit_says_so(pinned: Pinned, severity: Severity) -> None:
    text = '[providers.gem]\n"s*" = "< 1"\n'
    rule = rules(text).governing("gem", "sus")[0]
    (problem,) = look(text, refused("gem:sus", "fine", rule=rule), pinned=pinned)
    assert (problem.code, problem.severity) == (Code.VERSION_NOT_ADMITTED, severity)
    assert problem.message == "gem:sus is installed at 1.0.0; agent-skills.toml admits `< 1`"
    assert problem.hint == (
        "run `skillsync allow gem:sus --version SPEC` (any: '*'), "
        'or install a version that `providers.gem."s*"` admits'
    )


def test_a_pattern_that_refuses_what_ships_no_skills_matches_nothing() -> None:
    text = '[providers.gem]\n"s*" = "< 1"\n'
    (problem,) = look(text, refused("gem:sus", rule=rules(text).governing("gem", "sus")[0]))
    assert problem.code is Code.PATTERN_UNMATCHED


# One name twice


def test_two_admitted_providers_of_one_skill_are_an_error_that_names_both_and_the_way_out() -> None:
    found = (
        candidate("gem:a", "testing", "only-a"),
        candidate("npm:@s/c", "testing", version="2.0"),
        candidate("pypi:b", "testing", "only-b"),
    )
    for order in itertools.permutations(found):
        (problem,) = look(None, *order)
        assert (problem.code, problem.severity, problem.skill) == (Code.DUPLICATE_SKILL, Severity.ERROR, "testing")
        assert problem.message == "the skill testing is shipped by gem:a 1.0.0 and by npm:@s/c 2.0 and by pypi:b 1.0.0"
        assert problem.hint == "let all but one exclude it: run `skillsync deny pypi:b --skill testing`"


def test_the_way_out_keeps_what_was_approved() -> None:
    found = (candidate("gem:a", "testing"), candidate("npm:b", "testing"), candidate("pypi:c", "testing"))
    for owner, new in (("gem:a", "pypi:c"), ("pypi:c", "npm:b")):
        (problem,) = look(None, *found, pinned={owner: frozenset({"testing"})})
        assert f"`skillsync deny {new} " in (problem.hint or "")


def test_one_name_in_two_places_of_one_package_is_an_error_of_that_package_alone() -> None:
    skill = found_skill("gem:a", "testing")
    doubled = candidate("gem:a", skill, replace(skill, path=".agents/skills/testing"), "other")
    (problem,) = look(None, doubled, candidate("gem:b", "else"))
    assert (problem.code, problem.severity, problem.provider) == (Code.DUPLICATE_SKILL, Severity.ERROR, "gem:a")
    assert problem.message == (
        "gem:a 1.0.0 ships the skill testing in several places: skills/testing, .agents/skills/testing"
    )
    both = look(None, doubled, candidate("gem:b", "testing"))
    assert [one.message.partition(" in ")[0] for one in both] == [
        "gem:a 1.0.0 ships the skill testing",
        "the skill testing is shipped by gem:a 1.0.0 and by gem:b 1.0.0",
    ]


def test_a_name_that_is_not_admitted_or_not_valid_collides_with_nothing() -> None:
    one = candidate("gem:a", "broken")
    for other in (
        candidate("gem:b", "broken", rule=None),
        governed('[providers.gem]\nb = { exclude = ["broken"] }', "gem:b", "broken"),
    ):
        assert look(None, one, other) == []
    assert look(None, one, candidate("gem:sus", BROKEN)) == TOLD


def test_each_name_that_collides_is_said_in_one_order() -> None:
    for skills in (("x", "y"), ("y", "x")):
        problems = look(None, candidate("gem:b", *skills), candidate("gem:a", *skills))
        assert [(problem.skill, problem.provider) for problem in problems] == [("x", "gem:a"), ("y", "gem:a")]


def test_nothing_wrong_is_nothing_said() -> None:
    text = '[providers.gem]\nsus = { skills = ["fine", "f*"], exclude = ["other"] }'
    assert look(text, governed(text, "gem:sus", "fine", "other")) == []
    assert look(None) == []
