"""The pieces of docs/ci.md, each run by the tool that it is for."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from projects import SKILLS, Project
from tools import need, need_network, need_python_tool

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[1]
_PIECE = re.compile(r"<!-- piece: (\S+) -->\n```\w+\n(.*?)```\n", re.DOTALL)
PIECES = dict(_PIECE.findall((ROOT / "docs/ci.md").read_text()))


def run(
    *command: str, at: Path, environ: Mapping[str, str] | None = None, code: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run a tool as a person does who has this skillsync on PATH."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    usual = {key: value for key, value in os.environ.items() if key not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    environment = {**usual, "PATH": path, "SKILLSYNC": str(ROOT), **(environ or {})}
    done = subprocess.run(command, cwd=at, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture
def synced(tmp_path: Path) -> Project:
    """Return a project in sync, a git repository."""
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    project.done("lock")
    project.done("sync")
    run("git", "init", "--quiet", at=project.root)
    return project


def edited(project: Project) -> None:
    project.write({f"{SKILLS}/testing/SKILL.md": "mine\n"})


def with_npm(root: Path) -> Project:
    """Return a project with an npm package that was packed before, and a lock of it."""
    need("npm")
    package = {"name": "kelp", "version": "1.0.0"}
    project = Project(root)
    skill = "---\nname: kelp-routing\ndescription: Routes.\n---\n"
    project.write({"kelp/package.json": json.dumps(package), "kelp/skills/kelp-routing/SKILL.md": skill})
    run("npm", "pack", "--silent", "./kelp", at=root)
    shutil.rmtree(root / "kelp")
    piece = json.loads(PIECES["package.json"])
    project.write({"package.json": json.dumps({**piece, "dependencies": {"kelp": "file:kelp-1.0.0.tgz"}})})
    run("npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--offline", at=root)
    project.done("lock")
    shutil.rmtree(root / "node_modules")
    return project


def with_uv(root: Path, uv: str) -> Project:
    """Return a Python project with a package beside it, which uv has installed and removed, and a lock of it."""
    project = Project(root)
    project.write(
        {
            "pyproject.toml": '[project]\nname = "app"\nversion = "1"\nrequires-python = ">=3.11"\n'
            'dependencies = ["marsh"]\n[tool.uv.sources]\nmarsh = { path = "../marsh" }\n',
            "../marsh/pyproject.toml": '[project]\nname = "marsh"\nversion = "1"\n'
            '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n',
            "../marsh/marsh/__init__.py": "",
            "../marsh/marsh/.agents/skills/marsh-queries/SKILL.md": "---\nname: marsh-queries\ndescription: Q.\n---\n",
        }
    )
    run(uv, "sync", "--quiet", at=project.root)
    project.done("lock")
    shutil.rmtree(project.root / ".venv")
    return project


def test_every_piece_is_tested() -> None:
    source = Path(__file__).read_text()
    assert {name for name in PIECES if f'PIECES["{name}"]' not in source} == set()


def test_a_setup_script(tmp_path: Path) -> None:
    need("bundle")
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing", path="gems/sus")
    project.done("lock")
    project.write({"bin/setup": PIECES["bin/setup"]})
    run("sh", "bin/setup", at=project.root, environ={"BUNDLE_PATH": "vendor/bundle"})
    project.done("verify")
    assert project.installed("testing/SKILL.md").exists()


def test_npm_syncs_when_all_packages_are_there(tmp_path: Path) -> None:
    project = with_npm(tmp_path / "app")
    run("npm", "ci", "--no-audit", "--offline", at=project.root)
    assert project.installed("kelp-routing/SKILL.md").exists()
    project.done("verify")


def test_uv_runs_it_beside_the_project(tmp_path: Path) -> None:
    need_network()
    uv = need_python_tool("uv")
    project = with_uv(tmp_path / "app", uv)
    path = f"{Path(uv).parent}:{os.environ['PATH']}"
    run("sh", "-ec", PIECES["uv.sh"], at=project.root, environ={"PATH": path})
    assert project.installed("marsh-queries/SKILL.md").exists()


def test_a_provider_s_job_finds_what_is_not_packed(tmp_path: Path) -> None:
    need_network()
    need("npm")
    uv = need_python_tool("uv")
    package = {"name": "kelp", "version": "1.0.0", "files": ["lib"]}
    skill = "---\nname: kelp-routing\ndescription: Routes.\n---\n"
    project = Project(tmp_path / "kelp")
    project.write({"package.json": json.dumps(package), "skills/kelp-routing/SKILL.md": skill})
    environ = {"PATH": f"{Path(uv).parent}:{os.environ['PATH']}"}
    done = run("sh", "-ec", PIECES["check.sh"], at=project.root, environ=environ, code=1)
    assert "skills/kelp-routing is not in kelp-1.0.0.tgz" in done.stderr
    project.write({"package.json": json.dumps({**package, "files": ["skills"]})})
    run("sh", "-ec", PIECES["check.sh"], at=project.root, environ=environ)


def test_what_an_image_is_built_by(tmp_path: Path) -> None:
    """Docker alone is missing: each line does in a directory what it does in the image, with a Python of its own."""
    need_network()
    context = with_uv(tmp_path / "context", need_python_tool("uv")).root
    image = tmp_path / "image"
    run(sys.executable, "-m", "venv", str(tmp_path / "python"), at=tmp_path)
    environ = {"PATH": f"{tmp_path}/python/bin:/usr/bin:/bin"}
    for line in PIECES["Dockerfile"].splitlines():
        word, _, rest = line.partition(" ")
        if word == "WORKDIR":
            image.mkdir()
        elif word == "COPY":
            *sources, _ = rest.split()
            run("sh", "-c", f'cp -R {" ".join(sources)} "{image}"', at=context)
        elif word == "RUN":
            mount = re.match(r"--mount=type=bind,from=skillsync,target=/skillsync ", rest)
            command = rest[mount.end() :].replace("/skillsync", str(ROOT)) if mount else rest
            run("sh", "-c", command, at=image, environ=environ)
        else:
            assert line == "FROM python:3.12-slim"
    assert (image / SKILLS / "marsh-queries/SKILL.md").exists()


@pytest.mark.parametrize(
    ("tool", "name", "arguments"),
    [("tox", "tox.ini", ()), ("nox", "noxfile.py", ("--no-error-on-missing-interpreters",))],
)
def test_test_runners_verify(synced: Project, tool: str, name: str, arguments: tuple[str, ...]) -> None:
    program = need_python_tool(tool)
    text = {"tox.ini": PIECES["tox.ini"], "noxfile.py": PIECES["noxfile.py"]}[name]
    synced.write({name: text})
    assert "ok: checked 1 skill" in run(program, *arguments, at=synced.root).stdout
    edited(synced)
    assert "modified" in run(program, *arguments, at=synced.root, code=1).stdout


def test_pre_commit_runs_the_hooks(synced: Project, tmp_path: Path) -> None:
    need_network()
    need("git")
    program = need_python_tool("pre-commit")
    files = run("git", "ls-files", "-z", at=ROOT).stdout.split("\0")
    for file in filter(None, files):
        if file.startswith("skillsync/") or file in {
            "pyproject.toml",
            "README.md",
            "LICENSE",
            ".pre-commit-hooks.yaml",
        }:
            (tmp_path / "hooks" / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, tmp_path / "hooks" / file)
    hooks = tmp_path / "hooks"
    commit = ("git", "-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "--quiet", "-m", "m")
    for command in (("git", "init", "--quiet"), ("git", "add", "."), commit):
        run(*command, at=hooks)
    revision = run("git", "rev-parse", "HEAD", at=hooks).stdout.strip()
    text = PIECES[".pre-commit-config.yaml"].replace("$SKILLSYNC", str(hooks)).replace("$REVISION", revision)
    synced.write({".pre-commit-config.yaml": text})
    run("git", "add", ".pre-commit-config.yaml", at=synced.root)
    environ = {"PRE_COMMIT_HOME": str(tmp_path / "cache")}
    done = run(program, "run", "--all-files", at=synced.root, environ=environ)
    assert done.stdout.count("Passed") == 2
    edited(synced)
    assert (
        f"modified: {SKILLS}/testing/SKILL.md"
        in run(program, "run", "--all-files", at=synced.root, environ=environ, code=1).stdout
    )


def test_gitlab_s_job(tmp_path: Path) -> None:
    need_network()
    project = with_npm(tmp_path / "app")
    job: dict[str, Any] = yaml.safe_load(PIECES[".gitlab-ci.yml"])["skills"]
    run("sh", "-ec", "\n".join(job["script"]), at=project.root)
    assert project.installed("kelp-routing/SKILL.md").exists()


class Action:
    """The action of action.yml, its steps run as a runner runs them."""

    def __init__(self, project: Project, temporary: Path) -> None:
        need_network()
        temporary.mkdir(exist_ok=True)
        self.project = project
        self.summary = temporary / "summary.md"
        self._temporary = temporary
        self._action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())

    def run(self, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the steps up to the first that fails, then those that always run; return the second, the command."""
        given = {name: found["default"] for name, found in self._action["inputs"].items()} | inputs
        environ = {
            "RUNNER_TEMP": str(self._temporary),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }
        results: list[subprocess.CompletedProcess[str]] = []
        for step in self._action["runs"]["steps"]:
            failed = any(result.returncode for result in results)
            condition = step.get("if", "")
            if (failed and "always()" not in condition) or ("summary" in condition and given["summary"] != "true"):
                continue
            variables = {name: self._value(text, given) for name, text in step.get("env", {}).items()}
            results.append(
                subprocess.run(
                    ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]),
                    cwd=self.project.root,
                    env={**os.environ, **environ, **variables},
                    capture_output=True,
                    text=True,
                    check=False,
                )
            )
        return results[1]

    @staticmethod
    def _value(text: str, inputs: Mapping[str, str]) -> str:
        return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs[found[1]], text)


def test_the_action_syncs_and_verifies_and_adds_a_summary(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    project.done("lock")
    action = Action(project, tmp_path / "runner")
    assert action.run().returncode == 1
    assert action.run(command="sync").returncode == 0
    assert action.run(command="verify").returncode == 0
    assert "No differences: the packages ship what the lock has." in action.summary.read_text()
    project.gem("sus", "2.0.0", "testing", files={"skills/testing/x.md": "new\n"})
    action.summary.unlink()
    done = action.run(command="lock --check")
    assert (done.returncode, "out of date" in done.stdout) == (1, True)
    assert "x.md" in action.summary.read_text()
    action.summary.unlink()
    assert action.run(summary="false", project=".").returncode == 1
    assert not action.summary.exists()
    workflow = yaml.safe_load(PIECES[".github/workflows/skills.yml"])
    steps = workflow["jobs"]["skills"]["steps"]
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    assert all(set(step.get("with", {})) <= set(inputs) for step in steps)


def test_an_input_of_the_action_is_never_run_as_shell(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    action = Action(project, tmp_path / "runner")
    for name in ("command", "project", "python"):
        done = action.run(**{name: '"; touch owned; $(touch owned) `touch owned` #'})
        assert done.returncode not in {0, 127}
    assert not (project.root / "owned").exists()
