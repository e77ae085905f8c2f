from __future__ import annotations

import hashlib
import itertools

import wheels
from hypothesis import given
from hypothesis import strategies as st

from skillsync.discovery.environment import Package
from skillsync.discovery.pypi.attribution import Claim, Share, share_out


def claim(*files: str, children: tuple[str, ...] = (), places: tuple[str, ...] = ("ns/skills",)) -> Claim:
    return Claim(places=places, files=dict.fromkeys(files, wheels.digest("")), children=frozenset(children))


def owns(share: Share, path: str) -> bool:
    package = Package(ecosystem="pypi", name="x", version="1", root="/", places=(), source="", record=share.record)
    return package.owns(path)


def test_each_has_what_its_record_lists() -> None:
    one, two = share_out(
        [claim("ns/skills/a/SKILL.md", "ns/skills/CREDITS.md"), claim("ns/skills/b/SKILL.md", "ns/b.py")]
    )
    assert [owns(one, f"ns/skills/{name}") for name in ("a", "b", "CREDITS.md", "c")] == [True, False, True, False]
    assert [owns(two, f"ns/skills/{name}") for name in ("a", "b")] == [False, True]
    assert not one.contested
    assert two.record.files == {"ns/skills/b/SKILL.md": hashlib.sha256().hexdigest()}


def test_a_skill_outside_the_usual_places_is_known_too() -> None:
    (one,) = share_out(
        [claim("pkg/deep/x/SKILL.md", "pkg/deep/x/r/a.md", "pkg/code.py", "skills/y/SKILL.md", places=())]
    )
    assert sorted(one.record.files) == ["pkg/deep/x/SKILL.md", "pkg/deep/x/r/a.md", "skills/y/SKILL.md"]
    assert owns(one, "pkg/deep/x")
    assert owns(one, "skills/y")


def test_a_skill_that_two_list_is_nobodys() -> None:
    shares = share_out(
        [
            claim("ns/skills/a/SKILL.md", "ns/skills/mine/SKILL.md"),
            claim("ns/skills/a/references/extra.md"),
            claim("ns/skills/c/SKILL.md"),
        ]
    )
    assert [dict(share.contested) for share in shares] == [{"ns/skills/a": (0, 1)}, {"ns/skills/a": (0, 1)}, {}]
    assert not any(owns(share, "ns/skills/a") for share in shares)
    assert owns(shares[0], "ns/skills/mine")


def test_a_skill_file_around_the_places_takes_nothing() -> None:
    one, two = share_out(
        [
            claim("ns/SKILL.md", "ns/skills/SKILL.md", "ns/skills/a/SKILL.md"),
            claim("ns/skills/b/SKILL.md", "ns/skills/b/r/x.md"),
        ]
    )
    assert [owns(one, f"ns/skills/{name}") for name in ("a", "b")] == [True, False]
    assert [owns(two, f"ns/skills/{name}") for name in ("a", "b")] == [False, True]
    assert not one.contested
    assert not two.contested
    assert sorted(two.record.files) == ["ns/skills/b/SKILL.md", "ns/skills/b/r/x.md"]


def test_a_place_inside_anothers_skill_gives_nobody_that_skill() -> None:
    one, two = share_out(
        [
            claim("a/b/x/SKILL.md", "a/b/x/skills/y/z.md", places=()),
            claim("a/b/x/skills/y/SKILL.md", places=("a/b/x/skills",)),
        ]
    )
    assert not owns(one, "a/b/x")
    assert not owns(two, "a/b/x/skills/y")


def test_what_is_no_skill_may_be_shared() -> None:
    shares = share_out([claim("ns/__init__.py", "ns/skills/README.md"), claim("ns/__init__.py", "ns/skills/README.md")])
    assert not any(share.contested for share in shares)


def test_a_guess_gives_way_to_a_record() -> None:
    guess, sure = share_out(
        [claim(children=("ns/skills/a", "ns/skills/b")), claim("ns/skills/a/SKILL.md")],
    )
    assert [owns(guess, f"ns/skills/{name}") for name in ("a", "b")] == [False, True]
    assert owns(sure, "ns/skills/a")
    assert not guess.contested


def test_two_guesses_are_contested() -> None:
    shares = share_out([claim(children=("ns/skills/a",)), claim(children=("ns/skills/a",))])
    assert [dict(share.contested) for share in shares] == [{"ns/skills/a": (0, 1)}] * 2
    assert not any(owns(share, "ns/skills/a") for share in shares)


_FILES = st.sets(
    st.sampled_from(
        [
            f"{place}/{skill}/{file}"
            for place, skill, file in itertools.product(["ns/skills", "a/skills"], "xyz", ["SKILL.md", "r/a.md"])
        ]
    )
)


@given(st.lists(_FILES, max_size=4))
def test_no_skill_has_two_owners_and_order_does_not_count(sets: list[set[str]]) -> None:
    claims = [claim(*sorted(files), places=("ns/skills", "a/skills")) for files in sets]
    shares = share_out(claims)
    listed = {path for files in sets for path in files}
    for directory in {path.rsplit("/", 1)[0] for path in listed if path.endswith("SKILL.md")}:
        owners = [share for share in shares if owns(share, directory)]
        touching = [files for files in sets if any(path.startswith(directory + "/") for path in files)]
        assert len(owners) == (1 if len(touching) == 1 else 0)
    assert share_out(claims[::-1])[::-1] == [
        Share(
            record=share.record,
            contested={
                directory: tuple(sorted(len(claims) - 1 - number for number in numbers))
                for directory, numbers in share.contested.items()
            },
        )
        for share in shares
    ]
