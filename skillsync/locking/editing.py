"""The manifest's text with one entry changed, and everything else as the person wrote it.

Invariants: pure; what comes out was read again and means what was asked for, and nothing else changed its meaning;
every comment stays, that of an entry which goes too, but for the line that `init` wrote above it.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Comment, InlineTable, SingleKey, Table, Trivia

from skillsync.locking.manifest import parse
from skillsync.schema import InvalidError, MalformedError, quoted
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tomlkit.container import Container
    from tomlkit.items import Item, Key

    from skillsync.discovery.environment import Ecosystem
    from skillsync.locking.manifest import Manifest, Rule

_BOM = b"\xef\xbb\xbf"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_TOKEN = re.compile(
    r'(?P<string>"""(?:\\[\s\S]|[^\\])*?"{3,5}|\'\'\'[\s\S]*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\')'
    r"|(?P<comment>#[^\r\n]*)|(?P<line>\n)|[\s\S]"
)
# A skill in the comment that `init` writes: what a person has added to that makes it the person's.
_LISTED = r"(?:[a-z0-9-]+|[^,]+ \(invalid\))"
_GONE = "skillsync takes this header out"
_MARGIN = re.compile(r"\n([ \t]*)[^\s\]]")
_CLOSE = re.compile(r"\n([ \t]*)\]$")


class Terms(Value):
    """What an entry says, whichever way it is written."""

    requirement: str = "*"
    skills: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    path: str | None = None

    @classmethod
    def of(cls, rule: Rule) -> Terms:
        """Return what a rule of the manifest says."""
        return cls(requirement=rule.requirement, skills=rule.skills, exclude=rule.exclude, path=rule.path)

    @property
    def values(self) -> dict[str, str | tuple[str, ...]]:
        """The keys of its table, in the order in which they are written."""
        found: dict[str, str | tuple[str, ...]] = {}
        if self.requirement != "*":
            found["version"] = self.requirement
        if self.skills is not None:
            found["skills"] = self.skills
        if self.exclude:
            found["exclude"] = self.exclude
        if self.path is not None:
            found["path"] = self.path
        return found

    @property
    def text(self) -> str:
        """The entry's value, as it is written where there is none yet."""
        return _entry({key: _value(value) for key, value in self.values.items()})


NONE = Terms(skills=())


class UneditableError(Exception):
    """A manifest that is valid, and written in a way that can't be changed without changing more."""


class Edit(Value):
    """What is wanted: an entry of this name (canonical, or a pattern) that says this, or none of it."""

    ecosystem: str
    name: str
    terms: Terms | None


Meaning = dict[str, dict[str, Terms]]


def meaning(manifest: Manifest) -> Meaning:
    """Return what a manifest's entries say, by ecosystem and name."""
    return {
        ecosystem: {rule.pattern: Terms.of(rule) for rule in rules}
        for ecosystem, rules in (manifest.rules or {}).items()
        if rules
    }


def admitting(content: bytes, entries: Meaning, ecosystems: Mapping[str, Ecosystem]) -> bytes:
    """Return a manifest that has no `[providers]` with one that admits these, and no others.

    An ecosystem without entries gets its table too. Raises UneditableError.
    """
    lines: list[str] = []
    for ecosystem in (name for name in ecosystems if name in entries):
        lines += ["", f"[providers.{ecosystem}]"]
        lines += [f"{_key(name)} = {terms.text}" for name, terms in sorted(entries[ecosystem].items())]
    tables = lines or ["", "# This empty table admits none.", "[providers]"]
    mark, text, ending = _taken_apart(content)
    written = _put_together(mark, text + "\n".join([*tables, ""]), ending)
    with suppress(InvalidError, MalformedError):
        found = parse(written, ecosystems)
        if found.rules is not None and meaning(found) == {name: rules for name, rules in entries.items() if rules}:
            return written
    raise UneditableError("a table of what is admitted can't be added to it")


def edited(content: bytes, edit: Edit, ecosystems: Mapping[str, Ecosystem]) -> bytes:
    """Return a manifest that has a `[providers]` with one entry changed. Raises UneditableError."""
    before = parse(content, ecosystems)
    wanted = meaning(before)
    rules = wanted.setdefault(edit.ecosystem, {})
    if rules.get(edit.name) == edit.terms:
        return content
    rules.pop(edit.name, None)
    if edit.terms:
        rules[edit.name] = edit.terms
    wanted = {name: rules for name, rules in wanted.items() if rules}
    mark, text, ending = _taken_apart(content)
    for candidate in _candidates(text, edit, ecosystems[edit.ecosystem]):
        written = _put_together(mark, candidate, ending)
        try:
            after = parse(written, ecosystems)
        except (InvalidError, MalformedError):
            continue
        others = (after.ecosystems, after.targets, after.link, after.gitignore)
        if (
            after.rules is not None
            and meaning(after) == wanted
            and others == (before.ecosystems, before.targets, before.link, before.gitignore)
        ):
            return written
    raise UneditableError(f"the entry of {edit.ecosystem}:{edit.name} is written in a way that can't be changed")


def _taken_apart(content: bytes) -> tuple[bytes, str, str]:
    """Return the mark at the beginning, the text with a last line end, and how its lines end."""
    mark = _BOM if content.startswith(_BOM) else b""
    text = content.removeprefix(_BOM).decode()
    ending = "\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n"
    if ending != "\n":
        text = text.replace(ending, "\n")
    return mark, text if text.endswith("\n") else f"{text}\n", ending


def _put_together(mark: bytes, text: str, ending: str) -> bytes:
    return mark + text.replace("\n", ending).encode() if ending != "\n" else mark + text.encode()


def _candidates(text: str, edit: Edit, ecosystem: Ecosystem) -> Iterator[str]:
    """Yield texts that may be what is wanted, the one that a person would write first: some shapes rule some out."""
    with suppress(TOMLKitError):
        changed = _in_place(text, edit, ecosystem)
        yield changed
        yield f"{changed}\n[providers]\n".lstrip("\n")
    if edit.terms:
        yield f"{text}\n[providers.{edit.ecosystem}]\n{_key(edit.name)} = {edit.terms.text}\n"


# ---------------------------------------------------------------------------------------------------------------------
# Values, as text
# ---------------------------------------------------------------------------------------------------------------------


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else quoted(name)


def _value(value: str | Sequence[str]) -> str:
    return quoted(value) if isinstance(value, str) else f"[{', '.join(map(quoted, value))}]"


def _entry(values: Mapping[str, str]) -> str:
    """Return an entry of values that are text already: a requirement alone, or a table."""
    if not values.keys() - {"version"}:
        return values.get("version", quoted("*"))
    return _inline(values)


def _inline(values: Mapping[str, str]) -> str:
    return f"{{ {', '.join(f'{key} = {value}' for key, value in values.items())} }}" if values else "{}"


def _array(raw: str, wanted: Sequence[str]) -> str:
    """Return a list of texts as it was written, with those alone that are wanted, and every comment."""
    kept: list[str] = []
    left = list(wanted)
    follows = False  # a comment that follows a text on its line stays with it
    for token in _TOKEN.finditer(raw):
        if token["line"]:
            follows = False
        elif token["string"]:
            text = str(tomlkit.value(token[0]))
            follows = text in left
            if follows:
                left.remove(text)
                kept.append(f"{token[0]},")
        elif token["comment"] and follows:
            kept[-1] += f"  {token[0]}"
        elif token["comment"]:
            kept.append(token[0])
    kept += [f"{quoted(text)}," for text in left]
    if "\n" not in raw:
        return f"[{', '.join(line.removesuffix(',') for line in kept)}]"
    margin = _MARGIN.search(raw)
    close = _CLOSE.search(raw)
    lines = "".join(f"{margin[1] if margin else '    '}{line}\n" for line in kept)
    return f"[\n{lines}{close[1] if close else ''}]"


def _comments(raw: str) -> list[str]:
    return [token[0] for token in _TOKEN.finditer(raw) if token["comment"]]


# ---------------------------------------------------------------------------------------------------------------------
# The document
# ---------------------------------------------------------------------------------------------------------------------


class _Place(Value, kw_only=False):
    """Where something stands: in the body of a table, by the key that is written there."""

    container: Container
    key: Key
    item: Item


def _places(container: Container, name: str) -> list[_Place]:
    """Return where a key stands in a table: in several parts, if headers of others lie between them."""
    return [_Place(container, key, item) for key, item in container.body if key is not None and key.key == name]


def _within(places: Sequence[_Place], name: str) -> list[_Place]:
    return [found for place in places if isinstance(place.item, Table) for found in _places(place.item.value, name)]


def _in_place(text: str, edit: Edit, ecosystem: Ecosystem) -> str:
    """Return the text with the entry changed where it stands, or added where its table is."""
    document = tomlkit.parse(text)
    providers = _places(document, "providers")
    tables = _within(providers, edit.ecosystem)
    path: tuple[str, ...] = ("providers", edit.ecosystem)
    for place in (*providers[:1], *tables[:1]):
        path = path[1:]
        if isinstance(place.item, InlineTable):
            _change_inline(place, path, edit, ecosystem)
            return tomlkit.dumps(document)
    entries = [
        _Place(table.item.value, key, item)
        for table in tables
        if isinstance(table.item, Table)
        for key, item in table.item.value.body
        if key is not None and ecosystem.canonical(key.key) == edit.name
    ]
    if not entries:
        _add(tables, edit)
    elif edit.terms is None:
        for entry in entries:
            _remove(entry, rf"# {re.escape(f'{edit.ecosystem}:{edit.name}')} \S+: {_LISTED}(?:, {_LISTED})*")
    elif isinstance(entries[0].item, Table):
        _change_table(entries, edit.terms)
    else:
        entry = entries[0]
        _replace(entry, _changed(entry.item, edit.terms))
    return tomlkit.dumps(document).replace(f"[{_GONE}]\n", "")


def _changed(item: Item, terms: Terms) -> str:
    """Return an entry's new value; what it says already stays as it is written."""
    if not isinstance(item, InlineTable):
        values = {} if item.unwrap() == "*" else {"version": item.as_string()}
        old: dict[str, Any] = {"version": item.unwrap()}
    else:
        values = {key.key: _text(inner) for key, inner in item.value.body if key is not None}
        old = item.unwrap()
    return _entry(_merged(values, old, terms))


def _merged(values: Mapping[str, str], old: Mapping[str, Any], terms: Terms) -> dict[str, str]:
    wanted = terms.values
    merged = {key: _kept(value, old[key], wanted[key]) for key, value in values.items() if key in wanted}
    return merged | {key: _value(value) for key, value in wanted.items() if key not in merged}


def _kept(raw: str, old: object, wanted: str | tuple[str, ...]) -> str:
    """Return a value's text: what was written, as far as it says what is wanted."""
    if isinstance(wanted, str):
        said = ", ".join(map(str, old)) if isinstance(old, list) else str(old)
        return raw if said in {wanted, f"{wanted}/"} else quoted(wanted)
    if old == list(wanted):
        return raw
    changed = _array(raw, wanted)
    return changed if tomlkit.value(changed).unwrap() == list(wanted) else _value(wanted)  # another order


def _text(item: Item) -> str:
    """Return an item of an inline table as it is written; dotted keys become tables."""
    if isinstance(item, Table):
        return _inline({_key(key.key): _text(inner) for key, inner in item.value.body if key is not None})
    return item.as_string()


def _change_inline(place: _Place, path: tuple[str, ...], edit: Edit, ecosystem: Ecosystem) -> None:
    """Write an inline table anew with the entry changed; `path` leads from it to the ecosystem's table."""
    _replace(place, _rendered(place.item, path, edit, ecosystem))


def _rendered(item: Item | None, path: tuple[str, ...], edit: Edit, ecosystem: Ecosystem) -> str:
    values: dict[str, str] = {}
    body = item.value.body if isinstance(item, Table | InlineTable) else ()
    inner = {key: inner for key, inner in body if key is not None}
    found = False
    for key, one in inner.items():
        name = key.as_string().strip() if not key.is_dotted() else _key(key.key)
        if path and key.key == path[0]:
            found = True
            values[name] = _rendered(one, path[1:], edit, ecosystem)
        elif not path and ecosystem.canonical(key.key) == edit.name:
            found = True
            if edit.terms:
                values[name] = _changed(one, edit.terms) if not isinstance(one, Table) else edit.terms.text
        else:
            values[name] = _text(one)
    if not found and path:
        values[path[0]] = _rendered(None, path[1:], edit, ecosystem)
    elif not found and edit.terms:
        values[_key(edit.name)] = edit.terms.text
    return _inline(values)


def _replace(place: _Place, text: str) -> None:
    """Put another value in an item's place; the comment after it stays."""
    item = tomlkit.value(text)
    trivia = item.trivia
    old = place.item.trivia
    trivia.indent, trivia.comment_ws, trivia.comment, trivia.trail = (
        old.indent,
        old.comment_ws,
        old.comment,
        old.trail,
    )
    index = next(at for at, (_key, one) in enumerate(place.container.body) if one is place.item)
    lost = Counter(_comments(place.item.as_string())) - Counter(_comments(text))
    place.container.body[index : index + 1] = [(place.key, item), *_as_lines(list(lost.elements()))]


def _add(tables: Sequence[_Place], edit: Edit) -> None:
    """Add an entry after the last one that has its line in the ecosystem's table."""
    for place in tables:
        has_lines = place.key.is_dotted() or (isinstance(place.item, Table) and not place.item.is_super_table())
        if isinstance(place.item, Table) and has_lines and edit.terms:
            _insert(place.item, edit.name, edit.terms.text)
            return


def _insert(table: Table, name: str, text: str) -> None:
    """Write a key into a table, after the last one that is there."""
    body = table.value.body
    lines = [at for at, (key, one) in enumerate(body) if key and (key.is_dotted() or not isinstance(one, Table))]
    body.insert(lines[-1] + 1 if lines else 0, (SingleKey(name), tomlkit.value(text)))


def _remove(place: _Place, generated: str = r"(?!)") -> None:
    """Take a key away; comments stay, each on a line of its own, but for the generated one above it."""
    item, body = place.item, place.container.body
    index = next(at for at, (_key, one) in enumerate(body) if one is item)
    left = list(_left(item))
    if isinstance(item, Table) and not place.key.is_dotted():
        # What is left stays where the table stood, which may be within one that has no header there: it stays a table
        # until it is text.
        item.value.body[:] = left
        item.trivia.comment = item.trivia.comment_ws = ""
        item.display_name = _GONE
    else:
        body[index : index + 1] = left
    above = body[index - 1][1] if index else None
    if isinstance(above, Comment) and re.fullmatch(generated, above.trivia.comment):
        del body[index - 1]


def _left(item: Item) -> Iterator[tuple[None, Item]]:
    """Yield what is left of something that is taken away: comments, and the blank lines of a table."""
    if isinstance(item, Table):
        yield from _as_lines([item.trivia.comment])
        for key, inner in item.value.body:
            if key is None:
                yield None, inner
            else:
                yield from _left(inner)
    else:
        yield from _as_lines([*_comments(item.as_string()), item.trivia.comment])


def _as_lines(comments: Sequence[str]) -> Iterator[tuple[None, Item]]:
    for comment in comments:
        if comment:
            yield None, Comment(Trivia(indent="", comment_ws="", comment=comment, trail="\n"))


def _change_table(parts: Sequence[_Place], terms: Terms) -> None:
    """Change the keys of an entry that has a table of its own, or one made of dotted keys."""
    wanted = terms.values or {"version": "*"}
    tables = [part.item for part in parts if isinstance(part.item, Table)]
    for place in [_Place(table.value, key, item) for table in tables for key, item in table.value.body if key]:
        name = place.key.key
        if name not in wanted:
            _remove(place)
            continue
        value = wanted.pop(name)
        text = _kept(place.item.as_string(), place.item.unwrap(), value)
        if text != place.item.as_string():
            _replace(place, text)
    for name, value in wanted.items():
        _insert(tables[0], name, _value(value))
