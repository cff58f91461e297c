"""The keys of a manifest about a toolset of the workspace's own."""
# ruff: noqa: UP013  # as in `llmdo.formats.documents`

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NotRequired

from typing_extensions import TypedDict

from llmdo.formats.fields import STRICT, Doc, Path, Retry, ScopedCapability, Text
from llmdo.formats.tables import table
from llmdo.formats.worker import CodeToolsets
from llmdo.graph.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.values import Json

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

McpServer.__pydantic_config__ = STRICT  # type: ignore[attr-defined]

if TYPE_CHECKING:
    ToolsetTable = Mapping[str, Json]
else:
    ToolsetTable = table(
        "ToolsetTable",
        Toolset,
        "file",
        {"CodeToolsets": CodeToolsets},
        {
            "mcp": NotRequired[
                Annotated[
                    McpServer,
                    Doc("An MCP server as a toolset. In its texts, ${NAME} is an environment variable."),
                ]
            ],
            "include": NotRequired[
                Annotated[
                    list[Text], Doc("Of an MCP server, the only tools wanted: names, `*` for anything.")
                ]
            ],
            "exclude": NotRequired[
                Annotated[list[Text], Doc("Of an MCP server, the tools not wanted: names, `*` for anything.")]
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
                        "Whether a call that was started and did not finish may run again when a run goes on: `safe`, "
                        "or `ask`. Tools are named as in `capabilities`; one that is not may, where it only reads."
                    ),
                ]
            ],
        },
    )
