"""docs/problems.md tells every problem and every kind of drift; what it shows of each is what the program prints.

`SKILLSYNC_UPDATE_SESSIONS=1 pytest tests/cli/test_problems.py` writes the page's examples anew.
"""

from __future__ import annotations

import fcntl
import os
import re
import resource
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import gems
import pytest
from projects import HOME, LOCK, MANIFEST, REGISTRY, SKILLS, Project, Result, skill
from tools import need

from skillsync.errors import Code, Problem, exit_code
from skillsync.syncing import journal
from skillsync.syncing.plan import Drift

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/problems.md"
UPDATE = "SKILLSYNC_UPDATE_SESSIONS"
TEXT = f"{SKILLS}/testing/SKILL.md"
_SECTION = re.compile(r"^### ([a-z-]+)\n\n(.*?)(?=^###? |\Z)", re.DOTALL | re.MULTILINE)
_EXAMPLE = re.compile(r"^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_ROW = re.compile(r"^\| `([a-z-]+)` \| .* \| `(.*)` \| .* \|$", re.MULTILINE)


def sections() -> dict[str, str]:
    return dict(_SECTION.findall(PAGE.read_text(encoding="utf-8")))


def rows() -> dict[str, str]:
    """The kinds of drift in the page's table, with the line that it shows of each."""
    return dict(_ROW.findall(PAGE.read_text(encoding="utf-8").partition("\n## Drift\n")[2]))


# What makes each problem


def locked(project: Project) -> Project:
    project.gem("sus", "1.0.0", "testing").done("lock")
    return project


def synced(project: Project) -> Project:
    locked(project).done("sync")
    return project


def demo(project: Project) -> Project:
    shutil.copytree(ROOT / "fixtures/demo", project.root, symlinks=True, dirs_exist_ok=True)
    return project


def invalid_skill(project: Project) -> Result:
    text = "---\nname: testing\ndescription: Use it for: tests\n---\n"
    project.gem("sus", "1.0.0", files={"skills/testing/SKILL.md": text})
    return project.manifest('[providers.gem]\nsus = { skills = ["testing"] }\n').run("lock")


def unsafe_skill(project: Project) -> Result:
    locked(project)
    (project.gem_root("sus") / "skills/testing/notes.md").symlink_to("/etc/hostname")
    return project.run("lock")


def duplicate_skill(project: Project) -> Result:
    return project.gem("alpha", "1.4.0", "testing").gem("beta", "0.7.2", "testing").run("lock")


def missing_provider(project: Project) -> Result:
    return project.gem("sus", "1.0.0", "testing").manifest('[providers.gem]\nbake = "*"\n').run("lock")


def version_not_admitted(project: Project) -> Result:
    return project.gem("sus", "1.0.0", "testing").manifest('[providers.gem]\nsus = ">= 2"\n').run("lock")


def hidden_characters(project: Project) -> Result:
    files = {"skills/testing/SKILL.md": skill("testing", "Run \u202ethis.\n")}
    return project.gem("sus", "1.0.0", files=files).run("lock")


def ambiguous_provider(project: Project) -> Result:
    project.gem("sus", "1.0.0", "testing")
    files = {"skills/testing/SKILL.md": skill("testing", "Another text.\n")}
    gems.write_gem(project.root / HOME, "sus", "1.0.0", files, "x86_64-linux")
    return project.run("lock")


def skill_not_found(project: Project) -> Result:
    manifest = '[providers.gem]\nsus = { skills = ["tests"] }\n'
    return project.gem("sus", "1.0.0", "testing").manifest(manifest).run("lock")


def pattern_unmatched(project: Project) -> Result:
    return project.gem("sus", "1.0.0", "testing").manifest('[providers.gem]\n"async-*" = "*"\n').run("lock")


def environment_not_found(project: Project) -> Result:
    synced(project)
    shutil.rmtree(project.root / "vendor")
    return project.run("lock")


def environment_unreadable(project: Project) -> Result:
    return project.write({"package.json": "{"}).run("lock")


def modified_after_install(project: Project) -> Result:
    (text,) = demo(project).root.glob(".venv/lib/*/site-packages/saltmarsh/.agents/skills/*/SKILL.md")
    text.write_text(text.read_text() + "More.\n")
    return project.run("lock")


def package_unreadable(project: Project) -> Result:
    return demo(project).write({"node_modules/left/package.json": "{"}).run("lock")


def unmanaged(project: Project) -> Result:
    return locked(project).write({TEXT: "mine\n"}).run("sync")


def foreign_owner(project: Project) -> Result:
    synced(project).drop("sus").gem("bake", "0.24.1", files={"skills/testing/SKILL.md": skill("testing", "Its own.\n")})
    project.done("lock")
    return project.run("sync")


def modified(project: Project) -> Result:
    return synced(project).write({TEXT: "mine\n"}).run("sync")


def content_changed(project: Project) -> Result:
    return locked(project).change("sus", {"skills/testing/SKILL.md": skill("testing", "Other.\n")}).run("sync")


def unsafe_target(project: Project) -> Result:
    elsewhere = project.root.parent / "elsewhere"
    elsewhere.mkdir()
    locked(project)
    (project.root / ".agents").symlink_to(elsewhere)
    return project.run("sync")


def former_target(project: Project) -> Result:
    locked(project).manifest('targets = [".agents/skills", ".claude/skills"]\n').done("sync")
    return project.write({MANIFEST: None}).run("verify")


def manifest_exists(project: Project) -> Result:
    return locked(project).manifest("version = 1\n").run("init")


def manifest_invalid(project: Project) -> Result:
    return locked(project).manifest('[providers.gem]\nsus = { skill = ["testing"] }\n').run("lock")


def lock_unreadable(project: Project) -> Result:
    text = locked(project).read(LOCK)
    return project.write({LOCK: f"<<<<<<< ours\n{text}=======\n>>>>>>> theirs\n"}).run("sync")


def lock_missing(project: Project) -> Result:
    return project.gem("sus", "1.0.0", "testing").run("verify")


def registry_unreadable(project: Project) -> Result:
    return synced(project).write({REGISTRY: "version: 1\nskills: [testing]\n"}).run("sync")


def usage(project: Project) -> Result:
    return project.run("sync", "--fast")


def busy(project: Project) -> Result:
    descriptor = os.open(synced(project).installed(), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return project.run("sync", "--no-wait")
    finally:
        os.close(descriptor)


def io(project: Project) -> Result:
    def no_space() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    return project.gem("sus", "1.0.0", "testing").process("lock", preexec_fn=no_space)


# What `check` finds in a package


def checked(project: Project, text: str = skill("kelp-forms"), **files: str) -> Result:
    """Check a gem's tree with one skill that has this text, and these files."""
    gemspec = 'Gem::Specification.new do |s|\n  s.name = "kelp"\n  s.version = "1.2.0"\nend\n'
    project.write({"kelp.gemspec": gemspec, "skills/kelp-forms/SKILL.md": text, **files})
    return project.run("check", ".")


def wheel(project: Project, members: Mapping[str, str], record: str = "", *trees: str) -> Result:
    """Check a wheel of these members, beside source trees."""
    metadata = "Metadata-Version: 2.1\nName: kelp\nVersion: 1.2\n"
    with zipfile.ZipFile(project.root / "kelp-1.2-py3-none-any.whl", "w") as archive:
        tag = "Wheel-Version: 1.0\nGenerator: kelp\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        info = {"METADATA": metadata, "WHEEL": tag, "RECORD": record}
        for name, text in {**members, **{f"kelp-1.2.dist-info/{name}": text for name, text in info.items()}}.items():
            archive.writestr(name, text)
    return project.run("check", *trees, "kelp-1.2-py3-none-any.whl")


def beside_its_tree(project: Project, members: Mapping[str, str]) -> Result:
    """Check a wheel of these members beside the tree of which it was built."""
    pyproject = '[project]\nname = "kelp"\nversion = "1.2"\n'
    files = {"kelp/__init__.py": "", "kelp/skills/kelp-forms/SKILL.md": skill("kelp-forms")}
    project.write({"pyproject.toml": pyproject, **files})
    return wheel(project, {"kelp/__init__.py": "", **members}, "", ".")


def skill_not_packaged(project: Project) -> Result:
    return beside_its_tree(project, {})


def artifact_differs(project: Project) -> Result:
    return beside_its_tree(project, {"kelp/skills/kelp-forms/SKILL.md": skill("kelp-forms", "An older text.\n")})


def not_compared(project: Project) -> Result:
    members = {"kelp/__init__.py": "", "kelp/skills/kelp-forms/SKILL.md": skill("kelp-forms")}
    project.write({"pyproject.toml": '[project]\nname = "kelp"\nversion = "1.3"\n'}).write(members)
    return wheel(project, members, "", ".")


def build_failed(project: Project) -> Result:
    need("gem")
    project.write({"kelp.gemspec": 'raise "no version"\n', "skills/kelp-forms/SKILL.md": skill("kelp-forms")})
    return project.run("check", "--build", ".")


def tool_not_found(project: Project) -> Result:
    checked(project)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(project.root))
        return project.run("check", "--build", ".")


def no_skills(project: Project) -> Result:
    return project.write({"package.json": '{"name": "kelp", "version": "1.2.0"}\n'}).run("check", ".")


def archive_unreadable(project: Project) -> Result:
    return project.write({"kelp-1.2-py3-none-any.whl": "no archive\n"}).run("check", "kelp-1.2-py3-none-any.whl")


def archive_unsafe(project: Project) -> Result:
    return wheel(project, {"../../evil.pth": "import evil\n"})


def checksum_mismatch(project: Project) -> Result:
    path = "kelp/skills/kelp-forms/SKILL.md"
    return wheel(project, {path: skill("kelp-forms")}, f"{path},sha256={'A' * 43},10\n")


def no_skill_file(project: Project) -> Result:
    return checked(project, **{"skills/drafts/notes.md": "Later.\n"})


def skill_elsewhere(project: Project) -> Result:
    return checked(project, **{"lib/skills/kelp-more/SKILL.md": skill("kelp-more")})


def format_limit(project: Project) -> Result:
    return checked(project, skill("kelp-forms", "Line.\n" * 600))


def link_out(project: Project) -> Result:
    return checked(project, skill("kelp-forms", "See [the guide](../../README.md).\n"))


def link_broken(project: Project) -> Result:
    return checked(project, skill("kelp-forms", "See [the guide](references/guide.md).\n"))


def not_executable(project: Project) -> Result:
    return checked(project, **{"skills/kelp-forms/scripts/run": "#!/bin/sh\n"})


def line_ends(project: Project) -> Result:
    return checked(project, skill("kelp-forms").replace("\n", "\r\n"))


def final_newline(project: Project) -> Result:
    return checked(project, skill("kelp-forms", "No end"))


def name_collision(project: Project) -> Result:
    return checked(project, **{"skills/testing/SKILL.md": skill("testing")})


PROBLEMS: dict[str, Callable[[Project], Result]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        invalid_skill,
        unsafe_skill,
        duplicate_skill,
        missing_provider,
        version_not_admitted,
        hidden_characters,
        ambiguous_provider,
        skill_not_found,
        pattern_unmatched,
        environment_not_found,
        environment_unreadable,
        modified_after_install,
        package_unreadable,
        unmanaged,
        foreign_owner,
        modified,
        content_changed,
        unsafe_target,
        former_target,
        no_skills,
        skill_not_packaged,
        artifact_differs,
        not_compared,
        build_failed,
        tool_not_found,
        archive_unreadable,
        archive_unsafe,
        checksum_mismatch,
        no_skill_file,
        skill_elsewhere,
        format_limit,
        link_out,
        link_broken,
        not_executable,
        line_ends,
        final_newline,
        name_collision,
        manifest_exists,
        manifest_invalid,
        lock_unreadable,
        lock_missing,
        registry_unreadable,
        usage,
        busy,
        io,
    )
}


# `check` ends with 1 whatever it finds.
OF_CHECK = {
    "no-skills",
    "skill-not-packaged",
    "artifact-differs",
    "build-failed",
    "archive-unreadable",
    "archive-unsafe",
    "checksum-mismatch",
}


def said(result: Result, code: str, root: Path) -> str:
    """What was printed of one problem, its hint included."""
    blocks = re.split(r"^(?=(?:error|warning|note)\[)", result.err, flags=re.MULTILINE)
    found = next(block for block in blocks if re.match(rf"\w+\[{code}\]", block))
    return found.replace(str(root), "/home/me/app").replace(os.environ["GEM_HOME"], "/home/me/.gem")


def test_every_problem_is_on_the_page_and_no_other() -> None:
    assert sorted(sections()) == sorted(PROBLEMS) == sorted(code.value for code in Code)


@pytest.mark.parametrize("code", PROBLEMS)
def test_a_problem_is_what_the_page_shows(code: str, tmp_path: Path) -> None:
    result = PROBLEMS[code](project := Project(tmp_path / "app"))
    found = said(result, code, project.root)
    if os.environ.get(UPDATE):
        text, section = PAGE.read_text(encoding="utf-8"), sections()[code]
        shown = _EXAMPLE.sub(lambda _: f"```text\n{found}```", section, count=1)
        PAGE.write_text(text.replace(section, shown), encoding="utf-8")
    assert _EXAMPLE.findall(sections()[code]) == [found]
    severity, number = head(code)
    assert found.startswith(f"{severity}[")
    assert severity != "error" or result.code == number


def head(code: str) -> tuple[str, int | None]:
    """The severity and the exit code that the page gives a problem; a warning has none."""
    found = re.match(r"(Error|Warning|Note)(?:, exit code (\d))?\.", sections()[code])
    assert found is not None
    return found[1].lower(), int(found[2]) if found[2] else None


@pytest.mark.parametrize("code", [code for code in PROBLEMS if code not in OF_CHECK])
def test_the_page_gives_each_problem_its_exit_code(code: str) -> None:
    severity, number = head(code)
    assert (number is None) == (severity != "error")
    assert number in {None, exit_code([Problem(code=Code(code), message="")])}


# What makes each kind of drift


def missing_file(project: Project) -> Project:
    return synced(project).write({TEXT: None})


def modified_file(project: Project) -> Project:
    return synced(project).write({TEXT: "mine\n"})


def outdated(project: Project) -> Project:
    synced(project).gem("sus", "2.0.0", "testing", files={"skills/testing/new.md": "New.\n"}).done("lock")
    return project


def lost_bit(project: Project) -> Project:
    project.gem("sus", "1.0.0", "testing", files={"skills/testing/scripts/run": "#!/bin/sh\n"})
    project.done("lock")
    project.done("sync")
    project.installed("testing/scripts/run").chmod(0o644)
    return project


def orphaned(project: Project) -> Project:
    synced(project).manifest("[providers]\n").done("lock")
    return project


def unregistered(project: Project) -> Project:
    return synced(project).write({REGISTRY: "version: 1\nskills: {}\n"})


def drift_unmanaged(project: Project) -> Project:
    return locked(project).write({TEXT: "mine\n"})


def drift_foreign_owner(project: Project) -> Project:
    foreign_owner(project)
    return project


def stale_row(project: Project) -> Project:
    synced(project).gem("sus", "1.1.0", "testing").done("lock")
    return project


def interrupted(project: Project) -> Project:
    registry = synced(project).read(REGISTRY).encode()
    return project.write({f"{SKILLS}/.skillsync/{journal.FILE_NAME}": journal.dump((), registry)})


def stale_lock(project: Project) -> Project:
    return synced(project).gem("sus", "2.0.0", "testing", files={"skills/testing/new.md": "New.\n"})


DRIFT: dict[str, Callable[[Project], Project]] = {
    "missing": missing_file,
    "modified": modified_file,
    "outdated": outdated,
    "not-executable": lost_bit,
    "orphaned": orphaned,
    "unregistered": unregistered,
    "unmanaged": drift_unmanaged,
    "foreign-owner": drift_foreign_owner,
    "stale-row": stale_row,
    "interrupted": interrupted,
    "stale-lock": stale_lock,
}


def test_every_kind_of_drift_is_on_the_page_and_no_other() -> None:
    assert sorted(rows()) == sorted(DRIFT) == sorted(kind.value for kind in Drift)


@pytest.mark.parametrize("kind", DRIFT)
def test_drift_is_what_the_page_shows(kind: str, tmp_path: Path) -> None:
    result = DRIFT[kind](Project(tmp_path / "app")).run("verify")
    assert result.code == 1
    found = [line for line in result.out.splitlines() if line.startswith(f"{kind}: ")]
    assert rows().get(kind) in found, result.out + result.err
