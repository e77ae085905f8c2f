"""Whole sessions with the program, as a person sees them: the files in fixtures/sessions, run and compared.

How such a file is written, and how its output is made again after a change, stands in fixtures/sessions/README.md.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from projects import Project, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

FIXTURES = Path(__file__).parents[2] / "fixtures"
SESSIONS = sorted((FIXTURES / "sessions").glob("*.txt"))
UPDATE = "SKILLSYNC_UPDATE_SESSIONS"
PROMPT, MORE, ERROR = "  $ ", "  > ", "  ! "


def parts(text: str) -> Iterator[str]:
    """Yield a session's paragraphs and commands in order; what the commands printed is left out."""
    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith(MORE) and paragraph and paragraph[0].startswith(PROMPT):
            paragraph.append(line)
            continue
        if paragraph and (not line or line.startswith("  ") or paragraph[0].startswith(PROMPT)):
            yield "\n".join(paragraph)
            paragraph = []
        if line and (line.startswith(PROMPT) or not line.startswith("  ")):
            paragraph.append(line)


def start(head: str, root: Path) -> Project:
    """Make the project that the first paragraph names: a copy of a fixture, or an empty directory."""
    if named := re.search(r"fixtures/([\w-]+)", head):
        shutil.copytree(FIXTURES / named[1], root, symlinks=True)
    return Project(root)


def run(project: Project, part: str) -> Result:
    """Run one command: the program in this process, anything else in a shell."""
    command = re.sub(r"^  [$>] ", "", part, flags=re.MULTILINE)
    if command.startswith("skillsync "):
        return project.run(*shlex.split(command)[1:])
    done = subprocess.run(("sh", "-c", command), cwd=project.root, capture_output=True, text=True, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


def record(part: str, result: Result) -> str:
    """Return a command and what came of it, as it stands in the file."""
    lines = [part, *(f"  {line}".rstrip() for line in result.out.splitlines())]
    lines += [ERROR + line for line in result.err.splitlines()]
    return "\n".join([*lines, *([f"  [{int(result.code)}]"] if result.code else [])])


@pytest.mark.parametrize("file", SESSIONS, ids=lambda file: file.stem)
def test_a_session_goes_as_it_was_written_down(file: Path, tmp_path: Path) -> None:
    text = file.read_text(encoding="utf-8")
    head, *rest = parts(text)
    project = start(head, tmp_path / "project")
    done = [head, *(record(part, run(project, part)) if part.startswith(PROMPT) else part for part in rest)]
    found = "\n\n".join(done) + "\n"
    for path, name in ((str(project.root), "$PROJECT"), (os.environ["GEM_HOME"], "$GEM_HOME")):
        found = found.replace(path, name)
    if os.environ.get(UPDATE):
        file.write_text(found, encoding="utf-8")
    else:
        assert text == found
