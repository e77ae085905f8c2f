"""What pip and uv themselves install, and where Python itself looks for it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import wheels
from tools import need_network
from wheels import skill, write_files

from skillsync.discovery.environment import Environment, Package
from skillsync.discovery.pypi import ecosystem as pypi
from skillsync.discovery.pypi import environments
from skillsync.discovery.pypi import project as projects
from skillsync.filesystem import open_directory
from skillsync.snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

_SITE = f".venv/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
# A build backend that comes with the source tree, so that nothing has to be fetched to build it.
_BACKEND = """\
import pathlib, zipfile

def _write(directory, files):
    about = {
        "local_dep-1.0.dist-info/METADATA": "Metadata-Version: 2.1\\nName: local_dep\\nVersion: 1.0\\n",
        "local_dep-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    files = {**files, **about}
    name = "local_dep-1.0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(directory, name), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr("local_dep-1.0.dist-info/RECORD", "".join(f"{path},,\\n" for path in files))
    return name

def build_wheel(directory, config_settings=None, metadata_directory=None):
    root = pathlib.Path("src")
    return _write(directory, {str(p.relative_to(root)): p.read_text() for p in root.rglob("*") if p.is_file()})

def build_editable(directory, config_settings=None, metadata_directory=None):
    return _write(directory, {"local_dep.pth": str(pathlib.Path("src").resolve())})
"""


@dataclass
class World:
    """A project, and the tools that install into its environment."""

    tmp: Path
    cache: Path

    def __post_init__(self) -> None:
        self.app = self.tmp / "app"
        self.environ = wheels.python_environ(self.tmp / "home", self.cache)
        self.tools = wheels.Tools(self.environ)
        write_files(
            self.app, {"pyproject.toml": '[project]\nname = "app"\nversion = "1"\nrequires-python = ">=3.11"\n'}
        )

    @property
    def site(self) -> Path:
        return self.app / _SITE

    def run(self, *command: str | Path, at: str = "app") -> str:
        return wheels.run(map(str, command), self.tmp / at, self.environ)

    def install(self, tool: str, *requirements: str | Path, mode: str = "copy") -> None:
        """Install into a new environment."""
        self.tools.install(self.app, tool, *requirements, mode=mode)

    def read(self) -> Environment:
        found = pypi.read(str(self.app), {})
        assert isinstance(found, Environment), found
        assert found.problems == ()
        return found

    def package(self, name: str) -> Package:
        (found,) = (package for package in self.read().packages if package.name == name)
        return found


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What was fetched and built once; nothing that a test looks at depends on it."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def world(tmp_path: Path, cache: Path) -> Iterator[World]:
    yield World(tmp_path, cache)
    shutil.rmtree(tmp_path)


def skills_of(package: Package) -> Iterator[str]:
    """Yield the directories in the package's places that hold a skill of its own."""
    for place in package.places:
        directory = Path(package.root, place)
        for child in sorted(directory.iterdir()) if directory.is_dir() else ():
            path = f"{place}/{child.name}"
            if package.owns(path) and (child / "SKILL.md").exists():
                yield path


def content(environment: Environment, *, hashed: bool = True) -> dict[tuple[str, str], dict[str, object]]:
    """Return each package's skills with what was written down of them, and the hash of what is there."""
    found: dict[tuple[str, str], dict[str, object]] = {}
    for package in environment.packages:
        for path in skills_of(package):
            recorded = {file: digest for file, digest in package.recorded(path).items() if digest}
            with open_directory(package.root, path) as fd:
                tree = snapshot(fd, path).hash if hashed else None
            found.setdefault((package.name, package.version), {})[path] = (recorded, tree)
    return found


def local_wheels(directory: Path) -> list[Path]:
    """Zip wheels of every layout."""
    ns = {
        name: {f"ns/{name}/__init__.py": "", f"ns/{name}/skills/{name}/SKILL.md": skill(name)}
        for name in ("alpha", "beta")
    }
    shared = {name: {f"ns/skills/of-{name}/SKILL.md": skill(f"of-{name}")} for name in ns}
    one = {
        **wheels.skills("one", "first", "second"),
        "one/skills/third/SKILL.md": skill("third"),
        "one/.agents/skills/first/scripts/run.py": "print(1)\n",
        "one/.agents/skills/first/references/a,b.md": "text",
        "one/_server/ai/skills/inner/SKILL.md": skill("inner"),
        "one-1.0.data/data/skills/data/SKILL.md": skill("data"),
        "one-1.0.data/purelib/one/skills/fourth/SKILL.md": skill("fourth"),
        "skills/top/SKILL.md": skill("top"),
    }
    return [
        wheels.wheel(directory, "One", "1.0", one),
        wheels.wheel(directory, "ns.alpha", "1.0", {**ns["alpha"], **shared["alpha"]}),
        wheels.wheel(directory, "ns_beta", "2.0rc1", {**ns["beta"], **shared["beta"], "skills/other/SKILL.md": ""}),
        wheels.wheel(directory, "plain", "1.0", {"plain/__init__.py": ""}),
    ]


def test_pip_and_uv_install_the_same(world: World) -> None:
    found = local_wheels(world.tmp / "wheels")
    world.install("pip", "--no-index", "--no-deps", *found)
    assert list((world.site / "one/.agents/skills/first/scripts/__pycache__").iterdir())
    first = world.read()
    assert [(package.key, package.version) for package in first.packages] == [
        ("pypi:ns-alpha", "1.0"), ("pypi:ns-beta", "2.0rc1"), ("pypi:one", "1.0"), ("pypi:plain", "1.0"),
    ]  # fmt: skip
    expected = content(first)
    assert {name: sorted(path.rpartition("/")[2] for path in skills) for (name, _), skills in expected.items()} == {
        "one": ["first", "fourth", "second", "third"],
        "ns-alpha": ["alpha", "of-alpha"],
        "ns-beta": ["beta", "of-beta"],
    }
    recorded = first.packages[2].recorded("one/.agents/skills/first")
    assert set(recorded) >= {"SKILL.md", "references/a,b.md", "scripts/run.py"}
    assert (
        [path for path, digest in recorded.items() if not digest]
        == [path for path in recorded if path.endswith(".pyc")]
        != []
    )
    assert [first.packages[2].owns(f"skills/{name}") for name in ("top", "other")] == [True, False]
    assert (world.app / ".venv/skills/data/SKILL.md").exists()
    for mode in ("copy", "hardlink", "clone"):
        world.install("uv", "--offline", "--no-index", "--no-deps", *found, mode=mode)
        assert content(world.read()) == expected, mode
    world.install("uv", "--offline", "--no-index", "--no-deps", "--compile-bytecode", *found)
    assert content(world.read()) == expected


def test_files_that_are_links_into_a_cache(world: World) -> None:
    found = local_wheels(world.tmp / "wheels")
    world.install("uv", "--offline", "--no-index", "--no-deps", *found)
    expected = content(world.read(), hashed=False)
    world.install("uv", "--offline", "--no-index", "--no-deps", *found, mode="symlink")
    assert (world.site / "one/.agents/skills/first/SKILL.md").is_symlink()
    assert content(world.read(), hashed=False) == expected


def test_directories_that_are_installed_from(world: World) -> None:
    source = world.tmp / "my dép%20"
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    about = '[project]\nname = "local_dep"\nversion = "1.0"\n'
    files = {f"src/{path}": text for path, text in wheels.skills("local_dep", "x").items()}
    write_files(source, {"pyproject.toml": project + about, "backend.py": _BACKEND, **files})
    for tool, options in (("pip", ("--no-index",)), ("uv", ("--offline", "--no-index"))):
        world.install(tool, *options, "--no-deps", "--editable", source.as_uri())
        package = world.package("local-dep")
        assert (package.root, package.record) == (f"{source}/src", None)
        assert list(skills_of(package)) == ["local_dep/.agents/skills/x"]
        world.install(tool, *options, "--no-deps", source.as_uri())
        assert list((world.site / "local_dep-1.0.dist-info").glob("direct_url.json"))
        package = world.package("local-dep")
        assert package.root == str(world.site)
        assert list(skills_of(package)) == ["local_dep/.agents/skills/x"]


def test_environments_of_uv_and_of_python(world: World) -> None:
    found = local_wheels(world.tmp / "wheels")
    world.install("uv", "--offline", "--no-index", "--no-deps", *found)
    assert world.read().sources == (_SITE,)
    expected = content(world.read())
    world.run(sys.executable, "-m", "venv", "--without-pip", "../other")
    (world.app / ".venv").rename(world.tmp / "moved")
    (world.app / ".venv").write_text("../moved")
    assert content(world.read()) == expected
    (world.app / ".venv").write_text("../other\n")
    found_other = world.read()
    assert found_other.packages == ()
    assert [source.removeprefix(f"{world.tmp}/other/") for source in found_other.sources] == [
        _SITE.removeprefix(".venv/")
    ]


def interpreters() -> list[str]:
    """Return the interpreters that can be compared: the one that runs the tests, and the system's."""
    found = dict.fromkeys((str(Path(sys.base_prefix, "bin", "python3")), "/usr/bin/python3"))
    return [path for path in found if Path(path).exists()]


@pytest.mark.parametrize("interpreter", interpreters())
def test_an_interpreters_directories_are_where_it_says(tmp_path: Path, interpreter: str) -> None:
    script = "import json, os, site; print(json.dumps([p for p in site.getsitepackages() if os.path.isdir(p)]))"
    theirs = json.loads(subprocess.check_output((interpreter, "-I", "-S", "-c", script), text=True))
    assert set(environments.find(projects.read(str(tmp_path)), {}, interpreter)) == set(theirs)


# With package indexes


@pytest.mark.parametrize(
    ("backend", "requires", "layout", "more"),
    [
        ("setuptools.build_meta", "setuptools", "", ""),
        ("setuptools.build_meta", "setuptools", "src/", ""),
        ("hatchling.build", "hatchling", "", ""),
        ("hatchling.build", "hatchling", "src/", ""),
        ("uv_build", "uv_build", "src/", ""),
        ("uv_build", "uv_build", "", '[tool.uv.build-backend]\nmodule-root = ""\n'),
    ],
    ids=["setuptools-flat", "setuptools-src", "hatchling-flat", "hatchling-src", "uv-src", "uv-flat"],
)
def test_editable_installs_of_real_backends(world: World, backend: str, requires: str, layout: str, more: str) -> None:
    need_network()
    source = world.tmp / "my dep"
    files = {f"{layout}{path}": text for path, text in wheels.skills("ed_pkg", "x").items()}
    wheels.write_source(source, "ed_pkg", backend, requires, files, more=more)
    (world.app / "sub").mkdir()
    for tool in ("pip", "uv"):
        world.install(tool, "--editable", source.as_uri())
        package = world.package("ed-pkg")
        assert package.root == str(source / layout)
        assert list(skills_of(package)) == ["ed_pkg/.agents/skills/x"]


def test_a_namespace_package_in_an_editable_install(world: World) -> None:
    need_network()
    source = world.tmp / "ns-dep"
    files = {"src/ns/dep/__init__.py": "", "src/ns/dep/skills/x/SKILL.md": skill("x")}
    more = '[tool.uv.build-backend]\nmodule-name = "ns.dep"\n'
    wheels.write_source(source, "ns-dep", "uv_build", "uv_build", files, more=more)
    found = []
    for options in (("--editable",), ()):
        world.install("uv", *options, source)
        found.append(list(skills_of(world.package("ns-dep"))))
    assert found == [["ns/dep/skills/x"]] * 2


def test_the_project_and_its_workspace_are_no_providers(world: World) -> None:
    need_network()
    build = '[build-system]\nrequires = ["uv_build"]\nbuild-backend = "uv_build"\n'
    members = '[tool.uv.workspace]\nmembers = ["packages/*"]\n[tool.uv.sources]\nmember = {workspace = true}\n'
    outside = 'dep = {path = "../dep", editable = true}\n'
    for path, name, more in (
        ("app", "app", f'dependencies = ["member", "dep"]\n{members}{outside}'),
        ("app/packages/member", "member", ""),
        ("dep", "dep", ""),
    ):
        about = f'[project]\nname = "{name}"\nversion = "1"\nrequires-python = ">=3.11"\n'
        files = {f"src/{file}": text for file, text in wheels.skills(name, name).items()}
        write_files(world.tmp / path, {"pyproject.toml": f"{build}{about}{more}", **files})
    for options in ((), ("--no-editable",)):
        shutil.rmtree(world.app / ".venv", ignore_errors=True)
        world.run(world.tools.uv, "sync", "--quiet", *options)
        found = world.read()
        assert [package.name for package in found.packages] == ["dep"]
        assert len(found.notes) == 2
        assert found.named == {"app", "dep", "member"}
        member = pypi.read(str(world.app / "packages/member"), {})
        assert isinstance(member, Environment)
        assert [package.name for package in member.packages] == ["dep"]


def test_a_distribution_that_build_made(world: World) -> None:
    need_network()
    source = world.tmp / "built"
    more = '[tool.setuptools.package-data]\n"*" = ["**/*", ".agents/**/*"]\n'
    files = {**wheels.skills("built", "x"), "built/.agents/skills/x/references/a.md": "text", "MANIFEST.in": ""}
    wheels.write_source(source, "built", "setuptools.build_meta", "setuptools", files, more=more)
    world.run(
        world.tools.uv, "tool", "run", "--from", "build", "pyproject-build", "--wheel", "--outdir", "dist", at="built"
    )
    (wheel,) = (source / "dist").glob("*.whl")
    found = []
    for tool in ("pip", "uv"):
        world.install(tool, "--no-deps", wheel)
        found.append(content(world.read()))
    assert found[0] == found[1]
    assert [list(skills) for skills in found[0].values()] == [["built/.agents/skills/x"]]


def test_what_setup_py_install_leaves_has_no_record(world: World) -> None:
    need_network()
    source = world.tmp / "old"
    arguments = "name='Old.Dep', version='1', packages=['old_dep'], include_package_data=True"
    setup = f"from setuptools import setup\nsetup({arguments})\n"
    write_files(source, {"setup.py": setup, "MANIFEST.in": "graft old_dep\n", **wheels.skills("old_dep", "x")})
    world.install("uv", "setuptools==75.8.0")
    python = world.app / ".venv/bin/python"
    command = ("setup.py", "install", "--single-version-externally-managed", "--record", world.tmp / "files.txt")
    world.run(python, *command, at="old")
    assert list(world.site.glob("*.egg-info/SOURCES.txt"))
    found = pypi.read(str(world.app), {})
    assert isinstance(found, Environment)
    assert [problem.provider for problem in found.problems] == ["pypi:old-dep"]
    (package,) = (package for package in found.packages if package.name == "old-dep")
    assert list(skills_of(package)) == ["old_dep/.agents/skills/x"]


# Published packages, pinned: where their skills are, and how many.
_PUBLISHED = {
    "asyncer==0.0.18": {"asyncer/.agents/skills": 1},
    "fastapi==0.165.0": {"fastapi/.agents/skills": 1},
    "marimo==0.25.2": {},
    "modal==1.6.4": {"modal/skills": 1},
    "pydantic-ai-slim==2.68.0": {"pydantic_ai/.agents/skills": 9},
    "pydantic-settings-aws==1.1.0": {},
    "sqlmodel==0.0.50": {"sqlmodel/.agents/skills": 1},
    "streamlit==1.67.0": {"streamlit/.agents/skills": 1},
    "typer==0.29.2": {"typer/.agents/skills": 1},
}


def test_published_packages(world: World) -> None:
    need_network()
    world.install("pip", "--no-deps", *_PUBLISHED)
    first = world.read()
    expected = {
        pypi.canonical(requirement.partition("==")[0]): counts for requirement, counts in _PUBLISHED.items() if counts
    }
    counted: dict[str, dict[str, int]] = {}
    for package in first.packages:
        for path in skills_of(package):
            counts = counted.setdefault(package.name, {})
            place = path.rpartition("/")[0]
            counts[place] = counts.get(place, 0) + 1
    assert counted == expected
    world.install("uv", "--no-deps", *_PUBLISHED)
    assert content(world.read()) == content(first)
