"""What is printed when a run is over: the output on stdout, the rest on stderr."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli.approve import described
from llmdo.cli.console import FINDINGS, FINE, INTERRUPTED, WAITING, put, say, say_error
from llmdo.journal.decided import decided_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.journal.questions import Waiting
    from llmdo.runtime import RunOutcome


def report(
    outcome: RunOutcome, *, as_json: bool, unasked: bool, questions: Mapping[str, Waiting] | None = None
) -> int:
    """Prints how the run ended and which `questions` wait; one that found nobody to answer it is not a success."""
    from llmdo.render import frames, narration
    from llmdo.runtime.recording.keeping import plain_outcome

    questions = questions or {}
    if as_json:
        document = _document(plain_outcome(outcome))
        if questions:
            document["questions"] = [
                {"path": one.path, "digest": one.key, **one.said} for one in questions.values()
            ]
        put(json.dumps(document, indent=2, ensure_ascii=False, default=str), as_json=True)
    elif outcome.output is not None:
        put(outcome.output)
    for line in narration.ending(outcome):
        say(line)
    if outcome.status == "waiting":
        for one in questions.values():
            say(f"waiting: {described(one)}")
        say(f"{outcome.error}: `llmdo approve {outcome.run}`, then `llmdo resume {outcome.run}`")
        return WAITING
    if outcome.error:
        say_error(LlmdoError(outcome.error, hint=outcome.hint))
        for line in frames.lines(outcome.frames):
            say(line)
    if outcome.status == "interrupted":
        return INTERRUPTED
    waiting = [denied for denied in outcome.denied if unasked and denied.decision == "needs_approval"]
    if waiting:
        say(f"error: {len(waiting)} of the calls needed an approval; {waiting[0].why[-1]}")
    return FINE if outcome.status == "completed" and not waiting else FINDINGS


def report_recorded(said: Mapping[str, Any], *, as_json: bool) -> int:
    """Prints how a run ended that a journal says has completed."""
    if as_json:
        put(json.dumps(_document(said), indent=2, ensure_ascii=False), as_json=True)
    else:
        put(said["output"])
    return FINE


def _document(said: Mapping[str, Any]) -> dict[str, Any]:
    names = (
        "run",
        "status",
        "output",
        "error",
        "hint",
        "frames",
        "reached",
        "usage",
        "usage_by_worker",
    )
    document = {"schema": "llmdo.run/1", **{name: said.get(name) for name in names}}
    document["denied"] = [_denied(record) for record in said["denied"]]
    if said.get("is_typed") and document["output"] is not None:
        document["output"] = json.loads(document["output"])
    return document


def _denied(record: Mapping[str, Any]) -> dict[str, Any]:
    call = decided_in(record["path"], record, {})
    return {"path": call.path, "tool": call.tool, "decision": call.decision, "reasons": call.why}
