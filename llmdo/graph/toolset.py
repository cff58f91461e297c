"""Toolsets of the workspace's own, and their tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from llmdo.base.values import dataclass, field
from llmdo.graph.described import Definition, Identity, Server
from llmdo.graph.keys import (
    CAPABILITIES,
    CONFIGURE,
    PLAIN,
    REFERENCES,
    SETTINGS,
    SEVERAL,
    WORDS,
    Codec,
    Key,
    decoded,
    encoded,
    table_of,
    written,
)

if TYPE_CHECKING:
    from llmdo.base.values import Json
    from llmdo.graph.keys import Reference, ValueOrigin
    from llmdo.policy.authority import Capability
    from llmdo.policy.shell.rules import IsolationMode
    from llmdo.syntax.document import Place

Retry = Literal["safe", "ask"]
"""Whether a call that was started and did not finish may run again: `ask` leaves it to a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool of a toolset and the possible effects of its calls."""

    name: str
    digest: str | None = field(
        default=None,
        metadata=written(
            PLAIN,
            lock=Key(
                "digest",
                "Digest",
                "Of the canonical JSON of name, description and parameter schema; none where not known.",
            ),
        ),
    )
    """Of its name, description and parameter schema; None before anything was locked, and for built-in tools."""
    hook: bool = field(
        default=False,
        metadata=written(
            PLAIN, lock=Key("hook", "bool", "Whether get_capabilities narrows what a call raises.")
        ),
    )
    """Whether `get_capabilities` narrows what one call raises; without it every call raises all declared."""
    capabilities: tuple[Capability, ...] = field(
        default=(),
        metadata=written(
            CAPABILITIES,
            lock=Key("capabilities", "list[ScopedCapability]", "What a call may raise; left out, nothing."),
            drift="its capabilities",
        ),
    )
    """The declared ones, sorted; a call that raises anything else is blocked."""
    metadata: tuple[Capability, ...] | None = field(
        default=None,
        metadata=written(
            CAPABILITIES,
            lock=Key(
                "metadata", "list[ScopedCapability]", "The part of it that the tool's own metadata declares."
            ),
        ),
    )
    """The part of `capabilities` from the tool's own metadata; None if that is silent."""
    retry: Retry | None = field(
        default=None,
        metadata=written(
            PLAIN,
            lock=Key("retry", "Retry", "What the manifest says about running it twice."),
            drift="whether it may run twice",
        ),
    )
    """Whether a call that did not finish may run again, by the manifest; None if that is silent."""
    definition: Definition | None = field(default=None, metadata=written(SEVERAL._replace(table=Definition)))
    """The description by an MCP server; None for tools of Python, and before locking."""
    is_open: bool = field(
        default=False,
        metadata=written(
            PLAIN,
            lock=Key("open", "bool", "Whether it starts programs that nothing limits, in another tool."),
        ),
    )
    """Whether it starts programs that nothing limits, in a format that llmdo does not run."""


def _encoded_tool(tool: Tool) -> dict[str, Json]:
    return encoded(tool, encoded(tool.definition) if tool.definition else {})


def _decoded_tools(tables: Mapping[str, Mapping[str, Json]], origin: ValueOrigin) -> dict[str, Tool]:
    return {
        name: decoded(
            Tool,
            "lock",
            table,
            origin,
            name=name,
            definition=decoded(Definition, "lock", table, origin) if "input" in table else None,
        )
        for name, table in sorted(tables.items())
    }


_IDENTITY = Codec(
    encoded, lambda table, origin: decoded(Identity, "lock", {"name": "", **table}, origin), Identity
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolset:
    """A group of tools of the workspace's own: made by its Python code, or those of an MCP server."""

    name: str
    kind: Literal["python", "mcp"]
    at: Place = field(compare=False)
    format: str | None = field(
        default=None,
        metadata=written(
            PLAIN, lock=Key("format", "Text", "The format of the project whose tool has it, not llmdo.")
        ),
    )
    """The format of the project of another tool that has it; None for our own."""
    python: str | None = field(
        default=None,
        metadata=written(
            PLAIN,
            file=Key(
                "python",
                "Attribute",
                "FILE.py:ATTRIBUTE or package.module:ATTRIBUTE; a toolset, or a class of one.",
            ),
            lock="The module and the attribute.",
            gives_nothing=True,
        ),
    )
    """FILE.py:ATTRIBUTE or package.module:ATTRIBUTE."""
    server: Server | None = field(
        default=None,
        metadata=written(
            table_of(Server),
            lock=Key("mcp", "LockedServer", "How the MCP server is reached, and what of it is used."),
        ),
    )
    programs: Mapping[str, str] = field(
        default_factory=dict,
        metadata=written(
            SETTINGS,
            lock=Key(
                "program",
                "dict[str, Digest]",
                "The files of the workspace that starting the MCP server executes; a folder, which ends in `/`, for "
                "the code in it.",
            ),
            drift="its program changed",
        ),
    )
    """Each file or folder of the workspace that starting an MCP server executes, to its digest."""
    identity: Identity | None = field(
        default=None,
        metadata=written(
            _IDENTITY, lock=Key("server", "LockedIdentity", "What the MCP server says about itself.")
        ),
    )
    """Of an MCP server; None before it was locked."""
    timeout_s: float | None = field(
        default=None,
        metadata=written(
            PLAIN,
            file=Key(
                "timeout-s",
                "Annotated[float, Gt(0)]",
                "How long an MCP server may take for one answer; 60 where left out.",
            ),
            lock="How long it may take for one answer.",
        ),
    )
    """The time limit for one answer of an MCP server; None for the default."""
    instructions: bool = field(
        default=False,
        metadata=written(
            PLAIN,
            file=Key(
                "instructions", "bool", "Whether models are given what an MCP server says about its own use."
            ),
            lock="Whether models are given its instructions.",
        ),
    )
    """Whether models are given the instructions of an MCP server."""
    isolation: IsolationMode = field(
        default="auto",
        metadata=written(
            PLAIN,
            file=Key(
                "isolation",
                "Literal['auto', 'require', 'off']",
                "Whether the program of an MCP server is isolated; auto, where this machine can. It then reaches the "
                "network and writes files only as far as its tools declare.",
            ),
            lock=Key(
                "isolation", "Literal['require', 'off']", "Whether it is isolated; auto where left out."
            ),
        ),
    )
    """Whether an MCP server that is a program is isolated from the rest of the machine."""
    source: str | None = field(
        default=None,
        metadata=written(
            PLAIN,
            lock=Key("source", "Digest", "Of the module and the workspace modules that it imports."),
            drift="its source changed",
        ),
    )
    """Digest of the module and the workspace modules that it imports."""
    sources: tuple[str, ...] = field(
        default=(),
        metadata=written(
            WORDS,
            file=Key(
                "sources",
                "list[Text]",
                "Python files of the workspace that its module imports without its text saying so, such as "
                "plugins: paths or globs. They may be imported, and are locked with it.",
            ),
            lock=Key("sources", "list[Path]", "The files that it imports without its text saying so."),
        ),
    )
    """The files that its module imports without its text saying so, as the manifest has them, sorted."""
    prefix: str | None = field(
        default=None,
        metadata=written(
            PLAIN,
            file=Key(
                "prefix",
                "Prefix",
                "Put before the name of each tool, with `_` between: models see only that.",
            ),
            lock="What models see before the names of its tools.",
        ),
    )
    """The prefix of each tool's name, joined with `_`: the form for models, rules and people."""
    calls: tuple[Reference, ...] = field(
        default=(),
        metadata=written(
            REFERENCES,
            file=Key(
                "calls",
                "list[ToolName]",
                "The tools that its code may call, as TOOLSET.TOOL, with the rights of the worker that uses it.",
            ),
            lock="The tools that its code may call.",
        ),
    )
    """The tools that its code may call, TOOLSET.TOOL each."""
    configure: Mapping[str, Json] = field(default_factory=dict, metadata=CONFIGURE)
    reads: tuple[Capability, ...] = field(
        default=(),
        metadata=written(
            CAPABILITIES,
            file=Key(
                "reads",
                "list[ScopedCapability]",
                "Of its capabilities, those that presets take for no effect.",
            ),
            lock="Of its capabilities, those that only read.",
        ),
    )
    targets: Mapping[str, Json] = field(
        default_factory=dict,
        metadata=written(
            SETTINGS,
            file=Key(
                "targets", "dict[Text, list[Text]]", "Of its tools, the arguments that choose whom or what."
            ),
            lock="The arguments of its tools that choose whom or what.",
        ),
    )
    """Tool to the names of its arguments that are targets; without it the tool states them, or all are."""
    keeps: bool = field(
        default=True,
        metadata=written(
            PLAIN,
            file=Key(
                "keeps", "bool", "Whether its tools may return later what they got; true where left out."
            ),
            lock="Whether its tools may return later what they got.",
        ),
    )
    """Whether its tools may return arguments of earlier calls later in a run."""
    is_class: bool = field(
        default=False,
        metadata=written(
            PLAIN, lock=Key("class", "bool", "Whether it is a class, made again for every call.")
        ),
    )
    dynamic: bool = field(
        default=False,
        metadata=written(PLAIN, lock=Key("dynamic", "bool", "Whether its tools are known only in a run.")),
    )
    """Whether its tools are known only in a run; those missing from the lock are then undeclared."""
    tools: Mapping[str, Tool] = field(
        default_factory=dict,
        metadata=written(
            Codec(
                lambda tools: {tool.name: _encoded_tool(tool) for tool in tools.values()} or None,
                _decoded_tools,
                Tool,
            ),
            lock=Key("tool", "dict[str, LockedTool]", "Its tools."),
        ),
    )
    """By the toolset's own names; `tools.tools_of` has them as workers see them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """One tool as its own code, or its server, describes it."""

    digest: str | None
    """Of the canonical JSON of name, description and parameter schema; None if nothing was imported."""
    capabilities: tuple[str, ...] | None
    """The capabilities in its metadata; None if that is silent."""
    hook: bool
    """Whether its toolset has `get_capabilities`."""
    definition: Definition | None = None
    """Its description by an MCP server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsetFacts:
    """One toolset as its own code, or its server, describes it."""

    is_class: bool
    dynamic: bool
    """Whether its tools are known only in a run."""
    tools: Mapping[str, ToolFacts]
    identity: Identity | None = None
    """The description of an MCP server by itself."""

    def tools_with(self, promised: Iterable[str]) -> list[tuple[str, ToolFacts]]:
        """The tools by name, sorted, with those that the manifest promises if they are known only in a run."""
        unseen = ToolFacts(digest=None, capabilities=None, hook=False)
        others = {name: unseen for name in promised if self.dynamic and name != "*"}
        return sorted({**others, **self.tools}.items())


Facts = Mapping[str, ToolsetFacts]
"""`FILE.py:ATTRIBUTE`, `package.module:ATTRIBUTE` or `mcp:NAME` to the facts about it."""
