from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import crates
import gems
import pytest
from crates import CRATES_IO, GIT, REVISION, World, row
from tools import need

from skillsync.discovery import cargo
from skillsync.discovery.environment import Environment
from skillsync.errors import Code, SkillsyncError

if TYPE_CHECKING:
    from skillsync.discovery.environment import Ecosystem

OWN = row("app", "1.0.0", "", "demo")
MINE = "registry+https://example.org/index"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A project at the root of a repository."""
    (tmp_path / "app/.git").mkdir(parents=True)
    found = World(tmp_path / "app")
    found.toml()
    return found


def test_the_module_is_an_ecosystem() -> None:
    ecosystem: Ecosystem = cargo
    assert ecosystem.NAME == "cargo"
    assert ecosystem.canonical("Foo_Bar-baz") == "Foo_Bar-baz"
    assert sorted(["0.10.0", "0.9.0", "0.10.0-rc.1"], key=cargo.version_key) == ["0.9.0", "0.10.0-rc.1", "0.10.0"]


class TestRegistry:
    def test_crates_of_the_lock_are_found_where_they_were_unpacked(self, world: World) -> None:
        world.lock(OWN, row("demo", "1.2.3+build.1"))
        world.unpack("demo", "1.2.3+build.1", "testing")
        world.unpack("demo", "9.0.0", "testing")
        (demo,) = world.read().packages
        source = str(world.home / f"registry/src/{crates.INDEX}")
        assert (demo.key, demo.version, demo.root) == ("cargo:demo", "1.2.3+build.1", f"{source}/demo-1.2.3+build.1")
        assert (demo.places, demo.source, demo.problems) == (("skills",), source, ())
        assert (world.read().sources, world.read().problems, world.read().notes) == ((source,), (), ())
        assert world.read().named == {"demo"}

    def test_cargos_home_is_that_of_the_person_where_none_is_named(self, world: World) -> None:
        world.lock(OWN, row("demo"))
        world.unpack("demo")
        shutil.move(world.home, world.root.parent / ".cargo")
        assert isinstance(world.look(HOME=str(world.root.parent)), Environment)
        assert isinstance(world.look(CARGO_HOME="../.cargo", HOME="/nowhere"), Environment)
        assert world.none(PATH="").problem.message.endswith("is there: looked in vendor")

    def test_the_index_has_to_be_on_the_host_of_the_source(self, world: World) -> None:
        world.lock(OWN, row("demo"), row("mine", "1.0.0", MINE), row("sparse", "1.0.0", "sparse+http://[::1]:80/"))
        for name, index in (("demo", "github.com"), ("demo", "evil.org"), ("mine", "example.org"), ("sparse", "::1")):
            world.unpack(name, index=f"{index}-0123456789abcdef")
        world.unpack("demo", index="index.crates.io")
        assert set(world.found().values()) == {
            "home/registry/src/github.com-0123456789abcdef/demo-1.0.0",
            "home/registry/src/example.org-0123456789abcdef/mine-1.0.0",
            "home/registry/src/::1-0123456789abcdef/sparse-1.0.0",
        }

    def test_the_same_crate_from_several_indexes_is_in_variants(self, world: World) -> None:
        world.lock(OWN, row("demo"))
        for index in ("github.com-1ecc6299db9ec823", crates.INDEX):
            world.unpack("demo", "1.0.0", "testing", index=index)
        assert [package.version for package in world.read().packages] == ["1.0.0", "1.0.0"]

    def test_one_that_ships_skills_has_to_come_from_the_locked_archive(self, world: World) -> None:
        archives = {"github.com-1ecc6299db9ec823": b"the one", "github.com-0123456789abcdef": b"another"}
        checksum = hashlib.sha256(b"the one").hexdigest()
        world.lock(OWN, row("demo", checksum=checksum), row("plain", checksum=checksum))
        for index, content in archives.items():
            world.unpack("demo", "1.0.0", "testing", index=index)
            world.unpack("plain", index=index)
            gems.write_files(world.home / "registry/cache" / index, {"demo-1.0.0.crate": content})
        assert world.found()["demo 1.0.0"] == "home/registry/src/github.com-1ecc6299db9ec823/demo-1.0.0"
        path = "home/registry/src/github.com-0123456789abcdef/demo-1.0.0"
        reason = "is not the crate that Cargo.lock names: its archive has another checksum; what is there is left out"
        assert world.warned() == [(Code.PACKAGE_UNREADABLE, f"{path} {reason}")]

    def test_what_was_not_unpacked_to_its_end_is_left_out(self, world: World) -> None:
        world.lock(OWN, row("demo"), row("other"))
        world.unpack("other")
        (world.unpack("demo", "1.0.0", "testing") / ".cargo-ok").unlink()
        assert set(world.found()) == {"other 1.0.0"}
        ((code, message),) = world.warned()
        assert code is Code.PACKAGE_UNREADABLE
        assert "demo-1.0.0 was not unpacked to its end: it has no .cargo-ok" in message

    def test_a_crate_that_was_not_fetched_is_only_noted(self, world: World) -> None:
        world.lock(OWN, row("demo"), *(row(f"absent{number}") for number in range(7)))
        world.unpack("demo")
        assert set(world.found()) == {"demo 1.0.0"}
        absent = ", ".join(f"absent{number} 1.0.0" for number in range(5))
        assert world.read().notes == (f"Cargo.lock names what is not there: {absent} and 2 more",)
        assert world.warned() == []
        assert "absent6" in world.read().named


class TestSeveralVersions:
    def test_the_one_that_the_project_depends_on_counts(self, world: World) -> None:
        mine = row("app", "1.0.0", "", "middle", "demo 1.0.0")
        world.lock(mine, row("middle", "1.0.0", CRATES_IO, "demo 2.0.0"), row("demo"), row("demo", "2.0.0"))
        for version in ("1.0.0", "2.0.0"):
            world.unpack("demo", version, "testing")
        world.unpack("middle")
        assert set(world.found()) == {"middle 1.0.0", "demo 1.0.0"}
        (note,) = world.read().notes
        assert note.startswith("cargo:demo 1.0.0 in /")
        assert "counts, as the nearest; not 2.0.0 in " in note

    def test_a_dependency_that_names_its_source_is_told_by_it(self, world: World) -> None:
        world.lock(
            row("app", "1.0.0", "", f"demo 1.0.0 ({MINE})"),
            row("demo"),
            row("demo", "1.0.0", MINE),
            head="version = 3\n",
        )
        world.unpack("demo")
        world.unpack("demo", index="example.org-0123456789abcdef")
        assert world.found() == {"demo 1.0.0": "home/registry/src/example.org-0123456789abcdef/demo-1.0.0"}

    def test_two_that_are_equally_near_are_ambiguous(self, world: World) -> None:
        world.lock(row("app", "1.0.0", "", "demo 1.0.0", "demo 2.0.0"), row("demo"), row("demo", "2.0.0"))
        world.unpack("demo", "1.0.0", "testing")
        world.unpack("demo", "2.0.0")
        one, two = world.read().packages
        (problem,) = one.problems
        assert two.problems == (problem,)
        assert (problem.code, problem.provider) == (Code.AMBIGUOUS_PROVIDER, "cargo:demo")
        assert problem.hint == (
            "make demo a dependency of the project's own Cargo.toml, "
            "or name its version: `skillsync allow cargo:demo --version VERSION`"
        )
        shutil.rmtree(Path(one.root) / "skills")
        assert not any(package.problems for package in world.read().packages)

    def test_the_members_own_dependency_is_nearer_than_its_workspaces(self, world: World) -> None:
        world.toml('[workspace]\nmembers = ["a", "b"]\n')
        names = {"app": "1.0.0", "a": "2.0.0", "b": "3.0.0"}
        for name in ("a", "b"):
            world.toml(at=name, name=name)
        world.lock(
            *(row(name, "1.0.0", "", f"demo {version}") for name, version in names.items()),
            *(row("demo", version) for version in names.values()),
        )
        for version in names.values():
            world.unpack("demo", version, "testing")
        assert [set(world.found(at)) for at in ("", "a", "b")] == [{"demo 1.0.0"}, {"demo 2.0.0"}, {"demo 3.0.0"}]

    def test_what_nothing_leads_to_is_the_farthest(self, world: World) -> None:
        world.lock(OWN, row("demo"), row("stale"))
        world.unpack("demo")
        world.unpack("stale")
        assert set(world.found()) == {"demo 1.0.0", "stale 1.0.0"}


class TestGit:
    def test_a_crate_is_where_its_repository_has_it(self, world: World) -> None:
        world.lock(OWN, row("demo", source=GIT), row("inner", source=GIT), row("beside", source=GIT))
        tree = world.check_out(
            {"Cargo.toml": crates.manifest("demo", text='[workspace]\nmembers = ["crates/*"]\nexclude = ["beside"]\n')},
            at=f"Repo-0123456789abcdef/{REVISION[:7]}",
        )
        crates.write_crate(tree / "crates/inner", "inner", text='[dependencies]\nbeside = { path = "../../beside" }\n')
        crates.write_crate(tree / "beside", "beside")
        at = f"home/git/checkouts/Repo-0123456789abcdef/{REVISION[:7]}"
        assert world.found() == {
            "demo 1.0.0": at,
            "inner 1.0.0": f"{at}/crates/inner",
            "beside 1.0.0": f"{at}/beside",
        }
        assert world.read().sources == (str(world.home / "git/checkouts"),)

    @pytest.mark.parametrize(
        "at",
        [
            f"other-0123456789abcdef/{REVISION[:7]}",
            f"Repo-0123/{REVISION[:7]}",
            f"Repo-0123456789abcdef/{REVISION[:6]}",
            "Repo-0123456789abcdef/abcdef0",
        ],
    )
    def test_the_checkout_has_to_be_of_the_repository_and_revision(self, world: World, at: str) -> None:
        world.lock(OWN, row("demo", source=GIT))
        world.check_out({"Cargo.toml": crates.manifest("demo")}, at=at)
        assert world.none().named == {"demo"}

    @pytest.mark.parametrize(
        ("source", "directory"),
        [
            ("git+https://github.com/Acme/Repo#" + REVISION, "repo-0123456789abcdef"),
            ("git+ssh://git@example.org/acme/Repo/?rev=x#" + REVISION, "Repo-0123456789abcdef-shallow"),
        ],
    )
    def test_a_checkout_is_called_as_cargo_calls_it(self, world: World, source: str, directory: str) -> None:
        world.lock(OWN, row("demo", source=source))
        world.check_out({"Cargo.toml": crates.manifest("demo")}, at=f"{directory}/{REVISION}")
        assert set(world.found()) == {"demo 1.0.0"}

    @pytest.mark.parametrize("source", ["git+https://example.org/repo", "git+https://[/repo#" + REVISION, "git+#../.."])
    def test_a_source_that_can_not_be_one_is_found_nowhere(self, world: World, source: str) -> None:
        world.lock(OWN, row("demo", source=source))
        world.check_out({"Cargo.toml": crates.manifest("demo")})
        world.none()

    def test_an_unfinished_checkout_does_not_count(self, world: World) -> None:
        world.lock(OWN, row("demo", source=GIT))
        tree = world.check_out({"Cargo.toml": crates.manifest("demo")}, at=f"Repo-0123456789abcdef/{REVISION[:7]}")
        (tree / ".cargo-ok").unlink()
        world.none()

    def test_a_repository_leads_nowhere_outside(self, world: World, tmp_path: Path) -> None:
        out = '[workspace]\nmembers = ["../../../../../outside", "linked"]\n'
        path = '[dependencies]\noutside = { path = "../../../../../outside" }\n'
        world.lock(OWN, row("outside", source=GIT), row("good", source=GIT), row("other"))
        world.unpack("other")
        at = "Repo-0123456789abcdef"
        tree = world.check_out({"Cargo.toml": crates.manifest("good", text=out + path)}, at=f"{at}/{REVISION[:7]}")
        crates.write_crate(tmp_path / "outside", "outside", "1.0.0", "stolen")
        assert set(world.found()) == {"good 1.0.0", "other 1.0.0"}
        (tree / "linked").symlink_to(tmp_path / "outside")
        assert set(world.found()) == {"other 1.0.0"}
        ((code, message),) = world.warned()
        assert code is Code.PACKAGE_UNREADABLE
        assert message.endswith(
            "linked/Cargo.toml can't be read: `linked` is a symbolic link; what is there is left out"
        )

    def test_a_repository_whose_files_can_not_be_read_is_left_out(self, world: World) -> None:
        world.lock(OWN, row("demo", source=GIT), row("other"))
        world.unpack("other")
        world.check_out({"Cargo.toml": "[package"}, at=f"Repo-0123456789abcdef/{REVISION[:7]}")
        assert set(world.found()) == {"other 1.0.0"}
        assert [code for code, _ in world.warned()] == [Code.PACKAGE_UNREADABLE]

    def test_a_file_in_a_directorys_place_is_no_crate(self, world: World) -> None:
        world.lock(OWN, row("demo", source=GIT), row("other"))
        world.unpack("other")
        text = crates.manifest("good", text='[workspace]\nmembers = ["file", "absent"]\n')
        world.check_out({"Cargo.toml": text, "file": ""}, at=f"Repo-0123456789abcdef/{REVISION[:7]}")
        assert (set(world.found()), world.warned()) == ({"other 1.0.0"}, [])


class TestVendor:
    CONFIG = '[source.crates-io]\nreplace-with = "v"\n[source.v]\ndirectory = "vendor"\n'

    def test_a_replaced_source_is_looked_for_nowhere_else(self, world: World) -> None:
        world.config(self.CONFIG)
        mine = row("app", "1.0.0", "", "demo 1.0.0")
        world.lock(mine, row("demo", checksum="a"), row("demo", "0.9.0", checksum="b"), row("absent"))
        world.unpack("absent")
        world.vendor("demo", "1.0.0", checksum="a")
        world.vendor("demo", "0.9.0", at="demo-0.9.0", checksum="b")
        assert set(world.found().values()) == {"app/vendor/demo"}
        world.lock(row("app", "1.0.0", "", "demo 0.9.0"), row("demo", checksum="a"), row("demo", "0.9.0", checksum="b"))
        assert world.found() == {"demo 0.9.0": "app/vendor/demo-0.9.0"}
        assert world.read().sources == ("vendor",)

    def test_a_vendor_directory_counts_where_cargos_home_has_not_got_it(self, world: World) -> None:
        world.lock(OWN, row("demo", checksum="a"), row("other"), row("inner", source=GIT))
        world.vendor("demo", checksum="a")
        world.vendor("other")
        world.vendor("inner")
        world.unpack("other")
        assert world.found() == {
            "demo 1.0.0": "app/vendor/demo",
            "other 1.0.0": f"home/registry/src/{crates.INDEX}/other-1.0.0",
            "inner 1.0.0": "app/vendor/inner",
        }

    @pytest.mark.parametrize("checksum", [None, "b"])
    def test_the_checksum_has_to_be_the_locks(self, world: World, checksum: str | None) -> None:
        world.lock(OWN, row("demo", checksum="a"), row("other"))
        world.unpack("other")
        world.vendor("demo", checksum=checksum)
        assert set(world.found()) == {"other 1.0.0"}
        reason = "is not the crate that Cargo.lock names: .cargo-checksum.json has another checksum"
        assert world.warned() == [(Code.PACKAGE_UNREADABLE, f"vendor/demo {reason}; what is there is left out")]
        assert world.read().problems[0].path == "vendor/demo"

    @pytest.mark.parametrize(
        ("files", "reason"),
        [
            ({"Cargo.toml": "[package"}, "it is not TOML"),
            ({".cargo-checksum.json": "{"}, "Expecting"),
            ({".cargo-checksum.json": "[" * 100_000}, "recursion"),
        ],
    )
    def test_what_can_not_be_read_is_left_out(self, world: World, files: dict[str, str], reason: str) -> None:
        world.lock(OWN, row("demo"), row("other"))
        world.unpack("other")
        gems.write_files(world.vendor("demo"), files)
        ((code, message),) = world.warned()
        assert code is Code.PACKAGE_UNREADABLE
        assert message.startswith("vendor/demo can't be read: ")
        assert reason in message

    def test_a_directory_that_may_not_be_opened_is_left_out(self, world: World) -> None:
        world.lock(OWN, row("demo"), row("other"))
        world.unpack("other")
        (world.root / "vendor").mkdir()
        (world.root / "vendor/demo").symlink_to("demo")
        ((code, message),) = world.warned()
        assert code is Code.PACKAGE_UNREADABLE
        assert message.startswith("vendor/demo can't be read: too many levels of symbolic links")

    def test_what_is_no_vendored_crate_is_passed_over(self, world: World) -> None:
        world.lock(OWN, row("demo"), row("other"), row("list"))
        world.unpack("other")
        (world.vendor("demo") / ".cargo-checksum.json").unlink()
        gems.write_files(world.vendor("list", "0.1.0"), {".cargo-checksum.json": "[]"})
        assert (set(world.found()), world.warned()) == ({"other 1.0.0"}, [])


class TestReplacement:
    def found(self, world: World, source: str = CRATES_IO) -> list[str]:
        """Which of the places is taken."""
        world.lock(OWN, row("demo", source=source))
        for index in (crates.INDEX, "mirror.org-0123456789abcdef", "-0123456789abcdef"):
            world.unpack("demo", index=index)
        world.vendor("demo")
        return [path.split("/")[3] if path.startswith("home") else path for path in world.found().values()]

    @pytest.mark.parametrize(
        ("end", "place"),
        [
            ('[source.m]\nregistry = "https://mirror.org/index"', "mirror.org-0123456789abcdef"),
            ('[registries.m]\nindex = "sparse+https://mirror.org/"', "mirror.org-0123456789abcdef"),
            ('[source.m]\nlocal-registry = "crates"', "-0123456789abcdef"),
            ('[source.m]\ndirectory = "./vendor"', "app/vendor/demo"),
            ('[source.m]\nreplace-with = "n"\n[source.n]\ndirectory = "vendor"', "app/vendor/demo"),
            # Cargo refuses the rest.
            ("", crates.INDEX),
            ('[source.m]\nreplace-with = "crates-io"', crates.INDEX),
            ("[source.m]\ndirectory = 1", crates.INDEX),
            ("[source]\nm = 1", crates.INDEX),
        ],
    )
    def test_the_end_of_the_chain_counts(self, world: World, end: str, place: str) -> None:
        world.config(f'source.crates-io.replace-with = "m"\n{end}' if "[source]" not in end else end)
        assert self.found(world) == [place]

    def test_an_index_of_ones_own_is_told_by_its_address(self, world: World) -> None:
        world.config(
            '[source.x]\nregistry = "https://other.org/index"\nreplace-with = "nowhere"\n'
            '[source.mine]\nregistry = "https://example.org/index"\nreplace-with = "crates-io"\n'
        )
        assert self.found(world, MINE) == [crates.INDEX]

    @pytest.mark.parametrize(
        ("settings", "is_it"),
        [
            ('git = "https://example.org/acme/Repo.git"\nbranch = "main"', True),
            ('git = "https://example.org/acme/Repo.git"', False),
            ('git = "https://example.org/acme/Repo.git"\nbranch = "main"\ntag = "x"', False),
            ('git = "https://example.org/acme/Other.git"\nbranch = "main"', False),
        ],
    )
    def test_a_repository_is_told_by_address_and_reference(
        self,
        world: World,
        settings: str,
        is_it: bool,  # noqa: FBT001
    ) -> None:
        world.config(f'[source.g]\n{settings}\nreplace-with = "v"\n[source.v]\ndirectory = "third-party"\n')
        world.lock(OWN, row("demo", source=GIT))
        world.vendor("demo")
        shutil.move(world.root / "vendor", world.root / "third-party")
        if is_it:
            assert world.found() == {"demo 1.0.0": "app/third-party/demo"}
        else:
            world.none()

    def test_the_nearest_setting_counts(self, world: World) -> None:
        gems.write_files(
            world.home, {"config.toml": '[source.crates-io]\nreplace-with = "m"\n[source.m]\ndirectory = "x"\n'}
        )
        world.config("")
        with pytest.raises(AssertionError):
            self.found(world)
        world.config('[source.m]\ndirectory = "vendor"\n')
        assert self.found(world) == ["app/vendor/demo"]
        world.config('[source.m]\ndirectory = "y"\n', at="sub/.cargo/config")
        world.config("", at="sub/.cargo/config.toml")
        assert "third" not in world.none("sub").problem.message

    def test_settings_have_to_be_readable(self, world: World) -> None:
        world.config("[source\n")
        world.lock(OWN)
        with pytest.raises(SkillsyncError) as error:
            world.look()
        (problem,) = error.value.problems
        assert problem.message.startswith(".cargo/config.toml can't be read: it is not TOML")
        assert (problem.code, problem.path, problem.line) == (Code.ENVIRONMENT_UNREADABLE, ".cargo/config.toml", 1)


class TestPaths:
    def test_path_crates_are_providers_and_what_they_lead_to(self, world: World) -> None:
        world.toml('[dependencies]\naliased = { path = "local/demo", package = "demo" }\nplain = "1"\n')
        leads = {
            "local/demo": '[dev-dependencies]\nb = { path = "../../../b" }\n',
            "../b": '[target."cfg(unix)".build-dependencies]\nd = { path = "../app/local/demo" }\n',
        }
        for at, text in leads.items():
            crates.write_crate(world.root / at, at.rpartition("/")[2], text=text)
        world.lock(OWN, row("demo", source=""), row("b", source=""), row("plain"))
        assert world.found() == {"demo 1.0.0": "app/local/demo", "b 1.0.0": "b"}
        assert world.read().sources == ("Cargo.lock",)
        assert world.read().named == {"demo", "b", "plain"}

    @pytest.mark.parametrize(
        "text",
        [
            '[patch.crates-io]\ndemo = { path = "fork" }\n',
            '[patch."https://example.org/repo"]\ndemo = { path = "fork" }\n',
            '[replace]\n"demo:1.0.0" = { path = "fork" }\n',
        ],
    )
    def test_a_patch_is_a_path_crate(self, world: World, text: str) -> None:
        world.toml(text)
        crates.write_crate(world.root / "fork", "demo")
        world.lock(OWN, row("demo", source=""))
        assert world.found() == {"demo 1.0.0": "app/fork"}

    def test_a_dependency_may_be_the_workspaces(self, world: World) -> None:
        world.toml(
            '[workspace]\nmembers = ["a"]\nexclude = ["local"]\n'
            '[workspace.dependencies]\ndemo = { path = "local/demo" }\nunused = { path = "local/unused" }\n'
        )
        world.toml("[dependencies]\ndemo = { workspace = true }\nunknown.workspace = true\n", at="a", name="a")
        for name in ("demo", "unused"):
            crates.write_crate(world.root / f"local/{name}", name)
        world.lock(OWN, row("a", source=""), row("demo", source=""), row("unused", source=""))
        assert world.found() == {"demo 1.0.0": "app/local/demo"}
        assert world.read().notes == ("Cargo.lock names what is not there: unused 1.0.0",)

    def test_the_version_is_the_locks_even_if_it_is_inherited(self, world: World) -> None:
        world.toml('[dependencies]\ndemo = { path = "../demo" }\n')
        gems.write_files(world.root, {"../demo/Cargo.toml": '[package]\nname = "demo"\nversion.workspace = true\n'})
        world.lock(OWN, row("demo", "3.1.0", ""))
        assert set(world.found()) == {"demo 3.1.0"}

    def test_two_path_crates_of_one_name_are_told_by_their_versions(self, world: World) -> None:
        world.toml('[dependencies]\ndemo = { path = "one" }\nother = { path = "two", package = "demo" }\n')
        crates.write_crate(world.root / "one", "demo", "1.0.0")
        crates.write_crate(world.root / "two", "demo", "2.0.0")
        world.lock(
            row("app", "1.0.0", "", "demo 1.0.0", "demo 2.0.0"), row("demo", source=""), row("demo", "2.0.0", "")
        )
        assert world.found() == {"demo 1.0.0": "app/one", "demo 2.0.0": "app/two"}

    def test_a_path_crate_that_is_gone_is_noted(self, world: World) -> None:
        world.toml('[dependencies]\ndemo = { path = "../gone" }\n')
        world.lock(OWN, row("demo", source=""), row("other"))
        world.unpack("other")
        assert world.read().notes == ("Cargo.lock names what is not there: demo 1.0.0",)


class TestWorkspace:
    @pytest.mark.parametrize(
        ("workspace", "members"),
        [
            ('members = ["crates/*"]', {"crates/a", "crates/b"}),
            ('members = ["crates/[ab]", "./deep/er/"]', {"crates/a", "crates/b", "deep/er"}),
            ('members = ["**"]', {"crates/a", "crates/b", "deep/er"}),
            ('members = ["crates/*"]\nexclude = ["crates/b"]', {"crates/a"}),
            ('members = ["crates/a"]\nexclude = ["crates"]', {"crates/a"}),
            ('members = ["../beside", 1]', {"../beside"}),
            ('members = "crates/a"', set()),
            ("", set()),
        ],
    )
    def test_its_members_are_no_providers(self, world: World, workspace: str, members: set[str]) -> None:
        every = ("crates/a", "crates/b", "deep/er", "../beside")
        world.toml(
            f"[workspace]\n{workspace}\n[patch.x]\n" + "".join(f'x{n}.path = "{at}"\n' for n, at in enumerate(every))
        )
        for at in every:
            crates.write_crate(world.root / at, at.rpartition("/")[2], "1.0.0", "testing")
        gems.write_files(world.root, {"crates/file": "", "crates/empty/x": "", ".hidden/Cargo.toml": "[x"})
        (world.root / "crates/linked").symlink_to(world.root / "../beside")
        world.lock(OWN, *(row(at.rpartition("/")[2], source="") for at in every), row("other"))
        world.unpack("other")
        assert set(world.found()) == {f"{at.rpartition('/')[2]} 1.0.0" for at in {*every} - members} | {"other 1.0.0"}

    def test_path_crates_below_the_root_are_members(self, world: World) -> None:
        world.toml(
            '[workspace]\n[dependencies]\na = { path = "a" }\nout = { path = "../out" }\nback = { path = "../back" }\n'
        )
        for at, text in {
            "a": '[dependencies]\nb = { path = "../deep/b" }\ngone = { path = "../../gone" }\n',
            "deep/b": "",
            "../out": '[dependencies]\nc = { path = "../app/c" }\n',
            "c": "",
        }.items():
            crates.write_crate(world.root / at, at.rpartition("/")[2], text=text)
        gems.write_files(world.root, {"../back/Cargo.toml": '[package]\nname = "back"\nworkspace = "../app"\n'})
        world.lock(OWN, *(row(name, source="") for name in ("a", "b", "out", "c", "back")))
        assert world.found() == {"out 1.0.0": "out", "c 1.0.0": "app/c"}
        assert world.read().named == {"out", "c", "gone"}

    def test_the_lock_is_at_its_root(self, world: World) -> None:
        gems.write_files(world.root, {"Cargo.toml": '[workspace]\nmembers = ["a"]\nexclude = ["alone", "a"]\n'})
        world.toml(at="a", name="a")
        world.toml(at="alone", name="alone")
        world.toml('workspace = "../.."\n', at="x/pointing", name="pointing")
        world.lock(row("a", "1.0.0", "", "demo"), row("demo"))
        world.unpack("demo")
        for at in ("a", "a/src", "x/pointing"):
            assert set(world.found(at)) == {"demo 1.0.0"}
        assert world.none("alone").problem.message == "there is no Cargo.lock"
        world.lock(row("a", "1.0.0", ""), row("local", source=""))
        (world.root / "Cargo.lock").rename(world.root / "alone/Cargo.lock")
        assert world.none("a").problem.message == "there is no ../Cargo.lock"

    def test_a_lock_without_a_manifest_still_names_crates(self, world: World) -> None:
        (world.root / "Cargo.toml").unlink()
        world.lock(row("demo"))
        world.unpack("demo")
        assert (set(world.found()), world.read().named) == ({"demo 1.0.0"}, frozenset({"demo"}))


class TestAbsent:
    def test_without_a_lock_there_is_no_environment(self, world: World) -> None:
        world.toml('[dependencies]\na = "1"\nalias = { package = "b", version = "1" }\n')
        none = world.none()
        assert (none.problem.message, none.problem.hint) == ("there is no Cargo.lock", "run `cargo fetch`")
        assert none.named == {"a", "b"}

    def test_nor_with_one_of_whose_crates_none_is_there(self, world: World) -> None:
        world.lock(OWN, row("demo"))
        none = world.none()
        assert none.problem.message == (
            f"none of the crates of Cargo.lock is there: looked in {world.home}/registry/src, vendor"
        )
        assert none.named == {"demo"}
        world.lock(OWN, row("local", source=""))
        assert world.none().problem.message.endswith("is there: looked in the directories that `path` names")

    def test_a_project_that_depends_on_nothing_has_one_without_packages(self, world: World) -> None:
        world.lock(row("app", source=""))
        assert (world.read().packages, world.read().sources, world.read().named) == ((), ("Cargo.lock",), frozenset())


class TestHostile:
    @pytest.mark.parametrize(
        ("name", "version"),
        [
            ("..", "1.0.0"),
            ("../../evil", "1.0.0"),
            ("a/b", "1.0.0"),
            ("-a", "1.0.0"),
            ("a\u2028b", "1.0.0"),
            ("a\u115fb", "1.0.0"),
            ("", "1.0.0"),
            ("a" * 129, "1.0.0"),
            ("evil", "1.0.0/../../x"),
            ("evil", "1.0"),
            ("evil", "v1.0.0"),
            ("evil", "1.0.0-01"),
            ("evil", ".."),
        ],
    )
    def test_no_path_is_made_of_what_is_no_name_or_version(self, world: World, name: str, version: str) -> None:
        world.lock(
            OWN,
            row(name, version).replace('name = ""', "") if name else '[[package]]\nname=""\nversion="1.0.0"\n',
            row("demo"),
        )
        world.unpack("demo")
        assert set(world.found()) == {"demo 1.0.0"}
        ((code, message),) = world.warned()
        assert code is Code.PACKAGE_UNREADABLE
        assert message.startswith("Cargo.lock: a crate is left out: `")
        assert world.read().problems[0].path == "Cargo.lock"

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("[[package]]\nname = 1\n", "package[0].name must be a text"),
            ('[[package]]\nname = "a"\n', "package[0].version is missing"),
            ("package = 1\n", "package must be a list of tables"),
            ("version = 5\n", "version is 5, and this skillsync reads up to 4"),
            ('version = "4"\n', "version is 4, and this skillsync reads up to 4"),
            ("", "it is empty"),
            ("[[package]\n", "it is not TOML"),
            ("version = 4\n<<<<<<< ours\n", "it has merge conflict markers"),
        ],
    )
    def test_a_lock_is_understood_or_an_error(self, world: World, text: str, reason: str) -> None:
        gems.write_files(world.root, {"Cargo.lock": text})
        with pytest.raises(SkillsyncError) as error:
            world.look()
        (problem,) = error.value.problems
        assert problem.message.startswith("Cargo.lock")
        assert reason in problem.message
        assert (problem.code, problem.path) == (Code.ENVIRONMENT_UNREADABLE, "Cargo.lock")
        assert problem.hint

    @pytest.mark.parametrize(
        "text", ["[package", "dependencies = 1\ntarget = 2\npackage = []\nworkspace = 3\npatch.x = 4\n"]
    )
    def test_a_cargo_toml_may_hold_anything(self, world: World, text: str) -> None:
        gems.write_files(world.root, {"Cargo.toml": text})
        world.lock(row("demo"))
        world.unpack("demo")
        if text == "[package":
            with pytest.raises(SkillsyncError, match=r"Cargo.toml can't be read"):
                world.look()
        else:
            assert set(world.found()) == {"demo 1.0.0"}

    def test_what_is_above_the_project_is_named_as_it_is(self, world: World) -> None:
        world.toml(at="sub", name="sub")
        gems.write_files(world.root, {"Cargo.toml": "[x"})
        with pytest.raises(SkillsyncError) as error:
            world.look("sub")
        assert error.value.problems[0].path is None


def test_the_first_format_of_the_lock_is_read(world: World) -> None:
    root = f'[root]\nname = "app"\nversion = "1.0.0"\ndependencies = ["demo 1.0.0 ({CRATES_IO})"]\n'
    world.lock(row("demo"), f'[metadata]\n"checksum demo 1.0.0 ({CRATES_IO})" = "a"\n', head=root)
    world.vendor("demo", checksum="b")
    world.none()
    world.vendor("demo", checksum="a")
    assert world.found() == {"demo 1.0.0": "app/vendor/demo"}


# Requirements: what is true of a version, and whether Cargo takes the text for one.
MEETS = [
    ("1.2", "1.2.0", True),
    ("1.2", "1.9.9", True),
    ("1.2", "2.0.0", False),
    ("1.2.3", "1.2.2", False),
    ("0.3", "0.3.9", True),
    ("0.3", "0.4.0", False),
    ("0", "0.9.0", True),
    ("^0.0.3", "0.0.4", False),
    ("=1.2", "1.2.7", True),
    ("= 1.2.3", "1.2.4", False),
    ("~1.2", "1.3.0", False),
    ("~1", "1.3.0", True),
    ("1.*", "1.9.0", True),
    ("1.2.*", "1.3.0", False),
    ("1.x", "1.3.0", True),
    (">=1.*", "2.0.0", True),
    (">=1.2, <1.5", "1.4.9", True),
    (">=1.2,<1.5", "1.5.0", False),
    (">1", "1.9.0", False),
    ("<=1.2", "1.2.9", True),
    ("1", "1.2.0-rc.1", False),
    (">=1.2.0-rc.1, <2", "1.2.0-rc.2", True),
    ("1.2.0-rc.1", "1.3.0-rc.1", False),
    ("1.2.3+build", "1.2.3", True),
    ("1.2.3", "1.2.3+other", True),
]
REFUSED = [
    "",
    "latest",
    "1.2.3.4",
    "1 2",
    "1 || 2",
    "1.2 - 3",
    "v1.2.3",
    "01.2",
    ">=1,",
    "*, 1",
    "1.*.3",
    "~>1.2",
    "1.2-rc",
]


@pytest.mark.parametrize(("text", "version", "expected"), MEETS)
def test_a_requirement_is_read_as_cargo_reads_it(text: str, version: str, expected: bool) -> None:  # noqa: FBT001
    assert cargo.requirement(text)(version) is expected


def test_a_star_alone_is_any_version() -> None:
    assert cargo.requirement(" * ")("1.0.0-rc.1")


@pytest.mark.parametrize("text", REFUSED)
def test_what_cargo_refuses_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a r"):
        cargo.requirement(text)


# The real cargo


@pytest.mark.parametrize(
    ("text", "version", "expected"),
    [*MEETS, *((text, "1.2.3", None) for text in REFUSED if text not in {"1 2", ">=1,"})],
)
def test_cargo_says_the_same(tmp_path: Path, text: str, version: str, expected: bool | None) -> None:  # noqa: FBT001
    need("cargo")
    crates.write_crate(tmp_path / "demo", "demo", version)
    dependency = f"[dependencies]\ndemo = {{ path = '../demo', version = {json.dumps(text)} }}\n"
    app = crates.write_crate(tmp_path / "app", "app", text=dependency)
    command = ("cargo", "metadata", "--offline", "--format-version", "1")
    done = crates.run(command, app, crates.cargo_environ(tmp_path / "home"), check=False)
    assert (done is not None) is bool(expected)


class TestReal:
    """What cargo itself says of where its crates are."""

    @pytest.fixture
    def real(self, tmp_path: Path) -> World:
        need("cargo", "git")
        environ = crates.cargo_environ(tmp_path / "home")
        crates.index(
            tmp_path / "registry",
            {
                ("alpha", "1.2.0"): (("testing",), {}),
                ("alpha", "0.9.1-rc.1+b1"): (("testing",), {}),
                ("foo-bar", "0.3.0"): (("foo",), {"alpha": "=0.9.1-rc.1"}),
            },
        )
        crates.commit(tmp_path / "registry/index", environ)
        repository = tmp_path / "git/repo"
        gems.write_files(repository, {"Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n'})
        crates.write_crate(repository / "crates/inner", "inner", "0.2.0", "inner")
        crates.write_crate(repository / "crates/other", "other", "0.2.0")
        crates.commit(repository, environ)
        world = World(tmp_path / "app")
        text = (
            '[workspace]\nmembers = ["crates/*"]\nexclude = ["local"]\n[dependencies]\n'
            'alpha = { version = "1", registry = "mine" }\n'
            'foo_bar = { package = "foo-bar", version = "0.3", registry = "mine" }\n'
            f'inner = {{ git = "file://{repository}", branch = "main" }}\n'
            'outside = { path = "../outside" }\nlocal = { path = "local" }\nmember = { path = "lib/member" }\n'
        )
        world.toml(text)
        for at, name in (
            ("../outside", "outside"),
            ("local", "local"),
            ("lib/member", "member"),
            ("crates/more", "more"),
        ):
            crates.write_crate(world.root / at, name, "1.0.0", name)
        world.config(f'[registries.mine]\nindex = "file://{tmp_path}/registry/index"\n')
        crates.run(("cargo", "fetch"), world.root, environ)
        return world

    def said(self, world: World) -> dict[str, str]:
        """What cargo says: the crates that are no members, with their directories."""
        command = ("cargo", "metadata", "--offline", "--format-version", "1")
        found = json.loads(crates.run(command, world.root, crates.cargo_environ(world.home)) or "")
        return {
            f"{one['name']} {one['version']}": str(Path(one["manifest_path"]).parent.resolve())
            for one in found["packages"]
            if one["id"] not in found["workspace_members"]
        }

    def test_every_crate_is_where_cargo_has_it(self, real: World) -> None:
        said = self.said(real)
        assert len(said) == 6
        del said["alpha 0.9.1-rc.1+b1"]  # the project itself depends on the other
        assert {f"{one.name} {one.version}": one.root for one in real.read().packages} == said
        (note,) = real.read().notes
        assert note.startswith("cargo:alpha 1.2.0 in ")

    def test_and_where_it_was_vendored(self, real: World) -> None:
        environ = crates.cargo_environ(real.home)
        settings = crates.run(("cargo", "vendor", "--offline"), real.root, environ)
        gems.write_files(
            real.root, {".cargo/config.toml": (real.root / ".cargo/config.toml").read_text() + (settings or "")}
        )
        shutil.rmtree(real.home)
        said = self.said(real)
        assert said.pop("alpha 0.9.1-rc.1+b1") == str(real.root / "vendor/alpha-0.9.1-rc.1+b1")
        assert {f"{one.name} {one.version}": one.root for one in real.read().packages} == said
        assert real.read().sources == ("Cargo.lock", "vendor")

    def test_a_checkout_and_an_archive_are_the_locked_ones(self, real: World) -> None:
        (archive,) = (real.home / "registry/cache").glob("*/alpha-1.2.0.crate")
        archive.write_bytes(b"another")
        assert "alpha 1.2.0" not in real.found()
        assert [code for code, _ in real.warned()] == [Code.PACKAGE_UNREADABLE]
