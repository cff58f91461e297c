"""Stopping a whole run from any place in it: what must not be told to a model ends the tree instead."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from llmdo.base.diagnostic import LlmdoError

Result = TypeVar("Result")


class Brake:
    """Stops one run, and lets what cannot be stopped come to its end first."""

    def __init__(self) -> None:
        self.reason: LlmdoError | None = None
        """Why the run was stopped, where it was."""
        self._run: asyncio.Task[object] | None = None
        self._live: set[asyncio.Task[object]] = set()
        self._parked: set[asyncio.Future[None]] = set()
        """What the places wait for that stopped the run. The run may wait for such a place: it is let go then."""
        self._is_over = False

    @asynccontextmanager
    async def guarding(self) -> AsyncIterator[None]:
        """Around the work of the run, in its own task.

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
        """Stops the run for `reason`, or for the one that came first."""
        if self.reason is None:
            self.reason = reason
            if self._run is not None:
                self._run.cancel()

    async def pull(self, reason: LlmdoError) -> NoReturn:
        """Stops the run for `reason`, or for the one that came first. Never returns: its caller is cancelled.

        Raises:
            CancelledError: At the latest when the run is over but for what it carries through.
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
        """What `work` returns. It goes on when its caller is cancelled, and the run ends only after it."""
        task = asyncio.ensure_future(work)
        self._live.add(task)
        task.add_done_callback(self._live.discard)
        return await asyncio.shield(task)
