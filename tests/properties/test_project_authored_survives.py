"""What is in no registry row stays as it is, byte for byte and time for time, however a sync goes and ends."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import projects
import pytest
from builders import fated, fates, lay
from cuts import Cut, Killed
from hypothesis import event, given
from hypothesis import strategies as st

from skillsync.errors import SkillsyncError
from skillsync.hashing import Link
from skillsync.syncing import registry
from skillsync.syncing.journal import STAGING

if TYPE_CHECKING:
    from builders import Fate, Installation

OWNED = ("a", "b-1", "new-x", "old-x")
AUTHORED = ("c", "mine", "x")
# Another program's row, and what another tool claims in its own file.
ROWS = "---\nversion: 1\nskills:\n  x:\n    by: hand\n"
CLAIM = '{"skills": ["mine"]}'


pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def everything(path: Path) -> object:
    """An entry and all below it, with the times; of a link only itself."""
    return (os.readlink(path), path.lstat().st_mtime_ns) if path.is_symlink() else projects.tree(path)


def authored(setup: Installation, owned: set[str]) -> dict[str, object]:
    ours = owned | {registry.FILE_NAME, ".gitignore", STAGING}
    return {path.name: everything(path) for path in setup.installed.iterdir() if path.name not in ours}


@given(
    skills=st.dictionaries(st.sampled_from(OWNED), fates()),
    kept=st.dictionaries(st.sampled_from(AUTHORED), fates(kept=True)),
    twins=st.lists(st.sampled_from(("a", "c")), unique=True, max_size=1).map(tuple),
    force=st.booleans(),
    claims=st.sampled_from(("", "row", "file")),
    locked=st.booleans(),
    cut=st.tuples(st.integers(0, 200), st.sampled_from((OSError, KeyboardInterrupt, Killed)), st.booleans()),
)
def test_what_is_project_authored_survives(  # noqa: PLR0913  # all that can happen
    skills: dict[str, Fate],
    kept: dict[str, Fate],
    twins: tuple[str, ...],
    claims: str,
    cut: tuple[int, type[BaseException], bool],
    *,
    force: bool,
    locked: bool,
) -> None:
    if not locked:
        kept = {name: replace(fate, shipped=None) for name, fate in kept.items()}
    with tempfile.TemporaryDirectory() as directory:
        setup = fated(Path(directory), {**skills, **kept}, twins)
        lay(setup.installed, {"README.md": "r", ".cache/f": "c", "link": Link("README.md"), "out": Link("/")})
        if claims == "file":
            lay(setup.installed, {".agent-context-skills.json": CLAIM})
        if claims == "row" and not any(fate.is_owned for fate in skills.values()):
            lay(setup.installed, {registry.FILE_NAME: ROWS})
        outside = everything(setup.root / "packages") if setup.providers else None
        before = authored(setup, {name for name, fate in skills.items() if fate.is_owned})
        number, error, after = cut
        ended = Cut(number, error, after=after).run(setup, force=force)
        event(f"ended by {type(ended).__name__}")
        for forced in (force, True):
            with suppress(SkillsyncError):
                setup.sync(force=forced, ignored=True)
            found = authored(setup, set())
            assert {name: found.get(name) for name in before} == before
        assert outside is None or everything(setup.root / "packages") == outside
