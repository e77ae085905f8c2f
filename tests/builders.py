"""What tests are made of."""

from __future__ import annotations

import os
import re
import shutil
import socket
import stat
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blake3 import blake3
from hypothesis import strategies as st

from skillsync.discovery.environment import Environment, Package
from skillsync.discovery.gem import rubygems
from skillsync.discovery.provider import FoundSkill, Provider
from skillsync.discovery.skill import about
from skillsync.errors import Code, Problem, Severity, SkillsyncError
from skillsync.filesystem import open_directory
from skillsync.hashing import SCHEME, File, Link, Tree, parents, tree_hash
from skillsync.locking import manifest
from skillsync.locking.choice import EVERYTHING, Candidate, Choice
from skillsync.locking.lockfile import LockedProvider, LockedSkill, Lockfile
from skillsync.snapshot import Facts, Fault, Snapshot, snapshot
from skillsync.syncing import gitignore, plan, registry, target
from skillsync.syncing.apply import Source, Work, apply
from skillsync.syncing.plan import Directory
from skillsync.syncing.recovery import recover
from skillsync.syncing.registry import Row
from skillsync.syncing.state import read_gitignore, read_state
from skillsync.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from skillsync.discovery.environment import NoEnvironment
    from skillsync.discovery.provider import Ignored
    from skillsync.locking.manifest import Manifest, Rule
    from skillsync.syncing.plan import Plan, State
    from skillsync.syncing.target import Target

# ---------------------------------------------------------------------------------------------------------------------
# Files on disk
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Special:
    """Something that is neither file, directory nor link, by how it is made."""

    make: Callable[[Path], None]


def _make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one, _inside(path.parent):
        one.bind(path.name)  # the whole path may be longer than a socket's name


@contextmanager
def _inside(directory: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


FIFO = Special(os.mkfifo)
SOCKET = Special(_make_socket)
DEVICE = Special(lambda path: os.mknod(path, 0o644 | stat.S_IFCHR, os.makedev(1, 3)))


@dataclass(frozen=True, slots=True)
class Executable:
    """A file that its owner may run."""

    content: str | bytes


Piece = str | bytes | Link | Executable | Special | None
Pieces = dict[str, Piece]  # by path; None is a directory


def lay(root: Path, pieces: Mapping[str, Piece]) -> Path:
    """Make a directory with the given content in it, and return it."""
    root.mkdir(parents=True, exist_ok=True)
    for name, piece in pieces.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if piece is None:
            path.mkdir(exist_ok=True)
        elif isinstance(piece, Link):
            path.symlink_to(piece.target)
        elif isinstance(piece, Special):
            piece.make(path)
        else:
            content = piece.content if isinstance(piece, Executable) else piece
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            path.chmod(0o755 if isinstance(piece, Executable) else 0o644)
    return root


def take_away(path: Path) -> None:
    """Remove whatever is there, if anything is."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def walked(root: Path, recorded: Mapping[str, str] | None = None) -> Snapshot:
    """Return a directory as the tree walker sees it; `recorded` are hashes that an installer wrote down."""
    with open_directory(str(root)) as fd:
        return snapshot(fd, root.name, recorded=recorded or {})


def directory(
    files: Mapping[str, str | bytes | Link] | None = None,
    *,
    faults: tuple[str, ...] = (),
    runtime: tuple[str, ...] = (),
    idle: tuple[str, ...] = (),
) -> Directory:
    """Return a skill's directory as a plan sees it, without a disk; `idle` are the scripts that can't be run."""
    content = tree({"SKILL.md": "# x\n", **(files or {})})
    return Directory(
        Snapshot(
            hash=None if faults else tree_hash(content),
            tree=content,
            facts={
                path: Facts(size=1, executable=path not in idle, script=path in idle or path.startswith("scripts/"))
                for path, entry in content.items()
                if isinstance(entry, File)
            },
            faults=tuple(Fault(path=path, reason="is unsafe") for path in faults),
            runtime=runtime,
        )
    )


class Meddled:
    """The `os` that one module sees, with some of its calls replaced."""

    def __init__(self, **calls: Callable[..., Any]) -> None:
        self._calls = calls

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever is in `os`
        return self._calls[name] if name in self._calls else getattr(os, name)


@dataclass(slots=True)
class Installation:
    """Providers' copies of skills, and one target directory, without an ecosystem and without a command line."""

    root: Path
    providers: dict[str, tuple[str, str]] = field(default_factory=dict)  # by skill: its provider and the version
    others: tuple[str, ...] = ()  # the project's other target directories, in which nothing is done
    link: bool = False

    def __post_init__(self) -> None:
        self.project.mkdir(parents=True, exist_ok=True)

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def installed(self) -> Path:
        return self.project / ".agents/skills"

    @property
    def place(self) -> Target:
        names = (*self.others, ".agents/skills")
        return target.locate(str(self.project), names, outside=False, link=self.link)[-1]

    def copy_of(self, skill: str) -> Path:
        return self.root / "packages" / skill

    def ship(self, skill: str, pieces: Mapping[str, Piece], owner: str = "gem:sus", version: str = "1.0.0") -> Path:
        """Let a provider ship a skill, in place of what it shipped under that name."""
        self.drop(skill)
        self.providers[skill] = (owner, version)
        return lay(self.copy_of(skill), {"SKILL.md": f"# {skill}\n", **pieces})

    def drop(self, skill: str) -> None:
        """Let nobody ship a skill any more."""
        self.providers.pop(skill, None)
        take_away(self.copy_of(skill))

    def lock(self) -> Lockfile:
        """Return the lock of everything that is shipped."""
        skills: dict[tuple[str, str], list[LockedSkill]] = {}
        for name, provider in self.providers.items():
            found = walked(self.copy_of(name))
            assert found.hash is not None, found.faults
            skills.setdefault(provider, []).append(LockedSkill(name=name, hash=found.hash, tree=found.tree))
        return Lockfile(
            providers=tuple(
                LockedProvider(
                    ecosystem=owner.partition(":")[0],
                    name=owner.partition(":")[2],
                    version=version,
                    skills=tuple(found),
                )
                for (owner, version), found in skills.items()
            )
        )

    @property
    def sources(self) -> dict[str, Source]:
        return {
            name: Source(root=str(self.root / "packages"), path=name, version=version)
            for name, (_, version) in self.providers.items()
        }

    def state(self, lock: Lockfile | None = None) -> State:
        place = self.place
        with target.opened(place) as fd:
            return read_state(fd, place, self.lock() if lock is None else lock)

    def plan(self, lock: Lockfile | None = None, *, force: bool = False) -> Plan:
        wanted = self.lock() if lock is None else lock
        return plan.make(".agents/skills", wanted, self.state(wanted), force=force)

    def sync(self, lock: Lockfile | None = None, *, force: bool = False, ignored: bool = False) -> Plan:
        """Plan and apply, as the command does; raises what it refuses. `ignored` keeps the block of `.gitignore`."""
        wanted = self.lock() if lock is None else lock
        place = self.place
        with target.held(place, busy=lambda _: None) as fd:
            recover(fd, place)
            made = plan.make(place.name, wanted, read_state(fd, place, wanted), force=force)
            if made.problems:
                raise SkillsyncError(*made.problems)
            before = read_gitignore(fd, place) or ""
            after = gitignore.updated(before, made.owned, enabled=ignored, links=made.links)
            work = Work(fd=fd, plan=made, gitignore=None if after == before else after)
            apply([work], wanted, self.sources)
        return made


# What a skill can hold at random: few names, so that contents meet, and every kind of entry.
_NAMES = ("f", "d", "d/f", "d/e/f", "scripts/run", "caf\u00e9", "new-f")
_CONTENTS: tuple[Piece, ...] = ("1", "2", "#!/bin/sh\n", Executable("3"), b"\xff\r\n", Link("SKILL.md"), Link("f"))
# What an installed skill can hold besides: ignored, carried over, and what no skill may hold.
_LEFT: Pieces = {
    "__pycache__/f.pyc": "",
    "empty": None,
    ".DS_Store": "",
    ".venv/lib": "l",
    "d/.git/HEAD": "h",
    "d/e/node_modules/m/f": Link("/"),
    "notes.md": "n",
    "out": Link("../../.."),
    "fifo": FIFO,
    "F": "another case",
}


def layable(pieces: Mapping[str, Piece]) -> Pieces:
    """Return the pieces without those in whose way another one is."""
    solid = {path for path, piece in pieces.items() if piece is not None}
    return {path: piece for path, piece in pieces.items() if not solid.intersection(parents(path))}


def contents() -> st.SearchStrategy[Pieces]:
    """Return what a provider may ship: links only where they lead to a file."""
    found = st.dictionaries(st.sampled_from(_NAMES), st.sampled_from(_CONTENTS), max_size=4).map(layable)
    return found.map(
        lambda pieces: {
            path: Link("../" * path.count("/") + piece.target) if isinstance(piece, Link) else piece
            for path, piece in pieces.items()
            if piece != Link("f") or ("f" in pieces and pieces["f"] != Link("f"))
        }
    )


@dataclass(frozen=True, slots=True)
class Fate:
    """What there is of one skill: what is shipped, what the registry says was written, what is on disk, as whose.

    `row` None is no row; a row's content None is a row without a hash. `disk` None is nothing at all.
    """

    shipped: tuple[str, str, Pieces] | None
    row: tuple[str, str, Pieces | None] | None
    disk: Piece | tuple[Pieces]

    @property
    def is_owned(self) -> bool:
        return self.row is not None


@st.composite
def fates(draw: st.DrawFn, *, kept: bool = False) -> Fate:
    """Draw what there is of a skill; `kept` draws what is project-authored."""
    some = draw(st.lists(contents(), min_size=1, max_size=3))
    owners, versions = st.sampled_from(("gem:sus", "pypi:other")), st.sampled_from(("1.0.0", "2.0.0"))
    content = st.sampled_from(some)
    shipped = draw(st.none() | st.tuples(owners, versions, content))
    row = None if kept else draw(st.none() | st.tuples(owners, versions, st.none() | content))
    extras = st.lists(st.sampled_from(sorted(_LEFT)), max_size=3).map(
        lambda names: {name: _LEFT[name] for name in names}
    )
    directories = st.builds(lambda one, more: (layable({"SKILL.md": "# skill\n", **one, **more}),), content, extras)
    others: st.SearchStrategy[Piece] = st.sampled_from(("a file", Link("nowhere"), Link("../../../packages"), FIFO))
    absent = st.nothing() if kept else st.none()
    return Fate(shipped, row, draw(absent | directories | directories | others))


def fated(root: Path, fates: Mapping[str, Fate], twins: tuple[str, ...] = ()) -> Installation:
    """Lay all of that on disk; `twins` are the names for which an entry is there that is equal but for case."""
    setup = Installation(root)
    rows: dict[str, Row] = {}
    lay(setup.installed, {f"{name.upper()}/f": "t" for name in twins})
    for name, fate in fates.items():
        if fate.shipped:
            owner, version, pieces = fate.shipped
            setup.ship(name, {"SKILL.md": "# skill\n", **pieces}, owner=owner, version=version)
        if fate.row:
            (owner, version, written), digest = fate.row, None
            if written is not None:
                digest = walked(lay(root / "written" / name, {"SKILL.md": "# skill\n", **written})).hash
            ecosystem, _, package = owner.partition(":")
            rows[name] = Row(ecosystem=ecosystem, package=package, version=version, hash=digest)
        if isinstance(fate.disk, tuple):
            lay(setup.installed / name, fate.disk[0])
        elif fate.disk is not None:
            lay(setup.installed, {name: fate.disk})
    lay(setup.installed, {registry.FILE_NAME: registry.dump(registry.Registry(rows=rows))})
    return setup


# ---------------------------------------------------------------------------------------------------------------------
# Values
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shelf:
    """An ecosystem that has nothing on disk: RubyGems' versions, PyPI's names."""

    NAME: str

    def read(self, project: str, environ: Mapping[str, str]) -> Environment | NoEnvironment:
        raise NotImplementedError(project, environ)

    def canonical(self, name: str) -> str:
        return re.sub("[-_.]+", "-", name).lower()

    def requirement(self, text: str) -> Callable[[str], bool]:
        return rubygems.requirement(text)

    def version_key(self, version: str) -> object:
        return rubygems.version_key(version)


# What must never be taken for a skill's name, wherever one is read.
NO_NAMES = (
    "",
    "a" * 201,
    ".",
    "..",
    "../evil",
    "/etc/x",
    "a/b",
    "a\\b",
    "C:x",
    "con",
    "nul",
    "com0",
    "lpt9",
    "x.",
    "x ",
    " x",
    ".agent-skills.yaml",
    "a\0b",
    "a\nb",
    "ab\n",
    "A",
    "a_b",
    "a--b",
    "-a",
    "a-",
    "é",
    "\uff41",
    "\u0661",
    "a\u200bb",
    "~",
    "$HOME",
    "*",
)

SHELVES = {name: Shelf(NAME=name) for name in ("gem", "pypi", "npm")}


def package(key: str, version: str = "1.0.0", *, root: str = "", places: tuple[str, ...] = ("skills",)) -> Package:
    """Return a package; `key` is written `gem:sus`."""
    ecosystem, _, name = key.partition(":")
    root = root or f"/packages/{name}-{version}"
    return Package(ecosystem=ecosystem, name=name, version=version, root=root, places=places, source="/packages")


def environment(*packages: Package, ecosystem: str = "gem", named: tuple[str, ...] = ()) -> Environment:
    return Environment(
        ecosystem=ecosystem, sources=("/packages",), packages=packages, named=frozenset(named), install="install"
    )


def found_skill(provider: str, name: str, *faults: str, warnings: tuple[str, ...] = ()) -> FoundSkill:
    """Return a skill as it was found; with a fault in it, it is invalid. All problems are warnings so far."""
    path = f"skills/{name}"
    base = replace(about(provider, name, f"{path}/SKILL.md"), severity=Severity.WARNING)
    problems = tuple(replace(base, message=message) for message in (*faults, *warnings))
    return FoundSkill(name=name, path=path, description="", problems=problems, is_valid=not faults)


def provider(one: Package, *skills: str | FoundSkill, ignored: tuple[Ignored, ...] = ()) -> Provider:
    """Return what was found in a package; a skill's name alone is a valid skill."""
    found = tuple(found_skill(one.key, skill) if isinstance(skill, str) else skill for skill in skills)
    return Provider(package=one, places=one.places, skills=found, ignored=ignored, problems=())


def candidate(key: str, *skills: str | FoundSkill, rule: Rule | None = EVERYTHING, version: str = "1.0.0") -> Candidate:
    """Return a provider of one variant with its skills; rule None: the manifest doesn't admit it."""
    one = package(key, version)
    return Candidate(choice=Choice(variants=(one,), rule=rule), providers=(provider(one, *skills),))


def rules(text: str) -> Manifest:
    """Return the manifest of a text."""
    return manifest.parse(text.encode(), SHELVES)


def digest(text: str | bytes) -> str:
    """Return the hash of a file's content."""
    return SCHEME + blake3(text.encode() if isinstance(text, str) else text).hexdigest()


def tree(files: Mapping[str, str | bytes | Link]) -> Tree:
    """Return the tree of files given by their content."""
    return {path: one if isinstance(one, Link) else File(digest(one)) for path, one in files.items()}


def taken(
    files: Mapping[str, str | Link] | None = None,
    *,
    faults: tuple[Fault, ...] = (),
    runtime: tuple[str, ...] = (),
    executable: tuple[str, ...] = (),
) -> Snapshot:
    """Return the snapshot of a provider's skill with the given files."""
    content = {"SKILL.md": "# Text\n"} if files is None else files
    found = tree(content)
    facts = {
        path: Facts(size=len(one), executable=path in executable, script=one.startswith("#!"))
        for path, one in content.items()
        if isinstance(one, str)
    }
    return Snapshot(hash=None if faults else tree_hash(found), tree=found, facts=facts, faults=faults, runtime=runtime)


def locked_skill(name: str, files: Mapping[str, str | bytes | Link] | None = None) -> LockedSkill:
    content = tree({"SKILL.md": f"# {name}\n", **(files or {})})
    return LockedSkill(name=name, hash=tree_hash(content), tree=content)


def locked(key: str, *skills: str | LockedSkill, version: str = "1.0.0") -> LockedProvider:
    """Return a provider in the lock; a skill's name alone is one with a SKILL.md."""
    ecosystem, _, name = key.partition(":")
    found = tuple(locked_skill(skill) if isinstance(skill, str) else skill for skill in skills)
    return LockedProvider(ecosystem=ecosystem, name=name, version=version, skills=found)


def problem(code: Code, message: str = "it is so", *, severity: Severity = Severity.ERROR) -> Problem:
    return Problem(code=code, message=message, severity=severity)


@contextmanager
def quickly() -> Iterator[None]:
    """Fail for what takes longer than anything may that reads one document: far more than it does take.

    The time is the process's own, so that a busy machine doesn't count.
    """
    started = time.process_time()
    yield
    assert time.process_time() - started < 5
