from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from builders import Meddled
from projects import LOCK, MANIFEST, Project

from skillsync.commands import project as module
from skillsync.errors import Code, SkillsyncError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Return a directory at the top of a repository."""
    (tmp_path / ".git").mkdir()
    return tmp_path


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def found_from(start: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    start.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(start)
    return module.find(None)


@pytest.mark.parametrize("name", [MANIFEST, LOCK, "Gemfile", "gems.rb", "Gemfile.lock", "gems.locked", "x.gemspec"])
def test_the_root_is_found_from_below(top: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(top / "app" / name)
    assert found_from(top / "app/lib/deep", monkeypatch) == str(top / "app")


def test_a_manifest_or_lock_above_comes_before_a_nearer_marker(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(top / LOCK, top / "engines/admin/Gemfile")
    assert found_from(top / "engines/admin/lib", monkeypatch) == str(top)


def test_the_nearest_of_two_counts(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(top / MANIFEST, top / "inner" / LOCK)
    assert found_from(top / "inner/lib", monkeypatch) == str(top / "inner")


def test_a_broken_link_by_that_name_counts_as_the_file_that_should_be_there(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (top / MANIFEST).symlink_to("nowhere")
    assert found_from(top / "lib", monkeypatch) == str(top)


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_the_search_ends_at_the_repository_s_root(top: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(top / MANIFEST)
    inner = top / "inner"
    if kind == "directory":
        (inner / ".git").mkdir(parents=True)
    else:  # in a work tree and in a submodule
        touch(inner / ".git")
    assert found_from(inner / "lib", monkeypatch) == str(inner / "lib")
    touch(inner / "Gemfile")
    assert found_from(inner / "lib", monkeypatch) == str(inner)


def test_outside_a_repository_the_search_ends_at_somebody_else_s_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(tmp_path / "shared" / MANIFEST)
    mine = tmp_path / "shared/mine/lib"
    mine.mkdir(parents=True)
    strangers = {str(tmp_path / "shared")}

    def stat(path: str) -> os.stat_result:
        """Ask the system, in which some directories are somebody else's."""
        found = os.stat(path)
        return os.stat_result([*found[:4], found.st_uid + (path in strangers), *found[5:10]])

    monkeypatch.setattr("skillsync.filesystem.os", Meddled(stat=stat))
    assert found_from(mine, monkeypatch) == str(mine)
    strangers.clear()
    assert found_from(mine, monkeypatch) == str(tmp_path / "shared")


def test_without_any_sign_it_is_the_current_directory(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found_from(top / "lib", monkeypatch) == str(top / "lib")


def test_a_directory_that_is_given_is_the_root_whatever_is_in_it(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(top / MANIFEST)
    (top / "lib").mkdir()
    monkeypatch.chdir(top)
    for given in ("lib", "lib/", "./lib", str(top / "lib")):
        assert module.find(given) == str(top / "lib")


@pytest.mark.parametrize("given", ["", "nowhere", "file"])
def test_what_is_given_has_to_be_a_directory(top: Path, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(top / "file")
    monkeypatch.chdir(top)
    with pytest.raises(SkillsyncError) as caught:
        module.find(given)
    assert [problem.code for problem in caught.value.problems] == [Code.USAGE]


def test_a_command_works_on_the_root_from_anywhere_below_or_beside(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing").write({".git/HEAD": "", "lib/deep/x.rb": ""})
    assert project.run("lock", at="lib/deep").code == 0
    assert (project.root / LOCK).is_file()
    assert project.run("sync", at="lib").code == 0
    assert project.installed("testing/SKILL.md").is_file()
    outside = Project(tmp_path / "other")
    assert outside.run("verify", "--project", "../app").code == 0
    assert outside.run("verify", "--project", str(project.root)).code == 0


def test_the_project_may_be_reached_through_a_link(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    (tmp_path / "link").symlink_to("app")
    elsewhere = Project(tmp_path / "other")
    for command in ("lock", "sync", "verify"):
        assert elsewhere.run(command, "--project", "../link").code == 0
    assert project.installed("testing/SKILL.md").is_file()
