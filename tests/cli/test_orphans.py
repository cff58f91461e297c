"""A run that was killed within a command: nothing of the command goes on, and a resumed run knows it."""

from __future__ import annotations

import fcntl
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from llmdo.journal import Runs
from tests.support import forking
from tests.support.alive import gone, long_time, running
from tests.support.locks import locked
from tests.support.waiting import waited_for

from .conftest import Llmdo

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

SHELL = """
[toolsets.shell]
isolation = "off"
[[toolsets.shell.rules]]
run = ["sh", "slow.sh"]
[approvals.rules]
"proc.exec" = "allowed"
"fs.read" = "allowed"
"fs.write" = "allowed"
"""
SLOW = """
if [ -e started ]; then echo again; exit; fi
(setsid sh -c 'trap "" TERM HUP; sleep {long}; sleep {long}; sleep {long}' &)
echo > started
sleep {long}
"""


@pytest.fixture
def long() -> str:
    """Seconds to sleep, a number by which the processes of this very test are known."""
    return long_time()


@pytest.fixture
def slow(workspace: Path, long: str) -> Path:
    """A workspace whose `main` runs a command that takes long, and what it starts longer."""
    with (workspace / "llmdo.toml").open("a") as manifest:
        manifest.write(SHELL)
    (workspace / "slow.sh").write_text(SLOW.format(long=long))
    (workspace / "main.worker").write_text("---\nname: main\ntoolsets: [shell]\n---\nGo.\n")
    return locked(workspace)


def killed(root: Path, long: str, number: signal.Signals) -> str:
    """Starts a run that is ended by that signal while its command runs; its id."""
    words = [sys.executable, "-m", "llmdo", "run", "main", "shell:command:sh slow.sh"]
    with forking.Popen(words, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        assert waited_for(lambda: (root / "started").exists() and len(running(long)) >= 3)
        process.send_signal(number)
    assert process.returncode == -number
    return Runs(root).find("last")


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.long)])
def test_a_command_ends_with_its_run(slow: Path, long: str, number: signal.Signals) -> None:
    killed(slow, long, number)
    assert gone(long)


@pytest.mark.long
def test_a_run_goes_on_once_its_command_has_ended(llmdo: Llmdo, slow: Path, long: str) -> None:
    run = killed(slow, long, signal.SIGKILL)
    refused = llmdo("resume", run, cwd=slow)
    assert not running(long)  # what ignores SIGTERM is ended later than `resume` could have refused
    assert "`shell` at main/shell#1: started and not finished" in refused.err
    assert "is not known" not in refused.err
    commands = slow / f".llmdo/runs/{run}.commands"
    with commands.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)  # as a guardian that cannot end what it guards
        beside = llmdo("resume", run, "--again", "main/shell#1", cwd=slow)
        assert (beside.code, beside.out) == (2, "")
        assert f"a command of run `{run}` still runs" in beside.err
    commands.unlink()
    assert (
        "whether its command still runs, or something that it started, is not known"
        in llmdo("resume", run, cwd=slow).err
    )
    done = llmdo("resume", run, "--again", "main/shell#1", cwd=slow)
    assert (done.code, done.out) == (0, "exit code 0\nstdout:\nagain\n")
    assert commands.read_bytes() == b"+-"
    llmdo("runs", "prune", "--keep", "0", cwd=slow)
    assert not list((slow / ".llmdo/runs").iterdir())
