"""Edits that take commands: all of one list at once, and what is lost by that, judged of all tools of an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, place
from llmdo.extensions.spec import NO_COMMANDS
from llmdo.foreign.commands import is_command
from llmdo.foreign.edits import left_after, milder_after, names_text, unsure_after
from llmdo.foreign.instead import ALL, NEXT, NO_SUCH_COMMAND, name_at, runs_commands
from llmdo.foreign.known_servers import capabilities_of
from llmdo.policy.authority import Capability

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.foreign.edits import FlowEdit, Spot
    from llmdo.foreign.flows import Flow
    from llmdo.foreign.team import Agent, Grant
    from llmdo.syntax.document import Place

_NONE_RUN = NO_COMMANDS.removeprefix("it then ")
_NONE_OF_THESE = "it then runs none of these commands"
_READING = (Capability("fs.read"), Capability("proc.exec"))
"""The capabilities of tools that may read local files."""


def with_further_commands(
    flow: Flow, best: FlowEdit, left: list[Spot], known: Mapping[Spot, tuple[Grant, Place]]
) -> tuple[FlowEdit, list[Spot]]:
    """An edit that also takes out the other commands of the list of which it takes one, and what is left then.

    The one that it took stays if the others are enough. `known` has the grants of the tools that are left.
    """
    if best.items is None or not all(map(is_command, best.items[1])):
        return best, left
    at, tools = best.items
    workers = {worker for worker, _, _ in best.takes}
    same = {
        each: known[each][0].at
        for each in left
        if each in known and each[0] in workers and _is_taken_out(known[each][0], at)
    }
    if not same or not best.text.startswith(f"take `{excerpt(tools[0])}` out ("):
        return best, left
    others, whole = [each for each in left if each not in same], best.takes | {*same}
    is_enough = len(best.takes) == 1 and not others and _ends_as_much(flow, best, {*same}, whole)
    own = [] if is_enough else [(tool, at) for tool in tools]
    by_place = sorted(
        [*own, *((spot[2], its) for spot, its in same.items())], key=lambda each: _line_of(each[1])
    )
    names = [f"`{excerpt(tool)}`" for tool, _ in by_place[:ALL]]
    more = [f"{len(by_place) - ALL} more, {NEXT},"] if len(by_place) > ALL else []
    *before, last = *names, *more
    taken = f"{', '.join(before)} and {last}" if before else last
    lost = best.text.partition("); ")[2]
    lost = lost.replace(NO_SUCH_COMMAND, _NONE_OF_THESE) if before else lost
    text = f"take {taken} out ({place(by_place[0][1].location)}); {lost}"
    items = (by_place[0][1], tuple(tool for tool, _ in by_place))
    return best._replace(text=text, takes=frozenset(same) if is_enough else whole, items=items), others


def _ends_as_much(flow: Flow, best: FlowEdit, few: set[Spot], whole: frozenset[Spot]) -> bool:
    """Whether an edit that takes a few tools leaves no other flow than one that takes all of them."""
    edits = [best._replace(takes=frozenset(takes), of_source=None) for takes in (few, whole)]
    milder, all_milder = (milder_after(flow, each) for each in edits)
    unsure, all_unsure = (unsure_after(flow, each, as_grave=False) for each in edits)
    return not left_after(flow, edits[0]) and {*milder} <= {*all_milder} and unsure == all_unsure


def _is_taken_out(given: Grant, at: Place) -> bool:
    """Whether a command goes by the same words as one of the list in the file at a place."""
    is_there = given.at.location.path == at.location.path
    return is_there and is_command(given.tool) and given.narrower == f"take `{excerpt(given.tool)}` out"


def _line_of(at: Place) -> tuple[int, int]:
    span = at.location.span
    return (span.line, span.column) if span else (0, 0)


def with_other_commands(agents: Mapping[str, Agent], best: FlowEdit) -> str:
    """The words of an edit that takes commands, with what an agent still runs some by, or that it reads no files."""
    kept: dict[str, bool] = {}
    if best.text.endswith((NO_SUCH_COMMAND, _NONE_OF_THESE)):
        return f"{best.text}{' and reads no local files' if _ends_reading(agents, best) else ''}"
    workers = {spot[0] for spot in best.takes if spot[0] in agents and _NONE_RUN in best.text}
    for worker in workers:
        grants = [
            each for each in agents[worker].grants if runs_commands(each) and each.decision != "blocked"
        ]
        gone = [each for each in grants if (worker, each.toolset, each.tool) in best.takes]
        places = {each.at.location for each in gone}
        names = {each.tool.partition("(")[0] for each in gone}
        for each in grants if gone else ():
            if each.at.location not in places and each.tool.partition("(")[0] not in names:
                name = name_at(each, each.at)
                kept[name] = kept.get(name, True) and each.decision == "needs_approval"
    if not kept:
        return best.text
    asked = ", about which it asks" if all(kept.values()) else ""
    alone = "" if any(_has_them_run(agents, worker, best) for worker in workers) else " alone"
    return best.text.replace(_NONE_RUN, f"runs commands by {names_text(sorted(kept))}{alone}{asked}")


def _has_them_run(agents: Mapping[str, Agent], worker: str, best: FlowEdit) -> bool:
    """Whether other agents that an agent may call, or those that these call, run commands after an edit."""
    waiting, known = [worker], {worker}
    while waiting:
        agent = agents[waiting.pop()]
        names = {call.name for call in agent.calls if call.decision != "blocked"}
        if agent.everyone:
            names |= {
                name for name, each in agents.items() if each.is_callable and each.format == agent.format
            }
        new = (names & agents.keys()) - known
        known |= new
        waiting += new
    return any(
        runs_commands(each)
        and each.decision != "blocked"
        and (name, each.toolset, each.tool) not in best.takes
        for name in known - {worker}
        for each in agents[name].grants
    )


def _ends_reading(agents: Mapping[str, Agent], best: FlowEdit) -> bool:
    """Whether an edit takes all that an agent reads local files by, and nothing of which that is not known is left."""
    workers = {worker for worker, _, _ in best.takes if worker in agents}
    if len(workers) != 1:
        return False
    (worker,) = workers
    agent = agents[worker]
    taken = [each for each in agent.grants if (worker, each.toolset, each.tool) in best.takes]
    left = [each for each in agent.grants if each not in taken and each.decision != "blocked"]
    return any(map(_may_read, taken)) and not (agent.calls or agent.everyone or any(map(_may_read, left)))


def _may_read(given: Grant) -> bool:
    """Whether a tool may read local files."""
    able = capabilities_of(given.server) if given.server else given.capabilities
    is_unknown = able is None or (given.is_open and not given.server)
    return is_unknown or any(kind.covers_name(each.name) for kind in _READING for each in able or ())
