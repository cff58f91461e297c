"""What any worker may be given, and what the manifest says of a worker that is an existing agent."""
# ruff: noqa: UP013  # as in `llmdo.formats.documents`

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from annotated_types import Ge
from typing_extensions import TypedDict

from llmdo.formats.fields import (
    STRICT,
    Decision,
    Doc,
    FileAttribute,
    Matches,
    Name,
    NativeTool,
    Positive,
    Scope,
    ScopedCapability,
    Text,
)
from llmdo.formats.shell import ShellConfig

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

AttachmentLimits = TypedDict(
    "AttachmentLimits",
    {
        "max": NotRequired[Annotated[int, Ge(0), Doc("How many files one call may hand over (100).")]],
        "max-bytes": NotRequired[
            Annotated[Positive, Doc("The largest file, in bytes (10,000,000); together 50,000,000, or this.")]
        ],
        "suffixes": NotRequired[
            Annotated[
                list[Annotated[str, Matches(r"^\.[A-Za-z0-9]+$", "a file name ending such as .pdf")]],
                Doc("Which file name endings are accepted, such as .pdf."),
            ]
        ],
    },
)

WorkerToolsets = TypedDict(  # type: ignore[misc]  # mypy does not know extra_items yet
    "WorkerToolsets",
    {
        "filesystem": NotRequired[
            Annotated[FilesystemConfig, Doc("The built-in tools for files of the workspace.")]
        ],
        "shell": NotRequired[Annotated[ShellConfig, Doc("The built-in tool that runs commands.")]],
    },
    extra_items=dict[str, Any],
)
WorkerToolsets.__pydantic_config__ = {"extra": "allow", "strict": True}  # type: ignore[attr-defined]

AgentTable = TypedDict(
    "AgentTable",
    {
        "python": Annotated[
            FileAttribute, Doc("FILE.py:NAME, a pydantic-ai agent; its tools go behind the gate.")
        ],
        "capabilities": NotRequired[
            Annotated[
                dict[Text, list[ScopedCapability]],
                Doc('The capabilities that each of its tools raises; "*" stands for every tool not named.'),
            ]
        ],
        "entry": NotRequired[Annotated[bool, Doc("Whether `llmdo run NAME` may start it.")]],
        "description": NotRequired[Annotated[str, Doc("What it does: what its callers' models see.")]],
        "model": NotRequired[Annotated[Text, Doc("Another model than its own.")]],
        "toolsets": NotRequired[
            Annotated[WorkerToolsets | list[Name], Doc("Toolsets and workers beside its own tools.")]
        ],
        "native_tools": NotRequired[
            Annotated[list[NativeTool], Doc("Tools that its model's provider runs.")]
        ],
        "may": NotRequired[
            Annotated[list[ScopedCapability], Doc("The ceiling of this worker and of everything below it.")]
        ],
        "approvals": NotRequired[
            Annotated[
                dict[ScopedCapability, Decision], Doc("Rules for its own calls. They may only tighten.")
            ]
        ],
        "recursive": NotRequired[Annotated[bool, Doc("Whether it may reach itself.")]],
        "attachments": NotRequired[
            Annotated[AttachmentLimits, Doc("Which files its callers may hand over.")]
        ],
    },
)

for _table in (FilesystemConfig, AttachmentLimits, AgentTable):
    _table.__pydantic_config__ = STRICT  # type: ignore[union-attr]
