"""The documents lead where they say: every link to a file is to one that is there, and to a heading that it has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def prose(path: Path) -> str:
    """A document without its blocks."""
    return re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """The names of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", prose(path)) if "://" not in link]
    for link in links:
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.parent.name == "docs"], ids=lambda path: path.name)
def test_a_bar_in_a_table_is_read_alike_on_a_forge_and_on_the_site(path: Path) -> None:
    """In code, `\\|` is a bar to a forge, and two characters to the site: `<code>` with `&#124;` is one to both."""
    assert "\\|" not in prose(path)
