"""What git ignores of a tree's skills, and what `check` makes of it."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from artifacts import gem, packed, write
from projects import Project, skill
from tools import need

from skillsync.checking.git import ignored

if TYPE_CHECKING:
    from pathlib import Path

PLACE = "skills/kelp-forms"
SPEC = 'Gem::Specification.new do |s|\n  s.name = "kelp"\n  s.version = "1.2.0"\nend\n'
SKILL = {f"{PLACE}/SKILL.md": skill("kelp-forms")}


def git(directory: Path, *arguments: str) -> None:
    subprocess.run(("git", *arguments), cwd=directory, check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path: Path) -> Project:
    """Return a repository with a gem in a directory of it, and files that git ignores in the gem's skill."""
    need("git")
    rules = "*.log\n.env\n!kept.log\n"
    files = {".env": "", "a.log": "", "kept.log": "", "ref/b.log": "", "tracked.log": "", "node_modules/x/y": ""}
    project = Project(tmp_path / "all").write(
        {".gitignore": rules, "kelp/.gitignore": "node_modules/\n", "kelp/kelp.gemspec": SPEC}
        | {f"kelp/{path}": text for path, text in SKILL.items()}
        | {f"kelp/{PLACE}/{path}": text for path, text in files.items()}
    )
    git(project.root, "init", "--quiet")
    git(project.root, "add", "--force", f"kelp/{PLACE}/tracked.log")
    return project


def found(project: Project, *artifacts: str) -> list[str]:
    result = project.run("check", "kelp", *artifacts, "--format", "json")
    return [f"{one['severity']} {one['code']}: {one['message']}" for one in result.json["problems"]]


def test_what_git_ignores_may_be_left_out(tree: Project) -> None:
    runtime = (
        f"note unsafe-skill: kelp/{PLACE}/node_modules is a runtime directory, which no provider may ship; git igno"
    )
    assert [one[: len(runtime)] for one in found(tree)] == [runtime]
    kept = {f"{PLACE}/{path}": "" for path in ("kept.log", "tracked.log")}
    write(tree.root / "kelp.gem", gem(packed({**SKILL, **kept})))
    _, left = found(tree, "kelp.gem")
    said = f"note skill-not-packaged: kelp/{PLACE} is in kelp.gem without what git ignores:"
    assert left == f"{said} .env, a.log, node_modules, ref/b.log"
    # What git ignores and has all the same is missed: a build that goes by .gitignore leaves it out.
    write(tree.root / "kelp.gem", gem(packed({**SKILL, f"{PLACE}/kept.log": ""})))
    assert f"error skill-not-packaged: kelp/{PLACE} is in kelp.gem without tracked.log" in found(tree, "kelp.gem")


def test_a_link_to_what_git_ignores_is_broken_elsewhere(tree: Project) -> None:
    tree.write({f"kelp/{PLACE}/SKILL.md": skill("kelp-forms", "[a](a.log) [b](kept.log)\n")})
    said = f"warning link-broken: kelp/{PLACE}/SKILL.md links to `a.log`, which git ignores: nobody else has it"
    assert [one for one in found(tree) if "link-broken" in one] == [said]


def test_what_git_ignores_and_is_packed_is_told(tree: Project) -> None:
    files = {f"{PLACE}/{path}": "" for path in (".env", "kept.log", "tracked.log")}
    write(tree.root / "kelp.gem", gem(packed({**SKILL, **files})))
    assert f"warning artifact-differs: kelp/{PLACE} has in kelp.gem what git ignores: .env" in found(tree, "kelp.gem")


def test_a_skill_that_is_ignored_as_a_whole_is_generated(tree: Project) -> None:
    tree.write({".gitignore": f"kelp/{PLACE}/\n"})
    write(tree.root / "kelp.gem", gem(packed(SKILL)))
    told = f"warning skill-not-packaged: kelp/{PLACE} is ignored by git: what is built of a clone is without it"
    assert told in found(tree)
    missing = f"error skill-not-packaged: kelp/{PLACE} is in kelp.gem without .env, a.log, kept.log, ref/b.log"
    assert any(one.startswith(missing) for one in found(tree, "kelp.gem"))
    write(tree.root / "kelp.gem", gem(packed({})))
    assert f"error skill-not-packaged: kelp/{PLACE} is not in kelp.gem" in found(tree, "kelp.gem")
    assert "`git add --force` the skill instead" in tree.run("check", "kelp", "kelp.gem").err


def test_git_asks_nothing_that_a_repository_sets(tree: Project) -> None:
    mark = tree.root / "ran"
    for key in ("core.fsmonitor", "core.hooksPath", "core.sshCommand"):
        git(tree.root, "config", key, f"touch {mark};")
    write(tree.root / "kelp.gem", gem(packed(SKILL)))
    assert any("what git ignores" in one for one in found(tree, "kelp.gem"))
    assert not mark.exists()


@pytest.mark.parametrize("path", ["bin", "./bin", "bin{sep}{path}", "{sep}{path}"])
def test_a_git_of_the_tree_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    need("git")
    git(tmp_path, "init", "--quiet")
    script = f"#!/bin/sh\n: > {tmp_path}/ran\n"
    Project(tmp_path).write({".gitignore": "*.log\n", "git": script, "bin/git": script})
    for program in ("git", "bin/git"):
        (tmp_path / program).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path.format(sep=os.pathsep, path=os.environ["PATH"]))
    ignored(str(tmp_path), ["a.log"])
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("git_file", ["gitdir: nowhere\n", "", "no\0thing"])
def test_a_repository_that_can_not_be_read_tells_nothing_of_its_index(tmp_path: Path, git_file: str) -> None:
    need("git")
    Project(tmp_path).write({".git": git_file, ".gitignore": "*.log\n", "a.log": "", "a.md": ""})
    assert ignored(str(tmp_path), ["a.log", "a.md"]) <= {"a.log"}


def test_git_is_asked_once_for_all_packages_of_a_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"kelp.gemspec": SPEC, "package.json": '{"name": "kelp"}', **SKILL}
    tree = Project(tmp_path / "all").write({f"kelp/{path}": text for path, text in files.items()})
    (tree.root / "bin").mkdir()
    program = tree.root / "bin/git"
    program.write_text(f"#!/bin/sh\necho >> {tree.root}/asked\nprintf './kelp/{PLACE}/a.log\\0'\n")
    program.chmod(0o755)
    tree.write({".git/HEAD": "", f"kelp/{PLACE}/a.log": ""})
    monkeypatch.setenv("PATH", str(program.parent))
    write(tree.root / "kelp.gem", gem(packed(SKILL)))
    assert [one for one in found(tree, "kelp.gem") if "what git ignores: a.log" in one]
    assert (tree.root / "asked").read_text() == "\n"


def test_an_index_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    need("git")
    Project(tmp_path).write({".gitignore": "*.log\n", "a.log": ""})
    git(tmp_path, "init", "--quiet")
    os.mkfifo(tmp_path / ".git/index")
    started = time.monotonic()
    assert ignored(str(tmp_path), ["a.log"]) == frozenset()
    assert time.monotonic() - started < 30  # git is given up after twice that


def test_names_are_names_and_no_patterns(tmp_path: Path) -> None:
    need("git")
    names = [":(top)a.log", "*.log", "a\nb.log", "\u00e9.log", os.fsdecode(b"\xff.log"), "-z.log", "[a].md"]
    Project(tmp_path).write({".gitignore": "*.log\n", **dict.fromkeys(names, "")})
    git(tmp_path, "init", "--quiet")
    assert ignored(str(tmp_path), names) == set(names[:-1])


def test_without_git_nothing_is_known(tree: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tree.root))
    assert ignored(str(tree.root), [f"kelp/{PLACE}/a.log"]) == frozenset()
