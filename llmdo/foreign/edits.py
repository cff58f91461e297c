"""An edit that breaks a flow: the tools that are gone after it, and what is left of the flow."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import excerpt, excerpt_of_end, place, shown
from llmdo.base.parts import items
from llmdo.base.parts import text as text_in
from llmdo.base.values import replace
from llmdo.extensions.spec import NO_COMMANDS
from llmdo.foreign.building import EVENTS
from llmdo.foreign.commands import through
from llmdo.foreign.flows import EVENT, WayOut
from llmdo.foreign.hosts import lets_out
from llmdo.foreign.instead import (
    ALL,
    CONFINED,
    HEADER,
    LEFT_TO_OTHERS,
    MANY,
    NO_HOST,
    SEARCH,
    call_in,
    calls_in,
    elsewhere,
    in_permission,
    is_unwritten,
    is_whole_list,
    item_at,
    key_around,
    list_without,
    loss_of,
    permission_of,
    runs_commands,
)
from llmdo.foreign.refused_options import refusal_in
from llmdo.foreign.running import changes_files, checks_out
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import UNTRUSTED
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from llmdo.extensions.spec import ForeignFormat
    from llmdo.foreign import Foreign
    from llmdo.foreign.flows import Flow, FlowLegs
    from llmdo.foreign.team import Agent, Grant
    from llmdo.reach.flows import Entrance, UnaskedEnd
    from llmdo.reach.rows import Hop

NUMBERED = re.compile(r" \(\d+\)$")
"""The number of a toolset of which several have one name."""
_WITH_COMMANDS = frozenset({"token"})
"""Tools that nothing but commands uses."""
_OF_COMMANDS = "env"
"""The toolset of secrets that nothing but commands reads."""
_NO_CALLS = "it then calls no other agent"
_HANDOFFS_STAY = "; by {} a person may still start others"
_NOR = ", nor does any without a rule about it"
_LOADED = "tool "
"""The beginning of the name of an event that loads a tool in code."""
_STILL = {"search": "still brings words if its model has it", "words": "may still bring words"}
"""The rest of a sentence about tools that may bring words, by the part of a flow that is not known."""
Spot = tuple[str, str, str]
"""A worker, its toolset and its tool."""


class FlowEdit(NamedTuple):
    """A change of one line, or of several that are alike."""

    text: str
    takes: frozenset[Spot]
    """The tools that are gone or asked about after it."""
    caller: str = ""
    """The agent that calls fewer agents after it; empty for none."""
    callee: str = ""
    """The only one that it calls no longer; empty for all."""
    of_source: bool | None = None
    """Whether it is about what brings the words, or else the way out; None if about what lies between."""
    items: tuple[Place, tuple[str, ...]] | None = None
    """The tools that it takes out of an agent's own list, with the place of the first."""
    keeps: frozenset[Spot] = frozenset()
    """Those of the tools that still read after it, by milder rules."""
    keeps_checkout: bool = False
    """Whether what they still read is only the checkout of a workflow."""
    left_by: tuple[tuple[str, tuple[Capability, ...]], ...] = ()
    """The rules about the tool that it leaves, each with what it allows."""
    silences: frozenset[Spot] = frozenset()
    """The tools that stay, and bring no words after it."""

    def ends(self, spot: Spot) -> bool:
        """Whether a tool is no longer below the agent."""
        worker = spot[0].removeprefix(EVENTS)
        is_called = worker == self.callee if self.callee else worker != self.caller
        return spot in self.takes or (bool(self.caller) and is_called)


def kept_after(project: Foreign, spot: Spot, text: str) -> frozenset[Spot]:
    """A tool if an edit in words leaves a part of it: by what is written, or as other rules give other parts."""
    worker, toolset, tool = spot
    agent = project.agents.get(worker)
    rules = [
        each
        for each in (agent.grants if agent else ())
        if (each.toolset, each.tool) == (NUMBERED.sub("", toolset), tool) and each.decision == "allowed"
    ]
    is_left = len(rules) > 1 or text.endswith((CONFINED, NO_HOST, *LEFT_TO_OTHERS))
    is_left = is_left or bool(rules and left_by(rules[0], text))
    return frozenset({spot} if is_left else ())


def left_by(given: Grant, text: str) -> tuple[tuple[str, tuple[Capability, ...]], ...]:
    """The rules about a tool that an edit in words leaves: none if it is not about the rule that allows the tool."""
    return given.left_by if given.rule_at and f"({place(given.rule_at.location)})" in text else ()


def keeps_checkout(project: Foreign, spot: Spot, text: str) -> bool:
    """Whether a tool of which an edit leaves what it names reads no more than the checkout of a workflow."""
    agent = project.agents.get(spot[0])
    return agent is not None and agent.in_checkout and text.endswith(LEFT_TO_OTHERS)


def place_of_change(agent: Agent | None, given: Grant, change: str, at: Place) -> Place:
    """The place of a change of what gives a tool; a line that refuses it belongs where the agent is started."""
    if given.narrower_at and change == given.narrower:
        return given.narrower_at
    if given.refusal_at and (refusal_in(change) or given.refusal in change):
        return given.refusal_at
    is_elsewhere = agent is not None and at.location.path != agent.at.location.path
    return agent.at if agent and is_elsewhere and given.refusal and given.refusal in change else at


def placed(given: Grant, change: str, at: Place) -> str:
    """A change of what gives a tool with its place, if there is one yet."""
    return change if given.is_nowhere_yet and change == given.narrower else f"{change} ({place(at.location)})"


def as_named(path: Sequence[Hop]) -> tuple[Hop, ...]:
    """A path whose last hop has the name that files give the toolset, without the number of one of several."""
    if not path:
        return ()
    *before, last = path
    return (*before, replace(last, name=NUMBERED.sub("", last.name)))


def way_text(flow: Flow) -> str:
    """The way out, as a sentence has it."""
    tool = f"`{excerpt(flow.row.tool if flow.row.tool not in ('*', '(start)') else flow.row.path[-1].name)}`"
    match flow.way:
        case WayOut.ANY_COMMAND:
            return f"any command{through(flow.row.tool)}"
        case WayOut.OWN_CODE:
            return f"{tool}, which runs files that it can change"
        case WayOut.ANY_HOST:
            return "a request to any host"
        case WayOut.PUBLIC_HOST:
            return f"what it writes to `{flow.row.capability.scope or 'github.com'}`"
        case WayOut.OPEN_SERVER:
            return f"the server `{excerpt(NUMBERED.sub('', flow.row.path[-1].name))}`"


def left_after(flow: Flow, after: FlowEdit) -> list[Spot]:
    """The tools by which a flow as grave is left after an edit: of the end that it is about, or of the fewer ones."""
    left = [each for each in flow.legs if each.guess == flow.guess and _stays(each, after)]
    sources = _bringing((source for each in left for source in each.sources), after)
    ends = _spots((end for each in left for end in each.ends if end.rank == flow.way), after)
    if not sources or not ends:
        return []
    # An event does not go the same way as a tool.
    is_mixed = len({each[1].startswith(EVENT) for each in sources_of(flow)}) > 1
    if after.of_source and not is_mixed:
        return sources
    return ends if after.of_source is False or is_mixed else min(sources, ends, key=len)


def leaves_milder(flow: Flow, after: FlowEdit) -> bool:
    """Whether a flow by a milder way out is left after an edit; a token without commands is none."""
    return bool(milder_after(flow, after))


def milder_after(flow: Flow, after: FlowEdit) -> list[Spot]:
    """The tools by which something gets out after an edit, in flows that are as sure."""
    left = [each for each in flow.legs if each.guess == flow.guess and _stays(each, after)]
    return _ways_out(left, after)


def rules_after(flow: Flow, after: FlowEdit) -> list[str]:
    """The rules by which something still gets out after an edit, on a stranger's word."""
    sending = [rule for rule, able in after.left_by if lets_out(able)]
    brings = any(Capability(UNTRUSTED) in able for _, able in after.left_by)
    kept = after._replace(takes=after.takes - after.keeps)
    is_flow = any(
        _spots(each.private, kept) and (brings or _bringing(each.sources, after))
        for each in flow.legs
        if each.guess == flow.guess
    )
    return sending if is_flow else []


def unsure_after(flow: Flow, after: FlowEdit, *, as_grave: bool) -> str:
    """The rest of a hint about flows of which one part is not known that an edit leaves, perhaps the gravest alone."""
    left = [each for each in flow.legs if each.guess != flow.guess and _stays(each, after)]
    if as_grave:
        grave = ((each, (end for end in each.ends if end.rank <= flow.way)) for each in left)
        left = [each for each, ends in grave if _spots(ends, after)]
    taken = {tool for _, _, tool in after.takes}
    named_before: set[Spot] = {*sources_of(flow)}
    texts = []
    for guess, still in _STILL.items():
        sources = (source for each in left if each.guess == guess for source in each.sources)
        spots = [each for each in _bringing(sources, after) if each not in named_before]
        named_before |= {*spots}
        others = [worker for worker, _, tool in spots if tool in taken]
        of_whom = f" of {agents_text(others)}" if len(others) == len(spots) else ""
        texts += [f"; {tools_text(spots)}{of_whom} {still}"] if spots else []
    if left and not texts:
        return f"; a flow that is less sure stays, by {tools_text(_ways_out(left[:1], after))}"
    return "".join(texts)


def still_searches(names: Iterable[str]) -> str:
    """The rest of a hint about a search that agents may have after an edit, as their models may bring it."""
    return f"; `{SEARCH}` of {agents_text(names)} {_STILL['search']}"


def tools_text(spots: Iterable[Spot]) -> str:
    """The first tools of several, as a sentence has them: a tool in code and the loading of it are one."""
    return names_text(
        NUMBERED.sub("", toolset).removeprefix(_LOADED) if tool == "*" or worker.startswith(EVENTS) else tool
        for worker, toolset, tool in spots
    )


def names_text(names: Iterable[str], shorten: Callable[[str], str] = excerpt) -> str:
    """The first names of several, as a sentence has them: whole where two of them are alike when shortened."""
    each = list(dict.fromkeys(names))
    alike = Counter(map(shorten, each))
    quoted_names = [
        f"`{shorten(name) if alike[shorten(name)] == 1 else shown(name)}`" for name in each[:MANY]
    ]
    more = f" and {len(each) - MANY} more" if len(each) > MANY else ""
    return f"{', '.join(quoted_names)}{more}"


def agents_text(names: Iterable[str]) -> str:
    """The first agents of several, as a sentence has them: what lies around an agent stands before its own name."""
    return names_text(names, excerpt_of_end)


def _stays(legs: FlowLegs, after: FlowEdit) -> bool:
    """Whether words, private data and a way out are left after an edit."""
    keeps = frozenset() if after.keeps_checkout and not legs.of_checkout else after.keeps
    read = _spots(legs.private, after._replace(takes=after.takes - keeps))
    runs = _spots((each for each in legs.ends if each.rank <= WayOut.OWN_CODE), after)
    read = [each for each in read if runs or each[1] != _OF_COMMANDS]
    return bool(_bringing(legs.sources, after) and read and _ways_out([legs], after))


def _ways_out(several: Iterable[FlowLegs], after: FlowEdit) -> list[Spot]:
    """The tools by which something gets out after an edit; a token without commands is none."""
    ends = _spots((end for each in several for end in each.ends), after)
    return [each for each in ends if each[2] not in _WITH_COMMANDS]


def _bringing(sources: Iterable[Entrance], after: FlowEdit) -> list[Spot]:
    """Those of the tools that bring words that still do so after an edit."""
    return [each for each in _spots(sources, after) if each not in after.silences]


def _spots(tools: Iterable[Entrance | UnaskedEnd], after: FlowEdit) -> list[Spot]:
    """Those of the tools that an edit leaves."""
    spots = dict.fromkeys((each.worker, each.toolset, each.tool) for each in tools)
    return [each for each in spots if not after.ends(each)]


def needed(flow: Flow, best: FlowEdit, left: Sequence[Spot]) -> list[Spot]:
    """Those of the tools left after an edit that have to go as well: not what brings words to ways out among them.

    Of more than a hint names that is not tried, as it takes long.
    """
    if len(left) > ALL:
        return [*left]
    whole = best._replace(takes=best.takes | {*left}, of_source=None)
    milder, unsure = {*milder_after(flow, whole)}, unsure_after(flow, whole, as_grave=False)
    kept = [*left]
    for spot in reversed(left):
        others = [each for each in kept if each != spot]
        after = best._replace(takes=best.takes | {*others}, of_source=None)
        is_left = left_after(flow, after) or not milder.issuperset(milder_after(flow, after))
        if not is_left and unsure_after(flow, after, as_grave=False) == unsure:
            kept = others
    return kept


def spots_of(flow: Flow) -> Iterator[Spot]:
    """All tools of the flows below an entry."""
    for legs in flow.legs:
        yield from ((each.worker, each.toolset, each.tool) for each in (*legs.sources, *legs.private))
        yield from ((each.worker, each.toolset, each.tool) for each in legs.ends)


def sources_of(flow: Flow) -> list[Spot]:
    """The tools that bring the words."""
    return [(each.worker, each.toolset, each.tool) for each in flow.sources]


def ends_of(flow: Flow) -> list[Spot]:
    """The tools by which something gets out."""
    return [(each.worker, each.toolset, each.tool) for each in flow.ends]


def only_send(flow: Flow, spots: Iterable[Spot]) -> bool:
    """Whether tools are ways out that bring no words, so that a question about each is enough."""
    sources = {(each.worker, each.toolset, each.tool) for legs in flow.legs for each in legs.sources}
    return {*spots} <= {*ends_of(flow)} - sources


def with_one_line(
    best: FlowEdit, left: list[Spot], known: Mapping[Spot, tuple[Grant, Place]]
) -> tuple[FlowEdit, list[Spot]]:
    """An edit that also takes out what else has to go of the list that it changes, and what is left then.

    `known` has the grants of the tools that are left, with their places.
    """
    if best.items is None:
        return best, left
    at, tools = best.items
    same = {
        each: given
        for each, (given, its) in known.items()
        if not given.removal and _is_in_one_list(its, at) and list_without(at, each[2])
    }
    tools = tuple(dict.fromkeys((*tools, *(each[2] for each in same))))
    line = list_without(at, *tools)
    if not same or line is None:
        return best, left
    *names, last = (f"`{excerpt(each)}`" for each in tools)
    losses = [NO_COMMANDS if runs_commands(each) else loss_of(each) for each in same.values()]
    lost = [best.text.partition("); ")[2], *(each.removeprefix("it then ") for each in losses)]
    without = f"without {', '.join(names)} and {last}" if names else f"without {last}"
    text = f"write `{line}`, {without} ({place(at.location)}); {' and '.join(dict.fromkeys(lost))}"
    edit = best._replace(text=text, takes=best.takes | {*same}, items=(at, tools))
    return edit, [each for each in left if each not in same]


def line_without(best: FlowEdit, spot: Spot, at: Place) -> str | None:
    """The line that an edit writes, without a tool at a place in the same list as well."""
    if best.items is None or not _is_in_one_list(at, best.items[0]):
        return None
    return list_without(best.items[0], *best.items[1], spot[2])


def _is_in_one_list(place_of_it: Place, at: Place) -> bool:
    """Whether two places are in the same agent's own list."""
    lists = [
        (each.location.path, [step for step in each.route if isinstance(step, str)])
        for each in (place_of_it, at)
    ]
    return lists[0] == lists[1] and HEADER in at.route[:2]


def without_files(agent: Agent) -> str | None:
    """The edit by which an agent no longer changes the files that its commands run."""
    writing = {
        grant.tool: grant for grant in agent.grants if grant.decision == "allowed" and changes_files(grant)
    }
    if not writing:
        return None
    fetching = {tool: grant for tool, grant in writing.items() if checks_out(grant)}
    changes = [f"take `{excerpt(tool)}` out ({place(each.at.location)})" for tool, each in fetching.items()]
    if own := {tool: grant for tool, grant in writing.items() if tool not in fetching}:
        tools, first = ",".join(sorted(own)), next(iter(own.values()))
        is_refused = all(each.refusal for each in own.values())
        change = f"write {first.refusal.replace(first.tool, tools, 1)}" if is_refused else f"deny `{tools}`"
        at = (is_refused and first.refusal_at) or first.rule_at or first.at
        changes = [f"{change} ({place(at.location)})", *changes]
    return f"{'; and '.join(changes)}; it then changes no files"


def is_repeated(best: FlowEdit, spot: Spot, change: str) -> bool:
    """Whether a change about an agent is that of an edit already, in words about no tool: one line for all events."""
    is_there = any(worker == spot[0] for worker, _, _ in best.takes)
    return is_there and best.text.startswith(f"{change} (") and f"`{excerpt(spot[2])}`" not in change


def calling(agent: Agent) -> Place | None:
    """The tool of Copilot in an agent's list by which it calls those that its file names."""
    listed = agent.header.get(HEADER)
    number = call_in(listed) if agent.calls and isinstance(listed, list) else None
    return None if number is None else Place(agent.at.document, (HEADER, number))


def without_calls(project: Foreign, flow: Flow) -> FlowEdit | None:
    """The edit by which the entry calls no other agent, if its calls are a tool of its list."""
    name = flow.row.path[0].name
    agent = project.agents.get(name)
    if agent is None or agent.inherits:
        return None
    by_permission = project.spec_of(agent).switches_tools
    at = agent.everyone or (agent.calls[0].at if by_permission and agent.calls else None) or calling(agent)
    if at is None:
        return None
    if by_permission:
        instead = in_permission(agent.at, permission_of(agent.at), "task", "deny")
        at = instead.at or agent.at
        text = f"{instead.change} ({place(at.location)}); {_NO_CALLS}{_NOR if elsewhere(at) else ''}"
        return FlowEdit(text, frozenset(), name)
    tools = _calls_at(at, agent.calls_by)
    change = _without(at, tools)
    text = f"{change} ({place(at.location)}); {_NO_CALLS}"
    return FlowEdit(text, frozenset(), name, items=(at, tools)) if change else None


def without_its_list(project: Foreign, name: str) -> str:
    """The rest of a hint that ends all calls of an agent of Copilot: its list of them does nothing, handoffs stay."""
    agent = project.agents.get(name)
    spec = project.spec_of(agent)
    if agent is None or not spec.calls_key:
        return ""
    return f"{idle_list(spec, agent)}{_HANDOFFS_STAY.format(agent.hands_over) if agent.hands_over else ''}"


def idle_list(spec: ForeignFormat, agent: Agent) -> str:
    """The rest of a hint after which an agent of Copilot calls no other, so that its list of them does nothing."""
    key = spec.calls_key
    return f"; and take `{key}` out of its header" if key and agent.header.get(key) else ""


def without_push(agent: Agent, pushing: Sequence[Grant]) -> str | None:
    """The hint for an agent that pushes by some tools: no permission of its job is one of an app."""
    changes = [] if agent.as_app else [agent.without_push or "write `contents: read` under `permissions`"]
    only = pushing[0]
    refusal = only.narrower or (only.refusal and f"write {only.refusal}")
    if agent.as_app and len(pushing) == 1 and refusal:
        changes = [placed(only, refusal, only.narrower_at or only.refusal_at or only.at)]
    elif all(each.tool not in _WITH_COMMANDS for each in pushing):
        tools = [f"`{excerpt(each.tool)}` ({place(each.at.location)})" for each in pushing]
        changes.append(f"deny {' and '.join(tools)}")
    fails = f", and {agent.stops_with_it}" if agent.stops_with_it and not agent.as_app else ""
    return f"{', or '.join(changes)}; then it cannot push{fails}" if changes else None


def without_call(at: Place, spec: ForeignFormat, calls_by: Collection[str] = ()) -> str | None:
    """The change that ends the call at a place in a file of a format, as a hint; None if it is no item of a list."""
    tools = _calls_at(at, calls_by)
    if change := _without(at, tools):
        return f"{change} ({place(at.location)}); {_NO_CALLS}"
    if not at.route or not isinstance(at.route[-1], int) or not isinstance(at.data, str):
        return None
    kind = text_in(at.document.data.get("type"))
    if kind in spec.callers and len(items(Place(at.document, at.route[:-1]).data)) == 1:
        return f"take the whole {kind.replace('_', ' ')} out, as {spec.product} starts none without agents"
    name = f"`{excerpt(at.data)}`"
    loss = _NO_CALLS if at.route[0] == HEADER else f"it then does not call {name}"
    return f"take {name} out of {key_around(at)} ({place(at.location)}); {loss}"


def ends_all_calls(change: str) -> bool:
    """Whether after a change that ends a call, as a hint has it, the agent calls no other one either."""
    return change.endswith(_NO_CALLS)


def _calls_at(at: Place, calls_by: Collection[str]) -> tuple[str, ...]:
    """The tools of a list by which an agent calls others, if the place has one of them."""
    tool = item_at(at)
    return calls_in(at, tool, calls_by) if tool else ()


def _without(at: Place, tools: Sequence[str]) -> str | None:
    """The change that takes tools out of the list at a place."""
    names = " and ".join(f"`{excerpt(each)}`" for each in tools)
    if tools and (left := list_without(at, *tools)):
        return f"write `{left}`, without {names}"
    if tools and is_whole_list(at, tools):
        return f"write `{HEADER}: []`, as it has no other tool"
    return f"take {names} out of {key_around(at)}" if tools else None


def is_like(tool: str, given: str) -> bool:
    """Whether a tool is the one that is given, or a part of it."""
    return tool == given or tool.startswith((f"{given}(", f"{given}/"))


def lost_as_well(project: Foreign, given: Grant, worker: str) -> str:
    """The other agents that lose tools of a server, which no rule denies them, once its declaration is gone."""
    others = [
        name
        for name, agent in project.agents.items()
        if name != worker
        and any(each.server and each.at == given.at and each.decision != "blocked" for each in agent.grants)
    ]
    return f"; {agents_text(others)} lose{'s' * (len(others) == 1)} them as well" if others else ""


def searching_then(project: Foreign, flow: Flow, best: FlowEdit) -> str:
    """The rest of a hint that writes the first settings of opencode: a session then calls its built-in agents as well.

    Their models are those of their callers, and that of a session may bring a search.
    """
    workers = dict.fromkeys(worker for worker, *_ in spots_of(flow))
    built_in = [agent for name in workers if (agent := project.agents.get(name)) and not agent.path]
    gaining = [
        agent.name
        for agent in built_in
        if is_unwritten(agent.at)
        and project.spec_of(agent).switches_tools
        and f"({place(agent.at.location)})" in best.text
        and all(grant.tool != SEARCH for grant in agent.grants)
    ]
    return still_searches(gaining) if best.of_source and gaining else ""
