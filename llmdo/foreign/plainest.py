"""The plainest of the rules by which an agent runs any command, and of those by which it reads strangers' words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.foreign.commands import obscurity
from llmdo.reach.risks import SHELL
from llmdo.reach.rows import Hop

if TYPE_CHECKING:
    from llmdo.reach.flows import FlowRow, UnaskedFlow

_OF_GH = re.compile(r"\(gh (?P<noun>\w+) (?P<verb>[\w-]+)")
_SHOWS = ("view", "list", "diff")
"""What GitHub's own program shows what people wrote by, the surest first."""


def plainest(flow: UnaskedFlow) -> FlowRow:
    """The row of a flow, with the surest of the commands of GitHub that bring words.

    Of one by any command, with the plainest of its agent's rules that allow one.
    """
    row = _with_surest_words(flow)
    if row.capability.name != SHELL or row.tool.find("(") < 1:  # no rule, or the start of a server
        return row
    alike = [each for each in flow.ends if (each.rank, each.worker) == (flow.rank, row.path[-2].name)]
    ruled = [each for each in alike if each.tool.find("(") > 0]
    best = min(ruled, key=lambda each: obscurity(each.tool), default=None)
    if best is None or obscurity(best.tool) >= obscurity(row.tool):
        return row
    path = (*row.path[:-1], Hop(best.toolset, None))
    if (row.private, row.private_tool) == (row.path, row.tool):
        row = replace(row, private=path, private_tool=best.tool)
    return replace(row, path=path, tool=best.tool)


def _with_surest_words(flow: UnaskedFlow) -> FlowRow:
    """The row of a flow, with a command that shows what people write in place of one that shows checks or the like."""
    row = flow.row
    if not row.source or _unsureness(row.source_tool) != len(_SHOWS):
        return row
    alike = [each for each in flow.sources if each.worker == row.source[-2].name]
    best = min(alike, key=lambda each: (_unsureness(each.tool), each.tool), default=None)
    if best is None or _unsureness(best.tool) >= len(_SHOWS):
        return row
    return replace(row, source=(*row.source[:-1], Hop(best.toolset, None)), source_tool=best.tool)


def _unsureness(tool: str) -> int:
    """How unsure it is that a command of GitHub shows what people wrote, from 0; most of all, of any other tool."""
    command = _OF_GH.search(tool)
    if command is None:
        return len(_SHOWS) + 1
    verb = command["verb"]
    return _SHOWS.index(verb) if verb in _SHOWS else len(_SHOWS)
