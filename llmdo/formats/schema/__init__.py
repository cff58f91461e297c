"""Document x format -> its data without the faulty parts, and a finding for each fault.

`schemas/` is generated from `llmdo.formats.documents` by `generation`, `acceptance` tells whether data fits a schema,
`validation` finds the faults, `wording` tells the user. The three formats are those files', so editors show the rules
by which `check` judges.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from llmdo.base import parts
from llmdo.base.values import dataclass, replace
from llmdo.formats.schema.acceptance import Format, accepts, accepts_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llmdo.base.diagnostic import Diagnostic
    from llmdo.base.source import Span
    from llmdo.base.values import Json
    from llmdo.syntax.document import Document, Route

MAX_FAULTS = 2_000  # of one file: it was made to be slow, or is another kind of file

__all__ = ["Format", "Judged", "accepts", "accepts_part", "judge"]


@dataclass(frozen=True, slots=True)
class Judged:
    """The faults of a document, and its valid part."""

    data: Mapping[str, Json] | None
    """The data without the faulty parts, which its format accepts; None if the whole is invalid."""
    problems: tuple[Diagnostic, ...]
    """Every fault, in no order; empty exactly if the format accepts the document as it is."""
    document: Document
    """The document with `data`, if there is any: its routes lead to the same places in the text."""


def judge(document: Document, form: Format) -> Judged:
    """The document judged by its format.

    A fault removes as little as can be: a value goes with its key, an item from its list, and a table that lacks a
    required key as a whole. So one mistake does not hide the rest of the file. If there are very many, the first are
    found and nothing is left.
    """
    if accepts(document.data, form):
        return Judged(document.data, (), document)
    from llmdo.formats.schema.validation import (
        faults,  # these two are slow to load, and a clean file never needs them
    )
    from llmdo.formats.schema.wording import findings

    mistakes = tuple(islice(faults(document.data, form), MAX_FAULTS))
    problems = tuple(findings(document, form, mistakes))
    if len(mistakes) == MAX_FAULTS:
        return Judged(None, problems, document)
    rest = document
    while mistakes:
        routes = {fault.route for fault in mistakes}
        if () in routes:
            return Judged(None, problems, document)
        rest = _without(rest, routes)
        mistakes = tuple(faults(rest.data, form))
    return Judged(rest.data, problems, rest)


def _without(document: Document, routes: Iterable[Route]) -> Document:
    """The document without the values at the routes."""
    gone = frozenset(routes)
    moved = cache(lambda: _moved(document.index(), gone))
    return replace(document, data=_pruned(document.data, gone), index=moved)


def _pruned(table: Mapping[str, Json], routes: Iterable[Route]) -> dict[str, Json]:
    """A copy of a table without the values at the routes; all other parts are shared with it."""
    below = _below(routes)
    return {
        key: _pruned_part(part, below[key]) if key in below else part
        for key, part in table.items()
        if () not in below.get(key, ())
    }


def _pruned_part(part: Json, routes: Iterable[Route]) -> Json:
    if isinstance(part, dict):
        return _pruned(part, routes)
    below = _below(routes)
    return [
        _pruned_part(item, below[number]) if number in below else item
        for number, item in enumerate(parts.items(part))
        if () not in below.get(number, ())
    ]


def _below(routes: Iterable[Route]) -> dict[str | int, set[Route]]:
    """The first steps of the routes, each to the rest of its routes."""
    below: dict[str | int, set[Route]] = defaultdict(set)
    for step, *rest in routes:
        below[step].add(tuple(rest))
    return below


def _moved(
    index: Mapping[Route, tuple[Span, Span]], gone: frozenset[Route]
) -> dict[Route, tuple[Span, Span]]:
    """The index by the remaining routes: items move up if one before them is gone."""
    before: dict[Route, list[int]] = defaultdict(list)
    for *parent, step in gone:
        if isinstance(step, int):
            insort(before[tuple(parent)], step)
    moved = {}
    for route, spans in index.items():
        above = [route[:length] for length in range(len(route))]
        if gone.isdisjoint((*above, route)):
            steps = (
                step - bisect_left(before.get(parent, ()), step) if isinstance(step, int) else step
                for parent, step in zip(above, route, strict=True)
            )
            moved[tuple(steps)] = spans
    return moved
