"""Plans of runs: how one begins, goes on or is repeated, and its execution for a host."""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path  # noqa: TC003  # the annotations of requests are read
from typing import TYPE_CHECKING, Protocol

from llmdo.base.request_fields import option
from llmdo.journal import JournalError, audit
from llmdo.journal.eligibility import require_going
from llmdo.journal.location import require_here
from llmdo.journal.opening import runs_of
from llmdo.journal.questions import waiting
from llmdo.journal.title import title_text
from llmdo.journal.unsettled import require_ended
from llmdo.services.basis import BegunRun, Origin, to_go_on, word_on
from llmdo.services.root import DEBUG, ROOT, RUN, SOURCES
from llmdo.toolsets.processes import hide_from_children
from llmdo.workspace import project as projects

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping
    from contextlib import AbstractContextManager

    from pydantic_ai.capabilities import AbstractCapability

    from llmdo.graph.resolved import Graph
    from llmdo.journal.questions import Waiting
    from llmdo.journal.stored import JournalStore
    from llmdo.policy.authority import Rule
    from llmdo.runtime import Approver, RunOptions, RunOutcome, Stop
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.recording.replay_mode import ReplayMode
    from llmdo.runtime.telemetry.events import Sink, Streams
    from llmdo.services.basis import Basis
    from llmdo.services.root import Tell
    from llmdo.workspace.trust import Consent


@dataclass(frozen=True, slots=True, kw_only=True)
class Approving:
    """Who answers, and in which manner."""

    approver: Approver
    mode: str
    """In words for the person: `prompt`, `approve-all`, `reject-all`, `later`, perhaps `approve fs.write` before it."""
    unasked: bool = False
    """Whether questions find nobody, although nobody chose that."""
    tightening: tuple[Rule, ...] = ()
    """The rules of the person's own policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """The receiver of a run's events, and the instruments that watch its agents."""

    sink: Sink
    abandon: Callable[[], None]
    """Gives the terminal back before the program ends at once."""
    instruments: tuple[AbstractCapability[object], ...] = field(default=())
    streams: Streams = "nothing"
    """Whose answers the sink takes piece by piece."""
    has_shown: Callable[[str | None], bool] = field(default=lambda _: False)
    """Whether the person has seen this answer already, as it arrived."""


class Host(Protocol):
    """The program around a run."""

    @property
    def is_brief(self) -> bool:
        """Whether it shows what a run did, but not how it was started and audited."""

    def tell(self, line: str) -> None:
        """Takes a line for the person who waits."""

    @property
    def consent(self) -> Consent:
        """Who answers for the code that a run would execute."""

    def approving(self, graph: Graph) -> Approving:
        """Who answers the questions of a run of `graph`."""

    def watching(self, *, plan: RunPlan, approvals: str) -> AbstractContextManager[Watch]:
        """The observers of the planned run."""

    def wait_for(
        self, work: Coroutine[object, object, RunOutcome], abandon: Callable[[], None], stop: Stop
    ) -> RunOutcome:
        """The result of `work`, which `stop` ends early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """How a run ended."""

    outcome: RunOutcome
    questions: Mapping[str, Waiting] = field(default_factory=dict)
    """Those that wait for an answer, by call path."""
    unasked: bool = False
    """Whether questions found nobody, although nobody chose that."""
    is_shown: bool = False
    """Whether the person has seen its output already."""
    is_recorded: bool = False
    """Whether it had ended before, and nothing ran now."""
    differences: tuple[str, ...] = ()
    """Tools that ran once more in a replay and did not end as recorded."""
    is_there: bool = False
    """Whether a replay reached the requested stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """A run that begins, goes on or is repeated, as its journal and mode say."""

    basis: Basis
    root: Path
    entry: str
    options: RunOptions

    @classmethod
    def begin(cls, basis: Basis, root: Path, entry: str, /, **options: object) -> RunPlan:
        """A new run, with these options of `RunOptions`, by name."""
        from llmdo.runtime import RunOptions, new_run  # which takes a second

        return cls(basis=basis, root=root, entry=entry, options=RunOptions(run=new_run())).saying(**options)

    def saying(self, **options: object) -> RunPlan:
        """The same with these options of `RunOptions` replaced, by name."""
        return replace(self, options=replace(self.options, **options))  # type: ignore[arg-type]

    @property
    def title(self) -> str:
        """The text of its title, which still holds the secrets that its input does."""
        entry, item = self.basis.graph.entries[self.entry], self.options.item
        text = self.options.input if self.options.input is not None else entry.input
        return (item and item.title) or title_text(entry.title, text or "")

    @property
    def recorder(self) -> Recorder:
        """The recorder of its journal; only for a run that keeps one."""
        assert self.options.recorder is not None, "it keeps a journal"  # noqa: S101
        return self.options.recorder

    @property
    def questions(self) -> dict[str, Waiting]:
        """Those in its journal that wait."""
        return waiting(self.options.recorder.journal) if self.options.recorder else {}

    @property
    def _complete(self) -> RunOptions:
        return replace(self.options, code=self.basis.code)

    def trusted_by(self, consent: Consent) -> RunPlan:
        """The same plan, once `consent` lets through all that it would execute.

        The run asks as well, and nothing passes that. Asking here comes before anything is written or drawn for the
        run, and outside the event loop, in which Ctrl-C ends no question. Granted consent is not asked for again.

        Raises:
            UntrustedError: Nobody has.
        """
        from llmdo.runtime import consented

        consented(self.basis.graph, self.root, replace(self._complete, consent=consent))
        return self.saying(consent=consent)

    @contextmanager
    def with_journal(self, environ: Mapping[str, str], *, keeps: bool = True) -> Iterator[RunPlan]:
        """The same with the journal of a new run while the block runs, if it keeps one.

        Raises:
            JournalError: It cannot be written.
        """
        from llmdo.runtime.recording.keeping import keeping

        with keeping(self.root, self.options.run or "", environ) if keeps else nullcontext() as recorder:
            yield self.saying(recorder=recorder)

    @contextmanager
    def audited(self, tell: Tell) -> Iterator[None]:
        """A block around the run: tells afterwards how the audit of a run with a journal ends."""
        try:
            yield
        finally:
            recorder = self.options.recorder
            if recorder and recorder.has_begun:
                try:
                    last = audit.read(recorder.journal.lines()).last
                except JournalError as error:  # the run has ended all the same
                    tell(f"audit: {error.message}")
                else:
                    tell(f"audit: {last.number} records, head {last.head}")

    async def outcome(self) -> RunOutcome:
        """The outcome of the run.

        Raises:
            UntrustedError: It would execute code that nobody has answered for.
            LlmdoError: It cannot begin; no model was asked.
        """
        from llmdo.runtime import run

        basis = self.basis
        return await run(
            basis.graph, root=self.root, prompts=basis.prompts, entry=self.entry, options=self._complete
        )


def execute(plan: RunPlan, answering: Approving, host: Host) -> EndedRun:
    """The end of the planned run, after all of its host's work for it.

    Raises:
        UntrustedError: The host refuses its code.
        LlmdoError: It cannot start.
    """
    from llmdo.runtime import Stop

    hide_from_children()
    plan, stop = plan.trusted_by(host.consent), Stop()
    with (
        nullcontext() if host.is_brief else plan.audited(host.tell),
        host.watching(plan=plan, approvals=answering.mode) as watch,
    ):
        plan = plan.saying(
            approver=answering.approver,
            mode=answering.mode,
            tightening=answering.tightening,
            on_event=watch.sink,
            streams=watch.streams,
            instruments=watch.instruments,
            stop=stop,
        )
        outcome = host.wait_for(plan.outcome(), watch.abandon, stop)
        return EndedRun(
            outcome=outcome,
            questions=plan.questions,
            unasked=answering.unasked,
            is_shown=watch.has_shown(outcome.output),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeRequest:
    """The run to resume, with the answers to the reasons of its stop."""

    root: Path = field(metadata=ROOT)
    run: str = field(metadata=RUN)
    allow_drift: tuple[str, ...] = field(
        default=(), metadata=option("Something that changed since; may be repeated.", metavar="NAME")
    )
    sources: Origin = field(default="workspace", metadata=SOURCES)
    again: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "A call that did not finish or ended the run, to run once more; may hold *, and be repeated.",
            metavar="PATH",
        ),
    )
    give_up: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "One that did not finish: tell its model that the outcome is unknown; may hold *.",
            metavar="PATH",
        ),
    )
    retried: tuple[str, ...] = ()
    """Calls that ended the run, to run once more unless a probe finds that they took effect."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """New limits for the rest of the run, by their names in the manifest."""
    accepting: str = "{flags}"
    """How a difference is accepted, in words for the person."""
    debug: bool = field(default=False, metadata=DEBUG)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def completed(journal: JournalStore) -> EndedRun | None:
    """The end of the run if it is complete; `journal` knows the secrets of the environment."""
    last = journal.last("end")
    if last is None or last.outcome != "completed":
        return None
    from llmdo.runtime.recording.history import history_of, new_messages
    from llmdo.runtime.recording.keeping import outcome_in

    known = journal.secrets.known
    new = new_messages(journal, known)
    outcome = replace(outcome_in(last, journal.for_output(last)), new_messages=new)
    with suppress(JournalError):  # what it said is known all the same
        outcome = replace(outcome, messages=(*history_of(journal, known), *new))
    return EndedRun(outcome=outcome, is_recorded=True)


def continuation(
    journal: JournalStore, request: ResumeRequest, tell: Tell, consent: Consent | None = None
) -> RunPlan:
    """The run as it goes on, once its commands have ended.

    Raises:
        InvalidTeamError: `check` finds errors that hinder it.
        UntrustedError: `consent` refuses an import.
        LlmdoError: It cannot go on, or needs a decision about a tool or a change.
    """
    from llmdo.runtime.recording.replay_mode import ReplayMode  # which takes a second

    require_going(journal)
    require_ended(journal)
    begun, project = BegunRun.of(journal, request.environ), projects.read(request.root)
    basis = to_go_on(
        *(begun, project, runs_of(request.root, request.environ).sources(journal.run), tell, consent),
        sources=request.sources,
        accepted=request.allow_drift,
        accepting=request.accepting,
    )
    if not project.graph.settings.shared:
        require_here(journal, request.root, basis.graph)
    word = word_on(journal, request.again, request.give_up)
    mode = ReplayMode(
        drifted=bool(basis.accepted),
        again=word.again,
        given_up=word.given_up,
        retried=frozenset(request.retried),
    )
    basis = replace(basis, graph=replace(basis.graph, notify=project.graph.notify))
    return once_more(begun, basis, request.root, mode)


def once_more(begun: BegunRun, basis: Basis, root: Path, mode: ReplayMode) -> RunPlan:
    """The same run, for whoever goes on with it or repeats it.

    Raises:
        LlmdoError: The messages that it started from are gone.
    """
    from llmdo.runtime import ModelChoice, RunOptions
    from llmdo.runtime.attached import Attached
    from llmdo.runtime.recording.history import history_of
    from llmdo.runtime.recording.recorder import Recorder

    binding = begun.binding
    options = RunOptions(
        run=begun.journal.run,
        input=binding.input,
        untrusted_input=bool(binding.untrusted_input),
        history=history_of(begun.journal, begun.redaction.known),
        continues=binding.continues,
        item=binding.item,
        attachments=tuple(Attached(name=name, kind=kind) for name, kind in binding.attachments),
        paths=binding.paths,
        models=ModelChoice(by_worker=binding.models, source="journal"),
        max_depth=binding.max_depth,
        recorder=Recorder(begun.journal, begun.redaction, mode),
    )
    return RunPlan(basis=basis, root=root, entry=binding.entry, options=options)
