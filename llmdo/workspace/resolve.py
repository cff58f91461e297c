"""Workspace to `Graph`: names resolved, digests taken, facts about tools put in place. Never fails.

The target of a name is a question to the graph, so an unknown one is still an edge; `checks` reports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmdo.base import digest, parts
from llmdo.base.values import replace
from llmdo.graph import keys, servers
from llmdo.graph.builtin import PROVIDER_SIDE
from llmdo.graph.keys import NOWHERE, Reference, ValueOrigin, ceiling, decoded, reference, rules
from llmdo.graph.models import model_file
from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.settings import DEFAULT_MAX_DEPTH, Acceptance, Notify, Schedule, Settings
from llmdo.graph.toolset import Tool, ToolFacts, Toolset, ToolsetFacts
from llmdo.graph.worker import Use, Worker, own_toolset
from llmdo.policy.authority import BUILT_IN_VERSION, Capability
from llmdo.policy.shell import ShellLimits, ShellSettings, parse_rules
from llmdo.syntax.document import Place
from llmdo.workspace.adopted import after_its_name, with_adopted
from llmdo.workspace.extensions import used
from llmdo.workspace.modules import source_digests, text_digests
from llmdo.workspace.references import package_files, python_file
from llmdo.workspace.toolset_names import names_of_paths, toolset_references

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.base.values import Json
    from llmdo.graph.keys import FileKind
    from llmdo.graph.toolset import Facts
    from llmdo.syntax.document import Document, Route
    from llmdo.syntax.module import ToolsetOutline
    from llmdo.workspace.remembered import Remembered
    from llmdo.workspace.worker_file import WorkerFile
    from llmdo.workspace.workspace import Workspace


def resolve(
    workspace: Workspace, facts: Facts | None = None, known: Remembered[Worker] | None = None
) -> Graph:
    """The graph of `workspace`. `facts` are those found by importing its Python toolsets.

    A toolset without `facts` is described by the outline of its module, as far as that goes. Workers that are `known`
    are not made again.
    """
    own = _own(workspace, facts, known)
    return with_adopted(own, workspace, workspace.adoption) if workspace.adoption else own


def _own(workspace: Workspace, facts: Facts | None, known: Remembered[Worker] | None) -> Graph:
    """The graph of what llmdo itself runs."""
    document = workspace.document
    approvals = workspace.table("approvals")
    sources = source_digests(workspace.modules)
    workers = _workers(workspace, sources, known)
    settings = decoded(
        Settings,
        "file",
        {"name": "", "max-depth": DEFAULT_MAX_DEPTH, **workspace.table("workspace")},
        ValueOrigin(document, ("workspace",)),
        built_in=BUILT_IN_VERSION,
        default=approvals.get("default", "needs_approval"),
    )
    models = _aliases(workspace)
    entries = _entries(workspace, workers, sources)
    return Graph(
        settings=settings,
        rules=rules(
            parts.table(approvals, "rules"), ValueOrigin(document, ("approvals", "rules"), "llmdo.toml")
        ),
        flows=keys.flows(workspace.table("flows"), ValueOrigin(document, ("flows",), "llmdo.toml")),
        sources=keys.labelled_sources(workspace.table("sources"), ValueOrigin(document, ("sources",))),
        policies=workspace.policies,
        extensions=used(document, workspace.extensions) if workspace.extensions else {},
        models=models,
        python_models=_python_models(workspace, sources, settings, models, entries, workers),
        schema_sources=_schema_sources(sources, workers),
        modules={path: sources[path] for path in workspace.toolset_modules},
        paths={alias: parts.text(target) for alias, target in sorted(workspace.table("paths").items())},
        entries=entries,
        workers=workers,
        toolsets=_toolsets(workspace, facts or {}),
        schedules=schedules(document, workspace.tables("schedules"), "schedules", "file"),
        notify=notify(workspace.table("notify"), "file"),
        acceptances=acceptances(
            parts.items(workspace.table("check").get("accept")), ValueOrigin(document, ("check", "accept"))
        ),
        shell=shell(workspace.table("toolsets", "shell")),
        judges=text_digests(workspace.judges),
        code=text_digests(workspace.modules),
        governing=workspace.governing,
    )


def _aliases(workspace: Workspace) -> dict[str, tuple[str, ...]]:
    """The aliases of models, each with its fallback chain."""
    return {
        alias: (chain,) if isinstance(chain, str) else parts.texts(chain)
        for alias, chain in sorted(workspace.table("models").items())
    }


def schedules(
    document: Document, tables: Mapping[str, Mapping[str, Json]], key: str, kind: FileKind
) -> dict[str, Schedule]:
    """The starts of entries, by the names of the tables below `key`; tables without `entry` or `cron` are left out."""
    return {
        name: decoded(
            Schedule,
            kind,
            table,
            ValueOrigin(document, (key, name)),
            name=name,
            at=Place(document, (key, name), of_key=True),
        )
        for name, table in sorted(tables.items())
        if {"entry", "cron"} <= table.keys()
    }


def notify(table: Mapping[str, Json], kind: FileKind) -> Notify | None:
    """The receiver of notices that runs ended; None if the table lacks one of its variables."""
    if not {"url-env", "secret-env"} <= table.keys():
        return None
    return decoded(Notify, kind, table, NOWHERE)


def shell(table: Mapping[str, Any]) -> ShellSettings:
    """The settings of the built-in `shell`, its presets expanded."""
    limits = {key.replace("-", "_"): value for key, value in table.get("limits", {}).items()}
    return ShellSettings(
        rules=parse_rules(table),
        isolation=table.get("isolation", "auto"),
        env=tuple(sorted(set(table.get("env", ())))),
        limits=ShellLimits(**limits),
    )


def with_facts(graph: Graph, workspace: Workspace, facts: Facts) -> Graph:
    """The result of `resolve` for `workspace` and `facts`, made from its result for `workspace` alone."""
    own = replace(graph, toolsets=_toolsets(workspace, facts))
    return with_adopted(own, workspace, workspace.adoption) if workspace.adoption else own


_NOTHING: Mapping[str, Json] = {}


def provider_side(tools: Iterable[str], at: Place) -> Use:
    """The line of a worker's uses for its model provider's own tools: their names, or names to options."""
    config: dict[str, Json] = {"tools": tuple(sorted(set(tools)))}
    if isinstance(tools, dict) and (options := {name: table for name, table in tools.items() if table}):
        config["options"] = options
    return Use(name=PROVIDER_SIDE, config=config, at=at)


def acceptances(tables: Iterable[Json], origin: ValueOrigin) -> tuple[Acceptance, ...]:
    """The acceptances of people, sorted: their order in the file means nothing."""
    document, route, _ = origin
    read = [
        decoded(Acceptance, "lock", parts.table(table), origin, at=Place(document, (*route, number)))
        for number, table in enumerate(tables)
    ]

    def order(each: Acceptance) -> tuple[str, str, str, bool, str]:
        return each.code or "", str(each.capability or ""), each.entry or "", each.gated, each.reason

    return tuple(sorted(read, key=order))


def _workers(
    workspace: Workspace, sources: Mapping[str, str], known: Remembered[Worker] | None
) -> dict[str, Worker]:
    workers: dict[str, Worker] = {}
    routes: dict[str, Route] = {}
    paths = names_of_paths(workspace)
    for file in workspace.workers:
        path = file.document.source.path
        # Of what is written in Python, and of what names the paths of classes, other files decide as well.
        remembered = known if file.has_own_file and not paths else None
        worker = (remembered and remembered.of(path, file)) or _worker(file, sources, routes, paths)
        if remembered:
            remembered.keep(path, file, worker)
        if worker.schema_out:
            from llmdo.workspace.answers import with_bits  # what only typed answers need

            worker = with_bits(worker, workspace.modules)
        workers.setdefault(file.name, worker)
    return dict(sorted(workers.items()))


def _worker(
    file: WorkerFile, sources: Mapping[str, str], routes: dict[str, Route], paths: Mapping[str, str]
) -> Worker:
    """A worker; `routes` holds those to lines of `toolsets`, which many workers share.

    `paths` maps the class paths by which headers name toolsets to the names of these.
    """
    header = file.header
    document = file.document
    name = file.name
    uses = _uses(document, header.get("toolsets"), routes, paths)
    lines = sorted(uses)
    if native := header.get("native_tools"):
        uses[PROVIDER_SIDE] = provider_side(
            parts.texts(native) or parts.table(native), Place(document, ("native_tools",), of_key=True)
        )
    if file.agent:
        own = own_toolset(name)
        uses[own] = Use(name=own, config={}, at=Place(document, ("name",)))
    canonical = {**header, "toolsets": {used: uses[used].config for used in lines}}
    if isinstance(native, dict):
        canonical["native_tools"] = {tool: parts.table(options) for tool, options in native.items()}
    return decoded(
        Worker,
        "file",
        header,
        ValueOrigin(document, (), f"worker `{name}`"),
        at=Place(document, ("name",)),
        path=document.source.path,
        config=digest.of_data(canonical),
        prompt=file.prompt_digest(sources),
        python=file.python,
        agent=file.agent,
        deps=reference(parts.text(header.get("deps")), ValueOrigin(document, ("deps",))),
        uses=tuple(uses[used] for used in sorted(uses)),
        may_at=Place(document, ("may",)) if "may" in header else None,
    )


def _uses(
    document: Document, listed: Json, routes: dict[str, Route], paths: Mapping[str, str]
) -> dict[str, Use]:
    """The lines of a worker's `toolsets` by the name used; of several with the same name, the first."""
    if isinstance(listed, list):
        uses = [
            Use(
                name=paths.get(used, used),
                config=_NOTHING,
                at=Place(document, ("toolsets", number), of_key=True),
            )
            for number, used in enumerate(parts.texts(listed))
        ]
    else:
        uses = [
            Use(
                name=paths.get(used, used),
                config=parts.table(config),
                at=Place(
                    document, routes.get(used) or routes.setdefault(used, ("toolsets", used)), of_key=True
                ),
            )
            for used, config in parts.table(listed).items()
        ]
    return {use.name: use for use in reversed(uses)}


def _entries(
    workspace: Workspace, workers: Mapping[str, Worker], sources: Mapping[str, str]
) -> dict[str, Entry]:
    document = workspace.document
    entries = {
        name: _entry(document, name, table, sources) for name, table in workspace.tables("entries").items()
    }
    if workspace.adoption:
        entries = {name: after_its_name(entry) for name, entry in entries.items()}
    return with_implied(entries, workers)


def with_implied(entries: Mapping[str, Entry], workers: Mapping[str, Worker]) -> dict[str, Entry]:
    """The declared `entries`, and one for each worker that says it is an entry and has none, sorted."""
    implied = {
        name: Entry(name=name, at=worker.at, declared=False, worker=Reference(name, worker.at))
        for name, worker in workers.items()
        if worker.entry and name not in entries
    }
    return dict(sorted({**entries, **implied}.items()))


def _entry(document: Document, name: str, table: Mapping[str, Json], sources: Mapping[str, str]) -> Entry:
    at: Route = ("entries", name)
    function = parts.text(table.get("function"))
    return decoded(
        Entry,
        "file",
        table,
        ValueOrigin(document, at, f"entry `{name}`"),
        name=name,
        at=Place(document, at, of_key=True),
        source=sources.get(python_file(function) or "") if function else None,
        may_at=Place(document, (*at, "may")),
    )


def _python_models(
    workspace: Workspace,
    sources: Mapping[str, str],
    settings: Settings,
    models: Mapping[str, tuple[str, ...]],
    entries: Mapping[str, Entry],
    workers: Mapping[str, Worker],
) -> dict[str, str]:
    named = [settings.model, *(entry.model for entry in entries.values())]
    named += [worker.model for worker in workers.values()]
    texts = {named_model.name for named_model in named if named_model} | {
        model for chain in models.values() for model in chain
    }
    digests: dict[str, str | None] = {}
    for text in sorted(texts):
        file = model_file(text)
        if file or text.startswith("python:"):
            python = python_file(text.removeprefix("python:")) or ""
            digests[text] = workspace.recordings.get(file) if file else sources.get(python)
    return {text: source for text, source in digests.items() if source is not None}


def _schema_sources(sources: Mapping[str, str], workers: Mapping[str, Worker]) -> dict[str, str]:
    paths = {
        path for worker in workers.values() for named in worker.code if (path := python_file(named.name))
    }
    return {path: sources[path] for path in sorted(paths) if path in sources}


def _toolsets(workspace: Workspace, facts: Facts) -> dict[str, Toolset]:
    tables = workspace.tables("toolsets")
    tables = {**tables, **{own_toolset(name): table for name, table in workspace.tables("workers").items()}}
    sources = source_digests(workspace.modules)
    references: dict[str, tuple[str, Place]] = {}
    named = set()
    for name, python, place in toolset_references(workspace):
        references.setdefault(name, (python, place))
        named.add(python)
    for python in facts:
        path, _, attribute = python.rpartition(":")
        if path in workspace.toolset_modules and python not in named:
            references.setdefault(attribute, (python, workspace.modules[path].place(attribute)))
    toolsets = {
        name: _toolset(workspace, sources, name, python, place, facts.get(python), tables.get(name, {}))
        for name, (python, place) in references.items()
    }
    for name, table in tables.items():
        if "mcp" in table:
            at = Place(workspace.document, ("toolsets", name), of_key=True)
            programs = workspace.programs_of(name)
            toolsets[name] = _mcp_toolset(name, at, table, programs, facts.get(servers.key_of(name)))
    return dict(sorted(toolsets.items()))


def _toolset(
    workspace: Workspace,
    sources: Mapping[str, str],
    name: str,
    python: str,
    place: Place,
    known: ToolsetFacts | None,
    table: Mapping[str, Json],
) -> Toolset:
    path = python_file(python) or next(
        (candidate for candidate in package_files(python) if candidate in workspace.modules), None
    )
    if known is None:
        module = workspace.modules.get(path or "")
        known = _outlined(module.outline.toolsets.get(python.rpartition(":")[2]) if module else None)
    declared = parts.table(table, "capabilities")
    written = {key: table[key] for key in ("calls", "configure", "reads", "targets", "keeps") if key in table}
    return decoded(
        Toolset,
        "file",
        written,
        ValueOrigin(workspace.document, ("toolsets", name)),
        name=name,
        kind="python",
        at=place,
        python=python,
        source=sources.get(path or ""),
        sources=workspace.modules[path].sources if path and path in workspace.modules else (),
        prefix=parts.text(table.get("prefix")) or None,
        is_class=known.is_class,
        dynamic=known.dynamic,
        tools={tool: _tool(name, tool, fact, table) for tool, fact in known.tools_with(declared)},
    )


def _mcp_toolset(
    name: str, at: Place, table: Mapping[str, Json], programs: Mapping[str, str], known: ToolsetFacts | None
) -> Toolset:
    reached = servers.server_of(parts.table(table, "mcp"), table)
    return decoded(
        Toolset,
        "file",
        {
            key: value
            for key, value in table.items()
            if key not in ("python", "sources", "calls", "configure")
        },
        ValueOrigin(at.document, at.route),
        name=name,
        kind="mcp",
        at=at,
        server=reached,
        programs=programs,
        identity=known.identity if known else None,
        dynamic=known is None,
        tools=servers.tools_of(reached, servers.declared_in(table), servers.retries_in(table), known),
    )


def _outlined(outline: ToolsetOutline | None) -> ToolsetFacts:
    """The facts about a toolset from reading its module, without importing it."""
    if outline is None:
        return ToolsetFacts(is_class=False, dynamic=True, tools={})
    return ToolsetFacts(
        is_class=outline.is_class,
        dynamic=not outline.complete,
        tools={
            name: ToolFacts(digest=None, capabilities=tool.capabilities, hook=outline.hook)
            for name, tool in outline.tools.items()
        },
    )


def _tool(toolset: str, name: str, fact: ToolFacts, table: Mapping[str, Json]) -> Tool:
    of_tool, retry = servers.declared_in(table), servers.retries_in(table)
    stated = of_tool.get(name, of_tool.get("*"))
    if stated is None and fact.capabilities is None:
        declared = {Capability(f"x.{toolset}.any")}
    else:
        declared = {Capability.parse(text) for text in (*(stated or ()), *(fact.capabilities or ()))}
    return Tool(
        name=name,
        capabilities=tuple(sorted(declared, key=str)),
        hook=fact.hook,
        digest=fact.digest,
        retry=retry.get(name, retry.get("*")),
        metadata=ceiling(fact.capabilities),
    )
