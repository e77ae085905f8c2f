"""What a test needs of the machine it runs on: a disk that can be full or read-only, a user who isn't root, a meter.

Whether something can be mounted, or another user be taken, depends on the machine and on who runs the tests: where it
can't, the test is left out and says so, even where the real tools are insisted on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from projects import Result
from tools import need

if TYPE_CHECKING:
    from collections.abc import Iterator

    from projects import Project

NOBODY = 65534

# Everything is loaded before the user is changed, who may not be able to read where it is.
_AS_USER = """
import importlib, os, pkgutil, sys
import difflib, encodings.idna, encodings.utf_8_sig, json, shlex, string, subprocess
import markdown_it, rapidfuzz, rtoml, yaml
import skillsync
for module in pkgutil.walk_packages(skillsync.__path__, "skillsync."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from skillsync.cli.main import main
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(int(sys.argv[1]))
    os.setuid(int(sys.argv[1]))
sys.exit(main(sys.argv[2:]))
"""

# The peak of what was resident, of this program alone: what the parent had before it was replaced doesn't count.
# The flushes are left out: what is written here is removed at once.
_MEASURED = """
import os, sys
os.sync = lambda: None
os.fsync = lambda fd: None
from skillsync.cli.main import main
code = main(sys.argv[1:])
try:
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
except OSError:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(peak, file=sys.stderr)
sys.exit(code)
"""

# No file may become larger than so many bytes: not what a full disk says, and just as final.
_LIMITED = """
import resource, sys
from skillsync.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


@dataclass(frozen=True, slots=True)
class Disk:
    """A file system in memory, mounted at a path."""

    path: Path

    def fill(self, free: int = 0) -> None:
        """Take all of its space, but so many pages."""
        self.empty()
        state = os.statvfs(self.path)
        pages = max(0, state.f_bavail - free)
        with (self.path / "filler").open("wb") as file:
            file.write(b"\0" * (pages * state.f_bsize))

    def empty(self) -> None:
        """Give the space free again."""
        (self.path / "filler").unlink(missing_ok=True)

    def take_files(self, free: int) -> None:
        """Take all the files that it can have, but so many."""
        shutil.rmtree(self.path / "files", ignore_errors=True)
        (self.path / "files").mkdir()
        for number in range(os.statvfs(self.path).f_favail - free):
            (self.path / f"files/{number}").touch()

    def remount(self, option: str) -> None:
        _mount("-o", f"remount,{option}", str(self.path))


@contextmanager
def disk(path: Path, *, size: str = "1m", files: int = 1000) -> Iterator[Disk]:
    """Mount a small file system at a path; what is mounted goes in the end."""
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("left out: only root can mount a small disk, on Linux")
    path.mkdir(parents=True, exist_ok=True)
    try:
        _mount("-t", "tmpfs", "-o", f"size={size},nr_inodes={files},mode=755", "tmpfs", str(path))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"left out: nothing can be mounted here: {error}")
    try:
        yield Disk(path)
    finally:
        subprocess.run(("umount", str(path)), check=True)


@contextmanager
def without_links(path: Path, image: Path) -> Iterator[None]:
    """Mount a file system that has no symbolic links at a path: exFAT, in an image file."""
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("left out: only root can mount a file system without links, on Linux")
    need("mkfs.exfat", "mount.exfat-fuse")
    with image.open("wb") as file:
        file.truncate(4 << 20)
    subprocess.run(("mkfs.exfat", str(image)), check=True, capture_output=True)
    try:
        # By the driver that needs no module of the kernel's: few machines for CI have one for any such file system.
        _mount("-t", "exfat-fuse", "-o", "loop", str(image), str(path))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"left out: nothing can be mounted here: {error}")
    try:
        yield
    finally:
        subprocess.run(("umount", str(path)), check=True)


def _mount(*arguments: str) -> None:
    subprocess.run(("mount", *arguments), check=True, capture_output=True)


@contextmanager
def public_directory() -> Iterator[Path]:
    """Make a directory that every user can reach, which pytest's own is not."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def hand_over(root: Path) -> None:
    """Give everything below a directory to the user as whom `as_user` runs."""
    if os.geteuid() == 0:
        for path in (root, *root.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def as_user(project: Project, *arguments: str) -> Result:
    """Run skillsync as a user who isn't root; nothing of the caller's own home is asked for."""
    environ = {**os.environ, "HOME": str(project.root), "GEM_HOME": str(project.root / "gems")}
    return _run(project, environ, _AS_USER, str(NOBODY), *arguments)


def limited(project: Project, size: int, *arguments: str) -> Result:
    """Run skillsync where it can write no file larger than so many bytes."""
    return _run(project, None, _LIMITED, str(size), *arguments)


def measured(project: Project, *arguments: str) -> int:
    """Run skillsync, which has to succeed, and return how many MiB were resident at most."""
    result = _run(project, None, _MEASURED, *arguments)
    assert result.code == 0, result
    return int(result.err.split()[-1]) // 1024


def _run(project: Project, environ: dict[str, str] | None, program: str, *arguments: str) -> Result:
    command = (sys.executable, "-c", program, *arguments)
    done = subprocess.run(command, cwd=project.root, env=environ, capture_output=True, text=True, check=False)
    return Result(done.returncode, done.stdout, done.stderr)
