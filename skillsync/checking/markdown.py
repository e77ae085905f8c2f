"""The links in a text of Markdown, as CommonMark has them: none in code or in a comment, none behind a backslash.

Invariants: pure; time grows with the text's length, up to seconds for `LIMIT` bytes that are made to last, which is why
callers pass no more; a target is as it was written, less escapes and entities.
"""

from __future__ import annotations

import html
import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

LIMIT = 128 * 1024
# Every link has one of these; the parser takes many times as long to find none, and to be loaded.
_SIGN = r"(?i)\]\(|\]:|\b(?:href|src)\b"
_FRONTMATTER = re.compile(r"\A\ufeff?---[ \t]*\n(?:.*\n)*?---[ \t]*$", re.MULTILINE)
_TAG = re.compile(r"<[a-z][^<>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""\b(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
# Of the kinds of token that lead anywhere: the attribute with the target.
_TARGETS = {"link_open": "href", "image": "src"}


def may_link(text: str) -> bool:
    """Whether a text can have a link."""
    return bool(re.search(_SIGN, text))


def links(text: str) -> list[tuple[int, str]]:
    """Return line and target of each link, image and definition of a link's target, by line; none in frontmatter."""
    text = re.sub("\r\n?", "\n", text)
    text = _FRONTMATTER.sub(lambda found: "\n" * found[0].count("\n"), text, count=1)
    known: dict[str, dict[str, dict[str, str | list[int]]]] = {}
    found: list[tuple[int, str]] = []
    for block in _parser().parse(text, known):
        first = block.map[0] + 1 if block.map else 1
        found += _in_html(first, block.content) if block.type == "html_block" else _in_line(first, block)
    return sorted({*found, *_defined(known.get("references", {}))})


def _in_line(line: int, block: Token) -> Iterator[tuple[int, str]]:
    """Yield the links of a paragraph or a title that begins on a line, those that name a target by a label left out."""
    last = 0
    for token in block.children or ():
        if "at" in token.meta:
            line += block.content.count("\n", last, token.meta["at"])
            last = token.meta["at"]
        if token.type == "html_inline":
            yield from _in_html(line, token.content)
        elif token.type in _TARGETS and "label" not in token.meta:
            yield line, str(token.attrs[_TARGETS[token.type]])


def _in_html(line: int, content: str) -> Iterator[tuple[int, str]]:
    """Yield what the tags of HTML lead to; comments have none."""
    content, last = _uncommented(content), 0
    for tag in _TAG.finditer(content):
        line += content.count("\n", last, tag.start())
        last = tag.start()
        yield from ((line, html.unescape("".join(found))) for found in _ATTRIBUTE.findall(tag[0]))


def _uncommented(content: str) -> str:
    """Return HTML with nothing but line ends in the place of its comments."""
    first, *rest = content.split("<!--")
    found = [first]
    for part in rest:
        comment, end, after = part.partition("-->")
        found += ["\n" * comment.count("\n"), after if end else ""]
    return "".join(found)


def _defined(references: dict[str, dict[str, str | list[int]]]) -> Iterator[tuple[int, str]]:
    """Yield the targets that links name by a label; to most readers, `[^1]: …` is a footnote."""
    for label, one in references.items():
        place, target = one["map"], one["href"]
        if not label.startswith("^") and isinstance(place, list) and isinstance(target, str):
            yield place[0] + 1, target


@cache
def _parser() -> MarkdownIt:
    """Return a parser for what links depend on."""
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import html_inline, image, link

    class Parser(MarkdownIt):
        """Takes every target for one, and leaves it as it is."""

        def validateLink(self, url: str) -> bool:  # noqa: ARG002, N802  # the library's name
            return True

        def normalizeLink(self, url: str) -> str:  # noqa: N802  # likewise
            return url

    parser = Parser("commonmark", {"store_labels": True})
    parser.disable(["emphasis", "balance_pairs", "fragments_join", "text_join"])
    for rule in (link, image, html_inline):
        parser.inline.ruler.at(rule.__name__, _placed(rule))
    return parser


def _placed(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Return a rule of the parser that also notes where in its block a token begins, which tokens don't tell."""

    def parse(state: StateInline, silent: bool) -> bool:  # noqa: FBT001  # the library's form
        at, before = state.pos, len(state.tokens)
        is_one = rule(state, silent)
        for token in state.tokens[before:]:
            if token.type != "text":
                token.meta.setdefault("at", at)
                break
        return is_one

    return parse
