"""The log of a run in this process: each entry is appended once, and told to whoever watches the run.

`RunLog` keeps nothing; `Recorder` is the one that keeps a journal as well. All that a run does asks the log alone.
"""

from __future__ import annotations

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
    from llmdo.runtime.approvals.approver import Answer, Question
    from llmdo.runtime.ledger import Ledger
    from llmdo.runtime.recording.replay_mode import Execution
    from llmdo.runtime.telemetry.events import Event, Sink

_AT_WORK = nullcontext()


class RunLog:
    """The log of a run without a journal: nothing is kept, and nothing is served."""

    keeps = False
    """Whether there is a journal."""

    def __init__(self, mode: ReplayMode | None = None) -> None:
        self.mode = mode or ReplayMode()
        self.brake = Brake()
        self.tell: Sink = discard
        """Tells an entry without keeping it: one that is kept already, or that only a watcher needs."""

    @property
    def is_closed(self) -> bool:
        """Whether neither models nor the run need the tools of the workspace."""
        return False

    def append(self, entry: Event) -> None:
        """Keeps `entry`, where it is one that is kept and is not there yet, and tells it."""
        self.tell(entry)

    def working(self, path: str) -> AbstractContextManager[object]:
        """The time in which something is done at `path`: the run does not stop for its questions meanwhile."""
        return _AT_WORK

    def commit(self) -> None:
        """Returns when all that was kept is on disk, where nobody can wait for it.

        Raises:
            JournalError: It cannot be written.
        """

    async def settled(self, *, forced: bool = True) -> None:
        """Returns when all that was kept is on disk; where it is not `forced`, only the end of the process may come."""

    async def decision(
        self,
        path: str,
        tool: str,
        arguments: Mapping[str, object],
        ends: Kind | None,
    ) -> DecidedCall | None:
        """The recorded decision on the call at `path`, which was refused or is over; None where it is decided on now.

        That a call was let through means nothing by itself: whoever wrote the journal may have said so, and the rules
        may be others by now. Where nothing is executed, it is told as it was. `ends` is the kind of the entries that
        say how such a call ended; None where none do.

        Raises:
            LlmdoError: The call is part of one that failed at this place.
        """
        return None

    async def require_same(self, path: str, worker: str, arguments: Mapping[str, object]) -> None:
        """Returns where the call that code makes at `path` is the recorded one, or none is recorded there."""

    async def require_known(self, path: str, value: object) -> None:
        """Returns where nothing stands in `value` for a secret that its variable has not any more.

        So it may be told to a model or to code, executed, decided on or said: nobody is handed another text.
        """

    def note_fault(self, path: str, error: Exception) -> None:
        """Keeps that the arguments of the call at `path` did not fit the tool."""

    def key(self, path: str, call: str) -> str:
        """The digest by which the question at `path` is known, which is about the one call that `call` describes."""
        return digest.of_text(call)

    def unordered(self, unnumbered: str, arguments: object) -> str:
        """The digest of what a worker or tool is given in a call that no order tells from others.

        `unnumbered` is its call path without that digest.
        """
        return ""

    def has_called(self, path: str) -> bool:
        """Whether code called a worker or a tool at `path` in an earlier process."""
        return False

    def is_over(self, path: str, ends: Kind | None) -> bool:
        """Whether it is recorded what the next execution of the call at `path` came to, so that nothing will run."""
        return False

    def step_of(self, path: str) -> int:
        """The number of the execution of the call at `path` that was begun last; 1 of a call that is not executed."""
        return 1

    async def answer(self, question: Question) -> Answer | None:
        """The recorded answer to this very question, as long as it counts."""
        return None

    async def answered(self, question: Question, answer: Answer) -> None:
        """Keeps a question and its answer, which is not asked for again.

        Where a person gave it, it is on disk at once: what comes of it has not begun yet.
        """

    async def asks(self, question: Question) -> None:
        """Keeps a question that waits from now on."""

    async def wait_for(self, question: Question) -> None:
        """Keeps a question that is answered later, and stops the run when it has nothing else to do.

        Returns only where no journal can keep it.
        """

    async def execution(
        self,
        execution: Execution,
        work: Callable[[], Coroutine[object, object, object]],
        ledger: Ledger,
    ) -> object:
        """The result of a tool, now or as it is recorded; what workers below it used then is added to `ledger`.

        Raises:
            Exception: What the tool raises or raised.
        """
        return await work()

    async def files(
        self,
        path: str,
        paths: Sequence[str],
        work: Callable[[], Awaitable[list[UserContent]]],
    ) -> list[UserContent]:
        """The content of the files that the worker called at `path` is handed, as it was when they were read.

        Raises:
            ToolFailed: One of them cannot be handed over.
        """
        return await work()

    async def sent(self, path: str) -> None:
        """Keeps that a request of the call at `path` leaves: it counts, also where nobody hears its answer."""

    def attempted(self, path: str, model: str, error: Exception, *, was_sent: bool) -> None:
        """Keeps that `model` did not answer the next request of the call at `path`; not what its provider sent."""

    def returned(
        self,
        path: str,
        output: str | None,
        error: str | None,
        frames: Sequence[Frame] = (),
    ) -> str | None:
        """Keeps how a delegate's call ended, for its caller depends on it; the error that its caller is told.

        `frames` are where code of the workspace failed.
        """
        return error
