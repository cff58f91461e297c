"""Where the journal of a run ends: what lies beyond may happen in a run that goes on, and in no replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.entries import lineage
from llmdo.journal.summary import ending
from llmdo.runtime.recording.replay_mode import DivergenceError, EndedError

if TYPE_CHECKING:
    from llmdo.journal import JournalEntry
    from llmdo.journal.ports import JournalStore
    from llmdo.runtime.approvals.postponed import Postponed
    from llmdo.runtime.brake import Brake
    from llmdo.runtime.recording.replay_mode import ReplayMode


class Horizon:
    """Of one run."""

    def __init__(
        self, journal: JournalStore, replay_mode: ReplayMode, brake: Brake, postponed: Postponed
    ) -> None:
        self._journal = journal
        self._replay_mode = replay_mode
        self._brake = brake
        self._postponed = postponed
        self._returns: dict[str, JournalEntry | None] = {}

    async def require_live(self, path: str, deed: str) -> None:
        """Returns where what is not recorded may happen at `path`: nowhere within a delegate that is over.

        A replay stops instead, as soon as all that it repeats has come to such a place.

        Raises:
            LlmdoError: The call, or one that it is part of, failed at this place.
        """
        for above in lineage(path):
            if above not in self._returns:
                self._returns[above] = self._journal.get(above, "return")
            if (returned := self._returns[above]) is not None:
                if (failure := self._journal.whole(returned)["error"]) is not None:
                    raise LlmdoError(failure)
                over = f"{path} {deed}, which the journal does not hold, although {above} returned"
                await self._brake.pull(DivergenceError(over))
        if self._replay_mode.live:
            return
        last = ending(self._journal)
        if last is not None and last.outcome != "completed":
            await self._postponed.wait(path, EndedError(f"the run ended at {path}"))
        ends = "" if last else " and ends here"
        await self._brake.pull(DivergenceError(f"{path} {deed}, which the journal does not hold{ends}"))
