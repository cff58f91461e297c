"""Whether the entries of a journal and its audit say the same: each is written with what it is about, or neither is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from llmdo.journal.decided import decided_in, record_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.journal.ports import JournalStore

_DECISION = ("tool", "decision", "by", "allowed")
_RESULT = "its result"


def disagreements(journal: JournalStore, records: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """What only the entries of `journal`, or only the `records` of its audit, say: a sentence each.

    A refusal may be in the audit alone: that of a person who ended the run stands for nobody who goes on with it.
    """
    entered, recorded = Counter(_entered(journal)), Counter(_recorded(records))
    returned = Counter(
        (entry.path, _RESULT) for entry in journal.entries("return") if entry.outcome == "success"
    )
    for path, statement in sorted(entered - recorded):
        yield f"{path}: the audit does not hold {statement}, which the journal does"
    for path, statement in sorted(recorded - entered - returned):
        if not statement.endswith("False"):
            yield f"{path}: the journal does not hold {statement}, which the audit does"


def _entered(journal: JournalStore) -> Iterator[tuple[str, str]]:
    for entry in journal.entries("decision", "finished", "probed"):
        if entry.kind == "decision":
            record = record_of(decided_in(entry.path, entry.data, {}))
            yield entry.path, _decision({**record, "capabilities": record["raised"]})
        elif entry.kind == "probed":
            yield entry.path, _answer(entry.outcome)
        elif entry.outcome == "success":
            yield entry.path, _RESULT


def _recorded(records: Iterable[Mapping[str, object]]) -> Iterator[tuple[str, str]]:
    for record in records:
        if record.get("kind") == "decided":
            yield str(record.get("path")), _decision(record)
        elif record.get("kind") == "probed":
            yield str(record.get("path")), _answer(record.get("answer"))
        elif record.get("kind") == "tool_finished" and record.get("outcome") == "success":
            yield str(record.get("path")), _RESULT


def _answer(answer: object) -> str:
    return f"the answer of its probe, {answer}"


def _decision(record: Mapping[str, object]) -> str:
    """A decision in words, with whether the call was allowed last."""
    words = ", ".join(f"{name} {record.get(name)}" for name in _DECISION)
    return f"the decision raises {record.get('capabilities')}, {words}"
