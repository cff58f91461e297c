"""The built-in toolsets, as far as authority is concerned: their tools and what each may raise.

Derived from a use's configuration alone, so that `check` knows them without importing the code that runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from llmdo.authority import Capability
from llmdo.graph import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


def filesystem(config: Mapping[str, object]) -> tuple[Tool, ...]:
    """The tools of `filesystem`: it reads where `read` says, everywhere without it, and writes where `write` says."""
    read = cast("Iterable[str]", config.get("read", ("**",)))
    write = cast("Iterable[str]", config.get("write", ()))
    return (
        _tool("list_files", ["fs.list"], read),
        _tool("read_file", ["fs.read"], read),
        _tool("write_file", ["fs.write", "fs.write.protected"], write),
    )


def _tool(name: str, capabilities: Iterable[str], scopes: Iterable[str]) -> Tool:
    scopes = tuple(scopes)
    declared = sorted(Capability(capability, scope) for capability in capabilities for scope in scopes)
    return Tool(name=name, capabilities=tuple(declared), hook=True)


_TOOLSETS: Mapping[str, Callable[[Mapping[str, object]], tuple[Tool, ...]]] = {"filesystem": filesystem}

NAMES = frozenset(_TOOLSETS)
"""Names that a worker or a toolset of the workspace cannot have."""


def tools(name: str, config: Mapping[str, object]) -> Mapping[str, Tool]:
    """The tools that a use of the built-in toolset `name` offers; those without any capability are left out."""
    return {tool.name: tool for tool in _TOOLSETS[name](config) if tool.capabilities}
