"""Each command's examples, and the topics of `skillsync help`: the one table for --help, the man page and completion.

Invariants: constants alone, since every run that parses arguments imports them.
"""

from __future__ import annotations

# What each is about, in the order in which they are listed; the texts are in topics/.
TOPICS = {
    "manifest": "agent-skills.toml: which packages may put which skills where",
    "lock": "agent-skills.lock: the skills that were approved",
    "registry": "which installed skills are skillsync's",
    "targets": "where skills go, and other agents' directories",
    "conflicts": "what is refused, and what settles it",
    "exit-codes": "what scripts can rely on",
    "ci": "sync and verify in a job",
}

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "init": (
        ("skillsync init", "then cut agent-skills.toml down"),
        ("skillsync init --python .venv", "this environment's Python packages"),
    ),
    "list": (
        ("skillsync list", "what the packages ship, and its state"),
        ("skillsync list --verify", "and which copies were modified"),
        ("skillsync list --format json", "for programs"),
    ),
    "show": (
        ("skillsync show ruby-testing", "one skill: files, text, and why"),
        ("skillsync show gem:sus", "all skills of one provider"),
    ),
    "allow": (
        ("skillsync allow gem:sus", "every skill, any version"),
        ('skillsync allow pypi:fastapi --version ">=0.115"', "in these versions"),
        ("skillsync allow gem:bake --skill bake-test", "this skill of it"),
        ('skillsync allow "npm:@tanstack/*"', "a pattern"),
    ),
    "deny": (
        ("skillsync deny gem:bake", "no skill of it"),
        ("skillsync deny gem:bake --skill bake-old", "this skill of it"),
    ),
    "lock": (
        ("skillsync lock", "pin what is installed and admitted"),
        ("skillsync lock --only pypi:fastapi", "all others stay as they are locked"),
        ("skillsync lock --check", "in CI: is the lock up to date?"),
    ),
    "diff": (
        ("skillsync diff", "what lock would pin"),
        ("skillsync diff ruby-testing --stat", "of one skill, how much"),
        ("skillsync diff --installed", "what sync would write"),
        ("skillsync diff --html skills.html", "as a page for a browser"),
    ),
    "sync": (
        ("skillsync sync", "bring the target directories to the lock"),
        ("skillsync sync --dry-run", "see what it would do"),
        ("skillsync sync --force", "discard changes to installed skills"),
    ),
    "verify": (
        ("skillsync verify", "lock, disk and packages"),
        ("skillsync verify --scope installed", "needs no packages"),
        ("skillsync verify --format github", "annotations in a pull request"),
    ),
    "check": (
        ("skillsync check .", "a gem, Python or npm source tree"),
        ("skillsync check . pkg/kelp-1.0.0.gem", "and what was built of it"),
        ("skillsync check . --build", "and what its own build makes of it"),
        ("skillsync check . --fix", "mend what is mechanical"),
    ),
    "help": (
        ("skillsync help sync", "a command's --help"),
        ("skillsync help conflicts", "a topic"),
        ("skillsync help --man | man -l -", "all of it, as a man page"),
        ("skillsync help --schema manifest", "a JSON Schema, for an editor"),
    ),
    "completion": (
        ('eval "$(skillsync completion bash)"', "in ~/.bashrc"),
        ('eval "$(skillsync completion zsh)"', "in ~/.zshrc, after compinit"),
        ("skillsync completion fish | source", "in config.fish"),
    ),
}


def epilog(command: str) -> str:
    """Return a command's examples as its --help ends with them."""
    width = max(len(example) for example, _ in EXAMPLES[command])
    lines = (f"  {example:{width}}  # {text}\n" for example, text in EXAMPLES[command])
    return "examples:\n" + "".join(lines)
