"""What is forked is a process as Python itself would start it: both are started, and compared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support import forking
from tests.support.ptys import Person, wait_for
from tests.support.waiting import waited_for

pytestmark = pytest.mark.skipif(not forking.AVAILABLE, reason="only Linux lets a process adopt another one")

STATE = """
import atexit, faulthandler, gc, json, logging, os, signal, sys, threading
atexit.register(lambda: print("at exit", file=sys.stderr))
print(json.dumps({
    "name": __name__, "argv": sys.argv, "cwd": os.getcwd(), "first": sys.path[0], "path": sorted(sys.path[1:]),
    "environ": dict(os.environ), "flags": list(sys.flags), "parent": os.getppid(),
    "session": os.getsid(0) == os.getpid(), "group": os.getpgid(0) == os.getpgid(os.getppid()),
    "threads": threading.active_count(), "tasks": len(os.listdir("/proc/self/task")),
    "files": sorted(os.listdir("/proc/self/fd"))[:-1],
    "streams": [
        [one.name, one.encoding, one.errors, one.line_buffering, one.write_through, one.isatty(), one.fileno()]
        for one in (sys.stdin, sys.stdout, sys.stderr)
    ],
    "signals": {n: str(signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD)},
    "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "umask": os.umask(0), "nice": os.nice(0),
    "hash": hash("a") if os.environ.get("PYTHONHASHSEED") else None, "bytecode": sys.dont_write_bytecode,
    "main": sys.modules["__main__"].__dict__ is globals(), "input": sys.stdin.read(),
    "tests": [name for name in sys.modules if name.startswith(("tests", "pytest", "_pytest", "hypothesis", "_hypothesis"))],
    "hooks": [sys.excepthook is sys.__excepthook__, sys.unraisablehook is sys.__unraisablehook__, len(gc.callbacks)],
    "logging": len(logging.root.handlers), "faults": faulthandler.is_enabled(), "collecting": gc.get_threshold(),
}))
"""


def both(words: list[str], **options: Any) -> list[subprocess.CompletedProcess[str]]:
    """A program as Python starts it, and as it is forked."""
    runs: tuple[Callable[..., Any], ...] = (subprocess.run, forking.run)
    return [run([sys.executable, *words], capture_output=True, text=True, **options) for run in runs]


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "environ"),
    [
        ([], {}),
        ([], {"A": "ä\udcff", "PATH": "/nowhere", "TZ": "Asia/Tokyo"}),
        (["-P", "-B", "-s"], {"LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}),
        ([], {"PYTHONUNBUFFERED": "1", "PYTHONPATH": "/nowhere"}),
    ],
)
def test_a_program_has_what_a_started_one_has(
    options: list[str], environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "input").write_text("typed")
    environ = {**os.environ, **environ}
    states = []
    for run in (subprocess.run, forking.run):
        with (tmp_path / "input").open() as typed:
            words = [sys.executable, *options, "-c", STATE, "a", "-b"]
            pipes: Any = {"capture_output": True, "text": True, "stdin": typed}
            done: Any = run(words, cwd=tmp_path, env=environ, start_new_session="-P" in options, **pipes)
        assert (done.returncode, done.stderr) == (0, "at exit\n")
        states.append(json.loads(done.stdout))
    started, forked = states
    assert forked == started
    assert (forked["parent"], forked["input"], forked["tasks"]) == (os.getpid(), "typed", 1)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("sys.exit(7)", 7),
        ("sys.exit(-1)", 255),
        ("sys.exit('why')", 1),
        ("sys.exit()", 0),
        ("1 / 0", 1),
        ("os._exit(5)", 5),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("os.kill(os.getpid(), 9)", -9),
        ("os.close(1); print('x')", 120),
        ("threading.Timer(0.1, print, ['late']).start()", 0),
    ],
)
def test_a_program_ends_as_a_started_one_does(
    ending: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    program = f"import atexit, os, sys, threading\natexit.register(print, 'at exit')\nprint('out')\n{ending}"
    started, forked = both(["-c", program])
    assert forked.returncode == started.returncode == code
    assert forked.stdout == started.stdout
    assert forked.stderr.splitlines()[-1:] == started.stderr.splitlines()[-1:]


@pytest.mark.long
def test_the_command_line_is_a_module_that_is_run(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('of the folder')")
    for words in (["check"], ["--version"], ["run"], ["nonsense"]):
        started, forked = both(["-m", "llmdo", *words], cwd=tmp_path)
        assert (forked.returncode, forked.stdout, forked.stderr) == (
            started.returncode, started.stdout, started.stderr,
        )  # fmt: skip


def test_nothing_of_one_program_is_left_to_the_next(tmp_path: Path) -> None:
    first = "import os, sys; sys.path.append('x'); os.environ['LEFT'] = '1'; os.umask(0o777); sys.modules['m'] = sys"
    forking.run([sys.executable, "-c", first], check=True, cwd=tmp_path)
    second = "import os, sys; print('x' in sys.path, 'LEFT' in os.environ, os.umask(0) == 0o777, 'm' in sys.modules)"
    done = forking.run([sys.executable, "-c", second], capture_output=True, text=True, check=True)
    assert done.stdout == "False False False False\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_program_alone(number: signal.Signals) -> None:
    # A signal that comes right before a sleep is handled after it: so it sleeps often, and never long.
    code = "import time\nprint(1, flush=True)\nfor _ in range(6000): time.sleep(0.1)"
    words = [sys.executable, "-c", code]
    other = forking.Popen(words, stdout=subprocess.PIPE)
    with forking.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        assert process.stdout.readline() == b"1\n"
        process.send_signal(number)
        assert process.wait() == -number
    assert other.poll() is None
    with other:
        other.kill()
    assert other.returncode == -signal.SIGKILL


def test_what_a_program_leaves_behind_is_not_ours(tmp_path: Path) -> None:
    code = """
import os, time
parent = os.getpid()
if os.fork() == 0:
    while os.getppid() == parent: time.sleep(0.01)
    open("adopted", "w").write(str(os.getppid()))
"""
    forking.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert waited_for((tmp_path / "adopted").exists)
    assert waited_for((tmp_path / "adopted").read_text)
    assert (tmp_path / "adopted").read_text() != str(os.getpid())


@pytest.mark.long
def test_threads_start_programs_at_the_same_time_and_each_has_its_own_end() -> None:
    def ended(code: int) -> int:
        return forking.run([sys.executable, "-c", f"raise SystemExit({code})"]).returncode

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ended, range(64))) == [*range(64)]


def zygotes() -> list[int]:
    """The processes that fork programs for this one."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(child) for child in children if "zygote.py" in Path(f"/proc/{child}/cmdline").read_text()]


def test_a_program_that_is_broken_off_at_its_start_is_not_taken_for_the_next_one() -> None:
    def break_off(*_: object) -> None:
        raise InterruptedError

    def is_itself() -> bool:
        words = [sys.executable, "-c", "import os; print(os.getpid())"]
        with forking.Popen(words, stdout=subprocess.PIPE) as process:
            assert process.stdout
            return int(process.stdout.read()) == process.pid

    assert is_itself()
    stopped, before = zygotes(), signal.signal(signal.SIGUSR1, break_off)
    alarm = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        for each in stopped:
            os.kill(each, signal.SIGSTOP)
        alarm.start()
        with pytest.raises(InterruptedError):
            is_itself()
    finally:
        alarm.cancel()
        for each in stopped:
            os.kill(each, signal.SIGCONT)
        signal.signal(signal.SIGUSR1, before)
    assert is_itself()


def test_a_terminal_is_the_programs_own(tmp_path: Path) -> None:
    code = (
        "import os; print(os.ttyname(0), open('/dev/tty').isatty(), os.tcgetpgrp(0) == os.getpid()); input()"
    )
    with Person() as person:
        child = person.start([sys.executable, "-c", code], tmp_path, dict(os.environ))
        assert waited_for(lambda: " True True" in person.text())
        person.type("\x03")
        assert wait_for(child) == -signal.SIGINT
        assert waited_for(lambda: "KeyboardInterrupt" in person.text())


def test_a_folder_that_is_not_there_is_the_same_error(tmp_path: Path) -> None:
    for start in (subprocess.Popen, forking.Popen):
        with pytest.raises(FileNotFoundError) as caught:
            start([sys.executable, "-c", "pass"], cwd=tmp_path / "missing")
        assert str(caught.value.filename) == str(tmp_path / "missing")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["cat"], {}),
        ([sys.executable, "file.py"], {}),
        ([sys.executable, "-I", "-c", "pass"], {}),
        ([sys.executable, "-c", "pass"], {"pass_fds": [0]}),
        ([sys.executable, "-c", "pass"], {"preexec_fn": os.getpid}),
    ],
)
def test_what_cannot_be_forked_faithfully_is_refused(words: list[str], options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="only `subprocess`"):
        forking.Popen(words, **options)
