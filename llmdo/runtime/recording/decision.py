"""A decision of the gate as the journal has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llmdo.policy.authority import Capability
from llmdo.runtime.recording.replay_mode import RecordedDecision
from llmdo.runtime.telemetry.events import Decided

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_DECIDED = ("worker", "toolset", "tool", "decision", "allowed", "by", "changed")
"""What the journal keeps of a decision as it is; the arguments are in the response that made the call."""


def record_of(told: RecordedDecision, declared: Sequence[Capability], *, asks: bool) -> dict[str, Any]:
    """A decision as plain data; `declared` is the most that the call could have raised.

    `asks` says whether somebody was to be asked whatever the rules say.
    """
    decided = told.decided
    return {
        **{name: getattr(decided, name) for name in _DECIDED},
        "raised": [str(one) for one in decided.raised],
        "declared": [str(one) for one in declared],
        "asks": asks,
        "reasons": decided.reasons,
        "refusal": told.refusal,
        "told": told.told,
    }


def decision_in(path: str, said: Mapping[str, Any]) -> RecordedDecision:
    """The decision that `record_of` described, on the call at `path`; its arguments are those that the call has."""
    decided = Decided(
        path=path,
        arguments={},
        raised=tuple(map(Capability.parse, said["raised"])),
        reasons=tuple(said["reasons"]),
        **{name: said[name] for name in _DECIDED},
    )
    return RecordedDecision(decided=decided, refusal=said["refusal"], told=tuple(said["told"]))
