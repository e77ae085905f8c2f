"""What is published: wheel and sdist, built, checked, installed, and run on every Python there is."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tools import need_network, need_python_tool

import skillsync

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[1]
OLDEST = 11  # of Python 3


def test_the_changelog_has_a_section_for_what_comes_next_and_one_for_each_version() -> None:
    sections = re.findall(r"^## \[(.*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[0] == "Unreleased"
    assert skillsync.__version__ in sections or sections == ["Unreleased"]
    assert len(sections) == len(set(sections))


def interpreters() -> Mapping[str, str]:
    """Every CPython from the oldest that is supported, by its version, where systems and version managers put them.

    The home is the account's: the tests have one of their own.
    """
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = {here: sys.executable}
    for place in (*Path("/usr").glob("bin/python3.*"), *Path("/usr/local").glob("bin/python3.*")):
        if re.fullmatch(r"python3\.\d+", place.name):
            found.setdefault(place.name.removeprefix("python"), str(place))
    for place in home.glob(".pyenv/versions/3.*/bin/python"):
        found.setdefault(".".join(place.parts[-3].split(".")[:2]), str(place))
    return {version: place for version, place in found.items() if int(version.split(".")[1]) >= OLDEST}


INTERPRETERS = interpreters()


def run(*command: str | Path, cwd: Path | None = None, **environ: str) -> str:
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build as `make dist` does; return the wheel and the sdist."""
    need_network()
    into = tmp_path_factory.mktemp("dist")
    run(need_python_tool("uv"), "build", "--quiet", "--out-dir", into, ROOT)
    (wheel,), (sdist,) = into.glob("*.whl"), into.glob("*.tar.gz")
    return wheel, sdist


def test_what_is_built_passes_the_checks_of_the_index(built: tuple[Path, Path]) -> None:
    run(need_python_tool("twine"), "check", "--strict", *built)
    run(need_python_tool("check-wheel-contents"), built[0])


def test_it_passes_its_own_check_as_it_is_built() -> None:
    need_network()
    tools = f"{Path(need_python_tool('uv')).parent}:{os.environ['PATH']}"
    said = run(sys.executable, "-m", "skillsync", "check", ROOT, "--build", PATH=tools)
    assert said.splitlines()[-1] == "ok: checked 3 skills, 3 files, 1 tree, 2 artifacts"


def test_the_wheel_has_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        names = set(wheel.namelist())
        metadata = next(wheel.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
    ours = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "skillsync").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == ours
    assert {"skillsync/py.typed", "skillsync/skills/using-skillsync/SKILL.md"} <= ours
    assert f"\nVersion: {skillsync.__version__}\n" in metadata
    assert "\nLicense-Expression: MIT\n" in metadata


def test_the_sdist_builds_the_same_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, sdist = built
    run(need_python_tool("uv"), "build", "--quiet", "--wheel", "--out-dir", tmp_path, sdist)
    (again,) = tmp_path.glob("*.whl")
    assert dict(contents(again)) == dict(contents(wheel))


def contents(wheel: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(wheel) as opened:
        yield from ((name, opened.read(name)) for name in opened.namelist())


def test_the_sdist_has_what_its_tests_need(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    tracked = run("git", "ls-files", cwd=ROOT).splitlines()
    left_out = {name.partition("/")[0] for name in tracked if name not in names}
    # What is for the repository alone.
    assert left_out <= {".ci", ".github", ".pre-commit-hooks.yaml", "action.yml"}


@pytest.mark.parametrize("resolution", ["highest", "lowest-direct"])
@pytest.mark.parametrize("version", INTERPRETERS)
def test_what_is_installed_works(built: tuple[Path, Path], version: str, resolution: str, tmp_path: Path) -> None:
    uv, place = need_python_tool("uv"), tmp_path / "venv"
    run(uv, "venv", "--quiet", "--python", INTERPRETERS[version], place)
    run(uv, "pip", "install", "--quiet", "--python", place, "--resolution", resolution, "--no-build", built[0])
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
    assert run(place / "bin/skillsync", "--version") == f"skillsync {skillsync.__version__}\n"
    shown = run("sh", ROOT / "fixtures/demo.sh", PATH=path, PYTHONWARNINGS="error")
    assert shown.rstrip().splitlines()[-1].startswith("agent-skills.lock is up to date: ")
    demo = tmp_path / "demo"
    shutil.copytree(ROOT / "fixtures/demo", demo, symlinks=True)
    skill = place / "bin/skillsync"
    for command in ("lock", "sync", "verify --format sarif", "allow gem:driftwood", "diff --html page.html", "help"):
        run(skill, *command.split(), cwd=demo, PYTHONWARNINGS="error")
    listed = json.loads(run(skill, "list", "--format", "json", cwd=demo))
    assert {row["state"] for one in listed["providers"] for row in one["skills"]} >= {"installed"}
    # An older reader of TOML crashed on it, or took it for valid.
    (demo / "agent-skills.lock").write_text("a = " + "[" * 10_000 + "]" * 10_000)
    hostile = subprocess.run([skill, "verify"], cwd=demo, capture_output=True, text=True, check=False)
    assert (hostile.returncode, hostile.stderr.partition(":")[0]) == (2, "error[lock-unreadable]")
    run(skill, "lock", cwd=demo)
    run(skill, "sync", cwd=demo)
    program = "import skillsync as s; print(s.verify(s.find_project('.'), scope=s.Scope.INSTALLED).is_ok)"
    assert run(place / "bin/python", "-c", program, cwd=demo) == "True\n"


def test_a_program_that_uses_it_is_checked(built: tuple[Path, Path], tmp_path: Path) -> None:
    uv, place = need_python_tool("uv"), tmp_path / "venv"
    run(uv, "venv", "--quiet", "--python", sys.executable, place)
    run(uv, "pip", "install", "--quiet", "--python", place, built[0])
    program = tmp_path / "program.py"
    lines = re.search(r"```python\n(.*?)```", (ROOT / "docs/api.md").read_text(), re.DOTALL)
    assert lines
    mypy = (need_python_tool("mypy"), "--strict", "--config-file=", "--python-executable", place / "bin/python")
    program.write_text(lines[1])
    run(*mypy, program, cwd=tmp_path)
    program.write_text(lines[1] + "skillsync.verify(project).is_okay\n")
    done = subprocess.run([*mypy, program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert '"Verified" has no attribute "is_okay"' in done.stdout


def test_its_own_skill_is_installed_as_any_other(built: tuple[Path, Path], tmp_path: Path) -> None:
    uv, app = need_python_tool("uv"), tmp_path / "app"
    app.mkdir()
    (app / "pyproject.toml").write_text('[project]\nname = "app"\nversion = "1"\n')
    run(uv, "venv", "--quiet", "--python", sys.executable, app / ".venv")
    run(uv, "pip", "install", "--quiet", "--python", app / ".venv", built[0])
    skill = app / ".venv/bin/skillsync"
    run(skill, "lock", "--strict", cwd=app)
    run(skill, "sync", cwd=app)
    ours = (ROOT / "skillsync/skills/using-skillsync/SKILL.md").read_bytes()
    assert (app / ".agents/skills/using-skillsync/SKILL.md").read_bytes() == ours
    assert run(skill, "verify", cwd=app).splitlines()[-1] == "ok: checked 1 skill, 1 file, 1 provider (scope all)"
