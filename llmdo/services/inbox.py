"""Waiting questions: listed over all runs, and shown whole with their effect on files."""

from __future__ import annotations

import os
from difflib import unified_diff
from pathlib import Path  # noqa: TC003  # the annotations are read
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.values import dataclass, field
from llmdo.journal import JournalError
from llmdo.journal.alike import LikeQuestions
from llmdo.journal.binding import binding_of
from llmdo.journal.entries import lineage
from llmdo.journal.opening import batches_of, runs_of
from llmdo.journal.provenance import Provenance, provenance
from llmdo.journal.questions import (
    StaleError,
    waiting,
)
from llmdo.journal.summary import COMPLETE, summary
from llmdo.policy.authority import Capability
from llmdo.policy.protection import is_secret
from llmdo.services.root import ROOT
from llmdo.services.runs import of_like_calls
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.media import text_of
from llmdo.toolsets.paths import PathRefused
from llmdo.workspace.root import Folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llmdo.journal.items import State
    from llmdo.journal.questions import Waiting
    from llmdo.journal.stored import JournalStore, RunIndex
    from llmdo.journal.summary import Summary
    from llmdo.services.root import Tell

FILESYSTEM = "filesystem"
MAX_BYTES = 1_000_000  # of a file or its new text: a difference between longer ones takes its time
MAX_LINES = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedChange:
    """The proposed change of one file, against its present state."""

    path: str
    """As seen from the folder that tools work on."""
    lines: tuple[str, ...] = ()
    """A unified difference, each line without its end."""
    note: str = ""
    """Why there are none, or another remark."""


def proposed_change(record: Mapping[str, Any], folders: Folders | None) -> ProposedChange | None:
    """The effect on a file of a question's call, by its record; None if it has none."""
    written = [
        raised.scope
        for raised in map(Capability.parse, record["capabilities"])
        if raised.name == "fs.write" and raised.scope and not raised.scope.endswith("**")
    ]
    arguments = record["arguments"]
    if (
        record["toolset"] != FILESYSTEM
        or len(written) != 1
        or folders is None
        or not isinstance(arguments, dict)
    ):
        return None
    path = written[0]
    if is_secret(path):
        return ProposedChange(path=path, note="what is in it now mostly holds secrets, and is not shown")
    try:
        with Root.of(folders) as root:
            before = _now(root, path)
    except (LlmdoError, OSError, PathRefused) as error:
        return ProposedChange(path=path, note=f"what is in it now cannot be read: {error}")
    if before is None:
        return ProposedChange(path=path, note="what is in it now is not text")
    match record["tool"], arguments:
        case "write_file", {"content": str() as after}:
            return _difference(path, before, after)
        case "edit_file", {"old": str() as old, "new": str() as new}:
            if (number := before.count(old) if old else 0) != 1:
                return ProposedChange(
                    path=path,
                    note=f"the text to replace is in the file {number:,} times now, so it would not change",
                )
            return _difference(path, before, before.replace(old, new))
    return None


def _now(root: Root, path: str) -> str | None:
    """The text of a file, empty if there is none; None if it holds no text."""
    return "" if root.kind(path) == "missing" else text_of(root.read(path, MAX_BYTES))


def _difference(path: str, before: str, after: str) -> ProposedChange:
    old, new = before.split("\n"), after.split("\n")
    if before == after:
        return ProposedChange(path=path, note="nothing in it would change")
    if len(after) > MAX_BYTES or len(old) + len(new) > MAX_LINES:
        return ProposedChange(path=path, note="too long for a difference: the new text is above")
    note = "" if before else "the file is new, or empty"
    lines = unified_diff(old, new, "now", "then", n=3, lineterm="")
    return ProposedChange(path=path, lines=tuple(lines), note=note)


OPEN = frozenset({"waiting", "running", "stopped"})
"""The runs whose questions wait. One that failed or that a person ended goes on only on request."""

AT_TERMINAL = "only a person at a terminal may allow this"
NOT_WHOLE = "a part of this call looks like a secret and is left out, so it cannot be shown whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A waiting question, and its run."""

    run: Summary
    question: Waiting
    callers: tuple[tuple[str, str], ...]
    """The workers through which it is asked: their call paths and names, the entry's first."""

    @property
    def obstacle(self) -> str | None:
        """The reason why it can only be allowed at a terminal; None if it can be allowed elsewhere."""
        if self.question.terminal_only:
            return AT_TERMINAL
        return None if self.question.is_whole else NOT_WHOLE


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRequest:
    """Whose questions are listed."""

    root: Path = field(metadata=ROOT)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class LikeCalls:
    """Waiting calls that a person may answer at once: of one worker and tool, for the same reasons."""

    calls: tuple[Pending, ...]
    """At least one, each of which keeps an answer of its own."""

    @property
    def obstacle(self) -> str | None:
        """The reason why they can only be allowed at a terminal, one by one."""
        return self.calls[0].obstacle

    @property
    def questions(self) -> LikeQuestions:
        """Their questions."""
        record = self.calls[0].question.record
        return LikeQuestions(
            questions=tuple(each.question for each in self.calls),
            titles=tuple(each.run.heading or each.run.entry for each in self.calls),
            reasons=_reasons(record),
            raises=_raises(record),
        )


def like_calls(pending: Iterable[Pending]) -> tuple[LikeCalls, ...]:
    """The questions with those like them, in the order of the first of each, and within as their runs began.

    Which of a batch's runs asks first is chance; their ids have the order of its inputs.
    """
    groups: dict[tuple[object, ...], list[Pending]] = {}
    for each in pending:
        record = each.question.record
        called = (record["worker"], record["toolset"], record["tool"])
        groups.setdefault((*called, _reasons(record), _raises(record), each.obstacle), []).append(each)
    return tuple(
        LikeCalls(calls=tuple(sorted(group, key=lambda each: each.run.run))) for group in groups.values()
    )


def _reasons(record: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(of_like_calls, record["reasons"])))


def _raises(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The raised capabilities; a scope that is an argument goes by the name of that."""
    arguments = record["arguments"].items() if isinstance(record["arguments"], dict) else ()
    names = {value: name for name, value in arguments if isinstance(value, str)}
    raised = map(Capability.parse, record["capabilities"])
    return tuple(
        f"{each.name}:<{names[each.scope]}>" if each.scope in names else str(each) for each in raised
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStanding:
    """The batch whose item waits with a run."""

    batch: str
    counts: Mapping[State, int]
    """Its items by state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A question that waits, with what is known about its call."""

    pending: Pending
    change: ProposedChange | None
    """None if no effect on a file is known."""
    provenance: Provenance
    batch: BatchStanding | None
    """None if the run is of no batch."""


@dataclass(slots=True, kw_only=True)
class Inbox:
    """All waiting questions of one workspace. Complete runs are read once: nothing in them waits again."""

    root: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _complete: set[str] = field(default_factory=set)

    def pending(self, tell: Tell) -> list[Pending]:
        """The waiting questions, the run with the oldest one first; tells of unreadable runs.

        Those of one run are in the order of their call paths: that in which they came is chance.
        """
        runs = runs_of(self.root, self.environ)
        questions: list[list[Pending]] = []
        for name in runs.names():
            if name in self._complete:
                continue
            try:
                questions.append([*self._of_run(runs, name)])
            except JournalError as error:
                tell(f"warning: {error.message}")
        questions.sort(key=lambda those: min((each.question.entry.at for each in those), default=0))
        return [each for those in questions for each in those]

    def like(self, run: str, path: str, tell: Tell) -> LikeCalls:
        """The question of that run that waits at that call path, with those like it.

        Raises:
            StaleError: None does, or not any more.
        """
        for group in like_calls(self.pending(tell)):
            if any((each.run.run, each.question.path) == (run, path) for each in group.calls):
                return group
        raise StaleError(f"no question waits at `{path}`")

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
        """The question of that run that waits at that call path, in full.

        Raises:
            StaleError: None does, or not any more.
            LlmdoError: There is no such run, or it cannot be read.
        """
        runs = runs_of(self.root, self.environ)
        questions = {each.pending.question.path: each for each in self._calls(runs, runs.find(run))}
        if path not in questions:
            raise StaleError(f"no question waits at `{path}`", hint=did_you_mean(path, questions))
        return questions[path]

    def calls(self, pending: Iterable[Pending]) -> dict[tuple[str, str], PendingCall]:
        """These questions in full, by run and call path; without those that wait no more.

        Raises:
            LlmdoError: One of the runs cannot be read any more.
        """
        wanted = {(each.run.run, each.question.path) for each in pending}
        runs = runs_of(self.root, self.environ)
        full = (each for run in dict.fromkeys(run for run, _ in wanted) for each in self._calls(runs, run))
        keyed = {(each.pending.run.run, each.pending.question.path): each for each in full}
        return {place: call for place, call in keyed.items() if place in wanted}

    def _calls(self, runs: RunIndex, name: str) -> Iterator[PendingCall]:
        """All that waits in a run, in full."""
        with runs.read(name) as journal:
            summed = summary(journal, is_running=runs.is_claimed(name))
            pending = [*_pending(journal, summed)] if summed else []
            batch = self._batch(name) if pending else None
            folders = _folders(self.root, journal) if pending else None
            for each in pending:
                yield PendingCall(
                    pending=each,
                    change=proposed_change(each.question.record, folders),
                    provenance=provenance(journal, each.question),
                    batch=batch,
                )

    def _batch(self, run: str) -> BatchStanding | None:
        batches = batches_of(self.root, self.environ)
        if (batch := batches.of_run(run)) is None:
            return None
        with batches.open(batch) as store:
            return BatchStanding(batch=batch, counts=store.counts())


def _pending(journal: JournalStore, run: Summary) -> Iterator[Pending]:
    questions = waiting(journal)
    workers = (
        {entry.path: str(entry.data["worker"]) for entry in journal.entries("call")} if questions else {}
    )
    for question in questions.values():
        above = [place for place in reversed([*lineage(question.path)]) if place in workers]
        yield Pending(run=run, question=question, callers=tuple((place, workers[place]) for place in above))


def _folders(root: Path, journal: JournalStore) -> Folders | None:
    """The folders that the tools of the run work on; None if its journal does not say."""
    try:
        return Folders(root, binding_of(journal).graph.settings.root)
    except LlmdoError:
        return None
