"""The two scopes of a run: what the whole run shares, and what one call of a worker owns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic_ai.usage import RunUsage, UsageLimits

from llmdo.runtime.events import discard

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_ai.messages import ModelMessage

    from llmdo.authority import Authority, Decision, Rule
    from llmdo.graph import Entry, Graph, Worker
    from llmdo.runtime.agents import Agents
    from llmdo.runtime.approvals import Approver
    from llmdo.runtime.events import Sink
    from llmdo.toolsets.confinement import Root
    from llmdo.toolsets.pathmap import PathMap
    from llmdo.toolsets.resolver import ToolsetResolver


@dataclass(frozen=True, slots=True, kw_only=True)
class DeniedCall:
    """A call that the gate did not let through."""

    path: str
    tool: str
    decision: Decision
    """`blocked` by the rules, or `needs_approval` that was not given."""
    reasons: tuple[str, ...]
    """Why, for the user, a sentence each."""


@dataclass(slots=True)
class Ledger:
    """What a run has used and refused so far: of all that a run shares, the one value that changes."""

    usage: RunUsage = field(default_factory=RunUsage)
    """Of the whole tree; pydantic-ai adds to it."""
    by_worker: dict[str, RunUsage] = field(default_factory=dict)
    denied: list[DeniedCall] = field(default_factory=list)
    unrecorded: Counter[str] = field(default_factory=Counter)
    """How many calls to a worker were made at each place by code, which no model's response puts in order."""

    def of_worker(self, name: str) -> RunUsage:
        """What the calls of one worker have used, without its delegates."""
        return self.by_worker.setdefault(name, RunUsage())


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeConfig:
    """All that the calls of one run share."""

    run: str
    """The run's id."""
    graph: Graph
    root: Path
    entry: Entry
    rules: tuple[Rule, ...]
    """The base rules, as `base_rules` returned them."""
    approver: Approver
    agents: Agents
    resolver: ToolsetResolver
    confined: Root
    paths: PathMap
    max_depth: int
    limits: UsageLimits = field(default_factory=UsageLimits)
    ledger: Ledger = field(default_factory=Ledger)
    on_event: Sink = discard


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFrame:
    """One call of a worker, or the entry's function."""

    worker: Worker | None
    """None in an entry's function."""
    input: str
    depth: int
    path: str
    """The call path: `main`, `main/pitch_evaluator#2`."""
    authority: Authority
    """What has a say over this worker's calls at this place in the tree."""
    history: tuple[ModelMessage, ...] = ()
    """The messages that the call starts from: none, for nothing is inherited."""

    @property
    def name(self) -> str:
        """The worker's name, or where it is none, the entry's."""
        return self.worker.name if self.worker else self.path
