from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING

import pytest
from artifacts import gem, packed, write
from hypothesis import given
from hypothesis import strategies as st
from projects import Project, skill

from skillsync import filesystem
from skillsync.checking.mending import mended
from skillsync.checking.repair import repair
from skillsync.discovery.skill import about, parse, value
from skillsync.hashing import SKILL_FILE

if TYPE_CHECKING:
    from pathlib import Path

    from projects import Result

    from skillsync.checking.offer import Offer

PLACE = "skills/kelp-forms"
GOOD = {"kelp.gemspec": 's.name = "kelp"\n', f"{PLACE}/SKILL.md": skill("kelp-forms")}


def front(line: str, more: str = "") -> bytes:
    return f"---\nname: x\n{line}\n{more}---\nText\n".encode()


def description(content: bytes) -> str:
    found = parse(content, about("", "x", SKILL_FILE))
    assert not [one for one in found.problems if one.is_error]
    return found.description


@pytest.mark.parametrize(
    "text",
    [
        "Sets up work: goals first.",
        'Say "a": b',
        "a\\b: c",
        "ends with a colon:",
        "`code` at the start",
        "@scope: x",
        "%a: b",
        "é: \U0001f600",
        "a: b -- [c] {d} 'e'",
    ],
)
@pytest.mark.parametrize("more", ["", "license: MIT\n", "# comment\n"])
def test_a_description_is_put_into_quotes_and_says_what_stands_there(text: str, more: str) -> None:
    found = mended("x", SKILL_FILE, front(f"description: {text}  ", more))
    assert found is not None
    assert found.what == ("quotes",)
    assert description(found.content) == text
    assert value(found.content, "name") == "x"
    assert mended("x", SKILL_FILE, found.content) is None


@pytest.mark.parametrize(
    "content",
    [
        front("description: a: b # perhaps a comment"),
        front("description: a: b\t# likewise"),
        front("description: a: b", "  goes on\n"),
        front("description: a: b", "\n  goes on\n"),
        front("description: a: b", "license: c: d\n"),
        front("description: a: b", "description: twice\n"),
        front("description: 'a': b"),
        front("description: [a: b"),
        front("description: |", "  a: b\n c\n"),
        front("license: a: b"),
        front("description:"),
        front("description: null"),
        front("description: ~"),
        front("description: fine"),
        b"---\nname: y\ndescription: a: b\n---\n",
        b"---\ndescription: a: b\n---\n",
        b"---\nname: x\ndescription: a: b\n",
        b"no frontmatter\n",
        front("description: a: b").replace(b"a: b", b"a\rb: c"),
        front("description: a: b").decode().encode("utf-16"),
        b"---\nname: x\ndescription: a: \0b\n---\n",
        b"",
    ],
)
def test_what_may_be_meant_otherwise_is_left_alone(content: bytes) -> None:
    assert mended("x", SKILL_FILE, content) is None


@pytest.mark.parametrize(
    ("path", "old", "new", "what"),
    [
        ("a.md", b"a\r\nb\r\n", b"a\nb\n", ("line ends",)),
        ("a.md", b"a\r\nb", b"a\nb\n", ("line ends", "newline at the end")),
        ("run", b"#!/bin/sh\r\n", b"#!/bin/sh\n", ("line ends",)),
        ("a.md", b"a\r\nb\nc\r\n", b"a\nb\nc\n", ("line ends",)),
        (SKILL_FILE, b"\xef\xbb\xbf---\r\nname: x\r\ndescription: a\r\n---", None, ("line ends", "newline at the end")),
        (SKILL_FILE, front("description: a: b").replace(b"\n", b"\r\n"), None, ("line ends", "quotes")),
    ],
)
def test_ends_of_lines_and_of_the_file(path: str, old: bytes, new: bytes | None, what: tuple[str, ...]) -> None:
    found = mended("x", path, old)
    assert found is not None
    assert found.what == what
    if new is None:
        assert description(found.content) in {"a", "a: b"}
    else:
        assert found.content == new


@pytest.mark.parametrize(
    "content",
    [b"a\rb\r\n", b"a\r", b"\xff\r\n", b"a\0\r\n", b"a\n", b"", b"a" * (1024 * 1024)],
    ids=["own CR", "CR at the end", "no UTF-8", "NUL", "fine", "empty", "large"],
)
def test_a_text_that_is_none_or_fine_is_left_alone(content: bytes) -> None:
    assert mended("x", "a.md", content) is None


def test_where_the_ends_of_lines_are_in_the_meaning_the_text_is_left_alone() -> None:
    # A frontmatter that is too large by its CRs alone would be another one without them.
    body = "# " + "x" * 60
    content = ("---\r\nname: x\r\ndescription: a\r\n" + f"{body}\r\n" * 1030 + "---\r\n").encode()
    assert parse(content, about("", "x", SKILL_FILE)).problems
    assert not parse(content.replace(b"\r\n", b"\n"), about("", "x", SKILL_FILE)).problems
    assert mended("x", SKILL_FILE, content) is None


FRONT = ("---", "name: x", "name: y", "description: a", "description: a: b", "description: >-", "  more", "# c")
ODD = (
    "\t",
    "a: b: c",
    "description: 'a",
    'description: "a: b"',
    "description: a #b",
    "\ufeff",
    "\u2028",
    "- a",
    "",
    "x: [",
)
PIECES = st.sampled_from((*FRONT, *ODD, "..."))
ENDS = st.sampled_from(["\n", "\r\n", "\r", ""])


@given(pieces=st.lists(PIECES, max_size=8), ends=st.lists(ENDS, min_size=8, max_size=8))
def test_whatever_a_text_is_its_meaning_stays(pieces: list[str], ends: list[str]) -> None:
    text = "---\n" + "".join(piece + end for piece, end in zip(pieces, ends, strict=False))
    content = text.encode()
    found = mended("x", SKILL_FILE, content)
    if found is None:
        return
    assert mended("x", SKILL_FILE, found.content) is None
    before, after = (parse(one, about("", "x", SKILL_FILE)) for one in (content, found.content))
    if "quotes" in found.what:
        # Nothing could be read before; the description is a whole line's rest, as it stands there.
        assert not value(content, "name")
        assert f"description: {after.description}" in text.replace("\r\n", "\n").split("\n")
        assert not [one for one in after.problems if one.is_error]
    else:
        assert before == after
        assert value(content, "description") == value(found.content, "description")
        assert value(content, "name") == value(found.content, "name")


# On disk


def fix(project: Project, *arguments: str) -> Result:
    return project.run("check", ".", "--fix", *arguments)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    files = {
        f"{PLACE}/SKILL.md": "---\nname: kelp-forms\ndescription: Forms: all of them.\n---\nText",
        f"{PLACE}/run": "#!/bin/sh\r\n",
        f"{PLACE}/good": "#!/bin/sh\n",
        f"{PLACE}/data.bin": "a\r\nb",
        "README.md": "outside\r\n",
    }
    project = Project(tmp_path / "kelp").write({**GOOD, **files})
    (project.root / PLACE / "run").chmod(0o750)
    return project


def test_a_tree_is_mended_and_the_diff_shown(project: Project) -> None:
    result = fix(project)
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        f"fixed {PLACE}/SKILL.md: newline at the end, quotes\n--- a/{PLACE}/SKILL.md\n+++ b/{PLACE}/SKILL.md\n"
        "@@ -1,5 +1,5 @@\n ---\n name: kelp-forms\n-description: Forms: all of them.\n"
        '+description: "Forms: all of them."\n ---\n-Text\n\\ No newline at end of file\n+Text\n'
        f"fixed {PLACE}/good: executable bit\n"
        f"fixed {PLACE}/run: line ends\n--- a/{PLACE}/run\n+++ b/{PLACE}/run\n"
        "@@ -1 +1 @@\n-#!/bin/sh\\x0d\n+#!/bin/sh\n"
        f"read gem:kelp: . (1 skill)\nok: {PLACE} (4 files)\nok: checked 1 skill, 4 files, 1 tree, 0 artifacts\n"
    )
    modes = {name: stat.S_IMODE((project.root / PLACE / name).stat().st_mode) for name in ("run", "good", "SKILL.md")}
    assert modes == {"run": 0o750, "good": 0o755, "SKILL.md": 0o644}
    assert project.read(f"{PLACE}/data.bin") == "a\r\nb".replace("\r\n", "\n")  # text mode reads it so
    assert (project.root / PLACE / "data.bin").read_bytes() == b"a\r\nb"
    assert (project.root / "README.md").read_bytes() == b"outside\r\n"


def test_a_second_run_has_nothing_to_do(project: Project) -> None:
    assert fix(project, "--format", "json").json["fixed"] == [
        {"source": ".", "path": f"{PLACE}/SKILL.md", "what": ["newline at the end", "quotes"]},
        {"source": ".", "path": f"{PLACE}/good", "what": ["executable bit"]},
        {"source": ".", "path": f"{PLACE}/run", "what": ["line ends"]},
    ]
    before = project.tree
    assert fix(project, "--format", "json").json["fixed"] == []
    assert project.tree == before


def test_packages_of_one_tree_are_mended_once(project: Project) -> None:
    project.write({"package.json": '{"name": "kelp"}'})
    assert len(fix(project, "--format", "json").json["fixed"]) == 3


def test_what_can_not_be_mended_is_still_said(project: Project) -> None:
    project.write({f"{PLACE}/SKILL.md": "---\nname: kelp-forms\ndescription: a: b # c\n---\n"})
    (project.root / "skills/kelp-linked").symlink_to("kelp-forms")
    result = fix(project, "--format", "json")
    assert (result.code, result.codes) == (1, ["invalid-skill", "invalid-skill"])
    assert project.read(f"{PLACE}/SKILL.md").startswith("---\nname: kelp-forms\ndescription: a: b # c")


def test_a_file_that_has_changed_meanwhile_is_left_alone(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    read = filesystem.read_file

    def changing(path: str, limit: int, *, dir_fd: int | None = None, follow: bool = False) -> bytes | None:
        found = read(path, limit, dir_fd=dir_fd, follow=follow)
        return found and found + b"more" if path == "SKILL.md" else found

    monkeypatch.setattr(filesystem, "read_file", changing)
    before = project.read(f"{PLACE}/SKILL.md")
    fix(project)
    assert project.read(f"{PLACE}/SKILL.md") == before


def test_what_the_system_refuses_is_said_and_the_rest_goes_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = filesystem.rename

    def refusing(name: str, new: str, *, from_fd: int, to_fd: int) -> None:
        if new == "SKILL.md":
            raise PermissionError(13, "Permission denied")
        rename(name, new, from_fd=from_fd, to_fd=to_fd)

    monkeypatch.setattr(filesystem, "rename", refusing)
    before = project.read(f"{PLACE}/SKILL.md")
    result = fix(project, "--format", "json")
    assert (result.code, result.codes[0]) == (4, "io")
    assert f"{PLACE}/SKILL.md can't be mended: Permission denied" in result.json["problems"][0]["message"]
    assert len(result.json["fixed"]) == 2
    assert project.read(f"{PLACE}/SKILL.md") == before
    assert sorted(os.listdir(project.root / PLACE)) == ["SKILL.md", "data.bin", "good", "run"]


def test_where_what_was_mended_can_not_be_read_again_it_says_that_it_was_mended(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtaken(offers: list[Offer]) -> object:
        done = repair(offers)
        shutil.rmtree(project.root / "skills")
        (project.root / "kelp.gemspec").unlink()
        return done

    monkeypatch.setattr("skillsync.cli.check.repair", overtaken)
    result = fix(project, "--format", "json")
    assert (result.code, result.codes) == (4, ["io"])
    assert result.json["problems"][0]["message"].startswith("3 files mended, and what is there can't be read again: ")


def test_an_artifact_is_never_changed(project: Project) -> None:
    content = gem(packed({f"{PLACE}/SKILL.md": "---\nname: kelp-forms\ndescription: a: b\n---\n"}))
    write(project.root / "kelp.gem", content)
    fix(project, "kelp.gem")
    assert (project.root / "kelp.gem").read_bytes() == content
    result = project.run("check", "kelp.gem", "--fix", "--format", "json")
    assert (result.code, result.codes) == (2, ["usage"])
