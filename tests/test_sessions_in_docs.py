"""The documents' commands are run: a page's `console` blocks in order, as one session at a shell, and its `sh` blocks.

A page's session begins in an empty home directory, or where `<!-- session: … -->` says: `fixture NAME` for a copy of
fixtures/NAME, `needs TOOL…` for tools that have to be there. `<!-- file: PATH -->` before a block says that its text is
written to that file, at this point of the session. What a command prints is compared with what stands below it; a line
`…` stands for any lines, and `[exit code N]` for an exit code other than 0. The home directory is called /home/me.

`SKILLSYNC_UPDATE_SESSIONS=1 pytest tests/test_sessions_in_docs.py` writes what is printed into the pages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import gems
import pytest
import wheels
from projects import Project
from tools import need, need_python_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
UPDATE = "SKILLSYNC_UPDATE_SESSIONS"
MARK = "--- done ---"
_BLOCK = re.compile(
    r"(?:^<!-- file: (?P<file>\S+) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
# Directories that are called like a version of what the tests are run with, and the one that the pages show.
_VERSIONS = re.compile(r"\b(python|ruby/)3\.\d+(?:\.0)?\b")
SHOWN = {"python": "python3.11", "ruby/": "ruby/3.1.0"}
_START = re.compile(r"<!-- session:(?: fixture (?P<fixture>[\w-]+))?(?: needs (?P<needs>[\w ]+))? -->")


def commands(text: str) -> list[tuple[str, list[str]]]:
    """The commands of a console block, each with what stands below it."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        else:
            assert found, f"a block begins with output: {line}"
            found[-1][1].append(line)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_reader_sees_which_file_a_text_is_of(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        if path := block["file"]:
            assert f"`{path}`" in text[: block.start()].rstrip().rpartition("\n\n")[2], path


def script(page: str) -> str:
    """A page's session as a script that tells commands from each other by a mark with their exit code."""
    lines = []
    for block in _BLOCK.finditer(page):
        if block["file"]:
            lines += [f"mkdir -p $(dirname {block['file']})", f"cat >{block['file']} <<'__END__'"]
            lines += [block["text"] + "__END__"]
        elif block["kind"] == "console":
            for command, _ in commands(block["text"]):
                lines += [command, f'__code=$?; printf "\\n{MARK} %s\\n" $__code; (exit $__code)']
    return "\n".join(lines) + "\n"


def environ(home: Path) -> dict[str, str]:
    """An environment in which nothing is asked of the network, and nothing of the person is found."""
    given = {
        **gems.ruby_environ(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "UV_OFFLINE": "1",
        "UV_PYTHON": sys.executable,
        "npm_config_offline": "true",
        "npm_config_update_notifier": "false",
        "TERM": "dumb",
    }
    return {key: value for key, value in given.items() if key not in {"VIRTUAL_ENV", "PYTHONPATH"}}


def run(page: str, home: Path) -> Iterator[list[str]]:
    """Run a page's session; yield what each command printed."""
    start = _START.search(page)
    where = home
    if start and start["fixture"]:
        where = home / start["fixture"]
        shutil.copytree(ROOT / "fixtures" / start["fixture"], where, symlinks=True)
    file = home / ".session.sh"
    file.write_text(script(page), encoding="utf-8")
    done = subprocess.run(
        ("sh", str(file)),
        cwd=where,
        env=environ(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    text = _VERSIONS.sub(lambda found: SHOWN[found[1]], done.stdout.replace(str(home), "/home/me"))
    *outputs, rest = re.split(rf"\n{MARK} (\d+)\n", text)
    assert not rest, rest
    for output, code in zip(outputs[::2], outputs[1::2], strict=True):
        lines = [line.rstrip() for line in output.rstrip("\n").splitlines()]
        yield [*lines, *([f"[exit code {code}]"] if code != "0" else [])]


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether what a page shows is what was printed; a line `…` stands for any lines."""
    parts = ["\n".join(lines) + "\n" for is_gap, lines in groupby(shown, lambda line: line == "…") if not is_gap]
    text = "".join(f"{line}\n" for line in printed)
    if "…" not in shown:
        return "".join(parts) == text
    pattern = ".*".join(re.escape(part) for part in parts)
    head, tail = shown[0] == "…", shown[-1] == "…"
    return re.fullmatch(f"{'.*' * head}{pattern}{'.*' * tail}", text, re.DOTALL) is not None


def written(page: str, printed: Iterator[list[str]]) -> str:
    """The page with what was printed in it; where it shows a part, and that is right, it stays."""

    def block(found: re.Match[str]) -> str:
        if found["file"] or found["kind"] != "console":
            return found[0]
        lines = []
        for command, shown in commands(found["text"]):
            lines += ["$ " + command.replace("\n", "\n> ")]
            output = next(printed)
            lines += shown if matches(shown, output) else output
        return "\n".join(["```console", *lines, "```"])

    return _BLOCK.sub(block, page)


with_sessions = [page for page in PAGES if "\n```console\n" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", with_sessions, ids=lambda path: path.stem)
def test_a_page_s_commands_print_what_it_shows(path: Path, tmp_path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    start = _START.search(page)
    for tool in (start["needs"] or "").split() if start else ():
        need_python_tool(tool) if tool == "uv" else need(tool)
    outputs = list(run(page, tmp_path))
    found = written(page, iter(outputs))
    if os.environ.get(UPDATE):
        path.write_text(found, encoding="utf-8")
    else:
        assert page == found


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        (["a"], ["a"], True),
        (["a"], ["a", "b"], False),
        ([], ["a"], False),
        (["…"], ["a", "b"], True),
        (["a", "…", "d"], ["a", "b", "c", "d"], True),
        (["a", "…", "d"], ["a", "b", "c"], False),
        (["a", "…"], ["b", "a"], False),
    ],
)
def test_what_is_left_out_is_all_that_may_differ(shown: list[str], printed: list[str], *, expected: bool) -> None:
    assert matches(shown, printed) is expected


# Blocks for a shell, that show no output


def in_a_clone(_: str, __: Path) -> None:
    """What runs the whole test suite, the demo or the measurements: CI runs the first two, test_bench.py the last."""


def from_an_index(_: str, __: Path) -> None:
    """What installs skillsync with its dependencies from a package index: tests/test_release.py does."""


def a_piece(block: str, _: Path) -> None:
    """What tests/test_pieces.py runs with its own tool."""
    assert f"-->\n```sh\n{block}```" in (ROOT / "docs/ci.md").read_text(encoding="utf-8")


def in_a_project(block: str, home: Path) -> None:
    """In a project that has installed what the README speaks of; a command that fails stops."""
    project = Project(home / "app")
    project.gem("sus", "0.33.0", "ruby-testing", path="gems/sus")
    project.gem("bake", "0.24.1", "bake-new", "bake-old", path="gems/bake")
    site = wheels.write_venv(project.root / ".venv")
    wheels.write_dist(site, "fastapi", "0.165.0", wheels.skills("fastapi", "fastapi"))
    package = '{"name": "@tanstack/db", "version": "0.15.2"}'
    text = gems.skill("db-core")
    at = "node_modules/@tanstack/db"
    project.write({"package.json": "{}", f"{at}/package.json": package, f"{at}/skills/db-core/SKILL.md": text})
    for command in ("git init --quiet", "skillsync lock", block):
        done = subprocess.run(
            ("sh", "-e"),
            input=command,
            cwd=project.root,
            env=environ(home),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def with_bundler(block: str, home: Path) -> None:
    need("bundle")
    in_a_project(block, home)


# By the first line that is no comment.
SHELL: dict[str, Callable[[str, Path], None]] = {
    "make demo": in_a_clone,
    "make bench": in_a_clone,
    "pipx install .": from_an_index,
    "skillsync list": in_a_project,
    "bundle install": with_bundler,
    'skillsync allow pypi:fastapi --version ">=0.115"': in_a_project,
    "skillsync help --schema manifest > agent-skills.schema.json": in_a_project,
    "#!/bin/sh": a_piece,
    "uv sync": a_piece,
    'uv tool run --from "$SKILLSYNC" skillsync check . --build': a_piece,
}
# These are followed section by section, each in its own project, by tests/test_howtos.py.
HOWTOS = {"moving.md", "monorepo.md", "committing.md"}
BLOCKS = [
    (path, block["text"])
    for path in PAGES
    if path.name not in HOWTOS
    for block in _BLOCK.finditer(path.read_text(encoding="utf-8"))
    if block["kind"] == "sh" and not block["file"]
]


def first(block: str) -> str:
    return re.sub(r"\s+# .*", "", block.splitlines()[0])


def test_every_block_for_a_shell_is_run_or_somebody_says_why_not() -> None:
    assert {first(block) for _, block in BLOCKS} == set(SHELL)


@pytest.mark.parametrize("name", sorted(HOWTOS))
def test_a_howto_s_sections_with_commands_are_followed(name: str) -> None:
    followed = (ROOT / "tests/test_howtos.py").read_text(encoding="utf-8")
    for section in re.split(r"^## ", (ROOT / "docs" / name).read_text(encoding="utf-8"), flags=re.MULTILINE):
        assert "\n```console\n" not in section
        assert "\n```sh\n" not in section or f'"{name}", "{section.splitlines()[0]}"' in followed


@pytest.mark.parametrize(("path", "block"), BLOCKS, ids=lambda value: getattr(value, "stem", first(str(value))))
def test_a_block_for_a_shell_can_be_run(path: Path, block: str, tmp_path: Path) -> None:
    assert path.exists()
    SHELL[first(block)](block, tmp_path)
