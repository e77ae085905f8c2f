"""What a source tree or a built artifact offers as a provider, as values: all that the rules look at.

Invariants: pure; a path is relative to the package's root; what is wrong names the place as a person can open it.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from skillsync.discovery import PYPI
from skillsync.errors import Code, Problem, Severity, typed
from skillsync.hashing import SKILL_FILE
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillsync.checking.identity import Identity
    from skillsync.discovery.environment import Package
    from skillsync.discovery.provider import FoundSkill, Provider
    from skillsync.snapshot import Facts, Snapshot

# Of a file that is looked into: nobody writes, and no agent reads, longer instructions.
TEXT_LIMIT = 1024 * 1024
AGENTS = ".agents"
SKILLS = f"{AGENTS}/skills"  # where projects have skills: most repositories' own
GEM, WHEEL, SDIST, NPM = ".gem", ".whl", ".tar.gz", ".tgz"  # how artifacts' names end
# Of a directory of skills: who reads these has made the package.
_PLACE_HINTS = {
    Code.UNSAFE_SKILL: "put the directory itself in its place",
    Code.IO: "see that it can be read, and check again",
}
_FEW = 5  # names in a message
MARKDOWN = (".md", ".markdown", ".mdx")
_TEMPLATES = (".erb", ".hbs", ".in", ".j2", ".jinja", ".jinja2", ".mustache", ".template", ".tmpl", ".tpl")
_PYTHON = ("PACKAGE/.agents/skills/*/ and PACKAGE/skills/*/ of each import package, at the top or below src/",)


class Shipped(Value):
    """One skill. `snapshot` is None where there is no directory to read; `texts` are the files that rules look into.

    `ignored` are the paths in its directory that git ignores.
    """

    found: FoundSkill
    snapshot: Snapshot | None
    texts: Mapping[str, bytes]
    ignored: frozenset[str] = frozenset()

    @property
    def is_ignored(self) -> bool:
        """Whether git ignores it as a whole, as it is with what a build generates."""
        return SKILL_FILE in self.ignored

    @property
    def unshared(self) -> frozenset[str]:
        """What nobody else has of a skill that others have."""
        return frozenset() if self.is_ignored else self.ignored


class Offer(Value):
    """A package as one tree or one artifact has it.

    `package.source` is what the person has named, `package.root` the same as an absolute path. `elsewhere` are the
    directories with a SKILL.md where nobody looks. `about` is the file that makes it a package: what is wrong with all
    of it is said of that. `is_beside` tells whether another one that is checked has skills, so that it may have none;
    `is_read` is False where only `problems`, those of reading it, are known; `is_fresh` tells of an artifact whether it
    was built of its tree just now. `below` are the projects in a tree that may have skills, and `artifacts` the files
    in it that seem to be built of it.
    """

    package: Package
    identity: Identity
    is_artifact: bool
    about: str
    provider: Provider
    skills: tuple[Shipped, ...]
    elsewhere: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    is_beside: bool = False
    is_read: bool = True
    is_fresh: bool = False
    below: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()

    @property
    def is_installed(self) -> bool:
        """Whether consumers get its files as they are: those of a tree or a source distribution are built first."""
        return self.is_artifact and not self.package.source.endswith(SDIST)

    @property
    def is_python_source(self) -> bool:
        """Whether wheels, which hold no links, are built of it: some builds put files in the places of these."""
        return self.package.ecosystem == PYPI and not self.is_installed

    @property
    def misplaced(self) -> tuple[str, ...]:
        """Those of `elsewhere` that may be meant for consumers: beside other skills, .agents is for contributors."""
        is_own = self.is_beside and not self.is_artifact
        return tuple(one for one in self.elsewhere if not (is_own and one.startswith(f"{AGENTS}/")))

    @property
    def searched(self) -> tuple[str, ...]:
        """Where skills are looked for, as it is shown."""
        return _PYTHON if self.package.ecosystem == PYPI else tuple(f"{place}/*/" for place in self.package.places)

    def retold(self, found: Problem) -> Problem:
        """Return a problem that discovery has found, about a place that the person has named."""
        text = found.message.removeprefix(f"{self.package.key} {self.package.version}: {found.path} ")
        path = found.path or self.about
        message = f"{joined(self.package.source, path)} {text}"
        hint = _PLACE_HINTS.get(found.code, found.hint) if path in self.package.places else found.hint
        return replace(found, message=message, hint=hint, source=self.package.source, root=self.package.root)


def problem(  # noqa: PLR0913  # all that makes one problem differ from another
    package: Package,
    code: Code,
    path: str,
    text: str,
    *,
    severity: Severity = Severity.ERROR,
    hint: str | None = None,
    skill: str | None = None,
    line: int | None = None,
    column: int | None = None,
) -> Problem:
    """Return what is wrong at a path of a package; `text` follows the path."""
    return Problem(
        code=code,
        message=f"{joined(package.source, path)} {text}",
        hint=hint,
        severity=severity,
        skill=skill,
        provider=package.key,
        path=path,
        line=line,
        column=column,
        source=package.source,
        root=package.root,
    )


def fixed(offer: Offer, does: str) -> str:
    """Say how it is mended: in the tree, from which an artifact is built again."""
    if offer.is_artifact:
        return f"`skillsync check --fix` of the source tree {does}; then build it again"
    return f"{typed('check', '--fix', offer.package.source)} {does}"


def joined(source: str, path: str) -> str:
    """Return a path as a person who named `source` finds it."""
    return posixpath.normpath(posixpath.join(source, path))


def few(names: Iterable[str]) -> str:
    """Return the first of some names as a message lists them, and how many more there are."""
    found = sorted(names)
    more = [f"and {len(found) - _FEW} more"] if len(found) > _FEW else []
    return ", ".join([*found[:_FEW], *more])


def names_program(start: bytes) -> bool:
    """Whether a file's first line says which program runs it; `#![…]` is Rust's, and without a path none is found."""
    return bool(re.match(rb"#![ \t]*/", start))


def lacks_bit(path: str, facts: Facts, start: bytes) -> bool:
    """Whether a file is a script that can't be run; a template of one isn't run as it is."""
    return names_program(start) and not facts.executable and not path.endswith(_TEMPLATES)


def is_looked_into(path: str, start: bytes) -> bool:
    """Whether rules look into a file: what an agent reads as instructions, and what it runs."""
    return path == SKILL_FILE or path.lower().endswith(MARKDOWN) or start.startswith(b"#!")
