"""The state of a skill in one word, from what is cheap to know.

Invariants: pure; without hashes of the disk nothing is called modified, and nothing that is called installed was read.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from skillsync.syncing.plan import Absent, Disk, Drift
from skillsync.syncing.registry import ForeignRow, Row

if TYPE_CHECKING:
    from skillsync.locking.lockfile import LockedProvider, LockedSkill


class Status(Enum):
    """The states that `list` knows, the more pressing later."""

    AVAILABLE = "available"
    EXCLUDED = "excluded"
    INSTALLED = "installed"
    LOCKED = "locked"
    OUTDATED = "outdated"
    MISSING = "missing"
    MODIFIED = "modified"
    CONFLICT = "conflict"
    INVALID = "invalid"
    UNSAFE = "unsafe"


_FROM_DRIFT = {
    Drift.MISSING: Status.MISSING,
    Drift.MODIFIED: Status.MODIFIED,
    Drift.OUTDATED: Status.OUTDATED,
    Drift.UNMANAGED: Status.CONFLICT,
    Drift.UNREGISTERED: Status.CONFLICT,
    Drift.FOREIGN_OWNER: Status.CONFLICT,
}


def of_locked(provider: LockedProvider, skill: LockedSkill, row: Row | ForeignRow | None, *, is_there: bool) -> Status:
    """Return the state of a locked skill from lock, registry and existence."""
    if isinstance(row, ForeignRow):
        return Status.CONFLICT
    if not is_there:
        return Status.MISSING if row else Status.LOCKED
    if row is None or row.owner != provider.key:
        return Status.CONFLICT
    return Status.INSTALLED if row.hash == skill.hash else Status.OUTDATED


def of_available(owner: str, row: Row | ForeignRow | None, *, is_there: bool) -> Status:
    """Return the state of an admitted skill that isn't locked yet: a conflict where `sync` would refuse to write it."""
    is_ours = isinstance(row, Row) and row.owner == owner
    return Status.CONFLICT if (is_there and not is_ours) or isinstance(row, ForeignRow) else Status.AVAILABLE


def of_verified(drift: Drift | None, row: Row | ForeignRow | None, disk: Disk) -> Status:
    """Return the state of a locked skill whose directory was read, from the plan's verdict."""
    if isinstance(disk, Absent) and row is None:
        return Status.LOCKED
    return _FROM_DRIFT.get(drift, Status.INSTALLED) if drift else Status.INSTALLED
