"""The output at the end of a run: its result on stdout, the rest on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.cli.console import FINDINGS, FINE, INTERRUPTED, WAITING, put, say, say_error
from llmdo.render.inbox import described

if TYPE_CHECKING:
    from llmdo.services.plan import EndedRun


def report(ended: EndedRun, *, as_json: bool, detail: int = 0) -> int:
    """Prints how the run ended and which questions wait; one that found nobody to answer it is not a success.

    Of what was used it prints, by the level of detail, nothing, the sum or that of each worker.
    """
    from llmdo.render import narration
    from llmdo.render.excerpt import frame_lines

    outcome = ended.outcome
    if as_json:
        from llmdo.base.jsonable import document
        from llmdo.runtime.outcome import told_to_programs

        waits = {"questions": ended.questions.values()} if ended.questions else {}
        put(document("llmdo.run/1", told_to_programs(outcome), waits), end="", as_json=True)
    elif outcome.output is not None and not ended.is_shown:
        put(outcome.output)
    if ended.is_recorded:
        return FINE
    for line in narration.ending(outcome, detail):
        say(line)
    if outcome.status == "waiting":
        for question in ended.questions.values():
            say(f"waiting: {described(question)}")
        say(f"{outcome.error}: `llmdo approve {outcome.run}`, then `llmdo resume {outcome.run}`")
        return WAITING
    if outcome.error:
        say_error(LlmdoError(outcome.error, hint=outcome.hint))
        for line in frame_lines(outcome.frames):
            say(line)
    if outcome.status == "interrupted":
        return INTERRUPTED
    waiting = [denied for denied in outcome.denied if ended.unasked and denied.decision == "needs_approval"]
    if waiting:
        say(f"error: {len(waiting)} of the calls needed an approval; {waiting[0].why[-1]}")
    return FINE if outcome.status == "completed" and not waiting else FINDINGS
