"""The commits of a run: one serves all calls that wait for it, and what is forced to disk is so beside the loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmdo.journal.stored import Hold, JournalStore


class Commits:
    """Commits what was added to one journal.

    What the calls of one turn of the event loop have added is written at once, and one forced write serves all that
    wait for it meanwhile.
    """

    def __init__(self, journal: JournalStore) -> None:
        self._journal = journal
        self._turn = asyncio.Lock()
        self._batch: _Batch | None = None
        """The write that is due, where somebody waits for one."""

    async def commit(self, hold: Hold = "anchored") -> None:
        """Returns when all that was added is on disk and is kept so well.

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
