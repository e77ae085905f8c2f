from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import gems
import pytest
from node_packages import link, write_package

from skillsync import filesystem
from skillsync.discovery.environment import NoEnvironment
from skillsync.discovery.npm import ecosystem as npm
from skillsync.discovery.npm import tree
from skillsync.errors import Code, SkillsyncError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from node_packages import World

    from skillsync.discovery.environment import Ecosystem


def test_the_module_is_an_ecosystem() -> None:
    ecosystem: Ecosystem = npm
    assert ecosystem.NAME == "npm"
    assert ecosystem.canonical("@Acme/Foo_Bar") == "@Acme/Foo_Bar"
    assert ecosystem.requirement("^1.2")("1.9.0")
    assert sorted(["0.10.0", "0.9.0"], key=npm.version_key) == ["0.9.0", "0.10.0"]


class TestFlat:
    def test_packages_are_found_with_their_places(self, world: World) -> None:
        world.install("demo", "1.2.3", "testing")
        world.install("@acme/tools", "v0.1.0-rc.1")
        demo, tools = sorted(world.read().packages, key=lambda package: package.name, reverse=True)
        assert (demo.key, demo.version, demo.root) == ("npm:demo", "1.2.3", str(world.node_modules / "demo"))
        assert (demo.places, demo.source, demo.problems) == (("skills", ".agents/skills"), "node_modules", ())
        assert (tools.key, tools.version) == ("npm:@acme/tools", "0.1.0-rc.1")
        assert world.read().sources == ("node_modules",)
        assert (world.read().problems, world.read().notes) == ((), ())

    def test_the_version_at_the_root_counts(self, world: World) -> None:
        inner = "node_modules/a/node_modules/b/node_modules/demo"
        for path in ("a", "a/node_modules/b"):
            world.install(path)
        world.install("demo", "1.0.0", "testing")
        world.install("a/node_modules/demo", "3.0.0", "testing")
        world.install("a/node_modules/b/node_modules/demo", "2.0.0")
        assert world.found()["demo 1.0.0"] == "node_modules/demo"
        assert len(world.found()) == 3
        others = f"2.0.0 in {inner}, 3.0.0 in node_modules/a/node_modules/demo"
        assert world.read().notes == (f"npm:demo 1.0.0 in node_modules/demo counts, as the nearest; not {others}",)

    def test_else_the_one_that_is_nested_least(self, world: World) -> None:
        for path, version in (("a", "1.0.0"), ("a/node_modules/b", "1.0.0"), ("c", "1.0.0")):
            world.install(path, version)
        world.install("a/node_modules/b/node_modules/demo", "3.0.0", "testing")
        world.install("c/node_modules/demo", "2.0.0", "testing")
        assert world.found()["demo 2.0.0"] == "node_modules/c/node_modules/demo"

    def test_two_versions_that_are_equally_near_are_ambiguous(self, world: World) -> None:
        for parent, version in (("a", "1.0.0"), ("b", "2.0.0")):
            world.install(parent)
            world.install(f"{parent}/node_modules/demo", version, "testing")
        found = world.read()
        demos = [package for package in found.packages if package.name == "demo"]
        assert [package.version for package in demos] == ["1.0.0", "2.0.0"]
        (problem,) = demos[0].problems
        assert demos[1].problems == (problem,)
        assert (problem.code, problem.provider) == (Code.AMBIGUOUS_PROVIDER, "npm:demo")
        assert problem.message == (
            "npm:demo is installed in several versions, equally near: 1.0.0 in node_modules/a/node_modules/demo, "
            "2.0.0 in node_modules/b/node_modules/demo"
        )
        assert problem.hint
        assert (found.problems, found.notes) == ((), ())

    def test_where_none_of_them_ships_skills_nobody_needs_to_care(self, world: World) -> None:
        for parent, version in (("a", "1.0.0"), ("b", "2.0.0")):
            world.install(parent)
            world.install(f"{parent}/node_modules/demo", version)
        found = world.read()
        assert not any(package.problems for package in found.packages)
        (note,) = found.notes
        assert note.startswith("npm:demo is installed in several versions, equally near: 1.0.0 in node_modules/a/")
        assert note.endswith("/demo; none ships skills")

    def test_one_version_in_equally_near_places_is_one_provider(self, world: World) -> None:
        for parent in ("a", "b"):
            world.install(parent)
            world.install(f"{parent}/node_modules/demo", "1.0.0", "testing")
        assert [package.version for package in world.read().packages if package.name == "demo"] == ["1.0.0", "1.0.0"]
        assert world.read().notes == ()

    def test_what_is_no_package_is_passed_over(self, world: World) -> None:
        files = ".package-lock.json", ".bin/tool", ".cache/x/package.json", "file.js", "@acme/file.js", "@acme/.x/y"
        gems.write_files(world.node_modules, dict.fromkeys(files, "{}"))
        (world.node_modules / "@file").write_text("")
        (world.node_modules / "@empty").mkdir()
        assert (world.found(), world.warned()) == ({}, [])

    def test_every_package_json_is_read_once(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        world.store.add("a", needs=["b@1.0.0", "c@1.0.0"])
        world.store.add("b", needs=["c@1.0.0"])
        world.store.add("c", needs=["a@1.0.0"])
        for full in ("a@1.0.0", "b@1.0.0"):
            world.store.depend(full)
        world.store.hoist("c@1.0.0")
        read: list[str] = []

        def opened(root: str) -> AbstractContextManager[int]:
            read.append(root)
            return filesystem.open_directory(root)

        monkeypatch.setattr(tree, "open_directory", opened)
        assert len(world.found()) == len(read) == len(set(read)) == 3


class TestNames:
    def test_a_package_is_known_by_its_own_name(self, world: World) -> None:
        world.package_json(dependencies={"aliased": "npm:demo@1.0.0"})
        world.install("aliased", "1.0.0", "testing", name="demo")
        assert world.found() == {"demo 1.0.0": "node_modules/aliased"}
        assert world.read().named == {"demo"}
        assert world.warned() == []

    def test_a_second_name_for_one_package_is_one_provider(self, world: World) -> None:
        world.store.add("demo", "1.0.0", "testing")
        world.store.depend("demo@1.0.0")
        world.store.depend("demo@1.0.0", "aliased")
        assert world.found() == {"demo 1.0.0": "node_modules/.pnpm/demo@1.0.0/node_modules/demo"}

    def test_an_alias_for_another_version_is_equally_near(self, world: World) -> None:
        world.package_json(dependencies={"old": "npm:demo@1.0.0", "demo": "2.0.0"})
        world.install("old", "1.0.0", "testing", name="demo")
        world.install("demo", "2.0.0", "testing")
        assert [len(package.problems) for package in world.read().packages] == [1, 1]

    @pytest.mark.parametrize("dependencies", [{}, {"innocent": "1.0.0", "@acme/admitted": "1.0.0"}])
    def test_a_package_that_calls_itself_otherwise_is_left_out(
        self, world: World, dependencies: dict[str, str]
    ) -> None:
        world.package_json(dependencies=dependencies)
        world.install("innocent", "2.0.0", "testing", name="@acme/admitted")
        world.install("other", "1.0.0", name="@acme/no-skills")
        # npm writes the name that the package tells, and what other packages depend on.
        rows = """{"packages": {
          "node_modules/innocent": {"name": "@acme/admitted", "dependencies": {"innocent": "npm:@acme/admitted@2"}}
        }}"""
        (world.root / "package-lock.json").write_text(rows)
        message = "calls itself npm:@acme/admitted, and the project itself depends on no such alias: it is left out"
        assert world.warned() == [(Code.AMBIGUOUS_PROVIDER, f"node_modules/innocent {message}")]
        assert world.found() == {}
        (note,) = world.read().notes
        assert note.startswith("node_modules/other calls itself npm:@acme/no-skills")
        # Nor does it stand in the way of the package that is called so.
        world.install("left")
        world.install("left/node_modules/@acme/admitted", "1.0.0", "testing")
        assert world.found()["@acme/admitted 1.0.0"] == "node_modules/left/node_modules/@acme/admitted"

    def test_an_alias_of_the_projects_is_for_what_it_installs_itself(self, world: World) -> None:
        world.package_json(dependencies={"aliased": "npm:demo@1.0.0"})
        world.install("left")
        world.install("left/node_modules/aliased", "1.0.0", "testing", name="demo")
        assert set(world.found()) == {"left 1.0.0"}

    def test_an_alias_for_what_is_there_anyway_is_a_note(self, world: World) -> None:
        world.install("demo", "1.0.0", "testing")
        world.install("demo-cjs", "1.0.0", "testing", name="demo")
        assert (world.found(), world.warned()) == ({"demo 1.0.0": "node_modules/demo"}, [])
        (note,) = world.read().notes
        assert note.startswith("node_modules/demo-cjs calls itself npm:demo")

    def test_an_alias_of_a_member_counts(self, world: World) -> None:
        world.package_json(workspaces=["packages/*"])
        world.package_json("packages/a", dependencies={"aliased": "npm:demo@1.0.0"})
        world.install("aliased", "1.0.0", "testing", name="demo")
        assert (world.found(), world.warned()) == ({"demo 1.0.0": "node_modules/aliased"}, [])

    def test_an_alias_counts_where_the_package_is_installed_above_the_project(self, world: World) -> None:
        world.package_json(dependencies={"aliased": "npm:demo@1.0.0"})
        world.package_json("sub")
        world.install("aliased", "1.0.0", "testing", name="demo")
        assert (set(world.found("sub")), world.warned("sub")) == ({"demo 1.0.0"}, [])

    def test_a_source_tree_may_be_named_otherwise_than_its_directory(self, world: World) -> None:
        write_package(world.root / "local", "@acme/tools", "1.0.0", "testing")
        link(world.node_modules / "@acme/tools", world.root / "local")
        assert (world.found(), world.warned()) == ({"@acme/tools 1.0.0": "local"}, [])


class TestInside:
    """A package among another one's own files: an archive may have any package in it."""

    _INNER = "left/node_modules/@acme/admitted"

    def inner(self, world: World, *skills: str) -> None:
        """Put a package into one that npm installed, as that one's archive does."""
        world.install("left", bundledDependencies=["@acme/admitted"])
        write_package(world.node_modules / self._INNER, "@acme/admitted", "1.0.0", *skills)

    def listed(self, world: World, content: str) -> None:
        (world.node_modules / ".package-lock.json").write_text(content)

    def test_what_nobody_says_they_installed_is_left_out(self, world: World) -> None:
        self.inner(world, "testing")
        assert set(world.found()) == {"left 1.0.0"}
        reason = "lies in another package, which may have brought it under any name: it is left out"
        assert world.warned() == [(Code.AMBIGUOUS_PROVIDER, f"node_modules/{self._INNER} {reason}")]
        (problem,) = world.read().problems
        assert problem.hint == ("if you want it, make @acme/admitted a dependency of the project's own package.json")

    def test_without_skills_it_is_a_note(self, world: World) -> None:
        self.inner(world)
        assert world.warned() == []
        (note,) = world.read().notes
        assert note.startswith(f"node_modules/{self._INNER} lies in another package")

    def test_beside_the_installed_one_it_is_a_note(self, world: World) -> None:
        self.inner(world, "testing")
        world.install("@acme/admitted", "2.0.0", "testing")
        assert (set(world.found()), world.warned()) == ({"left 1.0.0", "@acme/admitted 2.0.0"}, [])
        assert len(world.read().notes) == 1

    def test_it_is_in_nobodys_way(self, world: World) -> None:
        self.inner(world, "testing")
        for path in ("right", "right/node_modules/deep"):
            world.install(path)
        world.install("right/node_modules/deep/node_modules/@acme/admitted", "2.0.0", "testing")
        assert "@acme/admitted 2.0.0" in world.found()
        assert not any(package.problems for package in world.read().packages)

    @pytest.mark.parametrize("row", [{"version": "1.0.0", "inBundle": True}, None, []])
    def test_npm_tells_what_came_in_an_archive(self, world: World, row: object) -> None:
        # A package.json in an archive may name other dependencies than the package index does.
        write_package(world.node_modules / "left", "left", dependencies={"@acme/admitted": "1"})
        write_package(world.node_modules / self._INNER, "@acme/admitted", "1.0.0", "testing")
        rows = {"node_modules/left": {"version": "1.0.0"}, f"node_modules/{self._INNER}": row}
        self.listed(world, json.dumps({"packages": rows}))
        assert set(world.found()) == {"left 1.0.0"}

    def test_npm_tells_what_it_installed_also_where_node_modules_is_a_link(self, world: World) -> None:
        self.inner(world, "testing")
        self.listed(world, json.dumps({"packages": {f"node_modules/{self._INNER}": {"version": "1.0.0"}}}))
        shutil.move(world.node_modules, world.root.parent / "kept")
        link(world.node_modules, world.root.parent / "kept")
        assert set(world.found()) == {"left 1.0.0", "@acme/admitted 1.0.0"}

    def test_npm_tells_what_it_installed(self, world: World) -> None:
        self.inner(world, "testing")
        self.listed(world, json.dumps({"packages": {f"node_modules/{self._INNER}": {"version": "1.0.0"}}}))
        assert set(world.found()) == {"left 1.0.0", "@acme/admitted 1.0.0"}

    @pytest.mark.parametrize("content", ["[", "[]", '{"packages": []}'])
    def test_a_list_that_can_not_be_read_lists_nothing(self, world: World, content: str) -> None:
        self.inner(world, "testing")
        self.listed(world, content)
        assert set(world.found()) == {"left 1.0.0"}

    def test_in_a_member_npms_list_at_the_root_counts(self, world: World) -> None:
        world.package_json(workspaces=["packages/*"])
        world.package_json("packages/a")
        parent = "packages/a/node_modules/parent"
        write_package(world.root / parent, "parent")
        write_package(world.root / parent / "node_modules/demo", "demo")
        assert set(world.found()) == {"parent 1.0.0"}
        world.install("other")
        self.listed(world, json.dumps({"packages": {f"{parent}/node_modules/demo": {"version": "1.0.0"}}}))
        assert set(world.found("packages/a")) == {"parent 1.0.0", "demo 1.0.0", "other 1.0.0"}

    @pytest.mark.parametrize(
        ("about", "found"),
        [
            ({"dependencies": {"@acme/admitted": "1"}}, True),
            ({"dependencies": {"@acme/admitted": "1"}, "bundledDependencies": []}, True),
            ({"dependencies": {"@acme/admitted": "1"}, "bundledDependencies": False}, True),
            ({"dependencies": {"@acme/admitted": "1"}, "bundledDependencies": ["other", 1]}, True),
            ({"dependencies": {"@acme/admitted": "1"}, "bundledDependencies": ["@acme/admitted"]}, False),
            ({"dependencies": {"@acme/admitted": "1"}, "bundleDependencies": ["@acme/admitted"]}, False),
            ({"dependencies": {"@acme/admitted": "1"}, "bundledDependencies": True}, False),
            ({"optionalDependencies": {"@acme/admitted": "1"}}, False),
            ({"dependencies": {"other": "1"}}, False),
            ({"dependencies": ["@acme/admitted"]}, False),
            ({}, False),
        ],
    )
    def test_without_npms_list_the_package_around_it_has_to_depend_on_it(
        self, world: World, about: dict[str, object], *, found: bool
    ) -> None:
        write_package(world.node_modules / "left", "left", "1.0.0", **about)
        write_package(world.node_modules / self._INNER, "@acme/admitted", "1.0.0", "testing")
        assert ("@acme/admitted 1.0.0" in world.found()) is found
        # What came in an archive brought whatever is in it.
        write_package(world.node_modules / self._INNER, "@acme/admitted", dependencies={"deep": "1"})
        write_package(world.node_modules / self._INNER / "node_modules/deep", "deep")
        assert ("deep 1.0.0" in world.found()) is found

    def test_who_can_not_be_asked_installed_nothing(self, world: World) -> None:
        gems.write_files(world.node_modules, {"left/package.json": "["})
        write_package(world.node_modules / self._INNER, "@acme/admitted", "1.0.0", "testing")
        assert world.found() == {}

    @pytest.mark.parametrize(
        "root", ["app/node_modules/.pnpm/left@1.0.0/node_modules/left", "store/1/node_modules/left"]
    )
    def test_in_a_store_nothing_is_installed_in_a_package(self, world: World, root: str) -> None:
        left = write_package(world.root.parent / root, "left", dependencies={"@acme/admitted": "1"})
        write_package(left / "node_modules/@acme/admitted", "@acme/admitted", "1.0.0", "testing")
        link(world.node_modules / "left", left)
        assert set(world.found()) == {"left 1.0.0"}

    @pytest.mark.parametrize("place", ["lib/node_modules/@acme/admitted", "lib"])
    def test_nor_is_what_a_link_in_a_package_leads_to(self, world: World, place: str) -> None:
        needs = {"@acme/admitted": "1", "deeper": "1"}
        left = write_package(world.node_modules / "left", "left", dependencies=needs)
        inner = write_package(left / place, "@acme/admitted", "1.0.0", "testing", dependencies=needs)
        write_package(inner / "node_modules/deeper", "deeper")
        link(left / "node_modules/@acme/admitted", inner)
        if place != "lib":
            link(left / "lib/node_modules/beside", write_package(left / "beside", "beside"))
        assert set(world.found()) == {"left 1.0.0"}


class TestYarnsStore:
    """There, a package's directory is called `package`, and the links to it tell its name."""

    @staticmethod
    def add(world: World, slot: str, name: str, *needs: tuple[str, str]) -> None:
        store = world.node_modules / ".store"
        write_package(store / slot / "package", name, "1.0.0", "testing")
        for name_there, other in needs:
            link(store / slot / "node_modules" / name_there, store / other / "package")

    def test_a_package_that_calls_itself_otherwise_is_left_out(self, world: World) -> None:
        self.add(world, "innocent-npm-1.0.0-1b22c2", "@acme/admitted")
        link(world.node_modules / "innocent", world.node_modules / ".store/innocent-npm-1.0.0-1b22c2/package")
        assert world.found() == {}
        assert [code for code, _ in world.warned()] == [Code.AMBIGUOUS_PROVIDER]
        world.package_json(dependencies={"innocent": "npm:@acme/admitted@1.0.0"})
        assert (set(world.found()), world.warned()) == ({"@acme/admitted 1.0.0"}, [])

    def test_another_packages_alias_takes_nothing_away(self, world: World) -> None:
        self.add(world, "leaf-npm-1.0.0-1b22c2", "leaf")
        self.add(world, "a-npm-1.0.0-0c95e8", "a", ("alias", "leaf-npm-1.0.0-1b22c2"))
        self.add(world, "b-npm-1.0.0-f48a4f", "b", ("leaf", "leaf-npm-1.0.0-1b22c2"))
        for name, slot in (("a", "a-npm-1.0.0-0c95e8"), ("b", "b-npm-1.0.0-f48a4f")):
            link(world.node_modules / name, world.node_modules / f".store/{slot}/package")
        assert (set(world.found()), world.warned()) == ({"a 1.0.0", "b 1.0.0", "leaf 1.0.0"}, [])


class TestAbsent:
    def test_without_node_modules_there_is_no_environment(self, world: World) -> None:
        world.package_json(dependencies={"a": "^1.0.0"})
        (world.root / "node_modules").write_text("")
        none = world.none()
        assert none.problem.message == "there is no node_modules in the project"
        assert none.problem.hint == "run `npm install`"
        assert none.named == {"a"}

    @pytest.mark.parametrize(
        ("files", "command"),
        [
            ({"pnpm-lock.yaml": ""}, "pnpm install"),
            ({"yarn.lock": ""}, "yarn install"),
            ({"bun.lock": ""}, "bun install"),
            ({"bun.lockb": ""}, "bun install"),
            ({"package-lock.json": "{}"}, "npm install"),
            ({"package.json": '{"packageManager": "pnpm@9.1.0+sha512.00"}', "yarn.lock": ""}, "pnpm install"),
            ({"package.json": '{"packageManager": "rm -rf /"}', "yarn.lock": ""}, "yarn install"),
            ({"package.json": '{"packageManager": ["pnpm"]}'}, "npm install"),
            ({"../pnpm-workspace.yaml": "packages: ['*']", "../package.json": "{}"}, "pnpm install"),
            ({"../package.json": '{"workspaces": ["*"]}', "../yarn.lock": ""}, "yarn install"),
        ],
    )
    def test_the_hint_names_the_projects_own_package_manager(
        self, tmp_path: Path, files: dict[str, str], command: str
    ) -> None:
        gems.write_files(tmp_path, {".git/HEAD": "", "app/package.json": "{}"})
        gems.write_files(tmp_path / "app", files)
        none = npm.read(str(tmp_path / "app"), {})
        assert isinstance(none, NoEnvironment)
        assert none.problem.hint == f"run `{command}`"

    def test_above_the_project_is_looked_up_to_the_repositorys_root(self, world: World, tmp_path: Path) -> None:
        write_package(tmp_path / "node_modules/above", "above")
        world.package_json("sub/project")
        none = world.none("sub/project")
        assert none.problem.message == f"there is no node_modules in the project or above it, up to {world.root}"
        world.install("a")
        assert world.found("sub/project") == {"a 1.0.0": "node_modules/a"}
        assert world.read("sub/project").sources == ("../../node_modules",)
        write_package(world.root / "sub/node_modules/b", "b")
        assert set(world.found("sub/project")) == {"b 1.0.0"}

    def test_an_empty_node_modules_is_an_environment_without_packages(self, world: World) -> None:
        world.node_modules.mkdir()
        assert (world.read().packages, world.read().sources) == ((), ("node_modules",))

    @pytest.mark.parametrize("file", [".pnp.cjs", ".pnp.loader.mjs", ".pnp.js"])
    def test_plug_n_play_alone_can_not_be_read(self, world: World, file: str) -> None:
        world.package_json(dependencies={"a": "^1.0.0"})
        gems.write_files(world.root, {file: "throw new Error()", ".yarn/cache/a-npm-1.0.0.zip": b"PK"})
        for at in ("", "sub"):
            (world.root / at).mkdir(exist_ok=True)
            none = world.none(at)
            assert "Plug'n'Play" in none.problem.message
            assert none.problem.hint == "set `nodeLinker: node-modules` in .yarnrc.yml and run `yarn install`"
            assert none.named == {"a"}
        # Tools keep caches in a directory of this name.
        gems.write_files(world.node_modules, {".cache/x": "", ".bin/y": ""})
        assert "Plug'n'Play" in world.none().problem.message

    def test_node_modules_counts_beside_plug_n_play(self, world: World) -> None:
        gems.write_files(world.root, {".pnp.cjs": "throw new Error()", ".pnp.loader.mjs": ""})
        world.install("a", "1.0.0", "x")
        assert set(world.found()) == {"a 1.0.0"}
        assert world.warned() == [(Code.ENVIRONMENT_UNREADABLE, ".pnp.cjs is passed over: node_modules counts")]
        shutil.rmtree(world.node_modules / "a")
        (world.node_modules / "broken").mkdir()
        assert [code for code, _ in world.warned()] == [Code.ENVIRONMENT_UNREADABLE, Code.PACKAGE_UNREADABLE]


class TestNamed:
    def test_package_json_and_locks_name_packages(self, world: World) -> None:
        world.package_json(dependencies={"a": "^1.0.0"}, devDependencies={"aliased": "npm:b@^1"})
        world.node_modules.mkdir()
        assert world.read().named == {"a", "b"}
        gems.write_files(
            world.root,
            {
                "package-lock.json": '{"packages": {"node_modules/c": {}}}',
                "npm-shrinkwrap.json": '{"packages": {"node_modules/d": {}}}',
                "pnpm-lock.yaml": "packages:\n\n  e@1.0.0:\n",
                "yarn.lock": "\nf@^1:\n",
                "bun.lock": '{"packages": {"g": ["g@1.0.0"]}}',
            },
        )
        assert world.read().named == set("abcdefg")

    def test_a_lock_that_can_not_be_read_is_said(self, world: World) -> None:
        world.install("a")
        (world.root / "package-lock.json").mkdir()
        assert world.warned() == [(Code.ENVIRONMENT_UNREADABLE, "package-lock.json can't be read: it is a directory")]
        assert world.read().problems[0].path == "package-lock.json"

    def test_what_is_installed_above_the_project_is_named_there_too(self, world: World) -> None:
        world.package_json(dependencies={"a": "^1.0.0"})
        world.package_json("sub", dependencies={"b": "^1.0.0"})
        gems.write_files(world.root, {"yarn.lock": "\nc@^1:\n"})
        world.install("a")
        assert world.read("sub").named == {"a", "b", "c"}
        (world.root / "sub/node_modules").mkdir()
        assert world.read("sub").named == {"b"}

    def test_a_project_without_package_json_names_nothing(self, world: World) -> None:
        (world.root / "package.json").unlink()
        world.install("a")
        assert set(world.found()) == {"a 1.0.0"}
        assert world.read().named == frozenset()

    @pytest.mark.parametrize(
        ("text", "message", "line"),
        [
            ('{\n"a": 1,\n1}', "package.json can't be read: it is not JSON: Expecting property name", 3),
            ("{\n<<<<<<< ours\n", "package.json can't be read: it has merge conflict markers", 2),
            ("[]", "package.json can't be read: it is not a JSON object", None),
        ],
    )
    def test_the_projects_own_package_json_has_to_be_one(
        self, world: World, text: str, message: str, line: int | None
    ) -> None:
        gems.write_files(world.root, {"package.json": text})
        with pytest.raises(SkillsyncError) as error:
            world.look()
        (problem,) = error.value.problems
        assert problem.message.startswith(message)
        assert (problem.code, problem.path, problem.line) == (Code.ENVIRONMENT_UNREADABLE, "package.json", line)
        assert problem.hint
