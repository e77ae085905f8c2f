from __future__ import annotations

import copy
import json
import re
import shutil
import tarfile
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import gems
import node_packages
import pytest
from jsonschema.validators import validator_for
from node_packages import install
from projects import HOME, LOCK, MANIFEST, SKILLS, Project, skill
from tools import need, need_network

from skillsync.cli import main as program

if TYPE_CHECKING:
    from pathlib import Path

    from jsonschema.protocols import Validator
    from projects import Result

FORMS = ("github", "sarif", "junit")
HOSTILE = "a: 50%,\n::error::b\r\u202e##[error]\x01%0A.md"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "repo/.git").mkdir(parents=True)
    return tmp_path / "repo"


@pytest.fixture
def project(repository: Path) -> Project:
    """Return a project in a repository's directory, whose two skills are locked and installed."""
    project = Project(repository / "apps/web site").gem("sus", "1.0.0", "testing").gem("bake", "1.0.0", "tasks")
    project.done("lock")
    project.done("sync")
    return project


def interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def commands(result: Result) -> list[tuple[str, dict[str, str], str]]:
    """Return level, properties and message of each annotation, as GitHub's runner reads the lines."""
    found = []
    for line in result.out.splitlines():
        if read := re.fullmatch(r"::(\w+) (.*?)::(.*)", line):
            pairs = (part.split("=", maxsplit=1) for part in read[2].split(","))
            found.append((read[1], {key: unescaped(value) for key, value in pairs}, unescaped(read[3])))
        else:
            assert "::" not in line
            assert "##[" not in line
    return found


def unescaped(text: str) -> str:
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def places(result: Result) -> list[str]:
    """Return the kind and the path of each result of a SARIF file."""
    return [
        f"{one['ruleId']} {unquote(one['locations'][0]['physicalLocation']['artifactLocation']['uri'])}"
        for one in result.json["runs"][0]["results"]
    ]


def cases(result: Result) -> dict[str, str]:
    """Return, for each test of a JUnit file, what failed in it."""
    suite = ET.fromstring(result.out).find("testsuite")  # noqa: S314  # our own
    assert suite is not None
    assert suite.get("tests") == str(len(suite.findall("testcase")))
    assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
    assert suite.get("errors") == str(len(suite.findall("testcase/error")))
    return {
        f"{one.get('classname')} {one.get('name')}": " ".join(f"{outcome.tag}:{outcome.get('type')}" for outcome in one)
        for one in suite.findall("testcase")
    }


def test_in_sync_there_is_nothing_to_mark(project: Project) -> None:
    found = project.done("verify", "--format", "github")
    assert found.out == "ok: checked 2 skills, 2 files, 2 providers (scope all)\n"
    run = project.done("verify", "--format", "sarif").json["runs"][0]
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True}]
    assert cases(project.done("verify", "--format", "junit")) == {
        f"{place} {name}": "" for place in (SKILLS, LOCK) for name in ("testing", "tasks")
    }


def test_drift_is_where_the_file_is_in_the_repository(project: Project) -> None:
    project.write({f"{SKILLS}/testing/SKILL.md": "mine"})
    shutil.rmtree(project.installed("tasks"))
    project.gem("new", "1.0.0", "newer")
    stale, missing, modified = commands(project.run("verify", "--format", "github"))
    assert stale[:2] == ("error", {"file": "apps/web site/agent-skills.lock", "title": "skillsync: stale-lock"})
    assert missing[1] == {"file": f"apps/web site/{SKILLS}/tasks", "title": "skillsync: missing"}
    assert missing[2].endswith("\nhint: run `skillsync sync`")
    assert modified[1] == {"file": f"apps/web site/{SKILLS}/testing/SKILL.md", "title": "skillsync: modified"}
    assert modified[2].startswith(f"modified: {SKILLS}/testing/SKILL.md: a file differs from the lock")
    assert modified[2].endswith("\nhint: `skillsync sync --dry-run` shows what a sync would do")
    assert places(project.run("verify", "--format", "sarif")) == [
        "stale-lock apps/web site/agent-skills.lock",
        f"missing apps/web site/{SKILLS}/tasks",
        f"modified apps/web site/{SKILLS}/testing/SKILL.md",
    ]
    assert cases(project.run("verify", "--format", "junit")) == {
        f"{SKILLS} tasks": "failure:missing",
        f"{SKILLS} testing": "failure:modified",
        f"{LOCK} newer": "failure:stale-lock",
        f"{LOCK} tasks": "",
        f"{LOCK} testing": "",
    }


def test_without_a_repository_paths_are_the_projects(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    project.done("lock")
    result = project.run("verify", "--scope", "installed", "--format", "sarif")
    assert places(result) == [f"missing {SKILLS}/testing"]
    result = project.run("verify", "--scope", "installed", "--format", "junit")
    assert cases(result) == {f"{SKILLS} testing": "failure:missing"}


def test_each_difference_of_a_skill_is_in_its_test(project: Project) -> None:
    project.write({f"{SKILLS}/testing/SKILL.md": "mine", f"{SKILLS}/testing/b.md": "mine"})
    result = project.run("verify", "--format", "junit")
    failure = ET.fromstring(result.out).find("testsuite/testcase/failure")  # noqa: S314  # our own
    assert failure is not None
    assert failure.get("message") == "2 differences"
    assert failure.text is not None
    assert f"apps/web site/{SKILLS}/testing/b.md: modified: {SKILLS}/testing/b.md: a file differs" in failure.text


def test_a_problem_has_its_line_and_column(project: Project) -> None:
    project.manifest("version = 1\nx = [\n")
    problem = project.run("verify", "--format", "json").json["problems"][0]
    ((level, where, message),) = commands(project.run("verify", "--format", "github"))
    assert level == "error"
    assert where["file"] == f"apps/web site/{MANIFEST}"
    assert (where["line"], where["title"]) == (str(problem["line"]), "skillsync: manifest-invalid")
    assert message == f"{problem['message']}\nhint: {problem['hint']}"
    result = project.run("verify", "--format", "sarif").json["runs"][0]["results"][0]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == problem["line"]
    assert cases(project.run("verify", "--format", "junit")) == {"skillsync verify": "error:manifest-invalid"}


def test_what_is_in_a_package_is_where_the_package_is_if_that_is_in_the_repository(project: Project) -> None:
    project.change("sus", {"skills/other/SKILL.md": skill("wrong")})
    file = f"apps/web site/{HOME}/gems/sus-1.0.0/skills/other/SKILL.md"
    level, where, message = commands(project.run("verify", "--format", "github"))[-1]
    assert (level, where["file"], where["line"], where["col"]) == ("warning", file, "2", "7")
    assert message.startswith("gem:sus 1.0.0: skills/other/SKILL.md ")
    result = project.done("verify", "--format", "sarif")
    assert places(result) == [f"invalid-skill {file}"]
    ((location,),) = (one["locations"] for one in result.json["runs"][0]["results"])
    assert location["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 7}
    passed = project.done("verify", "--format", "junit")
    assert set(cases(passed).values()) == {""}
    assert f"warning[invalid-skill]: {file}:2:7: gem:sus 1.0.0: " in passed.out
    project.manifest('[providers.gem]\nbake = "*"\nsus = { skills = ["testing", "other"] }\n')
    assert f"{file}:2:7: gem:sus 1.0.0: " in project.run("verify", "--format", "junit").out


def test_every_kind_of_fault_in_a_package_is_where_it_is(project: Project) -> None:
    root = project.gem_root("sus")
    gems.write_files(root, {"skills/twice/SKILL.md": skill("twice"), "skills/testing/a.md": "a\u202e\n"})
    (root / "skills/testing/out.md").symlink_to("/etc/hosts")
    (project.gem_root("bake") / "skills/tasks/SKILL.md").unlink()
    found = places(project.run("verify", "--format", "sarif"))
    at = f"apps/web site/{HOME}/gems"
    assert {one for one in found if at in one} == {
        f"invalid-skill {at}/bake-1.0.0/skills/tasks",
        f"unsafe-skill {at}/sus-1.0.0/skills/testing/out.md",
    }
    (root / "skills/testing/out.md").unlink()
    found = places(project.run("verify", "--format", "sarif"))
    assert f"hidden-characters {at}/sus-1.0.0/skills/testing/a.md" in found


def test_a_package_may_lie_above_the_project(project: Project, repository: Path) -> None:
    install(repository / "node_modules", "demo", "1.0.0")
    gems.write_files(repository, {"node_modules/demo/skills/other/SKILL.md": skill("wrong")})
    project.write({"package.json": "{}"})
    result = project.run("verify", "--format", "sarif")
    assert places(result) == ["invalid-skill node_modules/demo/skills/other/SKILL.md"]


def test_what_is_outside_of_the_repository_is_said_of_the_lock_with_its_place(project: Project) -> None:
    files = {**gems.skills("far"), "skills/other/SKILL.md": skill("wrong")}
    project.gem("outer", "1.0.0", path="../../../outer", files=files).done("lock")
    level, where, message = commands(project.run("verify", "--format", "github"))[-1]
    assert (level, where) == ("warning", {"file": f"apps/web site/{LOCK}", "title": "skillsync: invalid-skill"})
    assert message.partition("\n")[0].endswith(" (skills/other/SKILL.md:2:7)")
    result = project.run("verify", "--format", "sarif").json["runs"][0]["results"][-1]
    assert "region" not in result["locations"][0]["physicalLocation"]


def test_a_hostile_name_is_data_everywhere(project: Project) -> None:
    project.write({f"{SKILLS}/testing/{HOSTILE}": "mine"})
    ((_, where, message),) = commands(project.run("verify", "--format", "github"))
    assert where["file"] == f"apps/web site/{SKILLS}/testing/{HOSTILE}"
    assert "\r" not in message
    assert message.count("\n") == 1
    result = project.run("verify", "--format", "sarif")
    assert result.out.isascii()
    assert places(result) == [f"modified apps/web site/{SKILLS}/testing/{HOSTILE}"]
    assert cases(project.run("verify", "--format", "junit"))[f"{SKILLS} testing"] == "failure:modified"


@pytest.mark.parametrize("form", FORMS)
def test_a_name_that_is_not_utf_8_ends_no_form(project: Project, form: str) -> None:
    name = b"caf\xe9.md".decode("utf-8", "surrogateescape")
    (project.installed("testing") / name).write_text("mine")
    result = project.process("verify", "--format", form)
    assert (result.code, result.err) == (project.run("verify").code, "")
    assert "caf" in result.out


@pytest.mark.parametrize("form", FORMS)
def test_the_exit_code_is_that_of_the_text(project: Project, form: str) -> None:
    def agrees(*options: str) -> int:
        found = project.run("verify", *options, "--format", form)
        assert found.code == project.run("verify", *options).code
        assert found.err == ""
        return found.code

    assert agrees() == 0
    assert agrees("--project", "nowhere") == 2
    assert agrees("--no-such-option") == 2
    project.write({f"{SKILLS}/testing/SKILL.md": "mine"})
    assert agrees() == 1
    project.write({LOCK: None})
    assert agrees() == 2


def test_a_usage_error_is_in_the_form_that_was_asked_for(project: Project) -> None:
    ((level, where, _),) = commands(project.run("verify", "--nope", "--format=github"))
    assert (level, where["title"]) == ("error", "skillsync: usage")
    sarif = project.run("verify", "--nope", "--format=sarif").json["runs"][0]
    assert sarif["invocations"] == [{"executionSuccessful": False}]
    assert cases(project.run("verify", "--nope", "--format=junit")) == {"skillsync verify": "error:usage"}


def test_what_was_interrupted_or_saw_nothing_has_a_test_that_fails(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.manifest("ecosystems = []\n")
    result = project.run("verify", "--scope", "providers", "--format", "junit")
    assert result.code != 0
    assert "error:" in cases(result)["skillsync verify"]

    monkeypatch.setitem(program._RUNS, "verify", interrupt)  # noqa: SLF001  # as Ctrl-C does
    result = project.run("verify", "--format", "junit")
    assert (result.code, cases(result)) == (130, {"skillsync verify": "error:failed"})
    assert project.run("verify", "--format", "github").out == ""
    assert json.loads(project.run("verify", "--format", "sarif").out)["runs"][0]["invocations"] == [
        {"executionSuccessful": False}
    ]


@pytest.fixture(scope="module")
def sarif_schema(tmp_path_factory: pytest.TempPathFactory) -> Validator:
    """Return what holds a document against the schema of SARIF 2.1.0, which Microsoft's validator ships."""
    need_network()
    need("npm")
    directory = tmp_path_factory.mktemp("sarif")
    environ = node_packages.node_environ(directory / "home")
    command = ("npm", "pack", "--json", "@microsoft/sarif-multitool-linux@5.7.0")
    (packed,) = json.loads(node_packages.run(command, directory, environ))
    with tarfile.open(directory / packed["filename"]) as archive:
        schema = json.load(archive.extractfile("package/sarif-2.1.0.json") or pytest.fail("it has no schema"))
    kind = validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def test_sarif_is_what_its_schema_asks_for(
    project: Project, sarif_schema: Validator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def valid(*arguments: str) -> Any:  # noqa: ANN401  # any JSON value
        document = json.loads(project.run("verify", *arguments, "--format=sarif").out)
        assert [f"{error.json_path}: {error.message}" for error in sarif_schema.iter_errors(document)] == []
        return document

    in_sync = valid()
    broken = copy.deepcopy(in_sync)
    del broken["runs"][0]["tool"]
    assert not sarif_schema.is_valid(broken)
    project.write({f"{SKILLS}/testing/{HOSTILE}": "mine"})
    name = b"caf\xe9.md".decode("utf-8", "surrogateescape")
    (project.installed("testing") / name).write_text("mine")
    shutil.rmtree(project.installed("tasks"))
    project.gem("new", "1.0.0", "newer").gem("broken", "1.0.0", files={"skills/other/SKILL.md": "---\nname: [\n"})
    assert len(valid()["runs"][0]["results"]) > 4
    valid("--nope")
    valid("--project", "nowhere")
    project.write({MANIFEST: "version = 1\nno"})
    valid()
    monkeypatch.setitem(program._RUNS, "verify", interrupt)  # noqa: SLF001  # as Ctrl-C does
    valid()


@pytest.mark.parametrize("command", ["list", "lock", "sync", "diff"])
@pytest.mark.parametrize("form", FORMS)
def test_only_verify_has_these_forms(project: Project, command: str, form: str) -> None:
    assert project.run(command, "--format", form).code == 2
