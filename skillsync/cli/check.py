"""`skillsync check`: what the packaging spec and the Agent Skills format ask of who ships skills.

Invariants: every PATH is looked at, and nothing of it is run but its build, if that was asked for, and nothing written
but what --fix mends; says how much it looked at; nothing checked is never ok.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from skillsync.checking import building
from skillsync.checking.artifact import SUFFIXES, read_artifact, suffix
from skillsync.checking.judgement import Judged, judge, said
from skillsync.checking.offer import few, joined, problem
from skillsync.checking.pairing import published
from skillsync.checking.repair import Repaired, repair
from skillsync.checking.tree import NoPackageError, read_tree
from skillsync.errors import Code, ExitCode, Problem, Severity, SkillsyncError, UnreadableError
from skillsync.filesystem import is_directory
from skillsync.hashing import File, parents
from skillsync.rendering import report
from skillsync.rendering.report import Examination, Report
from skillsync.reviewing.difference import FileDifference, Version
from skillsync.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skillsync.checking.offer import Offer, Shipped
    from skillsync.checking.pairing import Pair
    from skillsync.commands.project import Project


_MOST_LINES = 40  # of what a build that failed has printed


def run(project: Project, paths: Sequence[str], *, build: bool, fix: bool) -> Report:
    """Check what is at each path. Raises SkillsyncError for one that is nothing that could be checked.

    With `fix`, the trees are mended first; with `build`, each is built by its own tool, and that is checked too.
    """
    paths = _once(paths)
    found, unknown = _read_all(paths)
    repaired, refused = repair(_trees(found, "--fix", "mends")) if fix else ([], [])
    if repaired:
        found, unknown = _read_again(paths, repaired)
    built, failed, output = _built(found) if build else ([], [], [])
    judged = judge(found, built)
    problems = [*unknown, *refused, *said(judged), *failed]
    read = [one for one in judged if one.offer.is_read]
    offers = [one.offer for one in read]
    checked = _Checked(offers)
    is_ok = bool(checked.skills) and not any(one.is_error for one in problems)
    summary = _summary(checked, problems, is_ok=is_ok)
    lines = [line for one in repaired for line in _diff(one)]
    lines += [line for one in read for line in _lines(one, refused)]
    return Report(
        lines=[*lines, summary] if is_ok else lines,
        palette=report.VERDICTS | (report.DIFF if repaired else {}),
        findings=[] if is_ok else [*output, summary],
        details=list(_details(offers)),
        data={
            "ok": is_ok,
            "checked": checked.json,
            "packages": [_json(one, refused) for one in read],
            "fixed": [{"source": one.source, "path": one.path, "what": list(one.what)} for one in repaired],
        },
        examination=Examination(
            directory=project.root,
            skills=tuple((one.package.source, skill.found.name) for one in offers for skill in one.skills),
            artifacts=frozenset(one.offer.package.root for one in judged if one.offer.is_artifact),
            repeated=tuple(problem for one in read for problem in one.repeated),
            summary=summary,
        ),
        problems=tuple(problems),
        drift=not is_ok,
        packages=ExitCode.DRIFT,
        command="check",
    )


def _read_again(paths: Sequence[str], repaired: Sequence[Repaired]) -> tuple[list[Offer], list[Problem]]:
    """Return what is there after it was mended. Raises SkillsyncError, which says that it was."""
    try:
        return _read_all(paths)
    except (OSError, UnreadableError, SkillsyncError) as error:
        message = f"{report.counted(len(repaired), 'file')} mended, and what is there can't be read again: {error}"
        hint = "look at what has changed there meanwhile, and check again"
        raise SkillsyncError(Problem(code=Code.IO, message=message, hint=hint)) from None


def _trees(offers: Iterable[Offer], option: str, does: str) -> list[Offer]:
    """Return the offers of trees. Raises SkillsyncError where there is none for an option."""
    found = [offer for offer in offers if not offer.is_artifact]
    if not found:
        message = f"{option} {does} source trees, and no PATH is one"
        raise SkillsyncError(Problem(code=Code.USAGE, message=message, hint=f"name a tree, or leave out {option}"))
    return found


def _diff(one: Repaired) -> Iterator[str]:
    """Yield what was mended in a file, as git shows it."""
    from skillsync.rendering.unified import body

    yield report.printable(f"fixed {one.place}: {', '.join(one.what)}")
    if one.old is not None and one.new is not None:
        yield report.printable(f"--- a/{one.path}")
        yield report.printable(f"+++ b/{one.path}")
        old, new = (Version(entry=File(""), size=len(side), content=side) for side in (one.old, one.new))
        yield from body(FileDifference(path=one.path, old=old, new=new))


def _built(offers: Sequence[Offer]) -> tuple[list[Pair], list[Problem], list[str]]:
    """Build the trees; return each with what came of it, the problems of builds that failed, and what these printed."""
    named = _trees(offers, "--build", "builds")
    left = {id(tree) for tree, _ in published(named)}  # what npm would make of these is never published
    trees = [one for one in named if one.identity.is_published and (one.skills or not one.is_beside)]
    found: list[Pair] = []
    problems: list[Problem] = []
    output: list[str] = []
    with TemporaryDirectory(prefix="skillsync-") as scratch:
        for number, offer in enumerate(one for one in trees if id(one) not in left):
            try:
                paths = building.build(offer, f"{scratch}/{number}")
            except building.BuildError as error:
                hint = "run the build yourself to see all that it prints"
                problems.append(
                    problem(offer.package, Code.BUILD_FAILED, offer.about, f"makes no package: {error}", hint=hint)
                )
                output += [f"  | {report.printable(line)}" for line in error.output.splitlines()[-_MOST_LINES:]]
            except SkillsyncError as error:
                problems += [one for one in error.problems if one not in problems]
            else:
                artifacts = (read_artifact(path, os.path.basename(path)) for path in paths)
                found += [(offer, replace(one, is_fresh=True)) for one in artifacts]
    return found, problems, output


def _once(paths: Sequence[str]) -> list[str]:
    """Return the paths, each place once: a person may spell it in several ways."""
    return list({os.path.realpath(path): path for path in reversed(paths)}.values())[::-1]


def _read_all(paths: Iterable[str]) -> tuple[list[Offer], list[Problem]]:
    """Return what there is to check, and the paths that are nothing of the kind. Raises SkillsyncError for these alone.

    A file that is no artifact lies beside packages in many a repository: a pattern names it, too.
    """
    found: list[Offer] = []
    unknown: list[Problem] = []
    for path in paths:
        try:
            found += _read(path)
        except SkillsyncError as error:
            severity = Severity.WARNING if os.path.isfile(path) else Severity.ERROR
            unknown += (replace(one, severity=severity) for one in error.problems)
    if not found:
        raise SkillsyncError(*(replace(one, severity=Severity.ERROR) for one in unknown))
    # Beside a package with skills, another one is often meant to have none.
    has_skills = any(offer.skills for offer in found if not offer.is_artifact)
    return [replace(one, is_beside=has_skills) if not one.is_artifact else one for one in found], unknown


def _read(path: str) -> list[Offer]:
    hint = (
        f"name an artifact ({', '.join(f'*{one}' for one in SUFFIXES)}), the directory that artifacts are in, or a "
        "source tree with a *.gemspec, pyproject.toml, setup.cfg, setup.py or package.json that isn't private"
    )
    try:
        if is_directory(path):
            return read_tree(path)
    except UnreadableError as error:
        raise UnreadableError(f"{path}: {error}") from None
    except NoPackageError as error:
        if artifacts := [one for one in _below(path) if suffix(one) and os.path.isfile(one)]:
            return [read_artifact(one, one) for one in artifacts]
        message = f"{path} is the source tree of no package"
        if error.below:
            hint = f"name those below it that have skills: {few(joined(path, one) for one in error.below)}"
        raise SkillsyncError(Problem(code=Code.USAGE, message=message, hint=hint)) from None
    if os.path.isfile(path) and suffix(path):
        return [read_artifact(path, path)]
    reason = "is no artifact" if os.path.lexists(path) else "is not there"
    raise SkillsyncError(Problem(code=Code.USAGE, message=f"{path} {reason}", hint=hint))


def _below(path: str) -> list[str]:
    return sorted(joined(path, name) for name in os.listdir(path))


class _Checked:
    """How much was looked at."""

    def __init__(self, offers: Sequence[Offer]) -> None:
        self.trees = len({one.package.source for one in offers if not one.is_artifact})
        self.artifacts = len({one.package.source for one in offers if one.is_artifact})
        self.skills = sum(len(one.skills) for one in offers)
        self.files = sum(_files(skill) for one in offers for skill in one.skills)

    @property
    def json(self) -> report.Json:
        return {"trees": self.trees, "artifacts": self.artifacts, "skills": self.skills, "files": self.files}

    @property
    def text(self) -> str:
        found = ((self.skills, "skill"), (self.files, "file"), (self.trees, "tree"), (self.artifacts, "artifact"))
        return ", ".join(report.counted(number, word) for number, word in found)


def _files(skill: Shipped) -> int:
    return len(skill.snapshot.tree) if skill.snapshot else 0


def _summary(checked: _Checked, problems: Iterable[Problem], *, is_ok: bool) -> str:
    counts = Counter(one.severity for one in problems)
    said = ", ".join(report.counted(counts[one], one.value) for one in Severity if counts[one])
    return f"{'ok' if is_ok else 'failed'}: checked {checked.text}{'; ' if said else ''}{said}"


class _Counts:
    """How many problems there are at each path of one offer, by severity."""

    def __init__(self, problems: Iterable[Problem], offer: Offer) -> None:
        self._found: defaultdict[str, Counter[Severity]] = defaultdict(Counter)
        for one in problems:
            for place in (*parents(one.path), one.path) if one.path and one.root == offer.package.root else ():
                self._found[place][one.severity] += 1

    def of(self, skill: Shipped) -> Counter[Severity]:
        return self._found[skill.found.path]


def _lines(judged: Judged, refused: Sequence[Problem]) -> Iterator[str]:
    """Yield what was looked at: the package, and a line for each of its skills."""
    offer, package = judged.offer, judged.offer.package
    name = f"{package.key} {package.version}".rstrip()
    yield report.printable(f"read {name}: {package.source} ({report.counted(len(offer.skills), 'skill')})")
    told, repeated = _Counts((*judged.problems, *refused), offer), _Counts(judged.repeated, offer)
    for skill in offer.skills:
        counts, errors = told.of(skill), repeated.of(skill)[Severity.ERROR]
        known = [report.counted(_files(skill), "file")]
        known += [report.counted(counts[one], one.value) for one in Severity if counts[one]]
        known += [f"{report.counted(errors, 'error')} as in its tree"] if errors else []
        word = "failed" if counts[Severity.ERROR] or errors else "ok"
        yield report.printable(f"{word}: {joined(package.source, skill.found.path)} ({', '.join(known)})")


def _details(offers: Iterable[Offer]) -> Iterator[str]:
    for offer in offers:
        for ignored in offer.provider.ignored:
            yield report.printable(f"ignored: {joined(offer.package.source, ignored.path)}: {ignored.reason}")


def _json(judged: Judged, refused: Sequence[Problem]) -> report.Json:
    offer, package = judged.offer, judged.offer.package
    counts = _Counts((*judged.problems, *judged.repeated, *refused), offer)
    return {
        "source": package.source,
        "kind": "artifact" if offer.is_artifact else "tree",
        "ecosystem": package.ecosystem,
        "name": package.name,
        "version": package.version or None,
        "skills": [
            {
                "name": skill.found.name,
                "path": skill.found.path,
                "hash": skill.snapshot.hash if skill.snapshot else None,
                "files": _files(skill),
                "ok": not counts.of(skill)[Severity.ERROR],
            }
            for skill in offer.skills
        ],
    }
