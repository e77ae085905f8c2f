"""The `gem` ecosystem: the gems of a bundle as its lock has them, else every gem of the gem environment.

Invariants: files are read, never Ruby code run that a project or a gem brings; what is absent, what can't be read and
what is there without gems are three results; a package's source is always one of the environment's.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from skillsync.discovery.environment import Environment, NoEnvironment, Package, unreadable
from skillsync.discovery.gem import bundler
from skillsync.discovery.gem import home as gem_home
from skillsync.discovery.gem import search as gem_search
from skillsync.discovery.gem.home import Ruby
from skillsync.discovery.gem.rubygems import requirement, version_key
from skillsync.discovery.gem.search import Bundle
from skillsync.errors import Code, Problem, Severity, SkillsyncError, UnreadableError
from skillsync.filesystem import read_file, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["NAME", "canonical", "read", "requirement", "version_key"]

NAME: Final = "gem"

_PLACES = ("skills",)
_DEPENDENCY_FILE_LIMIT = 512 * 1024  # a lock of 1,000 gems takes some 60 KiB
_CONFIG_LIMIT = 1024 * 1024
_LISTED = 5
_INSTALL = "bundle install"
_SET_HOME = f"run `{_INSTALL}`, or set GEM_HOME to the directory that gems are installed into"


def canonical(name: str) -> str:
    """Return the name: RubyGems knows each by one spelling."""
    return name


def read(project: str, environ: Mapping[str, str]) -> Environment | NoEnvironment:
    """Read the bundle of the project, or the gem environment if it has none.

    Raises SkillsyncError for a lock, a Gemfile, a setting or a directory that is there and can't be read.
    """
    ruby = Ruby(project, environ)
    gemfile, settings = _gemfile(project, environ)
    text = _text(project, gemfile, _DEPENDENCY_FILE_LIMIT, errors="replace")
    lock = _lock(project, bundler.lock_name(gemfile))
    named = bundler.gem_names(text or "").union(lock.named if lock else ())
    if lock is not None:
        root = posixpath.dirname(gemfile)
        bundle = Bundle(
            project=project,
            root=root,
            lock_path=bundler.lock_name(gemfile),
            lock=lock,
            settings=settings,
            environ=environ,
        )
        return _bundled(bundle, ruby, named)
    if text is None and settings.value("BUNDLE_GEMFILE"):
        message = f"BUNDLE_GEMFILE names {_display(project, gemfile)}, and there is neither that file nor its lock"
        return _none(message, named, hint="unset BUNDLE_GEMFILE, or let it name the project's Gemfile")
    unlocked = () if text is None else (_unlocked(project, gemfile),)
    return _unbundled(project, environ, ruby, named, unlocked)


def _bundled(bundle: Bundle, ruby: Ruby, named: frozenset[str]) -> Environment | NoEnvironment:
    """Read the gems of a lock."""
    project = bundle.project
    gems, unusable = gem_search.wanted(bundle.lock)
    search = gem_search.search(bundle, gems, ruby)
    lock = _display(project, bundle.lock_path)
    if search.absent is not None:
        missing = _some([gem.name for gem in search.left])
        message = f"{_no_homes(project, search.absent)}, and {missing} of {lock} is in no other place"
        return _none(message, named, hint=_SET_HOME)
    own = {gem for gem, hits in search.found.items() if any(hit.root == project for hit in hits)}
    found = {
        gem: [_package(gem.name, gem.version, hit.root, _display(project, hit.source)) for hit in hits]
        for gem, hits in search.found.items()
    }
    packages = [package for gem, of_it in found.items() if gem not in own for package in of_it]
    if not packages and len(gems) + len(unusable) > len(own):
        where = _some([_display(project, path) for path in search.looked]) or bundler.VENDOR
        return _none(f"none of the gems of {lock} is installed: looked in {where}", named)
    sources = dict.fromkeys(_display(project, path) for path in search.looked)
    sources.update(dict.fromkeys(package.source for package in packages))
    problems = [
        _warning(f"{lock}:{row.line}: a gem is left out: {row.reason}", project, bundle.lock_path, row.line)
        for row in unusable
    ]
    return Environment(
        ecosystem=NAME,
        sources=tuple(sources) or (lock,),
        packages=tuple(packages),
        named=named,
        install=_INSTALL,
        problems=tuple(problems),
        own=tuple(package for gem, of_it in found.items() if gem in own for package in of_it),
    )


def _unbundled(
    project: str, environ: Mapping[str, str], ruby: Ruby, named: frozenset[str], unlocked: tuple[Problem, ...]
) -> Environment | NoEnvironment:
    """Read every gem of the gem environment."""
    directories = gem_home.environment(ruby, project, environ)
    homes = [path for path in directories if gem_home.exists(path)]
    if not homes:
        return _none(_no_homes(project, directories), named, hint=_SET_HOME)
    packages: dict[str, Package] = {}
    problems = [*unlocked]
    for home in homes:
        for stub in gem_home.installed(home):
            if isinstance(stub, str):
                message = f"{_display(project, stub)} has no stub line that can be read: the gem is left out"
                problems.append(_warning(message, project, stub))
            elif stub.full_name not in packages and gem_home.exists(root := f"{home}/gems/{stub.full_name}"):
                packages[stub.full_name] = _package(stub.name, stub.version, root, _display(project, home))
    return Environment(
        ecosystem=NAME,
        sources=tuple(_display(project, home) for home in homes),
        packages=tuple(packages.values()),
        named=named,
        install=_INSTALL,
        problems=tuple(problems),
    )


def _gemfile(project: str, environ: Mapping[str, str]) -> tuple[str, bundler.Settings]:
    """Return the path of the Gemfile, whether it is there or not, and the settings that go with it."""
    given = environ.get("BUNDLE_GEMFILE")
    root = posixpath.dirname(bundler.expand(given, project, environ)) if given else project
    settings = _settings(project, root, environ)
    if moved := settings.value("BUNDLE_GEMFILE"):
        gemfile = bundler.expand(moved, project, environ)
        # Bundler starts over from where its own settings have sent it.
        return gemfile, _settings(project, posixpath.dirname(gemfile), environ)
    there = set(gem_home.listing(project))
    choices = [
        *(name for name in bundler.GEMFILES if name in there),
        *(name for name in bundler.GEMFILES if bundler.lock_name(name) in there),
        bundler.GEMFILES[-1],
    ]
    return f"{project}/{choices[0]}", settings


def _settings(project: str, root: str, environ: Mapping[str, str]) -> bundler.Settings:
    """Read Bundler's settings for the Gemfile in a directory."""
    paths = bundler.local_config(root, environ), bundler.user_config(project, environ)
    local, user = (path and _text(project, path, _CONFIG_LIMIT, errors="surrogateescape") for path in paths)
    return bundler.settings(local or "", environ, user or "")


def _lock(project: str, path: str) -> bundler.Lock | None:
    """Read a bundle's lock, None if there is none."""
    text = _text(project, path, _DEPENDENCY_FILE_LIMIT)
    try:
        return None if text is None else bundler.parse_lock(text)
    except bundler.LockTextError as error:
        raise _unreadable(project, path, str(error), line=error.line, hint=error.hint) from None


def _text(project: str, path: str, limit: int, *, errors: str = "strict") -> str | None:
    """Read a text file, None if there is none."""
    try:
        content = read_file(path, limit, follow=True)
    except UnreadableError as error:
        raise _unreadable(project, path, str(error), hint="restore the file") from None
    if content is None:
        return None
    bad = content.find(b"\0")
    if bad < 0:
        try:
            return content.decode(errors=errors)
        except UnicodeDecodeError as error:
            bad = error.start
    line = content.count(b"\n", 0, bad) + 1
    raise _unreadable(project, path, "it is not UTF-8 text", line=line, hint="restore the file")


def _unreadable(project: str, path: str, reason: str, *, hint: str, line: int | None = None) -> SkillsyncError:
    """Stop at a file of Bundler's."""
    return unreadable(_display(project, path), reason, hint, _inside(project, path), (line, None))


def _package(name: str, version: str, root: str, source: str) -> Package:
    return Package(ecosystem=NAME, name=name, version=version, root=root, places=_PLACES, source=source)


def _none(message: str, named: frozenset[str], *, hint: str = f"run `{_INSTALL}`") -> NoEnvironment:
    problem = Problem(code=Code.ENVIRONMENT_NOT_FOUND, message=message, hint=hint)
    return NoEnvironment(ecosystem=NAME, problem=problem, named=named)


def _unlocked(project: str, gemfile: str) -> Problem:
    """Say that gems are read which the project may not use."""
    lock = _display(project, bundler.lock_name(gemfile))
    return Problem(
        code=Code.ENVIRONMENT_UNREADABLE,
        message=f"{_display(project, gemfile)} has no {lock}: every gem of the gem environment is read",
        hint="run `bundle lock` or `bundle install`, so that the gems of the bundle are read alone",
        severity=Severity.WARNING,
        path=_inside(project, gemfile),
    )


def _no_homes(project: str, directories: Sequence[str]) -> str:
    """Say which gem environment isn't there."""
    if directories:
        return f"no directory of the gem environment exists: {_some([_display(project, path) for path in directories])}"
    return "GEM_HOME and GEM_PATH are not set, and there is no `ruby` on PATH that says where its gems are"


def _warning(message: str, project: str, path: str, line: int | None = None) -> Problem:
    return Problem(
        code=Code.PACKAGE_UNREADABLE,
        message=message,
        hint=f"run `{_INSTALL}`, or reinstall the gem",
        severity=Severity.WARNING,
        path=_inside(project, path),
        line=line,
    )


def _inside(project: str, path: str) -> str | None:
    """Return a path relative to the project, None if it is outside."""
    return shown(path.removeprefix(project + "/")) if path.startswith(project + "/") else None


def _display(project: str, path: str) -> str:
    """Return a path as it is shown to people."""
    return _inside(project, path) or shown(path)


def _some(names: Sequence[str]) -> str:
    """Return the first of some names."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
