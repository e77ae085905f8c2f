"""Files of a skill that look like scripts and may not run.

Invariants: pure; what the skill's own texts say how to run, or import, runs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillsync.checking.offer import MARKDOWN, fixed, lacks_bit, names_program, problem
from skillsync.errors import Code, Problem, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillsync.checking.offer import Offer, Shipped
    from skillsync.snapshot import Snapshot

# What runs a script by its name's ending needs no `#!`; such a file in `scripts/` may be meant to be imported.
_SCRIPTS = (".bash", ".js", ".mjs", ".pl", ".py", ".rb", ".sh", ".ts", ".zsh")
_IMPORT = r"(?m)^.*\b(?:import|from|require|source)\b.*$"
# What runs by itself without `#!`: ELF, Mach-O, Windows.
_BINARIES = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ")


def problems(offer: Offer, shipped: Shipped, snapshot: Snapshot) -> Iterator[Problem]:
    """Yield the files that look like scripts and may not run."""
    skill, unexplained = shipped.found, _unexplained(shipped, snapshot)
    for path, facts in sorted(snapshot.facts.items()):
        start, severity = shipped.texts.get(path, b""), Severity.WARNING
        if lacks_bit(path, facts, start):
            text, hint = "begins with `#!`, and its executable bit is not set", fixed(offer, "sets it")
        elif facts.executable and not names_program(start) and not start.startswith(_BINARIES):
            text = f"is executable, and does not begin with `#!`{' and the path of a program' if facts.script else ''}"
            hint = "run `chmod -x` on it; or, if it is to be run, begin it with `#!`, and the program that runs it"
        elif path in unexplained:
            severity, text = Severity.NOTE, "has neither `#!` nor an executable bit"
            hint = "begin it with `#!`, and the program that runs it; or say in SKILL.md how it is run"
        else:
            continue
        place = f"{skill.path}/{path}"
        yield problem(offer.package, Code.NOT_EXECUTABLE, place, text, severity=severity, hint=hint, skill=skill.name)


def _unexplained(shipped: Shipped, snapshot: Snapshot) -> set[str]:
    """Return the files in `scripts/` that neither say what runs them, nor the skill's texts: scripts import some."""
    names = {
        path.removeprefix("scripts/"): path
        for path, facts in snapshot.facts.items()
        if re.fullmatch(r"scripts/[^/_][^/]*", path)
        and path.endswith(_SCRIPTS)
        and not (facts.script or facts.executable)
    }
    known: set[str] = set()
    for path, content in shipped.texts.items() if names else ():
        text = content.decode(errors="replace")
        if path.lower().endswith(MARKDOWN):
            known |= {word for one in re.finditer(r"[\w.-]+", text) if (word := one[0].strip(".")) in names}
        else:
            imported = {word for line in re.findall(_IMPORT, text) for word in re.findall(r"[\w-]+", line)}
            known |= {name for name in names if name.rpartition(".")[0] in imported}
    return {path for name, path in names.items() if name not in known}
