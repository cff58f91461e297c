"""The wider scope of a run: all that its calls share."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from llmdo.policy.authority import never_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic_ai.usage import UsageLimits

    from llmdo.base.backtrace import Backtrace
    from llmdo.graph.resolved import Entry, Graph
    from llmdo.policy.authority import Authority, Capability
    from llmdo.policy.composition import Base
    from llmdo.runtime.agents import Agents
    from llmdo.runtime.approvals.approver import Approver
    from llmdo.runtime.attached import AttachmentResolver
    from llmdo.runtime.budget import Budget
    from llmdo.runtime.gate.policy import RunPolicy
    from llmdo.runtime.ledger import Ledger
    from llmdo.runtime.recording.log import RunLog
    from llmdo.runtime.signatures import Signature
    from llmdo.runtime.telemetry.events import Streams
    from llmdo.toolsets.confinement import Root
    from llmdo.toolsets.paths import PathMap
    from llmdo.toolsets.resolver import ToolsetResolver
    from llmdo.toolsets.servers import Servers
    from llmdo.workspace.root import Folders

    Least = tuple[tuple[Capability, ...], ...] | None

REMEMBERED = 1_024
"""Verdicts on tools, and labels of calls, kept by a run at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeConfig:
    """All that the calls of one run share."""

    run: str
    graph: Graph
    folders: Folders
    entry: Entry
    base: Base
    """The rules over every call: the workspace's, and those of the person who runs it."""
    approver: Approver
    agents: Agents
    signatures: Mapping[str, Signature]
    """Of every worker that the entry can reach."""
    resolver: ToolsetResolver
    confined: Root
    """The files that tools and attachments work on."""
    attachments: AttachmentResolver
    """Gives the content of attached files."""
    backtrace: Backtrace
    """Finds failures in the workspace's own code."""
    paths: PathMap
    max_depth: int
    is_untrusted: bool = False
    """Whether a stranger may have written the input."""
    budget: Budget
    limits: UsageLimits
    """The budget in pydantic-ai's terms."""
    ledger: Ledger
    servers: Servers | None = None
    """None if no worker of the run uses an MCP server."""
    policy: RunPolicy | None = None
    """From the caller of the run."""
    log: RunLog
    """Takes all events of the run, and serves recorded ones."""
    streams: Streams = "nothing"
    """Whose answers are reported piece by piece."""
    labels_of: Callable[[tuple[Capability, ...]], frozenset[Capability]]
    """Of the result of a call with these capabilities, worked out once."""
    is_labelled: bool = False
    """Whether anything is labelled, or sealed."""
    never_runs: Callable[[tuple[Capability, ...], Authority, Least], bool] = field(
        default_factory=lambda: lru_cache(REMEMBERED)(never_runs)
    )
    """`never_runs`, worked out once for each tool and authority, which are frozen."""
