from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from projects import LOCK, MANIFEST, REGISTRY, Project

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST_TEXT = 'version = 1\n\n[providers.gem]\nsus = { skills = ["testing"] }\nbake = "*"\n'
UNREADABLE = {MANIFEST: "manifest-invalid", LOCK: "lock-unreadable", REGISTRY: "registry-unreadable"}
READERS = {
    MANIFEST: ("list", "show testing", "lock", "lock --check", "sync", "sync --force", "sync --check", "verify"),
    LOCK: ("list", "show testing", "lock --check", "sync", "sync --force", "sync --check", "verify"),
    REGISTRY: ("list", "show testing", "sync", "sync --force", "sync --check", "verify", "verify --scope installed"),
}
DOCUMENTS = tuple(READERS)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project with all three documents, in sync."""
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing").gem("bake", "1.0.0", "tasks")
    project.manifest(MANIFEST_TEXT).done("lock")
    project.done("sync")
    return project


def replaced(project: Project, path: str, old: str, new: str) -> None:
    text = project.read(path)
    assert old in text
    project.write({path: text.replace(old, new, 1)})


def refused(project: Project, path: str, command: str) -> tuple[str, dict[str, object]]:
    """Run a command that has to stop at a document and to change nothing; return its text and its problem."""
    before = project.tree
    text = project.run(*command.split())
    result = project.run(*command.split(), "--format", "json")
    assert project.tree == before
    assert (text.code, result.code, text.out, result.err) == (2, 2, "", "")
    (problem,) = result.json["problems"]
    assert (problem["code"], problem["severity"], problem["path"]) == (UNREADABLE[path], "error", path)
    assert text.err.startswith(f"error[{UNREADABLE[path]}]: {path} can't be ")
    assert text.err.splitlines()[1] == f"  hint: {problem['hint']}"
    return text.err, problem


def truncated(content: bytes) -> bytes:
    """End in the middle of a word: what ends between two rows of a registry can't be told from a whole one."""
    return content[: content.rindex(b"sus") + 1].removesuffix(b"m: s")


def merged(content: bytes) -> bytes:
    start, rest = content[:12], content[12:]
    return start + b"\n<<<<<<< ours\n" + rest + b"=======\n" + rest + b">>>>>>> theirs\n"


def at_version(number: int) -> dict[str, bytes]:
    text = b"version: %d\nfuture: 1\nskills: {}\n" if number > 1 else b"version: %d\nskills: {}\n"
    toml = b"version = %d\nfuture = 1\n" if number > 1 else b"version = %d\n"
    return {MANIFEST: toml % number, LOCK: toml % number, REGISTRY: text % number}


# By fault: what each document becomes, and what is said of it
BAD: dict[str, tuple[dict[str, bytes], str]] = {
    "zero bytes": (dict.fromkeys(DOCUMENTS, b""), "it is empty"),
    "blank": (dict.fromkeys(DOCUMENTS, b"\n \n"), "it is empty"),
    "older": (at_version(0), "version"),
    "no version": ({LOCK: b"provider = []\n", REGISTRY: b"skills: {}\n"}, "version"),
    "version of a wrong type": (
        {MANIFEST: b'version = "1"\n', LOCK: b"version = true\n", REGISTRY: b"version: [1]\nskills: {}\n"},
        "version",
    ),
    "wrong types": (
        {
            MANIFEST: b'version = 1\nproviders = "all"\n',
            LOCK: b"version = 1\nprovider = 3\n",
            REGISTRY: b"version: 1\nskills: []\n",
        },
        "must be",
    ),
    "an unknown key": ({MANIFEST: b"provider = 1\n", LOCK: b"version = 1\nproviders = []\n"}, "is not a known key"),
    "another language": (dict.fromkeys(DOCUMENTS, b'{"version": 1'), "it is not "),
    "UTF-16": (dict.fromkeys(DOCUMENTS, "version = 1\n".encode("utf-16")), "it is not UTF-8"),
    "NUL": (dict.fromkeys(DOCUMENTS, b"version = 1\0\n"), "it is not "),
}


@pytest.mark.parametrize(
    ("path", "fault"), [(path, fault) for fault, (texts, _) in BAD.items() for path in texts], ids=str
)
def test_what_is_wrong_is_named_with_file_and_next_step_and_nothing_is_done(
    project: Project, path: str, fault: str
) -> None:
    texts, said = BAD[fault]
    project.write({path: texts[path]})
    for command in READERS[path]:
        text, problem = refused(project, path, command)
        assert said in text
        assert problem["hint"]


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_document_that_ends_too_early_is_never_half_read(project: Project, path: str) -> None:
    project.write({path: truncated((project.root / path).read_bytes())})
    for command in READERS[path]:
        text, problem = refused(project, path, command)
        assert f"({path}:{problem['line']}" in text if "line" in problem else "skills.testing must be" in text


@pytest.mark.parametrize("path", DOCUMENTS)
def test_conflict_markers_are_named_with_their_line(project: Project, path: str) -> None:
    project.write({path: merged((project.root / path).read_bytes())})
    line = next(n for n, text in enumerate(project.read(path).splitlines(), 1) if text.startswith("<<<<<<<"))
    for command in READERS[path]:
        text, problem = refused(project, path, command)
        assert f"it has merge conflict markers ({path}:{line})" in text
        assert problem["line"] == line


@pytest.mark.parametrize("path", DOCUMENTS)
@pytest.mark.parametrize("kind", ["directory", "link", "dangling link"])
def test_what_is_no_file_is_not_read(project: Project, path: str, kind: str) -> None:
    place = project.root / path
    place.rename(project.root / "moved")
    if kind == "directory":
        place.mkdir()
    else:
        place.symlink_to(project.root / ("moved" if kind == "link" else "nowhere"))
    for command in (*READERS[path], *(["lock"] if path == LOCK else [])):
        text, _ = refused(project, path, command)
        assert ("directory" if kind == "directory" else "symbolic link") in text


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_newer_version_stops_everything(project: Project, path: str) -> None:
    project.write({path: at_version(999)[path]})
    for command in (*READERS[path], *(["lock"] if path == LOCK else [])):
        text, problem = refused(project, path, command)
        assert "version is 999, and this skillsync reads up to 1" in text
        assert problem["hint"] == "upgrade skillsync"


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_mark_and_other_line_ends_are_no_fault(project: Project, path: str) -> None:
    content = (project.root / path).read_bytes()
    project.write({path: b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")})
    before = project.tree
    for command in (*READERS[path], "lock"):
        assert project.run(*command.split()).code == 0
    assert project.tree == before


def test_a_broken_registry_is_no_concern_of_what_does_not_read_it(project: Project) -> None:
    project.write({REGISTRY: "?"})
    for command in ("lock", "lock --check", "verify --scope providers"):
        assert project.run(*command.split()).code == 0


# The lock alone can be made again


@pytest.mark.parametrize("fault", [*(fault for fault, (texts, _) in BAD.items() if LOCK in texts), "merged"])
def test_a_lock_that_cannot_be_read_is_written_anew_and_that_is_said(project: Project, fault: str) -> None:
    good = (project.root / LOCK).read_bytes()
    project.write({LOCK: merged(good) if fault == "merged" else BAD[fault][0][LOCK]})
    assert refused(project, LOCK, "sync")[1]["hint"] == "run `skillsync lock` to write it anew"
    result = project.run("lock", "--format", "json")
    assert (result.code, result.codes) == (0, ["lock-unreadable"])
    assert result.json["problems"][0]["severity"] == "warning"
    assert "hint" not in result.json["problems"][0]
    assert (project.root / LOCK).read_bytes() == good
    assert project.run("verify").code == 0


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('name = "testing"', 'name = "tasks"', "provider[1]"),
        ('name = "sus"', 'name = "bake"', "provider[1]"),
        ('"SKILL.md" = "blake3:', '"SKILL.MD" = "blake3:', "provider[0].skill[0].files: has no file SKILL.md"),
        ('hash = "blake3:', 'hash = "sha256:', "provider[0].skill[0].hash"),
        ('hash = "blake3:', 'hash = "blake3:0', "provider[0].skill[0].hash"),
        ('"SKILL.md" = "', '"SKILL.md" = "md5:', 'provider[0].skill[0].files."SKILL.md"'),
        ('"SKILL.md" = ', '"x.md" = { target = "y.md" }\n"SKILL.md" = ', 'provider[0].skill[0].files."x.md".target'),
        ('"SKILL.md" = ', '"../x" = "', "it is not TOML"),
        ('version = "1.0.0"', "", "provider[0].version"),
        ('version = "1.0.0"', "version = 1.0", "provider[0].version"),
        ('version = "1.0.0"', 'version = "1\\n0"', "provider[0].version"),
        ('ecosystem = "gem"', 'ecosystem = "../gem"', "provider[0].ecosystem"),
        ('ecosystem = "gem"', 'ecosystem = "gem"\npath = "x"', "provider[0].path"),
        ("[provider.skill.files]", "[provider.skill.file]", "provider[0].skill[0].file"),
    ],
)
def test_a_lock_that_does_not_add_up_is_never_partly_used(project: Project, old: str, new: str, key: str) -> None:
    replaced(project, LOCK, old, new)
    for command in ("list", "sync --force", "verify"):
        text, _ = refused(project, LOCK, command)
        assert key in text


# Names and paths that are none

NAMES = [
    "..",
    ".",
    "",
    "../evil",
    "/etc/x",
    "a/b",
    "a\\b",
    "C:x",
    "con",
    "x.",
    "x ",
    ".agent-skills.yaml",
    ".skillsync",
    "a\nb",
    "a\0b",
    "Testing",
    "\u202etesting",
]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_a_name_that_is_none_is_refused_wherever_it_is_read(project: Project, name: str) -> None:
    quoted = json.dumps(name)
    good = {path: project.read(path) for path in DOCUMENTS}
    for path, old, new in (
        (MANIFEST, '["testing"]', f"[{quoted}]"),
        (MANIFEST, 'skills = ["testing"]', f"exclude = [{quoted}]"),
        (LOCK, 'name = "testing"', f"name = {quoted}"),
        (REGISTRY, "  testing:", f"  {quoted}:"),
    ):
        replaced(project, path, old, new)
        for command in ("list", "sync --force", "verify"):
            text, _ = refused(project, path, command)
            assert all(line.isprintable() for line in text.splitlines())
        project.write({path: good[path]})


@pytest.mark.parametrize("path", ["..", "../x", "/etc/x", "a/../../x", "a//b", "./x", "", "a/", "x\0"], ids=repr)
def test_a_path_that_leaves_the_skill_is_refused_in_the_lock(project: Project, path: str) -> None:
    replaced(project, LOCK, '"SKILL.md" = ', f"{json.dumps(path)} = ")
    for command in ("list", "sync --force", "verify"):
        refused(project, LOCK, command)


@pytest.mark.parametrize(
    "row",
    [
        "  testing: []",
        "  testing: sus",
        "  testing:\n    gem: [sus]",
        "  testing:\n    gem: null",
        "  testing:\n    gem:",
        '  testing:\n    gem: "a\\nb"',
        "  testing:\n    gem: sus\n    version: {}",
        "  testing:\n    gem: sus\n    hash: blake3:0",
        "  testing:\n    gem: sus\n    ecosystem: gem",
        "  testing:\n    ecosystem: pypi",
        "  testing: &a\n    gem: sus\n  more: *a",
        "  testing:\n    gem: sus\n  testing:\n    gem: sus",
        "  [a]:\n    gem: sus",
    ],
)
def test_a_registry_row_that_says_nothing_clear_is_refused(project: Project, row: str) -> None:
    project.write({REGISTRY: f"version: 1\nskills:\n{row}\n"})
    for command in ("list", "sync --force", "verify"):
        refused(project, REGISTRY, command)


def test_scalars_of_the_registry_are_their_text(project: Project) -> None:
    text = re.sub(r"version: 1\.0\.0", "version: 1.0", project.read(REGISTRY)).replace("  tasks:", '  "tasks":')
    project.write({REGISTRY: text.replace("gem: bake", "gem: !ruby/object:Gem bake")})
    assert project.run("sync", "--format", "json").changes == [("record", "tasks"), ("record", "testing")]


@pytest.mark.parametrize(
    ("text", "key", "hint"),
    [
        ('[providers.gem]\nsus = { skill = ["x"] }\n', "providers.gem.sus.skill", "did you mean `skills`?"),
        ('[provider.gem]\nsus = "*"\n', "provider", "did you mean `providers`?"),
        ('[providers.gme]\nsus = "*"\n', "providers.gme", "did you mean `gem`?"),
        ('[providers.gem]\nsus = "~~ 1"\n', "providers.gem.sus", "write a version requirement"),
        ('[providers.gem]\nsus = { version = "^1" }\n', "providers.gem.sus.version", "write a version requirement"),
        ("[providers.gem]\nsus = 1\n", "providers.gem.sus", ""),
        ("[providers.gem]\nsus = true\n", "providers.gem.sus", ""),
        ('[providers.gem]\nsus = { skills = "testing" }\n', "providers.gem.sus.skills", ""),
        ("[providers.gem]\nsus = { skills = [1] }\n", "providers.gem.sus.skills[0]", ""),
        ('[providers.gem]\nsus = { skills = ["../*"] }\n', "providers.gem.sus.skills[0]", ""),
        ('[providers.gem]\n"a\\nb" = "*"\n', "providers.gem", ""),
        ('[providers.gem]\n"" = "*"\n', "providers.gem", ""),
        ('gitignore = "no"\n', "gitignore", ""),
        ('ecosystems = "gem"\n', "ecosystems", ""),
        ('ecosystems = ["../gem"]\n', "ecosystems[0]", "known here: gem"),
        ('[providers.gem]\nsus = "*"\nsus = "1"\n', "duplicate key", ""),
    ],
)
def test_one_wrong_key_of_the_manifest_and_none_of_it_is_used(project: Project, text: str, key: str, hint: str) -> None:
    project.manifest(text)
    for command in ("list", "lock", "sync", "verify"):
        said, problem = refused(project, MANIFEST, command)
        assert key in said
        assert hint in str(problem["hint"])


def test_a_name_that_is_not_quoted_is_hinted_at(project: Project) -> None:
    project.write({MANIFEST: '[providers.npm]\n@tanstack/* = "*"\n'})
    text, _ = refused(project, MANIFEST, "list")
    assert "  hint: quote a name that holds anything but letters" in text
    project.write({MANIFEST: "[providers"})
    text, _ = refused(project, MANIFEST, "list")
    assert f"  hint: correct {MANIFEST}" in text


@pytest.mark.parametrize("command", ["list", "lock", "sync", "verify", "allow gem:sus"])
def test_all_that_is_wrong_in_the_manifest_is_told_in_one_run(project: Project, command: str) -> None:
    project.manifest('target = []\n[providers.gem]\nsus = { skill = ["testing"] }\nbake = 1\n')
    result = project.run(*command.split(), "--format", "json")
    assert (result.code, result.codes) == (2, ["manifest-invalid"] * 3)
    keys = [problem["message"].split(": ")[1] for problem in result.json["problems"]]
    assert keys == ["target", "providers.gem.sus.skill", "providers.gem.bake"]
    assert all(problem["hint"] and problem["path"] == MANIFEST for problem in result.json["problems"])
