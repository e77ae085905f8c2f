"""What the benchmarks work on: made-up packages, some of which ship skills, the same on every machine.

Invariants: pure; a package is a function of the size, its number and the mark alone; skills have the same bytes in
every layout, and no two skills of one size have the same name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.prose import chance, prose, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

_ADJECTIVES = (
    "amber brisk calm dapper early fluent gentle hazel ivory jolly keen lucid mellow nimble olive plain quiet rapid "
    "solid tidy urban vivid woven young zesty"
)
_NOUNS = (
    "anchor beacon cargo delta ember ferry grove harbor inlet jetty kiln lantern meadow needle orchard pillar quarry "
    "rivet spindle timber umbra valve willow yarrow zephyr"
)
_TOPICS = ("configure", "debug", "deploy", "extend", "migrate", "optimize", "query", "stream", "test", "upgrade")


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much there is: packages, those of them that ship skills, skills of one, files of one, bytes of one."""

    packages: int
    providers: int
    skills: int
    files: int
    size: int

    @property
    def all_skills(self) -> int:
        return self.providers * self.skills

    @property
    def all_files(self) -> int:
        return self.all_skills * self.files


SMALL = Size(packages=50, providers=5, skills=2, files=5, size=4096)
MEDIUM = Size(packages=300, providers=50, skills=4, files=10, size=8192)
LARGE = Size(packages=1000, providers=250, skills=4, files=10, size=8192)
# Of each of three ecosystems: few packages ship skills.
MIXED = Size(packages=1000, providers=25, skills=2, files=2, size=2048)


def growing(skills: int) -> Size:
    """Return the size with so many skills, in packages of four that all ship some."""
    return Size(packages=skills // 4, providers=skills // 4, skills=4, files=3, size=2048)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package. `modules` is how many files of code it has, `readme` the size of its text, `needs` what it uses."""

    name: str
    version: str
    modules: int
    readme: int
    needs: tuple[str, ...]
    skills: tuple[str, ...]

    @property
    def import_name(self) -> str:
        return self.name.replace("-", "_")


def packages(size: Size, mark: str = "") -> list[Package]:
    """Return the packages of a size; those with different marks share no name."""
    rng = chance(size, mark)
    adjectives, nouns = _ADJECTIVES.split(), _NOUNS.split()
    providers = set(rng.sample(range(size.packages), size.providers))
    names = [f"{rng.choice(adjectives)}-{rng.choice(nouns)}-{mark}{at:04d}" for at in range(size.packages)]
    return [_package(names, at, size.skills if at in providers else 0) for at in range(size.packages)]


def _package(names: list[str], at: int, skills: int) -> Package:
    name = names[at]
    rng = chance(name)
    later = names[at + 1 : at + 200]  # so none needs itself, by whatever way
    return Package(
        name=name,
        version=f"{rng.randrange(9)}.{rng.randrange(30)}.{rng.randrange(12)}",
        # As installed environments have it: half of all have up to 15, few have hundreds.
        modules=min(750, max(2, int(rng.lognormvariate(2.7, 1.1)))),
        readme=min(60_000, int(rng.lognormvariate(8.7, 0.8))),
        needs=tuple(sorted(rng.sample(later, min(len(later), rng.randrange(4))))),
        skills=tuple(f"{name}-{topic}" for topic in sorted(rng.sample(_TOPICS, skills))),
    )


def skill_files(skill: str, size: Size) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a skill, by path relative to its directory; those in `scripts` are for running."""
    rng = chance(skill)
    yield "SKILL.md", _skill_text(rng, skill, _about(rng, size.size))
    kinds = ("assets/{}.json", "references/{}.md", "references/{}-more.md", "scripts/{}.py")
    for at in range(1, size.files):
        text = prose(rng, _about(rng, size.size))
        yield kinds[at % 4].format(f"part-{at:02d}"), b"#!/usr/bin/env python3\n" + text if at % 4 == 3 else text


def _about(rng: Random, size: int) -> int:
    """Return a size near a size."""
    return int(size * rng.uniform(0.75, 1.25))


def _skill_text(rng: Random, skill: str, size: int) -> bytes:
    head = (
        f"---\nname: {skill}\ndescription: >-\n  How to work with {skill}: {sentence(rng, 20)}\nlicense: MIT\n"
        f'metadata:\n  author: {skill}\n  version: "{rng.randrange(9)}.{rng.randrange(9)}"\n'
        f"allowed-tools: Read Grep\n---\n\n# {skill.title()}\n\n"
    ).encode()
    return head + prose(rng, size - len(head))
