"""What becomes of a decision where a call does not run, and what the model is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import joined
from llmdo.base.values import replace
from llmdo.runtime.gate.call import Refused

if TYPE_CHECKING:
    from llmdo.journal.decided import DecidedCall
    from llmdo.runtime.approvals.approver import Answer
    from llmdo.runtime.config import RuntimeConfig


def answered(decided: DecidedCall, answer: Answer) -> DecidedCall:
    """The decision on a call that was asked about, with the answer."""
    decided = replace(
        decided, allowed=answer.allowed, by=answer.by, answer=answer.reason, changed=answer.arguments
    )
    return worded(decided, f"; the person who was asked says: {answer.message}" if answer.message else "")


def blocked(decided: DecidedCall, why: str, by: str | None = None) -> DecidedCall:
    """The decision on a call that may not run, whatever the rules and whoever was asked say; `by` is who says so."""
    by = decided.by if by is None else by
    return worded(replace(decided, decision="blocked", allowed=False, by=by, reasons=(why,), answer=""))


def not_taken(decided: DecidedCall) -> DecidedCall:
    """The decision on a call to which a person gave arguments that its tool does not take."""
    refusal = f"`{decided.tool}` was not called: a person changed its arguments to some that it does not take"
    return replace(decided, refusal=refusal)


def worded(decided: DecidedCall, more: str = "") -> DecidedCall:
    """The decision with what the model is told of it."""
    if decided.allowed:
        return decided
    verdict = "is blocked" if decided.decision == "blocked" else "needs approval, which was not given"
    return replace(decided, refusal=f"`{decided.tool}` {verdict}: {joined(decided.reasons)}{more}")


def refused(config: RuntimeConfig, decided: DecidedCall) -> Refused:
    """The no to a call, which is among those that the run has denied."""
    config.ledger.denied.append(decided)
    return Refused(decided.refusal or f"`{decided.tool}` was not called")
