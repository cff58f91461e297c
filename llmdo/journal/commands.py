"""The commands of a run whose process was killed: whether one of them still runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.journal.entries import JournalError
from llmdo.toolsets import orphans

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from llmdo.journal.stored import JournalStore

SUFFIX = ".commands"


def commands_of(journal: JournalStore) -> Path:
    """The file next to `journal` with the records of its commands' guardians."""
    return journal.path.with_suffix(SUFFIX)


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
