"""An answer to a question that waits, from somebody who is not at its run's terminal."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.answers import Answers, GoesOnError, StaleError, give, require_open, require_unanswered
from llmdo.journal.binding import binding_of
from llmdo.journal.opening import runs_of
from llmdo.journal.questions import waiting
from llmdo.journal.secrets import Known
from llmdo.services.handing import hand_over, is_of_workers
from llmdo.services.inbox import NOT_WHOLE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmdo.journal.stored import JournalStore
    from llmdo.services.beside import RunBeside

GoesOn = Literal["no", "here", "itself", "workers"]
"""Who goes on with a run after an answer: nobody, a process that is to be started, its own, or workers of a fleet."""

Verb = Literal["allow", "always", "edit", "refuse", "stop"]
"""`always`: this very call, until the run ends; `edit`: another call instead, which is decided on anew."""


class NotWholeError(LlmdoError):
    """A call cannot be allowed where not all of it can be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """What somebody says to one question."""

    run: str
    path: str
    digest: str
    """That of the question that was shown."""
    verb: Verb
    instead: Mapping[str, object] | None = None
    """The arguments of the other call."""
    reason: str = ""
    """Why not, for the model."""
    by: str | None = None
    """None: the user of this machine."""

    @property
    def record(self) -> dict[str, object]:
        """The answer as `llmdo approve --answers` reads it; not of one that ends the run."""
        common = {"path": self.path, "digest": self.digest, "reason": self.reason, "by": self.by}
        match self.verb:
            case "edit":
                return {**common, "instead": self.instead}
            case "always":
                return {**common, "allowed": True, "lasts": True}
        return {**common, "allowed": self.verb == "allow"}

    @property
    def name(self) -> str:
        """Who answers."""
        return str(Answers(by=self.by).as_kept({"allowed": False})["by"])

    @property
    def as_sent(self) -> dict[str, object]:
        """The answer as a run takes it that goes on."""
        return {
            "digest": self.digest,
            "verb": self.verb,
            "reason": self.reason,
            "instead": self.instead,
            "by": self.name,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOutcome:
    """What came of an answer."""

    run: str
    """The id of the run."""
    goes_on: GoesOn


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """An answer, and the workspace whose runs it is for."""

    root: Path
    answer: GivenAnswer
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def answer(request: AnswerRequest, beside: RunBeside | None = None) -> AnswerOutcome:
    """Keeps the answer for whoever goes on with the run, or ends the run.

    The run `beside` takes an answer as it goes on. Workers of a fleet go on once nothing waits any more.

    Raises:
        StaleError: The question is not the one any more that was shown, or waits no more.
        GoesOnError: A process works on the run, which would not see the answer.
        NotWholeError: It allows a call that cannot be shown whole.
        LlmdoError: It does not fit: only a person at a terminal may give it, or it contradicts itself.
    """
    sent = request.answer
    if (sent.verb == "edit") != (sent.instead is not None):
        raise LlmdoError("the arguments of another call belong to an edit, and an edit has some")
    runs = runs_of(request.root, request.environ)
    run = runs.find(sent.run)
    if beside is not None and beside.run == run and not beside.is_over:
        with runs.read(run) as journal:
            _require_shown(journal, sent)
        beside.answer(sent.path, sent.as_sent)
        return AnswerOutcome(run=run, goes_on="itself")
    if runs.is_claimed(run):
        with runs.read(run) as journal:
            require_unanswered(journal, [sent.path])
        raise GoesOnError(f"run `{run}` goes on, and can be answered once it has stopped")
    with runs.claim(run), runs.open(run) as journal:
        journal.know(Known.of(request.environ))
        _require_shown(journal, sent)
        if sent.verb == "stop":
            _end(journal, sent, request)
            return AnswerOutcome(run=run, goes_on="no")
        give(journal, Answers(records=[sent.record]))
        has_more = bool(waiting(journal))
    if not is_of_workers(request.root, run, request.environ):
        return AnswerOutcome(run=run, goes_on="here")
    if not has_more:
        hand_over(request.root, run, request.environ)
    return AnswerOutcome(run=run, goes_on="no" if has_more else "workers")


def _require_shown(journal: JournalStore, sent: GivenAnswer) -> None:
    """Nothing, where the question that waits is the one that was shown, all of it where the answer allows it.

    Raises:
        StaleError: It is another one, or none waits.
        NotWholeError: Not all of it can be shown.
    """
    require_open(journal, [sent.path])
    question = waiting(journal).get(sent.path)
    if question is None or question.key != sent.digest:
        raise StaleError(f"{sent.path}: the answer is for another question than the one that waits")
    if sent.verb in ("allow", "always") and not question.is_whole:
        raise NotWholeError(f"{sent.path}: {NOT_WHOLE}", hint=f"`llmdo approve {journal.run}` at a terminal")


def _end(journal: JournalStore, sent: GivenAnswer, request: AnswerRequest) -> None:
    """Keeps that a person ended the run: its questions wait for whoever goes on with it."""
    from llmdo.runtime.recording.recorder import Recorder  # which takes a second
    from llmdo.runtime.telemetry.redaction import Redaction

    by = sent.name
    recorder = Recorder(journal, Redaction.of(request.environ))
    binding = binding_of(journal)

    async def work() -> None:
        await recorder.begin(binding, "nobody", None, {}, request.root)
        await recorder.end(
            binding.entry, "interrupted", {"error": f"{by} ended the run at `{sent.path}`", "hint": None}
        )

    asyncio.run(work())
