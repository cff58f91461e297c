"""Commands that only read, as the tools of an MCP server: for whoever edits a team with a coding agent.

Names, types and words of a tool's arguments are those of the command, which follow from its request.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.extras import installing
from llmdo.cli.app import parameters_of
from llmdo.cli.console import FINDINGS, FINE
from llmdo.version import __version__

try:
    import mcp_types as wire
    from mcp.server.lowlevel import Server
except ImportError as missing:
    raise LlmdoError("serving MCP needs the extra `mcp`", hint=installing("mcp")) from missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mcp.server.context import ServerRequestContext

TOOLS: Mapping[str, tuple[str, ...]] = {
    "check": ("select", "locked", "strict"),
    "reach": ("name", "target", "select", "all_paths"),
    "diff": ("before", "after", "verbose"),
    "suggest": ("entry",),
    "explain": ("code",),
}
"""The commands that are offered, each with the parameters that a client may give.

None of them runs code of the workspace or writes a file, and none takes the path of another folder.
"""

AS_TEXT: Mapping[str, str] = {"reach": "target"}
"""The parameter of a command whose answer is text where a client gives it."""

AS_JSON = "--format=json"
LONGEST = 200_000  # characters of an answer
PATIENCE = 120  # seconds for a command


@dataclass(frozen=True, slots=True)
class CommandTool:
    """A command as a tool."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """Those of the command-line library that a client may give, by their names."""
    fixed: tuple[str, ...]
    """The options that it always has."""
    as_text: str = ""
    """The parameter with which the answer is text, without the options that it has otherwise."""

    def offer(self) -> wire.Tool:
        """The tool as clients are told of it."""
        return wire.Tool(
            name=self.name,
            description=self.description,
            input_schema={
                "type": "object",
                "properties": {name: _schema(each) for name, each in self.parameters.items()},
                "required": [name for name, parameter in self.parameters.items() if parameter.required],
                "additionalProperties": False,
            },
            annotations=wire.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        )

    def words(self, arguments: Mapping[str, object]) -> list[str]:
        """The command with these arguments, of which none can become an option of another name.

        Raises:
            LlmdoError: One is not known, or is no value of its kind.
        """
        is_text = bool(arguments.get(self.as_text))
        options = [each for each in self.fixed if not (is_text and each == AS_JSON)]
        positions: list[str] = []
        if unknown := set(arguments) - set(self.parameters):
            raise LlmdoError(f"`{self.name}` takes no `{min(unknown)}`")
        for name, parameter in self.parameters.items():
            given = arguments.get(name)
            if given is None and not parameter.required:
                continue
            texts = _texts(name, parameter, given)
            if parameter.param_type_name == "argument":
                positions += texts
            elif parameter.is_flag:
                options += [parameter.opts[-1]] if given else []
            else:
                options += [f"{parameter.opts[-1]}={text}" for text in texts]
        return [self.name, *options, "--", *positions]


def command_tools(root: Path) -> dict[str, CommandTool]:
    """The offered commands, for the workspace at `root`."""
    tools = {}
    for name, offered in TOOLS.items():
        description, known = parameters_of(name)
        forms = getattr(getattr(known.get("format"), "type", None), "choices", ())
        fixed = [AS_JSON] if "json" in forms else []
        if known.keys() & {"project", "projects"}:
            fixed.append(f"--project={root}")
        parameters = {each: known[each] for each in offered}
        tools[name] = CommandTool(name, description, parameters, tuple(fixed), AS_TEXT.get(name, ""))
    return tools


def server(root: Path) -> Server[Any]:
    """The server of the commands, for the workspace at `root`."""
    tools = command_tools(root)

    async def offered(
        ctx: ServerRequestContext[Any], params: wire.PaginatedRequestParams | None
    ) -> wire.ListToolsResult:
        del ctx, params
        return wire.ListToolsResult(tools=[tool.offer() for tool in tools.values()])

    async def called(
        ctx: ServerRequestContext[Any], params: wire.CallToolRequestParams
    ) -> wire.CallToolResult:
        del ctx
        if params.name not in tools:
            return _failure(f"there is no command `{params.name}`")
        try:
            return await _reply(tools[params.name].words(params.arguments or {}), root)
        except LlmdoError as error:
            return _failure(str(error))

    return Server("llmdo", version=__version__, on_list_tools=offered, on_call_tool=called)


async def _reply(words: Iterable[str], root: Path) -> wire.CallToolResult:
    """The answer of a command, run in a process of its own."""
    command = [sys.executable, "-P", "-m", "llmdo", *words]
    process = await asyncio.create_subprocess_exec(
        *command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, cwd=root
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    except TimeoutError:
        return _failure(f"the command took more than {PATIENCE} seconds")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text, messages = out.decode(errors="replace"), err.decode(errors="replace")
    if process.returncode not in (FINE, FINDINGS):
        return _failure((messages or text)[:LONGEST])
    if len(text) > LONGEST:
        return _failure(f"the answer has {len(text):,} characters: ask about less, such as one entry")
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    return wire.CallToolResult(
        content=[wire.TextContent(type="text", text=text or messages)],
        structured_content=data if isinstance(data, dict) else None,
    )


def _failure(why: str) -> wire.CallToolResult:
    return wire.CallToolResult(content=[wire.TextContent(type="text", text=why)], is_error=True)


def _schema(parameter: Any) -> dict[str, object]:
    """The JSON Schema of the values of a parameter."""
    choices = list(getattr(parameter.type, "choices", ()))
    value: dict[str, object] = {"type": "string", **({"enum": choices} if choices else {})}
    if getattr(parameter, "is_flag", False):
        value = {"type": "boolean"}
    elif _is_list(parameter):
        value = {"type": "array", "items": value}
    words = getattr(parameter, "help", None)
    return {**value, **({"description": words} if words else {})}


def _is_list(parameter: Any) -> bool:
    return parameter.nargs == -1 or bool(getattr(parameter, "multiple", False))


def _texts(name: str, parameter: Any, given: object) -> list[str]:
    """A value as words of a command; of a flag none are needed.

    Raises:
        LlmdoError: It is no value of the parameter's kind.
    """
    if getattr(parameter, "is_flag", False):
        if not isinstance(given, bool):
            raise LlmdoError(f"`{name}` is true or false")
        return []
    texts = given if _is_list(parameter) else [given]
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise LlmdoError(f"`{name}` is {'a list of texts' if _is_list(parameter) else 'a text'}")
    return texts
