from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from skillsync.discovery.pypi.versions import canonical, normal_version, requirement, valid_name, version_key


@pytest.mark.parametrize("name", ["Foo_Bar", "foo.bar", "foo-bar", "FOO--bar", "foo._-bar"])
def test_a_name_has_one_spelling(name: str) -> None:
    assert canonical(name) == valid_name(name) == "foo-bar"


@pytest.mark.parametrize("name", ["", "-foo", "foo-", "a b", "a/b", "..", "fo\no", "é", "a" * 256])
def test_what_no_distribution_can_be_called(name: str) -> None:
    with pytest.raises(ValueError, match="is not a distribution's name") as found:
        valid_name(name)
    assert len(str(found.value)) < 300


@pytest.mark.parametrize(
    ("text", "normal"), [("1.0.0.RC1", "1.0.0rc1"), ("v1.0", "1.0"), ("1!2.0+Ubuntu.1", "1!2.0+ubuntu.1")]
)
def test_a_version_has_one_spelling(text: str, normal: str) -> None:
    assert normal_version(text) == normal


@pytest.mark.parametrize("text", ["", "latest", "1.0-", "2004d", "1" * 300, "1.0\n; x"])
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="is not a PEP 440 version"):
        normal_version(text)


def test_versions_sort_as_pep_440_sorts_them() -> None:
    versions = ["1.0.dev1", "1.0a1", "1.0rc1", "1.0", "1.0.post1", "1.9", "1.10", "1!0.1"]
    assert sorted(sorted(versions), key=version_key) == versions


@pytest.mark.parametrize(
    ("text", "met", "unmet"),
    [
        ("*", ["0.1", "2.0rc1", "1.0.dev3", "1!3"], []),
        (" * ", ["2.0rc1"], []),
        (">=0.115", ["0.115", "0.115.0", "1.0"], ["0.114.9"]),
        ("~=1.4", ["1.4", "1.9"], ["2.0", "1.3"]),
        ("==1.4.*", ["1.4.2"], ["1.5"]),
        (">=1,<2,!=1.5", ["1.4"], ["1.5", "2.0"]),
        (">=1, <2", ["1.4"], ["2.0"]),
        ("==1.0", ["1.0", "1.0.0", "1.0+local"], ["1.0.1"]),
        (">=1", ["2.0rc1"], ["1.0rc1"]),
        ("===1.0", ["1.0"], ["1.0.0"]),
    ],
)
def test_requirements(text: str, met: list[str], unmet: list[str]) -> None:
    test = requirement(text)
    assert [version for version in met + unmet if test(version)] == met


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("^1.2", "`^1.2` is not a PEP 440 specifier"),
        (">=1, ~>2", "`~>2` is not a PEP 440 specifier"),
        ("1.2", "`1.2` is not a PEP 440 specifier"),
        ("==*", "`==*` is not a PEP 440 specifier"),
        ("latest", "with a version after it"),
        (" , ", "is empty"),
        ("", "is empty"),
        ("==" + "1" * 300, "…` is not a PEP 440 specifier"),
    ],
)
def test_what_is_no_requirement_is_named(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"requirement|specifier") as found:
        requirement(text)
    assert reason in str(found.value)


@given(st.text(max_size=300))
def test_no_text_does_harm(text: str) -> None:
    for function in (valid_name, normal_version, requirement):
        with contextlib.suppress(ValueError):
            function(text)


@given(st.from_regex(r"v?[0-9]{1,3}(\.[0-9]{1,3}){0,3}(\.?(rc|a|dev|post)[0-9]?)?", fullmatch=True))
def test_a_version_has_the_spelling_that_packaging_gives_it(text: str) -> None:
    assert normal_version(text) == str(Version(text))
