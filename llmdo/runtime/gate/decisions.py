"""What is decided about a call: by the rules, and where they say so, by whoever answers questions.

A refused call is a `ToolFailed`, not pydantic-ai's deferred approval: a deferred call is asked about after the
other calls of its step, then validated and executed anew, so that what runs is no longer the object that was
shown. A `ToolFailed` reaches the model at once, ends nothing, and costs no retry.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from pydantic import ValidationError
from pydantic_ai.exceptions import ModelRetry

from llmdo.base.diagnostic import joined
from llmdo.policy.authority import decide
from llmdo.runtime.approvals.approver import Answer, GoneError, Question, advice_on
from llmdo.runtime.gate.call import Call, Permit, Refused
from llmdo.runtime.gate.identity import Unidentified, key_of
from llmdo.runtime.gate.policy import objection, objection_to_delegation
from llmdo.runtime.ledger import DeniedCall
from llmdo.runtime.recording.replay_mode import READ_ONLY, RecordedDecision
from llmdo.runtime.telemetry.events import Asked, Decided

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_ai import RunContext

    from llmdo.journal.entries import Kind
    from llmdo.policy.authority import Decision, Reason
    from llmdo.runtime.config import RuntimeConfig
    from llmdo.runtime.frame import CallFrame
    from llmdo.runtime.recording.recorder import Recorder

ASKS_ITSELF = "the tool asks for approval of its own accord"
_WAS_CHANGED = "a person changed its arguments"
_DIFFERS = "the call is not the one any more that was asked about"


class Origin(Protocol):
    """Where a call comes from: what can make it anew."""

    async def derived(self, call: Call) -> Call:
        """`call` with the capabilities that its arguments raise."""
        ...

    async def changed(self, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Other arguments, validated as the model's are.

        Raises:
            ValidationError: The tool does not take them; a ModelRetry says the same.
        """
        ...

    def fault_of(self, arguments: Mapping[str, object]) -> str | None:
        """What is wrong with other arguments, as far as the tool's schema tells."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judgement:
    """What the rules say about a call."""

    decision: Decision
    reasons: tuple[str, ...]
    """A sentence each."""
    asking: tuple[Reason, ...] = ()
    """Those by which the rules ask."""
    terminal_only: bool = False


async def judge(
    config: RuntimeConfig,
    frame: CallFrame,
    call: Call,
    ctx: RunContext[Any] | None = None,
    origin: Origin | None = None,
    ends: Kind | None = None,
) -> Permit:
    """Leave for `call`, or for what a person made of it: what stands before every execution, whatever it is of.

    It is decided by what the call raises now, under the authority of its place. All that is believed of what is
    recorded is that a call was refused, or is over: `ends` is the kind of the entries that say so of this one, None
    where its execution is not recorded. An answer counts for the very question that it was given to.

    `ctx` is that of the tool which makes the call, where one does. Where there is an `origin`, it knows what the call
    raises, and takes other arguments.

    Raises:
        Refused: The rules block the call, it needs an approval that was not given, or a policy is against it.
    """
    recorder = config.recorder
    while True:
        recorded = await _recorded(recorder, call, ends) if recorder else None
        if recorded is None:
            if recorder:
                await recorder.require_undecided(call.path, call.tool)
                await recorder.require_known(call.path, call.arguments)
            call = await origin.derived(call) if origin else call
            told = await _decision(config, frame, call, ctx, origin)
            if recorder:
                recorder.decided(told, call.declared, asks=call.asks is not None)
        else:
            told = replace(recorded, decided=replace(recorded.decided, arguments=call.arguments))
        config.on_event(told.decided)
        if recorder and (origin is None or not told.decided.allowed):
            await recorder.settled()  # all else is on disk when the tool starts
        if told.decided.allowed:
            return Permit(call=call, is_live=recorded is None)
        changed = told.decided.changed
        if changed is None or origin is None:
            raise _refused(config, told)
        try:
            call = replace(call, arguments=await origin.changed(changed), asks=_WAS_CHANGED)
        except (ValidationError, ModelRetry) as error:
            refusal = (
                f"`{call.tool}` was not called: a person changed its arguments to some that it does not take"
            )
            raise _refused(config, replace(told, refusal=refusal)) from error


async def _recorded(recorder: Recorder, call: Call, ends: Kind | None) -> RecordedDecision | None:
    """The journal's decision on a call that was refused or is over; None where it is decided on now.

    That a call was let through means nothing by itself: whoever wrote the journal may have said so, and the rules may
    be others by now. Where nothing is executed, it is told as it was.
    """
    last = None
    while told := await recorder.decision(call.path, call.arguments):
        if not told.decided.allowed or recorder.is_over(call.path, ends):
            return told
        last = told
    return None if recorder.mode.live else last


def require_unasked(config: RuntimeConfig, frame: CallFrame, call: Call) -> None:
    """Returns when a delegation may begin for which nobody can be asked, and which no `RunPolicy.handle_tool` sees.

    Raises:
        Refused: The rules block it or ask about it, or a policy is against it.
    """
    judgement = _judged(call, frame)
    answer = Answer(allowed=judgement.decision == "allowed", by="rules")
    if not answer.allowed and judgement.decision == "needs_approval":
        answer = replace(answer, by="nobody", reason="nobody can be asked here")
    if answer.allowed and (against := objection_to_delegation(frame.policies, call.tool)):
        judgement = replace(judgement, decision="blocked", reasons=(against,))
        answer = Answer(allowed=False, by="policy")
    told = _told(frame, call, judgement, answer)
    config.on_event(told.decided)
    if config.recorder:
        config.recorder.decided(told, call.declared, asks=False)
        config.recorder.journal.commit()
    if not answer.allowed:
        raise _refused(config, told)


async def only_reads(
    config: RuntimeConfig, frame: CallFrame, call: Call, ctx: RunContext[Any], origin: Origin
) -> bool:
    """Whether a call may run once more in a replay: nobody has to be asked, and all that it raises now only reads."""
    now = await origin.derived(call)
    if not all(one.name in READ_ONLY for one in now.raised) or _judged(now, frame).decision != "allowed":
        return False
    return await _objection(config, frame, now, ctx) is None


async def _decision(
    config: RuntimeConfig, frame: CallFrame, call: Call, ctx: RunContext[Any] | None, origin: Origin | None
) -> RecordedDecision:
    """What is decided about a call: by the rules, by who is asked, and by the policies."""
    judgement = _judged(call, frame)
    answer = Answer(allowed=judgement.decision == "allowed", by="rules")
    if judgement.decision == "needs_approval":
        try:
            key = await key_of(config, frame, call)
        except Unidentified as unknown:
            return _blocked(frame, call, judgement, answer, f"nobody can be asked about it: {unknown}")
        answer = await _asked(config, frame, call, judgement, key, origin)
        if answer.stops:
            await _stop(config, _told(frame, call, judgement, answer).decided)
        if answer.allowed and await _differs(config, frame, call, key, origin):
            return _blocked(frame, call, judgement, answer, _DIFFERS)
    if answer.allowed and (against := await _objection(config, frame, call, ctx)):
        judgement = replace(judgement, decision="blocked", reasons=(against,))
        answer = Answer(allowed=False, by="policy")
    return _told(frame, call, judgement, answer)


def _blocked(
    frame: CallFrame, call: Call, judgement: _Judgement, answer: Answer, why: str
) -> RecordedDecision:
    judgement = replace(judgement, decision="blocked", reasons=(why,))
    return _told(frame, call, judgement, replace(answer, allowed=False, reason=""))


async def _stop(config: RuntimeConfig, decided: Decided) -> None:
    """Ends the run. The journal keeps no decision, so whoever goes on with the run is asked about the call again."""
    config.on_event(decided)
    if config.recorder:
        config.recorder.audit.decided(decided)
        await config.recorder.settled()
    config.ledger.stop(f"{decided.by} ended the run at `{decided.path}`")
    await asyncio.sleep(0)
    raise Refused(f"`{decided.tool}` was not called: the run was ended")


async def _abandon(config: RuntimeConfig, call: Call, gone: GoneError) -> NoReturn:
    """Ends the run as interrupted: nobody decided, and nothing is kept that says so."""
    if config.recorder:
        await config.recorder.brake.pull(gone)
    config.ledger.stop(gone.message)
    await asyncio.sleep(0)
    raise Refused(f"`{call.tool}` was not called: {gone.message}")


async def _objection(
    config: RuntimeConfig, frame: CallFrame, call: Call, ctx: RunContext[Any] | None
) -> str | None:
    delegates = call.tool == call.toolset and call.tool in config.graph.workers
    return await objection(frame.policies, ctx, call, delegates=delegates)


def _judged(call: Call, frame: CallFrame) -> _Judgement:
    verdict = decide(call.raised, call.declared, frame.authority)
    reasons = tuple(_because(reason) for reason in verdict.reasons)
    if call.asks and verdict.decision == "allowed":
        return _Judgement(decision="needs_approval", reasons=(call.asks,))
    if fault := call.fault or _undeclared(call):
        reasons = (*reasons, fault)
    asks = verdict.decision == "needs_approval"
    if asks and call.asks:
        reasons = (*reasons, call.asks)
    return _Judgement(
        decision=verdict.decision,
        reasons=reasons,
        asking=verdict.reasons if asks else (),
        terminal_only=asks and verdict.terminal_only,
    )


def _undeclared(call: Call) -> str | None:
    for one in call.raised:
        if not any(most.contains(one) for most in call.declared):
            return f"`{one}` is not among what `{call.tool}` declares"
    return None


def _because(reason: Reason) -> str:
    """The reason in words, with the place of its rule where one is known."""
    rule = reason.rule
    if rule is None:
        return str(reason)
    at = rule.at.location if rule.at else None
    if at is None or at.span is None:
        return f"`{reason.capability}`: {reason}"
    place = f"{at.path}:{at.span.line}"
    where = place if rule.origin == at.path else f"{rule.origin}, {place}"
    return f"`{reason.capability}`: {rule} ({where})"


async def _asked(
    config: RuntimeConfig,
    frame: CallFrame,
    call: Call,
    judgement: _Judgement,
    key: str | None,
    origin: Origin | None,
) -> Answer:
    """The approver's answer, or a no of ours where it gives none that counts."""
    question = Question(
        path=call.path,
        worker=frame.name,
        toolset=call.toolset,
        tool=call.tool,
        arguments=call.arguments,
        capabilities=call.raised,
        asking=tuple(dict.fromkeys(reason.capability for reason in judgement.asking)),
        by_tool=call.asks is not None,
        reasons=judgement.reasons,
        advice=tuple(dict.fromkeys(map(advice_on, judgement.asking))),
        terminal_only=judgement.terminal_only,
        key=key,
        fault_of=origin.fault_of if origin else None,
    )
    config.on_event(Asked(path=call.path, tool=call.tool))
    recorder = config.recorder
    if recorder and (given := await recorder.answer(question)):
        return _counting(question, given)
    try:
        answer: object = await config.approver.ask(question)
    except GoneError as gone:
        await _abandon(config, call, gone)
    except Exception as error:  # an approver that fails must not be one that approves, nor end the run
        return Answer(allowed=False, by="nobody", reason=f"the approver failed: {type(error).__name__}")
    if not isinstance(answer, Answer) or not isinstance(answer.allowed, bool):
        return Answer(allowed=False, by="nobody", reason="the approver gave no answer")
    if answer.waits and recorder:
        await recorder.wait_for(question)
    answer = _counting(question, answer)
    if recorder and not answer.stops:
        await recorder.answered(question, answer)
    return answer


def _counting(question: Question, answer: Answer) -> Answer:
    """`answer`, made a no where its yes does not count."""
    unfit = answer.stops or answer.waits or answer.arguments is not None
    if unfit or (question.terminal_only and not answer.at_terminal):
        return replace(answer, allowed=False)
    return answer


async def _differs(
    config: RuntimeConfig, frame: CallFrame, call: Call, key: str | None, origin: Origin | None
) -> bool:
    """Whether the call is, by now, another one than was asked about: in what it raises, its arguments or its files."""
    now = await origin.derived(call) if origin else call
    try:
        return now.raised != call.raised or await key_of(config, frame, now) != key
    except Unidentified:
        return True


def _told(frame: CallFrame, call: Call, judgement: _Judgement, answer: Answer) -> RecordedDecision:
    reasons = judgement.reasons
    decided = Decided(
        path=call.path,
        worker=frame.name,
        toolset=call.toolset,
        tool=call.tool,
        arguments=call.arguments,
        raised=call.raised,
        decision=judgement.decision,
        allowed=answer.allowed,
        by=answer.by,
        reasons=reasons,
        changed=answer.arguments,
    )
    why = "is blocked" if judgement.decision == "blocked" else "needs approval, which was not given"
    why += f": {joined(reasons)}"
    if answer.told:
        why += f"; the person who was asked says: {answer.told}"
    return RecordedDecision(
        decided=decided,
        refusal=None if answer.allowed else f"`{call.tool}` {why}",
        told=(*reasons, answer.reason) if answer.reason else reasons,
    )


def _refused(config: RuntimeConfig, told: RecordedDecision) -> Refused:
    decided = told.decided
    config.ledger.denied.append(
        DeniedCall(path=decided.path, tool=decided.tool, decision=decided.decision, reasons=told.told)
    )
    return Refused(told.refusal or f"`{decided.tool}` was not called")
