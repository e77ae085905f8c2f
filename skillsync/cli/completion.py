"""`skillsync completion`: what a shell completes, as a script made from the parser, and the names that it asks for.

Invariants: names come from the lock alone, and only those that no shell reads anything into are told; for whatever is
wrong with the lock, and where there is none, there are no names and no message.
"""

from __future__ import annotations

import argparse
import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from skillsync.cli.examples import TOPICS
from skillsync.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# A lock is a repository's: a package's name in it may be anything on one line.
_HARMLESS = re.compile(r"[a-z]+:[A-Za-z0-9@][A-Za-z0-9@/._-]*")

# Lists that the scripts have as text, by what the parser calls an argument; all else that it takes is a file's name.
_NAMED = {
    "SKILL": ("@skills",),
    "PROVIDER": ("@providers",),
    "SKILL|PROVIDER": ("@skills", "@providers"),
    "SPEC": (),
}
_FILES = ("@files",)


class _Option(Value):
    """An option of a command; `offers` is None where it takes no value."""

    names: tuple[str, ...]
    text: str
    offers: tuple[str, ...] | None
    many: bool


def names(kind: str = "", *typed: str) -> str:
    """Return the locked `skills` or `providers`, one a line, of the project that the words before the cursor are about.

    The words are as they were typed: of quotes, variables and the like in them only a leading `~` is understood.
    """
    from skillsync.commands.project import Project, find, load_lock
    from skillsync.errors import SkillsyncError

    try:
        lock = load_lock(Project(root=find(_project(typed))))
    except (SkillsyncError, OSError):
        lock = None
    if lock is None or kind not in {"skills", "providers"}:
        return ""
    found = lock.skills if kind == "skills" else [one.key for one in lock.providers if _HARMLESS.fullmatch(one.key)]
    return "".join(f"{name}\n" for name in found)


def _project(typed: Sequence[str]) -> str | None:
    """Return the directory that `--project` names among some words, None if none does."""
    given = None
    for before, word in pairwise(("", *typed)):
        if before == "--project":
            given = word
        elif word.startswith("--project="):
            given = word.partition("=")[2]
    return None if given is None else os.path.expanduser(given)


def script(shell: str, commands: Mapping[str, argparse.ArgumentParser]) -> str:
    """Return the completion of a shell."""
    if shell == "fish":
        return _fish(commands)
    return (_BASH if shell == "bash" else _ZSH).replace("# CASES\n", "".join(_cases(commands)))


def _options(command: argparse.ArgumentParser) -> Iterator[_Option]:
    for action in command._actions:  # noqa: SLF001  # argparse has no other way to ask
        if action.option_strings and action.help != argparse.SUPPRESS:
            yield _Option(
                names=tuple(action.option_strings),
                text=action.help or "",
                offers=None if action.nargs == 0 else _offers(action),
                many=action.nargs == "+",
            )


def _words(command: argparse.ArgumentParser, commands: Mapping[str, argparse.ArgumentParser]) -> tuple[str, ...]:
    """Return what may stand where no option takes it."""
    found = (action for action in command._actions if not action.option_strings)  # noqa: SLF001
    topics = (*commands, *(topic for topic in TOPICS if topic not in commands))
    return tuple(one for action in found for one in (topics if action.metavar == "TOPIC" else _offers(action)))


def _offers(action: argparse.Action) -> tuple[str, ...]:
    if action.choices is not None:
        return tuple(action.choices)
    return _NAMED.get(str(action.metavar), _FILES)


def _cases(commands: Mapping[str, argparse.ArgumentParser]) -> Iterator[str]:
    """Yield what both bash and zsh read: what is offered for a command and the option before the cursor."""
    yield f'        " ") offers="{" ".join(commands)} --help --version" ;;\n'
    for name, command in commands.items():
        options = list(_options(command))
        for option in options:
            if option.offers is not None:
                patterns = "|".join(f'"{name} {one}"' for one in option.names)
                many = " many=yes" if option.many else ""
                yield f'        {patterns}) offers="{" ".join(option.offers)}"{many} ;;\n'
        flags = " ".join(one for option in options for one in option.names if one.startswith("--"))
        yield f'        "{name} "*) offers="{" ".join(_words(command, commands))}" flags="{flags}" ;;\n'


_WANTED = """\
# What may come next, for the command and the option before the cursor: words, and @ with the name of a list.
_skillsync_wanted() {
    offers= flags= many=
    case "$1 $2" in
# CASES
    esac
}

# Of the words before the cursor: the command, and the option that takes what comes next.
_skillsync_read() {
    local word
    command= option=
    for word in "$@"; do
        case $word in
            -*=*) option= ;;
            -*) option=$word ;;
            *)
                if [[ -z $command ]]; then
                    command=$word option=
                else
                    _skillsync_wanted "$command" "$option"
                    [[ -n $many ]] || option=
                fi
                ;;
        esac
    done
    _skillsync_wanted "$command" "$option"
}

"""

_BASH = (
    """\
# bash completion of skillsync. In ~/.bashrc: eval "$(skillsync completion bash)"

"""
    + _WANTED
    + """\
_skillsync() {
    # From the line, not from COMP_WORDS: readline cuts gem:sus and npm:@scope/name into words.
    local line=${COMP_LINE:0:COMP_POINT} words current start offers flags many command option word list kept
    read -ra words <<<"$line"
    current=${line##*[[:space:]]}
    [[ -z $current ]] || unset "words[${#words[@]}-1]"
    start=
    case $current in
        --*=*) start=${current%%=*}= words+=("${current%%=*}") ;;
    esac
    _skillsync_read "${words[@]:1}"
    # What readline keeps of the word that is being typed.
    kept=${current%"${current##*["$COMP_WORDBREAKS"]}"}
    [[ $current == -* && -z $start ]] && offers=$flags
    COMPREPLY=()
    for word in $offers; do
        case $word in
            @files)
                # Names of files are readline's work: it knows how to quote them.
                compopt -o default 2>/dev/null
                continue
                ;;
            # No list goes through `compgen -W`, which would run what stands in it.
            @*) list=$("${words[0]}" completion --names "${word#@}" "${words[@]:1}" 2>/dev/null) ;;
            *) list=$word ;;
        esac
        while IFS= read -r word; do
            [[ -n $word && $start$word == "$current"* ]] && COMPREPLY+=("${start}${word}")
        done <<<"$list"
    done
    local i
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=${COMPREPLY[i]#"$kept"}
    done
}
complete -F _skillsync skillsync
"""
)

_ZSH = (
    """\
#compdef skillsync
# zsh completion of skillsync. In ~/.zshrc, after compinit: eval "$(skillsync completion zsh)"

"""
    + _WANTED
    + """\
_skillsync() {
    local offers flags many command option word current=$PREFIX
    local -a before=("${(@)words[2,CURRENT-1]}")
    if [[ $current == --*=* ]]; then
        before+=("${current%%=*}")
        compset -P 1 '*='
    fi
    _skillsync_read "${before[@]}"
    [[ $PREFIX == -* ]] && offers=$flags
    for word in ${=offers}; do
        case $word in
            @files) _files ;;
            @*) compadd -- ${(f)"$("${words[1]}" completion --names "${word#@}" "${before[@]}" 2>/dev/null)"} ;;
            *) compadd -- "$word" ;;
        esac
    done
}
# As a file in $fpath it is called at once; evaluated, it is registered.
if [[ $funcstack[1] == _skillsync ]]; then
    _skillsync "$@"
else
    compdef _skillsync skillsync
fi
"""
)

_FISH = """\
# fish completion of skillsync. In ~/.config/fish/config.fish: skillsync completion fish | source

function __skillsync_on
    set -l before (commandline -opc)
    test (count $before) -ge 2; and test "$before[2]" = "$argv[1]"
end

function __skillsync_names
    set -l before (commandline -opc)
    $before[1] completion --names $argv[1] $before[2..-1] 2>/dev/null
end

complete -c skillsync -f
complete -c skillsync -n __fish_use_subcommand -l help -d 'show help'
complete -c skillsync -n __fish_use_subcommand -l version -d 'show the version'
"""


def _fish(commands: Mapping[str, argparse.ArgumentParser]) -> str:
    lines = [
        f"complete -c skillsync -n __fish_use_subcommand -a {name} -d {_quoted(command.description or '')}"
        for name, command in commands.items()
    ]
    for name, command in commands.items():
        on = f"complete -c skillsync -n '__skillsync_on {name}'"
        for option in _options(command):
            spelled = " ".join(f"-l {one[2:]}" if one.startswith("--") else f"-s {one[1:]}" for one in option.names)
            lines.append(f"{on} {spelled}{_fish_value(option.offers)} -d {_quoted(option.text)}")
            if option.many and option.offers:
                more = f"'__skillsync_on {name}; and __fish_contains_opt {option.names[0].lstrip('-')}'"
                lines.append(f"complete -c skillsync -n {more} -a {_quoted(_fish_words(option.offers))}")
        if words := _words(command, commands):
            lines.append(f"{on} -a {_quoted(_fish_words(words))}")
    return _FISH + "".join(f"{line}\n" for line in lines)


def _fish_value(offers: tuple[str, ...] | None) -> str:
    if offers is None:
        return ""
    return " -r -F" if offers == _FILES else f" -x -a {_quoted(_fish_words(offers))}"


def _fish_words(offers: tuple[str, ...]) -> str:
    return " ".join(f"(__skillsync_names {one[1:]})" if one.startswith("@") else one for one in offers)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
