"""The narrower scope of a run: that of one call of a worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llmdo.runtime.labels import Context

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from llmdo.graph.worker import Worker
    from llmdo.policy.authority import Authority
    from llmdo.policy.composition import Layer
    from llmdo.runtime.gate.policy import RunPolicy


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
    """The rules over this worker's calls at this place in the tree."""
    layers: tuple[Layer, ...] = ()
    """The restrictions of the workers on the path here, this one last."""
    policies: tuple[RunPolicy, ...] = ()
    """In the order in which they are asked."""
    history: tuple[ModelMessage, ...] = ()
    """The call starts from these: the run's for the entry's own worker; nothing is inherited."""

    context: Context = field(default_factory=Context, compare=False)
    """The labels that its model or its code has read."""

    @property
    def is_entry(self) -> bool:
        """Whether it is the call of the entry's own worker."""
        return self.worker is not None and self.depth == 0 and "/" not in self.path

    @property
    def name(self) -> str:
        """The worker's name, or without one, the entry's."""
        return self.worker.name if self.worker else self.path
