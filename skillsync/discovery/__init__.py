"""What do the installed packages ship? Reads only; one module per ecosystem, and one line for it in the table below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.discovery.gem import ecosystem as gems
from skillsync.discovery.npm import ecosystem as node_packages
from skillsync.discovery.pypi import ecosystem as distributions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillsync.discovery.environment import Ecosystem

ECOSYSTEMS: Mapping[str, Ecosystem] = {
    gems.NAME: gems,
    distributions.NAME: distributions,
    node_packages.NAME: node_packages,
}
