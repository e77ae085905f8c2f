"""The door to the disk: bounded reads, and each of the calls by which skillsync changes anything.

Invariants: links are never followed below a directory that a caller has opened; what is opened is checked after
opening; a read has a limit; nothing here decides. Every change to the disk is a call in this file, so that tests can
cut the power between any two of them.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import contextmanager, suppress
from enum import Enum
from typing import TYPE_CHECKING

from skillsync.errors import UnreadableError

_MOUNTS = "/proc/self/mountinfo"

if TYPE_CHECKING:
    from collections.abc import Iterator

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
CHUNK = 1 << 18  # bytes that are read at once
# What the system says where it has no links; Linux says the first of FAT.
WITHOUT_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


def read_file(path: str, limit: int, *, dir_fd: int | None = None, follow: bool = False) -> bytes | None:
    """Return a regular file's bytes, or None if nothing is there.

    `limit` is in bytes. `follow` allows the last component to be a link. Raises UnreadableError for anything that is
    there and isn't a readable regular file of at most `limit` bytes.
    """
    content = read_start(path, limit + 1, dir_fd=dir_fd, follow=follow)
    if content is not None and len(content) > limit:
        reason = f"it is larger than {limit // 1024} KiB"
        raise UnreadableError(reason)
    return content


def read_start(path: str, size: int, *, dir_fd: int | None = None, follow: bool = False) -> bytes | None:
    """Return the first `size` bytes of a regular file, or None if nothing is there; else as `read_file`."""
    try:
        fd = os.open(path, READ & ~os.O_NOFOLLOW if follow else READ, dir_fd=dir_fd)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableError(_reason(error)) from None
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            raise UnreadableError("it is a directory" if stat.S_ISDIR(mode) else "it is not a regular file")
        chunks = []
        # Python takes the memory for all that is asked for, however little comes.
        while size > 0 and (chunk := os.read(fd, min(size, CHUNK))):
            chunks.append(chunk)
            size -= len(chunk)
    except OSError as error:
        raise UnreadableError(_reason(error)) from None
    finally:
        os.close(fd)
    return b"".join(chunks)


def _reason(error: OSError) -> str:
    return "it is a symbolic link" if error.errno == errno.ELOOP else os.strerror(error.errno or 0).lower()


def is_utf8(name: str) -> bool:
    """Whether a name from the disk is text; what isn't arrives with lone surrogates."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def shown(name: str) -> str:
    """Return a name from the disk as text, with the bytes that are none escaped."""
    return os.fsencode(name).decode(errors="backslashreplace")


@contextmanager
def open_directory(root: str, relative: str = "", *, dir_fd: int | None = None) -> Iterator[int]:
    """Open a directory below a root, following no link below the root, and close it in the end.

    With `dir_fd`, the root itself may not be a link either. Raises FileNotFoundError where nothing is there,
    UnreadableError where a link is, NotADirectoryError where something else is.
    """
    fd = os.open(root, DIRECTORY & ~os.O_NOFOLLOW) if dir_fd is None else _open_child(root, dir_fd)
    above = root
    try:
        for part in relative.split("/") if relative else ():
            try:
                parent, fd = fd, _open_child(part, fd)
            except OSError as error:
                raise _named_below(above, error) from error
            os.close(parent)
            above += f"/{part}"
        yield fd
    finally:
        os.close(fd)


@contextmanager
def below(path: str) -> Iterator[None]:
    """Let the system's errors name what they are about below a path; one that is absolute already stays.

    What is done by descriptor has no name at all, or one that says little by itself.
    """
    try:
        yield
    except OSError as error:
        raise _named_below(path, error) from error


def _named_below(path: str, error: OSError) -> OSError:
    name = error.filename if isinstance(error.filename, str) else ""
    return OSError(error.errno, error.strerror, name if name.startswith("/") else f"{path}/{name}".rstrip("/"))


def _open_child(name: str, dir_fd: int) -> int:
    try:
        return os.open(name, DIRECTORY, dir_fd=dir_fd)
    except OSError as error:
        if error.errno in {errno.ENOTDIR, errno.ELOOP} and kind(name, dir_fd) is Kind.LINK:
            reason = f"`{shown(name)}` is a symbolic link"
            raise UnreadableError(reason) from None
        raise


class Kind(Enum):
    """What an entry of a directory is."""

    DIRECTORY = "a directory"
    FILE = "a file"
    LINK = "a symbolic link"
    OTHER = "neither a file nor a directory"


def kind(name: str, dir_fd: int) -> Kind | None:
    """Return what an entry is, the link itself for a link; None if nothing is there."""
    try:
        mode = os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    kinds = {stat.S_IFDIR: Kind.DIRECTORY, stat.S_IFREG: Kind.FILE, stat.S_IFLNK: Kind.LINK}
    return kinds.get(stat.S_IFMT(mode), Kind.OTHER)


def listing(fd: int) -> dict[str, Kind]:
    """Return what is in an open directory, by the listed name, sorted: so the answer is the same on every system."""
    found = {}
    with os.scandir(fd) as entries:
        for entry in entries:
            found[entry.name] = listed_kind(entry)
    return dict(sorted(found.items()))


def listed_kind(entry: os.DirEntry[str]) -> Kind:
    """Return what an entry is that a directory lists, the link itself for a link."""
    if entry.is_symlink():
        return Kind.LINK
    if entry.is_dir(follow_symlinks=False):
        return Kind.DIRECTORY
    return Kind.FILE if entry.is_file(follow_symlinks=False) else Kind.OTHER


def upward_from(start: str) -> Iterator[str]:
    """Yield a directory and those above it, up to the repository's root.

    Without a repository of the same owner there is no such end: there, a directory of another owner is one, so that
    nobody's file in a shared directory decides about mine.
    """
    above = [start]
    while above[-1] != "/":
        above.append(os.path.dirname(above[-1]))
    owner = os.stat(start).st_uid
    root = next((path for path in above if os.path.lexists(f"{path}/.git")), None)
    if root is not None and {os.stat(root).st_uid, os.lstat(f"{root}/.git").st_uid} != {owner}:
        # Whoever may write in a shared directory could make one there.
        root = None
    for path in above:
        if root is None and os.stat(path).st_uid != owner:
            return
        yield path
        if path == root:
            return


def keeps_modes(fd: int) -> bool:
    """Whether the file system of an open file or directory has executable bits, as far as the system tells."""
    device = os.fstat(fd).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open(_MOUNTS, encoding="utf-8", errors="replace") as file:
            mounts = file.read().splitlines()
    except OSError:
        return True
    return not any(_mounted_as(line, number) in _WITHOUT_MODES for line in mounts)


# Linux's names of the file systems on which every file looks as the mount's options say.
_WITHOUT_MODES = frozenset({"vfat", "msdos", "exfat", "ntfs", "ntfs3", "fuseblk", "cifs", "smb3"})


def _mounted_as(line: str, number: str) -> str:
    """Return the type of a mount of the given device, from a line of mountinfo (proc(5)); "" for another device."""
    before, _, after = line.partition(" - ")
    return after.split(" ", 1)[0] if before.split(" ")[2:3] == [number] else ""


def take_lock(fd: int, *, wait: bool) -> bool:
    """Take the lock on an open directory, which a crash releases. False: another has it, and `wait` is not set."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(fd: int) -> bool:
    """Whether another run holds the lock of an open directory."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False


def inode(fd: int) -> int:
    """Return the number of an open file or directory, which stays when it is renamed."""
    return os.fstat(fd).st_ino


def inode_of(name: str, dir_fd: int) -> int:
    """Return the number of an entry, of a link the link's own; 0 if nothing is there."""
    try:
        return os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_ino
    except FileNotFoundError:
        return 0


Stamp = tuple[int, int, int]  # inode, time of the last change of its content, size


def stamp(name: str, dir_fd: int) -> Stamp | None:
    """Return what tells a file from the one that is put in its place, None if nothing is there."""
    try:
        found = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def is_same(fd: int, other: int) -> bool:
    """Whether two open directories are one and the same."""
    return os.path.samestat(os.fstat(fd), os.fstat(other))


def exists(path: str) -> bool:
    """Whether anything is there, be it a link that leads to nothing."""
    return os.path.lexists(path)


def is_absent(path: str) -> bool:
    """Whether nothing is there for sure; what can't be told, who opens it will be told."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        pass
    return False


def make_directory(name: str, dir_fd: int | None = None, mode: int = 0o777) -> None:
    """Make one directory, of the given mode less the umask."""
    os.mkdir(name, mode, dir_fd=dir_fd)


def make_link(target: str, name: str, dir_fd: int) -> None:
    """Make a symbolic link with the given text."""
    os.symlink(target, name, dir_fd=dir_fd)


def read_link(name: str, dir_fd: int) -> str:
    """Return the text of a symbolic link."""
    return os.readlink(name, dir_fd=dir_fd)


def create_file(name: str, dir_fd: int, mode: int = 0o644) -> int:
    """Make a new file, of the given mode less the umask, and return its descriptor."""
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=dir_fd)


def write_all(fd: int, content: bytes) -> None:
    """Write all of the bytes."""
    left = memoryview(content)
    while left:
        left = left[os.write(fd, left) :]


def flush(fd: int) -> None:
    """Wait until a file's or a directory's own data are on the disk."""
    os.fsync(fd)


def flush_all() -> None:
    """Wait until everything that was written is on the disk: one call for many files."""
    os.sync()


def rename(name: str, new: str, *, from_fd: int, to_fd: int) -> None:
    """Move an entry, within one file system."""
    os.rename(name, new, src_dir_fd=from_fd, dst_dir_fd=to_fd)


def place(name: str, new: str, *, from_fd: int, to_fd: int) -> None:
    """Move an entry to where nothing is. Raises an OSError if something is there after all.

    A directory replaces at most an empty one; a link would replace any file. So it gets its new name first, which the
    system gives only if it is free; if that is as far as it came, it has both.
    """
    if kind(name, from_fd) is Kind.LINK:
        try:
            os.link(name, new, src_dir_fd=from_fd, dst_dir_fd=to_fd, follow_symlinks=False)
        except OSError as error:
            # Some file systems give no second name: there, it is looked for what is in the way.
            if error.errno not in WITHOUT_LINKS:
                raise
            if kind(new, to_fd):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new) from error
        else:
            remove_file(name, from_fd)
            return
    rename(name, new, from_fd=from_fd, to_fd=to_fd)


def make_executable(name: str, dir_fd: int, staged: str, staging: int) -> None:
    """Let everyone who may read a file run it; a link is not followed.

    A file that has other names gets a copy of its own first, made as `staged` in `staging`: those names may be in
    somebody's store.
    """
    status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    mode = stat.S_IMODE(status.st_mode)
    if status.st_nlink > 1:
        _copy_file(name, dir_fd, staged, staging)
        set_permissions(staged, mode, staging)
        rename(staged, name, from_fd=staging, to_fd=dir_fd)
    set_permissions(name, mode | (mode & 0o444) >> 2, dir_fd)


def _copy_file(name: str, from_fd: int, new: str, to_fd: int) -> None:
    source = os.open(name, READ, dir_fd=from_fd)
    try:
        copy = create_file(new, to_fd)
        try:
            while chunk := os.read(source, CHUNK):
                write_all(copy, chunk)
            flush(copy)
        finally:
            os.close(copy)
    finally:
        os.close(source)


def permissions(name: str, dir_fd: int) -> int:
    """Return the permission bits of an entry; a link is not followed."""
    return stat.S_IMODE(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode)


def set_permissions(name: str, mode: int, dir_fd: int) -> None:
    """Give a file the permission bits; a link is not followed."""
    fd = os.open(name, READ, dir_fd=dir_fd)
    try:
        os.fchmod(fd, mode)
    finally:
        os.close(fd)


def remove_file(name: str, dir_fd: int) -> None:
    """Remove a file or a link, never what a link points to."""
    os.unlink(name, dir_fd=dir_fd)


def remove_directory(name: str, dir_fd: int | None = None) -> None:
    """Remove an empty directory."""
    os.rmdir(name, dir_fd=dir_fd)


def remove_tree(name: str, dir_fd: int, spare: Iterator[str]) -> None:
    """Remove a directory and all below it, following no link, however deep it is and whatever its owner may write.

    A directory in it is moved up first, beside `name`, under one of the `spare` names: so none is ever out of reach.
    """
    left = [name]
    while left:
        directory = left.pop()
        with open_directory(directory, dir_fd=dir_fd) as fd, below(directory):
            _open_up(fd)
            for child, kind_of in listing(fd).items():
                if kind_of is Kind.DIRECTORY:
                    with open_directory(child, dir_fd=fd) as inner:
                        _open_up(inner)
                    left.append(next(spare))
                    rename(child, left[-1], from_fd=fd, to_fd=dir_fd)
                else:
                    remove_file(child, fd)
        remove_directory(directory, dir_fd)


def _open_up(fd: int) -> None:
    """Let its owner write in a directory that goes; where somebody else owns it, what comes next says why it can't."""
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        with suppress(PermissionError):
            os.fchmod(fd, mode | stat.S_IRWXU)


def write_file(name: str, content: bytes, dir_fd: int) -> None:
    """Write a whole new file and wait until it is on the disk; the caller renames it into its place."""
    fd = create_file(name, dir_fd)
    try:
        with below(name):
            write_all(fd, content)
            flush(fd)
    finally:
        os.close(fd)


def replace_file(path: str, content: bytes) -> None:
    """Put a whole file in place at once: readers see the old one or the new one, whatever happens."""
    directory, _, name = path.rpartition("/")
    with open_directory(directory) as fd, below(directory):
        _replace(name, content, fd, None)


def _replace(name: str, content: bytes, fd: int, mode: int | None) -> None:
    """Put a whole file in place in an open directory, with a mode of its own or the usual one."""
    staged = f".{name}.{os.getpid()}.tmp"
    # A run of the same number that was killed may have left one.
    with suppress(FileNotFoundError):
        remove_file(staged, fd)
    try:
        write_file(staged, content, fd)
        if mode is not None:
            set_permissions(staged, mode, fd)
        rename(staged, name, from_fd=fd, to_fd=fd)
    except BaseException as error:
        with suppress(FileNotFoundError):
            remove_file(staged, fd)
        if isinstance(error, OSError):
            # The person knows the file by its own name.
            raise OSError(error.errno, error.strerror, name) from error
        raise
    flush(fd)


def replace_below(root: str, path: str, old: bytes, new: bytes, limit: int) -> bool:
    """Replace a file below a root, with no link on the way, if it still is what it was; return whether that was done.

    It keeps its mode. `limit` is in bytes. Raises OSError, and UnreadableError for what is no file any more.
    """
    directory, _, name = path.rpartition("/")
    with open_directory(root, directory) as fd, below(f"{root}/{directory}"):
        if read_file(name, limit, dir_fd=fd) != old:
            return False
        _replace(name, new, fd, permissions(name, fd))
    return True


def make_executable_below(root: str, path: str) -> None:
    """Let everyone who may read a file below a root run it. Raises OSError, and UnreadableError for a link."""
    directory, _, name = path.rpartition("/")
    with open_directory(root, directory) as fd, below(f"{root}/{directory}"):
        make_executable(name, fd, f".{name}.{os.getpid()}.tmp", fd)


def list_directory(path: str) -> list[str] | None:
    """Return the names in a directory, sorted, or None if there is no directory. Raises UnreadableError."""
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries)
    except OSError as error:
        _refuse_unless_absent(error)
        return None


def is_directory(path: str, *, follow: bool = True) -> bool:
    """Whether a directory is there; `follow` allows it to be a link to one. Raises UnreadableError."""
    try:
        return stat.S_ISDIR((os.stat if follow else os.lstat)(path).st_mode)
    except OSError as error:
        _refuse_unless_absent(error)
        return False


def _refuse_unless_absent(error: OSError) -> None:
    """Raise UnreadableError for an error that doesn't say that nothing is there."""
    if error.errno not in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG}:
        raise UnreadableError(os.strerror(error.errno or 0).lower()) from None
