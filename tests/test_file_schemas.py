"""The JSON Schemas of the manifest and the lock, held against what reads these files."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from manifests import manifests
from projects import Project
from strategies import lockfiles

import skillsync
from skillsync.discovery import ECOSYSTEMS
from skillsync.hashing import SKILL_FILE, File, tree_hash
from skillsync.locking import lockfile, manifest
from skillsync.schema import InvalidError, toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from manifests import Draw
    from node_packages import Tools

DIRECTORY = Path(skillsync.__file__).parent / "schemas"
DOCS = Path(__file__).parents[1] / "docs"
MANIFEST = json.loads((DIRECTORY / "manifest.json").read_text(encoding="utf-8"))
LOCK = json.loads((DIRECTORY / "lock.json").read_text(encoding="utf-8"))
SCHEMAS = {"manifest": MANIFEST, "lock": LOCK}
# What docs/formats.md says that no schema can see: versions' languages, and values that have to fit each other. (A
# number 1.0 is an integer to JSON Schema; TOML's dates are no texts to the validator here, but to taplo they are.)
UNSEEN = re.compile(
    r"is not (?:a RubyGems requirement|a PEP 440 specifier|a range of npm versions|a requirement of Cargo's)"
    r"|the requirement is empty|names the same provider as|lies in `|is there twice|must be the number 1$"
    r"|is not the hash of the files below it|the skill \S+ is \S+'s too"
)


def as_ecma(schema: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return a schema whose patterns mean to Python what they mean to JSON Schema: `$` is the end, and no line's."""
    if isinstance(schema, list):
        return [as_ecma(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: re.sub(r"\$(?=$|\)|\|)", r"\\Z", value) if key == "pattern" and isinstance(value, str) else as_ecma(value)
        for key, value in schema.items()
    }


VALIDATORS = {name: Draft7Validator(as_ecma(schema)) for name, schema in SCHEMAS.items()}


def takes(name: str, text: str | bytes) -> bool:
    """Whether a schema takes a TOML text."""
    return VALIDATORS[name].is_valid(toml(text if isinstance(text, bytes) else text.encode()).data)


def refusal(name: str, text: str | bytes) -> str | None:
    """Why skillsync refuses a file, None if it doesn't."""
    content = text if isinstance(text, bytes) else text.encode()
    try:
        manifest.parse(content, ECOSYSTEMS) if name == "manifest" else lockfile.parse(content)
    except InvalidError as error:
        return f"{error.key} {error.reason}"
    return None


def objects(schema: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401  # any JSON value
    """Yield each schema of a table with known keys."""
    for value in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from objects(value)
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict) and "type" in schema:
        yield schema


# The schemas themselves


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_and_says_what_each_key_means(name: str) -> None:
    Draft7Validator.check_schema(SCHEMAS[name])
    found = list(objects(SCHEMAS[name]))
    assert found
    for one in found:
        assert "additionalProperties" in one
        for key, value in one["properties"].items():
            described = value if "$ref" not in value else SCHEMAS[name]["definitions"][value["$ref"].rpartition("/")[2]]
            assert described["description"], key


def test_the_schemas_know_every_key_and_ecosystem() -> None:
    properties = MANIFEST["properties"]
    assert set(properties) == set(manifest._KEYS)  # noqa: SLF001  # to be told of a new one
    assert set(MANIFEST["definitions"]["entry"]["properties"]) == set(manifest._PROVIDER_KEYS)  # noqa: SLF001
    assert set(properties["providers"]["properties"]) == set(ECOSYSTEMS)
    assert properties["ecosystems"]["items"]["enum"] == list(ECOSYSTEMS)
    provider = LOCK["properties"]["provider"]["items"]["properties"]
    assert provider["ecosystem"]["examples"] == list(ECOSYSTEMS)
    assert properties["targets"]["default"] == [manifest.DEFAULT_TARGET]


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_program_prints_it(tmp_path: Path, name: str) -> None:
    nowhere = Project(tmp_path / "nowhere")
    assert json.loads(nowhere.done("help", "--schema", name).out) == SCHEMAS[name]
    assert nowhere.run("help", "--schema", "registry").code == 2
    assert nowhere.run("help", "--schema", name, "--man").code == 2


# The manifest


@given(manifests())
def test_every_manifest_that_is_read_is_valid(content: bytes) -> None:
    if refusal("manifest", content) is None:
        assert takes("manifest", content)


# Nearly what the keys take, so that most documents have one fault or none.
_WORDS = ("a", "a-*", "sus", "con", "A", "", " ", "*", "?a", "a b", "x" * 201, "a--b", "1.0", ">=1", "\x07", "a\n")
_PATHS = ("a", "a/b", "a/", "a//", "/", "", "/a", "..", "a/../b", "./a", "a//b", ".git", "a/.GIT/b", " ", " /", "a\n")
_texts = st.sampled_from([*_WORDS, *_PATHS])
_any: st.SearchStrategy[Any] = st.booleans() | st.integers(0, 2) | _texts | st.lists(_texts, max_size=2) | st.just({})
_words = st.lists(st.sampled_from(_WORDS), max_size=2)
_entry = st.fixed_dictionaries(
    {},
    optional={
        "version": st.sampled_from(["*", ">=1"]) | _any,
        "skills": _words | _any,
        "exclude": _words | _any,
        "path": st.sampled_from(_PATHS) | _any,
        "hidden-characters": st.just("allow") | _any,
        "skill": _any,
    },
)
_table = st.dictionaries(st.sampled_from(_WORDS), st.just("*") | _entry | _any, max_size=2)
documents = st.fixed_dictionaries(
    {},
    optional={
        "version": st.just(1) | _any,
        "ecosystems": st.lists(st.sampled_from([*ECOSYSTEMS, "hex"]), max_size=4) | _any,
        "targets": st.lists(st.sampled_from(_PATHS), max_size=3) | _any,
        "link": st.booleans() | _any,
        "gitignore": st.booleans() | _any,
        "providers": st.dictionaries(st.sampled_from([*ECOSYSTEMS, "hex"]), _table | _any, max_size=2) | _any,
        "target": _any,
    },
)


def agree(name: str, content: str) -> None:
    """Hold that a schema refuses what skillsync refuses, but for what no schema can see."""
    reason = refusal(name, content)
    if reason is None or UNSEEN.search(reason) is None:
        assert takes(name, content) is (reason is None), reason


@given(documents)
def test_schema_and_parser_agree_on_what_is_nearly_a_manifest(document: dict[str, Any]) -> None:
    text = tomlkit.dumps(document)
    if text.strip():
        agree("manifest", text)


MANIFEST_FAULTS = (
    "targts = ['a']",
    "version = 2",
    "version = '1'",
    "version = true",
    "ecosystems = 'gem'",
    "ecosystems = ['hex']",
    "ecosystems = [1]",
    *(f"ecosystems = {[other for other in ECOSYSTEMS if other != name]}\n[providers.{name}]" for name in ECOSYSTEMS),
    *(f"[providers.{name}]\n{fault}" for name in ECOSYSTEMS for fault in ("'' = '*'", "sus = 1", "sus.skill = 'a'")),
    *(f"[providers]\n{name} = 1" for name in ECOSYSTEMS),
    "gitignore = 'false'",
    "link = 1",
    "link = true",
    "link = true\ntargets = ['a']",
    *(f"targets = ['a', '{path}']" for path in ("", ".", "..", "/", "/etc", "../x", "a/../b", "x//y", "./x", " ", "a")),
    *(f"targets = ['{path}']" for path in (".git", ".git/hooks", "a/.GIT", "a/.git/b/")),
    'targets = ["a\\nb"]',
    'targets = ["a\\u0000"]',
    "targets = []",
    "targets = 'a'",
    "targets = [1]",
    "providers = []",
    "providers = 'sus'",
    "[providers.gems]",
    "[providers]\nlink = true",
    "[providers]\ngem = ['sus']",
    "[[providers.gem]]",
    "[providers.gem]\nsus = 1",
    "[providers.gem]\nsus = true",
    "[providers.gem]\nsus = 2001-01-01",
    "[providers.gem]\nsus = [1]",
    "[providers.gem]\nsus = { version = 1 }",
    "[providers.gem]\nsus = { version = [[]] }",
    "[providers.gem]\nsus = { skill = [] }",
    "[providers.gem]\nsus = { skills = 'x' }",
    "[providers.gem]\nsus = { skills = [1] }",
    *(
        f"[providers.gem]\nsus = {{ {key} = ['{name}'] }}"
        for key in ("skills", "exclude")
        for name in ("", "A", "a_b", "a--b", "-a", "a-", "con", "lpt9", "x" * 201, "../*", "*.md", "A*", "é", "a/b")
    ),
    *(
        f'[providers.gem]\nsus = {{ path = "{path}" }}'
        for path in (
            "",
            "/",
            "/etc",
            "..",
            "../x",
            "a/../../b",
            ".",
            "./a",
            "a//b",
            " ",
            "a\\nb",
            "a\\u0000b",
            "a\\u007f",
        )
    ),
    "[providers.gem]\nsus = { exclude = 'x' }",
    "[providers.gem]\nsus = { path = 1 }",
    "[providers.gem]\nsus = { hidden-characters = true }",
    "[providers.gem]\nsus = { hidden-characters = 'refuse' }",
    *(f'[providers.npm]\n"{name}" = "*"' for name in ("", " ", "a\\nb", "\\u0000", "\\u001b[31m")),
)


@pytest.mark.parametrize("text", MANIFEST_FAULTS)
def test_what_is_wrong_with_a_manifest_is_refused_by_both(text: str) -> None:
    assert refusal("manifest", text)
    assert not takes("manifest", text)


@pytest.mark.parametrize(
    "text",
    [
        "# nothing",
        "[providers]",
        "[providers.gem]",
        "targets = ['a/', 'b//', 'with blank', 'é', '...', '.gitx', 'a.git', ' / ']",
        "ecosystems = []",
        "ecosystems = ['gem', 'gem']\n[providers]",
        "link = true\ntargets = ['a', 'b']",
        "[providers.npm]\n'@tanstack/*' = '^1'\nlink = '*'\n'a b' = { }",
        "[providers.gem]\nsus = { skills = ['?', 'com', 'con-*', 'lpt10'], exclude = [], path = 'a/b/' }",
        "[providers.gem]\nsus = ['>= 1', '< 2']",
    ],
)
def test_what_is_unusual_in_a_manifest_is_taken_by_both(text: str) -> None:
    assert refusal("manifest", text) is None
    assert takes("manifest", text)


@pytest.mark.parametrize(
    "text",
    [
        "version = 1.0",
        "targets = ['a', 'a/b']",
        "targets = ['a', 'a/']",
        "[providers.pypi]\nFoo_Bar = '*'\n'foo.bar' = '*'",
        "[providers.gem]\nsus = 'newest'",
    ],
)
def test_what_no_schema_can_see_is_left_to_skillsync(text: str) -> None:
    assert UNSEEN.search(refusal("manifest", text) or "")
    assert takes("manifest", text)


@pytest.mark.parametrize("page", ["../README.md", "formats.md", "conflicts.md"])
def test_the_manifests_of_the_documents_are_valid(page: str) -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    shown = [block for block in blocks if "[[provider]]" not in block]
    assert shown
    assert [block for block in shown if not takes("manifest", block)] == []


# The lock


@given(lockfiles)
def test_every_lock_that_is_written_is_valid(lock: lockfile.Lockfile) -> None:
    assert takes("lock", lockfile.dump(lock))


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:  # noqa: ANN401  # JSON
    """Yield the way to each value of a document."""
    if path:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


@st.composite
def nearly_locks(draw: Draw) -> dict[str, Any]:
    """A lock in which one value is another or gone."""
    document: dict[str, Any] = dict(toml(lockfile.dump(draw(lockfiles))).data)
    *above, last = draw(st.sampled_from(sorted(places(document), key=repr)))
    around: Any = document
    for key in above:
        around = around[key]
    if draw(st.booleans()):
        del around[last]
    else:
        around[last] = draw(_any)
    return document


@given(nearly_locks())
def test_schema_and_parser_agree_on_what_is_nearly_a_lock(document: dict[str, Any]) -> None:
    text = tomlkit.dumps(document)
    if text.strip():
        agree("lock", text)


HASH = "blake3:" + "0" * 64
TREE_HASH = tree_hash({SKILL_FILE: File(HASH)})
ONE = f"""
version = 1
[[provider]]
ecosystem = "gem"
name = "sus"
version = "0.33.0"
[[provider.skill]]
name = "testing"
hash = "{TREE_HASH}"
[provider.skill.files]
"SKILL.md" = "{HASH}"
"""


def test_what_is_spoiled_below_is_a_lock() -> None:
    assert refusal("lock", ONE) is None
    assert takes("lock", ONE)


@pytest.mark.parametrize(
    "text",
    [
        ONE.replace(TREE_HASH, HASH),
        ONE + ONE.replace("version = 1", "", 1),
        ONE + "[[provider.skill]]" + ONE.partition("[[provider.skill]]")[2],
        ONE.replace("version = 1", "version = 1.0", 1),
    ],
)
def test_what_no_schema_can_see_of_a_lock_is_left_to_skillsync(text: str) -> None:
    assert UNSEEN.search(refusal("lock", text) or "")
    assert takes("lock", text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("version = 1", ""),
        ("version = 1", "version = 2"),
        ("version = 1", "version = 1\nmetadata = 1"),
        ("version = 1", "version = true"),
        ('ecosystem = "gem"', ""),
        ('"gem"', '"../gem"'),
        ('"gem"', '"Gem"'),
        ('"gem"', '"gem:x"'),
        ('name = "sus"', ""),
        ('name = "sus"', 'name = " "'),
        ('name = "sus"', 'name = "a\\nb"'),
        ('name = "sus"', 'name = "sus"\npath = "x"'),
        ('version = "0.33.0"', ""),
        ('"0.33.0"', "0.33"),
        ('"0.33.0"', '""'),
        ('name = "testing"', ""),
        *(('"testing"', f'"{name}"') for name in ("", "A", "../x", "a--b", "con", "x" * 201)),
        ('name = "testing"', 'name = "testing"\nmode = 1'),
        ("hash = ", "digest = "),
        (TREE_HASH, HASH.replace("blake3", "sha256")),
        (TREE_HASH, f"{TREE_HASH}0"),
        (TREE_HASH, f"{TREE_HASH[:-1]}G"),
        (TREE_HASH, f"{TREE_HASH}\\n"),
        ("[provider.skill.files]\n", ""),
        (f'[provider.skill.files]\n"SKILL.md" = "{HASH}"', ""),
        ('"SKILL.md"', '"skill.md"'),
        (f'"SKILL.md" = "{HASH}"', '"SKILL.md" = { link = "x" }'),
        (f'"SKILL.md" = "{HASH}"', '"SKILL.md" = "x"'),
        ("[[provider.skill]]", "[provider.skill]"),
        (ONE.partition("[[provider.skill]]")[2], ""),
        ("[[provider.skill]]" + ONE.partition("[[provider.skill]]")[2], ""),
        ("[[provider.skill]]" + ONE.partition("[[provider.skill]]")[2], "skill = []"),
        ("[[provider.skill]]" + ONE.partition("[[provider.skill]]")[2], "skill = [1]"),
        ("[provider.skill.files]" + ONE.partition("[provider.skill.files]")[2], "files = 1"),
        (ONE.partition("version = 1")[2], "\nprovider = 1"),
        (ONE.partition("version = 1")[2], "\nprovider = [1]"),
        *(
            ("[provider.skill.files]\n", f'[provider.skill.files]\n"{path}" = "{HASH}"\n')
            for path in ("", "/etc/x", "../x", "a/../b", "a//b", "a/", ".", "./a", "a\\u0000b", "a/.")
        ),
        *(
            ("[provider.skill.files]\n", f"[provider.skill.files]\nx = {value}\n")
            for value in ("1", "[]", "{}", "{ link = 1 }", '{ link = "a", mode = 1 }', '"x"')
        ),
    ],
)
def test_what_is_wrong_with_a_lock_is_refused_by_both(old: str, new: str) -> None:
    text = ONE.replace(old, new, 1)
    assert text != ONE
    reason = refusal("lock", text)
    assert reason
    assert not UNSEEN.search(reason) or "version must be the number" in reason
    assert not takes("lock", text)


@pytest.mark.parametrize("text", ["version = 1", "version = 1\nprovider = []"])
def test_an_empty_lock_is_taken_by_both(text: str) -> None:
    assert refusal("lock", text) is None
    assert takes("lock", text)


# The line that names it


def test_commands_leave_the_line_that_names_the_schema(tmp_path: Path) -> None:
    line = "#:schema ./agent-skills.schema.json\n"
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing").manifest(f"{line}version = 1\n[providers]\n")
    project.done("allow", "gem:sus")
    assert project.read(manifest.FILE_NAME).startswith(line)
    assert "sus" in project.read(manifest.FILE_NAME)
    project.done("deny", "gem:sus")
    assert project.read(manifest.FILE_NAME).startswith(line)


# The tool that editors use


def taplo(tools: Tools, directory: Path, content: bytes, *arguments: str) -> tuple[int, str]:
    """Check a file as an editor does; return the exit code and what is said."""
    (directory / manifest.FILE_NAME).write_bytes(content)
    environ = {"PATH": os.environ["PATH"], "HOME": str(directory)}
    command = (*tools.taplo, "check", "--colors", "never", *arguments, str(directory / manifest.FILE_NAME))
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", env=environ)
    return done.returncode, done.stderr


def test_taplo_finds_the_schema_by_the_first_line_that_the_page_shows(tmp_path: Path, node_tools: Tools) -> None:
    page = (DOCS / "formats.md").read_text(encoding="utf-8").partition("### In an editor")[2]
    command, block = re.findall(r"^```\w+\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[:2]
    printed, _, name = command.strip().removeprefix("skillsync ").partition(" > ")
    (tmp_path / name).write_text(Project(tmp_path / "nowhere").done(*printed.split()).out, encoding="utf-8")
    good = f"{block}[providers.gem]\nsus = {{ skills = ['a-*'] }}\n".encode()
    assert taplo(node_tools, tmp_path, good)[0] == 0
    code, said = taplo(node_tools, tmp_path, good.replace(b"{ skills", b"{ skill"))
    assert (code, "'skill' was unexpected" in said) == (1, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "targets = ['a/b', '.c/']\nlink = true\n[providers.npm]\n'@tanstack/*' = ['*', '>1']",
            0,
        ),
        ("link = true", 1),
        ("targets = ['../x']", 1),
        ("targets = ['a/.git/b']", 1),
        ("[providers.gem]\nsus = { skills = ['con'] }", 1),
        ("[providers.gem]\nsus = { path = '/etc' }", 1),
        ("ecosystems = ['gem']\n[providers.npm]\nx = '*'", 1),
        ('[providers.gem]\n"a\\u0007" = "*"', 1),
        ("[providers.gem]\nsus = 2001-01-01", 0),  # to taplo a date is a text
    ],
)
def test_taplo_reads_the_patterns_as_they_are_meant(
    tmp_path: Path, node_tools: Tools, text: str, expected: int
) -> None:
    code, said = taplo(node_tools, tmp_path, f"{text}\n".encode(), "--schema", (DIRECTORY / "manifest.json").as_uri())
    assert code == expected, said


def test_taplo_takes_a_lock_that_was_written(tmp_path: Path, node_tools: Tools) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    project.done("lock")
    content = (project.root / "agent-skills.lock").read_bytes()
    schema = ("--schema", (DIRECTORY / "lock.json").as_uri())
    assert taplo(node_tools, tmp_path, content, *schema)[0] == 0
    assert taplo(node_tools, tmp_path, content.replace(b"blake3:", b"sha256:"), *schema)[0] == 1
    assert SKILL_FILE.encode() in content
