"""The outcome of a run and its usage."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from llmdo.base.values import also_in_json, in_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.usage import RequestUsage, RunUsage

    from llmdo.base.backtrace import Frame
    from llmdo.journal.decided import DecidedCall
    from llmdo.runtime.telemetry.events import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The usage of model requests and tools."""

    requests: int
    tool_calls: int
    input_tokens: int | None
    output_tokens: int | None
    """None if no request was measured, as of a scripted model."""
    cost_usd: Decimal | None
    """None if no price is known."""


def _refused(denied: Iterable[DecidedCall]) -> list[Mapping[str, object]]:
    return [
        {"path": call.path, "tool": call.tool, "decision": call.decision, "reasons": call.why}
        for call in denied
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The outcome of a run and its usage."""

    run: str
    entry: str = field(metadata=in_json(part=None))
    status: Status
    """For programs, `truncated` is a completed run with a cut-off output: see `told_to_programs`."""
    output: str | None
    """None if it did not complete; JSON if it `is_typed`."""
    value: object = field(default=None, metadata=in_json(part=None))
    """For code: text, or a value of its type; of a run read from its journal, plain data."""
    reached: str | None
    """The last text of the entry's worker, if the run did not complete."""
    error: str | None = field(metadata=in_json(after="output"))
    """Why it did not complete, in one sentence."""
    hint: str | None = field(default=None, metadata=in_json(after="error"))
    """A remedy, if known."""
    diverged: bool = field(default=False, metadata=in_json(part=None))
    """Whether it deviated from its journal, so that it cannot continue from there."""
    out_of_quota: bool = field(default=False, metadata=in_json(part=None))
    """Whether a provider's used-up quota ended it."""
    truncated: str | None = field(default=None, metadata=in_json(after="output"))
    """Why the output is incomplete, such as at the limit of its tokens; None if it is whole."""
    is_typed: bool = field(default=False, metadata=in_json(part=None))
    """Whether the output is not text."""
    frames: tuple[Frame, ...] = field(default=(), metadata=in_json(after="hint"))
    """The workspace's failing code, innermost first; empty for another failure."""
    usage: Usage
    """Of the whole tree."""
    usage_by_worker: Mapping[str, Usage]
    unpriced: int = field(default=0, metadata=in_json(part=None))
    """Answers without a known price, which the cost leaves out."""
    labels: Mapping[str, object] | None = field(default=None, metadata=in_json(part=None))
    """The labels that the entry's worker has read, for a run that continues this one; None without any."""
    denied: tuple[DecidedCall, ...] = field(metadata=in_json(by=_refused))
    """The calls that the gate refused, in order."""
    messages: tuple[ModelMessage, ...] = field(
        default=(), compare=False, repr=False, metadata=in_json(part=None)
    )
    """The messages of the entry's worker, from the beginning of its history; may be incomplete.

    None for code, nor for a complete run that is resumed without the journal of an earlier one. A later run takes
    them as its `message_history`.
    """
    new_messages: tuple[ModelMessage, ...] = field(
        default=(), compare=False, repr=False, metadata=in_json(part=None)
    )
    """Those added in this run."""

    @property
    @also_in_json("output")
    def plain_output(self) -> object:
        """The output as plain data, if it `is_typed`; text otherwise."""
        return json.loads(self.output) if self.is_typed and self.output is not None else self.output


def told_to_programs(outcome: RunOutcome) -> RunOutcome:
    """The outcome for code, which may look only at the status: a cut-off output makes it `truncated`."""
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
    """The tokens sent and received; None if nothing was measured."""
    if used.unmeasured_requests and not (used.input_tokens or used.output_tokens):
        return None, None
    return used.input_tokens, used.output_tokens
