"""The tables of a project, made of its files and its lock."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base import cache
from llmdo.base.diagnostic import LlmdoError
from llmdo.base.nearest import MANIFEST
from llmdo.base.values import replace
from llmdo.features.hook import packed
from llmdo.features.hook.packed import Tables
from llmdo.foreign.building import EVENTS, EVERYONE
from llmdo.foreign.commands import listed_in
from llmdo.foreign.flows import UNKNOWN
from llmdo.foreign.known import formats, table_of
from llmdo.policy.authority import Capability, decide
from llmdo.policy.composition import NO_LAYER, Base, Layer, authority_of
from llmdo.policy.protection import CODE_WRITE
from llmdo.policy.shell.rules import parse_rules
from llmdo.workspace import personal
from llmdo.workspace import project as projects
from llmdo.workspace.lock import drift
from llmdo.workspace.root import LOCK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.features.hook.events import Client
    from llmdo.graph.resolved import Graph
    from llmdo.graph.worker import Worker
    from llmdo.policy.authority import Rule
    from llmdo.policy.composition import Governed
    from llmdo.workspace.project import Project

_NUMBER = re.compile(r" \(\d+\)$")


def compiled(root: str, client: Client, environ: Mapping[str, str]) -> Tables:
    """The tables for a client's agents in the project at `root`, which are kept for the next call."""
    since = packed.now()
    try:
        project = projects.read(Path(root))
        policy = personal.read(environ)
    except LlmdoError as error:
        return _unusable(str(error))
    if fault := _fault(project, client):
        return _unusable(fault)
    graph = project.graph
    drifts = drift(project.locked.graph, graph) if project.locked.graph else ()
    tables = tables_of(graph, client, policy.rules, stale=drifts[0].problem.message if drifts else "")
    files = (MANIFEST, LOCK, *graph.adopted, *(each.name for each in graph.policies))
    seen, missing = _inputs(root, files, client, personal.path_of(environ))
    packed.keep(tables, root, client.FORMAT, environ, seen, missing, since)
    return tables


def _fault(project: Project, client: Client) -> str:
    """Why nothing can be decided in a project; empty if all can."""
    problems = [each for each in project.workspace.problems if each.severity == "error"]
    if problems:
        return f"{problems[0].at.path}: {problems[0].message}: run `llmdo check`"
    if client.FORMAT not in project.graph.settings.formats:
        return f'`{MANIFEST}` does not say `from = ["{client.FORMAT}"]` under `[workspace]`'
    if project.locked.graph is None:
        return f"there is no `{LOCK}` that can be read: run `llmdo lock`"
    if client.MAIN not in _agents(project.graph, client):
        return f"nothing of {client.PRODUCT} is in the project: add its files, then run `llmdo lock`"
    return ""


def _agents(graph: Graph, client: Client) -> dict[str, str]:
    """The worker of each agent of a client."""
    return {
        name.removeprefix(f"{client.FORMAT}/"): name
        for name, worker in graph.workers.items()
        if worker.format == client.FORMAT and not name.startswith((EVENTS, EVERYONE))
    }


def _unusable(fault: str) -> Tables:
    return Tables(
        fault=fault,
        stale="",
        workers={},
        entries={},
        agents={},
        servers={},
        code={},
        freely={},
        listed={},
        denied=(),
        lines={},
        reading={},
        governing=(),
        tells_code=False,
    )


def tables_of(graph: Graph, client: Client, tightening: tuple[Rule, ...], *, stale: str) -> Tables:
    """The tables for a client's agents in a project, for a person with these rules."""
    agents = _agents(graph, client)
    workers = {name: graph.workers[name] for name in agents.values()}
    entries: dict[str, list[tuple[object, ...]]] = {}
    for entry in graph.entries.values():
        if entry.worker and entry.worker.name in workers:
            layer = packed.pack_layer(Layer.of_entry(entry))
            entries.setdefault(entry.worker.name, []).append(layer)
    return Tables(
        fault="",
        stale=stale,
        base=packed.pack_base(Base.of(graph, tightening)),
        workers={name: packed.pack_layer(Layer.of_worker(worker)) for name, worker in workers.items()},
        entries={name: tuple(layers) for name, layers in entries.items()},
        agents=agents,
        servers={name: _servers(graph, worker) for name, worker in workers.items()},
        code={name: _code(graph, worker) for name, worker in workers.items()},
        freely={name: _freely(graph, worker) for name, worker in workers.items()},
        listed=dict.fromkeys(workers, listed_in(workers[agents[client.MAIN]].permissions)),
        denied=_denied(workers[agents[client.MAIN]]),
        lines={line.tool: tuple(map(str, line.raised)) for line in table_of(formats()[client.FORMAT])},
        reading=_reading(),
        governing=tuple(sorted({*graph.governing, *graph.adopted})),
        tells_code=_tells_code(graph),
    )


def _denied(session: Worker) -> tuple[str, ...]:
    """The tools and servers that the settings of a session deny as a whole: rules about a part have parentheses."""
    names = (text.removesuffix("__*") for text in session.permissions.get("deny", ()))
    return tuple(sorted({name for name in names if name.replace("-", "_").isidentifier()}))


def _reading() -> dict[str, tuple[str, ...]]:
    """The shell rules that vouch for commands as only reading, by their programs."""
    rules: dict[str, list[str]] = {}
    for rule in parse_rules({"presets": ["read-only"]}):
        if rule.only_reads:
            rules.setdefault(rule.program, []).append(str(rule))
    return {program: tuple(texts) for program, texts in rules.items()}


def _servers(graph: Graph, worker: Worker) -> dict[str, tuple[str, ...]]:
    """The capabilities of each server of a worker, by the name under which agents have it."""
    servers: dict[str, set[str]] = {}
    for use in worker.uses:
        toolset = graph.toolsets.get(use.name)
        if toolset is not None and toolset.kind == "mcp":
            raised = servers.setdefault(_NUMBER.sub("", use.name), set())
            raised.update(str(each) for tool in toolset.tools.values() for each in tool.capabilities)
    return {name: tuple(sorted(raised)) for name, raised in servers.items()}


def _code(graph: Graph, worker: Worker) -> dict[str, tuple[str, ...]]:
    """The capabilities of each tool of a worker of which nothing else is known: those of servers have no such one."""
    tools: dict[str, set[str]] = {}
    for use in worker.uses:
        toolset = graph.toolsets.get(use.name)
        for tool in toolset.tools.values() if toolset is not None and toolset.kind != "mcp" else ():
            if any(UNKNOWN.fullmatch(each.name) for each in tool.capabilities):
                tools.setdefault(tool.name, set()).update(map(str, tool.capabilities))
    return {name: tuple(sorted(raised)) for name, raised in tools.items()}


def _freely(graph: Graph, worker: Worker) -> dict[str, tuple[str, ...]]:
    """The capabilities of each tool that the client's settings allow without a question."""
    settings = authority_of(Base(()), NO_LAYER, [replace(Layer.of_worker(worker), ceiling=None)])
    tools: dict[str, set[str]] = {}
    for use in worker.uses:
        toolset = graph.toolsets.get(use.name)
        for tool in toolset.tools.values() if toolset else ():
            for each in tool.capabilities:
                if decide([each], [each], settings).decision == "allowed":
                    tools.setdefault(tool.name, set()).add(str(each))
    return {name: tuple(sorted(raised)) for name, raised in tools.items()}


def _tells_code(graph: Graph) -> bool:
    """Whether a rule, a ceiling or a flow names the writing of code."""
    code = Capability(CODE_WRITE)
    named = [rule.capability for rule in (*graph.rules, *graph.shared_rules)]
    named += [flow.to for flow in graph.all_flows]
    everyone: list[Governed] = [*graph.workers.values(), *graph.entries.values()]
    for governed in everyone:
        named += [*(rule.capability for rule in governed.approvals), *(governed.may or ())]
    return any(code.covers_name(each.name) for each in named)


def _inputs(
    root: str, files: Iterable[str], client: Client, policy: Path
) -> tuple[dict[str, cache.Facts], tuple[str, ...]]:
    """The facts of all files and folders that the tables follow from, and the paths at which nothing is."""
    paths = {f"{root}/{path}" for path in files}
    tops = {pattern.partition("/")[0] for pattern in formats()[client.FORMAT].files}
    paths |= {f"{root}/{name}" for name in tops if not set(name) & {*"*?["}}
    for path in [*paths]:
        above = os.path.dirname(path)  # noqa: PTH120
        while len(above) > len(root):
            paths.add(above)
            above = os.path.dirname(above)  # noqa: PTH120
    paths.add(str(policy))
    seen: dict[str, cache.Facts] = {}
    missing: list[str] = []
    for path in sorted(paths):
        try:
            seen[path] = cache.facts(os.lstat(path))
        except OSError:
            missing.append(path)
    return seen, tuple(missing)
