"""The tools that a file of GitHub Copilot names: aliases, tools of VS Code, and those of servers."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.base.values import dataclass, replace
from llmdo.features.copilot.table import TABLE
from llmdo.foreign import servers as mcp
from llmdo.foreign.lines import Line
from llmdo.foreign.team import MAX_NAME, Grant, capability_of
from llmdo.graph.described import Server

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.syntax.document import Place

EVERY_TOOL = "every tool"
DELEGATES = ("agent.delegate",)
UNATTENDED = "Copilot's cloud agent runs unattended"
ASKS = "VS Code, where no setting says anything"
ON_THE_COMMAND_LINE = "Copilot's command line, which asks"
THERE_ALONE = " on the command line"
CLOUD, EDITOR, COMMAND_LINE = "cloud", "editor", "command line"
"""The environments of a tool: text that an agent reads in one of them steers no run in the other."""

SERVERS = ("github", "playwright")
"""The built-in MCP servers of the cloud agent."""

_OTHER_NAMES = {
    "apply_patch": "edit",
    "bash": "execute",
    "create": "edit",
    "custom-agent": "agent",
    "glob": "search",
    "grep": "search",
    "manage_todo_list": "todo",
    "multiedit": "edit",
    "new": "vscode/newWorkspace",
    "notebookedit": "edit",
    "notebookread": "read",
    "powershell": "execute",
    "readcelloutput": "read/readNotebookCellOutput",
    "rg": "search",
    "runcommands": "execute/*",
    "runnotebooks": "execute/runNotebookCell",
    "runtasks": "execute/createAndRunTask",
    "shell": "execute",
    "str_replace": "edit",
    "str_replace_editor": "edit",
    "task": "agent",
    "todowrite": "todo",
    "view": "read",
    "web_fetch": "web",
    "web_search": "web",
    "webfetch": "web",
    "websearch": "web",
    "write": "edit",
}
"""The names of tools as aliases, in the command line and in older versions of VS Code, in lower case."""
_ON_COMMAND_LINE = {"editfiles": "edit", "runcommands": "execute"}
"""The aliases for tools of VS Code that the command line has under the same names, in lower case."""
_NO_ALIAS = "no alias"
_THERE_ALONE = {
    "file_search": "search",
    "grep_search": "search",
    "read_file": "read",
    "semantic_search": "search",
    **dict.fromkeys(
        (
            "ask_user", "list_agents", "list_bash", "list_powershell", "read_agent", "read_bash", "read_powershell",
            "show_file", "skill", "sql", "stop_bash", "stop_powershell", "update_todo", "write_agent", "write_bash",
            "write_powershell",
        ),
        _NO_ALIAS,
    ),
}  # fmt: skip
"""The aliases for names that the command line takes, and VS Code does not.

Watched with Copilot CLI 1.0.102: it offers what `read` and `search` do, unasked. What has no alias is in
https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-command-reference#tool-availability-values
or was offered there, and does nothing without what starts a shell or an agent, or at all.
"""
_EXTENSION = re.compile(r"[\w-]+\.[\w-]+")
"""A publisher and its extension of VS Code, whose tools are unknown and are there alone."""
LONG_NAME = re.compile(r"mcp_+([!-~]+)")
"""The name of a server's tool as models see it, in VS Code or in other clients."""
_SCRIPT = re.compile(
    r"(?:\.{1,2}/)?(?:[\w.@-]+/)*[\w.-]+\.(?:bash|bat|cjs|cmd|js|mjs|ps1|py|rb|sh|ts|zsh)", re.IGNORECASE
)
"""The path of a script, by its ending."""
_NO_LABEL = re.compile(r"[^a-z0-9_.-]+")
"""What VS Code replaces in the name of a server there; it also shortens it."""
_LEAST = 3  # letters of a server's name that stand for it
_OF_GITHUB = re.compile(
    r"(?im)^github$|\bgithub-mcp-server|\bapi\.githubcopilot\.com/mcp|@modelcontextprotocol/server-github\b"
)
"""The name, image, package or address of GitHub's server."""
_ALL_OF = {
    "@modelcontextprotocol/server-filesystem": frozenset({
        "create_directory", "directory_tree", "edit_file", "get_file_info", "list_allowed_directories",
        "list_directory", "list_directory_with_sizes", "move_file", "read_file", "read_media_file",
        "read_multiple_files", "read_text_file", "search_files", "write_file",
    }),
    "@modelcontextprotocol/server-memory": frozenset({
        "add_observations", "create_entities", "create_relations", "delete_entities", "delete_observations",
        "delete_relations", "open_nodes", "read_graph", "search_nodes",
    }),
    "@modelcontextprotocol/server-sequential-thinking": frozenset({"sequentialthinking"}),
}  # fmt: skip
"""All tools of packages that are often the only server of a project."""
_EXTENSIONS = "https://code.visualstudio.com/api/extension-guides/ai/tools"
_OLD_SETS = frozenset({"new", "runcommands", "runnotebooks", "runtasks"})

_BY_SET: dict[str, list[Line]] = {}
_BY_NAME: dict[str, list[Line]] = {}
for _line in TABLE:
    if "TOOL" not in _line.tool:
        _tool = _line.tool.partition(":")[0].casefold()
        _BY_SET.setdefault(_tool.partition("/")[0], []).append(_line)
        _BY_NAME.setdefault(_tool.rpartition("/")[2], []).append(_line)
_OF_SERVERS = {line.tool.partition("/")[0]: line for line in TABLE if line.tool.endswith("/TOOL")}

NAMES = frozenset(
    {
        name
        for line in TABLE
        if "TOOL" not in line.tool
        for tool in [line.tool.partition(":")[0]]
        for name in (line.tool, tool.partition("/")[0], tool.rpartition("/")[2])
    }
)
"""The possible names of tools in a file, for suggestions."""


@dataclass(frozen=True, slots=True)
class Where:
    """The environments of an agent: unattended in GitHub's cloud, and in an editor that asks."""

    cloud: bool
    editor: bool


IN_EDITOR = Where(cloud=False, editor=True)


@dataclass(frozen=True, slots=True)
class KnownServer:
    """An MCP server that a file declares, and the environments in which agents have it."""

    server: Server
    in_cloud: bool
    """Whether the file of an agent of the cloud declares it, which only that agent heeds."""
    on_command_line: bool = False
    """Whether the command line has it as well, for all agents."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tables for the tools of one agent."""

    where: Where
    servers: Mapping[str, KnownServer]

    def every(self, at: Place) -> Iterator[Grant]:
        """The grants of an agent that names no tools."""
        for line in TABLE:
            if "TOOL" not in line.tool:
                yield from self._grant(line, at, EVERY_TOOL)
        for name in SERVERS:
            if not self._is_replaced(name):
                yield from self._grant(_OF_SERVERS[name], at, EVERY_TOOL)
        for name in self.servers:
            yield from self._of_server(name, at)

    def lines(self, name: str) -> tuple[Line, ...]:
        """The lines of the table for a name; none for tools that are not Copilot's."""
        key = _OTHER_NAMES.get(name.casefold(), name).casefold()
        if key in _BY_SET:
            return tuple(_BY_SET[key])
        of_set, slash, tool = key.partition("/")
        if slash and tool == "*" and (of_set in _OLD_SETS or of_set in _BY_SET):
            of_set, _, single = _OTHER_NAMES.get(of_set, of_set).partition("/")
            # Aliases are the cloud agent's as well, and sets with a star are of VS Code alone.
            tools = [line for line in _BY_SET[of_set] if "/" in line.tool]
            return tuple(line for line in tools if single in ("", "*") or line.tool == f"{of_set}/{single}")
        if slash and (of_set in _OLD_SETS or of_set in _BY_SET):
            return tuple(_BY_NAME.get(_OTHER_NAMES.get(tool, tool).rpartition("/")[2].casefold(), ()))
        return () if slash else tuple(_BY_NAME.get(key, ()))

    def server_of(self, name: str) -> str | None:
        """The server or extension before a tool's name; a server alone means all of its tools."""
        server, slash, _ = name.rpartition("/")
        if server.casefold() in _BY_SET or self.is_script(name):
            return None
        wanted = server if slash else name
        known = (*self.servers, *(built_in for built_in in SERVERS if built_in not in self.servers))
        same = next((each for each in known if each.casefold() == wanted.casefold()), None)
        return same or (server if slash else None)

    def is_script(self, name: str) -> bool:
        """Whether a name is that of a file with a program, and of no server that a file declares."""
        owner = name.rpartition("/")[0] or name
        near = {each.casefold() for each in (*self.servers, *SERVERS)}
        return _SCRIPT.fullmatch(name) is not None and owner.casefold() not in near

    def of_long_name(self, name: str) -> tuple[str, str] | None:
        """The server and its tool in a name such as `mcp_SERVER_TOOL`, in which a beginning stands for the server."""
        if (parts := LONG_NAME.fullmatch(name)) is None:
            return None
        rest = parts[1].lower()
        labels = {each: _NO_LABEL.sub("_", each.lower()) for each in (*self.servers, *SERVERS)}
        ends = {each: rest.rfind("_", 0, _alike(label, rest) + 1) for each, label in labels.items()}
        server = max(ends, key=lambda each: (ends[each], -len(each)))
        tool = parts[1][ends[server] :].lstrip("_")
        return (server, tool) if tool and ends[server] >= _LEAST else None

    def takes_alone(self, name: str) -> bool:
        """Whether the name of a server's tool stands for it without the server: in VS Code, where no other runs it.

        By `toToolAndToolSetEnablementMap` in https://github.com/microsoft/vscode, a tool goes by its name alone too.
        """
        return not self.where.cloud and not LONG_NAME.fullmatch(name)

    def may_have(self, server: str, tool: str) -> bool:
        """Whether a server that is near may have a tool: of a well-known package only what it has."""
        known = self.servers.get(server)
        words = (word.rpartition("@")[0] or word for word in (known.server.args if known else ()))
        tools = next((_ALL_OF[word] for word in words if word in _ALL_OF), None)
        return tools is None or tool in tools

    def servers_near(self, names: Iterable[str]) -> dict[str, bool]:
        """The servers that files declare or `names` are of, and whether each is GitHub's."""
        servers = {name: known.server for name, known in self.servers.items()}
        for name in names:
            server = None if self.lines(name) else self.server_of(name)
            if server and not _EXTENSION.fullmatch(server):
                servers.setdefault(server, Server())
        return {
            name: _OF_GITHUB.search("\n".join((name, each.command or "", *each.args, each.url or "")))
            is not None
            for name, each in servers.items()
        }

    def of(self, name: str, at: Place) -> Iterator[Grant]:
        """The grants of a name in `tools`."""
        lines = self.lines(name)
        server = None if lines else self.server_of(name)
        if lines:
            for line in lines:
                yield from self._grant(line, at)
            if not self.where.editor:
                yield from self._on_command_line(_ON_COMMAND_LINE.get(name.casefold(), ""), at)
        elif alias := self.there_alone(name):
            yield from self._on_command_line(alias, at, excerpt(name, MAX_NAME))
        elif server and server in self.servers:
            yield from self._of_server(server, at, is_alone="/" not in name)
            if server in SERVERS and not self._is_replaced(server) and "/" in name:
                yield from self._grant(_OF_SERVERS[server], at, f"{server} in the cloud")
        elif server and server in SERVERS:
            if "/" in name:
                yield from self._grant(_OF_SERVERS[server], at, server)
            yield from self._from_elsewhere(server, at, f"{server} in VS Code")
        elif server and self.where.cloud and not _EXTENSION.fullmatch(server):
            grant = mcp.grant(excerpt(server, MAX_NAME), Server(), at, "allowed", UNATTENDED)
            tool = grant.tool if name.endswith("/*") else excerpt(name, MAX_NAME)
            yield replace(grant, tool=tool, runs_in=CLOUD)
        elif server and not _EXTENSION.fullmatch(server):
            yield from self._from_elsewhere(server, at, f"{excerpt(server, MAX_NAME)} in VS Code")
        elif not self.is_script(name):  # in the cloud it is ignored
            yield from self._from_elsewhere(server or name, at)

    def delegates(self, name: str) -> bool:
        """Whether the name means the tool that calls other agents."""
        return any(line.capabilities == DELEGATES for line in self.lines(name))

    def delegates_in_cloud(self, name: str) -> bool:
        """Whether the name means that tool of the cloud agent and of the command line."""
        return self.where.cloud and any(line.tool == "agent" for line in self.lines(name))

    def knows(self, name: str) -> bool:
        """Whether the name is a tool of Copilot, or declared by a file."""
        server = self.server_of(name)
        is_own = bool(self.lines(name)) or bool(self.there_alone(name))
        return is_own or server in self.servers or server in SERVERS

    def lacks_star(self, name: str) -> str | None:
        """The server of the cloud or the command line whose name alone this is, which brings no tool there."""
        server = None if "/" in name or not self.where.cloud or self.lines(name) else self.server_of(name)
        known = self.servers.get(server or "")
        is_there = known and (known.in_cloud or known.on_command_line)
        return server if server in SERVERS or is_there else None

    def has_in_editor(self, server: str) -> bool:
        """Whether VS Code may have a server: none of an agent's own header."""
        return self.where.editor and not (server in self.servers and self.servers[server].in_cloud)

    def there_alone(self, name: str) -> str:
        """The alias for a name that the command line alone takes; empty for others, and in VS Code alone."""
        return _THERE_ALONE.get(name.casefold(), "") if self.where.cloud else ""

    def _is_replaced(self, name: str) -> bool:
        """Whether the file of an agent of the cloud declares a server with the name of a built-in one."""
        return name in self.servers and self.servers[name].in_cloud

    def _grant(self, line: Line, at: Place, toolset: str | None = None) -> Iterator[Grant]:
        in_editor = "/" in line.tool and line not in _OF_SERVERS.values()
        if line.capabilities not in ((), DELEGATES) and (
            self.where.editor if in_editor else self.where.cloud
        ):
            tool = line.tool.partition(":")[0].removesuffix("/TOOL")
            grant = line.grant(at, ASKS if in_editor else UNATTENDED, toolset=toolset, tool=tool)
            runs_in = EDITOR if in_editor else CLOUD
            yield replace(grant, is_default=toolset == EVERY_TOOL, runs_in=runs_in)

    def _on_command_line(self, alias: str, at: Place, reader: str = "") -> Iterator[Grant]:
        """The grants of an alias there: it asks, but before a `reader`, a name for what only reads."""
        for line in _BY_SET.get(alias, ()):
            if line.tool == alias:
                tool = reader or alias
                grant = line.grant(at, ON_THE_COMMAND_LINE, toolset=f"{tool}{THERE_ALONE}", tool=tool)
                decision = grant.decision if reader else "needs_approval"
                yield replace(grant, decision=decision, runs_in=COMMAND_LINE)

    def _of_server(self, name: str, at: Place, *, is_alone: bool = False) -> Iterator[Grant]:
        """The grants of a declared server; its name `is_alone` where no `/*` follows, as VS Code alone takes it.

        By `getToolSetAliases` in https://github.com/microsoft/vscode. The cloud documents `SERVER/*`, and the command
        line takes a name alone for a tool's, also of a server in the agent's own header (watched with 1.0.102).
        """
        known = self.servers[name]
        in_cloud = self.where.cloud and not is_alone
        if known.in_cloud and is_alone:
            yield from self._from_elsewhere(name, at, f"{excerpt(name, MAX_NAME)} in VS Code")
        elif known.in_cloud and in_cloud:
            grant = mcp.grant(excerpt(name, MAX_NAME), known.server, at, "allowed", UNATTENDED)
            yield replace(grant, runs_in=CLOUD)
        elif not known.in_cloud and self.where.editor:
            grant = mcp.grant(excerpt(name, MAX_NAME), known.server, at, "needs_approval", ASKS)
            yield replace(grant, runs_in=EDITOR)
        elif known.on_command_line and in_cloud:
            grant = mcp.grant(
                excerpt(name, MAX_NAME), known.server, at, "needs_approval", ON_THE_COMMAND_LINE
            )
            yield replace(grant, runs_in=COMMAND_LINE)

    def _from_elsewhere(self, name: str, at: Place, toolset: str | None = None) -> Iterator[Grant]:
        """The grant of what an extension, a set of tools or a person's server may bring to VS Code: it is unknown."""
        if self.where.editor:
            able = (capability_of(name), "data.untrusted")
            line = Line(excerpt(name, MAX_NAME), able, "needs_approval", "open", _EXTENSIONS)
            yield replace(line.grant(at, ASKS, toolset=toolset), runs_in=EDITOR)


def on_command_line_alone(name: str) -> bool:
    """Whether the command line takes a name that VS Code does not."""
    return name.casefold() in _THERE_ALONE


def _alike(first: str, second: str) -> int:
    """The number of letters with which two texts begin alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
