"""The packages of one directory that distributions are installed into: what is whose, and what is wrong with it.

Invariants: the consuming project and the members of its workspace are left out; what is wrong with one distribution
never hides another; whatever had to be left out or could only be guessed at is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillsync.discovery.environment import Package, Record
from skillsync.discovery.pypi import distributions, editable, record
from skillsync.discovery.pypi.attribution import Claim, Share, share_out
from skillsync.discovery.pypi.project import display, inside, unreadable
from skillsync.errors import Code, Problem, Severity, UnreadableError
from skillsync.filesystem import is_directory, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skillsync.discovery.pypi.distributions import Distribution
    from skillsync.discovery.pypi.project import Project

ECOSYSTEM = "pypi"
_LISTED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What is in one directory; `problems` are warnings about what could not be read, `notes` are for --verbose."""

    packages: tuple[Package, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def read(project: Project, site: str) -> Installed:
    """Read the packages of a directory. Raises SkillsyncError if it can't be listed."""
    try:
        found, broken = distributions.read(site)
    except OSError as error:
        raise unreadable(project.path, site, str(error.strerror).lower()) from None
    reader = _Reader(project, site)
    problems = [reader.warning(f"{reader.shown(one.entry)} {one.reason}", one.entry, one.name) for one in broken]
    ordinary: list[Distribution] = []
    trees: list[Distribution] = []
    notes: list[str] = []
    for one in _single(found):
        if project.is_own(one.about.name, one.direct.path if one.direct else None):
            notes.append(f"{label(one)} is left out: it is the project itself, or a member of its workspace")
        else:
            (trees if one.direct and one.direct.is_editable else ordinary).append(one)
    packages: list[Package] = []
    for made in (*map(reader.editable, trees), *reader.ordinary(ordinary)):
        if isinstance(made, Package):
            packages.append(made)
        else:
            problems.append(made)
    return Installed(packages=tuple(packages), problems=tuple(problems), notes=tuple(notes))


class _Reader:
    """Makes packages of the distributions in one directory."""

    def __init__(self, project: Project, site: str) -> None:
        self._project = project
        self._site = site
        self._source = display(project.path, site)

    def editable(self, one: Distribution) -> Package | Problem:
        """Return the package of an editable install, or why there is none."""
        source = one.direct.path if one.direct else ""
        if editable.is_below(source, self._site):
            reason = "its source is said to be among the installed packages"
        elif not _is_there(source):
            reason = f"its source {display(self._project.path, source)} is not there"
        else:
            tree = editable.read(self._site, source, one.files or (), one.hints, one.about.name)
            return self._package(one, tree.root, record.usual_places(tree.packages), None)
        return self.warning(f"{label(one)} is editable, and {reason}: it is left out", one.entry, one.about.name)

    def ordinary(self, found: Sequence[Distribution]) -> Iterator[Package | Problem]:
        """Yield the packages of all distributions that were copied into the directory, and warnings."""
        claims = [self._claim(one) for one in found]
        shares = share_out(claims)
        ambiguous = [*_contested(found, shares), *self._doubled(found, claims)]
        for number, (one, claim, share) in enumerate(zip(found, claims, shares, strict=True)):
            own = tuple(problem for numbers, problem in ambiguous if number in numbers)
            yield self._package(one, self._site, claim.places, share.record, own)
        yield from self._without_record(found, claims)

    def warning(self, message: str, entry: str, name: str | None) -> Problem:
        """Say what could not be read as it should be. `name` is whose it is, if that is known."""
        return Problem(
            code=Code.PACKAGE_UNREADABLE,
            message=message,
            hint=f"run `{self._project.install}`, or reinstall the package",
            severity=Severity.WARNING,
            provider=f"{ECOSYSTEM}:{name}" if name else None,
            path=inside(self._project.path, f"{self._site}/{entry}".rstrip("/")),
        )

    def shown(self, entry: str) -> str:
        """Return the path of metadata as it is shown to people."""
        return f"{self._source}/{shown(entry)}"

    def _claim(self, one: Distribution) -> Claim:
        """Return what a distribution says is its own."""
        if one.files is None:
            places = record.usual_places(one.packages)
            return Claim(places=places, files={}, children=distributions.children(self._site, places))
        # A package without skills has places too: where somebody asks for its skills, they are named.
        places = record.places(one.files) or record.usual_places(one.packages)
        return Claim(places=places, files=one.files)

    def _package(
        self,
        one: Distribution,
        root: str,
        places: tuple[str, ...],
        files: Record | None,
        problems: tuple[Problem, ...] = (),
    ) -> Package:
        return Package(
            ecosystem=ECOSYSTEM,
            name=one.about.name,
            version=one.about.version,
            root=root,
            places=places,
            source=self._source,
            record=files,
            problems=problems,
        )

    def _doubled(
        self, found: Sequence[Distribution], claims: Sequence[Claim]
    ) -> Iterator[tuple[frozenset[int], Problem]]:
        """Yield the distributions that are there in several versions and ship skills: nothing tells which are stale."""
        by_name: dict[str, list[int]] = {}
        for number, one in enumerate(found):
            by_name.setdefault(one.about.name, []).append(number)
        for name, numbers in by_name.items():
            ships = any(record.skill_directories(claims[number].files) or claims[number].children for number in numbers)
            if len(numbers) > 1 and ships:
                entries = " and ".join(self.shown(found[number].entry) for number in numbers)
                problem = _ambiguous(
                    f"{ECOSYSTEM}:{name} ships skills, and is there in several versions: {entries}",
                    "remove the metadata that an earlier version left, then reinstall the package",
                    name,
                )
                yield frozenset(numbers), problem

    def _without_record(self, found: Sequence[Distribution], claims: Sequence[Claim]) -> Iterator[Problem]:
        """Yield which distributions had to be looked at without a RECORD: those with skills one by one."""
        others: list[Distribution] = []
        for one, claim in zip(found, claims, strict=True):
            if one.files is None and claim.children:
                message = f"{label(one)} {one.fault}: its skills were looked for beside its import packages"
                yield self.warning(message, one.entry, one.about.name)
            elif one.files is None:
                others.append(one)
        if others:
            more = f" and {len(others) - _LISTED} more" if len(others) > _LISTED else ""
            message = (
                f"{', '.join(map(label, others[:_LISTED]))}{more}: no RECORD, and no skills beside what it installs"
            )
            yield self.warning(message, "", others[0].about.name if len(others) == 1 else None)


def label(one: Distribution) -> str:
    """Return a distribution as it is shown to people."""
    return f"{ECOSYSTEM}:{one.about.name} {one.about.version}"


def _single(found: Iterable[Distribution]) -> list[Distribution]:
    """Leave out a second set of metadata for one version (Debian has some), keeping the one with a RECORD."""
    by_version: dict[tuple[str, str], Distribution] = {}
    for one in found:
        key = one.about.name, one.about.version
        if key not in by_version or (by_version[key].files is None and one.files is not None):
            by_version[key] = one
    return list(by_version.values())


def _contested(found: Sequence[Distribution], shares: Sequence[Share]) -> Iterator[tuple[frozenset[int], Problem]]:
    """Yield the skills that several distributions say are theirs, with the numbers of those distributions."""
    contested = {directory: numbers for share in shares for directory, numbers in share.contested.items()}
    for directory, numbers in sorted(contested.items()):
        names = {found[number].about.name for number in numbers}
        if len(names) > 1:
            owners = " and by ".join(sorted(label(found[number]) for number in numbers))
            message = f"files in {shown(directory)} are listed by {owners}: nothing tells whose skill it is"
            hint = "uninstall all but one of them, then reinstall that one"
            yield frozenset(numbers), _ambiguous(message, hint, min(names), shown(directory))


def _ambiguous(message: str, hint: str, name: str, path: str | None = None) -> Problem:
    return Problem(
        code=Code.AMBIGUOUS_PROVIDER,
        message=message,
        hint=hint,
        severity=Severity.WARNING,
        provider=f"{ECOSYSTEM}:{name}",
        path=path,
    )


def _is_there(path: str) -> bool:
    try:
        return is_directory(path)
    except UnreadableError:
        return False
