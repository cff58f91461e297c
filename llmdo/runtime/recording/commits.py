"""The commits of a run, shared by all calls that wait; forced writes happen off the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmdo.journal.stored import Hold, JournalStore


class Commits:
    """Commits the entries added to one journal.

    The entries of one turn of the event loop are written at once; one forced write serves all waiting calls.
    """

    def __init__(self, journal: JournalStore) -> None:
        self._journal = journal
        self._turn = asyncio.Lock()
        self._batch: _Batch | None = None
        """The write that is due, if somebody waits for one."""

    async def commit(self, hold: Hold = "anchored") -> None:
        """Returns when all that was added is on disk, as safely as `hold` demands.

        Raises:
            JournalError: It cannot be written.
        """
        journal = self._journal
        if journal.has_uncommitted:
            await self._written()
        wanted = journal.written
        if not journal.needs_force(wanted, hold):
            return
        async with self._turn:
            if journal.needs_force(wanted, hold):
                await asyncio.to_thread(journal.force, hold)

    async def _written(self) -> None:
        batch = self._batch
        if batch is None:
            batch = self._batch = _Batch()
            asyncio.get_running_loop().call_soon(self._write, batch)
        await batch.done.wait()
        if batch.error is not None:
            raise batch.error

    def _write(self, batch: _Batch) -> None:
        self._batch = None
        try:
            self._journal.commit("written")
        except Exception as error:  # whatever it is: who waits for it must hear of it
            batch.error = error
        batch.done.set()


class _Batch:
    """One write and those who wait for it."""

    def __init__(self) -> None:
        self.done = asyncio.Event()
        self.error: Exception | None = None
