"""Bundler's files as values: the lock, the names in a Gemfile, and the settings that say where gems are.

Invariants: texts in, values out; names, versions, remotes and revisions are given as they stand in the lock, so that
whoever makes a path of one checks it first; a lock that isn't understood in full is an error, never a shorter lock.
"""

from __future__ import annotations

import posixpath
import re
from enum import Enum
from typing import TYPE_CHECKING, Final

from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GEMFILES: Final = ("gems.rb", "Gemfile")  # Bundler prefers the first where both are there
DEFAULT_GLOB: Final = "{,*,*/*}.gemspec"
VENDOR: Final = "vendor/bundle"

_CONFLICT_MARKERS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
_SECTIONS = frozenset({"GIT", "PATH", "GEM", "PLUGIN SOURCE", "PLATFORMS", "DEPENDENCIES", "BUNDLED WITH"})
_LOCKED_GEM = r"    (?P<name>\S[^()]*) \((?P<version>[^-()]*)(?:-(?P<platform>[^()]*))?\)"
_OPTION = r"  (?P<key>[A-Za-z]+):(?: (?P<value>.*))?"
_REVISION = r"[0-9a-fA-F]{7,64}"
# What Bundler cuts off a git remote before it takes the last component: scheme, host or user, one-word directories.
_BEFORE_BASE = r"(?a)(?:\w+://)?(?:[^/:]+:)?(?://\w*/)?(?:\w*/)*"
_GEM_CALL = r"""(?msx)
      ^=begin\b.*?(?:^=end\b|\Z)  |  ^__END__$.*
    | \#[^\n]*
    | (?<![\w.@$:])gem (?:[ \t]*\(\s*|[ \t]+) (?P<quote>["'])(?P<name>[A-Za-z0-9._-]+)(?P=quote)
    | "(?:\\.?|[^"\\\n])*(?:"|$)  |  '(?:\\.?|[^'\\\n])*(?:'|$)
    """
_SETTING = r"(?P<key>BUNDLE_[^\s:]+(?::[^\s:]+)*):[ \t]+(?P<value>.+)"


class LockTextError(ValueError):
    """A text is no lock of Bundler's; says why, at which line (counted from 1), and the step that helps."""

    def __init__(self, reason: str, *, line: int | None = None, hint: str = "run `bundle install`") -> None:
        """Take the reason without the file's name."""
        super().__init__(reason)
        self.line = line
        self.hint = hint


class Kind(Enum):
    """Where the gems of a source come from, by the name of its section."""

    GEM = "GEM"
    GIT = "GIT"
    PATH = "PATH"


class LockedGem(Value):
    """One row of a source; `platform` is `ruby` where the row names none."""

    name: str
    version: str
    platform: str
    line: int


class Source(Value):
    """One section of a lock. `revision` stands only in GIT, `glob` says which gemspecs count."""

    kind: Kind
    remote: str
    revision: str
    glob: str
    gems: tuple[LockedGem, ...]
    line: int

    @property
    def checkout(self) -> str | None:
        """The name of a GIT source's directory, or None if the lock gives none that could be one."""
        base = posixpath.basename(re.sub(_BEFORE_BASE, "", self.remote, count=1).rstrip("/"))
        base = base.removesuffix(".git") or base
        if not re.fullmatch(_REVISION, self.revision) or not base.isprintable():
            return None
        return f"{base}-{self.revision[:12]}"


class Lock(Value):
    """A Gemfile.lock or gems.locked. `dependencies` are the gems that the Gemfile asks for by name."""

    sources: tuple[Source, ...]
    dependencies: frozenset[str]

    @property
    def named(self) -> frozenset[str]:
        """Every gem that the lock names."""
        return self.dependencies.union(gem.name for source in self.sources for gem in source.gems)


def lock_name(gemfile: str) -> str:
    """Return the path of a Gemfile's lock."""
    if posixpath.basename(gemfile) == "gems.rb":
        return gemfile.removesuffix(".rb") + ".locked"
    return gemfile + ".lock"


def parse_lock(text: str) -> Lock:
    """Read a lock. Raises LockTextError for anything that Bundler wouldn't have written there."""
    sources: list[Source] = []
    dependencies: set[str] = set()
    known = False
    for head, line, body in _sections(text):
        known = known or head in _SECTIONS
        if head in Kind.__members__:
            sources.append(_source(Kind(head), line, body))
        elif head == "DEPENDENCIES":
            dependencies.update(_dependencies(body))
    if not known:
        reason = "it is empty" if not text.strip() else "it has no section of a Bundler lock"
        raise LockTextError(reason)
    return Lock(sources=tuple(sources), dependencies=frozenset(dependencies))


def gem_names(text: str) -> frozenset[str]:
    """Return the names in a Gemfile's `gem "NAME"` calls, without evaluating it: comments and texts don't count."""
    return frozenset(found["name"] for found in re.finditer(_GEM_CALL, text) if found["name"])


class Settings(Value):
    """Bundler's settings, by their keys (`BUNDLE_PATH`), the level that counts first at the front."""

    levels: tuple[Mapping[str, str], ...]

    def value(self, key: str) -> str | None:
        """Return the setting of the first level that has it."""
        return next((level[key] for level in self.levels if key in level), None)

    @property
    def path(self) -> str | None:
        """The directory that holds `ENGINE/ABI/`, or None if gems go straight into the gem environment.

        One level decides alone: a `path.system` of the environment isn't overruled by a `path` for the whole user.
        """
        for level in self.levels:
            path = level.get("BUNDLE_PATH", VENDOR if _is_true(level.get("BUNDLE_DEPLOYMENT", "")) else None)
            system = level.get("BUNDLE_PATH__SYSTEM")
            shared = level.get("BUNDLE_DISABLE_SHARED_GEMS")
            if _is_true(system or "") or (shared is not None and not _is_true(shared)):
                return None
            if path not in {None, "", "false"}:
                return path
            if any(setting is not None for setting in (path, system, shared)):
                break
        return ".bundle" if _is_true(self.value("BUNDLE_DEFAULT_INSTALL_USES_PATH") or "") else None

    @property
    def cache_path(self) -> str:
        """The directory of cached gems, relative to the Gemfile's."""
        return self.value("BUNDLE_CACHE_PATH") or "vendor/cache"

    def override(self, gem: str) -> str | None:
        """Return the directory that `bundle config local.GEM` puts in a git checkout's place.

        Bundler knows the gem by what the key reads as, in lower case: for any other name the setting does nothing.
        """
        key = "BUNDLE_LOCAL__" + gem.replace(".", "__").replace("-", "___").upper()
        reads_as = key.removeprefix("BUNDLE_LOCAL__").replace("___", "-").replace("__", ".").lower()
        return self.value(key) if reads_as == gem else None


def parse_config(text: str) -> dict[str, str]:
    """Read the top level of a Bundler config file, which is flat, and quoted without escapes."""
    found = {}
    for line in text.removeprefix("\ufeff").split("\n"):
        if setting := re.fullmatch(_SETTING, line.rstrip(" \t\r")):
            value = setting["value"]
            if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
                value = value[1:-1]
            found[setting["key"].replace("-", "___").replace(".", "__")] = value
    return found


def settings(local: str, environ: Mapping[str, str], user: str) -> Settings:
    """Put together the texts of the project's and the user's config files and the environment between them."""
    environment = {key: value for key, value in environ.items() if key.startswith("BUNDLE_")}
    return Settings(levels=(parse_config(local), environment, parse_config(user)))


def local_config(root: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of the config file of the project whose Gemfile is in a directory."""
    if "BUNDLE_IGNORE_CONFIG" in environ:
        return None
    return expand(environ.get("BUNDLE_APP_CONFIG", ".bundle"), root, environ) + "/config"


def user_config(base: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of the user's config file; `base` is what a relative one is relative to."""
    if "BUNDLE_IGNORE_CONFIG" in environ:
        return None
    given = environ.get("BUNDLE_CONFIG") or environ.get("BUNDLE_USER_CONFIG")
    if not given:
        home = environ.get("BUNDLE_USER_HOME") or (environ.get("HOME") and environ["HOME"] + "/.bundle")
        given = f"{home}/config" if home else None
    return posixpath.join(base, given) if given else None


def expand(path: str, base: str, environ: Mapping[str, str]) -> str:
    """Return the absolute path that Ruby expands one to: `~` is the home directory, `..` is taken off the text."""
    home = environ.get("HOME", "")
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return posixpath.normpath(posixpath.join(base, path))


def _is_true(value: str) -> bool:
    """Read a setting as Bundler reads its switches."""
    return value.lower() not in {"false", "f", "no", "n", "0", ""}


def _sections(text: str) -> Iterator[tuple[str, int, list[tuple[int, str]]]]:
    """Yield the sections of a lock: the head, its line's number, and the numbered lines below it."""
    head, at = "", 0
    body: list[tuple[int, str]] = []
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.rstrip(" \t\r")
        if line.startswith(_CONFLICT_MARKERS):
            reason = "merge conflict markers"
            raise LockTextError(reason, line=number, hint="resolve the conflict and run `bundle install`")
        if line[:1].strip():
            yield head, at, body
            head, at, body = line, number, []
        elif line:
            body.append((number, line))
    yield head, at, body


def _source(kind: Kind, line: int, body: list[tuple[int, str]]) -> Source:
    """Read a section of gems: options, then `specs:`, then the gems with their dependencies below each."""
    options: dict[str, str] = {}
    gems: list[LockedGem] = []
    for number, text in body:
        if text.startswith(" " * 6):
            continue
        gem = re.fullmatch(_LOCKED_GEM, text)
        option = re.fullmatch(_OPTION, text)
        if gem and "specs" in options:
            version, platform = gem["version"], gem["platform"] or "ruby"
            gems.append(LockedGem(name=gem["name"], version=version, platform=platform, line=number))
        elif option:
            options[option["key"]] = option["value"] or ""
        else:
            reason = f"a line that Bundler doesn't write in a {kind.value} section"
            raise LockTextError(reason, line=number)
    return Source(
        kind=kind,
        remote=options.get("remote", ""),
        revision=options.get("revision", ""),
        glob=options.get("glob", DEFAULT_GLOB),
        gems=tuple(gems),
        line=line,
    )


def _dependencies(body: list[tuple[int, str]]) -> Iterator[str]:
    """Yield the names of a DEPENDENCIES section: `  NAME (REQUIREMENT)!`."""
    for _, text in body:
        name = text.strip().partition(" (")[0].removesuffix("!")
        if text.startswith("  ") and not text.startswith("   "):
            yield name
