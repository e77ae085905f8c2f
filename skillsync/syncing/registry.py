"""The registry, `.agent-skills.yaml`: which skills in a target directory skillsync wrote, and for whom.

Invariants: pure; names only, never paths; every scalar is its text; keys and rows that aren't ours stay as they were.
A gem's row has the packaging spec's keys, so that the Ruby tool of that spec can read the file and the other way round.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillsync import yaml_nodes
from skillsync.schema import (
    InvalidError,
    MalformedError,
    NewerError,
    decode,
    hash_fault,
    line_fault,
    name_fault,
    size_fault,
)
from skillsync.values import Value, field
from skillsync.yaml_nodes import Alias, Mapping, Node, Scalar, YamlError, compose, plain, quoted_if_needed, walk

if TYPE_CHECKING:
    from collections.abc import Mapping as Rows

FILE_NAME = ".agent-skills.yaml"
LIMIT = 3 * 1024 * 1024  # bytes that are read; of 1,000 skills there are 160 KiB
VERSION = 1
_NUMBER = "[1-9][0-9]*"
_KEYS = ("gem", "ecosystem", "package", "version", "hash")

Pairs = list[tuple[Node, Node]]
Extra = tuple[tuple[Node, Node], ...]


class Row(Value):
    """A skill that skillsync, or the Ruby tool, wrote. `hash` is of what was written; the Ruby tool notes none."""

    ecosystem: str
    package: str
    version: str | None
    hash: str | None
    extra: Extra = field(default=(), compare=False)

    @property
    def owner(self) -> str:
        """The provider, as it is written everywhere: `gem:sus`."""
        return f"{self.ecosystem}:{self.package}"


class ForeignRow(Value):
    """A row that says nothing of gem or ecosystem: another program's, never changed or dropped."""

    node: Node = field(compare=False)


class Registry(Value):
    """The whole file; an absent one is the empty registry."""

    rows: Rows[str, Row | ForeignRow] = field(default_factory=dict)
    extra: Extra = field(default=(), compare=False)


def parse(content: bytes) -> Registry:
    """Read the registry's bytes. Raises MalformedError, InvalidError, or NewerError for a format of the future."""
    try:
        root = compose(decode(content))
    except YamlError as error:
        raise MalformedError(f"it is not YAML: {error.reason}", error.line, error.column) from None
    if not isinstance(root, Mapping):
        raise MalformedError("it is not a mapping", 1)
    values = _members(root, "")
    _check_version(values.pop("version", None))
    _refuse_aliases(root)
    skills = values.pop("skills", None)
    if not isinstance(skills, Mapping):
        raise InvalidError("skills", "must be a mapping")
    rows = {name: _row(name, node) for name, node in _members(skills, "skills").items()}
    return Registry(rows=rows, extra=_extra(root, ("version", "skills")))


def _check_version(node: Node | None) -> None:
    text = node.text if isinstance(node, Scalar) else ""
    # Compared as text: a number of any length may stand there.
    if re.fullmatch(_NUMBER, text) and (len(text), text) > (len(str(VERSION)), str(VERSION)):
        raise NewerError("version", f"is {text}, and this skillsync reads up to {VERSION}")
    if text != str(VERSION):
        raise InvalidError("version", f"must be {VERSION}")


def _members(node: Mapping, path: str) -> dict[str, Node]:
    """Return a mapping's members by the text of their keys."""
    members: dict[str, Node] = {}
    for key, value in node.pairs:
        if not isinstance(key, Scalar):
            raise InvalidError(path or "the document", "has a key that is not a text")
        if key.text in members:
            raise InvalidError(f"{path}.{key.text}" if path else key.text, "is there twice")
        members[key.text] = value
    return members


def _extra(node: Mapping, known: tuple[str, ...]) -> Extra:
    return tuple((key, value) for key, value in node.pairs if isinstance(key, Scalar) and key.text not in known)


def _row(name: str, node: Node) -> Row | ForeignRow:
    path = f"skills.{name}"
    if fault := name_fault(name):
        raise InvalidError(path, f"the name {fault}")
    if not isinstance(node, Mapping):
        raise InvalidError(path, "must be a mapping")
    members = _members(node, path)
    if "gem" not in members and "ecosystem" not in members:
        return ForeignRow(node=node)
    texts = {key: _text(members[key], f"{path}.{key}") for key in _KEYS if key in members}
    if "gem" in texts and ("ecosystem" in texts or "package" in texts):
        raise InvalidError(path, "has both `gem` and `ecosystem` or `package`")
    if "gem" not in texts and "package" not in texts:
        raise InvalidError(f"{path}.package", "is missing")
    if "hash" in texts and (fault := hash_fault(texts["hash"])):
        raise InvalidError(f"{path}.hash", fault)
    return Row(
        ecosystem=texts.get("ecosystem", "gem"),
        package=texts["gem"] if "gem" in texts else texts["package"],
        version=texts.get("version"),
        hash=texts.get("hash"),
        extra=_extra(node, _KEYS),
    )


def _text(node: Node, path: str) -> str:
    if not isinstance(node, Scalar) or node.is_null:
        raise InvalidError(path, "must be a text")
    if fault := line_fault(node.text):
        raise InvalidError(path, fault)
    return node.text


def _refuse_aliases(root: Node) -> None:
    for node in walk(root):
        if isinstance(node, Alias):
            raise MalformedError("it has an alias, which skillsync would not keep", node.line, node.column)


def fault(content: bytes) -> str | None:
    """Return why the file could not be read again, None if it can."""
    # As it is written here, a line has a key and a value.
    crowded = content.count(b"\n") * 2 > yaml_nodes.MOST_NODES
    return f"of more than {yaml_nodes.MOST_NODES} keys and values" if crowded else size_fault(content, LIMIT)


def dump(registry: Registry) -> bytes:
    """Return the file's bytes: rows sorted by name, in the style of Ruby's YAML, LF.

    A scalar that YAML 1.1 would not read as text is quoted: the Ruby tool requires texts.
    """
    rows: Pairs = [(quoted_if_needed(name), _node(row)) for name, row in sorted(registry.rows.items())]
    known: Pairs = [(plain("version"), plain(str(VERSION))), (plain("skills"), Mapping(pairs=rows))]
    return yaml_nodes.dump(Mapping(pairs=[*known, *registry.extra])).encode()


def _node(row: Row | ForeignRow) -> Node:
    if isinstance(row, ForeignRow):
        return row.node
    owner = {"gem": row.package} if row.ecosystem == "gem" else {"ecosystem": row.ecosystem, "package": row.package}
    texts = {**owner, "version": row.version, "hash": row.hash}
    pairs: Pairs = [(plain(key), quoted_if_needed(text)) for key, text in texts.items() if text is not None]
    return Mapping(pairs=[*pairs, *row.extra])
