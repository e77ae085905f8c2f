"""Gems for tests: real ones, built and installed by RubyGems, and hand-made installs that need no Ruby."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

# What would make a tool's answer depend on whoever runs the tests.
_PERSONAL = ("GEM_", "BUNDLE_", "BUNDLER_", "RUBY", "CARGO_", "GIT_", "XDG_")


def skill(name: str, text: str = "Text.\n") -> str:
    """Return the text of a valid SKILL.md."""
    return f"---\nname: {name}\ndescription: About {name}.\n---\n{text}"


def skills(*names: str) -> dict[str, str | bytes]:
    """Return the files of a gem that ships skills."""
    return {f"skills/{name}/SKILL.md": skill(name) for name in names}


def write_files(root: Path, files: Mapping[str, str | bytes]) -> None:
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)


def full_name(name: str, version: str, platform: str = "ruby") -> str:
    return f"{name}-{version}" if platform == "ruby" else f"{name}-{version}-{platform}"


def stub_text(name: str, version: str, platform: str = "ruby") -> str:
    """Return the beginning of a gemspec as RubyGems writes it when it installs a gem."""
    return (
        f"# -*- encoding: utf-8 -*-\n# stub: {name} {version} {platform} lib\n\n"
        f'Gem::Specification.new do |s|\n  s.name = "{name}".freeze\n  s.version = "{version}"\nend\n'
    )


def write_gem(home: Path, name: str, version: str, files: Mapping[str, str | bytes], platform: str = "ruby") -> Path:
    """Make what an installed gem is made of, without Ruby; returns the gem's directory."""
    full = full_name(name, version, platform)
    write_files(home, {f"specifications/{full}.gemspec": stub_text(name, version, platform)})
    directory = home / "gems" / full
    directory.mkdir(parents=True)
    write_files(directory, files)
    return directory


def ruby_environ(home: Path) -> dict[str, str]:
    """Return an environment for the Ruby tools with nothing in it of the person who runs the tests.

    Whatever installs without being told where installs into `gems` in that home, never into Ruby's own directories.
    """
    (home / "gems").mkdir(parents=True, exist_ok=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_PERSONAL)}
    given = {
        "HOME": str(home),
        "GEM_HOME": str(home / "gems"),
        "LC_ALL": "C.UTF-8",
        "BUNDLE_SILENCE_ROOT_WARNING": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    for who in ("GIT_AUTHOR", "GIT_COMMITTER"):
        given |= {f"{who}_NAME": "test", f"{who}_EMAIL": "test@example.org"}
    return kept | given


def run(command: Iterable[str], cwd: Path, environ: Mapping[str, str], text: str = "") -> str:
    """Run a tool that has to succeed, with a text on its standard input; returns what it printed."""
    done = subprocess.run(
        tuple(command), cwd=cwd, env=environ, input=text, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write_source(
    directory: Path, name: str, version: str, files: Mapping[str, str | bytes], platform: str = "ruby"
) -> Path:
    """Make a gem's source tree, with a gemspec that has to be evaluated; returns the tree."""
    spec = f"""\
Gem::Specification.new do |s|
  s.name = "{name}"
  s.version = "{version}"
  s.platform = "{platform}"
  s.summary = "A gem for tests"
  s.authors = ["test"]
  s.license = "MIT"
  s.homepage = "https://example.org"
  s.files = Dir["{{lib,skills,bin}}/**/*"].select {{ |path| File.file?(path) || File.symlink?(path) }}
end
"""
    write_files(directory, {f"{name}.gemspec": spec, f"lib/{name}.rb": "", **files})
    return directory


def build_gem(  # noqa: PLR0913  all that makes one gem differ from another
    directory: Path,
    name: str,
    version: str,
    *,
    files: Mapping[str, str | bytes],
    platform: str = "ruby",
    executables: Iterable[str] = (),
) -> Path:
    """Build a real gem with `gem build`; `executables` are the files in it that are made executable."""
    full = full_name(name, version, platform)
    source = write_source(directory / "sources" / full, name, version, files, platform)
    for path in executables:
        (source / path).chmod(0o755)
    gem = directory / f"{full}.gem"
    run(("gem", "build", f"{name}.gemspec", "--output", str(gem)), source, ruby_environ(directory / "home"))
    return gem


def install_gem(gem: Path, home: Path, environ: Mapping[str, str]) -> None:
    """Install a gem into a directory with `gem install`, from the file alone."""
    options = ("--local", "--no-document", "--ignore-dependencies", "--force", "--install-dir", str(home))
    run(("gem", "install", *options, str(gem)), gem.parent, environ)
