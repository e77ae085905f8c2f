"""What RubyGems and Bundler themselves install, and where they themselves say that it is."""

from __future__ import annotations

import itertools
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import gems
import pytest
from tools import need

from skillsync.discovery.environment import Environment
from skillsync.discovery.gem import bundler
from skillsync.discovery.gem import ecosystem as gem

if TYPE_CHECKING:
    from collections.abc import Iterator

_GEMFILE = """\
File.write({mark!r}, "evaluated")
source "https://rubygems.org"
gem "alpha", "1.0.0"
gem "plat"
gem "git-gem", git: "file://{shared}/git/gitrepo", branch: "main"
git "file://{shared}/git/mono-repo", branch: "main", glob: "gems/*/*.gemspec" do
  gem "mono_a"
  gem "mono_b"
end
gem "pathgem", path: "../pathgem"
gem "nogemspec", "1.2.3", path: "../nogemspec"
path "engines" do
  gem "e1"
  gem "e2"
end
gem "beta", group: :test
"""
_NAMES = {"alpha", "plat", "git-gem", "mono_a", "mono_b", "pathgem", "nogemspec", "e1", "e2", "beta"}


@dataclass
class Shared:
    """Gems that were built once, and repositories of others."""

    root: Path
    environ: dict[str, str]
    platform: str

    def gem(self, full: str) -> Path:
        return self.root / f"{full}.gem"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    need("gem", "bundle", "ruby", "git")
    root = tmp_path_factory.mktemp("shared")
    environ = gems.ruby_environ(root / "home")
    platform = gems.run(("ruby", "-e", "print Gem::Platform.local"), root, environ)
    for name, version, where in (
        ("alpha", "1.0.0", "ruby"),
        ("alpha", "1.1.0.pre.1", "ruby"),
        ("beta", "0.1", "ruby"),
        ("plat", "2.0.0", "ruby"),
        ("plat", "2.0.0", platform),
    ):
        gems.build_gem(root, name, version, files=gems.skills(name), platform=where)
    repositories = {
        "gitrepo": {"": "git-gem"},
        "mono-repo": {"gems/mono_a": "mono_a", "gems/mono_b": "mono_b", "": "decoy"},
    }
    for repository, trees in repositories.items():
        tree = root / "git" / repository
        for directory, name in trees.items():
            gems.write_source(tree / directory, name, "0.5.0", gems.skills(name.replace("_", "-")))
        for command in (("init", "--quiet", "--initial-branch=main"), ("add", "."), ("commit", "--quiet", "-m", "x")):
            gems.run(("git", *command), tree, environ)
    return Shared(root=root, environ=environ, platform=platform)


@dataclass
class App:
    """A project that uses a gem of every kind."""

    project: Path
    shared: Shared
    environ: dict[str, str]

    def __post_init__(self) -> None:
        beside = self.project.parent
        self.mark = beside / "mark"
        marked = f"File.write({str(self.mark)!r}, 'evaluated')\n"
        for tree, name in (("pathgem", "pathgem"), ("app/engines/e1", "e1"), ("app/engines/e2", "e2")):
            spec = gems.write_source(beside / tree, name, "0.3.0", gems.skills(name)) / f"{name}.gemspec"
            spec.write_text(marked + spec.read_text())
        gems.write_files(beside / "nogemspec", gems.skills("nogemspec"))
        gems.write_files(self.project, {"Gemfile": _GEMFILE.format(mark=str(self.mark), shared=self.shared.root)})
        cache = self.project / "vendor/cache"
        cache.mkdir(parents=True)
        for full in ("alpha-1.0.0", "alpha-1.1.0.pre.1", "beta-0.1", "plat-2.0.0"):
            shutil.copy(self.shared.gem(full), cache)

    def bundle(self, *arguments: str) -> str:
        return gems.run(("bundle", *arguments), self.project, self.environ)

    def listed(self) -> set[str]:
        """Where Bundler says that the gems are."""
        return {line for line in self.bundle("list", "--paths").splitlines() if line.startswith("/")}

    def read(self) -> Environment:
        self.mark.unlink(missing_ok=True)
        found = gem.read(str(self.project), self.environ)
        assert isinstance(found, Environment), found
        assert not self.mark.exists(), "discovery evaluated Ruby code"
        assert found.problems == ()
        assert {package.source for package in found.packages} <= set(found.sources)
        return found

    def roots(self) -> set[str]:
        return {package.root for package in self.read().packages}


@pytest.fixture
def app(shared: Shared, tmp_path: Path) -> Iterator[App]:
    yield App(project=tmp_path / "app", shared=shared, environ=gems.ruby_environ(tmp_path / "home"))
    shutil.rmtree(tmp_path)


def test_installed_gems_are_where_rubygems_says(shared: Shared, tmp_path: Path) -> None:
    home, other = tmp_path / "one", tmp_path / "two"
    for full, where in (
        ("alpha-1.0.0", home),
        ("alpha-1.1.0.pre.1", home),
        (f"plat-2.0.0-{shared.platform}", home),
        ("alpha-1.0.0", other),
        ("beta-0.1", other),
    ):
        gems.install_gem(shared.gem(full), where, shared.environ)
    gems.write_gem(other, "plat", "2.0.0", {})
    environ = shared.environ | {"GEM_HOME": str(home), "GEM_PATH": str(other)}
    script = """
      require "json"
      puts Gem::Specification.stubs.map { |s| [s.name, s.version.to_s, s.full_gem_path] }.to_json
    """
    rows = json.loads(gems.run(("ruby", "-e", script), tmp_path, environ))
    found = gem.read(str(tmp_path), environ)
    assert isinstance(found, Environment)
    ours = {(package.name, package.version, package.root) for package in found.packages}
    assert ours == {tuple(row) for row in rows if row[2].startswith(str(tmp_path))}
    assert len(ours) == 5
    assert (found.sources, found.problems) == (("two", "one"), ())


def test_rubys_own_gems_are_where_ruby_says(shared: Shared, tmp_path: Path) -> None:
    environ = {key: value for key, value in shared.environ.items() if key != "GEM_HOME"}
    script = "puts Gem::Specification.stubs.map { |s| [s.name, s.version, s.full_gem_path].join(' ') }"
    theirs = [row.split(" ", 2) for row in gems.run(("ruby", "-e", script), tmp_path, environ).splitlines()]
    paths = gems.run(("ruby", "-e", "puts Gem.path"), tmp_path, environ).splitlines()
    found = gem.read(str(tmp_path), environ)
    assert isinstance(found, Environment)
    assert (found.sources, found.problems) == (tuple(path for path in paths if Path(path).is_dir()), ())
    # Of a default gem, RubyGems may report a directory that isn't there though the gem has one elsewhere.
    assert {package.root for package in found.packages} >= {root for _, _, root in theirs if Path(root).is_dir()}
    assert {(package.name, package.version) for package in found.packages} <= {(name, at) for name, at, _ in theirs}


@pytest.mark.parametrize(
    ("settings", "environ", "source"),
    [
        (["--local path ../gems", "--local without test"], {}, "{tmp}/gems/ruby/{abi}"),
        (["--local deployment true"], {}, "vendor/bundle/ruby/{abi}"),
        (["--global path ~/of-user"], {"BUNDLE_APP_CONFIG": "../config"}, "{tmp}/home/of-user/ruby/{abi}"),
        ([], {"GEM_HOME": "{tmp}/gem-home"}, "{tmp}/gem-home"),
        (["--global path unused"], {"BUNDLE_PATH__SYSTEM": "true"}, "{tmp}/home/gems"),
    ],
    ids=["path", "deployment", "user", "gem-home", "system"],
)
def test_a_bundle_is_where_bundler_says(app: App, settings: list[str], environ: dict[str, str], source: str) -> None:
    tmp = app.project.parent
    app.environ |= {key: value.format(tmp=tmp) for key, value in environ.items()}
    if "deployment" in str(settings):
        app.bundle("install", "--local", "--quiet")
    for setting in settings:
        app.bundle("config", "set", *setting.split(" "))
    app.bundle("install", "--local", "--quiet")
    found = app.read()
    abi = gems.run(("ruby", "-e", 'print RbConfig::CONFIG["ruby_version"]'), tmp, app.environ)
    expected = source.format(tmp=tmp, abi=abi)
    assert {package.root for package in found.packages} == app.listed()
    assert {package.name for package in found.packages} == (_NAMES - {"beta"} if "without" in str(settings) else _NAMES)
    assert found.named == _NAMES
    assert {package.name: package.source for package in found.packages} == {
        package.name: "Gemfile.lock" if package.name in {"pathgem", "nogemspec", "e1", "e2"} else expected
        for package in found.packages
    }


def test_cached_overridden_and_exec(app: App) -> None:
    app.bundle("config", "set", "--local", "path", "gems")
    app.bundle("install", "--local", "--quiet")
    assert app.mark.exists(), "what shows whether Ruby code was evaluated shows nothing"

    # Under `bundle exec`, the environment that Bundler sets leads to the same gems.
    plain = app.roots()
    inside = json.loads(app.bundle("exec", "ruby", "-rjson", "-e", "puts ENV.to_h.to_json"))
    assert "bundler/setup" in inside["RUBYOPT"]
    found = gem.read(str(app.project), inside)
    assert isinstance(found, Environment)
    assert {package.root for package in found.packages} == plain == app.listed()

    # Once cached, git and path gems are used from the cache.
    app.bundle("cache", "--all", "--quiet")
    cached = app.roots()
    assert cached == app.listed()
    names = {Path(root).name.partition("-0")[0] for root in cached if root.startswith(f"{app.project}/vendor/cache/")}
    assert {"pathgem", "nogemspec"} <= names

    # An override is preferred to the cache.
    work = app.project.parent / "work"
    gems.run(("git", "clone", "--quiet", str(app.shared.root / "git/gitrepo"), str(work)), app.project, app.environ)
    app.bundle("config", "set", "--local", "local.git-gem", "../work")
    overridden = app.roots()
    assert overridden == app.listed()
    assert str(work) in overridden


def test_the_gemfile_can_be_moved_and_renamed(app: App) -> None:
    (app.project / "gemfiles").mkdir()
    (app.project / "gemfiles/old.gemfile").write_text('source "https://rubygems.org"\ngem "alpha", "1.1.0.pre.1"\n')
    (app.project / "gems.rb").write_text('source "https://rubygems.org"\ngem "beta"\n')
    app.environ |= {"BUNDLE_PATH": str(app.project / "gems"), "BUNDLE_CACHE_PATH": str(app.project / "vendor/cache")}
    app.environ["BUNDLE_NO_PRUNE"] = "1"
    app.bundle("install", "--local", "--quiet")
    assert app.roots() == app.listed()
    assert [package.name for package in app.read().packages] == ["beta"]
    app.bundle("config", "set", "--local", "gemfile", "gemfiles/old.gemfile")
    app.bundle("install", "--local", "--quiet")
    assert app.roots() == app.listed()
    assert [package.version for package in app.read().packages] == ["1.1.0.pre.1"]


def test_a_locked_platform_gem_is_found_in_its_variant(app: App) -> None:
    (app.project / "Gemfile").write_text('source "https://rubygems.org"\ngem "plat"\n')
    shutil.copy(app.shared.gem(f"plat-2.0.0-{app.shared.platform}"), app.project / "vendor/cache")
    app.bundle("config", "set", "--local", "path", "gems")
    app.bundle("install", "--local", "--quiet")
    (package,) = app.read().packages
    assert {package.root} == app.listed()
    assert package.version == "2.0.0"
    assert package.root.endswith(f"/plat-2.0.0-{app.shared.platform}")


def test_settings_decide_about_the_path_as_in_bundler(shared: Shared, tmp_path: Path) -> None:
    choices: list[dict[str, str]] = [
        {},
        {"BUNDLE_PATH": "mine"},
        {"BUNDLE_DEPLOYMENT": "true"},
        {"BUNDLE_DEPLOYMENT": "false", "BUNDLE_PATH__SYSTEM": "true"},
        {"BUNDLE_PATH__SYSTEM": "false"},
        {"BUNDLE_DISABLE_SHARED_GEMS": "false"},
        {"BUNDLE_DISABLE_SHARED_GEMS": "1", "BUNDLE_PATH": "shared"},
        {"BUNDLE_PATH": "false"},
    ]
    cases = [dict(zip(("local", "env", "user"), case, strict=True)) for case in itertools.product(choices, repeat=3)]
    script = """
      require "bundler"
      require "json"
      write = lambda do |name, settings|
        File.write(name, settings.map { |key, value| "#{key}: #{value.inspect}\\n" }.join)
      end
      answers = JSON.parse($stdin.read).map do |levels|
        ENV.delete_if { |key, _| key.start_with?("BUNDLE_") }
        ENV.update(levels["env"])
        ENV["BUNDLE_CONFIG"] = "user"
        write.call("config", levels["local"])
        write.call("user", levels["user"])
        path = Bundler::Settings.new(Dir.pwd).path
        path.use_system_gems? ? nil : path.base_path
      end
      puts answers.to_json
    """
    answers = json.loads(gems.run(("ruby", "-e", script), tmp_path, shared.environ, json.dumps(cases)))
    for case, theirs in zip(cases, answers, strict=True):
        local, user = (
            "".join(f'{key}: "{value}"\n' for key, value in case[level].items()) for level in ("local", "user")
        )
        assert bundler.settings(local, case["env"], user).path == theirs, case


def test_bundlers_own_config_file_is_read_as_bundler_reads_it(app: App) -> None:
    app.bundle("config", "set", "--local", "build.ext-gem", "--with-x=/a b --y='z'")
    app.bundle("config", "set", "--local", "local.foo_bar-baz.qux", "/opt/x")
    config = bundler.parse_config((app.project / ".bundle/config").read_text())
    assert config == {
        "BUNDLE_BUILD__EXT___GEM": "--with-x=/a b --y='z'",
        "BUNDLE_LOCAL__FOO_BAR___BAZ__QUX": "/opt/x",
    }
    assert bundler.Settings(levels=(config,)).override("foo_bar-baz.qux") == "/opt/x"
