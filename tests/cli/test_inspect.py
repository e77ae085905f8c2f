from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import gems
import projects
import pytest
from projects import HOME, LOCK, REGISTRY, SKILLS, Project, skill

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "app").gem("sus", "1.0.0", "testing").gem("bake", "1.0.0", "tasks")


def states(project: Project, *options: str) -> dict[str, str]:
    """Return the state of each skill, by `provider/skill`; `list` writes nothing."""
    before = project.tree
    report = project.run("list", "--format", "json", *options).json
    assert project.tree == before
    return {f"{one['name']}/{row['name']}": row["state"] for one in report["providers"] for row in one["skills"]}


# The states


def test_a_skill_is_available_then_locked_then_installed(project: Project) -> None:
    for command, state in (("list", "available"), ("lock", "locked"), ("sync", "installed")):
        project.done(command)
        assert states(project) == states(project, "--verify") == {"bake/tasks": state, "sus/testing": state}


def test_what_is_not_admitted_is_excluded(project: Project) -> None:
    project.gem("sus", "1.1.0", "testing", "other").manifest('[providers.gem]\nsus = { exclude = ["other"] }\n')
    assert states(project) == {"bake/tasks": "excluded", "sus/other": "excluded", "sus/testing": "available"}


def test_what_was_installed_and_is_gone_is_missing(project: Project) -> None:
    project.done("lock")
    project.done("sync")
    shutil.rmtree(project.installed("testing"))
    assert states(project)["sus/testing"] == states(project, "--verify")["sus/testing"] == "missing"


def test_what_the_lock_has_moved_on_from_is_outdated(project: Project) -> None:
    project.done("lock")
    project.done("sync")
    project.change("sus", {"skills/testing/more.md": "more"}).done("lock")
    assert states(project)["sus/testing"] == states(project, "--verify")["sus/testing"] == "outdated"


def test_only_a_look_at_the_files_finds_what_was_modified_or_is_unsafe(project: Project) -> None:
    project.done("lock")
    project.done("sync")
    project.write({f"{SKILLS}/testing/more.md": "mine"})
    (project.gem_root("bake") / "skills/tasks/out").symlink_to("/etc/passwd")
    assert states(project) == {"bake/tasks": "installed", "sus/testing": "installed"}
    assert states(project, "--verify") == {"bake/tasks": "unsafe", "sus/testing": "modified"}
    assert project.done("show", "testing").out.startswith("testing (modified)\n")
    assert "  tasks (unsafe)\n" in project.done("show", "gem:bake").out


def test_what_somebody_else_wrote_is_a_conflict(project: Project) -> None:
    project.done("lock")
    project.write({f"{SKILLS}/testing/SKILL.md": skill("testing")})
    assert states(project)["sus/testing"] == states(project, "--verify")["sus/testing"] == "conflict"
    project.write({REGISTRY: "version: 1\nskills:\n  testing:\n    gem: other\n", f"{SKILLS}/testing/SKILL.md": "mine"})
    assert states(project)["sus/testing"] == states(project, "--verify")["sus/testing"] == "conflict"


@pytest.mark.parametrize("name", ["testing", "Testing"])
def test_what_bears_the_name_of_a_skill_is_a_conflict_before_it_is_locked(project: Project, name: str) -> None:
    project.manifest(f'targets = ["{SKILLS}", ".claude/skills"]\n[providers.gem]\nsus = "*"\n')
    project.write({f".claude/skills/{name}/SKILL.md": "mine\n", f"{SKILLS}/tasks/SKILL.md": "mine\n"})
    expected = {"sus/testing": "conflict", "bake/tasks": "excluded"}
    assert states(project) == states(project, "--verify") == expected
    lines = project.done("show", "testing").out.splitlines()
    assert lines[0] == "testing (conflict)"
    said = "something else bears the name: once it is locked, `skillsync sync` refuses it"
    assert [line for line in lines if said in line] == [f"  .claude/skills  {said}"]
    project.done("lock")
    assert project.run("sync", "--format", "json").codes == ["unmanaged"]


def test_what_was_installed_is_available_again_without_its_lock(project: Project) -> None:
    project.done("lock")
    project.done("sync")
    project.write({LOCK: None})
    assert states(project) == states(project, "--verify") == {"bake/tasks": "available", "sus/testing": "available"}


def test_a_name_of_two_providers_is_a_conflict(project: Project) -> None:
    project.gem("other", "1.0.0", "testing")
    assert states(project) == {"bake/tasks": "available", "other/testing": "conflict", "sus/testing": "conflict"}
    result = project.run("list")
    assert result.code == 3
    assert "error[duplicate-skill]: " in result.err
    project.gem("third", "1.0.0", "testing").manifest('[providers.gem]\nsus = "*"\nother = "*"\n')
    found = states(project)
    assert (found["other/testing"], found["sus/testing"], found["third/testing"]) == (
        "conflict",
        "conflict",
        "excluded",
    )
    project.manifest('[providers.gem]\nsus = "*"\n')
    found = states(project)
    assert (found["other/testing"], found["sus/testing"], found["third/testing"]) == (
        "excluded",
        "available",
        "excluded",
    )


def test_a_skill_that_cannot_be_read_is_invalid_beside_its_siblings(project: Project) -> None:
    project.change("sus", {"skills/broken/SKILL.md": "broken"})
    assert states(project) == {"bake/tasks": "available", "sus/broken": "invalid", "sus/testing": "available"}
    assert project.run("list").code == 0
    project.manifest('[providers.gem]\nsus = { skills = ["broken"] }\n')
    assert project.run("list").code == 3


def test_the_most_pressing_state_of_all_target_directories_counts(project: Project) -> None:
    project.manifest('targets = [".agents/skills", ".claude/skills"]\n').done("lock")
    project.done("sync")
    shutil.rmtree(project.root / ".claude/skills/testing")
    shutil.rmtree(project.installed("tasks"))
    assert states(project) == {"bake/tasks": "missing", "sus/testing": "missing"}


def test_what_only_the_lock_knows_is_listed_too(project: Project) -> None:
    project.done("lock")
    project.done("sync")
    project.gem("sus", "2.0.0", "ruby-testing").drop("bake")
    assert states(project) == {"bake/tasks": "installed", "sus/ruby-testing": "available", "sus/testing": "installed"}
    report = project.run("list", "--format", "json").json
    assert [(one["name"], one["version"], one["admitted"]) for one in report["providers"]] == [
        ("bake", "1.0.0", True),
        ("sus", "2.0.0", True),
    ]
    project.manifest('[providers.gem]\nsus = "*"\n')
    report = project.run("list", "--format", "json").json
    assert [(one["name"], one["admitted"]) for one in report["providers"]] == [("bake", False), ("sus", True)]


def test_without_an_environment_the_lock_s_skills_are_listed_and_nothing_else_is_claimed(project: Project) -> None:
    project.done("lock")
    shutil.rmtree(project.root / "vendor")
    result = project.run("list")
    assert result.code == 3
    assert result.out.splitlines()[-1] == "2 skills of 2 providers"
    (project.root / LOCK).unlink()
    result = project.run("list")
    assert (result.code, result.out) == (3, "")
    assert "error[environment-not-found]: " in result.err


# What is shown


def test_the_hash_is_the_lock_s(project: Project) -> None:
    def hashes() -> dict[str, str | None]:
        report = project.done("list", "--format", "json").json
        return {row["name"]: row["hash"] for one in report["providers"] for row in one["skills"]}

    assert hashes() == {"tasks": None, "testing": None}
    project.manifest('[providers.gem]\nsus = "*"\n').done("lock")
    assert hashes() == {"tasks": None, "testing": projects.recomputed(project.gem_root("sus") / "skills/testing")}


def test_the_table_has_one_line_for_each_skill(project: Project) -> None:
    text = "---\nname: testing\ndescription: >-\n  Write tests.\n\n  Use when " + "something " * 9 + "\n---\n"
    project.change("sus", {"skills/testing/SKILL.md": text})
    lines = project.done("list").out.splitlines()
    assert lines == [
        "read gem: vendor/bundle/ruby/3.1.0 (2 packages)",
        "SKILL    STATE      PROVIDER        DESCRIPTION",
        "tasks    available  gem:bake 1.0.0  About tasks.",
        "testing  available  gem:sus 1.0.0   Write tests. Use when something something something somethi…",
        "2 skills of 2 providers",
    ]


HOSTILE = "\x1b[31m\u202e\u200b\x07\x7f\x9b"


@pytest.mark.parametrize("command", ["list", "list --verify", "show testing", "show evil", "lock", "lock --verbose"])
def test_no_control_or_bidirectional_character_of_a_package_is_printed(project: Project, command: str) -> None:
    quoted = "".join(f"\\U{ord(character):08x}" for character in HOSTILE)
    project.change(
        "sus",
        {
            "skills/testing/SKILL.md": f'---\nname: testing\ndescription: "x{quoted}"\n---\nText {HOSTILE}\n',
            f"skills/testing/{HOSTILE}.md": "x",
            f"skills/{HOSTILE}/SKILL.md": skill("other"),
            f"skills/{HOSTILE}.md": "x",
            "skills/evil/SKILL.md": f'---\nname: "evil{quoted}"\ndescription: x\n---\n',
        },
    )
    for options in ((), ("--format", "json")):
        result = project.run(*command.split(), *options)
        for line in (result.out + result.err).splitlines():
            assert line.isprintable()
    project.manifest('[providers.gem]\n"*" = { hidden-characters = "allow" }').done("lock")
    project.done("sync")
    for arguments in (("verify",), ("sync", "--check"), ("list",)):
        project.installed(f"testing/{HOSTILE}.md").write_text("changed")
        result = project.run(*arguments)
        assert result.code in {0, 1, 3}
        assert all(line.isprintable() for line in (result.out + result.err).splitlines())


def test_what_is_installed_and_what_is_locked_are_told_apart(project: Project) -> None:
    project.done("lock")
    project.done("sync")
    digest = projects.recomputed(project.gem_root("sus") / "skills/testing")
    project.gem("sus", "2.0.0", "testing", files={"skills/testing/SKILL.md": skill("testing", "Two.\n")})
    listed = project.done("list")
    assert "gem:sus 1.0.0 (2.0.0 is installed)" in listed.out
    shelves = project.done("list", "--format", "json").json["providers"]
    shelf = next(one for one in shelves if one["name"] == "sus")
    assert (shelf["version"], shelf["skills"][0]["locked_version"]) == ("2.0.0", "1.0.0")
    lines = project.done("show", "testing").out.splitlines()
    assert f"  locked       {digest}, version 1.0.0" in lines
    assert "  NOT LOCKED: all that follows is of 2.0.0, as `skillsync lock` would take it" in lines
    project.uninstall("sus")
    assert "gem:sus 1.0.0 (package not found)" in project.run("list").out


def test_a_skill_is_shown_with_its_files_and_its_text(project: Project) -> None:
    project.change("sus", {"skills/testing/scripts/run": "#!/bin/sh\n", "skills/testing/a.md": "1"})
    directory = project.gem_root("sus") / "skills/testing"
    (directory / "b.md").symlink_to("a.md")
    project.change("sus", {"skills/testing/SKILL.md": skill("testing", "\tIndented.\n")}).done("lock")
    digest = projects.recomputed(directory)
    result = project.done("show", "testing")
    assert result.out.splitlines() == [
        "testing (locked)",
        "  provider     gem:sus 1.0.0",
        "  read from    vendor/bundle/ruby/3.1.0",
        "  path         skills/testing",
        "  description  About testing.",
        "  why          admitted: agent-skills.toml has no [providers], so every provider is",
        f"  locked       {digest}, version 1.0.0",
        "  .agents/skills  `skillsync sync` would add it",
        f"  provider has {digest}",
        "  files",
        "    SKILL.md  61 bytes",
        "    a.md  1 byte",
        "    b.md -> a.md",
        "    scripts/run  10 bytes  [script]",
        "",
        "---",
        "name: testing",
        "description: About testing.",
        "---",
        "    Indented.",
    ]
    (shown,) = project.done("show", "testing", "--format", "json").json["skills"]
    assert [one["path"] for one in shown["files"]] == ["SKILL.md", "a.md", "b.md", "scripts/run"]
    assert shown["text"] == skill("testing", "\tIndented.\n")
    assert (shown["state"], shown["hash"], shown["path"]) == ("locked", digest, "skills/testing")


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ('sus = "*"', "admitted: `providers.gem.sus` admits every skill"),
        ('sus = { exclude = ["o*"] }', "admitted: `providers.gem.sus` admits every skill that it doesn't exclude"),
        ('sus = { skills = ["test*"] }', "admitted: `providers.gem.sus.skills` has `test*`"),
        ('"s*" = { skills = ["other"] }', 'left out: `providers.gem."s*".skills` doesn\'t have it'),
        ('sus = { exclude = ["t*"] }', "left out: `providers.gem.sus.exclude` has `t*`"),
        ('"su?" = ">= 2"', 'left out: `providers.gem."su?"` admits `>= 2`, and 1.0.0 is installed'),
        ('bake = "*"', "left out: no entry of [providers] in agent-skills.toml is for gem:sus"),
    ],
)
def test_why_a_skill_is_in_or_out_is_shown(project: Project, entry: str, why: str) -> None:
    project.manifest(f"[providers.gem]\n{entry}\n")
    assert f"  why          {why}" in project.run("show", "testing").out.splitlines()
    assert f"    {why}" in project.run("show", "gem:sus").out.splitlines()
    (shown,) = project.run("show", "gem:sus", "--format", "json").json["skills"]
    assert (shown["why"], shown["source"], shown["targets"]) == (why, HOME, [])


def test_what_refuses_a_skill_is_shown_for_each_target(project: Project) -> None:
    project.manifest(f'targets = ["{SKILLS}", ".claude/skills", ".codex/skills"]\n').done("lock")
    project.done("sync")
    project.write({".claude/skills/testing/SKILL.md": "mine\n", ".codex/skills/testing/SKILL.md": None})
    (project.root / ".codex/skills/testing").rmdir()
    lines = project.done("show", "testing").out.splitlines()
    assert lines[0] == "testing (modified)"
    assert f"  {SKILLS}  as it is locked" in lines
    assert "  .codex/skills  `skillsync sync` would add it" in lines
    assert any(line.startswith("  .claude/skills  refused as modified: .claude/skills/testing was") for line in lines)
    (shown,) = project.done("show", "testing", "--format", "json").json["skills"]
    assert shown["targets"] == [
        {"target": SKILLS, "action": None, "refused": None},
        {"target": ".claude/skills", "action": None, "refused": "modified"},
        {"target": ".codex/skills", "action": "add", "refused": None},
    ]


def test_a_provider_is_shown_with_all_its_skills(project: Project) -> None:
    project.change("sus", {"skills/other/SKILL.md": skill("other")}).manifest(
        '[providers.gem]\nsus = { skills = ["other"] }\n'
    )
    assert project.done("show", "gem:sus").out.splitlines() == [
        "gem:sus 1.0.0 (admitted)",
        "  read from    vendor/bundle/ruby/3.1.0",
        "",
        "  other (available)",
        "    About other.",
        "    admitted: `providers.gem.sus.skills` has `other`",
        "",
        "  testing (excluded)",
        "    About testing.",
        "    left out: `providers.gem.sus.skills` doesn't have it",
    ]
    assert project.done("show", "sus").out == project.done("show", "gem:sus").out
    assert project.done("show", "bake").out.startswith("gem:bake 1.0.0 (not admitted)\n")
    result = project.run("show", "gem:suss")
    assert (result.code, result.err.splitlines()) == (
        3,
        [
            "error[missing-provider]: no provider `gem:suss` is installed that ships skills, or locked",
            "  hint: did you mean `skillsync show gem:sus`?",
        ],
    )


@pytest.mark.parametrize("name", ["flat", "gem:flat"])
def test_a_package_without_skills_says_where_they_were_looked_for(project: Project, name: str) -> None:
    project.gem("flat", files={f"skills/group-{number}/notes.md": "" for number in range(4)})
    result = project.run("show", name)
    passed = "; ".join(f"skills/group-{number} has no SKILL.md" for number in range(3))
    places = f"looked in skills; {passed}; and 1 more"
    assert result.code == 3
    assert result.err.splitlines() == [
        f"error[skill-not-found]: gem:flat 1.0.0 is installed and ships no skills ({places})",
        "  hint: if they are in another directory, set its `path` in agent-skills.toml",
    ]


def test_groups_of_skills_are_named_with_the_entry_that_takes_one(project: Project) -> None:
    files = {f"skills/{name}/SKILL.md": skill(name.rpartition("/")[2]) for name in ("a/one", "a/two", "b/three")}
    project.gem("deep", files={**files, "skills/c/d/four/SKILL.md": skill("four"), "skills/.e/five/SKILL.md": ""})
    (problem,) = project.run("show", "deep", "--format", "json").json["problems"]
    places = "looked in skills; one level below it has skills/a (2 skills), skills/b (1 skill)"
    assert problem["message"] == f"gem:deep 1.0.0 is installed and ships no skills ({places})"
    entry = '"deep" = { path = "skills/a" }'
    naming = f"`{entry}`: `path` takes one directory, in place of the usual ones"
    assert problem["hint"] == f"in agent-skills.toml, under [providers.gem], name one of these, {naming}"
    # Who asks for one of the skills is told where it is.
    result = project.run("show", "two", "--format", "json")
    assert (result.code, result.codes) == (3, ["skill-not-found"])
    said = "no provider ships a skill `two` where skills are looked for; gem:deep 1.0.0 has it in skills/a"
    assert result.json["problems"][0]["message"] == said
    assert naming in result.json["problems"][0]["hint"]
    assert "gem:deep" not in project.run("show", "four").err
    # What the hints say does it.
    project.manifest(f"[providers.gem]\n{entry}\n")
    assert project.done("show", "two").out.startswith("two (available)\n")


def test_groups_beside_skills_are_said_of_the_provider(project: Project) -> None:
    assert "one level below" not in project.done("show", "sus").out
    project.change("sus", {f"skills/g{number}/one/SKILL.md": skill("one") for number in range(10)})
    lines = project.done("show", "sus").out.splitlines()
    named = ", ".join(f"skills/g{number} (1 skill)" for number in range(8))
    assert lines[-2] == f"  one level below where skills are looked for it has {named} and 2 more"
    assert 'name one of these, `"sus" = { path = "skills/g0" }`' in lines[-1]


def test_a_provider_that_is_gone_is_shown_as_the_lock_knows_it(project: Project) -> None:
    project.done("lock")
    project.uninstall("sus")
    result = project.run("show", "gem:sus")
    assert result.out.splitlines()[:2] == ["gem:sus 1.0.0 (admitted)", "  read from    nowhere: not installed"]
    assert "    the lock has it, and its package is not installed" in result.out.splitlines()
    project.gem("sus", "2.0.0")
    assert "  why          the lock has it, and 2.0.0 does not ship it" in project.run("show", "testing").out
    assert "gem:sus 1.0.0 (2.0.0 is installed)" in project.run("list").out


def test_a_name_of_two_providers_is_shown_of_both(project: Project) -> None:
    project.gem("other", "1.0.0", "testing")
    result = project.run("show", "testing", "--format", "json")
    assert result.code == 3
    assert [one["provider"] for one in result.json["skills"]] == ["gem:other", "gem:sus"]


def test_what_is_wrong_with_a_skill_is_shown_with_it(project: Project) -> None:
    (project.gem_root("sus") / "skills/testing/out").symlink_to("/etc/passwd")
    assert "    out  UNSAFE: is a link that is absolute\n" in project.done("show", "testing").out
    project.change("sus", {"skills/broken/SKILL.md": "broken"})
    result = project.done("show", "broken")
    assert result.out.startswith("broken (invalid)\n")
    assert "  path         no copy that can be shown is installed\n" in result.out
    assert "warning[invalid-skill]: gem:sus 1.0.0: skills/broken/SKILL.md has no frontmatter" in result.err
    assert project.done("show", "tasks").err == ""


def test_what_only_the_lock_knows_is_shown_without_its_text(project: Project) -> None:
    project.done("lock")
    project.gem("sus", "2.0.0")
    result = project.done("show", "testing")
    assert "no copy that can be shown is installed" in result.out
    (shown,) = project.done("show", "testing", "--format", "json").json["skills"]
    assert (shown["path"], shown["files"], shown["text"]) == (None, [], None)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("testin", "did you mean `skillsync show testing`?"),
        ("nix", "run `skillsync list` to see what is installed"),
        ("../testing", "did you mean `skillsync show testing`?"),
        ("", "run `skillsync list` to see what is installed"),
    ],
)
def test_a_name_that_nobody_ships_is_an_error(project: Project, name: str, hint: str) -> None:
    result = project.run("show", name)
    assert (result.code, result.out) == (3, "")
    assert result.err == f"error[skill-not-found]: no provider ships a skill `{name}`\n  hint: {hint}\n"


def test_text_that_is_no_text_is_shown_as_far_as_it_is_one(project: Project) -> None:
    content = b"\xef\xbb\xbf" + skill("testing").encode().replace(b"\n", b"\r\n") + b"\xff\0\r\nEnd.\r\n"
    project.change("sus", {"skills/testing/SKILL.md": content})
    lines = project.done("show", "testing").out.splitlines()
    assert lines[-2:] == ["\\xff\\x00", "End."]
    assert "---" in lines


def test_what_some_readers_take_for_the_end_of_a_line_is_shown_as_it_is(project: Project) -> None:
    text = "a\x0bb\x0cc\x1cd\x85e\u2028f\rg\n"
    project.change("sus", {"skills/testing/SKILL.md": skill("testing", text)})
    assert project.done("show", "testing").out.endswith("\na\\x0bb\\x0cc\\x1cd\\x85e\\u2028f\\x0dg\n")


def test_a_long_text_is_shown_in_part(project: Project) -> None:
    project.change("sus", {"skills/testing/SKILL.md": skill("testing", "x" * (1 << 21))})
    (shown,) = project.done("show", "testing", "--format", "json").json["skills"]
    assert len(shown["text"]) == 1 << 20
    assert gems.skill("testing", "")[:20] in shown["text"]
