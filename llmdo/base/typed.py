"""Input typed at a terminal: a line at a time, without anything typed before the question."""

from __future__ import annotations

import os
import select
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

POLL_SECONDS = 0.1  # how long a cancelled question may still hold its thread
LONGEST_LINE = 65_536  # bytes: what a terminal hands over at once is shorter


def drop_typed_ahead(source: TextIO) -> None:
    """Forgets input that was typed already.

    Raises:
        OSError: The terminal is gone.
    """
    if sys.platform != "win32":
        import termios

        try:
            termios.tcflush(source.fileno(), termios.TCIFLUSH)
        except termios.error as error:
            raise OSError(*error.args) from error


def read_line(source: TextIO, is_cancelled: Callable[[], bool] = lambda: False) -> str:
    """The next line with its end; if the input ends or the question is cancelled, only a part of it, or nothing.

    Raises:
        OSError: The terminal is gone.
    """
    if sys.platform == "win32":
        return source.readline()
    while not is_cancelled():
        if select.select([source], [], [], POLL_SECONDS)[0]:
            return os.read(source.fileno(), LONGEST_LINE).decode(errors="replace")
    return ""
