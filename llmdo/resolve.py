"""Workspace to `Graph`: names resolved, digests taken, facts about tools put in place. Never fails.

What a name resolves to is a question to the graph, so an unknown one is still an edge; `checks` reports it.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from llmdo import digest
from llmdo.authority import BUILT_IN_VERSION, Capability, Decision, Rule
from llmdo.facts import ToolFacts, ToolsetFacts
from llmdo.graph import (
    DEFAULT_MAX_DEPTH,
    Acceptance,
    Attachments,
    Entry,
    Graph,
    Limits,
    Reference,
    Server,
    Settings,
    Tool,
    Toolset,
    Use,
    Worker,
)
from llmdo.shell import ShellLimits, ShellSettings, parse_rules
from llmdo.syntax.document import Place
from llmdo.values import replace
from llmdo.workspace import import_candidates, package_files, python_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from llmdo.facts import Facts
    from llmdo.syntax.document import Document, Route
    from llmdo.syntax.module import ToolsetOutline
    from llmdo.workspace import WorkerFile, Workspace


def resolve(workspace: Workspace, facts: Facts | None = None) -> Graph:
    """The graph of `workspace`. `facts` are what is known of its Python toolsets from importing them.

    A toolset that `facts` does not name is described by the outline of its module, as far as that goes.
    """
    manifest: Any = workspace.manifest or {}
    document = workspace.document
    table = manifest.get("workspace", {})
    workers = _workers(workspace)
    settings = Settings(
        name=table.get("name", ""),
        built_in=BUILT_IN_VERSION,
        default=manifest.get("approvals", {}).get("default", "needs_approval"),
        max_depth=table.get("max-depth", DEFAULT_MAX_DEPTH),
        model=reference(document, table.get("model"), "workspace", "model"),
    )
    models = {
        alias: (chain,) if isinstance(chain, str) else tuple(chain)
        for alias, chain in sorted(manifest.get("models", {}).items())
    }
    entries = _entries(workspace, manifest, workers)
    return Graph(
        settings=settings,
        rules=rules(
            document, manifest.get("approvals", {}).get("rules", {}), "llmdo.toml", "approvals", "rules"
        ),
        models=models,
        python_models=_python_models(workspace, settings, models, entries, workers),
        schema_sources=_schema_sources(workspace, workers),
        modules={
            path: found for path in workspace.toolset_modules if (found := source_digest(workspace, path))
        },
        paths=dict(sorted(manifest.get("paths", {}).items())),
        entries=entries,
        workers=workers,
        toolsets=_toolsets(workspace, manifest, facts or {}),
        acceptances=acceptances(document, manifest.get("check", {}).get("accept", ()), "check", "accept"),
        shell=shell(manifest.get("toolsets", {}).get("shell", {})),
        code=tuple(workspace.modules),
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
    return None if texts is None else tuple(sorted({Capability.parse(text) for text in texts}, key=str))


def limits(table: Mapping[str, Any]) -> Limits:
    """The budgets of an entry."""
    return Limits(**{key.replace("-", "_"): value for key, value in table.items()})


def attachments(table: Mapping[str, Any]) -> Attachments:
    """What a worker says about the files that its callers hand over."""
    suffixes = table.get("suffixes")
    return Attachments(
        max=table.get("max"),
        max_bytes=table.get("max-bytes"),
        suffixes=None if suffixes is None else tuple(sorted(set(suffixes))),
    )


def server(table: Mapping[str, Any]) -> Server:
    """How an MCP server is reached."""
    return Server(
        command=table.get("command"),
        args=tuple(table.get("args", ())),
        env=tuple(sorted(set(table.get("env", ())))),
        url=table.get("url"),
    )


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


def _workers(workspace: Workspace) -> dict[str, Worker]:
    workers: dict[str, Worker] = {}
    for file in workspace.workers:
        workers.setdefault(file.header["name"], _worker(file))
    return dict(sorted(workers.items()))


def _worker(file: WorkerFile) -> Worker:
    header: Any = file.header
    document = file.document
    name = header["name"]
    toolsets = header.get("toolsets", {})
    listed = isinstance(toolsets, list)
    uses = {
        used: Use(
            name=used,
            config={} if listed else toolsets[used],
            at=Place(document, ("toolsets", toolsets.index(used) if listed else used), of_key=True),
        )
        for used in toolsets
    }
    compatible = header.get("compatible_models")
    canonical = {**header, "toolsets": {used: use.config for used, use in sorted(uses.items())}}
    return Worker(
        name=name,
        at=Place(document, ("name",)),
        path=document.source.path,
        config=digest.of_data(canonical),
        prompt=digest.of_text(file.prompt),
        description=header.get("description"),
        model=reference(document, header.get("model"), "model"),
        compatible_models=None if compatible is None else tuple(sorted(set(compatible))),
        model_settings=header.get("model_settings", {}),
        entry=header.get("entry", False),
        recursive=header.get("recursive", False),
        uses=tuple(uses[used] for used in sorted(uses)),
        may=ceiling(header.get("may")),
        may_at=Place(document, ("may",)),
        approvals=rules(document, header.get("approvals", {}), f"worker `{name}`", "approvals"),
        schema_in=reference(document, header.get("schema_in_ref"), "schema_in_ref"),
        schema_out=reference(document, header.get("schema_out_ref"), "schema_out_ref"),
        attachments=attachments(header.get("attachments", {})),
    )


def _entries(
    workspace: Workspace, manifest: Mapping[str, Any], workers: Mapping[str, Worker]
) -> dict[str, Entry]:
    document = workspace.document
    entries = {
        name: _entry(workspace, document, name, table) for name, table in manifest.get("entries", {}).items()
    }
    for name, worker in workers.items():
        if worker.entry and name not in entries:
            entries[name] = Entry(name=name, at=worker.at, declared=False, worker=Reference(name, worker.at))
    return dict(sorted(entries.items()))


def _entry(workspace: Workspace, document: Document, name: str, table: Mapping[str, Any]) -> Entry:
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
        source=source_digest(workspace, python_file(function.name)) if function else None,
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
    settings: Settings,
    models: Mapping[str, tuple[str, ...]],
    entries: Mapping[str, Entry],
    workers: Mapping[str, Worker],
) -> dict[str, str]:
    named = [settings.model, *(entry.model for entry in entries.values())]
    named += [worker.model for worker in workers.values()]
    texts = {one.name for one in named if one} | {model for chain in models.values() for model in chain}
    digests = {}
    for text in sorted(texts):
        if text.startswith("python:") and (path := python_file(text.removeprefix("python:"))):
            digests[text] = source_digest(workspace, path)
    return {text: found for text, found in digests.items() if found}


def _schema_sources(workspace: Workspace, workers: Mapping[str, Worker]) -> dict[str, str]:
    paths = {
        path
        for worker in workers.values()
        for schema in (worker.schema_in, worker.schema_out)
        if schema and (path := python_file(schema.name))
    }
    digests = {path: source_digest(workspace, path) for path in sorted(paths)}
    return {path: found for path, found in digests.items() if found}


def source_digest(workspace: Workspace, path: str | None) -> str | None:
    """The digest of a Python file of the workspace and of all its files that it imports; None without the file."""
    if path is None or path not in workspace.modules:
        return None
    closure = {path}
    waiting = [path]
    while waiting:
        at = waiting.pop()
        for candidate in import_candidates(at, workspace.modules[at].outline):
            if candidate in workspace.modules and candidate not in closure:
                closure.add(candidate)
                waiting.append(candidate)
    return digest.of_data({one: workspace.modules[one].source.text for one in sorted(closure)})


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
    for path in workspace.toolset_modules:
        for attribute in workspace.modules[path].outline.toolsets:
            if (python := f"{path}:{attribute}") not in renamed:
                yield attribute, python, workspace.modules[path].place(attribute)


def _toolsets(workspace: Workspace, manifest: Mapping[str, Any], facts: Facts) -> dict[str, Toolset]:
    tables = manifest.get("toolsets", {})
    source_of = cache(partial(source_digest, workspace))
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
        name: _toolset(workspace, source_of, name, python, place, facts.get(python), tables.get(name, {}))
        for name, (python, place) in found.items()
    }
    for name, table in tables.items():
        if "mcp" in table:
            at = Place(workspace.document, ("toolsets", name), of_key=True)
            toolsets[name] = _mcp_toolset(name, at, table)
    return dict(sorted(toolsets.items()))


def _toolset(
    workspace: Workspace,
    source_of: Callable[[str | None], str | None],
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
        source=source_of(path),
        is_class=known.is_class,
        dynamic=known.dynamic,
        tools={tool: _tool(name, tool, fact, declared) for tool, fact in sorted(known.tools.items())},
    )


def _mcp_toolset(name: str, at: Place, table: Mapping[str, Any]) -> Toolset:
    """An MCP server: what the manifest says of its tools, and of all others that a call is one."""
    reached = server(table["mcp"])
    called = ["mcp.call", "net.connect"] if reached.url else ["mcp.call"]
    declared = {"*": called, **table.get("capabilities", {})}
    tools = {
        tool: Tool(name=tool, capabilities=ceiling(texts) or ()) for tool, texts in sorted(declared.items())
    }
    return Toolset(name=name, kind="mcp", at=at, server=reached, dynamic=True, tools=tools)


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


def _tool(toolset: str, name: str, fact: ToolFacts, table: Mapping[str, list[str]]) -> Tool:
    stated = table.get(name, table.get("*"))
    if stated is None and fact.capabilities is None:
        declared = {Capability(f"x.{toolset}.any")}
    else:
        declared = {Capability.parse(text) for text in (*(stated or ()), *(fact.capabilities or ()))}
    return Tool(
        name=name,
        capabilities=tuple(sorted(declared, key=str)),
        hook=fact.hook,
        digest=fact.digest,
        metadata=ceiling(fact.capabilities),
    )
