"""The summary of a run, from its journal."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from llmdo.base.backtrace import Frame
from llmdo.base.diagnostic import LlmdoError, did_you_mean
from llmdo.base.values import dataclass, field, in_json, utc_text
from llmdo.base.visible import visible
from llmdo.journal.conversation import goes_on_from
from llmdo.journal.entries import BEGUN_AGAIN, JournalError, lineage
from llmdo.journal.questions import waiting
from llmdo.journal.run_item import RunItem
from llmdo.journal.spent import unanswered
from llmdo.journal.title import title_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from llmdo.journal.entries import JournalEntry
    from llmdo.journal.stored import JournalStore, RunIndex


COMPLETE = frozenset({"completed", "truncated"})
"""The statuses of runs that are never resumed."""
LONGEST_NUMBER = 9  # digits, of a request


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One run in a line."""

    run: str
    entry: str
    status: str
    """The status left by the last process.

    `running` while one works on it, `stopped` if one ended without recording how, `truncated` if it completed with an
    output that was cut off.
    """
    began: float = field(metadata=in_json(by=utc_text))
    """Seconds since 1970."""
    ended: float | None = field(metadata=in_json(by=utc_text))
    error: str | None
    hint: str | None
    """The advice on the error."""
    frames: tuple[Frame, ...]
    """The places in workspace code that failed and ended the run."""
    requests: int
    tool_calls: int
    input_tokens: int | None
    output_tokens: int | None
    """None if no request was measured."""
    cost_usd: Decimal | None
    denied: int
    questions: int
    """Those that wait for an answer."""
    continues: str | None = None
    """The run that it continues."""
    conversation: str | None = None
    """The first run of its conversation, if it continues one."""
    turn: int = 1
    """Its place among the runs of its conversation."""
    truncated: str | None = None
    """Why its output was cut off, if it was."""
    title: str = field(default="", metadata=in_json(by=partial(visible, prose=True)))
    """In one line, without secrets of the environment; empty if its input has no words."""
    item: RunItem | None = None
    """The item of a batch that it is for."""

    @property
    def heading(self) -> str:
        """The name of its item in brackets, if it is for one, and its title."""
        return " ".join(filter(None, [f"[{self.item.name}]" if self.item else "", self.title]))


def summary(journal: JournalStore, *, is_running: bool) -> Summary | None:
    """The run of `journal` in a line, if it began."""
    begun = list(journal.entries("run", "session", "end"))
    first = next((entry for entry in begun if entry.kind == "run"), None)
    if first is None:
        return None
    sessions = [entry for entry in begun if entry.kind == "session"]
    last = next((entry for entry in reversed(begun) if entry.kind == "end"), None)
    end = last if last is not None and last.step >= len(sessions) else None
    if end is not None and end.outcome == "completed":
        is_running = False  # nothing goes on with it: who still has it is about to leave, or reads it
    status = "running" if is_running else ended_as(end) if end else "stopped"
    closing: dict[str, Any] = end.data if end else {}
    used = closing.get("usage") or _used(journal)
    cost = used["cost_usd"]
    before, item = goes_on_from(journal), RunItem.of(first.data.get("item"))
    return Summary(
        run=journal.run,
        entry=first.path,
        status=status,
        began=first.at,
        ended=end.at if end and not is_running else None,
        error=closing.get("error"),
        hint=closing.get("hint"),
        truncated=closing.get("truncated"),
        frames=frames_in(closing),
        requests=used["requests"],
        tool_calls=used["tool_calls"],
        input_tokens=used["input_tokens"],
        output_tokens=used["output_tokens"],
        cost_usd=None if cost is None else Decimal(str(cost)),
        denied=len(closing.get("denied") or ()),
        questions=len(waiting(journal)),
        continues=before.run if before else None,
        conversation=before.first if before else None,
        turn=before.turn if before else 1,
        title=_title(first),
        item=item,
    )


def title_and_item(journal: JournalStore) -> tuple[str, RunItem | None]:
    """The title of the run of `journal` and the item that it is for; empty and None if it has not begun."""
    first = next(journal.entries("run"), None)
    return ("", None) if first is None else (_title(first), RunItem.of(first.data.get("item")))


def _title(first: JournalEntry) -> str:
    """The title, made of the input without secrets: one that was cut through would not be known as one."""
    data = first.data
    item = RunItem.of(data.get("item"))
    if item is not None and item.title:
        return title_of(None, item.title)
    return title_of(data.get("title"), str(data.get("input") or ""))


def ended_as(end: JournalEntry) -> str:
    """The status of a run from its `end` entry: `truncated` if its output was cut off."""
    return "truncated" if end.outcome == "completed" and end.data.get("truncated") else end.outcome


def summaries(
    runs: RunIndex,
    tell: Callable[[JournalError], None],
    is_chosen: Callable[[Summary, JournalStore], bool] = lambda _run, _journal: True,
) -> Iterator[Summary]:
    """The begun runs of a workspace that are chosen, the last one first.

    `tell` gets the errors of unreadable journals.
    """
    for name in reversed(runs.names()):
        try:
            with runs.read(name) as journal:
                line = summary(journal, is_running=runs.is_claimed(name))
                if line is None or not is_chosen(line, journal):
                    continue
        except JournalError as error:
            tell(error)
            continue
        yield line


def _used(journal: JournalStore) -> dict[str, Any]:
    """The usage of an unfinished run, unanswered requests included."""
    used: dict[str, Any] = {
        "requests": sum(unanswered(journal).values()),
        "tool_calls": 0,
        "input_tokens": 0,
        "output_tokens": 0,
        "cost_usd": None,
    }
    for entry in journal.entries("request"):
        usage = entry.data["response"]["usage"]
        used["requests"] += 1
        used["input_tokens"], used["output_tokens"] = with_request(
            usage, used["input_tokens"], used["output_tokens"]
        )
        if usage.get("cost") is not None:
            used["cost_usd"] = (used["cost_usd"] or Decimal(0)) + Decimal(usage["cost"])
    used["tool_calls"] = sum(entry.outcome == "success" for entry in journal.entries("finished"))
    return used


def with_request(
    usage: Mapping[str, Any], sent: int | None, received: int | None
) -> tuple[int | None, int | None]:
    """The tokens sent and received with one more request; None if none was measured."""
    sent = (sent or 0) + usage.get("input_tokens", 0)
    received = (received or 0) + usage.get("output_tokens", 0)
    return (None, None) if usage.get("unmeasured_requests") and not sent + received else (sent, received)


def frames_in(data: Mapping[str, Any]) -> tuple[Frame, ...]:
    """The places in workspace code that failed, from an entry's body."""
    return tuple(Frame(**frame) for frame in data.get("frames") or ())


def ending(journal: JournalStore) -> JournalEntry | None:
    """The entry about the run's end, unless its last process works, or did not record it."""
    last = journal.last("end")
    return last if last is not None and last.step >= journal.counted().get("session", 0) else None


def require_place(journal: JournalStore, until: str) -> None:
    """Checks that a replay can stop at that place.

    Raises:
        LlmdoError: The run made no such request and executed no such tool.
    """
    path, _, number = until.partition("@")
    if number.isdecimal() and len(number) < LONGEST_NUMBER and journal.get(path, "request", int(number)):
        return
    if not number and (journal.get(path, "started") or journal.get(path, "finished")):
        return
    places = [
        f"{entry.path}@{entry.step}" if entry.kind == "request" else entry.path
        for entry in journal.entries("request", "finished")
    ]
    raise LlmdoError(
        f"the run has no place `{until}`",
        hint=did_you_mean(until, places) or "`llmdo runs show` lists its calls",
    )


def failed(journal: JournalStore) -> dict[str, str]:
    """The tools whose error no caller was told, by call path: it ended the run."""
    last = {entry.path: entry.outcome for entry in journal.entries("finished")}
    returned = {entry.path for entry in journal.entries("return")}
    # Code was told of the failure of a tool that it called, and went on.
    returned |= {path for path, outcome in last.items() if outcome != "error"}
    return {
        path: _tool(path)
        for path, outcome in sorted(last.items())
        if outcome == "error" and returned.isdisjoint(lineage(path))
    }


def unfinished(journal: JournalStore) -> dict[str, str]:
    """The started but unfinished tools, by call path.

    Without those called by code below a finished tool, which the run no longer reaches.
    """
    started = {(entry.path, entry.step) for entry in journal.entries("started")}
    if not started:
        return {}
    ended = [*journal.entries("finished")]
    over = {entry.path for entry in ended if entry.outcome not in BEGUN_AGAIN}
    left = sorted(started - {(entry.path, entry.step) for entry in ended})
    return {path: _tool(path) for path, _ in left if over.isdisjoint(lineage(path))}


def _tool(path: str) -> str:
    return path.rpartition("/")[2].partition("#")[0]
