"""Headers of llm-do's `.worker` files that run unchanged: their different names, translated to ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.syntax.document import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from llmdo.base.source import Span
    from llmdo.base.values import Json
    from llmdo.syntax.document import Route

    Spans = tuple[Span, Span]

_WRITES: Mapping[str, Json] = {"write": ["**"]}
_READS: Mapping[str, Json] = {}
_COMMANDS: Mapping[str, Json] = {"presets": ["read-only"]}
_TOOLSETS: Mapping[str, tuple[str, Mapping[str, Json]]] = {
    "filesystem_cwd": ("filesystem", _WRITES),
    "filesystem_cwd_ro": ("filesystem", _READS),
    "filesystem_project": ("filesystem", _WRITES),
    "filesystem_project_ro": ("filesystem", _READS),
    "llm_do.toolsets.filesystem.FileSystemToolset": ("filesystem", _WRITES),
    "shell_readonly": ("shell", _COMMANDS),
}
"""The built-in toolsets of llm-do, by name or class: our toolset, and its configuration."""

VOUCHED: Mapping[str, Json] = {"shell": _COMMANDS}
"""The manifest's toolset tables for these headers, so that commands count as read-only as the headers say."""


def translated(document: Document, taken: Collection[str]) -> Document:
    """A header of llm-do as one of ours, with its places; everything with the same meaning here is kept.

    `taken` are names that the workspace itself defines, which a header then means.
    """
    data = dict(document.data)
    routes: dict[tuple[str, str], Route] = {}
    if (toolsets := _toolsets(data.get("toolsets"), taken)) is not None:
        data["toolsets"] = {name: config for name, (config, _) in toolsets.items()}
        routes |= {("toolsets", name): ("toolsets", before) for name, (_, before) in toolsets.items()}
    if "native_tools" not in data and (native := _native(data.get("server_side_tools"))) is not None:
        del data["server_side_tools"]
        data["native_tools"] = {name: options for name, (options, _) in native.items()}
        routes |= {
            ("native_tools", name): ("server_side_tools", number) for name, (_, number) in native.items()
        }
    if "schema_in_ref" not in data and "input_model_ref" in data:
        data["schema_in_ref"] = data.pop("input_model_ref")
    if data == document.data:
        return document
    return Document(document.source, data, _moved(document.index, routes), document.problems)


def is_vouched_for(document: Document) -> bool:
    """Whether the untranslated header of `document` asks for commands that only read."""
    listed = document.data.get("toolsets")
    return isinstance(listed, list | dict) and "shell_readonly" in listed


def _toolsets(listed: Json, taken: Collection[str]) -> dict[str, tuple[Json, str | int]] | None:
    """Our names to their configuration and place; None if no name is different, or one occurs twice."""
    if isinstance(listed, list):
        steps: list[tuple[Json, Json, str | int]] = [(name, {}, number) for number, name in enumerate(listed)]
    elif isinstance(listed, dict):
        steps = [(name, config, name) for name, config in listed.items()]
    else:
        return None
    toolsets: dict[str, tuple[Json, str | int]] = {}
    for name, config, before in steps:
        ours, configured = name, config
        if isinstance(name, str) and name in _TOOLSETS and name not in taken and not config:
            ours, configured = _TOOLSETS[name][0], dict(_TOOLSETS[name][1])
        if not isinstance(ours, str) or ours in toolsets:
            return None
        toolsets[ours] = (configured, before)
    return toolsets if toolsets.keys() != {name for name, _, _ in steps} else None


def _native(tools: Json) -> dict[str, tuple[dict[str, Json], int]] | None:
    """The names of provider-side tools to their options and index; None if it is no list of such tools."""
    if not isinstance(tools, list):
        return None
    native: dict[str, tuple[dict[str, Json], int]] = {}
    for number, tool in enumerate(tools):
        kind = tool.get("tool_type") if isinstance(tool, dict) else None
        if not isinstance(kind, str) or kind in native:
            return None
        options = {key: value for key, value in tool.items() if key != "tool_type" and value is not None}
        native[kind] = (options, number)
    return native


def _moved(
    index: Callable[[], Mapping[Route, Spans]], routes: Mapping[tuple[str, str], Route]
) -> Callable[[], Mapping[Route, Spans]]:
    """The places of a document, also by the routes of moved parts."""

    def moved() -> Mapping[Route, Spans]:
        places = index()
        moving = {before: now for now, before in routes.items()}
        added = {
            (*moving[route[:2]], *route[2:]): _as_key(spans, route)
            for route, spans in places.items()
            if route[:2] in moving
        }
        return {**places, **added}

    return moved


def _as_key(spans: Spans, route: Route) -> Spans:
    """The places of a former list item as a key."""
    is_item = len(route) == 2 and isinstance(route[1], int)  # a table and what it holds
    return (spans[1], spans[1]) if is_item else spans
