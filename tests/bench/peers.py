"""Other tools that bring skills from packages into a project, installed as their users install them.

Invariants: a tool is installed below one directory and nowhere else, the newest that the package index has; one that
can't be installed is missing and stops nothing; each works on a project of its own, which skillsync never touched.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import venv
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench import layouts
from bench.workload import Size, packages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.prepared import Project

# Nothing is reported to anybody while it is measured.
_QUIET = {"DO_NOT_TRACK": "1", "DISABLE_TELEMETRY": "1", "CI": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that is installed: how it is run."""

    version: str
    command: tuple[str, ...]
    environ: Mapping[str, str]


def _manifest_nothing(project: Project, size: Size) -> None:
    """Write no manifest: the tool finds by itself what is installed."""


def _manifest_in_package_json(project: Project, size: Size) -> None:
    """Declare every skill in `package.json`, as skills-lock wants it."""
    path = f"{project.root}/package.json"
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    found["skills"] = {
        skill: {"source": f"file:{layouts.NODE_MODULES}/{one.name}", "path": f"skills/{skill}"}
        for one in packages(size)
        for skill in one.skills
    }
    found["skillsConfig"] = {"agents": ["universal"]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A tool, and its command that is measured where there is nothing left to do; `install` comes once before that.

    `slower` is how many times what `skillsync verify` takes it has to take on the small project.
    """

    package: str
    layout: str
    install: str
    command: str
    manifest: Callable[[Project, Size], None] = _manifest_nothing
    slower: float = 1

    def find(self, directory: str) -> Tool | None:
        """Return the tool, installed below a directory; None where it can't be."""
        try:
            return _INSTALLERS[self.layout](self.package, directory)
        except (OSError, subprocess.CalledProcessError):
            return None


PEERS = (
    Peer(package="library-skills", layout="pypi", install="--all --yes", command="--check", slower=5),
    Peer(
        package="skills",
        layout="npm",
        install="experimental_sync --yes --agent universal",
        command="experimental_sync --yes --agent universal",
    ),
    Peer(
        package="skills-npm",
        layout="npm",
        install="--yes --agents universal",
        command="--yes --agents universal",
    ),
    Peer(package="@tanstack/intent", layout="npm", install="", command="list"),
    Peer(
        package="skills-lock",
        layout="npm",
        install="install",
        command="install --frozen",
        manifest=_manifest_in_package_json,
    ),
    Peer(package="install_gem_skills.rb", layout="gem", install="", command=""),
)


def _python(package: str, directory: str) -> Tool:
    """Install a package into a virtual environment of its own."""
    place = f"{directory}/{package}"
    if not os.path.exists(f"{place}/bin/{package}"):
        venv.create(place, with_pip=True, symlinks=True)
        _said(f"{place}/bin/python", "-m", "pip", "install", package)
    ask = f"from importlib.metadata import version; print(version({package!r}))"
    return Tool(version=_said(f"{place}/bin/python", "-c", ask), command=(f"{place}/bin/{package}",), environ=_QUIET)


def _node(package: str, directory: str) -> Tool:
    """Install a package beside the others, without its scripts."""
    place = f"{directory}/node"
    command = f"{place}/node_modules/.bin/{package.rpartition('/')[2]}"
    if not os.path.exists(command):
        _said("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", place, package)
    with open(f"{place}/node_modules/{package}/package.json", encoding="utf-8") as file:
        version = json.load(file)["version"]
    return Tool(version=version, command=(command,), environ=_QUIET)


def _ruby(package: str, _: str) -> Tool:
    """Take the script beside this file, and the Ruby on PATH."""
    if shutil.which("ruby") is None:
        raise FileNotFoundError
    homes = dict.fromkeys(("GEM_HOME", "GEM_PATH"), layouts.GEM_HOME)
    return Tool(
        version=f"(Ruby {_said('ruby', '-e', 'print RUBY_VERSION')})",
        command=("ruby", os.path.join(os.path.dirname(__file__), package)),
        environ=homes,
    )


def _said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


_INSTALLERS: dict[str, Callable[[str, str], Tool]] = {"pypi": _python, "npm": _node, "gem": _ruby}
