"""What makes a Python build backend take skills in, by what the project's files say to it.

Invariants: pure; a list that is there is added to: a second one breaks the file, or takes the place of the first.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from skillsync.hashing import parents

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skillsync.checking.identity import Identity, Settings
    from skillsync.checking.wanted import Wanted

_DATA = ("tool", "setuptools", "package-data")
_CONFIG = "options.package_data"
_EXCLUDED = ("tool", "setuptools", "exclude-package-data")
_EXCLUDED_IN_CONFIG = "options.exclude_package_data"
_HATCH = ("tool", "hatch", "build")
_PDM = ("tool", "pdm", "build")
_UV = ("tool", "uv", "build-backend")
_AGENTS = "/.agents/skills"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_UNKNOWN = "see in the settings of your build backend what leaves it out, and that no .gitignore does"


def mend(identity: Identity, wanted: Wanted) -> str:
    """Return what makes the build of a Python project take in what is wanted."""
    builder = next((does for name, does in _BUILDERS.items() if identity.backend.startswith(name)), None)
    if builder is None:
        return "include it as package data, in the settings of your build backend; see that no .gitignore leaves it out"
    return builder(identity, wanted) or _UNKNOWN


def _setuptools(identity: Identity, wanted: Wanted) -> str:
    """Say it where package data is listed, since one list takes another's place; else where all the rest is said."""
    settings = identity.settings
    rows: dict[str, list[str]] = {}
    for place in wanted.places:
        package, inner = _package(_in_wheel(identity, place))
        for pattern in wanted.within(place):
            rows.setdefault(package, []).append(f"{inner}/{pattern}")
    config, has_project = settings.config, "project" in settings.project
    is_in_script = re.search(r"\bpackage_data\b", settings.script or "") is not None  # no include_package_data
    if has_project and (settings.table(*_DATA) or not (is_in_script or _CONFIG in config)):
        said = _in_table(settings, _DATA, {package: _quoted(patterns) for package, patterns in rows.items()}, wanted)
    elif is_in_script:
        added = (f'add {_listed(patterns)} to the list of "{package}"' for package, patterns in rows.items())
        said = f"in setup.py, in package_data of setup(), {_and(added)}"
    elif settings.script is not None and config.keys().isdisjoint(("metadata", "options", _CONFIG)):
        new = (f'"{package}": [{_listed(patterns)}]' for package, patterns in rows.items())
        said = f"in setup.py, add to the call of setup(): package_data={{{', '.join(new)}}}"
    else:
        said = _in_config(config, rows)
    if settings.table(*_EXCLUDED):
        seen = f"in pyproject.toml, see that [{'.'.join(_EXCLUDED)}] doesn't leave it out"
    elif _EXCLUDED_IN_CONFIG in config:
        seen = f"in setup.cfg, see that [{_EXCLUDED_IN_CONFIG}] doesn't leave it out"
    else:
        return said or "see that MANIFEST.in doesn't leave it out: package data has it"
    return f"{said}; {seen}" if said else seen


def _package(place: str) -> tuple[str, str]:
    """Return the import package that a wheel's directory of skills is in, and the rest of its path."""
    inner = _AGENTS if place.endswith(_AGENTS) else "/skills"
    return place.removesuffix(inner).replace("/", "."), inner[1:]


def _hatchling(identity: Identity, wanted: Wanted) -> str:
    """Name artifacts, which are packed whatever is excluded or ignored; but first hatchling has to look there."""
    settings = identity.settings
    narrow = []
    for table in (_HATCH, (*_HATCH, "targets", "sdist"), (*_HATCH, "targets", "wheel")):
        found = settings.table(*table)
        if "only-include" in found:
            narrow.append((table, "only-include", _uncovered(wanted.paths, found["only-include"])))
        elif "packages" in found:
            packages = (_top(identity, path) for path in _uncovered(wanted.paths, found["packages"]))
            narrow.append((table, "packages", list(dict.fromkeys(packages))))
    if any(paths for *_, paths in narrow):
        return _in_project(
            _lists(settings, table, {key: _quoted(paths)}, wanted) for table, key, paths in narrow if paths
        )
    artifacts = [f"/{path}" if wanted.files else f"/{path}/**" for path in wanted.paths]
    # A target's own list takes the place of that of all.
    targets = [(*_HATCH, "targets", name) for name in ("sdist", "wheel")]
    own = [target for target in targets if "artifacts" in settings.table(*target)]
    tables = own if own == targets else [_HATCH, *own]
    return _in_project(_lists(settings, one, {"artifacts": _quoted(artifacts)}, wanted) for one in tables)


def _poetry(identity: Identity, wanted: Wanted) -> str:
    rows = [f'{{ path = "{path}", format = ["sdist", "wheel"] }}' for path in wanted.globs]
    return _in_table(identity.settings, ("tool", "poetry"), {"include": rows}, wanted)


def _pdm(identity: Identity, wanted: Wanted) -> str:
    """Without `includes`, pdm-backend packs every import package that it finds; with it, nothing else."""
    settings = identity.settings
    found = settings.table(*_PDM)
    if "includes" in found and (left := _uncovered(wanted.paths, found["includes"])):
        return _in_table(settings, _PDM, {"includes": _quoted(left)}, wanted)
    if said := _taken_out(settings, _PDM, ("excludes", "source-includes"), wanted):
        return said
    tops = dict.fromkeys(_top(identity, path) for path in wanted.paths)
    if all("/" in top for top in tops):
        return _in_table(settings, _PDM, {"includes": _quoted(dict.fromkeys(map(posixpath.dirname, tops)))}, wanted)
    said = _in_table(settings, _PDM, {"includes": _quoted(tops)}, wanted)
    return said and f"{said}, with every other import package of the tree"


def _flit(identity: Identity, wanted: Wanted) -> str:
    said = _taken_out(identity.settings, ("tool", "flit", "sdist"), ("exclude",), wanted)
    return said or "put it into the one import package that flit packs: [tool.flit.module] names it, else [project]"


def _uv(identity: Identity, wanted: Wanted) -> str:
    said = _taken_out(identity.settings, _UV, ("source-exclude", "wheel-exclude"), wanted)
    return said or "put it into a module that uv_build packs: `module-name` of [tool.uv.build-backend] names these"


# By how the name of a build backend begins.
_BUILDERS = {
    "setuptools": _setuptools,
    "hatchling": _hatchling,
    "poetry": _poetry,
    "pdm": _pdm,
    "flit": _flit,
    "uv_build": _uv,
}


def _in_table(settings: Settings, table: Sequence[str], rows: Mapping[str, Sequence[str]], wanted: Wanted) -> str:
    """Say what lists of a table in pyproject.toml have to have, "" where they have it; a value is as it is written."""
    return _in_project([_lists(settings, table, rows, wanted)])


def _in_project(said: Iterable[str]) -> str:
    """Say of pyproject.toml what is to be done there, "" where that is nothing."""
    left = [one for one in said if one]
    return f"in pyproject.toml, {_and(left)}" if left else ""


def _lists(settings: Settings, table: Sequence[str], rows: Mapping[str, Sequence[str]], wanted: Wanted) -> str:
    """Say what lists of one table have to have.

    What is named file by file is added: another skill of the tree may be told of the same list.
    """
    found, header = settings.table(*table), f"[{'.'.join(table)}]"
    left = {key: [one for one in values if one not in _quoted(_texts(found.get(key)))] for key, values in rows.items()}
    said = [
        f"add {', '.join(values)} to {'' if key in found else 'a new list '}`{_key(key)}` of {header}"
        for key, values in left.items()
        if values and (key in found or wanted.files)
    ]
    new = [f"{_key(key)} = [{', '.join(left[key])}]" for key in rows if not (key in found or wanted.files)]
    if new:
        is_there = any(not isinstance(value, dict) for value in found.values())
        said.append(f"{f'in the {header} that is there' if is_there else header}: {'; '.join(new)}")
    return _and(said)


def _in_config(config: Mapping[str, Mapping[str, str]], rows: Mapping[str, Sequence[str]]) -> str:
    """Say the same of a setup.cfg, whose lists are made of lines or by commas."""
    found = config.get(_CONFIG, {})
    said, new = [], []
    for package, patterns in rows.items():
        old = found.get(package.lower())  # as the parser of the file has its keys
        if old is None:
            new.append(f"{package} = {', '.join(patterns)}")
        elif left := [one for one in patterns if one not in map(str.strip, re.split("[,\n]", old))]:
            how = "as lines" if "\n" in old else "after commas"
            said.append(f"add to `{package}` of [{_CONFIG}], {how}: {', '.join(left)}")
    if new:
        said.append(f"{f'in the [{_CONFIG}] that is there' if _CONFIG in config else f'[{_CONFIG}]'}: {'; '.join(new)}")
    return f"in setup.cfg, {_and(said)}" if said else ""


def _taken_out(settings: Settings, table: Sequence[str], keys: Sequence[str], wanted: Wanted) -> str:
    """Say what has to leave the lists of a table, "" where there are none."""
    there = [f"`{key}`" for key in keys if key in settings.table(*table)]
    what = f"what matches {' or '.join(_quoted(wanted.paths))}"
    return f"in pyproject.toml, take {what} out of {_and(there)} of [{'.'.join(table)}]" if there else ""


def _uncovered(paths: Iterable[str], patterns: object) -> list[str]:
    """Return the paths that neither are in a list, nor below a directory in it."""
    known = {one.removeprefix("./").strip("/").rstrip("/*") for one in _texts(patterns)}
    return [path for path in paths if known.isdisjoint((path, *parents(path)))]


def _texts(values: object) -> list[str]:
    return [one for one in values if isinstance(one, str)] if isinstance(values, list) else []


def _in_wheel(identity: Identity, path: str) -> str:
    """Return where a wheel has a path of the tree: where it is moved to, else without the directory of packages."""
    first, *rest = identity.installed(path)
    return rest[-1] if rest and first == path else first


def _top(identity: Identity, path: str) -> str:
    """Return the outermost directory of the import package that a path of the tree is in."""
    inner = _in_wheel(identity, path)
    return path.removesuffix(inner) + inner.partition("/")[0] if path.endswith(inner) else path


def _key(text: str) -> str:
    return text if _BARE.fullmatch(text) else f'"{text}"'


def _quoted(texts: Iterable[str]) -> list[str]:
    return [f'"{text}"' for text in texts]


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(_quoted(texts))


def _and(texts: Iterable[str]) -> str:
    return " and ".join(texts)
