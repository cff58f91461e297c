"""The projects of other tools that a manifest names: their agents beside our own workers, in one graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from llmdo.base import parts
from llmdo.base.diagnostic import did_you_mean, finding
from llmdo.base.values import replace
from llmdo.graph import builtin
from llmdo.graph.keys import Reference, ValueOrigin, decoded
from llmdo.graph.worker import Worker
from llmdo.syntax.document import Place
from llmdo.workspace.extensions import REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from llmdo.base.cache import Seen
    from llmdo.base.diagnostic import Diagnostic
    from llmdo.foreign.adopting import Adoption
    from llmdo.graph.resolved import Entry, Graph
    from llmdo.syntax.document import Document
    from llmdo.workspace.installed import InstalledExtension
    from llmdo.workspace.workspace import Lack, Workspace

Item = TypeVar("Item")

NAMED = ("workspace", "from")
SHOWN = 3
"""The globs of a format that a message names."""


def read_adopted(
    root: Path,
    document: Document,
    problems: list[Diagnostic],
    lacks: set[Lack],
    extensions: Iterable[InstalledExtension],
    seen: Seen | None,
    *,
    texts: Mapping[str, str],
) -> Adoption | None:
    """The projects of other tools that a manifest names; None if it names none. Notes problems and what is unknown.

    `texts` take the place of those of files on the disk.
    """
    names = parts.texts(parts.table(document.data, "workspace").get("from"))
    if not names:
        return None
    from llmdo.foreign import adopting  # what most workspaces have no use for

    own = [each.extension for each in extensions]
    adoption = adopting.read(root, names, seen, own, texts=texts)
    is_refused = any(problem.code == REFUSED for problem in problems)
    wrong = [*_problems_with(document, adoption, has_all_extensions=not is_refused)]
    problems.extend(wrong)
    if wrong or is_refused or any(problem.severity == "error" for problem in adoption.team.problems):
        lacks.update(("names", "contents"))
    return adoption


def _problems_with(
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


def after_its_name(entry: Entry) -> Entry:
    """The entry; without anything that it starts, it starts the agent of its own name."""
    if entry.worker or entry.function or entry.tool:
        return entry
    return replace(entry, worker=Reference(entry.name, entry.at))


LIMITS = ("may", "approvals", "flows")
"""The keys of `[workers.NAME]` for an agent of another tool: they only tighten."""


def with_adopted(own: Graph, workspace: Workspace, adoption: Adoption) -> Graph:
    """The graph of our own with the agents of other tools, in place of those that it may have already.

    An entry of ours that names such an agent starts it; the others that their tools start are entries too. Where two
    have one name, it is the agent's, whose calls llmdo can only narrow: so no mended name of ours widens anything.
    """
    from llmdo.foreign.adopting import adopted_graph

    workers = {
        name: worker
        for name, worker in own.workers.items()
        if worker.format is None and name not in adoption.agents
    }
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
    others = {
        f"{name} of {entry.format}" if name in entries else name: entry
        for name, entry in foreign.entries.items()
        if name not in named
    }
    agents = {name: _limited(worker, workspace) for name, worker in foreign.workers.items()}
    return replace(
        own,
        workers=_sorted({**agents, **workers}),
        toolsets=_sorted({**foreign.toolsets, **toolsets}),
        entries=_sorted({**{name: replace(entry, name=name) for name, entry in others.items()}, **entries}),
        adopted=foreign.adopted,
    )


def names_of(agent: Worker) -> tuple[str, ...]:
    """The names by which the manifest may limit an agent: that of the graph, and always FORMAT/NAME."""
    prefix = f"{agent.format}/"
    return (agent.name,) if agent.name.startswith(prefix) else (agent.name, f"{prefix}{agent.name}")


def _limited(agent: Worker, workspace: Workspace) -> Worker:
    """The agent with what `[workers]` of the manifest says of its own calls, and of all below it."""
    named = next((name for name in names_of(agent) if name in workspace.tables("workers")), "")
    table = workspace.table("workers", named) if named else {}
    if not table or "python" in table:
        return agent
    at = ("workers", named)
    owner = f"worker `{agent.name}`"
    stated = decoded(
        Worker,
        "agent",
        {key: table[key] for key in LIMITS if key in table},
        ValueOrigin(workspace.document, at, owner),
        name=agent.name,
        at=agent.at,
    )
    from llmdo.foreign.adopting import strictest_of

    return replace(
        agent,
        may=stated.may,
        may_at=Place(workspace.document, (*at, "may")) if "may" in table else None,
        approvals=strictest_of((*agent.approvals, *stated.approvals), owner),
        flows=stated.flows,
    )


def _started(entry: Entry, by_agent: Mapping[str, Entry]) -> Entry:
    """An entry that starts an agent of another tool, with what starts it there."""
    agent = by_agent.get(entry.worker.name) if entry.worker else None
    if agent is None:
        return entry
    return replace(entry, format=agent.format, events=agent.events, started_by=agent.started_by)


def _sorted(items: Mapping[str, Item]) -> dict[str, Item]:
    return dict(sorted(items.items()))
