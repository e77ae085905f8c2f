from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import gems
import pytest
from builders import lay
from hypothesis import given
from hypothesis import strategies as st
from tools import need

from skillsync.syncing.gitignore import updated

if TYPE_CHECKING:
    from pathlib import Path

OWN = "# skillsync\n/.agent-skills.yaml\n/.gitignore\n/.skillsync/\n"
BLOCK = f"{OWN}/a/\n/b/\n# skillsync end\n"


def on(text: str, *owned: str) -> str:
    return updated(text, owned, enabled=True)


def off(text: str) -> str:
    return updated(text, ("a",), enabled=False)


def test_the_block_has_the_owned_skills_and_skillsyncs_own_files() -> None:
    assert on("", "a", "b") == BLOCK
    assert on("") == f"{OWN}# skillsync end\n"


def test_a_block_that_is_right_stays() -> None:
    assert on(BLOCK, "a", "b") == BLOCK


def test_a_block_that_differs_is_put_right_where_it_is() -> None:
    text = f"*.log\n\n{BLOCK}\n/mine/\n"
    assert on(text, "c") == f"*.log\n\n{OWN}/c/\n# skillsync end\n\n/mine/\n"


@pytest.mark.parametrize(
    "text",
    [
        "*.log\n",
        "a\r\nb\r\n",
        "\n\n",
        "# skillsync ends\n",
        " # skillsync\n",
        "é\udcff\n",
        "a\u2028# skillsync\u2028/x\n",
    ],
)
def test_lines_outside_the_block_stay_byte_for_byte(text: str) -> None:
    assert on(text, "a", "b") == text + BLOCK
    assert on(BLOCK + text, "a", "b") == BLOCK + text
    assert off(text) == text
    assert off(text + BLOCK + text) == text + text


def test_a_last_line_without_its_end_gets_one_before_the_block() -> None:
    assert on("*.log", "a", "b") == f"*.log\n{BLOCK}"
    assert on(f"{BLOCK}*.log", "a", "b") == f"{BLOCK}*.log"


def test_without_the_block_nothing_is_left_of_it() -> None:
    assert off(BLOCK) == ""
    assert off("") == ""
    assert off(f"*.log\n{BLOCK}/mine/") == "*.log\n/mine/"


def test_a_block_with_other_line_ends_is_the_block() -> None:
    text = f"*.log\n{BLOCK}/mine/\n".replace("\n", "\r\n")
    assert on(text, "a") == f"*.log\r\n{OWN}/a/\n# skillsync end\n/mine/\r\n"
    assert off(text) == "*.log\r\n/mine/\r\n"


def test_a_block_whose_end_was_lost_ends_with_its_entries() -> None:
    assert on(f"{OWN}/a/\n*.log\n/mine/\n", "b") == f"{OWN}/b/\n# skillsync end\n*.log\n/mine/\n"
    assert off(f"{OWN}/a/") == ""


def test_what_somebody_wrote_into_the_block_stays_after_it() -> None:
    assert on(f"{OWN}/a/\n!mine\n# skillsync end\n", "a").startswith(f"{OWN}/a/\n# skillsync end\n!mine\n")


def test_a_second_block_is_joined_with_the_first() -> None:
    assert on(f"x\n{BLOCK}y\n{BLOCK}z\n", "a", "b") == f"x\n{BLOCK}y\nz\n"
    assert off(f"x\n{BLOCK}y\n{BLOCK}z\n") == "x\ny\nz\n"


LINES = st.lists(
    st.sampled_from([*BLOCK.splitlines(keepends=True), "x\n", "/mine/\n", "\n", "y\r\n", "# skillsync\r\n"])
)


@given(LINES, st.sampled_from(["", "x", "# skillsync", "/a/", "# skillsync end"]))
def test_putting_the_block_right_twice_is_once(lines: list[str], last: str) -> None:
    once = on("".join(lines) + last, "a", "c")
    assert on(once, "a", "c") == once
    assert once.count("# skillsync\n") == 1
    assert on(off(once), "a", "c").count("# skillsync\n") == 1


@given(LINES)
def test_nothing_of_the_users_is_lost(lines: list[str]) -> None:
    def users(text: str) -> list[str]:
        return [line for line in text.splitlines() if line in {"x", ""} or line == "y"]

    text = "".join(lines)
    assert users(on(text, "a")) == users(text)
    assert users(off(text)) == users(text)


def test_git_ignores_what_is_owned_and_keeps_what_is_project_authored_trackable(tmp_path: Path) -> None:
    need("git")
    target = lay(
        tmp_path / ".agents/skills",
        {
            ".agent-skills.yaml": "",
            ".skillsync/journal": "",
            ".gitignore": on("", "owned"),
            "owned/SKILL.md": "",
            "mine/SKILL.md": "",
            "mine/owned/x": "",
        },
    )
    environ = gems.ruby_environ(tmp_path / "home")
    subprocess.run(("git", "init", "--quiet"), cwd=tmp_path, env=environ, check=True)
    listed = gems.run(("git", "ls-files", "--others", "--exclude-standard", "--", str(target)), tmp_path, environ)
    assert listed.split() == [".agents/skills/mine/SKILL.md", ".agents/skills/mine/owned/x"]
