"""On real directories: one sync and there is nothing left to do, or nothing was done."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import projects
import pytest
from builders import fated, fates, walked
from hypothesis import event, given
from hypothesis import strategies as st

from skillsync.errors import SkillsyncError
from skillsync.locking.changes import Action
from skillsync.syncing import registry
from skillsync.syncing.journal import STAGING

if TYPE_CHECKING:
    from builders import Fate, Installation


pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def check_synced(setup: Installation) -> None:
    """The target directory is what the lock says, and another run does not so much as touch it."""
    lock = setup.lock()
    found = registry.parse((setup.installed / registry.FILE_NAME).read_bytes()).rows
    assert found.keys() == lock.skills.keys()
    for name, (provider, skill) in lock.skills.items():
        row = found[name]
        assert isinstance(row, registry.Row)
        assert (row.owner, row.version, row.hash) == (provider.key, provider.version, skill.hash)
        assert walked(setup.installed / name).hash == skill.hash
    assert not (setup.installed / STAGING).exists()
    again = setup.plan()
    assert (again.changes, again.problems, again.drift) == ((), (), ())
    before = projects.tree(setup.project)
    assert setup.sync(ignored=True).changes == ()
    assert projects.tree(setup.project) == before


@given(
    skills=st.dictionaries(st.sampled_from(("a", "b-1", "new-x", "old-x")), fates(), min_size=1),
    twins=st.lists(st.sampled_from(("a", "b-1")), unique=True, max_size=1).map(tuple),
    force=st.booleans(),
)
def test_one_sync_and_there_is_nothing_to_do_or_nothing_was_done(
    skills: dict[str, Fate], twins: tuple[str, ...], *, force: bool
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        setup = fated(Path(directory), skills, twins)
        before = projects.tree(setup.project)
        made = setup.plan(force=force)
        if made.problems:
            event("refused")
            with pytest.raises(SkillsyncError) as caught:
                setup.sync(force=force, ignored=True)
            assert caught.value.problems == made.problems
            assert projects.tree(setup.project) == before
        else:
            event("synced, changing something" if made.changes else "synced")
            assert setup.sync(force=force, ignored=True) == made
            check_synced(setup)


@given(
    first=st.dictionaries(st.sampled_from(("a", "b", "c")), fates(kept=True)),
    second=st.dictionaries(st.sampled_from(("a", "b", "c")), fates(kept=True)),
)
def test_from_any_lock_to_any_other_and_back(first: dict[str, Fate], second: dict[str, Fate]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        setup = fated(Path(directory), {})
        for shipped in (first, second, {}, first):
            for name in list(setup.providers):
                setup.drop(name)
            for name, fate in shipped.items():
                if fate.shipped:
                    owner, version, pieces = fate.shipped
                    setup.ship(name, pieces, owner=owner, version=version)
            made = setup.sync(force=True, ignored=True)
            assert {change.action for change in made.changes} <= set(Action) - {Action.FORGET, Action.REPAIR}
            check_synced(setup)
