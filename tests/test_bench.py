"""What the benchmarks work on is the same each time, and is what skillsync reads."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest
from bench import layouts, report
from bench.__main__ import PAGE
from bench.workload import MIXED, SMALL, growing, packages
from projects import Project

if TYPE_CHECKING:
    from pathlib import Path


def digest(layout: str, mark: str = "") -> str:
    found = hashlib.sha256()
    for path, content in layouts.LAYOUTS[layout].files(packages(SMALL, mark), SMALL):
        found.update(f"{path} {len(content)}\n".encode() + content)
    return found.hexdigest()


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
def test_a_workload_is_the_same_each_time(layout: str) -> None:
    assert digest(layout) == digest(layout)
    assert digest(layout) != digest(layout, "other")


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
def test_the_small_workload_is_ten_skills_of_five_providers_to_skillsync(tmp_path: Path, layout: str) -> None:
    project = Project(tmp_path)
    layouts.write(str(tmp_path), layouts.LAYOUTS[layout].files(packages(SMALL), SMALL))
    found = project.done("list", "--format", "json").json
    assert not found["problems"]
    assert [(one["ecosystem"], one["packages"]) for one in found["environments"]] == [(layout, SMALL.packages)]
    assert len(found["providers"]) == SMALL.providers
    assert sum(len(one["skills"]) for one in found["providers"]) == SMALL.all_skills == 10
    project.done("lock", "--strict")
    project.done("sync")
    checked = project.done("verify", "--format", "json").json["checked"]
    assert checked == {"skills": 10, "files": SMALL.all_files, "providers": 5}
    assert (
        project.installed().joinpath(found["providers"][0]["skills"][0]["name"], "scripts/part-03.py").stat().st_mode
        & 0o111
    )


def test_workloads_with_different_marks_share_no_name() -> None:
    names = [one.name for mark in "abc" for one in packages(MIXED, mark)]
    assert len(set(names)) == len(names) == 3 * MIXED.packages


@pytest.mark.parametrize("skills", [100, 10_000])
def test_a_workload_can_have_as_many_skills_as_asked(skills: int) -> None:
    found = [skill for one in packages(growing(skills)) for skill in one.skills]
    assert len(set(found)) == skills == growing(skills).all_skills


def test_the_tables_of_the_page_can_be_replaced_again_and_again() -> None:
    once = report.replaced(PAGE.read_text(encoding="utf-8"), "new")
    assert report.replaced(once, "new") == once
    assert once.endswith(f"## Measured\n\n{report.BEGIN}\n\nnew\n\n{report.END}\n")
    with pytest.raises(ValueError, match="there is no"):
        report.replaced("# How fast it is\n", "new")
