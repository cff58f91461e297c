"""Listening to a run: its events as an iterator, for a caller that takes them when it is ready for them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from llmdo.runtime.stop import Stop

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from llmdo.runtime.outcome import RunOutcome
    from llmdo.runtime.telemetry.events import Event, Sink


async def listening(
    start: Callable[[Sink, Stop], Coroutine[object, object, RunOutcome]],
) -> AsyncGenerator[Event | RunOutcome]:
    """The events of the run that `start` begins, in their order, and its outcome as the last.

    The run waits for nobody: events that are not taken yet are kept. Where the iterator is closed before its end, or
    who iterates is cancelled, the run is ended as interrupted first.

    Raises:
        Exception: What `start` raises.
    """
    arrived: asyncio.Queue[Event | None] = asyncio.Queue()
    stop = Stop()
    work = asyncio.ensure_future(start(arrived.put_nowait, stop))
    work.add_done_callback(lambda _: arrived.put_nowait(None))
    try:
        while (event := await arrived.get()) is not None:
            yield event
        yield work.result()
    finally:
        await _ended(work, stop)


async def _ended(work: asyncio.Future[RunOutcome], stop: Stop) -> None:
    """Returns when `work` is over, which is ended where it is not."""
    if work.done():
        return
    if not stop("nobody listens to the run any more"):
        work.cancel()  # it has not begun
    try:
        await asyncio.wait([work])
    except asyncio.CancelledError:
        work.cancel()
        raise
    if not work.cancelled():
        work.exception()  # which nobody is left to be told of
