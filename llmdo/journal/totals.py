"""The total usage of runs, by entry, worker, model or day. Unmeasured or unpriced requests are only counted."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from llmdo.base.values import also_in_json, dataclass, field
from llmdo.journal.entries import JournalError, lineage
from llmdo.journal.spans import without_tokens
from llmdo.journal.spent import spent
from llmdo.journal.summary import ending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.stored import JournalStore, RunIndex

By = Literal["entry", "worker", "model", "day"]
Key = TypeVar("Key")


@dataclass(slots=True, kw_only=True)
class Total:
    """The usage under one name."""

    name: str
    runs: int = 0
    requests: int = 0
    """All that were sent, answered or not, as limits count them."""
    input_tokens: int = 0
    output_tokens: int = 0
    unmeasured: int = 0
    cost_usd: Decimal = field(default_factory=Decimal)
    unpriced: int = 0
    seconds: float = 0.0
    """Of an entry or a day: the time of processes at its runs. Of a worker or a model: the time to its answers."""
    failures: int = 0
    """Runs that failed; of a worker or a model, unanswered requests."""
    questions: int | None = 0
    """None for a model, which asks nobody."""
    answers: int | None = 0
    refusals: int | None = 0
    """Calls that a rule or a person did not let through; None for a model."""

    @property
    def is_measured(self) -> bool:
        """Whether the tokens of some requests are known."""
        return self.unmeasured < self.requests or not self.requests

    @property
    def is_priced(self) -> bool:
        """Whether the price of some requests is known."""
        return self.unpriced < self.requests or not self.requests

    @property
    @also_in_json("input_tokens")
    def known_input_tokens(self) -> int | None:
        """None if nobody measured any."""
        return self.input_tokens if self.is_measured else None

    @property
    @also_in_json("output_tokens")
    def known_output_tokens(self) -> int | None:
        """None if nobody measured any."""
        return self.output_tokens if self.is_measured else None

    @property
    @also_in_json("cost_usd")
    def known_cost_usd(self) -> Decimal | None:
        """None if no request has a known price."""
        return self.cost_usd if self.is_priced else None


def totals(runs: RunIndex, by: By, since: float, tell: Callable[[JournalError], None]) -> list[Total]:
    """The usage of the runs since `since`, by name; `tell` gets the errors of unreadable journals."""
    known = _added(runs, tell, lambda journal: _of_run(journal, by, since))
    return sorted(known.values(), key=lambda total: total.name)


def daily(
    runs: RunIndex, since: float, tell: Callable[[JournalError], None]
) -> list[tuple[str, list[Total]]]:
    """The usage of the runs since `since`, of each day in UTC that had some by entry; `tell` as in `totals`."""

    def of_day(journal: JournalStore) -> dict[tuple[str, str], Total]:
        first = _beginning(journal, since)
        return {(_day(first), first.path): _whole(journal, first.path)} if first else {}

    known = sorted(_added(runs, tell, of_day).items())
    return [(day, [total for _, total in some]) for day, some in groupby(known, key=lambda item: item[0][0])]


def _added(
    runs: RunIndex, tell: Callable[[JournalError], None], of_run: Callable[[JournalStore], dict[Key, Total]]
) -> dict[Key, Total]:
    """What `of_run` says of each run, added up."""
    known: dict[Key, Total] = {}
    for name in runs.names():
        try:
            with runs.read(name) as journal:
                _merge(known, of_run(journal))
        except JournalError as error:
            tell(error)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            tell(JournalError(f"run `{name}` cannot be read: {type(error).__name__}: {error}"))
    return known


def _beginning(journal: JournalStore, since: float) -> JournalEntry | None:
    """The first entry of a run; None if it never began, or began earlier."""
    first = next(journal.entries("run"), None)
    return None if first is None or first.at < since else first


def _day(entry: JournalEntry) -> str:
    return f"{datetime.fromtimestamp(entry.at, UTC):%Y-%m-%d}"


def _of_run(journal: JournalStore, by: By, since: float) -> dict[str, Total]:
    """The usage of one run; empty if it never began, or began earlier."""
    first = _beginning(journal, since)
    if first is None:
        return {}
    if by in ("entry", "day"):
        name = first.path if by == "entry" else _day(first)
        return {name: _whole(journal, name)}
    parts = _in_parts(journal, by)
    for name, number in _unanswered(journal, by):
        parts[name].requests += number
    for name, total in parts.items():
        total.name = str(without_tokens(name))
        if by == "model":
            total.questions = total.answers = total.refusals = None
    return parts


def _whole(journal: JournalStore, name: str) -> Total:
    last = ending(journal)
    used = spent(journal)
    total = Total(name=name, runs=1, seconds=used.seconds, requests=sum(used.unanswered.values()))
    total.failures = int(last is not None and last.outcome == "failed")
    waiting: set[str] = set()
    for entry in journal.entries("asked", "answered"):
        _add_question(total, entry, waiting)
    for entry in journal.entries("request"):
        _add_request(total, _read(entry))
    total.refusals = sum(map(_is_refusal, journal.entries("decision")))
    return total


def _in_parts(journal: JournalStore, by: By) -> defaultdict[str, Total]:
    """The usage of the workers or the models of one run, by names that the totals lack."""
    parts: defaultdict[str, Total] = defaultdict(lambda: Total(name="", runs=1))
    worker: dict[str, str] = {}
    left: dict[str, float] = {}
    asking: dict[str, str] = {}
    waiting: set[str] = set()
    for entry in journal.entries("call", "sent", "request", "attempt", "asked", "answered", "decision"):
        data = {} if entry.kind == "sent" else _read(entry)
        match entry.kind:
            case "call":
                worker[entry.path] = data["worker"]
                if by == "worker":
                    parts[data["worker"]].runs = 1
            case "sent":
                left[entry.path] = entry.at
            case "request":
                total = parts[worker[entry.path] if by == "worker" else data["asked"]["model"]]
                _add_request(total, data)
                total.seconds += max(0.0, entry.at - left.get(entry.path, entry.at))
            case "attempt":
                parts[worker[entry.path] if by == "worker" else data["model"]].failures += 1
            case "decision" if by == "worker" and data["worker"]:
                total = parts[data["worker"]]
                total.refusals = (total.refusals or 0) + _is_refusal(entry)
            case "asked" | "answered" if by == "worker":
                if entry.kind == "asked":
                    asking[entry.path] = data["worker"]
                above = (worker[path] for path in lineage(entry.path) if path in worker)
                if name := asking.get(entry.path) or next(above, None):
                    _add_question(parts[name], entry, waiting)
    return parts


def _unanswered(journal: JournalStore, by: By) -> Iterable[tuple[str, int]]:
    """The unanswered requests by worker or model; no model has those of a killed process."""
    if by == "worker":
        return spent(journal).unanswered.items()
    attempts = map(_read, journal.entries("attempt"))
    return ((data["model"], 1) for data in attempts if data["sent"])


def _add_question(total: Total, entry: JournalEntry, waiting: set[str]) -> None:
    """Counts a question, or an answer: an immediate one has no question entry in the journal.

    `waiting` are the call paths of the unanswered questions.
    """
    is_answer = entry.kind == "answered"
    total.answers = (total.answers or 0) + is_answer
    total.questions = (total.questions or 0) + (not is_answer or entry.path not in waiting)
    (waiting.discard if is_answer else waiting.add)(entry.path)


def _is_refusal(entry: JournalEntry) -> bool:
    """Whether a decision let a call not through; an edited call is decided again."""
    return entry.outcome == "denied" and _read(entry).get("changed") is None


def _read(entry: JournalEntry) -> dict[str, Any]:
    """The body of an entry of which only numbers and names are shown: secrets are looked for only in those."""
    return entry.data if entry.spans else entry.understood(json.loads)


def _add_request(total: Total, data: dict[str, Any]) -> None:
    usage = data["response"]["usage"]
    sent, received = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    total.requests += 1
    total.input_tokens += sent
    total.output_tokens += received
    total.unmeasured += bool(usage.get("unmeasured_requests") and not sent + received)
    if usage.get("cost") is None:
        total.unpriced += 1
    else:
        total.cost_usd += Decimal(usage["cost"])


def _merge(known: dict[Key, Total], more: dict[Key, Total]) -> None:
    for name, total in more.items():
        before = known.setdefault(name, Total(name=total.name))
        before.runs += total.runs
        before.requests += total.requests
        before.input_tokens += total.input_tokens
        before.output_tokens += total.output_tokens
        before.unmeasured += total.unmeasured
        before.cost_usd += total.cost_usd
        before.unpriced += total.unpriced
        before.seconds += total.seconds
        before.failures += total.failures
        is_asked = before.questions is not None and total.questions is not None
        before.questions = (before.questions or 0) + (total.questions or 0) if is_asked else None
        before.answers = (before.answers or 0) + (total.answers or 0) if is_asked else None
        before.refusals = (before.refusals or 0) + (total.refusals or 0) if is_asked else None
