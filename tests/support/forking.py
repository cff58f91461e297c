"""Python programs as processes of their own that need not start Python: forked from one that has llmdo loaded.

Most of a short program's time is its start and the import of pydantic-ai. `Popen` and `run` are those of `subprocess`
for programs `python [options] -m MODULE ...` and `python [options] -c CODE ...`, and what they start is a real process
with arguments, environment, folder, descriptors and exit code of its own, a child of this one, that can be signalled
and killed. There is one zygote (`zygote.py`) for each set of interpreter options and of variables that Python reads
when it starts; each lives as long as this process.

What differs: everything is imported already, `/proc/PID/cmdline` is the zygote's, and sets of strings are in the same
order in all programs of a zygote. Tests about these use `subprocess`.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import inspect
import json
import os
import re
import socket
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, Self

from llmdo.toolsets.bubblewrap import TRUE
from tests.support import zygote

AVAILABLE = sys.platform == "linux"
"""Elsewhere nobody can adopt a process, and programs are started as usual."""
_Usual = subprocess.Popen
_PR_SET_CHILD_SUBREAPER = 36
_READ_AT_START = re.compile(r"PYTHON(?!UNBUFFERED)\w*|LANG|LC_\w+")
_OPTIONS = frozenset({"-B", "-P", "-s"})


@dataclass(frozen=True)
class _Start:
    """What Python is started with, as far as its programs differ by it."""

    options: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    program: str = ""
    """The one that it is for, if it is loaded for one."""

    @classmethod
    def of(cls, options: tuple[str, ...], environ: Mapping[str, str], what: str = "") -> Self:
        variables = sorted(
            (name, value)
            for name, value in environ.items()
            if value and _READ_AT_START.fullmatch(name)  # empty, it is as if not set
        )
        return cls(options, (*variables,), what if what == zygote.STARTED else "")


_zygotes: dict[_Start, socket.socket] = {}
_starting = Lock()
"""Held while a program starts: who adopts orphans is said of the whole process, and a zygote's answers have no name."""


def _zygote(start: _Start) -> socket.socket:
    if start not in _zygotes:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            script = str(Path(zygote.__file__))
            command = [sys.executable, *start.options, script, str(its.fileno()), start.program]
            environ = {"PATH": os.environ["PATH"], **dict(start.variables)}
            process = subprocess.Popen(
                command, env=environ, stdin=subprocess.DEVNULL, pass_fds=[its.fileno()]
            )
        _zygotes[start] = ours
        atexit.register(_ended, process.wait, ours)
    return _zygotes[start]


def _ended(wait: Callable[[], object], channel: socket.socket) -> None:
    channel.close()  # for the zygote, the end of its work
    wait()


@contextmanager
def _adopting() -> Iterator[None]:
    """Whose parent ends meanwhile, among all that this process started, becomes its child."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")
    try:
        yield
    finally:
        prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _parsed(words: Sequence[str]) -> tuple[tuple[str, ...], str, str, list[str]]:
    """Options of the interpreter, `-m` or `-c`, what follows that, and the program's own words."""
    program, *rest = words
    options = []
    while rest and rest[0] in _OPTIONS:
        options.append(rest.pop(0))
    if program != sys.executable or len(rest) < 2 or rest[0] not in ("-m", "-c"):
        raise ValueError(f"only `subprocess` can start {words}")
    return tuple(options), rest[0], rest[1], rest[2:]


class Popen(subprocess.Popen[Any]):
    """As in `subprocess`, for Python programs; with `terminal`, standard input controls the new session."""

    def __init__(
        self, args: Sequence[str | os.PathLike[str]], *, terminal: bool = False, **options: Any
    ) -> None:
        self._terminal = terminal
        if terminal and not AVAILABLE:
            options["preexec_fn"] = partial(fcntl.ioctl, 0, termios.TIOCSCTTY, 0)
        super().__init__([os.fspath(word) for word in args], **options)

    def _execute_child(self, *given: Any, **named: Any) -> None:
        start = super()._execute_child
        if not AVAILABLE:
            start(*given, **named)
            return
        asked = inspect.signature(start).bind(*given, **named).arguments
        pipes = [asked[end] for end in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")]
        if asked["pass_fds"] or asked["preexec_fn"] or asked["shell"]:
            raise ValueError("only `subprocess` can do this")
        options, how, what, words = _parsed(asked["args"])
        environ: Mapping[str, str] = {**os.environ} if asked["env"] is None else asked["env"]
        program = {
            "how": how,
            "what": what,
            "words": words,
            "environ": {**environ},
            "cwd": os.fspath(asked["cwd"] or "."),
            "session": asked["start_new_session"],
            "terminal": self._terminal,
        }
        ends = [own if end == -1 else end for own, end in enumerate((pipes[0], pipes[3], pipes[5]))]
        program["cwd"] = str(Path(program["cwd"]).absolute())
        try:
            self.pid = _started(_Start.of(options, environ, what), program, ends)
        finally:
            self._close_pipe_fds(*pipes)
        self._child_created = True


class Inspecting(subprocess.Popen[Any]):
    """As in `subprocess`, but the inspection of a workspace is forked, without the bubblewrap around it."""

    def __new__(cls, args: Any, **options: Any) -> Any:
        words = [args] if isinstance(args, str | bytes) else [*args]
        if ("-m", zygote.STARTED) in pairwise(words):
            start = len(words) - 1 - words[::-1].index(sys.executable)
            return Popen(words[start:], **{**options, "pass_fds": ()})
        if words[-1] == TRUE and "--seccomp" in words:  # a bubblewrap for it is tried out
            return _Usual([TRUE], **options)
        return super().__new__(cls)


def _started(start: _Start, program: Mapping[str, object], descriptors: list[int]) -> int:
    """The id of the new process, once it has all of its own."""
    with _starting, _adopting():
        channel = _zygote(start)
        try:
            socket.send_fds(channel, [json.dumps(program).encode("utf-8", "surrogateescape")], descriptors)
            answer: dict[str, Any] = {}
            for _ in ("the zygote", "the program"):
                answer |= json.loads(channel.recv(zygote.MESSAGE))
        except (
            BaseException
        ):  # such as the end of a test's time: the answers to come would be taken for the next one's
            _zygotes.pop(start).close()
            raise
    if "error" in answer:
        os.waitpid(answer["pid"], 0)
        number, text, path = answer["error"]
        raise OSError(number, text, path)
    return int(answer["pid"])


def run(
    args: Sequence[str | os.PathLike[str]],
    *,
    capture_output: bool = False,
    check: bool = False,
    timeout: float | None = None,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """As in `subprocess`."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(args, **options) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done
