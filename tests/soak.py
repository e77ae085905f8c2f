"""Real processes sync one project to two locks in turn, while another kills them at random.

`python soak.py [SECONDS]` (120 without) prints how many were killed; it fails if ever half a skill was there, if a run
ended otherwise than done or killed, if anything of a person's changed, or if in the end one `sync` and one `verify` are
not clean. The flushes to the disk are left out: they would take most of the time, and a kill loses nothing of them.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import gems
import projects
import pytest
from builders import walked
from cuts import without_waiting_for_the_disk
from projects import LOCK, SKILLS, Project

from skillsync import filesystem
from skillsync.cli.main import main as skillsync
from skillsync.syncing.journal import STAGING

RUNS = 3  # at once
LONGEST = 0.06  # seconds that a kill is waited for: a run takes less
MINE = {f"{SKILLS}/mine/SKILL.md": "mine", f"{SKILLS}/mine/notes/a.md": "a", f"{SKILLS}/README.md": "r"}


@dataclass(slots=True)
class Soak:
    """The project, its two locks, and what has happened so far."""

    project: Project
    locks: dict[str, bytes] = field(default_factory=dict)
    hashes: dict[str, set[str | None]] = field(default_factory=dict)  # by skill: what a whole one can have
    running: dict[int, tuple[str, Path]] = field(default_factory=dict)  # by process: the command, and what it says
    started: int = 0
    killed: int = 0
    interrupted: int = 0  # of the killed, those that left something to complete or to undo

    @property
    def installed(self) -> Path:
        return self.project.installed()

    def prepare(self) -> None:
        """Install two versions of a gem, make a lock of each, and write what a person has beside the skills."""
        home = Path(os.environ["GEM_HOME"])
        for version, names in (("1.0.0", "abcdef"), ("2.0.0", "cdefgh")):
            files = {f"skills/skill-{name}/{n}/f{n}": f"{n}" * 500 for name in names for n in range(8)}
            files |= {f"skills/skill-{name}/v": version for name in names if name not in "cd"}
            skills = gems.skills(*(f"skill-{name}" for name in names))
            gems.write_gem(home, "sus", version, {**skills, **files})
            self.project.write({"Gemfile": "", **MINE})
            self.project.manifest(f'version = 1\n[providers.gem]\nsus = "= {version}"\n').done("lock")
            self.project.done("sync")
            self.locks[version] = (self.project.root / LOCK).read_bytes()
            for name in names:
                skill = f"skill-{name}"
                self.hashes.setdefault(skill, set()).add(walked(self.installed / skill).hash)
        # What a command loads when it first runs is loaded now.
        self.project.done("verify")

    def choose(self, version: str) -> None:
        """Put one of the locks in place, at once."""
        staged = self.project.root / "staged"
        staged.write_bytes(self.locks[version])
        staged.replace(self.project.root / LOCK)

    def start(self, *arguments: str) -> None:
        """Start a run as a process of its own, that says what it has to say to a file."""
        self.started += 1
        said = self.project.root / f"said-{self.started}"
        if (child := os.fork()) == 0:
            os.chdir(self.project.root)
            with said.open("w") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
                code = skillsync(arguments)
            os._exit(code)
        self.running[child] = arguments[0], said

    def reap(self, child: int, *, wait: bool) -> None:
        """Take note of how a run ended, if it has."""
        found, status = os.waitpid(child, 0 if wait else os.WNOHANG)
        if not found:
            return
        command, said = self.running.pop(child)
        if os.WIFSIGNALED(status):
            self.killed += 1
        else:
            # Who only reads may find drift, since the lock changes; who syncs has nothing that stands against it.
            assert os.WEXITSTATUS(status) in ({0} if command == "sync" else {0, 1}), said.read_text()
        said.unlink(missing_ok=True)

    def kill(self) -> None:
        """Kill one of the runs, whatever it does now, and look at what is left if nobody is at work then."""
        child = random.choice(list(self.running))  # noqa: S311  # which one has nothing to do with security
        os.kill(child, signal.SIGKILL)
        before = self.killed
        self.reap(child, wait=True)
        with filesystem.open_directory(str(self.installed)) as fd:
            if filesystem.take_lock(fd, wait=False):
                self.interrupted += self.killed > before and filesystem.kind(STAGING, fd) is not None
                self.check_whole()

    def check_whole(self) -> None:
        for skill, hashes in self.hashes.items():
            if (self.installed / skill).exists():
                assert walked(self.installed / skill).hash in hashes, skill

    def run(self, seconds: float) -> None:
        """Sync and kill for a while; in the end one run has to be enough."""
        end = time.monotonic() + seconds
        versions = list(self.locks)
        mine = self.mine()
        while time.monotonic() < end:
            self.choose(versions[self.started % 2])
            while len(self.running) < RUNS:
                self.start(*(("verify", "--scope", "installed") if self.started % 7 == 0 else ("sync",)))
            time.sleep(random.uniform(0, LONGEST))  # noqa: S311
            for child in list(self.running):
                self.reap(child, wait=False)
            if self.running:
                self.kill()
        for child in list(self.running):
            self.reap(child, wait=True)
        self.choose(versions[-1])
        for command in ("sync", "verify"):
            result = self.project.process(command)
            assert result.code == 0, result
        assert self.mine() == mine
        assert sorted(os.listdir(self.installed)) == sorted(
            {".agent-skills.yaml", ".gitignore", "README.md", "mine", *(f"skill-{name}" for name in "cdefgh")}
        )

    def mine(self) -> projects.Tree:
        """What is project-authored, with its times."""
        found = projects.tree(self.installed)
        return {path: found[path] for path in found if path.split("/")[0] in {"mine", "README.md"}}


def main(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        environ = gems.ruby_environ(Path(directory) / "home")
        for name in os.environ.keys() - environ.keys():
            patch.delenv(name)
        for name, value in environ.items():
            patch.setenv(name, value)
        without_waiting_for_the_disk(patch)
        soak = Soak(Project(Path(directory) / "project"))
        soak.prepare()
        soak.run(seconds)
    sys.stdout.write(
        f"{soak.started} runs, {soak.killed} killed, {soak.interrupted} of them with work to complete or undo: "
        "one sync and one verify were clean\n"
    )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 120)
