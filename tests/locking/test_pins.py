from __future__ import annotations

from typing import TYPE_CHECKING

import builders
from builders import environment, locked, package, rules

from skillsync.discovery.environment import NoEnvironment
from skillsync.errors import Code, Severity
from skillsync.locking.lockfile import Lockfile
from skillsync.locking.manifest import Manifest
from skillsync.locking.pins import pinned_by, vanished

if TYPE_CHECKING:
    from skillsync.discovery.environment import Environment
    from skillsync.errors import Problem
    from skillsync.locking.pins import Pinned

PINNED: Pinned = {"gem:sus": frozenset({"testing"}), "gem:bake": frozenset({"baking"})}
ABSENT = NoEnvironment(
    ecosystem="gem",
    problem=builders.problem(Code.ENVIRONMENT_NOT_FOUND, "no bundle", severity=Severity.WARNING),
    named=frozenset({"sus"}),
)
BOTH = environment(package("gem:sus"), package("gem:bake"), named=("sus", "bake"))


def gone(*read: Environment | NoEnvironment, text: str | None = None, pinned: Pinned = PINNED) -> list[Problem]:
    return list(vanished(pinned, Manifest() if text is None else rules(text), read))


def test_a_lock_pins_its_skills_by_provider() -> None:
    lock = Lockfile(providers=(locked("gem:sus", "testing", "async"), locked("npm:@s/x", "x")))
    assert pinned_by(lock) == {"gem:sus": frozenset({"async", "testing"}), "npm:@s/x": frozenset({"x"})}
    assert pinned_by(Lockfile()) == {}


def test_what_is_installed_has_not_vanished() -> None:
    assert gone(BOTH) == []
    assert gone(BOTH, text="[providers]") == []
    assert gone(BOTH, pinned={}) == []


def test_an_ecosystem_without_an_environment_stops_with_its_own_problem() -> None:
    assert gone(ABSENT) == [ABSENT.problem.as_error()]


def test_what_the_manifest_keeps_out_is_not_missed() -> None:
    text = '[providers.gem]\n"*" = "*"\nsus = { skills = [] }\nbake = { exclude = ["*"] }\n'
    assert gone(ABSENT, text=text) == []
    assert gone(ABSENT, text=text.replace("bake", "other")) == [ABSENT.problem.as_error()]


def test_an_environment_without_a_single_package_is_never_all_removed() -> None:
    for read in ((environment(),), (environment(named=("sus",)),)):
        (problem,) = gone(*read)
        assert (problem.code, problem.severity) == (Code.ENVIRONMENT_NOT_FOUND, Severity.ERROR)
        assert problem.message == "no gem package is installed, and gem:bake, gem:sus is pinned"
        gone_for_good = "if they are gone for good, remove agent-skills.lock and run `skillsync lock`"
        assert problem.hint == f"run `install`; {gone_for_good}"


def test_a_pinned_provider_that_the_dependency_files_still_name_is_missing() -> None:
    (problem,) = gone(environment(package("gem:bake"), named=("sus", "bake")))
    assert (problem.code, problem.severity, problem.provider) == (Code.MISSING_PROVIDER, Severity.ERROR, "gem:sus")
    assert problem.message == "gem:sus is not installed, and a dependency file of the project names it"


def test_a_pinned_provider_that_nothing_names_any_more_is_an_ordinary_removal() -> None:
    assert gone(environment(package("gem:bake"), named=("bake",))) == []
    assert gone(environment(package("gem:other"))) == []


def test_an_exact_name_in_the_manifest_has_its_own_problem_already() -> None:
    read = environment(package("gem:bake"), named=("sus", "bake"))
    assert gone(read, text='[providers.gem]\nsus = "*"\nbake = "*"') == []
    (problem,) = gone(read, text='[providers.gem]\n"*" = "*"')
    assert problem.code is Code.MISSING_PROVIDER


def test_what_the_manifest_no_longer_admits_is_an_ordinary_removal() -> None:
    for text in ("[providers]", '[providers.gem]\nother = "*"', 'ecosystems = ["npm"]'):
        assert gone(ABSENT, text=text) == []
        assert gone(environment(), text=text) == []
        assert gone(environment(package("gem:other"), named=("sus", "bake")), text=text) == []


def test_one_provider_that_is_still_wanted_is_enough() -> None:
    (problem,) = gone(environment(), text='[providers.gem]\n"s*" = "*"')
    assert problem.message == "no gem package is installed, and gem:sus is pinned"
    assert gone(ABSENT, text='ecosystems = ["gem"]\n[providers.gem]\nbake = "*"') == [ABSENT.problem.as_error()]


def test_each_ecosystem_is_looked_at_by_itself() -> None:
    pinned: Pinned = {"gem:sus": frozenset({"a"}), "npm:x": frozenset({"b"}), "pypi:y": frozenset({"c"})}
    problems = gone(
        environment(package("gem:sus")), environment(ecosystem="npm"), environment(ecosystem="pypi"), pinned=pinned
    )
    assert [problem.message for problem in problems] == [
        "no npm package is installed, and npm:x is pinned",
        "no pypi package is installed, and pypi:y is pinned",
    ]


def test_an_ecosystem_that_this_skillsync_does_not_know_is_never_all_removed() -> None:
    pinned: Pinned = {"gem:sus": frozenset({"a"}), "hex:x": frozenset({"b"})}
    read = environment(package("gem:sus"))
    (problem,) = gone(read, pinned=pinned)
    assert (problem.code, problem.severity) == (Code.ENVIRONMENT_NOT_FOUND, Severity.ERROR)
    assert problem.message == "this skillsync does not know the ecosystem hex, and hex:x is pinned"
    assert problem.hint == "upgrade skillsync, or leave hex out with `ecosystems` in agent-skills.toml"
    assert gone(read, text='ecosystems = ["gem"]', pinned=pinned) == []
