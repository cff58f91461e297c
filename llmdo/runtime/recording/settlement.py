"""The settlement of executions that an earlier process began and that may have taken effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import PydanticSerializationError

from llmdo.base.values import replace
from llmdo.journal.entries import NOT_KNOWN, JournalEntry
from llmdo.runtime.recording.encoding import end_again
from llmdo.runtime.recording.replay_mode import UnfinishedError
from llmdo.toolsets.probes import NotKnown, TookEffect

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from llmdo.journal.stored import JournalStore
    from llmdo.runtime.brake import Brake
    from llmdo.runtime.recording.encoding import Encoding
    from llmdo.runtime.recording.playback import Playback
    from llmdo.runtime.recording.replay_mode import Execution, ReplayMode
    from llmdo.toolsets.probes import Answer


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
