"""Which Python environment counts for a project, and where in it distributions are installed.

Invariants: the first that is named counts, and one that is named and isn't there is an error, never the next one;
everything is told from files and their layout; an interpreter is run only if the person named it and its layout tells
nothing, without its site directories and so without any code that is installed there; the user's own site never counts.
"""

from __future__ import annotations

import os
import posixpath
import re
from typing import TYPE_CHECKING

from skillsync.discovery.pypi.project import display, unreadable
from skillsync.errors import UnreadableError
from skillsync.filesystem import exists, is_directory, list_directory, read_file, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeVar

    from skillsync.discovery.pypi.project import Project

    T = TypeVar("T")

VENV = ".venv"
PROJECT_VARIABLE = "UV_PROJECT_ENVIRONMENT"
ACTIVE_VARIABLES = ("VIRTUAL_ENV", "CONDA_PREFIX")

_CONFIG = "pyvenv.cfg"
_UNSEARCHED = ("venv", "env")  # usual names of environments that no rule finds: they may be anything
_SMALL = 64 * 1024
# A directory of libraries or an interpreter: `python3.12`, `python3.14t`, `pypy3.11`.
_VERSIONED = r"(?:python|pypy|graalpy)(?P<version>[0-9]+\.[0-9]+)t?"
_VERSION = r"[0-9]+\.[0-9]+"
_TIMEOUT = 20.0  # seconds; a version manager's shim may have to find its Python first
_ASK = "import sys; sys.stdout.write(sys.executable)"


class NotFoundError(Exception):
    """There is no environment to read; its text says where was looked, `hint` is the step that helps."""

    def __init__(self, message: str, hint: str) -> None:
        """Take the message and the hint."""
        super().__init__(message)
        self.hint = hint


def find(project: Project, environ: Mapping[str, str], python: str | None) -> tuple[str, ...]:
    """Return the directories of the environment that counts, those that Python looks into first at the front.

    `python` is the path of an interpreter or an environment that the person named. Raises NotFoundError, or
    SkillsyncError for what is there and can't be read.
    """
    if python is not None:
        return _named(project, os.path.abspath(python), environ)
    if given := environ.get(PROJECT_VARIABLE):
        # uv: relative to the workspace's root.
        prefix = posixpath.normpath(posixpath.join(project.workspace.root, given))
        return _required(project, prefix, PROJECT_VARIABLE, f"{_create(project)}, or unset {PROJECT_VARIABLE}")
    for directory in project.searched:
        if exists(path := f"{directory}/{VENV}"):
            return _required(project, _redirected(project, path), display(project.path, path), _create(project))
    for variable in ACTIVE_VARIABLES:
        if given := environ.get(variable):
            prefix = posixpath.normpath(posixpath.join(project.path, given))
            return _required(project, prefix, variable, f"{_create(project)}, or unset {variable}")
    last = project.searched[-1]
    where = display(project.path, VENV) if last == project.path else f"{VENV} from the project up to {last}"
    variables = ", ".join((PROJECT_VARIABLE, *ACTIVE_VARIABLES[:-1]))
    raise NotFoundError(
        f"there is no Python environment: looked for {where}; {variables} and {ACTIVE_VARIABLES[-1]} are not set",
        _name_or_create(project),
    )


def _create(project: Project) -> str:
    """Say how an environment comes to be, with the project's own installer; pip makes none itself."""
    if project.install.startswith("pip "):
        return f"create one, for instance with `python3 -m venv {VENV}` and `{VENV}/bin/{project.install}`"
    return f"create one, for instance with `{project.install}`"


def _name_or_create(project: Project) -> str:
    """Say how to name the environment that is there under another name, or how to create one."""
    if found := naming(project.searched):
        return f"{found}; or activate it"
    return f"{_create(project)}, activate one, or name one with `--python DIR`"


def naming(directories: Iterable[str]) -> str | None:
    """Say how to name the environment that one of the directories has, and that no rule finds; None if none has."""
    found = (f"{directory}/{name}" for directory in directories for name in _UNSEARCHED)
    path = next((path for path in found if exists(f"{path}/{_CONFIG}")), None)
    return f"`--python {_typed(path)}` names the environment that is there" if path else None


def _typed(path: str) -> str:
    """Return a path as a person would type it: relative to where they are, unless that leads upward."""
    relative = os.path.relpath(path)
    return shown(path if relative.startswith("..") else relative)


def _required(project: Project, prefix: str, named_by: str, hint: str) -> tuple[str, ...]:
    """Return the directories of an environment that somebody named. Raises NotFoundError if there are none."""
    found = sites(project, prefix)
    if not found:
        where = display(project.path, prefix)
        by = "" if where == named_by else f", which {named_by} names,"
        raise NotFoundError(f"{where}{by} {_why_not(project, prefix)}", hint)
    return found


def _why_not(project: Project, prefix: str) -> str:
    if not _checked(project, prefix, is_directory):
        return "is not there" if not exists(prefix) else "is no directory"
    return "is no Python environment: it has no lib/pythonX.Y/site-packages"


def _named(project: Project, path: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the directories of the environment or the interpreter that the person named."""
    if not exists(path) or _checked(project, path, is_directory):
        return _required(project, path, display(project.path, path), _hint_for(path))
    found = _of_interpreter(project, path)
    if not found and (answer := _executable(path, project.path, environ)):
        found = _of_interpreter(project, answer)
    if not found:
        where = display(project.path, path)
        raise NotFoundError(
            f"{where} is no interpreter whose site-packages could be found", "name the environment's directory"
        )
    return found


def _hint_for(path: str) -> str:
    """Say what to name instead of a path that is no environment; it is often the `bin` in one."""
    if exists(path) and posixpath.basename(path) == "bin":
        return f"name the directory above it: `--python {_typed(posixpath.dirname(path))}`"
    return f"`--python` takes the path of an environment, such as `{VENV}`, or of an interpreter in one"


def _of_interpreter(project: Project, path: str) -> tuple[str, ...]:
    """Return the directories of an interpreter: of the virtual environment it stands in, else of where it really is."""
    prefix = posixpath.dirname(posixpath.dirname(path))
    if exists(f"{prefix}/{_CONFIG}"):
        return sites(project, prefix)
    real = os.path.realpath(path)
    version = re.fullmatch(_VERSIONED, posixpath.basename(real))
    return sites(project, posixpath.dirname(posixpath.dirname(real)), version["version"] if version else None)


def _executable(path: str, cwd: str, environ: Mapping[str, str]) -> str | None:
    """Ask a program that the person named as an interpreter which one it runs: it may be a version manager's shim."""
    import subprocess

    try:
        answer = subprocess.run(  # noqa: S603  the text is ours, the program the one that the person named
            (path, "-I", "-S", "-c", _ASK),
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = os.fsdecode(answer.stdout)
    return found if found.startswith("/") and "\0" not in found else None


def _redirected(project: Project, path: str) -> str:
    """Return the directory that a `.venv` is, or that it points to if it is a file (PEP 832)."""
    if _checked(project, path, is_directory):
        return path
    content = _checked(project, path, _small)
    target = (content or b"").decode(errors="surrogateescape").strip()
    if not target or "\0" in target or "\n" in target:
        where = display(project.path, path)
        reason = "leads to nothing" if content is None else "is a file that does not hold the path of an environment"
        raise NotFoundError(f"{where} {reason}", _create(project))
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def sites(project: Project, prefix: str, version: str | None = None) -> tuple[str, ...]:
    """Return the directories of an environment by its layout, in the order in which Python looks into them.

    `version` is the interpreter's (`3.12`) if it is known. A virtual environment may take in what its interpreter has.
    """
    config = config_values((_checked(project, f"{prefix}/{_CONFIG}", _small) or b"").decode(errors="replace"))
    named = re.match(_VERSION, config.get("version_info") or config.get("version") or "")
    version = named[0] if named else version or _linked_version(prefix)
    found = dict.fromkeys(_existing(project, prefix, version))
    if found and config.get("include-system-site-packages", "").lower() == "true" and "home" in config:
        base = posixpath.dirname(posixpath.normpath(posixpath.join(prefix, config["home"])))
        found |= dict.fromkeys(_existing(project, base, version))
    by_place: dict[str, str] = {}
    for path in found:
        by_place.setdefault(os.path.realpath(path), path)  # lib64 may be a link to lib
    return tuple(by_place.values())


def config_values(text: str) -> dict[str, str]:
    """Read a pyvenv.cfg: lines of `key = value`."""
    rows = (line.partition("=") for line in text.splitlines())
    return {key.strip().lower(): value.strip() for key, _, value in rows}


def _linked_version(prefix: str) -> str | None:
    """Return the version that the name of an environment's interpreter tells, None if it doesn't."""
    name = posixpath.basename(os.path.realpath(f"{prefix}/bin/python3"))
    found = re.fullmatch(_VERSIONED, name)
    return found["version"] if found else None


def _existing(project: Project, prefix: str, version: str | None) -> Iterator[str]:
    """Yield the directories that exist below a prefix, of one version: the given one, else the highest.

    Debian's Python has its own below `local/` first, then one that all its versions share.
    """
    found: dict[str, list[str]] = {}
    for directory in (f"{prefix}/local/lib", f"{prefix}/lib", f"{prefix}/lib64"):
        for name in _checked(project, directory, list_directory) or ():
            library = re.fullmatch(_VERSIONED, name)
            for packages in ("site-packages", "dist-packages"):
                if library and _checked(project, path := f"{directory}/{name}/{packages}", is_directory):
                    found.setdefault(library["version"], []).append(path)
    if version is None and found:
        version = max(found, key=lambda text: [int(part) for part in text.split(".")])
    yield from found.get(version or "", ())
    if _checked(project, shared := f"{prefix}/lib/python3/dist-packages", is_directory):
        yield shared


def _small(path: str) -> bytes | None:
    return read_file(path, _SMALL, follow=True)


def _checked(project: Project, path: str, ask: Callable[[str], T]) -> T:
    """Ask the disk. Raises SkillsyncError for what is there and can't be read: that isn't the same as nothing."""
    try:
        return ask(path)
    except UnreadableError as error:
        raise unreadable(project.path, path, str(error)) from None
