from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import gems
import pytest
from tools import need

from skillsync.discovery.gem.rubygems import Stub, full_name, is_name, normal_version, requirement, stub, version_key

if TYPE_CHECKING:
    from pathlib import Path

# Every version of up to three segments out of these, and what is odd about the way others are written.
_NUMBERS, _WORDS = ("0", "1", "2", "10"), ("a", "b", "B", "rc1", "0a")
_VERSIONS = [
    ".".join((first, *rest))
    for length in range(3)
    for first in _NUMBERS
    for rest in itertools.product((*_NUMBERS, *_WORDS), repeat=length)
] + ["", " 1.2 ", "01.02", "1.0.0.a.0.0", "1.0.a.0.1", "1-2", "1.0-beta-2.x", "1.a1b2c3", "1.99999999999999999999999"]
_FEWER = [*_VERSIONS[::12], *_VERSIONS[-9:]]
_OPERATORS = ("", "=", "!=", ">", "<", ">=", "<=", "~>")
_NO_VERSIONS = ("1-", "1..2", ".1", "1.", "a", "v1", "1 2", "1_0", "1.0\n2", "1/../..", "-1", "1.é", "\uff11", "1\0")


def _ruby(tmp_path: Path, script: str, text: str) -> list[str]:
    need("ruby")
    return gems.run(("ruby", "-e", script), tmp_path, gems.ruby_environ(tmp_path), text).splitlines()


def test_versions_sort_as_the_real_rubygems_sorts_them(tmp_path: Path) -> None:
    script = """
      versions = $stdin.read.split("\\n", -1).map { |text| Gem::Version.new(text) }
      versions.each { |left| puts versions.map { |right| %w[= > <][left <=> right] }.join }
    """
    rows = _ruby(tmp_path, script, "\n".join(_VERSIONS))
    keys = [version_key(version) for version in _VERSIONS]
    for version, key, row in zip(_VERSIONS, keys, rows, strict=True):
        ours = "".join("=" if key == other else ">" if key > other else "<" for other in keys)
        assert list(zip(_VERSIONS, row, strict=True)) == list(zip(_VERSIONS, ours, strict=True)), version


def test_requirements_answer_as_the_real_rubygems_answers(tmp_path: Path) -> None:
    requirements = [f"{operator} {version}" for operator in _OPERATORS for version in _FEWER if version]
    requirements += [f"{one},{two}" for one, two in itertools.pairwise(requirements)]
    script = """
      requirements, versions = $stdin.read.split("\\n\\n", 2).map { |part| part.split("\\n", -1) }
      versions.map! { |text| Gem::Version.new(text) }
      requirements.each do |text|
        test = Gem::Requirement.new(text.split(","))
        puts versions.map { |version| test.satisfied_by?(version) ? "1" : "0" }.join
      end
    """
    rows = _ruby(tmp_path, script, "\n".join(requirements) + "\n\n" + "\n".join(_FEWER))
    for text, row in zip(requirements, rows, strict=True):
        test = requirement(text)
        ours = "".join("1" if test(version) else "0" for version in _FEWER)
        assert list(zip(_FEWER, row, strict=True)) == list(zip(_FEWER, ours, strict=True)), text


def test_what_is_no_version_or_requirement_is_none_for_the_real_rubygems_either(tmp_path: Path) -> None:
    script = """
      $stdin.read.split("\\n\\n").each do |text|
        good = begin
          Gem::Requirement.new(text.split(",", -1))
        rescue Gem::Requirement::BadRequirementError
          nil
        end
        puts "#{!!Gem::Version.correct?(text)} #{!!good}"
      end
    """
    bad = [text for text in _NO_VERSIONS if "\n" not in text]
    assert _ruby(tmp_path, script, "\n\n".join(bad)) == ["false false"] * len(bad)


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("0.9.0", "0.10.0"),
        ("1.0.a", "1.0"),
        ("1.0.a", "1.0.b"),
        ("1.0.a.9", "1.0.a.10"),
        ("1.0.rc1", "1.0.1"),
        ("1.0.0.a", "1"),
        ("1.9.9", "2"),
        ("1.0.0.a.1", "1.0.0.a.1.1"),
        ("1.0.0.a.1.b", "1.0.0.a.1"),
        ("1-2", "1"),
    ],
)
def test_lower_versions_come_first(lower: str, higher: str) -> None:
    assert version_key(lower) < version_key(higher)


@pytest.mark.parametrize(("one", "other"), [("1", "1.0.0"), ("1.0.a", "1.a"), ("1.a.0", "1.a"), ("", "0"), ("01", "1")])
def test_zeros_that_say_nothing_make_no_difference(one: str, other: str) -> None:
    assert version_key(one) == version_key(other)


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("1.2", ["1.2", "1.2.0"], ["1.2.1", "1.2.a"]),
        ("= 1.2", ["1.2.0"], ["1.3"]),
        ("!= 1.2", ["1.3"], ["1.2.0"]),
        ("> 1.2", ["1.2.1"], ["1.2", "1.2.a"]),
        (">= 1.2", ["1.2"], ["1.2.a", "1.1"]),
        ("< 1.2", ["1.2.a", "1.1"], ["1.2"]),
        ("<=1.2", ["1.2"], ["1.2.1"]),
        ("~> 0.24", ["0.24", "0.99.9"], ["0.23", "1.0", "1.0.a"]),
        ("~> 1.2.3", ["1.2.3", "1.2.10"], ["1.3", "1.2.2"]),
        ("~> 2", ["2.9"], ["3", "1.9"]),
        ("~> 1.0.a", ["1.0.b", "1.0", "1.9"], ["2.0"]),
        ("~> 1.2, != 1.2.3", ["1.2.4"], ["1.2.3", "2"]),
        (">= 1 , < 2", ["1.5"], ["2"]),
        ("*", ["0", "1.0.a"], []),
        (" * ", ["1.0.a"], []),
    ],
)
def test_requirements(text: str, yes: list[str], no: list[str]) -> None:
    test = requirement(text)
    assert ([version for version in yes if test(version)], [version for version in no if test(version)]) == (yes, [])


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "``"),
        (">= 1, nonsense", "`nonsense`"),
        (">= 1,", "``"),
        ("=> 1", "`=> 1`"),
        ("^1.2", "`^1.2`"),
        (">= *", "`>= *`"),
        ("*, 1", "`*`"),
        ("~> 1.2 || 2", "`~> 1.2 || 2`"),
        ("9" * 300, "`" + "9" * 40 + "…`"),
        *((text, "is not a RubyGems requirement") for text in _NO_VERSIONS),
    ],
)
def test_what_is_no_requirement_is_refused_by_the_part_that_is_none(text: str, part: str) -> None:
    with pytest.raises(ValueError, match="is not a RubyGems requirement") as caught:
        requirement(text)
    assert part in str(caught.value)


@pytest.mark.parametrize("text", [*_NO_VERSIONS, "9" * 256])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a RubyGems version"):
        version_key(text)
    with pytest.raises(ValueError, match="is not a RubyGems version"):
        requirement(">= 0")(text)


def test_a_version_is_written_as_in_the_name_of_its_directory() -> None:
    assert [normal_version(text) for text in (" 1.0\n", "1.0-beta-2", "")] == ["1.0", "1.0.pre.beta.pre.2", "0"]


@pytest.mark.parametrize("text", ["", ".", "..", ".hidden", "a/b", "a b", "a\0", "a\nb", "é", "a" * 256, "\u202eb"])
def test_what_a_gem_can_not_be_named(text: str) -> None:
    assert not is_name(text)


@pytest.mark.parametrize("text", ["a", "_", "Active_Record-x.y", "x86_64-linux", "3d"])
def test_what_a_gem_can_be_named(text: str) -> None:
    assert is_name(text)


@pytest.mark.parametrize(
    ("line", "full"),
    [
        ("# stub: ext-gem 3.0.0 ruby lib", "ext-gem-3.0.0"),
        ("# stub: plat-gem 2.0.0 x86_64-linux lib\0ext", "plat-gem-2.0.0-x86_64-linux"),
        ("# stub: under_score 0.1.0.pre.1 ruby lib\r", "under_score-0.1.0.pre.1"),
        ("# stub:  spaced   1.0  ruby a path with blanks", "spaced-1.0"),
        ("# stub: no-paths 1.0 ruby", "no-paths-1.0"),
    ],
)
def test_a_stub_line_tells_the_directory(line: str, full: str) -> None:
    found = stub(f"# -*- encoding: utf-8 -*-\n{line}\n\nGem::Specification.new do |s|\n")
    assert found is not None
    assert found.full_name == full


def test_a_stub_line_tells_name_version_and_platform() -> None:
    found = stub("# -*- encoding: utf-8 -*-\n# stub: a-1 2.0-x java lib\n# stub: ext/extconf.rb\n")
    assert found == Stub(name="a-1", version="2.0.pre.x", platform="java")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# stub: a 1.0 ruby lib\n# encoding\n\n",
        "\n\n# stub: a 1.0 ruby lib\n\n",
        "\n#stub: a 1.0 ruby lib\n\n",
        "\n # stub: a 1.0 ruby lib\n\n",
        "\n# stub: a 1.0 ruby lib\n",
        "\n# stub: a 1.0 ruby lib",
        "\n# stub: \n\n",
        "\n# stub: a\n\n",
        "\n# stub: a 1.0\n\n",
        "\n# stub: a 1.0/.. ruby lib\n\n",
        "\n# stub: ../a 1.0 ruby lib\n\n",
        "\n# stub: a 1.0 ../ruby lib\n\n",
        "\nGem::Specification.new do |s|\n\n",
    ],
)
def test_where_rubygems_would_evaluate_or_nothing_usable_stands_there_is_no_stub(text: str) -> None:
    assert stub(text) is None


def test_a_full_name_has_the_platform_only_if_there_is_one() -> None:
    assert [full_name("a", "1.0", "ruby"), full_name("a", "1.0", "java")] == ["a-1.0", "a-1.0-java"]


def test_long_texts_are_refused_without_delay() -> None:
    for text in ("1" + ".0" * 500_000, "1" + "-a" * 500_000, ">= " + " " * 1_000_000):
        with pytest.raises(ValueError, match="is not a RubyGems requirement"):
            requirement(text)
    assert stub("\n# stub: " + "a " * 500_000 + "\n\n") is None
