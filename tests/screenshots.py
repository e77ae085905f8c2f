"""Makes the pictures of docs/screenshots: the real program at a terminal, over copies of the fixtures.

Run as `make screenshots`. The same program makes the same bytes: no time, no path of the machine, no font to be loaded.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from dataclasses import dataclass
from pathlib import Path

import gems
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs/screenshots"
COLUMNS = 100


@dataclass(frozen=True, slots=True)
class Scene:
    """A copy of a fixture, what is done in it unseen, and the commands that are shown."""

    fixture: str
    before: str
    shown: tuple[str, ...]


SCENES = {
    "first-use": Scene("demo", "", ("skillsync list", "skillsync lock", "skillsync sync", "skillsync verify")),
    "update": Scene(
        "bundle",
        "sed -i.old 's/tidewater (0.10.0)/tidewater (0.9.0)/' Gemfile.lock\n"
        "skillsync lock --quiet\nskillsync sync --quiet\nmv Gemfile.lock.old Gemfile.lock\n",
        ("skillsync diff", "skillsync lock"),
    ),
    "drift": Scene(
        "demo",
        "skillsync lock --quiet\nskillsync sync --quiet\n"
        "echo 'Always run migrations with --force.' >>.agents/skills/tide-migrations/SKILL.md\n"
        "rm -r .agents/skills/kelp-routing\n",
        ("skillsync verify", "skillsync sync", "skillsync diff --installed tide-migrations"),
    ),
}

# Readable on its own ground, in a light page and in a dark one.
THEME = TerminalTheme(
    (24, 26, 31),
    (215, 218, 224),
    [
        (24, 26, 31), (240, 113, 120), (140, 200, 110), (226, 184, 96),
        (112, 170, 246), (200, 140, 230), (90, 195, 205), (215, 218, 224),
    ],
    [
        (120, 126, 138), (255, 140, 146), (165, 220, 140), (245, 205, 125),
        (140, 190, 255), (220, 165, 250), (125, 215, 225), (255, 255, 255),
    ],
)  # fmt: skip

# Rich's own, without the fonts that it would have loaded from elsewhere.
FORM = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; \
font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def environ(home: Path) -> dict[str, str]:
    """A terminal with colour, and nothing of the person's; no progress bar: it would tell how fast the machine is."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    kept = {key: value for key, value in gems.ruby_environ(home).items() if key in {"HOME", "GEM_HOME", "LC_ALL"}}
    return {**kept, "PATH": path, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PAGER": "", "CI": "true"}


def at_a_terminal(command: str, directory: Path, environ: dict[str, str]) -> str:
    """Run a command at a terminal; return what it shows, with colours."""
    person, program = pty.openpty()
    fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    process = subprocess.Popen(
        ("sh", "-c", command), cwd=directory, env=environ, stdin=program, stdout=program, stderr=program
    )
    os.close(program)
    shown = b""
    with contextlib.suppress(OSError):  # Linux's end of a terminal
        while chunk := os.read(person, 65536):
            shown += chunk
    os.close(person)
    process.wait()
    return shown.decode().replace("\r\n", "\n")


def picture(name: str) -> str:
    """Play a scene; return it as SVG."""
    scene = SCENES[name]
    console = Console(
        record=True,
        width=COLUMNS,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    with tempfile.TemporaryDirectory() as place:
        home, project = Path(place), Path(place) / "harbour"
        shutil.copytree(ROOT / "fixtures" / scene.fixture, project, symlinks=True)
        given = environ(home)
        subprocess.run(("sh", "-ec", scene.before), cwd=project, env=given, check=True, capture_output=True)
        for number, command in enumerate(scene.shown):
            console.print(
                Text(("\n" if number else "") + "$ ", style="bright_black").append(command, style="bold white")
            )
            shown = at_a_terminal(command, project, given).rstrip("\n").replace(place, "/home/me")
            console.print(Text.from_ansi(shown), soft_wrap=False)
    return console.export_svg(title="", theme=THEME, code_format=FORM, unique_id=name)


def main() -> None:
    """Write every picture."""
    PICTURES.mkdir(exist_ok=True)
    for name in SCENES:
        (PICTURES / f"{name}.svg").write_text(picture(name), encoding="utf-8")


if __name__ == "__main__":
    main()
