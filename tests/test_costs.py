"""What a command costs, told without a clock: what it loads, what it opens and reads, and what it keeps in memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from projects import Project

from skillsync.filesystem import CHUNK, open_directory
from skillsync.snapshot import snapshot

if TYPE_CHECKING:
    from pathlib import Path

FILES = 7  # of each skill, in two directories, each of its own name
NAMES = ("testing", "tasks", "tracing")

# Loaded by nothing that people run all the time: what edits, renders, compares lines, compiles classes, runs programs.
_RARE = {
    *("tomlkit", "jinja2", "markdown_it", "rapidfuzz", "dataclasses", "inspect", "difflib", "logging"),
    *("skillsync.locking.editing", "skillsync.reviewing"),
    *(f"skillsync.rendering.{name}" for name in ("unified", "markdown", "page", "findings")),
    *(f"skillsync.cli.{name}" for name in ("diff", "allow", "completion", "naming")),
}
_PACKAGING = {"packaging.utils", "packaging.tags", "packaging.requirements", "packaging.markers"}

_COUNTED = """
import json, os, sys
counts = {}
def counted(call):
    def instead(*arguments, **options):
        counts[call] = counts.get(call, 0) + 1
        return original(*arguments, **options)
    original = getattr(os, call)
    setattr(os, call, instead)
def count(event, arguments):
    if event in ("open", "os.scandir", "os.listdir"):
        name = arguments[0]
        name = name.decode() if isinstance(name, bytes) else str(name)
        key = "scandir" if event != "open" else name.rpartition("/")[2]
        counts[key] = counts.get(key, 0) + 1
from skillsync.cli.main import main
main(["verify", "--project", sys.argv[1], "--quiet"])
main(["lock", "--project", sys.argv[1], "--check", "--quiet"])
sys.addaudithook(count)
for call in ("stat", "lstat", "fstat"):
    counted(call)
main(sys.argv[2:] + ["--project", sys.argv[1], "--quiet"])
print(json.dumps(counts))
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project in sync with three skills of two gems."""
    files = {
        f"skills/{name}/{'references/' if number % 2 else ''}{name}-{number}.md": "x"
        for name in NAMES
        for number in range(FILES - 1)
    }
    made = Project(tmp_path / "app")
    for gem, own in (("sus", ("testing", "tracing")), ("bake", ("tasks",))):
        made.gem(gem, "1.0.0", *own, files={path: text for path, text in files.items() if path.split("/")[1] in own})
    made.done("lock")
    made.done("sync")
    return made


def loaded(*arguments: str, project: Project) -> set[str]:
    """The modules that a command has loaded when it is done, as the installed program."""
    program = "import sys; from skillsync.__main__ import main; sys.argv[0] = 'skillsync'\n"
    program += "code = main()\nprint(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "command", ["verify", "verify --scope installed", "sync", "sync --check", "lock", "lock --check", "list"]
)
def test_what_runs_all_the_time_loads_no_library_for_what_it_does_not_do(project: Project, command: str) -> None:
    assert not loaded(*command.split(), project=project) & _RARE


@pytest.mark.parametrize("command", ["verify --scope installed", "sync", "sync --check"])
def test_what_reads_no_package_loads_no_ecosystem(project: Project, command: str) -> None:
    found = loaded(*command.split(), project=project)
    assert not {name for name in found if name.startswith("skillsync.discovery.")} - {"skillsync.discovery.environment"}
    assert not found & {*_RARE, *_PACKAGING, "packaging.version", "json", "hashlib", "subprocess", "shutil"}


def test_a_project_loads_the_ecosystems_that_it_uses(project: Project) -> None:
    found = loaded("verify", project=project)
    assert "skillsync.discovery.gem" in found
    assert not found & {*_PACKAGING, *(f"skillsync.discovery.{name}" for name in ("pypi", "npm", "cargo"))}


def test_the_version_loads_nothing_of_the_program(project: Project) -> None:
    found = {name for name in loaded("--version", project=project) if name.startswith("skillsync")}
    assert found == {"skillsync", "skillsync.__main__"}


def counted(project: Project, *command: str) -> Counter[str]:
    """How often a command opens a file of each name, and lists a directory, once all is loaded."""
    done = subprocess.run(
        [sys.executable, "-c", _COUNTED, str(project.root), *command], capture_output=True, text=True, check=True
    )
    return Counter(json.loads(done.stdout.splitlines()[-1]))


def test_each_installed_file_is_opened_once(project: Project) -> None:
    found = counted(project, "verify", "--scope", "installed")
    files = {f"{name}-{number}.md": 1 for name in NAMES for number in range(FILES - 1)}
    assert {name: count for name, count in found.items() if name.endswith(".md")} == files | {"SKILL.md": len(NAMES)}
    assert found["agent-skills.lock"] == found[".agent-skills.yaml"] == 1


@pytest.mark.parametrize(
    ("command", "copies"),
    [("sync", 1), ("sync --check", 1), ("lock", 1), ("lock --check", 1), ("list --verify", 2), ("verify", 2)],
)
def test_no_command_opens_a_copy_of_a_file_twice(project: Project, command: str, copies: int) -> None:
    found = counted(project, *command.split())
    assert {found[f"{name}-{number}.md"] for name in NAMES for number in range(FILES - 1)} == {copies}
    assert found["SKILL.md"] == copies * len(NAMES)


def test_a_list_opens_what_has_frontmatter_and_nothing_else(project: Project) -> None:
    found = counted(project, "list")
    assert {name: count for name, count in found.items() if name.endswith(".md")} == {"SKILL.md": len(NAMES)}


def test_a_directory_is_listed_once(project: Project) -> None:
    # The project's own, the target directory, and two of each skill.
    assert counted(project, "verify", "--scope", "installed")["scandir"] <= 2 + 2 * len(NAMES)


@pytest.mark.parametrize(("command", "copies"), [("verify --scope installed", 1), ("lock --check", 1), ("sync", 1)])
def test_one_file_more_costs_one_look_at_what_was_opened(project: Project, command: str, copies: int) -> None:
    calls = ("stat", "lstat", "fstat", "scandir")
    before = counted(project, *command.split())
    project.change("sus", {f"skills/testing/more-{number}.md": "x" for number in range(FILES)})
    project.done("lock")
    project.done("sync")
    after = counted(project, *command.split())
    grown = {call: after[call] - before[call] for call in calls}
    assert grown == {"stat": 0, "lstat": 0, "fstat": copies * FILES, "scandir": 0}


@pytest.mark.parametrize("size", [CHUNK, 40 * CHUNK])
def test_reading_a_file_keeps_little_of_it(tmp_path: Path, size: int) -> None:
    (tmp_path / "large").write_bytes(b"x" * size)
    with open_directory(str(tmp_path)) as fd:
        snapshot(fd, "x")
        tracemalloc.start()
        try:
            snapshot(fd, "x")
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert most < 4 * CHUNK
