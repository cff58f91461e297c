"""Connections to MCP servers: the one module that imports the client of the protocol."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from llmdo.base.diagnostic import LlmdoError, excerpt, shown
from llmdo.base.extras import installing
from llmdo.graph import servers
from llmdo.graph.described import Definition, Identity
from llmdo.graph.toolset import ToolFacts, ToolsetFacts
from llmdo.toolsets.call_key import META, current
from llmdo.toolsets.launch import MESSAGE_BYTES, expand
from llmdo.toolsets.python import sentence_of

# A `.env` in the folder that a run happens to start in must not configure its client.
os.environ["FASTMCP_ENV_FILE"] = os.devnull
os.environ["FASTMCP_LOG_ENABLED"] = "false"

try:
    import httpx2
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
    from pydantic_ai.exceptions import ModelRetry, ToolFailed
    from pydantic_ai.mcp import MCPToolset
except ImportError as missing:
    raise LlmdoError("MCP servers need the extra `mcp`", hint=installing("mcp")) from missing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from llmdo.graph.toolset import Toolset
    from llmdo.toolsets.launch import Launch, Launcher


class _NotOfTheClient(logging.Filter):
    """Drops the client's log records under `client`, a name that others may use as well."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether other code logged it."""
        return "mcp" not in Path(record.pathname).parts


# What a server does wrong is told once, by us; its words do not reach a terminal through a log.
for _name in ("mcp", "fastmcp"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)
logging.getLogger("client").addFilter(_NotOfTheClient())

CLOSE_S = 10.0
PING_S = 5.0  # for a server that did not answer a call to show that it still answers anything
LIST_S = 60.0  # for all that a lock asks of one server
AT_ONCE = 4  # servers that a lock asks at the same time
MAX_TOOLS = 1_000
MAX_DEFINITION = 256 * 1024  # characters of what is said about one tool

_TOOL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CHANGED = "notifications/tools/list_changed"


class Connection:
    """One MCP server, started once and used by many; once dead it is not restarted."""

    def __init__(self, toolset: Toolset, launcher: Launcher) -> None:
        self.on_change: Callable[[], None] | None = None
        """Called when the server says that its tools changed."""
        self._toolset = toolset
        self._launcher = launcher
        self._stack = AsyncExitStack()
        self._launch: Launch | None = None
        self._client: Client[Any] | None = None
        self._asked: MCPToolset[object] | None = None
        self._dead: str | None = None
        self._excess = ""

    @property
    def name(self) -> str:
        """The toolset's name."""
        return self._toolset.name

    @property
    def timeout_s(self) -> float:
        """The time limit of one answer."""
        return self._toolset.timeout_s or servers.DEFAULT_TIMEOUT_S

    async def open(self) -> None:
        """Starts the server and greets it.

        Raises:
            LlmdoError: That failed; the server is dead then.
        """
        try:
            client: Client[Any] = Client(
                self._transport(),
                timeout=self.timeout_s,
                init_timeout=self._launcher.start_s,
                log_handler=_ignore,
                progress_handler=_ignore_progress,
                message_handler=self._hear,
                cache=False,
            )
            async with asyncio.timeout(self._launcher.start_s):
                await self._stack.enter_async_context(client)
            self._asked = MCPToolset(client, id=self.name, tool_error_behavior="failed")
            await self._stack.enter_async_context(self._asked)
        except LlmdoError:
            await self.close()
            raise
        except Exception as error:  # of three libraries and a server
            raise await self._died(error) from error
        self._client = client

    def _transport(self) -> object:
        server = self._toolset.server
        if server is None:
            raise LlmdoError(f"`{self.name}` is not an MCP server", at=self._toolset.at.location)
        if server.url is None:
            self._launch = self._stack.enter_context(self._launcher.prepared(self._toolset))
            return StdioTransport(
                self._launch.command,
                list(self._launch.args),
                env=dict(self._launch.env),
                keep_alive=False,
                log_file=self._launch.errors,
            )
        environ = self._launcher.environ
        headers = {}
        for header in server.headers:
            name, _, text = header.partition(": ")
            headers[name] = expand(text, environ, self._toolset)
        if server.auth is not None:
            headers["Authorization"] = f"Bearer {expand(server.auth, environ, self._toolset)}"
        return StreamableHttpTransport(
            expand(server.url, environ, self._toolset),
            headers=headers,
            httpx_client_factory=self._http_client,
        )

    def _http_client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
        **_: object,
    ) -> httpx2.AsyncClient:
        """A client that reads no endless answer. The transport itself follows redirects within one origin only."""
        limit = timeout or httpx2.Timeout(self._launcher.start_s, read=None)
        transport = _CappedTransport(self._exceed)
        return httpx2.AsyncClient(headers=headers, timeout=limit, auth=auth, transport=transport)

    def _exceed(self) -> None:
        self._excess = f"it sent an answer of more than {MESSAGE_BYTES:,} bytes"

    async def identity(self) -> Identity:
        """The server's description of itself."""
        client = self._client_of()
        info, instructions = client.server_info, client.instructions
        if len(instructions or "") > MAX_DEFINITION:
            raise self._wrong(
                f"says more than {MAX_DEFINITION:,} characters about its use", "use another server"
            )
        return Identity(
            name=info.name if info else "",
            version=(info.version or None) if info else None,
            instructions=instructions or None,
        )

    async def tools(self) -> Mapping[str, Definition]:
        """The server's current definition of each wanted tool.

        Raises:
            LlmdoError: It does not answer, or its answer cannot be used.
        """
        try:
            async with asyncio.timeout(self.timeout_s):
                listed = await self._client_of().list_tools()
        except LlmdoError:
            raise
        except Exception as error:  # of three libraries and a server
            raise await self._died(error) from error
        wanted = [
            remote
            for remote in listed
            if self._toolset.server and servers.is_wanted(self._toolset.server, remote.name)
        ]
        if len(wanted) > MAX_TOOLS:
            raise self._wrong(f"has {len(wanted):,} tools, and {MAX_TOOLS:,} are the most", "`include` fewer")
        by_name: dict[str, Definition] = {}
        for tool in wanted:
            if not _TOOL.fullmatch(tool.name):
                raise self._wrong(
                    f"has a tool `{excerpt(tool.name)}`, which models cannot call by that name",
                    "`exclude` it: names have up to 64 letters, digits, `_` and `-`",
                )
            if tool.name in by_name:
                raise self._wrong(f"has two tools `{tool.name}`", "`exclude` them")
            by_name[tool.name] = self._definition(tool.model_dump(mode="json", by_alias=True))
        return by_name

    def _definition(self, wire: Mapping[str, Any]) -> Definition:
        hints = wire.get("annotations") or {}
        try:
            definition = Definition(
                title=wire.get("title"),
                description=wire.get("description"),
                input=_lines(wire["inputSchema"]),
                output=_lines(wire["outputSchema"]) if wire.get("outputSchema") else None,
                hints=tuple(
                    sorted(f"{key}: {_line(hint)}" for key, hint in hints.items() if hint is not None)
                ),
            )
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"describes `{wire['name']}` by what is not JSON", "`exclude` it") from error
        texts = (
            definition.title,
            definition.description,
            definition.input,
            definition.output,
            *definition.hints,
        )
        if sum(len(text or "") for text in texts) > MAX_DEFINITION:
            raise self._wrong(
                f"says more than {MAX_DEFINITION:,} characters about `{wire['name']}`", "`exclude` that tool"
            )
        return definition

    def _wrong(self, message: str, hint: str) -> LlmdoError:
        return LlmdoError(f"the MCP server `{self.name}` {message}", hint=hint, at=self._toolset.at.location)

    async def call(self, tool: str, arguments: dict[str, object]) -> object:
        """The tool's result, in pydantic-ai's form for models.

        Raises:
            ToolFailed: The tool failed, did not answer in time, or its server is dead.
        """
        if self._dead is not None or self._asked is None:
            raise ToolFailed(self.epitaph)
        try:
            async with asyncio.timeout(self.timeout_s):
                return await self._asked.direct_call_tool(
                    tool, arguments, metadata={META: key} if (key := current()) else None
                )
        except ToolFailed:
            raise
        except TimeoutError as late:
            raise ToolFailed(await self._late(tool)) from late
        except ModelRetry as refused:  # an answer of the protocol that says no, or the end of the connection
            if await self._is_alive():
                raise ToolFailed(f"`{tool}` failed: {shown(refused.message)}") from refused
            raise ToolFailed(self.epitaph) from refused
        except Exception as error:  # of three libraries and a server
            await self._died(error)
            raise ToolFailed(self.epitaph) from error

    async def _late(self, tool: str) -> str:
        message = f"`{tool}` did not answer within {self.timeout_s:g} seconds"
        return message if await self._is_alive() else f"{message}; {self.epitaph}"

    async def _is_alive(self) -> bool:
        """Whether the server still answers; if not, it is dead from now on."""
        with suppress(Exception):
            async with asyncio.timeout(min(PING_S, self.timeout_s)):
                if await self._client_of().ping():
                    return True
        await self._died(None)
        return False

    @property
    def is_dead(self) -> bool:
        """Whether it was started and has ended."""
        return self._dead is not None

    @property
    def epitaph(self) -> str:
        """Why it cannot be asked."""
        return f"the MCP server `{self.name}` {self._dead or 'was never started'}, and is not started again in this run"

    async def _died(self, error: Exception | None) -> LlmdoError:
        """Closes the server, and returns an error with the reason."""
        if self._dead is None:
            reason = self._launch.reason() if self._launch else self._excess
            self._dead = f"is dead: {reason or _reason(error)}"
        await self.close()
        return LlmdoError(f"the MCP server `{self.name}` {self._dead}", at=self._toolset.at.location)

    async def close(self) -> None:
        """Ends the server and all its processes. Closing twice does nothing."""
        self._dead = self._dead or "was closed"
        stack, self._stack = self._stack, AsyncExitStack()
        with suppress(Exception):  # whatever a broken connection raises, it is gone
            async with asyncio.timeout(CLOSE_S):
                await stack.aclose()

    def _client_of(self) -> Client[Any]:
        if self._client is None or self._dead is not None:
            raise LlmdoError(self.epitaph, at=self._toolset.at.location)
        return self._client

    async def _hear(self, message: object) -> None:
        if getattr(getattr(message, "root", message), "method", None) == _CHANGED and self.on_change:
            self.on_change()


async def _ignore(message: object) -> None:
    """Ignores a server's log messages."""


async def _ignore_progress(progress: float, total: float | None, message: str | None) -> None:
    """Ignores the progress of a call."""


def _lines(schema: object) -> str:
    return json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)


def _line(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def _reason(error: BaseException | None) -> str:
    """Why a connection failed, if its own process did not say."""
    chain = list(_chain(error))
    if not chain:
        return "it does not answer"
    if any(isinstance(link, TimeoutError) for link in chain):
        return "it did not answer in time"
    if any(isinstance(link, ValidationError) for link in chain):
        return "it sent an answer that is not of the protocol"
    return shown(sentence_of(chain[-1]))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and its causes, down to the first."""
    while error is not None:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        yield error
        error = error.__cause__


class _Capped(httpx2.AsyncByteStream):
    def __init__(self, stream: Any, exceeded: Callable[[], None]) -> None:
        self._stream = stream
        self._exceeded = exceeded

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self._stream:
            seen += len(chunk)
            if seen > MESSAGE_BYTES:
                self._exceeded()
                raise httpx2.ReadError("the answer is too large")
            yield chunk

    async def aclose(self) -> None:
        """Ends the answer."""
        await self._stream.aclose()


class _CappedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, exceeded: Callable[[], None]) -> None:
        super().__init__()
        self._exceeded = exceeded

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        response.stream = _Capped(response.stream, self._exceeded)
        return response


async def facts_of(toolset: Toolset, launcher: Launcher) -> ToolsetFacts:
    """The server's description of itself and of its tools; it is ended afterwards.

    Raises:
        LlmdoError: It cannot be started, does not answer in time, or its answers cannot be used.
    """
    connection = Connection(toolset, launcher)
    try:
        async with asyncio.timeout(LIST_S):
            await connection.open()
            definitions = await connection.tools()
            identity = await connection.identity()
    except TimeoutError as late:
        raise LlmdoError(
            f"the MCP server `{toolset.name}` did not list its tools within {LIST_S:g} seconds",
            at=toolset.at.location,
        ) from late
    finally:
        await connection.close()
    tools = {
        name: ToolFacts(
            digest=servers.digest_of(name, definition), capabilities=None, hook=False, definition=definition
        )
        for name, definition in sorted(definitions.items())
    }
    return ToolsetFacts(is_class=False, dynamic=False, tools=tools, identity=identity)


async def _all_facts(toolsets: Sequence[Toolset], launcher: Launcher) -> list[ToolsetFacts | BaseException]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def facts_within_slots(toolset: Toolset) -> ToolsetFacts:
        async with slots:
            return await facts_of(toolset, launcher)

    return await asyncio.gather(*map(facts_within_slots, toolsets), return_exceptions=True)


def list_servers(toolsets: Sequence[Toolset], launcher: Launcher) -> dict[str, ToolsetFacts | LlmdoError]:
    """Each server's facts, or why it could not be asked, by the name of its toolset."""
    outcomes: dict[str, ToolsetFacts | LlmdoError] = {}
    for toolset, facts in zip(toolsets, asyncio.run(_all_facts(toolsets, launcher)), strict=True):
        if isinstance(facts, BaseException) and not isinstance(facts, LlmdoError):
            raise facts
        outcomes[toolset.name] = facts
    return outcomes
