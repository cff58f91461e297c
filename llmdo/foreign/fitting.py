"""The values of a reader of an extension, held against what llmdo goes on with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.codes import CODES
from llmdo.base.diagnostic import Diagnostic, excerpt
from llmdo.base.source import Location, Source
from llmdo.extensions.fitting import OF_FINDINGS, finding_fault, misfit
from llmdo.foreign.lines import Line
from llmdo.foreign.team import Team
from llmdo.graph.described import Server
from llmdo.graph.start import Start
from llmdo.policy.authority import Capability
from llmdo.policy.vocabulary import Decision
from llmdo.reach.shapes import Assurance
from llmdo.syntax.document import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_TEAMS = (
    *OF_FINDINGS,
    ("Capability", Capability),
    ("Decision", Decision),
    ("Diagnostic", Diagnostic),
    ("Place", Place),
    ("Server", Server),
    ("Source", Source),
    ("Start", Start),
)
_OF_LINES = (("Assurance", Assurance), ("Decision", Decision))


def team_fault(team: Team, form: str) -> str | None:
    """A clause about what is wrong with the team that a reader of the format `form` returns; None if nothing is."""
    if fault := misfit(team, Team, _OF_TEAMS):
        return fault
    if team.format != form:
        return f"its `format` is `{excerpt(team.format)}`"
    faults = (
        *(misfit(place.location, Location) for place in _places(team)),
        *(finding_fault(problem, CODES) for problem in team.problems),
    )
    return next(filter(None, faults), None)


def table_fault(table: tuple[Line, ...]) -> str | None:
    """A clause about what is wrong with the table of a format; None if nothing is."""
    if type(table) is not tuple:
        return "`TABLE` is not a tuple"
    return next(filter(None, (misfit(line, Line, _OF_LINES) for line in table)), None)


def _places(team: Team) -> Iterator[Place]:
    """The places of agents, of their tools and of their calls."""
    for agent in team.agents:
        yield agent.at
        yield from (grant.at for grant in (*agent.grants, *agent.events))
        yield from (call.at for call in agent.calls)
        yield from (start.at for start in agent.starts)
