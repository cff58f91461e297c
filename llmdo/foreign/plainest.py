"""The plainest of the rules by which an agent runs any command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import replace
from llmdo.foreign.commands import obscurity
from llmdo.reach.risks import SHELL
from llmdo.reach.rows import Hop

if TYPE_CHECKING:
    from llmdo.reach.flows import FlowRow, UnaskedFlow


def plainest(flow: UnaskedFlow) -> FlowRow:
    """The row of a flow; of one by any command, with the plainest of its agent's rules that allow one."""
    row = flow.row
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
