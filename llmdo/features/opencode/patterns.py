"""Patterns of commands as opencode matches them: each command of a line by itself, with where its output goes."""

from __future__ import annotations

import re

_SKIPPED = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
"""What is no sign of the shell: a character behind a backslash, and a text in quotes."""
_NESTED = re.compile(r"[`({'\"]|<<")
"""What may hold commands of its own, or a text whose end is elsewhere."""
_JOINT = re.compile(r"&&|\|\||(?<!>)\||;")
_ANY = re.compile(r"[*?]")


def joint(pattern: str) -> str:
    """The first sign between commands in a pattern, which no single command has outside quotes; empty without one."""
    match = _joint(pattern)
    return match[0] if match else ""


def matches_quoted(pattern: str) -> bool:
    """Whether the signs between commands in a pattern may be those of a text in quotes, which a `*` begins and ends."""
    match = _joint(pattern)
    last = max((pattern.rfind(sign) for sign in "|;&"), default=0)
    return match is not None and bool(_ANY.search(pattern[: match.start()]) and _ANY.search(pattern[last:]))


def _joint(pattern: str) -> re.Match[str] | None:
    plain = _SKIPPED.sub(lambda match: "_" * len(match[0]), pattern)
    match = _JOINT.search(plain)
    return match if match and not _NESTED.search(plain[: match.start()]) else None
