"""The terminal that a batch was started from, as the host of the batch."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from subprocess import DEVNULL, Popen
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli.approving import ApprovalOptions, approving
from llmdo.cli.console import FINDINGS, FINE, INTERRUPTED, WAITING, put, say
from llmdo.cli.interruption import run_interruptibly
from llmdo.cli.trusting import consent_here
from llmdo.features.batch import rendering as render
from llmdo.features.batch.fleets import Handing, fleet_queue
from llmdo.features.batch.rendering import states, used

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    from llmdo.base.values import Json
    from llmdo.features.batch.commands import BatchOutcome, BatchRequest, ContinuedBatch, Working
    from llmdo.features.batch.scheduling import BatchBounds, Draining
    from llmdo.graph.resolved import Graph
    from llmdo.journal.items import BatchItem, BatchStore, Result
    from llmdo.services.plan import Approving
    from llmdo.workspace.trust import Consent

LONGEST = 2000  # bytes of what another process said


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTerminal:
    """A `BatchHost`: it shows progress on stderr, and on Ctrl-C nothing more begins."""

    approvals: ApprovalOptions = field(default_factory=ApprovalOptions)
    processes: int = 1
    """The number of processes on the batch, including this one."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    consent: Consent = field(default_factory=consent_here)
    """The consent to execute code in its runs."""

    def tell(self, line: str) -> None:
        """Tells the person."""
        say(line)

    def approving(self, graph: Graph) -> Approving:
        """The approver that the options name, else nobody now; the questions wait."""
        options = self.approvals
        if not (options.approve_all or options.reject_all):
            options = ApprovalOptions(approve=options.approve, later=True)
        return approving(options, graph, self.environ)

    @contextmanager
    def following(self, store: BatchStore) -> Iterator[Callable[[BatchItem, Result], None]]:
        """A bar on a terminal; a line for each item elsewhere."""
        from llmdo.render.live import is_alive

        if is_alive(sys.stderr):
            from llmdo.features.batch.terminal import BatchBar

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
        """Starts other processes on the batch as well; waits for them, and reports their errors."""
        if self.processes > 1 and bounds.items is not None:
            raise LlmdoError("`--limit` counts the items of one process", hint="leave out `--processes`")
        command = [sys.executable, "-P", "-m", "llmdo"]  # not what the current folder has under our names
        words = [*command, "batch", "resume", store.batch.id, "--project", str(root)]
        words += [*_bound_words(bounds), *_approval_words(self.approvals)]
        with ExitStack() as stack:
            children = []
            for _ in range(self.processes - 1):
                stderr = stack.enter_context(TemporaryFile())
                process = Popen(words, stdin=DEVNULL, stdout=DEVNULL, stderr=stderr)  # ourselves
                children.append((process, stderr))
            yield
            for process, stderr in children:
                if process.wait() not in (FINE, FINDINGS, WAITING, INTERRUPTED):
                    stderr.seek(0)
                    ending = stderr.read()[-LONGEST:].decode(errors="replace")
                    say(f"warning: a process of the batch ended early: {ending}")

    def wait_for(
        self, work: Coroutine[object, object, None], abandon: Callable[[], None], draining: Draining
    ) -> None:
        """Returns when `work` does. The first Ctrl-C lets begun items finish, the second ends the program."""
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
    """Prints the state of a batch, and returns the exit code."""
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


def begin(request: BatchRequest, host: BatchTerminal, *, fleet: str | None, priority: int) -> BatchOutcome:
    """Puts a batch in and works it off, here or by the workers of a fleet."""
    from llmdo.features.batch import commands as service

    if fleet is None:
        return service.begin(request, host)
    _require_of_workers(request.working, host)
    handing = Handing(approvals=_kept(host.approvals), priority=priority)
    return fleet_queue().begin(request, handing, host)


def go_on(request: ContinuedBatch, host: BatchTerminal, *, fleet: str | None) -> BatchOutcome:
    """Works off the rest of a batch, here or by the workers of a fleet."""
    from llmdo.features.batch import commands as service

    if fleet is None:
        return service.go_on(request, host)
    _require_of_workers(request.working, host)
    if request.rebind:
        raise LlmdoError(
            "`--rebind` is for a batch on one machine",
            hint=f"`llmdo batch rebind {request.batch} --fleet URL`",
        )
    return fleet_queue().go_on(request, _kept(host.approvals), host)


def cancel(root: Path, batch: str, *, fleet: str | None) -> BatchOutcome:
    """Cancels all items that have not begun."""
    from llmdo.features.batch import commands as service

    if fleet is None:
        return service.cancel(root, batch)
    return fleet_queue().cancel(root, batch, os.environ)


def rebind(root: Path, batch: str, *, fleet: str | None, allow_drift: tuple[str, ...]) -> str:
    """Moves a batch to the lock of this checkout; gives the result in a sentence."""
    queue = fleet_queue()
    queue.require(fleet)
    return render.rebound(queue.rebind(root, batch, os.environ, BatchTerminal(), allow_drift))


def _kept(approvals: ApprovalOptions) -> dict[str, Json]:
    """The approvals for workers."""
    return {
        "approve": list(approvals.approve),
        "approve_all": approvals.approve_all,
        "reject_all": approvals.reject_all,
    }


def _require_of_workers(working: Working, host: BatchTerminal) -> None:
    """Requires that workers can keep all of these settings.

    Raises:
        LlmdoError: One is about processes of this machine.
    """
    if host.processes > 1 or working.bounds.jobs != 8:
        raise LlmdoError(
            "with `--fleet` no item is worked on here",
            hint="`llmdo fleet worker --jobs N` says how many a worker takes",
        )
    if working.debug:
        raise LlmdoError("`--debug` is for what runs here", hint="leave it out with `--fleet`")


class BatchBar:
    """A progress bar of a batch."""

    def __init__(self, stream: TextIO, store: BatchStore) -> None:
        """The bar, visible once entered."""
        self._store = store
        self._progress = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(file=stream, markup=False, highlight=False, emoji=False),
            transient=True,
        )
        self._task = self._progress.add_task("", total=1)

    def __enter__(self) -> Self:
        self.refresh()
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def refresh(self) -> None:
        """Redraws the bar."""
        counts = self._store.counts()
        left = counts.get("queued", 0) + counts.get("running", 0)
        total = sum(counts.values())
        over = {state: number for state, number in counts.items() if state not in ("queued", "running")}
        self._progress.update(
            self._task,
            total=total,
            completed=total - left,
            description=f"{states(over)}; {used(self._store.spent())}",
        )
