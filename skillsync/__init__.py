"""A lockfile for agent skills that come inside packages.

manifest ─┐
          ├─ resolve ──> lock ─┐                              skillsync lock
discovery ┘                    │
                    registry ──┼─ plan ──> report             skillsync verify   (stops here: it can't write)
                    snapshot ──┘     └───> apply              skillsync sync

For programs: `lock`, `sync` and `verify` do what the commands of these names do, with a `Project` (`find_project`), and
return what they came to as a value; what stops one is a `SkillsyncError` (docs/api.md).
"""

__version__ = "0.1.0"
NAME_AND_VERSION = f"skillsync {__version__}"

TYPE_CHECKING = False  # as type checkers know it; `typing` takes longer to load than all that `--version` does
if TYPE_CHECKING:
    from skillsync.commands.lock import Locked as Locked
    from skillsync.commands.lock import lock as lock
    from skillsync.commands.project import Project as Project
    from skillsync.commands.project import find_project as find_project
    from skillsync.commands.sync import Mode as Mode
    from skillsync.commands.sync import Synced as Synced
    from skillsync.commands.sync import sync as sync
    from skillsync.commands.verify import Scope as Scope
    from skillsync.commands.verify import Verified as Verified
    from skillsync.commands.verify import verify as verify
    from skillsync.errors import ExitCode as ExitCode
    from skillsync.errors import Problem as Problem
    from skillsync.errors import SkillsyncError as SkillsyncError

# Where each public name is: loaded when it is asked for, since a command needs one of them.
_PUBLIC = {
    "ExitCode": "skillsync.errors",
    "Locked": "skillsync.commands.lock",
    "Mode": "skillsync.commands.sync",
    "Problem": "skillsync.errors",
    "Project": "skillsync.commands.project",
    "Scope": "skillsync.commands.verify",
    "SkillsyncError": "skillsync.errors",
    "Synced": "skillsync.commands.sync",
    "Verified": "skillsync.commands.verify",
    "find_project": "skillsync.commands.project",
    "lock": "skillsync.commands.lock",
    "sync": "skillsync.commands.sync",
    "verify": "skillsync.commands.verify",
}


if not TYPE_CHECKING:  # a checker would take every name for one of them

    def __getattr__(name: str) -> object:
        """Load a public name. Raises AttributeError for any other."""
        from importlib import import_module

        if name not in _PUBLIC:
            message = f"skillsync has no {name!r}"
            raise AttributeError(message)
        found: object = getattr(import_module(_PUBLIC[name]), name)
        globals()[name] = found
        return found
