"""The one edit that breaks a flow, in words, with what is lost by it."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, place
from llmdo.extensions.spec import NO_COMMANDS
from llmdo.foreign.bringing import without_rules
from llmdo.foreign.edits import (
    FlowEdit,
    ends_of,
    idle_list,
    is_like,
    is_repeated,
    keeps_checkout,
    kept_after,
    leaves_milder,
    left_after,
    left_by,
    line_without,
    lost_as_well,
    milder_after,
    names_text,
    needed,
    only_send,
    place_of_change,
    placed,
    rules_after,
    searching_then,
    spots_of,
    tools_text,
    unsure_after,
    with_one_line,
    without_calls,
    without_files,
    without_its_list,
)
from llmdo.foreign.flows import EVENT, WayOut
from llmdo.foreign.instead import (
    ALL,
    ASKED,
    CONFINED,
    HEADER,
    LEFT_TO_OTHERS,
    LOOKED_AT,
    MANY,
    NEXT,
    also_lost,
    entries_of,
    few_tools,
    instead_of,
    is_json,
    is_listed,
    is_under_permission,
    key_around,
    loss_of,
    name_at,
    out_of_list,
    runs_commands,
    without_rule,
)
from llmdo.foreign.legs import (
    FlowLeg,
    at_once,
    declared_at,
    grant_of,
    grants_of_ends,
    is_called,
    is_silent,
    leg_of,
    legs_of,
    place_of,
    writes_by_rules,
)
from llmdo.foreign.other_commands import with_further_commands, with_other_commands
from llmdo.foreign.refused_options import after_refusal, refused_at_once, with_place
from llmdo.foreign.team import NAME_TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llmdo.foreign import Foreign
    from llmdo.foreign.edits import Spot
    from llmdo.foreign.flows import Flow
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Place


_NETWORK = "net.connect"
_AS_WELL = " there as well"
"""The end of a change at the place of the one before it."""
_PLACE = re.compile(r" \([^()]+:\d+:\d+\)")


def hint(project: Foreign, flow: Flow) -> str | None:
    """The line to change, what to write there and what is lost by it."""
    if not (best := edit(project, flow)):
        return None
    idle = without_its_list(project, best.caller) if best.caller and not best.callee else ""
    milder, second = _milder(project, flow, best)
    unsure = unsure_after(flow, second or best, as_grave=bool(milder and not second))
    text = f"{with_other_commands(project.agents, best)}{idle}{milder}"
    return f"{text}{unsure or searching_then(project, flow, best)}{_or_asked(project, flow)}"


def _or_asked(project: Foreign, flow: Flow) -> str:
    """The line of settings by which a person is asked about every way out, if one is enough for that."""
    changes = {given.asked_by if given else "" for given in grants_of_ends(project, flow)}
    return f"; or {changes.pop()}: {ASKED}" if len(changes) == 1 and "" not in changes else ""


def _milder(project: Foreign, flow: Flow, best: FlowEdit) -> tuple[str, FlowEdit | None]:
    """The milder flow that stays after an edit, and the edit that ends it if one does: in words, and with the first."""
    left = milder_after(flow, best)
    if rules := rules_after(flow, best):
        return f"; a milder flow stays, by {names_text([*(spot[2] for spot in left), *rules])}", None
    if not left:
        return "", None
    at = _spot_place(project, left[0]) if len(left) == 1 else None
    line = line_without(best, left[0], at) if at else None
    every = {_change_of(project, each, best._replace(of_source=None), is_way=True) for each in left}
    change = f"write `{line}` instead" if line else every.pop() if len(every) == 1 else None
    if change is None or (len(left) > 1 and not _PLACE.search(change)):
        return f"; a milder flow stays, by {tools_text(left)}", None
    second = best._replace(takes=best.takes | {*left})
    change = after_refusal(change, best.text)
    return f"; {tools_text(left)} can then still send data: {change}", second


def edit(project: Foreign, flow: Flow) -> FlowEdit | None:
    """The first edit that ends the flow, at best with every milder one.

    Without any it is that which leaves the least, with what has to go as well.
    """
    if silencing := without_rules(project, flow):
        return silencing
    edits = [*_edits(project, flow)]
    ending = [each for each in edits if not left_after(flow, each)]
    whole = min(ending, key=lambda each: leaves_milder(flow, each), default=None)

    # Of two long lists the shorter one is no better: then it is the way out.
    def cost(each: FlowEdit) -> tuple[int, ...]:
        left = left_after(flow, each)
        fixed = sum(_is_fixed(project, spot) for spot in left)
        return min(_places(project, left), MANY + 1), fixed, min(len(left), MANY + 1)

    best = whole or min(edits, key=cost, default=None)
    if best is None or whole:
        return best
    left = left_after(flow, best)
    known = {each: given for each in left if (given := _given_at(project, each))}
    best, left = with_one_line(best, left, known)
    if len(left) > MANY and (refused := _refused(project, flow)):
        return refused
    best, left = with_further_commands(flow, best, needed(flow, best, left), known)
    is_way = best.of_source is False or (best.of_source is None and only_send(flow, left))
    changes = [(each, _change_of(project, each, best, is_way=is_way)) for each in left]
    shown = [*dict.fromkeys(_tool_at(project, each) for each, change in changes if change is None)]
    more = f" and {len(shown) - ALL} more, {NEXT}" if len(shown) > ALL else ""
    others = f"; the same with {', '.join(shown[:ALL])}{more}" if shown else ""
    further = (change for each, change in changes if change and not is_repeated(best, each, change))
    own = sorted(dict.fromkeys(further), key=_is_elsewhere)
    text, *own = refused_at_once((best.text, *own))
    besides = "".join(f"; and {change}" for change in own[:ALL])
    besides += f"; {len(own) - ALL} more allow as much" if len(own) > ALL else ""
    every = frozenset(spots_of(flow))
    alike = (
        at_once(project, given[0], each[0], every, given[0].removal)
        for each, given in known.items()
        if each in left
    )
    return best._replace(text=f"{text}{others}{besides}", takes=best.takes.union(left, *alike))


def _is_elsewhere(change: str) -> bool:
    """Whether a change names its own place, not that of the one before it."""
    return not change.endswith(_AS_WELL)


def _places(project: Foreign, spots: Iterable[Spot]) -> int:
    """The number of places to change for tools: one line may give a tool to several agents."""
    places = ((spot, _spot_place(project, spot)) for spot in spots)
    return len({at.location if at else spot for spot, at in places})


def _is_fixed(project: Foreign, spot: Spot) -> bool:
    """Whether a tool is that of an agent that is built in, whose tools no file of its client says."""
    agent = project.agents.get(spot[0])
    return agent is not None and not agent.path and project.spec_of(agent).has_fixed_agents


def _given_at(project: Foreign, spot: Spot) -> tuple[Grant, Place] | None:
    """The grant of a tool, with the place that gives or allows it."""
    given, at = grant_of(project, leg_of(spot)), _spot_place(project, spot)
    return (given, at) if given and at else None


def _change_of(project: Foreign, spot: Spot, best: FlowEdit, *, is_way: bool) -> str | None:
    """The change of a tool that is left after an edit; None if it is the same as that edit.

    `is_way`: a question about it is enough.
    """
    agent = project.agents.get(spot[0])
    # What a sandbox lets out is the network alone.
    through = _NETWORK if agent and project.spec_of(agent).has_sandbox else ""
    given = grant_of(project, leg_of(spot)._replace(capability=through))
    at = _spot_place(project, spot, through)
    if given is not None and given.narrower:
        its = at and place_of_change(agent, given, given.narrower, at)
        return f"{with_place(given.narrower, its, given)}{given.also}"
    if given is None or at is None or agent is None:
        return None
    spec = project.spec_of(agent)
    has_own = spec.switches_tools or spec.has_sandbox
    instead = instead_of(spec, given, at, is_way=is_way) if has_own else None
    is_alike = bool(given.server and at.of_key) == (" out of `mcp" in best.text.partition(" (")[0])
    whose = f" ({place((instead.at or at).location)})" if instead and spec.switches_tools else " ("
    is_own = instead is not None and not best.text.startswith(f"{instead.change}{whose}")
    if best.of_source is not None and is_alike and not is_own and not given.removal:
        return None
    if instead is None:
        text = _edit(project, leg_of(spot))
        lost = lost_as_well(project, given, spot[0])
        also = ", also from other agents" if text and lost and lost in text else ""
        return f"{text.partition('); ')[0]}){also}" if text else None
    change, where = instead.change, f"({place((instead.at or at).location)})"
    if where in best.text and is_under_permission(change):
        line = f'write `"{given.tool}": "{"ask" if is_way else "deny"}"`'
        is_last = not _PLACE.search(best.text.rpartition(where)[2])
        return f"{line}{_AS_WELL}" if is_last else f"{line} under `permission` {where}"
    also = also_lost(project, instead.at or at, instead.lost) if spec.switches_tools else ""
    return f"{change} {where}{also}{instead.lost.removeprefix(ASKED) if spec.switches_tools else ''}"


def _refused(project: Foreign, flow: Flow) -> FlowEdit | None:
    """The edit that takes a tool away with all its parts, whatever lines give them."""
    worker, toolset, tool = ends_of(flow)[0]
    given = grant_of(project, leg_of((worker, toolset, tool)))
    base = tool.partition("(")[0]
    ends = [each for each in flow.ends if each.rank == flow.way]
    if given is None or not given.refusal or {each.worker for each in ends} != {worker}:
        return None
    taken = {each for each in ends_of(flow) if each[0] == worker and is_like(each[2], base)}
    if not {(each.worker, each.toolset, each.tool) for each in ends} <= taken:
        return None
    at = given.refusal_at or project.agents[worker].at
    return FlowEdit(f"write {given.refusal} ({place(at.location)}); {NO_COMMANDS}", frozenset(taken))


def _tool_at(project: Foreign, spot: Spot) -> str:
    """A tool with its place."""
    worker, toolset, tool = spot
    agent, at = project.agents.get(worker), _spot_place(project, spot)
    given = grant_of(project, leg_of(spot))
    name = f"`{excerpt(tool if tool != '*' else toolset)}`"
    name = entries_of(given, at) if given and at and tool != "*" else name
    is_named = at is not None and (agent is None or agent.path)
    return f"{name} ({place(at.location)})" if at and is_named else f"{name} of `{worker}`"


def _edits(project: Foreign, flow: Flow) -> Iterator[FlowEdit]:
    """The edits that break a flow, the best first: the one that leaves no other flow, then that of the way out."""
    source, private, way = legs_of(flow)
    every = frozenset(spots_of(flow))
    writer = project.agents.get(way.path[-2].name)
    if flow.way == WayOut.OWN_CODE and writer and (text := without_files(writer)):
        yield FlowEdit(text, every)
    given = grant_of(project, source)
    is_plain = given is not None and not given.narrower and not given.is_default
    legs = [source, way] if len(flow.sources) == 1 and len(flow.ends) > 1 and is_plain else [way, source]
    if flow.guess == "server" or (source[1:3] == way[1:3] and writes_by_rules(project, way)):
        legs = [way, source]  # the server may bring words as well; of a shell, rules are what lets it send
    elif flow.way in (WayOut.PUBLIC_HOST, WayOut.OPEN_SERVER):  # to write there is mostly what it is for
        is_apart = private[1:3] != way[1:3] and "(" in private.tool
        legs = [private, source, way] if is_apart else [source, way]
    reader = project.agents.get(source.path[-2].name) if len(source.path) > 1 else None
    if given and given.toolset.startswith(EVENT) and not (reader and reader.started_by):
        legs.remove(source)  # whoever starts it may already be a member: it is about text of others
    for leg in legs:
        text = _edit(project, leg)
        if text and not (leg is source != way and ASKED in text):  # whoever answers has not read the words
            taken = every if leg is private else _taken(project, leg, every, text)
            caller, callee = (leg.path[0].name, leg.path[1].name) if is_called(project, leg) else ("", "")
            side = None if leg is private or caller else leg is source
            items, spot = _item_of(project, leg, text), (leg.path[-2].name, leg.path[-1].name, leg.tool)
            keeps = kept_after(project, spot, text)
            of_checkout = keeps_checkout(project, spot, text)
            given = grant_of(project, leg)
            rules = left_by(given, text) if given else ()
            yield FlowEdit(text, taken, caller, callee, side, items, keeps, of_checkout, rules)
    if cut := without_calls(project, flow):
        yield cut
    yield from filter(None, (_of_settings(project, leg, every) for leg in legs if leg is not private))


def _of_settings(project: Foreign, leg: FlowLeg, every: frozenset[Spot]) -> FlowEdit | None:
    """The edit of the settings of opencode for all agents without a rule of their own about a tool."""
    agents = project.agents
    agent, given = agents.get(leg.path[-2].name), grant_of(project, leg)
    spec = project.spec_of(agent)
    built_in = [
        each.at for each in agents.values() if not each.path and each.format == (agent and agent.format)
    ]
    if not spec.switches_tools or agent is None or not agent.path or given is None or not built_in:
        return None
    instead = instead_of(spec, given, built_in[0], is_way=leg.is_ruled)
    taken = frozenset(each for each in every if is_silent(project, given.tool, "", each))
    if instead is None or (agent.name, leg.path[-1].name, leg.tool) not in taken:
        return None
    lost = instead.lost or loss_of(given)
    lost += also_lost(project, built_in[0], lost)
    text = f"{instead.change} ({place(built_in[0].location)}); {lost}"
    return FlowEdit(text, taken, of_source=not leg.is_ruled)


def _taken(project: Foreign, leg: FlowLeg, every: frozenset[Spot], text: str) -> frozenset[Spot]:
    """Those of the tools that an edit of a leg takes away: all that its line gives, unless it names one."""
    if is_called(project, leg):
        return frozenset()
    own = (leg.path[-2].name, leg.path[-1].name, leg.tool)
    given = grant_of(project, leg)
    if given and own[0] not in project.agents:  # it runs in every agent's sessions
        return frozenset(each for each in every if _spot_place(project, each) == given.at)
    rule = given.rule_at.location if given and given.rule_at and not given.is_free_anyway else None
    is_one_part = given is not None and "(" in given.tool and text.endswith(LEFT_TO_OTHERS)
    if given and ((given.refusal and given.refusal in text) or is_one_part):
        rule = None
    elif text.endswith((*LEFT_TO_OTHERS, CONFINED)) and (at := place_of(project, leg)):
        rule = at.location
    if given and (alike := at_once(project, given, own[0], every, text)):
        return alike
    path = given.at.location.path if given else ""
    is_declared = given is not None and given.server is not None and given.narrower_at is None
    if given and is_declared and given.at.of_key and place_of(project, leg) == given.at:
        return frozenset({own, *declared_at(project, given.at)})
    agent = project.agents.get(own[0])
    by_permission = project.spec_of(agent).switches_tools
    everywhere = by_permission and agent is not None and not agent.path  # its settings are those of all
    is_in_settings = given is not None and (is_json(given.at) or given.at.location.span is None)
    if given and rule is None and is_in_settings and (everywhere or not by_permission):
        silent = partial(is_silent, project, given.tool, "" if everywhere else path)
        return frozenset(each for each in every if each == own or silent(each))
    if by_permission and given and not given.server:  # what is written there is about one tool
        every = frozenset(each for each in every if each[2] == given.tool)
    return frozenset(
        each
        for each in every
        if each == own
        or (each[0] == own[0] and given and is_like(each[2], given.tool))
        or (rule and (other := _spot_place(project, each, leg.capability)) and other.location == rule)
    )


def _spot_place(project: Foreign, spot: Spot, capability: str = "") -> Place | None:
    leg = leg_of(spot)._replace(capability=capability)
    given, at = grant_of(project, leg), place_of(project, leg)
    return _of_grant(given, at) if given and at else at


def _of_grant(given: Grant, at: Place) -> Place:
    """The place of a change: that of the tool itself if the rule that allows it may go without a question after it."""
    return given.at if given.is_free_anyway and at == given.rule_at else at


def _item_of(project: Foreign, leg: FlowLeg, text: str) -> tuple[Place, tuple[str, ...]] | None:
    """The tool that an edit of a leg takes out of an agent's own list by one line, with its place."""
    given, at = grant_of(project, leg), place_of(project, leg)
    if given is None or at is None or given.removal:
        return None
    at = _of_grant(given, at)
    name = f"`{excerpt(given.tool)}`"
    is_out = text.startswith((f"take {name} out", f"take {entries_of(given, at)} out"))
    return (at, (given.tool,)) if f"`, without {name}" in text or is_out else None


def _edit(project: Foreign, leg: FlowLeg) -> str | None:
    given, at = grant_of(project, leg), place_of(project, leg)
    if given is None or at is None:
        return None
    at = _of_grant(given, at)
    agent = project.agents.get(leg.path[-2].name)
    name, key = f"`{name_at(given, at)}`", key_around(at)
    whole = [each for each in agent.grants if each.tool == given.tool] if agent else []
    is_whole = at.route[:1] == (HEADER,) and not given.server and any(map(runs_commands, whole))
    lost = NO_COMMANDS if is_whole else loss_of(given)
    spec = project.spec_of(agent)
    instead = instead_of(spec, given, at, is_way=leg.is_ruled)
    if agent is None:
        out = f"take {name} out{key and f' of {key}'}"
        change, lost = out if at.route else "delete the file", "it then does not run"
    elif given.narrower:
        change, lost = given.narrower, f"{given.loss or lost}{given.also}"
    elif is_called(project, leg) and leg.path[1].use:
        caller = project.agents.get(leg.path[0].name)
        if caller is None or caller.everyone:
            return None  # no list says which of the agents that are built in it calls
        change, at = f"keep `{leg.path[0].name}` from calling `{agent.name}`", leg.path[1].use.at
        lost = f"it then hands no work to `{agent.name}`"
    elif agent.path and (agent.inherits or given.is_default):
        line = (
            few_tools(spec, agent.at) if agent.narrower == NAME_TOOLS and HEADER not in agent.header else ""
        )
        change = f"write `{line}`, and what else it needs" if line else agent.narrower
        lost = f"it loses the rest{idle_list(spec, agent)}" if line else lost
    elif own := out_of_list(given, at):
        change = own
    elif instead and (spec.switches_tools or at.route[:1] != (HEADER,)):
        change, lost, at = instead.change, instead.lost or lost, instead.at or at
        lost += also_lost(project, at, lost) if spec.switches_tools else given.also
    elif leg.is_ruled and given.rule_at:
        change, at = without_rule(given, at, f"tighten {key or 'the rule'}, which allows {name}")
    elif not key:
        span = at.location.span
        is_named = span is not None and given.tool in at.document.source.marked(span)
        change = f"take {name} out" if is_named else f"deny {name}"
    else:
        change = (
            f"take {entries_of(given, at)} out of {key}"
            if is_listed(at, given.tool)
            else f"change {key}, which gives {name}"
        )
    lost = LOOKED_AT if _is_looked_at(given, change) else lost
    if agent and given.server and given.at.of_key and at == given.at:
        lost += lost_as_well(project, given, leg.path[-2].name)
    return f"{placed(given, change, place_of_change(agent, given, change, at))}; {lost}"


def _is_looked_at(given: Grant, change: str) -> bool:
    """Whether a change only ends that a rule allows a tool, about whose calls a second model decides then."""
    return given.is_looked_at and change.startswith("take ")
