"""Waiting for what happens, never for a time: whoever waits says for what, and fails with that where it stays away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")

PATIENCE = 40.0
"""Seconds; less than the time limit of a test, so that it can clean up."""
AGE = 0.12
"""Seconds: what changed later than this before a check is not remembered, as no clock tells whether it changed again."""
_PAUSE = 0.01


def waited_for(look: Callable[[], Value], seconds: float = PATIENCE) -> Value:
    """What `look` finds, once that is something; or nothing, where it comes to nothing in time."""
    end = time.monotonic() + seconds
    while not (value := look()) and time.monotonic() < end:
        time.sleep(_PAUSE)
    return value


def until(
    look: Callable[[], Value], missing: str | Callable[[], object] = "", seconds: float = PATIENCE
) -> Value:
    """What `look` finds, once that is something.

    Raises:
        AssertionError: It found nothing in time; with `missing`, or what that returns then.
    """
    value = waited_for(look, seconds)
    assert value, _failure(missing, seconds)
    return value


async def comes(look: Callable[[], Value], missing: str | Callable[[], object] = "") -> Value:
    """The same, while tasks of the event loop go on."""
    end = time.monotonic() + PATIENCE
    while not (value := look()) and time.monotonic() < end:  # noqa: ASYNC110  # what is waited for tells nobody
        await asyncio.sleep(_PAUSE)
    assert value, _failure(missing, PATIENCE)
    return value


def aged(*folders: Path) -> None:
    """Returns once a check remembers what is in the folders, as all of it changed long enough ago."""
    until(lambda: time.time_ns() - _newest(*folders) > AGE * 1e9, "something keeps changing there")


def _newest(*folders: Path) -> int:
    """When something in the folders changed last, in ns; nobody can set that."""
    return max(path.lstat().st_ctime_ns for folder in folders for path in (folder, *folder.rglob("*")))


def _failure(missing: str | Callable[[], object], seconds: float) -> str:
    what = missing() if callable(missing) else missing
    return f"it did not happen within {seconds:g} s: {what or 'what the test waits for'}"
