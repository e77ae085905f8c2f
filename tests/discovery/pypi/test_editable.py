from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from wheels import write_files

from skillsync.discovery.pypi import editable
from skillsync.errors import UnreadableError

if TYPE_CHECKING:
    from pathlib import Path


class World:
    """A site directory and a source tree."""

    def __init__(self, tmp: Path) -> None:
        self.site = tmp / "site"
        self.source = tmp / "source"
        self.site.mkdir()
        self.source.mkdir()

    def write(self, *files: str) -> None:
        write_files(self.source, dict.fromkeys(files, ""))

    def pth(self, *lines: str) -> None:
        text = "\n".join(line.format(source=self.source, site=self.site) for line in lines)
        (self.site / "_e.pth").write_text(text)

    def read(self, *hints: str, name: str = "ed-pkg") -> tuple[str, list[str]]:
        """Return the import directory relative to the source tree, and the import packages in it."""
        files = [path.name for path in self.site.iterdir()] + ["gone.pth", "x.dist-info/y.pth", "x.py"]
        found = editable.read(str(self.site), str(self.source), files, hints, name)
        return found.root.removeprefix(str(self.source)).lstrip("/"), list(found.packages)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("line", ["{source}/src", "{source}/src/", "{source}/./src\n", "import x\n{source}/src"])
def test_the_pth_file_tells_the_directory(world: World, line: str) -> None:
    world.write("src/ed_pkg/__init__.py", "src/other/x.py", "docs/__init__.py")
    world.pth(line)
    assert world.read() == ("src", ["ed_pkg", "other"])


def test_a_directory_of_any_name_may_be_told(world: World) -> None:
    world.write("python/ed_pkg/__init__.py", "src/lib.rs")
    world.pth("{source}/python")
    assert world.read() == ("python", ["ed_pkg"])


def test_several_directories(world: World) -> None:
    world.write("a/one/__init__.py", "b/two/__init__.py", "b/one/__init__.py")
    world.pth("{source}/a", "{source}/b", "{source}/a")
    assert world.read() == ("", ["a/one", "b/one", "b/two"])


@pytest.mark.parametrize("line", ["/elsewhere", "{source}-other", "{site}", "..", "import ed_pkg", "# {source}", "src"])
def test_other_lines_tell_nothing(world: World, line: str) -> None:
    world.write("src/ed_pkg/__init__.py")
    world.pth(line)
    assert world.read() == ("src", ["ed_pkg"])


def test_a_pth_file_that_can_not_be_read(world: World) -> None:
    (world.site / "a.pth").mkdir()
    (world.site / "b.pth").write_text("")
    world.write("src/ed_pkg/__init__.py")
    assert world.read() == ("src", ["ed_pkg"])


def test_the_site_is_never_the_source(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.site = world.source / "env/lib/python3.11/site-packages"
    world.site.mkdir(parents=True)
    world.write("ed_pkg/__init__.py", "env/lib/python3.11/site-packages/dep/__init__.py")
    world.pth("{site}", "{site}/dep")
    assert world.read() == ("", ["ed_pkg"])


@pytest.mark.parametrize("closed", ["env", "node_modules", "vendor/bundle"])
def test_a_pth_file_leads_into_no_environment(world: World, closed: str) -> None:
    world.write("env/pyvenv.cfg", f"{closed}/deep/dep/__init__.py", "ed_pkg/__init__.py")
    world.pth("{source}/" + closed + "/deep")
    assert world.read() == ("", ["ed_pkg"])


def test_a_flat_tree(world: World) -> None:
    world.write(
        "ed_pkg/__init__.py",
        "tests/__init__.py",
        "docs/index.md",
        "examples/skills/x/SKILL.md",
        "build/lib/ed_pkg/__init__.py",
        "setup.py",
        "a-b/__init__.py",
        ".venv/dep/__init__.py",
        "venv/pyvenv.cfg",
        "venv/__init__.py",
        "node_modules/__init__.py",
    )
    assert world.read() == ("", ["ed_pkg", "tests"])
    world.pth("{source}")
    assert world.read() == ("", ["ed_pkg", "tests"])


@pytest.mark.parametrize("name", ["ed-pkg", "ns-alpha"])
def test_a_flat_package_without_code_has_the_distributions_name(world: World, name: str) -> None:
    world.write("ed_pkg/skills/x/SKILL.md", "ns/alpha/skills/x/SKILL.md", "docs/skills/x/SKILL.md")
    expected = {"ed-pkg": ["ed_pkg"], "ns-alpha": ["ns", "ns/alpha"]}
    assert world.read(name=name) == ("", expected[name])


def test_hints_tell_the_packages(world: World) -> None:
    world.write("ed_pkg/x.py", "tests/__init__.py", "src/elsewhere/__init__.py")
    assert world.read("ed_pkg", "module") == ("", ["ed_pkg"])


def test_namespaces_below_src(world: World) -> None:
    world.write(
        "src/ns/alpha/__init__.py",
        "src/ns/alpha/inner/__init__.py",
        "src/ns/skills/x/SKILL.md",
        "src/ns/beta/gamma/__init__.py",
        "src/ns/vendor/bundle/x/__init__.py",
        "src/ns/env/pyvenv.cfg",
        "src/ns/env/dep/__init__.py",
        "src/skills/x/inner/y",
    )
    assert world.read() == (
        "src",
        ["ns", "skills", "ns/alpha", "ns/beta", "ns/vendor", "ns/beta/gamma"],
    )


def test_links_are_not_followed(world: World, tmp_path: Path) -> None:
    write_files(tmp_path, {"elsewhere/__init__.py": "", "elsewhere/inner/x": ""})
    world.write("src/ed_pkg/__init__.py", "src/ns/x.py")
    (world.source / "src/linked").symlink_to(tmp_path / "elsewhere")
    (world.source / "src/ns/linked").symlink_to(tmp_path / "elsewhere")
    assert world.read() == ("src", ["ed_pkg", "ns"])
    (world.source / "src").rename(world.source / "real")
    (world.source / "src").symlink_to("real")
    assert world.read() == ("", [])


def test_a_source_tree_that_went_away(world: World) -> None:
    world.source.rmdir()
    assert world.read() == ("", [])


def test_an_empty_src_is_passed_over(world: World) -> None:
    world.write("src/lib.rs", "ed_pkg/__init__.py")
    assert world.read() == ("", ["ed_pkg"])


def test_the_walk_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write("src/" + "/".join("abcdefghijklmnop") + "/x.py", *(f"src/m{number}/x.py" for number in range(30)))
    assert len(world.read()[1]) == 30 + 9
    monkeypatch.setattr(editable, "_DIRECTORIES", 5)
    assert len(world.read()[1]) == 5


def test_what_can_not_be_asked_is_not_entered(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write("ed_pkg/__init__.py")

    def refuse(_path: str, *, follow: bool) -> bool:
        raise UnreadableError(f"permission denied {follow}")

    monkeypatch.setattr(editable, "is_directory", refuse)
    assert world.read() == ("", [])
