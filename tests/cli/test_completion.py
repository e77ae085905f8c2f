from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from projects import LOCK, Project
from tools import need

from skillsync.cli import arguments
from skillsync.cli.examples import TOPICS

COMMANDS = set(arguments.COMMANDS)
# A word for a shell to run, if it reads a package's name as its own language.
HOSTILE = "$(touch ran)"

BASH = """\
eval "$(skillsync completion bash)"
COMP_LINE=$1 COMP_POINT=${#1}
_skillsync
printf '%s\\n' "${COMPREPLY[@]}"
"""
# What is offered is taken where the completion hands it to zsh.
ZSH = """\
compdef() { : }
eval "$(skillsync completion zsh)"
compadd() { shift; print -rl -- "$@" }
compset() { PREFIX=${PREFIX#*=} }
_files() { print files }
words=("${(@s: :)1}") CURRENT=${#words} PREFIX=${words[-1]}
_skillsync | while IFS= read -r word; do [[ $word == "$PREFIX"* || $PREFIX == *=* ]] && print -r -- "$word"; done
"""
FISH = """\
skillsync completion fish | source
complete -C $argv[1] | string replace --regex '\\t.*' ''
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "app").gem("sus", "1.0.0", "testing", "tracing").gem("bake", "1.0.0", "baking")
    made.done("lock")
    return made


def completed(shell: str, line: str, at: Path, home: Path | None = None) -> set[str]:
    """What a shell offers for a line, as it stands after the last character that splits words."""
    need(shell)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = {
        "bash": ("bash", "--norc", "-c", BASH, "bash", line),
        "zsh": ("zsh", "-f", "-c", ZSH, "zsh", line),
        "fish": ("fish", "--no-config", "-c", FISH, line),
    }
    environment = {**os.environ, "PATH": path, "HOME": str(home or at.parent), "XDG_CONFIG_HOME": str(at.parent)}
    done = subprocess.run(command[shell], cwd=at, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return set(filter(None, done.stdout.splitlines()))


SHELLS = pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])


@SHELLS
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("sy", {"sync"}),
        ("sync --f", {"--force", "--format"}),
        ("verify --scope ", {"all", "installed", "providers"}),
        ("verify --format s", {"sarif"}),
        ("verify --quiet --scope i", {"installed"}),
        ("show t", {"testing", "tracing"}),
        ("show ", {"testing", "tracing", "baking", "gem:sus", "gem:bake"}),
        ("diff --stat ", {"testing", "tracing", "baking"}),
        ("diff testing tr", {"tracing"}),
        ("allow ", {"gem:sus", "gem:bake"}),
        ("allow gem:sus --skill ", {"testing", "tracing", "baking"}),
        ("lock ", set()),
        ("lock --only ", {"gem:sus", "gem:bake"}),
        ("lock --only gem:sus ", {"gem:sus", "gem:bake"}),
        ("completion ", {"bash", "zsh", "fish"}),
        ("help conf", {"conflicts"}),
        ("help ", COMMANDS | set(TOPICS)),
    ],
)
def test_a_shell_completes(project: Project, shell: str, line: str, offered: set[str]) -> None:
    assert completed(shell, f"skillsync {line}", project.root) == offered


@SHELLS
@pytest.mark.parametrize("line", ["--project {} ", "--project=elsewhere --project={} ", "--quiet --project ~/app "])
def test_the_names_are_those_of_the_project_that_is_named(project: Project, shell: str, line: str) -> None:
    typed = line.format(os.path.relpath(project.root, project.root.parent))
    assert completed(shell, f"skillsync allow {typed}", project.root.parent, project.root.parent) == {
        "gem:sus",
        "gem:bake",
    }
    assert completed(
        shell, f"skillsync show --project nowhere {typed}te", project.root.parent, project.root.parent
    ) == {"testing"}
    assert completed(shell, "skillsync allow --project nowhere ", project.root) == set()


def test_a_project_that_is_named_twice_is_the_last(project: Project) -> None:
    asked = ("completion", "--names", "providers", "allow")
    for words in (("--project=nowhere", "--project", "."), ("--project", "nowhere", f"--project={project.root}")):
        assert project.done(*asked, *words).out == "gem:bake\ngem:sus\n"
    assert project.done(*asked, "--project=nowhere").out == ""


@pytest.mark.parametrize("asked", [(), ("files",), ("skills", "show", "--project")])
def test_what_no_script_asks_for_has_no_names_or_all(project: Project, asked: tuple[str, ...]) -> None:
    out = project.done("completion", "--names", *asked).out
    assert out == ("baking\ntesting\ntracing\n" if asked[:1] == ("skills",) else "")


@SHELLS
def test_a_shell_completes_the_commands(project: Project, shell: str) -> None:
    assert completed(shell, "skillsync ", project.root) - {"--help", "--version"} == COMMANDS


def test_bash_keeps_what_it_has_split_off(project: Project) -> None:
    assert completed("bash", "skillsync show gem:s", project.root) == {"sus"}
    assert completed("bash", "skillsync verify --format=s", project.root) == {"sarif"}


@SHELLS
def test_what_a_lock_calls_a_package_is_never_run(project: Project, shell: str) -> None:
    lock = project.root / LOCK
    lock.write_text(lock.read_text().replace('name = "bake"', f'name = "{HOSTILE}"'))
    assert completed(shell, "skillsync allow ", project.root) == {"gem:sus"}
    assert not (project.root / "ran").exists()


@SHELLS
def test_without_a_lock_that_can_be_read_there_are_no_names_and_no_message(project: Project, shell: str) -> None:
    for content in (None, "nonsense"):
        project.write({LOCK: content})
        assert completed(shell, "skillsync allow ", project.root) == set()


@SHELLS
def test_a_shell_takes_the_script_without_a_word(project: Project, shell: str, tmp_path: Path) -> None:
    need(shell)
    script = tmp_path / "script"
    script.write_text(project.done("completion", shell).out)
    done = subprocess.run((shell, "-n", str(script)), capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_zsh_completes_in_a_terminal(project: Project) -> None:
    need("zsh")
    script = """\
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell 'PS1=; autoload -Uz compinit; compinit -u -D; eval "$(skillsync completion zsh)"'
    zpty -w -n shell $'skillsync show bak\\t\\x01: \\x05; print -r done\\n'
    zpty -r shell found '*baking*'
    print -r -- $found
    zpty -d shell
    """
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TERM": "dumb"}
    done = subprocess.run(
        ("zsh", "-f", "-c", script), cwd=project.root, env=environment, capture_output=True, timeout=60, check=False
    )
    assert b"show baking" in done.stdout, done.stderr


def test_the_names_are_those_of_the_lock(project: Project) -> None:
    assert project.done("completion", "--names", "skills").out == "baking\ntesting\ntracing\n"
    assert project.done("completion", "--names", "providers").out == "gem:bake\ngem:sus\n"
    for content in ("nonsense", None):
        project.write({LOCK: content})
        assert project.done("completion", "--names", "skills").out == ""
    assert "--names" not in project.run("completion", "--help").out


@pytest.mark.parametrize("words", ["", "tcsh", "bash --names skills"])
def test_a_shell_that_there_is_no_script_for_is_wrong_usage(project: Project, words: str) -> None:
    assert project.run("completion", *shlex.split(words)).code == 2
