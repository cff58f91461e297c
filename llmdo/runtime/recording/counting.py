"""What workers used that a tool called by itself, counted from the journal where the tool is not executed again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from llmdo.journal.stored import JournalStore
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
            if entry.path == path or entry.kind != "finished":
                continue
            caller = _worker_above(caller, path, callers)
        worker = caller.rpartition("/")[2].partition("#")[0]
        if entry.kind == "request":
            ledger.count_answered(worker, decoding.response(journal.whole(entry)["response"]).usage)
        elif entry.outcome == "success":
            for used in (ledger.usage, ledger.of_worker(worker)):
                used.tool_calls += 1


def _worker_above(caller: str, path: str, callers: Collection[str]) -> str:
    """The call path of the worker in whose name code at `caller`, below the tool at `path`, called a tool."""
    while caller not in callers and caller != path:
        caller = caller.rpartition("/")[0]
    while caller not in callers and "." in caller.rpartition("/")[2]:  # a tool that code called
        caller = caller.rpartition("/")[0]
    return caller if caller in callers else caller.rpartition("/")[0] or caller
