"""What makes a build take skills in, held by builds: each hint is done as it says, and what is built then has all."""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from typing import TYPE_CHECKING

import gems
import pytest
from projects import Project, skill
from tools import need, need_network, need_python_tool

from skillsync.checking.packaging import mend
from skillsync.checking.tree import read_tree

if TYPE_CHECKING:
    from pathlib import Path

    from projects import Result

    Files = dict[str, str]

SKILL = {
    "skills/kelp-forms/SKILL.md": skill("kelp-forms"),
    "skills/kelp-forms/ref/a.txt": "a\n",
    "skills/kelp-forms/.hidden": "",
    "skills/kelp-forms/.more/.deep/a": "",
}
CODE = {"__init__.py": "", "code.py": ""}
BACKENDS = {
    "setuptools": "setuptools.build_meta",
    "hatchling": "hatchling.build",
    "poetry-core": "poetry.core.masonry.api",
    "pdm-backend": "pdm.backend",
    "flit-core": "flit_core.buildapi",
    "uv_build": "uv_build",
}
PROJECT = '[project]\nname = "kelp"\nversion = "1.0"\ndescription = "For tests"\n'


def below(directory: str, *files: Files) -> Files:
    return {f"{directory}/{path}": text for one in files for path, text in one.items()}


def build_system(backend: str) -> str:
    return f'[build-system]\nrequires = ["{backend}"]\nbuild-backend = "{BACKENDS[backend]}"\n'


def pyproject(backend: str, settings: str = "") -> Files:
    return {"pyproject.toml": f"{PROJECT}{build_system(backend)}{settings}"}


def do(project: Project, hint: str) -> None:
    """Do what a hint says of a file with a setting on each line, as a person does it."""
    file, _, rest = hint.removeprefix("in ").partition(", ")
    text = (project.root / file).read_text() if (project.root / file).exists() else ""
    rest = rest.removesuffix(", with every other import package of the tree")
    for said in re.split(r" and (?=add |in the |\[)", rest):
        text = done(text, said)
    project.write({file: text})


def done(text: str, said: str) -> str:
    """Return the text of a file after one thing that a hint says."""
    if found := re.fullmatch(r"(?:in package_data of setup\(\), )?add (.*) to the list of (\S+)", said):
        return text.replace(f"{found[2]}: [", f"{found[2]}: [{found[1]}, ")
    if found := re.fullmatch(r"add to the call of setup\(\): (.*)", said):
        return text.replace("setup(", f"setup({found[1]}, ")
    if found := re.fullmatch(r"add (.*) to (a new list )?`(.*)` of (\[.*\])", said):
        start, _, table = text.partition(f"\n{found[4]}\n")
        row = f"{found[3]} = ["
        assert (row in table) == (not found[2])
        table = table if row in table else f"{row}]\n{table}"
        return f"{start}\n{found[4]}\n" + table.replace(row, f"{row}{found[1]}, ", 1)
    if found := re.fullmatch(r"add to `(.*)` of (\[.*\]), (as lines|after commas): (.*)", said):
        start, header, table = text.partition(f"\n{found[2]}\n{found[1]} =")
        line, end, more = table.partition("\n")
        values = found[4].split(", ")
        added = line + end + "".join(f"  {one}\n" for one in values) if found[3] == "as lines" else ""
        return start + header + (added or ", ".join([line, *values]) + end) + more
    if found := re.fullmatch(r"take what matches .* out of (.*) of (\[.*\])", said):
        for key in found[1].split(" and "):
            text = re.sub(rf"\n{key.strip('`')} = \[.*\]", "", text)
        return text
    found = re.fullmatch(r"(in the )?(\[\S+\])(?: that is there)?: (.*)", said)
    assert found is not None, said
    header, rows = f"\n{found[2]}\n", found[3].replace("; ", "\n")
    assert (header in text) == bool(found[1])
    return text.replace(header, f"{header}{rows}\n") if found[1] else f"{text}{header}{rows}\n"


def built(uv: str, project: Project, out: Path) -> Result:
    """Build a project, and check it with what came of it."""
    subprocess.run((uv, "build", "--quiet", "--out-dir", out), cwd=project.root, check=True)
    return project.run("check", ".", *map(str, sorted(out.glob("kelp*"))), "--format", "json")


FLAT = below("kelp", CODE, SKILL)
INNER = below("src/kelp", CODE, SKILL)
IGNORED = {".gitignore": "skills\n"}
DATA = "[tool.setuptools.package-data]\n"
WHEEL = "[tool.hatch.build.targets.wheel]\n"
SOURCE = "[tool.hatch.build.targets.sdist]\n"
CONFIG = {
    "pyproject.toml": build_system("setuptools"),
    "setup.cfg": "[metadata]\nname = kelp\nversion = 1.0\n[options]\npackages = kelp\n",
}
SCRIPT = "from setuptools import setup\nsetup(name='kelp', version='1.0', packages=['kelp'])\n"
LISTED = SCRIPT.replace(")\n", ', package_data={"kelp": ["*.txt"]})\n')
MOVED = "[tool.setuptools]\npackages = ['kelp']\npackage-dir = {kelp = 'source/code'}\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(FLAT | pyproject("setuptools"), f"in pyproject.toml, {DATA.strip()}: kelp = [", id="setuptools"),
        pytest.param(
            INNER | below("src/kelp/.agents/skills", {"kelp-x/SKILL.md": skill("kelp-x")}) | pyproject("setuptools"),
            'kelp = [".agents/skills/**/*", "skills/**/*", "skills/kelp-forms/.hidden"',
            id="setuptools, two places",
        ),
        pytest.param(
            FLAT | {f"kelp/skills/kelp-forms/.{one}/.{one}/{one}": "" for one in "abcdefg"} | pyproject("setuptools"),
            '"skills/**/.*", "skills/**/.*/**/.*/**/*"]',
            id="setuptools, many dots",
        ),
        pytest.param(
            FLAT | pyproject("setuptools", f'{DATA}kelp = ["*.txt"]\n'), "to `kelp` of [", id="setuptools, list"
        ),
        pytest.param(FLAT | pyproject("setuptools", f'{DATA}other = ["*"]\n'), "in the [", id="setuptools, table"),
        pytest.param(
            below("source/code", CODE, SKILL) | pyproject("setuptools", MOVED), ": kelp = [", id="setuptools, moved"
        ),
        pytest.param(FLAT | CONFIG, "in setup.cfg, [options.package_data]: kelp = skills/**/*, ", id="setup.cfg"),
        pytest.param(
            FLAT | CONFIG | {"setup.cfg": CONFIG["setup.cfg"] + "[options.package_data]\nkelp = *.txt\n"},
            "after commas: ",
            id="setup.cfg, list",
        ),
        pytest.param(
            FLAT | CONFIG | {"setup.cfg": CONFIG["setup.cfg"] + "[options.package_data]\nkelp =\n  *.txt\n"},
            "as lines: ",
            id="setup.cfg, lines",
        ),
        pytest.param(
            FLAT | CONFIG | {"setup.cfg": CONFIG["setup.cfg"] + "[options.package_data]\nother = *.txt\n"},
            "in the [options.package_data] that is there: kelp = ",
            id="setup.cfg, table",
        ),
        pytest.param(
            FLAT | pyproject("setuptools") | {"setup.cfg": "\n[options.package_data]\nkelp = *.txt\n"},
            "in setup.cfg, add to `kelp`",
            id="setup.cfg beside [project]",
        ),
        pytest.param(FLAT | {"pyproject.toml": build_system("setuptools")}, "in setup.cfg, [", id="no metadata"),
        pytest.param(
            FLAT | {"setup.py": SCRIPT}, "in setup.py, add to the call of setup(): package_data={", id="setup.py"
        ),
        pytest.param(FLAT | {"setup.py": LISTED}, 'to the list of "kelp"', id="setup.py, list"),
        pytest.param(
            FLAT | {"setup.py": LISTED, "setup.cfg": "[metadata]\ndescription = x\n"},
            "in setup.py, ",
            id="setup.py and cfg",
        ),
        pytest.param(
            FLAT | IGNORED | pyproject("hatchling"), "[tool.hatch.build]: artifacts = [", id="hatchling, ignored"
        ),
        pytest.param(
            FLAT | IGNORED | pyproject("hatchling", '[tool.hatch.build]\nartifacts = ["/x"]\n'),
            "to `artifacts` of",
            id="hatchling, list",
        ),
        pytest.param(
            FLAT | pyproject("hatchling", f'{WHEEL}exclude = ["skills"]\n'), "artifacts = ", id="hatchling, excluded"
        ),
        pytest.param(
            FLAT | IGNORED | pyproject("hatchling", f'{WHEEL}artifacts = ["/x"]\n'),
            f'"/kelp/skills/**" to `artifacts` of {WHEEL.strip()}',
            id="hatchling, wheel's artifacts",
        ),
        pytest.param(
            FLAT | IGNORED | pyproject("hatchling", f'{WHEEL}artifacts = ["/x"]\n{SOURCE}artifacts = ["/x"]\n'),
            f'in pyproject.toml, add "/kelp/skills/**" to `artifacts` of {SOURCE.strip()} and add "/kelp',
            id="hatchling, both artifacts",
        ),
        pytest.param(
            FLAT | pyproject("hatchling", f'{WHEEL}include = ["*.py"]\n'), "artifacts = ", id="hatchling, included"
        ),
        pytest.param(
            FLAT | pyproject("hatchling", f'{WHEEL}only-include = ["kelp/__init__.py", "kelp/code.py"]\n'),
            f'add "kelp/skills" to `only-include` of {WHEEL.strip()}',
            id="hatchling, wheel's only-include",
        ),
        pytest.param(
            INNER | pyproject("hatchling", f'{SOURCE}only-include = ["src/kelp/__init__.py", "src/kelp/code.py"]\n'),
            f'add "src/kelp/skills" to `only-include` of {SOURCE.strip()}',
            id="hatchling, sdist's only-include",
        ),
        pytest.param(
            FLAT | IGNORED | pyproject("hatchling", f'{WHEEL}only-include = ["kelp"]\n'),
            "artifacts = ",
            id="hatchling, both",
        ),
        pytest.param(
            below("src/more", CODE, SKILL)
            | below("src/kelp", CODE)
            | pyproject("hatchling", f'{WHEEL}packages = ["src/kelp"]\n'),
            'add "src/more" to `packages` of',
            id="hatchling, packages",
        ),
        pytest.param(FLAT | IGNORED | pyproject("poetry-core"), "[tool.poetry]: include = [", id="poetry"),
        pytest.param(
            INNER | IGNORED | pyproject("poetry-core", '[tool.poetry]\ninclude = [{ path = "x" }]\n'),
            "to `include` of [tool.poetry]",
            id="poetry, list",
        ),
        pytest.param(
            FLAT | pyproject("poetry-core", '[tool.poetry]\nexclude = ["**/*.txt"]\n'),
            'add { path = "kelp/skills/kelp-forms/ref/a.txt", format = ["sdist", "wheel"] } to a new list `include` of',
            id="poetry, one file",
        ),
        pytest.param(
            INNER | pyproject("pdm-backend", '[tool.pdm.build]\nincludes = ["src/kelp/*.py"]\n'),
            'add "src/kelp/skills" to `includes` of [tool.pdm.build]',
            id="pdm, included",
        ),
        pytest.param(
            FLAT | pyproject("pdm-backend", '[tool.pdm.build]\nincludes = ["kelp"]\nexcludes = ["**/*.md"]\n'),
            'take what matches "kelp/skills" out of `excludes` of [tool.pdm.build]',
            id="pdm, excluded",
        ),
        pytest.param(
            FLAT | pyproject("pdm-backend", '[tool.pdm.build]\nsource-includes = ["kelp/skills"]\n'),
            "out of `source-includes`",
            id="pdm, source alone",
        ),
        pytest.param(
            below("src/kelp", CODE) | below("src/ns/more", CODE, SKILL) | pyproject("pdm-backend"),
            'in pyproject.toml, [tool.pdm.build]: includes = ["src"]',
            id="pdm, namespace below src",
        ),
        pytest.param(
            below("kelp/more", CODE, SKILL) | below("kelp", {"code.py": ""}) | pyproject("pdm-backend"),
            '[tool.pdm.build]: includes = ["kelp"], with every other import package of the tree',
            id="pdm, namespace",
        ),
        pytest.param(
            FLAT | pyproject("flit-core", '[tool.flit.sdist]\nexclude = ["kelp/skills/"]\n'),
            'take what matches "kelp/skills" out of `exclude` of [tool.flit.sdist]',
            id="flit",
        ),
        pytest.param(
            INNER
            | pyproject(
                "uv_build", '[tool.uv.build-backend]\nsource-exclude = ["skills"]\nwheel-exclude = ["skills"]\n'
            ),
            "out of `source-exclude` and `wheel-exclude` of [tool.uv.build-backend]",
            id="uv_build",
        ),
    ],
)
def test_a_python_build_takes_all_in_after_its_hint(tmp_path: Path, files: Files, expected: str) -> None:
    need_network()
    uv = need_python_tool("uv")
    project = Project(tmp_path / "all").write(files)
    if ".gitignore" in files:
        need("git")
        gems.run(("git", "init", "--quiet"), project.root, gems.ruby_environ(tmp_path / "home"))
    (hint,) = {
        one["hint"]
        for one in built(uv, project, tmp_path / "before").json["problems"]
        if (one["code"], one["severity"]) == ("skill-not-packaged", "error")
    }
    assert expected in hint
    do(project, hint)
    result = built(uv, project, tmp_path / "after")
    # That no clone has what git ignores is said of either.
    of_git = ["skill-not-packaged"] * (".gitignore" in files)
    assert (result.codes, result.code) == (of_git, 0), result.out
    (wheel,) = (tmp_path / "after").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {
        path.removeprefix("src/").replace("source/code", "kelp")
        for path in files
        if path.endswith(".py") and "/" in path
    } <= set(names)
    assert not [one for one in names if one.startswith(("src/", "source/"))]


GEMSPEC = """\
Gem::Specification.new do |gem|
  gem.name = "kelp"
  gem.version = "1.2.0"
  gem.summary = "For tests"
  gem.authors = ["test"]
  gem.files = Dir["LIST/**/*"]
end
"""


@pytest.mark.parametrize(
    ("listed", "files", "expected"),
    [
        ("lib", {}, 'Dir["skills/**/*"] + ["skills/kelp-forms/.hidden", "skills/kelp-forms/.more/.deep/a"]`'),
        ("lib", {f".{one}": "" for one in "abcdef"}, 'Dir.glob("skills/**/*", File::FNM_DOTMATCH)`'),
        ("{lib,skills}", {}, 'gem.files += ["skills/kelp-forms/.hidden", "skills/kelp-forms/.more/.deep/a"]`'),
    ],
)
def test_a_gem_takes_all_in_after_its_hint(tmp_path: Path, listed: str, files: Files, expected: str) -> None:
    need("gem")
    spec = GEMSPEC.replace("LIST", listed)
    project = Project(tmp_path / "all").write(SKILL | below("skills/kelp-forms", files) | {"lib/kelp.rb": ""})
    project.write({"kelp.gemspec": spec})
    (missing,) = project.run("check", ".", "--build", "--format", "json").json["problems"]
    hint = missing["hint"]
    assert hint.startswith("in kelp.gemspec, at the end of its block: `gem.files += ")
    assert expected in hint
    project.write({"kelp.gemspec": spec.replace("\nend\n", f"\n  {hint.split('`')[1]}\nend\n")})
    result = project.run("check", ".", "--build", "--format", "json")
    assert (result.code, result.codes) == (0, [])


def told(tmp_path: Path, files: Files, *missing: str) -> str:
    (offer,) = read_tree(str(Project(tmp_path / "all").write(files).root))
    (hint,) = {mend(offer, one, missing) for one in offer.skills}
    return hint


@pytest.mark.parametrize(
    ("backend", "hint"),
    [
        (
            "setuptools",
            (
                '[tool.setuptools.package-data]: kelp = [".agents/skills/**/*", ".agents/skills/a/.b", "skills/**/*"]; '
                '"ns.more" = ["skills/**/*"]'
            ),
        ),
        ("hatchling", '["/src/kelp/.agents/skills/**", "/src/kelp/skills/**", "/src/ns/more/skills/**"]'),
        ("poetry-core", '{ path = "src/kelp/skills/**/*", format = ["sdist", "wheel"] }, {'),
        ("pdm-backend", '[tool.pdm.build]: includes = ["src"]'),
        ("flit-core", "put it into the one import package that flit packs"),
        ("uv_build", "put it into a module that uv_build packs"),
        ("other", "in the settings of your build backend"),
    ],
)
def test_one_hint_is_for_all_skills_of_a_tree(tmp_path: Path, backend: str, hint: str) -> None:
    text = f'{PROJECT}[build-system]\nbuild-backend = "{BACKENDS.get(backend, backend)}"\n'
    places = ("kelp/.agents/skills/a", "kelp/skills/b", "ns/more/skills/c")
    files = {f"src/{place}/SKILL.md": skill(place[-1]) for place in places}
    files |= {"pyproject.toml": text, "src/kelp/.agents/skills/a/.b": "", "src/ns/more/__init__.py": ""}
    assert hint in told(tmp_path, files)


@pytest.mark.parametrize(
    ("files", "missing", "hint"),
    [
        (
            pyproject("setuptools"),
            ("ref/a.txt",),
            'in pyproject.toml, add "skills/kelp-forms/ref/a.txt" to a new list `kelp` of [tool.setuptools.package-',
        ),
        (pyproject("setuptools"), ("ref/[a].txt",), 'package-data]: kelp = ["skills/**/*", '),
        (pyproject("setuptools"), tuple("abcdef"), 'package-data]: kelp = ["skills/**/*", '),
        (
            pyproject("setuptools", f'{DATA}kelp = ["skills/kelp-forms/a"]\n'),
            ("a",),
            "see that MANIFEST.in doesn't leave it out",
        ),
        (
            pyproject(
                "setuptools", f'{DATA}kelp = ["skills/**/*"]\n{DATA.replace("pack", "exclude-pack")}kelp = ["*"]\n'
            ),
            (),
            "]; in pyproject.toml, see that [tool.setuptools.exclude-package-data] doesn't leave it out",
        ),
        (
            CONFIG | {"setup.cfg": CONFIG["setup.cfg"] + "[options.exclude_package_data]\nkelp = *.txt\n"},
            ("a",),
            "kelp = skills/kelp-forms/a; in setup.cfg, see that [options.exclude_package_data] doesn't leave it out",
        ),
        (
            CONFIG | {"setup.cfg": CONFIG["setup.cfg"] + "[options.package_data]\nkelp = *.txt, skills/kelp-forms/a\n"},
            ("a",),
            "see that MANIFEST.in doesn't leave it out",
        ),
        (
            {"setup.py": "setup(name='kelp', include_package_data=True, package_dir={'': 'lib', 'kelp': './kelp'})"},
            ("a",),
            'in setup.py, add to the call of setup(): package_data={"kelp": ["skills/kelp-forms/a"]}',
        ),
        (pyproject("flit-core"), ("scripts/a.pyc", "b.pyo"), "take them out of the skill"),
        (pyproject("hatchling"), ("a",), '"/kelp/skills/kelp-forms/a" to a new list `artifacts` of [tool.hatch.build]'),
        (
            pyproject("hatchling", '[tool.hatch.build]\nartifacts = ["/kelp/skills/**"]\n'),
            (),
            "see in the settings of your build backend what leaves it out",
        ),
        (
            pyproject("hatchling", f"{WHEEL}only-include = 1\n"),
            (),
            'add "kelp/skills" to `only-include` of [tool.hatch.build.targets.wheel]',
        ),
        (
            pyproject(
                "hatchling", f'{WHEEL}packages = []\n[tool.hatch.build.force-include]\n"kelp/skills" = "x/skills"\n'
            ),
            (),
            'add "kelp/skills" to `packages`',
        ),
        (
            pyproject("uv_build", '[tool.uv.build-backend]\nwheel-exclude = ["a"]\n'),
            ("a",),
            'matches "kelp/skills/kelp-forms/a" out',
        ),
    ],
)
def test_a_hint_goes_by_what_is_missing_and_what_is_there(
    tmp_path: Path, files: Files, missing: tuple[str, ...], hint: str
) -> None:
    assert hint in told(tmp_path, FLAT | files, *missing)


@pytest.mark.parametrize(
    ("package", "missing", "hint"),
    [
        ('"files": ["lib"]', (), 'in package.json, add "skills" to `files`; see that no .npmignore'),
        ('"files": "lib"', (), "see that no .npmignore or .gitignore leaves it out"),
        ('"files": ["skills"]', ("a.orig", "ref/.npmrc"), "npm packs no files of these names"),
        ('"files": ["skills"]', ("a.orig", "ref/a.md"), "see that no `!` in `files` of package.json"),
        ('"files": ["skills/**/*.md"]', ("a.txt",), 'in package.json, add "skills" to `files`'),
    ],
)
def test_a_hint_is_what_npm_goes_by(tmp_path: Path, package: str, missing: tuple[str, ...], hint: str) -> None:
    files = {"package.json": f'{{"name": "kelp", "version": "1.0.0", {package}}}', "skills/kelp-forms/SKILL.md": ""}
    assert told(tmp_path, files | below("skills/kelp-forms", dict.fromkeys(missing, "")), *missing).startswith(hint)


@pytest.mark.parametrize(
    ("files", "inner", "text"),
    [
        (["lib"], "a.md", "is not named by `files` in package.json"),
        (["skills/other", "docs/*"], "a.md", "is not named by `files` in package.json"),
        (["skills/kelp-forms/*.md"], "a.md", None),
        (["lib/../skills"], "a.md", None),
        (["./"], "a.md", None),
        (None, "a.md", None),
        (["skills"], ".npmrc", "is packed without .npmrc"),
        (["skills"], "ref/a.orig", "is packed without ref/a.orig"),
        (None, "link.md", "is packed without link.md"),
    ],
)
def test_what_npm_surely_leaves_out_is_known_without_a_build(
    tmp_path: Path, files: list[str] | None, inner: str, text: str | None
) -> None:
    data = {"name": "kelp", "version": "1.2.0"} | ({} if files is None else {"files": files})
    place = "skills/kelp-forms"
    project = Project(tmp_path / "all").write(
        {"package.json": json.dumps(data), f"{place}/SKILL.md": skill("kelp-forms"), f"{place}/{inner}": "a\n"}
    )
    if inner == "link.md":
        (project.root / place / inner).unlink()
        (project.root / place / inner).symlink_to("SKILL.md")
    result = project.run("check", ".", "--format", "json")
    said = [(one["code"], one["message"]) for one in result.json["problems"]]
    assert said == ([("skill-not-packaged", f"{place} {text}")] if text else [])
    need("npm")
    built = project.run("check", ".", "--build", "--format", "json")
    assert (built.code, [one["hint"] for one in built.json["problems"]]) == (
        result.code,
        [one["hint"] for one in result.json["problems"]],
    )
