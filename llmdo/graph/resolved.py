"""The resolved graph: what the workspace declares, every name resolved, and nothing that follows from it.

Reach, depth and grants are computed from a `Graph`, never stored in one. Two graphs are equal when they mean
the same: places do not take part in comparison, so a graph read from a lock equals the one that it was made of.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from llmdo.base.values import dataclass, field
from llmdo.policy.shell.rules import ShellSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llmdo.formats.fields import Truncation
    from llmdo.policy.authority import Capability, Decision, Rule
    from llmdo.policy.shell.rules import IsolationMode
    from llmdo.syntax.document import Place

DEFAULT_MAX_DEPTH = 5

Retry = Literal["safe", "ask"]
"""Whether a call that was started and did not finish may run again: `ask`, where somebody says so."""


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
    on_truncated: Truncation = "warn"
    """What an answer does that was cut off."""


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
    """Something that `llmdo run NAME` can start: a worker, a function that calls workers, or one tool."""

    name: str
    at: Place = field(compare=False)
    declared: bool = True
    """Whether `[entries]` names it; otherwise its worker says `entry: true`."""
    worker: Reference | None = None
    function: Reference | None = None
    """FILE.py:NAME."""
    tool: Reference | None = None
    """TOOLSET.TOOL."""
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

    @property
    def use(self) -> Use | None:
        """What the entry itself has of a toolset, of which it calls `tool_name` alone: without configuration."""
        if self.tool is None:
            return None
        return Use(name=self.tool.name.partition(".")[0], config={}, at=self.tool.at)

    @property
    def tool_name(self) -> str:
        """The name of the tool that the entry calls; empty where it calls none."""
        return self.tool.name.partition(".")[2] if self.tool else ""


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

    @property
    def are_refused(self) -> bool:
        """Whether callers may hand over none; without a limit they may."""
        return self.max == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A prompt with its configuration."""

    name: str
    at: Place = field(compare=False)
    path: str
    config: str
    """Digest of the canonical header."""
    prompt: str
    """Digest of the prompt, or of the code that makes it."""
    python: str | None = None
    """FILE.py:NAME of a worker that is written in Python."""
    agent: str | None = None
    """FILE.py:NAME of the pydantic-ai agent that was adopted as this worker."""
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
    retry: Retry | None = None
    """Whether a call that did not finish may run again, as the manifest says; None where that is silent."""
    definition: Definition | None = None
    """What an MCP server says of it; None for tools of Python, and before anything was locked."""
    is_open: bool = False
    """Whether it starts programs that nothing limits, in a format that llmdo does not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What an MCP server said of one of its tools when it was locked: what people reviewed, and what models see."""

    title: str | None = None
    description: str | None = None
    input: str
    """The schema of its arguments, as JSON with sorted keys, a key a line."""
    output: str | None = None
    """The schema of its result, in the same way."""
    hints: tuple[str, ...] = ()
    """The server's claims about it, such as `readOnlyHint: true`, sorted. Nothing obeys them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What an MCP server said of itself when it was locked."""

    name: str = ""
    version: str | None = None
    instructions: str | None = None
    """What it would tell the models of its clients; None where that is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How an MCP server is reached, a program to start or an address, and which of its tools are wanted.

    In every text `${NAME}` stands for an environment variable, which is looked up when the server is started.
    """

    command: str | None = None
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    """The environment variables that it is given, sorted: `NAME`, or `NAME=TEXT`."""
    cwd: str | None = None
    """The folder of the workspace that it is started in; None for the workspace itself."""
    url: str | None = None
    headers: tuple[str, ...] = ()
    """`NAME: TEXT` each, sorted."""
    auth: str | None = None
    """A bearer token."""
    include: tuple[str, ...] | None = None
    """Patterns of tools, of which no others are wanted; None for all."""
    exclude: tuple[str, ...] = ()


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
    sources: tuple[str, ...] = ()
    """The files that its module imports without the text saying so, as the manifest has them, sorted."""
    server: Server | None = None
    prefix: str | None = None
    """Put before the name of each tool, with `_` between: what models, rules and people see."""
    identity: Identity | None = None
    """Of an MCP server; None before it was locked."""
    timeout_s: float | None = None
    """How long an MCP server may take for one answer; None for the default."""
    instructions: bool = False
    """Whether models are given the instructions of an MCP server."""
    isolation: IsolationMode = "auto"
    """Whether an MCP server that is a program is kept apart from the rest of the machine."""
    is_class: bool = False
    dynamic: bool = False
    """Whether its tools are known only in a run; what the lock does not name is then undeclared."""
    tools: Mapping[str, Tool] = field(default_factory=dict)
    """By the names that the toolset itself gives them; `inventory.tools_of` has them as workers see them."""


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


Lines = tuple[tuple[str, str], ...]
"""Lines of a worker's `toolsets`, sorted: the name, and the configuration as text."""


class _Resolved(NamedTuple):
    """What every line of every worker's `toolsets` names."""

    edges: Mapping[str, tuple[str, ...]]
    lines: Mapping[str, Lines]
    kinds: tuple[Lines, ...]
    governed: tuple[Worker, ...]
    rules: Mapping[str, tuple[Rule, ...]]
    alike: tuple[Sequence[int], ...]
    without_files: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Everything that `reach`, `diff` and `run` need to know about a workspace. Mappings are in name order."""

    settings: Settings
    rules: tuple[Rule, ...] = ()
    """The manifest's, sorted by capability."""
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Alias to fallback chain."""
    python_models: Mapping[str, str] = field(default_factory=dict)
    """`python:FILE.py:NAME` to the digest of the file and the workspace modules that it imports; `replay:FILE` to
    that of the recording."""
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
    code: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Every Python file of the workspace that takes part, imported ones included, to the digest of its text as it was
    read; a lock does not say."""
    importable: frozenset[str] = field(default=frozenset(), compare=False)
    """Every path, with a file or without one, at which an import of that code could find a module."""
    read_from: str | None = None
    """The format that it was read from, which llmdo does not run and so enforces nothing of; None for our own."""

    @property
    def edges(self) -> Mapping[str, tuple[str, ...]]:
        """The delegates of each worker, sorted."""
        return self._resolved.edges

    @property
    def lines(self) -> Mapping[str, Lines]:
        """The other lines of each worker's `toolsets`; of workers where these are equal it is one object.

        The configuration of a toolset of the workspace's own changes nothing about its tools, and is empty here.
        """
        return self._resolved.lines

    @property
    def kinds_of_lines(self) -> tuple[Lines, ...]:
        """Those of the `lines` that differ."""
        return self._resolved.kinds

    @property
    def governed(self) -> tuple[Worker, ...]:
        """The workers that have rules or a ceiling of their own."""
        return self._resolved.governed

    @property
    def own_rules(self) -> Mapping[str, tuple[Rule, ...]]:
        """Worker to its own rules, where it has some: of workers whose rules decide alike, those of the first."""
        return self._resolved.rules

    @property
    def alike(self) -> tuple[Sequence[int], ...]:
        """The places of all workers, together those with equal `lines` and `own_rules` that have delegates or none."""
        return self._resolved.alike

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each worker among all of them."""
        return {name: place for place, name in enumerate(self.workers)}

    @cached_property
    def edges_of_places(self) -> Sequence[tuple[int, ...]]:
        """The `edges` from and to places, which are quicker to follow than names."""
        place_of = self.places.__getitem__
        return [tuple(map(place_of, delegates)) for delegates in self.edges.values()]

    @property
    def without_files(self) -> frozenset[str]:
        """The workers that callers may hand no files to."""
        return self._resolved.without_files

    def use(self, worker: str, name: str) -> Use:
        """The line by which `worker` names a toolset or a delegate."""
        for use in self.workers[worker].uses:
            if use.name == name:
                return use
        raise KeyError(name)

    @cached_property
    def _resolved(self) -> _Resolved:
        """One pass over all lines: there are many, and much is asked about them."""
        edges: dict[str, tuple[str, ...]] = {}
        lines: dict[str, Lines] = {}
        kinds: dict[Lines, Lines] = {}
        texts: dict[int, str] = {}
        governed: list[Worker] = []
        rules: dict[str, tuple[Rule, ...]] = {}
        first_rules: dict[object, tuple[Rule, ...]] = {}
        alike: dict[object, list[int]] = {}
        without_files: list[str] = []
        workers, toolsets = self.workers, self.toolsets
        for place, (name, worker) in enumerate(workers.items()):
            delegates: list[str] = []
            others: list[tuple[str, str]] = []
            for use in worker.uses:
                used = use.name
                if used in workers:
                    delegates.append(used)
                elif not (config := use.config) or used in toolsets:
                    others.append((used, ""))
                else:
                    if (text := texts.get(id(config))) is None:  # mostly, equal ones are one object
                        text = texts[id(config)] = repr(config)
                    others.append((used, text))
            edges[name] = tuple(delegates)
            mine = tuple(others)
            mine = lines[name] = kinds.setdefault(mine, mine)
            own: tuple[Rule, ...] = ()
            if worker.approvals:
                own = rules[name] = first_rules.setdefault(_decided(worker.approvals), worker.approvals)
            if own or worker.may is not None:
                governed.append(worker)
            if worker.attachments.are_refused:
                without_files.append(name)
            alike.setdefault((id(mine), id(own), not delegates), []).append(place)
        named = frozenset(without_files)
        return _Resolved(edges, lines, tuple(kinds), tuple(governed), rules, tuple(alike.values()), named)


def _decided(rules: tuple[Rule, ...]) -> object:
    """What rules decide, whoever says so."""
    return tuple([(rule.capability.name, rule.capability.scope, rule.decision) for rule in rules])
