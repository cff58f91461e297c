"""The tools of Claude Code and of MCP servers that an agent has: by name, or all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, replace
from llmdo.features.claude.table import INHERITED, LINES
from llmdo.foreign import servers as mcp
from llmdo.foreign.lines import Line
from llmdo.foreign.team import capability_of
from llmdo.graph.described import Server

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from llmdo.features.claude.modes import Mode
    from llmdo.features.claude.rules import ClaudeRule
    from llmdo.features.claude.settings import ClaudeSettings
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Place

EVERY_TOOL = "every tool"
EVERY_OTHER_TOOL = "every other tool"
"""The rest of the tools, for an agent that names only those it does not have."""
EVERY_SERVER = "mcp__*"


@dataclass(frozen=True, slots=True)
class SessionTools:
    """The tools of one session, and the decisions on them in one mode."""

    settings: ClaudeSettings
    servers: Mapping[str, tuple[Server, Place]]
    mode: Mode
    approved: tuple[ClaudeRule, ...] = ()
    """The rules of commands and skills."""
    taken: Collection[str] = ()
    """Tools, and servers as `mcp__SERVER`, that the agent does not have."""

    def named(self, tool: str, at: Place) -> Iterator[Grant]:
        """The grants of a built-in tool; none if it has no capability for anybody."""
        line = LINES[tool]
        if line.capabilities and tool not in self.taken:
            yield from self.settings.grants(line, at, self.mode, self.approved)

    def unknown(self, tool: str, at: Place) -> Iterator[Grant]:
        """An unknown tool, which may do anything."""
        line = Line(tool, (capability_of(tool),), "needs_approval", "open", "")
        yield from self.settings.grants(line, at, self.mode, self.approved)

    def of_server(self, name: str, at: Place) -> Iterator[Grant]:
        """A tool of an MCP server, or all of them, as `mcp__SERVER__TOOL` and `mcp__SERVER`."""
        name = name.removesuffix("__*")
        server = server_name(name)
        if {name, f"mcp__{server}", EVERY_SERVER} & {*self.taken}:
            return
        known = self.servers[server][0] if server in self.servers else Server()
        default_grant = mcp.grant(name, known, at, "needs_approval", "")
        line = Line(name, tuple(map(str, default_grant.capabilities)), "needs_approval", "open", "")
        for grant in self.settings.grants(line, at, self.mode, self.approved):
            yield replace(grant, server=known)

    def inherited(self, at: Place) -> Iterator[Grant]:
        """The grants of an agent whose file names no tools."""
        toolset = EVERY_OTHER_TOOL if self.taken else EVERY_TOOL
        for tool in INHERITED:
            for grant in self.named(tool, at):
                yield replace(grant, toolset=toolset, is_default=True)
        for server in self.servers:
            yield from self.of_server(f"mcp__{server}", at)


def server_name(tool: str) -> str:
    """The server of a tool `mcp__SERVER__TOOL`."""
    return tool.removeprefix("mcp__").partition("__")[0]
