"""The process that Python programs of tests are forked from: what they import is loaded already.

`forking.py` starts it, with the interpreter's options and environment that its programs have, and sends it one program
after another: words, folder, environment, and the three descriptors. It imports nothing of the tests.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
import threading
import time
import traceback
import types
from importlib import import_module
from typing import Any, NoReturn, TextIO

MESSAGE = 1 << 20
STARTED = "llmdo.toolsets.inspection"
"""Run as a program: it is loaded for what it imports, and then forgotten, as a program finds itself unloaded."""


def load(inspections: bool = False) -> None:
    """Loads all of llmdo, and with it what it imports; for inspections, which are many, only what they import."""
    if inspections:
        import_module(STARTED)
        del sys.modules[STARTED]
        return
    import llmdo

    for module in pkgutil.walk_packages(llmdo.__path__, "llmdo."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    del sys.modules[STARTED]


def serve(channel: socket.socket) -> NoReturn:
    """Forks one program after another; each ends in here as well."""
    program = _next(channel)
    _finish(program["how"], program["what"], program["words"])


def _next(channel: socket.socket) -> dict[str, Any]:
    """Returns once for every program, in the process that is to be it."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, MESSAGE, 3)
        if not message:
            os._exit(0)
        between = os.fork()
        if between == 0:
            between = os.getpid()
            if os.fork():  # its child belongs to whoever asked for it: `forking.py` adopts orphans meanwhile
                os._exit(0)
            while os.getppid() == between:
                os.sched_yield()
            program: dict[str, Any] = json.loads(message)
            _become(program, descriptors, channel)
            return program
        os.waitpid(between, 0)
        for descriptor in descriptors:
            os.close(descriptor)
        _answer(channel, {})


def _answer(channel: socket.socket, answer: dict[str, object]) -> None:
    """Sends it; ends where nobody waits for it any more."""
    try:
        channel.send(json.dumps(answer).encode())
    except BrokenPipeError:
        os._exit(1)


def _become(program: dict[str, Any], descriptors: list[int], channel: socket.socket) -> None:
    """Takes on what a new process has of its own, and says so."""
    answer: dict[str, object] = {"pid": os.getpid()}
    try:
        if program["session"]:
            os.setsid()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        for descriptor in descriptors:
            os.close(descriptor)
        if program["terminal"]:
            import fcntl
            import termios

            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        os.chdir(program["cwd"])
    except OSError as error:
        answer["error"] = [error.errno, error.strerror, error.filename]
    _answer(channel, answer)
    channel.close()
    if "error" in answer:
        os._exit(1)
    os.environ.clear()
    os.environ.update(program["environ"])
    time.tzset()
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__ = (
        _stream(0, "r", sys.stdin),
        _stream(1, "w", sys.stdout),
        _stream(2, "w", sys.stderr),
    )


def _stream(number: int, mode: str, like: TextIO) -> TextIO:
    """The standard stream of that number as the interpreter makes it when it starts."""
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    raw = unbuffered and mode == "w"
    binary: Any = open(number, f"{mode}b", 0 if raw else -1, closefd=False)  # noqa: SIM115
    (binary if raw else binary.raw).name = f"<{('stdin', 'stdout', 'stderr')[number]}>"
    return io.TextIOWrapper(
        binary,
        encoding=like.encoding,
        errors=like.errors,
        newline="\n" if mode == "w" else None,
        line_buffering=not unbuffered and (number == 2 or (mode == "w" and os.isatty(number))),
        write_through=unbuffered,
    )


def _run(how: str, what: str, words: list[str]) -> None:
    """Runs the program as `python -m` or `python -c` does."""
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.argv = [how, *words]
    if not sys.flags.safe_path:
        sys.path.insert(0, "" if how == "-c" else os.getcwd())  # noqa: PTH109
    if how == "-c":
        exec(compile(what, "<string>", "exec"), main.__dict__)
    else:
        runpy._run_module_as_main(what)


def _finish(how: str, what: str, words: list[str]) -> NoReturn:
    """Runs the program and ends as the interpreter does, but for freeing every object, which takes most of the time."""
    code: object = None
    interrupted = False
    try:
        _run(how, what, words)
    except SystemExit as end:
        code = end.code
        if not isinstance(code, int | None):
            print(code, file=sys.stderr)
            code = 1
    except BaseException as error:
        sys.excepthook(*sys.exc_info())
        code = 1
        interrupted = isinstance(error, KeyboardInterrupt)
    threading._shutdown()
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        traceback.print_exc()
        code = 120
    if interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(int(code or 0) & 0xFF)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]
    gc.disable()  # to look for garbage among what is imported takes a tenth of the time
    load(inspections=sys.argv[2] == STARTED)
    gc.enable()
    gc.collect()
    gc.freeze()  # else every child copies the pages of all objects when it collects its garbage
    serve(socket.socket(fileno=int(sys.argv[1])))
