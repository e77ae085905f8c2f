"""Which version of each installed package counts, and which rule of the manifest admits it.

Invariants: pure; never depends on the order in which anything was found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.errors import Code, Problem, Severity, typed
from skillsync.locking.manifest import FILE_NAME, Manifest, Rule
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillsync.discovery.environment import Ecosystem, Environment, Package
    from skillsync.discovery.provider import FoundSkill, Provider

EVERYTHING = Rule(key="", pattern="*", requirement="*", meets=lambda _version: True)


class Choice(Value):
    """The version of a package that counts, with all its variants, and the rule that admits it (None: nothing does).

    `refusing` is the rule for a package of that name which doesn't admit this version.
    """

    variants: tuple[Package, ...]
    rule: Rule | None
    refusing: Rule | None = None

    @property
    def package(self) -> Package:
        """The first variant: name and version are the same in all."""
        return self.variants[0]

    @property
    def places(self) -> tuple[str, ...]:
        """Where in the package its skills are."""
        return (self.rule.path,) if self.rule and self.rule.path else self.package.places

    def admits(self, skill: str) -> bool:
        """Whether the manifest admits a skill of the package."""
        return bool(self.rule and self.rule.admits(skill))

    def selects(self, skill: str) -> bool:
        """Whether the manifest asks for a skill of the package by its exact name."""
        return bool(self.rule and self.rule.selects(skill))


class Candidate(Value):
    """A choice and what was found in each of its variants."""

    choice: Choice
    providers: tuple[Provider, ...]

    @property
    def provider(self) -> Provider:
        """The first variant's."""
        return self.providers[0]

    @property
    def key(self) -> str:
        """The provider as it is written everywhere."""
        return self.choice.package.key

    @property
    def admitted(self) -> tuple[FoundSkill, ...]:
        """The valid skills that the manifest admits."""
        return tuple(skill for skill in self.provider.skills if skill.is_valid and self.choice.admits(skill.name))


def choose(
    manifest: Manifest, environments: Iterable[Environment], ecosystems: Mapping[str, Ecosystem]
) -> tuple[list[Choice], list[Problem]]:
    """Pick the version of every installed package: the highest that the manifest admits, else the highest."""
    choices: list[Choice] = []
    problems: list[Problem] = []
    for environment in environments:
        ecosystem = ecosystems[environment.ecosystem]
        by_name: dict[str, list[Package]] = {}
        for package in environment.packages:
            by_name.setdefault(package.name, []).append(package)
        for name, packages in sorted(by_name.items()):
            choice, problem = _choice(manifest, ecosystem, name, packages)
            choices.append(choice)
            problems += problem
        problems += _not_installed(manifest, environment, by_name)
    return choices, problems


def _choice(
    manifest: Manifest, ecosystem: Ecosystem, name: str, packages: list[Package]
) -> tuple[Choice, list[Problem]]:
    rules = (EVERYTHING,) if manifest.rules is None else manifest.governing(ecosystem.NAME, name)
    if len(rules) > 1:
        keys = " and ".join(f"`{rule.key}`" for rule in rules)
        message = f"{keys} match {ecosystem.NAME}:{name} equally well"
        key = f"{ecosystem.NAME}:{name}"
        problem = manifest_problem(message, f"give it an entry of its own: run {typed('allow', key)}")
        return Choice(variants=_highest(packages, ecosystem), rule=None), [replace(problem, provider=key)]
    admitted = [package for package in packages if rules and rules[0].meets(package.version)]
    if admitted:
        variants = _highest(admitted, ecosystem)
        settled = len({package.version for package in admitted}) < len({package.version for package in packages})
        return Choice(variants=_without_doubt(variants) if settled else variants, rule=rules[0]), []
    refusing = next(iter(rules), None)
    choice = Choice(variants=_highest(packages, ecosystem), rule=None, refusing=refusing)
    if refusing is None or not refusing.is_exact:
        return choice, []
    versions = ", ".join(dict.fromkeys(package.version for package in packages))
    return choice, [version_not_admitted(choice.package.key, versions, refusing)]


def _without_doubt(variants: tuple[Package, ...]) -> tuple[Package, ...]:
    """Take from packages the doubt which version counts: the manifest's requirement says so."""
    code = Code.AMBIGUOUS_PROVIDER
    return tuple(
        replace(package, problems=tuple(problem for problem in package.problems if problem.code is not code))
        for package in variants
    )


def _highest(packages: list[Package], ecosystem: Ecosystem) -> tuple[Package, ...]:
    if len({package.version for package in packages}) == 1:
        return tuple(packages)
    key = {package.version: ecosystem.version_key(package.version) for package in packages}
    top = max(key.values())  # type: ignore[type-var]  # keys of one ecosystem compare with each other
    # Two spellings can be one version: 1.0 and 1.0.0.
    best = max(version for version, one in key.items() if one == top)
    return tuple(package for package in packages if package.version == best)


def _not_installed(manifest: Manifest, environment: Environment, installed: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem for each exact name in the manifest that is not there."""
    names = set(installed)
    for rule in (manifest.rules or {}).get(environment.ecosystem, ()):
        # What keeps a provider out needs no installation.
        if rule.is_exact and not rule.admits_none and rule.pattern not in names:
            key = f"{environment.ecosystem}:{rule.pattern}"
            yield missing_provider(key, f"`{rule.key}` in {FILE_NAME}", environment.install)


def missing_provider(key: str, needed_by: str, install: str) -> Problem:
    """Say that a package is needed and not installed; `install` is the command that installs it."""
    is_named = FILE_NAME in needed_by
    hint = f"run `{install}`, or "
    hint += typed("deny", key) if is_named else "take the name out"
    return Problem(
        code=Code.MISSING_PROVIDER,
        message=f"{key} is not installed, and {needed_by} names it",
        hint=hint,
        provider=key,
        path=FILE_NAME if is_named else None,
    )


def version_not_admitted(key: str, versions: str, rule: Rule) -> Problem:
    """Say that a rule of the manifest is for a package and for none of its installed versions."""
    command = typed("allow", key, "--version", "SPEC")
    return Problem(
        code=Code.VERSION_NOT_ADMITTED,
        message=f"{key} is installed at {versions}; {FILE_NAME} admits `{rule.requirement}`",
        hint=f"run {command} (any: '*'), or install a version that `{rule.key}` admits",
        provider=key,
        path=FILE_NAME,
    )


def manifest_problem(message: str, hint: str | None, severity: Severity = Severity.ERROR) -> Problem:
    """Say that the manifest asks for what can't be."""
    return Problem(code=Code.MANIFEST_INVALID, message=message, hint=hint, severity=severity, path=FILE_NAME)
