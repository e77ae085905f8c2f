from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import gems
import pytest
from node_packages import install
from projects import HOME, LOCK, Project

if TYPE_CHECKING:
    from pathlib import Path

NEW = gems.skill("testing", "New.\n")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the gem environment of a project without a bundle."""
    monkeypatch.setenv("GEM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def locked(tmp_path: Path, home: Path) -> Project:
    """Return a project whose lock has version 1.9.0 of a gem."""
    gems.write_gem(home, "sus", "1.9.0", gems.skills("testing"))
    project = Project(tmp_path / "app").write({"app.gemspec": ""})
    project.done("lock")
    return project


def test_the_locked_version_is_copied_where_several_are_installed(tmp_path: Path, home: Path) -> None:
    project = locked(tmp_path, home)
    gems.write_gem(home, "sus", "1.10.0", {"skills/testing/SKILL.md": NEW})
    project.done("sync")
    assert project.installed("testing/SKILL.md").read_text() == gems.skill("testing")


def test_another_version_with_the_locked_content_will_do(tmp_path: Path, home: Path) -> None:
    project = locked(tmp_path, home)
    shutil.rmtree(home)
    gems.write_gem(home, "sus", "1.8.0", {"skills/testing/SKILL.md": NEW})
    gems.write_gem(home, "sus", "1.10.0", {"skills/testing/SKILL.md": NEW})
    gems.write_gem(home, "sus", "1.11.0", gems.skills("testing"))
    project.done("sync")
    assert project.installed("testing/SKILL.md").read_text() == gems.skill("testing")


def test_the_locked_version_is_refused_if_its_content_changed_and_no_other_has_it(tmp_path: Path, home: Path) -> None:
    project = locked(tmp_path, home)
    gems.write_files(home / "gems/sus-1.9.0", {"skills/testing/locked.md": "1.9"})
    gems.write_gem(home, "sus", "1.10.0", {"skills/testing/SKILL.md": NEW, "skills/testing/newer.md": "1.10"})
    result = project.run("sync", "--format", "json")
    assert (result.code, result.codes) == (3, ["content-changed"])
    (problem,) = result.json["problems"]
    assert problem["message"] == "gem:sus 1.9.0: skills/testing is not what was locked: added locked.md"
    assert problem["hint"].endswith("or reinstall 1.9.0")
    assert not project.installed("testing").exists()


def test_content_of_another_version_is_refused_by_that_version(tmp_path: Path, home: Path) -> None:
    project = locked(tmp_path, home)
    shutil.rmtree(home)
    gems.write_gem(home, "sus", "1.10.0", {"skills/testing/SKILL.md": NEW})
    (problem,) = project.run("sync", "--format", "json").json["problems"]
    assert problem["message"] == "gem:sus 1.10.0: skills/testing is not what was locked: changed SKILL.md"
    assert problem["hint"].endswith("or install 1.9.0")


def test_the_other_versions_do_not_count_if_the_locked_one_ships_it_elsewhere_now(tmp_path: Path, home: Path) -> None:
    project = locked(tmp_path, home)
    shutil.rmtree(home / "gems/sus-1.9.0/skills/testing")
    result = project.run("sync", "--format", "json")
    assert (result.code, result.codes) == (3, ["content-changed"])
    (problem,) = result.json["problems"]
    assert problem["message"] == "gem:sus 1.9.0 is installed, and does not ship the locked skill testing"
    assert problem["hint"] == "reinstall 1.9.0, or run `skillsync lock`"


def test_the_manifest_s_path_is_where_the_content_is(tmp_path: Path) -> None:
    skill = gems.skill("testing")
    files = {"lib/skills/testing/SKILL.md": skill, "skills/testing/SKILL.md": NEW}
    project = Project(tmp_path / "app").gem("sus", "1.0.0", files=files)
    project.manifest('[providers.gem]\nsus = { path = "lib/skills" }\n')
    project.done("lock")
    project.done("sync")
    assert project.installed("testing/SKILL.md").read_text() == skill
    assert project.run("verify").code == 0


def test_a_skill_behind_a_link_or_a_file_in_its_place_is_no_source(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing", "other")
    project.done("lock")
    skills = project.gem_root("sus") / "skills"
    (skills / "testing").rename(tmp_path / "moved")
    (skills / "testing").symlink_to(tmp_path / "moved")
    shutil.rmtree(skills / "other")
    (skills / "other").write_text("a file")
    result = project.run("sync", "--format", "json")
    assert (result.code, result.codes) == (3, ["content-changed", "content-changed"])
    assert not project.installed().exists()


def test_a_provider_that_is_not_installed_is_missed_only_for_what_has_to_be_written(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("a", "1.0.0", "one").gem("b", "1.0.0", "two")
    project.done("lock")
    project.done("sync")
    project.uninstall("a")
    assert "in sync" in project.done("sync").out
    shutil.rmtree(project.installed("one"))
    before = project.tree
    result = project.run("sync")
    assert result.code == 3
    assert "error[missing-provider]: one can't be written: gem:a 1.0.0 is locked and not installed\n" in result.err
    assert "hint: run `bundle install`" in result.err
    assert project.tree == before


def test_without_an_environment_that_is_the_reason(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("a", "1.0.0", "one", "two")
    project.done("lock")
    shutil.rmtree(project.root / HOME)
    result = project.run("sync", "--format", "json")
    assert (result.code, result.codes) == (3, ["environment-not-found"])


def test_an_ecosystem_that_this_version_does_not_know_is_missed_only_for_what_has_to_be_written(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path / "app").gem("a", "1.0.0", "one")
    project.done("lock")
    project.write({LOCK: project.read(LOCK).replace('"gem"', '"hex"')})
    result = project.run("sync")
    assert result.code == 3
    assert "error[missing-provider]: one can't be written: hex:a 1.0.0 is locked and not installed" in result.err
    assert "hint: upgrade skillsync" in result.err


def test_what_is_missing_is_installed_by_the_projects_own_installer(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").write({"package.json": "{}", "pnpm-lock.yaml": ""})
    install(project.root / "node_modules", "demo", "1.0.0", "x")
    install(project.root / "node_modules", "other")
    project.done("lock")
    shutil.rmtree(project.root / "node_modules/demo")
    project.manifest('[providers.npm]\ndemo = "*"\n')
    assert problem(project, "sync") == (
        "x can't be written: npm:demo 1.0.0 is locked and not installed",
        "run `pnpm install`",
    )
    assert problem(project, "lock")[1] == "run `pnpm install`, or `skillsync deny npm:demo`"
    shutil.rmtree(project.root / "node_modules/other")
    assert problem(project.manifest("version = 1\n"), "lock")[1].startswith("run `pnpm install`; ")


def test_an_ecosystem_that_is_left_out_is_not_looked_at(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing").write({"package.json": "{}"})
    install(project.root / "node_modules", "demo", "1.0.0", "x")
    project.done("lock")
    project.manifest('version = 1\necosystems = ["gem"]\n')
    assert problem(project, "sync") == (
        "x can't be written: npm:demo 1.0.0 is locked, and `ecosystems` in agent-skills.toml leaves npm out",
        "add it there, or run `skillsync lock`",
    )


def problem(project: Project, command: str) -> tuple[str, str]:
    """Run a command that has to stop; return what it says."""
    result = project.run(command, "--format", "json")
    assert result.code == 3
    (found,) = result.json["problems"]
    return found["message"], found["hint"]
