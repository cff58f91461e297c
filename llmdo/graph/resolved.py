"""The resolved graph: the declarations of the workspace with every name resolved, and nothing that follows from it.

Reach, depth and grants are computed from a `Graph`, never stored in one. Places are not compared, so a graph read from
a lock equals its original.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.nearest import MANIFEST, TEAM_FILES
from llmdo.base.values import dataclass, field
from llmdo.graph.keys import (
    CAPABILITIES,
    CONFIGURE,
    FLOWS,
    PLAIN,
    REFERENCE,
    REFERENCES,
    RULES,
    Key,
    table_of,
    written,
)
from llmdo.graph.limits import ConversationLimits, Limits
from llmdo.graph.start import STARTS
from llmdo.graph.worker import Use
from llmdo.policy.authority import Capability
from llmdo.policy.flow import NO_FLOWS, Flows
from llmdo.policy.shell.rules import ShellSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.base.values import Json
    from llmdo.extensions.spec import CapabilityFamily
    from llmdo.graph.extension import UsedExtension
    from llmdo.graph.keys import Reference
    from llmdo.graph.settings import Acceptance, Notify, Schedule, Settings, SharedPolicy
    from llmdo.graph.start import Start
    from llmdo.graph.toolset import Toolset
    from llmdo.graph.worker import Worker
    from llmdo.policy.authority import FlowRule, Rule
    from llmdo.policy.flow import LabelledSource
    from llmdo.syntax.document import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something that `llmdo run NAME` can start: a worker, a function that calls workers, or one tool."""

    name: str
    at: Place = field(compare=False)
    declared: bool = field(
        default=True,
        metadata=written(
            PLAIN, lock=Key("declared", "bool", "Whether the manifest names it; true where left out.")
        ),
    )
    """Whether `[entries]` names it; otherwise its worker sets `entry: true`, or another tool starts it."""
    format: str | None = field(
        default=None,
        metadata=written(
            PLAIN, lock=Key("format", "Text", "The format of the project whose tool runs it, not llmdo.")
        ),
    )
    """The format of the project of another tool that has it, which runs it; None for our own."""
    worker: Reference | None = field(
        default=None,
        metadata=written(
            REFERENCE,
            file=Key("worker", "Text", "The worker that this entry starts, or the agent of another tool."),
            lock="The worker that it starts.",
            gives_nothing=True,
        ),
    )
    function: Reference | None = field(
        default=None,
        metadata=written(
            REFERENCE,
            file=Key(
                "function",
                "FileAttribute",
                "FILE.py:NAME, an async function (runtime, input) that calls workers.",
            ),
            lock="The function that it runs.",
            gives_nothing=True,
        ),
    )
    """FILE.py:NAME."""
    tool: Reference | None = field(
        default=None,
        metadata=written(
            REFERENCE,
            file=Key(
                "tool", "ToolName", "TOOLSET.TOOL, one call of one tool; the input is its arguments as JSON."
            ),
            lock="The tool that it calls.",
        ),
    )
    """TOOLSET.TOOL."""
    source: str | None = field(
        default=None,
        metadata=written(
            PLAIN,
            lock=Key("source", "Digest", "Of the function's file and what it imports."),
            drift="its source changed",
        ),
    )
    """Digest of the function's file and the workspace modules that it imports."""
    input: str | None = field(
        default=None,
        metadata=written(
            PLAIN,
            file=Key("input", "str", "The input where `llmdo run` is given none."),
            lock="The input where none is given.",
            drift="its input changed",
            gives_nothing=True,
        ),
    )
    title: str | None = field(
        default=None,
        metadata=written(
            PLAIN,
            file=Key(
                "title",
                "TitleTemplate",
                "The title of its runs, with fields of an input that is a JSON object in braces: `{subject}`; "
                "the first line of the input where a field is missing.",
            ),
            lock="The title of its runs.",
            drift="its title changed",
            gives_nothing=True,
        ),
    )
    """As `title_of` takes it."""
    model: Reference | None = field(
        default=None,
        metadata=written(
            REFERENCE,
            file=Key("model", "str", "The model for workers of this entry that name none."),
            lock="The model of its workers that name none.",
            gives_nothing=True,
        ),
    )
    calls: tuple[Reference, ...] = field(
        default=(),
        metadata=written(
            REFERENCES,
            file=Key(
                "calls",
                "list[Callee]",
                "What the function or tool may call: workers, and tools as TOOLSET.TOOL.",
            ),
            lock="The workers and tools that the function or tool may call.",
        ),
    )
    events: tuple[Reference, ...] = field(
        default=(),
        metadata=written(
            REFERENCES, lock=Key("events", "list[Text]", "What its own tool runs by itself, as workers.")
        ),
    )
    """The workers that stand for all that the client of a foreign project runs by itself, whatever a model chooses."""
    configure: Mapping[str, Json] = field(default_factory=dict, metadata=CONFIGURE)
    may: tuple[Capability, ...] | None = field(
        default=None,
        metadata=written(
            CAPABILITIES,
            file=Key(
                "may",
                "list[ScopedCapability]",
                "The ceiling: the most that this entry may ever reach, through any delegation.",
            ),
            lock="Its ceiling.",
            effect="ceiling",
            gives_nothing=True,
        ),
    )
    may_at: Place | None = field(default=None, compare=False)
    approvals: tuple[Rule, ...] = field(
        default=(),
        metadata=written(
            RULES,
            file=Key(
                "approvals",
                "dict[ScopedCapability, Decision]",
                "Rules for the whole tree of this entry. They may only tighten.",
            ),
            lock="Its rules.",
            gives_nothing=True,
        ),
    )
    flows: Flows = field(
        default=NO_FLOWS,
        metadata=written(
            FLOWS,
            file=Key("flows", "Flows", "Flow rules for the whole tree of this entry. They may only tighten."),
            lock="Its flow rules.",
            gives_nothing=True,
        ),
    )
    untrusted_input: bool | None = field(
        default=None,
        metadata=written(
            PLAIN,
            file=Key(
                "untrusted-input",
                "bool",
                "Whether a stranger may have written its input; where left out, that of batches and of services is "
                "taken for such, and no other.",
            ),
            lock="Whether a stranger may have written its input.",
        ),
    )
    limits: Limits = field(
        default=Limits(),
        metadata=written(
            table_of(Limits),
            file=Key("limits", "Limits", "Budgets that the whole tree of this entry shares."),
            lock="Its budgets.",
            gives_nothing=True,
        ),
    )
    conversation_limits: ConversationLimits = field(
        default=ConversationLimits(),
        metadata=written(
            table_of(ConversationLimits),
            file=Key(
                "conversation-limits",
                "ConversationLimits",
                "Budgets that all runs share which go on from one another; `limits` hold for each of them.",
            ),
            lock="The budgets of its conversations.",
            gives_nothing=True,
        ),
    )
    started_by: tuple[Start, ...] = field(
        default=(),
        metadata=written(
            STARTS,
            lock=Key(
                "started-by",
                "dict[Text, Literal['anyone', 'perhaps anyone', 'those who may write', 'the owner']]",
                "The events that start it, to who may cause them.",
            ),
        ),
    )
    """The events that start it without a command of a person, as a foreign project says them."""
    concurrent_runs: int | None = field(
        default=None,
        metadata=written(
            PLAIN,
            file=Key(
                "concurrent-runs", "Positive", "Runs that all workers of a fleet have at work at a time."
            ),
            lock="Its runs that a fleet has at work at a time.",
            effect="amount",
            gives_nothing=True,
        ),
    )

    @property
    def starts(self) -> tuple[Reference, ...]:
        """The workers that this entry calls itself: its edges in the graph."""
        return (self.worker, *self.events) if self.worker else self.delegates

    @property
    def delegates(self) -> tuple[Reference, ...]:
        """The workers among its `calls`."""
        return tuple(call for call in self.calls if "." not in call.name)

    @property
    def use(self) -> Use | None:
        """The use of the toolset with the entry's own tool, `tool_name`, without configuration."""
        if self.tool is None:
            return None
        return Use(name=self.tool.name.partition(".")[0], config={}, at=self.tool.at)

    @property
    def tool_name(self) -> str:
        """The name of the tool that the entry calls; empty if none."""
        return self.tool.name.partition(".")[2] if self.tool else ""


Lines = tuple[tuple[str, str], ...]
"""Lines of a worker's `toolsets`, sorted: the name, and the configuration as text."""


class _Resolved(NamedTuple):
    """The referents of every line in all workers' `toolsets`."""

    edges: Mapping[str, tuple[str, ...]]
    lines: Mapping[str, Lines]
    kinds: tuple[Lines, ...]


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The facts of a workspace for `reach`, `diff` and `run`. Mappings are in name order."""

    settings: Settings
    rules: tuple[Rule, ...] = ()
    """The manifest's, sorted by capability."""
    flows: Flows = NO_FLOWS
    """The manifest's."""
    sources: tuple[LabelledSource, ...] = ()
    """The manifest's labels of returned values, sorted by capability."""
    policies: tuple[SharedPolicy, ...] = ()
    """Those that the manifest extends, sorted by name."""
    extensions: Mapping[str, UsedExtension] = field(default_factory=dict)
    """The installed extensions that the manifest names."""
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Alias to fallback chain."""
    python_models: Mapping[str, str] = field(default_factory=dict)
    """`python:FILE.py:NAME` to the digest of the file and its imported workspace modules; `replay:FILE` and
    `script:FILE` to the file's."""
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
    """The settings in `[toolsets.shell]`."""
    schedules: Mapping[str, Schedule] = field(default_factory=dict)
    notify: Notify | None = None
    """The receiver of notices that runs ended; None for none."""
    acceptances: tuple[Acceptance, ...] = ()
    """Sorted."""
    code: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Every Python file of the workspace that takes part, imported ones included, to the digest of its text; not in a
    lock."""
    judges: Mapping[str, str] = field(default_factory=dict)
    """Each Python file that judges cases of an evaluation, or that such a file imports, to the digest of its text."""
    governing: frozenset[str] = field(default=frozenset(), compare=False)
    """Paths and globs of files, present or not, that would affect a run: those that an import or a glob of the manifest
    could match, in an environment, among evaluations; not in a lock.
    """
    adopted: Mapping[str, str] = field(default_factory=dict)
    """Each file of other tools' projects that agents of this graph were read from, to the digest of its text."""
    read_from: str | None = None
    """The foreign format of its source, which llmdo neither runs nor enforces; None for our own."""

    def max_depth_from(self, starts: Iterable[str]) -> int:
        """The longest chain of delegations below these workers: that of the tool that runs them."""
        workers = [self.workers[name] for name in starts if name in self.workers]
        own, is_ours = self.settings.max_depth, self.read_from is None
        depths = [own if is_ours and worker.format is None else worker.max_depth for worker in workers]
        return max(depths, default=own)

    @property
    def manifest(self) -> str:
        """The name of the file that its entries and rules stand in: that of its workers, if they are in it as well."""
        own = (each.path for each in self.workers.values() if each.format is None)
        return next((path for path in own if path in TEAM_FILES), MANIFEST)

    @property
    def shared_rules(self) -> tuple[Rule, ...]:
        """The rules of its policies, which only tighten."""
        return tuple([rule for policy in self.policies for rule in policy.rules])

    @property
    def families(self) -> Mapping[str, CapabilityFamily]:
        """The capabilities of its extensions."""
        return {
            name: family for each in self.extensions.values() for name, family in each.capabilities.items()
        }

    @property
    def family_rules(self) -> tuple[Rule, ...]:
        """The default decisions about the capabilities of its extensions."""
        return tuple([rule for each in self.extensions.values() for rule in each.rules])

    @property
    def all_flows(self) -> tuple[FlowRule, ...]:
        """The flow rules of the manifest, of entries and of workers."""
        holders: tuple[Graph | Entry | Worker, ...] = (self, *self.entries.values(), *self.workers.values())
        return tuple(
            [rule for holder in holders if holder.flows is not NO_FLOWS for rule in holder.flows.all]
        )

    @property
    def reading(self) -> frozenset[str]:
        """The names of the capabilities of its toolsets and extensions that only read.

        A toolset's claim counts for its own capabilities alone, not for others or for the network in general.
        """
        return frozenset(
            [
                only.name
                for toolset in self.toolsets.values()
                for only in toolset.reads
                if Capability(f"x.{toolset.name}").covers_name(only.name)
            ]
            + [name for name, family in self.families.items() if family.reads]
        )

    @property
    def edges(self) -> Mapping[str, tuple[str, ...]]:
        """The delegates of each worker, sorted."""
        return self._resolved.edges

    @property
    def lines(self) -> Mapping[str, Lines]:
        """The other lines of each worker's `toolsets`; workers with equal lines share one object.

        The configuration of the workspace's own toolsets, which does not change their tools, is empty here.
        """
        return self._resolved.lines

    @property
    def kinds_of_lines(self) -> tuple[Lines, ...]:
        """The distinct `lines`."""
        return self._resolved.kinds

    def use(self, worker: str, name: str) -> Use:
        """The line by which `worker` names a toolset or a delegate."""
        for use in self.workers[worker].uses:
            if use.name == name:
                return use
        raise KeyError(name)

    @cached_property
    def _resolved(self) -> _Resolved:
        """One pass over all lines, as they are many and often needed."""
        edges: dict[str, tuple[str, ...]] = {}
        lines: dict[str, Lines] = {}
        kinds: dict[Lines, Lines] = {}
        texts: dict[int, str] = {}
        workers, toolsets = self.workers, self.toolsets
        for name, worker in workers.items():
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
            lines[name] = kinds.setdefault(mine, mine)
        return _Resolved(edges, lines, tuple(kinds))
