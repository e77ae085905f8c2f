"""The packages of one directory that distributions are installed into: what is whose, and what is wrong with it.

Invariants: the consuming project and the members of its workspace are left out; what is wrong with one distribution
never hides another; whatever had to be left out or could only be guessed at is told. A distribution that ships skills
is one package, however many sets of metadata there are of it: no requirement settles a doubt between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.discovery.environment import Package, Record
from skillsync.discovery.pypi import distributions, editable, record
from skillsync.discovery.pypi.attribution import Claim, Share, share_out
from skillsync.discovery.pypi.project import display, inside, unreadable
from skillsync.discovery.pypi.versions import version_key
from skillsync.errors import Code, Problem, Severity, UnreadableError
from skillsync.filesystem import is_directory, shown
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from packaging.version import Version

    from skillsync.discovery.pypi.distributions import Distribution
    from skillsync.discovery.pypi.project import Project

ECOSYSTEM = "pypi"
_LISTED = 5


class Installed(Value):
    """What is in one directory; `problems` are warnings about what could not be read, `notes` are for --verbose.

    `own` are the project itself and members of its workspace.
    """

    packages: tuple[Package, ...]
    own: tuple[Package, ...]
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
    others: list[Distribution] = []
    own: list[Distribution] = []
    notes: list[str] = []
    for one in found:
        if project.is_own(one.about.name, one.direct.path if one.direct else None):
            own.append(one)
            notes.append(f"{label(one)} is left out: it is the project itself, or a member of its workspace")
        else:
            others.append(one)
    packages: list[Package] = []
    for made in reader.packages(others):
        if isinstance(made, Package):
            packages.append(made)
        else:
            problems.append(made)
    return Installed(
        packages=tuple(packages),
        # What is wrong with them is no business of a lock's.
        own=tuple(one for one in reader.packages(own) if isinstance(one, Package)),
        problems=tuple(problems),
        notes=tuple(dict.fromkeys(notes)),
    )


class _Reader:
    """Makes packages of the distributions in one directory."""

    def __init__(self, project: Project, site: str) -> None:
        self._project = project
        self._site = site
        self._source = display(project.path, site)

    def packages(self, found: Sequence[Distribution]) -> Iterator[Package | Problem]:
        """Yield the packages of all distributions in the directory, and warnings."""
        # Whoever's metadata is left out later: what it claims is claimed.
        claims = [self._claim(one) for one in found]
        shares = share_out(claims)
        contested = list(_contested(found, shares, self._site))
        kept: list[int] = []
        for numbers in _by_name(found):
            doubt = self._doubled(found, claims, numbers)
            counted = [max(numbers, key=lambda number: _rank(found[number]))] if doubt else _single(found, numbers)
            told = tuple(problem for listing, problem in contested if not listing.isdisjoint(numbers))
            for number in counted:
                problems = (doubt, *told) if doubt else told
                yield self._made(found[number], claims[number], shares[number], problems)
            kept += counted
        yield from self._without_record([(found[number], claims[number]) for number in kept])

    def _made(self, one: Distribution, claim: Claim, share: Share, problems: tuple[Problem, ...]) -> Package | Problem:
        if is_editable(one):
            return self._editable(one, problems)
        return self._package(one, self._site, claim.places, share.record, problems)

    def _editable(self, one: Distribution, problems: tuple[Problem, ...]) -> Package | Problem:
        """Return the package of an editable install, or why there is none."""
        source = one.direct.path if one.direct else ""
        if editable.is_below(source, self._site):
            reason = "its source is said to be among the installed packages"
        elif not _is_there(source):
            reason = f"its source {display(self._project.path, source)} is not there"
        else:
            tree = editable.read(self._site, source, one.files or (), one.hints, one.about.name)
            return self._package(one, tree.root, record.usual_places(tree.packages), None, problems)
        return self.warning(f"{label(one)} is editable, and {reason}: it is left out", one.entry, one.about.name)

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
        if is_editable(one):
            return Claim(places=(), files=one.files or {})
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
        problems: tuple[Problem, ...],
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
        self, found: Sequence[Distribution], claims: Sequence[Claim], numbers: Sequence[int]
    ) -> Problem | None:
        """Say that one distribution's metadata is there more than once, if it ships skills.

        Nothing tells which is stale, or whether one came with somebody else's wheel.
        """
        ships = any(
            is_editable(found[number]) or record.skill_directories(claims[number].files) or claims[number].children
            for number in numbers
        )
        if len(numbers) == 1 or not ships:
            return None
        name = found[numbers[0]].about.name
        entries = " and ".join(self.shown(found[number].entry) for number in numbers)
        return _ambiguous(
            f"{ECOSYSTEM}:{name} ships skills, and its metadata is there more than once: {entries}",
            "remove the metadata that an earlier version or another package left, then reinstall the package",
            name,
        )

    def _without_record(self, found: Iterable[tuple[Distribution, Claim]]) -> Iterator[Problem]:
        """Yield which distributions had to be looked at without a RECORD: those with skills one by one."""
        others: list[Distribution] = []
        for one, claim in found:
            if one.files is not None or is_editable(one):
                continue
            if claim.children:
                message = f"{label(one)} {one.fault}: its skills were looked for beside its import packages"
                yield self.warning(message, one.entry, one.about.name)
            else:
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


def is_editable(one: Distribution) -> bool:
    """Whether a distribution is used where its source is."""
    return one.direct is not None and one.direct.is_editable


def _by_name(found: Sequence[Distribution]) -> list[list[int]]:
    """Return the numbers of the distributions that have one name, for each name."""
    numbers: dict[str, list[int]] = {}
    for number, one in enumerate(found):
        numbers.setdefault(one.about.name, []).append(number)
    return list(numbers.values())


def _rank(one: Distribution) -> tuple[Version, bool, str]:
    return version_key(one.about.version), one.files is not None, one.entry


def _single(found: Sequence[Distribution], numbers: Sequence[int]) -> list[int]:
    """Leave out a second set of metadata for one version (Debian has some), keeping the one with a RECORD."""
    by_version: dict[str, int] = {}
    for number in numbers:
        version = found[number].about.version
        if version not in by_version or (found[by_version[version]].files is None and found[number].files is not None):
            by_version[version] = number
    return list(by_version.values())


def _contested(
    found: Sequence[Distribution], shares: Sequence[Share], site: str
) -> Iterator[tuple[frozenset[int], Problem]]:
    """Yield the skills that several distributions say are theirs, with the numbers of those distributions."""
    contested = {directory: numbers for share in shares for directory, numbers in share.contested.items()}
    for directory, numbers in sorted(contested.items()):
        names = {found[number].about.name for number in numbers}
        if len(names) > 1:
            owners = " and by ".join(sorted(label(found[number]) for number in numbers))
            message = f"files in {shown(directory)} are listed by {owners}: nothing tells whose skill it is"
            hint = "uninstall all but one of them, then reinstall that one"
            problem = replace(_ambiguous(message, hint, min(names)), path=shown(directory), root=site)
            yield frozenset(numbers), problem


def _ambiguous(message: str, hint: str, name: str) -> Problem:
    return Problem(
        code=Code.AMBIGUOUS_PROVIDER,
        message=message,
        hint=hint,
        severity=Severity.WARNING,
        provider=f"{ECOSYSTEM}:{name}",
    )


def _is_there(path: str) -> bool:
    try:
        return is_directory(path)
    except UnreadableError:
        return False
