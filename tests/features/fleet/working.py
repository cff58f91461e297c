"""Workers of tests: in a thread of this process, as most of the time of a process is its start, or killed as one."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE
from typing import Any, Self

from llmdo.base.values import Json
from llmdo.features.batch.scheduling import Draining
from llmdo.features.fleet.intervals import Intervals
from llmdo.features.fleet.terminal import WorkerTerminal
from llmdo.features.fleet.worker import WorkerOutcome, WorkerRequest, work
from llmdo.graph.resolved import Graph
from llmdo.journal.items import BatchItem, Result
from llmdo.services.plan import Approving
from llmdo.workspace.trust import Consent
from tests.features.fleet.conftest import LONGEST, until
from tests.support import forking

QUICK = Intervals(queue=0.05, code=0.05, dead=0.05, unqueued=0.05, busy=0.05, clock=0.01)


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

    def approving(self, graph: Graph, options: Json) -> Approving:
        return WorkerTerminal({}).approving(graph, options)

    def ended(self, batch: str, item: BatchItem, result: Result) -> None:
        self.ends.append((item.key, result.state))

    def wait_for(
        self, work: Coroutine[object, object, None], abandon: Callable[[], None], draining: Draining
    ) -> None:
        self.draining = draining
        asyncio.run(work)


@contextmanager
def working(root: Path, fleet: str, jobs: int = 4, intervals: Intervals = QUICK) -> Iterator[Worker]:
    """A worker in a thread, until the block ends and all that it has is over; of which nothing is held where it fails."""
    worker = Worker()
    environ = {**os.environ, "LLMDO_STORE": fleet}
    request = WorkerRequest(root=root, address=fleet, jobs=jobs, environ=environ, intervals=intervals)

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


@contextmanager
def process(root: Path, fleet: str, *words: str) -> Iterator[Any]:
    """A worker as a process."""
    command = [sys.executable, "-m", "llmdo", "fleet", "worker", "--fleet", fleet, *words]
    with ending(forking.Popen(command, cwd=root, stderr=PIPE, text=True)) as child:
        yield child


class Network:
    """A way to a server that can hang: connections stay open, and nothing comes through any more."""

    def __init__(self, address: str) -> None:
        before, _, rest = address.rpartition("@")
        place, _, database = rest.partition("/")
        host, _, port = place.partition(":")
        self._server = (host, int(port))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._through = threading.Event()
        self._through.set()
        self._sockets = [self._listening]
        self.address = f"{before}@127.0.0.1:{self._listening.getsockname()[1]}/{database}"
        threading.Thread(target=self._accepting, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def hang(self) -> None:
        """Lets nothing through any more."""
        self._through.clear()

    def _accepting(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._server)
                self._sockets += [client, server]
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._forwarding, args=ends, daemon=True).start()

    def _forwarding(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if not self._through.is_set():
                    return
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


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
