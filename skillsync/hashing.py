"""A skill's content as a value, and its one hash.

Invariants: pure; the hash depends on paths, bytes and link targets alone, never on modes, times or the order on disk;
it is framed, so that two different trees never feed the same bytes to BLAKE3 (docs/hash.md has the recipe).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from blake3 import blake3

from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

SCHEME = "blake3:"
SKILL_FILE = "SKILL.md"  # what makes a directory a skill
# The shortest chain of links that a supported system refuses to follow is longer (macOS's has 33, Linux's 41).
MAX_LINKS = 32
_VERSION = b"skillsync-tree-v1\0"


class File(Value, kw_only=False):
    """A regular file, by the hash of its bytes (`blake3:<hex>`)."""

    hash: str


class Link(Value, kw_only=False):
    """A symbolic link inside the skill, by the text of its target."""

    target: str


Entry = File | Link
Tree = dict[str, Entry]  # by path relative to the skill's directory, joined with `/`


def tree_hash(tree: Mapping[str, Entry]) -> str:
    """Return the hash of a skill's tree (`blake3:<hex>`)."""
    parts = [_VERSION]
    for path, entry in sorted((path.encode(), entry) for path, entry in tree.items()):
        name = len(path).to_bytes(8, "little") + path
        if isinstance(entry, File):
            parts += (b"f", name, bytes.fromhex(entry.hash.removeprefix(SCHEME)))
        else:
            target = entry.target.encode()
            parts += (b"l", name, len(target).to_bytes(8, "little"), target)
    return SCHEME + blake3(b"".join(parts)).hexdigest()


def resolve_link(
    path: str, target: str, tree: Mapping[str, Entry], directories: AbstractSet[str] | None = None
) -> str | None:
    """Return why the link at `path` is unsafe, or None if it leads to a regular file of the same tree.

    `tree` holds every entry of the skill; `directories` are those of the tree, for who asks about many links. The way
    there goes only through directories that hold content: an empty directory is not copied, so a link through one would
    dangle in the copy.
    """
    known = directories_of(tree) if directories is None else directories
    seen: set[str] = set()
    while len(seen) < MAX_LINKS:
        if path in seen:
            return "leads in a circle"
        seen.add(path)
        found = _follow(path, target, tree, known)
        if isinstance(found, Fault):
            return found.reason
        entry = tree[found]
        if isinstance(entry, File):
            return None
        path, target = found, entry.target
    return f"leads through more than {MAX_LINKS} links"


def directories_of(tree: Mapping[str, Entry]) -> frozenset[str]:
    """Return the directories that hold content, at any depth."""
    return frozenset(prefix for path in tree for prefix in parents(path))


class Fault(Value, kw_only=False):
    """Why a link can't be followed."""

    reason: str


def _follow(path: str, target: str, tree: Mapping[str, Entry], directories: AbstractSet[str]) -> str | Fault:
    """Return the entry that a link's text leads to, one step."""
    if target.startswith("/"):
        return Fault("is absolute")
    place = path.split("/")[:-1]
    if _leaves(len(place), target):
        return Fault("leads out of the skill")
    at_file = False
    for part in target.split("/"):
        if at_file or ("/".join(place) not in directories and place):
            return Fault("leads to nothing" if not at_file else "leads through a file")
        if part == "..":
            place.pop()
        elif part not in {"", "."}:
            place.append(part)
            at_file = "/".join(place) in tree
    if at_file:
        return "/".join(place)
    return Fault("leads to a directory" if "/".join(place) in directories or not place else "leads to nothing")


def _leaves(depth: int, target: str) -> bool:
    """Whether a relative path climbs above the tree's root on its way, as text alone."""
    for part in target.split("/"):
        if part == "..":
            depth -= 1
        elif part not in {"", "."}:
            depth += 1
        if depth < 0:
            return True
    return False


def parents(path: str) -> tuple[str, ...]:
    """Return the directories above a path, the outermost first: `a` and `a/b` for `a/b/c`."""
    directory = path.rpartition("/")[0]
    return _down_to(directory) if directory else ()


@lru_cache(8192)
def _down_to(directory: str) -> tuple[str, ...]:
    parts = directory.split("/")
    return tuple("/".join(parts[:count]) for count in range(1, len(parts) + 1))
