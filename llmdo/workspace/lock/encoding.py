"""`Graph` to the data of a lock, of the form `formats.locked.LockFile`, and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from llmdo.base import digest
from llmdo.base.values import fields, replace
from llmdo.graph.builtin import PROVIDER_SIDE
from llmdo.graph.keys import Reference, ValueOrigin, decoded, encoded, encoded_rules, rules
from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.settings import Settings
from llmdo.graph.toolset import Toolset
from llmdo.graph.worker import Use, Worker
from llmdo.policy.shell import ShellLimits, ShellRule, ShellSettings
from llmdo.syntax.document import Place
from llmdo.workspace import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.base.values import Json
    from llmdo.syntax.document import Document

VERSION = 1
"""A reader that knows only older ones must refuse."""

REVISION = 1
"""A reader that knows only older ones may read."""


def encode(graph: Graph) -> dict[str, Any]:
    """The lock of `graph` as data, of the form `formats.locked.LockFile`. What is None or empty is left out."""
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
        "settings": encoded(graph.settings),
        "rules": encoded_rules(graph.rules),
        "paths": dict(graph.paths),
        "model": {alias: {"chain": list(chain)} for alias, chain in graph.models.items()},
        "python-model": {name: {"source": source} for name, source in graph.python_models.items()},
        "schema-source": {path: {"source": source} for path, source in graph.schema_sources.items()},
        "module": {path: {"source": source} for path, source in graph.modules.items()},
        "entry": {entry.name: encoded(entry) for entry in graph.entries.values() if entry.declared},
    }
    for worker in graph.workers.values():
        yield {"worker": {worker.name: _worker(graph, worker)}}
    last: dict[str, Any] = {
        "toolset": {toolset.name: encoded(toolset) for toolset in graph.toolsets.values()}
    }
    if graph.shell != ShellSettings():
        last["shell"] = _shell(graph.shell)
    if graph.acceptances:
        last["accept"] = sorted(map(encoded, graph.acceptances), key=digest.canonical)
    yield last


def _worker(graph: Graph, worker: Worker) -> dict[str, Json]:
    """The table of a worker: what its fields say, and its `uses` by what they name."""
    named: dict[str, Json] = {}
    configured: dict[str, Json] = {}
    others: dict[str, Json] = {}
    if delegates := graph.edges[worker.name]:
        named["delegates"] = list(delegates)
    if toolsets := [name for name, _ in graph.lines[worker.name] if name != PROVIDER_SIDE]:
        named["toolsets"] = toolsets
    for use in worker.uses:
        if not use.config:
            continue
        if use.name == PROVIDER_SIDE and isinstance(tools := use.config["tools"], tuple):
            named["native-tools"] = list(tools)
            if options := use.config.get("options"):
                configured["native-options"] = options
        elif use.name == "filesystem":
            configured["filesystem"] = dict(use.config)
        else:
            others[use.name] = digest.canonical(use.config)
    if others:
        configured["configure"] = others
    return encoded(worker, named) | configured


def _shell(shell: ShellSettings) -> dict[str, Json]:
    usual = ShellLimits()
    limits = {limit.name: getattr(shell.limits, limit.name) for limit in fields(ShellLimits)}
    changed = {
        name.replace("_", "-"): limit for name, limit in limits.items() if limit != getattr(usual, name)
    }
    table: dict[str, Json] = {
        "env": list(shell.env),
        "limits": changed,
        "rules": list(map(str, shell.rules)),
    }
    return {"isolation": shell.isolation, **{key: value for key, value in table.items() if value}}


def decode(document: Document, lock: Mapping[str, Any]) -> Graph:
    """The graph that a lock describes, its places pointing into the lock. `lock` was judged."""
    workers = {name: _decode_worker(document, name, table) for name, table in _sorted(lock, "worker")}
    entries = {name: _decode_entry(document, name, table) for name, table in _sorted(lock, "entry")}
    for name, worker in workers.items():
        if worker.entry and name not in entries:
            entries[name] = Entry(name=name, at=worker.at, declared=False, worker=Reference(name, worker.at))
    return Graph(
        settings=decoded(Settings, "lock", lock["settings"], ValueOrigin(document, ("settings",))),
        rules=rules(lock.get("rules", {}), ValueOrigin(document, ("rules",), "llmdo.toml")),
        models={name: tuple(table["chain"]) for name, table in _sorted(lock, "model")},
        python_models={name: table["source"] for name, table in _sorted(lock, "python-model")},
        schema_sources={path: table["source"] for path, table in _sorted(lock, "schema-source")},
        modules={path: table["source"] for path, table in _sorted(lock, "module")},
        paths=dict(_sorted(lock, "paths")),
        entries=dict(sorted(entries.items())),
        workers=workers,
        toolsets=decode_toolsets(document, lock.get("toolset", {})),
        acceptances=resolve.acceptances(lock.get("accept", ()), ValueOrigin(document, ("accept",))),
        shell=_decode_shell(lock.get("shell", {})),
    )


def _decode_shell(table: Mapping[str, Any]) -> ShellSettings:
    rules = sorted(map(ShellRule.parse, table.get("rules", ())), key=str)
    return replace(resolve.shell({**table, "rules": ()}), rules=tuple(rules))


def _sorted(lock: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    return iter(sorted(lock.get(key, {}).items()))


def _decode_entry(document: Document, name: str, table: Mapping[str, Any]) -> Entry:
    at = ("entry", name)
    return decoded(
        Entry,
        "lock",
        table,
        ValueOrigin(document, at, f"entry `{name}`"),
        name=name,
        at=Place(document, at, of_key=True),
        may_at=Place(document, (*at, "may")),
    )


def _decode_worker(document: Document, name: str, table: Mapping[str, Any]) -> Worker:
    at = ("worker", name)
    config: dict[str, Any] = {used: json.loads(text) for used, text in table.get("configure", {}).items()}
    config["filesystem"] = table.get("filesystem", {})
    uses = [
        Use(name=used, config=config.get(used, {}), at=Place(document, (*at, key, number)))
        for key in ("delegates", "toolsets")
        for number, used in enumerate(table.get(key, ()))
    ]
    if native := table.get("native-tools"):
        options = table.get("native-options", {})
        tools = {name: options.get(name) for name in native}
        uses.append(resolve.provider_side(tools, Place(document, (*at, "native-tools"), of_key=True)))
    return decoded(
        Worker,
        "lock",
        table,
        ValueOrigin(document, at, f"worker `{name}`"),
        name=name,
        at=Place(document, at, of_key=True),
        uses=tuple(sorted(uses, key=lambda use: use.name)),
        may_at=Place(document, (*at, "may")),
    )


def decode_toolsets(document: Document, tables: Mapping[str, Any]) -> dict[str, Toolset]:
    """The toolsets that the tables of a lock describe, by name."""
    return {name: _decode_toolset(document, name, table) for name, table in sorted(tables.items())}


def _decode_toolset(document: Document, name: str, table: Mapping[str, Any]) -> Toolset:
    at = ("toolset", name)
    return decoded(
        Toolset,
        "lock",
        table,
        ValueOrigin(document, at),
        name=name,
        kind="python" if "python" in table else "mcp",
        at=Place(document, at, of_key=True),
    )
