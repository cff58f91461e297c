"""Calls that may have taken effect, settled by a probe of their tool or by a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.journal.entries import NOT_KNOWN, PROBE
from llmdo.journal.summary import unfinished

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.journal.stored import JournalStore


def unsettled(journal: JournalStore, *, asks_again: bool = False) -> dict[str, str]:
    """The unfinished tools that need a person's decision, by call path.

    A tool with a probe is among them after it did not know, unless `asks_again` asks it once more.
    """
    calls = unfinished(journal)
    probes = probing(journal, asks_again=asks_again) if calls else frozenset()
    return {path: tool for path, tool in calls.items() if path not in probes}


def probing(journal: JournalStore, *, asks_again: bool = False) -> frozenset[str]:
    """The call paths with a probe to ask about their last start; `asks_again` as of `unsettled`."""
    is_asked: dict[str, bool] = {}
    for entry in journal.entries("started", "probed"):
        if entry.kind == "started":
            is_asked[entry.path] = entry.outcome == PROBE
        elif entry.outcome == NOT_KNOWN:
            is_asked[entry.path] &= asks_again
    return frozenset(path for path, is_open in is_asked.items() if is_open)


def in_words(journal: JournalStore, calls: Mapping[str, str]) -> list[str]:
    """Each of these tools, by call path, with the reason if its probe did not know."""
    unknown = {entry.path: entry.data for entry in journal.entries("probed") if entry.outcome == NOT_KNOWN}
    return [
        f"`{tool}` at {path}" + (f" ({unknown[path]['why']})" if path in unknown else "")
        for path, tool in calls.items()
    ]
