"""Workspace to `Graph`: names resolved, digests taken, facts about tools put in place. Never fails.

What a name resolves to is a question to the graph, so an unknown one is still an edge; `checks` reports it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from llmdo.base import digest
from llmdo.base.values import replace
from llmdo.graph import servers
from llmdo.graph.builtin import PROVIDER_SIDE
from llmdo.graph.facts import ToolFacts, ToolsetFacts
from llmdo.graph.models import recording_file
from llmdo.graph.resolved import (
    DEFAULT_MAX_DEPTH,
    Acceptance,
    Attachments,
    Entry,
    Graph,
    Limits,
    Reference,
    Settings,
    Tool,
    Toolset,
    Use,
    Worker,
)
from llmdo.policy.authority import BUILT_IN_VERSION, Capability, Decision, Rule
from llmdo.policy.shell import ShellLimits, ShellSettings, parse_rules
from llmdo.syntax.document import Place
from llmdo.workspace.modules import importable, source_digests, text_digests
from llmdo.workspace.references import package_files, python_file
from llmdo.workspace.worker_file import own_toolset

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.graph.facts import Facts
    from llmdo.syntax.document import Document, Route
    from llmdo.syntax.module import ToolsetOutline
    from llmdo.workspace.reading import Workspace
    from llmdo.workspace.worker_file import WorkerFile


def resolve(workspace: Workspace, facts: Facts | None = None) -> Graph:
    """The graph of `workspace`. `facts` are what is known of its Python toolsets from importing them.

    A toolset that `facts` does not name is described by the outline of its module, as far as that goes.
    """
    manifest: Any = workspace.manifest or {}
    document = workspace.document
    table, approvals = manifest.get("workspace", {}), manifest.get("approvals", {})
    sources = source_digests(workspace.modules)
    workers = _workers(workspace, sources)
    settings = Settings(
        name=table.get("name", ""),
        built_in=BUILT_IN_VERSION,
        default=approvals.get("default", "needs_approval"),
        max_depth=table.get("max-depth", DEFAULT_MAX_DEPTH),
        model=reference(document, table.get("model"), "workspace", "model"),
        on_truncated=table.get("on-truncated", "warn"),
    )
    models = {
        alias: (chain,) if isinstance(chain, str) else tuple(chain)
        for alias, chain in sorted(manifest.get("models", {}).items())
    }
    entries = _entries(document, manifest, workers, sources)
    return Graph(
        settings=settings,
        rules=rules(document, approvals.get("rules", {}), "llmdo.toml", "approvals", "rules"),
        models=models,
        python_models=_python_models(workspace, sources, settings, models, entries, workers),
        schema_sources=_schema_sources(sources, workers),
        modules={path: sources[path] for path in workspace.toolset_modules},
        paths=dict(sorted(manifest.get("paths", {}).items())),
        entries=entries,
        workers=workers,
        toolsets=_toolsets(workspace, manifest, facts or {}),
        acceptances=acceptances(document, manifest.get("check", {}).get("accept", ()), "check", "accept"),
        shell=shell(manifest.get("toolsets", {}).get("shell", {})),
        code=text_digests(workspace.modules),
        importable=importable(workspace.modules),
    )


def shell(table: Mapping[str, Any]) -> ShellSettings:
    """What is said about the built-in `shell`, its presets expanded."""
    limits = {key.replace("-", "_"): value for key, value in table.get("limits", {}).items()}
    return ShellSettings(
        rules=parse_rules(table),
        isolation=table.get("isolation", "auto"),
        env=tuple(sorted(set(table.get("env", ())))),
        limits=ShellLimits(**limits),
    )


def with_facts(graph: Graph, workspace: Workspace, facts: Facts) -> Graph:
    """What `resolve` makes of `workspace` and `facts`, given what it made of `workspace` alone."""
    return replace(graph, toolsets=_toolsets(workspace, workspace.manifest or {}, facts))


def reference(document: Document, name: str | None, *route: str | int) -> Reference | None:
    """The name at `route` of a document; None for none."""
    return Reference(name, Place(document, route)) if name else None


def rules(
    document: Document, table: Mapping[str, Decision], origin: str, *route: str | int
) -> tuple[Rule, ...]:
    """The rules of one table, sorted by capability."""
    return tuple(
        sorted(
            (
                Rule(Capability.parse(text), decision, origin, Place(document, (*route, text), of_key=True))
                for text, decision in table.items()
            ),
            key=lambda rule: str(rule.capability),
        )
    )


def ceiling(texts: Iterable[str] | None) -> tuple[Capability, ...] | None:
    """The capabilities of a `may`, sorted; None where none was written, which is not the same as an empty one."""
    return None if texts is None else _capabilities(tuple(texts))


@lru_cache(maxsize=1_024)  # whole teams have the same ceiling, and what is one object is compared at once
def _capabilities(texts: tuple[str, ...]) -> tuple[Capability, ...]:
    return tuple(sorted({Capability.parse(text) for text in texts}, key=str))


def limits(table: Mapping[str, Any]) -> Limits:
    """The budgets of an entry."""
    return Limits(**{key.replace("-", "_"): value for key, value in table.items()})


_WITHOUT_LIMITS = Attachments()
_NOTHING: Mapping[str, object] = {}


def attachments(table: Mapping[str, Any]) -> Attachments:
    """What a worker says about the files that its callers hand over."""
    if not table:
        return _WITHOUT_LIMITS
    suffixes = table.get("suffixes")
    return Attachments(
        max=table.get("max"),
        max_bytes=table.get("max-bytes"),
        suffixes=None if suffixes is None else tuple(sorted(set(suffixes))),
    )


def provider_side(names: Iterable[str], at: Place) -> Use:
    """The line of a worker's uses for the tools that its model's provider runs."""
    return Use(name=PROVIDER_SIDE, config={"tools": tuple(sorted(set(names)))}, at=at)


def acceptances(
    document: Document, tables: Iterable[Mapping[str, Any]], *route: str
) -> tuple[Acceptance, ...]:
    """What people have accepted, sorted: their order in the file means nothing."""
    found = [
        Acceptance(
            code=table.get("code"),
            capability=Capability.parse(table["capability"]) if "capability" in table else None,
            entry=table.get("entry"),
            gated=table.get("gated", False),
            reason=table["reason"],
            at=Place(document, (*route, number)),
        )
        for number, table in enumerate(tables)
    ]
    return tuple(
        sorted(
            found,
            key=lambda one: (
                one.code or "",
                str(one.capability or ""),
                one.entry or "",
                one.gated,
                one.reason,
            ),
        )
    )


def _workers(workspace: Workspace, sources: Mapping[str, str]) -> dict[str, Worker]:
    workers: dict[str, Worker] = {}
    routes: dict[str, Route] = {}
    for file in workspace.workers:
        workers.setdefault(file.header["name"], _worker(file, sources, routes))
    return dict(sorted(workers.items()))


def _worker(file: WorkerFile, sources: Mapping[str, str], routes: dict[str, Route]) -> Worker:
    """A worker; `routes` holds those to lines of `toolsets`, of which many workers have the same."""
    header: Any = file.header
    document = file.document
    name = header["name"]
    toolsets = header.get("toolsets", {})
    listed = isinstance(toolsets, list)
    uses = {
        used: Use(
            name=used,
            config=_NOTHING if listed else toolsets[used],
            at=Place(
                document,
                ("toolsets", toolsets.index(used))
                if listed
                else routes.get(used) or routes.setdefault(used, ("toolsets", used)),
                of_key=True,
            ),
        )
        for used in toolsets
    }
    if native := header.get("native_tools"):
        uses[PROVIDER_SIDE] = provider_side(native, Place(document, ("native_tools",), of_key=True))
    if file.agent:
        own = own_toolset(name)
        uses[own] = Use(name=own, config={}, at=Place(document, ("name",)))
    compatible = header.get("compatible_models")
    canonical = {**header, "toolsets": {used: uses[used].config for used in sorted(toolsets)}}
    return Worker(
        name=name,
        at=Place(document, ("name",)),
        path=document.source.path,
        config=digest.of_data(canonical),
        prompt=file.prompt_digest(sources),
        python=file.python,
        agent=file.agent,
        description=header.get("description"),
        model=reference(document, header.get("model"), "model"),
        compatible_models=None if compatible is None else tuple(sorted(set(compatible))),
        model_settings=header.get("model_settings", _NOTHING),
        entry=header.get("entry", False),
        recursive=header.get("recursive", False),
        uses=tuple(uses[used] for used in sorted(uses)),
        may=ceiling(header.get("may")),
        may_at=Place(document, ("may",)) if "may" in header else None,
        approvals=rules(document, header.get("approvals", {}), f"worker `{name}`", "approvals"),
        schema_in=reference(document, header.get("schema_in_ref"), "schema_in_ref"),
        schema_out=reference(document, header.get("schema_out_ref"), "schema_out_ref"),
        attachments=attachments(header.get("attachments", {})),
    )


def _entries(
    document: Document, manifest: Mapping[str, Any], workers: Mapping[str, Worker], sources: Mapping[str, str]
) -> dict[str, Entry]:
    entries = {
        name: _entry(document, name, table, sources) for name, table in manifest.get("entries", {}).items()
    }
    for name, worker in workers.items():
        if worker.entry and name not in entries:
            entries[name] = Entry(name=name, at=worker.at, declared=False, worker=Reference(name, worker.at))
    return dict(sorted(entries.items()))


def _entry(document: Document, name: str, table: Mapping[str, Any], sources: Mapping[str, str]) -> Entry:
    at: Route = ("entries", name)
    calls = tuple(
        Reference(called, Place(document, (*at, "calls", number)))
        for number, called in enumerate(table.get("calls", ()))
    )
    function = reference(document, table.get("function"), *at, "function")
    return Entry(
        name=name,
        at=Place(document, at, of_key=True),
        worker=reference(document, table.get("worker"), *at, "worker"),
        function=function,
        tool=reference(document, table.get("tool"), *at, "tool"),
        source=sources.get(python_file(function.name) or "") if function else None,
        calls=tuple(sorted({call.name: call for call in calls}.values(), key=lambda call: call.name)),
        input=table.get("input"),
        model=reference(document, table.get("model"), *at, "model"),
        may=ceiling(table.get("may")),
        may_at=Place(document, (*at, "may")),
        approvals=rules(document, table.get("approvals", {}), f"entry `{name}`", *at, "approvals"),
        limits=limits(table.get("limits", {})),
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
    texts = {one.name for one in named if one} | {model for chain in models.values() for model in chain}
    found: dict[str, str | None] = {}
    for text in sorted(texts):
        if played := recording_file(text):
            found[text] = workspace.recordings.get(played)
        elif text.startswith("python:"):
            found[text] = sources.get(python_file(text.removeprefix("python:")) or "")
    return {text: source for text, source in found.items() if source is not None}


def _schema_sources(sources: Mapping[str, str], workers: Mapping[str, Worker]) -> dict[str, str]:
    paths = {
        path
        for worker in workers.values()
        for schema in (worker.schema_in, worker.schema_out)
        if schema and (path := python_file(schema.name))
    }
    return {path: sources[path] for path in sorted(paths) if path in sources}


def toolset_references(workspace: Workspace) -> Iterator[tuple[str, str, Place]]:
    """Name, reference and place of every Python toolset that the files name; of one name as often as it is named.

    The attributes of the listed modules go by their own names, unless the manifest gives them another.
    """
    manifest: Any = workspace.manifest or {}
    renamed = set()
    for name, table in manifest.get("toolsets", {}).items():
        if "python" in table:
            renamed.add(table["python"])
            yield name, table["python"], Place(workspace.document, ("toolsets", name), of_key=True)
    for file in workspace.workers:
        if file.agent:
            name = file.header["name"]
            yield own_toolset(name), file.agent, Place(workspace.document, ("workers", name), of_key=True)
    for path in workspace.toolset_modules:
        for attribute in workspace.modules[path].outline.toolsets:
            if (python := f"{path}:{attribute}") not in renamed:
                yield attribute, python, workspace.modules[path].place(attribute)


def _toolsets(workspace: Workspace, manifest: Mapping[str, Any], facts: Facts) -> dict[str, Toolset]:
    tables = dict(manifest.get("toolsets", {}))
    tables |= {own_toolset(name): table for name, table in manifest.get("workers", {}).items()}
    sources = source_digests(workspace.modules)
    found: dict[str, tuple[str, Place]] = {}
    named = set()
    for name, python, place in toolset_references(workspace):
        found.setdefault(name, (python, place))
        named.add(python)
    for python in facts:
        path, _, attribute = python.rpartition(":")
        if path in workspace.toolset_modules and python not in named:
            found.setdefault(attribute, (python, workspace.modules[path].place(attribute)))
    toolsets = {
        name: _toolset(workspace, sources, name, python, place, facts.get(python), tables.get(name, {}))
        for name, (python, place) in found.items()
    }
    for name, table in tables.items():
        if "mcp" in table:
            at = Place(workspace.document, ("toolsets", name), of_key=True)
            toolsets[name] = _mcp_toolset(name, at, table, facts.get(servers.key_of(name)))
    return dict(sorted(toolsets.items()))


def _toolset(
    workspace: Workspace,
    sources: Mapping[str, str],
    name: str,
    python: str,
    place: Place,
    known: ToolsetFacts | None,
    table: Mapping[str, Any],
) -> Toolset:
    path = python_file(python) or next(
        (one for one in package_files(python) if one in workspace.modules), None
    )
    if known is None:
        module = workspace.modules.get(path or "")
        known = _outlined(module.outline.toolsets.get(python.rpartition(":")[2]) if module else None)
    declared = table.get("capabilities", {})
    return Toolset(
        name=name,
        kind="python",
        at=place,
        python=python,
        source=sources.get(path or ""),
        sources=workspace.modules[path].sources if path and path in workspace.modules else (),
        prefix=table.get("prefix"),
        is_class=known.is_class,
        dynamic=known.dynamic,
        tools={tool: _tool(name, tool, fact, table) for tool, fact in known.tools_with(declared)},
    )


def _mcp_toolset(name: str, at: Place, table: Mapping[str, Any], known: ToolsetFacts | None) -> Toolset:
    reached = servers.server_of(table["mcp"], table)
    return Toolset(
        name=name,
        kind="mcp",
        at=at,
        server=reached,
        identity=known.identity if known else None,
        prefix=table.get("prefix"),
        timeout_s=table.get("timeout-s"),
        instructions=table.get("instructions", False),
        isolation=table.get("isolation", "auto"),
        dynamic=known is None,
        tools=servers.tools_of(reached, table.get("capabilities", {}), table.get("retry", {}), known),
    )


def _outlined(outline: ToolsetOutline | None) -> ToolsetFacts:
    """What reading a module, without importing it, tells about one of its toolsets."""
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


def _tool(toolset: str, name: str, fact: ToolFacts, table: Mapping[str, Any]) -> Tool:
    of_tool, retry = table.get("capabilities", {}), table.get("retry", {})
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
