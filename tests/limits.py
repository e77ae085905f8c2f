"""What the worst document costs that is still read: one table of readers and shapes.

As a program (`python limits.py [READER…]`): prints reader, shape, KiB, seconds and MiB, one line for each.
"""

# ruff: noqa: SLF001  # a limit is private to what it limits

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from builders import SHELVES

from skillsync.checking import markdown
from skillsync.discovery import skill
from skillsync.discovery.gem import bundler
from skillsync.discovery.gem import ecosystem as gems
from skillsync.discovery.npm import locks, package_json
from skillsync.discovery.pypi import distributions, environments, metadata
from skillsync.discovery.pypi import project as python_project
from skillsync.discovery.skill import about
from skillsync.locking import lockfile, manifest
from skillsync.schema import InvalidError, MalformedError, toml
from skillsync.syncing import journal, registry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Shape = tuple[bytes, bytes, bytes]  # what comes first, what is repeated, what comes last

TOML: dict[str, Shape] = {
    "lists": (b"a=[", b"[],", b"]"),
    "tables in a list": (b"a=[", b"{},", b"]"),
    "numbers": (b"a=[", b"1,", b"]"),
    "texts": (b"a=[", b"'',", b"]"),
    "tables": (b"", b"[[a]]\n", b""),
    "nested": (b"a=", b"[", b""),
    "a dotted key": (b"", b"a.", b"a=1"),
    "a dotted table": (b"[", b"a.", b"a]"),
    "lines": (b"a=1", b"\n", b""),
    "comments": (b"a=1\n", b"#\n", b""),
    "a comment": (b"a=1\n#", b"x", b""),
    "escapes": (b'a="', b"\\n", b'"'),
    "wide characters": ("a='\U0001f600".encode(), b"x", b"'"),
}
YAML: dict[str, Shape] = {
    "texts": (b"a: [", b"a,", b"]"),
    "mappings": (b"a: [", b"{},", b"]"),
    "items": (b"", b"- \n", b""),
    "keys": (b"", b"a:\n", b""),
    "aliases": (b"a: &a x\nb: [", b"*a,", b"]"),
    "anchors": (b"a: [", b"&a x,", b"]"),
    "tags": (b"a: [", b"! x,", b"]"),
    "nested": (b"", b"[", b""),
    "nested mappings": (b"", b"{a: ", b""),
    "questions": (b"", b"? ", b""),
    "a text": (b"a: ", b"x", b""),
    "a key": (b"", b"a b ", b": x"),
    "lines": (b"a: |\n", b"\n", b""),
    "wide characters": ("a: \U0001f600".encode(), b"x", b""),
}
JSON: dict[str, Shape] = {
    "lists": (b"[", b"[],", b"1]"),
    "objects": (b'{"a":[', b'{"a":1},', b"1]}"),
    "nested": (b"", b"[", b""),
    "nested objects": (b"", b'{"a":', b""),
    "digits": (b'{"a":', b"9", b"}"),
    "numbers": (b"[", b"1.5,", b"1]"),
    "wide characters": ('{"a":"\U0001f600'.encode(), b"x", b'"}'),
}
MANIFEST: dict[str, Shape] = {
    "targets": (b"targets=[", b"'a',", b"]"),
    "one target": (b"targets=['", b"a/", b"a']"),
    "skills": (b"[providers.gem]\nx={skills=[", b"'a',", b"]}"),
    "requirements": (b"[providers.gem]\nx=[", b"'>1',", b"]"),
    "one requirement": (b"[providers.gem]\nx='", b">1,", b">1'"),
}
GEMFILE_LOCK: dict[str, Shape] = {
    "gems": (b"GEM\n  specs:\n", b"    a (1)\n", b""),
    "sections": (b"", b"GEM\n", b""),
    "lines": (b"GEM\n", b"\n", b""),
    "dependencies": (b"DEPENDENCIES\n", b"  a\n", b""),
    "a remote": (b"GIT\n  remote: ", b"a/", b"\n  revision: 0123456789\n  specs:\n    a (1)\n"),
    "brackets": (b"GEM\n  specs:\n    a", b"(", b"\n"),
}
GEMFILE: dict[str, Shape] = {
    "gems": (b"", b"gem 'a'\n", b""),
    "quotes": (b"", b'"\n', b""),
    "a text": (b'"', b"\\", b""),
    "brackets": (b"", b"gem(", b""),
    "blanks": (b"gem", b" ", b""),
    "comments": (b"", b"=begin ", b""),
}
CONFIG: dict[str, Shape] = {
    "settings": (b"", b"BUNDLE_A: a\n", b""),
    "colons": (b"BUNDLE_A", b":a", b""),
    "blanks": (b"BUNDLE_A:", b" ", b"\n"),
}
RECORD: dict[str, Shape] = {
    "rows": (b"skills/\n", b"a,\n", b""),
    "directories": (b"skills/\n", b"a/\n", b""),
    "fields": (b"skills/", b",", b""),
    "a quoted field": (b'"skills/', b'""', b'"'),
}
HEADERS: dict[str, Shape] = {
    "headers": (b"", b"a:\n", b"Name: a\nVersion: 1\n"),
    "a version": (b"Name: a\nVersion: ", b"1.", b"1\n"),
    "a name": (b"Name: ", b"a-", b"a\nVersion: 1\n"),
    "line ends": (b"", b"\r", b"\n"),
}
URL: dict[str, Shape] = {
    "dots": (b'{"dir_info":{},"url":"file:///', b"a/../", b'"}'),
    "escapes": (b'{"dir_info":{},"url":"file:///', b"%41", b'"}'),
    "a host": ('{"dir_info":{},"url":"file://\ufdfa'.encode(), "\ufdfa".encode(), b'"}'),
}
PACKAGE_LOCK: dict[str, Shape] = {
    "paths": (b"", b'node_modules/a":', b""),
    "scopes": (b"", b"node_modules/@a", b""),
    "names": (b"", b'"name":"a"', b""),
    "blanks": (b'"name":', b" ", b""),
    "aliases": (b"", b"npm:a@", b""),
    "no text": ("\U0001f600".encode(), b"\xff", b""),
}
PNPM_LOCK: dict[str, Shape] = {"keys": (b"", b"\n  a@", b""), "paths": (b"", b"\n  /a/1", b"")}
YARN_LOCK: dict[str, Shape] = {"keys": (b"", b"\na@", b""), "more keys": (b"", b", a@", b"")}


# Each is what some rule of the parser takes longest for, or once took the square of its length for.
MARKDOWN: dict[str, Shape] = {
    "open brackets": (b"[](a)", b"[", b""),
    "open images": (b"", b"![", b"](a)"),
    "links": (b"", b"[](a)\n", b""),
    "no target": (b"", b"[a](", b""),
    "nested images": (b"", b"![[]()", b""),
    "emphasis": (b"[](a)", b"*a_ ", b""),
    "no definition": (b"[](a)\n\n", b"[a\n", b""),
    "definitions": (b"", b"[a]: b\n", b""),
    "a title": (b"[a]: b '", b"a\n", b""),
    "continued quotes": (b">" * 200 + b"\n[](a)", b"a\n", b""),
    "nested lists": (b"[](a)\n", b"* ", b"a"),
    "items": (b"[](a)\n", b"* a\n", b""),
    "comments": (b"[](a)", b"<!--", b""),
    "instructions": (b"[](a)", b"x <?", b""),
    "sections": (b"[](a)", b"x <![CDATA[", b""),
    "entities": (b"[](a)", b"&", b""),
    "tags": (b"<div>[](a)", b"<a\n", b""),
    "attributes": (b"<div>", b"<a href='\n", b""),
    "a tag": (b"<a ", b"href ", b">"),
    "no frontmatter": (b"---\n[](a)", b"--- a\n", b""),
}


def _record(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "RECORD").write_bytes(content)
        distributions._record(directory, parse=True)


def _lock_of_bundler(content: bytes) -> None:
    lock = bundler.parse_lock(content.decode())
    for source in lock.sources:
        source.checkout  # noqa: B018  # what it costs is asked
    lock.named  # noqa: B018


READERS: dict[str, tuple[int, Callable[[bytes], object], dict[str, Shape]]] = {
    "lock": (lockfile.LIMIT, lockfile.parse, TOML),
    "manifest": (manifest.LIMIT, lambda content: manifest.parse(content, SHELVES), MANIFEST),
    "registry": (registry.LIMIT, registry.parse, YAML),
    "journal": (journal.LIMIT, journal.parse, JSON),
    "frontmatter": (
        skill.BLOCK_LIMIT,
        lambda content: skill.parse(b"---\n" + content + b"\n---\n", about("gem:a", "a", "a")),
        YAML,
    ),
    "Gemfile.lock": (gems._DEPENDENCY_FILE_LIMIT, _lock_of_bundler, GEMFILE_LOCK),
    "Gemfile": (gems._DEPENDENCY_FILE_LIMIT, lambda content: bundler.gem_names(content.decode()), GEMFILE),
    "Bundler's config": (gems._CONFIG_LIMIT, lambda content: bundler.parse_config(content.decode()), CONFIG),
    "RECORD": (distributions._RECORD_LIMIT, _record, RECORD),
    "METADATA": (metadata.READ_SIZE, metadata.identity, HEADERS),
    "direct_url.json": (distributions._SMALL, metadata.direct, {**JSON, **URL}),
    "pyvenv.cfg": (
        environments._SMALL,
        lambda content: environments.config_values(content.decode()),
        {"rows": (b"", b"a=\n", b""), "signs": (b"", b"=", b"")},
    ),
    "pyproject.toml": (
        python_project._LIMIT,
        toml,
        {name: TOML[name] for name in ("texts", "lines", "wide characters")},
    ),
    "package.json": (package_json.LIMIT, package_json.load, JSON),
    "package-lock.json": (locks.LIMIT, lambda content: locks.names("package-lock.json", content), PACKAGE_LOCK),
    "pnpm-lock.yaml": (locks.LIMIT, lambda content: locks.names("pnpm-lock.yaml", content), PNPM_LOCK),
    "yarn.lock": (locks.LIMIT, lambda content: locks.names("yarn.lock", content), YARN_LOCK),
    "Markdown": (markdown.LIMIT, lambda content: markdown.links(content.decode()), MARKDOWN),
    "bun.lock": (locks.LIMIT, lambda content: locks.names("bun.lock", content), {"names": (b"", b'["a@', b"")}),
}


def shaped(shape: Shape, size: int) -> bytes:
    """Return a document of a size in one shape."""
    first, repeated, last = shape
    return first + repeated * ((size - len(first) - len(last)) // len(repeated)) + last


def resident(key: str) -> int:
    """Return what Linux says of this process's memory, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:"))


def cost(read: Callable[[bytes], object], content: bytes) -> str:
    """Read in a process of its own, so that compiled readers' memory counts, and return the seconds and MiB."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        before = resident("VmRSS") - len(content)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
        started = time.process_time()
        # Anything else is an error that its callers don't expect.
        with suppress(InvalidError, MalformedError, ValueError):
            read(content)
        seconds = time.process_time() - started
        os.write(writing, f"{seconds:.2f} {(resident('VmHWM') - before) >> 20}".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="ascii") as answer:
        found = answer.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    return found


def main(names: Sequence[str]) -> None:
    for name in names:
        limit, read, shapes = READERS[name]
        for label, shape in shapes.items():
            found = cost(read, shaped(shape, limit))
            sys.stdout.write(f"{name}\t{label}\t{limit >> 10}\t{found.replace(' ', chr(9))}\n")


if __name__ == "__main__":
    main(sys.argv[1:] or list(READERS))
