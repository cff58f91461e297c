"""What a manifest, a worker header and a lock may say: each format written once.

`schema.py` generates the JSON Schemas from these types, with every description, and the judge of the user's
files from the schemas. The check path imports this module for type checking only: a document that the
judge accepted *is* one of these types, so nothing is converted and nothing heavy is loaded.
"""
# ruff: noqa: UP013  # keys with hyphens cannot be written as a class, and one form for all reads better

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from annotated_types import Ge, Gt, Le, MinLen
from typing_extensions import TypedDict

from llmdo.formats.fields import (
    NAME,
    STRICT,
    Chain,
    Decision,
    Digest,
    Doc,
    FileAttribute,
    Keys,
    Matches,
    Name,
    NativeTool,
    Path,
    PathOrFolder,
    Positive,
    ScopedCapability,
    StricterDecision,
    Text,
    ToolName,
    ToolsetName,
    Truncation,
)
from llmdo.formats.shell import LockedShell, ShellTable
from llmdo.formats.toolset import LockedToolset, ToolsetTable
from llmdo.formats.worker import AgentTable, AttachmentLimits, FilesystemConfig, WorkerToolsets

WorkspaceTable = TypedDict(
    "WorkspaceTable",
    {
        "name": Annotated[Name, Doc("The workspace's name.")],
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
        "model": NotRequired[
            Annotated[
                str,
                Doc(
                    "Of workers that name none: provider:model, python:FILE:NAME, replay:FILE or an alias of [models]."
                ),
            ]
        ],
        "max-depth": NotRequired[
            Annotated[int, Ge(0), Doc("The longest chain of delegations; 5 where left out.")]
        ],
        "on-truncated": NotRequired[
            Annotated[
                Truncation,
                Doc(
                    "What an answer does that was cut off, at a limit of tokens or by a content filter: `warn` "
                    "where left out, or `error`, which fails its worker."
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

Limits = TypedDict(
    "Limits",
    {
        "requests": NotRequired[Annotated[Positive, Doc("Model requests of the whole tree.")]],
        "input-tokens": NotRequired[Annotated[Positive, Doc("Tokens sent, of the whole tree.")]],
        "output-tokens": NotRequired[Annotated[Positive, Doc("Tokens received, of the whole tree.")]],
        "total-tokens": NotRequired[Annotated[Positive, Doc("Tokens of the whole tree.")]],
        "tool-calls": NotRequired[Annotated[Positive, Doc("Tool calls of the whole tree.")]],
        "cost-usd": NotRequired[Annotated[float, Gt(0), Doc("Cost of the whole tree in US dollars.")]],
        "seconds": NotRequired[Annotated[float, Gt(0), Doc("Time for the whole run.")]],
        "requests-per-minute": NotRequired[Annotated[Positive, Doc("Model requests a minute.")]],
    },
)

EntryTable = TypedDict(
    "EntryTable",
    {
        "worker": NotRequired[Annotated[Name, Doc("The worker that this entry starts.")]],
        "function": NotRequired[
            Annotated[
                FileAttribute, Doc("FILE.py:NAME, an async function (runtime, input) that calls workers.")
            ]
        ],
        "tool": NotRequired[
            Annotated[
                ToolName, Doc("TOOLSET.TOOL, one call of one tool; the input is its arguments as JSON.")
            ]
        ],
        "calls": NotRequired[Annotated[list[Name], Doc("The workers that the function or tool may call.")]],
        "input": NotRequired[Annotated[str, Doc("The input where `llmdo run` is given none.")]],
        "model": NotRequired[Annotated[str, Doc("The model for workers of this entry that name none.")]],
        "may": NotRequired[
            Annotated[
                list[ScopedCapability],
                Doc("The ceiling: the most that this entry may ever reach, through any delegation."),
            ]
        ],
        "limits": NotRequired[Annotated[Limits, Doc("Budgets that the whole tree of this entry shares.")]],
        "approvals": NotRequired[
            Annotated[
                dict[ScopedCapability, Decision],
                Doc("Rules for the whole tree of this entry. They may only tighten."),
            ]
        ],
    },
)

Acceptance = TypedDict(
    "Acceptance",
    {
        "code": NotRequired[
            Annotated[
                str,
                Matches(r"^LDO[0-9]{3}$", "a code such as LDO510"),
                Doc("The code of the finding that is accepted."),
            ]
        ],
        "capability": NotRequired[
            Annotated[ScopedCapability, Doc("The widening, or what is outside a ceiling, that is accepted.")]
        ],
        "entry": NotRequired[Annotated[Name, Doc("The entry that it is accepted for.")]],
        "gated": NotRequired[
            Annotated[bool, Doc("Whether it holds only as long as a person is asked on the way.")]
        ],
        "reason": Annotated[Text, Doc("Why people accept it.")],
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
            Annotated[dict[Name, AgentTable], Doc("Existing pydantic-ai agents as workers.")]
        ],
        "approvals": NotRequired[Annotated[ApprovalsTable, Doc("The rules of this workspace.")]],
        "paths": NotRequired[
            Annotated[
                dict[PathOrFolder, PathOrFolder],
                Doc("The path map: alias to file, or folder/ to folder/, relative to this file."),
            ]
        ],
        "entries": NotRequired[Annotated[dict[Name, EntryTable], Doc("What `llmdo run NAME` can start.")]],
        "check": NotRequired[Annotated[CheckTable, Doc("How `llmdo check` judges this workspace.")]],
        "tool": NotRequired[Annotated[dict[str, Any], Doc("Free for other tools; llmdo does not read it.")]],
    },
)
"""`llmdo.toml`."""

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
            Annotated[int, Ge(0), Doc("How often a failure that passes is repeated; 2 where left out.")]
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
            Annotated[float, Ge(-2), Doc("Keeps it from topics that were there already.")]
        ],
        "frequency_penalty": NotRequired[
            Annotated[float, Ge(-2), Doc("Keeps it from words that were there often.")]
        ],
        "thinking": NotRequired[
            Annotated[
                Literal["minimal", "low", "medium", "high", "xhigh", "max"],
                Doc("How much the model thinks before it answers."),
            ]
        ],
    },
)

WorkerHeader = TypedDict(
    "WorkerHeader",
    {
        "name": Annotated[Name, Doc("The worker's only name, everywhere.")],
        "entry": NotRequired[Annotated[bool, Doc("Whether `llmdo run NAME` may start it.")]],
        "description": NotRequired[
            Annotated[str, Doc("What the worker does: the tool description that its callers' models see.")]
        ],
        "model": NotRequired[
            Annotated[Text, Doc("provider:model, python:FILE:NAME, replay:FILE or an alias of [models].")]
        ],
        "compatible_models": NotRequired[
            Annotated[list[Text], Doc("Patterns of models that it works with, such as openai:*.")]
        ],
        "model_settings": NotRequired[
            Annotated[ModelSettings, Doc("How its model is asked; a model leaves out what it does not know.")]
        ],
        "toolsets": NotRequired[
            Annotated[
                WorkerToolsets | list[Name],
                Doc("Toolsets and workers that it may use: name to configuration, or a plain list of names."),
            ]
        ],
        "native_tools": NotRequired[
            Annotated[
                list[NativeTool], Doc("Tools that its model's provider runs; offered where rules allow them.")
            ]
        ],
        "may": NotRequired[
            Annotated[list[ScopedCapability], Doc("The ceiling of this worker and of everything below it.")]
        ],
        "approvals": NotRequired[
            Annotated[
                dict[ScopedCapability, Decision],
                Doc("Rules for this worker's own calls. They may only tighten."),
            ]
        ],
        "schema_in_ref": NotRequired[
            Annotated[FileAttribute, Doc("FILE.py:MODEL, a pydantic model: its typed input.")]
        ],
        "schema_out_ref": NotRequired[
            Annotated[FileAttribute, Doc("FILE.py:MODEL, a pydantic model: its typed output.")]
        ],
        "recursive": NotRequired[
            Annotated[bool, Doc("Whether it may reach itself; max-depth then bounds the run.")]
        ],
        "attachments": NotRequired[
            Annotated[AttachmentLimits, Doc("Which files its callers may hand over.")]
        ],
    },
)
"""The YAML header of a `.worker` file."""

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
        "approvals": NotRequired[Annotated[PolicyApprovals, Doc("What this person allows less of.")]],
    },
)
"""A person's own `policy.toml`."""

LockedSettings = TypedDict(
    "LockedSettings",
    {
        "name": Annotated[Name, Doc("The workspace's name.")],
        "built-in-rules": Annotated[int, Ge(1), Doc("The version of the built-in rules.")],
        "default": Annotated[Decision, Doc("The decision about a capability that no rule names.")],
        "max-depth": Annotated[int, Ge(0), Doc("The longest chain of delegations.")],
        "model": NotRequired[Annotated[str, Doc("The model of workers that name none.")]],
        "on-truncated": NotRequired[
            Annotated[Truncation, Doc("What an answer does that was cut off, where not `warn`.")]
        ],
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

LockedEntry = TypedDict(
    "LockedEntry",
    {
        "worker": NotRequired[Annotated[Name, Doc("The worker that it starts.")]],
        "function": NotRequired[Annotated[FileAttribute, Doc("The function that it runs.")]],
        "tool": NotRequired[Annotated[ToolName, Doc("The tool that it calls.")]],
        "source": NotRequired[Annotated[Digest, Doc("Of the function's file and what it imports.")]],
        "input": NotRequired[Annotated[str, Doc("The input where none is given.")]],
        "model": NotRequired[Annotated[str, Doc("The model of its workers that name none.")]],
        "calls": NotRequired[Annotated[list[Name], Doc("The workers that the function or tool may call.")]],
        "may": NotRequired[Annotated[list[ScopedCapability], Doc("Its ceiling.")]],
        "approvals": NotRequired[Annotated[dict[ScopedCapability, Decision], Doc("Its rules.")]],
        "limits": NotRequired[Annotated[Limits, Doc("Its budgets.")]],
    },
)

LockedWorker = TypedDict(
    "LockedWorker",
    {
        "path": Annotated[Path, Doc("The worker's file.")],
        "config": Annotated[Digest, Doc("Of the canonical header: what decides authority.")],
        "prompt": Annotated[Digest, Doc("Of the prompt, with LF line ends, or of the code that makes it.")],
        "python": NotRequired[Annotated[FileAttribute, Doc("Where it is written in Python.")]],
        "agent": NotRequired[Annotated[FileAttribute, Doc("The pydantic-ai agent that it is.")]],
        "description": NotRequired[Annotated[str, Doc("What its callers' models see.")]],
        "model": NotRequired[Annotated[str, Doc("The model that it names.")]],
        "entry": NotRequired[Annotated[bool, Doc("Whether it may be started by its own name.")]],
        "recursive": NotRequired[Annotated[bool, Doc("Whether it may reach itself.")]],
        "schema-in": NotRequired[Annotated[FileAttribute, Doc("Its typed input.")]],
        "schema-out": NotRequired[Annotated[FileAttribute, Doc("Its typed output.")]],
        "compatible-models": NotRequired[Annotated[list[str], Doc("The models that it works with.")]],
        "model-settings": NotRequired[Annotated[ModelSettings, Doc("How its model is asked.")]],
        "delegates": NotRequired[Annotated[list[Name], Doc("The workers that it may call.")]],
        "toolsets": NotRequired[Annotated[list[ToolsetName], Doc("The toolsets that it has.")]],
        "native-tools": NotRequired[
            Annotated[list[NativeTool], Doc("The tools that its model's provider runs.")]
        ],
        "may": NotRequired[Annotated[list[ScopedCapability], Doc("Its ceiling.")]],
        "approvals": NotRequired[Annotated[dict[ScopedCapability, Decision], Doc("Its rules.")]],
        "attachments": NotRequired[Annotated[AttachmentLimits, Doc("The files that callers may hand over.")]],
        "filesystem": NotRequired[Annotated[FilesystemConfig, Doc("Its configuration of `filesystem`.")]],
        "configure": NotRequired[
            Annotated[dict[Name, str], Doc("Its configuration of other toolsets, as canonical JSON.")]
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
        "entry": NotRequired[Annotated[dict[Name, LockedEntry], Doc("The entries.")]],
        "worker": NotRequired[Annotated[dict[Name, LockedWorker], Doc("The workers.")]],
        "toolset": NotRequired[
            Annotated[dict[ToolsetName, LockedToolset], Doc("The Python toolsets and MCP servers.")]
        ],
        "shell": NotRequired[Annotated[LockedShell, Doc("The built-in toolset that runs commands.")]],
        "accept": NotRequired[Annotated[list[Acceptance], Doc("What people have accepted.")]],
    },
)
"""`llmdo.lock`."""

for _table in (
    WorkspaceTable, ApprovalsTable, Limits, EntryTable, Acceptance, CheckTable, ManifestFile,
    PolicyApprovals, PolicyFile,
    ModelSettings, WorkerHeader, LockedSettings, LockedModel, LockedSource, LockedEntry, LockedWorker, LockFile,
):  # fmt: skip
    _table.__pydantic_config__ = STRICT  # type: ignore[union-attr]
