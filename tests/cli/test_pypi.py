"""Whole runs over Python environments: what a lock pins of them, and what stops it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from projects import LOCK, Project
from wheels import skill, skills, write_dist, write_editable, write_files, write_venv

if TYPE_CHECKING:
    from pathlib import Path

_PLACE = "one/.agents/skills"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "app").write({"pyproject.toml": '[project]\nname = "app"\n'})


@pytest.fixture
def site(project: Project) -> Path:
    return write_venv(project.root / ".venv")


def link(site: Path, cache: Path) -> None:
    """Put links into a cache in the place of all files, as uv does in one of its modes."""
    for path in [path for path in site.rglob("*") if path.is_file()]:
        moved = cache / path.relative_to(site)
        moved.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, moved)
        path.symlink_to(moved)


def test_lock_sync_verify(project: Project, site: Path) -> None:
    write_dist(site, "One", "1.0rc1", {**skills("one", "x"), f"{_PLACE}/x/references/a,b.md": "text"})
    assert project.done("lock", "--format", "json").changes == [("add", "x")]
    assert 'ecosystem = "pypi"\nname = "one"\nversion = "1.0rc1"' in project.read(LOCK)
    project.done("sync")
    assert project.installed("x/references/a,b.md").read_text() == "text"
    project.done("verify")


@pytest.mark.parametrize("marker", ["pyproject.toml", None])
@pytest.mark.parametrize("name", ["venv", "env"])
def test_an_environment_that_is_not_looked_for_is_named_by_the_hint(
    project: Project, name: str, marker: str | None
) -> None:
    write_dist(write_venv(project.root / name), "one", files=skills("one", "x"))
    if marker is None:
        project.write({"pyproject.toml": None})
    for command in ("lock", "list", "init"):
        (problem,) = project.run(command, "--format", "json").json["problems"]
        assert problem["code"] == "environment-not-found"
        assert problem["hint"].startswith(f"`--python {name}` names the environment that is there; or ")
    project.done("lock", "--python", name)
    assert project.locked == ["one 1.0 x"]
    # Where the manifest leaves Python out, it is no way.
    project.manifest('ecosystems = ["npm"]\n').write({LOCK: None})
    assert "--python" not in project.run("lock").err


def test_links_into_a_cache_stand_for_their_files(project: Project, site: Path, tmp_path: Path) -> None:
    write_dist(site, "one", files={**skills("one", "x"), f"{_PLACE}/x/scripts/run": "#!/bin/sh\n"})
    project.done("lock")
    before = project.read(LOCK)
    link(site, tmp_path / "cache")
    project.done("lock")
    assert project.read(LOCK) == before
    assert "About x." in project.done("list").out
    assert "Text." in project.done("show", "x").out
    project.done("sync")
    assert not project.installed("x/SKILL.md").is_symlink()
    project.done("verify")


@pytest.mark.parametrize("fault", ["changed", "gone", "directory"])
@pytest.mark.parametrize("file", ["SKILL.md", "a.md"])
def test_a_link_that_leads_elsewhere_is_unsafe(
    project: Project, site: Path, tmp_path: Path, fault: str, file: str
) -> None:
    write_dist(site, "one", files={**skills("one", "x"), f"{_PLACE}/x/a.md": "text"})
    project.done("lock")
    link(site, tmp_path / "cache")
    target = tmp_path / "cache" / _PLACE / "x" / file
    if fault == "changed":
        target.write_text(skill("x", "Other."))
    else:
        target.unlink()
    if fault == "directory":
        target.mkdir()
    result = project.run("lock", "--format", "json")
    assert result.code == 3
    assert {"unsafe-skill", "invalid-skill"} & set(result.codes)
    assert project.run("sync").code == 3
    assert not project.installed("x").exists()


def test_nothing_is_shown_of_what_a_link_leads_to(project: Project, site: Path, tmp_path: Path) -> None:
    write_dist(site, "one", files=skills("one", "x"))
    link(site, tmp_path / "cache")
    for text in (
        skill("x").replace("Text.", "A secret."),
        "---\nname: x\ndescription: A secret\n---\n",
        "secret: a: b",
    ):
        (tmp_path / "cache" / _PLACE / "x/SKILL.md").write_text(text)
        for command in (("show", "x"), ("list",), ("list", "--verify"), ("lock",)):
            for options in ((), ("--format", "json")):
                result = project.run(*command, *options)
                assert "does not lead to the file that was installed" in result.out + result.err
                assert "secret" not in result.out + result.err


def test_a_link_that_nobody_wrote_down_is_unsafe(project: Project, site: Path, tmp_path: Path) -> None:
    write_dist(site, "one", files=skills("one", "x"))
    write_files(tmp_path, {"secret": "secret"})
    (site / _PLACE / "x/secret.md").symlink_to(tmp_path / "secret")
    assert "unsafe-skill" in project.run("lock", "--format", "json").codes


def test_what_was_edited_since_it_was_installed_is_said(project: Project, site: Path) -> None:
    write_dist(site, "one", files={**skills("one", "x"), f"{_PLACE}/x/a.md": "text"})
    assert project.done("lock", "--format", "json").codes == []
    write_files(site / _PLACE / "x", {"SKILL.md": skill("x", "Other."), "new.md": ""})
    (site / _PLACE / "x/a.md").unlink()
    result = project.done("lock", "--format", "json")
    (problem,) = result.json["problems"]
    assert (problem["code"], problem["severity"]) == ("modified-after-install", "warning")
    assert problem["message"].endswith("added new.md; changed SKILL.md; removed a.md")


def test_strict_lets_every_warning_stop_lock(project: Project, site: Path) -> None:
    write_dist(site, "one", files=skills("one", "x"))
    project.done("lock", "--strict")
    before = project.read(LOCK)
    write_files(site / _PLACE / "x", {"new.md": ""})
    for check in ((), ("--check",)):
        result = project.run("lock", "--strict", *check, "--format", "json")
        (problem,) = result.json["problems"]
        assert (result.code, problem["code"], problem["severity"]) == (3, "modified-after-install", "error")
        assert project.read(LOCK) == before
    project.done("lock")
    project.manifest("version = 1\n[providers.pypi]\none = '*'\n'nothing-*' = '*'\n")
    assert "pattern-unmatched" in project.run("lock", "--strict", "--format", "json").codes


def test_what_an_installer_compiles_is_neither_content_nor_an_alteration(project: Project, site: Path) -> None:
    compiled = f"{_PLACE}/x/scripts/__pycache__/run.cpython-311.pyc"
    files = {**skills("one", "x"), f"{_PLACE}/x/scripts/run.py": "print(1)\n"}
    write_dist(site, "one", files=files, rows=[(compiled, "", "")])
    project.done("lock", "--strict")
    before = project.read(LOCK)
    write_files(site, {compiled: b"\0"})
    project.done("lock", "--strict")
    project.done("sync")
    assert project.read(LOCK) == before
    assert not project.installed("x/scripts/__pycache__").exists()
    write_files(project.root, {f".agents/skills/x/{path}": "" for path in ("__pycache__/run.pyc", "scripts/.DS_Store")})
    project.done("verify")
    write_files(project.root, {".agents/skills/x/scripts/run.pyc": ""})
    assert project.run("verify", "--format", "json").drift == [("modified", "x", "scripts/run.pyc")]


def test_a_script_can_be_run_whatever_mode_the_installer_gave_it(project: Project, site: Path) -> None:
    files = {f"{_PLACE}/x/scripts/{name}": "#!/bin/sh\n" for name in ("run", "run2")}
    write_dist(site, "one", files={**skills("one", "x"), **files, f"{_PLACE}/x/scripts/lib.sh": "true\n"})
    (site / _PLACE / "x/scripts/run").chmod(0o755)
    project.done("lock")
    project.done("sync")
    modes = {path.name: path.stat().st_mode & 0o111 for path in project.installed("x/scripts").iterdir()}
    assert (bool(modes["run"]), bool(modes["run2"]), bool(modes["lib.sh"])) == (True, True, False)
    before = project.read(LOCK)
    (site / _PLACE / "x/scripts/run").chmod(0o644)
    project.done("lock")
    assert project.read(LOCK) == before


# Who a package is


@pytest.mark.parametrize("name", ["a-first", "z-last"])
def test_a_project_around_its_environment_takes_nothing_from_it(project: Project, site: Path, name: str) -> None:
    project.write({"pyproject.toml": f'[project]\nname = "{name}"\n'})
    write_editable(site, name, project.root, str(project.root))
    write_dist(site, "dep", files=skills("dep", "x"))
    project.done("lock", "--verbose")
    assert project.locked == ["dep 1.0 x"]


def test_without_a_record_it_is_said_and_nothing_is_dropped(project: Project, site: Path) -> None:
    write_dist(site, "one", files=skills("one", "x"), record=None)
    files = {"Old_Dep.egg-info/PKG-INFO": "Name: Old.Dep\nVersion: 2.0\n", **skills("old_dep", "y")}
    write_files(site, {**files, "Old_Dep.egg-info/SOURCES.txt": "setup.py\nold_dep/__init__.py\n"})
    result = project.done("lock", "--format", "json")
    assert result.codes == ["package-unreadable"] * 2
    assert project.locked == ["old-dep 2.0 y", "one 1.0 x"]
    project.done("sync")
    project.done("verify")


@pytest.mark.parametrize(
    "requirement", ["Foo_Bar~=1.4", 'foo.bar[extra]>=1; python_version>"3.8"', "foo-bar @ file:///x", "FOO-BAR"]
)
def test_a_pinned_provider_is_named_in_every_spelling(project: Project, site: Path, requirement: str) -> None:
    project.write({"pyproject.toml": f"[project]\nname = 'app'\ndependencies = ['{requirement}']\n"})
    write_dist(site, "other")
    entry = write_dist(site, "Foo_Bar", "1.4.2", skills("foo", "x"))
    project.done("lock")
    shutil.rmtree(entry)
    assert project.run("lock", "--format", "json").codes == ["missing-provider"]


def test_a_wheel_that_left_its_skills_out_is_said_to_ship_none(project: Project, site: Path) -> None:
    write_dist(site, "one", files={"one/__init__.py": ""})
    project.manifest('[providers.pypi]\none = "*"\n')
    assert "pypi:one 1.0 is installed and ships no skills (looked in one/.agents/skills, one/skills)" in (
        project.done("lock").err
    )


def test_nothing_that_is_installed_is_run(project: Project, site: Path, tmp_path: Path) -> None:
    mark = f"open({str(tmp_path / 'mark')!r}, 'w')"
    files = {f"{_PLACE}/x/scripts/run.py": mark, "one.pth": f"import os; {mark}", "sitecustomize.py": mark}
    write_dist(site, "one", files={**skills("one", "x"), **files, "one/__init__.py": mark})
    project.write({"setup.py": mark, "conftest.py": mark})
    for command in (("list", "--verify"), ("show", "x"), ("lock",), ("sync",), ("verify",)):
        project.done(*command)
    assert not (tmp_path / "mark").exists()


def test_the_environment_of_another_project_removes_nothing_that_is_named(
    project: Project, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"pyproject.toml": '[project]\nname = "app"\ndependencies = ["one"]\n'})
    write_dist(site, "one", files=skills("one", "x"))
    project.done("lock")
    project.done("sync")
    before = project.read(LOCK)
    shutil.rmtree(project.root / ".venv")
    write_dist(write_venv(tmp_path / "theirs"), "other", files=skills("other", "y"))
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "theirs"))
    result = project.run("lock", "--format", "json")
    assert (result.code, result.codes) == (3, ["missing-provider"])
    assert result.json["environments"][0]["path"] == str(tmp_path / "theirs/lib/python3.11/site-packages")
    assert project.done("sync").out.startswith("in sync")
    assert project.read(LOCK) == before
    project.done("verify", "--scope", "installed")
    assert project.run("verify", "--scope", "providers").code == 3


def test_it_makes_no_difference_where_in_the_project_it_is_run(project: Project, site: Path) -> None:
    (project.root / ".git").mkdir()
    write_dist(site, "one", files=skills("one", "x"))
    project.write({"src/app/__init__.py": ""})
    for command in ("lock", "sync", "verify"):
        assert project.run(command, at="src/app").code == 0
    assert project.installed("x/SKILL.md").exists()


@pytest.mark.parametrize("fault", ["description: Sets up work: goals first.", "description: see below:\n  x:", ""])
def test_one_broken_skill_hides_no_other_and_is_not_removed(project: Project, site: Path, fault: str) -> None:
    write_dist(site, "one", files=skills("one", "x", "y"))
    broken = {f"{_PLACE}/y/SKILL.md": f"---\nname: y\n{fault}\n---\n"}
    write_files(site, broken)
    result = project.done("lock", "--format", "json")
    assert (project.locked, set(result.codes)) == (["one 1.0 x"], {"invalid-skill"})
    assert project.run("lock", "--strict").code == 3
    write_files(site, {f"{_PLACE}/y/SKILL.md": skill("y")})
    project.done("lock")
    before = project.read(LOCK)
    write_files(site, broken)
    assert project.run("lock", "--format", "json").codes == ["invalid-skill"]
    assert project.read(LOCK) == before


# Another environment by --python


def named(tmp_path: Path) -> Path:
    """Make an environment elsewhere, with a skill of its own, and an interpreter in it."""
    site = write_venv(tmp_path / "elsewhere")
    write_dist(site, "other", files=skills("other", "y"))
    write_files(tmp_path / "elsewhere/bin", {"python": ""})
    return tmp_path / "elsewhere"


@pytest.mark.parametrize("path", ["../elsewhere", "../elsewhere/bin/python"])
def test_every_command_reads_the_environment_that_is_named(
    project: Project, site: Path, tmp_path: Path, path: str
) -> None:
    write_dist(site, "one", files=skills("one", "x"))
    named(tmp_path)
    given = ("--python", path, "--format", "json")
    there = str(tmp_path / "elsewhere/lib/python3.11/site-packages")
    found = [project.done(*command, *given).json for command in (("list",), ("show", "y"), ("init",), ("lock",))]
    assert [one["environments"] for one in found] == [[{"ecosystem": "pypi", "path": there, "packages": 1}]] * 4
    assert project.locked == ["other 1.0 y"]
    assert project.run("sync").code == 3
    project.done("sync", "--python", path)
    assert project.installed("y/SKILL.md").exists()
    assert project.run("verify").code != 0
    project.done("verify", "--python", path)
    project.done("verify", "--scope", "installed")


def test_naming_an_environment_makes_its_ecosystem_active(tmp_path: Path) -> None:
    named(tmp_path)
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    project.done("lock", "--python", "../elsewhere")
    assert project.locked == ["sus 1.0.0 testing", "other 1.0 y"]
    project.manifest('version = 1\necosystems = ["gem"]\n')
    result = project.run("lock", "--python", "../elsewhere", "--format", "json")
    assert (result.code, result.codes) == (2, ["usage"])


def test_one_that_is_named_and_is_none_stops_though_others_are_there(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    result = project.run("lock", "--python", "../elsewhere", "--format", "json")
    assert (result.code, result.codes) == (3, ["environment-not-found"])
    assert "elsewhere" in result.json["problems"][0]["message"]


@pytest.mark.parametrize("names", [("one", "two"), ("two", "one")])
def test_a_file_that_two_list_stops_where_one_is_admitted(project: Project, site: Path, names: tuple[str, str]) -> None:
    for name in names:
        write_dist(site, name, files={"ns/skills/x/SKILL.md": skill("x")})
    result = project.run("lock", "--format", "json")
    assert result.code == 3
    assert result.codes == ["ambiguous-provider"]
    (problem,) = result.json["problems"]
    assert "pypi:one 1.0 and by pypi:two 1.0" in problem["message"]
    project.manifest("version = 1\n[providers.pypi]\nTWO = '*'\n")
    assert project.run("lock").code == 3
    project.manifest("version = 1\n[providers]\n")
    assert project.done("lock", "--format", "json").json["problems"][0]["severity"] == "warning"


def test_a_shared_directory_is_shared_out(project: Project, site: Path) -> None:
    for name in ("one", "two"):
        write_dist(site, name, files={f"skills/{name}/SKILL.md": skill(name)})
    write_files(site, {"skills/nobodys/SKILL.md": skill("nobodys")})
    project.manifest("version = 1\n[providers.pypi]\none = { path = 'skills' }\ntwo = { path = 'skills' }\n")
    result = project.done("lock", "--verbose")
    assert project.read(LOCK).count("[[provider.skill]]") == 2
    assert "ignored: pypi:one skills/two: is not listed as this package's by its installer" in result.out
    project.done("sync")
    project.done("verify")


def test_a_listed_skill_that_is_lost_is_not_removed(project: Project, site: Path) -> None:
    write_dist(site, "one", files=skills("one", "x", "y"))
    project.done("lock")
    before = project.read(LOCK)
    shutil.rmtree(site / _PLACE / "x")
    result = project.run("lock", "--format", "json")
    assert (result.code, result.codes) == (3, ["invalid-skill"])
    shutil.rmtree(site / "one/.agents")
    assert project.run("lock").code == 3
    assert project.read(LOCK) == before


def test_a_skill_that_a_new_version_leaves_out_is_removed(project: Project, site: Path) -> None:
    entry = write_dist(site, "one", files=skills("one", "x", "y"))
    project.done("lock")
    shutil.rmtree(entry)
    shutil.rmtree(site / "one")
    write_dist(site, "one", "1.1", skills("one", "y"))
    assert ("remove", "x") in project.done("lock", "--format", "json").changes


def test_broken_metadata_of_a_pinned_provider_stops(project: Project, site: Path) -> None:
    entry = write_dist(site, "one", files=skills("one", "x"))
    write_dist(site, "two", files=skills("two", "y"))
    project.done("lock")
    (entry / "METADATA").unlink()
    result = project.run("lock", "--format", "json")
    assert (result.code, result.codes) == (3, ["package-unreadable"])


def test_an_environment_that_is_gone_removes_nothing(project: Project, site: Path) -> None:
    write_dist(site, "one", files=skills("one", "x"))
    project.done("lock")
    shutil.rmtree(project.root / ".venv")
    assert project.run("lock", "--format", "json").codes == ["environment-not-found"]
    write_venv(project.root / ".venv")
    assert project.run("lock", "--format", "json").codes == ["environment-not-found"]


def test_a_pinned_provider_that_is_named_and_gone_stops(project: Project, site: Path) -> None:
    project.write({"requirements.txt": "Two==1.0\n"})
    write_dist(site, "one", files=skills("one", "x"))
    entry = write_dist(site, "two", files=skills("two", "y"))
    project.done("lock")
    shutil.rmtree(entry)
    assert project.run("lock", "--format", "json").codes == ["missing-provider"]
    project.write({"requirements.txt": None})
    assert ("remove", "y") in project.done("lock", "--format", "json").changes


def test_content_that_changes_at_one_version(project: Project, site: Path, tmp_path: Path) -> None:
    source = tmp_path / "dep"
    write_files(source, {f"src/{path}": text for path, text in skills("dep", "x").items()})
    write_editable(site, "dep", source, f"{source}/src")
    project.done("lock")
    write_files(source / "src/dep/.agents/skills/x", {"SKILL.md": skill("x", "Other."), "scripts/x.sh": ""})
    assert project.run("sync", "--format", "json").codes == ["content-changed"]
    assert "+ scripts/x.sh  [script]" in project.done("lock").out
    project.done("sync")
    assert project.installed("x/scripts/x.sh").exists()


def test_one_provider_by_every_spelling(project: Project, site: Path) -> None:
    write_dist(site, "Foo_Bar", "1.4.2", skills("foo", "x"))
    for spelling in ("foo-bar", "Foo.Bar", "FOO_BAR"):
        project.manifest(f"version = 1\n[providers.pypi]\n\"{spelling}\" = '~=1.4'\n")
        project.done("lock")
        assert 'name = "foo-bar"' in project.read(LOCK)
    project.manifest("version = 1\n[providers.pypi]\nfoo_bar = '*'\n\"foo.bar\" = '*'\n")
    assert project.run("lock", "--format", "json").codes == ["manifest-invalid"]
    project.manifest("version = 1\n[providers.pypi]\nfoo_bar = '^1.4'\n")
    assert "is not a PEP 440 specifier" in project.run("lock").err
    project.manifest("version = 1\n[providers.pypi]\nfoo_bar = '>=2'\n")
    assert project.run("lock", "--format", "json").codes == ["version-not-admitted"]


def test_patterns_match_whatever_the_spelling(project: Project, site: Path) -> None:
    write_dist(site, "Foo_Bar", files=skills("foo", "x"))
    write_dist(site, "foobar", files=skills("foobar", "y"))
    for pattern in ("foo-*", "Foo_*", "FOO.B?R", "*_bar"):
        project.manifest(f'version = 1\n[providers.pypi]\n"{pattern}" = "*"\n')
        project.done("lock", "--strict")
        assert project.locked == ["foo-bar 1.0 x"]
    project.manifest('version = 1\n[providers.pypi]\n"foo_*" = "*"\n"foo.*" = "*"\n')
    assert project.run("lock", "--format", "json").codes == ["manifest-invalid"]


def test_one_name_in_two_places_of_one_package_is_settled_by_a_path(project: Project, site: Path) -> None:
    files = {f"one/{place}/x/SKILL.md": skill("x", place) for place in (".agents/skills", "skills")}
    write_dist(site, "one", files={**skills("one", "y"), **files})
    result = project.run("lock", "--format", "json")
    (problem,) = result.json["problems"]
    assert (result.code, problem["code"]) == (3, "duplicate-skill")
    assert problem["message"] == (
        "pypi:one 1.0 ships the skill x in several places: one/.agents/skills/x, one/skills/x"
    )
    assert ("x", "conflict") in {
        (one["name"], one["state"]) for one in project.run("list", "--format", "json").json["providers"][0]["skills"]
    }
    assert "run `skillsync deny pypi:one --skill x`" in problem["hint"]
    project.done("deny", "pypi:one", "--skill", "x")
    project.done("lock")
    assert project.locked == ["one 1.0 y"]
    entry = '"one" = { path = "one/.agents/skills" }'
    assert entry in problem["hint"]
    project.manifest(f"version = 1\n[providers.pypi]\n{entry}\n").done("lock")
    assert project.locked == ["one 1.0 x", "one 1.0 y"]


def test_only_the_places_are_searched_and_the_rest_is_named(project: Project, site: Path) -> None:
    files = {
        "one/__init__.py": "",
        "one/SKILL.md": skill("one"),
        "one/skills/a/SKILL.md": skill("a"),
        "one/.agents/skills/b/SKILL.md": skill("b"),
        "one/skills/group/c/SKILL.md": skill("c"),
        "one/skills/CREDITS.md": "",
        "one/skills/.hidden/d/SKILL.md": skill("d"),
        "one/inner/skills/e/SKILL.md": skill("e"),
        "skills/f/SKILL.md": skill("f"),
    }
    write_dist(site, "one", files=files)
    result = project.done("list", "--verbose", "--format", "json")
    assert sorted(one["name"] for one in result.json["providers"][0]["skills"]) == ["a", "b"]
    said = project.done("lock", "--verbose").out
    assert [line.partition("one one/")[2] for line in said.splitlines() if line.startswith("ignored:")] == [
        "skills/.hidden: its name begins with a dot",
        "skills/CREDITS.md: is a file, not a skill's directory",
        "skills/group: has no SKILL.md",
    ]


def test_a_skill_that_went_over_to_another_is_not_copied_from_there(project: Project, site: Path) -> None:
    files = {f"ns/skills/{name}/SKILL.md": skill(name) for name in ("x", "y")}
    entry = write_dist(site, "one", files=files)
    project.done("lock")
    shutil.rmtree(entry)
    write_dist(site, "one", files={"ns/skills/y/SKILL.md": skill("y")})
    write_dist(site, "two", files={"ns/skills/x/SKILL.md": skill("x")})
    assert project.run("sync", "--format", "json").codes == ["content-changed"]
    assert not project.installed("x").exists()
    project.done("lock")
    project.done("sync")
