from __future__ import annotations

import errno
import os
import stat
import threading
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from builders import FIFO, SOCKET, Executable, Meddled, lay

from skillsync import filesystem
from skillsync.errors import UnreadableError
from skillsync.filesystem import Kind, open_directory
from skillsync.hashing import Link

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from builders import Piece


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return lay(tmp_path / "root", {})


@pytest.fixture
def fd(root: Path) -> Iterator[int]:
    with open_directory(str(root)) as opened:
        yield opened


def failing(number: int) -> Callable[..., Any]:
    def fail(*_arguments: object, **_options: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def descriptors() -> int:
    return len(os.listdir("/dev/fd"))


# Errors


@pytest.mark.parametrize(
    ("name", "full"), [(None, "a/b"), ("c", "a/b/c"), ("c/d", "a/b/c/d"), ("/c", "/c"), (7, "a/b")]
)
def test_an_error_names_what_it_is_about_below_a_path(name: str | int | None, full: str) -> None:
    with pytest.raises(FileNotFoundError, match="gone") as caught, filesystem.below("a"), filesystem.below("b"):
        raise OSError(errno.ENOENT, "gone", name)
    assert (caught.value.filename, caught.value.errno) == (full, errno.ENOENT)


# Reading


def test_a_file_is_read_whole_up_to_its_limit(root: Path) -> None:
    lay(root, {"f": "x" * 2048, "empty": ""})
    assert filesystem.read_file(f"{root}/f", 2048) == b"x" * 2048
    assert filesystem.read_file(f"{root}/empty", 1) == b""
    with pytest.raises(UnreadableError, match=r"^it is larger than 1 KiB$"):
        filesystem.read_file(f"{root}/f", 1024)


def test_the_start_of_a_file_has_no_limit(root: Path) -> None:
    lay(root, {"f": "abc"})
    assert filesystem.read_start(f"{root}/f", 2) == b"ab"
    assert filesystem.read_start(f"{root}/f", 9) == b"abc"


def test_a_file_is_read_below_an_open_directory(root: Path, fd: int) -> None:
    lay(root, {"f": "abc"})
    assert filesystem.read_file("f", 9, dir_fd=fd) == b"abc"
    assert filesystem.read_file("g", 9, dir_fd=fd) is None


@pytest.mark.parametrize("path", ["nothing", "nothing/f", "file/f"])
def test_what_is_not_there_is_none(root: Path, path: str) -> None:
    lay(root, {"file": ""})
    assert filesystem.read_file(f"{root}/{path}", 9) is None


@pytest.mark.parametrize(
    ("piece", "reason"),
    [
        (Link("file"), "it is a symbolic link"),
        (Link("nothing"), "it is a symbolic link"),
        (None, "it is a directory"),
        (FIFO, "it is not a regular file"),
        (SOCKET, r"no such device or address|operation not supported.*"),
    ],
    ids=["link", "dangling", "directory", "fifo", "socket"],
)
def test_what_is_no_file_is_unreadable_and_leaves_nothing_open(root: Path, piece: Piece, reason: str) -> None:
    lay(root, {"file": "", "odd": piece})
    before = descriptors()
    with pytest.raises(UnreadableError, match=f"^({reason})$"):
        filesystem.read_file(f"{root}/odd", 9)
    assert descriptors() == before


def test_a_link_is_followed_where_the_caller_allows_it(root: Path) -> None:
    lay(root, {"file": "abc", "l": Link("file"), "dangling": Link("nothing"), "circle": Link("circle")})
    assert filesystem.read_file(f"{root}/l", 9, follow=True) == b"abc"
    assert filesystem.read_file(f"{root}/dangling", 9, follow=True) is None
    with pytest.raises(UnreadableError, match=r"^it is a symbolic link$"):
        filesystem.read_file(f"{root}/circle", 9, follow=True)


def test_a_file_that_the_system_refuses_is_unreadable(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(root, {"f": ""})
    monkeypatch.setattr(filesystem, "os", Meddled(open=failing(errno.EACCES)))
    with pytest.raises(UnreadableError, match=r"^permission denied$"):
        filesystem.read_file(f"{root}/f", 9)


def test_names_are_text_or_are_shown_with_their_bytes() -> None:
    assert filesystem.is_utf8("caf\u00e9")
    assert filesystem.is_utf8("ascii")
    broken = os.fsdecode(b"caf\xe9")
    assert not filesystem.is_utf8(broken)
    assert filesystem.shown(broken) == r"caf\xe9"
    assert filesystem.shown("caf\u00e9") == "caf\u00e9"


def test_a_directory_is_opened_below_its_root(root: Path, fd: int) -> None:
    lay(root, {"a/b/f": "", "l": Link("a")})
    before = descriptors()
    with open_directory(str(root), "a/b") as inner:
        assert os.listdir(inner) == ["f"]
    with open_directory("a", "b", dir_fd=fd) as inner:
        assert os.listdir(inner) == ["f"]
    assert descriptors() == before


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("gone", FileNotFoundError),
        ("a/gone", FileNotFoundError),
        ("a/f", NotADirectoryError),
        ("a/f/b", NotADirectoryError),
        ("l", UnreadableError),
        ("a/l/b", UnreadableError),
        ("a/dangling", UnreadableError),
        ("a/out", UnreadableError),
        ("a/fifo", NotADirectoryError),
    ],
)
def test_no_link_is_followed_below_a_root(root: Path, fd: int, path: str, error: type[Exception]) -> None:
    lay(root, {"a/b/f": "", "a/f": "", "a/l": Link("."), "l": Link("a"), "a/dangling": Link("x"), "a/out": Link("/")})
    lay(root, {"a/fifo": FIFO})
    before = descriptors()
    with pytest.raises(error), open_directory(str(root), path):
        pytest.fail("it was opened")
    with pytest.raises(error), open_directory(path.split("/", maxsplit=1)[0], "/".join(path.split("/")[1:]), dir_fd=fd):
        pytest.fail("it was opened")
    assert descriptors() == before


def test_what_can_not_be_opened_is_named_by_its_whole_path(root: Path, fd: int) -> None:
    lay(root, {"a/b/f": ""})
    for path, error in (("a/b/x/y", FileNotFoundError), ("a/b/f", NotADirectoryError)):
        with pytest.raises(error) as caught, open_directory(str(root), path):
            pytest.fail("it was opened")
        assert caught.value.filename == f"{root}/{path.removesuffix('/y')}"
    with pytest.raises(FileNotFoundError) as caught, open_directory("a", "x", dir_fd=fd):
        pytest.fail("it was opened")
    assert caught.value.filename == "a/x"


def test_the_root_itself_may_be_a_link_unless_it_is_below_another(root: Path, fd: int) -> None:
    lay(root, {"a/f": "", "l": Link("a")})
    with open_directory(f"{root}/l") as opened:
        assert os.listdir(opened) == ["f"]
    with pytest.raises(UnreadableError, match=r"^`l` is a symbolic link$"), open_directory("l", dir_fd=fd):
        pytest.fail("it was opened")


def test_kinds_and_listings_tell_what_an_entry_is_itself(root: Path, fd: int) -> None:
    lay(root, {"b": "", "a/x": "", "l": Link("a"), "dangling": Link("x"), "fifo": FIFO})
    expected = {
        "a": Kind.DIRECTORY,
        "b": Kind.FILE,
        "dangling": Kind.LINK,
        "fifo": Kind.OTHER,
        "l": Kind.LINK,
    }
    assert list(filesystem.listing(fd).items()) == list(expected.items())
    assert {name: filesystem.kind(name, fd) for name in expected} == expected
    assert filesystem.kind("nothing", fd) is None


def test_an_open_directory_can_be_listed_again_and_again(root: Path, fd: int) -> None:
    assert filesystem.listing(fd) == {}
    lay(root, {"f": ""})
    assert filesystem.listing(fd) == {"f": Kind.FILE}


def test_what_exists_may_lead_to_nothing(root: Path) -> None:
    lay(root, {"l": Link("nothing")})
    assert filesystem.exists(f"{root}/l")
    assert not filesystem.exists(f"{root}/nothing")


def test_absent_is_what_is_not_there_and_nothing_else(root: Path) -> None:
    lay(root, {"link": Link("nothing"), "file": ""})
    assert filesystem.is_absent(f"{root}/nothing")
    assert filesystem.is_absent(f"{root}/nothing/below")
    assert not filesystem.is_absent(f"{root}/link")
    assert not filesystem.is_absent(f"{root}/file/below")


def test_directories_are_listed_sorted_and_an_absent_one_is_none(root: Path) -> None:
    lay(root, {"b": "", "a": "", "l": Link(".")})
    assert filesystem.list_directory(str(root)) == ["a", "b", "l"]
    assert filesystem.list_directory(f"{root}/l") == ["a", "b", "l"]
    assert filesystem.list_directory(f"{root}/nothing") is None
    assert filesystem.list_directory(f"{root}/a") is None


def test_whether_a_directory_is_there_can_be_asked_of_the_link_itself(root: Path) -> None:
    lay(root, {"a": None, "f": "", "l": Link("a"), "circle": Link("circle")})
    asked = {
        name: filesystem.is_directory(f"{root}/{name}") for name in ("a", "f", "l", "circle", "x", "f/x", "n" * 999)
    }
    assert asked == {"a": True, "f": False, "l": True, "circle": False, "x": False, "f/x": False, "n" * 999: False}
    assert not filesystem.is_directory(f"{root}/l", follow=False)


@pytest.mark.parametrize("function", [filesystem.list_directory, filesystem.is_directory])
def test_what_the_system_refuses_is_not_absent(
    root: Path, monkeypatch: pytest.MonkeyPatch, function: Callable[[str], object]
) -> None:
    monkeypatch.setattr(filesystem, "os", Meddled(scandir=failing(errno.EACCES), stat=failing(errno.EACCES)))
    with pytest.raises(UnreadableError, match=r"^permission denied$"):
        function(str(root))


# Whether a file system keeps executable bits


def mounted(root: Path, monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Let the system's list of mounts be this one, with the number of the test's own device for `{}`."""
    device = root.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    mounts = root / "mountinfo"
    mounts.write_text("".join(f"{line.format(number)}\n" for line in lines))
    monkeypatch.setattr(filesystem, "_MOUNTS", str(mounts))


@pytest.mark.parametrize(
    ("lines", "keeps"),
    [
        (["36 35 {} / /mnt rw,noatime master:1 - ext4 /dev/root rw"], True),
        (["36 35 {} / /mnt rw,noatime master:1 - vfat /dev/sdb1 rw"], False),
        (["36 35 {} / /mnt rw - exfat /dev/sdb1 rw", "37 35 0:1 / / rw - ext4 /dev/root rw"], False),
        (["36 35 9:999 / /mnt rw - vfat /dev/sdb1 rw"], True),
        (["36 35 {} / /a-vfat rw - tmpfs vfat rw"], True),
        (["nonsense", ""], True),
        ([], True),
    ],
)
def test_a_file_system_without_modes_is_known_by_its_type(
    root: Path, fd: int, monkeypatch: pytest.MonkeyPatch, lines: list[str], *, keeps: bool
) -> None:
    mounted(root, monkeypatch, *lines)
    assert filesystem.keeps_modes(fd) is keeps


def test_where_nothing_tells_the_file_system_has_modes(root: Path, fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystem, "_MOUNTS", str(root / "nothing"))
    assert filesystem.keeps_modes(fd)


# The lock on a directory


def test_one_at_a_time_holds_a_directory_and_a_closed_one_is_free(root: Path, fd: int) -> None:
    with open_directory(str(root)) as other:
        assert filesystem.take_lock(other, wait=False)
        assert not filesystem.take_lock(fd, wait=False)
    assert filesystem.take_lock(fd, wait=False)
    assert os.listdir(root) == []


def test_who_waits_gets_the_lock_when_it_is_free(root: Path, fd: int) -> None:
    taken: list[bool] = []
    with open_directory(str(root)) as other:
        assert filesystem.take_lock(other, wait=False)
        waiting = threading.Thread(target=lambda: taken.append(filesystem.take_lock(fd, wait=True)))
        waiting.start()
        assert taken == []
    waiting.join()
    assert taken == [True]


def test_two_open_directories_are_the_same_whatever_they_are_called(root: Path, fd: int) -> None:
    root.rename(root.with_name("moved"))
    root.mkdir()
    with open_directory(str(root.with_name("moved"))) as moved, open_directory(str(root)) as other:
        assert filesystem.is_same(fd, moved)
        assert not filesystem.is_same(fd, other)


def test_an_entry_has_the_number_of_what_it_is(root: Path, fd: int) -> None:
    (root / "link").symlink_to("nowhere")
    assert filesystem.inode_of("link", fd) == (root / "link").lstat().st_ino
    assert filesystem.inode_of("nothing", fd) == 0


# Changing


def test_each_change_changes_one_thing(root: Path, fd: int) -> None:
    lay(root, {"secret/f": "s"})
    filesystem.make_directory("a", fd)
    filesystem.make_directory(f"{root}/b")
    filesystem.make_link("secret", "l", fd)
    filesystem.rename("b", "a/c", from_fd=fd, to_fd=fd)
    assert filesystem.listing(fd) == {"a": Kind.DIRECTORY, "l": Kind.LINK, "secret": Kind.DIRECTORY}
    filesystem.remove_file("l", fd)
    filesystem.remove_directory("a/c", fd)
    filesystem.remove_directory(f"{root}/a")
    filesystem.flush_all()
    filesystem.flush(fd)
    assert filesystem.listing(fd) == {"secret": Kind.DIRECTORY}
    assert (root / "secret/f").read_text() == "s"


@pytest.mark.parametrize("piece", ["", None, Link("elsewhere"), FIFO], ids=["file", "directory", "link", "fifo"])
def test_a_new_file_is_never_written_over_or_through_anything(root: Path, fd: int, piece: Piece) -> None:
    lay(root, {"f": piece})
    with pytest.raises(FileExistsError):
        filesystem.create_file("f", fd)
    assert not (root / "elsewhere").exists()


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o755), (0o077, 0o700), (0o027, 0o750)])
def test_a_script_can_be_run_by_whoever_may_read_it(root: Path, fd: int, umask: int, mode: int) -> None:
    lay(root, {"f": "#!/bin/sh\n"})
    (root / "f").chmod(0o644 & ~umask)
    filesystem.make_executable("f", fd, "staged", fd)
    assert filesystem.permissions("f", fd) == mode
    filesystem.set_permissions("f", 0o600, fd)
    assert stat.S_IMODE((root / "f").stat().st_mode) == 0o600


def test_a_file_s_other_names_do_not_become_executable(root: Path, fd: int) -> None:
    content = b"#!/bin/sh\n" + b"x" * 1_000_000
    lay(root, {"f": content})
    (root / "f").chmod(0o640)
    os.link(root / "f", root / "store")
    before = descriptors()
    filesystem.make_executable("f", fd, "staged", fd)
    assert descriptors() == before
    assert (filesystem.permissions("f", fd), filesystem.permissions("store", fd)) == (0o750, 0o640)
    assert (root / "f").read_bytes() == content
    assert sorted(os.listdir(root)) == ["f", "store"]


def test_no_link_is_followed_to_what_becomes_executable(root: Path, fd: int) -> None:
    lay(root, {"f": "", "l": Link("f")})
    with pytest.raises(OSError, match=r"Too many levels|symbolic link"):
        filesystem.make_executable("l", fd, "staged", fd)
    assert stat.S_IMODE((root / "f").stat().st_mode) == 0o644


def test_what_can_not_be_written_is_named(root: Path, fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = descriptors()
    for call in ("write", "fsync"):
        monkeypatch.setattr(filesystem, "os", Meddled(**{call: failing(errno.ENOSPC)}))
        with pytest.raises(OSError, match="No space left") as caught:
            filesystem.write_file(call, b"x", fd)
        assert caught.value.filename == call
    assert sorted(path.name for path in root.iterdir()) == ["fsync", "write"]
    assert descriptors() == before


def test_what_is_written_is_written_whole(root: Path, fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystem, "os", Meddled(write=lambda to, content: os.write(to, content[:3])))
    filesystem.write_file("f", b"0123456789", fd)
    assert (root / "f").read_bytes() == b"0123456789"
    filesystem.write_file("empty", b"", fd)
    assert (root / "empty").read_bytes() == b""


NO_SECOND_NAMES = {"link": failing(errno.EPERM)}


@pytest.mark.parametrize("calls", [{}, NO_SECOND_NAMES], ids=["", "no-hard-links"])
@pytest.mark.parametrize("piece", ["mine", Link("mine"), None, FIFO], ids=["file", "link", "directory", "fifo"])
def test_a_link_replaces_nothing(
    root: Path, fd: int, monkeypatch: pytest.MonkeyPatch, piece: Piece, calls: dict[str, Any]
) -> None:
    lay(root, {"staged": Link("nowhere"), "taken": piece})
    monkeypatch.setattr(filesystem, "os", Meddled(**calls))
    number, other = filesystem.inode_of("staged", fd), filesystem.inode_of("taken", fd)
    with pytest.raises(FileExistsError):
        filesystem.place("staged", "taken", from_fd=fd, to_fd=fd)
    assert (filesystem.inode_of("staged", fd), filesystem.inode_of("taken", fd)) == (number, other)
    filesystem.place("staged", "free", from_fd=fd, to_fd=fd)
    assert filesystem.inode_of("free", fd) == number
    assert filesystem.read_link("free", fd) == "nowhere"
    assert sorted(os.listdir(fd)) == ["free", "taken"]


def test_a_link_that_the_system_does_not_let_be_moved_stays(
    root: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(root, {"staged": Link("nowhere")})
    monkeypatch.setattr(filesystem, "os", Meddled(link=failing(errno.ENOSPC)))
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        filesystem.place("staged", "free", from_fd=fd, to_fd=fd)
    assert os.listdir(fd) == ["staged"]


def test_what_is_no_link_is_moved_as_it_is(root: Path, fd: int) -> None:
    lay(root, {"d/f": "f", "taken/mine": "m"})
    with pytest.raises(OSError, match=os.strerror(errno.ENOTEMPTY)):
        filesystem.place("d", "taken", from_fd=fd, to_fd=fd)
    filesystem.place("d", "free", from_fd=fd, to_fd=fd)
    assert sorted(os.listdir(fd)) == ["free", "taken"]


def test_a_tree_is_removed_without_following_a_link(root: Path, fd: int) -> None:
    lay(root, {"kept/f": "k", "gone/a/b/c/f": "", "gone/l": Link("../kept"), "gone/f": Link("../kept/f")})
    lay(root, {"gone/fifo": FIFO, "gone/a/out": Link("/"), "gone/empty": None})
    before = descriptors()
    filesystem.remove_tree("gone", fd, map(str, count()))
    assert filesystem.listing(fd) == {"kept": Kind.DIRECTORY}
    assert (root / "kept/f").read_text() == "k"
    assert descriptors() == before


def test_a_tree_is_removed_however_deep_it_is(root: Path, fd: int) -> None:
    lay(root, {"gone": None})
    inner = os.open("gone", os.O_RDONLY, dir_fd=fd)
    for _ in range(2000):
        os.mkdir("d", dir_fd=inner)
        outer, inner = inner, os.open("d", os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    os.close(inner)
    filesystem.remove_tree("gone", fd, map(str, count()))
    assert filesystem.listing(fd) == {}


def test_a_tree_is_opened_up_for_its_owner_before_it_is_removed(root: Path, fd: int) -> None:
    lay(root, {"gone/sub/f": "", "gone/whole/f": ""})
    for path, mode in (("gone/sub", 0o500), ("gone", 0o555)):
        (root / path).chmod(mode)
    modes = []

    def rename(name: str, *arguments: Any, **options: Any) -> None:  # noqa: ANN401  # as `os.rename` takes them
        modes.append(stat.S_IMODE(os.stat(name, dir_fd=options["src_dir_fd"]).st_mode))
        modes.append(stat.S_IMODE((root / "gone").stat().st_mode))
        os.rename(name, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filesystem, "os", Meddled(rename=rename))
        filesystem.remove_tree("gone", fd, map(str, count()))
    assert modes == [0o700, 0o755, 0o755, 0o755]
    assert filesystem.listing(fd) == {}


def test_a_tree_of_somebody_else_s_is_removed_as_far_as_the_system_lets(
    root: Path, fd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(root, {"gone/f": "", "left/f": ""})
    (root / "gone").chmod(0o555)
    (root / "left").chmod(0o555)
    monkeypatch.setattr(filesystem, "os", Meddled(fchmod=failing(errno.EPERM)))
    filesystem.remove_tree("gone", fd, map(str, count()))
    monkeypatch.setattr(filesystem, "os", Meddled(fchmod=failing(errno.EPERM), unlink=failing(errno.EACCES)))
    with pytest.raises(PermissionError) as caught:
        filesystem.remove_tree("left", fd, map(str, count()))
    assert caught.value.filename == "left"
    (root / "left").chmod(0o755)


def test_a_link_is_no_tree(root: Path, fd: int) -> None:
    lay(root, {"kept/f": "k", "l": Link("kept")})
    with pytest.raises(UnreadableError):
        filesystem.remove_tree("l", fd, map(str, count()))
    assert (root / "kept/f").read_text() == "k"


# Replacing a file at once


def test_a_file_is_replaced_and_nothing_else_is_left(root: Path) -> None:
    path = f"{root}/f"
    filesystem.replace_file(path, b"one")
    filesystem.replace_file(path, b"two")
    assert (os.listdir(root), (root / "f").read_bytes()) == (["f"], b"two")


def test_a_link_is_replaced_and_not_written_through(root: Path) -> None:
    lay(root, {"f": Link("other"), "other": "o"})
    filesystem.replace_file(f"{root}/f", b"new")
    assert ((root / "f").is_symlink(), (root / "other").read_text()) == (False, "o")


def test_what_a_killed_run_of_the_same_number_left_is_in_nobodys_way(root: Path) -> None:
    lay(root, {f".f.{os.getpid()}.tmp": "half"})
    filesystem.replace_file(f"{root}/f", b"new")
    assert (os.listdir(root), (root / "f").read_bytes()) == (["f"], b"new")


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()], ids=["full", "stopped"]
)
def test_a_replacement_that_fails_leaves_the_old_file_alone(
    root: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise error

    lay(root, {"f": "old"})
    monkeypatch.setattr(filesystem, "os", Meddled(**{call: fail}))
    before = descriptors()
    with pytest.raises(type(error)) as caught:
        filesystem.replace_file(f"{root}/f", b"new")
    if isinstance(caught.value, OSError):
        assert caught.value.filename == f"{root}/f", "its own name, not that of what was to take its place"
    assert (os.listdir(root), (root / "f").read_bytes()) == (["f"], b"old")
    assert descriptors() == before


def test_a_replacement_that_can_not_begin_changes_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: str, flags: int, *arguments: int, **options: int) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return os.open(path, flags, *arguments, **options)

    lay(root, {"f": Executable("old")})
    monkeypatch.setattr(filesystem, "os", Meddled(open=fail))
    with pytest.raises(OSError, match="Read-only"):
        filesystem.replace_file(f"{root}/f", b"new")
    assert (os.listdir(root), (root / "f").read_bytes()) == (["f"], b"old")


@pytest.mark.skipif(os.geteuid() != 0, reason="left out: only root can give a file to somebody else")
@pytest.mark.parametrize("foreign", [".git", "."])
def test_somebody_else_s_repository_is_no_end_and_no_way_up(tmp_path: Path, foreign: str) -> None:
    shared = tmp_path / "shared"
    lay(shared, {".git/HEAD": "", "mine/project/f": ""})
    for path in (tmp_path, shared, shared / ".git", shared / "mine", shared / "mine/project"):
        os.chown(path, 1000, 1000)
    start = str(shared / "mine/project")
    whole = [start, str(shared / "mine"), str(shared)]
    assert list(filesystem.upward_from(start)) == whole
    os.chown(shared / foreign, 1001, 1001)
    found = list(filesystem.upward_from(start))
    assert found[:2] == whole[:2]
    # Nobody's directory but the owner's is looked into.
    assert all(os.stat(path).st_uid == 1000 for path in found)
