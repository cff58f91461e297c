"""The executions that are being kept as started: between that and the call of their tools, the run may stop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.journal.entries import UNCALLED

if TYPE_CHECKING:
    from collections.abc import Callable

    from llmdo.journal.entries import JournalEntry
    from llmdo.runtime.brake import Certain
    from llmdo.runtime.recording.commits import Commits


class StartingCalls:
    """Those of one run in this process."""

    def __init__(self, add: Callable[[JournalEntry], None], commits: Commits, certain: Certain) -> None:
        self._add, self._commits, self._certain = add, commits, certain
        self._entries: dict[tuple[str, int], JournalEntry] = {}

    async def keep(self, entry: JournalEntry) -> None:
        """Returns when `entry` is on disk, and its tool is called at once; else the run stops.

        Raises:
            CancelledError: The run has ended meanwhile, and its journal says that the tool was not called.
        """
        async with self._certain:
            self._add(entry)
            self._entries[entry.path, entry.step] = entry
            await self._commits.commit()
        if self._entries.pop((entry.path, entry.step), None) is None:
            raise asyncio.CancelledError

    def abandon(self) -> None:
        """Keeps of those that are left that their tools were not called, and has none of them be called any more."""
        for entry in self._entries.values():
            self._add(replace(entry, kind="finished", outcome=UNCALLED))
        self._entries.clear()
