"""CONTRIBUTING.md and the forms for issues name what there is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_architecture import ORDER

import skillsync
from skillsync.cli import arguments

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
FORMS = ROOT / ".github/ISSUE_TEMPLATE"
_BLOCKS = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_SPANS = re.findall(r"`([^`\n]+)`", _BLOCKS.sub("", PAGE))
_SHELL = "".join(text for kind, text in _BLOCKS.findall(PAGE) if kind == "sh")
_COMMAND = r"(?:[A-Z_]+=\S+ )*(?:make|\.venv/bin/\w+|\.ci/run)\b"
_TYPED = (*_SPANS, *(line.partition("#")[0].strip() for line in _SHELL.splitlines()))
COMMANDS = {text for text in _TYPED if re.match(_COMMAND, text)}


def without_variables(command: str) -> tuple[dict[str, str], list[str]]:
    """Return the variables before a command, and its words."""
    words = shlex.split(command)
    count = next(index for index, word in enumerate(words) if "=" not in word)
    return dict(word.split("=", 1) for word in words[:count]), words[count:]


@pytest.mark.parametrize("page", [PAGE, ARCHITECTURE])
def test_the_picture_and_the_order_are_the_codes(page: str) -> None:
    assert skillsync.__doc__
    assert f"```\n{skillsync.__doc__.split(chr(10) * 2)[1]}\n```" in page
    assert f"```\n{' · '.join(ORDER)}\n```" in page


def test_what_the_architecture_names_is_there() -> None:
    paths = re.findall(r"`((?:skillsync|tests)/[\w./]+)`", ARCHITECTURE)
    assert len(paths) > 10
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_commands_are_found() -> None:
    assert {"make demo", "make soak", "SKILLSYNC_REQUIRE_TOOLS=1 make test", ".ci/run"} <= COMMANDS
    assert len(COMMANDS) > 15


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_what_a_command_names_is_there(command: str) -> None:
    variables, (program, *words) = without_variables(command)
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    for name, value in variables.items():
        assert f'"{name}"' in tests
        assert value == "1" or f'"{value}"' in tests
    if program == "make":
        for word in words:
            name, _, given = word.partition("=")
            rule = rf"\b{name}\b \?=|\$\({name}\)" if given else rf"^{re.escape(name)}:"
            assert re.search(rule, MAKEFILE, re.MULTILINE), word
    elif program == ".ci/run":
        assert (ROOT / program).exists()
    else:
        assert program in {".venv/bin/pytest", ".venv/bin/python"}
        for word in words:
            assert "/" not in word or (ROOT / word).exists(), word
            if word.startswith("--cov="):
                assert (ROOT / word.removeprefix("--cov=").replace(".", "/")).is_dir()


@pytest.mark.parametrize("path", sorted({text for text in _SPANS if re.fullmatch(r"[\w.]+(?:/[\w.]+)+/?", text)}))
def test_a_path_that_is_named_is_there(path: str) -> None:
    assert path == ".venv/dev" or (ROOT / path).exists()


def test_the_options_of_make_bench_are_the_programs() -> None:
    source = (ROOT / "tests/bench/__main__.py").read_text(encoding="utf-8")
    for options in re.findall(r'BENCH_ARGS="?([^"`]+)', PAGE):
        assert all(f'"{word}"' in source for word in options.split() if word.startswith("--"))


def forms() -> dict[str, Any]:
    return {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FORMS.glob("*.yml")}


def test_the_forms_have_what_github_asks_for() -> None:
    found = forms()
    assert set(found) == {"bug_report", "feature_request", "config"}
    assert found.pop("config") == {"blank_issues_enabled": True}
    for form in found.values():
        assert {"name", "description", "body"} == set(form)
        identifiers = [field["id"] for field in form["body"]]
        assert len(identifiers) == len(set(identifiers))
        for field in form["body"]:
            assert field["type"] in {"input", "textarea"}
            assert field["attributes"]["label"]
        assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_a_bug_report_asks_for_what_the_page_says_and_can_be_typed() -> None:
    labels = [field["attributes"]["label"] for field in forms()["bug_report"]["body"]]
    asked = [label for label in labels if label.startswith("skillsync ")]
    assert asked == ["skillsync --version", "skillsync list --format json", "skillsync verify --format json"]
    for command in asked:
        assert f"`{command}`" in PAGE
    for command in asked[1:]:
        arguments.parse(shlex.split(command)[1:])
