"""A run that ends at any of its calls to the system, and a target directory in which there is everything to do.

As a program (`python cuts.py DIRECTORY EVERY`): every change that a sync or a recovery makes is the last of a process
that is killed by SIGKILL; prints how many were.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import projects
import pytest
from builders import Installation, lay, take_away, walked

from skillsync.errors import SkillsyncError
from skillsync.filesystem import open_directory
from skillsync.hashing import Link
from skillsync.locking.changes import Action
from skillsync.syncing.recovery import recover

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEAM = ("filesystem", "snapshot", "syncing.apply")  # the modules that speak to the disk


class Killed(BaseException):
    """The end of a process at one instant: nothing that it would still do is done."""


class Cut:
    """The `os` of the modules that touch the disk: its calls are numbered, and one of them ends the run.

    `at` is the number of that call, or its name and first argument; None lets all through. `error` comes in place of
    the call, or `after` it was made; of `Killed` no later call is let through.
    """

    CALLS = frozenset(
        {
            *("open", "mkdir", "symlink", "link", "write", "fsync", "sync", "rename", "fchmod", "unlink", "rmdir"),
            *("stat", "fstat", "scandir", "read", "readlink"),
        }
    )
    CHANGES = frozenset({"mkdir", "symlink", "link", "write", "rename", "fchmod", "unlink", "rmdir"})

    def __init__(
        self, at: int | str | None = None, error: type[BaseException] = OSError, *, after: bool = False
    ) -> None:
        self._at = at
        self._error = error
        self._after = after
        self._is_dead = False
        self.made: list[str] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever is in `os`
        found = getattr(os, name)
        return self._counted(name, found) if name in self.CALLS else found

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401  # any call of `os`
            what = f"{name} {arguments[0] if arguments and isinstance(arguments[0], str) else ''}"
            is_it = self._at in {len(self.made), what}
            self.made.append(what)
            if self._is_dead or (is_it and not self._after):
                self._fail()
            try:
                result = call(*arguments, **options)
            except OSError:
                if is_it:
                    self._fail()
                raise
            if is_it:
                # Nobody will ever know of it.
                if name == "open":
                    os.close(result)
                if name == "scandir":
                    result.close()
                self._fail()
            return result

        return counted

    def _fail(self) -> None:
        self._is_dead = self._error is Killed
        raise self._error(errno.EIO, os.strerror(errno.EIO))

    @property
    def changes(self) -> Iterator[int]:
        """The numbers of the calls that changed something."""
        return (number for number, call in enumerate(self.made) if call.split()[0] in self.CHANGES)

    def end(self, work: Callable[[], object]) -> BaseException | None:
        """Do something with this cut, and return what ended it."""
        with pytest.MonkeyPatch.context() as patch:
            for module in SEAM:
                patch.setattr(f"skillsync.{module}.os", self)
            try:
                work()
            except (OSError, SkillsyncError, KeyboardInterrupt, Killed) as error:
                return error
        return None

    def run(self, setup: Installation, *, force: bool = False) -> BaseException | None:
        """Sync with this cut, and return what ended it."""
        return self.end(lambda: setup.sync(force=force, ignored=True))

    def recover(self, setup: Installation) -> BaseException | None:
        """Recover with this cut, and return what ended it."""
        return self.end(lambda: recovered(setup))


class Kill(Cut):
    """A cut that ends the whole process, by the signal that no program can refuse."""

    def _fail(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Busy:
    """A target directory in which everything that can be done has to be done, again and again from the start."""

    ACTIONS = frozenset(Action)

    def __init__(self, root: Path) -> None:
        self.start = Installation(root / "start")
        self._lay_out()
        self._root = root
        self.before = projects.content(self.start.installed, times=True)
        done = self.again()
        self.work = Cut()
        assert self.work.run(done) is None
        assert {change.action for change in self.start.plan().changes} == self.ACTIONS
        self.after = projects.content(done.installed)

    def _lay_out(self) -> None:
        """Lay out what is there before the run, and ship what is wanted then."""
        for name in ("gone", "lost", "row", "script", "used"):
            self.start.ship(name, {"run": "#!/bin/sh\n", "sub/f": f"1 {name}"})
        lay(
            self.start.installed,
            {"mine/SKILL.md": "m", "mine/sub": Link("../row"), "README.md": "r", "link": Link("mine")},
        )
        lay(self.start.installed, {".gitignore": "/mine/tmp\n"})
        self.start.sync()
        for name in ("gone", "lost"):
            self.start.drop(name)
        take_away(self.start.installed / "lost")
        self.start.ship("used", {"f": "2", "new/l": Link("../f"), "run": "#!/bin/sh\n"}, version="2.0.0")
        lay(self.start.installed / "used", {"sub/.venv/lib": "l", ".git/HEAD": "h"})
        self.start.ship("row", {"run": "#!/bin/sh\n", "sub/f": "1 row"}, version="2.0.0")
        # Of one skill, a row and a bit.
        self.start.ship("script", {"run": "#!/bin/sh\n", "sub/f": "1 script"}, version="2.0.0")
        self.start.ship("fresh", {"a/b": "1", "run": "#!/bin/sh\n"})
        (self.start.installed / "script/run").chmod(0o644)

    def again(self) -> Installation:
        """Return a copy of the start, in place of the last one; the providers' copies are the same."""
        shutil.rmtree(self._root / "copy", ignore_errors=True)
        shutil.copytree(self.start.project, self._root / "copy/project", symlinks=True)
        lay(self._root / "copy", {"packages": Link("../start/packages")})
        return replace(self.start, root=self._root / "copy")

    def interrupted(self, at: int | str) -> Installation:
        """Return a copy of the start in which a run was killed after a call."""
        setup = self.again()
        assert isinstance(Cut(at, Killed, after=True).run(setup), Killed)
        return setup

    @property
    def turns(self) -> list[int]:
        """The numbers of the calls after which a killed run leaves something to complete or to undo."""
        first = self.work.made.index("rename new-journal")
        return [number for number in self.work.changes if number >= first]

    def check_mine(self, setup: Installation) -> None:
        """What is project-authored is as it ever was."""
        found = projects.content(setup.installed, times=True)
        mine = ("mine", "README.md", "link")
        assert {path: found[path] for path in found if path.split("/")[0] in mine} == {
            path: self.before[path] for path in self.before if path.split("/")[0] in mine
        }

    def check_whole(self, setup: Installation) -> None:
        """No skill is half there: each is as it was, or as it is to be, or absent."""
        for name in {*self.start.providers, "gone"}:
            found = self._skill(setup.installed / name)
            wanted = None if name not in self.start.providers else self._wanted(name)
            assert found in {None, wanted, self._skill(self.start.installed / name)}, name

    def _wanted(self, name: str) -> str | None:
        return walked(self.start.copy_of(name)).hash

    @staticmethod
    def _skill(path: Path) -> str | None:
        """Return the hash of what is there, the text of a link; None for nothing."""
        if path.is_symlink():
            return os.readlink(path)
        return walked(path).hash if path.exists() else None

    def check_done(self, setup: Installation) -> None:
        """The next run brings everything to the end, and the one after that has nothing to do."""
        setup.sync(ignored=True)
        assert projects.content(setup.installed) == self.after
        assert setup.plan().changes == ()
        self.check_mine(setup)


class BusyLinks(Busy):
    """The same where links have to be: in place of copies and of links to another target directory, too."""

    ACTIONS = frozenset(Action) - {Action.REPAIR}
    IS_WANTED = True

    def _lay_out(self) -> None:
        self.start.others = (".first/skills", ".third/skills")
        self.start.link = True
        for name in ("copied", "gone", "lost", "moved", "noted", "row"):
            self.start.ship(name, {"sub/f": f"1 {name}"})
        lay(
            self.start.installed,
            {"mine/SKILL.md": "m", "README.md": "r", "link": Link("mine"), ".gitignore": "/mine/sub\n"},
        )
        self.start.sync()
        for name in ("copied", "noted"):
            take_away(self.start.installed / name)
            shutil.copytree(self.start.copy_of(name), self.start.installed / name)
        take_away(self.start.installed / "moved")
        lay(self.start.installed, {"moved": Link("../../.third/skills/moved")})
        for name in ("gone", "lost"):
            self.start.drop(name)
        take_away(self.start.installed / "lost")
        self.start.ship("copied", {"f": "2"}, version="2.0.0")
        for name in ("noted", "row"):
            self.start.ship(name, {"sub/f": f"1 {name}"}, version="2.0.0")
        self.start.ship("fresh", {"a/b": "1"})
        self.start.link = self.IS_WANTED

    def _wanted(self, name: str) -> str | None:
        return f"../../.first/skills/{name}" if self.IS_WANTED else super()._wanted(name)


class BusyCopies(BusyLinks):
    """The way back: copies have to be where links are."""

    IS_WANTED = False


def recovered(setup: Installation) -> None:
    """Settle what an interrupted run left, as the next one does before anything else."""
    with open_directory(str(setup.installed)) as fd:
        recover(fd, setup.place)


def without_waiting_for_the_disk(patch: pytest.MonkeyPatch) -> None:
    """Leave out the flushes themselves: what they are good for shows only when the power goes."""
    patch.setattr(os, "sync", lambda: None)
    patch.setattr(os, "fsync", lambda _fd: None)


def _kill(busy: Busy, setup: Installation, work: Callable[[Cut, Installation], object], number: int) -> None:
    """Do something in a process that is killed before the call of the given number, and let the next run follow."""
    if (child := os.fork()) == 0:
        work(Kill(number), setup)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), number
    busy.check_whole(setup)
    busy.check_done(setup)


def main(root: Path, every: int) -> None:
    """Kill a process before every change that it makes, and let the next one bring all to its end.

    For recovery, of `every` so many states that a killed run can leave, one is taken.
    """
    with pytest.MonkeyPatch.context() as patch:
        without_waiting_for_the_disk(patch)
        syncs = recoveries = 0
        for kind in (Busy, BusyLinks, BusyCopies):
            busy = kind(root / kind.__name__)
            for number in busy.work.changes:
                _kill(busy, busy.again(), Cut.run, number)
                syncs += 1
            for turn in busy.turns[::every]:
                whole = Cut()
                whole.recover(busy.interrupted(turn))
                for number in whole.changes:
                    _kill(busy, busy.interrupted(turn), Cut.recover, number)
                    recoveries += 1
    sys.stdout.write(f"{syncs} syncs and {recoveries} recoveries were killed\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
