"""What holds for every ecosystem, and that the page about them says of each what the table in the code says."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from skillsync import discovery
from skillsync.discovery import ECOSYSTEMS
from skillsync.discovery.environment import Ecosystem
from skillsync.errors import SkillsyncError, UnreadableError

PAGE = (Path(__file__).parents[2] / "docs/ecosystems.md").read_text(encoding="utf-8")
OFFERED = [name for name, _ in inspect.getmembers(Ecosystem) if not name.startswith("_")]


@pytest.mark.parametrize("name", ECOSYSTEMS)
def test_the_page_names_it_and_its_markers(name: str) -> None:
    head, _, uses = PAGE.partition("## Where is looked")[2].strip().splitlines()[:3]
    column = [cell.strip() for cell in head.split("|")].index(name)
    markers = [marker.strip().strip("`") for marker in uses.split("|")[column].split(",")]
    assert sorted(markers) == sorted(discovery.markers(name))


@pytest.mark.parametrize(
    ("file", "ecosystem"),
    [
        *((name, "gem") for name in ("Gemfile", "gems.rb", "Gemfile.lock", "gems.locked", "my.gemspec")),
        *((name, "pypi") for name in ("pyproject.toml", "setup.py", "setup.cfg", ".venv")),
        *((name, "pypi") for name in ("requirements.txt", "requirements-dev.txt")),
        ("package.json", "npm"),
        ("Cargo.toml", "cargo"),
        ("Cargo.lock", "cargo"),
        *((name, None) for name in ("gemspec", "Gemfile.txt", "requirements", "package-lock.json", "cargo.toml")),
    ],
)
def test_a_project_is_marked_by_its_files(tmp_path: Path, file: str, ecosystem: str | None) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / file).write_text("")
    assert discovery.marked(str(tmp_path)) == set()
    assert discovery.marked(str(tmp_path / "sub")) == ({ecosystem} if ecosystem else set())


def test_a_project_that_can_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: str) -> list[str]:
        raise UnreadableError("permission denied")

    monkeypatch.setattr(discovery, "list_directory", refuse)
    with pytest.raises(SkillsyncError, match="permission denied"):
        discovery.marked(str(tmp_path))


def test_the_table_names_each_as_its_module_does() -> None:
    assert [one.NAME for one in ECOSYSTEMS.values()] == list(ECOSYSTEMS)
    assert len(ECOSYSTEMS) == len(list(ECOSYSTEMS))


@pytest.mark.parametrize("name", OFFERED)
def test_the_page_names_what_a_new_one_has_to_offer(name: str) -> None:
    assert f"\n| `{name}" in PAGE
    assert all(hasattr(ecosystem, name) for ecosystem in ECOSYSTEMS.values())


@pytest.mark.parametrize("name", ECOSYSTEMS)
def test_a_star_is_any_version_and_what_is_no_requirement_is_an_error(name: str) -> None:
    assert ECOSYSTEMS[name].requirement("*")("1.0.0")
    with pytest.raises(ValueError, match="no such"):
        ECOSYSTEMS[name].requirement("no such")
