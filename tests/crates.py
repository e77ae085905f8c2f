"""Crates for tests: hand-made layouts as Cargo leaves them, and a package index on this machine for the real one."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pwd
import subprocess
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import gems

from skillsync.discovery import cargo
from skillsync.discovery.environment import Environment, NoEnvironment
from skillsync.errors import Code

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
INDEX = "index.crates.io-1949cf8c6b5b557f"
REVISION = "514229699d495fe53f30a09a0e1c312740553289"
GIT = f"git+https://example.org/acme/Repo.git?branch=main#{REVISION}"


def manifest(name: str, version: str = "1.0.0", text: str = "") -> str:
    """Return the text of a Cargo.toml."""
    return f'[package]\nname = "{name}"\nversion = "{version}"\nedition = "2018"\n{text}'


def row(name: str, version: str = "1.0.0", source: str = CRATES_IO, *needs: str, checksum: str = "") -> str:
    """Return a package of a Cargo.lock; a path crate's has no source."""
    given = {"name": name, "version": version, "source": source, "checksum": checksum}
    lines = [f"{key} = {json.dumps(value)}" for key, value in given.items() if value]
    return "\n".join(["[[package]]", *lines, f"dependencies = {json.dumps(needs)}" if needs else "", ""])


def write_crate(directory: Path, name: str, version: str = "1.0.0", *skills: str, text: str = "") -> Path:
    """Make what a crate is made of; returns its directory."""
    files = {"Cargo.toml": manifest(name, version, text), "src/lib.rs": "", **gems.skills(*skills)}
    gems.write_files(directory, files)
    return directory


@dataclass(frozen=True, slots=True)
class World:
    """A project in a repository, a home of Cargo's beside it, and what discovery finds."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root.parent / "home"

    def toml(self, text: str = "", at: str = "", name: str = "app") -> None:
        """Write the Cargo.toml of the project, or of a directory of it."""
        write_crate(self.root / at, name, text=text)

    def lock(self, *rows: str, head: str = "version = 4\n") -> None:
        gems.write_files(self.root, {"Cargo.lock": head + "\n".join(rows)})

    def unpack(self, name: str, version: str = "1.0.0", *skills: str, index: str = INDEX) -> Path:
        """Put a crate where Cargo unpacks those of an index."""
        crate = write_crate(self.home / f"registry/src/{index}/{name}-{version}", name, version, *skills)
        gems.write_files(crate, {".cargo-ok": '{"v":1}'})
        return crate

    def vendor(
        self, name: str, version: str = "1.0.0", *skills: str, at: str | None = None, checksum: str | None = None
    ) -> Path:
        """Put a crate where `cargo vendor` puts it."""
        crate = write_crate(self.root / "vendor" / (at or name), name, version, *skills)
        gems.write_files(crate, {".cargo-checksum.json": json.dumps({"files": {}, "package": checksum})})
        return crate

    def check_out(self, files: Mapping[str, str | bytes], at: str = f"repo-0123456789abcdef/{REVISION[:7]}") -> Path:
        """Put a repository where Cargo checks it out."""
        tree = self.home / "git/checkouts" / at
        gems.write_files(tree, {".cargo-ok": "", ".git/HEAD": "", **files})
        return tree

    def config(self, text: str, at: str = ".cargo/config.toml") -> None:
        gems.write_files(self.root, {at: text})

    def look(self, at: str = "", **environ: str) -> Environment | NoEnvironment:
        return cargo.read(str(self.root / at).rstrip("/"), environ or {"CARGO_HOME": str(self.home)})

    def read(self, at: str = "") -> Environment:
        found = self.look(at)
        assert isinstance(found, Environment), found
        assert {package.source for package in found.packages} <= set(found.sources)
        return found

    def none(self, at: str = "", **environ: str) -> NoEnvironment:
        found = self.look(at, **environ)
        assert isinstance(found, NoEnvironment), found
        assert found.problem.code is Code.ENVIRONMENT_NOT_FOUND
        assert found.problem.hint
        return found

    def found(self, at: str = "") -> dict[str, str]:
        """The crates that count, with their directories from the directory of project and home."""
        return {
            f"{package.name} {package.version}": os.path.relpath(package.root, self.root.parent)
            for package in self.read(at).packages
        }

    def warned(self) -> list[tuple[Code, str]]:
        problems = self.read().problems
        assert not any(problem.is_error for problem in problems)
        assert all(problem.hint for problem in problems)
        return [(problem.code, problem.message.replace(f"{self.root.parent}/", "")) for problem in problems]


# The real tool


def cargo_environ(home: Path) -> dict[str, str]:
    """Return an environment for cargo and git with nothing in it of the person who runs the tests."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("CARGO", "GIT_", "XDG_"))}
    who = {f"GIT_{one}_{what}": "test@example.org" for one in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    # rustup's toolchains are below the home of the person, which the tests hide.
    rustup = os.environ.get("RUSTUP_HOME", f"{pwd.getpwuid(os.getuid()).pw_dir}/.rustup")
    given = {
        "RUSTUP_HOME": rustup,
        "CARGO_HOME": str(home),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C.UTF-8",
    }
    return kept | who | given


def run(command: Iterable[str], cwd: Path, environ: Mapping[str, str], *, check: bool = True) -> str | None:
    """Run a tool; returns what it printed, or None if it failed, which it may only without `check`."""
    done = subprocess.run(
        tuple(command), cwd=cwd, env=environ, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done.stdout if done.returncode == 0 else None


def commit(directory: Path, environ: Mapping[str, str]) -> None:
    """Make a git repository of a directory."""
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "one")):
        run(("git", *arguments), directory, environ)


def index(directory: Path, crates: Mapping[tuple[str, str], tuple[tuple[str, ...], Mapping[str, str]]]) -> None:
    """Write a package index as Cargo reads it, archives included, of crates: their skills and what they depend on."""
    gems.write_files(
        directory / "index", {"config.json": json.dumps({"dl": f"file://{directory}/dl/{{crate}}-{{version}}.crate"})}
    )
    lines: dict[str, str] = {}
    for (name, version), (skills, needs) in crates.items():
        content = _archive(name, version, skills, _needing(needs, directory))
        gems.write_files(directory / "dl", {f"{name}-{version}.crate": content})
        described = {
            "name": name,
            "vers": version,
            "deps": [
                {
                    "name": other,
                    "req": requirement,
                    "features": [],
                    "optional": False,
                    "default_features": True,
                    "target": None,
                    "kind": "normal",
                }
                for other, requirement in needs.items()
            ],
            "cksum": hashlib.sha256(content).hexdigest(),
            "features": {},
            "yanked": False,
        }
        lines[name] = lines.get(name, "") + json.dumps(described) + "\n"
    gems.write_files(directory / "index", {f"{name[:2]}/{name[2:4]}/{name}": text for name, text in lines.items()})


def _needing(needs: Mapping[str, str], directory: Path) -> str:
    """Return what a Cargo.toml says of dependencies on crates of an index, as `cargo package` writes it."""
    return "".join(
        f'[dependencies.{name}]\nversion = "{requirement}"\nregistry-index = "file://{directory}/index"\n'
        for name, requirement in needs.items()
    )


def _archive(name: str, version: str, skills: Iterable[str], text: str) -> bytes:
    """Return a `.crate`."""
    files = {"Cargo.toml": manifest(name, version, text), "src/lib.rs": "", **gems.skills(*skills)}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(f"{name}-{version}/{path}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()
