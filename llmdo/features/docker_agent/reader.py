"""docker-agent: YAML files, each a team whose first agent is `root`, with one block of permissions for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import did_you_mean, excerpt, finding
from llmdo.base.parts import items
from llmdo.base.parts import table as table_in
from llmdo.base.values import dataclass, replace
from llmdo.features.docker_agent import FILES
from llmdo.features.docker_agent.permissions import (
    BACKGROUND,
    Permissions,
    allowed_by_hooks,
    in_background,
    permissions_of,
)
from llmdo.features.docker_agent.recognition import KEYS, is_ours, lacking, may_be_team
from llmdo.features.docker_agent.table import TABLE
from llmdo.foreign import reading
from llmdo.foreign import servers as mcp
from llmdo.foreign.events import ClientEvents
from llmdo.foreign.files import Files
from llmdo.foreign.known_servers import asks_first
from llmdo.foreign.lines import RUNS, Line
from llmdo.foreign.team import MAX_NAME, Agent, AgentCall, Grant, Team, capability_of
from llmdo.foreign.tree import few, undecoded
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from llmdo.foreign.tree import Tree
    from llmdo.graph.described import Server
    from llmdo.syntax.document import Document

_READS = frozenset({"session_start", "turn_start", "user_prompt_submit"})
"""The events whose hooks add to the conversation."""
_LINES: dict[str, list[Line]] = {}
for _line in TABLE:
    _LINES.setdefault(_line.tool.partition(".")[0], []).append(_line)


_HARNESS = Line("harness", RUNS, "allowed", "open", "")


def read(tree: Tree) -> Team:
    """The agents of all files with teams of docker-agent."""
    files = Files(tree, "docker-agent")
    agents: list[Agent] = []
    paths, problems = few(*tree.find(FILES))
    # The globs name all YAML of a repository: what is no team, or a link, is missed only where there are teams.
    others = [problem for problem in problems if problem.code == "LDO154"]
    files.problems.extend(problem for problem in problems if problem not in others)
    for path in paths:
        source, unread = tree.read(path) or (None, ())
        if source is None or unread or not may_be_team(source.text) or is_ours(source.text):
            # Most YAML of a repository is about something else.
            others += (problem for problem in unread if problem.code == "LDO153")
            others += undecoded(unread)  # which may be a team
            continue
        document = reading.yaml(source)
        if why := lacking(document):
            others.append(finding("LDO152", document.key("agents"), why))
        elif known := files.yaml(path):
            agents.extend(_FileReader(known, files, "" if tree.only else _stem(path)).agents())
    if agents or tree.only:
        files.problems.extend(others)
    return Team(
        format="docker-agent",
        agents=tuple(agents),
        files=files.paths,
        problems=tuple(files.problems),
        starts="allowed",  # servers start with the agent, and nobody is asked
    )


def _stem(path: str) -> str:
    return path.rpartition(".")[0] + "/"


@dataclass(slots=True)
class _FileReader:
    """The reading of one file."""

    document: Document
    files: Files
    prefix: str
    """The prefix of its agents' names."""

    @property
    def data(self) -> Mapping[str, object]:
        return self.document.data

    def _place(self, *route: str | int, of_key: bool = False) -> Place:
        return Place(self.document, route, of_key)

    def agents(self) -> Iterator[Agent]:
        """The agents of the team, with variants for those that run in the background."""
        tables = self._tables()
        agents = tuple(self._agents(tables))
        starts = {
            agent.name: place
            for agent, (_, table, route) in zip(agents, tables, strict=True)
            if (place := self._background(table, route))
        }
        yield from in_background(agents, starts)

    def _background(self, table: Mapping[str, object], route: tuple[str | int, ...]) -> Place | None:
        """The toolset with which an agent runs others in the background, or None."""
        for number, toolset in enumerate(items(table.get("toolsets"))):
            if toolset == BACKGROUND or (isinstance(toolset, dict) and toolset.get("type") == BACKGROUND):
                return self._place(*route, "toolsets", number)
        return None

    def _agents(
        self, tables: Sequence[tuple[str, dict[str, object], tuple[str | int, ...]]]
    ) -> Iterator[Agent]:
        permissions = permissions_of(self.document, self.files)
        servers = self._servers()
        names = {name: f"{self.prefix}{excerpt(name, MAX_NAME)}" for name, _, _ in tables}
        calls = {name: tuple(self._calls(table, route, names)) for name, table, route in tables}
        called = {call.name for each in calls.values() for call in each}
        for number, (name, table, route) in enumerate(tables):
            self._judge_keys(table, route)
            is_root = name == "root" or ("root" not in names and not number)
            grants = [*self._grants(table, route, permissions, servers)]
            grants += self._external(table, route, names, permissions)
            yield Agent(
                name=names[name],
                at=self._place(*route, of_key=True),
                path=self.document.source.path,
                prompt=_text(table.get("instruction")) or "",
                header={key: value for key, value in table.items() if key != "instruction"},
                description=_text(table.get("description")),
                model=_text(table.get("model")),
                grants=tuple(allowed_by_hooks(self.document, route, table.get("hooks"), grants, self.files)),
                calls=calls[name],
                events=tuple(ClientEvents(self.files).hooks([self._place(*route, "hooks")], reads=_READS)),
                # What calls others and is called by nobody is started by a person, as `root` is.
                is_entry=is_root or bool(calls[name] and names[name] not in called),
            )

    def _tables(self) -> list[tuple[str, dict[str, object], tuple[str | int, ...]]]:
        """Name, table and route of each agent; it is a table of them, in some versions a list."""
        agents = self.data.get("agents")
        listed: list[tuple[str, object, tuple[str | int, ...]]] = []
        if isinstance(agents, dict):
            listed = [(name, table, ("agents", name)) for name, table in agents.items()]
        elif isinstance(agents, list):
            listed = [
                (str(table.get("name") or f"agent {number + 1}"), table, ("agents", number))
                for number, table in enumerate(agents)
                if isinstance(table, dict)
            ]
        return [(name, table if isinstance(table, dict) else {}, route) for name, table, route in listed]

    def _judge_keys(self, table: Mapping[str, object], route: tuple[str | int, ...]) -> None:
        if "permissions" in table:
            message = "docker-agent knows `permissions` only beside `agents`, so these do nothing"
            self.files.note("LDO151", self._place(*route, "permissions", of_key=True), message)
        self.files.misspelt_keys(self.document, KEYS, *route)

    def _calls(
        self, table: Mapping[str, object], route: tuple[str | int, ...], names: Mapping[str, str]
    ) -> Iterator[AgentCall]:
        for name, place in self._named(table, route):
            if name in names:
                yield AgentCall(name=names[name], at=place)

    def _named(
        self, table: Mapping[str, object], route: tuple[str | int, ...]
    ) -> Iterator[tuple[str, Place]]:
        """The agents that an agent names as its own, each with its place."""
        for key in ("sub_agents", "handoffs"):
            for number, name in enumerate(items(table.get(key))):
                if isinstance(name, str):
                    yield name, self._place(*route, key, number)
        if name := _text(table.get("force_handoff")):
            yield name, self._place(*route, "force_handoff")

    def _external(
        self,
        table: Mapping[str, object],
        route: tuple[str | int, ...],
        names: Mapping[str, str],
        permissions: Permissions,
    ) -> Iterator[Grant]:
        """The called agents that are in no file here."""
        for name, place in self._named(table, route):
            if name in names:
                continue
            if "/" in name or ":" in name:
                message = f"the agent `{name}` is fetched from elsewhere, so what it can do is not known"
                self.files.note("LDO250", place, message)
            else:
                message = f"there is no agent `{name}` in this file"
                self.files.note("LDO250", place, message, did_you_mean(name, names))
                continue
            line = Line(name, (capability_of(name), "data.untrusted"), "allowed", "open", "")
            yield from permissions.grants(line, excerpt(name, MAX_NAME), place)

    def _servers(self) -> dict[str, tuple[Server, Place]]:
        """The servers that the file declares once for all agents."""
        tables = self.data.get("mcps")
        return {
            name: (_server(table), self._place("mcps", name, of_key=True))
            for name, table in (tables.items() if isinstance(tables, dict) else ())
        }

    def _grants(
        self,
        table: Mapping[str, object],
        route: tuple[str | int, ...],
        permissions: Permissions,
        servers: Mapping[str, tuple[Server, Place]],
    ) -> Iterator[Grant]:
        for toolset, place in self._toolsets(table, route):
            yield from self._of_toolset(toolset, place, permissions, servers)
        if table.get("harness"):  # a session of another tool, with whatever that has
            yield from permissions.grants(_HARNESS, "harness", self._place(*route, "harness", of_key=True))
        if table.get("rag"):
            yield from permissions.grants(_LINES["rag"][0], "rag", self._place(*route, "rag", of_key=True))

    def _toolsets(
        self, table: Mapping[str, object], route: tuple[str | int, ...]
    ) -> Iterator[tuple[Mapping[str, object], Place]]:
        """The toolsets of an agent: its own, and those that the file declares for all."""
        for number, toolset in enumerate(items(table.get("toolsets"))):
            written: object = {"type": toolset} if isinstance(toolset, str) else toolset
            if isinstance(written, dict):
                yield written, self._place(*route, "toolsets", number, "type")
        shared = table_in(self.data, "toolsets")
        for number, name in enumerate(items(table.get("use_toolsets"))):
            place = self._place(*route, "use_toolsets", number)
            if isinstance(toolset := shared.get(str(name)), dict):
                yield toolset, place
            else:
                message = f"there is no `{excerpt(str(name))}` in `toolsets`"
                self.files.note("LDO250", place, message, did_you_mean(str(name), shared))

    def _of_toolset(
        self,
        toolset: Mapping[str, object],
        place: Place,
        permissions: Permissions,
        servers: Mapping[str, tuple[Server, Place]],
    ) -> Iterator[Grant]:
        kind = _text(toolset.get("type")) or ""
        lines = _LINES.get(kind)
        if lines is None:
            message = f"docker-agent has no toolset of the type `{kind}`"
            self.files.note("LDO250", place, message, did_you_mean(kind, _LINES))
        elif kind == "mcp":
            yield from self._of_server(toolset, place, permissions, servers)
        elif kind == "script":
            scripts = toolset.get("shell")
            for name in scripts if isinstance(scripts, dict) else ():
                yield from permissions.grants(replace(lines[0], tool=f"script.{name}"), name, place)
        else:
            only = toolset.get("tools")
            for line in lines:
                tool = line.tool.partition(".")[2]
                name = _own_name(toolset) if tool.isupper() else None
                if line.capabilities and (not isinstance(only, list) or tool in only):
                    yield from permissions.grants(line, name or tool.lower(), place)
            if toolset.get("post_edit"):
                runs = Line("filesystem.post_edit", ("proc.exec",), "needs_approval", "open", "")
                for grant in permissions.grants(runs, "edit_file", place):
                    yield replace(grant, toolset="post_edit", tool="post_edit")

    def _of_server(
        self,
        toolset: Mapping[str, object],
        place: Place,
        permissions: Permissions,
        servers: Mapping[str, tuple[Server, Place]],
    ) -> Iterator[Grant]:
        ref = _text(toolset.get("ref"))
        server = servers[ref][0] if ref and ref in servers else _server(toolset)
        command = " ".join([server.command, *server.args]) if server.command else None
        name = ref or _text(toolset.get("name")) or command or server.url or "mcp"
        if ref and ref not in servers and not ref.startswith("docker:"):
            message = f"there is no `{ref}` in `mcps`"
            at = place._replace(route=(*place.route[:-1], "ref"))
            self.files.note("LDO250", at, message, did_you_mean(ref, servers))
        line = mcp.line(excerpt(name), server, "allowed")
        for grant in permissions.grants(line, line.tool, place):
            is_marked = grant.rule_at is None and asks_first(server, "")
            yield replace(
                grant,
                server=server,
                decision="needs_approval" if is_marked else grant.decision,
                asks_unless_reading=grant.rule_at is None,
            )


def _own_name(toolset: Mapping[str, object]) -> str | None:
    """The file's name for the one tool of a toolset."""
    config = toolset.get("api_config")
    return _text(toolset.get("name")) or (_text(config.get("name")) if isinstance(config, dict) else None)


def _server(table: object) -> Server:
    """The connection of a server: a command, an address, or a container by its name."""
    remote = table.get("remote") if isinstance(table, dict) else None
    if isinstance(remote, dict):
        return mcp.server_of(remote)
    server = mcp.server_of(table)
    ref = table.get("ref") if isinstance(table, dict) else None
    if server.command is None and isinstance(ref, str):
        return replace(server, command="docker", args=("mcp", "gateway", "run", "--servers", ref))
    return server


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
