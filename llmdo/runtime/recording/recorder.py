"""The log of a run with a journal: recorded steps are served from it, new ones happen and are recorded.

The gate decides beforehand whether a call may run. Recorded answers and results come first, so that a resumed run is
the run that stopped.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic_core import PydanticSerializationError

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import replace
from llmdo.journal.content import digest_of
from llmdo.journal.entries import PROBE, UNCALLED, JournalError, shown_word
from llmdo.journal.entries import JournalEntry as Entry
from llmdo.journal.records import ended_calls
from llmdo.runtime.approvals.postponed import GRACE, QUESTIONS, Postponed
from llmdo.runtime.models.failure import without_body
from llmdo.runtime.recording.difference import rerun
from llmdo.runtime.recording.encoding import Decoding, Encoding, end_again, ending_of
from llmdo.runtime.recording.entries import call_entry, decision_entry, ended_entry, run_entry, session_entry
from llmdo.runtime.recording.log import Commits, RunLog
from llmdo.runtime.recording.playback import Horizon, Playback, Settlement, count_below
from llmdo.runtime.recording.replay_mode import (
    AnotherInputError,
    DivergenceError,
    ReachedError,
)
from llmdo.runtime.telemetry.events import Decided, ToolFinished, WorkerStarted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pydantic_ai.messages import UserContent

    from llmdo.base.backtrace import Frame
    from llmdo.journal.binding import Binding
    from llmdo.journal.decided import DecidedCall
    from llmdo.journal.entries import Kind
    from llmdo.journal.stored import Hold, JournalStore
    from llmdo.runtime.approvals.approver import Answer, Question
    from llmdo.runtime.brake import Brake
    from llmdo.runtime.ledger import Ledger
    from llmdo.runtime.recording.replay_mode import Execution, ReplayMode
    from llmdo.runtime.telemetry.events import Event
    from llmdo.runtime.telemetry.redaction import Redaction
    from llmdo.toolsets.probes import TookEffect


class Recorder(RunLog):
    """The log of one run with its journal."""

    keeps = True

    def __init__(
        self,
        journal: JournalStore,
        redaction: Redaction,
        replay_mode: ReplayMode | None = None,
        *,
        grace: float = GRACE,
    ) -> None:
        """`grace`: seconds in which a run that waits for answers may still begin something."""
        super().__init__(replay_mode)
        self.journal = journal
        self.encoding = Encoding(redaction, journal.know(redaction.known))
        self.decoding = Decoding(journal.content)
        self.certain = _Certain(self.brake)
        """Guards blocks that read or write the journal."""
        self._commits = Commits(journal)
        self._postponed = Postponed(journal, self.encoding, self.brake, grace=grace)
        self.horizon = Horizon(journal, self.mode, self.brake, self._postponed)
        self.playback = Playback(journal, self.mode, self.encoding)
        """The recorded steps that come next."""
        self._settlement = Settlement(
            journal, self.mode, self.playback, self.encoding, self.brake, self._record_all
        )
        self.session = 1
        """The number of this process on the run, from 1."""
        self.has_begun = False
        """Whether the session of this process is recorded."""
        self._ended: set[tuple[str, str]] = set()
        """The call path and outcome of each call with a recorded end for its model."""
        self._starting: dict[tuple[str, int], Entry] = {}
        """The executions whose start is being recorded: until their tools are called, the run may stop."""
        self.differences: list[str] = []
        """Differences in the results of tools that ran again, a sentence each."""

        self._kept: dict[str, str] = {}
        """By the digest of each kept content: its name in the journal, the digest of it without secrets."""

    @property
    def is_closed(self) -> bool:
        """As `RunLog.is_closed`."""
        return not (self.mode.live or self.mode.reruns or self.mode.shows_tools)

    async def begin(
        self,
        binding: Binding,
        mode: str,
        isolation: str | None,
        limits: Mapping[str, float],
        workspace: Path,
    ) -> None:
        """Records the session of this process in `workspace`, and first the binding of a new run.

        `mode` names who answers questions, `isolation` how commands are isolated; `limits` are those that a person has
        set for the rest of the run.

        Raises:
            JournalError: It cannot be written.
        """
        self._ended = ended_calls(self.journal)
        self.session = 1 + sum(1 for _ in self.journal.entries("session"))
        if self.journal.get(binding.entry, "run") is None:
            self._add(run_entry(binding, self.encoding))
        begun = {"mode": mode, "isolation": isolation, "limits": dict(limits)}
        self._add(session_entry(binding.entry, self.session, self.journal, begun, self.encoding, workspace))
        await self._commits.commit()
        self.has_begun = self.mode.live

    async def end(self, entry: str, status: str, ending: Mapping[str, Any]) -> None:
        """Records how this process's work on the run ended.

        Raises:
            JournalError: It cannot be written.
        """
        for started in self._starting.values():  # their tools are not called any more
            self._add(replace(started, kind="finished", outcome=UNCALLED))
        self._starting.clear()
        body = self.encoding.plain(ending).body
        self._add(Entry(path=entry, kind="end", step=self.session, outcome=status, body=body))
        await self._commits.commit()

    def append(self, entry: Event) -> None:
        """Keeps `entry` if its kind is kept and it is new, and tells it.

        A decision is on disk before it takes effect.
        """
        match entry:
            case Decided():
                kind: Kind = "decision" if entry.lasts else "refused"
                step = self.playback.take_new(entry.path, kind)
                self._add(*decision_entry(entry, kind, step, self.encoding))
            case WorkerStarted() if self.journal.get(entry.path, "call") is None:
                self._add(call_entry(entry, self.encoding))
            case ToolFinished() if entry.outcome != "stopped":
                if (entry.path, entry.outcome) not in self._ended:  # no other entry says how it ended
                    self._ended.add((entry.path, entry.outcome))
                    step = self.playback.take_new(entry.path, "ended")
                    self._add(ended_entry(entry, step, self.encoding))
        self.tell(entry)

    def working(self, path: str) -> AbstractContextManager[None]:
        """As `RunLog.working`."""
        return self._postponed.busy(path)

    def keep(self, content: bytes) -> str:
        """The digest of `content`, which the journal keeps from the next entry on."""
        digest = digest_of(content)
        if digest not in self._kept:
            if self.mode.live:
                self.journal.keep(content)
            self._kept[digest] = self.journal.name_of(content)
        return self._kept[digest]

    async def sent(self, path: str) -> None:
        """As `RunLog.sent`."""
        self._add(Entry(path=path, kind="sent", step=self.playback.take_new(path, "sent")))
        await self.settled(forced=False)

    async def turn(self, key: str, interval: float) -> float | None:
        """The seconds until the next turn of `key` over all processes of the store; None if it keeps none.

        Turns are `interval` seconds apart. A store that cannot be asked stops the run.
        """
        if (pace := self.journal.pace) is None:
            return None
        async with self.certain:
            return await asyncio.to_thread(pace.turn, key, interval)

    def attempted(self, path: str, model: str, error: Exception, *, was_sent: bool) -> None:
        """As `RunLog.attempted`."""
        step = self.playback.take_new(path, "attempt")
        data = {
            "request": self.playback.last(path, "request"),
            "model": model,
            "message": without_body(error),
            "sent": was_sent,
        }
        body = self.encoding.plain(data).body
        self._add(Entry(path=path, kind="attempt", step=step, outcome=type(error).__name__, body=body))

    async def execution(
        self, execution: Execution, work: Callable[[], Coroutine[object, object, object]], ledger: Ledger
    ) -> object:
        """As `RunLog.execution`.

        Raises:
            Exception: The tool's own.
        """
        with self.working(execution.path):
            return await self._execution(execution, work, ledger)

    async def _execution(
        self, execution: Execution, work: Callable[[], Coroutine[object, object, object]], ledger: Ledger
    ) -> object:
        path, digest = execution.path, self.encoding.digest(execution.arguments)
        step = self.playback.take_execution(path)
        await self.stop_before(path)
        async with self.certain:
            if entry := self.journal.get(path, "finished", step):
                is_other = not self.encoding.is_same(entry.digest, execution.arguments)
                if is_other and self.mode.live and not self.mode.drifted:
                    other = f"{path}: `{execution.tool}` is called with other arguments than recorded"
                    await self.brake.pull(DivergenceError(other))
                self._ended.add((path, shown_word(entry.outcome)))
                count_below(self.journal, self.decoding, path, ledger)
                if self.mode.reruns and await execution.may_rerun():
                    await self._compare(execution, entry, work)
                if entry.outcome == "success":
                    return self.decoding.result(self.journal.whole(entry))
                end_again(entry.outcome, self.journal.whole(entry))
            await self.horizon.require_live(path, f"calls `{execution.tool}`")
            await self.require_known(path, execution.arguments)
            if not execution.is_live:
                await self.brake.pull(DivergenceError(f"{path}: the journal does not hold how it ended"))
            if settled := await self._start(execution, step, digest):
                count_below(self.journal, self.decoding, path, ledger)
                return settled.result
        work_and_record = self._executed(execution, step, digest, work)
        if execution.is_thread:
            return await self.brake.carried_through(work_and_record)
        return await work_and_record

    async def _compare(
        self, execution: Execution, entry: Entry, work: Callable[[], Awaitable[object]]
    ) -> None:
        """Runs a tool once more, and notes a different ending."""
        await self.require_known(execution.path, execution.arguments)
        if change := await rerun(execution.path, entry, work, self.encoding):
            self.differences.append(change)

    async def stop_before(self, place: str) -> None:
        """Stops the run if it is to stop before `place`."""
        if self.mode.until == place:
            await self.brake.pull(ReachedError(f"stopped before {place}"))

    @property
    def is_there(self) -> bool:
        """Whether the run stopped at the requested place."""
        return isinstance(self.brake.reason, ReachedError)

    async def _start(self, execution: Execution, step: int, digest: str) -> TookEffect | None:
        """Puts the decision on the tool on disk, and its start unless it may safely run twice.

        Returns the effect of an earlier execution instead if that took place.
        """
        path = execution.path
        if not self.playback.is_empty and (
            settled := await self._settlement.settled(execution, step, digest)
        ):
            return settled
        if self.journal.get(path, "started", step):
            await self.settled()
        elif execution.is_safe:
            await self.settled(forced=False)
        else:
            offers = PROBE if execution.probe else ""
            started = Entry(path=path, kind="started", step=step, outcome=offers, digest=digest)
            await self._keep_started(started)
        return None

    async def _keep_started(self, entry: Entry) -> None:
        """Returns when `entry` is on disk; its tool is called at once.

        Raises:
            CancelledError: The run has ended, and its journal says that the tool was not called.
        """
        self._add(entry)
        self._starting[entry.path, entry.step] = entry
        await self._commits.commit()
        if self._starting.pop((entry.path, entry.step), None) is None:
            raise asyncio.CancelledError

    async def _executed(
        self, execution: Execution, step: int, digest: str, work: Callable[[], Awaitable[object]]
    ) -> object:
        path = execution.path
        contents: Mapping[str, bytes] = {}
        failure: Exception | None = None
        result: object = None
        try:
            result = await work()
            packed = self.encoding.result(result)
            outcome, body, contents = "success", packed.body, packed.contents
        except PydanticSerializationError as error:
            failure = LlmdoError(f"{path}: the result cannot be written as JSON: {error}")
        except Exception as error:
            failure = error
        if failure is not None:
            outcome, data = ending_of(failure)
            body = self.encoding.plain(data).body
        await self.record(
            Entry(path=path, kind="finished", step=step, outcome=outcome, digest=digest, body=body),
            contents,
            # A call that may not run twice does not, without it: that it was started is on disk.
            hold="forced" if execution.is_safe else "written",
        )
        if failure is not None:
            raise failure
        return result

    def commit(self) -> None:
        """Returns when everything kept is on disk."""
        self.journal.commit()

    async def settled(self, *, forced: bool = True) -> None:
        """As `RunLog.settled`."""
        async with self.certain:
            await self._commits.commit("anchored" if forced else "written")

    async def files(
        self, path: str, paths: Sequence[str], work: Callable[[], Awaitable[list[UserContent]]]
    ) -> list[UserContent]:
        """As `RunLog.files`.

        Raises:
            ToolFailed: A file cannot be attached.
        """
        if not paths:
            return []
        async with self.certain:
            if entry := self.journal.get(path, "files"):
                if entry.outcome != "success":
                    end_again(entry.outcome, self.journal.whole(entry))
                return self.decoding.handed(self.journal.whole(entry)["files"])
            await self.horizon.require_live(path, "is handed files")
        contents: Mapping[str, bytes] = {}
        failure: Exception | None = None
        content: list[UserContent] = []
        try:
            with self.working(f"{path}/files"):
                content = await work()
            packed = self.encoding.handed(content)
            outcome, body, contents = "success", b'{"files":' + packed.body + b"}", packed.contents
        except Exception as error:
            failure = error
            outcome, data = ending_of(error)
            body = self.encoding.plain(data).body
        digest = self.encoding.digest(paths)
        async with self.certain:
            self._add(
                Entry(path=path, kind="files", step=1, outcome=outcome, digest=digest, body=body), contents
            )
        if failure is not None:
            raise failure
        return content

    def key(self, path: str, call: str) -> str:
        """As `RunLog.key`."""
        return self._postponed.key(path, call)

    async def answer(self, question: Question) -> Answer | None:
        """The journal's answer to this very question, as long as it counts."""
        async with self.certain:
            return self._postponed.answer(question)

    async def answered(self, question: Question, answer: Answer) -> None:
        """As `RunLog.answered`."""
        async with self.certain:
            if not answer.is_standing and (entry := self._postponed.question_entry(question)):
                self._add(entry)
            self._add(self._postponed.answered(question, answer))
            if not answer.is_standing:
                await self._commits.commit()

    async def asks(self, question: Question) -> None:
        """As `RunLog.asks`."""
        if entry := self._postponed.question_entry(question):
            await self.record(entry)

    async def wait_for(self, question: Question) -> NoReturn:
        """Records a question for a later answer. Never returns: the run stops when nothing else is left."""
        await self.asks(question)
        await self._postponed.wait(question.path)

    def note_fault(self, path: str, error: Exception) -> None:
        """As `RunLog.note_fault`."""
        if self.journal.get(path, "invalid") is None:
            outcome, data = ending_of(error)
            self._add(
                Entry(path=path, kind="invalid", step=1, outcome=outcome, body=self.encoding.plain(data).body)
            )

    async def decision(
        self, path: str, tool: str, arguments: Mapping[str, object], ends: Kind | None
    ) -> DecidedCall | None:
        """As `RunLog.decision`."""
        async with self.certain:
            recorded = self.playback.decision(path, arguments, ends)
            if recorded is not None and (recorded[1] or not self.mode.live):
                return recorded[0]
            if not self.mode.live:
                await self.horizon.require_live(path, f"calls `{tool}`")
        await self.require_known(path, arguments)
        return None

    def is_over(self, path: str, ends: Kind | None) -> bool:
        """As `RunLog.is_over`."""
        return self.playback.is_over(path, ends)

    def step_of(self, path: str) -> int:
        """As `RunLog.step_of`."""
        return self.playback.last(path, "finished") or 1

    def unordered(self, unnumbered: str, arguments: object) -> str:
        """As `RunLog.unordered`."""
        return self.playback.unordered(unnumbered, arguments)

    def has_called(self, path: str) -> bool:
        """As `RunLog.has_called`."""
        return self.playback.has_called(path)

    async def require_same(self, path: str, worker: str, arguments: Mapping[str, object]) -> None:
        """As `RunLog.require_same`."""
        async with self.certain:
            if not self.mode.drifted and self.playback.has_called_otherwise(path, arguments):
                await self.brake.pull(AnotherInputError(path, worker))

    def returned(
        self, path: str, output: str | None, error: str | None, frames: Sequence[Frame] = ()
    ) -> str | None:
        """As `RunLog.returned`."""
        if entry := self.journal.get(path, "return"):
            recorded: str | None = self.journal.whole(entry)["error"]
            return recorded
        ending = {"output": output, "error": error, **({"frames": frames} if frames else {})}
        body = self.encoding.plain(ending).body
        outcome = "failed" if error is not None else "success"
        self._add(Entry(path=path, kind="return", step=1, outcome=outcome, body=body))
        return error

    async def require_known(self, path: str, value: object) -> None:
        """As `RunLog.require_known`."""
        secrets = self.encoding.secrets
        if secrets.stand_ins and (variable := secrets.lacks(value)):
            problem = secrets.missing(variable)
            await self.brake.pull(LlmdoError(f"{path}: {problem.message}", hint=problem.hint))

    def _add(self, entry: Entry, contents: Mapping[str, bytes] | None = None) -> None:
        if self.mode.live:
            added = self.journal.add(entry, contents)
            if added.kind in ("finished", "return"):
                self._ended.add((added.path, shown_word(added.outcome)))
            if added.kind in QUESTIONS:
                self._postponed.take(added)

    async def _record_all(self, *entries: tuple[Entry, Mapping[str, bytes]]) -> None:
        """Returns when all of `entries` are on disk at once, each with its binary contents."""
        async with self.certain:
            for entry, contents in entries:
                self._add(entry, contents)
            await self._commits.commit()

    async def record(
        self, entry: Entry, contents: Mapping[str, bytes] | None = None, *, hold: Hold = "anchored"
    ) -> None:
        """Returns when `entry` and all earlier ones are on disk; otherwise the run stops."""
        async with self.certain:
            self._add(entry, contents)
            await self._commits.commit(hold)


class _Certain:
    """A block that reads or writes the journal: its failure stops the run, unseen by models."""

    __slots__ = ("_brake",)

    def __init__(self, brake: Brake) -> None:
        self._brake = brake

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, JournalError):
            await self._brake.pull(error)
