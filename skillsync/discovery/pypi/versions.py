"""Names, versions and requirements of Python distributions, as PEP 503 and PEP 440 have them.

Invariants: of versions `packaging` decides, and is loaded only when it is asked; a name has one spelling; nothing is
matched that is longer than a file's name can be.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from packaging.version import Version

# As the core metadata's `Name` has it, in any case.
_NAME = "[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
# Most versions are these numbers alone, and have no other spelling.
_NORMAL = r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*))*"
# An installed distribution is a directory NAME-VERSION.dist-info: neither can be longer than a file's name.
_LONGEST = 255
_OPERATORS = "==, !=, <=, >=, <, >, ~= or === with a version after it"


def canonical(name: str) -> str:
    """Return the one spelling of a distribution's name: `Foo_Bar` and `foo.bar` are `foo-bar` (PEP 503)."""
    return re.sub("[-_.]+", "-", name).lower()


def valid_name(name: str) -> str:
    """Return the one spelling of a name. Raises ValueError for what no distribution can be called."""
    if len(name) <= _LONGEST and re.fullmatch(_NAME, name):
        return canonical(name)
    raise ValueError(f"{_shown(name)} is not a distribution's name")


def normal_version(text: str) -> str:
    """Return the one spelling of a version. Raises ValueError for what is none."""
    return text if len(text) <= _LONGEST and re.fullmatch(_NORMAL, text) else str(version_key(text))


def version_key(version: str) -> Version:
    """Return a key by which versions sort as PEP 440 sorts them. Raises ValueError for what is no version."""
    from packaging.version import InvalidVersion, Version

    try:
        if len(version) <= _LONGEST:
            return Version(version)
    except InvalidVersion:
        pass
    raise ValueError(f"{_shown(version)} is not a PEP 440 version")


def requirement(text: str) -> Callable[[str], bool]:
    """Return the test whether a version meets a requirement: `>=1.2,!=1.3`, or `*` for any version.

    What is installed already may be a pre-release (PEP 440, "Handling of pre-releases"), as for `pip check`. Raises
    ValueError that names the part which is no specifier.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    if text.strip() == "*":
        return lambda _version: True
    if not text.strip(" \t,"):
        raise ValueError("the requirement is empty")
    for part in text.split(","):
        try:
            if len(part) <= _LONGEST:
                SpecifierSet(part)
                continue
        except InvalidSpecifier:
            pass
        raise ValueError(f"{_shown(part.strip())} is not a PEP 440 specifier: {_OPERATORS}")
    specifiers = SpecifierSet(text)
    return lambda version: specifiers.contains(version, prereleases=True)


def _shown(text: str) -> str:
    """Return a text of unknown length as it can stand in a message."""
    return f"`{text}`" if len(text) <= _LONGEST else f"`{text[:40]}…`"
