"""The delegation graph as a tree for the terminal, as Mermaid, as DOT and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import shown
from llmdo.foreign import not_enforced
from llmdo.graph.code_calls import own_uses
from llmdo.graph.toolkit import DELEGATE
from llmdo.graph.unseen import ANY
from llmdo.policy.authority import STRICTNESS
from llmdo.reach.edges import calls_by_entry, calls_by_worker
from llmdo.reach.selectors import callers, closure
from llmdo.render.reach import call_data, capability, files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from llmdo.graph.resolved import Entry, Graph
    from llmdo.policy.authority import Decision
    from llmdo.reach import Analysis, Row

Kind = Literal["entry", "worker", "toolset"]

_WORDS: dict[Decision, str] = {
    "allowed": "allowed",
    "needs_approval": "needs approval",
    "blocked": "blocked",
}


@dataclass(frozen=True, slots=True)
class Edge:
    """One thing that uses another, and what it can call by that."""

    target: str
    kind: Kind
    """Of the target."""
    calls: tuple[Row, ...] = ()
    """What can be raised along this edge, the gravest first."""
    decision: Decision = "allowed"
    """Over the delegation; for a toolset the mildest over its calls."""

    def described(self) -> Iterator[str]:
        """What can be raised, in one line for each decision; of a worker, the files that it may be handed."""
        for decision in STRICTNESS:
            rows = [
                row for row in self.calls if row.decision == decision and row.capability.name != DELEGATE.name
            ]
            if rows:
                attached = ", as attachments" if self.kind == "worker" else ""
                yield f"{_WORDS[decision]}{attached}: {', '.join(map(_raised, rows))}"


def _raised(row: Row) -> str:
    return f"{capability(row)} {ANY}" if row.is_unseen else capability(row)


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn: entries, and for each worker below them what it uses."""

    entries: tuple[tuple[Entry, tuple[Edge, ...]], ...]
    """Each with what it starts, and with the toolset of which it calls one tool itself."""
    workers: Mapping[str, tuple[Edge, ...]]
    """Sorted, each with its edges: delegates first, then toolsets."""
    read_from: str | None = None
    """The format of a foreign project."""
    files_of: str | None = None
    """The folder that tools work on, where it is not the workspace."""


def drawing(analysis: Analysis, entries: Iterable[Entry], only: frozenset[str] | None = None) -> Drawing:
    """The part of the graph below `entries`.

    Where `only` is given, that is the workers in it with what they use, and every way of delegation to them.
    """
    graph = analysis.graph
    drawn_entries = tuple(entries)
    starts = [start.name for entry in drawn_entries for start in entry.starts if start.name in graph.workers]
    drawn = set(closure(graph.edges, starts))
    if only is not None:
        drawn &= set(closure(callers(graph.edges), only))
    walks = [analysis.walk(entry) for entry in drawn_entries]
    workers = {}
    for name in sorted(drawn):
        calls = calls_by_worker(analysis, walks, name)
        edges = [_edge(graph, used, rows) for used, rows in calls.items()]
        is_whole = only is None or name in only
        drawn_edges = [
            edge for edge in edges if (edge.target in drawn if edge.kind == "worker" else is_whole)
        ]
        workers[name] = tuple(sorted(drawn_edges, key=lambda edge: (edge.kind == "toolset", edge.target)))
    started = tuple((entry, tuple(_started(analysis, entry, drawn, only))) for entry in drawn_entries)
    return Drawing(started, workers, graph.read_from, graph.settings.files_of)


def _started(
    analysis: Analysis, entry: Entry, drawn: Collection[str], only: frozenset[str] | None
) -> Iterator[Edge]:
    calls = calls_by_entry(analysis, entry)
    for start in entry.starts:
        if start.name in drawn or (only is None and start.name not in analysis.graph.workers):
            rows = calls.get(start.name)
            yield _edge(analysis.graph, start.name, rows) if rows else Edge(start.name, "worker")
    for used in dict.fromkeys(use.name for use in own_uses(analysis.graph, entry)):
        if used in calls:
            yield _edge(analysis.graph, used, calls[used])


def _edge(graph: Graph, target: str, rows: tuple[Row, ...]) -> Edge:
    is_worker = target in graph.workers
    over = [row.decision for row in rows if not is_worker or row.capability.name == DELEGATE.name]
    mildest: Decision = min(over, key=STRICTNESS.__getitem__) if over else "blocked"
    return Edge(target, "worker" if is_worker else "toolset", rows, mildest)


def tree(drawn: Drawing) -> str:
    """A tree in which every worker is drawn once: `entry` before entries, toolsets in brackets.

    Below a toolset stands what can be raised by it, under each decision; beside a delegate, unless it is allowed, the
    decision over calling it.
    """
    lines = _heading(drawn, "")
    seen: set[str] = set()
    for entry, edges in drawn.entries:
        lines.append(f"entry {shown(entry.name)}")
        _branch(lines, drawn, edges, seen)
    return "".join(f"{line}\n" for line in lines)


def _heading(drawn: Drawing, comment: str) -> list[str]:
    lines = [not_enforced(drawn.read_from)] if drawn.read_from else []
    lines += [files(drawn.files_of)] if drawn.files_of else []
    return [f"{comment}{line}" for line in lines]


def _branch(lines: list[str], drawn: Drawing, edges: Sequence[Edge], seen: set[str]) -> None:
    stack = [(edge, "", number == len(edges) - 1) for number, edge in enumerate(edges)][::-1]
    while stack:
        edge, left, is_last = stack.pop()
        below = drawn.workers.get(edge.target, ()) if edge.kind == "worker" else ()
        again = edge.kind == "worker" and edge.target in seen and bool(below)
        described = list(edge.described())
        name = f"[{shown(edge.target)}]" if edge.kind == "toolset" else shown(edge.target)
        is_plain = edge.decision == "allowed" or (edge.kind == "toolset" and described)
        mark = "" if is_plain else f" ({_WORDS[edge.decision]})"
        lines.append(f"{left}{'`-- ' if is_last else '|-- '}{name}{mark}{' (above)' if again else ''}")
        deeper = left + ("    " if is_last else "|   ")
        inner = "|   " if below and not again else "    "
        lines.extend(f"{deeper}{inner}{shown(line)}" for line in described)
        if again or edge.kind == "toolset":
            continue
        seen.add(edge.target)
        stack.extend(
            (other, deeper, number == len(below) - 1) for number, other in reversed(list(enumerate(below)))
        )


def _nodes(drawn: Drawing) -> Iterator[tuple[str, str, Kind]]:
    """Identifier, label and kind of every node; identifiers hold letters and digits only."""
    for number, (entry, _) in enumerate(drawn.entries):
        yield f"e{number}", entry.name, "entry"
    for number, name in enumerate(drawn.workers):
        yield f"w{number}", name, "worker"
    used = (edge for edges in (*drawn.workers.values(), *(own for _, own in drawn.entries)) for edge in edges)
    toolsets = sorted({edge.target for edge in used if edge.kind == "toolset"})
    for number, name in enumerate(toolsets):
        yield f"t{number}", name, "toolset"


def _arrows(drawn: Drawing) -> Iterator[tuple[str, str, Edge]]:
    """Origin and target of every edge, by identifier, and the edge."""
    by_name = {(kind, label): node for node, label, kind in _nodes(drawn)}
    origins = [(f"e{number}", edges) for number, (_, edges) in enumerate(drawn.entries)]
    origins += [(by_name["worker", name], edges) for name, edges in drawn.workers.items()]
    for origin, edges in origins:
        for edge in edges:
            if (edge.kind, edge.target) in by_name:
                yield origin, by_name[edge.kind, edge.target], edge


def _label(edge: Edge) -> list[str]:
    """What is written at an edge, line by line; nothing where it is simply allowed."""
    described = list(edge.described())
    is_plain = edge.decision == "allowed" or (edge.kind == "toolset" and described)
    return described if is_plain else [_WORDS[edge.decision], *described]


def mermaid(drawn: Drawing) -> str:
    """A Mermaid flowchart."""
    shapes: dict[Kind, str] = {"entry": '(["{}"])', "worker": '["{}"]', "toolset": '[("{}")]'}
    lines = [*_heading(drawn, "%% "), "flowchart LR"]
    lines += [f"    {node}{shapes[kind].format(_quoted(label))}" for node, label, kind in _nodes(drawn)]
    for origin, target, edge in _arrows(drawn):
        label = "<br>".join(map(_quoted, _label(edge)))
        arrow = "-.->" if edge.decision == "blocked" else "-->"
        text = f'|"{label}"|' if label else ""
        lines.append(f"    {origin} {arrow}{text} {target}")
    return "".join(f"{line}\n" for line in lines)


_ENTITIES = str.maketrans(
    {"&": "&amp;", '"': "&quot;", "<": "&lt;", **{mark: f"#{ord(mark)};" for mark in "#*_`"}}
)
"""Mermaid has its own way to write a character by its number, and takes labels for Markdown."""


def _quoted(label: str) -> str:
    return shown(label).translate(_ENTITIES)


def dot(drawn: Drawing) -> str:
    """A Graphviz digraph."""
    shapes: dict[Kind, str] = {"entry": "oval", "worker": "box", "toolset": "cylinder"}
    lines = [*_heading(drawn, "// "), "digraph llmdo {", "    rankdir=LR;"]
    lines += [
        f"    {node} [label={json.dumps(shown(label))}, shape={shapes[kind]}];"
        for node, label, kind in _nodes(drawn)
    ]
    for origin, target, edge in _arrows(drawn):
        label = "\n".join(map(shown, _label(edge)))
        details = [f"label={json.dumps(label)}"] if label else []
        details += ["style=dashed"] if edge.decision == "blocked" else []
        suffix = f" [{', '.join(details)}]" if details else ""
        lines.append(f"    {origin} -> {target}{suffix};")
    return "".join(f"{line}\n" for line in [*lines, "}"])


def to_json(drawn: Drawing) -> str:
    """The graph in the form `llmdo.graph/1`."""
    document = {
        "schema": "llmdo.graph/1",
        **({"read_from": drawn.read_from, "enforced": False} if drawn.read_from else {}),
        **({"root": drawn.files_of} if drawn.files_of else {}),
        "entries": [
            {
                "name": entry.name,
                "starts": [edge.target for edge in edges if edge.kind == "worker"],
                **({"tool": entry.tool.name} if entry.tool else {}),
                "uses": list(map(_edge_data, edges)),
            }
            for entry, edges in drawn.entries
        ],
        "workers": [
            {"name": name, "uses": list(map(_edge_data, edges))} for name, edges in drawn.workers.items()
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _edge_data(edge: Edge) -> dict[str, object]:
    return {
        "name": edge.target,
        "kind": edge.kind,
        "decision": edge.decision,
        "calls": list(map(call_data, edge.calls)),
    }
