"""npm packages for tests: hand-made `node_modules`, and real tools with a package index on this machine."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import io
import json
import os
import subprocess
import tarfile
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote

import gems

from skillsync.discovery.environment import Environment, NoEnvironment
from skillsync.discovery.npm import ecosystem as npm
from skillsync.errors import Code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# What would make a tool's answer depend on whoever runs the tests; what is kept is the machine's, not a person's.
_PERSONAL = ("npm_", "pnpm_", "yarn_", "bun_", "node_", "corepack_", "xdg_")
_KEPT = frozenset({"NODE_EXTRA_CA_CERTS"})


def described(name: str, version: str = "1.0.0", **more: object) -> str:
    """Return the text of a package.json."""
    return json.dumps({"name": name, "version": version, **more})


def write_package(directory: Path, name: str, version: str = "1.0.0", *skills: str, **more: object) -> Path:
    """Make what a package is made of; returns its directory."""
    gems.write_files(directory, {"package.json": described(name, version, **more), **gems.skills(*skills)})
    return directory


def install(
    node_modules: Path, path: str, version: str = "1.0.0", *skills: str, name: str | None = None, **more: object
) -> Path:
    """Put a package into a `node_modules` and npm's list of what is in it; `path` ends in the name to install it by."""
    installed = write_package(
        node_modules / path, name or path.rpartition("node_modules/")[2], version, *skills, **more
    )
    listed = node_modules / ".package-lock.json"
    rows = json.loads(listed.read_text())["packages"] if listed.exists() else {}
    listed.write_text(json.dumps({"packages": {**rows, f"node_modules/{path}": {"version": version}}}))
    return installed


def link(path: Path, target: Path) -> None:
    """Make a relative link, as package managers do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


@dataclass(frozen=True, slots=True)
class Store:
    """A virtual store as pnpm lays it out in a `node_modules`."""

    node_modules: Path

    def add(self, name: str, version: str = "1.0.0", *skills: str, needs: Iterable[str] = (), peers: str = "") -> Path:
        """Put a package into a slot of its own, with a link for each that it needs: `NAME@VERSION`."""
        slot = self.slot(f"{name}@{version}{peers}")
        for need in needs:
            link(slot / _name(need), self.package(need))
        return write_package(slot / name, name, version, *skills)

    def slot(self, full: str) -> Path:
        return self.node_modules / ".pnpm" / full.replace("/", "+") / "node_modules"

    def package(self, full: str) -> Path:
        return self.slot(full) / _name(full)

    def depend(self, full: str, name: str | None = None) -> None:
        """Link a package as the project's own dependency, by its own name or another."""
        link(self.node_modules / (name or _name(full)), self.package(full))

    def hoist(self, full: str, name: str | None = None) -> None:
        link(self.node_modules / ".pnpm/node_modules" / (name or _name(full)), self.package(full))


def _name(full: str) -> str:
    """Return the name in `NAME@VERSION_PEERS`."""
    return full.partition("_")[0].rpartition("@")[0]


@dataclass(frozen=True, slots=True)
class World:
    """A project in a repository, and what discovery finds for it."""

    root: Path

    @property
    def node_modules(self) -> Path:
        return self.root / "node_modules"

    @property
    def store(self) -> Store:
        return Store(self.node_modules)

    def package_json(self, at: str = "", **more: object) -> None:
        """Write the package.json of the project, or of a directory of it."""
        text = json.dumps({"name": at.rpartition("/")[2] or "app", "version": "1.0.0", **more})
        gems.write_files(self.root / at, {"package.json": text})

    def install(self, path: str, version: str = "1.0.0", *skills: str, name: str | None = None, **more: object) -> Path:
        """Put a package into `node_modules`, by its path there, as npm does."""
        return install(self.node_modules, path, version, *skills, name=name, **more)

    def look(self, at: str = "") -> Environment | NoEnvironment:
        return npm.read(str(self.root / at).rstrip("/"), {})

    def read(self, at: str = "") -> Environment:
        found = self.look(at)
        assert isinstance(found, Environment), found
        assert {package.source for package in found.packages} <= set(found.sources)
        return found

    def none(self, at: str = "") -> NoEnvironment:
        found = self.look(at)
        assert isinstance(found, NoEnvironment), found
        assert found.problem.code is Code.ENVIRONMENT_NOT_FOUND
        return found

    def found(self, at: str = "") -> dict[str, str]:
        """The packages that count, with their directories from the root of the world."""
        return {
            f"{package.name} {package.version}": os.path.relpath(package.root, self.root)
            for package in self.read(at).packages
        }

    def warned(self, at: str = "") -> list[tuple[Code, str]]:
        """What could not be read on the way."""
        problems = self.read(at).problems
        assert not any(problem.is_error for problem in problems)
        assert all(problem.hint for problem in problems)
        return [(problem.code, problem.message) for problem in problems]


# Real tools


def node_environ(home: Path, registry: str | None = None) -> dict[str, str]:
    """Return an environment for Node's tools with nothing in it of the person who runs the tests."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {key: value for key, value in os.environ.items() if key in _KEPT or not key.lower().startswith(_PERSONAL)}
    settings = ["audit=false", "fund=false", "update-notifier=false"]
    settings += [f"registry={registry}"] if registry else []
    settings += [f"cafile={kept['NODE_EXTRA_CA_CERTS']}"] if "NODE_EXTRA_CA_CERTS" in kept else []
    (home / ".npmrc").write_text("\n".join([*settings, ""]))
    given = {"HOME": str(home), "CI": "1", "YARN_ENABLE_TELEMETRY": "0", "YARN_ENABLE_IMMUTABLE_INSTALLS": "0"}
    if registry:
        given |= {
            "pnpm_config_registry": registry,
            "YARN_NPM_REGISTRY_SERVER": registry,
            "YARN_UNSAFE_HTTP_WHITELIST": "127.0.0.1",
            "BUN_CONFIG_REGISTRY": registry,
        }
    return kept | given


def run(command: Iterable[str], cwd: Path, environ: Mapping[str, str], text: str = "") -> str:
    """Run a tool that has to succeed, with a text on its standard input; returns what it printed."""
    done = subprocess.run(
        tuple(command), cwd=cwd, env=environ, input=text, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass
class Registry:
    """A package index on this machine that serves what was packed for it."""

    packages: dict[str, dict[str, tuple[dict[str, Any], bytes]]] = field(default_factory=dict)
    url: str = ""

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(self, described: dict[str, Any], archive: bytes) -> None:
        """Publish one version of a package."""
        self.packages.setdefault(described["name"], {})[described["version"]] = (described, archive)

    def answer(self, path: str) -> bytes | None:
        """Return what stands at a path: a package's versions, or an archive."""
        name, separator, file = path.partition("/-/")
        if name not in self.packages:
            return None
        versions = self.packages[name]
        if separator:
            return versions[file][1]
        rows = {
            version: {
                **described,
                "dist": {
                    "tarball": f"{self.url}{name}/-/{version}",
                    "shasum": hashlib.sha1(archive, usedforsecurity=False).hexdigest(),
                    "integrity": "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode(),
                },
            }
            for version, (described, archive) in versions.items()
        }
        # Old enough for every tool's idea of how long a new version is left alone.
        times = dict.fromkeys((*versions, "created", "modified"), "2020-01-01T00:00:00.000Z")
        listed = {"name": name, "dist-tags": {"latest": max(versions)}, "versions": rows, "time": times}
        return json.dumps(listed).encode()


def _handler(registry: Registry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = registry.answer(unquote(self.path).strip("/"))
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


def archive(source: Path) -> bytes:
    """Return an archive with all of a source tree: `npm pack` leaves some of it out."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as packed:
        packed.add(source, "package")
    return content.getvalue()


def publish(registry: Registry, directory: Path, sources: Iterable[Path], environ: Mapping[str, str]) -> None:
    """Pack some source trees with `npm pack`, and put the packages into an index."""
    trees = [str(source) for source in sources]
    packed = json.loads(run(("npm", "pack", "--json", "--ignore-scripts", *trees), directory, environ))
    rows = packed if isinstance(packed, list) else list(packed.values())
    for row, tree in zip(rows, trees, strict=True):
        registry.add(json.loads((Path(tree) / "package.json").read_text()), (directory / row["filename"]).read_bytes())


# What the tests run besides npm, at the versions that they were written with.
_TOOLS = {
    "@taplo/cli": "0.7.0",
    "@yarnpkg/cli-dist": "4.18.1",
    "bun": "1.4.5",
    "pnpm": "12.23.0",
    "pnpm10": "npm:pnpm@10.34.9",
    "semver": "7.8.6",
    "yarn1": "npm:yarn@1.22.22",
}


@dataclass(frozen=True, slots=True)
class Tools:
    """Package managers, `semver` and `taplo`, installed for the tests alone."""

    node_modules: Path

    @classmethod
    def install(cls, cache: Path, allow: Callable[[], None]) -> Self:
        """Install what isn't in the cache yet; `allow` goes on only where the network may be asked."""
        wanted = json.dumps({"name": "tools", "private": True, "dependencies": _TOOLS})
        with (cache / "busy").open("w") as busy:
            fcntl.flock(busy, fcntl.LOCK_EX)  # tests run in several processes
            done = cache / "done.json"
            if not done.exists() or done.read_text() != wanted:
                allow()
                (cache / "package.json").write_text(wanted)
                run(("npm", "install", "--no-package-lock"), cache, node_environ(cache / "home"))
                done.write_text(wanted)
        return cls(cache / "node_modules")

    @property
    def taplo(self) -> tuple[str, ...]:
        return ("node", str(self.node_modules / "@taplo/cli/dist/cli.js"))

    @property
    def pnpm(self) -> tuple[str, ...]:
        return (str(self.node_modules / "pnpm/pnpm"),)

    @property
    def pnpm10(self) -> tuple[str, ...]:
        return ("node", str(self.node_modules / "pnpm10/bin/pnpm.cjs"))

    @property
    def yarn(self) -> tuple[str, ...]:
        return ("node", str(self.node_modules / "@yarnpkg/cli-dist/bin/yarn.js"))

    @property
    def yarn1(self) -> tuple[str, ...]:
        return ("node", str(self.node_modules / "yarn1/bin/yarn.js"))

    @property
    def bun(self) -> tuple[str, ...]:
        return (str(self.node_modules / "bun/bin/bun.exe"),)
