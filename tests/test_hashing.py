from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import builders
import pytest
from blake3 import blake3
from builders import Executable, lay, quickly, walked

from skillsync.hashing import MAX_LINKS, Entry, File, Link, Tree, directories_of, parents, resolve_link, tree_hash

ROOT = Path(__file__).parent.parent
FILE = File("blake3:" + "00" * 32)


@dataclass(frozen=True)
class Vector:
    name: str
    tree: dict[str, dict[str, str | int | bool]]
    files: dict[str, str]
    hash: str

    def content(self, path: str) -> bytes:
        entry = self.tree[path]
        if "hex" in entry:
            return bytes.fromhex(str(entry["hex"]))
        return str(entry["text"]).encode() * int(entry.get("repeat", 1))

    @property
    def pieces(self) -> builders.Pieces:
        """What has to be on disk."""
        found: builders.Pieces = {}
        for path, entry in self.tree.items():
            if "link" in entry:
                found[path] = Link(str(entry["link"]))
            else:
                found[path] = Executable(self.content(path)) if entry.get("executable") else self.content(path)
        return found


VECTORS = [
    Vector(**{key: value for key, value in vector.items() if key != "why"})
    for vector in json.loads((ROOT / "docs/vectors.json").read_text(encoding="utf-8"))
]
BY_NAME = {vector.name: vector for vector in VECTORS}
each_vector = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)


@each_vector
def test_the_hash_of_files_and_links_is_the_vectors(vector: Vector) -> None:
    links = {path: Link(str(entry["link"])) for path, entry in vector.tree.items() if "link" in entry}
    files = {path: builders.digest(vector.content(path)) for path in vector.tree if path not in links}
    assert files == vector.files
    assert tree_hash({**links, **{path: File(digest) for path, digest in files.items()}}) == vector.hash


@each_vector
def test_the_hash_of_what_is_on_disk_is_the_vectors(vector: Vector, tmp_path: Path) -> None:
    found = walked(lay(tmp_path / "skill", vector.pieces))
    assert found.faults == ()
    assert found.hash == vector.hash
    assert {path: entry.hash for path, entry in found.tree.items() if isinstance(entry, File)} == vector.files


@each_vector
def test_the_published_program_computes_the_vectors_hash(vector: Vector, tmp_path: Path) -> None:
    assert run_published(lay(tmp_path / "skill", vector.pieces), tmp_path) == vector.hash


def test_the_published_program_leaves_out_what_skillsync_leaves_out(tmp_path: Path) -> None:
    ignored: builders.Pieces = {
        "__pycache__/h.pyc": "x",
        "a/.pytest_cache/x": "x",
        "a/.mypy_cache/x": "x",
        ".ruff_cache/x": "x",
        ".DS_Store": "x",
        "a/Thumbs.db": "x",
        ".git/config": "x",
        "a/.venv/link": Link("/"),
        "a/node_modules/x/x.js": "x",
        "empty/directory": None,
    }
    content: builders.Pieces = {"SKILL.md": "# x\n", "a/b.md": "x", "a/.DS_Store/x": "x", "b/__pycache__": "x"}
    skill = lay(tmp_path / "skill", {**content, **ignored})
    found = walked(skill)
    assert set(found.tree) == set(content)
    assert run_published(skill, tmp_path) == found.hash


def run_published(skill: Path, directory: Path) -> str:
    """Run the program of the page on a directory, in a Python without skillsync's code."""
    program = directory / "hash.py"
    program.write_text(published(), encoding="utf-8")
    done = subprocess.run(
        (sys.executable, str(program), str(skill)), capture_output=True, text=True, check=True, cwd=directory
    )
    return done.stdout.strip()


def published() -> str:
    page = (ROOT / "docs/hash.md").read_text(encoding="utf-8")
    (program,) = (block.partition("```")[0] for block in page.split("```python\n")[1:])
    return program


def test_the_published_program_is_short_and_needs_blake3_alone() -> None:
    lines = [line for line in published().splitlines() if line.strip()]
    assert len(lines) <= 25
    assert [line for line in lines if "import" in line.split()] == ["import os, sys", "from blake3 import blake3"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a script that isn't executable", "a script that is executable", True),
        ("a link", "the file that a link leads to, in its place", False),
        ("an accent as one character", "an accent as a character of its own", False),
        ("lines that end in LF", "lines that end in CRLF", False),
    ],
)
def test_what_counts_and_what_does_not(one: str, other: str, *, same: bool) -> None:
    assert (BY_NAME[one].hash == BY_NAME[other].hash) is same


def test_blake3_is_blake3() -> None:
    assert builders.digest("") == "blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"


def test_the_bytes_that_are_hashed_are_framed() -> None:
    content = b"\x11" * 32
    tree: Tree = {"b": Link("a/c"), "a/c": File("blake3:" + content.hex())}
    file = b"f\x03\0\0\0\0\0\0\0a/c" + content
    link = b"l\x01\0\0\0\0\0\0\0b\x03\0\0\0\0\0\0\0a/c"
    assert tree_hash(tree) == "blake3:" + blake3(b"skillsync-tree-v1\0" + file + link).hexdigest()


def test_the_order_in_which_entries_are_given_does_not_count() -> None:
    entries: list[tuple[str, Entry]] = [("a", FILE), ("a.b", Link("a")), ("a/b", FILE), ("\uffee", FILE)]
    assert len({tree_hash(dict(order)) for order in permutations(entries)}) == 1


def test_parents_are_the_directories_above() -> None:
    assert parents("a/b/c") == ("a", "a/b")
    assert parents("a") == ()


def test_directories_are_those_that_hold_content_at_any_depth() -> None:
    assert directories_of({"a/b/c": FILE, "a/d": Link("b/c"), "e": FILE}) == {"a", "a/b"}


SKILL: Tree = {
    "SKILL.md": FILE,
    "a/b/deep.md": FILE,
    "a/side.md": FILE,
    "link.md": Link("a/side.md"),
    "a/again.md": Link("../link.md"),
    "circle": Link("circle"),
    "one": Link("two"),
    "two": Link("one"),
}


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("x", "SKILL.md"),
        ("x", "./SKILL.md"),
        ("x", "a/b/deep.md"),
        ("x", "a//b/./deep.md"),
        ("x", "a/b/../side.md"),
        ("a/x", "side.md"),
        ("a/x", "../SKILL.md"),
        ("a/b/x", "../../a/b/deep.md"),
        ("x", "link.md"),
        ("x", "a/again.md"),
    ],
)
def test_a_link_to_a_file_of_the_skill_is_safe(path: str, target: str) -> None:
    assert resolve_link(path, target, {**SKILL, path: Link(target)}) is None


@pytest.mark.parametrize(
    ("path", "target", "reason"),
    [
        ("x", "/etc/passwd", "is absolute"),
        ("x", "/", "is absolute"),
        ("x", "../secret", "leads out of the skill"),
        ("x", "..", "leads out of the skill"),
        ("x", "../skill/SKILL.md", "leads out of the skill"),
        ("x", "a/../../skill/SKILL.md", "leads out of the skill"),
        ("x", "./../skill/SKILL.md", "leads out of the skill"),
        ("x", "a//.././../skill/SKILL.md", "leads out of the skill"),
        ("a/x", "../../skill/SKILL.md", "leads out of the skill"),
        ("x", "nothing", "leads to nothing"),
        ("x", "a/nothing", "leads to nothing"),
        ("x", "nothing/../SKILL.md", "leads to nothing"),
        ("x", "a/nothing/../side.md", "leads to nothing"),
        ("x", "a", "leads to a directory"),
        ("x", "a/", "leads to a directory"),
        ("x", ".", "leads to a directory"),
        ("a/x", "..", "leads to a directory"),
        ("x", "SKILL.md/", "leads through a file"),
        ("x", "SKILL.md/.", "leads through a file"),
        ("x", "SKILL.md/../SKILL.md", "leads through a file"),
        ("x", "link.md/x", "leads through a file"),
        ("x", "x", "leads in a circle"),
        ("x", "one", "leads in a circle"),
        ("a/x", "../circle", "leads in a circle"),
    ],
)
def test_any_other_link_is_unsafe(path: str, target: str, reason: str) -> None:
    assert resolve_link(path, target, {**SKILL, path: Link(target)}) == reason


def chain(length: int) -> Tree:
    return {"0": FILE, **{str(number): Link(str(number - 1)) for number in range(1, length + 1)}}


def test_a_chain_of_links_is_followed_as_far_as_any_system_follows_one() -> None:
    assert MAX_LINKS == 32
    tree = chain(MAX_LINKS + 1)
    assert resolve_link(str(MAX_LINKS), str(MAX_LINKS - 1), tree) is None
    assert resolve_link(str(MAX_LINKS + 1), str(MAX_LINKS), tree) == f"leads through more than {MAX_LINKS} links"


def test_many_links_take_no_time() -> None:
    tree = {**chain(9_000), **{f"a/{number}/b/c/d": FILE for number in range(1_000)}}
    with quickly():
        directories = directories_of(tree)
        for path, entry in tree.items():
            if isinstance(entry, Link):
                resolve_link(path, entry.target, tree, directories)
