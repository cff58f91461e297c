"""Inline commands of a shell that surely print nothing and end well, as those that only write a line into a log."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 2_000  # characters: more is no line for a log
_SIGNS = "();<>|&"
_SUBSTITUTED = re.compile(r"\$\([^()\"'`\\]*\)")
"""A substitution, whose output and end are those of no command around it."""
_QUOTED = re.compile(r"""'[^']*'|"(?:[^"\\`$]|\$(?!\())*\"""")
"""A text without a substitution of its own."""
_UNREAD = re.compile(r"[`\n{}\\#!\"']|<<|<\(|>\(|\$\(")
"""What is not read: more than a line, blocks, here-documents and the like."""
_TOLD = re.compile(r"/dev/(?!null\b)|/proc/|\bhalt")
"""Another name for the output, or an end that a text for `jq` has."""
_QUIET = frozenset({":", "mkdir", "sleep", "touch", "true"})
"""Programs that print nothing to the output, and whose end refuses nothing."""
_PRINTING = frozenset({"cat", "date", "echo", "hostname", "jq", "printf", "pwd", "whoami"})
"""Programs that only print, and whose end refuses nothing: `jq` reads what the client wrote."""
_NEVER = frozenset({
    ".", "builtin", "case", "command", "coproc", "declare", "do", "done", "elif", "else", "esac", "eval",
    "exec", "exit", "export", "fi", "for", "function", "if", "kill", "local", "pkill", "readonly", "return",
    "select", "set", "source", "then", "time", "trap", "typeset", "until", "while",
})  # fmt: skip
"""Words that may end the shell itself, or begin more than a command."""
_SCRIPT = re.compile(r".*\.(?:bash|cjs|js|mjs|ps1|py|rb|sh|ts|zsh)")
_WORD = re.compile(r"[^\s\"'`;|&<>()]+")
_JOINTS = frozenset({"&&", ";", "||"})


def answers_nothing(command: str) -> bool:
    """Whether a command prints nothing to its output and never ends with a number that refuses; False if unsure."""
    if len(command) > _LONGEST:
        return False
    plain = _QUOTED.sub("_", _SUBSTITUTED.sub("_", command.strip()))
    if _UNREAD.search(plain) or _TOLD.search(command) or any(map(_SCRIPT.fullmatch, _WORD.findall(command))):
        return False
    lexer = shlex.shlex(plain.replace(";", " ; "), posix=True, punctuation_chars=_SIGNS)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError:
        return False
    parts, joints = _split(tokens)
    if not all(parts) or not all(_prints_nothing(part) for part in parts):
        return False
    return all(
        _ends_well(part) or following == ";" or (following == "||" and _ends_well(parts[number + 1]))
        for number, (part, following) in enumerate(zip(parts, [*joints, ""], strict=True))
    )


def _split(tokens: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """The pipelines of a list, and what joins them; a last `;` joins nothing."""
    parts: list[list[str]] = [[]]
    joints: list[str] = []
    for word in tokens[:-1] if tokens[-1:] == [";"] else tokens:
        if word in _JOINTS:
            joints.append(word)
            parts.append([])
        else:
            parts[-1].append(word)
    return parts, joints


def _stages(part: Sequence[str]) -> list[list[str]]:
    """The commands of a pipeline."""
    stages: list[list[str]] = [[]]
    for word in part:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    return stages


def _prints_nothing(part: Sequence[str]) -> bool:
    """Whether a pipeline is read in full, and its last command prints nothing to the output."""
    stages = _stages(part)
    last = stages[-1]
    if not all(_is_plain(stage) for stage in stages):
        return False
    return last[0] in _QUIET or _is_redirected(last)


def _is_plain(stage: Sequence[str]) -> bool:
    """Whether a command is a program by its name alone, with words and files."""
    if not stage or stage[0] in _NEVER or not re.fullmatch(r"[A-Za-z][\w-]*|:", stage[0]):
        return False
    signs = [word for word in stage if word and not set(word) - set(_SIGNS)]
    return all(sign in (">", ">>", ">&", "&>", "&>>", "<") for sign in signs)


def _is_redirected(stage: Sequence[str]) -> bool:
    """Whether what a command prints goes into a file, or to its errors."""
    to_file = False
    for number, word in enumerate(stage[:-1]):
        target = stage[number + 1]
        if word in ("&>", "&>>") or (word in (">", ">>") and stage[number - 1] != "2"):
            to_file = True
        elif word == ">&" and stage[number - 1] != "2":
            to_file = target == "2"
    return to_file


def _ends_well(part: Sequence[str]) -> bool:
    """Whether the end of a pipeline, that of its last command, refuses nothing."""
    last = _stages(part)[-1]
    return last[0] in _QUIET | _PRINTING
