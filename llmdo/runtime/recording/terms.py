"""On which terms a run goes on that has a journal, and what stops it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.diagnostic import LlmdoError
from llmdo.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.runtime.telemetry.events import Decided

READ_ONLY = frozenset(
    {
        "fs.read",
        "fs.list",
        "proc.exec.read",
        "mcp.read",
        "net.search",
        "secret.read",
        "env.read",
        "data.untrusted",
    }
)
"""What a tool can raise and still run twice with no harm done."""


class DivergenceError(LlmdoError):
    """The run did something else than the journal says: nothing after that can be relied on."""


class ReachedError(LlmdoError):
    """The run is where it was to stop."""


class WaitingError(LlmdoError):
    """All that goes on in the run are questions that somebody answers later."""


class UnfinishedError(LlmdoError):
    """A tool was started by an earlier process, which ended before the tool did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How a run that has a journal goes on."""

    live: bool = True
    """Whether what is not recorded may happen; otherwise it is a divergence."""
    drifted: bool = False
    """Whether other prompts, tools and models than the recorded ones were accepted."""
    reruns: bool = False
    """Whether tools that only read run again, so that what they return now can be compared."""
    shows_tools: bool = False
    """Whether models are shown the tools of today, though none of them is executed."""
    until: str | None = None
    """The call path of a tool, or `PATH@NUMBER` of a request, before which the run stops."""
    again: frozenset[str] = frozenset()
    """The call paths of tools that were started and not finished, and are to run again."""
    given_up: frozenset[str] = frozenset()
    """The same, for those whose model is to be told that nobody knows what they did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One execution of a tool, decided on already."""

    path: str
    tool: str
    arguments: Mapping[str, object]
    is_safe: bool
    """Whether no harm is done when it runs twice."""
    is_thread: bool
    """Whether it goes on in a thread when its caller is cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A recorded decision of the gate."""

    decided: Decided
    refusal: str | None = None
    """What the model is told where the call may not run."""
    told: tuple[str, ...] = ()
    """Why not, for the user, a sentence each."""
