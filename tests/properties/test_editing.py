"""A command that edits the manifest changes the one entry that it is about; all else is as the person wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from manifests import NAMES, SKILLS, comments, manifests, terms

from skillsync.discovery import ECOSYSTEMS
from skillsync.locking.allowlist import allow, deny
from skillsync.locking.editing import Edit, edited, meaning
from skillsync.locking.manifest import Named, is_pattern, parse

if TYPE_CHECKING:
    from skillsync.locking.editing import Terms
    from skillsync.locking.manifest import Manifest

named = st.sampled_from(
    [Named(ecosystem=key, name=name) for key, names in {**NAMES, "cargo": ("new",)}.items() for name in (*names, "new")]
)
KNOWN = {f"{ecosystem}:{name}" for ecosystem, names in NAMES.items() for name in names if not is_pattern(name)}


def as_before(before: bytes, after: bytes) -> None:
    """Hold what no edit may touch: comments, the mark, line ends, and what is not about providers."""
    assert comments(before) == comments(after)
    assert before.startswith(b"\xef\xbb\xbf") == after.startswith(b"\xef\xbb\xbf")
    if b"\r\n" in before:
        assert after.count(b"\n") == after.count(b"\r\n")
    else:
        assert b"\r" not in after
    one, other = (parse(content, ECOSYSTEMS) for content in (before, after))
    assert (one.targets, one.ecosystems, one.gitignore) == (other.targets, other.ecosystems, other.gitignore)


def admitted(manifest: Manifest, key: str) -> dict[str, object]:
    """What is admitted of a provider: which skills, in which versions, from where."""
    ecosystem, _, name = key.partition(":")
    rules = manifest.governing(ecosystem, name)
    if len(rules) != 1:
        return {"rules": len(rules)}
    skills = {skill for skill in ("one", "two", "one-x", "other") if rules[0].admits(skill)}
    return {"skills": skills, **({"version": rules[0].requirement, "path": rules[0].path} if skills else {})}


@given(content=manifests(), one=named, wanted=st.none() | terms)
def test_one_entry_is_changed_and_nothing_else(content: bytes, one: Named, wanted: Terms | None) -> None:
    before = meaning(parse(content, ECOSYSTEMS))
    after = edited(content, Edit(ecosystem=one.ecosystem, name=one.name, terms=wanted), ECOSYSTEMS)
    as_before(content, after)
    rules = before.setdefault(one.ecosystem, {})
    rules.pop(one.name, None)
    if wanted:
        rules[one.name] = wanted
    manifest = parse(after, ECOSYSTEMS)
    assert meaning(manifest) == {ecosystem: rules for ecosystem, rules in before.items() if rules}
    assert manifest.rules is not None  # else every package would be admitted


@given(content=manifests(), one=named, wanted=terms)
def test_what_is_added_and_taken_out_again_leaves_the_entries_as_they_were(
    content: bytes, one: Named, wanted: Terms
) -> None:
    if one.name in meaning(parse(content, ECOSYSTEMS)).get(one.ecosystem, {}):
        return
    added = edited(content, Edit(ecosystem=one.ecosystem, name=one.name, terms=wanted), ECOSYSTEMS)
    after = edited(added, Edit(ecosystem=one.ecosystem, name=one.name, terms=None), ECOSYSTEMS)
    as_before(content, after)
    lines = [line for line in content.removeprefix(b"\xef\xbb\xbf").split() if b"{" not in line and b"}" not in line]
    found = iter(after.removeprefix(b"\xef\xbb\xbf").split())
    assert all(line in found for line in lines)


@given(content=manifests(), one=named, skills=st.lists(st.sampled_from(SKILLS[:3]), max_size=2))
def test_allow_lets_in_what_is_named_and_moves_no_other(content: bytes, one: Named, skills: list[str]) -> None:
    before = parse(content, ECOSYSTEMS)
    written = allow(content, one, ECOSYSTEMS, skills=skills)
    as_before(content, written)
    after = parse(written, ECOSYSTEMS)
    for key in KNOWN:
        if not one.covers(key):
            assert admitted(after, key) == admitted(before, key)
    (rule,) = after.governing(one.ecosystem, one.name)
    if not skills:
        assert (rule.skills, rule.exclude) == (None, ())
    for skill in skills:
        assert rule.admits(skill) or any(is_pattern(pattern) for pattern in rule.exclude) or is_pattern(skill)
    assert allow(written, one, ECOSYSTEMS, skills=skills) == written


@given(content=manifests(), one=named, skills=st.lists(st.sampled_from(SKILLS[:3]), max_size=2))
def test_deny_keeps_out_what_is_named_and_moves_no_other(content: bytes, one: Named, skills: list[str]) -> None:
    before = parse(content, ECOSYSTEMS)
    written = deny(content, one, ECOSYSTEMS, known=KNOWN, skills=skills)
    as_before(content, written)
    after = parse(written, ECOSYSTEMS)
    for key in KNOWN:
        if not one.covers(key):
            assert admitted(after, key) == admitted(before, key)
        elif skills:
            denied = {
                skill for skill in ("one", "two", "one-x") if skill in skills or ("one-*" in skills and "-" in skill)
            }
            was = admitted(before, key).get("skills")
            if isinstance(was, set):
                assert admitted(after, key)["skills"] == was - denied
        else:
            assert not admitted(after, key).get("skills")
            assert len(after.governing(*key.split(":", 1))) <= 1
    assert deny(written, one, ECOSYSTEMS, known=KNOWN, skills=skills) == written
