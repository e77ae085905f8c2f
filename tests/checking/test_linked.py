"""Links in a source tree: some builds put what they lead to in their places, and consumers get that."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from artifacts import WHEEL, entry, gem, packed, tarball, wheel_files, write, zipped
from projects import Project, Result, skill
from tools import need_network, need_python_tool

PLACE = "kelp/skills/kelp-forms"
FILES = {
    "pyproject.toml": '[project]\nname = "kelp"\nversion = "1.2.0"\n',
    "kelp/__init__.py": "",
    f"{PLACE}/SKILL.md": skill("kelp-forms"),
}
OUT = "../../../docs/a.md"


def lay(root: Path, *links: tuple[str, str]) -> Project:
    """Write a Python project, `links` in the place of what is there."""
    project = Project(root / "all").write({f"kelp/{path}": text for path, text in FILES.items()})
    project.write({"kelp/docs/a.md": "a\n", "kelp/docs/kelp-forms/SKILL.md": skill("kelp-forms")})
    for path, target in links:
        link = project.root / "kelp" / path
        if link.is_dir():
            shutil.rmtree(link)
        else:
            link.unlink(missing_ok=True)
        link.symlink_to(target)
    return project


def check(project: Project, *arguments: str) -> Result:
    return project.run("check", *arguments, "--format", "json")


def found(result: Result) -> list[str]:
    return [f"{one['severity']} {one['code']} {one['path']}" for one in result.json["problems"]]


def wheel(project: Project, **more: str) -> None:
    files = {path: text for path, text in FILES.items() if path.startswith("kelp/")}
    write(project.root / WHEEL, zipped(wheel_files(files | more)))


def test_a_link_out_of_a_skill_may_become_a_file_in_a_wheel(tmp_path: Path) -> None:
    project = lay(tmp_path, (f"{PLACE}/a.md", OUT))
    result = check(project, "kelp")
    assert (result.code, found(result)) == (0, [f"warning unsafe-skill {PLACE}/a.md"])
    assert "see by --build" in result.json["problems"][0]["hint"]
    wheel(project, **{f"{PLACE}/a.md": "a\n"})
    assert found(check(project, "kelp", WHEEL)) == []
    wheel(project)
    result = check(project, "kelp", WHEEL)
    assert found(result) == [f"warning unsafe-skill {PLACE}/a.md", f"error skill-not-packaged {PLACE}"]
    assert result.json["problems"][1]["hint"] == "the build leaves links out: put files in their place"


def test_a_source_distribution_may_hold_the_link(tmp_path: Path) -> None:
    project = lay(tmp_path, (f"{PLACE}/a.md", OUT))
    link = entry(f"kelp-1.2.0/{PLACE}/a.md", b"2", linkname=OUT)
    about = {"PKG-INFO": "Metadata-Version: 2.1\nName: kelp\nVersion: 1.2.0\n", "docs/a.md": "a\n"}
    write(project.root / "kelp-1.2.0.tar.gz", tarball(FILES | about, (link, b""), top="kelp-1.2.0/"))
    assert found(check(project, "kelp-1.2.0.tar.gz")) == [f"warning unsafe-skill {PLACE}/a.md"]
    wheel(project, **{f"{PLACE}/a.md": "a\n"})
    result = project.run("check", "kelp", WHEEL, "kelp-1.2.0.tar.gz")
    assert (result.code, result.err) == (0, "")
    assert f"ok: kelp-1.2.0.tar.gz/{PLACE} (2 files)\n" in result.out


def test_a_link_to_a_directory_may_become_one(tmp_path: Path) -> None:
    project = lay(tmp_path, (f"{PLACE}/ref", "../../../docs"))
    wheel(project, **{f"{PLACE}/ref/a.md": "a\n"})
    assert found(check(project, "kelp", WHEEL)) == []


@pytest.mark.parametrize(
    ("link", "target", "problem"),
    [
        (f"{PLACE}/SKILL.md", "../../../docs/kelp-forms/SKILL.md", f"error invalid-skill {PLACE}/SKILL.md"),
        (PLACE, "../../docs/kelp-forms", f"error invalid-skill {PLACE}"),
        ("kelp/skills", "../docs", "error unsafe-skill kelp/skills"),
    ],
)
def test_a_skill_behind_a_link_is_that_of_the_wheel(tmp_path: Path, link: str, target: str, problem: str) -> None:
    project = lay(tmp_path, (link, target))
    backend = '[build-system]\nbuild-backend = "hatchling.build"\n'  # setuptools is known to follow some of them
    project.write({"kelp/pyproject.toml": FILES["pyproject.toml"] + backend})
    alone = check(project, "kelp")
    assert (alone.code, problem in found(alone)) == (1, True)
    wheel(project)
    assert found(check(project, "kelp", WHEEL)) == []
    write(project.root / WHEEL, zipped(wheel_files({"kelp/__init__.py": ""})))
    hints = [one["hint"] for one in check(project, "kelp", WHEEL).json["problems"] if "packaged" in one["code"]]
    assert hints == (["the build leaves links out: put the skill itself in its place"] if link != "kelp/skills" else [])
    wheel(project, **{f"{PLACE}/SKILL.md": "no frontmatter\n"})
    assert f"error invalid-skill {PLACE}/SKILL.md" in found(check(project, "kelp", WHEEL))


@pytest.mark.parametrize("link", ["kelp/skills", ""])
def test_where_the_tree_has_none_each_wheel_is_to_have_skills(tmp_path: Path, link: str) -> None:
    project = lay(tmp_path, *([(link, "../elsewhere")] if link else []))
    if not link:
        shutil.rmtree(project.root / "kelp/kelp/skills")
    wheel(project)
    other = WHEEL.replace("any", "linux_x86_64")
    write(project.root / other, zipped(wheel_files({"kelp/__init__.py": ""})))
    result = check(project, "kelp", WHEEL, other)
    assert result.code == 1
    assert [one["source"] for one in result.json["problems"] if one["severity"] == "error"] == [other]


def test_a_gem_holds_links_as_they_are(tmp_path: Path) -> None:
    spec = 'Gem::Specification.new do |s|\n  s.name = "kelp"\n  s.version = "1.2.0"\nend\n'
    files = {"skills/kelp-forms/SKILL.md": skill("kelp-forms")}
    project = Project(tmp_path).write({f"kelp/{path}": text for path, text in {**files, "kelp.gemspec": spec}.items()})
    (project.root / "kelp/skills/kelp-forms/a.md").symlink_to("../../a.md")
    write(project.root / "kelp.gem", gem(packed({**files, "skills/kelp-forms/a.md": "a\n"})))
    assert found(check(project, "kelp", "kelp.gem")) == [
        "error unsafe-skill skills/kelp-forms/a.md",
        "error artifact-differs skills/kelp-forms",
    ]


@pytest.mark.parametrize(
    ("backend", "settings", "codes"),
    [
        ("setuptools", '[tool.setuptools.package-data]\nkelp = ["skills/**/*"]\n', []),
        ("hatchling", "", []),
        ("uv_build", '[tool.uv.build-backend]\nmodule-root = ""\n', []),
        ("poetry-core", "", ["unsafe-skill", "skill-not-packaged", "skill-not-packaged"]),
        ("pdm-backend", "", ["unsafe-skill", "skill-not-packaged"]),
    ],
)
def test_what_published_build_backends_make_of_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, settings: str, codes: list[str]
) -> None:
    need_network()
    monkeypatch.setenv("PATH", str(Path(need_python_tool("uv")).parent), prepend=":")
    modules = {"setuptools": "setuptools.build_meta", "hatchling": "hatchling.build", "pdm-backend": "pdm.backend"}
    module = {**modules, "uv_build": "uv_build", "poetry-core": "poetry.core.masonry.api"}[backend]
    project = lay(tmp_path, (f"{PLACE}/a.md", OUT))
    packages = '[tool.setuptools]\npackages = ["kelp"]\n' if backend == "setuptools" else ""
    system = f'[build-system]\nrequires = ["{backend}"]\nbuild-backend = "{module}"\n{packages}{settings}'
    project.write({"kelp/pyproject.toml": FILES["pyproject.toml"] + system})
    assert check(project, "kelp", "--build").codes == codes
