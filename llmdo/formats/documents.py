"""The content of a manifest and of a person's policy.

Keys for fields of the graph are stated at those fields; `tables` makes tables of them. `schema` generates the JSON
Schemas from these types, with every description, and the judge of the user's files from the schemas. The check path
imports this module for type checking only: a document that the judge accepted *is* one of these types, so nothing is
converted and nothing heavy is loaded.
"""
# ruff: noqa: UP013  # keys with hyphens cannot be written as a class, and one form for all reads better

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from annotated_types import Ge, Le
from typing_extensions import TypedDict

from llmdo.formats.entry import Acceptance, EntryTable
from llmdo.formats.fields import (
    NAME,
    STRICT,
    Chain,
    Decision,
    Distribution,
    Doc,
    Keys,
    Matches,
    Name,
    NameOfAgent,
    PathOrFolder,
    ScopedCapability,
    StricterDecision,
    Text,
)
from llmdo.formats.flows import Flows
from llmdo.formats.shell import ShellTable
from llmdo.formats.tables import table
from llmdo.formats.toolset import ToolsetTable
from llmdo.formats.worker import AgentTable
from llmdo.graph.settings import Notify, Schedule, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.base.values import Json

    WorkspaceTable = Mapping[str, Json]
    NotifyTable = Mapping[str, Json]
    ScheduleTable = Mapping[str, Json]
else:
    ScheduleTable = table("ScheduleTable", Schedule, "file", {})
    NotifyTable = table("NotifyTable", Notify, "file", {})
    WorkspaceTable = table(
        "WorkspaceTable",
        Settings,
        "file",
        {},
        {
            "requires-llmdo": NotRequired[
                Annotated[
                    str,
                    Matches(
                        r"^(?:>=|<)[0-9]{1,4}(?:\.[0-9]{1,4}){0,2}(?:, ?(?:>=|<)[0-9]{1,4}(?:\.[0-9]{1,4}){0,2})*$",
                        "a range of versions such as `>=0.1` or `>=0.1,<2`",
                    ),
                    Doc('Which versions of llmdo may read this workspace, such as ">=0.1".'),
                ]
            ],
            "workers": NotRequired[
                Annotated[
                    list[Text],
                    Doc("Globs of worker files, relative to this file. Hidden and ignored ones are skipped."),
                ]
            ],
            "toolset-modules": NotRequired[
                Annotated[
                    list[Text],
                    Doc("Globs of Python files; every toolset in them is offered, named by its attribute."),
                ]
            ],
            "extensions": NotRequired[
                Annotated[
                    list[Distribution],
                    Doc(
                        "Installed distributions that extend llmdo. Each is loaded only where a person's own "
                        "policy.toml lists it as well."
                    ),
                ]
            ],
        },
    )

ManifestToolsets = TypedDict(  # type: ignore[misc]  # mypy does not know extra_items yet
    "ManifestToolsets",
    {"shell": NotRequired[Annotated[ShellTable, Doc("The built-in tool that runs commands.")]]},
    extra_items=ToolsetTable,
)
ManifestToolsets.__pydantic_config__ = {  # type: ignore[attr-defined]
    "extra": "allow",
    "strict": True,
    "json_schema_extra": {"propertyNames": {"pattern": NAME.pattern, "title": NAME.meaning}},
}

ApprovalsTable = TypedDict(
    "ApprovalsTable",
    {
        "default": NotRequired[
            Annotated[
                Decision,
                Doc("The decision about a capability that no rule names; needs_approval where left out."),
            ]
        ],
        "rules": NotRequired[
            Annotated[
                dict[ScopedCapability, Decision],
                Doc("Capability, perhaps with :scope, to decision. The strictest of all that match wins."),
            ]
        ],
    },
)

CheckTable = TypedDict(
    "CheckTable",
    {
        "select": NotRequired[
            Annotated[
                list[Text],
                Doc(
                    "Report only these: codes, their beginnings and names. Syntax, lock, authority always are."
                ),
            ]
        ],
        "ignore": NotRequired[
            Annotated[list[Text], Doc("Do not report these: codes, their beginnings and names.")]
        ],
        "accept": NotRequired[Annotated[list[Acceptance], Doc("Findings that people have accepted.")]],
    },
)

PolicyTable = TypedDict(
    "PolicyTable",
    {
        "extends": NotRequired[
            Annotated[
                list[Text],
                Doc(
                    "Policy files, which only tighten: paths in the workspace, or package:NAME/PATH of an installed "
                    "package."
                ),
            ]
        ],
    },
)

ManifestFile = TypedDict(
    "ManifestFile",
    {
        "schema": Annotated[int, Ge(1), Le(1), Doc("The version of this file's format.")],
        "workspace": Annotated[WorkspaceTable, Doc("The workspace and where its files are.")],
        "models": NotRequired[
            Annotated[
                dict[Name, Chain],
                Doc("Aliases that workers may use for models; a list is a fallback chain."),
            ]
        ],
        "toolsets": NotRequired[
            Annotated[ManifestToolsets, Keys(Name), Doc("What globs cannot say about toolsets.")]
        ],
        "workers": NotRequired[
            Annotated[
                dict[NameOfAgent, AgentTable],
                Doc("Existing pydantic-ai agents as workers, and limits of agents of other tools."),
            ]
        ],
        "approvals": NotRequired[Annotated[ApprovalsTable, Doc("The rules of this workspace.")]],
        "flows": NotRequired[
            Annotated[
                Flows,
                Doc("What asks or is blocked once something was read: FROM -> TO to decision, and presets."),
            ]
        ],
        "sources": NotRequired[
            Annotated[
                dict[ScopedCapability, ScopedCapability],
                Doc(
                    'What calls return: "fs.read:mail/**" = "data.untrusted" says that strangers wrote the mail.'
                ),
            ]
        ],
        "paths": NotRequired[
            Annotated[
                dict[PathOrFolder, PathOrFolder],
                Doc("The path map: alias to file, or folder/ to folder/, relative to this file."),
            ]
        ],
        "entries": NotRequired[Annotated[dict[Name, EntryTable], Doc("What `llmdo run NAME` can start.")]],
        "schedules": NotRequired[
            Annotated[dict[Name, ScheduleTable], Doc("When workers of a fleet start entries by themselves.")]
        ],
        "notify": NotRequired[
            Annotated[NotifyTable, Doc("The webhook that is notified when a run ends or waits.")]
        ],
        "policy": NotRequired[
            Annotated[PolicyTable, Doc("What an organisation restricts, for every run here.")]
        ],
        "check": NotRequired[Annotated[CheckTable, Doc("How `llmdo check` judges this workspace.")]],
        "tool": NotRequired[Annotated[dict[str, Any], Doc("Free for other tools; llmdo does not read it.")]],
    },
)
"""`llmdo.toml`."""

PolicyApprovals = TypedDict(
    "PolicyApprovals",
    {
        "approve-all": NotRequired[
            Annotated[bool, Doc("Whether --approve-all may be used; true where left out.")]
        ],
        "rules": NotRequired[
            Annotated[
                dict[ScopedCapability, StricterDecision],
                Doc("Capability, perhaps with :scope, to decision. They tighten every run on this machine."),
            ]
        ],
    },
)

PolicyFile = TypedDict(
    "PolicyFile",
    {
        "schema": Annotated[int, Ge(1), Le(1), Doc("The version of this file's format.")],
        "approvals": NotRequired[Annotated[PolicyApprovals, Doc("What this person restricts.")]],
        "extensions": NotRequired[
            Annotated[
                list[Distribution],
                Doc(
                    "Of a person's own policy: the installed distributions that may extend llmdo for a workspace "
                    "which names them."
                ),
            ]
        ],
        "extends": NotRequired[
            Annotated[
                list[Text],
                Doc(
                    "Of a policy that a manifest extends: others, relative to this file, or package:NAME/PATH of "
                    "an installed package."
                ),
            ]
        ],
        "trust": NotRequired[
            Annotated[
                Literal["ask", "required"],
                Doc(
                    "What happens to a workspace that nobody has trusted, where nobody can be asked: it runs with a "
                    "notice (ask), or none of it runs (required); ask where left out."
                ),
            ]
        ],
    },
)
"""A person's own `policy.toml`, and the policies that a manifest extends."""

for _table in (ApprovalsTable, CheckTable, ManifestFile, PolicyApprovals, PolicyFile, PolicyTable):
    _table.__pydantic_config__ = STRICT  # type: ignore[union-attr]
