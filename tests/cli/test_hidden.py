"""Hidden characters, as the user of `lock` and `verify` meets them."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
from builders import lay
from projects import LOCK, MANIFEST, Project, skill

from skillsync.hashing import Link
from skillsync.hidden import LIMIT

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "skills/testing/SKILL.md"
HOSTILE = "---\nname: testing\ndescription: Tests.\n---\none\n  two \u202eevil\u202c\u200b\n"
SAID = "gem:sus 1.0.0: skills/testing/SKILL.md has U+202E RIGHT-TO-LEFT OVERRIDE and 2 more"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path / "project").gem("sus", "1.0.0", "testing", "other")
    found.change("sus", {TEXT: HOSTILE})
    return found


def accept(project: Project, hint: str) -> None:
    """Do what the hint says."""
    value = hint.partition("write the entry of gem:sus in agent-skills.toml as `")[2].partition("`")[0]
    assert hint.endswith("(`skillsync init` makes the file)")
    project.done("init")
    text = project.read("agent-skills.toml")
    assert '"sus" = "*"' in text
    project.manifest(text.replace('"sus" = "*"', f"sus = {value}"))
    assert tomllib.loads(project.read("agent-skills.toml"))["providers"]["gem"]["sus"] == {"hidden-characters": "allow"}


def test_lock_refuses_them_and_writes_nothing(project: Project) -> None:
    before = project.tree
    result = project.run("lock")
    assert result.code == 3
    assert f"error[hidden-characters]: {SAID} ({TEXT}:6:7)\n" in result.err
    assert (result.out + result.err).replace("\n", "").isprintable()
    assert "agent-skills.lock was not written" in result.out
    assert project.tree == before


def test_json_has_the_place(project: Project) -> None:
    result = project.run("lock", "--format", "json")
    (problem,) = result.json["problems"]
    assert (result.code, result.json["changes"]) == (3, [])
    hint = problem.pop("hint")
    assert problem == {
        "code": "hidden-characters",
        "severity": "error",
        "message": SAID,
        "skill": "testing",
        "provider": "gem:sus",
        "path": TEXT,
        "line": 6,
        "column": 7,
    }
    accept(project, hint)
    project.done("lock")
    assert project.locked == ["sus 1.0.0 other", "sus 1.0.0 testing"]
    project.done("sync")
    project.done("verify")
    assert project.installed("testing/SKILL.md").read_text(encoding="utf-8") == HOSTILE


def test_the_lock_is_the_same_with_and_without_acceptance(project: Project) -> None:
    project.change("sus", {TEXT: skill("testing")}).done("lock")
    before = project.read(LOCK)
    project.manifest('[providers.gem]\nsus = { hidden-characters = "allow" }').done("lock")
    assert project.read(LOCK) == before


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ('sus = "*"', 'change `providers.gem.sus` in agent-skills.toml to `{ hidden-characters = "allow" }`'),
        (
            '"s*" = ">= 1"',
            'change `providers.gem."s*"` in agent-skills.toml to `{ version = ">= 1", hidden-characters = "allow" }`',
        ),
        (
            'sus = { exclude = ["other"] }',
            'add `hidden-characters = "allow"` inside the braces of `providers.gem.sus` in agent-skills.toml',
        ),
        (
            'sus = { skills = ["testing"] }',
            'add `hidden-characters = "allow"` inside the braces of `providers.gem.sus` in agent-skills.toml',
        ),
        (
            'sus = { path = "skills" }',
            'add `hidden-characters = "allow"` inside the braces of `providers.gem.sus` in agent-skills.toml',
        ),
    ],
)
def test_the_hint_fits_the_entry(project: Project, entry: str, hint: str) -> None:
    (problem,) = project.manifest(f"[providers.gem]\n{entry}").run("lock", "--format", "json").json["problems"]
    assert problem["hint"] == f"review it; to accept it, {hint}"
    key = entry.partition(" = ")[0]
    if "change" in hint:
        mended = f"{key} = {hint.partition('to `')[2].removesuffix('`')}"
    else:
        mended = entry.removesuffix(" }") + ', hidden-characters = "allow" }'
    project.manifest(f"[providers.gem]\n{mended}").done("lock")


def test_another_provider_s_acceptance_is_none(project: Project) -> None:
    project.gem("bake", "1.0.0", "baking")
    manifest = (
        '[providers.gem]\nsus = "*"\nbake = { hidden-characters = "allow" }\n"*" = { hidden-characters = "allow" }'
    )
    assert project.manifest(manifest).run("lock", "--format", "json").codes == [
        "hidden-characters",
    ]


def test_what_is_not_admitted_or_not_locked_is_nobody_s_business(project: Project) -> None:
    project.manifest('[providers.gem]\nsus = { exclude = ["testing"] }').done("lock")
    project.manifest("[providers.gem]").done("lock")
    project.manifest('[providers.gem]\nsus = "*"')
    lay(project.gem_root("sus") / "skills/testing", {"out": Link("/etc/passwd")})
    assert project.run("lock", "--format", "json").codes == ["unsafe-skill"]


def test_each_file_is_told_once_whatever_is_wrong_in_it(project: Project) -> None:
    where = "skills/testing"
    project.change(
        "sus",
        {
            f"{where}/a.md": "plain",
            f"{where}/b.sh": "#!/bin/sh\n\x1b[8m",
            f"{where}/c.bin": b"\xe2\x80\xae\0",
            f"{where}/d\u200b.md": "a\u202eb",
            f"{where}/e\x1b/f.md": "",
            f"{where}/large.txt": b"a" * LIMIT + "\u200b".encode(),
            f"{where}/large.md": b"a" * LIMIT + "é".encode(),
            f"{where}/long.md": "é" * 200_000 + "\u202e",
        },
    )
    problems = project.run("lock", "--format", "json").json["problems"]
    told = {one["path"]: (one["message"].partition(" has ")[2], one.get("line"), one.get("column")) for one in problems}
    assert len(problems) == 6
    assert told == {
        TEXT: ("U+202E RIGHT-TO-LEFT OVERRIDE and 2 more", 6, 7),
        f"{where}/b.sh": ("U+001B ESCAPE", 2, 1),
        f"{where}/d\u200b.md": ("U+200B ZERO WIDTH SPACE in its name", None, None),
        f"{where}/e\x1b/f.md": ("U+001B ESCAPE in its name", None, None),
        f"{where}/large.txt": ("more than 8 MiB, and what may be hidden characters", None, None),
        f"{where}/long.md": ("U+202E RIGHT-TO-LEFT OVERRIDE", 1, 200_001),
    }


def test_the_frontmatter_is_looked_into(project: Project) -> None:
    front = "---\nname: testing\ndescription: Tests.\U000e0041\n---\n"
    (problem,) = project.change("sus", {TEXT: front}).run("lock", "--format", "json").json["problems"]
    assert (problem["code"], problem["line"], problem["column"]) == ("hidden-characters", 3, 20)


def test_verify_and_check_refuse_what_lock_refuses(project: Project) -> None:
    project.manifest('[providers.gem]\nsus = { hidden-characters = "allow" }').done("lock")
    project.done("sync")
    (project.root / MANIFEST).unlink()
    for command in (("verify",), ("verify", "--scope", "providers"), ("lock", "--check")):
        result = project.run(*command)
        assert result.code == 3, command
        assert SAID in result.err
    # What is installed is what was locked: nothing is looked for in it.
    for command in (("verify", "--scope", "installed"), ("sync",), ("sync", "--check"), ("list", "--verify")):
        project.done(*command)
