"""The block of `.gitignore` that keeps installed skills out of version control.

Invariants: pure; lines outside the block are the user's and stay byte for byte; what is project-authored stays
trackable, which the packaging spec's "exclude .agents/" would not leave it.
"""

from __future__ import annotations

import re

FILE_NAME = ".gitignore"
# Git knows no other end of a line than LF, and a CR before it.
_LINE = r".*\n|.+"
_BEGIN = "# skillsync"
_END = "# skillsync end"
# Skillsync's own files, this one included: all of it can be made again from lock and packages.
_OWN = ("/.agent-skills.yaml", "/.gitignore", "/.skillsync/")


def updated(text: str, owned: tuple[str, ...], *, enabled: bool, links: bool = False) -> str:
    """Return the file's text with the block for the owned skills where it was, or without one.

    `links` says that they are links, which git's pattern for a directory doesn't match. "" means that nothing is left,
    and the file goes.
    """
    before, after = _around_block(re.findall(_LINE, text))
    if not enabled:
        return "".join(before + after)
    if before and not before[-1].endswith("\n"):
        before[-1] += "\n"
    block = [_BEGIN, *_OWN, *(f"/{name}" if links else f"/{name}/" for name in owned), _END]
    return "".join([*before, *(f"{line}\n" for line in block), *after])


def _around_block(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return the user's lines before the first block and after it; a block without its end ends with its entries."""
    before: list[str] = []
    after: list[str] = []
    kept = before
    inside = False
    for line in lines:
        text = line.rstrip("\r\n")
        if text == _BEGIN:
            inside, kept = True, after
        elif inside and text == _END:
            inside = False
        elif not (inside and text.startswith("/")):
            inside = False
            kept.append(line)
    return before, after
