"""The numbers of a run's entries of one kind at one call path: which comes next, among those that are there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from llmdo.journal.entries import UNCALLED

if TYPE_CHECKING:
    from llmdo.journal.entries import Kind
    from llmdo.journal.ports import JournalStore
    from llmdo.runtime.recording.replay_mode import ReplayMode


class Steps:
    """Counts what this process has come to, from the beginning of the run."""

    def __init__(self, journal: JournalStore, replay_mode: ReplayMode) -> None:
        self._journal = journal
        self._replay_mode = replay_mode
        self._taken: Counter[tuple[str, Kind]] = Counter()

    def last(self, path: str, kind: Kind) -> int:
        """The number that was taken last; 0 where none was."""
        return self._taken[path, kind]

    def take(self, path: str, kind: Kind) -> int:
        """The next number."""
        self._taken[path, kind] += 1
        return self._taken[path, kind]

    def take_new(self, path: str, kind: Kind) -> int:
        """The next number that no earlier process has recorded."""
        while self._journal.get(path, kind, self.take(path, kind)):
            pass
        return self._taken[path, kind]

    def take_execution(self, path: str) -> int:
        """The number of the next execution of a tool."""
        self._taken[path, "finished"] = step = self._execution(path)
        return step

    def is_over(self, path: str, ends: Kind | None) -> bool:
        """Whether it is recorded what the next execution of the call at `path` came to, so that nothing will run.

        `ends` is the kind of the entry that says so; of nothing but a call that has such entries it can be told.
        """
        if ends == "finished":
            return self._journal.get(path, ends, self._execution(path)) is not None
        return ends is not None and self._journal.get(path, ends, self._taken[path, ends] + 1) is not None

    def doubted(self, path: str, step: int) -> int | None:
        """The number of the execution at `path` that may have taken effect, where the next is of number `step`.

        None where none may, or where a person has decided about it.
        """
        mode = self._replay_mode
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
        """The step of the next execution at `path`, without those that are over and count for nothing.

        These ended with an error and were begun anew, or were started and their tool was not called. One that is to be
        begun anew now is the first that is not recorded.
        """
        step = self._taken[path, "finished"] + 1
        while (entry := self._journal.get(path, "finished", step)) and entry.outcome in ("error", UNCALLED):
            if entry.outcome == UNCALLED:
                step += 1
                continue
            is_anew = any(self._journal.get(path, kind, step + 1) for kind in ("started", "finished"))
            mode = self._replay_mode
            if not is_anew and not (mode.live and path in mode.again | mode.retried):
                break
            step += 1
        return step
