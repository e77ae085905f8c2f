from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import node_packages
import pytest

from skillsync.discovery.npm import semver

if TYPE_CHECKING:
    from pathlib import Path

    from node_packages import Tools

ORDERED = [
    "0.0.0-0",
    "0.0.0-alpha",
    "0.0.0",
    "0.0.1-0",
    "0.0.1",
    "0.1.0",
    "0.1.1-beta",
    "0.1.1",
    "0.2.0",
    "1.0.0--",
    "1.0.0",
    "1.2.2",
    "1.2.3-0",
    "1.2.3-2",
    "1.2.3-10",
    "1.2.3-10.a",
    "1.2.3-alpha",
    "1.2.3-alpha.1",
    "1.2.3-alpha.beta",
    "1.2.3-rc.1",
    "1.2.3-rc.2",
    "1.2.3",
    "1.2.4-rc.1",
    "1.2.4",
    "1.2.10",
    "1.3.0-0",
    "1.3.0",
    "1.10.0",
    "2.0.0-0",
    "2.0.0-rc.1",
    "2.0.0",
    "2.1.0",
    "10.0.0",
    "9007199254740991.0.0",
]
PARTIALS = [
    *("0", "0.0", "0.0.0", "0.0.1", "0.1", "0.1.1", "1", "1.2", "1.2.3", "1.2.3-rc.1", "1.2.3-0", "0.0.0-0", "1.0.0--"),
    *("x", "*", "X.x", "1.x", "1.2.x", "1.*.x", "x.1", "1.x.2", "1.x.x-rc.1", "v1.2.3", "1.2.3+build.1", "1.2+build"),
]
LOOSE = {
    "1.2.3": "1.2.3",
    " v1.2.3 ": "1.2.3",
    "=v 1.2.3": "1.2.3",
    "01.02.03": "1.2.3",
    "1.2.3beta": "1.2.3-beta",
    "1.2.3-": "1.2.3--",
    "1.2.3-beta.01+b.1": "1.2.3-beta.1+b.1",
    "1.2.3-0a.b-c": "1.2.3-0a.b-c",
}
NO_VERSIONS = [
    *("", "1", "1.2", "1.2.3.4", "a.b.c", "1.2.3 4", "1.2.3-a..b", "1.2.3+", "x1.2.3", "9007199254740992.0.0"),
    "1.2.3-" + "a" * 300,
]
SIGNS = ["", "=", ">", "<", ">=", "<=", "^", "~", "~>", "> ", "<= ", "^ ", "~ "]


def admitted(text: str) -> set[str]:
    meets = semver.requirement(text)
    return {version for version in ORDERED if meets(version)}


def between(low: str, high: str) -> set[str]:
    """The releases from one version up to, and without, another."""
    key = semver.version_key
    return {one for one in ORDERED if key(low) <= key(one) < key(high) and "-" not in one.replace("--", "-")}


def test_versions_sort_as_npm_sorts_them() -> None:
    assert sorted(sorted(ORDERED), key=semver.version_key) == ORDERED
    assert semver.version_key("1.2.3+a") == semver.version_key("1.2.3+b")


@pytest.mark.parametrize(("text", "version"), LOOSE.items())
def test_an_installed_version_is_read_loosely(text: str, version: str) -> None:
    assert semver.normal_version(text) == version


@pytest.mark.parametrize("text", NO_VERSIONS)
def test_what_is_no_version_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not an npm version") as error:
        semver.normal_version(text)
    assert len(str(error.value)) < 100


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("1.2.3", "1.2.3", "1.2.4"),
        ("^1.2.3", "1.2.3", "2.0.0"),
        ("^0.1.1", "0.1.1", "0.2.0"),
        ("^0.0.1", "0.0.1", "0.0.2"),
        ("^0.0", "0.0.0", "0.1.0"),
        ("^0.x", "0.0.0", "1.0.0"),
        ("~1.2.3", "1.2.3", "1.3.0"),
        ("~1", "1.0.0", "2.0.0"),
        ("~> 1.2", "1.2.0", "1.3.0"),
        ("1.x", "1.0.0", "2.0.0"),
        (">1", "2.0.0", "99999.0.0"),
        (">1.2.3", "1.2.4", "99999.0.0"),
        ("<=1.2", "0.0.0", "1.3.0"),
        ("<1.2", "0.0.0", "1.2.0"),
        ("1.2.3 - 2", "1.2.3", "3.0.0"),
        ("1.2 - 2.0.0", "1.2.0", "2.0.1"),
        ("x - 1.2", "0.0.0", "1.3.0"),
        ("1.2 - *", "1.2.0", "99999.0.0"),
        (">=1.2.3 <2", "1.2.3", "2.0.0"),
        (">=1.2.3,<2", "1.2.3", "2.0.0"),
        ("1.2.3 || 1.2.4", "1.2.3", "1.2.5"),
    ],
)
def test_ranges_admit_the_releases_between(text: str, low: str, high: str) -> None:
    releases = {
        version for version in admitted(text) if semver.version_key(version)[1] == semver.version_key("1.0.0")[1]
    }
    assert releases - {"9007199254740991.0.0"} == between(low, high)


def test_a_prerelease_is_admitted_only_beside_one_of_the_same_numbers() -> None:
    assert "1.2.3-rc.2" in admitted("^1.2.3-rc.1")
    assert "1.2.4-rc.1" not in admitted("^1.2.3-rc.1")
    assert "1.2.3-rc.1" not in admitted("^1.2.0")
    assert "2.0.0-rc.1" not in admitted("^1.2.3-rc.1")
    assert "1.2.3-alpha" in admitted("<1.2.3-rc.1 >=1.2.3-0")


def test_a_star_alone_is_any_version_and_any_other_wildcard_any_release() -> None:
    assert admitted("*") == admitted(" * ") == admitted("*,*") == set(ORDERED)
    assert admitted("*, ^1.2.3-rc.1") == admitted("^1.2.3-rc.1")
    releases = {version for version in ORDERED if semver.version_key(version)[1] == semver.version_key("1.0.0")[1]}
    for text in ("x", "", "^1.2.3-rc.1 || *", "1 ||", ">=0.0.0", ">=0", "~x", "^*", "* x"):
        assert admitted(text) == releases
    for text in ("<x", ">*", "<0", "<0.0.0-0"):
        assert admitted(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        *("latest", "workspace:*", "npm:demo@1", "file:../demo", "1.2.3.4", "1.2.3 foo", "> ", "^", "=> 1", "1 | 2"),
        *("01.2.3", "1.x.2", "x.1", ">x.1", "1.2.3*", "1.2.3-01", "1 - 2 - 3", "9007199254740992", "+build"),
        *("^9007199254740991", "a" * 1000),
    ],
)
def test_what_is_no_range_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not a range of npm versions") as error:
        semver.requirement(text)
    assert len(str(error.value)) < 500


def test_a_range_says_of_what_is_no_version_that_it_is_none() -> None:
    with pytest.raises(ValueError, match="is not an npm version"):
        semver.requirement("^1")("latest")


@pytest.mark.parametrize(
    "text", ["1" * 100_000, "v" * 100_000, " " * 100_000 + "x y", "1.2.3-" + "a." * 100_000, "<" * 100_000]
)
def test_no_text_takes_long(text: str) -> None:
    for read in (semver.requirement, semver.normal_version):
        with pytest.raises(ValueError, match="is not"):
            read(text)


def test_ranges_mean_what_they_mean_to_npm(node_tools: Tools, tmp_path: Path) -> None:
    singles = [sign + partial for sign, partial in itertools.product(SIGNS, PARTIALS)]
    hyphens = [f"{low} - {high}" for low, high in itertools.product(PARTIALS, repeat=2)]
    some = singles[::11]
    pairs = [f"{one}{between}{other}" for one, other in itertools.product(some, some) for between in (" ", " || ")]
    broken = [f"{one}{end}" for one in some for end in (" ||", "||<", " -", " foo", ".1", "  ", "-", "+")]
    ranges = [text for text in (*singles, *hyphens, *pairs, *broken) if text.strip() != "*"]
    script = """
      const semver = require("semver")
      const [versions, ranges, loose] = JSON.parse(require("fs").readFileSync(0))
      const answer = (range) => semver.validRange(range) === null
        ? null
        : versions.filter((version) => semver.satisfies(version, range))
      const written = ({ version, build }) => build.length ? `${version}+${build.join(".")}` : version
      const valid = loose.map((text) => semver.parse(text, true)).map((found) => found && written(found))
      console.log(JSON.stringify([versions.sort(semver.compare), ranges.map(answer), valid]))
    """
    environ = {**node_packages.node_environ(tmp_path), "NODE_PATH": str(node_tools.node_modules)}
    given = json.dumps([ORDERED[::-1], ranges, [*LOOSE, *NO_VERSIONS]])
    ordered, answers, valid = json.loads(node_packages.run(("node", "-e", script), tmp_path, environ, given))
    assert ordered == ORDERED
    assert valid == [*LOOSE.values(), *(None for _ in NO_VERSIONS)]
    for text, theirs in zip(ranges, answers, strict=True):
        if theirs is None:
            with pytest.raises(ValueError, match="is not a range"):
                semver.requirement(text)
        else:
            assert admitted(text) == set(theirs), text
    assert len(ranges) > 2000
    assert sum(answer is None for answer in answers) > 200
