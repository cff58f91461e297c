"""Ctrl-C during a run: the first stops it cleanly, the second ends the program at once."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from typing import TYPE_CHECKING, TypeVar

from llmdo.cli import garbage
from llmdo.cli.console import INTERRUPTED, say

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import FrameType

Result = TypeVar("Result")


def run_interruptibly(
    work: Coroutine[object, object, Result],
    abandon: Callable[[], None],
    end: Callable[[str], bool] | None = None,
) -> Result:
    """The result of `work`. The first Ctrl-C uses `end`, or cancels it if there is nothing to end.

    The second calls `abandon` and ends the program at once: a tool may block the event loop, or hold a thread that
    the program would wait for.
    """
    garbage.look_as_usual()
    if threading.current_thread() is not threading.main_thread():
        return asyncio.run(work)
    before = signal.getsignal(signal.SIGINT)
    try:
        return asyncio.run(_listening(work, abandon, end))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)


async def _listening(
    work: Coroutine[object, object, Result], abandon: Callable[[], None], end: Callable[[str], bool] | None
) -> Result:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    presses = 0

    def stop() -> None:
        say("stopping; Ctrl-C again ends the program at once")
        if task and not (end and end("the run was interrupted")):
            task.cancel()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        nonlocal presses
        presses += 1
        if presses > 1:
            abandon()
            os._exit(INTERRUPTED)
        loop.call_soon_threadsafe(stop)

    signal.signal(signal.SIGINT, on_signal)
    return await work
