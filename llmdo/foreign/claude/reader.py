"""Claude Code: agents in `.claude/agents` and in plugins, permissions in `settings.json`, servers in `.mcp.json`."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, excerpt, finding
from llmdo.base.values import dataclass, field, replace
from llmdo.foreign import reading
from llmdo.foreign import servers as mcp
from llmdo.foreign.claude import AGENTS, SETTINGS
from llmdo.foreign.claude.built_in import TOOLS as BUILT_IN
from llmdo.foreign.claude.built_in import built_in_agents
from llmdo.foreign.claude.settings import HOLDS_BELOW, MODES, Mode, settings_of
from llmdo.foreign.claude.settings import KEYS as PERMISSION_KEYS
from llmdo.foreign.claude.table import INHERITED, TABLE
from llmdo.foreign.lines import Line
from llmdo.foreign.team import MAX_NAME, Agent, AgentCall, Team
from llmdo.foreign.tree import few
from llmdo.graph.toolset import Server
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Source
    from llmdo.foreign.claude.settings import ClaudeSettings
    from llmdo.foreign.team import Grant
    from llmdo.foreign.tree import Tree
    from llmdo.syntax.document import Document

OWN = ".claude/"
COPILOT = ".agent.md"
"""How the names of GitHub Copilot's agents end, which lie in `agents` as well; not in a folder of Claude Code."""
SERVERS = ".mcp.json"
MAX_DEPTH = 10  # five calls, each over the worker that stands for every agent
EVERY_TOOL = "every tool"
EVERY_OTHER_TOOL = "every other tool"
"""Of an agent that names the tools that it does not have."""

KEYS = frozenset(
    {
        "background", "color", "description", "disallowedTools", "effort", "hooks", "initialPrompt", "isolation",
        "maxTurns", "mcpServers", "memory", "model", "name", "omitClaudeMd", "permissionMode", "skills", "tools",
    }
)  # fmt: skip
"""The keys of an agent file."""

IDENTIFYING = frozenset({"description", "name", "tools"})
"""Keys of which an agent has one."""

_FOR_TOOLS = frozenset({"allowed-tools", "allowedTools", "allowed_tools", "permissions", "tool"})
"""Keys that other files have for what an agent file calls `tools`."""
_NOT_IN_PLUGINS = ("hooks", "mcpServers", "permissionMode")
_CALLING = frozenset({"Agent", "Task"})
_LINES = {line.tool: line for line in TABLE}
_ITEM = re.compile(r"[^,()\s\"'][^,()]*(?:\([^()]*\))?")


def read(tree: Tree) -> Team:
    """The agents of a project of Claude Code."""
    paths, problems = few(*tree.find(AGENTS))
    paths = tuple(path for path in paths if path.startswith(OWN) or not path.endswith(COPILOT))
    reader = _ClaudeReader(tree, [*problems])
    texts = [(path, text) for path in paths if (text := reader.text(path))]
    homes = {_home(path) for path, _ in texts}
    reader.problems.extend(
        note for path, note in reader.others.items() if path.startswith(OWN) or _home(path) in homes
    )
    document = reader.json(SERVERS)
    identities = [_identity(path, text.document) for path, text in texts]
    project = _ClaudeProject(
        identities=dict.fromkeys(identities),
        settings=reader.settings(),
        servers=mcp.servers_in(document, "mcpServers") if document else {},
    )
    agents = tuple(
        _AgentReader(reader, project, path, text, name).agent()
        for (path, text), name in zip(texts, identities, strict=True)
    )
    return Team(
        format="claude",
        agents=(*agents, *built_in_agents(agents, project.settings, project.servers)),
        files=tuple(sorted({*reader.files})),
        problems=tuple(reader.problems),
        max_depth=MAX_DEPTH,
    )


@dataclass(frozen=True, slots=True)
class _ClaudeProject:
    """What holds for all agents of a project."""

    identities: Mapping[str, None]
    """In the order of the files."""
    settings: ClaudeSettings
    servers: Mapping[str, tuple[Server, Place]]


@dataclass(slots=True)
class _ClaudeReader:
    """One reading of a project: collects its problems."""

    tree: Tree
    problems: list[Diagnostic]
    files: list[str] = field(default_factory=list)
    others: dict[str, Diagnostic] = field(default_factory=dict)
    """What files are no agents, which matters where there are agents."""

    def text(self, path: str) -> reading.Text | None:
        """The agent file at `path`; None where it is none."""
        source = self._source(path)
        if source is None:
            return None
        text = reading.text(source, KEYS)
        lacking = "no header" if text is None else "neither `name` nor `description`"
        if text is None or not text.document.data.keys() & IDENTIFYING:
            if PurePosixPath(path).stem.lower() != "readme":
                message = f"`{path}` has {lacking}, so it is no agent to Claude Code"
                self.others[path] = finding("LDO152", source.location(), message)
            return None
        self.problems.extend(text.document.problems)
        return text

    def json(self, path: str) -> Document | None:
        """The JSON file at `path`; None where there is none."""
        source = self._source(path)
        if source is None:
            return None
        document = reading.json_with_comments(source)
        self.problems.extend(document.problems)
        return document

    def _source(self, path: str) -> Source | None:
        read = self.tree.read(path)
        if read is None:
            return None
        source, problems = read
        self.files.append(path)
        self.problems.extend(problems)
        return None if problems else source

    def settings(self) -> ClaudeSettings:
        """The permissions of the project, those of the person in it included."""
        documents = []
        for path in SETTINGS:
            document = self.json(path)
            table: object = document.data.get("permissions") if document else None
            if document is None or not isinstance(table, dict):
                continue
            documents.append(document)
            for key in table.keys() - PERMISSION_KEYS:
                self.unknown(Place(document, ("permissions", key), of_key=True), key, PERMISSION_KEYS)
            if table.get("defaultMode", "default") not in MODES:
                place = Place(document, ("permissions", "defaultMode"))
                self.unknown(place, str(table["defaultMode"]), MODES)
        read = settings_of(documents)
        self.unasked(read.mode)
        return read

    def unasked(self, mode: Mode) -> None:
        """Notes a mode in which nothing asks."""
        if mode.name == "bypassPermissions" and mode.at:
            message = "mode `bypassPermissions` never asks for approval"
            hint = "what asks too often can be allowed by name"
            self.problems.append(finding("LDO554", mode.at.location, message, hint=hint))

    def unknown(self, place: Place, name: str, known: Iterable[str], hint: str | None = None) -> None:
        """Notes a name that Claude Code does not know there."""
        message = f"Claude Code does not know `{name}`, so it does nothing"
        hint = hint or did_you_mean(name, known)
        self.problems.append(finding("LDO151", place.location, message, hint=hint))


@dataclass(frozen=True, slots=True)
class _AgentReader:
    """The reading of one agent file."""

    reader: _ClaudeReader
    project: _ClaudeProject
    path: str
    text: reading.Text
    name: str

    @property
    def header(self) -> Mapping[str, object]:
        return self.text.document.data

    def agent(self) -> Agent:
        """The agent that the file declares."""
        header = self.header
        at = self._place("name" if "name" in header else "description", of_key=True)
        self._judge_keys()
        if not isinstance(header.get("name"), str):
            message = f"the agent has no name, so it is called `{self.name}` here, after its file"
            self.reader.problems.append(finding("LDO150", at.location, message))
        given = self._given()
        grants, calls, everyone = self._can(given, at)
        model = header.get("model")
        description = header.get("description")
        return Agent(
            name=self.name,
            at=at,
            path=self.path,
            prompt=self.text.prompt,
            header=header,
            description=description if isinstance(description, str) else None,
            model=model if isinstance(model, str) and model != "inherit" else None,
            grants=grants,
            calls=calls,
            everyone=everyone,
            inherits=given is None,
            but=tuple(tool for tool, _, _ in self._items("disallowedTools")),
        )

    def _place(self, *route: str | int, of_key: bool = False) -> Place:
        return Place(self.text.document, route, of_key)

    @property
    def _plugin(self) -> str | None:
        return _plugin(self.path)

    def _judge_keys(self) -> None:
        for key in self.header:
            if key in _FOR_TOOLS:
                hint = "an agent file says `tools`; without it, the agent has every tool"
                self.reader.unknown(self._place(key, of_key=True), key, KEYS, hint)
            elif reading.misspelt(key, KEYS):
                self.reader.unknown(self._place(key, of_key=True), key, KEYS)
            elif self._plugin and key in _NOT_IN_PLUGINS:
                message = f"`{key}` does nothing in an agent of a plugin"
                self.reader.problems.append(
                    finding("LDO151", self._place(key, of_key=True).location, message)
                )

    def _mode(self) -> Mode:
        name = self.header.get("permissionMode")
        session = self.project.settings.mode
        if self._plugin or not isinstance(name, str) or session.name in HOLDS_BELOW:
            return session
        if name not in MODES:
            self.reader.unknown(self._place("permissionMode"), name, MODES)
            return self.project.settings.mode
        mode = Mode(name, self._place("permissionMode"))
        self.reader.unasked(mode)
        return mode

    def _servers(self) -> Mapping[str, tuple[Server, Place]]:
        """The servers of the project and those that the file itself declares."""
        own = self.header.get("mcpServers")
        if self._plugin or not own:
            return self.project.servers
        servers = dict(self.project.servers)
        if isinstance(own, dict):
            servers.update(mcp.servers_in(self.text.document, "mcpServers"))
        for number, entry in enumerate(own if isinstance(own, list) else ()):
            for name, table in entry.items() if isinstance(entry, dict) else ():
                servers[name] = (mcp.server_of(table), self._place("mcpServers", number))
        return servers

    def _given(self) -> list[tuple[str, str | None, Place]] | None:
        """The tools that the file names; None where it names none, and the agent has them all."""
        value = self.header.get("tools", "*")
        if value in ("*", ["*"]):
            return None
        if value is None or not isinstance(value, str | list) or value == "":
            message = "`tools` has no value that names tools, so it was read as left out: every tool"
            hint = "`tools: []` is no tool"
            at = self._place("tools", of_key=True).location
            self.reader.problems.append(finding("LDO150", at, message, hint=hint))
            return None
        return list(self._items("tools"))

    def _items(self, key: str) -> Iterator[tuple[str, str | None, Place]]:
        """The tools of a list or of a text with commas, each with what stands in its parentheses."""
        value = self.header.get(key)
        items: list[object] = value if isinstance(value, list) else []
        if isinstance(value, str):
            items = _ITEM.findall(value)
        document = reading.with_items(self.text.document, key, _ITEM)
        for number, item in enumerate(items):
            tool, _, what = item.strip().partition("(") if isinstance(item, str) else ("", "", "")
            if tool:
                yield tool.strip(), what.rstrip(")") if what else None, Place(document, (key, number))

    def _can(
        self, given: Sequence[tuple[str, str | None, Place]] | None, at: Place
    ) -> tuple[tuple[Grant, ...], tuple[AgentCall, ...], Place | None]:
        """The tools, the agents that it may call by name, and what lets it call them all."""
        servers, mode = self._servers(), self._mode()
        denied = {tool for tool, what, _ in self._items("disallowedTools") if what is None}
        grants: list[Grant] = []
        calls: list[AgentCall] = []
        everyone = None
        if given is None:
            everyone = None if denied & _CALLING else at
            for tool in INHERITED:
                if tool not in denied:
                    granted = self.project.settings.grants(_LINES[tool], at, mode)
                    name = EVERY_OTHER_TOOL if denied else EVERY_TOOL
                    grants.extend(replace(grant, toolset=name, is_default=True) for grant in granted)
            for server in servers:
                grants.extend(self._of_server(f"mcp__{server}", at, mode, servers, denied))
        for tool, what, place in given or ():
            if tool in denied:
                continue
            if tool.startswith("mcp__"):
                grants.extend(self._of_server(tool, place, mode, servers, denied))
            elif tool not in _LINES:
                message = f"Claude Code has no tool `{tool}`"
                hint = did_you_mean(tool, _LINES)
                self.reader.problems.append(finding("LDO250", place.location, message, hint=hint))
            elif tool not in _CALLING:
                if _LINES[tool].capabilities:
                    grants.extend(self.project.settings.grants(_LINES[tool], place, mode))
            elif what is None:
                everyone = everyone or place
            else:
                calls.extend(self._calls(what, place))
        return tuple(grants), tuple(calls), everyone

    def _of_server(
        self,
        name: str,
        place: Place,
        mode: Mode,
        servers: Mapping[str, tuple[Server, Place]],
        denied: set[str],
    ) -> Iterator[Grant]:
        server = name.removeprefix("mcp__").partition("__")[0]
        if server not in servers:
            message = f"no file of this project declares the MCP server `{server}`"
            hint = did_you_mean(server, servers) or "it may come from a person's own configuration"
            self.reader.problems.append(finding("LDO250", place.location, message, hint=hint))
        if name in denied or f"mcp__{server}" in denied:
            return
        known = servers[server][0] if server in servers else Server()
        made = mcp.grant(name, known, place, "needs_approval", "")
        line = Line(name, tuple(map(str, made.capabilities)), "needs_approval", "open", "")
        for grant in self.project.settings.grants(line, place, mode):
            yield replace(grant, server=known)

    def _calls(self, what: str, place: Place) -> Iterator[AgentCall]:
        """The agents that `Agent(one, other)` names."""
        known = self.project.identities
        for name in (word.strip() for word in what.split(",")):
            own = f"{self._plugin}:{name}"
            if own in known or name in known:
                yield AgentCall(name=own if own in known else name, at=place)
            elif name in BUILT_IN:
                yield AgentCall(name=name, at=place)
            elif name:
                message = f"there is no agent `{name}` in this project"
                hint = did_you_mean(name, known)
                self.reader.problems.append(finding("LDO250", place.location, message, hint=hint))


def _identity(path: str, document: Document) -> str:
    """What Claude Code calls an agent: its name, after the plugin that it comes with."""
    name = document.data.get("name")
    own = name.strip() if isinstance(name, str) and name.strip() else PurePosixPath(path).stem
    plugin = _plugin(path)
    return excerpt(f"{plugin}:{own}" if plugin else own, MAX_NAME)


def _home(path: str) -> str:
    """The folder of agents that a file lies in."""
    above, agents, _ = f"/{path}".partition("/agents/")
    return above + agents


def _plugin(path: str) -> str | None:
    """The plugin that an agent file belongs to; None for one of the project itself."""
    above, agents, _ = f"/{path}".partition("/agents/")
    folder = above.rpartition("/")[2]
    return folder if agents and folder not in ("", ".claude") else None
