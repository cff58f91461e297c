"""Agents that run only in VS Code call the others there, without their tools in the cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.foreign.team import Agent, AgentCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

SUFFIX = " (in VS Code)"
EVERYONE = "every agent in VS Code"


def in_editor(
    agents: Sequence[Agent], in_editor_by_name: Mapping[str, Agent], only: AbstractSet[str]
) -> Iterator[Agent]:
    """The agents; those in `only`, which run in VS Code alone, call the variants of the others in `in_editor_by_name`.

    The variant of a called agent is given besides the agent itself, with all that it calls from there.
    """
    callable_ = [agent for agent in agents if agent.is_callable and agent.name in {*in_editor_by_name, *only}]
    called = {call.name for agent in agents if agent.name not in only for call in agent.calls}
    if any(agent.everyone and agent.name not in only for agent in agents):
        called.update(agent.name for agent in callable_)
    # In the cloud and on the command line, Copilot itself chooses among the agents that may be called.
    chosen = {agent.name for agent in callable_ if agent.name in in_editor_by_name} - called
    moved = [
        _moved(agent, in_editor_by_name, callable_)
        if agent.name in only
        else replace(agent, is_entry=agent.is_entry or agent.name in chosen)
        for agent in agents
    ]
    everyone = next((agent.everyone for agent in agents if agent.everyone), None)
    beside = {
        agent.name + SUFFIX: replace(
            _moved(agent, in_editor_by_name, callable_),
            name=agent.name + SUFFIX,
            path="",
            is_entry=False,
            is_callable=False,
            inherits=False,
        )
        for agent in in_editor_by_name.values()
    }
    if everyone:
        calls = tuple(
            AgentCall(name=_there(agent.name, in_editor_by_name), at=agent.at) for agent in callable_
        )
        beside[EVERYONE] = Agent(
            name=EVERYONE, at=everyone, path="", prompt="", calls=calls, is_entry=False, is_callable=False
        )
    yield from moved
    waiting = [call.name for agent in moved for call in agent.calls]
    while waiting:
        if agent := beside.pop(waiting.pop(), None):
            waiting.extend(call.name for call in agent.calls)
            yield agent


def _there(name: str, in_editor_by_name: Mapping[str, Agent]) -> str:
    return name + SUFFIX if name in in_editor_by_name else name


def _moved(agent: Agent, in_editor_by_name: Mapping[str, Agent], callable_: Sequence[Agent]) -> Agent:
    """The agent, with calls of the variants there."""
    names = {each.name for each in callable_} if agent.everyone else set()
    calls = [
        replace(call, name=_there(call.name, in_editor_by_name))
        for call in agent.calls
        if call.name not in names
    ]
    if agent.everyone:
        calls.append(AgentCall(name=EVERYONE, at=agent.everyone))
    return replace(agent, calls=tuple(calls), everyone=None)
