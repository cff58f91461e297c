"""Agents of GitHub Copilot that no file declares: those built in, those in VS Code alone, and those for handoffs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, replace
from llmdo.features.copilot import CALLED, LENT, THERE
from llmdo.features.copilot.editor_settings import NESTED
from llmdo.features.copilot.tools import (
    COMMAND_LINE,
    DELEGATES,
    IN_EDITOR,
    ON_THE_COMMAND_LINE,
    THERE_ALONE,
    Tools,
    Where,
)
from llmdo.foreign.files import folder_place
from llmdo.foreign.lines import Line
from llmdo.foreign.team import Agent, AgentCall
from llmdo.graph.clients import UNLIMITED
from llmdo.policy.vocabulary import WITHOUT_EFFECT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from llmdo.features.copilot.tools import KnownServer
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Place


GENERAL = "general-purpose"
"""The agent for any work; agents that may call any agent may call it in Copilot's command line."""

EVERYONE, EVERYONE_LENT = "every agent in VS Code", "every agent in VS Code (called)"
HANDOFF = " (handoff)"

NESTED_ALONE = f"in VS Code only where `{NESTED}` is set"
_MAX_DEPTH = 6
"""By the command line's `COPILOT_SUBAGENT_MAX_DEPTH`; with that setting VS Code lets as many calls nest.

https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-command-reference#environment-variables
"""

_FOLDER = ".github/agents"
_REFERENCE = "https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-command-reference"
_BESIDE_AGENTS = Where(cloud=True, editor=False)
"""The tools are named as in the cloud; the agents are documented for the command line alone."""
_READING = ("read", "search")
_HARMLESS = frozenset({*WITHOUT_EFFECT, *DELEGATES, "x.github.read"})
_NESTED = Line("task", DELEGATES, "allowed", "declared", _REFERENCE)
_OF_GENERAL = ("web/fetch",)
"""What the agent with every tool has besides those of the cloud, by the same reference: it fetches as VS Code does."""


@dataclass(frozen=True, slots=True)
class BuiltInAgent:
    """An agent that no file declares."""

    name: str
    where: Where
    tools: tuple[str, ...] | None
    """Its tools; None for all."""

    @property
    def has_all(self) -> bool:
        """Whether it has all that the session of the command line has: servers, and calls of every agent."""
        return self.tools is None and not self.where.editor


BUILT_IN: Mapping[str, BuiltInAgent] = {
    agent.name.casefold(): agent
    for agent in (
        BuiltInAgent("agent", IN_EDITOR, None),
        BuiltInAgent("ask", IN_EDITOR, (*_READING, "web")),
        BuiltInAgent("edit", IN_EDITOR, (*_READING, "edit")),
        BuiltInAgent("plan", IN_EDITOR, (*_READING, "web")),
        BuiltInAgent("explore", _BESIDE_AGENTS, (*_READING, "execute")),
        BuiltInAgent("code-review", _BESIDE_AGENTS, None),
        BuiltInAgent("research", _BESIDE_AGENTS, None),
        BuiltInAgent("security-review", _BESIDE_AGENTS, None),
        BuiltInAgent("task", _BESIDE_AGENTS, None),
        BuiltInAgent(GENERAL, _BESIDE_AGENTS, None),
    )
}
"""By https://code.visualstudio.com/docs/copilot/agents/local-agents and
https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-command-reference#custom-agents-reference.

Those of the command line are as it was watched with 1.0.102: all but `explore` get what its session has.
"""


def built_in_agents(agents: Sequence[Agent], servers: Mapping[str, KnownServer]) -> Iterator[Agent]:
    """Those that some of `agents` may call, except those that an agent of the project replaces by its name.

    Those with every tool have the project's servers as well, and call every agent.
    """
    own = {agent.name for agent in agents}
    at = folder_place(_FOLDER)
    for name in sorted({call.name for agent in agents for call in agent.calls}):
        if name in BUILT_IN and name not in own:
            yield Agent(
                name=name,
                at=at,
                description="Built into GitHub Copilot.",
                grants=tuple(_grants(BUILT_IN[name], at, servers if BUILT_IN[name].has_all else {})),
                everyone=at if BUILT_IN[name].has_all else None,
                is_entry=False,
                is_callable=False,  # but by name
            )


def _grants(built_in: BuiltInAgent, at: Place, servers: Mapping[str, KnownServer]) -> Iterator[Grant]:
    """The tools of an agent that is built in; the command line asks before any that does more than read."""
    tools = Tools(built_in.where, servers)
    grants = list(tools.every(at) if built_in.tools is None else _named(tools, built_in.tools, at))
    if built_in.has_all:
        grants += [*_named(Tools(IN_EDITOR, {}), _OF_GENERAL, at), _NESTED.grant(at, ON_THE_COMMAND_LINE)]
    for grant in grants:
        if built_in.where.editor or grant.server is not None:
            yield grant
            continue
        reads = all(each.name in _HARMLESS for each in grant.capabilities)
        decision = grant.decision if reads else "needs_approval"
        yield replace(
            grant,
            toolset=f"{grant.toolset}{THERE_ALONE}",
            decision=decision,
            origin=ON_THE_COMMAND_LINE,
            runs_in=COMMAND_LINE,
        )


def _named(tools: Tools, names: Sequence[str], at: Place) -> Iterator[Grant]:
    for name in names:
        yield from tools.of(name, at)


def in_editor(
    agents: Sequence[Agent],
    in_editor_by_name: Mapping[str, Agent],
    only: AbstractSet[str],
    sessions: Sequence[Agent],
    elsewhere: AbstractSet[str],
    *,
    is_nested: bool,
) -> Iterator[Agent]:
    """The sessions and agents; those in `only`, which call others in VS Code alone, call variants there.

    The variant of a called agent, in `in_editor_by_name`, is given besides the agent itself, with all that it calls
    from there. Unless it `is_nested`, by a setting, a called agent calls none there, except after a handoff. One
    that names no tools has its caller's and adds none, unless the caller is `elsewhere` as well.
    """
    has_handoffs = any(call.decision != "allowed" for agent in agents for call in agent.calls)
    callable_ = [agent for agent in agents if agent.is_callable and agent.name in {*in_editor_by_name, *only}]
    called = {call.name for agent in agents if agent.name not in only for call in agent.calls}
    if any(agent.everyone and agent.name not in only for agent in agents):
        called.update(agent.name for agent in callable_)
    # In the cloud and on the command line, Copilot itself chooses among the agents that may be called.
    chosen = {agent.name for agent in callable_ if agent.name in in_editor_by_name} - called
    moved = [
        _moved(agent, in_editor_by_name, callable_)
        if agent.name in only
        else replace(
            agent,
            calls=tuple(_handed_over(agent, in_editor_by_name, {each.name for each in callable_})),
            is_entry=agent.is_entry or agent.name in chosen,
        )
        for agent in agents
    ]
    given = [*sessions, *moved]
    if not (is_nested or has_handoffs):
        given = [*_in_turn(given, only)]
    everyone = next((agent.everyone for agent in agents if agent.everyone), None)
    beside = _variants(in_editor_by_name, callable_, everyone)
    lent = _lent(in_editor_by_name, beside)
    beside.update((lent[name], _with_lent(agent, lent)) for name, agent in [*beside.items()] if name in lent)
    alone = only - elsewhere
    given = [
        _calling(agent, lent) if agent.name in alone and not agent.inherits else agent for agent in given
    ]
    yield from given
    waiting = [call.name for agent in given for call in agent.calls]
    while waiting:
        if agent := beside.pop(waiting.pop(), None):
            waiting.extend(call.name for call in agent.calls)
            yield replace(agent, inherits=False)


def _lent(in_editor_by_name: Mapping[str, Agent], variants: Mapping[str, Agent]) -> dict[str, str]:
    """The variants that have their caller's tools, or that call such, each with its name where it has them."""
    callers: dict[str, list[str]] = {}
    for name, variant in variants.items():
        for call in variant.calls:
            callers.setdefault(call.name, []).append(name)
    waiting = [agent.name + THERE for agent in in_editor_by_name.values() if agent.inherits]
    lent: dict[str, str] = {}
    while waiting:
        if (name := waiting.pop()) not in lent:
            lent[name] = EVERYONE_LENT if name == EVERYONE else name.removesuffix(THERE) + LENT
            waiting.extend(callers.get(name, ()))
    return lent


def _calling(agent: Agent, lent: Mapping[str, str]) -> Agent:
    """The agent, which calls others with its tools; one that it hands over to has its own."""
    calls = (
        replace(call, name=lent.get(call.name, call.name)) if call.decision == "allowed" else call
        for call in agent.calls
    )
    return replace(agent, calls=tuple(calls))


def _with_lent(variant: Agent, lent: Mapping[str, str]) -> Agent:
    """The variant with its caller's tools if it names none: what the caller has is no more by that."""
    called = replace(_calling(variant, lent), name=lent[variant.name], inherits=False)
    return replace(called, grants=()) if variant.inherits else called


def _variants(
    in_editor_by_name: Mapping[str, Agent], callable_: Sequence[Agent], everyone: Place | None
) -> dict[str, Agent]:
    """The variants of agents there, and what stands for all that may be called, by name."""
    variants = {
        agent.name + THERE: replace(
            _moved(agent, in_editor_by_name, callable_),
            name=agent.name + THERE,
            is_entry=False,
            is_callable=False,
        )
        for agent in in_editor_by_name.values()
    }
    if everyone:
        calls = tuple(
            AgentCall(name=_there(agent.name, in_editor_by_name), at=agent.at) for agent in callable_
        )
        variants[EVERYONE] = Agent(name=EVERYONE, at=everyone, calls=calls, is_entry=False, is_callable=False)
    return variants


def _in_turn(agents: Sequence[Agent], only: AbstractSet[str]) -> Iterator[Agent]:
    """The agents, of which those in `only` call none where an agent of the cloud or the command line calls them.

    Those have no tool for it but in VS Code, where a call nests in no other. What begins there has a depth of one call.
    """
    others = [each for each in agents if each.name not in only]
    is_open = any(each.everyone for each in others)
    by_name = {call.name for each in others for call in each.calls}
    called = {
        each.name
        for each in agents
        if each.name in only and each.calls and (each.name in by_name or (is_open and each.is_callable))
    }
    started = {agent.name for agent in agents if agent.name in called and agent.is_entry}
    for agent in agents:
        if agent.name in started:
            name = agent.name + CALLED
            yield replace(agent, is_callable=False)
            yield replace(agent, name=name, calls=(), inherits=False, is_entry=False)
        elif agent.name in called:
            yield replace(agent, calls=())
        elif agent.name not in only:
            calls = [
                replace(call, name=call.name + CALLED) if call.name in started else call
                for call in agent.calls
            ]
            yield replace(agent, calls=tuple(calls))
        else:
            yield agent


def _handed_over(
    agent: Agent, in_editor_by_name: Mapping[str, Agent], callable_: AbstractSet[str]
) -> Iterator[AgentCall]:
    """The calls; a person hands over by a button of VS Code, to the variant there of whom it does not call anyway."""
    free = {call.name for call in agent.calls if call.decision == "allowed"}
    reached = free | callable_ if agent.everyone else free
    for call in agent.calls:
        if call.decision == "allowed":
            yield call
        elif call.name not in reached:
            yield replace(call, name=_there(call.name, in_editor_by_name))


def _there(name: str, in_editor_by_name: Mapping[str, Agent]) -> str:
    return name + THERE if name in in_editor_by_name else name


def _inherits(name: str, in_editor_by_name: Mapping[str, Agent]) -> bool:
    return name in in_editor_by_name and in_editor_by_name[name].inherits


def _moved(agent: Agent, in_editor_by_name: Mapping[str, Agent], callable_: Sequence[Agent]) -> Agent:
    """The agent, with calls of the variants there."""
    names = {each.name for each in callable_} if agent.everyone else set()
    calls = [
        replace(call, name=_there(call.name, in_editor_by_name))
        for call in agent.calls
        if call.name not in names or (call.decision != "allowed" and _inherits(call.name, in_editor_by_name))
    ]
    if agent.everyone:
        calls.append(AgentCall(name=EVERYONE, at=agent.everyone))
    return replace(agent, calls=tuple(calls), everyone=None)


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
        name = agent.name + HANDOFF
        yield replace(agent, calls=(*free, AgentCall(name=name, at=left[0].at)))
        yield Agent(name=name, at=left[0].at, calls=left, is_entry=False, is_callable=False)


def with_depths(agents: Sequence[Agent], only: AbstractSet[str], *, is_nested: bool) -> Iterator[Agent]:
    """The agents, each with the depth to which calls below it nest; a handoff begins a session of its own.

    Unless `is_nested`, by the setting, nothing that those in `only` call calls others in turn.
    """
    callers: dict[str, list[str]] = {}
    for agent in agents:
        for call in agent.calls:
            callers.setdefault(call.name, []).append(agent.name)
        if agent.everyone:
            callers.setdefault("", []).append(agent.name)
        if agent.is_callable:
            callers.setdefault(agent.name, []).append("")
    waiting = [agent.name for agent in agents if any(call.decision != "allowed" for call in agent.calls)]
    above: set[str] = set()
    while waiting:
        if (name := waiting.pop()) not in above:
            above.add(name)
            waiting.extend(callers.get(name, ()))
    # What stands for every agent is no call of its own.
    through = ("" in callers) + (not callers.keys().isdisjoint((EVERYONE, EVERYONE_LENT)))
    for agent in agents:
        depth = _MAX_DEPTH + through
        if agent.name in only and not is_nested:
            depth = 1 + any(call.name in (EVERYONE, EVERYONE_LENT) for call in agent.calls)
        yield replace(agent, max_depth=UNLIMITED if agent.name in above else depth)
