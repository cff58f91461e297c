"""The legs of a flow: the tool at the end of each, and the line that gives or allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from llmdo.base.diagnostic import Related
from llmdo.foreign.building import named, named_events
from llmdo.foreign.edits import NUMBERED, way_text
from llmdo.policy.authority import gravity
from llmdo.policy.vocabulary import UNTRUSTED, WORST_FIRST
from llmdo.reach.flows import leg_text
from llmdo.reach.rows import Hop

if TYPE_CHECKING:
    from llmdo.foreign import Foreign
    from llmdo.foreign.edits import Spot
    from llmdo.foreign.flows import Flow
    from llmdo.foreign.team import Grant
    from llmdo.syntax.document import Place

_NO_GRAVITY = (len(WORST_FIRST), "")


class FlowLeg(NamedTuple):
    """The way to the tool at the end of one leg of a flow."""

    what: str
    path: tuple[Hop, ...]
    tool: str
    is_ruled: bool = False
    """Whether a rule that allows the tool is its place, before what gives the tool."""
    capability: str = ""
    """The name of the capability that its end raises; empty for any."""


def places(project: Foreign, flow: Flow) -> list[Related]:
    """The place that allows each leg."""
    return [
        Related(at.location, f"{leg.what}: `{leg_text(leg.path, leg.tool)}`")
        for leg in legs_of(flow)
        if (at := place_of(project, leg))
    ]


def legs_of(flow: Flow) -> tuple[FlowLeg, FlowLeg, FlowLeg]:
    """The legs of a flow: a stranger's words, private data and the way out."""
    row = flow.row
    return (
        FlowLeg("a stranger's words", row.source, row.source_tool, capability=UNTRUSTED),
        FlowLeg("private data", row.private, row.private_tool),
        FlowLeg(
            way_text(flow).partition(",")[0],
            row.path,
            row.tool,
            is_ruled=True,
            capability=row.capability.name,
        ),
    )


def leg_of(spot: Spot) -> FlowLeg:
    """A tool of a worker as the end of a leg."""
    worker, toolset, tool = spot
    return FlowLeg("", (Hop(worker, None), Hop(toolset, None)), tool, is_ruled=True)


def is_called(project: Foreign, leg: FlowLeg) -> bool:
    """Whether what a file says about a leg is the call of an agent that is built in."""
    agent = named(project.team.agents).get(leg.path[-2].name) if len(leg.path) > 2 else None
    return agent is not None and not agent.path and leg.path[1].use is not None


def place_of(project: Foreign, leg: FlowLeg) -> Place | None:
    """The place that gives the tool at the end of a leg, or the rule that allows it."""
    if given := grant_of(project, leg):
        caller = named(project.team.agents).get(leg.path[-2].name)
        if caller and not caller.path and len(leg.path) > 2 and leg.path[1].use:
            return leg.path[1].use.at  # built in: what calls it is what a file says
        rule = given.rule_at if leg.is_ruled else None
        if rule and rule.location.path.endswith("/SKILL.md") and given.at.location.path != rule.location.path:
            rule = None  # a skill spares questions; what an agent has says its own file
        return rule or given.at
    use = leg.path[-1].use if leg.path else None
    return use.at if use else None


def grant_of(project: Foreign, leg: FlowLeg) -> Grant | None:
    """The grant of the tool at the end of a leg, or what is run at an event."""
    if len(leg.path) < 2:
        return None
    agents = named(project.team.agents)
    of_events = {worker: agents[name].events for name, worker in named_events(agents).items()}
    agent = agents.get(leg.path[-2].name)
    given = agent.grants if agent else of_events.get(leg.path[-2].name, ())
    toolset = NUMBERED.sub("", leg.path[-1].name)
    grants = [each for each in given if (each.toolset, each.tool) == (toolset, leg.tool)]

    def strictness(grant: Grant) -> tuple[bool, bool, tuple[int, str]]:
        raised = {each.name for each in grant.capabilities}
        lacks = bool(leg.capability) and leg.capability not in raised
        return grant.decision != "allowed", lacks, min(map(gravity, grant.capabilities), default=_NO_GRAVITY)

    return min(grants, key=strictness, default=None)
