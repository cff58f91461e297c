"""The keys of any worker, in its file or in the manifest for an existing agent."""
# ruff: noqa: UP013  # as in `llmdo.formats.documents`

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from annotated_types import Ge, Gt, MinLen
from typing_extensions import TypedDict

from llmdo.formats.fields import (
    EMPTIABLE,
    STRICT,
    USED,
    Doc,
    Keys,
    NativeTool,
    Positive,
    Scope,
    ScopedCapability,
    Text,
    ToolsetUsed,
)
from llmdo.formats.flows import Flows
from llmdo.formats.shell import ShellConfig
from llmdo.formats.tables import table
from llmdo.graph.worker import Attachments, Worker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.values import Json

FilesystemConfig = TypedDict(
    "FilesystemConfig",
    {
        "read": NotRequired[
            Annotated[
                list[Scope],
                Doc("The files it may read and list: paths or folder/**. Left out, the whole workspace."),
            ]
        ],
        "write": NotRequired[
            Annotated[list[Scope], Doc("The files it may write: paths or folder/**. Left out, none.")]
        ],
    },
)

WebToolOptions = TypedDict(
    "WebToolOptions",
    {
        "max_uses": NotRequired[Annotated[Positive, Doc("How often one answer may use it.")]],
        "allowed_domains": NotRequired[
            Annotated[list[Text], MinLen(1), Doc("The only domains that it may go to.")]
        ],
        "blocked_domains": NotRequired[
            Annotated[list[Text], MinLen(1), Doc("Domains that it may not go to.")]
        ],
    },
)
NoOptions = TypedDict("NoOptions", {})
NativeTools = TypedDict(
    "NativeTools",
    {
        "code_execution": NotRequired[Annotated[NoOptions | None, Doc("Runs code at the provider.")]],
        "web_fetch": NotRequired[Annotated[WebToolOptions | None, Doc("Reads pages.")]],
        "web_search": NotRequired[Annotated[WebToolOptions | None, Doc("Searches the web.")]],
        "x_search": NotRequired[Annotated[NoOptions | None, Doc("Searches X.")]],
    },
)

ModelSettings = TypedDict(
    "ModelSettings",
    {
        "temperature": NotRequired[Annotated[float, Ge(0), Doc("How freely the model chooses.")]],
        "max_tokens": NotRequired[Annotated[Positive, Doc("The longest response, in tokens.")]],
        "top_p": NotRequired[Annotated[float, Gt(0), Doc("The share of likely tokens it may choose.")]],
        "top_k": NotRequired[Annotated[Positive, Doc("How many likely tokens it may choose from.")]],
        "timeout": NotRequired[
            Annotated[float, Gt(0), Doc("Seconds that one attempt at a request may take.")]
        ],
        "max_retries": NotRequired[
            Annotated[
                int,
                Ge(0),
                Doc("How often a request is repeated after a transient failure; 2 where left out."),
            ]
        ],
        "parallel_tool_calls": NotRequired[
            Annotated[bool, Doc("Whether one response may call several tools.")]
        ],
        "seed": NotRequired[
            Annotated[int, Ge(0), Doc("Makes answers repeatable where the model can do that.")]
        ],
        "stop_sequences": NotRequired[
            Annotated[list[Text], MinLen(1), Doc("Texts at which the model stops.")]
        ],
        "presence_penalty": NotRequired[
            Annotated[float, Ge(-2), Doc("Discourages topics that came up before.")]
        ],
        "frequency_penalty": NotRequired[
            Annotated[float, Ge(-2), Doc("Discourages words that were used often.")]
        ],
        "thinking": NotRequired[
            Annotated[
                Literal["minimal", "low", "medium", "high", "xhigh", "max"],
                Doc("How much the model thinks before it answers."),
            ]
        ],
    },
)

WorkerToolsets = TypedDict(  # type: ignore[misc]  # mypy does not know extra_items yet
    "WorkerToolsets",
    {
        "filesystem": NotRequired[
            Annotated[FilesystemConfig | None, Doc("The built-in tools for files of the workspace.")]
        ],
        "shell": NotRequired[Annotated[ShellConfig | None, Doc("The built-in tool that runs commands.")]],
    },
    extra_items=dict[str, Any] | None,
)
WorkerToolsets.__pydantic_config__ = {  # type: ignore[attr-defined]
    "extra": "allow",
    "strict": True,
    "json_schema_extra": {"propertyNames": {"pattern": USED.pattern, "title": USED.meaning}},
}

CodeToolsets = TypedDict(  # type: ignore[misc]
    "CodeToolsets",
    {
        "filesystem": NotRequired[
            Annotated[FilesystemConfig | None, Doc("The files that code may read and write by `filesystem`.")]
        ],
        "shell": NotRequired[
            Annotated[ShellConfig | None, Doc("The commands that code may run by `shell`.")]
        ],
    },
    extra_items=dict[str, Any],
)
CodeToolsets.__pydantic_config__ = {"extra": "allow", "strict": True}  # type: ignore[attr-defined]

if TYPE_CHECKING:
    AttachmentLimits = Mapping[str, Json]
    WorkerHeader = Mapping[str, Json]
    AgentTable = Mapping[str, Json]
else:
    AttachmentLimits = table("AttachmentLimits", Attachments, "lock", {})

    KNOWN = {"ModelSettings": ModelSettings, "AttachmentLimits": AttachmentLimits, "Flows": Flows}

    WorkerHeader = table(
        "WorkerHeader",
        Worker,
        "file",
        KNOWN,
        {
            "toolsets": NotRequired[
                Annotated[
                    Annotated[WorkerToolsets, Keys(ToolsetUsed)] | list[ToolsetUsed],
                    Doc(
                        "Toolsets and workers that it may use: name to configuration, or a plain list of names. A "
                        "class of the workspace goes by its path as well, such as tools.calc.Calculator."
                    ),
                ]
            ],
            "native_tools": NotRequired[
                Annotated[
                    NativeTools | list[NativeTool],
                    Doc(
                        "Tools that its model's provider runs, offered where rules allow them: name to options, or a "
                        "plain list of names."
                    ),
                ]
            ],
        },
    )
    """The YAML header of a `.worker` file."""

    AgentTable = table(
        "AgentTable",
        Worker,
        "agent",
        KNOWN,
        {
            "capabilities": NotRequired[
                Annotated[
                    dict[Text, list[ScopedCapability]],
                    Doc(
                        'The capabilities that each of its tools raises; "*" stands for every tool not named.'
                    ),
                ]
            ],
            "toolsets": NotRequired[
                Annotated[
                    Annotated[WorkerToolsets, Keys(ToolsetUsed)] | list[ToolsetUsed],
                    Doc("Toolsets and workers beside its own tools."),
                ]
            ],
            "native_tools": NotRequired[
                Annotated[NativeTools | list[NativeTool], Doc("Tools that its model's provider runs.")]
            ],
        },
    )

for _table in (ModelSettings, NativeTools):
    _table.__pydantic_config__ = STRICT  # type: ignore[union-attr]
for _emptiable in (FilesystemConfig, WebToolOptions, NoOptions):
    _emptiable.__pydantic_config__ = EMPTIABLE  # type: ignore[attr-defined]
