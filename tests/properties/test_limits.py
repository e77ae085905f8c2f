"""The worst document that is still read takes little time and memory, and what is real is read."""

# ruff: noqa: SLF001  # a limit is private to what it limits

from __future__ import annotations

import subprocess
import sys

import limits
import pytest
from builders import digest, locked, locked_skill

from skillsync.cli import project
from skillsync.locking import lockfile
from skillsync.locking.lockfile import Lockfile
from skillsync.syncing import journal, recovery, registry, state
from skillsync.syncing.journal import Step
from skillsync.syncing.registry import Registry, Row

# Twice what it takes where nothing else runs on the machine; the time is the process's own.
SECONDS = 2
MEBIBYTES = 100


@pytest.mark.skipif(sys.platform != "linux", reason="left out: only Linux tells a process's memory this way")
@pytest.mark.parametrize("reader", limits.READERS)
def test_the_worst_document_that_is_read_is_cheap(reader: str) -> None:
    done = subprocess.run((sys.executable, limits.__file__, reader), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[1] for row in rows] == list(limits.READERS[reader][2])
    assert [row for row in rows if float(row[3]) >= SECONDS or int(row[4]) >= MEBIBYTES] == []


def test_what_a_large_project_needs_is_read() -> None:
    """A thousand skills of twenty files: what is written for them takes a third of what is read, or less."""
    names = [f"skill-number-{number}" for number in range(1000)]
    files = {f"references/topic-{number}/{number}.md": str(number) for number in range(19)}
    lock = Lockfile(providers=(locked("pypi:some-package", *(locked_skill(name, files) for name in names)),))
    content = lockfile.dump(lock)
    assert len(content) * 3 < project._LOCK_LIMIT
    assert lockfile.dump(lockfile.parse(content)) == content
    row = Row(ecosystem="pypi", package="some-package", version="10.11.12", hash=digest("a"))
    rows = Registry(rows=dict.fromkeys(names, row))
    content = registry.dump(rows)
    assert len(content) * 3 < state._LIMIT
    assert registry.parse(content) == rows
    steps = tuple(Step(skill=name, old=digest("a"), new=digest("b"), inode=1 << 40) for name in names)
    content = journal.dump(steps, rows)
    assert len(content) * 3 < recovery._LIMIT
    assert journal.parse(content).steps == steps
