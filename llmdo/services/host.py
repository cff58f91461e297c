"""What a run needs of the program that started it: who is told, who answers, who watches, and how it is waited for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from llmdo.services.audit import auditing

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from contextlib import AbstractContextManager

    from pydantic_ai.capabilities import AbstractCapability

    from llmdo.graph.resolved import Graph
    from llmdo.journal.questions import Waiting
    from llmdo.policy.authority import Rule
    from llmdo.runtime import Approver, RunOutcome, Stop
    from llmdo.runtime.telemetry.events import Sink, Streams
    from llmdo.services.plan import RunPlan
    from llmdo.workspace.trust import Consent


@dataclass(frozen=True, slots=True, kw_only=True)
class Approving:
    """Who answers, and in which manner."""

    approver: Approver
    mode: str
    """In words for the person: `prompt`, `approve-all`, `reject-all`, `later`, perhaps `approve fs.write` before it."""
    unasked: bool
    """Whether questions find nobody, though nobody said that they should not."""
    tightening: tuple[Rule, ...]
    """The rules of the person's own policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Where the events of a run go, and what watches its agents."""

    sink: Sink
    abandon: Callable[[], None]
    """Gives the terminal back, where the program ends at once."""
    instruments: tuple[AbstractCapability[object], ...] = field(default=())
    streams: Streams = "nothing"
    """Whose answers the sink takes piece by piece."""
    has_shown: Callable[[str | None], bool] = field(default=lambda _: False)
    """Whether the person has seen this answer already, as it arrived."""


class Host(Protocol):
    """The program around a run."""

    @property
    def is_brief(self) -> bool:
        """Whether a run is one turn of many, whose id and audit are not told each time."""

    def tell(self, line: str) -> None:
        """Takes a line for the person who waits."""

    @property
    def consent(self) -> Consent:
        """Who answers for what a run would execute."""

    def approving(self, graph: Graph) -> Approving:
        """Who answers the questions of a run of `graph`."""

    def watching(self, *, run: str, entry: str, approvals: str) -> AbstractContextManager[Watch]:
        """What watches the run of that id."""

    def wait_for(
        self, work: Coroutine[object, object, RunOutcome], abandon: Callable[[], None], stop: Stop
    ) -> RunOutcome:
        """What `work` returns, which `stop` ends early."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """How a run ended."""

    outcome: RunOutcome
    questions: Mapping[str, Waiting] = field(default_factory=dict)
    """Those that wait for an answer."""
    unasked: bool = False
    """Whether questions found nobody, though nobody said that they should not."""
    is_shown: bool = False
    """Whether the person has seen its output already."""
    is_recorded: bool = False
    """Whether it had ended before, and nothing ran now."""


def carry_out(plan: RunPlan, answering: Approving, host: Host) -> EndedRun:
    """How the run ended that is planned, with all that the host has to do with it.

    Raises:
        UntrustedError: It would execute what the host does not let through.
        LlmdoError: It cannot start.
    """
    from llmdo import runtime  # which takes a second
    from llmdo.journal.questions import waiting

    plan = plan.saying(consent=host.consent)
    plan.require_consent()
    recorder, stop = plan.options.recorder, runtime.Stop()
    with (
        auditing(None if host.is_brief else recorder, host.tell),
        host.watching(run=plan.options.run or "", entry=plan.entry, approvals=answering.mode) as watch,
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
        questions = waiting(recorder.journal) if recorder else {}
        is_shown = watch.has_shown(outcome.output)
    return EndedRun(outcome=outcome, questions=questions, unasked=answering.unasked, is_shown=is_shown)
