from __future__ import annotations

import json

import pytest
from builders import candidate, environment, package, problem
from hypothesis import given
from hypothesis import strategies as st

from skillsync.discovery.provider import Ignored
from skillsync.errors import Code, Severity
from skillsync.locking.changes import Action, Change, FileChanges
from skillsync.rendering import report
from skillsync.rendering.report import NOTHING, Report, counted, one_line, printable, to_json
from skillsync.reviewing.marks import Kind, Mark
from skillsync.schema import is_visible
from skillsync.syncing.plan import Drift, DriftRow
from skillsync.values import replace

HOSTILE = "\x1b[31m\u202e\u2066\u200b\n\r\t\x7f\x9b\u2028\ufe0f\U000e0041\udcff"

FULL = replace(
    problem(Code.INVALID_SKILL, "has no name", severity=Severity.WARNING),
    hint="add one",
    skill="testing",
    provider="gem:sus",
    path="skills/testing/SKILL.md",
    line=2,
    column=7,
)


# Text


def test_what_is_seen_as_it_is_is_printed_as_it_is() -> None:
    for text in ("", "plain", "é 漢 \U0001f600", "a\\b"):
        assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb\tc\r", "a\\x0ab\\x09c\\x0d"),
        ("\x7f\x9b\xa0", "\\x7f\\x9b\\xa0"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\u200b\ufeff\u2028", "\\u200b\\ufeff\\u2028"),
        ("\ufe0f\u3164\U000e0100", "\\ufe0f\\u3164\\U000e0100"),
        ("\uffff\U000e0041", "\\uffff\\U000e0041"),
        ("\udcff", "\\udcff"),
    ],
)
def test_what_a_terminal_would_not_show_as_it_is_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_nothing_unseen_is_left_in_what_is_printed(text: str) -> None:
    assert is_visible(printable(text))
    assert is_visible(one_line(text))


def test_a_text_is_shown_on_one_line() -> None:
    assert one_line("  Tests Ruby,\n  and more.\n") == "Tests Ruby, and more."
    assert one_line("a\x1b\nb") == "a\\x1b b"


def test_numbers_have_their_noun() -> None:
    assert [counted(number, "skill") for number in (0, 1, 2)] == ["0 skills", "1 skill", "2 skills"]


def test_columns_are_aligned() -> None:
    assert report.table([("a", "bb", "c"), ("aaa", "b", "")]) == ["a    bb  c", "aaa  b"]
    assert report.table([("日本", "b"), ("aaa", "b")]) == ["日本  b", "aaa   b"]
    assert report.table([]) == []


def test_a_problem_says_what_and_where_and_then_what_to_do() -> None:
    assert list(report.problem_lines(FULL)) == [
        "warning[invalid-skill]: has no name (skills/testing/SKILL.md:2:7)",
        "  hint: add one",
    ]
    assert list(report.problem_lines(replace(FULL, column=None, hint=None))) == [
        "warning[invalid-skill]: has no name (skills/testing/SKILL.md:2)"
    ]
    for without in (replace(FULL, line=None, column=None, hint=None), replace(FULL, path=None, hint=None)):
        assert list(report.problem_lines(without)) == ["warning[invalid-skill]: has no name"]
    assert list(report.problem_lines(problem(Code.IO, "disk full"))) == ["error[io]: disk full"]


CHANGE = Change(
    action=Action.UPDATE,
    skill="testing",
    provider="gem:sus",
    version="2.0",
    files=FileChanges(added=("new.md", "scripts/new"), changed=("bin/run",), removed=("scripts/old",)),
    carried=(".venv",),
)


def test_a_change_is_shown_file_by_file_with_what_deserves_a_look() -> None:
    marks = [
        *(Mark(kind=Kind.SCRIPT, path=path) for path in ("scripts/new", "bin/run")),
        Mark(kind=Kind.HOST, path="bin/run", detail="a.example\x1b"),
    ]
    assert list(report.change_lines(CHANGE, marks)) == [
        "~ update testing (gem:sus 2.0, the same version with other content)",
        "    + new.md",
        "    + scripts/new  [script]",
        "    ~ bin/run  [script]  [new-host: a.example\\x1b]",
        "    - scripts/old",
        "    .venv stays as it is",
    ]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (Change(action=Action.ADD, skill="a", provider="gem:x", version="1"), "+ add a (gem:x 1)"),
        (Change(action=Action.REMOVE, skill="a", provider="gem:x", version="1"), "- remove a (gem:x 1)"),
        (Change(action=Action.FORGET, skill="a", provider="gem:x", version=None), "- forget a (gem:x)"),
        (Change(action=Action.REPAIR, skill="a", provider="gem:x", version="1"), "~ repair a (gem:x 1)"),
        (Change(action=Action.RECORD, skill="a", provider="gem:x", version="1"), "~ record a (gem:x 1)"),
        (
            Change(action=Action.UPDATE, skill="a", provider="gem:x", version="2", previous_version="1"),
            "~ update a (gem:x 1 -> 2)",
        ),
        (
            Change(action=Action.UPDATE, skill="a", provider="gem:x", version="2", previous="npm:y"),
            "~ update a (gem:x 2, so far npm:y's)",
        ),
    ],
)
def test_each_action_has_its_sign_its_word_and_its_owner(change: Change, line: str) -> None:
    assert list(report.change_lines(change)) == [line]


def test_a_change_in_a_target_directory_names_it() -> None:
    assert next(report.change_lines(CHANGE, target=".claude/skills")) == "~ update .claude/skills/testing (gem:sus 2.0)"


def test_what_was_read_is_counted_by_its_source() -> None:
    read = replace(environment(package("gem:a"), package("gem:b")), sources=("Gemfile.lock", "/packages"))
    assert report.environment_lines([read]) == [
        "read gem: Gemfile.lock (0 packages)",
        "read gem: /packages (2 packages)",
    ]
    assert report.environments_json([read]) == [
        {"ecosystem": "gem", "path": "Gemfile.lock", "packages": 0},
        {"ecosystem": "gem", "path": "/packages", "packages": 2},
    ]


def test_what_was_decided_while_reading_is_said() -> None:
    read = [replace(environment(), notes=("two Rubies: the newer counts", "\x1b[31m")), environment()]
    assert list(report.note_lines(read)) == ["two Rubies: the newer counts", "\\x1b[31m"]


def test_what_is_not_admitted_is_shown_with_the_line_that_would_admit_it() -> None:
    left_out = candidate("npm:@s/x", "a", "b", rule=None)
    assert list(report.not_admitted_lines([left_out])) == [
        "not admitted: npm:@s/x 1.0.0 (a, b)",
        "  to admit it, run `skillsync allow npm:@s/x`",
    ]
    assert report.not_admitted_json([left_out]) == [{"provider": "npm:@s/x", "skills": ["a", "b"]}]


def test_what_was_passed_over_is_shown_with_the_reason() -> None:
    one = candidate("gem:sus")
    found = replace(one.provider, ignored=(Ignored(path="skills/CREDITS.md", reason="is a file"),))
    assert list(report.ignored_lines([replace(one, providers=(found, one.provider))])) == [
        "ignored: gem:sus skills/CREDITS.md: is a file"
    ]


def test_a_difference_is_shown_by_its_path_in_the_project_with_its_note() -> None:
    row = DriftRow(kind=Drift.MODIFIED, skill="a", path="b/c.md")
    assert report.drift_line(row, ".agents/skills", {}) == "modified: .agents/skills/a/b/c.md"
    noted = {".agents/skills/a/b/c.md": "only the line endings differ"}
    assert report.drift_line(row, ".agents/skills", noted).endswith("a/b/c.md (only the line endings differ)")
    assert report.drift_line(DriftRow(kind=Drift.STALE_LOCK, skill="a"), None, noted) == "stale-lock: a"


def test_nothing_of_a_providers_reaches_the_terminal_unescaped() -> None:
    one = candidate(f"gem:{HOSTILE}", HOSTILE, rule=None, version=HOSTILE)
    ignoring = replace(one, providers=(replace(one.provider, ignored=(Ignored(path=HOSTILE, reason=HOSTILE),)),))
    change = Change(
        action=Action.UPDATE,
        skill=HOSTILE,
        provider=HOSTILE,
        version=HOSTILE,
        files=FileChanges(added=(HOSTILE,), changed=(HOSTILE,), removed=(HOSTILE,)),
        previous=HOSTILE,
        previous_version=HOSTILE,
        carried=(HOSTILE,),
    )
    lines = [
        *report.problem_lines(replace(FULL, message=HOSTILE, hint=HOSTILE, path=HOSTILE)),
        *report.change_lines(change, target=HOSTILE),
        *report.environment_lines([replace(environment(), sources=(HOSTILE,))]),
        *report.not_admitted_lines([one]),
        *report.ignored_lines([ignoring]),
        report.drift_line(DriftRow(kind=Drift.MODIFIED, skill=HOSTILE, path=HOSTILE), HOSTILE, {}),
    ]
    assert len(lines) == 12
    assert all(map(is_visible, lines))


# JSON


def test_the_json_object_has_its_version_the_commands_data_and_the_problems() -> None:
    found = json.loads(to_json(Report(data={"changes": []}, problems=(FULL,))))
    assert list(found) == ["version", "changes", "problems"]
    assert found["version"] == 1
    assert found["problems"] == [
        {
            "code": "invalid-skill",
            "severity": "warning",
            "message": "has no name",
            "hint": "add one",
            "skill": "testing",
            "provider": "gem:sus",
            "path": "skills/testing/SKILL.md",
            "line": 2,
            "column": 7,
        }
    ]
    assert json.loads(to_json(Report())) == {"version": 1, "problems": []}


def test_what_is_not_known_of_a_problem_is_not_there() -> None:
    assert report.problem_json(problem(Code.IO, "disk full")) == {
        "code": "io",
        "severity": "error",
        "message": "disk full",
    }


def test_the_json_is_ascii_and_readable_whatever_a_provider_or_the_disk_is_called() -> None:
    data = {"list": [{HOSTILE: [HOSTILE, 1, None, True]}], "text": HOSTILE}
    text = to_json(Report(data=data, problems=(replace(FULL, message=HOSTILE, hint=HOSTILE, path=HOSTILE),)))
    assert text.isascii()
    assert is_visible(text.replace("\n", ""))
    found = json.loads(text)
    whole = HOSTILE.replace("\udcff", "\\udcff")
    assert (found["text"], found["list"]) == (whole, [{whole: [whole, 1, None, True]}])
    assert found["problems"][0]["path"] == whole
    assert found["problems"][0]["message"] == found["problems"][0]["hint"] == printable(HOSTILE)
    found["text"].encode()


def test_a_change_has_its_target_only_where_there_is_one() -> None:
    expected = {
        "action": "update",
        "skill": "testing",
        "provider": "gem:sus",
        "version": "2.0",
        "files": {"added": ["new.md", "scripts/new"], "changed": ["bin/run"], "removed": ["scripts/old"]},
    }
    assert report.change_json(CHANGE) == expected
    assert report.change_json(CHANGE, ".agents/skills") == {**expected, "target": ".agents/skills"}


def test_a_difference_of_a_whole_skill_has_no_path() -> None:
    row = DriftRow(kind=Drift.ORPHANED, skill="a")
    assert report.drift_json(row, "t") == {"kind": "orphaned", "skill": "a", "target": "t"}
    assert report.drift_json(replace(row, path="b"), None) == {"kind": "orphaned", "skill": "a", "path": "b"}


def test_every_command_has_an_object_for_when_it_could_not_begin() -> None:
    assert set(NOTHING) == {"init", "allow", "deny", "list", "show", "lock", "diff", "sync", "verify", "check"}
    for data in NOTHING.values():
        assert json.loads(to_json(Report(data=data)))["problems"] == []
    assert NOTHING["verify"] == {
        "ok": False,
        "checked": {"skills": 0, "files": 0, "providers": 0},
        "not_compared": [],
        "drift": [],
    }


def test_the_exit_code_comes_from_what_is_reported() -> None:
    assert Report().exit_code == 0
    assert Report(drift=True).exit_code == 1
    assert Report(problems=(FULL,), drift=True).exit_code == 1
    assert Report(problems=(FULL, problem(Code.UNMANAGED)), drift=True).exit_code == 3


@pytest.mark.parametrize(
    ("rows", "cure"),
    [
        ([(Drift.MISSING, None)], "run `skillsync sync`"),
        ([(Drift.MISSING, None), (Drift.OUTDATED, None), (Drift.NOT_EXECUTABLE, "a")], "run `skillsync sync`"),
        ([(Drift.MISSING, "a")], "`skillsync sync --dry-run` shows what a sync would do"),
        ([(Drift.MISSING, None), (Drift.ORPHANED, None)], "`skillsync sync --dry-run` shows what a sync would do"),
        (
            [(Drift.MISSING, None), (Drift.STALE_LOCK, None)],
            "review it with `skillsync diff`, then run `skillsync lock`",
        ),
    ],
)
def test_the_cure_is_for_all_that_was_found(rows: list[tuple[Drift, str | None]], cure: str) -> None:
    assert report.cure([DriftRow(kind=kind, skill="x", path=path) for kind, path in rows]) == cure
