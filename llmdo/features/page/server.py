"""The server of the page: one document, and data below `/api/` for whoever knows the token."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing
from llmdo.extensions.registry import features
from llmdo.features.page import changes, checked, day, inbox, runs, shell, starting, team
from llmdo.features.page.endpoints import Inquiry, RequestError
from llmdo.features.page.guard import API, EVERYWHERE, LOCAL, Guard, GuardedApp
from llmdo.features.page.shapes import answered

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route
except ImportError as missing:
    raise LlmdoError("the page needs the extra `web`", hint=installing("web")) from missing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from llmdo.base.values import Json
    from llmdo.features.page.endpoints import Endpoint, Stream
    from llmdo.features.page.subject import Subject

VIEWS = (
    team,
    day,
    changes,
    checked,
    inbox,
    runs,
    starting,
    *(import_module(view) for each in features() for view in each.views),
)
"""The modules of all views, each with the endpoints that its module in `static/` asks."""

LAST_WORDS = 2  # seconds that open streams have when the server ends


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRequest:
    """The subject and the address of a server."""

    subject: Subject
    host: str = "127.0.0.1"
    port: int = 0
    """0: any that is free."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def name(self) -> str:
        """The host as addresses have it."""
        return f"[{self.host}]" if ":" in self.host else self.host.lower()

    @property
    def is_open_to_others(self) -> bool:
        """Whether other machines can reach it."""
        return self.name not in LOCAL

    def address(self, port: int) -> str:
        """The address of the page for `port`; the token is in the fragment, which no request holds."""
        beside = self.subject.desk.live_run
        at = f"&at=/run/{beside.run}" if beside else ""
        return (
            f"http://{'127.0.0.1' if self.name in EVERYWHERE else self.name}:{port}/#token={self.token}{at}"
        )


class _Server(uvicorn.Server):
    """A server that leaves signals to its caller."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured."""
        yield


def application(request: ServerRequest, entered: Callable[[], None] = lambda: None) -> ASGIApp:
    """The page, behind its guard; `entered` is called whenever a holder of the token asks for data."""
    document = shell.document()
    page = Response(document.html, media_type="text/html; charset=utf-8")
    routes = [Route("/", lambda _: page, methods=["GET"])]
    routes += [_route(request.subject, endpoint) for view in VIEWS for endpoint in view.ENDPOINTS]
    streams = [stream for view in VIEWS for stream in getattr(view, "STREAMS", ())]
    routes += [_streamed(request.subject, stream) for stream in streams]
    handlers = {404: _nothing_there, 405: _wrong_method, Exception: _failed}
    app = Starlette(routes=routes, exception_handlers=handlers)
    return GuardedApp(app, Guard(token=request.token, host=request.name), document.policy, entered)


async def serve(
    request: ServerRequest, ready: Callable[[int], None], entered: Callable[[], None] = lambda: None
) -> None:
    """Serves the page until it is cancelled; `ready` is called with the port once requests are answered.

    Raises:
        LlmdoError: It cannot listen there.
    """
    app = application(request, entered)
    listening = _listening(request)
    config = uvicorn.Config(
        app,
        log_level="critical",
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=LAST_WORDS,
    )
    ready(listening.getsockname()[1])
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        request.subject.desk.is_ending = True
        server.should_exit = True
        await serving
        raise


def _listening(request: ServerRequest) -> socket.socket:
    family = socket.AF_INET6 if ":" in request.host else socket.AF_INET
    try:
        return socket.create_server((request.host, request.port), family=family)
    except OSError as error:
        why = (error.strerror or "error").lower()
        raise LlmdoError(
            f"cannot listen at {request.host}:{request.port}: {why}",
            hint="`--port 0` takes any port that is free",
        ) from error


def _route(subject: Subject, endpoint: Endpoint) -> Route:
    """The route of an endpoint; it is answered in a thread, as files are read for it."""

    async def answer(request: Request) -> Response:
        try:
            inquiry = await _asked(request, endpoint.parameters)
            return _json(await asyncio.to_thread(lambda: answered(endpoint.answer(subject, inquiry))))
        except LlmdoError as error:
            return _refused(error)

    return Route(endpoint.path, answer, methods=[endpoint.method])


def _streamed(subject: Subject, stream: Stream) -> Route:
    """The route of a stream: a line of JSON for each event, an empty one now and then as a sign of life."""

    async def answer(request: Request) -> Response:
        try:
            inquiry = await _asked(request, stream.parameters)
        except LlmdoError as error:
            return _refused(error)
        lines = _lines(stream.events(subject, inquiry))
        return StreamingResponse(lines, media_type="application/jsonl")

    return Route(stream.path, answer, methods=["GET"])


async def _lines(events: AsyncIterator[object]) -> AsyncIterator[bytes]:
    async with aclosing(events) as every:  # type: ignore[type-var]
        try:
            async for event in every:
                yield _encoded(answered(event)) + b"\n"
        except LlmdoError as error:
            yield _encoded({"error": error.message, "hint": error.hint}) + b"\n"


async def _asked(request: Request, known: tuple[str, ...]) -> Inquiry:
    parameters = dict(request.query_params)
    if len(parameters) != len(request.query_params.multi_items()):
        raise RequestError(400, "a parameter is given twice")
    body = await _body(request) if request.method == "POST" else None
    inquiry = Inquiry(parameters=parameters, body=body)
    inquiry.only(known)
    return inquiry


async def _body(request: Request) -> Json:
    try:
        text = (await request.body()).decode("utf-8")
        return json.loads(text, parse_constant=_no_number)  # type: ignore[no-any-return]
    except (ValueError, RecursionError) as error:
        raise RequestError(400, "the request is not JSON") from error
    except ClientDisconnect as error:
        raise RequestError(400, "the request ended early") from error


def _no_number(name: str) -> None:
    raise ValueError(name)


def _json(data: Json, status: int = 200) -> Response:
    return Response(_encoded(data), status_code=status, media_type="application/json")


def _encoded(data: object) -> bytes:
    try:
        return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # halves of characters, as names of files may hold
        return json.dumps(data, separators=(",", ":")).encode()


def _refused(error: LlmdoError) -> Response:
    status = error.status if isinstance(error, RequestError) else 422
    place = (
        {"path": error.at.path, "line": error.at.span.line if error.at.span else None} if error.at else None
    )
    return _json({"error": error.message, "hint": error.hint, "at": place}, status)


async def _nothing_there(request: Request, error: Exception) -> Response:
    del error
    kind = "data" if request.url.path.startswith(API) else "page"
    return _json({"error": f"there is no such {kind}", "hint": None}, 404)


async def _wrong_method(request: Request, error: Exception) -> Response:
    del request, error
    return _json({"error": "this path takes another method", "hint": None}, 405)


async def _failed(request: Request, error: Exception) -> Response:
    """The response to a defect of ours: the error, without the data it was about."""
    del request
    return _json({"error": f"llmdo failed: {type(error).__name__}", "hint": "this is a defect of llmdo"}, 500)
