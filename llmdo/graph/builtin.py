"""The built-in toolsets, as far as authority is concerned: their tools and possible capabilities.

Derived from the text of the files, so that `check` imports none of the code that runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from llmdo.base.values import dataclass
from llmdo.graph.toolset import Tool
from llmdo.policy.authority import Capability, scope_contains, scopes_meet
from llmdo.policy.protection import (
    CODE_WRITE,
    PROTECTED_READ,
    PROTECTED_WRITE,
    declared_by_change,
    protected_within,
)
from llmdo.policy.shell.rules import ShellSettings, Vouching

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

PROVIDER_SIDE = "(provider)"
"""The line of a worker's uses that holds its `native_tools`; a reserved name."""

ENTRY_SIDE = "(entry)"
"""The name in decisions for passing the attachments of an entry on; reserved."""

OUTPUT_TOOL = "final_result"
"""The tool by which a worker with a typed output gives it: pydantic-ai's name for it."""

_PROVIDER_SIDE = {
    "code_execution": ("net.connect",),
    "web_fetch": ("data.untrusted", "net.connect"),
    "web_search": ("data.untrusted", "net.search"),
    "x_search": ("data.untrusted", "net.search"),
}
"""The capabilities of each provider-side tool. No gate sees its calls, so one that is offered counts as called."""

_BY_PATH = frozenset({PROTECTED_READ, PROTECTED_WRITE, CODE_WRITE})

_NO_SHELL = ShellSettings()


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """The facts of a built-in toolset that need none of the code that runs."""

    tools: Callable[[Mapping[str, object], ShellSettings], tuple[Tool, ...]]
    """The tools for a configuration and the manifest's table about commands."""
    raised_always: Callable[[Tool], list[list[Capability]]]
    """Groups of capabilities that a tool declares: every call raises something within each."""
    is_open: Callable[[ShellSettings], bool]
    """Whether its tools may start programs without isolation."""
    runs_in_threads: bool
    """Whether its tools work in threads, which nobody can stop."""
    has_table: bool = False
    """Whether the manifest may hold a table of its name."""


def _is_never_open(_shell: ShellSettings) -> bool:
    return False


def tools(name: str, config: Mapping[str, object], shell: ShellSettings = _NO_SHELL) -> Mapping[str, Tool]:
    """The tools of a use of the built-in toolset `name`, without those that have no capability.

    `shell` is the manifest's table about that toolset.
    """
    offered = _provider_side(config) if name == PROVIDER_SIDE else BUILT_IN[name].tools(config, shell)
    return {tool.name: tool for tool in offered if tool.capabilities}


def raised_always(name: str, tool: Tool) -> list[list[Capability]]:
    """Groups of a built-in tool's capabilities: every call raises something within each.

    There are no groups for tools of other toolsets, whose calls may raise nothing.
    """
    return BUILT_IN[name].raised_always(tool) if name in BUILT_IN else []


def each_but_by_path(tool: Tool) -> list[list[Capability]]:
    """A group for each capability that every call raises; whether a file is protected or code depends on the path."""
    names = {declared.name for declared in tool.capabilities} - _BY_PATH
    return [[declared for declared in tool.capabilities if declared.name == name] for name in sorted(names)]


def _some_command(tool: Tool) -> list[list[Capability]]:
    """The group of its `proc.` capabilities; a refused command raises nothing, and nothing runs."""
    return [[declared for declared in tool.capabilities if declared.name.startswith("proc.")]]


def _filesystem(config: Mapping[str, object], _shell: ShellSettings) -> tuple[Tool, ...]:
    """Tools that read within `read`, everywhere without it, write within `write`, and edit within both."""
    read = cast("Iterable[str]", config.get("read", ("**",)))
    write = cast("Iterable[str]", config.get("write", ()))
    both = {
        readable if scope_contains(other, readable) else other
        for readable in read
        for other in write
        if scopes_meet(readable, other)
    }
    return (
        _tool("list_files", ["fs.list"], read, reads=read),
        _tool("read_file", ["fs.read"], read, reads=read),
        _tool("write_file", ["fs.write"], write),
        _tool("edit_file", ["fs.read", "fs.write"], both, reads=both),
    )


def _shell(config: Mapping[str, object], settings: ShellSettings) -> tuple[Tool, ...]:
    """A tool with the capabilities of the rules for this use, and of commands that no rule covers."""
    declared = Vouching.of(settings, config).declared(settings.isolation)
    return (Tool(name="shell", capabilities=tuple(sorted(declared, key=str)), hook=True),)


def _provider_side(config: Mapping[str, object]) -> tuple[Tool, ...]:
    names = cast("Iterable[str]", config["tools"])
    return tuple(Tool(name=name, capabilities=tuple(map(Capability, _PROVIDER_SIDE[name]))) for name in names)


def _tool(name: str, capabilities: Collection[str], scopes: Iterable[str], reads: Iterable[str] = ()) -> Tool:
    """A tool that raises all of these within these scopes; it sees files within `reads`."""
    scopes = tuple(scopes)
    declared = {Capability(capability, scope) for capability in capabilities for scope in scopes}
    if "fs.write" in capabilities:
        declared.update(*map(declared_by_change, scopes))
    declared.update(*map(protected_within, reads))
    return Tool(name=name, capabilities=tuple(sorted(declared)), hook=True)


BUILT_IN: Mapping[str, BuiltIn] = {
    "filesystem": BuiltIn(
        tools=_filesystem, raised_always=each_but_by_path, is_open=_is_never_open, runs_in_threads=True
    ),
    "shell": BuiltIn(
        tools=_shell,
        raised_always=_some_command,
        is_open=lambda shell: shell.isolation != "require",
        runs_in_threads=False,
        has_table=True,
    ),
}
"""Every built-in toolset; `toolsets.resolver.MAKERS` says how each is made for a run."""

TARGETS: Mapping[str, frozenset[str]] = {
    "filesystem": frozenset({"path"}),
    "shell": frozenset({"command", "timeout_s"}),
}
"""The arguments of their tools that name the target of a call."""

NAMES = frozenset(BUILT_IN)
"""Names that a worker or a toolset of the workspace cannot have."""
