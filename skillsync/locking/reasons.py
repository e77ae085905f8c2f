"""Why a skill is admitted or left out, in words: which line of the manifest decides.

Invariants: pure; says what `choose` and `Rule.admits` decided, and decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillsync.locking.choice import EVERYTHING
from skillsync.locking.manifest import FILE_NAME, matches

if TYPE_CHECKING:
    from skillsync.locking.choice import Choice
    from skillsync.locking.manifest import Rule


def reason(choice: Choice, skill: str) -> str:
    """Return what admits a skill of a package, or leaves it out."""
    rule = choice.rule
    if rule is EVERYTHING:
        return f"admitted: {FILE_NAME} has no [providers], so every provider is"
    if rule:
        return _of_rule(rule, skill)
    if choice.refusing:
        refusing = choice.refusing
        return f"left out: `{refusing.key}` admits `{refusing.requirement}`, and {choice.package.version} is installed"
    return f"left out: no entry of [providers] in {FILE_NAME} is for {choice.package.key}"


def _of_rule(rule: Rule, skill: str) -> str:
    excluding = next((pattern for pattern in rule.exclude if matches(pattern, skill)), None)
    if excluding is not None:
        return f"left out: `{rule.key}.exclude` has `{excluding}`"
    if rule.skills is None:
        return f"admitted: `{rule.key}` admits every skill" + (" that it doesn't exclude" if rule.exclude else "")
    naming = next((pattern for pattern in rule.skills if matches(pattern, skill)), None)
    if naming is None:
        return f"left out: `{rule.key}.skills` doesn't have it"
    return f"admitted: `{rule.key}.skills` has `{naming}`"
