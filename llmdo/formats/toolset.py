"""What a manifest and a lock may say about a toolset of the workspace's own."""
# ruff: noqa: UP013  # as in `formats`

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from annotated_types import Gt
from typing_extensions import TypedDict

from llmdo.formats.fields import STRICT, Attribute, Digest, Doc, Path, Prefix, ScopedCapability, Text

Retry = Literal["safe", "ask"]

McpServer = TypedDict(
    "McpServer",
    {
        "command": NotRequired[Annotated[Text, Doc("The program that is the server.")]],
        "args": NotRequired[Annotated[list[str], Doc("Its arguments.")]],
        "env": NotRequired[
            Annotated[
                list[Text] | dict[Text, str],
                Doc("The environment variables that it is given: their names, or name to text."),
            ]
        ],
        "cwd": NotRequired[Annotated[Path, Doc("The folder that it is started in; else the workspace.")]],
        "url": NotRequired[Annotated[Text, Doc("The address of a remote server, instead of a command.")]],
        "headers": NotRequired[
            Annotated[dict[Text, str], Doc("HTTP headers of every request to a remote server.")]
        ],
        "auth": NotRequired[Annotated[Text, Doc("A bearer token for a remote server, such as ${TOKEN}.")]],
    },
)

ToolsetTable = TypedDict(
    "ToolsetTable",
    {
        "python": NotRequired[
            Annotated[
                Attribute,
                Doc("FILE.py:ATTRIBUTE or package.module:ATTRIBUTE; a toolset, or a class of one."),
            ]
        ],
        "sources": NotRequired[
            Annotated[
                list[Text],
                Doc(
                    "Python files of the workspace that its module imports without its text saying so, such as "
                    "plugins: paths or globs. They may be imported, and are locked with it."
                ),
            ]
        ],
        "prefix": NotRequired[
            Annotated[
                Prefix, Doc("Put before the name of each tool, with `_` between: models see only that.")
            ]
        ],
        "mcp": NotRequired[
            Annotated[
                McpServer,
                Doc("An MCP server as a toolset. In its texts, ${NAME} is an environment variable."),
            ]
        ],
        "include": NotRequired[
            Annotated[list[Text], Doc("Of an MCP server, the only tools wanted: names, `*` for anything.")]
        ],
        "exclude": NotRequired[
            Annotated[list[Text], Doc("Of an MCP server, the tools not wanted: names, `*` for anything.")]
        ],
        "timeout-s": NotRequired[
            Annotated[float, Gt(0), Doc("How long an MCP server may take for one answer; 60 where left out.")]
        ],
        "instructions": NotRequired[
            Annotated[bool, Doc("Whether models are given what an MCP server says about its own use.")]
        ],
        "isolation": NotRequired[
            Annotated[
                Literal["auto", "require", "off"],
                Doc(
                    "Whether the program of an MCP server is kept apart; auto, where this machine can. It then has the "
                    "network and writes files only as far as its tools declare it."
                ),
            ]
        ],
        "capabilities": NotRequired[
            Annotated[
                dict[Text, list[ScopedCapability]],
                Doc(
                    'The capabilities that each tool raises; "*" stands for every tool not named, and of an MCP '
                    "server `read_*` for all that it fits."
                ),
            ]
        ],
        "retry": NotRequired[
            Annotated[
                dict[Text, Retry],
                Doc(
                    "Whether a call that was started and did not finish may run again when a run goes on: `safe`, or "
                    "`ask`. Tools are named as in `capabilities`; one that is not may, where it only reads."
                ),
            ]
        ],
    },
)

LockedServer = TypedDict(
    "LockedServer",
    {
        "command": NotRequired[Annotated[Text, Doc("The program that is the server.")]],
        "args": NotRequired[Annotated[list[str], Doc("Its arguments.")]],
        "env": NotRequired[Annotated[list[Text], Doc("Its environment variables: NAME, or NAME=TEXT.")]],
        "cwd": NotRequired[Annotated[Path, Doc("The folder that it is started in.")]],
        "url": NotRequired[Annotated[Text, Doc("The address of a remote server.")]],
        "headers": NotRequired[Annotated[list[Text], Doc("HTTP headers: NAME: TEXT.")]],
        "auth": NotRequired[Annotated[Text, Doc("A bearer token.")]],
        "include": NotRequired[Annotated[list[Text], Doc("The only tools wanted.")]],
        "exclude": NotRequired[Annotated[list[Text], Doc("The tools not wanted.")]],
    },
)

LockedIdentity = TypedDict(
    "LockedIdentity",
    {
        "name": NotRequired[Annotated[str, Doc("Its name.")]],
        "version": NotRequired[Annotated[str, Doc("Its version.")]],
        "instructions": NotRequired[
            Annotated[list[str], Doc("What it would tell models about its use, line by line.")]
        ],
    },
)

LockedTool = TypedDict(
    "LockedTool",
    {
        "digest": NotRequired[
            Annotated[
                Digest,
                Doc("Of the canonical JSON of name, description and parameter schema; none where not known."),
            ]
        ],
        "hook": NotRequired[Annotated[bool, Doc("Whether get_capabilities narrows what a call raises.")]],
        "capabilities": NotRequired[
            Annotated[list[ScopedCapability], Doc("What a call may raise; left out, nothing.")]
        ],
        "metadata": NotRequired[
            Annotated[list[ScopedCapability], Doc("The part of it that the tool's own metadata declares.")]
        ],
        "retry": NotRequired[Annotated[Retry, Doc("What the manifest says of running it twice.")]],
        "title": NotRequired[Annotated[str, Doc("What an MCP server calls it before people.")]],
        "description": NotRequired[
            Annotated[list[str], Doc("What an MCP server tells models about it, line by line.")]
        ],
        "input": NotRequired[
            Annotated[list[str], Doc("The schema of its arguments, of an MCP server: lines of JSON.")]
        ],
        "output": NotRequired[
            Annotated[list[str], Doc("The schema of its result, of an MCP server: lines of JSON.")]
        ],
        "hints": NotRequired[
            Annotated[list[str], Doc("What an MCP server claims about it; nothing obeys that.")]
        ],
    },
)

LockedToolset = TypedDict(
    "LockedToolset",
    {
        "python": NotRequired[Annotated[Attribute, Doc("The module and the attribute.")]],
        "mcp": NotRequired[
            Annotated[LockedServer, Doc("How the MCP server is reached, and what of it is used.")]
        ],
        "server": NotRequired[Annotated[LockedIdentity, Doc("What the MCP server says of itself.")]],
        "timeout-s": NotRequired[Annotated[float, Gt(0), Doc("How long it may take for one answer.")]],
        "instructions": NotRequired[Annotated[bool, Doc("Whether models are given its instructions.")]],
        "isolation": NotRequired[
            Annotated[Literal["require", "off"], Doc("Whether it is kept apart; auto where left out.")]
        ],
        "source": NotRequired[
            Annotated[Digest, Doc("Of the module and the workspace modules that it imports.")]
        ],
        "sources": NotRequired[
            Annotated[list[Path], Doc("The files that it imports without its text saying so.")]
        ],
        "prefix": NotRequired[Annotated[Prefix, Doc("What models see before the names of its tools.")]],
        "class": NotRequired[Annotated[bool, Doc("Whether it is a class, made anew for every call.")]],
        "dynamic": NotRequired[Annotated[bool, Doc("Whether its tools are known only in a run.")]],
        "tool": NotRequired[Annotated[dict[str, LockedTool], Doc("Its tools.")]],
    },
)

for _table in (McpServer, ToolsetTable, LockedServer, LockedIdentity, LockedTool, LockedToolset):
    _table.__pydantic_config__ = STRICT  # type: ignore[union-attr]
