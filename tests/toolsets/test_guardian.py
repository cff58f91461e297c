"""Commands that nothing isolates: ended with the process that ran them, and otherwise as if nobody watched."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from llmdo.toolsets import orphans
from llmdo.toolsets.children import Guarded
from llmdo.toolsets.processes import Finished, execute
from tests.support.alive import gone, long_time, running
from tests.support.waiting import waited_for

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has orphans that somebody adopts")

RUNNER = """
import os, sys, time
from functools import partial
from pathlib import Path
from llmdo.toolsets.children import Guarded
from llmdo.toolsets.processes import execute
def start():
    child = Guarded(["/bin/sh", "line"], Path.cwd(), {"PATH": os.environ["PATH"]}, Path("commands"))
    if sys.argv[1] == "forked" and os.fork() == 0:
        time.sleep(600)
    return child
execute(start, seconds=600, keep=100, stop=os.pipe()[0])
"""
# A shell that waits for a program in the foreground runs no trap before that has ended: a signal that comes while it
# starts the next one would go unheard. `wait` is interrupted by it, whenever it comes.
FAMILY = """
trap 'echo asked > asked' TERM
setsid setsid sleep {long} < /dev/null > /dev/null 2>&1 &
sh -c 'trap "" TERM HUP; sleep {long}; sleep {long}' &
(setsid sh -c 'trap "" TERM; sleep {long}; sleep {long}; sleep {long}' &)
echo $$ > started
while :; do sleep {long} & wait; done 2> /dev/null
"""


@pytest.fixture
def long() -> str:
    """Seconds to sleep, of a number by which the processes of this very test are known."""
    return long_time()


@contextmanager
def started(folder: Path, line: str, forks: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """A process that executes the line in `folder`, and ends with the block, however that ends."""
    (folder / "line").write_text(line)
    words = [sys.executable, "-c", RUNNER, forks]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            assert waited_for((folder / "started").exists)
            yield process
        finally:
            process.kill()


def guardian_of(folder: Path) -> int:
    """The parent of the command."""
    assert waited_for((folder / "started").read_text)
    stat = Path("/proc", (folder / "started").read_text().strip(), "stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


@pytest.mark.long
@linux
@pytest.mark.parametrize("forks", ["", "forked"])
def test_all_that_a_command_started_ends_when_its_process_is_killed(
    tmp_path: Path, long: str, forks: str
) -> None:
    with started(tmp_path, FAMILY.format(long=long), forks) as process:
        assert waited_for(lambda: len(running(long)) >= 5)
        assert not orphans.all_ended(tmp_path / "commands", 0)
        assert not orphans.is_known(tmp_path / "commands")
        process.kill()
    assert orphans.all_ended(tmp_path / "commands", 30)
    assert not running(long)
    assert orphans.is_known(tmp_path / "commands")
    assert (tmp_path / "asked").exists()
    if forks:
        os.killpg(process.pid, signal.SIGKILL)


@linux
def test_the_command_ends_when_its_guardian_is_killed_with_its_process(tmp_path: Path, long: str) -> None:
    with started(tmp_path, f"echo $$ > started; exec sleep {long}") as process:
        guardian = guardian_of(tmp_path)
        os.kill(process.pid, signal.SIGSTOP)
        os.kill(guardian, signal.SIGKILL)
        assert gone(f"sleep\0{long}")
        process.kill()
    assert orphans.all_ended(tmp_path / "commands", 30)
    assert not orphans.is_known(tmp_path / "commands")


def test_nothing_is_known_without_a_file_of_commands(tmp_path: Path) -> None:
    assert orphans.all_ended(tmp_path / "commands", 0)
    assert not orphans.is_known(tmp_path / "commands")
    orphans.forget(tmp_path / "commands")
    assert orphans.is_known(tmp_path / "commands")


def executed(folder: Path, *words: str) -> Finished:
    stop, wake = os.pipe()
    try:
        start = partial(Guarded, words, folder, {"PATH": os.environ["PATH"], "X": "ö"}, None)
        return execute(start, seconds=20, keep=10_000, stop=stop)
    finally:
        os.close(stop)
        os.close(wake)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("exit 0", 0),
        ("exit 255", 255),
        ("kill -TERM $$", -signal.SIGTERM),
        ("kill -KILL $$", -signal.SIGKILL),
        ("kill -TERM 0", -signal.SIGTERM),
        ("kill -KILL 0", -signal.SIGKILL),
    ],
)
def test_how_a_command_ended_is_reported(tmp_path: Path, line: str, status: int) -> None:
    finished = executed(tmp_path, "/bin/sh", "-c", f"echo out; echo oh >&2; {line}")
    assert finished.status == status
    assert (finished.stdout.content, finished.stderr.content) == (b"out\n", b"oh\n")
    assert not finished.timed_out
    assert not finished.left_behind


@linux
def test_a_command_that_signals_its_own_group_still_loses_its_daemon(tmp_path: Path, long: str) -> None:
    line = f"setsid sleep {long} < /dev/null > /dev/null 2>&1 & sleep 0.2; kill -TERM 0"
    assert executed(tmp_path, "/bin/sh", "-c", line).status == -signal.SIGTERM
    assert gone(long)


@pytest.mark.parametrize(
    ("words", "code"),
    [(("/nowhere/x",), errno.ENOENT), (("/",), errno.EACCES), (("/bin/echo", "x" * 3_000_000), errno.E2BIG)],
)
def test_what_cannot_be_started_raises(tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    with pytest.raises(OSError) as raised:
        executed(tmp_path, *words)
    assert raised.value.errno == code


@linux
def test_a_command_inherits_nothing_but_its_outputs(tmp_path: Path) -> None:
    finished = executed(
        tmp_path, "/bin/sh", "-c", 'cd /proc/self/fd; for one in *; do [ -e "$one" ] && echo $one; done'
    )
    assert set(finished.stdout.content.split()) <= {b"0", b"1", b"2"}
    words = ["/bin/grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"]
    signals = executed(tmp_path, *words).stdout.content
    # Some machines start everything with a signal ignored that no program can name.
    assert signals == subprocess.run(words, capture_output=True, check=True).stdout
    assert not int(signals.split()[3], 16) & sum(1 << (number - 1) for number in signal.valid_signals())
    names = executed(tmp_path, "/usr/bin/env").stdout.content.decode().splitlines()
    assert {name.partition("=")[0] for name in names} == {"PATH", "X"}
    assert "X=ö" in names


@linux
def test_its_guardian_is_not_found_by_what_it_guards(tmp_path: Path) -> None:
    line = "tr '\\0' ' ' < /proc/$PPID/cmdline"
    processes = executed(tmp_path, "/bin/sh", "-c", line, "sought").stdout.content.decode()
    assert "guardian" in processes
    assert "sought" not in processes
