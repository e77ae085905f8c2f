from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from builders import FIFO, SOCKET, Meddled, digest, lay, tree

from skillsync import filesystem
from skillsync.discovery.environment import Package
from skillsync.discovery.provider import FoundSkill, Ignored, Provider, look
from skillsync.discovery.skill import READ_SIZE
from skillsync.errors import Code, Severity
from skillsync.filesystem import CHUNK
from skillsync.hashing import File, Link, tree_hash
from skillsync.snapshot import MAX_ENTRIES
from skillsync.values import replace

if TYPE_CHECKING:
    from builders import Piece


def text(name: str) -> str:
    return f"---\nname: {name}\ndescription: About {name}.\n---\nText.\n"


@pytest.fixture
def package(tmp_path: Path) -> Package:
    root = lay(tmp_path / "sus-1.2.0", {"lib/sus.rb": ""})
    return Package(
        ecosystem="gem", name="sus", version="1.2.0", root=str(root), places=("skills",), source="vendor/bundle"
    )


def looked(package: Package, pieces: dict[str, Piece], *places: str) -> Provider:
    lay(Path(package.root), pieces)
    return look(package, places or ("skills",))


def skills(found: Provider) -> dict[str, bool]:
    return {skill.name: skill.is_valid for skill in found.skills}


def said(found: Provider) -> dict[str, str]:
    """What is said of each skill."""
    prefix = "gem:sus 1.2.0: "
    messages = {skill.name: [problem.message for problem in skill.problems] for skill in found.skills}
    assert all(message.startswith(prefix) for many in messages.values() for message in many)
    return {name: "; ".join(message.removeprefix(prefix) for message in many) for name, many in messages.items()}


def failing_at(path: str, number: int, call: str) -> Meddled:
    """Let one call of the system fail for one name."""

    def fail(name: Any, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401  # any call of `os`
        if name == path:
            raise OSError(number, os.strerror(number))
        return getattr(os, call)(name, *arguments, **options)

    return Meddled(**{call: fail})


def test_a_skill_is_a_child_directory_with_a_skill_md(package: Package) -> None:
    found = looked(
        package, {"skills/one/SKILL.md": text("one"), "skills/two/SKILL.md": text("two"), "skills/two/x": ""}
    )
    assert (found.package, found.places, found.ignored, found.problems) == (package, ("skills",), (), ())
    assert [(skill.name, skill.path, skill.description, skill.is_valid) for skill in found.skills] == [
        ("one", "skills/one", "About one.", True),
        ("two", "skills/two", "About two.", True),
    ]
    assert [skill.problems for skill in found.skills] == [(), ()]


def test_what_is_no_skill_is_named_with_its_reason(package: Package) -> None:
    found = looked(
        package,
        {
            "SKILL.md": text("sus"),
            "skills/CLAUDE.md": Link("CREDITS.md"),
            "skills/CREDITS.md": "",
            "skills/SKILL.md": text("skills"),
            "skills/.hidden/SKILL.md": text("hidden"),
            "skills/.DS_Store": "",
            "skills/group/inner/SKILL.md": text("inner"),
            "skills/fifo": FIFO,
            "skills/empty": None,
            "skills/skill/SKILL.md": text("skill"),
        },
    )
    assert skills(found) == {"skill": True}
    assert found.ignored == (
        Ignored(path="skills/.DS_Store", reason="its name begins with a dot"),
        Ignored(path="skills/.hidden", reason="its name begins with a dot"),
        Ignored(path="skills/CLAUDE.md", reason="is a link, and its name no skill's"),
        Ignored(path="skills/CREDITS.md", reason="is a file, not a skill's directory"),
        Ignored(path="skills/SKILL.md", reason="is a file, not a skill's directory"),
        Ignored(path="skills/empty", reason="has no SKILL.md"),
        Ignored(path="skills/fifo", reason="is neither a file nor a directory, not a skill's directory"),
        Ignored(path="skills/group", reason="has no SKILL.md"),
    )


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ({"x": Link("one")}, "skills/x is a symbolic link, and has to be a directory"),
        ({"x": Link("../../elsewhere")}, "skills/x is a symbolic link, and has to be a directory"),
        ({"x/skill.md": text("x")}, "skills/x/skill.md has to be named SKILL.md"),
        ({"x/Skill.MD": text("x"), "x/README.md": ""}, "skills/x/Skill.MD has to be named SKILL.md"),
        ({"x/a.md": text("x"), "x/SKILL.md": Link("a.md")}, "is a symbolic link, and has to be a regular file"),
        ({"x/SKILL.md": Link("/etc/passwd")}, "is a symbolic link, and has to be a regular file"),
        ({"x/SKILL.md/y": ""}, "is a directory, and has to be a regular file"),
        ({"x/SKILL.md": FIFO}, "is neither a file nor a directory, and has to be a regular file"),
        ({"x/SKILL.md": SOCKET}, "is neither a file nor a directory, and has to be a regular file"),
        ({"x/SKILL.md": "text"}, "skills/x/SKILL.md has no frontmatter"),
        ({"x/SKILL.md": ""}, "skills/x/SKILL.md has no frontmatter"),
        ({"x/SKILL.md": text("y")}, "skills/x/SKILL.md has the name `y`, but its directory is `x`"),
    ],
)
def test_an_invalid_skill_never_hides_its_siblings(package: Package, pieces: dict[str, Piece], message: str) -> None:
    one: dict[str, Piece] = {"skills/one/SKILL.md": text("one"), "skills/z/SKILL.md": text("z")}
    found = looked(package, {**one, **{f"skills/{path}": piece for path, piece in pieces.items()}})
    assert skills(found) == {"one": True, "x": False, "z": True}
    assert said(found)["x"].endswith(message)
    (problem,) = next(skill.problems for skill in found.skills if skill.name == "x")
    assert (problem.code, problem.severity) == (Code.INVALID_SKILL, Severity.ERROR)
    assert (problem.skill, problem.provider) == ("x", "gem:sus")
    assert problem.path is not None
    assert problem.path.startswith("skills/x")


def test_every_problem_of_a_skill_is_told_with_its_place(package: Package) -> None:
    found = looked(package, {"skills/x/SKILL.md": "---\nname: X\n---\n"})
    assert said(found)["x"] == (
        "skills/x/SKILL.md has the name `X`, which is not lower-case letters and digits joined by single hyphens; "
        "skills/x/SKILL.md has no `description`"
    )
    assert [(problem.line, problem.column) for problem in found.skills[0].problems] == [(2, 7), (1, None)]


def test_a_warning_leaves_a_skill_valid(package: Package) -> None:
    found = looked(package, {f"skills/{'n' * 65}/SKILL.md": text("n" * 65)})
    assert skills(found) == {"n" * 65: True}
    assert "characters" in said(found)["n" * 65]


def test_only_the_start_of_a_skill_md_is_read(package: Package) -> None:
    found = looked(package, {"skills/one/SKILL.md": text("one") + "x" * READ_SIZE, "skills/two/SKILL.md": "---\n"})
    assert skills(found) == {"one": True, "two": False}
    assert said(found)["two"] == "skills/two/SKILL.md has frontmatter that never ends"


@pytest.mark.parametrize("content", [text("caf\u00e9").encode(), b"nonsense"])
def test_a_name_that_is_not_utf8_is_an_invalid_skill(package: Package, content: bytes) -> None:
    looked(package, {"skills/one/SKILL.md": text("one")})
    directory = os.fsencode(package.root) + b"/skills/caf\xe9"
    os.mkdir(directory)
    with open(directory + b"/SKILL.md", "wb") as file:
        file.write(content)
    found = look(package, ("skills",))
    assert skills(found) == {r"caf\xe9": False, "one": True}
    assert said(found)[r"caf\xe9"] == r"skills/caf\xe9 has a name that is not UTF-8"


def test_only_the_places_that_exist_are_looked_into(package: Package) -> None:
    found = looked(
        package,
        {"skills/one/SKILL.md": text("one"), "lib/tools/skills/two/SKILL.md": text("two"), "other/three/SKILL.md": ""},
        "nothing",
        "skills",
        "lib/nothing/skills",
        "lib/tools/skills",
    )
    assert found.places == ("skills", "lib/tools/skills")
    assert [skill.path for skill in found.skills] == ["skills/one", "lib/tools/skills/two"]
    assert found.problems == ()


def test_a_place_without_anything_in_it_is_a_place(package: Package) -> None:
    found = looked(package, {"skills": None})
    assert (found.places, found.skills, found.ignored, found.problems) == (("skills",), (), (), ())


def test_a_package_that_is_not_there_has_no_places(package: Package) -> None:
    os.rename(package.root, f"{package.root}-gone")
    assert look(package, ("skills",)).places == ()


def test_a_place_that_is_a_file_is_no_directory_of_skills(package: Package) -> None:
    found = looked(package, {"skills": ""})
    assert (found.places, found.problems) == ((), ())
    assert found.ignored == (Ignored(path="skills", reason="is a file, not a directory of skills"),)


@pytest.mark.parametrize("place", ["skills", "a/skills"])
@pytest.mark.parametrize("target", ["../elsewhere", "real", "nothing"])
def test_a_place_that_is_a_link_or_behind_one_is_never_followed(package: Package, place: str, target: str) -> None:
    link = place.split("/", maxsplit=1)[0]
    found = looked(
        package, {"real/one/SKILL.md": text("one"), "real/skills/one/SKILL.md": "", link: Link(target)}, place
    )
    assert (found.places, found.skills, found.ignored) == ((), (), ())
    (problem,) = found.problems
    assert problem.message == f"gem:sus 1.2.0: {place} is not read: `{link}` is a symbolic link"
    assert (problem.code, problem.severity) == (Code.UNSAFE_SKILL, Severity.WARNING)
    assert (problem.provider, problem.path) == ("gem:sus", place)
    assert problem.hint is not None


def test_a_package_s_root_may_be_a_link(package: Package) -> None:
    looked(package, {"skills/one/SKILL.md": text("one")})
    os.rename(package.root, f"{package.root}-real")
    os.symlink(f"{package.root}-real", package.root)
    assert skills(look(package, ("skills",))) == {"one": True}


def test_a_place_that_can_not_be_read_is_not_an_empty_one(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    looked(package, {"skills/one/SKILL.md": text("one"), "more/two/SKILL.md": text("two")})
    monkeypatch.setattr(filesystem, "os", failing_at("skills", errno.EACCES, "open"))
    found = look(package, ("skills", "more"))
    assert (found.places, skills(found)) == (("more",), {"two": True})
    (problem,) = found.problems
    assert problem.message == "gem:sus 1.2.0: skills can't be read: Permission denied"
    assert (problem.code, problem.severity, problem.path) == (Code.IO, Severity.WARNING, "skills")


@pytest.mark.parametrize(
    ("path", "number", "reason"),
    [
        ("two", errno.EACCES, "can't be read: Permission denied"),
        ("SKILL.md", errno.EACCES, "can't be read: permission denied"),
        ("two", errno.ENOENT, "can't be read: No such file or directory"),
    ],
)
def test_a_skill_that_can_not_be_read_is_invalid(
    package: Package, monkeypatch: pytest.MonkeyPatch, path: str, number: int, reason: str
) -> None:
    looked(package, {"skills/one/x": "", "skills/two/SKILL.md": text("two")})
    monkeypatch.setattr(filesystem, "os", failing_at(path, number, "open"))
    found = look(package, ("skills",))
    assert said(found) == {"two": f"skills/two {reason}"}


def test_a_skill_that_became_a_link_since_it_was_listed_is_invalid(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap(name: Any, *arguments: Any, **options: Any) -> int:  # noqa: ANN401  # as `os.open` takes them
        if name == "two":
            os.rename(f"{package.root}/skills/two", f"{package.root}/elsewhere")
            os.symlink("../elsewhere", f"{package.root}/skills/two")
        return os.open(name, *arguments, **options)

    looked(package, {"skills/two/SKILL.md": text("two")})
    monkeypatch.setattr(filesystem, "os", Meddled(open=swap))
    assert said(look(package, ("skills",))) == {"two": "skills/two can't be read: `two` is a symbolic link"}


def test_a_skill_md_that_went_since_it_was_listed_is_as_good_as_empty(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked(package, {"skills/two/SKILL.md": text("two")})
    monkeypatch.setattr(filesystem, "os", failing_at("SKILL.md", errno.ENOENT, "open"))
    assert said(look(package, ("skills",))) == {"two": "skills/two/SKILL.md has no frontmatter"}


def both(package: Package) -> tuple[FoundSkill, FoundSkill]:
    """The only skill of a package, as it is found for its frontmatter and with all its files."""
    (plain,), (whole,) = (look(package, ("skills",), wanted).skills for wanted in (lambda _: False, lambda _: True))
    return plain, whole


def test_all_files_are_read_of_the_skills_that_are_asked_for(package: Package) -> None:
    content = {"SKILL.md": text("two"), "a.md": "a\u202e"}
    looked(
        package, {"skills/one/SKILL.md": text("one"), **{f"skills/two/{path}": one for path, one in content.items()}}
    )
    one, two = look(package, ("skills",), "two".__eq__).skills
    assert one.snapshot is None
    assert two.snapshot is not None
    assert (two.snapshot.hash, set(two.snapshot.hidden)) == (tree_hash(tree(content)), {"a.md"})


@pytest.mark.parametrize(
    "content",
    [
        text("one"),
        "",
        "no frontmatter",
        text("other"),
        text("one").replace("\n---\nText", "\nmore: " + "x" * (READ_SIZE - 100) + "\n---\nText"),
        text("one").replace("\n---\nText", "\nmore: " + "x" * 2 * CHUNK + "\n---\nText"),
        text("one") + "x" * 2 * CHUNK,
    ],
    ids=["good", "empty", "no frontmatter", "other name", "long", "too long", "long text"],
)
def test_what_is_wrong_with_a_skill_is_the_same_if_all_its_files_are_read(package: Package, content: str) -> None:
    looked(package, {"skills/one/SKILL.md": content})
    plain, whole = both(package)
    assert whole.snapshot is not None
    assert replace(whole, snapshot=None) == plain


def test_frontmatter_is_of_the_bytes_that_are_hashed(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    def once(name: Any, *arguments: Any, **options: Any) -> int:  # noqa: ANN401  # as `os.open` takes them
        opened = os.open(name, *arguments, **options)
        if name == "SKILL.md":
            lay(Path(package.root), {"skills/one/new": text("another")})
            os.replace(f"{package.root}/skills/one/new", f"{package.root}/skills/one/SKILL.md")
        return opened

    looked(package, {"skills/one/SKILL.md": text("one")})
    monkeypatch.setattr("skillsync.snapshot.os", Meddled(open=once))
    (one,) = look(package, ("skills",), lambda _: True).skills
    assert one.snapshot is not None
    assert (one.is_valid, one.snapshot.tree["SKILL.md"]) == (True, File(digest(text("one"))))


def test_a_skill_md_that_is_found_too_late_is_read_for_its_frontmatter(package: Package) -> None:
    looked(package, {"skills/one/SKILL.md": text("one"), **{f"skills/one/A{n}": "" for n in range(MAX_ENTRIES)}})
    plain, whole = both(package)
    assert whole.snapshot is not None
    assert whole.snapshot.faults
    assert replace(whole, snapshot=None) == plain


def test_a_skill_md_that_can_not_be_read_makes_it_invalid_and_another_file_ends_the_reading(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked(package, {"skills/one/SKILL.md": text("one"), "skills/one/a.md": ""})
    monkeypatch.setattr("skillsync.snapshot.os", failing_at("SKILL.md", errno.EACCES, "open"))
    (one,) = look(package, ("skills",), lambda _: True).skills
    assert (one.is_valid, one.problems[0].message) == (
        False,
        "gem:sus 1.2.0: skills/one can't be read: Permission denied",
    )
    monkeypatch.setattr("skillsync.snapshot.os", failing_at("a.md", errno.EACCES, "open"))
    with pytest.raises(OSError, match="Permission denied") as caught:
        look(package, ("skills",), lambda _: True)
    assert caught.value.filename == f"{package.root}/skills/one/a.md"
