"""Which processes of a test are alive, known by a word of their command line that no other test has."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from tests.support.waiting import waited_for


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


def long_time() -> str:
    """Seconds to sleep, a number that nobody else has."""
    return f"300.{uuid4().int}"
