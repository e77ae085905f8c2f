from __future__ import annotations

import hashlib
import json
import shutil
import time
from typing import TYPE_CHECKING

import pytest
import wheels
from wheels import skill, skills, write_dist, write_editable, write_files, write_venv

from skillsync.discovery.environment import Environment, NoEnvironment, Package
from skillsync.discovery.pypi import distributions, packages, record
from skillsync.discovery.pypi import ecosystem as pypi
from skillsync.errors import Code, Severity, SkillsyncError, UnreadableError

if TYPE_CHECKING:
    from pathlib import Path

    from skillsync.discovery.environment import Ecosystem
    from skillsync.errors import Problem

_SITE = ".venv/lib/python3.11/site-packages"


class World:
    """A project with an environment."""

    def __init__(self, tmp: Path) -> None:
        self.tmp = tmp
        self.app = tmp / "app"
        self.site = write_venv(self.app / ".venv")
        write_files(self.app, {"pyproject.toml": '[project]\nname = "app"\n'})

    def read(self) -> Environment:
        found = pypi.read(str(self.app), {})
        assert isinstance(found, Environment), found
        return found

    def package(self, name: str) -> Package:
        (found,) = (package for package in self.read().packages if package.name == name)
        return found

    def skills(self) -> dict[str, list[str]]:
        """Return the skills of each package that has any: what it owns in its places, as it lies on the disk."""
        found: dict[str, list[str]] = {}
        for package in self.read().packages:
            for place in package.places:
                directory = self.tmp / package.root / place
                names = sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []
                own = [name for name in names if package.owns(f"{place}/{name}")]
                if own:
                    found.setdefault(package.name, []).extend(own)
        return found

    def problem(self) -> Problem:
        (found,) = self.read().problems
        return found


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_it_is_an_ecosystem() -> None:
    found: Ecosystem = pypi
    assert (found.NAME, found.canonical("Foo_Bar")) == ("pypi", "foo-bar")


def test_no_environment_still_says_what_the_project_names(tmp_path: Path) -> None:
    write_files(tmp_path, {"requirements.txt": "Foo_Bar\n"})
    found = pypi.read(str(tmp_path), {})
    assert isinstance(found, NoEnvironment)
    assert found.named == {"foo-bar"}
    assert (found.problem.code, found.problem.severity) == (Code.ENVIRONMENT_NOT_FOUND, Severity.ERROR)


def test_an_empty_environment_is_one(world: World) -> None:
    assert world.read() == Environment(
        ecosystem="pypi", sources=(_SITE,), packages=(), named=frozenset(), install="pip install ."
    )


def test_a_distribution_with_skills(world: World) -> None:
    files = skills("fast_api", "one", "two")
    write_dist(world.site, "Fast.API", "1.0.RC1", files)
    package = world.package("fast-api")
    assert (package.key, package.version) == ("pypi:fast-api", "1.0rc1")
    assert (package.root, package.source) == (str(world.site), _SITE)
    assert package.places == ("fast_api/.agents/skills",)
    digest = hashlib.sha256(skill("one").encode()).hexdigest()
    assert package.recorded("fast_api/.agents/skills/one") == {"SKILL.md": digest}
    assert world.skills() == {"fast-api": ["one", "two"]}
    assert world.read().problems == ()


def test_a_distribution_without_skills_says_where_they_would_be(world: World) -> None:
    write_dist(world.site, "plain", files={"plain/__init__.py": "", "other/x.py": "", "plain.libs/x.so": ""})
    assert world.package("plain").places == (
        "other/.agents/skills", "other/skills", "plain/.agents/skills", "plain/skills",
    )  # fmt: skip
    assert world.skills() == {}


def test_each_portion_of_a_namespace_has_its_own(world: World) -> None:
    for name in ("alpha", "beta"):
        files = {f"ns/{name}/__init__.py": "", f"ns/{name}/skills/{name}/SKILL.md": skill(name)}
        write_dist(
            world.site, f"ns-{name}", files={**files, f"ns/skills/shared-{name}/SKILL.md": skill(f"shared-{name}")}
        )
    assert world.skills() == {"ns-alpha": ["alpha", "shared-alpha"], "ns-beta": ["beta", "shared-beta"]}


def test_a_shared_directory_at_the_top_is_shared_out_by_record(world: World) -> None:
    for name in ("one", "two"):
        write_dist(world.site, name, files={f"skills/{name}/SKILL.md": skill(name)})
    assert world.skills() == {}
    for name, other in (("one", "two"), ("two", "one")):
        package = world.package(name)
        assert package.owns(f"skills/{name}")
        assert not package.owns(f"skills/{other}")


def test_what_nobody_lists_is_nobodys(world: World) -> None:
    write_dist(world.site, "one", files=skills("one", "listed"))
    write_files(world.site, {"one/.agents/skills/unlisted/SKILL.md": skill("unlisted")})
    assert world.skills() == {"one": ["listed"]}


@pytest.mark.parametrize("names", [("one", "two"), ("two", "one")])
def test_a_file_that_two_list(world: World, names: tuple[str, str]) -> None:
    for name in names:
        write_dist(
            world.site, name, files={"ns/skills/x/SKILL.md": skill("x"), f"ns/skills/{name}/SKILL.md": skill(name)}
        )
    first, second = world.read().packages
    assert first.problems == second.problems
    (problem,) = first.problems
    assert (problem.code, problem.severity) == (Code.AMBIGUOUS_PROVIDER, Severity.WARNING)
    assert problem.message == (
        "files in ns/skills/x are listed by pypi:one 1.0 and by pypi:two 1.0: nothing tells whose skill it is"
    )
    assert (problem.provider, problem.path, problem.root) == ("pypi:one", "ns/skills/x", str(world.site))
    assert world.skills() == {"one": ["one"], "two": ["two"]}


def test_metadata_that_an_older_version_left(world: World) -> None:
    write_dist(world.site, "one", "1.0", skills("one", "x"))
    write_dist(world.site, "one", "1.1", skills("one", "x"))
    write_dist(world.site, "plain", "1.0", {"plain/__init__.py": ""})
    write_dist(world.site, "plain", "1.1", {"plain/__init__.py": ""})
    found = world.read().packages
    assert [(package.name, package.version) for package in found] == [
        ("one", "1.1"), ("plain", "1.0"), ("plain", "1.1"),
    ]  # fmt: skip
    (problem,) = found[0].problems
    assert problem.code is Code.AMBIGUOUS_PROVIDER
    assert f"{_SITE}/one-1.0.dist-info and {_SITE}/one-1.1.dist-info" in problem.message
    assert [package.problems for package in found] == [(problem,), (), ()]


def test_two_sets_of_metadata_for_one_version(world: World) -> None:
    for name in ("one", "two"):
        write_files(world.site, {f"{name}-1.0.egg-info": wheels.metadata_text(name, "1.0")})
    write_dist(world.site, "one", "1.0", {"one/__init__.py": ""})
    write_files(world.site, {"one.egg-info/PKG-INFO": wheels.metadata_text("one", "1.0")})
    assert [(package.name, package.problems) for package in world.read().packages] == [("one", ()), ("two", ())]
    assert world.problem().provider == "pypi:two"  # has no RECORD; of `one` the metadata that has one counts


@pytest.mark.parametrize("entry", ["fast-1.0.0.dist-info", "Fast-1.0.dist-info", "zzz"])
def test_metadata_that_another_wheel_brought_is_a_doubt(world: World, tmp_path: Path, entry: str) -> None:
    write_dist(world.site, "fast", "1.0", skills("fast", "x"))
    write_dist(world.site, "evil", "1.0", skills("evil", "foo"))
    claim = wheels.record_text(skills("evil", "foo"))
    brought: dict[str, str | bytes] = {"METADATA": wheels.metadata_text("fast", "1.0"), "RECORD": claim}
    if entry == "zzz":  # a tree outside the directory, as an editable install
        entry = "fast-1.0.1.dist-info"
        write_files(tmp_path / "share", skills("fast", "foo"))
        version = {"METADATA": wheels.metadata_text("fast", "1.0.1"), "RECORD": ""}
        brought = {**version, **wheels.direct_url(tmp_path / "share")}
    write_files(world.site, {f"{entry}/{path}": text for path, text in brought.items()})
    # One package: a requirement of the manifest that only one version meets would settle the doubt.
    (fast,) = (package for package in world.read().packages if package.name == "fast")
    first = fast.problems[0]
    assert (first.code, first.provider) == (Code.AMBIGUOUS_PROVIDER, "pypi:fast")
    assert "its metadata is there more than once" in first.message
    if not entry.startswith("fast-1.0.1"):
        (contested,) = world.package("evil").problems
        assert contested.message.startswith("files in evil/.agents/skills/foo are listed by pypi:evil 1.0 and by ")
        assert fast.problems[1:] == (contested,)


@pytest.mark.parametrize(
    "entry", ["AAA-1.0.dist-info", "fast-2.0.dist-info", "fast.dist-info", "evil_fast-1.0.egg-info"]
)
def test_metadata_in_a_directory_that_is_called_otherwise_is_left_out(world: World, entry: str) -> None:
    write_dist(world.site, "evil", "1.0", skills("evil", "foo"))
    write_files(
        world.site,
        {f"{entry}/{name}": wheels.metadata_text("fast", "1.0") for name in ("METADATA", "PKG-INFO")}
        | {f"{entry}/RECORD": wheels.record_text(skills("evil", "foo"))},
    )
    assert world.skills() == {"evil": ["foo"]}
    problem = world.problem()
    assert problem.code is Code.PACKAGE_UNREADABLE
    assert problem.message == (
        f"{_SITE}/{entry} can't be used: what is in it calls itself fast 1.0, and its own name doesn't say that"
    )


def test_rows_that_lead_elsewhere_are_nobodys(world: World) -> None:
    rows = [
        ("../../../skills/n/SKILL.md", "", "1"),
        (f"{world.app}/abs/skills/n/SKILL.md", "", "1"),
        ("one/skills/../../two/skills/x/SKILL.md", "", ""),
        ("one/skills/x/__pycache__/m.cpython-311.pyc", "", ""),
    ]
    write_dist(
        world.site, "one", files={"one/skills/x/SKILL.md": skill("x"), "one/skills/x/a,b.md": "comma"}, rows=rows
    )
    write_dist(world.site, "two", files=skills("two", "y"))
    recorded = world.package("one").recorded("one/skills/x")
    assert {path: bool(digest) for path, digest in recorded.items()} == {
        "SKILL.md": True, "a,b.md": True, "__pycache__/m.cpython-311.pyc": False,
    }  # fmt: skip
    assert world.skills() == {"one": ["x"], "two": ["y"]}


# Without a RECORD


@pytest.mark.parametrize(
    ("metadata", "files"),
    [
        ({"foo_bar-1.0.dist-info/METADATA": "", "foo_bar-1.0.dist-info/top_level.txt": "imported\n"}, "imported"),
        ({"foo_bar-1.0.dist-info/METADATA": ""}, "foo_bar"),
        ({"Foo.Bar-1.0.dist-info/METADATA": ""}, "Foo_Bar"),
        (
            {"foo_bar-1.0-py3.11.egg-info/PKG-INFO": "", "foo_bar-1.0-py3.11.egg-info/top_level.txt": "imported"},
            "imported",
        ),
        ({"foo_bar.egg-info/PKG-INFO": "", "foo_bar.egg-info/SOURCES.txt": "src/imported/x.py\n"}, "imported"),
        ({"foo_bar-1.0.egg-info": ""}, "foo_bar"),
        ({"foo_bar-1.0.dist-info/METADATA": "", "foo_bar-1.0.dist-info/RECORD": b"\xff/skills/x,,\n"}, "foo_bar"),
        ({"foo_bar-1.0.dist-info/METADATA": "", "foo_bar-1.0.dist-info/RECORD": b""}, "foo_bar"),
        ({"foo_bar-1.0.dist-info/METADATA": "", "foo_bar-1.0.dist-info/RECORD/x": "x"}, "foo_bar"),
        ({"foo_bar-1.0.dist-info/METADATA": "", "foo_bar-1.0.dist-info/RECORD": '"skills/'}, "foo_bar"),
        ({"foo_bar-1.0.dist-info/METADATA": "", "foo_bar-1.0.dist-info/RECORD": "a,,\n" * 150_001}, "foo_bar"),
    ],
)
def test_without_a_record_skills_are_looked_for_beside_the_packages(
    world: World, metadata: dict[str, str | bytes], files: str
) -> None:
    about = wheels.metadata_text("Foo.Bar", "1.0")
    texts = {path: text if text or path.endswith("RECORD") else about for path, text in metadata.items()}
    write_files(
        world.site, {**texts, f"{files}/skills/x/SKILL.md": skill("x"), f"{files}/.agents/skills/y/SKILL.md": ""}
    )
    assert world.skills() == {"foo-bar": ["y", "x"]}
    problem = world.problem()
    assert (problem.code, problem.severity) == (Code.PACKAGE_UNREADABLE, Severity.WARNING)
    assert problem.provider == "pypi:foo-bar"
    assert "RECORD" in problem.message
    assert problem.message.endswith("its skills were looked for beside its import packages")


def test_hints_that_can_not_be_read_are_none(world: World) -> None:
    entry = write_dist(world.site, "one", files={"one/skills/x/SKILL.md": skill("x")}, record=None)
    (entry / "top_level.txt").mkdir()
    assert world.skills() == {"one": ["x"]}


def test_what_is_beside_the_packages_may_be_anothers(world: World) -> None:
    write_dist(
        world.site, "one", files={"ns/skills/mine/SKILL.md": skill("mine")}, record=None, extra={"top_level.txt": "ns"}
    )
    write_dist(world.site, "two", files={"ns/skills/listed/SKILL.md": skill("listed")})
    assert world.skills() == {"one": ["mine"], "two": ["listed"]}


def test_two_without_a_record_are_told_apart_by_nothing(world: World) -> None:
    for name in ("one", "two"):
        write_dist(world.site, name, files={"ns/skills/x/SKILL.md": ""}, record=None, extra={"top_level.txt": "ns"})
    assert world.skills() == {}
    first, _ = world.read().packages
    assert [problem.code for problem in first.problems] == [Code.AMBIGUOUS_PROVIDER]


def test_one_line_says_what_else_has_no_record(world: World) -> None:
    write_dist(world.site, "p0", record=None)
    assert world.problem().provider == "pypi:p0"
    for number in range(1, 8):
        write_dist(world.site, f"p{number}", record=None)
    problem = world.problem()
    assert problem.message == (
        "pypi:p0 1.0, pypi:p1 1.0, pypi:p2 1.0, pypi:p3 1.0, pypi:p4 1.0 and 3 more: "
        "no RECORD, and no skills beside what it installs"
    )
    assert (problem.provider, problem.path) == (None, _SITE)
    assert len(world.read().packages) == 8


def test_a_link_beside_the_packages_is_not_followed(world: World, tmp_path: Path) -> None:
    write_dist(world.site, "one", record=None)
    write_files(tmp_path, {"elsewhere/skills/x/SKILL.md": ""})
    (world.site / "one").symlink_to(tmp_path / "elsewhere")
    assert not world.package("one").record.directories  # type: ignore[union-attr]


# Metadata that can't be used


@pytest.mark.parametrize(
    ("files", "reason", "provider"),
    [
        ({"foo-1.0.dist-info/RECORD": ""}, "can't be used: it has no METADATA", "pypi:foo"),
        ({"foo.egg-info/top_level.txt": ""}, "can't be used: it has no PKG-INFO", "pypi:foo"),
        ({"foo-1.0.dist-info/METADATA": "Name: foo\n"}, "can't be used: it names no version", "pypi:foo"),
        ({"foo-1.0.dist-info/METADATA": "Name: ../x\nVersion: 1\n"}, "is not a distribution's name", "pypi:foo"),
        ({"foo-1.0.dist-info/METADATA": "Name: x\nVersion: new\n"}, "`new` is not a PEP 440 version", "pypi:foo"),
        ({"foo-1.0.dist-info/METADATA/x": ""}, "it is a directory", "pypi:foo"),
        ({"foo-1.0.dist-info": ""}, "it has no METADATA", "pypi:foo"),
        ({"~oo-1.0.dist-info/METADATA": "Name: foo\nVersion: 1\n"}, "an uninstall that was interrupted", None),
        ({"foo.egg-link": "/src/foo\n."}, "is a legacy editable install, which is not read", "pypi:foo"),
        ({"foo-1.0-py3.11.egg/EGG-INFO/PKG-INFO": ""}, "is an egg, which is not read", "pypi:foo"),
        (
            {"foo-1.0.dist-info/METADATA": "Name: foo\nVersion: 1\n", "foo-1.0.dist-info/direct_url.json": "["},
            "its direct_url.json can't be read: it is not JSON",
            "pypi:foo",
        ),
    ],
)
def test_metadata_that_can_not_be_used_hides_nothing_else(
    world: World, files: dict[str, str | bytes], reason: str, provider: str | None
) -> None:
    write_files(world.site, files)
    write_dist(world.site, "good", files=skills("good", "x"))
    assert world.skills() == {"good": ["x"]}
    problem = world.problem()
    assert reason in problem.message
    entry = next(iter(files)).partition("/")[0]
    assert problem.message.startswith(f"{_SITE}/{entry} ")
    assert problem.path == f"{_SITE}/{entry}"
    assert problem.provider == provider
    assert problem.severity is Severity.WARNING


def test_an_environment_that_can_not_be_listed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_site: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(distributions, "read", refuse)
    with pytest.raises(SkillsyncError) as found:
        world.read()
    (problem,) = found.value.problems
    assert problem.message == f"{_SITE} can't be read: permission denied"


# Editable installs


def test_an_editable_install(world: World, tmp_path: Path) -> None:
    source = tmp_path / "my dep"
    write_files(source, {f"src/{path}": text for path, text in skills("dep", "x").items()})
    write_editable(world.site, "dep", source, f"{source}/src")
    package = world.package("dep")
    assert (package.root, package.record, package.source) == (f"{source}/src", None, _SITE)
    assert package.places == ("dep/.agents/skills", "dep/skills")
    assert world.skills() == {"dep": ["x"]}
    assert world.read().problems == ()


def test_an_editable_install_whose_finder_is_code(world: World, tmp_path: Path) -> None:
    source = tmp_path / "dep"
    write_files(source, {**skills("dep", "x"), **skills("tests", "y")})
    write_editable(world.site, "dep", source, "import __editable___dep_finder", **{"top_level.txt": "dep\n"})
    assert world.skills() == {"dep": ["x"]}


@pytest.mark.parametrize("name", ["a-first", "z-last"])
def test_an_editable_root_around_the_environment_takes_nothing(world: World, tmp_path: Path, name: str) -> None:
    tree = tmp_path / "tree"
    shutil.move(world.app / ".venv", tree / "venv")
    (world.app / ".venv").write_text("../tree/venv")
    site = tree / "venv/lib/python3.11/site-packages"
    write_files(tree, {**skills("own", "mine"), "venv/__init__.py": ""})
    write_editable(site, name, tree, str(tree))
    write_dist(site, "dep", files=skills("dep", "x"))
    assert world.skills() == {name: ["mine"], "dep": ["x"]}


@pytest.mark.parametrize("editable", [True, False])
def test_the_project_itself_is_no_provider(world: World, *, editable: bool) -> None:
    write_files(world.app, skills("own", "mine"))
    write_dist(
        world.site, "other-name", files=skills("own", "mine"), extra=wheels.direct_url(world.app, editable=editable)
    )
    write_dist(world.site, "dep", files=skills("dep", "x"))
    assert world.skills() == {"dep": ["x"]}


def test_the_project_installed_from_a_wheel_is_no_provider(world: World) -> None:
    write_dist(world.site, "App", files=skills("own", "mine"))
    found = world.read()
    assert found.packages == ()
    assert found.notes == ("pypi:app 1.0 is left out: it is the project itself, or a member of its workspace",)


def test_workspace_members_are_no_providers_but_other_directories_are(world: World, tmp_path: Path) -> None:
    write_files(world.app, {"pyproject.toml": '[tool.uv.workspace]\nmembers = ["packages/*"]\n'})
    for path, name in (("packages/one", "one"), ("vendored/two", "two")):
        write_files(world.app / path, skills(name, name))
        write_editable(world.site, name, world.app / path, str(world.app / path))
    write_files(tmp_path / "three", skills("three", "three"))
    write_dist(
        world.site, "three", files=skills("three", "three"), extra=wheels.direct_url(tmp_path / "three", editable=False)
    )
    assert world.skills() == {"three": ["three"], "two": ["two"]}
    assert world.package("three").root == str(world.site)


def test_an_editable_install_whose_source_is_gone(world: World, tmp_path: Path) -> None:
    write_editable(world.site, "dep", tmp_path / "gone")
    problem = world.problem()
    assert problem.message == f"pypi:dep 1.0 is editable, and its source {tmp_path}/gone is not there: it is left out"
    assert problem.provider == "pypi:dep"
    assert world.read().packages == ()


def test_an_editable_install_whose_source_can_not_be_told(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_editable(world.site, "dep", tmp_path)

    def refuse(_path: str) -> bool:
        raise UnreadableError("permission denied")

    monkeypatch.setattr(packages, "is_directory", refuse)
    assert "is not there" in world.problem().message


def test_nobody_is_editable_in_the_site_itself(world: World) -> None:
    write_dist(world.site, "victim", files=skills("victim", "x"))
    write_editable(world.site, "thief", world.site, str(world.site))
    assert world.skills() == {"victim": ["x"]}
    assert "is said to be among the installed packages" in world.problem().message


# Several directories


def test_what_python_finds_first_counts(world: World) -> None:
    second = world.app / ".venv/lib64/python3.11/site-packages"
    second.mkdir(parents=True)
    write_dist(world.site, "one", "1.0", skills("one", "x"))
    write_dist(second, "one", "2.0", skills("one", "y"))
    write_dist(second, "two", "2.0", skills("two", "y"))
    found = world.read()
    assert [(package.name, package.version) for package in found.packages] == [("one", "1.0"), ("two", "2.0")]
    assert found.sources == (_SITE, ".venv/lib64/python3.11/site-packages")
    assert found.notes == (f"pypi:one 2.0 in {found.sources[1]} is left out: {_SITE} has it too",)
    assert [package.source for package in found.packages] == list(found.sources)


def test_the_named_environment_counts(world: World, tmp_path: Path) -> None:
    write_dist(write_venv(tmp_path / "other"), "one", files=skills("one", "x"))
    found = pypi.read(str(world.app), {}, python=str(tmp_path / "other"))
    assert isinstance(found, Environment)
    assert found.sources == (f"{tmp_path}/other/lib/python3.11/site-packages",)
    assert [package.name for package in found.packages] == ["one"]


# Hostile input


def test_nothing_that_is_installed_is_run(world: World, tmp_path: Path) -> None:
    mark = f"open({str(tmp_path / 'mark')!r}, 'w')"
    write_dist(
        world.site, "one", files={**skills("one", "x"), "one/__init__.py": mark, "one.pth": f"import os; {mark}"}
    )
    write_files(tmp_path, {"dep/setup.py": mark, "dep/dep/__init__.py": mark, "dep/dep/skills/y/SKILL.md": skill("y")})
    write_editable(world.site, "dep", tmp_path / "dep", f"import os; {mark}")
    (world.site / "sitecustomize.py").write_text(mark)
    assert world.skills() == {"dep": ["y"], "one": ["x"]}
    assert not (tmp_path / "mark").exists()


def test_large_and_deep_metadata_does_no_harm(world: World) -> None:
    deep = "/".join("a" * 2000)
    rows = [(f"one/skills/x/{deep}/{number}", "", "") for number in range(200)]
    headers = "X: " + "y" * 60_000 + "\n"
    write_dist(world.site, "one", files=skills("one", "x"), rows=rows)
    write_dist(world.site, "two", extra={"METADATA": f"Name: two\nVersion: 1\n{headers}\n" + "z" * 10_000_000})
    write_dist(world.site, "three", extra={"direct_url.json": "[" * 500_000})
    before = time.monotonic()
    assert [package.name for package in world.read().packages] == ["one", "two"]
    assert time.monotonic() - before < 2
    assert world.skills() == {"one": ["x"]}


def test_a_record_without_skills_is_not_parsed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(300):
        write_dist(world.site, f"p{number}", files={f"p{number}/m{at}.py": "" for at in range(3)})
    write_dist(world.site, "one", files=skills("one", "x"))
    parsed = []
    parse = record.parse

    def noted(text: str) -> dict[str, str]:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(record, "parse", noted)
    assert len(world.read().packages) == 301
    assert len(parsed) == 1


def test_names_of_the_projects_files(world: World) -> None:
    write_files(world.app, {"uv.lock": '[[package]]\nname = "Locked_One"\n', "requirements.txt": json.dumps("x")})
    assert world.read().named == {"locked-one"}
