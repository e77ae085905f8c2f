from __future__ import annotations

from configparser import Error, RawConfigParser

import pytest
from builders import quickly

from skillsync.checking import identity
from skillsync.schema import MalformedError


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ('s.name = "kelp"\ns.version = "1.2.0"', "kelp", "1.2.0"),
        ("spec.name='kelp-x'\nspec.version='1.0-rc'", "kelp-x", "1.0.pre.rc"),
        ("s.name = NAME\ns.version = Kelp::VERSION", "file", ""),
        ('s.name = "../x"\ns.version = "one"', "file", ""),
        ("\xff", "file", ""),
        ("", "file", ""),
    ],
)
def test_of_a_gemspec_only_what_stands_there_is_read(text: str, name: str, version: str) -> None:
    found = identity.gem("file.gemspec", text.encode("latin-1"))
    assert (found.name, found.version) == (name, version)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"name": "@a/b", "version": "v1.0.0"}', ("@a/b", "1.0.0")),
        ('{"name": "b"}', ("b", "")),
        ('{"scripts": {}}', None),
    ],
)
def test_a_package_json_that_is_not_published_is_no_package(text: str, expected: tuple[str, str] | None) -> None:
    found = identity.npm(text.encode())
    assert (found and (found.name, found.version)) == expected


@pytest.mark.parametrize("text", ["[", "[]", '{"name": 1}', '{"version": "1.0.0"}', '{"name": "b", "version": "x"}'])
def test_a_package_json_that_npm_refuses_is_refused(text: str) -> None:
    with pytest.raises((MalformedError, ValueError)):
        identity.npm(text.encode())


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pyproject.toml": '[project]\nname = "Kelp_X"\nversion = "1.0.0-rc1"'}, ("kelp-x", "1.0.0rc1")),
        ({"pyproject.toml": '[project]\nname = "kelp"\nversion = "one"'}, ("kelp", "")),
        ({"pyproject.toml": '[project]\nname = "kelp"\ndynamic = ["version"]'}, ("kelp", "")),
        ({"pyproject.toml": '[tool.poetry]\nname = "kelp"\nversion = "2"'}, ("kelp", "2")),
        ({"pyproject.toml": '[build-system]\nrequires = ["setuptools"]'}, ("the-directory", "")),
        ({"pyproject.toml": "[build-system]\n", "setup.cfg": "[metadata]\nname = kelp\n"}, ("kelp", "")),
        ({"setup.py": "setup(name='kelp', version=VERSION)"}, ("kelp", "")),
        ({"setup.py": "setup()"}, ("the-directory", "")),
        ({"setup.py": "setup()", "setup.cfg": "no ini"}, ("the-directory", "")),
        ({"pyproject.toml": "[tool.ruff]", "setup.cfg": "[flake8]"}, None),
        ({"pyproject.toml": "project = 1\ntool = []\n[build-system]"}, ("the-directory", "")),
    ],
)
def test_a_python_project_is_told_by_what_its_files_say(
    files: dict[str, str], expected: tuple[str, str] | None
) -> None:
    found = identity.python({name: text.encode() for name, text in files.items()}, "The Directory".replace(" ", "-"))
    assert (found and (found.name, found.version)) == expected


def test_a_directory_that_no_package_can_be_called_after_is_unknown() -> None:
    found = identity.python({"setup.py": b""}, "the directory")
    assert found is not None
    assert found.name == "unknown"


def test_import_packages_are_where_settings_say() -> None:
    text = """
[build-system]
[tool.setuptools.package-dir]
"" = "lib/"
[tool.setuptools.packages.find]
where = ["python", "../out", 1]
[tool.maturin]
python-source = "py"
[tool.uv.build-backend]
module-root = ""
[tool.pdm.build]
package-dir = "pdm"
[tool.poetry]
packages = [{ include = "kelp", from = "poetry" }, { include = "other" }, 1]
[tool.hatch.build.targets.wheel]
packages = ["hatch/kelp", "kelp", 1]
"""
    found = identity.python({"pyproject.toml": text.encode()}, "kelp")
    assert found is not None
    assert found.roots == {"", "src", "python", "lib", "py", "pdm", "poetry", "hatch"}
    assert list(found.installed("poetry/kelp/skills")) == ["poetry/kelp/skills", "kelp/skills"]


@pytest.mark.parametrize("text", ["[options]\npackage_dir =\n    =lib\n", "[options.packages.find]\nwhere = lib\n"])
def test_a_setup_cfg_says_where_import_packages_are(text: str) -> None:
    found = identity.python({"setup.cfg": f"[metadata]\nname = kelp\n{text}".encode()}, "kelp")
    assert found is not None
    assert "lib" in found.roots


def test_hatchling_is_told_what_to_put_elsewhere() -> None:
    text = """
[project]
name = "kelp"
[tool.hatch.build.force-include]
"./data/" = "kelp/data"
[tool.hatch.build.targets.wheel.force-include]
skills = "/kelp/.agents/skills"
"../out" = "kelp/out"
"/etc" = "kelp/etc"
up = "../up"
number = 1
"""
    found = identity.python({"pyproject.toml": text.encode()}, "kelp")
    assert found is not None
    assert found.moved == {"data": "kelp/data", "skills": "kelp/.agents/skills"}
    assert list(found.installed("skills/a")) == ["kelp/.agents/skills/a", "skills/a"]
    assert list(found.installed("skillset/a")) == ["skillset/a"]


def test_a_name_that_its_files_do_not_say_is_not_stated() -> None:
    assert not identity.gem("file.gemspec", b"s.name = NAME").is_stated
    assert identity.gem("file.gemspec", b's.name = "kelp"').is_stated
    for text, is_stated in (("setup()", False), ("setup(name='kelp')", True)):
        found = identity.python({"setup.py": text.encode()}, "kelp")
        assert found is not None
        assert found.is_stated is is_stated


@pytest.mark.parametrize(
    "text",
    [
        "[a]\nx = 1\ny: 2\nZ.z=\n[b] # b\nw = a = b : c # d\n",
        "[a]\nx =\n  1\n\n  # no\n; no\n    2 = 3\n\n\n[a]\ny = 1\n[b]\n",
        "# no\n  [a]\n  x = 1\n  y = 2\n    3\n z = 4\n\tw = 5\n",
        "[a]\r\nx = 1\r\n  2\r\n",
        "[a]\nx = 1\nx = 2\n[]]\n[b\ny = 1\n",
        "[a]\n[]\n = 1\n",
        "[a]\nx\n",
        "x = 1\n[a]\n",
        "[a]\nx = 1\n\x0b\x0by = 2\n\x1cz = 3\n",
        "",
    ],
)
def test_a_setup_cfg_is_read_as_by_configparser(text: str) -> None:
    parser = RawConfigParser(strict=False)
    try:
        parser.read_string(text)
        expected = {name: dict(parser[name]) for name in parser.sections()}
    except Error:
        expected = {}
    found = identity.python({"setup.py": b"", "setup.cfg": text.encode()}, "d")
    assert found is not None
    assert found.settings.config == expected


@pytest.mark.parametrize(
    "content",
    [
        f"[metadata]\nname = kelp\nx{' ' * 40_000}y\n",
        "[metadata]\n" + "x\n" * 150_000,
        "[DEFAULT]\n" + "".join(f"{n}=\n[{n}]\n[DEFAULT]\n" for n in range(8_000)),
    ],
)
def test_no_setup_cfg_takes_longer_than_its_length(content: str) -> None:
    # By configparser, each takes a multiple of what may pass, and not for ever.
    with quickly():
        identity.python({"setup.cfg": content.encode()}, "d")
