"""Other processes that work on runs: those started to begin or resume them, and that of a run which a page watches.

Code of the workspace runs in them, not in the caller. The started command is `llmdo run` or `llmdo resume RUN`, with
`--approvals later`: it stops when only questions are left, its journal records the result, and it outlives whoever
started it.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Self

from llmdo.base.diagnostic import LlmdoError, unsteering
from llmdo.journal.naming import new_run
from llmdo.journal.opening import STORE, address_of, runs_of
from llmdo.journal.questions import GoesOnError, StaleError
from llmdo.journal.summary import ending
from llmdo.workspace.trust.consent import REQUIRED, VARIABLE, is_given

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


LAST = 2_000  # bytes of what a process says that are told of one which could not go on
ENDING = 2.0  # seconds for a process that is about to end
COULD_NOT = 2
"""The exit code of a command that could not do its task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Started:
    """A process that goes on with a run."""

    process: subprocess.Popen[bytes]
    words: IO[bytes]
    """Its output for a person."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    @property
    def fault(self) -> str | None:
        """The reason why it could not go on, if it could not."""
        return self.last_words if self.process.poll() == COULD_NOT else None

    @property
    def last_words(self) -> str:
        """What it said last: its error, if it had one."""
        self.words.seek(0)
        text = self.words.read()[-LAST:].decode(errors="replace")
        _, error, sentence = text.rpartition("error: ")
        return unsteering(f"{error}{sentence}" if error else text).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunHere:
    """A run to begin in a process of its own."""

    entry: str
    input: str | None = None
    """None if the entry's own holds."""
    continues: str | None = None
    """The run that it continues, with what was said in it."""


@dataclass(slots=True, kw_only=True)
class ResumeProcesses:
    """The runs of one workspace that go on, one process each."""

    root: Path
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    _started: dict[str, _Started] = field(default_factory=dict)
    _following: dict[str, threading.Thread] = field(default_factory=dict)
    """By run: the thread that starts the next process once ours has ended."""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _is_closed: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves the processes alone: they end by themselves, and their journals record their work."""
        for thread in self._following.values():
            thread.join(ENDING)  # what was answered as a process was about to end is gone on with
        with self._lock:
            self._is_closed = True
        for started in self._started.values():
            started.words.close()
            started.process.poll()
            started.process.returncode = started.process.returncode or 0  # nobody waits for it any more

    def start(self, run: str) -> None:
        """Goes on with the run of that id, after the end of our process for it if there is one.

        A process that stops for questions lets others answer them before it has ended.
        """
        with self._lock:
            if not self.is_at_work(run):
                self._resume(run)
            elif run not in self._following or not self._following[run].is_alive():
                process = self._started[run].process
                thread = threading.Thread(target=self._follow, args=(run, process), daemon=True)
                self._following[run] = thread
                thread.start()

    def begin(self, begun: BegunHere) -> str:
        """Begins a run as `llmdo run` does, so that its questions wait in its journal; returns its id."""
        run = new_run()
        words = [f"--entry={begun.entry}", f"--run={run}", "--approvals", "later"]
        if begun.continues is not None:
            words.append(f"--continue={begun.continues}")
        if begun.input is not None:
            words += ["--input", "-"]
        with self._lock:
            self._start(run, ["run", *words], begun.input)
        return run

    def _resume(self, run: str) -> None:
        self._start(run, ["resume", run, "--approvals", "later"])

    def _follow(self, run: str, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        with self._lock:
            if not self._is_closed and self._waits(run):
                self._resume(run)

    def _waits(self, run: str) -> bool:
        """Whether the run stopped for questions: so it still does if nobody has gone on with answers."""
        with suppress(LlmdoError), runs_of(self.root, self.environ).read(run) as journal:
            last = ending(journal)
            return last is not None and last.outcome == "waiting"
        return False

    def batch(self, batch: str) -> str:
        """The name of a batch for questions about it here."""
        return f"batch {batch}"

    def retry(self, batch: str, items: Sequence[str], *, by_workers: bool = False) -> None:
        """Has failed items of a batch be taken once more, of these keys or all, unless that is under way.

        Items put in `by_workers` are put in for them again, and our process follows that.
        """
        chosen = [f"--item={key}" for key in items]
        words = ["batch", "retry", batch, "--failed", *chosen]
        self._start(self.batch(batch), [*words, "--fleet", "-"] if by_workers else words)

    def _start(self, name: str, words: Sequence[str], given: str | None = None) -> None:
        """Starts a command, whose standard input is the text that is given: others can read arguments."""
        if self.is_at_work(name):
            return
        if before := self._started.pop(name, None):
            before.words.close()
        # `-P`: nothing in the workspace is taken for llmdo itself.
        command = [sys.executable, "-P", "-m", "llmdo", *words, "--project", str(self.root)]
        words_of = tempfile.TemporaryFile()  # noqa: SIM115  # the process has it for as long as it runs
        with tempfile.TemporaryFile() if given is not None else nullcontext() as text:
            if text and given is not None:
                text.write(given.encode())
                text.seek(0)
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=self._environment(),
                stdin=text or subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=words_of,
                start_new_session=True,  # Ctrl-C ends whoever started it, not this
            )
        self._started[name] = _Started(process=process, words=words_of)

    def _environment(self) -> dict[str, str]:
        """The environment of the process, without a terminal: code that nobody answered for is refused.

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
        """The reason why the run could not go on, from the last process that tried; None if it could, or does."""
        started = self._started.get(run)
        return started.fault if started else None

    def last_words(self, run: str) -> str:
        """What the last process of ours for the run said last; empty if there was none, or it said nothing."""
        started = self._started.get(run)
        return started.last_words if started else ""

    def stop(self, run: str) -> bool:
        """Ends our process of the run, as Ctrl-C does; returns whether there was one."""
        if not self.is_at_work(run):
            return False
        self._started[run].process.send_signal(signal.SIGINT)
        return True

    def at_work(self) -> tuple[str, ...]:
        """The runs that processes of ours go on with."""
        with self._lock:
            return tuple(run for run in self._started if self.is_at_work(run))

    def wait(self, run: str, seconds: float | None = None) -> None:
        """Waits until no process of ours goes on with the run.

        Raises:
            TimeoutError: One still does after so long.
        """
        if started := self._started.get(run):
            try:
                started.process.wait(seconds)
            except subprocess.TimeoutExpired as error:
                raise TimeoutError(run) from error


PATIENCE = 30  # seconds that a run may take to say whether it took an answer
STALE = "stale"


class LiveRun:
    """The run of the process at the other end of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        """Waits until it names its run.

        Raises:
            LlmdoError: It does not.
        """
        self._connection = connection
        self._lines = connection.makefile("r", encoding="utf-8")
        try:
            self.run = str(json.loads(self._lines.readline())["run"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise LlmdoError("the run beside which the page was to be opened is gone") from error
        self._numbers = itertools.count(1)
        self._replies: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._sending = threading.Lock()
        self._over = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def is_over(self) -> bool:
        """Whether its process is gone."""
        return self._over.is_set()

    def wait(self) -> None:
        """Returns once it is."""
        self._over.wait()

    def close(self) -> None:
        """Leaves the run, which hears of it."""
        with suppress(OSError):  # it is gone already
            self._connection.shutdown(socket.SHUT_RDWR)

    def answer(self, path: str, answer: Mapping[str, object]) -> None:
        """Has the run take an answer to the question at a call path.

        Raises:
            StaleError: It is for another question than the one that waits.
            GoesOnError: The run is busy, or its process is gone.
            LlmdoError: The question does not take it.
        """
        number = next(self._numbers)
        replies = self._replies[number] = queue.SimpleQueue()
        sent = {**answer, "id": number, "path": path}
        try:
            with self._sending:
                self._connection.sendall(json.dumps(sent).encode() + b"\n")
            reply = replies.get(timeout=PATIENCE)
        except (OSError, queue.Empty) as error:
            raise GoesOnError(f"run `{self.run}` does not take answers now") from error
        finally:
            del self._replies[number]
        if reply.get("ok"):
            return
        message = f"{path}: {reply.get('message')}"
        raise StaleError(message) if reply.get("error") == STALE else LlmdoError(message)

    def _read(self) -> None:
        try:
            for line in self._lines:
                reply = json.loads(line)
                if replies := self._replies.get(reply.get("id")):
                    replies.put(reply)
        except (OSError, ValueError, AttributeError):
            pass
        finally:
            self._over.set()
