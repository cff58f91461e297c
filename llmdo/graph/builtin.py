"""The built-in toolsets, as far as authority is concerned: their tools and what each may raise.

Derived from what the files say, so that `check` knows them without importing the code that runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from llmdo.graph.toolset import Tool
from llmdo.policy.authority import Capability, scope_contains, scopes_meet
from llmdo.policy.secret_files import protected_within
from llmdo.policy.shell.rules import ShellSettings, Vouching

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NAMES = frozenset({"filesystem", "shell"})
"""Names that a worker or a toolset of the workspace cannot have."""

PROVIDER_SIDE = "(provider)"
"""The line of a worker's uses that holds its `native_tools`; nothing else can have this name."""

OUTPUT_TOOL = "final_result"
"""The tool by which a worker with a typed output gives it: pydantic-ai's name for it."""

_PROVIDER_SIDE = {
    "code_execution": ("net.connect",),
    "web_fetch": ("data.untrusted", "net.connect"),
    "web_search": ("data.untrusted", "net.search"),
    "x_search": ("data.untrusted", "net.search"),
}
"""What each provider-side tool raises. Its calls are made where no gate stands, so one that is offered is called."""

_NO_SHELL = ShellSettings()


def tools(name: str, config: Mapping[str, object], shell: ShellSettings = _NO_SHELL) -> Mapping[str, Tool]:
    """The tools that a use of the built-in toolset `name` offers; those without any capability are left out.

    `shell` is what the manifest says about the toolset of that name.
    """
    if name == PROVIDER_SIDE:
        offered = _provider_side(config)
    else:
        offered = _filesystem(config) if name == "filesystem" else (_shell(config, shell),)
    return {tool.name: tool for tool in offered if tool.capabilities}


def raised_always(name: str, tool: Tool) -> list[list[Capability]]:
    """Groups of what a tool of the built-in toolset `name` declares: every call raises something within each.

    There are none for the tools of other toolsets, whose calls may raise nothing.
    """
    if name == "shell":  # a command that is refused raises nothing, and nothing runs
        return [[one for one in tool.capabilities if one.name.startswith("proc.")]]
    if name == "filesystem":
        names = {one.name for one in tool.capabilities if not one.name.endswith(".protected")}
        return [[one for one in tool.capabilities if one.name == each] for each in sorted(names)]
    return []


def _filesystem(config: Mapping[str, object]) -> tuple[Tool, ...]:
    """It reads where `read` says, everywhere without it, writes where `write` says, and edits where both do."""
    read = cast("Iterable[str]", config.get("read", ("**",)))
    write = cast("Iterable[str]", config.get("write", ()))
    both = {
        one if scope_contains(other, one) else other
        for one in read
        for other in write
        if scopes_meet(one, other)
    }
    return (
        _tool("list_files", ["fs.list"], read, reads=read),
        _tool("read_file", ["fs.read"], read, reads=read),
        _tool("write_file", ["fs.write", "fs.write.protected"], write),
        _tool("edit_file", ["fs.read", "fs.write", "fs.write.protected"], both, reads=both),
    )


def _shell(config: Mapping[str, object], settings: ShellSettings) -> Tool:
    """It raises what the rules that hold for this use may raise, and what no rule vouches for."""
    declared = Vouching.of(settings, config).declared(settings.isolation)
    return Tool(name="shell", capabilities=tuple(sorted(declared, key=str)), hook=True)


def _provider_side(config: Mapping[str, object]) -> tuple[Tool, ...]:
    names = cast("Iterable[str]", config["tools"])
    return tuple(Tool(name=name, capabilities=tuple(map(Capability, _PROVIDER_SIDE[name]))) for name in names)


def _tool(name: str, capabilities: Iterable[str], scopes: Iterable[str], reads: Iterable[str] = ()) -> Tool:
    """A tool that raises all of these within these scopes; it sees what lies within `reads`."""
    scopes = tuple(scopes)
    declared = {Capability(capability, scope) for capability in capabilities for scope in scopes}
    declared.update(*map(protected_within, reads))
    return Tool(name=name, capabilities=tuple(sorted(declared)), hook=True)
