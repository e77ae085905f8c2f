"""`skillsync sync`: what is done in the target directories, for people and programs.

Invariants: says what `skillsync.commands.sync` came to, and decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.commands import sync
from skillsync.commands.sync import Mode
from skillsync.locking.changes import Action, Change
from skillsync.rendering import report
from skillsync.rendering.report import Report
from skillsync.syncing import gitignore
from skillsync.syncing.journal import Settlement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from skillsync.commands.project import Project
    from skillsync.commands.sync import Synced


def run(project: Project, *, mode: Mode, force: bool, busy: Callable[[str], None]) -> Report:
    """Sync, and say what came of it."""
    done = sync.sync(project, mode=mode, force=force, busy=busy)
    if done.interrupted is not None:
        line = f"interrupted: {done.interrupted}; `skillsync sync` completes or undoes it first"
        return Report(lines=[report.printable(line)], data={"changes": []}, drift=done.drift)
    refused = mode is Mode.APPLY and done.is_stopped
    changes = [] if refused else [(one.target, change) for one in done.targets for change in one.changes]
    lines = [
        report.printable(f"settled what an interrupted sync left in {name}{_became(one)}")
        for name, one in done.settled.items()
    ]
    lines += [line for name, change in changes for line in report.change_lines(change, target=name)]
    if done.is_applied:
        lines += [report.printable(f"~ {one.target}/{gitignore.FILE_NAME}") for one in done.targets if one.gitignore]
    nothing = "nothing else was changed" if done.settled else "nothing was changed"
    return Report(
        lines=[*lines, nothing if done.is_stopped else _summary(done)],
        palette=report.CHANGES,
        data={"changes": [report.change_json(change, name) for name, change in changes]},
        problems=done.problems,
        drift=done.drift,
    )


def _became(settled: Mapping[str, Settlement]) -> str:
    """Say which skills were brought back, and which had only to be recorded."""
    words = (
        f"{word} {', '.join(sorted(name for name, one in settled.items() if one is settlement))}"
        for settlement, word in _BECAME.items()
        if settlement in settled.values()
    )
    return "".join(f"; {one}" for one in words)


_BECAME = {Settlement.RESTORE: "brought back", Settlement.ADOPT: "completed"}


def _summary(done: Synced) -> str:
    """Count what is done, target by target; those with the same counts are named together."""
    places: dict[str, list[str]] = {}
    for one in done.targets:
        places.setdefault(_counts(one.changes, done.mode), []).append(one.target)
    unchanged = places.pop("", [])
    if not places:
        skills = report.counted(len(done.lock.skills), "skill")
        return f"in sync: {skills} {_in(unchanged)}" if done.lock.skills else "in sync: the lock has no skills"
    said = [f"{words} {_in(names)}" for words, names in places.items()]
    said += [report.printable(f"in sync: {', '.join(unchanged)}")] if unchanged else []
    return "; ".join(said if done.mode is Mode.APPLY else [*said, "nothing was changed"])


def _counts(changes: Sequence[Change], mode: Mode) -> str:
    """Count some changes, by what is done; "" where there are none."""
    counts = [(action.value, sum(change.action is action for change in changes)) for action in Action]
    return ", ".join(
        f"{count} {_DONE[word] if mode is Mode.APPLY else f'to {word}'}" for word, count in counts if count
    )


def _in(targets: Sequence[str]) -> str:
    """Say where something is so: of several places, in each of them."""
    return report.printable(f"in {'each of ' if len(targets) > 1 else ''}{', '.join(targets)}")


_DONE = {
    "add": "added",
    "update": "updated",
    "remove": "removed",
    "repair": "repaired",
    "record": "recorded",
    "forget": "forgotten",
}
