"""The project that a manifest adopts from a client, as a graph with the ceilings, rules and flows of the manifest."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from llmdo import foreign
from llmdo.base.source import Source
from llmdo.base.values import dataclass, replace
from llmdo.graph.keys import ValueOrigin, flows, rules
from llmdo.policy.authority import MANIFEST, Capability
from llmdo.syntax import toml
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from pathlib import Path

    from llmdo.graph.resolved import Graph


@dataclass(frozen=True, slots=True)
class Adopted:
    """An adopted project."""

    graph: Graph
    files: tuple[str, ...]
    """Every file that was read, relative to its root."""
    formats: tuple[str, ...]


def adopted(root: Path) -> Adopted | None:
    """The project at `root`; None if its manifest adopts none."""
    source = Source(MANIFEST, (root / MANIFEST).read_text("utf-8"))
    document = toml.parse(source)
    data = tomllib.loads(source.text)
    formats = data.get("workspace", {}).get("from")
    if not formats:
        return None
    read = foreign.read(formats[0], root)
    graph = read.graph
    table = data.get("approvals", {}).get("rules", {})
    own = rules(table, ValueOrigin(document, ("approvals", "rules"), MANIFEST))
    named = {rule.capability for rule in own}
    theirs = tuple(rule for rule in graph.rules if rule.capability not in named)
    workers = dict(graph.workers)
    for name, entry in data.get("entries", {}).items():
        worker = next((each for each in (name, "main-session", "codex") if each in workers), name)
        may = entry.get("may")
        workers[worker] = replace(
            workers[worker],
            may=None if may is None else tuple(map(Capability.parse, may)),
            may_at=Place(document, ("entries", name, "may")),
        )
    stated = data.get("flows", {})
    graph = replace(
        graph,
        rules=(*own, *theirs),
        workers=workers,
        flows=flows(stated, ValueOrigin(document, ("flows",), MANIFEST)),
    )
    return Adopted(graph, (MANIFEST, "llmdo.lock", *read.team.files), tuple(formats))
