"""The capability of a pattern of commands, in formats that allow a shell by the beginnings of its commands."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from llmdo.foreign.lines import EDITS, FETCHES
from llmdo.policy.authority import Capability
from llmdo.policy.shell.rules import EXEC, UNLISTED, ShellRule

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_REST = re.compile(r"(?::\*|\s*\*)\s*$")
"""Endings of a pattern that let anything follow: `git log:*`, `git log *`, `git log*`."""
_RULE = re.compile(r"(?:Bash|run_shell_command|shell)\((?P<pattern>[^()]*)\)")
"""A rule about commands, as the permissions of agents have it."""
_RUN_BY_OPTION = frozenset({"fd", "find"})
"""Programs that run others by an option, which may follow as well."""
_REQUESTS = frozenset({"curl", "http", "https", "xh"})
"""Programs that send a request, and write the answer to a file where an option says so; they run no other program.

`wget` does, by `--use-askpass`.
"""
_OF_REQUESTS = tuple(map(Capability, sorted({*EDITS, *FETCHES})))
_PROGRAM = re.compile(r"[^\s:*]+")

_SHOWING = frozenset({("command", "-V"), ("command", "-v")})
"""Beginnings of commands that only show the program of a name."""


def commands(pattern: str, *, is_prefix: bool = False, asked: Collection[str] = ()) -> Capability:
    """The capability of the matching commands: every command, if a launcher or an interpreter may be given anything.

    `is_prefix`: anything may follow the pattern even if it does not say so. `asked`: programs of which the client asks
    about each call that runs another program, whatever a pattern allows.
    """
    words = tuple(_REST.sub("", pattern).split())
    is_open = is_prefix or "*" in pattern
    if not words or "*" in words[0]:
        return UNLISTED if is_open else EXEC
    words = tuple(itertools.takewhile(lambda word: "*" not in word, words))
    if words[:2] in _SHOWING:
        return EXEC
    if words[0] in _REQUESTS or words[0] in asked:
        return EXEC
    runs_others = words[0] in _RUN_BY_OPTION or ShellRule(run=words, positional="any").is_open_launcher
    return UNLISTED if is_open and runs_others else EXEC


def besides(pattern: str, *, is_prefix: bool = False) -> tuple[Capability, ...]:
    """The capabilities of the matching commands beside the running of programs: of a request to any host."""
    program = _PROGRAM.match(pattern.strip()) if is_prefix or "*" in pattern else None
    return _OF_REQUESTS if program and program[0] in _REQUESTS else ()


def listed_in(permissions: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """The beginnings of commands that a client's settings allow, if they launch nothing else."""
    patterns = [
        match["pattern"]
        for text in permissions.get("allow", ())
        if (match := _RULE.fullmatch(text))
        and commands(match["pattern"]) == EXEC
        and not besides(match["pattern"])
    ]
    return tuple(sorted({tuple(_REST.sub("", each).split()) for each in patterns if _REST.search(each)}))
