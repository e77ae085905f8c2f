"""The memory that skillsync takes depends on the number of files, not on what is in them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
import tools
from machine import measured
from projects import Project

if TYPE_CHECKING:
    from pathlib import Path

MOST = 100  # MiB, resident
COMMANDS = ("lock", "sync", "verify", "sync")


@pytest.mark.parametrize("mebibytes", [300, 2048])
def test_a_large_file_is_synced_and_verified_in_little_memory(tmp_path: Path, mebibytes: int) -> None:
    if mebibytes > 300 and not os.environ.get(tools.INSIST):
        pytest.skip(f"left out: copies {mebibytes} MiB, which is done only where {tools.INSIST} is set")
    project = Project(tmp_path).gem("a", "1.0.0", "large")
    data = project.gem_root("a") / "skills/large/data"
    data.touch()
    os.truncate(data, mebibytes << 20)
    peaks = [measured(project, command) for command in COMMANDS]
    installed = project.installed("large/data")
    assert installed.stat().st_size == mebibytes << 20
    installed.unlink()
    data.unlink()
    assert max(peaks) < MOST, peaks


def test_a_thousand_skills_are_synced_and_verified_in_little_memory(tmp_path: Path) -> None:
    names = [f"skill-{number}" for number in range(1000)]
    project = Project(tmp_path)
    for version in ("1.0.0", "2.0.0"):
        project.gem("a", version, *names, files={f"skills/{name}/reference.md": version * 50 for name in names})
        peaks = [measured(project, command) for command in COMMANDS]
        assert max(peaks) < MOST, peaks
    assert len(list(project.installed().glob("skill-*/reference.md"))) == 1000
