"""The commands of a run whose process was killed: whether one still runs, by the guardians' file of its commands."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from llmdo.toolsets.guardian import GRACE_S, KILL_S, OVER, STARTED

if os.name == "posix":
    import fcntl

if TYPE_CHECKING:
    from pathlib import Path

WAIT_SECONDS = GRACE_S + KILL_S + 6.0  # guardians end what they guard; the machine may be busy
POLL_SECONDS = 0.02


def all_ended(commands: Path, seconds: float) -> bool:
    """Whether all guardians of the run have ended within `seconds`; true if there never was one."""
    try:
        file = os.open(commands, os.O_RDONLY)
    except OSError:
        return True
    deadline = time.monotonic() + seconds
    try:
        while not _is_free(file):
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_SECONDS)
    finally:
        os.close(file)
    return True


def _is_free(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def is_known(commands: Path) -> bool:
    """Whether every started command of the run is known to have ended, with all that it started."""
    try:
        noted = commands.read_bytes()
    except OSError:
        return False
    return noted.count(STARTED) == noted.count(OVER)


def forget(commands: Path) -> None:
    """Empties the file of the commands, for the next process that works on the run."""
    with suppress(OSError):  # nothing is known then
        descriptor = os.open(commands, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        os.close(descriptor)
