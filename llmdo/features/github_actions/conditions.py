"""The conditions of jobs and steps: which events get past an `if`, and whether it keeps strangers out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LENGTH = 10_000  # characters: nobody reads a longer condition
MAX_NESTING = 20

_EVENT = re.compile(r"github\.event_name\s*(?P<how>==|!=)\s*'(?P<name>\w+)'")
_EVENT_REVERSED = re.compile(r"'(?P<name>\w+)'\s*(?P<how>==|!=)\s*github\.event_name")
_ABOUT_PEOPLE = re.compile(
    r"author_association|github\.(?:triggering_)?actor|\.login\b|\.fork\b|head\.repo|head_repository"
    r"|\blabels?\b|assignee|\.permission"
)
"""Conditions that a stranger cannot fulfil at will: identity, and properties that only members may set."""
_UNKNOWN = re.compile(r"\b(?:needs|steps|inputs|vars|env|secrets)\.")
"""Values known only at run time; a condition on them may check identity."""
_ACTION = re.compile(r"github\.event\.action\s*==\s*'(?:labeled|assigned)'")


def passing(condition: str, events: frozenset[str]) -> frozenset[str]:
    """The events that a condition can let pass."""
    return _Condition(strict=False).of(_plain(condition), events)


def open_to_strangers(condition: str, events: frozenset[str]) -> frozenset[str]:
    """The events that pass without any check that could keep a stranger out."""
    return _Condition(strict=True).of(_plain(condition), events)


def _plain(condition: str) -> str:
    text = condition.strip()
    return text[3:-2].strip() if text.startswith("${{") and text.endswith("}}") else text


class _Condition:
    """One reading of a condition: for `a || b` both, for `a && b` the events that pass each."""

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict

    def of(self, text: str, events: frozenset[str], depth: int = 0) -> frozenset[str]:
        text = text.strip()
        if not text or len(text) > MAX_LENGTH or depth > MAX_NESTING:
            return events if not text or not self._strict else frozenset()
        ways = list(_split(text, "||"))
        if len(ways) > 1:
            return frozenset().union(*(self.of(way, events, depth + 1) for way in ways))
        for part in (parts := list(_split(text, "&&"))):
            if len(parts) > 1:
                events = self.of(part, events, depth + 1)
        if len(parts) > 1:
            return events
        if text.startswith("(") and text.endswith(")"):
            return self.of(text[1:-1], events, depth + 1)
        return self._atom(text, events)

    def _atom(self, text: str, events: frozenset[str]) -> frozenset[str]:
        if named := _EVENT.fullmatch(text) or _EVENT_REVERSED.fullmatch(text):
            chosen = frozenset({named["name"]})
            return events & chosen if named["how"] == "==" else events - chosen
        if not self._strict:
            return events
        if _UNKNOWN.search(text) or _ACTION.search(text):
            return frozenset()
        if _ABOUT_PEOPLE.search(text):
            keeps_one_out = "!=" in text and "author_association" not in text and "repo" not in text
            return events if keeps_one_out else frozenset()
        return events


def _split(text: str, operator: str) -> Iterator[str]:
    """The parts between an operator outside parentheses and quotes."""
    depth, start, quoted = 0, 0, False
    for at, character in enumerate(text):
        if character == "'":
            quoted = not quoted
        elif not quoted:
            depth += (character == "(") - (character == ")")
            if depth == 0 and at >= start and text.startswith(operator, at):
                yield text[start:at]
                start = at + len(operator)
    yield text[start:]
