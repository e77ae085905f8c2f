"""What is installed for a project, seen through its manifest: the shared first half of list, show, lock and verify.

Invariants: reads only; every environment that was read, and every one that was missing, is in the result.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from skillsync import discovery
from skillsync.discovery import ECOSYSTEMS, PYPI, markers
from skillsync.discovery.environment import Environment, NoEnvironment
from skillsync.discovery.provider import look
from skillsync.errors import Code, Problem, Severity, SkillsyncError
from skillsync.locking.choice import Candidate, choose
from skillsync.locking.examination import examine
from skillsync.locking.manifest import FILE_NAME
from skillsync.locking.pins import Pinned, vanished
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from skillsync.commands.project import Project
    from skillsync.discovery.provider import Provider
    from skillsync.locking.choice import Choice
    from skillsync.locking.manifest import Manifest
    from skillsync.track import Track

    Wanted = Callable[[Choice, str], bool]  # whether all files of a package's skill are read


class Survey(Value):
    """The environments that were read, and the packages in them that ship skills or should.

    `own` are the project's own packages with skills, which are no providers.
    """

    environments: tuple[Environment, ...]
    candidates: tuple[Candidate, ...]
    problems: tuple[Problem, ...]
    own: tuple[Provider, ...]


def read_environments(project: Project, manifest: Manifest, pinned: Iterable[str]) -> list[Environment | NoEnvironment]:
    """Read the active ecosystems' environments; those of `pinned` providers count as active.

    A Python environment that the person named makes its ecosystem active. Raises SkillsyncError
    if no ecosystem is active.
    """
    allowed = ECOSYSTEMS if manifest.ecosystems is None else manifest.ecosystems
    ours = {key.partition(":")[0] for key in pinned}
    if project.python is not None:
        if PYPI not in allowed:
            message = f"a Python environment is named, and `ecosystems` in {FILE_NAME} leaves {PYPI} out"
            raise SkillsyncError(Problem(code=Code.USAGE, message=message, hint="take one of the two out"))
        ours.add(PYPI)
    ours |= discovery.marked(project.root)
    active = [name for name in ECOSYSTEMS if name in allowed and (manifest.names(name) or name in ours)]
    if not active:
        from skillsync.commands.nested import meant
        from skillsync.discovery.pypi import environments

        looked_for = "; ".join(f"{name}: {', '.join(markers(name))}" for name in ECOSYSTEMS if name in allowed)
        below, naming = meant(project.root)
        looked = f"(looked for {looked_for or 'nothing'})"
        message = f"nothing in {project.root} tells which packages it uses {looked}{below}"
        line = f'ecosystems = ["{next(iter(ECOSYSTEMS))}"]'
        python = environments.naming((project.root,)) if PYPI in allowed else None
        naming = naming or "run skillsync in the project's directory, or name that by --project"
        hint = "; or ".join(filter(None, (python, naming, f"write `{line}` into {FILE_NAME}")))
        raise SkillsyncError(Problem(code=Code.ENVIRONMENT_NOT_FOUND, message=message, hint=hint))
    return [discovery.read(ecosystem, project.root, os.environ, python=project.python) for ecosystem in active]


class Sight(Value):
    """What was seen, before it is judged: the ecosystems' answers, and every package with what it ships.

    `problems` are those of choosing the versions that count, `own` the project's own packages.
    """

    answers: tuple[Environment | NoEnvironment, ...]
    candidates: tuple[Candidate, ...]
    problems: tuple[Problem, ...]
    own: tuple[Provider, ...] = ()

    @property
    def environments(self) -> tuple[Environment, ...]:
        """The environments that were read."""
        return tuple(one for one in self.answers if isinstance(one, Environment))


def none_whole(_choice: Choice, _skill: str) -> bool:
    """Let no skill be read but for its frontmatter."""
    return False


def survey(project: Project, manifest: Manifest, pinned: Pinned, is_wanted: Wanted = none_whole) -> Survey:
    """Find what the installed packages ship, and what is wrong. Raises SkillsyncError if nothing can be read.

    `is_wanted` tells of which skills all files are read. Raises OSError for one that can't be.
    """
    answers = read_environments(project, manifest, pinned)
    return judged(seen(answers, manifest, is_wanted, project.track), manifest, pinned)


def seen(answers: Sequence[Environment | NoEnvironment], manifest: Manifest, is_wanted: Wanted, track: Track) -> Sight:
    """Look into the installed packages; `track` is told of how many."""
    environments = [one for one in answers if isinstance(one, Environment)]
    choices, problems = choose(manifest, environments, ECOSYSTEMS)
    candidates = tuple(
        Candidate(
            choice=choice,
            providers=tuple(look(one, choice.places, partial(is_wanted, choice)) for one in choice.variants),
        )
        for choice in track(choices, "looking into packages")
    )
    own = tuple(look(package, package.places) for environment in environments for package in environment.own)
    return Sight(answers=tuple(answers), candidates=candidates, problems=tuple(problems), own=own)


def judged(sight: Sight, manifest: Manifest, pinned: Pinned) -> Survey:
    """Say what is wrong with what was seen."""
    environments = sight.environments
    problems = list(sight.problems)
    for one in sight.answers:
        if isinstance(one, NoEnvironment):
            needed = not environments or bool((manifest.rules or {}).get(one.ecosystem))
            problems.append(one.problem if needed else replace(one.problem, severity=Severity.WARNING))
    problems += [problem for environment in environments for problem in environment.problems]
    problems += vanished(pinned, manifest, sight.answers)
    # Of an environment that wasn't read nobody knows what a pattern matches.
    problems += examine(sight.candidates, manifest.of({one.ecosystem for one in environments}), pinned)
    return Survey(
        environments=environments,
        candidates=sight.candidates,
        problems=_distinct(problems),
        own=tuple(provider for provider in sight.own if provider.skills),
    )


def judged_alone(sight: Sight, manifest: Manifest, pinned: Pinned, keys: Collection[str]) -> Survey:
    """Say what is wrong with some providers, and nothing of the others."""
    ecosystems = {key.partition(":")[0] for key in keys}
    alone = Sight(
        answers=tuple(one for one in sight.answers if one.ecosystem in ecosystems),
        candidates=tuple(candidate for candidate in sight.candidates if candidate.key in keys),
        problems=sight.problems,
    )
    found = judged(alone, manifest, {key: skills for key, skills in pinned.items() if key in keys})
    problems = (one for one in found.problems if one.provider is None or one.provider in keys)
    # Without the others their patterns seem to match nothing.
    code = Code.PATTERN_UNMATCHED
    return replace(found, problems=tuple(one for one in problems if one.provider or one.code is not code))


def _distinct(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Leave out what is said twice, and warnings that are errors as well."""
    errors = {problem for problem in problems if problem.is_error}
    return tuple(dict.fromkeys(one for one in problems if one.is_error or one.as_error() not in errors))
