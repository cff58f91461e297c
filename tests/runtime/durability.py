"""What is on disk when something happens: as another process finds it, and how much of it would be missed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from llmdo.journal import JournalStore, RunIndex
from llmdo.journal.sqlite.anchor import anchored
from llmdo.journal.sqlite.store import read_journal
from llmdo.runtime.recording.recorder import Recorder
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.redaction import Redaction
from tests.journal.commit_log import CommitLog

Places = set[tuple[str, str]]
"""Entries by their call path and kind."""


@dataclass
class Observer:
    """Watches one journal. Tools of a test call `happened`, and find it under `watching`."""

    journal: JournalStore
    seen: dict[str, tuple[Places, Places]] = field(default_factory=dict)
    """What happened -> the entries that outlived the process then, and those whose loss would have been noticed."""

    def happened(self, what: str) -> None:
        """Notes what is on disk when `what` happens first."""
        kept = _anchored(self.journal)
        with _opened(self.journal) as journal:
            entries = [(entry.path, entry.kind) for entry in journal.entries()]
        self.seen.setdefault(what, ({*entries}, {*entries[:kept]}))


def _opened(journal: JournalStore) -> JournalStore:
    """The journal as another process opens it."""
    return CommitLog(journal.path) if isinstance(journal, CommitLog) else read_journal(journal.path)


def _anchored(journal: JournalStore) -> int:
    """How many of the entries would be missed."""
    if isinstance(journal, CommitLog):
        return max(heads.entries.number for heads, hold in journal.commits if hold == "anchored")
    heads = anchored(journal.path)
    return heads.entries.number if heads else 0


watching: list[Observer] = []


def happened(what: str) -> None:
    """For the tools of a test: tells whoever watches."""
    for observer in watching:
        observer.happened(what)


ATTACHMENT = "a.txt"
"""The file that nobody opens in a test unseen."""


def _opening(event: str, arguments: tuple[Any, ...]) -> None:
    if watching and event == "open" and _name(arguments[0]) == ATTACHMENT:
        happened(f"open {ATTACHMENT}")


def _name(opened: object) -> str:
    """What is opened: a path, or a descriptor that a walk through folders led to."""
    return (Path(f"/proc/self/fd/{opened}").readlink() if isinstance(opened, int) else Path(str(opened))).name


@cache
def _watch_files() -> None:
    """From here on everything that this process audits costs it a call, and a hook cannot be taken back."""
    sys.addaudithook(_opening)


@contextmanager
def observed(
    runs: RunIndex, run: str = "r", *, new: bool = True, replay_mode: ReplayMode | None = None
) -> Iterator[tuple[Recorder, Observer]]:
    """A recorder of a run whose journal is watched."""
    with (runs.create if new else runs.open)(run) as journal:
        _watch_files()
        observer = Observer(journal)
        watching.append(observer)
        try:
            yield Recorder(journal, Redaction.of({}), replay_mode), observer
        finally:
            watching.remove(observer)
