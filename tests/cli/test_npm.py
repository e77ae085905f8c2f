"""Whole runs over `node_modules`: what a lock pins of it, and what stops it."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest
from gems import skill, write_files
from node_packages import Store, link, write_package
from node_packages import install as install_package
from projects import LOCK, REGISTRY, SKILLS, Project

if TYPE_CHECKING:
    from pathlib import Path

PNPM_LINES = "# pnpm\n/theirs\n/x\n# pnpm end\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project whose package.json names nothing."""
    (tmp_path / "app/.git").mkdir(parents=True)
    return Project(tmp_path / "app").write({"package.json": '{"name": "app"}'})


def install(project: Project, path: str, version: str = "1.0.0", *names: str, **more: object) -> Path:
    """Put a package into `node_modules`; `path` ends in its name."""
    return install_package(project.root / "node_modules", path, version, *names, **more)  # type: ignore[arg-type]


def test_lock_sync_verify(project: Project) -> None:
    directory = install(project, "@acme/db", "1.0.0-rc.1", "x")
    write_files(directory, {"skills/x/scripts/run": "#!/bin/sh\n"})
    assert project.done("lock", "--strict", "--format", "json").changes == [("add", "x")]
    assert 'ecosystem = "npm"\nname = "@acme/db"\nversion = "1.0.0-rc.1"' in project.read(LOCK)
    project.done("sync")
    assert "    package: '@acme/db'\n" in project.read(REGISTRY)
    assert project.installed("x/scripts/run").stat().st_mode & 0o111
    project.done("verify")


def test_it_makes_no_difference_where_in_the_project_it_is_run(project: Project) -> None:
    install(project, "demo", "1.0.0", "x")
    project.write({"src/deep/index.js": ""})
    assert project.run("lock", at="src/deep").code == 0
    assert project.run("sync", at="src/deep").code == 0
    assert project.installed("x/SKILL.md").exists()
    assert "nothing" not in project.done("verify").out


def test_a_package_that_is_a_link_is_followed_and_none_below_it(project: Project, tmp_path: Path) -> None:
    store = Store(project.root / "node_modules")
    directory = store.add("demo", "1.0.0", "fine", "out", "inside")
    store.depend("demo@1.0.0")
    write_files(tmp_path, {"secret": "secret"})
    (directory / "skills/out/secret.md").symlink_to(tmp_path / "secret")
    (directory / "skills/inside/latest.md").symlink_to("SKILL.md")
    result = project.done("lock", "--format", "json")
    assert [(one["code"], one["path"]) for one in result.json["problems"]] == [("unsafe-skill", "skills/out/secret.md")]
    project.done("sync")
    assert sorted(name for name in os.listdir(project.installed()) if not name.startswith(".")) == ["fine", "inside"]
    assert not project.installed("fine").is_symlink()
    assert os.readlink(project.installed("inside/latest.md")) == "SKILL.md"
    project.done("verify")


def test_only_the_places_are_searched_and_the_rest_is_named(project: Project) -> None:
    files = {
        "SKILL.md": skill("demo"),
        "skills/a/SKILL.md": skill("a"),
        ".agents/skills/b/SKILL.md": skill("b"),
        "skills/group/c/SKILL.md": skill("c"),
        "skills/CREDITS.md": "",
        "skills/.hidden/d/SKILL.md": skill("d"),
        "lib/skills/e/SKILL.md": skill("e"),
    }
    write_files(install(project, "demo"), files)
    result = project.done("lock", "--verbose")
    assert project.locked == ["demo 1.0.0 a", "demo 1.0.0 b"]
    assert [line.partition("npm:demo ")[2] for line in result.out.splitlines() if line.startswith("ignored:")] == [
        "skills/.hidden: its name begins with a dot",
        "skills/CREDITS.md: is a file, not a skill's directory",
        "skills/group: has no SKILL.md",
    ]
    project.manifest('[providers.npm]\ndemo = { path = "skills/group" }\n').done("lock")
    assert project.locked == ["demo 1.0.0 c"]


def test_plug_n_play_alone_stops_and_beside_node_modules_is_a_warning(project: Project, tmp_path: Path) -> None:
    mark = f"require('fs').writeFileSync('{tmp_path}/mark', '')\n"
    project.write({".pnp.cjs": mark, ".yarn/cache/demo-npm-1.0.0.zip": b"PK"})
    result = project.run("lock", "--format", "json")
    assert (result.code, result.codes) == (3, ["environment-not-found"])
    assert "nodeLinker: node-modules" in result.json["problems"][0]["hint"]
    install(project, "demo", "1.0.0", "x")
    result = project.done("lock", "--format", "json")
    assert (result.changes, result.codes) == ([("add", "x")], ["environment-unreadable"])
    assert not (tmp_path / "mark").exists()


def test_no_script_of_a_package_is_run(project: Project, tmp_path: Path) -> None:
    mark = f"require('fs').writeFileSync('{tmp_path}/mark', '')\n"
    names = ("preinstall", "install", "postinstall", "prepare")
    directory = install(project, "demo", "1.0.0", "x", main="index.js", scripts=dict.fromkeys(names, "node index.js"))
    write_files(directory, {"index.js": mark, "binding.gyp": "", "skills/x/scripts/run.js": mark})
    for command in (("list", "--verify"), ("show", "x"), ("lock",), ("sync",), ("verify",)):
        project.done(*command)
    assert not (tmp_path / "mark").exists()


def test_to_admit_a_package_admits_nothing_that_it_depends_on(project: Project) -> None:
    install(project, "parent", "1.0.0", "x", dependencies={"child": "1", "@acme/leaf": "1"})
    install(project, "parent/node_modules/child", "1.0.0", "y")
    install(project, "@acme/leaf", "1.0.0", "z")
    project.manifest('[providers.npm]\nparent = "^1"\n')
    result = project.done("lock", "--format", "json").json
    assert project.locked == ["parent 1.0.0 x"]
    assert result["not_admitted"] == [
        {"provider": "npm:@acme/leaf", "skills": ["z"]},
        {"provider": "npm:child", "skills": ["y"]},
    ]
    project.manifest('[providers.npm]\n"@acme/*" = "*"\n"@acne/*" = "*"\n')
    assert project.done("lock", "--format", "json").codes == ["pattern-unmatched"]
    assert project.locked == ["@acme/leaf 1.0.0 z"]


def test_a_new_skill_of_an_admitted_package_waits_for_lock(project: Project) -> None:
    project.manifest('[providers.npm]\ndemo = "^1"\n')
    install(project, "demo", "1.0.0", "x")
    project.done("lock")
    project.done("sync")
    install(project, "demo", "1.1.0", "x", "y")
    assert project.done("sync").out.startswith("in sync")
    assert not project.installed("y").exists()
    assert ("stale-lock", "y") in project.run("verify", "--format", "json").drift
    assert ("add", "y") in project.done("lock", "--format", "json").changes


def test_a_package_without_skills_says_where_they_would_be(project: Project) -> None:
    install(project, "demo")
    project.manifest('[providers.npm]\ndemo = "*"\n')
    result = project.done("lock")
    assert "npm:demo 1.0.0 is installed and ships no skills (looked in skills, .agents/skills)" in result.err


def test_content_that_changes_at_one_version(project: Project) -> None:
    write_package(project.root / "local", "local", "1.0.0", "x")
    link(project.root / "node_modules/local", project.root / "local")
    project.done("lock")
    before = project.read(LOCK)
    project.write({"local/skills/x/scripts/x.sh": "", "local/skills/x/SKILL.md": skill("x", "Other.")})
    result = project.run("sync", "--format", "json")
    assert (result.code, result.codes) == (3, ["content-changed"])
    assert project.read(LOCK) == before
    assert "+ scripts/x.sh  [script]" in project.done("lock").out
    project.done("sync")
    assert project.installed("x/scripts/x.sh").exists()


@pytest.mark.parametrize("path", ["node_modules/dep/index.js", ".git/config", ".venv/pyvenv.cfg"])
def test_a_package_that_ships_runtime_directories_in_a_skill_is_refused(project: Project, path: str) -> None:
    write_files(install(project, "demo", "1.0.0", "x", "y"), {f"skills/x/{path}": ""})
    result = project.done("lock", "--format", "json")
    assert result.codes == ["unsafe-skill"]
    assert project.locked == ["demo 1.0.0 y"]
    assert project.run("lock", "--strict").code == 3


def test_what_is_broken_since_it_was_locked_is_not_removed(project: Project) -> None:
    directory = install(project, "demo", "1.0.0", "x", "y")
    project.done("lock")
    project.done("sync")
    before = project.read(LOCK)
    for text in ("---\nname: x\ndescription: Sets up work: goals first.\n---\n", None):
        if text is None:
            (directory / "skills/x/SKILL.md").unlink()
        else:
            (directory / "skills/x/SKILL.md").write_text(text)
        result = project.run("lock", "--format", "json")
        assert (result.code, result.codes) == (3, ["invalid-skill"])
        assert project.done("sync").out.startswith("in sync")
        assert project.read(LOCK) == before
    shutil.rmtree(directory / "skills/x")
    assert project.done("lock", "--format", "json").changes == [("remove", "x")]


def test_metadata_that_cannot_be_read_leaves_out_one_package(project: Project) -> None:
    install(project, "demo", "1.0.0", "x")
    install(project, "other", "1.0.0", "y")
    project.write({"node_modules/other/package.json": '{"name": "../other", "version": "1.0.0"}'})
    result = project.done("lock", "--format", "json")
    assert (project.locked, result.codes) == (["demo 1.0.0 x"], ["package-unreadable"])


def test_two_versions_that_are_equally_near_are_settled_by_the_manifest(project: Project) -> None:
    for parent, version in (("a", "1.0.0"), ("b", "2.0.0")):
        install(project, parent, dependencies={"demo": version})
        install(project, f"{parent}/node_modules/demo", version, "x")
    result = project.run("lock", "--format", "json")
    assert (result.code, result.codes) == (3, ["ambiguous-provider"])
    project.manifest('[providers.npm]\ndemo = "^1"\n').done("lock")
    assert project.locked == ["demo 1.0.0 x"]


# What `pnpm approve` links into a target directory


@pytest.fixture
def approved(project: Project) -> Project:
    """Return a project in which pnpm has linked two skills, one of which skillsync would install as well."""
    store = Store(project.root / "node_modules")
    store.add("demo", "1.0.0", "x", "y")
    store.depend("demo@1.0.0")
    write_package(store.slot("other@1.0.0") / "other", "other", "1.0.0", "theirs")
    for name, package in (("x", "demo@1.0.0"), ("theirs", "other@1.0.0")):
        link(project.installed(name), store.package(package) / "skills" / name)
    return project.write({f"{SKILLS}/.gitignore": f"*.log\n{PNPM_LINES}"})


def links(project: Project) -> dict[str, str]:
    return {path.name: os.readlink(path) for path in project.installed().iterdir() if path.is_symlink()}


def test_a_link_of_pnpms_is_never_replaced(approved: Project) -> None:
    before = links(approved)
    approved.done("lock")
    tree = approved.tree
    for options in ((), ("--force",), ("--dry-run",), ("--force", "--dry-run")):
        result = approved.run("sync", *options, "--format", "json")
        (problem,) = result.json["problems"]
        assert (result.code, problem["code"], problem["skill"]) == (3, "unmanaged", "x")
    assert approved.tree == tree
    assert links(approved) == before
    states = {
        one["name"]: one["state"]
        for provider in approved.run("list", "--format", "json").json["providers"]
        for one in provider["skills"]
    }
    assert states == {"x": "conflict", "y": "locked"}


def test_pnpms_lines_and_links_stay_whatever_skillsync_does(approved: Project) -> None:
    before = links(approved)
    manifest = 'version = 1\n{}[providers.npm]\ndemo = {{ exclude = ["x"] }}\n'
    approved.manifest(manifest.format("")).done("lock")
    approved.done("sync")
    assert "not skillsync's in .agents/skills: theirs, x" in approved.done("verify").out

    def lines() -> str:
        assert links(approved) == before
        return approved.read(f"{SKILLS}/.gitignore")

    assert lines().startswith(f"*.log\n{PNPM_LINES}# skillsync\n")
    assert "/y/\n" in lines()
    # pnpm writes its block anew, at the end, with other entries.
    ours = lines().removeprefix(f"*.log\n{PNPM_LINES}")
    approved.write({f"{SKILLS}/.gitignore": f"*.log\n{ours}# pnpm\n/theirs\n# pnpm end\n"})
    assert approved.done("sync").out.startswith("in sync")
    approved.manifest(manifest.format("gitignore = false\n")).done("sync")
    assert lines() == "*.log\n# pnpm\n/theirs\n# pnpm end\n"
    approved.manifest("gitignore = false\n[providers]\n").done("lock")
    assert approved.done("sync", "--format", "json").changes == [("remove", "y")]
    assert lines() == "*.log\n# pnpm\n/theirs\n# pnpm end\n"


def test_a_link_of_pnpms_in_another_target_is_foreign_too(approved: Project) -> None:
    targets = json.dumps([SKILLS, ".claude/skills"])
    approved.manifest(f'targets = {targets}\n[providers.npm]\ndemo = {{ skills = ["y"] }}\n').done("lock")
    link(approved.root / ".claude/skills/y", approved.root / "node_modules/demo/skills/y")
    before = approved.tree
    result = approved.run("sync", "--force", "--format", "json")
    (problem,) = result.json["problems"]
    assert (problem["code"], problem["path"]) == ("unmanaged", ".claude/skills/y")
    assert approved.tree == before
