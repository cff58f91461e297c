"""The workers and entries of two graphs that only changed their names, and a graph rewritten with the later names.

A rename hides nothing: the earlier graph is renamed and then compared as always, so that the powers of a renamed worker
are compared with its earlier ones.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from llmdo.base import digest, parts
from llmdo.base.values import dataclass, replace
from llmdo.diff.difference import Rename
from llmdo.graph.keys import Reference
from llmdo.graph.toolkit import DELEGATE
from llmdo.graph.worker import own_toolset
from llmdo.policy.authority import Capability
from llmdo.workspace.lock import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

    from llmdo.graph.resolved import Entry, Graph
    from llmdo.graph.settings import Schedule
    from llmdo.graph.toolset import Toolset
    from llmdo.graph.worker import Worker
    from llmdo.policy.authority import Rule

    _Evidence = Callable[[Worker], Hashable]
    """The property that two workers share if they are one; None if it shows nothing."""

SIMILAR = 0.6
"""The least similarity, from 0 to 1, of the names of one worker whose prompt changed as well."""
MAX_PAIRS = 50_000  # of names that are compared letter by letter, which is slow
_EMPTY = digest.of_text("")
_NUMBERED = re.compile(r" \(\d+\)$")
_DESCRIPTIVE = frozenset({"path", "config", "prompt", "description", "model"})
"""Keys of a worker in the lock that do not affect its powers."""


@dataclass(frozen=True, slots=True)
class Renaming:
    """The names that differ in the later of two graphs."""

    workers: Mapping[str, str]
    """Old name to new name; also of one that is gone and whose name is another one's now."""
    entries: Mapping[str, str]

    def renames(self, after: Graph) -> tuple[Rename, ...]:
        """Each rename that the later graph has, sorted; an entry named after its worker is covered by the worker."""
        moved = [Rename("worker", old, new) for old, new in self.workers.items() if new in after.workers]
        if not after.read_from:
            moved += [Rename("entry", old, new) for old, new in self.entries.items()]
        return tuple(sorted(moved, key=lambda rename: (rename.kind, rename.before)))


def renaming(before: Graph, after: Graph) -> Renaming:
    """The renames: by the same prompt, the same file, or equal powers and a similar name.

    A name that `before` mentions already, such as in a rule for a worker that did not exist, is never a new one.
    """
    gone, new = _candidates(before, after)
    taken = _mentioned(before)
    new = {name: worker for name, worker in new.items() if name not in taken or name in before.workers}
    workers: dict[str, str] = {}
    if gone and new:
        for evidence in (_place, _whole, _prompt):
            _match(gone, new, workers, (evidence, evidence))
        _match(gone, new, workers, (_file, _file), is_single=True)
        _match(gone, new, workers, (_powers(before, workers), _powers(after, {})), least=SIMILAR)
    workers = {old: name for old, name in workers.items() if old != name}
    displaced = {name for name in workers.values() if name in before.workers} - workers.keys()
    for name in sorted(displaced):  # of several with one name, one that is gone
        workers[name] = _free(f"{name} before", {*before.workers, *after.workers})
    return Renaming(workers, _entries(before, after, workers))


def renamed(graph: Graph, renaming: Renaming) -> Graph:
    """The graph with the new names, its meaning unchanged."""
    if not (renaming.workers or renaming.entries):
        return graph
    return _Teller(graph, renaming).graph()


def _candidates(before: Graph, after: Graph) -> tuple[dict[str, Worker], dict[str, Worker]]:
    """The workers that only one of the graphs has; and numbered ones that share a name, for a number may move."""
    families: dict[str, set[str]] = {}
    for name in {*before.workers, *after.workers} if before.read_from else ():
        families.setdefault(_NUMBERED.sub("", name), set()).add(name)
    numbered = {name for names in families.values() if len(names) > 1 for name in names}

    def only(graph: Graph, other: Graph) -> dict[str, Worker]:
        return {
            name: worker
            for name, worker in sorted(graph.workers.items())
            if worker.path and (name not in other.workers or name in numbered)
        }

    return only(before, after), only(after, before)


def _mentioned(graph: Graph) -> frozenset[str]:
    """Every name that anything in the graph mentions."""
    holders: list[Entry | Worker] = [*graph.entries.values(), *graph.workers.values()]
    rules = [*graph.rules, *(rule for holder in holders for rule in holder.approvals)]
    ceilings = [capability for holder in holders for capability in holder.may or ()]
    scopes = {each.scope for each in (*(rule.capability for rule in rules), *ceilings) if each.scope}
    used = {use.name for worker in graph.workers.values() for use in worker.uses}
    called = {call.name for entry in graph.entries.values() for call in entry.calls}
    return frozenset({*scopes, *used, *called, *graph.toolsets})


def _place(worker: Worker) -> Hashable:
    """The name and the file, which tells workers of one name apart."""
    return (_NUMBERED.sub("", worker.name), worker.path)


def _whole(worker: Worker) -> Hashable:
    return None if worker.prompt in ("", _EMPTY) else (worker.prompt, worker.config)


def _prompt(worker: Worker) -> Hashable:
    return None if worker.prompt in ("", _EMPTY) else worker.prompt


def _file(worker: Worker) -> Hashable:
    return worker.path


def _powers(graph: Graph, names: Mapping[str, str]) -> _Evidence:
    """A function that gives the powers of a worker of `graph`, its delegates by their new names."""
    tables = parts.tables(encode(graph), "worker")

    def powers(worker: Worker) -> Hashable:
        table = {key: value for key, value in tables[worker.name].items() if key not in _DESCRIPTIVE}
        if "delegates" in table:
            table["delegates"] = sorted(names.get(name, name) for name in parts.texts(table["delegates"]))
        return digest.canonical(table)

    return powers


def _match(
    gone: dict[str, Worker],
    new: dict[str, Worker],
    matched: dict[str, str],
    evidence: tuple[_Evidence, _Evidence],
    *,
    is_single: bool = False,
    least: float = 0.0,
) -> None:
    """Takes from both sides the workers with equal evidence, those of the most similar names together.

    If `is_single`, only without a choice; names that are less alike than `least` are not taken.
    """
    groups: dict[Hashable, tuple[list[str], list[str]]] = {}
    for side, workers in enumerate((gone, new)):
        for name, worker in workers.items():
            if (meant := evidence[side](worker)) is not None:
                groups.setdefault(meant, ([], []))[side].append(name)
    for olds, news in groups.values():
        if is_single and not len(olds) == len(news) == 1:
            continue
        for old, name in _pairs(olds, news, least):
            if old in gone and name in new:
                matched[old] = name
                del gone[old], new[name]


def _pairs(olds: list[str], news: list[str], least: float) -> Iterator[tuple[str, str]]:
    """Names of both sides, the most similar pair first."""
    if not least and len(olds) == len(news) == 1:
        yield olds[0], news[0]
        return
    if len(olds) * len(news) > MAX_PAIRS:
        return
    similar = sorted((-_likeness(old, name), old, name) for old in olds for name in news)
    yield from ((old, name) for less, old, name in similar if -less >= least)


def _likeness(name: str, other: str) -> float:
    first, second = sorted((name, other))
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


def _entries(before: Graph, after: Graph, workers: Mapping[str, str]) -> dict[str, str]:
    """Old to new name of entries: those named after a worker, and those that alone start the same."""
    called_after = {
        old: name
        for old, name in workers.items()
        if before.read_from and old in before.entries and name not in before.entries.keys() - workers.keys()
    }
    left = before.entries.keys() - after.entries.keys() - called_after.keys()
    free = after.entries.keys() - before.entries.keys() - set(called_after.values())
    starting: dict[Hashable, tuple[list[str], list[str]]] = {}
    for name in sorted(left):
        starting.setdefault(_started(before.entries[name], workers), ([], []))[0].append(name)
    for name in sorted(free):
        starting.setdefault(_started(after.entries[name], {}), ([], []))[1].append(name)
    called_after.update({olds[0]: news[0] for olds, news in starting.values() if len(olds) == len(news) == 1})
    return called_after


def _started(entry: Entry, workers: Mapping[str, str]) -> Hashable:
    worker = workers.get(entry.worker.name, entry.worker.name) if entry.worker else None
    return (worker, entry.function.name if entry.function else None, entry.tool.name if entry.tool else None)


def _free(name: str, taken: Iterable[str]) -> str:
    taken = set(taken)
    while name in taken:
        name += "'"
    return name


class _Teller:
    """Rewrites one graph with other names."""

    def __init__(self, graph: Graph, renaming: Renaming) -> None:
        self._graph, self._workers, self._entries = graph, renaming.workers, renaming.entries
        self._toolsets = {
            own_toolset(old): own_toolset(name)
            for old, name in renaming.workers.items()
            if graph.workers[old].agent
        }
        self._names = {**self._workers, **self._toolsets}

    def graph(self) -> Graph:
        """The graph with its new names."""
        graph = self._graph
        workers = (self._worker(worker) for worker in graph.workers.values())
        entries = (self._entry(entry) for entry in graph.entries.values())
        toolsets = (self._toolset(toolset) for toolset in graph.toolsets.values())
        return replace(
            graph,
            rules=self._rules(graph.rules),
            workers={worker.name: worker for worker in sorted(workers, key=lambda each: each.name)},
            entries={entry.name: entry for entry in sorted(entries, key=lambda each: each.name)},
            toolsets={toolset.name: toolset for toolset in sorted(toolsets, key=lambda each: each.name)},
            schedules={name: self._schedule(schedule) for name, schedule in graph.schedules.items()},
        )

    def _schedule(self, schedule: Schedule) -> Schedule:
        starts = schedule.entry.name
        return replace(schedule, entry=replace(schedule.entry, name=self._entries.get(starts, starts)))

    def _worker(self, worker: Worker) -> Worker:
        uses = [replace(use, name=self._names.get(use.name, use.name)) for use in worker.uses]
        return replace(
            worker,
            name=self._workers.get(worker.name, worker.name),
            uses=tuple(sorted(uses, key=lambda use: use.name)),
            approvals=self._rules(worker.approvals),
            may=self._ceiling(worker.may),
        )

    def _entry(self, entry: Entry) -> Entry:
        return replace(
            entry,
            name=self._entries.get(entry.name, entry.name),
            worker=self._reference(entry.worker) if entry.worker else None,
            tool=self._reference(entry.tool) if entry.tool else None,
            calls=self._references(entry.calls),
            configure={self._names.get(name, name): value for name, value in entry.configure.items()},
            approvals=self._rules(entry.approvals),
            may=self._ceiling(entry.may),
        )

    def _toolset(self, toolset: Toolset) -> Toolset:
        tools = {
            name: replace(
                tool,
                capabilities=self._sorted(tool.capabilities),
                metadata=None if tool.metadata is None else self._sorted(tool.metadata),
            )
            for name, tool in toolset.tools.items()
        }
        name = self._toolsets.get(toolset.name, toolset.name)
        return replace(toolset, name=name, tools=tools, calls=self._references(toolset.calls))

    def _reference(self, reference: Reference) -> Reference:
        return Reference(self._workers.get(reference.name, reference.name), reference.at)

    def _references(self, references: Iterable[Reference]) -> tuple[Reference, ...]:
        return tuple(sorted(map(self._reference, references), key=lambda each: each.name))

    def _rules(self, rules: Iterable[Rule]) -> tuple[Rule, ...]:
        named = (replace(rule, capability=self._capability(rule.capability)) for rule in rules)
        return tuple(sorted(named, key=lambda rule: str(rule.capability)))

    def _ceiling(self, may: tuple[Capability, ...] | None) -> tuple[Capability, ...] | None:
        return None if may is None else self._sorted(may)

    def _sorted(self, capabilities: Iterable[Capability]) -> tuple[Capability, ...]:
        return tuple(sorted(map(self._capability, capabilities), key=str))

    def _capability(self, capability: Capability) -> Capability:
        if capability.covers_name(DELEGATE.name) and capability.scope in self._workers:
            return Capability(capability.name, self._workers[str(capability.scope)])
        for old, name in self._toolsets.items():
            if capability.name.startswith(f"x.{old}."):
                return Capability(f"x.{name}.{capability.name.removeprefix(f'x.{old}.')}", capability.scope)
        return capability
