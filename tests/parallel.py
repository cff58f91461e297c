"""Tests in several processes: `python -m tests --workers N`.

Most of what a further process of pytest costs is to import what the tests import and to collect them. So they are
collected once, and the workers are forked from the process that did. Each has the folder of temporary files of its
own, and is handed runs of tests in their order, which are shorter the less there is to do.
"""

from __future__ import annotations

import atexit
import gc
import io
import itertools
import os
import random
import signal
import traceback
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

import pytest
from _pytest._io import TerminalWriter

from tests import forking, zygote

AHEAD = 4
"""So many times what a worker is handed at once, all workers could still be handed of the rest."""
COLLECTING = (10_000, 20, 20)
"""When a worker looks for garbage: with Python's own numbers, it takes it a sixteenth of its time."""
_ENDED = object()


class Parallel:
    """The plugin. Without `--workers` the tests run in this process."""

    def __init__(self, clean: zygote.Clean) -> None:
        self._clean = clean

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        parser.addoption("--workers", type=int, default=1, help="run the tests in so many processes")
        parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in a random order")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if config.option.shuffle is not None:
            random.Random(config.option.shuffle).shuffle(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Runs the tests, unless pytest itself is to."""
        options = session.config.option
        if options.workers < 2 or options.collectonly or session.testsfailed or not hasattr(os, "fork"):
            return None
        capture: Any = session.config.pluginmanager.get_plugin("capturemanager")
        capture.stop_global_capturing()  # workers capture for themselves
        gc.collect()
        gc.freeze()  # what is collected lives on: no worker has to look through it, and copy it by that
        try:
            _Run(session, options.workers, self._clean).run()
        finally:
            gc.unfreeze()
            capture.start_global_capturing()
        return True


@dataclass(eq=False, kw_only=True)
class _Worker:
    pid: int
    channel: Connection
    waiting: deque[int] = field(default_factory=deque)
    """What it was handed and has not begun."""
    running: int | None = None


class _Run:
    """The tests of a session, the workers that run them, and what is still to do."""

    def __init__(self, session: pytest.Session, count: int, clean: zygote.Clean) -> None:
        self._session = session
        self._clean = clean
        self._count = count
        self._todo = deque(range(len(session.items)))
        self._workers: list[_Worker] = []
        self._folders = map("worker{}".format, itertools.count())

    def run(self) -> None:
        try:
            for _ in range(self._count):
                self._fork()
            while self._workers and not self._stopped():
                ready = wait([worker.channel for worker in self._workers])
                for worker in [worker for worker in self._workers if worker.channel in ready]:
                    self._hear(worker)
        finally:
            for worker in self._workers:
                os.kill(worker.pid, signal.SIGKILL)
                os.waitpid(worker.pid, 0)

    def _fork(self) -> None:
        ours, its = Pipe()
        folder = next(self._folders)
        if pid := os.fork():
            its.close()
            self._workers.append(_Worker(pid=pid, channel=ours))
            return
        for channel in (ours, *(worker.channel for worker in self._workers)):
            channel.close()
        _work(self._session, its, folder, self._clean)

    def _hear(self, worker: _Worker) -> None:
        message: Any = _ENDED
        with suppress(EOFError, ConnectionError):
            message = worker.channel.recv()
        if message is _ENDED:
            self._end(worker)
        elif message is None:
            self._hand_on(worker)
        elif isinstance(message, int):
            worker.running = worker.waiting.popleft()
        else:
            self._report(worker, message)

    def _stopped(self) -> bool:
        return bool(self._session.shouldfail or self._session.shouldstop)

    def _hand_on(self, worker: _Worker) -> None:
        length = -(-len(self._todo) // (AHEAD * self._count))
        run = [self._todo.popleft() for _ in range(length)]
        worker.waiting.extend(run)
        with suppress(ConnectionError):  # of a worker that ended: that is heard next
            worker.channel.send(run)

    def _report(self, worker: _Worker, reports: Sequence[dict[str, Any]]) -> None:
        config = self._session.config
        assert worker.running is not None
        item = self._session.items[worker.running]
        worker.running = None
        config.hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in reports:
            report = config.hook.pytest_report_from_serializable(config=config, data=data)
            config.hook.pytest_runtest_logreport(report=report)
        config.hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _end(self, worker: _Worker) -> None:
        """A worker that ended within a test fails it; another one goes on."""
        worker.channel.close()
        self._workers.remove(worker)
        _, status = os.waitpid(worker.pid, 0)
        text = f"the process that ran it ended with {os.waitstatus_to_exitcode(status)}"
        if worker.running is not None:
            item = self._session.items[worker.running]
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
            self._report(worker, [_as_data(self._session.config, report)])
        elif status:
            raise RuntimeError(f"between two tests {text}")
        self._todo.extendleft(reversed(worker.waiting))
        if self._todo:
            self._fork()


def _as_data(config: pytest.Config, report: pytest.TestReport) -> dict[str, Any]:
    data: dict[str, Any] = config.hook.pytest_report_to_serializable(config=config, report=report)
    return data


class _Reports:
    """What a worker reports of a test: it shows nothing itself."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._reports: list[dict[str, Any]] = []
        self._tw = TerminalWriter(io.StringIO())  # other plugins write to that of the terminal's reporter

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(_as_data(self._config, report))

    def taken(self) -> list[dict[str, Any]]:
        reports, self._reports = self._reports, []
        return reports


def _work(session: pytest.Session, channel: Connection, folder: str, clean: zygote.Clean) -> NoReturn:
    """The worker, from its beginning to its end."""
    code = 1
    atexit._clear()  # what the first process does when it ends
    config = session.config
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    try:
        temporary: Any = config._tmp_path_factory  # type: ignore[attr-defined]
        temporary._basetemp = temporary.mktemp(folder, numbered=False)
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(reports := _Reports(config), "terminalreporter")
        gc.set_threshold(*COLLECTING)
        if forking.AVAILABLE:
            forking.fork_zygote(clean)
        capture.start_global_capturing()
        _run(session, channel, reports)
        code = 0
    except KeyboardInterrupt:
        pass  # the first process has it as well
    except BaseException:
        capture.stop_global_capturing()
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        os._exit(code)


def _run(session: pytest.Session, channel: Connection, reports: _Reports) -> None:
    """Runs what it is handed; the next test is known before one begins, as fixtures are shared between them."""
    handed: deque[int] = deque()
    more = True
    while True:
        while more and len(handed) < 2:
            channel.send(None)
            run = channel.recv()
            handed.extend(run)
            more = bool(run)
        if not handed:
            return
        index = handed.popleft()
        channel.send(index)
        item, following = session.items[index], session.items[handed[0]] if handed else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        channel.send(reports.taken())
