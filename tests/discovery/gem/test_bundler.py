from __future__ import annotations

import pytest

from skillsync.discovery.gem.bundler import (
    DEFAULT_GLOB,
    Kind,
    LockedGem,
    LockTextError,
    Source,
    expand,
    gem_names,
    local_config,
    lock_name,
    parse_config,
    parse_lock,
    settings,
    user_config,
)

LOCK = """\
GIT
  remote: https://example.org/org/repo.git
  revision: fe13e25d4683e3795eaa9749b972b0690ead2bfd
  tag: v0.4.0
  submodules: true
  specs:
    gitgem (0.4.0)

GIT
  remote: file:///home/dev/monorepo
  revision: 2cc1c8fa631bb37eb9245dedabfc5dbb0dc68f22
  branch: main
  glob: gems/*/*.gemspec
  specs:
    mono_a (0.5.0)
    mono_b (0.5.0)

PATH
  remote: ../pathgem
  specs:
    pathgem (0.3.0)
      demo-gem (~> 1.0)

PLUGIN SOURCE
  remote: https://example.org/plugin
  type: git
  specs:
    plugin (1.0)

GEM
  remote: https://rubygems.org/
  remote: https://gems.example.org/
  specs:
    demo-gem (1.1.0)
    plat-gem (2.0.0-x86_64-linux)
      demo-gem (>= 1, < 3)
      weird-dependency!

PLATFORMS
  x86_64-linux

DEPENDENCIES
  demo-gem (= 1.1.0)
  gitgem!
  nogemspec (= 1.2.3)!
    not-one

CHECKSUMS
  demo-gem (1.1.0) sha256=abc

RUBY VERSION
   ruby 3.4.1p0

BUNDLED WITH
   2.6.2
"""


def _gems(text: str) -> list[tuple[str, str, str]]:
    return [(gem.name, gem.version, gem.platform) for source in parse_lock(text).sources for gem in source.gems]


def test_a_lock_is_its_sources_with_their_gems() -> None:
    git, mono, path, index = parse_lock(LOCK).sources
    assert git == Source(
        kind=Kind.GIT,
        remote="https://example.org/org/repo.git",
        revision="fe13e25d4683e3795eaa9749b972b0690ead2bfd",
        glob=DEFAULT_GLOB,
        gems=(LockedGem(name="gitgem", version="0.4.0", platform="ruby", line=7),),
        line=1,
    )
    assert (mono.glob, [gem.name for gem in mono.gems]) == ("gems/*/*.gemspec", ["mono_a", "mono_b"])
    assert (path.kind, path.remote, [gem.name for gem in path.gems]) == (Kind.PATH, "../pathgem", ["pathgem"])
    assert (index.kind, [(gem.name, gem.version, gem.platform) for gem in index.gems]) == (
        Kind.GEM,
        [("demo-gem", "1.1.0", "ruby"), ("plat-gem", "2.0.0", "x86_64-linux")],
    )


def test_a_lock_names_its_gems_and_what_the_gemfile_asks_for() -> None:
    lock = parse_lock(LOCK)
    assert lock.dependencies == {"demo-gem", "gitgem", "nogemspec"}
    assert lock.named == {"demo-gem", "gitgem", "mono_a", "mono_b", "nogemspec", "pathgem", "plat-gem"}


def test_only_the_first_dash_begins_the_platform() -> None:
    assert _gems("GEM\n  specs:\n    a-b (1.0.pre.1-x64-mingw-ucrt)\n") == [("a-b", "1.0.pre.1", "x64-mingw-ucrt")]


@pytest.mark.parametrize(
    "change",
    [("\n", "\r\n"), ("GIT\n  remote: https", "\ufeffGIT\n  remote: https"), ("\n\n", "\n\n \t\n\n"), (":\n", ":  \n")],
)
def test_a_lock_may_have_been_through_an_editor(change: tuple[str, str]) -> None:
    def without_lines(text: str) -> list[tuple[Kind, str, list[tuple[str, str]]]]:
        return [
            (each.kind, each.remote, [(gem.name, gem.version) for gem in each.gems])
            for each in parse_lock(text).sources
        ]

    changed = LOCK.replace(*change)
    assert changed != LOCK
    assert without_lines(changed) == without_lines(LOCK)
    assert parse_lock(changed).dependencies == parse_lock(LOCK).dependencies


def test_a_lock_without_gems_is_one() -> None:
    assert parse_lock("GEM\n  remote: https://rubygems.org/\n  specs:\n\nDEPENDENCIES\n").named == frozenset()
    assert parse_lock("PLATFORMS\n  ruby\n").sources == ()


@pytest.mark.parametrize("marker", ["<<<<<<< HEAD", "=======", ">>>>>>> branch", "||||||| base"])
def test_conflict_markers_are_named_with_their_line(marker: str) -> None:
    with pytest.raises(LockTextError, match="merge conflict markers") as caught:
        parse_lock(LOCK.replace("    gitgem", f"{marker}\n    gitgem", 1))
    assert caught.value.line == 7
    assert caught.value.hint == "resolve the conflict and run `bundle install`"


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", None, "it is empty"),
        ("\n \r\n", None, "it is empty"),
        ("hello\n  world\n", None, "no section of a Bundler lock"),
        ("    gem (1.0)\n", None, "no section of a Bundler lock"),
        ("GEM\r  specs:\r    a (1.0)\r", None, "no section of a Bundler lock"),
        ("GEM\n    early (1.0)\n  specs:\n", 2, "doesn't write in a GEM section"),
        ("GEM\n  specs:\n    no-version\n", 3, "doesn't write in a GEM section"),
        ("GEM\n  specs:\n   three (1.0)\n", 3, "doesn't write in a GEM section"),
        ("GIT\n\n  remote: x\n\tspecs:\n", 4, "doesn't write in a GIT section"),
        ("PATH\n  remote\n", 2, "doesn't write in a PATH section"),
        ("GEM\n  specs:\n    a (1.0) (2.0)\n", 3, "doesn't write in a GEM section"),
    ],
)
def test_a_text_that_bundler_did_not_write_is_no_lock(text: str, line: int | None, reason: str) -> None:
    with pytest.raises(LockTextError, match=reason) as caught:
        parse_lock(text)
    assert (caught.value.line, caught.value.hint) == (line, "run `bundle install`")


def test_what_is_hostile_in_a_lock_is_given_as_it_stands() -> None:
    assert _gems("GEM\n  specs:\n    ../a b (1/..-../x)\n") == [("../a b", "1/..", "../x")]


_SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("remote", "base"),
    [
        ("https://github.com/org/repo.git", "repo"),
        ("https://github.com/org/repo", "repo"),
        ("https://github.com/org/dashed-name.git/", "dashed-name"),
        ("https://user:token@host.example:8443/org/repo.git", "repo"),
        ("git@github.com:org/repo.git", "repo"),
        ("git@github.com:repo.git", "repo"),
        ("file:///home/dev/gitrepo", "gitrepo"),
        ("/srv/git/a.b.git", "a.b"),
        ("../up/repo", "repo"),
        (".git", ".git"),
        ("https://github.com/org/..", ".."),
    ],
)
def test_a_git_checkout_is_named_by_remote_and_revision(remote: str, base: str) -> None:
    (source,) = parse_lock(f"GIT\n  remote: {remote}\n  revision: {_SHA}\n  specs:\n    a (1)\n").sources
    assert source.checkout == f"{base}-0123456789ab"


@pytest.mark.parametrize("revision", ["", "main", "../../../etc", "0123456", "0123456789ab/..", "é" * 40, "0" * 65])
def test_a_revision_is_only_hexadecimal(revision: str) -> None:
    (source,) = parse_lock(f"GIT\n  remote: x/repo\n  revision: {revision}\n  specs:\n    a (1)\n").sources
    assert source.checkout == ("repo-0123456" if revision == "0123456" else None)


def test_a_remote_with_control_characters_has_no_checkout() -> None:
    (source,) = parse_lock(f"GIT\n  remote: x/re\x1bpo\n  revision: {_SHA}\n  specs:\n    a (1)\n").sources
    assert source.checkout is None


@pytest.mark.parametrize(
    ("gemfile", "lock"),
    [("Gemfile", "Gemfile.lock"), ("/a/gems.rb", "/a/gems.locked"), ("x/rails.gemfile", "x/rails.gemfile.lock")],
)
def test_the_lock_lies_beside_the_gemfile(gemfile: str, lock: str) -> None:
    assert lock_name(gemfile) == lock


@pytest.mark.parametrize(
    "text",
    [
        'gem "x"',
        "gem 'x', '~> 1.0', require: false",
        'gem("x")',
        'gem( "x" )',
        'gem (\n  "x",\n)',
        'group(:test) { gem "x" }',
        'gem "x" if ENV["Y"] # gem "y"',
        'puts "# "; gem "x"',
        "puts 'it\\'s'; gem \"x\"",
        'puts "unfinished\ngem "x"',
        '=begin\ngem "y"\n=end\ngem "x"',
        'gem "x"\n__END__\ngem "y"',
        'gem "x"\n=begin\ngem "y"\n',
    ],
)
def test_a_gemfile_names_what_it_calls_gem_with(text: str) -> None:
    assert gem_names(text) == {"x"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        '# gem "x"',
        '  #gem "x"',
        'gemspec "x"',
        'my_gem "x"',
        'spec.gem "x"',
        ':gem "x"',
        "gem name",
        'gem "#{name}"',
        "gem \"x'",
        'gem"x"',
        "puts 'gem \"x\"'",
        '"\\" gem \'x\'"',
        "source \"gem 'x'\"",
        "gem 'x y'",
    ],
)
def test_a_gemfile_names_nothing_else(text: str) -> None:
    assert gem_names(text) == frozenset()


def test_hostile_texts_are_read_without_delay() -> None:
    size = 300_000
    for text in ('"' + '\\"' * size, "=begin\n" * size, 'gem("' * size, "gem( " + " " * size, "'\\" * size):
        assert gem_names(text) == frozenset()
    for line in ("    " + "a" * size, "    a (" + "-" * size, "    " + "(" * size):
        with pytest.raises(LockTextError):
            parse_lock(f"GEM\n  specs:\n{line}\n")
    (source,) = parse_lock(f"GIT\n  remote: {'a/' * size}\n  revision: {_SHA}\n  specs:\n    a (1)\n").sources
    assert source.checkout == "-0123456789ab"
    assert parse_config("BUNDLE_" + "A:" * size) == {}


def test_a_config_file_is_flat_and_quoted() -> None:
    text = (
        "\ufeff---\r\n"
        'BUNDLE_PATH: "vendor/bundle"\r\n'
        "BUNDLE_WITHOUT: 'test:staging'\n"
        "BUNDLE_JOBS: 4\n"
        'BUNDLE_BUILD__EXT___GEM: "--with-x=/opt: a \\"b\\""\n'
        'BUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: "https://mirror"\n'
        'BUNDLE_LOCAL.FOO-BAR: "/opt/x"\n'
        'BUNDLE_EMPTY: ""\n'
        'BUNDLE_ODD: "\n'
        "BUNDLE_NESTED:\n"
        '  BUNDLE_INNER: "x"\n'
        "  - item\n"
        '# BUNDLE_COMMENT: "x"\n'
        'OTHER: "x"\n'
    )
    assert parse_config(text) == {
        "BUNDLE_PATH": "vendor/bundle",
        "BUNDLE_WITHOUT": "test:staging",
        "BUNDLE_JOBS": "4",
        "BUNDLE_BUILD__EXT___GEM": '--with-x=/opt: a \\"b\\"',
        "BUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/": "https://mirror",
        "BUNDLE_LOCAL__FOO___BAR": "/opt/x",
        "BUNDLE_EMPTY": "",
        "BUNDLE_ODD": '"',
    }


_PATH, _OTHER = 'BUNDLE_PATH: "mine"\n', {"BUNDLE_PATH": "environment"}


@pytest.mark.parametrize(
    ("local", "environ", "user", "path"),
    [
        ("", {}, "", None),
        (_PATH, _OTHER, 'BUNDLE_PATH: "user"', "mine"),
        ("", _OTHER, 'BUNDLE_PATH: "user"', "environment"),
        ("", {}, 'BUNDLE_PATH: "user"', "user"),
        ('BUNDLE_DEPLOYMENT: "true"', {}, "", "vendor/bundle"),
        ('BUNDLE_DEPLOYMENT: "true"\n' + _PATH, {}, "", "mine"),
        ('BUNDLE_DEPLOYMENT: "false"', _OTHER, "", "environment"),
        # One level decides: what the same setting is further down doesn't count, nor does the other one.
        ('BUNDLE_DEPLOYMENT: "true"', _OTHER, "", "vendor/bundle"),
        ("", {"BUNDLE_DEPLOYMENT": "1"}, 'BUNDLE_PATH: "user"', "vendor/bundle"),
        ("", {"BUNDLE_PATH__SYSTEM": "true"}, 'BUNDLE_PATH: "user"', None),
        ("", {"BUNDLE_PATH__SYSTEM": "false"}, 'BUNDLE_PATH: "user"', None),
        ('BUNDLE_PATH__SYSTEM: "true"\n', _OTHER, "", None),
        (_PATH, {"BUNDLE_PATH__SYSTEM": "true"}, "", "mine"),
        (_PATH + 'BUNDLE_PATH__SYSTEM: "false"', {}, "", "mine"),
        (_PATH + 'BUNDLE_DISABLE_SHARED_GEMS: "1"', {}, "", "mine"),
        ('BUNDLE_DISABLE_SHARED_GEMS: "false"', _OTHER, "", None),
        ('BUNDLE_DISABLE_SHARED_GEMS: "true"', _OTHER, "", None),
        ('BUNDLE_PATH: "false"', _OTHER, "", None),
        ('BUNDLE_DEFAULT_INSTALL_USES_PATH: "true"', {}, "", ".bundle"),
        ('BUNDLE_DEFAULT_INSTALL_USES_PATH: "true"', _OTHER, "", "environment"),
    ],
)
def test_the_path_is_decided_by_the_first_level_that_says_something(
    local: str, environ: dict[str, str], user: str, path: str | None
) -> None:
    assert settings(local, environ, user).path == path


@pytest.mark.parametrize(
    ("value", "path"), [("0", None), ("No", None), ("f", None), ("n", None), ("yes", "vendor/bundle")]
)
def test_a_switch_is_off_by_any_of_bundlers_words(value: str, path: str | None) -> None:
    assert settings("", {"BUNDLE_DEPLOYMENT": value}, "").path == path


def test_the_cache_lies_in_vendor_unless_a_setting_moves_it() -> None:
    assert settings("", {}, "").cache_path == "vendor/cache"
    assert settings('BUNDLE_CACHE_PATH: "a"', {"BUNDLE_CACHE_PATH": "b"}, "").cache_path == "a"
    assert settings("", {"CACHE_PATH": "b"}, 'BUNDLE_CACHE_PATH: "c"').cache_path == "c"


@pytest.mark.parametrize(
    ("gem", "key"),
    [("foo", "BUNDLE_LOCAL__FOO"), ("foo-bar", "BUNDLE_LOCAL__FOO___BAR"), ("foo.b_r", "BUNDLE_LOCAL__FOO__B_R")],
)
def test_an_override_is_keyed_by_the_gem(gem: str, key: str) -> None:
    assert settings("", {key: "/work"}, "").override(gem) == "/work"
    assert settings("", {key: "/work"}, "").override("other") is None


@pytest.mark.parametrize(("gem", "key"), [("Foo", "BUNDLE_LOCAL__FOO"), ("a__b", "BUNDLE_LOCAL__A__B")])
def test_a_name_that_the_key_does_not_read_as_has_no_override(gem: str, key: str) -> None:
    assert settings("", {key: "/work"}, "").override(gem) is None


@pytest.mark.parametrize(
    ("environ", "local", "user"),
    [
        ({}, "/app/.bundle/config", None),
        ({"HOME": "/home/me"}, "/app/.bundle/config", "/home/me/.bundle/config"),
        ({"HOME": "/h", "BUNDLE_APP_CONFIG": "conf"}, "/app/conf/config", "/h/.bundle/config"),
        ({"BUNDLE_APP_CONFIG": "/usr/local/bundle"}, "/usr/local/bundle/config", None),
        ({"HOME": "/h", "BUNDLE_APP_CONFIG": "~/c"}, "/h/c/config", "/h/.bundle/config"),
        ({"HOME": "/h", "BUNDLE_USER_HOME": "/u"}, "/app/.bundle/config", "/u/config"),
        ({"BUNDLE_USER_HOME": "/u", "BUNDLE_USER_CONFIG": "/c"}, "/app/.bundle/config", "/c"),
        ({"BUNDLE_USER_CONFIG": "/c", "BUNDLE_CONFIG": "rel"}, "/app/.bundle/config", "/cwd/rel"),
        ({"BUNDLE_CONFIG": "", "HOME": "/h"}, "/app/.bundle/config", "/h/.bundle/config"),
        ({"HOME": "/h", "BUNDLE_IGNORE_CONFIG": ""}, None, None),
    ],
)
def test_where_the_config_files_are(environ: dict[str, str], local: str | None, user: str | None) -> None:
    assert (local_config("/app", environ), user_config("/cwd", environ)) == (local, user)


@pytest.mark.parametrize(
    ("path", "expanded"),
    [
        ("gems", "/app/gems"),
        ("../x/./y", "/x/y"),
        ("/abs/", "/abs"),
        ("~", "/home/me"),
        ("~/gems", "/home/me/gems"),
        ("~other/gems", "/app/~other/gems"),
        (".", "/app"),
    ],
)
def test_paths_expand_as_in_ruby(path: str, expanded: str) -> None:
    assert expand(path, "/app", {"HOME": "/home/me"}) == expanded


def test_without_a_home_a_tilde_is_a_name() -> None:
    assert expand("~/gems", "/app", {}) == "/app/~/gems"
