"""Where in a checkout or a source tree a gem is: at the gemspec that its source's glob finds.

Invariants: no directory link below the tree is followed; a glob never leaves the tree, however it is written; depth,
alternatives and steps are bounded; a tree that can't be read in part is searched in the rest, as Bundler does.
"""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from skillsync.discovery.gem.home import read_stub
from skillsync.errors import UnreadableError
from skillsync.filesystem import is_directory, list_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_GLOB = 1000
_ALTERNATIVES = 64
_DEPTH = 16
_STEPS = 100_000

_Segments: TypeAlias = tuple[str, ...]


def gemspecs(tree: str, glob: str) -> list[str]:
    """Return the paths, relative to a tree, of the gemspecs that a glob matches: the least deep come first."""
    search = _Search(tree)
    found = {path for segments in _alternatives(glob) for path in search.matches("", segments)}
    return sorted(found, key=lambda path: (path.count("/"), path))


class Checkout:
    """One tree and the gemspecs in it that count; each is opened at most once, and only if its name doesn't tell."""

    def __init__(self, tree: str, glob: str) -> None:
        """Take the tree of a source, and the source's glob."""
        self._tree = tree
        self.gemspecs = gemspecs(tree, glob)

    def directory_of(self, gem: str, *, alone: bool) -> str | None:
        """Return the directory of the gem that one of the gemspecs describes, or None.

        A gemspec's file name tells, else its stub line; one that tells nothing describes the gem if it is the only
        gemspec, and the gem the only one of its source (`alone`).
        """
        spec = self._by_file.get(f"{gem}.gemspec") or self._by_stub.get(gem)
        if spec is None and alone and len(self.gemspecs) == 1 and not self._by_stub:
            spec = self.gemspecs[0]
        return None if spec is None else posixpath.normpath(f"{self._tree}/{posixpath.dirname(spec)}")

    # In both, the first of several stays: the least deep one.

    @cached_property
    def _by_file(self) -> dict[str, str]:
        return {posixpath.basename(spec): spec for spec in reversed(self.gemspecs)}

    @cached_property
    def _by_stub(self) -> dict[str, str]:
        stubs = [(read_stub(f"{self._tree}/{spec}"), spec) for spec in reversed(self.gemspecs)]
        return {stub.name: spec for stub, spec in stubs if stub}


class _Search:
    """Walks one tree: each directory is listed once, and each way through a glob is gone once."""

    def __init__(self, tree: str) -> None:
        """Take the tree's root, which may be a link."""
        self._tree = tree
        self._listed: dict[str, list[str]] = {}
        self._steps = 0
        self._gone: set[tuple[str, _Segments]] = set()

    def matches(self, at: str, segments: _Segments) -> Iterator[str]:
        """Yield the gemspecs, below a directory of the tree, that the segments of a glob match."""
        if not segments or (at, segments) in self._gone or at.count("/") > _DEPTH:
            return
        self._gone.add((at, segments))
        head, rest = segments[0], segments[1:]
        if head == "**":
            yield from self.matches(at, rest)
        for name in self._list(at):
            self._steps += 1
            if self._steps > _STEPS:
                return
            if head == "**":
                if not name.startswith("."):
                    yield from self.matches(f"{at}{name}/", segments)
            elif _is_match(name, head):
                if rest:
                    yield from self.matches(f"{at}{name}/", rest)
                elif name.endswith(".gemspec") and not self._is_directory(at + name):
                    yield at + name

    def _list(self, at: str) -> list[str]:
        if at not in self._listed:
            self._listed[at] = self._names(at) if not at or self._is_directory(at.removesuffix("/")) else []
        return self._listed[at]

    def _names(self, at: str) -> list[str]:
        try:
            return list_directory(f"{self._tree}/{at}") or []
        except UnreadableError:
            return []

    def _is_directory(self, relative: str) -> bool:
        try:
            return is_directory(f"{self._tree}/{relative}", follow=False)
        except UnreadableError:
            return False


def _is_match(name: str, segment: str) -> bool:
    """Compare a name with one segment; like Ruby, `*` doesn't stand for a leading dot."""
    return (not name.startswith(".") or segment.startswith(".")) and fnmatchcase(name, segment.replace("[^", "[!"))


def _alternatives(glob: str) -> set[_Segments]:
    """Return what a glob stands for once its braces are expanded, without what would leave the tree."""
    texts = _braces(glob) if len(glob) <= _LONGEST_GLOB else []
    split = {tuple(part for part in text.split("/") if part not in {"", "."}) for text in texts if text[:1] != "/"}
    return {segments for segments in split if 0 < len(segments) <= _DEPTH and ".." not in segments}


def _braces(glob: str) -> list[str]:
    """Expand `{a,b}`, nested ones too, from the innermost outward; none if there are too many alternatives."""
    done: list[str] = []
    left = [glob]
    while left:
        if len(done) + len(left) > _ALTERNATIVES:
            return []
        text = left.pop()
        end = text.find("}")
        start = text.rfind("{", 0, max(end, 0))
        if start < 0:
            done.append(text)
        else:
            left += [text[:start] + part + text[end + 1 :] for part in text[start + 1 : end].split(",")]
    return done
