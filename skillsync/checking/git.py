"""What git knows of a source tree: where its repository is, and which of its files nobody else gets.

Invariants: git is asked with an empty repository's settings, so that nothing which a stranger's says is run, and is no
program of the tree's; what it can't tell isn't known, and then counts as the package's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from skillsync.errors import UnreadableError
from skillsync.filesystem import read_file, upward_from

if TYPE_CHECKING:
    from collections.abc import Collection

NAME = ".git"
_LONGEST_PATH = 1 << 13
_SECONDS = 60  # patterns can be written that take git very long


def top_of(path: str) -> str | None:
    """Return the nearest directory upward, or the one itself, that is the top of a repository."""
    return next((one for one in upward_from(path) if os.path.lexists(f"{one}/{NAME}")), None)


def directory(top: str) -> str:
    """Return where a repository is: of a worktree or a submodule, `.git` is a file that says so.

    Raises UnreadableError.
    """
    path = f"{top}/{NAME}"
    if os.path.isdir(path):
        return path
    try:
        content = read_file(path, _LONGEST_PATH, follow=True) or b""
    except UnreadableError as error:
        raise UnreadableError(f"{path}: {error}") from None
    found = os.path.join(top, os.fsdecode(content).removeprefix("gitdir:").strip())
    if "\0" in found:
        raise UnreadableError(f"{path} has a NUL in it")
    return found


def _program() -> str | None:
    """Return git's path; none that PATH has relative to the current directory, which may be a stranger's."""
    return shutil.which("git", path=os.pathsep.join(filter(os.path.isabs, os.get_exec_path())))


def ignored(root: str, paths: Collection[str]) -> frozenset[str]:
    """Return which of some paths below a directory git ignores: by a .gitignore, and not in its index."""
    root = os.path.realpath(root)
    top, program = top_of(root), _program()
    if not (top and program and paths):
        return frozenset()
    inner = os.path.relpath(root, top)
    with TemporaryDirectory(prefix="skillsync-") as empty:
        for name in ("objects", "refs"):
            os.mkdir(f"{empty}/{name}")
        with open(f"{empty}/HEAD", "w", encoding="ascii") as head:
            head.write("ref: refs/heads/main\n")
        environ = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        environ |= {"GIT_DIR": empty, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        try:
            index = f"{directory(top)}/index"
            if os.path.exists(index) and not os.path.isfile(index):
                return frozenset()  # git would wait for a pipe
            environ |= {"GIT_WORK_TREE": top, "GIT_INDEX_FILE": index}
            done = subprocess.run(  # noqa: S603  # git itself, by an absolute path
                (program, "check-ignore", "--stdin", "-z"),
                cwd=top,
                env=environ,
                input=b"".join(os.fsencode("./" + os.path.normpath(f"{inner}/{path}")) + b"\0" for path in paths),
                capture_output=True,
                check=False,
                timeout=_SECONDS,
            )
        except (subprocess.TimeoutExpired, UnreadableError):
            return frozenset()
    found = (os.fsdecode(one) for one in done.stdout.split(b"\0") if one)
    return frozenset(os.path.relpath(one, inner) for one in found)
