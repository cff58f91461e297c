"""A foreign project as files of ours: the part that our formats can express, and remarks on the rest.

Each tool becomes the equivalent built-in toolset, its MCP server, or a Python stand-in that declares its capabilities
and still has to be written. Decisions become rules; the present reach of an agent becomes its ceiling.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from llmdo.base import topology
from llmdo.base.values import dataclass
from llmdo.features.importing.code import OfferedToolset, copies, is_free, started_by
from llmdo.features.importing.filesystem import FILES, IMPLIED, filesystem
from llmdo.features.importing.names import Names
from llmdo.features.importing.servers import is_reachable, launch, raised_by
from llmdo.features.importing.stubs import MODULE, StandIn, module
from llmdo.foreign.decisions import leaves_out
from llmdo.foreign.team import Remark
from llmdo.graph import builtin
from llmdo.graph.toolkit import tools_of
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import OUTSIDE_CEILINGS
from llmdo.scaffold.files import toml, toml_text, yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.source import Location
    from llmdo.foreign import Foreign
    from llmdo.foreign.team import Code, Counterpart, Grant
    from llmdo.graph.described import Server
    from llmdo.graph.resolved import Entry
    from llmdo.graph.toolset import Tool, Toolset
    from llmdo.graph.worker import Worker
    from llmdo.policy.vocabulary import Decision

WORKERS = "workers"
MAX_DESCRIPTION = 4_000  # characters: every caller's model reads it with each request

_SHELL = frozenset({Capability("proc.exec.unlisted")})
_CARRIED = frozenset(
    {"description", "disallowedTools", "entry", "handoffs", "name"}
    | {"permission", "sub_agents", "tools", "toolsets"}
)
"""Keys of agents that an import expresses as well."""
_EVERYBODY = (
    "Hand the task over to the worker whose description fits it best, and return its answer unchanged.\n"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The result of planning an import."""

    files: Mapping[str, str]
    """Path to text, the manifest without acceptances."""
    names: Mapping[str, str]
    """Agent to worker."""
    capabilities: Mapping[str, str]
    """The project's own capabilities: old name to new name."""
    ungoverned: frozenset[str]
    """Capabilities for code that no gate of ours guards."""
    implied: frozenset[str]
    """Those of `IMPLIED` that some worker's `filesystem` raises."""
    pending: frozenset[str]
    """Capabilities of toolsets whose tools are unknown before `lock` has imported them."""
    remarks: tuple[Remark, ...]
    """Sorted by place."""


def plan_of(project: Foreign) -> Plan:
    """The files that express a foreign project."""
    planner = _Planner(project)
    graph = project.graph
    names = {name: planner.names.of("agent", name) for name in graph.workers}
    files = {
        f"{WORKERS}/{names[name]}.worker": planner.worker(worker)
        for name, worker in graph.workers.items()
        if name not in planner.functions
    }
    files["llmdo.toml"] = planner.manifest()
    if planner.stubs:
        files[MODULE] = module(planner.stubs.values())
    for path, text in copies(planner.code.values(), names, planner.offered).items():
        files.setdefault(path, text)
    remarks = sorted(dict.fromkeys(planner.remarks), key=_order)
    pending = frozenset(offer.capability.name for offer in planner.offered.values())
    implied = frozenset(planner.implied)
    return Plan(files, names, dict(planner.own), planner.ungoverned, implied, pending, tuple(remarks))


def _order(remark: Remark) -> tuple[str, int, int, str]:
    span = remark.at.span
    return (remark.at.path, span.line if span else 0, span.column if span else 0, remark.text)


class _Planner:
    """Expresses one project in our formats; common parts of workers are written once."""

    def __init__(self, project: Foreign) -> None:
        self.project = project
        self.names = Names(builtin.NAMES)
        self.stubs: dict[object, StandIn] = {}
        self.servers: dict[str, tuple[Server, tuple[Capability, ...]]] = {}
        self.own: dict[str, str] = {}
        self.offered: dict[str, OfferedToolset] = {}
        """The toolsets of copied and of installed Python, by their names in the workspace."""
        self.shell: dict[str, list[object]] = {}
        """The union of the workers' own shells."""
        self.remarks: list[Remark] = list(project.team.remarks)
        self.implied: set[str] = set()
        """The capabilities of `filesystem` beside those that the agents' tools have."""
        self._kept: set[Capability] = set()
        """The capabilities that some worker can still raise."""
        self._agents = project.agents
        self.code = {code.source.path: code for code in project.team.code if self._can_be_copied(code)}
        self.functions = {
            name: agent.function
            for name, agent in self._agents.items()
            if agent.function and agent.function.rpartition(":")[0] in self.code
        }
        """The agents that are functions of the project's own Python."""
        components = topology.strongly_connected_components(project.graph.edges)
        self._circling = {name for component in components for name in component}

    def worker(self, worker: Worker) -> str:
        """The text of a worker's file; below the header the prompt of the agent, unchanged."""
        name = self.names.of("agent", worker.name)
        agent = self._agents.get(worker.name)
        header = [f"name: {name}"]
        description = worker.description if agent else "Hands a task to the worker that fits it."
        if description:
            header.append(f"description: {yaml(description[:MAX_DESCRIPTION])}")
        for key, value in agent.ours.items() if agent else ():
            header.append(f"{key}: {yaml(value)}")
        header += self._toolsets(worker)
        header += self._native_tools(worker)
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
            sentence = (
                f"of the description of `{worker.name}` only {MAX_DESCRIPTION:,} characters are carried over"
            )
            self.remarks.append(Remark(at, sentence))
        if name != worker.name:
            self.remarks.append(Remark(at, f"`{worker.name}` is called `{name}`"))
        if worker.name in self._circling:
            self.remarks.append(
                Remark(at, f"`{name}` can reach itself: its header now says `recursive: true`")
            )
        for key in sorted(agent.header.keys() - _CARRIED - agent.expressed_otherwise):
            place = agent.at.document.key(*agent.at.route[: -1 if agent.at.route else 0], key)
            self.remarks.append(Remark(place, f"`{key}` of `{worker.name}` is not carried over"))
        for rule in worker.approvals:
            if rule.decision == "blocked" and not rule.but:
                where = rule.at.location if rule.at else at
                self.remarks.append(
                    Remark(
                        where,
                        f"`{rule.capability}` is blocked for `{worker.name}`, so nothing of it is carried over",
                    )
                )

    @property
    def ungoverned(self) -> frozenset[str]:
        """The capabilities for the code of functions that start a run: with us no gate guards it."""
        return frozenset(
            capability.name
            for name in self.functions
            for grant in self._agents[name].grants
            for capability in grant.capabilities
        )

    def _can_be_copied(self, code: Code) -> bool:
        """Whether the path of a Python file is free in the workspace; a remark if it is not."""
        path = code.source.path
        if is_free(path):
            return True
        self.remarks.append(
            Remark(code.source.location(), f"`{path}` is not copied: the import has such a file")
        )
        return False

    def _counterparts(self, worker: Worker) -> dict[str, tuple[Grant, Counterpart]]:
        """The tools of a worker with an equal counterpart of ours, without the blocked ones."""
        agent = self._agents.get(worker.name)
        return {
            grant.tool: (grant, grant.counterpart)
            for grant in (agent.grants if agent else ())
            if grant.counterpart and (grant.counterpart.code is None or grant.counterpart.code in self.code)
        }

    def _native_tools(self, worker: Worker) -> Iterator[str]:
        native = {
            name: options
            for grant, counterpart in self._counterparts(worker).values()
            for name, options in counterpart.native.items()
            if grant.decision != "blocked"
        }
        if native:
            yield f"native_tools: {yaml(native if any(native.values()) else sorted(native))}"

    def _toolsets(self, worker: Worker) -> Iterator[str]:
        workers = self.project.graph.workers
        toolsets: dict[str, Mapping[str, object]] = {
            self.names.of("agent", use.name): {} for use in worker.uses if use.name in workers
        }
        toolsets.update(self._tools(worker))
        if toolsets:
            yield "toolsets:"
            yield from (f"  {name}: {yaml(config)}" for name, config in sorted(toolsets.items()))

    def _tools(self, worker: Worker) -> dict[str, Mapping[str, object]]:
        """The toolsets for the tools of a worker, without the blocked ones."""
        graph = self.project.graph
        counterparts = self._counterparts(worker)
        toolsets = self._carried(grant for grant, _ in counterparts.values())
        tools: list[tuple[str, tuple[Capability, ...], Location]] = []
        for use in worker.uses:
            toolset = graph.toolsets.get(use.name)
            if toolset is None:
                continue
            if toolset.server and is_reachable(toolset.server):
                opened = tuple(self._open(worker, tool) for tool in toolset.tools.values())
                # Nothing is left in the graph of a server that asks about all that another one does unasked.
                is_left_out = not any(tool.capabilities for tool in toolset.tools.values())
                mine = [self.project.agents[worker.name]]
                if any(opened) or (is_left_out and raised_by(toolset.server, mine)):
                    toolsets[self._server(toolset, toolset.server)] = {}
                continue
            for tool in tools_of(graph, worker, use).values():
                if tool.name in counterparts:
                    self._open(worker, tool)
                    continue
                called = f"{use.name}_start" if tool.name == "(start)" else tool.name
                capabilities = self._open(worker, tool)
                # Parts that are decided apart are tools apart: without its own code nobody can tell the calls.
                parts = [(capability,) for capability in capabilities] if tool.hook else [capabilities]
                tools += [(called, part, use.at.location) for part in parts]
        files = {each for _, raised, _ in tools for each in raised if each.name in FILES}
        if config := filesystem(files):
            toolsets["filesystem"] = config
            names = {each.name for each in files}
            self.implied |= {IMPLIED[name] for name in IMPLIED.keys() & names} - names
        for called, capabilities, at in tools:
            left = tuple(sorted({*capabilities} - (files if config else set()), key=str))
            if frozenset(left) == _SHELL:
                toolsets["shell"] = {}
            elif left:
                toolsets[self._stand_in(called, left, at)] = {}
        return toolsets

    def _carried(self, grants: Iterable[Grant]) -> dict[str, Mapping[str, object]]:
        """The toolsets that are counterparts of a worker's grants."""
        toolsets: dict[str, Mapping[str, object]] = {}
        shell: dict[str, list[object]] = {}
        for grant in grants:
            counterpart = grant.counterpart
            if counterpart is None or grant.decision == "blocked":
                continue
            for key, items in counterpart.commands.items():
                for lines in (shell, self.shell):
                    held = lines.setdefault(key, [])
                    held += [item for item in cast("list[object]", items) if item not in held]
            if counterpart.code or counterpart.installed:
                toolsets[self._offer(grant, counterpart)] = counterpart.config or {}
        return {**toolsets, "shell": shell} if shell else toolsets

    def _offer(self, grant: Grant, counterpart: Counterpart) -> str:
        """The name of the toolset that a copied Python file has, or an installed module."""
        (capability,) = grant.capabilities
        path = counterpart.code
        if path:
            module, expression = path, self.code[path].toolsets[grant.toolset]
            text = (
                f"`{grant.toolset}` is copied with `{path}`, unexecuted: `llmdo lock` says whether it loads"
            )
        else:
            module, _, expression = (counterpart.installed or "").rpartition(":")
            text = f"`{grant.toolset}` is not a file here: install it, and `llmdo lock` says whether it loads"
        called = grant.toolset if counterpart.config is None else expression
        name = self.names.of("tool", called, module)
        self.own.setdefault(capability.name, f"x.{name}.any")
        self.remarks.append(Remark(grant.at.location, text))
        self.offered[name] = OfferedToolset(module, expression, self._renamed(capability), path is None)
        return name

    def _open(self, worker: Worker, tool: Tool) -> tuple[Capability, ...]:
        """The unblocked capabilities of a tool for a worker: all or nothing if a call raises all of them."""
        blocked = [
            rule.capability for rule in worker.approvals if rule.decision == "blocked" and not rule.but
        ]
        allowed = tuple(
            part for part in tool.capabilities if not any(each.contains(part) for each in blocked)
        )
        allowed = allowed if tool.hook or allowed == tool.capabilities else ()
        self._kept.update(allowed)
        return allowed

    def _server(self, toolset: Toolset, server: Server) -> str:
        name = self.names.of("server", toolset.name)
        declared = {capability for tool in toolset.tools.values() for capability in tool.capabilities}
        declared |= raised_by(server, self.project.team.agents)
        if name not in self.servers:
            for each in declared:
                if each.name.startswith("x."):
                    self.own.setdefault(each.name, f"x.{name}.{each.name.split('.', 2)[2]}")
            renamed = map(self._renamed, declared)
            self.servers[name] = (server, tuple(sorted(renamed, key=str)))
            self._kept.add(Capability("mcp.start"))
            if server.env:
                names = ", ".join(f"`{variable}`" for variable in server.env)
                at = toolset.at.location
                self.remarks.append(
                    Remark(at, f"of the environment of `{toolset.name}` only names are carried over: {names}")
                )
        return name

    def _stand_in(self, called: str, capabilities: tuple[Capability, ...], at: Location) -> str:
        key = (called, capabilities)
        if key not in self.stubs:
            # The first tool with a capability of the format's own has it as its own here; others may raise it too.
            own = [
                part.name for part in capabilities if part.name.startswith("x.") and part.name not in self.own
            ]
            name = self.names.of("tool", own[0].split(".")[1] if own else called, own[0] if own else key)
            for each in own:
                self.own[each] = f"x.{name}.{each.split('.', 2)[2]}"
            self.stubs[key] = StandIn(name, called, tuple(map(self._renamed, capabilities)))
            self.remarks.append(Remark(at, f"`{called}` has still to be written: `{name}` stands in for it"))
        return self.stubs[key].name

    def _renamed(self, capability: Capability) -> Capability:
        return Capability(self.own.get(capability.name, capability.name), capability.scope)

    def _with_implied(self, capability: Capability) -> Iterator[Capability]:
        """The capability, and the one of `filesystem` that the original does not tell from it."""
        yield capability
        if (implied := IMPLIED.get(capability.name)) in self.implied:
            yield Capability(implied, capability.scope)

    def _approvals(self, worker: Worker) -> Iterator[str]:
        decisions: dict[str, Decision] = {
            str(self._renamed(rule.capability)): rule.decision
            for rule in worker.approvals
            if rule.decision != "blocked" and not rule.but  # a header's rule leaves nothing out
        }
        agent = self._agents.get(worker.name)
        decisions |= {
            str(raised): decision for raised, decision in (agent.tightened if agent else {}).items()
        }
        if decisions:
            yield "approvals:"
            yield from (f"  {json.dumps(name)}: {decision}" for name, decision in sorted(decisions.items()))

    def manifest(self) -> str:
        """The manifest, once every worker is planned."""
        graph = self.project.graph
        lines = [
            "schema = 1",
            "",
            "[workspace]",
            f"name = {toml_text(self.names.of('workspace', self.project.team.format))}",
            f'workers = ["{WORKERS}/*.worker"]',
            *([f"toolset-modules = [{toml_text(MODULE)}]"] if self.stubs else []),
            f"max-depth = {graph.settings.max_depth}",
        ]
        for name, (server, declared) in sorted(self.servers.items()):
            lines += ["", f"[toolsets.{name}]", f"mcp = {{ {launch(server)} }}"]
            lines.append(f'capabilities = {{ "*" = {toml([*map(str, declared)])} }}')
        for name, offer in sorted(self.offered.items()):
            lines += ["", f"[toolsets.{name}]", f"python = {toml_text(offer.reference(name))}"]
            lines.append(f'capabilities = {{ "*" = [{toml_text(str(offer.capability))}] }}')
        if self.shell:
            lines += [
                "",
                "[toolsets.shell]",
                *(f"{key} = {toml(items)}" for key, items in self.shell.items()),
            ]
        lines += ["", "[approvals]", f'default = "{graph.settings.default}"', "", "[approvals.rules]"]
        decided: dict[str, Decision] = {
            str(self._renamed(rule.capability)): "allowed" if leaves_out(rule, self._kept) else rule.decision
            for rule in graph.rules
            if any(
                rule.capability.touches(capability) or capability.touches(rule.capability)
                for capability in self._kept
            )
        }
        # Each call that raises one of these raises what the original decides about as well.
        decided |= dict.fromkeys(sorted(self.implied), "allowed")
        lines += [f'{toml_text(name)} = "{decision}"' for name, decision in decided.items()]
        for entry in graph.entries.values():
            lines += ["", *self._entry(entry)]
        return "\n".join([*lines, ""])

    def _entry(self, entry: Entry) -> Iterator[str]:
        name = self.names.of("agent", entry.name)
        agent = self._agents.get(entry.name)
        yield f"[entries.{name}]"
        if function := self.functions.get(entry.name):
            called = [call.name for call in self._agents[entry.name].calls if call.name in self._agents]
            yield f"function = {toml_text(started_by(function))}"
            yield f"calls = {toml([self.names.of('agent', worker) for worker in called])}"
            self.remarks.append(Remark(entry.at.location, f"`{entry.name}` is called `{name}`"))
        else:
            yield f'worker = "{name}"'
        if agent and agent.input is not None:
            yield f"input = {toml_text(agent.input)}"
        may = {
            str(each)
            for row in self.project.analysis.of(entry)
            for each in self._with_implied(self._renamed(row.capability))
            if row.decision != "blocked"
            and row.capability.name not in OUTSIDE_CEILINGS
            and row.capability.name not in self.ungoverned
        }
        yield f"may = {toml(sorted(may))}"
