from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from builders import Meddled
from wheels import write_files

from skillsync import filesystem
from skillsync.discovery.pypi import project as projects
from skillsync.errors import Code, SkillsyncError, UnreadableError

if TYPE_CHECKING:
    from pathlib import Path

    from skillsync.errors import Problem

_WORKSPACE = '[tool.uv.workspace]\nmembers = ["packages/*", "libs/**/py"]\nexclude = ["packages/old"]\n'


def problem(path: Path) -> Problem:
    with pytest.raises(SkillsyncError) as found:
        projects.read(str(path))
    (one,) = found.value.problems
    return one


def test_a_project_alone(tmp_path: Path) -> None:
    write_files(tmp_path, {"pyproject.toml": '[project]\nname = "My_App"\ndependencies = ["Foo_Bar"]\n'})
    found = projects.read(str(tmp_path))
    assert found.workspace.root == str(tmp_path)
    assert found.searched == (str(tmp_path),)
    assert found.name == "my-app"
    assert found.named == {"foo-bar"}


def test_a_directory_with_nothing_in_it(tmp_path: Path) -> None:
    found = projects.read(str(tmp_path))
    assert (found.name, found.named, found.searched) == (None, frozenset(), (str(tmp_path),))


def test_environments_are_searched_up_to_the_repository(tmp_path: Path) -> None:
    write_files(tmp_path, {"repo/.git/HEAD": "", "repo/a/b/pyproject.toml": "", "pyproject.toml": _WORKSPACE})
    found = projects.read(str(tmp_path / "repo/a/b"))
    assert found.searched == tuple(str(tmp_path / path) for path in ("repo/a/b", "repo/a", "repo"))


@pytest.mark.parametrize("member", ["packages/one", "libs/py", "libs/a/b/py"])
def test_a_member_finds_its_workspace(tmp_path: Path, member: str) -> None:
    write_files(tmp_path, {"pyproject.toml": _WORKSPACE, f"{member}/pyproject.toml": '[project]\nname = "one"\n'})
    write_files(tmp_path, {"uv.lock": 'version = 1\n[[package]]\nname = "Locked_One"\n'})
    found = projects.read(str(tmp_path / member))
    assert found.workspace.root == str(tmp_path)
    assert found.searched[-1] == str(tmp_path)
    assert found.named == {"locked-one"}


@pytest.mark.parametrize("outside", ["packages/old", "packages/one/inner", "other", "libs/a"])
def test_what_is_no_member_is_alone(tmp_path: Path, outside: str) -> None:
    write_files(tmp_path, {"pyproject.toml": _WORKSPACE, f"{outside}/pyproject.toml": '[project]\nname = "x"\n'})
    assert projects.read(str(tmp_path / outside)).workspace.root == str(tmp_path / outside)


def test_a_project_in_between_ends_the_search(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "pyproject.toml": '[tool.uv.workspace]\nmembers = ["**"]\n',
            "a/pyproject.toml": '[project]\nname = "a"\n',
            "a/b/pyproject.toml": '[project]\nname = "b"\n',
            "a/b/c/setup.py": "",
        },
    )
    assert projects.read(str(tmp_path / "a/b")).workspace.root == str(tmp_path / "a/b")
    assert projects.read(str(tmp_path / "a")).workspace.root == str(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tool = 1",
        "[tool]\nuv = 1",
        "[tool.uv]\nworkspace = 1",
        '[tool.uv.workspace]\nmembers = "x"',
        "[tool.uv.workspace]\nmembers = [1]",
    ],
)
def test_a_workspace_that_is_none(tmp_path: Path, text: str) -> None:
    write_files(tmp_path, {"pyproject.toml": text, "packages/one/pyproject.toml": ""})
    found = projects.read(str(tmp_path / "packages/one"))
    assert found.workspace.root == str(tmp_path / "packages/one")


def test_the_project_and_the_members_are_its_own(tmp_path: Path) -> None:
    write_files(tmp_path, {"pyproject.toml": _WORKSPACE, "packages/one/pyproject.toml": '[project]\nname = "one"\n'})
    (tmp_path / "link").symlink_to("packages/two")
    (tmp_path / "packages/two").mkdir()
    found = projects.read(str(tmp_path / "packages/one"))
    own = ["", "packages/one", "packages/two", "link"]
    assert [path for path in own if found.is_own("x", str(tmp_path / path).rstrip("/"))] == own
    for path in ("packages/old", "other", "packages", "packages/one/src"):
        assert not found.is_own("x", str(tmp_path / path))
    assert found.is_own("one", None)
    assert not found.is_own("x", None)


def test_nobody_elses_directory_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, {"pyproject.toml": _WORKSPACE, "packages/one/pyproject.toml": ""})
    mine = tmp_path / "packages/one"
    stat = os.stat

    def owned(path: str) -> os.stat_result:
        found = list(stat(path))
        found[4] = 1 if str(path) == str(mine) else 2
        return os.stat_result(found)

    monkeypatch.setattr(filesystem, "os", Meddled(stat=owned))
    assert projects.read(str(mine)).workspace.root == str(mine)


def test_names_in_all_files(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "uv.lock": '[[package]]\nname = "from-uv"\n',
            "pylock.toml": '[[packages]]\nname = "from-pylock"\n',
            "pylock.dev.toml": '[[packages]]\nname = "From_Other"\n',
            "requirements.txt": "-r nested/base.txt\n-r requirements.txt\n-r absent.txt\nfrom-requirements==1\n",
            "requirements-dev.txt": "from.dev\n",
            "nested/base.txt": "from-base\n-r ../nested/more.txt",
            "nested/more.txt": "from-more",
            "constraints.txt": "not-this",
            "pyproject.toml": "  \n",
        },
    )
    assert projects.read(str(tmp_path)).named == {
        "from-uv", "from-pylock", "from-other", "from-requirements", "from-dev", "from-base", "from-more",
    }  # fmt: skip


def test_only_so_many_files_are_included(tmp_path: Path) -> None:
    write_files(tmp_path, {f"r/{number}.txt": f"-r {number + 1}.txt\np{number}" for number in range(98)})
    write_files(tmp_path, {"r/98.txt": "last\n-r 0.txt", "requirements.txt": "-r r/0.txt"})
    assert len(projects.read(str(tmp_path)).named) == 99
    write_files(tmp_path, {"r/98.txt": "-r 99.txt"})
    assert problem(tmp_path).message == (
        "r/99.txt can't be read: requirements files include more than 100 of each other"
    )


@pytest.mark.parametrize("name", ["pyproject.toml", "uv.lock", "pylock.toml"])
@pytest.mark.parametrize(
    ("content", "reason", "line"),
    [
        ("a = \n", "it is not TOML", 1),
        ("[a]\n<<<<<<< HEAD\n", "merge conflict markers", 2),
        (b"\xff", "it is not UTF-8", 1),
    ],
)
def test_a_file_that_can_not_be_read_stops(
    tmp_path: Path, name: str, content: str | bytes, reason: str, line: int
) -> None:
    write_files(tmp_path, {name: content})
    found = problem(tmp_path)
    assert (found.code, found.path, found.line) == (Code.ENVIRONMENT_UNREADABLE, name, line)
    assert reason in found.message
    assert found.message.startswith(name)


def test_a_directory_in_a_files_place(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").mkdir()
    assert "it is a directory" in problem(tmp_path).message


def test_an_unreadable_project_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: str) -> list[str]:
        raise UnreadableError("permission denied")

    monkeypatch.setattr(projects, "list_directory", refuse)
    assert "permission denied" in problem(tmp_path).message


@pytest.mark.parametrize(
    ("path", "pattern", "met"),
    [
        ("a", "a", True),
        ("a", "*", True),
        ("a/b", "*", False),
        ("a/b", "**", True),
        ("a/b", "a/**", True),
        ("a", "a/**", True),
        ("a/b/c", "a/**/c", True),
        ("a/c", "a/**/c", True),
        ("a/b/d", "a/**/c", False),
        ("a/b/c", "**/**/c", True),
        ("a/xb", "?/[xy]b", True),
    ],
)
def test_globs(path: str, pattern: str, *, met: bool) -> None:
    assert projects.is_match(path.split("/"), pattern.split("/")) is met


def test_a_glob_takes_no_time() -> None:
    assert not projects.is_match(["a"] * 200, ["**", "a"] * 100 + ["b"])


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"pyproject.toml": "", "uv.lock": "", "requirements.txt": ""}, "uv sync"),
        ({"pyproject.toml": "[tool.uv]\ndev-dependencies = []\n"}, "uv sync"),
        ({"pyproject.toml": "", "poetry.lock": ""}, "poetry install"),
        ({"pyproject.toml": "", "pdm.lock": ""}, "pdm install"),
        ({"pyproject.toml": "", "requirements.txt": "", "requirements-dev.txt": ""}, "pip install -r requirements.txt"),
        ({"requirements-dev.txt": ""}, "pip install -r requirements-dev.txt"),
        ({"pyproject.toml": ""}, "pip install ."),
        ({"setup.py": ""}, "pip install ."),
        ({"setup.cfg": ""}, "pip install"),
        ({"../pyproject.toml": '[tool.uv.workspace]\nmembers = ["app"]\n', "../uv.lock": ""}, "uv sync"),
        ({"../uv.lock": "", "setup.py": ""}, "pip install ."),
    ],
)
def test_the_command_that_installs(tmp_path: Path, files: dict[str, str], command: str) -> None:
    write_files(tmp_path, {".git/HEAD": "", "app/.venv/pyvenv.cfg": ""})
    write_files(tmp_path / "app", files)
    assert projects.read(str(tmp_path / "app")).install == command
