"""Where Ruby keeps gems: homes with `gems/`, `specifications/` and `bundler/gems/`, and the gem environment of them.

Invariants: a directory's name is never split into name and version: a locked gem's own directory is asked for, anything
else is known by a stub line; of Ruby only the interpreter on PATH is run, with nothing of the project's in it.
"""

from __future__ import annotations

import os
import posixpath
import re
from bisect import bisect_left
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from skillsync.discovery.gem import rubygems
from skillsync.errors import Code, Problem, SkillsyncError, UnreadableError
from skillsync.filesystem import is_directory, list_directory, read_start
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_GEMSPEC_START = 64 * 1024
_TIMEOUT = 20.0  # seconds; a version manager's shim may have to find its Ruby first
_ASK = 'print [RUBY_ENGINE + "/" + RbConfig::CONFIG["ruby_version"], *Gem.path].join("\\0")'
_ENGINE = r"[a-z]+"
_ABI = r"[0-9]+(?:[.+-][0-9A-Za-z]+)*"


class Ruby:
    """The active Ruby, asked at most once and only when an answer is needed."""

    def __init__(self, project: str, environ: Mapping[str, str]) -> None:
        """Take the directory that a version manager chooses the Ruby for."""
        self._project = project
        self._environ = environ

    @property
    def abi(self) -> str | None:
        """The part of Bundler's path that is its own (`ruby/3.4.0`), or None if it isn't known."""
        return self._answer[0] if self._answer else None

    @property
    def path(self) -> tuple[str, ...]:
        """The directories of its gem environment, none if they aren't known."""
        return self._answer[1:]

    @cached_property
    def _answer(self) -> tuple[str, ...]:
        import shutil
        import subprocess

        ruby = shutil.which("ruby", path=self._environ.get("PATH", ""))
        if ruby is None or not ruby.startswith("/"):
            return ()
        kept = {key: value for key, value in self._environ.items() if not _is_injected(key)}
        try:
            answer = subprocess.run(  # noqa: S603  the text is ours, the program the person's own Ruby
                (ruby, "-e", _ASK),
                cwd=self._project,
                env=kept,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return ()
        abi, *path = os.fsdecode(answer.stdout).split("\0")
        return (abi, *(directory for directory in path if directory.startswith("/")))


def environment(ruby: Ruby, project: str, environ: Mapping[str, str]) -> list[str]:
    """Return the directories of the gem environment, in the order in which RubyGems looks into them."""
    given = [*environ.get("GEM_PATH", "").split(os.pathsep), environ.get("GEM_HOME", "")]
    named = [posixpath.normpath(posixpath.join(project, directory)) for directory in given if directory]
    return list(dict.fromkeys(named or ruby.path))


def below(base: str, ruby: Ruby) -> list[str]:
    """Return the homes below Bundler's path, `ENGINE/ABI/`, in the order in which they count.

    Of several, the active Ruby's alone; where that isn't known or isn't among them, all, from the newest.
    """
    found = [
        f"{engine}/{abi}"
        for engine in listing(base)
        if re.fullmatch(_ENGINE, engine)
        for abi in listing(f"{base}/{engine}")
        if re.fullmatch(_ABI, abi) and exists(f"{base}/{engine}/{abi}")
    ]
    if len(found) > 1:
        found = [home for home in found if home == ruby.abi] or sorted(found, key=_age, reverse=True)
    return [f"{base}/{home}" for home in found]


class Home(Value):
    """One directory of gems. `names` are those in `gems`, sorted."""

    path: str
    gems: str
    names: tuple[str, ...]

    @classmethod
    def open(cls, path: str) -> Home:
        """Open a directory that RubyGems installs into."""
        return cls(path=path, gems=f"{path}/gems", names=tuple(listing(f"{path}/gems")))

    @classmethod
    def cache(cls, path: str) -> Home:
        """Open a directory that gems were unpacked into."""
        return cls(path=path, gems=path, names=tuple(listing(path)))

    def variants(self, name: str, version: str, platforms: frozenset[str]) -> list[str]:
        """Return the full names under which a gem of a version is there, one for each platform."""
        locked = {rubygems.full_name(name, version, platform) for platform in platforms}
        plain = f"{name}-{version}"
        later = (self.names[at] for at in range(bisect_left(self.names, plain), len(self.names)))
        near = takewhile(lambda full: full.startswith(plain), later)
        return [
            full
            for full in near
            if (full in locked or self._says(full, name, version)) and exists(f"{self.gems}/{full}")
        ]

    def _says(self, full: str, name: str, version: str) -> bool:
        """Whether a gemspec's stub line says that a directory holds a gem of a version."""
        found = read_stub(f"{self.path}/specifications/{full}.gemspec")
        return found is not None and (found.name, found.version, found.full_name) == (name, version, full)


def installed(path: str) -> Iterator[rubygems.Stub | str]:
    """Yield what the gemspecs of a home say, or, of one that can't be read, its path."""
    for directory in (f"{path}/specifications", f"{path}/specifications/default"):
        for entry in listing(directory):
            if entry.endswith(".gemspec"):
                yield read_stub(f"{directory}/{entry}") or f"{directory}/{entry}"


def read_stub(path: str) -> rubygems.Stub | None:
    """Return what a gemspec's stub line says, None where there is no such file or no such line."""
    try:
        start = read_start(path, _GEMSPEC_START, follow=True)
    except UnreadableError:
        return None
    return rubygems.stub(start.decode(errors="replace")) if start else None


def listing(path: str) -> list[str]:
    """Return the names in a directory, none if there is no directory. Raises SkillsyncError if it can't be read."""
    try:
        return list_directory(path) or []
    except UnreadableError as error:
        raise _unreadable(path, error) from None


def exists(path: str) -> bool:
    """Whether a directory is there. Raises SkillsyncError if that can't be told."""
    try:
        return is_directory(path)
    except UnreadableError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: UnreadableError) -> SkillsyncError:
    """Stop: what can't be read is not the same as what isn't there."""
    return SkillsyncError(
        Problem(
            code=Code.ENVIRONMENT_UNREADABLE,
            message=f"{path} can't be read: {error}",
            hint="make the directory readable, or take it out of GEM_PATH or Bundler's settings",
        )
    )


def _is_injected(variable: str) -> bool:
    """Whether an environment variable makes Ruby load code or a bundle that it wouldn't load by itself."""
    return variable in {"RUBYOPT", "RUBYLIB", "RUBYGEMS_GEMDEPS"} or variable.startswith(("BUNDLE_", "BUNDLER_"))


def _age(home: str) -> tuple[bool, rubygems.VersionKey]:
    """Return a key by which the newest ABI comes last, and those of other engines than Ruby before all of Ruby's."""
    engine, abi = home.split("/")
    return engine == "ruby", rubygems.version_key(abi.replace("+", ".").replace("-", "."))
