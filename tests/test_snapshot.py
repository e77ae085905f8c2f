from __future__ import annotations

import errno
import hashlib
import os
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import builders
import pytest
from blake3 import blake3
from builders import DEVICE, FIFO, SOCKET, Executable, Meddled, lay, walked

from skillsync import filesystem
from skillsync.filesystem import open_directory
from skillsync.hashing import MAX_LINKS, SCHEME, File, Link, tree_hash
from skillsync.snapshot import MAX_DEPTH, MAX_ENTRIES, Facts, Snapshot, shipped_faults, snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from builders import Piece

    from skillsync.hashing import Tree

SKILL = "---\nname: x\n---\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return lay(tmp_path / "x", {"SKILL.md": SKILL})


def hash_of(content: bytes) -> str:
    return SCHEME + blake3(content).hexdigest()


def faults(found: Snapshot) -> list[tuple[str, str]]:
    return [(fault.path, fault.reason) for fault in found.faults]


def copied(root: Path, into: Path) -> Snapshot:
    into.mkdir()
    with filesystem.open_directory(str(root)) as fd, filesystem.open_directory(str(into)) as copy:
        return snapshot(fd, "x", copy_to=copy)


def everything(root: Path) -> dict[str, Any]:
    """What is below a directory: the bytes of files, the texts of links, None for directories."""
    return {
        str(path.relative_to(root)): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in sorted(root.rglob("*"))
    }


# What is content


def test_a_skill_is_its_files_and_links_by_hash_and_text(root: Path) -> None:
    lay(root, {"a/b/c.txt": b"\0\r\n", "empty": "", "latest": Link("a/b/c.txt"), "a/run": Executable("#!/bin/sh\n")})
    tree: Tree = {
        "SKILL.md": File(hash_of(SKILL.encode())),
        "a/b/c.txt": File(hash_of(b"\0\r\n")),
        "a/run": File(hash_of(b"#!/bin/sh\n")),
        "empty": File(hash_of(b"")),
        "latest": Link("a/b/c.txt"),
    }
    assert walked(root) == Snapshot(
        hash=tree_hash(tree),
        tree=tree,
        facts={
            "SKILL.md": Facts(size=len(SKILL), executable=False, script=False),
            "a/b/c.txt": Facts(size=3, executable=False, script=False),
            "a/run": Facts(size=10, executable=True, script=True),
            "empty": Facts(size=0, executable=False, script=False),
        },
        faults=(),
        runtime=(),
    )


def test_modes_times_and_the_order_on_disk_are_no_content(tmp_path: Path) -> None:
    pieces = {"SKILL.md": SKILL, "z": "1", "a": "2", "dir/z": "3", "dir/a": "4"}
    one = lay(tmp_path / "one", pieces)
    other = lay(tmp_path / "other", dict(reversed(pieces.items())))
    (other / "a").chmod(0o600)
    os.utime(other / "z", (0, 0))
    assert walked(one).hash == walked(other).hash


@pytest.mark.parametrize(
    "pieces",
    [
        {"a": "1"},
        {"SKILL.md": SKILL + " "},
        {"__pycache__": "a file by that name"},
        {".DS_Store/x": "a directory by that name"},
        {"h.pyc": "importable without its source"},
        {".env.example": ""},
        {"scripts/.keep": ""},
        {"_draft.md": ""},
        {".gitignore": ""},
        {"node_modules": "a file by that name"},
        {".pytest_cache": Link("SKILL.md")},
    ],
    ids=lambda pieces: next(iter(pieces)),
)
def test_everything_else_is_content(root: Path, pieces: dict[str, Piece]) -> None:
    before = walked(root)
    after = walked(lay(root, pieces))
    assert after.faults == ()
    assert after.hash not in {None, before.hash}
    assert set(pieces) <= set(after.tree)


@pytest.mark.parametrize("name", ["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"])
def test_the_caches_of_tools_are_ignored_with_all_in_them(root: Path, tmp_path: Path, name: str) -> None:
    before = walked(root)
    lay(root, {f"{name}/a/b": FIFO, f"scripts/{name}/h.pyc": "", f"empty/{name}": None})
    assert walked(root) == before
    assert copied(root, tmp_path / "copy") == before
    assert everything(tmp_path / "copy") == {"SKILL.md": SKILL.encode()}


@pytest.mark.parametrize("name", [".DS_Store", "Thumbs.db"])
def test_what_file_managers_leave_behind_is_ignored(root: Path, name: str) -> None:
    before = walked(root)
    assert walked(lay(root, {name: "x", f"a/{name}": "y"})) == before


def test_empty_directories_are_no_content(root: Path, tmp_path: Path) -> None:
    before = walked(root)
    lay(root, {"a/b/c": None, "d": None})
    assert walked(root) == before
    copied(root, tmp_path / "copy")
    assert everything(tmp_path / "copy") == {"SKILL.md": SKILL.encode()}


# What people and agents make in an installed skill, and no provider may ship


def test_runtime_directories_are_left_alone_and_noted(root: Path) -> None:
    before = walked(root)
    lay(root, {".git/HEAD": "", "a/.venv/lib": FIFO, "a/b/node_modules/x": Link("/"), ".venv": None})
    found = walked(root)
    assert found.runtime == (".git", ".venv", "a/.venv", "a/b/node_modules")
    assert (found.hash, found.tree, found.faults) == (before.hash, before.tree, ())


def test_a_runtime_directory_that_is_a_link_is_a_link(root: Path) -> None:
    found = walked(lay(root, {".venv": Link("/opt/venv")}))
    assert (found.runtime, faults(found)) == ((), [(".venv", "is a link that is absolute")])


@pytest.mark.parametrize(
    ("pieces", "path"),
    [
        ({".git/HEAD": ""}, ".git"),
        ({"a/node_modules/x/index.js": ""}, "a/node_modules"),
        ({".venv": None}, ".venv"),
        ({".git": "gitdir: /elsewhere\n"}, ".git"),
        ({".GIT": "gitdir: /elsewhere\n"}, ".GIT"),
        ({"a/.Git/hooks/pre-commit": ""}, "a/.Git/hooks/pre-commit"),
        ({"Node_Modules": Link("SKILL.md")}, "Node_Modules"),
    ],
)
def test_a_provider_may_not_ship_them_in_any_case_or_kind(root: Path, pieces: dict[str, Piece], path: str) -> None:
    found = walked(lay(root, pieces))
    assert found.faults == ()
    assert [(fault.path, fault.reason) for fault in shipped_faults(found)] == [
        (path, "is a runtime directory, which no provider may ship")
    ]


def test_a_provider_may_ship_what_only_looks_like_them(root: Path) -> None:
    assert shipped_faults(walked(lay(root, {".gitignore": "", "git/HEAD": "", "venv/x": "", "a.git": ""}))) == ()


# Links


@pytest.mark.parametrize(
    ("link", "target", "reason"),
    [
        ("l", "a/f", None),
        ("l", "./a/f", None),
        ("l", "a//f", None),
        ("l", "a/../a/f", None),
        ("a/l", "f", None),
        ("a/l", "../a/f", None),
        ("a/b/l", "../../SKILL.md", None),
        ("l", "chain", None),
        ("l", "..", "leads out of the skill"),
        ("l", "../x/a/f", "leads out of the skill"),
        ("l", "a/../../x/a/f", "leads out of the skill"),
        ("a/l", "../../secret", "leads out of the skill"),
        ("l", "/etc/passwd", "is absolute"),
        ("l", "//a/f", "is absolute"),
        ("l", "nothing", "leads to nothing"),
        ("l", "nothing/../a/f", "leads to nothing"),
        ("l", "a/nothing", "leads to nothing"),
        ("l", "dangling", "leads to nothing"),
        ("l", "empty", "leads to nothing"),
        ("l", "empty/../a/f", "leads to nothing"),
        ("l", "empty/f", "leads to nothing"),
        ("l", ".DS_Store", "leads to nothing"),
        ("l", "a/__pycache__/f.pyc", "leads to nothing"),
        ("l", "a/__pycache__/../f", "leads to nothing"),
        ("l", "node_modules/x", "leads to nothing"),
        ("l", "a", "leads to a directory"),
        ("l", "a/", "leads to a directory"),
        ("l", ".", "leads to a directory"),
        ("a/l", "..", "leads to a directory"),
        ("l", "a/f/", "leads through a file"),
        ("l", "a/f/.", "leads through a file"),
        ("l", "a/f/..", "leads through a file"),
        ("l", "a/f/../f", "leads through a file"),
        ("l", "to-a/f", "leads through a file"),
        ("l", "l", "leads in a circle"),
        ("l", "circle", "leads in a circle"),
        ("l", "./a/../l", "leads in a circle"),
    ],
)
def test_a_link_leads_to_a_file_of_its_skill_or_is_a_fault(
    root: Path, tmp_path: Path, link: str, target: str, reason: str | None
) -> None:
    lay(tmp_path, {"secret": "s"})
    lay(root, {"a/f": "1", "a/b/g": "2", "empty": None, ".DS_Store": "", "a/__pycache__/f.pyc": ""})
    lay(root, {"node_modules/x": "", "chain": Link("a/link"), "a/link": Link("b/g"), "dangling": Link("gone")})
    lay(root, {"circle": Link("l"), "to-a": Link("a")})
    lay(root, {link: Link(target)})
    found = walked(root)
    assert found.tree[link] == Link(target)
    assert dict(faults(found)).get(link) == (reason and f"is a link that {reason}")
    if reason is None:
        assert (root / link).is_file()


def test_links_are_kept_as_links_with_their_own_text(root: Path, tmp_path: Path) -> None:
    lay(root, {"a/f": "1", "a/../l": Link("./a/..//a/f"), "a/up": Link("../SKILL.md")})
    found = copied(root, tmp_path / "copy")
    assert found.faults == ()
    assert everything(tmp_path / "copy") == everything(root)
    assert (tmp_path / "copy/l").read_text() == "1"


def test_a_chain_of_links_is_as_long_as_every_system_follows(root: Path) -> None:
    chain: dict[str, Piece] = {f"l{number}": Link(f"l{number - 1}") for number in range(1, MAX_LINKS + 1)}
    lay(root, {"l0": "x", **chain})
    assert walked(root).faults == ()
    assert (root / f"l{MAX_LINKS}").read_text() == "x"
    lay(root, {"more": Link(f"l{MAX_LINKS}")})
    assert faults(walked(root)) == [("more", f"is a link that leads through more than {MAX_LINKS} links")]


def test_a_link_in_the_place_of_skill_md_is_a_fault(root: Path) -> None:
    (root / "SKILL.md").unlink()
    lay(root, {"a.md": "1", "SKILL.md": Link("a.md"), "sub/SKILL.md": Link("../a.md")})
    assert faults(walked(root)) == [("SKILL.md", "is a link, and has to be a regular file")]


# Links that an installer put in the place of files


def sha256(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def test_a_link_to_the_recorded_content_stands_for_its_file(root: Path, tmp_path: Path) -> None:
    pieces: dict[str, Piece] = {"SKILL.md": SKILL, "scripts/run": Executable("#!/bin/sh\n"), "empty": ""}
    recorded = {"SKILL.md": sha256(SKILL), "scripts/run": sha256("#!/bin/sh\n"), "empty": sha256("")}
    plain = walked(lay(root, pieces))
    cache = lay(tmp_path / "cache", pieces)
    for path in pieces:
        (root / path).unlink()
        (root / path).symlink_to(cache / path)
    assert walked(root, recorded) == plain
    (tmp_path / "copy").mkdir()
    with filesystem.open_directory(str(root)) as fd, filesystem.open_directory(str(tmp_path / "copy")) as copy:
        assert snapshot(fd, "x", copy_to=copy, recorded=recorded) == plain
    assert everything(tmp_path / "copy") == everything(cache)
    assert {path for path, _ in faults(walked(root))} == set(pieces)


@pytest.mark.parametrize(
    ("piece", "digest"),
    [
        (Link("../secret"), sha256("")),
        (Link("../missing"), sha256("secret")),
        (Link("../secret/below"), sha256("secret")),
        (Link(".."), sha256("secret")),
        (Link("../fifo"), sha256("secret")),
        (Link("a"), sha256("secret")),
    ],
)
def test_a_link_to_anything_else_stands_for_nothing(root: Path, tmp_path: Path, piece: Link, digest: str) -> None:
    lay(tmp_path, {"secret": "secret", "fifo": FIFO})
    lay(root, {"a": piece})
    found = walked(root, {"a": digest})
    assert faults(found) == [("a", "is a link, and does not lead to the file that was installed")]
    assert found.hash is None
    assert "a" not in found.tree


def test_a_link_without_a_recorded_hash_is_a_link(root: Path, tmp_path: Path) -> None:
    lay(tmp_path, {"secret": "secret"})
    lay(root, {"a": Link("../secret")})
    assert walked(root, {"a": ""}) == walked(root)


def test_a_file_that_is_not_what_was_recorded_is_told_and_is_content(root: Path) -> None:
    lay(root, {"a": "1", "b/c": "2", "d": "3"})
    recorded = {"a": sha256("1"), "b/c": sha256("x"), "d": ""}
    with open_directory(str(root)) as fd:
        found = snapshot(fd, "skill", recorded=recorded, judge=bytearray().extend)
    assert found.altered == ("b/c",)
    assert walked(root, recorded).altered == (), "what isn't judged is held against the lock"
    assert (found.hash, found.faults) == (walked(root).hash, ())


def test_a_hard_link_is_a_file(root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "other"
    secret.write_text("1")
    (root / "hard").hardlink_to(secret)
    found = copied(root, tmp_path / "copy")
    assert (found.tree["hard"], found.faults) == (File(hash_of(b"1")), ())
    assert (tmp_path / "copy/hard").stat().st_nlink == 1


# What no skill may hold


def test_a_fifo_and_a_socket_are_faults_and_are_never_waited_for(root: Path, tmp_path: Path) -> None:
    lay(root, {"a/fifo": FIFO, "b": SOCKET})
    found = copied(root, tmp_path / "copy")
    assert found.hash is None
    assert faults(found) == [(path, "is neither a file nor a directory") for path in ("a/fifo", "b")]
    assert everything(tmp_path / "copy") == {"SKILL.md": SKILL.encode()}


@pytest.mark.skipif(os.geteuid() != 0, reason="left out: only root can make a device")
def test_a_device_is_a_fault(root: Path) -> None:
    try:
        lay(root, {"null": DEVICE})
    except PermissionError:
        pytest.skip("left out: no devices can be made here")
    assert faults(walked(root)) == [("null", "is neither a file nor a directory")]


def test_a_name_that_is_not_utf8_is_a_fault(root: Path) -> None:
    with open(os.fsencode(root) + b"/caf\xe9", "wb"):
        pass
    os.mkdir(os.fsencode(root) + b"/d\xff")
    assert faults(walked(root)) == [(name, "has a name that is not UTF-8") for name in (r"caf\xe9", r"d\xff")]


def test_a_target_that_is_not_utf8_is_a_fault(root: Path, tmp_path: Path) -> None:
    os.symlink(b"caf\xe9", os.fsencode(root) + b"/l")
    found = copied(root, tmp_path / "copy")
    assert (faults(found), "l" in found.tree) == ([("l", "is a link whose target is not UTF-8")], False)
    assert not (tmp_path / "copy/l").is_symlink()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("README.md", "readme.md"),
        ("caf\u00e9", "cafe\u0301"),
        ("STRASSE", "stra\u00dfe"),
        ("\u01f0", "J\u030c"),
        ("SKILL.MD", "SKILL.md"),
    ],
)
@pytest.mark.parametrize("piece", ["", None], ids=["files", "directories"])
def test_names_that_are_one_where_case_does_not_count_are_a_fault(
    root: Path, one: str, other: str, piece: Piece
) -> None:
    lay(root, {f"a/{one}": piece, f"a/{other}": piece})
    if len(os.listdir(root / "a")) == 1:
        pytest.skip("left out: the file system holds them for one name")
    first, second = sorted((one, other))
    assert faults(walked(root)) == [
        (f"a/{second}", f"has the same name as `{first}` where case and accents' forms don't count")
    ]


def test_names_in_different_directories_are_never_twins(root: Path) -> None:
    assert walked(lay(root, {"a/X": "", "b/x": "", "x": ""})).faults == ()


def test_a_tree_may_have_so_many_levels_and_no_more(root: Path) -> None:
    deepest = "d/" * (MAX_DEPTH - 1)
    lay(root, {f"{deepest}f": "x"})
    assert walked(root).faults == ()
    lay(root, {f"{deepest}d/f": "x", "z/.venv/lib": "l"})
    found = walked(root)
    assert (found.hash, faults(found)) == (None, [(f"{deepest}d", f"is more than {MAX_DEPTH} levels deep")])
    assert found.runtime == ("z/.venv",)


def fill(root: Path, count: int) -> None:
    for number in range(count):
        (root / f"{number:05}").touch()


def test_a_skill_may_have_so_many_entries_and_no_more(root: Path) -> None:
    lay(root, {"d/__pycache__": None, "d/.venv": None, "d/.DS_Store": ""})
    fill(root / "d", MAX_ENTRIES - 2)  # beside SKILL.md and the directory
    assert walked(root).faults == ()
    fill(root, 1)
    lay(root, {"a-link": Link("d/00000")})
    begun = time.monotonic()
    found = walked(root)
    assert time.monotonic() - begun < 5
    assert found.hash is None
    (fault,) = found.faults
    assert fault.reason == f"is one of more than {MAX_ENTRIES} entries"


def test_a_directory_of_far_too_many_entries_is_not_read_to_its_end(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillsync.snapshot.MAX_ENTRIES", 10)
    fill(root, 50)
    opened: list[str] = []

    def count(path: str, *arguments: int, **options: int) -> int:
        opened.append(path)
        return os.open(path, *arguments, **options)

    monkeypatch.setattr("skillsync.snapshot.os", Meddled(open=count))
    assert walked(root).hash is None
    assert opened == []


def test_thousands_of_links_are_judged_quickly(root: Path) -> None:
    links: dict[str, Piece] = {f"a/b/c/l{number}": Link(f"l{number + 1}") for number in range(3000)}
    lay(root, {**links, "a/b/c/l3000": "x"})
    begun = time.monotonic()
    found = walked(root)
    assert time.monotonic() - begun < 5
    assert len(found.faults) == 3000 - MAX_LINKS


# What changes while it is read


def change_before_open(path: Path, piece: Piece, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let something else be there between the listing and the opening."""

    def swap(name: str, *arguments: int, **options: int) -> int:
        if name == path.name:
            builders.take_away(path)
            if piece != "":
                lay(path.parent, {path.name: piece})
        return os.open(name, *arguments, **options)

    monkeypatch.setattr("skillsync.snapshot.os", Meddled(open=swap))


@pytest.mark.parametrize("what", ["f", "d"])
@pytest.mark.parametrize(
    "piece",
    ["", Link("SKILL.md"), Link("../secret"), Link("/"), FIFO, SOCKET],
    ids=["nothing", "link", "link-out", "link-to-directory", "fifo", "socket"],
)
def test_what_is_swapped_before_it_is_opened_is_a_fault(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, piece: Piece
) -> None:
    lay(tmp_path, {"secret": "s"})
    lay(root, {"f": "1", "d/x": "2"})
    change_before_open(root / what, piece, monkeypatch)
    found = copied(root, tmp_path / "copy")
    assert (found.hash, faults(found)) == (None, [(what, "changed while it was read")])
    assert "s" not in {path.read_text() for path in (tmp_path / "copy").rglob("*") if path.is_file()}


def test_a_file_that_becomes_a_directory_is_a_fault(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(root, {"f": "1"})
    change_before_open(root / "f", None, monkeypatch)
    assert faults(walked(root)) == [("f", "changed while it was read")]


def test_a_directory_that_becomes_a_file_is_a_fault(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(root, {"d/x": "1"})
    change_before_open(root / "d", "a file", monkeypatch)
    assert faults(walked(root)) == [("d", "changed while it was read")]


def test_a_script_that_is_filled_after_it_was_looked_at_is_one(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(fd: int) -> os.stat_result:
        status = os.fstat(fd)
        if status.st_size == 0:
            (root / "run").write_text("#!/bin/sh\n")
        return status

    lay(root, {"run": ""})
    monkeypatch.setattr("skillsync.snapshot.os", Meddled(fstat=fill))
    found = copied(root, tmp_path / "copy")
    assert (found.tree["run"], found.facts["run"].script) == (File(hash_of(b"#!/bin/sh\n")), True)
    assert os.access(tmp_path / "copy/run", os.X_OK)


@pytest.mark.skipif(not os.path.isdir("/proc/sys/fs/inotify"), reason="no file here is said to be empty and isn't")
def test_a_file_that_its_system_says_is_empty_is_read_whole() -> None:
    directory = Path("/proc/sys/fs/inotify")
    found = walked(directory)
    assert found.tree == {path.name: File(hash_of(path.read_bytes())) for path in directory.iterdir()}


def test_a_file_that_is_listed_twice_is_read_once(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Linux's tmpfs does that with a file that is removed and made again while its directory is listed.
    @contextmanager
    def list_twice(fd: int) -> Iterator[list[os.DirEntry[str]]]:
        with os.scandir(fd) as entries:
            yield [*entries, *os.scandir(fd)]

    lay(root, {"f": "1", "d/g": "2", "l": Link("f")})
    expected = walked(root)
    monkeypatch.setattr("skillsync.snapshot.os", Meddled(scandir=list_twice))
    assert copied(root, tmp_path / "copy") == expected
    assert expected.hash


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EINVAL])
def test_a_link_that_is_gone_or_is_none_any_more_is_a_fault(
    root: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_arguments: object, **_options: object) -> str:
        raise OSError(number, os.strerror(number))

    lay(root, {"l": Link("SKILL.md")})
    monkeypatch.setattr("skillsync.snapshot.os", Meddled(readlink=fail))
    assert faults(walked(root)) == [("l", "changed while it was read")]


@pytest.mark.parametrize(
    ("call", "pieces", "path"),
    [
        ("open", {}, "x/SKILL.md"),
        ("open", {"A/f": ""}, "x/A"),
        ("readlink", {"L": Link("SKILL.md")}, "x/L"),
        ("read", {}, "x/SKILL.md"),
    ],
)
def test_an_error_of_the_system_is_no_fault_of_the_skill_and_says_where(
    root: Path, monkeypatch: pytest.MonkeyPatch, call: str, pieces: dict[str, Piece], path: str
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    lay(root, pieces)
    monkeypatch.setattr("skillsync.snapshot.os", Meddled(**{call: fail}))
    with pytest.raises(OSError, match="Input/output error") as caught:
        walked(root)
    assert (caught.value.filename, caught.value.errno) == (path, errno.EIO)


# Reads as somebody who may not: root gives up its rights once all is imported.
_UNPRIVILEGED = """
import os, sys
from skillsync.snapshot import snapshot
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    snapshot(int(sys.argv[1]), "some/skill")
except PermissionError as error:
    print(error.filename, error.strerror)
"""


@pytest.mark.parametrize("path", ["f", "d"])
def test_what_may_not_be_read_is_an_error_of_the_system(root: Path, path: str) -> None:
    lay(root, {"f": "1", "d/x": "2"})
    (root / path).chmod(0)
    try:
        with filesystem.open_directory(str(root)) as fd:
            command = [sys.executable, "-c", _UNPRIVILEGED, str(fd)]
            done = subprocess.run(command, pass_fds=[fd], capture_output=True, text=True, check=False)
    finally:
        (root / path).chmod(0o700)
    assert (done.stdout, done.stderr) == (f"some/skill/{path} Permission denied\n", "")


# Copying


def test_a_copy_is_what_was_hashed(root: Path, tmp_path: Path) -> None:
    lay(root, {"a/b/f": "1", "a/g": b"\xff\0", "l": Link("a/g"), "e/m/p/ty": None, "a/h": "2"})
    found = copied(root, tmp_path / "copy")
    assert found == walked(root) == walked(tmp_path / "copy")
    expected = {path: content for path, content in everything(root).items() if not path.startswith("e")}
    assert everything(tmp_path / "copy") == expected


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_an_installed_file_has_the_usual_mode_whatever_the_provider_s_is(
    root: Path, tmp_path: Path, umask: int
) -> None:
    lay(root, {"script": "#!/bin/sh\n", "plain": "text", "run": "text", "d/private": "text", "d/open": "text"})
    for name, mode in {"script": 0o444, "plain": 0o664, "run": 0o700, "d/private": 0o600, "d/open": 0o4666}.items():
        (root / name).chmod(mode)
    (root / "d").chmod(0o700)
    os.utime(root / "plain", (0, 0))
    before = os.umask(umask)
    try:
        copied(root, tmp_path / "copy")
    finally:
        os.umask(before)
    modes = {str(path.relative_to(tmp_path / "copy")): path.stat().st_mode for path in (tmp_path / "copy").rglob("*")}
    assert {path: oct(stat.S_IMODE(mode)) for path, mode in modes.items()} == {
        "SKILL.md": oct(0o644 & ~umask),
        "script": oct(0o755 & ~umask),
        "run": oct(0o755 & ~umask),
        "plain": oct(0o644 & ~umask),
        "d": oct(0o777 & ~umask),
        "d/private": oct(0o644 & ~umask),
        "d/open": oct(0o644 & ~umask),
    }
    assert (tmp_path / "copy/plain").stat().st_mtime > 0


def test_a_large_file_is_read_once_and_in_chunks(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = os.urandom(700_001)
    lay(root, {"large": content})
    read: list[int] = []

    def note(fd: int, size: int) -> bytes:
        chunk = os.read(fd, size)
        read.append(len(chunk))
        return chunk

    monkeypatch.setattr("skillsync.snapshot.os", Meddled(read=note))
    found = copied(root, tmp_path / "copy")
    assert found.tree["large"] == File(hash_of(content))
    assert (tmp_path / "copy/large").read_bytes() == content
    assert sum(read) == len(content) + len(SKILL)
    assert max(read) < len(content)


def test_a_copy_that_fails_leaves_no_descriptor_open(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_fd: int, _content: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    lay(root, {"a/b/f": "1"})
    before = len(os.listdir("/dev/fd"))
    monkeypatch.setattr("skillsync.filesystem.os", Meddled(write=fail))
    with pytest.raises(OSError, match="No space left") as caught:
        copied(root, tmp_path / "copy")
    assert caught.value.filename == "SKILL.md"  # below the copy's own directory
    assert len(os.listdir("/dev/fd")) == before
