"""What of a tree's skills is in the artifact that was built of it: the commonest fault is that nothing is.

Invariants: pure; what is missing is said of the tree, where it is mended, with the setting of the tool that builds it.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from skillsync.checking.offer import problem
from skillsync.discovery import PYPI
from skillsync.errors import Code, Problem, Severity
from skillsync.hashing import MAX_LINKS, File, Link

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skillsync.checking.offer import Offer, Shipped
    from skillsync.hashing import Entry, Tree

_MOST = 5
# By how the name of a build backend begins; {package} is the import package, {place} the skills directory in it, {path}
# the same in the tree.
_PYTHON = {
    "setuptools": 'in pyproject.toml, [tool.setuptools.package-data]: "{package}" = ["{place}/**/*"]',
    "hatchling": 'in pyproject.toml, [tool.hatch.build]: artifacts = ["/{path}/**"]',
    "poetry": 'in pyproject.toml, [tool.poetry]: include = [{{ path = "{path}/**/*", format = ["sdist", "wheel"] }}]',
    "pdm": 'in pyproject.toml, [tool.pdm.build]: includes = ["{path}/**/*"]',
}


def pairs(offers: Iterable[Offer]) -> list[tuple[Offer, Offer]]:
    """Return each artifact with the tree that it is of: the one of its name, or the only one of its ecosystem."""
    known = list(offers)
    trees = [one for one in known if not one.is_artifact]
    found = []
    for artifact in known:
        if artifact.is_artifact and artifact.is_read:
            alike = [one for one in trees if one.package.ecosystem == artifact.package.ecosystem]
            named = [one for one in alike if one.package.name == artifact.package.name] or alike
            if len(named) == 1:
                found.append((named[0], artifact))
    return found


def compared(tree: Offer, artifact: Offer) -> Iterator[Problem]:
    """Yield what differs between the skills of a tree and those of an artifact of it."""
    built = {one.found.name: one for one in artifact.skills}
    for shipped in tree.skills:
        if other := built.pop(shipped.found.name, None):
            yield from _of_skill(tree, artifact, shipped, other)
        else:
            yield _missing(tree, artifact, shipped)
    for other in built.values():
        text = f"is not in {tree.package.source}: the artifact is of another state"
        yield problem(
            artifact.package,
            Code.ARTIFACT_DIFFERS,
            other.found.path,
            text,
            severity=Severity.WARNING,
            hint="build it again",
            skill=other.found.name,
        )


def _missing(tree: Offer, artifact: Offer, shipped: Shipped) -> Problem:
    skill = shipped.found
    text = f"is not in {artifact.package.source}"
    at = [one for one in artifact.elsewhere if one.rpartition("/")[2] == skill.name]
    if at:
        text = f"is in {artifact.package.source} as {at[0]}, where no consumer looks"
    hint = mend(tree, skill.path)
    return problem(tree.package, Code.SKILL_NOT_PACKAGED, skill.path, text, hint=hint, skill=skill.name)


def _of_skill(tree: Offer, artifact: Offer, shipped: Shipped, other: Shipped) -> Iterator[Problem]:
    if shipped.snapshot is None or other.snapshot is None:
        return
    skill, where = shipped.found, artifact.package.source
    mine, its = shipped.snapshot.tree, other.snapshot.tree
    missing = [path for path in mine if path not in its]
    changed = [
        path for path, entry in mine.items() if path in its and its[path] not in {entry, _content(mine, path, entry)}
    ]
    if missing:
        hint = mend(tree, skill.path)
        if tree.package.ecosystem == "npm" and any(isinstance(mine[path], Link) for path in missing):
            hint = "npm leaves links out: put files in their place"
        text = f"is in {where} without {_few(missing)}"
        yield problem(tree.package, Code.SKILL_NOT_PACKAGED, skill.path, text, hint=hint, skill=skill.name)
    if changed:
        text = f"has other content in {where}: {_few(changed)}"
        yield problem(tree.package, Code.ARTIFACT_DIFFERS, skill.path, text, hint="build it again", skill=skill.name)
    if more := [path for path in its if path not in mine]:
        text = f"has more in {where}: {_few(more)}"
        yield problem(
            tree.package,
            Code.ARTIFACT_DIFFERS,
            skill.path,
            text,
            severity=Severity.WARNING,
            hint="build it again; if the build makes them, this is well",
            skill=skill.name,
        )


def _content(tree: Tree, path: str, entry: Entry) -> Entry:
    """Return the file that an entry stands for: many builds put one in a link's place."""
    for _ in range(MAX_LINKS):
        if isinstance(entry, File):
            break
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path), entry.target))
        if path not in tree:
            break
        entry = tree[path]
    return entry


def _few(paths: Sequence[str]) -> str:
    found = sorted(paths)
    more = [f"and {len(found) - _MOST} more"] if len(found) > _MOST else []
    return ", ".join([*found[:_MOST], *more])


def mend(tree: Offer, skill: str) -> str:
    """Return what makes a build take a skill in."""
    place = skill.rpartition("/")[0]
    if tree.package.ecosystem == "gem":
        return (
            f'in {tree.about}, add them to the files: `spec.files += Dir["{place}/**/*"]`; '
            "where these come from `git ls-files`, `git add` the skill"
        )
    if tree.package.ecosystem != PYPI:
        return f'in package.json, add "{place}" to `files`; see that no .npmignore or .gitignore leaves it out'
    inner = ".agents/skills" if place.endswith("/.agents/skills") else "skills"
    package = place.removeprefix("src/").removesuffix(f"/{inner}").replace("/", ".")
    words = {"package": package, "place": inner, "path": place}
    known = next((hint for name, hint in _PYTHON.items() if tree.backend.startswith(name)), None)
    if known is None:
        return "include it as package data, in the settings of your build backend; see that no .gitignore leaves it out"
    return known.format(**words)


def unrepeated(problems: Iterable[Problem], tree: Iterable[Problem]) -> list[Problem]:
    """Leave out what is wrong in an artifact because it is in the tree, which is said of the tree.

    That there is no skill is said of each that is missing, unless the tree has none either.
    """
    known = {_bare(one) for one in tree}
    has_skills = all(one.code is not Code.NO_SKILLS for one in tree)
    said = (one for one in problems if one.code is not Code.NO_SKILLS or not has_skills)
    return [one for one in said if one.skill is None or _bare(one) not in known]


def _bare(problem: Problem) -> tuple[object, ...]:
    """Return a problem without where it is."""
    path = problem.path or ""
    text = problem.message.removeprefix(posixpath.normpath(posixpath.join(problem.source or "", path)))
    inside = path.partition(f"/{problem.skill}")[2]
    return problem.code, problem.severity, problem.skill, inside, text, problem.line, problem.column
