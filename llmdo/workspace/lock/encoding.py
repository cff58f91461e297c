"""`Graph` to the data of a lock, of the form `formats.LockFile`, and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from llmdo.base import digest
from llmdo.base.values import fields, replace
from llmdo.graph import servers
from llmdo.graph.builtin import PROVIDER_SIDE
from llmdo.graph.resolved import Entry, Graph, Limits, Reference, Settings, Tool, Toolset, Use, Worker
from llmdo.policy.shell import ShellLimits, ShellRule, ShellSettings
from llmdo.syntax.document import Place
from llmdo.workspace import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.graph.resolved import Acceptance, Attachments, Identity
    from llmdo.policy.authority import Capability, Rule
    from llmdo.syntax.document import Document

VERSION = 1
"""A reader that knows only older ones must refuse."""

REVISION = 1
"""A reader that knows only older ones may read."""


def encode(graph: Graph) -> dict[str, Any]:
    """The lock of `graph` as data, of the form `formats.LockFile`. What is None or empty is left out."""
    first, *middle, last = parts(graph)
    return {
        **first,
        "worker": {name: table for part in middle for name, table in part["worker"].items()},
        **last,
    }


def parts(graph: Graph) -> Iterator[dict[str, Any]]:
    """The lock of `graph` in parts, one behind the other: each worker is one, for there may be many."""
    yield {
        "version": VERSION,
        "revision": REVISION,
        "settings": _without_none(
            {
                "name": graph.settings.name,
                "built-in-rules": graph.settings.built_in,
                "default": graph.settings.default,
                "max-depth": graph.settings.max_depth,
                "model": _name(graph.settings.model),
                "on-truncated": None
                if graph.settings.on_truncated == "warn"
                else graph.settings.on_truncated,
            }
        ),
        "rules": _rules(graph.rules),
        "paths": dict(graph.paths),
        "model": {alias: {"chain": list(chain)} for alias, chain in graph.models.items()},
        "python-model": {name: {"source": source} for name, source in graph.python_models.items()},
        "schema-source": {path: {"source": source} for path, source in graph.schema_sources.items()},
        "module": {path: {"source": source} for path, source in graph.modules.items()},
        "entry": {entry.name: _entry(entry) for entry in graph.entries.values() if entry.declared},
    }
    for worker in graph.workers.values():
        yield {"worker": {worker.name: _worker(graph, worker)}}
    last: dict[str, Any] = {
        "toolset": {toolset.name: _toolset(toolset) for toolset in graph.toolsets.values()}
    }
    if graph.shell != ShellSettings():
        last["shell"] = _shell(graph.shell)
    if graph.acceptances:
        last["accept"] = sorted(map(_acceptance, graph.acceptances), key=digest.canonical)
    yield last


def _entry(entry: Entry) -> dict[str, Any]:
    return _without_none(
        {
            "worker": _name(entry.worker),
            "function": _name(entry.function),
            "tool": _name(entry.tool),
            "source": entry.source,
            "input": entry.input,
            "model": _name(entry.model),
            "calls": [call.name for call in entry.calls] or None,
            "may": _texts(entry.may),
            "approvals": _rules(entry.approvals) or None,
            "limits": _without_none(
                {one.name.replace("_", "-"): getattr(entry.limits, one.name) for one in fields(Limits)}
            )
            or None,
        }
    )


def _worker(graph: Graph, worker: Worker) -> dict[str, Any]:
    delegates = list(graph.edges[worker.name])
    toolsets = [name for name, _ in graph.lines[worker.name] if name != PROVIDER_SIDE]
    configured = {
        use.name: digest.canonical(use.config)
        for use in worker.uses
        if use.config and use.name not in ("filesystem", PROVIDER_SIDE)
    }
    native: Any = next((use.config["tools"] for use in worker.uses if use.name == PROVIDER_SIDE), None)
    filesystem = next((dict(use.config) for use in worker.uses if use.name == "filesystem"), None)
    return _without_none(
        {
            "path": worker.path,
            "config": worker.config,
            "prompt": worker.prompt,
            "python": worker.python,
            "agent": worker.agent,
            "description": worker.description,
            "model": _name(worker.model),
            "entry": worker.entry or None,
            "recursive": worker.recursive or None,
            "schema-in": _name(worker.schema_in),
            "schema-out": _name(worker.schema_out),
            "compatible-models": None if worker.compatible_models is None else list(worker.compatible_models),
            "model-settings": dict(sorted(worker.model_settings.items())) or None,
            "delegates": delegates or None,
            "toolsets": toolsets or None,
            "native-tools": list(native) if native else None,
            "may": _texts(worker.may),
            "approvals": _rules(worker.approvals) or None,
            "attachments": _attachments(worker.attachments) or None,
            "filesystem": filesystem or None,
            "configure": configured or None,
        }
    )


def _attachments(attachments: Attachments) -> dict[str, Any]:
    suffixes = attachments.suffixes
    return _without_none(
        {
            "max": attachments.max,
            "max-bytes": attachments.max_bytes,
            "suffixes": None if suffixes is None else list(suffixes),
        }
    )


def _toolset(toolset: Toolset) -> dict[str, Any]:
    return _without_none(
        {
            "python": toolset.python,
            "mcp": _without_none(servers.encoded(toolset.server)) if toolset.server else None,
            "server": _identity(toolset.identity) if toolset.identity else None,
            "timeout-s": toolset.timeout_s,
            "instructions": toolset.instructions or None,
            "isolation": None if toolset.isolation == "auto" else toolset.isolation,
            "source": toolset.source,
            "sources": [*toolset.sources] or None,
            "prefix": toolset.prefix,
            "class": toolset.is_class or None,
            "dynamic": toolset.dynamic or None,
            "tool": {tool.name: _tool(tool) for tool in toolset.tools.values()} or None,
        }
    )


def _identity(identity: Identity) -> dict[str, Any]:
    said = identity.instructions
    lines = None if said is None else said.split("\n")
    return _without_none({"name": identity.name, "version": identity.version, "instructions": lines})


def _tool(tool: Tool) -> dict[str, Any]:
    return _without_none(
        {
            "digest": tool.digest,
            "hook": tool.hook or None,
            "capabilities": _texts(tool.capabilities) or None,
            "metadata": _texts(tool.metadata),
            "retry": tool.retry,
            **(servers.lines_of(tool.definition) if tool.definition else {}),
        }
    )


def _shell(shell: ShellSettings) -> dict[str, Any]:
    usual = ShellLimits()
    limits = {one.name: getattr(shell.limits, one.name) for one in fields(ShellLimits)}
    changed = {
        name.replace("_", "-"): limit for name, limit in limits.items() if limit != getattr(usual, name)
    }
    return _without_none(
        {
            "isolation": shell.isolation,
            "env": list(shell.env) or None,
            "limits": changed or None,
            "rules": list(map(str, shell.rules)) or None,
        }
    )


def _acceptance(acceptance: Acceptance) -> dict[str, Any]:
    return _without_none(
        {
            "code": acceptance.code,
            "capability": str(acceptance.capability) if acceptance.capability else None,
            "entry": acceptance.entry,
            "gated": acceptance.gated or None,
            "reason": acceptance.reason,
        }
    )


def _without_none(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def _name(reference: Reference | None) -> str | None:
    return reference.name if reference else None


def _texts(capabilities: Iterable[Capability] | None) -> list[str] | None:
    return None if capabilities is None else [str(one) for one in capabilities]


def _rules(rules: Iterable[Rule]) -> dict[str, str]:
    return {str(rule.capability): rule.decision for rule in rules}


def decode(document: Document, lock: Mapping[str, Any]) -> Graph:
    """The graph that a lock describes, its places pointing into the lock. `lock` was judged."""
    settings = lock["settings"]
    workers = {name: _decode_worker(document, name, table) for name, table in _sorted(lock, "worker")}
    entries = {name: _decode_entry(document, name, table) for name, table in _sorted(lock, "entry")}
    for name, worker in workers.items():
        if worker.entry and name not in entries:
            entries[name] = Entry(name=name, at=worker.at, declared=False, worker=Reference(name, worker.at))
    return Graph(
        settings=Settings(
            name=settings["name"],
            built_in=settings["built-in-rules"],
            default=settings["default"],
            max_depth=settings["max-depth"],
            model=resolve.reference(document, settings.get("model"), "settings", "model"),
            on_truncated=settings.get("on-truncated", "warn"),
        ),
        rules=resolve.rules(document, lock.get("rules", {}), "llmdo.toml", "rules"),
        models={name: tuple(table["chain"]) for name, table in _sorted(lock, "model")},
        python_models={name: table["source"] for name, table in _sorted(lock, "python-model")},
        schema_sources={path: table["source"] for path, table in _sorted(lock, "schema-source")},
        modules={path: table["source"] for path, table in _sorted(lock, "module")},
        paths=dict(_sorted(lock, "paths")),
        entries=dict(sorted(entries.items())),
        workers=workers,
        toolsets=decode_toolsets(document, lock.get("toolset", {})),
        acceptances=resolve.acceptances(document, lock.get("accept", ()), "accept"),
        shell=_decode_shell(lock.get("shell", {})),
    )


def _decode_shell(table: Mapping[str, Any]) -> ShellSettings:
    rules = sorted(map(ShellRule.parse, table.get("rules", ())), key=str)
    return replace(resolve.shell({**table, "rules": ()}), rules=tuple(rules))


def _sorted(lock: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    return iter(sorted(lock.get(key, {}).items()))


def _decode_entry(document: Document, name: str, table: Mapping[str, Any]) -> Entry:
    at = ("entry", name)
    return Entry(
        name=name,
        at=Place(document, at, of_key=True),
        worker=resolve.reference(document, table.get("worker"), *at, "worker"),
        function=resolve.reference(document, table.get("function"), *at, "function"),
        tool=resolve.reference(document, table.get("tool"), *at, "tool"),
        source=table.get("source"),
        calls=_references(document, table.get("calls", ()), *at, "calls"),
        input=table.get("input"),
        model=resolve.reference(document, table.get("model"), *at, "model"),
        may=resolve.ceiling(table.get("may")),
        may_at=Place(document, (*at, "may")),
        approvals=resolve.rules(document, table.get("approvals", {}), f"entry `{name}`", *at, "approvals"),
        limits=resolve.limits(table.get("limits", {})),
    )


def _references(document: Document, names: Iterable[str], *route: str) -> tuple[Reference, ...]:
    return tuple(Reference(name, Place(document, (*route, number))) for number, name in enumerate(names))


def _decode_worker(document: Document, name: str, table: Mapping[str, Any]) -> Worker:
    at = ("worker", name)
    config: dict[str, Any] = {used: json.loads(text) for used, text in table.get("configure", {}).items()}
    config["filesystem"] = table.get("filesystem", {})
    uses = [
        Use(name=used.name, config=config.get(used.name, {}), at=used.at)
        for key in ("delegates", "toolsets")
        for used in _references(document, table.get(key, ()), *at, key)
    ]
    if native := table.get("native-tools"):
        uses.append(resolve.provider_side(native, Place(document, (*at, "native-tools"), of_key=True)))
    compatible = table.get("compatible-models")
    return Worker(
        name=name,
        at=Place(document, at, of_key=True),
        path=table["path"],
        config=table["config"],
        prompt=table["prompt"],
        python=table.get("python"),
        agent=table.get("agent"),
        description=table.get("description"),
        model=resolve.reference(document, table.get("model"), *at, "model"),
        compatible_models=None if compatible is None else tuple(compatible),
        model_settings=table.get("model-settings", {}),
        entry=table.get("entry", False),
        recursive=table.get("recursive", False),
        uses=tuple(sorted(uses, key=lambda use: use.name)),
        may=resolve.ceiling(table.get("may")),
        may_at=Place(document, (*at, "may")),
        approvals=resolve.rules(document, table.get("approvals", {}), f"worker `{name}`", *at, "approvals"),
        schema_in=resolve.reference(document, table.get("schema-in"), *at, "schema-in"),
        schema_out=resolve.reference(document, table.get("schema-out"), *at, "schema-out"),
        attachments=resolve.attachments(table.get("attachments", {})),
    )


def decode_toolsets(document: Document, tables: Mapping[str, Any]) -> dict[str, Toolset]:
    """The toolsets that the tables of a lock describe, by name."""
    return {name: _decode_toolset(document, name, table) for name, table in sorted(tables.items())}


def _decode_toolset(document: Document, name: str, table: Mapping[str, Any]) -> Toolset:
    at = ("toolset", name)
    return Toolset(
        name=name,
        kind="python" if "python" in table else "mcp",
        at=Place(document, at, of_key=True),
        python=table.get("python"),
        server=servers.decoded(table["mcp"]) if "mcp" in table else None,
        identity=servers.identity_of(table),
        timeout_s=table.get("timeout-s"),
        instructions=table.get("instructions", False),
        isolation=table.get("isolation", "auto"),
        source=table.get("source"),
        sources=tuple(table.get("sources", ())),
        prefix=table.get("prefix"),
        is_class=table.get("class", False),
        dynamic=table.get("dynamic", False),
        tools={
            tool: Tool(
                name=tool,
                capabilities=resolve.ceiling(locked.get("capabilities", ())) or (),
                hook=locked.get("hook", False),
                digest=locked.get("digest"),
                metadata=resolve.ceiling(locked.get("metadata")),
                retry=locked.get("retry"),
                definition=servers.definition_of(locked) if "input" in locked else None,
            )
            for tool, locked in sorted(table.get("tool", {}).items())
        },
    )
