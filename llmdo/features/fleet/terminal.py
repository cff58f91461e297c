"""The terminal, or the service manager, that a worker was started from."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmdo.cli.approving import ApprovalOptions, approving
from llmdo.cli.console import FINDINGS, FINE, say
from llmdo.cli.interruption import run_interruptibly
from llmdo.cli.trusting import consent_here
from llmdo.features.fleet import rendering as render

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from llmdo.base.values import Json
    from llmdo.features.batch.scheduling import Draining
    from llmdo.features.fleet.worker import WorkerOutcome
    from llmdo.graph.resolved import Graph
    from llmdo.journal.items import BatchItem, Result
    from llmdo.services.plan import Approving
    from llmdo.workspace.trust import Consent


@dataclass(frozen=True, slots=True)
class WorkerTerminal:
    """A `WorkerHost`: a line on stderr for each item; on Ctrl-C and SIGTERM it takes nothing more."""

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    consent: Consent = field(default_factory=consent_here)

    def tell(self, line: str) -> None:
        """Tells the person."""
        say(line)

    def approving(self, graph: Graph, stored: Json) -> Approving:
        """The approver that the batch was put in with, as far as this machine allows it; else its questions wait."""
        fields = stored if isinstance(stored, dict) else {}
        approve = fields.get("approve")
        options = ApprovalOptions(
            approve=tuple(map(str, approve)) if isinstance(approve, list) else (),
            approve_all=fields.get("approve_all") is True,
            reject_all=fields.get("reject_all") is True,
            later=not (fields.get("approve_all") is True or fields.get("reject_all") is True),
        )
        return approving(options, graph, self.environ)

    def ended(self, batch: str, item: BatchItem, result: Result) -> None:
        """Reports an item."""
        say(render.item_line(batch, item, result))

    def wait_for(
        self, work: Coroutine[object, object, None], abandon: Callable[[], None], draining: Draining
    ) -> None:
        """Returns when `work` does. After the first signal nothing more is taken, the second ends the program."""
        if threading.current_thread() is not threading.main_thread():
            return run_interruptibly(work, abandon, draining.by_person)
        before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
        try:
            run_interruptibly(work, abandon, draining.by_person)
        finally:
            signal.signal(signal.SIGTERM, before)


def report(outcome: WorkerOutcome) -> int:
    """Says why a worker ended, and returns the exit code: a service manager starts it again after another than 0."""
    say(render.worker_ended(outcome))
    return FINE if outcome.interrupted else FINDINGS
