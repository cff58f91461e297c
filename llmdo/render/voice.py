"""Answers as they arrive: the entry's own on stdout if that is a terminal, those of delegates line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import shown, unsteering
from llmdo.runtime.telemetry.events import ModelResponded, StreamBroken, TextDelta, WorkerFinished
from llmdo.runtime.telemetry.redaction import RedactedPieces

if TYPE_CHECKING:
    from typing import TextIO

    from llmdo.runtime.telemetry.events import Event
    from llmdo.runtime.telemetry.redaction import Redaction


class SpokenAnswer:
    """The answer of the entry's own worker, written as it arrives, with all that would steer a terminal spelled out."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._pieces: list[str] = []
        self._kept = ""
        """The first half of a possible line break of two characters."""
        self._last: str | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether an answer was begun that has not ended."""
        return bool(self._pieces)

    def has_shown(self, answer: str | None) -> bool:
        """Whether `answer` is the last written one, and was written in full."""
        return answer is not None and answer == self._last

    def hears(self, event: Event) -> bool:
        """Whether `event` is a piece that will be written."""
        return isinstance(event, TextDelta) and "/" not in event.path

    def take(self, event: Event) -> None:
        """Writes the arrived text, if it is of the entry's own worker."""
        if "/" in event.path:
            return
        match event:
            case TextDelta():
                self._pieces.append(event.text)
                text = self._kept + event.text
                self._kept = "\r" if text.endswith("\r") else ""
                self._write(text.removesuffix("\r") if self._kept else text)
            case ModelResponded() | StreamBroken() | WorkerFinished() if self._pieces:
                # By itself: with the end of the line it would be a line break, and not be shown.
                self._write(self._kept)
                self._write("\n")
                self._last = "".join(self._pieces) if isinstance(event, ModelResponded) else None
                self._pieces, self._kept = [], ""

    def _write(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        # What the terminal has no letters for is spelled out: it is no reason to end the run.
        self._stream.write(unsteering(text).encode(encoding, "backslashreplace").decode(encoding))
        self._stream.flush()


class OverheardText:
    """The answers of delegates, in lines, without secrets."""

    def __init__(self, redaction: Redaction) -> None:
        self._redacted = RedactedPieces(redaction)
        self._lines: dict[str, str] = {}
        """The line that each of them is at."""

    def take(self, event: Event) -> list[str]:
        """The lines that are complete now."""
        return [line for ready in self._redacted.take(event) for line in self._of(ready)]

    def _of(self, event: Event) -> list[str]:
        if isinstance(event, TextDelta) and "/" in event.path:
            *whole, rest = (self._lines.get(event.path, "") + event.text).split("\n")
            self._lines[event.path] = rest
        elif isinstance(event, ModelResponded | StreamBroken | WorkerFinished):
            whole = [self._lines.pop(event.path, "")]
        else:
            return []
        return [f"{event.path}: {shown(line)}" for line in whole if line.strip()]
