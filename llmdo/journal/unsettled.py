"""Calls that may have taken effect, settled by a probe or by a person, and the commands of a run that was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.journal.entries import NOT_KNOWN, PROBE, JournalError
from llmdo.journal.summary import unfinished
from llmdo.toolsets import orphans

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

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


COMMANDS_SUFFIX = ".commands"


def commands_of(journal: JournalStore) -> Path:
    """The file next to `journal` with the records of its commands' guardians."""
    return journal.path.with_suffix(COMMANDS_SUFFIX)


def require_ended(journal: JournalStore) -> None:
    """Waits for the end of the commands of earlier processes of the run.

    Raises:
        JournalError: They are not ended in time.
    """
    if not orphans.all_ended(commands_of(journal), orphans.WAIT_SECONDS):
        raise JournalError(
            f"a command of run `{journal.run}` still runs, which an earlier process of it started",
            hint="wait until it has ended, or end it",
        )


def warning_on_commands(journal: JournalStore, tools: Iterable[str]) -> str:
    """A sentence on the commands among the unfinished calls of `tools`; empty if they are known to have ended."""
    if "shell" not in tools or orphans.is_known(commands_of(journal)):
        return ""
    return "whether its command still runs, or something that it started, is not known; "
