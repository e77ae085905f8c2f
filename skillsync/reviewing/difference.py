"""Two states of a skill as values: file by file, with the bytes as far as they are at hand.

Invariants: pure; bytes are only ever those that the entry's hash is of; what is not at hand is told from what is empty.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from skillsync.hashing import Entry, Link
from skillsync.values import Value

if TYPE_CHECKING:
    from skillsync.errors import Code
    from skillsync.locking.changes import Change

# Beyond it, a file is told by size and hash: nobody reads that much, and lines are compared in memory.
LARGE = 1024 * 1024


class Version(Value, cached=True):
    """One side of a file. `size` (bytes) and `content` are None where they are not at hand.

    `is_script` tells what DESIGN calls a script: it begins with `#!`, its owner may run it, or it lies under
    `scripts/`.
    """

    entry: Entry
    size: int | None = None
    content: bytes | None = None
    is_script: bool = False

    @cached_property
    def text(self) -> str | None:
        """The text; None for a link, for what is binary, and for what is not at hand."""
        if self.content is None or b"\0" in self.content:
            return None
        try:
            return self.content.decode()
        except UnicodeDecodeError:
            return None

    @property
    def is_at_hand(self) -> bool:
        """Whether there is something that it can be read from."""
        return isinstance(self.entry, Link) or self.size is not None

    @property
    def facts(self) -> dict[str, str | int | None]:
        """What is known of it: its hash or the link's target, and its size in bytes."""
        if isinstance(self.entry, Link):
            return {"link": self.entry.target}
        return {"hash": self.entry.hash, "size": self.size}

    @property
    def words(self) -> str:
        """What it is, for who doesn't see its text."""
        if isinstance(self.entry, Link):
            return f"link to {self.entry.target}"
        return self.entry.hash if self.size is None else f"{self.size} bytes, {self.entry.hash}"


class FileDifference(Value):
    """One path that differs; a side is None where nothing is there."""

    path: str
    old: Version | None
    new: Version | None

    @property
    def is_text(self) -> bool:
        """Whether both sides, as far as there are two, are texts that are at hand."""
        return all(side is None or side.text is not None for side in (self.old, self.new))


class SkillDifference(Value):
    """What one change is made of.

    `target` is the target directory, None for a change of the lock; `refusal` is why `sync` does it only if forced.
    """

    change: Change
    files: tuple[FileDifference, ...]
    target: str | None = None
    refusal: Code | None = None

    @property
    def name(self) -> str:
        """The skill, with its target directory if it is about one."""
        return f"{self.target}/{self.change.skill}" if self.target else self.change.skill
