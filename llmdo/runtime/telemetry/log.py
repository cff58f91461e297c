"""The log of a run: every event of the whole tree, a JSON object a line, written as it happens."""

from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.decided import record_of
from llmdo.runtime.telemetry.events import Decided
from llmdo.runtime.telemetry.redaction import RedactedPieces

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from llmdo.runtime.telemetry.events import Event
    from llmdo.runtime.telemetry.redaction import Redaction


class EventLog:
    """A file that events are appended to. Written lines stay, however the run ends."""

    def __init__(self, descriptor: int, redaction: Redaction) -> None:
        self._descriptor = descriptor
        self._redaction = redaction
        self._pieces = RedactedPieces(redaction)
        self.failure: str | None = None
        """The reason of a failed write, after which nothing is written."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def __call__(self, event: Event) -> None:
        """Writes `event` with the time, in one write of a whole line."""
        for ready in self._pieces.take(event):
            self._write(ready)

    def _write(self, event: Event) -> None:
        if self.failure is None:
            line = json.dumps(record(event, self._redaction)) + "\n"  # ASCII: nothing in it moves a terminal
            try:
                write_all(self._descriptor, line.encode("ascii"))
            except OSError as error:
                self.failure = error.strerror or str(error)


def open_log(path: Path, redaction: Redaction) -> EventLog:
    """The log at `path`, new or continued, for its owner only.

    Raises:
        LlmdoError: It cannot be opened, is a link or is no file.
    """
    return EventLog(open_for_append(path), redaction)


def open_for_append(path: Path, *, new: bool = False) -> int:
    """The descriptor of a regular file that only its owner may read; `new` refuses an existing one.

    Raises:
        LlmdoError: It cannot be opened, is a link or is no file.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | (os.O_EXCL if new else 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        hint = "it is a link; name the file itself" if error.errno == errno.ELOOP else None
        raise LlmdoError(f"cannot write `{path}`: {error.strerror}", hint=hint) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise LlmdoError(f"cannot write `{path}`: it is not a file")
    return descriptor


def record(event: Event, redaction: Redaction) -> dict[str, object]:
    """`event` as the log holds it: time, kind, call path, then its other fields."""
    members = {each.name: getattr(event, each.name) for each in fields(event)}
    if isinstance(event, Decided):
        call = event.call
        members = {
            "path": event.path,
            "arguments": call.arguments,
            **record_of(call),
            "lasts": event.lasts,
        }
    plain = {name: redaction.plain(value) for name, value in members.items()}
    return {"time": datetime.now(UTC).isoformat(), "event": event.kind, **plain}


def write_all(descriptor: int, line: bytes) -> None:
    """Writes all of `line`, which the system may take in parts."""
    while line:
        line = line[os.write(descriptor, line) :]
