"""The audit of a run: a record of every decision and of what came of it, in the journal beside what it is about."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from llmdo.journal import audit
from llmdo.journal.decided import record_of
from llmdo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.journal.decided import DecidedCall
    from llmdo.journal.ports import JournalStore
    from llmdo.runtime.telemetry.redaction import Redaction


class AuditWriter:
    """Adds to the audit in a journal. A record is on disk with the entry that is added beside it, or neither is."""

    def __init__(self, journal: JournalStore, redaction: Redaction, *, is_live: bool) -> None:
        """Where it is not `is_live`, nothing is recorded."""
        self._is_live = is_live
        self._journal = journal
        self._redaction = redaction
        self._mode: str | None = None
        self._isolation: str | None = None
        self._finished: set[tuple[str, str]] = set()
        """The call paths of which it is recorded what came of them, each with that."""

    def begin(
        self, run: str, entry: str, mode: str, isolation: str | None, limits: Mapping[str, float]
    ) -> None:
        """Records that a process works on the run, and which limits a person set with it.

        Raises:
            JournalError: The audit that is there does not hold.
        """
        self._finished = {
            (str(record.get("path")), str(record.get("outcome")))
            for record in audit.read(self._journal.lines()).records
            if record.get("kind") == "tool_finished"
            and record.get("outcome") != "error"  # which is tried again
        }
        self._mode, self._isolation = mode, isolation
        self._chain(
            {
                "kind": "run_started",
                **_now(),
                "run": run,
                "entry": entry,
                "mode": mode,
                "isolation": isolation,
                **({"limits": dict(limits)} if limits else {}),
                "llmdo": __version__,
            }
        )

    def decided(self, call: DecidedCall) -> None:
        """Records a decision."""
        plain = self._redaction.plain
        record = record_of(call)
        self._chain(
            {
                "kind": "decided",
                **_now(),
                "path": call.path,
                **{name: record[name] for name in ("worker", "toolset", "tool")},
                "capabilities": plain(record["raised"]),
                **{name: record[name] for name in ("decision", "allowed", "by")},
                "mode": self._mode,
                "isolation": self._isolation,
                "reasons": plain(record["reasons"]),
                "arguments": plain(call.arguments),
                "changed": plain(record["changed"]),
            }
        )

    def probed(self, path: str, tool: str, answer: str, data: Mapping[str, object]) -> None:
        """Records what the probe of a tool says of a call that did not finish."""
        call = {"path": path, "tool": tool, "answer": answer}
        plain = {name: self._redaction.plain(value) for name, value in data.items()}
        self._chain({"kind": "probed", **_now(), **call, **plain})

    def knows(self, path: str, outcome: str) -> None:
        """Takes for recorded what came of a call, as it is in the journal."""
        self._finished.add((path, outcome))

    def finished(self, path: str, tool: str, outcome: str, result: object) -> None:
        """Records what came of a call, once."""
        if (path, outcome) not in self._finished:
            self._finished.add((path, outcome))
            content = self._content(result)
            call = {"path": path, "tool": tool, "outcome": outcome}
            size = {"bytes": len(content), "sha256": sha256(content).hexdigest()}
            self._chain({"kind": "tool_finished", **_now(), **call, **size})

    def end(self, run: str, status: str, error: str | None) -> None:
        """Records how the work of this process on the run ended."""
        ending = {"run": run, "status": status, "error": self._redaction.plain(error)}
        self._chain({"kind": "run_finished", **_now(), **ending})

    def _chain(self, record: Mapping[str, object]) -> None:
        if self._is_live:
            self._journal.chain(record)

    def _content(self, result: object) -> bytes:
        """What the digest of a result is taken of: a text or bytes without secrets, anything else as redacted JSON.

        Who has the digest shall not be able to try out what was in the result.
        """
        if isinstance(result, bytes):
            return self._redaction.content(result)
        plain = self._redaction.plain(result)
        text = plain if isinstance(plain, str) else json.dumps(plain)
        return text.encode("utf-8", "surrogatepass")


def _now() -> dict[str, str]:
    return {"time": datetime.now(UTC).isoformat()}
