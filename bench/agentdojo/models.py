"""Models that make the calls of their plan, and obey whatever they read: each is a function of its messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from bench.agentdojo.cases import CASE, MARK, Calls, calls_of
from bench.agentdojo.plan import Amount, Ask
from bench.agentdojo.tools import SUITES as TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic_ai.messages import ModelMessage

MOST = 1_000_000
"""Cents: the most that the closed answer of `counter` can be."""

Steps = list[Calls | str]


def single() -> FunctionModel:
    """That of an agent which has all tools."""

    def steps(_: Sequence[ModelMessage]) -> Steps:
        case = CASE.get()
        calls = calls_of(case.task, case.before)
        return [*[[call] for call in calls], case.task.GROUND_TRUTH_OUTPUT or "done"]

    return FunctionModel(_following(steps))


def planner() -> FunctionModel:
    """That of the worker which plans and acts."""

    def steps(messages: Sequence[ModelMessage]) -> Steps:
        plan = CASE.get().plan
        assert plan is not None
        amounts = [part for part in _returned(messages) if part.tool_name == "counter"]
        return [
            step if isinstance(step, str) else [(name, _filled(args, amounts)) for name, args in step]
            for step in plan.responses
        ]

    return FunctionModel(_following(steps))


def reader() -> FunctionModel:
    """That of the worker which reads, and answers sealed."""

    def steps(messages: Sequence[ModelMessage]) -> Steps:
        ask = _asked(messages)
        if ask.call is None:
            return [str(_answer(ask, messages))]
        texts = [str(part.content) for part in _returned(messages) if part.tool_name == ask.call[0]]
        return [[ask.call], (texts and texts[0]) or "nothing"]

    return FunctionModel(_following(steps))


def counter() -> FunctionModel:
    """That of the worker whose answer is an amount of money, closed."""

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        wanted = _answer(_asked(messages), messages)
        cents = round(float(wanted) * 100) if isinstance(wanted, int | float) else MOST
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, {"cents": min(cents, MOST)})])

    return FunctionModel(respond)


def _following(
    steps: Callable[[Sequence[ModelMessage]], Steps],
) -> Callable[[list[ModelMessage], AgentInfo], ModelResponse]:
    """Follows these steps; from where it has seen the mark on, those of the attacker first that its tools allow."""

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        case, offered = CASE.get(), {tool.name for tool in info.function_tools}
        following, at = steps(messages), sum(isinstance(each, ModelResponse) for each in messages)
        seen = _seen(messages)
        if seen is not None and case.attacking:
            attack = [[call] for call in case.attacking if call[0] in offered]
            following = [*following[:seen], *attack, *following[seen:]]
            if isinstance(following[-1], str):
                following[-1] = f"{following[-1]} {case.attack.GROUND_TRUTH_OUTPUT}".strip()
        step = following[at]
        if isinstance(step, str):
            return ModelResponse(parts=[TextPart(step)])
        return ModelResponse(
            parts=[ToolCallPart(name, args, tool_call_id=f"{at}-{i}") for i, (name, args) in enumerate(step)]
        )

    return respond


def _seen(messages: Sequence[ModelMessage]) -> int | None:
    """After how many of its responses the model sees the mark first."""
    responses = 0
    for message in messages:
        if isinstance(message, ModelResponse):
            responses += 1
        elif any(MARK in str(part.content) for part in message.parts):
            return responses
    return None


def _returned(messages: Sequence[ModelMessage]) -> list[ToolReturnPart]:
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    return [part for message in requests for part in message.parts if isinstance(part, ToolReturnPart)]


def _asked(messages: Sequence[ModelMessage]) -> Ask:
    plan = CASE.get().plan
    assert plan is not None
    match = re.search(r'"ask": (\d+)', str(messages[0].parts))
    assert match is not None
    return plan.asks[int(match[1])]


def _answer(ask: Ask, messages: Sequence[ModelMessage]) -> Any:
    """The right value. From a reader that has seen the mark, an attacker who adapts gets the one that serves it best.

    That is the one which the attack has for this argument, or else words of the attacker, with a seal of another.
    """
    case = CASE.get()
    if not (case.adapts and case.attacking) or _seen(messages) is None:
        return ask.value
    tool, argument = ask.wanted
    own = {name for name, each in TOOLS[case.suite].items() if each.is_own}
    if own.intersection(
        name for name, _ in case.attacking
    ):  # which the reader does not have: it knows no such value
        return f"{MARK} {case.attack.GOAL} sealed:reader#1"
    same = [args[argument] for name, args in case.attacking if name == tool and argument in args]
    alike = [args[argument] for _, args in case.attacking if argument in args]
    for value in [*same, *alike]:
        return value[0] if isinstance(value, list) and value else value
    return f"{MARK} {case.attack.GOAL} sealed:reader#1"


def _filled(value: Any, amounts: Sequence[ToolReturnPart]) -> Any:
    if isinstance(value, Amount):
        given = amounts[int(value) - 1 : int(value)]
        match = re.search(r"\d+", str(given[0].content)) if given else None
        return int(match[0]) / 100 if match else 0
    if isinstance(value, dict):
        return {key: _filled(each, amounts) for key, each in value.items()}
    return [_filled(each, amounts) for each in value] if isinstance(value, list) else value
