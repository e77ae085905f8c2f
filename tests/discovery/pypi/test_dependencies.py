from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidName, canonicalize_name

from skillsync.discovery.pypi import dependencies, versions


def test_names_in_every_table_of_pyproject() -> None:
    table = {
        "project": {
            "name": "App",
            "dependencies": ["Foo_Bar~=1.4", 'foo.baz[extra]>=1; python_version>"3.8"', "by-url @ file:///x"],
            "optional-dependencies": {"x": ["opt==1"], "y": ["opt.two"]},
        },
        "dependency-groups": {"dev": ["Group_One>=1", {"include-group": "other"}], "other": ["group-two"]},
        "tool": {
            "uv": {"dev-dependencies": ["uv_dev"]},
            "poetry": {
                "dependencies": {"python": "^3.11", "Poetry_Main": "^1", "by-table": {"version": "^1"}},
                "dev-dependencies": {"poetry-dev": "*"},
                "group": {"docs": {"dependencies": {"poetry.docs": "*"}}},
            },
        },
    }
    assert dependencies.of_pyproject(table) == {
        "foo-bar", "foo-baz", "by-url", "opt", "opt-two", "group-one", "group-two", "uv-dev",
        "poetry-main", "by-table", "poetry-dev", "poetry-docs",
    }  # fmt: skip


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"project": []},
        {"project": {"dependencies": "a", "optional-dependencies": ["a"], "name": 1}},
        {"project": {"dependencies": [1, {}, "", "~", "-e .", "a b", "./path", "a=1"]}},
        {"dependency-groups": {"dev": "a"}},
        {"tool": "x"},
        {"tool": {"poetry": {"group": {"a": 1}, "dependencies": ["a"]}, "uv": {"dev-dependencies": {}}}},
    ],
)
def test_what_is_no_requirement_names_nothing(table: dict[str, Any]) -> None:
    assert dependencies.of_pyproject(table) == frozenset()
    assert dependencies.project_name(table) is None


def test_the_projects_own_name() -> None:
    assert dependencies.project_name({"project": {"name": "My_App"}}) == "my-app"
    assert dependencies.project_name({"tool": {"poetry": {"name": "My.App"}}}) == "my-app"


def test_names_in_locks() -> None:
    assert dependencies.of_lock({"package": [{"name": "Foo_Bar"}, {"version": "1"}, 3, {"name": 4}]}) == {"foo-bar"}
    assert dependencies.of_lock({"packages": [{"name": "foo.bar"}]}) == {"foo-bar"}
    assert dependencies.of_lock({"package": {"name": "x"}, "packages": "x"}) == frozenset()


def test_names_in_a_requirements_file() -> None:
    text = """\
# Foo
Foo_Bar~=1.4   # why
foo.baz[extra]>=1; python_version>"3.8"
by-url @ file:///x
by-hash==1.0 \\
    --hash=sha256:aaaa \\
    --hash=sha256:bbbb
with-option==1 --config-settings "x=y"
-e ./local
--editable=git+https://x.invalid/r.git#egg=From_Egg[extra]&subdirectory=d
git+ssh://git@x.invalid/r.git@v1#egg=from_url
https://x.invalid/a-1.0.whl
at-url @ https://x.invalid/b.zip#sha256=0
./wheels/c-1.0-py3-none-any.whl
--index-url https://x.invalid/simple
-c constraints.txt
-r base.txt
-rother.txt  # more
--requirement=third.txt
--requirement   dir/fourth file.txt
-r
"""
    names, included = dependencies.of_requirements(text)
    assert names == {"foo-bar", "foo-baz", "by-url", "by-hash", "with-option", "from-egg", "from-url", "at-url"}
    assert included == ("base.txt", "other.txt", "third.txt", "dir/fourth file.txt")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_requirements_files_of_every_encoding(encoding: str) -> None:
    text = dependencies.requirements_text("foo # é\r\nbar\r\n".encode(encoding))
    assert dependencies.of_requirements(text)[0] == {"foo", "bar"}


def test_a_requirements_file_that_is_no_text() -> None:
    text = dependencies.requirements_text(b"foo\nbar\xff\nbaz\n")
    assert dependencies.of_requirements(text)[0] == {"foo", "baz"}


@given(st.text())
def test_no_text_does_harm(text: str) -> None:
    names, _ = dependencies.of_requirements(text)
    assert all(name == name.lower() for name in names)


SPECIFIERS = st.sampled_from(["", ">=1,<2", " (>=1.0)", "~=1.4", "===x", " == 1.*", "!=2"])
EXTRAS = st.sampled_from(["", "[a]", "[a, b]", " [ a ]", "[]"])
MARKERS = st.sampled_from(["", "; python_version > '3.8'", " ; os_name == 'x' or extra == 'y'"])
NAMES = st.from_regex(r"[ \t]*[A-Za-z0-9._-]{1,12}[ \t]*", fullmatch=True)
URLS = st.sampled_from([" @ https://x.invalid/a.whl", "@file:///a b"])


@given(st.builds("{}{}{}{}".format, NAMES, EXTRAS, SPECIFIERS | URLS, MARKERS) | st.text(max_size=20))
def test_what_packaging_takes_for_a_requirement_names_the_same_here(text: str) -> None:
    try:
        name = canonicalize_name(Requirement(text).name)
    except InvalidRequirement:
        return
    assert dependencies.of_requirements(text.replace("\n", " "))[0] == {name}
    assert dependencies.of_pyproject({"project": {"dependencies": [text]}}) == {name}


@given(st.text(max_size=20) | st.from_regex(r"[A-Za-z0-9._-]{1,12}", fullmatch=True))
def test_a_name_is_spelled_and_refused_as_packaging_does(text: str) -> None:
    assert versions.canonical(text) == canonicalize_name(text)
    try:
        expected = canonicalize_name(text, validate=True)
    except InvalidName:
        with pytest.raises(ValueError, match="is not a distribution's name"):
            versions.valid_name(text)
    else:
        assert versions.valid_name(text) == expected
