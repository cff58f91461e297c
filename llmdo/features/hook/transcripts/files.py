"""The lines of a transcript, read within bounds; what cannot be read is counted, and named."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.render.amounts import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

MOST_BYTES = 64 * 1024 * 1024
MOST_IN_LINE = 8 * 1024 * 1024


class TranscriptFile:
    """One file, whose faults are known once it was read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = Path(path).name
        self._broken: list[int] = []
        self._faults: list[str] = []

    def records(self) -> Iterator[Mapping[str, object]]:
        """The objects of its lines; of a file that ends in `.json`, the only one."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    self._faults.append("is not a file, and was not read")
                elif self.name.endswith(".json"):
                    yield from self._parsed(file.read(MOST_BYTES), 1)
                else:
                    for number, line in self._lines(file):
                        yield from self._parsed(line, number)
        except OSError as error:
            self._faults.append(f"could not be read: {error.strerror}")

    def notes(self) -> Iterator[str]:
        """A sentence for each of its faults."""
        if self._broken:
            are = "is not an object of JSON" if len(self._broken) == 1 else "are not objects of JSON"
            where = f"the first is line {self._broken[0]:,}"
            self._faults.append(f"{counted(len(self._broken), 'line')} {are} and left out ({where})")
        yield from (f"`{excerpt(self.path, 200)}`: {fault}" for fault in self._faults)

    def _lines(self, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
        left, number = MOST_BYTES, 0
        while line := file.readline(min(MOST_IN_LINE, left)):
            number, left = number + 1, left - len(line)
            is_whole = line.endswith(b"\n")
            yield number, line
            while not is_whole and left and (rest := file.readline(min(MOST_IN_LINE, left))):
                left, is_whole = left - len(rest), rest.endswith(b"\n")
            if not left:
                self._faults.append(f"only its first {MOST_BYTES // 1024**2} MiB were read")
                return

    def _parsed(self, text: bytes, number: int) -> Iterator[Mapping[str, object]]:
        try:
            record = json.loads(text)  # what was cut off is no JSON
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            yield record
        elif text.strip():
            self._broken.append(number)
