"""Links in a skill's Markdown that lead to what a consumer has not got.

Invariants: pure; as much is read of a package as takes seconds, and what is not is told.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillsync.checking import markdown
from skillsync.checking.offer import MARKDOWN, problem
from skillsync.errors import Code, Problem, Severity
from skillsync.hashing import SKILL_FILE, parents
from skillsync.reviewing.marks import inside, leaves

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from skillsync.checking.offer import Offer, Shipped
    from skillsync.snapshot import Snapshot

# Of a package's Markdown that is looked at for links.
_MOST_TEXT = 4 * 1024 * 1024
# Of targets that stand for others; and words that stand for none but themselves.
_EXAMPLE = re.compile(r"[{}<>$*…`|]|\.\.\.")
_WORD = re.compile(r"[^./#?]+")
_NAMES = {
    *("AUTHORS", "CHANGELOG", "CONTRIBUTING", "COPYING", "LICENCE", "LICENSE", "NOTICE", "README"),
    *("Dockerfile", "Gemfile", "Makefile", "Rakefile"),
}


def problems(offer: Offer) -> Iterator[Problem]:
    """Yield the links of a package's skills that lead to what a consumer has not got, and the texts not looked at."""
    taken = 0
    for shipped in offer.skills:
        there = _there(shipped.snapshot) if shipped.snapshot else set()
        for path, content in shipped.texts.items():
            text = content.decode(errors="replace")
            if not path.lower().endswith(MARKDOWN) or not markdown.may_link(text):
                continue
            # Some texts are made to take long.
            if len(content) > markdown.LIMIT:
                yield _unlooked(offer, shipped, path, f"it has more than {markdown.LIMIT >> 10} KiB")
            elif taken + len(content) > _MOST_TEXT:
                yield _unlooked(offer, shipped, path, f"the package has more than {_MOST_TEXT >> 20} MiB of Markdown")
            else:
                taken += len(content)
                yield from _of_text(offer, shipped, path, text, there)


def _of_text(offer: Offer, shipped: Shipped, path: str, text: str, there: AbstractSet[str]) -> Iterator[Problem]:
    """Yield the links to what a consumer has not got; `there` is what the skill has, as `_there` returns it."""
    skill, place, severity = shipped.found, f"{shipped.found.path}/{path}", Severity.WARNING
    shared = there - shipped.unshared  # once, as there may be as many links as files
    for line, target in markdown.links(text):
        if leaves(path, target):
            code, what = Code.LINK_OUT, "is outside of the skill"
            hint = "put what it leads to into the skill, or link to a URL: a consumer has that directory alone"
        elif _is_broken(path, target, there):
            code, what, hint = Code.LINK_BROKEN, "is not there", "add it, or correct the link"
        elif _is_broken(path, target, shared):
            code, what, hint = Code.LINK_BROKEN, "git ignores: nobody else has it", "`git add --force` it"
        else:
            continue
        message = f"links to `{target}`, which {what}"
        yield problem(offer.package, code, place, message, severity=severity, hint=hint, skill=skill.name, line=line)


def _there(snapshot: Snapshot) -> set[str]:
    """Return the paths that a link may lead to; a directory with and without a slash at its end."""
    directories = {".", *(above for path in snapshot.tree for above in parents(path))}
    return {*snapshot.tree, *directories, *(f"{path}/" for path in directories)}


def _is_broken(path: str, target: str, there: AbstractSet[str]) -> bool:
    """Whether a link in a file leads to nothing, from the file and from the skill's directory: agents read both."""
    plain = re.split("[#?]", target, maxsplit=1)[0]
    if _EXAMPLE.search(target) or (_WORD.fullmatch(plain) and plain not in _NAMES):
        return False
    end = "/" if plain.endswith("/") else ""
    places = {inside(path, target), inside(SKILL_FILE, target)} - {None}
    return bool(places) and not any(f"{place}{end}" in there for place in places)


def _unlooked(offer: Offer, shipped: Shipped, path: str, reason: str) -> Problem:
    skill = shipped.found
    text = f"is not looked at for links: {reason}"
    severity, place, hint = Severity.NOTE, f"{skill.path}/{path}", "look at them yourself"
    return problem(offer.package, Code.LINK_BROKEN, place, text, severity=severity, hint=hint, skill=skill.name)
