"""What makes a build take a tree's skills in, by the tool that builds it.

Invariants: pure; one setting for all skills of a tree, since a key stands in a table once.
"""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from skillsync.checking import backends
from skillsync.checking.offer import few, problem
from skillsync.checking.wanted import are_few, wanted
from skillsync.discovery import PYPI
from skillsync.errors import Code, Problem
from skillsync.hashing import Link, parents

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from skillsync.checking.offer import Offer, Shipped
    from skillsync.checking.wanted import Wanted

# What npm packs under no setting, by the names of files and directories.
_NEVER_PACKED = (
    *(".gitignore", ".npmignore", ".npmrc", ".lock-wscript", "npm-debug.log", ".DS_Store", ".git", ".svn", "CVS"),
    *("*.orig", ".*.swp", "._*"),
)

_COMPILED = (".pyc", ".pyo")


def mend(tree: Offer, skill: Shipped, missing: Collection[str] = ()) -> str:
    """Return what makes a build take in a skill, or the files of it that are missing, as paths in its directory."""
    if missing and all(path.endswith(_COMPILED) for path in missing):
        return "Python makes these where it runs: take them out of the skill"
    if tree.package.ecosystem == "gem":
        return _gem(tree, skill, wanted(tree, skill, missing))
    if skill.found.is_link or _links(skill, missing):
        builder = "npm" if tree.package.ecosystem == "npm" else "the build"
        wants = "the skill itself in its place" if skill.found.is_link else "files in their place"
        return f"{builder} leaves links out: put {wants}"
    if tree.package.ecosystem == PYPI:
        return backends.mend(tree.identity, wanted(tree, skill, missing))
    return _npm(tree, missing)


def _gem(tree: Offer, skill: Shipped, files: Wanted) -> str:
    """Ruby's patterns pass over dots, unless they are told not to."""
    named, listed = list(files.files), []
    for place, dotted in () if files.files else files.places.items():
        is_named = are_few(dotted)
        listed.append(f'Dir["{place}/**/*"]' if is_named else f'Dir.glob("{place}/**/*", File::FNM_DOTMATCH)')
        named += dotted if is_named else ()
    if named:
        listed.append(f"[{', '.join(map(_quoted, named))}]")
    forced = " --force" if skill.is_ignored else ""
    added = f"{tree.identity.variable}.files += {' + '.join(listed)}"
    return (
        f"in {tree.about}, at the end of its block: `{added}`; where the files come from `git ls-files`, "
        f"`git add{forced}` the skill instead, and see that nothing rejects it"
    )


def left_out(tree: Offer) -> Iterator[Problem]:
    """Yield what npm surely leaves out of what a tree ships, so that nothing has to be built to know it."""
    is_packed = tree.package.ecosystem == "npm" and not tree.is_artifact and not tree.identity.directory
    skills = tree.skills if is_packed else ()
    named = tree.identity.may_pack(skill.found.path for skill in skills)
    naming = _npm(tree, ())
    for skill in skills:
        entries = skill.snapshot.tree if skill.snapshot else {}
        never = [path for path, entry in entries.items() if isinstance(entry, Link) or _is_never_packed(path)]
        if skill.found.path not in named:
            text, hint = f"is not named by `files` in {tree.about}", naming
        elif missing := [path for path in never if path not in skill.unshared]:
            text, hint = f"is packed without {few(missing)}", mend(tree, skill, missing)
        else:
            continue
        yield problem(tree.package, Code.SKILL_NOT_PACKAGED, skill.found.path, text, hint=hint, skill=skill.found.name)


def _links(skill: Shipped, paths: Iterable[str]) -> bool:
    """Whether a skill has a link at one of the paths."""
    entries = skill.snapshot.tree if skill.snapshot else {}
    return any(isinstance(entries.get(path), Link) for path in paths)


def _npm(tree: Offer, missing: Collection[str]) -> str:
    if missing and all(_is_never_packed(path) for path in missing):
        return "npm packs no files of these names: leave them out, or call them otherwise"
    if tree.identity.directory:
        return (
            f"have your build put it into `{tree.identity.directory}`, which pnpm publishes: `publishConfig.directory`"
        )
    if tree.identity.files is None:
        return "see that no .npmignore or .gitignore leaves it out"
    places = dict.fromkeys(posixpath.dirname(one.found.path) for one in tree.skills)
    if left := [one for one in places if not _is_named(tree.identity.files, one)]:
        added = " and ".join(map(_quoted, left))
        return f"in package.json, add {added} to `files`; see that no .npmignore or .gitignore leaves it out"
    return (
        "see that no `!` in `files` of package.json, and no .npmignore or .gitignore "
        f"in {' or '.join(f'{one}/' for one in places)}, leaves it out"
    )


def _is_named(files: Iterable[str], directory: str) -> bool:
    """Whether npm's `files` names a directory, or one that it is in, as it stands."""
    known = {one.removeprefix("./").strip("/") for one in files}
    return not known.isdisjoint((directory, *parents(directory)))


def _is_never_packed(path: str) -> bool:
    return any(fnmatchcase(part, pattern) for part in path.split("/") for pattern in _NEVER_PACKED)


def _quoted(text: str) -> str:
    return f'"{text}"'
