"""The audit of a run as a view of its journal: its records are made of the entries on each read.

Each record names its entry. Lines kept in the journal come first: from an earlier llmdo, or from an export that
redacted entries.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

from llmdo.journal.audit import Link, chained, read, record_in
from llmdo.journal.entries import UNCALLED, shown_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.journal.entries import ChainedRow, JournalEntry, Kind

_TOLD: tuple[Kind, ...] = (
    "session", "decision", "refused", "probed", "finished", "return", "ended", "end",
)  # fmt: skip
"""The entries with records."""


class EntrySource(Protocol):
    """A journal, as far as its audit needs it."""

    def entries(self, *kinds: Kind) -> Iterator[JournalEntry]:
        """The committed entries of these kinds."""
        ...

    def after(self, number: int, *kinds: Kind) -> Iterator[ChainedRow]:
        """The committed entries of these kinds added after the one of that number."""
        ...

    def kept_lines(self) -> Iterator[str]:
        """The audit lines kept in the journal."""
        ...


def lines(journal: EntrySource) -> Iterator[str]:
    """The lines of a run's audit, without line ends: a function of the committed entries."""
    last, covered = Link(), 0
    for line in journal.kept_lines():
        yield line
        if record := record_in(line):
            last = Link(record["n"], record["hash"])
            covered = record["entries"] if type(record.get("entries")) is int else covered
    for row, record in _made(journal):
        if row.number > covered:
            line, last = chained({**record, "entries": row.number, "entries_head": row.head}, last)
            yield line


def records_of(journal: EntrySource) -> Iterator[Mapping[str, object]]:
    """The readable records of the audit of a run."""
    return (record for line in lines(journal) if (record := record_in(line)) is not None)


def unlike(journal: EntrySource) -> Iterator[str]:
    """The lines kept by an export that differ from its whole entries: a sentence each."""
    kept = {record.get("entries"): record for record in read(journal.kept_lines()).records}
    if not kept:
        return
    for row, record in _made(journal):
        line = kept.get(row.number, record)
        names = [name for name in record if name != "time" and line.get(name) != record[name]]
        if names and not row.entry.is_redacted:
            place = f"entry {row.number}, `{row.entry.kind}` of {row.entry.path}"
            yield f"record {line['n']} of the audit does not say what {place}, does"


def _made(journal: EntrySource) -> Iterator[tuple[ChainedRow, dict[str, object]]]:
    """The entries with records, each with its record.

    For a run of an earlier llmdo, which kept lines, only the end is made of the entries.
    """
    session: Mapping[str, object] = {}
    tools: dict[str, object] = {}
    for row in journal.after(0, *_TOLD):
        entry, data = row.entry, row.entry.data
        if entry.kind == "session":
            session = data
        if entry.kind in ("decision", "refused"):
            tools[entry.path] = data.get("tool")
        if (entry.kind == "end" or "mode" in session) and entry.outcome not in ("asks", UNCALLED):
            kind, content = _content(entry, data, session, tools.get(entry.path))
            yield row, {"kind": kind, "time": _time(entry.at), **content}


def _time(at: float) -> str:
    """A time in ISO 8601; empty for an invalid one."""
    try:
        return datetime.fromtimestamp(at, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def _content(
    entry: JournalEntry, data: Mapping[str, Any], session: Mapping[str, object], tool: object
) -> tuple[str, dict[str, object]]:
    """The kind and the content of the record of `entry`."""
    match entry.kind:
        case "session":
            limits = {"limits": data["limits"]} if data.get("limits") else {}
            begun = {name: data.get(name) for name in ("mode", "isolation")}
            more = {**begun, **limits, "llmdo": data.get("llmdo")}
            return "run_started", {"run": data.get("run"), "entry": entry.path, **more}
        case "end":
            return "run_finished", {
                "run": data.get("run"),
                "status": entry.outcome,
                "error": data.get("error"),
            }
        case "finished":
            outcome = shown_word(entry.outcome)
            return "tool_finished", {
                "path": entry.path,
                "tool": tool,
                "outcome": outcome,
                **size_of(_result(outcome, data)),
            }
        case "probed":
            probed = {"path": entry.path, "tool": tool, "answer": entry.outcome}
            return "probed", {**probed, **{name: data.get(name) for name in ("execution", "probe", "why")}}
        case "return":
            failure = data.get("error")
            result = data.get("output") if failure is None else f"`{tool}` failed: {failure}"
            ended = {"path": entry.path, "tool": tool, "outcome": entry.outcome}
            return "tool_finished", {**ended, **size_of(result)}
        case "ended":
            names = ("bytes", "sha256")
            ended = {"path": entry.path, "tool": data.get("tool"), "outcome": entry.outcome}
            return "tool_finished", {**ended, **{name: data.get(name) for name in names}}
    return "decided", {
        "path": entry.path,
        **{name: data.get(name) for name in ("worker", "toolset", "tool")},
        "capabilities": data.get("raised"),
        **{name: data.get(name) for name in ("decision", "allowed", "by")},
        **{name: session.get(name) for name in ("mode", "isolation")},
        **{name: data.get(name) for name in ("reasons", "arguments", "changed")},
    }


def _result(outcome: str, data: Mapping[str, Any]) -> object:
    """The result of a call for its model, from the entry of its end."""
    if outcome == "error":
        return None
    return next((data[name] for name in ("content", "message", "errors") if [*data] == [name]), data)


def ended_calls(journal: EntrySource) -> set[tuple[str, str]]:
    """The calls with a recorded end for their model: each call path with its outcome.

    Without errors, as such calls are tried again.
    """
    ended = {(entry.path, entry.outcome) for entry in journal.entries("ended", "return")}
    for record in read(journal.kept_lines()).records:
        if record.get("kind") == "tool_finished":
            ended.add((str(record.get("path")), str(record.get("outcome"))))
    return {call for call in ended if call[1] != "error"}


def size_of(result: object) -> dict[str, object]:
    """The size and digest of a result without secrets: a text as it is, else its JSON."""
    text = result if isinstance(result, str) else json.dumps(result)
    content = text.encode("utf-8", "surrogatepass")
    return {"bytes": len(content), "sha256": sha256(content).hexdigest()}
