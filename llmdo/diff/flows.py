"""The effects of entries after a stranger's words, compared: facts that no line of a lock has by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.diff.difference import Change
from llmdo.policy.authority import STRICTNESS
from llmdo.reach.flows import after_strangers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llmdo.diff.difference import Effect
    from llmdo.policy.authority import Capability
    from llmdo.reach import Analysis
    from llmdo.reach.flows import FlowRow

AFTER_STRANGERS = "after a stranger's words"


def flow_changes(before: Analysis, after: Analysis) -> Iterator[Change]:
    """The effects after a stranger's words with another decision than before, by entry, if either graph states flows.

    Only for entries of both graphs; capabilities that an entry reaches on one side alone are left to its rows.
    """
    if not (before.graph.all_flows or after.graph.all_flows):
        return
    for name in sorted(before.graph.entries.keys() & after.graph.entries.keys()):
        sides = [
            {row.capability: row for row in after_strangers(side, side.graph.entries[name])}
            for side in (before, after)
        ]
        reached = [{row.capability for row in side.of(side.graph.entries[name])} for side in (before, after)]
        for capability in sorted({*sides[0], *sides[1]}, key=str):
            old, new = (side.get(capability) for side in sides)
            if all(capability in rows for rows in reached) and _decision(old) != _decision(new):
                yield _change(name, capability, old, new)


def _change(entry: str, capability: Capability, old: FlowRow | None, new: FlowRow | None) -> Change:
    return Change(
        route=("entry", entry, AFTER_STRANGERS, str(capability)),
        before=_words(old),
        after=_words(new),
        effect=_effect(old, new),
        entries=(entry,),
    )


def _effect(old: FlowRow | None, new: FlowRow | None) -> Effect:
    """A new way that nobody is asked about is as much as a gain; one that asks is none."""
    if new is None or (old is not None and STRICTNESS[new.decision] > STRICTNESS[old.decision]):
        return "narrows"
    return "widens" if old is not None or new.decision == "allowed" else "none"


def _decision(row: FlowRow | None) -> str | None:
    return row.decision if row else None


def _words(row: FlowRow | None) -> str | None:
    if row is None:
        return None
    legs = (" > ".join(hop.name for hop in leg) for leg in (row.source, row.path))
    return f"{row.decision}: {' => '.join(legs)}"
