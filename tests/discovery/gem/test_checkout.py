from __future__ import annotations

from typing import TYPE_CHECKING

import gems
import pytest
from tools import need

from skillsync import filesystem
from skillsync.discovery.gem import checkout as gem_checkout
from skillsync.discovery.gem.bundler import DEFAULT_GLOB
from skillsync.discovery.gem.checkout import Checkout, gemspecs
from skillsync.errors import UnreadableError

if TYPE_CHECKING:
    from pathlib import Path

_FILES = (
    ".gemspec",
    "a.gemspec",
    "ab.gemspec",
    ".hidden.gemspec",
    "one/b.gemspec",
    "one/a.gemspec",
    "one/two/c.gemspec",
    "one/two/three/d.gemspec",
    ".dot/e.gemspec",
    "gems/x/x.gemspec",
    "gems/y/y.gemspec",
    "gems/[z]/z.gemspec",
    "gems/x/x.gemspec.txt",
)
# None of these leaves the tree or follows a link: there Ruby's own answer differs, and ours has to.
_GLOBS = (
    DEFAULT_GLOB,
    "*.gemspec",
    "gems/*/*.gemspec",
    "gems/{x,y}/*.gemspec",
    "{one,gems/{x,y}}/*.gemspec",
    "{a,b,}.gemspec",
    "one/**/*.gemspec",
    "**/*.gemspec",
    "**/[ab].gemspec",
    "**/[^ab].gemspec",
    "?.gemspec",
    ".*.gemspec",
    ".dot/*.gemspec",
    "./one//b.gemspec",
    "gems/x",
    "**/x/*",
    "nothing/*.gemspec",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    gems.write_files(tmp_path / "tree", dict.fromkeys(_FILES, ""))
    (tmp_path / "tree" / "directory.gemspec").mkdir()
    return tmp_path / "tree"


def test_globs_match_what_they_match_in_ruby(tree: Path) -> None:
    need("ruby")
    script = """
      STDIN.each_line(chomp: true) do |glob|
        found = Dir.glob(glob).reject { |path| File.directory?(path) || !path.end_with?(".gemspec") }
        puts found.map { |path| path.delete_prefix("./").squeeze("/") }.uniq.sort.join(" ")
      end
    """
    rows = gems.run(("ruby", "-e", script), tree, gems.ruby_environ(tree.parent / "home"), "\n".join(_GLOBS))
    assert [" ".join(sorted(gemspecs(str(tree), glob))) for glob in _GLOBS] == rows.splitlines()


def test_the_default_glob_reaches_one_directory_down_and_takes_the_least_deep_first(tree: Path) -> None:
    assert gemspecs(str(tree), DEFAULT_GLOB) == [
        ".gemspec",
        "a.gemspec",
        "ab.gemspec",
        "one/a.gemspec",
        "one/b.gemspec",
    ]


@pytest.mark.parametrize(
    "glob",
    [
        "../*.gemspec",
        "*/../../*.gemspec",
        "{..,.}/secret.gemspec",
        "{/,x}*.gemspec",
        "**",
        "",
        "/",
        "{",
        "}{",
        "{" * 500,
        "a" * 1001 + ".gemspec",
        "*/" * 17 + "*.gemspec",
        "{a,b}" * 7 + ".gemspec",
        "[",
        "\\*.gemspec",
    ],
)
def test_a_glob_never_leaves_the_tree_and_matches_nothing_odd(tree: Path, glob: str) -> None:
    gems.write_files(tree.parent, {"secret.gemspec": ""})
    gems.write_files(tree, {"aaaaaaa.gemspec": "", "q/" * 17 + "q.gemspec": ""})
    assert gemspecs(str(tree), glob.replace("{/", "{" + str(tree.parent) + "/")) == []


def test_no_link_below_the_tree_is_followed_though_the_tree_may_be_one(tree: Path) -> None:
    outside = tree.parent / "outside"
    gems.write_files(outside, {"x.gemspec": "", "deep/y.gemspec": ""})
    (tree / "link").symlink_to(outside)
    (tree / "linked.gemspec").symlink_to(outside / "x.gemspec")
    (tree / "loop").symlink_to(tree)
    (tree.parent / "alias").symlink_to(tree)
    for glob in (DEFAULT_GLOB, "**/*.gemspec", "link/*.gemspec"):
        found = gemspecs(str(tree.parent / "alias"), glob)
        assert [path for path in found if path.startswith(("link/", "loop/"))] == []
    assert "linked.gemspec" in gemspecs(str(tree.parent / "alias"), "*.gemspec")


def test_a_deep_tree_ends_somewhere(tree: Path) -> None:
    deep = "/".join(["d"] * 30)
    gems.write_files(tree, {f"{deep}/far.gemspec": "", f"{deep[:19]}/near.gemspec": ""})
    found = gemspecs(str(tree), "**/{near,far}.gemspec")
    assert found == ["d/d/d/d/d/d/d/d/d/d/near.gemspec"]


def test_a_wide_tree_ends_somewhere(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillsync.discovery.gem.checkout._STEPS", 3)
    assert len(gemspecs(str(tree), "*.gemspec")) <= 3
    assert gemspecs(str(tree), "**/**/**/*.gemspec") == []


@pytest.mark.parametrize("function", ["list_directory", "is_directory"])
def test_a_directory_that_can_not_be_read_hides_no_other(
    tree: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    real = getattr(filesystem, function)

    def refusing(path: str, **options: bool) -> object:
        if path.startswith(f"{tree}/one"):
            raise UnreadableError
        return real(path, **options)

    monkeypatch.setattr(gem_checkout, function, refusing)
    found = gemspecs(str(tree), "*/**/*.gemspec")
    assert found == ["gems/[z]/z.gemspec", "gems/x/x.gemspec", "gems/y/y.gemspec"]


def test_a_tree_that_is_not_there_has_no_gemspecs(tmp_path: Path) -> None:
    assert gemspecs(str(tmp_path / "none"), DEFAULT_GLOB) == []


def test_a_gem_is_where_its_gemspec_is(tree: Path) -> None:
    checkout = Checkout(str(tree), "**/*.gemspec")
    found = {name: checkout.directory_of(name, alone=False) for name in ("x", "a", "b", "none")}
    assert found == {"x": f"{tree}/gems/x", "a": str(tree), "b": f"{tree}/one", "none": None}


def test_a_gemspec_of_another_name_is_known_by_its_stub_line(tree: Path) -> None:
    for directory in ("one", ".dot"):
        gems.write_files(tree, {f"{directory}/{directory[1:]}.gemspec": gems.stub_text("other", "1.0")})
    assert Checkout(str(tree), DEFAULT_GLOB).directory_of("other", alone=False) == f"{tree}/one"
    assert Checkout(str(tree), "one/ne.gemspec").directory_of("x", alone=True) is None


def test_a_gemspec_that_tells_nothing_counts_if_nothing_else_can_be_meant(tree: Path) -> None:
    checkout = Checkout(str(tree), "gems/x/*.gemspec")
    assert checkout.directory_of("other", alone=True) == f"{tree}/gems/x"
    assert checkout.directory_of("other", alone=False) is None
    assert Checkout(str(tree), "gems/*/*.gemspec").directory_of("other", alone=True) is None
    assert Checkout(str(tree), "nothing").directory_of("other", alone=True) is None
