"""Questions at the terminal and through a connection to another process at once: the first answer counts."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmdo.runtime.approvals.approver import Answer, GoneError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from llmdo.runtime.approvals.approver import Approver, Question

STALE, UNFIT = "stale", "unfit"
"""Why an answer is refused: it is for another question than the one that waits; the question does not take it."""

_GONE = "the page was closed while a question waited there"


@dataclass(frozen=True, slots=True)
class _OpenQuestion:
    question: Question
    answer: asyncio.Future[Answer]


class TwoChannelApprover:
    """Asks through a connection, by lines of JSON, and at the terminal if there is one."""

    def __init__(
        self, connection: socket.socket, terminal: Approver | None, tell: Callable[[str], None]
    ) -> None:
        """`tell` takes a line for the person at the terminal: the answer of somebody else."""
        self._connection = connection
        self._terminal = terminal
        self._tell = tell
        self._open: dict[str, _OpenQuestion] = {}
        self._is_closed = False
        self._is_alone = terminal is None
        """Whether nobody is at the terminal, or no longer."""
        self._reader: threading.Thread | None = None

    async def ask(self, question: Question) -> Answer:
        """The first answer.

        Raises:
            GoneError: Nobody is left to give one.
        """
        loop = asyncio.get_running_loop()
        if self._reader is None:
            self._reader = threading.Thread(target=self._read, args=(loop,), daemon=True)
            self._reader.start()
        if question.keep is not None:
            await question.keep(question)
        remote: asyncio.Future[Answer] = loop.create_future()
        self._open[question.path] = _OpenQuestion(question, remote)
        try:
            return await self._first(question, remote)
        finally:
            del self._open[question.path]

    async def _first(self, question: Question, remote: asyncio.Future[Answer]) -> Answer:
        if self._terminal is None:
            if self._is_closed:
                raise GoneError(_GONE)
            return await remote
        asking = asyncio.ensure_future(self._terminal.ask(question))
        try:
            await asyncio.wait({asking, remote}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                answer = remote.result()
                self._tell(f"\n{question.path}: {_verb(answer)} by {answer.by}")
                return answer
            try:
                return asking.result()
            except GoneError:
                self._is_alone = True
                if self._is_closed:
                    raise
            return await remote
        finally:
            asking.cancel()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """Takes in lines until the other side is gone; runs in a thread."""
        try:
            with self._connection.makefile("r", encoding="utf-8") as lines:
                for line in lines:
                    loop.call_soon_threadsafe(self._take, line)
        except (OSError, ValueError, RuntimeError):
            pass  # it died, or sent nonsense, or the run is over
        finally:
            with suppress(RuntimeError):  # the run is over, and its loop closed
                loop.call_soon_threadsafe(self._close)

    def _take(self, line: str) -> None:
        try:
            message = json.loads(line)
            problem = self._answered(message)
        except (ValueError, KeyError, TypeError, RecursionError):
            return  # nothing that the page sends
        reply = {"id": message.get("id"), **({"ok": True} if problem is None else problem)}
        with suppress(OSError):  # whoever sent it is gone; it counts all the same
            self._connection.sendall(json.dumps(reply).encode() + b"\n")

    def _answered(self, message: Mapping[str, Any]) -> dict[str, str] | None:
        """Takes an answer; if it is not taken, returns why."""
        waits = self._open.get(str(message["path"]))
        if waits is None or waits.answer.done() or waits.question.key != message["digest"]:
            return {"error": STALE, "message": "the answer is for another question than the one that waits"}
        question = waits.question
        verb, by = message["verb"], f"{message['by']} in the page"
        match verb:
            case "allow" | "always":
                if question.terminal_only:
                    return {"error": UNFIT, "message": "only a person at a terminal may say yes to this"}
                answer = Answer(allowed=True, by=by, lasts=verb == "always")
            case "edit":
                instead = dict(message["instead"])
                fault = question.fault_of(instead) if question.fault_of else "its arguments cannot be changed"
                if fault:
                    return {"error": UNFIT, "message": f"the tool does not take this: {fault}"}
                answer = Answer(allowed=False, by=by, arguments=instead)
            case "refuse":
                why = str(message.get("reason") or "")
                reason = "the answer was no" + (f": {why}" if why else "")
                answer = Answer(allowed=False, by=by, reason=reason, message=why)
            case "stop":
                answer = Answer(allowed=False, by=by, reason="the run was ended", stops=True)
            case _:
                raise ValueError(verb)
        waits.answer.set_result(answer)
        return None

    def _close(self) -> None:
        """Notes that the other side is gone: if nobody is at the terminal, nobody can answer."""
        self._is_closed = True
        if self._is_alone:
            for waits in self._open.values():
                if not waits.answer.done():
                    waits.answer.set_exception(GoneError(_GONE))


def _verb(answer: Answer) -> str:
    if answer.stops:
        return "the run was ended"
    if answer.arguments is not None:
        return "changed"
    return "allowed" if answer.allowed else "refused"
