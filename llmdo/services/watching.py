"""A run as it grows: its events, in the order of its journal, and each call and request of it in full.

It is read from the journal alone, so any process may work on the run, here or at another machine.
"""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from llmdo.base.diagnostic import LlmdoError, excerpt
from llmdo.base.values import dataclass, field, in_json
from llmdo.journal.opening import runs_of
from llmdo.journal.requests import shown_requests
from llmdo.journal.summary import ended_as, ending, summary
from llmdo.journal.tree import call_at, result_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmdo.base.values import Json
    from llmdo.journal.entries import JournalEntry, Kind
    from llmdo.journal.requests import ShownRequest
    from llmdo.journal.stored import JournalStore, RunIndex
    from llmdo.journal.summary import Summary
    from llmdo.journal.tree import Node

LONGEST = 160  # characters of a text that an event quotes
MOST = 5_000  # events at once

_SILENT: frozenset[Kind] = frozenset({"kept", "sources", "history", "messages"})
"""Journal entries that are no events for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """One thing that happened in a run, in short."""

    number: int = field(metadata=in_json("n"))
    """Its place in the journal."""
    at: float
    """Seconds since 1970."""
    kind: str
    """As the entries of a journal have it."""
    path: str
    """The call path."""
    step: int
    outcome: str
    facts: Mapping[str, Json] = field(metadata=in_json(flat=True))
    """Further facts, which depend on the kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The growth of a run since a position in its journal."""

    position: int
    """The start of the next one."""
    events: tuple[RunEvent, ...]
    is_running: bool
    """Whether a process works on it."""
    status: str | None
    """The run's end, in a word; None if it goes on, or its last process did not record it."""
    has_more: bool = False
    """Whether more has happened already."""


@dataclass(slots=True, kw_only=True)
class Watched:
    """One run that is watched, with its journal open."""

    runs: RunIndex
    journal: JournalStore

    @classmethod
    def open(cls, root: Path, run: str, environ: Mapping[str, str] = os.environ) -> Self:
        """The run of that id, or a unique start or end of it.

        Raises:
            LlmdoError: There is no such run, or it cannot be read.
        """
        runs = runs_of(root, environ)
        return cls(runs=runs, journal=runs.read(runs.find(run)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.journal.close()

    def growth(self, after: int = 0) -> Growth:
        """The events after the entry of that number, `MOST` at most."""
        # Asked first: what a process keeps before it ends is among the events then.
        is_running = self.runs.is_claimed(self.journal.run)
        rows = [*islice(self.journal.after(after), MOST + 1)]
        has_more = len(rows) > MOST
        last = None if is_running or has_more else ending(self.journal)
        return Growth(
            position=rows[:MOST][-1].number if rows else after,
            events=tuple(
                _event(row.number, row.entry) for row in rows[:MOST] if row.entry.kind not in _SILENT
            ),
            is_running=is_running,
            status=ended_as(last) if last else None,
            has_more=has_more,
        )

    def summary(self) -> Summary | None:
        """The run in a line; None if it never began."""
        return summary(self.journal, is_running=self.runs.is_claimed(self.journal.run))

    def call(self, path: str) -> Node:
        """The call at that path with all that is known of it, without the calls below it.

        Raises:
            LlmdoError: There is none.
        """
        node = call_at(self.journal, path)
        if node is None:
            raise LlmdoError(f"run `{self.journal.run}` has no call `{path}`")
        return node

    def requests(self, path: str) -> tuple[ShownRequest, ...]:
        """The requests to the model of the worker called at `path`, and the answers.

        Raises:
            LlmdoError: No model was asked there.
        """
        return shown_requests(self.journal, path)


def _event(number: int, entry: JournalEntry) -> RunEvent:
    return RunEvent(
        number=number,
        at=entry.at,
        kind=entry.kind,
        path=entry.path,
        step=entry.step,
        outcome=ended_as(entry) if entry.kind == "end" else entry.outcome,
        facts=_facts(entry),
    )


def _facts(entry: JournalEntry) -> dict[str, Json]:
    """The facts in an event about an entry besides its kind; values are quoted in short."""
    if entry.kind in ("started", "sent", "imported", "files"):
        return {}
    data = entry.data
    match entry.kind:
        case "run":
            continues = data.get("continues") or {}
            return {"input": _quoted(data["input"]), "continues": str(continues.get("run", ""))}
        case "session":
            return {"llmdo": str(data.get("llmdo", ""))}
        case "call":
            return {"worker": data["worker"], "depth": data.get("depth", 0), "input": _quoted(data["input"])}
        case "request":
            return _of_request(data)
        case "attempt":
            return {"model": data["model"], "message": _quoted(data["message"])}
        case "decision":
            return _of_decision(data)
        case "asked":
            names = ("worker", "toolset", "tool", "terminal_only")
            return {**{name: data[name] for name in names}, "why": _first(data["reasons"])}
        case "answered":
            edited, lasts = data.get("arguments") is not None, bool(data.get("lasts"))
            return {"allowed": data["allowed"], "by": data["by"], "edited": edited, "lasts": lasts}
        case "return":
            text = data["output"] if data["error"] is None else data["error"]
            return {"text": _quoted(text), "frames": len(data.get("frames") or ())}
        case "end":
            return {name: _quoted(data.get(name)) for name in ("error", "hint", "truncated")}
    return _of_execution(data)


def _of_request(data: Mapping[str, Any]) -> dict[str, Json]:
    response = data["response"]
    usage, parts = response["usage"], response["parts"]
    cost = usage.get("cost")
    text = next((part.get("content") for part in parts if part["part_kind"] == "text"), None)
    return {
        "model": data["asked"]["model"],
        "input_tokens": usage.get("input_tokens", 0),
        "output_tokens": usage.get("output_tokens", 0),
        "measured": not usage.get("unmeasured_requests"),
        "cost_usd": None if cost is None else str(cost),
        "calls": [part["tool_name"] for part in parts if part["part_kind"] == "tool-call"],
        "text": _quoted(text),
        "truncated": response.get("finish_reason") in ("length", "content_filter"),
    }


def _of_decision(data: Mapping[str, Any]) -> dict[str, Json]:
    names = ("toolset", "tool", "decision", "by")
    return {
        **{name: data[name] for name in names},
        "why": _first(data["reasons"]),
        "edited": data.get("changed") is not None,
    }


def _of_execution(data: Mapping[str, Any]) -> dict[str, Json]:
    """The result of a tool, or why its arguments did not fit."""
    return {"text": _quoted(result_in(data)), "frames": len(data.get("frames") or ())}


def _first(reasons: list[str]) -> str:
    more = f" (and {len(reasons) - 1:,} more)" if len(reasons) > 1 else ""
    return f"{_quoted(reasons[0])}{more}" if reasons else ""


def _quoted(value: object) -> str:
    """A value in short, in one line."""
    text = "" if value is None else value if isinstance(value, str) else repr(value)
    return excerpt(" ".join(text[: 4 * LONGEST].split()), LONGEST)
