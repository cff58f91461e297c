"""Shell completion: a static script for each shell, and the words that it asks for.

Every press of a key waits for `complete`, so it reads the files as plain text and imports nothing heavy.
"""

from __future__ import annotations

import os
import re
import tomllib
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from llmdo.base.codes import CODES
from llmdo.base.nearest import MANIFEST, nearest
from llmdo.cli import former
from llmdo.cli.tables import ARGUMENTS, COMMANDS, FEATURES
from llmdo.extensions.registry import folders
from llmdo.graph import builtin
from llmdo.policy.vocabulary import VOCABULARY
from llmdo.syntax import discovery

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

Shell = Literal["bash", "zsh", "fish"]

_TABLES = {"toolset": "toolsets", "entry": "entries", "path": "paths"}

MAX_LOCK = 8 * 1024 * 1024  # bytes: 10,000 workers take under 4 MB

_LOCKED_WORKER = re.compile(r"^\[worker\.([\w-]+)\]$((?:\n(?!\[).*)*)", re.MULTILINE)
_HEADER_NAME = re.compile(r"^name:[ \t]*[\"']?([\w-]+)", re.MULTILINE)
_HEADER_ENTRY = re.compile(r"^entry:[ \t]*true\b", re.MULTILINE)

_BASH = """\
_llmdo() {
    local line=${COMP_LINE:0:COMP_POINT} part=${COMP_WORDS[COMP_CWORD]} word
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    local current=${words[${#words[@]} - 1]}
    [[ $part == [:=] ]] && part=
    local kept=${current%"$part"}
    COMPREPLY=()
    while IFS= read -r word; do
        [[ -n $word ]] && COMPREPLY+=("${word#"$kept"}")
    done < <(llmdo __complete "${words[@]:1}" 2>/dev/null)
}
complete -o default -F _llmdo llmdo
"""

_ZSH = """\
#compdef llmdo
_llmdo() {
    local -a candidates
    candidates=("${(@f)$(llmdo __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n $candidates[1] ]]; then
        compadd -a candidates
    else
        _files
    fi
}
if [[ $funcstack[1] == _llmdo ]]; then
    _llmdo "$@"
else
    compdef _llmdo llmdo
fi
"""

_FISH = """\
function __llmdo_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    llmdo __complete $words "$current" 2>/dev/null
end
complete -c llmdo -a '(__llmdo_complete)'
"""

_SCRIPTS: Mapping[str, str] = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def script(shell: Shell) -> str:
    """The script that makes `shell` complete the words of `llmdo`."""
    return _SCRIPTS[shell]


def complete(words: Sequence[str], cwd: Path) -> list[str]:
    """The completions of the last of `words`, sorted; `words` follow `llmdo` up to the cursor.

    Empty if nothing is known, and for any error: the shell then offers files.
    """
    try:
        *before, current = words
        before = former.current(before)
        option, equals, value = current.partition("=")
        if option.startswith("--") and equals:
            return [f"{option}={word}" for word in _candidates([*before, option], value, cwd)]
        return _candidates(before, current, cwd)
    except Exception:  # whatever is wrong, nothing may print into the line that the user is typing
        return []


def _candidates(before: Sequence[str], current: str, cwd: Path) -> list[str]:
    command, arguments, options = _parse(before)
    root = _root(cwd / options.get("--project", ""))
    known: Iterable[str]
    if before and _awaits_value(command, before[-1]):
        known = _option_values(command, before[-1], root)
    elif current.startswith("-"):
        known = (*COMMANDS.get(command, ()), "--help") if command else ("--help", "--version")
    elif command in COMMANDS:
        known = _arguments(command, len(arguments), root)
    else:
        known = _next_words(command)
    return sorted({word for word in known if word.startswith(current)})


def _parse(before: Sequence[str]) -> tuple[str, list[str], dict[str, str]]:
    """The command so far, `add` and `add worker` alike, its arguments, and the options that have values."""
    command = ""
    arguments: list[str] = []
    options: dict[str, str] = {}
    words = iter(before)
    for word in words:
        if word.startswith("--"):
            option, equals, value = word.partition("=")
            if _takes_value(command, option):
                options[option] = value if equals else next(words, "")
        elif word.startswith("-") and word != "-":
            continue
        elif command in COMMANDS:
            arguments.append(word)
        else:
            command = f"{command} {word}".lstrip()
    return command, arguments, options


def _awaits_value(command: str, word: str) -> bool:
    return word.startswith("--") and "=" not in word and _takes_value(command, word)


def _takes_value(command: str, option: str) -> bool:
    return COMMANDS.get(command, {}).get(option) is not None


def _next_words(command: str) -> Iterator[str]:
    """The words that may follow `command` to make it longer."""
    start = command.split()
    if not start:
        yield "help"
    there = folders()
    missing = {word for name, words in FEATURES.items() if name not in there for word in words}
    for name in COMMANDS:
        if name.split()[: len(start)] == start and name.split()[0] not in missing:
            yield name.split()[len(start)]


def _option_values(command: str, option: str, root: Path) -> Iterable[str]:
    if choices := COMMANDS[command][option]:
        return choices
    match option:
        case "--from":
            from llmdo.extensions.spec import AUTO  # what only few words need
            from llmdo.foreign.known import formats

            return (*formats(), AUTO)
        case "--worker":
            return (worker.name for worker in _workers(root))
        case "--toolset":
            return [*builtin.NAMES, *_keys(root, "toolsets"), *(worker.name for worker in _workers(root))]
        case "--model":
            return _keys(root, "models")
        case "--approve":
            return VOCABULARY
        case _:
            return ()


def _arguments(command: str, position: int, root: Path) -> Iterable[str]:
    """The possible values of the argument at `position` of `command`."""
    choices = ARGUMENTS.get(command, ())
    if position < len(choices) and choices[position]:
        return choices[position]
    match command, position:
        case "run", 0:
            return [*_keys(root, "entries"), *(worker.name for worker in _workers(root) if worker.entry)]
        case "resume" | "approve", 0:
            return _runs(root)
        case "runs audit" | "runs cancel" | "runs export" | "runs replay" | "runs show", 0:
            return _runs(root)
        case "runs prune", _:
            return _runs(root)
        case "explain", 0:
            return [*CODES, *(name for name, _severity in CODES.values())]
        case "add rule", 0:
            return VOCABULARY
        case "remove worker", 0:
            return (worker.name for worker in _workers(root))
        case "remove toolset" | "remove entry" | "remove path", 0:
            return _keys(root, _TABLES[command.removeprefix("remove ")])
        case "remove rule", 0:
            return _keys(root, "approvals", "rules")
        case _:
            return ()


class _Worker(NamedTuple):
    name: str
    entry: bool
    """Whether it can be started by its own name."""


def _root(start: Path) -> Path:
    """The workspace around `start`; `start` itself if there is none."""
    root = nearest(str(start), MANIFEST)
    return start.joinpath(root) if root else start


def _manifest(root: Path) -> dict[str, Any]:
    return tomllib.loads(_text(root, "llmdo.toml"))


def _runs(root: Path) -> list[str]:
    """The ids of the runs that have a journal in a file; a database is not asked while somebody types."""
    named = _manifest(root).get("workspace", {}).get("store")
    if os.environ.get("LLMDO_STORE", named):
        return []
    return [path.stem for path in (root / ".llmdo" / "runs").glob("*.sqlite")]


def _keys(root: Path, *route: str) -> list[str]:
    """The keys of the manifest's table at `route`."""
    table: Any = _manifest(root)
    for name in route:
        table = table.get(name, {})
    return list(table)


def _text(root: Path, path: str) -> str:
    content = discovery.read(root, path, limit=MAX_LOCK)
    return "" if isinstance(content, discovery.RefusedPath) else content.decode("utf-8-sig", errors="replace")


def _workers(root: Path) -> list[_Worker]:
    """The workers that the lock names, or those of the worker files if there is no lock."""
    if lock := _text(root, "llmdo.lock"):
        return [_Worker(table[1], "\nentry = true" in table[2]) for table in _LOCKED_WORKER.finditer(lock)]
    patterns = _manifest(root).get("workspace", {}).get("workers", ())
    matches = discovery.find(root, patterns, lambda _path: False)
    paths = {path for match in matches.values() for path in match.paths}
    headers = (_text(root, path).partition("\n---")[0] for path in paths)
    return [
        _Worker(name[1], _HEADER_ENTRY.search(header) is not None)
        for header in headers
        if (name := _HEADER_NAME.search(header))
    ]
