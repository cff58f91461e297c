"""`Graph` to the data of a lock, of the form `formats.locked.LockFile`, and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.base.parts import items, table, tables, text, texts
from llmdo.base.values import fields, replace
from llmdo.graph.builtin import PROVIDER_SIDE
from llmdo.graph.clients import settings_of
from llmdo.graph.extension import UsedExtension
from llmdo.graph.keys import (
    ValueOrigin,
    decoded,
    encoded,
    encoded_flows,
    encoded_rules,
    flows,
    labelled_sources,
    rules,
)
from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.settings import Settings, SharedPolicy
from llmdo.graph.toolset import Toolset
from llmdo.graph.worker import Use, Worker
from llmdo.policy.shell import ShellLimits, ShellRule, ShellSettings
from llmdo.syntax.document import Place
from llmdo.workspace import resolve

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from llmdo.base.values import Json
    from llmdo.syntax.document import Document

VERSION = 1
"""A reader that knows only older ones must refuse."""

REVISION = 1
"""A reader that knows only older ones may read."""


def encode(graph: Graph, only: Container[str] | None = None) -> dict[str, Json]:
    """The lock of `graph` as data, of the form `formats.locked.LockFile`. None and empty values are left out.

    With `only`, it has no other workers.
    """
    workers = {
        name: encode_worker(graph, worker)
        for name, worker in graph.workers.items()
        if only is None or name in only
    }
    return {**before_workers(graph), "worker": workers, **behind_workers(graph)}


def before_workers(graph: Graph) -> dict[str, Json]:
    """The first part of a lock."""
    policies = {policy.name: policy.encoded() for policy in graph.policies}
    extensions = {name: extension.encoded() for name, extension in graph.extensions.items()}
    sources: dict[str, Json] = {str(source.capability): str(source.label) for source in graph.sources}
    return {
        "version": VERSION,
        "revision": REVISION,
        "settings": encoded(graph.settings),
        "rules": encoded_rules(graph.rules),
        **({"flows": flow_rules} if (flow_rules := encoded_flows(graph.flows)) else {}),
        **({"sources": sources} if sources else {}),
        **({"policy": policies} if policies else {}),
        **({"extension": extensions} if extensions else {}),
        "paths": dict(graph.paths),
        "model": {alias: {"chain": list(chain)} for alias, chain in graph.models.items()},
        "python-model": {name: {"source": source} for name, source in graph.python_models.items()},
        "schema-source": {path: {"source": source} for path, source in graph.schema_sources.items()},
        "module": {path: {"source": source} for path, source in graph.modules.items()},
        "judge": {path: {"source": source} for path, source in graph.judges.items()},
        "adopted": {path: {"source": source} for path, source in graph.adopted.items()},
        "entry": {
            entry.name: encoded(entry) for entry in graph.entries.values() if entry.declared or entry.format
        },
        "schedule": {schedule.name: encoded(schedule) for schedule in graph.schedules.values()},
    }


def behind_workers(graph: Graph) -> dict[str, Json]:
    """The last part of a lock."""
    last: dict[str, Json] = {
        "toolset": {toolset.name: _encode_toolset(toolset) for toolset in graph.toolsets.values()}
    }
    if graph.shell != ShellSettings():
        last["shell"] = _shell(graph.shell)
    if graph.notify:
        last["notify"] = encoded(graph.notify)
    if graph.acceptances:
        last["accept"] = sorted(map(encoded, graph.acceptances), key=digest.canonical)
    return last


def _encode_toolset(toolset: Toolset) -> dict[str, Json]:
    """The table of a toolset. Of a server of another tool nothing may be known but that it is one."""
    table = encoded(toolset)
    return {**table, "kind": "mcp"} if toolset.kind == "mcp" and "mcp" not in table else table


def encode_worker(graph: Graph, worker: Worker) -> dict[str, Json]:
    """The table of a worker: its fields, and its `uses` by their names."""
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


def decode(document: Document, lock: Mapping[str, Json]) -> Graph:
    """The graph that a lock describes, with places in the lock. `lock` was judged."""
    workers = {name: _decode_worker(document, name, stated) for name, stated in _sorted(lock, "worker")}
    entries = {name: _decode_entry(document, name, stated) for name, stated in _sorted(lock, "entry")}
    return Graph(
        settings=decoded(Settings, "lock", table(lock, "settings"), ValueOrigin(document, ("settings",))),
        rules=rules(table(lock, "rules"), ValueOrigin(document, ("rules",), "llmdo.toml")),
        flows=flows(table(lock, "flows"), ValueOrigin(document, ("flows",), "llmdo.toml")),
        sources=labelled_sources(table(lock, "sources"), ValueOrigin(document, ("sources",))),
        policies=tuple(_policy(document, name, stated) for name, stated in _sorted(lock, "policy")),
        extensions={
            name: UsedExtension.decoded(name, stated, Place(document, ("extension", name), of_key=True))
            for name, stated in _sorted(lock, "extension")
        },
        models={name: texts(stated["chain"]) for name, stated in _sorted(lock, "model")},
        python_models=_sources(lock, "python-model"),
        schema_sources=_sources(lock, "schema-source"),
        modules=_sources(lock, "module"),
        judges=_sources(lock, "judge"),
        adopted=_sources(lock, "adopted"),
        paths={alias: text(target) for alias, target in sorted(table(lock, "paths").items())},
        entries=resolve.with_implied(entries, workers),
        workers=workers,
        toolsets=decode_toolsets(document, table(lock, "toolset")),
        schedules=resolve.schedules(document, tables(lock, "schedule"), "schedule", "lock"),
        notify=resolve.notify(table(lock, "notify"), "lock"),
        acceptances=resolve.acceptances(items(lock.get("accept")), ValueOrigin(document, ("accept",))),
        shell=_decode_shell(table(lock, "shell")),
    )


def _policy(document: Document, name: str, stated: Mapping[str, Json]) -> SharedPolicy:
    return SharedPolicy(
        name=name,
        digest=text(stated["digest"]),
        rules=rules(table(stated, "rules"), ValueOrigin(document, ("policy", name, "rules"), name)),
        approve_all=stated.get("approve-all", True) is True,
        requires_trust=stated.get("requires-trust") is True,
    )


def _decode_shell(stated: Mapping[str, Json]) -> ShellSettings:
    rules = sorted(map(ShellRule.parse, texts(stated.get("rules"))), key=str)
    return replace(resolve.shell({**stated, "rules": ()}), rules=tuple(rules))


def _sources(lock: Mapping[str, Json], key: str) -> dict[str, str]:
    """The digests of the sources in one table of the lock, by the names of their items."""
    return {name: text(stated["source"]) for name, stated in _sorted(lock, key)}


def _sorted(lock: Mapping[str, Json], key: str) -> list[tuple[str, Mapping[str, Json]]]:
    return sorted(tables(lock, key).items())


def _decode_entry(document: Document, name: str, stated: Mapping[str, Json]) -> Entry:
    at = ("entry", name)
    return decoded(
        Entry,
        "lock",
        stated,
        ValueOrigin(document, at, f"entry `{name}`"),
        name=name,
        at=Place(document, at, of_key=True),
        may_at=Place(document, (*at, "may")),
    )


def _decode_worker(document: Document, name: str, stated: Mapping[str, Json]) -> Worker:
    at = ("worker", name)
    config = {used: table(json.loads(text(words))) for used, words in table(stated, "configure").items()}
    config["filesystem"] = table(stated, "filesystem")
    uses = [
        Use(name=used, config=config.get(used, {}), at=Place(document, (*at, key, number)))
        for key in ("delegates", "toolsets")
        for number, used in enumerate(texts(stated.get(key)))
    ]
    if native := texts(stated.get("native-tools")):
        options = table(stated, "native-options")
        tools = {name: options.get(name) for name in native}
        uses.append(resolve.provider_side(tools, Place(document, (*at, "native-tools"), of_key=True)))
    form = text(stated.get("format"))
    worker = decoded(
        Worker,
        "lock",
        stated,
        ValueOrigin(document, at, f"worker `{name}`"),
        name=name,
        at=Place(document, at, of_key=True),
        uses=tuple(sorted(uses, key=lambda use: use.name)),
        may_at=Place(document, (*at, "may")),
    )
    if not form:
        return worker
    return replace(
        worker, client_rules=tuple(replace(rule, origin=settings_of(form)) for rule in worker.client_rules)
    )


def decode_toolsets(document: Document, stated: Mapping[str, Json]) -> dict[str, Toolset]:
    """The toolsets that the tables of a lock describe, by name."""
    return {
        name: _decode_toolset(document, name, toolset) for name, toolset in sorted(tables(stated).items())
    }


def _decode_toolset(document: Document, name: str, stated: Mapping[str, Json]) -> Toolset:
    at = ("toolset", name)
    is_python = "python" in stated or not {"mcp", "kind"} & stated.keys()
    return decoded(
        Toolset,
        "lock",
        {"mcp": {}, **stated} if "kind" in stated else stated,
        ValueOrigin(document, at),
        name=name,
        kind="python" if is_python else "mcp",
        at=Place(document, at, of_key=True),
    )
