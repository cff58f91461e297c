"""What is printed when a run is over: the output on stdout, the rest on stderr."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from llmdo.cli.approve import described
from llmdo.cli.console import FINDINGS, FINE, INTERRUPTED, WAITING, say, shown_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llmdo.journal.questions import Waiting
    from llmdo.runtime import RunOutcome


def report(
    outcome: RunOutcome, *, as_json: bool, unasked: bool, questions: Mapping[str, Waiting] | None = None
) -> int:
    """Prints how the run ended and which `questions` wait; one that found nobody to answer it is not a success."""
    from llmdo.render import narration

    questions = questions or {}
    if as_json:
        document = _document(asdict(outcome))
        if questions:
            document["questions"] = [
                {"path": one.path, "digest": one.key, **one.said} for one in questions.values()
            ]
        print(json.dumps(document, indent=2, ensure_ascii=False, default=str))
    elif outcome.output is not None:
        print(outcome.output)
    for line in narration.ending(outcome):
        say(line)
    if outcome.status == "waiting":
        for one in questions.values():
            say(f"waiting: {described(one)}")
        say(f"{outcome.error}: `llmdo approve {outcome.run}`, then `llmdo resume {outcome.run}`")
        return WAITING
    if outcome.error:
        say(f"error: {shown_lines(outcome.error)}")
    if outcome.status == "interrupted":
        return INTERRUPTED
    waiting = [denied for denied in outcome.denied if unasked and denied.decision == "needs_approval"]
    if waiting:
        say(f"error: {len(waiting)} of the calls needed an approval; {shown_lines(waiting[0].reasons[-1])}")
    return FINE if outcome.status == "completed" and not waiting else FINDINGS


def report_recorded(said: Mapping[str, Any], *, as_json: bool) -> int:
    """Prints how a run ended that a journal says has completed."""
    if as_json:
        print(json.dumps(_document(said), indent=2, ensure_ascii=False))
    else:
        print(said["output"])
    return FINE


def _document(said: Mapping[str, Any]) -> dict[str, Any]:
    names = ("run", "status", "output", "error", "reached", "usage", "usage_by_worker", "denied")
    return {"schema": "llmdo.run/1", **{name: said[name] for name in names}}
