"""The progress of a run: the running calls, and those that ended last, as a tree of bounded size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.base.values import dataclass, field
from llmdo.graph.toolkit import START
from llmdo.journal.decided import DecidedCall
from llmdo.runtime.signatures import FILES
from llmdo.runtime.telemetry.events import (
    Asked,
    Decided,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    RequestDelayed,
    RunFinished,
    ToolCalled,
    ToolFinished,
    WorkerFinished,
    WorkerStarted,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from decimal import Decimal

    from llmdo.runtime.telemetry.events import Event, Outcome

[START_TOOL] = START.values()

Mood = Literal["working", "waiting", "asking", "done", "failed"]

LONGEST_INPUT = 40  # characters of what a worker works on
SEARCHED = 2_000  # characters of it that are searched for secrets: the end of what is shown lies well within
REMEMBERED = 5  # calls of one worker that ended: more push what is under way off the screen


@dataclass(slots=True, kw_only=True)
class Tally:
    """The usage of models."""

    requests: int = 0
    tokens: int | None = None
    """None as long as none were measured."""
    cost: Decimal | None = None
    """None as long as no price was known."""

    def add(self, event: ModelResponded) -> None:
        """Counts one response."""
        self.requests += 1
        if event.input_tokens is not None and event.output_tokens is not None:
            self.tokens = event.input_tokens + event.output_tokens + (self.tokens or 0)
        if event.cost_usd is not None:
            self.cost = event.cost_usd + (self.cost or 0)


@dataclass(slots=True, kw_only=True)
class ProgressNode:
    """One call of the tree."""

    label: str
    parent: ProgressNode | None
    subject: str = ""
    """The subject of a worker: the file that it got, or the first words of its input."""
    model: str = ""
    """The model that was asked last."""
    began: float = 0.0
    mood: Mood = "working"
    state: str = ""
    since: float = 0.0
    """When it came to be in this state."""
    is_over: bool = False
    children: dict[str, ProgressNode] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)
    """The labels of the children that ended and are still shown, the oldest first."""
    forgotten: int = 0
    """How many that ended are not shown any more."""
    used: Tally = field(default_factory=Tally)
    """By its own model, without its delegates."""


@dataclass(slots=True)
class Progress:
    """The tree of calls of one run and its usage; `apply` takes the events in their order."""

    started: float
    root: ProgressNode = field(default_factory=lambda: ProgressNode(label="", parent=None))
    used: Tally = field(default_factory=Tally)
    waiting: set[str] = field(default_factory=set)
    """The calls that wait for an answer of a person."""
    redact: Callable[[str], str] = str
    """Takes secrets out of the shown part of an input."""

    @property
    def has_delegated(self) -> bool:
        """Whether the tree holds more than a single worker and its tools."""
        return any(child.model for node in self.root.children.values() for child in node.children.values())

    def apply(self, event: Event, now: float) -> None:
        """Takes in an event at the time `now`."""
        match event:
            case WorkerStarted():
                node = self._enter(event.path, now, "working", "begins")
                node.subject = node.subject or self._excerpt(event.input)
            case ModelRequested() | RequestDelayed() | ModelFailed():
                node = self._enter(event.path, now, "waiting", _awaited(event))
                node.model = event.model if isinstance(event, ModelRequested) else node.model
            case ModelResponded():
                node = self._enter(event.path, now, "working", "")
                node.used.add(event)
                self.used.add(event)
            case ToolCalled():
                self._enter(event.path, now, "working", "").subject = self._handed(event.arguments)
            case Asked():
                self.waiting.add(event.path)
                self._enter(event.path, now, "asking", "waits for your answer")
            case Decided(call=DecidedCall(allowed=True, tool=START_TOOL.name) as call):
                self.waiting.discard(event.path)
                self._enter(event.path.rpartition("/")[0], now, "waiting", f"connects to {call.toolset}")
            case Decided():
                self.waiting.discard(event.path)
                if event.call.allowed and (decided := self._find(event.path)):
                    _set(decided, now, "working", "")
            case ToolFinished():
                self.waiting.discard(event.path)
                self._leave(event.path, now, *_end(event.outcome))
            case WorkerFinished():
                self._leave(event.path, now, *_end(_outcome_of(event)))
            case RunFinished():
                self.waiting.clear()

    def _handed(self, arguments: Mapping[str, object]) -> str:
        files = arguments.get(FILES)
        if not isinstance(files, list) or not files:
            return ""
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        return self._excerpt(str(files[0])) + more

    def _excerpt(self, text: str) -> str:
        words = " ".join(self.redact(text[:SEARCHED]).split())
        return words if len(words) <= LONGEST_INPUT else f"{words[: LONGEST_INPUT - 3]}..."

    def _enter(self, path: str, now: float, mood: Mood, state: str) -> ProgressNode:
        node = self.root
        for label in path.split("/"):
            if label not in node.children:
                node.children[label] = ProgressNode(label=label, parent=node, since=now, began=now)
            node = node.children[label]
        _set(node, now, mood, state)
        return node

    def _find(self, path: str) -> ProgressNode | None:
        node = self.root
        for label in path.split("/"):
            if label not in node.children:
                return None
            node = node.children[label]
        return node

    def _leave(self, path: str, now: float, mood: Mood, state: str) -> None:
        node = self._find(path)
        if node is None or node.is_over or node.parent is None:
            return
        _set(node, now, mood, state)
        node.is_over = True
        above = node.parent
        if above.parent is not None:  # what the entry itself starts keeps its calls: they are the summary
            node.children.clear()
        above.ended.append(node.label)
        if len(above.ended) > REMEMBERED:
            tools = (label for label in above.ended if not above.children[label].model)
            oldest = next(tools, above.ended[0])  # what a delegate did is worth more than what a tool did
            above.ended.remove(oldest)
            del above.children[oldest]
            above.forgotten += 1


def _outcome_of(event: WorkerFinished) -> Outcome:
    if event.output is not None:
        return "success"
    return "stopped" if event.error is None else "failed"


def _end(outcome: Outcome) -> tuple[Mood, str]:
    match outcome:
        case "success":
            return "done", "done"
        case "stopped":  # with the run, which may wait for an answer
            return "waiting", "stopped"
    return "failed", outcome


def _awaited(event: ModelRequested | RequestDelayed | ModelFailed) -> str:
    match event:
        case ModelRequested():
            return f"waits for {event.model}"
        case RequestDelayed():
            return f"waits {event.wait:.1f} s for its turn"
        case ModelFailed():
            return f"asks again in {event.wait:.1f} s: {event.error}"


def _set(node: ProgressNode, now: float, mood: Mood, state: str) -> None:
    node.mood, node.state, node.since = mood, state, now


def nodes(progress: Progress, room: int) -> tuple[list[tuple[int, ProgressNode]], int]:
    """At most `room` calls with their depths, callers first, and how many are left out.

    Running calls go before those that ended, and a call is never shown without its caller.
    """
    everything = list(_walk(progress.root, 0))
    chosen: set[int] = set()
    for is_over in (False, True):
        for _, node in everything:
            chain = [link for link in _chain(node) if id(link) not in chosen]
            if node.is_over is is_over and len(chosen) + len(chain) <= room:
                chosen.update(map(id, chain))
    return [(depth, node) for depth, node in everything if id(node) in chosen], len(everything) - len(chosen)


def _walk(node: ProgressNode, depth: int) -> Iterator[tuple[int, ProgressNode]]:
    for child in node.children.values():
        yield depth, child
        yield from _walk(child, depth + 1)


def _chain(node: ProgressNode) -> Iterator[ProgressNode]:
    """The node and its callers."""
    at: ProgressNode | None = node
    while at is not None and at.parent is not None:
        yield at
        at = at.parent
