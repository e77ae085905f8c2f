"""What `allow` and `deny` make of the manifest: which entries have to say what, so that the one named is in or out.

Invariants: pure; whatever isn't named stays as it was admitted; an entry keeps what it says of other skills, of the
version and of the path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.locking.editing import NONE, Edit, Terms, edited
from skillsync.locking.manifest import is_pattern, matches, parse
from skillsync.values import replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from skillsync.discovery.environment import Ecosystem
    from skillsync.locking.editing import Meaning
    from skillsync.locking.manifest import Manifest, Named, Rule


def allow(
    content: bytes,
    named: Named,
    ecosystems: Mapping[str, Ecosystem],
    *,
    skills: Sequence[str] = (),
    requirement: str | None = None,
) -> bytes:
    """Return a manifest that admits a provider: some skills of it, or all. Raises UneditableError.

    All are admitted by an entry without `skills` and `exclude`. A requirement alone leaves the two as they are, if
    they admit anything.
    """
    rule = _governing(parse(content, ecosystems), named)
    if rule is None:
        terms = Terms(requirement=requirement or "*", skills=tuple(dict.fromkeys(skills)) or None)
    else:
        terms = _allowed(rule, skills, requirement)
        if terms == Terms.of(rule):
            return content
    return edited(content, Edit(ecosystem=named.ecosystem, name=named.name, terms=terms), ecosystems)


def _allowed(rule: Rule, skills: Sequence[str], requirement: str | None) -> Terms:
    """Return what an entry has to say to admit these skills, or all."""
    terms = replace(Terms.of(rule), requirement=requirement or rule.requirement)
    if skills:
        kept = () if rule.admits_none else rule.skills
        exclude = () if rule.admits_none else rule.exclude
        if kept is not None:
            kept += tuple(skill for skill in dict.fromkeys(skills) if not any(matches(one, skill) for one in kept))
        return replace(terms, skills=kept, exclude=tuple(one for one in exclude if one not in skills))
    if requirement is None or rule.admits_none:
        return replace(terms, skills=None, exclude=())
    return terms


def deny(
    content: bytes,
    named: Named,
    ecosystems: Mapping[str, Ecosystem],
    *,
    known: Collection[str],
    skills: Sequence[str] = (),
) -> bytes:
    """Return a manifest that does not admit a provider, or some skills of it. Raises UneditableError.

    `known` are the providers that are installed or locked: those that are meant get an entry of their own if another
    one still lets them in.
    """

    def edit(content: bytes, name: str, terms: Terms | None) -> bytes:
        return edited(content, Edit(ecosystem=named.ecosystem, name=name, terms=terms), ecosystems)

    for rule in (parse(content, ecosystems).rules or {}).get(named.ecosystem, ()):
        if matches(named.name, rule.pattern):
            content = edit(content, rule.pattern, _denied(rule, skills) if skills else None)
    meant = sorted(key.partition(":")[2] for key in known if named.covers(key))
    for name in dict.fromkeys((named.name, *meant)):
        rules = parse(content, ecosystems).governing(named.ecosystem, name)
        if all(rule.admits_none for rule in rules):
            continue
        # Of several that are equally near none says what this one says: it admits nothing of it as it stands.
        terms = _denied(rules[0], skills) if skills and len(rules) == 1 else NONE
        if terms != Terms.of(rules[0]):
            content = edit(content, name, terms)
    return content


def _denied(rule: Rule, skills: Sequence[str]) -> Terms:
    """Return what an entry has to say to leave these skills out and let in what else it does."""
    terms = Terms.of(rule)
    if rule.admits_none:
        return terms
    for skill in dict.fromkeys(skills):
        kept = None if terms.skills is None else tuple(one for one in terms.skills if not matches(skill, one))
        terms = replace(terms, skills=kept)
        if _may_admit(terms, skill):
            terms = replace(terms, exclude=(*terms.exclude, skill))
    return terms


def _may_admit(terms: Terms, skill: str) -> bool:
    """Whether an entry admits a skill; of a pattern, whether it may admit one that it stands for."""
    if any(matches(one, skill) for one in terms.exclude):
        return False
    if terms.skills is None:
        return True
    return any(matches(one, skill) or (is_pattern(one) and is_pattern(skill)) for one in terms.skills)


def _governing(manifest: Manifest, named: Named) -> Rule | None:
    """Return the entry that says what is admitted of what is named, if there is one such."""
    rules = manifest.governing(named.ecosystem, named.name)
    own = [rule for rule in rules if rule.pattern == named.name]
    return next(iter(own), rules[0] if len(rules) == 1 else None)


def differences(before: Meaning, after: Meaning) -> Iterator[tuple[str, Terms | None, Terms | None]]:
    """Yield the entries that are other ones: the name, what it said, what it says."""
    for ecosystem in sorted({*before, *after}):
        old, new = before.get(ecosystem, {}), after.get(ecosystem, {})
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                yield f"{ecosystem}:{name}", old.get(name), new.get(name)
