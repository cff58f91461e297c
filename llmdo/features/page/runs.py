"""Runs: a list of them, each as it grows, every call and request of one in full, and what they used over time."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast, get_args

from llmdo.base.jsonable import record
from llmdo.features.page.endpoints import Endpoint, Inquiry, KeptAnswer, RequestError, Stream
from llmdo.journal.totals import By
from llmdo.journal.tree import walk
from llmdo.render import drawn as render
from llmdo.services import runs as service
from llmdo.services.watching import Watched

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from llmdo.features.page.subject import Subject

LIST = "/api/runs"
ONE = "/api/run"
EVENTS = "/api/run/events"
CALL = "/api/run/call"
REQUESTS = "/api/run/requests"

AT_WORK = 0.15  # seconds until a run is looked at again while a process works on it
AT_REST = 1.0  # the same where none does
SIGN_OF_LIFE = 15  # looks after which a line is sent though nothing happened
MOST = 500  # runs in a list
SINCE = "30d"


def listed(subject: Subject, inquiry: Inquiry) -> object:
    """The runs, the last one first."""
    notes: list[str] = []
    request = service.RunsRequest(
        root=subject.with_runs,
        entry=inquiry.parameters.get("entry"),
        status=inquiry.parameters.get("status"),
        where=(inquiry.parameters.get("where", ""),),
        limit=MOST,
        turns=True,
    )
    runs = service.list_runs(request, notes.append)
    return {"runs": runs, "most": MOST if len(runs) == MOST else None, "notes": notes}


def about(subject: Subject, inquiry: Inquiry) -> object:
    """One run in a line, and the reason if a process of this server failed to resume it."""
    root = subject.with_runs
    with Watched.open(root, inquiry.text("run")) as watched:
        summary = watched.summary()
        if summary is None:
            raise RequestError(404, "this run never began")
    processes = subject.desk.processes(root)
    return {
        "run": summary,
        "goes_on": processes.is_at_work(summary.run),
        "fault": processes.fault(summary.run),
    }


def grown(subject: Subject, inquiry: Inquiry) -> object:
    """The events of a run after a place in its journal."""
    with Watched.open(subject.with_runs, inquiry.text("run")) as watched:
        return watched.growth(_after(inquiry))


async def watch(subject: Subject, inquiry: Inquiry) -> AsyncIterator[object]:
    """The same events as they come, for as long as the client listens: a stopped run may go on."""
    after = _after(inquiry)
    watched = await asyncio.to_thread(Watched.open, subject.with_runs, inquiry.text("run"))
    with watched:
        before, quiet = None, 0
        while not subject.desk.is_ending:
            growth = await asyncio.to_thread(watched.growth, after)
            now = (growth.is_running, growth.status)
            quiet += 1
            if growth.events or now != before or quiet > SIGN_OF_LIFE:
                yield growth
                quiet = 0
            before, after = now, growth.position
            if not growth.has_more:
                await asyncio.sleep(AT_WORK if growth.is_running else AT_REST)


def call(subject: Subject, inquiry: Inquiry) -> object:
    """One call in full."""
    with Watched.open(subject.with_runs, inquiry.text("run")) as watched:
        return render.call(watched.call(inquiry.text("path")))


def requests(subject: Subject, inquiry: Inquiry) -> object:
    """The requests to the model of one worker after the first ones, and its answers."""
    after = _after(inquiry)
    with Watched.open(subject.with_runs, inquiry.text("run")) as watched:
        every = watched.requests(inquiry.text("path"))
    return {"requests": [render.request(each) for each in every if each.number > after]}


def exported(subject: Subject, run: str) -> Iterator[KeptAnswer]:
    """One run for a file: its events, and all its calls and requests in full."""
    whole = service.show(subject.with_runs, run, service.Detail(calls=True, messages=True))
    of_run = {"run": whole.summary.run}
    shown = {"run": whole.summary, "goes_on": False, "fault": None}
    yield KeptAnswer(path=LIST, data={"runs": [whole.summary], "most": None, "notes": []})
    yield KeptAnswer(path=ONE, parameters=of_run, data=shown)
    yield from _kept_events(subject, of_run)
    for node in walk(whole.tree):
        yield KeptAnswer(path=CALL, parameters={**of_run, "path": node.path}, data=render.call(node))
    by_path: dict[str, list[object]] = {}
    for request in whole.requests:
        by_path.setdefault(request.path, []).append(render.request(request))
    for path, every in by_path.items():
        yield KeptAnswer(path=REQUESTS, parameters={**of_run, "path": path}, data={"requests": every})


def _kept_events(subject: Subject, of_run: Mapping[str, str]) -> Iterator[KeptAnswer]:
    with Watched.open(subject.with_runs, of_run["run"]) as watched:
        after, has_more = 0, True
        while has_more:
            growth = watched.growth(after)
            yield KeptAnswer(path=EVENTS, parameters={**of_run, "after": str(after)}, data=growth)
            after, has_more = growth.position, growth.has_more


def _after(inquiry: Inquiry) -> int:
    text = inquiry.parameters.get("after", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 16):  # digits of any journal
        raise RequestError(400, f"`{text}` is not a place in a journal")
    return int(text)


def totals(subject: Subject, inquiry: Inquiry) -> object:
    """The usage of the runs together, by entry, worker, model or day."""
    by = inquiry.parameters.get("by", "day")
    if by not in get_args(By):
        raise RequestError(400, f"totals cannot be grouped by `{by}`", hint=", ".join(get_args(By)))
    notes: list[str] = []
    since = inquiry.parameters.get("since", SINCE)
    return {"totals": service.stats(subject.with_runs, cast("By", by), since, notes.append), "notes": notes}


def days(subject: Subject, inquiry: Inquiry) -> object:
    """The usage of the runs on each day by entry, and the days that are asked about, in UTC."""
    notes: list[str] = []
    since = inquiry.parameters.get("since", SINCE)
    used = service.stats_by_day(subject.with_runs, since, notes.append)
    first = f"{datetime.fromtimestamp(service.moment(since), UTC):%Y-%m-%d}"
    return {
        "days": [{"day": day, "entries": entries} for day, entries in used],
        "first": first,
        "notes": notes,
    }


def notable(subject: Subject, inquiry: Inquiry) -> object:
    """Decisions by rule, and the slowest and the most expensive calls."""
    notes: list[str] = []
    since = service.moment(inquiry.parameters.get("since", SINCE))
    return {**record(service.metrics(subject.with_runs, since, notes.append)), "notes": notes}


ENDPOINTS = (
    Endpoint(path=LIST, answer=listed, parameters=("entry", "status", "where")),
    Endpoint(path=ONE, answer=about, parameters=("run",)),
    Endpoint(path=EVENTS, answer=grown, parameters=("run", "after")),
    Endpoint(path=CALL, answer=call, parameters=("run", "path")),
    Endpoint(path=REQUESTS, answer=requests, parameters=("run", "path", "after")),
    Endpoint(path="/api/totals", answer=totals, parameters=("by", "since")),
    Endpoint(path="/api/days", answer=days, parameters=("since",)),
    Endpoint(path="/api/notable", answer=notable, parameters=("since",)),
)

STREAMS = (Stream(path="/api/run/watch", events=watch, parameters=("run", "after")),)
