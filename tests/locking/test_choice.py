from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import builders
from builders import SHELVES, candidate, environment, found_skill, package, rules

from skillsync.errors import Code, Severity
from skillsync.locking.choice import EVERYTHING, Choice, choose, manifest_problem, missing_provider
from skillsync.locking.manifest import Manifest
from skillsync.values import replace

if TYPE_CHECKING:
    from skillsync.discovery.environment import Package
    from skillsync.errors import Problem


def chosen(text: str | None, *packages: Package) -> dict[str, tuple[str, str | None]]:
    """By provider: the version that counts, and the pattern of the rule that admits it."""
    choices, problems = choose(rules(text) if text is not None else Manifest(), [environment(*packages)], SHELVES)
    assert problems == []
    return {one.package.key: (one.package.version, pattern(one)) for one in choices}


def refused(text: str, *packages: Package) -> tuple[dict[str, str | None], Problem]:
    """By provider: the pattern of the rule that admits it; and the one problem."""
    choices, (problem,) = choose(rules(text), [environment(*packages)], SHELVES)
    return {one.package.key: pattern(one) for one in choices}, problem


def pattern(choice: Choice) -> str | None:
    return choice.rule.pattern if choice.rule else None


SUS, BAKE = package("gem:sus"), package("gem:bake")


def test_without_providers_in_the_manifest_everything_is_admitted() -> None:
    assert chosen(None, SUS, BAKE) == {"gem:bake": ("1.0.0", "*"), "gem:sus": ("1.0.0", "*")}
    assert chosen("version = 1", SUS) == {"gem:sus": ("1.0.0", "*")}


def test_empty_providers_admit_nothing() -> None:
    assert chosen("[providers]", SUS, BAKE) == {"gem:bake": ("1.0.0", None), "gem:sus": ("1.0.0", None)}
    assert chosen("[providers.gem]", SUS) == {"gem:sus": ("1.0.0", None)}


def test_a_star_admits_everything_of_its_ecosystem() -> None:
    assert chosen('[providers.gem]\n"*" = "*"', SUS) == {"gem:sus": ("1.0.0", "*")}
    assert chosen('[providers.npm]\n"*" = "*"', SUS) == {"gem:sus": ("1.0.0", None)}


def test_only_what_is_listed_is_admitted() -> None:
    assert chosen('[providers.gem]\nsus = "*"', SUS, BAKE) == {"gem:bake": ("1.0.0", None), "gem:sus": ("1.0.0", "sus")}


VERSIONS = tuple(package("gem:sus", version) for version in ("0.9.0", "0.10.0", "1.0.0.pre", "0.10.0.rc1"))


def test_the_highest_version_counts_as_versions_sort_and_in_any_order() -> None:
    for order in itertools.permutations(VERSIONS):
        assert chosen(None, *order) == {"gem:sus": ("1.0.0.pre", "*")}
        assert chosen('[providers.gem]\nsus = "< 1.0.0.a"', *order) == {"gem:sus": ("0.10.0", "sus")}
        assert chosen('[providers.gem]\nsus = "~> 0.9.0"', *order) == {"gem:sus": ("0.9.0", "sus")}
        assert chosen("[providers]", *order) == {"gem:sus": ("1.0.0.pre", None)}


def test_of_two_spellings_of_one_version_the_same_counts_in_any_order() -> None:
    one, other = package("gem:sus", "1.0"), package("gem:sus", "1.0.0")
    assert chosen(None, one, other) == chosen(None, other, one)


def test_all_variants_of_the_version_that_counts_are_kept() -> None:
    plain, linux = package("gem:sus"), package("gem:sus", root="/packages/sus-1.0.0-x86_64-linux")
    (choice,), _ = choose(Manifest(), [environment(package("gem:sus", "0.9.0"), plain, linux)], SHELVES)
    assert choice.variants == (plain, linux)
    assert choice.package == plain


def test_a_requirement_that_rules_versions_out_settles_which_of_them_counts() -> None:
    doubt = builders.problem(Code.AMBIGUOUS_PROVIDER, severity=Severity.WARNING)
    other = builders.problem(Code.PACKAGE_UNREADABLE, severity=Severity.WARNING)
    packages = [replace(package("npm:x", version), problems=(doubt, other)) for version in ("1.0", "2.0")]
    read = [environment(*packages, ecosystem="npm")]

    def problems(requirement: str) -> tuple[Problem, ...]:
        (choice,), _ = choose(rules(f'[providers.npm]\nx = "{requirement}"'), read, SHELVES)
        return choice.package.problems

    assert problems("< 2") == (other,)
    assert problems("*") == (doubt, other)
    assert problems("> 2") == (doubt, other)


def test_an_exact_name_whose_versions_are_not_admitted_is_an_error() -> None:
    admitted, problem = refused('[providers.gem]\nsus = ">= 2"', package("gem:sus", "0.9"), SUS)
    assert admitted == {"gem:sus": None}
    assert (problem.code, problem.severity) == (Code.VERSION_NOT_ADMITTED, Severity.ERROR)
    assert problem.message == "gem:sus is installed at 0.9, 1.0.0; agent-skills.toml admits `>= 2`"
    assert problem.hint == (
        "run `skillsync allow gem:sus --version SPEC` (any: '*'), or install a version that `providers.gem.sus` admits"
    )
    assert (problem.provider, problem.path) == ("gem:sus", "agent-skills.toml")


def test_a_pattern_whose_versions_are_not_admitted_is_no_error() -> None:
    assert chosen('[providers.gem]\n"s*" = ">= 2"', SUS) == {"gem:sus": ("1.0.0", None)}


def test_an_exact_name_that_is_not_installed_is_an_error() -> None:
    admitted, problem = refused('[providers.gem]\nsuss = "*"', SUS)
    assert admitted == {"gem:sus": None}
    assert problem == missing_provider("gem:suss", "`providers.gem.suss` in agent-skills.toml", "install")
    assert problem.code is Code.MISSING_PROVIDER
    assert problem.message == "gem:suss is not installed, and `providers.gem.suss` in agent-skills.toml names it"
    assert problem.hint == "run `install`, or `skillsync deny gem:suss`"


def test_a_pattern_that_matches_nothing_is_no_missing_provider() -> None:
    assert chosen('[providers.gem]\n"z*" = "*"', SUS) == {"gem:sus": ("1.0.0", None)}


def test_an_environment_without_packages_misses_every_exact_name() -> None:
    assert refused('[providers.gem]\nsus = "*"') == (
        {},
        missing_provider("gem:sus", "`providers.gem.sus` in agent-skills.toml", "install"),
    )


def test_an_entry_of_an_ecosystem_that_was_not_read_is_not_looked_for() -> None:
    assert chosen('[providers.npm]\nx = "*"', SUS) == {"gem:sus": ("1.0.0", None)}


def test_patterns_that_match_equally_well_admit_nothing_and_are_an_error() -> None:
    admitted, problem = refused('[providers.gem]\n"su*" = "*"\n"*us" = "*"', SUS, BAKE)
    assert admitted == {"gem:bake": None, "gem:sus": None}
    said = manifest_problem(
        '`providers.gem."su*"` and `providers.gem."*us"` match gem:sus equally well',
        "give it an entry of its own: run `skillsync allow gem:sus`",
    )
    assert problem == replace(said, provider="gem:sus")
    assert (problem.code, problem.is_error) == (Code.MANIFEST_INVALID, True)


def test_environments_are_told_apart() -> None:
    text = '[providers.gem]\nx = "*"\n[providers.npm]\nx = ">= 2"\n'
    environments = [
        environment(package("gem:x")),
        environment(package("npm:x", "2.0"), ecosystem="npm"),
        environment(package("pypi:x"), ecosystem="pypi"),
    ]
    choices, problems = choose(rules(text), environments, SHELVES)
    assert problems == []
    assert [(one.package.key, one.rule and one.rule.key) for one in choices] == [
        ("gem:x", "providers.gem.x"),
        ("npm:x", "providers.npm.x"),
        ("pypi:x", None),
    ]


def test_the_manifests_path_stands_in_place_of_the_usual_ones() -> None:
    one = package("gem:sus", places=("skills", "more"))
    assert Choice(variants=(one,), rule=EVERYTHING).places == ("skills", "more")
    assert Choice(variants=(one,), rule=None).places == ("skills", "more")
    (rule,) = rules('[providers.gem]\nsus = { path = "lib/skills" }').governing("gem", "sus")
    assert Choice(variants=(one,), rule=rule).places == ("lib/skills",)


def test_only_valid_skills_that_the_rule_admits_are_admitted() -> None:
    (rule,) = rules('[providers.gem]\nsus = { skills = ["a*"], exclude = ["ab"] }').governing("gem", "sus")
    skills = ("aa", "ab", found_skill("gem:sus", "ac", "is broken"), "b")
    found = candidate("gem:sus", *skills, rule=rule)
    assert found.key == "gem:sus"
    assert [skill.name for skill in found.admitted] == ["aa"]
    assert candidate("gem:sus", *skills, rule=None).admitted == ()
    assert [skill.name for skill in candidate("gem:sus", *skills).admitted] == ["aa", "ab", "b"]
