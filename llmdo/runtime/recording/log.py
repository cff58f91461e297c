"""The log of a run in this process: each entry is appended once, committed with others, and told to watchers.

`RunLog` keeps nothing; `Recorder` keeps a journal as well. A run depends on the log alone.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.runtime.brake import Brake
from llmdo.runtime.recording.replay_mode import ReplayMode
from llmdo.runtime.telemetry.events import discard

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pydantic_ai.messages import UserContent

    from llmdo.base.backtrace import Frame
    from llmdo.journal.decided import DecidedCall
    from llmdo.journal.entries import Kind
    from llmdo.journal.stored import Hold, JournalStore
    from llmdo.runtime.approvals.approver import Answer, Question
    from llmdo.runtime.ledger import Ledger
    from llmdo.runtime.recording.replay_mode import Execution
    from llmdo.runtime.telemetry.events import Event, Sink

_AT_WORK = nullcontext()


class RunLog:
    """The log of a run without a journal: it keeps and serves nothing."""

    keeps = False
    """Whether there is a journal."""

    def __init__(self, mode: ReplayMode | None = None) -> None:
        self.mode = mode or ReplayMode()
        self.brake = Brake()
        self.tell: Sink = discard
        """Tells an entry without keeping it: one already kept, or for watchers only."""

    @property
    def is_closed(self) -> bool:
        """Whether neither models nor the run need the tools of the workspace."""
        return False

    def append(self, entry: Event) -> None:
        """Keeps `entry` if its kind is kept and it is new, and tells it."""
        self.tell(entry)

    def working(self, path: str) -> AbstractContextManager[object]:
        """The context of all work at `path`, during which the run does not stop for questions."""
        return _AT_WORK

    def commit(self) -> None:
        """Returns when everything kept is on disk, for callers that cannot await.

        Raises:
            JournalError: It cannot be written.
        """

    async def settled(self, *, forced: bool = True) -> None:
        """Returns when everything kept is on disk; if not `forced`, safe only from the end of the process."""

    async def decision(
        self,
        path: str,
        tool: str,
        arguments: Mapping[str, object],
        ends: Kind | None,
    ) -> DecidedCall | None:
        """The recorded decision on the call at `path` if it was refused or is over; None if it is decided on now.

        A recorded permission alone counts for nothing: the journal may be forged, and the rules may have changed. If
        nothing is executed, it is told as it was. `ends` is the kind of entry with the end of such a call, if any.

        Raises:
            LlmdoError: The call is part of one that failed at this place.
        """
        return None

    async def require_same(self, path: str, worker: str, arguments: Mapping[str, object]) -> None:
        """Stops the run if another call by code is recorded at `path`."""

    async def require_known(self, path: str, value: object) -> None:
        """Stops the run if `value` holds a placeholder of a secret whose variable has another value now.

        Otherwise it may be shown, executed, decided on or printed unchanged.
        """

    def note_fault(self, path: str, error: Exception) -> None:
        """Records that the arguments of the call at `path` did not fit."""

    def key(self, path: str, call: str) -> str:
        """The digest that identifies the question at `path` about the call described by `call`."""
        return digest.of_text(call)

    def unordered(self, unnumbered: str, arguments: object) -> str:
        """The digest of the input of a call without an order.

        `unnumbered` is its call path without that digest.
        """
        return ""

    def has_called(self, path: str) -> bool:
        """Whether code called a worker or a tool at `path` in an earlier process."""
        return False

    def is_over(self, path: str, ends: Kind | None) -> bool:
        """Whether the end of the next execution at `path` is recorded, so that nothing will run."""
        return False

    def step_of(self, path: str) -> int:
        """The number of the last begun execution at `path`; 1 of a call that is not executed."""
        return 1

    async def answer(self, question: Question) -> Answer | None:
        """The recorded answer to this very question, as long as it counts."""
        return None

    async def answered(self, question: Question, answer: Answer) -> None:
        """Records a question and its answer, so that it is not asked again.

        A person's answer is on disk before it takes effect.
        """

    async def asks(self, question: Question) -> None:
        """Records a question that waits from now on."""

    async def wait_for(self, question: Question) -> None:
        """Records a question for a later answer, and stops the run when it has nothing else to do.

        Returns only if no journal can keep it.
        """

    async def execution(
        self,
        execution: Execution,
        work: Callable[[], Coroutine[object, object, object]],
        ledger: Ledger,
    ) -> object:
        """The result of a tool, present or recorded; the recorded use of workers below it is added to `ledger`.

        Raises:
            Exception: The tool's own.
        """
        return await work()

    async def files(
        self,
        path: str,
        paths: Sequence[str],
        work: Callable[[], Awaitable[list[UserContent]]],
    ) -> list[UserContent]:
        """The content of the files attached to the worker's call at `path`, as first read.

        Raises:
            ToolFailed: One of them cannot be attached.
        """
        return await work()

    async def sent(self, path: str) -> None:
        """Records that a request of the call at `path` is sent: it counts even unanswered."""

    def attempted(self, path: str, model: str, error: Exception, *, was_sent: bool) -> None:
        """Records that `model` did not answer the next request of the call at `path`, without the response body."""

    def returned(
        self,
        path: str,
        output: str | None,
        error: str | None,
        frames: Sequence[Frame] = (),
    ) -> str | None:
        """Records how a delegate's call ended; returns the error for its caller.

        `frames` are the failed places in the workspace's code.
        """
        return error


class Commits:
    """Commits the entries added to one journal.

    The entries of one turn of the event loop are written at once; one forced write serves all waiting calls.
    """

    def __init__(self, journal: JournalStore) -> None:
        self._journal = journal
        self._turn = asyncio.Lock()
        self._batch: _Batch | None = None
        """The write that is due, if somebody waits for one."""

    async def commit(self, hold: Hold = "anchored") -> None:
        """Returns when all that was added is on disk, as safely as `hold` demands.

        Raises:
            JournalError: It cannot be written.
        """
        journal = self._journal
        if journal.has_uncommitted:
            await self._written()
        wanted = journal.written
        if not journal.needs_force(wanted, hold):
            return
        async with self._turn:
            if journal.needs_force(wanted, hold):
                await asyncio.to_thread(journal.force, hold)

    async def _written(self) -> None:
        batch = self._batch
        if batch is None:
            batch = self._batch = _Batch()
            asyncio.get_running_loop().call_soon(self._write, batch)
        await batch.done.wait()
        if batch.error is not None:
            raise batch.error

    def _write(self, batch: _Batch) -> None:
        self._batch = None
        try:
            self._journal.commit("written")
        except Exception as error:  # whatever it is: who waits for it must hear of it
            batch.error = error
        batch.done.set()


class _Batch:
    """One write and those who wait for it."""

    def __init__(self) -> None:
        self.done = asyncio.Event()
        self.error: Exception | None = None
