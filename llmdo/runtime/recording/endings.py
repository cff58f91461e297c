"""How calls ended for their models, as far as no other entry of the journal says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.journal.audit import read
from llmdo.journal.entries import JournalEntry
from llmdo.journal.records import shown_word, size_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmdo.journal.ports import JournalStore
    from llmdo.runtime.recording.encoding import Encoding
    from llmdo.runtime.recording.steps import Steps
    from llmdo.runtime.telemetry.events import Outcome


class Endings:
    """Those of one run."""

    def __init__(
        self, journal: JournalStore, encoding: Encoding, steps: Steps, add: Callable[[JournalEntry], None]
    ) -> None:
        self._journal, self._encoding, self._steps, self._add = journal, encoding, steps, add
        self._kept: set[tuple[str, str]] = set()
        """The call paths of which the journal says how they ended, each with that."""

    def begin(self) -> None:
        """Takes in what earlier processes kept, but for errors, which are tried again."""
        self._kept = {(entry.path, entry.outcome) for entry in self._journal.entries("ended")}
        for record in read(self._journal.kept_lines()).records:
            if record.get("kind") == "tool_finished":
                self._kept.add((str(record.get("path")), str(record.get("outcome"))))
        self._kept = {ending for ending in self._kept if ending[1] != "error"}

    def know(self, path: str, outcome: str) -> None:
        """Takes for kept how a call ended, of which there is a `finished` with that outcome."""
        self._kept.add((path, shown_word(outcome)))

    def keep(self, path: str, tool: str, outcome: Outcome, result: object) -> None:
        """Keeps how a call ended, once."""
        if (path, outcome) not in self._kept:
            self._kept.add((path, outcome))
            size = size_of(self._encoding.redaction.plain(result))
            body = self._encoding.plain({"tool": tool, **size}).body
            step = self._steps.take_new(path, "ended")
            self._add(JournalEntry(path=path, kind="ended", step=step, outcome=outcome, body=body))
