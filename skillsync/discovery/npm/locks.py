"""The names in the locks of npm, pnpm, yarn and bun: enough to tell a package that is gone from one that is missing.

Invariants: pure; a lock is searched, not parsed, so that one with conflict markers or of a version to come still says
most of what it knows; a name too many does no harm; every pattern takes time linear in its text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

LIMIT: Final = 12 * 1024 * 1024

_NAME = r"""((?:@[^/@\s"']+/)?[^/@\s"',:]+)"""
_ALIAS = re.compile(rf"npm:{_NAME}@")
# Each begins with a text that is soon found. npm's lock keys a package by its path, that of npm 6 by its name.
_NPM = (
    re.compile(rf'node_modules/{_NAME}":'),
    re.compile(rf'\n {{4,}}"{_NAME}": \{{\s+"version"'),
    re.compile(rf'"name":\s*"{_NAME}"'),
)
_PATTERNS: Mapping[str, tuple[re.Pattern[str], ...]] = {
    "package-lock.json": _NPM,
    "npm-shrinkwrap.json": _NPM,
    # `name@1.0.0`, and `/name/1.0.0` in a lock of pnpm 7.
    "pnpm-lock.yaml": (
        re.compile(rf"\n {{2}}(?:\? )?['\"]?/?{_NAME}@"),
        re.compile(rf"\n {{2}}/{_NAME}/[0-9]"),
    ),
    "yarn.lock": (re.compile(rf'(?:\n|, )"?{_NAME}@'),),
    "bun.lock": (re.compile(rf'\["{_NAME}@'),),
}
FILE_NAMES: Final = tuple(_PATTERNS)


def names(file_name: str, content: bytes) -> frozenset[str]:
    """Return the packages that a lock names, by their own names."""
    text = content.decode(errors="replace")
    return frozenset(name for pattern in (*_PATTERNS[file_name], _ALIAS) for name in pattern.findall(text))
