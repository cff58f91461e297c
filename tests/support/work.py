"""Work counted, not timed: the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


def calls_made(work: Callable[[], object]) -> int:
    """How many functions, ours and built-in ones, a piece of work calls."""
    count = 0

    def profile(_frame: object, event: str, _about: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@contextmanager
def observed(function: object) -> Iterator[list[str]]:
    """The modules that called a built-in function so far, while the block goes on in this thread."""
    callers: list[str] = []

    def profile(frame: FrameType, event: str, about: object) -> None:
        if event == "c_call" and about is function:
            callers.append(frame.f_globals["__name__"])

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield callers
    finally:
        sys.setprofile(before)
