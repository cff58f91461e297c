"""A pydantic-ai agent that was adopted as a worker, run in its own way with its tools behind the gate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_ai import Agent
    from pydantic_ai.agent import AgentRunResult
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import UserContent
    from pydantic_ai.models import Model
    from pydantic_ai.toolsets import AbstractToolset


@dataclass(frozen=True, slots=True)
class AdoptedAgent:
    """Runs the agent as it is, but for its tools: those come from outside, gated, and it has no others."""

    agent: Agent[object, object]
    watching: Sequence[AbstractCapability[object]]
    """What watches every agent of the run."""

    async def run(
        self,
        prompt: str | Sequence[UserContent],
        *,
        model: Model,
        toolsets: Sequence[AbstractToolset[object]] | None,
        capabilities: Sequence[AbstractCapability[object]] | None,
        **more: Any,
    ) -> AgentRunResult[object]:
        """Its answer."""
        # In the context of this task alone: another call of the same agent, at the same time, has its own.
        with self.agent.override(tools=[], toolsets=toolsets or [], native_tools=[], model=model):
            return await self.agent.run(prompt, capabilities=[*self.watching, *(capabilities or ())], **more)
