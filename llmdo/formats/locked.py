"""The content of `llmdo.lock`."""
# ruff: noqa: UP013  # as in `llmdo.formats.documents`

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NotRequired

from annotated_types import Ge, MinLen
from typing_extensions import TypedDict

from llmdo.formats.entry import KNOWN, Acceptance
from llmdo.formats.fields import (
    STRICT,
    Decision,
    Digest,
    Distribution,
    Doc,
    Name,
    NativeTool,
    ScopedCapability,
    StricterDecision,
    Text,
)
from llmdo.formats.flows import Flows
from llmdo.formats.shell import LockedShell
from llmdo.formats.tables import table
from llmdo.formats.worker import AttachmentLimits, CodeToolsets, FilesystemConfig, ModelSettings, NativeTools
from llmdo.graph.described import Identity, Server
from llmdo.graph.resolved import Entry
from llmdo.graph.settings import Notify, Schedule, Settings
from llmdo.graph.toolset import Tool, Toolset
from llmdo.graph.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.values import Json

    LockedSettings = Mapping[str, Json]
    LockedEntry = Mapping[str, Json]
    LockedWorker = Mapping[str, Json]
    LockedToolset = Mapping[str, Json]
    LockedNotify = Mapping[str, Json]
    LockedSchedule = Mapping[str, Json]
else:
    LockedSchedule = table("LockedSchedule", Schedule, "lock", {})

    LockedNotify = table("LockedNotify", Notify, "lock", {})

    LockedSettings = table("LockedSettings", Settings, "lock", {})

    LockedEntry = table("LockedEntry", Entry, "lock", KNOWN)

    LockedWorker = table(
        "LockedWorker",
        Worker,
        "lock",
        {"ModelSettings": ModelSettings, "AttachmentLimits": AttachmentLimits, "Flows": Flows},
        {
            "delegates": NotRequired[Annotated[list[Text], Doc("The workers that it may call.")]],
            "toolsets": NotRequired[Annotated[list[Text], Doc("The toolsets that it has.")]],
            "native-tools": NotRequired[
                Annotated[list[NativeTool], Doc("The tools that its model's provider runs.")]
            ],
            "native-options": NotRequired[
                Annotated[NativeTools, Doc("The options of those that have some.")]
            ],
            "filesystem": NotRequired[Annotated[FilesystemConfig, Doc("Its configuration of `filesystem`.")]],
            "configure": NotRequired[
                Annotated[dict[Name, str], Doc("Its configuration of other toolsets, as canonical JSON.")]
            ],
        },
    )

    LockedToolset = table(
        "LockedToolset",
        Toolset,
        "lock",
        {
            "CodeToolsets": CodeToolsets,
            "Digest": Digest,
            "LockedServer": table("LockedServer", Server, "lock", {}),
            "LockedIdentity": table("LockedIdentity", Identity, "lock", {}),
            "LockedTool": table("LockedTool", Tool, "lock", {}),
        },
        {
            "kind": NotRequired[
                Annotated[
                    Literal["mcp"],
                    Doc("That it is a server of another tool, of which nothing else is known."),
                ]
            ]
        },
    )

LockedModel = TypedDict(
    "LockedModel",
    {"chain": Annotated[list[str], MinLen(1), Doc("The models, in the order in which they are tried.")]},
)

LockedSource = TypedDict(
    "LockedSource",
    {"source": Annotated[Digest, Doc("The file and the workspace modules that it imports.")]},
)

LockedPolicy = TypedDict(
    "LockedPolicy",
    {
        "digest": Annotated[Digest, Doc("Of the text of the file.")],
        "approve-all": NotRequired[Annotated[bool, Doc("Whether --approve-all may be used.")]],
        "requires-trust": NotRequired[
            Annotated[bool, Doc("Whether trust is required where nobody can be asked.")]
        ],
        "rules": NotRequired[Annotated[dict[ScopedCapability, StricterDecision], Doc("What it restricts.")]],
    },
)

LockedCapability = TypedDict(
    "LockedCapability",
    {
        "meaning": Annotated[str, Doc("What a call does that raises it.")],
        "decision": Annotated[Decision, Doc("The decision where the manifest says nothing else.")],
        "reads": NotRequired[Annotated[bool, Doc("Whether it only reads.")]],
    },
)

LockedExtension = TypedDict(
    "LockedExtension",
    {
        "version": Annotated[str, Doc("Its version.")],
        "digest": Annotated[
            Digest, Doc("Of its files: those of its record, and all others in its packages.")
        ],
        "capability": NotRequired[
            Annotated[dict[ScopedCapability, LockedCapability], Doc("The capabilities that it brings.")]
        ],
    },
)

LockFile = TypedDict(
    "LockFile",
    {
        "version": Annotated[int, Ge(1), Doc("A reader that knows only older ones must refuse.")],
        "revision": Annotated[int, Ge(1), Doc("A reader that knows only older ones may read.")],
        "settings": Annotated[LockedSettings, Doc("What holds for the whole workspace.")],
        "rules": NotRequired[Annotated[dict[ScopedCapability, Decision], Doc("The manifest's rules.")]],
        "flows": NotRequired[Annotated[Flows, Doc("The manifest's flow rules.")]],
        "sources": NotRequired[
            Annotated[
                dict[ScopedCapability, ScopedCapability], Doc("What the manifest says that calls return.")
            ]
        ],
        "policy": NotRequired[
            Annotated[dict[str, LockedPolicy], Doc("The policies that the manifest extends.")]
        ],
        "extension": NotRequired[
            Annotated[
                dict[Distribution, LockedExtension], Doc("The installed extensions that the manifest names.")
            ]
        ],
        "paths": NotRequired[Annotated[dict[str, str], Doc("The path map.")]],
        "model": NotRequired[Annotated[dict[Name, LockedModel], Doc("The model aliases.")]],
        "python-model": NotRequired[
            Annotated[
                dict[str, LockedSource],
                Doc("Models that the workspace's own code makes, or that play a recording."),
            ]
        ],
        "schema-source": NotRequired[
            Annotated[dict[str, LockedSource], Doc("The modules of typed inputs and outputs.")]
        ],
        "module": NotRequired[
            Annotated[
                dict[str, LockedSource], Doc("The listed toolset modules, also those without a toolset.")
            ]
        ],
        "judge": NotRequired[
            Annotated[
                dict[str, LockedSource],
                Doc(
                    "The Python files that judge cases of evaluations, and those that they import, each alone."
                ),
            ]
        ],
        "adopted": NotRequired[
            Annotated[
                dict[str, LockedSource],
                Doc("The files of other tools' projects that agents here were read from, each alone."),
            ]
        ],
        "entry": NotRequired[Annotated[dict[Text, LockedEntry], Doc("The entries.")]],
        "schedule": NotRequired[
            Annotated[dict[Name, LockedSchedule], Doc("When entries are started by themselves.")]
        ],
        "worker": NotRequired[Annotated[dict[Text, LockedWorker], Doc("The workers.")]],
        "toolset": NotRequired[
            Annotated[dict[Text, LockedToolset], Doc("The Python toolsets and MCP servers.")]
        ],
        "shell": NotRequired[Annotated[LockedShell, Doc("The built-in toolset that runs commands.")]],
        "notify": NotRequired[Annotated[LockedNotify, Doc("The webhook that is notified of how runs end.")]],
        "accept": NotRequired[Annotated[list[Acceptance], Doc("What people have accepted.")]],
    },
)
"""`llmdo.lock`."""

for _table in (LockedCapability, LockedExtension, LockedModel, LockedPolicy, LockedSource, LockFile):
    _table.__pydantic_config__ = STRICT  # type: ignore[union-attr]
