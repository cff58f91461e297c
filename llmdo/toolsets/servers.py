"""The MCP servers of one run: each is started once, compared with the lock, and shared by its workers."""

from __future__ import annotations

import asyncio
import json
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from anyio import to_thread
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import BinaryContent
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import PydanticSerializationError, SchemaValidator, core_schema, to_json

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing
from llmdo.graph import servers
from llmdo.graph.keys import encoded
from llmdo.toolsets.media import MEDIA_TYPES
from llmdo.toolsets.problems import Problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic_ai import RunContext

    from llmdo.graph.described import Definition
    from llmdo.graph.resolved import Graph
    from llmdo.graph.toolset import Toolset
    from llmdo.graph.worker import Use
    from llmdo.toolsets.launch import Launcher
    from llmdo.toolsets.mcp import Connection

MAX_TEXT = 100_000  # characters of one result
MAX_FILES = 10  # of one result
MAX_FILE = 10 * 1024 * 1024  # bytes


def capped(result: object) -> object:
    """`result` within the limits for a model; omissions are noted in their place."""
    if isinstance(result, str | BinaryContent):
        return _part(result, MAX_TEXT)
    if not isinstance(result, list) or not any(isinstance(item, BinaryContent) for item in result):
        return _data(result, MAX_TEXT)
    parts: list[object] = []
    left, files = MAX_TEXT, 0
    for item in result:
        files += isinstance(item, BinaryContent)
        if left <= 0 or files > MAX_FILES:
            parts.append(f"[{len(result) - len(parts)} more parts were left out]")
            break
        part = _part(item, left)
        left -= len(part) if isinstance(part, str) else 1
        parts.append(part)
    return parts


def _part(part: object, most: int) -> object:
    if isinstance(part, BinaryContent):
        return _file(part)
    return _cut(part, most) if isinstance(part, str) else _data(part, most)


def _file(content: BinaryContent) -> BinaryContent | str:
    size = f"{len(content.data):,} bytes"
    if content.media_type not in MEDIA_TYPES:
        return f"[a file of {size} was left out: its type is none that models take]"
    return content if len(content.data) <= MAX_FILE else f"[a file of {size} was left out: it is too large]"


def _data(value: object, most: int) -> object:
    try:
        text = to_json(value).decode()
    except (PydanticSerializationError, ValueError):
        return "[the result is not JSON]"
    return value if len(text) <= most else _cut(text, most)


def _cut(text: str, most: int) -> str:
    return (
        text if len(text) <= most else f"{text[:most]}\n[{len(text) - most:,} more characters were left out]"
    )


if TYPE_CHECKING:
    Notice = Callable[[str, str], None]
    """Takes the name of a server and the event."""


_ARGUMENTS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))


class Drifted(ToolFailed):
    """A tool differs from its locked definition, so it is not called."""


class Servers:
    """The servers of one run."""

    def __init__(self, graph: Graph, launcher: Launcher, notice: Notice) -> None:
        self._graph = graph
        self._launcher = launcher
        self._notice = notice
        self._running: dict[str, asyncio.Task[_Running]] = {}

    def toolset(self, name: str) -> AbstractToolset[object]:
        """The locked tools of one server, which is not started before one of them is called."""
        return ServerToolset(self._graph.toolsets[name], self)

    async def require_locked(self, names: Iterable[str]) -> None:
        """Starts the servers of these names and compares them with the lock.

        Raises:
            LlmdoError: One cannot be started, or differs from the lock; all is reported at once.
        """
        lines: list[str] = []
        for running in await asyncio.gather(*map(self._started, names), return_exceptions=True):
            if isinstance(running, BaseException) and not isinstance(running, LlmdoError):
                raise running
            lines.extend([str(running)] if isinstance(running, LlmdoError) else running.drift.values())
        if lines:
            raise LlmdoError("; ".join(lines), hint="`llmdo lock` shows and records what changed: review it")

    async def call(self, name: str, tool: str, arguments: dict[str, object]) -> object:
        """The result of a tool.

        Raises:
            Drifted: It differs from the lock.
            ToolFailed: It failed, or its server cannot be used.
        """
        try:
            running = await self._started(name)
            await running.compare_if_changed()
        except LlmdoError as error:
            raise ToolFailed(error.message) from error
        if tool in running.drift:
            raise Drifted(running.drift[tool])
        try:
            return capped(await running.connection.call(tool, arguments))
        finally:
            running.tell_of_death()

    async def close(self) -> None:
        """Ends all of them, with all their processes."""
        for task in self._running.values():
            task.cancel()
        ended = await asyncio.gather(*self._running.values(), return_exceptions=True)
        await asyncio.gather(*(server.connection.close() for server in ended if isinstance(server, _Running)))

    async def _started(self, name: str) -> _Running:
        """The server of that name, started once: a failure is final.

        Raises:
            LlmdoError: It cannot be started.
        """
        if name not in self._running:
            toolset = self._graph.toolsets[name]
            self._running[name] = asyncio.ensure_future(
                _start(toolset, self._launcher, self._notice, _users(self._graph, name))
            )
        return await asyncio.shield(self._running[name])


def servers_of(graph: Graph, uses: Iterable[Use], launcher: Launcher, notice: Notice) -> Servers | None:
    """The servers of a run with these `uses`; None if no use is a server.

    Raises:
        LlmdoError: A server was never locked, or has a configuration; all is reported at once.
    """
    problems: dict[str, LlmdoError] = {}
    has_changed = False
    for use in uses:
        toolset = graph.toolsets.get(use.name)
        if toolset is None or toolset.kind != "mcp":
            continue
        has_changed = True
        if use.config:
            problems[f"{use.name} config"] = LlmdoError(
                f"`{use.name}` is an MCP server that all workers share, so it takes no configuration",
                hint=f"say it in [toolsets.{use.name}] of llmdo.toml",
                at=use.at.location,
            )
        if toolset.identity is None:
            problems[use.name] = LlmdoError(
                f"nobody has reviewed what the MCP server `{use.name}` offers"
                + (", with its program as it is" if toolset.programs else "")
                + ": it is not in the lock",
                hint="`llmdo lock` asks it and records its tools",
                at=toolset.at.location,
            )
    if problems:
        raise Problems(problems.values())
    return Servers(graph, launcher, notice) if has_changed else None


def require_client() -> None:
    """Checks that servers can be used; their client is loaded when the first one is started.

    Raises:
        LlmdoError: The client of the protocol is not installed.
    """
    try:
        is_there = all(find_spec(name) for name in ("fastmcp", "httpx2"))
    except ValueError:  # something else stands under its name
        is_there = False
    if not is_there:
        raise LlmdoError("MCP servers need the extra `mcp`", hint=installing("mcp"))


class _Running:
    """A started server, and its differences from the lock."""

    def __init__(self, toolset: Toolset, connection: Connection, notice: Notice, users: str) -> None:
        self.connection = connection
        self.drift: Mapping[str, str] = {}
        """Tool to the reason why it is not called."""
        self._toolset = toolset
        self._notice = notice
        self._users = users
        self._changed = False
        self._is_reported = False

    def changed(self) -> None:
        """Has the tools compared again before the next call, as the server says that they changed."""
        self._changed = True

    async def compare_if_changed(self) -> None:
        """Compares again if the server said that its tools changed."""
        if self._changed:
            self._changed = False
            await self.compare()

    async def compare(self) -> None:
        """Finds the tools that differ from the lock; a tool that once differed stays refused.

        Raises:
            LlmdoError: The server does not list its tools.
        """
        live = await self.connection.tools()
        outcomes = {
            tool: f"`{tool}` of the MCP server `{self._toolset.name}` is not what was locked: {why}; it is used by "
            f"{self._users}"
            for tool, why in _differences(self._toolset, live)
            if tool not in self.drift
        }
        for outcome in outcomes.values():
            self._notice(self._toolset.name, outcome)
        self.drift = {**self.drift, **outcomes}

    def tell_of_death(self) -> None:
        """Reports once that the server is dead, if it is."""
        if self.connection.is_dead and not self._is_reported:
            self._is_reported = True
            self._notice(self._toolset.name, self.connection.epitaph)


async def _start(toolset: Toolset, launcher: Launcher, notice: Notice, users: str) -> _Running:
    # Two seconds, in which other workers go on.
    client = await to_thread.run_sync(import_module, "llmdo.toolsets.mcp")
    running = _Running(toolset, client.Connection(toolset, launcher), notice, users)
    connection = running.connection
    connection.on_change = running.changed
    try:
        await connection.open()
        await running.compare()
    except BaseException as error:
        await connection.close()
        if isinstance(error, LlmdoError):
            notice(toolset.name, error.message)
        raise
    return running


def _differences(toolset: Toolset, live: Mapping[str, Definition]) -> Iterable[tuple[str, str]]:
    for name, tool in toolset.tools.items():
        if tool.definition is None:
            yield name, "it was never locked"
        elif name not in live:
            yield name, "it is gone"
        elif live[name] != tool.definition:
            changes = servers.changes(encoded(tool.definition), encoded(live[name]))
            yield name, "; ".join(changes)
    for name in live.keys() - toolset.tools.keys():
        yield name, "it is new"


def _users(graph: Graph, name: str) -> str:
    workers = sorted(
        worker.name for worker in graph.workers.values() if any(use.name == name for use in worker.uses)
    )
    return ", ".join(f"`{worker}`" for worker in workers) or "no worker"


class ServerToolset(AbstractToolset[object]):
    """The locked tools of an MCP server: no other word of the server reaches a model unasked."""

    def __init__(self, toolset: Toolset, of: Servers) -> None:
        self._toolset = toolset
        self._servers = of

    @property
    def id(self) -> str:
        """The toolset's name."""
        return self._toolset.name

    async def get_instructions(self, ctx: RunContext[object]) -> str | None:  # noqa: ARG002  # pydantic-ai's signature
        """The server's locked instructions, if the manifest asks for them."""
        identity = self._toolset.identity
        return identity.instructions if identity and self._toolset.instructions else None

    async def get_tools(self, ctx: RunContext[object]) -> dict[str, ToolsetTool[object]]:
        """Every locked tool."""
        return {
            name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=name,
                    description=tool.definition.description,
                    parameters_json_schema=json.loads(tool.definition.input),
                ),
                max_retries=ctx.max_retries,
                args_validator=_ARGUMENTS,
            )
            for name, tool in self._toolset.tools.items()
            if tool.definition is not None
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, object],
        ctx: RunContext[object],  # noqa: ARG002
        tool: ToolsetTool[object],  # noqa: ARG002
    ) -> object:
        """The server's result."""
        return await self._servers.call(self._toolset.name, name, tool_args)
