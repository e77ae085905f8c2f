"""The pictures in the documents show what the program prints today, load nothing, and are all used."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from screenshots import PICTURES, ROOT, SCENES, picture

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("name", SCENES)
def test_a_picture_is_of_what_the_program_shows(name: str) -> None:
    assert (PICTURES / f"{name}.svg").read_text(encoding="utf-8") == picture(name), "run `make screenshots`"


def test_a_picture_has_colours_and_nothing_to_load_or_run() -> None:
    for name in SCENES:
        text = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
        tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(text).iter()}  # noqa: S314  # our own file
        assert tags <= {"svg", "style", "defs", "clipPath", "rect", "g", "text", "circle", "path"}
        assert not re.findall(r"(?:href|src)=|@font-face|url\((?!#)", text)
        assert len(set(re.findall(r"fill: (#\w+)", text))) > 3


def test_every_picture_is_shown_with_its_text_and_there_is_no_other() -> None:
    shown = {
        (path.parent / name).resolve(): text
        for path in DOCUMENTS
        for text, name in re.findall(r"!\[([^\]]*)\]\(([^)]+\.svg)\)", path.read_text(encoding="utf-8"))
    }
    assert {path.resolve() for path in PICTURES.iterdir()} == set(shown)
    assert {path.stem for path in shown} == set(SCENES)
    assert all(len(text) > 20 for text in shown.values())
