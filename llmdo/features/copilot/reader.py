"""GitHub Copilot: custom agents and prompt files in Markdown; servers in them and in `mcp.json`."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, field, replace
from llmdo.features.copilot import (
    AGENT,
    LOOKED_AT,
    MODE,
    PAGES,
    PROMPT,
    headers,
    keys,
    own_servers,
    seen_headers,
)
from llmdo.features.copilot.client import answered, answering, hook_events, server_start, session_events
from llmdo.features.copilot.editor_settings import extensions_of, is_nested_in_editor
from llmdo.features.copilot.elsewhere import note_elsewhere
from llmdo.features.copilot.handoffs import kept
from llmdo.features.copilot.keys import KEYS, PROMPT_KEYS, names_tools
from llmdo.features.copilot.names import FOLDER, agents_in, is_below, name_of, names_in, note_inexact, stem_of
from llmdo.features.copilot.prompt_folders import patterns_of
from llmdo.features.copilot.quoted import bare, grants_of, note_quoted
from llmdo.features.copilot.tools import IN_EDITOR, KnownServer, Tools, Where
from llmdo.features.copilot.unknown_names import UnknownNames
from llmdo.features.copilot.variants import (
    BUILT_IN,
    GENERAL,
    NESTED_ALONE,
    apart,
    built_in_agents,
    in_editor,
    with_depths,
)
from llmdo.foreign import reading
from llmdo.foreign import servers as mcp
from llmdo.foreign.files import Files
from llmdo.foreign.team import Agent, AgentCall, Team
from llmdo.policy.authority import STRICTNESS
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llmdo.foreign.team import Unread
    from llmdo.foreign.tree import Tree

FOR_COMMAND_LINE = (".mcp.json", ".github/mcp.json")
DECLARED_SERVERS = (
    (".vscode/mcp.json", "servers"),
    *((path, "mcpServers") for path in FOR_COMMAND_LINE),
)
"""The files of a project that declare servers for an editor and for the command line, each with its table."""

_OF_CLAUDE = ".claude/agents/*.md"
"""The agents of Claude Code, which VS Code reads as its own."""

SESSION = "main-session"
"""The agent that a person talks to, where files of the project are about it."""
_ITEM = re.compile(r"[^,\s\"'\[\]][^,\"'\[\]]*")


def read(tree: Tree) -> Team:
    """The agents and prompts of a project of GitHub Copilot."""
    files = Files(tree, "Copilot")
    reader = _CopilotReader(files)
    paths = files.find([*LOOKED_AT, *patterns_of(tree)])
    texts = [*reader.loaded(paths)]
    note_elsewhere(files, paths)
    is_nested = bool(texts) and is_nested_in_editor(files) and len(texts) > 1
    servers = dict(reader.servers()) if texts else {}
    project = _CopilotProject(servers, names_in(texts), agents_in(texts), is_nested)
    readers = [_CopilotFileReader(reader, project, path, text) for path, text in texts]
    for file in readers:
        file.judge()
    read = [agent for file in readers if (agent := file.agent(file.where))]
    own = {agent.path for agent in read}
    there = [file for file in readers if not file.where.cloud or file.calls_in_editor_alone]
    only = {agent.name for file in there if (agent := file.agent(IN_EDITOR))}
    has_variants = only or any(file.header.get("handoffs") for file in readers)
    everywhere = [file for file in readers if file.where.cloud and file.where.editor] if has_variants else []
    in_editor_by_name = {agent.name: agent for file in everywhere if (agent := file.agent(IN_EDITOR))}
    has_agents = any(file.where.cloud and file.path.startswith(FOLDER) for file in readers)
    sessions = tuple(reader.sessions(has_agents=has_agents))
    elsewhere = {name_of(file.path, file.text.document) for file in there if file.calls_on_command_line}
    called = tuple(in_editor(read, in_editor_by_name, only, sessions, elsewhere, is_nested=is_nested))
    own_agents = tuple(with_depths(tuple(apart(called)), only, is_nested=is_nested))
    answers = answering(files, has_agents=has_agents)
    agents = (*own_agents, *built_in_agents(own_agents, project.servers))
    return Team(
        format="copilot",
        # No hook answers whether a server starts.
        agents=tuple(replace(answered(agent, answers), server_start=server_start(agent)) for agent in agents),
        files=files.paths,
        problems=(*dict.fromkeys(files.problems), *reader.unknown.problems(extensions_of(files.tree))),
        starts=min(map(server_start, agents), key=STRICTNESS.__getitem__, default="needs_approval"),
        max_depth=max((agent.max_depth or 0 for agent in own_agents), default=1),
        without_tools=tuple(file.path for file in readers if file.path not in own),
    )


@dataclass(frozen=True, slots=True)
class _CopilotProject:
    """The common data of all agents of a project."""

    servers: Mapping[str, KnownServer]
    names: Mapping[str, str]
    """The agents, by name and by file, in lower case."""
    texts: Mapping[str, reading.Text]
    """The files of agents, by name."""
    is_nested: bool
    """Whether a setting of VS Code lets an agent that another calls call others in turn."""


@dataclass(slots=True)
class _CopilotReader:
    """One reading of a project: collects its problems."""

    files: Files
    unknown: UnknownNames = field(default_factory=UnknownNames)
    unloaded: set[str] = field(default_factory=set)
    """The agents of VS Code alone, as no other environment can read their headers."""
    unread: dict[str, Unread] = field(default_factory=dict)
    """By a file of which VS Code does not read the whole header, what keeps its tools unread."""
    _of_claude: frozenset[str] | None = None

    def loaded(self, paths: Sequence[str]) -> Iterator[tuple[str, reading.Text]]:
        """The agents and prompts that some environment loads; the others are noted, with what keeps them unloaded."""
        modes = [path for path in paths if path.endswith(MODE) and not path.startswith(FOLDER)]
        sources = [*filter(None, map(self.files.source, modes))]
        agents = [path for path in paths if path not in modes and not path.endswith(PROMPT)]
        self.files.problems.extend(headers.chat_modes(sources, KEYS, self._unknown_in, agents))
        for path in paths:
            if path in modes or not (text := self.text(path)):
                continue
            target = text.document.data.get("target")
            seen = (
                None
                if target == "github-copilot" or path in self.unloaded or is_below(path)
                else seen_headers.as_seen(text)
            )
            is_read = path.endswith(PROMPT) or path in self.unloaded
            keys = PROMPT_KEYS if path.endswith(PROMPT) else KEYS
            straight = None if seen else seen_headers.straight(text, keys)
            fault = None if is_read else headers.fault(text, seen, straight, is_in_editor=not is_below(path))
            if fault:
                self.unloaded.add(path)
            elif seen:
                fault = seen_headers.unread(seen, text.document.source)
            if fault:
                seen_headers.note(self.files, text, fault, seen, is_straight=straight is not None)
            if fault and (target == "github-copilot" or is_below(path)):
                continue
            if fault and seen:
                self.unread[path] = seen_headers.unread_tools(seen, fault)
                text = seen_headers.text_of(seen, keys)
            if straight and not fault:
                seen_headers.note_straight(self.files, text)
            yield path, straight or text

    def _unknown_in(self, modes: Iterable[str]) -> UnknownNames:
        """The names of tools in chat modes that are none, were they agents; nothing else of that is noted."""
        reader = _CopilotReader(Files(self.files.tree, self.files.product))
        project = _CopilotProject(dict(reader.servers()), {}, {}, is_nested=False)
        for path in modes:
            if text := reader.files.header(path, KEYS):
                _CopilotFileReader(reader, project, headers.as_agent(path), text).judge_names()
        return reader.unknown

    def text(self, path: str) -> reading.Text | None:
        """The header and the prompt of a file; None if it is neither an agent nor a prompt with a header."""
        is_prompt = path.endswith(PROMPT)
        source = None if is_prompt else self.files.source(path)
        if source and (closed := headers.closed(source)):
            self.files.problems.append(
                headers.without_an_end(source, closed, is_in_editor=not is_below(path))
            )
            self.unloaded.add(path)
            return None if is_below(path) else reading.text(closed, KEYS)
        if not is_prompt and PurePosixPath(path).name.lower() not in PAGES:
            return self.files.text_or_prompt(path, KEYS)  # as VS Code takes it
        text = self.files.header(path, PROMPT_KEYS if is_prompt else KEYS)
        self.files.problems.extend(text.document.problems if text else headers.late(self.files, path))
        return text

    def sessions(self, *, has_agents: bool) -> Iterator[Agent]:
        """The session of Copilot's cloud agent and of its command line, if the project has hooks for it."""
        events, at = session_events(self.files, has_agents=has_agents)
        if at:
            yield Agent(
                name=SESSION,
                at=at,
                description="The session of GitHub Copilot.",
                grants=tuple(Tools(Where(cloud=True, editor=True), dict(self.servers())).every(at)),
                calls=(AgentCall(name=GENERAL, at=at),),
                events=events,
                everyone=at,
                inherits=True,
                is_callable=False,
            )

    def is_of_claude(self, key: str) -> bool:
        """Whether an agent of Claude Code has that name or file, in lower case; its own reader notes its oddities."""
        if self._of_claude is None:
            names: set[str] = set()
            for path in self.files.tree.find([_OF_CLAUDE])[0]:
                read = self.files.tree.read(path)
                text = reading.text(read[0], ("name",)) if read else None
                names.update((stem_of(path), name_of(path, text.document) if text else ""))
            self._of_claude = frozenset(name.casefold() for name in names)
        return key in self._of_claude

    def servers(
        self, declared: Iterable[tuple[str, str]] = DECLARED_SERVERS
    ) -> Iterator[tuple[str, KnownServer]]:
        """The servers in files, each with the key of its table; by default those of the project for all agents."""
        for path, table in declared:
            if document := self.files.json(path):
                known = mcp.servers_in(document, table)
                mcp.judge(self.files, known)
                for name, (server, _) in known.items():
                    on_command_line = path in FOR_COMMAND_LINE
                    yield name, KnownServer(server, in_cloud=False, on_command_line=on_command_line)


@dataclass(frozen=True, slots=True)
class _CopilotFileReader:
    """The reading of one file."""

    reader: _CopilotReader
    project: _CopilotProject
    path: str
    text: reading.Text

    @property
    def header(self) -> Mapping[str, object]:
        return self.text.document.data

    @property
    def _is_prompt(self) -> bool:
        return self.path.endswith(PROMPT)

    def judge(self) -> None:
        """Notes the oddities of the file."""
        keys.judge(self.reader.files, self.text.document, is_prompt=self._is_prompt)
        if self._is_in_vs_code_alone:
            headers.judge_star(self.reader.files, self.text.document, is_prompt=self._is_prompt)
        if self._is_prompt:
            self._base()
        elif self.where.cloud:
            own_servers.judge(self.reader.files, self.text.document)
        self.judge_names()
        if not self._is_in_vs_code_alone:
            note_quoted(self.reader.files, self._given() or (), self.header)

    def judge_names(self) -> None:
        """Notes the names of tools that are none."""
        self.reader.unknown.add(Tools(self.where, self._servers()), self._given() or ())

    def agent(self, where: Where) -> Agent | None:
        """The agent in the file, as it runs there; None for a prompt, which then has the tools of its agent."""
        header = self.header
        key = next((each for each in ("name", "description") if each in header), None)
        at = self._place(key, of_key=True) if key else self._place(of_key=True)
        tools = Tools(where, self._servers())
        tool_names = self._given()
        if self._is_prompt and tool_names is None:
            return None
        calls, everyone = self._calls(tools, tool_names, at)
        description, model = header.get("description"), header.get("model")
        may_be_called = not self._is_prompt and keys.may_be_called(header)
        closed_by = () if may_be_called else keys.closed_by(header)
        handoffs = tuple(self._handoffs())
        return Agent(
            name=name_of(self.path, self.text.document),
            at=at,
            path=self.path,
            prompt=self.text.prompt,
            header=header,
            description=description if isinstance(description, str) else None,
            model=model if isinstance(model, str) else None,
            grants=tuple(tools.every(at) if tool_names is None else grants_of(tools, tool_names, header)),
            calls=(*calls, *handoffs),
            hands_over=self._keys_of_handoffs if handoffs else "",
            events=hook_events(self.reader.files, self._place("hooks")),
            everyone=everyone,
            inherits=tool_names is None,
            unread=self.reader.unread.get(self.path),
            nested_where=NESTED_ALONE if where.editor and not self.project.is_nested else "",
            is_entry=not closed_by,
            is_callable=may_be_called,
            closed_by=closed_by,
        )

    def _place(self, *route: str | int, of_key: bool = False) -> Place:
        return Place(self.text.document, route, of_key)

    @property
    def where(self) -> Where:
        """The environments in which it can run."""
        target = self.header.get("target")
        if self._is_in_vs_code_alone:
            return IN_EDITOR
        return Where(target != "vscode", target != "github-copilot")

    @property
    def _is_in_vs_code_alone(self) -> bool:
        """Whether VS Code alone loads it: the command line heeds no `target` (watched with 1.0.102)."""
        return self._is_prompt or self.path in self.reader.unloaded

    @property
    def calls_in_editor_alone(self) -> bool:
        """Whether it has a tool to call agents in VS Code, and none in the cloud or on the command line."""
        tools, given = Tools(self.where, {}), self._given()
        names = [name for name, _ in given or () if tools.delegates(name)]
        return bool(names) and not any(map(tools.delegates_in_cloud, names))

    @property
    def calls_on_command_line(self) -> bool:
        """Whether the command line, which heeds no `target`, gives it a tool to call agents."""
        tools, given = Tools(Where(cloud=True, editor=True), {}), self._given()
        calls = given is None or any(map(tools.delegates_in_cloud, bare(given, self.header)))
        return calls and not self._is_in_vs_code_alone

    def _servers(self) -> Mapping[str, KnownServer]:
        """The servers of the project, of its plugin and of the file itself, which editors ignore."""
        own = self.header.get("mcp-servers")
        in_cloud = self.header.get("target") != "vscode"
        servers = dict(self.project.servers)
        plugin, is_within, _ = self.path.partition("/agents/")
        if is_within and plugin.startswith("plugins/"):
            servers.update(self.reader.servers([(f"{plugin}/.mcp.json", "mcpServers")]))
        if isinstance(own, dict):
            for name, (server, _) in mcp.servers_in(self.text.document, "mcp-servers").items():
                servers[name] = KnownServer(server, in_cloud=in_cloud)
        for entry in own if isinstance(own, list) else ():
            for name, table in entry.items() if isinstance(entry, dict) else ():
                servers[name] = KnownServer(mcp.server_of(table), in_cloud=in_cloud)
        return servers

    def _given(self) -> list[tuple[str, Place]] | None:
        """The tools that the file names; None if it names none, and there are all of them."""
        value = self.header.get("tools", "*")
        is_every = value == "*" or (isinstance(value, list) and "*" in value)
        if is_every and not (self._is_in_vs_code_alone and "tools" in self.header):
            return None
        if value == "*":
            return []
        if not names_tools(value):
            # Without any value it is one of VS Code alone.
            is_empty = value is None or (value == "" and self._is_in_vs_code_alone)
            headers.note_nameless(self.reader.files, self._place("tools", of_key=True), is_empty=is_empty)
            return [] if is_empty else None
        items = value if isinstance(value, list) else _ITEM.findall(value)
        document = reading.with_items(self.text.document, "tools", _ITEM)
        return [
            (item.strip(), Place(document, ("tools", number)))
            for number, item in enumerate(items)
            if isinstance(item, str) and item.strip() not in ("", "*")
        ]

    @property
    def _keys_of_handoffs(self) -> str:
        """The key of its handoffs as a hint names it."""
        base = self._base() if self._is_prompt else None
        if base is None:
            return "its `handoffs`"
        return f"the `handoffs` of `{name_of(base.document.source.path, base.document)}`"

    def _base(self) -> reading.Text | None:
        """The file of the agent that a prompt runs in; None for one that is built in, or that VS Code does not have.

        One that does not exist is noted.
        """
        names = [
            self._resolved(name, self._place(key))
            for key in ("agent", "mode")
            if isinstance(name := self.header.get(key), str)
        ]
        text = self.project.texts.get(names[0] or "") if names else None
        return text if text and text.document.data.get("target") != "github-copilot" else None

    def _calls(
        self, tools: Tools, tool_names: Sequence[tuple[str, Place]] | None, at: Place
    ) -> tuple[list[AgentCall], Place | None]:
        """The agents that it may call by name, and the place that lets it call them all."""
        by = (
            at
            if tool_names is None
            else next((place for name, place in tool_names if tools.delegates(name)), None)
        )
        listed = None if self._is_prompt else self.header.get("agents")
        if by is None:
            if listed:
                message = "`agents` does nothing without the tool `agent`"
                hint = "add `agent` to `tools`, or remove `agents`"
                self.reader.files.note("LDO151", self._place("agents", of_key=True), message, hint)
            return [], None
        if not isinstance(listed, list) or "*" in listed:
            in_cloud = tool_names is None or any(tools.delegates_in_cloud(name) for name, _ in tool_names)
            return [AgentCall(name=GENERAL, at=by)] if in_cloud and tools.where.cloud else [], by
        calls = []
        for number, item in enumerate(listed):
            place = self._place("agents", number)
            if isinstance(item, str) and item.strip() and (name := self._resolved(item, place)):
                calls.append(AgentCall(name=name, at=place))
        if self.where.editor:
            note_inexact(self.reader.files, calls, self.project.names)
        return calls, None

    def _handoffs(self) -> Iterator[AgentCall]:
        """The agents that a person may hand over to by a button: of a prompt, those of the agent that it runs in."""
        text = self._base() if self._is_prompt else self.text
        for name, place in kept(self.reader.files, text.document) if text else ():
            if resolved := self._resolved(name, place):
                yield AgentCall(
                    name=resolved, at=place, decision="needs_approval", origin="a button of a handoff"
                )

    def _resolved(self, name: str, place: Place) -> str | None:
        """The agent with that name or file; None for one of Claude Code, which is read as such alone."""
        key = name.strip().casefold()
        known = self.project.names.get(key) or self.project.names.get(key.removesuffix(AGENT))
        if known is None and key in BUILT_IN:
            known = BUILT_IN[key].name
        if known is None and not self.reader.is_of_claude(key):
            self.reader.files.unknown_agent(place, name, self.project.names.values())
        return known
