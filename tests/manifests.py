"""Manifests as people write them: entries in every shape that TOML has for them, with comments everywhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from skillsync.locking.editing import Terms
from skillsync.schema import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    Draw = Callable[[st.SearchStrategy[Any]], Any]

NAMES = {
    "gem": ("sus", "bake", "a.b", "async-*", "*", "a b", 'q"q'),
    "pypi": ("fastapi", "fast-api", "z*"),
    "npm": ("@tanstack/db", "@tanstack/*", "sus"),
}
SKILLS = ("one", "two", "one-*", "*")
terms = st.builds(
    Terms,
    requirement=st.sampled_from(["*", ">1", ">=1, <2"]),
    skills=st.none() | st.lists(st.sampled_from(SKILLS), unique=True, max_size=3).map(tuple),
    exclude=st.lists(st.sampled_from(SKILLS), unique=True, max_size=2).map(tuple),
    path=st.none() | st.just("lib/skills"),
)
entries = st.fixed_dictionaries(
    {},
    optional={
        ecosystem: st.dictionaries(st.sampled_from(names), terms, max_size=4) for ecosystem, names in NAMES.items()
    },
)


class _Writer:
    """Writes one manifest, and decides as it goes how."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.comments = 0

    def maybe(self) -> bool:
        return bool(self.draw(st.booleans()))

    def comment(self, before: str = "") -> str:
        """A comment or none; each is another one, so that none can be lost behind its like."""
        if not self.maybe():
            return ""
        self.comments += 1
        return f"{before}# comment {self.comments} \"' = ["

    def own_line(self) -> str:
        return f"{comment}\n" if (comment := self.comment()) else self.draw(st.sampled_from(["", "\n"]))

    def text(self, text: str) -> str:
        literal = "'" not in text and self.maybe()
        return f"'{text}'" if literal else quoted(text)

    def key(self, name: str) -> str:
        bare = re.fullmatch(r"[A-Za-z0-9_-]+", name) is not None
        return name if bare and self.maybe() else self.text(name)

    def value(self, value: str | tuple[str, ...]) -> str:
        if isinstance(value, str):
            parts = value.split(", ")
            return self.array(tuple(parts)) if len(parts) > 1 and self.maybe() else self.text(value)
        return self.array(value)

    def array(self, texts: tuple[str, ...]) -> str:
        if self.maybe():
            return f"[{', '.join(map(self.text, texts))}]"
        lines = "".join(f"  {self.text(text)},{self.comment(' ')}\n" for text in texts)
        return f"[{self.comment(' ')}\n{lines}{self.own_line()}]"

    def values(self, one: Terms) -> dict[str, str]:
        found = {key: self.value(value) for key, value in one.values.items()}
        if one.requirement == "*" and self.maybe():
            found["version"] = '"*"'
        return found

    def inline(self, values: dict[str, str]) -> str:
        return f"{{ {', '.join(f'{key} = {value}' for key, value in values.items())} }}" if values else "{}"

    def entry(self, one: Terms) -> str:
        plain = one.requirement if not one.values.keys() - {"version"} else None
        return self.value(plain) if plain and self.maybe() else self.inline(self.values(one))

    def dotted(self, prefix: str, one: Terms) -> str:
        """The entry as lines of dotted keys."""
        values = self.values(one) or {"version": '"*"'}
        return "".join(
            f"{prefix}.{key} = {value}{self.comment(' ')}\n{self.own_line()}" for key, value in values.items()
        )

    def lines(self, ecosystem: dict[str, Terms], prefix: str = "") -> str:
        found = ""
        for name, one in ecosystem.items():
            key = f"{prefix}{self.key(name)}"
            found += self.own_line()
            found += self.dotted(key, one) if self.maybe() else f"{key} = {self.entry(one)}{self.comment('  ')}\n"
        return found

    def sections(self, found: dict[str, dict[str, Terms]]) -> str:
        """Headers: of an ecosystem, of an entry, in any order."""
        parts = []
        for ecosystem, rules in found.items():
            own = {name: one for name, one in rules.items() if self.maybe()}
            rest = {name: one for name, one in rules.items() if name not in own}
            if rest or self.maybe():
                parts.append(f"[providers.{ecosystem}]{self.comment(' ')}\n{self.lines(rest)}{self.own_line()}")
            for name, one in own.items():
                values = "".join(f"{key} = {value}{self.comment(' ')}\n" for key, value in self.values(one).items())
                parts.append(f"[providers.{ecosystem}.{self.key(name)}]{self.comment(' ')}\n{values}{self.own_line()}")
        if self.maybe():
            parts = self.draw(st.permutations(parts))
        head = f"[providers]{self.comment(' ')}\n" if self.maybe() or not parts else ""
        return head + "".join(parts)

    def document(self, found: dict[str, dict[str, Terms]]) -> str:
        root = self.own_line() + "".join(
            f"{line}{self.comment(' ')}\n" for line in ("version = 1", "gitignore = false")
        )
        shape = self.draw(st.sampled_from(["sections", "dotted", "inline", "inline ecosystems", "dotted ecosystems"]))
        if shape == "dotted" and any(found.values()):
            lines = "".join(self.lines(rules, f"providers.{ecosystem}.") for ecosystem, rules in found.items())
            return lines + root if self.maybe() else root + lines
        inline = (
            {
                ecosystem: self.inline({self.key(name): self.entry(one) for name, one in rules.items()})
                for ecosystem, rules in found.items()
            }
            if shape.startswith("inline")
            else {}
        )
        if shape == "inline":
            return f"{root}providers = {self.inline(inline)}{self.comment(' ')}\n"
        if shape == "inline ecosystems":
            lines = "".join(f"{key} = {value}{self.comment(' ')}\n" for key, value in inline.items())
            return f"{root}[providers]\n{lines}{self.own_line()}"
        if shape == "dotted ecosystems":
            lines = "".join(self.lines(rules, f"{ecosystem}.") for ecosystem, rules in found.items())
            return f"{root}[providers]\n{lines}"
        return root + self.sections(found)


@st.composite
def manifests(draw: Draw) -> bytes:
    """A manifest with a `[providers]`."""
    text = _Writer(draw).document(draw(entries))
    if draw(st.booleans()):
        text = text.rstrip("\n")
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return (b"\xef\xbb\xbf" if draw(st.booleans()) else b"") + text.encode()


def comments(content: bytes) -> set[bytes]:
    """The comments that `manifests` has written."""
    return set(re.findall(rb"# comment \d+", content))
