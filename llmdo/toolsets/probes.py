"""Probes: functions of a tool's author that say whether an unfinished call took effect."""

from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.syntax.tool_metadata import PROBING
from llmdo.toolsets.python import sentence_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import ModuleType

    from pydantic_ai import RunContext
    from pydantic_ai.toolsets import AbstractToolset

    Probe = Callable[[str, dict[str, Any], RunContext[object]], object]
    """Takes the key of the call, its validated arguments and its context."""

SECONDS = 60.0
"""The time limit of a probe whose tool has no `timeout`."""


@dataclass(frozen=True, slots=True)
class TookEffect:
    """A probe's answer: the call took effect."""

    result: object = None
    """The result of the call for the model."""


@dataclass(frozen=True, slots=True)
class NoEffect:
    """A probe's answer: the call did not take effect, and can safely run now."""


@dataclass(frozen=True, slots=True)
class NotKnown:
    """The lack of an answer."""

    why: str
    """In words, with the name of the probe."""


Answer = TookEffect | NoEffect | NotKnown


@dataclass(frozen=True, slots=True)
class OfferedProbe:
    """The probe of one call."""

    name: str
    ask: Callable[[int], Awaitable[Answer]]
    """Answers about the execution of that number."""


def named_in(metadata: Mapping[str, object] | None) -> str | None:
    """The name of the probe in a tool's metadata, if any.

    Raises:
        LlmdoError: It is no text.
    """
    name = (metadata or {}).get(PROBING)
    if name is not None and not isinstance(name, str):
        raise LlmdoError(f"`{PROBING}` is of type `{type(name).__name__}`, not the name of a function")
    return name


def probe_of(name: str, toolset: AbstractToolset[object], module: ModuleType) -> Probe:
    """The method `name` of `toolset`, or of a toolset that it wraps, else the function of its `module`.

    Raises:
        LlmdoError: There is neither.
    """
    holders: list[object] = [toolset]
    while (wrapped := getattr(holders[-1], "wrapped", None)) is not None:
        holders.append(wrapped)
    for holder in (*holders, module):
        probe = getattr(holder, name, None)
        if inspect.isroutine(probe):
            return probe
    raise LlmdoError(f"its probe `{name}` is neither a method of the toolset nor a function of its module")


async def answer_of(
    name: str,
    probe: Probe,
    key: str,
    arguments: dict[str, Any],
    ctx: RunContext[object],
    seconds: float | None,
) -> Answer:
    """The answer of `probe`, named `name`, about the call that services know by `key`.

    It is `NotKnown` if the probe raises an error or takes longer than `seconds`, or than `SECONDS` if that is None.
    """
    its, seconds = f"its probe `{name}`", SECONDS if seconds is None else seconds
    try:
        async with asyncio.timeout(seconds) as clock:
            if inspect.iscoroutinefunction(probe):
                answer = await probe(key, arguments, ctx)
            else:
                answer = await _aside(lambda: probe(key, arguments, ctx))
                answer = await answer if inspect.isawaitable(answer) else answer
    except TimeoutError as error:
        late = f"{its} gave no answer in {seconds:g} seconds"
        return NotKnown(late if clock.expired() else f"{its} raised {sentence_of(error)}")
    except (Exception, SystemExit) as error:  # from the workspace's own code: anything at all
        return NotKnown(f"{its} raised {sentence_of(error)}")
    if answer is None:
        return NotKnown(f"{its} does not know")
    if isinstance(answer, TookEffect | NoEffect):
        return answer
    expected = "`llmdo.TookEffect(result)`, `llmdo.NoEffect()` or None"
    return NotKnown(f"{its} returned `{type(answer).__name__}`, not {expected}")


async def _aside(work: Callable[[], object]) -> object:
    """The result of `work`, in a thread that no process waits for as it ends: a probe may hang."""
    outcome: Future[object] = Future()

    def run() -> None:
        with suppress(InvalidStateError):  # nobody waits for it any more
            try:
                outcome.set_result(context.run(work))
            except BaseException as error:
                outcome.set_exception(error)

    context = copy_context()
    Thread(target=run, name="llmdo probe", daemon=True).start()
    return await asyncio.wrap_future(outcome)
