from __future__ import annotations

import json
import posixpath
import sys
import tomllib
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import artifacts
import machine
import pytest
from projects import Project, skill
from schemas import faults
from tools import need

from skillsync.checking import tree

if TYPE_CHECKING:
    from pathlib import Path

    from projects import Files, Result

GEMSPEC = 'Gem::Specification.new do |s|\n  s.name = "kelp"\n  s.version = "1.2.0"\nend\n'
PYPROJECT = '[project]\nname = "kelp"\nversion = "1.2"\n'
PACKAGE = '{"name": "kelp", "version": "1.2.0"}\n'
GOOD = {"kelp.gemspec": GEMSPEC, "skills/kelp-forms/SKILL.md": skill("kelp-forms")}


def make(root: Path, files: Files) -> Project:
    return Project(root).write(files)


def check(project: Project, *arguments: str) -> Result:
    """Check in JSON and in text, which have to agree; nothing is changed."""
    before = project.tree
    result = project.run("check", *arguments, "--format", "json")
    text = project.run("check", *arguments)
    assert text.code == result.code
    assert project.tree == before
    assert not faults("check", result.json)
    problems = [line for line in text.err.splitlines() if not line.startswith("  hint: ")]
    assert len(problems) == len(result.json["problems"])
    return result


def found(result: Result) -> list[tuple[str, str, str]]:
    return [(one["severity"], one["code"], one.get("path", "")) for one in result.json["problems"]]


# Source trees


def test_a_good_gem_is_ok(tmp_path: Path) -> None:
    project = make(tmp_path / "kelp", GOOD)
    result = check(project, ".")
    assert (result.code, result.json["ok"], result.json["problems"]) == (0, True, [])
    assert result.json["checked"] == {"trees": 1, "artifacts": 0, "skills": 1, "files": 1}
    (package,) = result.json["packages"]
    assert [package[key] for key in ("source", "kind", "ecosystem", "name", "version")] == [
        ".", "tree", "gem", "kelp", "1.2.0",
    ]  # fmt: skip
    text = project.done("check", ".")
    assert text.out == (
        "read gem:kelp 1.2.0: . (1 skill)\nok: skills/kelp-forms (1 file)\n"
        "ok: checked 1 skill, 1 file, 1 tree, 0 artifacts\n"
    )
    assert project.done("check", ".", "--quiet").out == ""


@pytest.mark.parametrize(
    ("files", "key", "paths"),
    [
        ({"pyproject.toml": PYPROJECT, "kelp/__init__.py": ""}, "pypi:kelp", ("kelp/.agents/skills", "kelp/skills")),
        ({"setup.py": 'setup(name="Kelp.Py")\n', "src/kelp/a.py": ""}, "pypi:kelp-py", ("src/kelp/.agents/skills",)),
        (
            {"setup.cfg": "[metadata]\nname = kelp\n", "src/ns/kelp/__init__.py": ""},
            "pypi:kelp",
            ("src/ns/kelp/skills",),
        ),
        ({"package.json": PACKAGE}, "npm:kelp", ("skills", ".agents/skills")),
        ({"kelp.gemspec": GEMSPEC}, "gem:kelp", ("skills",)),
        (
            {"pyproject.toml": PYPROJECT + '[tool.maturin]\npython-source = "py"\n', "py/kelp/a.py": ""},
            "pypi:kelp",
            ("py/kelp/skills",),
        ),
        # Settings that name a package tell of it without an `__init__`.
        *(
            ({"pyproject.toml": f"{PYPROJECT}{text}", "weed/a.py": ""}, "pypi:kelp", ("weed/skills",))
            for text in (
                '[tool.hatch.build.targets.wheel]\npackages = ["weed"]\n',
                '[tool.setuptools]\npackages = ["weed.more"]\n',
                '[tool.poetry]\npackages = [{include = "weed"}]\n',
                '[tool.flit.module]\nname = "weed"\n',
                '[tool.uv.build-backend]\nmodule-name = ["weed"]\n',
            )
        ),
        (
            {"setup.py": 'setup(name="kelp")\n', "setup.cfg": "[options]\npackages =\n    a\n    weed\n"},
            "pypi:kelp",
            ("weed/skills",),
        ),
        # What a directory or a file in it is called makes an import package no less of one.
        ({"pyproject.toml": PYPROJECT, "build/__init__.py": ""}, "pypi:kelp", ("build/skills",)),
        ({"setup.py": 'setup(name="spec")\n', "spec/__init__.py": ""}, "pypi:spec", ("spec/skills",)),
        (
            {"pyproject.toml": PYPROJECT, "a/__init__.py": "", "a/pyproject.toml": "", "b/c/__init__.py": ""}
            | {"b/my-pyproject.toml": "", "src/pyproject.toml": "", "src/d/__init__.py": ""},
            "pypi:kelp",
            ("a/skills", "b/skills", "src/d/skills"),
        ),
        (
            {"pyproject.toml": PYPROJECT + '[tool.setuptools.package-dir]\n"" = "build/py"\nkelp = ".own"\n'}
            | {"build/py/a/__init__.py": "", ".own/__init__.py": ""},
            "pypi:kelp",
            ("build/py/a/skills", ".own/skills"),
        ),
    ],
)
def test_each_ecosystem_has_its_own_places(tmp_path: Path, files: Files, key: str, paths: tuple[str, ...]) -> None:
    names = [f"kelp-{number}" for number, _ in enumerate(paths)]
    shipped = {f"{path}/{name}/SKILL.md": skill(name) for path, name in zip(paths, names, strict=True)}
    project = make(tmp_path / "tree", {**files, **shipped})
    result = check(project, ".")
    assert result.code == 0, result.out
    (package,) = result.json["packages"]
    assert f"{package['ecosystem']}:{package['name']}" == key
    assert sorted(one["path"] for one in package["skills"]) == sorted(
        path.removesuffix("/SKILL.md") for path in shipped
    )


@pytest.mark.parametrize(
    ("place", "settings"),
    [
        ("src/kelp/ai/.agents/skills", ""),
        ("src/kelp/ai/skills", '[tool.hatch.build.targets.wheel.force-include]\n"more" = "kelp/more"\n'),
        ("src/skills", '[tool.hatch.build.targets.wheel]\npackages = ["src/kelp", "src/skills"]\n'),
        ("more/skills", '[tool.hatch.build.targets.wheel.force-include]\n"more" = "kelp/ai"\n'),
        ("kelp/ai/skills", ""),
    ],
)
def test_where_no_consumer_looks_a_skill_is_none(tmp_path: Path, place: str, settings: str) -> None:
    files = {f"{root}kelp/{name}": "" for root in ("", "src/") for name in ("__init__.py", "ai/__init__.py")}
    text = f'{PYPROJECT}[build-system]\nbuild-backend = "hatchling.build"\n{settings}'
    project = make(tmp_path / "tree", {**files, "pyproject.toml": text, f"{place}/kelp-x/SKILL.md": skill("kelp-x")})
    result = check(project, ".")
    assert [one[1] for one in found(result)] == ["no-skills", "skill-elsewhere"]
    # Beside one that is found, it is none of those that are.
    project.write({"src/kelp/skills/kelp-y/SKILL.md": skill("kelp-y")})
    result = check(project, ".")
    assert [one["name"] for one in result.json["packages"][0]["skills"]] == ["kelp-y"]


def test_a_tree_without_skills_is_an_error_that_says_where_it_looked(tmp_path: Path) -> None:
    project = make(tmp_path / "kelp", {"kelp.gemspec": GEMSPEC, "lib/kelp.rb": ""})
    result = check(project, ".")
    assert (result.code, result.json["ok"]) == (1, False)
    assert found(result) == [("error", "no-skills", "kelp.gemspec")]
    assert project.run("check", ".").out.endswith("failed: checked 0 skills, 0 files, 1 tree, 0 artifacts; 1 error\n")
    assert "kelp.gemspec makes gem:kelp, which ships no skill: looked in skills/*/" in project.run("check", ".").err


def test_beside_a_package_with_skills_another_may_be_without(tmp_path: Path) -> None:
    settings = {"pyproject.toml": "[tool.ruff]\n", "setup.cfg": "[flake8]\n"}
    project = make(tmp_path / "kelp", {**GOOD, **settings, "package.json": PACKAGE.replace("kelp", "kelp-site")})
    # It has the gem's places, too: skills/ is both packages'.
    project.write({"skills/kelp-forms/run": "#!/bin/sh\n"})
    result = check(project, ".")
    assert [one["ecosystem"] for one in result.json["packages"]] == ["gem", "npm"]
    # What is wrong in both is said once.
    assert found(result) == [("warning", "not-executable", "skills/kelp-forms/run")]
    project.write({"package.json": '{"private": true}', "pyproject.toml": PYPROJECT})
    assert found(check(project, "."))[1:] == []
    # Settings of tools make no package.
    for text in ('{"private": true}', '{"type": "module"}'):
        project.write({"package.json": text, "pyproject.toml": "[tool.ruff]\n"})
        assert [one["ecosystem"] for one in check(project, ".").json["packages"]] == ["gem"]


def test_what_lock_would_refuse_is_an_error_with_its_place(tmp_path: Path) -> None:
    project = make(
        tmp_path / "kelp",
        {
            **GOOD,
            "skills/kelp-colon/SKILL.md": "---\nname: kelp-colon\ndescription: Sets up: goals\n---\n",
            "skills/kelp-other/SKILL.md": skill("kelp-name"),
            "skills/kelp-case/skill.md": skill("kelp-case"),
            "skills/kelp-hidden/SKILL.md": skill("kelp-hidden", "a\u202eb\n"),
            "skills/kelp-\u202e/SKILL.md": skill("kelp-x"),
            "skills/kelp-unsafe/SKILL.md": skill("kelp-unsafe"),
            "skills/kelp-long/SKILL.md": f"---\nname: kelp-long\ndescription: {'a' * 1025}\n---\n",
            "skills/kelp-unsafe/a\u202e.txt": "",
            "skills/kelp-unsafe/.git/config": "",
        },
    )
    (project.root / "skills/kelp-unsafe/out").symlink_to("/etc/passwd")
    (project.root / "skills/kelp-linked").symlink_to("kelp-forms")
    result = check(project, ".")
    assert result.code == 1
    assert sorted(found(result)) == sorted(
        [
            ("error", "invalid-skill", "skills/kelp-case/skill.md"),
            ("error", "invalid-skill", "skills/kelp-colon/SKILL.md"),
            ("error", "hidden-characters", "skills/kelp-hidden/SKILL.md"),
            ("error", "invalid-skill", "skills/kelp-linked"),
            ("warning", "invalid-skill", "skills/kelp-long/SKILL.md"),
            ("error", "invalid-skill", "skills/kelp-other/SKILL.md"),
            ("error", "unsafe-skill", "skills/kelp-unsafe/.git"),
            ("error", "unsafe-skill", "skills/kelp-unsafe/out"),
            ("error", "hidden-characters", "skills/kelp-unsafe/a\u202e.txt"),
            ("error", "invalid-skill", "skills/kelp-\u202e/SKILL.md"),
        ]
    )
    colon = next(one for one in result.json["problems"] if one["path"] == "skills/kelp-colon/SKILL.md")
    assert (colon["line"], colon["column"], colon["source"]) == (3, 21, ".")
    assert colon["hint"] == 'put the value in quotes: description: "Sets up: goals"; `skillsync check --fix .` does it'
    (long,) = [one for one in result.json["problems"] if one["path"] == "skills/kelp-long/SKILL.md"]
    assert long["hint"] == "shorten it"
    said = {one["name"]: one["ok"] for one in result.json["packages"][0]["skills"]}
    assert (said["kelp-forms"], said["kelp-long"], said["kelp-unsafe"]) == (True, True, False)


@pytest.mark.parametrize(
    ("front", "place"),
    [
        ("description: !fm Forms.", [("`!fm`", 3, 14)]),
        ("description: Forms.\nmetadata:\n  x: [!!python/name:os.system y, !z {}]", [("python/name:os.system`", 5, 7)]),
        ("description: !!str Forms.\nmetadata: !!map {a: ! b, c: !!int 1, d: &x e, f: *x}", []),
        ("description: Forms.\nglob: *a", [("`*a`, which stands for nothing,", 4, 7)]),
        ("description: Forms.\nx: [*a, &a b]", [("`*a`", 4, 5)]),
        ("description: Forms.\nx: [&a {y: 1}, &b [*a]]\nz: [*a, *b]", []),
        ("description: Forms.\nmetadata:\n  x: 1\n  y: {x: 2}\n  x: 3", [("the key `x` twice", 7, 3)]),
    ],
)
def test_what_other_readers_refuse_is_a_warning(tmp_path: Path, front: str, place: list[tuple[str, int, int]]) -> None:
    files = {"skills/kelp-forms/SKILL.md": f"---\nname: kelp-forms\n{front}\n---\n"}
    problems = check(make(tmp_path / "kelp", {**GOOD, **files}), ".").json["problems"]
    assert [(one["severity"], one["code"], one["line"], one["column"]) for one in problems] == [
        ("warning", "invalid-skill", line, column) for _, line, column in place
    ]
    assert all(tag in one["message"] for one, (tag, *_) in zip(problems, place, strict=True))


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        (
            "SKILL.md",
            b"---\nname: kelp-forms\ndescription: x\n---\n\xc3\xa9 \xff\n",
            [("warning", "invalid-skill", 5, 3)],
        ),
        ("a.md", b"\xe9", [("warning", "invalid-skill", 1, 1), ("note", "final-newline", 1, None)]),
        ("a.md", "é".encode("utf-16"), [("warning", "invalid-skill", 1, 1)]),
        ("SKILL.md", "é".encode("utf-16"), [("error", "invalid-skill", 1, 1)]),
        ("a.md", "é\n".encode() * 400_000, []),  # of which the start is read, to the middle of a letter
    ],
)
def test_what_is_not_utf8_is_told_and_where(
    tmp_path: Path, path: str, content: bytes, told: list[tuple[str, str, int, int | None]]
) -> None:
    project = make(tmp_path / "kelp", GOOD)
    (project.root / "skills/kelp-forms" / path).write_bytes(content)
    problems = check(project, ".").json["problems"]
    assert [(one["severity"], one["code"], one.get("line"), one.get("column")) for one in problems] == told


@pytest.mark.parametrize(
    ("content", "hints"),
    [
        (b"a\r\nb", ["`skillsync check --fix .` makes them LF", "`skillsync check --fix .` adds it"]),
        (
            b"\xe9\r\nb",
            ["save it as UTF-8: an agent reads other letters there, or none", "save it with LF alone", "add it"],
        ),
        (b"a\rb\r\nc\r\n", ["save it with LF alone"]),
        (b"a\0\r\nb", []),
    ],
)
def test_fix_is_named_where_it_mends(tmp_path: Path, content: bytes, hints: list[str]) -> None:
    project = make(tmp_path / "kelp", GOOD)
    (project.root / "skills/kelp-forms/a.md").write_bytes(content)
    assert [one["hint"] for one in check(project, ".").json["problems"]] == hints
    project.run("check", ".", "--fix")
    left = [one["hint"] for one in check(project, ".").json["problems"]]
    assert left == [one for one in hints if "--fix" not in one]


def test_where_wheels_data_is_installed_no_path_leads(tmp_path: Path) -> None:
    project = make(tmp_path / "all", {})
    files = {f"kelp-1.2.0.data/data/share/{name}/SKILL.md": skill(name) for name in ("kelp-a", "kelp-b")}
    files |= {"kelp/__init__.py": "", "kelp/more/kelp-c/SKILL.md": skill("kelp-c")}
    artifacts.write(project.root / artifacts.WHEEL, artifacts.zipped(artifacts.wheel_files(files)))
    result = check(project, artifacts.WHEEL)
    told = {one["path"]: one["hint"] for one in result.json["problems"] if one["code"] == "skill-elsewhere"}
    assert {path: "path = " in hint for path, hint in told.items()} == {
        "kelp-1.2.0.data/data/share": False,
        "kelp/more": True,
    }


@pytest.mark.parametrize(
    ("front", "places"),
    [
        ("description: Use it # when asked", [(3, 21)]),
        ("description:\n  Use it\n\n  for C\t # when asked\nlicense: MIT # it is", [(6, 10)]),
        ("description: é\ncompatibility: É # or so", [(4, 18)]),
        ("compatibility: C # or C++\ndescription: Use it # when asked", [(4, 21), (3, 18)]),
        ("description: Use it\n  # when asked\nlicense: MIT # it is", []),
        ("description: Use C# and #3", [(3, 25)]),
        ("description: Use C#, or F#", []),
        ("description: 'Use it # when' # asked", []),
        ("description: >- # asked\n  Use it # when", []),
        ("compatibility: # none\ndescription: Use it", []),
        ("description: Use it\ncompatibility: [C, D] # or so", []),
        ("description: Use it\nlicense: MIT # it is", []),
    ],
)
def test_a_text_that_a_comment_cuts_off_is_a_warning_and_stays_as_it_is(
    tmp_path: Path, front: str, places: list[tuple[int, int]]
) -> None:
    text = f"---\nname: kelp-forms # not a text\n{front}\n---\n"
    project = make(tmp_path / "kelp", {**GOOD, "skills/kelp-forms/SKILL.md": text})
    problems = [one for one in check(project, ".").json["problems"] if one["code"] == "invalid-skill"]
    assert [(one["severity"], one["line"], one["column"]) for one in problems] == [("warning", *one) for one in places]
    project.run("check", ".", "--fix")
    assert (project.root / "skills/kelp-forms/SKILL.md").read_text() == text


def test_a_place_that_is_a_link_is_an_error(tmp_path: Path) -> None:
    project = make(tmp_path / "kelp", {"kelp.gemspec": GEMSPEC, "other/kelp-forms/SKILL.md": skill("kelp-forms")})
    (project.root / "skills").symlink_to("other")
    assert ("error", "unsafe-skill", "skills") in found(check(project, "."))


def test_a_skill_that_is_there_twice_is_an_error(tmp_path: Path) -> None:
    places = ("kelp/skills", "kelp/.agents/skills")
    files = {f"{place}/kelp-forms/SKILL.md": skill("kelp-forms") for place in places}
    project = make(tmp_path / "kelp", {"pyproject.toml": PYPROJECT, "kelp/__init__.py": "", **files})
    assert found(check(project, ".")) == [("error", "duplicate-skill", "kelp/.agents/skills/kelp-forms")]


def test_scripts_that_may_not_run_are_warnings(tmp_path: Path) -> None:
    place = "skills/kelp-forms"
    files = {f"{place}/scripts/{name}": "#!/bin/sh\n" for name in ("good", "bad")}
    files |= {f"{place}/scripts/{name}": "1\n" for name in ("x.py", "_y.py", "z.json", "binary", "bare")}
    project = make(tmp_path / "kelp", {**GOOD, **files, f"{place}/binary": b"\x7fELF\0", f"{place}/bare": "a"})
    for name in ("scripts/good", "binary", "bare"):
        (project.root / place / name).chmod(0o755)
    result = check(project, ".")
    assert (result.code, result.json["ok"]) == (0, True)
    assert found(result) == [
        ("warning", "not-executable", f"{place}/bare"),
        ("warning", "not-executable", f"{place}/scripts/bad"),
        ("note", "not-executable", f"{place}/scripts/x.py"),
    ]
    assert project.run("check", ".").out.splitlines()[-1] == (
        "ok: checked 1 skill, 10 files, 1 tree, 0 artifacts; 2 warnings, 1 note"
    )


@pytest.mark.parametrize(
    ("name", "text", "mode", "fixed", "expected"),
    [
        ("run", "#! /bin/sh\n", 0o644, 0o755, [("warning", "begins with `#!`, and its executable bit is not set")]),
        ("main.rs", "#![allow(dead_code)]\r\n", 0o644, 0o644, [("note", "has CRLF line ends")]),
        ("run", "#!python\n", 0o644, 0o644, []),
        (
            "main.rs",
            "#![allow(dead_code)]\n",
            0o755,
            0o755,
            [("warning", "is executable, and does not begin with `#!` and the path of a program")],
        ),
        ("run.sh.j2", "#!/bin/sh\n", 0o644, 0o644, []),
        ("run.sh.j2", "#!/bin/sh\n", 0o755, 0o755, []),
    ],
)
def test_a_script_is_what_the_system_can_run(  # noqa: PLR0913, PLR0917  # a row of the table
    tmp_path: Path, name: str, text: str, mode: int, fixed: int, expected: list[tuple[str, str]]
) -> None:
    path = f"skills/kelp-forms/scripts/{name}"
    project = make(tmp_path / "kelp", {**GOOD, path: text.encode()})
    (project.root / path).chmod(mode)
    problems = check(project, ".").json["problems"]
    assert [(one["severity"], one["message"]) for one in problems] == [
        (severity, f"{path} {message}") for severity, message in expected
    ]
    project.run("check", ".", "--fix")
    assert (project.root / path).stat().st_mode & 0o777 == fixed


@pytest.mark.parametrize(
    ("files", "is_noted"),
    [
        ({"SKILL.md": "Run it.\n"}, True),
        ({"SKILL.md": "Run `python3 scripts/mod.py`.\n"}, False),
        ({"references/a.md": "See scripts/mod.py.\n"}, False),
        ({"references/a.txt": "See scripts/mod.py.\n"}, True),
        ({"scripts/run": "#!/usr/bin/env python3\nimport os, mod\n"}, False),
        ({"scripts/run": "#!/usr/bin/env python3\nfrom .mod import x\n"}, False),
        ({"scripts/run": "#!/usr/bin/env node\nconst x = require('./mod')\n"}, False),
        ({"scripts/run": "#!/usr/bin/env python3\nimport model\nmod = 1\n"}, True),
    ],
)
def test_what_a_text_says_how_to_run_or_a_script_imports_is_no_note(
    tmp_path: Path,
    files: dict[str, str],
    is_noted: bool,  # noqa: FBT001
) -> None:
    place = "skills/kelp-forms"
    texts = {**files, "SKILL.md": skill("kelp-forms", files.get("SKILL.md", "")), "scripts/mod.py": "x = 1\n"}
    project = make(tmp_path / "kelp", {**GOOD, **{f"{place}/{name}": text for name, text in texts.items()}})
    if "scripts/run" in files:
        (project.root / place / "scripts/run").chmod(0o755)
    assert found(check(project, ".")) == [("note", "not-executable", f"{place}/scripts/mod.py")] * is_noted


def test_what_is_executable_and_no_script_is_not_made_one(tmp_path: Path) -> None:
    project = make(tmp_path / "kelp", GOOD)
    (project.root / "skills/kelp-forms/SKILL.md").chmod(0o755)
    result = check(project, ".")
    assert found(result) == [("warning", "not-executable", "skills/kelp-forms/SKILL.md")]
    assert result.json["problems"][0]["hint"].startswith("run `chmod -x` on it")


def test_texts_are_looked_into(tmp_path: Path) -> None:
    place = "skills/kelp-forms"
    front = f"---\nname: kelp-forms\ndescription: Forms.\ncompatibility: {'c' * 501}\n---\n"
    body = "[in](ref/a.md)\n[out](../../README.md)\n[gone](ref/b.md)\n" + "text\n" * 500
    files = {
        f"{place}/SKILL.md": front + body,
        f"{place}/ref/a.md": "[up](../SKILL.md) [out](../../x.md)\r\nend",
        f"{place}/run": "#!/bin/sh\r\n",
        f"{place}/data": "no newline\r\n and no text",
        f"{place}/empty.md": "",
    }
    project = make(tmp_path / "kelp", {**GOOD, **files})
    (project.root / place / "run").chmod(0o755)
    result = check(project, ".")
    assert [(*row, one.get("line")) for row, one in zip(found(result), result.json["problems"], strict=True)] == [
        ("warning", "format-limit", f"{place}/SKILL.md", None),
        ("note", "format-limit", f"{place}/SKILL.md", None),
        ("note", "line-ends", f"{place}/ref/a.md", 1),
        ("note", "final-newline", f"{place}/ref/a.md", 2),
        ("warning", "line-ends", f"{place}/run", 1),
        ("warning", "link-out", f"{place}/SKILL.md", 7),
        ("warning", "link-broken", f"{place}/SKILL.md", 8),
        ("warning", "link-out", f"{place}/ref/a.md", 1),
    ]


LINKS = {
    "[a](ref/gone.md)": [1],
    "[a](<ref/gone one.md>)": [1],
    "[a]: ref/gone.md": [1],
    "[a][b]\n\n[b]: ref/gone.md 'title'": [3],
    "text\n[a](ref/a.md) [a](ref/gone.md) [a\nb](ref/gone-2.md)\n`x` [c](ref/gone-3.md)": [2, 2, 4],
    "[![a](ref/gone.png)](ref/a.md)": [1],
    "> - [a](ref/a.md)\n>   [a](ref/gone.md)": [2],
    "Title [a](ref/gone.md)\n=": [1],
    "[a](./REF/a.md)": [1],
    "[a](ref/gone.md#part)": [1],
    "[a](ref/a.md/)": [1],
    "[a](LICENSE)": [1],
    "[a](LICENSE#mit)": [1],
    "<a href='ref/gone one.md'>": [1],
    '<!--\n-->\n\n<div>\n<a\n  href=ref/gone.md>\n<img src = "ref/gone.png">': [5, 7],
    "text\n<!-- x\n--> <img src=ref/gone.png>": [3],
    "```\n```\n[a](ref/gone.md)": [3],
    "[a](ref/%61.md?x#part)": [],
    "[a](ref/)": [],
    "[a](ref)": [],
    "[a](.) [a](./) [a](ref/..)": [],
    "[a](SKILL.md)": [],
    "[a](#part)": [],
    "[a](https://example.org/a.md)": [],
    "[a](//example.org/a.md)": [],
    "[a](mailto:a@example.org) <a@example.org>": [],
    "[a](ref/x_(y).md) [a](ref/r\\_x.md) [a](ref/a&amp;b.md) [a](ref/c%23d.md) <a href='ref/a&amp;b.md'>": [],
    "as in [text](url)": [],
    "[a](ref/{name}.md)": [],
    "[a](ref/<name>.md)": [],
    "text[^1]\n\n[^1]: See.": [],
    "```md\n[a](ref/gone.md)\n```": [],
    "~~~\n```\n[a](ref/gone.md)\n~~~": [],
    "> ```\n> [a](ref/gone.md)\n> ```": [],
    "    [a](ref/gone.md)\n\n\t[a](../../gone.md)": [],
    "- item\n\n      [a](ref/gone.md)\n- \t\t[a](../../gone.md)": [],
    "`[a](ref/gone.md)` and `more`": [],
    "`code\n[a](ref/gone.md)` ``a ` [a](../../gone.md)``": [],
    "<!-- [a](ref/gone.md)\n<a href='ref/gone.md'> -->\n\ntext <!-- [a](../../gone.md) -->": [],
    "<!--\n<a href='../../gone.md'>": [],
    "<pre>\nhref='ref/gone.md'\n</pre>": [],
    "\\[a](ref/gone.md) [a\\](../../gone.md)": [],
}


@pytest.mark.parametrize(("text", "lines"), LINKS.items(), ids=[repr(text) for text in LINKS])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_link_to_a_file_that_is_not_there_is_a_warning(tmp_path: Path, text: str, lines: list[int], end: str) -> None:
    place = "skills/kelp-forms"
    names = ("a.md", "x_(y).md", "r_x.md", "a&b.md", "c#d.md")
    files = {f"{place}/SKILL.md": skill("kelp-forms", f"{text}\n".replace("\n", end))}
    project = make(tmp_path / "kelp", {**GOOD, **files, **{f"{place}/ref/{name}": "" for name in names}})
    problems = [one for one in check(project, ".").json["problems"] if one["code"] != "line-ends"]
    before = skill("kelp-forms", "").count("\n")
    assert [(one["severity"], one["code"], one["line"] - before) for one in problems] == [
        ("warning", "link-broken", line) for line in lines
    ]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("[a](b.md) [a](../scripts/x.sh)", []),
        ("[a](ref/b.md) [a](scripts/x.sh) [a](SKILL.md) [a](scripts/)", []),
        ("[a](x.sh)", ["link-broken"]),
        ("[a](../ref/ref/b.md)", ["link-broken"]),
        ("[a](../../b.md)", ["link-out"]),
        ("---\ntitle: '[a](x.sh)'\n---\n[a](b.md)", []),
        ("text\n\n---\n\n[a](x.sh)\n\n---\n", ["link-broken"]),
    ],
)
def test_a_link_is_read_from_its_file_and_from_the_skill_s_directory(
    tmp_path: Path, text: str, codes: list[str]
) -> None:
    names = {"ref/a.md": f"{text}\n", "ref/b.md": "", "scripts/x.sh": "#!/bin/sh\n"}
    project = make(tmp_path / "kelp", {**GOOD, **{f"skills/kelp-forms/{name}": text for name, text in names.items()}})
    (project.root / "skills/kelp-forms/scripts/x.sh").chmod(0o755)
    assert check(project, ".").codes == codes


def test_links_are_not_looked_for_in_more_than_takes_seconds(tmp_path: Path) -> None:
    place = "skills/kelp-forms"
    files = {f"{place}/{number:02}.md": "[a](gone.md)\n" + "x" * 127 * 1024 + "\n" for number in range(33)}
    files |= {f"{place}/large.md": "[a](gone.md)\n" + "x\n" * 65 * 1024, f"{place}/plain.md": "x\n" * 65 * 1024}
    problems = check(make(tmp_path / "kelp", {**GOOD, **files}), ".").json["problems"]
    assert {one["code"] for one in problems} == {"link-broken"}
    notes = [one["message"].partition("kelp-forms/")[2] for one in problems if one["severity"] == "note"]
    assert notes == [
        "32.md is not looked at for links: the package has more than 4 MiB of Markdown",
        "large.md is not looked at for links: it has more than 128 KiB",
    ]
    assert len(problems) == 32 + len(notes)


def test_of_a_name_that_is_guessed_no_skill_s_is_judged(tmp_path: Path) -> None:
    files = {"pyproject.toml": "[project\n", "other/__init__.py": "", "other/skills/forms/SKILL.md": skill("forms")}
    result = check(make(tmp_path / "kelp", files), ".")
    assert found(result)[0] == ("error", "package-unreadable", "pyproject.toml")
    assert "name-collision" not in result.codes
    assert "correct it" in result.json["problems"][0]["hint"]
    files |= {"pyproject.toml": '[project]\nname = "kelp"\n', "kelp/__init__.py": ""}
    assert "name-collision" in check(make(tmp_path / "named", files), ".").codes


def test_skills_where_nobody_looks_are_said(tmp_path: Path) -> None:
    files = {
        "skills/group/kelp-a/SKILL.md": skill("kelp-a"),
        "skills/kelp-forms/nested/SKILL.md": skill("nested"),
        "skills/hollow/README.md": "",
        "skills/LICENSE": "",
        "SKILL.md": skill("kelp"),
        "top/SKILL.md": skill("top"),
        "lib/skills/SKILL.md": skill("skills"),
        "tests/skills/x/SKILL.md": skill("x"),
        ".claude/skills/x/SKILL.md": skill("x"),
        "node_modules/y/skills/x/SKILL.md": skill("x"),
    }
    files |= {f"data/kelp-{number}/SKILL.md": skill("x") for number in range(7)}
    project = make(tmp_path / "kelp", {**GOOD, **files})
    result = check(project, ".")
    assert found(result) == [
        ("note", "skill-elsewhere", "skills/kelp-forms"),
        ("note", "no-skill-file", "skills/hollow"),
        ("note", "skill-elsewhere", "SKILL.md"),
        ("note", "skill-elsewhere", "lib/skills/SKILL.md"),
        ("note", "skill-elsewhere", "top/SKILL.md"),
        ("note", "skill-elsewhere", "data"),
        ("note", "skill-elsewhere", "skills/group"),
    ]
    messages = [one["message"] for one in result.json["problems"]]
    assert messages[5].endswith(": kelp-0, kelp-1, kelp-2, kelp-3, kelp-4, and 2 more")
    assert 'path = "data"' in result.json["problems"][5]["hint"]
    assert messages[0].endswith("as a skill of its own: nested")
    hints = [one["hint"] for one in result.json["problems"]][2:5]
    assert hints == [f"move it to {place}skills/NAME/SKILL.md" for place in ("", "lib/", "")]
    assert "ignored: skills/LICENSE: is a file" in project.run("check", ".", "--verbose").out


@pytest.mark.parametrize("place", ["data", 'a "b"', "it's", "a\\b", "é", "a\tb"])
def test_the_path_for_a_manifest_can_be_written_there_as_it_is_shown(tmp_path: Path, place: str) -> None:
    project = make(tmp_path / "kelp", {**GOOD, f"{place}/kelp-a/SKILL.md": skill("kelp-a")})
    (told,) = check(project, ".").json["problems"]
    _, offered, entry = told["hint"].partition(", or tell consumers to write `")
    assert bool(offered) is place.isprintable()
    assert not offered or tomllib.loads(entry.removesuffix("` in their manifest")) == {"path": place}


def test_a_path_in_a_python_source_tree_is_none_for_consumers(tmp_path: Path) -> None:
    files = {"pyproject.toml": PYPROJECT, "src/kelp/__init__.py": "", "src/kelp/parts/kelp-a/SKILL.md": skill("kelp-a")}
    (told,) = [one for one in check(make(tmp_path / "kelp", files), ".").json["problems"] if "elsewhere" in one["code"]]
    assert told["hint"] == "move each to PACKAGE/.agents/skills/NAME/"


@pytest.mark.parametrize(
    ("package", "name", "is_distinct"),
    [
        ("kelp", "kelp-forms", True),
        ("kelp", "forms", False),
        ("kelp", "kelpforms", False),
        ("kelp", "using-kelp", True),
        ("@acme/db", "db-core", True),
        ("@acme/db", "acme-db", True),
        ("@acme/db", "core", False),
        ("pydantic-ai_slim", "building-pydantic-agents", True),
    ],
)
def test_a_name_without_the_packages_is_a_note(tmp_path: Path, package: str, name: str, is_distinct: bool) -> None:  # noqa: FBT001
    files = {"package.json": f'{{"name": "{package}"}}', f"skills/{name}/SKILL.md": skill(name)}
    result = check(make(tmp_path / "tree", files), ".")
    expected = [] if is_distinct else [("note", "name-collision", f"skills/{name}/SKILL.md")]
    assert (result.code, found(result)) == (0, expected)


@pytest.mark.parametrize(("name", "is_distinct"), [("bs4-parse", True), ("soup-parse", False), ("src-parse", False)])
def test_the_name_of_an_import_package_is_the_packages(tmp_path: Path, name: str, is_distinct: bool) -> None:  # noqa: FBT001
    files = {
        "pyproject.toml": PYPROJECT.replace("kelp", "beautifulsoup4"),
        "src/bs4/__init__.py": "",
        f"src/bs4/.agents/skills/{name}/SKILL.md": skill(name),
        "src/bs4/.agents/skills/__pycache__/x.pyc": "",
    }
    assert check(make(tmp_path / "tree", files), ".").codes == ([] if is_distinct else ["name-collision"])


def test_a_hint_shows_a_name_that_can_be_one(tmp_path: Path) -> None:
    files = {"package.json": '{"name": "@acme/My.Db"}', "skills/core/SKILL.md": skill("core")}
    (problem,) = check(make(tmp_path / "tree", files), ".").json["problems"]
    assert "`my-db-core`" in problem["hint"]


def test_what_skillsync_installed_in_the_tree_is_not_the_packages(tmp_path: Path) -> None:
    registry = "version: 1\nskills:\n  sus-testing:\n    gem: sus\n    version: 1.0.0\n"
    files = {
        "package.json": PACKAGE,
        ".agents/skills/.agent-skills.yaml": registry,
        ".agents/skills/sus-testing/SKILL.md": skill("sus-testing"),
        ".agents/skills/kelp-forms/SKILL.md": skill("kelp-forms"),
    }
    project = make(tmp_path / "tree", files)
    assert [one["name"] for one in check(project, ".").json["packages"][0]["skills"]] == ["kelp-forms"]
    project.write({".agents/skills/.agent-skills.yaml": "["})
    assert len(check(project, ".").json["packages"][0]["skills"]) == 2


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({"package.json": "{", "skills/x/SKILL.md": skill("x")}, ("package.json", 1)),
        ({"package.json": '{"name": "../x"}', "skills/x/SKILL.md": skill("x")}, ("package.json", None)),
        ({"pyproject.toml": "[project\n", "tree/skills/x/SKILL.md": skill("x")}, ("pyproject.toml", 1)),
    ],
)
def test_a_package_whose_file_can_not_be_read_is_an_error(
    tmp_path: Path, files: Files, place: tuple[str, int | None]
) -> None:
    result = check(make(tmp_path / "tree", files), ".")
    assert result.code == 1
    assert found(result)[0] == ("error", "package-unreadable", place[0])
    assert result.json["problems"][0].get("line") == place[1]
    assert [one["name"] for one in result.json["packages"][0]["skills"]] == ["x"]


# How it is called


def test_paths_are_as_they_were_named(tmp_path: Path) -> None:
    project = make(tmp_path / "all", {f"apps/kelp/{path}": text for path, text in GOOD.items()})
    project.write({"apps/kelp/skills/kelp-forms/run": "#!/bin/sh\n"})
    result = check(project, "apps/kelp", "apps/kelp")
    assert (result.code, len(result.json["packages"])) == (0, 1)
    (problem,) = result.json["problems"]
    assert (problem["source"], problem["path"]) == ("apps/kelp", "skills/kelp-forms/run")
    assert problem["message"].startswith("apps/kelp/skills/kelp-forms/run begins with")
    assert "ok: apps/kelp/skills/kelp-forms (2 files, 1 warning)" in project.done("check", "apps/kelp").out


def test_several_paths_are_all_checked(tmp_path: Path) -> None:
    project = make(tmp_path / "all", {**{f"a/{path}": text for path, text in GOOD.items()}, "b/b.gemspec": ""})
    result = check(project, "a", "b")
    assert (result.code, found(result)) == (0, [])
    assert "read gem:b: b (0 skills)\n" in project.run("check", "a", "b").out
    assert result.json["checked"]["trees"] == 2


@pytest.mark.parametrize(
    ("files", "named", "told"),
    [
        ({"kelp.gemspec": GEMSPEC}, "a", "kelp-1.2.0.gem"),
        ({"kelp.gemspec": GEMSPEC}, "a out/kelp-1.1.0.gem", "kelp-1.2.0.gem"),
        ({"kelp.gemspec": GEMSPEC}, "a out/kelp-1.2.0.gem", None),
        ({"kelp.gemspec": GEMSPEC}, "a a/kelp-1.2.0.gem", None),
        ({"kelp.gemspec": ""}, "a", "kelp-1.2.0.gem, kelp-rails-1.2.0.gem"),
        ({"pyproject.toml": PYPROJECT}, "a", "kelp-1.2-py3-none-any.whl, kelp-1.2.tar.gz"),
        ({"package.json": '{"name": "@kelp/x", "version": "1.2.0"}'}, "a", "kelp-x-1.2.0.tgz"),
        ({"package.json": PACKAGE}, "a", None),
    ],
)
def test_what_was_built_and_lies_in_a_tree_is_told_unless_it_is_named(
    tmp_path: Path, files: Files, named: str, told: str | None
) -> None:
    built = (
        "kelp-1.2.0.gem", "kelp-rails-1.2.0.gem", "kelp-1.2-py3-none-any.whl", "kelp-1.2.tar.gz", "data-1.2.tar.gz",
        "kelp-x-1.2.0.tgz", "kelp-forms.tgz", "kelp-9.gem/x", "kelp-9.whl/x", "kelp-9.tgz/x",
    )  # fmt: skip
    project = make(
        tmp_path / "all", {f"a/{path}": text for path, text in {**dict.fromkeys(built, ""), **files}.items()}
    )
    for version in ("1.1.0", "1.2.0"):
        artifacts.write(project.root / f"out/kelp-{version}.gem", artifacts.gem(artifacts.packed({}), version=version))
    messages = [one["message"] for one in check(project, *named.split()).json["problems"] if one["severity"] == "note"]
    assert messages == ([f"a is a source tree, and what was built of it is not looked at: {told}"] if told else [])


@pytest.mark.parametrize(
    ("directory", "named", "is_told"),
    [
        ("dist", "a", True),
        ("./dist/", "a", True),
        ("dist", "a a/dist", False),
        ("dist", "a out", False),
        ("dist", "a/dist", False),  # it has a copy of package.json
        ("a", "a", True),  # it is only called so
        (".", "a", False),
        ("../b", "a", False),
        (["dist"], "a", False),
    ],
)
def test_a_directory_that_is_published_in_the_trees_place_is_told_unless_it_is_named(
    tmp_path: Path, directory: object, named: str, *, is_told: bool
) -> None:
    manifest = json.dumps({"name": "kelp", "version": "1.2.0", "publishConfig": {"directory": directory}})
    files = {"package.json": manifest, "skills/kelp-forms/SKILL.md": skill("kelp-forms")}
    project = make(tmp_path / "all", {f"{top}/{path}": text for top in ("a", "a/dist") for path, text in files.items()})
    artifacts.write(project.root / "out/kelp-1.2.0.tgz", artifacts.tarball(files))
    result = check(project, *named.split())
    assert result.code == 0
    told = [(one["severity"], one["code"], one["path"], one["hint"]) for one in result.json["problems"]]
    place = posixpath.normpath(f"a/{directory}")
    hint = f"check that as well, once it is built: `skillsync check {place}`"
    assert told == ([("warning", "not-compared", "package.json", hint)] if is_told else [])


@pytest.mark.parametrize(
    ("directory", "named", "code"),
    [("dist", "a", "not-compared"), (".", "a", "skill-not-packaged"), ("./dist/.", "a/dist", "skill-not-packaged")],
)
def test_what_is_published_from_elsewhere_is_not_told_by_the_trees_own_files(
    tmp_path: Path, directory: str, named: str, code: str
) -> None:
    manifest = {"name": "kelp", "version": "1.2.0", "files": ["lib"], "publishConfig": {"directory": directory}}
    files = {"package.json": json.dumps(manifest), **MEMBER}
    project = make(tmp_path / "all", {f"{top}/{path}": text for top in ("a", "a/dist") for path, text in files.items()})
    assert check(project, named).codes == [code]


def test_what_is_published_in_the_trees_place_is_held_against_the_tree(tmp_path: Path) -> None:
    need("npm")
    manifest = {"name": "kelp", "version": "1.2.0", "publishConfig": {"directory": "dist"}}
    files = {"package.json": json.dumps(manifest), "dist/package.json": '{"name": "kelp", "version": "1.2.0"}'}
    project = make(tmp_path / "all", {**files, **MEMBER})
    result = check(project, ".", "dist")
    assert (result.code, found(result)) == (1, [("error", "skill-not-packaged", "skills/kelp-forms")])
    assert result.json["problems"][0]["hint"].startswith("have your build put it into `dist`, ")
    project.write({f"dist/{path}": text for path, text in MEMBER.items()})
    assert (check(project, ".", "dist").code, check(project, ".", "dist").codes) == (0, [])
    result = project.run("check", ".", "dist", "--build")
    assert result.code == 0
    assert "checked 3 skills, 3 files, 2 trees, 1 artifact" in result.out
    tarball = artifacts.write(project.root / "kelp.tgz", artifacts.tarball(files | MEMBER))
    assert check(project, ".", "dist", tarball.name).codes == []


MEMBER = {"skills/kelp-forms/SKILL.md": skill("kelp-forms")}


@pytest.mark.parametrize("root", [{"package.json": '{"private": true, "workspaces": ["packages/*"]}'}, {}])
def test_of_a_workspace_s_root_the_members_with_skills_are_named(tmp_path: Path, root: dict[str, str]) -> None:
    members = {"kelp": '{"name": "kelp"}', "bare": '{"name": "bare"}', "own": '{"private": true}'}
    files = {f"packages/{name}/package.json": text for name, text in members.items()}
    files |= {f"packages/kelp/{path}": text for path, text in MEMBER.items()}
    # What is private has skills for who works on it; what a skill has in it is no project.
    files |= {".agents/skills/review/SKILL.md": skill("review"), "packages/kelp/skills/kelp-forms/package.json": "{}"}
    installed = {".agent-skills.yaml": "version: 1\nskills:\n  sus-x:\n    gem: sus\n    version: 1.0.0\n"}
    installed |= {"sus-x/SKILL.md": skill("sus-x"), "sus-x/more/SKILL.md": skill("more")}
    files |= {f"packages/bare/.agents/skills/{path}": text for path, text in installed.items()}
    files |= {f"packages/both/.agents/skills/{path}": text for path, text in installed.items()}
    files |= {
        "packages/both/.agents/skills/both-x/SKILL.md": skill("both-x"),
        "packages/both/package.json": members["bare"],
    }
    # Nor is one for others that npm never publishes, or whose package.json makes none.
    for name, text in {"private": '{"name": "private", "private": true}', "none": "{}", "broken": "{"}.items():
        files |= {
            f"packages/{name}/package.json": text,
            f"packages/{name}/skills/x-{name}/SKILL.md": skill(f"x-{name}"),
        }
    files |= {"packages/odd/pyproject.toml": "", "packages/odd/package.json/a": ""}
    files["packages/odd/skills/x-odd/SKILL.md"] = skill("x-odd")
    project = make(tmp_path / "all", {**root, **files})
    result = project.run("check", ".")
    assert result.code == (1 if root else 2)
    assert "have skills: packages/both, packages/broken, packages/kelp, packages/odd\n" in result.err
    # Given together, those without skills fail nobody; nor does the one that npm never publishes.
    result = check(project, "packages/bare", "packages/kelp", "packages/own")
    assert (result.code, found(result)) == (0, [])
    result = project.run("check", "packages/own")
    assert result.code == 1
    assert "packages/own/package.json is private: npm never publishes it\n" in result.err


def test_a_private_package_is_called_by_its_name_and_its_skills_are_told(tmp_path: Path) -> None:
    files = {"package.json": '{"name": "@kelp/own", "private": true}', ".agents/skills/x/SKILL.md": skill("x")}
    files |= {"data/x/SKILL.md": skill("x"), "skills/own-a/SKILL.md": skill("own-a")}
    project = make(tmp_path / "all", {f"own/{path}": text for path, text in files.items()})
    result = check(project, "own")
    assert (result.code, found(result)) == (1, [("error", "no-skills", "package.json")])
    assert [one["name"] for one in result.json["packages"]] == ["@kelp/own"]
    hint = "take `private` out of package.json, if it is to be published"
    assert result.json["problems"][0]["hint"] == f"{hint}; or name the packages that are published"
    project.write({"kelp/package.json": PACKAGE, **{f"kelp/{path}": text for path, text in MEMBER.items()}})
    result = check(project, "own", "kelp")
    assert (result.code, found(result)) == (0, [("note", "skill-not-packaged", "package.json")])
    text = "own/package.json is private: npm never publishes it, nor its skills: skills/own-a"
    assert [(one["message"], one["hint"]) for one in result.json["problems"]] == [(text, hint)]
    # What was packed of another package is none of it.
    artifacts.write(project.root / "kelp.tgz", artifacts.tarball({"package.json": PACKAGE, **MEMBER}))
    assert ("note", "not-compared", ".") in found(check(project, "own", "kelp.tgz"))


def test_a_project_in_a_project_has_its_own_skills(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[project]\nname = "kelp"\n',
        "kelp_slim/pyproject.toml": '[project]\nname = "kelp-slim"\n',
        "kelp_slim/kelp/__init__.py": "",
        "kelp_slim/kelp/skills/kelp-forms/SKILL.md": skill("kelp-forms"),
        "js/package.json": '{"name": "kelp"}',
        "js/lib/deep/kelp-more/SKILL.md": skill("kelp-more"),
    }
    project = make(tmp_path / "all", files)
    assert found(check(project, ".")) == [("error", "no-skills", "pyproject.toml")]
    assert "hint: check the projects below it that have skills: kelp_slim\n" in project.run("check", ".").err
    assert found(check(project, "kelp_slim")) == []


@pytest.mark.parametrize("path", ["nowhere", "file", "empty"])
def test_what_is_no_tree_is_wrong_usage(tmp_path: Path, path: str) -> None:
    project = make(tmp_path / "all", {**GOOD, "file": "", "empty/README.md": ""})
    result = check(project, path)
    assert (result.code, result.codes, result.json["ok"]) == (2, ["usage"], False)
    assert path in result.json["problems"][0]["message"]
    # All else is checked. A file beside packages is what a pattern names, too.
    result = check(project, path, ".")
    code, severity = (0, "warning") if path == "file" else (2, "error")
    assert (result.code, [(one["severity"], one["code"]) for one in result.json["problems"]]) == (
        code,
        [(severity, "usage")],
    )
    assert result.json["checked"]["skills"] == 1
    suite = ET.fromstring(project.run("check", path, "--format", "junit").out).find("testsuite")  # noqa: S314  # our own
    assert suite is not None
    assert (suite.get("name"), suite.get("errors")) == ("skillsync check", "1")


def test_what_the_system_refuses_is_its_error(tmp_path: Path) -> None:
    project = make(tmp_path / "all", {**GOOD, "kelp/package.json/x": ""})
    result = project.run("check", ".", "kelp", "--format", "json")
    assert (project.run("check", "kelp").code, result.code, result.codes) == (4, 4, ["io"])
    assert result.json["problems"][0]["message"] == "kelp: package.json can't be read: it is a directory"


@pytest.mark.parametrize(
    ("closed", "path", "said"),
    [
        ("kelp", "kelp", "kelp: permission denied"),
        ("kelp/kelp.gemspec", "kelp", "kelp: kelp.gemspec can't be read: permission denied"),
        ("kelp", "kelp/pkg", "kelp/pkg: permission denied"),
        ("kelp", "kelp/kelp.gem", "kelp/kelp.gem: permission denied"),
    ],
)
def test_what_may_not_be_looked_at_is_named_and_not_taken_for_absent(closed: str, path: str, said: str) -> None:
    with machine.public_directory() as root:
        project = make(root / "all", {f"kelp/{path}": text for path, text in GOOD.items()})
        machine.hand_over(root)
        (project.root / closed).chmod(0)
        result = machine.as_user(project, "check", path)
        assert (result.code, result.err.splitlines()[0]) == (4, f"error[io]: {said}")
        (project.root / closed).chmod(0o755)


def test_what_may_not_be_looked_at_below_no_package_is_nobody_s_matter() -> None:
    with machine.public_directory() as root:
        project = Project(root / "all").write({"here/closed/x": ""})
        machine.hand_over(root)
        (project.root / "here/closed").chmod(0)
        result = machine.as_user(project, "check", "here")
        assert (result.code, result.err.splitlines()[0]) == (2, "error[usage]: here is the source tree of no package")
        (project.root / "here/closed").chmod(0o755)


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif", "junit"])
def test_no_path_brings_a_line_of_its_own_or_what_a_terminal_obeys(tmp_path: Path, form: str) -> None:
    bad = "a\n::error::b\x1b[31m\x9b\u202e"
    skill_in_it = f"skills/{bad}/SKILL.md"
    files = {"package.json": PACKAGE, skill_in_it: "", f"skills/kelp-forms/{bad}.md": "x"}
    artifacts.write(tmp_path / f"all/{bad}.tgz", artifacts.tarball(files))
    project = make(tmp_path / "all", {f"{bad}/{path}": text for path, text in files.items()})
    for path in (bad, f"{bad}.tgz"):
        result = project.run("check", path, "--format", form)
        assert result.code == 1
        for line in (result.out + result.err).split("\n"):
            # GitHub finds the file by its name as it is.
            assert form == "github" or not any(character in line for character in "\x1b\x9b\u202e")
            assert not line.startswith("::error::")


def calls(project: Project, *arguments: str) -> int:
    """Return how many functions are called by a run."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(counted)
    try:
        project.run(*arguments)
    finally:
        sys.setprofile(None)
    return count


def test_what_a_skill_costs_does_not_grow_with_their_number(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for number in (200, 800):
        skills = {f"skills/kelp-{one}/SKILL.md": "---\nname: x\ndescription: y\n---\n" for one in range(number)}
        files = {"package.json": PACKAGE, **skills}
        artifacts.write(project.root / f"{number}.tgz", artifacts.tarball(files))
    project.run("check", "200.tgz")  # loads what is loaded once
    assert calls(project, "check", "800.tgz") < 4.2 * calls(project, "check", "200.tgz")


def test_what_a_skill_costs_does_not_grow_with_what_package_json_names(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for number in (100, 400):
        skills = {f"{number}/skills/kelp-{one}/SKILL.md": skill(f"kelp-{one}") for one in range(number)}
        manifest = {"name": "kelp", "version": "1.2.0", "files": [f"lib/{one}.js" for one in range(number)]}
        project.write({f"{number}/package.json": json.dumps(manifest), **skills})
    project.run("check", "100")  # loads what is loaded once
    assert calls(project, "check", "400") < 4.2 * calls(project, "check", "100")


def test_of_more_files_than_are_looked_at_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MOST_FILES", 1)
    result = check(make(tmp_path / "kelp", GOOD), ".")
    assert (result.code, found(result)) == (0, [("warning", "package-unreadable", "kelp.gemspec")])
    # Directories alone are as many names.
    monkeypatch.setattr(tree, "MOST_FILES", 8)
    for number in range(2):
        (tmp_path / f"kelp/a/{number}").mkdir(parents=True)
    assert found(check(Project(tmp_path / "kelp"), ".")) == []
    for number in range(6):
        (tmp_path / f"kelp/b/{number}").mkdir(parents=True)
    assert [code for _, code, _ in found(check(Project(tmp_path / "kelp"), "."))] == ["package-unreadable"]


# Forms for CI


def test_findings_are_where_the_files_are_in_the_repository(tmp_path: Path) -> None:
    (tmp_path / "repo/.git").mkdir(parents=True)
    project = make(tmp_path / "repo/gems/kelp", {**GOOD, "skills/kelp-forms/run": "#!/bin/sh\n"})
    project.write({"skills/forms/SKILL.md": skill("forms"), "skills/kelp-bad/SKILL.md": "no frontmatter\n"})
    for at, path in (("", "."), ("skills", "..")):
        lines = project.run("check", path, "--format", "github", at=at).out.splitlines()
        assert lines[-1].startswith("failed: checked 3 skills, ")
        assert [line.partition(",title")[0] for line in lines[:-1]] == [
            "::notice file=gems/kelp/skills/forms/SKILL.md",
            "::error file=gems/kelp/skills/kelp-bad/SKILL.md,line=1,col=1",
            "::warning file=gems/kelp/skills/kelp-forms/run",
        ]
    results = project.run("check", ".", "--format", "sarif").json["runs"][0]
    assert results["invocations"] == [{"executionSuccessful": True}]
    assert [one["level"] for one in results["results"]] == ["note", "error", "warning"]
    rules = {one["id"]: one["shortDescription"]["text"] for one in results["tool"]["driver"]["rules"]}
    assert rules["not-executable"] == "Not executable"  # no drift: nothing has lost a bit


def test_each_skill_is_a_test(tmp_path: Path) -> None:
    project = make(tmp_path / "all", {**{f"a/{path}": text for path, text in GOOD.items()}, "b.gem": ""})
    project.write({"a/skills/forms/SKILL.md": skill("forms"), "a/skills/kelp-bad/SKILL.md": "no frontmatter\n"})
    suite = ET.fromstring(project.run("check", "a", "b.gem", "--format", "junit").out).find("testsuite")  # noqa: S314  # our own
    assert suite is not None
    cases = [(one.get("classname"), one.get("name"), [failed.get("type") for failed in one]) for one in suite]
    assert cases[:-1] == [
        ("a", "forms", []),
        ("a", "kelp-bad", ["invalid-skill"]),
        ("a", "kelp-forms", []),
        ("b.gem", "package", ["archive-unreadable"]),
    ]
    assert (suite[-1].text or "").startswith("note[name-collision]: a/skills/forms/SKILL.md has the name")
    (failure,) = [failed for case in suite for failed in case if failed.get("type") == "invalid-skill"]
    assert (failure.text or "").startswith("a/skills/kelp-bad/SKILL.md:1:1 has no frontmatter\n")


@pytest.mark.parametrize("dist", ["dist", "../out"])
def test_of_a_test_it_is_said_once_where_it_failed(tmp_path: Path, dist: str) -> None:
    files = {"package.json": PACKAGE, "skills/kelp-bad/SKILL.md": "no frontmatter\n"}
    project = make(tmp_path / "kelp", {**files, ".git/HEAD": "", "notes.txt": ""})
    artifacts.write(project.root / dist / "kelp-1.2.0.tgz", artifacts.tarball(files))
    root = ET.fromstring(project.run("check", ".", dist, "notes.txt", "--format", "junit").out)  # noqa: S314  # our own
    place = f"{dist}/kelp-1.2.0.tgz/skills/kelp-bad/SKILL.md"
    assert [(one.text or "").splitlines()[0] for one in root.iter("failure")] == [
        "skills/kelp-bad/SKILL.md:1:1 has no frontmatter",
        f"{place} has no frontmatter ({place}:1:1)",
    ]
    (told,) = root.iter("system-err")
    assert (told.text or "").startswith("warning[usage]: notes.txt is no artifact")


def test_what_is_outside_of_the_repository_is_said_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "repo/.git").mkdir(parents=True)
    make(tmp_path / "other", {"kelp.gemspec": GEMSPEC})
    project = Project(tmp_path / "repo/here")
    line = project.run("check", "../../other", "--format", "github").out.splitlines()[0]
    assert line.startswith("::error title=skillsync%3A no-skills::../../other/kelp.gemspec makes")


def test_what_is_wrong_in_an_artifact_is_said_of_the_artifact(tmp_path: Path) -> None:
    (tmp_path / "repo/.git").mkdir(parents=True)
    project = Project(tmp_path / "repo/gems")
    artifacts.write(project.root / "pkg/kelp.gem", artifacts.gem(artifacts.packed({"skills/kelp-x/SKILL.md": "none"})))
    line = project.run("check", "pkg/kelp.gem", "--format", "github").out.splitlines()[0]
    assert line.startswith(
        "::error file=gems/pkg/kelp.gem,title=skillsync%3A invalid-skill::pkg/kelp.gem/skills/kelp-x"
    )
    assert "(pkg/kelp.gem/skills/kelp-x/SKILL.md:1:1)" in line
