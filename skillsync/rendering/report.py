"""Values become text and JSON; the exit code comes from the same `Report`.

Invariants: pure; nothing of a provider's reaches a terminal unescaped: no control, bidirectional, invisible character.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from skillsync.discovery.environment import OWN
from skillsync.errors import ExitCode, Problem, exit_code, typed
from skillsync.locking.changes import SAME_VERSION, Action, Change
from skillsync.rendering.columns import columns
from skillsync.schema import is_visible
from skillsync.syncing.plan import Drift
from skillsync.values import Value, field

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from skillsync.discovery.environment import Environment
    from skillsync.discovery.provider import Provider
    from skillsync.locking.choice import Candidate
    from skillsync.reviewing.marks import Mark
    from skillsync.syncing.plan import DriftRow

Json = dict[str, Any]
# What each command's JSON holds when it could not begin: the keys that are always there, empty.
NOTHING: dict[str, Json] = {
    "init": {"environments": [], "providers": []},
    "list": {"environments": [], "providers": []},
    "show": {"environments": [], "skills": []},
    "allow": {"manifest": "agent-skills.toml", "changes": []},
    "deny": {"manifest": "agent-skills.toml", "changes": []},
    "lock": {"environments": [], "changes": [], "not_admitted": []},
    "diff": {"changes": []},
    "sync": {"changes": []},
    "verify": {
        "ok": False,
        "checked": {"skills": 0, "files": 0, "providers": 0},
        "not_compared": [],
        "drift": [],
    },
    "check": {
        "ok": False,
        "checked": {"trees": 0, "artifacts": 0, "skills": 0, "files": 0},
        "packages": [],
        "fixed": [],
    },
}
_SIGNS = {Action.ADD: "+", Action.REMOVE: "-", Action.FORGET: "-"}


_GREEN, _RED, _YELLOW, _CYAN, _BOLD = "32", "31", "33", "36", "1"
# By how lines begin: those about changes, those of a unified diff, those of verdicts, those of problems.
CHANGES = {"+ ": _GREEN, "    + ": _GREEN, "- ": _RED, "    - ": _RED, "~ ": _YELLOW, "    ~ ": _YELLOW}
DIFF = {"+": _GREEN, "-": _RED, "@@": _CYAN, "diff ": _BOLD, "! ": _YELLOW} | CHANGES
VERDICTS = {"ok: ": _GREEN, "drift: ": _RED, "failed: ": _RED} | {f"{kind.value}: ": _YELLOW for kind in Drift}
PROBLEMS = {"error[": _RED, "warning[": _YELLOW, "note[": _CYAN}


class Verification(Value):
    """What `verify` compared and found: what its forms for CI are made of.

    `project` is its absolute directory. A target directory of None is the lock itself. `notes` say more of a path, and
    `summary` has nothing of a package's.
    """

    project: str
    compared: tuple[tuple[str | None, str], ...]
    drift: tuple[tuple[str | None, DriftRow], ...]
    notes: Mapping[str, str]
    summary: str


class Examination(Value):
    """What `check` looked at, and where: what its forms for CI are made of.

    `directory` is the absolute one that it was run in. `skills` are those that were checked, each with what it is in,
    as the person named that; `artifacts` are the absolute paths of archives, in which no file of the repository is.
    `repeated` is what is wrong in archives as in their trees, of which it is said.
    """

    directory: str
    skills: tuple[tuple[str, str], ...]
    artifacts: frozenset[str]
    repeated: tuple[Problem, ...]
    summary: str


class Report(Value):
    """What a command has to say.

    `findings` are said under --quiet too, `details` only under --verbose. On a terminal, `palette` gives lines their
    colour by how they begin, and `is_long` asks for a pager. `data` is the JSON object without its problems.
    `verification` is None where nothing was verified, `examination` where nothing was checked. `packages` is what
    errors of packages and skills make the exit code. `command` is the one whose report has forms for CI.
    """

    lines: Sequence[str] = ()
    palette: Mapping[str, str] = field(default_factory=dict)
    findings: Sequence[str] = ()
    details: Sequence[str] = ()
    data: Json = field(default_factory=dict)
    verification: Verification | None = None
    examination: Examination | None = None
    problems: tuple[Problem, ...] = ()
    drift: bool = False
    packages: ExitCode = ExitCode.REFUSED
    command: str = "verify"
    is_long: bool = False

    @property
    def exit_code(self) -> ExitCode:
        """The command's exit code."""
        return exit_code(self.problems, drift=self.drift, packages=self.packages)


def printable(text: str) -> str:
    """Return a text with every character escaped that a terminal would not show as it is."""
    if is_visible(text):
        return text
    return "".join(character if is_visible(character) else _escaped(character) for character in text)


def _escaped(character: str) -> str:
    number = ord(character)
    if number <= 0xFF:  # noqa: PLR2004  # what fits in two hexadecimal digits
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004


def one_line(text: str) -> str:
    """Return a text on one line, for display alone."""
    return printable(" ".join(text.split()))


def to_json(report: Report) -> str:
    """Return the JSON object of a command, in ASCII."""
    return dumped({"version": 1, **report.data, "problems": [problem_json(problem) for problem in report.problems]})


def dumped(value: Json) -> str:
    """Return a JSON object as text, in ASCII."""
    import json

    return json.dumps(_without_surrogates(value), indent=2).replace("\x7f", "\\u007f")


def _without_surrogates(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Escape what is no text: a path of the system's that is not UTF-8 would make the whole object unreadable."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


def problem_json(problem: Problem) -> Json:
    """Return a problem's JSON object; what isn't known isn't there."""
    found = {
        "code": problem.code.value,
        "severity": problem.severity.value,
        "message": printable(problem.message),
        "hint": problem.hint and printable(problem.hint),
        "skill": problem.skill,
        "provider": problem.provider,
        "path": problem.path,
        "line": problem.line,
        "column": problem.column,
        "source": problem.source,
    }
    return {key: value for key, value in found.items() if value is not None}


def problem_lines(problem: Problem) -> Iterator[str]:
    """Yield a problem's text: what and where, then what to do."""
    yield f"{problem.severity.value}[{problem.code.value}]: {printable(located(problem))}"
    if problem.hint:
        yield f"  hint: {printable(problem.hint)}"


def located(problem: Problem) -> str:
    """Return what is wrong, and the line if it is known; the message alone has the path."""
    if problem.path is None or problem.line is None:
        return problem.message
    path = posixpath.normpath(posixpath.join(problem.source or "", problem.path))
    return f"{problem.message} ({placed(path, problem.line, problem.column)})"


def placed(path: str, line: int | None, column: int | None) -> str:
    """Return a place in a file: `path`, `path:3`, `path:3:14`."""
    return ":".join(str(one) for one in (path, line, column if line else None) if one is not None)


def counted(number: int, word: str) -> str:
    """Return a number with its noun: `1 skill`, `3 skills`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines with aligned columns."""
    widths = [max(columns(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    filled = ((cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return ["  ".join(cells).rstrip() for cells in filled]


def note_lines(environments: Iterable[Environment]) -> Iterator[str]:
    """Yield what was decided while the environments were read, for --verbose."""
    for environment in environments:
        yield from map(printable, environment.notes)


def environments_json(environments: Iterable[Environment]) -> list[Json]:
    """Return what was read."""
    return [
        {"ecosystem": environment.ecosystem, "path": source, "packages": count}
        for environment in environments
        for source, count in _sources(environment)
    ]


def environment_lines(environments: Iterable[Environment]) -> list[str]:
    """Return what was read, for people."""
    return [
        f"read {environment.ecosystem}: {printable(source)} ({counted(count, 'package')})"
        for environment in environments
        for source, count in _sources(environment)
    ]


def _sources(environment: Environment) -> Iterator[tuple[str, int]]:
    for source in environment.sources:
        yield source, sum(package.source == source for package in environment.packages)


def change_json(change: Change, target: str | None = None) -> Json:
    """Return one change."""
    found: Json = {
        "action": change.action.value,
        "skill": change.skill,
        "provider": change.provider,
        "version": change.version,
        "files": {
            "added": list(change.files.added),
            "changed": list(change.files.changed),
            "removed": list(change.files.removed),
        },
    }
    if change.link is not None:
        found["link"] = change.link
    return found if target is None else {**found, "target": target}


def mark_json(mark: Mark) -> Json:
    """Return one thing to look at."""
    found = {"kind": mark.kind.value, "path": mark.path, "detail": mark.detail or None, "line": mark.line}
    return {key: value for key, value in found.items() if value is not None}


def change_lines(change: Change, marks: Sequence[Mark] = (), *, target: str = "") -> Iterator[str]:
    """Yield one change file by file, with what deserves a look."""
    yield change_line(change, target=target)
    for sign, paths in (("+", change.files.added), ("~", change.files.changed), ("-", change.files.removed)):
        for path in paths:
            words = "".join(f"  [{mark.words}]" for mark in marks if mark.path == path)
            yield printable(f"    {sign} {path}{words}")
    for path in change.carried:
        yield printable(f"    {path} stays as it is")
    for path in change.lost:
        yield printable(f"    - {path}, which skillsync did not write")


def change_line(change: Change, *, target: str = "") -> str:
    """Return what is done to a skill, and whose it is."""
    owner = f"{change.provider} {change.version}" if change.version else change.provider
    if change.previous_version:
        owner = f"{change.provider} {change.previous_version} -> {change.version}"
    if not target and change.is_silent:
        owner += f", {SAME_VERSION}"
    if change.previous:
        owner += f", so far {change.previous}'s"
    if change.link is not None:
        owner += f", a link to {change.link}"
    name = f"{target}/{change.skill}" if target else change.skill
    return printable(f"{_SIGNS.get(change.action, '~')} {change.action.value} {name} ({owner})")


def not_admitted_lines(candidates: Iterable[Candidate]) -> Iterator[str]:
    """Yield the providers that the manifest leaves out, and how to let them in."""
    for candidate in candidates:
        package = candidate.choice.package
        skills = ", ".join(skill.name for skill in candidate.provider.skills)
        yield printable(f"not admitted: {candidate.key} {package.version} ({skills})")
        if candidate.choice.refusing:
            yield printable(f"  `{candidate.choice.refusing.key}` admits `{candidate.choice.refusing.requirement}`")
        else:
            yield printable(f"  to admit it, run {typed('allow', candidate.key)}")


def own_lines(providers: Iterable[Provider]) -> Iterator[str]:
    """Yield the project's own packages: no lock has their skills, which are in the project anyway."""
    for provider in providers:
        package = provider.package
        skills = ", ".join(skill.name for skill in provider.skills)
        yield printable(f"no provider: {package.key} {package.version} ({skills}) is {OWN}")


def not_admitted_json(candidates: Iterable[Candidate]) -> list[Json]:
    """Return the providers that the manifest leaves out."""
    return [{"provider": one.key, "skills": [skill.name for skill in one.provider.skills]} for one in candidates]


def ignored_lines(candidates: Iterable[Candidate]) -> Iterator[str]:
    """Yield what was passed over in the skills directories, for --verbose."""
    for candidate in candidates:
        for provider in candidate.providers:
            for ignored in provider.ignored:
                yield printable(f"ignored: {candidate.key} {ignored.path}: {ignored.reason}")


def left_out_lines(problems: Iterable[Problem]) -> Iterator[str]:
    """Yield what is wrong with skills that are not admitted, for --verbose."""
    return (printable(f"left out: {located(problem)}") for problem in problems)


def drift_json(row: DriftRow, target: str | None) -> Json:
    """Return one difference."""
    found = {"kind": row.kind.value, "skill": row.skill, "path": row.path, "target": target}
    return {key: value for key, value in found.items() if value is not None}


def drift_line(row: DriftRow, target: str | None, notes: Mapping[str, str]) -> str:
    """Return one difference for people; `notes` say more of a path."""
    name = "/".join(part for part in (target, row.skill, row.path) if part)
    note = row.note or notes.get(name)
    return printable(f"{row.kind.value}: {name}" + (f" ({note})" if note else ""))


# What `sync` mends without taking away what anybody wrote.
_MENDED = frozenset({Drift.MISSING, Drift.OUTDATED, Drift.NOT_EXECUTABLE, Drift.STALE_ROW, Drift.INTERRUPTED})


def cure(rows: Collection[DriftRow]) -> str:
    """Return the command that gets a person on from what was found."""
    if any(row.kind is Drift.STALE_LOCK for row in rows):
        return "review it with `skillsync diff`, then run `skillsync lock`"
    # A file that is missing from a skill was taken out of it by somebody: that is an edit.
    if all(row.kind in _MENDED and not (row.kind is Drift.MISSING and row.path) for row in rows):
        return "run `skillsync sync`"
    return "`skillsync sync --dry-run` shows what a sync would do"
