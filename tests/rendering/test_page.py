from __future__ import annotations

import os
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from blake3 import blake3
from projects import LOCK, MANIFEST, SKILLS, Project

from skillsync.errors import Code
from skillsync.hashing import SCHEME, File
from skillsync.locking.changes import Action, Change
from skillsync.rendering import page as rendering
from skillsync.rendering.page import page
from skillsync.reviewing.difference import FileDifference, SkillDifference, Version
from skillsync.values import replace

if TYPE_CHECKING:
    from pathlib import Path

CHANGE = Change(action=Action.UPDATE, skill="x", provider="gem:x", version="1")


class Parsed(HTMLParser):
    """What a browser makes of a page: its elements, and what is to be read in those of a class."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[tuple[str, str]] = []
        self._texts: list[tuple[tuple[str, ...], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self._open.append((tag, dict(attrs).get("class") or ""))
            self._texts.append((self._path, ""))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self._texts.append((self._path, data))

    @property
    def _path(self) -> tuple[str, ...]:
        return tuple(word for tag, names in self._open for word in (tag, *names.split()))

    def texts(self, *words: str) -> list[str]:
        """Return the text of each element that is, or lies in, elements of these names and classes."""
        found: list[str] = []
        inside = False
        for path, data in self._texts:
            here = [word for word in path if word in words] == list(words)
            if here and (not inside or (data == "" and path[-1] == words[-1])):
                found.append("")
            if here:
                found[-1] += data
            inside = here
        return found


def version(text: str | bytes | None, *, is_script: bool = False) -> Version | None:
    """Return one side of a file; None for nothing."""
    if text is None:
        return None
    content = text.encode() if isinstance(text, str) else text
    entry = File(SCHEME + blake3(content).hexdigest())
    return Version(entry=entry, size=len(content), content=content, is_script=is_script)


def shown(old: str | bytes | None, new: str | bytes | None, path: str = "SKILL.md", *, is_script: bool = False) -> str:
    """Return the page of one file."""
    file = FileDifference(path=path, old=version(old), new=version(new, is_script=is_script))
    return page_of(SkillDifference(change=CHANGE, files=(file,)))


def page_of(*skills: SkillDifference) -> str:
    return page(skills, title="Skills", nothing="nothing", command="skillsync diff")


def codes(text: str, side: str) -> list[str]:
    """Return the lines of one side as they are to be read."""
    return Parsed(text).texts(side, "code")


# The command


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a project in sync, with one skill, as the current directory."""
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    project.done("lock")
    project.done("sync")
    monkeypatch.chdir(project.root)
    return project


def test_a_page_is_written_and_nothing_else(project: Project) -> None:
    assert project.done("diff", "--html", "x.html").out == "wrote x.html: 0 changes\n"
    assert "No differences: the packages ship what the lock has." in project.read("x.html")
    project.gem("sus", "2.0.0", "testing", "more")
    before = project.tree
    assert project.done("diff", "--html", "x.html").out == "wrote x.html: 2 changes\n"
    first = project.read("x.html")
    after = project.tree
    assert {path for path in after if after[path] != before.get(path)} == {".", "x.html"}
    assert "Skills: what skillsync lock will pin" in first
    assert str(project.root) not in first
    assert project.done("diff", "--html", "-").out == first
    assert project.done("diff", "more", "--html", "x.html").out == "wrote x.html: 1 change\n"
    assert len(project.done("diff", "--html", "x.html", "--format", "json").json["changes"]) == 2


def test_what_sync_refuses_is_said(project: Project) -> None:
    project.write({f"{SKILLS}/testing/SKILL.md": "mine\n"})
    found = project.done("diff", "--installed", "--html", "-").out
    assert f"Only with --force: {SKILLS}/testing" in found
    assert "refused as modified: only `skillsync sync --force` does it" in found
    assert "Skills: what skillsync sync will change" in found


def test_a_problem_is_a_problem_with_a_page_too(project: Project) -> None:
    project.gem("other", "1.0.0", "mine").done("lock")
    project.write({f"{SKILLS}/mine/SKILL.md": "mine\n"})
    result = project.run("diff", "--installed", "--html", "x.html")
    assert (result.code, "error[unmanaged]" in result.err) == (3, True)
    assert (project.root / "x.html").exists()


def test_what_is_not_decided_and_why_is_on_the_page(project: Project) -> None:
    project.gem("third", "1.0.0", "testing", files={"skills/other/SKILL.md": "no skill\n"})
    result = project.run("diff", "--html", "-")
    found = Parsed(result.out)
    assert found.texts("section", "undecided") == ["testing (gem:third)"]
    said = "".join(found.texts("problems", "ul")).splitlines()
    (warning,) = (line for line in said if line.startswith("warning "))
    (error,) = (line for line in said if line.startswith("error "))
    assert error.startswith("error duplicate-skill: the skill testing is shipped by gem:sus 1.0.0 and by gem:third")
    assert "`skillsync deny gem:third --skill testing`" in error
    assert warning.startswith(
        "warning invalid-skill: gem:third 1.0.0: skills/other/SKILL.md has no frontmatter (skills"
    )
    assert result.code == 3
    assert found.texts("header", "p") == ["Nothing is decided before the errors are mended."]


def test_what_a_problem_says_is_text(project: Project) -> None:
    project.gem("third", "1.0.0", files={"skills/<img>\u202e/SKILL.md": "no skill\n"})
    found = project.done("diff", "--html", "-").out
    assert "img" not in [tag for tag, _ in Parsed(found).tags]
    assert "<img>U+202E" in "".join(Parsed(found).texts("problems", "ul"))


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (LOCK, f"is the project's {LOCK}"),
        (f"./{MANIFEST}", f"is the project's {MANIFEST}"),
        (f"{SKILLS}/x.html", f"lies in {SKILLS}"),
        (f"{SKILLS}/testing/x.html", f"lies in {SKILLS}"),
        ("link/x.html", f"lies in {SKILLS}"),
        ("link", "is no file"),
        (".", "is no file"),
        ("", "is no file"),
        ("pipe", "is no file"),
    ],
)
def test_a_page_takes_the_place_of_nothing_that_matters(project: Project, file: str, reason: str) -> None:
    (project.root / "link").symlink_to(f"{SKILLS}/testing")
    os.mkfifo(project.root / "pipe")
    before = project.tree
    result = project.run("diff", "--html", file)
    assert (result.code, result.out) == (2, "")
    assert f"--html {file}: {reason}" in result.err
    assert project.tree == before


def test_a_name_of_the_lock_that_is_another_to_the_eye_is_refused(project: Project) -> None:
    (project.root / "other.html").hardlink_to(project.root / LOCK)
    assert f"is the project's {LOCK}" in project.run("diff", "--html", "other.html").err


def test_a_directory_that_is_not_there_is_told(project: Project) -> None:
    result = project.run("diff", "--html", "nowhere/x.html")
    assert (result.code, "nowhere" in result.err) == (4, True)


@pytest.mark.parametrize("more", [("x", "--stat"), ("x", "--format", "markdown"), ("-", "--format", "json")])
def test_two_forms_at_once_are_wrong_usage(project: Project, more: tuple[str, ...]) -> None:
    result = project.run("diff", "--html", *more)
    assert (result.code, "usage" in result.err + result.out) == (2, True)


# What a package says


def test_no_markup_of_a_package_counts() -> None:
    evil = "</code></main><script>alert(1)</script><img src=x onerror=alert(1)>'\"&lt;{{ 7*7 }}"
    change = replace(CHANGE, provider=f"gem:{evil}", version=evil, lost=(evil,), carried=(evil,))
    file = FileDifference(path=f'"><script>{evil}', old=version(f"a {evil}\n"), new=version(f"b {evil}\n"))
    found = page_of(SkillDifference(change=change, files=(file,), target=f"{evil}"))
    plain = page_of(SkillDifference(change=CHANGE, files=(replace(file, path="x"),), target="x"))
    tags = [tag for tag, _ in Parsed(found).tags]
    assert "img" not in tags
    assert tags.count("script") == 1
    assert set(tags) == {tag for tag, _ in Parsed(plain).tags}
    assert codes(found, "new") == [f"b {evil}"]


def test_the_page_is_ascii_and_the_same_each_time() -> None:
    assert shown("ä\n", "ö €\n").isascii()
    assert shown("ä\n", "ö €\n") == shown("ä\n", "ö €\n")
    assert codes(shown("ä\n", "ö €\n"), "new") == ["ö €"]


def test_the_policy_admits_what_is_here_alone() -> None:
    found = Parsed(shown("a\n", "b\n"))
    policy = next(attributes["content"] or "" for tag, attributes in found.tags if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not [attributes for _, attributes in found.tags if {"src", "style", "onclick", "action"} & attributes.keys()]
    assert all((attributes["href"] or "").startswith("#") for tag, attributes in found.tags if tag == "a")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\u202eb", "aU+202Eb"),
        ("a\u200b\u200bb\u200b", "aU+200B ×2bU+200B"),  # noqa: RUF001  # as it is shown
        ("\U000e0048\U000e0069", "U+E0048 HU+E0069 i"),
        ("end\r", "endU+000D"),
        ("\x1b[2J\x00"[:4], "U+001B[2J"),
        ("no\u00a0break\u3164", "noU+00A0breakU+3164"),
        ("\ufeffbom", "U+FEFFbom"),
    ],
)
def test_what_can_t_be_seen_is_shown_by_its_code_point(text: str, said: str) -> None:
    found = shown("", f"{text}\n", "a.txt")
    assert codes(found, "new") == [said]
    assert not any(ord(character) > 126 or (ord(character) < 32 and character != "\n") for character in found)
    name = shown("", "x\n", f"a{text}")
    assert said in Parsed(name).texts("h3")[0]


def test_what_can_t_be_seen_is_named_for_the_file() -> None:
    notes = Parsed(shown("", "a\u202e\u202e\tb\n")).texts("note")
    assert notes == ["characters that can't be seen: U+202E RIGHT-TO-LEFT OVERRIDE (2)"]
    notes = Parsed(shown("", "\x01\x02\x03\x04\x05\x06\n")).texts("note")
    assert notes[0].endswith("U+0005  (1), and 1 more kind")
    assert Parsed(shown("", "a\tb\r\n")).texts("note") == []


def test_tabs_and_blanks_at_the_end_are_marked() -> None:
    found = Parsed(shown("", "\ta b \t\n", "a"))
    assert found.texts("new", "code", "tab") == ["\t", "\t"]
    assert "".join(found.texts("new", "code", "blank")) == " \t"


# Lines


def test_both_sides_are_shown_with_the_words_that_differ() -> None:
    found = Parsed(shown("write the test first\nb\n", "write the test last\nb\nc"))
    assert found.texts("change", "old", "code") == ["write the test first"]
    assert found.texts("change", "new", "code") == ["write the test last", "cno newline at end of file"]
    assert found.texts("equal", "old", "code") == found.texts("equal", "new", "code") == ["b"]
    assert (found.texts("old", "word"), found.texts("new", "word")) == (["first"], ["last"])
    assert found.texts("new", "number") == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("alpha\n", "other words\n"),
        ("a " * 600 + "\n", "a " * 600 + "b\n"),
        ("".join(f"one {n}\n" for n in range(300)), "".join(f"one {n}.\n" for n in range(300))),
    ],
    ids=["too little in common", "too long", "too many"],
)
def test_words_are_compared_where_that_says_something(old: str, new: str) -> None:
    assert Parsed(shown(old, new)).texts("word") == []


def test_what_is_unchanged_is_folded_but_for_what_is_near() -> None:
    old = "".join(f"{number}\n" for number in range(1, 31))
    found = Parsed(shown(old, old.replace("\n3\n", "\nthree\n").replace("\n25\n", "\ntwo\n")))
    assert [text.strip().partition("\n")[0] for text in found.texts("fold", "summary")] == ["15 unchanged lines"]
    assert found.texts("fold", "new", "number") == [str(number) for number in range(7, 22)]
    assert found.texts("fold", "old", "code") == found.texts("fold", "new", "code")


def test_a_link_in_unchanged_text_is_not_folded() -> None:
    old = "".join(f"{number}\n" for number in range(40)) + "\n[x](../y)\n" + "z\n" * 20
    found = shown(old, f"new\n{old}")
    assert "43" in Parsed(found).texts("equal", "new", "number")
    assert "43" not in Parsed(found).texts("fold", "new", "number")
    assert 'href="#s1-1-43"' in found
    assert 'id="s1-1-43"' in found


def test_what_deserves_a_look_is_marked_where_it_stands() -> None:
    head = "---\nname: x\nallowed-tools:\n  - Bash\n\ndescription: d\n---\n"
    found = shown(
        "---\nname: x\n---\nhttps://old.example\n", f"{head}https://old.example https://new.example/\n[x](../y)"
    )
    parsed = Parsed(found)
    assert parsed.texts("new", "code", "allowed-tools") == [
        "allowed-tools:",
        "allowed-tools",
        "  - Bash",
        "allowed-tools",
    ]
    assert parsed.texts("new", "code", "new-host") == ["new.example", "new-host"]
    assert parsed.texts("new", "code", "link-out") == ["../y", "link-out"]
    links = [attributes["href"] for tag, attributes in parsed.tags if tag == "a"]
    assert links == ["#s1", "#s1-1-3", "#s1-1-8", "#s1-1-9"]
    script = Parsed(shown("a\n", "#!/bin/sh\n", "run", is_script=True))
    assert script.texts("new", "code", "script") == ["#!/bin/sh", "script"]
    plain = shown("a\n", "b\n", "scripts/x", is_script=True)
    assert 'href="#s1-1"' in plain
    assert Parsed(plain).texts("new", "code", "script") == []


def test_what_is_gone_leads_to_the_file_and_a_target_in_brackets_is_found() -> None:
    gone = shown("---\nallowed-tools: Bash\n---\n", "---\nname: x\n")
    assert 'href="#s1-1"' in gone
    encoded = Parsed(shown("", "[x](<../a b>)\n"))
    assert encoded.texts("new", "code", "link-out") == ["../a b", "link-out"]


# What is no text, and what is too long


def test_what_is_no_text_is_told_by_what_it_is() -> None:
    found = Parsed(shown(b"\0", b"\0\0", "b"))
    assert [note.partition(", blake3")[0] for note in found.texts("note")] == [
        "before: not compared line by line: 1 bytes",
        "after: not compared line by line: 2 bytes",
    ]
    known = FileDifference(path="x", old=Version(entry=File("blake3:0")), new=version("text\n"))
    found = Parsed(page_of(SkillDifference(change=CHANGE, files=(known,))))
    assert found.texts("note") == ["before: its text is not here: blake3:0"]
    assert found.texts("new", "code") == ["text"]
    assert Parsed(shown(None, "")).texts("note") == ["an empty file"]


def test_what_is_not_in_the_files_is_said() -> None:
    change = replace(CHANGE, action=Action.REMOVE, carried=("mine",), lost=("theirs",))
    found = Parsed(page_of(SkillDifference(change=change, files=(), target="t", refusal=Code.MODIFIED)))
    assert found.texts("note") == [
        "mine stays as it is",
        "theirs goes too, which skillsync did not write",
        "no file differs",
    ]
    assert found.texts("nav", "refused") == ["needs --force"]


def test_a_file_that_is_too_long_is_cut_off() -> None:
    found = shown(None, "x\n" * 21_000, "long")
    assert found.count("<code>x</code>") == 20_000
    assert "Cut off here: more than 20,000 lines. `skillsync diff x` shows all." in found
    assert '<span class="said">90 more characters</span>' in shown(None, "x" * 10_090 + "\n", "wide")


def test_a_page_that_is_too_large_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "_MOST", 400_000)
    file = FileDifference(path="x", old=None, new=version("\u200b\u200c" * 1000 + "\n"))
    found = page_of(*(SkillDifference(change=CHANGE, files=(file, file)) for _ in range(3)))
    assert found.count('<code><span class="hidden">') == 1
    assert found.count("Cut off here: more than a page can hold.") == 5
    assert len(found) < 2 * 400_000


def test_skills_are_counted_by_what_is_done() -> None:
    actions = (Action.ADD, Action.UPDATE, Action.ADD)
    skills = [SkillDifference(change=replace(CHANGE, action=action), files=()) for action in actions]
    found = Parsed(page_of(*skills)).texts("header", "p")
    assert found == ["2 skills added, 1 skill updated", "0 files: 0 lines added, 0 removed"]
