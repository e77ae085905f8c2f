"""Which packages a source tree makes, by what their files say: nothing is evaluated or run.

Invariants: pure; bytes in, values out; what only a build could tell (a computed name or version) stays unknown.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from skillsync.discovery.gem import rubygems
from skillsync.discovery.npm import package_json
from skillsync.discovery.pypi.versions import canonical, normal_version, valid_name
from skillsync.hashing import parents
from skillsync.schema import toml
from skillsync.values import Value, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PYTHON_FILES = ("pyproject.toml", "setup.cfg", "setup.py")

# As measured; setuptools puts directories in the place of links, and what another backend does, its artifact tells.
_LEAVE_LINKS_OUT = ("flit", "hatchling", "pdm", "poetry", "uv_build")
_GEM_NAME = r"""\.name\s*=\s*["']([^"'\n]+)["']"""
_GEM_VERSION = r"""\.version\s*=\s*["']([^"'\n]+)["']"""
# What begins a pattern of npm's, or escapes: it may stand for any name.
_GLOB = frozenset("*?[{(!\\")
_GEM_BLOCK = r"Gem::Specification\.new[^|\n]{0,200}\|[ \t]{0,9}([a-z_]\w{0,99})[ \t]{0,9}\|"
_SETUP_NAME = r"""\bname\s*=\s*["']([^"'\n]+)["']"""
_SETUP_DIRECTORIES = r"\bpackage_dir\s*=\s*\{([^{}]*)\}"
_SETUP_PAIR = r"""["']([\w.]*)["']\s*:\s*["']([^"'\n]+)["']"""


class Settings(Value):
    """What a Python project's files say to its build: pyproject.toml, setup.cfg by sections, setup.py as it stands."""

    project: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    script: str | None = None

    def table(self, *keys: str) -> Mapping[str, Any]:
        """Return a table of pyproject.toml, an empty one where there is none."""
        return _table(self.project, *keys)


class Identity(Value):
    """A package's name and version, "" for what isn't known; `is_stated` tells whether its files say the name.

    Of a Python distribution, `roots` are where a tree has its import packages, of which `packages` are named by
    settings; `backend` is what builds them by its `settings`, and `moved` are the directories and files that a wheel
    has elsewhere, each with its place there. `files` are what a package.json says is packed, None where it does not;
    `is_published` is False for one that is private, and `directory` is what pnpm publishes in its place, "" where it
    does not. `variable` is what a gemspec calls itself in its block.
    """

    name: str
    version: str = ""
    is_stated: bool = True
    roots: frozenset[str] = frozenset(("", "src"))
    packages: frozenset[str] = frozenset()
    backend: str = ""
    moved: Mapping[str, str] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    files: tuple[str, ...] | None = None
    is_published: bool = True
    directory: str = ""
    variable: str = "spec"

    @property
    def follows_links(self) -> bool:
        """Whether what is built may have a directory in the place of a link to one."""
        return bool(self.backend) and not self.backend.startswith(_LEAVE_LINKS_OUT)

    def may_pack(self, directories: Iterable[str]) -> set[str]:
        """Return the directories of which npm may pack something, as far as it is told by `files`.

        Of these, and of directories, there may be very many; case may count or not.
        """
        at: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        below: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for directory in directories:
            parts = tuple(directory.lower().split("/"))
            at[parts].add(directory)
            for length in range(len(parts)):
                below[parts[:length]].add(directory)
        deepest = max(map(len, at), default=0)
        found: set[str] = set()
        for pattern in ("",) if self.files is None else self.files:
            # Negated twice is not negated.
            if not re.match(r"!(?!!)", pattern):
                start = _start(pattern, deepest)
                found |= below.pop(start, set())
                found.update(*(at.pop(start[:length], ()) for length in range(1, len(start) + 1)))
        return found

    def installed(self, path: str) -> Iterator[str]:
        """Yield where what is built may have a path of the tree, what is likelier first."""
        yield from self.moved_to(path)
        yield path
        yield from (path.removeprefix(f"{above}/") for above in (*parents(path), path) if above in self.roots)

    def moved_to(self, path: str) -> Iterator[str]:
        """Yield where a wheel has a path of the tree that it has elsewhere."""
        way = (*parents(path), path)
        yield from (self.moved[above] + path.removeprefix(above) for above in way if above in self.moved)


def gem(file: str, content: bytes) -> Identity:
    """Return what a gemspec says by itself; one that computes its name is called like its file, as all are."""
    text = content.decode(errors="replace")
    stem = file.removesuffix(".gemspec")
    stated = next((one for one in re.findall(_GEM_NAME, text) if rubygems.is_name(one)), None)
    found = re.search(_GEM_VERSION, text)
    try:
        version = rubygems.normal_version(found[1]) if found else ""
    except ValueError:
        version = ""
    block = re.search(_GEM_BLOCK, text)
    variable = block[1] if block else "spec"
    return Identity(name=stated or stem, version=version, is_stated=stated is not None, variable=variable)


def npm(content: bytes) -> Identity | None:
    """Return what a package.json says; None for one that says settings alone. Raises MalformedError, ValueError."""
    data = package_json.load(content)
    if data.get("private") is True:
        name = next(filter(package_json.is_name, _texts([data.get("name")])), "")
        return Identity(name=name, is_stated=bool(name), is_published=False)
    if "name" not in data and "version" not in data:
        return None
    found = package_json.identity(data)
    version = found.version if "version" in data else ""
    listed = data.get("files")
    files = (*_texts(listed), *_always_packed(data)) if isinstance(listed, list) else None
    published = _texts([_table(data, "publishConfig").get("directory")])
    directory = posixpath.normpath(next(filter(_is_inside, published), "."))
    return Identity(name=found.name, version=version, files=files, directory="" if directory == "." else directory)


def _start(pattern: str, most: int) -> tuple[str, ...]:
    """Return the names that all begin with which a pattern of npm's may stand for, none that are further down."""
    names = [name for name in pattern.lower().split("/") if name not in {"", "."}]
    # What leads up may come down anywhere.
    return () if ".." in names else tuple(islice(takewhile(_GLOB.isdisjoint, names), most))


def _always_packed(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths that npm packs whatever `files` says, and the directory of programs."""
    for found in (data.get("main"), data.get("browser"), data.get("bin"), _table(data, "directories").get("bin")):
        values = found.values() if isinstance(found, dict) else (found,)
        # The package itself stands for a file of a usual name in it.
        yield from (path for path in _texts(values) if path.strip("./"))


def _texts(values: Iterable[object]) -> list[str]:
    return [one for one in values if isinstance(one, str)]


def python(files: Mapping[str, bytes], directory: str) -> Identity | None:
    """Return what a Python project's files say; None where they hold settings of tools alone.

    A name that is nowhere to be read is the directory's. Raises MalformedError for a pyproject.toml that is none.
    """
    data: Mapping[str, Any] = toml(files["pyproject.toml"]).data if "pyproject.toml" in files else {}
    project = _table(data, "project") or _table(data, "tool", "poetry")
    config = _setup_cfg(files.get("setup.cfg", b""))
    setup = config.get("metadata", {})
    script = files["setup.py"].decode(errors="replace") if "setup.py" in files else None
    if not (project or "build-system" in data or setup or script is not None):
        return None
    called = re.search(_SETUP_NAME, script or "")
    names = (project.get("name"), setup.get("name"), called and called[1])
    stated = next((one for one in names if isinstance(one, str) and _is_name(one)), None)
    backend = _table(data, "build-system").get("build-backend", "setuptools")  # PEP 517's default
    directories = dict(_directories(data, config, script or ""))
    return Identity(
        name=canonical(stated or (directory if _is_name(directory) else "unknown")),
        version=_version(project.get("version")),
        is_stated=stated is not None,
        roots=frozenset([*_roots(data, config), *(one for package, one in directories.items() if not package)]),
        packages=frozenset(_packages(data, config)),
        backend=backend if isinstance(backend, str) else "",
        moved=dict(_moved(data)) | {one: package.replace(".", "/") for package, one in directories.items() if package},
        settings=Settings(project=data, config=config, script=script),
    )


def _is_name(text: str) -> bool:
    try:
        return bool(valid_name(text))
    except ValueError:
        return False


def _version(text: object) -> str:
    try:
        return normal_version(text) if isinstance(text, str) else ""
    except ValueError:
        return ""


def _table(data: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    for key in keys:
        data = data.get(key, {}) if isinstance(data, dict) else {}
    return data if isinstance(data, dict) else {}


def _setup_cfg(content: bytes) -> Mapping[str, Mapping[str, str]]:
    """Return the sections of a setup.cfg; one that can't be read tells nothing, and its build will say so.

    It is read as by configparser, which takes the square of some files' length, and gives each section all of DEFAULT.
    """
    sections: dict[str, dict[str, list[str]]] = {}
    options: dict[str, list[str]] | None = None
    value: list[str] | None = None
    margin = 0
    for line in content.decode(errors="replace").split("\n"):
        text = line.strip()
        depth = len(line) - len(line.lstrip())
        if text.startswith(("#", ";")):
            continue
        if value is not None and (not text or depth > margin):
            value.append(text)
        elif text:
            margin = depth
            option = re.match(r"([^=:]+)[=:](.*)", text)
            if header := re.match(r"\[(.+)\]", text):
                options, value = sections.setdefault(header[1], {}), None
            elif options is None or option is None:
                return {}
            else:
                value = options[option[1].rstrip().lower()] = [option[2].strip()]
    return {name: {key: "\n".join(one).rstrip() for key, one in section.items()} for name, section in sections.items()}


def _roots(data: Mapping[str, Any], config: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield the directories below which the build looks for import packages: the usual ones, and what settings name."""
    yield from ("", "src")
    wheel = _table(data, "tool", "hatch", "build", "targets", "wheel")
    poetry = _list(_table(data, "tool", "poetry"), "packages")
    stated = [
        *_list(_table(data, "tool", "setuptools", "packages", "find"), "where"),
        config.get("options.packages.find", {}).get("where"),
        _table(data, "tool", "maturin").get("python-source"),
        _table(data, "tool", "uv", "build-backend").get("module-root"),
        _table(data, "tool", "pdm", "build").get("package-dir"),
        *(one.get("from") for one in poetry if isinstance(one, dict)),
        *(one.rpartition("/")[0] for one in _list(wheel, "packages") if isinstance(one, str)),
    ]
    yield from (one.strip("/") for one in stated if isinstance(one, str) and _is_inside(one))


def _packages(data: Mapping[str, Any], config: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield the outermost import packages that settings name."""
    module = _table(data, "tool", "uv", "build-backend").get("module-name")
    poetry = _list(_table(data, "tool", "poetry"), "packages")
    stated = [
        *_list(_table(data, "tool", "setuptools"), "packages"),
        *re.split("[,\\s]", config.get("options", {}).get("packages", "")),
        *(one.get("include") for one in poetry if isinstance(one, dict)),
        _table(data, "tool", "flit", "module").get("name"),
        *(module if isinstance(module, list) else (module,)),
    ]
    yield from (re.split("[./]", one)[0] for one in _texts(stated))
    hatch = _list(_table(data, "tool", "hatch", "build", "targets", "wheel"), "packages")
    yield from (one.strip("/").rpartition("/")[2] for one in _texts(hatch))


def _directories(
    data: Mapping[str, Any], config: Mapping[str, Mapping[str, str]], script: str
) -> Iterator[tuple[str, str]]:
    """Yield where setuptools is told to find packages: "" is the one that all others are in."""
    lines = re.split("[,\n]", config.get("options", {}).get("package_dir", ""))
    literal = re.search(_SETUP_DIRECTORIES, script)
    for package, one in (
        *((package.strip(), one.strip()) for package, _, one in (line.partition("=") for line in lines)),
        *(re.findall(_SETUP_PAIR, literal[1]) if literal else ()),
        *_table(data, "tool", "setuptools", "package-dir").items(),
    ):
        if isinstance(one, str) and one and _is_inside(one):
            yield package, one.removeprefix("./").strip("/")


def _list(table: Mapping[str, Any], key: str) -> list[Any]:
    found = table.get(key)
    return found if isinstance(found, list) else []


def _is_inside(path: str) -> bool:
    return ".." not in path.split("/") and not path.startswith("/")


def _moved(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what hatchling puts elsewhere in a wheel."""
    build = _table(data, "tool", "hatch", "build")
    for table in (build, _table(build, "targets", "wheel")):
        for source, place in _table(table, "force-include").items():
            if isinstance(place, str) and _is_inside(source) and _is_inside(place.strip("/")):
                yield source.removeprefix("./").strip("/"), place.strip("/")
