"""Arithmetic on whole numbers."""

from __future__ import annotations

import math

from pydantic_ai import ModelRetry
from pydantic_ai.toolsets import FunctionToolset

MOST = 1_000  # beyond it a result has more digits than an answer should

calc_tools = FunctionToolset()


@calc_tools.tool_plain
def factorial(n: int) -> int:
    """The product of all whole numbers from 1 to n, for n from 0 to 1000."""
    return math.factorial(checked(n, MOST))


@calc_tools.tool_plain
def fibonacci(n: int) -> int:
    """The n-th Fibonacci number, counted from fibonacci(0) = 0, for n from 0 to 1000."""
    current, following = 0, 1
    for _ in range(checked(n, MOST)):
        current, following = following, current + following
    return current


@calc_tools.tool_plain
def prime_factors(n: int) -> list[int]:
    """The prime factors of n in rising order, each as often as it divides n, for n from 2 to one million million."""
    rest = checked(n, 10**12)
    factors: list[int] = []
    divisor = 2
    while divisor * divisor <= rest:
        while rest % divisor == 0:
            factors.append(divisor)
            rest //= divisor
        divisor += 1
    return [*factors, rest] if rest > 1 else factors


def checked(n: int, most: int) -> int:
    """The number itself, if a tool can work with it."""
    if not 0 <= n <= most:
        raise ModelRetry(f"n must be between 0 and {most}")
    return n
