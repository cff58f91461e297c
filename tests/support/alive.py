"""Which processes of a test are alive, known by a word of their command line that no other test has."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4


def running(word: str) -> list[int]:
    """The processes with this word in their command line."""
    pids = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and word.encode() in (entry / "cmdline").read_bytes():
                pids.append(int(entry.name))
        except OSError:
            continue
    return pids


def gone(word: str) -> bool:
    """Whether they end, in time."""
    return waited_for(lambda: not running(word))


def waited_for(look: Callable[[], object]) -> bool:
    """Whether `look` finds something, in time."""
    deadline = time.monotonic() + 30
    while not look():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def long_time() -> str:
    """Seconds to sleep, a number that nobody else has."""
    return f"300.{uuid4().int}"
