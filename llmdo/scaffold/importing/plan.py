"""A foreign project as files of ours: what can be said in our formats, and remarks on what cannot.

Each tool becomes the built-in toolset that does the same, its MCP server, or a stand-in in Python that declares what
the tool can do and still has to be written. Decisions become rules; what an agent reaches today becomes its ceiling.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base import topology
from llmdo.base.values import dataclass
from llmdo.foreign.building import named
from llmdo.graph.inventory import tools_of
from llmdo.policy.authority import OUTSIDE_CEILINGS, Capability
from llmdo.scaffold.importing.names import Names
from llmdo.scaffold.importing.stubs import MODULE, StandIn, module

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.source import Location
    from llmdo.foreign import Foreign
    from llmdo.graph.resolved import Server, Tool, Toolset, Worker

WORKERS = "workers"
MAX_DESCRIPTION = 4_000  # characters: every caller's model reads it with each request

_READS = frozenset({"fs.list", "fs.read"})
_WRITES = frozenset({"fs.write", "fs.write.protected"})
_SHELL = frozenset({Capability("proc.exec.unlisted")})
_CARRIED = frozenset(
    {
        "description",
        "disallowedTools",
        "entry",
        "handoffs",
        "name",
        "permission",
        "sub_agents",
        "tools",
        "toolsets",
    }
)
"""Keys of agents that say what an import says as well."""
_EVERYBODY = (
    "Hand the task over to the worker whose description fits it best, and return its answer unchanged.\n"
)


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about the original that the import says otherwise, or not at all."""

    at: Location
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What an import writes."""

    files: Mapping[str, str]
    """Path to text, the manifest without acceptances."""
    names: Mapping[str, str]
    """Agent to worker."""
    capabilities: Mapping[str, str]
    """What the project's own capabilities were called, and what they are called."""
    remarks: tuple[Remark, ...]
    """Sorted by place."""


def plan_of(project: Foreign) -> Plan:
    """The files that say what a foreign project says."""
    planner = _Planner(project)
    graph = project.graph
    names = {name: planner.names.of("agent", name) for name in graph.workers}
    files = {f"{WORKERS}/{names[name]}.worker": planner.worker(one) for name, one in graph.workers.items()}
    files["llmdo.toml"] = planner.manifest()
    if planner.stubs:
        files[MODULE] = module(planner.stubs.values())
    remarks = sorted(dict.fromkeys(planner.remarks), key=_order)
    return Plan(files, names, dict(planner.own), tuple(remarks))


def _order(remark: Remark) -> tuple[str, int, int, str]:
    span = remark.at.span
    return (remark.at.path, span.line if span else 0, span.column if span else 0, remark.text)


class _Planner:
    """Says one project in our formats; what workers share is said once."""

    def __init__(self, project: Foreign) -> None:
        self.project = project
        self.names = Names({"filesystem", "shell"})
        self.stubs: dict[object, StandIn] = {}
        self.servers: dict[str, tuple[Server, tuple[Capability, ...]]] = {}
        self.own: dict[str, str] = {}
        self.remarks: list[Remark] = []
        self._kept: set[Capability] = set()
        """What some worker can still raise."""
        self._agents = named(project.team.agents)
        components = topology.strongly_connected_components(project.graph.edges)
        self._circling = {name for component in components for name in component}

    def worker(self, worker: Worker) -> str:
        """The text of a worker's file; below the header the prompt of the agent, unchanged."""
        name = self.names.of("agent", worker.name)
        agent = self._agents.get(worker.name)
        header = [f"name: {name}"]
        description = worker.description if agent else "Hands a task to the worker that fits it."
        if description:
            header.append(f"description: {_quoted(description[:MAX_DESCRIPTION])}")
        header += self._toolsets(worker)
        header += self._approvals(worker)
        if worker.name in self._circling:
            header.append("recursive: true")
        if agent:
            self._remark_on(worker, name)
        return "\n".join(["---", *header, "---", agent.prompt if agent else _EVERYBODY])

    def _remark_on(self, worker: Worker, name: str) -> None:
        agent = self._agents[worker.name]
        at = worker.at.location
        if len(worker.description or "") > MAX_DESCRIPTION:
            told = (
                f"of the description of `{worker.name}` only {MAX_DESCRIPTION:,} characters are carried over"
            )
            self.remarks.append(Remark(at, told))
        if name != worker.name:
            self.remarks.append(Remark(at, f"`{worker.name}` is called `{name}`"))
        if worker.name in self._circling:
            self.remarks.append(
                Remark(at, f"`{name}` can reach itself: its header now says `recursive: true`")
            )
        for key in sorted(agent.header.keys() - _CARRIED):
            place = agent.at.document.key(*agent.at.route[: -1 if agent.at.route else 0], key)
            self.remarks.append(Remark(place, f"`{key}` of `{worker.name}` is not carried over"))
        for rule in worker.approvals:
            if rule.decision == "blocked":
                where = rule.at.location if rule.at else at
                self.remarks.append(
                    Remark(
                        where,
                        f"`{rule.capability}` is blocked for `{worker.name}`, so nothing of it is carried over",
                    )
                )

    def _toolsets(self, worker: Worker) -> Iterator[str]:
        workers = self.project.graph.workers
        found: dict[str, Mapping[str, list[str]]] = {
            self.names.of("agent", use.name): {} for use in worker.uses if use.name in workers
        }
        found.update(self._tools(worker))
        if found:
            yield "toolsets:"
            yield from (f"  {name}: {json.dumps(config)}" for name, config in sorted(found.items()))

    def _tools(self, worker: Worker) -> dict[str, Mapping[str, list[str]]]:
        """What stands for the tools of a worker, without what is blocked for it."""
        graph = self.project.graph
        found: dict[str, Mapping[str, list[str]]] = {}
        tools: list[tuple[str, tuple[Capability, ...]]] = []
        for use in worker.uses:
            toolset = graph.toolsets.get(use.name)
            if toolset is None:
                continue
            if toolset.server and _is_reachable(toolset.server):
                if any(self._open(worker, tool) for tool in toolset.tools.values()):
                    found[self._server(toolset, toolset.server)] = {}
                continue
            for tool in tools_of(graph, worker, use).values():
                called = f"{use.name}_start" if tool.name == "(start)" else tool.name
                capabilities = self._open(worker, tool)
                # Parts that are decided apart are tools apart: without its own code nobody can tell the calls.
                tools += [(called, (one,)) for one in capabilities] if tool.hook else [(called, capabilities)]
        files = {each for _, one in tools for each in one if each.name in _READS | _WRITES}
        if config := _filesystem(files):
            found["filesystem"] = config
        for called, capabilities in tools:
            left = tuple(sorted({*capabilities} - (files if config else set()), key=str))
            if frozenset(left) == _SHELL:
                found["shell"] = {}
            elif left:
                found[self._stand_in(called, left)] = {}
        return found

    def _open(self, worker: Worker, tool: Tool) -> tuple[Capability, ...]:
        """What of a tool is not blocked for a worker: all or nothing where a call raises all of it."""
        blocked = [rule.capability for rule in worker.approvals if rule.decision == "blocked"]
        kept = tuple(one for one in tool.capabilities if not any(each.contains(one) for each in blocked))
        kept = kept if tool.hook or kept == tool.capabilities else ()
        self._kept.update(kept)
        return kept

    def _server(self, toolset: Toolset, server: Server) -> str:
        name = self.names.of("server", toolset.name)
        declared = {one for tool in toolset.tools.values() for one in tool.capabilities}
        if name not in self.servers:
            self.servers[name] = (server, tuple(sorted(declared, key=str)))
            self._kept.add(Capability("mcp.start"))
            if server.env:
                told = ", ".join(f"`{one}`" for one in server.env)
                at = toolset.at.location
                self.remarks.append(
                    Remark(at, f"of the environment of `{toolset.name}` only names are carried over: {told}")
                )
        return name

    def _stand_in(self, called: str, capabilities: tuple[Capability, ...]) -> str:
        key = (called, capabilities)
        if key not in self.stubs:
            own = next((one.name for one in capabilities if one.name.startswith("x.")), None)
            name = self.names.of("tool", own.split(".")[1] if own else called, None if own else key)
            if own:
                self.own[own] = f"x.{name}.any"
            self.stubs[key] = StandIn(name, called, tuple(map(self._renamed, capabilities)))
        return self.stubs[key].name

    def _renamed(self, capability: Capability) -> Capability:
        return Capability(self.own.get(capability.name, capability.name), capability.scope)

    def _approvals(self, worker: Worker) -> Iterator[str]:
        said = {
            str(self._renamed(rule.capability)): rule.decision
            for rule in worker.approvals
            if rule.decision != "blocked"
        }
        if said:
            yield "approvals:"
            yield from (f"  {json.dumps(name)}: {decision}" for name, decision in sorted(said.items()))

    def manifest(self) -> str:
        """The manifest, once every worker was said."""
        graph = self.project.graph
        lines = [
            "schema = 1",
            "",
            "[workspace]",
            f"name = {_text(self.names.of('workspace', self.project.team.format))}",
            f'workers = ["{WORKERS}/*.worker"]',
            *([f"toolset-modules = [{_text(MODULE)}]"] if self.stubs else []),
            f"max-depth = {graph.settings.max_depth}",
        ]
        for name, (server, declared) in sorted(self.servers.items()):
            lines += ["", f"[toolsets.{name}]", f"mcp = {{ {_launch(server)} }}"]
            lines.append(f'capabilities = {{ "*" = {_list(map(str, declared))} }}')
        lines += ["", "[approvals]", f'default = "{graph.settings.default}"', "", "[approvals.rules]"]
        lines += [
            f'{_text(str(self._renamed(rule.capability)))} = "{rule.decision}"'
            for rule in graph.rules
            if any(rule.capability.touches(one) or one.touches(rule.capability) for one in self._kept)
        ]
        for entry in graph.entries.values():
            name = self.names.of("agent", entry.name)
            may = sorted(
                {
                    str(self._renamed(row.capability))
                    for row in self.project.analysis.of(entry)
                    if row.decision != "blocked" and row.capability.name not in OUTSIDE_CEILINGS
                }
            )
            lines += ["", f"[entries.{name}]", f'worker = "{name}"', f"may = {_list(may)}"]
        return "\n".join([*lines, ""])


def _is_reachable(server: Server) -> bool:
    """Whether our manifest can say how to reach a server."""
    return bool(server.command or (server.url or "").startswith(("https://", "http://")))


def _filesystem(files: set[Capability]) -> dict[str, list[str]] | None:
    """The configuration of `filesystem` that does just this; None where it would do more or less."""
    whole = {one.name for one in files if one.scope is None}
    if (
        whole & _READS not in (frozenset(), _READS)
        or whole & _WRITES not in (frozenset(), _WRITES)
        or not whole
    ):
        return None
    config: dict[str, list[str]] = {} if whole & _READS else {"read": []}
    return {**config, "write": ["**"]} if whole & _WRITES else {"read": ["**"]}


def _launch(server: Server) -> str:
    if server.url and not server.command:
        return f"url = {_text(server.url)}"
    env = f", env = {_list(server.env)}" if server.env else ""
    return f"command = {_text(server.command or '')}, args = {_list(server.args)}{env}"


def _quoted(text: str) -> str:
    """A text as YAML has it: JSON, and whatever is no plain character spelled out."""
    plain = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in plain)


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(text: str) -> str:
    """A text as TOML has it: JSON, but for a character that JSON leaves and TOML does not."""
    return json.dumps(text).replace("\x7f", "\\u007f")
