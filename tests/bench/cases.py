"""What is measured, against which floor, with which budget.

Invariants: what is compared is of one group, whose runs are made in turn; a floor does what the run has to do and
nothing else, in a bare interpreter.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench import layouts
from bench.peers import PEERS
from bench.prepared import Changed
from bench.timing import Run, distinct, nothing, once
from bench.workload import LARGE, MEDIUM, SMALL, growing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bench.peers import Peer, Tool
    from bench.prepared import Project, Workshop
    from bench.workload import Size

_FLOORS = f"{os.path.dirname(__file__)}/floors"
_TOOLS = os.path.abspath(f"{os.path.dirname(__file__)}/../../build/bench")
_LARGE_FILE = 256  # MiB
_MEMORY = 80  # MiB
# Which a command needs that takes arguments and reads a lock, a registry and files.
_LIBRARIES = "import argparse, blake3, rtoml, yaml"
_GROWTH = (100, 1000, 10_000)  # skills
_TAKEN_APART = ("pypi", "npm")  # the ecosystem that says most of its files, and the one that says least
# What the commands do one after the other, by the program's own functions, each step by itself.
_LOAD = """
import gc; gc.disable()
import skillsync.cli.main, skillsync.cli.verify, skillsync.rendering.terminal
from skillsync import discovery, snapshot
from skillsync.commands.survey import seen
from skillsync.filesystem import open_directory
from skillsync.locking import lockfile
from skillsync.locking.manifest import Manifest
from skillsync.syncing import registry
from skillsync.track import untracked
import os, sys
installed, ecosystem, into = sys.argv[1:]
"""
_PARSE_REGISTRY = "registry.parse(open(f'{installed}/{registry.FILE_NAME}', 'rb').read())"
_FIND = "discovery.read(ecosystem, os.getcwd(), os.environ, python=None)"
_WALK = """
for name in os.listdir(installed):
    if not name.startswith("."):
        with open_directory(f"{installed}/{name}") as fd:
            snapshot.snapshot(fd, name)
"""
_COPY = """
for name in os.listdir(installed):
    if not name.startswith("."):
        os.mkdir(f"{into}/{name}")
        with open_directory(f"{installed}/{name}") as fd, open_directory(f"{into}/{name}") as copy:
            snapshot.snapshot(fd, name, copy_to=copy)
"""
_STEPS = {
    "load": "",
    "load, parse the lock": "lockfile.parse(open(lockfile.FILE_NAME, 'rb').read())",
    "load, parse the registry": _PARSE_REGISTRY,
    "load, parse and write the registry": f"registry.dump({_PARSE_REGISTRY})",
    "load, walk and hash": _WALK,
    "load, find the packages": _FIND,
    "load, find the packages, look into them": f"seen([{_FIND}], Manifest(), lambda *_: True, untracked)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A run, and how many times what another takes it may take; without a budget it is shown for comparison."""

    run: Run
    to: Run
    budget: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """One command on more and more skills: how much more time a further skill may take, as a part of one."""

    command: str
    runs: Mapping[int, Run]
    budget: float = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """A run, and the MiB that it may have resident."""

    run: Run
    budget: float = _MEMORY


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """A run of ours, and how many times what it takes another tool has to take."""

    ours: Run
    theirs: Run
    budget: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What is measured in turn, in so many rounds."""

    rounds: int
    rows: tuple[Row, ...] = ()
    growths: tuple[Growth, ...] = ()
    peaks: tuple[Peak, ...] = ()
    leads: tuple[Lead, ...] = ()
    missing: tuple[str, ...] = ()  # tools that couldn't be installed

    @property
    def runs(self) -> list[Run]:
        compared = (run for row in self.rows for run in (row.to, row.run))
        growing = (run for growth in self.growths for run in growth.runs.values())
        raced = (run for lead in self.leads for run in (lead.ours, lead.theirs))
        return distinct((*compared, *growing, *raced, *(peak.run for peak in self.peaks)))


class _Commands:
    """The runs of skillsync in one project."""

    def __init__(self, workshop: Workshop, project: Project) -> None:
        self._workshop = workshop
        self._project = project

    def run(self, command: str, what: str = "", prepare: Callable[[], None] = nothing) -> Run:
        """Return the run of a command; `what` says more about the work that there is to do."""
        return Run(
            name=f"`{command}`{what}",
            project=self._project.name,
            command=(self._workshop.skillsync, *command.split()),
            cwd=self._project.root,
            prepare=prepare,
        )

    def noop(self, command: str) -> Run:
        return self.run(command, ", nothing to do")

    def first_sync(self) -> Run:
        return self.run("sync", ", all skills", self._project.clear)


def _bare(project: Project, name: str, *arguments: str, prepare: Callable[[], None] = nothing) -> Run:
    """Return a run of the environment's interpreter."""
    return Run(name=name, project=project.name, command=(sys.executable, *arguments), cwd=project.root, prepare=prepare)


def start(workshop: Workshop) -> Iterator[Group]:
    """Yield what a command costs where there is little to do."""
    projects = [workshop.project("small", layout, SMALL) for layout in layouts.LAYOUTS]
    nothing_at_all = _bare(projects[0], "`python -c pass`", "-c", "pass")
    rows = [
        Row(run=replace(_Commands(workshop, projects[0]).run("--version"), project=""), to=nothing_at_all, budget=2),
        Row(run=replace(_bare(projects[0], "load the libraries", "-c", _LIBRARIES), project=""), to=nothing_at_all),
    ]
    for project in projects:
        commands = _Commands(workshop, project)
        rows += [
            Row(run=commands.run("verify"), to=nothing_at_all, budget=5),
            Row(run=commands.noop("sync"), to=nothing_at_all, budget=6),
            Row(run=commands.noop("lock"), to=nothing_at_all, budget=7),
        ]
    yield Group(rounds=11, rows=tuple(rows))


def content(workshop: Workshop) -> Iterator[Group]:
    """Yield what a command costs where there is much to read and to write."""
    for layout in layouts.LAYOUTS:
        project = workshop.project("large", layout, LARGE)
        commands = _Commands(workshop, project)
        first = commands.first_sync()
        installed = commands.run("verify --scope installed")
        verify = commands.run("verify")
        changed = commands.run("sync", ", one of 1,000 skills changed", Changed(workshop, project))
        lock = commands.noop("lock")
        read = _bare(project, "read and hash", f"{_FLOORS}/hash_files.py", project.installed)
        copy, plain = _copies(project)
        rows = (
            Row(run=first, to=copy, budget=1.8),
            Row(run=installed, to=read, budget=2),
            *(_steps(project, layout, read, copy) if layout in _TAKEN_APART else ()),
            Row(run=changed, to=verify, budget=1.1),
            Row(run=changed, to=installed),
            Row(run=lock, to=read, budget=3.5),
            Row(run=copy, to=plain),
        )
        peaks = tuple(Peak(run=run) for run in (lock, first, changed, verify, installed))
        yield Group(rounds=5, rows=rows, peaks=peaks)
        workshop.remove(project)


def _steps(project: Project, layout: str, read: Run, copy: Run) -> Iterator[Row]:
    """Yield what the commands are made of."""
    into = f"{project.root}/copy"
    for name, step in _STEPS.items():
        yield Row(run=_bare(project, f"step: {name}", "-c", _LOAD + step, project.installed, layout, into), to=read)
    words = ("-c", _LOAD + _COPY, project.installed, layout, into)
    yield Row(run=_bare(project, "step: load, copy and hash", *words, prepare=copy.prepare), to=copy)


def _copies(project: Project) -> tuple[Run, Run]:
    """Return the runs that copy what the packages ship: a bare interpreter's, which hashes it too, and the system's."""
    into = f"{project.root}/copy"

    def prepare() -> None:
        shutil.rmtree(into, ignore_errors=True)
        os.mkdir(into)

    copy = _bare(project, "copy and hash", f"{_FLOORS}/copy_and_hash.py", into, *project.shipped, prepare=prepare)
    command = ("cp", "-a", *(f"{directory}/." for directory in project.shipped), into)
    return copy, replace(copy, name="`cp -a`", command=command)


def large_file(workshop: Workshop) -> Iterator[Group]:
    """Yield what a large file costs: no more memory."""
    commands = _Commands(workshop, workshop.with_a_large_file(SMALL, _LARGE_FILE))
    runs = (commands.noop("lock"), commands.first_sync(), commands.run("verify"))
    yield Group(rounds=1, peaks=tuple(Peak(run=run) for run in runs))


def listing(workshop: Workshop) -> Iterator[Group]:
    """Yield what it costs to find the skills in all installed packages."""
    project = workshop.mixed()
    directories = (layouts.SITE, layouts.NODE_MODULES, layouts.GEM_HOME)
    scan = _bare(project, "scan the metadata", f"{_FLOORS}/scan_metadata.py", *directories)
    yield Group(rounds=7, rows=(Row(run=_Commands(workshop, project).run("list"), to=scan, budget=2),))


def growth(workshop: Workshop) -> Iterator[Group]:
    """Yield what each further skill costs."""
    projects = {skills: workshop.project(f"{skills}-skills", "gem", growing(skills)) for skills in _GROWTH}
    commands = {skills: _Commands(workshop, project) for skills, project in projects.items()}
    growths = (
        Growth(command=command, runs={skills: one.run(command) for skills, one in commands.items()})
        for command in ("verify", "lock", "list")
    )
    yield Group(rounds=3, growths=tuple(growths))


def others(workshop: Workshop) -> Iterator[Group]:
    """Yield what other tools take where there is nothing left to do, beside `verify`."""
    tools = {peer: peer.find(_TOOLS) for peer in PEERS}
    for name, size in (("small", SMALL), ("medium", MEDIUM)):
        ours = {layout: workshop.project(name, layout, size) for layout in layouts.LAYOUTS}
        verify = {layout: _Commands(workshop, project).run("verify") for layout, project in ours.items()}
        leads = tuple(
            Lead(
                ours=verify[peer.layout],
                theirs=_other(workshop, peer, tool, name, size),
                budget=peer.slower if size is SMALL else None,
            )
            for peer, tool in tools.items()
            if tool
        )
        yield Group(rounds=7, leads=leads, missing=tuple(peer.package for peer, tool in tools.items() if not tool))


def _other(workshop: Workshop, peer: Peer, tool: Tool, name: str, size: Size) -> Run:
    """Return the run of another tool, which has installed everything."""
    project = workshop.unlocked(f"{name}-{peer.package.replace('/', '-')}", peer.layout, size)
    peer.manifest(project, size)
    run = Run(
        name=f"{peer.package} {tool.version}" + (f" `{peer.command}`" if peer.command else ""),
        project=f"{peer.layout}, {name}",
        command=(*tool.command, *peer.command.split()),
        cwd=project.root,
        environ=tool.environ,
    )
    once(replace(run, command=(*tool.command, *peer.install.split())), workshop.environ)
    return run


GROUPS = {
    "start": start,
    "content": content,
    "large-file": large_file,
    "list": listing,
    "growth": growth,
    "others": others,
}
