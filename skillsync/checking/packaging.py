"""What makes a build take a tree's skills in, by the tool that builds it.

Invariants: pure; one setting for all skills of a tree, since a key stands in a table once.
"""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from skillsync.discovery import PYPI
from skillsync.hashing import Link

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from skillsync.checking.offer import Offer, Shipped

# What npm packs under no setting, by the names of files and directories.
_NEVER_PACKED = (
    *(".gitignore", ".npmignore", ".npmrc", ".lock-wscript", "npm-debug.log", ".DS_Store", ".git", ".svn", "CVS"),
    *("*.orig", ".*.swp", "._*"),
)


def mend(tree: Offer, skill: Shipped, missing: Collection[str] = ()) -> str:
    """Return what makes a build take in a skill, or the files of it that are missing, as paths in its directory."""
    if tree.package.ecosystem == "gem":
        return _gem(tree)
    if tree.package.ecosystem == PYPI:
        return _python(tree)
    return _npm(tree, skill, missing)


def _gem(tree: Offer) -> str:
    files = [
        f'Dir.glob("{place}/**/*", File::FNM_DOTMATCH)' if is_dotted else f'Dir["{place}/**/*"]'
        for place, is_dotted in _places(tree)
    ]
    return (
        f"in {tree.about}, add them to the files: `spec.files += {' + '.join(files)}`; "
        "where these come from `git ls-files`, `git add` the skill"
    )


def _npm(tree: Offer, skill: Shipped, missing: Collection[str]) -> str:
    entries = skill.snapshot.tree if skill.snapshot else {}
    if any(isinstance(entries[path], Link) for path in missing):
        return "npm leaves links out: put files in their place"
    if missing and all(_is_never_packed(path) for path in missing):
        return "npm packs no files of these names: leave them out, or call them otherwise"
    if tree.identity.files is None:
        return "see that no .npmignore or .gitignore leaves it out"
    places = " and ".join(f'"{place}"' for place, _ in _places(tree))
    return f"in package.json, add {places} to `files`; see that no .npmignore or .gitignore leaves it out"


def _is_never_packed(path: str) -> bool:
    return any(fnmatchcase(part, pattern) for part in path.split("/") for pattern in _NEVER_PACKED)


def _python(tree: Offer) -> str:
    builder = next((does for name, does in _BUILDERS.items() if tree.identity.backend.startswith(name)), None)
    if builder is None:
        return "include it as package data, in the settings of your build backend; see that no .gitignore leaves it out"
    return f"in pyproject.toml, {builder(tree)}"


def _setuptools(tree: Offer) -> str:
    """Setuptools looks for data below import packages, and its patterns pass over what begins with a dot."""
    packages: dict[str, list[str]] = {}
    for place, is_dotted in _places(tree):
        inner = ".agents/skills" if place.endswith("/.agents/skills") else "skills"
        package = _without_root(tree, place).removesuffix(f"/{inner}").replace("/", ".")
        patterns = ["**/*", *(("**/.*", "**/.*/**/*") if is_dotted else ())]
        packages.setdefault(package, []).extend(f"{inner}/{pattern}" for pattern in patterns)
    rows = (f'"{package}" = [{_listed(patterns)}]' for package, patterns in packages.items())
    return f"[tool.setuptools.package-data]: {'; '.join(rows)}"


def _hatchling(tree: Offer) -> str:
    return f"[tool.hatch.build]: artifacts = [{_listed(f'/{place}/**' for place, _ in _places(tree))}]"


def _poetry(tree: Offer) -> str:
    rows = (f'{{ path = "{place}/**/*", format = ["sdist", "wheel"] }}' for place, _ in _places(tree))
    return f"[tool.poetry]: include = [{', '.join(rows)}]"


def _pdm(tree: Offer) -> str:
    return f"[tool.pdm.build]: includes = [{_listed(f'{place}/**/*' for place, _ in _places(tree))}]"


# By how the name of a build backend begins.
_BUILDERS = {"setuptools": _setuptools, "hatchling": _hatchling, "poetry": _poetry, "pdm": _pdm}


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def _without_root(tree: Offer, place: str) -> str:
    *_, inner = tree.identity.installed(place)
    return inner


def _places(tree: Offer) -> Iterator[tuple[str, bool]]:
    """Yield the directories of a tree's skills, and whether a name in there begins with a dot."""
    found: dict[str, bool] = {}
    for skill in tree.skills:
        place = posixpath.dirname(skill.found.path)
        entries = skill.snapshot.tree if skill.snapshot else ()
        found[place] = found.get(place, False) or any("/." in f"/{path}" for path in entries)
    yield from found.items()
