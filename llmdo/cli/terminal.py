"""The terminal that a run was started from, as the run's host."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmdo.cli.approving import ApprovalOptions, approving
from llmdo.cli.console import say
from llmdo.cli.interruption import run_interruptibly
from llmdo.cli.trusting import consent_here
from llmdo.cli.watch import WatchOptions, watching

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from contextlib import AbstractContextManager

    from llmdo.graph.resolved import Graph
    from llmdo.runtime import RunOutcome, Stop
    from llmdo.services.plan import Approving, RunPlan, Watch
    from llmdo.workspace.trust import Consent


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """A `Host` of runs: it asks, shows and is interrupted."""

    approvals: ApprovalOptions = field(default_factory=ApprovalOptions)
    watch: WatchOptions = field(default_factory=WatchOptions)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    consent: Consent = field(default_factory=consent_here)
    """Who answers for the code that a run would execute."""

    @property
    def is_brief(self) -> bool:
        """Whether it shows what a run did, but not how it was started and audited."""
        return not self.watch.verbose

    def tell(self, line: str) -> None:
        """Shows a line to the person; a quiet one shows warnings alone."""
        if not self.watch.quiet or line.startswith("warning: "):
            say(line)

    def approving(self, graph: Graph) -> Approving:
        """Who answers, as the options say."""
        return approving(self.approvals, graph, self.environ)

    def watching(self, *, plan: RunPlan, approvals: str) -> AbstractContextManager[Watch]:
        """The display, the log and the trace."""
        mode = None if self.is_brief else approvals
        return watching(
            self.watch,
            run=plan.options.run or "",
            entry=plan.entry,
            approvals=mode,
            environ=self.environ,
            title=plan.title,
            item=plan.options.item,
        )

    def wait_for(
        self, work: Coroutine[object, object, RunOutcome], abandon: Callable[[], None], stop: Stop
    ) -> RunOutcome:
        """The result of `work`; the first Ctrl-C stops it, the second ends the program."""
        return run_interruptibly(work, abandon, stop)
