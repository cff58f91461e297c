"""The terminal that a batch was started from, as what the batch needs of its host."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from subprocess import DEVNULL, Popen
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli.approving import ApprovalOptions, approving
from llmdo.cli.console import FINDINGS, FINE, INTERRUPTED, WAITING, put, say
from llmdo.cli.interruption import run_interruptibly
from llmdo.cli.trusting import consent_here
from llmdo.render import batch as render

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping
    from pathlib import Path

    from llmdo.graph.resolved import Graph
    from llmdo.journal.batches import BatchStore
    from llmdo.journal.items import BatchItem, Result
    from llmdo.services.batch.commands import BatchOutcome
    from llmdo.services.batch.scheduling import BatchBounds, Draining
    from llmdo.services.host import Approving
    from llmdo.workspace.trust import Consent


LONGEST = 2000  # bytes of what another process said


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTerminal:
    """A `BatchHost`: it shows progress on stderr, and Ctrl-C has nothing more begin."""

    approvals: ApprovalOptions = field(default_factory=ApprovalOptions)
    processes: int = 1
    """How many work on the batch, this one included."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    consent: Consent = field(default_factory=consent_here)
    """Who answers for what its runs would execute."""

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

    @contextmanager
    def sharing(self, store: BatchStore, root: Path, bounds: BatchBounds) -> Iterator[None]:
        """Has other processes work on the batch as well; waits for them, and says what one of them could not do."""
        if self.processes > 1 and bounds.items is not None:
            raise LlmdoError("`--limit` counts the items of one process", hint="leave out `--processes`")
        words = [sys.executable, "-m", "llmdo", "batch", "resume", store.batch.id, "--project", str(root)]
        words += [*_bound_words(bounds), *_approval_words(self.approvals)]
        with ExitStack() as stack:
            others = []
            for _ in range(self.processes - 1):
                heard = stack.enter_context(TemporaryFile())
                process = Popen(words, stdin=DEVNULL, stdout=DEVNULL, stderr=heard)  # ourselves
                others.append((process, heard))
            yield
            for process, heard in others:
                if process.wait() not in (FINE, FINDINGS, WAITING, INTERRUPTED):
                    heard.seek(0)
                    ending = heard.read()[-LONGEST:].decode(errors="replace")
                    say(f"warning: a process of the batch ended early: {ending}")

    def wait_for(
        self, work: Coroutine[object, object, None], abandon: Callable[[], None], draining: Draining
    ) -> None:
        """Returns when `work` does. The first Ctrl-C lets finish what has begun, the second ends the program."""
        run_interruptibly(work, abandon, draining.by_person)


def _bound_words(bounds: BatchBounds) -> Iterator[str]:
    """The options that say the same."""
    yield from ("--jobs", str(bounds.jobs))
    if bounds.failures is not None:
        yield from ("--max-failures", str(bounds.failures))
    if bounds.budget_usd is not None:
        yield from ("--budget-usd", str(bounds.budget_usd))


def _approval_words(approvals: ApprovalOptions) -> Iterator[str]:
    """The options that say the same."""
    yield from ("--approve-all",) * approvals.approve_all
    yield from ("--reject-all",) * approvals.reject_all
    for capability in approvals.approve:
        yield from ("--approve", capability)


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
