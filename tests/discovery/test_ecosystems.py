"""What holds for every ecosystem, and that the page about them says of each what the table in the code says."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from skillsync.discovery import ECOSYSTEMS
from skillsync.discovery.environment import Ecosystem

PAGE = (Path(__file__).parents[2] / "docs/ecosystems.md").read_text(encoding="utf-8")
OFFERED = [name for name, _ in inspect.getmembers(Ecosystem) if not name.startswith("_")]


@pytest.mark.parametrize("name", ECOSYSTEMS)
def test_the_page_names_it_and_its_markers(name: str) -> None:
    head, _, uses = PAGE.partition("## Where is looked")[2].strip().splitlines()[:3]
    column = [cell.strip() for cell in head.split("|")].index(name)
    markers = [marker.strip().strip("`") for marker in uses.split("|")[column].split(",")]
    assert sorted(markers) == sorted(ECOSYSTEMS[name].MARKERS)


@pytest.mark.parametrize("name", OFFERED)
def test_the_page_names_what_a_new_one_has_to_offer(name: str) -> None:
    assert f"\n| `{name}" in PAGE
    assert all(hasattr(ecosystem, name) for ecosystem in ECOSYSTEMS.values())


@pytest.mark.parametrize("name", ECOSYSTEMS)
def test_a_star_is_any_version_and_what_is_no_requirement_is_an_error(name: str) -> None:
    assert ECOSYSTEMS[name].requirement("*")("1.0.0")
    with pytest.raises(ValueError, match="no such"):
        ECOSYSTEMS[name].requirement("no such")
