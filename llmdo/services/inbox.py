"""What waits for a person, over all runs of a store, and all that there is to know of one such question."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.values import dataclass, field
from llmdo.journal import JournalError
from llmdo.journal.answers import StaleError
from llmdo.journal.binding import binding_of
from llmdo.journal.entries import lineage
from llmdo.journal.opening import runs_of
from llmdo.journal.questions import waiting
from llmdo.journal.summary import COMPLETE, summary
from llmdo.services.proposed import proposed_change
from llmdo.workspace.tools_root import Folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from llmdo.journal.questions import Waiting
    from llmdo.journal.stored import JournalStore, RunIndex
    from llmdo.journal.summary import Summary
    from llmdo.services.proposed import ProposedChange
    from llmdo.services.root import Tell

OPEN = frozenset({"waiting", "running", "stopped"})
"""The runs whose questions wait: one that failed, or that a person ended, goes on only where somebody says so."""

AT_TERMINAL = "only a person at a terminal may allow this"
NOT_WHOLE = "a part of this call looks like a secret and is left out, so it cannot be shown whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A question that waits, and the run that it belongs to."""

    run: Summary
    question: Waiting
    callers: tuple[tuple[str, str], ...]
    """Through whom it is asked: the call paths of workers and their names, the entry's first."""

    @property
    def obstacle(self) -> str | None:
        """Why it cannot be allowed but at a terminal; None where it can."""
        if self.question.terminal_only:
            return AT_TERMINAL
        return None if self.question.is_whole else NOT_WHOLE


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A question that waits, with what its call would do to a file."""

    pending: Pending
    change: ProposedChange | None
    """None where it would not do anything to a file, as far as anybody knows."""


@dataclass(slots=True, kw_only=True)
class Inbox:
    """All that waits in one workspace. Runs that are complete are looked at once: nothing in them waits again."""

    root: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _complete: set[str] = field(default_factory=set)

    def pending(self, tell: Tell) -> Iterator[Pending]:
        """The questions that wait, those of the last run first; tells of runs that cannot be read."""
        runs = runs_of(self.root, self.environ)
        for name in reversed(runs.names()):
            if name in self._complete:
                continue
            try:
                yield from self._of_run(runs, name)
            except JournalError as error:
                tell(f"warning: {error.message}")

    def _of_run(self, runs: RunIndex, name: str) -> Iterator[Pending]:
        with runs.read(name) as journal:
            summed = summary(journal, is_running=runs.is_claimed(name))
            if summed is None:
                return
            if summed.status in COMPLETE:
                self._complete.add(name)
            elif summed.status in OPEN and summed.questions:
                yield from _pending(journal, summed)

    def call(self, run: str, path: str) -> PendingCall:
        """The question of that run that waits at that call path, with all that it says.

        Raises:
            StaleError: None does, or not any more.
            LlmdoError: There is no such run, or it cannot be read.
        """
        runs = runs_of(self.root, self.environ)
        name = runs.find(run)
        with runs.read(name) as journal:
            summed = summary(journal, is_running=runs.is_claimed(name))
            questions = (
                {} if summed is None else {each.question.path: each for each in _pending(journal, summed)}
            )
            if path not in questions:
                raise StaleError(f"no question waits at `{path}`", hint=did_you_mean(path, questions))
            change = proposed_change(questions[path].question.record, _folders(self.root, journal))
            return PendingCall(pending=questions[path], change=change)


def _pending(journal: JournalStore, run: Summary) -> Iterator[Pending]:
    questions = waiting(journal)
    workers = (
        {entry.path: str(entry.data["worker"]) for entry in journal.entries("call")} if questions else {}
    )
    for question in questions.values():
        above = [place for place in reversed([*lineage(question.path)]) if place in workers]
        yield Pending(run=run, question=question, callers=tuple((place, workers[place]) for place in above))


def _folders(root: Path, journal: JournalStore) -> Folders | None:
    """What the tools of the run work on; None where its journal does not say."""
    try:
        return Folders(root, binding_of(journal).graph.settings.root)
    except LlmdoError:
        return None
