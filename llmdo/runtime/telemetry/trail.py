"""The audit file of a run: every decision and what came of it, written before the call that it is about runs."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Self

from llmdo import audit
from llmdo.audit import Link
from llmdo.diagnostic import LlmdoError
from llmdo.runtime.telemetry.events import Decided, RunFinished, RunStarted, ToolFinished
from llmdo.runtime.telemetry.log import open_for_append, write_all
from llmdo.version import __version__

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from llmdo.runtime.telemetry.events import Event
    from llmdo.runtime.telemetry.redaction import Redaction


class Trail:
    """Takes the events of a run and appends the records of its audit. Where it cannot, no further call goes through."""

    def __init__(self, descriptor: int, last: Link, redaction: Redaction, mode: str) -> None:
        self._descriptor = descriptor
        self._redaction = redaction
        self._mode = mode
        self._isolation: str | None = None
        self.last = last
        """The last record, whose hash is the head of the chain."""
        self.failure: str | None = None
        """Why nothing more was written, where writing failed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def __call__(self, event: Event) -> None:
        """Writes what is to be kept of `event`.

        Raises:
            LlmdoError: A call would run without a record of it.
        """
        match event:
            case RunStarted():
                self._isolation = event.isolation
                self._write(
                    {
                        "kind": "run_started",
                        **_now(),
                        "run": event.run,
                        "entry": event.entry,
                        "mode": self._mode,
                        "isolation": event.isolation,
                        "llmdo": __version__,
                    }
                )
            case Decided():
                is_routine = event.by == "rules" and event.decision == "allowed"
                self._write(self._decision(event), sync=not is_routine)
                if self.failure is not None and event.allowed:
                    raise LlmdoError(f"no call is let through: the audit cannot be written: {self.failure}")
            case ToolFinished():
                content = self._content(event.result)
                said = {"path": event.path, "tool": event.tool, "outcome": event.outcome}
                size = {"bytes": len(content), "sha256": sha256(content).hexdigest()}
                self._write({"kind": "tool_finished", **_now(), **said, **size})
            case RunFinished():
                error = self._redaction.plain(event.error)
                ended = {"run": event.run, "status": event.status, "error": error}
                self._write({"kind": "run_finished", **_now(), **ended}, sync=True)

    def _decision(self, event: Decided) -> dict[str, object]:
        return {
            "kind": "decided",
            **_now(),
            "path": event.path,
            "worker": event.worker,
            "toolset": event.toolset,
            "tool": event.tool,
            "capabilities": [str(one) for one in event.raised],
            "decision": event.decision,
            "allowed": event.allowed,
            "by": event.by,
            "mode": self._mode,
            "isolation": self._isolation,
            "reasons": self._redaction.plain(event.reasons),
            "arguments": self._redaction.plain(event.arguments),
            "changed": self._redaction.plain(event.changed),
        }

    def _content(self, result: object) -> bytes:
        """What the digest of a result is taken of: a text or bytes as they are, anything else as redacted JSON."""
        if isinstance(result, bytes):
            return result
        text = result if isinstance(result, str) else json.dumps(self._redaction.plain(result))
        return text.encode("utf-8", "surrogatepass")

    def _write(self, record: dict[str, object], *, sync: bool = False) -> None:
        if self.failure is not None:
            return
        line, last = audit.chained(record, self.last)
        try:
            write_all(self._descriptor, line.encode("ascii"))
            if sync:
                os.fsync(self._descriptor)
        except OSError as error:
            self.failure = error.strerror or str(error)
        else:
            self.last = last


def open_trail(path: Path, redaction: Redaction, mode: str) -> Trail:
    """The trail at `path`: a new one, or that of a run which goes on.

    Raises:
        LlmdoError: It cannot be opened, is a link or no file; or the chain of what is there does not hold.
    """
    descriptor = open_for_append(path)
    try:
        last = _last(path)
    except BaseException:
        os.close(descriptor)
        raise
    return Trail(descriptor, last, redaction, mode)


def _last(path: Path) -> Link:
    """The end of the chain that is there; that it does not end is no fault in a run that goes on."""
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise LlmdoError(f"cannot read `{path}`: {error}") from error
    if not text:
        return Link()
    found = audit.read(text.splitlines())
    if not all(fault.is_end for fault in found.faults) or not text.endswith("\n"):
        raise LlmdoError(
            f"the audit `{path}` does not hold, so nothing is added to it",
            hint="`llmdo audit RUN --verify` says where; move it away to go on with a new one",
        )
    return found.last


def _now() -> dict[str, str]:
    return {"time": datetime.now(UTC).isoformat()}
