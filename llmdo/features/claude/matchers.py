"""Matchers of hooks that are compared with the name of a tool, and match none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.features.claude.table import LINES

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN = re.compile(r"[\w\s,|-]*")
"""A list of names, each compared with the whole name of a tool; all else is a regular expression found in it."""

_NAMES = tuple(tool for tool in LINES if tool.isalpha())
_BY_LETTERS = {tool.lower(): tool for tool in _NAMES}
"""The tools by their names in small letters: matchers tell these from capital ones."""
LONGEST = 300
"""The length of a matcher up to which it is looked at."""
_ALTERNATIVE = re.compile(r"(?P<name>[A-Za-z]+)\((?P<pattern>[^()]+)\)")
"""A rule as permissions have it; as a regular expression it has a group."""
_UNREPEATED = re.compile(r"[*+?]")
"""The beginning of a pattern that makes a regular expression of it invalid."""
_NEVER_IN_NAMES = re.compile(r"[ /:~\"'](?![*?])|^\.?[a-z]{2}")
"""Parts of a pattern that no name of a tool has behind that of another one."""
_BETWEEN = re.compile(r"\|(?![^(]*\))")
"""A `|` outside of parentheses."""

_PIECE = re.compile(
    r"""(?P<piece>
        \\. | \[[^\[\]\\]+\] | [^\\()\[\]{}|*+?]  # one character
        | (?P<opens>\((?:\?:)?) | (?P<closes>\)) | (?P<bar>\|)
    )(?P<times>[*+?]*)""",
    re.VERBOSE | re.DOTALL,
)
"""A part of a regular expression; not of any."""
_MOST_REPEATED = 4
"""The repeated parts of an expression up to which it is tried: with more it may take for ever."""
_IN_NO_NAME = frozenset(" \t\"'=&:/~,;<>@#%`!")
_FIRST_NAME = re.compile(r"\^?\(*(?P<name>[A-Z][A-Za-z]+)")


def never_matches(matcher: str) -> bool:
    """Whether a matcher matches the name of no tool: none of Claude Code's own, and none of a server.

    It is so of rules as permissions have them, of an invalid regular expression, of what asks for a character that
    is in no name, of one of Claude Code's own tools with what no other has behind that name, and of a server's name.
    """
    if not matcher.strip() or len(matcher) > LONGEST:
        return False
    if PLAIN.fullmatch(matcher):
        return all(map(_is_no_name, listed(matcher)))
    if "(" in matcher and _is_of_rules(matcher):
        return True
    alternatives = _alternatives(matcher)
    return bool(alternatives) and all(map(_is_never, alternatives))


def listed(matcher: str) -> list[str]:
    """The names in a list."""
    return [name.strip() for name in re.split(r"[|,]", matcher)]


def meant(matcher: str) -> str | None:
    """The matcher that does what a list of names means that are none; None for a regular expression, or an unknown one.

    Names with a blank between them are meant as a list where each is one of a tool.
    """
    if not PLAIN.fullmatch(matcher):
        return None
    names = [_meant(name) for name in listed(matcher)]
    return "|".join(dict.fromkeys(filter(None, names))) if all(names) else None


def _meant(name: str) -> str | None:
    """The matcher for what a name in a list means; None if that is unknown."""
    words = name.split()
    if len(words) > 1:
        tools = [_BY_LETTERS.get(word.lower(), "") for word in words]
        return "|".join(tools) if all(tools) else None
    return _BY_LETTERS.get(name.lower(), f"{name.rstrip('_')}__.*")


def _is_no_name(name: str) -> bool:
    """Whether the name in a list is certainly that of no tool: one with a blank, a server's, or in other letters."""
    if not _IN_NO_NAME.isdisjoint(name):
        return True
    if name.startswith("mcp__"):
        return not name.removeprefix("mcp__").partition("__")[2]
    return name not in LINES and name.lower() in _BY_LETTERS


def _is_of_rules(matcher: str) -> bool:
    """Whether a matcher is written as rules of permissions are: one that is invalid, or each of its alternatives."""
    parts = [_ALTERNATIVE.fullmatch(each.strip()) for each in _BETWEEN.split(matcher)]
    if any(part and _UNREPEATED.match(part["pattern"]) for part in parts):
        return True
    return all(part and _NEVER_IN_NAMES.search(part["pattern"]) for part in parts)


def _alternatives(matcher: str) -> list[list[re.Match[str]]]:
    """The parts of each alternative of a regular expression; none if it is not of the form that is understood."""
    alternatives: list[list[re.Match[str]]] = [[]]
    depth = 0
    for part in _parts(matcher):
        if part is None or (part["opens"] and part["times"]):
            return []
        depth += bool(part["opens"]) - bool(part["closes"])
        if depth < 0:
            return []
        if part["bar"] and not depth:
            alternatives.append([])
        else:
            alternatives[-1].append(part)
    return [] if depth else alternatives


def _parts(matcher: str) -> Iterator[re.Match[str] | None]:
    """The parts of a regular expression, and None for the first that is of another form."""
    at = 0
    while at < len(matcher):
        part = _PIECE.match(matcher, at)
        yield part
        if part is None:
            return
        at = part.end()


def _is_never(alternative: list[re.Match[str]]) -> bool:
    """Whether an alternative matches no name of a tool."""
    depth = 0
    for part in alternative:
        depth += bool(part["opens"]) - bool(part["closes"])
        is_needed = not depth and part["times"][:1] not in ("*", "?")
        if is_needed and part["piece"].removeprefix("\\") in _IN_NO_NAME:
            return True
    expression = "".join(part[0] for part in alternative)
    first = _FIRST_NAME.match(expression)
    if first is None or first["name"] not in _NAMES:
        return False  # it may be about a server
    repeated = [part for part in alternative if part["times"]]
    if len(repeated) > _MOST_REPEATED or any(part["closes"] for part in repeated):
        return False
    try:
        known = re.compile(expression)
    except re.error:
        return False
    return not any(map(known.search, _NAMES))
