"""Walks from the project's `node_modules` to every package that its code can reach, as Node would.

Invariants: a package's directory is where one link may lead, and no link below it is followed; each directory is read
once, by its real path; what is in a store and no link leads to is not installed; nothing is passed over in silence.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from skillsync.discovery import disk
from skillsync.discovery.nearest import Installed
from skillsync.discovery.npm import package_json
from skillsync.errors import UnreadableError
from skillsync.filesystem import Kind, open_directory, read_file, shown
from skillsync.filesystem import kind as entry_kind
from skillsync.schema import MalformedError
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

NODE_MODULES = "node_modules"
# Where pnpm and bun put links for packages that nothing in the project depends on by name: for Node these are beside
# every package of the store, and npm would have installed them at the root.
_HOISTED = (".pnpm/node_modules", ".bun/node_modules")
_YARN_STORE = ".store"  # yarn's linker `pnpm` keeps `.store/SLOT/package` beside `.store/SLOT/node_modules`


class Place(Value):
    """A `node_modules` of the project's own: its real path, its name for people, and how far it is."""

    path: str
    shown: str
    rank: int


class Unreadable(Value):
    """A package that is left out: its directory, as it was found, and why."""

    path: str
    reason: str


class Walk:
    """What was found.

    `inside` are the directories of packages that lie among another package's own files, with whether that one depends
    on them and doesn't bundle them. `names` are those by which a directory was reached. `own` are the project's own
    directories that were, with the `node_modules` that has them.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.installed: list[Installed] = []
        self.inside: dict[str, bool] = {}
        self.names: dict[str, set[str]] = {}
        self.unreadable: list[Unreadable] = []
        self.notes: list[str] = []
        self.own: dict[str, str] = {}


class _Entry(Value):
    """What may be a package in a `node_modules`: its name there, and its real directory."""

    name: str
    root: str
    is_link: bool


class _Directory(Value):
    """A `node_modules` that is still to be read.

    `slot_of` is the package that it belongs to, in a store. `wanted` is None, but for one that lies among a package's
    own files, or was reached through such a one: the names that may have been installed there for that package.
    """

    path: str
    shown: str
    place: Place
    slot_of: str | None = None
    wanted: frozenset[str] | None = None

    def wants(self, entry: _Entry) -> bool:
        """Whether the package manager may have put a package there: it makes no links among a package's own files."""
        return self.wanted is None or (entry.name in self.wanted and not entry.is_link)


def walk(places: Sequence[Place], own: Sequence[str]) -> Walk:
    """Read every package that can be reached from some places.

    `own` are the real paths of the project's directories, its package's first.
    """
    walker = _Walker(places, own)
    found = [
        _Directory(path=f"{place.path}/{below}".rstrip("/"), shown=f"{place.shown}/{below}".rstrip("/"), place=place)
        for place in sorted(places, key=lambda place: place.rank)
        for below in ("", *_HOISTED)
    ]
    depth = 0
    while found:
        found = [deeper for directory in found for deeper in walker.read(directory, depth)]
        depth += 1
    return walker.walk


class _Walker:
    """Reads directory after directory, the nearest first; remembers what was read."""

    def __init__(self, places: Sequence[Place], own: Sequence[str]) -> None:
        self.walk = Walk()
        self._places = places
        self._own = own
        self._seen: set[str] = set()
        self._resolved: dict[str, str] = {}

    def read(self, directory: _Directory, depth: int) -> Iterator[_Directory]:
        """Read the packages of a `node_modules`; yields those that lie one package further."""
        if directory.path in self._seen:
            return
        self._seen.add(directory.path)
        entries = list(self._entries(directory))
        if directory.slot_of and any(not entry.is_link and entry.root != directory.slot_of for entry in entries):
            # In a store, a package is alone with links to what it depends on: this is somebody else's directory.
            return
        for entry in entries:
            self.walk.names.setdefault(entry.root, set()).add(entry.name)
            if entry.root in self._seen:
                continue
            self._seen.add(entry.root)
            if directory.wanted is not None:
                self.walk.inside[entry.root] = directory.wants(entry)
            path = f"{directory.shown}/{entry.name}"
            if entry.root in self._own or self._own[0].startswith(f"{entry.root.rstrip('/')}/"):
                self.walk.notes.append(f"{path} is the project itself or a member of its workspace: no provider")
                if entry.root in self._own:
                    self.walk.own[entry.root] = directory.place.shown
            else:
                needs = self._package(entry.root, path, directory.place, depth)
                yield from self._below(entry, path, directory, needs)

    def _entries(self, directory: _Directory) -> Iterator[_Entry]:
        """Yield what may be a package in a `node_modules`."""
        parent, _, name = directory.path.rpartition("/")
        try:
            listed = disk.entries(parent, name) or {}
        except UnreadableError:
            self._left_out(directory.shown, "it is a link, and is not followed")
            return
        for name, kind in listed.items():
            if not name.startswith("@"):
                yield from self._entry(directory.path, name, kind)
            elif kind is Kind.LINK:
                self._left_out(f"{directory.shown}/{shown(name)}", "a scope that is a link is not followed")
            elif kind is Kind.DIRECTORY:
                for inner, its_kind in (disk.entries(directory.path, name) or {}).items():
                    yield from self._entry(directory.path, f"{name}/{inner}", its_kind)

    def _entry(self, directory: str, name: str, kind: Kind) -> Iterator[_Entry]:
        if name.startswith(".") or "/." in name:
            return
        path = f"{directory}/{name}"
        if kind is Kind.DIRECTORY:
            yield _Entry(name=shown(name), root=path, is_link=False)
        elif kind is Kind.LINK:
            yield _Entry(name=shown(name), root=self._real(path), is_link=True)

    def _real(self, link: str) -> str:
        """Return the directory that a link leads to; many links of a store lead to the same few."""
        text = os.readlink(link)
        if ".." in text.lstrip("./").split("/"):
            return os.path.realpath(link)  # behind another link, `..` is not what the text says
        target = os.path.normpath(text if text.startswith("/") else f"{link}/../{text}")
        if target not in self._resolved:
            self._resolved[target] = os.path.realpath(target)
        return self._resolved[target]

    def _package(self, root: str, path: str, place: Place, depth: int) -> frozenset[str] | None:
        """Read who a package is; returns what is installed for it, None if it has no `node_modules` of its own."""
        has_own = False
        needs: frozenset[str] = frozenset()
        try:
            with open_directory(root) as fd:
                has_own = entry_kind(NODE_MODULES, fd) is not None
                content = read_file(package_json.FILE_NAME, package_json.LIMIT, dir_fd=fd)
            data = None if content is None else package_json.load(content)
            found = None if data is None else package_json.identity(data)
        except (FileNotFoundError, NotADirectoryError):
            self._left_out(path, "it leads to no directory")
        except OSError as error:
            self._left_out(path, os.strerror(error.errno or 0).lower())
        except (UnreadableError, MalformedError, ValueError) as error:
            self._left_out(path, f"its {package_json.FILE_NAME} can't be used: {error}")
        else:
            if data is None or found is None:
                self._left_out(path, f"it has no {package_json.FILE_NAME}")
            else:
                needs = package_json.unbundled(data)
                self._found(found, root, path, place, depth)
        return needs if has_own else None

    def _found(self, found: package_json.Identity, root: str, path: str, place: Place, depth: int) -> None:
        package = Installed(
            name=found.name,
            version=found.version,
            root=root,
            path=path,
            source=place.shown,
            distance=(depth, place.rank),
        )
        self.walk.installed.append(package)

    def _left_out(self, path: str, reason: str) -> None:
        self.walk.unreadable.append(Unreadable(path=path, reason=reason))

    def _below(
        self, entry: _Entry, path: str, found_in: _Directory, needs: frozenset[str] | None
    ) -> Iterator[_Directory]:
        """Yield where Node looks for what a package depends on: in it, and beside it in a store."""
        slot = _slot(entry.root) if entry.is_link else None
        # A link to a source tree leads to somebody's work: what is installed there is for its developers.
        is_source = entry.is_link and not slot
        if needs is not None and (not is_source or any(entry.root.startswith(f"{own}/") for own in self._own)):
            wanted: frozenset[str] | None = needs
            if slot or not found_in.wants(entry):
                wanted = frozenset()  # in a store, what is installed for a package lies beside it
            elif is_source:
                wanted = None
            inner, its_name = f"{entry.root}/{NODE_MODULES}", f"{path}/{NODE_MODULES}"
            yield _Directory(path=inner, shown=its_name, place=found_in.place, wanted=wanted)
        if slot:
            wanted = None if found_in.wanted is None else frozenset()
            shown_as = self._shown(slot)
            yield _Directory(path=slot, shown=shown_as, place=found_in.place, slot_of=entry.root, wanted=wanted)

    def _shown(self, path: str) -> str:
        """Return a real path as people know it."""
        for place in self._places:
            if path.startswith(f"{place.path}/"):
                return place.shown + shown(path.removeprefix(place.path))
        return shown(path)


def installed_as(root: str, reached: AbstractSet[str]) -> AbstractSet[str]:
    """Return the names by which a package was installed, none of a source tree; `reached` are those that led to it.

    The directory tells it, and where yarn's doesn't, the links to it do.
    """
    slot = _slot(root)
    if slot is None:
        return frozenset()
    return {root.removeprefix(f"{slot}/")} if root.startswith(f"{slot}/") else reached


def _slot(root: str) -> str | None:
    """Return the `node_modules` that an installed package lies in, None for a source tree."""
    parent = os.path.dirname(root)
    if os.path.basename(os.path.dirname(parent)) == _YARN_STORE:
        return f"{parent}/{NODE_MODULES}"
    if os.path.basename(parent).startswith("@"):
        parent = os.path.dirname(parent)
    return parent if os.path.basename(parent) == NODE_MODULES else None
