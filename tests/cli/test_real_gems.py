"""The whole program over what RubyGems and Bundler themselves install, and beside a tool in Ruby."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import gems
import pytest
from projects import LOCK, REGISTRY, SKILLS, Project, in_sync
from tools import need

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = "#!/bin/sh\necho from the gem\n"

# What the packaging spec has a tool do: copy the whole directory, never over what another owns, and note the owner.
RUBY_INSTALLER = """
require "fileutils"
require "yaml"
root, *homes = ARGV
target = File.join(root, ".agents/skills")
registry = File.join(target, ".agent-skills.yaml")
state = File.exist?(registry) ? YAML.safe_load(File.read(registry)) : {"version" => 1, "skills" => {}}
raise "version" unless state.fetch("version") == 1
homes.flat_map { |home| Gem::Specification.dirs = [home]; Gem::Specification.to_a }.each do |spec|
  Dir[File.join(spec.full_gem_path, "skills/*/SKILL.md")].each do |file|
    name = File.basename(File.dirname(file))
    owner = state["skills"][name]
    raise "#{name}: owner" if owner && !(owner["gem"].is_a?(String) && owner["version"].is_a?(String))
    raise "#{name}: taken" if File.exist?(File.join(target, name)) && owner&.fetch("gem") != spec.name
    FileUtils.rm_rf(File.join(target, name))
    FileUtils.mkdir_p(target)
    FileUtils.cp_r(File.dirname(file), File.join(target, name))
    state["skills"][name] = {"gem" => spec.name, "version" => spec.version.to_s}
  end
end
File.write(registry, YAML.dump(state))
puts state["skills"].map { |name, row| [name, row["gem"], row["version"]].join(" ") }.sort
"""


@dataclass(frozen=True)
class Shelf:
    """Gems that were built once."""

    root: Path
    environ: dict[str, str]

    def gem(self, full: str) -> Path:
        return self.root / f"{full}.gem"

    def install(self, home: Path, *full: str, umask: int = 0o022) -> None:
        """Install gems with RubyGems."""
        usual = os.umask(umask)
        try:
            for name in full:
                gems.install_gem(self.gem(name), home, self.environ)
        finally:
            os.umask(usual)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    need("ruby", "gem", "bundle", "git")
    root = tmp_path_factory.mktemp("shelf")
    testing = gems.skills("testing") | {"skills/testing/scripts/run": SCRIPT, "skills/testing/lib.sh": "echo\n"}
    new = {"skills/testing/SKILL.md": gems.skill("testing", "New.\n"), "skills/testing/new.md": "new\n"}
    for version, files in (("0.9.0", testing), ("0.10.0", testing | new | gems.skills("mocking"))):
        gems.build_gem(root, "sus", version, files=files, executables=["skills/testing/scripts/run"])
    gems.build_gem(root, "bake", "1.0", files=gems.skills("tasks"))
    return Shelf(root, gems.ruby_environ(root / "home"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GEM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_gems_of_the_gem_environment_from_the_first_to_the_last(shelf: Shelf, tmp_path: Path, home: Path) -> None:
    shelf.install(home, "sus-0.9.0", "bake-1.0")
    project = Project(tmp_path / "app").write({"Gemfile": 'source "https://rubygems.org"\ngem "sus"\n'})
    for command in ("list", "lock", "sync", "verify"):
        project.done(command)
    in_sync(project, "bake 1.0 tasks", "sus 0.9.0 testing")
    run = subprocess.run((project.installed("testing/scripts/run"),), capture_output=True, check=True)
    assert run.stdout == b"from the gem\n"

    # A newer version beside the old one.
    shelf.install(home, "sus-0.10.0")
    assert project.run("verify", "--format", "json").drift == [("stale-lock", "mocking"), ("stale-lock", "testing")]
    assert project.done("sync").out.startswith("in sync")
    result = project.done("lock")
    assert "~ update testing (gem:sus 0.9.0 -> 0.10.0)\n    + new.md\n    ~ SKILL.md\n" in result.out
    project.done("sync")
    in_sync(project, "bake 1.0 tasks", "sus 0.10.0 mocking", "sus 0.10.0 testing")

    # Uninstalled while the Gemfile names it; then named no longer.
    for name in ("sus", "bake"):
        environ = shelf.environ | {"GEM_HOME": str(home)}
        gems.run(("gem", "uninstall", "--all", "--executables", name), tmp_path, environ)
        if name == "sus":
            result = project.run("lock", "--format", "json")
            # The Gemfile has no lock, which is said too.
            assert (result.code, result.codes) == (3, ["environment-unreadable", "missing-provider"])
            project.write({"Gemfile": ""}).done("lock")
            project.done("sync")
            in_sync(project, "bake 1.0 tasks")
    assert project.run("lock").code == 3  # nothing at all is installed any more


def test_gems_of_a_bundle_from_every_source(shelf: Shelf, tmp_path: Path) -> None:
    repository = gems.write_source(tmp_path / "git-gem", "git-gem", "0.5.0", gems.skills("from-git"))
    for arguments in (("init", "--quiet", "--initial-branch=main"), ("add", "."), ("commit", "--quiet", "-m", "x")):
        gems.run(("git", *arguments), repository, shelf.environ)
    project = Project(tmp_path / "app")
    gems.write_source(project.root / "engines/admin", "admin", "0.1.0", gems.skills("from-path"))
    cache = project.root / "vendor/cache"
    cache.mkdir(parents=True)
    for full in ("sus-0.9.0", "bake-1.0"):
        shutil.copy(shelf.gem(full), cache)
    gemfile = (
        f'source "https://rubygems.org"\ngem "sus"\ngem "bake"\ngem "admin", path: "engines/admin"\n'
        f'gem "git-gem", git: "file://{repository}", branch: "main"\n'
    )
    project.write({"Gemfile": gemfile, ".bundle/config": '---\nBUNDLE_PATH: "vendor/bundle"\n'})

    def bundle(*arguments: str) -> None:
        gems.run(("bundle", *arguments), project.root, shelf.environ)

    bundle("install", "--local", "--quiet")
    for command in ("list", "lock", "sync", "verify"):
        project.done(command)
    others = ("admin 0.1.0 from-path", "bake 1.0 tasks", "git-gem 0.5.0 from-git")
    in_sync(project, *others, "sus 0.9.0 testing")

    # Updated: both versions are on disk, the bundle's lock says which counts.
    shutil.copy(shelf.gem("sus-0.10.0"), cache)
    bundle("update", "--local", "--quiet", "sus")
    assert project.run("verify").code == 1
    project.done("lock")
    project.done("sync")
    in_sync(project, *others, "sus 0.10.0 mocking", "sus 0.10.0 testing")

    # Edited where it is developed: its version stays.
    gems.write_files(project.root / "engines/admin/skills/from-path", {"more.md": "more"})
    assert project.run("lock", "--check").code == 1
    project.done("lock")
    assert project.done("sync", "--format", "json").changes == [("update", "from-path")]

    # Taken out.
    project.write({"Gemfile": gemfile.replace('gem "sus"\n', "")})
    assert project.run("lock", "--check").code == 0  # the bundle's lock still has it
    bundle("install", "--local", "--quiet")
    assert "- remove mocking (gem:sus 0.10.0)\n" in project.done("lock").out
    project.done("sync")
    in_sync(project, *others)


def test_the_lock_is_the_same_wherever_and_however_the_gems_were_installed(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks = []
    for place, umask, order in (("here", 0o022, 1), ("deep/down/there", 0o077, -1)):
        home = tmp_path / place / "home"
        shelf.install(home, *("sus-0.10.0", "bake-1.0")[::order], umask=umask)
        monkeypatch.setenv("GEM_HOME", str(home))
        project = Project(tmp_path / place / "app").write({"gems.rb": ""})
        project.done("lock")
        locks.append((project.root / LOCK).read_bytes())
    assert locks[0] == locks[1]
    # Installed by hand, as these tests do elsewhere, it is the same again.
    again = Project(tmp_path / "by-hand").write({"gems.rb": ""})
    monkeypatch.setenv("GEM_HOME", str(tmp_path / "copy"))
    shutil.copytree(tmp_path / "here/home", tmp_path / "copy")
    again.done("lock")
    assert (again.root / LOCK).read_bytes() == locks[0]


def ruby(shelf: Shelf, project: Project, home: Path) -> list[str]:
    """Install with the tool in Ruby; return what it then owns."""
    script = gems.run(("ruby", "-", str(project.root), str(home)), project.root, shelf.environ, RUBY_INSTALLER)
    return script.splitlines()


def test_a_tool_in_ruby_and_skillsync_take_over_from_each_other(shelf: Shelf, tmp_path: Path, home: Path) -> None:
    shelf.install(home, "sus-0.9.0", "bake-1.0")
    project = Project(tmp_path / "app").write({"gems.rb": "", f"{SKILLS}/mine/SKILL.md": "mine"})
    owned = ["tasks bake 1.0", "testing sus 0.9.0"]
    assert ruby(shelf, project, home) == owned
    assert "hash" not in project.read(REGISTRY)

    # What it installed is as locked: skillsync notes that, and touches nothing else.
    project.done("lock")
    assert project.run("verify", "--format", "json").drift == [("stale-row", "tasks"), ("stale-row", "testing")]
    assert project.done("sync", "--format", "json").changes == [("record", "tasks"), ("record", "testing")]
    in_sync_names = sorted(name for name in os.listdir(project.installed()) if not name.startswith("."))
    assert in_sync_names == ["mine", "tasks", "testing"]
    project.done("verify")

    # The tool reads what skillsync wrote, and goes on.
    assert "    version: '1.0'\n" in project.read(REGISTRY)
    assert ruby(shelf, project, home) == owned
    registry = gems.run(
        ("ruby", "-ryaml", "-rjson", "-e", "puts YAML.safe_load(File.read(ARGV[0])).to_json", REGISTRY),
        project.root,
        shelf.environ,
    )
    rows = json.loads(registry)["skills"]
    assert {(name, type(row["version"])) for name, row in rows.items()} == {("tasks", str), ("testing", str)}

    # An update by skillsync, over rows without hashes.
    shelf.install(home, "sus-0.10.0")
    project.done("lock")
    project.write({f"{SKILLS}/testing/notes.md": "noted"})
    changes = project.done("sync", "--format", "json").changes
    assert changes == [("add", "mocking"), ("record", "tasks"), ("update", "testing")]
    project.done("verify")
    assert project.installed("mine/SKILL.md").read_text() == "mine"
