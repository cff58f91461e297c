"""The projects of other tools that a manifest names: their agents beside our own workers, in one graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from llmdo.base import parts
from llmdo.base.diagnostic import did_you_mean, finding
from llmdo.base.values import replace
from llmdo.graph import builtin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from llmdo.base.cache import Seen
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.values import Json
    from llmdo.extensions.spec import Extension
    from llmdo.foreign.adopting import Adoption
    from llmdo.graph.resolved import Entry, Graph
    from llmdo.syntax.document import Document

Item = TypeVar("Item")

NAMED = ("workspace", "from")
SHOWN = 3
"""The globs of a format that a message names."""


def read_adopted(
    root: Path, manifest: Mapping[str, Json], seen: Seen | None, extensions: Iterable[Extension]
) -> Adoption | None:
    """The projects of other tools that the manifest names; None if it names none."""
    names = parts.texts(parts.table(manifest, "workspace").get("from"))
    if not names:
        return None
    from llmdo.foreign import adopting  # what most workspaces have no use for

    return adopting.read(root, names, seen, extensions)


def problems_with(
    document: Document, adoption: Adoption, *, has_all_extensions: bool
) -> Iterator[Diagnostic]:
    """The named formats that there are not, and those without a file here."""
    for number, name in enumerate(parts.texts(parts.table(document.data, "workspace").get("from"))):
        at = document.value(*NAMED, number)
        if name in adoption.absent:
            globs = adoption.absent[name]
            shown = ", ".join(f"`{glob}`" for glob in globs[:SHOWN]) + (", ..." if globs[SHOWN:] else "")
            message = f"nothing of {name} is in this workspace"
            yield finding("LDO106", at, message, hint=f"its files are {shown}; else take it out of `from`")
        elif name not in adoption.known and has_all_extensions:
            known = sorted(adoption.known)
            hint = did_you_mean(name, known) or f"the formats are {', '.join(known)}"
            yield finding("LDO214", at, f"there is no format `{name}`", hint=hint)


def with_adopted(own: Graph, adoption: Adoption) -> Graph:
    """The graph of our own with the agents of other tools, in place of those that it may have already.

    An entry of ours that names such an agent starts it; the others that their tools start are entries too. Where two
    have one name, it is that of our own.
    """
    from llmdo.foreign.adopting import adopted_graph

    workers = {name: worker for name, worker in own.workers.items() if worker.format is None}
    toolsets = {name: toolset for name, toolset in own.toolsets.items() if toolset.format is None}
    declared = {name: entry for name, entry in own.entries.items() if entry.declared or not entry.format}
    started = {entry.worker.name for entry in declared.values() if entry.worker}
    foreign = adopted_graph(adoption, {*toolsets, *builtin.NAMES, *workers}, started - workers.keys())
    by_agent = {entry.worker.name: entry for entry in foreign.entries.values() if entry.worker}
    entries = {
        name: _started(entry, by_agent) if entry.worker and entry.worker.name not in workers else entry
        for name, entry in declared.items()
    }
    named = {entry.worker.name for entry in entries.values() if entry.worker}
    others = {name: entry for name, entry in foreign.entries.items() if name not in named}
    return replace(
        own,
        workers=_sorted({**foreign.workers, **workers}),
        toolsets=_sorted({**foreign.toolsets, **toolsets}),
        entries=_sorted({**others, **entries}),
        adopted=foreign.adopted,
    )


def _started(entry: Entry, by_agent: Mapping[str, Entry]) -> Entry:
    """An entry that starts an agent of another tool, with what starts it there."""
    agent = by_agent.get(entry.worker.name) if entry.worker else None
    if agent is None:
        return entry
    return replace(entry, format=agent.format, events=agent.events, started_by=agent.started_by)


def _sorted(items: Mapping[str, Item]) -> dict[str, Item]:
    return dict(sorted(items.items()))
