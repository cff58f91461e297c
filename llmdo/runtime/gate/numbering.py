"""The numbers of a worker's calls: in the order of its model's responses, not of their starts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic_ai import RunContext

from llmdo.base.diagnostic import LlmdoError

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse


MOST_CALLS = 256  # of one response: a model that makes more is told so, instead of carrying them all out
ENDLESS = (
    2_048  # calls of one response: to tell a model of each that it is not carried out would take its time
)


@dataclass(slots=True)
class CallNumbers:
    """Numbers the calls of one agent's run, looking at each response once."""

    _seen: int = 0
    """Messages of the run already looked at."""
    _last: ModelMessage | None = None
    """The last of them."""
    _made: Counter[str] = field(default_factory=Counter)
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    """By tool and id; if an id recurs, that of the later call."""
    _beyond: set[tuple[str, str]] = field(default_factory=set)

    def look_at(self, messages: list[ModelMessage]) -> None:
        """Numbers the calls of the responses that are new."""
        new = messages[self._seen :]
        if self._seen and (len(messages) < self._seen or messages[self._seen - 1] is not self._last):
            # Something took messages out, such as a processor of the history: new is the last, whose calls are made.
            new = [message for message in messages[-1:] if message is not self._last]
        for message in new:
            if message.kind == "response":
                self._number(message.tool_calls)
        if messages:
            self._seen, self._last = len(messages), messages[-1]

    def _number(self, calls: list[Any]) -> None:
        for place, call in enumerate(calls):
            key = (call.tool_name, call.tool_call_id)
            self._made[call.tool_name] += 1
            self._numbers[key] = self._made[call.tool_name]
            (self._beyond.add if place >= MOST_CALLS else self._beyond.discard)(key)

    def number(self, tool: str, call: str) -> int | None:
        """The call's number among those of `tool`; None if no response holds it."""
        return self._numbers.get((tool, call))

    def is_beyond(self, tool: str, call: str) -> bool:
        """Whether its response made `MOST_CALLS` before it."""
        return (tool, call) in self._beyond


def numbers_of(runs: dict[str | None, CallNumbers], ctx: RunContext[object]) -> CallNumbers:
    """The numbers in `runs` for the calls of the agent's run of `ctx`."""
    numbers = runs.setdefault(ctx.run_id, CallNumbers())
    numbers.look_at(ctx.messages)
    return numbers


def require_bounded(response: ModelResponse) -> None:
    """Requires few enough calls in a response to look at each.

    Raises:
        LlmdoError: There are too many.
    """
    number = len(response.tool_calls)
    if number > ENDLESS:
        raise LlmdoError(f"the model made {number:,} calls in one response; {ENDLESS:,} are taken at most")


@dataclass(repr=False, kw_only=True)
class CodeContext(RunContext[object]):
    """The context of a tool call by code, which no response numbers."""

    path: str
    """The call path, by the call's place in that code."""


def call_path(above: str, runs: dict[str | None, CallNumbers], ctx: RunContext[object]) -> str:
    """The call path of the tool call of `ctx`, in the call of a worker at `above`.

    Numbered over the worker's responses, for each tool, so that a run which starts the calls in another order numbers
    them alike. A call that no response holds goes by its id.
    """
    return numbered(above, runs, ctx)[0]


def numbered(above: str, runs: dict[str | None, CallNumbers], ctx: RunContext[object]) -> tuple[str, bool]:
    """The same path, and whether the response of the call made `MOST_CALLS` before it."""
    if isinstance(ctx, CodeContext):
        return ctx.path, False
    numbers, tool, call = numbers_of(runs, ctx), str(ctx.tool_name), str(ctx.tool_call_id)
    return f"{above}/{tool}#{numbers.number(tool, call) or call}", numbers.is_beyond(tool, call)
