"""Inline commands of a shell that surely print nothing but plain words and end well: they warn, and refuse nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 4_000  # characters: more is no line that warns
_TOKEN = re.compile(
    r"(?P<blank>[ \t]+)|(?P<away>2>&1(?=[\s;|]|$)|[12]?>(?:&2|[ \t]*/dev/null)(?=[\s;|]|$))"
    r"|(?P<joint>\|\||&&|[;|\n])"
    r"""|(?P<word>(?:'[^']*'|"(?:[^"\\`$]|\\[^`]|\$(?!\(|\{(?!\w+\})))*"|[^\s"'`;|&<>(){}$\\#!]|\$\w+)+)"""
    r"|(?P<brace>[{}](?=[\s;]|$))"
)
"""A part of a command; what is none of these, as a substitution, is not read."""
_JOINED = ("&&", "|", "||")
_CONDITIONS = frozenset({"[", "[[", "cat", "echo", "grep", "jq", "printf", "read", "test", "true"})
"""Programs whose end decides what follows, and none of which ends the shell."""
_ENDING_WELL = frozenset({":", "echo", "printf", "read", "true"})
_FEEDING = frozenset({"cat", "echo", "jq", "printf"})
"""Programs whose output another one of the pipeline takes."""
_QUIET = frozenset({":", "[", "[[", "test", "true"})
_ASKING = re.compile(r"-[EFGPhinsvwx]*q[EFGPhinsvwx]*|--quiet|--silent")
"""The option by which `grep` prints nothing."""
_OPENING = frozenset({"elif", "else", "if", "then", "{"})
_CLOSING = frozenset({"fi", "}"})
_NO_START = frozenset({"elif", "else", "fi", "then", "}"})
"""Words before which a command has to stand."""
_PLAIN = re.compile(r"""["']?(?:\\n|[ \t])*[^\s"'{\[\\$`%-]""")
"""How an answer begins that no client takes for one in JSON."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A command, or a word of the shell alone."""

    words: tuple[str, ...]
    is_away: bool = False
    """Whether its output goes to its errors, or nowhere."""
    joint: str = ";"
    """The sign behind it."""


def only_warns(command: str) -> bool:
    """Whether a command prints nothing but plain words and never ends with a number that refuses; False if unsure."""
    steps = _steps(command.strip())
    if not steps:
        return False
    depth: list[str] = []
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        word = step.words[0]
        is_last = following is None or following.words[0] in _NO_START
        if is_last and (step.joint in _JOINED or word in _OPENING):
            return False  # without a command behind it the shell ends as if it refused
        if word in _OPENING | _CLOSING:
            if not _nests(depth, word):
                return False
        elif not _may_stand(step, is_condition=depth[-1:] == ["if"]):
            return False
    return not depth


def _may_stand(step: _Step, *, is_condition: bool) -> bool:
    """Whether a command answers nothing of its own; what it ends with does not count in a condition, nor in a pipe."""
    word = step.words[0]
    if step.joint == "|":
        return word in _FEEDING
    if word not in (_CONDITIONS if is_condition else _ENDING_WELL):
        return False
    if step.joint in _JOINED and not is_condition:
        return False
    return step.is_away or _is_plain(step.words)


def _nests(depth: list[str], word: str) -> bool:
    """Whether a word of the shell may stand there; what is open is changed by it."""
    if word in ("if", "{"):
        depth.append(word)
        return True
    before, after = {
        "then": ("if", "then"),
        "elif": ("then", "if"),
        "else": ("then", "else"),
        "fi": ("then else", ""),
        "}": ("{", ""),
    }[word]
    if not depth or depth[-1] not in before.split():
        return False
    depth.pop()
    if after:
        depth.append(after)
    return True


def _steps(command: str) -> list[_Step]:
    """The commands of a text in their order; none if a part of it is not read."""
    steps: list[_Step] = []
    words: list[str] = []
    is_away, position = False, 0
    is_closed = False  # whether a block has just ended, behind which no word stands
    while position < len(command):
        token = _TOKEN.match(command, position)
        if token is None or len(command) > _LONGEST:
            return []
        position = token.end()
        joint, text = token["joint"], token["word"] or token["brace"]
        if token["away"]:
            is_away = is_away or not token["away"].startswith("2")
        elif joint:
            if words:
                steps.append(_Step(tuple(words), is_away, joint))
            elif joint != "\n" and not (joint == ";" and is_closed):
                return []
            words, is_away, is_closed = [], False, False
        elif text and not words and text in _OPENING | _CLOSING:
            if is_closed or is_away:
                return []
            steps.append(_Step((text,)))
            is_closed = text in _CLOSING
        elif text:
            if is_closed:
                return []
            words.append(text)
    return [*steps, _Step(tuple(words), is_away)] if words else steps


def _is_plain(words: Sequence[str]) -> bool:
    """Whether a command prints nothing, or words that begin as no JSON does."""
    program, *rest = words
    if program == "read":
        return all(word == "-r" or word.isidentifier() for word in rest)
    if program in _QUIET:
        return True
    if program == "grep":
        return "--" not in rest and any(map(_ASKING.fullmatch, rest))
    if program == "echo":
        while rest and rest[0] in ("-e", "-n", "-en", "-ne"):
            rest = rest[1:]
    return program in ("echo", "printf") and bool(rest) and _PLAIN.match(rest[0]) is not None
