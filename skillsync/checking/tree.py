"""Reads a source tree: which packages it makes, and the skills in it, by the walker that reads installed ones.

Invariants: reads only; follows no link below the tree; looks at a bounded number of names; runs nothing of the tree's.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from skillsync.checking import identity
from skillsync.checking.git import ignored
from skillsync.checking.identity import PYTHON_FILES, Identity
from skillsync.checking.offer import (
    AGENTS,
    GEM,
    NPM,
    SDIST,
    SKILLS,
    TEXT_LIMIT,
    WHEEL,
    Offer,
    Shipped,
    is_looked_into,
    problem,
)
from skillsync.checking.own import for_contributors, installed, own
from skillsync.discovery import PYPI
from skillsync.discovery.environment import Package
from skillsync.discovery.npm.package_json import FILE_NAME as PACKAGE_JSON
from skillsync.discovery.npm.package_json import LIMIT
from skillsync.discovery.provider import look
from skillsync.discovery.pypi import record
from skillsync.discovery.pypi.metadata import Identity as Distribution
from skillsync.discovery.pypi.metadata import likely_names
from skillsync.errors import Code, Severity, UnreadableError
from skillsync.filesystem import list_directory, open_directory, read_file, read_start, shown
from skillsync.hashing import SKILL_FILE, File, parents
from skillsync.schema import MalformedError
from skillsync.snapshot import shipped_faults
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from skillsync.discovery.provider import FoundSkill
    from skillsync.snapshot import Snapshot

MOST_FILES = 200_000
# Never a part of what is built from a tree, at any depth: environments, dependencies, and what builds leave behind.
_SKIPPED = frozenset({"node_modules", "venv", "__pycache__", "vendor", "build", "dist", "target", "coverage", "tmp"})
# At the top of a tree, what is usually not shipped. A SKILL.md in there is somebody's test or example.
_UNSHIPPED = frozenset({"test", "tests", "spec", "specs", "fixtures", "example", "examples", "doc", "docs"})
_ARTIFACTS = {"gem": (GEM,), PYPI: (WHEEL, SDIST), "npm": (NPM,)}
USUAL = {"gem": ("skills",), "npm": ("skills", SKILLS)}


class NoPackageError(Exception):
    """A directory has none of the files that make it a package's source tree; projects `below` may have skills."""

    def __init__(self, below: tuple[str, ...]) -> None:
        """Take the projects, relative to the directory."""
        super().__init__()
        self.below = below


def read_tree(source: str) -> list[Offer]:
    """Return what a source tree offers, one value for each ecosystem that it has a package of.

    Raises NoPackageError, OSError and UnreadableError.
    """
    root = os.path.abspath(source)
    names = list_directory(root) or []
    made = list(_identities(root, names))
    if not made:
        below: tuple[str, ...] = ()
        with suppress(OSError):  # what nobody may look into is somebody else's
            below = _providers(root, Paths.walked(root))
        raise NoPackageError(below)
    stated = (path for one in made for path in (*one.identity.roots, *one.identity.moved))
    paths = Paths.walked(root, {path.partition("/")[0] for path in stated})
    # Beside a package, a private package.json is its tools'.
    found = [one for one in made if one.identity.is_published] or made
    offers = list(_with_ignored(root, [_offer(source, root, _with_links(one, paths.links), paths) for one in found]))
    # What one of the packages ships is lost to nobody.
    skills = [skill.found.path for offer in offers for skill in offer.skills]
    elsewhere = paths.elsewhere(skills, is_tree=True)
    if not found[0].identity.is_published:
        # What else there is, is for who works on it.
        elsewhere = tuple(one for one in elsewhere if one.startswith(f"{USUAL['npm'][0]}/"))
    elif not skills:
        elsewhere = (*map(shown, for_contributors(root)), *elsewhere)
    below = () if skills else _providers(root, paths)
    return [
        replace(offer, elsewhere=elsewhere, below=below, artifacts=tuple(_artifacts(offer, names))) for offer in offers
    ]


def _providers(root: str, paths: Paths) -> tuple[str, ...]:
    """Return the projects below a tree that may ship skills: not those where skillsync has installed all that are."""

    def ships(project: str, skills: Iterable[str]) -> bool:
        known = {f"{project}/{path}" for path in installed(f"{root}/{project}")}
        is_own = any(known.isdisjoint((skill, *parents(skill))) for skill in skills)
        return is_own and _is_published(f"{root}/{project}")

    return tuple(sorted(project for project, skills in paths.projects().items() if ships(project, skills)))


def _is_published(root: str) -> bool:
    """Whether a project makes a package, or may: what can't be read has to be looked at."""
    try:
        made = list(_identities(root, list_directory(root) or []))
    except (OSError, UnreadableError):
        return True
    return any(one.identity.is_published for one in made)


def _artifacts(offer: Offer, names: Iterable[str]) -> Iterator[str]:
    """Yield the files at the top of a tree that seem to be built of it, by what they are called."""
    package = offer.package
    called = re.compile((re.escape(_bare(package.name)) if offer.identity.is_stated else ".*") + "-[0-9]")
    for name in names:
        is_called_so = name.endswith(_ARTIFACTS[package.ecosystem]) and called.match(_bare(name))
        if is_called_so and os.path.isfile(f"{package.root}/{name}"):
            yield name


def _bare(name: str) -> str:
    """Return a name without what artifacts of it may be called without, or otherwise."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _with_links(made: _Made, links: Mapping[str, str]) -> _Made:
    """Take in the directories that a wheel has in the place of links."""
    if not made.identity.follows_links:
        return made
    moved = {target: list(made.identity.installed(link))[-1] for link, target in links.items()}
    return replace(made, identity=replace(made.identity, moved={**moved, **made.identity.moved}))


class _Made(Value):
    """A package that a tree makes: of which ecosystem, by which file, and what is wrong with that file."""

    ecosystem: str
    about: str
    identity: Identity
    fault: MalformedError | ValueError | None = None


def _identities(root: str, names: Sequence[str]) -> Iterator[_Made]:
    for name in names:
        if name.endswith(".gemspec") and name != ".gemspec":
            yield _Made(ecosystem="gem", about=name, identity=identity.gem(name, _content(root, name)))
    yield from _python(root, names)
    if PACKAGE_JSON in names:
        try:
            if found := identity.npm(_content(root, PACKAGE_JSON)):
                yield _Made(ecosystem="npm", about=PACKAGE_JSON, identity=_in_its_place(root, found))
        except (MalformedError, ValueError) as error:
            nameless = Identity(name=os.path.basename(root), is_stated=False)
            yield _Made(ecosystem="npm", about=PACKAGE_JSON, identity=nameless, fault=error)


def _in_its_place(root: str, made: Identity) -> Identity:
    """Return a package that is published from its own directory: package.json may name that, as a copy of one above."""
    above = root.removesuffix(f"/{made.directory}")
    is_copy = above != root and os.path.lexists(f"{above}/{PACKAGE_JSON}")
    return replace(made, directory="") if is_copy else made


def _python(root: str, names: Sequence[str]) -> Iterator[_Made]:
    files = {name: _content(root, name) for name in PYTHON_FILES if name in names}
    about = next(iter(files), "")
    try:
        if files and (found := identity.python(files, os.path.basename(root))):
            yield _Made(ecosystem="pypi", about=about, identity=found)
    except MalformedError as error:
        # Its name may stand in what can't be read.
        found = identity.python({"setup.py": files.get("setup.py", b"")}, os.path.basename(root))
        assert found is not None  # noqa: S101  # with a setup.py there is always one
        yield _Made(ecosystem="pypi", about=about, identity=found, fault=error)


def _content(root: str, name: str) -> bytes:
    """Return what one of the files says that make a tree a package's. Raises OSError for what is no file."""
    try:
        return read_file(f"{root}/{name}", LIMIT, follow=True) or b""
    except UnreadableError as error:
        raise UnreadableError(f"{name} can't be read: {error}") from None


def _offer(source: str, root: str, made: _Made, paths: Paths) -> Offer:
    """Look into a tree as consumers will look into what is built of it."""
    name, version = made.identity.name or os.path.basename(root), made.identity.version
    places = USUAL.get(made.ecosystem) or paths.places(made.identity)
    places = places if made.identity.is_published else ()
    package = Package(ecosystem=made.ecosystem, name=name, version=version, root=root, places=places, source=source)
    provider = own(look(package, places, _whole), made.identity)
    skills = tuple(_shipped(package, skill) for skill in provider.skills)
    problems = []
    if made.fault:
        line, column = made.fault.place if isinstance(made.fault, MalformedError) else (None, None)
        text = f"can't be used: {made.fault}"
        hint = "correct it, and check again: name and settings are not known before that"
        problems.append(
            problem(package, Code.PACKAGE_UNREADABLE, made.about, text, hint=hint, line=line, column=column)
        )
    if paths.are_cut_off:
        text = f"stands beside more than {MOST_FILES} files and directories, of which the rest was not looked at"
        problems.append(problem(package, Code.PACKAGE_UNREADABLE, made.about, text, severity=Severity.WARNING))
    return Offer(
        package=package,
        identity=made.identity,
        is_artifact=False,
        about=made.about,
        provider=provider,
        skills=skills,
        elsewhere=(),
        problems=tuple(problems),
    )


def _whole(_skill: str) -> bool:
    return True


def _shipped(package: Package, skill: FoundSkill) -> Shipped:
    texts = dict(_texts(package, skill.path, skill.snapshot)) if skill.snapshot else {}
    return Shipped(found=skill, snapshot=skill.snapshot, texts=texts)


def _with_ignored(root: str, offers: Sequence[Offer]) -> Iterator[Offer]:
    """Take in what git ignores: nobody else has it, and what is built elsewhere hasn't either.

    Git is asked once, since a tree can make it take long.
    """
    known = ignored(root, {path for offer in offers for one in offer.skills for path in _all_paths(one).values()})
    for offer in offers:
        yield replace(offer, skills=tuple(_ignoring(one, known) for one in offer.skills))


def _ignoring(shipped: Shipped, known: Container[str]) -> Shipped:
    return replace(shipped, ignored=frozenset(path for path, place in _all_paths(shipped).items() if place in known))


def _all_paths(shipped: Shipped) -> dict[str, str]:
    """Return what is in a skill, each path with that in the tree."""
    snapshot = shipped.snapshot
    paths = (*snapshot.tree, *(fault.path for fault in shipped_faults(snapshot))) if snapshot else ()
    return {path: f"{shipped.found.path}/{path}" for path in paths}


def _texts(package: Package, skill: str, snapshot: Snapshot) -> Iterator[tuple[str, bytes]]:
    """Yield what rules look into of a skill."""
    for path, entry in snapshot.tree.items():
        facts = snapshot.facts.get(path)
        if facts is None or not isinstance(entry, File):
            continue
        if is_looked_into(path, b"#!" if facts.script else b"") or facts.executable:
            directory, _, name = f"{skill}/{path}".rpartition("/")
            with open_directory(package.root, directory) as fd:
                yield path, read_start(name, TEXT_LIMIT, dir_fd=fd) or b""


def _is_walked(root: str, path: str) -> bool:
    """Whether what is in a directory of a tree may come into what is built; an import package has any name."""
    above, _, name = path.rpartition("/")
    if name.startswith("."):
        return name == AGENTS and bool(above)
    return name not in _SKIPPED or os.path.lexists(f"{root}/{path}/__init__.py")


class Paths:
    """The names of a package's files, as far as they may come into what is built.

    `links` are those that lead to a directory of the same tree, each with that.
    """

    def __init__(
        self, found: Iterable[str], links: Mapping[str, str] | None = None, *, are_cut_off: bool = False
    ) -> None:
        """Take the paths relative to the package's root; that of a link to a directory ends with a slash."""
        self._found = list(found)
        self.links = links or {}
        self.are_cut_off = are_cut_off

    @classmethod
    def walked(cls, root: str, stated: Container[str] = ()) -> Paths:
        """Return those of a tree; `stated` are the directories at its top that settings name, whatever their names."""
        names: list[str] = []
        links: dict[str, str] = {}
        real = os.path.realpath(root)
        left, seen = [""], 0
        while left and seen <= MOST_FILES:
            prefix = left.pop()
            with os.scandir(f"{root}/{prefix}") as entries:
                some = islice(entries, MOST_FILES + 1)
                found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in some)
            seen += len(found)
            for name, is_directory in found:
                path = prefix + name
                if not is_directory and os.path.isdir(f"{root}/{path}"):
                    names.append(f"{path}/")
                    target = os.path.realpath(f"{root}/{path}")
                    if target.startswith(f"{real}/"):
                        links[path] = target.removeprefix(f"{real}/")
                elif not is_directory:
                    names.append(path)
                elif path in stated or _is_walked(root, path):
                    left.append(f"{path}/")
        return cls(names, links, are_cut_off=seen > MOST_FILES)

    def places(self, made: Identity) -> tuple[str, ...]:
        """Return the skills directories of a Python project's import packages, and what becomes one in a wheel."""
        likely = likely_names(Distribution(name=made.name, spelling=made.name, version=""))
        found = set(self._moved(made))
        by_root: dict[str, list[str]] = {}
        # A setup.py stands in many a package, and a pyproject.toml in some.
        inits = self._packages()
        projects = self._projects(PYTHON_FILES[0]) - inits - made.roots
        for path in self._found:
            for root in ("", *parents(path)) if projects.isdisjoint(parents(path)) else ():
                if root in made.roots:
                    by_root.setdefault(root, []).append(path[len(root) :].lstrip("/"))
        for root, paths in by_root.items():
            # Below src/ all is a package; beside setup.py and tests/, what has an `__init__` or the project's name.
            packages = {path.partition("/")[0] for path in paths if "/__init__." in path}
            packages = packages - (set() if root else _UNSHIPPED | made.roots - inits) | {*likely, *made.packages}
            kept = [path for path in paths if root or path.partition("/")[0] in packages]
            prefix = f"{root}/" if root else ""
            found |= {prefix + place for place in record.places(kept)}
        return tuple(sorted(found))

    def _moved(self, made: Identity) -> Iterator[str]:
        """Yield the directories whose skills a wheel has in a skills directory, by the same names."""
        inner = [(path, place) for path in self._found for place in made.moved_to(path)]
        if not inner:
            return
        # What is beside it in the wheel tells which directories are import packages.
        places = set(record.places([*(place for _, place in inner), *self._found, *self._without_roots(made)]))
        for path, moved in inner:
            directory, _, file = path.rpartition("/")
            above, _, name = directory.rpartition("/")
            place, _, its = moved.rpartition("/")[0].rpartition("/")
            if file == SKILL_FILE and its == name and place in places:
                yield above

    def _without_roots(self, made: Identity) -> Iterator[str]:
        for path in self._found:
            yield from (path.removeprefix(f"{above}/") for above in parents(path) if above in made.roots)

    def projects(self) -> dict[str, list[str]]:
        """Return the projects below the tree with the directories of their skills, without those of projects below."""
        projects = self._projects(PYTHON_FILES[0], PACKAGE_JSON, ".gemspec")
        found: dict[str, list[str]] = {}
        skills = (path for path in self._found if path.endswith(f"/{SKILL_FILE}") and "skills" in path.split("/"))
        for path in skills:
            if nearest := next((one for one in reversed(parents(path)) if one in projects), None):
                found.setdefault(nearest, []).append(path.rpartition("/")[0])
        return found

    def _packages(self) -> set[str]:
        """Return the directories that are import packages."""
        return {path.rpartition("/")[0] for path in self._found if "/__init__." in path}

    def _projects(self, *manifests: str) -> set[str]:
        """Return the directories that are projects of their own, by their manifests' names or the ends of these.

        What a skill has for its users to copy is no project.
        """
        ends = tuple(one if one.startswith(".") else f"/{one}" for one in manifests)
        found = {path.rpartition("/")[0] for path in self._found if path.endswith(ends)}
        return {path for path in found - {""} if "skills" not in path.split("/")}

    def elsewhere(self, skills: Iterable[str], *, is_tree: bool) -> tuple[str, ...]:
        """Return the directories with a SKILL.md that are in no skill; a tree has some that are not shipped."""
        known = {*skills, *(self._projects(PYTHON_FILES[0], PACKAGE_JSON, ".gemspec") if is_tree else ())}
        left_out = _UNSHIPPED if is_tree else frozenset()
        found = (path.rpartition("/")[0] for path in self._found if path.rpartition("/")[2] == SKILL_FILE)
        return tuple(
            sorted(
                shown(directory)
                for directory in found
                if directory.partition("/")[0] not in left_out and known.isdisjoint((directory, *parents(directory)))
            )
        )
