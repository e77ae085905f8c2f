"""The real tools that some tests run, and what happens where they are missing."""

from __future__ import annotations

import os
import shutil

import pytest

# Set by CI: there, a test that can't run its real tool is a failure, not a skip.
INSIST = "SKILLSYNC_REQUIRE_TOOLS"


def need(*names: str) -> None:
    """Go on only if every tool is on PATH; skip and say so, or fail where the tools are insisted on."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing and os.environ.get(INSIST):
        pytest.fail(f"{', '.join(missing)} must be on PATH where {INSIST} is set")
    if missing:
        pytest.skip(f"left out: {', '.join(missing)} not on PATH")
