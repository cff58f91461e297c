"""The facts of a run, read from its journal: the decisions on calls, the people asked, the usage."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.journal.decided import DecidedCall, decided_in
from llmdo.journal.entries import HANDED, RECORDED_COST

if TYPE_CHECKING:
    from llmdo.journal.stored import JournalStore


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The facts of a run."""

    calls: tuple[DecidedCall, ...] = ()
    """The decided calls, without arguments and without attachments given at the start."""
    own: tuple[DecidedCall, ...] = ()
    """The calls of the entry itself, in the order in which its model made them."""
    delegates: int = 0
    """The number of calls of a worker by another one, or by code."""
    requests: int = 0
    unpriced: int = 0
    """The number of requests without a known price."""
    cost_usd: Decimal = Decimal(0)
    recorded_usd: Decimal = Decimal(0)
    """The original cost of answers from recordings."""
    recorded_unpriced: int = 0
    """The number of recorded answers without a known cost."""
    input_tokens: int = 0
    output_tokens: int = 0
    unmeasured: int = 0
    """The number of requests without a token count."""
    seconds: float = 0.0
    """From its beginning to its last event."""


def run_facts_of(journal: JournalStore) -> RunFacts:
    """The facts of the run of `journal` so far."""
    calls: dict[tuple[str, int], DecidedCall] = {}
    prefixes: list[str] = []
    roots: set[str] = set()
    delegates = requests = unpriced = sent = received = unmeasured = 0
    cost = recorded = Decimal(0)
    recorded_unpriced = 0
    began = last = None
    for entry in journal.entries("run", "call", "decision", "request", "end"):
        began, last = entry.at if began is None else began, entry.at
        match entry.kind:
            case "call" if "/" in entry.path:
                delegates += 1
            case "call":
                roots.add(entry.path)
            case "decision" if not entry.path.endswith(HANDED):
                calls[entry.path, entry.step] = decided_in(entry.path, entry.data, {})
            case "request":
                response = entry.data["response"]
                usage = response["usage"]
                requests += 1
                sent, received = sent + usage.get("input_tokens", 0), received + usage.get("output_tokens", 0)
                unmeasured += bool(usage.get("unmeasured_requests"))
                cost += Decimal(usage.get("cost") or 0)
                unpriced += usage.get("cost") is None
                details = response.get("provider_details") or {}
                recorded += Decimal(details.get(RECORDED_COST) or 0)
                recorded_unpriced += RECORDED_COST in details and details[RECORDED_COST] is None
                if entry.path in roots:
                    prefixes += [
                        f"{entry.path}/{part['tool_name']}#"
                        for part in response["parts"]
                        if part.get("part_kind") == "tool-call"
                    ]
    decided = tuple(calls.values())
    return RunFacts(
        calls=decided,
        own=_own(decided, prefixes, roots),
        delegates=delegates,
        requests=requests,
        unpriced=unpriced,
        cost_usd=cost,
        recorded_usd=recorded,
        recorded_unpriced=recorded_unpriced,
        input_tokens=sent,
        output_tokens=received,
        unmeasured=unmeasured,
        seconds=max(0.0, (last or 0.0) - (began or 0.0)),
    )


def _own(calls: tuple[DecidedCall, ...], prefixes: list[str], roots: set[str]) -> tuple[DecidedCall, ...]:
    """The calls of the entry itself, each with its last decision: as its model made them, or as code did."""
    last = {call.path: call for call in calls}
    if not prefixes:
        direct = {*roots} or {call.path.partition("/")[0] for call in calls}
        return tuple(call for path, call in last.items() if path.rpartition("/")[0] in direct)
    numbers: Counter[str] = Counter()
    own = []
    for prefix in prefixes:
        numbers[prefix] += 1
        if call := last.get(f"{prefix}{numbers[prefix]}"):
            own.append(call)
    return tuple(own)
