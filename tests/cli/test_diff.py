from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from gems import write_files
from projects import LOCK, SKILLS, Project, skill

from skillsync.cli.main import main
from skillsync.commands.differences import difference
from skillsync.filesystem import open_directory
from skillsync.locking.changes import Action, Change, FileChanges
from skillsync.rendering import terminal
from skillsync.snapshot import Copy, snapshot

if TYPE_CHECKING:
    from pathlib import Path

FILE = "skills/testing/SKILL.md"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project in sync, with one skill."""
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing", files={"skills/testing/run": "#!/bin/sh\nls\n"})
    project.done("lock")
    project.done("sync")
    return project


def lines(project: Project, *options: str) -> list[str]:
    return project.done("diff", *options).out.splitlines()


# What `lock` would pin


def test_nothing_differs(project: Project) -> None:
    assert lines(project) == ["no differences: the packages ship what the lock has"]
    assert lines(project, "--installed") == ["no differences: what is installed is what the lock has"]
    assert lines(project, "--stat", "testing") == ["no differences: the packages ship what the lock has"]


def test_an_update_is_shown_as_git_shows_it(project: Project) -> None:
    old = project.read(f"{SKILLS}/testing/SKILL.md")
    project.gem(
        "sus",
        "2.0.0",
        files={FILE: f"{old}see https://a.example\n[up](../x)", "skills/testing/run": "#!/bin/sh\nls -l\n"},
    )
    before = project.tree
    count = old.count("\n")
    found = lines(project)
    assert found[:6] == [
        "~ update testing (gem:sus 1.0.0 -> 2.0.0)",
        f"! SKILL.md:{count + 1} [new-host: a.example]",
        f"! SKILL.md:{count + 2} [link-out: ../x]",
        "! run [script]",
        "diff testing/SKILL.md",
        "--- a/testing/SKILL.md",
    ]
    assert found[-11:] == [
        *(f" {line}" for line in old.splitlines()[-1:]),
        "+see https://a.example",
        "+[up](../x)",
        "\\ No newline at end of file",
        "diff testing/run",
        "--- a/testing/run",
        "+++ b/testing/run",
        "@@ -1,2 +1,2 @@",
        " #!/bin/sh",
        "-ls",
        "+ls -l",
    ]
    assert project.tree == before
    assert lines(project, "--stat") == [
        "~ update testing (gem:sus 1.0.0 -> 2.0.0)",
        "    SKILL.md  +2 -0  [new-host: a.example] [link-out: ../x]",
        "    run       +1 -1  [script]",
    ]


def test_a_blank_line_is_between_two_skills(project: Project) -> None:
    project.gem("sus", "2.0.0", files={FILE: skill("testing", "a\n\nb")}).gem("bake", "2.0.0", "tasks", "more")
    found = lines(project)
    heads = [at for at, line in enumerate(found) if line.startswith(("~ update ", "+ add ", "- remove "))]
    assert [at for at, line in enumerate(found) if not line] == [at - 1 for at in heads[1:]]
    assert len(heads) > 1
    assert "" not in lines(project, "--stat")


def test_the_text_is_a_patch_that_leads_to_the_new_version(project: Project) -> None:

    old = project.read(f"{SKILLS}/testing/SKILL.md")
    body = "".join(f"line {number}\n" for number in range(40))
    project.gem("sus", "2.0.0", files={FILE: old + body, "skills/testing/new/file.md": "new\n"}).done("lock")
    project.done("sync")
    text = old + body.replace("line 3\n", "line three\n").replace("line 30\n", "") + "no end"
    project.gem("sus", "3.0.0", files={FILE: text, "skills/testing/x": "x\n"})
    patch = "".join(f"{line}\n" for line in lines(project))
    done = subprocess.run(
        ["patch", "-p1", "--no-backup-if-mismatch"], cwd=project.installed(), input=patch, text=True, check=False,
        capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert project.installed(FILE.removeprefix("skills/")).read_text() == text
    assert project.installed("testing/x").read_text() == "x\n"
    assert not project.installed("testing/new/file.md").exists()


def test_the_first_lock_shows_everything_as_new(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    found = lines(project)
    assert found[:5] == [
        "+ add testing (gem:sus 1.0.0)",
        "diff testing/SKILL.md",
        "--- /dev/null",
        "+++ b/testing/SKILL.md",
        f"@@ -0,0 +1,{len(found) - 5} @@",
    ]
    assert all(line.startswith("+") for line in found[5:])
    assert not (project.root / LOCK).exists()


def test_what_is_gone_is_shown_as_removed(project: Project) -> None:
    project.drop("sus").gem("other", "1.0.0")
    assert lines(project)[:4] == [
        "- remove testing (gem:sus 1.0.0)",
        "diff testing/SKILL.md",
        "--- a/testing/SKILL.md",
        "+++ /dev/null",
    ]


def test_an_old_text_that_is_nowhere_is_told_by_its_hash(project: Project) -> None:
    old = re.search(r'"SKILL.md" = "(.*)"', project.read(LOCK))
    project.write({f"{SKILLS}/testing/SKILL.md": "edited\n"})
    project.gem("sus", "2.0.0", files={FILE: skill("testing", "other"), "skills/testing/run": "#!/bin/sh\nls -l\n"})
    found = lines(project)
    assert old is not None
    assert f"\\ its text is not here: {old[1]}" in found
    # Of the file that nobody has edited there is the old text still.
    assert found[-4:] == ["@@ -1,2 +1,2 @@", " #!/bin/sh", "-ls", "+ls -l"]
    assert lines(project, "--stat")[1].split("  ")[:3] == ["", "", "SKILL.md"]
    assert "not here -> " in lines(project, "--stat")[1]


def test_binary_and_large_files_and_links_are_told_by_what_they_are(project: Project) -> None:
    files: dict[str, str | bytes] = {"skills/testing/b": b"\0\1", "skills/testing/large": "x\n" * (1 << 20)}
    project.gem("sus", "2.0.0", "testing", files=files)
    (project.gem_root("sus") / "skills/testing/l").symlink_to("b")
    found = lines(project)
    assert [line.partition(", blake3")[0] for line in found if line.startswith("\\")] == [
        "\\ not compared line by line: 2 bytes",
        "\\ no file: link to b",
        "\\ not compared line by line: 2097152 bytes",
    ]
    assert "! large [large: 2.0 MiB]" in found
    assert [re.split("  +", line)[2] for line in lines(project, "--stat")[1:4]] == [
        "nothing -> 2 bytes",
        "nothing -> a link",
        "nothing -> 2097152 bytes",
    ]


def test_a_line_of_a_package_never_passes_for_one_of_skillsync_s(project: Project) -> None:
    old = project.read(f"{SKILLS}/testing/SKILL.md")
    forged = "diff other/SKILL.md\n--- a/other/SKILL.md\n@@ -1 +1 @@\n\x1b[2Jgone\r\n\u202etxt\n\ttab\n"
    project.gem("sus", "2.0.0", files={FILE: old + forged, "skills/testing/run": "#!/bin/sh\nls\n"})
    result = project.run("diff")
    assert result.code == 3
    assert "error[hidden-characters]: " in result.err
    found = result.out.splitlines()
    assert found[-6:] == [
        "+diff other/SKILL.md",
        "+--- a/other/SKILL.md",
        "+@@ -1 +1 @@",
        "+\\x1b[2Jgone\\x0d",
        "+\\u202etxt",
        "+\ttab",
    ]


# What `sync` would change


def test_an_edit_is_shown_with_the_refusal(project: Project) -> None:
    project.write({f"{SKILLS}/testing/run": "#!/bin/sh\nmine\n"})
    assert lines(project, "--installed") == [
        f"~ update {SKILLS}/testing (gem:sus 1.0.0)",
        "! refused as modified: only `skillsync sync --force` does it, and discards what differs",
        "! run [script]",
        f"diff {SKILLS}/testing/run",
        f"--- a/{SKILLS}/testing/run",
        f"+++ b/{SKILLS}/testing/run",
        "@@ -1,2 +1,2 @@",
        " #!/bin/sh",
        "-mine",
        "+ls",
    ]
    (change,) = project.done("diff", "--installed", "--format", "json").json["changes"]
    assert (change["refused"], change["target"]) == ("modified", SKILLS)
    assert change["differences"][0]["diff"].splitlines()[-2:] == ["-mine", "+ls"]


def test_the_lock_s_text_is_not_here_where_the_package_is_not(project: Project) -> None:
    project.uninstall("sus")
    project.installed("testing/run").unlink()
    found = lines(project, "--installed")
    assert found[-1].startswith("\\ its text is not here: blake3:")


def test_what_is_gone_with_its_text_is_told_as_that(project: Project) -> None:
    project.write({f"{SKILLS}/testing/run": "edited\n"})
    project.gem("sus", "2.0.0", files={FILE: project.read(f"{SKILLS}/testing/SKILL.md")})
    assert lines(project, "--stat")[1:] == ["    run  removed; its text is not here"]


def test_what_even_force_refuses_is_a_problem(project: Project) -> None:
    project.gem("other", "1.0.0", "mine").done("lock")
    project.write({f"{SKILLS}/mine/SKILL.md": "mine\n"})
    result = project.run("diff", "--installed")
    assert (result.code, "error[unmanaged]" in result.err) == (3, True)
    assert project.run("diff", "--installed", "testing").code == 0


def test_without_a_lock_there_is_nothing_to_install(tmp_path: Path) -> None:
    project = Project(tmp_path / "app").gem("sus", "1.0.0", "testing")
    result = project.run("diff", "--installed")
    assert (result.code, "error[lock-missing]" in result.err) == (2, True)


def test_every_target_directory_has_its_own_differences(project: Project) -> None:
    project.manifest(f'targets = ["{SKILLS}", ".claude/skills"]\n')
    found = lines(project, "--installed", "--stat")
    assert found[0] == "+ add .claude/skills/testing (gem:sus 1.0.0)"


# Which, and in what form


def test_only_the_named_skills_are_shown_and_a_wrong_name_is_told(project: Project) -> None:
    project.gem("other", "1.0.0", "one", "two")
    assert [line for line in lines(project, "two") if line[:6] == "+ add "] == ["+ add two (gem:other 1.0.0)"]
    result = project.run("diff", "testin")
    assert (result.code, result.err.splitlines()) == (
        3,
        ["error[skill-not-found]: there is no skill `testin`", "  hint: did you mean `skillsync diff testing`?"],
    )
    assert "run `skillsync list` to see" in project.run("diff", "--installed", "zzz").err


def test_json_has_both_sides_of_each_file(project: Project) -> None:
    project.gem("sus", "2.0.0", "testing", files={"skills/testing/b": b"\0\1"})
    (change,) = project.done("diff", "--format", "json").json["changes"]
    assert (change["action"], change["files"]["removed"]) == ("update", ["run"])
    by_path = {one["path"]: one for one in change["differences"]}
    assert by_path["run"]["new"] is None
    assert by_path["run"]["diff"] == "@@ -1,2 +0,0 @@\n-#!/bin/sh\n-ls"
    assert (by_path["b"]["old"], by_path["b"]["new"]["size"], by_path["b"]["diff"]) == (None, 2, None)
    (project.gem_root("sus") / "skills/testing/l").symlink_to("b")
    (change,) = project.done("diff", "--format", "json").json["changes"]
    assert {one["path"]: one for one in change["differences"]}["l"]["new"] == {"link": "b"}


def test_markdown_holds_whatever_a_package_says_in_code(project: Project) -> None:
    old = project.read(f"{SKILLS}/testing/SKILL.md")
    text = f"{old}[x](../y`z)\n````\n</details><script>alert(1)</script>\n# Title @someone\n"
    project.gem("sus", "2.0.0", files={FILE: text, "skills/testing/`<b>`.md": "x\n"})
    found = lines(project, "--format", "markdown")
    assert found[0] == "## Skills: what `skillsync lock` will pin"
    assert found[2] == "### `~ update testing (gem:sus 1.0.0 -> 2.0.0)`"
    assert "- ⚠️ `SKILL.md:12` ``link-out: ../y`z``" in [re.sub(r":\d+`", ":12`", line) for line in found]
    assert "<details><summary>~ <code>SKILL.md</code> (+4 -0)</summary>" in found
    assert "<details><summary>+ <code>`&lt;b&gt;`.md</code> (+1 -0)</summary>" in found
    fences = [line for line in found if line.startswith("`")]
    assert fences[:4] == ["`````diff", "`````", "```diff", "```"]
    inside = False
    for line in found:
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            assert "script" not in line
            assert "@someone" not in line


def test_markdown_says_so_where_nothing_differs(project: Project) -> None:
    assert lines(project, "--format", "markdown")[2] == "No differences: the packages ship what the lock has."
    project.write({f"{SKILLS}/testing/run": "mine\n"})
    found = lines(project, "--installed", "--format", "markdown")
    assert "- ⚠️ refused as modified: only `skillsync sync --force` does it, and discards what differs" in found


def test_markdown_leaves_texts_out_where_a_comment_has_no_room_and_names_every_change(project: Project) -> None:
    old = project.read(f"{SKILLS}/testing/SKILL.md")
    project.gem("sus", "2.0.0", files={FILE: old + "line\n" * 500})
    found = lines(project, "--format", "markdown")
    assert "… 103 more lines: `skillsync diff` shows all" in [re.sub(r"\d+", "103", line) for line in found]
    many = {f"skills/s{number}/SKILL.md": skill(f"s{number}", "x" * 900) for number in range(90)}
    project.gem("many", "1.0.0", files={**many, "skills/s0/large.md": "y" * 200 + "\n" + "z" * 90_000})
    found = lines(project, "--format", "markdown")
    assert len("\n".join(found)) < 65_536
    assert sum(line.startswith("### ") for line in found) == 91
    assert "- + `large.md` (+2 -0)" in found
    assert any(line.startswith("<details><summary>+ <code>SKILL.md") for line in found)
    assert any(line.startswith("- + `SKILL.md` (+") for line in found)
    more = {f"skills/t{number}/SKILL.md": skill(f"t{number}", "x") for number in range(1500)}
    project.gem("more", "1.0.0", files=more)
    last = lines(project, "--format", "markdown")[-1]
    assert re.fullmatch(r"… and \d+ more changes: `skillsync diff` shows all\.", last)


def test_nothing_is_shown_as_removed_or_chosen_that_lock_would_refuse(project: Project) -> None:
    project.gem("other", "1.0.0", "one").done("lock")
    project.manifest('[providers.gem]\nsus = "~> 1.0"\nother = "*"\n')
    project.gem("sus", "2.0.0", "testing")
    result = project.run("diff")
    assert (result.code, result.out) == (3, "? testing (gem:sus): not decided before the errors are mended\n")
    assert "error[version-not-admitted]" in result.err
    assert project.run("diff", "--format", "json").json["changes"] == []
    found = project.run("diff", "--format", "markdown").out.splitlines()
    assert found[2].startswith("- ❌ `` version-not-admitted: gem:sus is installed at 2.0.0; agent-skills.toml admits")
    assert found[-1] == "Nothing is decided before the errors are mended."
    project.write({"agent-skills.toml": None}).gem("third", "1.0.0", "testing", "two")
    result = project.run("diff", "--stat")
    assert result.code == 3
    assert [line for line in result.out.splitlines() if not line.startswith(" ")] == [
        "? testing (gem:third): not decided before the errors are mended",
        "+ add two (gem:third 1.0.0)",
    ]


# On a terminal


def on_terminal(project: Project, *arguments: str, pager: str, rows: int = 10) -> str:
    """Return what a person sees who runs the program in a terminal."""

    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(project.root)
        os.environ |= {"PAGER": pager, "TERM": "xterm", "LINES": str(rows), "COLUMNS": "80", "CI": "1"}
        os.environ.pop("NO_COLOR", None)

        os.execv(sys.executable, [sys.executable, "-m", "skillsync", *arguments])  # noqa: S606  # ours
    seen = b""
    while True:
        try:
            part = os.read(fd, 4096)
        except OSError:
            break
        if not part:
            break
        seen += part
    os.waitpid(pid, 0)
    os.close(fd)
    return seen.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colour_and_a_pager(project: Project) -> None:
    project.write({f"{SKILLS}/testing/run": "#!/bin/sh\nmine\n"})
    plain = "\n".join(lines(project, "--installed")) + "\n"
    seen = on_terminal(project, "diff", "--installed", pager="sed s/^/paged:/", rows=5)
    assert "paged:\x1b[31m-mine\x1b[0m\n" in seen
    assert re.sub("paged:|\x1b\\[\\d*m", "", seen) == plain
    assert "paged" not in on_terminal(project, "diff", "--installed", pager="sed s/^/paged:/", rows=50)
    for pager in ("no-such-pager", "'unbalanced", ""):
        assert re.sub("\x1b\\[\\d*m", "", on_terminal(project, "diff", "--installed", pager=pager, rows=5)) == plain
    assert "error[skill-not-found]" in on_terminal(project, "diff", "nope", pager="cat")


def test_what_verify_finds_is_in_colour(project: Project) -> None:
    project.done("sync")
    assert "\x1b[32mok: checked 1 skill" in on_terminal(project, "verify", pager="cat")
    project.installed("testing/SKILL.md").write_text("mine")
    seen = on_terminal(project, "verify", pager="cat")
    assert f"\x1b[33mmodified: {SKILLS}/testing/SKILL.md\x1b[0m\n" in seen
    assert "\x1b[31mdrift: 1 difference" in seen


def test_a_pager_that_ends_early_is_no_error(project: Project) -> None:
    project.gem("sus", "2.0.0", "testing", files={"skills/testing/long": "x\n" * 100_000})
    assert (
        on_terminal(project, "diff", pager="head -n 1") == "\x1b[33m~ update testing (gem:sus 1.0.0 -> 2.0.0)\x1b[0m\n"
    )


class _Stream:
    def __init__(self, *, terminal: bool) -> None:
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(
    ("environ", "terminal_gets", "pipe_gets"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_who_gets_colour(environ: dict[str, str], *, terminal_gets: bool, pipe_gets: bool) -> None:
    assert terminal.has_colour(_Stream(terminal=True), environ) is terminal_gets
    assert terminal.has_colour(_Stream(terminal=False), environ) is pipe_gets


def test_colour_changes_no_word(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.gem("sus", "2.0.0", "testing")
    plain = project.run("lock", "--check")
    monkeypatch.setenv("FORCE_COLOR", "1")
    painted = project.run("lock", "--check")
    assert painted.out != plain.out
    assert re.sub("\x1b\\[\\d*m", "", painted.out) == plain.out
    assert json.loads(project.run("lock", "--check", "--format", "json").out)["version"] == 1
    assert project.run("show", "nope").err.startswith("\x1b[31merror[skill-not-found]")


class _Terminal(io.StringIO):
    """What a program takes for a terminal. A pager of its own writes to the real standard output."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("pager", "rows", "shown"),
    [
        ("sed s/^/paged:/", 2, "paged:one\npaged:two\n"),
        ("sed s/^/paged:/", 9, None),
        ("head -n 1", 2, "one\n"),
        ("no-such-pager", 2, None),
        ("'unbalanced", 2, None),
        ("", 2, None),
    ],
)
def test_a_pager_shows_what_is_longer_than_the_screen(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], pager: str, rows: int, shown: str | None
) -> None:
    monkeypatch.setenv("LINES", str(rows))
    for stream, expected in ((_Terminal(), shown), (io.StringIO(), None), (None, None)):
        monkeypatch.setattr(sys, "stdout", stream)
        assert terminal.paged(["one", "two"], {**os.environ, "PAGER": pager}) is (expected is not None)
        assert capfd.readouterr().out == (expected or "")


def test_what_the_pager_has_shown_is_not_printed_again(
    project: Project, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    project.write({f"{SKILLS}/testing/run": "#!/bin/sh\nmine\n"})
    monkeypatch.setenv("LINES", "2")
    monkeypatch.setenv("PAGER", "cat")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", seen := _Terminal())
    assert main(["diff", "--installed", "--project", str(project.root)]) == 0
    assert seen.getvalue() == ""
    assert capfd.readouterr().out.endswith("\n-mine\n+ls\n")


def test_a_refusal_is_in_the_summary_too(project: Project) -> None:
    project.write({f"{SKILLS}/testing/run": "#!/bin/sh\nmine\n"})
    assert lines(project, "--installed", "--stat") == [
        f"~ update {SKILLS}/testing (gem:sus 1.0.0)",
        "! refused as modified: only `skillsync sync --force` does it, and discards what differs",
        "    run  +1 -1  [script]",
    ]


@pytest.mark.parametrize("now", [{"a": "other\n"}, {}, {"a/b": "in a directory\n"}])
def test_a_text_that_changes_while_it_is_compared_is_not_shown(tmp_path: Path, now: dict[str, str]) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x/a").write_text("one\n")
    with open_directory(str(tmp_path), "x") as fd:
        copy = Copy(root=str(tmp_path), path="x", snapshot=snapshot(fd, "x"))
    change = Change(action=Action.ADD, skill="x", provider="gem:x", version="1", files=FileChanges(added=("a",)))
    (tmp_path / "x/a").unlink()
    write_files(tmp_path / "x", now)
    (file,) = difference(change, {}, copy.snapshot.tree, [copy]).files
    assert file.new is not None
    assert (file.new.content, file.new.is_at_hand) == (None, False)
