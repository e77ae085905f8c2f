"""What changes, as values: file by file, skill by skill, in the words that every command uses.

Invariants: pure; sorted; a change is display and instruction at once, so what is shown is what is done.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from skillsync.snapshot import is_ignored
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillsync.hashing import Entry
    from skillsync.locking.lockfile import Lockfile
    from skillsync.snapshot import Snapshot


class Action(Enum):
    """What is done for one skill."""

    ADD = "add"
    UPDATE = "update"
    REMOVE = "remove"
    REPAIR = "repair"  # an executable bit
    RECORD = "record"  # a registry row alone
    FORGET = "forget"  # a registry row alone


SAME_VERSION = "the same version with other content"  # of a change that is silent


class FileChanges(Value):
    """What differs between two trees, by path."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What differs, in words; "" where nothing does."""
        words = (("added", self.added), ("changed", self.changed), ("removed", self.removed))
        return "; ".join(f"{word} {', '.join(paths)}" for word, paths in words if paths)


class Change(Value):
    """One action on one skill.

    `before` is the hash of the directory that is there now, None for nothing or what has none. `previous` is the
    provider that it belonged to, if it changes hands; `previous_version` the version that was locked, if there was
    another. `carried` are the directories of people and agents inside an installed skill, which move into its new
    directory; `lost` are those that go with it. `link` is the text of the link that is made in place of a directory.
    """

    action: Action
    skill: str
    provider: str
    version: str | None
    files: FileChanges = FileChanges()
    before: str | None = None
    previous: str | None = None
    previous_version: str | None = None
    carried: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    link: str | None = None

    @property
    def is_silent(self) -> bool:
        """Whether the content changed while the version did not."""
        return self.action is Action.UPDATE and self.files != FileChanges() and not self.previous_version


def compare(old: Mapping[str, Entry], new: Mapping[str, Entry]) -> FileChanges:
    """Compare two trees file by file."""
    return FileChanges(
        added=tuple(sorted(path for path in new if path not in old)),
        changed=tuple(sorted(path for path, entry in new.items() if path in old and old[path] != entry)),
        removed=tuple(sorted(path for path in old if path not in new)),
    )


def since_install(recorded: Mapping[str, str], found: Snapshot) -> FileChanges:
    """Compare a skill with the hashes that an installer wrote down; without any, nothing is known.

    What is compiled at installation is listed without a hash: it isn't missed, and nothing tells of its content.
    """
    if not recorded:
        return FileChanges()
    missing = (path for path, digest in recorded.items() if digest and path not in found.tree)
    return FileChanges(
        added=tuple(sorted(path for path in found.tree if path not in recorded)),
        changed=found.altered,
        removed=tuple(sorted(path for path in missing if not is_ignored(path))),
    )


def between(old: Lockfile, new: Lockfile) -> Iterator[Change]:
    """Yield what one lock has that the other hasn't; a version without new content is an update without files."""
    before, after = old.skills, new.skills
    for name in sorted({*before, *after}):
        old_provider, old_skill = before.get(name, (None, None))
        provider, skill = after.get(name, (None, None))
        owner = provider or old_provider
        assert owner is not None  # noqa: S101  # the name came from one of the two
        if old_skill is not None and skill is not None and old_provider is not None and provider is not None:
            if (old_provider.key, old_provider.version, old_skill.hash) == (provider.key, provider.version, skill.hash):
                continue
            action = Action.UPDATE
        else:
            action = Action.ADD if skill else Action.REMOVE
        moved = old_provider is not None and old_provider.key != owner.key
        changed = old_provider is not None and old_provider.version != owner.version
        yield Change(
            action=action,
            skill=name,
            provider=owner.key,
            version=owner.version,
            files=compare(old_skill.tree if old_skill else {}, skill.tree if skill else {}),
            previous=old_provider.key if old_provider and moved else None,
            previous_version=old_provider.version if old_provider and changed and not moved else None,
        )
