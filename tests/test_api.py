"""What docs/api.md promises to programs: typed results, the same as the command line's, and no output."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from projects import LOCK, SKILLS, Project

import skillsync

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = (Path(__file__).parents[1] / "docs/api.md").read_text()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "app").gem("sus", "1.0.0", "testing", files={"skills/testing/run": "#!/bin/sh\n"})


def at(project: Project) -> skillsync.Project:
    return skillsync.find_project(str(project.root))


def test_lock_sync_and_verify_return_what_they_came_to_and_print_nothing(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    app = at(project)
    locked = skillsync.lock(app)
    (one,) = locked.changes
    assert (one.change.action.value, one.change.provider, one.change.skill) == ("add", "gem:sus", "testing")
    assert [(mark.kind.value, mark.path) for mark in one.marks] == [("script", "run")]
    assert (locked.is_stale, locked.is_written, locked.exit_code) == (True, True, skillsync.ExitCode.DONE)
    synced = skillsync.sync(app)
    assert [(one.target, [change.action.value for change in one.changes]) for one in synced.targets] == [
        (SKILLS, ["add"])
    ]
    assert (synced.is_applied, synced.exit_code) == (True, 0)
    verified = skillsync.verify(app)
    assert (verified.is_ok, verified.differences, verified.checked.skills, verified.exit_code) == (True, (), 1, 0)
    assert capfd.readouterr() == ("", "")


def test_what_is_only_asked_changes_nothing(project: Project) -> None:
    app = at(project)
    asked = skillsync.lock(app, check=True)
    assert (asked.is_stale, asked.is_written, asked.exit_code) == (True, False, 1)
    assert not (project.root / LOCK).exists()
    skillsync.lock(app)
    for mode, code in ((skillsync.Mode.DRY_RUN, 0), (skillsync.Mode.CHECK, 1)):
        done = skillsync.sync(app, mode=mode)
        assert (done.is_applied, done.exit_code, len(done.targets[0].changes)) == (False, code, 1)
    assert not project.installed().exists()


def test_drift_is_told_by_target_and_path(project: Project) -> None:
    app = at(project)
    skillsync.lock(app)
    skillsync.sync(app)
    project.installed("testing/run").write_text("mine\n")
    found = skillsync.verify(app, scope=skillsync.Scope.INSTALLED)
    assert [(target, row.kind.value, row.skill, row.path) for target, row in found.differences] == [
        (SKILLS, "modified", "testing", "run")
    ]
    assert (found.is_ok, found.exit_code, found.provided) == (False, 1, None)
    refused = skillsync.sync(app)
    assert [(problem.code.value, problem.skill) for problem in refused.problems] == [("modified", "testing")]
    assert (refused.is_stopped, refused.is_applied, refused.exit_code) == (True, False, 3)
    assert skillsync.sync(app, force=True).is_applied


@pytest.mark.parametrize("command", [skillsync.sync, skillsync.verify])
def test_what_can_t_begin_is_an_error_with_its_problems(
    project: Project, command: Callable[[skillsync.Project], object]
) -> None:
    with pytest.raises(skillsync.SkillsyncError) as caught:
        command(at(project))
    (problem,) = caught.value.problems
    assert isinstance(problem, skillsync.Problem)
    assert (problem.code.value, problem.hint) == ("lock-missing", "run `skillsync lock`")


def test_no_message_speaks_of_an_option_of_the_command_line(project: Project) -> None:
    def message(ask: Callable[[], object]) -> str:
        with pytest.raises(skillsync.SkillsyncError) as caught:
            ask()
        return "; ".join(problem.message for problem in caught.value.problems)

    root = project.root
    assert (
        message(lambda: skillsync.find_project(f"{root}/nowhere")) == f"the project `{root}/nowhere` is not a directory"
    )
    project.manifest('ecosystems = ["gem"]\n')
    named = skillsync.find_project(str(root), python="env")
    said = "a Python environment is named, and `ecosystems` in agent-skills.toml leaves pypi out"
    assert message(lambda: skillsync.lock(named)) == said


def test_a_second_run_waits_unless_whoever_is_told_stops_it(project: Project) -> None:
    from skillsync import filesystem

    app = at(project)
    skillsync.lock(app)
    skillsync.sync(app)
    told: list[str] = []

    def stop(target: str) -> None:
        told.append(target)
        raise InterruptedError

    with filesystem.open_directory(str(project.installed())) as fd:
        assert filesystem.take_lock(fd, wait=False)
        with pytest.raises(InterruptedError):
            skillsync.sync(app, busy=stop)
    assert told == [SKILLS]
    assert not skillsync.sync(app).targets[0].changes


def test_the_page_s_program_runs(project: Project) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    program = program.replace("path/to/project", str(project.root))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "add gem:sus testing ['script']\n", "")
    assert project.installed("testing/run").exists()


def test_every_public_name_is_on_the_page_and_no_other_is_there() -> None:
    assert {name for name in skillsync._PUBLIC if not re.search(rf"\b{name}\b", PAGE)} == {"ExitCode"}  # noqa: SLF001
    for name in skillsync._PUBLIC:  # noqa: SLF001
        assert getattr(skillsync, name).__name__ == name
    with pytest.raises(AttributeError, match="skillsync has no 'unlock'"):
        skillsync.unlock  # type: ignore[attr-defined]  # noqa: B018
