from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

import gems
import pytest
from node_packages import link, write_package

from skillsync.discovery.npm import workspace
from skillsync.errors import Code, SkillsyncError

if TYPE_CHECKING:
    from node_packages import World


@pytest.fixture(params=["list", "object", "pnpm"])
def monorepo(request: pytest.FixtureRequest, world: World) -> World:
    """A workspace with the members a and b, each with a dependency of its own, and one that the root has."""
    patterns = ["packages/*", "!packages/left-out"]
    written = {"list": patterns, "object": {"packages": patterns}, "pnpm": None}
    world.package_json("", dependencies={"of-root": "^1.0.0"}, workspaces=written[request.param])
    if request.param == "pnpm":
        text = "catalog:\n  x: 1\npackages:\n  - packages/*\n  - '!packages/left-out'\n  - [no text]\n"
        gems.write_files(world.root, {"pnpm-workspace.yaml": text})
    for name in ("a", "b", "left-out"):
        world.package_json(f"packages/{name}", dependencies={f"of-{name}": "^1.0.0"})
        gems.write_files(world.root / "packages" / name, gems.skills(name))
        link(world.node_modules / name, world.root / "packages" / name)
        write_package(world.root / f"packages/{name}/node_modules/of-{name}", f"of-{name}", "1.0.0", "testing")
    (world.root / "packages/no-package").mkdir()
    world.install("of-root", "1.0.0", "testing")
    return world


def test_what_the_members_depend_on_is_found_wherever_it_runs(monorepo: World) -> None:
    link(monorepo.root / "elsewhere/link", monorepo.root / "packages/a")
    for at in ("", "packages/a", "packages/b", "elsewhere/link"):
        found = monorepo.found(at)
        assert {"of-root 1.0.0", "of-a 1.0.0", "of-b 1.0.0"} <= found.keys()
        assert monorepo.read(at).named == {"of-root", "of-a", "of-b"}


def test_members_are_no_providers_and_others_are(monorepo: World) -> None:
    assert set(monorepo.found()) == {"of-root 1.0.0", "of-a 1.0.0", "of-b 1.0.0", "left-out 1.0.0", "of-left-out 1.0.0"}
    assert [note.partition(" ")[0] for note in monorepo.read().notes] == ["node_modules/a", "node_modules/b"]


def test_what_was_read_is_named_as_seen_from_the_project(monorepo: World) -> None:
    assert monorepo.read().sources == ("node_modules", "packages/a/node_modules", "packages/b/node_modules")
    assert monorepo.read("packages/b").sources == ("node_modules", "../../node_modules", "../a/node_modules")


def test_the_projects_own_version_is_nearer_than_the_workspaces(monorepo: World) -> None:
    monorepo.install("demo", "1.0.0", "testing")
    for name, version in (("a", "2.0.0"), ("b", "3.0.0")):
        write_package(monorepo.root / f"packages/{name}/node_modules/demo", "demo", version, "testing")
    assert monorepo.found()["demo 1.0.0"] == "node_modules/demo"
    assert monorepo.found("packages/a")["demo 2.0.0"] == "packages/a/node_modules/demo"
    assert monorepo.found("packages/b")["demo 3.0.0"] == "packages/b/node_modules/demo"
    (monorepo.root / "packages/a/src").mkdir()
    assert "demo 2.0.0" in monorepo.found("packages/a/src")


def test_of_other_members_none_is_preferred(monorepo: World) -> None:
    for name, version in (("a", "2.0.0"), ("b", "3.0.0")):
        write_package(monorepo.root / f"packages/{name}/node_modules/demo", "demo", version, "testing")
    demos = [package for package in monorepo.read().packages if package.name == "demo"]
    assert [problem.code for package in demos for problem in package.problems] == [Code.AMBIGUOUS_PROVIDER] * 2
    # What is nested is further away than a dependency of any member.
    monorepo.install("of-root/node_modules/demo", "4.0.0", "testing")
    assert [package.version for package in monorepo.read().packages if package.name == "demo"] == ["2.0.0", "3.0.0"]


def test_a_directory_that_is_no_member_is_a_project_of_its_own(monorepo: World) -> None:
    assert set(monorepo.found("packages/left-out")) == {"of-left-out 1.0.0"}
    assert monorepo.read("packages/left-out").named == {"of-left-out"}
    monorepo.package_json("examples/x", dependencies={"a": "^1.0.0"})
    assert {"a 1.0.0", "b 1.0.0"} <= monorepo.found("examples/x").keys()


def test_without_node_modules_of_its_own_a_member_uses_the_roots(world: World) -> None:
    world.package_json("", workspaces=["packages/*"])
    world.package_json("packages/a")
    world.install("of-a")
    assert world.found("packages/a") == {"of-a 1.0.0": "node_modules/of-a"}
    assert world.read("packages/a").sources == ("../../node_modules",)


@pytest.mark.parametrize(
    ("patterns", "members"),
    [
        (["packages/*"], {"packages/a", "packages/b"}),
        (["./packages/*/"], {"packages/a", "packages/b"}),
        (["packages/a"], {"packages/a"}),
        (["packages/[ab]", "!packages/a"], {"packages/b"}),
        (["!packages/a", "packages/?"], {"packages/a", "packages/b"}),
        (["{packages,apps}/{a,web}"], {"packages/a", "apps/web"}),
        (["apps/*/*"], {"apps/web/plugin"}),
        (["apps/**"], {"apps/web", "apps/web/plugin"}),
        (["**", "!**/web/**"], {"packages/a", "packages/b"}),
        (["**/plugin"], {"apps/web/plugin"}),
        ([".hidden/*"], {".hidden/c"}),
        (["**/**/**/a"], {"packages/a"}),
        ([".", "", "..", "../*", "/", "nowhere", "packages/linked", "{a", "a}"], set()),
        (["{" * 100 + "a,b" + "}" * 100, "{a,b}" * 30], set()),
    ],
)
def test_patterns_name_members(world: World, patterns: list[str], members: set[str]) -> None:
    every = ("packages/a", "packages/b", "apps/web", "apps/web/plugin", ".hidden/c", "packages/a/node_modules/x")
    for member in every:
        world.package_json(member)
    world.package_json("../outside")
    link(world.root / "packages/linked", world.root / "apps/web")
    (world.root / "packages/.dot").mkdir()
    world.package_json("", workspaces=patterns)
    found = workspace.locate(str(world.root))
    assert {os.path.relpath(member, world.root) for member in found.members} == members
    assert found.root == str(world.root)


def test_a_tree_of_directories_is_not_followed_without_end(world: World) -> None:
    world.package_json("", workspaces=["**"])
    world.package_json("/".join("d" * 40))
    world.package_json("/".join("e" * 20))
    assert len(workspace.locate(str(world.root)).members) == 1


def test_the_nearest_workspace_counts(world: World) -> None:
    world.package_json("", workspaces=["**"])
    world.package_json("inner", workspaces=["packages/*"])
    world.package_json("inner/packages/a")
    assert workspace.locate(str(world.root / "inner/packages/a")).root == str(world.root / "inner")
    assert workspace.locate(str(world.root / "inner")).root == str(world.root / "inner")
    assert workspace.locate(str(world.root)).root == str(world.root)


@pytest.mark.parametrize(
    "text", ["", "nodeLinker: hoisted\n", "packages:\n", "packages: packages/*\n", "- packages/*\n"]
)
def test_a_file_with_settings_alone_makes_no_workspace(world: World, text: str) -> None:
    gems.write_files(world.root, {"pnpm-workspace.yaml": text})
    world.package_json("packages/a")
    assert workspace.locate(str(world.root)).members == ()


@pytest.mark.parametrize(
    ("file", "content", "reason", "line"),
    [
        ("pnpm-workspace.yaml", b"packages:\n  - *a\n  - [\n", "it is not YAML", 4),
        ("pnpm-workspace.yaml", b"\xff", "it is not UTF-8", None),
        ("pnpm-workspace.yaml", b"#" * (1024 * 1024 + 1), "it is larger than", None),
        ("packages/a/package.json", b"{", "it is not JSON", 1),
    ],
)
def test_what_says_what_belongs_to_the_project_has_to_be_readable(
    world: World, file: str, content: bytes, reason: str, line: int | None
) -> None:
    world.package_json("", workspaces=["packages/*"])
    gems.write_files(world.root, {file: content})
    with pytest.raises(SkillsyncError) as error:
        world.look()
    (problem,) = error.value.problems
    assert (problem.code, problem.path, problem.line) == (Code.ENVIRONMENT_UNREADABLE, file, line)
    assert problem.message.startswith(f"{file} can't be read: {reason}")


def test_without_a_repository_nobody_elses_directory_counts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    (world.root / ".git").rmdir()
    project = world.root / "mine/project"
    project.mkdir(parents=True)
    mine = {str(project), str(project.parent)}
    monkeypatch.setattr(os, "stat", lambda path: SimpleNamespace(st_uid=1 if path in mine else 0))
    assert workspace.locate(str(project)).upward == (str(project), str(project.parent))
    monkeypatch.setattr(os, "stat", lambda _path: SimpleNamespace(st_uid=1))
    assert workspace.locate(str(project)).upward[-1] == "/"
