"""What every command's result has: its problems, and the exit code that comes of them.

Invariants: pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.errors import exit_code
from skillsync.values import Value

if TYPE_CHECKING:
    from skillsync.errors import ExitCode, Problem


class Result(Value):
    """What a command came to. `drift` tells whether something differs that was asked not to."""

    problems: tuple[Problem, ...]
    drift: bool

    @property
    def is_stopped(self) -> bool:
        """Whether there is an error."""
        return any(problem.is_error for problem in self.problems)

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the command, as the command line ends with it."""
        return exit_code(self.problems, drift=self.drift)
