"""The resolved graph: what the workspace declares, every name resolved, and nothing that follows from it.

Reach, depth and grants are computed from a `Graph`, never stored in one. Two graphs are equal when they mean
the same: places do not take part in comparison, so a graph read from a lock equals the one that it was made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.shell.rules import ShellSettings
from llmdo.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.authority import Capability, Decision, Rule
    from llmdo.syntax.document import Place

DEFAULT_MAX_DEPTH = 5


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that the user wrote, and where."""

    name: str
    at: Place = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What holds for the whole workspace."""

    name: str
    built_in: int
    """Version of the built-in rules."""
    default: Decision
    max_depth: int
    """The longest chain of delegations; an entry's own worker is at depth 0."""
    model: Reference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Budgets that the whole tree of an entry shares; None is no limit."""

    requests: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    tool_calls: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    requests_per_minute: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something that `llmdo run NAME` can start: a worker, or a function that calls workers."""

    name: str
    at: Place = field(compare=False)
    declared: bool = True
    """Whether `[entries]` names it; otherwise its worker says `entry: true`."""
    worker: Reference | None = None
    function: Reference | None = None
    """FILE.py:NAME."""
    source: str | None = None
    """Digest of the function's file and the workspace modules that it imports."""
    calls: tuple[Reference, ...] = ()
    input: str | None = None
    model: Reference | None = None
    may: tuple[Capability, ...] | None = None
    may_at: Place | None = field(default=None, compare=False)
    approvals: tuple[Rule, ...] = ()
    limits: Limits = Limits()

    @property
    def starts(self) -> tuple[Reference, ...]:
        """The workers that this entry calls itself: its edges in the graph."""
        return (self.worker,) if self.worker else self.calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One line of a worker's `toolsets`: a toolset or a delegate, with its configuration."""

    name: str
    config: Mapping[str, object]
    at: Place = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachments:
    """Which files a worker's callers may hand over."""

    max: int | None = None
    max_bytes: int | None = None
    suffixes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A prompt with its configuration."""

    name: str
    at: Place = field(compare=False)
    path: str
    config: str
    """Digest of the canonical header."""
    prompt: str
    """Digest of the prompt."""
    description: str | None = None
    model: Reference | None = None
    compatible_models: tuple[str, ...] | None = None
    model_settings: Mapping[str, object] = field(default_factory=dict)
    """How its model is asked, in the words of its header."""
    entry: bool = False
    recursive: bool = False
    uses: tuple[Use, ...] = ()
    """Sorted by name."""
    may: tuple[Capability, ...] | None = None
    may_at: Place | None = field(default=None, compare=False)
    approvals: tuple[Rule, ...] = ()
    schema_in: Reference | None = None
    schema_out: Reference | None = None
    attachments: Attachments = Attachments()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool of a toolset and what its calls may do."""

    name: str
    capabilities: tuple[Capability, ...]
    """What is declared, sorted; a call that raises anything else is blocked."""
    hook: bool = False
    """Whether `get_capabilities` narrows what one call raises; without it every call raises all declared."""
    digest: str | None = None
    """Of its name, description and parameter schema; None before anything was locked, and for built-in tools."""
    metadata: tuple[Capability, ...] | None = None
    """The part of `capabilities` that the tool's own metadata declares; None where it is silent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How an MCP server is reached: a program to start, or an address."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    """Names of the environment variables that it is given."""
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolset:
    """A group of tools of the workspace's own: made by its Python code, or those of an MCP server."""

    name: str
    kind: Literal["python", "mcp"]
    at: Place = field(compare=False)
    python: str | None = None
    """FILE.py:ATTRIBUTE or package.module:ATTRIBUTE."""
    source: str | None = None
    """Digest of the module and the workspace modules that it imports."""
    server: Server | None = None
    is_class: bool = False
    dynamic: bool = False
    """Whether its tools are known only in a run; what the lock does not name is then undeclared."""
    tools: Mapping[str, Tool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A finding or a widening that people have accepted."""

    code: str | None
    capability: Capability | None
    entry: str | None
    gated: bool
    """Whether it holds only as long as a person is asked on the way."""
    reason: str
    at: Place = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Everything that `reach`, `diff` and `run` need to know about a workspace. Mappings are in name order."""

    settings: Settings
    rules: tuple[Rule, ...] = ()
    """The manifest's, sorted by capability."""
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Alias to fallback chain."""
    python_models: Mapping[str, str] = field(default_factory=dict)
    """`python:FILE.py:NAME` to the digest of the file and the workspace modules that it imports."""
    schema_sources: Mapping[str, str] = field(default_factory=dict)
    """`FILE.py` of typed inputs and outputs to a digest of the same kind."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Each listed toolset module, with or without a toolset in it, to a digest of the same kind."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """The path map."""
    entries: Mapping[str, Entry] = field(default_factory=dict)
    workers: Mapping[str, Worker] = field(default_factory=dict)
    toolsets: Mapping[str, Toolset] = field(default_factory=dict)
    """The workspace's own; the built-in ones come from `builtin.tools`."""
    shell: ShellSettings = field(default_factory=ShellSettings)
    """What `[toolsets.shell]` says."""
    acceptances: tuple[Acceptance, ...] = ()
    """Sorted."""
    code: tuple[str, ...] = field(default=(), compare=False)
    """Every Python file of the workspace that takes part, imported ones included; a lock does not say."""
