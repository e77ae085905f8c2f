"""What holds for every test."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import gems
import pytest
from cuts import without_waiting_for_the_disk
from hypothesis import HealthCheck, settings
from node_packages import Tools
from tools import need, need_network

from skillsync.discovery.pypi.environments import ACTIVE_VARIABLES, PROJECT_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A test's time is bounded where the time is what it holds; the examples differ too much for one deadline.
settings.register_profile("quick", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(autouse=True, scope="session")
def _nobodys_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let nothing of the person who runs the tests leak in: no home, no settings, no gems, no active
    Python environment.

    The gem environment is there and empty, so that no `ruby` is asked for it.
    """
    environ = gems.ruby_environ(tmp_path_factory.mktemp("home"))
    for name in (PROJECT_VARIABLE, *ACTIVE_VARIABLES):
        environ.pop(name, None)
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - environ.keys():
            patch.delenv(name)
        for name, value in environ.items():
            if os.environ.get(name) != value:
                patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """For the modules that ask for it: a run waits for no disk."""
    with pytest.MonkeyPatch.context() as patch:
        without_waiting_for_the_disk(patch)
        yield


@pytest.fixture(scope="session")
def node_tools(request: pytest.FixtureRequest) -> Tools:
    need("node", "npm")
    cache: Path = request.config.cache.mkdir("npm-tools")
    return Tools.install(cache, need_network)
