"""npm's own language of versions: their order, and the ranges that package.json and our manifest name them by.

Invariants: pure; a range admits what npm's `semver` admits, and what it refuses, or would have to mend (`1.2.3*`), is
refused; an installed version is read as loosely as npm reads it; every pattern takes time linear in its text.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, TypeAlias

from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST = 256
_LONGEST_RANGE = 4096
_LARGEST = 2**53 - 1  # what JavaScript counts up to
_BLANKS = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_WORD = r"[0-9]*[A-Za-z-][0-9A-Za-z-]*"
_BUILD = r"\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_LOOSE = rf"""(?x)[v={_BLANKS}]* ([0-9]+)\.([0-9]+)\.([0-9]+)
    (?: -? ((?:{_WORD}|[0-9]+) (?:\.(?:{_WORD}|[0-9]+))*) )?
    ({_BUILD})? [{_BLANKS}]*"""
_NUMBER = r"(?:0|[1-9][0-9]*)"
_PRERELEASE = rf"-(?:{_WORD}|{_NUMBER})(?:\.(?:{_WORD}|{_NUMBER}))*"
# `1`, `1.x`, `1.2.3-rc.1`; the groups are the three numbers and the prerelease.
_PARTIAL = rf"v?({_NUMBER}|[xX*])(?:\.({_NUMBER}|[xX*])(?:\.({_NUMBER}|[xX*])({_PRERELEASE})?)?)?"
_COMPARATOR = rf"(~>?|\^|[<>]?=?)[{_BLANKS}]*{_PARTIAL}(?![^{_BLANKS}])[{_BLANKS}]*"
_HYPHEN = rf"{_PARTIAL}[{_BLANKS}]+-[{_BLANKS}]+{_PARTIAL}"
_METADATA = rf"(?<=[0-9A-Za-z*-]){_BUILD}"

_Numbers: TypeAlias = tuple[int, int, int]
_Prerelease: TypeAlias = tuple[tuple[int | str, ...], ...]
VersionKey: TypeAlias = tuple[_Numbers, _Prerelease]
_RELEASE: _Prerelease = ((2,),)  # comes after every prerelease of the same numbers
_LOWEST: _Prerelease = ((0, 0),)  # `-0`, npm's way to say "and no prerelease of that either"


def normal_version(text: str) -> str:
    """Return an installed package's version as npm writes it. Raises ValueError for what is no version."""
    found = re.fullmatch(_LOOSE, text) if len(text) <= _LONGEST else None
    if found is None:
        raise ValueError(f"{quoted(text)} is not an npm version")
    numbers = [int(number) for number in found.groups()[:3]]
    if max(numbers) > _LARGEST:
        raise ValueError(f"{quoted(text)} is not an npm version: a number is too large")
    prerelease = ".".join(str(int(part)) if part.isdigit() else part for part in (found[4] or "").split("."))
    return ".".join(map(str, numbers)) + (f"-{prerelease}" if prerelease else "") + (found[5] or "")


def version_key(version: str) -> VersionKey:
    """Return a key by which versions sort as npm sorts them. Raises ValueError for what is no version."""
    core, _, _ = normal_version(version).partition("+")
    release, _, prerelease = core.partition("-")
    major, minor, patch = map(int, release.split("."))
    return (major, minor, patch), _identifiers(prerelease) if prerelease else _RELEASE


def requirement(text: str) -> Callable[[str], bool]:
    """Return the test whether a version is in a range, or in each of several with commas between them.

    `*` alone is any version, prereleases included. Raises ValueError that names what is no range; so does the test for
    a text that is no version.
    """
    if len(text) > _LONGEST_RANGE:
        raise _no_range(text)
    ranges = [_range(part.strip()) for part in text.split(",") if part.strip() != "*"]

    def meets(version: str) -> bool:
        key = version_key(version)
        return all(test(key) for test in ranges)

    return meets


def quoted(text: str) -> str:
    """Return a text of unknown length as it can stand in a message."""
    return f"`{text}`" if len(text) <= _LONGEST else f"`{text[:40]}…`"


class _Comparator(Value, kw_only=False):
    """One comparison with a version."""

    compare: Callable[[VersionKey, VersionKey], bool]
    numbers: _Numbers
    prerelease: _Prerelease = _RELEASE

    def meets(self, key: VersionKey) -> bool:
        return self.compare(key, (self.numbers, self.prerelease))

    def allows_prereleases_of(self, key: VersionKey) -> bool:
        """Whether it asks for prereleases of just these numbers: then, and only then, npm gives them."""
        return self.prerelease != _RELEASE and self.numbers == key[0]


class _Partial(Value, kw_only=False):
    """A version of which only the first numbers may be given."""

    numbers: tuple[int, ...]
    prerelease: _Prerelease = _RELEASE
    out_of_order: bool = False  # a number after an `x`

    @property
    def is_full(self) -> bool:
        return len(self.numbers) == len(("major", "minor", "patch"))

    @property
    def least(self) -> _Numbers:
        """The numbers, with zeros for those that aren't given."""
        major, minor, patch = (*self.numbers, 0, 0, 0)[:3]
        return major, minor, patch

    def after(self, count: int) -> _Numbers:
        """Return the first numbers above all that begin with the first `count` of these."""
        major, minor, patch = (*self.numbers[: count - 1], self.numbers[count - 1] + 1, 0, 0)[:3]
        return major, minor, patch


def _identifiers(prerelease: str) -> _Prerelease:
    """Order the parts of a prerelease: numbers come before words."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in prerelease.split("."))


def _partial(major: str, minor: str | None, patch: str | None, prerelease: str | None) -> _Partial:
    given = [part for part in (major, minor, patch) if part is not None]
    numbers: list[int] = []
    for part in given:
        if part in {"x", "X", "*"}:
            break
        numbers.append(int(part))
    if len(numbers) == len(given) and prerelease:
        return _Partial(tuple(numbers), _identifiers(prerelease[1:]))
    return _Partial(tuple(numbers), out_of_order=any(part.isdigit() for part in given[len(numbers) :]))


def _range(text: str) -> Callable[[VersionKey], bool]:
    """Return the test of one range."""
    alternatives = [_alternative(part.strip(), text) for part in re.sub(_METADATA, "", text).split("||")]
    if not all(alternatives):
        # Where one alternative asks for nothing at all, npm drops the others: no prerelease is left.
        return lambda key: key[1] == _RELEASE
    return lambda key: any(_is_in(alternative, key) for alternative in alternatives)


def _is_in(comparators: list[_Comparator], key: VersionKey) -> bool:
    if not all(comparator.meets(key) for comparator in comparators):
        return False
    return key[1] == _RELEASE or any(comparator.allows_prereleases_of(key) for comparator in comparators)


def _alternative(part: str, text: str) -> list[_Comparator]:
    """Read what stands between two `||`: comparators that all have to be met."""
    hyphen = re.fullmatch(_HYPHEN, part)
    if hyphen:
        groups = hyphen.groups()
        found = [*_at_least(_partial(*groups[:4])), *_at_most(_partial(*groups[4:]))]
    else:
        found, at = [], 0
        while at < len(part):
            comparator = re.compile(_COMPARATOR).match(part, at)
            if comparator is None:
                raise _no_range(text)
            sign, *partial = comparator.groups()
            found += _bounds(sign, _partial(*partial), text)
            at = comparator.end()
    if any(max(one.numbers) > _LARGEST for one in found):
        raise _no_range(text)
    return found


def _bounds(sign: str, partial: _Partial, text: str) -> list[_Comparator]:
    """Return what one comparator of a range means."""
    if sign not in {"^", "~", "~>"} and partial.out_of_order:
        raise _no_range(text)
    if sign in {"<", ">"} and not partial.numbers:
        return [_Comparator(operator.lt, (0, 0, 0), _LOWEST)]  # nothing
    return _BOUNDS[sign](partial)


def _exactly(partial: _Partial) -> list[_Comparator]:
    if partial.is_full:
        return [_Comparator(operator.eq, partial.least, partial.prerelease)]
    return [*_at_least(partial), *_at_most(partial)]


def _at_least(partial: _Partial) -> list[_Comparator]:
    # What npm makes of `>=0.0.0` is no bound at all.
    if partial.least == (0, 0, 0) and partial.prerelease == _RELEASE:
        return []
    return [_Comparator(operator.ge, partial.least, partial.prerelease)]


def _at_most(partial: _Partial) -> list[_Comparator]:
    if partial.is_full:
        return [_Comparator(operator.le, partial.least, partial.prerelease)]
    return [_below(partial, len(partial.numbers))] if partial.numbers else []


def _more_than(partial: _Partial) -> list[_Comparator]:
    if partial.is_full:
        return [_Comparator(operator.gt, partial.least, partial.prerelease)]
    return [_Comparator(operator.ge, partial.after(len(partial.numbers)))]


def _less_than(partial: _Partial) -> list[_Comparator]:
    prerelease = partial.prerelease if partial.is_full else _LOWEST
    return [_Comparator(operator.lt, partial.least, prerelease)]


def _tilde(partial: _Partial) -> list[_Comparator]:
    """Read `~1.2.3`: the first two numbers stay."""
    return [*_at_least(partial), _below(partial, min(len(partial.numbers), 2))] if partial.numbers else []


def _caret(partial: _Partial) -> list[_Comparator]:
    """Read `^1.2.3`: the numbers up to the first that isn't zero stay."""
    zeros = next((index for index, number in enumerate(partial.numbers) if number), len(partial.numbers) - 1)
    return [*_at_least(partial), _below(partial, zeros + 1)] if partial.numbers else []


def _below(partial: _Partial, count: int) -> _Comparator:
    return _Comparator(operator.lt, partial.after(count), _LOWEST)


_BOUNDS: dict[str, Callable[[_Partial], list[_Comparator]]] = {
    "": _exactly,
    "=": _exactly,
    ">=": _at_least,
    "<=": _at_most,
    ">": _more_than,
    "<": _less_than,
    "~": _tilde,
    "~>": _tilde,
    "^": _caret,
}


def _no_range(text: str) -> ValueError:
    return ValueError(
        f"{quoted(text)} is not a range of npm versions: versions, or parts of them such as `1.x`, with ^, ~, =, <, >, "
        "<= or >= before them, or `1.2 - 3`; a blank means `and`, `||` means `or`"
    )
