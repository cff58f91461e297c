"""The reach of entries, of a workspace or of a foreign project, in each format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from llmdo.base.colour import PAPER
from llmdo.base.jsonable import document, record
from llmdo.reach import Row
from llmdo.render import flows
from llmdo.render import reach as render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from llmdo.base.colour import Screen
    from llmdo.base.jsonable import Shapes
    from llmdo.services.reach import ReachOutcome


def rendered(outcome: ReachOutcome, form: Literal["text", "json", "markdown"], screen: Screen = PAPER) -> str:
    """The reach in a format; as text it is drawn for the screen."""
    foreign, files_of = outcome.foreign, outcome.files_of
    if form == "json":
        return _json(outcome)
    if foreign is None:
        if form == "text":
            return "\n".join(
                render.text(entry.name, entry.depth, entry.rows, screen, files_of)
                + render.obedience(entry.enforcement)
                + ("" if entry.after is None else f"\n{flows.text(entry.after, screen)}")
                for entry in outcome.entries
            )
        return "\n".join(
            render.markdown(entry.name, entry.depth, entry.rows, files_of)
            + _paragraph(render.obedience(entry.enforcement))
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


def _paragraph(lines: str) -> str:
    """Lines for a terminal in Markdown, as they are."""
    return f"\n```\n{lines}```\n" if lines else ""


class _Numbered:
    """Values that many rows share, each of them once, in the form that `shape` gives it."""

    def __init__(self, shape: Callable[[Any], object]) -> None:
        self._shape = shape
        self._numbers: dict[str, int] = {}
        self.values: list[object] = []

    def of(self, values: Iterable[object]) -> list[int]:
        """The number of each of these."""
        return [self._of(self._shape(each)) for each in values]

    def _of(self, value: object) -> int:
        number = self._numbers.setdefault(repr(value), len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


def _json(outcome: ReachOutcome) -> str:
    """The reach in the form `llmdo.reach/2`: a row's `path` and `reasons` are numbers of `steps` and `reasons`."""
    steps, reasons = _Numbered(render.hop_data), _Numbered(str)

    def row_data(row: Row) -> dict[str, object]:
        return {**render.call_data(row), "path": steps.of(row.path), "reasons": reasons.of(row.reasons)}

    shapes: Shapes = {**render.SHAPES, Row: row_data}
    keys = record(outcome, shapes=shapes)
    shared = {"steps": steps.values, "reasons": reasons.values}
    return document("llmdo.reach/2", keys, shared, is_folded=True)
