from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gems
import pytest
from projects import HOME, LOCK, Project

from skillsync.commands import project as asked
from skillsync.commands.survey import none_whole, read_environments, survey
from skillsync.errors import Code, Problem, Severity, SkillsyncError
from skillsync.locking.choice import Choice
from skillsync.locking.manifest import Manifest

if TYPE_CHECKING:
    from pathlib import Path

    from skillsync.discovery.environment import Environment, NoEnvironment


def lone_gems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a project without any marker, and a gem environment with one gem."""
    gems.write_gem(tmp_path / "home", "sus", "1.0.0", gems.skills("testing"))
    monkeypatch.setenv("GEM_HOME", str(tmp_path / "home"))
    return Project(tmp_path / "app")


def test_without_a_marker_nothing_is_read_and_all_that_was_looked_for_is_named(tmp_path: Path) -> None:
    with pytest.raises(SkillsyncError) as caught:
        read_environments(asked.Project(root=str(tmp_path)), Manifest(), ())
    (problem,) = caught.value.problems
    assert problem.code is Code.ENVIRONMENT_NOT_FOUND
    for marker in ("Gemfile", "gems.rb", "Gemfile.lock", "gems.locked", "*.gemspec"):
        assert marker in problem.message


@pytest.mark.parametrize("marker", ["Gemfile", "gems.rb", "app.gemspec"])
def test_a_marker_makes_an_ecosystem_active(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: str) -> None:
    project = lone_gems(tmp_path, monkeypatch)
    assert project.run("list").code == 3
    assert '"testing"' in project.write({marker: ""}).done("list", "--format", "json").out


@pytest.mark.parametrize("manifest", ['ecosystems = ["gem"]\n', '[providers.gem]\nsus = "*"\n'])
def test_the_manifest_makes_an_ecosystem_active_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: str
) -> None:
    project = lone_gems(tmp_path, monkeypatch).manifest(manifest)
    assert '"testing"' in project.done("list", "--format", "json").out


def test_what_is_locked_makes_its_ecosystem_active(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = lone_gems(tmp_path, monkeypatch).write({"Gemfile": ""})
    project.done("lock")
    project.write({"Gemfile": None})
    assert "up to date" in project.done("lock").out


def test_an_ecosystem_that_the_manifest_leaves_out_is_not_read(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing").manifest("ecosystems = []\n")
    result = project.run("list")
    assert result.code == 3
    assert "looked for nothing" in result.err
    assert not (project.root / LOCK).exists()


def test_an_unknown_ecosystem_is_an_error_that_names_the_known_ones(tmp_path: Path) -> None:
    result = Project(tmp_path / "app").manifest('ecosystems = ["nix"]\n').run("list")
    assert result.code == 2
    assert "ecosystems[0]: `nix` is not an ecosystem" in result.err
    assert "known here: gem" in result.err


def test_every_directory_that_was_read_is_named_with_its_packages(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing").gem("bake", "1.0.0", path="gems/bake")
    report = project.done("list", "--format", "json").json
    assert report["environments"] == [
        {"ecosystem": "gem", "path": HOME, "packages": 1},
        {"ecosystem": "gem", "path": "Gemfile.lock", "packages": 1},
    ]
    lines = project.done("list").out.splitlines()
    assert f"read gem: {HOME} (1 package)" in lines
    assert "read gem: Gemfile.lock (1 package)" in lines


def test_only_admitted_skills_are_read_whole(tmp_path: Path) -> None:
    app = Project(tmp_path / "app").gem("a", "1.0.0", "one", "two").gem("b", "1.0.0", "three")
    app.manifest('[providers.gem]\na = { exclude = ["two"] }\n')
    asking = asked.Project(root=str(app.root))
    for is_wanted, whole in ((Choice.admits, {"one"}), (none_whole, set[str]())):
        found = survey(asking, asked.load_manifest(asking), {}, is_wanted)
        skills = {skill.name: skill.snapshot for one in found.candidates for skill in one.provider.skills}
        assert skills.keys() == {"one", "two", "three"}
        assert {name for name, snapshot in skills.items() if snapshot} == whole
    app.change("a", {"skills/broken/SKILL.md": "none"})
    report = app.done("lock", "--format", "json").json
    assert [change["skill"] for change in report["changes"]] == ["one"]


def test_what_is_a_warning_and_an_error_is_said_once_as_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    warning = Problem(code=Code.PACKAGE_UNREADABLE, message="said twice", severity=Severity.WARNING)
    usual = read_environments

    def twice(*arguments: Any) -> list[Environment | NoEnvironment]:  # noqa: ANN401  # passed on
        found = usual(*arguments)
        (environment,) = found
        object.__setattr__(environment, "problems", (warning, warning.as_error(), warning))
        return found

    monkeypatch.setattr("skillsync.commands.survey.read_environments", twice)
    assert survey(asked.Project(root=str(app.root)), Manifest(), {}).problems == (warning.as_error(),)
