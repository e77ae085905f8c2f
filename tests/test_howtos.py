"""What docs/moving.md, monorepo.md and committing.md say, done as they say it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from projects import LOCK, REGISTRY, SKILLS, Project
from tools import need

from skillsync.syncing import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "app").gem("sus", "1.0.0", "testing", "tracing").gem("bake", "1.0.0", "tasks")


def typed(page: str, section: str) -> Iterator[str]:
    """The commands of a section, line by line, without what is said beside them."""
    text = (DOCS / page).read_text(encoding="utf-8").partition(f"## {section}\n")[2].partition("\n## ")[0]
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        yield from (line.partition("  #")[0].strip() for line in block.splitlines())


def follow(project: Project, page: str, section: str) -> list[str]:
    """Do what a section says; return what was printed by each command."""
    printed = []
    for line in typed(page, section):
        if line.startswith("skillsync "):
            printed.append(project.done(*shlex.split(line)[1:]).out)
        else:
            done = subprocess.run(line, shell=True, cwd=project.root, capture_output=True, text=True, check=True)  # noqa: S602  # as it is shown
            printed.append(done.stdout)
    return printed


def shipped(project: Project, gem: str, skill: str) -> Path:
    return project.gem_root(gem) / "skills" / skill


def test_what_the_ruby_tool_installed_is_taken_over(project: Project) -> None:
    for gem, skill in (("sus", "testing"), ("sus", "tracing"), ("bake", "tasks")):
        shutil.copytree(shipped(project, gem, skill), project.installed(skill))
    project.installed("tracing/SKILL.md").write_text("of an older version\n")
    rows = "".join(
        f"  {skill}:\n    gem: {gem}\n    version: 1.0.0\n"
        for gem, skill in (("bake", "tasks"), ("sus", "testing"), ("sus", "tracing"))
    )
    project.write({REGISTRY: f"---\nversion: 1\nskills:\n{rows}"})
    _, synced = follow(project, "moving.md", "From the Ruby tool")
    assert [line for line in synced.splitlines() if line[0] in "+~-"] == [
        f"~ record {SKILLS}/tasks (gem:bake 1.0.0)",
        f"~ record {SKILLS}/testing (gem:sus 1.0.0)",
        f"~ update {SKILLS}/tracing (gem:sus 1.0.0)",
        f"~ {SKILLS}/.gitignore",
    ]
    found = registry.parse((project.root / REGISTRY).read_bytes()).rows
    assert all(row.hash for row in found.values() if isinstance(row, registry.Row))
    assert project.done("verify").out.splitlines()[-1].startswith("ok: ")


def test_what_the_ruby_tool_installed_and_is_not_locked_has_to_be_forced(project: Project) -> None:
    project.write(
        {
            f"{SKILLS}/old/SKILL.md": "of a gem that is gone\n",
            REGISTRY: "---\nversion: 1\nskills:\n  old:\n    gem: gone\n    version: 1.0.0\n",
        }
    )
    project.done("lock")
    refused = project.run("sync", "--format", "json")
    assert (refused.code, [problem["code"] for problem in refused.json["problems"]]) == (3, ["modified"])
    project.done("sync", "--force")
    assert not project.installed("old").exists()


def test_links_of_other_tools_are_removed_and_copies_put_in_their_place(project: Project) -> None:
    project.write({f"{SKILLS}/own/SKILL.md": "the project's\n"})
    for gem, skill in (("sus", "testing"), ("bake", "tasks")):
        place = project.installed(skill)
        place.symlink_to(os.path.relpath(shipped(project, gem, skill), place.parent))
    project.done("lock")
    refused = project.run("sync", "--format", "json")
    assert [problem["code"] for problem in refused.json["problems"]] == ["unmanaged", "unmanaged"]
    printed = follow(project, "moving.md", "From tools that make links")
    assert sorted(printed[1].splitlines()) == [f"{SKILLS}/tasks", f"{SKILLS}/testing"]
    assert printed[-1].splitlines()[-1] == f"3 added in {SKILLS}"
    assert not project.installed("testing").is_symlink()
    assert shipped(project, "sus", "testing").is_dir()
    assert project.installed("own/SKILL.md").read_text() == "the project's\n"


def test_a_copy_that_was_made_by_hand_stands_in_the_way_until_it_is_removed(project: Project) -> None:
    project.done("lock")
    shutil.copytree(shipped(project, "sus", "testing"), project.installed("testing"))
    assert project.run("sync").code == 3
    assert project.run("sync", "--force").code == 3
    shutil.rmtree(project.installed("testing"))
    project.done("sync")


def test_each_project_of_a_repository_has_its_own_lock_and_the_nearest_counts(tmp_path: Path) -> None:
    need("git")
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    api = Project(tmp_path / "services/api").gem("sus", "1.0.0", "testing")
    web = Project(tmp_path / "services/web").gem("bake", "1.0.0", "testing")
    top = Project(tmp_path)
    follow(top, "monorepo.md", "One for each")
    assert (api.locked, web.locked) == (["sus 1.0.0 testing"], ["bake 1.0.0 testing"])
    (api.root / "lib/deep").mkdir(parents=True)
    assert "1 skill" in api.run("verify", at="lib/deep").out
    assert api.run("verify", at="lib/deep").code == 0


def test_committed_skills_are_verified_in_a_clone_without_a_package(project: Project, tmp_path: Path) -> None:
    need("git")

    def git(*arguments: str, cwd: Path) -> str:
        command = ("git", "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments)
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout

    git("init", "--quiet", cwd=project.root)
    project.manifest("gitignore = false\n")
    project.done("lock")
    follow(project, "committing.md", "Yes: as part of the repository")
    git("commit", "--quiet", "-m", "skills", cwd=project.root)
    tracked = git("ls-files", cwd=project.root).splitlines()
    assert {f"{SKILLS}/testing/SKILL.md", REGISTRY, LOCK, "agent-skills.toml"} <= set(tracked)
    git("clone", "--quiet", str(project.root), "clone", cwd=tmp_path)
    clone = Project(tmp_path / "clone")
    assert clone.run("verify", "--scope", "installed").code == 0
    (clone.root / REGISTRY).unlink()
    report = clone.run("sync", "--format", "json")
    assert {problem["code"] for problem in report.json["problems"]} == {"unmanaged"}


def test_what_is_installed_is_left_out_and_the_project_s_own_is_not(project: Project) -> None:
    need("git")
    subprocess.run(["git", "init", "--quiet"], cwd=project.root, check=True)
    project.write({f"{SKILLS}/own/SKILL.md": "the project's\n"})
    project.done("lock")
    project.done("sync")
    listed = ["git", "ls-files", "--others", "--exclude-standard", SKILLS]
    shown = subprocess.run(listed, cwd=project.root, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == [f"{SKILLS}/own/SKILL.md"]
