from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import gems
import pytest

from skillsync.discovery.environment import Environment, NoEnvironment
from skillsync.discovery.gem import ecosystem as gem
from skillsync.discovery.gem import home as gem_home
from skillsync.errors import Code, Severity, SkillsyncError, UnreadableError

if TYPE_CHECKING:
    from pathlib import Path

    from skillsync.discovery.environment import Ecosystem

_SHA = "0123456789abcdef0123456789abcdef01234567"
_TAIL = "\nPLATFORMS\n  ruby\n\nDEPENDENCIES\n"


@dataclass
class World:
    """A project, a home directory, and a PATH on which there is a Ruby only once `ruby` was called."""

    tmp: Path

    def __post_init__(self) -> None:
        for path in (self.project, self.tmp / "bin"):
            path.mkdir()
        self.environ = {"HOME": str(self.tmp / "home"), "PATH": str(self.tmp / "bin")}

    @property
    def project(self) -> Path:
        return self.tmp / "app"

    @property
    def vendor(self) -> Path:
        return self.project / "vendor/bundle/ruby/3.4.0"

    def write(self, files: dict[str, str | bytes]) -> None:
        gems.write_files(self.project, files)

    def lock(self, *sections: str, name: str = "Gemfile.lock", dependencies: str = "") -> None:
        self.write({name: "\n".join(sections) + _TAIL + dependencies})

    def ruby(self, *answer: str, code: int = 0) -> None:
        """Put a `ruby` on PATH that answers, and notes that it was asked."""
        script = self.tmp / "bin/ruby"
        words = "\\0".join(answer)
        script.write_text(f"#!/bin/sh\nset >> {self.tmp}/asked\nprintf '{words}'\nexit {code}\n")
        script.chmod(0o755)

    @property
    def was_asked(self) -> bool:
        return (self.tmp / "asked").exists()

    def read(self) -> Environment:
        found = gem.read(str(self.project), self.environ)
        assert isinstance(found, Environment), found
        return found

    def read_none(self) -> NoEnvironment:
        found = gem.read(str(self.project), self.environ)
        assert isinstance(found, NoEnvironment), found
        return found

    def fail(self) -> tuple[str, str | None, int | None]:
        with pytest.raises(SkillsyncError) as caught:
            gem.read(str(self.project), self.environ)
        (problem,) = caught.value.problems
        assert problem.code is Code.ENVIRONMENT_UNREADABLE
        assert problem.hint
        return problem.message, problem.path, problem.line

    def roots(self) -> dict[str, list[str]]:
        """The roots of what is found, by name and version, relative to the directory of the test."""
        found: dict[str, list[str]] = {}
        for package in self.read().packages:
            root = os.path.relpath(package.root, self.tmp)
            found.setdefault(f"{package.name} {package.version}", []).append(root)
        return found


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def index(*rows: str) -> str:
    return "GEM\n  remote: https://rubygems.org/\n  specs:\n" + "".join(f"    {row}\n" for row in rows)


def git(*rows: str, remote: str = "https://example.org/org/repo.git", options: str = "") -> str:
    head = f"GIT\n  remote: {remote}\n  revision: {_SHA}\n{options}  specs:\n"
    return head + "".join(f"    {row}\n" for row in rows)


def path(remote: str, *rows: str, options: str = "") -> str:
    return f"PATH\n  remote: {remote}\n{options}  specs:\n" + "".join(f"    {row}\n" for row in rows)


def test_the_module_is_an_ecosystem() -> None:
    ecosystem: Ecosystem = gem
    assert ecosystem.NAME == "gem"
    assert ecosystem.canonical("Foo_Bar-baz") == "Foo_Bar-baz"
    assert ecosystem.requirement("~> 1.2")("1.9")
    assert sorted(["0.10.0", "0.9.0"], key=gem.version_key) == ["0.9.0", "0.10.0"]


class TestLockedGems:
    def test_only_the_locked_version_counts(self, world: World) -> None:
        for version in ("0.9.0", "0.10.0", "0.11.0"):
            gems.write_gem(world.vendor, "sus", version, gems.skills("testing"))
        gems.write_gem(world.vendor, "unlocked", "1.0", gems.skills("other"))
        world.lock(index("sus (0.10.0)"))
        (package,) = world.read().packages
        assert (package.ecosystem, package.name, package.version) == ("gem", "sus", "0.10.0")
        assert (package.root, package.places) == (str(world.vendor / "gems/sus-0.10.0"), ("skills",))
        assert package.source == "vendor/bundle/ruby/3.4.0"

    def test_a_gem_needs_no_gemspec_beside_it(self, world: World) -> None:
        gems.write_files(world.vendor / "gems/sus-1.0", gems.skills("testing"))
        world.lock(index("sus (1.0)"))
        assert world.roots() == {"sus 1.0": ["app/vendor/bundle/ruby/3.4.0/gems/sus-1.0"]}

    def test_a_file_is_no_gem(self, world: World) -> None:
        gems.write_files(world.vendor / "gems", {"sus-1.0": "", "other-1.0/x": ""})
        world.lock(index("sus (1.0)", "other (1.0)"))
        world.environ["GEM_HOME"] = str(world.vendor)
        assert list(world.roots()) == ["other 1.0"]

    def test_a_gem_may_be_a_link_to_where_it_is(self, world: World) -> None:
        real = gems.write_gem(world.tmp / "store", "sus", "1.0", {})
        (world.vendor / "gems").mkdir(parents=True)
        (world.vendor / "gems/sus-1.0").symlink_to(real)
        world.lock(index("sus (1.0)"))
        assert list(world.roots()) == ["sus 1.0"]

    def test_all_variants_of_a_locked_gem_count(self, world: World) -> None:
        for platform in ("ruby", "java", "x86_64-linux"):
            gems.write_gem(world.vendor, "plat", "2.0", gems.skills("p"), platform)
        world.lock(index("plat (2.0)", "plat (2.0-x86_64-linux)", "plat (2.0-arm64-darwin)"))
        base = "app/vendor/bundle/ruby/3.4.0/gems/plat-2.0"
        assert world.roots() == {"plat 2.0": [base, f"{base}-java", f"{base}-x86_64-linux"]}

    def test_a_name_that_only_looks_like_a_variant_is_none(self, world: World) -> None:
        gems.write_gem(world.vendor, "foo", "1.0", {})
        gems.write_gem(world.vendor, "foo-1.0", "2.0", {})  # in foo-1.0-2.0
        gems.write_gem(world.vendor, "foo", "1.0.1", {})
        gems.write_files(world.vendor, {"gems/foo-1.0-java/x": "", "gems/foo-1.0-mswin/x": ""})
        gems.write_files(world.vendor, {"specifications/foo-1.0-java.gemspec": gems.stub_text("foo", "1.0", "ruby")})
        world.lock(index("foo (1.0)"))
        assert world.roots() == {"foo 1.0": ["app/vendor/bundle/ruby/3.4.0/gems/foo-1.0"]}

    def test_a_lock_may_name_one_gem_in_two_index_sections(self, world: World) -> None:
        gems.write_gem(world.vendor, "foo", "1.0", {})
        world.lock(index("foo (1.0)"), index("foo (1.0)", "foo (1.0-java)"))
        assert len(world.read().packages) == 1

    def test_a_group_that_is_left_out_is_no_finding(self, world: World) -> None:
        gems.write_gem(world.vendor, "a", "1.0", {})
        world.environ["GEM_HOME"] = str(world.tmp / "gems")
        (world.tmp / "gems").mkdir()
        world.lock(index("a (1.0)", "test-only (1.0)"))
        found = world.read()
        assert [package.name for package in found.packages] == ["a"]
        assert found.named == {"a", "test-only"}
        assert found.problems == ()
        assert found.sources == ("vendor/bundle/ruby/3.4.0", str(world.tmp / "gems"))

    def test_a_lock_none_of_whose_gems_is_found_is_no_environment(self, world: World) -> None:
        world.environ["GEM_HOME"] = str(world.tmp / "gems")
        (world.tmp / "gems").mkdir()
        world.write({"vendor/cache/a-1.0.gem": ""})
        world.lock(index("a (1.0)"), path("../gone", "gone (1.0)"), dependencies="  b\n")
        none = world.read_none()
        assert none.problem.code is Code.ENVIRONMENT_NOT_FOUND
        assert none.problem.message == (
            f"none of the gems of Gemfile.lock is installed: looked in vendor/cache, {world.tmp}/gems"
        )
        assert none.problem.hint == "run `bundle install`"
        assert none.named == {"a", "b", "gone"}

    def test_a_lock_whose_only_gems_are_gone_from_their_paths_is_no_environment(self, world: World) -> None:
        world.lock(path("../gone", "gone (1.0)"))
        assert "looked in vendor/bundle" in world.read_none().problem.message
        assert not world.was_asked

    def test_a_lock_without_gems_is_an_environment_without_packages(self, world: World) -> None:
        world.lock(index())
        found = world.read()
        assert (found.packages, found.sources, found.problems) == ((), ("Gemfile.lock",), ())


class TestPlaces:
    def test_the_places_count_in_their_order(self, world: World) -> None:
        places = {
            "mine": world.project / "mine/ruby/3.4.0",
            "vendor": world.vendor,
            "cache": world.project / "vendor/cache",
            "home": world.tmp / "gems",
        }
        for number, place in enumerate(places):
            for name in list(places)[: number + 1]:
                if place == "cache":
                    gems.write_files(places[place] / f"{name}-1.0", {"x": ""})
                else:
                    gems.write_gem(places[place], name, "1.0", {})
        world.environ |= {"GEM_HOME": str(places["home"]), "BUNDLE_PATH": "mine"}
        world.lock(index(*(f"{name} (1.0)" for name in places)))
        assert {package.name: package.source for package in world.read().packages} == {
            "mine": "mine/ruby/3.4.0",
            "vendor": "vendor/bundle/ruby/3.4.0",
            "cache": "vendor/cache",
            "home": str(world.tmp / "gems"),
        }
        # Of the places only those are named that were needed, and that exist.
        shutil.rmtree(world.project / "vendor")
        world.lock(index("mine (1.0)"))
        assert world.read().sources == ("mine/ruby/3.4.0",)

    def test_variants_in_several_places_are_those_of_the_first(self, world: World) -> None:
        gems.write_gem(world.vendor, "plat", "1.0", {}, "java")
        gems.write_gem(world.tmp / "gems", "plat", "1.0", {})
        world.environ["GEM_HOME"] = str(world.tmp / "gems")
        world.lock(index("plat (1.0)", "plat (1.0-java)"))
        assert [package.source for package in world.read().packages] == ["vendor/bundle/ruby/3.4.0"]

    def test_the_directories_of_the_gem_environment_are_one_place(self, world: World) -> None:
        for home in ("one", "two"):
            gems.write_gem(world.tmp / home, "plat", "1.0", {})
        gems.write_gem(world.tmp / "two", "plat", "1.0", {}, "java")
        world.environ |= {"GEM_PATH": f"{world.tmp}/one::{world.tmp}/none", "GEM_HOME": f"{world.tmp}/two"}
        world.lock(index("plat (1.0)"))
        assert world.roots() == {"plat 1.0": ["one/gems/plat-1.0", "two/gems/plat-1.0-java"]}
        assert world.read().sources == (f"{world.tmp}/one", f"{world.tmp}/two")

    @pytest.mark.parametrize(
        ("environ", "config", "user", "directory"),
        [
            ({}, 'BUNDLE_PATH: "../shared"', "", "shared/ruby/3.4.0"),
            ({"BUNDLE_PATH": "../shared"}, "", "", "shared/ruby/3.4.0"),
            ({}, "", 'BUNDLE_PATH: "~/gems"', "home/gems/ruby/3.4.0"),
            ({}, 'BUNDLE_DEPLOYMENT: "true"', "", "app/vendor/bundle/ruby/3.4.0"),
            ({"BUNDLE_PATH": "env"}, 'BUNDLE_PATH: "local"', 'BUNDLE_PATH: "user"', "app/local/ruby/3.4.0"),
            ({"BUNDLE_PATH": "env"}, "", 'BUNDLE_PATH: "user"', "app/env/ruby/3.4.0"),
            ({"BUNDLE_PATH": "env", "BUNDLE_IGNORE_CONFIG": ""}, 'BUNDLE_PATH: "local"', "", "app/env/ruby/3.4.0"),
            ({"BUNDLE_PATH": "jr"}, "", "", "app/jr/jruby/3.4.0"),
            ({"BUNDLE_PATH": "dev"}, "", "", "app/dev/ruby/3.5.0+1"),
        ],
    )
    def test_bundlers_settings_say_where(
        self, world: World, environ: dict[str, str], config: str, user: str, directory: str
    ) -> None:
        gems.write_gem(world.tmp / directory, "a", "1.0", {})
        gems.write_files(world.tmp, {"app/.bundle/config": config, "home/.bundle/config": user})
        world.environ |= environ
        world.lock(index("a (1.0)"))
        assert world.roots() == {"a 1.0": [f"{directory}/gems/a-1.0"]}

    def test_what_is_not_an_engine_or_an_abi_is_passed_over(self, world: World) -> None:
        gems.write_gem(world.vendor, "a", "1.0", {})
        for other in ("ruby/latest", "Ruby/3.5.0", "cache/gems", "ruby/9.0.0-/.."):
            gems.write_gem(world.project / "vendor/bundle" / other, "a", "1.0", {})
        world.write({"vendor/bundle/ruby/9.9.9": "a file"})
        world.lock(index("a (1.0)"))
        assert world.roots() == {"a 1.0": ["app/vendor/bundle/ruby/3.4.0/gems/a-1.0"]}
        assert not world.was_asked

    def test_unpacked_gems_lie_where_the_cache_is(self, world: World) -> None:
        world.write({"packed/a-1.0/skills/x/SKILL.md": "", ".bundle/config": 'BUNDLE_CACHE_PATH: "packed"'})
        world.lock(index("a (1.0)"))
        assert world.roots() == {"a 1.0": ["app/packed/a-1.0"]}
        assert world.read().sources == ("packed",)


class TestSeveralRubies:
    @pytest.fixture(autouse=True)
    def _homes(self, world: World) -> None:
        for abi, names in {"3.3.0": "ab", "3.10.0": "a", "3.9.0": "abc"}.items():
            for name in names:
                gems.write_gem(world.project / "vendor/bundle/ruby" / abi, name, "1.0", {})
        gems.write_gem(world.project / "vendor/bundle/jruby/9.4.0", "a", "1.0", {})
        world.environ["GEM_HOME"] = str(world.vendor.parent / "3.3.0")
        world.lock(index("a (1.0)", "b (1.0)"), git("g (1.0)"))
        for abi in ("3.3.0", "3.9.0"):
            checkout = f"vendor/bundle/ruby/{abi}/bundler/gems/repo-0123456789ab"
            world.write({f"{checkout}/g.gemspec": ""})

    @staticmethod
    def _abis(world: World) -> dict[str, str]:
        return {package.name: package.source.rpartition("bundle/")[2] for package in world.read().packages}

    def test_the_active_ruby_alone_counts(self, world: World) -> None:
        world.ruby("ruby/3.3.0", "/nowhere")
        assert self._abis(world) == {"a": "ruby/3.3.0", "b": "ruby/3.3.0", "g": "ruby/3.3.0"}
        assert world.was_asked

    def test_a_gem_of_another_ruby_is_not_the_active_ones(self, world: World) -> None:
        world.ruby("ruby/3.10.0", "/nowhere")
        world.environ["GEM_HOME"] = str(world.tmp)
        assert self._abis(world) == {"a": "ruby/3.10.0"}

    @pytest.mark.parametrize("answer", [("ruby/3.1.0", "/nowhere"), ()])
    def test_else_the_newest_that_has_the_gem(self, world: World, answer: tuple[str, ...]) -> None:
        if answer:
            world.ruby(*answer)
        assert self._abis(world) == {"a": "ruby/3.10.0", "b": "ruby/3.9.0", "g": "ruby/3.9.0"}

    def test_another_engine_counts_after_every_ruby(self, world: World) -> None:
        shutil.rmtree(world.project / "vendor/bundle/ruby")
        gems.write_gem(world.project / "vendor/bundle/ruby/2.7.0", "b", "1.0", {})
        gems.write_gem(world.project / "vendor/bundle/jruby/9.4.0", "b", "1.0", {})
        world.environ["GEM_HOME"] = str(world.tmp)
        assert self._abis(world) == {"a": "jruby/9.4.0", "b": "ruby/2.7.0"}


class TestGitGems:
    def test_a_checkout_is_named_by_remote_and_revision(self, world: World) -> None:
        checkout = world.vendor / "bundler/gems/repo-0123456789ab"
        gems.write_files(checkout, {"gitgem.gemspec": "", **gems.skills("x")})
        gems.write_files(world.vendor / "bundler/gems/repo-ffffffffffff", {"gitgem.gemspec": ""})
        world.lock(git("gitgem (0.4.0)"))
        assert world.roots() == {"gitgem 0.4.0": [os.path.relpath(checkout, world.tmp)]}
        assert world.read().sources == ("vendor/bundle/ruby/3.4.0",)

    def test_the_gem_environment_has_checkouts_too(self, world: World) -> None:
        (world.tmp / "first").mkdir()
        gems.write_files(world.tmp / "home-dir/bundler/gems/repo-0123456789ab", {"gitgem.gemspec": ""})
        world.environ |= {"GEM_PATH": str(world.tmp / "first"), "GEM_HOME": str(world.tmp / "home-dir")}
        world.lock(git("gitgem (1.0)"))
        assert world.roots() == {"gitgem 1.0": ["home-dir/bundler/gems/repo-0123456789ab"]}

    def test_the_gems_of_a_monorepo_are_where_the_glob_finds_their_gemspecs(self, world: World) -> None:
        checkout = world.vendor / "bundler/gems/mono-0123456789ab"
        files = {f"gems/{name}/{name}.gemspec": "" for name in ("mono_a", "mono_b")}
        gems.write_files(checkout, {"mono_a.gemspec": "", "deeper/gems/mono_b/mono_b.gemspec": "", **files})
        source = git("mono_a (1.0)", "mono_b (1.0)", remote="file:///x/mono", options="  glob: gems/*/*.gemspec\n")
        world.lock(source)
        relative = os.path.relpath(checkout, world.tmp)
        assert world.roots() == {"mono_a 1.0": [f"{relative}/gems/mono_a"], "mono_b 1.0": [f"{relative}/gems/mono_b"]}

    def test_a_directory_of_a_checkout_that_is_a_link_is_not_followed(self, world: World) -> None:
        checkout = world.vendor / "bundler/gems/repo-0123456789ab"
        gems.write_files(checkout, {"a.gemspec": ""})
        gems.write_files(world.tmp / "outside", {"b.gemspec": ""})
        (checkout / "link").symlink_to(world.tmp / "outside")
        world.environ["GEM_HOME"] = str(world.tmp)
        world.lock(git("a (1.0)", "b (1.0)"))
        assert list(world.roots()) == ["a 1.0"]

    def test_the_cached_checkout_is_preferred_as_bundler_does(self, world: World) -> None:
        gems.write_files(world.vendor / "bundler/gems/repo-0123456789ab", {"a.gemspec": ""})
        world.write({"vendor/cache/repo-0123456789ab/a.gemspec": ""})
        world.lock(git("a (1.0)"))
        assert world.roots() == {"a 1.0": ["app/vendor/cache/repo-0123456789ab"]}

    def test_a_cache_that_is_a_bare_repository_hides_no_checkout(self, world: World) -> None:
        gems.write_files(world.vendor / "bundler/gems/repo-0123456789ab", {"a.gemspec": ""})
        world.write({"vendor/cache/repo-0123456789ab/HEAD": "", "vendor/cache/repo-0123456789ab/objects/x": ""})
        world.lock(git("a (1.0)"))
        assert world.read().packages[0].source == "vendor/bundle/ruby/3.4.0"

    def test_an_override_is_preferred_to_all(self, world: World) -> None:
        world.write({"vendor/cache/repo-0123456789ab/a-b.gemspec": "", "vendor/cache/repo-0123456789ab/c.gemspec": ""})
        gems.write_files(world.tmp / "work", {"a-b.gemspec": "", "c.gemspec": ""})
        world.environ["BUNDLE_LOCAL__A___B"] = "../work"
        world.lock(git("a-b (1.0)", "c (1.0)"), dependencies="  a-b!\n")
        assert world.roots() == {"a-b 1.0": ["work"], "c 1.0": ["work"]}
        assert world.read().sources == ("vendor/cache", str(world.tmp / "work"))

    def test_an_override_counts_only_if_it_is_there_and_the_gemfile_asks_for_the_gem(self, world: World) -> None:
        world.write({"vendor/cache/repo-0123456789ab/a.gemspec": ""})
        gems.write_files(world.tmp / "work", {"a.gemspec": ""})
        world.environ["BUNDLE_LOCAL__A"] = str(world.tmp / "work")
        world.lock(git("a (1.0)"), dependencies="  other!\n")
        assert world.roots() == {"a 1.0": ["app/vendor/cache/repo-0123456789ab"]}
        world.lock(git("a (1.0)"), dependencies="  a!\n")
        assert world.roots() == {"a 1.0": ["work"]}
        shutil.rmtree(world.tmp / "work")
        assert world.roots() == {"a 1.0": ["app/vendor/cache/repo-0123456789ab"]}


class TestPathGems:
    def test_a_path_is_relative_to_the_gemfile(self, world: World) -> None:
        gems.write_files(world.tmp / "pathgem", {"pathgem.gemspec": "", **gems.skills("x")})
        world.lock(path("../pathgem", "pathgem (0.3.0)"))
        (package,) = world.read().packages
        assert (package.root, package.source) == (str(world.tmp / "pathgem"), "Gemfile.lock")
        assert world.read().sources == ("Gemfile.lock",)

    @pytest.mark.parametrize("remote", ["{tmp}/pathgem", "~/pathgem"])
    def test_a_path_may_be_absolute(self, world: World, remote: str) -> None:
        world.environ["HOME"] = str(world.tmp)
        gems.write_files(world.tmp / "pathgem", {"pathgem.gemspec": ""})
        world.lock(path(remote.format(tmp=world.tmp), "pathgem (0.3.0)"))
        assert world.roots() == {"pathgem 0.3.0": ["pathgem"]}

    def test_the_project_is_no_provider_and_what_is_inside_it_is_one(self, world: World) -> None:
        world.write({"app.gemspec": "", "skills/x/SKILL.md": "", "engines/e1/e1.gemspec": "", "part/part.gemspec": ""})
        world.lock(path(".", "app (1.0)", "part (1.0)"), path("engines", "e1 (1.0)"))
        assert world.roots() == {"e1 1.0": ["app/engines/e1"], "part 1.0": ["app/part"]}

    @pytest.mark.parametrize("remote", [".", "./", "../app", "engines/.."])
    def test_a_lock_of_the_project_alone_is_an_environment_without_packages(self, world: World, remote: str) -> None:
        world.write({"app.gemspec": "", "vendor/cache/app/app.gemspec": ""})
        world.lock(path(remote, "app (1.0)"))
        assert world.read().packages == ()

    def test_without_a_gemspec_a_directory_counts_if_it_has_skills(self, world: World) -> None:
        gems.write_files(world.tmp, {"with/skills/x/SKILL.md": "", "without/lib/x.rb": "", "two/skills/x/SKILL.md": ""})
        gems.write_files(world.tmp, {"other/other.gemspec": "", "other/another.gemspec": "", "other/skills/x": ""})
        world.lock(
            path("../with", "with (1.2.3)"),
            path("../without", "without (1.2.3)"),
            path("../two", "one (1.0)", "two (1.0)"),
            path("../other", "third (1.0)"),
        )
        assert world.roots() == {"with 1.2.3": ["with"]}

    def test_the_cached_copy_is_preferred_as_bundler_does(self, world: World) -> None:
        gems.write_files(world.tmp / "pathgem", {"pathgem.gemspec": ""})
        world.write({"vendor/cache/pathgem/pathgem.gemspec": ""})
        world.lock(path("../pathgem", "pathgem (1.0)"))
        (package,) = world.read().packages
        assert (package.root, package.source) == (f"{world.project}/vendor/cache/pathgem", "vendor/cache")

    def test_a_path_that_is_gone_asks_nobody(self, world: World) -> None:
        world.ruby("ruby/3.4.0", "/nowhere")
        gems.write_gem(world.vendor, "a", "1.0", {})
        world.lock(path("../gone", "gone (1.0)"), index("a (1.0)"))
        assert list(world.roots()) == ["a 1.0"]
        assert not world.was_asked


class TestGemEnvironment:
    @pytest.fixture(autouse=True)
    def _homes(self, world: World) -> None:
        gems.write_gem(world.tmp / "one", "a", "1.0", {})
        gems.write_gem(world.tmp / "two", "b", "1.0", {})
        gems.write_gem(world.tmp / "of-ruby", "c", "1.0", {})
        world.ruby("ruby/3.4.0", f"{world.tmp}/of-ruby", "relative", f"{world.tmp}/none")

    @pytest.mark.parametrize(
        ("environ", "names"),
        [
            ({}, "c"),
            ({"GEM_HOME": "", "GEM_PATH": ""}, "c"),
            ({"GEM_HOME": "{tmp}/one"}, "a"),
            ({"GEM_PATH": "{tmp}/one"}, "a"),
            ({"GEM_HOME": "{tmp}/one", "GEM_PATH": "{tmp}/two:"}, "ba"),
            ({"GEM_HOME": "../one"}, "a"),
            ({"GEM_HOME": "{tmp}/one", "GEM_PATH": "{tmp}/one/:{tmp}/none"}, "a"),
        ],
    )
    def test_what_is_set_is_all_there_is_else_ruby_is_asked(
        self, world: World, environ: dict[str, str], names: str
    ) -> None:
        world.environ |= {key: value.format(tmp=world.tmp) for key, value in environ.items()}
        assert [package.name for package in world.read().packages] == list(names)
        assert world.was_asked == (names == "c")

    def test_in_a_bundle_ruby_is_asked_only_for_what_is_nowhere_else(self, world: World) -> None:
        gems.write_gem(world.vendor, "a", "1.0", {})
        world.lock(index("a (1.0)"))
        assert world.read().sources == ("vendor/bundle/ruby/3.4.0",)
        assert not world.was_asked
        world.lock(index("a (1.0)", "c (1.0)"))
        assert world.roots()["c 1.0"] == ["of-ruby/gems/c-1.0"]

    @pytest.mark.parametrize("environ", [{"GEM_HOME": "/nowhere/gems"}, {"PATH": ""}])
    def test_none_is_an_error_in_a_bundle_only_if_a_gem_is_nowhere_else(
        self, world: World, environ: dict[str, str]
    ) -> None:
        world.environ |= environ
        gems.write_gem(world.vendor, "a", "1.0", {})
        world.lock(index("a (1.0)"))
        assert list(world.roots()) == ["a 1.0"]
        world.lock(index("a (1.0)", *(f"gem{number} (1.0)" for number in range(7))))
        none = world.read_none()
        assert none.problem.code is Code.ENVIRONMENT_NOT_FOUND
        assert none.problem.message.endswith(
            ", and gem0, gem1, gem2, gem3, gem4 and 2 more of Gemfile.lock is in no other place"
        )
        assert len(none.named) == 8

    def test_none_is_an_error_without_a_bundle(self, world: World) -> None:
        world.write({"Gemfile": 'gem "x"'})
        world.environ["GEM_HOME"] = "/nowhere/gems"
        none = world.read_none()
        assert none.problem.message == "no directory of the gem environment exists: /nowhere/gems"
        assert (
            none.problem.hint == "run `bundle install`, or set GEM_HOME to the directory that gems are installed into"
        )
        assert none.named == {"x"}

    @pytest.mark.parametrize("answer", [(), ("garbage",), ("ruby/3.4.0", "relative")])
    def test_a_ruby_that_answers_nothing_usable_is_no_environment(self, world: World, answer: tuple[str, ...]) -> None:
        world.ruby(*answer)
        assert "GEM_HOME and GEM_PATH are not set" in world.read_none().problem.message

    def test_a_ruby_that_fails_is_no_environment(self, world: World) -> None:
        world.ruby("ruby/3.4.0", f"{world.tmp}/of-ruby", code=1)
        assert world.read_none().problem.code is Code.ENVIRONMENT_NOT_FOUND

    def test_a_ruby_that_can_not_be_run_is_no_environment(self, world: World) -> None:
        (world.tmp / "bin/ruby").write_text("#!/nowhere/sh\n")
        assert world.read_none().problem.code is Code.ENVIRONMENT_NOT_FOUND

    def test_a_ruby_that_hangs_is_no_environment(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gem_home, "_TIMEOUT", 0.2)
        (world.tmp / "bin/ruby").write_text("#!/bin/sh\nread line < /dev/zero\n")
        assert world.read_none().problem.code is Code.ENVIRONMENT_NOT_FOUND

    @pytest.mark.parametrize("search", [".", "", "bin"])
    def test_a_ruby_of_the_project_is_never_run(
        self, world: World, search: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(world.project)
        (world.project / "bin").mkdir()
        for place in ("ruby", "bin/ruby"):
            shutil.copy(world.tmp / "bin/ruby", world.project / place)
        world.environ["PATH"] = search
        assert world.read_none().problem.code is Code.ENVIRONMENT_NOT_FOUND
        assert not world.was_asked

    def test_nothing_is_injected_into_ruby(self, world: World) -> None:
        injected = ("RUBYOPT", "RUBYLIB", "RUBYGEMS_GEMDEPS", "BUNDLE_GEMFILE", "BUNDLER_VERSION")
        world.environ |= dict.fromkeys(injected, f"{world.project}/Gemfile") | {"KEPT": "x"}
        world.write({"Gemfile": ""})
        world.read()
        seen = (world.tmp / "asked").read_text()
        assert [name for name in injected if f"{name}=" in seen] == []
        assert "KEPT='x'" in seen
        assert f"PWD='{world.project}'" in seen


class TestInstalledGems:
    @pytest.fixture(autouse=True)
    def _home(self, world: World) -> None:
        (world.tmp / "gems").mkdir()
        world.environ["GEM_HOME"] = str(world.tmp / "gems")

    def test_without_a_bundle_every_installed_gem_counts(self, world: World) -> None:
        home = world.tmp / "gems"
        for name, version, platform in (
            ("a", "0.9.0", "ruby"),
            ("a", "0.10.0", "ruby"),
            ("a", "0.10.0", "java"),
            ("b-c_d", "1.0.pre.1", "ruby"),
        ):
            gems.write_gem(home, name, version, gems.skills("x"), platform)
        gems.write_files(home, {"gems/stray-1.0/x": "", "specifications/notes.txt": ""})
        assert world.roots() == {
            "a 0.10.0": ["gems/gems/a-0.10.0-java", "gems/gems/a-0.10.0"],
            "a 0.9.0": ["gems/gems/a-0.9.0"],
            "b-c_d 1.0.pre.1": ["gems/gems/b-c_d-1.0.pre.1"],
        }
        found = world.read()
        assert (found.sources, found.problems) == ((str(home),), ())
        assert {package.source for package in found.packages} == {str(home)}

    def test_default_gems_count_and_may_have_no_directory(self, world: World) -> None:
        home = world.tmp / "gems"
        gems.write_files(home, {"specifications/default/json-2.6.1.gemspec": gems.stub_text("json", "2.6.1")})
        gems.write_files(home, {"specifications/default/csv-3.0.gemspec": gems.stub_text("csv", "3.0")})
        gems.write_files(home, {"gems/csv-3.0/x": ""})
        found = world.read()
        assert ([package.name for package in found.packages], found.problems) == (["csv"], ())

    def test_of_equal_gems_the_first_homes_counts(self, world: World) -> None:
        for home in ("first", "gems"):
            gems.write_gem(world.tmp / home, "a", "1.0", {})
        gems.write_files(world.tmp / "first/specifications", {"b-1.0.gemspec": gems.stub_text("b", "1.0")})
        gems.write_gem(world.tmp / "gems", "b", "1.0", {})
        world.environ["GEM_PATH"] = str(world.tmp / "first")
        assert world.roots() == {"a 1.0": ["first/gems/a-1.0"], "b 1.0": ["gems/gems/b-1.0"]}

    @pytest.mark.parametrize(
        "text",
        [
            'Gem::Specification.new { |s| s.name = "x" }\n',
            "",
            "\n# stub: ../../x 1.0 ruby lib\n\n",
            b"\xff\xfe\n# stub: x\0 1.0 ruby lib\n\n",
            "# " + "x" * 70_000 + "\n# stub: x 1.0 ruby lib\n\n",
        ],
    )
    def test_a_gemspec_without_a_usable_stub_line_is_said_and_left_out(self, world: World, text: str | bytes) -> None:
        gems.write_gem(world.tmp / "gems", "a", "1.0", {})
        gems.write_files(world.tmp / "gems/specifications", {"x-1.0.gemspec": text})
        gems.write_files(world.tmp / "gems/gems", {"x-1.0/x": ""})
        found = world.read()
        assert [package.name for package in found.packages] == ["a"]
        (problem,) = found.problems
        assert (problem.code, problem.severity, problem.path) == (Code.PACKAGE_UNREADABLE, Severity.WARNING, None)
        assert f"{world.tmp}/gems/specifications/x-1.0.gemspec" in problem.message

    def test_a_gemspec_that_is_a_directory_or_dangles_is_said_and_left_out(self, world: World) -> None:
        world.environ["GEM_HOME"] = "vendor"
        (world.project / "vendor/specifications/x-1.0.gemspec").mkdir(parents=True)
        (world.project / "vendor/specifications/y-1.0.gemspec").symlink_to("nowhere")
        assert [problem.path for problem in world.read().problems] == [
            "vendor/specifications/x-1.0.gemspec",
            "vendor/specifications/y-1.0.gemspec",
        ]

    def test_a_long_gemspec_is_read_by_its_beginning(self, world: World) -> None:
        gems.write_gem(world.tmp / "gems", "a", "1.0", {})
        with (world.tmp / "gems/specifications/a-1.0.gemspec").open("a") as file:
            file.write("#" * 200_000)
        assert list(world.roots()) == ["a 1.0"]

    def test_an_empty_home_is_an_environment_without_packages(self, world: World) -> None:
        found = world.read()
        assert (found.packages, found.sources) == ((), (str(world.tmp / "gems"),))

    def test_a_gemfile_without_a_lock_names_its_gems(self, world: World) -> None:
        world.write({"Gemfile": 'gem "a"\n# gem "b"\n'})
        assert world.read().named == {"a"}

    @pytest.mark.parametrize(("gemfile", "lock"), [("Gemfile", "Gemfile.lock"), ("gems.rb", "gems.locked")])
    def test_a_gemfile_without_a_lock_is_a_warning(self, world: World, gemfile: str, lock: str) -> None:
        world.write({gemfile: ""})
        (problem,) = world.read().problems
        assert problem.message == f"{gemfile} has no {lock}: every gem of the gem environment is read"
        assert problem.hint == "run `bundle lock` or `bundle install`, so that the gems of the bundle are read alone"
        assert (problem.severity, problem.path) == (Severity.WARNING, gemfile)
        world.lock(name=lock)
        assert world.read().problems == ()

    def test_without_a_gemfile_no_lock_is_missed(self, world: World) -> None:
        world.write({"app.gemspec": ""})
        assert world.read().problems == ()


class TestWhichBundle:
    @pytest.fixture(autouse=True)
    def _gems(self, world: World) -> None:
        for name in ("a", "b"):
            gems.write_gem(world.vendor, name, "1.0", {})

    def test_gems_rb_is_preferred_to_gemfile_as_bundler_does(self, world: World) -> None:
        world.write({"Gemfile": 'gem "x"', "gems.rb": 'gem "y"'})
        world.lock(index("a (1.0)"))
        world.lock(index("b (1.0)"), name="gems.locked")
        assert list(world.roots()) == ["b 1.0"]
        assert world.read().named == {"b", "y"}

    def test_a_lock_counts_without_its_gemfile_unless_there_is_another(self, world: World) -> None:
        world.lock(index("b (1.0)"), name="gems.locked")
        assert list(world.roots()) == ["b 1.0"]
        world.write({"Gemfile": ""})
        world.lock(index("a (1.0)"))
        assert list(world.roots()) == ["a 1.0"]

    @pytest.mark.parametrize("moved", ["gemfiles/x.gemfile", "{tmp}/app/gemfiles/x.gemfile"])
    @pytest.mark.parametrize("by", ["environment", "config"])
    def test_the_gemfile_can_be_moved(self, world: World, moved: str, by: str) -> None:
        moved = moved.format(tmp=world.tmp)
        if by == "config":
            world.write({".bundle/config": f'BUNDLE_GEMFILE: "{moved}"\nBUNDLE_PATH: "unseen"'})
        else:
            world.environ["BUNDLE_GEMFILE"] = moved
        world.write({"gemfiles/x.gemfile": 'gem "z"', "gemfiles/.bundle/config": 'BUNDLE_PATH: "../moved"'})
        gems.write_gem(world.project / "moved/ruby/3.4.0", "a", "1.0", {})
        world.lock(index("a (1.0)"), path("..", "app (1.0)"), name="gemfiles/x.gemfile.lock")
        world.write({"Gemfile": 'gem "q"', "app.gemspec": ""})
        assert world.roots() == {"a 1.0": ["app/moved/ruby/3.4.0/gems/a-1.0"]}
        assert world.read().named == {"a", "app", "z"}

    def test_a_gemfile_elsewhere_is_shown_by_its_whole_path(self, world: World) -> None:
        world.environ["BUNDLE_GEMFILE"] = str(world.tmp / "other/Gemfile")
        gems.write_files(world.tmp / "other", {"Gemfile": "", "p/p.gemspec": "", "Gemfile.lock": path("p", "p (1)")})
        assert world.read().sources == (f"{world.tmp}/other/Gemfile.lock",)
        gems.write_files(world.tmp / "other", {"Gemfile.lock": "<<<<<<<"})
        message, shown, line = world.fail()
        assert message == f"{world.tmp}/other/Gemfile.lock:1 can't be read: merge conflict markers"
        assert (shown, line) == (None, 1)

    def test_a_gemfile_that_is_moved_to_nowhere_is_no_environment(self, world: World) -> None:
        world.environ["BUNDLE_GEMFILE"] = "gone/Gemfile"
        world.lock(index("a (1.0)"))
        none = world.read_none()
        assert none.problem.message == "BUNDLE_GEMFILE names gone/Gemfile, and there is neither that file nor its lock"
        assert none.problem.hint == "unset BUNDLE_GEMFILE, or let it name the project's Gemfile"


class TestHostileLocks:
    @pytest.mark.parametrize(
        "row",
        ["../../secret (1.0)", ".. (1.0)", "a\x1b[2J (1.0)", "a (../1)", "a (1.0-../x)", "a (1.0-)x)", "é (1.0)"],
    )
    def test_a_row_that_can_be_no_path_is_said_and_left_out(self, world: World, row: str) -> None:
        if row.count(")") > 1:
            world.lock(index("ok (1.0)", row))
            assert world.fail()[2] == 5
            return
        gems.write_gem(world.vendor, "ok", "1.0", {})
        gems.write_files(world.tmp, {"secret-1.0/x": "", "secret/x": ""})
        world.lock(index("ok (1.0)", row))
        found = world.read()
        assert [package.name for package in found.packages] == ["ok"]
        (problem,) = found.problems
        assert (problem.code, problem.severity) == (Code.PACKAGE_UNREADABLE, Severity.WARNING)
        assert (problem.path, problem.line) == ("Gemfile.lock", 5)

    @pytest.mark.parametrize(
        "section",
        [
            "GIT\n  remote: x/repo\n  specs:\n    g (1.0)\n",
            "GIT\n  remote: x/repo\n  revision: ../../..\n  specs:\n    g (1.0)\n",
            "PATH\n  specs:\n    g (1.0)\n",
            "PATH\n  remote: ../\x07\n  specs:\n    g (1.0)\n",
        ],
    )
    def test_a_source_that_can_be_no_path_is_said_and_left_out(self, world: World, section: str) -> None:
        gems.write_gem(world.vendor, "ok", "1.0", {})
        world.lock(section, index("ok (1.0)"))
        found = world.read()
        assert [package.name for package in found.packages] == ["ok"]
        assert [(problem.code, problem.line) for problem in found.problems] == [(Code.PACKAGE_UNREADABLE, 1)]

    def test_a_lock_of_nothing_usable_is_no_environment(self, world: World) -> None:
        world.lock(index("../x (1.0)"))
        assert world.read_none().problem.code is Code.ENVIRONMENT_NOT_FOUND

    @pytest.mark.parametrize("glob", ["../*.gemspec", "{..,/}/{*,*/*}.gemspec", "**/" * 200 + "*.gemspec", "*" * 900])
    def test_a_hostile_glob_finds_nothing_outside(self, world: World, glob: str) -> None:
        gems.write_files(world.vendor / "bundler/gems", {"repo-0123456789ab/x": "", "g.gemspec": ""})
        world.environ["GEM_HOME"] = str(world.tmp)
        world.lock(git("g (1.0)", options=f"  glob: {glob}\n"))
        world.read_none()

    def test_long_names_are_absent(self, world: World) -> None:
        world.environ["GEM_HOME"] = str(world.tmp)
        world.lock(index(f"{'a' * 255} (1.0)"), path("x" * 5000, "p (1.0)"), git("g (1.0)", remote="r" * 300))
        world.read_none()


class TestUnreadable:
    def test_conflict_markers_are_named_with_file_and_line(self, world: World) -> None:
        world.write({"Gemfile.lock": "GEM\n  specs:\n<<<<<<< HEAD\n"})
        with pytest.raises(SkillsyncError) as caught:
            gem.read(str(world.project), world.environ)
        (problem,) = caught.value.problems
        assert problem.message == "Gemfile.lock can't be read: merge conflict markers"
        assert problem.hint == "resolve the conflict and run `bundle install`"
        assert (problem.code, problem.path, problem.line) == (Code.ENVIRONMENT_UNREADABLE, "Gemfile.lock", 3)

    @pytest.mark.parametrize(
        ("content", "reason", "line"),
        [
            (b"", "it is empty", None),
            (b"GEM\n\n\xff", "it is not UTF-8 text", 3),
            (b"GEM\n\0", "it is not UTF-8 text", 2),
            ("GEM\n".encode("utf-16"), "it is not UTF-8 text", 1),
        ],
    )
    def test_a_lock_that_is_none(self, world: World, content: bytes, reason: str, line: int | None) -> None:
        world.write({"Gemfile.lock": content})
        message, shown, at = world.fail()
        assert message.endswith(f"can't be read: {reason}")
        assert (shown, at) == ("Gemfile.lock", line)

    @pytest.mark.parametrize("name", ["Gemfile", "gems.rb", "Gemfile.lock", ".bundle/config"])
    def test_a_directory_is_no_file_of_bundlers(self, world: World, name: str) -> None:
        (world.project / name).mkdir(parents=True)
        message, shown, _ = world.fail()
        assert message.startswith(f"{name} can't be read: ")
        assert message.endswith("is a directory")
        assert shown == name

    def test_a_file_that_is_too_large(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gem, "_DEPENDENCY_FILE_LIMIT", 1024)
        world.write({"Gemfile.lock": "GEM\n" + "#" * 1024})
        assert world.fail()[0] == "Gemfile.lock can't be read: it is larger than 1 KiB"

    def test_the_users_config_outside_the_project(self, world: World) -> None:
        gems.write_files(world.tmp / "home", {".bundle/config": "BUNDLE_PATH: \0"})
        assert world.fail() == (f"{world.tmp}/home/.bundle/config:1 can't be read: it is not UTF-8 text", None, 1)

    def test_a_gemfile_and_a_config_need_not_be_utf_8(self, world: World) -> None:
        directory = os.fsdecode(b"caf\xe9")
        gems.write_gem(world.project / directory / "ruby/3.4.0", "a", "1.0", {})
        world.write({"Gemfile": b'# caf\xe9\ngem "a"', ".bundle/config": b'BUNDLE_PATH: "caf\xe9"'})
        world.lock(index("a (1.0)"))
        assert world.read().named == {"a"}
        assert world.read().sources == ("caf\\xe9/ruby/3.4.0",)

    def test_bundlers_files_may_be_links(self, world: World) -> None:
        gems.write_gem(world.vendor, "a", "1.0", {})
        world.lock(index("a (1.0)"), name="real.lock")
        (world.project / "Gemfile.lock").symlink_to("real.lock")
        assert list(world.roots()) == ["a 1.0"]

    @pytest.mark.parametrize("function", ["list_directory", "is_directory"])
    def test_a_directory_of_gems(self, world: World, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
        real = getattr(gem_home, function)
        gems.write_gem(world.vendor, "a", "1.0", {})
        world.lock(index("a (1.0)"))

        def refusing(path: str) -> object:
            if path.startswith(str(world.vendor)):
                raise UnreadableError("permission denied")
            return real(path)

        monkeypatch.setattr(gem_home, function, refusing)
        message, shown, line = world.fail()
        assert message.startswith(str(world.vendor))
        assert message.endswith("can't be read: permission denied")
        assert (shown, line) == (None, None)
