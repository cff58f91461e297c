"""`chat`: a conversation with an entry; each turn is a run that continues the one before."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.request_fields import option
from llmdo.graph import offers, toolkit
from llmdo.journal.opening import runs_of
from llmdo.journal.secrets import Known
from llmdo.journal.summary import ending, summary, unfinished
from llmdo.journal.unsettled import unsettled
from llmdo.services.continuing import end_of, entry_of
from llmdo.services.plan import ResumeRequest, execute
from llmdo.services.resume_replay import resume
from llmdo.services.root import DEBUG, MODELS, root_folder
from llmdo.services.run import EntryRequest, PreparedRun, chosen_models, prepare
from llmdo.workspace.root import MANIFEST, is_workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_ai.messages import ModelMessage

    from llmdo.graph.offers import Offer
    from llmdo.journal.summary import Summary
    from llmdo.runtime.recording.history import Turn
    from llmdo.services.plan import EndedRun, Host


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """The entry of a conversation, and how it begins."""

    start: EntryRequest = field(default_factory=EntryRequest)
    continues: str | None = field(
        default=None,
        metadata=option("Go on with an earlier chat or run, or with the last.", "--continue", metavar="RUN"),
    )
    models: tuple[str, ...] = field(default=(), metadata=MODELS)
    debug: bool = field(default=False, metadata=DEBUG)


class Chat:
    """A conversation in progress."""

    def __init__(self, prepared: PreparedRun, request: ChatRequest) -> None:
        self.prepared = prepared
        self.entry = prepared.graph.entries[prepared.entry]
        self.models = chosen_models(prepared.graph, request.models, request.start.environ)
        self.turns: list[Turn] = []
        """The turns that the model sees."""
        self.runs: list[str] = []
        """The runs of all turns, also those hidden from the model."""
        self.resumed: EndedRun | None = None
        """The end of an earlier chat's last turn, if it was still open."""
        self._environ = request.start.environ
        self._is_debugged = request.debug
        self._before: tuple[ModelMessage, ...] = ()
        """The messages before the first turn."""

    @property
    def messages(self) -> tuple[ModelMessage, ...]:
        """All that the model sees of the conversation."""
        return (*self._before, *(message for turn in self.turns for message in turn.messages))

    def say(self, text: str, host: Host) -> EndedRun:
        """The end of the next turn's run, with the input `text`.

        Raises:
            LlmdoError: It cannot be started.
        """
        from llmdo.runtime.recording.history import Turn

        prepared = self.prepared
        end = self.turns[-1].end if self.turns else None
        plan = prepared.plan(
            input=text,
            history=self.messages,
            continues=end,
            models=self.models,
            debug=self._is_debugged,
        )
        answering = host.approving(prepared.graph)
        with plan.with_journal(self._environ) as journaled:
            ended = execute(journaled, answering, host)
            self.runs.append(ended.outcome.run)
            try:
                end = end_of(journaled.recorder.journal)
            except LlmdoError as problem:
                host.tell(f"the model does not see this turn: {problem.message}")
                return ended
        outcome = ended.outcome
        self.turns.append(Turn(end=end, input=text, output=outcome.output, messages=outcome.new_messages))
        return ended

    def undo(self) -> Turn | None:
        """Hides the last turn from the model and returns it, if any. Its effects stay."""
        return self.turns.pop() if self.turns else None

    def use_model(self, text: str) -> None:
        """Uses the model of `text`, MODEL or WORKER=MODEL, from the next turn on.

        Raises:
            LlmdoError: It is none, or one that a worker does not work with.
        """
        from llmdo.runtime.models.choice import choose, require_fit

        graph = self.prepared.graph
        chosen = chosen_models(graph, (text,), self._environ)
        default = chosen.default or self.models.default
        models = replace(
            self.models, by_worker={**self.models.by_worker, **chosen.by_worker}, default=default
        )
        for name in toolkit.reachable(graph, self.entry):
            if reference := choose(graph, self.entry, graph.workers[name], models):
                require_fit(graph.workers[name], graph.models.get(reference, (reference,)))
        self.models = models

    def model_names(self) -> dict[str, str]:
        """The model of each worker that the entry reaches."""
        from llmdo.runtime.models.choice import choose

        graph = self.prepared.graph
        workers = (graph.workers[name] for name in toolkit.reachable(graph, self.entry))
        return {worker.name: choose(graph, self.entry, worker, self.models) or "" for worker in workers}

    def tools(self) -> tuple[Offer, ...]:
        """Every tool that a turn could call."""
        return offers.list_tools(self.prepared.graph, self.entry)

    def costs(self) -> Iterator[Summary]:
        """The summary of each turn's run, with its costs."""
        runs = runs_of(self.prepared.root)
        for run in self.runs:
            with runs.read(run) as journal:
                if line := summary(journal, is_running=False):
                    yield line

    def go_on_from(self, run: str, host: Host) -> None:
        """Takes over the turns of an earlier conversation; if its last run is still open, that is resumed first.

        Raises:
            LlmdoError: It is of another entry, is not over, or a part of it is missing.
        """
        from llmdo.runtime.recording.history import earlier_turns

        root = self.prepared.root
        runs, known = runs_of(root), Known.of(self._environ)
        name = runs.find(run)
        if (began := entry_of(root, name)) != self.entry.name:
            raise LlmdoError(
                f"run `{name}` is one of entry `{began}`, and this chat is with `{self.entry.name}`"
            )
        with runs.read(name) as journal:
            last = ending(journal)
            has_probes = bool(unfinished(journal)) and not unsettled(journal, asks_again=True)
        if last is None or last.outcome == "waiting" or has_probes:
            self.resumed = resume(ResumeRequest(root=root, run=name, environ=self._environ), host)
        with runs.read(name, whole=True) as journal:
            self._before, turns = earlier_turns(journal, end_of(journal), known)
        self.turns = list(turns)
        self.runs = [turn.end.run for turn in turns]


def open_chat(request: ChatRequest, host: Host) -> Chat:
    """A new or continued conversation.

    Raises:
        InvalidTeamError: `check` finds errors that prevent it.
        LlmdoError: There is no such entry, it is code, or the run to continue is not over.
    """
    start = request.start
    if request.continues is not None and start.entry is None and not start.words:
        start = replace(start, entry=entry_of(root_folder(start.project), request.continues))
    prepared = prepare(start, host.tell, host.consent)
    if prepared.graph.entries[prepared.entry].worker is None:
        raise LlmdoError(f"entry `{prepared.entry}` is code, and only a worker holds a conversation")
    if not is_workspace(prepared.root):
        raise LlmdoError(
            "a chat keeps journals, which a run of files alone does not", hint=f"write an `{MANIFEST}`"
        )
    if prepared.input is not None:
        raise LlmdoError(
            "a chat takes what is said at its prompt, and no input", hint="`llmdo run` takes one"
        )
    chat = Chat(prepared, request)
    prepared.plan(models=chat.models).trusted_by(host.consent)
    prepared.take_lock_in(host.tell, request.start.environ)
    if request.continues is not None:
        chat.go_on_from(request.continues, host)
    return chat
