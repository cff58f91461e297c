"""The delegation graph as a tree for the terminal, as Mermaid, as DOT and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from llmdo.authority import STRICTNESS, decide
from llmdo.diagnostic import shown
from llmdo.foreign import not_enforced
from llmdo.inventory import DELEGATE, own_tool, tools_of
from llmdo.reach.analysis import entry_ceiling

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.authority import Authority, Decision
    from llmdo.graph import Entry, Tool
    from llmdo.reach import Analysis

Kind = Literal["entry", "worker", "toolset"]

_MARKS: dict[Decision, str] = {"allowed": "", "needs_approval": " (asks)", "blocked": " (blocked)"}


@dataclass(frozen=True, slots=True)
class Edge:
    """One thing that uses another, and what is decided about that at its mildest."""

    origin: str
    target: str
    kind: Kind
    """Of the target."""
    decision: Decision


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn: entries, and for each worker below them what it uses."""

    entries: tuple[Entry, ...]
    edges: dict[str, tuple[Edge, ...]]
    """Worker to its edges, sorted: delegates first, then toolsets."""
    own: dict[str, Edge]
    """Entry to the edge to the toolset of which it calls one tool itself."""
    read_from: str | None = None
    """The format of a foreign project."""


def drawing(analysis: Analysis, entries: Iterable[Entry], only: frozenset[str] | None = None) -> Drawing:
    """The part of the graph below `entries`; only the workers in `only`, where that is given."""
    graph = analysis.graph
    shown_entries = tuple(entries)
    waiting = [start.name for entry in shown_entries for start in entry.starts]
    edges: dict[str, tuple[Edge, ...]] = {}
    while waiting:
        name = waiting.pop()
        if name in edges or name not in graph.workers:
            continue
        found = [
            edge
            for edge in _edges(analysis, name)
            if only is None or edge.kind != "worker" or edge.target in only
        ]
        edges[name] = tuple(sorted(found, key=lambda edge: (edge.kind == "toolset", edge.target)))
        waiting.extend(edge.target for edge in found if edge.kind == "worker")
    own = {entry.name: edge for entry in shown_entries if (edge := _own_edge(analysis, entry))}
    return Drawing(shown_entries, dict(sorted(edges.items())), own, graph.read_from)


def _own_edge(analysis: Analysis, entry: Entry) -> Edge | None:
    tool = own_tool(analysis.graph, entry)
    if tool is None or entry.use is None:
        return None
    ceiling = entry_ceiling(entry)
    authority = analysis.authority(entry.approvals, (ceiling,) if ceiling else ())
    return Edge(entry.name, entry.use.name, "toolset", _mildest([tool], authority))


def _edges(analysis: Analysis, name: str) -> Iterator[Edge]:
    graph = analysis.graph
    worker = graph.workers[name]
    ceilings = tuple(analysis.ceilings[one] for one in (name,) if one in analysis.ceilings)
    authority = analysis.authority(worker.approvals, ceilings)
    for use in worker.uses:
        if use.name in graph.workers:
            yield Edge(name, use.name, "worker", decide([DELEGATE], [DELEGATE], authority).decision)
            continue
        yield Edge(name, use.name, "toolset", _mildest(tools_of(graph, worker, use).values(), authority))


def _mildest(tools: Iterable[Tool], authority: Authority) -> Decision:
    """The mildest decision over the calls of these tools."""
    verdicts: list[Decision] = ["blocked"]
    for tool in tools:
        calls = [[one] for one in tool.capabilities] if tool.hook else [list(tool.capabilities)]
        verdicts += [decide(call, tool.capabilities, authority).decision for call in calls]
    return min(verdicts, key=STRICTNESS.__getitem__)


def tree(drawn: Drawing) -> str:
    """A tree in which every worker is drawn once: `entry` before entries, toolsets in brackets, gates in words."""
    lines = _heading(drawn, "")
    seen: set[str] = set()
    for entry in drawn.entries:
        lines.append(f"entry {shown(entry.name)}")
        starts = [Edge(entry.name, start.name, "worker", "allowed") for start in entry.starts]
        starts += [drawn.own[entry.name]] if entry.name in drawn.own else []
        _branch(lines, drawn, starts, "", seen)
    return "".join(f"{line}\n" for line in lines)


def _heading(drawn: Drawing, comment: str) -> list[str]:
    return [f"{comment}{not_enforced(drawn.read_from)}"] if drawn.read_from else []


def _branch(lines: list[str], drawn: Drawing, edges: Sequence[Edge], indent: str, seen: set[str]) -> None:
    stack = [(edge, indent, number == len(edges) - 1) for number, edge in enumerate(edges)][::-1]
    while stack:
        edge, left, last = stack.pop()
        below = drawn.edges.get(edge.target, ()) if edge.kind == "worker" else ()
        again = edge.kind == "worker" and edge.target in seen and bool(below)
        name = f"[{shown(edge.target)}]" if edge.kind == "toolset" else shown(edge.target)
        lines.append(
            f"{left}{'`-- ' if last else '|-- '}{name}{_MARKS[edge.decision]}{' (above)' if again else ''}"
        )
        if again or edge.kind == "toolset":
            continue
        seen.add(edge.target)
        deeper = left + ("    " if last else "|   ")
        stack.extend(
            (one, deeper, number == len(below) - 1) for number, one in reversed(list(enumerate(below)))
        )


def _nodes(drawn: Drawing) -> Iterator[tuple[str, str, Kind]]:
    """Identifier, label and kind of every node; identifiers hold letters and digits only."""
    for number, entry in enumerate(drawn.entries):
        yield f"e{number}", entry.name, "entry"
    for number, name in enumerate(drawn.edges):
        yield f"w{number}", name, "worker"
    used = (edge for edges in (*drawn.edges.values(), drawn.own.values()) for edge in edges)
    toolsets = sorted({edge.target for edge in used if edge.kind == "toolset"})
    for number, name in enumerate(toolsets):
        yield f"t{number}", name, "toolset"


def _arrows(drawn: Drawing) -> Iterator[tuple[str, str, Decision]]:
    """Origin, target and decision of every edge, by identifier."""
    by_name = {(kind, label): node for node, label, kind in _nodes(drawn)}
    for number, entry in enumerate(drawn.entries):
        for start in entry.starts:
            if ("worker", start.name) in by_name:
                yield f"e{number}", by_name["worker", start.name], "allowed"
        if own := drawn.own.get(entry.name):
            yield f"e{number}", by_name["toolset", own.target], own.decision
    for name, edges in drawn.edges.items():
        for edge in edges:
            if (edge.kind, edge.target) in by_name:
                yield by_name["worker", name], by_name[edge.kind, edge.target], edge.decision


def mermaid(drawn: Drawing) -> str:
    """A Mermaid flowchart."""
    shapes: dict[Kind, str] = {"entry": '(["{}"])', "worker": '["{}"]', "toolset": '[("{}")]'}
    arrows: dict[Decision, str] = {
        "allowed": "-->",
        "needs_approval": "-->|asks|",
        "blocked": "-.->|blocked|",
    }
    lines = [*_heading(drawn, "%% "), "flowchart LR"]
    lines += [f"    {node}{shapes[kind].format(_quoted(label))}" for node, label, kind in _nodes(drawn)]
    lines += [f"    {origin} {arrows[decision]} {target}" for origin, target, decision in _arrows(drawn)]
    return "".join(f"{line}\n" for line in lines)


def _quoted(label: str) -> str:
    return shown(label).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def dot(drawn: Drawing) -> str:
    """A Graphviz digraph."""
    shapes: dict[Kind, str] = {"entry": "oval", "worker": "box", "toolset": "cylinder"}
    styles: dict[Decision, str] = {
        "allowed": "", "needs_approval": ' [label="asks"]', "blocked": ' [label="blocked", style=dashed]',
    }  # fmt: skip
    lines = [*_heading(drawn, "// "), "digraph llmdo {", "    rankdir=LR;"]
    lines += [
        f"    {node} [label={json.dumps(shown(label))}, shape={shapes[kind]}];"
        for node, label, kind in _nodes(drawn)
    ]
    lines += [f"    {origin} -> {target}{styles[decision]};" for origin, target, decision in _arrows(drawn)]
    return "".join(f"{line}\n" for line in [*lines, "}"])


def to_json(drawn: Drawing) -> str:
    """The graph in the form `llmdo.graph/1`."""
    document = {
        "schema": "llmdo.graph/1",
        **({"read_from": drawn.read_from, "enforced": False} if drawn.read_from else {}),
        "entries": [
            {
                "name": entry.name,
                "starts": [start.name for start in entry.starts],
                **({"tool": entry.tool.name} if entry.tool else {}),
            }
            for entry in drawn.entries
        ],
        "workers": [
            {
                "name": name,
                "uses": [
                    {"name": edge.target, "kind": edge.kind, "decision": edge.decision} for edge in edges
                ],
            }
            for name, edges in drawn.edges.items()
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
