"""The run beside which a page was opened: it goes on in another process, and takes answers as it does."""

from __future__ import annotations

import itertools
import json
import queue
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.answers import GoesOnError, StaleError

if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE = 30  # seconds that a run may take to say whether it took an answer
STALE = "stale"


class RunBeside:
    """The run of the process at the other end of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        """Waits until it says which run it is.

        Raises:
            LlmdoError: It does not.
        """
        self._connection = connection
        self._lines = connection.makefile("r", encoding="utf-8")
        try:
            self.run = str(json.loads(self._lines.readline())["run"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise LlmdoError("the run beside which the page was to be opened is gone") from error
        self._numbers = itertools.count(1)
        self._replies: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._sending = threading.Lock()
        self._over = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def is_over(self) -> bool:
        """Whether its process is gone."""
        return self._over.is_set()

    def wait(self) -> None:
        """Returns once it is."""
        self._over.wait()

    def close(self) -> None:
        """Leaves the run, which hears of it."""
        with suppress(OSError):  # it is gone already
            self._connection.shutdown(socket.SHUT_RDWR)

    def answer(self, path: str, answer: Mapping[str, object]) -> None:
        """Has the run take an answer to the question at a call path.

        Raises:
            StaleError: It is for another question than the one that waits.
            GoesOnError: The run is busy, or its process is gone.
            LlmdoError: The question does not take it.
        """
        number = next(self._numbers)
        replies = self._replies[number] = queue.SimpleQueue()
        sent = {**answer, "id": number, "path": path}
        try:
            with self._sending:
                self._connection.sendall(json.dumps(sent).encode() + b"\n")
            reply = replies.get(timeout=PATIENCE)
        except (OSError, queue.Empty) as error:
            raise GoesOnError(f"run `{self.run}` does not take answers now") from error
        finally:
            del self._replies[number]
        if reply.get("ok"):
            return
        message = f"{path}: {reply.get('message')}"
        raise StaleError(message) if reply.get("error") == STALE else LlmdoError(message)

    def _read(self) -> None:
        try:
            for line in self._lines:
                reply = json.loads(line)
                if replies := self._replies.get(reply.get("id")):
                    replies.put(reply)
        except (OSError, ValueError, AttributeError):
            pass
        finally:
            self._over.set()
