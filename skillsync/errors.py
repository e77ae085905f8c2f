"""What went wrong, as values: a problem's text, its JSON and the exit code all come from one `Problem`.

Invariants: a code has one exit code; a problem's path is relative to the project or to the provider's root.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import TYPE_CHECKING

from skillsync.values import Value, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def typed(*words: str) -> str:
    """Return one of skillsync's commands as a hint shows it, to be copied into a shell whatever a package is called."""
    import shlex

    return f"`{shlex.join(('skillsync', *words))}`"


def word(path: str) -> str:
    """Return a path as one word of a command for a shell: in quotes, and no option, whatever it is called."""
    path = f"./{path}" if path.startswith("-") else path
    return "'" + path.replace("'", "'\"'\"'") + "'"


# The hint where nothing is near to what was written.
LOOK = "run `skillsync list` to see what is installed"


def did_you_mean(*commands: Sequence[str]) -> str | None:
    """Return the hint that names the commands, each as its words, one of which was probably meant; None for none."""
    return f"did you mean {' or '.join(typed(*words) for words in commands)}?" if commands else None


class ExitCode(IntEnum):
    """The exit codes of every command."""

    DONE = 0
    DRIFT = 1
    USAGE = 2
    REFUSED = 3
    SYSTEM = 4
    INTERRUPTED = 130


# "Of several, 4 before 2 before 3 before 1": the later in this list wins.
_PRECEDENCE = (ExitCode.DONE, ExitCode.DRIFT, ExitCode.REFUSED, ExitCode.USAGE, ExitCode.SYSTEM, ExitCode.INTERRUPTED)


class Severity(Enum):
    """Whether a problem stops the command or is only said; a note is what may well be meant."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Code(Enum):
    """The kinds of problem, by the names that scripts may rely on."""

    INVALID_SKILL = "invalid-skill"
    UNSAFE_SKILL = "unsafe-skill"
    DUPLICATE_SKILL = "duplicate-skill"
    MISSING_PROVIDER = "missing-provider"
    VERSION_NOT_ADMITTED = "version-not-admitted"
    ENVIRONMENT_NOT_FOUND = "environment-not-found"
    ENVIRONMENT_UNREADABLE = "environment-unreadable"
    UNMANAGED = "unmanaged"
    FOREIGN_OWNER = "foreign-owner"
    MODIFIED = "modified"
    CONTENT_CHANGED = "content-changed"
    MODIFIED_AFTER_INSTALL = "modified-after-install"
    LOCK_UNREADABLE = "lock-unreadable"
    LOCK_MISSING = "lock-missing"
    REGISTRY_UNREADABLE = "registry-unreadable"
    MANIFEST_INVALID = "manifest-invalid"
    MANIFEST_EXISTS = "manifest-exists"
    UNSAFE_TARGET = "unsafe-target"
    FORMER_TARGET = "former-target"
    PATTERN_UNMATCHED = "pattern-unmatched"
    SKILL_NOT_FOUND = "skill-not-found"
    HIDDEN_CHARACTERS = "hidden-characters"
    AMBIGUOUS_PROVIDER = "ambiguous-provider"
    PACKAGE_UNREADABLE = "package-unreadable"
    ARCHIVE_UNREADABLE = "archive-unreadable"
    ARCHIVE_UNSAFE = "archive-unsafe"
    CHECKSUM_MISMATCH = "checksum-mismatch"
    SKILL_NOT_PACKAGED = "skill-not-packaged"
    ARTIFACT_DIFFERS = "artifact-differs"
    BUILD_FAILED = "build-failed"
    TOOL_NOT_FOUND = "tool-not-found"
    NO_SKILLS = "no-skills"
    NO_SKILL_FILE = "no-skill-file"
    SKILL_ELSEWHERE = "skill-elsewhere"
    NAME_COLLISION = "name-collision"
    FORMAT_LIMIT = "format-limit"
    LINK_OUT = "link-out"
    LINK_BROKEN = "link-broken"
    NOT_COMPARED = "not-compared"
    NOT_EXECUTABLE = "not-executable"
    LINE_ENDS = "line-ends"
    FINAL_NEWLINE = "final-newline"
    USAGE = "usage"
    BUSY = "busy"
    IO = "io"


_EXIT_CODES = {
    Code.LOCK_UNREADABLE: ExitCode.USAGE,
    Code.LOCK_MISSING: ExitCode.USAGE,
    Code.REGISTRY_UNREADABLE: ExitCode.USAGE,
    Code.MANIFEST_INVALID: ExitCode.USAGE,
    Code.USAGE: ExitCode.USAGE,
    Code.TOOL_NOT_FOUND: ExitCode.REFUSED,
    Code.BUSY: ExitCode.SYSTEM,
    Code.IO: ExitCode.SYSTEM,
}


class Problem(Value):
    """One thing that is wrong: what, where, and the step that gets the person on.

    `line` and `column` count from 1. `provider` is written `ecosystem:name`. `root` is the absolute directory (or
    archive) that `path` is relative to, None for the project's; `source` is the same as a person has written it, None
    for what nobody has named.
    """

    code: Code
    message: str
    hint: str | None = None
    severity: Severity = Severity.ERROR
    skill: str | None = None
    provider: str | None = None
    path: str | None = None
    line: int | None = None
    column: int | None = None
    source: str | None = None
    root: str | None = field(default=None, compare=False)  # what is wrong in each of several variants is said once

    @property
    def is_error(self) -> bool:
        """Whether the command must not succeed."""
        return self.severity is Severity.ERROR

    def as_error(self) -> Problem:
        """Return the same problem, as one that stops the command."""
        return replace(self, severity=Severity.ERROR)

    def as_warning(self) -> Problem:
        """Return the same problem, as one that is only said."""
        return replace(self, severity=Severity.WARNING)


class SkillsyncError(Exception):
    """Stops a command; carries every problem that was found, never only the first."""

    def __init__(self, *problems: Problem) -> None:
        """Take at least one problem."""
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


class UnreadableError(Exception):
    """Something is there and can't be read as what it should be; its text is the reason."""


def exit_code(problems: Iterable[Problem], *, drift: bool = False, packages: ExitCode = ExitCode.REFUSED) -> ExitCode:
    """Return the one exit code for what a command found; warnings and notes alone leave it at 0.

    `packages` is what errors of packages and skills come to: a command that was asked for them has not failed.
    """
    codes = {_EXIT_CODES.get(problem.code, packages) for problem in problems if problem.is_error}
    codes.add(ExitCode.DRIFT if drift else ExitCode.DONE)
    return max(codes, key=_PRECEDENCE.index)
