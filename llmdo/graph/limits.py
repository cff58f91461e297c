"""The budgets of an entry: those of one run, and those of all runs of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.values import dataclass, field
from llmdo.graph.keys import PLAIN, Key, written

if TYPE_CHECKING:
    from llmdo.graph.keys import Written


def _budget(key: str, form: str, doc: str) -> dict[str, Written]:
    return written(PLAIN, lock=Key(key, form, doc), effect="amount")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Budgets that the whole tree of an entry shares; None is no limit."""

    requests: int | None = field(
        default=None, metadata=_budget("requests", "Positive", "Model requests of the whole tree.")
    )
    input_tokens: int | None = field(
        default=None, metadata=_budget("input-tokens", "Positive", "Tokens sent, of the whole tree.")
    )
    output_tokens: int | None = field(
        default=None, metadata=_budget("output-tokens", "Positive", "Tokens received, of the whole tree.")
    )
    total_tokens: int | None = field(
        default=None, metadata=_budget("total-tokens", "Positive", "Tokens of the whole tree.")
    )
    tool_calls: int | None = field(
        default=None, metadata=_budget("tool-calls", "Positive", "Tool calls of the whole tree.")
    )
    cost_usd: float | None = field(
        default=None,
        metadata=_budget("cost-usd", "Annotated[float, Gt(0)]", "Cost of the whole tree in US dollars."),
    )
    seconds: float | None = field(
        default=None, metadata=_budget("seconds", "Annotated[float, Gt(0)]", "Time for the whole run.")
    )
    requests_per_minute: int | None = field(
        default=None, metadata=_budget("requests-per-minute", "Positive", "Model requests a minute.")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationLimits:
    """Budgets that all runs of a conversation share; None is no limit."""

    requests: int | None = field(
        default=None, metadata=_budget("requests", "Positive", "Model requests of all its runs.")
    )
    input_tokens: int | None = field(
        default=None, metadata=_budget("input-tokens", "Positive", "Tokens sent, of all its runs.")
    )
    output_tokens: int | None = field(
        default=None, metadata=_budget("output-tokens", "Positive", "Tokens received, of all its runs.")
    )
    total_tokens: int | None = field(
        default=None, metadata=_budget("total-tokens", "Positive", "Tokens of all its runs.")
    )
    tool_calls: int | None = field(
        default=None, metadata=_budget("tool-calls", "Positive", "Tool calls of all its runs.")
    )
    cost_usd: float | None = field(
        default=None,
        metadata=_budget("cost-usd", "Annotated[float, Gt(0)]", "Cost of all its runs in US dollars."),
    )
    seconds: float | None = field(
        default=None, metadata=_budget("seconds", "Annotated[float, Gt(0)]", "Time of all its runs.")
    )
