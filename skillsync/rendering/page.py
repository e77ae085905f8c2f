"""Differences as one HTML page that needs nothing but itself, to be read in a browser.

Invariants: pure: the same differences and problems give the same bytes, which name no time, and nothing of the machine
but what a problem names; what a package says is text that the template escapes, and the page's policy lets nothing run,
load or leave but what is here; a character that can't be seen is never in the page, its code point is; what is too long
is cut off, and that is said.
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b64encode
from collections import Counter, defaultdict
from hashlib import sha256
from importlib.resources import files
from itertools import groupby, islice, pairwise, zip_longest
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from skillsync.locking.changes import Action
from skillsync.rendering.report import change_line, counted, located
from skillsync.rendering.unified import refused, size, why
from skillsync.reviewing import lines
from skillsync.reviewing.marks import Kind, Mark, host_places, known_hosts, marks
from skillsync.schema import is_visible
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from skillsync.errors import Problem
    from skillsync.reviewing.difference import FileDifference, SkillDifference, Version
    from skillsync.reviewing.lines import Run

_LONGEST = 20_000  # lines of one file
_CHARACTERS = 10_000  # of one line
# Characters of the whole page, as they are estimated: beyond it, a browser is no pleasure.
_MOST = 32_000_000
_MARKUP = 120  # characters of markup for a line, or for a piece of one
_TOGETHER = 500  # lines of one block at most
_LONG = 100  # lines of a block that a browser lays out only when it comes in sight
_FEW = 3  # unchanged lines that are not worth being folded
# Words are compared in blocks of so many lines, and in lines of so many characters.
_COMPARED, _COMPARED_CHARACTERS = 200, 1000
_ALIKE = 0.3  # of two lines: below it, nothing is gained by what they have in common
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_TRAILING = re.compile(r"[ \t]+(?=\r?\Z)")
_TOOLS = re.compile(r"[\"']?allowed-tools[\"']?\s*:")
_FENCE = re.compile(r"---[ \t]*\r?\n?\Z")
_TAGS = range(0xE0020, 0xE007F)  # characters without a shape that spell ASCII
_KINDS = 5  # of hidden characters that are named for a file
_DONE = {
    Action.ADD: "added",
    Action.UPDATE: "updated",
    Action.REMOVE: "removed",
    Action.REPAIR: "repaired",
    Action.RECORD: "recorded",
    Action.FORGET: "forgotten",
}

Span = tuple[int, int, str]  # from and to in a line, and what it is


class Piece(Value, kw_only=False):
    """A part of a text as it is shown; `kinds` are what it is, as class names, "" for plain text."""

    text: str
    kinds: str = ""


class Line(Value):
    """A line of a file; `labels` say what deserves a look in it, `anchor` is set where something leads to it."""

    number: int
    pieces: tuple[Piece, ...]
    labels: tuple[str, ...] = ()
    anchor: str = ""
    left_out: int = 0  # characters
    is_open: bool = False  # nothing ends it


class Block(Value):
    """Lines that belong together: "change", "equal", or "folded", which are equal too."""

    kind: str
    old: tuple[Line, ...]
    new: tuple[Line, ...]

    @property
    def is_long(self) -> bool:
        """Whether a browser had better not lay it out before it is in sight."""
        return len(self.old) + len(self.new) > _LONG

    @property
    def weight(self) -> int:
        """About how many characters of the page it takes."""
        both = (*self.old, *self.new)
        return sum(_MARKUP + sum(_MARKUP * bool(one.kinds) + len(one.text) for one in line.pieces) for line in both)


class File(Value):
    """One file of a skill, as the page has it."""

    anchor: str
    path: str
    sign: str
    size: str
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    blocks: tuple[Block, ...]
    is_one_sided: bool
    left_out: str  # which lines are not there, "" if all are


class Skill(Value):
    """One change, as the page has it; `looks` are its marks, each with the anchor that it leads to."""

    anchor: str
    name: str
    title: str
    action: str
    refusal: str
    looks: tuple[tuple[str, Mark], ...]
    counts: tuple[tuple[str, int], ...]  # of marks, by kind
    notes: tuple[str, ...]
    files: tuple[File, ...]


def page(  # noqa: PLR0913  # what it shows, and what it says of it
    skills: Sequence[SkillDifference],
    *,
    title: str,
    nothing: str,
    command: str,
    problems: Sequence[Problem] = (),
    undecided: Sequence[SkillDifference] = (),
) -> str:
    """Return the whole document, in ASCII: no reader can take its bytes for another text.

    `nothing` is said where nothing differs; `command` is what shows all where something is left out. Of the `undecided`
    nothing can be said before the errors among the `problems` are mended.
    """
    style, script = _own("page.css"), _own("page.js")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["pieces"] = _pieces
    text = environment.from_string(_own("page.html")).render(
        title=title,
        nothing=nothing,
        summary=_summary(skills),
        problems=[(one, located(one)) for one in problems],
        undecided=[f"{one.change.skill} ({one.change.provider})" for one in undecided],
        skills=list(_skills(skills, command)),
        style=Markup(style),  # noqa: S704  # the package's own
        script=Markup(script),  # noqa: S704  # likewise
        style_hash=_source(style),
        script_hash=_source(script),
    )
    return text.encode("ascii", "xmlcharrefreplace").decode()


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _source(text: str) -> str:
    """Return what a Content-Security-Policy calls a style or script by."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _summary(skills: Sequence[SkillDifference]) -> list[str]:
    done = Counter(skill.change.action for skill in skills)
    changed = [file for skill in skills for file in skill.files]
    added, removed = (sum(numbers) for numbers in zip((0, 0), *map(_counted, changed), strict=True))
    refusals = [skill.name for skill in skills if skill.refusal]
    return [
        ", ".join(f"{counted(done[action], 'skill')} {word}" for action, word in _DONE.items() if done[action]),
        f"{counted(len(changed), 'file')}: {counted(added, 'line')} added, {removed} removed",
        *([f"Only with --force: {', '.join(refusals)}"] if refusals else []),
    ]


def _counted(file: FileDifference) -> tuple[int, int]:
    return lines.counted(*map(_split, (file.old, file.new)))


def _split(version: Version | None) -> list[str]:
    return lines.split(version.text or "") if version else []


def _skills(skills: Sequence[SkillDifference], command: str) -> Iterator[Skill]:
    room = _MOST
    for number, skill in enumerate(skills, 1):
        found = _skill(skill, f"s{number}", command, room)
        room -= sum(block.weight for file in found.files for block in file.blocks)
        yield found


def _skill(skill: SkillDifference, anchor: str, command: str, room: int) -> Skill:
    change, found = skill.change, marks(skill)
    known = known_hosts(skill)
    looks: list[tuple[str, Mark]] = []
    made: list[File] = []
    for number, file in enumerate(skill.files, 1):
        own = [mark for mark in found if mark.path == file.path]
        spans = _looks(file, own, known)
        one = _file(file, f"{anchor}-{number}", own, spans, f"{command} {change.skill}", room)
        room -= sum(block.weight for block in one.blocks)
        made.append(one)
        shown = {line.number for block in one.blocks for line in block.new}
        looks += [(_leads_to(mark, one.anchor, spans, shown), mark) for mark in own]
    notes = [f"{path} stays as it is" for path in change.carried]
    notes += [f"{path} goes too, which skillsync did not write" for path in change.lost]
    return Skill(
        anchor=anchor,
        name=skill.name,
        title=change_line(change, target=skill.target or ""),
        action=change.action.value,
        refusal=refused(skill.refusal) if skill.refusal else "",
        looks=tuple(looks),
        counts=tuple(sorted(Counter(mark.kind.value for mark in found).items())),
        notes=(*notes, *(() if skill.files else ("no file differs",))),
        files=tuple(made),
    )


def _leads_to(mark: Mark, anchor: str, spans: Mapping[int, Sequence[Span]], shown: set[int]) -> str:
    """Return the anchor of the line that a mark is about, or of its file."""
    of_kind = (line for line, there in spans.items() for _, _, kind in there if kind == mark.kind.value)
    line = mark.line or min(of_kind, default=0)
    return f"{anchor}-{line}" if line in shown else anchor


# What deserves a look, in the lines themselves


def _looks(file: FileDifference, own: Sequence[Mark], known: set[str]) -> dict[int, list[Span]]:
    """Return by line what deserves a look in the new text."""
    new = _split(file.new)
    kinds = {mark.kind for mark in own}
    found: defaultdict[int, list[Span]] = defaultdict(list)
    if Kind.SCRIPT in kinds and new and new[0].startswith("#!"):
        found[1].append(_whole(new[0], Kind.SCRIPT))
    if Kind.ALLOWED_TOOLS in kinds:
        for number in _tools(new):
            found[number].append(_whole(new[number - 1], Kind.ALLOWED_TOOLS))
    if Kind.HOST in kinds:
        for number, line in enumerate(new, 1):
            for start, end, host in host_places(line):
                if host not in known:
                    found[number].append((start, end, Kind.HOST.value))
    for mark in own:
        if mark.kind is Kind.LINK_OUT and mark.line:
            at = new[mark.line - 1].index(mark.detail)
            found[mark.line].append((at, at + len(mark.detail), Kind.LINK_OUT.value))
    return found


def _whole(line: str, kind: Kind) -> Span:
    return 0, len(line.rstrip("\r\n")), kind.value


def _tools(new: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of the lines of a frontmatter that `allowed-tools` stands in."""
    inside = False
    for number, line in enumerate(islice(new, 1, None), 2):
        if _FENCE.match(line):
            return
        inside = bool(_TOOLS.match(line)) or (inside and line.startswith((" ", "\t", "-", "\n", "\r")))
        if inside and line.strip():
            yield number


# Files and their lines


def _file(  # noqa: PLR0913, PLR0917  # a file, and what its skill and page know of it
    file: FileDifference,
    anchor: str,
    own: Sequence[Mark],
    spans: Mapping[int, Sequence[Span]],
    command: str,
    room: int,
) -> File:
    old, new = _split(file.old), _split(file.new)
    notes = [
        f"{word}: {why(side)}: {side.words}"
        for word, side in (("before", file.old), ("after", file.new))
        if side and side.text is None
    ]
    if not old and not new and not notes:
        notes.append("an empty file")
    blocks: list[Block] = []
    left = _LONGEST
    left_out = ""
    for block in _blocks(old, new, anchor, spans):
        left -= max(len(block.old), len(block.new))
        room -= block.weight
        if left < 0 or room < 0:
            reason = f"more than {_LONGEST:,} lines" if left < 0 else "more than a page can hold"
            left_out = f"Cut off here: {reason}. `{command}` shows all."
            break
        blocks.append(block)
    return File(
        anchor=anchor,
        path=file.path,
        sign="+" if file.old is None else "-" if file.new is None else "~",
        size=size(file),
        labels=tuple(dict.fromkeys(mark.kind.value for mark in own)),
        notes=(*notes, *_hidden(new)),
        blocks=tuple(blocks),
        is_one_sided=not old or not new,
        left_out=left_out,
    )


def _hidden(new: Sequence[str]) -> Iterator[str]:
    """Yield what there is in a text that can't be seen, by name."""
    found: Counter[str] = Counter()
    for line in new:
        text = line.removesuffix("\n").removesuffix("\r").replace("\t", "")
        if not is_visible(text):
            found.update(character for character in text if not is_visible(character))
    if found:
        named = [f"{_code(one)} {unicodedata.name(one, '')} ({times})" for one, times in sorted(found.items())]
        more = f", and {counted(len(named) - _KINDS, 'more kind')}" if len(named) > _KINDS else ""
        yield f"characters that can't be seen: {', '.join(named[:_KINDS])}{more}"


def _blocks(
    old: Sequence[str], new: Sequence[str], anchor: str, spans: Mapping[int, Sequence[Span]]
) -> Iterator[Block]:
    runs = lines.runs(old, new)
    for position, run in enumerate(runs):
        if run.tag != "equal":
            yield from _changed(run, old, new, anchor, spans)
            continue
        shown = _near(run, spans, is_first=position == 0, is_last=position == len(runs) - 1)
        at = 0
        for is_near, group in groupby(shown):
            count = len(list(group))
            kind = "equal" if is_near or count <= _FEW else "folded"
            for start in range(at, at + count, _TOGETHER):
                numbers = range(start, min(start + _TOGETHER, at + count))
                before = tuple(_line(run.start + number + 1, old[run.start + number], ()) for number in numbers)
                after = tuple(
                    _line(line, new[line - 1], spans.get(line, ()), anchor)
                    for line in (run.new_start + number + 1 for number in numbers)
                )
                yield Block(kind=kind, old=before, new=after)
            at += count


def _near(run: Run, spans: Mapping[int, Sequence[Span]], *, is_first: bool, is_last: bool) -> list[bool]:
    """Return for each of some equal lines whether it is near to what is to be read."""
    count = run.end - run.start
    near = [False] * count
    around = [line - run.new_start - 1 for line in spans if run.new_start < line <= run.new_end]
    for at in (*around, *(() if is_first else (-1,)), *(() if is_last else (count,))):
        for number in range(max(0, at - lines.CONTEXT), min(count, at + lines.CONTEXT + 1)):
            near[number] = True
    return near


def _changed(
    run: Run, old: Sequence[str], new: Sequence[str], anchor: str, spans: Mapping[int, Sequence[Span]]
) -> Iterator[Block]:
    pairs = list(zip_longest(range(run.start, run.end), range(run.new_start, run.new_end)))
    for start in range(0, len(pairs), _TOGETHER):
        before: list[Line] = []
        after: list[Line] = []
        for old_at, new_at in pairs[start : start + _TOGETHER]:
            gone: Sequence[Span] = ()
            come: Sequence[Span] = ()
            if old_at is not None and new_at is not None and len(pairs) <= _COMPARED:
                gone, come = _words(old[old_at], new[new_at])
            if old_at is not None:
                before.append(_line(old_at + 1, old[old_at], gone))
            if new_at is not None:
                there = spans.get(new_at + 1, ())
                after.append(_line(new_at + 1, new[new_at], (*come, *there), anchor))
        yield Block(kind="change", old=tuple(before), new=tuple(after))


def _words(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """Return which words of two lines differ; none where the lines have little in common."""
    if max(len(old), len(new)) > _COMPARED_CHARACTERS:
        return [], []
    before, after = _WORD.findall(old), _WORD.findall(new)
    found: tuple[list[Span], list[Span]] = [], []
    at = new_at = same = 0
    for run in lines.runs(before, after):
        end = at + sum(map(len, before[run.start : run.end]))
        new_end = new_at + sum(map(len, after[run.new_start : run.new_end]))
        if run.tag == "equal":
            same += end - at
        else:
            found[0].append((at, end, "word"))
            found[1].append((new_at, new_end, "word"))
        at, new_at = end, new_end
    return found if same >= _ALIKE * max(at, new_at) else ([], [])


def _line(number: int, line: str, spans: Sequence[Span], anchor: str = "") -> Line:
    text = line.removesuffix("\n")
    kept = text[:_CHARACTERS]
    labels = tuple(dict.fromkeys(kind for _, _, kind in spans if kind != "word"))
    return Line(
        number=number,
        pieces=tuple(_pieces(kept, spans)),
        labels=labels,
        anchor=f"{anchor}-{number}" if labels else "",
        left_out=len(text) - len(kept),
        is_open=not line.endswith("\n"),
    )


# Characters


def _pieces(text: str, spans: Iterable[Span] = ()) -> Iterator[Piece]:
    """Yield a text in pieces that are each of one kind, or of several at once."""
    events: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
    for start, end, kind in (*spans, *_unseen(text)):
        events[min(start, len(text))].append((kind, 1))
        events[min(end, len(text))].append((kind, -1))
    here: Counter[str] = Counter()
    for at, until in pairwise(sorted({0, len(text), *events})):
        for kind, step in events[at]:
            here[kind] += step
        kinds = " ".join(sorted(+here))
        part = text[at:until]
        yield Piece(_token(part) if here["hidden"] else part, kinds)


def _unseen(text: str) -> Iterator[Span]:
    """Yield where there are tabs, blanks at the end, and characters that can't be seen."""
    if found := _TRAILING.search(text):
        yield *found.span(), "blank"
    if is_visible(text):
        return
    at = 0
    for character, group in groupby(text):
        end = at + len(list(group))
        if character == "\t":
            yield from ((tab, tab + 1, "tab") for tab in range(at, end))
        elif not is_visible(character):
            yield at, end, "hidden"
        at = end


def _token(part: str) -> str:
    """Return how a character that can't be seen is shown, once or several times over."""
    character, number = part[0], ord(part[0])
    spelt = f" {chr(number - _TAGS.start + ord(' '))}" if number in _TAGS else ""
    times = f" ×{len(part)}" if len(part) > 1 else ""  # noqa: RUF001  # no letter
    return f"{_code(character)}{spelt}{times}"


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"
