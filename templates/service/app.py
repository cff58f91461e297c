"""The entry `main` over HTTP: answers piece by piece, and questions that wait until somebody answers them.

    uvicorn app:app

It asks nobody who they are: put it behind something that does before others can reach it.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import llmdo
from llmdo.runtime import AskLater, RunOutcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

HERE = Path(__file__).parent


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Loads and checks the workspace once; every request runs what was checked then."""
    app.state.entry = await asyncio.to_thread(llmdo.open_entry, HERE, "main")
    yield


async def start(request: Request) -> Response:
    """Runs the entry, and tells of it by server-sent events; the last says how it ended."""
    text = (await request.json())["input"]

    async def events() -> AsyncIterator[str]:
        async for event in request.app.state.entry.run_stream(text, approver=AskLater(), journal=True):
            if isinstance(event, RunOutcome):
                yield sent("outcome", summary(event))
            else:
                yield sent(event.kind, {"path": event.path, "text": getattr(event, "text", None)})

    return StreamingResponse(events(), media_type="text/event-stream")


async def questions(request: Request) -> Response:
    """What a run that waits wants to know."""
    return JSONResponse(await waiting(request.path_params["run"]))


async def answer(request: Request) -> Response:
    """Answers questions of a run by their call paths, `{"yes": [...], "no": [...]}`; it goes on when none is left."""
    run, given = request.path_params["run"], await request.json()
    left = await waiting(run, yes=given.get("yes", ()), no=given.get("no", ()), by="the service")
    if left:
        return JSONResponse({"status": "waiting", "questions": left})
    return JSONResponse(summary(await llmdo.resume_async(HERE, run)))


async def waiting(run: str, **answers: object) -> list[dict[str, object]]:
    """The questions of a run that are left once `answers` are given."""
    left = await asyncio.to_thread(llmdo.approve, HERE, run, **answers)
    return [
        {"path": question.path, "tool": question.record["tool"], "arguments": question.record["arguments"]}
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
    routes=[
        Route("/runs", start, methods=["POST"]),
        Route("/runs/{run}/questions", questions),
        Route("/runs/{run}/answers", answer, methods=["POST"]),
    ],
    exception_handlers={llmdo.LlmdoError: refused},
)
