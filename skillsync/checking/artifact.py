"""Reads a built artifact: which package it is, whether it is whole, and the skills in it.

Invariants: reads the one file, and writes nothing; a checksum that the artifact has for its own content is compared.
"""

from __future__ import annotations

import hashlib
import os
from functools import partial
from typing import IO, TYPE_CHECKING, cast

from skillsync.checking import identity, tar_archive, zip_archive
from skillsync.checking.contents import (
    ArchiveError,
    BombError,
    Gathered,
    Linked,
    Regular,
    files,
    find,
    leaves,
    look_in,
    shipped,
    twins,
)
from skillsync.checking.identity import PYTHON_FILES, Identity
from skillsync.checking.offer import GEM, NPM, SDIST, WHEEL, Offer, problem
from skillsync.checking.tree import USUAL, Paths
from skillsync.discovery import PYPI
from skillsync.discovery.environment import Package
from skillsync.discovery.gem.rubygems import is_name, normal_version
from skillsync.discovery.npm import package_json
from skillsync.discovery.pypi import metadata, record
from skillsync.discovery.pypi.versions import version_key
from skillsync.errors import Code, Problem, UnreadableError
from skillsync.filesystem import READ, shown
from skillsync.schema import MalformedError
from skillsync.values import Value, replace
from skillsync.yaml_nodes import Mapping, Scalar, YamlError, compose
from skillsync.yaml_nodes import Node as YamlNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from skillsync.checking.contents import Folder, Node

SUFFIXES = (GEM, WHEEL, SDIST, NPM)

_CHECKSUMS = ("SHA256", "SHA512")
_MOST_TOLD = 5
_UNLISTED = (".dist-info/RECORD", ".dist-info/RECORD.jws", ".dist-info/RECORD.p7s")
# By their own names, whatever is laid out below the environment itself.
_SITE = frozenset({"site-packages", "dist-packages"})
_START = 264
_MAGIC = ((0, b"PK", "a zip archive"), (0, b"\x1f\x8b", "a gzip stream"), (257, b"ustar", "a tar archive"))
# Of a gem's metadata and checksums.
_MOST_YAML = 16 << 20
_AGAIN = "build it again"
_MEMBERS = frozenset({"data.tar.gz", "metadata.gz", "checksums.yaml.gz"})


class _Read(Value):
    """An artifact as it was read: who it says it is, its files, and what its checksums say."""

    ecosystem: str
    identity: Identity
    about: str
    root: Folder
    faults: tuple[tuple[str, str], ...]
    mismatches: tuple[str, ...] = ()


class _UnknownError(Exception):
    """An archive is whole, and no package of the kind that its name says."""

    def __init__(self, reason: str, gathered: Gathered, hint: str = _AGAIN) -> None:
        super().__init__(reason)
        self.gathered = gathered
        self.hint = hint


def suffix(source: str) -> str | None:
    """Return by which ending a file is an artifact, None for one that is none."""
    return next((one for one in SUFFIXES if source.endswith(one)), None)


def read_artifact(path: str, source: str) -> Offer:
    """Return what an artifact offers; what keeps it from being read is a problem in that. Raises OSError.

    `source` is how the person knows it.
    """
    kind = suffix(source)
    root = os.path.abspath(path)
    with open(os.open(root, READ & ~os.O_NOFOLLOW), "rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        start = opened.read(_START)
        opened.seek(0)
        try:
            npm = partial(_tarball, is_npm=True)
            wheel = partial(_wheel, name=os.path.basename(source))
            readers: dict[str, Callable[[IO[bytes], int], _Read]] = {GEM: _gem, WHEEL: wheel, NPM: npm}
            found = readers.get(str(kind), _tarball)(opened, size)
        except (ArchiveError, _UnknownError) as error:
            return _unread(source, root, str(kind), error, start)
    return _offer(source, root, found)


def _unread(source: str, root: str, kind: str, error: ArchiveError | _UnknownError, start: bytes) -> Offer:
    """Return an offer of nothing, since nothing of it can be relied on."""
    ecosystem = {GEM: "gem", NPM: "npm"}.get(kind, PYPI)
    blank = Package(ecosystem=ecosystem, name="unknown", version="", root=root, places=(), source=source)
    actual = next((name for at, magic, name in _MAGIC if start[at:].startswith(magic)), "neither zip, gzip nor tar")
    begin = "" if isinstance(error, _UnknownError) else f"; it begins as {actual}"
    message = f"{source} can't be read: {error}{begin}"
    code = Code.ARCHIVE_UNSAFE if isinstance(error, BombError) else Code.ARCHIVE_UNREADABLE
    faults, hint = (error.gathered.faults, error.hint) if isinstance(error, _UnknownError) else ((), _AGAIN)
    found = Problem(code=code, message=message, hint=hint, provider=None, source=source, root=root)
    return Offer(
        package=blank,
        identity=Identity(name="unknown", is_stated=False),
        is_artifact=True,
        about="",
        provider=look_in({}, blank, ()),
        skills=(),
        elsewhere=(),
        problems=(found, *_unsafe(blank, faults)),
        is_read=False,
    )


def _unsafe(package: Package, faults: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    """Yield what no archive may hold; a path that leads anywhere is no place that could be shown."""
    known = list(faults)
    for path, reason in known[:_MOST_TOLD]:
        name = f"`{path}`" if path else "it"
        yield Problem(
            code=Code.ARCHIVE_UNSAFE,
            message=f"{package.source}: {name} {reason}",
            hint="build it again, without that",
            provider=package.key,
            source=package.source,
            root=package.root,
        )
    if len(known) > _MOST_TOLD:
        message = f"{package.source}: and {len(known) - _MOST_TOLD} more entries like these"
        yield Problem(
            code=Code.ARCHIVE_UNSAFE, message=message, provider=package.key, source=package.source, root=package.root
        )


def _offer(source: str, root: str, found: _Read) -> Offer:
    paths = Paths([path for path, _ in files(found.root)])
    if found.ecosystem != PYPI:
        places = USUAL[found.ecosystem]
    elif source.endswith(WHEEL):
        places = record.places(path for path, _ in files(found.root))
    else:
        places = paths.places(found.identity)
    package = Package(
        ecosystem=found.ecosystem,
        name=found.identity.name,
        version=found.identity.version,
        root=root,
        places=places,
        source=source,
    )
    provider = look_in(found.root, package, places)
    skills = [skill.path for skill in provider.skills]
    problems = [*_unsafe(package, (*found.faults, *twins(found.root, (*places, *skills))))]
    if found.mismatches:
        more = f", and {len(found.mismatches) - _MOST_TOLD} more" if len(found.mismatches) > _MOST_TOLD else ""
        text = f"has other checksums than its files: {', '.join(found.mismatches[:_MOST_TOLD])}{more}"
        problems.append(problem(package, Code.CHECKSUM_MISMATCH, found.about, text, hint=_AGAIN))
    return Offer(
        package=package,
        identity=found.identity,
        is_artifact=True,
        about=found.about,
        provider=provider,
        skills=tuple(shipped(found.root, skill) for skill in provider.skills),
        elsewhere=paths.elsewhere(skills, is_tree=source.endswith(SDIST)),
        problems=tuple(problems),
    )


# Gems


class _Hashed:
    """A stream whose bytes are hashed while they are read."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._digests = {name: hashlib.new(name) for name in _CHECKSUMS}

    def read(self, size: int = -1) -> bytes:
        found = self._source.read(size)
        for one in self._digests.values():
            one.update(found)
        return found

    @property
    def digests(self) -> dict[str, str]:
        return {name: one.hexdigest() for name, one in self._digests.items()}


def _gem(opened: IO[bytes], size: int) -> _Read:
    """Read a gem: a tar archive of gzip streams."""
    outer, data = Gathered(size), Gathered(size)
    digests: dict[str, dict[str, str]] = {}
    texts: dict[str, YamlNode | None] = {}
    with tar_archive.readable():
        for member, content in tar_archive.members(opened, outer, is_gem=True):
            if content is None or member.name in digests or member.name.removesuffix(".sig") not in _MEMBERS:
                outer.fault(member.name, "is no file, or there twice, or nothing that a gem has")
                continue
            hashed = _Hashed(content)
            unzipped = tar_archive.unzipped(cast("IO[bytes]", hashed))
            if member.name == "data.tar.gz":
                tar_archive.gather(unzipped, data, is_gem=True)
            elif member.name in {"metadata.gz", "checksums.yaml.gz"}:
                texts[member.name] = _yaml(unzipped, outer, member.name)
            while hashed.read(1 << 18):
                pass
            digests[member.name] = hashed.digests
    if "data.tar.gz" not in digests or "metadata.gz" not in digests:
        raise _UnknownError("it has no data.tar.gz and metadata.gz, so it is no gem", outer)
    told = _pairs(texts["metadata.gz"])
    name, version = _text(told.get("name")), _text(_pairs(told.get("version")).get("version"))
    if not is_name(name):
        raise _UnknownError("its metadata names no gem", outer)
    try:
        version = normal_version(version)
    except ValueError as error:
        raise _UnknownError(str(error), outer) from None
    return _Read(
        ecosystem="gem",
        identity=Identity(name=name, version=version),
        about="metadata.gz",
        root=data.root,
        faults=(*outer.faults, *data.faults),
        mismatches=tuple(_gem_mismatches(texts.get("checksums.yaml.gz"), digests)),
    )


def _yaml(unzipped: IO[bytes], gathered: Gathered, name: str) -> YamlNode | None:
    content = unzipped.read(_MOST_YAML + 1)
    gathered.spend(len(content))
    if len(content) > _MOST_YAML:
        raise BombError(f"its {name} has more than {_MOST_YAML >> 20} MiB")
    try:
        return compose(content.decode(errors="replace"))
    except YamlError as error:
        raise ArchiveError(f"its {name} is not YAML: {error.reason}") from None


def _pairs(node: YamlNode | None) -> dict[str, YamlNode]:
    """Return what is in a mapping: nothing if it takes in another one, which RubyGems does and no gem needs."""
    pairs = node.pairs if isinstance(node, Mapping) else []
    found = {key.text: value for key, value in pairs if isinstance(key, Scalar)}
    return {} if "<<" in found else found


def _text(node: YamlNode | None) -> str:
    return node.text if isinstance(node, Scalar) else ""


def _gem_mismatches(checksums: YamlNode | None, digests: dict[str, dict[str, str]]) -> Iterator[str]:
    """Yield the members whose checksum is another one."""
    for algorithm, rows in _pairs(checksums).items():
        for name, value in _pairs(rows).items():
            known = digests.get(name, {})
            if algorithm in _CHECKSUMS and known.get(algorithm) != _text(value):
                yield f"{name} ({algorithm})"


# Wheels


def _wheel(opened: IO[bytes], size: int, name: str) -> _Read:
    """Read a wheel; `name` is its file's, by which pip and uv know what they install before they open it."""
    gathered = Gathered(size, with_sha256=True)
    zip_archive.gather(opened, gathered)
    about = [name for name in gathered.root if name.endswith(".dist-info")]
    if len(about) != 1:
        raise _UnknownError("it has not one .dist-info directory, so it is no wheel", gathered)
    who = _distribution(gathered, f"{about[0]}/METADATA")
    _content(gathered, f"{about[0]}/WHEEL")
    mismatches = tuple(_record_mismatches(gathered, f"{about[0]}/RECORD"))
    if fault := _name_fault(name, about[0], who):
        raise _UnknownError(fault, gathered)
    _lay_out(gathered, f"{about[0].removesuffix('.dist-info')}.data")
    return _Read(
        ecosystem=PYPI,
        identity=Identity(name=who.name, version=who.version),
        about=f"{about[0]}/RECORD",
        root=gathered.root,
        faults=tuple(gathered.faults),
        mismatches=mismatches,
    )


def _name_fault(name: str, about: str, who: metadata.Identity) -> str | None:
    """Return why pip or uv refuse a wheel by its name, or nobody finds what is installed by that of its directory."""
    from packaging.utils import parse_wheel_filename

    try:
        stated, version, *_ = parse_wheel_filename(name)
    except ValueError:
        return "its file's name is none that a wheel has: NAME-VERSION-PYTHON-ABI-PLATFORM.whl"
    said = f"{who.name} {who.version}"
    if (stated, version) != (who.name, version_key(who.version)):
        return f"its file's name says {stated} {version}, and its METADATA {said}"
    return None if metadata.is_of(about, who) else f"its {about} is named otherwise than the {said} in its METADATA"


def _lay_out(gathered: Gathered, data: str) -> None:
    """Put what is installed into site-packages from a wheel's data directory to where it will be."""
    for name in [name for name in gathered.root if name.endswith(".data") and name != data]:
        gathered.fault(name, "is what pip alone takes for the wheel's data directory")
    inner = gathered.root.get(data)
    schemes = inner if isinstance(inner, dict) else {}
    for scheme in ("purelib", "platlib"):
        for path, node in _below(schemes.pop(scheme, None)):
            gathered.add(tuple(path.split("/")), node)
    for path, _ in _below(schemes.get("data")):
        if not _SITE.isdisjoint(path.lower().split("/")):
            gathered.fault(f"{data}/data/{path}", "is put into site-packages by a way of its own")


def _below(node: Node | None) -> Iterator[tuple[str, Node]]:
    return leaves(node) if isinstance(node, dict) else iter(())


def _distribution(gathered: Gathered, path: str) -> metadata.Identity:
    try:
        return metadata.identity(_content(gathered, path))
    except ValueError as error:
        raise _UnknownError(f"{path}: {error}", gathered) from None


def _content(gathered: Gathered, path: str) -> bytes:
    """Return the bytes of a file, of those that tell of the package. Raises _UnknownError where it isn't one."""
    try:
        node = find(gathered.root, path)
    except UnreadableError:
        node = None
    if not isinstance(node, Regular) or node.text is None:
        raise _UnknownError(f"it has no file {path}", gathered)
    return node.text


def _record_mismatches(gathered: Gathered, path: str) -> Iterator[str]:
    """Yield the files that RECORD doesn't have as they are."""
    try:
        listed = record.parse(_content(gathered, path).decode(errors="replace"))
    except ValueError as error:
        raise _UnknownError(f"{path}: {error}", gathered) from None
    present = dict(files(gathered.root))
    for name, one in present.items():
        if name.endswith(_UNLISTED):
            continue
        if name not in listed:
            yield f"{name} (not listed)"
        elif not (expected := record.sha256(listed[name])):
            yield f"{name} (no SHA-256)"
        elif expected != one.sha256:
            yield name
    yield from (f"{name} (not there)" for name in sorted(listed.keys() - present.keys()))


# npm packages and source distributions


def _tarball(opened: IO[bytes], size: int, *, is_npm: bool = False) -> _Read:
    """Read an npm package or a source distribution: all of either is in one directory, and its files tell which."""
    gathered = Gathered(size)
    tar_archive.gather(tar_archive.unzipped(opened), gathered)
    tops = [name for name, node in gathered.root.items() if isinstance(node, dict)]
    if len(tops) != 1 or len(gathered.root) != 1:
        raise _no_package("it has not one directory with everything in it", gathered, gathered.root)
    (top,) = tops
    inner = gathered.root[top]
    assert isinstance(inner, dict)  # noqa: S101  # it was asked for above
    gathered.root = inner
    faults = tuple(gathered.faults)
    # npm installs whatever has a package.json; what it packs is a .tgz, and a source distribution is a .tar.gz.
    if "PKG-INFO" in inner and not (is_npm and package_json.FILE_NAME in inner):
        told = _distribution(gathered, "PKG-INFO")
        made = replace(_settings(inner), name=told.name, version=told.version, is_stated=True)
        return _Read(ecosystem=PYPI, identity=made, about="PKG-INFO", root=inner, faults=faults)
    about = package_json.FILE_NAME
    if about not in inner:
        reason = f"it has neither PKG-INFO, as a source distribution has, nor {about}, as an npm package"
        raise _no_package(reason, gathered, inner)
    try:
        one = package_json.identity(package_json.load(_content(gathered, about)))
    except (MalformedError, ValueError) as error:
        raise _UnknownError(f"{about}: {error}", gathered) from None
    faults += tuple(_npm_faults(inner))
    who = Identity(name=one.name, version=one.version)
    return _Read(ecosystem="npm", identity=who, about=about, root=inner, faults=faults)


def _no_package(reason: str, gathered: Gathered, top: Folder) -> _UnknownError:
    """Return why an archive is no package; by what is at its top, it may be one of a source tree, as git makes."""
    known = {*PYTHON_FILES, package_json.FILE_NAME}
    file = next((name for name in sorted(top) if name in known or name.endswith(".gemspec")), None)
    if file is None:
        return _UnknownError(reason, gathered)
    hint = "unpack it and name the directory, or build the package and name what comes of it"
    return _UnknownError(f"{reason}; with {shown(file)}, it seems to be a source tree's", gathered, hint)


def _settings(root: Folder) -> Identity:
    """Return what the files of a source distribution say of where skills are: it is built as the tree is."""
    found = {name: node.text for name in PYTHON_FILES if isinstance(node := root.get(name), Regular) and node.text}
    try:
        return identity.python(found, "") or Identity(name="")
    except MalformedError:
        return Identity(name="")


def _npm_faults(root: Folder) -> Iterator[tuple[str, str]]:
    """Yield what npm doesn't install as it is."""
    for path, node in leaves(root):
        if isinstance(node, Linked):
            yield path, "is a link, which npm leaves out"
        elif path.endswith("/.gitignore") and path.startswith(USUAL["npm"]):
            yield path, "is installed by npm as .npmignore, and by others as it is"
