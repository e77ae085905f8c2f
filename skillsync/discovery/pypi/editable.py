"""Editable installs: which directories of a source tree are the import packages that Python finds there.

Invariants: no link below the source tree is followed; a nested environment, `node_modules` and `vendor/bundle` are
never entered; of the tree only the top of an import directory counts, and what is reached from there through
namespaces; the walk is bounded.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from skillsync.discovery.pypi import metadata
from skillsync.errors import UnreadableError
from skillsync.filesystem import Kind, exists, is_directory, listing, open_directory, read_file
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SOURCE = "src"
_SKILLS = "skills"
_DEPTH = 8
_DIRECTORIES = 1000
_PTH_LIMIT = 64 * 1024


class Tree(Value):
    """Where the import packages of an editable install are: below `root`, by path relative to it."""

    root: str
    packages: tuple[str, ...]


def read(site: str, source: str, files: Iterable[str], hints: tuple[str, ...], name: str) -> Tree:
    """Find the import packages of a distribution that was installed from a source tree and is used there.

    `files` are those of its RECORD, `hints` the import names that its metadata tells, `name` its canonical name.
    """
    roots = _named_by_pth(site, source, files) or _usual_roots(source, hints)
    packages = {root: tuple(_packages(root, _filter(root, source, hints, name))) for root in roots}
    if len(roots) == 1:
        return Tree(root=roots[0], packages=packages[roots[0]])
    below = (posixpath.relpath(f"{root}/{package}", source) for root in roots for package in packages[root])
    return Tree(root=source, packages=tuple(below))


def _named_by_pth(site: str, source: str, files: Iterable[str]) -> list[str]:
    """Return the directories of the source tree that the distribution's own .pth files put on Python's path."""
    found = []
    for file in files:
        if "/" not in file and file.endswith(".pth"):
            try:
                content = read_file(f"{site}/{file}", _PTH_LIMIT, follow=True) or b""
            except UnreadableError:
                continue
            for line in metadata.pth_paths(content.decode(errors="surrogateescape")):
                path = posixpath.normpath(posixpath.join(site, line))
                if is_below(path, source) and not is_below(path, site):
                    found.append(path)
    return [path for path in dict.fromkeys(found) if _is_open(source, path)]


def is_below(path: str, directory: str) -> bool:
    """Whether a path is a directory's or that of something in it, as text."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _is_open(source: str, path: str) -> bool:
    """Whether nothing between a source tree and a directory in it closes the way."""
    parts = posixpath.relpath(path, source).split("/")
    above = ["/".join(parts[: count + 1]) for count in range(len(parts)) if parts != ["."]]
    return all(_enters(source, relative) for relative in above)


def _usual_roots(source: str, hints: tuple[str, ...]) -> list[str]:
    """Return the one directory of a source tree that import packages are usually in."""
    inner = f"{source}/{_SOURCE}"
    found = _directories(inner) if _enters(source, _SOURCE) else []
    return [inner if any(not hints or name in hints for name in found) else source]


def _filter(root: str, source: str, hints: tuple[str, ...], name: str) -> Callable[[str], bool]:
    """Return the test whether a directory at the top of an import directory is an import package of the distribution.

    At the source tree's own top there is much that is none (documents, examples, what a build left), so that there a
    directory without `__init__` has to be called like the distribution.
    """
    if hints:
        return lambda package: package in hints
    if root != source:
        return lambda _package: True
    likely = {name.replace("-", "_"), name.partition("-")[0]}
    return lambda package: package in likely or _is_regular(f"{root}/{package}")


def _packages(root: str, is_wanted: Callable[[str], bool]) -> Iterator[str]:
    """Yield the import packages below a directory, and what is below those that are namespaces."""
    left = [name for name in _directories(root) if _enters(root, name) and is_wanted(name)]
    count = 0
    while left and count < _DIRECTORIES:
        package = left.pop(0)
        count += 1
        yield package
        if package.count("/") < _DEPTH and package != _SKILLS and not _is_regular(f"{root}/{package}"):
            inner = (f"{package}/{name}" for name in _directories(f"{root}/{package}") if name != _SKILLS)
            left += [path for path in inner if _enters(root, path)]


def _directories(path: str) -> list[str]:
    """Return the directories in a directory whose names can be imported; none where there is nothing to read."""
    try:
        with open_directory(path) as fd:
            return [name for name, kind in listing(fd).items() if kind is Kind.DIRECTORY and name.isidentifier()]
    except (OSError, UnreadableError):
        return []


def _enters(root: str, relative: str) -> bool:
    """Whether a directory is one to look into: no link, no environment, nothing that holds other packages."""
    name = posixpath.basename(relative)
    if name == "node_modules" or f"/{relative}".endswith("/vendor/bundle"):
        return False
    try:
        return is_directory(f"{root}/{relative}", follow=False) and not exists(f"{root}/{relative}/pyvenv.cfg")
    except UnreadableError:
        return False


def _is_regular(path: str) -> bool:
    """Whether a directory is a regular package, in which no further import package is looked for."""
    return exists(f"{path}/__init__.py")
