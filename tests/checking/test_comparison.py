"""A tree beside what was built of it, by hand and by the real tools."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import gems
import pytest
from artifacts import WHEEL, entry, gem, packed, tarball, wheel_files, write, zipped
from projects import Project, skill
from tools import need, need_network, need_python_tool

from skillsync.checking.building import cause
from skillsync.checking.tree import read_tree

if TYPE_CHECKING:
    from projects import Files, Result

PLACE = "skills/kelp-forms"
GEMSPEC = """\
Gem::Specification.new do |s|
  s.name = "kelp"
  s.version = "1.2.0"
  s.summary = "For tests"
  s.authors = ["test"]
  s.license = "MIT"
  s.homepage = "https://example.org"
  s.files = FILES
end
"""
GEM = {"kelp.gemspec": GEMSPEC, f"{PLACE}/SKILL.md": skill("kelp-forms"), f"{PLACE}/ref/a.md": "a\n", "lib/kelp.rb": ""}
# A build backend that needs nothing from anywhere.
BACKEND = """\
import base64, hashlib, zipfile, io, tarfile, os
def build_sdist(directory, settings=None):
    name = "kelp-1.0.tar.gz"
    with tarfile.open(os.path.join(directory, name), "w:gz") as out:
        for path in ("pyproject.toml", "backend.py", "PKG-INFO", "kelp"):
            out.add(path, "kelp-1.0/" + path)
    open("litter", "w").close()
    return name
def build_wheel(directory, settings=None, metadata=None):
    name = "kelp-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as out:
        rows = ""
        for path, text in (
            ("kelp/__init__.py", ""),
            ("kelp-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: kelp\\nVersion: 1.0\\n"),
            ("kelp-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\n"),
        ):
            out.writestr(path, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
            rows += f"{path},sha256={digest},{len(text)}\\n"
        out.writestr("kelp-1.0.dist-info/RECORD", rows + "kelp-1.0.dist-info/RECORD,,\\n")
    return name
"""
PYTHON = {
    "pyproject.toml": '[project]\nname = "kelp"\nversion = "1.0"\n'
    '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
    "backend.py": BACKEND,
    "PKG-INFO": "Metadata-Version: 2.1\nName: kelp\nVersion: 1.0\n",
    "kelp/__init__.py": "",
    "kelp/.agents/skills/kelp-forms/SKILL.md": skill("kelp-forms"),
}


def check(project: Project, *arguments: str) -> Result:
    """Check in JSON and in text, which have to agree; the project is left as it was."""
    before = project.tree
    result = project.run("check", *arguments, "--format", "json")
    text = project.run("check", *arguments)
    assert text.code == result.code
    assert {path: entry[2] for path, entry in project.tree.items()} == {path: one[2] for path, one in before.items()}
    return result


def found(result: Result) -> list[tuple[str, str, str, str]]:
    return [(one["severity"], one["code"], one["source"], one.get("path", "")) for one in result.json["problems"]]


def said(result: Result) -> str:
    return "\n".join(f"{one['message']} ({one.get('hint')})" for one in result.json["problems"])


@pytest.fixture
def tree(tmp_path: Path) -> Project:
    return Project(tmp_path / "all").write({f"kelp/{path}": text for path, text in GEM.items()})


def without(*paths: str) -> Files:
    return {path: text for path, text in GEM.items() if path not in paths}


# By hand


def test_an_artifact_with_all_of_it_is_ok(tree: Project) -> None:
    write(tree.root / "kelp.gem", gem(packed(GEM)))
    result = check(tree, "kelp", "kelp.gem")
    assert (result.code, found(result)) == (0, [])
    assert result.json["checked"] == {"trees": 1, "artifacts": 1, "skills": 2, "files": 4}


def test_a_forgotten_skill_is_said_once_and_with_its_mend(tree: Project) -> None:
    write(tree.root / "kelp.gem", gem(packed({"lib/kelp.rb": ""})))
    result = check(tree, "kelp.gem", "kelp")
    assert (result.code, found(result)) == (1, [("error", "skill-not-packaged", "kelp", PLACE)])
    assert "kelp/skills/kelp-forms is not in kelp.gem" in said(result)
    assert '`s.files += Dir["skills/**/*"]`' in said(result)
    assert "failed: kelp/skills/kelp-forms (2 files, 1 error)" in tree.run("check", "kelp.gem", "kelp").out


def test_a_skill_that_the_build_puts_elsewhere_is_said_to_be_there(tree: Project) -> None:
    write(tree.root / "kelp.gem", gem(packed({"data/kelp-forms/SKILL.md": skill("kelp-forms")})))
    assert "is in kelp.gem as data/kelp-forms, where no consumer looks" in said(check(tree, "kelp", "kelp.gem"))


def test_each_difference_is_said_of_the_skill(tree: Project) -> None:
    files = {**without(f"{PLACE}/ref/a.md"), f"{PLACE}/SKILL.md": skill("kelp-forms", "Older.\n"), f"{PLACE}/new": ""}
    files |= {"skills/kelp-old/SKILL.md": skill("kelp-old")}
    write(tree.root / "kelp.gem", gem(packed(files)))
    result = check(tree, "kelp", "kelp.gem")
    assert found(result) == [
        ("error", "skill-not-packaged", "kelp", PLACE),
        ("error", "artifact-differs", "kelp", PLACE),
        ("warning", "artifact-differs", "kelp", PLACE),
        ("warning", "artifact-differs", "kelp.gem", "skills/kelp-old"),
    ]
    assert "is in kelp.gem without ref/a.md" in said(result)
    assert "has other content in kelp.gem: SKILL.md" in said(result)
    assert "has more in kelp.gem: new" in said(result)


@pytest.mark.parametrize(("backend", "is_stale"), [("setuptools.build_meta", True), ("hatchling.build", False)])
def test_of_what_a_former_build_has_left_setuptools_is_rid_first(
    tmp_path: Path,
    backend: str,
    is_stale: bool,  # noqa: FBT001
) -> None:
    place = "kelp/skills/kelp-forms"
    text = f'[project]\nname = "kelp"\nversion = "1.2.0"\n[build-system]\nbuild-backend = "{backend}"\n'
    files = {"kelp/__init__.py": "", f"{place}/SKILL.md": skill("kelp-forms")}
    project = Project(tmp_path).write({f"kelp/{path}": one for path, one in {**files, "pyproject.toml": text}.items()})
    more = {f"{place}/old.md": "", "kelp/skills/kelp-old/SKILL.md": skill("kelp-old")}
    name = WHEEL
    write(project.root / name, zipped(wheel_files({**files, **more})))
    problems = check(project, "kelp", name).json["problems"]
    assert [one["code"] for one in problems] == ["artifact-differs"] * 2
    assert ["run `rm -r build`" in one["hint"] for one in problems] == [is_stale] * 2


def test_of_many_files_the_first_are_named(tree: Project) -> None:
    tree.write({f"kelp/{PLACE}/{number}": "" for number in range(7)})
    write(tree.root / "kelp.gem", gem(packed(GEM)))
    assert "without 0, 1, 2, 3, 4, and 2 more" in said(check(tree, "kelp", "kelp.gem"))


def test_what_is_wrong_in_both_is_said_of_the_tree(tree: Project) -> None:
    bad = {f"{PLACE}/SKILL.md": skill("other"), f"{PLACE}/ref/a.md": "[x](../../../y.md)\n"}
    tree.write({f"kelp/{path}": text for path, text in bad.items()})
    write(tree.root / "kelp.gem", gem(packed({**GEM, **bad})))
    assert {one[2] for one in found(check(tree, "kelp", "kelp.gem"))} == {"kelp"}
    # What is wrong in the artifact alone is said of it.
    write(tree.root / "kelp.gem", gem(packed({**GEM, **bad, "skills/kelp-x/SKILL.md": ""})))
    assert {one[2] for one in found(check(tree, "kelp", "kelp.gem"))} == {"kelp", "kelp.gem"}


def test_where_neither_has_a_skill_it_is_said_of_both(tree: Project) -> None:
    for path in ("SKILL.md", "ref/a.md"):
        tree.write({f"kelp/{PLACE}/{path}": None})
    write(tree.root / "kelp.gem", gem(packed({"lib/kelp.rb": ""})))
    result = check(tree, "kelp", "kelp.gem")
    assert [one[2] for one in found(result) if one[1] == "no-skills"] == ["kelp", "kelp.gem"]


def test_a_package_of_a_workspace_may_be_without_skills_as_tree_and_as_artifact(tree: Project) -> None:
    tree.write({"bare/bare.gemspec": GEMSPEC.replace('"kelp"', '"bare"')})
    write(tree.root / "bare.gem", gem(packed({}), name="bare"))
    result = check(tree, "kelp", "bare", "bare.gem")
    assert (result.code, found(result)) == (0, [])
    assert "read gem:bare 1.2.0: bare.gem (0 skills)\n" in tree.run("check", "kelp", "bare", "bare.gem").out


def test_a_source_distribution_has_skills_of_another_package_of_its_tree(tmp_path: Path) -> None:
    package = '{"name": "kelp", "version": "1.0.0"}'
    files = {**PYTHON, "package.json": package, f"{PLACE}/SKILL.md": skill("kelp-forms")}
    project = Project(tmp_path / "all").write({f"kelp/{path}": text for path, text in files.items()})
    write(project.root / "kelp.tar.gz", tarball(files))
    assert found(check(project, "kelp", "kelp.tar.gz")) == []
    assert [one[:2] for one in found(check(project, "kelp.tar.gz"))] == [("note", "skill-elsewhere")]


def test_links_in_a_circle_are_no_file(tree: Project) -> None:
    (tree.root / "kelp" / PLACE / "a.md").symlink_to("b.md")
    (tree.root / "kelp" / PLACE / "b.md").symlink_to("a.md")
    write(tree.root / "kelp.gem", gem(packed({**GEM, f"{PLACE}/a.md": ""})))
    assert "has other content in kelp.gem: a.md" in said(check(tree, "kelp", "kelp.gem"))


def test_a_link_may_become_the_file_that_it_leads_to(tree: Project) -> None:
    (tree.root / "kelp" / PLACE / "latest.md").symlink_to("ref/a.md")
    (tree.root / "kelp" / PLACE / "again.md").symlink_to("latest.md")
    files = {**GEM, f"{PLACE}/latest.md": "a\n", f"{PLACE}/again.md": "a\n"}
    write(tree.root / "kelp.gem", gem(packed(files)))
    assert found(check(tree, "kelp", "kelp.gem")) == []
    write(tree.root / "kelp.gem", gem(packed({**files, f"{PLACE}/latest.md": "b\n"})))
    assert "has other content in kelp.gem: latest.md" in said(check(tree, "kelp", "kelp.gem"))
    (tree.root / "kelp" / PLACE / "latest.md").unlink()
    (tree.root / "kelp" / PLACE / "latest.md").symlink_to("nowhere")
    assert "has other content in kelp.gem: again.md, latest.md" in said(check(tree, "kelp", "kelp.gem"))


def test_a_skill_that_can_not_be_read_is_not_compared(tree: Project) -> None:
    (tree.root / "kelp/skills/kelp-linked").symlink_to("kelp-forms")
    write(tree.root / "kelp.gem", gem(packed({**GEM, "skills/kelp-linked/SKILL.md": skill("kelp-linked")})))
    assert found(check(tree, "kelp", "kelp.gem")) == [("error", "invalid-skill", "kelp", "skills/kelp-linked")]


def test_an_artifact_is_compared_with_the_tree_of_its_name(tmp_path: Path) -> None:
    project = Project(tmp_path / "all")
    for name in ("a", "b"):
        spec = GEMSPEC.replace("kelp", name)
        project.write({f"{name}/{name}.gemspec": spec, f"{name}/skills/{name}-x/SKILL.md": skill(f"{name}-x")})
    write(project.root / "b.gem", gem(packed({}), name="b"))
    write(project.root / "c.gem", gem(packed({"skills/c-x/SKILL.md": skill("c-x")}), name="c"))
    write(project.root / "broken.gem", b"")
    result = check(project, "a", "b", "b.gem", "c.gem")
    assert found(result) == [
        ("error", "skill-not-packaged", "b", "skills/b-x"),
        ("note", "not-compared", "c.gem", "."),
    ]
    # Another package's artifact is compared with nothing, as is what can't be read.
    write(project.root / "d.gem", gem(packed({}), name="d"))
    result = check(project, "a", "d.gem", "broken.gem")
    assert [one[1:3] for one in found(result)] == [
        ("no-skills", "d.gem"),
        ("not-compared", "d.gem"),
        ("archive-unreadable", "broken.gem"),
    ]
    assert "d.gem is compared with no tree: none that is named makes gem:d (name its tree, too)" in said(result)
    assert "; if it is meant to ship none, don't name it here" in said(result)
    # A tree whose name only a build knows is the artifact's, if there is one such tree.
    project.write({"a/a.gemspec": GEMSPEC.replace('"kelp"', "NAME")})
    result = check(project, "a", "c.gem")
    assert [one[1] for one in found(result)] == ["skill-not-packaged", "artifact-differs"]
    project.write({"b/b.gemspec": GEMSPEC.replace('"kelp"', "NAME")})
    result = check(project, "a", "b", "c.gem")
    assert (result.code, found(result)) == (0, [("note", "not-compared", "c.gem", ".")])
    assert "c.gem is compared with no tree: a and b make gem:c (name one of them)" in said(result)


def test_a_place_that_is_named_twice_is_one(tree: Project) -> None:
    write(tree.root / "kelp.gem", gem(packed({})))
    (tree.root / "linked").symlink_to("kelp")
    result = check(tree, "kelp", "./kelp", "linked", "kelp.gem", str(tree.root / "kelp.gem"))
    assert found(result) == [("error", "skill-not-packaged", "kelp", PLACE)]
    assert (result.json["checked"]["trees"], result.json["checked"]["artifacts"]) == (1, 1)
    assert [one["source"] for one in result.json["packages"]] == ["kelp", "kelp.gem"]


@pytest.mark.parametrize(
    ("version", "code"),
    [
        *((one, "skill-not-packaged") for one in ("1.2.0", "0.0.0", "0", "0.0.0.pre1")),
        *((one, "not-compared") for one in ("1.3.0", "0.1.0", "0.0.1", "0.0.0.1", "10.0")),
    ],
)
def test_an_artifact_of_another_version_is_an_older_release(tree: Project, version: str, code: str) -> None:
    tree.write({"kelp/kelp.gemspec": GEMSPEC.replace("1.2.0", version)})
    write(tree.root / "kelp.gem", gem(packed({**without(f"{PLACE}/ref/a.md")})))
    result = check(tree, "kelp", "kelp.gem")
    assert [one[1] for one in found(result)] == [code]
    if code == "not-compared":
        assert found(result)[0][0] == "warning"
        told = f"with no tree: it is 1.2.0, and the tree kelp {version} (build it again; or leave it out"
        assert told in said(result)


def test_a_directory_of_artifacts_is_all_that_are_in_it(tree: Project) -> None:
    tree.write({"dist/SHA256SUMS": "", "dist/deep/x.gem": "", "dist/dir.gem/a": ""})
    write(tree.root / "dist/kelp.gem", gem(packed(GEM)))
    write(tree.root / "dist/kelp-other.gem", gem(packed({"skills/other-x/SKILL.md": skill("other-x")}), name="other"))
    result = check(tree, "kelp", "dist")
    assert [one["source"] for one in result.json["packages"]] == ["kelp", "dist/kelp-other.gem", "dist/kelp.gem"]
    assert found(result) == [("note", "not-compared", "dist/kelp-other.gem", ".")]
    os.unlink(tree.root / "dist/kelp.gem")
    os.unlink(tree.root / "dist/kelp-other.gem")
    os.mkfifo(tree.root / "dist/kelp.gem")
    assert tree.run("check", "dist").code == 2


def test_a_skill_of_a_tree_with_two_gems_is_in_one_of_them(tree: Project) -> None:
    tree.write({"kelp/kelp-cli.gemspec": GEMSPEC.replace('"kelp"', '"kelp-cli"')})
    write(tree.root / "kelp.gem", gem(packed(GEM)))
    write(tree.root / "kelp-cli.gem", gem(packed({"bin/kelp": ""}), name="kelp-cli"))
    result = check(tree, "kelp", "kelp.gem", "kelp-cli.gem")
    assert (result.code, found(result)) == (0, [("note", "skill-not-packaged", "kelp", PLACE)])
    assert "kelp/skills/kelp-forms is not in kelp-cli.gem; it is in kelp.gem (if gem:kelp-cli is to" in said(result)
    assert [one["ok"] for row in result.json["packages"] for one in row["skills"]] == [True] * 3
    # Where no gem has it, it is missing in each.
    write(tree.root / "kelp.gem", gem(packed({})))
    assert [one[:2] for one in found(check(tree, "kelp", "kelp.gem", "kelp-cli.gem"))] == [
        ("error", "skill-not-packaged")
    ] * 2


def test_a_name_of_two_packages_is_told(tree: Project) -> None:
    files = {"a.gemspec": GEMSPEC.replace('"kelp"', '"kelp-a"'), f"{PLACE}/SKILL.md": skill("kelp-forms")}
    tree.write({f"more/{path}": text for path, text in files.items()})
    result = check(tree, "kelp", "more")
    assert (result.code, found(result)) == (0, [("warning", "duplicate-skill", "more", PLACE)])
    assert "more/skills/kelp-forms has the name of a skill of gem:kelp: kelp/skills/kelp-forms" in said(result)
    # What nobody can install takes nobody's name.
    tree.write({f"more/{PLACE}/SKILL.md": skill("other")})
    assert [one[1] for one in found(check(tree, "kelp", "more"))] == ["invalid-skill"]
    tree.write({f"more/{PLACE}/SKILL.md": skill("kelp-forms")})
    # Two gems of one tree share its files, and only their builds tell which of them ships the skill.
    tree.write({"kelp/a.gemspec": files["a.gemspec"]})
    assert found(check(tree, "kelp")) == []
    for name in ("kelp", "kelp-a"):
        write(tree.root / f"{name}.gem", gem(packed(GEM), name=name))
    assert found(check(tree, "kelp", "kelp-a.gem")) == []
    result = check(tree, "kelp", "kelp.gem", "kelp-a.gem")
    assert found(result) == [("warning", "duplicate-skill", "kelp-a.gem", PLACE)]
    assert "(keep it out of `files` in a.gemspec, or in kelp.gemspec: a project" in said(result)
    assert "(rename one: a project" in said(check(tree, "kelp.gem", "kelp-a.gem"))
    # An older release is of the same package, and another ecosystem's package is the same library.
    write(tree.root / "old.gem", gem(packed(GEM)))
    write(tree.root / "kelp.tgz", tarball({"package.json": '{"name": "@kelp/js", "version": "1.0.0"}', **GEM}))
    assert found(check(tree, "kelp.gem", "old.gem", "kelp.tgz")) == []


def test_a_skill_that_is_wrong_in_both_is_not_ok_in_both(tree: Project) -> None:
    bad = {f"{PLACE}/SKILL.md": skill("other")}
    tree.write({f"kelp/{path}": text for path, text in bad.items()})
    write(tree.root / "kelp.gem", gem(packed({**GEM, **bad})))
    result = check(tree, "kelp", "kelp.gem")
    assert len(found(result)) == 1
    assert [one["ok"] for row in result.json["packages"] for one in row["skills"]] == [False, False]
    text = tree.run("check", "kelp", "kelp.gem").out
    assert "failed: kelp/skills/kelp-forms (2 files, 1 error)" in text
    assert "failed: kelp.gem/skills/kelp-forms (2 files, 1 error as in its tree)" in text
    assert 'failures="2"' in tree.run("check", "kelp", "kelp.gem", "--format", "junit").out


def test_skills_of_one_name_are_compared_each_with_the_one_in_its_place(tmp_path: Path) -> None:
    places = ("skills/kelp-forms", ".agents/skills/kelp-forms")
    files = {f"{place}/SKILL.md": skill("kelp-forms", f"{place}\n") for place in places} | {f"{places[0]}/a.md": ""}
    package = '{"name": "kelp", "version": "1.0.0", "files": ["skills", ".agents"]}'
    project = Project(tmp_path / "all").write({**files, "package.json": package})
    double = ("error", "duplicate-skill", ".", places[0])
    for gone in ((), (places[0],), (places[1],)):
        kept = {path: text for path, text in files.items() if path.rpartition("/")[0] not in gone}
        write(project.root / "kelp.tgz", tarball({"package.json": package, **kept}))
        result = check(project, ".", "kelp.tgz")
        assert found(result) == [double, *(("error", "skill-not-packaged", ".", place) for place in gone)]
    del files[f"{places[0]}/a.md"]
    write(project.root / "kelp.tgz", tarball({"package.json": package, **files}))
    assert "skills/kelp-forms is in kelp.tgz without a.md" in said(check(project, ".", "kelp.tgz"))


PKG_INFO = "Metadata-Version: 2.1\nName: kelp\nVersion: 1.2.0\n"
HATCH = """[project]
name = "kelp"
version = "1.2.0"
[build-system]
build-backend = "hatchling.build"
[tool.hatch.build.targets.wheel.force-include]
"skills" = "kelp/.agents/skills"
"more/kelp-x" = "kelp/.agents/skills/kelp-x"
"more/kelp-y" = "kelp/.agents/skills/kelp-other"
"""


def test_what_a_setting_puts_elsewhere_is_where_the_wheel_has_it(tmp_path: Path) -> None:
    tree = {"pyproject.toml": HATCH, "kelp/__init__.py": "", "skills/kelp-forms/SKILL.md": skill("kelp-forms")}
    tree |= {"more/kelp-x/SKILL.md": skill("kelp-x"), "more/kelp-y/SKILL.md": skill("kelp-y")}
    project = Project(tmp_path / "all").write({f"kelp/{path}": text for path, text in tree.items()})
    place = "kelp/.agents/skills"
    files = {f"{place}/{name}/SKILL.md": skill(name) for name in ("kelp-forms", "kelp-x", "kelp-y")}
    write(project.root / WHEEL, zipped(wheel_files({"kelp/__init__.py": "", **files})))
    write(
        project.root / "kelp.tar.gz",
        tarball({**tree, "PKG-INFO": PKG_INFO}),
    )
    result = check(project, "kelp", WHEEL, "kelp.tar.gz")
    assert (result.code, [one for one in found(result) if one[0] != "note"]) == (0, [])
    assert [one["path"] for one in result.json["packages"][0]["skills"]] == [
        "more/kelp-x", "more/kelp-y", "skills/kelp-forms",
    ]  # fmt: skip
    write(project.root / WHEEL, zipped(wheel_files({"kelp/__init__.py": ""})))
    result = check(project, "kelp", WHEEL)
    assert ("error", "skill-not-packaged", "kelp", "skills/kelp-forms") in found(result)


def test_where_the_build_alone_knows_its_skills_the_artifact_tells(tmp_path: Path) -> None:
    tree = {"setup.py": "setup(name='kelp', cmdclass=MOVES)\n", "data/kelp-forms/SKILL.md": skill("kelp-forms")}
    project = Project(tmp_path / "all").write({f"kelp/{path}": text for path, text in tree.items()})
    assert [one[:2] for one in found(check(project, "kelp"))] == [("error", "no-skills"), ("note", "skill-elsewhere")]
    files = {"kelp/__init__.py": "", "kelp/skills/kelp-forms/SKILL.md": skill("kelp-forms")}
    write(project.root / WHEEL, zipped(wheel_files(files)))
    write(
        project.root / "kelp.tar.gz",
        tarball({**tree, "PKG-INFO": PKG_INFO}),
    )
    result = check(project, "kelp", WHEEL, "kelp.tar.gz")
    assert (result.code, found(result)) == (0, [("note", "skill-elsewhere", "kelp", "data")])


def test_a_script_that_lost_its_bit_in_the_build_is_a_note(tree: Project) -> None:
    script = f"{PLACE}/scripts/run"
    tree.write({f"kelp/{script}": "#!/bin/sh\n"})
    (tree.root / "kelp" / script).chmod(0o755)
    header = entry(script, size=10, mode=0o644)
    write(tree.root / "kelp.gem", gem(packed(GEM, (header, b"#!/bin/sh\n"))))
    result = check(tree, "kelp", "kelp.gem")
    assert (result.code, found(result)) == (0, [("note", "not-executable", "kelp", PLACE)])
    assert "no executable bit on scripts/run" in said(result)
    # Where the tree has none either, that is what is wrong.
    (tree.root / "kelp" / script).chmod(0o644)
    assert found(check(tree, "kelp", "kelp.gem")) == [("warning", "not-executable", "kelp", script)]


def test_packages_of_two_ecosystems_are_two(tree: Project) -> None:
    files = {path: text for path, text in PYTHON.items() if path.startswith("kelp")}
    write(tree.root / WHEEL, zipped(wheel_files(files)))
    assert found(check(tree, "kelp", WHEEL)) == [("note", "not-compared", WHEEL, ".")]


def test_a_wheel_has_below_its_package_what_the_tree_has_below_src(tmp_path: Path) -> None:
    project = Project(tmp_path / "all").write(
        {f"src/{path}": text for path, text in PYTHON.items() if path.startswith("kelp")}
    )
    project.write({"pyproject.toml": '[project]\nname = "kelp"\n'})
    files = {path: text for path, text in PYTHON.items() if path.startswith("kelp")}
    write(project.root / WHEEL, zipped(wheel_files(files)))
    assert (
        check(project, ".", WHEEL).code,
        found(check(project, ".", WHEEL)),
    ) == (0, [])
    write(project.root / WHEEL, zipped(wheel_files({"kelp/__init__.py": ""})))
    result = check(project, ".", WHEEL)
    assert 'package-data]: kelp = [".agents/skills/**/*"]' in said(result)


def test_a_build_backend_that_is_no_text_is_none(tmp_path: Path) -> None:
    (offer,) = read_tree(str(Project(tmp_path).write({"pyproject.toml": "[build-system]\nbuild-backend = 1\n"}).root))
    assert offer.identity.backend == ""


# By the real tools


@pytest.mark.parametrize(
    ("files", "code"), [('Dir["lib/**/*"]', 1), ('Dir["{lib,skills}/**/*"].select { |one| File.file?(one) }', 0)]
)
def test_a_gem_is_built_as_its_author_builds_it(tmp_path: Path, files: str, code: int) -> None:
    need("gem")
    project = Project(tmp_path / "all").write({**GEM, "kelp.gemspec": GEMSPEC.replace("FILES", files)})
    result = check(project, ".", "--build")
    assert result.code == code, result.out
    assert found(result) == ([("error", "skill-not-packaged", ".", PLACE)] if code else [])
    assert [one["source"] for one in result.json["packages"]] == [".", "kelp-1.2.0.gem"]
    os.rename(project.root / "kelp.gemspec", project.root / "-kelp.gemspec")  # no option
    assert check(project, ".", "--build").code == code


def test_a_gem_whose_files_git_lists_lacks_what_was_not_added(tmp_path: Path) -> None:
    need("gem", "git")
    files = "IO.popen(%w[git ls-files -z], &:read).split(%(\\0))"
    project = Project(tmp_path / "all").write({**GEM, "kelp.gemspec": GEMSPEC.replace("FILES", files)})
    environ = gems.ruby_environ(tmp_path / "home")
    gems.run(("git", "init", "--quiet"), project.root, environ)
    gems.run(("git", "add", "lib", "kelp.gemspec", f"{PLACE}/SKILL.md"), project.root, environ)
    result = check(project, ".", "--build")
    assert "is in kelp-1.2.0.gem without ref/a.md" in said(result)


@pytest.mark.parametrize(("files", "code"), [('["lib"]', 1), ('["lib", "skills"]', 0)])
def test_an_npm_package_is_packed_as_its_author_packs_it(tmp_path: Path, files: str, code: int) -> None:
    need("npm")
    package = f'{{"name": "@acme/kelp", "version": "1.0.0", "files": {files}}}'
    project = Project(tmp_path / "all").write({"package.json": package, f"{PLACE}/SKILL.md": skill("kelp-forms")})
    result = check(project, ".", "--build")
    assert result.code == code, result.out
    assert found(result) == ([("error", "skill-not-packaged", ".", PLACE)] if code else [])


def test_npm_leaves_links_out(tmp_path: Path) -> None:
    project = Project(tmp_path / "all").write(
        {"package.json": '{"name": "kelp", "version": "1.0.0"}', f"{PLACE}/SKILL.md": skill("kelp-forms")}
    )
    (project.root / PLACE / "link.md").symlink_to("SKILL.md")
    write(
        project.root / "kelp.tgz",
        tarball({path: (project.root / path).read_text() for path in ("package.json", f"{PLACE}/SKILL.md")}),
    )
    assert "npm leaves links out" in said(check(project, ".", "kelp.tgz"))


@pytest.fixture
def uv(monkeypatch: pytest.MonkeyPatch) -> str:
    found = need_python_tool("uv")
    monkeypatch.setenv("PATH", f"{Path(found).parent}:{os.environ['PATH']}")
    return found


@pytest.mark.usefixtures("uv")
def test_a_python_project_is_built_in_a_copy(tmp_path: Path) -> None:
    project = Project(tmp_path / "all").write(PYTHON)
    (project.root / ".venv").mkdir()
    (project.root / "env").mkdir()
    project.write({"env/pyvenv.cfg": ""})
    os.mkfifo(project.root / "fifo")
    before = os.listdir(project.root)
    result = project.run("check", ".", "--build", "--format", "json")
    assert [one["source"] for one in result.json["packages"]] == [
        ".", "kelp-1.0-py3-none-any.whl", "kelp-1.0.tar.gz",
    ]  # fmt: skip
    place = "kelp/.agents/skills/kelp-forms"
    assert found(result) == [("error", "skill-not-packaged", ".", place)]
    assert "is not in kelp-1.0-py3-none-any.whl" in said(result)
    assert os.listdir(project.root) == before


@pytest.mark.usefixtures("uv")
@pytest.mark.parametrize("is_unpacked", [False, True])
def test_a_python_project_is_built_as_from_a_clean_checkout(tmp_path: Path, is_unpacked: bool) -> None:  # noqa: FBT001
    start = "def build_sdist(directory, settings=None):\n"
    about = PYTHON["PKG-INFO"]
    asking = (
        f"    assert os.path.exists('kelp.egg-info') is {is_unpacked}\n    open('PKG-INFO', 'w').write({about!r})\n"
    )
    project = Project(tmp_path / "all").write({**PYTHON, "backend.py": BACKEND.replace(start, start + asking)})
    project.write({"kelp.egg-info/SOURCES.txt": "kelp/.agents/skills/kelp-forms/SKILL.md\n"})
    if not is_unpacked:
        (project.root / "PKG-INFO").unlink()
    assert check(project, ".", "--build").codes == ["skill-not-packaged"]


@pytest.mark.usefixtures("uv")
def test_what_a_build_makes_is_of_no_other_state(tmp_path: Path) -> None:
    place = "kelp/.agents/skills"
    made = {f"{place}/kelp-forms/SKILL.md": skill("kelp-forms", "Another.\n"), f"{place}/kelp-forms/more.md": ""}
    made[f"{place}/kelp-x/SKILL.md"] = skill("kelp-x")
    packing = "".join(f"            ({path!r}, {text!r}),\n" for path, text in made.items())
    start = '            ("kelp/__init__.py", ""),\n'
    files = {**PYTHON, "backend.py": BACKEND.replace(start, start + packing)}
    project = Project(tmp_path / "all").write(files)
    result = check(project, ".", "--build")
    wheel = "kelp-1.0-py3-none-any.whl"
    assert (result.code, found(result)) == (
        0,
        [
            ("warning", "artifact-differs", ".", f"{place}/kelp-forms"),
            ("note", "artifact-differs", ".", f"{place}/kelp-forms"),
            ("note", "artifact-differs", wheel, f"{place}/kelp-x"),
        ],
    )
    assert "build it again" not in said(result)
    installed = {path: text for path, text in files.items() if path.startswith("kelp/")}
    write(project.root / wheel, zipped(wheel_files(installed | made, version="1.0")))
    result = check(project, ".", wheel)
    assert (result.code, [one[0] for one in found(result)]) == (1, ["error", "warning", "warning"])
    assert said(result).count("build it again") == 3


@pytest.mark.usefixtures("uv")
def test_a_link_out_of_a_tree_leads_there_from_its_copy_too(tmp_path: Path) -> None:
    start = "def build_sdist(directory, settings=None):\n"
    asking = "    assert open('out.md').read() == open('in.md').read() == open('at.md').read() == 'a'\n"
    project = Project(tmp_path / "all").write({f"kelp/{path}": text for path, text in PYTHON.items()})
    project.write({"a.md": "a", "kelp/a.md": "a", "kelp/backend.py": BACKEND.replace(start, start + asking)})
    for name, target in (("out", "../a.md"), ("in", "a.md"), ("at", project.root / "a.md")):
        (project.root / f"kelp/{name}.md").symlink_to(target)
    assert check(project, "kelp", "--build").codes == ["skill-not-packaged"]


@pytest.mark.usefixtures("uv")
@pytest.mark.parametrize("target", ["../kelp/lib", "{root}/lib", "up/kelp/lib", "side/../kelp/lib"])
def test_a_build_writes_by_no_link_into_the_tree(tmp_path: Path, target: str) -> None:
    root = tmp_path / "all/kelp"
    start = "def build_sdist(directory, settings=None):\n"
    writing = "    assert os.path.exists('out/a.md')\n    open('out/b.md', 'w').close()\n"
    project = Project(tmp_path / "all").write({f"kelp/{path}": text for path, text in PYTHON.items()})
    project.write({"kelp/lib/a.md": "a", "side/a.md": "", "kelp/backend.py": BACKEND.replace(start, start + writing)})
    for name, end in (("out", target.format(root=root)), ("up", ".."), ("side", "../side")):
        (root / name).symlink_to(end)
    assert check(project, "kelp", "--build").codes == ["skill-not-packaged"]
    assert os.listdir(root / "lib") == ["a.md"]


@pytest.mark.usefixtures("uv")
def test_an_environment_that_is_in_the_repository_is_built_from(tmp_path: Path) -> None:
    need("git")
    start = "def build_sdist(directory, settings=None):\n"
    asking = "    assert (os.path.exists('fixtures/.venv/pyvenv.cfg'), os.path.exists('.venv')) == (True, False)\n"
    files = {**PYTHON, "backend.py": BACKEND.replace(start, start + asking), ".gitignore": ".venv\n"}
    project = Project(tmp_path / "all").write({**files, "fixtures/.venv/pyvenv.cfg": "", ".venv/pyvenv.cfg": ""})
    environ = gems.ruby_environ(tmp_path / "home")
    for command in (("init", "--quiet"), ("add", "."), ("add", "--force", "fixtures/.venv")):
        gems.run(("git", *command), project.root, environ)
    assert check(project, ".", "--build").codes == ["skill-not-packaged"]


@pytest.mark.usefixtures("uv")
@pytest.mark.parametrize("kind", ["directory", "file"])
def test_a_build_may_ask_git_of_a_repository_that_is_above(tmp_path: Path, kind: str) -> None:
    need("git")
    project = Project(tmp_path / "repo").write({f"packages/kelp/{path}": text for path, text in PYTHON.items()})
    start = "def build_sdist(directory, settings=None):\n"
    asking = "    import subprocess\n    subprocess.run(['git', 'describe', '--tags'], check=True)\n"
    asking += "    assert os.path.exists('../../README')\n"
    project.write({"packages/kelp/backend.py": BACKEND.replace(start, start + asking), "README": ""})
    environ = gems.ruby_environ(tmp_path / "home")
    where = ("--separate-git-dir", "../elsewhere") if kind == "file" else ()
    for command in (("init", "--quiet", *where), ("add", "."), ("commit", "-qm", "x"), ("tag", "v1")):
        gems.run(("git", *command), project.root, environ)
    result = check(project, "packages/kelp", "--build")
    assert result.codes == ["skill-not-packaged"], result.out


@pytest.mark.usefixtures("uv")
@pytest.mark.parametrize(
    ("backend", "settings", "code"),
    [
        ("setuptools", "", 1),
        ("setuptools", '[tool.setuptools.package-data]\n"kelp" = [".agents/skills/**/*"]\n', 0),
        ("hatchling", "", 0),
    ],
)
def test_published_build_backends(tmp_path: Path, backend: str, settings: str, code: int) -> None:
    need_network()
    module = {"setuptools": "setuptools.build_meta", "hatchling": "hatchling.build"}[backend]
    text = f'[project]\nname = "kelp"\nversion = "1.0"\n[build-system]\nrequires = ["{backend}"]\n'
    files = {path: one for path, one in PYTHON.items() if path.startswith("kelp/")}
    files["kelp.egg-info/SOURCES.txt"] = "\n".join(files)  # of a former build
    project = Project(tmp_path / "all").write(
        {**files, "pyproject.toml": f'{text}build-backend = "{module}"\n{settings}'}
    )
    result = check(project, ".", "--build")
    assert result.code == code, result.out
    if code:
        assert (
            "hint: in pyproject.toml, [tool.setuptools.package-data]: kelp" in project.run("check", ".", "--build").err
        )


@pytest.mark.usefixtures("uv")
def test_hatchling_puts_skills_where_its_settings_say(tmp_path: Path) -> None:
    need_network()
    settings = HATCH.replace("[build-system]", '[build-system]\nrequires = ["hatchling"]').partition('"more/kelp-x')[0]
    files = {"pyproject.toml": settings, "kelp/__init__.py": "", "skills/kelp-forms/SKILL.md": skill("kelp-forms")}
    project = Project(tmp_path / "all").write(files)
    result = check(project, ".", "--build")
    assert (result.code, found(result)) == (0, [])
    assert [one["skills"][0]["path"] for one in result.json["packages"]] == [
        "skills/kelp-forms", "kelp/.agents/skills/kelp-forms", "skills/kelp-forms",
    ]  # fmt: skip


@pytest.mark.usefixtures("uv")
def test_a_repository_that_is_no_directory_and_no_file_is_not_waited_for(tmp_path: Path) -> None:
    project = Project(tmp_path / "all").write(PYTHON)
    os.mkfifo(project.root / ".git")
    result = check(project, ".", "--build")
    assert (result.code, result.codes) == (4, ["io"])
    assert f"{project.root}/.git: it is not a regular file" in said(result)


def test_a_build_that_fails_shows_what_it_printed(tmp_path: Path) -> None:
    need("gem")
    project = Project(tmp_path / "all").write({**GEM, "kelp.gemspec": 'raise "not \x1b[31m today"\n'})
    result = check(project, ".", "--build")
    assert (result.code, found(result)) == (1, [("error", "build-failed", ".", "kelp.gemspec")])
    assert "kelp.gemspec makes no package: gem build failed with exit code 1: Invalid gemspec in " in said(result)
    text = project.run("check", ".", "--build").out
    assert "not \\x1b[31m today" in text
    assert all(line.startswith(("  | ", "failed: ", "read ", "ok: ")) for line in text.splitlines())


def _backend(text: str) -> Files:
    """Return a Python project whose backend does this for a source distribution."""
    return {**PYTHON, "backend.py": f"import sys\ndef build_sdist(directory, settings=None):\n    {text}\n"}


def _scripted(script: str) -> Files:
    package = f'{{"name": "kelp", "version": "1.2.0", "scripts": {{"prepare": "{script}"}}}}'
    return {"package.json": package, f"{PLACE}/SKILL.md": skill("kelp-forms")}


@pytest.mark.parametrize(
    ("tool", "files", "why"),
    [
        (
            "uv",
            _backend("raise ValueError('no version\\nat all')"),
            "uv build failed with exit code 2: ValueError: no version",
        ),
        ("uv", _backend("open('absent')"), "FileNotFoundError: [Errno 2] No such file or directory: 'absent'"),
        ("uv", _backend("sys.exit('set KELP first')"), "uv build failed with exit code 2: set KELP first"),
        ("uv", {**PYTHON, "backend.py": "def f(:\n"}, "SyntaxError: invalid syntax"),
        ("uv", {**PYTHON, "backend.py": "import absent\n"}, "ModuleNotFoundError: No module named 'absent'"),
        ("uv", {**PYTHON, "pyproject.toml": PYTHON["pyproject.toml"].replace('"1.0"', "1")}, "expected a string"),
        (
            "gem",
            {**GEM, "kelp.gemspec": "require 'absent'\n"},
            "Invalid gemspec in [kelp.gemspec]: cannot load such file",
        ),
        (
            "gem",
            {**GEM, "kelp.gemspec": "Gem::Specification.new do |s|\n"},
            "[kelp.gemspec]: kelp.gemspec:1: syntax error",
        ),
        ("gem", {**GEM, "kelp.gemspec": GEMSPEC.replace("FILES", '["absent.rb"]')}, '1: ["absent.rb"] are not files'),
        ("npm", _scripted("echo not today >&2; exit 3"), "npm pack failed with exit code 3: not today"),
        ("npm", _scripted("node -e 'throw new TypeError(1 + 2)'"), "npm pack failed with exit code 1: TypeError: 3"),
    ],
)
@pytest.mark.usefixtures("uv")
def test_a_build_that_fails_is_said_to_fail_for_its_cause(tmp_path: Path, tool: str, files: Files, why: str) -> None:
    need(tool)
    result = check(Project(tmp_path / "all").write(files), ".", "--build")
    assert (result.code, result.codes[-1]) == (1, "build-failed")
    assert why in said(result)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("\n", ""),
        (
            (
                "OSError: Readme file does not exist: README.md\n\nTIP pass --env-dir to keep the build environment\n"
                "ERROR Backend subprocess exited when trying to invoke build_sdist\n"
            ),
            "OSError: Readme file does not exist: README.md",
        ),
        (
            (
                "error: Multiple top-level packages discovered in a flat-layout: ['kelp', 'other'].\n\n"
                'To find more information, look for "package discovery" on setuptools docs.\n'
            ),
            "error: Multiple top-level packages discovered in a flat-layout: ['kelp', 'other'].",
        ),
        (
            (
                "ERROR: No matching distribution found for absent\n"
                "subprocess.CalledProcessError: Command '['pip']' returned non-zero exit status 1.\n\n"
                "ERROR Command '['pip']' returned non-zero exit status 1.\n"
            ),
            "ERROR: No matching distribution found for absent",
        ),
        (
            (
                "error: Failed to build `/kelp`\n  cause: Failed to resolve requirements from `build-system.requires`\n"
                "  cause: Because absent was not found, your requirements are unsatisfiable.\n"
            ),
            "Because absent was not found, your requirements are unsatisfiable.",
        ),
        ("npm error code EUSAGE\nnpm error Invalid version\nnpm error A complete log\nnpm notice\n", "Invalid version"),
    ],
)
def test_the_cause_is_not_the_last_words_of_a_tool(output: str, why: str) -> None:
    assert cause(output) == why


@pytest.mark.usefixtures("uv")
def test_a_setup_cfg_alone_is_told_what_it_lacks(tmp_path: Path) -> None:
    need_network()
    config = "[metadata]\nname = kelp\nversion = 1.0\n[options]\npackages = kelp\n"
    files = {path: one for path, one in PYTHON.items() if path.startswith("kelp/")}
    project = Project(tmp_path / "all").write({**files, "setup.cfg": config})
    result = check(project, ".", "--build")
    assert (result.code, result.codes) == (1, ["build-failed"])
    assert "setup.cfg makes no package" in said(result)
    added = result.json["problems"][0]["hint"].split("`")[1::2]
    assert [line.partition(" ")[0] for line in added] == ["[build-system]", "requires", "build-backend"]
    project.write({"pyproject.toml": "\n".join(added)})
    assert set(check(project, ".", "--build").codes) == {"skill-not-packaged"}


def test_a_build_that_makes_nothing_is_an_error(tmp_path: Path) -> None:
    need("npm")
    files = {".npmrc": "dry-run=true\n", "package.json": '{"name": "kelp", "version": "1.2.0"}'}
    project = Project(tmp_path / "all").write({**files, f"{PLACE}/SKILL.md": skill("kelp-forms")})
    result = project.run("check", ".", "--build", "--format", "json")
    assert (result.code, result.codes) == (1, ["build-failed"])
    assert "package.json makes no package: npm pack made no artifact" in said(result)


def test_a_build_may_print_much_and_leave_something_running(tmp_path: Path) -> None:
    need("gem")
    # What still runs has the output of the build, and ends by itself.
    script = 'spawn("sleep", "600", pgroup: true).then { |pid| File.write(ENV["KELP_PID"], pid.to_s) }\n'
    script += '300.times { puts "kelp " * 200 }\nraise "at last"\n'
    project = Project(tmp_path / "all").write({**GEM, "kelp.gemspec": script})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KELP_PID", str(tmp_path / "pid"))
        result = project.run("check", ".", "--build")
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert (result.code, "at last" in result.out) == (1, True)


@pytest.mark.parametrize(
    ("files", "tools", "hint"),
    [
        (GEM, (), "install Ruby, or leave out --build"),
        ({"package.json": '{"name": "kelp"}', f"{PLACE}/SKILL.md": skill("kelp-forms")}, (), "install Node.js"),
        (PYTHON, (), "install uv, or build"),
        (PYTHON, ("python3",), "install uv, or build"),
    ],
)
def test_a_tool_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: Files, tools: tuple[str, ...], hint: str
) -> None:
    project = Project(tmp_path / "all").write(files)
    (tmp_path / "bin").mkdir()
    for tool in tools:  # a Python without `build`
        (tmp_path / "bin" / tool).write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
        (tmp_path / "bin" / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    result = check(project, ".", "--build")
    assert (result.code, result.codes) == (3, ["tool-not-found"])
    assert hint in result.json["problems"][0]["hint"]
    assert result.json["checked"] == {"trees": 1, "artifacts": 0, "skills": 1, "files": 2 if files is GEM else 1}


def test_python_s_own_build_is_taken_where_there_is_no_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uv = need_python_tool("uv")
    project = Project(tmp_path / "all").write(PYTHON)
    (tmp_path / "bin").mkdir()
    script = (
        f'#!/bin/sh\n[ "$1$2" = -mbuild ] || exit 9\n[ "$3" = --version ] && exit\nexec {uv} build --out-dir "$4"\n'
    )
    (tmp_path / "bin/python3").write_text(script)
    (tmp_path / "bin/python3").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    assert subprocess.run(("which", "uv"), capture_output=True, check=False).returncode
    result = project.run("check", ".", "--build", "--format", "json")
    assert result.json["checked"]["artifacts"] == 2


def test_only_trees_are_built(tree: Project) -> None:
    write(tree.root / "kelp.gem", gem(packed(GEM)))
    result = check(tree, "kelp.gem", "--build")
    assert (result.code, result.codes) == (2, ["usage"])
