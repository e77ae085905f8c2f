"""Python distributions for tests: hand-made environments and installs, and wheels that the real installers take."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gems import skill, write_files
from tools import need_python_tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    Files = Mapping[str, str | bytes]

__all__ = ["skill", "write_files"]

VERSION = "3.11"
# What would make an installer's answer depend on whoever runs the tests; where packages come from is the machine's.
_PERSONAL = ("UV_PROJECT", "UV_LINK", "UV_PYTHON", "VIRTUAL_ENV", "CONDA", "PYTHON", "GIT_")


def skills(package: str, *names: str) -> dict[str, str | bytes]:
    """Return the files of an import package that ships skills."""
    files: dict[str, str | bytes] = {f"{package}/.agents/skills/{name}/SKILL.md": skill(name) for name in names}
    return {f"{package}/__init__.py": "", **files}


def folded(name: str) -> str:
    """Return a name as it stands in a metadata directory's."""
    return name.replace("-", "_").replace(".", "_").lower()


def write_venv(prefix: Path, version: str = VERSION, config: Mapping[str, str] | None = None) -> Path:
    """Make an empty virtual environment, without an interpreter in it; returns its site-packages."""
    site = prefix / "lib" / f"python{version}" / "site-packages"
    site.mkdir(parents=True)
    values = {"home": "/usr/bin", "include-system-site-packages": "false", "version": f"{version}.7", **(config or {})}
    (prefix / "pyvenv.cfg").write_text("".join(f"{key} = {value}\n" for key, value in values.items()))
    return site


def digest(content: str | bytes) -> str:
    """Return a file's hash as RECORD has it."""
    found = hashlib.sha256(content.encode() if isinstance(content, str) else content).digest()
    return "sha256=" + base64.urlsafe_b64encode(found).rstrip(b"=").decode()


def record_text(files: Files, rows: Iterable[tuple[str, str, str]] = ()) -> str:
    """Return a RECORD of the files, and of further rows as they are given."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows((path, digest(content), len(content)) for path, content in files.items())
    writer.writerows(rows)
    return text.getvalue()


def metadata_text(name: str, version: str) -> str:
    return f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nSummary: For tests\n\nName: not-this\n"


def write_dist(  # noqa: PLR0913  all that makes one installed distribution differ from another
    site: Path,
    name: str,
    version: str = "1.0",
    files: Files | None = None,
    *,
    extra: Files | None = None,
    rows: Iterable[tuple[str, str, str]] = (),
    record: str | None = "",
) -> Path:
    """Make what an installer makes of a wheel; returns the metadata directory.

    `extra` are further files of the metadata directory. `record` replaces RECORD's text; None leaves it out.
    """
    entry = f"{folded(name)}-{version}.dist-info"
    given = files or {}
    metadata: dict[str, str | bytes] = {"METADATA": metadata_text(name, version), "INSTALLER": "pip\n", **(extra or {})}
    write_files(site, given)
    write_files(site / entry, metadata)
    listed = {**given, **{f"{entry}/{path}": content for path, content in metadata.items()}}
    if record is not None:
        (site / entry / "RECORD").write_text(record or record_text(listed, [*rows, (f"{entry}/RECORD", "", "")]))
    return site / entry


def direct_url(source: Path | str, *, editable: bool = True) -> dict[str, str | bytes]:
    """Return the metadata file that says that a distribution was installed from a directory."""
    url = str(source).replace(" ", "%20")
    info = '{"editable": true}' if editable else "{}"
    return {"direct_url.json": f'{{"dir_info": {info}, "url": "file://{url}"}}'}


def write_editable(site: Path, name: str, source: Path, pth: str | None = None, **extra: str) -> Path:
    """Make what an installer makes of an editable install; `pth` is the text of its .pth file, if it has one."""
    files = {} if pth is None else {f"__editable__.{folded(name)}.pth": pth}
    return write_dist(site, name, files=files, extra={**direct_url(source), **extra})


def wheel(directory: Path, name: str, version: str, files: Files) -> Path:
    """Zip a wheel by hand."""
    entry = f"{folded(name)}-{version}.dist-info"
    content: dict[str, str | bytes] = {
        **files,
        f"{entry}/METADATA": metadata_text(name, version),
        f"{entry}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    content[f"{entry}/RECORD"] = record_text(content, [(f"{entry}/RECORD", "", "")])
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{folded(name)}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in content.items():
            archive.writestr(file, text)
    return path


def write_source(  # noqa: PLR0913  all that makes one source tree differ from another
    directory: Path, name: str, backend: str, requires: str, files: Files, *, more: str = ""
) -> Path:
    """Make a source tree that a build backend can build."""
    text = f"""\
[build-system]
requires = ["{requires}"]
build-backend = "{backend}"

[project]
name = "{name}"
version = "1.0"
{more}"""
    write_files(directory, {"pyproject.toml": text, **files})
    return directory


def python_environ(home: Path, cache: Path) -> dict[str, str]:
    """Return an environment for the Python tools with nothing in it of the person who runs the tests."""
    home.mkdir(parents=True, exist_ok=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_PERSONAL)}
    caches = {"UV_CACHE_DIR": str(cache / "uv"), "PIP_CACHE_DIR": str(cache / "pip")}
    return kept | caches | {"HOME": str(home), "UV_PYTHON_DOWNLOADS": "never"}


def run(command: Iterable[str], cwd: Path, environ: Mapping[str, str]) -> str:
    """Run a tool that has to succeed; returns what it printed."""
    done = subprocess.run(
        tuple(command), cwd=cwd, env=environ, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True, slots=True)
class Tools:
    """pip and uv, which install into the environment of a project."""

    environ: Mapping[str, str]
    uv: str = field(default_factory=lambda: need_python_tool("uv"))

    def install(self, project: Path, tool: str, *requirements: str | Path, mode: str = "copy") -> None:
        """Install into a new environment; `mode` is how uv brings files there."""
        shutil.rmtree(project / ".venv", ignore_errors=True)
        run((self.uv, "venv", "--quiet", "--python", sys.executable, ".venv"), project, self.environ)
        python, given = ("--python", ".venv/bin/python"), map(str, requirements)
        commands: dict[str, tuple[str, ...]] = {
            "pip": (sys.executable, "-m", "pip", *python, "install", "--quiet"),
            "uv": (self.uv, "pip", "install", "--quiet", "--link-mode", mode, *python),
        }
        run((*commands[tool], *given), project, self.environ)
