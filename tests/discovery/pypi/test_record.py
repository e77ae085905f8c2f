from __future__ import annotations

import hashlib

import pytest
import wheels
from hypothesis import given
from hypothesis import strategies as st

from skillsync.discovery.pypi import record


def test_rows_inside_are_kept_with_their_hash() -> None:
    text = wheels.record_text(
        {"a/skills/x/SKILL.md": "one", "a/skills/x/a,b.md": "two", 'a/q"uote.md': "three", "a/é.md": "four"},
        [("a/__pycache__/m.cpython-311.pyc", "", ""), ("a-1.0.dist-info/RECORD", "", "")],
    )
    assert record.parse(text) == {
        "a/skills/x/SKILL.md": wheels.digest("one"),
        "a/skills/x/a,b.md": wheels.digest("two"),
        'a/q"uote.md': wheels.digest("three"),
        "a/é.md": wheels.digest("four"),
        "a/__pycache__/m.cpython-311.pyc": "",
        "a-1.0.dist-info/RECORD": "",
    }


@pytest.mark.parametrize(
    "path",
    [
        "../../../skills/n/SKILL.md",
        "/etc/passwd",
        "a/../../b/SKILL.md",
        "a/./b",
        "a//b",
        "a/b/",
        "..",
        "",
        "nul\0/skills/x/SKILL.md",
    ],
)
def test_rows_that_lead_elsewhere_are_passed_over(path: str) -> None:
    assert record.parse(wheels.record_text({}, [(path, "", ""), ("kept.py", "", "")])) == {"kept.py": ""}


@pytest.mark.parametrize(
    "digest",
    [
        "",
        "sha256=",
        "sha256=short",
        "md5=XrY7u-Ae7tCTyyK7j1rNww",
        "sha512=" + "A" * 86,
        "sha256=é",
        "sha256=A",
        "nonsense",
    ],
)
def test_what_is_no_sha256_is_no_hash(digest: str) -> None:
    assert record.sha256(digest) == ""


def test_a_hash_is_told_in_hexadecimal() -> None:
    assert record.sha256(wheels.digest("text")) == hashlib.sha256(b"text").hexdigest()


def test_rows_of_other_lengths_and_line_ends() -> None:
    assert record.parse("a.py\r\n\r\nb.py,,\nc.py,,,,\n") == {"a.py": "", "b.py": "", "c.py": ""}


@pytest.mark.parametrize("text", ['"a/b.py,,\n', '"a"b,,\n', "x" * 200_000 + ",,\n"])
def test_what_is_no_record_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="comma-separated"):
        record.parse(text)


@given(st.text())
def test_no_text_leads_outside(text: str) -> None:
    try:
        files = record.parse(text)
    except ValueError:
        return
    for path in files:
        assert not path.startswith("/")
        assert not {"", ".", ".."} & set(path.split("/"))


def test_most_records_need_no_parsing() -> None:
    assert not record.concerns_skills(b"a/__init__.py,sha256=x,1\na/b.py,,\n")
    assert record.concerns_skills(b'"a/skills/x,y/README",,\n')
    assert record.concerns_skills(b"a/Skill.MD,,\n")


def test_the_directories_at_the_top() -> None:
    content = (
        b'a/x.py,,\n"b/x,y.py",,\na/z.py,,\nc.py,,\n../../bin/d,,\na-1.0.dist-info/RECORD,,\n__pycache__/c.pyc,,\n'
    )
    assert record.top_level(content) == ("a", "b")


@pytest.mark.parametrize(
    ("files", "places"),
    [
        (["a/__init__.py", "a/.agents/skills/x/SKILL.md"], ["a/.agents/skills"]),
        (["a/__init__.py", "a/skills/x/SKILL.md", "a/.agents/skills/y/SKILL.md"], ["a/.agents/skills", "a/skills"]),
        # An import package needs no code of its own.
        (["a/skills/x/SKILL.md"], ["a/skills"]),
        # What is in a regular package is no import package of its own here.
        (["a/__init__.py", "a/_server/ai/skills/x/SKILL.md"], []),
        (["a/__init__.py", "a/.agents/meta/SKILL.md", "a/.agents/README.md"], []),
        # A portion of a namespace is one, however deep.
        (["ns/a/__init__.py", "ns/a/skills/x/SKILL.md"], ["ns/a/skills"]),
        (["ns/b/c/__init__.py", "ns/b/c/.agents/skills/x/SKILL.md"], ["ns/b/c/.agents/skills"]),
        (["ns/skills/x/SKILL.md"], ["ns/skills"]),
        (["ns/__init__.pyi", "ns/a/skills/x/SKILL.md"], []),
        # The top of site-packages itself is no import package.
        (["skills/x/SKILL.md"], []),
        ([".agents/skills/x/SKILL.md"], []),
        (["skills/skills/x/SKILL.md"], ["skills/skills"]),
        # A SKILL.md at the package's own top hides nothing.
        (["a/SKILL.md", "a/__init__.py", "a/skills/x/SKILL.md"], ["a/skills"]),
        (["ns/SKILL.md", "ns/a/SKILL.md", "ns/a/skills/x/SKILL.md"], ["ns/a/skills"]),
        # Nothing in a skill is a skills directory.
        (["a/skills/x/SKILL.md", "a/skills/x/skills/y/SKILL.md"], ["a/skills"]),
        (["skills/x/SKILL.md", "skills/x/skills/y/SKILL.md"], []),
        (["a/.agents/skills/x/skills/y/SKILL.md"], ["a/.agents/skills"]),
        # A file where a directory should be; a directory without a skill still is one where skills may be.
        (["a/skills", "a/.agents/skills"], []),
        (["a/skills/CREDITS.md"], ["a/skills"]),
        # Names that can't be imported.
        (["a-stubs/skills/x/SKILL.md", "a.libs/skills/x/SKILL.md", "ns/a-b/skills/x/SKILL.md", "1a/skills/x/S"], []),
        (["a/Skills/x/SKILL.md"], []),
    ],
)
def test_places(files: list[str], places: list[str]) -> None:
    assert list(record.places(files)) == places
    assert list(record.places(reversed(files))) == places


def test_deep_paths_are_passed_over() -> None:
    deep = "/".join(["a"] * 50_000)
    near = "/".join(["a"] * 90)
    files = record.parse(f"{deep}/skills/x/SKILL.md,,\n{near}/skills/x/SKILL.md,,\n")
    assert record.places(files) == (f"{near}/skills",)


def test_skill_directories_of_any_case() -> None:
    files = ["a/skills/x/SKILL.md", "b/skill.md", "SKILL.md", "c/notSKILL.md", "d/SKILL.md/e"]
    assert record.skill_directories(files) == {"a/skills/x", "b"}
