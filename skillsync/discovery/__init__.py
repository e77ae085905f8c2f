"""What do the installed packages ship? Reads only; one module per ecosystem, and one line for it in the table below."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from importlib import import_module
from typing import TYPE_CHECKING

from skillsync.errors import Code, Problem, SkillsyncError, UnreadableError
from skillsync.filesystem import list_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillsync.discovery.environment import Ecosystem, Environment, NoEnvironment

PYPI = "pypi"  # the one whose environment a person can name

# By name: the files that show that a project uses it, and its module.
_TABLE = {
    "gem": (("Gemfile", "gems.rb", "Gemfile.lock", "gems.locked", "*.gemspec"), "skillsync.discovery.gem.ecosystem"),
    PYPI: (
        (".venv", "pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt"),
        "skillsync.discovery.pypi.ecosystem",
    ),
    "npm": (("package.json",), "skillsync.discovery.npm.ecosystem"),
    "cargo": (("Cargo.toml", "Cargo.lock"), "skillsync.discovery.cargo"),
}


class _Ecosystems(Mapping[str, "Ecosystem"]):
    """The ecosystems by name. A module is imported when it is asked for: a project has one or two of them."""

    def __getitem__(self, name: str) -> Ecosystem:
        module: Ecosystem = import_module(_TABLE[name][1])
        return module

    def __iter__(self) -> Iterator[str]:
        return iter(_TABLE)

    def __len__(self) -> int:
        return len(_TABLE)

    def __contains__(self, name: object) -> bool:
        return name in _TABLE


ECOSYSTEMS: Mapping[str, Ecosystem] = _Ecosystems()


def markers(ecosystem: str) -> tuple[str, ...]:
    """Return the files that show that a project uses an ecosystem; `*` is anything."""
    return _TABLE[ecosystem][0]


def marked(project: str) -> set[str]:
    """Return the ecosystems whose files a project directory has. Raises SkillsyncError if it can't be listed."""
    try:
        names = list_directory(project) or ()
    except UnreadableError as error:
        message = f"{project} can't be read: {error}"
        hint = "correct its permissions"
        raise SkillsyncError(Problem(code=Code.ENVIRONMENT_UNREADABLE, message=message, hint=hint)) from None
    return {
        ecosystem
        for ecosystem, (patterns, _) in _TABLE.items()
        if any(fnmatchcase(name, pattern) for pattern in patterns for name in names)
    }


def read(
    ecosystem: str, project: str, environ: Mapping[str, str], *, python: str | None
) -> Environment | NoEnvironment:
    """Read what an ecosystem has installed for the project; `python` is the environment that the person named.

    Raises SkillsyncError for a dependency lock that can't be read.
    """
    if ecosystem == PYPI:
        from skillsync.discovery.pypi.ecosystem import read as read_python

        return read_python(project, environ, python=python)
    return ECOSYSTEMS[ecosystem].read(project, environ)
