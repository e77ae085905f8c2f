"""What do the installed packages ship? Reads only; one module per ecosystem, and one line for it in the table below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.discovery import cargo as crates
from skillsync.discovery.gem import ecosystem as gems
from skillsync.discovery.npm import ecosystem as node_packages
from skillsync.discovery.pypi import ecosystem as distributions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillsync.discovery.environment import Ecosystem, Environment, NoEnvironment

ECOSYSTEMS: Mapping[str, Ecosystem] = {
    gems.NAME: gems,
    distributions.NAME: distributions,
    node_packages.NAME: node_packages,
    crates.NAME: crates,
}


def read(
    ecosystem: Ecosystem, project: str, environ: Mapping[str, str], *, python: str | None
) -> Environment | NoEnvironment:
    """Read what an ecosystem has installed for the project; `python` is the environment that the person named.

    Raises SkillsyncError for a dependency lock that can't be read.
    """
    if ecosystem is distributions:
        return distributions.read(project, environ, python=python)
    return ecosystem.read(project, environ)
