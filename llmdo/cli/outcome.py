"""What is printed when a run is over: the output on stdout, the rest on stderr."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from llmdo.cli.console import FINDINGS, FINE, INTERRUPTED, say, shown_lines

if TYPE_CHECKING:
    from llmdo.runtime import RunOutcome


def report(outcome: RunOutcome, *, as_json: bool, unasked: bool) -> int:
    """Prints how the run ended; one in which a question found nobody to answer it is not a success."""
    from llmdo.render import narration

    if as_json:
        print(json.dumps(_document(outcome), indent=2, ensure_ascii=False, default=str))
    elif outcome.output is not None:
        print(outcome.output)
    for line in narration.ending(outcome):
        say(line)
    if outcome.error:
        say(f"error: {shown_lines(outcome.error)}")
    if outcome.status == "interrupted":
        return INTERRUPTED
    waiting = [denied for denied in outcome.denied if unasked and denied.decision == "needs_approval"]
    if waiting:
        say(f"error: {len(waiting)} of the calls needed an approval; {shown_lines(waiting[0].reasons[-1])}")
    return FINE if outcome.status == "completed" and not waiting else FINDINGS


def _document(outcome: RunOutcome) -> dict[str, object]:
    return {
        "schema": "llmdo.run/1",
        "run": outcome.run,
        "status": outcome.status,
        "output": outcome.output,
        "error": outcome.error,
        "usage": asdict(outcome.usage),
        "usage_by_worker": {name: asdict(used) for name, used in outcome.usage_by_worker.items()},
        "denied": [asdict(denied) for denied in outcome.denied],
    }
