"""Team to `Graph`: the same value that our own files become, for the same questions.

A foreign format decides about tools, llmdo about capabilities. So each capability of an agent gets the mildest decision
of any of its tools: reach, which asks for the mildest, stays right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base import digest
from llmdo.base.values import replace
from llmdo.foreign.decisions import DELEGATE, STARTS, base_rules, is_usual, mildest
from llmdo.graph.keys import Reference
from llmdo.graph.resolved import Entry, Graph
from llmdo.graph.settings import Settings
from llmdo.graph.toolset import Tool, Toolset
from llmdo.graph.worker import Attachments, Use, Worker
from llmdo.policy.authority import BUILT_IN_VERSION, STRICTNESS, Capability, Rule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from llmdo.foreign.team import Agent, Grant, Team
    from llmdo.syntax.document import Place

MAX_HOSTS = 100  # of what a client runs by itself: each costs a rule
EVENTS = "events of "
"""The beginning of the name of the worker for all that a client runs by itself while an agent is at work.

No model chooses that, so the decisions about it are none about the agent's own tools.
"""
EVERYONE = "every agent"
"""The worker between agents and all that they may call: single edges would be quadratic."""

_NO_ATTACHMENTS = Attachments(max=0)
UNNAMED = "(unnamed)"
"""The toolset of a server whose file names it with an empty text."""
UNTRUSTED = Capability("data.untrusted")


def of_choice(team: Team) -> Team:
    """The team as far as models choose: of what runs at an event, only the words that it may bring are left."""
    if not any(agent.events for agent in team.agents):
        return team
    return replace(team, agents=tuple(map(_of_choice, team.agents)))


def with_few_hosts(agent: Agent) -> Agent:
    """The agent; if events connect to more hosts than anybody wrote, as if they connected to any."""
    scoped = {each for event in agent.events for each in event.capabilities if each.scope}
    if len(scoped) <= MAX_HOSTS:
        return agent
    events = (
        replace(event, capabilities=tuple({Capability(each.name): None for each in event.capabilities}))
        for event in agent.events
    )
    return replace(agent, events=tuple(events))


def _of_choice(agent: Agent) -> Agent:
    events = (
        replace(each, capabilities=(UNTRUSTED,)) for each in agent.events if UNTRUSTED in each.capabilities
    )
    return replace(agent, events=tuple(events))


def graph_of(
    team: Team, taken: Collection[str] = (), started: Collection[str] = (), *, is_governed: bool = False
) -> Graph:
    """The graph of a team. Of several agents with one name, all but the first get a number.

    No toolset has one of the `taken` names. The agents that are `started` are entries, whatever their format says.
    If it is governed, by rules and ceilings of its own, a tool counts beside a milder one that raises more: those may
    cut off the milder one alone.
    """
    team = replace(team, agents=tuple(map(with_few_hosts, team.agents)))
    builder = _Builder(team, taken, is_governed=is_governed)
    workers = {name: builder.worker(name, agent) for name, agent in named(team.agents).items()}
    for form in sorted({agent.format for agent in team.agents if agent.everyone}):
        everyone = builder.everyone(form, workers)
        workers[everyone.name] = everyone
    events = builder.events()
    entries = _with_events(_entries(team, started), workers, events)
    workers |= {worker.name: worker for worker in events.values()}
    return Graph(
        settings=Settings(
            name=team.format, built_in=BUILT_IN_VERSION, default="needs_approval", max_depth=team.max_depth
        ),
        rules=(*base_rules(team, is_governed=is_governed), Rule(STARTS, team.starts, team.format)),
        entries=entries,
        workers=dict(sorted(workers.items())),
        toolsets=dict(sorted(builder.toolsets.items())),
        read_from=team.format,
    )


def _entries(team: Team, also: Collection[str]) -> dict[str, Entry]:
    """The agents that the format starts, and those that nothing else reaches; `also` some more."""
    agents = named(team.agents)
    calls = {name: [call.name for call in agent.calls] for name, agent in agents.items()}
    started = [name for name, agent in agents.items() if agent.is_entry]
    reached = _below(started, calls)
    every = {agents[name].format for name in reached if agents[name].everyone}
    reached |= {name for name, agent in agents.items() if agent.is_callable and agent.format in every}
    left = [name for name in agents if name not in reached]
    # What another one of the rest calls is no start of its own, unless they call each other in a circle.
    called = {call for name in left for call in calls[name]}
    others = [name for name in left if name not in called] or left
    others += sorted(set(left) - _below(others, calls))
    return {
        name: Entry(
            name=name,
            at=agents[name].at,
            declared=name in started,
            worker=Reference(name, agents[name].at),
            started_by=agents[name].starts,
        )
        for name in sorted({*started, *others, *(name for name in also if name in agents)})
    }


def _with_events(
    entries: dict[str, Entry], workers: Mapping[str, Worker], events: Mapping[str, Worker]
) -> dict[str, Entry]:
    """The entries, each with the events of all agents that it reaches."""
    if not events:
        return entries
    calls = {
        name: [use.name for use in worker.uses if use.name in workers] for name, worker in workers.items()
    }
    return {
        name: replace(
            entry,
            events=tuple(
                Reference(events[each].name, events[each].at)
                for each in sorted(_below([name], calls) & events.keys())
            ),
        )
        for name, entry in entries.items()
    }


def _below(starts: Iterable[str], calls: dict[str, list[str]]) -> set[str]:
    waiting = list(starts)
    names: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in names and name in calls:
            names.add(name)
            waiting.extend(calls[name])
    return names


def named(agents: Iterable[Agent]) -> dict[str, Agent]:
    """Each agent by its name in the graph."""
    by_name: dict[str, Agent] = {}
    for agent in agents:
        by_name[_free(agent.name, by_name)] = agent
    return by_name


def named_events(agents: Mapping[str, Agent]) -> dict[str, str]:
    """The name of the worker for the events of each agent that has some, by the agent's name."""
    names: dict[str, str] = {}
    for name, agent in agents.items():
        if agent.events:
            names[name] = _free(f"{EVENTS}{name}", {*agents, *names.values()})
    return names


def _free(name: str, taken: Iterable[str]) -> str:
    number = 2
    free = name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


class _Builder:
    """Makes the toolsets of one team, each once."""

    def __init__(self, team: Team, taken: Collection[str], *, is_governed: bool) -> None:
        self._is_governed = is_governed
        self._max_depth = team.max_depth
        self._starts = team.starts
        self.toolsets: dict[str, Toolset] = {}
        self._names: dict[object, str] = {}
        self._agents = named(team.agents)
        self._format = team.format
        self._everyone: dict[str, str] = {}
        for form in sorted({agent.format for agent in team.agents}):
            name = f"{EVERYONE} of {form}" if form else EVERYONE
            self._everyone[form] = _free(name, self._agents)
        self._events = named_events(self._agents)
        self._ours = frozenset(taken)
        self._taken = {*self._agents, *self._everyone.values(), *self._events.values()}
        self._approvals: dict[object, tuple[Rule, ...]] = {}

    def worker(self, name: str, agent: Agent) -> Worker:
        """The worker made of an agent."""
        uses = [Use(name=call.name, config={}, at=call.at) for call in agent.calls]
        if agent.everyone:
            uses.append(Use(name=self._everyone[agent.format], config={}, at=agent.everyone))
        called = {use.name for use in uses}
        grants = _telling(agent.grants)
        left = _left_by_rules(agent.grants, grants) if self._is_governed else ()
        for toolset, mine in _by_toolset([*grants, *left]).items():
            built = self._toolset(toolset, mine)
            if built not in called:
                uses.append(Use(name=built, config={}, at=mine[0].at))
        return Worker(
            name=name,
            at=agent.at,
            path=agent.path,
            config=digest.of_data(agent.header),
            prompt=digest.of_text(agent.prompt),
            description=agent.description,
            model=Reference(agent.model, agent.at) if agent.model else None,
            uses=tuple(sorted({use.name: use for use in uses}.values(), key=self._order)),
            approvals=self._rules(agent, grants),
            max_depth=self._max_depth if agent.max_depth is None else agent.max_depth,
            events=_by_event(agent.events),
            sandbox=agent.sandbox,
            permissions=agent.permissions,
            attachments=_NO_ATTACHMENTS,
        )

    def events(self) -> dict[str, Worker]:
        """The worker for the events of each agent that has some, by the agent's name. It is in no file."""
        return {agent: self._of_events(name, self._agents[agent]) for agent, name in self._events.items()}

    def _of_events(self, name: str, agent: Agent) -> Worker:
        grants = _telling(agent.events)
        uses = {
            built: Use(name=built, config={}, at=mine[0].at)
            for toolset, mine in _by_toolset(grants).items()
            for built in [self._toolset(toolset, mine)]
        }
        return Worker(
            name=name,
            at=agent.events[0].at,
            path="",
            config="",
            prompt="",
            uses=tuple(uses[built] for built in sorted(uses)),
            approvals=tuple(_approvals(replace(agent, calls=()), grants, is_governed=self._is_governed)),
            max_depth=self._max_depth,
            attachments=_NO_ATTACHMENTS,
        )

    def everyone(self, form: str, workers: dict[str, Worker]) -> Worker:
        """The worker that calls all callable agents of a format. It is in no file."""
        uses = [
            Use(name=name, config={}, at=workers[name].at)
            for name, agent in self._agents.items()
            if agent.is_callable and agent.format == form
        ]
        at = next(worker.at for worker in workers.values())
        return Worker(
            name=self._everyone[form],
            at=at,
            path="",
            config="",
            prompt="",
            uses=tuple(sorted(uses, key=self._order)),
            max_depth=self._max_depth,
            attachments=_NO_ATTACHMENTS,
        )

    def _order(self, use: Use) -> tuple[bool, bool, str]:
        """The order of what a worker uses: of equal ways the first is named, and agents of files are known to people.

        Of those that are built in, sessions are last, as a model is not offered them. In a lock it is that of names.
        """
        agent = self._agents.get(use.name)
        if agent is None or agent.path or self._is_governed:
            return False, False, use.name
        return True, agent.is_entry, use.name

    def _toolset(self, name: str, grants: Sequence[Grant]) -> str:
        """The name of the toolset with these tools; numbered if the name is taken, and with its format if by ours."""
        if name in self._ours:
            name = f"{name} of {self._format}"
        tools = _tools(grants)
        server = next((grant.server for grant in grants if grant.server), None)
        key = (name, tuple((tool.name, tool.capabilities) for tool in tools.values()), server)
        if key not in self._names:
            free = self._names[key] = _free(name, {*self._taken, *self.toolsets})
            self.toolsets[free] = Toolset(
                name=free,
                kind="mcp" if server else "python",
                at=grants[0].at,
                server=server,
                tools=tools,
            )
        return self._names[key]

    def _rules(self, agent: Agent, grants: Sequence[Grant]) -> tuple[Rule, ...]:
        key = tuple(
            (grant.capabilities, grant.decision, grant.origin, _line(grant.rule_at)) for grant in grants
        )
        calls = tuple((call.decision, call.origin, _line(call.at)) for call in agent.calls)
        has_own = agent.server_start != self._starts and any(grant.server for grant in grants)
        start = agent.server_start if has_own else None
        if (key, calls, start) not in self._approvals:
            rules = [*_approvals(agent, grants, is_governed=self._is_governed)]
            if start:
                rules.append(Rule(STARTS, start, agent.format or self._format))
            self._approvals[key, calls, start] = tuple(rules)
        return self._approvals[key, calls, start]


def _by_event(events: Iterable[Grant]) -> dict[str, dict[str, tuple[Capability, ...]]]:
    by_event: dict[str, dict[str, tuple[Capability, ...]]] = {}
    for event in events:
        command = f"{event.tool} ({event.content})" if event.content else event.tool
        by_event.setdefault(event.toolset, {})[command] = event.capabilities
    return by_event


def _line(at: Place | None) -> object:
    return at and (at.document.source.path, at.route)


def _by_toolset(grants: Iterable[Grant]) -> dict[str, list[Grant]]:
    by_toolset: dict[str, list[Grant]] = {}
    for grant in grants:
        by_toolset.setdefault(grant.toolset or UNNAMED, []).append(grant)
    return by_toolset


def _tools(grants: Iterable[Grant]) -> dict[str, Tool]:
    """The tools of a toolset; a call of one with several grants raises the capabilities of one of them."""
    by_name: dict[str, list[Grant]] = {}
    for grant in grants:
        by_name.setdefault(grant.tool, []).append(grant)
    return {
        name: Tool(
            name=name,
            capabilities=tuple(sorted({each for grant in mine for each in grant.capabilities}, key=str)),
            hook=len({grant.capabilities for grant in mine}) > 1,
            is_open=any(grant.is_open for grant in mine),
        )
        for name, mine in sorted(by_name.items())
    }


def _telling(grants: Sequence[Grant]) -> tuple[Grant, ...]:
    """The grants, each without capabilities that another grants at a milder decision: a path ends in the mildest.

    The first of equal tools on one line represents the rest that ask alike; a server is kept even without capabilities,
    because it is started all the same.
    """
    by_capability = mildest(grants)
    distinct: dict[object, Grant] = {}
    for grant in grants:
        most = STRICTNESS[grant.decision]
        is_blocked = (
            grant.server is not None and grant.decision == "blocked"
        )  # it is started, and brings nothing
        key = tuple(
            each
            for each in grant.capabilities
            if (each == UNTRUSTED and not is_blocked) or _strictness(each, by_capability) >= most
        )
        if grant.server and key == (UNTRUSTED,) and _strictness(UNTRUSTED, by_capability) < most:
            key = ()  # on its own it would be let through without the question that is asked about the server
        if grant.server or (key and key != (UNTRUSTED,)) or grant.capabilities == key:
            merged = grant if key == grant.capabilities else replace(grant, capabilities=key)
            alike = (grant.decision, id(grant.at), grant.server, grant.runs_in)
            asked = (grant.asks_unless_reading, _line(grant.narrower_at))
            distinct.setdefault((key, *alike, *asked), merged)
    return tuple(distinct.values())


def _left_by_rules(grants: Sequence[Grant], telling: Sequence[Grant]) -> Iterator[Grant]:
    """The grants with a capability that every telling one raises beside others, which a rule may cut off.

    What is denied is none of them: no rule about the milder tool gives it back.
    """
    known = {frozenset(each.capabilities) for each in telling}
    for grant in (each for each in grants if each.decision != "blocked"):
        raised = frozenset(grant.capabilities)
        if any(all(each not in more or not more <= raised for more in known) for each in raised):
            known.add(raised)
            yield grant


def _strictness(capability: Capability, by_capability: Mapping[Capability, Grant]) -> int:
    """The strictness of the mildest decision about a capability, or about all that it is a part of."""
    either = (capability, Capability(capability.name))
    return min(STRICTNESS[by_capability[each].decision] for each in either if each in by_capability)


def _approvals(agent: Agent, grants: Sequence[Grant], *, is_governed: bool) -> Iterator[Rule]:
    """The rules of an agent itself. A rule of a lock cannot leave parts out: there, all counts as the milder part."""
    by_capability = mildest(grants)
    milder = {
        capability: tuple(
            sorted(
                below
                for below, other in by_capability.items()
                if STRICTNESS[other.decision] < STRICTNESS[grant.decision] and capability.contains(below)
            )
        )
        for capability, grant in by_capability.items()
    }
    scoped = {
        each.name for each, grant in by_capability.items() if each.scope and grant.decision == "allowed"
    }
    scoped |= {capability.name for capability, parts in milder.items() if parts}
    for capability, grant in sorted(by_capability.items(), key=lambda pair: str(pair[0])):
        is_telling = grant.decision != "allowed" or not is_usual(capability, grant)
        if not is_telling or capability.name == UNTRUSTED.name:
            continue
        if capability.name not in scoped:
            yield Rule(capability, grant.decision, grant.origin, grant.rule_at)
        elif milder[capability] and not is_governed:
            yield Rule(capability, grant.decision, grant.origin, grant.rule_at, milder[capability])
    if agent.calls and not agent.everyone:
        call = min(agent.calls, key=lambda called: STRICTNESS[called.decision])
        if call.decision != "allowed":
            yield Rule(DELEGATE, call.decision, call.origin, call.at)
