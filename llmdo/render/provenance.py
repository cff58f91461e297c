"""Where the values of a waiting call come from, what was read before it, and what waits for its answer, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.visible import visible
from llmdo.render.amounts import counted, since

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.base.values import Json
    from llmdo.journal.items import State
    from llmdo.journal.provenance import Provenance, ReadBefore, ValueSource
    from llmdo.services.inbox import PendingCall

OVER: tuple[State, ...] = ("completed", "failed", "cancelled")
"""The states of items that wait for nothing."""


def as_data(provenance: Provenance) -> dict[str, Json]:
    """The provenance as a part of a document."""
    return {
        "values": [
            {"name": visible(each.name), "from": _from(each), "known": bool(each.sources)}
            for each in provenance.values
        ],
        "read": [
            {
                "kind": each.kind,
                "path": visible(each.path),
                "who": visible(each.who),
                "words": named(each),
                "raised": [*map(visible, each.raised)],
                "labels": [*map(visible, each.labels)],
            }
            for each in provenance.read
        ],
        "labels": None
        if provenance.labels is None
        else {visible(label): visible(path) for label, path in provenance.labels.items()},
    }


def lines(call: PendingCall, now: float) -> Iterator[str]:
    """What the list says about a call beside itself."""
    provenance = call.provenance
    if provenance.values:
        yield f"values: {'; '.join(f'{visible(each.name)}: {_from(each)}' for each in provenance.values)}"
    yield f"read before: {'; '.join(map(_read, provenance.read)) or 'nothing that the journal knows of'}"
    if provenance.labels is None:
        yield "labels: not known, as no flow rule looked at them"
    else:
        yield f"labels: {', '.join(map(visible, provenance.labels)) or 'none'}"
    yield f"meanwhile: {'; '.join(waits(call, now))}"


def waits(call: PendingCall, now: float) -> Iterator[str]:
    """What waits for the answer, a sentence each; only what is known."""
    run = call.pending.run
    yield f"waits for {since(now - call.pending.question.entry.at)}"
    others = run.questions - 1
    beside = f", and for {counted(others, 'other answer')}" if others > 0 else ""
    if run.status == "running":
        yield "its run goes on with something else"
    else:
        yield f"its run stands still until there is an answer{beside}"
    if call.batch is not None:
        counts = call.batch.counts
        over, number = sum(counts.get(state, 0) for state in OVER), sum(counts.values())
        items = f"{over:,} of {counted(number, 'item')} of batch {call.batch.batch}"
        yield f"{items} are over, and {counts.get('waiting', 0):,} wait for answers"


def named(read: ReadBefore) -> str:
    """What was read, in words."""
    match read.kind:
        case "input":
            return "its input"
        case "files":
            return "files given to it, which are not looked at"
        case "earlier":
            return "earlier messages, which are not looked at"
        case "person":
            return f"typed by {visible(read.who, prose=True)}"
        case "answer":
            return f"the answer of {visible(read.who)} ({visible(read.path)})"
        case "result":
            return f"{visible(read.who)} ({visible(read.path)})"


def _read(read: ReadBefore) -> str:
    more = (*read.raised, *(f"label {label}" for label in read.labels))
    return f"{named(read)} [{visible(', '.join(more), prose=True)}]" if more else named(read)


def _from(value: ValueSource) -> str:
    if value.sources:
        return ", ".join(map(named, value.sources))
    return "too short to tell" if value.is_short else "not known"
