"""The `cargo` ecosystem: the crates of Cargo.lock, where Cargo unpacked, checked out or vendored them, and path crates.

Invariants: files are read, Cargo is never run; names and versions are checked before they are part of a path, and
nothing is searched for but by them; of each name one version counts, or the doubt is said; a crate of the lock that
isn't on the disk is said; a package's source is always one of the environment's.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter, deque
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from skillsync.discovery import disk
from skillsync.discovery.disk import BlockedError
from skillsync.discovery.environment import Environment, NoEnvironment, Package, unreadable
from skillsync.discovery.nearest import Installed, nearest
from skillsync.discovery.npm import semver
from skillsync.discovery.npm.semver import quoted, version_key
from skillsync.errors import Code, Problem, Severity, UnreadableError
from skillsync.filesystem import Kind, exists, open_directory, read_file, shown, upward_from
from skillsync.schema import InvalidError, MalformedError, NewerError, Table, is_visible, toml
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["NAME", "canonical", "read", "requirement", "version_key"]

NAME: Final = "cargo"

_MANIFEST, _LOCK = "Cargo.toml", "Cargo.lock"
_INSTALL = "cargo fetch"
_PLACES = ("skills",)
_LOCK_LIMIT = 32 * 1024 * 1024
_FILE_LIMIT = 4 * 1024 * 1024
_ARCHIVE_LIMIT = 256 * 1024 * 1024
_LOCK_VERSION = 4
_LONGEST_NAME = 128
_LISTED = 5

# Cargo's own rule is Unicode's for identifiers, with hyphens; package indexes allow less.
_NAME = r"\w[\w-]*"
_COMPARATOR = r"""(?x)(?P<sign>[<>]=?|[=~^])? \ *
    (?P<version>[0-9]+ (?: (?:\.[*xX]){1,2} | \.[0-9]+(?:\.[*xX])?
        | (?:\.[0-9]+){2} (?:-[0-9A-Za-z.-]+)? (?:\+[0-9A-Za-z.-]+)? )?)"""
_REVISION = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_SHORTEST_REVISION = 7
_CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
# The directories of an index are called HOST-HASH; the hash is Cargo's own, and another in each of its epochs.
_INDEX = r"(?P<host>.*)-[0-9a-f]{16}"
_CRATES_IO_HOSTS = frozenset({"index.crates.io", "github.com"})
_CONFIGS = ("config", "config.toml")  # the first counts where both are there
_DEPENDENCIES = (
    "dependencies",
    "dev-dependencies",
    "dev_dependencies",
    "build-dependencies",
    "build_dependencies",
)
_REFERENCES = ("branch", "tag", "rev")
_UNPACKED = ".cargo-ok"
_CHECKSUMS = ".cargo-checksum.json"


def canonical(name: str) -> str:
    """Return the name: crates.io has no two that differ in `-` and `_`, but Cargo finds each by its own spelling."""
    return name


def requirement(text: str) -> Callable[[str], bool]:
    """Return the test whether a version meets a requirement as Cargo.toml has it: `1.2`, `>=1.2, <1.5`, `*`.

    Cargo's comparators mean what npm's do, but for one without a sign, which is `^`; commas mean `and`. `*` alone is
    any version, prereleases included. Raises ValueError that names what is no requirement.
    """
    if text.strip() == "*":
        return semver.requirement("*")
    found = [re.fullmatch(_COMPARATOR, part.strip(" ")) for part in text.split(",")]
    if not all(found):
        raise ValueError(
            f"{quoted(text)} is not a requirement of Cargo's: versions, or parts of them such as `1.2` or `1.*`, with "
            "^, ~, =, <, >, <= or >= before them; a comma means `and`"
        )
    return semver.requirement(" ".join(_as_range(one) for one in found if one))


def _as_range(comparator: re.Match[str]) -> str:
    sign, version = comparator["sign"], comparator["version"]
    return f"{sign or ('' if version[-1] in '*xX' else '^')}{version}"


def read(project: str, environ: Mapping[str, str]) -> Environment | NoEnvironment:
    """Read the crates of the Cargo.lock of the project's workspace.

    Raises SkillsyncError for a Cargo.toml of the project's own, a lock, a setting or a directory that can't be read.
    """
    try:
        return _Project(project, environ).read()
    except BlockedError as error:
        path = error.path.removeprefix(f"{project}/")
        inside = shown(path) if path != error.path else None
        raise unreadable(shown(path), str(error), "correct or restore it", inside, error.place) from None


# Cargo.lock


class _Row(Value):
    """A package of the lock. `source` is empty for a path crate; `needs` are names with what tells their version."""

    name: str
    version: str
    source: str
    checksum: str
    needs: tuple[str, ...]

    @property
    def full(self) -> str:
        return f"{self.name}-{self.version}"


def _rows(table: Table) -> list[_Row]:
    """Read the packages of a lock, of any of its formats. Raises InvalidError."""
    if "version" in table.data and table.data["version"] not in range(1, _LOCK_VERSION + 1):
        raise NewerError("version", f"is {table.data['version']}, and this skillsync reads up to {_LOCK_VERSION}")
    # The first format has the project's own package apart, and the checksums in a table.
    packages = [*([table.table("root")] if "root" in table.data else ()), *table.tables("package")]
    metadata = _dict(table.data, "metadata")
    found = []
    for one in packages:
        name, version = one.text("name"), one.text("version")
        source = one.text("source") if "source" in one.data else ""
        known = metadata.get(f"checksum {name} {version} ({source})", "")
        found.append(
            _Row(
                name=name,
                version=version,
                source=source,
                checksum=one.text("checksum") if "checksum" in one.data else str(known),
                needs=one.texts("dependencies") or (),
            )
        )
    return found


def _fault(row: _Row) -> str | None:
    """Say why no path can be made of a row."""
    if len(row.name) > _LONGEST_NAME or not re.fullmatch(_NAME, row.name) or not is_visible(row.name):
        return f"{quoted(row.name)} is not a name that Cargo allows"
    try:
        return None if semver.normal_version(row.version) == row.version else f"{quoted(row.version)} is not a version"
    except ValueError:
        return f"{quoted(row.version)} is not a version"


def _distances(rows: Iterable[_Row], own: Mapping[_Row, int]) -> dict[_Row, tuple[int, int]]:
    """Return how many packages lie between the project and each row, and how far the package that depends on it is."""
    by_name: dict[str, list[_Row]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    found = {row: (0, rank) for row, rank in sorted(own.items(), key=lambda item: item[1])}
    queue = deque(found)
    while queue:
        row = queue.popleft()
        depth, rank = found[row]
        for need in row.needs:
            name, _, told = need.partition(" ")
            version, _, source = told.partition(" ")
            for other in by_name.get(name, ()):
                is_it = version in {"", other.version} and source in {"", f"({other.source})"}
                if is_it and other not in found:
                    found[other] = (depth + 1, rank)
                    queue.append(other)
    return found


# Cargo.toml


def _dict(data: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return a table in tables; an empty one where there is none."""
    found: object = data
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _below(base: str, path: str) -> str:
    """Return the absolute path of one in a file, as Cargo makes it: `..` is taken off the text."""
    return os.path.normpath(os.path.join(base, path))


def _path(base: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the directory that a dependency names, if it does."""
    if (path := _text(spec.get("path"))) is not None:
        yield _below(base, path)


def _is_in(path: str, directory: str) -> bool:
    return f"{path}/".startswith(f"{directory.rstrip('/')}/")


def _requested(data: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what a Cargo.toml depends on: the key, and the table if it is one."""
    for one in (data, *(_dict(_dict(data, "target"), key) for key in _dict(data, "target"))):
        for section in _DEPENDENCIES:
            for name in _dict(one, section):
                yield name, _dict(one, section, name)


class _Trees:
    """The Cargo.toml of source trees: each is read once, and no workspace is looked for above the `top`.

    Where the trees are not the project's own, nothing leaves the top, and no link below it is followed.
    """

    def __init__(self, top: str | None = None) -> None:
        self._top = top
        self.manifest = cache(self._manifest)
        self.root_of = cache(self._root_of)

    def _manifest(self, directory: str) -> Mapping[str, Any] | None:
        """Return what the Cargo.toml in a directory says, None if there is none."""
        path = f"{directory}/{_MANIFEST}"
        try:
            content = self._foreign(directory) if self._top else disk.content(path, _FILE_LIMIT)
            return None if content is None else toml(content).data
        except MalformedError as error:
            raise BlockedError(path, error.reason, error.place) from None

    def _foreign(self, directory: str) -> bytes | None:
        if not self._top or not _is_in(directory, self._top):
            return None
        try:
            with open_directory(self._top, directory.removeprefix(self._top).strip("/")) as fd:
                return read_file(_MANIFEST, _FILE_LIMIT, dir_fd=fd)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnreadableError) as error:
            raise BlockedError(f"{directory}/{_MANIFEST}", str(getattr(error, "strerror", error)).lower()) from None

    def _root_of(self, package: str) -> str:
        """Return the root of the workspace that a package is in, or the package's own directory."""
        pointer = _text(_dict(self.manifest(package) or {}, "package").get("workspace"))
        if pointer is not None:
            return _below(package, pointer)
        for directory in upward_from(package):
            data = self.manifest(directory)
            if data is not None and "workspace" in data and not self.excludes(directory, package):
                return directory
        return package

    def excludes(self, root: str, directory: str) -> bool:
        """Whether the workspace of a root leaves a directory out."""
        workspace = _dict(self.manifest(root) or {}, "workspace")
        out, named = (
            any(_is_in(directory, _below(root, path)) for path in _texts(workspace.get(key)))
            for key in ("exclude", "members")
        )
        return out and not named

    def members(self, root: str) -> dict[str, Mapping[str, Any]]:
        """Return the packages of a workspace: the root's, those that patterns name, and their path crates."""
        workspace = (self.manifest(root) or {}).get("workspace")
        patterns = _texts(_dict(self.manifest(root) or {}, "workspace").get("members"))
        left = [root, *(path for pattern in patterns for path in _matches(root, pattern))]
        found: dict[str, Mapping[str, Any]] = {}
        for directory in left:
            data = self.manifest(directory)
            if data is None or directory in found or self.excludes(root, directory):
                continue
            found[directory] = data
            if workspace is not None:
                left += [path for path in self.paths(directory) if self._belongs(path, root)]
        return found

    def _belongs(self, path: str, root: str) -> bool:
        """Whether a path crate is a member of the workspace: it lies below the root, or says so itself."""
        return self.manifest(path) is not None and self.root_of(path) == root

    def paths(self, directory: str) -> Iterator[str]:
        """Yield the directories of the path crates that a package depends on."""
        data = self.manifest(directory) or {}
        for name, spec in _requested(data):
            if spec.get("workspace") is True:
                root = self.root_of(directory)
                yield from _path(root, _dict(self.manifest(root) or {}, "workspace", "dependencies", name))
            else:
                yield from _path(directory, spec)

    def patches(self, root: str) -> Iterator[str]:
        """Yield the directories of the path crates that the root of a workspace puts in others' place."""
        data = self.manifest(root) or {}
        for table in (_dict(data, "replace"), *(_dict(data, "patch", source) for source in _dict(data, "patch"))):
            for name in table:
                yield from _path(root, _dict(table, name))

    def reached(self, root: str, members: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """Return the path crates that the members of a workspace lead to, directly or through others."""
        left = [*self.patches(root), *(path for member in members for path in self.paths(member))]
        found: dict[str, Mapping[str, Any]] = {}
        for directory in left:
            data = self.manifest(directory)
            if data is not None and directory not in found:
                found[directory] = data
                left += self.paths(directory)
        return found


def _matches(root: str, pattern: str) -> list[str]:
    """Return the directories that a pattern of members stands for; no link is followed to one."""
    found = [root]
    for part in pattern.split("/"):
        if part == "**":
            for directory in found:
                found += _children(directory, "[!.]*")
        elif re.search(r"[*?\[]", part):
            found = [child for directory in found for child in _children(directory, part)]
        else:
            found = [_below(directory, part) for directory in found]
        found = list(dict.fromkeys(found))
    return found


def _children(directory: str, pattern: str) -> list[str]:
    listed = disk.entries(directory) or {}
    return [
        f"{directory}/{name}" for name, kind in listed.items() if kind is Kind.DIRECTORY and fnmatchcase(name, pattern)
    ]


# Where crates are


class _Replacements:
    """Cargo's settings of sources: what the crates of a source are taken from."""

    def __init__(self, directories: Iterable[str]) -> None:
        """Take the directories that may hold settings, the one that counts first at the front."""
        self._sources: dict[str, dict[str, str]] = {}
        for directory in directories:
            names = (name for name in _CONFIGS if exists(f"{directory}/{name}"))
            if (name := next(names, None)) is not None:
                self._add(f"{directory}/{name}")
        self._sources.setdefault("crates-io", {}).setdefault("registry", _CRATES_IO)

    def _add(self, path: str) -> None:
        try:
            content = disk.content(path, _FILE_LIMIT) or b""
            data = toml(content).data if content.strip() else {}
        except MalformedError as error:
            raise BlockedError(path, error.reason, error.place) from None
        # A relative path is relative to what the directory with the settings is in.
        base = os.path.dirname(os.path.dirname(path))
        for name in _dict(data, "registries"):
            # What replaces a source may be named among the indexes.
            self._set(name, "registry", _dict(data, "registries", name).get("index"))
        for name in _dict(data, "source"):
            for key, value in _dict(data, "source", name).items():
                self._set(name, key, _below(base, value) if key == "directory" and isinstance(value, str) else value)

    def _set(self, name: str, key: str, value: object) -> None:
        if isinstance(value, str):
            self._sources.setdefault(name, {}).setdefault(key, value)

    def of(self, source: str) -> Mapping[str, str]:
        """Return the settings of what stands in for a source of the lock, none where nothing does."""
        name = next((name for name, one in self._sources.items() if _is_source(one, source)), "")
        replaced: set[str] = set()
        while name not in replaced and (other := self._sources.get(name, {}).get("replace-with")) is not None:
            replaced.add(name)
            name = other
        return self._sources.get(name, {}) if replaced else {}


def _is_source(settings: Mapping[str, str], source: str) -> bool:
    """Whether settings are about a source of the lock."""
    kind, _, rest = source.partition("+")
    if kind != "git":
        return settings.get("registry") in {source, rest}
    url, _, query = rest.partition("#")[0].partition("?")
    wanted = {key: values[0] for key, values in parse_qs(query).items()}
    return settings.get("git") == url and wanted == {key: settings[key] for key in _REFERENCES if key in settings}


def _url(text: str) -> tuple[str, str]:
    """Return host and path of a URL, empty where it is none."""
    try:
        found = urlsplit(text)
        host = found.hostname or ""
    except ValueError:
        return "", ""
    return host, found.path


def _hosts(index: str) -> frozenset[str]:
    """Return by which hosts Cargo may have named the directories of an index."""
    if index in {_CRATES_IO, _CRATES_IO.partition("+")[2]}:
        return _CRATES_IO_HOSTS
    return frozenset({_url(index.removeprefix("registry+").removeprefix("sparse+"))[0]})


class _Hit(Value):
    """A crate's directory, and the directory (or the lock) that it was found by."""

    root: str
    source: str


class _Finder:
    """Finds the crates of a lock that come from elsewhere.

    `problems` are by the path that they are about; `looked` are the directories that were looked into.
    """

    def __init__(self, home: str | None, vendor: str, replacements: _Replacements) -> None:
        self.problems: dict[str, str] = {}
        self.looked: dict[str, None] = {}
        self._home = home
        self._vendor = vendor
        self._replacements = replacements
        self._listed = cache(lambda directory: tuple(disk.entries(directory) or ()))
        self._crates = cache(self._crates_of)

    def find(self, row: _Row) -> list[_Hit]:
        """Return the directories of a crate."""
        settings = self._replacements.of(row.source)
        if "directory" in settings:
            return self._vendored(row, settings["directory"])
        if not self._home:
            found = []
        elif row.source.startswith("git+"):
            found = list(self._checked_out(row, self._home))
        elif "local-registry" in settings:
            found = list(self._unpacked(row, self._home, frozenset({""})))
        else:
            found = list(self._unpacked(row, self._home, _hosts(settings.get("registry", row.source))))
        return found or self._vendored(row, self._vendor)

    def _unpacked(self, row: _Row, home: str, hosts: frozenset[str]) -> Iterator[_Hit]:
        """Find a crate among those of its index."""
        self.looked[f"{home}/registry/src"] = None
        for name in self._listed(f"{home}/registry/src"):
            index = re.fullmatch(_INDEX, name)
            root = f"{home}/registry/src/{name}/{row.full}"
            if not index or index["host"] not in hosts or not disk.exists(root):
                continue
            if not exists(f"{root}/{_UNPACKED}"):
                self.problems[root] = f"was not unpacked to its end: it has no {_UNPACKED}"
            elif self._is_other(row, root, f"{home}/registry/cache/{name}/{row.full}.crate"):
                self.problems[root] = f"is not the crate that {_LOCK} names: its archive has another checksum"
            else:
                yield _Hit(root=root, source=f"{home}/registry/src/{name}")

    def _is_other(self, row: _Row, root: str, archive: str) -> bool:
        """Whether a crate that ships skills was unpacked from another archive: one host can have several indexes."""
        content = disk.content(archive, _ARCHIVE_LIMIT) if row.checksum and disk.ships(root, _PLACES) else None
        return content is not None and hashlib.sha256(content).hexdigest() != row.checksum

    def _checked_out(self, row: _Row, home: str) -> Iterator[_Hit]:
        """Find a crate in the checkouts of its revision."""
        address, _, revision = row.source.removeprefix("git+").partition("#")
        host, path = _url(address.partition("?")[0])
        base = path.rstrip("/").rpartition("/")[2].removesuffix(".git")
        base = re.escape(base.lower() if host == "github.com" else base)
        if not re.fullmatch(_REVISION, revision):
            return
        checkouts = f"{home}/git/checkouts"
        self.looked[checkouts] = None
        repository = re.compile(rf"{base}-[0-9a-f]{{16}}(-shallow)?")
        for name in filter(repository.fullmatch, self._listed(checkouts)):
            for short in self._listed(f"{checkouts}/{name}"):
                tree = f"{checkouts}/{name}/{short}"
                is_it = len(short) >= _SHORTEST_REVISION and revision.startswith(short)
                if is_it and exists(f"{tree}/{_UNPACKED}") and (root := self._crates(tree).get(row.name)):
                    yield _Hit(root=root, source=checkouts)

    def _crates_of(self, tree: str) -> dict[str, str]:
        """Return the directories of the crates in a checkout, by name."""
        trees = _Trees(tree)
        try:
            own = trees.members(tree)
            found = {**own, **trees.reached(tree, own)}
        except BlockedError as error:
            self.problems[error.path] = f"can't be read: {error}"
            return {}
        named = {directory: _text(_dict(data, "package").get("name")) for directory, data in found.items()}
        return {name: directory for directory, name in named.items() if name}

    def _vendored(self, row: _Row, directory: str) -> list[_Hit]:
        """Find a crate in a directory that `cargo vendor` made."""
        self.looked[directory] = None
        for root in (f"{directory}/{row.full}", f"{directory}/{row.name}"):
            try:
                found = _vendored_as(root)
            except (UnreadableError, MalformedError, ValueError, RecursionError) as error:
                self.problems[root] = f"can't be read: {error}"
                continue
            if found is None or found[:2] != (row.name, row.version):
                continue
            if row.checksum in {"", found[2]}:
                return [_Hit(root=root, source=directory)]
            self.problems[root] = f"is not the crate that {_LOCK} names: {_CHECKSUMS} has another checksum"
        return []


def _vendored_as(root: str) -> tuple[object, object, object] | None:
    """Return name, version and checksum of a vendored crate, None if there is none."""
    try:
        with open_directory(root) as fd:
            manifest = read_file(_MANIFEST, _FILE_LIMIT, dir_fd=fd)
            checksums = read_file(_CHECKSUMS, _FILE_LIMIT, dir_fd=fd)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableError(os.strerror(error.errno or 0).lower()) from None
    if manifest is None or checksums is None:
        return None
    package = _dict(toml(manifest).data, "package")
    sums = json.loads(checksums)
    return package.get("name"), package.get("version"), sums.get("package") if isinstance(sums, dict) else None


# The project


class _Project:
    """A project and the workspace that it is in."""

    def __init__(self, project: str, environ: Mapping[str, str]) -> None:
        self._path = project
        self._trees = _Trees()
        upward = list(upward_from(project))
        self._package = next((one for one in upward if self._trees.manifest(one) is not None), project)
        self._root = self._trees.root_of(self._package)
        self._lock = f"{self._root}/{_LOCK}"
        self._members = self._trees.members(self._root)
        self._path_crates = self._trees.reached(self._root, self._members)
        home = environ.get("CARGO_HOME") or (environ.get("HOME") and environ["HOME"] + "/.cargo")
        self._home = _below(project, home) if home else None
        settings = [*(f"{one}/.cargo" for one in upward), *([self._home] if self._home else ())]
        self._finder = _Finder(self._home, f"{self._root}/vendor", _Replacements(settings))

    def read(self) -> Environment | NoEnvironment:
        rows = self._rows()
        if rows is None:
            return self._none(f"there is no {self._shown(self._lock)}", self._named(()))
        usable = [row for row in rows if _fault(row) is None]
        local = [row for row in usable if not row.source]
        names = Counter(row.name for row in local)
        own = self._own(local, names)
        hits = {row: self._hits(row, names) for row in usable if row not in own}
        found = list(self._installed(hits, _distances(usable, own)))
        named = self._named(row for row in rows if row not in own)
        missing = [f"{row.name} {row.version}" for row, one in hits.items() if not one]
        if missing and not found:
            where = ", ".join(self._shown(path) for path in self._finder.looked) or "the directories that `path` names"
            return self._none(f"none of the crates of {self._shown(self._lock)} is there: looked in {where}", named)
        choice = nearest(found, lambda one: disk.ships(one.root, _PLACES), ecosystem=NAME, depend_in=_MANIFEST)
        packages = choice.packages(NAME, _PLACES)
        return Environment(
            ecosystem=NAME,
            sources=tuple(sorted({one.source for one in packages})) or (self._shown(self._lock),),
            packages=packages,
            named=named,
            install=_INSTALL,
            problems=(*self._unusable(rows), *self._unreadable()),
            notes=(*self._missing(missing), *choice.notes),
            own=tuple(self._members_of(own, names)),
        )

    def _rows(self) -> list[_Row] | None:
        """Read the lock, None if there is none."""
        content = disk.content(self._lock, _LOCK_LIMIT)
        try:
            return None if content is None else list(dict.fromkeys(_rows(toml(content))))
        except MalformedError as error:
            raise BlockedError(self._lock, error.reason, error.place) from None
        except InvalidError as error:
            raise BlockedError(self._lock, f"{error.key} {error.reason}") from None

    def _own(self, local: Iterable[_Row], names: Counter[str]) -> dict[_Row, int]:
        """Return the rows of the workspace's members, and how far each is from the project."""
        ranks = {self._root: 1, self._package: 0}
        return {
            row: min(ranks.get(directory, 2) for directory in directories)
            for row in local
            if (directories := _described(row, names, self._members))
        }

    def _members_of(self, own: Iterable[_Row], names: Counter[str]) -> Iterator[Package]:
        for row in own:
            for root in _described(row, names, self._members):
                yield Package(
                    ecosystem=NAME,
                    name=row.name,
                    version=row.version,
                    root=root,
                    places=_PLACES,
                    source=self._shown(self._lock),
                )

    def _hits(self, row: _Row, names: Counter[str]) -> list[_Hit]:
        if row.source:
            return self._finder.find(row)
        return [_Hit(root=root, source=self._lock) for root in _described(row, names, self._path_crates)]

    def _installed(
        self, hits: Mapping[_Row, list[_Hit]], distances: Mapping[_Row, tuple[int, int]]
    ) -> Iterator[Installed]:
        unknown = (len(hits) + 1, 0)
        for row, found in hits.items():
            for hit in found:
                yield Installed(
                    name=row.name,
                    version=row.version,
                    root=hit.root,
                    path=self._shown(hit.root),
                    source=self._shown(hit.source),
                    distance=distances.get(row, unknown),
                )

    def _named(self, rows: Iterable[_Row]) -> frozenset[str]:
        """Return the crates that the lock and the members name, by their own names."""
        asked = (item for data in self._members.values() for item in _requested(data))
        return frozenset(
            {*(row.name for row in rows), *(_text(spec.get("package")) or name for name, spec in asked)}
            - {_dict(data, "package").get("name") for data in self._members.values()}
        )

    def _missing(self, names: list[str]) -> Iterator[str]:
        if names:
            more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
            yield f"{self._shown(self._lock)} names what is not there: {', '.join(names[:_LISTED])}{more}"

    def _unusable(self, rows: Iterable[_Row]) -> Iterator[Problem]:
        for row in rows:
            if reason := _fault(row):
                yield self._warning(f"{self._shown(self._lock)}: a crate is left out: {reason}", self._lock)

    def _unreadable(self) -> Iterator[Problem]:
        for path, reason in self._finder.problems.items():
            yield self._warning(f"{self._shown(path)} {reason}; what is there is left out", path)

    def _warning(self, message: str, path: str) -> Problem:
        return Problem(
            code=Code.PACKAGE_UNREADABLE,
            message=message,
            hint=f"remove what is wrong and run `{_INSTALL}`",
            severity=Severity.WARNING,
            path=shown(path.removeprefix(f"{self._path}/")) if _is_in(path, self._path) else None,
        )

    def _none(self, message: str, named: frozenset[str]) -> NoEnvironment:
        problem = Problem(code=Code.ENVIRONMENT_NOT_FOUND, message=message, hint=f"run `{_INSTALL}`")
        return NoEnvironment(ecosystem=NAME, problem=problem, named=named)

    def _shown(self, path: str) -> str:
        """Return a path as it is shown to people: relative to the project, if it is in its workspace."""
        return shown(os.path.relpath(path, self._path) if _is_in(path, self._root) else path)


def _described(row: _Row, names: Counter[str], found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the directories of a path crate: by its name, and by its version where the lock has several of it."""
    is_only = names[row.name] == 1
    packages = {directory: _dict(data, "package") for directory, data in found.items()}
    return [
        directory
        for directory, package in packages.items()
        if package.get("name") == row.name and (is_only or package.get("version") == row.version)
    ]
