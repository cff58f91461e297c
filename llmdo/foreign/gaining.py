"""What an agent gains by calling another one: the part that counts, and the places that bring it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import Related
from llmdo.base.values import replace
from llmdo.foreign import legs
from llmdo.foreign.decisions import STARTS
from llmdo.foreign.flows import UNKNOWN
from llmdo.foreign.instead import MANY, runs_commands
from llmdo.reach.risks import SHELL, is_in_a_shell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.base.source import Location
    from llmdo.foreign import Foreign
    from llmdo.reach.risks import Gain
    from llmdo.reach.rows import Row


def beside_a_shell(project: Foreign, gain: Gain, rows: Iterable[Row]) -> Gain | None:
    """The part of a gain that an entry with these rows does not have by any command through another agent as well."""
    shells = (row for row in rows if row.capability.name == SHELL and row.assurance == "open")
    if not any(row.decision == "allowed" and row not in gain.rows for row in shells):
        return gain
    left = tuple(
        row for row in gain.rows if not is_in_a_shell(row.capability) and not _is_by_commands(project, row)
    )
    return replace(gain, rows=left) if left else None


def _is_by_commands(project: Foreign, row: Row) -> bool:
    """Whether only commands raise a row, as those that use the token of a person: any other shell runs them too."""
    raising = [each for each in legs.grants_of(project, _leg_of(row)) if row.capability in each.capabilities]
    return bool(raising) and all(map(runs_commands, raising))


def unasked_part(gain: Gain) -> Gain | None:
    """The part of a gain about which nobody is asked, without tools of which nothing is known, unless it has no other.

    Whoever is asked knows; the table has the rest. The start of a server alone is nobody's choice. A part of what is
    gained as a whole is not named again.
    """
    known = tuple(row for row in gain.unasked if not UNKNOWN.fullmatch(row.capability.name))
    if all(row.capability == STARTS for row in gain.unasked):
        return None
    rows = known or gain.unasked
    whole = {each.capability.name for each in rows if each.capability.is_everywhere}
    return replace(
        gain,
        rows=tuple(
            each for each in rows if each.capability.is_everywhere or each.capability.name not in whole
        ),
    )


def brought_at(project: Foreign, rows: Sequence[Row]) -> Iterator[Related]:
    """The place of the tool that brings the first row: of several rules about one, those that raise what is gained."""
    caller, hop = rows[0].path[-2:]
    places: dict[Location, str] = {}
    for row in rows:
        given = legs.grant_of(project, _leg_of(row)) if row.path == rows[0].path else None
        if given and given.at.location not in places:
            places[given.at.location] = (
                f"`{row.capability}` by this" if places else f"`{caller.name}` uses `{hop.name}`"
            )
    if not places and hop.use:
        places[hop.use.at.location] = f"`{caller.name}` uses `{hop.name}`"
    for at, text in [*places.items()][:MANY]:
        yield Related(at, text)


def _leg_of(row: Row) -> legs.FlowLeg:
    """A row as the end of a leg, for what is known of its tool."""
    return legs.FlowLeg("", row.path, row.tool, capability=row.capability.name)
