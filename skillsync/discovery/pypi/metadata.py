"""What the files of an installed distribution's metadata directory say, RECORD aside.

Invariants: pure; bytes in, values out; what can't be understood is a ValueError with the reason, never a guess; a name
and a version are what they have to be, and in their one spelling.
"""

from __future__ import annotations

import posixpath
import re
from itertools import takewhile
from typing import Any
from urllib.parse import unquote, urlsplit

from skillsync.discovery.pypi.versions import canonical, normal_version, valid_name, version_key
from skillsync.values import Value

# What is read of METADATA and PKG-INFO: name and version stand before the description, which may be very long.
READ_SIZE = 64 * 1024

_ENDING = r"\.(?:dist-info|egg-info|egg-link|egg)$"
_PYTHON = r"py\d+(?:\.\d+)?"
_END_OF_HEADERS = rb"\r?\n\r?\n"


class Identity(Value):
    """Which distribution it is. `name` is canonical, `spelling` is what its author wrote."""

    name: str
    spelling: str
    version: str


def identity(content: bytes) -> Identity:
    """Read the start of a METADATA or PKG-INFO. Raises ValueError."""
    headers: dict[str, str] = {}
    end = re.search(_END_OF_HEADERS, content)
    for line in content[: end.start() if end else None].decode(errors="replace").splitlines():
        key, colon, value = line.partition(":")
        if colon and not key[:1].isspace():
            headers.setdefault(key.lower(), value.strip())
            if "name" in headers and "version" in headers:
                break
    for key in ("name", "version"):
        if not headers.get(key):
            raise ValueError(f"it names no {key}")
    name = valid_name(headers["name"])
    return Identity(name=name, spelling=headers["name"], version=normal_version(headers["version"]))


def is_of(entry: str, about: Identity) -> bool:
    """Whether a metadata directory's name tells the distribution that its content tells.

    Installers name the directory by what they were asked for; the content is the wheel's. `NAME-VERSION.dist-info` has
    to tell both, an `*.egg-info` may leave out the version, and may add the Python that it is for. All splits at a
    hyphen are tried: what wrote the name long ago didn't escape it.
    """
    parts = re.sub(_ENDING, "", entry).split("-")
    splits = ((parts[:at], parts[at:]) for at in range(1, len(parts) + 1))
    told = (rest for name, rest in splits if canonical("-".join(name)) == about.name)
    if entry.endswith(".dist-info"):
        return any(_is_version("-".join(rest), about.version) for rest in told)
    versions = ["-".join(takewhile(lambda part: not re.fullmatch(_PYTHON, part), rest)) for rest in told]
    return any(not version or _is_version(version, about.version) for version in versions)


def _is_version(text: str, version: str) -> bool:
    try:
        return text == version or version_key(text.replace("_", "-")) == version_key(version)
    except ValueError:
        return False


def guessed_name(entry: str) -> str | None:
    """Return the canonical name that a metadata directory's name begins with, None if it doesn't look like one."""
    try:
        return valid_name(re.sub(_ENDING, "", entry).partition("-")[0])
    except ValueError:
        return None


class Direct(Value):
    """Where a distribution was installed from, if that was a directory: `path` is absolute."""

    path: str
    is_editable: bool


def direct(content: bytes) -> Direct | None:
    """Read a direct_url.json (PEP 610); None if it names no directory. Raises ValueError."""
    try:
        import json

        found: Any = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    text, info = (found.get("url"), found.get("dir_info")) if isinstance(found, dict) else (None, None)
    url = urlsplit(text if isinstance(text, str) else "")
    if url.scheme != "file" or not isinstance(info, dict):
        return None
    path = unquote(url.path, errors="surrogateescape")
    if url.netloc not in {"", "localhost"} or not path.startswith("/") or "\0" in path:
        raise ValueError("its URL names no directory of this machine")
    # POSIX keeps two slashes at the start, and no path is meant by them here.
    return Direct(path=posixpath.normpath("/" + path.lstrip("/")), is_editable=info.get("editable") is True)


def import_names(top_level: str) -> tuple[str, ...]:
    """Return the import packages and modules that setuptools wrote down in a top_level.txt."""
    return tuple(dict.fromkeys(name for line in top_level.splitlines() if (name := line.strip()).isidentifier()))


def source_names(sources: str) -> tuple[str, ...]:
    """Return what may be import packages, from the paths of a source tree in a SOURCES.txt."""
    parts = (line.strip().removeprefix("src/").split("/") for line in sources.splitlines())
    return tuple(dict.fromkeys(path[0] for path in parts if len(path) > 1 and path[0].isidentifier()))


def likely_names(about: Identity) -> tuple[str, ...]:
    """Return what an import package is likely to be called where nothing says it: like its distribution."""
    names = (canonical(about.name).replace("-", "_"), about.spelling.replace("-", "_").replace(".", "_"))
    return tuple(dict.fromkeys(name for name in names if name.isidentifier()))


def pth_paths(text: str) -> list[str]:
    """Return the directories that a .pth file adds; its lines of code are passed over."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(("#", "import ", "import\t")) and "\0" not in line]
