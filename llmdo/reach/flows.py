"""Effects that may follow a read: a fixed point over the labels of workers, of written files and of toolsets.

Labels of a worker are all that any call of it may carry by its end; a real call carries some of them. So a run that
executes a call under a label has this worker with that label here, relative to the declarations of the tools.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.values import dataclass, field, in_json
from llmdo.graph import code_calls
from llmdo.graph.toolkit import sends, tools_of
from llmdo.policy.authority import STRICTNESS, Capability, Carried, decide, gravity, strictest
from llmdo.policy.composition import Layer
from llmdo.policy.flow import Labelling, read_by, written_by
from llmdo.policy.vocabulary import UNTRUSTED, WITHOUT_EFFECT
from llmdo.reach.rows import Hop
from llmdo.reach.shapes import FRESH, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from llmdo.graph.resolved import Entry
    from llmdo.policy.authority import Authority, Reason
    from llmdo.policy.vocabulary import Decision
    from llmdo.reach.analysis import Analysis
    from llmdo.reach.shapes import Shape
    from llmdo.reach.walk import Search

ENTRY = ""
"""The code of an entry among the names of workers, and its input."""

STRANGERS = Capability(UNTRUSTED)


class Entrance(NamedTuple):
    """The first origin of a label."""

    worker: str
    """`ENTRY` for the code of the entry."""
    toolset: str
    """Empty for the input of the entry."""
    tool: str


def _or_none(tool: str) -> str | None:
    return tool or None


@dataclass(frozen=True, slots=True)
class FlowRow:
    """One capability that something below an entry can raise after it has read a stranger's words."""

    capability: Capability = field(metadata=in_json(by=Capability.keys, flat=True))
    decision: Decision
    """The mildest of all such calls by the rules and flow rules for that moment, gates on the way included."""
    source: tuple[Hop, ...]
    """The way to the tool that brings the text; empty if the input brings it."""
    source_tool: str = field(metadata=in_json(by=_or_none))
    path: tuple[Hop, ...]
    """The way to the tool that raises it."""
    tool: str
    reasons: tuple[Reason, ...] = field(default=(), compare=False, metadata=in_json(part=None))
    private: tuple[Hop, ...] = field(default=(), metadata=in_json(sparse=True))
    """The way to the private data that the caller may have read by then, if asked for."""
    private_tool: str = field(default="", metadata=in_json(sparse=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unasked:
    """A question for the worst flow that ends in an effect without approval.

    An approval before the words are read does not count: whoever gives it has not seen them.
    """

    brings: Callable[[str, Shape, Decision], bool]
    """Whether a call of this worker with this decision brings a stranger's words; asked about tools that may."""
    private: tuple[Capability, ...]
    """Private data. One of these reaches the caller as well, unasked."""
    keeps: Callable[[str, Shape], bool]
    """Whether the data that a call of this worker returns is private; asked about tools that return such data."""
    ends: Callable[[str, Shape], int | None]
    """The rank of a call of this worker as an effect, the worst first; None if it is none of those asked for."""
    may_read: Callable[[str, Shape], bool] | None = None
    """Whether a call of this worker may return private data although it does not declare any."""
    apart: Callable[[str, Shape], Iterable[Shape]] | None = None
    """The parts of a call of this worker that are asked about apart, as its tools do the same but do not ask alike."""


class Part(NamedTuple):
    """The workers below an entry that a question is about, where one gets no more than the answers of some others."""

    reading: frozenset[str]
    acting: frozenset[str]


class UnaskedFlow(NamedTuple):
    """The worst flow below an entry, and its alternatives."""

    row: FlowRow
    rank: int
    sources: tuple[Entrance, ...]
    """The tools that bring a stranger's words."""
    private: tuple[Entrance, ...]
    """The tools that read private data."""
    ends: tuple[UnaskedEnd, ...]
    """The tools with one of the effects."""


class UnaskedEnd(NamedTuple):
    """A tool of a worker with an effect that was asked for."""

    rank: int
    worker: str
    toolset: str
    tool: str


@dataclass(slots=True)
class _Labels:
    """The labels of everything below one entry, which only grow."""

    workers: dict[str, dict[Capability, Entrance]]
    files: dict[Capability, dict[Capability, Entrance]] = field(default_factory=dict)
    """By the name and the scope of what wrote them."""
    toolsets: dict[str, dict[Capability, Entrance]] = field(default_factory=dict)
    has_grown: bool = False

    def add(self, to: dict[Capability, Entrance], labels: Mapping[Capability, Entrance]) -> None:
        """Adds labels to a worker, to files or to a toolset."""
        for label, origin in labels.items():
            if label not in to:
                to[label] = origin
                self.has_grown = True


class _Call(NamedTuple):
    """A call that a worker can make, as far as rules and its own ceiling permit."""

    shape: Shape
    toolset: str
    """Empty for a delegation."""
    decision: Decision


def legs_text(row: FlowRow) -> str:
    """Both legs in words: `triage > tracker (read_issues) => triage > releaser > shell`."""
    source = leg_text(row.source, row.source_tool) if row.source else "the input"
    return f"{source} => {leg_text(row.path, row.tool)}"


def leg_text(path: Sequence[Hop], tool: str) -> str:
    """One leg in words, its tool at the end."""
    return " > ".join(hop.name for hop in path) + tool_suffix(path, tool)


def tool_suffix(path: Sequence[Hop], tool: str) -> str:
    """The tool at the end of a leg, to follow its last hop; empty if the hop names it."""
    if not path or tool in ("*", "(start)"):
        return ""
    is_named = re.fullmatch(rf"{re.escape(tool)}( \(\d+\))?", path[-1].name)
    return "" if is_named else f" ({tool})"


def after_strangers(analysis: Analysis, entry: Entry) -> tuple[FlowRow, ...]:
    """The effects of `entry` once something below it has read a stranger's words, the worst first."""
    return _spread(analysis, entry).rows


def unasked(analysis: Analysis, question: Unasked) -> Callable[[Entry, Part | None], UnaskedFlow | None]:
    """A function from an entry to its worst unasked effect after a stranger's words and private data.

    Of a part of what is below the entry, only those who read count for the words and the data, and those who act for
    the effect.
    """
    known: dict[str, _Contribution] = {}
    return lambda entry, part: _OpenSpread(analysis, entry, question, known, part).worst


def labels_below(analysis: Analysis, entry: Entry) -> Mapping[str, frozenset[Capability]]:
    """The labels that calls of each worker below `entry` may carry by their end; `ENTRY` is the code of the entry."""
    return {name: frozenset(labels) for name, labels in _spread(analysis, entry).labels.items()}


def written_below(analysis: Analysis, entry: Entry) -> tuple[str | None, ...]:
    """The scopes of files that may be written below `entry` after a stranger's words were read; None is any."""
    files = _spread(analysis, entry).files
    written = [each.scope for each, labels in files.items() if STRANGERS in labels]
    scopes = {scope and scope.replace(FRESH, "**") for scope in written}
    return tuple(sorted(scopes, key=str))


def given_seals(analysis: Analysis, entry: Entry) -> Iterator[tuple[str, str, Shape]]:
    """Each effect below `entry` without approval, by a caller that may be given a sealed text.

    The caller, `ENTRY` for the code of the entry; the worker that seals; and the call.
    """
    return _spread(analysis, entry).given_seals()


def _spread(analysis: Analysis, entry: Entry) -> Spread:
    """The labels that spread below one entry; those of the last one are kept."""
    last = analysis.last_spread
    if isinstance(last, Spread) and last.entry is entry:
        return last
    analysis.last_spread = spread = Spread(analysis, entry)
    return spread


class Spread:
    """The labels that spread below one entry."""

    def __init__(self, analysis: Analysis, entry: Entry, private: Iterable[Capability] = ()) -> None:
        self._analysis, self.entry = analysis, entry
        graph = analysis.graph
        froms = {*(source for flow in graph.all_flows for source in flow.sources), STRANGERS, *private}
        self._labelling = Labelling(tuple(sorted(froms, key=str)), graph.sources)
        self._walk = analysis.walk(entry)
        self._search = self._ways = self._walk.search(frozenset(), free=False)
        self._names = [self._walk.names[node] for node in self._search.parent]
        self._calls = self._calls_below()
        self._labels = _Labels({name: {} for name in self._calls})
        if entry.untrusted_input:
            there = {label: Entrance(ENTRY, "", "") for label in self._labelling.of_strange_input}
            self._labels.add(self._labels.workers[ENTRY], there)
        self._spread()

    @property
    def labels(self) -> Mapping[str, Mapping[Capability, Entrance]]:
        """The labels of each worker."""
        return self._labels.workers

    @property
    def files(self) -> Mapping[Capability, Mapping[Capability, Entrance]]:
        """The labels of written files, by what wrote them."""
        return self._labels.files

    @cached_property
    def _max_bits(self) -> Mapping[str, int]:
        """How much the output of a closed delegate of each worker may hold."""
        return {name: self._authority(name).max_bits for name in self._calls}

    def _calls_below(self) -> dict[str, list[_Call]]:
        """The calls of each worker and of the code of the entry."""
        calls = {name: [*self._calls_of(name)] for name in self._names}
        calls[ENTRY] = [
            _Call(shape, shape.toolset, self._walk.row_of_call(shape, called).decision)
            for shape, called in self._analysis.calls_of(self.entry)
        ]
        return calls

    def _calls_of(self, name: str) -> Iterator[_Call]:
        node = self._analysis.workers.nodes[name]
        for number in self._analysis.shapes.by_node[node]:
            for ruling in self._walk.rulings.of(number):
                is_inside = ruling.cut is not None and name not in ruling.cut
                if is_inside and ruling.verdict.decision != "blocked":
                    yield _Call(ruling.shape, ruling.shape.toolset, ruling.verdict.decision)

    def _delegates(self, name: str) -> Iterable[str]:
        if name == ENTRY:
            return [start for start in self._walk.starts if start in self._calls]
        own = self._analysis.graph.edges[name]
        return [
            callee
            for callee in own
            if callee in self._calls and self._walk.rulings.gate(name, callee) != "blocked"
        ]

    def _spread(self) -> None:
        labels = self._labels
        labels.has_grown = True
        while labels.has_grown:
            labels.has_grown = False
            for name, calls in self._calls.items():
                for call in calls:
                    self._call(name, call)
                self._words(name)
                for toolset in self._keeping(name):
                    kept = labels.toolsets.setdefault(toolset, {})
                    labels.add(kept, labels.workers[name])
                    labels.add(labels.workers[name], kept)
                for callee in self._delegates(name):
                    self._delegate(name, callee)

    def _words(self, name: str) -> None:
        """Adds the words of toolsets that need no decided call: possibly all that their tools declare."""
        graph = self._analysis.graph
        worker = graph.workers.get(name)
        for use in worker.uses if worker else ():
            toolset = graph.toolsets.get(use.name)
            if toolset is None or not (toolset.kind == "python" or toolset.instructions):
                continue
            for tool in tools_of(graph, worker, use).values():
                origin = Entrance(name, use.name, tool.name)
                words = self._labelling.of(tool.capabilities)
                self._labels.add(self._labels.workers[name], dict.fromkeys(words, origin))

    def _keeping(self, name: str) -> Iterable[str]:
        """The toolsets that a worker or its code may call, and that keep their input."""
        graph = self._analysis.graph
        if name == ENTRY:
            uses = code_calls.own_uses(graph, self.entry)
        else:
            uses = code_calls.uses_with_calls(graph, graph.workers[name].uses)
        return [use.name for use in uses if use.name in graph.toolsets and graph.toolsets[use.name].keeps]

    def _call(self, name: str, call: _Call) -> None:
        """Adds the labels that a call brings to its worker, and leaves behind."""
        labels, mine = self._labels, self._labels.workers[name]
        raised = call.shape.raised
        origin = Entrance(name, call.toolset, call.shape.tool)
        labels.add(mine, dict.fromkeys(self._labelling.of(raised), origin))
        # Only with its name is it known which class of scopes one stands for.
        reads = [Capability(each.name, scope) for each in raised for scope in read_by((each,))]
        for written, its in [*labels.files.items()]:
            if any(self._analysis.shapes.share_a_file(written, read) for read in reads):
                labels.add(mine, its)
        for each in raised:
            for scope in written_by((each,), call.shape.declared):
                labels.add(labels.files.setdefault(Capability(each.name, scope), {}), mine)

    def _delegate(self, name: str, callee: str) -> None:
        """Passes labels with the input of a delegate, and back with its answer."""
        labels, mine, its = self._labels, self._labels.workers[name], self._labels.workers[callee]
        labels.add(its, mine)
        worker = self._analysis.graph.workers[callee]
        # A sealed text is opened where the caller passes it on, and what comes back then carries its labels. An item of
        # a list that strangers wrote has a caller who has read it, or was given it sealed.
        if worker.closed is None or worker.closed > self._max_bits[name] or worker.output == "sealed":
            labels.add(mine, its)
            return
        strangers = self._labelling.of_strangers
        labels.add(mine, {label: origin for label, origin in its.items() if label not in strangers})

    @cached_property
    def rows(self) -> tuple[FlowRow, ...]:
        """The rows, one for each capability that is an effect: the mildest, then the nearest.

        What a client runs at an event is none: no words make it run.
        """
        best: dict[Capability, FlowRow] = {}
        of_events = {each.name for each in self.entry.events}
        for name, calls in self._calls.items():
            if name in of_events or (origin := self._labels.workers[name].get(STRANGERS)) is None:
                continue
            for call in calls:
                capability = call.shape.row
                if not self._is_effect(capability):
                    continue
                row = self._row(name, call, origin)
                known = best.get(capability)
                if known is None or _rank(row) < _rank(known):
                    best[capability] = row
        return _worst_first(best.values())

    def _is_effect(self, capability: Capability) -> bool:
        return (WITHOUT_EFFECT | self._analysis.base.reads).isdisjoint(capability.names)

    def given_seals(self) -> Iterator[tuple[str, str, Shape]]:
        """See `given_seals`."""
        workers = self._analysis.graph.workers
        for name, calls in self._calls.items():
            sealing = [callee for callee in self._delegates(name) if workers[callee].output == "sealed"]
            for call in calls if sealing else ():
                if call.toolset and call.decision == "allowed" and self._is_effect(call.shape.row):
                    yield name, sealing[0], call.shape

    def _row(self, name: str, call: _Call, origin: Entrance, private: Entrance | None = None) -> FlowRow:
        tools = (call.shape.tool, *call.shape.other_tools)  # the mildest counts
        is_sent = all(sends(self._analysis.graph, call.toolset, tool) for tool in tools)
        carried = Carried(self._labelling.of_strangers, sends=is_sent)
        verdict = decide(call.shape.raised, call.shape.declared, self._authority(name), carried)
        path = self._path(self._ways_to(name, verdict.decision), name, call.toolset or call.shape.tool)
        return FlowRow(
            call.shape.row,
            strictest((verdict.decision, *(hop.decision for hop in path))),
            self._to(origin),
            origin.tool,
            path,
            call.shape.tool,
            shown(verdict, call.shape).reasons,
            self._to(private) if private else (),
            private.tool if private else "",
        )

    def _ways_to(self, name: str, decision: Decision) -> Search:
        """The search with the mildest way to a call of a worker: past every question if the call asks none itself."""
        if name == ENTRY or decision != "allowed":
            return self._ways
        free = self._walk.search(frozenset(), free=True)
        return free if self._analysis.workers.nodes[name] in free.parent else self._ways

    def _authority(self, name: str) -> Authority:
        """The authority over the calls of a worker; with its own ceiling and the entry's alone."""
        own = () if name == ENTRY else (Layer.of_worker(self._analysis.graph.workers[name]),)
        return self._analysis.authority(Layer.of_entry(self.entry), own)

    def _to(self, entrance: Entrance) -> tuple[Hop, ...]:
        """The hops to the origin of a label; none for the input."""
        return self._path(self._search, entrance.worker, entrance.toolset) if entrance.toolset else ()

    def _path(self, search: Search, name: str, end: str) -> tuple[Hop, ...]:
        """The hops to a worker, as a search found it, and to the thing used."""
        hops = () if name == ENTRY else search.hops(self._analysis.workers.nodes[name])
        uses = () if name == ENTRY else self._analysis.graph.workers[name].uses
        return (*hops, Hop(end, next((use for use in uses if use.name == end), None)))


class _Contribution(NamedTuple):
    """The labels and effects that the calls of one worker add to a question."""

    labels: dict[Capability, list[Entrance]]
    ends: tuple[UnaskedEnd, ...]
    worst: tuple[tuple[int, tuple[int, str]], _Call] | None
    """The call with the worst effect, with how bad it is; None without one."""


class _OpenSpread(Spread):
    """The labels below an entry of another tool's project, in which agents pass on all that they read, both ways.

    So all below the entry share their labels, and one look at each agent is the fixed point. Entries have no rules of
    their own there: the contribution of an agent is `known` for all of them.
    """

    def __init__(
        self,
        analysis: Analysis,
        entry: Entry,
        question: Unasked,
        known: dict[str, _Contribution],
        part: Part | None,
    ) -> None:
        self._question, self._known, self._part = question, known, part
        self._origins: dict[Capability, list[Entrance]] = {}
        super().__init__(analysis, entry, question.private)
        self._ways = self._walk.search(frozenset(), free=True)

    def _calls_below(self) -> dict[str, list[_Call]]:
        for name in self._names:
            if name not in self._known:
                self._known[name] = self._contribution(name, self._calls_of(name))
        return {ENTRY: []}  # what a worker adds stands for its calls

    def _contribution(self, name: str, calls: Iterable[_Call]) -> _Contribution:
        labels: dict[Capability, list[Entrance]] = {}
        ends: dict[UnaskedEnd, None] = {}
        effects: list[tuple[tuple[int, tuple[int, str]], _Call]] = []
        may_read, apart = self._question.may_read, self._question.apart
        if apart:
            calls = [call._replace(shape=part) for call in calls for part in apart(name, call.shape)]
        for call in sorted(calls, key=_edits):  # which is an odd example of reading
            origin = Entrance(name, call.toolset, call.shape.tool)
            for label in self._labelling.of(call.shape.raised):
                if self._counts(name, call, label):
                    labels.setdefault(label, []).append(origin)
            if may_read and call.decision == "allowed" and may_read(name, call.shape):
                labels.setdefault(self._question.private[0], []).append(origin)
            rank = self._question.ends(name, call.shape) if call.decision == "allowed" else None
            if rank is not None and self._is_effect(call.shape.row):
                ends[UnaskedEnd(rank, name, call.toolset, call.shape.tool)] = None
                effects.append(((rank, gravity(call.shape.row)), call))
        worst = min(effects, key=itemgetter(0), default=None)
        return _Contribution(labels, tuple(ends), worst)

    def _counts(self, name: str, call: _Call, label: Capability) -> bool:
        """Whether a call carries a label that the question asks for."""
        if label in self._labelling.of_strangers:
            return self._question.brings(name, call.shape, call.decision)
        return call.decision == "allowed" and self._question.keeps(name, call.shape)

    def _spread(self) -> None:
        part = self._part
        for name in [each for each in self._names if part is None or each in part.reading]:
            for label, origins in self._known[name].labels.items():
                self._origins.setdefault(label, []).extend(origins)
        labels = {label: origins[0] for label, origins in self._origins.items()}
        self._labels.workers = dict.fromkeys(self._names, labels)

    @property
    def worst(self) -> UnaskedFlow | None:
        """The flow to the worst effect, of equal ones that of the nearest worker to which no delegation asks."""
        strangers = self._origins.get(STRANGERS)
        private = [origin for each in self._question.private for origin in self._origins.get(each, ())]
        if not strangers or not private:
            return None
        part = self._part
        names = [self._walk.names[node] for node in self._ways.parent]
        names = [name for name in names if part is None or name in part.acting]
        effects = [(*worst, name) for name in names if (worst := self._known[name].worst)]
        if not effects:
            return None
        (rank, _), call, name = min(effects, key=itemgetter(0))
        return UnaskedFlow(
            self._row(name, call, strangers[0], private[0]),
            rank,
            tuple(dict.fromkeys(strangers)),
            tuple(dict.fromkeys(private)),
            tuple(chain.from_iterable(self._known[each].ends for each in names)),
        )


def _edits(call: _Call) -> bool:
    """Whether a tool reads files only to write them."""
    names = [each.name for each in call.shape.declared]
    looks = "fs.list" in names or any(map(Capability("proc.exec").covers_name, names))
    return not looks and any(map(Capability("fs.write").covers_name, names))


def _worst_first(rows: Iterable[FlowRow]) -> tuple[FlowRow, ...]:
    return tuple(sorted(rows, key=lambda row: (STRICTNESS[row.decision], gravity(row.capability))))


def _rank(row: FlowRow) -> tuple[int, int, tuple[str, ...]]:
    names = tuple(hop.name for hop in row.path)
    return STRICTNESS[row.decision], len(row.path) + len(row.source), names
