"""What is committed to one journal: to be read, and held against its chains and its anchor."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from llmdo.journal.entries import DamagedError
from llmdo.journal.sqlite.connection import Translated
from llmdo.journal.stored import StoredJournal

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from llmdo.journal.chain import Heads

SUFFIX = ".sqlite"


class Committed(StoredJournal):
    """The committed entries of one run, and its audit."""

    def __init__(self, path: Path, connection: sqlite3.Connection, heads: Heads | None = None) -> None:
        super().__init__(path, heads)
        self._connection = connection

    @property
    def run(self) -> str:
        """The run's id."""
        return self.path.name.removesuffix(SUFFIX)

    def close(self) -> None:
        """Closes the file."""
        import sqlite3

        with suppress(sqlite3.Error):
            self._connection.close()

    def faults(self) -> Iterator[str]:
        """What shows that the entries are not those that were added: a sentence each. Looks at all of them."""
        yield from (str(message) for (message,) in self._read("PRAGMA integrity_check(3)") if message != "ok")
        yield from super().faults()

    def require_anchored(self, heads: Heads | None) -> None:
        """Nothing, where all is there that was on disk before something was done because of it.

        Raises:
            JournalError: Some of it is gone, or `heads`, which says how much that is.
        """
        if heads is None:
            last = next(self._read("SELECT kind FROM entry ORDER BY seq DESC LIMIT 1"), ("end",))
            if self.keeps_log and last != ("end",):
                raise DamagedError(
                    f"the anchor beside `{self.path}` is gone, so nobody can tell how much of the run is missing",
                    hint="`llmdo runs export` writes a run as one file",
                )
            return
        entry = next(self._read("SELECT head FROM entry WHERE seq = ?", heads.entries.number), None)
        line = next(self._read("SELECT line FROM audit WHERE n = ?", heads.records.number), None)
        is_whole = not heads.entries.number or entry == (heads.entries.head,)
        if heads.records.number:
            is_whole &= line is not None and str(line[0]).endswith(f'"{heads.records.head}"}}')
        if not is_whole:
            raise self.damaged("it and its log held more of the run than can be read of them")

    @property
    def keeps_log(self) -> bool:
        """Whether the last commits may be in a log beside the file; an exported run is one file."""
        return next(self._read("PRAGMA journal_mode")) == ("wal",)

    def _read(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        with Translated(self.path, "read"):
            yield from self._connection.execute(query, values)
