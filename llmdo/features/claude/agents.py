"""One agent file: the effect of its header, and its ineffective parts."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.parts import table as table_in
from llmdo.base.values import dataclass, replace
from llmdo.features.claude import SETTINGS
from llmdo.features.claude.client import hook_events
from llmdo.features.claude.headers import MENDED
from llmdo.features.claude.hooks import hooks_in, judge_hooks
from llmdo.features.claude.modes import BYPASSES, MODES, Mode
from llmdo.features.claude.rules import CALLING, RUNNING, SENDING, WORKFLOW
from llmdo.features.claude.session import (
    BUILT_IN,
    EVERY_SERVER,
    SessionTools,
    any_with,
    scoped_server,
    server_name,
)
from llmdo.features.claude.table import LINES
from llmdo.features.claude.unknown_tools import judge, of_switches
from llmdo.foreign import reading
from llmdo.foreign import servers as mcp
from llmdo.foreign.files import COUNTS, json_at, renaming, surplus, unknown_to
from llmdo.foreign.team import NAME_TOOLS, Agent, AgentCall
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from llmdo.features.claude.homes import ClaudeHome
    from llmdo.features.claude.settings import ClaudeSettings
    from llmdo.foreign.files import Files
    from llmdo.foreign.permissions import PermissionRule
    from llmdo.foreign.team import Grant
    from llmdo.graph.described import Server

KEYS = frozenset(
    {
        "background", "color", "description", "disallowedTools", "effort", "hooks", "initialPrompt", "isolation",
        "maxTurns", "mcpServers", "memory", "model", "name", "omitClaudeMd", "permissionMode", "skills", "tools",
    }
)  # fmt: skip
"""The keys of an agent file."""

_MODE = "permissionMode"
_FREEING = frozenset({"acceptEdits", "auto", BYPASSES})
"""The modes in which fewer questions are asked than in others."""
_FOR_TOOLS = frozenset({"allowed-tools", "allowedTools", "allowed_tools", "permissions", "tool"})
"""Keys for tools in other files, called `tools` in an agent file."""
MODES_OF_OPENCODE = ("all", "primary", "subagent")
_OF_OPENCODE = {
    "mode": "take it out: it is a key of opencode's agents",
    "permission": "take it out: it is a key of opencode's agents, and `tools` names what an agent of Claude Code has",
}
"""Keys of another client's agents, with the hints about them."""
_EFFORTS = frozenset({"high", "low", "max", "medium", "xhigh"})
_LIKE_EFFORT = frozenset(
    {"model_reasoning_effort", "reasoning-effort", "reasoningEffort", "reasoning_effort"}
)
"""Keys of other clients' agents that mean `effort`."""
_NOT_IN_PLUGINS = ("hooks", "mcpServers", "permissionMode")
_MEMORIES = frozenset({"local", "project", "user"})
_REMEMBERING = ("Read", "Write", "Edit")
"""The tools that an agent gets with a memory, so that it can keep it."""
_ELSEWHERE = ("Claude_in_Chrome", "claude-in-chrome", "claude_ai_", "computer-use", "ide")
"""The names of undeclared servers: they come with Claude Code, with its desktop app, or with a person's account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext:
    """The context of an agent file."""

    identities: Mapping[str, str]
    """The names of the agents of the project to those of its folder, each with the one that is shown."""
    home: ClaudeHome
    plugin: str | None
    """The plugin that the agent comes with."""


@dataclass(slots=True)
class AgentReader:
    """The reading of one agent file."""

    around: AgentContext
    path: str
    text: reading.Text
    name: str
    files: Files

    @property
    def header(self) -> Mapping[str, object]:
        """The header of the file."""
        return self.text.document.data

    def agent(self) -> Agent:
        """The agent that the file declares."""
        header = self.header
        at = self._place("name" if "name" in header else "description", of_key=True)
        self._judge_keys()
        tool_items = self._given()
        named = [
            (server_name(tool), place) for tool, _, place in tool_items or () if tool.startswith("mcp__")
        ]
        referred = list(self._referred())
        known = self._servers().keys() - {server for server, _ in referred}
        self._judge_servers([*referred, *named], known)
        taken = frozenset(self._taken())
        tools = SessionTools(
            self._settings(),
            self._servers(),
            self._mode(),
            self._approved(tool_items, taken),
            taken,
            self.around.home.external,
        )
        grants = [*(tools.inherited(at) if tool_items is None else self._named(tool_items, tools))]
        grants += self._remembering(tool_items, tools)
        calls, everyone = self._called(tool_items, tools, at)
        if everyone and self.around.home.plugin:
            calls.append(AgentCall(name=any_with(self.around.home.plugin), at=everyone))
        model, description = header.get("model"), header.get("description")
        return Agent(
            name=self.name,
            at=at,
            path=self.path,
            prompt=self.text.prompt,
            header=header,
            description=description if isinstance(description, str) else None,
            model=model if isinstance(model, str) and model != "inherit" else None,
            grants=tuple(grants),
            calls=tuple(calls),
            events=tuple(self._events()),
            everyone=everyone,
            inherits=tool_items is None,
            keeps=self._kept(grants),
            calls_by=(SENDING,) if tools.settings.has_teams else (),
            narrower=MENDED if self.text.document.problems and not header else NAME_TOOLS,
            but=tuple(tool for tool, _, _ in reading.tool_items(self.text.document, "disallowedTools")),
            # A session that is started further up does not load it.
            is_callable=not self.around.home.folder and not self.around.home.settings.denies_call(self.name),
            sandbox="sandbox" if self.around.home.settings.is_sandboxed else None,
        )

    def _kept(self, grants: Iterable[Grant]) -> str:
        """What it keeps whatever its list of tools names, as the end of a sentence."""
        servers = self.header.get("mcpServers")
        listed = servers if isinstance(servers, list) else [servers]
        names = {f"mcp__{name}" for each in listed for name in (each if isinstance(each, dict) else (each,))}
        has_servers = any(each.server and each.toolset in names for each in grants)
        kept = ["the servers of its `mcpServers`"] if has_servers else []
        given = {each.tool.partition("(")[0] for each in grants if each.decision != "blocked"}
        if brought := [f"`{tool}`" for tool in _REMEMBERING[1:] if self._remembers and tool in given]:
            kept.append(f"{' and '.join(brought)}, which its `memory` brings")
        return f" but {' and '.join(kept)}" if kept else ""

    def _place(self, *route: str | int, of_key: bool = False) -> Place:
        return Place(self.text.document, route, of_key)

    def _judge_keys(self) -> None:
        for key in self.header:
            if key in _FOR_TOOLS:
                hint = "an agent file says `tools`; without it, the agent has every tool"
                hint = surplus("tools") if "tools" in self.header else hint
                self.files.unknown_key(self._place(key, of_key=True), key, KEYS, hint)
            elif self._is_of_opencode(key):
                self.files.unknown_key(self._place(key, of_key=True), key, KEYS, _OF_OPENCODE[key])
            elif key in _LIKE_EFFORT:
                at = self._place(key, of_key=True)
                is_fit = str(self.header[key]) in _EFFORTS
                called = renaming(at, key, "effort", "it is called `{}`", COUNTS)
                self.files.unknown_key(at, key, KEYS, called if is_fit else "take it out")
            elif self._is_of_its_own(key):
                self.files.note("LDO151", self._place(key, of_key=True), unknown_to(self.files.product, key))
            elif meant := reading.misspelt(key, KEYS):
                value = str(self.header[key])
                frees = meant == _MODE and value in _FREEING and meant not in self.header
                instead = (
                    f"take it out: `{meant}: {value}` would have fewer questions asked" if frees else None
                )
                self.files.unknown_key(self._place(key, of_key=True), key, KEYS, instead)
            elif self.around.plugin and key in _NOT_IN_PLUGINS:
                self.files.note(
                    "LDO151", self._place(key, of_key=True), f"`{key}` does nothing in an agent of a plugin"
                )

    def _is_of_its_own(self, key: str) -> bool:
        """Whether a key that is like a known one stands beside that, and differs in more than signs and size."""
        meant = reading.misspelt(key, KEYS)
        letters = re.sub(r"[^a-z]", "", key.lower())
        return meant is not None and meant in self.header and letters != meant.lower()

    def _is_of_opencode(self, key: str) -> bool:
        """Whether a key with this value is one of opencode's agents."""
        value = self.header[key]
        return (
            value in MODES_OF_OPENCODE if key == "mode" else key in _OF_OPENCODE and isinstance(value, dict)
        )

    def _settings(self) -> ClaudeSettings:
        """Those of the session, with the hooks that run while this agent does."""
        settings = self.around.home.settings
        if self.around.plugin or not self.header.get("hooks"):
            return settings
        own = tuple(hooks_in(self.files, [self._place("hooks")], ""))
        judge_hooks(self.files, own if self._mode().name != settings.mode.name else settings.answering(own))
        return settings.with_hooks(own)

    def _events(self) -> Iterator[Grant]:
        """The hooks that run while this agent does."""
        if not self.around.plugin and not self.around.home.settings.no_hooks:
            yield from hook_events(self.files, [self._place("hooks")])

    def _approved(
        self, tool_items: Sequence[reading.ToolItem] | None, taken: frozenset[str]
    ) -> tuple[PermissionRule, ...]:
        """The rules of commands and skills, if the agent can run them."""
        if taken & RUNNING:
            return ()
        approved = self.around.home.approved
        if tool_items is None or any(tool in RUNNING for tool, _, _ in tool_items):
            return approved
        loaded = {name.rpartition(":")[2] for name, _, _ in reading.tool_items(self.text.document, "skills")}
        return tuple(rule for rule in approved if not loaded.isdisjoint(_names_of_skill(rule)))

    def _mode(self) -> Mode:
        name = self.header.get(_MODE)
        settings = self.around.home.settings
        if self.around.plugin or not isinstance(name, str):
            return settings.mode
        at = self._place("permissionMode")
        if name not in MODES:
            self.files.unknown_key(at, name, MODES)
            return settings.mode
        if name == BYPASSES and not settings.no_bypass:
            message = f"mode `{BYPASSES}` never asks for approval"
            self.files.note("LDO554", at, message, "allow by name what asks too often")
        return settings.mode_of(Mode(name, at))

    def _servers(self) -> Mapping[str, tuple[Server, Place]]:
        """The servers of the project, and those that the file itself declares."""
        return {**self.around.home.servers, **self._own_servers()}

    def _referred(self) -> Iterator[tuple[str, Place]]:
        """The servers of `mcpServers` that are only named there."""
        own = self.header.get("mcpServers")
        for number, entry in enumerate(own if isinstance(own, list) and not self.around.plugin else ()):
            if isinstance(entry, str) and entry not in self.around.home.servers:
                yield entry, self._place("mcpServers", number)

    def _own_servers(self) -> dict[str, tuple[Server, Place]]:
        """Those that the file declares or names."""
        own = self.header.get("mcpServers")
        if self.around.plugin or not own:
            return {}
        if isinstance(own, dict):
            return mcp.servers_in(self.text.document, "mcpServers")
        servers = {}
        for number, entry in enumerate(own if isinstance(own, list) else ()):
            at = self._place("mcpServers", number)
            for name, table in entry.items() if isinstance(entry, dict) else ():
                servers[name] = (mcp.server_of(table), at)
            if isinstance(entry, str):
                known = self.around.home.servers.get(entry)
                servers[entry] = (known[0] if known else mcp.server_of(None), at)
        return servers

    def _judge_servers(self, named: Iterable[tuple[str, Place]], servers: Collection[str]) -> None:
        """Notes the undeclared servers, each once."""
        first: dict[str, Place] = {}
        elsewhere = (*_ELSEWHERE, *map(scoped_server, self.around.home.external))
        for server, at in named:
            if server not in servers and server != "*" and not server.startswith(elsewhere):
                first.setdefault(server, at)
        for server, at in first.items():
            scoped = next(
                (each for each in servers if re.fullmatch(f"plugin_.+_{re.escape(server)}", each)), None
            )
            if scoped:
                message = f"no MCP server is called `{server}`: that of the plugin is called `{scoped}`"
                hint = f"its tools are called `mcp__{scoped}__TOOL`"
                self.files.note_together("LDO250", at, message, hint)
            else:
                self.files.unknown_server(at, server, sorted(servers), hint=self._in_settings(server))

    def _in_settings(self, server: str) -> str | None:
        """The hint about a server that settings declare, where none counts."""
        folder = f"{self.around.home.folder}/".removeprefix("/")
        path = f"{folder}{SETTINGS[0]}"
        settings = json_at(self.files.tree, path)
        if settings is None or server not in table_in(settings.data, "mcpServers"):
            return None
        return f"`mcpServers` in `{path}` does, which Claude Code does not read here"

    def _taken(self) -> Iterator[str]:
        """The tools that the file takes away as a whole."""
        for tool, pattern, _ in reading.tool_items(self.text.document, "disallowedTools"):
            if pattern in (None, "", "*"):
                yield tool if tool == EVERY_SERVER else tool.removesuffix("__*")

    def _given(self) -> list[reading.ToolItem] | None:
        """The tools that the file names; None if it names none, and the agent has them all."""
        if "tools" not in self.header:
            return None
        tool_items = list(reading.tool_items(self.text.document, "tools"))
        if any(tool == "*" for tool, _, _ in tool_items):
            return None
        if not tool_items and self.header["tools"] != []:
            what, hint = "names no tool", "leave the key out for every tool, or write `tools: []`"
            if isinstance(switches := self.header["tools"], dict):
                what, hint = "is a table, and Claude Code takes names alone", of_switches(switches) or hint
            message = f"`tools` {what}, so the agent has none"
            self.files.note("LDO150", self._place("tools", of_key=True), message, hint)
        return tool_items

    def _named(self, tool_items: Sequence[reading.ToolItem], tools: SessionTools) -> Iterator[Grant]:
        """The grants of the tools that the file names."""
        servers = self._own_servers()
        for tool, _, place in tool_items:
            if tool.startswith("mcp__"):
                grants = tools.of_server(tool, place)
                yield from (_of_both(grants, tool_items) if server_name(tool) in servers else grants)
            elif tool in LINES and tool not in CALLING | {WORKFLOW}:
                yield from tools.named(tool, place)
        judge(self.files, self.text.document, tool_items, has_others=bool(servers) or self._remembers)
        # The servers of its own file come to an agent beside those of its list.
        for server, (_, place) in servers.items():
            yield from _of_both(tools.of_server(f"mcp__{server}", place), tool_items)

    @property
    def _remembers(self) -> bool:
        return str(self.header.get("memory")) in _MEMORIES

    def _remembering(
        self, tool_items: Sequence[reading.ToolItem] | None, tools: SessionTools
    ) -> Iterator[Grant]:
        """The tools that come with a memory, unless the file names them itself."""
        if tool_items is None or not self._remembers:
            return
        for tool in _REMEMBERING:
            if tool not in {name for name, _, _ in tool_items}:
                yield from tools.named(tool, self._place("memory", of_key=True))

    def _called(
        self, tool_items: Sequence[reading.ToolItem] | None, tools: SessionTools, at: Place
    ) -> tuple[list[AgentCall], Place | None]:
        """The agents that it may call by name, and the place that lets it call them all."""
        calls: list[AgentCall] = []
        everyone = None
        may_call = not CALLING & {*tools.taken} and not tools.settings.denies_call()
        if tool_items is None:
            return calls, at if may_call or _calls_any(SENDING, at, tools) else None
        for tool, agents, place in tool_items:
            if _calls_any(tool, place, tools):
                everyone = everyone or place
            elif tool in CALLING and may_call:
                # What stands in parentheses limits a session of its own; below another one, it is not heeded.
                everyone = everyone or place
                calls.extend(self._calls(agents or "", place))
        return calls, everyone

    def _calls(self, agents: str, place: Place) -> Iterator[AgentCall]:
        """The agents that `Agent(one, other)` names."""
        known = self.around.identities
        for name in (word.strip() for word in agents.split(",")):
            own = f"{self.around.plugin}:{name}"
            written = own if own in known else name
            if written in known or written in BUILT_IN:
                called = known.get(written, written)
                settings = self.around.home.settings
                if not settings.denies_call(called) and not settings.denies_call(name):
                    yield AgentCall(name=called, at=place)
            elif name and name != "*":
                self.files.unknown_agent(place, name, known)


def _calls_any(tool: str, at: Place, tools: SessionTools) -> bool:
    """Whether a tool that starts no agent by its name lets an agent call every one."""
    if tool == SENDING:
        return tool not in tools.taken and tools.settings.has_teams
    return tool == WORKFLOW and any(each.decision != "blocked" for each in tools.named(tool, at))


def declared_in(text: reading.Text) -> Iterator[str]:
    """The servers that the file of an agent declares, and does not only name."""
    own = text.document.data.get("mcpServers")
    for entry in own if isinstance(own, list) else [own]:
        yield from map(str, entry if isinstance(entry, dict) else ())


def _of_both(grants: Iterable[Grant], tool_items: Sequence[reading.ToolItem]) -> Iterator[Grant]:
    """The grants of a server of an agent's own file, each with the change of all that gives its tools."""
    for grant in grants:
        server = server_name(grant.tool)
        listed = dict.fromkeys(
            tool for tool, _, _ in tool_items if tool.startswith("mcp__") and server_name(tool) == server
        )
        out = f"`{excerpt(server)}` out of `mcpServers`"
        if listed:
            out = f"{' and '.join(f'`{excerpt(tool)}`' for tool in listed)} out of `tools`, and {out}"
        yield replace(grant, removal=f"take {out}")


def _names_of_skill(rule: PermissionRule) -> tuple[str, str]:
    """The names of the skill with a rule: that of its folder, and the one in its header."""
    return PurePosixPath(rule.origin).parent.name, str(rule.at.document.data.get("name"))
