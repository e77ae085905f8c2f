"""YAML as a tree of texts with positions: no object is constructed, so no tag, alias or nesting can hurt.

Invariants: pure; one pass over the parser's events, iterative; the depth is bounded; an alias is not followed; what was
read is written again as it was, tags and quotes included.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import yaml

from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

# libyaml's where PyYAML was built with it, as all its wheels are.
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_MAX_DEPTH = 64
MOST_NODES = 160_000  # keys and values that are read; a registry has ten for a skill
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_NULL_TAG = "tag:yaml.org,2002:null"
_TEXT_TAG = "tag:yaml.org,2002:str"
# YAML 1.1 reads these as truth values, and PyYAML's resolver doesn't.
_TRUTH = frozenset("yYnN")
# What PyYAML's resolver takes for a text and Ruby's YAML doesn't: words in any case, symbols, dates and times with
# single digits, numbers with commas or a bare point; and octal numbers that are none, which Ruby quotes when it writes.
_NO_TEXT_IN_RUBY = r"""(?aisx)(?: null | yes | no | true | false | on | off | [-+]?\.inf | \.nan
    | :.*
    | -?\d{4}-(?:1[0-2]|0?[1-9])-(?:3[01]|[12]\d|0?[1-9]) (?:[T\s].*)?
    | [-+]?(?:0b[01_,]+ | 0x[\da-f_,]+ | \d[\d_,]*(?::\d\d?){0,2}(?:\.[\d_]*(?:e[-+]\d+)?)? | \.\d*(?:e[-+]\d+)?)
    | 0[0-7]*[89].*
    )"""
_SIMPLE_KEY = "while scanning a simple key"
# YAML 1.1, 5.1: the printable characters. Checked here, since the two parsers of PyYAML place this error differently.
_UNPRINTABLE = "[^\\t\\n\\r\\x20-\\x7e\\x85\\xa0-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]"
_BREAKS = dict.fromkeys(map(ord, "\t\n\r"))

# Only an escape can make one, and only PyYAML's own parser lets it.
_SURROGATE = "[\ud800-\udfff]"


class Scalar(Value):
    """A text. `style` is its quote or block mark, "" for a plain one; `tag` is what was written, "" for none."""

    text: str
    tag: str = ""
    style: str = ""
    line: int = 0
    column: int = 0

    @property
    def is_null(self) -> bool:
        """Whether it stands for nothing: by its tag, or plain and one of YAML's words for it."""
        return self.tag == _NULL_TAG or (not self.style and not self.tag and self.text in _NULLS)


class Alias(Value):
    """A reference to another node, not followed; `is_bound` tells whether one before it has the anchor."""

    anchor: str
    is_bound: bool = False
    line: int = 0
    column: int = 0


class Sequence(Value):
    """A list. `flow` tells whether it was written in brackets."""

    items: list[Node]
    tag: str = ""
    flow: bool = False
    line: int = 0
    column: int = 0


class Mapping(Value):
    """A mapping, as the pairs that were written."""

    pairs: list[tuple[Node, Node]]
    tag: str = ""
    flow: bool = False
    line: int = 0
    column: int = 0


Node = Scalar | Alias | Sequence | Mapping


class YamlError(Exception):
    """Text that is no YAML, or more of it than we take; `line` and `column` count from 1."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        """Take the reason and where it was noticed."""
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


def compose(text: str) -> Node | None:
    """Return the one document of a YAML text as nodes, or None if it is empty. Raises YamlError."""
    # What Python calls printable, YAML does; the pattern takes milliseconds to compile.
    suspect = not text.translate(_BREAKS).isprintable()
    if suspect and (found := re.search(_UNPRINTABLE, text)):
        before = text[: found.start()]
        reason = f"the character U+{ord(found[0]):04X} is not allowed"
        raise YamlError(reason, before.count("\n") + 1, len(before) - before.rfind("\n"))
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except (ValueError, OverflowError):
        # PyYAML's own parser lets this out for an escape beyond the last character.
        raise YamlError(
            "an escape stands for no character", *(_place(builder.mark) if builder.mark else (1, 1))
        ) from None
    except yaml.MarkedYAMLError as error:
        # A key without its colon is noticed one line late: the context is where the key stands.
        mark: Any = error.context_mark if error.context == _SIMPLE_KEY else error.problem_mark
        raise YamlError(error.problem or "not YAML", *_place(mark)) from None
    return builder.root


def _place(mark: Any) -> tuple[int, int]:  # noqa: ANN401  # PyYAML's two kinds of mark
    return mark.line + 1, mark.column + 1


class _Builder:
    """Nodes from events, one at a time."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self.mark: Any = None  # where the last event ended
        self._count = 0
        self._anchors: set[str] = set()
        self._open: list[Sequence | Mapping] = []
        self._keys: list[Node | None] = []

    def take(self, event: Any) -> None:  # noqa: ANN401  # PyYAML's events have no common attributes in their types
        """Take the parser's next event."""
        self.mark = event.end_mark
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.anchor:
            self._anchors.add(event.anchor)
        if isinstance(event, yaml.ScalarEvent):
            line, column = _place(event.start_mark)
            style = event.style or ""
            if not event.value.isascii() and re.search(_SURROGATE, event.value):
                raise YamlError("an escape stands for no character", line, column)
            self._add(Scalar(text=event.value, tag=event.tag or "", style=style, line=line, column=column))
        elif isinstance(event, yaml.AliasEvent):
            line, column = _place(event.start_mark)
            name = event.anchor or ""
            self._add(Alias(anchor=name, is_bound=name in self._anchors, line=line, column=column))
        elif isinstance(event, yaml.CollectionStartEvent):
            self._enter(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
            self._keys.pop()

    def _enter(self, event: Any) -> None:  # noqa: ANN401  # as above
        line, column = _place(event.start_mark)
        if len(self._open) == _MAX_DEPTH:
            raise YamlError(f"nested deeper than {_MAX_DEPTH} levels", line, column)
        tag, flow = event.tag or "", bool(event.flow_style)
        node: Sequence | Mapping
        if isinstance(event, yaml.MappingStartEvent):
            node = Mapping(pairs=[], tag=tag, flow=flow, line=line, column=column)
        else:
            node = Sequence(items=[], tag=tag, flow=flow, line=line, column=column)
        self._add(node)
        self._open.append(node)
        self._keys.append(None)

    def _add(self, node: Node) -> None:
        self._count += 1
        if self._count > MOST_NODES:
            raise YamlError(f"more than {MOST_NODES} keys and values", node.line, node.column)
        if not self._open:
            if self.root is not None:
                raise YamlError("a second document begins", node.line, node.column)
            self.root = node
            return
        parent = self._open[-1]
        if isinstance(parent, Sequence):
            parent.items.append(node)
        elif (key := self._keys[-1]) is None:
            self._keys[-1] = node
        else:
            parent.pairs.append((key, node))
            self._keys[-1] = None


def walk(root: Node) -> Iterator[Node]:
    """Go through a node and all below it, in the order of the text."""
    left = [root]
    while left:
        node = left.pop()
        yield node
        if isinstance(node, Mapping):
            left += (one for pair in reversed(node.pairs) for one in reversed(pair))
        elif isinstance(node, Sequence):
            left += reversed(node.items)


def plain(text: str) -> Scalar:
    """Return a scalar that is written as it is: a number, for instance."""
    return Scalar(text=text)


def quoted_if_needed(text: str) -> Scalar:
    """Return a text; quoted, as Ruby would quote it, if YAML 1.1 or Ruby would read it as anything else."""
    if text in _TRUTH:
        return Scalar(text=text, tag=_TEXT_TAG, style='"')
    return Scalar(text=text, tag=_TEXT_TAG, style="'" if re.fullmatch(_NO_TEXT_IN_RUBY, text) else "")


def dump(root: Node) -> str:
    """Return a document's text in the style of Ruby's YAML: `---` first, block mappings, LF. No alias in it."""
    node = _written(root)
    text = yaml.serialize(node, Dumper=_DUMPER, explicit_start=True, allow_unicode=True, width=1 << 30, line_break="\n")
    return str(text)


@cache
def _resolver() -> Any:  # noqa: ANN401  # PyYAML's has no types
    return yaml.resolver.Resolver()


def _written(node: Node, *, flow: bool = False, key: bool = False) -> yaml.Node:
    """Return PyYAML's node; without a tag it gets the one that its text has by itself, so that none is written.

    `flow` and `key` say where it stands: in brackets and as a key, nothing can't be written as nothing.
    """
    if isinstance(node, Scalar):
        if node.is_null and not node.text:
            return yaml.ScalarNode(_NULL_TAG, "null" if flow or key else "")
        by_itself = _resolver().resolve(yaml.ScalarNode, node.text, (not node.style, bool(node.style)))
        return yaml.ScalarNode(node.tag or by_itself, node.text, style=node.style or None)
    if isinstance(node, Sequence):
        items = [_written(item, flow=flow or node.flow) for item in node.items]
        return yaml.SequenceNode(node.tag or "tag:yaml.org,2002:seq", items, flow_style=node.flow)
    assert isinstance(node, Mapping)  # noqa: S101  # the caller has refused aliases
    inside = flow or node.flow
    pairs = [(_written(name, flow=inside, key=True), _written(value, flow=inside)) for name, value in node.pairs]
    # Ruby writes an empty mapping as `{}`.
    return yaml.MappingNode(node.tag or "tag:yaml.org,2002:map", pairs, flow_style=node.flow or not pairs)
