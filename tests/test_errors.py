from __future__ import annotations

import builders
import pytest

from skillsync.errors import Code, ExitCode, Severity, SkillsyncError, exit_code

_USAGE = {Code.LOCK_UNREADABLE, Code.LOCK_MISSING, Code.REGISTRY_UNREADABLE, Code.MANIFEST_INVALID, Code.USAGE}
_SYSTEM = {Code.BUSY, Code.IO}
_REFUSED = set(Code) - _USAGE - _SYSTEM


@pytest.mark.parametrize(
    ("codes", "expected"),
    [(_USAGE, ExitCode.USAGE), (_SYSTEM, ExitCode.SYSTEM), (_REFUSED, ExitCode.REFUSED)],
    ids=["usage", "system", "refused"],
)
def test_each_kind_of_problem_has_its_exit_code(codes: set[Code], expected: ExitCode) -> None:
    assert {exit_code([builders.problem(code)]) for code in codes} == {expected}


def test_the_exit_codes_are_the_numbers_that_scripts_rely_on() -> None:
    assert [(code.name, int(code)) for code in ExitCode] == [
        ("DONE", 0),
        ("DRIFT", 1),
        ("USAGE", 2),
        ("REFUSED", 3),
        ("SYSTEM", 4),
        ("INTERRUPTED", 130),
    ]


def test_of_several_exit_codes_4_goes_before_2_before_3_before_1() -> None:
    refused, usage, system = (builders.problem(code) for code in (Code.UNMANAGED, Code.LOCK_MISSING, Code.IO))
    assert exit_code([], drift=True) == 1
    assert exit_code([refused], drift=True) == 3
    assert exit_code([refused, usage], drift=True) == 2
    assert exit_code([usage, refused]) == 2
    assert exit_code([usage, system, refused], drift=True) == 4


def test_warnings_alone_are_no_failure() -> None:
    warnings = [builders.problem(code, severity=Severity.WARNING) for code in Code]
    assert exit_code(warnings) == 0
    assert exit_code(warnings, drift=True) == 1


def test_nothing_found_is_done() -> None:
    assert exit_code([]) == 0


def test_a_warning_becomes_an_error_with_everything_else_kept() -> None:
    warning = builders.problem(Code.INVALID_SKILL, "no name", severity=Severity.WARNING)
    assert not warning.is_error
    assert warning.as_error() == builders.problem(Code.INVALID_SKILL, "no name")
    assert warning.as_error().is_error


def test_an_error_carries_all_its_problems_and_says_them() -> None:
    first, second = builders.problem(Code.UNMANAGED, "one thing"), builders.problem(Code.MODIFIED, "another")
    error = SkillsyncError(first, second)
    assert error.problems == (first, second)
    assert str(error) == "one thing; another"
