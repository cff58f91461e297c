"""Ends a run early from outside its work: by a person, or because a listener failed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llmdo.toolsets.python import sentence_of

if TYPE_CHECKING:
    from llmdo.runtime.telemetry.events import Event, Sink, Status


@dataclass(slots=True)
class Stop:
    """Ends one run and all that it started, with an outcome: unlike a cancellation, which its caller sees."""

    reason: str | None = None
    """Why the run was ended; None if it was not."""
    status: Status = "interrupted"
    task: asyncio.Task[object] | None = None
    """The task of the run, while it works."""

    def __call__(self, reason: str, status: Status = "interrupted") -> bool:
        """Ends the run, unless already ended; returns whether one is at work."""
        if self.reason is None:
            self.reason, self.status = reason, status
            if self.task is not None:
                self.task.cancel()
        return self.task is not None

    async def arrival(self) -> None:
        """Returns if nobody ended the run; a pending cancellation of its work arrives here, not later.

        Raises:
            CancelledError: The run was ended.
        """
        if self.reason is not None:
            await asyncio.sleep(0)
            raise asyncio.CancelledError

    def took(self) -> bool:
        """Whether this alone cancelled the work; takes that back."""
        return self.task is not None and self.task.uncancel() == 0

    def guarding(self, sink: Sink) -> Sink:
        """`sink`, ending the run if it fails: nobody would know what it missed."""

        def pass_on(event: Event) -> None:
            try:
                sink(event)
            except Exception as error:
                self(f"a listener to the run's events failed: {sentence_of(error)}", "failed")

        return pass_on
