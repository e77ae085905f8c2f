"""The made-up packages as the installers lay them out: a project with its packages, for each ecosystem.

Invariants: a layout yields every file of the project once, by path relative to its root; nothing is downloaded,
compiled or run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from bench.prose import chance, prose, sentence
from bench.workload import Package, Size, skill_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

File: TypeAlias = "tuple[str, bytes]"

_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SITE = f".venv/lib/python{_PYTHON}/site-packages"
GEM_HOME = "vendor/bundle/ruby/3.1.0"
NODE_MODULES = "node_modules"


def _code(package: Package, kind: str, opening: str) -> Iterator[File]:
    """Yield the code of a package: many small files, a dozen in a directory."""
    rng = chance(kind, package.name)
    for at in range(package.modules):
        directory = f"part_{at // 12}/" if at >= 12 else ""
        yield f"{directory}module_{at}", f"{opening} {sentence(rng, rng.randrange(5, 30))}\n".encode()


def _readme(package: Package) -> bytes:
    return prose(chance("readme", package.name), max(80, package.readme))


def _providers(packages: Iterable[Package]) -> list[Package]:
    return [package for package in packages if package.skills]


# Python


def pypi(packages: Sequence[Package], size: Size) -> Iterator[File]:
    """Yield a project with a virtual environment: site-packages with METADATA and RECORD, as pip writes them."""
    home = os.path.dirname(os.path.realpath(sys.executable))
    yield (
        ".venv/pyvenv.cfg",
        f"home = {home}\ninclude-system-site-packages = false\nversion = {_PYTHON}.0\n".encode(),
    )
    needs = "".join(f'    "{one.name}=={one.version}",\n' for one in _providers(packages))
    yield (
        "pyproject.toml",
        f'[project]\nname = "bench"\nversion = "1"\nrequires-python = ">={_PYTHON}"\n'
        f"dependencies = [\n{needs}]\n".encode(),
    )
    for package in packages:
        yield from ((f"{SITE}/{path}", content) for path, content in _distribution(package, size))


def _distribution(package: Package, size: Size) -> Iterator[File]:
    info = f"{package.import_name}-{package.version}.dist-info"
    rows = []
    for path, content in _distributed(package, size, info):
        # Bytecode is compiled where it is installed, and pip lists it without a hash.
        rows.append(f"{path},," if path.endswith(".pyc") else f"{path},{_sha256(content)},{len(content)}")
        yield path, content
    rows.append(f"{info}/RECORD,,")
    yield f"{info}/RECORD", ("\n".join(sorted(rows)) + "\n").encode()


def _distributed(package: Package, size: Size, info: str) -> Iterator[File]:
    name = package.import_name
    yield f"{name}/__init__.py", b""
    for path, content in _code(package, "pypi", "#"):
        yield f"{name}/{path}.py", content
        directory, _, file = path.rpartition("/")
        yield f"{name}/{directory}/__pycache__/{file}.cpython-{_PYTHON.replace('.', '')}.pyc", bytes(16)
    for skill in package.skills:
        yield from ((f"{name}/.agents/skills/{skill}/{path}", content) for path, content in skill_files(skill, size))
    head = (
        f"Metadata-Version: 2.4\nName: {package.name}\nVersion: {package.version}\nSummary: {package.name} toolkit\n"
        "Author-email: Someone <someone@example.com>\nLicense-Expression: MIT\n"
        f"Project-URL: Homepage, https://example.com/{package.name}\n"
        "Classifier: Programming Language :: Python :: 3\nClassifier: Operating System :: OS Independent\n"
        "Requires-Python: >=3.9\n"
        + "".join(f"Requires-Dist: {need}>=0.1\n" for need in package.needs)
        + "Description-Content-Type: text/markdown\n\n"
    )
    yield f"{info}/METADATA", head.encode() + _readme(package)
    yield (
        f"{info}/WHEEL",
        b"Wheel-Version: 1.0\nGenerator: hatchling 1.27.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    )
    yield f"{info}/INSTALLER", b"pip\n"
    yield f"{info}/licenses/LICENSE", prose(chance("licence", package.name), 1070)


def _sha256(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


# npm


def npm(packages: Sequence[Package], size: Size) -> Iterator[File]:
    """Yield a project with a node_modules and its locks, as npm writes them."""
    versions = {one.name: one.version for one in packages}
    project = {
        "name": "bench",
        "version": "1.0.0",
        "private": True,
        "dependencies": {one.name: one.version for one in _providers(packages)},
    }
    rows: dict[str, object] = {"": project}
    for package in packages:
        base = f"{NODE_MODULES}/{package.name}"
        needs = {need: f"^{versions[need]}" for need in package.needs}
        rows[base] = {
            "version": package.version,
            "integrity": "sha512-" + base64.b64encode(hashlib.sha512(base.encode()).digest()).decode(),
            "license": "MIT",
            "dependencies": needs,
        }
        yield from ((f"{base}/{path}", content) for path, content in _node_package(package, size, needs))
    yield "package.json", _json(project)
    lock = _json({"name": "bench", "version": "1.0.0", "lockfileVersion": 3, "requires": True, "packages": rows})
    yield "package-lock.json", lock
    yield f"{NODE_MODULES}/.package-lock.json", lock


def _node_package(package: Package, size: Size, needs: dict[str, str]) -> Iterator[File]:
    yield (
        "package.json",
        _json(
            {
                "name": package.name,
                "version": package.version,
                "description": f"{package.name} toolkit",
                "license": "MIT",
                "main": "lib/module_0.js",
                "homepage": f"https://example.com/{package.name}",
                "repository": {"type": "git", "url": f"git+https://example.com/{package.name}.git"},
                "keywords": ["bench", *(["tanstack-intent"] if package.skills else [])],
                "files": ["lib", "skills"],
                "dependencies": needs,
            }
        ),
    )
    yield "README.md", _readme(package)
    yield from ((f"lib/{path}.js", content) for path, content in _code(package, "npm", "//"))
    for skill in package.skills:
        yield from ((f"skills/{skill}/{path}", content) for path, content in skill_files(skill, size))


def _json(value: object) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"


# gems


def gem(packages: Sequence[Package], size: Size) -> Iterator[File]:
    """Yield a project with a bundle in `vendor/bundle`: gems and their gemspecs, as RubyGems writes them."""
    providers = _providers(packages)
    gems = "".join(f'gem "{one.name}", "{one.version}"\n' for one in providers)
    yield "Gemfile", f'source "https://example.com"\n\n{gems}'.encode()
    specs = "".join(
        f"    {one.name} ({one.version})\n" + "".join(f"      {need} (>= 0.1)\n" for need in one.needs)
        for one in sorted(packages, key=lambda one: one.name)
    )
    direct = "".join(f"  {one.name} (= {one.version})\n" for one in sorted(providers, key=lambda one: one.name))
    yield (
        "Gemfile.lock",
        f"GEM\n  remote: https://example.com/\n  specs:\n{specs}\nPLATFORMS\n  ruby\n\nDEPENDENCIES\n{direct}\n"
        "BUNDLED WITH\n   2.5.22\n".encode(),
    )
    for package in packages:
        full = f"{package.name}-{package.version}"
        yield f"{GEM_HOME}/specifications/{full}.gemspec", _gemspec(package)
        yield f"{GEM_HOME}/gems/{full}/readme.md", _readme(package)
        for path, content in _code(package, "gem", "#"):
            yield f"{GEM_HOME}/gems/{full}/lib/{path}.rb", content
        for skill in package.skills:
            for path, content in skill_files(skill, size):
                yield f"{GEM_HOME}/gems/{full}/skills/{skill}/{path}", content


def _gemspec(package: Package) -> bytes:
    needs = "".join(f'  s.add_runtime_dependency(%q<{need}>.freeze, [">= 0.1".freeze])\n' for need in package.needs)
    return f"""\
# -*- encoding: utf-8 -*-
# stub: {package.name} {package.version} ruby lib

Gem::Specification.new do |s|
  s.name = "{package.name}".freeze
  s.version = "{package.version}".freeze

  s.required_rubygems_version = Gem::Requirement.new(">= 0".freeze) if s.respond_to? :required_rubygems_version=
  s.require_paths = ["lib".freeze]
  s.authors = ["Someone".freeze]
  s.date = "2026-01-01"
  s.homepage = "https://example.com/{package.name}".freeze
  s.licenses = ["MIT".freeze]
  s.required_ruby_version = Gem::Requirement.new(">= 3.0".freeze)
  s.rubygems_version = "3.5.22".freeze
  s.summary = "{package.name} toolkit".freeze

  s.installed_by_version = "3.5.22".freeze

  s.specification_version = 4

{needs}end
""".encode()


@dataclass(frozen=True, slots=True)
class Layout:
    """How one ecosystem lays packages out: every file of a project, and the directory with the skills of a package."""

    files: Callable[[Sequence[Package], Size], Iterator[File]]
    skills: Callable[[Package], str]


LAYOUTS = {
    "pypi": Layout(pypi, lambda package: f"{SITE}/{package.import_name}/.agents/skills"),
    "npm": Layout(npm, lambda package: f"{NODE_MODULES}/{package.name}/skills"),
    "gem": Layout(gem, lambda package: f"{GEM_HOME}/gems/{package.name}-{package.version}/skills"),
}


def write(root: str, files: Iterable[File]) -> None:
    """Write files below a directory, those in a skill's `scripts` as programs."""
    made = set()
    for path, content in files:
        directory = os.path.dirname(f"{root}/{path}")
        if directory not in made:
            os.makedirs(directory, exist_ok=True)
            made.add(directory)
        mode = 0o755 if "/scripts/" in path else 0o644
        fd = os.open(f"{root}/{path}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        try:
            os.write(fd, content)
        finally:
            os.close(fd)
