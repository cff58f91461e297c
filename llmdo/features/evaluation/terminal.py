"""The terminal that an evaluation was started from: the host of its batches, and the output of its report."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from llmdo.cli import options, quick
from llmdo.cli.console import FINDINGS, FINE, INTERRUPTED, put, say, screen
from llmdo.features.batch import commands as batches
from llmdo.features.batch.terminal import BatchTerminal
from llmdo.features.evaluation import rendering as evaluation_junit
from llmdo.features.evaluation import rendering as evaluation_pages
from llmdo.features.evaluation import rendering as evaluation_rows
from llmdo.features.evaluation import rendering as render
from llmdo.features.evaluation.commands import EvalTerms, EvalWorking
from llmdo.render.amounts import counted

if TYPE_CHECKING:
    from llmdo.features.evaluation.gate import EvalGate
    from llmdo.features.evaluation.outcome import Evaluated


def terms(
    project: str | None,
    jobs: int,
    budget: str | None,
    gate: EvalGate,
    *,
    locked: bool,
    debug: bool,
) -> EvalTerms:
    """The terms of an evaluation, from the options.

    Raises:
        LlmdoError: The budget is not a number above 0.
    """
    is_locked = quick.is_locked(flag=locked, environ=os.environ)
    working = EvalWorking(bounds=batches.bounds(jobs, budget=budget), locked=is_locked, debug=debug)
    return EvalTerms(project=project, gate=gate, working=working)


def host(approve: options.Texts, *, approve_all: bool, reject_all: bool) -> BatchTerminal:
    """The host of the batches: if the options name no approver, questions wait and their cases fail."""
    answers = options.answered(
        options.Approvals.prompt, approve, approve_all=approve_all, reject_all=reject_all
    )
    return BatchTerminal(approvals=answers)


def show(evaluated: Evaluated, form: str) -> None:
    """Prints an evaluation."""
    if form == "text":
        put(render.as_text(evaluated, screen()), end="", is_drawn=True)
        return
    writers = {
        "json": render.as_json,
        "jsonl": evaluation_rows.as_jsonl,
        "csv": evaluation_rows.as_csv,
        "junit": evaluation_junit.as_junit,
        "markdown": evaluation_pages.as_markdown,
        "html": evaluation_pages.as_html,
    }
    put(writers[form](evaluated), end="", as_json=form in ("json", "jsonl"))


def report(evaluated: Evaluated, form: str) -> int:
    """Prints an evaluation and the reasons why it is incomplete, and returns the exit code."""
    show(evaluated, form)
    if evaluated.reason:
        say(
            f"{counted(evaluated.unfinished, 'run')} left: {evaluated.reason}; "
            f"`llmdo eval resume {evaluated.id}` goes on"
        )
    if evaluated.interrupted:
        return INTERRUPTED
    is_missed = evaluated.held is not None and evaluated.held.is_missed
    return FINDINGS if evaluated.unfinished or is_missed else FINE
