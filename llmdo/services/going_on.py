"""Processes that go on with runs and batches: in them runs code of the workspace, not in the caller.

Each is `llmdo resume RUN --approvals later`, so it stops when nothing but questions is left, and what came of it is in
the journal. It outlives whoever started it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from threading import RLock, Thread
from typing import IO, TYPE_CHECKING, Self

from llmdo.base.diagnostic import LlmdoError, unsteering
from llmdo.journal.opening import STORE, address_of, runs_of
from llmdo.journal.summary import summary
from llmdo.workspace.trust.consent import REQUIRED, VARIABLE, is_given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LAST = 2_000  # bytes of what a process says that are told of one which could not go on
ENDING = 2.0  # seconds for a process that is about to end
COULD_NOT = 2
"""The exit code of a command that could not do what it was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Started:
    """A process that goes on with a run."""

    process: subprocess.Popen[bytes]
    words: IO[bytes]
    """What it says to a person."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    @property
    def fault(self) -> str | None:
        """Why it could not go on, where it could not."""
        if self.process.poll() != COULD_NOT:
            return None
        self.words.seek(0)
        text = self.words.read()[-LAST:].decode(errors="replace")
        _, error, sentence = text.rpartition("error: ")
        return unsteering(f"{error}{sentence}" if error else text).strip()


@dataclass(slots=True, kw_only=True)
class GoingOn:
    """The runs of one workspace that go on, one process each."""

    root: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _started: dict[str, _Started] = field(default_factory=dict)
    _following: dict[str, Thread] = field(default_factory=dict)
    """By run: what starts the next process once that of ours has ended."""
    _lock: RLock = field(default_factory=RLock)
    _is_closed: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves the processes alone: they end by themselves, and what they do is in the journal."""
        for thread in self._following.values():
            thread.join(ENDING)  # what was answered as a process was about to end is gone on with
        with self._lock:
            self._is_closed = True
        for started in self._started.values():
            started.words.close()
            started.process.poll()
            started.process.returncode = started.process.returncode or 0  # nobody waits for it any more

    def start(self, run: str) -> None:
        """Goes on with the run of that id; where a process of ours has it, or had it until now, after that has ended.

        A process that stops for questions lets others answer them before it has ended.
        """
        with self._lock:
            if not self.is_at_work(run):
                self._resume(run)
            elif run not in self._following or not self._following[run].is_alive():
                process = self._started[run].process
                self._following[run] = Thread(target=self._follow, args=(run, process), daemon=True)
                self._following[run].start()

    def _resume(self, run: str) -> None:
        self._start(run, ["resume", run, "--approvals", "later"])

    def _follow(self, run: str, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        with self._lock:
            if not self._is_closed and self._waits(run):
                self._resume(run)

    def _waits(self, run: str) -> bool:
        """Whether the run stopped for questions: so it still does where nobody has gone on with answers."""
        try:
            with runs_of(self.root, self.environ).read(run) as journal:
                run_so_far = summary(journal, is_running=False)
        except LlmdoError:
            return False
        return run_so_far is not None and run_so_far.status == "waiting"

    def batch(self, batch: str) -> str:
        """The name by which a batch is asked about here."""
        return f"batch {batch}"

    def retry(self, batch: str, items: Sequence[str], *, by_workers: bool = False) -> None:
        """Has items of a batch that failed be taken once more, of these keys or all, unless that is under way.

        What was put in `by_workers` is put in for them again; the process of ours follows that.
        """
        chosen = [f"--item={key}" for key in items]
        words = ["batch", "retry", batch, "--failed", *chosen]
        self._start(self.batch(batch), [*words, "--fleet", "-"] if by_workers else words)

    def _start(self, name: str, words: Sequence[str]) -> None:
        if self.is_at_work(name):
            return
        if before := self._started.pop(name, None):
            before.words.close()
        # `-P`: nothing in the workspace is taken for llmdo itself.
        command = [sys.executable, "-P", "-m", "llmdo", *words, "--project", str(self.root)]
        words_of = tempfile.TemporaryFile()  # noqa: SIM115  # the process has it for as long as it runs
        process = subprocess.Popen(
            command,
            cwd=self.root,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=words_of,
            start_new_session=True,  # Ctrl-C ends whoever started it, not this
        )
        self._started[name] = _Started(process=process, words=words_of)

    def _environment(self) -> dict[str, str]:
        """What the process is given: nobody sees its terminal, so what was not answered for is refused there.

        The store is named by its variable, as others can read arguments.
        """
        trust = {} if is_given(self.environ) else {VARIABLE: REQUIRED}
        store = {STORE: address} if (address := address_of(self.root, self.environ)) else {}
        return {**self.environ, **trust, **store}

    def is_at_work(self, run: str) -> bool:
        """Whether a process of ours goes on with the run."""
        started = self._started.get(run)
        return started is not None and not started.is_over

    def fault(self, run: str) -> str | None:
        """Why the run could not go on, in the words of the last process that was to; None where it could, or does."""
        started = self._started.get(run)
        return started.fault if started else None

    def stop(self, run: str) -> bool:
        """Ends the process that goes on with the run, as Ctrl-C does; whether there was one of ours."""
        started = self._started.get(run)
        if started is None or started.is_over:
            return False
        started.process.send_signal(signal.SIGINT)
        return True

    def at_work(self) -> tuple[str, ...]:
        """The runs that processes of ours go on with."""
        with self._lock:
            return tuple(run for run in self._started if self.is_at_work(run))

    def wait(self, run: str, seconds: float | None = None) -> None:
        """Returns when no process of ours goes on with the run any more.

        Raises:
            TimeoutError: One still does after so long.
        """
        if started := self._started.get(run):
            try:
                started.process.wait(seconds)
            except subprocess.TimeoutExpired as error:
                raise TimeoutError(run) from error
