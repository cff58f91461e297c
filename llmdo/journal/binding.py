"""The binding of a run: its input, and the digests of all that runs. Resuming with something else is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from llmdo.base.source import Source
from llmdo.base.values import dataclass, replace
from llmdo.graph.code_calls import own_uses, uses_with_calls
from llmdo.graph.models import python_reference
from llmdo.graph.toolkit import reachable
from llmdo.journal.conversation import Earlier
from llmdo.journal.entries import JournalError
from llmdo.journal.run_item import RunItem
from llmdo.workspace import lock
from llmdo.workspace.root import LOCK

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import UnionType

    from llmdo.graph.resolved import Graph
    from llmdo.journal.stored import JournalStore
    from llmdo.workspace.lock import Drift


AttachmentKind = Literal["file", "outside", "content"]
"""A file of the workspace, one outside that the command line gave an alias, or content that a program gave."""

_KINDS: Mapping[str, type | UnionType] = {
    "entry": str,
    "input": str,
    "models": dict,
    "paths": dict,
    "max_depth": int | None,
    "prompts": dict,
    "lock": str,
    "continues": dict | None,
    "attachments": list | None,
    "untrusted_input": bool | None,
    "item": dict | None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """The input, settings and graph of a run."""

    entry: str
    input: str
    models: Mapping[str, str]
    """Worker to the reference of its model."""
    paths: Mapping[str, str]
    """The path maps of this run alone."""
    max_depth: int | None
    graph: Graph
    """The part of the resolved graph that the entry reaches."""
    prompts: Mapping[str, str]
    attachments: tuple[tuple[str, AttachmentKind], ...] = ()
    """The name and the kind of each attachment of the entry; the journal has the content."""
    untrusted_input: bool | None = None
    """Whether its starter said that a stranger may have written the input; unknown in earlier journals."""
    continues: Earlier | None = None
    """The end of the run before it, if it continues another."""
    item: RunItem | None = None
    """The item that it is for, if any; unknown in earlier journals."""

    @property
    def data(self) -> dict[str, object]:
        """The binding as an entry holds it."""
        return {
            "entry": self.entry,
            "title": self.graph.entries[self.entry].title,
            "input": self.input,
            "models": dict(self.models),
            "paths": dict(self.paths),
            "max_depth": self.max_depth,
            "lock": lock.dump(self.graph),
            "prompts": dict(self.prompts),
            "attachments": [list(attached) for attached in self.attachments],
            "untrusted_input": self.untrusted_input,
            "continues": None if self.continues is None else self.continues.data,
            "item": None if self.item is None else self.item.data,
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Binding:
        """The binding in an entry.

        Raises:
            JournalError: Some of it is missing, or its lock cannot be read.
        """
        if lacks := [name for name, kind in _KINDS.items() if not isinstance(data.get(name), kind)]:
            raise JournalError(f"the journal does not say what its run is bound to: it lacks `{lacks[0]}`")
        locked = lock.read(Source(LOCK, data["lock"]))
        if locked.graph is None:
            raise JournalError(f"the lock in the journal cannot be read: {locked.problems[0].message}")
        values: dict[str, Any] = {key: data.get(key) for key in _KINDS if key != "lock"}
        if values["continues"] is not None:
            values["continues"] = Earlier.of(values["continues"])
        values["attachments"] = tuple(map(_attachment, values["attachments"] or ()))
        values["item"] = RunItem.of(values["item"])
        if values["entry"] not in locked.graph.entries:
            raise JournalError(f"the lock in the journal has no entry `{values['entry']}`")
        return cls(graph=locked.graph, **values)

    def drift(self, graph: Graph) -> tuple[Drift, ...]:
        """The differences of all that runs to `graph`."""
        if self.entry not in graph.entries:
            return (lock.Drift("entry", self.entry, ("it no longer exists",), None),)
        mapped = replace(graph, paths={**graph.paths, **self.paths})
        return lock.drift(self.graph, reached(mapped, self.entry, self.models))


def _attachment(data: object) -> tuple[str, AttachmentKind]:
    """An attachment in an entry of the journal.

    Raises:
        JournalError: It is none.
    """
    match data:
        case [str() as name, ("file" | "outside" | "content") as kind]:
            return name, kind
    raise JournalError("the journal does not say what was handed to its run")


def reached(graph: Graph, entry: str, models: Mapping[str, str]) -> Graph:
    """The part of `graph` that a run of `entry` can reach, with its workers' `models`."""
    workers = {name: graph.workers[name] for name in reachable(graph, graph.entries[entry])}
    uses = {use.name for use in own_uses(graph, graph.entries[entry])}
    uses |= {use.name for worker in workers.values() for use in uses_with_calls(graph, worker.uses)}
    toolsets = {name: toolset for name, toolset in graph.toolsets.items() if name in uses}
    modules = {toolset.python.rpartition(":")[0] for toolset in toolsets.values() if toolset.python}
    schemas = {reference.name.rpartition(":")[0] for worker in workers.values() for reference in worker.code}
    used = {name: graph.models[name] for name in sorted({*models.values()} & {*graph.models})}
    references = {*models.values(), *(model for chain in used.values() for model in chain)}
    files = {reference for name in references if (reference := python_reference(name))} | references
    return replace(
        graph,
        models=used,
        python_models={name: source for name, source in graph.python_models.items() if name in files},
        schema_sources={path: source for path, source in graph.schema_sources.items() if path in schemas},
        modules={path: source for path, source in graph.modules.items() if path in modules},
        entries={entry: graph.entries[entry]},
        workers=workers,
        toolsets=toolsets,
        schedules={},
        notify=None,
        acceptances=(),
    )


def binding_of(journal: JournalStore) -> Binding:
    """The binding of the run of `journal`.

    Raises:
        JournalError: The journal lacks it, or some of it.
    """
    entry = next(journal.entries("run"), None)
    if entry is None:
        raise JournalError(f"{journal.title} holds no run")
    if entry.is_redacted:
        raise JournalError(
            f"run `{journal.run}` cannot go on: its input or a prompt held a secret, which the export took out",
            hint="the journal that was exported has it",
        )
    return Binding.of(journal.whole(entry))


def differences(binding: Binding, graph: Graph) -> dict[str, str]:
    """The differences between `graph` and the run's binding: a sentence each, by name."""
    return {_name(drift): f"{_titled(drift)}: {', '.join(drift.changes)}" for drift in binding.drift(graph)}


def _name(drift: Drift) -> str:
    return drift.name or drift.kind


def _titled(drift: Drift) -> str:
    return f"{drift.kind} `{drift.name}`" if drift.name else f"`[{drift.kind}]`"
