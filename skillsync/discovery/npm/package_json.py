"""package.json as values: who a package is, what it depends on, and which directories are a workspace's members.

Invariants: pure; the text is hostile: whatever stands in it, a value comes out or a reason why not; of a key that is
there twice the last counts, as for npm.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from skillsync.discovery.npm.semver import normal_version, quoted
from skillsync.schema import MalformedError, decode
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE_NAME: Final = "package.json"
LIMIT: Final = 3 * 1024 * 1024

_DEPENDENCIES = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_BUNDLED = ("bundleDependencies", "bundledDependencies")
_UNVERSIONED = "0.0.0"  # what pnpm and yarn take a package for that gives no version, which only a local one can do
# validate-npm-package-name, for packages of any age: what goes unescaped through a URL, at most 214 characters. No part
# begins with a dot, so none is `..` or one of the directories that the package managers keep beside packages.
_LONGEST = 214
_PART = r"[A-Za-z0-9_~!'()*-][A-Za-z0-9._~!'()*-]*"
_NAME = rf"(?:@{_PART}/)?{_PART}"
_RESERVED = frozenset({"node_modules", "favicon.ico"})
_ALIAS = "npm:"


class Identity(Value, kw_only=False):
    """The name and version by which a package is known."""

    name: str
    version: str


def load(content: bytes) -> Mapping[str, Any]:
    """Return what a package.json says. Raises MalformedError."""
    try:
        # npm replaces what isn't UTF-8 as well: names are checked where they are used.
        data = json.loads(content.decode("utf-8-sig", errors="replace"))
    except RecursionError:
        raise MalformedError("it is nested too deeply") from None
    except ValueError as error:
        decode(content)  # knows an empty file and conflict markers by their names
        reason = f"it is not JSON: {getattr(error, 'msg', error)}"
        raise MalformedError(reason, getattr(error, "lineno", None), getattr(error, "colno", None)) from None
    if not isinstance(data, dict):
        raise MalformedError("it is not a JSON object")
    return data


def identity(data: Mapping[str, Any]) -> Identity:
    """Return who the package is. Raises ValueError with the reason why that can't be said."""
    name = _text(data, "name")
    if not is_name(name):
        raise ValueError(f"its name {quoted(name)} is not one that npm allows")
    return Identity(name, normal_version(_text(data, "version", _UNVERSIONED)))


def _text(data: Mapping[str, Any], key: str, default: str | None = None) -> str:
    match data.get(key, default):
        case str(text):
            return text
        case value:
            raise ValueError(f"its {key} is missing" if value is None else f"its {key} is not a text")


def is_name(text: str) -> bool:
    """Whether a text can be a package's name, and so a path below `node_modules`."""
    return len(text) <= _LONGEST and re.fullmatch(_NAME, text) is not None and text.lower() not in _RESERVED


def dependencies(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the packages that a package.json names, by their own names: of an alias, the one that it stands for."""
    for name, spec in _specs(data):
        yield aliased(spec) or name


def aliases(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the aliases among the dependencies of a package.json, each with the name that it stands for."""
    for name, spec in _specs(data):
        if own := aliased(spec):
            yield name, own


def _specs(data: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for key in _DEPENDENCIES:
        section = data.get(key)
        if isinstance(section, dict):
            yield from section.items()


def unbundled(data: Mapping[str, Any]) -> frozenset[str]:
    """Return by which names a package's dependencies are installed that its archive doesn't bring.

    Optional ones may be missing, and peers are not its own.
    """
    section = data.get("dependencies")
    names = set(section) if isinstance(section, dict) else set()
    for key in _BUNDLED:
        match data.get(key):
            case list(bundled):
                names.difference_update(name for name in bundled if isinstance(name, str))
            case None | False:
                pass
            case _:
                names.clear()  # `true`: all of them
    return frozenset(names)


def aliased(spec: object) -> str | None:
    """Return the name that a dependency `npm:NAME@RANGE` asks for, None for any other."""
    if not isinstance(spec, str) or not spec.startswith(_ALIAS):
        return None
    name = spec.removeprefix(_ALIAS)
    end = name.find("@", 1)
    return name if end < 0 else name[:end]


def workspaces(data: Mapping[str, Any]) -> list[str]:
    """Return the patterns of a workspace's members: a list, or an object with a list of `packages`."""
    found = data.get("workspaces")
    if isinstance(found, dict):
        found = found.get("packages")
    return [pattern for pattern in found if isinstance(pattern, str)] if isinstance(found, list) else []
