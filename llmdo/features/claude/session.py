"""The sessions of Claude Code: the tools in one, and the agents that no file declares."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.values import dataclass, field, replace
from llmdo.features.claude.table import INHERITED, LINES
from llmdo.foreign import servers as mcp
from llmdo.foreign.events import MODELS_ADDRESSES
from llmdo.foreign.lines import Line
from llmdo.foreign.team import MAX_NAME, Agent, AgentCall, capability_of
from llmdo.graph.described import Server

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from llmdo.features.claude.modes import Mode
    from llmdo.features.claude.settings import ClaudeSettings
    from llmdo.foreign.permissions import PermissionRule
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Place

MAIN = "main-session"
ANY = "general-purpose"
"""The built-in agent with every tool: it represents all of them if none is named."""

_READING = tuple(tool for tool in INHERITED if tool not in ("Edit", "NotebookEdit", "Write"))

BUILT_IN: Mapping[str, tuple[str, ...]] = {
    ANY: INHERITED,
    "claude": INHERITED,
    "claude-code-guide": _READING,
    "fork": INHERITED,
    "Explore": _READING,
    "Plan": _READING,
    "statusline-setup": ("Edit", "Read"),
}
"""The built-in agents and their tools, by https://code.claude.com/docs/en/sub-agents."""
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
    approved: tuple[PermissionRule, ...] = ()
    """The rules of commands and skills."""
    taken: Collection[str] = ()
    """Tools, and servers as `mcp__SERVER`, that the agent does not have."""
    external: Mapping[str, Place] = field(default_factory=dict)
    """The plugins that settings enable and the project does not have: what their servers do is unknown."""

    def named(self, tool: str, at: Place) -> Iterator[Grant]:
        """The grants of a built-in tool; none if it has no capability for anybody."""
        line = LINES[tool]
        if line.capabilities and tool not in self.taken:
            yield from self.settings.grants(line, at, self.mode, self.approved)

    def of_server(self, name: str, at: Place) -> Iterator[Grant]:
        """A tool of an MCP server, or all of them, as `mcp__SERVER__TOOL` and `mcp__SERVER`."""
        name = name.removesuffix("__*")
        server = server_name(name)
        if {name, f"mcp__{server}", EVERY_SERVER} & {*self.taken}:
            return
        known = self.servers[server][0] if server in self.servers else Server()
        line = mcp.line(name, known, "needs_approval")
        for grant in self.settings.grants(line, at, self.mode, self.approved):
            yield replace(grant, server=known)

    def inherited(self, at: Place) -> Iterator[Grant]:
        """The grants of an agent whose file names no tools."""
        yield from self.built_in(at)
        yield from self.of_servers(at)
        yield from self.of_plugins()

    def built_in(self, at: Place) -> Iterator[Grant]:
        """Every tool but those of servers."""
        toolset = EVERY_OTHER_TOOL if self.taken else EVERY_TOOL
        for tool in INHERITED:
            for grant in self.named(tool, at):
                yield replace(grant, toolset=toolset, is_default=True)

    def of_servers(self, at: Place | None = None) -> Iterator[Grant]:
        """All servers, each from its declaration, or from the place that gives them all to an agent."""
        for server, (_, declared) in self.servers.items():
            yield from self.of_server(f"mcp__{server}", at or declared)
        for name, rule in self.settings.of_others(self.servers).items():
            grants = self.of_server(name, at or rule.at)
            yield from (grant for grant in grants if grant.decision == "allowed")

    def of_plugins(self) -> Iterator[Grant]:
        """What the plugins from elsewhere may give an agent, each from the setting that enables it."""
        for plugin, at in self.external.items():
            server = scoped_server(plugin)
            if {f"mcp__{server}", EVERY_SERVER} & {*self.taken}:
                continue
            line = Line(f"mcp__{server}", (capability_of(plugin),), "needs_approval", "open", "")
            name = f"tools of plugin {excerpt(plugin, MAX_NAME)}"
            for grant in self.settings.grants(line, at, self.mode, self.approved):
                yield replace(grant, toolset=name, tool=name)


def scoped_server(plugin: str, server: str = "") -> str:
    """The name that Claude Code gives a server of a plugin; without the server, its beginning."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"plugin_{plugin}_{server}")


def server_name(tool: str) -> str:
    """The server of a tool `mcp__SERVER__TOOL`."""
    return tool.removeprefix("mcp__").partition("__")[0]


def main_session(
    name: str, tools: SessionTools, at: Place, own: Iterable[str] = (), events: tuple[Grant, ...] = ()
) -> Agent:
    """The agent that a session is: it has every tool and may call every agent, within its settings.

    `own` are agents that no other session has, `events` is what Claude Code runs by itself.
    """
    settings = tools.settings
    # An address of a model is a row of its own.
    switches = {name: each for name, each in settings.variables.items() if name not in MODELS_ADDRESSES}
    return Agent(
        name=name,
        at=at,
        description="What Claude Code is where a person starts it.",
        grants=(*tools.built_in(at), *tools.of_servers()),
        calls=tuple(AgentCall(name=called, at=at) for called in own if not settings.denies_call(called)),
        events=events,
        everyone=None if settings.denies_call() else at,
        inherits=True,
        is_callable=False,
        sandbox="sandbox" if settings.is_sandboxed else None,
        header={"env": switches} if switches else {},
        permissions=settings.written,
    )


def any_with(plugin: str) -> str:
    """The name of `ANY` in a session with a plugin, whose servers it then has."""
    return f"{ANY} with {plugin}"


def built_in_agents(
    agents: Iterable[Agent], tools: SessionTools, brought: Mapping[str, SessionTools], at: Place
) -> Iterator[Agent]:
    """Those that some of `agents` may call, except those that an agent of the project replaces by its name.

    `brought` are the tools of sessions with a plugin, by its name; `at` is the place of all, which no file declares.
    """
    agents = tuple(agents)
    own = {agent.name for agent in agents}
    wanted = {call.name for agent in agents for call in agent.calls}
    wanted |= {ANY for agent in agents if agent.everyone}
    by_name = {
        **dict.fromkeys(BUILT_IN, tools),
        **{any_with(plugin): each for plugin, each in brought.items()},
    }
    for name in sorted(wanted):
        kind = name if name in BUILT_IN else ANY
        if name in by_name and name not in own and not by_name[name].settings.denies_call(kind):
            has_all = BUILT_IN[kind] == INHERITED
            yield Agent(
                name=name,
                at=at,
                description="Built into Claude Code.",
                grants=tuple(_grants(kind, by_name[name], at)),
                everyone=at if has_all and not tools.settings.denies_call() else None,
                is_entry=False,
                is_callable=name in BUILT_IN,
            )


def _grants(name: str, tools: SessionTools, at: Place) -> Iterator[Grant]:
    for tool in BUILT_IN[name]:
        yield from tools.named(tool, at)
    if BUILT_IN[name] == INHERITED:
        yield from tools.of_servers()
        yield from tools.of_plugins()
