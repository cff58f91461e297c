"""Policies over the calls of a run, in addition to the rules: asked after the gate, they can only refuse."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, cast

from llmdo.runtime.gate.call import copied
from llmdo.toolsets.python import sentence_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from pydantic_ai import RunContext

    from llmdo.runtime.gate.call import Call


class PolicyRefusal(Exception):  # noqa: N818  # no error: an answer
    """A policy's no. Its text is told to the calling model, and to the user."""


class RunPolicy(Protocol):
    """Has a say over one worker's calls, after the rules and the approver.

    It refuses by raising `PolicyRefusal`. One that fails otherwise, or answers anything but None, has refused too.
    """

    def spawn(self) -> RunPolicy:
        """The policy of a worker called from here; of the entry's worker first."""
        ...

    def on_delegation(self, name: str) -> Awaitable[None] | None:
        """Returns if the worker `name` may be called now; `handle_tool` is asked about the same call next."""
        ...

    def handle_tool(self, ctx: RunContext[object] | None, call: Call) -> Awaitable[None] | None:
        """Returns if `call`, a copy, may run; `ctx` is None if no model made it."""
        ...


class DelegationReview(Protocol):
    """An optional part of a policy: a look at the result of a delegation."""

    def after_delegation(self, name: str, output: str | None, error: str | None) -> Awaitable[None] | None:
        """Returns if the caller may be told `output` of the worker `name`; of a failed one, `error` says why.

        Refusing the output of a failed one changes nothing.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthLimit:
    """Bounds the length of a chain of delegations."""

    longest: int
    depth: int = -1
    """The depth of the worker that this holds for; the entry itself is above its worker."""

    def spawn(self) -> DepthLimit:
        """The same, one delegation deeper."""
        return replace(self, depth=self.depth + 1)

    def on_delegation(self, name: str) -> None:  # noqa: ARG002  # all workers are alike
        """Refuses one delegation too many."""
        if self.depth >= self.longest:
            raise PolicyRefusal(
                f"the chain of delegations may not be longer than {self.longest}; do the work without it"
            )

    def handle_tool(self, ctx: RunContext[object] | None, call: Call) -> None:
        """Has nothing against it."""


async def objection(
    policies: Iterable[RunPolicy], ctx: RunContext[object] | None, call: Call, *, delegates: bool
) -> str | None:
    """Why one of `policies` refuses `call`, which may be a delegation; None if none does."""
    shown = replace(call, arguments=copied(call.arguments))
    for policy in policies:
        if delegates and (why := await _refusal_by(policy, policy.on_delegation, call.tool)):
            return why
        if why := await _refusal_by(policy, policy.handle_tool, ctx, shown):
            return why
    return None


async def objection_to_output(
    policies: Iterable[RunPolicy], name: str, output: str | None, error: str | None
) -> str | None:
    """Why one of `policies` withholds the worker's output from its caller; None if none does."""
    for policy in policies:
        if hasattr(policy, "after_delegation"):  # not `isinstance`, which takes long to ask of a protocol
            review = cast("DelegationReview", policy).after_delegation
            why = await _refusal_by(policy, review, name, output, error)
            if why and error is None:
                return why
    return None


async def _refusal_by(policy: object, ask: Callable[..., object], *about: object) -> str | None:
    try:
        answer = ask(*about)
        if answer is None:
            return None
        if inspect.isawaitable(answer):
            answer = await answer
    except Exception as error:  # a policy that fails must not be one that lets through
        return _refusal(policy, error)
    return None if answer is None else _no_answer(policy, answer)


def objection_to_delegation(policies: Iterable[RunPolicy], name: str) -> str | None:
    """Why one of `policies` refuses any call of the worker `name`, without awaiting; None if none does."""
    for policy in policies:
        try:
            answer: object = policy.on_delegation(name)
        except Exception as error:
            return _refusal(policy, error)
        if inspect.iscoroutine(answer):
            answer.close()
        if inspect.isawaitable(answer):
            return f"the policy `{type(policy).__name__}` is asynchronous, and cannot be awaited here"
        if answer is not None:
            return _no_answer(policy, answer)
    return None


def spawned(policies: Iterable[RunPolicy]) -> tuple[RunPolicy, ...]:
    """The policies of a worker called under `policies`.

    Raises:
        PolicyRefusal: One cannot say which policy holds there.
    """
    below = []
    for policy in policies:
        try:
            below.append(policy.spawn())
        except Exception as error:
            raise PolicyRefusal(_refusal(policy, error)) from error
        if below[-1] is None:
            raise PolicyRefusal(f"the policy `{type(policy).__name__}` has none for the workers below")
    return tuple(below)


def _refusal(policy: object, error: Exception) -> str:
    if isinstance(error, PolicyRefusal):
        return str(error) or f"the policy `{type(policy).__name__}` refuses it"
    return f"the policy `{type(policy).__name__}` raised {sentence_of(error)}"


def _no_answer(policy: object, answer: object) -> str:
    name = type(policy).__name__
    return f"the policy `{name}` answered `{answer!r:.40}`: it returns nothing, or raises `PolicyRefusal`"
