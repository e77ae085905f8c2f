"""What npm, pnpm, yarn and bun themselves install."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import gems
import pytest
from node_packages import Registry, Tools, archive, described, node_environ, publish, run, write_package
from tools import need_network

from skillsync.discovery.environment import Environment, NoEnvironment
from skillsync.discovery.npm import ecosystem as npm
from skillsync.discovery.provider import look
from skillsync.errors import Code
from skillsync.filesystem import open_directory
from skillsync.snapshot import snapshot
from skillsync.syncing import gitignore

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MARK = "require('fs').writeFileSync(process.env.HOME + '/mark', 'run')\n"
# By name and version: what is depended on, and the names of the skills.
_PACKAGES: Mapping[str, tuple[dict[str, object], tuple[str, ...]]] = {
    "demo@1.0.0": ({}, ("testing",)),
    "demo@2.0.0": ({}, ("testing", "more")),
    "leaf@1.0.0": ({}, ("leaf",)),
    "parent@1.0.0": ({"dependencies": {"demo": "1.0.0", "leaf": "^1.0.0"}}, ()),
    "cousin@1.0.0": ({"dependencies": {"demo": "2.0.0"}}, ()),
    "@acme/scoped@1.0.0": ({"dependencies": {"@acme/inner": "1.0.0"}}, ("scoped",)),
    "@acme/inner@1.0.0": ({}, ("inner",)),
    "peered@1.0.0": ({"peerDependencies": {"demo": "*"}}, ("peered",)),
    "uses-peered@1.0.0": ({"dependencies": {"peered": "1.0.0", "demo": "1.0.0"}}, ()),
    "uses-alias@1.0.0": ({"dependencies": {"leaf-cjs": "npm:leaf@1.0.0"}}, ()),
}
# By name: what the package calls itself, and what it says that it brings. Each brings one more.
_FALSE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "quiet": ("quiet", ()),
    "bundling": ("bundling", ("leaf",)),
    "innocent": ("@acme/told", ()),
}
_DEPENDENCIES = {
    "@acme/scoped": "^1.0.0",
    "aliased": "npm:leaf@1.0.0",
    "cousin": "1.0.0",
    "demo": "2.0.0",
    "local": "file:./local",
    "parent": "1.0.0",
    "uses-alias": "1.0.0",
    "uses-peered": "1.0.0",
}
_FOUND = {*_PACKAGES, "local@0.3.0"} - {"demo@1.0.0"}


@dataclass(frozen=True)
class Installer:
    """A package manager in one of its modes: what its project has beside package.json, and what is run."""

    command: tuple[str, ...]
    files: Mapping[str, str]
    environ: Mapping[str, str]

    def install(self, project: Path) -> None:
        gems.write_files(project, self.files)
        run(self.command, project, self.environ)


@dataclass(frozen=True)
class Setting:
    """The tools, and an environment in which they install from our own index."""

    tools: Tools
    environ: Mapping[str, str]

    def installer(self, name: str) -> Installer:
        pnpm, yarn, bun = (
            (*self.tools.pnpm, "install", "--no-frozen-lockfile"),
            (*self.tools.yarn, "install"),
            self.tools.bun,
        )
        commands: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
            "npm": (("npm", "install"), {}),
            "npm-linked": (("npm", "install", "--install-strategy=linked"), {}),
            "npm-nested": (("npm", "install", "--install-strategy=nested"), {}),
            "pnpm": (pnpm, {}),
            "pnpm-hoisted": (pnpm, {"pnpm-workspace.yaml": "nodeLinker: hoisted\n"}),
            "pnpm-global": (pnpm, {"pnpm-workspace.yaml": "enableGlobalVirtualStore: true\n"}),
            "pnpm-10": ((*self.tools.pnpm10, *pnpm[1:]), {}),
            "yarn": (yarn, {"yarn.lock": "", ".yarnrc.yml": "nodeLinker: node-modules\n"}),
            "yarn-pnpm": (yarn, {"yarn.lock": "", ".yarnrc.yml": "nodeLinker: pnpm\n"}),
            "yarn-pnp": (yarn, {"yarn.lock": ""}),
            "yarn-1": ((*self.tools.yarn1, "install", "--non-interactive"), {}),
            "bun": ((*bun, "install", "--linker", "hoisted"), {}),
            "bun-isolated": ((*bun, "install", "--linker", "isolated"), {}),
        }
        return Installer(*commands[name], self.environ)


@pytest.fixture(scope="module")
def setting(node_tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    """Pack the packages once, and serve them; whatever they are told, package managers ask for more."""
    need_network()
    root = tmp_path_factory.mktemp("npm")
    with Registry() as registry:
        environ = node_environ(root / "home", registry.url)
        sources = []
        for number, (full, (more, skills)) in enumerate(_PACKAGES.items()):
            name, _, version = full.rpartition("@")
            source = root / f"sources/{number}"
            files = {f"skills/{skill}/scripts/run": f"#!/bin/sh\necho {full}\n" for skill in skills}
            package = described(name, version, **more)
            gems.write_files(source, {"package.json": package, "index.js": _MARK, **gems.skills(*skills), **files})
            sources.append(source)
        publish(registry, root, sources, environ)
        for name, (own_name, bundled) in _FALSE.items():
            source = root / f"false/{name}"
            more = {"dependencies": dict.fromkeys(bundled, "1.0.0"), "bundleDependencies": list(bundled)}
            write_package(source, own_name, "1.0.0", "own", **more)
            for inner in (*bundled, "@acme/hidden"):
                write_package(source / f"node_modules/{inner}", inner, "1.0.0", "evil")
            registry.add({"name": name, "version": "1.0.0", **more}, archive(source))
        yield Setting(node_tools, environ)


def project(directory: Path, dependencies: Mapping[str, str] = _DEPENDENCIES) -> Path:
    """Write a project with one package of its own beside those of the index."""
    gems.write_files(directory, {"package.json": json.dumps({"name": "app", "dependencies": dependencies})})
    gems.write_files(directory / "local", {"package.json": described("local", "0.3.0"), **gems.skills("local")})
    return directory


def read(directory: Path, setting: Setting) -> Environment:
    found = npm.read(str(directory), setting.environ)
    assert isinstance(found, Environment), found
    assert {package.source for package in found.packages} <= set(found.sources)
    assert not Path(setting.environ["HOME"], "mark").exists(), "discovery ran what is in a package"
    return found


def shipped(found: Environment) -> dict[str, dict[str, str | None]]:
    """The packages that count, and the hashes of the skills in each."""
    packages: dict[str, dict[str, str | None]] = {}
    for package in found.packages:
        skills = {}
        for skill in look(package, package.places).skills:
            with open_directory(package.root, skill.path) as fd:
                skills[skill.name] = snapshot(fd, skill.path).hash
        # A package that is there in several directories has the same skills in all of them.
        assert packages.setdefault(f"{package.name}@{package.version}", skills) == skills
    return packages


_EVERY = [
    *("npm", "npm-linked", "npm-nested", "pnpm", "pnpm-hoisted", "pnpm-global", "pnpm-10"),
    *("yarn", "yarn-pnpm", "yarn-1", "bun", "bun-isolated"),
]


@pytest.mark.parametrize("name", _EVERY)
def test_whatever_installs_the_same_is_found(setting: Setting, tmp_path: Path, name: str) -> None:
    directory = project(tmp_path / "app")
    setting.installer(name).install(directory)
    found = read(directory, setting)
    packages = shipped(found)
    assert set(packages) == _FOUND
    assert {full: sorted(skills) for full, skills in packages.items() if full in _PACKAGES} == {
        full: sorted(skills) for full, (_, skills) in _PACKAGES.items() if full in _FOUND
    }
    assert (found.problems, [package for package in found.packages if package.problems]) == ((), [])
    assert found.named >= {full.rpartition("@")[0] for full in _FOUND}
    (note,) = (note for note in found.notes if note.startswith("npm:demo "))
    assert note.startswith("npm:demo 2.0.0 in node_modules/demo counts, as the nearest; not 1.0.0 in ")


@pytest.mark.parametrize("name", _EVERY)
def test_what_comes_under_another_packages_name_is_left_out(setting: Setting, tmp_path: Path, name: str) -> None:
    # pnpm 12 doesn't install a package that calls itself otherwise, once it is in its store.
    names = [false for false in _FALSE if false != "innocent" or not name.startswith("pnpm")]
    directory = project(tmp_path / "app", {**dict.fromkeys(names, "1.0.0"), "leaf": "1.0.0"})
    setting.installer(name).install(directory)
    found = read(directory, setting)
    assert {full: sorted(skills) for full, skills in shipped(found).items()} == {
        "bundling@1.0.0": ["own"],
        "leaf@1.0.0": ["leaf"],
        "quiet@1.0.0": ["own"],
    }
    assert {problem.code for problem in found.problems} <= {Code.AMBIGUOUS_PROVIDER}
    assert {problem.provider for problem in found.problems} <= {"npm:@acme/told", "npm:@acme/hidden"}


def test_npm_and_pnpm_agree_about_what_nothing_depends_on_directly(setting: Setting, tmp_path: Path) -> None:
    found = []
    for name in ("npm", "pnpm", "pnpm-10", "pnpm-global"):
        dependencies = {key: value for key, value in _DEPENDENCIES.items() if key != "demo"}
        directory = project(tmp_path / name, dependencies)
        setting.installer(name).install(directory)
        found.append(shipped(read(directory, setting)))
    assert found[0].keys() == _FOUND
    assert all(other == found[0] for other in found)


@pytest.mark.parametrize("name", ["npm", "npm-linked", "pnpm", "pnpm-hoisted", "yarn", "yarn-1", "bun", "bun-isolated"])
def test_of_a_workspace_every_members_dependencies_are_found(setting: Setting, tmp_path: Path, name: str) -> None:
    root = tmp_path / "app"
    own = "workspace:*" if name.startswith(("pnpm", "yarn", "bun")) and name != "yarn-1" else "*"
    members = {
        "a": {"demo": "1.0.0", "@app/c": own, "@acme/scoped": "1.0.0"},
        "b": {"demo": "1.0.0", "uses-peered": "1.0.0"},
        "c": {},
    }
    top = {"name": "app", "private": True, "workspaces": ["packages/*"], "dependencies": {"leaf": "1.0.0"}}
    gems.write_files(root, {"package.json": json.dumps(top)})
    for member, dependencies in members.items():
        files = {"package.json": described(f"@app/{member}", dependencies=dependencies), **gems.skills(member)}
        gems.write_files(root / f"packages/{member}", files)
    installer = setting.installer(name)
    if name.startswith("pnpm"):
        linker = installer.files.get("pnpm-workspace.yaml", "")
        patterns = f"{linker}packages:\n  - packages/*\n"
        installer = Installer(installer.command, {"pnpm-workspace.yaml": patterns}, installer.environ)
    installer.install(root)
    expected = {
        "leaf@1.0.0",
        "demo@1.0.0",
        "@acme/scoped@1.0.0",
        "@acme/inner@1.0.0",
        "uses-peered@1.0.0",
        "peered@1.0.0",
    }
    for at in (".", "packages/a", "packages/b", "packages/c"):
        assert set(shipped(read(root / at, setting))) == expected, at


@pytest.mark.parametrize("name", ["npm", "pnpm"])
def test_a_member_has_its_own_version(setting: Setting, tmp_path: Path, name: str) -> None:
    root = tmp_path / "app"
    gems.write_files(root, {"package.json": json.dumps({"name": "app", "workspaces": ["packages/*"]})})
    gems.write_files(root, {"pnpm-workspace.yaml": "packages:\n  - packages/*\n"})
    for member, version in (("a", "1.0.0"), ("b", "2.0.0")):
        package = described(f"@app/{member}", dependencies={"demo": version})
        gems.write_files(root / f"packages/{member}", {"package.json": package})
    setting.installer(name).install(root)
    assert set(shipped(read(root, setting))) == {"demo@1.0.0"}
    assert set(shipped(read(root / "packages/a", setting))) == {"demo@1.0.0"}
    assert set(shipped(read(root / "packages/b", setting))) == {"demo@2.0.0"}


def test_what_pnpm_leaves_in_its_store_is_not_installed(setting: Setting, tmp_path: Path) -> None:
    directory = project(tmp_path / "app")
    setting.installer("pnpm-10").install(directory)
    run((*setting.tools.pnpm10, "remove", "@acme/scoped"), directory, setting.environ)
    assert (directory / "node_modules/.pnpm/@acme+scoped@1.0.0/node_modules/@acme/scoped/skills").is_dir()
    assert set(shipped(read(directory, setting))) == _FOUND - {"@acme/scoped@1.0.0", "@acme/inner@1.0.0"}


def test_plug_n_play_is_an_error_and_what_it_leaves_a_warning(setting: Setting, tmp_path: Path) -> None:
    directory = project(tmp_path / "app")
    setting.installer("yarn-pnp").install(directory)
    found = npm.read(str(directory), setting.environ)
    assert isinstance(found, NoEnvironment)
    assert found.problem.hint == "set `nodeLinker: node-modules` in .yarnrc.yml and run `yarn install`"
    assert found.named >= _DEPENDENCIES.keys() - {"aliased"}
    kept = (directory / ".pnp.cjs").read_bytes()
    gems.write_files(directory, {".yarnrc.yml": "nodeLinker: node-modules\n"})
    run((*setting.tools.yarn, "install"), directory, setting.environ)
    (directory / ".pnp.cjs").write_bytes(kept)
    assert [problem.code for problem in read(directory, setting).problems] == [Code.ENVIRONMENT_UNREADABLE]
    assert set(shipped(read(directory, setting))) == _FOUND


def test_what_pnpm_approve_wrote_into_gitignore_stays(setting: Setting, tmp_path: Path) -> None:
    directory = project(tmp_path / "app", {"demo": "2.0.0", "@acme/scoped": "1.0.0"})
    skills = directory / ".agents/skills"
    gems.write_files(skills, {"mine/SKILL.md": gems.skill("mine"), ".gitignore": "*.log\n"})
    setting.installer("pnpm").install(directory)
    run((*setting.tools.pnpm, "approve", "--all"), directory, setting.environ)
    links = {path.name for path in skills.iterdir() if path.is_symlink()}
    assert links == {"testing", "more", "scoped"}
    theirs = (skills / ".gitignore").read_text()
    assert theirs == "*.log\n# pnpm\n/more\n/scoped\n/testing\n# pnpm end\n"

    ours = gitignore.updated(theirs, ("fastapi",), enabled=True)
    assert ours.startswith(theirs)
    assert gitignore.updated(ours, ("fastapi",), enabled=True) == ours
    assert gitignore.updated(ours, (), enabled=False) == theirs
    # pnpm leaves our block alone as well, wherever its own then is.
    (skills / ".gitignore").write_text(gitignore.updated("", ("fastapi",), enabled=True) + theirs)
    run((*setting.tools.pnpm, "approve", "!demo"), directory, setting.environ)
    again = (skills / ".gitignore").read_text()
    assert again == gitignore.updated("", ("fastapi",), enabled=True) + "*.log\n# pnpm\n/scoped\n# pnpm end\n"
    assert gitignore.updated(again, ("fastapi",), enabled=True) == again


# What is public, pinned: not written for skillsync, and not ours to mend. By name: the version, and how many skills.
_PUBLIC = {
    "@reduxjs/toolkit": ("2.15.0", 0),  # its skills are one level deeper
    "@supabase/server": ("1.4.1", 1),
    "@tanstack/router-core": ("1.171.39", 1),
    "@tanstack/table-core": ("9.3.1", 5),
}


def test_public_packages_are_the_same_to_npm_and_pnpm(node_tools: Tools, tmp_path: Path) -> None:
    need_network()
    setting = Setting(node_tools, node_environ(tmp_path / "home"))
    dependencies = {name: version for name, (version, _) in _PUBLIC.items()}
    found = []
    for name in ("npm", "pnpm", "pnpm-hoisted"):
        directory = tmp_path / name
        gems.write_files(directory, {"package.json": json.dumps({"name": "app", "dependencies": dependencies})})
        setting.installer(name).install(directory)
        found.append(shipped(read(directory, setting)))
    # Of what is not pinned here, each takes the version that is new enough, and old enough, for it.
    providers = [{full: skills for full, skills in packages.items() if skills} for packages in found]
    assert providers[0] == providers[1] == providers[2]
    assert {name: (version, len(found[0][f"{name}@{version}"])) for name, (version, _) in _PUBLIC.items()} == _PUBLIC
    shutil.rmtree(tmp_path / "home")
