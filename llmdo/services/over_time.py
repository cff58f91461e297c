"""What was decided in the runs of some time, by which rule, and the calls that took longest and cost most."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

from llmdo.base.values import dataclass
from llmdo.journal import JournalError
from llmdo.journal.opening import runs_of
from llmdo.journal.tree import tree, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from llmdo.journal.stored import JournalStore
    from llmdo.journal.tree import Node
    from llmdo.services.root import Tell

_RAISED = re.compile(r"^`[^`]*`: ")
_SCOPE = re.compile(r"`([a-z][a-z0-9]*(?:\.[a-z0-9]+)+):[^`]*`")

MOST = 20
"""Calls of each kind that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionCount:
    """How often calls were decided on for one reason."""

    reason: str
    """As the gate said it: the rule with its place, or why another than the rules had the last word."""
    decision: str
    """What the rules said."""
    allowed: int
    denied: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotableCall:
    """A call that took long or cost much."""

    run: str
    path: str
    worker: str | None
    """None for a tool."""
    seconds: float
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OverTime:
    """What stands out in the runs of some time."""

    runs: int
    decisions: tuple[DecisionCount, ...]
    slowest: tuple[NotableCall, ...]
    """Calls of tools alone: a worker takes as long as what is below it."""
    dearest: tuple[NotableCall, ...]
    """Calls of workers, each with its own requests."""


def over_time(root: Path, since: float, tell: Tell) -> OverTime:
    """What stands out in the runs that began at or after `since`; tells of journals that cannot be read."""
    number, counted, calls = 0, Counter[tuple[str, str, bool]](), list[NotableCall]()
    for name in (runs := runs_of(root)).names():
        try:
            with runs.read(name) as journal:
                if not _began(journal, since):
                    continue
                number += 1
                counted.update(_decisions(journal))
                calls = [*_most(calls, _seconds), *_most(calls, _cost), *_calls(journal)]
        except JournalError as error:
            tell(f"warning: {error.message}")
    return OverTime(
        runs=number,
        decisions=_counts(counted),
        slowest=_most((call for call in calls if call.worker is None), _seconds),
        dearest=_most((call for call in calls if call.cost_usd), _cost),
    )


def _began(journal: JournalStore, since: float) -> bool:
    first = next(journal.entries("run"), None)
    return first is not None and first.at >= since


def _decisions(journal: JournalStore) -> Iterable[tuple[str, str, bool]]:
    """Each decision: its first reason, what the rules said, and whether the call ran."""
    for entry in journal.entries("decision"):
        data = entry.data
        reason = next(iter(data["reasons"]), "no capability was raised")
        yield _without_scope(reason), data["decision"], bool(data["allowed"])


def _without_scope(reason: str) -> str:
    """What a rule or the default says of all calls alike: without the path or the worker that one of them was about."""
    return _SCOPE.sub(r"`\1`", _RAISED.sub("", reason))


def _counts(counted: Counter[tuple[str, str, bool]]) -> tuple[DecisionCount, ...]:
    """One line a reason, the most frequent first."""
    kinds = dict.fromkeys((reason, decision) for reason, decision, _ in counted)
    lines = [
        DecisionCount(
            reason=reason,
            decision=decision,
            allowed=counted[reason, decision, True],
            denied=counted[reason, decision, False],
        )
        for reason, decision in kinds
    ]
    return tuple(sorted(lines, key=lambda line: (-line.allowed - line.denied, line.reason)))


def _calls(journal: JournalStore) -> Iterable[NotableCall]:
    for node in walk(tree(journal)):
        if not node.only_decided:
            yield NotableCall(
                run=journal.run,
                path=node.path,
                worker=node.worker,
                seconds=_took(node),
                cost_usd=node.cost_usd,
            )


def _took(node: Node) -> float:
    return max(0.0, node.ended - node.began)


def _seconds(call: NotableCall) -> float:
    return call.seconds


def _cost(call: NotableCall) -> Decimal:
    return call.cost_usd or Decimal(0)


def _most(
    calls: Iterable[NotableCall], amount: Callable[[NotableCall], float | Decimal]
) -> tuple[NotableCall, ...]:
    """Those with the most, the first of them first; each once."""
    return tuple(heapq.nlargest(MOST, dict.fromkeys(calls), key=amount))
