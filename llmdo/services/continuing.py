"""Going on from an earlier run: its messages, and its end, to which the new run is bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmdo.base.diagnostic import LlmdoError
from llmdo.journal.conversation import Earlier, goes_on_from
from llmdo.journal.opening import runs_of
from llmdo.journal.questions import waiting
from llmdo.journal.secrets import Known
from llmdo.journal.summary import ending, unfinished
from llmdo.journal.unsettled import unsettled

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from llmdo.journal.stored import JournalStore
    from llmdo.services.plan import RunPlan


def entry_of(root: Path, run: str) -> str:
    """The entry of an earlier run.

    Raises:
        LlmdoError: There is no such run, or it never began.
    """
    runs = runs_of(root)
    with runs.read(runs.find(run)) as journal:
        first = next(journal.entries("run"), None)
        if first is None:
            raise LlmdoError(f"run `{journal.run}` never began")
        return first.path


def end_of(journal: JournalStore) -> Earlier:
    """The end of the run of `journal`, for one that goes on from it.

    Raises:
        LlmdoError: It is not over, or something that it began has not ended.
    """
    run = journal.run
    if open_calls := unfinished(journal):
        path, tool = next(iter(open_calls.items()))
        raise LlmdoError(
            f"`{tool}` at {path} was started and did not finish, so nothing goes on from run `{run}` yet",
            hint=f"`llmdo resume {run}` asks its probe"
            if path not in unsettled(journal)
            else f"look, then `llmdo resume {run} --again {path}` or `llmdo resume {run} --give-up {path}`",
        )
    ended = ending(journal)
    if ended is None:
        raise LlmdoError(
            f"run `{run}` ended without recording how, so nothing goes on from it yet",
            hint=f"`llmdo resume {run}` ends it",
        )
    if ended.outcome == "waiting" and (questions := waiting(journal)):
        raise LlmdoError(
            f"a question waits at {next(iter(questions))}, so nothing goes on from run `{run}` yet",
            hint=f"`llmdo approve {run}`, then `llmdo resume {run}`",
        )
    if ended.outcome == "waiting":
        raise LlmdoError(
            f"run `{run}` has answers that it did not go on with yet", hint=f"`llmdo resume {run}`"
        )
    if next(journal.entries("messages"), None) is None:
        raise LlmdoError(
            f"nothing was said in run `{run}`: its entry is code, or it ended before its worker began",
            hint="a run goes on from that of a worker",
        )
    link, before = journal.entry_link, goes_on_from(journal)
    first, turn = (run, 2) if before is None else (before.first, before.turn + 1)
    labels = ended.data.get("labels")
    return Earlier(run=run, number=link.number, head=link.head, first=first, turn=turn, labels=labels)


def continuing(plan: RunPlan, run: str, environ: Mapping[str, str], *, keeps: bool) -> RunPlan:
    """`plan`, of a new run that goes on from the run `run`; `keeps` says whether it keeps a journal.

    Raises:
        LlmdoError: It has no journal or no input, or the earlier run does not exist, is not over, or lost its
            messages.
    """
    from llmdo.runtime.recording.history import history_of, new_messages  # which takes a second

    if not keeps:
        raise LlmdoError("a run that goes on from another keeps a journal, which this one would not")
    if plan.options.input is None:
        raise LlmdoError("a run that goes on from another needs an input", hint="say what comes next")
    runs, known = runs_of(plan.root, environ), Known.of(environ)
    name, entry = runs.find(run), plan.basis.graph.entries[plan.entry]
    if (began := entry_of(plan.root, name)) != entry.name:
        raise LlmdoError(
            f"run `{name}` is one of entry `{began}`, and another entry does not go on from it",
            hint="give it what it needs in its input",
        )
    if runs.is_claimed(name):
        raise LlmdoError(f"run `{name}` still goes on", hint="wait until it is over, or stop it")
    with runs.read(name, whole=True) as journal:
        history = (*history_of(journal, known), *new_messages(journal, known))
        return plan.saying(history=history, continues=end_of(journal))
