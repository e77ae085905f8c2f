"""A project as its user has it: a bundle written by hand where Bundler would have put it, and skillsync run over it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gems
import schemas
from blake3 import blake3

from skillsync.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Self

    Files = Mapping[str, str | bytes]

Tree = dict[str, tuple[str, int | None, str | bytes | None]]  # by path: mode, time and content

SKILLS = ".agents/skills"
REGISTRY = f"{SKILLS}/.agent-skills.yaml"
LOCK = "agent-skills.lock"
MANIFEST = "agent-skills.toml"
HOME = "vendor/bundle/ruby/3.1.0"

skill = gems.skill


@dataclass(frozen=True, slots=True)
class Result:
    """What one run of the program left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401  # whatever the program printed
        return json.loads(self.out)

    @property
    def codes(self) -> list[str]:
        """The codes of the problems, in a JSON report."""
        return [problem["code"] for problem in self.json["problems"]]

    @property
    def drift(self) -> list[tuple[str, ...]]:
        """The kind of each difference, with its skill and its path where it has one, in a JSON report."""
        return [tuple(row[key] for key in ("kind", "skill", "path") if key in row) for row in self.json["drift"]]

    @property
    def changes(self) -> list[tuple[str, str]]:
        """The action and skill of each change, in a JSON report."""
        return [(change["action"], change["skill"]) for change in self.json["changes"]]


@dataclass(frozen=True, slots=True)
class _Gem:
    version: str
    platform: str
    path: str | None


class Project:
    """A project with a bundle. What returns the project itself can be chained."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self._gems: dict[str, _Gem] = {}

    # What is installed

    def gem(
        self,
        name: str,
        version: str = "1.0.0",
        *skills: str,
        files: Files | None = None,
        platform: str = "ruby",
        path: str | None = None,
    ) -> Self:
        """Install a gem into the bundle and lock it there, in place of the version that was; `path` makes it PATH."""
        content = {**gems.skills(*skills), **(files or {})}
        if path is None:
            gems.write_gem(self.root / HOME, name, version, content, platform)
        else:
            shutil.rmtree(self.root / path, ignore_errors=True)
            gems.write_source(self.root / path, name, version, content)
        self._gems[name] = _Gem(version, platform, path)
        return self.bundle()

    def change(self, name: str, files: Mapping[str, str | bytes | None]) -> Self:
        """Write files into an installed gem, or remove them, at the version that it has."""
        change(self.gem_root(name), files)
        return self

    def uninstall(self, name: str) -> Self:
        """Take a gem's files away; the bundle's lock names it still."""
        directory = self.gem_root(name)
        shutil.rmtree(directory)
        if self._gems[name].path is None:
            (self.root / HOME / "specifications" / f"{directory.name}.gemspec").unlink()
        return self

    def drop(self, name: str) -> Self:
        """Take a gem out of the bundle, and its files away."""
        self.uninstall(name)
        del self._gems[name]
        return self.bundle()

    def gem_root(self, name: str) -> Path:
        one = self._gems[name]
        return self.root / (one.path or f"{HOME}/gems/{gems.full_name(name, one.version, one.platform)}")

    def bundle(self) -> Self:
        """Write the Gemfile and its lock, which name what is installed."""
        gemfile = "".join(
            f'gem "{name}"' + (f', path: "{one.path}"' if one.path else "") + "\n" for name, one in self._gems.items()
        )
        paths = "".join(
            f"PATH\n  remote: {one.path}\n  specs:\n    {name} ({one.version})\n\n"
            for name, one in sorted(self._gems.items())
            if one.path
        )
        specs = "".join(
            f"    {name} ({one.version}{'' if one.platform == 'ruby' else '-' + one.platform})\n"
            for name, one in sorted(self._gems.items())
            if not one.path
        )
        dependencies = "".join(f"  {name}{'!' if one.path else ''}\n" for name, one in sorted(self._gems.items()))
        lock = (
            f"{paths}GEM\n  remote: https://rubygems.org/\n  specs:\n{specs}"
            f"\nPLATFORMS\n  ruby\n\nDEPENDENCIES\n{dependencies}\nBUNDLED WITH\n   2.3.15\n"
        )
        return self.write({"Gemfile": f'source "https://rubygems.org"\n\n{gemfile}', "Gemfile.lock": lock})

    # What is in the project

    def write(self, files: Mapping[str, str | bytes | None]) -> Self:
        """Write files into the project, or remove those that are None."""
        change(self.root, files)
        return self

    def manifest(self, text: str) -> Self:
        return self.write({MANIFEST: text})

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def installed(self, path: str = "") -> Path:
        """Return the path of something in the target directory."""
        return self.root / SKILLS / path

    @property
    def locked(self) -> list[str]:
        """What the lock pins: `gem version skill`."""
        providers = tomllib.loads(self.read(LOCK)).get("provider", [])
        return [f"{one['name']} {one['version']} {skill['name']}" for one in providers for skill in one["skill"]]

    @property
    def tree(self) -> Tree:
        """Everything in the project: kind, mode, time and content of each entry, by path."""
        return tree(self.root)

    # What the user does

    def run(self, *arguments: str, at: str = "") -> Result:
        """Run the program in this process, in the project or in a directory below it."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(self.root / at), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(arguments)
            except SystemExit as done:  # how argparse ends after --help and --version
                code = int(done.code or 0)
        schemas.check(arguments, out.getvalue())
        return Result(code, out.getvalue(), err.getvalue())

    def done(self, *arguments: str) -> Result:
        """Run the program, which has to succeed."""
        result = self.run(*arguments)
        assert result.code == 0, result.out + result.err
        return result

    def process(self, *arguments: str, **options: Any) -> Result:  # noqa: ANN401  # subprocess has its own types
        """Run the program as a process of its own."""
        # Python holds back what it prints, as it does for its users.
        environ = {**os.environ, "PYTHONUNBUFFERED": "", **options.pop("environ", {})}
        given = {"stdin": subprocess.DEVNULL, "capture_output": True, "cwd": self.root, "env": environ, "timeout": 60}
        done = subprocess.run((*command(), *arguments), check=False, **{**given, **options})
        return Result(done.returncode, (done.stdout or b"").decode(), (done.stderr or b"").decode())


def in_sync(project: Project, *locked: str) -> None:
    """Hold a project against what has to be locked; a second run of everything does nothing."""
    assert project.locked == list(locked)
    before = project.tree
    for command in ("lock", "sync", "verify", "list"):
        project.done(command)
    assert project.tree == before
    names = {name.rpartition(" ")[2] for name in locked}
    assert {name for name in os.listdir(project.installed()) if not name.startswith(".")} == names


def content(root: Path, *, times: bool = False) -> dict[str, tuple[object, ...]]:
    """What is below a directory: mode and content of each entry, and the time of what is no directory."""
    found = tree(root)
    del found["."]
    return {path: entry if times and entry[0][0] != "d" else (entry[0], entry[2]) for path, entry in found.items()}


def command() -> tuple[str, ...]:
    """Return the command line of the program, up to its own arguments."""
    return (sys.executable, "-m", "skillsync")


def change(root: Path, files: Mapping[str, str | bytes | None]) -> None:
    """Write files below a directory, or remove those that are None."""
    gems.write_files(root, {path: content for path, content in files.items() if content is not None})
    for path, content in files.items():
        if content is None:
            (root / path).unlink()


def tree(root: Path) -> Tree:
    """Return everything below a directory: kind, mode, time and content of each entry, by path."""
    found: Tree = {}
    for path in sorted([root, *root.rglob("*")]):
        status = path.lstat()
        content: str | bytes | None = None
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = path.read_bytes()
        found[str(path.relative_to(root))] = (stat.filemode(status.st_mode), status.st_mtime_ns, content)
    return found


def recomputed(directory: Path) -> str:
    """Return a skill's hash, made by the published recipe alone."""
    found = {str(path.relative_to(directory)).encode(): path for path in directory.rglob("*")}
    digest = blake3(b"skillsync-tree-v1\0")
    for name, path in sorted(found.items()):
        head = len(name).to_bytes(8, "little") + name
        if path.is_symlink():
            target = os.readlink(path).encode()
            digest.update(b"l" + head + len(target).to_bytes(8, "little") + target)
        elif path.is_file():
            digest.update(b"f" + head + blake3(path.read_bytes()).digest())
    return f"blake3:{digest.hexdigest()}"
