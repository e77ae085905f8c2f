"""What makes a build take a tree's skills in, by the tool that builds it.

Invariants: pure; one setting for all skills of a tree, since a key stands in a table once.
"""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from skillsync.checking import backends
from skillsync.checking.wanted import are_few, wanted
from skillsync.discovery import PYPI
from skillsync.hashing import Link

if TYPE_CHECKING:
    from collections.abc import Collection

    from skillsync.checking.offer import Offer, Shipped
    from skillsync.checking.wanted import Wanted

# What npm packs under no setting, by the names of files and directories.
_NEVER_PACKED = (
    *(".gitignore", ".npmignore", ".npmrc", ".lock-wscript", "npm-debug.log", ".DS_Store", ".git", ".svn", "CVS"),
    *("*.orig", ".*.swp", "._*"),
)


def mend(tree: Offer, skill: Shipped, missing: Collection[str] = ()) -> str:
    """Return what makes a build take in a skill, or the files of it that are missing, as paths in its directory."""
    if tree.package.ecosystem == "gem":
        return _gem(tree, skill, wanted(tree, skill, missing))
    if tree.package.ecosystem == PYPI:
        return backends.mend(tree.identity, wanted(tree, skill, missing))
    return _npm(tree, skill, missing)


def _gem(tree: Offer, skill: Shipped, files: Wanted) -> str:
    """Ruby's patterns pass over dots, unless they are told not to."""
    named, listed = list(files.files), []
    for place, dotted in () if files.files else files.places.items():
        is_named = are_few(dotted)
        listed.append(f'Dir["{place}/**/*"]' if is_named else f'Dir.glob("{place}/**/*", File::FNM_DOTMATCH)')
        named += dotted if is_named else ()
    if named:
        listed.append(f"[{', '.join(map(_quoted, named))}]")
    return (
        f"in {tree.about}, at the end of its block: `{tree.identity.variable}.files += {' + '.join(listed)}`; "
        f"where the files come from `git ls-files`, `git add{' --force' if skill.is_ignored else ''}` the skill instead"
    )


def _npm(tree: Offer, skill: Shipped, missing: Collection[str]) -> str:
    entries = skill.snapshot.tree if skill.snapshot else {}
    if any(isinstance(entries[path], Link) for path in missing):
        return "npm leaves links out: put files in their place"
    if missing and all(_is_never_packed(path) for path in missing):
        return "npm packs no files of these names: leave them out, or call them otherwise"
    if tree.identity.files is None:
        return "see that no .npmignore or .gitignore leaves it out"
    places = " and ".join(map(_quoted, dict.fromkeys(posixpath.dirname(one.found.path) for one in tree.skills)))
    return f"in package.json, add {places} to `files`; see that no .npmignore or .gitignore leaves it out"


def _is_never_packed(path: str) -> bool:
    return any(fnmatchcase(part, pattern) for part in path.split("/") for pattern in _NEVER_PACKED)


def _quoted(text: str) -> str:
    return f'"{text}"'
