"""Sessions as text for people and as the JSON document `llmdo.sessions/1`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import excerpt, joined, shown
from llmdo.base.jsonable import document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llmdo.features.hook.kept import SessionSummary


def as_json(sessions: Sequence[SessionSummary]) -> str:
    """The document `llmdo.sessions/1`."""
    return document("llmdo.sessions/1", {"sessions": sessions}, in_ascii=True)


def as_text(sessions: Iterable[SessionSummary]) -> Iterator[str]:
    """The lines about sessions: two for each, and more where the chain does not hold."""
    for each in sessions:
        began = f"{datetime.fromtimestamp(each.began, UTC):%Y-%m-%d %H:%M:%S}Z"
        counts = f"{each.allowed:,} allowed, {each.asked:,} asked, {each.denied:,} denied"
        chain = "the chain holds" if each.chain == "holds" else "the chain is broken"
        yield f"{each.name}  {began}  {counts}, {chain}{', being written' if each.is_open else ''}"
        yield f"    {joined([excerpt(agent) for agent in each.agents], ', ') or 'no calls'}"
        if each.faults:
            yield f"    {joined([shown(fault) for fault in each.faults])}"
