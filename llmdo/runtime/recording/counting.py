"""What workers used that a tool called by itself, counted from the journal where the tool is not executed again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmdo.journal.ports import JournalStore
    from llmdo.runtime.ledger import Ledger
    from llmdo.runtime.recording.encoding import Decoding


def count_below(journal: JournalStore, decoding: Decoding, path: str, ledger: Ledger) -> None:
    """Adds what the workers used that a tool called by itself: they are not entered again."""
    callers = set()
    for entry in journal.entries("call", "request", "finished", "return", below=path):
        if entry.kind == "call":
            callers.add(entry.path)
            continue
        caller = entry.path if entry.kind == "request" else entry.path.rpartition("/")[0]
        if caller not in callers:
            continue  # called by the tool, not by a model
        worker = caller.rpartition("/")[2].partition("#")[0]
        if entry.kind == "request":
            ledger.count_answered(worker, decoding.response(journal.whole(entry)["response"]).usage)
        elif entry.outcome == "success":
            for used in (ledger.usage, ledger.of_worker(worker)):
                used.tool_calls += 1
