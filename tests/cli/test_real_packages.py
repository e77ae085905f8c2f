"""The whole program over what pip, uv, npm, pnpm, yarn and bun themselves install."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import gems
import node_packages
import pytest
import wheels
from gems import skill
from node_packages import Registry, described, node_environ, publish, run
from projects import LOCK, Project, content, in_sync
from tools import need, need_network

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

SCRIPT = "#!/bin/sh\necho from the package\n"
# Published packages, pinned, that nobody wrote for skillsync; and what of them is locked.
PYTHON = ("fastapi==0.165.0", "streamlit==1.67.0", "pydantic-ai-slim==2.68.0", "typer==0.29.2", "modal==1.6.4")
NODE = {
    "@reduxjs/toolkit": "2.15.0",  # its skills are one level deeper: none is found
    "@supabase/server": "1.4.1",  # a description of more than 1024 characters is a warning
    "@tanstack/router-core": "1.171.39",
    "@tanstack/table-core": "9.3.1",
}


def done(project: Project, *locked: str) -> tuple[bytes, dict[str, tuple[object, ...]]]:
    """Lock, sync and verify from the beginning; return the lock and what was installed."""
    (project.root / LOCK).unlink(missing_ok=True)
    shutil.rmtree(project.root / ".agents", ignore_errors=True)
    for command in ("list", "lock", "sync", "verify"):
        project.done(command)
    if locked:
        in_sync(project, *locked)
    return (project.root / LOCK).read_bytes(), content(project.installed())


# Python


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> wheels.Tools:
    root = tmp_path_factory.mktemp("python")
    return wheels.Tools(wheels.python_environ(root / "home", root / "cache"))


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    yield Project(tmp_path / "app")
    shutil.rmtree(tmp_path)


def test_however_a_wheel_was_installed_the_lock_and_the_skills_are_the_same(
    python: wheels.Tools, project: Project, tmp_path: Path
) -> None:
    files = {**wheels.skills("one", "x"), "one/skills/y/SKILL.md": skill("y")}
    files |= {"one/skills/y/scripts/run": SCRIPT, "one/skills/y/scripts/run.py": "print(1)\n"}
    found = [wheels.wheel(tmp_path / "wheels", "One", "1.0", files)]
    python.install(project.root, "pip", "--no-index", "--no-deps", *found)
    locked = ("one 1.0 x", "one 1.0 y")
    expected = done(project, *locked)
    ran = subprocess.run((project.installed("y/scripts/run"),), capture_output=True, check=True)
    assert ran.stdout == b"from the package\n"
    for mode in ("copy", "hardlink", "clone", "symlink"):
        python.install(project.root, "uv", "--offline", "--no-index", "--no-deps", *found, mode=mode)
        assert project.done("lock", "--check", "--strict").code == 0
        assert done(project, *locked) == expected, mode


def test_a_python_package_from_the_first_install_to_the_last(
    python: wheels.Tools, project: Project, tmp_path: Path
) -> None:
    project.write({"requirements.txt": "one\n"})
    old, new = (
        wheels.wheel(tmp_path / "wheels", "one", version, {**wheels.skills("one", *names), "one/new.py": version})
        for version, names in (("1.0", ("x", "y")), ("1.1", ("y", "z")))
    )
    options = ("--offline", "--no-index", "--no-deps")
    python.install(project.root, "uv", *options, old)
    done(project, "one 1.0 x", "one 1.0 y")
    # Updated in place, as people do it.
    wheels.run(
        (python.uv, "pip", "install", "--quiet", "--python", ".venv/bin/python", *options, str(new)),
        project.root,
        python.environ,
    )
    assert project.run("verify", "--format", "json").drift == [
        ("stale-lock", "x"), ("stale-lock", "y"), ("stale-lock", "z"),
    ]  # fmt: skip
    assert project.done("lock", "--format", "json").changes == [("remove", "x"), ("update", "y"), ("add", "z")]
    assert project.done("sync", "--format", "json").changes == [("remove", "x"), ("record", "y"), ("add", "z")]
    in_sync(project, "one 1.1 y", "one 1.1 z")
    other = wheels.wheel(tmp_path / "wheels", "other", "1.0", {"other/__init__.py": ""})
    python.install(project.root, "uv", *options, other)
    assert project.run("lock", "--format", "json").codes == ["missing-provider"]
    project.write({"requirements.txt": "other\n"})
    project.done("lock")
    project.done("sync")
    in_sync(project)


def test_published_python_packages_are_the_same_to_pip_and_uv(python: wheels.Tools, project: Project) -> None:
    need_network()
    found = []
    for tool in ("pip", "uv"):
        python.install(project.root, tool, "--no-deps", *PYTHON)
        found.append(done(project))
    assert found[0] == found[1]
    counts: dict[str, int] = {}
    for row in project.locked:
        name, version, _ = row.split(" ")
        counts[f"{name}=={version}"] = counts.get(f"{name}=={version}", 0) + 1
    assert counts == dict(zip(PYTHON, (1, 1, 9, 1, 1), strict=True))


# npm


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """An environment whose package index has two packages with skills, one of which needs the other."""
    need("node", "npm")
    root = tmp_path_factory.mktemp("npm")
    with Registry() as registry:
        environ = node_environ(root / "home", registry.url)
        sources = []
        for name, needs, names in (("@acme/inner", {}, ("inner",)), ("demo", {"@acme/inner": "1"}, ("x", "y"))):
            files = {f"skills/{one}/scripts/run": SCRIPT for one in names} | gems.skills(*names)
            text = described(name, "1.0.0", dependencies=needs)
            gems.write_files(root / name, {"package.json": text, **files})
            sources.append(root / name)
        publish(registry, root, sources, environ)
        yield environ


DEMO = ("@acme/inner 1.0.0 inner", "demo 1.0.0 x", "demo 1.0.0 y")


def test_an_npm_package_from_the_first_install_to_the_last(index: Mapping[str, str], project: Project) -> None:
    project.write({"package.json": json.dumps({"name": "app", "dependencies": {"demo": "1"}})})
    run(("npm", "install"), project.root, index)
    done(project, *DEMO)
    ran = subprocess.run((project.installed("x/scripts/run"),), capture_output=True, check=True)
    assert ran.stdout == b"from the package\n"
    run(("npm", "uninstall", "demo"), project.root, index)
    gems.write_files(project.root / "local", {"package.json": described("local")})
    run(("npm", "install", "./local"), project.root, index)
    assert project.done("lock", "--format", "json").changes == [("remove", name) for name in ("inner", "x", "y")]
    project.done("sync")
    in_sync(project)


def node_installers(tools: node_packages.Tools) -> dict[str, tuple[tuple[str, ...], dict[str, str]]]:
    """Return what is run to install, and the settings beside package.json."""
    pnpm = (*tools.pnpm, "install", "--no-frozen-lockfile")
    return {
        "npm": (("npm", "install"), {}),
        "pnpm": (pnpm, {}),
        "pnpm-hoisted": (pnpm, {"pnpm-workspace.yaml": "nodeLinker: hoisted\n"}),
        "yarn": ((*tools.yarn, "install"), {"yarn.lock": "", ".yarnrc.yml": "nodeLinker: node-modules\n"}),
        "bun": ((*tools.bun, "install"), {}),
    }


def installed_by(
    tools: node_packages.Tools, environ: Mapping[str, str], directory: Path, dependencies: Mapping[str, str], name: str
) -> Project:
    command, files = node_installers(tools)[name]
    text = json.dumps({"name": "app", "dependencies": dependencies})
    project = Project(directory / name).write({"package.json": text, **files})
    run(command, project.root, environ)
    return project


def test_whichever_package_manager_installed_it_the_lock_is_the_same(
    node_tools: node_packages.Tools, index: Mapping[str, str], tmp_path: Path
) -> None:
    need_network()
    found = [
        done(installed_by(node_tools, index, tmp_path, {"demo": "1"}, name), *DEMO)
        for name in node_installers(node_tools)
    ]
    assert all(one == found[0] for one in found)


def test_published_npm_packages_are_the_same_to_npm_and_pnpm(node_tools: node_packages.Tools, tmp_path: Path) -> None:
    need_network()
    environ = node_environ(tmp_path / "home")
    # What they need in turn is not pinned, and each takes what is new enough for it.
    admitted = "".join(f'"{name}" = "{version}"\n' for name, version in NODE.items())
    found = []
    for name in ("npm", "pnpm"):
        project = installed_by(node_tools, environ, tmp_path, NODE, name)
        project.manifest(f"version = 1\n[providers.npm]\n{admitted}")
        found.append(done(project))
        counts: dict[str, int] = {}
        for row in project.locked:
            package, version, _ = row.split(" ")
            counts[package] = counts.get(package, 0) + 1
            assert NODE[package] == version
        assert counts == {"@supabase/server": 1, "@tanstack/router-core": 1, "@tanstack/table-core": 5}
        report = project.done("lock", "--format", "json").json
        said = {(one["code"], one["severity"], one["provider"]) for one in report["problems"]}
        assert said == {
            ("skill-not-found", "warning", "npm:@reduxjs/toolkit"),
            ("invalid-skill", "warning", "npm:@supabase/server"),
        }
    assert found[0] == found[1]
    shutil.rmtree(tmp_path / "home")


def test_what_pnpm_approved_is_foreign_and_its_lines_stay(
    node_tools: node_packages.Tools, index: Mapping[str, str], tmp_path: Path
) -> None:
    need_network()
    project = installed_by(node_tools, index, tmp_path, {"demo": "1"}, "pnpm")
    # It links into the directories of agents that are there already.
    gems.write_files(project.installed(), {"mine/SKILL.md": skill("mine"), ".gitignore": "*.log\n"})
    run((*node_tools.pnpm, "approve", "demo"), project.root, index)
    assert {path.name for path in project.installed().iterdir() if path.is_symlink()} == {"x", "y"}
    theirs = project.installed(".gitignore").read_text()
    links = {name: os.readlink(project.installed(name)) for name in ("x", "y")}
    project.done("lock")
    result = project.run("sync", "--force", "--format", "json")
    assert (result.code, result.codes) == (3, ["unmanaged", "unmanaged"])
    project.manifest('version = 1\n[providers.npm]\n"@acme/*" = "*"\n').done("lock")
    project.done("sync")
    assert {name: os.readlink(project.installed(name)) for name in ("x", "y")} == links
    assert project.installed(".gitignore").read_text().startswith(theirs)
    assert "not skillsync's in .agents/skills: mine, x, y" in project.done("verify").out
    # And the other way round: pnpm takes its own away, and leaves what is skillsync's.
    run((*node_tools.pnpm, "approve", "!demo"), project.root, index)
    project.done("verify")
    assert not project.installed("x").is_symlink()
    assert "/inner/\n" in project.installed(".gitignore").read_text()


# All at once


def test_three_real_installers_in_one_project(
    python: wheels.Tools, index: Mapping[str, str], project: Project, tmp_path: Path
) -> None:
    need("ruby", "gem")
    environ = gems.ruby_environ(tmp_path / "home")
    gem = gems.build_gem(tmp_path, "sus", "1.0.0", files=gems.skills("testing"))
    wheel = wheels.wheel(tmp_path, "one", "1.0", wheels.skills("one", "routing"))
    install: dict[str, Callable[[], object]] = {
        "gem": lambda: gems.install_gem(gem, project.root / "vendor/bundle/ruby/3.1.0", environ),
        "pypi": lambda: python.install(project.root, "pip", "--no-index", "--no-deps", wheel),
        "npm": lambda: run(("npm", "install"), project.root, index),
    }
    project.gem("sus", "1.0.0", "testing")  # its bundle; the gem itself comes from RubyGems
    shutil.rmtree(project.root / "vendor")
    project.write({"package.json": json.dumps({"name": "app", "dependencies": {"demo": "1"}})})
    installed(install.values())
    before = done(project, "sus 1.0.0 testing", *DEMO, "one 1.0 routing")
    for path in ("vendor", ".venv", "node_modules"):
        shutil.rmtree(project.root / path)
    installed(reversed(install.values()))
    assert done(project) == before


def installed(steps: Iterable[Callable[[], object]]) -> None:
    for step in steps:
        step()
