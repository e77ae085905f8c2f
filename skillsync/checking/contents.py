"""What an archive holds, as values, and a skill in it as the tree walker would read it from the disk.

Invariants: pure; every entry's path is checked where it enters, once; what is no content on disk is none here.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias, Union

from blake3 import blake3

from skillsync.checking.identity import PYTHON_FILES
from skillsync.checking.offer import TEXT_LIMIT, Shipped, is_looked_into
from skillsync.discovery.provider import FoundSkill, Ignored, Provider, child_of
from skillsync.discovery.skill import READ_SIZE
from skillsync.errors import Code, Problem, Severity, UnreadableError
from skillsync.filesystem import Kind, shown
from skillsync.hashing import SCHEME, SKILL_FILE, File, parents
from skillsync.hidden import LIMIT, Finding, Large, look
from skillsync.schema import folded
from skillsync.snapshot import Enough, Facts, Walk, twin_of
from skillsync.values import Value

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Iterable, Iterator, Mapping

    from skillsync.discovery.environment import Package
    from skillsync.snapshot import Snapshot

_DEEPEST = 100  # parts of a path
_MOST_ENTRIES = 100_000
_LARGEST = 2 << 30  # bytes of an archive
# What is unpacked of an archive: as much as a large package has, and of a small one not many times what it is.
_MOST_BYTES = 2 << 30
_FREE_BYTES = 64 << 20
_RATIO = 200
_MOST_TEXT = 64 << 20  # bytes that are kept
# By the last part of its path, what says who a package is and what is in it; and how much of it is read.
_TOLD = {"METADATA": 1 << 16, "WHEEL": 1 << 16, "PKG-INFO": 1 << 16, "RECORD": 32 << 20, "package.json": 3 << 20}
_SETTINGS = 3 << 20  # of each file at the top of a source distribution that says how it is built


class ArchiveError(Exception):
    """An archive can't be read to its end; its text is the reason."""


class BombError(ArchiveError):
    """An archive holds more than is read of it."""


class Regular(Value):
    """A file. `text` is its start, of those that are looked into; `sha256` is hexadecimal, "" where nobody asked."""

    hash: str
    facts: Facts
    hidden: Finding | None
    text: bytes | None
    sha256: str


class Linked(Value):
    """A symbolic link."""

    target: str


class Special(Value):
    """What is neither a file nor a directory."""


Node: TypeAlias = Union[Regular, Linked, Special, "Folder"]
Folder: TypeAlias = dict[str, Node]


class Gathered:
    """The entries of an archive as they come: the tree of them, and what no archive may hold."""

    def __init__(self, size: int, *, with_sha256: bool = False) -> None:
        """Take the size of the archive; `with_sha256` asks for every file's. Raises BombError."""
        if size > _LARGEST:
            raise BombError(f"it has more than {_LARGEST >> 30} GiB")
        self.root: Folder = {}
        self.faults: list[tuple[str, str]] = []
        self._with_sha256 = with_sha256
        self._bytes = min(_MOST_BYTES, max(_FREE_BYTES, _RATIO * size))
        self._most = self._bytes
        self._entries = 0
        self._kept = 0

    def fault(self, path: str, reason: str) -> None:
        """Note what is wrong with an entry."""
        self.faults.append((shown(path), reason))

    def spend(self, count: int) -> None:
        """Count bytes that were unpacked. Raises BombError."""
        self._bytes -= count
        if self._bytes < 0:
            raise BombError(f"it unpacks to more than {self._most >> 20} MiB, many times its own size")

    def count(self, number: int = 1) -> None:
        """Count entries. Raises BombError."""
        self._entries += number
        if self._entries > _MOST_ENTRIES:
            raise BombError(f"it has more than {_MOST_ENTRIES} entries")

    def place(self, path: str) -> tuple[str, ...] | None:
        """Return the parts of an entry's path, None for one that is no place below a directory, which is noted."""
        plain = path.removesuffix("/")
        while plain.startswith("./"):
            plain = plain[2:]
        if plain in {"", "."}:
            return ()
        parts = tuple(plain.split("/"))
        reason = _path_fault(plain, parts)
        if reason:
            self.fault(path, reason)
            return None
        return parts

    def add(self, parts: tuple[str, ...], node: Node) -> None:
        """Put an entry into the tree; what is there twice, or below a file, is noted and counts once."""
        path = "/".join(parts)
        if not parts:
            if not isinstance(node, dict):
                self.fault(path, "has a file without a name")
            return
        folder = self.root
        for part in parts[:-1]:
            inner = folder.setdefault(part, {})
            if not isinstance(inner, dict):
                self.fault(path, "is below what is no directory")
                return
            folder = inner
        known = folder.setdefault(parts[-1], node)
        if known is not node and not (isinstance(known, dict) and isinstance(node, dict)):
            self.fault(path, "is there twice, and each reader takes another one")

    def file(self, path: str, chunks: Iterator[bytes], *, size: int, executable: bool) -> Regular:
        """Read a file to its end. Raises BombError."""
        name = path.rpartition("/")[2]
        digest, sha256 = blake3(), _sha256() if self._with_sha256 else None
        first = b""
        seen: list[bytes] | Large | None = None
        kept: list[bytes] = []
        wanted, length = 0, 0
        for chunk in chunks:
            self.spend(len(chunk))
            if seen is None:
                first = chunk
                seen = [] if size <= LIMIT else Large(name, chunk)
                wanted = self._wanted(path, name, chunk, executable=executable)
            digest.update(chunk)
            if sha256:
                sha256.update(chunk)
            seen.append(chunk)
            if len(chunk) and length < wanted:
                kept.append(chunk[: wanted - length])
            length += len(chunk)
        self._keep(sum(map(len, kept)))
        return Regular(
            hash=SCHEME + digest.hexdigest(),
            facts=Facts(size=length, executable=executable, script=first.startswith(b"#!")),
            hidden=None if seen is None else look(name, seen),
            text=b"".join(kept) if wanted or not length else None,
            sha256=sha256.hexdigest() if sha256 else "",
        )

    @staticmethod
    def _wanted(path: str, name: str, start: bytes, *, executable: bool) -> int:
        if name in _TOLD:
            return _TOLD[name]
        if name in PYTHON_FILES and path.count("/") == 1:
            return _SETTINGS
        return TEXT_LIMIT if name == SKILL_FILE or is_looked_into(path, start) or executable else 0

    def _keep(self, count: int) -> None:
        self._kept += count
        if self._kept > _MOST_TEXT:
            raise BombError(f"it has more than {_MOST_TEXT >> 20} MiB of texts")


def _sha256() -> hashlib._Hash:
    import hashlib

    return hashlib.sha256()


def _path_fault(path: str, parts: tuple[str, ...]) -> str | None:
    """Return why a path is none below the directory that an archive is unpacked in, on any system."""
    faults = (
        (path.startswith("/"), "is an absolute path"),
        ("\0" in path, "has a NUL in its name"),
        (".." in parts, "leads out of the archive"),
        ("\\" in path, "has a backslash in its name, which separates directories on Windows"),
        (path[1:2] == ":" and path[0].isalpha(), "begins with a drive's letter"),
        ("" in parts or "." in parts, "has an empty part in its path"),
        (len(parts) > _DEEPEST, f"is more than {_DEEPEST} levels deep"),
    )
    return next((reason for is_so, reason in faults if is_so), None)


def leads_out(path: str, target: str) -> bool:
    """Whether a link leads out of the archive, as text alone."""
    depth = path.count("/")
    for part in target.split("/"):
        depth += -1 if part == ".." else part not in {"", "."}
        if depth < 0:
            return True
    return target.startswith("/")


def leaves(folder: Folder, prefix: str = "") -> Iterator[tuple[str, Node]]:
    """Go through all entries that are no directories, by path."""
    for name, node in sorted(folder.items()):
        if isinstance(node, dict):
            yield from leaves(node, f"{prefix}{name}/")
        else:
            yield prefix + name, node


def files(folder: Folder) -> Iterator[tuple[str, Regular]]:
    """Go through all files, by path."""
    yield from ((path, node) for path, node in leaves(folder) if isinstance(node, Regular))


def find(folder: Folder, path: str) -> Node | None:
    """Return what is at a path, None where nothing is. Raises UnreadableError where a link is on the way, or there."""
    node: Node = folder
    for part in path.split("/"):
        if not isinstance(node, dict) or part not in node:
            return None
        node = node[part]
        if isinstance(node, Linked):
            raise UnreadableError(f"`{shown(part)}` is a symbolic link")
    return node


def directory_in(folder: Folder, parts: Iterable[str]) -> Folder | None:
    """Return the directory at a path, None where anything else is, or nothing."""
    for part in parts:
        inner = folder.get(part)
        if not isinstance(inner, dict):
            return None
        folder = inner
    return folder


def twins(folder: Folder, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield what some disks put together with a directory on the way to the paths, or at their end."""
    ways: dict[str, dict[str, str]] = {}
    for path in paths:
        for part in (path, *parents(path)):
            above, _, name = part.rpartition("/")
            ways.setdefault(above, {})[folded(name)] = name
    for above, names in ways.items():
        for name in directory_in(folder, above.split("/") if above else ()) or ():
            twin = names.get(folded(name), name)
            if twin != name:
                path = f"{above}/{name}" if above else name
                yield shown(path), twin_of(twin)


# Which skills there are: provider.look over an archive


def look_in(folder: Folder, package: Package, places: tuple[str, ...]) -> Provider:
    """Find the skills of a package, as `provider.look` finds those of an installed one."""
    existing: list[str] = []
    skills: list[FoundSkill] = []
    ignored: list[Ignored] = []
    problems: list[Problem] = []
    for place in places:
        try:
            node = find(folder, place)
        except UnreadableError as error:
            message = f"{package.key} {package.version}: {place} is not read: {error}"
            problem = Problem(code=Code.UNSAFE_SKILL, message=message, severity=Severity.WARNING, path=place)
            problems.append(problem)
            continue
        if isinstance(node, dict):
            existing.append(place)
            for name, child in sorted(node.items()):
                found = child_of(package, place, name, _kind(child), _opener(node))
                (skills if isinstance(found, FoundSkill) else ignored).append(found)  # type: ignore[arg-type]
        elif node is not None:
            ignored.append(Ignored(path=place, reason="is a file, not a directory of skills"))
    return Provider(
        package=package,
        places=tuple(existing),
        skills=tuple(skills),
        ignored=tuple(ignored),
        problems=tuple(problems),
    )


def _kind(node: Node) -> Kind:
    if isinstance(node, dict):
        return Kind.DIRECTORY
    return {Regular: Kind.FILE, Linked: Kind.LINK, Special: Kind.OTHER}[type(node)]


class _Inside:
    """A directory of an archive, as discovery looks into it."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self.entries: Mapping[str, Kind] = {name: _kind(node) for name, node in sorted(folder.items())}

    def start(self, *, linked: bool) -> bytes:  # noqa: ARG002  # an archive has no installer whose links are followed
        node = self._folder[SKILL_FILE]
        assert isinstance(node, Regular)  # noqa: S101  # the caller has looked
        return (node.text or b"")[:READ_SIZE]

    def whole(self) -> Snapshot:
        return snapshot_of(self._folder)


class _opener:  # noqa: N801  # a function of a function, as the disk's
    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    @contextmanager
    def __call__(self, name: str) -> Iterator[_Inside]:
        node = self._folder[name]
        assert isinstance(node, dict)  # noqa: S101  # of no other kind is looked inside
        yield _Inside(node)


def shipped(folder: Folder, skill: FoundSkill) -> Shipped:
    """Return one skill with all that rules look at."""
    try:
        node = find(folder, skill.path)
    except UnreadableError:
        node = None
    if not isinstance(node, dict) or skill.snapshot is None:
        return Shipped(found=skill, snapshot=None, texts={})
    snapshot = skill.snapshot
    texts = {
        path: one.text
        for path, one in files(node)
        if path in snapshot.facts and one.text is not None and (is_looked_into(path, one.text) or one.facts.executable)
    }
    return Shipped(found=skill, snapshot=snapshot, texts=texts)


# What a skill's files are: the tree walker over an archive


def snapshot_of(folder: Folder) -> Snapshot:
    """Return a skill's directory as the tree walker reads it, hidden characters included."""
    walk = _Walk()
    try:
        walk.directory(folder, "", 1)
        walk.check_links()
    except Enough:
        pass
    return walk.snapshot()


class _Walk(Walk):
    """One walk over one skill in an archive."""

    def directory(self, folder: Folder, prefix: str, depth: int) -> None:
        seen: dict[str, str] = {}
        for name, node in sorted(folder.items()):
            path = prefix + name
            if self.is_set_apart(path, name, _kind(node)) or not self.is_counted(prefix, name):
                continue
            self.check_twin(path, name, seen)
            if isinstance(node, Linked):
                self.link(path, node.target)
            elif isinstance(node, Special):
                self.special(path)
            elif isinstance(node, Regular):
                self._file(path, node)
            elif not self.is_too_deep(path, depth):
                self.directory(node, f"{path}/", depth + 1)

    def _file(self, path: str, node: Regular) -> None:
        self.tree[path] = File(node.hash)
        self.facts[path] = node.facts
        if node.hidden:
            self.hidden[path] = node.hidden
