"""Workers of tests: in a thread of this process, as most of the time of a process is its start, or killed as one."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

from llmdo.base.values import Json
from llmdo.cli.working import WorkerTerminal
from llmdo.graph.resolved import Graph
from llmdo.journal.items import BatchItem, Result
from llmdo.services.batch.scheduling import Draining
from llmdo.services.fleet.worker import WorkerOutcome, WorkerRequest, work
from llmdo.services.host import Approving
from llmdo.workspace.trust import Consent
from tests import forking
from tests.fleet.conftest import LONGEST, until


class Worker:
    """The program around a worker, which remembers what it was told."""

    def __init__(self) -> None:
        self.consent = Consent()
        self.lines: list[str] = []
        self.ends: list[tuple[str, str]] = []
        self.draining: Draining | None = None
        self.outcome: WorkerOutcome | None = None

    def tell(self, line: str) -> None:
        self.lines.append(line)

    def approving(self, graph: Graph, given: Json) -> Approving:
        return WorkerTerminal({}).approving(graph, given)

    def ended(self, batch: str, item: BatchItem, result: Result) -> None:
        self.ends.append((item.key, result.state))

    def wait_for(
        self, work: Coroutine[object, object, None], abandon: Callable[[], None], draining: Draining
    ) -> None:
        self.draining = draining
        asyncio.run(work)


@contextmanager
def working(root: Path, fleet: str, jobs: int = 4) -> Iterator[Worker]:
    """A worker in a thread, until the block ends and all that it has is over; of which nothing is held where it fails."""
    worker = Worker()
    request = WorkerRequest(root=root, address=fleet, jobs=jobs, environ={**os.environ, "LLMDO_STORE": fleet})

    def run() -> None:
        worker.outcome = work(request, worker)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        until(lambda: worker.draining is not None or not thread.is_alive())
        yield worker
    except BaseException:
        root.joinpath("hold").unlink(missing_ok=True)
        raise
    finally:
        if worker.draining is not None:
            worker.draining.by_person("the test is over")
        thread.join(LONGEST)
    assert not thread.is_alive(), "the worker does not end"


IMPATIENT = """
import sys
from llmdo.journal import workers
from llmdo.journal.postgres.runs import PostgresRuns
from llmdo.services.fleet import presence, queue, reaping, worker

queue.POLL = reaping.PAUSE = worker.WATCH = 0.05
if (seconds := float(sys.argv.pop(1))):
    workers.ALIVE = seconds
    for made in (PostgresRuns, presence.Presence):
        made.__init__.__kwdefaults__["seconds"] = seconds
from llmdo.__main__ import main
raise SystemExit(main())
"""


@contextmanager
def process(root: Path, fleet: str, *words: str, seconds: float = 0) -> Iterator[Any]:
    """A worker as a process; with `seconds`, so long are its leases, and so long it may be silent."""
    command = [sys.executable, "-c", IMPATIENT, str(seconds), "worker", "--fleet", fleet, *words]
    with ending(forking.Popen(command, cwd=root, stderr=PIPE, text=True)) as child:
        yield child


@contextmanager
def ending(child: Any) -> Iterator[Any]:
    """A worker that ends with the block, as it is asked to; at once where that has failed."""
    try:
        yield child
        child.terminate()
        child.wait(LONGEST)
    finally:
        child.kill()
        child.wait()
        child.stderr.close()
