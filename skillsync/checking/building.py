"""Builds a source tree with its ecosystem's own tool, to see what comes into the artifact.

Invariants: runs the package's own build, and so only where a person has asked for it; the tree gets nothing from the
tools: gems and npm packages are written elsewhere, and Python's backends, which litter, get a copy; what former builds
have left in the tree is not built from.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from skillsync.checking import git
from skillsync.checking.artifact import read_artifact, suffix
from skillsync.checking.offer import GEM, problem
from skillsync.discovery import PYPI
from skillsync.errors import Code, Problem, SkillsyncError

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from skillsync.checking.offer import Offer

_MOST_OUTPUT = 1 << 16  # bytes that are kept of what a build prints
_LONGEST_LINE = 300
# What is in these is hardly ever a source of what is built, and is large.
_OF_TOOLS = frozenset({".venv", "venv", "node_modules", "__pycache__", ".tox", ".nox"})
_PYTHON_TOOLS = (
    ("uv", "build", "--out-dir"),  # --quiet would hide what the backend says of its failure, too
    ("pyproject-build", "--outdir"),
    ("python3", "-m", "build", "--outdir"),
)


# Lines that say why a build has failed: of an exception, of setuptools and pip, of RubyGems for what a gemspec raises.
_CAUSE = re.compile(r"(?:[\w.]*(?:Error|Exception)|error|ERROR): |Invalid gemspec in ")
# Lines that say only that it has: the last words of uv, build, RubyGems and npm.
_CLOSING = re.compile(
    r"error: Failed to build |cause: (?:The build backend returned|Call to )|hint: "
    r"|TIP |ERROR (?:Backend subprocess|Command )|subprocess\.CalledProcessError: "
    r"|ERROR: +(?:Error loading gemspec|While executing gem)"
    r"|npm (?:notice|warn)\b|npm error (?:code|errno|syscall|path|command|A complete log)\b"
)


class BuildError(Exception):
    """A build has failed: `output` is the end of what it printed, and the line of it that says why is in the text."""

    def __init__(self, command: Sequence[str], reason: str, output: str) -> None:
        """Take the command, and what became of it."""
        line = cause(output)
        said = f": {line[:_LONGEST_LINE]}" if line else ""
        super().__init__(f"{' '.join(command[:2])} {reason}{said}")
        self.output = output


def cause(output: str) -> str:
    """Return the line of what a failed build printed that says why: an error's last one, else the last of all."""
    lines = [line.strip() for line in output.splitlines()]
    told = [line for line in lines if line and not _CLOSING.match(line)]
    found = next((line for line in reversed(told) if _CAUSE.match(line)), told[-1] if told else "")
    return found.removeprefix("cause: ").removeprefix("npm error ")


def build(offer: Offer, into: str) -> list[str]:
    """Build what a tree makes into a directory, and return the artifacts' paths, of which there is at least one.

    Raises BuildError, and SkillsyncError where the tool is missing.
    """
    root, ecosystem = offer.package.root, offer.package.ecosystem
    os.mkdir(into)
    command: Sequence[str]
    if ecosystem == "gem":
        _need("gem", "Ruby")
        file = f"./{offer.about}" if offer.about.startswith("-") else offer.about  # no option
        command = ("gem", "build", file, "--output", f"{into}/{offer.package.name}.gem")
    elif ecosystem == PYPI:
        _see_that_it_builds(offer)
        command = (*_python_tool(), into)
        root = _copy(root, f"{into}.source")
    else:
        _need("npm", "Node.js")
        command = ("npm", "pack", "--loglevel=error", "--pack-destination", into)
    output = _run(command, root)
    found = sorted(f"{into}/{name}" for name in os.listdir(into) if suffix(name))
    if not found:
        raise BuildError(command, "made no artifact", output)
    return [_named(path) for path in found] if ecosystem == "gem" else found


def _named(gem: str) -> str:
    """Call a gem as `gem build` calls it where it isn't told a file, its platform aside."""
    package = read_artifact(gem, gem).package
    path = f"{os.path.dirname(gem)}/{package.name}-{package.version}{GEM}"
    os.rename(gem, path)
    return path


def _see_that_it_builds(offer: Offer) -> None:
    """Raise SkillsyncError for a setup.cfg alone: setuptools would take it, but no tool comes to ask it."""
    if not any(os.path.lexists(f"{offer.package.root}/{name}") for name in ("pyproject.toml", "setup.py")):
        text = "makes no package: what builds has no pyproject.toml to go by"
        hint = (
            'beside it, add a pyproject.toml with `[build-system]`, `requires = ["setuptools"]` and '
            '`build-backend = "setuptools.build_meta"`'
        )
        raise SkillsyncError(problem(offer.package, Code.BUILD_FAILED, offer.about, text, hint=hint))


def _need(tool: str, owner: str) -> None:
    if shutil.which(tool) is None:
        raise _missing(f"there is no `{tool}` on PATH", f"install {owner}")


def _missing(message: str, hint: str) -> SkillsyncError:
    return SkillsyncError(Problem(code=Code.TOOL_NOT_FOUND, message=message, hint=f"{hint}, or leave out --build"))


def _python_tool() -> Sequence[str]:
    """Return the first of the tools that is there, up to the directory that it builds into."""
    for tool in _PYTHON_TOOLS:
        if shutil.which(tool[0]) and ("-m" not in tool or _runs((*tool[:-1], "--version"))):
            return tool
    raise _missing("there is neither `uv` nor `python3 -m build`", "install uv, or build (`pipx install build`)")


def _runs(command: Sequence[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL).returncode == 0  # noqa: S603  # a tool of _PYTHON_TOOLS


def _run(command: Sequence[str], directory: str) -> str:
    """Run a build, and return the end of what it printed. Raises BuildError."""
    # Git may write its index, which is the repository's own, when it is only asked.
    environ = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    # A file, not a pipe: that would be kept whole, and waited for until all that the build has left running ends.
    with TemporaryFile() as printed:
        done = subprocess.run(  # noqa: S603  # what the person has asked for
            command,
            cwd=directory,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            check=False,
        )
        printed.seek(max(0, printed.seek(0, os.SEEK_END) - _MOST_OUTPUT))
        output = printed.read().decode(errors="replace")
    if done.returncode:
        raise BuildError(command, f"failed with exit code {done.returncode}", output)
    return output


def _copy(root: str, into: str) -> str:
    """Copy a tree with its repository, which a build may ask for files and version, and return the tree's copy."""
    top = git.top_of(root) or root
    environments = _environments(top)
    # What a source distribution holds was listed by the build that made it, and is known to no other tool.
    is_unpacked = os.path.lexists(f"{root}/PKG-INFO")

    def left_out(directory: str, names: Sequence[str]) -> list[str]:
        return [name for name in names if _is_left_out(directory, name, environments, with_lists=not is_unpacked)]

    shutil.copytree(top, into, symlinks=True, ignore=left_out)
    if os.path.lexists(f"{top}/{git.NAME}"):
        with open(f"{into}/{git.NAME}", "w", encoding="utf-8", errors="surrogateescape") as opened:
            opened.write(f"gitdir: {git.directory(top)}\n")
    _lead_out(top, into)
    return os.path.normpath(f"{into}/{os.path.relpath(root, top)}")


def _lead_out(top: str, into: str) -> None:
    """Let the links of a copy that lead out of it lead to where the tree's do; into the tree itself, to the copy's own.

    Builds write to where links lead.
    """
    tree, copy = os.path.realpath(top), os.path.realpath(into)
    for directory, directories, names in os.walk(into):
        inner = os.path.relpath(directory, into)
        for name in (*directories, *names):
            path = f"{directory}/{name}"
            if os.path.islink(path) and not _is_in(os.path.realpath(path), copy):
                target = os.path.realpath(f"{top}/{inner}/{name}")
                os.unlink(path)
                os.symlink(copy + target.removeprefix(tree) if _is_in(target, tree) else target, path)


def _is_in(path: str, directory: str) -> bool:
    return f"{path}/".startswith(f"{directory}/")


def _environments(top: str) -> frozenset[str]:
    """Return the directories of tools below one, as absolute paths; what git knows of belongs to the sources."""
    found = []
    for directory, directories, _ in os.walk(top):
        inner = [name for name in directories if name in _OF_TOOLS or os.path.exists(f"{directory}/{name}/pyvenv.cfg")]
        found += [os.path.relpath(f"{directory}/{name}", top) for name in inner]
        directories[:] = [name for name in directories if name not in {git.NAME, *inner}]
    known = git.ignored(top, found) if os.path.lexists(f"{top}/{git.NAME}") else found
    return frozenset(f"{top}/{path}" for path in known)


def _is_left_out(directory: str, name: str, environments: Container[str], *, with_lists: bool) -> bool:
    """Whether something is left out of a copy; `with_lists` is for the lists of files.

    By these setuptools packs what a former build has packed.
    """
    path = f"{directory}/{name}"
    mode = os.lstat(path).st_mode
    is_copied = stat.S_ISDIR(mode) or stat.S_ISREG(mode) or stat.S_ISLNK(mode)
    return not is_copied or name == git.NAME or path in environments or (with_lists and name.endswith(".egg-info"))
