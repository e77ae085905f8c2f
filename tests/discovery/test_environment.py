from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillsync.discovery.environment import Record

_PATHS = st.lists(st.text("x/0.-y", max_size=6), max_size=30)


@pytest.mark.parametrize(
    ("directory", "files"),
    [("x", {"SKILL.md": "1", "a/b": "2"}), ("x/a", {"b": "2"}), ("x-1", {"SKILL.md": "3"}), ("y", {}), ("", {})],
)
def test_the_files_below_a_directory_by_path_relative_to_it(directory: str, files: dict[str, str]) -> None:
    recorded = {"x/a/b": "2", "x-1/SKILL.md": "3", "x0/SKILL.md": "4", "x": "5", "x/SKILL.md": "1", "x.md": "6"}
    assert Record(files=recorded, directories=frozenset()).below(directory) == files


@given(_PATHS, st.text("x/0.-y", max_size=4))
def test_no_path_is_missed_and_none_is_too_many(paths: list[str], directory: str) -> None:
    prefix = directory + "/"
    expected = {path.removeprefix(prefix): path for path in paths if path.startswith(prefix)}
    assert Record(files={path: path for path in paths}, directories=frozenset()).below(directory) == expected
