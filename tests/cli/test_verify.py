from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import gems
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from projects import LOCK, MANIFEST, REGISTRY, SKILLS, Project, skill

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from projects import Result

    from skillsync.syncing.registry import Registry
    from skillsync.syncing.target import Target

SCRIPT = "#!/bin/sh\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project whose two skills are locked and installed."""
    files = {"skills/testing/ref/more.md": "more\n", "skills/testing/run": SCRIPT}
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing", files=files).gem("bake", "1.0.0", "tasks")
    project.done("lock")
    project.done("sync")
    return project


def verify(project: Project, *options: str) -> Result:
    """Verify, which changes nothing."""
    before = project.tree
    result = project.run("verify", "--format", "json", *options)
    text = project.run("verify", *options)
    assert text.code == result.code
    assert project.tree == before
    return result


def test_quiet_says_what_it_found_and_nothing_else(project: Project) -> None:
    done = project.done("verify", "--quiet")
    assert (done.out, done.err) == ("", "")
    project.write({f"{SKILLS}/testing/ref/more.md": "less\n"})
    found = project.run("verify", "--quiet")
    assert (found.code, found.err) == (1, "")
    assert found.out.splitlines() == project.run("verify").out.splitlines()[-2:]
    assert found.out.startswith(f"modified: {SKILLS}/testing/ref/more.md\ndrift: 1 difference; ")


# That it looked


@pytest.mark.parametrize(
    ("scope", "skills", "files", "providers"), [("all", 2, 4, 2), ("installed", 2, 4, 0), ("providers", 2, 4, 2)]
)
def test_it_says_how_much_it_looked_at(project: Project, scope: str, skills: int, files: int, providers: int) -> None:
    result = verify(project, "--scope", scope)
    assert result.code == 0
    assert result.json["ok"]
    assert result.json["checked"] == {"skills": skills, "files": files, "providers": providers}
    assert ("environments" in result.json) == (scope != "installed")
    counts = f"checked {skills} skills, {files} files, {providers} providers (scope {scope})"
    assert project.run("verify", "--scope", scope).out.splitlines()[-1] == f"ok: {counts}"


def test_all_is_the_default(project: Project) -> None:
    assert project.run("verify").out == project.run("verify", "--scope", "all").out


def test_a_lock_with_skills_of_which_none_was_looked_at_fails(project: Project) -> None:
    shutil.rmtree(project.root / ".agents")
    result = verify(project, "--scope", "installed")
    assert (result.code, result.json["ok"]) == (1, False)
    assert result.drift == [("missing", "tasks"), ("missing", "testing")]
    assert result.json["checked"] == {"skills": 0, "files": 0, "providers": 0}
    assert verify(project).code == 1
    assert verify(project, "--scope", "providers").code == 0


def test_a_lock_without_skills_is_in_order_and_says_so(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("plain", "1.0.0")
    project.done("lock")
    assert verify(project).json["ok"]
    assert "ok: the lock has no skills; checked 0 skills" in project.done("verify").out


def test_without_a_lock_it_fails(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    for scope in ("all", "installed", "providers"):
        result = verify(project, "--scope", scope)
        assert (result.code, result.codes, result.json["ok"]) == (2, ["lock-missing"], False)


def test_the_installed_skills_can_be_verified_without_any_package(project: Project) -> None:
    shutil.rmtree(project.root / "vendor")
    project.write({"Gemfile": None, "Gemfile.lock": None})
    assert verify(project, "--scope", "installed").code == 0
    for scope in ("all", "providers"):
        result = verify(project, "--scope", scope)
        assert (result.code, set(result.codes), result.json["ok"]) == (3, {"environment-not-found"}, False)
        assert "hint: run `bundle install`" in project.run("verify", "--scope", scope).err


# Every kind of difference


def nothing_there(project: Project) -> None:
    shutil.rmtree(project.installed("testing"))


def nested_byte(project: Project) -> None:
    project.write({f"{SKILLS}/testing/ref/more.md": "morE\n"})


def extra_file(project: Project) -> None:
    project.write({f"{SKILLS}/testing/ref/\u202etxt.md": "x"})


def file_gone(project: Project) -> None:
    project.installed("testing/ref/more.md").unlink()


def file_became_a_link(project: Project) -> None:
    project.installed("testing/ref/more.md").unlink()
    project.installed("testing/ref/more.md").symlink_to("../SKILL.md")


def link_out(project: Project) -> None:
    project.installed("testing/ref/out").symlink_to("/etc/passwd")


def a_file_instead(project: Project) -> None:
    nothing_there(project)
    project.installed("testing").write_text(f"../../{SKILLS}/testing")


def script_lost_its_bit(project: Project) -> None:
    project.installed("testing/run").chmod(0o644)


def lock_moved_on(project: Project) -> None:
    project.gem("sus", "1.1.0", "testing").done("lock")


def row_lost(project: Project) -> None:
    project.write({REGISTRY: project.read(REGISTRY).partition("  testing:")[0]})


def row_lost_and_edited(project: Project) -> None:
    row_lost(project)
    nested_byte(project)


def row_of_another(project: Project) -> None:
    project.write({REGISTRY: project.read(REGISTRY).replace("gem: sus", "gem: other")})


def row_of_another_and_edited(project: Project) -> None:
    row_of_another(project)
    nested_byte(project)


def row_of_another_program(project: Project) -> None:
    project.write({REGISTRY: project.read(REGISTRY).replace("gem: sus", "tool: other")})


def row_without_hash(project: Project) -> None:
    project.write({REGISTRY: f"version: 1\nskills:\n  testing:\n    gem: sus\n{'    version: 1.0.0'}\n"})
    shutil.rmtree(project.installed("tasks"))


def no_longer_locked(project: Project) -> None:
    project.drop("sus").done("lock")


def no_longer_locked_and_gone(project: Project) -> None:
    no_longer_locked(project)
    nothing_there(project)


def packages_moved_on(project: Project) -> None:
    project.gem("sus", "1.1.0", "testing", "more")


def manifest_moved_on(project: Project) -> None:
    project.manifest('[providers.gem]\nbake = "*"\n')


def other_case(project: Project) -> None:
    project.installed("testing").rename(project.installed("Testing"))


@pytest.mark.parametrize(
    ("change", "drift"),
    [
        (nothing_there, [("missing", "testing")]),
        (nested_byte, [("modified", "testing", "ref/more.md")]),
        (extra_file, [("modified", "testing", "ref/\u202etxt.md")]),
        (file_gone, [("missing", "testing", "ref/more.md")]),
        (file_became_a_link, [("modified", "testing", "ref/more.md")]),
        (link_out, [("modified", "testing", "ref/out")]),
        (a_file_instead, [("modified", "testing")]),
        (script_lost_its_bit, [("not-executable", "testing", "run")]),
        (lock_moved_on, [("outdated", "testing")]),
        (row_lost, [("unregistered", "testing")]),
        (row_lost_and_edited, [("unmanaged", "testing")]),
        (row_of_another, [("stale-row", "testing")]),
        (row_of_another_and_edited, [("foreign-owner", "testing")]),
        (row_of_another_program, [("foreign-owner", "testing")]),
        (row_without_hash, [("missing", "tasks"), ("stale-row", "testing")]),
        (no_longer_locked, [("orphaned", "testing")]),
        (no_longer_locked_and_gone, [("stale-row", "testing")]),
        (packages_moved_on, [("stale-lock", "more"), ("stale-lock", "testing")]),
        (manifest_moved_on, [("stale-lock", "testing")]),
        (other_case, [("unmanaged", "testing")]),
    ],
)
def test_every_difference_is_found_and_named(
    project: Project, change: Callable[[Project], None], drift: list[tuple[str, ...]]
) -> None:
    change(project)
    result = verify(project)
    assert (result.code, result.json["ok"], result.codes) == (1, False, [])
    assert result.drift == drift
    targets = {None if row["kind"] == "stale-lock" else SKILLS for row in result.json["drift"]}
    assert {row.get("target") for row in result.json["drift"]} == targets
    text = project.run("verify")
    names = [f"{kind}: {'/'.join((SKILLS, *rest)) if kind != 'stale-lock' else rest[0]}" for kind, *rest in drift]
    lines = [line for line in text.out.splitlines() if line.startswith(tuple(kind for kind, *_ in drift))]
    assert [line.replace("\\u202e", "\u202e").partition(" (")[0] for line in lines] == names
    assert text.out.splitlines()[-1].startswith(f"drift: {len(drift)} difference")


def test_each_scope_finds_its_own(project: Project) -> None:
    nested_byte(project)
    packages_moved_on(project)
    stale = [("stale-lock", "more"), ("stale-lock", "testing")]
    assert verify(project, "--scope", "installed").drift == [("modified", "testing", "ref/more.md")]
    assert verify(project, "--scope", "providers").drift == stale
    assert verify(project).drift == [*stale, ("modified", "testing", "ref/more.md")]


def test_what_is_not_skillsync_s_is_named_and_is_no_drift(project: Project) -> None:
    project.write({f"{SKILLS}/mine/SKILL.md": "x", f"{SKILLS}/README.md": "x", f"{SKILLS}/.cache/x": "x"})
    project.installed("a\x1b[31mb").mkdir()
    result = verify(project)
    assert (result.code, result.drift) == (0, [])
    assert f"not skillsync's in {SKILLS}: .cache, README.md, a\\x1b[31mb, mine\n" in project.done("verify").out


def test_a_problem_of_the_packages_hides_no_difference_on_disk(project: Project) -> None:
    nested_byte(project)
    project.change("sus", {"skills/testing/SKILL.md": "broken"})
    result = verify(project)
    assert (result.code, result.codes) == (3, ["invalid-skill"])
    assert result.drift == [("modified", "testing", "ref/more.md")]


def test_every_file_of_a_skill_is_checked(tmp_path: Path) -> None:
    names = ("SKILL.md", "README.md", "_draft.md", ".env.example", "metadata.json", "scripts/.keep", ".hidden/x")
    project = Project(tmp_path / "app").gem("sus", "1.0.0", files={f"skills/testing/{name}": "x" for name in names})
    project.change("sus", {"skills/testing/SKILL.md": skill("testing")}).done("lock")
    project.done("sync")
    for name in names:
        content = project.read(f"{SKILLS}/testing/{name}")
        project.write({f"{SKILLS}/testing/{name}": content + "x"})
        assert verify(project).drift == [("modified", "testing", name)]
        project.write({f"{SKILLS}/testing/{name}": content})
    assert verify(project).code == 0


def test_what_running_a_skill_leaves_behind_is_no_difference(project: Project) -> None:
    place = project.installed("testing")
    left = ("__pycache__/h.cpython-311.pyc", "ref/.pytest_cache/x", ".mypy_cache/x", ".ruff_cache/x", ".DS_Store")
    gems.write_files(place, dict.fromkeys((*left, "ref/Thumbs.db", ".venv/x", "node_modules/x", ".git/x"), b"x"))
    (place / "ref/__pycache__").mkdir()
    (place / "empty").mkdir()
    result = verify(project)
    assert result.code == 0
    # What could run all the same is named.
    names = (
        *(".DS_Store", ".git", ".mypy_cache", ".ruff_cache", ".venv", "__pycache__", "node_modules"),
        *("ref/.pytest_cache", "ref/Thumbs.db", "ref/__pycache__"),
    )
    assert result.json["not_compared"] == [f"{SKILLS}/testing/{name}" for name in names]
    line = f"not compared in {SKILLS}: {', '.join(f'testing/{name}' for name in names)}"
    assert line in project.run("verify").out.splitlines()


@pytest.mark.parametrize("extra", ["h.pyc", "notes.md", "ref/__pycache__", "Thumbs.db/x", "__pycache__ /x"])
def test_what_looks_like_a_leftover_and_is_none_counts(project: Project, extra: str) -> None:
    project.write({f"{SKILLS}/testing/{extra}": "x"})
    assert verify(project).drift == [("modified", "testing", extra)]


# Line ends


def test_a_checkout_with_other_line_ends_is_recognised(project: Project) -> None:
    place = project.installed("testing")
    for path in (place / "SKILL.md", place / "ref/more.md"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    result = verify(project)
    assert result.drift == [("modified", "testing", "SKILL.md"), ("modified", "testing", "ref/more.md")]
    note = f"(only the line endings differ: tell git not to convert them, `{SKILLS}/** -text` in .gitattributes)"
    assert project.run("verify").out.count(note) == 2


@pytest.mark.parametrize("content", [b"more\r", b"more\r\r\n", b"more\n\n", b"mor\r\ne\n", b"\xff\r\n"])
def test_another_difference_is_not_taken_for_line_ends(project: Project, content: bytes) -> None:
    project.write({f"{SKILLS}/testing/ref/more.md": content})
    assert verify(project).drift == [("modified", "testing", "ref/more.md")]
    assert "line endings" not in project.run("verify").out


def test_the_packages_line_ends_are_content(tmp_path: Path) -> None:
    contents = {"lf": b"a\nb\n", "crlf": b"a\r\nb\r\n", "mixed": b"a\nb\r\n", "cr": b"a\rb\n", "binary": b"\0\r\n\xff"}
    files = {f"skills/testing/{name}": content for name, content in contents.items()}
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing", files=files)
    project.done("lock")
    hashes = {line.split(" = ")[1] for line in project.read(LOCK).splitlines() if line.startswith('"')}
    assert len(hashes) == len(contents) + 1
    project.done("sync")
    for name, content in contents.items():
        assert project.installed(f"testing/{name}").read_bytes() == content
    assert verify(project).code == 0


def test_lock_manifest_and_registry_may_have_other_line_ends_and_a_mark(project: Project) -> None:
    project.manifest('version = 1\n\n[providers.gem]\nsus = "*"\nbake = "*"\n')
    for path in (LOCK, MANIFEST, REGISTRY):
        content = (project.root / path).read_bytes()
        project.write({path: b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")})
    assert verify(project).code == 0
    before = project.tree
    for command in ("lock", "sync", "list"):
        assert project.run(command).code == 0
    assert project.tree == before


# A fresh sync has no drift, whatever the skill holds


NAMES = st.sampled_from(
    ["a", "B.md", "ä ö", "-x", "run", "$(x)", "'", '"', "\\", "#", "%41", "~", "x.pyc", "sub", "日本"]
)
CONTENT = st.one_of(st.binary(max_size=40), st.sampled_from([b"", b"#!/bin/sh\n", b"a\r\nb\r", b"x" * 300_000]))
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


@settings(max_examples=15)
@given(st.dictionaries(PATHS, CONTENT, max_size=8), st.data())
def test_what_was_just_synced_is_in_sync(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes], data: st.DataObject
) -> None:
    kept = {path: content for path, content in files.items() if not any(f.startswith(f"{path}/") for f in files)}
    project = Project(tmp_path_factory.mktemp("app"))
    project.manifest('[providers.gem]\nsus = { hidden-characters = "allow" }\n')
    project.gem("sus", "1.0.0", "testing", files={f"skills/testing/{path}": text for path, text in kept.items()})
    directory = project.gem_root("sus") / "skills/testing"
    for path in data.draw(st.sets(st.sampled_from(sorted(kept)))) if kept else ():
        (directory / path).chmod(0o755)
    if kept:
        (directory / "link").symlink_to(data.draw(st.sampled_from(sorted(kept))))
    project.manifest('[providers.gem]\nsus = { hidden-characters = "allow" }\n')  # random bytes may spell some
    project.done("lock")
    project.done("sync")
    before = project.tree
    assert verify(project).code == 0
    assert project.done("sync").out.startswith("in sync")
    assert project.run("lock", "--check").code == 0
    assert project.tree == before


def test_a_target_directory_that_changes_meanwhile_is_read_again_and_not_for_ever(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    import skillsync.syncing.state as module

    usual, text, changes = module.read_registry, project.read(REGISTRY), 3

    def changing(fd: int, place: Target) -> Registry:
        nonlocal changes
        if changes:
            changes -= 1
            project.write({REGISTRY: text.replace("1.0.0", f"1.0.{changes}")})
        return usual(fd, place)

    monkeypatch.setattr(module, "read_registry", changing)
    assert project.run("verify", "--format", "json").code == 0
    changes = 1000
    result = project.run("verify", "--format", "json")
    assert (result.code, result.codes) == (4, ["busy"])
