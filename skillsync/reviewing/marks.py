"""What in a change deserves a look before it is approved: what runs, what it may do, and where it leads.

Invariants: pure; a mark is no verdict: nothing here stops anything; what can't be told is marked, not passed over.
"""

from __future__ import annotations

import posixpath
import re
from enum import Enum
from typing import TYPE_CHECKING
from urllib.parse import unquote

from skillsync.discovery.skill import value
from skillsync.hashing import SKILL_FILE
from skillsync.hidden import is_plain, summary
from skillsync.reviewing.difference import LARGE
from skillsync.values import Value, replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillsync.reviewing.difference import FileDifference, SkillDifference, Version

_HOST = r"://(?:[^\s/@]*@)?([^\s/?#:\"'`<>()\[\]{}\\|,;]+)"
# `](target`, `](<target>`, `[name]: target`, and the attributes of HTML's links.
_TARGET = (
    r"(?i)\]\([ \t]*(?:<([^<>]*)>|([^\s()<>]+))"
    r"|^ {0,3}\[[^\[\]]+\]:[ \t]*(?:<([^<>]*)>|(\S+))"
    r"|\b(?:href|src)[ \t]*=[ \t]*[\"']?([^\"'\s>]+)"
)
_SCHEME = r"(?i)[a-z][a-z0-9+.-]+:"
_MARKDOWN = (".md", ".markdown", ".mdx")
# The machine itself, and what RFC 2606 keeps for examples: nobody can be behind these.
_NOBODY = r"(?:.*\.)?(?:localhost|example\.(?:com|net|org))|127(?:\.\d{1,3}){3}|0\.0\.0\.0"
_MANY = 5


class Kind(Enum):
    """What deserves a look."""

    SCRIPT = "script"
    ALLOWED_TOOLS = "allowed-tools"
    HOST = "new-host"
    LARGE = "large"
    LINK_OUT = "link-out"
    HIDDEN = "hidden-characters"


class Mark(Value):
    """One thing to look at, in a file; `detail` says what it is, "" where the kind says all."""

    kind: Kind
    path: str
    detail: str = ""
    line: int | None = None

    @property
    def place(self) -> str:
        """Where it is: the path, and the line if it is about one."""
        return f"{self.path}:{self.line}" if self.line else self.path

    @property
    def words(self) -> str:
        """The mark as it is shown."""
        return f"{self.kind.value}: {self.detail}" if self.detail else self.kind.value


def marks(skill: SkillDifference) -> list[Mark]:
    """Return what deserves a look in what is added or changed, by path; a new host where it is first."""
    known = known_hosts(skill)
    is_known = all(file.old is None or file.old.is_at_hand for file in skill.files)
    found: list[Mark] = []
    for file in skill.files:
        if file.new:
            fresh = [(start, host) for start, _, host in host_places(file.new.text or "") if host not in known]
            found += _marks(file, file.new, fresh)
            # Once is enough: many skills name their documentation's host in each file.
            known.update(host for _, host in fresh)
    return found if is_known else [_in_doubt(mark) if mark.kind is Kind.HOST else mark for mark in found]


def _in_doubt(mark: Mark) -> Mark:
    """Say of hosts that some of the old texts, which may have them, are not at hand."""
    return replace(mark, detail=f"{mark.detail} (before: not known)")


def known_hosts(skill: SkillDifference) -> set[str]:
    """Return the hosts that the files of a change had before: others are new."""
    return {host for file in skill.files if file.old for host in hosts(file.old.text or "")}


def _marks(file: FileDifference, new: Version, places: list[tuple[int, str]]) -> Iterator[Mark]:
    """Yield what deserves a look in a file; `places` are those of new hosts in its text."""
    path = file.path
    if new.is_script:
        yield Mark(kind=Kind.SCRIPT, path=path)
    if path == SKILL_FILE and (tools := _tools(file, new)):
        yield Mark(kind=Kind.ALLOWED_TOOLS, path=path, detail=tools)
    if new.size is not None and new.size > LARGE:
        yield Mark(kind=Kind.LARGE, path=path, detail=f"{new.size / LARGE:.1f} MiB")
    text = new.text or ""
    if places:
        fresh = list(dict.fromkeys(host for _, host in places))
        more = f" and {len(fresh) - _MANY} more" if len(fresh) > _MANY else ""
        line = text.count("\n", 0, places[0][0]) + 1
        yield Mark(kind=Kind.HOST, path=path, detail=", ".join(fresh[:_MANY]) + more, line=line)
    if not is_plain(new.content or b"") and (found := summary(text)):
        # `lock` refuses them, unless the manifest accepts those of the provider, today's and later ones.
        yield Mark(kind=Kind.HIDDEN, path=path, detail=str(found), line=found.first.line if found.first else None)
    if path.lower().endswith(_MARKDOWN):
        for line, target in leaving(path, text):
            yield Mark(kind=Kind.LINK_OUT, path=path, detail=target, line=line)


def _tools(file: FileDifference, new: Version) -> str:
    """Return what the skill asks to be allowed, if that is new or other than before."""
    now = value(new.content or b"", "allowed-tools")
    if file.old is None:
        return now
    if file.old.content is None:
        return now and f"{now} (before: not known)"
    before = value(file.old.content, "allowed-tools")
    return f"{before or 'none'} -> {now or 'none'}" if before != now else ""


def hosts(text: str) -> list[str]:
    """Return the hosts of the URLs in a text, in their order; those in other alphabets as the network has them."""
    return list(dict.fromkeys(host for _, _, host in host_places(text)))


def host_places(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield where in a text a URL names its host, from and to, and the host; one that nobody can be behind is none."""
    for found in re.finditer(_HOST, text):
        host = _ascii(found[1].rstrip(".").lower())
        if not re.fullmatch(_NOBODY, host):
            yield *found.span(1), host


def _ascii(host: str) -> str:
    try:
        return host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return host


def leaving(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield line and target of each link of Markdown in a file that leads to a file outside of the skill.

    `path` is the file's, relative to the skill's directory.
    """
    yield from ((number, target) for number, target in links(text) if leaves(path, target))


def links(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and target of each link of Markdown in a text.

    A parser of Markdown was rejected: it takes seconds for the worst 64 KiB, and passes over what stands in a block of
    code, which an agent follows too.
    """
    for number, line in enumerate(text.split("\n"), 1):
        # Every link has one of these; the pattern takes many times as long to find nothing in a line.
        if "](" in line or "]:" in line or "=" in line:
            targets = (next(filter(None, found), "") for found in re.findall(_TARGET, line))
            yield from ((number, target) for target in dict.fromkeys(targets))


def leaves(path: str, target: str) -> bool:
    """Whether the target of a link in a file is a file outside of the skill."""
    plain = _plain(target)
    if plain.lower().startswith("file:") or plain.startswith(("/", "~")) or re.match("[A-Za-z]:/", plain):
        return not plain.startswith("//")  # that is a host
    return not re.match(_SCHEME, plain) and _joined(path, plain).split("/")[0] == ".."


def inside(path: str, target: str) -> str | None:
    """Return which path in the skill's directory a link in a file leads to; None where it leads to none, or itself."""
    plain = _plain(target)
    is_elsewhere = not plain or plain.startswith("//") or re.match(_SCHEME, plain) or leaves(path, target)
    return None if is_elsewhere else _joined(path, plain)


def _plain(target: str) -> str:
    """Return a target's path, as the file system knows it."""
    return unquote(re.split("[#?]", target, maxsplit=1)[0]).replace("\\", "/")


def _joined(path: str, plain: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), plain))
