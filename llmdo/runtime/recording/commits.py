"""The commits of a run: forced to disk beside its event loop, so that nothing else waits for the disk."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmdo.journal import Journal
    from llmdo.journal.store import Hold


class Commits:
    """Commits what was added to one journal. One forced write serves all calls that wait for it meanwhile."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._turn = asyncio.Lock()

    async def commit(self, hold: Hold = "anchored") -> None:
        """Returns when all that was added is on disk and is kept so well.

        Raises:
            JournalError: It cannot be written.
        """
        journal = self._journal
        journal.commit("written")
        wanted = journal.written
        if not journal.needs_force(wanted, hold):
            return
        async with self._turn:
            if journal.needs_force(wanted, hold):
                await asyncio.to_thread(journal.force, hold)
