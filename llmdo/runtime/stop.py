"""Ending a run early from beside its work: by a person, or because what watches it failed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmdo.toolsets.python import sentence_of

if TYPE_CHECKING:
    from llmdo.runtime.telemetry.events import Event, Sink, Status


@dataclass(slots=True)
class Stop:
    """Ends one run with all that it started, and with an outcome: unlike a cancellation, which its caller sees."""

    reason: str | None = None
    """Why the run was ended, where it was."""
    status: Status = "interrupted"
    task: asyncio.Task[object] | None = None
    """What does the work of the run, as long as it does."""

    def __call__(self, reason: str, status: Status = "interrupted") -> bool:
        """Ends the run, unless it has been already; whether there is one at work."""
        if self.reason is None:
            self.reason, self.status = reason, status
            if self.task is not None:
                self.task.cancel()
        return self.task is not None

    async def arrival(self) -> None:
        """Returns where nobody ended the run: what is under way to cancel its work arrives here, not later.

        Raises:
            CancelledError: The run was ended.
        """
        if self.reason is not None:
            await asyncio.sleep(0)
            raise asyncio.CancelledError

    def took(self) -> bool:
        """Whether this alone cancelled the work, which is taken back then."""
        return self.task is not None and self.task.uncancel() == 0

    def guarding(self, sink: Sink) -> Sink:
        """`sink`, which ends the run where it fails: nobody would know what it missed."""

        def pass_on(event: Event) -> None:
            try:
                sink(event)
            except Exception as error:
                self(f"a listener to the run's events failed: {sentence_of(error)}", "failed")

        return pass_on
