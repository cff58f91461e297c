"""Agents, permissions and servers that opencode's schema refuses: with one such value in its files it does not start.

Watched with 1.18.33, by `debug agent` and `debug config`. In a file, `prompt` may be anything: its text is the prompt.
A server of another form that has `enabled` counts as a switch of one declared elsewhere: all else of it is dropped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from llmdo.base.diagnostic import Related, excerpt, finding, nearest
from llmdo.base.parts import table, text
from llmdo.foreign.files import COUNTS, MOST_PLACES, renaming
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.syntax.document import Document

REFUSED = "so opencode refuses its whole configuration and does not start"
"""The end of a sentence about a form of settings that opencode does not know."""
NO_START = f"{REFUSED}: none of its agents is in force"
"""The same where nothing of its files is read."""
MODES = "mode"
"""The former key of primary agents, which opencode still reads."""
ACTIONS = ("allow", "ask", "deny")
KINDS_OF_AGENTS = ("subagent", "primary", "all")
_COLOR_NAMES = frozenset({"primary", "secondary", "accent", "success", "warning", "error", "info"})
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
SERVERS = ("local", "remote")
"""The types of servers."""
_SERVERS_ELSEWHERE = {
    "http": "remote",
    "sse": "remote",
    "stdio": "local",
    "streamable-http": "remote",
    "streamable_http": "remote",
}
"""The types by the names that other tools have for them."""
_OF_NEXT = "permissions"
"""The key of opencode 2 for what is `permission` in this one, which 1.18.33 refuses but in a header."""
_WITHOUT_PATTERNS = frozenset({"doom_loop", "question", "todowrite", "webfetch", "websearch"})
"""The tools whose permission is one word, not a table of patterns."""


class SchemaKind(NamedTuple):
    """A kind of value: whether one is of it, what another one is, and the hint for that."""

    holds: Callable[[object], bool]
    lack: str
    hint: str | None


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
_TABLE_OR_SWITCH = SchemaKind(
    lambda value: isinstance(value, dict | bool), "neither a table nor a switch", f"write a table, {_OUT}"
)
_LIST = SchemaKind(
    lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
    "no list of texts",
    f"write a list of texts, {_OUT}",
)
_PLUGINS = SchemaKind(
    lambda value: isinstance(value, list) and all(isinstance(each, str | list) for each in value),
    "no list of names, each alone or in a list with its options",
    f"write a list of texts, {_OUT}",
)
_DEPTH = SchemaKind(
    lambda value: _is_number(value) and value >= 0 and (isinstance(value, int) or value.is_integer()),
    "no whole number",
    f"write a whole number, {_OUT}",
)
_TOOLS = SchemaKind(
    lambda value: isinstance(value, dict),
    "no table",
    'write `permission: {"*": deny, read: allow, grep: allow}` in its header, and take `tools` out',
)
_FEW_IN_SETTINGS = 'write `"permission": {"*": "deny", "read": "allow", "grep": "allow"}` in place of `tools`'
_WORDS = SchemaKind(
    lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
    "no list of words",
    "write it as a list, with what stands in `args`",
)
_TEXTS = SchemaKind(
    lambda value: isinstance(value, dict) and all(isinstance(each, str) for each in value.values()),
    "no table of texts",
    f"write a table of texts, {_OUT}",
)
_OF_SERVER = {
    "local": {"command": _WORDS, "cwd": _TEXT, "enabled": _SWITCH, "environment": _TEXTS, "timeout": _COUNT},
    "remote": {"enabled": _SWITCH, "headers": _TEXTS, "timeout": _COUNT, "url": _TEXT._replace(hint=None)},
}
_MODE = SchemaKind(
    lambda value: value in KINDS_OF_AGENTS,
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
    "description": _TEXT,
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
_OF_SETTINGS = {
    **dict.fromkeys(
        ("agent", "command", "compaction", "enterprise", "experimental", "mcp", MODES, "provider", "reference",
         "references", "server", "tool_output", "watcher"),
        _TABLE,
    ),
    **dict.fromkeys(("formatter", "lsp"), _TABLE_OR_SWITCH),
    **dict.fromkeys(("disabled_providers", "enabled_providers", "instructions"), _LIST),
    **dict.fromkeys(("default_agent", "model", "shell", "small_model", "username"), _TEXT),
    **dict.fromkeys(("autoshare", "snapshot"), _SWITCH),
    "plugin": _PLUGINS,
    "subagent_depth": _DEPTH,
}  # fmt: skip
"""The kinds of values at the keys of settings themselves."""
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
        each
        for read in whole
        for at in [Place(read, ())]
        for each in (*_of_key(at, "permission"), *_of_key(at, "tools"), *_of_kinds(at, _OF_SETTINGS))
    )
    of_next = (
        (at, SchemaKind(bool, "a key of opencode 2", _renamed(at) if isinstance(at.data, dict) else None))
        for own in (*(Place(each, ()) for each in whole), *declared)
        if _OF_NEXT in table(own.data)
        for at in [_within(own, _OF_NEXT)]
    )
    of_servers = (
        each
        for read in whole
        for name in table(read.data, "mcp")
        for at in [Place(read, ("mcp", name))]
        if not is_switch(at)
        for each in flaws_of_server(at)
    )
    for at, kind in (*of_agents, *of_all, *of_next, *of_servers):
        refused.setdefault((str(at.route[-1]), kind.lack), []).append((at, kind))
    for (key, lack), ((first, kind), *others) in refused.items():
        message = f"`{excerpt(key)}` is {lack}, {NO_START}"
        related = [Related(at.location, "and here") for at, _ in others[:MOST_PLACES]]
        is_in_settings = kind is _TOOLS and not first.location.path.endswith(".md")
        hint = _FEW_IN_SETTINGS if is_in_settings else kind.hint
        yield finding("LDO153", first.location, message, hint=hint, related=related)


def is_switch(server: Place) -> bool:
    """Whether opencode takes a server for a switch of one declared elsewhere, if it has another form."""
    return isinstance(table(server.data).get("enabled"), bool)


def flaws_of_server(at: Place) -> Iterator[tuple[Place, SchemaKind]]:
    """The values by which a server has another form than the schema's; none of a bare switch."""
    own = at.data
    if not isinstance(own, dict):
        yield at, _TABLE
        return
    if is_switch(at) and len(own) == 1:
        return
    kind = text(own.get("type"))
    known = _OF_SERVER.get(kind)
    if known is None:
        yield _without_type(at, kind)
        return
    for key, each in known.items():
        if key in own and not each.holds(own[key]):
            yield Place(at.document, (*at.route, key)), each
    needed = "command" if kind == "local" else "url"
    if needed not in own:
        yield at, SchemaKind(bool, f"a {kind} server without `{needed}`", None)


def _without_type(at: Place, kind: str) -> tuple[Place, SchemaKind]:
    """The flaw of a server of no known type, at its `type` or at the whole server."""
    own = table(at.data)
    if "type" not in own:
        meant = next(
            (name for name, key in zip(SERVERS, ("command", "url"), strict=True) if key in own), None
        )
        hint = f'write `"type": "{meant}"` into it' if meant else None
        return at, SchemaKind(bool, "a server without `type`", hint)
    meant = _SERVERS_ELSEWHERE.get(kind.casefold()) or nearest(kind, SERVERS)
    place = Place(at.document, (*at.route, "type"))
    return place, SchemaKind(
        bool,
        f"`{excerpt(kind)}`, not `local` or `remote`" if kind else "neither `local` nor `remote`",
        renaming(place, kind, meant),
    )


def _renamed(at: Place) -> str | None:
    return renaming(at, _OF_NEXT, "permission", counts=COUNTS)


def _of_agent(at: Place) -> Iterator[tuple[Place, SchemaKind]]:
    own = at.data
    if not isinstance(own, dict):
        yield at, _TABLE
        return
    of_settings = {"prompt": _TEXT} if at.route else {}
    for key, kind in (_OF_AGENT | of_settings).items():
        if key in own and not kind.holds(own[key]):
            yield _within(at, key), kind
        elif key == "tools":
            yield from _of_key(at, key)
    yield from _of_key(at, "permission")


def _of_kinds(at: Place, kinds: Mapping[str, SchemaKind]) -> Iterator[tuple[Place, SchemaKind]]:
    """The values of a table that are of another kind than their keys want."""
    own = table(at.data)
    yield from (
        (_within(at, key), kind) for key, kind in kinds.items() if key in own and not kind.holds(own[key])
    )


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
