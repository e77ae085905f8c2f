"""Which packages a source tree makes, by what their files say: nothing is evaluated or run.

Invariants: pure; bytes in, values out; what only a build could tell (a computed name or version) stays unknown.
"""

from __future__ import annotations

import re
from configparser import Error, RawConfigParser
from typing import TYPE_CHECKING, Any

from skillsync.discovery.gem import rubygems
from skillsync.discovery.npm import package_json
from skillsync.discovery.pypi.versions import canonical, normal_version, valid_name
from skillsync.schema import toml
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PYTHON_FILES = ("pyproject.toml", "setup.cfg", "setup.py")

_GEM_NAME = r"""\.name\s*=\s*["']([^"'\n]+)["']"""
_GEM_VERSION = r"""\.version\s*=\s*["']([^"'\n]+)["']"""
_SETUP_NAME = r"""\bname\s*=\s*["']([^"'\n]+)["']"""


class Identity(Value):
    """A package's name and version, "" for what isn't known.

    `roots` are where a tree has its import packages; `backend` is what builds them.
    """

    name: str
    version: str = ""
    roots: tuple[str, ...] = ("", "src")
    backend: str = ""


def gem(file: str, content: bytes) -> Identity:
    """Return what a gemspec says by itself; one that computes its name is called like its file, as all are."""
    text = content.decode(errors="replace")
    stem = file.removesuffix(".gemspec")
    name = next((one for one in re.findall(_GEM_NAME, text) if rubygems.is_name(one)), stem)
    found = re.search(_GEM_VERSION, text)
    try:
        version = rubygems.normal_version(found[1]) if found else ""
    except ValueError:
        version = ""
    return Identity(name=name, version=version)


def npm(content: bytes) -> Identity | None:
    """Return what a package.json says; None for one that is never published. Raises MalformedError, ValueError."""
    data = package_json.load(content)
    if data.get("private") is True or ("name" not in data and "version" not in data):
        return None
    found = package_json.identity(data)
    return Identity(name=found.name, version=found.version if "version" in data else "")


def python(files: Mapping[str, bytes], directory: str) -> Identity | None:
    """Return what a Python project's files say; None where they hold settings of tools alone.

    A name that is nowhere to be read is the directory's. Raises MalformedError for a pyproject.toml that is none.
    """
    data: Mapping[str, Any] = toml(files["pyproject.toml"]).data if "pyproject.toml" in files else {}
    project = _table(data, "project") or _table(data, "tool", "poetry")
    setup = _setup_cfg(files.get("setup.cfg", b""))
    script = re.search(_SETUP_NAME, files.get("setup.py", b"").decode(errors="replace"))
    if not (project or "build-system" in data or setup or "setup.py" in files):
        return None
    stated = (project.get("name"), setup.get("name"), script and script[1], directory)
    name = next((canonical(one) for one in stated if isinstance(one, str) and _is_name(one)), "unknown")
    backend = _table(data, "build-system").get("build-backend", "setuptools")  # PEP 517's default
    return Identity(
        name=name,
        version=_version(project.get("version")),
        roots=tuple(dict.fromkeys(_roots(data))),
        backend=backend if isinstance(backend, str) else "",
    )


def _is_name(text: str) -> bool:
    try:
        return bool(valid_name(text))
    except ValueError:
        return False


def _version(text: object) -> str:
    try:
        return normal_version(text) if isinstance(text, str) else ""
    except ValueError:
        return ""


def _table(data: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    for key in keys:
        data = data.get(key, {}) if isinstance(data, dict) else {}
    return data if isinstance(data, dict) else {}


def _setup_cfg(content: bytes) -> Mapping[str, str]:
    """Return [metadata] of a setup.cfg; one that can't be read tells nothing, and its build will say so."""
    parser = RawConfigParser(strict=False)
    # The parser's own pattern takes the square of a blank's length for it; how long one is tells nothing.
    text = re.sub(r"[^\S\n]{2,}", " ", content.decode(errors="replace"))
    try:
        parser.read_string(text)
    except Error:
        return {}
    return dict(parser["metadata"]) if "metadata" in parser else {}


def _roots(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the directories below which the build looks for import packages: the usual ones, and what settings name."""
    yield from ("", "src")
    where = _table(data, "tool", "setuptools", "packages", "find").get("where")
    stated = [
        *(where if isinstance(where, list) else ()),
        _table(data, "tool", "setuptools", "package-dir").get(""),
        _table(data, "tool", "maturin").get("python-source"),
        _table(data, "tool", "uv", "build-backend").get("module-root"),
    ]
    yield from (one.strip("/") for one in stated if isinstance(one, str) and ".." not in one.split("/"))
