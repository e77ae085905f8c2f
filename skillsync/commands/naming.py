"""Which provider a person means: `gem:sus`, `npm:@scope/*`, or `sus` where only one has that name.

Invariants: reads nothing; what isn't known is an error that names the nearest right one; nothing is guessed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.discovery import ECOSYSTEMS
from skillsync.discovery.environment import OWN
from skillsync.errors import LOOK, Code, Problem, SkillsyncError, did_you_mean, typed
from skillsync.locking.manifest import Named, is_pattern
from skillsync.schema import line_fault, suggestion

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from skillsync.discovery.environment import Package
    from skillsync.locking.pins import Pinned

# What people call an ecosystem after the tool that they know.
_TOOLS = {
    "gem": ("bundle", "bundler", "gems", "ruby", "rubygems"),
    "pypi": ("pip", "poetry", "py", "python", "uv"),
    "npm": ("bun", "js", "node", "pnpm", "yarn"),
    "cargo": ("crate", "crates", "rust"),
}
_OF_SKILLS = ("allow", "deny")  # the commands that take some skills of a provider


def meant(texts: Iterable[str], command: str, known: Pinned) -> list[Named]:
    """Return what a person has named on a command's line; `known` are the providers that are to be found by it.

    Raises SkillsyncError with everything that can't be settled.
    """
    found: dict[Named, None] = {}
    problems: list[Problem] = []
    for text in texts:
        try:
            found[_meant(text, command, known)] = None
        except SkillsyncError as error:
            problems += error.problems
    if problems:
        raise SkillsyncError(*problems)
    return list(found)


def _meant(text: str, command: str, known: Pinned) -> Named:
    ecosystem, colon, name = text.partition(":")
    if not colon:
        return _bare(text, command, known)
    if fault := line_fault(name):
        raise _refusal(Code.USAGE, f"the name in `{text}` {fault}", f"write `skillsync {command} gem:sus`, for example")
    if ecosystem not in ECOSYSTEMS:
        near = next((one for one, tools in _TOOLS.items() if ecosystem in tools), suggestion(ecosystem, ECOSYSTEMS))
        choices = _called(name, known) or ([f"{near}:{name}"] if near else [])
        hint = _did_you_mean(command, choices) or f"known here: {', '.join(ECOSYSTEMS)}"
        raise _refusal(Code.USAGE, f"`{ecosystem}` is not an ecosystem", hint)
    return Named(ecosystem=ecosystem, name=ECOSYSTEMS[ecosystem].canonical(name))


def _bare(name: str, command: str, known: Pinned) -> Named:
    found = _called(name, known)
    if len(found) == 1:
        ecosystem, _, name = found[0].partition(":")
        return Named(ecosystem=ecosystem, name=name)
    if found:
        message = f"`{name}` can be {' or '.join(found)}"
        raise _refusal(Code.USAGE, message, _did_you_mean(command, found))
    if is_pattern(name):
        used = next((key.partition(":")[0] for key in known), next(iter(ECOSYSTEMS)))
        example = typed(*command.split(), f"{'npm' if name.startswith('@') else used}:{name}")
        message = f"`{name}` doesn't say in which ecosystem"
        raise _refusal(Code.USAGE, message, f"write {example}, for example")
    if owners := [key for key, skills in known.items() if name in skills]:
        message = f"`{name}` is no provider, it is a skill of {' and of '.join(owners)}"
        raise _refusal(Code.MISSING_PROVIDER, message, _did_you_mean(command, owners, skill=name))
    message = f"no package that ships skills is installed or locked under the name `{name}`"
    raise _refusal(Code.MISSING_PROVIDER, message, _did_you_mean(command, _nearest(name, known)) or LOOK)


def unknown(named: Named, command: str, keys: Collection[str]) -> Problem:
    """Say that a provider is neither installed nor locked, and which was probably meant."""
    ours = [key for key in keys if key.startswith(f"{named.ecosystem}:")]
    near = _nearest(named.name, ours) or _called(named.name, keys)
    return Problem(
        code=Code.MISSING_PROVIDER,
        message=f"{named.key} is neither installed nor locked",
        hint=_did_you_mean(command, near) or LOOK,
        provider=named.key,
    )


def no_provider(package: Package) -> Problem:
    """Say that a package is the project's own, whose skills no lock has."""
    return Problem(
        code=Code.MISSING_PROVIDER,
        message=f"{package.key} is no provider: it is {OWN}",
        hint="its skills are the project's own: put them into a target directory, where skillsync leaves them alone",
        provider=package.key,
    )


def _nearest(name: str, keys: Collection[str]) -> list[str]:
    """Return the providers whose name is nearest to one that is wrong."""
    near = suggestion(name, dict.fromkeys(map(_name, keys)))
    return [key for key in keys if _name(key) == near]


def _called(name: str, keys: Collection[str]) -> list[str]:
    """Return the providers of exactly this name, each as its ecosystem spells it."""
    spelled = (f"{ecosystem}:{ECOSYSTEMS[ecosystem].canonical(name)}" for ecosystem in ECOSYSTEMS)
    return [key for key in spelled if key in keys]


def _name(key: str) -> str:
    return key.partition(":")[2]


def _did_you_mean(command: str, keys: Iterable[str], skill: str | None = None) -> str | None:
    option = ("--skill", skill) if skill and command in _OF_SKILLS else ()
    return did_you_mean(*((*command.split(), key, *option) for key in keys))


def _refusal(code: Code, message: str, hint: str | None) -> SkillsyncError:
    return SkillsyncError(Problem(code=code, message=message, hint=hint))
