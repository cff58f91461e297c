"""The process between llmdo and an unisolated command: it ends the command if llmdo no longer can.

Run as its own script, `python -I -S guardian.py`, without the rest of llmdo. Through the socket on standard input
llmdo sends the command, the guardian answers once how that ended, and llmdo then orders the end of the remaining
processes. If the socket closes without that order, llmdo was killed, and the command is ended as well. On Linux
orphans of the command become children of the guardian, so other sessions are found too; elsewhere only the process
group is ended.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import select
import signal
import sys
import time

if sys.platform != "win32":
    import fcntl

ENDED, REFUSED, END = b"s", b"e", b"k"
"""The answers, each followed by a number, the exit code or why it cannot be started; and the order to end."""

NUMBER = 8  # bytes of a number
GRACE_S = 1.0  # for a command to end after SIGTERM
KILL_S = 3.0  # how long what was killed is waited for: a program of another user cannot be
POLL_S = 1.0
PAUSE_S = 0.01
SET_PDEATHSIG, SET_CHILD_SUBREAPER = 1, 36  # from <linux/prctl.h>
STARTED, OVER = b"+", b"-"
"""The entries in the file of the run's commands: a command was started, and all of it has ended."""


def main() -> None:
    """Starts the command, and returns when no process of it is left that could be ended."""
    parent = os.getppid()
    everything = signal.valid_signals() - {signal.SIGCHLD}
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, everything)  # the command may signal its whole group
    sees_orphans = _prctl(SET_CHILD_SUBREAPER, 1)
    words, env, commands = marshal.loads(_received(int.from_bytes(_received(NUMBER), "big")))  # noqa: S302  # from llmdo
    noted = _noted(commands)
    if select.select([0], [], [], 0)[0]:  # llmdo is gone already
        return
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, _nothing)
    me = os.getpid()
    child = os.fork()
    if child == 0:
        _become(words, env, usual, me)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    is_ordered = _wait(child, woken, parent)
    _end(sees_orphans=sees_orphans, gently=not is_ordered)
    if noted >= 0 and (sees_orphans or is_ordered):
        os.write(noted, OVER)
    os.killpg(0, signal.SIGKILL)  # what is left of the group, this process last


def _received(size: int) -> bytes:
    received = b""
    while len(received) < size:
        chunk = os.read(0, size - len(received))
        if not chunk:
            os._exit(1)
        received += chunk
    return received


def _noted(commands: bytes) -> int:
    """The open file of the run's commands, locked while this process lives; -1 if there is none."""
    if not commands:
        return -1
    file = os.open(commands, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    fcntl.flock(file, fcntl.LOCK_SH)
    os.write(file, STARTED)
    return file


def _become(
    words: list[bytes], env: dict[bytes, bytes], usual: set[int | signal.Signals], guardian: int
) -> None:
    """Replaces this new process by the command; reports a failure to llmdo."""
    answers = os.dup(0)
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        _prctl(SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guardian:
            os._exit(1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)
        os.execve(words[0], words, env)  # noqa: S606
    except OSError as error:
        os.write(answers, REFUSED + (error.errno or 0).to_bytes(NUMBER, "big"))
    finally:
        os._exit(1)


def _wait(child: int, woken: int, parent: int) -> bool:
    """Reports the command's end to llmdo; returns whether llmdo ordered the end of all, rather than ended."""
    while True:
        ready, _, _ = select.select([0, woken], [], [], POLL_S)
        if woken in ready:
            os.read(woken, 512)
            _reap(child)
        if 0 in ready:
            try:
                return os.read(0, 1) == END
            except OSError:
                return False
        if os.getppid() != parent:  # something else that llmdo had forked holds the socket open
            return False


def _reap(child: int) -> bool:
    """Reaps ended children; returns whether this process has children left."""
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                code = os.waitstatus_to_exitcode(ended[1])
                _answer(ENDED + code.to_bytes(NUMBER, "big", signed=True))
    except ChildProcessError:
        return False
    return True


def _answer(message: bytes) -> None:
    try:
        os.write(0, message)
    except OSError:  # nobody listens any more
        return


def _end(*, sees_orphans: bool, gently: bool) -> None:
    """Ends all processes that the command started, as far as this process can find them."""
    if gently:
        os.killpg(0, signal.SIGTERM)
        _signal(signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        while _reap(0) and time.monotonic() < deadline:
            time.sleep(PAUSE_S)
    deadline = time.monotonic() + KILL_S
    while sees_orphans and _reap(0) and time.monotonic() < deadline:
        _signal(signal.SIGKILL)
        time.sleep(PAUSE_S / 10)


def _signal(number: signal.Signals) -> None:
    for process in _descendants():
        try:
            os.kill(process, number)
        except (ProcessLookupError, PermissionError):
            continue


def _descendants() -> list[int]:
    """The descendants of this process; none if the system does not list them."""
    children: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208  # `pathlib` costs more than all else here
    except OSError:
        return []
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            children.setdefault(parent, []).append(int(name))
    descendants = [os.getpid()]
    for process in descendants:
        descendants += children.get(process, ())
    return descendants[1:]


def _prctl(option: int, value: int) -> bool:
    """Whether the system call succeeded."""
    return sys.platform == "linux" and bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)


def _nothing(*_: object) -> None:
    """Handles a signal that only has to wake this process."""


if __name__ == "__main__":
    main()
