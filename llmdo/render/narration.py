"""A run in words: the line, if any, for an event at a level of detail."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from llmdo.base.diagnostic import joined, shown
from llmdo.graph.models import script_file
from llmdo.journal.decided import DecidedCall
from llmdo.render.amounts import counted, money, tokens
from llmdo.runtime.telemetry.events import (
    AnswerTruncated,
    Decided,
    LimitLoosened,
    ModelFailed,
    ModelRequested,
    ModelResponded,
    RequestDelayed,
    ServerNoticed,
    StreamBroken,
    ToolCalled,
    ToolFinished,
    WorkerFinished,
    WorkerStarted,
)

if TYPE_CHECKING:
    from llmdo.runtime import RunOutcome, Usage
    from llmdo.runtime.telemetry.events import Event, RunStarted
    from llmdo.runtime.telemetry.redaction import Redaction

LONGEST = 200  # characters of a call's arguments: the log has all of them
NAMED = 4  # models in the first line


def line(event: Event, detail: int, redaction: Redaction) -> str | None:
    """The line about `event`: 0 shows refusals and failures, 1 workers, 2 every call and request."""
    sentence = (
        _always(event) or (detail > 0 and _of_workers(event)) or (detail > 1 and _of_calls(event, redaction))
    )
    return shown(redaction.text(sentence)) if sentence else None


def _always(event: Event) -> str | None:
    match event:
        case Decided(call=DecidedCall(allowed=False, changed=None) as call):
            return f"{event.path}: denied: {joined(call.reasons)}"
        case ServerNoticed():
            return f"{event.path}: {event.message}"
        case ModelFailed():
            return f"{event.path}: {event.model} is asked again in {event.wait:.1f} s: {event.error}"
        case StreamBroken():
            return f"{event.path}: the answer of {event.model} broke off and does not count: {event.error}"
        case AnswerTruncated():
            return f"warning: {event.path}: the answer of {event.model} is not complete: {event.reason}"
        case LimitLoosened():
            return f"the limit of {event.limit} cannot hold for {event.model}: {event.reason}"
        case WorkerFinished(error=str()) if "/" in event.path:
            return f"{event.path}: failed: {event.error}"
    return None


def _of_workers(event: Event) -> str | None:
    match event:
        case WorkerStarted():
            return f"{event.path} ..."
        case WorkerFinished(output=str()):
            return f"{event.path}: done"
        case WorkerFinished(error=None):
            return f"{event.path}: stopped"
        case RequestDelayed():
            return f"{event.path}: waits {event.wait:.1f} s, for no more requests are allowed in this minute"
    return None


def _of_calls(event: Event, redaction: Redaction) -> str | None:
    match event:
        case ToolCalled():
            arguments = json.dumps(redaction.plain(event.arguments), ensure_ascii=False)
            more = len(arguments) - LONGEST
            excerpt = f"{arguments[:LONGEST]}... ({more:,} characters more)" if more > 0 else arguments
            return f"{event.path}: {event.tool} {excerpt}"
        case Decided(call=call):
            return f"{event.path}: {'allowed' if call.allowed else 'changed'} by {call.by}"
        case ToolFinished():
            return f"{event.path}: {event.outcome}"
        case ModelRequested():
            return f"{event.path}: asks {event.model}"
        case ModelResponded():
            called = f" and calls {', '.join(event.calls)}" if event.calls else ""
            used = "".join(f" ({words})" for words in tokens(event.input_tokens, event.output_tokens))
            return f"{event.path}: {event.model} answers{called}{used}"
    return None


def beginning(event: RunStarted, approvals: str) -> str:
    """The first line of a run: id, entry, models, who answers questions, whose files, the isolation of commands."""
    models = list(dict.fromkeys(event.models.values()))
    named = ", ".join(models[:NAMED]) + (f" and {len(models) - NAMED} more" if len(models) > NAMED else "")
    which = f"model{'s' * (len(models) > 1)} {named}" if models else "no model"
    sentence = f"run {event.run}: entry {event.entry}, {which}, approvals {approvals}"
    sentence += f", files of `{event.files_of}`" if event.files_of else ""
    return shown(f"{sentence}, {event.isolation}" if event.isolation else sentence)


def written_models(event: RunStarted) -> list[str]:
    """A line for each model of the run whose answers people wrote."""
    names = dict.fromkeys(event.models.values())
    return [shown(f"{name}: a script, not a language model") for name in names if script_file(name)]


def unpriced(model: str) -> str:
    """The note, given once, about a model without a known price."""
    return shown(f"no price is known for {model}: the cost is without it")


def ending(outcome: RunOutcome, detail: int) -> list[str]:
    """The last lines of a run: its usage, and in detail that of each worker if several took part."""
    lines = [f"used: {_amounts(outcome.usage)}"] if detail >= 0 else []
    if detail > 0 and len(outcome.usage_by_worker) > 1:
        width = max(map(len, outcome.usage_by_worker))
        lines += [f"  {name:<{width}}  {_amounts(used)}" for name, used in outcome.usage_by_worker.items()]
    if outcome.reached and detail >= 0:
        lines.append(f"the entry's worker said last: {outcome.reached}")
    return list(map(shown, lines))


def _amounts(usage: Usage) -> str:
    spent = [
        counted(usage.requests, "request"),
        counted(usage.tool_calls, "tool call"),
        *tokens(usage.input_tokens, usage.output_tokens),
    ]
    return ", ".join([*spent, *([money(usage.cost_usd)] if usage.cost_usd else [])])
