"""The one tree walker: a skill's directory on disk becomes a `Snapshot`, and a copy if one is wanted.

Invariants: hashing, copying, comparing and verifying all see the same files, since all come here; no link is followed;
what is opened is checked after opening; files are read once, in chunks; a walk ends early at its limits.
"""

from __future__ import annotations

import errno
import os
import stat
from types import MappingProxyType
from typing import TYPE_CHECKING

from blake3 import blake3

from skillsync import filesystem
from skillsync.filesystem import CHUNK, DIRECTORY, READ, Kind, is_utf8, listed_kind, shown
from skillsync.hashing import SCHEME, SKILL_FILE, File, Link, Tree, directories_of, resolve_link, tree_hash
from skillsync.hidden import LIMIT, Finding, Large, look
from skillsync.schema import folded
from skillsync.values import Value, field

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Callable, Iterable, Iterator, Mapping

# Left behind by tools that run what is in a skill: never content, on both sides of every comparison.
_IGNORED_DIRECTORIES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
_IGNORED_FILES = frozenset({".DS_Store", "Thumbs.db"})
# Made by the people and agents that use an installed skill; a provider may not ship them.
_RUNTIME = frozenset({".git", ".venv", "node_modules"})
_SET_APART = _IGNORED_DIRECTORIES | _IGNORED_FILES | _RUNTIME

MAX_DEPTH = 32
MAX_ENTRIES = 10_000
_STRAYED = "is a link, and does not lead to the file that was installed"
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Facts(Value):
    """What is known of a file besides its content; none of it is hashed."""

    size: int
    executable: bool  # by its owner
    script: bool  # begins with `#!`


class Fault(Value):
    """Something that no skill may hold, and where."""

    path: str
    reason: str


class Snapshot(Value):
    """A skill's directory as it was read once.

    `runtime` are the directories that the walker left alone: somebody's work in an installed skill, a fault in a
    provider's. `ignored` is what tools leave behind, which comes and goes and makes no difference. Where it was judged,
    `altered` are the files that are not what an installer wrote down, and `hidden` those with hidden characters. A
    snapshot with faults has no hash, so it never equals anything.
    """

    hash: str | None
    tree: Tree
    facts: dict[str, Facts]
    faults: tuple[Fault, ...]
    runtime: tuple[str, ...]
    altered: tuple[str, ...] = ()
    ignored: tuple[str, ...] = field(compare=False, default=())
    hidden: dict[str, Finding] = field(compare=False, default_factory=dict)

    @property
    def scripts(self) -> frozenset[str]:
        """The files that deserve a look: they begin with `#!`, their owner may run them, or they are in `scripts/`."""
        facts = self.facts.items()
        return frozenset(path for path, file in facts if file.script or file.executable or path.startswith("scripts/"))


class Copy(Value):
    """A skill's directory and what was read in it; `path` is relative to `root`, which no link below leaves."""

    root: str
    path: str
    snapshot: Snapshot


def shipped_faults(found: Snapshot) -> tuple[Fault, ...]:
    """Return what makes a provider's skill unsafe: its faults, and anything by the name of a runtime directory.

    Git reads a `.git` of any case and any kind (a file of that name points elsewhere), so case and kind don't count.
    """
    shipped = {path for path in found.tree if any(part.lower() in _RUNTIME for part in path.split("/"))}
    reason = "is a runtime directory, which no provider may ship"
    return found.faults + tuple(Fault(path=path, reason=reason) for path in sorted({*found.runtime, *shipped}))


def link_faults(tree: Tree) -> Iterator[Fault]:
    """Yield the links of a whole tree that don't lead to a file of it."""
    links = [(path, entry) for path, entry in tree.items() if isinstance(entry, Link)]
    directories = directories_of(tree) if links else frozenset()
    for path, link in links:
        if reason := resolve_link(path, link.target, tree, directories):
            yield Fault(path=path, reason=f"is a link that {reason}")


def twin_of(name: str) -> str:
    """Say that an entry has the name of another one, as the least discerning file system compares them."""
    return f"has the same name as `{name}` where case and accents' forms don't count"


def is_ignored(path: str) -> bool:
    """Whether the walker passes a file by: what tools leave behind, and what people and agents make in a skill."""
    *above, name = path.split("/")
    return name in _IGNORED_FILES or not (_IGNORED_DIRECTORIES | _RUNTIME).isdisjoint(above)


class Enough(Exception):  # noqa: N818  # it ends the walk, it isn't an error
    """The tree has too many entries: nothing more of it is read."""


class _UnwrittenError(OSError):
    """The system refused something at the other end of a copy."""


class _writing:  # noqa: N801  # a block, as `suppress` is; made by a generator, it takes as long as a small file
    """Tell the copy's errors from those of what is read."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        if isinstance(error, OSError):
            raise _UnwrittenError(error.errno, error.strerror) from error


def snapshot(
    fd: int,
    label: str,
    *,
    copy_to: int | None = None,
    recorded: Mapping[str, str] = _NOTHING,
    judge: Callable[[bytes], object] | None = None,
) -> Snapshot:
    """Read a skill's directory: its files' hashes, its links, and what is wrong with it.

    `fd` is the open directory; `label` is its path, for errors of the operating system. With `copy_to`, an open and
    empty directory, every file is written there from the same read that hashes it. `recorded` are the SHA-256 hashes
    that an installer wrote down, by path: a link that leads to a file of that content stands for the file. With
    `judge`, files that differ from them and hidden characters are looked for, and it is given what SKILL.md holds,
    chunk by chunk: in the bytes that are hashed, so that what was judged is what is locked. Raises OSError with the
    full path; of what can't be written, with the path below `copy_to`.
    """
    walk = _Walk(label, recorded, judge)
    try:
        walk.directory(fd, "", _Copy(copy_to) if copy_to is not None else None)
        walk.check_links()
    except Enough:
        pass
    except _UnwrittenError as error:
        raise OSError(error.errno, error.strerror, walk.at) from error
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"{label}/{walk.at}") from error
    return walk.snapshot()


class _Copy:
    """The other end of a copy: a directory that is made when the first of its content arrives."""

    def __init__(self, fd: int | None, name: str = "", parent: _Copy | None = None) -> None:
        self._fd = fd
        self._name = name
        self._parent = parent

    def child(self, name: str) -> _Copy:
        return _Copy(None, name, self)

    def open(self) -> int:
        """Return the descriptor, making the directory if it is its turn."""
        if self._fd is None:
            assert self._parent is not None  # noqa: S101  # only the root is opened from the start
            above = self._parent.open()
            with _writing():
                filesystem.make_directory(self._name, above)
                self._fd = os.open(self._name, DIRECTORY, dir_fd=above)
        return self._fd

    def new_file(self, name: str, mode: int) -> _Writer:
        into = self.open()
        with _writing():
            return _Writer(filesystem.create_file(name, into, mode))

    def make_link(self, target: str, name: str) -> None:
        into = self.open()
        with _writing():
            filesystem.make_link(target, name, into)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)


class _Writer:
    """A new file at the other end of a copy."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, chunk: bytes) -> None:
        with _writing():
            filesystem.write_all(self._fd, chunk)

    def close(self) -> None:
        # Some file systems say only now that the disk is full.
        with _writing():
            os.close(self._fd)


class Walk:
    """What a walk over one skill has found so far, by rules that are the same on disk and in an archive."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.tree: Tree = {}
        self.facts: dict[str, Facts] = {}
        self.faults: list[Fault] = []
        self.hidden: dict[str, Finding] = {}
        self._runtime: list[str] = []
        self._ignored: list[str] = []
        self._altered: list[str] = []
        self._count = 0

    def snapshot(self) -> Snapshot:
        """Return what was found."""
        return Snapshot(
            hash=None if self.faults else tree_hash(self.tree),
            tree=self.tree,
            facts=self.facts,
            faults=tuple(sorted(self.faults, key=lambda fault: fault.path)),
            runtime=tuple(sorted(self._runtime)),
            ignored=tuple(sorted(self._ignored)),
            altered=tuple(sorted(self._altered)),
            hidden=self.hidden,
        )

    def fault(self, path: str, reason: str) -> None:
        """Note what no skill may hold."""
        self.faults.append(Fault(path=path, reason=reason))

    def is_set_apart(self, path: str, name: str, kind: Kind) -> bool:
        """Whether an entry is no content, noting it where somebody should know."""
        if kind is Kind.DIRECTORY and name in _RUNTIME:
            self._runtime.append(path)
            return True
        if name in (_IGNORED_DIRECTORIES if kind is Kind.DIRECTORY else _IGNORED_FILES if kind is Kind.FILE else ()):
            self._ignored.append(path)
            return True
        return False

    def is_counted(self, prefix: str, name: str) -> bool:
        """Count an entry; return whether it can be one. Raises Enough."""
        self._count += 1
        if self._count > MAX_ENTRIES:
            self.fault(prefix + shown(name), f"is one of more than {MAX_ENTRIES} entries")
            raise Enough
        if not is_utf8(name):
            self.fault(prefix + shown(name), "has a name that is not UTF-8")
            return False
        return True

    def check_twin(self, path: str, name: str, seen: dict[str, str]) -> None:
        """Find an entry with the name of another one in its directory; `seen` are those before it."""
        twin = seen.setdefault(folded(name), name)
        if twin != name:
            self.fault(path, twin_of(twin))

    def is_too_deep(self, path: str, depth: int) -> bool:
        """Whether a directory is below more of them than are read."""
        if depth == MAX_DEPTH:
            self.fault(path, f"is more than {MAX_DEPTH} levels deep")
        return depth == MAX_DEPTH

    def link(self, path: str, target: str) -> bool:
        """Take a link; return whether it can be one."""
        if path == SKILL_FILE:
            self.fault(path, "is a link, and has to be a regular file")
        if not is_utf8(target):
            self.fault(path, "is a link whose target is not UTF-8")
            return False
        self.tree[path] = Link(target)
        return True

    def special(self, path: str) -> None:
        """Take what is no file, directory or link."""
        self.fault(path, "is neither a file nor a directory")

    def check_links(self) -> None:
        """Find the links that don't lead to a file of the same skill; possible once all entries are known."""
        self.faults += link_faults(self.tree)


class _Walk(Walk):
    """One walk over one skill on disk."""

    def __init__(
        self,
        label: str,
        recorded: Mapping[str, str],
        judge: Callable[[bytes], object] | None,
    ) -> None:
        super().__init__()
        self.label = label
        self._recorded = recorded
        self._judge = judge
        self.at = ""

    def directory(self, fd: int, prefix: str, copy: _Copy | None, depth: int = 1) -> None:
        """Read one directory, which is open, and all below it."""
        self.at = prefix
        seen: dict[str, str] = {}
        with os.scandir(fd) as entries:
            # By name: of a file that is made anew meanwhile, some systems list the old one and the new one.
            found = {entry.name: entry for entry in entries if self._is_wanted(entry, prefix)}
        for name in sorted(found):
            entry = found[name]
            path = self.at = prefix + name
            self.check_twin(path, name, seen)
            if entry.is_file(follow_symlinks=False):
                self._file(fd, name, path, copy)
            elif entry.is_dir(follow_symlinks=False):
                self._descend(fd, name, path, copy, depth)
            elif entry.is_symlink():
                self._link(fd, name, path, copy)
            else:
                self.special(path)

    def _is_wanted(self, entry: os.DirEntry[str], prefix: str) -> bool:
        """Whether an entry is content, counting it."""
        name = entry.name
        if name in _SET_APART and self.is_set_apart(prefix + name, name, listed_kind(entry)):
            return False
        return self.is_counted(prefix, name)

    def _descend(self, fd: int, name: str, path: str, copy: _Copy | None, depth: int) -> None:
        if self.is_too_deep(path, depth):
            return
        try:
            inner = os.open(name, DIRECTORY, dir_fd=fd)
        except OSError as error:
            if error.errno not in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}:
                raise
            self.fault(path, "changed while it was read")
            return
        below = copy.child(name) if copy else None
        try:
            self.directory(inner, path + "/", below, depth + 1)
        finally:
            os.close(inner)
            if below:
                below.close()

    def _link(self, fd: int, name: str, path: str, copy: _Copy | None) -> None:
        if self._recorded.get(path):
            self._file(fd, name, path, copy, stands_in=True)
            return
        try:
            target = os.readlink(name, dir_fd=fd)
        except OSError as error:
            if error.errno not in {errno.ENOENT, errno.EINVAL}:
                raise
            self.fault(path, "changed while it was read")
            return
        if self.link(path, target) and copy:
            copy.make_link(target, name)

    def _file(self, fd: int, name: str, path: str, copy: _Copy | None, *, stands_in: bool = False) -> None:
        """Read a file; a link that `stands_in` for one is followed, and has to lead to what was recorded."""
        fault = _STRAYED if stands_in else "changed while it was read"
        try:
            opened = os.open(name, READ & ~os.O_NOFOLLOW if stands_in else READ, dir_fd=fd)
        except OSError as error:
            if error.errno not in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EOPNOTSUPP}:
                raise
            self.fault(path, fault)
            return
        try:
            status = os.fstat(opened)
            if stat.S_ISREG(status.st_mode):
                self._content(opened, status, path, copy, stands_in=stands_in)
            else:
                self.fault(path, fault)
        finally:
            os.close(opened)

    def _content(self, opened: int, status: os.stat_result, path: str, copy: _Copy | None, *, stands_in: bool) -> None:
        """Hash an open file, and copy and compare it and look into it in the same read, as far as that is wanted."""
        name = path.rpartition("/")[2]
        # What isn't judged is held against the lock's hash, which says more.
        recorded = self._recorded.get(path) if self._judge or stands_in else None
        size = status.st_size
        # One more than there is to be: so that all of a small file is known to be all. Of one that is said to be empty
        # that would be a byte, which tells no script, and is all that some file systems give at once.
        chunk = os.read(opened, min(size + 1, CHUNK) if size else CHUNK)
        facts = Facts(size=size, executable=bool(status.st_mode & stat.S_IXUSR), script=chunk.startswith(b"#!"))
        sha256 = _sha256() if recorded else None
        seen: list[bytes] | Large | None = None
        if self._judge:
            seen = [] if size <= LIMIT else Large(name, chunk)
        writer = copy.new_file(name, _mode(facts)) if copy else None
        whole = self._judge if path == SKILL_FILE else None
        wanted = (sha256 and sha256.update, seen is not None and seen.append, writer and writer.write, whole)
        sinks = [one for one in wanted if one]
        try:
            entry = File(_drain(opened, chunk, size, sinks))
        finally:
            if writer:
                writer.close()
        if sha256 and sha256.hexdigest() != recorded:
            self._altered.append(path)
            if stands_in:
                self.fault(path, _STRAYED)
                return
        self.tree[path] = entry
        self.facts[path] = facts
        if seen is not None and (finding := look(name, seen)):
            self.hidden[path] = finding


def _sha256() -> hashlib._Hash:
    # Few files have a recorded hash that is looked at: the library of ciphers is loaded for them alone.
    import hashlib

    return hashlib.sha256()


def _mode(facts: Facts) -> int:
    """Return the mode of an installed file, before the umask: never the source's, which differs between installers."""
    return 0o755 if facts.script or facts.executable else 0o644


def _drain(fd: int, chunk: bytes, size: int, sinks: Iterable[Callable[[bytes], object]]) -> str:
    """Hash a file from its first chunk on, and hand each chunk to whoever wants it.

    A file whose first chunk is all of its `size` is not asked for more.
    """
    digest = blake3(chunk)
    is_whole = len(chunk) == size
    while chunk:
        for sink in sinks:
            sink(chunk)
        chunk = b"" if is_whole else os.read(fd, CHUNK)
        digest.update(chunk)
    return SCHEME + digest.hexdigest()
