"""What the runs of a conversation have used together, read from their journals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.conversation import goes_on_from
from llmdo.journal.spent import spent
from llmdo.journal.summary import COMPLETE, summary

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from llmdo.journal.ports import JournalStore, RunIndex

NAMES = ("requests", "tool_calls", "input_tokens", "output_tokens", "total_tokens", "cost_usd", "seconds")
"""What is counted, by the names of the limits."""

Spending = dict[str, float]


def spent_together(runs: RunIndex, first: str, known: MutableMapping[str, Spending | None]) -> Spending:
    """What the runs that go on from the run `first` have used together with it.

    `known` has what runs used that are complete, None for those of other conversations; more is added to it. What runs
    used that were pruned is in the journals of those that went on from them.

    Raises:
        LlmdoError: One of them still goes on.
    """
    total, pruned = dict.fromkeys(NAMES, 0.0), dict.fromkeys(NAMES, 0.0)
    for name in runs.names():
        if name not in known:
            with runs.read(name) as journal:
                line = summary(journal, is_running=runs.is_claimed(name))
                if line is None:
                    continue
                if (line.conversation or line.run) != first:
                    known[name] = None
                    continue
                if line.status == "running":
                    raise LlmdoError(
                        f"run `{name}` of this conversation still goes on, and its limits hold for all of it",
                        hint="wait until it is over, or stop it",
                    )
                used = _used(journal)
                before = goes_on_from(journal)
                if before is not None:
                    pruned = {key: max(pruned[key], before.spent.get(key, 0) + used[key]) for key in NAMES}
                if line.status in COMPLETE:
                    known[name] = used
        else:
            known_usage = known[name]
            if known_usage is None:
                continue
            used = known_usage
        total = {key: total[key] + used[key] for key in NAMES}
    return {key: max(total[key], pruned[key]) for key in NAMES}


def _used(journal: JournalStore) -> Spending:
    """What one run used, whatever became of it."""
    line, spending = summary(journal, is_running=False), spent(journal)
    if line is None:
        return dict.fromkeys(NAMES, 0.0)
    sent, received = line.input_tokens or 0, line.output_tokens or 0
    requests = line.requests + (0 if line.ended else sum(spending.unanswered.values()))
    return {
        "requests": requests,
        "tool_calls": len(spending.tool_calls),
        "input_tokens": sent,
        "output_tokens": received,
        "total_tokens": sent + received,
        "cost_usd": float(line.cost_usd or 0),
        "seconds": spending.seconds,
    }
