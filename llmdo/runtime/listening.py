"""The events of a run as an iterator, for a caller that takes them at its own pace."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from llmdo.runtime.brake import Stop

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from llmdo.runtime.outcome import RunOutcome
    from llmdo.runtime.telemetry.events import Event, Sink


async def listening(
    start: Callable[[Sink, Stop], Coroutine[object, object, RunOutcome]],
) -> AsyncGenerator[Event | RunOutcome]:
    """The events of the run that `start` begins, in their order, and its outcome as the last.

    The run waits for nobody: events not taken yet are kept. If the iterator is closed or its user is cancelled early,
    the run is first ended as interrupted.

    Raises:
        Exception: Any error of `start`.
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
    """Returns when `work` is over, ending it if necessary."""
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
