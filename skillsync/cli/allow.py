"""`skillsync allow` and `skillsync deny`: the manifest's entries, changed by a command.

Invariants: writes the manifest and nothing else, and only when its text changes; with one error it writes nothing; what
isn't named is admitted as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync import filesystem
from skillsync.cli.init import HEADER
from skillsync.commands.naming import meant, no_provider, unknown
from skillsync.commands.project import BrokenLockError, Project, load_lock, read_manifest
from skillsync.commands.survey import Survey, survey
from skillsync.discovery import ECOSYSTEMS
from skillsync.errors import LOOK, Code, Problem, Severity, SkillsyncError, did_you_mean, typed
from skillsync.locking import allowlist, lockfile
from skillsync.locking.editing import Meaning, Terms, UneditableError, admitting, meaning
from skillsync.locking.manifest import FILE_NAME, LIMIT, Manifest, is_pattern, matches, parse, skill_fault
from skillsync.locking.pins import Pinned, pinned_by, shipped_by, together
from skillsync.rendering import report
from skillsync.rendering.report import Report
from skillsync.schema import line_fault, size_fault, suggestion
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillsync.locking.lockfile import Lockfile
    from skillsync.locking.manifest import Named


class Wish(Value):
    """What the person asked for: which providers, which skills of them (none: all), and in which version."""

    allow: bool
    providers: tuple[str, ...]
    skills: tuple[str, ...] = ()
    requirement: str | None = None

    @property
    def command(self) -> str:
        """The command, as it is typed."""
        return "allow" if self.allow else "deny"


class _State(Value):
    """The documents as they are, and what is installed."""

    manifest: Manifest
    lock: Lockfile | None
    found: Survey

    @property
    def known(self) -> Pinned:
        """What is installed or locked, and the skills of each."""
        return together(pinned_by(self.lock or lockfile.Lockfile()), self.shipped)

    @property
    def right(self) -> Pinned:
        """The providers that are right to name: with skills that are installed or locked, or with an entry."""
        known = {key: skills for key, skills in self.known.items() if skills}
        return together(known, dict.fromkeys(_listed(self.manifest), frozenset()))

    @property
    def shipped(self) -> Pinned:
        """What is installed, and the skills that each ships."""
        return shipped_by(self.found.candidates)


def run(project: Project, wish: Wish) -> Report:
    """Change the manifest so that it admits the providers that are named, or doesn't."""
    content, manifest = read_manifest(project)
    lock = _lock(project, manifest)
    state = _State(
        manifest=manifest, lock=lock, found=survey(project, manifest, pinned_by(lock or lockfile.Lockfile()))
    )
    named = meant(wish.providers, wish.command, state.right)
    warnings = _checked(wish, named, state)
    try:
        start = content or HEADER.encode()
        if manifest.rules is None:
            start = admitting(start, _so_far(wish, named, state), ECOSYSTEMS)
        written = start
        for one in named:
            written = _changed(written, one, wish, state)
    except UneditableError as error:
        raise SkillsyncError(_uneditable(str(error))) from None
    if reason := size_fault(written, LIMIT):
        raise SkillsyncError(_uneditable(f"it would be {reason}, which is not read"))
    after = parse(written, ECOSYSTEMS)
    warnings += _not_met(wish, named, after, state)
    if written != content:
        filesystem.replace_file(f"{project.root}/{FILE_NAME}", written)
    changes = list(allowlist.differences(meaning(manifest), meaning(after)))
    return Report(
        lines=[
            *_about_start(wish, state),
            *(report.printable(_line(*change)) for change in changes),
            *(_in_vain(wish, named, manifest) if written != content else ()),
            *([f"wrote {FILE_NAME}; run `skillsync lock`"] if written != content else _unchanged(wish, named, after)),
        ],
        data={
            "manifest": FILE_NAME,
            "changes": [
                {"provider": key, "before": before and before.text, "after": after and after.text}
                for key, before, after in changes
            ],
        },
        problems=tuple(warnings),
    )


def _lock(project: Project, manifest: Manifest) -> Lockfile | None:
    """Read the lock; one that makes no sense matters only where the manifest is made from it."""
    try:
        return load_lock(project)
    except BrokenLockError:
        if manifest.rules is None:
            raise
        return None


def _listed(manifest: Manifest) -> Pinned:
    """Return the providers that the manifest names, with the skills that it names."""
    return {
        f"{ecosystem}:{rule.pattern}": frozenset((*(rule.skills or ()), *rule.exclude))
        for ecosystem, rules in (manifest.rules or {}).items()
        for rule in rules
    }


def _checked(wish: Wish, named: Sequence[Named], state: _State) -> list[Problem]:
    """Return the warnings about what is named. Raises SkillsyncError with every error."""
    problems = [problem for text in wish.skills for problem in _about_text(text)]
    for one in named:
        about = list(_about_provider(one, wish, state))
        if not any(problem.is_error for problem in about):
            about += _about_skills(one, wish, state)
        problems += about
    if any(problem.is_error for problem in problems):
        raise SkillsyncError(*problems)
    return problems


def _about_text(skill: str) -> Iterator[Problem]:
    if fault := skill_fault(skill):
        yield Problem(code=Code.USAGE, message=f"--skill `{skill}` {fault}", hint="name a skill, or a pattern: `db-*`")


def _about_provider(named: Named, wish: Wish, state: _State) -> Iterator[Problem]:
    """Yield what speaks against a provider's name or its requirement."""
    listed = state.manifest.ecosystems
    if listed is not None and named.ecosystem not in listed:
        message = f"`ecosystems` in {FILE_NAME} leaves {named.ecosystem} out, and so {named.key}"
        yield Problem(code=Code.USAGE, message=message, hint=f"add {named.ecosystem} to `ecosystems` first")
        return
    if wish.requirement is not None:
        try:
            fault = line_fault(wish.requirement)
            ECOSYSTEMS[named.ecosystem].requirement(wish.requirement)
        except ValueError as error:
            fault = str(error)
        if fault:
            hint = "write a version requirement, or '*' for any"
            yield Problem(code=Code.USAGE, message=f"--version of {named.key}: {fault}", hint=hint)
    known = state.known
    covered = [key for key in known if named.covers(key)]
    if covered and not any(known[key] for key in covered) and not is_pattern(named.name):
        message = f"{named.key} is installed and ships no skills"
        look = f"{typed('show', named.key)} says what is in it"
        hint = f"set its `path` in {FILE_NAME} if they are in another directory: {look}"
        yield Problem(
            code=Code.SKILL_NOT_FOUND, message=message, hint=hint, severity=Severity.WARNING, provider=named.key
        )
    elif not covered and is_pattern(named.name):
        message = f"{named.key} matches no package that is installed or locked"
        yield Problem(code=Code.PATTERN_UNMATCHED, message=message, hint=LOOK, severity=Severity.WARNING)
    elif not covered and named.key not in _listed(state.manifest):
        own = next((one.package for one in state.found.own if named.covers(one.package.key)), None)
        yield no_provider(own) if own else unknown(named, wish.command, state.right)
        code = Code.ENVIRONMENT_NOT_FOUND
        yield from (replace(one, severity=Severity.WARNING) for one in state.found.problems if one.code is code)


def _about_skills(named: Named, wish: Wish, state: _State) -> Iterator[Problem]:
    """Yield the skills that the provider doesn't have."""
    known = state.known
    skills = {skill for key in known if named.covers(key) for skill in known[key]}
    if not wish.allow:
        skills |= {skill for key, listed in _listed(state.manifest).items() if named.covers(key) for skill in listed}
    for text in wish.skills if skills else ():
        if any(matches(text, skill) for skill in skills):
            continue
        near = suggestion(text, skills)
        ships = f"it ships {', '.join(sorted(skills))}"
        found = Problem(
            code=Code.SKILL_NOT_FOUND,
            message=f"{named.key} ships no skill `{text}`",
            hint=did_you_mean((wish.command, named.key, "--skill", near)) if near else ships,
            skill=text,
            provider=named.key,
        )
        if is_pattern(text):
            found = replace(found, code=Code.PATTERN_UNMATCHED, severity=Severity.WARNING, skill=None)
        yield found


def _so_far(wish: Wish, named: Sequence[Named], state: _State) -> Meaning:
    """Return what is admitted where the manifest lists nothing: what the lock has, as far as it is still shipped.

    Without a lock: what is installed, of which `deny` takes something, and `allow` only what is named.
    """
    entries: Meaning = {one.ecosystem: {} for one in named if wish.allow}
    shipped = state.shipped
    if state.lock is None:
        if not wish.allow:
            for key in (key for key, skills in shipped.items() if skills):
                ecosystem, _, name = key.partition(":")
                entries.setdefault(ecosystem, {})[name] = Terms()
        return entries
    for provider in state.lock.providers:
        if provider.ecosystem not in ECOSYSTEMS:
            message = f"this skillsync does not know the ecosystem {provider.ecosystem}, and {provider.key} is locked"
            raise SkillsyncError(Problem(code=Code.ENVIRONMENT_NOT_FOUND, message=message, hint="upgrade skillsync"))
        locked = frozenset(skill.name for skill in provider.skills)
        now = shipped.get(provider.key)
        kept = locked if now is None else locked & now
        listed = state.manifest.ecosystems is None or provider.ecosystem in state.manifest.ecosystems
        if kept and listed:
            terms = Terms() if now is not None and now <= locked else Terms(skills=tuple(sorted(kept)))
            entries.setdefault(provider.ecosystem, {})[provider.name] = terms
    # Of what isn't locked yet some skills are to be left out: the others are what was meant to be admitted.
    for key in (key for key, skills in shipped.items() if skills and wish.skills and not wish.allow):
        ecosystem, _, name = key.partition(":")
        if any(one.covers(key) for one in named):
            entries.setdefault(ecosystem, {}).setdefault(name, Terms())
    return entries


def _changed(content: bytes, named: Named, wish: Wish, state: _State) -> bytes:
    if wish.allow:
        return allowlist.allow(content, named, ECOSYSTEMS, skills=wish.skills, requirement=wish.requirement)
    return allowlist.deny(content, named, ECOSYSTEMS, known=state.known, skills=wish.skills)


def _not_met(wish: Wish, named: Sequence[Named], after: Manifest, state: _State) -> list[Problem]:
    """Return the warnings about what would not be admitted in spite of `allow`. Raises SkillsyncError for errors."""
    problems: list[Problem] = []
    for one in named if wish.allow else ():
        for rule in after.governing(one.ecosystem, one.name)[:1]:
            for skill in wish.skills:
                if not is_pattern(skill) and not rule.admits(skill):
                    message = f"`{rule.key}.exclude` leaves {skill} out by a pattern, which wins over `skills`"
                    hint = f"run {typed('allow', one.key)} for every skill, or correct `exclude`"
                    problems.append(Problem(code=Code.USAGE, message=message, hint=hint, skill=skill, provider=one.key))
            packages = (package for environment in state.found.environments for package in environment.packages)
            versions = dict.fromkeys(package.version for package in packages if package.key == one.key)
            if versions and not any(map(rule.meets, versions)):
                message = f"{one.key} is installed at {', '.join(versions)}; `{rule.key}` admits `{rule.requirement}`"
                said = Severity.ERROR if wish.requirement is None else Severity.WARNING
                problems.append(
                    Problem(
                        code=Code.VERSION_NOT_ADMITTED,
                        message=message,
                        hint=f"run {typed('allow', one.key, '--version', '*')}, or with another requirement",
                        severity=said,
                        provider=one.key,
                        path=FILE_NAME,
                    )
                )
    if any(problem.is_error for problem in problems):
        raise SkillsyncError(*problems)
    return problems


def _uneditable(reason: str) -> Problem:
    return Problem(
        code=Code.MANIFEST_INVALID,
        message=f"{FILE_NAME} was not changed: {reason}",
        hint="change it by hand, or move it away and run `skillsync init`",
        path=FILE_NAME,
    )


def _about_start(wish: Wish, state: _State) -> Iterator[str]:
    """Say what becomes of a project that admitted everything."""
    if state.manifest.rules is None:
        what = "" if wish.allow else ", which is the rest of what is installed"
        if state.lock is not None:
            what = f", which is what {lockfile.FILE_NAME} has, {'and' if wish.allow else 'without'} what you named"
        yield f"so far every installed package was admitted; from now on only what {FILE_NAME} lists{what}"


def _line(key: str, before: Terms | None, after: Terms | None) -> str:
    if before is None or after is None:
        return f"{'-' if before else '+'} {key} = {(before or after or Terms()).text}"
    return f"~ {key} = {before.text} -> {after.text}"


def _in_vain(wish: Wish, named: Sequence[Named], before: Manifest) -> Iterator[str]:
    """Say of which providers the skills that were named were let in before, with all others."""
    for one in named if wish.allow and wish.skills else ():
        rules = before.governing(one.ecosystem, one.name)
        if rules and rules[0].skills is None and all(map(rules[0].admits, wish.skills)):
            first = typed("deny", one.key)
            yield report.printable(f"every skill of {one.key} was admitted before; for some alone, run {first} first")


def _unchanged(wish: Wish, named: Sequence[Named], manifest: Manifest) -> Iterator[str]:
    """Say why there was nothing to do."""
    for one in named:
        rules = manifest.governing(one.ecosystem, one.name)
        by = f": `{rules[0].key}` = {Terms.of(rules[0]).text}" if rules else ""
        yield report.printable(f"{one.key} is {'admitted' if wish.allow else 'left out'} already{by}")
    yield f"{FILE_NAME} stays as it is"
