"""RubyGems' own language: names, versions, requirements, and the stub line of an installed gemspec.

Invariants: versions sort and requirements answer as Gem::Version and Gem::Requirement do; nothing is matched that is
longer than a file's name can be, and every pattern takes time linear in its text.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, TypeAlias

from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable

# An installed gem is a directory `NAME-VERSION[-PLATFORM]`: none of the three can be longer than a file's name.
_LONGEST = 255
_BLANKS = " \t\n\v\f\r"
_PATTERN = r"[0-9]+(?:\.[0-9a-zA-Z]+)*(?:-[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?"
_VERSION = _PATTERN
_SEGMENT = r"[0-9]+|[a-zA-Z]+"
_REQUIREMENT = rf"(?P<operator>=|!=|>=|<=|~>|>|<)?[{_BLANKS}]*(?P<version>{_PATTERN})"
_NAME = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
_STUB = "# stub: "

_Segments: TypeAlias = tuple[int | str, ...]
VersionKey: TypeAlias = tuple[tuple[int | str, ...], ...]


def is_name(text: str) -> bool:
    """Whether a text can be a gem's name or platform, and so a part of a directory's name."""
    return len(text) <= _LONGEST and re.fullmatch(_NAME, text) is not None


def full_name(name: str, version: str, platform: str) -> str:
    """Return the name of an installed gem's directory and gemspec."""
    return f"{name}-{version}" if platform == "ruby" else f"{name}-{version}-{platform}"


def normal_version(text: str) -> str:
    """Return a version as RubyGems writes it into names of directories. Raises ValueError for what is no version."""
    version = text.strip(_BLANKS)
    if len(version) > _LONGEST or (version and not re.fullmatch(_VERSION, version)):
        reason = f"{_shown(version)} is not a RubyGems version"
        raise ValueError(reason)
    return version.replace("-", ".pre.") or "0"


def version_key(version: str) -> VersionKey:
    """Return a key by which versions sort as RubyGems sorts them. Raises ValueError for what is no version."""
    return _key(_segments(version))


def requirement(text: str) -> Callable[[str], bool]:
    """Return the test whether a version meets a requirement: `~> 1.2, != 1.2.3`, or `*` for any version.

    Raises ValueError that names the part which is none; so does the test for a text that is no version.
    """
    if text.strip(_BLANKS) == "*":
        return lambda _version: True
    tests = [_test(part.strip(_BLANKS)) for part in text.split(",")]
    return lambda version: all(test(_segments(version)) for test in tests)


class Stub(Value):
    """What the stub line of an installed gemspec says."""

    name: str
    version: str
    platform: str

    @property
    def full_name(self) -> str:
        """The name of the gem's directory."""
        return full_name(self.name, self.version, self.platform)


def stub(text: str) -> Stub | None:
    """Read the beginning of a gemspec; None where RubyGems would have to evaluate it, or what it says can't be used.

    As RubyGems does: the first line is passed over, only the second counts, and a third has to follow.
    """
    match text.split("\n", 2):
        case [_, line, rest] if rest and line.startswith(_STUB):
            name, version, platform, *_ = (*line.removeprefix(_STUB).split(maxsplit=3), "", "", "")
        case _:
            return None
    if not is_name(name) or not is_name(platform):
        return None
    try:
        return Stub(name=name, version=normal_version(version), platform=platform)
    except ValueError:
        return None


def _shown(text: str) -> str:
    """Return a text of unknown length as it can stand in a message."""
    return f"`{text}`" if len(text) <= _LONGEST else f"`{text[:40]}…`"


def _segments(text: str) -> _Segments:
    """Split a version into its numbers and words: `1.2.rc1` is 1, 2, rc, 1."""
    parts = re.findall(_SEGMENT, normal_version(text))
    return tuple(int(part) if part.isdigit() else part for part in parts)


def _release(segments: _Segments) -> _Segments:
    """Return the numbers before the first word."""
    words = (index for index, segment in enumerate(segments) if isinstance(segment, str))
    return segments[: next(words, len(segments))]


def _bump(segments: _Segments) -> _Segments:
    """Return the version that `~>` stays below: `1.2.3` gives `1.3`."""
    *kept, last = _release(segments)[: max(1, len(_release(segments)) - 1)]
    return (*kept, int(last) + 1)


def _key(segments: _Segments) -> VersionKey:
    """Order versions as if each went on in zeros for ever, and a word came before any number.

    The zeros before the first word don't count in RubyGems (`1.0.a` is `1.a`), nor do any zeros at the end. What is
    left is compared by its segments other than zero: at the first difference the word that comes earlier in the
    version is the lower one, the number that comes earlier the higher one, and the end stands for a zero.
    """
    release = _release(segments)
    while release and release[-1] == 0:
        release = release[:-1]
    canonical = (*release, *segments[len(_release(segments)) :])
    marks: list[tuple[int | str, ...]] = []
    for index, segment in enumerate(canonical):
        if isinstance(segment, str):
            marks.append((0, index, segment))
        elif segment:
            marks.append((2, -index, segment))
    return (*marks, (1,))


def _test(part: str) -> Callable[[_Segments], bool]:
    """Return the test of one part of a requirement."""
    found = re.fullmatch(_REQUIREMENT, part) if len(part) <= _LONGEST else None
    if found is None:
        reason = f"{_shown(part)} is not a RubyGems requirement: a version with =, !=, >, <, >=, <= or ~> before it"
        raise ValueError(reason)
    wanted = _segments(found["version"])
    key = _key(wanted)
    if found["operator"] == "~>":
        end = _key(_bump(wanted))
        return lambda segments: key <= _key(segments) and _key(_release(segments)) < end
    compare = _COMPARE[found["operator"] or "="]
    return lambda segments: bool(compare(_key(segments), key))


_COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
