"""One child process from its start to its end: limited in time, output, memory, files and processes."""

from __future__ import annotations

import ctypes
import errno
import os
import select
import selectors
import sys
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from llmdo.policy.shell import ShellLimits
    from llmdo.toolsets.children import Child

DRAIN_SECONDS = 0.3  # how long what a program left behind may still hold its output
POLL_SECONDS = 0.05  # how soon the end of a program is noticed where the system does not tell
CHUNK = 65536
MIB = 1024 * 1024

_SET_LIMITS = (
    "import os,resource as r,sys\n"
    "for n,v in zip(('AS','FSIZE','NOFILE','CORE'),map(int,sys.argv[1:5])):\n"
    "  try:r.setrlimit(getattr(r,'RLIMIT_'+n),(v,v))\n"
    "  except (ValueError,OSError):pass\n"
    "os.execv(sys.argv[5],sys.argv[5:])"
)
"""For systems without the program `prlimit`: a script that sets the limits and becomes the program."""


@dataclass(slots=True)
class Captured:
    """One output of a process: its beginning, and the number of bytes dropped after it."""

    most: int
    content: bytes = b""
    dropped: int = 0

    def add(self, chunk: bytes) -> None:
        """Takes in the next bytes."""
        room = max(self.most - len(self.content), 0)
        self.content += chunk[:room]
        self.dropped += len(chunk) - len(chunk[:room])


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a process ended."""

    status: int
    """The exit code; negative, the signal that ended it."""
    stdout: Captured
    stderr: Captured
    timed_out: bool = False
    stopped: bool = False
    left_behind: bool = False
    """Whether a process that it had started still held its output after its end."""


def execute(start: Callable[[], Child], *, seconds: float, keep: int, stop: int) -> Finished:
    """Runs the program that `start` starts until its end; no process of it is left that could be ended.

    A byte to read from the descriptor `stop` ends it early.

    Raises:
        OSError: It cannot be started, or was stopped before.
    """
    if select.select([stop], [], [], 0)[0]:
        raise InterruptedError(errno.EINTR, os.strerror(errno.EINTR))
    with closing(start()) as child, child.process, _Watch(child, keep, stop) as watch:
        try:
            watch.until(time.monotonic() + seconds)
        finally:
            child.end()
            watch.drain(DRAIN_SECONDS)
            status = child.status()
    return Finished(
        status=status,
        stdout=watch.stdout,
        stderr=watch.stderr,
        timed_out=watch.timed_out,
        stopped=watch.stopped,
        left_behind=watch.left_behind,
    )


class _Watch:
    """Reads the outputs of a program while it runs, and notices its end."""

    def __init__(self, child: Child, keep: int, stop: int) -> None:
        self.stdout, self.stderr = Captured(keep), Captured(keep)
        self.timed_out = self.stopped = self.left_behind = False
        self._child = child
        self._selector = selectors.DefaultSelector()
        self._open = 0
        for pipe, captured in ((child.process.stdout, self.stdout), (child.process.stderr, self.stderr)):
            assert pipe is not None, "both outputs are pipes"  # noqa: S101
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe.fileno(), selectors.EVENT_READ, captured)
            self._open += 1
        self._stop = stop
        self._selector.register(stop, selectors.EVENT_READ)
        if child.tells >= 0:
            self._selector.register(child.tells, selectors.EVENT_READ)

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()

    def until(self, deadline: float) -> None:
        """Returns when the process has ended, or at the deadline, or when it was stopped."""
        while not self.stopped:
            if self._child.has_ended():
                self.drain(DRAIN_SECONDS)
                self.left_behind = self._open > 0
                return
            if (left := deadline - time.monotonic()) <= 0:
                self.timed_out = True
                return
            self._read(min(left, POLL_SECONDS))

    def drain(self, seconds: float) -> None:
        """Reads until both outputs are closed, for at most `seconds`."""
        deadline = time.monotonic() + seconds
        while self._open and (left := deadline - time.monotonic()) > 0:
            self._read(min(left, POLL_SECONDS))

    def _read(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            if key.data is None:  # it is to be stopped, or has ended
                self.stopped = self.stopped or key.fd == self._stop
                self._selector.unregister(key.fd)
                continue
            try:
                chunk = os.read(key.fd, CHUNK)
            except BlockingIOError:
                continue
            if chunk:
                key.data.add(chunk)
            else:
                self._selector.unregister(key.fd)
                self._open -= 1


def limited(words: Sequence[str], limits: ShellLimits, prlimit: Path | None, processes: int) -> list[str]:
    """The words that start the program of `words` under `limits`; `processes` counts all of its user's."""
    memory, file = limits.memory_mb * MIB, limits.file_mb * MIB
    if prlimit is None:
        numbers = map(str, (memory, file, limits.files, 0))
        return [sys.executable, "-I", "-S", "-c", _SET_LIMITS, *numbers, *words]
    sizes = [
        f"--as={memory}",
        f"--fsize={file}",
        f"--nofile={limits.files}",
        f"--nproc={processes}",
        "--core=0",
    ]
    return [str(prlimit), *sizes, "--", *words]


def processes_of_user() -> int:
    """The number of this user's processes; 0 if the system does not list them."""
    user = os.geteuid()
    count = 0
    with suppress(OSError), os.scandir("/proc") as entries:
        for entry in entries:
            with suppress(OSError):
                count += entry.name.isdigit() and entry.stat().st_uid == user
    return count


def hide_from_children() -> None:
    """Keeps this user's other processes from reading the memory and environment of this one, if possible.

    It costs core dumps, and debuggers that attach. The superuser still can.
    """
    if sys.platform == "linux":
        set_dumpable = 4  # PR_SET_DUMPABLE
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(set_dumpable, 0, 0, 0, 0)
