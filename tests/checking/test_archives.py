from __future__ import annotations

import functools
import gzip
import io
import os
import struct
import tarfile
import tempfile
import threading
import zipfile
import zlib
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

import artifacts
import pytest
import wheels
from artifacts import WHEEL, Part, entry, gem, packed, tarball, wheel_files, write, zipped
from builders import FIFO, lay
from gems import skill
from hypothesis import example, given
from hypothesis import strategies as st
from projects import Project
from tools import need_python_tool

from skillsync.checking import contents, rules, tar_archive, zip_archive
from skillsync.checking.artifact import read_artifact
from skillsync.checking.contents import Gathered, snapshot_of
from skillsync.checking.tree import read_tree
from skillsync.filesystem import open_directory
from skillsync.hashing import Link
from skillsync.snapshot import snapshot
from skillsync.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from builders import Piece
    from projects import Result

    from skillsync.checking.offer import Offer
    from skillsync.errors import Problem

GOOD: dict[str, str | bytes] = {
    "skills/kelp-forms/SKILL.md": skill("kelp-forms"),
    "skills/kelp-forms/scripts/run": "#!/bin/sh\n",
    "lib/kelp.rb": "",
}
PYTHON = {"kelp/__init__.py": "", "kelp/.agents/skills/kelp-forms/SKILL.md": skill("kelp-forms")}
# Its first entry has some content.
PARTED = dict(reversed(PYTHON.items()))
NPM = {"package.json": '{"name": "kelp", "version": "1.2.0"}', **GOOD}
SDIST = {"PKG-INFO": "Name: kelp\nVersion: 1.2.0\n", "src/kelp/skills/kelp-forms/SKILL.md": skill("kelp-forms")}
ARTIFACTS = {
    "kelp-1.2.0.gem": gem(packed(GOOD)),
    WHEEL: zipped(wheel_files(PYTHON)),
    "kelp-1.2.0.tgz": tarball(NPM),
    "kelp-1.2.0.tar.gz": tarball(SDIST, top="kelp-1.2.0/"),
}


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name
        """Say nothing."""


def check(root: Path, name: str, content: bytes) -> Result:
    """Check an artifact in JSON and in text, which have to agree; it is all that is ever there."""
    write(root / name, content)
    project = Project(root)
    result = project.run("check", name, "--format", "json")
    text = project.run("check", name)
    assert text.code == result.code
    assert os.listdir(root) == [name]
    return result


def artifact_at(path: Path) -> Offer:
    return read_artifact(str(path), str(path))


def found(result: Result) -> list[tuple[str, str]]:
    return [(one["severity"], one["code"]) for one in result.json["problems"]]


def said(result: Result) -> str:
    return "\n".join(one["message"] for one in result.json["problems"])


@pytest.mark.parametrize("name", ARTIFACTS)
def test_a_good_artifact_is_ok(tmp_path: Path, name: str) -> None:
    result = check(tmp_path, name, ARTIFACTS[name])
    assert (result.code, result.json["problems"]) == (0, [])
    (package,) = result.json["packages"]
    assert (package["kind"], package["name"], package["version"]) == ("artifact", "kelp", "1.2.0")
    assert [one["name"] for one in package["skills"]] == ["kelp-forms"]
    assert result.json["checked"]["artifacts"] == 1


def test_the_suffix_of_a_tarball_does_not_decide_whose_it_is(tmp_path: Path) -> None:
    (package,) = check(tmp_path, "kelp.tgz", ARTIFACTS["kelp-1.2.0.tar.gz"]).json["packages"]
    assert package["ecosystem"] == "pypi"


def test_a_file_of_python_makes_no_npm_package_a_source_distribution(tmp_path: Path) -> None:
    files = {**NPM, **SDIST, "skills/kelp-forms/SKILL.md": "no frontmatter"}
    result = check(tmp_path, "kelp.tgz", tarball(files))
    assert (result.code, result.json["packages"][0]["ecosystem"]) == (1, "npm")


@pytest.mark.parametrize(
    ("settings", "paths"),
    [
        ('[project]\nname = "kelp"\n[tool.maturin]\npython-source = "python"\n', ["python/kelp/skills/kelp-forms"]),
        ('[project]\nname = "kelp"\n', []),
        ("[project\n", []),
    ],
)
def test_a_source_distribution_is_laid_out_as_its_settings_say(tmp_path: Path, settings: str, paths: list[str]) -> None:
    files = {**SDIST, "pyproject.toml": settings, "python/kelp/skills/kelp-forms/SKILL.md": skill("kelp-forms")}
    del files["src/kelp/skills/kelp-forms/SKILL.md"]
    write(tmp_path / "kelp-1.2.0.tar.gz", tarball(files, top="kelp-1.2.0/"))
    offer = read_artifact(str(tmp_path / "kelp-1.2.0.tar.gz"), "kelp-1.2.0.tar.gz")
    assert (offer.package.key, [one.found.path for one in offer.skills]) == ("pypi:kelp", paths)


def test_what_is_wrong_in_a_skill_is_found_in_an_archive(tmp_path: Path) -> None:
    files = {
        "skills/kelp-colon/SKILL.md": "---\nname: kelp-colon\ndescription: a: b\n---\n",
        "skills/kelp-case/Skill.md": "",
        "skills/kelp-hidden/SKILL.md": skill("kelp-hidden", "a\u202eb\n"),
        "skills/kelp-file": "",
        "data/x/SKILL.md": skill("x"),
    }
    links = [
        (entry("skills/kelp-linked", tarfile.SYMTYPE, linkname="kelp-forms"), b""),
        (entry("skills/kelp-forms/up", tarfile.SYMTYPE, linkname="../../lib/kelp.rb"), b""),
        (entry("skills/kelp-forms/in", tarfile.SYMTYPE, linkname="SKILL.md"), b""),
        (entry("skills/kelp-forms/ba\udcffd", tarfile.REGTYPE), b""),
    ]
    result = check(tmp_path, "kelp.gem", gem(packed({**GOOD, **files}, *links)))
    assert result.code == 1
    # The standard library writes a name that is not UTF-8 with a header that no gem has.
    problems = [(one["severity"], one["code"], one["path"]) for one in result.json["problems"] if "path" in one]
    assert problems == [
        ("error", "invalid-skill", "skills/kelp-case/Skill.md"),
        ("error", "invalid-skill", "skills/kelp-colon/SKILL.md"),
        ("error", "unsafe-skill", "skills/kelp-forms/ba\\xffd"),
        ("error", "unsafe-skill", "skills/kelp-forms/up"),
        ("error", "hidden-characters", "skills/kelp-hidden/SKILL.md"),
        ("error", "invalid-skill", "skills/kelp-linked"),
        ("warning", "skill-elsewhere", "data"),
    ]
    assert "kelp.gem/skills/kelp-colon/SKILL.md has frontmatter that is not YAML" in said(result)


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ((entry("skills", tarfile.SYMTYPE, linkname="lib"), b""), "skills is not read: `skills` is a symbolic link"),
        ((entry("skills"), b""), "ships no skill"),
    ],
)
def test_a_place_that_is_no_directory_is_an_error(
    tmp_path: Path, node: tuple[tarfile.TarInfo, bytes], reason: str
) -> None:
    result = check(tmp_path, "kelp.gem", gem(packed({"lib/kelp.rb": ""}, node)))
    assert result.code == 1
    assert reason in said(result)


@pytest.mark.parametrize(("mode", "is_executable"), [(0o755, True), (0o744, True), (0o655, False), (0o601, False)])
def test_what_its_owner_may_run_is_executable(tmp_path: Path, mode: int, is_executable: bool) -> None:  # noqa: FBT001
    script = (entry("skills/kelp-forms/x", mode=mode, size=4), b"#!/x")
    result = check(tmp_path, "kelp.gem", gem(packed(GOOD, script)))
    assert ("not-executable" in result.codes) == (not is_executable)
    (tmp_path / "kelp.gem").unlink()
    info = zipfile.ZipInfo("kelp/.agents/skills/kelp-forms/x")
    info.external_attr = mode << 16
    result = check(tmp_path, WHEEL, zipped(wheel_files(PYTHON), (info, b"#!/x")))
    assert ("not-executable" in result.codes) == (not is_executable)


# Hostile archives


def header(name: str, kind: bytes = tarfile.REGTYPE, **more: object) -> Callable[[], bytes]:
    return lambda: gem(packed(GOOD, (entry(name, kind, **more), b"")))


def npm_header(name: str, **more: object) -> Callable[[], bytes]:
    return lambda: tarball(NPM, (entry(f"package/{name}", tarfile.REGTYPE, **more), b""))


def summed(header: bytearray) -> bytes:
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def patched(changes: Mapping[int, bytes], checksum: bytes = b"") -> Callable[[], bytes]:
    """Return an npm package whose last header has other bytes, and a checksum that is right if it isn't given."""

    def made() -> bytes:
        header = bytearray(entry("package/z").tobuf(tarfile.USTAR_FORMAT))
        for place, text in changes.items():
            header[place : place + len(text)] = text
        whole = summed(header)
        return gzip.compress(start_of_npm() + whole[:148] + (checksum or whole[148:156]) + whole[156:] + bytes(1024))

    return made


def start_of_npm() -> bytes:
    start = packed({f"package/{path}": text for path, text in NPM.items()}).rstrip(b"\0")
    return start + bytes(-len(start) % 512)


def preceded(
    *before: tuple[bytes, bytes], name: str = "package/z", kind: bytes = tarfile.REGTYPE, padding: bytes = b""
) -> Callable[[], bytes]:
    """Return an npm package with headers before the last entry's: each with its kind, and what it holds."""

    def made() -> bytes:
        content = start_of_npm()
        for each, data in before:
            content += entry("x", each, size=len(data)).tobuf(tarfile.USTAR_FORMAT)
            content += data + padding + bytes(-len(data + padding) % 512)
        header = bytearray(entry(name).tobuf(tarfile.USTAR_FORMAT))
        header[156:157] = kind
        return gzip.compress(content + summed(header) + bytes(1024))

    return made


def records(*told: bytes) -> bytes:
    return b"".join(b"%d %s\n" % (len(one) + 4, one) for one in told)


X, G, L, K = tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK
DIFFERENT = "has records before it that readers read differently"
SEVERAL = "has several headers before its own"


def zip_entry(name: str, content: bytes = b"x", mode: int = 0o100644, **more: object) -> Callable[[], bytes]:
    def made() -> bytes:
        info = zipfile.ZipInfo("placeholder")
        info.filename = info.orig_filename = name
        info.external_attr = mode << 16
        for key, value in more.items():
            setattr(info, key, value)
        with catch_warnings():
            simplefilter("ignore")  # of names that are there twice
            return zipped(wheel_files(PYTHON), (info, content))

    return made


def encrypted() -> bytes:
    content = bytearray(zipped(wheel_files(PYTHON)))
    for mark, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(mark) + place] |= 1
    return bytes(content)


def renamed(old: bytes, new: bytes) -> Callable[[], bytes]:
    return lambda: zipped({**wheel_files(PYTHON), "k?": ""}).replace(old, new)


def overlapping() -> bytes:
    """Return a zip whose directory names the first entry's bytes a second time."""
    content = zipped(wheel_files(PYTHON))
    start = content.index(b"PK\1\2")
    end = content.index(b"PK\1\2", start + 4)
    row, tail = content[start:end], content.index(b"PK\5\6")
    fields = list(struct.unpack("<HHLLH", content[tail + 8 : tail + 22]))
    fields[0] += 1
    fields[1] += 1
    fields[2] += len(row)
    return content[:tail] + row + content[tail : tail + 8] + struct.pack("<HHLLH", *fields)


def gapped() -> bytes:
    """Return a zip with bytes between entries that no entry has."""
    content = zipped({"a": "", **wheel_files(PYTHON)})
    at = content.index(b"PK\3\4", 4)
    made = bytearray(content[:at] + b"#" * 100 + content[at:])
    row, start = 0, made.index(b"PK\1\2")
    while (row := made.find(b"PK\1\2", row + 1)) > 0:
        offset = struct.unpack("<L", made[row + 42 : row + 46])[0]
        if offset:
            made[row + 42 : row + 46] = struct.pack("<L", offset + 100)
    tail = made.index(b"PK\5\6")
    made[tail + 16 : tail + 20] = struct.pack("<L", start)
    return bytes(made)


def padded() -> bytes:
    """Return a zip with bytes between the last entry and the directory."""
    content = zipped(wheel_files(PYTHON))
    start = content.index(b"PK\1\2")
    made = bytearray(content[:start] + b"#" * 100 + content[start:])
    tail = made.index(b"PK\5\6")
    made[tail + 16 : tail + 20] = struct.pack("<L", start + 100)
    return bytes(made)


def with_part(*, last: tuple[Part, ...] = (), **changes: object) -> Callable[[], bytes]:
    """Return a wheel of whose first entry something is otherwise; a function makes it of the entry."""

    def change(part: Part) -> None:
        for key, value in changes.items():
            setattr(part, key, value(part) if callable(value) else value)

    return lambda: artifacts.parted(wheel_files(PARTED), change, last=last)


def with_end(**end: int) -> Callable[[], bytes]:
    return lambda: artifacts.parted(wheel_files(PARTED), lambda _: None, end=end)


def extra(number: int, content: bytes) -> bytes:
    return struct.pack("<2H", number, len(content)) + content


def second_name(part: Part) -> bytes:
    return extra(0x7075, struct.pack("<BL", 1, zlib.crc32(part.name)) + part.name.replace(b"SKILL", b"OTHER"))


def zip64(part: Part) -> bytes:
    return extra(1, struct.pack("<2Q", part.fields["size"], part.fields["packed"]))


LOCATOR = b"PK\6\7" + bytes(16)
OTHER_HEADER = "has another header before its bytes than in the directory"
HOSTILE: list[tuple[str, Callable[[], bytes], str]] = [
    ("x.gem", header("/etc/passwd"), "`/etc/passwd` is an absolute path"),
    ("x.gem", header("a/../../b"), "leads out of the archive"),
    ("x.gem", header("c:/b"), "begins with a drive's letter"),
    ("x.gem", header("a\\b"), "has a backslash in its name"),
    ("x.gem", header("a//b"), "has an empty part"),
    ("x.gem", header("/".join("a" * 101)), "is more than 100 levels deep"),
    ("x.gem", header("lib/kelp.rb"), "`lib/kelp.rb` is there twice"),
    ("x.gem", header("lib/kelp.rb/x"), "is below what is no directory"),
    ("x.gem", header("a", tarfile.LNKTYPE, linkname="lib/kelp.rb"), "`a` is a hard link"),
    ("x.gem", header("a", tarfile.SYMTYPE, linkname="/etc"), "`a` is a link that leads out"),
    ("x.gem", header("a/b", tarfile.SYMTYPE, linkname="x/../../../c"), "`a/b` is a link that leads out"),
    ("x.gem", header("a", tarfile.CHRTYPE), "`a` is a device"),
    ("x.gem", header("a", tarfile.FIFOTYPE), "`a` is a FIFO"),
    ("x.gem", header("a", b"Z"), "`a` is of an unknown kind"),
    ("x.gem", header("a", tarfile.REGTYPE, pax_headers={"GNU.sparse.major": "0", "GNU.sparse.map": "0,0"}), "sparse"),
    ("x.gem", header("a", pax_headers={"path": "b"}), "has a header that RubyGems doesn't read"),
    ("x.gem", header("a", tarfile.AREGTYPE), "is of a kind that some installers leave out"),
    ("x.gem", header("skills/kelp-forms/SKILL.md "), "which RubyGems takes off"),
    ("x.tgz", npm_header("a", pax_headers={"comment": "z\n10 path=b"}), "has records before it that readers read"),
    ("x.tgz", npm_header("a", pax_headers={"GNU.sparse.name": "package/b"}), "is a sparse file"),
    *(
        ("x.tgz", preceded((X, data)), DIFFERENT)
        for data in (
            records(b"path=package/a", b"path=package/b"),
            records(b"type=SymbolicLink"),
            records(b"path=package/caf\xe9"),
        )
    ),
    ("x.tgz", preceded((X, records(b"mtime=12345")), padding=records(b"path=package/a")), DIFFERENT),
    ("x.tgz", preceded((G, records(b"path=package/a"))), DIFFERENT),
    ("x.tgz", preceded((L, b"package/a\0more\0")), "has more behind the end of its name"),
    ("x.tgz", preceded((L, b"package/a\0"), (L, b"package/b\0")), SEVERAL),
    ("x.tgz", preceded((L, b"package/a\0"), (X, records(b"path=package/b"))), SEVERAL),
    ("x.tgz", preceded((tarfile.SOLARIS_XHDTYPE, records(b"path=package/b"))), SEVERAL),
    ("x.tgz", preceded((X, records(b"path=package/b/"))), "is a file with a directory's name"),
    (
        "x.tgz",
        preceded((L, b"package/a\0"), name="package/z/", kind=tarfile.AREGTYPE),
        "is a file with a directory's name",
    ),
    ("x.tgz", preceded(kind=tarfile.CONTTYPE), "is of a kind that some installers leave out"),
    ("x.tgz", preceded(name="./package/z"), "begins with `.`"),
    ("x.tgz", npm_header("a/"), "is a file with a directory's name"),
    ("x.tgz", patched({8: b"a\0\nb"}), "has more behind the end of its name"),
    ("x.tgz", patched({124: b"0o0000000000"}), "has a size that readers read differently"),
    ("x.tgz", patched({124: b"00000000001\0", 156: b"5"}), "has content, and is no file"),
    ("x.tgz", patched({257: b"ustar\x0099", 345: b"b"}), "has a name that readers put together differently"),
    ("x.tgz", patched({345: b"package\0\n", 475: b"\1"}), "has more behind the end of its name"),
    # The sum of the bytes as numbers with a sign, which the standard library takes too, and npm passes over.
    ("x.tgz", patched({265: b"\xff"}, b"007521\0 "), "has a checksum that only some readers take"),
    ("x.tgz", patched({}, b"0o7522\0 "), "has a checksum that only some readers take"),
    ("x.tgz", patched({257: b"ustar  \0", 345: b"b"}), "has a name that readers put together differently"),
    ("x.gem", lambda: gem(packed(GOOD) + packed({"more": ""})), "it goes on behind its end"),
    (
        "x.gem",
        lambda: gem(packed(GOOD), (entry("x", tarfile.DIRTYPE), b"")),
        "`x` is no file, or there twice, or nothing that a gem has",
    ),
    *(
        ("x.gem", lambda name=name: gem(packed(GOOD), change=lambda of: of.update({name: b""})), f"`{name}` is no file")
        for name in ("metadata", "data.tar", "./data.tar.gz", "checksums.yaml", "x/metadata.gz")
    ),
    ("x.gem", header("skills", tarfile.DIRTYPE), "`skills` is a directory that follows what is in it"),
    ("x.gem", header("./", tarfile.DIRTYPE), "it is a directory that follows what is in it"),
    ("x.gem", header("Skills/x"), "`Skills` has the same name as `skills` where case"),
    ("x.gem", header("skills/Kelp-Forms/x"), "`skills/Kelp-Forms` has the same name as `kelp-forms`"),
    ("x.tgz", npm_header(".Agents/x"), "`.Agents` has the same name as `.agents`"),
    ("x.tgz", npm_header(".agents/\u017fkills/x"), "has the same name as `skills`"),
    (
        WHEEL,
        zip_entry("kelp/.agents/Skills/x"),
        "`kelp/.agents/Skills` has the same name as `skills`",
    ),
    ("x.tgz", npm_header("skills/kelp-forms/.gitignore"), "is installed by npm as .npmignore"),
    (WHEEL, zip_entry("../b"), "leads out of the archive"),
    (WHEEL, zip_entry("kelp/__init__.py"), "is there twice"),
    (
        WHEEL,
        zip_entry("a", b"/etc/passwd", 0o120777),
        "`a` is a link that leads out of the archive",
    ),
    (WHEEL, zip_entry("a", b"kelp", 0o120777), "`a` is a link: installers write a file"),
    (WHEEL, zip_entry("a", mode=0o010644), "`a` is neither a file nor a directory"),
    (WHEEL, zip_entry("a", compress_type=zipfile.ZIP_LZMA), "compressed in a way"),
    (WHEEL, encrypted, "is encrypted"),
    (WHEEL, renamed(b"k?", b"\0?"), "has a NUL in its name"),
    (WHEEL, overlapping, "has bytes that are another entry's"),
    (WHEEL, padded, "it has bytes that are no entry's"),
    (WHEEL, gapped, "stands behind bytes that are no entry's"),
    (WHEEL, with_part(header={"flags": 0x800}), OTHER_HEADER),
    (WHEEL, with_part(header={"method": zipfile.ZIP_STORED}), OTHER_HEADER),
    *((WHEEL, with_part(header={size: 1}), OTHER_HEADER) for size in ("crc", "packed", "size")),
    (WHEEL, with_part(behind=b"#"), "stands behind bytes that are no entry's"),
    (WHEEL, with_part(flags=8, behind=bytes(16)), "has its sizes behind it as only some"),
    (
        WHEEL,
        with_part(flags=8, method=zipfile.ZIP_STORED, behind=lambda part: part.descriptor),
        "has its sizes behind",
    ),
    (WHEEL, with_part(extra=second_name), "has a second name"),
    (WHEEL, with_part(row_extra=second_name), "has a second name"),
    (WHEEL, with_part(row_extra=zip64), "has sizes that readers read differently"),
    (WHEEL, with_part(extra=extra(1, bytes(16))), "has sizes that readers read differently"),
    (WHEEL, with_part(last=(Part("é".encode(), b""),)), "has a name that is not UTF-8"),
    (
        WHEEL,
        with_part(last=(Part(b"kelp/d/", b"x"),)),
        "`kelp/d` is a directory, and has content",
    ),
    (WHEEL, with_part(last=(Part(b"", b"x"),)), "it has a file without a name"),
    ("x.gem", header("."), "it has a file without a name"),
]


@pytest.mark.parametrize(("name", "make", "reason"), HOSTILE, ids=[one[2] for one in HOSTILE])
def test_a_hostile_archive_is_an_error(tmp_path: Path, name: str, make: Callable[[], bytes], reason: str) -> None:
    result = check(tmp_path, name, make())
    assert result.code == 1
    assert ("error", "archive-unsafe") in found(result)
    assert reason in said(result)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"flags": 8, "behind": lambda part: part.descriptor},
        {"flags": 8, "behind": lambda part: part.descriptor, "header": {"crc": 0, "packed": 0, "size": 0}},
        {"extra": zip64},
        {"extra": zip64, "header": {"packed": 0xFFFFFFFF, "size": 0xFFFFFFFF}},
        {"method": zipfile.ZIP_STORED},
        {"comment": b"of an entry"},
    ],
)
def test_every_form_that_all_installers_read_alike_is_ok(tmp_path: Path, changes: dict[str, object]) -> None:
    assert check(tmp_path, WHEEL, with_part(**changes)()).json["problems"] == []  # type: ignore[arg-type]


def test_uv_takes_the_second_name_of_a_wheel_that_it_downloads(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    name = WHEEL
    write(tmp_path / "served" / name, with_part(extra=second_name, row_extra=second_name)())
    handler = functools.partial(QuietHandler, directory=tmp_path / "served")
    environ = {**wheels.python_environ(tmp_path / "home", tmp_path / "cache"), "NO_PROXY": "*"}
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/{name}"
        install = (need_python_tool("uv"), "pip", "install", "--no-config", "--no-deps", "--target", "site")
        wheels.run((*install, f"kelp @ {url}"), tmp_path, environ)
        server.shutdown()
    assert os.listdir(tmp_path / "site/kelp/.agents/skills/kelp-forms") == ["OTHER.md"]
    assert "has a second name" in said(Project(tmp_path).run("check", f"served/{name}", "--format", "json"))


@pytest.mark.parametrize(
    "make",
    [
        preceded((X, records(b"path=package/b", b"mtime=12345"))),
        preceded((X, records(b"SCHILY.xattr.user.x=\n\xff\n"))),
        preceded((G, records(b"comment=12345")), (X, records(b"path=package/b"))),
        preceded((K, b"x\0"), (L, b"package/b\0")),
        preceded((L, b"package/b")),
        preceded(kind=tarfile.AREGTYPE),
        patched({476: b"15301700473\0" * 2}),  # times behind a prefix
        patched({257: b"ustar  \0"}),
        patched({265: b"\xff"}),
    ],
)
def test_every_header_that_all_installers_read_alike_is_ok(tmp_path: Path, make: Callable[[], bytes]) -> None:
    assert check(tmp_path, "x.tgz", make()).json["problems"] == []


@pytest.mark.parametrize(
    "data", [b"13 mtime=1234\n", b"0 mtime=12345\n", b"12xmtime=123\n", b"mtime=12345\n", b"2 \n", b"99 mtime=1\n"]
)
def test_records_that_are_none_are_an_error(tmp_path: Path, data: bytes) -> None:
    """Some versions of the standard library refuse them, and some pass over them."""
    result = check(tmp_path, "x.tgz", preceded((X, data))())
    assert (result.code, {*result.codes} - {"archive-unsafe", "archive-unreadable"}) == (1, set())


def test_of_many_bad_entries_the_first_are_named_and_the_others_counted(tmp_path: Path) -> None:
    bad = [(entry(f"/{number}"), b"") for number in range(8)]
    result = check(tmp_path, "x.gem", gem(packed(GOOD, *bad)))
    assert found(result) == [("error", "archive-unsafe")] * 6
    assert said(result).endswith("x.gem: and 3 more entries like these")


# Broken archives


def without(name: str) -> Callable[[dict[str, bytes]], object]:
    return lambda members: members.pop(name)


def with_metadata(text: str) -> Callable[[dict[str, bytes]], object]:
    return lambda members: members.update({"metadata.gz": gzip.compress(text.encode())})


def nothing_after(content: bytes, mark: bytes) -> bytes:
    return content[: content.index(mark)]


def broken_header() -> bytes:
    content = bytearray(packed({f"package/{key}": one for key, one in NPM.items()}))
    content[1024 + 148] ^= 1  # of the second header's checksum
    return gzip.compress(bytes(content))


BROKEN: list[tuple[str, Callable[[], bytes], str]] = [
    ("x.gem", lambda: b"", "empty file; it begins as neither zip, gzip nor tar"),
    ("x.gem", lambda: ARTIFACTS[WHEEL], "it begins as a zip archive"),
    ("x.gem", lambda: ARTIFACTS["kelp-1.2.0.tgz"], "it begins as a gzip stream"),
    (
        WHEEL,
        lambda: ARTIFACTS["kelp-1.2.0.gem"],
        "it is no zip archive, or cut off; it begins as a tar archive",
    ),
    ("x.tgz", lambda: ARTIFACTS["kelp-1.2.0.gem"], "it is no gzip stream"),
    ("x.gem", lambda: packed(GOOD), "it has no data.tar.gz and metadata.gz"),
    ("x.gem", lambda: gem(packed(GOOD), change=without("metadata.gz")), "it has no data.tar.gz and metadata.gz"),
    ("x.gem", lambda: gem(packed(GOOD), name="../x"), "its metadata names no gem"),
    ("x.gem", lambda: gem(packed(GOOD), change=with_metadata("<<: {name: x}\nname: y")), "its metadata names no gem"),
    ("x.gem", lambda: gem(packed(GOOD), version="one"), "is not a RubyGems version"),
    ("x.gem", lambda: gem(packed(GOOD), change=with_metadata("a: b: c")), "its metadata.gz is not YAML"),
    ("x.gem", lambda: gem(packed(GOOD), change=with_metadata("[]")), "its metadata names no gem"),
    (WHEEL, lambda: zipped(PYTHON), "it has not one .dist-info directory"),
    (WHEEL, lambda: zipped({"a.dist-info/x": ""}), "it has no file a.dist-info/METADATA"),
    (WHEEL, lambda: zipped({"a.dist-info/METADATA": "Name: a\n"}), "it names no version"),
    *(
        (name, lambda: zipped(wheel_files(PYTHON)), "its file's name is none that a wheel has")
        for name in ("kelp.whl", "kelp-one-py3-none-any.whl", "kelp-1.2.0-x-py3-none-any.whl")
    ),
    *(
        (name, lambda: zipped(wheel_files(PYTHON)), "and its METADATA kelp 1.2.0")
        for name in ("rock-1.2.0-py3-none-any.whl", "kelp-1.2.1-py3-none-any.whl")
    ),
    (
        WHEEL,
        lambda: zipped({path.replace(".dist", ".1.dist"): text for path, text in wheel_files(PYTHON).items()}),
        "its kelp-1.2.0.1.dist-info is named otherwise than the kelp 1.2.0 in its METADATA",
    ),
    (
        WHEEL,
        lambda: zipped({"a.dist-info/METADATA": "Name: a\nVersion: 1\n"}),
        "it has no file a.dist-info/WHEEL",
    ),
    (
        WHEEL,
        lambda: zipped({"a.dist-info/METADATA": "Name: a\nVersion: 1\n", "a.dist-info/WHEEL": ""}),
        "it has no file a.dist-info/RECORD",
    ),
    (
        WHEEL,
        lambda: zipped(
            {"a.dist-info/METADATA": "Name: a\nVersion: 1\n", "a.dist-info/WHEEL": "", "a.dist-info/RECORD": '"a'}
        ),
        "it is not made of comma-separated rows",
    ),
    (
        WHEEL,
        lambda: b"#!/bin/sh\n" + zipped(wheel_files(PYTHON)),
        "bytes stand before or behind it",
    ),
    (WHEEL, lambda: zipped(wheel_files(PYTHON)) + b"more", "bytes stand before or behind it"),
    (
        WHEEL,
        lambda: zipped(wheel_files(PYTHON))[:-6] + b"\1" * 6,
        "bytes stand before or behind it",
    ),
    *((WHEEL, with_end(**{key: 1}), "its end is one of several") for key in ("disk", "first", "here")),
    (WHEEL, with_end(here=4, all=4), "its directory has another number of entries"),
    (
        WHEEL,
        with_part(last=(Part(b"x", b"", comment=LOCATOR),)),
        "one that only some readers look at",
    ),
    (WHEEL, with_part(extra=extra(9, b"") * 2), "an extra field that is there twice"),
    (
        WHEEL,
        with_part(extra=extra(9, b"x")[:-1]),
        "an extra field that is there twice, or cut off",
    ),
    (WHEEL, with_part(more=b"#"), "more follows an entry's compressed bytes"),
    (
        WHEEL,
        with_part(header={"packed": 9}, row={"packed": 9}),
        "the compressed bytes of an entry have no end",
    ),
    (
        WHEEL,
        with_part(header={"size": 3}, row={"size": 3}),
        "has other bytes than its size and its checksum say",
    ),
    (
        WHEEL,
        with_part(header={"size": 9999}, row={"size": 9999}),
        "has other bytes than its size",
    ),
    ("x.tgz", lambda: tarball(NPM)[:-20], "it is broken, or cut off"),
    ("x.tgz", lambda: gzip.compress(packed({"package/a": "x" * 4096})[:2000]), "unexpected end of data"),
    (
        "x.tgz",
        lambda: gzip.compress(packed({"package/a": "", "package/b": ""})[:600]),
        "what follows its last entry is no header",
    ),
    ("x.tgz", broken_header, "what follows its last entry is no header"),
    ("x.tgz", lambda: tarball(NPM) + b"garbage", "more follows its gzip stream"),
    ("x.tgz", lambda: tarball(NPM) + tarball(NPM), "more follows its gzip stream"),
    ("x.tgz", lambda: tarball(NPM)[:-4], "its gzip stream has no end"),
    ("x.tgz", lambda: tarball({"package/a": "", "b": ""}, top=""), "it has not one directory"),
    ("x.tgz", lambda: tarball({"a": ""}, top=""), "it has not one directory"),
    (
        "x.tgz",
        lambda: tarball({"README.md": ""}),
        "it has neither PKG-INFO, as a source distribution has, nor package.json",
    ),
    ("x.tgz", lambda: tarball({"package.json/x": ""}), "it has no file package.json"),
    ("x.tgz", lambda: tarball({"package.json": "["}), "package.json: it is not JSON"),
    ("x.tgz", lambda: tarball({"package.json": "{}"}), "its name is missing"),
    (
        "x.tgz",
        lambda: tarball({}, (entry("package/package.json", tarfile.SYMTYPE, linkname="x"), b"")),
        "it has no file package.json",
    ),
    ("x.tar.gz", lambda: tarball({"PKG-INFO": "Name: a b\n"}), "it names no version"),
]


def test_a_wheel_may_spell_its_name_and_version_otherwise(tmp_path: Path) -> None:
    assert check(tmp_path, "Kelp-1.2-1-py2.py3-none-any.whl", ARTIFACTS[WHEEL]).codes == []


@pytest.mark.parametrize(("name", "make", "reason"), BROKEN, ids=[f"{one[0]} {one[2]}" for one in BROKEN])
def test_a_broken_archive_is_an_error(tmp_path: Path, name: str, make: Callable[[], bytes], reason: str) -> None:
    result = check(tmp_path, name, make())
    assert (result.code, result.json["ok"], result.json["packages"]) == (1, False, [])
    assert ("error", "archive-unreadable") in found(result)
    assert reason in said(result)


@pytest.mark.parametrize("name", ["x.tar.gz", "x.tgz"])
@pytest.mark.parametrize("file", ["kelp.gemspec", "pyproject.toml", "setup.py"])
@pytest.mark.parametrize("top", ["kelp-1.2.0/", ""])
def test_an_archive_of_a_source_tree_is_told_from_what_is_built_of_it(
    tmp_path: Path, name: str, file: str, top: str
) -> None:
    files = {file: "", "README.md": "", "skills/kelp-forms/SKILL.md": skill("kelp-forms")}
    (told,) = check(tmp_path, name, tarball(files, top=top)).json["problems"]
    assert told["message"].endswith(f"; with {file}, it seems to be a source tree's")
    assert told["hint"] == "unpack it and name the directory, or build the package and name what comes of it"


@pytest.mark.parametrize("name", ARTIFACTS)
def test_an_archive_that_is_cut_off_anywhere_is_never_ok(tmp_path: Path, name: str) -> None:
    content = ARTIFACTS[name]
    for size in range(0, len(content) - 1, 97):
        write(tmp_path / name, content[:size])
        offer = artifact_at(tmp_path / name)
        # What pads a tar archive to its block's end is nothing that could be missed.
        padding = name.endswith(".gem") and not content[size:].strip(b"\0")
        assert padding or any(one.is_error for one in rules.problems(offer)), size


@given(places=st.lists(st.integers(min_value=0), min_size=1, max_size=4), name=st.sampled_from(sorted(ARTIFACTS)))
def test_whatever_is_changed_in_an_archive_it_is_read_or_refused(places: list[int], name: str) -> None:
    with tempfile.TemporaryDirectory() as root:
        write(Path(root) / name, artifacts.corrupted(ARTIFACTS[name], places))
        rules.problems(artifact_at(Path(root) / name))


# Checksums


def other_data(members: dict[str, bytes]) -> None:
    members["data.tar.gz"] = gzip.compress(packed(GOOD), mtime=1)


@pytest.mark.parametrize(
    ("name", "make", "reason"),
    [
        ("x.gem", lambda: gem(packed(GOOD), change=other_data), "data.tar.gz (SHA256), data.tar.gz (SHA512)"),
        (
            WHEEL,
            lambda: zipped({**wheel_files(PYTHON), "kelp/__init__.py": "x"}),
            ": kelp/__init__.py",
        ),
        (
            WHEEL,
            lambda: zipped({**wheel_files(PYTHON), "kelp/x.py": "x"}),
            "kelp/x.py (not listed)",
        ),
        (
            WHEEL,
            lambda: zipped({key: one for key, one in wheel_files(PYTHON).items() if key != "kelp/__init__.py"}),
            "kelp/__init__.py (not there)",
        ),
        (
            WHEEL,
            lambda: zipped({**wheel_files(PYTHON), **{f"kelp/{number}": "" for number in range(8)}}),
            "kelp/4 (not listed), and 3 more",
        ),
    ],
)
def test_a_wrong_checksum_is_an_error(tmp_path: Path, name: str, make: Callable[[], bytes], reason: str) -> None:
    result = check(tmp_path, name, make())
    assert (result.code, found(result)) == (1, [("error", "checksum-mismatch")])
    assert said(result).endswith(reason)


def test_a_wrong_crc_is_an_error(tmp_path: Path) -> None:
    content = bytearray(zipped(wheel_files(PYTHON), method=zipfile.ZIP_STORED))
    content[content.index(b"About kelp-forms")] ^= 1
    result = check(tmp_path, WHEEL, bytes(content))
    assert (result.code, found(result)) == (1, [("error", "archive-unreadable")])
    assert "has other bytes than its size and its checksum say" in said(result)


def test_a_signed_gem_is_ok(tmp_path: Path) -> None:
    signed = dict.fromkeys(("metadata.gz.sig", "data.tar.gz.sig", "checksums.yaml.gz.sig"), b"x")
    assert check(tmp_path, "x.gem", gem(packed(GOOD), change=lambda members: members.update(signed))).code == 0


def test_what_npm_renames_elsewhere_is_no_matter(tmp_path: Path) -> None:
    assert check(tmp_path, "x.tgz", tarball({**NPM, "lib/.gitignore": "", ".gitignore": ""})).code == 0


def test_a_gem_without_checksums_is_ok(tmp_path: Path) -> None:
    assert check(tmp_path, "x.gem", gem(packed(GOOD), change=without("checksums.yaml.gz"))).code == 0


# Bombs


def test_an_archive_that_unpacks_to_far_too_much_is_left_at_once(tmp_path: Path) -> None:
    zeros = gzip.compress(b"\0" * (20 << 20))
    bombs = {
        "x.tgz": gzip.compress(packed({"package/a": b"\0" * (100 << 20)})),
        "x.gem": packed({"metadata.gz": zeros, "data.tar.gz": gzip.compress(packed(GOOD))}),
        WHEEL: zipped({**wheel_files(PYTHON), "a": b"\0" * (100 << 20)}),
    }
    for name, content in bombs.items():
        assert len(content) < 200_000
        result = check(tmp_path, name, content)
        assert (result.code, result.codes) == (1, ["archive-unsafe"])
        (tmp_path / name).unlink()


def test_what_is_passed_over_in_an_archive_counts_as_well(tmp_path: Path) -> None:
    headers = (entry("/a", size=100 << 20), b"\0" * (100 << 20))
    content = gzip.compress(packed({}, headers))
    assert check(tmp_path, "x.tgz", content).codes == ["archive-unsafe"]
    (tmp_path / "x.tgz").unlink()
    content = gzip.compress(packed({"package/a": ""}) + b"\0" * (100 << 20))
    assert check(tmp_path, "x.tgz", content).codes == ["archive-unsafe"]


@pytest.mark.parametrize(
    ("limit", "name", "reason"),
    [
        ("_MOST_ENTRIES", "kelp-1.2.0.tgz", "it has more than 1 entries"),
        ("_MOST_ENTRIES", WHEEL, "it has more than 1 entries"),
        ("_MOST_TEXT", "kelp-1.2.0.tgz", "MiB of texts"),
        ("_LARGEST", "kelp-1.2.0.tgz", "it has more than"),
    ],
)
def test_everything_has_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, name: str, reason: str
) -> None:
    monkeypatch.setattr(contents, limit, 1)
    result = check(tmp_path, name, ARTIFACTS[name])
    assert (result.code, result.codes) == (1, ["archive-unsafe"])
    assert reason in said(result)


def test_a_header_has_its_limit(tmp_path: Path) -> None:
    long = entry("package/a", pax_headers={"comment": "x" * (2 << 20)})
    assert "its headers are larger" in said(check(tmp_path, "x.tgz", tarball(NPM, (long, b""))))


def test_sizes_that_lead_backwards_are_refused(tmp_path: Path) -> None:
    header = entry("package/a").tobuf(tarfile.GNU_FORMAT)
    raw = bytearray(header)
    raw[124:136] = b"\xff" * 8 + (2**32 - 1024).to_bytes(4, "big")
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    result = check(tmp_path, "x.tgz", gzip.compress(bytes(raw) + bytes(1024)))
    assert (result.code, result.codes) == (1, ["archive-unreadable"])
    assert "the sizes in it lead backwards" in said(result)


def test_a_directory_of_a_zip_has_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_archive, "_MOST_DIRECTORY", 10)
    assert check(tmp_path, WHEEL, ARTIFACTS[WHEEL]).codes == ["archive-unsafe"]


def test_a_large_file_is_hashed_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "LIMIT", 10)
    files = {**NPM, "skills/kelp-forms/large.md": "a\u202eb" * 10}
    result = check(tmp_path, "x.tgz", tarball(files))
    assert ("error", "hidden-characters") in found(result)


# A directory and an archive of it are the same


NAMES = st.sampled_from(["a", "A", "b.md", "SKILL.md", "skill.md", "é", "e\u0301", "run", "scripts", "x\u202e"]) | (
    st.sampled_from(["__pycache__", ".git", ".venv", "node_modules", ".DS_Store", "Thumbs.db", ".hidden"])
)
CONTENTS = st.sampled_from(
    [
        "",
        "#!/bin/sh\n",
        "#!/bin/sh\r\n",
        "text",
        "[a](../../x)\n",
        "a\u202eb\n",
        b"\xff\xfe\0",
        b"\x7fELF",
        skill("kelp"),
        skill("a"),
        "---\nname: a\ndescription: a: b\n---\n",
    ]
)
TARGETS = st.sampled_from(["a", "SKILL.md", "../x", "/etc/passwd", "b.md", ".", "scripts/run"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
TREES = st.dictionaries(PATHS, CONTENTS | TARGETS.map(Link), max_size=8).map(
    lambda pieces: {
        path: piece
        for path, piece in pieces.items()
        if not any("/".join(path.split("/")[:count]) in pieces for count in range(1, path.count("/") + 1))
    }
)


def of(problems: list[Problem], source: str) -> list[tuple[object, ...]]:
    # Of links that lead out, an archive has its own finding besides; and only a tree can be mended.
    return [
        (
            *(one.code, one.severity, one.message.replace(f"{source}/", ""), one.path, one.line, one.column),
            None if "--fix" in str(one.hint) else one.hint,
        )
        for one in problems
        if one.path
    ]


@given(pieces=TREES, executable=st.sets(PATHS, max_size=4))
@example(pieces={"a": "", "A": "", "b.md": "x"}, executable={"a"})
def test_a_directory_and_an_archive_of_it_give_the_same(pieces: Mapping[str, Piece], executable: set[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "tree"
        lay(root, {"kelp.gemspec": "s.version = '1.2.0'", "skills/kelp/SKILL.md": skill("kelp")})
        lay(root / "skills", pieces)
        within = {path: piece for path, piece in pieces.items() if path.split("/")[0] != "SKILL.md"}
        lay(root / "skills/kelp", within)
        for path in executable & within.keys():
            if not isinstance(within[path], Link):
                (root / "skills/kelp" / path).chmod(0o755)
        (tree,) = read_tree(str(root))
        archive = write(Path(scratch) / "kelp.gem", gem(artifacts.packed_tree(root)))
        artifact = artifact_at(archive)
        assert [(one.found.name, one.found.path, one.found.is_valid) for one in tree.skills] == [
            (one.found.name, one.found.path, one.found.is_valid) for one in artifact.skills
        ]
        assert [one.snapshot for one in tree.skills] == [one.snapshot for one in artifact.skills]
        assert [one.texts for one in tree.skills] == [one.texts for one in artifact.skills]
        assert [one.snapshot and one.snapshot.hidden for one in tree.skills] == [
            one.snapshot and one.snapshot.hidden for one in artifact.skills
        ]
        both = (replace(one, elsewhere=()) for one in (tree, artifact))
        first, second = (of(rules.problems(one), one.package.source) for one in both)
        assert first == second
        assert tree.provider.ignored == artifact.provider.ignored


def test_what_the_walker_sets_apart_and_refuses_is_so_in_an_archive(tmp_path: Path) -> None:
    pieces: dict[str, Piece] = {
        **{f"{name}/x": "" for name in (".git", "a/__pycache__", "b/node_modules")},
        **dict.fromkeys(("a/.DS_Store", "a/__pycache__x", ".venv", "b/.git2"), ""),
        f"{'d/' * 33}deep": "",
        "fifo": FIFO,
        "SKILL.md": Link("a/x"),
    }
    lay(tmp_path / "x", pieces)
    os.symlink(b"\xff", bytes(tmp_path / "x/link"))
    with open_directory(str(tmp_path / "x")) as fd:
        expected = snapshot(fd, "x", judge=len)
    gathered = Gathered(0)
    tar_archive.gather(io.BytesIO(artifacts.packed_tree(tmp_path / "x")), gathered)
    read = snapshot_of(gathered.root)
    assert read == expected
    assert (read.ignored, read.hidden) == (expected.ignored, expected.hidden)


def test_of_too_many_entries_no_more_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillsync.snapshot.MAX_ENTRIES", 1)
    gathered = Gathered(0)
    tar_archive.gather(io.BytesIO(packed({"a": "", "b": ""})), gathered)
    (fault,) = snapshot_of(gathered.root).faults
    assert (fault.path, fault.reason) == ("b", "is one of more than 1 entries")


def test_a_wheel_is_the_same_as_the_directory_that_it_is_made_of(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    lay(root, wheel_files({**PYTHON, "kelp/.agents/skills/kelp-forms/run": "#!/bin/sh\n"}))
    (root / "kelp/.agents/skills/kelp-forms/run").chmod(0o755)
    lay(root, {"setup.py": ""})
    (tree,) = read_tree(str(root))
    (root / "setup.py").unlink()
    artifact = artifact_at(write(tmp_path / WHEEL, artifacts.zipped_tree(root)))
    assert [one.snapshot for one in tree.skills] == [one.snapshot for one in artifact.skills]
    assert rules.problems(artifact) == []


def test_directories_of_an_archive_are_none_of_its_content(tmp_path: Path) -> None:
    tops = [(entry(name, tarfile.DIRTYPE), b"") for name in (".", "./", "./skills/", "skills", "skills/kelp-empty")]
    files = [(entry(f"./{path}", size=len(text), mode=0o755), str(text).encode()) for path, text in GOOD.items()]
    result = check(tmp_path, "x.gem", gem(packed({}, *tops, *files)))
    assert (result.code, found(result)) == (0, [("warning", "not-executable"), ("note", "no-skill-file")])
    (tmp_path / "x.gem").unlink()
    directory = zipfile.ZipInfo("kelp/empty/")
    assert check(tmp_path, WHEEL, zipped(wheel_files(PYTHON), (directory, b""))).code == 0


def test_what_a_wheel_s_data_directory_puts_into_site_packages_is_looked_at_there(tmp_path: Path) -> None:
    place = "kelp/.agents/skills/kelp-forms/SKILL.md"
    data = {f"kelp-1.2.0.data/{scheme}/{place}": skill("kelp-forms") for scheme in ("purelib", "platlib")}
    (only, _), both = data.items(), dict(data)
    found = check(tmp_path, WHEEL, zipped(wheel_files({"kelp/__init__.py": "", only[0]: only[1]})))
    assert (found.code, found.json["packages"][0]["skills"][0]["path"]) == (0, place.removesuffix("/SKILL.md"))
    (tmp_path / WHEEL).unlink()
    found = check(tmp_path, WHEEL, zipped(wheel_files({"kelp/__init__.py": "", **both})))
    assert (found.code, found.codes) == (1, ["archive-unsafe"])
    (tmp_path / WHEEL).unlink()
    headers = {"kelp/__init__.py": "", place: skill("kelp-forms"), "kelp-1.2.0.data/data/share/kelp.h": ""}
    assert check(tmp_path, WHEEL, zipped(wheel_files(headers))).code == 0


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        # pip takes every directory of that ending for the wheel's own; uv doesn't.
        ("evil-1.data/purelib/kelp/skills/evil/SKILL.md", "`evil-1.data` is what pip alone takes for"),
        ("Kelp-1.2.0.data/purelib/kelp/skills/evil/SKILL.md", "`Kelp-1.2.0.data` is what pip alone takes for"),
        # Both put it over the file that stands where skills are looked for.
        *(
            (f"kelp-1.2.0.data/data/{site}/kelp/.agents/skills/kelp-forms/SKILL.md", "is put into site-packages by")
            for site in ("lib/python3.11/site-packages", "Lib/Site-Packages", "lib/python3/dist-packages")
        ),
    ],
)
def test_no_way_around_leads_into_site_packages(tmp_path: Path, place: str, reason: str) -> None:
    result = check(tmp_path, WHEEL, zipped(wheel_files({**PYTHON, place: skill("kelp-forms")})))
    assert (result.code, [one for one in result.codes if one != "skill-elsewhere"]) == (1, ["archive-unsafe"])
    assert reason in said(result)


def test_a_record_without_the_hash_that_is_compared_proves_nothing(tmp_path: Path) -> None:
    files = wheel_files(PYTHON)
    record = str(files["kelp-1.2.0.dist-info/RECORD"]).replace("sha256=", "sha512=")
    found = check(tmp_path, WHEEL, zipped({**files, "kelp-1.2.0.dist-info/RECORD": record}))
    assert (found.code, found.codes) == (1, ["checksum-mismatch"])
    assert "kelp/__init__.py (no SHA-256)" in said(found)


def test_zeros_behind_a_gzip_stream_are_nothing(tmp_path: Path) -> None:
    assert check(tmp_path, "kelp-1.2.0.tgz", ARTIFACTS["kelp-1.2.0.tgz"] + b"\0" * (1 << 19)).code == 0


def test_a_link_in_an_npm_package_is_left_out_by_npm_and_so_an_error(tmp_path: Path) -> None:
    lay(tmp_path / "made/package", {**NPM, "skills/kelp-forms/latest.md": Link("SKILL.md")})
    content = gzip.compress(artifacts.packed_tree(tmp_path / "made"))
    (tmp_path / "at").mkdir()
    found = check(tmp_path / "at", "x.tgz", content)
    assert (found.code, found.codes[0]) == (1, "archive-unsafe")
    assert "`skills/kelp-forms/latest.md` is a link, which npm leaves out" in said(found)
