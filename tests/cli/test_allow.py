from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from node_packages import install
from projects import LOCK, MANIFEST, Project, skill

if TYPE_CHECKING:
    from pathlib import Path

HAND = """\
# Ours.
version = 1

[providers.gem]
sus = { version = "~> 1.0", skills = ["testing"] }  # why
# the others
"ba*" = "*"
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return (
        Project(tmp_path / "app")
        .gem("sus", "1.0.0", "testing", "mocking")
        .gem("bake", "2.0.0", "bake-one", "bake-two")
        .gem("plain")
    )


def entries(project: Project) -> list[str]:
    """The lines of `[providers]`."""
    return project.read(MANIFEST).partition("version = 1\n")[2].strip().splitlines()


def refused(project: Project, *arguments: str) -> tuple[str, str, str]:
    """Run what has to be refused and to change nothing; return code, message and hint of the first problem."""
    before = project.tree
    result = project.run(*arguments, "--format", "json")
    assert result.code in {2, 3}, result.out
    assert project.tree == before
    assert (result.json["changes"], result.json["version"]) == ([], 1)
    problem = result.json["problems"][0]
    return problem["code"], problem["message"], problem["hint"]


# With a manifest


def test_an_entry_is_added_and_all_else_stays(project: Project) -> None:
    project.manifest(HAND).gem("new", "1.0.0", "fresh")
    result = project.done("allow", "gem:new")
    assert result.out.splitlines() == ['+ gem:new = "*"', f"wrote {MANIFEST}; run `skillsync lock`"]
    assert result.err == ""
    assert project.read(MANIFEST) == f'{HAND}new = "*"\n'
    project.done("deny", "gem:new")
    assert project.read(MANIFEST) == HAND
    assert not (project.root / LOCK).exists()


def test_without_skills_all_are_admitted_and_the_version_stays(project: Project) -> None:
    project.manifest(HAND).done("allow", "gem:sus")
    assert project.read(MANIFEST) == HAND.replace('{ version = "~> 1.0", skills = ["testing"] }', '"~> 1.0"')
    project.done("allow", "sus", "--version", ">= 1")
    assert 'sus = ">= 1"  # why\n' in project.read(MANIFEST)


def test_a_version_alone_leaves_the_skills(project: Project) -> None:
    project.manifest(HAND).done("allow", "gem:sus", "--version", "*")
    assert 'sus = { skills = ["testing"] }  # why\n' in project.read(MANIFEST)
    project.done("deny", "sus", "--skill", "testing")
    project.done("allow", "sus", "--version", "> 0")
    assert 'sus = "> 0"  # why\n' in project.read(MANIFEST)


def test_skills_are_added_and_left_out_one_by_one(project: Project) -> None:
    project.manifest(HAND).done("allow", "gem:sus", "--skill", "mocking", "--skill", "testing")
    assert 'sus = { version = "~> 1.0", skills = ["testing", "mocking"] }  # why\n' in project.read(MANIFEST)
    project.done("deny", "gem:sus", "--skill", "mocking")
    assert project.read(MANIFEST) == HAND
    project.done("allow", "gem:sus")
    project.done("deny", "gem:sus", "--skill", "mocking")
    assert 'sus = { version = "~> 1.0", exclude = ["mocking"] }  # why\n' in project.read(MANIFEST)
    denied = project.read(MANIFEST)
    project.done("allow", "gem:sus", "--skill", "mocking")
    assert 'sus = "~> 1.0"  # why\n' in project.read(MANIFEST)
    project.manifest(denied).done("allow", "gem:sus")
    assert 'sus = "~> 1.0"  # why\n' in project.read(MANIFEST)


def test_what_a_pattern_lets_in_is_kept_out_by_an_entry_of_its_own(project: Project) -> None:
    project.manifest(HAND)
    before = project.tree
    assert project.done("allow", "gem:bake").out.splitlines() == [
        'gem:bake is admitted already: `providers.gem."ba*"` = "*"',
        f"{MANIFEST} stays as it is",
    ]
    assert project.tree == before
    project.done("deny", "gem:bake", "--skill", "bake-two")
    project.done("lock")
    assert project.locked == ["bake 2.0.0 bake-one", "sus 1.0.0 testing"]
    project.done("deny", "gem:bake")
    assert project.read(MANIFEST) == f"{HAND}bake = {{ skills = [] }}\n"
    project.done("lock", "--strict")
    assert project.locked == ["sus 1.0.0 testing"]
    # It has to stay out, and need not be installed for that.
    project.drop("bake").done("lock")
    again = project.done("deny", "gem:bake").out.splitlines()
    assert again[0] == "gem:bake is left out already: `providers.gem.bake` = { skills = [] }"


def test_an_entry_from_a_pattern_keeps_what_the_pattern_says(project: Project) -> None:
    project.manifest('[providers.gem]\n"ba*" = { version = "> 1", skills = ["bake-one"] }\n')
    project.done("allow", "gem:bake", "--skill", "bake-two")
    line = 'bake = { version = "> 1", skills = ["bake-one", "bake-two"] }\n'
    assert project.read(MANIFEST).endswith(line)


def test_a_pattern_is_allowed_and_denied_with_what_it_stands_for(project: Project) -> None:
    project.manifest(HAND)
    result = project.done("allow", "gem:none-*")
    assert result.err.startswith(
        "warning[pattern-unmatched]: gem:none-* matches no package that is installed or locked"
    )
    project.done("deny", "gem:none-*", "gem:*")
    project.done("lock")
    assert (project.locked, entries(project)) == ([], ["[providers.gem]", "# why", "# the others"])


def test_a_skill_beside_all_that_are_admitted_lets_nothing_in_and_that_is_said(project: Project) -> None:
    project.manifest('[providers.gem]\nsus = "*"\n')
    result = project.done("allow", "gem:sus", "--skill", "testing", "--version", "~> 1.0")
    said = "every skill of gem:sus was admitted before; for some alone, run `skillsync deny gem:sus` first"
    assert said in result.out.splitlines()
    project.done("deny", "gem:sus", "--skill", "mocking")
    assert said not in project.done("allow", "gem:sus", "--skill", "mocking").out
    project.done("deny", "gem:sus")
    project.done("allow", "gem:sus", "--skill", "testing")
    project.done("lock")
    assert project.locked == ["sus 1.0.0 testing"]


def test_a_skill_of_what_is_kept_out_is_left_out_already(project: Project) -> None:
    project.manifest("[providers.gem]\nsus = { skills = [] }\n")
    result = project.done("deny", "gem:sus", "--skill", "testing")
    assert result.out.splitlines()[0] == "gem:sus is left out already: `providers.gem.sus` = { skills = [] }"


def test_what_is_named_twice_is_done_once(project: Project) -> None:
    project.manifest("[providers]\n").done("allow", "sus", "gem:sus", "bake")
    assert project.read(MANIFEST) == '[providers]\n\n[providers.gem]\nsus = "*"\nbake = "*"\n'


def test_a_provider_that_is_gone_can_be_taken_out(project: Project) -> None:
    project.manifest(HAND).drop("sus")
    assert "or `skillsync deny gem:sus`" in project.run("lock").err
    project.done("deny", "sus")
    project.done("lock")


# Without a manifest


def test_without_a_manifest_one_is_made_of_what_is_locked(project: Project) -> None:
    project.done("lock")
    project.gem("new", "1.0.0", "fresh").change("bake", {"skills/bake-new/SKILL.md": skill("bake-new")})
    result = project.done("allow", "gem:new")
    assert result.out.startswith("so far every installed package was admitted; from now on only what agent-skills.toml")
    assert project.read(MANIFEST).startswith("# Which installed packages may put agent skills into this project.\n")
    listed = ["[providers.gem]", 'bake = { skills = ["bake-one", "bake-two"] }', 'sus = "*"', 'new = "*"']
    assert entries(project) == listed
    project.done("lock")
    assert project.locked == [
        *("bake 2.0.0 bake-one", "bake 2.0.0 bake-two"),
        *("new 1.0.0 fresh", "sus 1.0.0 mocking", "sus 1.0.0 testing"),
    ]


def test_without_a_manifest_what_is_denied_is_missing_from_what_is_locked(project: Project) -> None:
    project.done("lock")
    project.done("deny", "gem:bake")
    assert entries(project) == ["[providers.gem]", 'sus = "*"']
    (project.root / MANIFEST).unlink()
    project.gem("new", "1.0.0", "fresh", "other").done("deny", "gem:new", "--skill", "other")
    assert 'new = { exclude = ["other"] }' in entries(project)


def test_without_a_lock_either_allow_begins_with_nothing_and_deny_with_what_is_installed(project: Project) -> None:
    project.done("allow", "gem:sus", "--skill", "testing")
    assert entries(project) == ["[providers.gem]", 'sus = { skills = ["testing"] }']
    (project.root / MANIFEST).unlink()
    assert "which is the rest of what is installed" in project.done("deny", "gem:sus").out
    assert entries(project) == ["[providers.gem]", 'bake = "*"']


def test_what_is_locked_and_not_there_now_stays_admitted(project: Project) -> None:
    install(project.root / "node_modules", "@s/x", "1.0.0", "a", "b")
    project.write({"package.json": "{}"}).done("lock")
    shutil.rmtree(project.root / "node_modules")
    project.done("deny", "gem:bake")
    assert entries(project) == [
        "[providers.gem]",
        'sus = "*"',
        "",
        "[providers.npm]",
        '"@s/x" = { skills = ["a", "b"] }',
    ]


def test_a_manifest_without_providers_gets_them_at_its_end(project: Project) -> None:
    project.manifest("# mine\r\ntargets = ['skills'] # here\r\n").done("lock")
    project.done("deny", "gem:bake", "gem:sus")
    assert (project.root / MANIFEST).read_bytes() == (
        b"# mine\r\ntargets = ['skills'] # here\r\n\r\n[providers.gem]\r\n"
    )


def test_a_lock_without_a_skill_makes_an_empty_table(project: Project) -> None:
    project.manifest("[providers]\n").done("lock")
    project.manifest('ecosystems = ["gem"]\n').done("deny", "gem:sus")
    assert project.read(MANIFEST) == 'ecosystems = ["gem"]\n\n# This empty table admits none.\n[providers]\n'


def test_what_the_manifest_leaves_out_is_not_listed(project: Project) -> None:
    install(project.root / "node_modules", "x", "1.0.0", "a")
    project.write({"package.json": "{}"}).done("lock")
    project.manifest('ecosystems = ["gem"]\n').done("deny", "gem:sus")
    assert "npm" not in project.read(MANIFEST)
    said = refused(project, "allow", "npm:x")
    assert said[:2] == ("usage", "`ecosystems` in agent-skills.toml leaves npm out, and so npm:x")


# Names


@pytest.mark.parametrize(
    ("named", "code", "hint"),
    [
        ("gem:suss", "missing-provider", "did you mean `skillsync {} gem:sus`?"),
        ("suss", "missing-provider", "did you mean `skillsync {} gem:sus`?"),
        ("npm:sus", "missing-provider", "did you mean `skillsync {} gem:sus`?"),
        ("gem:nothing-like-it", "missing-provider", "run `skillsync list` to see what is installed"),
        ("nothing-like-it", "missing-provider", "run `skillsync list` to see what is installed"),
        ("testing", "missing-provider", "did you mean `skillsync {} gem:sus --skill testing`?"),
        ("gme:sus", "usage", "did you mean `skillsync {} gem:sus`?"),
        ("pip:other", "usage", "did you mean `skillsync {} pypi:other`?"),
        ("rubygems:other", "usage", "did you mean `skillsync {} gem:other`?"),
        ("zzz:other", "usage", "known here: gem, pypi, npm, cargo"),
        ("gem:", "usage", "write `skillsync {} gem:sus`, for example"),
        ("s*", "usage", "write `skillsync {} 'gem:s*'`, for example"),
    ],
)
@pytest.mark.parametrize("command", ["allow", "deny"])
def test_a_wrong_name_gets_the_nearest_right_one(
    project: Project, command: str, named: str, code: str, hint: str
) -> None:
    found, _, said = refused(project.manifest(HAND), command, named)
    assert (found, said) == (code, hint.format(command))


def test_a_skill_s_name_is_no_provider_s_and_whose_it_is_is_said(project: Project) -> None:
    project.gem("also", "1.0.0", "testing")
    assert refused(project, "allow", "testing") == (
        "missing-provider",
        "`testing` is no provider, it is a skill of gem:also and of gem:sus",
        "did you mean `skillsync allow gem:also --skill testing` or `skillsync allow gem:sus --skill testing`?",
    )


def test_every_wrong_name_is_said(project: Project) -> None:
    result = project.run("allow", "gem:suss", "pip:x", "nope", "--format", "json")
    assert (result.code, result.codes) == (2, ["usage", "missing-provider"])
    assert project.run("allow", "gem:suss", "gem:bakee", "--format", "json").codes == ["missing-provider"] * 2


def test_a_plain_name_that_two_ecosystems_have_is_not_guessed(project: Project) -> None:
    install(project.root / "node_modules", "sus", "1.0.0", "a")
    project.write({"package.json": "{}"})
    assert refused(project, "allow", "sus") == (
        "usage",
        "`sus` can be gem:sus or npm:sus",
        "did you mean `skillsync allow gem:sus` or `skillsync allow npm:sus`?",
    )
    assert refused(project, "allow", "gem:suss")[2] == "did you mean `skillsync allow gem:sus`?"


def test_a_name_is_spelled_as_its_ecosystem_does(project: Project) -> None:
    project.manifest('[providers.pypi]\nFast_Api = "*"\n').done("deny", "pypi:fast.API")
    assert project.read(MANIFEST) == "[providers.pypi]\n"


def test_a_name_of_what_cannot_be_seen_says_so(project: Project) -> None:
    project.write({"package.json": "{}"})
    result = project.run("allow", "npm:x", "--format", "json")
    assert (result.code, result.codes) == (3, ["missing-provider", "environment-not-found"])


def test_a_package_without_skills_may_be_admitted_and_that_is_said(project: Project) -> None:
    result = project.done("allow", "gem:plain")
    assert result.err.startswith("warning[skill-not-found]: gem:plain is installed and ships no skills\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--skill", "testin"), "skill-not-found", "did you mean `skillsync {} gem:sus --skill testing`?"),
        (("--skill", "zzz"), "skill-not-found", "it ships mocking, testing"),
        (("--skill", "A b"), "usage", "name a skill, or a pattern: `db-*`"),
    ],
)
@pytest.mark.parametrize("command", ["allow", "deny"])
def test_a_wrong_skill_gets_the_nearest_right_one(
    project: Project, command: str, arguments: tuple[str, ...], code: str, said: str
) -> None:
    found, _, hint = refused(project, command, "gem:sus", *arguments)
    assert (found, hint) == (code, said.format(command))


def test_a_wrong_skill_is_found_beside_a_pattern_that_matches_nothing(project: Project) -> None:
    result = project.run("allow", "gem:x*", "gem:sus", "--skill", "testin", "--format", "json")
    assert (result.code, result.codes) == (3, ["pattern-unmatched", "skill-not-found"])


def test_a_pattern_of_skills_that_matches_none_is_a_warning(project: Project) -> None:
    result = project.done("allow", "sus", "--skill", "x-*", "--format", "json")
    assert result.codes == ["pattern-unmatched"]
    assert result.json["changes"] == [{"provider": "gem:sus", "before": None, "after": '{ skills = ["x-*"] }'}]


def test_a_name_that_was_wrong_in_the_manifest_can_be_taken_out(project: Project) -> None:
    project.manifest('[providers.gem]\nsus = { skills = ["testing", "typo"] }\n').done("deny", "sus", "--skill", "typo")
    assert entries(project.manifest(f"version = 1\n{project.read(MANIFEST)}"))[1] == 'sus = { skills = ["testing"] }'


# What does not come true


def test_a_version_that_stands_in_the_way_is_said(project: Project) -> None:
    project.manifest('[providers.gem]\nsus = "< 1"\n')
    code, message, hint = refused(project, "allow", "gem:sus")
    assert (code, message) == (
        "version-not-admitted",
        "gem:sus is installed at 1.0.0; `providers.gem.sus` admits `< 1`",
    )
    assert hint == "run `skillsync allow gem:sus --version '*'`, or with another requirement"
    result = project.done("allow", "gem:sus", "--version", "< 0.5")
    assert result.err.startswith("warning[version-not-admitted]: ")
    project.done("allow", "gem:sus", "--version", "*")
    assert project.read(MANIFEST) == '[providers.gem]\nsus = "*"\n'


def test_an_exclusion_by_a_pattern_that_stands_in_the_way_is_said(project: Project) -> None:
    project.manifest('[providers.gem]\nsus = { exclude = ["test*"] }\n')
    code, message, _ = refused(project, "allow", "gem:sus", "--skill", "testing")
    assert (code, message) == (
        "usage",
        "`providers.gem.sus.exclude` leaves testing out by a pattern, which wins over `skills`",
    )


@pytest.mark.parametrize("spec", ["oops", "", "1\n"])
def test_a_requirement_that_is_none_is_refused(project: Project, spec: str) -> None:
    code, message, hint = refused(project, "allow", "gem:sus", "--version", spec)
    assert (code, hint) == ("usage", "write a version requirement, or '*' for any")
    assert message.startswith("--version of gem:sus: ")


def test_a_manifest_with_an_error_is_refused(project: Project) -> None:
    assert refused(project.manifest("[providers.gem]\nsus = 1\n"), "allow", "gem:bake")[0] == "manifest-invalid"


def test_a_lock_that_cannot_be_read_matters_where_the_manifest_is_made_of_it(project: Project) -> None:
    project.write({LOCK: "["})
    assert refused(project, "deny", "gem:sus")[0] == "lock-unreadable"
    project.manifest(HAND).done("deny", "gem:sus")


def test_a_lock_of_an_ecosystem_of_the_future_is_not_cut_down(project: Project) -> None:
    project.done("lock")
    project.write(
        {LOCK: project.read(LOCK).replace('ecosystem = "gem"\nname = "bake"', 'ecosystem = "hex"\nname = "bake"')}
    )
    code, message, hint = refused(project, "deny", "gem:sus")
    assert (code, hint) == ("environment-not-found", "upgrade skillsync")
    assert message == "this skillsync does not know the ecosystem hex, and hex:bake is locked"


def test_a_lock_whose_names_are_none_of_the_ecosystems_makes_no_manifest(project: Project) -> None:
    project.done("lock")
    locked = project.read(LOCK)
    project.write({LOCK: locked.replace('ecosystem = "gem"\nname = "bake"', 'ecosystem = "pypi"\nname = "Bake"')})
    code, message, hint = refused(project, "deny", "gem:sus")
    assert (code, message) == (
        "manifest-invalid",
        f"{MANIFEST} was not changed: a table of what is admitted can't be added to it",
    )
    assert hint == "change it by hand, or move it away and run `skillsync init`"


def test_a_manifest_that_would_be_too_large_to_read_is_not_written(project: Project) -> None:
    project.manifest(f"[providers]\n#{'x' * (256 * 1024 - 20)}\n")
    code, message, _ = refused(project, "allow", "gem:sus")
    assert (code, message) == (
        "manifest-invalid",
        f"{MANIFEST} was not changed: it would be larger than 256 KiB, which is not read",
    )


def test_json_says_what_each_entry_was_and_is(project: Project) -> None:
    found = project.manifest(HAND).done("deny", "sus", "gem:bake", "--format", "json").json
    assert found == {
        "version": 1,
        "manifest": MANIFEST,
        "changes": [
            {"provider": "gem:bake", "before": None, "after": "{ skills = [] }"},
            {"provider": "gem:sus", "before": '{ version = "~> 1.0", skills = ["testing"] }', "after": None},
        ],
        "problems": [],
    }
