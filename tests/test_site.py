"""The documentation as a site: it is built without a warning, leads where it says, and loads nothing from elsewhere.

What the pages say is held by other tests; that they read well as plain files, by tests/test_documents.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import sync_playwright
from tools import need_browser, need_python_tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[1]
CONFIG = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]


def build(directory: Path, extra: str = "") -> tuple[int, str, Path]:
    """Build a copy of the site with a text at the end of its first page; return code, output and the site."""
    shutil.copytree(ROOT / "docs", directory / "docs")
    shutil.copy(ROOT / "zensical.toml", directory)
    with (directory / "docs/index.md").open("a", encoding="utf-8") as file:
        file.write(extra)
    program = need_python_tool("zensical")
    command = (program, "build", "--strict", "--clean")
    environ = os.environ | {"NO_COLOR": "1"}
    done = subprocess.run(command, cwd=directory, env=environ, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout + done.stderr, directory / CONFIG["site_dir"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    code, output, site = build(tmp_path_factory.mktemp("site"))
    assert (code, "No issues found" in output) == (0, True), output
    return site


class Links(HTMLParser):
    """What a page leads to, what it loads, and the places in it that can be led to."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.leads: set[str] = set()
        self.loads: set[str] = set()
        self.places: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.places.add(value or "")
            elif name == "href" and tag == "a":
                self.leads.add(value or "")
            elif name in {"href", "src", "srcset", "data", "poster", "action"}:
                self.loads.add(value or "")


def pages(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from pages(value) if isinstance(value, list) else [value]


def test_every_page_is_in_the_navigation_once() -> None:
    documents = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))
    assert sorted(pages(CONFIG["nav"])) == documents


@pytest.mark.parametrize("link", ["[x](nowhere.md)", "[x](hash.md#nowhere)", "[x](#nowhere)"])
def test_a_link_to_nowhere_stops_the_build(link: str, tmp_path: Path) -> None:
    code, output, _ = build(tmp_path, f"\n{link}\n")
    assert (code, "1 issue found" in output) == (1, True)


def test_every_link_leads_to_a_file_and_a_place_that_are_there(site: Path) -> None:
    found = {file: Links(file) for file in site.glob("*.html") if file.name != "404.html"}
    assert len(found) == len(list(pages(CONFIG["nav"])))
    for file, links in found.items():
        for link in links.leads | links.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            assert target.is_file(), f"{file.name}: {link}"
            if parts.fragment and target.suffix == ".html":
                assert unquote(parts.fragment) in found[target].places, f"{file.name}: {link}"


def test_no_page_names_anything_to_load_from_elsewhere(site: Path) -> None:
    for file in site.rglob("*.html"):
        assert not {link for link in Links(file).loads if urlsplit(link).netloc}, file.name
    for file in site.rglob("*.css"):
        text = file.read_text(encoding="utf-8")
        assert "@import" not in text
        assert not {part for part in text.split("url(")[1:] if part.lstrip("\"'").startswith(("http", "//"))}


# In a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = need_browser()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_asks_for_nothing_from_elsewhere_and_nothing_is_out_of_reach(
    site: Path, browser: Browser, scheme: str
) -> None:
    context = browser.new_context(color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for name in ("index", "commands", "spec"):
        page.goto((site / f"{name}.html").as_uri())
        for width in (360, 1400):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert asked
    assert {urlsplit(url).scheme for url in asked} <= {"file", "data", "blob"}
    context.close()
