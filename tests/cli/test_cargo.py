"""The commands over a Cargo project, whose ecosystem is one file and its entry in a table."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import gems
import pytest
from crates import World, row
from projects import Project

if TYPE_CHECKING:
    from pathlib import Path

OWN = row("app", "1.0.0", "", "demo", "local")
LOCAL = row("local", source="")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A workspace's root that depends on a crate of the index and on a path crate."""
    (tmp_path / "app/.git").mkdir(parents=True)
    world = World(tmp_path / "app")
    monkeypatch.setenv("CARGO_HOME", str(world.home))
    world.toml('[dependencies]\ndemo = "1"\nlocal = { path = "local" }\n')
    gems.write_files(world.root / "local", {"Cargo.toml": '[package]\nname = "local"\n', **gems.skills("more")})
    world.lock(OWN, row("demo"), LOCAL)
    world.unpack("demo", "1.0.0", "testing")
    return world


@pytest.fixture
def project(world: World) -> Project:
    return Project(world.root)


def test_lock_sync_and_verify(project: Project) -> None:
    assert project.done("lock").out.startswith("read cargo: ")
    assert project.locked == ["demo 1.0.0 testing", "local 1.0.0 more"]
    project.done("sync")
    assert project.installed("testing/SKILL.md").read_text() == gems.skill("testing")
    project.done("verify")
    assert "  ecosystem: cargo\n" in project.read(".agents/skills/.agent-skills.yaml").replace("    ", "  ")


def test_an_update_of_a_crate_is_drift_until_it_is_locked(world: World, project: Project) -> None:
    project.done("lock")
    project.done("sync")
    world.lock(OWN, row("demo", "1.1.0"), LOCAL)
    gems.write_files(world.unpack("demo", "1.1.0"), {"skills/testing/SKILL.md": gems.skill("testing", "New.\n")})
    result = project.run("verify", "--format", "json")
    assert (result.code, result.drift) == (1, [("stale-lock", "testing")])
    project.done("lock")
    project.done("sync")
    assert "New." in project.installed("testing/SKILL.md").read_text()


def test_a_crate_that_was_not_fetched_does_not_vanish(world: World, project: Project) -> None:
    project.done("lock")
    shutil.rmtree(world.home)
    result = project.run("lock", "--format", "json")
    assert (result.code, result.codes) == (3, ["missing-provider"])
    assert result.json["problems"][0]["hint"].startswith("run `cargo fetch`")
    world.lock(row("app", "1.0.0", "", "local"), LOCAL)
    world.toml('[dependencies]\nlocal = { path = "local" }\n')
    project.done("lock")
    assert project.locked == ["local 1.0.0 more"]


def test_the_manifest_admits_by_cargos_requirements(project: Project) -> None:
    project.done("init")
    assert '[providers.cargo]\n# cargo:demo 1.0.0: testing\n"demo" = "*"\n' in project.read("agent-skills.toml")
    project.manifest('[providers.cargo]\ndemo = "0.9, <2"\nlocal = "1"\n')
    assert project.run("lock", "--format", "json").codes == ["version-not-admitted"]
    project.manifest('[providers.cargo]\ndemo = ">=0.9, <2"\n"l*" = "1"\n')
    project.done("lock")
    project.manifest('[providers.cargo]\ndemo = "latest"\n')
    assert project.run("lock").code == 2


def test_the_project_is_found_by_its_cargo_toml(world: World, project: Project) -> None:
    (world.root / "src/deep").mkdir()
    assert project.run("list", at="src/deep").code == 0
    assert "cargo:demo" in project.run("list", at="src/deep").out
