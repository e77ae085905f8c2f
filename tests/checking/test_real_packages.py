"""What `check` says of published packages that nobody wrote for it: fixtures/published-packages.txt, made anew by
SKILLSYNC_UPDATE_SESSIONS=1.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gems
from projects import Project
from tools import need, need_network

GOLDEN = Path(__file__).parents[2] / "fixtures/published-packages.txt"
UPDATE = "SKILLSYNC_UPDATE_SESSIONS"
PYTHON = (
    "asyncer==0.0.18",
    "fastapi==0.165.0",
    "library-skills==0.0.19",
    "marimo==0.25.2",
    "modal==1.6.4",
    "pydantic-ai-slim==2.68.0",
    "pydantic-settings-aws==1.1.0",
    "sqlmodel==0.0.50",
    "streamlit==1.67.0",
    "typer==0.29.2",
    "prefect==3.9.1",  # has no skill
)
NODE = (
    "agent-browser@0.41.2",
    "eslint-vitest-rule-tester@3.2.0",
    "@optique/core@1.3.6",
    "playwright-core@1.65.1",
    "@reduxjs/toolkit@2.15.0",
    "@supabase/server@1.4.1",
    "@tanstack/db@0.15.2",
    "@tanstack/intent@0.4.0",
    "@tanstack/router-core@1.171.39",
    "@tanstack/start-client-core@1.170.39",
    "@tanstack/table-core@9.3.1",
    "skills-npm@1.2.1",  # has no skill
)


def test_published_packages_are_read_and_said_to_be_what_they_are(tmp_path: Path) -> None:
    need_network()
    need("npm")
    project = Project(tmp_path / "all")
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", *PYTHON)
    for command in (pip, ("npm", "pack", "--silent", *NODE)):
        subprocess.run(command, cwd=project.root, check=True, capture_output=True)
    names = sorted(os.listdir(project.root))
    assert len(names) == len(PYTHON) + len(NODE)
    parts = []
    for name in names:
        result = project.run("check", name)
        lines = [*result.out.splitlines(), *(f"! {line}" for line in result.err.splitlines())]
        parts.append("".join(f"{line}\n" for line in (f"$ skillsync check {name}", *lines, f"[{result.code}]")))
    text = "\n".join(parts)
    if os.environ.get(UPDATE):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_a_real_gem_is_read(tmp_path: Path) -> None:
    need("gem")
    files = {**gems.skills("kelp-forms"), "skills/kelp-forms/run": "#!/bin/sh\n", "skills/kelp-forms/scripts/é.md": ""}
    built = gems.build_gem(tmp_path, "kelp", "1.2.0", files=files, executables=("skills/kelp-forms/run",))
    result = Project(tmp_path).done("check", str(built))
    assert f"ok: {built}/skills/kelp-forms (3 files)" in result.out
    assert result.err == ""
