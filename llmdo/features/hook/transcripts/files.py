"""The records of a transcript, read within bounds; what cannot be read is counted, and named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt
from llmdo.journal.line_file import MOST_BYTES, MOST_IN_LINE, LineFile
from llmdo.render.amounts import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class TranscriptFile:
    """One file, whose faults are known once it was read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = Path(path).name
        self._is_one = self.name.endswith(".json")
        self._file = LineFile(path, MOST_BYTES if self._is_one else MOST_IN_LINE)
        self._broken: list[int] = []

    def records(self) -> Iterator[Mapping[str, object]]:
        """The objects of its lines; of a file that ends in `.json`, the only one."""
        lines = self._file.lines()
        for number, line in enumerate([b"\n".join(lines)] if self._is_one else lines, 1):
            yield from self._parsed(line, number)

    def notes(self) -> Iterator[str]:
        """A sentence for each of its faults."""
        faults = [*self._file.faults]
        if self._broken:
            are = "is not an object of JSON" if len(self._broken) == 1 else "are not objects of JSON"
            where = f"the first is line {self._broken[0]:,}"
            faults.append(f"{counted(len(self._broken), 'line')} {are} and left out ({where})")
        yield from (f"`{excerpt(self.path, 200)}`: {fault}" for fault in faults)

    def _parsed(self, text: bytes, number: int) -> Iterator[Mapping[str, object]]:
        try:
            record = json.loads(text)  # what was cut off is no JSON
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            yield record
        elif text.strip():
            self._broken.append(number)
