"""What is read was written by anybody: it is read as a whole or refused as it should be, in little time and memory."""

from __future__ import annotations

import time
import tracemalloc
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

import pytest
import yaml
from builders import SHELVES, locked, locked_skill
from hypothesis import given
from hypothesis import strategies as st

from skillsync import yaml_nodes
from skillsync.discovery import skill
from skillsync.discovery.gem import bundler, rubygems
from skillsync.discovery.npm import locks, package_json, workspace
from skillsync.discovery.pypi import dependencies, environments, metadata, record
from skillsync.discovery.pypi.versions import canonical, version_key
from skillsync.errors import Code
from skillsync.hashing import Link, tree_hash
from skillsync.locking import lockfile, manifest
from skillsync.locking.lockfile import Lockfile
from skillsync.schema import InvalidError, MalformedError, hash_fault, line_fault, name_fault, path_fault, toml
from skillsync.syncing import journal, registry
from skillsync.syncing.journal import Step
from skillsync.syncing.registry import Registry, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skillsync.schema import Place

T = TypeVar("T")

_SKILL = b"""\
---
name: ruby-testing
description: >-
  Tests Ruby code, and
  "quotes": it.
license: [MIT, {x: 'y'}]
---
# Text
"""
_MANIFEST = b"""\
version = 1
ecosystems = ["gem"]
targets = [".agents/skills", ".claude/skills"]
gitignore = false
[providers.gem]
sus = "*"
bake = { version = ["~> 0.24", "!= 0.25"], skills = ["bake-*"], exclude = ["bake-old"], path = "lib/skills" }
"async-*" = ">= 1.0"
"""
_LOCK = lockfile.dump(
    Lockfile(
        providers=(
            locked("gem:sus", "testing", locked_skill("other", {"a/b.md": "x", "latest.md": Link("a/b.md")})),
            locked("npm:@s/x", "third"),
        )
    )
)
_REGISTRY = b"""\
---
version: 1
skills:
  ruby-testing:
    gem: sus
    version: '1.0'
    hash: blake3:00000000000000000000000000000000000000000000000000000000000000ff
    note: |
      two
      lines
  fastapi: {ecosystem: pypi, package: fastapi, version: 0.165.0}
  foreign:
    owner: [someone, ~]
tool: !own x
"""
_GEMFILE_LOCK = b"""\
GIT
  remote: https://example.org/oak.git
  revision: 0123456789abcdef0123456789abcdef01234567
  branch: main
  glob: {,*}.gemspec
  specs:
    oak (1.0.0)
      elm (~> 2.1, >= 2.1.3)

PATH
  remote: engines/admin
  specs:
    admin (0.1.0)

GEM
  remote: https://rubygems.org/
  specs:
    elm (2.1.3)
    elm (2.1.3-x86_64-linux)

PLATFORMS
  ruby
  x86_64-linux

DEPENDENCIES
  admin!
  elm (~> 2.1)
  oak!

BUNDLED WITH
   2.3.15
"""
_GEMFILE = b"""\
source "https://rubygems.org"
# gem "none"
gem "elm", "~> 2.1" # text
gem('oak', git: 'https://example.org/oak.git')
=begin
gem "none"
=end
__END__
"""
_GEMSPEC = b"""\
# -*- encoding: utf-8 -*-
# stub: elm 2.1.3 x86_64-linux lib
Gem::Specification.new do |s|
end
"""
_RECORD = b"""\
elm/__init__.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0
"elm/.agents/skills/elm-use/a ""b"", c.md",sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0
../../bin/elm,,
elm-2.1.3.dist-info/RECORD,,
"""
_JOURNAL = journal.dump(
    (
        Step(skill="testing", old=locked_skill("a").hash, new=locked_skill("b").hash, inode=1 << 40),
        Step(skill="gone", old=None, new=None, inode=0),
    ),
    registry.dump(
        Registry(rows={"testing": Row(ecosystem="gem", package="sus", version="1.0", hash=locked_skill("b").hash)})
    ),
)

_METADATA = b"""\
Metadata-Version: 2.1
Name: Elm_Tools
Version: 2.1.3rc1
Summary: Trees
  and more
License-File: LICENSE

# Elm

Version: 3
"""
_DIRECT_URL = b'{"url": "file:///home/me/elm%20tree", "dir_info": {"editable": true}}'
_PYVENV = b"""\
home = /usr/bin
include-system-site-packages = true
version_info = 3.12.4.final.0
"""
_PYPROJECT = b"""\
[project]
name = "app"
dependencies = ["elm>=2,<3; python_version > '3.8'", "oak[extra] @ https://example.org/oak.whl"]
[project.optional-dependencies]
more = ["ash"]
[dependency-groups]
dev = ["fir", {include-group = "other"}]
[tool.uv]
dev-dependencies = ["yew"]
workspace = {members = ["packages/*"]}
[tool.poetry.group.test.dependencies]
python = "^3.9"
box = {version = "*"}
[[package]]
name = "elm"
"""
_REQUIREMENTS = b"""\
-r other.txt
--requirement=more.txt
elm>=2,<3 --hash=sha256:00 \\
    --hash=sha256:01  # text
-e git+https://example.org/oak.git#egg=oak&subdirectory=a
./local
"""
_PACKAGE_JSON = b"""\
{"name": "@s/elm", "version": "v2.1.3-rc.1+build", "workspaces": {"packages": ["packages/*", "!packages/x"]},
 "dependencies": {"oak": "^1", "ash": "npm:@t/fir@~2"}, "peerDependencies": {"yew": "*"}}
"""
_PNPM_WORKSPACE = b"""\
packages:
  - packages/**
  - '!packages/{a,b}'
catalog: {oak: ^1}
"""
_NODE_LOCKS = {
    "package-lock.json": b"""\
{"lockfileVersion": 3, "packages": {
    "node_modules/@s/elm": {"version": "2.1.3", "name": "oak", "resolved": "npm:ash@1"}}, "dependencies": {
    "fir": {
      "version": "1"}}}
""",
    "pnpm-lock.yaml": b"packages:\n\n  '@s/elm@2.1.3(oak@1)':\n    resolution: {}\n  /ash/1.0.0:\n  ? fir@1\n",
    "yarn.lock": b'# yarn\n\n"@s/elm@^2", "@s/elm@npm:~2":\n  version "2.1.3"\n\noak@1:\n',
    "bun.lock": b'{"packages": {"@s/elm": ["@s/elm@2.1.3", "", {}],}}\n',
}

# What means something to one of the languages, or to whoever takes a text for a path.
_PIECES = st.sampled_from(
    [
        *(b"\n", b"\r", b"\r\n", b"\t", b" ", b"  ", b"\0", b"\x7f", b"\x1b", b"\xff", b"\xc3", b"\xed\xa0\x80"),
        *(b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xc2\x85", b"\xf0\x9f\x98\x80", b"\xff\xfe", b"\xef\xbf\xbe"),
        *(b": ", b":", b"- ", b"? ", b"---\n", b"\n---\n", b"...\n", b"#", b" #", b"|\n", b">\n", b"%YAML 1.1\n---\n"),
        *(
            b"[",
            b"]",
            b"{",
            b"}",
            b",",
            b"'",
            b'"',
            b"\\",
            b"`",
            b"@",
            b"&a ",
            b"*a",
            b"!",
            b"!!int ",
            b"!!null ",
            b"!x!",
        ),
        *(b'"\\ud800"', b'"\\U00110000"', b'"\\0"', b"'''", b'"""', b"=", b".", b"[[", b"]]", b"<<: ", b"=======\n"),
        *(b"<<<<<<< x\n", b">>>>>>> x\n", b"[" * 300, b"{a: " * 300, b"{a=" * 300, b"- " * 300, b"a." * 3000),
        *(
            b"null",
            b"true",
            b"1e400",
            b"9" * 400,
            b"2001-01-01",
            b"1",
            b"2",
            b"0",
            b"-1",
            b"nan",
            b"0x1f",
            b"..",
            b"../",
        ),
        *(b"version", b"skills", b"gem", b"name", b"provider", b"a" * 5000, b" " * 5000, b"*" * 3000),
        *(
            b"GEM\n",
            b"  specs:\n",
            b"    elm (1)\n",
            b"  remote: ",
            b"# stub: ",
            b"1." * 3000,
            b"-" * 3000,
            b"(" * 3000,
        ),
        *(b"=begin\n", b"\n__END__\n", b"gem ", b"gem '" * 1000, b'""' * 2000, b"," * 3000, b"[" * 20_000),
        *(b"Name: ", b"Version: ", b"\nname: x\n", b"%zz", b"%00", b"file://", b"//[", b"\xef\xb7\xba" * 100, b"; "),
        *(b"-r ", b"egg=", b"@", b"npm:", b"node_modules/", b"**/" * 1000, b"{,}" * 1000, b"\n  ", b"~=", b"1!" * 500),
        *(b'{"a":' * 20_000, b'"\\ud800"', b"1e400", b"-0", b"NaN", b'"inode":', b'"steps":[', b"\\n"),
    ]
) | st.binary(max_size=8)


def _flipped(content: bytes, at: int) -> bytes:
    """Turn one bit over."""
    changed = bytearray(content)
    if changed:
        changed[at % len(changed)] ^= 1 << at % 8
    return bytes(changed)


def _cut_short(content: bytes, at: int) -> bytes:
    return content[: at % (len(content) + 1)]


def _doubled(content: bytes, at: int) -> bytes:
    """Let a line be there many times."""
    lines = content.splitlines(keepends=True)
    index = at % len(lines) if lines else 0
    line = lines[index] if lines else b""
    return b"".join([*lines[:index], line * (5000 // max(1, len(line)) or 1), *lines[index + 1 :]])


@st.composite
def _mutated(draw: st.DrawFn, document: bytes) -> bytes:
    """Change a valid document here and there."""
    content = document
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.integers(0, 3)) == 0:
            content = draw(st.sampled_from((_flipped, _cut_short, _doubled)))(content, draw(st.integers(0, 1 << 20)))
            continue
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.sampled_from([0, 0, 1, 2, 8, 60, len(document)])))
        piece = draw(_PIECES | st.just(content[start:end] * 2))
        content = content[:start] + piece + content[end:]
    return content


def _untrusted(document: bytes) -> st.SearchStrategy[bytes]:
    return _mutated(document) | st.lists(_PIECES, max_size=12).map(b"".join) | st.binary(max_size=200)


@contextmanager
def _cheaply() -> Iterator[None]:
    """Fail for more than a second of the process's own time, or more than 100 MiB of Python's memory."""
    tracemalloc.start()
    started = time.process_time()
    try:
        yield
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    # PyYAML's own parser, for who has none of its wheels, takes ten times as long; nothing of that is ours.
    is_slow = yaml_nodes._LOADER is yaml.BaseLoader  # noqa: SLF001
    assert time.process_time() - started < (5 if is_slow else 1)
    assert peak < 100 << 20


def _read(parse: Callable[[bytes], T], content: bytes) -> T | None:
    place: Place = (None, None)
    with _cheaply():
        try:
            return parse(content)
        except MalformedError as error:
            place = error.place
        except InvalidError:
            pass
    assert all(number is None or number >= 1 for number in place)
    return None


@pytest.fixture(params=["libyaml", "python"])
def _library(request: pytest.FixtureRequest) -> Iterator[None]:
    """Use both of PyYAML's parsers, which differ in what they let through."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "python":
            patch.setattr(yaml_nodes, "_LOADER", yaml.BaseLoader)
            patch.setattr(yaml_nodes, "_DUMPER", yaml.SafeDumper)
        yield


@given(_untrusted(_MANIFEST))
def test_a_manifest_is_read_as_a_whole_or_refused(content: bytes) -> None:
    found = _read(lambda text: manifest.parse(text, SHELVES), content)
    if found:
        assert not any(map(path_fault, found.targets))
        for rule in (rule for rules in (found.rules or {}).values() for rule in rules):
            assert not line_fault(rule.pattern)
            assert not (rule.path and path_fault(rule.path))
            rule.meets("1.0")
            rule.admits("ruby-testing")


@given(_untrusted(_LOCK))
def test_a_lock_is_read_as_a_whole_or_refused(content: bytes) -> None:
    found = _read(lockfile.parse, content)
    if found:
        for provider, locked_one in found.skills.values():
            assert not line_fault(provider.name)
            assert not name_fault(locked_one.name)
            assert not any(map(path_fault, locked_one.tree))
            assert locked_one.hash == tree_hash(locked_one.tree)
        again = lockfile.parse(lockfile.dump(found))
        assert again.skills == found.skills


@pytest.mark.usefixtures("_library")
@given(_untrusted(_REGISTRY))
def test_a_registry_is_read_as_a_whole_or_refused(content: bytes) -> None:
    found = _read(registry.parse, content)
    if found:
        assert not any(map(name_fault, found.rows))
        for row in found.rows.values():
            assert not isinstance(row, Row) or not line_fault(row.package)
            assert not isinstance(row, Row) or row.hash is None or not hash_fault(row.hash)
        written = registry.dump(found)
        assert registry.parse(written) == found
        assert registry.dump(registry.parse(written)) == written


@pytest.mark.usefixtures("_library")
@given(_untrusted(_SKILL))
def test_frontmatter_is_read_or_explained(content: bytes) -> None:
    with _cheaply():
        found = skill.parse(content, skill.about("gem:sus", "ruby-testing", "skills/ruby-testing/SKILL.md"))
    for problem in found.problems:
        assert problem.code is Code.INVALID_SKILL
        assert problem.message
        assert problem.line is not None
        assert (
            1
            <= problem.line
            <= content.count(b"\n")
            + content.count(b"\r")
            + content.count(b"\xc2\x85")
            + (content.count(b"\xe2\x80") + 1)
        )
    assert bool(found.description.strip()) is not any(problem.is_error for problem in found.problems)


@given(_untrusted(_JOURNAL))
def test_a_journal_is_read_as_a_whole_or_refused(content: bytes) -> None:
    found = _read(journal.parse, content)
    if found:
        assert len({step.skill for step in found.steps}) == len(found.steps)
        for step in found.steps:
            assert not name_fault(step.skill)
            assert not any(text is not None and hash_fault(text) for text in (step.old, step.new))
        assert journal.parse(journal.dump(found.steps, registry.dump(found.registry))) == found


@given(_untrusted(_GEMFILE_LOCK))
def test_a_bundle_s_lock_is_read_as_a_whole_or_refused(content: bytes) -> None:
    text = content.decode(errors="replace")
    line: int | None = None
    found = bundler.Lock(sources=(), dependencies=frozenset())
    with _cheaply():
        try:
            found = bundler.parse_lock(text)
        except bundler.LockTextError as error:
            line = error.line
        checkouts = [source.checkout for source in found.sources]
    assert line is None or 1 <= line <= text.count("\n") + 1
    assert not any(one is not None and (not one.isprintable() or "/" in one) for one in checkouts)
    assert found.named.issuperset(gem.name for source in found.sources for gem in source.gems)


@given(_untrusted(_GEMFILE), _untrusted(_GEMFILE_LOCK))
def test_a_gemfile_and_bundler_s_settings_say_what_they_can(gemfile: bytes, config: bytes) -> None:
    with _cheaply():
        names = bundler.gem_names(gemfile.decode(errors="replace"))
        settings = bundler.parse_config(config.decode(errors="replace"))
    assert not any("/" in name for name in names)
    assert all(key.startswith("BUNDLE_") for key in settings)


@given(_untrusted(_GEMSPEC))
def test_a_gemspec_s_stub_line_is_read_or_there_is_none(content: bytes) -> None:
    with _cheaply():
        found = rubygems.stub(content.decode(errors="replace"))
    if found:
        assert rubygems.is_name(found.name)
        assert "/" not in found.full_name
        rubygems.version_key(found.version)


@given(_untrusted(_RECORD))
def test_a_record_is_read_as_a_whole_or_refused(content: bytes) -> None:
    with _cheaply(), suppress(ValueError):
        found = record.parse(content.decode(errors="replace"))
        assert not any(map(path_fault, found))
        record.places(found)
        record.skill_directories(found)
        for text in found.values():
            record.sha256(text)


@given(_untrusted(_METADATA))
def test_who_a_distribution_is_is_read_or_explained(content: bytes) -> None:
    with _cheaply(), suppress(ValueError):
        found = metadata.identity(content)
        assert found.name == canonical(found.name)
        assert not {"/", "\0", "\n"} & set(found.name + found.version)
        version_key(found.version)
        metadata.likely_names(found)


@given(_untrusted(_DIRECT_URL))
def test_where_a_distribution_comes_from_is_read_or_explained(content: bytes) -> None:
    with _cheaply(), suppress(ValueError):
        found = metadata.direct(content)
        if found:
            assert found.path.startswith("/")
            assert not {"", ".", "..", "\0"} & set(found.path[1:].split("/")) or found.path == "/"


@given(_untrusted(_PYVENV), _untrusted(_REQUIREMENTS))
def test_lines_of_python_s_tools_say_what_they_can(config: bytes, requirements: bytes) -> None:
    with _cheaply():
        values = environments.config_values(config.decode(errors="replace"))
        names, included = dependencies.of_requirements(dependencies.requirements_text(requirements))
        metadata.pth_paths(config.decode(errors="surrogateescape"))
        metadata.import_names(requirements.decode(errors="replace"))
        metadata.source_names(requirements.decode(errors="replace"))
    assert all(key == key.strip().lower() for key in values)
    assert all(name == canonical(name) for name in names)
    assert all(included)


@given(_untrusted(_PYPROJECT))
def test_a_pyproject_or_a_lock_is_read_as_a_whole_or_refused(content: bytes) -> None:
    found = _read(toml, content)
    if found:
        with _cheaply():
            named = dependencies.of_pyproject(found.data) | dependencies.of_lock(found.data)
            dependencies.project_name(found.data)
        assert all(name == canonical(name) for name in named)


@given(_untrusted(_PACKAGE_JSON))
def test_a_package_json_is_read_as_a_whole_or_refused(content: bytes) -> None:
    found = _read(package_json.load, content)
    if found is not None:
        with _cheaply():
            patterns = package_json.workspaces(found)
            assert all(isinstance(name, str) for name in package_json.dependencies(found))
            for pattern in patterns:
                assert len(workspace._alternatives(pattern)) <= 200  # noqa: SLF001
            with suppress(ValueError):
                about = package_json.identity(found)
                assert package_json.is_name(about.name)
                assert ".." not in about.name.split("/")
                assert about.version.isascii()


@pytest.mark.usefixtures("_library")
@given(_untrusted(_PNPM_WORKSPACE))
def test_yaml_of_others_is_read_or_explained(content: bytes) -> None:
    text = content.decode(errors="replace")
    place = (1, 1)
    with _cheaply():
        try:
            yaml_nodes.compose(text)
        except yaml_nodes.YamlError as error:
            place = (error.line, error.column)
    assert min(place) >= 1


@pytest.mark.parametrize("file_name", locks.FILE_NAMES)
@given(st.data())
def test_a_lock_of_node_s_tools_says_what_it_can(file_name: str, data: st.DataObject) -> None:
    content = data.draw(_untrusted(_NODE_LOCKS.get(file_name, _NODE_LOCKS["package-lock.json"])))
    with _cheaply():
        found = locks.names(file_name, content)
    assert not any(character.isspace() or character in "\"'" for name in found for character in name)
