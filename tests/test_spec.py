"""docs/spec.md is true: its examples, tables and vectors, read out of the page and held against the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from builders import digest, directory, lay, walked
from projects import LOCK, REGISTRY, SKILLS, Project

from skillsync.discovery import ECOSYSTEMS, cargo
from skillsync.discovery.gem import ecosystem as gems
from skillsync.discovery.npm import ecosystem as node_packages
from skillsync.discovery.skill import BLOCK_LIMIT, about, parse
from skillsync.hashing import MAX_LINKS, File, Link, Tree, tree_hash
from skillsync.locking import lockfile, manifest
from skillsync.schema import name_fault
from skillsync.snapshot import MAX_DEPTH, MAX_ENTRIES, shipped_faults
from skillsync.syncing import gitignore, registry
from skillsync.syncing.plan import Absent, Linked, Other, Twin, decide
from skillsync.syncing.registry import ForeignRow, Row
from skillsync.yaml_nodes import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from builders import Pieces

    from skillsync.syncing.plan import Disk

PAGE = (Path(__file__).parents[1] / "docs/spec.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"<!-- (\w+)(?:: (\S+))? -->\n```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = _BLOCK.findall(PAGE)


def block(kind: str) -> str:
    """The one example of a kind."""
    (found,) = (text for name, _, text in BLOCKS if name == kind)
    return str(found)


def section(number: str) -> str:
    """The text of a numbered paragraph, up to the next one."""
    start = PAGE.index(f"\n{number}. ")
    return re.split(r"\n(?:\d+\.\d+\. |## )", PAGE[start + 1 + len(number) :], maxsplit=1)[0]


def table(text: str) -> Iterator[list[str]]:
    """Yield the rows of the one table in a text, without its head."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for row in rows[2:]:
        yield [cell.strip() for cell in row.strip("|").split("|")]


def words(text: str) -> list[str]:
    """What stands in backquotes."""
    return re.findall(r"`([^`]+)`", text)


def test_every_example_is_read_by_a_test() -> None:
    assert {name for name, _, _ in BLOCKS} == {
        *("valid", "invalid", "hashed", "registry", "manifest", "lock", "gitignore"),
    }


def test_the_numbers_are_in_order_and_what_is_named_is_there() -> None:
    found = [(int(one), int(two)) for one, two in re.findall(r"^(\d+)\.(\d+)\. ", PAGE, re.MULTILINE)]
    assert found == sorted(set(found))
    sections = {int(number) for number in re.findall(r"^## (\d+)\. ", PAGE, re.MULTILINE)}
    assert sections == set(range(1, 14))
    named = {word for text in re.findall(r"\(((?:\d+(?:\.\d+)?(?:, )?)+)\)", PAGE) for word in text.split(", ")}
    assert named
    numbered = {f"{one}.{two}" for one, two in found} | {str(number) for number in sections}
    assert named <= numbered


# 2 Provider Layout


def test_the_places_are_those_of_the_code() -> None:
    places = {name: tuple(words(cell)) for name, cell in table(section("2.1"))}
    assert list(places) == list(ECOSYSTEMS)
    assert places["gem"] == gems._PLACES  # noqa: SLF001  # the page says what they are
    assert places["npm"] == node_packages._PLACES  # noqa: SLF001
    assert places["cargo"] == cargo._PLACES  # noqa: SLF001
    assert places["pypi"] == ("PACKAGE/.agents/skills", "PACKAGE/skills")


def test_the_example_of_a_provider_is_one(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("package", "1.0.0", "first-skill", "second-skill")
    (provider,) = project.done("list", "--format", "json").json["providers"]
    assert [skill["name"] for skill in provider["skills"]] == ["first-skill", "second-skill"]


# 3 Skill Metadata


@pytest.mark.parametrize(("kind", "name", "text"), [one for one in BLOCKS if one[0] in {"valid", "invalid"}])
def test_frontmatter(kind: str, name: str, text: str) -> None:
    found = parse(text.encode(), about("gem:sus", name, "SKILL.md"))
    assert (kind == "valid") is not any(problem.is_error for problem in found.problems)


@pytest.mark.parametrize(
    ("block", "valid"),
    [
        ("name: x\ndescription: d", True),
        ("name: 'x'\ndescription: >-\n  d", True),
        ("name: x\ndescription: d\nmore: &a [1]\nother: *a", True),
        ("name: x", False),
        ("name: x\ndescription:", False),
        ("name: x\ndescription: ' '", False),
        ("name: x\ndescription: [d]", False),
        ("name: &a x\ndescription: *a", False),
        ("name: x\ndescription: d\n!!str more: 1", False),
        ("name: x\ndescription: d\n<<: {name: y}", False),
        ("name: x\ndescription: d\n*a : 1", False),
        *((f"name: x\ndescription: d{character}e", False) for character in ("\x85", "\u2028", "\u2029", "\r")),
        ("- name: x", False),
    ],
)
def test_what_frontmatter_may_hold(block: str, *, valid: bool) -> None:
    found = parse(f"---\n{block}\n---\n".encode(), about("gem:sus", "x", "SKILL.md"))
    assert valid is not any(problem.is_error for problem in found.problems)


@pytest.mark.parametrize(
    ("content", "valid"),
    [
        (b"\xef\xbb\xbf--- \t\r\nname: x\r\ndescription: d\r\n---\t\r\n", True),
        (b"\n---\nname: x\ndescription: d\n---\n", False),
        (b"---\nname: x\ndescription: d\n", False),
        (b"---\nname: x\ndescription: \xff\n---\n", False),
        (b"---\nname: x\ndescription: d\n#" + b"x" * (BLOCK_LIMIT - 25) + b"\n---\n", True),
        (b"---\nname: x\ndescription: d\n#" + b"x" * BLOCK_LIMIT + b"\n---\n", False),
    ],
)
def test_how_frontmatter_is_set_off(content: bytes, *, valid: bool) -> None:
    found = parse(content, about("gem:sus", "x", "SKILL.md"))
    assert valid is not any(problem.is_error for problem in found.problems)
    assert f"larger than {BLOCK_LIMIT // 1024} KiB" in section("3.1")


def test_names() -> None:
    rows = list(table(section("3.4")))
    assert len(rows) >= 8
    for name, none in rows:
        assert name_fault(name.strip("`")) is None
        assert name_fault(none.strip("`"))
    devices = words(section("3.4").partition("on Windows: ")[2])[:8]
    assert devices == ["con", "prn", "aux", "nul", "com0", "com9", "lpt0", "lpt9"]
    assert all(map(name_fault, devices))
    assert "more than 200 characters" in section("3.4")
    assert name_fault("x" * 200) is None
    assert name_fault("x" * 201)


# 4 The tree of a skill

SKILL_TEXT = "---\nname: x\ndescription: d\n---\n"


@pytest.mark.parametrize("name", words(section("4.2").partition("files named")[0]))
def test_a_tools_directory_is_no_entry_and_a_file_of_its_name_is(tmp_path: Path, name: str) -> None:
    pieces: Pieces = {"SKILL.md": SKILL_TEXT, f"a/{name}/x": "x", f"{name}": "x"}
    assert set(walked(lay(tmp_path / "x", pieces)).tree) == {"SKILL.md", name}


@pytest.mark.parametrize("name", words(section("4.2").partition("files named")[2]))
def test_a_tools_file_is_no_entry_and_a_directory_of_its_name_holds_some(tmp_path: Path, name: str) -> None:
    pieces: Pieces = {"SKILL.md": SKILL_TEXT, name: "x", f"a/{name}/x": "x", "empty/a": None}
    assert set(walked(lay(tmp_path / "x", pieces)).tree) == {"SKILL.md", f"a/{name}/x"}


@pytest.mark.parametrize("name", words(section("4.3"))[:3])
def test_what_people_make_in_a_skill_is_no_entry_and_no_provider_ships_it(tmp_path: Path, name: str) -> None:
    found = walked(lay(tmp_path / "x", {"SKILL.md": SKILL_TEXT, f"a/{name}/x": "x"}))
    assert (set(found.tree), found.runtime) == ({"SKILL.md"}, (f"a/{name}",))
    for number, shipped in enumerate((f"{name}/x", f"a/{name}", f"{name.upper()}/x")):
        assert shipped_faults(walked(lay(tmp_path / f"{number}", {"SKILL.md": SKILL_TEXT, shipped: "x"})))


def test_the_limits_of_a_tree() -> None:
    assert f"at most {MAX_LINKS} links" in section("4.4")
    limits = re.findall(r"more than ([\d,]+)", section("4.5"))
    assert [int(limit.replace(",", "")) for limit in limits] == [MAX_DEPTH, MAX_ENTRIES]


def test_levels_are_counted_from_the_skills_own_directory(tmp_path: Path) -> None:
    deepest = "/".join("d" * (MAX_DEPTH - 1))
    assert walked(lay(tmp_path / "x", {"SKILL.md": SKILL_TEXT, f"{deepest}/file": "x"})).hash
    assert not walked(lay(tmp_path / "y", {"SKILL.md": SKILL_TEXT, f"{deepest}/d/file": "x"})).hash


def example() -> Pieces:
    """The skill of 4.9: files by their text."""
    found: Pieces = {}
    for path, kind, content, _ in table(section("4.9")):
        text = content.strip("`").replace("\\n", "\n")
        found[path.strip("`")] = Link(text) if kind == "link" else text
    return found


def test_the_vectors_are_the_codes(tmp_path: Path) -> None:
    skill = example()
    tree: Tree = {path: one if isinstance(one, Link) else File(digest(str(one))) for path, one in skill.items()}
    written = {path.strip("`"): value.strip("`") for path, _, _, value in table(section("4.9")) if value}
    assert {path: one.hash for path, one in tree.items() if isinstance(one, File)} == written
    (expected,) = re.findall(r"Its hash is `(blake3:\w+)`", PAGE)
    assert tree_hash(tree) == expected
    assert digest(bytes.fromhex("".join(block("hashed").split()))) == expected
    assert walked(lay(tmp_path / "ruby-testing", skill)).hash == expected


# 7 Installation

OWNER, LOCKED, WRITTEN, MADE = "gem:sus", {"a": "locked"}, {"a": "written"}, {"a": "made"}
HASHES = {name: directory(files).snapshot.hash for name, files in (("as locked", LOCKED), ("as written", WRITTEN))}
OURS = Row(ecosystem="gem", package="sus", version="1", hash=HASHES["as written"])
THEIRS = Row(ecosystem="npm", package="sus", version="1", hash=HASHES["as written"])
FOREIGN = ForeignRow(node=plain("x"))
DISK: dict[str, Disk] = {
    "nothing": Absent(),
    "as locked": directory(LOCKED),
    "as written": directory(WRITTEN),
    "a directory": directory(MADE),
    "a file": Other("a file"),
    "a link": Linked("../x"),
}
NO_HASH = Row(ecosystem="gem", package="sus", version="1", hash=None)
ROWS: dict[str, list[Row | ForeignRow | None]] = {
    "no row": [None],
    "same provider": [OURS, NO_HASH],
    "same provider, no hash": [NO_HASH],
    "other provider": [THEIRS],
    "foreign row": [FOREIGN],
    "a row": [OURS, THEIRS, NO_HASH],
}
TABLE = list(table(section("7.2")))


def fits(row: Row | ForeignRow | None, disk: str, words: str) -> bool:
    """Whether what is on disk is what a row of the table says."""
    if words in {"anything", "anything else"}:
        return words == "anything" or disk != "nothing"
    if words == "as written":
        return disk == words and isinstance(row, Row) and row.hash is not None
    return disk == words or (words == "a directory" and disk in {"as written", "as locked"})


def said(lock: str, row: Row | ForeignRow | None, disk: str) -> str:
    """What the first row of the table says that fits."""
    return next(
        action
        for locked, registered, found, action in TABLE
        if locked == lock and row in ROWS[registered] and fits(row, disk, found)
    )


@pytest.mark.parametrize("lock", ["yes", "no"])
@pytest.mark.parametrize("row", [None, OURS, NO_HASH, THEIRS, FOREIGN])
@pytest.mark.parametrize("disk", DISK)
def test_the_table_of_installation_is_the_plans(lock: str, row: Row | ForeignRow | None, disk: str) -> None:
    locked, owner = (HASHES["as locked"], OWNER) if lock == "yes" else (None, None)
    verdict = decide(locked, owner, row, DISK[disk])
    action = verdict.action.value if verdict.action else ""
    expected = {"keep": "", "leave it alone": "", "drop the row": "forget"}
    words = said(lock, row, disk)
    if words.startswith("refuse"):
        assert verdict.refusal
        assert words == f"refuse: `{verdict.refusal.value}`" + ("; may be forced" if verdict.forcible else "")
    else:
        assert (verdict.refusal, action) == (None, expected.get(words, words))


@pytest.mark.parametrize("row", [None, OURS, THEIRS, FOREIGN])
def test_what_differs_in_case_alone_is_unmanaged_whatever_the_registry_says(row: Row | ForeignRow | None) -> None:
    verdict = decide(HASHES["as locked"], OWNER, row, Twin("X"))
    assert verdict.refusal
    assert (verdict.refusal.value, verdict.forcible) == ("unmanaged", False)


# 8 Ownership Registry, 9 Manifest, 10 Lockfile, 12 Version Control


def test_the_registry_is_read_and_written_as_it_stands_there() -> None:
    content = block("registry").encode()
    found = registry.parse(content)
    assert registry.dump(found) == content
    assert [row.owner for row in found.rows.values() if isinstance(row, Row)] == ["pypi:fastapi", "gem:bake", "gem:sus"]
    keys = [key for cells in table(section("8.1")) for key in words(cells[0])]
    assert tuple(keys) == registry._KEYS  # noqa: SLF001  # the page says what they are


def test_the_manifest_is_one() -> None:
    found = manifest.parse(block("manifest").encode(), ECOSYSTEMS)
    assert found.rules is not None
    assert [rule.key for rules in found.rules.values() for rule in rules][-1] == 'providers.npm."@tanstack/*"'


def test_the_lock_is_the_example_skills_as_skillsync_writes_it(tmp_path: Path) -> None:
    content = block("lock").encode()
    assert lockfile.dump(lockfile.parse(content)) == content
    project = Project(tmp_path / "app").gem("sus", "0.33.0", "ruby-testing")
    skill = project.gem_root("sus") / "skills/ruby-testing"
    (skill / "SKILL.md").unlink()
    lay(skill, example())
    project.done("lock")
    assert project.read(LOCK).encode() == content
    project.done("sync")
    rows = registry.parse(project.read(REGISTRY).encode()).rows
    assert rows["ruby-testing"] == registry.parse(block("registry").encode()).rows["ruby-testing"]
    assert project.read(f"{SKILLS}/.gitignore") == block("gitignore")


def test_the_block_of_gitignore() -> None:
    assert gitignore.updated("", ("ruby-testing",), enabled=True) == block("gitignore")
