"""Entries as the tools of an MCP server: any client of the protocol can use a governed team of agents."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import socket
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError, near_or_all
from llmdo.runtime import Answer, ModelChoice, RunOptions, new_run, run
from llmdo.runtime.approvals.drawing import describe
from llmdo.runtime.recording.keeping import keeping
from llmdo.runtime.signatures import PlainInput, signatures_of
from llmdo.runtime.telemetry.events import (
    ModelResponded,
    ToolCalled,
    ToolFinished,
    WorkerFinished,
    WorkerStarted,
)
from llmdo.services.audit import auditing
from llmdo.services.root import root_folder
from llmdo.services.soundness import require_sound, resolved
from llmdo.toolsets.confinement import Root
from llmdo.toolsets.processes import hide_from_children
from llmdo.toolsets.python import Modules
from llmdo.version import __version__
from llmdo.workspace import project as projects
from llmdo.workspace.root import MANIFEST

try:
    import mcp_types as wire
    import uvicorn
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
except ImportError as missing:
    raise LlmdoError(
        "serving MCP needs the extra `mcp`", hint="pip install 'llmdo-workspace[mcp]'"
    ) from missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from llmdo.graph.resolved import Entry, Graph
    from llmdo.runtime import Question, RunOutcome
    from llmdo.runtime.recording.recorder import Recorder
    from llmdo.runtime.signatures import Signature
    from llmdo.runtime.telemetry.events import Event
    from llmdo.services.host import Host

    Watched = Callable[[str], AbstractContextManager["Recorder | None"]]
    """Given the id of a run: what keeps it while it lasts."""

COLUMNS = 100  # of a question
_YES = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Allow this call", "default": False}},
    "required": ["allow"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedEntry:
    """One entry as a tool."""

    entry: Entry
    signature: Signature | None
    """Of its worker; None where a function or a tool takes text."""
    description: str

    @property
    def tool(self) -> wire.Tool:
        """What clients are told."""
        schema = (
            self.signature.takes.schema(files=False) if self.signature else PlainInput().schema(files=False)
        )
        if self.entry.input is not None and self._takes_text:
            schema = {**schema, "required": []}
        gives = self.signature.gives.model_json_schema() if self.signature and self.signature.gives else None
        is_object = gives is not None and gives.get("type") == "object"
        return wire.Tool(
            name=self.entry.name,
            description=self.description,
            input_schema=schema,
            output_schema=gives if is_object else None,
        )

    @property
    def _takes_text(self) -> bool:
        return self.signature is None or isinstance(self.signature.takes, PlainInput)

    def input(self, arguments: Mapping[str, Any]) -> str | None:
        """The input of a run that is called with `arguments`; None where the entry's own holds.

        Raises:
            LlmdoError: They are not what it takes.
        """
        if not self._takes_text:
            return json.dumps(arguments)
        text = arguments.get("input")
        if set(arguments) - {"input"} or not (text is None or isinstance(text, str)):
            raise LlmdoError(f"`{self.entry.name}` takes one argument, the text `input`")
        return text

    def result(self, outcome: RunOutcome) -> wire.CallToolResult:
        """What a client is given of a finished run."""
        if outcome.status != "completed" or outcome.output is None:
            return _failure(outcome.error or "the run did not complete")
        structured = None
        if self.tool.output_schema is not None:
            structured = json.loads(outcome.output)
        return wire.CallToolResult(content=[_text(outcome.output)], structured_content=structured)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The entries of one workspace, for as long as they are offered."""

    graph: Graph
    root: Path
    prompts: Mapping[str, str]
    offers: Mapping[str, OfferedEntry]
    options: RunOptions
    """What holds for every run."""
    watched: Watched

    def server(self) -> Server[Any]:
        """The server of the protocol."""
        return Server(
            "llmdo",
            version=__version__,
            title=self.graph.settings.name,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def _list(
        self, ctx: ServerRequestContext[Any], params: wire.PaginatedRequestParams | None
    ) -> wire.ListToolsResult:
        del ctx, params
        return wire.ListToolsResult(tools=[offer.tool for offer in self.offers.values()])

    async def _call(
        self, ctx: ServerRequestContext[Any], params: wire.CallToolRequestParams
    ) -> wire.CallToolResult:
        offer = self.offers.get(params.name)
        if offer is None:
            return _failure(f"there is no entry `{params.name}`")
        try:
            text = offer.input(params.arguments or {})
            return offer.result(await self._run(offer, text, ctx.session))
        except LlmdoError as error:
            return _failure(str(error))

    async def _run(self, offer: OfferedEntry, text: str | None, session: ServerSession) -> RunOutcome:
        run_id = new_run()
        progress = ClientProgress(session)
        reporting = asyncio.ensure_future(progress.report())
        try:
            with self.watched(run_id) as recorder:
                options = replace(
                    self.options,
                    run=run_id,
                    input=text,
                    approver=Elicitation(session),
                    on_event=progress,
                    recorder=recorder,
                )
                return await run(
                    self.graph, root=self.root, prompts=self.prompts, entry=offer.entry.name, options=options
                )
        finally:
            reporting.cancel()


class ClientProgress:
    """Tells the client of each step of a run, in its own time."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._waiting: asyncio.Queue[str] = asyncio.Queue()

    def __call__(self, event: Event) -> None:
        """Takes in one event; the log and the audit have what is left out here."""
        if message := _step(event):
            self._waiting.put_nowait(message)

    async def report(self) -> None:
        """Sends what was taken in, until it is cancelled."""
        steps = 0
        while True:
            message = await self._waiting.get()
            steps += 1
            await self._session.report_progress(steps, message=message)


def _step(event: Event) -> str | None:
    match event:
        case WorkerStarted():
            return f"{event.path} ..."
        case ToolCalled():
            return f"{event.path}"
        case ToolFinished():
            return f"{event.path}: {event.outcome}"
        case ModelResponded():
            return f"{event.path}: {event.model} answers"
        case WorkerFinished():
            return f"{event.path}: {'failed' if event.error else 'done'}"
    return None


class Elicitation:
    """Puts each question to the person at the client, where it can show one; else the answer is no."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._asking = asyncio.Lock()  # one question at a time: a person reads one

    async def ask(self, question: Question) -> Answer:
        """The answer of the person at the client."""
        if question.terminal_only:
            return Answer(allowed=False, by="client", reason="only a person at a terminal may allow this")
        capabilities = self._session.client_capabilities
        if capabilities is None or capabilities.elicitation is None or not self._session.can_send_request:
            return Answer(allowed=False, by="reject-all", reason="the client cannot ask anybody")
        message = "\n".join(describe(question, COLUMNS, folded=False))
        async with self._asking:
            answer = await self._session.elicit_form(message, _YES)
        allowed = answer.action == "accept" and (answer.content or {}).get("allow") is True
        return Answer(
            allowed=allowed, by="client", reason="" if allowed else "the person at the client said no"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeRequest:
    """What is offered, and how its runs are."""

    entries: tuple[str, ...] = ()
    """None: all of them."""
    project: str | None = None
    model: str | None = None
    """Of workers that name none."""
    locked: bool = False
    """Whether a lock that is there has to be current."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def service_for(request: ServeRequest, host: Host) -> Service:
    """The entries that are asked for, ready to be offered.

    Raises:
        InvalidTeamError: `check` finds errors that stand in the way.
        LlmdoError: There is no such entry, or a model cannot be imported.
    """
    root = root_folder(request.project)
    read = projects.read(root)
    locked = request.locked and read.workspace.has_lock
    require_sound(read, host.tell, locked=locked)
    hide_from_children()
    graph = resolved(read, host.tell)
    environment = request.environ.get("LLMDO_MODEL") or None
    options = RunOptions(
        models=ModelChoice(default=request.model, environment=environment),
        locked=locked,
        mode="client",
        tightening=host.approving(graph).tightening,
    )

    @contextmanager
    def watched(run: str) -> Iterator[Recorder | None]:
        keeps = (root / MANIFEST).is_file()
        kept = keeping(root, run, request.environ) if keeps else nullcontext()
        with kept as recorder, auditing(recorder, host.tell):
            yield recorder

    return Service(
        graph=graph,
        root=root,
        prompts=read.prompts,
        offers=offers_of(graph, root, request.entries),
        options=options,
        watched=watched,
    )


def offers_of(graph: Graph, root: Path, names: Iterable[str]) -> dict[str, OfferedEntry]:
    """The entries of these names, all where none is given, as tools. Models of typed inputs are imported.

    Raises:
        LlmdoError: There is no such entry, or a model cannot be imported.
    """
    chosen = tuple(names) or tuple(graph.entries)
    for name in chosen:
        if name not in graph.entries:
            raise LlmdoError(f"there is no entry `{name}`", hint=near_or_all(name, graph.entries, "entry"))
    offers: dict[str, OfferedEntry] = {}
    with closing(Root.open(root)) as files, Modules(root, files, graph.code) as modules:
        for name in sorted(chosen):
            entry = graph.entries[name]
            worker = graph.workers.get(entry.worker.name) if entry.worker else None
            offers[name] = OfferedEntry(
                entry=entry,
                signature=signatures_of(graph, [worker.name], modules)[worker.name] if worker else None,
                description=(worker and worker.description)
                or f"Runs the entry {name} of {graph.settings.name}.",
            )
    return offers


async def serve_stdio(service: Service) -> None:
    """Serves the client at stdin and stdout until it leaves."""
    server = service.server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def serve_http(service: Service, port: int, token: str, ready: Callable[[int], None]) -> None:
    """Serves clients that know `token` at 127.0.0.1 until it is cancelled; `ready` is told the port."""
    app = _Guarded(service.server().streamable_http_app(host="127.0.0.1"), token)
    listening = socket.create_server(("127.0.0.1", port))
    config = uvicorn.Config(app, log_level="critical", lifespan="on")
    ready(listening.getsockname()[1])
    await uvicorn.Server(config).serve(sockets=[listening])


class _Guarded:
    """An application that answers only who knows the token: other people have accounts on this machine as well."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._expected):
                await send(
                    {"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]}
                )
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)


def _text(text: str) -> wire.TextContent:
    return wire.TextContent(type="text", text=text)


def _failure(why: str) -> wire.CallToolResult:
    return wire.CallToolResult(content=[_text(why)], is_error=True)
