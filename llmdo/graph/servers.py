"""MCP servers, as far as files and authority are concerned: access to them, and the capabilities of their tools."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from llmdo.base import digest, parts
from llmdo.base.diagnostic import shown
from llmdo.graph.described import Definition, Server
from llmdo.graph.keys import NOWHERE, decoded, words_of
from llmdo.graph.toolset import Tool
from llmdo.policy.authority import Capability

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.base.values import Json
    from llmdo.graph.toolset import Retry, Toolset, ToolsetFacts

CALL = Capability("mcp.call")
CONNECT = Capability("net.connect")
UNTRUSTED = Capability("data.untrusted")

DEFAULT_TIMEOUT_S = 60.0
"""The default limit for one answer of a server."""


def server_of(table: Mapping[str, Json], filters: Mapping[str, Json]) -> Server:
    """The server that `mcp` in a manifest describes; `filters` is the table around it."""
    env = table.get("env")
    variables = map(_variable, env.items()) if isinstance(env, dict) else parts.texts(env)
    return decoded(
        Server,
        "lock",
        {**table, "env": list(variables), "headers": _headers(table), **_filters(filters)},
        NOWHERE,
    )


def _variable(pair: tuple[str, str]) -> str:
    name, text = pair
    return name if text == f"${{{name}}}" else f"{name}={text}"


def _headers(table: Mapping[str, Json]) -> list[str]:
    return [f"{name}: {text}" for name, text in parts.table(table.get("headers")).items()]


def _filters(table: Mapping[str, Json]) -> dict[str, Json]:
    return {key: table[key] for key in ("include", "exclude") if key in table}


def is_wanted(server: Server, tool: str) -> bool:
    """Whether the filters of `server` admit the tool of that name."""
    included = server.include is None or _matches(tool, server.include)
    return included and not _matches(tool, server.exclude)


def fits(tool: str, pattern: str) -> bool:
    """Whether a tool's name matches `pattern`, in which `*` is anything."""
    return tool == pattern or ("*" in pattern and _compiled(pattern).fullmatch(tool) is not None)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, re.split(r"\*+", pattern))), re.DOTALL)


def _matches(tool: str, patterns: Iterable[str]) -> bool:
    return any(fits(tool, pattern) for pattern in patterns)


def declared_in(table: Mapping[str, Json]) -> dict[str, tuple[str, ...]]:
    """The capabilities in a toolset's table, by tool name or pattern."""
    return {tool: parts.texts(stated) for tool, stated in parts.table(table, "capabilities").items()}


def retries_in(table: Mapping[str, Json]) -> dict[str, Retry]:
    """The retry settings in a toolset's table, by tool name or pattern."""
    stated = parts.table(table, "retry")
    return {tool: "safe" if retry == "safe" else "ask" for tool, retry in stated.items()}


def tools_of(
    server: Server,
    declared: Mapping[str, Iterable[str]],
    retry: Mapping[str, Retry],
    known: ToolsetFacts | None,
) -> dict[str, Tool]:
    """The tools of a server with their capabilities by the manifest, and whether they may run twice.

    Before locking, its tools are unknown: each pattern of the manifest is a tool for those that it fits, and `*` for
    all others, unless `include` names all possible ones. Every result may hold text of an attacker.
    """
    if known is None:
        names: Iterable[str] = {"*", *declared}
        if server.include is not None and not any("*" in name for name in server.include):
            names = server.include
        return {
            name: Tool(name=name, capabilities=raised(server, declared, name), retry=retried(retry, name))
            for name in sorted(names)
            if "*" in name or is_wanted(server, name)
        }
    return {
        name: Tool(
            name=name,
            capabilities=raised(server, declared, name),
            digest=fact.digest,
            retry=retried(retry, name),
            definition=fact.definition,
        )
        for name, fact in sorted(known.tools.items())
    }


def raised(server: Server, declared: Mapping[str, Iterable[str]], tool: str) -> tuple[Capability, ...]:
    """The capabilities of a call of `tool`, sorted.

    Those of its own name; else the union over all patterns that fit it; else those of `*`; else a call, over the
    network if the server is not on this machine.
    """
    stated = declared.get(tool)
    if stated is None:
        patterns = [name for name in declared if name != "*" and fits(tool, name)]
        stated = [text for name in patterns for text in declared[name]] if patterns else declared.get("*")
    if stated is None:
        capabilities = {CALL, CONNECT} if server.url else {CALL}
    else:
        capabilities = {Capability.parse(text) for text in stated}
    return tuple(sorted({*capabilities, UNTRUSTED}, key=str))


def retried(stated: Mapping[str, Retry], tool: str) -> Retry | None:
    """Whether a call of `tool` may run again: its own name counts, then patterns, then `*`.

    If patterns differ, a person is asked.
    """
    if tool in stated:
        return stated[tool]
    fitting = {value for name, value in stated.items() if name != "*" and fits(tool, name)}
    if fitting:
        return "ask" if "ask" in fitting else "safe"
    return stated.get("*")


def changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> tuple[str, ...]:
    """The changes in a server's description of a tool, a phrase each, from two tables of a lock."""
    return tuple(
        phrase
        for key, words in words_of(Definition).items()
        if (phrase := _change(words, _as_lines(before.get(key)), _as_lines(after.get(key))))
    )


FEW = 3  # lines of one side that a phrase shows
WIDTH = 100  # characters of a line that it shows


def _as_lines(value: object) -> list[str]:
    return [value] if isinstance(value, str) else list(value) if isinstance(value, list) else []


def _change(words: str, before: list[str], after: list[str]) -> str | None:
    if before == after:
        return None
    lost = [line for line in before if line not in after]
    gained = [line for line in after if line not in before]
    if not lost and not gained:
        return f"{words} changed in its order"
    if len(lost) == len(gained):
        pairs = [_where_they_differ(*pair) for pair in zip(lost, gained, strict=True)]
        lost, gained = [old for old, _ in pairs], [other for _, other in pairs]
    shown_lines = [
        f"{mark}`{_line(line)}`" for mark, some in (("-", lost), ("+", gained)) for line in some[:FEW]
    ]
    more = len(lost) + len(gained) - len(shown_lines)
    return f"{words} changed: {' '.join(shown_lines)}{f' and {more} more lines' if more else ''}"


def _where_they_differ(old: str, other: str) -> tuple[str, str]:
    """Both from shortly before the first different character."""
    same = next(
        (at for at, pair in enumerate(zip(old, other, strict=False)) if pair[0] != pair[1]),
        min(len(old), len(other)),
    )
    start = max(same - WIDTH // 2, 0) if max(len(old), len(other)) > WIDTH else 0
    dots = "…" if start else ""
    return f"{dots}{old[start:]}", f"{dots}{other[start:]}"


def _line(text: str) -> str:
    text = text.strip()
    return shown(text if len(text) <= WIDTH else f"{text[:WIDTH]}…")


def digest_of(name: str, definition: Definition) -> str:
    """The digest of a server's whole description of one tool."""
    return digest.of_data(
        {
            "name": name,
            "title": definition.title,
            "description": definition.description,
            "input": definition.input,
            "output": definition.output,
            "hints": list(definition.hints),
        }
    )


def proposed(toolset: Toolset, tool: Tool) -> list[str]:
    """The capabilities to declare for `tool` if its server's hints are true; none if that changes nothing."""
    hints = tool.definition.hints if tool.definition else ()
    is_silent = {CALL} <= set(tool.capabilities) <= {CALL, CONNECT, UNTRUSTED}
    if "readOnlyHint: true" not in hints or not is_silent:
        return []
    remote = toolset.server is not None and toolset.server.url is not None
    return ["mcp.read", "net.connect"] if remote or "openWorldHint: true" in hints else ["mcp.read"]


def key_of(name: str) -> str:
    """The key of `Facts` for the server `name`; no reference to Python looks like it."""
    return f"mcp:{name}"
