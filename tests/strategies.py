"""Arbitrary values of the domain: whatever skillsync itself could have made or may have to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from skillsync.hashing import SCHEME, SKILL_FILE, File, Link, parents, tree_hash
from skillsync.locking.lockfile import LockedProvider, LockedSkill, Lockfile
from skillsync.schema import line_fault, name_fault, path_fault
from skillsync.syncing.registry import Registry, Row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillsync.hashing import Entry, Tree

# Texts that some reader takes for something else, or that mean something to one of the formats.
_AWKWARD = (
    *("1.0", "1e3", "0755", "0x1f", "123", "null", "~", "no", "y", "2001-01-01", "2001-1-1", "=", "<<", "''", '"'),
    *(
        "a: b",
        "a #b",
        "# a",
        "- a",
        "? a",
        "[a",
        "{a",
        "*a",
        "&a",
        "!a",
        "%a",
        "@a",
        "`a",
        "|",
        ">",
        "\\",
        "\\n",
        "--- a",
    ),
    *("é", "e\u0301", "漢", "\U0001f600", "\u2028", "\x85", "\xa0", "\u202e", "\ufeff", "\ufe0f", "\ufffe", "a" * 200),
)
_ALPHABET = st.characters(exclude_categories=["Cs"])

names = st.from_regex(r"[a-z0-9]{1,3}(-[a-z0-9]{1,2}){0,2}", fullmatch=True).filter(lambda name: not name_fault(name))
lines = (st.text(_ALPHABET, max_size=12) | st.sampled_from(_AWKWARD)).filter(lambda text: not line_fault(text))
hashes = st.binary(min_size=32, max_size=32).map(lambda digest: SCHEME + digest.hex())
paths = (
    st.lists(st.text(_ALPHABET, min_size=1, max_size=6) | st.sampled_from(_AWKWARD), min_size=1, max_size=3)
    .map("/".join)
    .filter(lambda path: not path_fault(path))
)
entries: st.SearchStrategy[Entry] = st.builds(File, hashes) | st.builds(Link, st.text(_ALPHABET, max_size=12) | paths)


def _as_on_disk(tree: Tree) -> Tree:
    """Leave out what lies below another entry: nothing is a file and a directory."""
    return {path: entry for path, entry in tree.items() if not any(above in tree for above in parents(path))}


trees = st.dictionaries(paths, entries, max_size=5).map(_as_on_disk)
skills_trees = st.builds(lambda tree, file: _as_on_disk({**tree, SKILL_FILE: file}), trees, st.builds(File, hashes))
locked_skills = st.builds(
    lambda name, tree: LockedSkill(name=name, hash=tree_hash(tree), tree=tree), names, skills_trees
)


def _lockfile(providers: Iterable[LockedProvider]) -> Lockfile:
    """Leave out what would be there twice."""
    found: dict[str, LockedProvider] = {}
    taken: set[str] = set()
    for provider in providers:
        skills = {skill.name: skill for skill in provider.skills if skill.name not in taken}
        if skills and provider.key not in found:
            taken |= skills.keys()
            found[provider.key] = LockedProvider(
                ecosystem=provider.ecosystem,
                name=provider.name,
                version=provider.version,
                skills=tuple(skills[name] for name in sorted(skills)),
            )
    in_order = sorted(found.values(), key=lambda provider: (provider.ecosystem, provider.name))
    return Lockfile(providers=tuple(in_order))


lockfiles = st.lists(
    st.builds(
        LockedProvider,
        ecosystem=st.sampled_from(["gem", "pypi", "npm"]),
        name=lines,
        version=lines,
        skills=st.lists(locked_skills, max_size=3).map(tuple),
    ),
    max_size=3,
).map(_lockfile)
rows = st.builds(
    Row,
    ecosystem=st.sampled_from(["gem", "pypi", "npm"]),
    package=lines,
    version=st.none() | lines,
    hash=st.none() | hashes,
)
registries = st.builds(Registry, rows=st.dictionaries(names, rows, max_size=5))
