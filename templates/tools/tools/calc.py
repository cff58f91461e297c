"""Arithmetic as tools. Each tool declares what a call can do; the rules in `llmdo.toml` decide about it."""

import math

from pydantic_ai import FunctionToolset, ModelRetry

calc_tools = FunctionToolset()


@calc_tools.tool_plain(metadata={"capabilities": ["x.calc_tools.cpu"]})
def total(numbers: list[float]) -> float:
    """The sum of the numbers."""
    return math.fsum(numbers)


@calc_tools.tool_plain(metadata={"capabilities": ["x.calc_tools.cpu"]})
def factorial(number: int) -> int:
    """The product of all whole numbers from 1 to `number`, which is at most 1000."""
    if not 0 <= number <= 1000:
        raise ModelRetry("`number` must be between 0 and 1000")
    return math.factorial(number)
