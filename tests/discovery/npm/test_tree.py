from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import gems
import pytest
from node_packages import link, write_package

from skillsync import filesystem
from skillsync.discovery import disk
from skillsync.discovery.npm import tree
from skillsync.errors import Code, SkillsyncError, UnreadableError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from node_packages import World


class TestStores:
    def test_pnpm_keeps_what_is_depended_on_beside_a_package(self, world: World) -> None:
        world.store.add("@acme/a", needs=["@acme/b@1.0.0", "c@1.0.0"])
        world.store.add("@acme/b", "1.0.0", "b")
        world.store.add("c", needs=["d@1.0.0"])
        world.store.add("d")
        world.store.depend("@acme/a@1.0.0")
        assert world.found() == {
            f"{name} 1.0.0": f"node_modules/.pnpm/{name.replace('/', '+')}@1.0.0/node_modules/{name}"
            for name in ("@acme/a", "@acme/b", "c", "d")
        }
        assert {package.source for package in world.read().packages} == {"node_modules"}

    def test_what_pnpm_hoists_counts_as_the_roots(self, world: World) -> None:
        world.store.add("a", needs=["demo@2.0.0", "b@1.0.0"])
        world.store.add("b", needs=["demo@1.0.0"])
        for version in ("1.0.0", "2.0.0"):
            world.store.add("demo", version, "testing")
        world.store.depend("a@1.0.0")
        world.store.hoist("demo@1.0.0")
        assert "demo 1.0.0" in world.found()
        (note,) = world.read().notes
        assert note.startswith(
            "npm:demo 1.0.0 in node_modules/.pnpm/node_modules/demo counts, as the nearest; not 2.0.0"
        )
        assert note.endswith("not 2.0.0 in node_modules/.pnpm/a@1.0.0/node_modules/demo")

    def test_without_hoisting_the_shortest_way_counts(self, world: World) -> None:
        world.store.add("a", needs=["b@1.0.0"])
        world.store.add("b", needs=["demo@1.0.0"])
        world.store.add("c", needs=["demo@2.0.0"])
        for version in ("1.0.0", "2.0.0"):
            world.store.add("demo", version, "testing")
        for full in ("a@1.0.0", "c@1.0.0"):
            world.store.depend(full)
        assert "demo 2.0.0" in world.found()

    def test_what_no_link_leads_to_was_removed(self, world: World) -> None:
        world.store.add("a")
        world.store.add("gone", "1.0.0", "testing", needs=["also-gone@1.0.0"])
        world.store.add("also-gone")
        world.store.depend("a@1.0.0")
        assert list(world.found()) == ["a 1.0.0"]

    def test_one_version_with_other_peers_is_one_provider(self, world: World) -> None:
        for peer in ("1.0.0", "2.0.0"):
            world.store.add("peer", peer)
            world.store.add("demo", "1.0.0", "testing", needs=[f"peer@{peer}"], peers=f"_peer@{peer}")
            slot = world.store.add(f"a{peer[0]}").parent
            link(slot / "demo", world.store.package(f"demo@1.0.0_peer@{peer}"))
            world.store.depend(f"a{peer[0]}@1.0.0")
        world.store.hoist("peer@1.0.0")
        packages = world.read().packages
        assert [(one.name, one.version) for one in packages] == [
            *(("a1", "1.0.0"), ("a2", "1.0.0")),
            *(("demo", "1.0.0"), ("demo", "1.0.0"), ("peer", "1.0.0")),
        ]
        assert not any(package.problems for package in packages)

    def test_a_store_can_be_anywhere(self, world: World, tmp_path: Path) -> None:
        slot = tmp_path / "store/links/@/a/1.0.0/0c95e8/node_modules"
        write_package(slot / "a", "a")
        link(slot / "b", write_package(tmp_path / "store/links/@/b/1.0.0/1b22c2/node_modules/b", "b"))
        link(world.node_modules / "a", slot / "a")
        assert set(world.found()) == {"a 1.0.0", "b 1.0.0"}
        link(slot / "b2", write_package(tmp_path / "store/links/@/b/2.0.0/f48a4f/node_modules/b", "b", "2.0.0", "b"))
        assert f"2.0.0 in {slot}/b2" in str([package.problems for package in world.read().packages])

    def test_bun_hoists_into_a_directory_of_its_own(self, world: World) -> None:
        slot = world.node_modules / ".bun/a@1.0.0/node_modules"
        link(world.node_modules / "a", write_package(slot / "a", "a"))
        for version in ("1.0.0", "2.0.0"):
            write_package(world.node_modules / f".bun/demo@{version}/node_modules/demo", "demo", version, "testing")
        link(slot / "demo", world.node_modules / ".bun/demo@1.0.0/node_modules/demo")
        link(world.node_modules / ".bun/node_modules/demo", world.node_modules / ".bun/demo@2.0.0/node_modules/demo")
        assert set(world.found()) == {"a 1.0.0", "demo 2.0.0"}

    def test_yarn_keeps_the_package_beside_what_it_depends_on(self, world: World) -> None:
        store = world.node_modules / ".store"
        for name, slot in (("@acme/a", "@acme-a-npm-1.0.0-0c95e8"), ("b", "b-npm-1.0.0-1b22c2")):
            write_package(store / slot / "package", name)
            link(store / slot / "node_modules" / name, store / slot / "package")
        link(store / "@acme-a-npm-1.0.0-0c95e8/node_modules/b", store / "b-npm-1.0.0-1b22c2/package")
        link(world.node_modules / "@acme/a", store / "@acme-a-npm-1.0.0-0c95e8/package")
        assert set(world.found()) == {"@acme/a 1.0.0", "b 1.0.0"}
        assert world.warned() == []

    def test_what_is_beside_a_package_in_npms_store_is_not_in_it(self, world: World) -> None:
        for name, slot in (("@acme/a", ".store/@acme/a@1.0.0-x"), ("b", ".store/b@1.0.0-x")):
            write_package(world.node_modules / slot / "node_modules" / name, name)
        link(world.node_modules / "@acme/a", world.node_modules / ".store/@acme/a@1.0.0-x/node_modules/@acme/a")
        link(
            world.node_modules / ".store/@acme/a@1.0.0-x/node_modules/b",
            world.node_modules / ".store/b@1.0.0-x/node_modules/b",
        )
        assert set(world.found()) == {"@acme/a 1.0.0", "b 1.0.0"}


class TestLinks:
    def test_a_package_may_be_a_link_to_anywhere(self, world: World, tmp_path: Path) -> None:
        write_package(world.root / "local", "local", "1.0.0", "local")
        write_package(tmp_path / "outside", "outside", "1.0.0", "outside")
        link(world.node_modules / "local", world.root / "local")
        link(tmp_path / "global/node_modules/outside", tmp_path / "outside")
        (world.node_modules / "outside").symlink_to(tmp_path / "global/node_modules/outside")
        assert world.found() == {"local 1.0.0": "local", "outside 1.0.0": "../outside"}

    def test_what_a_source_tree_has_installed_is_its_developers(self, world: World, tmp_path: Path) -> None:
        for tree_root, name in ((world.root / "local", "local"), (tmp_path / "outside", "outside")):
            write_package(tree_root, name)
            write_package(tree_root / f"node_modules/of-{name}", f"of-{name}", "1.0.0", "testing")
            link(world.node_modules / name, tree_root)
        # npm installs for a tree inside the project, and for no other.
        assert set(world.found()) == {"local 1.0.0", "of-local 1.0.0", "outside 1.0.0"}

    def test_neighbours_in_somebody_elses_node_modules_are_not_the_projects(self, world: World, tmp_path: Path) -> None:
        for name in ("a", "@acme/b", "c"):
            write_package(tmp_path / "other/node_modules" / name, name, "1.0.0", "testing")
        link(world.node_modules / "a", tmp_path / "other/node_modules/a")
        link(world.node_modules / "@acme/b", tmp_path / "other/node_modules/@acme/b")
        assert set(world.found()) == {"a 1.0.0", "@acme/b 1.0.0"}

    def test_the_project_and_what_contains_it_are_no_providers(self, world: World, tmp_path: Path) -> None:
        write_package(tmp_path, "above", "1.0.0", "testing")
        for name, target in (("self", world.root), ("above", tmp_path), ("root", Path("/"))):
            link(world.node_modules / name, target)
        assert world.found() == {}
        assert world.read().notes == tuple(
            f"node_modules/{name} is the project itself or a member of its workspace: no provider"
            for name in ("above", "root", "self")
        )

    def test_the_node_modules_of_the_project_may_be_a_link(self, world: World, tmp_path: Path) -> None:
        write_package(tmp_path / "shared/node_modules/a", "a")
        link(world.node_modules, tmp_path / "shared/node_modules")
        assert world.found() == {"a 1.0.0": "../shared/node_modules/a"}
        assert world.read().sources == ("node_modules",)

    def test_no_link_below_a_package_is_followed(self, world: World, tmp_path: Path) -> None:
        write_package(tmp_path / "elsewhere/x", "x", "1.0.0", "testing")
        write_package(tmp_path / "other/y", "@acme/y", "1.0.0", "testing")
        link(world.install("a") / "node_modules", tmp_path / "elsewhere")
        link(world.node_modules / "@acme", tmp_path / "other")
        link(world.install("b") / "package.json.bak", tmp_path)
        root = world.install("c")
        (root / "package.json").unlink()
        link(root / "package.json", world.root / "package.json")
        assert set(world.found()) == {"a 1.0.0", "b 1.0.0"}
        assert world.warned() == [
            (Code.PACKAGE_UNREADABLE, f"{path}; what is there is left out")
            for path in (
                "node_modules/@acme: a scope that is a link is not followed",
                "node_modules/c: its package.json can't be used: it is a symbolic link",
                "node_modules/a/node_modules: it is a link, and is not followed",
            )
        ]

    def test_a_way_that_goes_through_another_link_is_followed_as_it_is(self, world: World, tmp_path: Path) -> None:
        # `deep/..` is where the link leads, and not the directory that it is in.
        (tmp_path / "real/deep").mkdir(parents=True)
        write_package(tmp_path / "real/a", "a", "2.0.0")
        write_package(world.root / "a", "a", "1.0.0")
        (world.root / "deep").symlink_to(tmp_path / "real/deep")
        world.node_modules.mkdir()
        (world.node_modules / "a").symlink_to("../deep/../a")
        assert set(world.found()) == {"a 2.0.0"}


class TestUnreadable:
    def test_what_leads_to_no_package_is_said(self, world: World) -> None:
        world.install("good")
        (world.node_modules / "empty").mkdir()
        for name, target in (("gone", "nowhere"), ("loop", "loop"), ("to-a-file", "../package.json")):
            (world.node_modules / name).symlink_to(target)
        os.mkfifo(world.node_modules / "pipe")
        assert set(world.found()) == {"good 1.0.0"}
        assert world.warned() == [
            (Code.PACKAGE_UNREADABLE, f"node_modules/{path}; what is there is left out")
            for path in (
                "empty: it has no package.json",
                "gone: it leads to no directory",
                "loop: too many levels of symbolic links",
                "to-a-file: it leads to no directory",
            )
        ]
        assert world.read().problems[0].path == "node_modules/empty"

    def test_hostile_text_leaves_out_one_package(self, world: World) -> None:
        world.install("good", "1.0.0", "testing")
        texts = {
            "deep": "[" * 100_000,
            "huge": '{"name": "huge", "x": "' + "x" * (4 * 1024 * 1024) + '"}',
            "no-json": "module.exports = {}",
            "path": '{"name": "../../etc"}',
            "control": '{"name": "a\\u001b[31m"}',
            "list": "[]",
            "version": '{"name": "version", "version": "^1"}',
        }
        gems.write_files(world.node_modules, {f"{name}/package.json": text for name, text in texts.items()})
        (world.node_modules / "directory/package.json").mkdir(parents=True)
        (world.node_modules / "pipe").mkdir()
        os.mkfifo(world.node_modules / "pipe/package.json")
        (world.node_modules / "deep/node_modules").mkdir()
        world.install("deep/node_modules/inner")
        assert set(world.found()) == {"good 1.0.0", "inner 1.0.0"}
        found = dict(message.split(": its package.json can't be used: ") for _, message in world.warned())
        assert {path.removeprefix("node_modules/"): reason.partition(";")[0] for path, reason in found.items()} == {
            "control": "its name `a\x1b[31m` is not one that npm allows",
            "deep": "it is nested too deeply",
            "directory": "it is a directory",
            "huge": "it is larger than 3072 KiB",
            "list": "it is not a JSON object",
            "no-json": "it is not JSON: Expecting value",
            "path": "its name `../../etc` is not one that npm allows",
            "pipe": "it is not a regular file",
            "version": "`^1` is not an npm version",
        }

    def test_a_name_that_is_no_text_is_shown(self, world: World) -> None:
        os.mkdir(os.fsencode(world.node_modules.parent) + b"/node_modules")
        os.mkdir(os.fsencode(world.node_modules) + b"/\xff")
        assert world.warned() == [
            (Code.PACKAGE_UNREADABLE, "node_modules/\\xff: it has no package.json; what is there is left out")
        ]

    def test_a_directory_that_can_not_be_listed_stops(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        world.install("a")

        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(disk, "open_directory", refuse)
        with pytest.raises(SkillsyncError) as error:
            world.look()
        (problem,) = error.value.problems
        assert (problem.code, problem.path) == (Code.ENVIRONMENT_UNREADABLE, "node_modules")
        assert problem.message == "node_modules can't be read: permission denied"

        def doubt(*_: object, **__: object) -> None:
            raise UnreadableError("permission denied")

        monkeypatch.setattr(disk, "is_directory", doubt)
        with pytest.raises(SkillsyncError, match="node_modules can't be read: permission denied"):
            world.look()

    def test_a_package_that_can_not_be_opened_is_left_out(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        world.install("a")
        world.install("b")

        def refuse(root: str) -> AbstractContextManager[int]:
            if root.endswith("/a"):
                raise PermissionError(13, "Permission denied")
            return filesystem.open_directory(root)

        monkeypatch.setattr(tree, "open_directory", refuse)
        assert set(world.found()) == {"b 1.0.0"}
        assert world.warned() == [
            (Code.PACKAGE_UNREADABLE, "node_modules/a: permission denied; what is there is left out")
        ]
