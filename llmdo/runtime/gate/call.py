"""A call of a tool as it is decided on, and its refusal."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from types import NoneType
from typing import TYPE_CHECKING, Any

from pydantic_ai.exceptions import ToolFailed

from llmdo.journal.decided import DecidedCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.policy.authority import Capability, Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool and all that is decided about."""

    path: str
    toolset: str
    tool: str
    arguments: Mapping[str, Any]
    """What is decided on, shown and executed; the tool is handed the same values in a dict of its own."""
    raised: tuple[Capability, ...]
    declared: tuple[Capability, ...]
    config: Mapping[str, object] = field(default_factory=dict)
    """The configuration of the toolset."""
    asks: str | None = None
    """Why a person is to be asked whatever the rules say; None where only the rules decide."""
    fault: str | None = None
    """What is wrong with the toolset, where `raised` says `capability.undeclared` for that reason."""

    def decided(
        self,
        *,
        worker: str,
        decision: Decision,
        allowed: bool,
        by: str,
        reasons: tuple[str, ...],
        refusal: str | None = None,
    ) -> DecidedCall:
        """What was decided about this call of `worker`."""
        return DecidedCall(
            path=self.path,
            worker=worker,
            toolset=self.toolset,
            tool=self.tool,
            arguments=self.arguments,
            raised=self.raised,
            declared=self.declared,
            asks=self.asks is not None,
            decision=decision,
            allowed=allowed,
            by=by,
            reasons=reasons,
            refusal=refusal,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """The gate's leave for one call."""

    call: Call
    """What runs: the call that was decided on, or what a person made of it."""
    is_live: bool
    """Whether it was decided on just now, so that it may run; otherwise only its recorded end may be told."""


def copied(values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that shares nothing with `values` which could be changed.

    Raises:
        Exception: Whatever the copy methods of the workspace's own types raise.
    """
    is_flat = all(type(value) in _UNCHANGING for value in values.values())
    return {**values} if is_flat else deepcopy({**values})


_UNCHANGING = frozenset({bool, int, float, str, bytes, NoneType})


class Refused(ToolFailed):
    """The gate's own no, as the calling model is told it."""
