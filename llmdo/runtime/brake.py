"""The end of a whole run from any place in it: a failure that no model may be told, or the word of a person."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeVar

from llmdo.toolsets.python import sentence_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from llmdo.base.diagnostic import LlmdoError
    from llmdo.runtime.telemetry.events import Event, Sink, Status

Result = TypeVar("Result")


class Brake:
    """Stops one run, after work that cannot be stopped has ended."""

    def __init__(self) -> None:
        self.reason: LlmdoError | None = None
        """Why the run was stopped; None if it was not."""
        self._run: asyncio.Task[object] | None = None
        self._live: set[asyncio.Task[object]] = set()
        self._parked: set[asyncio.Future[None]] = set()
        """Futures on which the stopping places wait; cancelled at the end, as the run may wait for those places."""
        self._is_over = False

    @asynccontextmanager
    async def guarding(self) -> AsyncIterator[None]:
        """A block of the run's work, in its own task.

        Raises:
            LlmdoError: The reason for which the run was stopped.
        """
        self._run = asyncio.current_task()
        try:
            yield
        except asyncio.CancelledError:
            if self.reason is None or (self._run and self._run.uncancel() > 0):
                raise
        finally:
            self._is_over = True
            for parked in tuple(self._parked):
                parked.cancel()
            if self._live:
                await asyncio.wait(self._live)
        if self.reason is not None:
            raise self.reason

    def stop(self, reason: LlmdoError) -> None:
        """Stops the run for `reason`, unless another came first."""
        if self.reason is None:
            self.reason = reason
            if self._run is not None:
                self._run.cancel()

    async def pull(self, reason: LlmdoError) -> NoReturn:
        """Stops the run for `reason`, unless another came first. Never returns: its caller is cancelled.

        Raises:
            CancelledError: At the latest when the run is over but for the work of `carried_through`.
        """
        self.stop(reason)
        if self._is_over:
            raise asyncio.CancelledError
        parked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._parked.add(parked)
        try:
            await parked
        finally:
            self._parked.discard(parked)
        raise AssertionError

    async def carried_through(self, work: Coroutine[object, object, Result]) -> Result:
        """The result of `work`, which survives a cancelled caller; the run ends only after it."""
        task = asyncio.ensure_future(work)
        self._live.add(task)
        task.add_done_callback(self._live.discard)
        return await asyncio.shield(task)


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
