"""Which skills are whose, where distributions are installed into one directory and may share directories in it.

Invariants: pure; RECORD decides, never where something lies; a skill that two distributions say is theirs is nobody's:
they are told, never chosen between; the answer doesn't depend on the order of the distributions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.discovery.environment import Record
from skillsync.discovery.pypi.record import sha256, skill_directories
from skillsync.hashing import parents
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet


class Claim(Value):
    """What one distribution says is its own in a directory that it shares with others.

    `files` come from RECORD. `children` are what was found in its places where there is no RECORD: they are its own
    only if nobody else's RECORD lists them.
    """

    places: tuple[str, ...]
    files: Mapping[str, str]
    children: frozenset[str] = frozenset()


class Share(Value):
    """What is a distribution's alone, and the skills that others list as well: by directory, all their numbers.

    A directory around skills directories is no skill that could be contested, though there be a SKILL.md in it.
    """

    record: Record
    contested: Mapping[str, tuple[int, ...]]


def share_out(claims: Sequence[Claim]) -> list[Share]:
    """Decide, for the distributions of one directory, which skills are whose; the answers are in their order."""
    own: list[set[str]] = [set() for _ in claims]
    shared: list[dict[str, tuple[int, ...]]] = [{} for _ in claims]
    for directory, numbers in _owners(claims).items():
        for number in numbers:
            if len(numbers) == 1:
                own[number].add(directory)
            else:
                shared[number][directory] = tuple(sorted(numbers))
    places = {place for claim in claims for place in claim.places}
    around = places.union(*map(parents, places))
    return [
        Share(
            record=_record(claim, mine, ours),
            contested={directory: numbers for directory, numbers in ours.items() if directory not in around},
        )
        for claim, mine, ours in zip(claims, own, shared, strict=True)
    ]


def _owners(claims: Sequence[Claim]) -> dict[str, set[int]]:
    """Return, for each skill, who lists a file in it; where no RECORD does, who found it beside its packages."""
    skills = frozenset(directory for claim in claims for directory in skill_directories(claim.files))
    listed: dict[str, set[int]] = {}
    found: dict[str, set[int]] = {}
    for number, claim in enumerate(claims):
        for directory in skills & _with_above({path.rpartition("/")[0] for path in claim.files}):
            listed.setdefault(directory, set()).add(number)
        for child in claim.children:
            found.setdefault(child, set()).add(number)
    return {**found, **listed}


def _record(claim: Claim, own: AbstractSet[str], shared: Mapping[str, tuple[int, ...]]) -> Record:
    """Keep of a claim what is in the distribution's own skills, or loose in its places."""
    places = frozenset(claim.places)
    kept: dict[str, bool] = {}  # by directory, of which there are fewer than files
    files: dict[str, str] = {}
    for path, said in claim.files.items():
        directory = path.rpartition("/")[0]
        if directory not in kept:
            kept[directory] = _is_kept(parents(path), places, own, shared)
        if kept[directory]:
            files[path] = sha256(said)
    directories = _with_above(directory for directory, is_kept in kept.items() if is_kept)
    return Record(files=files, directories=directories | (claim.children & own))


def _is_kept(
    above: Sequence[str], places: AbstractSet[str], own: AbstractSet[str], shared: Mapping[str, tuple[int, ...]]
) -> bool:
    """Whether what lies in these directories is in a skill of its own, or loose in a place."""
    place = next((index for index, directory in enumerate(above) if directory in places), None)
    # In a place, what is around it tells nothing of the skill.
    inner = above if place is None else above[place + 1 :]
    return (place is not None or not own.isdisjoint(above)) and shared.keys().isdisjoint(inner)


def _with_above(directories: Iterable[str]) -> frozenset[str]:
    """Return directories and all above them."""
    return frozenset(above for directory in directories for above in parents(f"{directory}/"))
