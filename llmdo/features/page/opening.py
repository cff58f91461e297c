"""Opening the page in a browser, by a file with its address that only its owner may read."""

from __future__ import annotations

import asyncio
import html
import json
import os
import signal
import sys
import tempfile
import webbrowser
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from llmdo.features.page import server, team
from llmdo.features.page.endpoints import Inquiry

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping

    from llmdo.features.page.server import ServerRequest
    from llmdo.features.page.subject import LiveRuns
    from llmdo.services.root import Tell


async def show(request: ServerRequest, put: Callable[[str], None], tell: Tell, *, opens: bool) -> None:
    """Serves the page until it is cancelled: `put` gets its link, and a browser opens if `opens`.

    Raises:
        LlmdoError: The subject cannot be read, or nothing can listen there.
    """
    team.project(request.subject, Inquiry())  # what stands in the way is told here, not in a browser
    if request.is_open_to_others:
        tell(
            f"warning: others can connect to {request.host}, and what is sent is not encrypted; whoever has the link"
            " sees all of it, answers for you and starts runs"
        )
    _end_with_signals()
    with link_file() as link:

        def ready(port: int) -> None:
            address = request.address(port)
            put(address)
            if opens and can_open(os.environ):
                # Some browsers only return once they are closed.
                Thread(target=link.open, args=(address,), daemon=True).start()

        try:
            await _while_wanted(server.serve(request, ready, link.remove), request.subject.desk)
        finally:
            for run in request.subject.desk.close():
                tell(f"run {run} goes on by itself: `llmdo runs show {run}`")


def _end_with_signals() -> None:
    """Makes the signals that end a process end the server like an interrupt, so that nothing of it is left behind."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    for name in ("SIGTERM", "SIGHUP"):
        # In another thread, and on other systems, there are none.
        with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
            if task is not None:
                loop.add_signal_handler(getattr(signal, name), task.cancel)


async def _while_wanted(serving: Coroutine[object, object, None], desk: LiveRuns) -> None:
    """Serves until it is cancelled, or the run is over that the page was opened with."""
    if desk.live_run is None:
        await serving
        return
    task = asyncio.ensure_future(serving)
    over = asyncio.ensure_future(asyncio.to_thread(desk.live_run.wait))
    try:
        await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        desk.live_run.close()  # else the thread that waits for the run would keep this process
        task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def can_open(environ: Mapping[str, str]) -> bool:
    """Whether there is a screen for a browser; one in the terminal would take that, and show nothing."""
    has_screen = (
        sys.platform in ("darwin", "win32") or environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    )
    return bool(has_screen or environ.get("BROWSER"))


@contextmanager
def link_file() -> Iterator[LinkFile]:
    """A link file that exists only within the block."""
    link = LinkFile()
    try:
        yield link
    finally:
        link.remove()


class LinkFile:
    """A document that leads to an address with a token: arguments of a process can be read by everybody."""

    def __init__(self) -> None:
        self._path: Path | None = None

    def write(self, address: str) -> Path:
        """The path of the document, which is made with mode 0600."""
        number, name = tempfile.mkstemp(prefix="llmdo-page-", suffix=".html")
        self._path = Path(name)
        quoted = json.dumps(address).replace("<", "\\u003c")
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(
                '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>llmdo</title>'
                f'\n<script>location.replace({quoted})</script>\n<a href="{html.escape(address)}">Open the page</a>\n'
            )
        return self._path

    def open(self, address: str) -> None:
        """Shows the address in the browser, if one works; otherwise the person has the link."""
        with suppress(webbrowser.Error, OSError):
            webbrowser.open(self.write(address).as_uri())

    def remove(self) -> None:
        """Removes it, once it was used or the server ends."""
        if self._path is not None:
            with suppress(FileNotFoundError):
                self._path.unlink()
            self._path = None
