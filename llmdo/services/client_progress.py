"""What a client of a server hears of a run while it lasts."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from llmdo.runtime.telemetry.events import (
    ModelResponded,
    StreamBroken,
    TextDelta,
    ToolCalled,
    ToolFinished,
    WorkerFinished,
    WorkerStarted,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.server.session import ServerSession

    from llmdo.runtime.telemetry.events import Event

LONGEST_PIECE = 200  # characters of an answer, the last ones that arrived


class ClientProgress:
    """Tells the client of each step of a run, in its own time."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._waiting: list[str] = []
        self._text = ""
        """What has arrived of the answer that the entry's worker is giving."""
        self._is_text = False
        """Whether the last message that waits shows that text: the next piece takes its place."""
        self._is_over = False
        self._more = asyncio.Event()

    def __call__(self, event: Event) -> None:
        """Takes in one event; the log and the audit have what is left out here."""
        if isinstance(event, TextDelta):
            self._text = f"{self._text}{event.text}"[-LONGEST_PIECE:]
            if self._is_text and self._waiting:
                self._waiting.pop()
            self._waiting.append(f"{event.path}: {self._text}")
        elif message := _step(event):
            self._text = ""
            self._waiting.append(message)
        else:
            return
        self._is_text = isinstance(event, TextDelta)
        self._more.set()

    @asynccontextmanager
    async def reporting(self) -> AsyncIterator[ClientProgress]:
        """Around the run: all that was taken in is sent before the result."""
        sending = asyncio.ensure_future(self._report())
        try:
            yield self
            self._is_over = True
            self._more.set()
            await asyncio.wait(
                [sending]
            )  # a client that hears nothing of the steps may still hear of the result
        finally:
            sending.cancel()

    async def _report(self) -> None:
        steps = 0
        while self._waiting or not self._is_over:
            if not self._waiting:
                self._more.clear()
                await self._more.wait()
                continue
            steps += 1
            await self._session.report_progress(steps, message=self._waiting.pop(0))


def _step(event: Event) -> str | None:
    match event:
        case StreamBroken():
            return f"{event.path}: the answer broke off"
        case WorkerStarted():
            return f"{event.path} ..."
        case ToolCalled():
            return f"{event.path}"
        case ToolFinished():
            return f"{event.path}: {event.outcome}"
        case ModelResponded():
            return f"{event.path}: {event.model} answers"
        case WorkerFinished():
            return (
                f"{event.path}: {'failed' if event.error else 'stopped' if event.output is None else 'done'}"
            )
    return None
