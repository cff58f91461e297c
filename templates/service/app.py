"""The entry `main` over HTTP: answers piece by piece, and questions that wait until somebody answers them.

    uvicorn app:app

It asks nobody who they are: put it behind something that does before others can reach it. What it does see to is that
no page of another site, which a browser on this machine may show, starts a run or answers a question.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import llmdo
from llmdo.runtime import AskLater, RunOutcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

HERE = Path(__file__).parent
HOSTS = {"localhost", "127.0.0.1", "[::1]"}
"""The names by which this service is asked: add the one that it has where others reach it."""

RUN = re.compile(r"\d{8}T\d{9}-[0-9a-f]{8}")
"""The id of a run, whole: `last`, or what many ids begin with, could mean the run of somebody else."""


class OwnRequests:
    """Lets in what a client of this service sends, and nothing that a page of another site has a browser send."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fault = fault_of(scope) if scope["type"] == "http" else None
        answer = JSONResponse({"error": fault}, status_code=403) if fault else self.app
        await answer(scope, receive, send)


def fault_of(scope: Scope) -> str | None:
    """Why a request is refused; None where it is let in."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    host = headers.get("host", "").lower()
    if re.sub(r":\d+$", "", host) not in HOSTS:
        return "this service has another name"  # one that was bound anew to this machine, perhaps
    if headers.get("origin", f"http://{host}").lower() not in (f"http://{host}", f"https://{host}"):
        return "requests of other sites are refused"
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return "requests of other sites are refused"
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if scope["method"] == "POST" and kind != "application/json":
        return "a request has to be JSON"  # a form of another site can send three types unasked, and not this one
    return None


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Loads and checks the workspace once; every request runs what was checked then."""
    app.state.entry = await asyncio.to_thread(llmdo.open_entry, HERE, "main")
    yield


async def start(request: Request) -> Response:
    """Runs the entry, and tells of it by server-sent events; the last says how it ended."""
    text = (await request.json())["input"]

    async def events() -> AsyncIterator[str]:
        run = request.app.state.entry.run_stream(
            text, untrusted_input=True, approver=AskLater(), journal=True
        )
        async for event in run:
            if isinstance(event, RunOutcome):
                yield sent("outcome", summary(event))
            else:
                yield sent(event.kind, {"path": event.path, "text": getattr(event, "text", None)})

    return StreamingResponse(events(), media_type="text/event-stream")


async def questions(request: Request) -> Response:
    """What a run that waits wants to know."""
    return JSONResponse(await waiting(run_of(request)))


async def answer(request: Request) -> Response:
    """Answers questions of a run, `{"yes": {PATH: DIGEST}, "no": {...}}`; it goes on when none is left.

    The digest is that of the question as it was shown, so an answer is for no other one.
    """
    run, given = run_of(request), await request.json()
    if not all(isinstance(given.get(word, {}), dict) for word in ("yes", "no")):
        raise llmdo.LlmdoError("an answer has the path and the digest of its question")
    left = await waiting(run, yes=given.get("yes", {}), no=given.get("no", {}), by="the service")
    if left:
        return JSONResponse({"status": "waiting", "questions": left})
    return JSONResponse(summary(await llmdo.resume_async(HERE, run)))


def run_of(request: Request) -> str:
    """The run that a request is about."""
    run = request.path_params["run"]
    if not RUN.fullmatch(run):
        raise llmdo.LlmdoError(f"`{run}` is not the id of a run")
    return str(run)


async def waiting(run: str, **answers: object) -> list[dict[str, object]]:
    """The questions of a run that are left once `answers` are given."""
    left = await asyncio.to_thread(llmdo.approve, HERE, run, **answers)
    return [
        {
            "path": question.path,
            "digest": question.digest,
            "tool": question.record["tool"],
            "arguments": question.record["arguments"],
        }
        for question in left
    ]


async def refused(_: Request, error: Exception) -> Response:
    """What llmdo refuses, in its own words."""
    return JSONResponse({"error": str(error)}, status_code=400)


def sent(kind: str, data: object) -> str:
    """One server-sent event."""
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"


def summary(outcome: RunOutcome) -> dict[str, object]:
    """What a client is told of how a run ended."""
    return {"run": outcome.run, "status": outcome.status, "output": outcome.output, "error": outcome.error}


app = Starlette(
    lifespan=lifespan,
    middleware=[Middleware(OwnRequests)],
    routes=[
        Route("/runs", start, methods=["POST"]),
        Route("/runs/{run}/questions", questions),
        Route("/runs/{run}/answers", answer, methods=["POST"]),
    ],
    exception_handlers={llmdo.LlmdoError: refused},
)
