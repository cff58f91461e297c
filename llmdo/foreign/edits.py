"""An edit that breaks a flow: the tools that are gone after it, and what is left of the flow."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import excerpt, place
from llmdo.foreign.building import named
from llmdo.foreign.flows import EVENT, WayOut
from llmdo.foreign.instead import (
    CONFINED,
    HEADER,
    MANY,
    NO_COMMANDS,
    NO_HOST,
    OTHERS_REFUSED,
    list_without,
    loss_of,
    runs_commands,
)
from llmdo.policy.authority import Capability
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llmdo.foreign import Foreign
    from llmdo.foreign.flows import Flow
    from llmdo.foreign.team import Agent, Grant

NUMBERED = re.compile(r" \(\d+\)$")
"""The number of a toolset of which several have one name."""
_WITH_COMMANDS = frozenset({"token"})
"""Tools that nothing but commands uses."""
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
    leaves_parts: bool = False
    """Whether it leaves a part of a tool that it takes away, which may still return data."""

    def ends(self, spot: Spot) -> bool:
        """Whether a tool is no longer below the agent."""
        is_called = spot[0] == self.callee if self.callee else spot[0] != self.caller
        return spot in self.takes or (bool(self.caller) and is_called)


def way_text(flow: Flow) -> str:
    """The way out, as a sentence has it."""
    tool = f"`{excerpt(flow.row.tool if flow.row.tool not in ('*', '(start)') else flow.row.path[-1].name)}`"
    match flow.way:
        case WayOut.ANY_COMMAND:
            return "any command"
        case WayOut.OWN_CODE:
            return f"{tool}, which runs files that it can change"
        case WayOut.ANY_HOST:
            return "a request to any host"
        case WayOut.PUBLIC_HOST:
            return f"what it writes to `{flow.row.capability.scope or 'github.com'}`"
        case WayOut.OPEN_SERVER:
            return f"the server `{excerpt(flow.row.path[-1].name)}`"


def left_after(flow: Flow, after: FlowEdit) -> list[Spot]:
    """The tools by which a flow as grave is left after an edit: of the end that it is about, or of the fewer ones."""
    as_grave = flow._replace(ends=tuple(each for each in flow.ends if each.rank == flow.way))
    sources, ends = (
        [each for each in those if not after.ends(each)] for those in (sources_of(flow), ends_of(as_grave))
    )
    if not sources or not ends or not _has_data(flow, after):
        return []
    # An event does not go the same way as a tool.
    is_mixed = len({each[1].startswith(EVENT) for each in sources_of(flow)}) > 1
    if after.of_source and not is_mixed:
        return sources
    return ends if after.of_source is False or is_mixed else min(sources, ends, key=len)


def leaves_milder(flow: Flow, after: FlowEdit) -> bool:
    """Whether a flow by a milder way out is left after an edit; a token without commands is none."""
    return bool(milder_after(flow, after))


def leaves_parts(project: Foreign, spot: Spot, text: str) -> bool:
    """Whether an edit in words leaves a part of a tool: by what is written, or as several rules give its parts."""
    worker, toolset, tool = spot
    agent = named(project.team.agents).get(worker)
    rules = [
        each
        for each in (agent.grants if agent else ())
        if (each.toolset, each.tool) == (NUMBERED.sub("", toolset), tool)
    ]
    return len(rules) > 1 or text.endswith((CONFINED, NO_HOST, OTHERS_REFUSED))


def milder_after(flow: Flow, after: FlowEdit) -> list[Spot]:
    """The tools by which something gets out after an edit, if words still come in; none by a token alone."""
    ends = [each for each in ends_of(flow) if each[2] not in _WITH_COMMANDS and not after.ends(each)]
    is_open = any(not after.ends(each) for each in sources_of(flow)) and _has_data(flow, after)
    return ends if is_open else []


def _has_data(flow: Flow, after: FlowEdit) -> bool:
    """Whether private data is left after an edit."""
    return after.leaves_parts or any(not after.ends(each) for each in private_of(flow))


def unsure_after(project: Foreign, flow: Flow, after: FlowEdit) -> str:
    """The rest of a hint about tools that may bring words after an edit, if something gets out by then."""
    sources, ends = ([each for each in those if not after.ends(each)] for those in unsure_of(flow))
    if not sources or not ends or not _has_data(flow, after):
        return ""
    agents = named(project.team.agents)
    offered = {(name, each.tool) for name, agent in agents.items() for each in agent.grants if each.may_lack}
    searches = dict.fromkeys(f"`{tool}`" for name, _, tool in sources if (name, tool) in offered)
    others = dict.fromkeys(
        f"`{excerpt(toolset if tool == '*' else tool)}`"
        for name, toolset, tool in sources
        if (name, tool) not in offered
    )
    more = f" and {len(others) - MANY} more" if len(others) > MANY else ""
    parts = [
        f"; {', '.join(searches)} still brings words if its model has it" if searches else "",
        f"; {', '.join([*others][:MANY])}{more} may still bring words" if others else "",
    ]
    return "".join(parts)


def unsure_of(flow: Flow) -> tuple[list[Spot], list[Spot]]:
    """The tools that may bring the words, without those that surely do, and those by which something gets out then."""
    sure = {*sources_of(flow)}
    sources = [(each.worker, each.toolset, each.tool) for each in flow.unsure_sources]
    ends = [(each.worker, each.toolset, each.tool) for each in flow.unsure_ends]
    return [each for each in sources if each not in sure], [
        each for each in ends if each[2] not in _WITH_COMMANDS
    ]


def spots_of(flow: Flow) -> Iterator[Spot]:
    """All tools of a flow, also of what may be left of it."""
    yield from (*sources_of(flow), *private_of(flow), *ends_of(flow), *chain(*unsure_of(flow)))


def sources_of(flow: Flow) -> list[Spot]:
    """The tools that bring the words."""
    return [(each.worker, each.toolset, each.tool) for each in flow.sources]


def private_of(flow: Flow) -> list[Spot]:
    """The tools that return private data."""
    return [(each.worker, each.toolset, each.tool) for each in flow.private]


def ends_of(flow: Flow) -> list[Spot]:
    """The tools by which something gets out."""
    return [(each.worker, each.toolset, each.tool) for each in flow.ends]


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
        if _is_in_one_list(its, at) and list_without(at, each[2])
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


def without_files(agent: Agent, form: str) -> str | None:
    """The edit by which an agent no longer changes the files that its commands run."""
    writing = {
        grant.tool: grant.rule_at or grant.at
        for grant in agent.grants
        if grant.decision == "allowed" and Capability("fs.write") in grant.capabilities
    }
    if not writing:
        return None
    at = place(next(iter(writing.values())).location)
    is_claude = form == "github-actions" and "Edit" in writing
    tools = ",".join(sorted(writing))
    change = f"write `--disallowedTools {tools}` in `claude_args`" if is_claude else f"deny `{tools}`"
    return f"{change} ({at}); it then changes no files"


def calling(agent: Agent) -> Place | None:
    """The tool of Copilot in an agent's list by which it calls those that its file names."""
    listed = agent.header.get(HEADER)
    if not agent.calls or not isinstance(listed, list) or "agent" not in listed:
        return None
    return Place(agent.at.document, (HEADER, listed.index("agent")))


def is_like(tool: str, given: str) -> bool:
    """Whether a tool is the one that is given, or a part of it."""
    return tool == given or tool.startswith((f"{given}(", f"{given}/"))


def lost_as_well(project: Foreign, given: Grant, worker: str) -> str:
    """The other agents that have no tools of a server either once its declaration is gone."""
    others = [
        f"`{excerpt(name)}`"
        for name, agent in named(project.team.agents).items()
        if name != worker and any(each.server and each.at == given.at for each in agent.grants)
    ]
    more = f" and {len(others) - MANY} more" if len(others) > MANY else ""
    return f"; {', '.join(others[:MANY])}{more} lose{'s' * (len(others) == 1)} them as well" if others else ""
