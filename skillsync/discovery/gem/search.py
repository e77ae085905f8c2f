"""Looks for the gems of a bundle's lock in one place after another, as Bundler would.

Invariants: a name, version, platform, remote or revision of the lock becomes a path only after it was found to be one;
of several places the first that has a gem wins; the gem environment is asked for only if a gem is in no other place.
"""

from __future__ import annotations

import posixpath
from functools import cache, partial
from typing import TYPE_CHECKING

from skillsync.discovery.gem import bundler, rubygems
from skillsync.discovery.gem import home as gem_home
from skillsync.discovery.gem.bundler import Kind
from skillsync.discovery.gem.checkout import Checkout
from skillsync.discovery.gem.home import Home
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from skillsync.discovery.gem.home import Ruby


class Bundle(Value):
    """A bundle as its files describe it. `root` is the Gemfile's directory; all paths are absolute."""

    project: str
    root: str
    lock_path: str
    lock: bundler.Lock
    settings: bundler.Settings
    environ: Mapping[str, str]

    @property
    def cache(self) -> str:
        """The directory of cached gems."""
        return posixpath.normpath(posixpath.join(self.root, self.settings.cache_path))

    def expand(self, path: str) -> str:
        """Return the path that Bundler makes of one in a setting or in the lock."""
        return bundler.expand(path, self.root, self.environ)


# Compared by identity: two sources can lock one gem at one version.
class Wanted(Value):
    """A gem of the lock at its version; `platforms` are those that the lock names.

    `alone` is set if its source has no other gem.
    """

    name: str
    version: str
    platforms: frozenset[str]
    source: bundler.Source
    alone: bool
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class Hit(Value):
    """A gem's directory, and the directory (or the lock) that it was found by."""

    root: str
    source: str


class Unusable(Value):
    """A line of the lock that no path is made of."""

    line: int
    reason: str


class _Place(Value):
    """Somewhere to look. `directories` are those of it that exist."""

    directories: tuple[str, ...]
    find: Callable[[Wanted], list[Hit]]


def wanted(lock: bundler.Lock) -> tuple[list[Wanted], list[Unusable]]:
    """Return the gems that can be looked for, and the lines that can't be used."""
    rows: dict[tuple[str, str, int], tuple[bundler.Source, bool, set[str]]] = {}
    unusable = []
    for source in lock.sources:
        if source.gems and (reason := _unusable_source(source)):
            unusable.append(Unusable(line=source.line, reason=reason))
            continue
        alone = len({gem.name for gem in source.gems}) == 1
        for gem in source.gems:
            if reason := _unusable_gem(gem):
                unusable.append(Unusable(line=gem.line, reason=reason))
            else:
                # A gem of the index is one gem, whichever of several GEM sections its platforms stand in.
                key = gem.name, rubygems.normal_version(gem.version), 0 if source.kind is Kind.GEM else source.line
                rows.setdefault(key, (source, alone, set()))[-1].add(gem.platform)
    gems = [
        Wanted(name=name, version=version, platforms=frozenset(platforms), source=source, alone=alone)
        for (name, version, _), (source, alone, platforms) in rows.items()
    ]
    return gems, unusable


class Search:
    """How far a search is: the gems still left, the directories of those found, and where was looked.

    `absent` is set if gems are left and there is no gem environment: to the directories that it should have had.
    """

    def __init__(self, left: list[Wanted]) -> None:
        """Take the gems to look for."""
        self.left = left
        self.found: dict[Wanted, list[Hit]] = {}
        self.looked: dict[str, None] = {}
        self.absent: list[str] | None = None

    def look(self, place: _Place) -> None:
        """Look for all that is left in one more place."""
        self.looked.update(dict.fromkeys(place.directories))
        self.found.update({gem: hits for gem in self.left if (hits := place.find(gem))})
        # A PATH gem is where the lock says, which is the first place, or nowhere.
        self.left = [gem for gem in self.left if gem not in self.found and gem.source.kind is not Kind.PATH]


def search(bundle: Bundle, gems: list[Wanted], ruby: Ruby) -> Search:
    """Look for gems until all are found or there is nowhere else to look."""
    state = Search(gems)
    finder = _Finder(bundle)
    places = finder.places(ruby)
    while state.left and (place := next(places, None)):
        state.look(place)
    if state.left:
        named = gem_home.environment(ruby, bundle.project, bundle.environ)
        homes = [Home.open(path) for path in named if gem_home.exists(path)]
        state.absent = None if homes else named
        state.look(finder.place(homes))
    return state


class _Finder:
    """Finds one gem in one place; remembers what the gems of a source share."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._checkout = cache(Checkout)
        self._overrides: dict[int, list[str]] = {}

    def places(self, ruby: Ruby) -> Iterator[_Place]:
        """Yield the places before the gem environment, in their order; each is opened when its turn comes."""
        bundle = self._bundle
        caches = (bundle.cache,) if gem_home.exists(bundle.cache) else ()
        yield _Place(directories=caches, find=self._in_trees)
        paths = [bundle.expand(path) for path in (bundle.settings.path, bundler.VENDOR) if path]
        for path in dict.fromkeys(paths):
            for home in gem_home.below(path, ruby):
                yield self.place([Home.open(home)])
        yield self.place([Home.cache(path) for path in caches])

    def place(self, homes: list[Home]) -> _Place:
        """Return some homes that are searched as one."""
        return _Place(directories=tuple(home.path for home in homes), find=partial(self._in_homes, homes))

    def _in_homes(self, homes: list[Home], gem: Wanted) -> list[Hit]:
        """Find every variant of a gem that came as a file, each in the first home that has it; or a git checkout."""
        hits: dict[str, Hit] = {}
        for home in homes:
            if gem.source.kind is Kind.GEM:
                for full in home.variants(gem.name, gem.version, gem.platforms):
                    hits.setdefault(full, Hit(root=f"{home.gems}/{full}", source=home.path))
            elif root := self._in_tree(f"{home.path}/bundler/gems/{gem.source.checkout}", gem):
                hits.setdefault(gem.name, Hit(root=root, source=home.path))
        return list(hits.values())

    def _in_trees(self, gem: Wanted) -> list[Hit]:
        """Find a gem in a directory that its source or a setting names, or in the cached copy that Bundler prefers."""
        for tree, source in self._trees(gem.source):
            if root := self._in_tree(tree, gem):
                return [Hit(root=root, source=source)]
        return []

    def _trees(self, source: bundler.Source) -> Iterator[tuple[str, str]]:
        """Yield the directories that may stand for a source, each with what it is found by."""
        bundle = self._bundle
        if source.kind is Kind.PATH:
            tree = bundle.expand(source.remote)
            if tree != bundle.project:
                yield f"{bundle.cache}/{posixpath.basename(tree)}", bundle.cache
            yield tree, bundle.lock_path
        elif source.kind is Kind.GIT:
            for override in self._overrides_of(source):
                yield override, override
            yield f"{bundle.cache}/{source.checkout}", bundle.cache

    def _overrides_of(self, source: bundler.Source) -> list[str]:
        """Return the directories that settings put in a git source's place: one for any of its gems moves them all."""
        if source.line not in self._overrides:
            asked_for = (gem.name for gem in source.gems if gem.name in self._bundle.lock.dependencies)
            found = (self._bundle.settings.override(name) for name in asked_for)
            self._overrides[source.line] = [self._bundle.expand(path) for path in found if path]
        return self._overrides[source.line]

    def _in_tree(self, tree: str, gem: Wanted) -> str | None:
        """Return a gem's directory in the tree of its source, or None if it isn't there."""
        if not gem_home.exists(tree):
            return None
        checkout = self._checkout(tree, gem.source.glob)
        if not checkout.gemspecs and gem.alone and gem.source.kind is Kind.PATH:
            return tree if gem_home.exists(f"{tree}/skills") else None
        return checkout.directory_of(gem.name, alone=gem.alone)


def _unusable_source(source: bundler.Source) -> str | None:
    """Say why a source's gems can't be looked for."""
    if source.kind is Kind.GIT and source.checkout is None:
        return "its git source has no remote and revision that Bundler could have checked out"
    if source.kind is Kind.PATH and not (source.remote and source.remote.isprintable()):
        return "its path is not one"
    return None


def _unusable_gem(gem: bundler.LockedGem) -> str | None:
    """Say why a gem can't be looked for."""
    if not rubygems.is_name(gem.name):
        return "its name is not one that a gem can have"
    try:
        rubygems.normal_version(gem.version)
    except ValueError as error:
        return str(error)
    return None if rubygems.is_name(gem.platform) else "its platform is not one that a gem can have"
