from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest
from projects import LOCK, MANIFEST, Project

from skillsync.commands import nested

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def top(tmp_path: Path) -> Project:
    """The top of a repository, which has nothing of its own and several projects."""
    for name in ("services/api", "services/web shop"):
        Project(tmp_path / "top" / name).gem("sus", "1.0.0", "testing").done("lock")
    return Project(tmp_path / "top").write({".git/HEAD": "", "docs/index.md": ""})


@pytest.mark.parametrize("command", ["sync", "verify", "lock", "list", "init"])
@pytest.mark.parametrize(("at", "given"), [("", ()), ("docs", ("--project", ".."))])
def test_who_is_at_the_top_of_several_projects_is_told_of_them(
    top: Project, command: str, at: str, given: tuple[str, ...]
) -> None:
    result = top.run(command, *given, at=at)
    assert result.code == (2 if command in {"sync", "verify"} else 3)
    assert result.err.count("; there are projects below it: services/api, services/web shop\n") == 1
    assert result.err.count("below it") == 1
    option = result.err.split("name the one that is meant, as by `")[1].split("`")[0]
    assert top.run("verify", "--scope", "providers", *shlex.split(option), at=at).code == 0


def test_the_top_of_a_workspace_is_no_project_by_that(top: Project) -> None:
    result = top.write({"package.json": "{}"}).run("verify", at="docs")
    assert "as by `--project ../services/api`; or run `skillsync lock` for one here\n" in result.err


def test_a_project_is_told_of_nothing_below_it(top: Project) -> None:
    top.manifest("version = 1\n")
    for command in ("verify", "lock"):
        assert "below" not in top.run(command).err


def test_a_directory_with_nothing_below_has_the_usual_hint(tmp_path: Path) -> None:
    result = Project(tmp_path / "app").run("verify")
    assert result.err.endswith("\n  hint: run `skillsync lock`\n")


def test_what_is_installed_hidden_or_too_deep_is_no_project_of_the_person_s(tmp_path: Path) -> None:
    project = Project(tmp_path / "top").write(
        {
            f"node_modules/x/{LOCK}": "",
            f"apps/web/node_modules/x/{LOCK}": "",
            f".venv/x/{LOCK}": "",
            f".cache/{MANIFEST}": "",
            f"env/lib/{LOCK}": "",
            "env/pyvenv.cfg": "",
            f"a/b/c/d/e/f/{LOCK}": "",
        }
    )
    (project.root / "link").symlink_to("apps/web/node_modules/x")
    (project.root / "loop").symlink_to(".")
    assert list(nested.projects(str(project.root))) == []
    project.write({f"a/b/c/d/e/{LOCK}": "", f"z/{MANIFEST}": "", f"z/inner/{LOCK}": ""})
    assert list(nested.projects(str(project.root))) == ["z", "a/b/c/d/e"]


def test_many_are_counted_and_not_looked_for_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(tmp_path / "top").write({f"p{number}/{LOCK}": "" for number in range(8)})
    assert ": p0, p1, p2, p3, p4 and 3 more\n" in project.run("verify").err
    monkeypatch.setattr(nested, "_MOST", 4)
    assert list(nested.projects(str(project.root))) == ["p0", "p1", "p2"]


def test_a_name_that_looks_like_an_option_is_none(tmp_path: Path) -> None:
    project = Project(tmp_path / "top").write({f"-x/{LOCK}": ""})
    assert "as by `--project ./-x`" in project.run("verify").err
