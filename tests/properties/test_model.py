"""Whatever a project goes through, a sync does what the plan's table says, and takes nothing that a person wrote.

The model is the table, read from the same three facts that a person could read, and a record of all that the person
wrote: each byte of it is there until a row of the table, `--force` where it asks for it, gives it away.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import projects
import pytest
from builders import Installation, contents, lay, take_away
from cuts import Cut, Killed, recovered
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from skillsync.errors import SkillsyncError
from skillsync.hashing import Link, parents
from skillsync.locking.lockfile import Lockfile
from skillsync.syncing import registry
from skillsync.syncing.apply import Source
from skillsync.syncing.journal import STAGING

if TYPE_CHECKING:
    from collections.abc import Callable

    from builders import Pieces

    Content = dict[str, bytes | Link]  # of a skill, by path
    Disk = Content | Literal["other"] | None  # a directory's content; a file or a link; nothing

NAMES = ("a", "old-a")
TWINS = tuple(name.upper() for name in NAMES)
OWNERS = ("gem:sus", "pypi:other")
RUNTIME = {".git", ".venv", "node_modules"}
IGNORED = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
# Where a person writes in a skill: files that providers ship too, one that none ships, and what is made by using it.
PLACES = ("SKILL.md", "f", "d/f", "notes.md", ".venv/lib", "d/.git/HEAD", "d/e/node_modules/m")
LINE = "/mine/tmp"  # of the person's, in .gitignore

_names = st.sampled_from(NAMES)
_owners = st.sampled_from(OWNERS)
_versions = st.sampled_from(("1", "2"))
# Few contents, and with files in the way of what people make: so that what is written meets what was there.
_pieces = contents() | st.sampled_from(
    ({}, {"f": "1"}, {"f": "2", "d/f": "1"}, {"d": "1"}, {"scripts/run": "#!/bin/sh\n"})
)
_places = st.sampled_from(PLACES)
_texts = st.sampled_from(("1", "2", "mine"))
# Any call; or one of those by which a skill and what belongs to it change places, which are few among many.
_calls = st.integers(0, 200) | st.sampled_from(
    (
        *(
            "rename {}",
            "rename new-{}",
            "rename new-{}",
            "rename old-{}",
            "rename old-{}/.venv",
            "rename old-{}/d/.git",
        ),
        *("rename .gitignore", "rename new-.agent-skills.yaml", "unlink SKILL.md", "unlink journal"),
    )
)
_after = st.sampled_from((True, True, False))
_errors = st.sampled_from((Killed, Killed, OSError, KeyboardInterrupt))


pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def call(at: int | str, name: str) -> int | str:
    """Return which call it is, for a skill."""
    return at.format(name) if isinstance(at, str) else at


def content(directory: Path, prefix: str = "") -> Content:
    """What counts of a directory when it is compared."""
    found: Content = {}
    for child in directory.iterdir():
        path = prefix + child.name
        if child.is_symlink():
            found[path] = Link(os.readlink(child))
        elif not child.is_dir():
            found[path] = child.read_bytes()
        elif child.name not in RUNTIME | IGNORED:
            found |= content(child, f"{path}/")
    return found


def runtime(directory: Path, prefix: str = "") -> list[str]:
    """The directories of people and agents in a skill."""
    found = []
    for child in directory.iterdir():
        if child.is_dir() and not child.is_symlink():
            path = prefix + child.name
            found += [path] if child.name in RUNTIME else runtime(child, f"{path}/")
    return found


def disk(path: Path) -> Disk:
    if path.is_symlink() or path.is_file():
        return "other"
    return content(path) if path.exists() else None


def everything(path: Path) -> object:
    """An entry and all below it, with the times; of a link only itself."""
    return (os.readlink(path), path.lstat().st_mtime_ns) if path.is_symlink() else projects.content(path, times=True)


def verdict(  # noqa: PLR0911  # one return for each row of the table
    locked: tuple[str, Content] | None, row: tuple[str, Content] | None, found: Disk, used: list[str]
) -> str:
    """The table in DESIGN, "The plan": what is done, or why nothing is. `used` are the runtime directories."""
    if locked is None:
        if row is None:
            return "nothing"
        if found is None:
            return "forget"
        return "remove" if found == row[1] and not used else "modified"
    if found is None:
        return "add"
    if row is None:
        return "unmanaged"
    if found == locked[1]:
        return "keep"
    if any(above in locked[1] for path in used for above in parents(path)):
        return "homeless"  # the new skill has a file where what people made has to go: no row allows that
    if row[0] != locked[0]:
        return "foreign-owner"
    return "update" if found == row[1] else "modified"


FORCIBLE = {"modified", "foreign-owner"}
REFUSED = {"unmanaged", "homeless"}


class Shelf(Installation):
    """An installation that looks for every skill's content where its provider has it, or had it."""

    @property
    def sources(self) -> dict[str, Source]:
        return {name: Source(root=str(self.root / "packages"), path=name, version="1.0.0") for name in NAMES}


class Busy(Cut):
    """The `os` of a run during which somebody does something, right before one of its calls."""

    def __init__(self, at: int | str, do: Callable[[], None]) -> None:
        super().__init__()
        self._when = at
        self._do = do

    def _counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def busy(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401  # any call of `os`
            if self._when in {len(self.made) - 1, self.made[-1]}:
                self._do()
            return call(*arguments, **options)

        return super()._counted(name, busy)


class Machine(RuleBasedStateMachine):
    """A project, its packages, the person, and what the person relies on."""

    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory()
        self.setup = Shelf(Path(self._directory.name))
        self.lock = Lockfile()
        self.contents: dict[str | None, Content] = {}  # by hash: all that was ever locked
        # What the person wrote into owned skills, by path; and by name what is the person's altogether, with the times.
        self.mine: dict[str, bytes] = {}
        self.theirs: dict[str, object] = {}
        self.aside: dict[str, bytes] = {}  # as `mine`: moved aside, with another one in its place
        self.kept: bytes | None = None  # the registry, while a garbled one stands in its place
        # Of a run that was cut off: what it may have changed, what each was, and whether the person has done something.
        self.cut: dict[str, Disk] = {}
        self.is_cut = False
        self.has_line = False  # whether the person has written into .gitignore
        self.is_calm = False  # whether nothing happens that stands in the way of every sync from then on
        self.undisturbed: bool | None = None  # since a run of which nothing stood in the way: its `force`

    def teardown(self) -> None:
        self._directory.cleanup()

    # The facts

    @property
    def installed(self) -> Path:
        return self.setup.installed

    @property
    def registry(self) -> Path:
        return self.installed / registry.FILE_NAME

    @property
    def rows(self) -> dict[str, tuple[str, Content]]:
        """The registry's: owner, and what was written."""
        text = self.kept
        if text is None:
            text = self.registry.read_bytes() if self.registry.exists() else None
        rows = registry.parse(text).rows if text is not None else {}
        return {
            name: (row.owner, self.contents[row.hash]) for name, row in rows.items() if isinstance(row, registry.Row)
        }

    @property
    def wanted(self) -> dict[str, tuple[str, Content]]:
        """The lock's: owner and content."""
        return {name: (provider.key, self.contents[skill.hash]) for name, (provider, skill) in self.lock.skills.items()}

    def used(self, name: str) -> list[str]:
        path = self.installed / name
        return runtime(path) if isinstance(disk(path), dict) else []

    def verdicts(self) -> dict[str, str]:
        wanted, rows = self.wanted, self.rows
        found = {}
        for name in NAMES:
            if name in wanted and (self.installed / name.upper()).exists():
                found[name] = "unmanaged"
            else:
                facts = disk(self.installed / name), self.used(name)
                found[name] = verdict(wanted.get(name), rows.get(name), *facts)
        return found

    def is_refused(self, verdicts: dict[str, str], *, force: bool) -> bool:
        """Whether one row refuses, or what has to be written can't be had as it was locked."""
        words = set(verdicts.values())
        if self.kept is not None or words & REFUSED or (not force and words & FORCIBLE):
            return True
        for name in self.writes(verdicts):
            copy = self.setup.copy_of(name)
            if disk(copy) != self.wanted[name][1] or runtime(copy):
                return True
        return False

    def writes(self, verdicts: dict[str, str]) -> list[str]:
        writing = {"add", "update", *FORCIBLE}
        return [name for name, word in verdicts.items() if word in writing and name in self.lock.skills]

    # What packages do

    @rule(name=_names, owner=_owners, version=_versions, pieces=_pieces, is_locked=st.booleans())
    def ship(self, name: str, owner: str, version: str, pieces: Pieces, *, is_locked: bool) -> None:
        self.setup.ship(name, pieces, owner=owner, version=version)
        self.undisturbed = None
        if is_locked:
            self.write_lock()

    @rule(name=_names, is_locked=st.booleans())
    def drop(self, name: str, *, is_locked: bool) -> None:
        self.setup.drop(name)
        self.undisturbed = None
        if is_locked:
            self.write_lock()

    @rule(name=_names)
    def ship_what_nobody_may(self, name: str) -> None:
        if not self.is_calm and self.setup.copy_of(name).exists():
            lay(self.setup.copy_of(name), {".venv/lib": "l"})
            self.undisturbed = None

    def write_lock(self) -> None:
        self.lock = self.setup.lock()
        for name, (_, skill) in self.lock.skills.items():
            self.contents[skill.hash] = content(self.setup.copy_of(name))
        self.undisturbed = None

    # What the person does

    @initialize(is_there=st.booleans(), is_calm=st.booleans(), shipped=st.dictionaries(_names, _pieces, min_size=1))
    def begin(self, shipped: dict[str, Pieces], *, is_there: bool, is_calm: bool) -> None:
        self.is_calm = is_calm
        for name, pieces in shipped.items():
            self.setup.ship(name, pieces)
        self.write_lock()
        self.setup.sync(self.lock, ignored=True)
        if is_there:
            (self.installed / ".gitignore").unlink()
            self.has_line = True
            lay(
                self.installed,
                {".gitignore": f"{LINE}\n", "README.md": "r", "mine/SKILL.md": "m", "mine/a": Link("../a")},
            )
            self.theirs |= {name: everything(self.installed / name) for name in ("README.md", "mine")}

    def _made(self, name: str) -> None:
        """Note that an entry of the target directory is as the person made it."""
        if name in self.theirs or (name not in self.rows and name not in self.cut):
            self.theirs[name] = everything(self.installed / name)
        self.undisturbed = None

    @rule(name=_names, place=_places, text=_texts)
    def edit(self, name: str, place: str, text: str) -> None:
        """Write a file in a skill, be it installed or the person's own."""
        path = self.installed / name
        above = (path, *(path / directory for directory in parents(place)))
        blocked = any(one.is_symlink() or one.is_file() for one in above)
        if not blocked and not (path / place).is_symlink() and not (path / place).is_dir():
            inner = f"{name}/{place}"
            if self.is_cut and inner in self.mine and not (path / place).exists():
                self.aside[inner] = self.mine[inner]
            lay(path, {place: text})
            self.mine[inner] = text.encode()
            self._made(name)

    @rule(name=_names, piece=st.sampled_from(("a file", Link("mine"), Link("../.."), None)))
    def write_beside(self, name: str, piece: str | Link | None) -> None:
        """Put a file or a link where a skill would go, or a directory whose name differs from a skill's by case."""
        if self.is_calm:
            return
        if piece is None:
            lay(self.installed, {f"{name.upper()}/f": "t"})
            self._made(name.upper())
        elif disk(self.installed / name) is None:
            lay(self.installed, {name: piece})
            self._made(name)

    @rule(name=st.sampled_from((*NAMES, *TWINS)))
    def remove(self, name: str) -> None:
        take_away(self.installed / name)
        self._forget(name)
        for path in [path for path in self.aside if path.startswith(f"{name}/")]:
            self.mine[path] = self.aside.pop(path)
        self.theirs.pop(name, None)
        self.undisturbed = None

    @rule(name=_names, place=_places)
    def remove_file(self, name: str, place: str) -> None:
        path = self.installed / name
        if isinstance(disk(path), dict) and (path / place).is_file() and not (path / place).is_symlink():
            (path / place).unlink()
            self.mine.pop(f"{name}/{place}", None)
            self._made(name)

    @rule(name=_names)
    def take_the_scripts_bit(self, name: str) -> None:
        path = self.installed / name / "scripts/run"
        if name not in self.theirs and path.is_file() and not path.is_symlink():
            path.chmod(0o644)

    @rule(fate=st.sampled_from(("lost", "garbled", "mended", "mended")))
    def meddle_with_the_registry(self, fate: str) -> None:
        """Once it is lost, nothing proves any more that what is there isn't the person's."""
        if self.is_calm or not self.registry.exists():
            return
        self.undisturbed = None
        if fate == "lost":
            self.registry.unlink()
            self.kept = None
            for name in NAMES:
                if disk(self.installed / name) is not None and name not in self.cut:
                    self.theirs[name] = everything(self.installed / name)
        elif fate == "garbled" and self.kept is None:
            self.kept = self.registry.read_bytes()
            self.registry.write_bytes(self.kept[: len(self.kept) // 2] + b"\n<<<<<<< HEAD\n")
        elif self.kept is not None:
            self.registry.write_bytes(self.kept)
            self.kept = None

    # What skillsync does

    @rule(force=st.booleans())
    def sync(self, *, force: bool) -> None:
        self._recover()
        before, verdicts = self._target(), self.verdicts()
        refused = self.is_refused(verdicts, force=force)
        if self.undisturbed is not None and (force or not self.undisturbed):
            assert not refused
        try:
            self.setup.sync(self.lock, force=force, ignored=True)
        except (SkillsyncError, OSError):
            event("refused")
            assert refused, verdicts
            assert self._target() == before
        else:
            event(f"synced: {' '.join(sorted(set(verdicts.values())))}")
            assert not refused, verdicts
            self._give_away(verdicts, force=force)
            self._check_done(verdicts)

    @rule(
        force=st.booleans(),
        name=_names,
        pieces=_pieces,
        is_used=st.booleans(),
        at=_calls,
        error=_errors,
        after=_after,
        again=st.booleans(),
    )
    def sync_that_ends_early(  # noqa: PLR0913  # all that can be different
        self,
        name: str,
        pieces: Pieces,
        at: int | str,
        error: type[BaseException],
        *,
        force: bool,
        after: bool,
        again: bool,
        is_used: bool,
    ) -> None:
        self._recover()
        self.ship(name, "gem:sus", "4", pieces, is_locked=True)
        if is_used and disk(self.installed / name) is not None:
            self.edit(name, ".venv/lib", "mine")
        before, verdicts = self._target(), self.verdicts()
        refused = self.is_refused(verdicts, force=force)
        was = {name: disk(self.installed / name) for name in NAMES}
        ended = Cut(call(at, name), error, after=after).end(
            lambda: self.setup.sync(self.lock, force=force, ignored=True)
        )
        event(f"ended by {type(ended).__name__}")
        if refused:
            assert ended is not None, verdicts
            kept = {path: entry for path, entry in self._target().items() if path in before or STAGING not in path}
            assert kept == before
        else:
            self._give_away(verdicts, force=force)
            if ended is None:
                self._check_done(verdicts)
                return
            touched = {name for name, word in verdicts.items() if word not in {"nothing", "keep"}}
            self.cut = {name: was[name] for name in touched}
            self.undisturbed = force
        self.is_cut = (self.installed / STAGING).exists()
        self._check_whole()
        if again:
            self.sync(force=force)

    @rule(name=_names, pieces=_pieces, place=_places, at=_calls)
    def edit_while_it_syncs(self, name: str, pieces: Pieces, place: str, at: int | str) -> None:
        """Write into a skill that is about to be replaced: what is written is there, whoever was first."""
        self._recover()
        self.ship(name, "gem:sus", "3", pieces, is_locked=True)
        verdicts = self.verdicts()

        def edit() -> None:
            if disk(self.installed / name) is not None:
                self.edit(name, place, "meanwhile")

        was_theirs = name in self.theirs
        ended = Busy(call(at, name), edit).end(lambda: self.setup.sync(self.lock, ignored=True))
        if not was_theirs:
            self.theirs.pop(name, None)
        event(f"edited meanwhile, {type(ended).__name__}")
        self.is_cut = (self.installed / STAGING).exists()
        if ended is None and not was_theirs:
            paths = {path: text for path, text in self.mine.items() if text == b"meanwhile"}
            self._give_away(verdicts, force=False)
            self.mine |= paths

    @rule(name=_names, at=_calls, error=_errors, after=_after)
    def recovery_that_ends_early(self, name: str, at: int | str, error: type[BaseException], *, after: bool) -> None:
        if self.is_cut:
            Cut(call(at, name), error, after=after).recover(self.setup)
            self._check_whole()

    def _recover(self) -> None:
        """Do what every sync begins with, and look at what comes of it."""
        if self.installed.exists():
            before = self._target()
            try:
                recovered(self.setup)
            except SkillsyncError as error:
                assert self._target() == before
                if self.kept is not None:
                    return
                self._move_away(error)
                recovered(self.setup)
            if not self.is_cut:
                assert self._target() == before
        assert not (self.installed / STAGING).exists()
        self.is_cut = False
        self._check_whole()
        self._check_line()
        self.cut = {}

    def _move_away(self, error: SkillsyncError) -> None:
        """Do what a refused recovery asks for: there are two for one place, and the one that was moved aside goes."""
        event("refused to lose what was moved aside")
        for problem in error.problems:
            target, _, inner = str(problem.path).partition(f"{STAGING}/")
            assert inner[:4] in {"old-", "new-"}, problem
            assert os.path.lexists(self.setup.project / target / inner[4:].split("/")[0]), problem
            take_away(self.setup.project / str(problem.path))
        self.aside.clear()
        self.mine = {path: text for path, text in self.mine.items() if (self.installed / path).exists()}

    def _target(self) -> dict[str, tuple[object, ...]]:
        """Everything in the target directory, and the directory itself if it is there."""
        if not self.installed.exists():
            return {}
        return {".": (), **projects.content(self.installed, times=True)}

    def _forget(self, name: str, *, but: tuple[str, ...] = ()) -> None:
        """Take what is in a skill out of the record; `but` are directories of it that stay."""
        paths = [path for path in self.mine if path.startswith(f"{name}/")]
        for path in paths:
            if not any(path.startswith(f"{name}/{one}/") for one in but):
                del self.mine[path]

    def _give_away(self, verdicts: dict[str, str], *, force: bool) -> None:
        """Take out of the record what the table gives away: never what is made by using a skill that stays."""
        for name, word in verdicts.items():
            if word == "update" or (force and word in FORCIBLE and name in self.lock.skills):
                self._forget(name, but=tuple(self.used(name)))
                if word != "update" or not self.used(name):
                    self.theirs.pop(name, None)
            elif word == "remove" or (force and word in FORCIBLE):
                self._forget(name)

    def _check_done(self, verdicts: dict[str, str]) -> None:
        """The target directory is what the lock says, and nothing is left to do."""
        wanted = self.wanted
        for name, word in verdicts.items():
            if name in wanted:
                assert disk(self.installed / name) == wanted[name][1]
                for path, found in wanted[name][1].items():
                    if isinstance(found, bytes) and found.startswith(b"#!"):
                        assert os.access(self.installed / name / path, os.X_OK)
            elif word != "nothing":
                assert disk(self.installed / name) is None
        assert {name: row[0] for name, row in self.rows.items()} == {name: one[0] for name, one in wanted.items()}
        again = self.setup.plan(self.lock)
        assert (again.changes, again.problems, again.drift) == ((), (), ())
        assert not (self.installed / STAGING).exists()
        self._check_line()
        self.undisturbed = None

    def _check_line(self) -> None:
        """What the person has in .gitignore is there."""
        assert not self.has_line or LINE in (self.installed / ".gitignore").read_text()

    def _check_whole(self) -> None:
        """No skill is half there: each that a run was cut off at is as it was, or as it is to be.

        Until the next run it may be absent.
        """
        for name, was in self.cut.items():
            if self.undisturbed is not None:
                to_be = self.wanted[name][1] if name in self.wanted else None
                found = disk(self.installed / name)
                assert found in (was, to_be) or (self.is_cut and found is None)

    # What the person relies on

    @invariant()
    def what_the_person_wrote_is_there(self) -> None:
        for name, was in self.theirs.items():
            assert everything(self.installed / name) == was, name
        for path, text in self.mine.items():
            name, _, inner = path.partition("/")
            aside = [self.installed / STAGING / f"{start}{name}" / inner for start in ("old-", "new-")]
            places = [self.installed / path, *(aside if self.is_cut else ())]
            assert any(one.is_file() and one.read_bytes() == text for one in places), path
        for path, text in self.aside.items():
            assert (self.installed / STAGING / f"old-{path}").read_bytes() == text, path


TestModel = Machine.TestCase
TestModel.settings = settings(max_examples=2 * settings().max_examples, stateful_step_count=25)
