from __future__ import annotations

import json
from typing import TYPE_CHECKING

import gems
import pytest
from builders import NO_NAMES, digest, quickly
from tools import need

from skillsync.schema import InvalidError, MalformedError, NewerError, name_fault
from skillsync.syncing.registry import FILE_NAME, ForeignRow, Registry, Row, dump, parse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HASH = digest("x")
TWO = f"""\
---
version: 1
skills:
  fastapi:
    ecosystem: pypi
    package: fastapi
    version: 0.165.0
    hash: {HASH}
  ruby-testing:
    gem: sus
    version: 0.33.0
    hash: {HASH}
"""


def gem(name: str, version: str | None = "1.0.0", digest: str | None = None) -> Row:
    return Row(ecosystem="gem", package=name, version=version, hash=digest)


def registry(**rows: Row | ForeignRow) -> Registry:
    return Registry(rows={name.replace("_", "-"): row for name, row in rows.items()})


def row(*lines: str) -> bytes:
    """The text of a registry whose only row has the given lines."""
    return "\n".join(["version: 1", "skills:", "  testing:", *(f"    {line}" for line in lines), ""]).encode()


def fault(content: bytes) -> tuple[str, str]:
    """Key and reason of what is refused."""
    with quickly(), pytest.raises(InvalidError) as caught:
        parse(content)
    return caught.value.key, caught.value.reason


def malformed(content: bytes) -> tuple[str, int | None]:
    with quickly(), pytest.raises(MalformedError) as caught:
        parse(content)
    return caught.value.reason, caught.value.place[0]


def test_a_registry_has_one_form() -> None:
    fastapi = Row(ecosystem="pypi", package="fastapi", version="0.165.0", hash=HASH)
    found = registry(ruby_testing=gem("sus", "0.33.0", HASH), fastapi=fastapi)
    assert dump(found).decode() == TWO
    assert parse(TWO.encode()) == found
    assert [one.owner for one in (fastapi, gem("sus"))] == ["pypi:fastapi", "gem:sus"]


def test_the_packaging_specs_own_example_is_read() -> None:
    text = b"version: 1\nskills:\n  ruby-testing:\n    gem: sus\n    version: 1.0.0\n"
    assert parse(text) == registry(ruby_testing=gem("sus"))
    assert dump(parse(text)) == b"---\n" + text


def test_an_empty_registry_is_a_registry() -> None:
    assert dump(Registry()) == b"---\nversion: 1\nskills: {}\n"
    assert parse(dump(Registry())) == Registry()


def test_the_file_has_the_packaging_specs_name() -> None:
    assert FILE_NAME == ".agent-skills.yaml"


def test_version_and_hash_may_be_missing() -> None:
    assert parse(row("gem: sus")) == registry(testing=gem("sus", None))
    assert dump(registry(testing=gem("sus", None))) == b"---\n" + row("gem: sus")


def test_a_gem_may_be_written_as_any_other_ecosystems_package() -> None:
    assert parse(row("ecosystem: gem", "package: sus", "version: 1.0.0")) == registry(testing=gem("sus"))


@pytest.mark.parametrize("text", ["123", "1.0", "1e3", "2001-01-01", "0x1f", "no", "0755", "1_000", "'null'", '"~"'])
def test_every_scalar_is_its_text(text: str) -> None:
    (found,) = parse(row(f"gem: {text}", f"version: {text}")).rows.values()
    assert isinstance(found, Row)
    assert (found.package, found.version) == (text.strip("'\""),) * 2


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_other_line_ends_and_a_bom_are_the_same_registry(bom: bytes, end: bytes) -> None:
    assert parse(bom + TWO.encode().replace(b"\n", end)) == parse(TWO.encode())


# What isn't ours


FOREIGN = """\
---
version: 1
skills:
  a:
    owner: someone
    list:
    - 1
    - '1'
    empty:
    date: 2001-01-01
    flow: {x: [y, ~]}
  b:
    gem: sus
    version: 1.0.0
    pinned: true
    note: |
      two
      lines
  c: {}
tool:
  name: other
  version: 1.0
"""


def test_rows_and_keys_that_are_not_ours_stay_as_they_were() -> None:
    found = parse(FOREIGN.encode())
    assert isinstance(found.rows["a"], ForeignRow)
    assert found.rows["b"] == gem("sus")
    assert isinstance(found.rows["c"], ForeignRow)
    assert dump(found).decode() == FOREIGN


def test_keys_that_are_not_ours_stay_when_a_row_changes() -> None:
    found = parse(FOREIGN.encode())
    before = found.rows["b"]
    assert isinstance(before, Row)
    after = Row(ecosystem="npm", package="@s/x", version="2.0", hash=HASH, extra=before.extra)
    text = dump(Registry(rows={**found.rows, "b": after}, extra=found.extra)).decode()
    assert "  b:\n    ecosystem: npm\n    package: '@s/x'\n    version: '2.0'\n" in text
    assert f"    hash: {HASH}\n    pinned: true\n    note: |\n      two\n      lines\n  c: {{}}\n" in text
    assert text.endswith("tool:\n  name: other\n  version: 1.0\n")


# Unreadable is not empty, and no version is another


@pytest.mark.parametrize("content", [b"", b"\n", b"\xef\xbb\xbf\r\n"])
def test_an_empty_file_is_no_empty_registry(content: bytes) -> None:
    assert malformed(content) == ("it is empty", None)


@pytest.mark.parametrize("content", [b"# nothing", b"---\n", b"- a\n- b\n", b"text"])
def test_what_is_no_mapping_is_no_registry(content: bytes) -> None:
    assert malformed(content) == ("it is not a mapping", 1)


def test_conflict_markers_are_named_with_their_line() -> None:
    lines = TWO.splitlines(keepends=True)
    text = "".join([*lines[:3], "<<<<<<< HEAD\n", *lines[3:8], "=======\n", *lines[8:], ">>>>>>> other\n"])
    assert malformed(text.encode()) == ("it has merge conflict markers", 4)


def test_text_that_is_no_yaml_is_named_with_its_line() -> None:
    reason, line = malformed(row("gem: a: b"))
    assert reason.startswith("it is not YAML: mapping values are not allowed")
    assert line == 4
    assert malformed(row("gem: sus") + b"---\nversion: 1\n") == ("it is not YAML: a second document begins", 6)


def test_older_newer_and_no_versions_are_different_cases() -> None:
    for text in ("2", "999", "10", "1" * 10_000):
        with pytest.raises(NewerError):
            parse(f"version: {text}\nskills: [anything]\nx: &a y\nz: *a\n".encode())
    for text in ("0", "-1", "01", "1.0", "one", "", "~", "[1]", "\u0661", "\u0662", "1 000"):
        assert fault(f"version: {text}\nskills: {{}}\n".encode()) == ("version", "must be 1")
    assert fault(b"skills: {}\n") == ("version", "must be 1")
    assert parse(b"version: '1'\nskills: {}\n") == Registry()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"version: 1\n", ("skills", "must be a mapping")),
        (b"version: 1\nskills:\n", ("skills", "must be a mapping")),
        (b"version: 1\nskills: []\n", ("skills", "must be a mapping")),
        (b"version: 1\nskills:\n  a:\n", ("skills.a", "must be a mapping")),
        (b"version: 1\nskills:\n  a: sus\n", ("skills.a", "must be a mapping")),
        (b"version: 1\nskills:\n  ? [a]\n  : {}\n", ("skills", "has a key that is not a text")),
        (b"version: 1\nskills: {}\n? {a: b}\n: x\n", ("the document", "has a key that is not a text")),
        (b"version: 1\nversion: 1\nskills: {}\n", ("version", "is there twice")),
        (b"version: 1\nskills:\n  a: {gem: x}\n  'a': {gem: y}\n", ("skills.a", "is there twice")),
        (row("gem: x", "gem: y"), ("skills.testing.gem", "is there twice")),
        (row("? [x]", ": y"), ("skills.testing", "has a key that is not a text")),
        (row("gem:"), ("skills.testing.gem", "must be a text")),
        (row("gem: null"), ("skills.testing.gem", "must be a text")),
        (row("gem: []"), ("skills.testing.gem", "must be a text")),
        (row("gem: ''"), ("skills.testing.gem", "is empty")),
        (row('gem: "a\\nb"'), ("skills.testing.gem", "has a control character")),
        (row("gem: sus", "version: {}"), ("skills.testing.version", "must be a text")),
        (row("gem: sus", "version:"), ("skills.testing.version", "must be a text")),
        (row("gem: sus", "hash: ~"), ("skills.testing.hash", "must be a text")),
        (row("gem: sus", "hash: sha256:00"), ("skills.testing.hash", "is not `blake3:` and 64 hexadecimal digits")),
        (row("ecosystem: pypi"), ("skills.testing.package", "is missing")),
        (row("ecosystem: [pypi]", "package: x"), ("skills.testing.ecosystem", "must be a text")),
        (row("gem: a", "ecosystem: gem"), ("skills.testing", "has both `gem` and `ecosystem` or `package`")),
        (row("gem: a", "package: b"), ("skills.testing", "has both `gem` and `ecosystem` or `package`")),
    ],
)
def test_a_wrong_value_is_named_by_its_key(content: bytes, expected: tuple[str, str]) -> None:
    assert fault(content) == expected


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_text_that_is_no_skills_name_is_refused(name: str) -> None:
    escaped = "".join(c if c.isascii() and c.isalnum() else f"\\U{ord(c):08X}" for c in name)
    for value in ("{gem: sus}", "{}"):
        assert fault(f'version: 1\nskills:\n  "{escaped}": {value}\n'.encode())[0] == f"skills.{name}"


def test_an_alias_would_not_be_kept_and_is_refused_wherever_it_stands() -> None:
    reason = "it has an alias, which skillsync would not keep"
    assert malformed(b"version: 1\nskills: {}\nx: &a y\nz: [{q: *a}]\n") == (reason, 4)
    assert malformed(b"version: 1\nskills: {}\nx: &a y\nz: {*a : q}\n") == (reason, 4)
    assert malformed(row("gem: &x sus", "version: *x")) == (reason, 5)


@pytest.mark.parametrize(
    "content",
    [
        b"x: " + b"[" * 10_000,
        b"- " * 10_000,
        "\n".join(
            ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 100)]
        ).encode(),
        b"version: 1\nskills:\n\ttesting: {}\n",
        b"version: 1\nskills: {a: {gem: \0}}\n",
        b"version: 1\nskills: {a: {gem: \xff}}\n",
        b"version: 1\nskills: !!python/object/apply:os.system ['false']\n",
        b"\0" * 1_000_000,
        b"x" * 4_000_000,
        b"[" * 4_000_000,
    ],
    ids=lambda content: repr(content[:24]),
)
def test_a_hostile_registry_is_refused_in_no_time(content: bytes) -> None:
    with quickly(), pytest.raises((MalformedError, InvalidError)):
        parse(content)


def test_a_large_registry_is_read_and_written_in_no_time() -> None:
    found = Registry(rows={f"skill-{number}": gem("sus", digest=HASH) for number in range(2_000)})
    with quickly():
        assert parse(dump(found)) == found


# Ruby


AWKWARD = (
    *(
        "123",
        "null",
        "no",
        "1.0",
        "1e3",
        "2001-01-01",
        "0x1f",
        "2001-1-1",
        "y",
        "n",
        "yes",
        "true",
        "off",
        "0755",
        "08",
    ),
    *(
        "1-2",
        "12e03",
        "0b1",
        "09-nine",
        "3.5",
        "0",
        "nan",
        "inf",
        "2001-12-1",
        "a",
        "ruby-testing",
        "0.33.0",
        "1.2.3.pre",
    ),
)
ODD = (
    "1_000",
    "1,000",
    ".5",
    "1.",
    ":symbol",
    "~",
    "=",
    "<<",
    "nO",
    "@s/x",
    "-",
    "- a",
    "# a",
    "a: b",
    "é",
    "\U0001f600",
)


def ruby(directory: Path, script: str, text: str) -> str:
    need("ruby")
    return gems.run(("ruby", "-ryaml", "-rjson", "-e", script), directory, gems.ruby_environ(directory), text)


def awkward() -> Mapping[str, Row]:
    """Rows with every awkward text in every place that can hold it."""
    texts = AWKWARD + ODD
    names = [text for text in AWKWARD if name_fault(text) is None]
    return {
        **{name: gem("sus", "1.0.0") for name in names},
        **{f"gem-{number}": gem(text, text, HASH) for number, text in enumerate(texts)},
        **{
            f"pypi-{number}": Row(ecosystem="pypi", package=text, version=text, hash=None)
            for number, text in enumerate(texts)
        },
    }


def test_ruby_reads_texts_alone_in_what_is_written(tmp_path: Path) -> None:
    rows = awkward()
    script = """
      document = YAML.safe_load($stdin.read)
      raise unless document.keys == %w[version skills] && document["version"].equal?(1)
      texts = document["skills"].flat_map { |name, row| [name, *row.keys, *row.values] }
      raise texts.grep_v(String).inspect unless texts.all?(String)
      puts document["skills"].to_json
    """
    found = json.loads(ruby(tmp_path, script, dump(Registry(rows=rows)).decode()))
    assert found == {
        name: {
            **({"gem": one.package} if one.ecosystem == "gem" else {"ecosystem": "pypi", "package": one.package}),
            "version": one.version,
            **({"hash": one.hash} if one.hash else {}),
        }
        for name, one in rows.items()
    }


def test_what_ruby_writes_is_read(tmp_path: Path) -> None:
    rows = awkward()
    given = {name: {"gem": one.package, "version": one.version} for name, one in rows.items()}
    written = ruby(tmp_path, _TO_YAML, json.dumps(given))
    assert parse(written.encode()).rows == {name: gem(one.package, one.version) for name, one in rows.items()}


def test_gems_without_hashes_are_written_byte_for_byte_as_ruby_writes_them(tmp_path: Path) -> None:
    names = [text for text in AWKWARD if name_fault(text) is None] + ["9" * 200]
    rows = {name: gem(text, text) for name, text in zip(sorted(names), AWKWARD, strict=False)}
    rows |= {f"gem-{number}": gem(text, text) for number, text in enumerate(AWKWARD)}
    given = {name: {"gem": one.package, "version": one.version} for name, one in sorted(rows.items())}
    assert dump(Registry(rows=rows)).decode() == ruby(tmp_path, _TO_YAML, json.dumps(given))
    assert dump(Registry()).decode() == ruby(tmp_path, _TO_YAML, "{}")


_TO_YAML = """
  print({ "version" => 1, "skills" => JSON.parse($stdin.read) }.to_yaml)
"""
