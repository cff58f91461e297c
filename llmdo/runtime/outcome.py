"""How a run ended, and what it took."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.usage import RequestUsage, RunUsage

    from llmdo.base.backtrace import Frame
    from llmdo.journal.decided import DecidedCall
    from llmdo.runtime.telemetry.events import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What model requests and tools have used."""

    requests: int
    tool_calls: int
    input_tokens: int | None
    output_tokens: int | None
    """None where no request was measured, as of a scripted model."""
    cost_usd: Decimal | None
    """None where no price is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended and what it took."""

    run: str
    """The run's id."""
    entry: str
    status: Status
    """`truncated` is a completed run whose output was cut off, as programs are told: see `told_to_programs`."""
    output: str | None
    """None where it did not complete; JSON where it `is_typed`."""
    value: object = None
    """The output as code has it: text, or what its type says; of a run read from its journal, plain data."""
    reached: str | None
    """Where it did not complete, the last that the entry's worker said."""
    error: str | None
    """Why it did not complete, in one sentence."""
    hint: str | None = None
    """What can be done about it, where somebody knows."""
    diverged: bool = False
    """Whether it did something else than its journal says, so that it cannot go on from there."""
    out_of_quota: bool = False
    """Whether it ended because the quota of a provider is used up."""
    truncated: str | None = None
    """Why the output ends before it is complete, such as at the limit of its tokens; None where it is whole."""
    is_typed: bool = False
    """Whether the output is something else than text."""
    frames: tuple[Frame, ...] = ()
    """Where code of the workspace failed, the innermost first; nothing where it was something else."""
    usage: Usage
    """Of the whole tree."""
    usage_by_worker: Mapping[str, Usage]
    unpriced: int = 0
    """The answers of which no price is known, which the cost is without."""
    labels: Mapping[str, object] | None = None
    """What the entry's worker has read by the words of flow rules, for a run that goes on from it; None without any."""
    denied: tuple[DecidedCall, ...]
    """The calls that the gate did not let through, in the order in which they were refused."""
    messages: tuple[ModelMessage, ...] = field(default=(), compare=False, repr=False)
    """What the entry's worker was told and answered, from the beginning of its history on, as far as it came.

    None of code; nor of a complete run that is resumed, where the journal of an earlier one is gone. A later run takes
    them as its `message_history`.
    """
    new_messages: tuple[ModelMessage, ...] = field(default=(), compare=False, repr=False)
    """Those of them that came in this run."""


def told_to_programs(outcome: RunOutcome) -> RunOutcome:
    """The outcome as code gets it, which may look at nothing but the status: an output that was cut off says so."""
    if outcome.status == "completed" and outcome.truncated:
        return replace(outcome, status="truncated")
    return outcome


def usage_of(used: RunUsage) -> Usage:
    """The usage that pydantic-ai counted."""
    sent, received = measured(used)
    return Usage(
        requests=used.requests,
        tool_calls=used.tool_calls,
        input_tokens=sent,
        output_tokens=received,
        cost_usd=used.cost,
    )


def measured(used: RunUsage | RequestUsage) -> tuple[int, int] | tuple[None, None]:
    """The tokens sent and received; None where all that was used is unmeasured."""
    if used.unmeasured_requests and not (used.input_tokens or used.output_tokens):
        return None, None
    return used.input_tokens, used.output_tokens
