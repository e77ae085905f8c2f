from __future__ import annotations

import re
import subprocess
import sys

import soak


def test_runs_that_are_killed_at_random_leave_nothing_to_mend() -> None:
    """The short form of `make soak`."""
    done = subprocess.run((sys.executable, soak.__file__, "4"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(r"\d+ runs, (\d+) killed, \d+ of them .* were clean\n", done.stdout)
    assert found, done.stdout
    assert int(found[1]) > 0
