"""The real tools that some tests run, and what happens where they are missing."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

# Set by CI: there, a test that can't run its real tool is a failure, not a skip.
INSIST = "SKILLSYNC_REQUIRE_TOOLS"
# Set to 1 by a person who lets the tests ask package indexes.
NETWORK = "SKILLSYNC_NETWORK"


def need(*names: str) -> None:
    """Go on only if every tool is on PATH; skip and say so, or fail where the tools are insisted on."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing and os.environ.get(INSIST):
        pytest.fail(f"{', '.join(missing)} must be on PATH where {INSIST} is set")
    if missing:
        pytest.skip(f"left out: {', '.join(missing)} not on PATH")


def need_python_tool(name: str) -> str:
    """Return the path of a tool beside the Python that runs the tests, or on PATH; else as `need`."""
    beside = Path(sys.executable).with_name(name)
    if beside.exists():
        return str(beside)
    need(name)
    return str(shutil.which(name))


def need_browser() -> str:
    """Return the path of a Chromium on PATH; else as `need`."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        need("chromium")
    return str(found)


def need_network() -> None:
    """Go on only where package indexes may be asked: where that was allowed, or where the tools are insisted on."""
    if not os.environ.get(INSIST) and os.environ.get(NETWORK) != "1":
        pytest.skip("left out: needs the network")
