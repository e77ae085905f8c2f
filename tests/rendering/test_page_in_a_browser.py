"""The page as a person has it: in Chromium, by eye and by keyboard."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from blake3 import blake3
from playwright.sync_api import sync_playwright
from tools import need_browser

from skillsync.errors import Code, Problem, Severity
from skillsync.hashing import SCHEME, File, Link
from skillsync.locking.changes import Action, Change
from skillsync.rendering.page import page as rendered
from skillsync.reviewing.difference import FileDifference, SkillDifference, Version
from skillsync.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

EVIL = "<script>document.title='owned'</script><img src=http://127.0.0.1:9/x onerror=alert(1)>"
HEAD = "---\nname: x\ndescription: d\nallowed-tools: Read\n---\n"
BODY = "".join(f"Paragraph {number}: write the test first, and watch it fail.\n" for number in range(60))
NEW = (
    HEAD.replace("Read", "Read, Bash")
    + BODY.replace("20: write the test first", "20: write the test last").replace(
        "40: write", "40: [up](../../x) write"
    )
    + f"{EVIL}\nhttps://new.example/{'x' * 500}\n\u202etxt.exe\u202c zero\u200bwidth\n\ttab at the end \t\nno end"
)


def version(text: str | bytes, *, is_script: bool = False) -> Version:
    content = text.encode() if isinstance(text, str) else text
    entry = File(SCHEME + blake3(content).hexdigest())
    return Version(entry=entry, size=len(content), content=content, is_script=is_script)


def everything() -> list[SkillDifference]:
    """Return changes with everything that a page has to show."""
    change = Change(action=Action.UPDATE, skill="x", provider="gem:x", version="1", lost=("mine",))
    files = (
        FileDifference(path="SKILL.md", old=version(HEAD + BODY), new=version(NEW)),
        FileDifference(path="data", old=version(b"\0"), new=version(b"\0\1")),
        FileDifference(path="link", old=None, new=Version(entry=Link("data"))),
        FileDifference(path="old.md", old=version("was\n"), new=None),
        FileDifference(path="run", old=version("#!/bin/sh\nls\n"), new=version("#!/bin/sh\nls -l\n", is_script=True)),
    )
    hostile = Change(action=Action.ADD, skill="y", provider=f"gem:{EVIL}", version="1")
    added = (
        FileDifference(path=f"{EVIL}/\u200b{'y' * 200}", old=None, new=version("\n".join("text" for _ in range(300)))),
    )
    return [
        SkillDifference(change=change, files=files, target=".agents/skills", refusal=Code.MODIFIED),
        SkillDifference(change=hostile, files=added),
    ]


@pytest.fixture(scope="module")
def html() -> str:
    problem = Problem(code=Code.DUPLICATE_SKILL, message=f"twice {EVIL}", hint="x" * 300, path="x/SKILL.md", line=3)
    return rendered(
        everything(),
        title="Skills",
        nothing="nothing",
        command="skillsync diff",
        problems=[problem, replace(problem, severity=Severity.WARNING)],
        undecided=everything(),
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = need_browser()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


class Opened:
    """A page in a browser, with all that it asked for and complained of."""

    def __init__(self, page: Page, html: str, directory: Path) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        file = directory / "page.html"
        file.write_text(html)
        self.url = file.as_uri()
        page.goto(self.url)

    @property
    def focused(self) -> str:
        """The text that the focus is in, its first line."""
        return str(self.page.evaluate("document.activeElement.innerText.trim().split('\\n')[0]"))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)


@pytest.fixture
def opened(browser: Browser, html: str, tmp_path: Path) -> Iterator[Opened]:
    page = browser.new_page()
    yield Opened(page, html, tmp_path)
    page.close()


def test_nothing_is_asked_for_and_nothing_of_a_package_runs(opened: Opened) -> None:
    assert (opened.requests, opened.complaints, opened.page.title()) == ([opened.url], [], "Skills")
    assert EVIL in opened.page.inner_text("main")
    assert opened.page.locator("img").count() == 0


def test_the_policy_stops_what_got_past_the_escaping(browser: Browser, html: str, tmp_path: Path) -> None:
    page = browser.new_page()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        there = f"http://127.0.0.1:{server.getsockname()[1]}/"
        more = (
            # No frame: before Chromium asks the policy it connects to a frame's host, and then sends nothing.
            f"<script>document.title='owned'</script><script src={there}></script><img src={there} onerror=alert(1)>"
            f"<link rel=stylesheet href={there}><p id=styled style='color: red' onclick='document.title=1'>x</p>"
        )
        opened = Opened(page, html.replace("<main>", f"<main>{more}"), tmp_path)
        page.click("#styled")
        with pytest.raises(BlockingIOError):
            server.accept()  # nobody has come
    assert page.title() == "Skills"
    assert page.evaluate("getComputedStyle(styled).color") != "rgb(255, 0, 0)"
    assert sum("Content Security Policy" in complaint for complaint in opened.complaints) >= 6
    page.close()


def test_what_can_t_be_seen_can_be_seen(opened: Opened) -> None:
    token = opened.page.locator("code .hidden", has_text="U+202E")
    box = token.bounding_box()
    assert box is not None
    assert box["width"] > 30
    assert not {"\u202e", "\u200b"} & set(opened.page.inner_text("body"))


def test_keys_go_from_difference_to_difference(opened: Opened) -> None:
    page = opened.page
    total = page.locator(".change").count()
    for number, keys in enumerate("jnj", 1):
        opened.press(keys)
        assert page.inner_text("#position") == f"difference {number} of {total}"
    assert page.evaluate("document.activeElement.classList.contains('change')")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    opened.press("k", "p", "p", "p")
    assert page.inner_text("#position") == f"difference 1 of {total}"
    opened.press(*"j" * (total + 5))
    assert page.inner_text("#position") == f"difference {total} of {total}"
    top = page.evaluate("document.activeElement.getBoundingClientRect().top")
    assert 0 <= top < page.evaluate("innerHeight")
    # It is not hidden by the bar with the file's name, which stays in sight.
    assert (
        top
        >= page.evaluate(
            "document.activeElement.closest('.file').querySelector('summary').getBoundingClientRect().bottom"
        )
        - 1
    )


def test_keys_go_from_file_to_file_and_fold_them(opened: Opened) -> None:
    opened.press("]")
    assert opened.focused == "~ update .agents/skills/x (gem:x 1)"
    opened.press("]")
    assert opened.focused.startswith("~ SKILL.md")
    first = opened.page.locator(".file").first
    for key in ("Enter", "Space"):
        opened.press(key)
        assert first.get_attribute("open") is None
        opened.press("j")
        assert "was" in opened.focused + opened.page.evaluate("document.activeElement.innerText")
        opened.press("[", "[", "[", "[", key)
        assert opened.focused.startswith("~ SKILL.md")
        assert first.get_attribute("open") is not None


def test_help_is_a_key_away_and_leads_back(opened: Opened) -> None:
    opened.press("j", "?")
    assert opened.page.locator("#help").is_visible()
    opened.press("j", "Escape")
    assert not opened.page.locator("#help").is_visible()
    assert opened.page.evaluate("document.activeElement.classList.contains('change')")
    opened.page.click("#keys")
    opened.page.click("#close")
    assert not opened.page.locator("#help").is_visible()
    opened.press("Control+j")
    assert opened.page.locator("#help").is_hidden()


def test_all_that_can_be_used_is_reached_by_tab(opened: Opened) -> None:
    total = opened.page.locator("a:visible, button:visible, summary:visible").count()
    reached = set()
    for _ in range(total):
        opened.press("Tab")
        reached.add(opened.page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
        assert opened.page.evaluate("document.activeElement.matches('a, button, summary')")
    assert len(reached) == total


def test_a_mark_leads_to_its_line_in_a_file_that_was_folded(opened: Opened) -> None:
    opened.page.locator(".file > summary").first.click()
    opened.page.get_by_role("link", name="SKILL.md:46").click()
    assert "[up](../../x)" in opened.page.evaluate("document.activeElement.innerText")
    assert opened.page.locator(".file").first.get_attribute("open") is not None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everyone_can_read_it(browser: Browser, html: str, tmp_path: Path, scheme: str) -> None:
    page = browser.new_page(color_scheme="dark" if scheme == "dark" else "light")
    Opened(page, html, tmp_path)
    found = Axe().run(page).response
    rules = {rule["id"] for rule in found["passes"]}
    assert {"color-contrast", "heading-order", "region", "landmark-one-main", "summary-name"} <= rules
    assert [(rule["id"], node["html"]) for rule in found["violations"] for node in rule["nodes"]] == []
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != "rgb(255, 255, 255)"
    assert dark is (scheme == "dark")
    page.close()


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_nothing_is_wider_than_the_window(browser: Browser, html: str, tmp_path: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    Opened(page, html, tmp_path)
    wide = (
        "[...document.querySelectorAll('body *')]"
        ".filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1)"
    )
    assert page.evaluate(f"{wide}.map(e => e.outerHTML.slice(0, 100))") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    old, new = (page.locator(f".change .{side} .line").first.bounding_box() for side in ("old", "new"))
    assert old is not None
    assert new is not None
    side_by_side = old["y"] == new["y"] and old["x"] + old["width"] <= new["x"] + 1
    one_under_the_other = old["x"] == new["x"] and old["y"] + old["height"] <= new["y"] + 1
    assert (side_by_side, one_under_the_other) == (width == 1280, width < 1280)
    page.close()


def test_all_can_be_read_without_scripts_and_on_paper(browser: Browser, html: str, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    opened = Opened(page, html, tmp_path)
    page.locator(".fold > summary").first.click()
    assert page.get_by_text("Paragraph 5: write").first.is_visible()
    assert page.locator("#keys").is_hidden()
    assert opened.complaints == []
    page.emulate_media(media="print")
    assert page.get_by_text("no newline at end of file").first.is_visible()
    context.close()
