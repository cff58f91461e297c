"""A file of lines that anybody may have written, read within bounds."""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

MOST_BYTES = 64 * 1024 * 1024
MOST_IN_LINE = 8 * 1024 * 1024

_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)


class LineFile:
    """The lines of one file, whose faults are known once it was read. No link is followed, nothing waited for."""

    def __init__(self, path: str, most_in_line: int = MOST_IN_LINE, most_lines: int = sys.maxsize) -> None:
        self.path = path
        self.faults: list[str] = []
        """Each as the rest of a sentence about the file."""
        self.is_open = False
        """Whether its last line has no end: somebody may still be writing it."""
        self._most_in_line = most_in_line
        self._most_lines = most_lines

    def lines(self) -> Iterator[bytes]:
        """The lines without their ends; of one that is too long its beginning.

        Those are left out that came after the file was opened.
        """
        try:
            with os.fdopen(os.open(self.path, _FLAGS), "rb") as file:
                status = os.fstat(file.fileno())
                if stat.S_ISREG(status.st_mode):
                    yield from self._lines(file, status.st_size)
                else:
                    self.faults.append("is not a file, and was not read")
        except OSError as error:
            why = "it is a link" if error.errno == errno.ELOOP else error.strerror
            self.faults.append(f"could not be read: {why}")

    def _lines(self, file: BinaryIO, size: int) -> Iterator[bytes]:
        left, number = min(size, MOST_BYTES), 0
        while left and (line := file.readline(min(self._most_in_line, left))):
            left, number = left - len(line), number + 1
            is_whole = line.endswith(b"\n")
            if number > self._most_lines:
                self.faults.append(f"only its first {self._most_lines:,} lines were read")
                return
            yield line.removesuffix(b"\n")
            while not is_whole and left and (rest := file.readline(min(self._most_in_line, left))):
                left, is_whole = left - len(rest), rest.endswith(b"\n")
            self.is_open = not is_whole
        if size > MOST_BYTES:
            self.is_open = False
            self.faults.append(f"only its first {MOST_BYTES // 1024**2} MiB were read")
