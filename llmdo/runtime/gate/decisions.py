"""The decision on a call: by the rules, and if they say so, by an approver.

A refused call is a `ToolFailed`, not pydantic-ai's deferred approval: a deferred call is asked about after the other
calls of its step, then validated and executed again, so that the object that runs is not the one shown. A
`ToolFailed` reaches the model at once, ends nothing, and costs no retry.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from pydantic import ValidationError
from pydantic_ai.exceptions import ModelRetry

from llmdo.base import values
from llmdo.base.diagnostic import joined
from llmdo.base.nearest import MANIFEST
from llmdo.base.team_words import worded_for
from llmdo.policy.authority import decide
from llmdo.policy.vocabulary import REPEATABLE, UNDECLARED
from llmdo.runtime.approvals.approver import Answer, GoneError, Question, advice_on
from llmdo.runtime.gate.call import Call, Permit, Refused, outside_of
from llmdo.runtime.gate.identity import Unidentified, identity_of, key_of
from llmdo.runtime.gate.labelling import found_in
from llmdo.runtime.gate.policy import objection, objection_to_delegation
from llmdo.runtime.telemetry.events import Asked, Decided

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_ai import RunContext

    from llmdo.journal.decided import DecidedCall
    from llmdo.journal.entries import Kind
    from llmdo.policy.authority import FlowRule, Reason, Rule, Verdict
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.labels import Labels


ASKS_ITSELF = "the tool asks for approval of its own accord"
_WAS_CHANGED = "a person changed its arguments"
_DIFFERS = "the call is not the one any more that was asked about"


class Origin(Protocol):
    """The origin of a call, which can derive it again."""

    async def derived(self, call: Call) -> Call:
        """`call` with the capabilities that its arguments raise."""
        ...

    async def changed(self, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Other arguments, validated as the model's are.

        Raises:
            ValidationError: The tool does not take them; ModelRetry likewise.
        """
        ...

    def fault_of(self, arguments: Mapping[str, object]) -> str | None:
        """The fault of other arguments, as far as the tool's schema tells."""
        ...


async def judge(
    config: RuntimeConfig,
    frame: CallFrame,
    call: Call,
    ctx: RunContext[object] | None = None,
    origin: Origin | None = None,
    ends: Kind | None = None,
) -> Permit:
    """Leave for `call`, or for a person's change of it: precedes every execution of any kind.

    The decision follows from the capabilities raised now, under the authority of the call's place. Of the journal, only
    refusals and ends of calls are believed: `ends` is the kind of the entries for this call's end, None if none
    records it. An answer counts only for its very question.

    `ctx` is that of the calling tool, if any. `origin`, if given, derives the call's capabilities and takes other
    arguments.

    Raises:
        Refused: The rules or a policy block the call, or it needs an approval that was not given.
    """
    with config.log.working(call.path):
        return await _judged(config, frame, call, ctx, origin, ends)


async def _judged(
    config: RuntimeConfig,
    frame: CallFrame,
    call: Call,
    ctx: RunContext[object] | None,
    origin: Origin | None,
    ends: Kind | None,
) -> Permit:
    log = config.log
    while True:
        recorded = await log.decision(call.path, call.tool, call.arguments, ends)
        if recorded is None:
            call = await origin.derived(call) if origin else call
            decided = await _decision(config, frame, call, ctx, origin)
            log.append(Decided(path=call.path, call=decided))
        else:
            decided = recorded
            if origin and config.base.labelling.labels:  # of which labels are worked out, and none believed
                call = _read_before(recorded, await origin.derived(call))
            log.tell(Decided(path=call.path, call=decided))
        if origin is None or not decided.allowed:
            await log.settled()  # all else is on disk when the tool starts
        if decided.allowed:
            return Permit(call=call, is_live=recorded is None)
        if decided.changed is None or origin is None:
            raise refused(config, decided)
        try:
            call = replace(call, arguments=await origin.changed(decided.changed), asks=_WAS_CHANGED)
        except (ValidationError, ModelRetry) as error:
            raise refused(config, not_taken(decided)) from error


def _read_before(recorded: DecidedCall, now: Call) -> Call:
    """A finished call with all capabilities that it may have raised, as its toolset may answer differently now."""
    raised = {*recorded.raised, *(now.declared if now.fault else now.raised)}
    return replace(now, raised=tuple(sorted(raised, key=str)))


def require_unasked(config: RuntimeConfig, frame: CallFrame, call: Call) -> None:
    """Requires leave for a delegation about which nobody can be asked, and which no `RunPolicy.handle_tool` sees.

    Raises:
        Refused: The rules block it or ask about it, or a policy is against it.
    """
    decided, _ = _by_rules(frame, call)
    if decided.decision == "needs_approval":
        decided = answered(decided, Answer(allowed=False, by="nobody", reason="nobody can be asked here"))
    if decided.allowed and (against := objection_to_delegation(frame.policies, call.tool)):
        decided = blocked(decided, against, by="policy")
    decided = worded(decided)
    config.log.append(Decided(path=call.path, call=decided))
    config.log.commit()
    if not decided.allowed:
        raise refused(config, decided)


async def only_reads(
    config: RuntimeConfig, frame: CallFrame, call: Call, ctx: RunContext[object], origin: Origin
) -> bool:
    """Whether a call may run again in a replay: nobody has to be asked, and now it only reads."""
    now = await origin.derived(call)
    decided, _ = _by_rules(frame, now)
    if not decided.allowed or not all(raised.name in REPEATABLE for raised in now.raised):
        return False
    return await _objection(config, frame, now, ctx) is None


async def _decision(
    config: RuntimeConfig, frame: CallFrame, call: Call, ctx: RunContext[object] | None, origin: Origin | None
) -> DecidedCall:
    """The decision by the rules, the approver, and the policies."""
    decided, verdict = _by_rules(frame, call)
    if decided.decision == "needs_approval":
        try:
            identity = await identity_of(config, frame, call)
        except Unidentified as unknown:
            return blocked(decided, f"nobody can be asked about it: {unknown}")
        question = _question(config, decided, call, verdict, key_of(config, call, identity), origin)
        answer = await _answer(config, call, question)
        decided = answered(decided, answer)
        if answer.stops:
            await _stop(config, decided)
        if not decided.allowed:
            return decided
        if await _differs(config, frame, call, identity, origin):
            return blocked(decided, _DIFFERS)
    if decided.allowed and (against := await _objection(config, frame, call, ctx)):
        return blocked(decided, against, by="policy")
    return worded(decided)


async def _stop(config: RuntimeConfig, decided: DecidedCall) -> None:
    """Ends the run. The journal keeps no decision, so a continued run asks again."""
    config.log.append(Decided(path=decided.path, call=decided, lasts=False))
    await config.log.settled()
    config.ledger.stop(f"{decided.by} ended the run at `{decided.path}`")
    raise asyncio.CancelledError(f"`{decided.tool}` was not called: the run was ended")


async def _abandon(config: RuntimeConfig, call: Call, gone: GoneError) -> NoReturn:
    """Ends the run as interrupted, without a decision."""
    if config.log.keeps:
        await config.log.brake.pull(gone)
    config.ledger.stop(gone.message)
    raise asyncio.CancelledError(f"`{call.tool}` was not called: {gone.message}")


async def _objection(
    config: RuntimeConfig, frame: CallFrame, call: Call, ctx: RunContext[object] | None
) -> str | None:
    delegates = call.tool == call.toolset and call.tool in config.graph.workers
    return await objection(frame.policies, ctx, call, delegates=delegates)


def _by_rules(frame: CallFrame, call: Call) -> tuple[DecidedCall, Verdict]:
    """The rules' decision and verdict, with the call's own question and fault."""
    verdict = decide(call.raised, call.declared, frame.authority, call.carried)
    because = partial(_because, labels=call.labels)
    decision, reasons = verdict.decision, tuple(map(because, verdict.reasons))
    if call.asks and decision == "allowed":
        decision, reasons = "needs_approval", (call.asks,)
    else:
        fault = call.fault
        if fault is None and any(each.capability.name == UNDECLARED for each in verdict.reasons):
            if outside := outside_of(call):  # which says what `capability.undeclared` stands for here
                reasons = tuple(
                    because(each) for each in verdict.reasons if each.capability.name != UNDECLARED
                )
            fault = outside or _undeclared(call)
        more = (fault, call.asks if decision == "needs_approval" else None)
        reasons = (*reasons, *filter(None, more))
    if any(reason.flow for reason in verdict.reasons):
        reasons = (*reasons, *found_in(frame, call.arguments))
    allowed = decision == "allowed"
    decided = call.decided(worker=frame.name, decision=decision, allowed=allowed, by="rules", reasons=reasons)
    return decided, verdict


def _undeclared(call: Call) -> str | None:
    for raised in call.raised:
        if not any(most.contains(raised) for most in call.declared):
            return f"`{raised}` is not among what `{call.tool}` declares"
    return None


def _because(reason: Reason, labels: Labels) -> str:
    """The reason in words, with the place of its rule if known, and for a flow, the place at which it came in."""
    rule: Rule | FlowRule | None = reason.rule or reason.flow
    if rule is None:
        return str(reason)
    if reason.flow is not None:
        return f"{_because_of(rule, reason)}{_came_in(reason.flow, labels)}"
    return _because_of(rule, reason)


def _came_in(flow: FlowRule, labels: Labels) -> str:
    """The places at which its sources came into the call's context, except those that the call itself raises."""
    known = [f"`{source}` came in at {labels[source]}" for source in flow.sources if source in labels]
    return f"; {joined(known)}" if known else ""


def _because_of(rule: Rule | FlowRule, reason: Reason) -> str:
    at = rule.at.location if rule.at else None
    if at is None or at.span is None:
        return f"`{reason.capability}`: {reason}"
    place = f"{at.path}:{at.span.line}"
    where = place if rule.origin in (at.path, MANIFEST) else f"{rule.origin}, {place}"
    return f"`{reason.capability}`: {rule} ({where})"


def _question(
    config: RuntimeConfig,
    decided: DecidedCall,
    call: Call,
    verdict: Verdict,
    key: str | None,
    origin: Origin | None,
) -> Question:
    asking = verdict.reasons if verdict.decision == "needs_approval" else ()
    return Question(
        path=call.path,
        worker=decided.worker,
        toolset=call.toolset,
        tool=call.tool,
        arguments=call.arguments,
        capabilities=call.raised,
        asking=tuple(dict.fromkeys(reason.capability for reason in asking)),
        by_tool=call.asks is not None,
        reasons=decided.reasons,
        advice=tuple(
            dict.fromkeys(worded_for(config.graph.manifest, advice_on(reason)) for reason in asking)
        ),
        terminal_only=bool(asking) and verdict.terminal_only,
        is_flow=any(reason.flow for reason in asking),
        labels={str(label): path for label, path in call.labels.items()}
        if config.base.labelling.labels
        else None,
        key=key,
        fault_of=origin.fault_of if origin else None,
        keep=config.log.asks,
    )


async def _answer(config: RuntimeConfig, call: Call, question: Question) -> Answer:
    """The approver's answer, or our no if it gives none that counts."""
    log = config.log
    log.tell(Asked(path=call.path, tool=call.tool))
    if recorded_answer := await log.answer(question):
        return _counting(question, recorded_answer)
    try:
        answer: object = await config.approver.ask(question)
    except GoneError as gone:
        await _abandon(config, call, gone)
    except Exception as error:  # an approver that fails must not be one that approves, nor end the run
        return Answer(allowed=False, by="nobody", reason=f"the approver failed: {type(error).__name__}")
    if not isinstance(answer, Answer) or not isinstance(answer.allowed, bool):
        return Answer(allowed=False, by="nobody", reason="the approver returned no answer")
    if answer.waits:
        await log.wait_for(question)
    answer = _counting(question, answer)
    if not answer.stops:
        await log.answered(question, answer)
    return answer


def _counting(question: Question, answer: Answer) -> Answer:
    """`answer`, made a no if its yes does not count."""
    unfit = answer.stops or answer.waits or answer.arguments is not None
    if unfit or (question.terminal_only and not answer.at_terminal):
        return replace(answer, allowed=False)
    return answer


async def _differs(
    config: RuntimeConfig, frame: CallFrame, call: Call, identity: str | None, origin: Origin | None
) -> bool:
    """Whether the call's capabilities, arguments or files have changed since it was asked about."""
    now = await origin.derived(call) if origin else call
    try:
        return now.raised != call.raised or await identity_of(config, frame, now) != identity
    except Unidentified:
        return True


def answered(decided: DecidedCall, answer: Answer) -> DecidedCall:
    """The decision with the answer of the person asked."""
    decided = values.replace(
        decided, allowed=answer.allowed, by=answer.by, answer=answer.reason, changed=answer.arguments
    )
    return worded(decided, f"; the person who was asked says: {answer.message}" if answer.message else "")


def blocked(decided: DecidedCall, why: str, by: str | None = None) -> DecidedCall:
    """The decision on a call blocked whatever the rules and the approver say; `by` is who says so."""
    by = decided.by if by is None else by
    return worded(
        values.replace(decided, decision="blocked", allowed=False, by=by, reasons=(why,), answer="")
    )


def not_taken(decided: DecidedCall) -> DecidedCall:
    """The decision on a call whose tool does not take a person's arguments."""
    refusal = f"`{decided.tool}` was not called: a person changed its arguments to some that it does not take"
    return values.replace(decided, refusal=refusal)


def worded(decided: DecidedCall, more: str = "") -> DecidedCall:
    """The decision with its words for the model."""
    if decided.allowed:
        return decided
    verdict = "is blocked" if decided.decision == "blocked" else "needs approval, which was not given"
    return values.replace(decided, refusal=f"`{decided.tool}` {verdict}: {joined(decided.reasons)}{more}")


def refused(config: RuntimeConfig, decided: DecidedCall) -> Refused:
    """The no to a call, which joins the run's denied calls."""
    config.ledger.denied.append(decided)
    return Refused(decided.refusal or f"`{decided.tool}` was not called")
