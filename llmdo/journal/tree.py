"""The calls of a run as a tree, read from its journal."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any

from llmdo.base.values import dataclass, field, in_json, utc_text
from llmdo.journal import audit
from llmdo.journal.conversation import goes_on_from
from llmdo.journal.decided import IN_FULL, decided_in
from llmdo.journal.entries import HANDED, UNCALLED, JournalError
from llmdo.journal.spans import without_tokens
from llmdo.journal.summary import frames_in, with_request
from llmdo.journal.waits import Waits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.base.backtrace import Frame
    from llmdo.journal.decided import DecidedCall
    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.stored import JournalStore

    Arguments = Mapping[str, Iterator[Mapping[str, object]]]
    """The arguments decided on at each call path, in order."""

_OF_RUN = frozenset(
    {"run", "session", "end", "sources", "imported", "kept", "history", "messages", "refused", "ended"}
)
"""The entries about a run as a whole, or told by its audit alone."""

STARTS = "(start)"
"""The path suffix of a decision on starting an MCP server."""


@dataclass(slots=True, kw_only=True)
class Node:
    """One call of a worker or a tool."""

    path: str
    began: float = field(metadata=in_json(by=utc_text))
    ended: float = field(metadata=in_json(by=utc_text))
    waited: float = 0.0
    """The seconds of that in which it, or a call below it, waited for a person."""
    worker: str | None = None
    """None for a tool."""
    input: str = ""
    outcome: str = ""
    """Empty if it did not end."""
    answer: str = ""
    """The answer that its caller got, in one text."""
    frames: tuple[Frame, ...] = ()
    """The places in code of the workspace that failed."""
    requests: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cost_usd: Decimal | None = None
    models: list[str] = field(default_factory=list)
    attempts: list[dict[str, object]] = field(default_factory=list)
    """The unanswered requests: number, model, kind of failure and reason."""
    decisions: list[DecidedCall] = field(default_factory=list)
    result: object = field(default=None, metadata=in_json(part=IN_FULL))
    """The result of a tool, or the details of its failure."""
    hint: str | None = field(default=None, metadata=in_json(part=IN_FULL))
    """The advice on its failure."""
    written: object = field(default=None, metadata=in_json(part=IN_FULL))
    """The arguments as its model wrote them, fitting or not; None if made by code, or unknown."""
    question: Mapping[str, Any] | None = field(default=None, metadata=in_json(part=IN_FULL))
    """The last question asked about it."""
    answers: list[Mapping[str, Any]] = field(default_factory=list, metadata=in_json(part=IN_FULL))
    probes: list[Mapping[str, Any]] = field(default_factory=list)
    """The probe's answers, one for each unfinished execution."""
    children: dict[str, Node] = field(default_factory=dict, metadata=in_json(by=dict.values))

    @property
    def seconds(self) -> float:
        """The time that it took itself: a person's thinking is none of it."""
        return max(0.0, self.ended - self.began - self.waited)

    @property
    def only_decided(self) -> bool:
        """Whether it is a decision alone, as on the start of a server."""
        return bool(self.decisions) and self.name.endswith((STARTS, HANDED))

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]


def tree(journal: JournalStore, arguments: Arguments | None = None) -> dict[str, Node]:
    """The calls of a run, callers first, each below its caller; with `arguments`, if given.

    Raises:
        JournalError: These lack some.
    """
    roots: dict[str, Node] = {}
    known: dict[str, Node] = {}
    waits = Waits()
    for entry in journal.entries():
        if entry.kind in _OF_RUN:
            continue
        waits.take(entry)
        node = known.get(entry.path)
        if node is None:
            node = known[entry.path] = Node(path=entry.path, began=entry.at, ended=entry.at)
            above = known.get(entry.path.rpartition("/")[0])
            (above.children if above else roots)[entry.path] = node
        node.ended = entry.at
        _take(node, entry, arguments)
    for path, node in known.items():
        node.waited = waits.seconds(path, node.began, node.ended)
    return roots


def _take(node: Node, entry: JournalEntry, arguments: Arguments | None) -> None:
    data = entry.data
    match entry.kind:
        case "call":
            node.worker, node.input = data["worker"], data["input"]
        case "request":
            _take_request(node, data)
        case "attempt":
            node.attempts.append({**data, "error": entry.outcome})
        case "decision":
            _take_decision(node, entry, data, arguments)
        case "asked":
            node.question = data
        case "answered":
            node.answers.append(data)
        case "probed":
            node.probes.append({**data, "answer": entry.outcome})
        case "finished" if entry.outcome == UNCALLED:
            pass
        case "finished" | "invalid":
            node.outcome = entry.outcome
            node.answer = _text(data)
            node.result, node.hint = result_in(data), data.get("hint")
            node.frames = frames_in(data)
        case "return":
            node.outcome = entry.outcome
            node.answer = node.result = data["output"] if data["error"] is None else data["error"]
            node.frames = frames_in(data)


def _take_decision(
    node: Node, entry: JournalEntry, data: Mapping[str, object], earlier: Arguments | None
) -> None:
    call = decided_in(entry.path, data, _decided_arguments(entry, data, earlier))
    node.decisions.append(call)
    if not call.allowed:
        node.outcome, node.answer = "denied", call.refusal or ""


def _decided_arguments(
    entry: JournalEntry, data: Mapping[str, object], earlier: Arguments | None
) -> Mapping[str, object]:
    """The arguments decided on, of which an earlier llmdo kept the `earlier` ones; empty without these."""
    if earlier is None:
        return {}
    value = data["arguments"] if "arguments" in data else next(earlier.get(entry.path, iter(())), None)
    if not isinstance(value, dict):
        raise JournalError(f"{entry.path}: the journal does not say which call was decided on")
    return value


def _take_request(node: Node, data: Mapping[str, Any]) -> None:
    usage = data["response"]["usage"]
    node.requests += 1
    node.input_tokens, node.output_tokens = with_request(usage, node.input_tokens, node.output_tokens)
    if usage.get("cost") is not None:
        node.cost_usd = (node.cost_usd or Decimal(0)) + Decimal(usage["cost"])
    model = data["asked"]["model"]
    if model not in node.models:
        node.models.append(model)


def result_in(data: Mapping[str, Any]) -> object:
    """The result of a tool, or why its arguments did not fit."""
    return next((data[key] for key in ("message", "content", "return_value", "errors") if key in data), None)


def _text(data: Mapping[str, Any]) -> str:
    """The result as text."""
    result = result_in(data)
    return "" if result is None else result if isinstance(result, str) else repr(result)


def full_tree(journal: JournalStore) -> dict[str, Node]:
    """The calls of a run with their arguments, without secrets and likely tokens.

    Raises:
        JournalError: The journal does not tell the arguments of a decision.
    """
    roots = tree(journal, _decided_on(journal))
    known = {node.path: node for node in walk(roots)}
    numbers = first_numbers(journal, known)
    copies: Counter[str] = Counter()
    for entry in journal.entries("request"):
        for part in entry.data["response"]["parts"]:
            if part.get("part_kind") == "tool-call":
                calls = f"{entry.path}/{part['tool_name']}#"
                path = f"{calls}{numbers.get(calls, 1) + copies[calls]}"
                copies[calls] += 1
                if path in known:
                    known[path].written = part.get("args")
    return roots


def call_at(journal: JournalStore, path: str) -> Node | None:
    """The call at `path` with its arguments, as in `full_tree`, but not the calls below it; None if there is none.

    Raises:
        JournalError: The journal does not tell the arguments of a decision.
    """
    node: Node | None = None
    arguments: Arguments | None = None
    for entry in journal.entries(at=path):
        if entry.kind in _OF_RUN:
            continue
        if entry.kind == "decision" and arguments is None:
            arguments = _decided_on(journal, path)
        node = node or Node(path=path, began=entry.at, ended=entry.at)
        node.ended = entry.at
        _take(node, entry, arguments)
    if node is not None:
        node.written = _written(journal, path)
        own = journal.entries("asked", "decision", at=path)
        waits = Waits(chain(own, journal.entries("asked", "decision", below=path)))
        node.waited = waits.seconds(path, node.began, node.ended)
    return node


def _written(journal: JournalStore, path: str) -> object:
    """The arguments of the call at `path` as its model wrote them, if one did."""
    above, _, last = path.rpartition("/")
    tool, _, number = last.rpartition("#")
    if not number.isdecimal():
        return None
    paths = [entry.path for entry in journal.entries("decision", "started", "invalid", below=above)]
    left = int(number) - first_numbers(journal, paths).get(f"{above}/{tool}#", 1)
    for entry in journal.entries("request", at=above):
        for part in entry.data["response"]["parts"]:
            if part.get("part_kind") == "tool-call" and part["tool_name"] == tool:
                if not left:
                    return part.get("args")
                left -= 1
    return None


def walk(nodes: Mapping[str, Node]) -> Iterator[Node]:
    """All calls of a tree, callers first."""
    for node in nodes.values():
        yield node
        yield from walk(node.children)


def first_numbers(journal: JournalStore, paths: Iterable[str]) -> dict[str, int]:
    """The first number of a worker's calls to a tool, by their path but for the number.

    Calls in the messages that a run continues were counted first.
    """
    if goes_on_from(journal) is None and next(journal.entries("history"), None) is None:
        return {}
    first: dict[str, int] = {}
    for path in paths:
        calls, _, number = path.rpartition("#")
        if number.isdecimal():
            first[f"{calls}#"] = min(int(number), first.get(f"{calls}#", int(number)))
    return first


def _decided_on(journal: JournalStore, path: str | None = None) -> Arguments:
    """The arguments decided on, at a path or everywhere, from an earlier llmdo's lines: its entries lack them."""
    arguments = defaultdict(list)
    named = None if path is None else json.dumps(path)
    lines = (line for line in journal.kept_lines() if named is None or named in line)
    for record in audit.read(lines).records:
        if record.get("kind") == "decided":
            value = without_tokens(record.get("arguments"))
            if isinstance(value, dict):
                arguments[str(record.get("path"))].append(value)
    return {path: iter(values) for path, values in arguments.items()}
