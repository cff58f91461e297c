"""A program started by llmdo: by itself, or under a guardian that ends it if llmdo is killed."""

from __future__ import annotations

import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from llmdo.toolsets import guardian

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

END_SECONDS = guardian.KILL_S + 2.0  # how long a guardian has to end what is left
LOADER = "LD_LIBRARY_PATH"
"""Some builds of Python do not start without it."""


class Child(Protocol):
    """A program started in its own session, with its outputs to read."""

    process: subprocess.Popen[bytes]

    @property
    def tells(self) -> int:
        """The descriptor that becomes readable when the program may have ended; negative if there is none."""

    def has_ended(self) -> bool:
        """Whether it has ended; the number of its group stays reserved."""

    def end(self) -> None:
        """Ends all its remaining processes."""

    def status(self) -> int:
        """The exit code; negative, the signal that ended it."""

    def close(self) -> None:
        """Releases the resources that watched it."""


class Alone:
    """A program that ends by itself if llmdo is killed, such as bubblewrap."""

    def __init__(self, words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self.process = _started(words, cwd, env, subprocess.DEVNULL)
        self.tells = -1
        self._ended = False
        if hasattr(os, "pidfd_open"):
            with suppress(OSError):
                self.tells = os.pidfd_open(self.process.pid)

    def has_ended(self) -> bool:
        """Whether it has ended; it is not reaped yet, so the number of its group is nobody else's."""
        self._ended = self._ended or bool(
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        )
        return self._ended

    def end(self) -> None:
        """Ends its group, and its own children.

        Bubblewrap's child leaves the group shortly before it asks to die with its parent: killed in between, the
        parent would leave it behind.
        """
        with ExitStack() as stack:
            children = [] if self.has_ended() else [*_children(self.process.pid, stack)]
            _kill(self.process)
            for child in children:
                with suppress(ProcessLookupError, PermissionError):
                    signal.pidfd_send_signal(child, signal.SIGKILL)

    def status(self) -> int:
        """Its exit code."""
        return self.process.wait()

    def close(self) -> None:
        """Closes the descriptor that reported its end."""
        if self.tells >= 0:
            os.close(self.tells)


class Guarded:
    """A program under a guardian, which shares its process group, sees its end first and ends its leftovers.

    `commands` is the file in which the guardian records a running command; None if nobody would ask.
    """

    def __init__(
        self, words: Sequence[str], cwd: Path, env: Mapping[str, str], commands: Path | None
    ) -> None:
        request = marshal.dumps(
            (
                [os.fsencode(word) for word in words],
                {os.fsencode(name): os.fsencode(value) for name, value in env.items()},
                os.fsencode(commands) if commands else b"",
            )
        )
        self._socket, theirs = socket.socketpair()
        # What it is to start is in no list of processes: a command may look there for others of its name.
        own = {LOADER: os.environ[LOADER]} if LOADER in os.environ else {}
        script = [sys.executable, "-I", "-S", "-B", guardian.__file__]
        try:
            with theirs:
                self.process = _started(script, cwd, own, theirs.fileno())
        except BaseException:
            self._socket.close()
            raise
        with suppress(BrokenPipeError, ConnectionResetError):  # its end tells
            self._socket.sendall(len(request).to_bytes(guardian.NUMBER, "big") + request)
        self._socket.settimeout(0)
        self._answers = b""
        self._is_over = False

    @property
    def tells(self) -> int:
        """The socket."""
        return self._socket.fileno()

    def has_ended(self) -> bool:
        """Whether the guardian answered, or is gone.

        Raises:
            OSError: The program cannot be started.
        """
        self._hear()
        if self._answers[:1] == guardian.REFUSED and self._number() is not None:
            code = self._number() or 0
            raise OSError(code, os.strerror(code))
        return self._is_over or self._number() is not None

    def end(self) -> None:
        """Has the guardian end all remaining processes, then kills its group in any case."""
        with suppress(OSError):
            self._socket.send(guardian.END)
        deadline = time.monotonic() + END_SECONDS
        while not self._is_over and (left := deadline - time.monotonic()) > 0:
            select.select([self._socket], [], [], left)
            self._hear()
        _kill(self.process)

    def status(self) -> int:
        """The program's exit code; the guardian's if it was killed before it could report."""
        ended = self.process.wait()
        self._hear()
        code = self._number() if self._answers[:1] == guardian.ENDED else None
        return ended if code is None else code

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()

    def _hear(self) -> None:
        """Reads the guardian's answers so far, and notes whether it is gone."""
        try:
            while chunk := self._socket.recv(1 + guardian.NUMBER):
                self._answers += chunk
        except BlockingIOError:
            return
        except OSError:  # it went without reading all that was sent
            pass
        self._is_over = True

    def _number(self) -> int | None:
        """The number in its answer; None until it is complete."""
        number = self._answers[1 : 1 + guardian.NUMBER]
        return int.from_bytes(number, "big", signed=True) if len(number) == guardian.NUMBER else None


def _started(words: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _children(parent: int, stack: ExitStack) -> Iterator[int]:
    """Descriptors of the children of a process, where the system tells them; `stack` closes them."""
    with suppress(OSError, AttributeError):
        for number in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            with suppress(ProcessLookupError):
                child = os.pidfd_open(int(number))
                stack.callback(os.close, child)
                # Its number may have become somebody else's before it was opened.
                if f"\nPPid:\t{parent}\n" in Path(f"/proc/{number}/status").read_text():
                    yield child


def _kill(process: subprocess.Popen[bytes]) -> None:
    # Not reaped yet, so that the number of its group is nobody else's.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
