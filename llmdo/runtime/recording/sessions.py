"""The entries with which a run, and every process that works on it, begins."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import pydantic_ai

from llmdo.journal.entries import JournalEntry
from llmdo.journal.location import MachineFolder
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pydantic_ai.messages import ModelMessage

    from llmdo.journal.binding import Binding
    from llmdo.journal.ports import JournalStore
    from llmdo.runtime.recording.encoding import Encoding


def run_entry(binding: Binding, encoding: Encoding) -> JournalEntry:
    """What the run is bound to."""
    return JournalEntry(
        path=binding.entry,
        kind="run",
        step=1,
        digest=encoding.digest(binding.input),
        body=encoding.plain(binding.data).body,
    )


def history_entry(
    path: str, messages: Sequence[ModelMessage], encoding: Encoding
) -> tuple[JournalEntry, Mapping[str, bytes]]:
    """The messages that the run starts from, and the binary contents that they name."""
    packed = encoding.messages(messages)
    return JournalEntry(path=path, kind="history", step=1, body=packed.body), packed.contents


def messages_entry(
    path: str, number: int, messages: Sequence[ModelMessage], encoding: Encoding
) -> tuple[JournalEntry, Mapping[str, bytes]]:
    """Those that came in the run, as its processes ended one after the other: the entry of that number."""
    packed = encoding.messages(messages)
    return JournalEntry(path=path, kind="messages", step=number, body=packed.body), packed.contents


def session_entry(
    path: str,
    number: int,
    journal: JournalStore,
    begun: Mapping[str, object],
    encoding: Encoding,
    workspace: Path,
) -> JournalEntry:
    """That a process works on the run in `workspace`, the one of that number.

    `begun` is how it is approved, what isolates it, and which limits a person set with it.
    """
    content: dict[str, object] = {
        "run": journal.run,
        "llmdo": __version__,
        "pydantic-ai": pydantic_ai.__version__,
        "python": platform.python_version(),
        **begun,
    }
    if journal.is_shared:
        content["location"] = MachineFolder.of(workspace).data
    return JournalEntry(path=path, kind="session", step=number, body=encoding.plain(content).body)
