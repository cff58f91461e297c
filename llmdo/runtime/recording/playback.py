"""What the journal of a run says of what comes next at a call path. Asking changes nothing: `Recorder` goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.journal.decided import decided_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.journal.decided import DecidedCall
    from llmdo.journal.entries import Kind
    from llmdo.journal.ports import JournalStore
    from llmdo.runtime.recording.encoding import Encoding
    from llmdo.runtime.recording.replay_mode import ReplayMode
    from llmdo.runtime.recording.steps import Steps


class Playback:
    """The recorded part of one run, seen from where this process has come to."""

    def __init__(
        self, journal: JournalStore, replay_mode: ReplayMode, encoding: Encoding, steps: Steps
    ) -> None:
        """`steps` says how far this process has come."""
        self._journal = journal
        self._replay_mode = replay_mode
        self._encoding = encoding
        self._steps = steps

    def next_tools(self, path: str) -> bytes | None:
        """What the worker called at `path` was shown of its tools in the request that comes next, as JSON."""
        entry = self._journal.get(path, "request", self._steps.last(path, "request") + 1)
        return self._journal.content(entry.data["asked"]["tools"]) if entry else None

    def decisions(self, path: str, arguments: Mapping[str, object]) -> list[DecidedCall]:
        """The recorded decisions on the call at `path` that come next, as far as they are on these arguments.

        Where nothing is executed, whatever they are on.
        """
        decisions: list[DecidedCall] = []
        step = self._steps.last(path, "decision")
        while entry := self._journal.get(path, "decision", step := step + 1):
            if self._replay_mode.live and not self._encoding.is_same(entry.digest, arguments):
                break
            decisions.append(decided_in(path, self._journal.whole(entry), arguments))
        return decisions

    def has_called(self, path: str) -> bool:
        """Whether code called a worker at `path`."""
        return self._journal.get(path, "decision") is not None

    def has_called_otherwise(self, path: str, arguments: Mapping[str, object]) -> bool:
        """Whether code called a worker at `path` with other arguments than these."""
        entry = self._journal.get(path, "decision")
        return entry is not None and not self._encoding.is_same(entry.digest, arguments)

    def step_of(self, path: str) -> int:
        """The number of the execution of the call at `path` that was begun last; 1 of a call that is not executed."""
        return self._steps.last(path, "finished") or 1

    def is_over(self, path: str, ends: Kind | None) -> bool:
        """Whether it is recorded what the next execution of the call at `path` came to, as `Steps.is_over` says."""
        return self._steps.is_over(path, ends)
