from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest
from wheels import skill, skills, write_dist, write_files, write_venv

from skillsync.discovery.environment import Environment
from skillsync.discovery.pypi import ecosystem as pypi
from skillsync.discovery.pypi.integrity import Alterations, alterations, compare
from skillsync.filesystem import open_directory
from skillsync.snapshot import snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from skillsync.discovery.environment import Package

_SKILL = "one/.agents/skills/x"


class World:
    """An environment with one distribution that ships a skill of several files."""

    def __init__(self, tmp: Path) -> None:
        self.app = tmp
        self.site = write_venv(tmp / ".venv")
        self.skill = self.site / _SKILL
        files = {f"{_SKILL}/references/a,b.md": "a", f"{_SKILL}/scripts/run.py": "run", f"{_SKILL}/.DS_Store": "x"}
        rows = [(f"{_SKILL}/scripts/__pycache__/run.cpython-311.pyc", "", "")]
        write_dist(self.site, "one", files={**skills("one", "x"), **files}, rows=rows)

    def package(self) -> Package:
        found = pypi.read(str(self.app), {})
        assert isinstance(found, Environment)
        (package,) = found.packages
        return package

    def alterations(self) -> Alterations:
        with open_directory(str(self.skill)) as fd:
            return alterations(self.package(), _SKILL, snapshot(fd, "").tree)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_as_it_was_installed(world: World) -> None:
    assert world.alterations().is_empty


def test_what_running_it_leaves_is_no_alteration(world: World) -> None:
    write_files(
        world.skill, {"scripts/__pycache__/run.cpython-311.pyc": "x", "Thumbs.db": "", "m/__pycache__/y.pyc": ""}
    )
    assert world.alterations().is_empty


def test_every_kind_of_alteration(world: World) -> None:
    write_files(world.skill, {"SKILL.md": skill("x", "Other text.\n"), "notes.md": "", "scripts/new/x": ""})
    (world.skill / "references/a,b.md").unlink()
    found = world.alterations()
    assert found == Alterations(
        added=("notes.md", "scripts/new/x"), changed=("SKILL.md",), removed=("references/a,b.md",)
    )
    assert not found.is_empty


def test_a_linked_file_is_read_through_the_link(world: World, tmp_path: Path) -> None:
    write_files(tmp_path, {"cache/SKILL.md": skill("x")})
    with open_directory(str(world.skill)) as fd:
        tree = snapshot(fd, "").tree
    (world.skill / "SKILL.md").unlink()
    (world.skill / "SKILL.md").symlink_to(tmp_path / "cache/SKILL.md")
    assert alterations(world.package(), _SKILL, tree).is_empty
    (tmp_path / "cache/SKILL.md").write_text("x")
    assert alterations(world.package(), _SKILL, tree).changed == ("SKILL.md",)


def test_what_goes_away_meanwhile_is_changed(world: World) -> None:
    with open_directory(str(world.skill)) as fd:
        tree = snapshot(fd, "").tree
    (world.skill / "SKILL.md").unlink()
    assert alterations(world.package(), _SKILL, tree).changed == ("SKILL.md",)


def test_without_a_record_nothing_is_known(world: World) -> None:
    assert alterations(world.package(), "elsewhere", {}) == Alterations()


def test_the_comparison_is_pure() -> None:
    recorded = {"a": "1", "b": "2", "c": "3", "d.pyc": "", "e": ""}
    found = compare(recorded, ["a", "b", "e", "f"], {"a": "1", "b": "0"}, ["c", "d.pyc"])
    assert found == Alterations(added=("f",), changed=("b",), removed=("c",))


def test_errors_of_the_system_are_not_swallowed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(hashlib, "file_digest", refuse)
    with pytest.raises(PermissionError):
        world.alterations()
