"""The terminal that a batch was started from, as what the batch needs of its host."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmdo.cli.approving import ApprovalOptions, approving
from llmdo.cli.console import FINDINGS, FINE, INTERRUPTED, WAITING, put, say
from llmdo.cli.interruption import run_interruptibly
from llmdo.render import batch as render

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping

    from llmdo.batch.items import BatchItem, Result
    from llmdo.batch.scheduling import Draining
    from llmdo.batch.store import BatchStore
    from llmdo.graph.resolved import Graph
    from llmdo.services.batch import BatchOutcome
    from llmdo.services.host import Approving


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTerminal:
    """A `BatchHost`: it shows progress on stderr, and Ctrl-C has nothing more begin."""

    approvals: ApprovalOptions = field(default_factory=ApprovalOptions)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def tell(self, line: str) -> None:
        """Tells the person."""
        say(line)

    def approving(self, graph: Graph) -> Approving:
        """Who answers: whoever the options name, else nobody now; the questions wait."""
        options = self.approvals
        if not (options.approve_all or options.reject_all):
            options = ApprovalOptions(approve=options.approve, later=True)
        return approving(options, graph, self.environ)

    @contextmanager
    def following(self, store: BatchStore) -> Iterator[Callable[[BatchItem, Result], None]]:
        """A bar on a terminal; a line for each item elsewhere."""
        from llmdo.render.live import is_alive

        if is_alive(sys.stderr):
            from llmdo.render.bar import BatchBar

            with BatchBar(sys.stderr, store) as bar:
                yield lambda _item, _result: bar.refresh()
            return
        counts = store.counts()
        total = sum(counts.values())
        done = total - counts.get("queued", 0) - counts.get("running", 0)

        def tell(item: BatchItem, result: Result) -> None:
            nonlocal done
            done += result.state != "queued"
            say(render.item_line(item, result, done, total))

        yield tell

    def wait_for(
        self, work: Coroutine[object, object, None], abandon: Callable[[], None], draining: Draining
    ) -> None:
        """Returns when `work` does. The first Ctrl-C lets finish what has begun, the second ends the program."""
        run_interruptibly(work, abandon, draining.by_person)


def report(outcome: BatchOutcome, *, as_json: bool) -> int:
    """Prints how a batch stands, and returns the exit code."""
    if as_json:
        put(render.as_json(outcome), end="", as_json=True)
    else:
        for line in render.ending(outcome):
            say(line)
    counts = outcome.counts
    if outcome.interrupted:
        return INTERRUPTED
    if outcome.reason or counts.get("failed") or counts.get("refused") or counts.get("unsure"):
        return FINDINGS
    return WAITING if counts.get("waiting") else FINE
