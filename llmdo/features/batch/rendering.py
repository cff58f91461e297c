"""Batches and their items, as text and JSON."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from llmdo.base.colour import PAPER
from llmdo.base.diagnostic import shown
from llmdo.base.jsonable import document
from llmdo.base.visible import visible
from llmdo.features.batch.rows import row
from llmdo.journal.items import STATES
from llmdo.render.amounts import counted, money

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.base.colour import Screen, Shade
    from llmdo.features.batch.commands import BatchOutcome
    from llmdo.features.batch.fleets import RebindOutcome
    from llmdo.journal.items import BatchItem, BatchUsage, Result, State

LONGEST = 100  # characters of what is quoted in a line
STATE = 8  # the column of an item's state, below which its title stands

SHADES: dict[str, Shade] = {
    "completed": "good",
    "failed": "bad",
    "refused": "bad",
    "unsure": "asks",
    "waiting": "asks",
    "running": "note",
    "queued": "note",
    "cancelled": "note",
}


def states(counts: Mapping[State, int]) -> str:
    """How many items are in which state, such as `12 completed, 1 failed`."""
    return (
        ", ".join(f"{counts[state]} {state}" for state in reversed(STATES) if counts.get(state)) or "no items"
    )


def used(spent: BatchUsage) -> str:
    """The usage of a batch."""
    parts = [counted(spent.requests, "request")]
    if spent.tokens:
        parts.append(f"{spent.tokens:,} tokens")
    if spent.cost_usd:
        parts.append(f"${spent.cost_usd:.4f}" + (" and more" if spent.unpriced else ""))
    return ", ".join(parts)


def item_line(item: BatchItem, result: Result, done: int, total: int) -> str:
    """The result of an item, as a line of a log."""
    cost = f", {money(result.cost_usd)}" if result.cost_usd else ""
    why = f": {_quoted(result.error)}" if result.error else ""
    return f"{done}/{total} {result.state} {shown(item.key)}{cost}{why}"


def ending(outcome: BatchOutcome) -> list[str]:
    """The state of a batch and the possible next steps, a line each."""
    batch, counts = outcome.batch, outcome.counts
    lines = [f"batch {batch.id}: {states(counts)}; {used(outcome.spent)}"]
    if outcome.reason:
        lines.append(
            f"{counts.get('queued', 0)} left: {outcome.reason}; `llmdo batch resume {batch.id}` goes on"
        )
    if waiting := counts.get("waiting"):
        lines.append(
            f"{counted(waiting, 'item')} {'waits' if waiting == 1 else 'wait'} for answers: `llmdo approve RUN`, "
            f"then `llmdo batch resume {batch.id}`"
        )
    if counts.get("failed") or counts.get("refused"):
        lines.append(
            f"`llmdo batch show {batch.id} --state failed` says why, `llmdo batch retry {batch.id}` goes on"
        )
    if counts.get("unsure"):
        lines.append(
            f"unsure: a call may have taken effect; look at `llmdo batch show {batch.id} --state unsure`, then "
            f"`llmdo batch retry {batch.id} --unsure again` or `--unsure give-up`"
        )
    return lines


def rebound(outcome: RebindOutcome) -> str:
    """The result of moving a batch to another lock."""
    moved = f"batch {outcome.batch}: {counted(outcome.moved, 'item')} moved to the lock of this checkout"
    if not outcome.started:
        return moved
    return (
        f"{moved}; {counted(outcome.started, 'item')} began with another, for which a worker with that lock has to "
        "be there, or `llmdo batch rebind BATCH --allow-drift NAME` once no worker has them"
    )


def listed(outcomes: Iterable[BatchOutcome]) -> str:
    """A line for each batch."""
    return "".join(
        f"{shown(outcome.batch.id)}  {_when(outcome.batch.began)}  {shown(outcome.batch.entry)}  "
        f"{states(outcome.counts)}; {used(outcome.spent)}\n"
        for outcome in outcomes
    )


def shown_items(outcome: BatchOutcome, items: Iterable[BatchItem], screen: Screen = PAPER) -> str:
    """The batch in a line, and one for each of these items."""
    lines = [f"batch {outcome.batch.id}: entry {shown(outcome.batch.entry)}, {_when(outcome.batch.began)}"]
    lines.append(f"{states(outcome.counts)}; {used(outcome.spent)}")
    for item in items:
        state = screen.paint(SHADES[item.state], item.state) + " " * (9 - len(item.state))
        result = item.result.error or (item.result.output if item.state == "completed" else "")
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        tries = f"  try {item.tries}" if item.tries > 1 else ""
        lines.append(
            f"{item.number:>6}  {state}  {shown(item.key)}  {item.run}{tries}  {_quoted(text)}".rstrip()
        )
        if item.title:
            lines.append(f"{'':{STATE}}{shown(item.title)}")
    return "".join(f"{line}\n" for line in lines)


def as_json(outcome: BatchOutcome, items: Iterable[BatchItem] | None = None) -> str:
    """The document `llmdo.batch/1`, with `items` if given."""
    shown = () if items is None else items
    rows = {
        "rows": [
            {**row(item, item.result), "title": visible(item.title, prose=True), "hint": item.result.hint}
            for item in shown
        ]
    }
    return document("llmdo.batch/1", outcome, {} if items is None else rows)


def listed_as_json(outcomes: Iterable[BatchOutcome]) -> str:
    """The document `llmdo.batches/1`."""
    return document("llmdo.batches/1", {"batches": outcomes})


def _quoted(text: str) -> str:
    line = shown(" ".join(text.split()))
    return line if len(line) <= LONGEST else line[:LONGEST] + "..."


def _when(began: float) -> str:
    return datetime.fromtimestamp(began).astimezone().strftime("%Y-%m-%d %H:%M")
