from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from projects import Project
from tools import need

from skillsync.cli import arguments
from skillsync.cli.examples import EXAMPLES, TOPICS
from skillsync.cli.help import topic

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = {name: arguments.command(name) for name in arguments.COMMANDS}


@pytest.fixture
def page(tmp_path: Path) -> str:
    return Project(tmp_path / "nowhere").done("help", "--man").out


@pytest.fixture
def shown(page: str) -> str:
    """The page as a terminal shows it, on one long line for each paragraph; a complaint of groff's is a failure."""
    need("groff")
    command = ("groff", "-man", "-ww", "-Tascii", "-P-c", "-P-b", "-P-o", "-P-u", "-rLL=500n", "-rHY=0")
    done = subprocess.run(command, input=page, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_the_page_has_every_command_with_its_options_and_examples(shown: str) -> None:
    for name, command in COMMANDS.items():
        assert f"   {name}\n" in shown
        assert str(command.description) in shown
        assert all(example in shown for example, _ in EXAMPLES[name])
    options = {option for command in COMMANDS.values() for option in command._option_string_actions}  # noqa: SLF001
    assert {one for one in options if one not in {"--names", "-h", "--help"}} <= set(re.findall(r"--[a-z-]+", shown))


@pytest.mark.parametrize("name", TOPICS)
def test_the_page_has_every_topic_as_it_is_typed(shown: str, name: str) -> None:
    lines = shown.splitlines()
    assert [line for line in topic(name).splitlines() if line not in lines] == []


def test_what_all_commands_take_is_there_once(shown: str) -> None:
    assert shown.count("the project's root (default: found from here upward)") == 1


def test_the_page_is_the_same_however_wide_the_terminal_is(page: str, tmp_path: Path) -> None:
    result = Project(tmp_path / "app").process("help", "--man", environ={"COLUMNS": "40"})
    assert (result.code, result.out) == (0, page)
