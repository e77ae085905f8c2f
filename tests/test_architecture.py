"""The layout is a rule: modules import to the left, and the pure ones never touch the disk."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from projects import Project

import skillsync

ROOT = Path(skillsync.__file__).parent
# Import only from what stands to the left, or from the same folder.
ORDER = (
    "values",
    "errors",
    "schema",
    "track",
    "hidden",
    "yaml_nodes",
    "hashing",
    "filesystem",
    "snapshot",
    "discovery",
    "locking",
    "syncing",
    "reviewing",
    "commands",
    "checking",
    "rendering",
    "cli",
    "__main__",
)
PURE = {
    "values",
    "errors",
    "schema",
    "track",
    "hidden",
    "yaml_nodes",
    "hashing",
    "discovery.environment",
    "discovery.gem.bundler",
    "discovery.gem.rubygems",
    "discovery.npm.locks",
    "discovery.nearest",
    "discovery.npm.package_json",
    "discovery.npm.semver",
    "discovery.pypi.attribution",
    "discovery.pypi.dependencies",
    "discovery.pypi.metadata",
    "discovery.pypi.record",
    "discovery.pypi.versions",
    "discovery.skill",
    "commands.result",
    "locking.allowlist",
    "locking.changes",
    "locking.choice",
    "locking.editing",
    "locking.examination",
    "locking.lockfile",
    "locking.manifest",
    "locking.pins",
    "locking.reasons",
    "locking.resolver",
    "syncing.gitignore",
    "syncing.plan",
    "syncing.registry",
    "syncing.status",
    "reviewing.difference",
    "reviewing.lines",
    "reviewing.marks",
    "checking.backends",
    "checking.packaging",
    "checking.unnamed",
    "checking.wanted",
    "checking.comparison",
    "checking.identity",
    "checking.markdown",
    "checking.mending",
    "checking.offer",
    "checking.rules",
    "rendering.columns",
    "rendering.findings",
    "rendering.github",
    "rendering.junit",
    "rendering.markdown",
    "rendering.page",
    "rendering.unified",
    "rendering.report",
    "rendering.sarif",
}
IMPURE = {"os", "pathlib", "shutil", "subprocess", "tempfile", "skillsync.filesystem", "skillsync.syncing.apply"}
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if path != ROOT / "__init__.py"
)


def imports(module: str, *, types: bool = True) -> set[str]:
    """Every module that a module imports, anywhere in it; without `types`, those for type checkers are left out."""
    path = ROOT.joinpath(*module.split("."))
    source = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
    found = set()
    for node in _nodes(ast.parse(source.read_text()), types=types):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in inner if name.removeprefix("skillsync.") in MODULES} or {node.module or ""}
    return found


def _nodes(tree: ast.AST, *, types: bool) -> list[ast.AST]:
    found = []
    for node in ast.iter_child_nodes(tree):
        only_types = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        if types or not only_types:
            found += [node, *_nodes(node, types=types)]
    return found


def place(module: str) -> int:
    return ORDER.index(module.split(".", maxsplit=1)[0])


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_to_the_left(module: str) -> None:
    ours = {name.removeprefix("skillsync.") for name in imports(module) if name.startswith("skillsync.")}
    backwards = {name for name in ours if place(name) > place(module)}
    across = {name for name in ours if place(name) == place(module) and name.split(".")[0] == name != module}
    assert not backwards | across


@pytest.mark.parametrize("module", sorted(PURE))
def test_pure_modules_do_not_reach_for_the_disk(module: str) -> None:
    assert not imports(module, types=False) & IMPURE


@pytest.mark.parametrize("module", [module for module in MODULES if module.startswith("syncing")])
def test_syncing_does_not_know_where_skills_come_from(module: str) -> None:
    assert not {name for name in imports(module) if name.startswith("skillsync.discovery")}


@pytest.mark.parametrize("module", [module for module in MODULES if module.startswith("locking")])
def test_locking_knows_what_was_found_but_no_ecosystem(module: str) -> None:
    known = {f"skillsync.discovery.{name}" for name in ("environment", "provider")}
    assert not {name for name in imports(module) if name.startswith("skillsync.discovery")} - known


@pytest.mark.parametrize("module", [module for module in MODULES if module != "__main__"])
def test_every_module_can_be_imported(module: str) -> None:
    assert importlib.import_module(f"skillsync.{module}").__doc__


def loaded(*arguments: str) -> set[str]:
    """The modules that a command has loaded when it is done."""
    program = "import sys; from skillsync.cli.main import main\ntry: main(sys.argv[1:])\nexcept SystemExit: pass\n"
    program += "print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", program, *arguments]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())


def test_only_a_page_costs_the_library_that_renders_it(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    diff = ("diff", "--project", str(project.root))
    assert "jinja2" not in loaded(*diff)
    assert "jinja2" in loaded(*diff, "--html", "-")


def test_a_form_is_loaded_by_who_asked_for_it_and_nobody_else(tmp_path: Path) -> None:
    forms = {f"skillsync.rendering.{name}" for name in ("findings", "github", "sarif", "junit")}
    arguments = ("verify", "--project", str(tmp_path))
    assert not loaded(*arguments) & forms
    assert not loaded(*arguments, "--format", "json") & forms
    assert loaded(*arguments, "--format", "sarif") & forms == {
        "skillsync.rendering.findings",
        "skillsync.rendering.sarif",
    }
