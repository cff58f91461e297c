"""How a run ended, and what it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from pydantic_ai.usage import RunUsage

    from llmdo.runtime.ledger import DeniedCall
    from llmdo.runtime.telemetry.events import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What model requests and tools have used."""

    requests: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal | None
    """None where no price is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended and what it took."""

    run: str
    """The run's id."""
    entry: str
    status: Status
    output: str | None
    """None where it did not complete."""
    reached: str | None
    """Where it did not complete, the last that the entry's worker said."""
    error: str | None
    """Why it did not complete, in one sentence."""
    usage: Usage
    """Of the whole tree."""
    usage_by_worker: Mapping[str, Usage]
    denied: tuple[DeniedCall, ...]
    """The calls that the gate did not let through, in the order in which they were refused."""


def usage_of(used: RunUsage) -> Usage:
    """The usage that pydantic-ai counted."""
    return Usage(
        requests=used.requests,
        tool_calls=used.tool_calls,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cost_usd=used.cost,
    )
