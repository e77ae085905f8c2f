"""Packages of every ecosystem in one project: one lock, one plan, and none of them goes by accident."""

from __future__ import annotations

import itertools
import json
import shutil
from typing import TYPE_CHECKING

import crates
import pytest
from gems import skills as skill_files
from node_packages import link, write_package
from projects import HOME, LOCK, REGISTRY, Project
from wheels import skills, write_dist, write_editable, write_venv

from skillsync.discovery import ECOSYSTEMS

if TYPE_CHECKING:
    from pathlib import Path

VENDORED = '[source.crates-io]\nreplace-with = "v"\n[source.v]\ndirectory = "third-party"\n'
# By ecosystem: where its packages are, the provider and its skill.
PLACES = {"gem": "vendor", "pypi": ".venv", "npm": "node_modules", "cargo": "third-party"}
PROVIDERS = {"gem": "gem:sus", "pypi": "pypi:fastapi", "npm": "npm:@tanstack/db", "cargo": "cargo:serde"}
SKILLS = {"gem": "testing", "pypi": "routing", "npm": "queries", "cargo": "parsing"}
# A file of the project's that is there and can't be read
BROKEN = {"gem": "Gemfile.lock", "pypi": "pyproject.toml", "npm": "package.json", "cargo": "Cargo.lock"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project with a provider of each ecosystem, in sync."""
    project = install(Project(tmp_path / "app"), *ECOSYSTEMS)
    project.done("lock")
    project.done("sync")
    return project


def install(project: Project, *order: str, skill: str | None = None) -> Project:
    """Install a provider of each ecosystem, in an order; all with a skill of their own, or of one name."""
    for ecosystem in order:
        name = skill or SKILLS[ecosystem]
        match ecosystem:
            case "gem":
                project.gem("sus", "1.0.0", name)
            case "pypi":
                project.write({"pyproject.toml": '[project]\nname = "app"\ndependencies = ["fastapi"]\n'})
                write_dist(write_venv(project.root / ".venv"), "fastapi", files=skills("fastapi", name))
            case "cargo":
                project.write({"Cargo.lock": crates.row("serde"), ".cargo/config.toml": VENDORED})
                crates.write_crate(project.root / "third-party/serde", "serde", "1.0.0", name)
                project.write({"third-party/serde/.cargo-checksum.json": '{"files": {}, "package": null}'})
            case _:
                project.write({"package.json": json.dumps({"dependencies": {"@tanstack/db": "1"}})})
                write_package(project.root / "node_modules/@tanstack/db", "@tanstack/db", "1.0.0", name)
    return project


def install_own(project: Project, ecosystem: str) -> None:
    """Install what is the project's own in an ecosystem: `app` with the skill `mine`, and where it can, one without."""
    files = skill_files("mine")
    match ecosystem:
        case "gem":
            rows = "PATH\n  remote: .\n  specs:\n    app (0.1.0)\n\n"
            project.write({"app.gemspec": "", "Gemfile.lock": rows + project.read("Gemfile.lock"), **files})
        case "pypi":
            site = next(project.root.glob(".venv/lib/*/site-packages"))
            text = '[project]\nname = "app"\n[tool.uv.workspace]\nmembers = ["packages/*"]\n'
            project.write({"pyproject.toml": text, "packages/app/app/__init__.py": "", "packages/bare/bare/x.py": ""})
            project.write({f"packages/app/{path}": content for path, content in skills("app", "mine").items()})
            for name in ("app", "bare"):
                directory = project.root / "packages" / name
                write_editable(site, name, directory, str(directory))
        case "npm":
            text = '{"workspaces": ["packages/*"], "dependencies": {"@tanstack/db": "1"}}'
            project.write({"package.json": text, "packages/nameless/package.json": "{}"})
            write_package(project.root / "packages/app", "app", "0.1.0", "mine")
            write_package(project.root / "packages/bare", "bare", "0.1.0")
            for name in ("app", "bare", "nameless"):
                link(project.root / "node_modules" / name, project.root / "packages" / name)
        case _:
            lock = project.read("Cargo.lock") + crates.row("app", "0.1.0", "") + crates.row("bare", "0.1.0", "")
            project.write({"Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n', "Cargo.lock": lock})
            crates.write_crate(project.root / "crates/app", "app", "0.1.0", "mine")
            crates.write_crate(project.root / "crates/bare", "bare", "0.1.0")


@pytest.mark.parametrize("ecosystem", ECOSYSTEMS)
def test_a_package_of_the_project_s_own_is_said_to_be_no_provider_if_it_has_skills(
    project: Project, ecosystem: str
) -> None:
    install_own(project, ecosystem)
    version = "1.0" if ecosystem == "pypi" else "0.1.0"
    found = project.done("list")
    assert [line for line in found.out.splitlines() if line.startswith("no provider: ")] == [
        f"no provider: {ecosystem}:app {version} (mine) is the project itself, or a member of its workspace"
    ]
    assert project.run("lock", "--check").code == 0
    said = f"{ecosystem}:app is no provider: it is the project itself, or a member of its workspace"
    for command in (("allow", f"{ecosystem}:app"), ("show", f"{ecosystem}:app"), ("show", "app"), ("show", "mine")):
        result = project.run(*command, "--format", "json")
        assert (result.code, result.json["problems"][0]["message"]) == (3, said)
    other = project.run("show", "another", "--format", "json")
    assert (other.code, other.json["problems"][0]["message"]) == (3, "no provider ships a skill `another`")


def test_one_lock_one_plan_one_table(project: Project) -> None:
    assert project.locked == [
        "serde 1.0.0 parsing",
        "sus 1.0.0 testing",
        "@tanstack/db 1.0.0 queries",
        "fastapi 1.0 routing",
    ]
    assert project.done("lock", "--check", "--strict").out.splitlines()[:4] == [
        f"read gem: {HOME} (1 package)",
        "read pypi: .venv/lib/python3.11/site-packages (1 package)",
        "read npm: node_modules (1 package)",
        "read cargo: third-party (1 package)",
    ]
    found = project.done("list", "--format", "json").json
    assert [f"{one['ecosystem']}:{one['name']}" for one in found["providers"]] == sorted(PROVIDERS.values())
    assert [one["ecosystem"] for one in found["environments"]] == list(ECOSYSTEMS)
    assert {one["state"] for provider in found["providers"] for one in provider["skills"]} == {"installed"}
    for name in SKILLS.values():
        assert project.installed(f"{name}/SKILL.md").exists()
    result = project.done("verify", "--format", "json").json
    assert result["checked"] == {"skills": 4, "files": 4, "providers": 4}
    assert [one["ecosystem"] for one in result["environments"]] == list(ECOSYSTEMS)
    assert project.read(REGISTRY).count("ecosystem: ") == 3  # a gem has the key of its own


def test_the_lock_does_not_depend_on_what_was_installed_first(tmp_path: Path) -> None:
    locks = set()
    for number, order in enumerate(itertools.permutations(ECOSYSTEMS)):
        one = install(Project(tmp_path / str(number)), *order)
        one.done("lock")
        locks.add(one.read(LOCK))
    assert len(locks) == 1


@pytest.mark.parametrize("ecosystem", PLACES)
def test_an_ecosystem_without_its_environment_takes_nothing_away(project: Project, ecosystem: str) -> None:
    shutil.rmtree(project.root / PLACES[ecosystem])
    before = project.tree
    for command in (("lock",), ("lock", "--check"), ("verify",), ("list",)):
        result = project.run(*command, "--format", "json")
        assert (result.code, result.codes) == (3, ["environment-not-found"])
    assert not project.run("lock", "--format", "json").changes
    assert project.done("sync", "--format", "json").changes == []
    project.done("verify", "--scope", "installed")
    assert project.tree == before


@pytest.mark.parametrize("ecosystem", PLACES)
def test_an_empty_environment_takes_nothing_away(project: Project, ecosystem: str) -> None:
    shutil.rmtree(project.root / PLACES[ecosystem])
    if ecosystem == "pypi":
        write_venv(project.root / ".venv")
    else:
        (project.root / (HOME if ecosystem == "gem" else PLACES[ecosystem])).mkdir(parents=True)
    before = project.tree
    assert project.run("lock", "--format", "json").codes == ["environment-not-found"]
    assert project.done("sync", "--format", "json").changes == []
    assert project.tree == before


@pytest.mark.parametrize("ecosystem", PLACES)
def test_a_file_that_cannot_be_read_takes_nothing_away(project: Project, ecosystem: str) -> None:
    project.write({BROKEN[ecosystem]: "<<<<<<< ours\n{[\n"})
    before = project.tree
    result = project.run("lock", "--format", "json")
    assert (result.code, result.codes) == (3, ["environment-unreadable"])
    assert BROKEN[ecosystem] in result.json["problems"][0]["message"]
    assert project.done("sync", "--format", "json").changes == []
    assert project.tree == before


@pytest.mark.parametrize("ecosystem", PLACES)
def test_what_is_missing_of_one_does_not_stop_a_sync_of_the_others(project: Project, ecosystem: str) -> None:
    shutil.rmtree(project.root / PLACES[ecosystem])
    others = [skill for one, skill in SKILLS.items() if one != ecosystem]
    for skill in others:
        shutil.rmtree(project.installed(skill))
    assert sorted(project.done("sync", "--format", "json").changes) == [("add", skill) for skill in sorted(others)]
    shutil.rmtree(project.installed(SKILLS[ecosystem]))
    result = project.run("sync", "--format", "json")
    assert (result.code, result.codes) == (3, ["environment-not-found"])


@pytest.mark.parametrize("ecosystem", PLACES)
def test_an_ecosystem_that_the_manifest_leaves_out_is_an_ordinary_removal(project: Project, ecosystem: str) -> None:
    rest = [name for name in ECOSYSTEMS if name != ecosystem]
    project.manifest(f"version = 1\necosystems = {json.dumps(rest)}\n")
    assert project.done("lock", "--format", "json").changes == [("remove", SKILLS[ecosystem])]
    assert project.done("sync", "--format", "json").changes == [("remove", SKILLS[ecosystem])]
    project.done("verify")


def test_one_that_was_never_locked_is_missed_by_a_warning(tmp_path: Path) -> None:
    project = install(Project(tmp_path / "app"), "gem", "pypi")
    project.write({"package.json": "{}"})
    result = project.done("lock", "--format", "json")
    assert [(one["code"], one["severity"]) for one in result.json["problems"]] == [("environment-not-found", "warning")]
    assert project.locked == ["sus 1.0.0 testing", "fastapi 1.0 routing"]
    assert project.run("lock", "--strict").code == 3


def test_a_pattern_for_an_environment_that_is_missing_is_not_said_to_match_nothing(project: Project) -> None:
    project.manifest('version = 1\n[providers.gem]\n"*" = "*"\n[providers.npm]\n"@tanstack/*" = "*"\n')
    shutil.rmtree(project.root / "node_modules")
    assert project.run("lock", "--format", "json").codes == ["environment-not-found"]


@pytest.mark.parametrize("order", [tuple(PLACES), tuple(reversed(PLACES))])
def test_one_name_in_several_ecosystems_is_refused(tmp_path: Path, order: tuple[str, ...]) -> None:
    project = install(Project(tmp_path / "app"), *order, skill="testing")
    result = project.run("lock", "--format", "json")
    (problem,) = result.json["problems"]
    assert (result.code, problem["code"]) == (3, "duplicate-skill")
    assert problem["message"] == (
        "the skill testing is shipped by cargo:serde 1.0.0 and by gem:sus 1.0.0 and by npm:@tanstack/db 1.0.0 "
        "and by pypi:fastapi 1.0"
    )
    assert not (project.root / LOCK).exists()
    states = [
        skill["state"]
        for provider in project.run("list", "--format", "json").json["providers"]
        for skill in provider["skills"]
    ]
    assert states == ["conflict"] * 4
    project.manifest('[providers.gem]\nsus = { exclude = ["testing"] }\n[providers.npm]\n"@tanstack/*" = "*"\n')
    project.done("lock")
    assert project.locked == ["@tanstack/db 1.0.0 testing"]


def test_a_skill_changes_hands_from_one_ecosystem_to_another(project: Project) -> None:
    """The content is the same: nothing on disk changes, and it is said whose it is now."""
    files = skill_files("testing")
    for path, content in files.items():
        project.write({f"node_modules/@tanstack/db/{path}": content})
    project.manifest(
        '[providers.gem]\nsus = { exclude = ["*"] }\n[providers.npm]\n"*" = "*"\n[providers.pypi]\n"*" = "*"\n'
    )
    assert "(npm:@tanstack/db 1.0.0, so far gem:sus's)" in project.done("lock").out
    project.done("sync")
    assert "testing:\n    ecosystem: npm" in project.read(REGISTRY)
    project.done("verify")
