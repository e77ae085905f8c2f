"""Looks into one installed package: which skills are in it, and what is there that is none.

Invariants: reads the directories named by the ecosystem or the manifest, and only `groups` one level below; follows no
link below the package's root; one bad skill never hides its siblings; whatever is passed over is noted with a reason.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from skillsync.discovery.skill import READ_SIZE, about, parse
from skillsync.errors import Code, Problem, Severity, UnreadableError
from skillsync.filesystem import Kind, is_absent, is_utf8, listing, open_directory, read_start, shown
from skillsync.hashing import SKILL_FILE, File
from skillsync.snapshot import Snapshot, snapshot
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping
    from contextlib import AbstractContextManager

    from skillsync.discovery.environment import Package


_NO_FILE = f"has no {SKILL_FILE}"


class FoundSkill(Value):
    """A skill as its package ships it. `path` is relative to the package's root.

    `problems` are errors where a MUST is broken: who reads them for a project decides whether it has to stop.
    `snapshot` is what was read of its files, hidden characters looked for, if that was asked for: its frontmatter is of
    the same read, so what was found valid is what is hashed. `is_link` tells whether its directory, or its SKILL.md, is
    a link: nothing of it was read then.
    """

    name: str
    path: str
    description: str
    problems: tuple[Problem, ...]
    is_valid: bool
    snapshot: Snapshot | None = None
    is_link: bool = False


class Ignored(Value):
    """Something in a skills directory that is no skill."""

    path: str
    reason: str


class Provider(Value):
    """A package and the skills that were found in it.

    `places` are those that exist. `problems` are warnings about the whole package, and errors where it is admitted.
    """

    package: Package
    places: tuple[str, ...]
    skills: tuple[FoundSkill, ...]
    ignored: tuple[Ignored, ...]
    problems: tuple[Problem, ...]


class Inside(Protocol):
    """A child of a skills directory, as far as it tells whether it is a skill: on disk, or in an archive."""

    @property
    def entries(self) -> Mapping[str, Kind]:
        """What is in it, by name."""

    def start(self, *, linked: bool) -> bytes | None:
        """Return the start of its SKILL.md; if that is a link which may stand for a file, None where it doesn't."""

    def whole(self) -> Snapshot | None:
        """Return what was read of all its files, of the same read, None where that is not wanted."""


class _FileUnreadableError(OSError):
    """The system refused a file of a skill: that says nothing of the skill, and ends the reading."""


def _none(_skill: str) -> bool:
    return False


def look(package: Package, places: tuple[str, ...], is_wanted: Callable[[str], bool] = _none) -> Provider:
    """Find the skills of a package in the given directories, relative to its root. Rules: packaging spec, section 5.

    `is_wanted` tells by its name of which skill all files are read. Raises OSError for one that can't be.
    """
    found: list[str] = []
    skills: list[FoundSkill] = []
    ignored: list[Ignored] = []
    problems: list[Problem] = [*package.problems]
    for place in places:
        # Most packages have no skills, which is told sooner than by an error. What is behind a link is no absence.
        if is_absent(f"{package.root}/{place.partition('/')[0]}"):
            ignored += _gone(package, place, ())
            continue
        try:
            with open_directory(package.root, place) as fd:
                found.append(place)
                entries = listing(fd)
                for name, kind in entries.items():
                    child = child_of(package, place, name, kind, _opener(fd, package, place, is_wanted))
                    if isinstance(child, FoundSkill):
                        skills.append(child)
                    else:
                        ignored.append(child)
                ignored += _gone(package, place, entries)
        except FileNotFoundError:
            ignored += _gone(package, place, ())
        except NotADirectoryError:
            ignored.append(Ignored(path=place, reason="is a file, not a directory of skills"))
        except UnreadableError as error:
            problems.append(_problem(package, Code.UNSAFE_SKILL, place, f"{place} is not read: {error}"))
        except _FileUnreadableError:
            raise
        except OSError as error:
            problems.append(_problem(package, Code.IO, place, f"{place} can't be read: {error.strerror}"))
    return Provider(
        package=package,
        places=tuple(found),
        skills=tuple(skills),
        ignored=tuple(ignored),
        problems=tuple(problems),
    )


def groups(provider: Provider) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the directories that were passed over and have skills in them, one level too deep, each with their names.

    Only who asks why a skill isn't found has them read.
    """
    for one in provider.ignored:
        if one.reason == _NO_FILE and (found := look(provider.package, (one.path,)).skills):
            yield one.path, tuple(skill.name for skill in found)


def _gone(package: Package, place: str, entries: Container[str]) -> Iterator[Ignored]:
    """Yield the directories that the installer listed in a place and that aren't there: lost, not taken out."""
    prefix = f"{place}/"
    listed = package.record.directories if package.record else frozenset()
    below = (path.removeprefix(prefix) for path in listed if path.startswith(prefix))
    for name in sorted({path for path in below if "/" not in path}):
        if name not in entries:
            yield Ignored(path=f"{place}/{shown(name)}", reason="is listed by the installer and not there")


def _problem(package: Package, code: Code, path: str, message: str) -> Problem:
    return Problem(
        code=code,
        message=f"{package.key} {package.version}: {message}",
        hint="report it to the package's authors",
        severity=Severity.WARNING,
        provider=package.key,
        path=path,
        root=package.root,
    )


def child_of(
    package: Package, place: str, name: str, kind: Kind, opened: Callable[[str], AbstractContextManager[Inside]]
) -> FoundSkill | Ignored:
    """Tell whether a child of a skills directory is a skill; `opened` opens it by its name."""
    path = f"{place}/{shown(name)}"
    if not package.owns(f"{place}/{name}"):
        return Ignored(path=path, reason="is not listed as this package's by its installer")
    if name.startswith("."):
        return Ignored(path=path, reason="its name begins with a dot")
    if kind in {Kind.FILE, Kind.OTHER}:
        return Ignored(path=path, reason=f"is {kind.value}, not a skill's directory")
    if kind is Kind.LINK:
        return _link(package, name, path)
    try:
        with opened(name) as inner:
            return _directory(package, name, path, inner)
    except _FileUnreadableError:
        raise
    except (OSError, UnreadableError) as error:
        return _invalid(package, name, path, f"can't be read: {getattr(error, 'strerror', error)}", None)


def _link(package: Package, name: str, path: str) -> FoundSkill | Ignored:
    """Tell whether a link, which isn't followed, was meant for a skill: there is no dot in a skill's name."""
    if "." in name:
        return Ignored(path=path, reason="is a link, and its name no skill's")
    wrong = _invalid(package, name, path, "is a symbolic link, and has to be a directory", "ship the directory itself")
    return replace(wrong, is_link=True)


def _directory(package: Package, name: str, path: str, inner: Inside) -> FoundSkill | Ignored:
    """Read the skill in an open directory, if it is one."""
    entries = inner.entries
    file = f"{path}/{SKILL_FILE}"
    if SKILL_FILE not in entries:
        other = next((entry for entry in entries if entry.casefold() == SKILL_FILE.casefold()), None)
        if other is None:
            return Ignored(path=path, reason=_NO_FILE)
        wrong = _invalid(
            package, name, f"{path}/{other}", f"has to be named {SKILL_FILE}", f"rename it to {SKILL_FILE}"
        )
        return replace(wrong, path=path, snapshot=inner.whole())
    # Some installers put a link into their cache in each file's place. What it leads to is read as text only after the
    # tree walker has found that it is what was installed.
    linked = entries[SKILL_FILE] is Kind.LINK and bool(package.recorded(path).get(SKILL_FILE))
    if entries[SKILL_FILE] is not Kind.FILE and not linked:
        kind = entries[SKILL_FILE]
        wrong = _invalid(package, name, file, f"is {kind.value}, and has to be a regular file", "ship the file itself")
        return replace(wrong, path=path, snapshot=inner.whole(), is_link=kind is Kind.LINK)
    content = inner.start(linked=linked)
    if content is None:
        message = "is a link, and does not lead to the file that was installed"
        return _invalid(package, name, file, message, "reinstall the package")
    parsed = parse(content, about(package.key, shown(name), file))
    problems = tuple(_named(package, problem) for problem in parsed.problems)
    if not is_utf8(name):
        return _invalid(package, name, path, "has a name that is not UTF-8", "rename it")
    return FoundSkill(
        name=name,
        path=path,
        description=parsed.description,
        problems=problems,
        is_valid=not any(problem.is_error for problem in parsed.problems),
        snapshot=inner.whole(),
    )


def _opener(
    fd: int, package: Package, place: str, is_wanted: Callable[[str], bool]
) -> Callable[[str], AbstractContextManager[Inside]]:
    @contextmanager
    def opened(name: str) -> Iterator[Inside]:
        with open_directory(name, dir_fd=fd) as inner:
            yield _OnDisk(inner, package, f"{place}/{shown(name)}", is_wanted=is_wanted(name))

    return opened


class _OnDisk:
    """A directory that is open; `path` is its, relative to the package's root."""

    def __init__(self, fd: int, package: Package, path: str, *, is_wanted: bool) -> None:
        self._fd = fd
        self._package = package
        self._path = path
        self._is_wanted = is_wanted
        self._start = _Start()
        self.entries = listing(fd)

    def start(self, *, linked: bool) -> bytes | None:
        if (linked or self._is_wanted) and isinstance(self._all.tree.get(SKILL_FILE), File):
            return self._start.content
        return None if linked else read_start(SKILL_FILE, READ_SIZE, dir_fd=self._fd) or b""

    def whole(self) -> Snapshot | None:
        return self._all if self._is_wanted else None

    @cached_property
    def _all(self) -> Snapshot:
        return _whole(self._package, self._path, self._fd, self._start)


class _Start:
    """The first bytes of a file that comes in chunks: as many as frontmatter can take."""

    def __init__(self) -> None:
        self.content = b""

    def add(self, chunk: bytes) -> None:
        if len(self.content) < READ_SIZE:
            self.content += chunk[: READ_SIZE - len(self.content)]


def _whole(package: Package, path: str, fd: int, start: _Start) -> Snapshot:
    """Read all files of the skill in an open directory. Raises _FileUnreadableError, of SKILL.md OSError."""
    label = f"{package.root}/{path}"
    try:
        return snapshot(fd, label, recorded=package.recorded(path), judge=start.add)
    except OSError as error:
        if error.filename == f"{label}/{SKILL_FILE}":
            raise
        raise _FileUnreadableError(error.errno, error.strerror, error.filename) from error


def _invalid(package: Package, name: str, path: str, message: str, hint: str | None) -> FoundSkill:
    problem = replace(about(package.key, shown(name), path), message=message, hint=hint)
    return FoundSkill(name=shown(name), path=path, description="", problems=(_named(package, problem),), is_valid=False)


def _named(package: Package, problem: Problem) -> Problem:
    """Say whose file it is: the path alone is relative to a root that nobody sees."""
    message = f"{package.key} {package.version}: {problem.path} {problem.message}"
    return replace(problem, message=message, root=package.root)
