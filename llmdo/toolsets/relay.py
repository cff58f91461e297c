"""The process between llmdo and a local MCP server, which only relays messages.

Run as its own script, `python -I -S relay.py`, without the rest of llmdo; the variable `LLMDO_RELAY` holds the
request. Too large messages, floods and other output never reach llmdo. When llmdo ends in any way, even by `kill -9`,
this process ends the server with all its processes. Its last line on stderr is JSON with the reason why it ended.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

VARIABLE = "LLMDO_RELAY"

CHUNK = 65536
WAITING = 4 * 1024 * 1024  # bytes that wait for a reader before no more are read
WINDOW_S = 10.0
GRACE_S = 1.0  # for a server to end by itself once its input is closed
TERM_S = 0.5  # for it to end after SIGTERM
DRAIN_S = 0.3  # how long what an ended server left behind may still hold its output
POLL_S = 0.25
SET_PDEATHSIG, SET_DUMPABLE, SET_CHILD_SUBREAPER = 1, 4, 36  # from <linux/prctl.h>


class Ended(Exception):  # noqa: N818  # not an error
    """The end of the connection; its text is the reason, empty if llmdo wanted it."""


class Relay:
    """One server process and the bytes on their way to and from it."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._parent: int = request["parent"]
        self._message_bytes: int = request["message_bytes"]
        self._noise_bytes: int = request["noise_bytes"]
        self._window_messages: int = request["window_messages"]
        self._window_bytes: int = request["window_bytes"]
        self._keep: int = request["stderr_bytes"]
        self._process = subprocess.Popen(
            request["words"],
            cwd=request["cwd"],
            env=request["env"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # there is one thread
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr  # noqa: S101, PT018
        self._input = self._process.stdin.fileno()
        self._output = self._process.stdout.fileno()
        self._errors = self._process.stderr.fileno()
        for number in (0, 1, self._input, self._output, self._errors):
            os.set_blocking(number, False)
        self._to_server = bytearray()
        self._to_llmdo = bytearray()
        self._line = bytearray()
        self._noise = 0
        self._messages = self._bytes = 0
        self._window = time.monotonic()
        self._is_open = {self._output: True, self._errors: True}
        self.printed = b""

    def run(self) -> str:
        """Relays until one side ends, and returns the reason."""
        try:
            while True:
                self._step()
        except Ended as ended:
            return str(ended)

    def _step(self) -> None:
        events = select.poll()
        # Registered for nothing, a descriptor still tells that the other side is gone.
        events.register(0, select.POLLIN if len(self._to_server) < WAITING else 0)
        events.register(1, select.POLLOUT if self._to_llmdo else 0)
        if self._to_server:
            events.register(self._input, select.POLLOUT)
        for number, is_open in self._is_open.items():
            if is_open and (number == self._errors or len(self._to_llmdo) < WAITING):
                events.register(number, select.POLLIN)
        for number, event in events.poll(POLL_S * 1000):
            self._happened(number, event)
        if os.getppid() != self._parent:  # something that llmdo had forked still holds our pipes open
            raise Ended
        if not self._is_open[self._output]:
            self._over()
        if self._process.poll() is not None:
            self._drain()
            self._over()

    def _happened(self, number: int, event: int) -> None:
        if number == 0:
            if event & (select.POLLHUP | select.POLLERR) or not (chunk := _read(0)):
                raise Ended
            self._to_server += chunk
        elif number == 1:
            if event & (select.POLLHUP | select.POLLERR):
                raise Ended
            _write(1, self._to_llmdo)
        elif number == self._input:
            if event & select.POLLERR:
                self._to_server.clear()  # it no longer reads; its end tells
            else:
                _write(self._input, self._to_server)
        else:
            self._take(number)

    def _take(self, number: int) -> None:
        chunk = _read(number)
        if chunk is None:
            return
        if not chunk:
            self._is_open[number] = False
        elif number == self._errors:
            self.printed = (self.printed + chunk)[-self._keep :]
        else:
            self._split(chunk)

    def _split(self, chunk: bytes) -> None:
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._check_size(len(line))
            whole = bytes(self._line) + line
            self._line.clear()
            self._pass_on(whole)
        self._check_size(len(rest))
        self._line += rest

    def _check_size(self, more: int) -> None:
        if len(self._line) + more > self._message_bytes:
            raise Ended(f"it sent a message of more than {self._message_bytes:,} bytes")

    def _pass_on(self, line: bytes) -> None:
        if not line.strip():
            return
        now = time.monotonic()
        if now - self._window > WINDOW_S:
            self._window, self._messages, self._bytes = now, 0, 0
        if not _is_message(line):
            self._noise += len(line)
            if self._noise > self._noise_bytes:
                raise Ended(
                    f"it wrote more than {self._noise_bytes:,} bytes to its output that are not messages"
                )
            return
        self._messages += 1
        self._bytes += len(line)
        if self._messages > self._window_messages or self._bytes > self._window_bytes:
            raise Ended(
                f"it sent {self._messages:,} messages of {self._bytes:,} bytes within {WINDOW_S:g} seconds"
            )
        self._to_llmdo += line + b"\n"

    def _drain(self) -> None:
        deadline = time.monotonic() + DRAIN_S
        while any(self._is_open.values()) and time.monotonic() < deadline:
            ready, _, _ = select.select(
                [descriptor for descriptor, is_open in self._is_open.items() if is_open], [], [], 0.05
            )
            for number in ready:
                self._take(number)

    def _over(self) -> None:
        """Passes the remaining bytes to llmdo, and ends."""
        deadline = time.monotonic() + DRAIN_S
        while self._to_llmdo and time.monotonic() < deadline:
            select.select([], [1], [], 0.05)
            _write(1, self._to_llmdo)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        raise Ended(_ending(self._process.returncode))

    def end(self, *, gently: bool) -> None:
        """Ends the server and all its processes."""
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        if gently:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_S)
                gently = False
        if gently:
            self._signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(TERM_S)
        self._signal(signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        _end_children()

    def _signal(self, number: signal.Signals) -> None:
        # Its group keeps its number as long as anything of it lives, and nobody else can have it.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _read(number: int) -> bytes | None:
    """The bytes that can be read now, empty at the end; None if there are none yet."""
    try:
        return os.read(number, CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _write(number: int, waiting: bytearray) -> None:
    with suppress(BlockingIOError, BrokenPipeError):
        del waiting[: os.write(number, waiting[:CHUNK])]


def _is_message(line: bytes) -> bool:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and message.get("jsonrpc") == "2.0"


def _ending(status: int | None) -> str:
    if status is None:
        return "it closed its output"
    if status >= 0:
        return f"it ended with status {status}"
    return f"it was ended by {signal.Signals(-status).name}"


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _die_with_parent() -> None:
    _prctl(SET_PDEATHSIG, signal.SIGKILL)


def _end_children() -> None:
    """Ends the server's processes in sessions of their own: orphans become children of this process."""
    for _ in range(50):
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        children = _children()
        if not children:
            return
        for child in children:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.01)


def _children() -> list[int]:
    ready = []
    me = os.getpid()
    with suppress(OSError), os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                with suppress(OSError, ValueError, IndexError), open(f"{entry.path}/stat", "rb") as file:  # noqa: PTH123
                    if int(file.read().rpartition(b")")[2].split()[1]) == me:
                        ready.append(int(entry.name))
    return ready


def _stop(*_: object) -> None:
    raise Ended


def main() -> int:
    """Relays until the end; 0 if llmdo wanted it."""
    request = json.loads(os.environ.pop(VARIABLE))
    _prctl(SET_DUMPABLE, 0)  # what the server is given is in our own environment
    _prctl(SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for llmdo, which then closes us
    try:
        relay = Relay(request)
    except (OSError, ValueError) as error:  # such as a word with a null character
        _tell(f"it cannot be started: {getattr(error, 'strerror', None) or error}", b"")
        return 1
    reason = relay.run()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _tell(reason, relay.printed)
    relay.end(gently=not reason)
    return 1 if reason else 0


def _tell(reason: str, printed: bytes) -> None:
    answer = {"reason": reason, "printed": printed.decode("utf-8", "replace")}
    with suppress(OSError):
        os.write(2, json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
