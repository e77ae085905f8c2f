"""What of the skills in a source tree is the package's own, as `check` tells it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from projects import Project, skill
from tools import need, need_network

from skillsync.checking.identity import Identity

if TYPE_CHECKING:
    from pathlib import Path

SHIPPED = "skills/kelp-forms"
OWN = ".agents/skills"


def package(root: Path, *skills: str, files: list[str] | None = None) -> Project:
    """Write an npm package with skills at these paths; `files` is what its package.json says."""
    data = {"name": "kelp", "version": "1.0.0"} | ({} if files is None else {"files": files})
    texts = {f"kelp/{path}/SKILL.md": skill(path.rpartition("/")[2]) for path in skills}
    return Project(root / "all").write({"kelp/package.json": json.dumps(data), **texts})


def checked(project: Project, *options: str) -> tuple[list[str], list[str]]:
    """Return the skills that were checked, and the codes of what was found."""
    data = project.run("check", "kelp", *options, "--format", "json").json
    found = [one["path"] for row in data["packages"] if row["kind"] == "tree" for one in row["skills"]]
    return found, [f"{one['code']} {one['path']}" for one in data["problems"]]


@pytest.mark.parametrize(
    ("files", "is_own"),
    [
        (["skills"], True),
        (["./skills/", "dist"], True),
        (["skills", "!.agents"], True),
        (None, False),
        (["skills", ".agents/skills"], False),
        (["skills", "/.agents"], False),
        (["**"], False),
        ([".*"], False),
        (["."], False),
    ],
)
def test_skills_for_contributors_are_those_that_files_does_not_name(
    tmp_path: Path, files: list[str] | None, *, is_own: bool
) -> None:
    project = package(tmp_path, SHIPPED, f"{OWN}/kelp-review", files=files)
    assert checked(project) == ([SHIPPED, *([] if is_own else [f"{OWN}/kelp-review"])], [])
    told = f"ignored: kelp/{OWN}/kelp-review: is not named by `files` in package.json"
    assert (told in project.run("check", "kelp", "--verbose").out) is is_own


@pytest.mark.parametrize("manifest", ["kelp.gemspec", "setup.py"])
def test_where_no_consumer_looks_for_those_of_contributors_they_are_told_where_there_are_no_others(
    tmp_path: Path, manifest: str
) -> None:
    files = {f"{OWN}/{name}/SKILL.md": skill(name) for name in ("kelp-a", "sus-testing")}
    files |= {f"{OWN}/.agent-skills.yaml": "version: 1\nskills:\n  sus-testing:\n    gem: sus\n    version: 1.0.0\n"}
    files |= {f"{OWN}/hollow/README.md": "", manifest: 'name="kelp"'}
    project = Project(tmp_path / "all").write({f"kelp/{path}": text for path, text in files.items()})
    assert checked(project) == ([], [f"no-skills {manifest}", f"skill-elsewhere {OWN}"])
    said = project.run("check", "kelp").err
    assert f"kelp/{OWN} holds what no consumer finds as a skill: kelp-a\n  hint: move what is for consumers to " in said
    # With others, they are those of who works on it.
    project.write({"more/more.gemspec": "", "more/skills/more-a/SKILL.md": skill("more-a")})
    assert checked(project, "more") == (["skills/more-a"], [])
    os.rename(project.root / f"kelp/{OWN}", tmp_path / "skills")
    (project.root / f"kelp/{OWN}").symlink_to(tmp_path / "skills")
    assert checked(project) == ([], [f"no-skills {manifest}"])


def test_skills_for_contributors_alone_are_those_that_files_has_forgotten(tmp_path: Path) -> None:
    project = package(tmp_path, f"{OWN}/kelp-review", files=["dist"])
    assert checked(project) == ([f"{OWN}/kelp-review"], [f"skill-not-packaged {OWN}/kelp-review"])


def test_links_to_skills_are_for_other_agents(tmp_path: Path) -> None:
    project = package(tmp_path, SHIPPED, f"{OWN}/kelp-review")
    link = project.root / "kelp" / OWN / "kelp-forms"
    link.symlink_to(f"../../{SHIPPED}")
    assert checked(project) == ([SHIPPED, f"{OWN}/kelp-review"], [])
    link.unlink()
    link.symlink_to("../../elsewhere")
    assert checked(project) == (
        [SHIPPED, f"{OWN}/kelp-forms", f"{OWN}/kelp-review"],
        [f"invalid-skill {OWN}/kelp-forms"],
    )


def test_a_link_to_the_directory_of_skills_is_for_other_agents(tmp_path: Path) -> None:
    project = package(tmp_path, SHIPPED)
    link = project.root / "kelp" / OWN
    link.parent.mkdir()
    link.symlink_to("../skills")
    assert checked(project) == ([SHIPPED], [])
    assert f"ignored: kelp/{OWN}: is a link" in project.run("check", "kelp", "--verbose").out
    link.unlink()
    link.symlink_to("../elsewhere")
    assert checked(project) == ([SHIPPED], [f"unsafe-skill {OWN}"])
    assert "hint: put the directory itself in its place" in project.run("check", "kelp").err


def test_what_is_told_is_what_npm_packs(tmp_path: Path) -> None:
    need("npm")
    project = package(tmp_path, SHIPPED, f"{OWN}/kelp-review", files=["skills"])
    (project.root / "kelp" / OWN / "kelp-forms").symlink_to(f"../../{SHIPPED}")
    assert checked(project, "--build") == ([SHIPPED], [])
    (project.root / "kelp/package.json").write_text('{"name": "kelp", "version": "1.0.0"}')
    assert checked(project, "--build") == ([SHIPPED, f"{OWN}/kelp-review"], [])


@pytest.mark.parametrize(
    "said",
    [
        {"files": ["skills", "skills/../.agents"]},
        {"files": ["skills", "@(.agents)/**"]},
        {"files": ["skills", "\\.agents"]},
        {"files": ["skills", "!!.agents"]},
        {"main": f"{OWN}/kelp-review/SKILL.md"},
        {"main": f"skills/../{OWN}/kelp-review/SKILL.md"},
        {"browser": f"./{OWN}/kelp-review/SKILL.md"},
        {"bin": f"{OWN}/kelp-review/SKILL.md"},
        {"bin": {"kelp": f"{OWN}/kelp-review/SKILL.md"}},
        {"directories": {"bin": f"{OWN}/kelp-review"}},
    ],
)
def test_no_way_of_packing_skills_for_contributors_is_passed_over(tmp_path: Path, said: dict[str, object]) -> None:
    need("npm")
    project = package(tmp_path, SHIPPED, f"{OWN}/kelp-review")
    data = {"name": "kelp", "version": "1.0.0", "files": ["skills"], **said}
    (project.root / "kelp/package.json").write_text(json.dumps(data))
    found, problems = checked(project, "--build")
    assert found == [SHIPPED, f"{OWN}/kelp-review"]
    assert [one for one in problems if "artifact-differs" in one] == []


@pytest.mark.parametrize("said", [{"main": "."}, {"main": "index.js", "bin": {"kelp": "bin/kelp", "x": 1}}, {"bin": 1}])
def test_what_else_a_package_json_packs_names_no_skills(tmp_path: Path, said: dict[str, object]) -> None:
    project = package(tmp_path, SHIPPED, f"{OWN}/kelp-review")
    data = {"name": "kelp", "version": "1.0.0", "files": ["skills"], **said}
    (project.root / "kelp/package.json").write_text(json.dumps(data))
    assert checked(project) == ([SHIPPED], [])


def test_without_a_package_json_nothing_is_told_by_files() -> None:
    assert Identity(name="kelp").may_pack([".agents"]) == {".agents"}
    assert Identity(name="kelp", files=()).may_pack([".agents"]) == set()


LINKED = "src/kelp/skills"


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        ("setuptools.build_meta", ([SHIPPED], [])),
        ("hatchling.build", ([], [f"unsafe-skill {LINKED}", "no-skills pyproject.toml", "skill-elsewhere skills"])),
    ],
)
@pytest.mark.parametrize("link", [LINKED, f"{LINKED}/kelp-forms"])
def test_a_link_is_followed_as_the_build_backend_does(
    tmp_path: Path, backend: str, expected: tuple[list[str], list[str]], link: str
) -> None:
    project = python(tmp_path, backend)
    target = project.root / "kelp" / link
    target.parent.mkdir(exist_ok=True)
    target.symlink_to(os.path.relpath(project.root / "kelp" / link.replace(LINKED, "skills"), target.parent))
    if link == LINKED or not expected[1]:
        assert checked(project) == expected
    else:
        assert checked(project) == ([link], [f"invalid-skill {link}", "skill-elsewhere skills"])


def test_what_is_told_of_links_is_what_setuptools_builds(tmp_path: Path) -> None:
    need_network()
    project = python(tmp_path, "setuptools.build_meta")
    (project.root / "kelp" / LINKED).symlink_to("../../skills")
    assert checked(project, "--build") == ([SHIPPED], [])


@pytest.mark.parametrize("target", ["../../../elsewhere", "skills", "../.."])
def test_links_out_of_a_tree_and_in_a_circle_lead_to_no_skills(tmp_path: Path, target: str) -> None:
    project = python(tmp_path, "setuptools.build_meta")
    (project.root / "elsewhere").mkdir()
    (project.root / "kelp" / LINKED).symlink_to(target)
    found, problems = checked(project)
    assert (found, "no-skills pyproject.toml" in problems) == ([], True)


@pytest.mark.parametrize("place", [".agents", "skills"])
def test_a_long_row_of_links_leads_to_no_skills(tmp_path: Path, place: str) -> None:
    project = package(tmp_path, SHIPPED if place == "skills" else "a/kelp-forms")
    root = project.root / "kelp" / place
    root.mkdir(exist_ok=True)
    for number in range(1500):
        (root / f"{number}").symlink_to(f"{number + 1}")
    (root / "skills").symlink_to("0")
    result = project.run("check", "kelp", "--format", "json")
    assert (result.code, "io" in result.codes) == (1, False)


def python(root: Path, backend: str) -> Project:
    """Write a Python project with its skills beside its code."""
    text = '[project]\nname = "kelp"\nversion = "1.0"\n[build-system]\nrequires = ["setuptools"]\n'
    data = '[tool.setuptools.package-data]\nkelp = ["skills/**/*"]\n'
    files = {"src/kelp/__init__.py": "", f"{SHIPPED}/SKILL.md": skill("kelp-forms")}
    files["pyproject.toml"] = f'{text}build-backend = "{backend}"\n{data}'
    return Project(root / "all").write({f"kelp/{path}": text for path, text in files.items()})
