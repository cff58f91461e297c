"""Runs for the clients of a server: begun and resumed, with answers to questions and reports of steps."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.opening import claimed, runs_of
from llmdo.journal.questions import Answers, give, waiting
from llmdo.journal.records import records_of
from llmdo.journal.secrets import Known
from llmdo.journal.summary import ending
from llmdo.runtime import new_run
from llmdo.runtime.telemetry import events
from llmdo.services.basis import Basis
from llmdo.services.continuing import continuing
from llmdo.services.plan import EndedRun, ResumeRequest, RunPlan, completed, continuation
from llmdo.services.soundness import tell_nobody

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Mapping
    from pathlib import Path

    from mcp.server.session import ServerSession

    from llmdo.graph.resolved import Graph
    from llmdo.journal.questions import Waiting
    from llmdo.journal.stored import JournalStore
    from llmdo.runtime import Approver, RunOptions
    from llmdo.runtime.telemetry.events import Event, Sink
    from llmdo.services.root import Tell


MODE = "client"
"""The audit's name for answers by a client's user; clients may resume no other runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTeam:
    """A workspace whose entries are run for clients."""

    graph: Graph
    root: Path
    prompts: Mapping[str, str]
    options: RunOptions
    """The options of every run."""
    keeps: bool = False
    """Whether its runs keep journals, in which questions can wait."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    tell: Tell = tell_nobody

    async def begin(
        self,
        entry: str,
        text: str | None,
        approver: Approver | None,
        on_event: Sink,
        *,
        earlier: str | None = None,
    ) -> EndedRun:
        """The end of a new run of `entry`, perhaps waiting; `earlier` is the run that it continues.

        Raises:
            LlmdoError: It cannot begin, or cannot continue that one.
        """
        plan = RunPlan(
            basis=Basis(graph=self.graph, prompts=self.prompts),
            root=self.root,
            entry=entry,
            options=replace(self.options, run=new_run(), input=text),
        )
        if earlier is not None:
            self.entry_of(earlier, [entry])
            plan = await asyncio.to_thread(continuing, plan, earlier, self.environ, keeps=self.keeps)
        with plan.with_journal(self.environ, keeps=self.keeps) as journaled:
            return await self._ended(journaled, approver, on_event)

    async def go_on(self, name: str, approver: Approver | None, on_event: Sink) -> EndedRun:
        """The end of the resumed run of that id; of a complete one, its recorded end.

        Raises:
            LlmdoError: It cannot be resumed.
        """
        request = ResumeRequest(root=self.root, run=name, environ=self.environ)
        with claimed(self.root, name, self.environ) as journal:
            if (ended := completed(journal)) is not None:
                return ended
            plan = await asyncio.to_thread(continuation, journal, request, self.tell, self.options.consent)
            return await self._ended(plan, approver, on_event)

    async def _ended(self, plan: RunPlan, approver: Approver | None, on_event: Sink) -> EndedRun:
        plan = plan.saying(
            approver=approver,
            mode=MODE,
            tightening=self.options.tightening,
            consent=self.options.consent,
            on_event=on_event,
            streams="entry",
        )
        with plan.audited(self.tell):
            return EndedRun(outcome=await plan.outcome(), questions=plan.questions)

    def entry_of(self, name: str, offered: Collection[str]) -> str:
        """The entry, one of `offered`, of the run of that very id, which a client began and may resume.

        Raises:
            LlmdoError: There is none, or it neither waits nor is complete. Other runs are not revealed.
        """
        runs = runs_of(self.root)
        nothing = LlmdoError(f"there is no run `{name}` that this server began")
        if name not in runs.names():
            raise nothing
        with runs.read(name) as journal:
            first, end = journal.last("run"), ending(journal)
            if first is None or first.path not in offered or not _is_of_client(journal):
                raise nothing
            if end is None or end.outcome not in ("waiting", "completed"):
                raise LlmdoError(f"run `{name}` does not wait for answers")
            return first.path

    def waiting(self, name: str) -> dict[str, Waiting]:
        """The questions that wait in the run of that id."""
        with runs_of(self.root).read(name) as journal:
            journal.know(Known.of(self.environ))
            return waiting(journal)

    def answer(self, name: str, digests: Mapping[str, str], answers: Mapping[str, bool]) -> None:
        """Keeps the answers of the client's person to questions of the run, by call path.

        `digests` are those of the questions as shown: one that waits no more, or has changed, gets no answer.

        Raises:
            LlmdoError: Only a person at a terminal may give such an answer.
        """
        with claimed(self.root, name, self.environ) as journal:
            records = [
                {"path": path, "digest": question.key, "allowed": answers[path]}
                for path, question in waiting(journal).items()
                if path in answers and digests.get(path) == question.key
            ]
            give(journal, Answers(records=records, by=MODE))


def _is_of_client(journal: JournalStore) -> bool:
    """Whether a client began the run, as its audit says."""
    return next(records_of(journal), {}).get("mode") == MODE


LONGEST_PIECE = 200  # characters of an answer, the last ones that arrived


class ClientProgress:
    """Tells the client of each step of a run, in its own time."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._waiting: list[str] = []
        self._text = ""
        """The text so far of the current answer of the entry's worker."""
        self._is_text = False
        """Whether the last waiting message shows that text: the next piece replaces it."""
        self._is_over = False
        self._more = asyncio.Event()

    def __call__(self, event: Event) -> None:
        """Takes in one event; those left out are in the log and the audit."""
        if isinstance(event, events.TextDelta):
            self._text = f"{self._text}{event.text}"[-LONGEST_PIECE:]
            if self._is_text and self._waiting:
                self._waiting.pop()
            self._waiting.append(f"{event.path}: {self._text}")
        elif message := _step(event):
            self._text = ""
            self._waiting.append(message)
        else:
            return
        self._is_text = isinstance(event, events.TextDelta)
        self._more.set()

    @asynccontextmanager
    async def reporting(self) -> AsyncIterator[ClientProgress]:
        """The context of the run: all steps are sent before the result."""
        sending = asyncio.ensure_future(self._report())
        try:
            yield self
            self._is_over = True
            self._more.set()
            await asyncio.wait(
                [sending]
            )  # a client that hears nothing of the steps may still hear of the result
        finally:
            sending.cancel()

    async def _report(self) -> None:
        steps = 0
        while self._waiting or not self._is_over:
            if not self._waiting:
                self._more.clear()
                await self._more.wait()
                continue
            steps += 1
            await self._session.report_progress(steps, message=self._waiting.pop(0))


def _step(event: Event) -> str | None:
    match event:
        case events.StreamBroken():
            step = ": the answer broke off"
        case events.WorkerStarted():
            step = " ..."
        case events.ToolCalled():
            step = ""
        case events.ToolFinished():
            step = f": {event.outcome}"
        case events.ModelResponded():
            step = f": {event.model} answers"
        case events.WorkerFinished():
            step = ": failed" if event.error else ": stopped" if event.output is None else ": done"
        case _:
            return None
    return f"{event.path}{step}"
