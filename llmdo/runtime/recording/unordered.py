"""Calls of workers that go by their input, as those of threads do: found again whatever is a secret by now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.runtime.place import UNORDERED

if TYPE_CHECKING:
    from llmdo.journal.ports import JournalStore
    from llmdo.runtime.recording.encoding import Encoding


class RecordedCalls:
    """Those that the journal of one run holds from before."""

    def __init__(self, journal: JournalStore, encoding: Encoding) -> None:
        self._journal = journal
        self._encoding = encoding
        self._recorded: list[tuple[str, str]] | None = None
        """The call path of each and the digest of what it was given; None until somebody asks."""

    def digest(self, unnumbered: str, arguments: object) -> str:
        """The digest of what a worker is given, as it is recorded of such a call.

        `unnumbered` is the call path but for the digest.
        """
        if self._recorded is None:
            decisions = self._journal.entries("decision")
            self._recorded = [(entry.path, entry.digest) for entry in decisions if UNORDERED in entry.path]
        beginning = f"{unnumbered}{UNORDERED}"
        for path, digest in self._recorded:
            if path.startswith(beginning) and self._encoding.is_same(digest, arguments):
                return digest
        return self._encoding.digest(arguments)
