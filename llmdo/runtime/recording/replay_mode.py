"""The terms on which a run with a journal continues, and the errors that stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.base.values import dataclass
from llmdo.policy.vocabulary import REPEATABLE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from pydantic_ai.messages import ModelResponse

    from llmdo.graph.toolset import Retry
    from llmdo.policy.authority import Capability
    from llmdo.toolsets.probes import OfferedProbe


def is_safe(raised: Iterable[Capability], retry: Retry | None, metadata: Mapping[str, object] | None) -> bool:
    """Whether a call that raises `raised` does no harm when it runs twice.

    The manifest's `retry` decides; else the tool's own metadata, or that it raises only capabilities to read, if any.
    """
    if retry or (metadata or {}).get("retry") == "safe":
        return retry != "ask"
    return all(capability.name in REPEATABLE for capability in raised)


class DivergenceError(LlmdoError):
    """The run differs from the journal: nothing after that can be relied on."""


class AnotherInputError(DivergenceError):
    """Code repeats a recorded call with another input."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(
            f"{path}: `{name}` is called with another input than recorded",
            hint="code that calls workers and tools makes the same calls again only where nothing but their answers "
            "and its input decides about them; `key=...` names a call",
        )


class ReachedError(LlmdoError):
    """The run has reached the place to stop at."""


class EndedError(LlmdoError):
    """A replay has reached the recorded end of the run."""


class WaitingError(LlmdoError):
    """The run only waits for questions that somebody answers later."""


class UnfinishedError(LlmdoError):
    """An earlier process started a tool and ended before it did."""

    def __init__(self, path: str, tool: str, why: str) -> None:
        """`why` no probe has settled it."""
        super().__init__(
            f"`{tool}` at {path} was started and did not finish: it may have taken effect, and {why}",
            hint=f"look, then `--again {path}` runs it again, and `--give-up {path}` tells its model that nobody "
            "knows; without them the probe is asked once more",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayMode:
    """The terms on which a run with a journal continues."""

    live: bool = True
    """Whether unrecorded steps may happen; otherwise they are a divergence."""
    drifted: bool = False
    """Whether other prompts, tools and models than the recorded ones were accepted."""
    reruns: bool = False
    """Whether calls that only read run again, for a comparison of results."""
    shows_tools: bool = False
    """Whether models are shown the tools of today, though none is executed."""
    until: str | None = None
    """The call path of a tool, or `PATH@NUMBER` of a request, before which the run stops."""
    again: frozenset[str] = frozenset()
    """The call paths of unfinished or failed tools that are to run again."""
    retried: frozenset[str] = frozenset()
    """Those of failed tools, to run again unless a probe says that they took effect."""
    given_up: frozenset[str] = frozenset()
    """Those of unfinished tools, given up: their models learn that nobody knows their effect."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A request to a model, at its place in the run."""

    path: str
    """The call path of its worker."""
    step: int
    """Its number among the requests of that call."""
    sent: Mapping[str, object]
    """Its comparable form."""
    recorded: ModelResponse | None = None
    """The answer, if the journal has it."""

    @property
    def place(self) -> str:
        """Its place in the run, as `until` names it."""
        return f"{self.path}@{self.step}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One execution of a tool that the gate has allowed."""

    path: str
    tool: str
    arguments: Mapping[str, object]
    is_live: bool
    """Whether the gate allowed it just now; otherwise its recorded end is served."""
    is_safe: bool
    """Whether no harm is done when it runs twice."""
    is_thread: bool
    """Whether it continues in a thread when its caller is cancelled."""
    may_rerun: Callable[[], Awaitable[bool]]
    """Whether it may run once more in a replay."""
    probe: OfferedProbe | None = None
    """Settles whether an execution at this place took effect, if the tool offers it."""
