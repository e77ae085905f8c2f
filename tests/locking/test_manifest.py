from __future__ import annotations

import itertools
import re

import pytest
from builders import NO_NAMES, SHELVES, quickly, rules

from skillsync.locking.manifest import DEFAULT_TARGET, Manifest, Rule, is_pattern, matches, parse
from skillsync.schema import InvalidError, MalformedError, NewerError


def fault(text: str | bytes) -> tuple[str, str, str | None]:
    """Key, reason and hint of what is refused."""
    with quickly(), pytest.raises(InvalidError) as caught:
        parse(text.encode() if isinstance(text, str) else text, SHELVES)
    return caught.value.key, caught.value.reason, caught.value.hint


def gem_rule(text: str) -> Rule:
    """The one rule of `[providers.gem]`."""
    (rule,) = (rules(f"[providers.gem]\n{text}").rules or {})["gem"]
    return rule


# The document


def test_the_whole_file_is_read() -> None:
    found = rules(
        """
        version = 1
        ecosystems = ["gem", "npm"]
        targets = [".agents/skills", ".claude/skills/"]
        gitignore = false

        [providers.gem]
        sus = "*"
        bake = { version = "~> 0.24", skills = ["bake-*"], exclude = ["bake-old"], path = "lib/skills/" }

        [providers.npm]
        "@tanstack/*" = "*"
        """
    )
    assert found.ecosystems == ("gem", "npm")
    assert found.targets == (".agents/skills", ".claude/skills")
    assert found.gitignore is False
    assert found.rules is not None
    assert [(rule.key, rule.pattern) for group in found.rules.values() for rule in group] == [
        ("providers.gem.sus", "sus"),
        ("providers.gem.bake", "bake"),
        ('providers.npm."@tanstack/*"', "@tanstack/*"),
    ]
    bake = found.rules["gem"][1]
    assert (bake.requirement, bake.skills, bake.exclude, bake.path) == (
        "~> 0.24",
        ("bake-*",),
        ("bake-old",),
        "lib/skills",
    )
    assert [bake.meets(version) for version in ("0.24.1", "1.0")] == [True, False]


def test_what_may_be_left_out_has_a_default() -> None:
    assert rules("# nothing") == Manifest()
    assert rules("version = 1") == Manifest(ecosystems=None, targets=(DEFAULT_TARGET,), rules=None, gitignore=True)
    assert DEFAULT_TARGET == ".agents/skills"


def test_no_providers_empty_providers_and_any_provider_are_three_things() -> None:
    assert rules("version = 1").rules is None
    assert rules("[providers]").rules == {}
    assert rules("[providers.gem]").rules == {"gem": ()}
    assert gem_rule('"*" = "*"').pattern == "*"


def test_a_newer_file_is_said_to_be_newer_whatever_else_is_in_it() -> None:
    with pytest.raises(NewerError):
        parse(b"version = 2\n[sources]\n", SHELVES)
    assert fault("version = 0")[0] == "version"
    assert fault("version = '1'")[0] == "version"


@pytest.mark.parametrize("content", [b"", b"[providers", b"\xff", b"<<<<<<< HEAD\n", b"[providers.gem]\na = 1\na = 2"])
def test_text_that_is_no_manifest_is_malformed(content: bytes) -> None:
    with pytest.raises(MalformedError):
        parse(content, SHELVES)


def test_a_key_that_nothing_reads_is_an_error_with_a_suggestion() -> None:
    assert fault("[providres.gem]") == ("providres", "is not a known key", "did you mean `providers`?")
    assert fault("[providers.gems]") == ("providers.gems", "is not a known key", "did you mean `gem`?")
    assert fault("[providers.gem]\nsus = { skill = [] }") == (
        "providers.gem.sus.skill",
        "is not a known key",
        "did you mean `skills`?",
    )


def faults(text: str) -> list[str]:
    """The keys of all that is refused."""
    with quickly(), pytest.raises(InvalidError) as caught:
        parse(text.encode(), SHELVES)
    return [one.key for one in (caught.value, *caught.value.others)]


def test_all_that_is_wrong_is_told_at_once() -> None:
    text = """
        target = []
        ecosystems = ["gem", "ruby"]
        targets = [".agents/skills", "../x"]
        link = true
        gitignore = 1
        [providers.gems]
        [providers.gem.sus]
        skill = []
        versions = "1"
        version = "x"
        hidden-characters = 1
        path = "/"
        exclude = "a"
        skills = ["A"]
        [providers.gem]
        bake = 3
        fine = "*"
        "fi.ne" = "*"
        "fi-ne" = { skills = ["a"] }
        [providers.npm]
        "" = "*"
    """
    entry = "providers.gem.sus"
    assert faults(text) == [
        "target",
        "ecosystems[1]",
        "targets[1]",
        "providers.gems",
        f"{entry}.skill",
        f"{entry}.versions",
        f"{entry}.version",
        f"{entry}.skills[0]",
        f"{entry}.exclude",
        f"{entry}.path",
        f"{entry}.hidden-characters",
        "providers.gem.bake",
        "providers.gem.fi-ne",
        'providers.npm.""',
        "gitignore",
    ]


def test_what_is_wrong_makes_nothing_else_wrong() -> None:
    assert faults("ecosystems = ['ruby']\n[providers.gem]\nsus = '*'") == ["ecosystems[0]"]
    assert faults("targets = ['/']\nlink = true") == ["targets[0]"]
    assert faults("ecosystems = ['npm']\n[providers.gem]\nsus = 3") == ["providers.gem"]
    assert faults("providers = 3\nlink = 3") == ["link", "providers"]


def test_of_very_many_faults_the_first_are_told() -> None:
    lines = "".join(f"sus{number} = {{ skill = [], paths = 1 }}\n" for number in range(5000))
    assert faults(f"[providers.gem]\n{lines}")[-1:] == ["providers.gem.sus9.paths"]
    assert len(faults("".join(f"target{number} = 1\n" for number in range(15000)))) == 20


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[providers]\ntargets = [".agents/skills"]', "providers.targets"),
        ("[providers]\nversion = 1", "providers.version"),
        ('[providers.gem]\ntargets = [".agents/skills", ".claude/skills"]', "providers.gem.targets"),
        ("[providers.gem]\nlink = true", "providers.gem.link"),
        ("[providers.gem]\nversion = 1", "providers.gem.version"),
        ("[providers.gem.sus]\nlink = true", "providers.gem.sus.link"),
    ],
)
def test_a_key_of_the_document_below_a_table_is_told_where_it_belongs(text: str, key: str) -> None:
    found, _, hint = fault(text)
    name = key.rpartition(".")[2]
    assert (found, hint and hint.partition(":")[0]) == (
        key,
        f"if it is the manifest's own `{name}`, move it above the first [table]",
    )


def test_a_provider_may_have_the_name_of_a_key() -> None:
    assert gem_rule('link = "1"').pattern == "link"
    assert fault('[providers.gem]\nlink = { skills = "x" }')[2] == 'skills = ["x"]'


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('ecosystems = "gem"', "ecosystems"),
        ("ecosystems = [1]", "ecosystems[0]"),
        ("gitignore = 1", "gitignore"),
        ('gitignore = "false"', "gitignore"),
        ("targets = 1", "targets"),
        ("targets = [2001-01-01]", "targets[0]"),
        ("providers = []", "providers"),
        ("providers = 'sus'", "providers"),
        ("[providers]\ngem = ['sus']", "providers.gem"),
        ("[[providers.gem]]", "providers.gem"),
        ("[providers.gem]\nsus = 1", "providers.gem.sus"),
        ("[providers.gem]\nsus = 1.0", "providers.gem.sus"),
        ("[providers.gem]\nsus = true", "providers.gem.sus"),
        ("[providers.gem]\nsus = 2001-01-01", "providers.gem.sus"),
        ("[providers.gem]\nsus = [1]", "providers.gem.sus[0]"),
        ("[providers.gem]\nsus = { version = 1 }", "providers.gem.sus.version"),
        ('[providers.gem]\nsus = { skills = "x" }', "providers.gem.sus.skills"),
        ("[providers.gem]\nsus = { skills = [1] }", "providers.gem.sus.skills[0]"),
        ("[providers.gem]\nsus = { exclude = [[]] }", "providers.gem.sus.exclude[0]"),
        ("[providers.gem]\nsus = { path = 1 }", "providers.gem.sus.path"),
        ("[providers.gem]\n'a.b' = 1", 'providers.gem."a.b"'),
    ],
)
def test_a_value_of_a_wrong_type_refuses_the_whole_file_and_is_named(text: str, key: str) -> None:
    assert fault(text)[0] == key


def test_an_ecosystem_that_does_not_exist_is_an_error() -> None:
    assert fault('ecosystems = ["gem", "hex"]') == (
        "ecosystems[1]",
        "`hex` is not an ecosystem",
        "known here: gem, pypi, npm",
    )


def test_an_ecosystem_is_named_by_the_list_or_by_an_entry() -> None:
    names = ("gem", "pypi", "npm")
    manifest = rules('[providers.gem]\nsus = "*"\n[providers.pypi]\n')
    assert [manifest.names(name) for name in names] == [True, False, False]
    assert [rules('ecosystems = ["npm"]').names(name) for name in names] == [False, False, True]
    assert not Manifest().names("gem")


def test_a_table_of_an_ecosystem_that_the_list_leaves_out_is_an_error() -> None:
    for text in ('ecosystems = ["pypi"]\n[providers.gem]\nsus = "*"', "ecosystems = []\n[providers.gem]"):
        assert fault(text) == (
            "providers.gem",
            "nothing reads it: `ecosystems` leaves gem out",
            "add gem to `ecosystems`, or take the table out",
        )


@pytest.mark.parametrize("text", ["true", "1", "2001-01-01"])
def test_an_entry_that_can_not_be_one_says_what_can(text: str) -> None:
    assert fault(f"[providers.gem]\nsus = {text}") == (
        "providers.gem.sus",
        "must be a version, a list of versions, or a table",
        'write "*" for any version',
    )


def test_a_text_in_a_lists_place_is_shown_as_a_list() -> None:
    assert fault('[providers.gem]\nsus = { skills = "x" }')[1:] == ("must be a list of texts", 'skills = ["x"]')
    assert fault("targets = 'a\"b'")[2] == 'targets = ["a\\"b"]'
    assert fault(f"targets = '{'x' * 101}'")[2] is None


@pytest.mark.parametrize("name", ["@tanstack/*", "async-*", "a/b"])
def test_a_name_that_has_to_be_quoted_is_said_to(name: str) -> None:
    with pytest.raises(MalformedError) as caught:
        parse(f'[providers.npm]\n{name} = "*"'.encode(), SHELVES)
    assert caught.value.hint == 'quote a name that holds anything but letters, digits, `-` and `_`: "@scope/*" = "*"'


# Targets


@pytest.mark.parametrize("target", ["skills", ".claude/skills", "a/b/c", "with blank", "é"])
def test_a_target_is_a_directory_below_the_project(target: str) -> None:
    assert rules(f'targets = ["{target}"]').targets == (target,)


@pytest.mark.parametrize(
    "target", ["", ".", "..", "/", "/etc", "../x", "a/../b", "a//b", "./a", "~/../..", "a\\nb", "a\\u0000"]
)
def test_a_target_that_leaves_the_project_or_is_it_is_refused(target: str) -> None:
    assert fault(f'targets = ["skills", "{target}"]')[0] == "targets[1]"


def test_a_list_of_no_targets_is_refused() -> None:
    assert fault("targets = []") == ("targets", "is empty", "leave it out for `.agents/skills`")


@pytest.mark.parametrize(
    "targets",
    [("a", "a"), ("a", "a/"), ("a", "a/b"), ("a/b", "a"), ("a/b/c", "x", "a"), ("a", "a-b", "a.b", "a0", "a/b")],
)
def test_a_target_inside_another_is_refused(targets: tuple[str, ...]) -> None:
    for order in itertools.permutations(targets):
        key, reason, _ = fault(f"targets = {list(order)}")
        assert key == "targets"
        assert "`a`" in reason


def test_a_target_that_is_there_twice_is_said_to_be() -> None:
    hint = "leave one of them out"
    assert fault('targets = ["a", "b", "a/"]') == ("targets", "`a` is there twice", hint)
    assert fault('targets = ["a/b", "a"]') == ("targets", "`a/b` lies in `a`", hint)


def test_links_are_for_the_targets_after_the_first() -> None:
    targets = 'targets = [".agents/skills", ".claude/skills"]'
    assert [rules(f"{targets}\n{line}").link for line in ("", "link = false", "link = true")] == [False, False, True]
    assert rules("link = false").link is False
    for alone in ("", 'targets = [".agents/skills"]\n'):
        key, reason, hint = fault(f"{alone}link = true")
        assert (key, reason) == ("link", "nothing reads it: there is no target but `.agents/skills`")
        assert hint == 'add a target, such as `targets = [".agents/skills", ".claude/skills"]`, or take it out'
    assert fault(f"{targets}\nlink = 'yes'")[:2] == ("link", "must be true or false")
    assert "link" in str(fault(f"{targets}\nlinks = true"))


def test_targets_side_by_side_are_kept_in_order() -> None:
    targets = ("b", "a", "a-b", "a.b", "ab/a", "c/a", "c/b")
    assert rules(f"targets = {list(targets)}").targets == targets


# Entries


@pytest.mark.parametrize("name", ["", " ", "a\\nb", "\\u0000", "\\u001b[31m"])
def test_a_providers_name_shows_on_one_line(name: str) -> None:
    assert fault(f'[providers.gem]\n"{name}" = "*"')[1].startswith("a provider's name")


def test_two_spellings_of_one_provider_are_refused() -> None:
    assert fault('[providers.pypi]\nFoo_Bar = "*"\n"foo.bar" = ">= 1"') == (
        'providers.pypi."foo.bar"',
        "names the same provider as `providers.pypi.Foo_Bar`",
        "keep one of them",
    )


def test_a_name_is_brought_into_its_one_spelling() -> None:
    manifest = rules('[providers.pypi]\n"Foo_Bar" = "*"')
    assert [rule.key for rule in manifest.governing("pypi", "foo-bar")] == ["providers.pypi.Foo_Bar"]


def test_a_requirement_is_a_text_or_a_list_that_has_to_be_met_as_a_whole() -> None:
    for text in ('sus = ">= 1, < 3"', 'sus = [">= 1", "< 3"]', 'sus = { version = [">= 1", "< 3"] }'):
        rule = gem_rule(text)
        assert rule.requirement == ">= 1, < 3"
        assert [rule.meets(version) for version in ("0.9", "1", "2.9", "3")] == [False, True, True, False]


def test_any_version_is_any_version_prereleases_included() -> None:
    for text in ('sus = "*"', "sus = {}", 'sus = { version = "*" }'):
        assert gem_rule(text).meets("1.0.0.pre1")


@pytest.mark.parametrize(
    "text", ['sus = "newest"', 'sus = ""', "sus = []", 'sus = "> "', 'sus = "^1.0"', 'sus = [">1", "x"]']
)
def test_a_requirement_in_another_language_is_refused_with_the_key(text: str) -> None:
    key, _, hint = fault(f"[providers.gem]\n{text}")
    assert (key, hint) == ("providers.gem.sus", 'write a version requirement, or "*" for any')
    key, _, _ = fault('[providers.gem]\nsus = { version = "x y" }')
    assert key == "providers.gem.sus.version"


@pytest.mark.parametrize("name", NO_NAMES)
@pytest.mark.parametrize("key", ["skills", "exclude"])
def test_a_text_that_is_no_skills_name_is_refused(key: str, name: str) -> None:
    escaped = "".join(f"\\U{ord(character):08X}" for character in name)
    if name == "*":
        assert gem_rule(f'sus = {{ {key} = ["{escaped}"] }}').admits("x") is (key == "skills")
    else:
        assert fault(f'[providers.gem]\nsus = {{ {key} = ["{escaped}"] }}')[0] == f"providers.gem.sus.{key}[0]"


@pytest.mark.parametrize("pattern", ["../*", "*.md", "A*", "a b*", "*/x", "?\\\\"])
def test_a_pattern_that_can_match_no_skill_is_refused(pattern: str) -> None:
    assert fault(f'[providers.gem]\nsus = {{ skills = ["a", "{pattern}"] }}')[1].endswith(
        "can't match any skill's name"
    )


@pytest.mark.parametrize("path", ["", "/", "/etc", "..", "../x", "a/../../b", ".", "./a", "a//b", "a\\nb", "a\\u0000b"])
def test_a_path_that_leaves_the_package_is_refused(path: str) -> None:
    key, _, hint = fault(f'[providers.gem]\nsus = {{ path = "{path}" }}')
    assert (key, hint) == ("providers.gem.sus.path", "name a directory below the package's root")


# What they mean


def test_exclude_wins_over_skills() -> None:
    rule = gem_rule('bake = { skills = ["bake-*", "other"], exclude = ["bake-old", "oth*"] }')
    assert [rule.admits(name) for name in ("bake-new", "bake-old", "other", "third")] == [True, False, False, False]
    assert gem_rule('bake = { exclude = ["old"] }').admits("new")
    assert not gem_rule("bake = { skills = [] }").admits("new")


def test_only_an_exact_name_selects_a_skill() -> None:
    rule = gem_rule('bake = { skills = ["bake-*", "one", "two"], exclude = ["two"] }')
    assert [rule.selects(name) for name in ("bake-new", "one", "two", "third")] == [False, True, False, False]
    assert not gem_rule('bake = "*"').selects("one")


def governing(text: str, name: str) -> list[str]:
    return [rule.pattern for rule in rules(text).governing("npm", name)]


def test_the_most_exact_entry_governs_alone() -> None:
    text = '[providers.npm]\n"*" = "*"\n"@tanstack/*" = "*"\n"@tanstack/react-*" = "*"\n"@tanstack/react-db" = "*"\n'
    assert governing(text, "@tanstack/react-db") == ["@tanstack/react-db"]
    assert governing(text, "@tanstack/react-query") == ["@tanstack/react-*"]
    assert governing(text, "@tanstack/db") == ["@tanstack/*"]
    assert governing(text, "left-pad") == ["*"]
    assert governing('[providers.npm]\nx = "*"\n', "y") == []
    assert governing("[providers]", "y") == []
    assert rules('[providers.gem]\nx = "*"').governing("npm", "x") == ()


def test_an_exact_name_governs_even_over_a_pattern_of_more_characters() -> None:
    assert governing('[providers.npm]\n"a" = "*"\n"?a*" = "*"\n"a*" = "*"', "a") == ["a"]


def test_patterns_that_are_equally_exact_all_govern() -> None:
    assert governing('[providers.npm]\n"ab*" = "*"\n"*bc" = "*"\n"*" = "*"', "abc") == ["ab*", "*bc"]


def test_an_approval_does_not_reach_another_provider() -> None:
    assert governing('[providers.npm]\n"@s/x" = "*"', "@s/x-y") == []
    assert governing('[providers.npm]\n"@s/x" = "*"', "@S/x") == []


# Patterns


def test_a_pattern_has_a_wildcard() -> None:
    assert [is_pattern(text) for text in ("a", "a*", "?", "[a]", "")] == [False, True, True, False, False]


def test_patterns_match_as_the_same_regular_expression() -> None:
    texts = ["".join(text) for length in range(5) for text in itertools.product("ab.", repeat=length)]
    patterns = ["".join(text) for length in range(5) for text in itertools.product("a.*?", repeat=length)]
    for pattern in patterns:
        expression = re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
        assert [text for text in texts if matches(pattern, text)] == [
            text for text in texts if expression.fullmatch(text)
        ]


def test_nothing_but_star_and_question_mark_is_special() -> None:
    assert not matches("[ab]", "a")
    assert matches("[ab]", "[ab]")
    assert not matches("a.c", "abc")
    assert not matches("A", "a")
    assert matches("*", "@scope/name\n")


@pytest.mark.parametrize("pattern", ["*a" * 5_000 + "b", "*" * 100_000 + "b", "*" + "a?" * 60 + "b", "a*" * 10_000])
def test_no_pattern_takes_long(pattern: str) -> None:
    with quickly():
        assert matches(pattern, "a" * 255) is False


# Hostile


@pytest.mark.parametrize(
    "text",
    [
        "targets = [" + "".join(f'"t{number}",' for number in range(100_000)) + '"t7/x"]',
        'targets = ["' + "a/" * 1_000_000 + '.."]',
        "[providers.gem]\n" + "".join(f'p{number} = "*"\n' for number in range(50_000)) + "x = 1",
        "[providers.gem]\nx = { skills = [" + '"a*",' * 100_000 + '"A"] }',
        "[providers.gem]\nx = '" + "9" * 1_000_000 + "'",
        "[providers.gem]\nx = '" + ">= 1," * 10_000 + "'",
        "x" * 1_000_000 + " = 1",
        "[providers.gem." + "x" * 1_000_000 + "]\ny = 1",
    ],
    ids=lambda text: text[:30],
)
def test_a_large_hostile_manifest_is_refused_in_no_time(text: str) -> None:
    fault(text)


@pytest.mark.parametrize("target", [".git", ".Git/hooks", "sub/.git/modules"])
def test_a_target_in_gits_own_directory_is_refused(target: str) -> None:
    with pytest.raises(InvalidError, match="git's own directory"):
        parse(f'targets = ["{target}"]'.encode(), {})


# Hidden characters


@pytest.mark.parametrize("name", ["sus", '"s*"'])
def test_an_entry_may_accept_hidden_characters(name: str) -> None:
    assert gem_rule(f'{name} = {{ hidden-characters = "allow" }}').allows_hidden
    assert gem_rule(f'{name} = {{ version = "~> 1", hidden-characters = "allow" }}').requirement == "~> 1"
    assert not gem_rule(f'{name} = {{ version = "~> 1" }}').allows_hidden
    assert not gem_rule(f'{name} = "*"').allows_hidden


@pytest.mark.parametrize("value", ['"deny"', '"Allow"', '""', "true", "1", '["allow"]', "{}"])
def test_there_is_one_way_to_accept_them(value: str) -> None:
    assert fault(f"[providers.gem]\nsus = {{ hidden-characters = {value} }}") == (
        "providers.gem.sus.hidden-characters",
        'must be "allow"',
        "take it out to refuse them",
    )


@pytest.mark.parametrize("key", ["hidden_characters", "hidden-character", "hiden-characters"])
def test_a_mistyped_acceptance_is_no_acceptance(key: str) -> None:
    place = f"providers.gem.sus.{key}"
    text = f'[providers.gem]\nsus = {{ {key} = "allow" }}'
    assert fault(text) == (place, "is not a known key", "did you mean `hidden-characters`?")
