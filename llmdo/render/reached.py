"""The reach of entries, of a workspace or of a foreign project, in each format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from llmdo.base.colour import PAPER
from llmdo.base.jsonable import document
from llmdo.render import flows
from llmdo.render import reach as render

if TYPE_CHECKING:
    from llmdo.base.colour import Screen
    from llmdo.services.reach import ReachOutcome


def rendered(outcome: ReachOutcome, form: Literal["text", "json", "markdown"], screen: Screen = PAPER) -> str:
    """The reach in a format; as text it is drawn for the screen."""
    foreign, files_of = outcome.foreign, outcome.files_of
    if form == "json":
        return document("llmdo.reach/1", outcome, shapes=render.SHAPES)
    if foreign is None:
        if form == "text":
            return "\n".join(
                render.text(entry.name, entry.depth, entry.rows, screen, files_of)
                + ("" if entry.after is None else f"\n{flows.text(entry.after, screen)}")
                for entry in outcome.entries
            )
        return "\n".join(
            render.markdown(entry.name, entry.depth, entry.rows, files_of)
            + ("" if entry.after is None else flows.markdown(entry.after))
            for entry in outcome.entries
        )
    from llmdo.foreign import summary
    from llmdo.render import foreign as drawn
    from llmdo.render.page import page

    groups = drawn.alike((foreign.graph.entries[entry.name], entry.rows) for entry in outcome.entries)
    if form == "text":
        return drawn.text(foreign.team.format, groups)
    return page(foreign, summary.check(foreign), groups)
