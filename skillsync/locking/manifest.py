"""The manifest, `agent-skills.toml`: which installed packages may put which skills where, as the user wrote it.

Invariants: pure; one wrong key and the whole file is refused, with all that is wrong in it; an absent file, an absent
`[providers]` and an empty `[providers]` are three different things.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from skillsync.schema import InvalidError, Table, folded, line_fault, name_fault, path_fault, toml
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import TypeVar

    from skillsync.discovery.environment import Ecosystem

    T = TypeVar("T")
    D = TypeVar("D")

FILE_NAME = "agent-skills.toml"
LIMIT = 256 * 1024  # bytes that are read
DEFAULT_TARGET = ".agents/skills"
_KEYS = ("version", "ecosystems", "targets", "link", "providers", "gitignore")
_PROVIDER_KEYS = ("version", "skills", "exclude", "path", "hidden-characters")
_SKILL_PATTERN = r"[a-z0-9*?-]+"
_WILDCARD = r"[*?]"
_MOST_FAULTS = 20  # that are told at once


def matches(pattern: str, name: str) -> bool:
    """Whether a name meets a pattern: `*` stands for any text, `?` for one character, nothing else is special.

    Goes back only to the last `*`, so that no pattern takes more than the product of the two lengths.
    """
    at, star, resume = 0, -1, 0
    position = 0
    while position < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, resume = at, position
            at += 1
        elif at < len(pattern) and pattern[at] in {"?", name[position]}:
            at += 1
            position += 1
        elif star >= 0:
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return not pattern[at:].strip("*")


def is_pattern(text: str) -> bool:
    """Whether a text names more than itself."""
    return re.search(_WILDCARD, text) is not None


class Named(Value):
    """A provider, or a pattern of providers, as the manifest would name it."""

    ecosystem: str
    name: str

    @property
    def key(self) -> str:
        """As it is written everywhere: `gem:sus`."""
        return f"{self.ecosystem}:{self.name}"

    def covers(self, key: str) -> bool:
        """Whether a provider, `gem:sus`, is what is named."""
        return matches(self.key, key)


def skill_fault(text: str) -> str | None:
    """Return why a text can be neither a skill's name nor a pattern of such names, or None."""
    if is_pattern(text):
        return None if re.fullmatch(_SKILL_PATTERN, text) else "can't match any skill's name"
    return name_fault(text)


class Rule(Value):
    """One provider's entry, or one pattern's. `key` is where it stands; `skills` None means every skill."""

    key: str
    pattern: str
    requirement: str
    meets: Callable[[str], bool]
    skills: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    path: str | None = None
    allows_hidden: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether it names one provider."""
        return not is_pattern(self.pattern)

    @property
    def admits_none(self) -> bool:
        """Whether it is there to keep a provider out, which another one would let in."""
        return self.skills == () or "*" in self.exclude

    def admits(self, skill: str) -> bool:
        """Whether a skill of an admitted provider is admitted: `exclude` wins over `skills`."""
        if any(matches(pattern, skill) for pattern in self.exclude):
            return False
        return self.skills is None or any(matches(pattern, skill) for pattern in self.skills)

    def selects(self, skill: str) -> bool:
        """Whether it asks for this skill by its exact name."""
        return self.skills is not None and skill in self.skills and self.admits(skill)


class Manifest(Value):
    """The whole file; `rules` is None where there is no `[providers]`: then every provider is admitted.

    `link` asks for links to the first target's skills, in place of copies, in all the others.
    """

    ecosystems: tuple[str, ...] | None = None
    targets: tuple[str, ...] = (DEFAULT_TARGET,)
    link: bool = False
    rules: Mapping[str, tuple[Rule, ...]] | None = None
    gitignore: bool = True

    def governing(self, ecosystem: str, name: str) -> tuple[Rule, ...]:
        """Return the rule that governs a provider; several if none of them is the most exact, none if nothing does.

        An exact name comes first, then the pattern with the most literal characters.
        """
        rules = [rule for rule in (self.rules or {}).get(ecosystem, ()) if matches(rule.pattern, name)]
        exact = tuple(rule for rule in rules if rule.is_exact)
        if exact or not rules:
            return exact
        most = max(_literal(rule.pattern) for rule in rules)
        return tuple(rule for rule in rules if _literal(rule.pattern) == most)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The providers (`gem:sus`) that are wanted by their exact name."""
        return tuple(
            f"{ecosystem}:{rule.pattern}"
            for ecosystem, rules in (self.rules or {}).items()
            for rule in rules
            if rule.is_exact and not rule.admits_none
        )

    def of(self, ecosystems: Collection[str]) -> Manifest:
        """Return what it says of some ecosystems alone."""
        return replace(self, rules=self.rules and {key: self.rules[key] for key in self.rules if key in ecosystems})

    def names(self, ecosystem: str) -> bool:
        """Whether the manifest speaks of an ecosystem, which makes it active."""
        return ecosystem in (self.ecosystems or ()) or bool((self.rules or {}).get(ecosystem))


def _literal(pattern: str) -> int:
    return len(re.sub(_WILDCARD, "", pattern))


def parse(content: bytes, ecosystems: Mapping[str, Ecosystem]) -> Manifest:
    """Read the manifest's bytes. Raises MalformedError for text that is no TOML, InvalidError for all wrong values."""
    table = toml(content)
    table.version(1, default=1)
    faults = _Faults()
    _only(table, _KEYS, faults)
    known = faults.tried(partial(_ecosystems, table, ecosystems), default=None)
    targets = faults.tried(partial(_targets, table), default=None)
    found = Manifest(
        ecosystems=known,
        targets=targets or (DEFAULT_TARGET,),
        link=faults.tried(partial(_link, table, targets), default=False),
        rules=faults.tried(partial(_providers, table, ecosystems, known, faults), default=None),
        gitignore=faults.tried(partial(table.flag, "gitignore", default=True), default=True),
    )
    faults.end()
    return found


class _Faults:
    """What is wrong in a document, gathered while the rest of it is read."""

    def __init__(self) -> None:
        self._found: list[InvalidError] = []

    def tried(self, read: Callable[[], T], *, default: D) -> T | D:
        """Return what is read, the default where that is wrong. Of very many faults only the first are looked for."""
        if len(self._found) < _MOST_FAULTS:
            try:
                return read()
            except InvalidError as error:
                self._found.append(error)
        return default

    def end(self) -> None:
        """Raise InvalidError if anything was wrong."""
        if self._found:
            first, *others = self._found
            raise InvalidError(first.key, first.reason, first.hint, others)


def _ecosystems(table: Table, ecosystems: Collection[str]) -> tuple[str, ...] | None:
    known = table.texts("ecosystems")
    for index, name in enumerate(known or ()):
        if name not in ecosystems:
            hint = f"known here: {', '.join(ecosystems)}"
            raise InvalidError(f"{table.key('ecosystems')}[{index}]", f"`{name}` is not an ecosystem", hint)
    return known


def _git_fault(target: str) -> str | None:
    """Return why a target would give a repository what git keeps from it: the directory of hooks and settings."""
    return "lies in git's own directory" if ".git" in map(folded, target.split("/")) else None


def _targets(table: Table) -> tuple[str, ...]:
    """Read `targets`: directories below the project, none inside another."""
    written = table.texts("targets")
    if written is None:
        return (DEFAULT_TARGET,)
    if not written:
        raise InvalidError(table.key("targets"), "is empty", "leave it out for `.agents/skills`")
    targets = tuple(text.rstrip("/") for text in written)
    for index, target in enumerate(targets):
        if fault := path_fault(target) or line_fault(target) or _git_fault(target):
            hint = "name a directory below the project, such as `.claude/skills`"
            raise InvalidError(f"{table.key('targets')}[{index}]", f"`{written[index]}` {fault}", hint)
    # Part by part, what lies in a directory comes right after it.
    for outer, inner in pairwise(sorted(targets, key=lambda target: target.split("/"))):
        if f"{inner}/".startswith(f"{outer}/"):
            reason = f"`{inner}` lies in `{outer}`" if inner != outer else f"`{inner}` is there twice"
            raise InvalidError(table.key("targets"), reason, "leave one of them out")
    return targets


def _link(table: Table, targets: tuple[str, ...] | None) -> bool:
    """Read `link`, which is about the targets after the first; `targets` is None where they are wrong."""
    found = table.flag("link", default=False)
    if found and targets and len(targets) == 1:
        hint = 'add a target, such as `targets = [".agents/skills", ".claude/skills"]`, or take it out'
        raise InvalidError(table.key("link"), f"nothing reads it: there is no target but `{targets[0]}`", hint)
    return found


def _providers(
    document: Table, ecosystems: Mapping[str, Ecosystem], listed: Collection[str] | None, faults: _Faults
) -> dict[str, tuple[Rule, ...]] | None:
    """Read `[providers]`; `listed` is what `ecosystems` has, None where it isn't there."""
    if "providers" not in document.data:
        return None
    table = document.table("providers")
    _only(table, ecosystems, faults)
    rules: dict[str, tuple[Rule, ...]] = {}
    for name in (name for name in table.data if name in ecosystems):
        rules[name] = faults.tried(partial(_rules, table, name, ecosystems[name], listed, faults), default=())
    return rules


def _only(table: Table, known: Collection[str], faults: _Faults) -> None:
    """Find the keys that nothing reads in a table."""
    for name in table.data:
        faults.tried(partial(_known, table, known, name), default=None)


def _known(table: Table, known: Collection[str], name: str) -> None:
    """Raise for a key that nothing reads; one of the document's own is misplaced, not mistyped."""
    if name in _KEYS and name not in known:
        raise InvalidError(table.key(name), "is not a known key", _above(name))
    table.one_of(known, name)


def _above(name: str) -> str:
    """Return the hint for one of the document's own keys that a table has taken."""
    return f"if it is the manifest's own `{name}`, move it above the first [table]: what is below belongs to that"


def _rules(
    providers: Table, ecosystem: str, shelf: Ecosystem, listed: Collection[str] | None, faults: _Faults
) -> tuple[Rule, ...]:
    """Read the table of one ecosystem."""
    if listed is not None and ecosystem not in listed:
        reason = f"nothing reads it: `ecosystems` leaves {ecosystem} out"
        raise InvalidError(providers.key(ecosystem), reason, f"add {ecosystem} to `ecosystems`, or take the table out")
    table = providers.table(ecosystem)
    rules: dict[str, Rule] = {}
    for name in table.data:
        faults.tried(partial(_add, rules, table, name, shelf, faults), default=None)
    return tuple(rules.values())


def _add(rules: dict[str, Rule], table: Table, name: str, ecosystem: Ecosystem, faults: _Faults) -> None:
    """Read one entry, by the name that the ecosystem gives it."""
    try:
        rule = _rule(table, name, ecosystem, faults)
    except InvalidError as error:
        if name not in _KEYS or isinstance(table.data[name], dict):
            raise
        raise InvalidError(error.key, error.reason, _above(name)) from None
    other = rules.setdefault(rule.pattern, rule)
    if other is not rule:
        raise InvalidError(rule.key, f"names the same provider as `{other.key}`", "keep one of them")


def _rule(table: Table, name: str, ecosystem: Ecosystem, faults: _Faults) -> Rule:
    """Read one entry: a requirement alone, or a table."""
    key = table.key(name)
    if fault := line_fault(name):
        raise InvalidError(key, f"a provider's name {fault}")
    pattern = ecosystem.canonical(name)
    if isinstance(table.data[name], dict):
        entry = table.table(name)
        _only(entry, _PROVIDER_KEYS, faults)
        requirement, meets = faults.tried(partial(_version, entry, ecosystem), default=("*", bool))
        skills = faults.tried(partial(_skills, entry, "skills"), default=None)
        exclude = faults.tried(partial(_skills, entry, "exclude"), default=None)
        return Rule(
            key=key,
            pattern=pattern,
            requirement=requirement,
            meets=meets,
            skills=skills,
            exclude=exclude or (),
            path=faults.tried(partial(_path, entry), default=None),
            allows_hidden=faults.tried(partial(_allows_hidden, entry), default=False),
        )
    if not isinstance(table.data[name], str | list):
        raise InvalidError(key, "must be a version, a list of versions, or a table", 'write "*" for any version')
    requirement = _requirement(table, name)
    return Rule(key=key, pattern=pattern, requirement=requirement, meets=_meets(requirement, key, ecosystem))


def _version(entry: Table, ecosystem: Ecosystem) -> tuple[str, Callable[[str], bool]]:
    """Read the requirement of an entry that is a table."""
    requirement = _requirement(entry, "version") if "version" in entry.data else "*"
    return requirement, _meets(requirement, entry.key("version"), ecosystem)


def _requirement(table: Table, name: str) -> str:
    """Read a requirement: a text, or a list of texts that all have to be met."""
    if isinstance(table.data.get(name), list):
        return ", ".join(table.texts(name) or ())
    return table.text(name)


def _meets(requirement: str, key: str, ecosystem: Ecosystem) -> Callable[[str], bool]:
    try:
        return ecosystem.requirement(requirement)
    except ValueError as error:
        raise InvalidError(key, str(error), 'write a version requirement, or "*" for any') from None


def _skills(entry: Table, name: str) -> tuple[str, ...] | None:
    """Read a list of skill names and patterns."""
    found = entry.texts(name)
    for index, text in enumerate(found or ()):
        if fault := skill_fault(text):
            raise InvalidError(f"{entry.key(name)}[{index}]", f"`{text}` {fault}")
    return found


def _path(entry: Table) -> str | None:
    if "path" not in entry.data:
        return None
    path = entry.text("path").rstrip("/")
    if fault := path_fault(path) or line_fault(path):
        raise InvalidError(entry.key("path"), f"`{path}` {fault}", "name a directory below the package's root")
    return path


def _allows_hidden(entry: Table) -> bool:
    """Whether the entry accepts files with hidden characters."""
    name = "hidden-characters"
    if name not in entry.data:
        return False
    if entry.data[name] != "allow":
        raise InvalidError(entry.key(name), 'must be "allow"', "take it out to refuse them")
    return True
