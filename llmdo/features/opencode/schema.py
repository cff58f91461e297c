"""Agents and permissions that opencode's schema refuses: with one such value in its files it does not start.

Watched with 1.18.33, by `debug agent` and `debug config`. In a file, `description` and `prompt` may be anything.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from llmdo.base.diagnostic import Related, excerpt, finding
from llmdo.base.parts import table
from llmdo.features.opencode.settings import NO_START
from llmdo.foreign.files import MOST_PLACES
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.syntax.document import Document

MODES = "mode"
"""The former key of primary agents, which opencode still reads."""
ACTIONS = ("allow", "ask", "deny")
_KINDS_OF_AGENTS = ("subagent", "primary", "all")
_COLOR_NAMES = frozenset({"primary", "secondary", "accent", "success", "warning", "error", "info"})
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_WITHOUT_PATTERNS = frozenset({"doom_loop", "question", "todowrite", "webfetch", "websearch"})
"""The tools whose permission is one word, not a table of patterns."""


class SchemaKind(NamedTuple):
    """A kind of value: whether one is of it, what another one is, and the hint for that."""

    holds: Callable[[object], bool]
    lack: str
    hint: str


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return _is_number(value) and value > 0 and (isinstance(value, int) or value.is_integer())


def _is_color(value: object) -> bool:
    return isinstance(value, str) and (value in _COLOR_NAMES or _HEX.fullmatch(value) is not None)


_OUT = "or take this line out"
_TEXT = SchemaKind(lambda value: isinstance(value, str), "no text", f"write a text, {_OUT}")
_NUMBER = SchemaKind(_is_number, "no number", f"write a number without quotes, {_OUT}")
_COUNT = SchemaKind(_is_count, "no whole number above 0", f"write a whole number above 0, {_OUT}")
_SWITCH = SchemaKind(
    lambda value: isinstance(value, bool), "neither `true` nor `false`", f"write one of the two, {_OUT}"
)
_TABLE = SchemaKind(lambda value: isinstance(value, dict), "no table", f"write a table, {_OUT}")
_TOOLS = SchemaKind(
    lambda value: isinstance(value, dict),
    "no table",
    'write `permission: {"*": deny, read: allow, grep: allow}` in its header, and take `tools` out',
)
_FEW_IN_SETTINGS = 'write `"permission": {"*": "deny", "read": "allow", "grep": "allow"}` in place of `tools`'
_MODE = SchemaKind(
    lambda value: value in _KINDS_OF_AGENTS,
    "none of `subagent`, `primary` and `all`",
    f"write one of the three, {_OUT}",
)
_COLOR = SchemaKind(
    _is_color,
    "neither `#` and six digits nor a name such as `info`",
    f'write one such as `"#aabbcc"`, {_OUT}',
)
_OF_AGENT = {
    "color": _COLOR,
    "disable": _SWITCH,
    "hidden": _SWITCH,
    "maxSteps": _COUNT,
    "mode": _MODE,
    "model": _TEXT,
    "options": _TABLE,
    "steps": _COUNT,
    "temperature": _NUMBER,
    "tools": _TOOLS,
    "top_p": _NUMBER,
    "variant": _TEXT,
}
_ACTION = SchemaKind(
    lambda value: value in ACTIONS, "none of `allow`, `ask` and `deny`", f"write one of the three, {_OUT}"
)
_RULES = SchemaKind(
    _ACTION.holds, "neither a table nor one of `allow`, `ask` and `deny`", f"write one of these, {_OUT}"
)


def refusals(settings: Sequence[Document], files: Iterable[Document]) -> Iterator[Diagnostic]:
    """A finding for each kind of value at a key that the schema refuses, in settings and in files of agents."""
    whole = [each for each in settings if not each.problems]
    declared = [
        Place(each, (key, name))
        for each in whole
        for key in (MODES, "agent")
        for name in table(each.data, key)
    ]
    agents = [*declared, *(Place(each, ()) for each in files if not each.problems)]
    refused: dict[tuple[str, str], list[tuple[Place, SchemaKind]]] = {}
    of_agents = (each for at in agents for each in _of_agent(at))
    of_all = (
        each for read in whole for key in ("permission", "tools") for each in _of_key(Place(read, ()), key)
    )
    for at, kind in (*of_agents, *of_all):
        refused.setdefault((str(at.route[-1]), kind.lack), []).append((at, kind))
    for (key, lack), ((first, kind), *others) in refused.items():
        message = f"`{excerpt(key)}` is {lack}, {NO_START}"
        related = [Related(at.location, "and here") for at, _ in others[:MOST_PLACES]]
        is_in_settings = kind is _TOOLS and not first.location.path.endswith(".md")
        hint = _FEW_IN_SETTINGS if is_in_settings else kind.hint
        yield finding("LDO153", first.location, message, hint=hint, related=related)


def _of_agent(at: Place) -> Iterator[tuple[Place, SchemaKind]]:
    own = at.data
    if not isinstance(own, dict):
        yield at, _TABLE
        return
    for key, kind in _OF_AGENT.items():
        if key in own and not kind.holds(own[key]):
            yield _within(at, key), kind
        elif key == "tools":
            yield from _of_key(at, key)
    yield from _of_key(at, "permission")


def _of_key(at: Place, key: str) -> Iterator[tuple[Place, SchemaKind]]:
    """The values of `permission` or `tools` that the schema refuses."""
    around = at.data
    if not isinstance(around, dict) or key not in around:
        return
    value, place = around[key], _within(at, key)
    if key == "tools":
        if not isinstance(value, dict):
            yield place, _TOOLS
            return
        yield from (
            (_within(place, tool), _SWITCH) for tool, each in value.items() if not _SWITCH.holds(each)
        )
        return
    if not isinstance(value, dict):
        if not _RULES.holds(value):
            yield place, _RULES
        return
    for tool, rule in value.items():
        own = _within(place, tool)
        if isinstance(rule, dict) and tool not in _WITHOUT_PATTERNS:
            yield from (
                (_within(own, pattern), _ACTION) for pattern, each in rule.items() if not _ACTION.holds(each)
            )
        elif not _ACTION.holds(rule):
            yield own, _ACTION


def _within(at: Place, key: str) -> Place:
    return Place(at.document, (*at.route, key), of_key=True)
