from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest
from projects import Project

from skillsync.cli import arguments
from skillsync.cli.examples import EXAMPLES, TOPICS
from skillsync.cli.help import topic
from skillsync.discovery import ECOSYSTEMS
from skillsync.errors import Code, ExitCode, SkillsyncError
from skillsync.locking import manifest

ROOT = Path(__file__).parents[2]
COMMANDS = {name: arguments.command(name) for name in arguments.COMMANDS}
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
REFERENCE = (ROOT / "docs/commands.md").read_text()
# What every command has, and what the first table of the reference tells of.
COMMON = {"--help", "--project", "--python", "--format", "--quiet", "--verbose", "--allow-outside"}
_SPAN = re.compile(r"`(skillsync [^`]+)`")
_BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_OUTPUT = re.compile(r"^```(?:text|console)\n.*?^```\n", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"""(?:^|(?<=[\s"(])|(?<=bin/))skillsync ((?:"[^"\n]*"|[^#;&|>"\n)])*)""", re.MULTILINE)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "nowhere")


def spans(text: str) -> list[list[str]]:
    """The commands in backquotes, without the forms of usage that have brackets and dots."""
    return [span.split(maxsplit=1) for span in _SPAN.findall(text) if not re.search(r"[\[…|]", span)]


def lines(text: str) -> list[str]:
    """The commands in lines that are for a shell: what comes behind `skillsync`."""
    # A line of a picture is for nobody to type.
    shell = re.sub(r"(^|\s)#.*|^.*[─│].*", "", re.sub(_SPAN, "", text), flags=re.MULTILINE)
    return [line.strip() for line in _LINE.findall(shell) if line.strip()]


def examples(path: Path) -> list[str]:
    text = _OUTPUT.sub("", path.read_text())  # held where it is run
    if path.suffix == ".md":
        return [*(words[1] for words in spans(text)), *lines("".join(_BLOCK.findall(text)))]
    return [*(words[1] for words in spans(text)), *lines("".join(re.findall(r"^    .*\n", text, re.MULTILINE)))]


def assert_can_be_typed(example: str) -> None:
    words = shlex.split(example)
    if words in [[name] for name in COMMANDS]:
        return  # a command's name in a sentence: `skillsync deny`
    arguments.parse(words)


# What is shown can be typed


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_what_the_documents_show_can_be_typed(path: Path) -> None:
    for example in examples(path):
        assert_can_be_typed(example)


def test_examples_are_found_in_the_documents() -> None:
    found = {path.name: set(examples(path)) for path in DOCUMENTS}
    assert {"lock --only pypi:fastapi", "diff", 'allow pypi:fastapi --version ">=0.115"'} <= found["README.md"]
    assert {"verify", "sync", "verify --scope installed"} <= found["ci.md"]
    assert "deny gem:beta --skill testing" in found["conflicts.md"]


@pytest.mark.parametrize("example", ["sync --fast", "nix", "diff --stat --html FILE", "help lock sync"])
def test_what_can_not_be_typed_is_found(example: str) -> None:
    with pytest.raises(SkillsyncError):
        assert_can_be_typed(example)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_ends_with_examples_of_it(name: str) -> None:
    shown = lines(COMMANDS[name].format_help().partition("\nexamples:\n")[2])
    assert 2 <= len(shown) <= 4
    for example in shown:
        assert shlex.split(example)[0] == name
        arguments.parse(shlex.split(example))


def test_examples_are_for_commands_that_there_are_and_fit_a_terminal() -> None:
    assert list(EXAMPLES) == list(COMMANDS)
    for command in COMMANDS.values():
        assert command.epilog
        assert all(len(line) <= 80 for line in command.epilog.splitlines())


# The reference has every option, and none that there isn't


def options(command: argparse.ArgumentParser) -> set[str]:
    shown = [action for action in command._actions if action.help != argparse.SUPPRESS]  # noqa: SLF001
    return {text for action in shown for text in action.option_strings if text.startswith("--")}


def section(name: str) -> str:
    """The reference's section about a command."""
    parts = re.split(r"^## ", REFERENCE, flags=re.MULTILINE)
    (found,) = (part for part in parts if re.search(rf"(^|, ){name}\b", part.splitlines()[0]))
    return found


def named(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def test_the_reference_names_no_option_that_there_is_not() -> None:
    assert named(REFERENCE) <= {"--help", *(option for command in COMMANDS.values() for option in options(command))}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reference_names_every_option_where_it_tells_of_the_command(name: str) -> None:
    assert options(COMMANDS[name]) - COMMON <= named(section(name))


def test_the_reference_names_what_all_commands_take() -> None:
    assert COMMON - {"--help"} <= named(REFERENCE.partition("\n## ")[0])


# skillsync help


@pytest.mark.parametrize("name", COMMANDS)
def test_help_on_a_command_is_what_the_command_says(project: Project, name: str) -> None:
    assert project.done("help", name).out.startswith(project.run(name, "--help").out)


@pytest.mark.parametrize("name", TOPICS)
def test_help_on_a_topic_is_its_text_outside_of_a_project_too(project: Project, name: str) -> None:
    result = project.done("help", name)
    assert result.out.endswith(topic(name))
    assert ("usage: " in result.out) == (name in COMMANDS)
    assert not list(project.root.iterdir())


def test_help_alone_names_commands_and_topics(project: Project) -> None:
    text = project.done("help").out
    assert text == project.run("--help").out
    assert list(re.findall(r"^    (\S+)\s", text, re.MULTILINE)) == list(COMMANDS)
    assert f"`skillsync help TOPIC` says more: {', '.join(TOPICS)}\n" in text


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("conflict", "did you mean `skillsync help conflicts`?"),
        ("exit-code", "did you mean `skillsync help exit-codes`?"),
        ("SYNC", "did you mean `skillsync help sync`?"),
        ("", "it knows: allow, check, ci, "),
        ("../../../README", "it knows: allow, check, ci, "),
    ],
)
def test_help_on_what_there_is_not_names_the_nearest(project: Project, name: str, hint: str) -> None:
    result = project.run("help", name)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error[usage]: there is no help on `{name}`\n  hint: {hint}")


# The topics are true


@pytest.mark.parametrize("name", TOPICS)
def test_a_topic_is_short_and_what_it_shows_can_be_typed(name: str) -> None:
    path = ROOT / f"skillsync/cli/topics/{name}.txt"
    text = path.read_text()
    assert 10 <= len(text.splitlines()) <= 30
    assert all(len(line) <= 80 for line in text.splitlines())
    for example in examples(path):
        assert_can_be_typed(example)
    known = {option for command in COMMANDS.values() for option in options(command)}
    assert named(text) <= known


def test_there_is_no_text_without_a_topic() -> None:
    assert {path.stem for path in (ROOT / "skillsync/cli/topics").iterdir()} == set(TOPICS)


@pytest.mark.parametrize("name", ["manifest", "targets"])
def test_the_manifest_that_is_shown_can_be_read(name: str) -> None:
    block = re.search(r"(?:^    .*\n|^\n)*^    link = .*\n(?:^    .*\n|^\n(?=    ))*", topic(name), re.MULTILINE)
    assert block is not None
    found = manifest.parse(re.sub(r"^    ", "", block[0], flags=re.MULTILINE).encode(), ECOSYSTEMS)
    assert (found.targets, found.link) == ((".agents/skills", ".claude/skills"), True)


def test_the_exit_codes_are_those_of_the_program() -> None:
    assert [int(code) for code in re.findall(r"^\d+", topic("exit-codes"), re.MULTILINE)] == sorted(ExitCode)


def test_the_conflicts_are_problems_of_the_program() -> None:
    codes = re.findall(r"^([a-z-]+)  ", topic("conflicts"), re.MULTILINE)
    assert len(codes) == 5
    assert all(Code(code) for code in codes)
