"""The recorded part of one run, the position of this process in it, and the settlement of its unfinished executions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import PydanticSerializationError

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import replace
from llmdo.journal.decided import decided_in
from llmdo.journal.entries import NOT_KNOWN, UNCALLED, JournalEntry, lineage
from llmdo.journal.summary import ending
from llmdo.runtime.place import UNORDERED
from llmdo.runtime.recording.encoding import end_again
from llmdo.runtime.recording.replay_mode import DivergenceError, EndedError, UnfinishedError
from llmdo.toolsets.probes import NotKnown, TookEffect

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from llmdo.journal.decided import DecidedCall
    from llmdo.journal.entries import Kind
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime.approvals.postponed import Postponed
    from llmdo.runtime.brake import Brake
    from llmdo.runtime.ledger import Ledger
    from llmdo.runtime.recording.encoding import Decoding, Encoding
    from llmdo.runtime.recording.replay_mode import Execution, ReplayMode
    from llmdo.toolsets.probes import Answer


class Playback:
    """The recorded part of one run. Entries of a kind at a call path have steps from 1."""

    def __init__(self, journal: JournalStore, replay_mode: ReplayMode, encoding: Encoding) -> None:
        self._journal = journal
        self._replay_mode = replay_mode
        self._encoding = encoding
        self.is_empty = journal.last("run") is None
        """Whether this process begins the run, so that nothing is recorded yet."""
        self._taken: dict[tuple[str, Kind], int] = {}
        """The last step that this process has come to."""
        self._unordered: list[tuple[str, str]] | None = None
        """Call path and digest of each call identified by its input; None until first used."""

    def last(self, path: str, kind: Kind) -> int:
        """The step that was taken last; 0 if none was."""
        return self._taken.get((path, kind), 0)

    def take(self, path: str, kind: Kind) -> int:
        """The next step."""
        step = self._taken[path, kind] = self._taken.get((path, kind), 0) + 1
        return step

    def take_new(self, path: str, kind: Kind) -> int:
        """The next step that no earlier process has recorded."""
        step = self.take(path, kind)
        while not self.is_empty and self._journal.get(path, kind, step):
            step = self.take(path, kind)
        return step

    def take_execution(self, path: str) -> int:
        """The step of the next execution of a tool."""
        self._taken[path, "finished"] = step = self._execution(path)
        return step

    def is_over(self, path: str, ends: Kind | None) -> bool:
        """Whether the end of the next execution at `path` is recorded, so that nothing will run.

        `ends` is the kind of entry with that end, if the call has such.
        """
        if self.is_empty:
            return False
        if ends == "finished":
            return self._journal.get(path, ends, self._execution(path)) is not None
        return ends is not None and self._journal.get(path, ends, self.last(path, ends) + 1) is not None

    def doubted(self, path: str, step: int) -> int | None:
        """The step of the execution at `path` that may have taken effect, if `step` is next.

        None if there is none, or a person has decided about it.
        """
        mode = self._replay_mode
        if self.is_empty:
            return None
        if self._journal.get(path, "started", step):
            return None if path in mode.again | mode.given_up else step
        if path in mode.again or path not in mode.retried:
            return None
        while (
            before := self._journal.get(path, "finished", step := step - 1)
        ) and before.outcome == UNCALLED:
            pass
        return step if self._journal.get(path, "started", step) else None

    def _execution(self, path: str) -> int:
        """The step of the next execution at `path`, past those that count for nothing.

        These ended with an error and were begun once more, or their tool was not called. One to be repeated now gets
        the first unrecorded step.
        """
        step = self.last(path, "finished") + 1
        if self.is_empty:
            return step
        while (entry := self._journal.get(path, "finished", step)) and entry.outcome in ("error", UNCALLED):
            if entry.outcome == UNCALLED:
                step += 1
                continue
            is_begun = any(self._journal.get(path, kind, step + 1) for kind in ("started", "finished"))
            mode = self._replay_mode
            if not is_begun and not (mode.live and path in mode.again | mode.retried):
                break
            step += 1
        return step

    def next_tools(self, path: str) -> bytes | None:
        """The tools in the next request of the worker at `path`, as JSON."""
        entry = self._journal.get(path, "request", self.last(path, "request") + 1)
        return self._journal.content(entry.data["asked"]["tools"]) if entry else None

    def decision(
        self, path: str, arguments: Mapping[str, object], ends: Kind | None
    ) -> tuple[DecidedCall, bool] | None:
        """The last of the next recorded decisions on the call at `path`, and whether the call is over.

        In a live run, decisions on other arguments end the search. Later steps are not taken.
        """
        if self.is_empty:
            return None
        decided: DecidedCall | None = None
        step = self.last(path, "decision")
        while entry := self._journal.get(path, "decision", step + 1):
            if self._replay_mode.live and not self._encoding.is_same(entry.digest, arguments):
                break
            step += 1
            decided = decided_in(path, self._journal.whole(entry), arguments)
            if not decided.allowed or self.is_over(path, ends):
                self._taken[path, "decision"] = step
                return decided, True
        self._taken[path, "decision"] = step
        return None if decided is None else (decided, False)

    def has_called(self, path: str) -> bool:
        """Whether code called a worker or a tool at `path`."""
        return self._journal.get(path, "decision") is not None

    def has_called_otherwise(self, path: str, arguments: Mapping[str, object]) -> bool:
        """Whether code called a worker or a tool at `path` with other arguments."""
        entry = self._journal.get(path, "decision")
        return entry is not None and not self._encoding.is_same(entry.digest, arguments)

    def unordered(self, unnumbered: str, arguments: object) -> str:
        """The recorded digest of the input of a call without an order.

        It is found no matter which values are secret by now. `unnumbered` is the call path without the digest.
        """
        if self._unordered is None:
            decisions = self._journal.entries("decision")
            self._unordered = [(entry.path, entry.digest) for entry in decisions if UNORDERED in entry.path]
        beginning = f"{unnumbered}{UNORDERED}"
        for path, digest in self._unordered:
            if path.startswith(beginning) and self._encoding.is_same(digest, arguments):
                return digest
        return self._encoding.digest(arguments)


class Horizon:
    """The end of the recorded part of one run."""

    def __init__(
        self, journal: JournalStore, replay_mode: ReplayMode, brake: Brake, postponed: Postponed
    ) -> None:
        self._journal = journal
        self._replay_mode = replay_mode
        self._brake = brake
        self._postponed = postponed
        self._returns: dict[str, JournalEntry | None] = {}

    async def require_live(self, path: str, deed: str) -> None:
        """Returns if unrecorded steps may happen at `path`: never within a finished delegate's call.

        A replay stops instead, once all that it repeats has come to such a place.

        Raises:
            LlmdoError: The call, or one above it, failed at this place.
        """
        for above in lineage(path):
            if above not in self._returns:
                self._returns[above] = self._journal.get(above, "return")
            if (returned := self._returns[above]) is not None:
                if (failure := self._journal.whole(returned)["error"]) is not None:
                    raise LlmdoError(failure)
                over = f"{path} {deed}, which the journal does not hold, although {above} returned"
                await self._brake.pull(DivergenceError(over))
        if self._replay_mode.live:
            return
        last = ending(self._journal)
        if last is not None and last.outcome != "completed":
            await self._postponed.wait(path, EndedError(f"the run ended at {path}"))
        ends = "" if last else " and ends here"
        await self._brake.pull(DivergenceError(f"{path} {deed}, which the journal does not hold{ends}"))


def count_below(journal: JournalStore, decoding: Decoding, path: str, ledger: Ledger) -> None:
    """Adds the recorded use of the workers below a tool, which are not started again."""
    callers = set()
    for entry in journal.entries("call", "request", "finished", "return", below=path):
        if entry.kind == "call":
            callers.add(entry.path)
            continue
        caller = entry.path if entry.kind == "request" else entry.path.rpartition("/")[0]
        if caller not in callers:
            if entry.path == path or entry.kind != "finished":
                continue
            caller = _worker_above(caller, path, callers)
        worker = caller.rpartition("/")[2].partition("#")[0]
        if entry.kind == "request":
            ledger.count_answered(worker, decoding.response(journal.whole(entry)["response"]).usage)
        elif entry.outcome == "success":
            for used in (ledger.usage, ledger.of_worker(worker)):
                used.tool_calls += 1


def _worker_above(caller: str, path: str, callers: Collection[str]) -> str:
    """The call path of the worker for which code at `caller`, below the tool at `path`, called a tool."""
    while caller not in callers and caller != path:
        caller = caller.rpartition("/")[0]
    while caller not in callers and "." in caller.rpartition("/")[2]:  # a tool that code called
        caller = caller.rpartition("/")[0]
    return caller if caller in callers else caller.rpartition("/")[0] or caller


class Settlement:
    """The settlement of one run's executions: by a person's word, else by the tool's probe; else the run stops."""

    def __init__(
        self,
        journal: JournalStore,
        mode: ReplayMode,
        playback: Playback,
        encoding: Encoding,
        brake: Brake,
        record: Callable[..., Awaitable[None]],
    ) -> None:
        """`record` puts pairs of an entry and its binary contents on disk at once."""
        self._journal, self._mode, self._playback = journal, mode, playback
        self._encoding, self._brake, self._record = encoding, brake, record

    async def settled(self, execution: Execution, step: int, digest: str) -> TookEffect | None:
        """The effect that replaces the execution of number `step`; None if its tool is to run.

        Raises:
            ToolFailed: A person has given it up.
        """
        path = execution.path
        if path in self._mode.given_up and self._journal.get(path, "started", step):
            await self._give_up(execution, step, digest)
        if (doubted := self._playback.doubted(path, step)) is None:
            return None
        answer = await self._brake.carried_through(self._probed(execution, doubted, step, digest))
        if isinstance(answer, NotKnown):
            await self._brake.pull(UnfinishedError(path, execution.tool, answer.why))
        return answer if isinstance(answer, TookEffect) else None

    async def _give_up(self, execution: Execution, step: int, digest: str) -> None:
        path = execution.path
        failure = {"message": f"`{execution.tool}` was interrupted; nobody knows whether it took effect"}
        body = self._encoding.plain(failure).body
        ended = JournalEntry(
            path=path, kind="finished", step=step, outcome="failed", digest=digest, body=body
        )
        await self._record((ended, {}))
        end_again("failed", failure)

    async def _probed(self, execution: Execution, doubted: int, step: int, digest: str) -> Answer:
        """The probe's answer on the execution of number `doubted`, once on disk.

        An effect that took place is kept as the result of the execution of number `step`.
        """
        path, probe, packed = execution.path, execution.probe, None
        answer = await probe.ask(doubted) if probe else NotKnown("it offers no probe any more")
        if isinstance(answer, TookEffect):
            try:
                packed = self._encoding.result(answer.result)
            except PydanticSerializationError as error:
                answer = NotKnown(f"the result of its probe cannot be written as JSON: {error}")
        outcome, number = _outcome_of(answer), self._playback.take_new(path, "probed")
        why = answer.why if isinstance(answer, NotKnown) else None
        data = {"execution": doubted, "probe": probe and probe.name, "why": why}
        body = self._encoding.plain(data).body
        kept = JournalEntry(path=path, kind="probed", step=number, outcome=outcome, body=body)
        if not isinstance(answer, TookEffect) or packed is None:
            await self._record((kept, {}))
            return answer
        ended = replace(kept, kind="finished", step=step, outcome="success", digest=digest, body=packed.body)
        await self._record((kept, {}), (ended, packed.contents))
        return answer


def _outcome_of(answer: Answer) -> str:
    if isinstance(answer, NotKnown):
        return NOT_KNOWN
    return "took effect" if isinstance(answer, TookEffect) else "no effect"
