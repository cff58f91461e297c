"""Handoffs: a person presses a button, and the conversation goes on with another agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.foreign.team import Agent, AgentCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SUFFIX = " (handoff)"


def apart(agents: Sequence[Agent]) -> Iterator[Agent]:
    """The agents; one that calls some freely hands over to the others through an agent of its own, which asks.

    For whom an agent calls, one decision holds, and that of the free calls would hold for its handoffs as well.
    """
    callable_ = {agent.name for agent in agents if agent.is_callable}
    for agent in agents:
        free = [call for call in agent.calls if call.decision == "allowed"]
        reached = {call.name for call in free} | (callable_ if agent.everyone else set())
        left = tuple(call for call in agent.calls if call.decision != "allowed" and call.name not in reached)
        if not reached or not left:
            yield replace(agent, calls=(*free, *left))
            continue
        name = agent.name + SUFFIX
        yield replace(agent, calls=(*free, AgentCall(name=name, at=left[0].at)))
        yield Agent(
            name=name, at=left[0].at, path="", prompt="", calls=left, is_entry=False, is_callable=False
        )
