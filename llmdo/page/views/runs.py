"""Runs: a list of them, each as it grows, and every call and request of one in full."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from llmdo.page.endpoints import Endpoint, Inquiry, RequestError, Stream
from llmdo.render import watched as render
from llmdo.render.runs import summary_record
from llmdo.services import runs as service
from llmdo.services.watching import Watched

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from llmdo.base.values import Json
    from llmdo.page.subject import Subject

AT_WORK = 0.15  # seconds until a run is looked at again while a process works on it
AT_REST = 1.0  # the same where none does
SIGN_OF_LIFE = 15  # looks after which a line is sent though nothing happened
MOST = 500  # runs in a list


def listed(subject: Subject, inquiry: Inquiry) -> Json:
    """The runs, the last one first."""
    notes: list[str] = []
    request = service.RunsRequest(
        root=subject.with_runs,
        entry=inquiry.parameters.get("entry"),
        status=inquiry.parameters.get("status"),
        limit=MOST,
        turns=True,
    )
    runs = service.list_runs(request, notes.append)
    return {
        "runs": [render.as_json(summary_record(run)) for run in runs],
        "most": MOST if len(runs) == MOST else None,
        "notes": notes,
    }


def about(subject: Subject, inquiry: Inquiry) -> Json:
    """One run in a line, and why it could not go on, where a process of this server was to."""
    root = subject.with_runs
    with Watched.open(root, inquiry.text("run")) as watched:
        summary = watched.summary()
        if summary is None:
            raise RequestError(404, "this run never began")
    going = subject.desk.going_on(root)
    return {
        "run": render.as_json(summary_record(summary)),
        "goes_on": going.is_at_work(summary.run),
        "fault": going.fault(summary.run),
    }


def grown(subject: Subject, inquiry: Inquiry) -> Json:
    """What happened in a run after a place in its journal."""
    with Watched.open(subject.with_runs, inquiry.text("run")) as watched:
        return render.growth(watched.growth(_after(inquiry)))


async def watch(subject: Subject, inquiry: Inquiry) -> AsyncIterator[Json]:
    """The same as it comes, for as long as somebody listens: a run that stopped may go on."""
    after = _after(inquiry)
    watched = await asyncio.to_thread(Watched.open, subject.with_runs, inquiry.text("run"))
    with watched:
        before, quiet = None, 0
        while not subject.desk.is_ending:
            growth = await asyncio.to_thread(watched.growth, after)
            now = (growth.is_running, growth.status)
            quiet += 1
            if growth.events or now != before or quiet > SIGN_OF_LIFE:
                yield render.growth(growth)
                quiet = 0
            before, after = now, growth.position
            if not growth.has_more:
                await asyncio.sleep(AT_WORK if growth.is_running else AT_REST)


def call(subject: Subject, inquiry: Inquiry) -> Json:
    """One call in full."""
    with Watched.open(subject.with_runs, inquiry.text("run")) as watched:
        return render.call(watched.call(inquiry.text("path")))


def requests(subject: Subject, inquiry: Inquiry) -> Json:
    """What the model of one worker was shown, and answered."""
    with Watched.open(subject.with_runs, inquiry.text("run")) as watched:
        return {"requests": [render.request(each) for each in watched.requests(inquiry.text("path"))]}


def _after(inquiry: Inquiry) -> int:
    text = inquiry.parameters.get("after", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 16):  # digits of any journal
        raise RequestError(400, f"`{text}` is no place in a journal")
    return int(text)


ENDPOINTS = (
    Endpoint(path="/api/runs", answer=listed, parameters=("entry", "status")),
    Endpoint(path="/api/run", answer=about, parameters=("run",)),
    Endpoint(path="/api/run/events", answer=grown, parameters=("run", "after")),
    Endpoint(path="/api/run/call", answer=call, parameters=("run", "path")),
    Endpoint(path="/api/run/requests", answer=requests, parameters=("run", "path")),
)

STREAMS = (Stream(path="/api/run/watch", events=watch, parameters=("run", "after")),)
