"""Entries as the tools of an MCP server: any client of the protocol can use a governed team of agents."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError, shown
from llmdo.base.extras import installing
from llmdo.features.mcp_server.served import ClientProgress, ServedTeam
from llmdo.runtime import Answer, AskLater, ModelChoice, RunOptions, consented
from llmdo.runtime.approvals.drawing import describe
from llmdo.runtime.approvals.postponed import question_in
from llmdo.services.offers import offers_of
from llmdo.services.root import root_folder
from llmdo.services.soundness import require_sound, resolved_with_lock
from llmdo.toolsets.processes import hide_from_children
from llmdo.version import __version__
from llmdo.workspace import project as projects
from llmdo.workspace.root import is_workspace

try:
    import mcp_types as wire
    import uvicorn
    from mcp.server.lowlevel import Server
    from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
    from mcp.server.stdio import stdio_server
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS
except ImportError as missing:
    raise LlmdoError("serving MCP needs the extra `mcp`", hint=installing("mcp")) from missing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from llmdo.journal.questions import Waiting
    from llmdo.runtime import Approver, Question
    from llmdo.services.offers import OfferedEntry
    from llmdo.services.plan import EndedRun, Host

COLUMNS = 100  # of a question
LONGEST_QUESTION = (
    24 * 60 * 60
)  # seconds that a client may take to answer; the question waits longer in the journal
CONTINUE = "continue_run"
"""The tool that resumes a run; no offered entry may have its name."""
EARLIER = "continue_from"
"""The argument that names the run which a new one continues."""

_YES = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Allow this call", "default": False}},
    "required": ["allow"],
}
_CONTINUING = wire.Tool(
    name=CONTINUE,
    description="Goes on with a run of another tool whose result was that it waits, once a person has answered its "
    "questions. It answers none itself.",
    input_schema={
        "type": "object",
        "properties": {"run": {"type": "string", "description": "The id that the result names."}},
        "required": ["run"],
        "additionalProperties": False,
    },
)

ToolReply = wire.CallToolResult | wire.InputRequiredResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The entries of one workspace, for as long as they are offered."""

    team: ServedTeam
    offers: Mapping[str, OfferedEntry]

    def server(self) -> Server[Any]:
        """The server of the protocol."""
        server: Server[Any] = Server(
            "llmdo",
            version=__version__,
            title=self.team.graph.settings.name,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        security = RequestStateSecurity.ephemeral(ttl=LONGEST_QUESTION)
        server.middleware.append(RequestStateBoundary(security, default_audience="llmdo"))
        return server

    async def _list(
        self, ctx: ServerRequestContext[Any], params: wire.PaginatedRequestParams | None
    ) -> wire.ListToolsResult:
        del ctx, params
        tools = [
            wire.Tool(
                name=name,
                description=offer.description,
                input_schema=_continuing(offer.takes) if self._goes_on(offer) else offer.takes,
                output_schema=offer.gives,
            )
            for name, offer in self.offers.items()
        ]
        return wire.ListToolsResult(tools=[*tools, *([_CONTINUING] if self.team.keeps else ())])

    async def _call(self, ctx: ServerRequestContext[Any], params: wire.CallToolRequestParams) -> ToolReply:
        client = _Client(ctx.session)
        try:
            async with ClientProgress(ctx.session).reporting() as progress:
                if params.request_state is not None:
                    return await self._answered(client, params, progress)
                if params.name == CONTINUE and self.team.keeps:
                    return await self._go_on(client, _run_in(params.arguments or {}), progress)
                offer = self.offers.get(params.name)
                if offer is None:
                    return _failure(f"there is no entry `{params.name}`")
                arguments = dict(params.arguments or {})
                earlier = _earlier(arguments) if self._goes_on(offer) else None
                text = offer.input(arguments)
                approver = client.approver(keeps=self.team.keeps)
                served = await self.team.begin(offer.entry.name, text, approver, progress, earlier=earlier)
                return self._result(client, served)
        except LlmdoError as error:
            return _failure(str(error))

    async def _answered(
        self, client: _Client, params: wire.CallToolRequestParams, progress: ClientProgress
    ) -> ToolReply:
        """The reply to a call repeated with a person's answers; a missing one is none."""
        state = json.loads(params.request_state or "")  # which came sealed, so that nobody else wrote it
        run, digests = state["run"], state["asked"]
        replies = {
            path: reply
            for path, reply in (params.input_responses or {}).items()
            if isinstance(reply, wire.ElicitResult) and reply.action != "cancel" and path in digests
        }
        answers = {path: _allows(reply) for path, reply in replies.items()}
        await asyncio.to_thread(self.team.answer, run, digests, answers)
        if len(answers) < len(digests):
            return self._waits(self.team.entry_of(run, self.offers), run, self.team.waiting(run))
        return await self._go_on(client, run, progress)

    async def _go_on(self, client: _Client, run: str, progress: ClientProgress) -> ToolReply:
        self.team.entry_of(run, self.offers)
        return self._result(
            client, await self.team.go_on(run, client.approver(keeps=self.team.keeps), progress)
        )

    def _goes_on(self, offer: OfferedEntry) -> bool:
        """Whether a call may continue an earlier run."""
        return self.team.keeps and offer.goes_on

    def _result(self, client: _Client, served: EndedRun) -> ToolReply:
        """The reply for a run: its result, questions for the client's person, or that it waits."""
        outcome = served.outcome
        if outcome.status == "waiting":
            questions = {
                path: question for path, question in served.questions.items() if not question.terminal_only
            }
            if questions and client.repeats_with_answers:
                state = {
                    "run": outcome.run,
                    "asked": {path: question.key for path, question in questions.items()},
                }
                requests: wire.InputRequests = {
                    path: _request(question) for path, question in questions.items()
                }
                return wire.InputRequiredResult(input_requests=requests, request_state=json.dumps(state))
            return self._waits(outcome.entry, outcome.run, served.questions)
        refused = [
            wire.TextContent(type="text", text=shown(f"refused: {call.path}: {call.refusal}"))
            for call in outcome.denied
        ]
        meta = {"llmdo/run": outcome.run, "llmdo/refused": [call.path for call in outcome.denied]}
        if outcome.status != "completed" or outcome.output is None:
            failure = _text(outcome.error or "the run did not complete")
            return wire.CallToolResult(content=[failure, *refused], is_error=True, _meta=meta)
        offer = self.offers[outcome.entry]
        is_data = offer.gives is not None
        name = [_text(f"run {outcome.run}: as `{EARLIER}`, the next call goes on from it")]
        return wire.CallToolResult(
            content=[_text(outcome.output), *refused, *(name if self._goes_on(offer) else ())],
            structured_content=json.loads(outcome.output) if is_data else None,
            _meta=meta,
        )

    def _waits(self, entry: str, run: str, questions: Mapping[str, Waiting]) -> wire.CallToolResult:
        """The reply of a waiting run, an error only if the tool promised data."""
        lines = [
            shown(f"- {path}: {question.record['tool']}: {'; '.join(question.record['reasons'])}")
            for path, question in questions.items()
        ]
        text = "\n".join(
            (
                f"waiting: run {run} waits for a person, who answers with `llmdo approve {run}` in the workspace",
                *lines,
                f"once that is done, the tool `{CONTINUE}` goes on with it",
            )
        )
        data = {"status": "waiting", "run": run, "questions": list(questions)}
        if self.offers[entry].gives is not None:
            return wire.CallToolResult(content=[_text(text)], is_error=True, _meta={"llmdo/run": run})
        return wire.CallToolResult(content=[_text(text)], structured_content=data, _meta={"llmdo/run": run})


class _Client:
    """A caller, with the protocol's way to ask its person, if any."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        asking = session.client_capabilities.elicitation if session.client_capabilities else None
        self._shows_forms = asking is not None and (asking.form is not None or asking.url is None)

    @property
    def repeats_with_answers(self) -> bool:
        """Whether it takes questions as a result, and calls again with the answers."""
        return self._shows_forms and self._session.protocol_version in MODERN_PROTOCOL_VERSIONS

    def approver(self, *, keeps: bool) -> Approver | None:
        """The approver during the run; `keeps`: whether questions can wait. None: the answer is no."""
        otherwise = AskLater() if keeps else None
        if self._shows_forms and self._session.can_send_request:
            return Elicitation(self._session, otherwise)
        return otherwise


class Elicitation:
    """Puts questions to the client's person; `otherwise` gets those that only a terminal may allow."""

    def __init__(self, session: ServerSession, otherwise: Approver | None) -> None:
        self._session = session
        self._otherwise = otherwise
        self._asking = asyncio.Lock()  # one question at a time: a person reads one

    async def ask(self, question: Question) -> Answer:
        """The answer of the person at the client."""
        if question.terminal_only:
            if self._otherwise is not None:
                return await self._otherwise.ask(question)
            return Answer(allowed=False, by="client", reason="only a person at a terminal may allow this")
        async with self._asking:
            answer = await self._session.elicit_form(_drawn(question), _YES)
        allowed = _allows(answer)
        return Answer(
            allowed=allowed, by="client", reason="" if allowed else "the person at the client said no"
        )


def _drawn(question: Question) -> str:
    """All of a question, as text for a person."""
    return "\n".join(describe(question, COLUMNS, folded=False))


def _request(question: Waiting) -> wire.ElicitRequest:
    """A question that waits, for the person at the client."""
    message = _drawn(question_in(question.path, question.record))
    return wire.ElicitRequest(params=wire.ElicitRequestFormParams(message=message, requested_schema=_YES))


def _allows(reply: wire.ElicitResult) -> bool:
    """Whether the person explicitly said yes."""
    return reply.action == "accept" and (reply.content or {}).get("allow") is True


def _continuing(schema: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of the arguments, plus the run that the call may continue."""
    described = "The id of an earlier run of this tool, to go on with that conversation."
    earlier = {EARLIER: {"type": "string", "description": described}}
    return {**schema, "properties": {**schema["properties"], **earlier}}


def _earlier(arguments: dict[str, Any]) -> str | None:
    """The run that a call continues, which is removed from its arguments."""
    run = arguments.pop(EARLIER, None)
    if run is not None and not isinstance(run, str):
        raise LlmdoError(f"`{EARLIER}` is the id of a run, a text")
    return run


def _run_in(arguments: Mapping[str, Any]) -> str:
    run = arguments.get("run")
    if set(arguments) - {"run"} or not isinstance(run, str):
        raise LlmdoError(f"`{CONTINUE}` takes one argument, the text `run`")
    return run


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeRequest:
    """The entries to offer, and the terms of their runs."""

    entries: tuple[str, ...] = ()
    """Empty: all of them."""
    project: str | None = None
    model: str | None = None
    """The model of workers that name none."""
    locked: bool = False
    """Whether an existing lock has to be current."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


def service_for(request: ServeRequest, host: Host) -> Service:
    """The requested entries, ready to be offered.

    Raises:
        InvalidTeamError: `check` finds errors that prevent it.
        LlmdoError: There is no such entry, one cannot be offered, or a model cannot be imported.
    """
    root = root_folder(request.project)
    read = projects.read(root)
    locked = request.locked and read.workspace.has_lock
    require_sound(read, host.tell, locked=locked)
    hide_from_children()
    graph, stale = resolved_with_lock(read, host.consent)
    environment = request.environ.get("LLMDO_MODEL") or None
    options = RunOptions(
        untrusted_input=True,
        models=ModelChoice(default=request.model, environment=environment),
        locked=locked,
        tightening=host.approving(graph).tightening,
        consent=host.consent,
    )
    consented(graph, root, options)
    if stale:
        stale.take_in_or_run_without(host.tell, request.environ)
    offers = offers_of(graph, root, request.entries)
    if CONTINUE in offers:
        raise LlmdoError(
            f"the entry `{CONTINUE}` has the name of a tool of the server itself",
            hint="rename it, or name the entries to offer",
        )
    team = ServedTeam(
        graph=graph,
        root=root,
        prompts=read.prompts,
        options=options,
        keeps=is_workspace(root),
        environ=request.environ,
        tell=host.tell,
    )
    return Service(team=team, offers=offers)


async def serve_stdio(server: Server[Any]) -> None:
    """Serves the client at stdin and stdout until it leaves."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def serve_http(server: Server[Any], port: int, token: str, ready: Callable[[int], None]) -> None:
    """Serves clients with `token` at 127.0.0.1 until it is cancelled; `ready` gets the port."""
    app = _Guarded(server.streamable_http_app(host="127.0.0.1"), token)
    listening = socket.create_server(("127.0.0.1", port))
    config = uvicorn.Config(app, log_level="critical", lifespan="on")
    ready(listening.getsockname()[1])
    await uvicorn.Server(config).serve(sockets=[listening])


class _Guarded:
    """An application that requires the token: others have accounts on this machine as well."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            sent = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(sent, self._expected):
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
