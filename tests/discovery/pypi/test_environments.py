from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from wheels import write_files, write_venv

from skillsync.discovery.pypi import environments
from skillsync.discovery.pypi import project as projects
from skillsync.discovery.pypi.environments import NotFoundError
from skillsync.errors import Code, SkillsyncError, UnreadableError

if TYPE_CHECKING:
    from pathlib import Path


class World:
    """A project in a repository, and directories that environments can be in."""

    def __init__(self, tmp: Path) -> None:
        self.tmp = tmp
        self.environ: dict[str, str] = {"PATH": "/usr/bin:/bin"}
        write_files(tmp, {"repo/.git/HEAD": "", "repo/app/pyproject.toml": ""})

    @property
    def app(self) -> Path:
        return self.tmp / "repo/app"

    def find(self, python: str | Path | None = None, **environ: str | Path) -> list[str]:
        given = self.environ | {name: str(value) for name, value in environ.items()}
        about = projects.read(str(self.app))
        found = environments.find(about, given, None if python is None else str(python))
        return [path.removeprefix(f"{self.tmp}/") for path in found]

    def refused(self, python: str | Path | None = None, **environ: str | Path) -> str:
        with pytest.raises(NotFoundError) as found:
            self.find(python, **environ)
        assert found.value.hint
        return str(found.value)

    def venv(self, path: str, version: str = "3.11", config: dict[str, str] | None = None) -> str:
        return str(write_venv(self.tmp / path, version, config)).removeprefix(f"{self.tmp}/")

    def script(self, path: str, text: str) -> Path:
        file = self.tmp / path
        write_files(self.tmp, {path: f"#!/bin/sh\n{text}\n"})
        file.chmod(0o755)
        return file


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_order_in_which_environments_count(world: World) -> None:
    names = {"given": "given", "uv": "repo/app/uv-env", ".venv": "repo/app/.venv", "active": "active", "conda": "conda"}
    site = {name: world.venv(path) for name, path in names.items()}
    above = world.venv("repo/.venv")
    world.venv(".venv")
    environ = {"VIRTUAL_ENV": world.tmp / "active", "CONDA_PREFIX": world.tmp / "conda"}
    assert world.find(world.tmp / "given", UV_PROJECT_ENVIRONMENT="uv-env", **environ) == [site["given"]]
    assert world.find(UV_PROJECT_ENVIRONMENT="uv-env", **environ) == [site["uv"]]
    assert world.find(UV_PROJECT_ENVIRONMENT=world.tmp / "given", **environ) == [site["given"]]
    assert world.find(**environ) == [site[".venv"]]
    (world.app / ".venv").rename(world.app / "elsewhere")
    assert world.find(**environ) == [above]
    (world.tmp / "repo/.venv").rename(world.tmp / "repo/elsewhere")
    assert world.find(**environ) == [site["active"]]
    assert world.find(CONDA_PREFIX=world.tmp / "conda") == [site["conda"]]
    assert world.find(VIRTUAL_ENV="../../active") == [site["active"]]
    assert "looked for .venv from the project up to" in world.refused()
    assert "CONDA_PREFIX are not set" in world.refused(VIRTUAL_ENV="")


def test_uvs_environment_is_relative_to_the_workspace(world: World) -> None:
    write_files(world.tmp, {"repo/pyproject.toml": '[tool.uv.workspace]\nmembers = ["app"]\n'})
    site = world.venv("repo/env")
    assert world.find(UV_PROJECT_ENVIRONMENT="env") == [site]


def test_without_a_repository_the_project_alone_is_searched(tmp_path: Path) -> None:
    write_venv(tmp_path / ".venv")
    (tmp_path / "app").mkdir()
    with pytest.raises(NotFoundError, match=r"looked for \.venv; UV"):
        environments.find(projects.read(str(tmp_path / "app")), {}, None)


@pytest.mark.parametrize("name", ["UV_PROJECT_ENVIRONMENT", "VIRTUAL_ENV", "CONDA_PREFIX"])
def test_what_is_named_and_not_there_is_an_error(world: World, name: str) -> None:
    write_venv(world.tmp / "other")
    environ = {"CONDA_PREFIX": str(world.tmp / "other"), name: str(world.tmp / "gone")}
    assert f"{world.tmp}/gone, which {name} names, is not there" in world.refused(None, **environ)
    (world.tmp / "gone").write_text("")
    assert f"which {name} names, is no directory" in world.refused(None, **environ)
    (world.tmp / "gone").unlink()
    (world.tmp / "gone/lib/python3.11").mkdir(parents=True)
    assert f"which {name} names, is no Python environment" in world.refused(None, **environ)


def test_a_broken_venv_is_an_error(world: World) -> None:
    world.venv("active")
    (world.app / ".venv").mkdir()
    assert ".venv is no Python environment" in world.refused(VIRTUAL_ENV=world.tmp / "active")


def test_a_file_that_points_to_an_environment(world: World) -> None:
    site = world.venv("envs/app")
    for text in ("../../envs/app", "../../envs/app\n", str(world.tmp / "envs/app"), "  ../../envs/../envs/app \r\n"):
        (world.app / ".venv").write_text(text)
        assert world.find() == [site]


@pytest.mark.parametrize("content", ["", "\n", "a\0b", "a\nb\n"])
def test_a_file_that_points_nowhere(world: World, content: str) -> None:
    (world.app / ".venv").write_text(content)
    assert world.refused() == ".venv is a file that does not hold the path of an environment"


def test_a_file_that_points_to_what_is_gone(world: World) -> None:
    (world.app / ".venv").write_text("../gone")
    assert f"{world.tmp}/repo/gone, which .venv names, is not there" in world.refused()


def test_links_to_environments(world: World) -> None:
    world.venv("envs/app")
    (world.app / ".venv").symlink_to("../../envs/app")
    assert world.find() == ["repo/app/.venv/lib/python3.11/site-packages"]
    (world.app / ".venv").unlink()
    (world.app / ".venv").symlink_to("gone")
    assert world.refused() == ".venv leads to nothing"


def test_lib64_is_read_once_if_it_is_a_link(world: World) -> None:
    site = world.venv("repo/app/.venv")
    (world.app / ".venv/lib64").symlink_to("lib")
    assert world.find() == [site]
    (world.app / ".venv/lib64").unlink()
    (world.app / ".venv/lib64/python3.11/site-packages").mkdir(parents=True)
    assert world.find() == [site, "repo/app/.venv/lib64/python3.11/site-packages"]


@pytest.mark.parametrize(
    "config", [{"version": "3.10.4"}, {"version_info": "3.10.4", "version": "3.12"}, {"version_info": "3.10.4.final.0"}]
)
def test_of_several_versions_the_configured_one_counts(world: World, config: dict[str, str]) -> None:
    site = world.venv("repo/app/.venv", "3.10", config)
    for other in ("python3.9", "python3.12", "python3"):
        (world.app / ".venv/lib" / other / "site-packages").mkdir(parents=True)
    assert world.find() == [site]


def test_a_configured_version_without_packages_is_an_error(world: World) -> None:
    world.venv("repo/app/.venv", "3.10", {"version": "3.12.1"})
    assert "is no Python environment" in world.refused()


@pytest.mark.parametrize(("linked", "version"), [("python3.9", "3.9"), ("python3", "3.12"), ("pypy3.10", "3.10")])
def test_without_a_configuration_the_interpreters_name_tells(world: World, linked: str, version: str) -> None:
    prefix = world.tmp / "conda"
    for one in ("python3.9", "python3.12", "pypy3.10"):
        (prefix / "lib" / one / "site-packages").mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin/python3").symlink_to(linked)
    name = "pypy" if linked.startswith("pypy") else "python"
    assert world.find(CONDA_PREFIX=prefix) == [f"conda/lib/{name}{version}/site-packages"]


def test_a_free_threaded_interpreter(world: World) -> None:
    (world.app / ".venv/lib/python3.14t/site-packages").mkdir(parents=True)
    assert world.find() == ["repo/app/.venv/lib/python3.14t/site-packages"]


def debian(world: World) -> Path:
    prefix = world.tmp / "usr"
    for path in (
        "lib/python3/dist-packages",
        "local/lib/python3.11/dist-packages",
        "local/lib/python3.12/dist-packages",
        "lib/python3.11/lib-dynload",
    ):
        (prefix / path).mkdir(parents=True)
    world.script("usr/bin/python3.11", "exit 1")
    (prefix / "bin/python3").symlink_to("python3.11")
    return prefix


@pytest.mark.parametrize("named", ["", "bin/python3", "bin/python3.11", "bin/../bin/python3"])
def test_debians_directories(world: World, named: str) -> None:
    prefix = debian(world)
    assert world.find(prefix / named) == ["usr/local/lib/python3.11/dist-packages", "usr/lib/python3/dist-packages"]


def test_a_venv_may_take_in_the_systems_packages(world: World) -> None:
    prefix = debian(world)
    config = {"home": str(prefix / "bin"), "include-system-site-packages": "true"}
    site = world.venv("repo/app/.venv", config=config)
    assert world.find() == [site, "usr/local/lib/python3.11/dist-packages", "usr/lib/python3/dist-packages"]
    (world.app / ".venv/pyvenv.cfg").write_text("include-system-site-packages = true\n")
    assert world.find() == [site]


def test_an_interpreter_in_a_venv_counts_as_the_venv(world: World) -> None:
    prefix = debian(world)
    site = world.venv("repo/app/.venv")
    (world.app / ".venv/bin").mkdir()
    (world.app / ".venv/bin/python").symlink_to(prefix / "bin/python3")
    assert world.find(world.app / ".venv/bin/python") == [site]


def test_a_relative_path_is_relative_to_the_current_directory(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    site = world.venv("env")
    monkeypatch.chdir(world.tmp)
    assert world.find("env") == [site]


def test_a_shim_is_asked_which_interpreter_it_runs(world: World) -> None:
    site = world.venv("env")
    shim = world.script("shims/python3", f'echo "$@" > {world.tmp}/asked\nprintf %s {world.tmp}/env/bin/python3')
    assert world.find(shim) == [site]
    assert (world.tmp / "asked").read_text().startswith("-I -S -c ")


@pytest.mark.parametrize(
    "text", ["exit 1", "printf %s relative/python", "printf /nowhere/bin/python", r"printf '/a\0b'"]
)
def test_an_interpreter_that_tells_nothing(world: World, text: str) -> None:
    assert "shims/python3 is no interpreter" in world.refused(world.script("shims/python3", text))


def test_what_is_no_program(world: World) -> None:
    write_files(world.tmp, {"file": ""})
    assert "is no interpreter" in world.refused(world.tmp / "file")
    assert "gone is not there" in world.refused(world.tmp / "gone")


def test_nothing_is_run_that_nobody_named(world: World) -> None:
    world.script("repo/app/.venv/bin/python3", f"touch {world.tmp}/mark")
    world.script("bin/python3", f"touch {world.tmp}/mark")
    world.environ["PATH"] = f"{world.tmp}/bin"
    site = world.venv("active")
    assert "is no Python environment" in world.refused()
    (world.app / ".venv").rename(world.tmp / "elsewhere")
    assert world.find(VIRTUAL_ENV=world.tmp / "active") == [site]
    assert not (world.tmp / "mark").exists()


def test_what_can_not_be_read_is_not_absent(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.venv("repo/app/.venv")

    def refuse(_path: str) -> list[str]:
        raise UnreadableError("permission denied")

    monkeypatch.setattr(environments, "list_directory", refuse)
    with pytest.raises(SkillsyncError) as found:
        world.find()
    (problem,) = found.value.problems
    assert problem.code is Code.ENVIRONMENT_UNREADABLE
    assert problem.message == ".venv/local/lib can't be read: permission denied"


def hint(world: World, python: str | None = None, **environ: str) -> str:
    with pytest.raises(NotFoundError) as found:
        world.find(python, **environ)
    return found.value.hint


def test_the_hint_fits_the_projects_installer(world: World) -> None:
    other = "activate one, or name one with `--python DIR`"
    venv = "create one, for instance with `python3 -m venv .venv` and `.venv/bin/pip install"
    assert hint(world) == f"{venv} .`, {other}"
    write_files(world.app, {"requirements.txt": ""})
    assert hint(world) == f"{venv} -r requirements.txt`, {other}"
    (world.app / ".venv").mkdir()
    assert hint(world) == f"{venv} -r requirements.txt`"
    write_files(world.app, {"uv.lock": ""})
    assert hint(world, VIRTUAL_ENV="/gone") == "create one, for instance with `uv sync`"
    (world.app / ".venv").rmdir()
    assert hint(world) == f"create one, for instance with `uv sync`, {other}"
    for name in ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT"):
        assert hint(world, **{name: "/gone"}) == f"create one, for instance with `uv sync`, or unset {name}"


@pytest.mark.parametrize("name", ["venv", "env"])
def test_an_environment_of_another_name_is_named(world: World, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (world.app / name).mkdir()
    assert hint(world).startswith("create one")
    site = world.venv(f"repo/app/{name}")
    monkeypatch.chdir(world.app)
    assert hint(world) == f"`--python {name}` names the environment that is there; or activate it"
    assert world.find(name) == [site]
    monkeypatch.chdir(world.tmp)
    assert hint(world).startswith(f"`--python repo/app/{name}` ")
    (world.app / "below").mkdir()
    monkeypatch.chdir(world.app / "below")
    assert hint(world).startswith(f"`--python {world.app}/{name}` ")


def test_what_to_name_instead(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.venv("repo/app/.venv")
    (world.app / ".venv/bin").mkdir()
    monkeypatch.chdir(world.app)
    assert hint(world, ".venv/bin") == "name the directory above it: `--python .venv`"
    path = "`--python` takes the path of an environment, such as `.venv`, or of an interpreter in one"
    for wrong in ("3.11", ".", "gone/bin"):
        assert hint(world, wrong) == path
