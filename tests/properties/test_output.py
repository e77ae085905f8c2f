"""Whatever packages and the repository's files call things, nothing that a terminal would obey or hide is printed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category

import gems
from builders import lay, locked_skill
from hypothesis import example, given, settings
from hypothesis import strategies as st
from node_packages import described
from projects import LOCK, SKILLS, Project

from skillsync.cli import main
from skillsync.hashing import Link
from skillsync.locking import lockfile
from skillsync.locking.lockfile import LockedProvider, Lockfile
from skillsync.syncing import registry
from skillsync.syncing.registry import Registry, Row

if TYPE_CHECKING:
    import pytest
    from projects import Result

COMMANDS = (
    ("list", "--verbose"),
    ("list", "--verify"),
    ("lock", "--check"),
    ("lock", "--verbose"),
    ("verify",),
    ("sync", "--dry-run"),
    ("sync",),
    ("sync", "--force"),
    ("show", "real"),
)
# Controls, those of the direction of text, what has no shape, ends of lines, and bytes that are no text.
_UNSEEN = "\x01\x07\x1b\x7f\x9b\u200b\u200e\u202a\u202e\u2028\u2066\u2069\ufeff\ufe0f\U000e0041\u3164"
_SPACES = "\n\r\t"
_BYTES = "\udc80\udcff"
# One text that has them all; and for each place, what can stand there as it is: a file's name has no other bounds.
TEXT, ESCAPED, NAME = (f"x{_UNSEEN}{more}" for more in ("", _SPACES, _SPACES + _BYTES))
_texts, _escaped, _names = (
    st.text(st.sampled_from(f"{every}ab"), min_size=1, max_size=6).map(lambda text: f"x{text}")
    for every in (TEXT, ESCAPED, NAME)
)
# Each example runs the program some fifty times.
some = settings(max_examples=max(1, settings().max_examples // 25))


def hidden(text: str) -> set[str]:
    """The characters that are not what a reader sees, but for the ends of lines."""
    return {
        character
        for character in text.replace("\n", "")
        if category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} or character in "\ufe0f\u3164"
    }


def check(result: Result, *, is_json: bool) -> None:
    assert not hidden(result.out + result.err), result
    if is_json:
        assert result.out.isascii()
        assert isinstance(json.loads(result.out), dict)


def check_all(project: Project, *commands: tuple[str, ...]) -> None:
    for command in commands or COMMANDS:
        check(project.run(*command), is_json=False)
        check(project.run(*command, "--format", "json"), is_json=True)


def as_line(text: str) -> str:
    """Return a text without what a line of text may not hold."""
    return "".join(character for character in text if character >= " " and character not in "\x7f\x9b\u2028\ufeff")


def quoted(text: str) -> str:
    """Return a text as TOML and YAML have it, every character escaped."""
    return '"' + "".join(f"\\U{ord(character):08X}" for character in text) + '"'


@some
@given(name=_names, front=_escaped)
@example(name=NAME, front=ESCAPED)
def test_of_a_package_s_files_and_frontmatter(name: str, front: str) -> None:
    with tempfile.TemporaryDirectory() as root:
        project = Project(Path(root) / "project").gem("sus", "1.0.0", "real", "other", "unsafe").gem("rest")
        project.manifest('[providers.gem]\n"*" = { hidden-characters = "allow" }')
        shipped = project.gem_root("sus") / "skills"
        both = f"---\nname: {quoted(front)}\ndescription: {quoted(front)}\n---\n"
        lay(shipped, {f"{name}/SKILL.md": both, f"{name}y": "loose", f"{front}b/SKILL.md": both})
        lay(shipped, {"wrong/SKILL.md": f"---\nname: wrong\n{front}\ndescription: a: b\n---\n"})
        lay(shipped, {"colon/SKILL.md": f"---\nname: colon\ndescription: a: b{as_line(front)}\n---\n"})
        text = f"---\nname: real\ndescription: {quoted(front)}\n---\n{name}"
        lay(shipped, {"real/SKILL.md": text.encode("utf-8", "surrogateescape"), f"real/{front}": "#!/bin/sh\n"})
        lay(shipped / "real", {"link": Link(front), f"{front}d/f": "1"})
        check_all(project)
        lay(shipped / "other", {name: "#!/bin/sh\n"})
        check_all(project)
        lay(project.installed("real"), {front: "changed", f"{name}z": "mine", f"{front}d/.venv/lib": "l"})
        lay(project.installed(), {f"{name}w": "unowned"})
        check_all(project)
        lay(shipped / "unsafe", {"link": Link(name)})
        check_all(project, *COMMANDS, ("show", "unsafe"), ("show", "other"))
        project.drop("sus")
        lay(project.installed("real"), {f"{front}d/.venv/lib": "l"})
        check_all(project)


@some
@given(name=_texts, version=_texts, file=_names)
@example(name=TEXT, version=TEXT, file=NAME)
def test_of_packages_names_and_versions(name: str, version: str, file: str) -> None:
    with tempfile.TemporaryDirectory() as root:
        project = Project(Path(root) / "project").write({"package.json": described("app", dependencies={name: "*"})})
        modules = project.root / "node_modules"
        gems.write_files(modules, {f"a/{path}": text for path, text in gems.skills("real").items()})
        gems.write_files(modules, {"a/package.json": described("a")})
        lay(modules, {f"{file}/package.json": described(name), f"{file}y/package.json": f'{{"{name}'})
        lay(modules, {f"{file}z": Link(file)})
        check_all(project)
        project.write({"Gemfile": f'gem "{name}"\n', "Gemfile.lock": f"GEM\n  specs:\n    {name} ({version})\n"})
        check_all(project)
        project.write({"Gemfile.lock": f"GEM\n  {name}\n"})
        check_all(project)


@some
@given(key=_escaped, value=_escaped, raw=_texts)
@example(key=ESCAPED, value=ESCAPED, raw=TEXT)
def test_of_the_manifest(key: str, value: str, raw: str) -> None:
    with tempfile.TemporaryDirectory() as root:
        project = Project(Path(root) / "project").gem("sus", "1.0.0", "real")
        check_all(project.manifest(f"targets = [{quoted(as_line(value))}]"))
        for text in (
            f"{quoted(key)} = 1",
            f"ecosystems = [{quoted(value)}]",
            f"targets = [{quoted(value)}]",
            f"targets = [{quoted('a' + value)}, {quoted('a' + value + '/b')}]",
            f"[providers.{quoted(key)}]",
            f"[providers.gem]\n{quoted(key)} = '*'",
            f"[providers.gem]\n{quoted(key + '*')} = '*'",
            f"[providers.gem]\nsus = {quoted(value)}",
            f"[providers.gem]\nsus = {{ skills = [{quoted(value)}] }}",
            f"[providers.gem]\nsus = {{ path = {quoted(value)} }}",
            f"[providers.gem]\nsus = {{ {quoted(key)} = 1 }}",
            raw,
            f"a = '{raw}",
        ):
            check_all(project.manifest(text), ("list",), ("lock",), ("sync",), ("verify",))


@some
@given(name=_escaped, version=_escaped, path=_escaped, raw=_texts)
@example(name=ESCAPED, version=ESCAPED, path=ESCAPED, raw=TEXT)
def test_of_lock_and_registry(name: str, version: str, path: str, raw: str) -> None:
    with tempfile.TemporaryDirectory() as root:
        project = Project(Path(root) / "project").gem("sus", "1.0.0", "real")
        skill = locked_skill("real", {f"x{path}": "1", "link": Link(path)})
        for ecosystem in ("gem", "pypi", "other"):
            provider = LockedProvider(ecosystem=ecosystem, name=name, version=version, skills=(skill,))
            project.write({LOCK: lockfile.dump(Lockfile(providers=(provider,)))})
            check_all(project)
        row = Row(ecosystem=raw, package=raw, version=raw, hash=skill.hash)
        rows = Registry(rows={"real": row, "gone": row})
        lay(project.root / SKILLS, {registry.FILE_NAME: registry.dump(rows), "real/SKILL.md": "mine", "gone": "x"})
        check_all(project)
        for text in (
            f"{raw}: [",
            f"version: 1\nskills:\n  ? {raw}\n",
            f"version: {raw}",
            f"version: 1\nskills: {{a: {raw}}}",
        ):
            project.write({f"{SKILLS}/{registry.FILE_NAME}": text})
            check_all(project, ("list",), ("lock",), ("sync",), ("verify",))
        for text in (
            raw,
            f"version = 1\n[[{quoted(raw)}]]",
            f"version = 1\n{quoted(raw)} = 1",
            f"version = 1\nprovider = '{raw}'",
        ):
            project.write({LOCK: text})
            check_all(project, ("list",), ("lock",), ("sync",), ("verify",))


@some
@given(text=_names, directory=_names)
@example(text=NAME, directory=NAME)
def test_of_arguments_and_the_project_s_own_directory(text: str, directory: str) -> None:
    with tempfile.TemporaryDirectory() as root:
        project = Project(Path(root) / directory)
        check_all(project, *COMMANDS)
        project.gem("sus", "1.0.0", "real")
        for arguments in (
            ("show", text),
            ("verify", "--scope", text),
            ("list", text),
            (text,),
            ("list", "--project", text),
        ):
            check(project.run(*arguments), is_json=False)
        check_all(project, *COMMANDS, ("init",))


def test_of_the_target_that_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    main._wait("a\u202eb")  # noqa: SLF001  # what is said while another run is waited for
    assert capsys.readouterr().err == "waiting for another skillsync in a\\u202eb\n"
