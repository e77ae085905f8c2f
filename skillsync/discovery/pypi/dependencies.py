"""The distributions that a project's own files name: pyproject.toml, uv.lock, pylock.toml, requirements files.

Invariants: pure; of a requirement the name alone is read; environment markers don't count: a distribution that is named
for another platform is named; what can't be a requirement names nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from skillsync.discovery.pypi.versions import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# PEP 508: a name, and what may follow it. `packaging` reads all of it, and is not loaded for names: with what it needs
# for markers it takes as long to start as a hundred packages to be read.
_NAMED = r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:$|[\[(<>;@]|[=!~]=)"
_INCLUDE = r"(?:-r|--requirement)[ \t=]*(?P<path>\S.*)"
_EDITABLE = r"(?:-e|--editable)[ \t=]+(?P<url>\S+)"
_COMMENT = r"(?:^|[ \t])#.*"
_OPTION = r"[ \t]--?[A-Za-z].*"
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def of_pyproject(table: Mapping[str, Any]) -> frozenset[str]:
    """Return the names in a pyproject.toml: the standard tables, uv's own, and Poetry's."""
    project = _table(table, "project")
    lists = [
        project.get("dependencies"),
        *_table(project, "optional-dependencies").values(),
        *_table(table, "dependency-groups").values(),
        _table(table, "tool", "uv").get("dev-dependencies"),
    ]
    texts = (text for one in lists if isinstance(one, list) for text in one if isinstance(text, str))
    return frozenset(_names(texts)).union(_of_poetry(_table(table, "tool", "poetry")))


def _of_poetry(poetry: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names in Poetry's own tables, whose keys they are; `python` stands for the interpreter there."""
    groups = _table(poetry, "group")
    tables = [poetry, *(_table(groups, group) for group in groups)]
    for table in tables:
        for key in ("dependencies", "dev-dependencies"):
            yield from (canonical(name) for name in _table(table, key) if name != "python")


def of_lock(table: Mapping[str, Any]) -> frozenset[str]:
    """Return the names in a uv.lock (`package`) or a pylock.toml (`packages`, PEP 751)."""
    rows = (row for key in ("package", "packages") if isinstance(found := table.get(key), list) for row in found)
    names = (row.get("name") for row in rows if isinstance(row, dict))
    return frozenset(canonical(name) for name in names if isinstance(name, str))


def of_requirements(text: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the names in a requirements file, and the paths of the files that it includes, as they stand there."""
    lines = [re.sub(_COMMENT, "", line).strip() for line in text.replace("\\\r\n", "").replace("\\\n", "").splitlines()]
    included = tuple(found["path"] for line in lines if (found := re.fullmatch(_INCLUDE, line)))
    return frozenset(_names(_requirement(line) for line in lines if line)), included


def requirements_text(content: bytes) -> str:
    """Return the text of a requirements file, which Windows' shells write as UTF-16."""
    for bom, encoding in _BOMS:
        if content.startswith(bom):
            return content.removeprefix(bom).decode(encoding, errors="replace")
    return content.decode(errors="replace")


def project_name(table: Mapping[str, Any]) -> str | None:
    """Return the canonical name that a pyproject.toml gives its own distribution."""
    for found in (_table(table, "project"), _table(table, "tool", "poetry")):
        if isinstance(name := found.get("name"), str):
            return canonical(name)
    return None


def _requirement(line: str) -> str:
    """Return the requirement in a line, without pip's options; of a URL, the one in its fragment."""
    editable = re.fullmatch(_EDITABLE, line)
    url = editable["url"] if editable else line
    if editable or "://" in line.partition("@")[0].partition(" ")[0]:
        from urllib.parse import parse_qs

        return "".join(parse_qs(url.partition("#")[2]).get("egg", [])[:1])
    return re.sub(_OPTION, "", line)


def _names(texts: Iterable[str]) -> Iterator[str]:
    return (canonical(found[1]) for text in texts if (found := re.match(_NAMED, text)))


def _table(table: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return the table below some keys, an empty one where there is none."""
    for key in keys:
        found = table.get(key)
        table = found if isinstance(found, dict) else {}
    return table
