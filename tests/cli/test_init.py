from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from projects import MANIFEST, Project

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "app").gem("sus", "1.0.0", "testing", "mocking").gem("a.b", "2.0", "dots").gem("plain")


def test_the_manifest_admits_what_is_installed_and_names_the_skills(project: Project) -> None:
    before = project.tree
    result = project.done("init")
    assert result.out.splitlines() == [
        "read gem: vendor/bundle/ruby/3.1.0 (3 packages)",
        f"wrote {MANIFEST}: 2 providers; read it, then run `skillsync lock`",
    ]
    after = project.tree
    assert {path for path in after if before.get(path) != after[path]} == {".", MANIFEST}
    head, _, entries = project.read(MANIFEST).partition("\nversion = 1\n")
    assert all(line.startswith("#") for line in head.splitlines())
    assert entries.splitlines() == [
        "",
        "[providers.gem]",
        "# gem:a.b 2.0: dots",
        '"a.b" = "*"',
        "# gem:sus 1.0.0: mocking, testing",
        '"sus" = "*"',
    ]


def test_what_it_writes_is_a_manifest_that_changes_nothing(project: Project) -> None:
    project.done("lock")
    project.done("init")
    assert project.run("lock", "--check").code == 0
    assert project.done("list").err == ""


def test_it_never_writes_over_a_manifest(project: Project) -> None:
    place = project.root / MANIFEST
    for is_link in (False, True):
        if is_link:
            place.symlink_to("nowhere")
        else:
            place.write_text("# mine\n")
        before = project.tree
        result = project.run("init")
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith(f"error[manifest-exists]: {MANIFEST} is there already\n")
        assert project.tree == before
        place.unlink()


def test_without_skills_it_admits_none_that_comes_later(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("plain")
    assert "no installed package ships skills\n" in project.done("init").out
    comment = "\n# As long as nothing is listed here, nothing is admitted that is installed later.\n[providers]\n"
    assert project.read(MANIFEST).endswith(comment)
    project.gem("sus", "1.0.0", "testing").done("lock")
    assert project.locked == []
    project.done("allow", "gem:sus")
    assert project.read(MANIFEST).endswith(f'{comment}\n[providers.gem]\nsus = "*"\n')


def test_without_an_environment_it_writes_nothing(project: Project) -> None:
    shutil.rmtree(project.root / "vendor")
    before = project.tree
    result = project.run("init", "--format", "json")
    assert (result.code, result.codes) == (3, ["environment-not-found"])
    assert project.tree == before
    project.write({"Gemfile": None, "Gemfile.lock": None})
    assert project.run("init").code == 3
    assert not (project.root / MANIFEST).exists()


def test_what_the_manifest_has_to_settle_is_said_and_does_not_stand_in_its_way(project: Project) -> None:
    project.gem("other", "1.0.0", "testing")
    result = project.done("init")
    assert (
        "warning[duplicate-skill]: the skill testing is shipped by gem:other 1.0.0 and by gem:sus 1.0.0" in result.err
    )
    project.write({MANIFEST: project.read(MANIFEST).replace('"other" = "*"', '"other" = { exclude = ["testing"] }')})
    project.done("lock")


def test_a_skill_that_is_not_valid_is_marked(project: Project) -> None:
    project.change("sus", {"skills/broken/SKILL.md": "broken", "skills/a\n\x1b[31m/SKILL.md": "broken"})
    result = project.done("init")
    line = "# gem:sus 1.0.0: a\\x0a\\x1b[31m (invalid), broken (invalid), mocking, testing\n"
    assert line in project.read(MANIFEST)
    assert "warning[invalid-skill]: " in result.err
    project.done("lock")


def test_its_json_names_what_it_admits(project: Project) -> None:
    assert project.done("init", "--format", "json").json == {
        "version": 1,
        "environments": [{"ecosystem": "gem", "path": "vendor/bundle/ruby/3.1.0", "packages": 3}],
        "providers": ["gem:a.b", "gem:sus"],
        "problems": [],
    }


def test_it_offers_the_directories_of_agents_that_are_there(project: Project) -> None:
    for name in (".claude", ".roo", ".github", ".agents", ".vscode"):
        (project.root / name).mkdir()
    (project.root / ".kiro").write_text("a file")
    result = project.done("init")
    assert [line.split()[:3] for line in result.out.splitlines()[1:3]] == [
        [MANIFEST, "offers", ".claude/skills"],
        [MANIFEST, "offers", ".roo/skills"],
    ]
    text = project.read(MANIFEST)
    assert '\n# targets = [".agents/skills", ".claude/skills", ".roo/skills"]\n# link = true ' in text
    # It is an offer: nothing is installed there before a person takes it.
    project.done("lock")
    project.done("sync")
    assert not (project.root / ".claude/skills").exists()
    project.manifest(text.replace("# targets", "targets").replace("# link", "link")).done("sync")
    assert (project.root / ".claude/skills/testing").is_symlink()
    assert (project.root / ".roo/skills/testing/SKILL.md").is_file()
    project.done("verify")


def test_it_offers_no_target_where_no_agent_has_a_directory(project: Project) -> None:
    project.done("init")
    assert "targets" not in project.read(MANIFEST)


def test_what_could_be_no_further_target_is_not_offered(project: Project, tmp_path: Path) -> None:
    (project.root / ".agents").mkdir()
    (tmp_path / "out").mkdir()
    # One target with the first; out of the project; and one that can be had.
    for name, leads_to in ((".claude", ".agents"), (".roo", "../out"), (".kiro", "config")):
        (project.root / name).symlink_to(leads_to)
    (project.root / "config").mkdir()
    project.done("init")
    assert '# targets = [".agents/skills", ".kiro/skills"]\n' in project.read(MANIFEST)


def test_what_it_says_of_an_entry_goes_with_the_entry(project: Project) -> None:
    project.change("sus", {"skills/broken_one/SKILL.md": "broken"}).done("init")
    before = project.read(MANIFEST)
    assert "# gem:sus 1.0.0: broken_one (invalid), mocking, testing\n" in before
    project.done("deny", "sus")
    assert "gem:sus" not in project.read(MANIFEST)
    project.manifest(before.replace("mocking, testing", "mocking, testing: ask Anna first")).done("deny", "sus")
    assert "testing: ask Anna first\n" in project.read(MANIFEST)
