"""On which terms a run goes on that has a journal, and what stops it."""

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

    What the manifest says in `retry` counts; else the tool's own metadata says so, or it only reads, as far as it
    raises anything.
    """
    if retry or (metadata or {}).get("retry") == "safe":
        return retry != "ask"
    return all(capability.name in REPEATABLE for capability in raised)


class DivergenceError(LlmdoError):
    """The run did something else than the journal says: nothing after that can be relied on."""


class AnotherInputError(DivergenceError):
    """Code calls a worker or a tool at a place where it called it with another input."""

    def __init__(self, path: str, name: str) -> None:
        super().__init__(
            f"{path}: `{name}` is called with another input than recorded",
            hint="code that calls workers and tools makes the same calls again only where nothing but their answers "
            "and its input decides about them; `key=...` names a call",
        )


class ReachedError(LlmdoError):
    """The run is where it was to stop."""


class EndedError(LlmdoError):
    """A replay is where the run ended that it repeats."""


class WaitingError(LlmdoError):
    """All that goes on in the run are questions that somebody answers later."""


class UnfinishedError(LlmdoError):
    """A tool was started by an earlier process, which ended before the tool did."""

    def __init__(self, path: str, tool: str, why: str) -> None:
        """`why` no probe has settled it."""
        super().__init__(
            f"`{tool}` at {path} was started and did not finish: it may have taken effect, and {why}",
            hint=f"look, then `--again {path}` runs it again, and `--give-up {path}` tells its model that nobody "
            "knows; without them the probe is asked once more",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayMode:
    """How a run that has a journal goes on."""

    live: bool = True
    """Whether what is not recorded may happen; otherwise it is a divergence."""
    drifted: bool = False
    """Whether other prompts, tools and models than the recorded ones were accepted."""
    reruns: bool = False
    """Whether calls that only read run again, so that what they return now can be compared."""
    shows_tools: bool = False
    """Whether models are shown the tools of today, though none of them is executed."""
    until: str | None = None
    """The call path of a tool, or `PATH@NUMBER` of a request, before which the run stops."""
    again: frozenset[str] = frozenset()
    """The call paths of tools that did not finish or ended with an error, and are to run again."""
    retried: frozenset[str] = frozenset()
    """Those of tools that ended with an error, to run again unless a probe says that they took effect."""
    given_up: frozenset[str] = frozenset()
    """Those of tools that did not finish, and whose model is to be told that nobody knows what they did."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A request to a model, at its place in the run."""

    path: str
    """The call path of its worker."""
    step: int
    """Its number among the requests of that call."""
    sent: Mapping[str, object]
    """What it is made of."""
    recorded: ModelResponse | None = None
    """The answer, where the journal has it."""

    @property
    def place(self) -> str:
        """Its place in the run, as `until` names it."""
        return f"{self.path}@{self.step}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One execution of a tool, which the gate has given leave for."""

    path: str
    tool: str
    arguments: Mapping[str, object]
    is_live: bool
    """Whether the gate let it through just now; otherwise it is only told how it ended."""
    is_safe: bool
    """Whether no harm is done when it runs twice."""
    is_thread: bool
    """Whether it goes on in a thread when its caller is cancelled."""
    may_rerun: Callable[[], Awaitable[bool]]
    """Whether it may run once more in a replay."""
    probe: OfferedProbe | None = None
    """Settles whether an execution at this place took effect; None where the tool offers none."""
