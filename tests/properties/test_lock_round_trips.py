from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from strategies import lockfiles

from skillsync.locking.changes import between
from skillsync.locking.lockfile import Lockfile, dump, parse
from skillsync.schema import is_visible
from skillsync.values import replace

if TYPE_CHECKING:
    import random


@given(lockfiles)
def test_what_is_written_is_what_is_read(lock: Lockfile) -> None:
    assert parse(dump(lock)) == lock


@given(lockfiles)
def test_what_is_read_is_written_as_it_was(lock: Lockfile) -> None:
    content = dump(lock)
    assert dump(parse(content)) == content


@given(lockfiles, st.randoms(use_true_random=False))
def test_one_lock_has_one_form_in_whatever_order_it_was_made(lock: Lockfile, order: random.Random) -> None:
    providers = []
    for provider in order.sample(lock.providers, len(lock.providers)):
        skills = [
            replace(skill, tree=dict(order.sample(list(skill.tree.items()), len(skill.tree))))
            for skill in order.sample(provider.skills, len(provider.skills))
        ]
        providers.append(replace(provider, skills=tuple(skills)))
    assert dump(Lockfile(providers=tuple(providers))) == dump(lock)


@given(lockfiles)
def test_a_checkout_with_other_line_ends_and_a_bom_is_the_same_lock(lock: Lockfile) -> None:
    assert parse(b"\xef\xbb\xbf" + dump(lock).replace(b"\n", b"\r\n")) == lock


@given(lockfiles)
def test_each_line_shows_what_it_holds(lock: Lockfile) -> None:
    text = dump(lock).decode()
    assert text.endswith("\n")
    assert all(map(is_visible, text.split("\n")))


@given(lockfiles, lockfiles)
def test_locks_are_the_same_exactly_if_nothing_changes_between_them(one: Lockfile, other: Lockfile) -> None:
    assert list(between(one, one)) == []
    assert bool(list(between(one, other))) is (dump(one) != dump(other))
