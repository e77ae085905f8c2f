"""The projects that are measured: written, locked and synced, each below one directory.

Invariants: a project is a repository of its own, so that nothing is looked for above it; it is in sync whenever no run
is at work on it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench import layouts
from bench.workload import MIXED, Package, Size, packages

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOCK = "agent-skills.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project with packages. `shipped` are the directories with the packages' skills."""

    name: str
    root: str
    shipped: tuple[str, ...]

    @property
    def installed(self) -> str:
        return f"{self.root}/.agents/skills"

    def clear(self) -> None:
        """Take all installed skills away."""
        shutil.rmtree(f"{self.root}/.agents", ignore_errors=True)


class Workshop:
    """Makes projects below a directory."""

    def __init__(self, directory: str, skillsync: str, environ: Mapping[str, str]) -> None:
        self.directory = directory
        self.skillsync = skillsync
        self.environ = environ

    def project(self, name: str, layout: str, size: Size) -> Project:
        """Make a project of one ecosystem, in sync."""
        return self._synced(self.unlocked(name, layout, size))

    def unlocked(self, name: str, layout: str, size: Size) -> Project:
        """Make a project of one ecosystem in which nothing was installed from the packages."""
        root = self._repository(f"{name}-{layout}")
        return Project(name=f"{layout}, {name}", root=root, shipped=_write(root, layout, packages(size), size))

    def mixed(self) -> Project:
        """Make a project with packages of every ecosystem, in sync."""
        root = self._repository("mixed")
        written = [_write(root, layout, packages(MIXED, layout), MIXED) for layout in layouts.LAYOUTS]
        return self._synced(
            Project(name="all three, mixed", root=root, shipped=tuple(path for one in written for path in one))
        )

    def with_a_large_file(self, size: Size, mebibytes: int) -> Project:
        """Make a project in which one file of a skill is large."""
        project = self.project("large-file", "npm", size)
        os.truncate(_a_file(project), mebibytes << 20)
        return self._synced(project)

    def clear(self) -> None:
        """Take all projects away."""
        shutil.rmtree(self.directory)

    def remove(self, project: Project) -> None:
        """Take a project away."""
        shutil.rmtree(project.root)

    def run(self, project: Project, *arguments: str) -> None:
        """Run skillsync, which has to succeed."""
        command = (self.skillsync, *arguments)
        done = subprocess.run(
            command, cwd=project.root, env=dict(self.environ), capture_output=True, text=True, check=False
        )
        if done.returncode:
            message = f"{' '.join(command)} in {project.root} failed:\n{done.stdout}{done.stderr}"
            raise RuntimeError(message)

    def _repository(self, name: str) -> str:
        root = f"{self.directory}/{name}"
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(f"{root}/.git")
        return root

    def _synced(self, project: Project) -> Project:
        self.run(project, "lock")
        self.run(project, "sync")
        return project


def _write(root: str, layout: str, found: list[Package], size: Size) -> tuple[str, ...]:
    layouts.write(root, layouts.LAYOUTS[layout].files(found, size))
    return tuple(f"{root}/{layouts.LAYOUTS[layout].skills(one)}" for one in found if one.skills)


def _a_file(project: Project) -> str:
    skill = min(os.listdir(project.shipped[0]))
    return f"{project.shipped[0]}/{skill}/SKILL.md"


class Changed:
    """One skill of a project in two versions, each with its lock: whatever is installed, the other one differs."""

    def __init__(self, workshop: Workshop, project: Project) -> None:
        self._file = _a_file(project)
        self._lock = f"{project.root}/{_LOCK}"
        first = self._read()
        with open(self._file, "ab") as file:
            file.write(b"\nChanged.\n")
        workshop.run(project, "lock")
        self._now, self._next = self._read(), first
        workshop.run(project, "sync")

    def __call__(self) -> None:
        """Change the package and the lock: what is installed is out of date then."""
        self._now, self._next = self._next, self._now
        for path, content in zip((self._file, self._lock), self._now, strict=True):
            with open(path, "wb") as file:
                file.write(content)

    def _read(self) -> tuple[bytes, bytes]:
        with open(self._file, "rb") as file, open(self._lock, "rb") as lock:
            return file.read(), lock.read()
