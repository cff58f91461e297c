"""Changes that refuse tools by an option of Claude Code, in words: those at one place are one change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Place

_REFUSES = re.compile(
    r'write `(?P<option>--disallowedTools |disallowed_tools: |)"?(?P<tools>[^`"]+)"?`'
    r"(?P<where>(?: in| into) `(?:claude_args|disallowed_tools)`|)"
    r"(?P<at> \([^()]*\))?(?P<more>(?:; .*)?)",
    re.DOTALL,
)
"""A change by which Claude Code is refused tools in a workflow."""


_LISTS = re.compile(r"--allowed-?tools[ =]", re.IGNORECASE)


def quoted(tools: str) -> str:
    """Names of tools as one word of a command line."""
    return f'"{tools}"' if "(" in tools else tools


def mark_at(at: Place) -> str:
    """The quote around a rule that is to stand at a place: none but in a flag's list that is in no quotes."""
    span = at.location.span
    before = at.document.source.line(span.line)[: span.column - 1] if span else ""
    flag = next(reversed([*_LISTS.finditer(before)]), None)
    if flag is None or any(before.count(mark, flag.end()) % 2 for mark in "\"'"):
        return ""
    return "'" if before.count('"', 0, flag.start()) % 2 else '"'


def refused_at_once(changes: Iterable[str]) -> list[str]:
    """Changes in words, of which those that refuse tools by one option of Claude Code are one."""
    texts: list[str] = []
    refusing: dict[tuple[str, ...], int] = {}
    for text in changes:
        own = refusal_in(text)
        number = refusing.setdefault(own.group("option", "where", "at"), len(texts)) if own else len(texts)
        first = refusal_in(texts[number]) if number < len(texts) else None
        if own is None or first is None:
            texts.append(text)
            continue
        tools = ",".join(dict.fromkeys((*first["tools"].split(","), own["tools"])))
        words = quoted(tools) if first["option"].startswith("--") else tools
        texts[number] = f"write `{first['option']}{words}`{first['where']}{first['at'] or ''}{first['more']}"
    return texts


def after_refusal(change: str, before: str) -> str:
    """A change in words, as it is written after another one: both may refuse tools by a key that is not there yet."""
    own = refusal_in(change)
    key = own["option"].partition(":")[0] if own else ""
    if own is None or not key.startswith("disallowed") or f"write `{own['option']}" not in before:
        return change
    return f"write `{own['tools']}` into `{key}`{own['at'] or ''}{own['more']}"


def refusal_in(text: str) -> re.Match[str] | None:
    """The parts of a change that refuses tools by an option."""
    parts = _REFUSES.fullmatch(text)
    return parts if parts and (parts["option"].startswith("disallowed") or parts["where"]) else None


def with_place(change: str, at: Place | None, given: Grant) -> str:
    """A change of a tool in words, with its place if that is its own, or if it refuses tools by an option."""
    return f"{change} ({place(at.location)})" if at and (given.narrower_at or refusal_in(change)) else change
