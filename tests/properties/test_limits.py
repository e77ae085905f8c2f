"""The worst document that is still read takes little time and memory, and what is real is read."""

# a limit is private to what it limits

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import limits
import pytest
from builders import digest, locked, locked_skill

from skillsync.locking import lockfile
from skillsync.locking.lockfile import Lockfile
from skillsync.schema import MalformedError
from skillsync.syncing import journal, registry
from skillsync.syncing.journal import Step
from skillsync.syncing.registry import Registry, Row
from skillsync.values import replace

if TYPE_CHECKING:
    from types import ModuleType

# Twice what it takes where nothing else runs on the machine; the time is the process's own.
SECONDS = 2
# Only `check` reads it, and as little as 4 MiB of a package.
MORE_SECONDS = {"Markdown": 10}
MEBIBYTES = 100


@pytest.mark.skipif(sys.platform != "linux", reason="left out: only Linux tells a process's memory this way")
@pytest.mark.parametrize("reader", limits.READERS)
def test_the_worst_document_that_is_read_is_cheap(reader: str) -> None:
    done = subprocess.run((sys.executable, limits.__file__, reader), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[1] for row in rows] == list(limits.READERS[reader][2])
    seconds = MORE_SECONDS.get(reader, SECONDS)
    assert [row for row in rows if float(row[3]) >= seconds or int(row[4]) >= MEBIBYTES] == []


NAMES = [f"n{number}" for number in range(24_000)]


def rows(count: int, package: str = "p") -> Registry:
    row = Row(ecosystem="pypi", package=package, version="1", hash=digest("a"))
    return Registry(rows=dict.fromkeys(NAMES[:count], row))


def steps(count: int) -> list[Step]:
    return [Step(skill=name, old=digest("a"), new=digest("b"), inode=1) for name in NAMES[:count]]


def a_lock(count: int, path: str) -> Lockfile:
    files = {f"{number}{path}": "1" for number in range(count)}
    return Lockfile(providers=(locked("pypi:p", locked_skill("s", files)),))


@pytest.mark.parametrize(
    ("form", "given", "reason"),
    [
        (registry, (rows(15_000),), None),
        (registry, (rows(16_001),), "of more than 160000 keys and values"),
        (registry, (rows(2_000, "p" * 2000),), "larger than 3072 KiB"),
        (journal, (steps(12_000), registry.dump(rows(12_000))), None),
        (journal, (steps(24_000), registry.dump(rows(12_000))), "larger than 6144 KiB"),
        (
            journal,
            ([replace(step, skill=step.skill + "," * 180) for step in steps(2_300)], registry.dump(rows(1))),
            "made of more than 400000 values",
        ),
        (lockfile, (a_lock(50_000, ""),), None),
        (lockfile, (a_lock(2_000, "," * 190),), None),
        (lockfile, (a_lock(2_100, "," * 190),), "made of more than 400000 lines and values"),
        (lockfile, (a_lock(100_000, ""),), "larger than 8192 KiB"),
    ],
)
def test_what_could_not_be_read_again_is_told_before_it_is_written(
    form: ModuleType, given: tuple[object, ...], reason: str | None
) -> None:
    content = form.dump(*given)
    assert form.fault(content) == reason
    if reason is None:
        form.parse(content)
    elif "larger" in reason:
        assert len(content) > form.LIMIT
    else:
        with pytest.raises(MalformedError, match="more than"):
            form.parse(content)


def test_what_a_large_project_needs_is_read() -> None:
    """A thousand skills of twenty files: what is written for them takes a third of what is read, or less."""
    names = [f"skill-number-{number}" for number in range(1000)]
    files = {f"references/topic-{number}/{number}.md": str(number) for number in range(19)}
    lock = Lockfile(providers=(locked("pypi:some-package", *(locked_skill(name, files) for name in names)),))
    content = lockfile.dump(lock)
    assert len(content) * 3 < lockfile.LIMIT
    assert lockfile.dump(lockfile.parse(content)) == content
    row = Row(ecosystem="pypi", package="some-package", version="10.11.12", hash=digest("a"))
    whole = Registry(rows=dict.fromkeys(names, row))
    content = registry.dump(whole)
    assert len(content) * 3 < registry.LIMIT
    assert registry.parse(content) == whole
    changing = tuple(Step(skill=name, old=digest("a"), new=digest("b"), inode=1 << 40) for name in names)
    content = journal.dump(changing, content)
    assert len(content) * 3 < journal.LIMIT
    assert journal.parse(content).steps == changing
