"""The delegation graph as a tree for the terminal, as Mermaid, as DOT and as JSON.

A requested way is marked in it: to a call, or both legs after a stranger's words. The meaning of a line is shown by
its form and a word, not by its colour alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import shown
from llmdo.base.jsonable import document, record
from llmdo.base.values import in_json, unenforced
from llmdo.foreign import not_enforced
from llmdo.graph.code_calls import own_uses
from llmdo.graph.toolkit import ANY, DELEGATE
from llmdo.policy.authority import STRICTNESS
from llmdo.reach import Row
from llmdo.reach.edges import calls_by_entry, calls_by_worker
from llmdo.reach.flows import FlowRow
from llmdo.reach.flows import tool_suffix as leg_suffix
from llmdo.reach.selectors import callers, closure
from llmdo.render import flows
from llmdo.render.reach import SHAPES, call_data, capability, files, tool_suffix

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from llmdo.graph.resolved import Entry, Graph
    from llmdo.policy.vocabulary import Decision
    from llmdo.reach import Analysis, Hop

Kind = Literal["entry", "worker", "toolset"]
LegName = Literal["way", "in", "out"]

_WORDS: dict[Decision, str] = {
    "allowed": "allowed",
    "needs_approval": "needs approval",
    "blocked": "blocked",
}


@dataclass(frozen=True, slots=True)
class Leg:
    """A marked way from an entry to a call: the one to it, or one of the two legs of a `FlowRow`."""

    name: LegName
    hops: tuple[Hop, ...]
    end: str
    """Follows the last name: the tool that is called there."""

    def __str__(self) -> str:
        if not self.hops:
            return "the input"
        return " > ".join(shown(hop.name) for hop in self.hops) + self.end

    def labels(self, entry: str) -> Iterator[tuple[tuple[Kind, str], str, str]]:
        """Origin and target of each edge along it, and the text written there."""
        origin: tuple[Kind, str] = ("entry", entry)
        for number, hop in enumerate(self.hops, start=1):
            yield origin, hop.name, f"{self.name}{self.end if number == len(self.hops) else ''}"
            origin = ("worker", hop.name)


@dataclass(frozen=True, slots=True)
class Marked:
    """The marked ways below an entry: to a row of reach, or both legs after a stranger's words."""

    entry: str
    row: Row | FlowRow = field(metadata=in_json(flat=True))

    @property
    def legs(self) -> tuple[Leg, ...]:
        """The leg in before the leg out."""
        if isinstance(row := self.row, FlowRow):
            ways: tuple[tuple[LegName, tuple[Hop, ...], str], ...] = (
                ("in", row.source, row.source_tool),
                ("out", row.path, row.tool),
            )
            return tuple(Leg(name, hops, shown(leg_suffix(hops, tool))) for name, hops, tool in ways)
        return (Leg("way", row.path, tool_suffix(row)),)

    def __str__(self) -> str:
        row = self.row
        what = f"{flows.TITLE}, {row.capability}" if isinstance(row, FlowRow) else capability(row)
        return f"entry {shown(self.entry)}, {shown(what)}: {_WORDS[row.decision]}"


@dataclass(frozen=True, slots=True)
class Edge:
    """The use of one thing by another, and the calls that it allows."""

    target: str = field(metadata=in_json("name"))
    kind: Kind
    """Of the target."""
    calls: tuple[Row, ...] = ()
    """The capabilities that can be raised along this edge, the worst first."""
    decision: Decision = field(default="allowed", metadata=in_json(after="kind"))
    """Over the delegation; for a toolset the mildest over its calls."""
    legs: tuple[tuple[LegName, str], ...] = field(default=(), metadata=in_json(part=None))
    """The marked legs along it, and the text for each."""

    def described(self) -> Iterator[str]:
        """The capabilities that can be raised, a line for each decision; of a worker, the files that it may get."""
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
    """The drawn parts: entries, and for each worker below them the things that it uses."""

    entries: tuple[tuple[Entry, tuple[Edge, ...]], ...]
    """Each with its edges: to the workers that it starts, then to toolsets that it or its code uses itself."""
    workers: Mapping[str, tuple[Edge, ...]]
    """Sorted, each with its edges: delegates first, then toolsets."""
    read_from: str | None = None
    """The format of a foreign project."""
    files_of: str | None = None
    """The folder that tools work on, if it is not the workspace."""
    marked: tuple[Marked, ...] = ()


def drawing(
    analysis: Analysis,
    entries: Iterable[Entry],
    only: frozenset[str] | None = None,
    to: Iterable[tuple[str, Row | FlowRow]] = (),
) -> Drawing:
    """The part of the graph below `entries`, with the ways `to` rows of some of them marked.

    `only` limits it to the workers in it with the things that they use, and every way of delegation to them.
    """
    graph = analysis.graph
    drawn_entries = tuple(entries)
    starts = [start.name for entry in drawn_entries for start in entry.starts if start.name in graph.workers]
    drawn = set(closure(graph.edges, starts))
    if only is not None:
        drawn &= set(closure(callers(graph.edges), only))
    walks = [analysis.walk(entry) for entry in drawn_entries]
    marked = tuple(Marked(entry, row) for entry, row in to)
    legs = _legs(marked)
    workers = {}
    for name in sorted(drawn):
        calls = calls_by_worker(analysis, walks, name)
        edges = [_edge(graph, used, rows) for used, rows in calls.items()]
        is_whole = only is None or name in only
        drawn_edges = [
            edge for edge in edges if (edge.target in drawn if edge.kind == "worker" else is_whole)
        ]
        drawn_edges.sort(key=lambda edge: (edge.kind == "toolset", edge.target))
        workers[name] = _with_legs(drawn_edges, ("worker", name), legs)
    started = tuple(
        (entry, _with_legs(_started(analysis, entry, drawn, only), ("entry", entry.name), legs))
        for entry in drawn_entries
    )
    return Drawing(started, workers, graph.read_from, graph.settings.files_of, marked)


_Legs = dict[tuple[tuple[Kind, str], str], dict[LegName, str]]
"""The text for each leg at an edge, by its origin and its target."""


def _legs(marked: Iterable[Marked]) -> _Legs:
    legs: _Legs = {}
    for each in marked:
        for leg in each.legs:
            for origin, target, label in leg.labels(each.entry):
                legs.setdefault((origin, target), {})[leg.name] = label
    return legs


def _with_legs(edges: Iterable[Edge], origin: tuple[Kind, str], legs: _Legs) -> tuple[Edge, ...]:
    return tuple(
        replace(edge, legs=tuple(legs.get((origin, edge.target), {}).items())) if legs else edge
        for edge in edges
    )


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

    Below a toolset are the capabilities that it can raise, under each decision; next to a delegate, unless it is
    allowed, the decision over calling it. An arrow from the right names the marked legs along an edge.
    """
    lines = _heading(drawn, "")
    seen: set[str] = set()
    for entry, edges in drawn.entries:
        lines.append(f"entry {shown(entry.name)}")
        _branch(lines, drawn, edges, seen)
    for each in drawn.marked:
        lines += ["", str(each), *(f"  {leg.name}: {leg}" for leg in each.legs)]
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
        legs = f"  <-- {', '.join(shown(label) for _, label in edge.legs)}" if edge.legs else ""
        lines.append(f"{left}{'`-- ' if is_last else '|-- '}{name}{mark}{' (above)' if again else ''}{legs}")
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
    """The text at an edge, line by line; nothing if it is simply allowed."""
    described = list(edge.described())
    is_plain = edge.decision == "allowed" or (edge.kind == "toolset" and described)
    return described if is_plain else [_WORDS[edge.decision], *described]


@dataclass(frozen=True, slots=True)
class _Line:
    """A drawn line of an edge: a marked edge has one for each leg, and the first carries the full text."""

    origin: str
    target: str
    label: tuple[str, ...]
    is_blocked: bool
    leg: LegName | None = None


def _drawn_lines(drawn: Drawing) -> Iterator[_Line]:
    for origin, target, edge in _arrows(drawn):
        is_blocked = edge.decision == "blocked"
        if not edge.legs:
            yield _Line(origin, target, tuple(_label(edge)), is_blocked)
        for number, (name, label) in enumerate(edge.legs):
            rest = () if number else _label(edge)
            yield _Line(origin, target, (label, *rest), is_blocked, name)


def _legend(drawn: Drawing) -> list[str]:
    """The marked legs, and how they are drawn."""
    forms: dict[LegName, str] = {"way": "thick", "in": "dotted", "out": "thick"}
    return [
        line
        for each in drawn.marked
        for line in (str(each), *(f"{leg.name} ({forms[leg.name]}): {leg}" for leg in each.legs))
    ]


_COLOURS: dict[LegName, str] = {"way": "#b45309", "in": "#6d28d9", "out": "#b45309"}


def mermaid(drawn: Drawing) -> str:
    """A Mermaid flowchart."""
    shapes: dict[Kind, str] = {"entry": '(["{}"])', "worker": '["{}"]', "toolset": '[("{}")]'}
    lines = [*_heading(drawn, "%% "), "flowchart LR"]
    lines += [f"    {node}{shapes[kind].format(_quoted(label))}" for node, label, kind in _nodes(drawn)]
    arrows: dict[LegName | None, str] = {None: "-->", "way": "==>", "in": "-.->", "out": "==>"}
    styles = []
    for number, line in enumerate(_drawn_lines(drawn)):
        label = "<br>".join(map(_quoted, line.label))
        arrow = "-.->" if line.is_blocked else arrows[line.leg]
        text = f'|"{label}"|' if label else ""
        lines.append(f"    {line.origin} {arrow}{text} {line.target}")
        if line.leg:
            form = "stroke-width:3px" + (",stroke-dasharray:2 5" if line.leg == "in" else "")
            styles.append(f"    linkStyle {number} stroke:{_COLOURS[line.leg]},{form}")
    if drawn.marked:
        styles.append(f'    legend>"{"<br>".join(map(_quoted, _legend(drawn)))}"]')
    return "".join(f"{line}\n" for line in [*lines, *styles])


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
    for line in _drawn_lines(drawn):
        label = "\n".join(map(shown, line.label))
        details = [f"label={json.dumps(label)}"] if label else []
        details += ["style=dashed"] if line.is_blocked else []
        if line.leg:
            details += ["style=dotted"] if line.leg == "in" and not line.is_blocked else []
            colour = json.dumps(_COLOURS[line.leg])
            details += ["penwidth=3", f"color={colour}", f"fontcolor={colour}"]
        suffix = f" [{', '.join(details)}]" if details else ""
        lines.append(f"    {line.origin} -> {line.target}{suffix};")
    if drawn.marked:
        lines.append(f"    legend [label={json.dumps(chr(10).join(_legend(drawn)))}, shape=note];")
    return "".join(f"{line}\n" for line in [*lines, "}"])


def to_json(drawn: Drawing) -> str:
    """The graph in the form `llmdo.graph/1`."""
    entries = [
        {
            "name": entry.name,
            "starts": [edge.target for edge in edges if edge.kind == "worker"],
            **({"tool": entry.tool.name} if entry.tool else {}),
            "uses": edges,
        }
        for entry, edges in drawn.entries
    ]
    workers = [{"name": name, "uses": edges} for name, edges in drawn.workers.items()]
    whole = {
        **unenforced(drawn.read_from),
        **({"root": drawn.files_of} if drawn.files_of else {}),
        "entries": entries,
        "workers": workers,
        **({"marked": [record(each, shapes=SHAPES) for each in drawn.marked]} if drawn.marked else {}),
    }
    return document("llmdo.graph/1", whole, shapes={Row: call_data})
