"""What a run needs of the program that started it: who is told, who answers, who watches, and how it is waited for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextlib import AbstractContextManager

    from pydantic_ai.capabilities import AbstractCapability

    from llmdo.graph.resolved import Graph
    from llmdo.policy.authority import Rule
    from llmdo.runtime import Approver, RunOutcome, Stop
    from llmdo.runtime.telemetry.events import Sink, Streams
    from llmdo.workspace.trust import Consent


@dataclass(frozen=True, slots=True, kw_only=True)
class Approving:
    """Who answers, and in which manner."""

    approver: Approver
    mode: str
    """In words for the person: `prompt`, `approve-all`, `reject-all`, `later`, perhaps `approve fs.write` before it."""
    unasked: bool = False
    """Whether questions find nobody, though nobody said that they should not."""
    tightening: tuple[Rule, ...] = ()
    """The rules of the person's own policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Where the events of a run go, and what watches its agents."""

    sink: Sink
    abandon: Callable[[], None]
    """Gives the terminal back, where the program ends at once."""
    instruments: tuple[AbstractCapability[object], ...] = field(default=())
    streams: Streams = "nothing"
    """Whose answers the sink takes piece by piece."""
    has_shown: Callable[[str | None], bool] = field(default=lambda _: False)
    """Whether the person has seen this answer already, as it arrived."""


class Host(Protocol):
    """The program around a run."""

    @property
    def is_brief(self) -> bool:
        """Whether a run is one turn of many, whose id and audit are not told each time."""

    def tell(self, line: str) -> None:
        """Takes a line for the person who waits."""

    @property
    def consent(self) -> Consent:
        """Who answers for what a run would execute."""

    def approving(self, graph: Graph) -> Approving:
        """Who answers the questions of a run of `graph`."""

    def watching(self, *, run: str, entry: str, approvals: str) -> AbstractContextManager[Watch]:
        """What watches the run of that id."""

    def wait_for(
        self, work: Coroutine[object, object, RunOutcome], abandon: Callable[[], None], stop: Stop
    ) -> RunOutcome:
        """What `work` returns, which `stop` ends early."""
