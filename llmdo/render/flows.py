"""The abilities of entries after a stranger's words were read: as a table and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.colour import PAPER
from llmdo.base.diagnostic import shown
from llmdo.reach.flows import legs_text
from llmdo.render.reach import SHADES, steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llmdo.base.colour import Screen, Shade
    from llmdo.policy.vocabulary import Danger, Decision
    from llmdo.reach.flows import FlowRow

TITLE = "after a stranger's words"
_HEADINGS = (TITLE, "decision", "path")
DANGERS: dict[Decision, Danger] = {"allowed": "high", "needs_approval": "medium", "blocked": "none"}
"""An effect that a stranger may choose is grave, whatever it is."""


def text(rows: Sequence[FlowRow], screen: Screen = PAPER) -> str:
    """A line a capability, the two legs of its way in one; nothing if no stranger's words come in."""
    cells = [_HEADINGS, *((str(row.capability), row.decision, legs(row)) for row in rows)]
    if not rows:
        return f"  {screen.paint('dim', TITLE)}  nothing\n"
    widths = [max(len(line[column]) for line in cells) for column in range(2)]
    lines = []
    for number, (capability, decision, path) in enumerate(cells):
        shade: Shade = SHADES[DANGERS[rows[number - 1].decision]] if number else "dim"
        start = screen.paint("strong" if number else "dim", shown(capability).ljust(widths[0]))
        lines.append(f"  {start}  {screen.paint(shade, decision.ljust(widths[1]))}  {path}")
    return "\n".join(lines) + "\n"


def markdown(rows: Sequence[FlowRow]) -> str:
    """The same as a Markdown table."""
    if not rows:
        return f"\nNothing {TITLE}.\n"
    lines = ["", f"| {' | '.join(_HEADINGS)} |", "|" + " --- |" * len(_HEADINGS)]
    lines += [f"| `{row.capability}` | {row.decision} | {legs(row).replace('|', '&#124;')} |" for row in rows]
    return "\n".join(lines) + "\n"


def why(row: FlowRow) -> str:
    """Both legs of a row, with file and line of each step's permission, and the decision then."""
    lines = [f"{TITLE}, {shown(str(row.capability))}: {row.decision}"]
    lines += steps(row.source, f" ({shown(row.source_tool)})") if row.source else ["  the input"]
    lines += ["  =>", *steps(row.path, f" ({shown(row.tool)})")]
    lines += [f"  because {shown(str(reason))}" for reason in row.reasons]
    return "\n".join(lines) + "\n"


def legs(row: FlowRow) -> str:
    """The way of the words in, and the way from there to the call, as they are shown."""
    return shown(legs_text(row))
