from __future__ import annotations

import json

import pytest

from skillsync.discovery.npm import package_json
from skillsync.discovery.npm.package_json import Identity
from skillsync.schema import MalformedError


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b'{"name": "demo", "version": "1.2.3"}', Identity("demo", "1.2.3")),
        (b'\xef\xbb\xbf{"name": "@acme/Demo.js", "version": "v1.2.3beta"}', Identity("@acme/Demo.js", "1.2.3-beta")),
        (b'{"name": "a", "name": "b", "version": "1.0.0", "version": "2.0.0"}', Identity("b", "2.0.0")),
        (b'{"name": "demo", "version": "1.2.3", "author": "Jos\xe9"}', Identity("demo", "1.2.3")),
        (b'{"name": "demo"}', Identity("demo", "0.0.0")),
    ],
    ids=["plain", "bom", "twice", "latin-1", "no-version"],
)
def test_a_package_says_who_it_is(content: bytes, found: Identity) -> None:
    assert package_json.identity(package_json.load(content)) == found


@pytest.mark.parametrize(
    ("content", "reason", "line"),
    [
        (b"", "it is empty", None),
        (b"{", "it is not JSON: Expecting property name enclosed in double quotes", 1),
        (b'{\n"a": 1,\n1}', "it is not JSON: Expecting property name enclosed in double quotes", 3),
        (b'{\n<<<<<<< ours\n"a": 1}', "it has merge conflict markers", 2),
        (b"\xff\xfe{\0}\0", "it is not UTF-8", 1),
        (b"[]", "it is not a JSON object", None),
        (b'"demo"', "it is not a JSON object", None),
        (b'{"a":' * 100_000, "it is nested too deeply", None),
        (b"[" * 100_000, "it is nested too deeply", None),
        (b'{"a": ' + b"1" * 10_000 + b"}", "it is not JSON: Exceeds the limit", None),
    ],
)
def test_a_text_that_is_no_package_json_has_a_reason(content: bytes, reason: str, line: int | None) -> None:
    with pytest.raises(MalformedError, match=reason) as error:
        package_json.load(content)
    assert error.value.place[0] == line


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({}, "its name is missing"),
        ({"name": None}, "its name is missing"),
        ({"name": ["demo"]}, "its name is not a text"),
        ({"name": "demo", "version": None}, "its version is missing"),
        ({"name": "demo", "version": 1}, "its version is not a text"),
        ({"name": "demo", "version": "latest"}, "`latest` is not an npm version"),
        ({"name": ".."}, "its name `..` is not one that npm allows"),
    ],
)
def test_a_package_that_does_not_say_who_it_is_has_a_reason(data: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        package_json.identity(data)


@pytest.mark.parametrize(
    "name", ["a", "JSONStream", "a.b_c-d~e", "@a/b", "@a-b/c.d", "_x", "-", "a" * 214, "@types/node"]
)
def test_what_npm_has_ever_allowed_is_a_name(name: str) -> None:
    assert package_json.is_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", ".x", "../x", "a/b", "a/../b", "/a", "@a", "@/b", "@a/", "@a/b/c", "@a/..", "@../a", "a/@b"),
        *("a b", " a", "a\n", "a\0", "a\x1b[31m", "a\\b", "a:b", "é", "\u202ea", "a@1", "node_modules", "Node_Modules"),
        *("favicon.ico", "a" * 215),
    ],
)
def test_nothing_else_is_one(name: str) -> None:
    assert not package_json.is_name(name)


def test_dependencies_are_named_by_their_own_names() -> None:
    data = {
        "dependencies": {"a": "^1.0.0", "aliased": "npm:@acme/b@^1", "other": "npm:c", "local": "file:../local"},
        "devDependencies": {"d": "*"},
        "optionalDependencies": {"e": 1},
        "peerDependencies": {"f": "npm:@acme/g"},
        "bundleDependencies": ["h"],
    }
    assert set(package_json.dependencies(data)) == {"a", "@acme/b", "c", "local", "d", "e", "@acme/g"}
    assert set(package_json.dependencies({"dependencies": ["a"], "devDependencies": None})) == set()


@pytest.mark.parametrize(
    ("written", "patterns"),
    [
        (["packages/*", "!packages/x"], ["packages/*", "!packages/x"]),
        ({"packages": ["apps/*"], "nohoist": ["**"]}, ["apps/*"]),
        ({"packages": "apps/*"}, []),
        (["a", 1, None], ["a"]),
        ("packages/*", []),
        (None, []),
    ],
)
def test_a_workspace_has_patterns(written: object, patterns: list[str]) -> None:
    data = json.loads(json.dumps({"workspaces": written}))
    assert package_json.workspaces(data) == patterns
