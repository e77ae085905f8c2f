"""A project of our own making, and the real tools of Node's world, installed once for all tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from node_packages import World

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A project at the root of a repository."""
    (tmp_path / "app/.git").mkdir(parents=True)
    found = World(tmp_path / "app")
    found.package_json()
    return found
